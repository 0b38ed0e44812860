/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reference values of known maps, by row of the table in tests/dyn/README.md, as far as no other
 * test has them: exact ones, laws that an orbit approaches, and maps that must be reported as what
 * they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_fixed_points.h"
#include "dyn/dyn_lyapunov.h"
#include "dyn/dyn_multipliers.h"
#include "dyn/dyn_orbit.h"
#include "dyn/dyn_orbit_diagram.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "tests/dyn/dyn_fault_maps.h"
#include "tests/dyn/dyn_test_maps.h"

#include <stdlib.h>

static const double ln2 = 0.693147180559945309;

static dyn_lyapunov exponents_of(dyn_map *map, const double *x0, const dyn_lyapunov_options *o)
{
    dyn_lyapunov out;
    MAPS_OK(dyn_lyapunov_init(&out, map, x0 != NULL ? x0 : map->start, o, maps_err));
    return out;
}

static dyn_multipliers multipliers_at(dyn_map *map, const double *states, size_t period)
{
    dyn_multipliers out;
    dyn_multipliers_options o = dyn_multipliers_options_default();
    o.period = period;
    MAPS_OK(dyn_multipliers_init(&out, map, states, &o, maps_err));
    assert_int_equal(out.status, KERN_OK);
    return out;
}

/* ---- Exact ---------------------------------------------------------------------------------- */

/* Row 1: for 1 < r < 3 the logistic map settles at 1 − 1/r with multiplier 2 − r and exponent
 * ln|2 − r|. */
static void test_logistic_fixed_point(void **state)
{
    static const struct {
        const char *assignment;
        double r;
    } cases[] = {{"r=1.2", 1.2}, {"r=1.7", 1.7}, {"r=2.4", 2.4}, {"r=2.8", 2.8}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double r = cases[i].r;
        dyn_map *map = maps_make("logistic", cases[i].assignment);
        double x;
        dyn_map_iterate(map, map->start, 2000, &x);
        MAPS_CLOSE(x, 1 - 1 / r, 1e-12);
        dyn_multipliers m = multipliers_at(map, &x, 1);
        MAPS_CLOSE(m.blocks[0].re[0], 2 - r, 1e-11);
        assert_true(m.stable && m.blocks[0].im[0] == 0);
        dyn_multipliers_fini(&m);
        dyn_lyapunov_options o = dyn_lyapunov_options_default();
        dyn_lyapunov l = exponents_of(map, &x, &o);
        MAPS_CLOSE(l.exponents[0], log(fabs(2 - r)), 1e-9);
        dyn_lyapunov_fini(&l);
        dyn_map_destroy(map);
    }
}

/* Row 9: the 2-cycle at r = 3.2, its multiplier 4 + 2r − r² = 0.16 and its exponent ½ ln 0.16. */
static void test_logistic_two_cycle(void **state)
{
    const double r = 3.2;
    const double root = sqrt((r - 3) * (r + 1));
    const double high = (r + 1 + root) / (2 * r);
    const double low = (r + 1 - root) / (2 * r);
    dyn_map *map = maps_make("logistic", "r=3.2");
    double x[2];
    (void)state;
    dyn_map_iterate(map, map->start, 1000, x);
    map->kind->step(map, x, x + 1);
    MAPS_CLOSE(fmax(x[0], x[1]), high, 1e-12);
    MAPS_CLOSE(fmin(x[0], x[1]), low, 1e-12);
    dyn_multipliers m = multipliers_at(map, x, 2);
    MAPS_CLOSE(m.blocks[0].re[0], 0.16, 1e-11);
    dyn_multipliers_fini(&m);
    dyn_lyapunov_options o = dyn_lyapunov_options_default();
    dyn_lyapunov l = exponents_of(map, x, &o);
    MAPS_CLOSE(l.exponents[0], -0.916290731874, 1e-9);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* Row 50: Ikeda's sink beside the chaos, its multipliers (modulus 0.9, since det = u²), and both
 * exponents, which are the logarithm of that modulus. */
static void test_ikeda_sink(void **state)
{
    dyn_map *map = maps_make("ikeda", "u=0.9");
    double x[2] = {2.9, 4.1};
    (void)state;
    dyn_map_iterate(map, x, 2000, x);
    MAPS_CLOSE(x[0], 2.97213162, 1e-8);
    MAPS_CLOSE(x[1], 4.14594642, 1e-8);
    dyn_multipliers m = multipliers_at(map, x, 1);
    MAPS_CLOSE(m.blocks[0].re[0], 0.851719, 1e-6);
    MAPS_CLOSE(m.blocks[0].im[0], 0.290816, 1e-6);
    for (size_t i = 0; i < 2; i++) {
        MAPS_CLOSE(log(hypot(m.blocks[0].re[i], m.blocks[0].im[i])), log(0.9), 1e-12);
    }
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
}

/* Row 61: a ring of 32 maps that are equal has the exponents of one map, shifted by
 * ln|1 − ε(1 − cos 2πk/N)|. */
static int descend(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x < y) - (x > y);
}

