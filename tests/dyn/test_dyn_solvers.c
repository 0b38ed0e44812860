/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The solvers of cycles by themselves: Newton–Krylov against the dense method and on large maps,
 * Anderson's method on maps that contract and on maps that do not, deflated Newton.
 */
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_anderson.h"
#include "dyn/dyn_deflation.h"
#include "dyn/dyn_method.h"
#include "dyn/dyn_newton_krylov.h"
#include "dyn/dyn_shooting.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "tests/dyn/dyn_fault_maps.h"

#include <stdlib.h>

static const dyn_chain_goal usual = {.tol = 1e-11, .max_iterations = 100, .merge = 1e-6};

/* By the method of the table. */
static dyn_chain_result solve(const char *method, dyn_map *map, double *states, size_t period,
                              const dyn_chain_goal *goal)
{
    const dyn_method *m = dyn_method_find(method);
    void *solver = NULL;
    assert_non_null(m);
    assert_int_equal(m->create(&solver, map, period, NULL), KERN_OK);
    const dyn_chain_result r = m->solve(solver, states, period, goal);
    double *gap = calloc(period * map->size, sizeof *gap);
    assert_non_null(gap);
    /* Whatever the outcome, the residual is that of the states as they are left. */
    const double residual = dyn_chain_residual(map, states, period, gap);
    assert_true(residual == r.residual || (isnan(residual) && isnan(r.residual)));
    free(gap);
    m->destroy(solver);
    return r;
}

static void test_table(void **state)
{
    dyn_map *small = dyn_test_named("henon", NULL, NULL, NULL);
    (void)state;
    assert_string_equal(dyn_method_at(0)->name, "newton");
    assert_null(dyn_method_at(3));
    assert_null(dyn_method_find("secant"));
    assert_string_equal(dyn_method_choose(small, 300)->name, "newton");
    assert_string_equal(dyn_method_choose(small, 301)->name, "newton-krylov");
    assert_string_equal(dyn_method_choose(small, SIZE_MAX)->name, "newton-krylov");
    dyn_map_destroy(small);
}

/* ---- Newton–Krylov ------------------------------------------------------------------------ */

/* Both from near the cycles of the Hénon map that the dense method finds: the same states. */
static void test_krylov_on_henon(void **state)
{
    enum { LONGEST = 8, TRIES = 30 };
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    size_t compared = 0;
    (void)state;
    for (size_t p = 1; p <= LONGEST; p++) {
        for (unsigned seed = 0; seed < TRIES; seed++) {
            double dense[2 * LONGEST];
            double krylov[2 * LONGEST];
            dyn_test_fill(dense, 2 * p, seed);
            if (solve("newton", map, dense, p, &usual).status != KERN_OK) {
                continue;
            }
            for (size_t i = 0; i < 2 * p; i++) {
                krylov[i] = dense[i] + 1e-4 * (i % 3 == 0 ? 1.0 : -1.0);
            }
            const dyn_chain_result r = solve("newton-krylov", map, krylov, p, &usual);
            assert_int_equal(r.status, KERN_OK);
            assert_true(r.residual < 1e-14 && r.iterations > 0);
            for (size_t i = 0; i < 2 * p; i++) {
                MAPS_CLOSE(krylov[i], dense[i], 1e-12);
            }
            compared++;
        }
    }
    assert_true(compared > 2 * LONGEST);
    dyn_map_destroy(map);
}

/* The synchronous 2-cycle of 200 coupled maps, from a state 0.03 off in every coordinate. */
static void test_krylov_on_ring(void **state)
{
    enum { SIZE = 200 };
    static double dense[2 * SIZE];
    static double krylov[2 * SIZE];
    dyn_map *map = dyn_test_named("coupled-logistic", "n=200", "r=3.2", "eps=0.3");
    const double low = (4.2 - sqrt(0.84)) / 6.4;
    const double high = (4.2 + sqrt(0.84)) / 6.4;
    (void)state;
    dyn_test_fill(dense, 2 * (size_t)SIZE, 5);
    for (size_t i = 0; i < 2 * (size_t)SIZE; i++) {
        dense[i] = 0.03 * dense[i] + (i < SIZE ? low : high);
    }
    memcpy(krylov, dense, sizeof dense);
    assert_int_equal(solve("newton", map, dense, 2, &usual).status, KERN_OK);
    assert_int_equal(solve("newton-krylov", map, krylov, 2, &usual).status, KERN_OK);
    for (size_t i = 0; i < 2 * (size_t)SIZE; i++) {
        MAPS_CLOSE(dense[i], i < SIZE ? low : high, 1e-13);
        MAPS_CLOSE(krylov[i], dense[i], 1e-13);
    }
    dyn_map_destroy(map);
}

