/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One token of an NRGPT with its prefix held, against the whole map frozen around it: steps,
 * products with the Jacobian and its transpose, at other step sizes, energies, and clones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dyn/dyn_frozen.h"
#include "kernels/kern_blas.h"
#include "models/model_dynamics.h"
#include "models/model_token.h"
#include "tests/models/model_test_graph.h"

enum { D = 8, N = 5, SIZE = N * D, CASES = 24 };

static const int32_t ids[N] = {3, 0, 6, 6, 2};

/* All masks, updates, feed-forward parts, head forms and norms meet in pairs. */
static model *make_model(size_t i)
{
    model_config c = model_config_default(MODEL_NRGPT);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = 7;
    c.block_size = N;
    c.n_layer = 3;
    c.ff_hid_factor = 2;
    c.ff = (model_ff)(i % 3);
    c.strict_mask = i % 2 == 1;
    c.update = i / 2 % 2 == 1 ? MODEL_UPDATE_EXACT : c.update;
    c.rank = i / 4 % 2 == 1 ? 3 : 0;
    c.norm = i / 8 % 2 == 1 ? MODEL_RMSNORM : c.norm;
    c.eta = i % 5 == 0 ? MODEL_ETA_PSD_SKEW : i % 5 == 1 ? MODEL_ETA_FULL : MODEL_ETA_GAMMA;
    return test_model(&c, 0.35, 50 * i);
}

/* A state that is on no orbit. */
static void fill(double *x, size_t n, double seed)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = sin(seed + 1.7 * (double)i) + 0.3 * cos(0.2 * seed * (double)i);
    }
}

/* Sums of at most 64 products, in another order: 1e-12 of numbers of order 1 to 10. */
static void assert_close(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= 1e-12 * (1.0 + fabs(b[i])))) {
            fail_msg("number %zu is %.17g and not %.17g", i, a[i], b[i]);
        }
    }
}

static void compare(dyn_map *own, dyn_map *frozen, double seed)
{
    enum { TANGENTS = 3 };
    double x[D];
    double v[TANGENTS * D];
    double one[TANGENTS * D];
    double other[TANGENTS * D];
    fill(x, D, seed);
    fill(v, TANGENTS * D, seed + 0.5);
    own->kind->step(own, x, one);
    frozen->kind->step(frozen, x, other);
    assert_close(one, other, D);
    own->kind->jvp_many(own, x, TANGENTS, v, NULL, one);
    dyn_map_jvp_many(frozen, x, TANGENTS, v, NULL, other);
    assert_close(one, other, TANGENTS * D);
    own->kind->vjp(own, x, v, one);
    frozen->kind->vjp(frozen, x, v, other);
    assert_close(one, other, D);
    one[0] = own->kind->energy(own, x);
    other[0] = frozen->kind->energy(frozen, x);
    own->kind->block_energies(own, x, one + 1);
    frozen->kind->block_energies(frozen, x, other + 1);
    assert_close(one, other, 2);
}

static void test_agrees_with_the_frozen_map(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        model *m = make_model(i);
        dyn_map *whole = NULL;
        double at[SIZE];
        TEST_OK(model_dynamics_create(&whole, m, ids, N, test_err));
        fill(at, SIZE, 0.1 * (double)i);
        /* The first token, which has no prefix, and two others. */
        for (size_t token = 0; token < N; token += 2) {
            dyn_map *own = NULL;
            dyn_map *frozen = NULL;
            TEST_OK(model_token_create(&own, m, at, token, test_err));
            TEST_OK(dyn_frozen_create(&frozen, whole, token, at, test_err));
            assert_int_equal(own->size, D);
            assert_int_equal(own->block_count, 1);
            assert_int_equal(own->gauge, whole->gauge);
            assert_memory_equal(own->start, at + token * D, D * sizeof *at);
            compare(own, frozen, 0.3 + (double)i);
            TEST_OK(dyn_map_set_param(own, "step_scale", 1.6, test_err));
            TEST_OK(dyn_map_set_param(frozen, "step_scale", 1.6, test_err));
            compare(own, frozen, 0.9 + (double)i);
            dyn_map_destroy(own);
            dyn_map_destroy(frozen);
        }
        dyn_map_destroy(whole);
        model_destroy(m);
    }
}

/* A clone is the same map to the bit, whatever becomes of the other. */
static void test_clones(void **state)
{
    model *m = make_model(2);
    dyn_map *map = NULL;
    dyn_map *clone = NULL;
    double at[SIZE];
    double x[D];
    double y[D];
    (void)state;
    fill(at, SIZE, 1.0);
    TEST_OK(model_token_create(&map, m, at, 3, test_err));
    TEST_OK(dyn_map_set_param(map, "step_scale", 0.7, test_err));
    TEST_OK(map->kind->clone(&clone, map, test_err));
    dyn_map_iterate(map, map->start, 4, x);
    dyn_map_destroy(map);
    dyn_map_iterate(clone, clone->start, 4, y);
    assert_memory_equal(x, y, sizeof x);
    dyn_map_destroy(clone);
    model_destroy(m);
}

static void test_refusals(void **state)
{
    model_config c = model_config_default(MODEL_GPT);
    kern_error error = {0};
    dyn_map *map = NULL;
    double at[SIZE] = {0};
    (void)state;
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = 7;
    c.block_size = N;
    model *m = test_model(&c, 0.35, 1);
    assert_int_equal(model_token_create(&map, m, at, 0, &error), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "nrgpt"));
    assert_null(map);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_the_frozen_map),
        cmocka_unit_test(test_clones),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
