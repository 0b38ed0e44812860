/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whom tokens attend to, against scores computed here from the formulas: NRGPT under both masks,
 * both forms of heads and both norms; the interaction of a CEM layer under every diagonal and
 * every kind of positions; and parts that attend to nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_attention.h"
#include "models/model_dynamics.h"
#include "models/model_layer_map.h"
#include "models/model_stack.h"
#include "tests/models/model_test_graph.h"

enum { D = 8, N = 5, H = 2, WIDE = D / H, VOCAB = 7, RANK = 3 };

static const int32_t ids[N] = {3, 0, 6, 6, 2};

/* What weights below 1 may be off by: scores of at most 30, each the sum of D² products of rounded
 * numbers, have errors below 1e-14, and exp makes these relative ones. */
#define CLOSE 1e-13

static const double *param(const model *m, const char *name)
{
    const model_param *p = model_params_find(&m->params, name);
    assert_non_null(p);
    return (const double *)m->values + p->offset;
}

static void fill(double *x, size_t n, double seed)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = sin(seed + 1.7 * (double)i) + 0.3 * cos(0.2 * seed * (double)i);
    }
}

/* g = (x − μ)/σ ⊙ gain + bias, with μ = 0 unless `centred`; bias may be NULL. */
static void normalise(const double *x, bool centred, double epsilon, const double *gain,
                      const double *bias, double *g)
{
    double mean = 0.0;
    double square = 0.0;
    for (size_t i = 0; centred && i < D; i++) {
        mean += x[i] / D;
    }
    for (size_t i = 0; i < D; i++) {
        square += (x[i] - mean) * (x[i] - mean) / D;
    }
    for (size_t i = 0; i < D; i++) {
        g[i] = gain[i] * (x[i] - mean) / sqrt(square + epsilon) + (bias != NULL ? bias[i] : 0.0);
    }
}

static void softmax(double *scores, size_t n)
{
    double largest = -(double)INFINITY;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, scores[i]);
    }
    for (size_t i = 0; i < n; i++) {
        scores[i] = exp(scores[i] - largest);
        sum += scores[i];
    }
    for (size_t i = 0; i < n; i++) {
        scores[i] /= sum;
    }
}

/* The weights, their sums and their means over heads are those of `scores`, of `visible` tokens
 * for each token and head. */
static void check(dyn_map *map, const double *x, bool strict, double scores[N][H][N])
{
    double weights[H * N];
    double means[N * N];
    assert_int_equal(model_attention_heads(map), H);
    model_attention_means(map, x, means);
    for (size_t a = 0; a < N; a++) {
        const size_t visible = strict ? a : a + 1;
        double sum[N] = {0.0};
        model_attention_weights(map, x, a, weights);
        for (size_t h = 0; h < H; h++) {
            double total = 0.0;
            softmax(scores[a][h], visible);
            for (size_t b = 0; b < N; b++) {
                const double expected = b < visible ? scores[a][h][b] : 0.0;
                assert_true(fabs(weights[h * N + b] - expected) <= CLOSE);
                total += weights[h * N + b];
                sum[b] += expected;
            }
            assert_true(fabs(total - (visible > 0 ? 1.0 : 0.0)) <= 4.0 * N * 0x1p-53);
        }
        for (size_t b = 0; b < N; b++) {
            assert_true(fabs(means[a * N + b] - sum[b] / H) <= CLOSE);
        }
    }
}

/* ---- NRGPT ----------------------------------------------------------------------------------- */

static model *make_nrgpt(size_t i)
{
    model_config c = model_config_default(MODEL_NRGPT);
    c.n_embed = D;
    c.n_head = H;
    c.vocab_size = VOCAB;
    c.block_size = N;
    c.n_layer = 3;
    c.ff_hid_factor = 2;
    c.strict_mask = i % 2 == 1;
    c.update = i % 3 == 1 ? MODEL_UPDATE_EXACT : c.update;
    c.rank = i / 2 % 2 == 1 ? RANK : 0;
    c.norm = i / 4 % 2 == 1 ? MODEL_RMSNORM : c.norm;
    c.beta = 0.7;
    c.alpha = 1.3;
    return test_model(&c, 0.5, 40 * i);
}

/* g_Bᵀ J_h g_A: with J = H_hᵀ it is (H_h g_B)·g_A, with ranks (K_h g_B)·(Q_h g_A). */
static double score_of(const model *m, size_t head, const double *own, const double *other)
{
    char name[64];
    double sum = 0.0;
    if (m->config.rank == 0) {
        (void)snprintf(name, sizeof name, "blocks.attn.heads.%zu.H.weight", head);
        const double *w = param(m, name);
        for (size_t i = 0; i < D; i++) {
            sum += own[i] * test_dot(w + i * D, other, D);
        }
        return sum;
    }
    (void)snprintf(name, sizeof name, "blocks.attn.heads.%zu.K.weight", head);
    const double *k = param(m, name);
    (void)snprintf(name, sizeof name, "blocks.attn.heads.%zu.Q.weight", head);
    const double *q = param(m, name);
    for (size_t i = 0; i < RANK; i++) {
        sum += test_dot(q + i * D, own, D) * test_dot(k + i * D, other, D);
    }
    return sum;
}

