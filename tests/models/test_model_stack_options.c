/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options of a stack: initial deviations, norms on queries and keys, and widths of heads, every
 * combination of which is either refused or works.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_layer_map.h"
#include "tests/models/model_test_sines.h"

enum { D = 6, N = 3, SIZE = N * D };

static model_config config_of(model_family family)
{
    model_config c = model_config_default(family);
    c.n_embed = D;
    c.n_head = 1;
    c.vocab_size = 7;
    c.block_size = N;
    c.n_layer = 2;
    c.n_hidden = 4;
    return c;
}

static double deviation(const model *m, const char *name)
{
    const model_param *p = model_params_find(&m->params, name);
    assert_non_null(p);
    assert_int_equal(p->init, MODEL_INIT_NORMAL);
    return p->value;
}

/* 1/√D into a part; out of it 1/√(2LS), S of all three sub-MLPs or of all heads. */
static void test_deviations(void **state)
{
    (void)state;
    model_config c = config_of(MODEL_HOURGLASS);
    c.hourglass.k = 3;
    c.hourglass.widths = (model_widths){.count = 3, .at = {4, 3, 2}};
    c.d_attn = 8;
    c.n_head = 2;
    for (unsigned spread = 0; spread < 2; spread++) {
        model *m = NULL;
        const double constant = spread == MODEL_SPREAD_CONSTANT ? 0.02 : 0;
        const double in = constant > 0 ? constant : 1 / sqrt(D);
        const double out = constant > 0 ? constant : 1 / sqrt(2 * 2 * 9);
        const double heads = constant > 0 ? constant : 1 / sqrt(2 * 2 * 8);
        c.spread = (model_spread)spread;
        TEST_OK(model_create(&m, &c, &kern_backend_cpu_f64, test_err));
        assert_true(fabs(deviation(m, "layers.1.hg.1.w_gate") - in) <= 1e-15);
        assert_true(fabs(deviation(m, "layers.0.hg.2.w_up") - in) <= 1e-15);
        assert_true(fabs(deviation(m, "layers.0.hg.0.w_down") - out) <= 1e-15);
        assert_true(fabs(deviation(m, "layers.1.hg.2.w_down") - out) <= 1e-15);
        assert_true(fabs(deviation(m, "layers.1.attn.wk") - in) <= 1e-15);
        assert_true(fabs(deviation(m, "layers.1.attn.wo") - heads) <= 1e-15);
        assert_true(fabs(deviation(m, "embed") - 0.02) <= 1e-15);
        model_destroy(m);
    }
}

/* Rows x Wᵀ, then divided by their root mean square and multiplied by a gain unless it is NULL. */
static void project(const model *m, const char *weight, const char *gain, const double *x,
                    double *y)
{
    const model_param *w = model_params_find(&m->params, weight);
    const model_param *g = gain != NULL ? model_params_find(&m->params, gain) : NULL;
    for (size_t i = 0; i < N; i++) {
        double square = 0;
        for (size_t j = 0; j < D; j++) {
            double sum = 0;
            for (size_t k = 0; k < D; k++) {
                sum += model_value_get(m, w->offset + j * D + k) * x[i * D + k];
            }
            y[i * D + j] = sum;
            square += sum * sum;
        }
        for (size_t j = 0; g != NULL && j < D; j++) {
            y[i * D + j] *= model_value_get(m, g->offset + j) / sqrt(square / D + 1e-5);
        }
    }
}

static void normalise(const model *m, const double *x, double *y)
{
    const model_param *g = model_params_find(&m->params, "layers.0.norm1");
    for (size_t i = 0; i < N; i++) {
        const double square = test_dot(x + i * D, x + i * D, D);
        for (size_t j = 0; j < D; j++) {
            y[i * D + j] =
                model_value_get(m, g->offset + j) * x[i * D + j] / sqrt(square / D + 1e-5);
        }
    }
}

