/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The block as a map: tangents against differences, cotangents against tangents, outputs that are
 * inputs, and refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_map.h"
#include "tests/models/model_test_graph.h"

enum { D = 8, N = 7, SIZE = N * D };

/* NRGPT with every energy and both masks, then the recurrent GPTs, whose ReLU has kinks. */
enum { CASES = 8 };

static model_config case_config(size_t i)
{
    model_config c = model_config_default(i < 6 ? MODEL_NRGPT : MODEL_GPT);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = 5;
    c.block_size = N - 2; /* a map may be longer than the block: it has no positions */
    c.ff_hid_factor = 2;
    c.ff = (model_ff)(i % 3);
    c.strict_mask = i < 3;
    c.update = (model_update)(i % 2);
    c.norm = (model_norm)(i / 2 % 2);
    c.rank = i == 4 ? 3 : 0;
    c.recurrent = i >= 6;
    c.parallel = i == 7;
    c.dropout = i == 1 ? 0.5 : 0.0; /* a map has none */
    return c;
}

typedef struct map_case {
    model *m;
    model_map *map;
    double *x;
    double *v;
    double *w;
    double h;
} map_case;

static map_case make(size_t i)
{
    const model_config config = case_config(i);
    map_case c = {.m = test_model(&config, 0.35, 50 * i),
                  .x = test_normals(SIZE, 1.0, i),
                  .v = test_normals(SIZE, 1.0, i + 20),
                  .w = test_normals(SIZE, 1.0, i + 40),
                  .h = config.family == MODEL_GPT ? 1e-6 : 1e-3};
    TEST_OK(model_map_create(&c.map, c.m, N, test_err));
    assert_int_equal(model_map_size(c.map), SIZE);
    return c;
}

static void unmake(map_case *c)
{
    model_map_destroy(c->map);
    model_destroy(c->m);
    free(c->x);
    free(c->v);
    free(c->w);
}

static void test_tangents_are_derivatives(void **state)
{
    static const double at[] = {1, -1, 2, -2};
    static const double weight[] = {8, -8, -1, 1};
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        map_case c = make(i);
        double y[SIZE];
        double stepped[SIZE];
        double jv[SIZE];
        double slope[SIZE] = {0};
        for (size_t j = 0; j < 4; j++) {
            for (size_t k = 0; k < SIZE; k++) {
                y[k] = c.x[k] + at[j] * c.h * c.v[k];
            }
            model_map_step(c.map, y, y);
            for (size_t k = 0; k < SIZE; k++) {
                slope[k] += weight[j] * y[k] / (12 * c.h);
            }
        }
        model_map_step(c.map, c.x, stepped);
        model_map_jvp(c.map, c.x, c.v, y, jv);
        assert_memory_equal(y, stepped, sizeof y);
        const double size = sqrt(test_dot(jv, jv, SIZE));
        for (size_t k = 0; k < SIZE; k++) {
            assert_true(fabs(jv[k] - slope[k]) <= 2e-8 * size);
        }
        unmake(&c);
    }
}

static void test_cotangents_agree_with_tangents(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        map_case c = make(i);
        double jv[SIZE];
        double jtw[SIZE];
        double size = 0;
        for (size_t pass = 0; pass < 2; pass++) { /* the second run finds the memory of the first */
            model_map_jvp(c.map, c.x, c.v, NULL, jv);
            model_map_vjp(c.map, c.x, c.w, jtw);
        }
        for (size_t k = 0; k < SIZE; k++) {
            size += fabs(jv[k] * c.w[k]) + fabs(jtw[k] * c.v[k]);
        }
        const double gap = test_dot(jv, c.w, SIZE) - test_dot(jtw, c.v, SIZE);
        assert_true(fabs(gap) <= 1e-13 * size);
        unmake(&c);
    }
}

