/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Charts: relative equilibria of power iteration behind a LayerNorm (the eigenvectors of CWC),
 * their multipliers and margins in closed form, gauge, products against differences and adjoints,
 * scaling laws; and one block of a map with the others held.
 */
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_chart.h"
#include "dyn/dyn_frozen.h"
#include "dyn/dyn_jacobian.h"
#include "dyn/dyn_multipliers.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "tests/dyn/dyn_causal_maps.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 12, WHOLE = CAUSAL_TOKENS * CAUSAL_WIDTH };

static double *normals(size_t n, uint64_t salt)
{
    double *x = calloc(n, sizeof *x);
    kern_rng *rng = kern_rng_create(11, "chart", salt);
    assert_non_null(x);
    assert_non_null(rng);
    for (size_t i = 0; i < n; i++) {
        x[i] = kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
    return x;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* ---- Power iteration ---------------------------------------------------------------------- */

/* Eigenvalues and unit eigenvectors (rows) of CWC, in no order; one of them is 1/√N. */
typedef struct spectrum {
    double value[N];
    double vector[N * N];
} spectrum;

/* From images alone: F(e_j) = e_j + eta W N(e_j), and N(e_j) is C e_j up to its length, so that
 * column j of CWC is C (F(e_j) − e_j) up to known factors. */
static void find_spectrum(dyn_map *map, spectrum *s)
{
    double m[N * N], im[N];
    const double eta = map->params[0];
    for (size_t j = 0; j < N; j++) {
        double x[N] = {0};
        double y[N];
        x[j] = 1.0;
        map->kind->step(map, x, y);
        const double length = sqrt((double)N) / sqrt(1.0 - 1.0 / N);
        double mean = 0.0;
        for (size_t i = 0; i < N; i++) {
            y[i] = (y[i] - x[i]) / (eta * length);
            mean += y[i] / N;
        }
        for (size_t i = 0; i < N; i++) {
            m[i * N + j] = y[i] - mean;
        }
    }
    MAPS_OK(kern_lapack_eigen(N, m, s->value, im, s->vector, maps_err));
}

/* The eigenvector of the kernel, 1/√N in every coordinate but for sign. */
static bool is_shift(const spectrum *s, size_t j)
{
    double sum = 0.0;
    for (size_t i = 0; i < N; i++) {
        sum += s->vector[j * N + i];
    }
    return fabs(sum) > 1.0;
}

static dyn_map *make_chart(const dyn_map *inner, const double *sigma)
{
    dyn_map *chart = NULL;
    MAPS_OK(dyn_chart_create(&chart, inner, NULL, sigma, maps_err));
    return chart;
}

/* Every eigenvector is a relative equilibrium; its multipliers are (σ + rηλ_j)/(σ + rηλ). */
static void test_eigenvectors(void **state)
{
    (void)state;
    const double sigma = 2.5;
    const double rate = 0.8;
    dyn_map *inner = maps_make("layernorm-power", "eta=0.3 n=12 seed=5");
    dyn_map *chart = make_chart(inner, &sigma);
    spectrum s;
    find_spectrum(inner, &s);
    MAPS_OK(dyn_map_set_param(chart, "rate", rate, maps_err));
    for (size_t e = 0; e < N; e++) {
        double z[N], y[N];
        dyn_multipliers m;
        dyn_multipliers_options o = dyn_multipliers_options_default();
        if (is_shift(&s, e)) {
            continue;
        }
        for (size_t i = 0; i < N; i++) {
            z[i] = sqrt((double)N) * s.vector[e * N + i];
        }
        chart->kind->step(chart, z, y);
        const double stretched = sigma + rate * 0.3 * s.value[e];
        for (size_t i = 0; i < N; i++) {
            MAPS_CLOSE(y[i], z[i], 1e-12);
        }
        MAPS_OK(dyn_multipliers_init(&m, chart, z, &o, maps_err));
        assert_int_equal(m.blocks[0].n_zeros, 2);
        MAPS_CLOSE(m.blocks[0].re[N - 1], 0.0, 1e-14);
        MAPS_CLOSE(m.blocks[0].re[N - 2], 0.0, 1e-14);
        for (size_t j = 0; j < N; j++) {
            const double expected = (sigma + rate * 0.3 * s.value[j]) / stretched;
            double nearest = (double)INFINITY;
            for (size_t k = 0; k < N - 2; k++) {
                assert_true(m.blocks[0].im[k] == 0.0);
                nearest = fmin(nearest, fabs(m.blocks[0].re[k] - expected));
            }
            assert_true(j == e || is_shift(&s, j) || nearest <= 1e-12);
        }
        dyn_multipliers_fini(&m);
    }
    dyn_map_destroy(chart);
    dyn_map_destroy(inner);
}

static size_t find_extreme(const spectrum *s, double sign)
{
    size_t best = N;
    for (size_t j = 0; j < N; j++) {
        if (!is_shift(s, j) && (best == N || sign * s->value[j] > sign * s->value[best])) {
            best = j;
        }
    }
    return best;
}

/* The spectral radius at this rate is that of the multipliers, and 1 where stability is lost. */
static void check_radius(const dyn_map *chart, const dyn_multipliers_block *m,
                         const dyn_chart_margins *g)
{
    const double rate = chart->params[DYN_CHART_RATE];
    MAPS_CLOSE(dyn_chart_radius_at(m, chart->block_zeros, g->sigma, g->radial, rate, rate),
               m->spectral_radius, 1e-12 * m->spectral_radius);
    if (g->lost > 0.0 && isfinite(g->lost)) {
        MAPS_CLOSE(dyn_chart_radius_at(m, chart->block_zeros, g->sigma, g->radial, rate, g->lost),
                   1.0, 1e-9);
    }
}

static dyn_chart_margins find_margins(dyn_map *chart, const double *z, double *least)
{
    double radial, tangential, work[N];
    dyn_multipliers m;
    dyn_multipliers_options o = dyn_multipliers_options_default();
    dyn_chart_update(chart, z, &radial, &tangential, work);
    MAPS_CLOSE(tangential, 0.0, 1e-12);
    MAPS_OK(dyn_multipliers_init(&m, chart, z, &o, maps_err));
    const dyn_chart_margins g = dyn_chart_find_margins(chart, &m.blocks[0], radial);
    *least = (double)INFINITY;
    for (size_t j = 0; j < N; j++) {
        *least = fmin(*least, m.blocks[0].re[j]);
    }
    check_radius(chart, &m.blocks[0], &g);
    dyn_multipliers_fini(&m);
    return g;
}

/* With η < 0 the bottom eigenvector attracts, and flips at r = 2σ/(|η| (λ_max + λ_min)) where that
 * is positive; the top one repels at every rate and never flips, since a step that long would turn
 * it round. */
static void test_flip(void **state)
{
    (void)state;
    size_t flips = 0;
    for (size_t seed = 1; seed < 9; seed++) {
        char text[64];
        const double sigma = 1.7;
        double least, top[N], bottom[N];
        spectrum s;
        (void)snprintf(text, sizeof text, "eta=-0.4 n=12 seed=%zu", seed);
        dyn_map *inner = maps_make("layernorm-power", text);
        dyn_map *chart = make_chart(inner, &sigma);
        find_spectrum(inner, &s);
        const size_t high = find_extreme(&s, 1.0);
        const size_t low = find_extreme(&s, -1.0);
        for (size_t i = 0; i < N; i++) {
            top[i] = sqrt((double)N) * s.vector[high * N + i];
            bottom[i] = sqrt((double)N) * s.vector[low * N + i];
        }
        dyn_chart_margins g = find_margins(chart, top, &least);
        MAPS_CLOSE(g.radial, -0.4 * s.value[high], 1e-12);
        assert_true(isinf(g.flip) && isinf(g.ns) && g.lost == 0.0);
        g = find_margins(chart, bottom, &least);
        MAPS_CLOSE(g.radial, -0.4 * s.value[low], 1e-12);
        assert_int_equal(g.n_complex, 0);
        assert_true(isinf(g.ns) && g.lost == g.flip);
        const double flip = 2.0 * sigma / (0.4 * (s.value[high] + s.value[low]));
        if (flip > 0.0) {
            MAPS_CLOSE(g.flip, flip, 1e-10 * flip);
            MAPS_OK(dyn_map_set_param(chart, "rate", g.flip, maps_err));
            const dyn_chart_margins there = find_margins(chart, bottom, &least);
            MAPS_CLOSE(least, -1.0, 1e-9);
            MAPS_CLOSE(there.flip, flip, 1e-10 * flip);
            flips++;
        } else {
            assert_true(isinf(g.flip));
        }
        dyn_map_destroy(chart);
        dyn_map_destroy(inner);
    }
    assert_true(flips > 0 && flips < 8);
}

/* Only η/σ counts, and rate · η does. */
static void test_scaling(void **state)
{
    (void)state;
    const double sigmas[2] = {1.3, 2.6};
    double y[3][N];
    dyn_map *inner = maps_make("layernorm-power", "eta=0.2 n=12");
    for (size_t k = 0; k < 2; k++) {
        dyn_map *chart = make_chart(inner, &sigmas[k]);
        MAPS_OK(dyn_map_set_param(chart, "eta", k == 0 ? 0.2 : 0.4, maps_err));
        dyn_map_iterate(chart, chart->start, 5, y[k]);
        if (k == 1) {
            MAPS_OK(dyn_map_set_param(chart, "eta", 0.2, maps_err));
            MAPS_OK(dyn_map_set_param(chart, "rate", 3.0, maps_err));
            MAPS_OK(dyn_map_set_param(chart, "sigma_scale", 1.5, maps_err));
            MAPS_CLOSE(dyn_chart_sigma(chart)[0], 3.9, 1e-15);
            assert_true(dyn_chart_inner(chart)->params[0] == 0.2);
            dyn_map_iterate(chart, chart->start, 5, y[2]);
        }
        dyn_map_destroy(chart);
    }
    for (size_t i = 0; i < N; i++) {
        MAPS_CLOSE(y[0][i], y[1][i], 1e-14);
        MAPS_CLOSE(y[0][i], y[2][i], 1e-14);
    }
    dyn_map_destroy(inner);
}

/* At rate 1 and with the scale that the state has, the chart's step is the map's, normalised. */
static void test_chart_is_the_map(void **state)
{
    (void)state;
    dyn_map *inner = causal_norm_map();
    dyn_map *chart = make_chart(inner, NULL);
    double x[WHOLE], z[WHOLE], sigma[CAUSAL_TOKENS];
    dyn_chart_split(inner, inner->start, z, sigma);
    for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
        MAPS_CLOSE(sigma[a], dyn_chart_sigma(chart)[a], 0.0);
        MAPS_CLOSE(dot(z + a * CAUSAL_WIDTH, z + a * CAUSAL_WIDTH, CAUSAL_WIDTH), CAUSAL_WIDTH,
                   1e-14);
    }
    assert_memory_equal(z, chart->start, sizeof z);
    dyn_chart_join(inner, z, sigma, x);
    inner->kind->step(inner, x, x);
    dyn_chart_split(inner, x, x, NULL);
    chart->kind->step(chart, z, z);
    for (size_t i = 0; i < WHOLE; i++) {
        MAPS_CLOSE(z[i], x[i], 1e-14);
    }
    dyn_map_destroy(chart);
    dyn_map_destroy(inner);
}

/* ---- Products ----------------------------------------------------------------------------- */

/* Central differences of the step, the adjoint identity, and the gauge as a kernel. */
static void check_products(dyn_map *map, double tolerance)
{
    const size_t n = map->size;
    const double h = 1e-5;
    double *v = normals(n, 1);
    double *w = normals(n, 2);
    double *x = normals(n, 3);
    double *up = calloc(4 * n, sizeof *up);
    double *down = up + n;
    double *jv = up + 2 * n;
    double *jtw = up + 3 * n;
    map->kind->jvp(map, x, v, up, jv);
    map->kind->step(map, x, down);
    for (size_t i = 0; i < n; i++) {
        MAPS_CLOSE(up[i], down[i], 1e-14);
    }
    for (size_t i = 0; i < n; i++) {
        up[i] = x[i] + h * v[i];
        down[i] = x[i] - h * v[i];
    }
    map->kind->step(map, up, up);
    map->kind->step(map, down, down);
    for (size_t i = 0; i < n; i++) {
        MAPS_CLOSE(jv[i], (up[i] - down[i]) / (2.0 * h), tolerance);
    }
    map->kind->vjp(map, x, w, jtw);
    MAPS_CLOSE(dot(jv, w, n), dot(v, jtw, n), 1e-12 * (1.0 + fabs(dot(jv, w, n))));
    for (size_t a = 0; map->block_zeros == 2 && a < map->block_count; a++) {
        for (size_t kind = 0; kind < 2; kind++) {
            memset(v, 0, n * sizeof *v);
            for (size_t i = a * map->block_width; i < (a + 1) * map->block_width; i++) {
                v[i] = kind == 0 ? 1.0 : x[i];
            }
            map->kind->jvp(map, x, v, NULL, jv);
            MAPS_CLOSE(sqrt(dot(jv, jv, n)), 0.0, 1e-13);
        }
    }
    free(v);
    free(w);
    free(x);
    free(up);
}

/* Differences have an error of h² F‴/6 and ε/h, both near 1e-10 times the third derivative, which
 * is about 10 at the norm's curvature. */
static void test_products(void **state)
{
    (void)state;
    dyn_map *power = maps_make("layernorm-power", "n=12");
    dyn_map *causal = causal_norm_map();
    dyn_map *charts[2] = {make_chart(power, NULL), make_chart(causal, NULL)};
    check_products(causal, 3e-8);
    for (size_t k = 0; k < 2; k++) {
        dyn_map *copy = NULL;
        MAPS_OK(dyn_map_set_param(charts[k], "rate", 0.7, maps_err));
        check_products(charts[k], 3e-8);
        MAPS_OK(charts[k]->kind->clone(&copy, charts[k], maps_err));
        dyn_map_destroy(charts[k]);
        assert_true(copy->params[0] == 0.7);
        check_products(copy, 3e-8);
        dyn_map_destroy(copy);
    }
    dyn_map_destroy(power);
    dyn_map_destroy(causal);
}

/* ---- One block ---------------------------------------------------------------------------- */

/* The block of the whole map, its Jacobian the diagonal block; in either order with a chart. */
static void test_frozen(void **state)
{
    (void)state;
    dyn_map *causal = causal_norm_map();
    dyn_map *chart = make_chart(causal, NULL);
    dyn_map *wholes[2] = {causal, chart};
    for (size_t k = 0; k < 2; k++) {
        double *x = normals(WHOLE, 4);
        double *work = calloc(dyn_jacobian_work(wholes[k]), sizeof *work);
        for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
            double y[WHOLE], own[CAUSAL_WIDTH];
            double block[CAUSAL_WIDTH * CAUSAL_WIDTH], whole[WHOLE * WHOLE];
            dyn_map *frozen = NULL, *copy = NULL;
            MAPS_OK(dyn_frozen_create(&frozen, wholes[k], 0, NULL, maps_err));
            dyn_frozen_hold(frozen, a, x);
            MAPS_OK(frozen->kind->clone(&copy, frozen, maps_err));
            dyn_map_destroy(frozen);
            wholes[k]->kind->step(wholes[k], x, y);
            copy->kind->step(copy, x + a * CAUSAL_WIDTH, own);
            assert_memory_equal(own, y + a * CAUSAL_WIDTH, sizeof own);
            dyn_jacobian_fill(copy, x + a * CAUSAL_WIDTH, NULL, block, CAUSAL_WIDTH, work);
            dyn_jacobian_fill(wholes[k], x, NULL, whole, WHOLE, work);
            for (size_t i = 0; i < CAUSAL_WIDTH * CAUSAL_WIDTH; i++) {
                const size_t row = a * CAUSAL_WIDTH + i / CAUSAL_WIDTH;
                const size_t column = a * CAUSAL_WIDTH + i % CAUSAL_WIDTH;
                MAPS_CLOSE(block[i], whole[row * WHOLE + column], 1e-14);
            }
            assert_int_equal(copy->gauge, k == 0 ? DYN_GAUGE_SCALE_SHIFT : DYN_GAUGE_NONE);
            assert_int_equal(copy->block_zeros, 2 * k);
            check_products(copy, 3e-8);
            dyn_map_destroy(copy);
        }
        free(work);
        free(x);
    }
    dyn_map_destroy(chart);
    dyn_map_destroy(causal);
}