/* 10⁴ coordinates: 1 − 1/r everywhere, by products only. A dense matrix would take 800 MB. */
static void test_krylov_at_size(void **state)
{
    enum { SIZE = 10000 };
    dyn_map *map = dyn_test_named("coupled-logistic", "n=10000", "r=2.9", "eps=0.4");
    const dyn_newton_krylov_options o = dyn_newton_krylov_options_default();
    dyn_newton_krylov *k = NULL;
    double *x = calloc(SIZE, sizeof *x);
    (void)state;
    assert_non_null(x);
    assert_int_equal(dyn_newton_krylov_create(&k, map, &o, NULL), KERN_OK);
    dyn_test_fill(x, SIZE, 9);
    for (size_t i = 0; i < SIZE; i++) {
        x[i] = 0.65 + 0.1 * x[i];
    }
    const dyn_chain_result r = dyn_newton_krylov_solve(k, x, 1, &usual);
    assert_int_equal(r.status, KERN_OK);
    assert_true(r.iterations <= 10 && r.residual < 1e-15);
    assert_true(dyn_newton_krylov_products(k) < 300);
    for (size_t i = 0; i < SIZE; i++) {
        MAPS_CLOSE(x[i], 1.0 - 1.0 / 2.9, 1e-14);
    }
    dyn_newton_krylov_destroy(k);
    dyn_newton_krylov_destroy(NULL);
    free(x);
    dyn_map_destroy(map);
}

/* A superstable cycle, whose Jacobians are 0 somewhere: the system without elimination would be a
 * permutation nearly. And a translation: singular. */
static void test_krylov_ends(void **state)
{
    dyn_map *map = dyn_test_named("logistic", "r=3.4985616993277015", NULL, NULL);
    double states[4] = {0.52, 0.86, 0.39, 0.82};
    (void)state;
    assert_int_equal(solve("newton-krylov", map, states, 4, &usual).status, KERN_OK);
    double largest = fabs(states[0] - 0.5);
    for (size_t i = 1; i < 4; i++) {
        largest = fmin(largest, fabs(states[i] - 0.5));
    }
    MAPS_CLOSE(largest, 0.0, 1e-10);
    dyn_map_destroy(map);
    map = dyn_test_translation(2, DYN_TEST_FAULT_NONE);
    assert_int_equal(solve("newton-krylov", map, states, 1, &usual).status, KERN_SINGULAR);
    dyn_map_destroy(map);
    map = dyn_test_translation(2, DYN_TEST_FAULT_TANGENT);
    states[0] = 7.0;
    assert_int_equal(solve("newton-krylov", map, states, 1, &usual).status, KERN_NAN);
    dyn_newton_krylov_options o = dyn_newton_krylov_options_default();
    dyn_newton_krylov *k = NULL;
    o.period = 0;
    assert_int_equal(dyn_newton_krylov_create(&k, map, &o, NULL), KERN_INVALID_ARGUMENT);
    o.period = SIZE_MAX / 4;
    assert_int_equal(dyn_newton_krylov_create(&k, map, &o, NULL), KERN_OVERFLOW);
    o = dyn_newton_krylov_options_default();
    o.restart = 0;
    assert_int_equal(dyn_newton_krylov_create(&k, map, &o, NULL), KERN_INVALID_ARGUMENT);
    assert_null(k);
    dyn_map_destroy(map);
}

/* ---- Anderson ----------------------------------------------------------------------------- */