static void test_nrgpt(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        model *m = make_nrgpt(i);
        dyn_map *map = NULL;
        dyn_map *twin = NULL;
        double x[N * D];
        double g[N * D];
        double scores[N][H][N];
        TEST_OK(model_dynamics_create(&map, m, ids, N, test_err));
        TEST_OK(map->kind->clone(&twin, map, test_err));
        fill(x, N * D, 0.4 * (double)i);
        for (size_t a = 0; a < N; a++) {
            normalise(x + a * D, m->config.norm == MODEL_LAYERNORM, m->config.norm_eps,
                      param(m, "blocks.ln.weight"), param(m, "blocks.ln.bias"), g + a * D);
        }
        for (size_t a = 0; a < N * H * N; a++) {
            scores[a / (H * N)][a / N % H][a % N] =
                m->config.beta * score_of(m, a / N % H, g + a / (H * N) * D, g + a % N * D);
        }
        map->params[0] = 3.0; /* of the update, and of nothing here */
        check(i % 2 == 0 ? map : twin, x, m->config.strict_mask, scores);
        dyn_map_destroy(twin);
        dyn_map_destroy(map);
        model_destroy(m);
    }
}

/* ---- CEM ------------------------------------------------------------------------------------- */

static model *make_cem(size_t i)
{
    model_config c = model_config_default(MODEL_CEM);
    c.n_embed = D;
    c.n_head = H;
    c.vocab_size = VOCAB;
    c.block_size = N;
    c.n_layer = 2;
    c.n_hidden = 6;
    c.rope = (model_rope)(i % 3);
    c.cem.diag = (model_diag)(i / 3 % 3);
    c.cem.norm = MODEL_PLACE_STEP;
    c.cem.hist = MODEL_HIST_FIXED;
    return test_model(&c, 0.5, 60 + i);
}

/* W x of one head, turned for position `token` where there are rotary positions. */
static void project(const model *m, const char *name, size_t head, size_t token, const double *x,
                    double y[WIDE])
{
    double plain[WIDE];
    const double *w = param(m, name) + head * WIDE * D;
    for (size_t i = 0; i < WIDE; i++) {
        plain[i] = test_dot(w + i * D, x, D);
    }
    for (size_t i = 0; i < WIDE / 2; i++) {
        const double angle = m->config.rope == MODEL_ROPE_NONE
                                 ? 0.0
                                 : (double)token * pow(MODEL_ROPE_BASE, -2.0 * (double)i / WIDE);
        const double *z = plain + i;
        y[i] = z[0] * cos(angle) - z[WIDE / 2] * sin(angle);
        y[i + WIDE / 2] = z[WIDE / 2] * cos(angle) + z[0] * sin(angle);
    }
}

static double diagonal_of(const model *m, size_t head, const double *u, const double *c)
{
    double sum = 0.0;
    if (m->config.cem.diag == MODEL_DIAG_NONE) {
        return 0.0;
    }
    const double *d =
        param(m, "layers.1.attn.diag") + (m->config.cem.diag == MODEL_DIAG_PER_HEAD ? head * D : 0);
    for (size_t i = 0; i < D; i++) {
        sum += u[i] * d[i] * c[i];
    }
    return sum;
}

static void test_cem(void **state)
{
    (void)state;
    for (size_t i = 0; i < 9; i++) {
        model *m = make_cem(i);
        dyn_map *map = NULL;
        double h[N * D];
        double x[N * D];
        double u[N * D];
        double c[N * D];
        double scores[N][H][N];
        fill(h, N * D, 2.0 + (double)i);
        fill(x, N * D, 0.3 * (double)i);
        TEST_OK(model_layer_map_create_at(&map, m, 1, MODEL_LAYER_ATTN, h, N, test_err));
        for (size_t a = 0; a < N; a++) {
            const double *gain = param(m, "layers.1.norm1");
            normalise(x + a * D, false, m->config.norm_eps, gain, NULL, u + a * D);
            normalise(h + a * D, false, m->config.norm_eps, gain, NULL, c + a * D);
        }
        for (size_t at = 0; at < N * H * N; at++) {
            const size_t a = at / (H * N);
            const size_t k = at / N % H;
            const size_t b = at % N;
            double query[WIDE];
            double key[WIDE];
            project(m, "layers.1.attn.wq", k, a, u + a * D, query);
            project(m, "layers.1.attn.wk", k, b, c + b * D, key);
            scores[a][k][b] =
                (test_dot(query, key, WIDE) + diagonal_of(m, k, u + a * D, c + b * D)) /
                sqrt((double)WIDE);
        }
        check(map, x, false, scores);
        dyn_map_destroy(map);
        model_destroy(m);
    }
}

/* ---- Nobody ---------------------------------------------------------------------------------- */

static void test_parts_without_attention(void **state)
{
    (void)state;
    double h[N * D];
    dyn_map *map = NULL;
    model *cem = make_cem(0);
    model_config c = model_config_default(MODEL_HOURGLASS);
    c.n_embed = D;
    c.n_head = H;
    c.vocab_size = VOCAB;
    c.block_size = N;
    c.n_layer = 2;
    c.n_hidden = 6;
    model *hourglass = test_model(&c, 0.4, 3);
    fill(h, N * D, 1.0);
    TEST_OK(model_layer_map_create_at(&map, cem, 0, MODEL_LAYER_FFN, h, N, test_err));
    assert_int_equal(model_attention_heads(map), 0);
    dyn_map_destroy(map);
    TEST_OK(model_layer_map_create_at(&map, hourglass, 0, MODEL_LAYER_FFN, h, N, test_err));
    assert_int_equal(model_attention_heads(map), 0);
    dyn_map_destroy(map);
    model_destroy(hourglass);
    model_destroy(cem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nrgpt),
        cmocka_unit_test(test_cem),
        cmocka_unit_test(test_parts_without_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