/* Causal attention of one head, from rows of queries, keys and values. */
static void attend(const double *q, const double *k, const double *v, double *mixed)
{
    for (size_t i = 0; i < N; i++) {
        double weights[N];
        double total = 0;
        for (size_t j = 0; j <= i; j++) {
            weights[j] = exp(test_dot(q + i * D, k + j * D, D) / sqrt(D));
            total += weights[j];
        }
        for (size_t c = 0; c < D; c++) {
            mixed[i * D + c] = 0;
            for (size_t j = 0; j <= i; j++) {
                mixed[i * D + c] += weights[j] / total * v[j * D + c];
            }
        }
    }
}

static void test_norms_on_queries_and_keys(void **state)
{
    (void)state;
    model_config c = config_of(MODEL_LLAMA);
    c.rope = MODEL_ROPE_NONE;
    c.qk_norm = true;
    model *m = test_model(&c, 0.6, 3);
    double *x = test_normals(SIZE, 1.0, 4);
    double n[SIZE];
    double rows[4][SIZE];
    double expected[SIZE];
    double y[SIZE];
    dyn_map *map = NULL;
    normalise(m, x, n);
    project(m, "layers.0.attn.wq", "layers.0.attn.q_norm", n, rows[0]);
    project(m, "layers.0.attn.wk", "layers.0.attn.k_norm", n, rows[1]);
    project(m, "layers.0.attn.wv", NULL, n, rows[2]);
    attend(rows[0], rows[1], rows[2], rows[3]);
    project(m, "layers.0.attn.wo", NULL, rows[3], expected);
    TEST_OK(model_layer_map_create_at(&map, m, 0, MODEL_LAYER_ATTN, x, N, test_err));
    map->kind->step(map, x, y);
    for (size_t i = 0; i < SIZE; i++) {
        expected[i] += x[i];
    }
    assert_true(test_distance(y, expected, SIZE) <= 1e-12);
    dyn_map_destroy(map);
    free(x);
    model_destroy(m);
}

static void test_parameters_of_norms(void **state)
{
    (void)state;
    model_config c = config_of(MODEL_LLAMA);
    model *plain = NULL;
    model *normed = NULL;
    c.n_head = 4;
    c.d_attn = 8;
    c.d_kv = 4;
    TEST_OK(model_create(&plain, &c, &kern_backend_cpu_f64, test_err));
    c.qk_norm = true;
    TEST_OK(model_create(&normed, &c, &kern_backend_cpu_f64, test_err));
    assert_int_equal(normed->params.elements - plain->params.elements, 2 * (8 + 4));
    model_destroy(plain);
    model_destroy(normed);
}

/* What the check accepts can be built: no combination of heads and widths fails in the graph. */
static void test_every_width(void **state)
{
    static const size_t widths[] = {0, 1, 2, 3, 4, 6, 8, 12, 24};
    static const model_family families[] = {MODEL_LLAMA, MODEL_CEM, MODEL_HOURGLASS};
    (void)state;
    size_t built = 0;
    size_t refused = 0;
    for (size_t i = 0; i < 3 * 8 * 81; i++) {
        model_config c = config_of(families[i % 3]);
        kern_error err = {0};
        c.n_embed = 12;
        c.n_head = 1 + i / 3 % 8;
        c.d_attn = widths[i / 24 % 9];
        c.d_kv = widths[i / 216];
        c.rope = i % 2 == 0 ? MODEL_ROPE_EXACT : MODEL_ROPE_NONE;
        if (model_config_check(&c, &err) != KERN_OK) {
            assert_int_equal(err.status, KERN_INVALID_ARGUMENT);
            assert_non_null(strstr(err.text, "accept"));
            refused++;
            continue;
        }
        model *m = NULL;
        model_graph graph;
        const model_graph_options o = {
            .batch = 1, .tokens = N, .steps = c.n_layer, .start = MODEL_START_TOKENS, .loss = true};
        TEST_OK(model_create(&m, &c, &kern_backend_cpu_f64, test_err));
        TEST_OK(model_graph_init(&graph, m, &o, test_err));
        model_graph_fini(&graph);
        model_destroy(m);
        built++;
    }
    assert_true(built > 100 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deviations),
        cmocka_unit_test(test_norms_on_queries_and_keys),
        cmocka_unit_test(test_parameters_of_norms),
        cmocka_unit_test(test_every_width),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
