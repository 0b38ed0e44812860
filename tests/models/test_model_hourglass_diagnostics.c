/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Diagnostics of an hourglass: identities, pairs of sub-MLPs, copies in another order, and
 * exponents over the depth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "models/model_depth.h"
#include "models/model_hourglass_dynamics.h"
#include "models/model_hourglass_identities.h"
#include "models/model_hourglass_pairs.h"
#include "models/model_hourglass_variant.h"
#include "models/model_layer_map.h"
#include "tests/models/model_test_sines.h"

enum { D = 8, H = 4, K = 3, N = 5, SIZE = N * D };

static model_config config_of(model_sandglass norm)
{
    model_config c = model_config_default(MODEL_HOURGLASS);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = 9;
    c.block_size = N;
    c.n_layer = 2;
    c.n_hidden = H;
    c.hourglass.k = K;
    c.hourglass.norm = norm;
    return c;
}

static model_param find(const model *m, size_t layer, size_t k, const char *word)
{
    char name[64];
    (void)snprintf(name, sizeof name, "layers.%zu.hg.%zu.%s", layer, k, word);
    const model_param *p = model_params_find(&m->params, name);
    assert_non_null(p);
    return *p;
}

/* f_k at h. */
static void branch(const model *m, size_t layer, size_t k, const double *h, double *f)
{
    model_sub *s = NULL;
    TEST_OK(model_sub_create(&s, m, layer, k, test_err));
    model_sub_evaluate(s, h, f, NULL, NULL);
    model_sub_destroy(s);
}

/* ---- identities -------------------------------------------------------------------------------
 */