static void test_ring_spectrum(void **state)
{
    enum { N = 32 };
    dyn_map *map = maps_make("coupled-logistic", "r=4 eps=0.3 n=32");
    double shifts[N];
    double x0[N];
    (void)state;
    for (size_t k = 0; k < N; k++) {
        shifts[k] = log(fabs(1 - 0.3 * (1 - cos(8 * atan(1) * (double)k / N))));
        x0[k] = 0.3141;
    }
    qsort(shifts, N, sizeof *shifts, descend);
    dyn_lyapunov_options o = dyn_lyapunov_options_default();
    o.k = N;
    o.steps = 4000;
    o.frame_ttr = 1000;
    dyn_lyapunov l = exponents_of(map, x0, &o);
    for (size_t k = 0; k < N; k++) {
        MAPS_CLOSE(l.exponents[k] - l.exponents[0], shifts[k], 1e-4);
    }
    MAPS_CLOSE(l.exponents[0], ln2, 0.02); /* of one orbit of 4000 steps */
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* Row 33: of a linear map, Gaussian with radius 0.8, QR finds ln|eigenvalue|; within complex pairs
 * the gap falls as 1/steps, and at 6000 of them 3.3e-4 is twice what is left. The sum is ln|det| to
 * rounding, of 100 numbers of order 1. */
static void test_linear_map(void **state)
{
    enum { N = 100, TOP = 10 };
    static double matrix[N * N], work[N * N];
    double re[N], im[N];
    double sum = 0;
    double log_det = 0;
    int pivots[N];
    kern_rng *rng = kern_rng_create(33, "test", 0);
    (void)state;
    for (size_t i = 0; i < (size_t)N * N; i++) {
        matrix[i] = 0.8 / sqrt(N) * kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
    memcpy(work, matrix, sizeof work);
    assert_int_equal(kern_lapack_eigenvalues(N, work, re, im, NULL), KERN_OK);
    for (size_t i = 0; i < N; i++) {
        re[i] = log(hypot(re[i], im[i]));
    }
    qsort(re, N, sizeof *re, descend);
    memcpy(work, matrix, sizeof work);
    assert_int_equal(kern_lapack_lu(N, work, pivots, &log_det, NULL), KERN_OK);
    dyn_map *map = dyn_test_linear(N, matrix, 1);
    dyn_lyapunov_options o = dyn_lyapunov_options_default();
    o.k = TOP + 2;
    o.steps = 6000;
    dyn_lyapunov l = exponents_of(map, NULL, &o);
    for (size_t i = 0; i < TOP; i++) {
        MAPS_CLOSE(l.exponents[i], re[i], 3.3e-4);
    }
    dyn_lyapunov_fini(&l);
    o.k = N;
    o.steps = 20;
    o.frame_ttr = 5;
    l = exponents_of(map, NULL, &o);
    for (size_t i = 0; i < N; i++) {
        sum += l.exponents[i];
    }
    MAPS_CLOSE(sum, log_det, 1e-12);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* ---- Reported as what it is ------------------------------------------------------------------ */

static void double_step(dyn_map *map, const double *x, double *y)
{
    (void)map;
    y[0] = x[0] < 0.5 ? 2 * x[0] : 2 * x[0] - 1;
}

static void double_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double at = x[0];
    jv[0] = 2 * v[0];
    if (y != NULL) {
        double_step(map, &at, y);
    }
}

static kern_status double_clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    return dyn_map_create_like(out, map, err);
}

static const dyn_map_kind doubling_kind = {.name = "doubling",
                                           .formula = "2x mod 1",
                                           .step = double_step,
                                           .jvp = double_jvp,
                                           .clone = double_clone};

/* Row 16: of slope 2, doubles lose a binary digit each step and sit on the repelling point 0 after
 * 55 or 56; orbits, diagrams and exponents say that they collapsed. */
static void test_doubling_collapses(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        dyn_map *map = NULL;
        if (i == 0) {
            MAPS_OK(dyn_map_create(&map, &doubling_kind, 1, NULL, 0, maps_err));
        } else {
            map = maps_make("tent", "mu=2");
        }
        const double x0 = 0.1;
        dyn_orbit *orbit = NULL;
        const dyn_orbit_options options = {.x0 = &x0, .steps = 100};
        MAPS_OK(dyn_orbit_create(&orbit, map, &options, maps_err));
        size_t zero = 0;
        while (orbit->states[zero] != 0) {
            zero++;
        }
        assert_in_range(zero, 55, 56);
        assert_true(orbit->collapsed && orbit->status == KERN_OK);
        dyn_orbit_destroy(orbit);
        dyn_lyapunov_options o = dyn_lyapunov_options_default();
        dyn_lyapunov l = exponents_of(map, &x0, &o);
        assert_true(l.collapsed);
        dyn_lyapunov_fini(&l);
        dyn_map_destroy(map);
    }
}

