/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The Jacobian of a whole hourglass part in factors, against its columns and its dense spectrum.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_multipliers.h"
#include "kernels/kern_blas.h"
#include "models/model_bottleneck.h"
#include "models/model_layer_map.h"
#include "tests/models/model_test_sines.h"

enum { D = 12, N = 3, SIZE = N * D };

/* S = 9 below D, and 13 above it; uniform and ragged; one behind the other and side by side. */
static model_config variant(unsigned i)
{
    static const model_sandglass norms[] = {MODEL_SANDGLASS_A, MODEL_SANDGLASS_B,
                                            MODEL_SANDGLASS_D};
    model_config c = model_config_default(MODEL_HOURGLASS);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = 7;
    c.block_size = N;
    c.n_layer = 2;
    c.n_hidden = 3;
    c.hourglass.k = 3;
    c.hourglass.norm = norms[i % 3];
    c.hourglass.parallel = i / 3 % 2 == 1;
    c.hourglass.gain = (model_gain)(i % 2);
    c.hourglass.alpha = i % 2 == 0 ? 1.0 : 0.7;
    if (i / 6 % 2 == 1) {
        c.hourglass.widths = (model_widths){.count = 3, .at = {7, 2, 4}};
    }
    return c;
}

static dyn_map *make_map(const model *m, double scale, uint64_t seed)
{
    dyn_map *map = NULL;
    double *h = test_normals(SIZE, 1.0, seed);
    TEST_OK(model_layer_map_create_at(&map, m, 1, MODEL_LAYER_FFN, h, N, test_err));
    TEST_OK(dyn_map_set_param(map, "step_scale", scale, test_err));
    free(h);
    return map;
}

/* I + U C of every token against columns of the Jacobian. */
static void check_columns(dyn_map *map)
{
    const size_t r = map->block_rank;
    double *u = test_zeros(D * r, sizeof *u);
    double *c = test_zeros(r * D, sizeof *c);
    for (size_t a = 0; a < N; a++) {
        map->kind->block_factors(map, map->start, a, u, c);
        for (size_t j = 0; j < D; j++) {
            double e[SIZE] = {0};
            e[a * D + j] = 1;
            map->kind->jvp(map, map->start, e, NULL, e);
            for (size_t i = 0; i < D; i++) {
                double entry = i == j ? 1 : 0;
                for (size_t k = 0; k < r; k++) {
                    entry += u[i * r + k] * c[k * D + j];
                }
                assert_true(fabs(entry - e[a * D + i]) <= 1e-12 * (1 + fabs(entry)));
            }
        }
    }
    free(u);
    free(c);
}

/* Eigenvalues of the two ways, matched one by one: their order may differ where moduli tie. The
 * decompositions are of different matrices, so they agree to 1e-9 and not to rounding. */
static void check_spectra(dyn_map *map)
{
    dyn_multipliers dense;
    dyn_multipliers factored;
    dyn_multipliers_options o = dyn_multipliers_options_default();
    TEST_OK(dyn_multipliers_init(&dense, map, map->start, &o, test_err));
    o.factored = true;
    TEST_OK(dyn_multipliers_init(&factored, map, map->start, &o, test_err));
    assert_int_equal(factored.n_blocks, N);
    for (size_t a = 0; a < N; a++) {
        const dyn_multipliers_block *p = &dense.blocks[a];
        const dyn_multipliers_block *q = &factored.blocks[a];
        size_t ones = 0;
        bool used[D] = {false};
        for (size_t i = 0; i < D; i++) {
            size_t best = D;
            for (size_t j = 0; j < D; j++) {
                const double gap = hypot(p->re[i] - q->re[j], p->im[i] - q->im[j]);
                const bool nearer =
                    best == D || gap < hypot(p->re[i] - q->re[best], p->im[i] - q->im[best]);
                best = !used[j] && nearer ? j : best;
            }
            used[best] = true;
            assert_true(hypot(p->re[i] - q->re[best], p->im[i] - q->im[best]) <= 1e-9);
            ones += q->re[i] == 1.0 && q->im[i] == 0.0;
        }
        assert_true(map->block_rank >= D || ones >= D - map->block_rank);
        assert_true(fabs(p->spectral_radius - q->spectral_radius) <= 1e-9);
        assert_true(isnan(q->transient_growth) && !isnan(p->transient_growth));
    }
    dyn_multipliers_fini(&dense);
    dyn_multipliers_fini(&factored);
}

static void test_factors(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        const model_config c = variant(i);
        model *m = test_model(&c, 0.4, 20 + i);
        dyn_map *map = make_map(m, i % 4 == 3 ? 0.6 : 1.0, i);
        assert_int_equal(map->block_rank, i < 6 ? 9 : 13);
        check_columns(map);
        check_spectra(map);
        dyn_map_destroy(map);
        model_destroy(m);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    model_config c = variant(0);
    c.hourglass.norm = MODEL_SANDGLASS_C;
    model *m = test_model(&c, 0.4, 3);
    dyn_map *map = make_map(m, 1.0, 1);
    dyn_multipliers out;
    model_bottleneck *b = NULL;
    kern_error err = {0};
    dyn_multipliers_options o = dyn_multipliers_options_default();
    o.factored = true;
    assert_int_equal(map->block_rank, 0);
    assert_int_equal(dyn_multipliers_init(&out, map, map->start, &o, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "hourglass layer 1 mlp are not to be had from factors"));
    assert_int_equal(model_bottleneck_create(&b, m, 1, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "whose norms are A, B or D"));
    assert_null(b);
    dyn_map_destroy(map);
    model_destroy(m);
    c.hourglass.norm = MODEL_SANDGLASS_A;
    m = test_model(&c, 0.4, 3);
    map = make_map(m, 1.0, 1);
    o.vectors = true;
    assert_int_equal(dyn_multipliers_init(&out, map, map->start, &o, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_bottleneck_create(&b, m, 2, &err), KERN_INVALID_ARGUMENT);
    dyn_map_destroy(map);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_factors),
                                       cmocka_unit_test(test_refusals)};
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
