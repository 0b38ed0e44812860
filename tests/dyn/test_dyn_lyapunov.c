/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lyapunov exponents: exact ones, identities that hold for any orbit, chaotic reference values, and
 * every way in which an orbit can be lost.
 */
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_lyapunov.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "tests/dyn/dyn_fault_maps.h"

#include <stdlib.h>

static const double ln2 = 0.693147180559945309;

/* Computes from x0, or from the map's own start. */
static dyn_lyapunov compute(dyn_map *map, const double *x0, const dyn_lyapunov_options *o)
{
    dyn_lyapunov out;
    kern_error err = {0};
    if (dyn_lyapunov_init(&out, map, x0 != NULL ? x0 : map->start, o, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return out;
}

static dyn_lyapunov_options options_of(size_t k, size_t steps)
{
    dyn_lyapunov_options o = dyn_lyapunov_options_default();
    o.k = k;
    o.steps = steps;
    return o;
}

static double sum_of(const dyn_lyapunov *l)
{
    double sum = 0.0;
    for (size_t i = 0; i < l->k; i++) {
        sum += l->exponents[i];
    }
    return sum;
}

/* ---- Exact -------------------------------------------------------------------------------- */

/* On a stable fixed point of the logistic map the exponent is ln|2 − r|, on its 2-cycle
 * ½ ln|4 + 2r − r²|. The transient has decayed below rounding after 1200 steps, and the slope there
 * is known to rounding. */
static void test_logistic_periodic(void **state)
{
    static const struct {
        const char *assignment;
        double exponent;
    } cases[] = {
        {"r=1.5", -0.693147180559945309}, {"r=1.9", -2.302585092994045684},
        {"r=2.6", -0.510825623765990683}, {"r=2.9", -0.105360515657826301},
        {"r=3.2", -0.916290731874155065},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = dyn_test_named("logistic", cases[i].assignment, NULL, NULL);
        const double x0 = 0.37;
        dyn_lyapunov_options o = options_of(1, 1000);
        o.window = 20; /* whole cycles, whose means do not scatter */
        dyn_lyapunov l = compute(map, &x0, &o);
        assert_int_equal(l.status, KERN_OK);
        MAPS_CLOSE(l.exponents[0], cases[i].exponent, 1e-9);
        MAPS_CLOSE(l.standard_errors[0], 0.0, 1e-9);
        MAPS_CLOSE(l.kaplan_yorke, 0.0, 0.0);
        dyn_lyapunov_fini(&l);
        dyn_map_destroy(map);
    }
}

/* At r = 2 the fixed point ½ has slope 0: the exponent is −∞ and so is its window, which is a
 * result; there is no error to give with it. */
static void test_superstable(void **state)
{
    dyn_map *map = dyn_test_named("logistic", "r=2", NULL, NULL);
    const double x0 = 0.5;
    dyn_lyapunov_options o = options_of(1, 100);
    dyn_lyapunov l = compute(map, &x0, &o);
    (void)state;
    assert_int_equal(l.status, KERN_OK);
    assert_true(isinf(l.exponents[0]) && l.exponents[0] < 0.0);
    assert_true(isnan(l.standard_errors[0]));
    assert_true(l.kaplan_yorke_status == KERN_OK && l.kaplan_yorke == 0.0);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* Constant Jacobians with real eigenvalues of different moduli: the frame is aligned to rounding
 * after its warm-up, and every step then grows by the eigenvalue. */
static void test_constant_jacobian(void **state)
{
    static const double diagonal[] = {1.1, 0.0, 0.0, 0.8};
    dyn_map *map = dyn_test_linear(2, diagonal, 1);
    dyn_lyapunov_options o = options_of(2, 500);
    dyn_lyapunov l = compute(map, NULL, &o);
    (void)state;
    MAPS_CLOSE(l.exponents[0], log(1.1), 1e-12);
    MAPS_CLOSE(l.exponents[1], log(0.8), 1e-12);
    MAPS_CLOSE(l.kaplan_yorke, 1.0 + log(1.1) / -log(0.8), 1e-11);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
    map = dyn_test_named("cat", NULL, NULL, NULL);
    l = compute(map, NULL, &o);
    MAPS_CLOSE(l.exponents[0], 0.962423650119207, 1e-12);
    MAPS_CLOSE(l.exponents[1], -0.962423650119207, 1e-12);
    MAPS_CLOSE(l.kaplan_yorke, 2.0, 1e-9);
    assert_int_equal(l.kaplan_yorke_status, KERN_OK);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* Gradient descent on a quadratic: ln|1 − ηλ|, whatever the state. */
static void test_quadratic(void **state)
{
    static const double multipliers[] = {-0.8, 0.7, 0.2};
    dyn_map *map = dyn_test_named("quadratic", "eta=0.4", "lambda=0.75,2,4.5", NULL);
    dyn_lyapunov_options o = options_of(3, 300);
    dyn_lyapunov l = compute(map, NULL, &o);
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        MAPS_CLOSE(l.exponents[i], log(fabs(multipliers[i])), 1e-12);
    }
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* The sink of the Ikeda map beside its chaos: both exponents are ln 0.9, the modulus of a complex
 * pair, whose single steps grow and shrink along its ellipse; the mean over T steps is off by a
 * bounded amount over T. */
static void test_ikeda_sink(void **state)
{
    dyn_map *map = dyn_test_named("ikeda", "u=0.9", NULL, NULL);
    const double x0[2] = {2.97213162, 4.14594642};
    dyn_lyapunov_options o = options_of(2, 20000);
    dyn_lyapunov l = compute(map, x0, &o);
    (void)state;
    MAPS_CLOSE(l.exponents[0], log(0.9), 1e-4);
    MAPS_CLOSE(l.exponents[1], log(0.9), 1e-4);
    MAPS_CLOSE(sum_of(&l), 2.0 * log(0.9), 1e-12);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* For qsort: larger numbers first. */
static int descend(const void *first, const void *second)
{
    const double a = *(const double *)first;
    const double b = *(const double *)second;
    return (a < b) - (a > b);
}

/* ln|eigenvalue| of a matrix, descending, into `moduli`. */
static void find_moduli(size_t n, const double *matrix, double *moduli)
{
    double *work = malloc((n * n + n) * sizeof *work);
    assert_non_null(work);
    memcpy(work, matrix, n * n * sizeof *work);
    assert_int_equal(kern_lapack_eigenvalues(n, work, moduli, work + n * n, NULL), KERN_OK);
    for (size_t i = 0; i < n; i++) {
        moduli[i] = log(hypot(moduli[i], work[n * n + i]));
    }
    qsort(moduli, n, sizeof *moduli, descend);
    free(work);
}

/* A random matrix of radius 0.8: QR finds ln|eigenvalue|. Gaps within complex pairs and between
 * neighbours decay as 1/steps only; the sum holds to rounding. */
static void test_linear_spectrum(void **state)
{
    enum { N = 100, TOP = 10 };
    double *matrix = malloc((size_t)N * N * sizeof *matrix);
    double moduli[N];
    double sum = 0.0;
    (void)state;
    assert_non_null(matrix);
    dyn_test_fill(matrix, (size_t)N * N, 7);
    for (size_t i = 0; i < (size_t)N * N; i++) {
        matrix[i] *= 0.8 * sqrt(3.0 / N);
    }
    find_moduli(N, matrix, moduli);
    dyn_map *map = dyn_test_linear(N, matrix, 1);
    dyn_lyapunov_options o = options_of(TOP + 2, 3000);
    dyn_lyapunov l = compute(map, NULL, &o);
    for (size_t i = 0; i < TOP; i++) {
        MAPS_CLOSE(l.exponents[i], moduli[i], 1e-3);
        assert_true(i == 0 || l.exponents[i] <= l.exponents[i - 1]);
    }
    dyn_lyapunov_fini(&l);
    o = options_of(N, 30);
    o.frame_ttr = 10;
    l = compute(map, NULL, &o);
    for (size_t i = 0; i < N; i++) {
        sum += moduli[i];
    }
    MAPS_CLOSE(sum_of(&l), sum, 1e-11);
    MAPS_CLOSE(l.mean_log_abs_det, sum, 1e-11);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
    free(matrix);
}

/* Synchronised ring: F′ is the driver's slope times a circulant matrix, so the spectrum is that of
 * one map plus ln|1 − ε(1 − cos 2πk/N)|. */
static void test_synchronised_ring(void **state)
{
    enum { N = 14 };
    dyn_map *map = dyn_test_named("coupled-logistic", "r=4", "eps=0.3", "n=14");
    double x0[N];
    double shifts[N];
    dyn_lyapunov_options o = options_of(N, 3000);
    (void)state;
    assert_int_equal(map->size, N);
    for (size_t i = 0; i < N; i++) {
        const double angle = 6.283185307179586477 * (double)i / N;
        x0[i] = 0.3141;
        shifts[i] = log(fabs(1.0 - 0.3 * (1.0 - cos(angle))));
    }
    qsort(shifts, N, sizeof shifts[0], descend);
    dyn_lyapunov l = compute(map, x0, &o);
    MAPS_CLOSE(l.exponents[0], ln2, 0.02);
    for (size_t i = 0; i < N; i++) {
        MAPS_CLOSE(l.exponents[i] - l.exponents[0], shifts[i], 1e-4);
    }
    /* Weak coupling expands the volume, so no dimension is defined. */
    assert_true(sum_of(&l) > 0.0);
    assert_int_equal(l.kaplan_yorke_status, KERN_NOT_FOUND);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* On an invariant circle, and on a torus of an area-preserving map, an exponent is 0 and its sign
 * chance: it counts as 0, with what a sign would make of it beside. */
static void test_neutral_exponents(void **state)
{
    static const double orbit[] = {3.0, 0.1};
    dyn_map *map = dyn_test_named("delayed-logistic", "r=2.1", NULL, NULL);
    (void)state;
    for (size_t steps = 1000; steps <= 4000; steps += 500) { /* some signs are negative */
        dyn_lyapunov_options o = options_of(2, steps);
        dyn_lyapunov l = compute(map, NULL, &o);
        assert_int_equal(l.n_neutral, 1);
        assert_true(l.kaplan_yorke_status == KERN_OK && l.kaplan_yorke == 1.0);
        assert_true(l.kaplan_yorke_low == 0.0);
        assert_true(l.kaplan_yorke_high > 1.0 && l.kaplan_yorke_high < 1.2);
        dyn_lyapunov_fini(&l);
    }
    dyn_map_destroy(map);
    map = dyn_test_named("standard", "k=0.5", NULL, NULL);
    dyn_lyapunov_options o = options_of(2, 4000);
    dyn_lyapunov l = compute(map, orbit, &o);
    assert_int_equal(l.n_neutral, 2);
    assert_true(l.kaplan_yorke == 2.0 && l.kaplan_yorke_high == 2.0);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* The interval of a chaotic orbit's dimension holds it, and shrinks with the steps. */
static void test_dimension_interval(void **state)
{
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    double width[2] = {0};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        dyn_lyapunov_options o = options_of(2, i == 0 ? 4000 : 64000);
        dyn_lyapunov l = compute(map, NULL, &o);
        width[i] = l.kaplan_yorke_high - l.kaplan_yorke_low;
        assert_true(l.n_neutral == 0 && l.kaplan_yorke_low < l.kaplan_yorke);
        assert_true(l.kaplan_yorke < l.kaplan_yorke_high);
        assert_true(width[i] > 0.0 && width[i] < 0.1);
        dyn_lyapunov_fini(&l);
    }
    assert_true(width[1] < 0.6 * width[0]);
    dyn_map_destroy(map);
}

/* Doubles of the tent map of slope 2 reach its repelling point 0 after some 55 steps. */
static void test_collapse(void **state)
{
    dyn_map *map = dyn_test_named("tent", "mu=2", NULL, NULL);
    const double x0 = 0.37;
    dyn_lyapunov_options o = options_of(1, 100);
    (void)state;
    dyn_lyapunov l = compute(map, &x0, &o);
    assert_true(l.collapsed);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
    map = dyn_test_named("logistic", "r=4", NULL, NULL);
    l = compute(map, &x0, &o);
    assert_false(l.collapsed);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* Two coupled maps stay together exactly when 0.25 < ε < 0.75. */
static void test_synchronisation(void **state)
{
    static const struct {
        const char *eps;
        bool together;
    } cases[] = {{"eps=0.24", false}, {"eps=0.26", true}, {"eps=0.74", true}, {"eps=0.76", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = dyn_test_named("coupled-logistic", "r=4", cases[i].eps, "n=2");
        const double x0[2] = {0.3141, 0.3141};
        dyn_lyapunov_options o = options_of(2, 20000);
        dyn_lyapunov l = compute(map, x0, &o);
        assert_true((l.exponents[1] < 0.0) == cases[i].together);
        dyn_lyapunov_fini(&l);
        dyn_map_destroy(map);
    }
}

/* ---- Invariants --------------------------------------------------------------------------- */

/* The sum of all exponents is the mean of ln|det F′|, which is constant for these maps. */
static void test_sums(void **state)
{
    static const struct {
        const char *name;
        double sum;
    } cases[] = {{"henon", -1.203972804325936},
                 {"lozi", -0.693147180559945309},
                 {"ikeda", -0.210721031315652},
                 {"standard", 0.0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = dyn_test_named(cases[i].name, NULL, NULL, NULL);
        dyn_lyapunov_options o = options_of(2, 5000);
        dyn_lyapunov l = compute(map, NULL, &o);
        assert_int_equal(l.status, KERN_OK);
        MAPS_CLOSE(sum_of(&l), cases[i].sum, 1e-9);
        MAPS_CLOSE(l.mean_log_abs_det, cases[i].sum, 1e-9);
        dyn_lyapunov_fini(&l);
        dyn_map_destroy(map);
    }
}

/* Equal options, equal bits; fewer exponents are the first ones of more; series average to the
 * exponents; what was used is what is told. */
static void test_repeats(void **state)
{
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    dyn_lyapunov_options o = options_of(2, 6000);
    o.window = 250;
    dyn_lyapunov a = compute(map, NULL, &o);
    dyn_lyapunov b = compute(map, NULL, &o);
    o.k = 1;
    dyn_lyapunov one = compute(map, NULL, &o);
    double mean = 0.0;
    (void)state;
    assert_memory_equal(a.exponents, b.exponents, 2 * sizeof *a.exponents);
    assert_memory_equal(a.standard_errors, b.standard_errors, 2 * sizeof *a.exponents);
    assert_memory_equal(a.series, b.series, 48 * sizeof *a.series);
    MAPS_CLOSE(one.exponents[0], a.exponents[0], 1e-9);
    MAPS_CLOSE(one.mean_log_abs_det, log(0.3), 1e-12);
    assert_int_equal(one.kaplan_yorke_status, KERN_NOT_FOUND);
    assert_true(isnan(one.kaplan_yorke));
    assert_int_equal(a.n_windows, 24);
    assert_int_equal(a.window, 250);
    assert_true(a.ttr == 1000 && a.frame_ttr == 200 && a.steps == 6000);
    for (size_t w = 0; w < a.n_windows; w++) {
        mean += a.series[w * 2] / 24.0;
    }
    MAPS_CLOSE(mean, a.exponents[0], 1e-12);
    dyn_lyapunov_fini(&a);
    dyn_lyapunov_fini(&b);
    dyn_lyapunov_fini(&one);
    dyn_map_destroy(map);
}

/* Frames in one block: the union of the blocks' exponents is the spectrum of the whole. */
static void test_linear_blocks(void **state)
{
    enum { N = 6, WIDTH = 2 };
    static const double expected[N] = {-0.4, -0.9, 0.2, -0.1, -0.6, -1.3};
    double matrix[N * N] = {0};
    double below[N * N];
    dyn_lyapunov_options o = options_of(WIDTH, 400);
    (void)state;
    dyn_test_fill(below, N * N, 3);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j <= i; j++) {
            matrix[i * N + j] = i == j ? exp(expected[i]) : 30.0 * below[i * N + j];
        }
    }
    dyn_map *map = dyn_test_linear(N, matrix, N / WIDTH);
    for (size_t block = 0; block < N / WIDTH; block++) {
        o.block = block;
        dyn_lyapunov l = compute(map, NULL, &o);
        MAPS_CLOSE(l.exponents[0], expected[block * WIDTH], 1e-11);
        MAPS_CLOSE(l.exponents[1], expected[block * WIDTH + 1], 1e-11);
        MAPS_CLOSE(l.mean_log_abs_det, expected[block * WIDTH] + expected[block * WIDTH + 1],
                   1e-11);
        dyn_lyapunov_fini(&l);
    }
    dyn_map_destroy(map);
}

/* Conditional exponents of a driver and of what it drives, both known in closed form; the standard
 * errors must cover the gap (5 of them: one false alarm in a million) and be of the right size. */
static void test_driven_blocks(void **state)
{
    dyn_map *map = dyn_test_driven(0.5, 0.4);
    const double exact[2] = {ln2, log((0.7 + sqrt(0.7 * 0.7 - 0.2 * 0.2)) / 2.0)};
    dyn_lyapunov_options o = options_of(1, 40000);
    (void)state;
    for (size_t block = 0; block < 2; block++) {
        o.block = block;
        dyn_lyapunov l = compute(map, NULL, &o);
        assert_int_equal(l.status, KERN_OK);
        assert_true(l.standard_errors[0] > 1e-5 && l.standard_errors[0] < 5e-3);
        MAPS_CLOSE(l.exponents[0], exact[block], 5.0 * l.standard_errors[0]);
        dyn_lyapunov_fini(&l);
    }
    dyn_map_destroy(map);
}

/* ---- Chaotic references ------------------------------------------------------------------- */

/* Reference values of long runs by others, within the 2e-3 that peers use, and exact means over an
 * invariant density (logistic at 4; double well at 2, conjugate to a Chebyshev map). Orbits differ
 * between compilers, so the steps are such that the tolerances are five standard errors or more. */
static void test_chaos(void **state)
{
    static const struct {
        const char *name, *first, *second;
        double start[2];
        double exponents[2], dimension;
        size_t k, steps;
    } cases[] = {
        {"logistic", "r=4", NULL, {0.3}, {0.693147180560}, 0, 1, 200000},
        {"double-well", "eta=2", NULL, {0.3}, {1.098612288668}, 0, 1, 200000},
        {"henon", "a=1.4", "b=0.3", {0}, {0.41919, -1.62316}, 1.2583, 2, 1000000},
        {"ikeda", "u=0.9", NULL, {0.1, 0.1}, {0.5076, -0.7184}, 1.7067, 2, 1600000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = dyn_test_named(cases[i].name, cases[i].first, cases[i].second, NULL);
        dyn_lyapunov_options o = options_of(cases[i].k, cases[i].steps);
        dyn_lyapunov l = compute(map, cases[i].start, &o);
        assert_true(l.standard_errors[0] > 0.0 && l.standard_errors[0] < 5e-4);
        for (size_t j = 0; j < l.k; j++) {
            MAPS_CLOSE(l.exponents[j], cases[i].exponents[j], 2e-3);
        }
        if (l.k == 2) {
            MAPS_CLOSE(l.kaplan_yorke, cases[i].dimension, 1e-3);
        } else {
            assert_int_equal(l.kaplan_yorke_status, KERN_NOT_FOUND);
        }
        dyn_lyapunov_fini(&l);
        dyn_map_destroy(map);
    }
}

/* ---- Lost orbits and refused options ------------------------------------------------------ */

static void assert_lost(dyn_test_fault fault, size_t ttr, size_t frame_ttr, kern_status status,
                        size_t step)
{
    dyn_map *map = dyn_test_translation(3, fault);
    dyn_lyapunov_options o = options_of(2, 50);
    o.ttr = ttr;
    o.frame_ttr = frame_ttr;
    dyn_lyapunov l = compute(map, NULL, &o);
    assert_int_equal(l.status, status);
    assert_int_equal(l.failed_step, step);
    assert_true(isnan(l.exponents[0]) && isnan(l.exponents[1]) && isnan(l.standard_errors[0]));
    assert_true(isnan(l.mean_log_abs_det) && isnan(l.kaplan_yorke) && isnan(l.series[0]));
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

/* The state passes 5 in the sixth step, whose image of it is the seventh. */
static void test_lost(void **state)
{
    (void)state;
    assert_lost(DYN_TEST_FAULT_NAN, 20, 5, KERN_NAN, 7);
    assert_lost(DYN_TEST_FAULT_NAN, 2, 20, KERN_NAN, 7);
    assert_lost(DYN_TEST_FAULT_NAN, 1, 2, KERN_NAN, 7);
    assert_lost(DYN_TEST_FAULT_INF, 20, 5, KERN_DIVERGED, 7);
    assert_lost(DYN_TEST_FAULT_INF, 0, 0, KERN_DIVERGED, 7);
    assert_lost(DYN_TEST_FAULT_TANGENT, 2, 20, KERN_NAN, 7);
    assert_lost(DYN_TEST_FAULT_TANGENT, 2, 2, KERN_NAN, 7);
}

/* Escape is seen at the bound, not at infinity, and a bad start at once. */
static void test_escape(void **state)
{
    dyn_map *map = dyn_test_named("logistic", "r=4", NULL, NULL);
    dyn_lyapunov_options o = options_of(1, 100);
    double x0 = -0.5;
    (void)state;
    o.bound = 10.0;
    dyn_lyapunov l = compute(map, &x0, &o);
    assert_int_equal(l.status, KERN_DIVERGED);
    assert_int_equal(l.failed_step, 2);
    dyn_lyapunov_fini(&l);
    x0 = (double)NAN;
    l = compute(map, &x0, &o);
    assert_int_equal(l.status, KERN_NAN);
    assert_int_equal(l.failed_step, 0);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

static void assert_refused(dyn_map *map, dyn_lyapunov_options o, const char *sentence)
{
    dyn_lyapunov l;
    kern_error err = {0};
    assert_int_equal(dyn_lyapunov_init(&l, map, map->start, &o, &err), KERN_INVALID_ARGUMENT);
    if (strstr(err.text, sentence) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, sentence);
    }
    dyn_lyapunov_fini(&l);
}

static void test_refused(void **state)
{
    dyn_map *map = dyn_test_driven(0.5, 0.4);
    dyn_lyapunov_options o = options_of(3, 10);
    (void)state;
    assert_refused(map, o, "3 exponents were asked for, accepted is 1 to 2, the number of coord");
    o.k = 0;
    assert_refused(map, o, "0 exponents");
    o.k = 2;
    o.block = 1;
    assert_refused(map, o, "accepted is 1 to 1, the number of coordinates of a block");
    o.block = 2;
    assert_refused(map, o, "block 2 is not one of the map's 2");
    o.block = DYN_LYAPUNOV_WHOLE;
    o.window = 11;
    assert_refused(map, o, "a window of 11 steps is longer than the 10");
    o.window = 0;
    o.bound = (double)NAN;
    assert_refused(map, o, "the bound of the orbit is nan");
    o.bound = 1.0;
    o.steps = 0;
    assert_refused(map, o, "0 steps");
    dyn_map_destroy(map);
}

/* Stops when the eleventh step is told. */
static bool stop_early(void *context, size_t done, size_t total)
{
    *(size_t *)context = total;
    return done < 11;
}

/* Too few windows for an error, and a user who stops. */
static void test_edges(void **state)
{
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    dyn_lyapunov_options o = options_of(2, 30);
    kern_error err = {0};
    size_t total = 0;
    (void)state;
    o.window = 30;
    dyn_lyapunov l = compute(map, NULL, &o);
    assert_true(isfinite(l.exponents[0]) && isnan(l.standard_errors[0]));
    dyn_lyapunov_fini(&l);
    o.window = 1;
    o.resamples = 0;
    l = compute(map, NULL, &o);
    assert_true(l.n_windows == 30 && isnan(l.standard_errors[1]));
    dyn_lyapunov_fini(&l);
    o.progress = stop_early;
    o.context = &total;
    o.ttr = 5;
    assert_int_equal(dyn_lyapunov_init(&l, map, map->start, &o, &err), KERN_INTERRUPTED);
    assert_non_null(strstr(err.text, "step 11"));
    assert_int_equal(total, 5 + 200 + 30);
    dyn_lyapunov_fini(&l);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest exact[] = {
        cmocka_unit_test(test_logistic_periodic), cmocka_unit_test(test_superstable),
        cmocka_unit_test(test_constant_jacobian), cmocka_unit_test(test_quadratic),
        cmocka_unit_test(test_ikeda_sink),        cmocka_unit_test(test_linear_spectrum),
        cmocka_unit_test(test_synchronised_ring), cmocka_unit_test(test_synchronisation),
        cmocka_unit_test(test_collapse),
    };
    const struct CMUnitTest invariant[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_linear_blocks),
        cmocka_unit_test(test_driven_blocks),
    };
    const struct CMUnitTest chaotic[] = {cmocka_unit_test(test_chaos)};
    const struct CMUnitTest outcomes[] = {
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_neutral_exponents),
        cmocka_unit_test(test_dimension_interval),
        cmocka_unit_test(test_edges),
    };
    kern_runtime_init();
    int failed = cmocka_run_group_tests(exact, NULL, NULL);
    failed += cmocka_run_group_tests(invariant, NULL, NULL);
    failed += cmocka_run_group_tests(chaotic, NULL, NULL);
    failed += cmocka_run_group_tests(outcomes, NULL, NULL);
    return failed;
}