/* To rounding without ε; with it, J h = h is off by as much as ε weighs. */
static void test_identities(void **state)
{
    (void)state;
    double *h = test_normals(SIZE, 1.0, 3);
    for (unsigned norm = 0; norm < 4; norm++) {
        for (unsigned big = 0; big < 2; big++) {
            model_config c = config_of((model_sandglass)norm);
            const bool before = norm == MODEL_SANDGLASS_A || norm == MODEL_SANDGLASS_C;
            model_hourglass_identities out;
            c.norm_eps = big == 1 ? 1e-2 : 0;
            model *m = test_model(&c, 0.4, 5 + norm);
            TEST_OK(model_hourglass_identities_check(&out, m, 1, h, N, test_err));
            assert_int_equal(out.checked, N * K);
            assert_true(out.log_det <= 1e-12);
            assert_true(out.leak <= 1e-13);
            assert_true(big == 1 ? out.epsilon > 1e-3 : out.epsilon <= 0);
            if (!before) {
                assert_true(isnan(out.radial));
            } else if (big == 1) {
                assert_true(out.radial > 1e-6 && out.radial <= 100 * out.epsilon);
            } else {
                assert_true(out.radial <= 1e-12);
            }
            model_destroy(m);
        }
    }
    free(h);
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

/* Df_k v by differences over two distances. */
static void derivative(const model *m, size_t k, const double *h, const double *v, double *out)
{
    const double step = 1e-3;
    double f[4][D];
    for (int side = 0; side < 4; side++) {
        double x[D];
        for (size_t j = 0; j < D; j++) {
            x[j] = h[j] + (side % 2 == 0 ? step : -step) * (side < 2 ? 1 : 0.5) * v[j];
        }
        branch(m, 0, k, x, f[side]);
    }
    for (size_t j = 0; j < D; j++) {
        out[j] = (8 * (f[2][j] - f[3][j]) - (f[0][j] - f[1][j])) / (6 * step);
    }
}

static void test_commutators(void **state)
{
    (void)state;
    const model_config c = config_of(MODEL_SANDGLASS_A);
    model *m = test_model(&c, 0.3, 7);
    double *h = test_normals(D, 1.0, 3);
    model_hourglass_pairs pairs;
    TEST_OK(model_hourglass_pairs_init(&pairs, m, 0, h, 1, test_err));
    for (size_t j = 0; j < K; j++) {
        for (size_t k = 0; k < K; k++) {
            double f[2][D];
            double df[2][D];
            double square = 0;
            branch(m, 0, j, h, f[0]);
            branch(m, 0, k, h, f[1]);
            derivative(m, k, h, f[0], df[0]);
            derivative(m, j, h, f[1], df[1]);
            for (size_t i = 0; i < D; i++) {
                square += (df[0][i] - df[1][i]) * (df[0][i] - df[1][i]);
            }
            const double moved = sqrt(test_dot(f[0], f[0], D)) + sqrt(test_dot(f[1], f[1], D));
            assert_true(fabs(pairs.commutator[j * K + k] - sqrt(square) / moved) <= 1e-8);
        }
    }
    model_hourglass_pairs_fini(&pairs);
    free(h);
    model_destroy(m);
}

/* |Φ_kΦ_j − Φ_jΦ_k| = α²|[f_j, f_k]| + O(α³), and both are divided by α(|f_j| + |f_k|). */
static void test_small_steps_swap_by_the_commutator(void **state)
{
    (void)state;
    model_config c = config_of(MODEL_SANDGLASS_A);
    c.hourglass.alpha = 1e-4;
    model *m = test_model(&c, 0.4, 8);
    double *h = test_normals(SIZE, 1.0, 3);
    model_hourglass_pairs pairs;
    TEST_OK(model_hourglass_pairs_init(&pairs, m, 0, h, N, test_err));
    for (size_t j = 0; j < K; j++) {
        for (size_t k = 0; k < K; k++) {
            const double a = pairs.commutator[j * K + k];
            const double b = pairs.swap[j * K + k];
            assert_true(j == k ? !(a > 0) && !(b > 0) : a > 1e-7 && fabs(b / a - 1) <= 1e-2);
        }
    }
    model_hourglass_pairs_fini(&pairs);
    free(h);
    model_destroy(m);
}

/* Equal sub-MLPs may be exchanged and write the same. */
static void test_equal_sub_mlps(void **state)
{
    static const char *const words[] = {"w_gate", "w_up", "w_down", "norm"};
    (void)state;
    const model_config c = config_of(MODEL_SANDGLASS_A);
    model *m = test_model(&c, 0.4, 9);
    double *h = test_normals(SIZE, 1.0, 4);
    model_hourglass_pairs pairs;
    for (size_t i = 0; i < 4; i++) {
        const model_param to = find(m, 0, 2, words[i]);
        const model_param from = find(m, 0, 0, words[i]);
        for (size_t j = 0; j < model_param_size(&to); j++) {
            model_value_set(m, to.offset + j, model_value_get(m, from.offset + j));
        }
    }
    TEST_OK(model_hourglass_pairs_init(&pairs, m, 0, h, N, test_err));
    assert_true(pairs.commutator[2] <= 1e-15 && pairs.swap[2] <= 1e-15);
    assert_true(fabs(pairs.writes[2] - 1) <= 1e-13 && fabs(pairs.writes[0] - 1) <= 1e-13);
    assert_true(pairs.commutator[1] > 1e-3 && pairs.swap[1] > 1e-3);
    assert_true(pairs.writes[1] < 1 - 1e-3);
    model_hourglass_pairs_fini(&pairs);
    free(h);
    model_destroy(m);
}

/* Keeps the half of a matrix's columns, or of its rows, that is asked for. */
static void keep_half(model *m, size_t k, const char *word, bool rows, bool upper)
{
    const model_param p = find(m, 0, k, word);
    for (size_t i = 0; i < p.rows; i++) {
        for (size_t j = 0; j < p.cols; j++) {
            if (((rows ? i : j) >= D / 2) != upper) {
                model_value_set(m, p.offset + i * p.cols + j, 0.0);
            }
        }
    }
}

/* Without norms inside (B), C reads the columns of G and V: here the lower half of the coordinates,
 * which sub-MLP 0 writes and sub-MLP 1 does not. H = D/2, so halves are spanned. */
static void test_halves(void **state)
{
    (void)state;
    const model_config c = config_of(MODEL_SANDGLASS_B);
    model *m = test_model(&c, 0.4, 10);
    double *h = test_normals(SIZE, 1.0, 4);
    model_hourglass_pairs pairs;
    keep_half(m, 0, "w_down", true, false);
    keep_half(m, 1, "w_down", true, true);
    keep_half(m, 2, "w_gate", false, false);
    keep_half(m, 2, "w_up", false, false);
    TEST_OK(model_hourglass_pairs_init(&pairs, m, 0, h, N, test_err));
    assert_true(pairs.writes[1] <= 1e-28);
    assert_true(fabs(pairs.reads[0 * K + 2] - 1) <= 1e-12);
    assert_true(pairs.reads[1 * K + 2] <= 1e-28);
    model_hourglass_pairs_fini(&pairs);
    free(h);
    model_destroy(m);
}

/* ---- participation ----------------------------------------------------------------------------
 */

static void test_participation(void **state)
{
    (void)state;
    const model_config c = config_of(MODEL_SANDGLASS_A);
    model *m = test_model(&c, 0.4, 11);
    double *h = test_normals(SIZE, 1.0, 5);
    double s[D * D] = {0};
    double trace = 0;
    model_hourglass_report report;
    for (size_t a = 0; a < N; a++) {
        double f[D];
        branch(m, 0, 0, h + a * D, f);
        for (size_t i = 0; i < D * D; i++) {
            s[i] += f[i / D] * f[i % D];
        }
        trace += test_dot(f, f, D);
    }
    TEST_OK(model_hourglass_diagnose(m, 0, h, N, &report, test_err));
    const double expected = trace * trace / test_dot(s, s, D * D);
    assert_true(fabs(report.subs[0].participation - expected) <= 1e-12 * expected);
    assert_true(report.participation >= 1 && report.participation <= N);
    model_hourglass_report_fini(&report);
    TEST_OK(model_hourglass_diagnose(m, 0, h, 1, &report, test_err));
    assert_true(fabs(report.subs[1].participation - 1) <= 1e-14);
    model_hourglass_report_fini(&report);
    free(h);
    model_destroy(m);
}

/* ---- copies -----------------------------------------------------------------------------------
 */

static void run_part(const model *m, const double *x, double *y)
{
    dyn_map *map = NULL;
    TEST_OK(model_layer_map_create_at(&map, m, 0, MODEL_LAYER_FFN, x, 1, test_err));
    map->kind->step(map, x, y);
    dyn_map_destroy(map);
}

/* h through the sub-MLPs of `order`, or all at h. */
static void compose(const model *m, const size_t *order, size_t n, bool parallel, const double *h,
                    double *y)
{
    double f[D];
    memcpy(y, h, D * sizeof *y);
    for (size_t i = 0; i < n; i++) {
        double at[D];
        memcpy(at, parallel ? h : y, sizeof at);
        branch(m, 0, order[i], at, f);
        for (size_t j = 0; j < D; j++) {
            y[j] += f[j];
        }
    }
}

static void test_copies(void **state)
{
    static const size_t orders[][K] = {{1, 0, 2}, {2, 0, 1}, {0, 1, 2}};
    (void)state;
    model_config c = config_of(MODEL_SANDGLASS_A);
    double *h = test_normals(D, 1.0, 6);
    double y[D];
    double expected[D];
    for (size_t ragged = 0; ragged < 2; ragged++) {
        c.hourglass.widths =
            ragged == 1 ? (model_widths){.count = K, .at = {5, 2, 4}} : (model_widths){0};
        model *m = test_model(&c, 0.4, 12);
        model *other = NULL;
        for (size_t i = 0; i < 3; i++) {
            TEST_OK(model_hourglass_reorder(&other, m, 0, orders[i], test_err));
            run_part(other, h, y);
            compose(m, orders[i], K, false, h, expected);
            assert_true(test_distance(y, expected, D) <= 1e-13);
            model_destroy(other);
        }
        for (size_t k = 0; k < K; k++) {
            const size_t rest[2] = {k == 0 ? 1 : 0, k == 2 ? 1 : 2};
            TEST_OK(model_hourglass_drop(&other, m, 0, k, test_err));
            run_part(other, h, y);
            compose(m, rest, 2, false, h, expected);
            assert_true(test_distance(y, expected, D) <= 1e-13);
            model_destroy(other);
        }
        TEST_OK(model_hourglass_parallelise(&other, m, test_err));
        run_part(other, h, y);
        compose(m, orders[2], K, true, h, expected);
        assert_true(test_distance(y, expected, D) <= 1e-13);
        model_destroy(other);
        model_destroy(m);
    }
    free(h);
}

/* ---- depth ------------------------------------------------------------------------------------
 */

static void silence_attention(model *m)
{
    for (size_t l = 0; l < 2; l++) {
        char name[64];
        (void)snprintf(name, sizeof name, "layers.%zu.attn.wo", l);
        const model_param *p = model_params_find(&m->params, name);
        for (size_t i = 0; i < model_param_size(p); i++) {
            model_value_set(m, p->offset + i, 0.0);
        }
    }
}

/* Σ ln of the D − 1 singular values of (|h|/|h'|) P' J P of the feed-forward part of layer 0. */
static double angular_volume(const model *m, const double *h)
{
    dyn_map *map = NULL;
    double next[D];
    double a[D * D];
    double values[D];
    double sum = 0;
    TEST_OK(model_layer_map_create_at(&map, m, 0, MODEL_LAYER_FFN, h, 1, test_err));
    map->kind->step(map, h, next);
    const double size = test_dot(h, h, D);
    const double grown = test_dot(next, next, D);
    for (size_t j = 0; j < D; j++) {
        double v[D];
        for (size_t i = 0; i < D; i++) {
            v[i] = (i == j ? 1 : 0) - h[i] * h[j] / size;
        }
        map->kind->jvp(map, h, v, NULL, v);
        const double along = test_dot(next, v, D) / grown;
        for (size_t i = 0; i < D; i++) {
            a[i * D + j] = sqrt(size / grown) * (v[i] - along * next[i]);
        }
    }
    TEST_OK(kern_lapack_singular_values(D, D, a, values, test_err));
    for (size_t i = 0; i + 1 < D; i++) {
        sum += log(values[i]);
    }
    dyn_map_destroy(map);
    return sum;
}

static double sum_of(const double *numbers, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += numbers[i];
    }
    return sum;
}

