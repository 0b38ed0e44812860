/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Spectra of a block as a map: many tangents and diagonal blocks at once against one product after
 * the other, and multipliers and exponents that depend neither on the number of workers nor on how
 * the products are made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dyn/dyn_lyapunov.h"
#include "dyn/dyn_multipliers.h"
#include "kernels/kern_blas.h"
#include "models/model_dynamics.h"
#include "tests/models/model_test_graph.h"

enum { D = 8, N = 6, SIZE = N * D, MANY = 3 * DYN_MAP_GROUP - 2 };

static const int32_t ids[N] = {3, 0, 6, 6, 2, 1};

/* A map of case i, and the same one without the calls for many tangents. */
typedef struct pair {
    model *m;
    dyn_map *map;
    dyn_map plain; /* borrows everything of `map` but its kind */
    dyn_map_kind kind;
} pair;

/* Filled in place, since `plain` points into it. */
static void make(pair *p, size_t i, double step_scale)
{
    model_config c = model_config_default(i < 3 ? MODEL_NRGPT : MODEL_GPT);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = 7;
    c.block_size = N;
    c.ff_hid_factor = 2;
    c.ff = (model_ff)(i % 3);
    c.strict_mask = i % 2 == 1;
    c.recurrent = i >= 3;
    p->m = test_model(&c, 0.35, 50 * i);
    TEST_OK(model_dynamics_create(&p->map, p->m, ids, N, test_err));
    TEST_OK(dyn_map_set_param(p->map, "step_scale", step_scale, test_err));
    p->kind = *p->map->kind;
    p->kind.jvp_many = NULL;
    p->kind.jvp_blocks = NULL;
    p->plain = *p->map;
    p->plain.kind = &p->kind;
}

static void unmake(pair *p)
{
    dyn_map_destroy(p->map);
    model_destroy(p->m);
}

static void expect_close(const double *a, const double *b, size_t n, double tolerance)
{
    double size = 0;
    for (size_t i = 0; i < n; i++) {
        size = fmax(size, fabs(b[i]));
    }
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= tolerance * size)) {
            fail_msg("number %zu is %.17g and not %.17g", i, a[i], b[i]);
        }
    }
}

static void test_products(void **state)
{
    static const double scales[] = {1.0, 0.375};
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        pair p;
        double y[SIZE], image[SIZE], work[SIZE], many[MANY * SIZE], single[MANY * SIZE];
        make(&p, i / 2, scales[i % 2]);
        double *v = test_normals(MANY * SIZE, 1.0, i);
        p.map->kind->step(p.map, p.map->start, image);
        for (int blocks = 0; blocks < 2; blocks++) {
            if (blocks == 0) {
                dyn_map_jvp_many(p.map, p.map->start, MANY, v, y, many);
                dyn_map_jvp_many(&p.plain, p.map->start, MANY, v, NULL, single);
            } else {
                dyn_map_jvp_blocks(p.map, p.map->start, MANY, v, y, many, NULL);
                dyn_map_jvp_blocks(&p.plain, p.map->start, MANY, v, NULL, single, work);
            }
            assert_memory_equal(y, image, sizeof y);
            expect_close(many, single, MANY * SIZE, 1e-14);
        }
        dyn_map_jvp_blocks(p.map, p.map->start, MANY, v, NULL, v, NULL);
        assert_memory_equal(v, many, sizeof many);
        free(v);
        unmake(&p);
    }
}

static dyn_multipliers find_multipliers(dyn_map *map, const double *states, int workers)
{
    dyn_multipliers_options o = dyn_multipliers_options_default();
    dyn_multipliers m;
    o.period = 2;
    o.vectors = true;
    o.workers = workers;
    TEST_OK(dyn_multipliers_init(&m, map, states, &o, test_err));
    assert_int_equal(m.status, KERN_OK);
    assert_int_equal(m.n_blocks, N);
    return m;
}

/* Along two states, for any number of workers: the same bits, and small residuals. */
static void test_multipliers(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        pair p;
        double states[2 * SIZE];
        make(&p, i, 1.0);
        memcpy(states, p.map->start, SIZE * sizeof *states);
        p.map->kind->step(p.map, states, states + SIZE);
        dyn_multipliers plain = find_multipliers(&p.plain, states, 1);
        dyn_multipliers one = find_multipliers(p.map, states, 1);
        dyn_multipliers three = find_multipliers(p.map, states, 3);
        for (size_t a = 0; a < N; a++) {
            const dyn_multipliers_block *b = &one.blocks[a];
            const dyn_multipliers_block *c = &three.blocks[a];
            assert_memory_equal(b->re, c->re, D * sizeof *b->re);
            assert_memory_equal(b->im, c->im, D * sizeof *b->im);
            assert_memory_equal(b->vectors, c->vectors, D * D * sizeof *b->vectors);
            assert_memory_equal(b->residuals, c->residuals, D * sizeof *b->residuals);
            assert_true(b->transient_growth == c->transient_growth);
            assert_int_equal(b->transient_step, c->transient_step);
            expect_close(&b->transient_growth, &plain.blocks[a].transient_growth, 1, 1e-12);
            for (size_t j = 0; j < D; j++) {
                assert_true(b->residuals[j] <= 1e-13 * (1 + b->transient_growth));
            }
        }
        dyn_multipliers_fini(&plain);
        dyn_multipliers_fini(&one);
        dyn_multipliers_fini(&three);
        unmake(&p);
    }
}

static dyn_lyapunov find_exponents(dyn_map *map, size_t block, size_t k, int workers)
{
    dyn_lyapunov_options o = dyn_lyapunov_options_default();
    dyn_lyapunov l;
    o.k = k;
    o.steps = 20;
    o.ttr = 3;
    o.frame_ttr = 3;
    o.block = block;
    o.workers = workers;
    TEST_OK(dyn_lyapunov_init(&l, map, map->start, &o, test_err));
    assert_int_equal(l.status, KERN_OK);
    return l;
}

/* Of the whole state and of one token. Rounding is amplified by some powers of ten at most in 26
 * steps of maps that hardly expand. */
static void test_exponents(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        pair p;
        make(&p, i, 0.25);
        for (size_t whole = 0; whole < 2; whole++) {
            const size_t block = whole == 1 ? DYN_LYAPUNOV_WHOLE : N - 2;
            const size_t k = whole == 1 ? MANY : D;
            dyn_lyapunov plain = find_exponents(&p.plain, block, k, 1);
            dyn_lyapunov one = find_exponents(p.map, block, k, 1);
            dyn_lyapunov two = find_exponents(p.map, block, k, 2);
            dyn_lyapunov many = find_exponents(p.map, block, k, 7);
            assert_memory_equal(one.exponents, two.exponents, k * sizeof *one.exponents);
            assert_memory_equal(one.exponents, many.exponents, k * sizeof *one.exponents);
            assert_memory_equal(one.series, many.series, one.n_windows * k * sizeof *one.exponents);
            expect_close(one.exponents, plain.exponents, k, 1e-9);
            dyn_lyapunov_fini(&plain);
            dyn_lyapunov_fini(&one);
            dyn_lyapunov_fini(&two);
            dyn_lyapunov_fini(&many);
        }
        unmake(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_multipliers),
        cmocka_unit_test(test_exponents),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