/* ---- Critical slowing ------------------------------------------------------------------------ */

/* Row 14: at the flip r = 3 the normal form δ' = −δ + bδ³…, b = 9, gives δ² → 1/(2bn) and a growth
 * of −(3/2)/n at step n: over the steps from n to 2n a mean of −(3/2) ln 2/n. Corrections are of
 * order ln n/n and, over a window, of a part 1/ln n of that; both below 1e-3 at n = 10^6. */
static void test_critical_slowing(void **state)
{
    enum { N = 1000000 };
    dyn_map *map = maps_make("logistic", "r=3");
    double x;
    (void)state;
    dyn_map_iterate(map, map->start, N, &x);
    MAPS_CLOSE(fabs(x - 2.0 / 3) * sqrt(18.0 * N), 1, 1e-3);
    MAPS_CLOSE(fabs(x - 2.0 / 3), 2.4e-4, 0.1e-4);
    dyn_lyapunov_options o = dyn_lyapunov_options_default();
    o.ttr = N - 200;
    o.frame_ttr = 200;
    o.steps = N;
    dyn_lyapunov l = exponents_of(map, NULL, &o);
    MAPS_CLOSE(l.exponents[0] * N / (1.5 * ln2), -1, 1e-3);
    dyn_lyapunov_fini(&l);
    o.ttr = 0;
    o.frame_ttr = 0;
    l = exponents_of(map, NULL, &o);
    assert_true(l.exponents[0] < -1e-5 && l.exponents[0] > -2.5e-5);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* Row 57: beyond its Neimark–Sacker bifurcation the delayed logistic map moves on a circle. With
 * |μ| = √(R − 1) and Re d = −1 for |q| = 1 the amplitude in x is √2 √(|μ| − 1) at leading order;
 * the next one is of relative order R − 2. */
static void test_circle_amplitude(void **state)
{
    dyn_map *map = maps_make("delayed-logistic", "r=2.02");
    double x[2];
    double low = 1;
    double high = 0;
    (void)state;
    dyn_map_iterate(map, map->start, 20000, x);
    for (size_t t = 0; t < 20000; t++) {
        map->kind->step(map, x, x);
        low = fmin(low, x[0]);
        high = fmax(high, x[0]);
    }
    const double amplitude = 0.5 * (high - low);
    MAPS_CLOSE(amplitude, 0.1405, 1e-4);
    MAPS_CLOSE(amplitude / sqrt(2 * (sqrt(1.02) - 1)), 1, 0.02);
    dyn_map_destroy(map);
}

/* ---- Power iteration behind a layer norm ----------------------------------------------------- */

enum { NORM_MOST = 16 };

/* Mean and scale of a state, and its direction g = (x − mean)/scale. */
static double split(size_t n, const double *x, double *g)
{
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < n; i++) {
        mean += x[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        g[i] = x[i] - mean;
        square += g[i] * g[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        g[i] /= sqrt(square);
    }
    return sqrt(square);
}

/* CWC from steps of the map at centred unit vectors, whose update is η W LN(x). */
static void probe_matrix(dyn_map *map, double eta, double *matrix)
{
    const size_t n = map->size;
    for (size_t j = 0; j < n; j++) {
        double x[NORM_MOST], y[NORM_MOST], g[NORM_MOST];
        double mean = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = (i == j ? 1.0 : 0.0) - 1.0 / (double)n;
        }
        const double scale = split(n, x, g);
        map->kind->step(map, x, y);
        for (size_t i = 0; i < n; i++) {
            y[i] = (y[i] - x[i]) * scale / eta;
            mean += y[i] / (double)n;
        }
        for (size_t i = 0; i < n; i++) {
            matrix[i * n + j] = y[i] - mean;
        }
    }
}

/* Largest two eigenvalues of CWC, and the eigenvector of the first with |·|² = n. */
static void find_leading(dyn_map *map, double eta, double lambda[2], double *leading)
{
    const size_t n = map->size;
    double matrix[NORM_MOST * NORM_MOST], vectors[NORM_MOST * NORM_MOST];
    double re[NORM_MOST], im[NORM_MOST];
    size_t top = 0;
    probe_matrix(map, eta, matrix);
    assert_int_equal(kern_lapack_eigen(n, matrix, re, im, vectors, NULL), KERN_OK);
    for (size_t i = 0; i < n; i++) {
        top = re[i] > re[top] ? i : top;
    }
    for (size_t i = 0; i < n; i++) {
        leading[i] = vectors[top * n + i] * sqrt((double)n);
    }
    qsort(re, n, sizeof *re, descend);
    lambda[0] = re[0];
    lambda[1] = re[1];
}

/* Distance of the direction of x from ±`leading`. */
static double miss(size_t n, const double *x, const double *leading)
{
    double g[NORM_MOST];
    double along = 0;
    double sum = 0;
    (void)split(n, x, g);
    for (size_t i = 0; i < n; i++) {
        along += g[i] * leading[i];
    }
    for (size_t i = 0; i < n; i++) {
        const double gap = g[i] - (along > 0 ? leading[i] : -leading[i]);
        sum += gap * gap;
    }
    return sqrt(sum);
}

/* Row 28: the direction settles on the leading eigenvector of CWC by the power −(λ1 − λ2)/λ1 of
 * time, while the scale grows by ηλ1 a step for ever. The matrices are those of the built-in map;
 * of them, two are taken whose third eigenvalue is far enough below the second to be gone within
 * 5·10^5 steps: its part falls by the power (λ2 − λ3)/λ1 more. */
static void test_norm_power_law(void **state)
{
    static const char *const assignments[] = {"eta=0.1 n=8 seed=7", "eta=0.1 n=16 seed=5"};
    enum { T = 250000 };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        dyn_map *map = maps_make("layernorm-power", assignments[i]);
        double lambda[2];
        double x[NORM_MOST], leading[NORM_MOST], g[NORM_MOST];
        find_leading(map, 0.1, lambda, leading);
        dyn_map_iterate(map, map->start, T, x);
        const double before = miss(map->size, x, leading);
        const double small = split(map->size, x, g);
        dyn_map_iterate(map, x, T, x);
        const double after = miss(map->size, x, leading);
        const double large = split(map->size, x, g);
        MAPS_CLOSE(log(after / before) / ln2, -(lambda[0] - lambda[1]) / lambda[0], 1e-3);
        /* Short of ηλ1 by a part of half the squared miss per coordinate. */
        MAPS_CLOSE((large - small) / T, 0.1 * lambda[0],
                   0.1 * lambda[0] * before * before / (double)map->size);
        dyn_map_destroy(map);
    }
}