static dyn_chain_result accelerate(dyn_map *map, size_t window, double *states, size_t period,
                                   const dyn_chain_goal *goal)
{
    dyn_anderson_options o = dyn_anderson_options_default();
    dyn_anderson *a = NULL;
    o.window = window;
    assert_int_equal(dyn_anderson_create(&a, map, &o, NULL), KERN_OK);
    const dyn_chain_result r = dyn_anderson_solve(a, states, period, goal);
    dyn_anderson_destroy(a);
    return r;
}

/* A linear map with m eigenvalues is solved after m differences, as by GMRES (Walker and Ni,
 * theorem 2.2); plain iteration takes ln 1e-11 / ln 0.99 steps. */
static void test_anderson_on_linear_map(void **state)
{
    const double matrix[25] = {0.99, 0, 0, 0, 0, 1,   0.9, 0, 0, 0, 0, 1,    -0.7,
                               0,    0, 0, 0, 1, 0.3, 0,   0, 0, 0, 1, -0.98};
    dyn_map *map = dyn_test_linear(5, matrix, 1);
    dyn_chain_goal goal = usual;
    double fast[5] = {1, -2, 3, 0.5, 1};
    double slow[5] = {1, -2, 3, 0.5, 1};
    (void)state;
    dyn_chain_result r = accelerate(map, 8, fast, 1, &goal);
    assert_int_equal(r.status, KERN_OK);
    assert_true(r.iterations <= 9);
    goal.max_iterations = 10000;
    r = accelerate(map, 0, slow, 1, &goal);
    assert_int_equal(r.status, KERN_OK);
    assert_true(r.iterations > 1000);
    /* |x| is |f| over 1 − 0.99 at most, times the growth of a matrix that is not normal. */
    for (size_t i = 0; i < 5; i++) {
        MAPS_CLOSE(fast[i], 0.0, 1e-7);
        MAPS_CLOSE(slow[i], 0.0, 1e-7);
    }
    dyn_map_destroy(map);
}

/* One step of Anderson's method from the last `m` differences by its definition, with γ from the
 * normal equations: to compare few steps with, where these are still exact enough. xs and fs hold
 * m + 1 states each, the oldest first. */
static void step_by_definition(const double *xs, const double *fs, size_t m, size_t n, double *next)
{
    double matrix[9] = {0};
    double gamma[3] = {0};
    int pivots[3];
    const double *x = xs + m * n;
    const double *f = fs + m * n;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            for (size_t k = 0; k < n; k++) {
                matrix[i * m + j] +=
                    (fs[(i + 1) * n + k] - fs[i * n + k]) * (fs[(j + 1) * n + k] - fs[j * n + k]);
            }
        }
        for (size_t k = 0; k < n; k++) {
            gamma[i] += (fs[(i + 1) * n + k] - fs[i * n + k]) * f[k];
        }
    }
    assert_int_equal(kern_lapack_lu(m, matrix, pivots, NULL, NULL), KERN_OK);
    assert_int_equal(kern_lapack_lu_solve(m, matrix, pivots, gamma, NULL), KERN_OK);
    for (size_t k = 0; k < n; k++) {
        next[k] = x[k] + f[k];
        for (size_t i = 0; i < m; i++) {
            next[k] -= gamma[i] *
                       (xs[(i + 1) * n + k] - xs[i * n + k] + fs[(i + 1) * n + k] - fs[i * n + k]);
        }
    }
}

/* Windows of up to three columns, from which columns leave: the best state after each step is that
 * of the definition. */