/* All D exponents of a part sum up to ln|det J|, which of an hourglass is Σ_k ln|det(I + M_k)|, and
 * those of directions to the volume of the angular Jacobian; an attention that adds nothing has
 * exponents 0. */
static void test_depth(void **state)
{
    (void)state;
    const model_config c = config_of(MODEL_SANDGLASS_A);
    model *m = test_model(&c, 0.4, 13);
    int32_t *ids = test_ids(N, 9, 5);
    double h[SIZE];
    double volume = 0;
    model_depth depth;
    silence_attention(m);
    TEST_OK(model_depth_init(&depth, m, ids, N, D, 1, test_err));
    assert_int_equal(depth.parts, 4);
    assert_int_equal(depth.angular_tangents, D - 1);
    for (size_t l = 0; l < 2; l++) {
        model_hourglass_report report;
        double growth = 0;
        TEST_OK(model_layer_input(m, l, MODEL_LAYER_FFN, ids, N, h, test_err));
        TEST_OK(model_hourglass_diagnose(m, l, h, N, &report, test_err));
        for (size_t k = 0; k < K; k++) {
            growth += report.subs[k].log_growth;
        }
        const double sum = sum_of(depth.exponents + (2 * l + 1) * D, D);
        assert_true(fabs(sum - report.log_abs_det) <= 1e-10);
        assert_true(fabs(depth.growth[2 * l + 1] - growth) <= 1e-12);
        for (size_t i = 0; i < D; i++) {
            assert_true(fabs(depth.exponents[2 * l * D + i]) <= 1e-13);
        }
        model_hourglass_report_fini(&report);
    }
    TEST_OK(model_layer_input(m, 0, MODEL_LAYER_FFN, ids, N, h, test_err));
    for (size_t a = 0; a < N; a++) {
        volume += angular_volume(m, h + a * D) / N;
    }
    assert_true(fabs(sum_of(depth.angular + (D - 1), D - 1) - volume) <= 1e-9);
    assert_true(fabs(model_depth_sum(&depth, false, 2) -
                     (depth.exponents[D + 2] + depth.exponents[3 * D + 2] + depth.exponents[2] +
                      depth.exponents[2 * D + 2])) <= 1e-13);
    model_depth_fini(&depth);
    free(ids);
    model_destroy(m);
}