/* Row 28: shift and scale are two multipliers of 1 at every state, and only two of a generic one;
 * there is no fixed point, which the search reports by how its starts ended. */
static void test_norm_has_no_fixed_point(void **state)
{
    dyn_map *map = maps_make("layernorm-power", "n=8 seed=7");
    double x[NORM_MOST];
    size_t ones = 0;
    (void)state;
    dyn_map_iterate(map, map->start, 20, x);
    dyn_multipliers m = multipliers_at(map, x, 1);
    for (size_t i = 0; i < 8; i++) {
        const double gap = hypot(m.blocks[0].re[i] - 1, m.blocks[0].im[i]);
        ones += gap < 1e-12;
        assert_true(gap < 1e-12 || gap > 1e-4);
    }
    assert_int_equal(ones, 2);
    dyn_multipliers_fini(&m);
    dyn_fixed_points_options o = dyn_fixed_points_options_default();
    double low[8], high[8];
    for (size_t i = 0; i < 8; i++) {
        low[i] = -3;
        high[i] = 3;
    }
    o.n_starts = 20;
    o.low = low;
    o.high = high;
    dyn_fixed_points f;
    MAPS_OK(dyn_fixed_points_init(&f, map, &o, maps_err));
    assert_true(f.n_requested == 20 && f.n_converged == 0 && f.n_cycles == 0);
    assert_int_equal(f.failures[KERN_DIVERGED] + f.failures[KERN_SINGULAR] +
                         f.failures[KERN_NOT_CONVERGED] + f.failures[KERN_NAN],
                     20);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

/* Row 29: from a·x with step aη the states are a times those from x with step η, so directions
 * agree: in every bit when a is a power of 2, and to rounding otherwise; a shift of the start
 * shifts every state. One step rounds by about ε = 1.1e-16 a few times. */
static void test_norm_symmetry(void **state)
{
    static const struct {
        const char *eta;
        double factor, shift, tolerance;
    } cases[] = {
        {"eta=0.4 n=12 seed=3", 4, 0, 0},
        {"eta=0.3 n=12 seed=3", 3, 0, 2e-15},
        {"eta=0.1 n=12 seed=3", 1, 0.7, 2e-15},
    };
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        dyn_map *one = maps_make("layernorm-power", "eta=0.1 n=12 seed=3");
        dyn_map *two = maps_make("layernorm-power", cases[c].eta);
        double x[NORM_MOST], y[NORM_MOST], g[NORM_MOST], h[NORM_MOST];
        memcpy(x, one->start, 12 * sizeof *x);
        for (size_t t = 0; t < 100; t++) {
            for (size_t i = 0; i < 12; i++) {
                y[i] = cases[c].factor * x[i] + cases[c].shift;
            }
            one->kind->step(one, x, x);
            two->kind->step(two, y, y);
            (void)split(12, x, g);
            (void)split(12, y, h);
            for (size_t i = 0; i < 12; i++) {
                MAPS_CLOSE(g[i], h[i], cases[c].tolerance);
            }
        }
        dyn_map_destroy(one);
        dyn_map_destroy(two);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logistic_fixed_point), cmocka_unit_test(test_logistic_two_cycle),
        cmocka_unit_test(test_ikeda_sink),           cmocka_unit_test(test_ring_spectrum),
        cmocka_unit_test(test_linear_map),           cmocka_unit_test(test_doubling_collapses),
        cmocka_unit_test(test_critical_slowing),     cmocka_unit_test(test_circle_amplitude),
        cmocka_unit_test(test_norm_power_law),       cmocka_unit_test(test_norm_has_no_fixed_point),
        cmocka_unit_test(test_norm_symmetry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