static void test_anderson_by_definition(void **state)
{
    enum { SIZE = 20, STEPS = 9 };
    static double xs[(STEPS + 1) * SIZE];
    static double fs[(STEPS + 1) * SIZE];
    dyn_map *map = dyn_test_named("coupled-logistic", "n=20", "r=2.9", "eps=0.3");
    (void)state;
    for (size_t window = 1; window <= 3; window++) {
        double best = (double)INFINITY;
        size_t best_step = 0;
        dyn_test_fill(xs, SIZE, 3);
        for (size_t k = 0; k < SIZE; k++) {
            xs[k] = 0.6 + 0.1 * xs[k];
        }
        for (size_t t = 0; t <= STEPS; t++) {
            double *x = xs + t * SIZE;
            const size_t m = t < window ? t : window;
            dyn_chain_goal goal = {.tol = 1e-14, .max_iterations = t};
            double at[SIZE];
            const double norm = dyn_chain_gap(map, x, 1, fs + t * SIZE);
            if (norm < best) {
                best = norm;
                best_step = t;
            }
            memcpy(at, xs, sizeof at);
            assert_int_equal(accelerate(map, window, at, 1, &goal).iterations, t);
            for (size_t k = 0; k < SIZE; k++) {
                MAPS_CLOSE(at[k], xs[best_step * SIZE + k], 1e-9);
            }
            if (t < STEPS) {
                step_by_definition(xs + (t - m) * SIZE, fs + (t - m) * SIZE, m, SIZE, x + SIZE);
            }
        }
        assert_true(best_step > STEPS / 2);
    }
    dyn_map_destroy(map);
}

static void logarithm(dyn_map *map, const double *x, double *y)
{
    (void)map;
    y[0] = 1.0 - 0.9 * log(x[0]);
}

static void logarithm_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double slope = -0.9 / x[0];
    if (y != NULL) {
        logarithm(map, x, y);
    }
    jv[0] = slope * v[0];
}

/* From 10 the map 1 − 0.9 ln x leads below 0, where it has no value; damped steps from the best
 * state lead to its fixed point 1. */
static void test_anderson_recovers(void **state)
{
    static const dyn_map_kind kind = {.name = "logarithm",
                                      .formula = "1 - 0.9 ln x",
                                      .step = logarithm,
                                      .jvp = logarithm_jvp,
                                      .clone = dyn_map_create_like};
    dyn_map *map = NULL;
    (void)state;
    assert_int_equal(dyn_map_create(&map, &kind, 1, NULL, 0, NULL), KERN_OK);
    for (size_t window = 1; window <= 4; window++) {
        double x = 10.0;
        const dyn_chain_result r = accelerate(map, window, &x, 1, &usual);
        assert_int_equal(r.status, KERN_OK);
        MAPS_CLOSE(x, 1.0, 1e-11);
        assert_true(r.iterations < 15);
    }
    dyn_map_destroy(map);
}

/* Attracting fixed points and cycles, on the line, on a circle and in 200 coordinates, with windows
 * from which columns leave. */
static void test_anderson_on_attractors(void **state)
{
    enum { SIZE = 200 };
    static double ring[2 * SIZE];
    double states[3] = {0.3, 0.0, 0.0};
    dyn_map *map = dyn_test_named("logistic", "r=2.8", NULL, NULL);
    (void)state;
    /* In one coordinate a second difference always depends on the first. */
    const dyn_chain_result r = accelerate(map, 3, states, 1, &usual);
    assert_int_equal(r.status, KERN_OK);
    assert_true(r.iterations <= 10);
    MAPS_CLOSE(states[0], 1.0 - 1.0 / 2.8, 1e-11);
    dyn_map_destroy(map);
    map = dyn_test_named("logistic", "r=3.83", NULL, NULL);
    states[0] = 0.5;
    assert_int_equal(accelerate(map, 2, states, 3, &usual).status, KERN_OK);
    MAPS_CLOSE(states[0], 0.504666, 1e-6);
    MAPS_CLOSE(states[1], 3.83 * states[0] * (1.0 - states[0]), 1e-15);
    dyn_map_destroy(map);
    map = dyn_test_named("circle", "omega=1.1", "k=0.9", NULL);
    states[0] = 0.9;
    assert_int_equal(accelerate(map, 4, states, 1, &usual).status, KERN_OK);
    MAPS_CLOSE(sin(6.283185307179586477 * states[0]), 0.1 * 6.283185307179586477 / 0.9, 1e-10);
    dyn_map_destroy(map);
    map = dyn_test_named("coupled-logistic", "n=200", "r=3.2", "eps=0.3");
    dyn_test_fill(ring, SIZE, 4);
    for (size_t i = 0; i < SIZE; i++) {
        ring[i] = 0.5 + 0.02 * ring[i];
    }
    assert_int_equal(accelerate(map, 5, ring, 2, &usual).status, KERN_OK);
    for (size_t i = 0; i < SIZE; i++) {
        MAPS_CLOSE(ring[i], (4.2 - sqrt(0.84)) / 6.4, 1e-9);
    }
    dyn_map_destroy(map);
}