/* The chart of a block is the block of the chart. */
static void test_frozen_chart(void **state)
{
    (void)state;
    dyn_map *causal = causal_norm_map();
    dyn_map *chart = make_chart(causal, NULL);
    dyn_map *frozen = NULL, *chart_of_block = NULL, *block_of_chart = NULL;
    double y[2][CAUSAL_WIDTH];
    MAPS_OK(dyn_frozen_create(&frozen, causal, 2, NULL, maps_err));
    MAPS_OK(dyn_chart_create(&chart_of_block, frozen, NULL, NULL, maps_err));
    MAPS_OK(dyn_frozen_create(&block_of_chart, chart, 2, NULL, maps_err));
    dyn_map_iterate(chart_of_block, chart_of_block->start, 7, y[0]);
    dyn_map_iterate(block_of_chart, block_of_chart->start, 7, y[1]);
    for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
        MAPS_CLOSE(y[0][i], y[1][i], 1e-13);
    }
    dyn_map_destroy(chart_of_block);
    dyn_map_destroy(block_of_chart);
    dyn_map_destroy(frozen);
    dyn_map_destroy(chart);
    dyn_map_destroy(causal);
}

static void test_energies(void **state)
{
    (void)state;
    dyn_map *power = maps_make("layernorm-power", "n=12");
    dyn_map *chart = make_chart(power, NULL);
    dyn_map *frozen = NULL;
    MAPS_OK(dyn_frozen_create(&frozen, power, 0, NULL, maps_err));
    const double energy = power->kind->energy(power, power->start);
    MAPS_CLOSE(chart->kind->energy(chart, chart->start), energy, 1e-13);
    MAPS_CLOSE(frozen->kind->energy(frozen, frozen->start), energy, 0.0);
    dyn_map_destroy(frozen);
    dyn_map_destroy(chart);
    dyn_map_destroy(power);
}