/* Attention takes part, tangents of fewer directions are those of more, and other families go. */
static void test_depth_of_other_stacks(void **state)
{
    (void)state;
    int32_t *ids = test_ids(N, 9, 5);
    for (unsigned family = MODEL_LLAMA; family <= MODEL_HOURGLASS; family++) {
        model_config c = config_of(MODEL_SANDGLASS_A);
        const model_config usual = model_config_default((model_family)family);
        model_depth all;
        model_depth few;
        c.family = usual.family;
        c.attn = usual.attn;
        c.ffn = usual.ffn;
        model *m = test_model(&c, 0.3, 14);
        TEST_OK(model_depth_init(&all, m, ids, N, D, 1, test_err));
        TEST_OK(model_depth_init(&few, m, ids, N, 1, 1, test_err));
        assert_true(fabs(all.exponents[0]) > 1e-6);
        assert_true(isfinite(few.exponents[3]) && isfinite(few.angular[3]));
        assert_true(fabs(few.growth[2] - all.growth[2]) <= 0);
        model_depth_fini(&all);
        model_depth_fini(&few);
        model_destroy(m);
    }
    free(ids);
}

static void test_refusals(void **state)
{
    static const size_t twice[K] = {0, 0, 1};
    (void)state;
    const model_config c = config_of(MODEL_SANDGLASS_A);
    const model_config early = model_config_default(MODEL_NRGPT);
    const int32_t ids[] = {0, 1};
    const double h[D] = {1};
    model *m = test_model(&c, 0.4, 13);
    model *nrgpt = test_model(&early, 0.1, 13);
    model *other = NULL;
    model_depth depth;
    model_hourglass_pairs pairs;
    kern_error err = {0};
    assert_int_equal(model_hourglass_reorder(&other, m, 0, twice, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "has 0 at place 1; accepted are permutations"));
    assert_int_equal(model_hourglass_drop(&other, m, 0, K, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hourglass_drop(&other, m, 2, 0, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hourglass_parallelise(&other, nrgpt, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "family nrgpt has no hourglass"));
    assert_null(other);
    assert_int_equal(model_depth_init(&depth, m, ids, 2, D + 1, 1, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "9 tangents are not within 1 to the model's width of 8"));
    assert_int_equal(model_depth_init(&depth, nrgpt, ids, 2, 1, 1, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hourglass_pairs_init(&pairs, m, 2, h, 1, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hourglass_pairs_init(&pairs, nrgpt, 0, h, 1, &err),
                     KERN_INVALID_ARGUMENT);
    model_destroy(m);
    model_destroy(nrgpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_commutators),
        cmocka_unit_test(test_small_steps_swap_by_the_commutator),
        cmocka_unit_test(test_equal_sub_mlps),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_participation),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_depth_of_other_stacks),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