/* No fixed point, or none that can be reached: the best state is returned and is no worse than the
 * start; the label says what happened. */
static void test_anderson_without_point(void **state)
{
    double states[2] = {0.25, 0.5};
    dyn_chain_goal goal = usual;
    dyn_map *map = dyn_test_translation(2, DYN_TEST_FAULT_NONE);
    (void)state;
    dyn_chain_result r = solve("anderson", map, states, 1, &goal);
    assert_int_equal(r.status, KERN_NOT_CONVERGED);
    assert_true(r.residual == 1.0 && isfinite(states[0]));
    dyn_map_destroy(map);
    /* Beyond 5 every step is lost: the best state stays below. */
    map = dyn_test_translation(2, DYN_TEST_FAULT_NAN);
    states[0] = 4.5;
    r = solve("anderson", map, states, 1, &goal);
    assert_int_equal(r.status, KERN_NOT_CONVERGED);
    assert_true(r.residual == 1.0 && states[0] < 5.01);
    states[0] = 7.0;
    r = solve("anderson", map, states, 1, &goal);
    assert_true(r.status == KERN_NAN && states[0] == 7.0 && isnan(r.residual));
    dyn_map_destroy(map);
    map = dyn_test_translation(2, DYN_TEST_FAULT_INF);
    r = solve("anderson", map, states, 1, &goal);
    assert_int_equal(r.status, KERN_DIVERGED);
    dyn_map_destroy(map);
    /* Beyond the fold there is no fixed point. */
    map = dyn_test_named("henon2", "alpha=-1.1", "beta=1", NULL);
    states[0] = 0.4;
    states[1] = -0.3;
    r = solve("anderson", map, states, 1, &goal);
    assert_true(r.status != KERN_OK && r.residual > 0.01);
    assert_true(r.residual < fabs(-1.1 - 0.4 - 0.09 + 0.3) + 1e-12);
    dyn_map_destroy(map);
}

/* The orbit of the Hénon map from (3, 3) is lost; the safeguard keeps the search with what it has.
 */
static void test_anderson_on_diverging_orbit(void **state)
{
    static const double windows[] = {0, 1, 3, 8};
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        double x[2] = {3.0, 3.0};
        double gap[2];
        dyn_chain_goal goal = usual;
        goal.max_iterations = 7;
        const double before = dyn_chain_residual(map, x, 1, gap);
        const dyn_chain_result r = accelerate(map, (size_t)windows[i], x, 1, &goal);
        assert_true(isfinite(r.residual) && r.residual <= before);
        assert_true((r.status == KERN_OK) == (r.residual <= goal.tol));
    }
    dyn_anderson_options o = dyn_anderson_options_default();
    dyn_anderson *a = NULL;
    kern_error err = {0};
    o.damping = 1.5;
    assert_int_equal(dyn_anderson_create(&a, map, &o, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "1.5"));
    o.damping = (double)NAN;
    assert_int_equal(dyn_anderson_create(&a, map, &o, NULL), KERN_INVALID_ARGUMENT);
    o.damping = 1.0;
    o.window = SIZE_MAX / 2;
    assert_int_equal(dyn_anderson_create(&a, map, &o, NULL), KERN_OVERFLOW);
    assert_null(a);
    dyn_map_destroy(map);
}

/* ---- Deflation ---------------------------------------------------------------------------- */

/* ln m, from its definition. */
static double find_log(const double *x, const double *z, size_t n)
{
    double square = 0.0;
    for (size_t i = 0; i < n; i++) {
        square += (x[i] - z[i]) * (x[i] - z[i]);
    }
    return log(1.0 / square + 1.0);
}

/* The slope against a central difference of the definition, for a 2-cycle seen as a chain of four
 * states: both shifts count. */