/* ---- Refusals ----------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    (void)state;
    const double zero = 0.0;
    double flat[N] = {0};
    kern_error err = {0};
    dyn_map *out = NULL;
    dyn_map *plain = maps_make("henon", "");
    dyn_map *power = maps_make("layernorm-power", "n=12");
    assert_int_equal(dyn_chart_create(&out, plain, NULL, NULL, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "map henon has no norm");
    assert_int_equal(dyn_chart_create(&out, power, NULL, &zero, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "block 0 has scale 0");
    assert_int_equal(dyn_chart_create(&out, power, flat, NULL, &err), KERN_INVALID_ARGUMENT);
    flat[3] = (double)NAN;
    assert_int_equal(dyn_chart_create(&out, power, flat, NULL, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(dyn_frozen_create(&out, power, 1, NULL, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "block 1 is not one of the 1");
    assert_null(out);
    /* A chart has no gauge left to take away. */
    dyn_map *chart = make_chart(power, NULL);
    assert_true(dyn_chart_is(chart) && !dyn_chart_is(power));
    assert_int_equal(dyn_chart_create(&out, chart, NULL, NULL, &err), KERN_INVALID_ARGUMENT);
    dyn_map_destroy(chart);
    dyn_map_destroy(plain);
    dyn_map_destroy(power);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eigenvectors), cmocka_unit_test(test_flip),
        cmocka_unit_test(test_scaling),      cmocka_unit_test(test_chart_is_the_map),
        cmocka_unit_test(test_products),     cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_frozen_chart), cmocka_unit_test(test_energies),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
