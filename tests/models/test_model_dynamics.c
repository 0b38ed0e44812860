/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trained block as a map of dyn/: the start, the orbit and the energies against a trace of the
 * same prompt, products with the Jacobian at other step sizes, causality of the blocks, clones, and
 * refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_dynamics.h"
#include "models/model_trace.h"
#include "tests/models/model_test_graph.h"

enum { D = 8, N = 5, SIZE = N * D, STEPS = 4 };

static const int32_t ids[N] = {3, 0, 6, 6, 2};

static model *make_model(model_family family, size_t i)
{
    model_config c = model_config_default(family);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = 7;
    c.block_size = N;
    c.n_layer = 3;
    c.ff_hid_factor = 2;
    c.ff = (model_ff)(i % 3);
    c.strict_mask = i % 2 == 1;
    c.recurrent = family == MODEL_GPT;
    return test_model(&c, 0.35, 50 * i);
}

static dyn_map *make_map(const model *m)
{
    dyn_map *map = NULL;
    TEST_OK(model_dynamics_create(&map, m, ids, N, test_err));
    assert_int_equal(map->size, SIZE);
    assert_int_equal(map->block_count, N);
    assert_int_equal(map->block_width, D);
    return map;
}

static void test_orbit_is_the_trace(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        model *m = make_model(MODEL_NRGPT, i);
        dyn_map *map = make_map(m);
        model_trace *trace = NULL;
        double x[SIZE];
        TEST_OK(model_trace_create(&trace, m, ids, N, STEPS, test_err));
        memcpy(x, map->start, sizeof x);
        for (size_t k = 0; k <= STEPS; k++) {
            double sum = 0;
            for (size_t a = 0; a < N; a++) {
                sum += trace->energy[a * (STEPS + 1) + k];
                for (size_t j = 0; j < D; j++) {
                    const double expected = trace->x[(a * (STEPS + 1) + k) * D + j];
                    assert_true(fabs(x[a * D + j] - expected) <= 1e-12 * (1 + fabs(expected)));
                }
            }
            assert_true(fabs(map->kind->energy(map, x) - sum) <= 1e-11 * (1 + fabs(sum)));
            map->kind->step(map, x, x);
        }
        model_trace_destroy(trace);
        dyn_map_destroy(map);
        model_destroy(m);
    }
}

/* x + s(F(x) − x) is affine in s, and so are its products. */
static void test_step_scale(void **state)
{
    (void)state;
    model *m = make_model(MODEL_NRGPT, 1);
    dyn_map *map = make_map(m);
    double *v = test_normals(SIZE, 1.0, 7);
    double *w = test_normals(SIZE, 1.0, 8);
    double y[2][SIZE], jv[2][SIZE], jtw[2][SIZE], plain[SIZE];
    const double scales[2] = {1.0, 0.375};
    for (size_t k = 0; k < 2; k++) {
        TEST_OK(dyn_map_set_param(map, "step_scale", scales[k], test_err));
        map->kind->jvp(map, map->start, v, y[k], jv[k]);
        map->kind->vjp(map, map->start, w, jtw[k]);
        map->kind->step(map, map->start, plain);
        assert_memory_equal(plain, y[k], sizeof plain);
        const double gap = test_dot(jv[k], w, SIZE) - test_dot(jtw[k], v, SIZE);
        assert_true(fabs(gap) <= 1e-12 * (1 + fabs(test_dot(jv[k], w, SIZE))) * SIZE);
    }
    for (size_t j = 0; j < SIZE; j++) {
        const double x = map->start[j];
        assert_true(fabs(y[1][j] - x - 0.375 * (y[0][j] - x)) <= 1e-14 * (1 + fabs(x)));
        assert_true(fabs(jv[1][j] - v[j] - 0.375 * (jv[0][j] - v[j])) <= 1e-12);
        assert_true(fabs(jtw[1][j] - w[j] - 0.375 * (jtw[0][j] - w[j])) <= 1e-12);
    }
    free(v);
    free(w);
    dyn_map_destroy(map);
    model_destroy(m);
}

/* A tangent of token B reaches tokens A ≥ B only. */
static void test_blocks_are_causal(void **state)
{
    (void)state;
    for (size_t family = 0; family < 2; family++) {
        model *m = make_model(family == 0 ? MODEL_NRGPT : MODEL_GPT, 2);
        dyn_map *map = make_map(m);
        assert_int_equal(map->kind->energy != NULL, family == 0);
        for (size_t b = 0; b < N; b++) {
            double v[SIZE] = {0};
            double jv[SIZE];
            v[b * D + 1] = 1;
            map->kind->jvp(map, map->start, v, NULL, jv);
            for (size_t j = 0; j < b * D; j++) {
                assert_true(jv[j] == 0);
            }
            assert_true(jv[b * D + 1] != 0);
        }
        dyn_map_destroy(map);
        model_destroy(m);
    }
}

static void test_clones(void **state)
{
    (void)state;
    model *m = make_model(MODEL_NRGPT, 0);
    dyn_map *map = make_map(m);
    dyn_map *copy = NULL;
    double x[SIZE], y[SIZE];
    TEST_OK(dyn_map_set_param(map, "step_scale", 0.5, test_err));
    TEST_OK(map->kind->clone(&copy, map, test_err));
    dyn_map_iterate(map, map->start, 3, x);
    const double energy = map->kind->energy(map, x);
    dyn_map_destroy(map);
    dyn_map_iterate(copy, copy->start, 3, y);
    assert_memory_equal(x, y, sizeof x);
    assert_true(copy->kind->energy(copy, y) == energy);
    assert_int_equal(copy->block_count, N);
    dyn_map_destroy(copy);
    model_destroy(m);
}

static void refuse(const model *m, const int32_t *prompt, size_t n, const char *part)
{
    dyn_map *map = NULL;
    kern_error err = {0};
    assert_int_equal(model_dynamics_create(&map, m, prompt, n, &err), KERN_INVALID_ARGUMENT);
    assert_null(map);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
}

static void test_refusals(void **state)
{
    static const int32_t unknown[] = {1, 7};
    static const int32_t negative[] = {-1};
    static const int32_t zeros[N + 1] = {0};
    (void)state;
    model *m = make_model(MODEL_NRGPT, 0);
    model *single = NULL;
    TEST_OK(model_convert(&single, m, &kern_backend_cpu_f32, test_err));
    refuse(m, ids, 0, "0 tokens is not within 1");
    refuse(m, zeros, N + 1, "6 tokens is not within 1");
    refuse(m, unknown, 2, "token 1 has id 7, accepted are 0 to 6");
    refuse(m, negative, 1, "token 0 has id -1");
    refuse(single, ids, N, "double-precision");
    model_config distinct = m->config;
    distinct.family = MODEL_GPT;
    distinct.recurrent = false;
    model *gpt = test_model(&distinct, 0.1, 1);
    refuse(gpt, ids, N, "distinct blocks");
    model_destroy(gpt);
    model_destroy(single);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orbit_is_the_trace), cmocka_unit_test(test_step_scale),
        cmocka_unit_test(test_blocks_are_causal),  cmocka_unit_test(test_clones),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