static void test_deflation_slope(void **state)
{
    const double cycle[2] = {0.5, 0.8};
    const double once[4] = {0.5, 0.8, 0.5, 0.8};
    const double turned[4] = {0.8, 0.5, 0.8, 0.5};
    const double x[4] = {0.1, 0.9, 0.4, 0.6};
    const double step[4] = {0.3, -0.2, 0.5, 0.1};
    const double h = 1e-5;
    double logs[2] = {0.0, 0.0};
    dyn_map *map = dyn_test_named("logistic", "r=3.2", NULL, NULL);
    dyn_deflation *d = NULL;
    (void)state;
    assert_int_equal(dyn_deflation_create(&d, map, NULL), KERN_OK);
    assert_int_equal(dyn_deflation_add(d, cycle, 2, NULL), KERN_OK);
    for (int side = 0; side < 2; side++) {
        double at[4];
        for (size_t i = 0; i < 4; i++) {
            at[i] = x[i] + (side == 0 ? h : -h) * step[i];
        }
        logs[side] = find_log(at, once, 4) + find_log(at, turned, 4);
    }
    /* The error of the difference is h² times a third derivative of order 10². */
    MAPS_CLOSE(dyn_deflation_slope(d, x, 4, step), (logs[0] - logs[1]) / (2.0 * h), 1e-7);
    assert_true(dyn_deflation_slope(d, x, 3, step) == 0.0);
    assert_true(dyn_deflation_holds(d, once, 4, 1e-6) && dyn_deflation_holds(d, turned, 2, 1e-6));
    assert_false(dyn_deflation_holds(d, x, 4, 1e-6));
    assert_false(dyn_deflation_holds(d, once, 1, 1e-6));
    dyn_deflation_destroy(d);
    dyn_deflation_destroy(NULL);
    dyn_map_destroy(map);
}

/* From one start, one solution after the other, by both of Newton's methods: the fixed points of
 * the cubic map, and on a circle those of the circle map, which are two however often the circle
 * is gone around. */
static void test_deflated_newton(void **state)
{
    static const char *const methods[] = {"newton", "newton-krylov"};
    (void)state;
    for (size_t m = 0; m < 2; m++) {
        dyn_map *cubic = dyn_test_named("cubic", "mu=1.5", NULL, NULL);
        dyn_deflation *d = NULL;
        dyn_chain_goal goal = usual;
        double sum = 0.0;
        assert_int_equal(dyn_deflation_create(&d, cubic, NULL), KERN_OK);
        goal.deflation = d;
        for (size_t i = 0; i < 3; i++) {
            double x = 0.3;
            assert_int_equal(solve(methods[m], cubic, &x, 1, &goal).status, KERN_OK);
            assert_false(dyn_deflation_holds(d, &x, 1, 1e-6));
            MAPS_CLOSE(fabs(x) * fabs(x * x - 0.5), 0.0, 1e-14);
            sum += x * x;
            assert_int_equal(dyn_deflation_add(d, &x, 1, NULL), KERN_OK);
        }
        MAPS_CLOSE(sum, 1.0, 1e-13);
        double x = 0.3;
        assert_true(solve(methods[m], cubic, &x, 1, &goal).status != KERN_OK);
        /* A start that is a deflated solution does not count as a find. */
        x = 0.0;
        assert_true(solve(methods[m], cubic, &x, 1, &goal).status != KERN_OK);
        dyn_deflation_destroy(d);
        dyn_map_destroy(cubic);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_krylov_on_henon),
        cmocka_unit_test(test_krylov_on_ring),
        cmocka_unit_test(test_krylov_at_size),
        cmocka_unit_test(test_krylov_ends),
        cmocka_unit_test(test_anderson_on_linear_map),
        cmocka_unit_test(test_anderson_by_definition),
        cmocka_unit_test(test_anderson_recovers),
        cmocka_unit_test(test_anderson_on_attractors),
        cmocka_unit_test(test_anderson_without_point),
        cmocka_unit_test(test_anderson_on_diverging_orbit),
        cmocka_unit_test(test_deflation_slope),
        cmocka_unit_test(test_deflated_newton),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