static void test_outputs_may_be_inputs(void **state)
{
    (void)state;
    map_case c = make(5);
    double y[SIZE];
    double jv[SIZE];
    double jtw[SIZE];
    model_map_jvp(c.map, c.x, c.v, y, jv);
    model_map_vjp(c.map, c.x, c.w, jtw);
    model_map_vjp(c.map, c.x, c.w, c.w);
    assert_memory_equal(c.w, jtw, sizeof jtw);
    model_map_jvp(c.map, c.x, c.v, c.x, c.v);
    assert_memory_equal(c.x, y, sizeof y);
    assert_memory_equal(c.v, jv, sizeof jv);
    unmake(&c);
}

/* Tangents side by side are those one by one, up to the order of sums in products whose operands
 * have more rows; splitting at whole groups changes no bit. */
static void test_many_tangents(void **state)
{
    enum { MANY = 2 * MODEL_MAP_GROUP + 3 };
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        map_case c = make(i);
        double *v = test_normals(MANY * SIZE, 1.0, i + 60);
        double *jv = test_zeros(MANY * SIZE, sizeof *jv);
        double y[SIZE], image[SIZE], single[SIZE];
        model_map_step(c.map, c.x, image);
        model_map_jvp_many(c.map, c.x, MANY, v, false, y, jv);
        assert_memory_equal(y, image, sizeof y);
        for (size_t t = 0; t < MANY; t++) {
            model_map_jvp(c.map, c.x, v + t * SIZE, NULL, single);
            const double size = sqrt(test_dot(single, single, SIZE));
            for (size_t k = 0; k < SIZE; k++) {
                assert_true(fabs(jv[t * SIZE + k] - single[k]) <= 1e-14 * size);
            }
        }
        double *rest = v + MODEL_MAP_GROUP * SIZE;
        model_map_jvp_many(c.map, c.x, MODEL_MAP_GROUP, v, false, NULL, v);
        model_map_jvp_many(c.map, c.x, MANY - MODEL_MAP_GROUP, rest, false, NULL, rest);
        assert_memory_equal(v, jv, MANY * SIZE * sizeof *v);
        free(v);
        free(jv);
        unmake(&c);
    }
}

/* The diagonal blocks, all at once, against tangents in one token after the other. */
static void test_own_tokens(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        map_case c = make(i);
        double own[SIZE];
        model_map_jvp_many(c.map, c.x, 1, c.v, true, NULL, own);
        for (size_t a = 0; a < N; a++) {
            double single[SIZE] = {0};
            memcpy(single + a * D, c.v + a * D, D * sizeof *single);
            model_map_jvp(c.map, c.x, single, NULL, single);
            const double size = sqrt(test_dot(single, single, SIZE));
            for (size_t k = a * D; k < (a + 1) * D; k++) {
                assert_true(fabs(own[k] - single[k]) <= 1e-14 * size);
            }
        }
        model_map_jvp(c.map, c.x, c.v, NULL, c.v);
        double gap = 0;
        for (size_t k = D; k < SIZE; k++) {
            gap = fmax(gap, fabs(own[k] - c.v[k]));
        }
        assert_true(gap > 1e-3); /* the rest of the Jacobian is not nothing */
        unmake(&c);
    }
}

static void refuse(const model *m, size_t tokens, const char *part)
{
    model_map *map = NULL;
    kern_error err = {0};
    assert_int_equal(model_map_create(&map, m, tokens, &err), KERN_INVALID_ARGUMENT);
    assert_null(map);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    model_config config = case_config(6);
    model *single = NULL;
    config.recurrent = false;
    model *gpt = test_model(&config, 0.1, 1);
    config = case_config(0);
    model *m = test_model(&config, 0.1, 1);
    TEST_OK(model_convert(&single, m, &kern_backend_cpu_f32, test_err));
    refuse(gpt, N, "distinct blocks is not an iterated map");
    refuse(single, N, "double-precision");
    refuse(m, 0, "empty");
    model_map_destroy(NULL);
    model_destroy(gpt);
    model_destroy(m);
    model_destroy(single);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tangents_are_derivatives),
        cmocka_unit_test(test_cotangents_agree_with_tangents),
        cmocka_unit_test(test_outputs_may_be_inputs),
        cmocka_unit_test(test_many_tangents),
        cmocka_unit_test(test_own_tokens),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
