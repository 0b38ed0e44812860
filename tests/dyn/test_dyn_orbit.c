/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Orbits and orbit diagrams: closed forms and published values, how orbits end, periods, collapse
 * by rounding, independence of the number of workers, and refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dyn/dyn_orbit.h"
#include "dyn/dyn_orbit_diagram.h"
#include "tests/dyn/dyn_test_maps.h"

#include <stdlib.h>

static dyn_orbit *orbit_of(dyn_map *map, const dyn_orbit_options *options)
{
    dyn_orbit *orbit = NULL;
    MAPS_OK(dyn_orbit_create(&orbit, map, options, maps_err));
    return orbit;
}

/* ---- Orbits -----------------------------------------------------------------------------------
 */

/* r = 4 is conjugate to angle doubling: x(t) = sin²(2^t φ), which doubles follow for some steps. */
static void test_states_energy_and_transient(void **state)
{
    dyn_map *map = maps_make("logistic", "r=4");
    const double phi = 0.37;
    const double x0 = sin(phi) * sin(phi);
    dyn_orbit *orbit = orbit_of(map, &(dyn_orbit_options){.x0 = &x0, .ttr = 3, .steps = 9});
    (void)state;
    assert_int_equal(orbit->n, 10);
    assert_int_equal(orbit->status, KERN_OK);
    assert_int_equal(orbit->end, 12);
    assert_null(orbit->energy);
    for (size_t k = 0; k < orbit->n; k++) {
        const double s = sin(ldexp(phi, (int)k + 3));
        MAPS_CLOSE(orbit->states[k], s * s, 1e-11);
    }
    dyn_orbit_destroy(orbit);
    dyn_map_destroy(map);
    map = maps_make("quadratic", "eta=0.5 lambda=1,3,4");
    orbit = orbit_of(map, &(dyn_orbit_options){.steps = 5});
    for (size_t k = 0; k < orbit->n; k++) {
        const double a = pow(0.5, (double)k);
        assert_true(orbit->states[3 * k] == a && fabs(orbit->states[3 * k + 1]) == a &&
                    fabs(orbit->states[3 * k + 2]) == 1);
        assert_true(orbit->energy[k] == 2 * a * a + 2);
    }
    dyn_orbit_destroy(orbit);
    dyn_map_destroy(map);
    dyn_orbit_destroy(NULL);
}

static void watch(void *context, size_t step, const double *x, double *observed)
{
    observed[0] = x[0] + x[1];
    observed[1] = (double)step;
    ++*(size_t *)context;
}

static void test_observables(void **state)
{
    dyn_map *map = maps_make("henon", "");
    size_t calls = 0;
    dyn_orbit *orbit = orbit_of(
        map, &(dyn_orbit_options){
                 .ttr = 4, .steps = 6, .observe = watch, .context = &calls, .n_observed = 2});
    (void)state;
    assert_int_equal(calls, 7);
    for (size_t k = 0; k < 7; k++) {
        assert_true(orbit->observed[2 * k] == orbit->states[2 * k] + orbit->states[2 * k + 1]);
        assert_true(orbit->observed[2 * k + 1] == (double)k);
    }
    dyn_orbit_destroy(orbit);
    dyn_map_destroy(map);
}

static void assert_ends(dyn_map *map, dyn_orbit_options options, kern_status status, size_t n,
                        size_t end)
{
    dyn_orbit *orbit = orbit_of(map, &options);
    assert_string_equal(kern_status_word(orbit->status), kern_status_word(status));
    assert_int_equal(orbit->n, n);
    assert_int_equal(orbit->end, end);
    assert_false(orbit->collapsed);
    dyn_orbit_destroy(orbit);
}

static void test_how_orbits_end(void **state)
{
    dyn_map *map = maps_make("quadratic", "eta=1 lambda=17,0"); /* |x_0| = 16^k, exactly */
    const double lo[2] = {-1000, 0};
    const double hi[2] = {1000, 2};
    const double far[2] = {1e151, 0};
    const double outside[2] = {0, -0.5};
    const double edge[2] = {1000, 2};
    const double nothing[2] = {0, (double)NAN};
    const double infinite[2] = {(double)INFINITY, 0};
    (void)state;
    assert_ends(map, (dyn_orbit_options){.steps = 3}, KERN_OK, 4, 3);
    assert_ends(map, (dyn_orbit_options){.steps = 200}, KERN_DIVERGED, 125, 125);
    assert_ends(map, (dyn_orbit_options){.ttr = 170, .steps = 9}, KERN_DIVERGED, 0, 125);
    assert_ends(map, (dyn_orbit_options){.x0 = far, .steps = 5}, KERN_DIVERGED, 0, 0);
    assert_ends(map, (dyn_orbit_options){.x0 = infinite, .steps = 5}, KERN_DIVERGED, 0, 0);
    assert_ends(map, (dyn_orbit_options){.x0 = nothing, .steps = 5}, KERN_NAN, 0, 0);
    assert_ends(map, (dyn_orbit_options){.steps = 9, .lo = lo, .hi = hi}, KERN_LEFT_BOX, 3, 3);
    assert_ends(map, (dyn_orbit_options){.x0 = edge, .lo = lo, .hi = hi}, KERN_OK, 1, 0);
    assert_ends(map, (dyn_orbit_options){.x0 = outside, .steps = 9, .lo = lo, .hi = hi},
                KERN_LEFT_BOX, 0, 0);
    dyn_map_destroy(map);
    map = maps_make("layernorm-power", "n=2");
    const double constant[2] = {1, 1};
    assert_ends(map, (dyn_orbit_options){.x0 = constant, .steps = 9}, KERN_NAN, 1, 1);
    dyn_map_destroy(map);
    /* A step from order 1 to beyond the bound. */
    map = maps_make("ricker", "r=2");
    const double negative = -400;
    assert_ends(map, (dyn_orbit_options){.x0 = &negative, .steps = 9}, KERN_DIVERGED, 1, 1);
    dyn_map_destroy(map);
}

/* The double well's period-2 repeller ±√(1 + 2/η) bounds what stays. */
static void test_escape_boundary(void **state)
{
    dyn_map *map = maps_make("double-well", "eta=0.5");
    const double inside = sqrt(5) - 1e-9;
    const double outside = sqrt(5) + 1e-9;
    (void)state;
    dyn_orbit *orbit = orbit_of(map, &(dyn_orbit_options){.x0 = &inside, .steps = 200});
    assert_int_equal(orbit->status, KERN_OK);
    MAPS_CLOSE(fabs(orbit->states[200]), 1, 1e-12);
    dyn_orbit_destroy(orbit);
    orbit = orbit_of(map, &(dyn_orbit_options){.x0 = &outside, .steps = 200});
    assert_int_equal(orbit->status, KERN_DIVERGED);
    dyn_orbit_destroy(orbit);
    dyn_map_destroy(map);
}

/* Of slope 2 every double is a dyadic rational, and each step takes a binary digit. */
static void test_doubling_collapses(void **state)
{
    dyn_map *map = maps_make("tent", "mu=2");
    (void)state;
    dyn_orbit *orbit = orbit_of(map, &(dyn_orbit_options){.steps = 60});
    assert_int_equal(orbit->status, KERN_OK);
    assert_true(orbit->states[50] != 0 && orbit->states[56] == 0);
    assert_true(orbit->collapsed);
    dyn_orbit_destroy(orbit);
    orbit = orbit_of(map, &(dyn_orbit_options){.steps = 50});
    assert_false(orbit->collapsed);
    dyn_orbit_destroy(orbit);
    dyn_map_destroy(map);
    /* An attracting fixed point is reached in every bit too, and is no collapse. */
    map = maps_make("logistic", "r=2");
    orbit = orbit_of(map, &(dyn_orbit_options){.steps = 60});
    assert_true(orbit->states[60] == 0.5);
    assert_false(orbit->collapsed);
    dyn_orbit_destroy(orbit);
    dyn_map_destroy(map);
}

/* Two chaotic maps synchronise where ln 2 + ln|1 − 2ε| < 0, that is for 0.25 < ε < 0.75. */
static void test_synchronisation(void **state)
{
    static const char *const assignments[] = {"r=4 n=2 eps=0.1", "r=4 n=2 eps=0.4",
                                              "r=4 n=2 eps=0.6", "r=4 n=2 eps=0.9"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        dyn_map *map = maps_make("coupled-logistic", assignments[i]);
        dyn_orbit *orbit = orbit_of(map, &(dyn_orbit_options){.ttr = 500, .steps = 200});
        double most = 0;
        for (size_t k = 0; k < orbit->n; k++) {
            most = fmax(most, fabs(orbit->states[2 * k] - orbit->states[2 * k + 1]));
        }
        assert_true(i == 1 || i == 2 ? most < 1e-14 : most > 0.1);
        dyn_orbit_destroy(orbit);
        dyn_map_destroy(map);
    }
}

static void refuse_orbit(const double *lo, const double *hi, size_t ttr, size_t steps,
                         kern_status status, const char *part)
{
    dyn_map *map = maps_make("henon", "");
    dyn_orbit *orbit = NULL;
    kern_error err = {0};
    const dyn_orbit_options options = {.lo = lo, .hi = hi, .ttr = ttr, .steps = steps};
    assert_int_equal(dyn_orbit_create(&orbit, map, &options, &err), status);
    assert_null(orbit);
    maps_error(&err, status, part);
    dyn_map_destroy(map);
}

static void test_orbit_refusals(void **state)
{
    const double low[2] = {-1, 1};
    const double high[2] = {1, 1};
    const double broken[2] = {1, (double)NAN};
    (void)state;
    refuse_orbit(low, NULL, 0, 5, KERN_INVALID_ARGUMENT, "one end only");
    refuse_orbit(low, high, 0, 5, KERN_INVALID_ARGUMENT, "1 to 1 in coordinate 1");
    refuse_orbit(low, broken, 0, 5, KERN_INVALID_ARGUMENT, "1 to nan in coordinate 1");
    refuse_orbit(NULL, NULL, 5, SIZE_MAX - 3, KERN_OVERFLOW, "too long");
    refuse_orbit(NULL, NULL, 0, SIZE_MAX, KERN_OVERFLOW, "too long");
    refuse_orbit(NULL, NULL, 0, SIZE_MAX / 2, KERN_NO_MEMORY, "no memory for an orbit");
}

/* ---- Orbit diagrams ---------------------------------------------------------------------------
 */

static dyn_orbit_diagram *diagram_of(const dyn_map *map, const dyn_orbit_diagram_options *options)
{
    dyn_orbit_diagram *diagram = NULL;
    MAPS_OK(dyn_orbit_diagram_create(&diagram, map, options, maps_err));
    return diagram;
}

/* One column at r. */
static dyn_orbit_diagram *logistic_at(double r, size_t ttr)
{
    dyn_map *map = maps_make("logistic", "");
    dyn_orbit_diagram_options options = dyn_orbit_diagram_defaults();
    options.vary = "r";
    options.from = r;
    options.columns = 1;
    options.ttr = ttr;
    options.values = 40;
    dyn_orbit_diagram *diagram = diagram_of(map, &options);
    dyn_map_destroy(map);
    return diagram;
}

/* Fixed points as ChaosTools has them, periods as pynamicalsys, and the exponents ln|2 − r| and
 * ½ ln|4 + 2r − r²| of the fixed point and the 2-cycle; the other exponents were computed with 40
 * digits. Means over whole cycles are exact: 424 steps hold 53 cycles of 8, but not whole cycles
 * of 3, whose remainder weighs 1/424. */
static void test_periods_of_the_logistic_map(void **state)
{
    static const struct {
        double r;
        size_t period;
        double exponent, tolerance;
    } rows[] = {{2.5, 1, -0.693147180559945, 1e-9},   {2.01, 1, -4.605170185988091, 1e-9},
                {3.2, 2, -0.916290731874155, 1e-9},   {3.5, 4, -0.872507345779425, 1e-9},
                {3.55, 8, -0.0998922111874929, 1e-9}, {3.83, 3, -0.369673728149064, 1e-2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dyn_orbit_diagram *d = logistic_at(rows[i].r, 5000);
        const dyn_orbit_column *c = &d->columns[0];
        assert_int_equal(c->status, KERN_OK);
        assert_int_equal(c->period, rows[i].period);
        assert_false(c->collapsed);
        MAPS_CLOSE(c->exponent, rows[i].exponent, rows[i].tolerance);
        for (size_t k = 0; k + rows[i].period < c->n; k++) {
            MAPS_CLOSE(c->values[k], c->values[k + rows[i].period], 1e-8);
        }
        dyn_orbit_diagram_destroy(d);
    }
    dyn_orbit_diagram *d = logistic_at(2.01, 5000);
    MAPS_CLOSE(d->columns[0].values[39], 0.502487562, 1e-9);
    dyn_orbit_diagram_destroy(d);
    d = logistic_at(2, 5000); /* superstable: the tangent vanishes */
    assert_true(d->columns[0].values[0] == 0.5);
    assert_int_equal(d->columns[0].period, 1);
    assert_true(d->columns[0].exponent < -20);
    dyn_orbit_diagram_destroy(d);
}

static void test_no_period(void **state)
{
    (void)state;
    dyn_orbit_diagram *d = logistic_at(3.9, 1000); /* chaos */
    assert_int_equal(d->columns[0].period, 0);
    assert_true(d->columns[0].exponent > 0.3);
    dyn_orbit_diagram_destroy(d);
    /* At the flip r = 3 the orbit still creeps after 1000 steps: it is no fixed point yet. */
    d = logistic_at(3, 1000);
    assert_int_equal(d->columns[0].period, 0);
    dyn_orbit_diagram_destroy(d);
}

static void fill(double *states, size_t period, double creep)
{
    for (size_t k = 0; k < DYN_PERIOD_STATES; k++) {
        states[k] = (double)(k % period) + creep * (double)k;
    }
}

static void test_period_find(void **state)
{
    dyn_map *map = maps_make("logistic", "");
    dyn_map *circle = maps_make("circle", "");
    double states[DYN_PERIOD_STATES];
    (void)state;
    for (size_t p = 1; p <= DYN_PERIOD_MOST; p++) {
        fill(states, p, 0);
        assert_int_equal(dyn_period_find(map, states, 1e-12), p);
    }
    fill(states, DYN_PERIOD_MOST + 1, 0);
    assert_int_equal(dyn_period_find(map, states, 1e-12), 0);
    fill(states, 7, 0);
    for (size_t k = 7 * 5 + 3; k < DYN_PERIOD_STATES; k++) {
        states[k] += 1e-6; /* seen by the longer stride only */
    }
    assert_int_equal(dyn_period_find(map, states, 1e-9), 0);
    assert_int_equal(dyn_period_find(map, states, 1e-5), 7);
    states[DYN_PERIOD_STATES - 1] = (double)NAN;
    assert_int_equal(dyn_period_find(map, states, 1e9), 0);
    /* A creep of less than the tolerance a step, and more in five. */
    fill(states, 1, 0.3e-6);
    assert_int_equal(dyn_period_find(map, states, 1e-6), 0);
    fill(states, 1, 0.1e-6);
    assert_int_equal(dyn_period_find(map, states, 1e-6), 1);
    /* Lifted by 3/8 of a turn a step, far from 0. */
    for (size_t k = 0; k < DYN_PERIOD_STATES; k++) {
        states[k] = 4096.125 + 0.375 * (double)k;
    }
    assert_int_equal(dyn_period_find(circle, states, 1e-12), 8);
    assert_int_equal(dyn_period_find(map, states, 1e-12), 0);
    dyn_map_destroy(map);
    dyn_map_destroy(circle);
}

static void assert_same_diagrams(const dyn_orbit_diagram *a, const dyn_orbit_diagram *b)
{
    assert_int_equal(a->n_columns, b->n_columns);
    assert_memory_equal(a->values, b->values, a->n_columns * a->n_values * sizeof *a->values);
    for (size_t i = 0; i < a->n_columns; i++) {
        const dyn_orbit_column *one = &a->columns[i];
        const dyn_orbit_column *two = &b->columns[i];
        assert_memory_equal(&one->exponent, &two->exponent, sizeof one->exponent);
        assert_true(one->parameter == two->parameter && one->period == two->period);
        assert_true(one->status == two->status && one->end == two->end && one->n == two->n);
    }
}

static void test_workers_do_not_matter(void **state)
{
    static const int workers[] = {2, 3, 8, 64};
    dyn_map *map = maps_make("henon", "");
    dyn_orbit_diagram_options options = dyn_orbit_diagram_defaults();
    options.vary = "a";
    options.from = 0.2;
    options.to = 1.6; /* the last columns diverge */
    options.columns = 23;
    options.values = 17;
    options.coordinate = 1;
    (void)state;
    dyn_orbit_diagram *one = diagram_of(map, &options);
    assert_int_equal(one->columns[0].period, 1);
    assert_int_equal(one->columns[22].status, KERN_DIVERGED);
    assert_true(isnan(one->columns[22].exponent));
    assert_int_equal(one->columns[22].period, 0);
    assert_true(one->columns[22].n == 0 && isnan(one->values[22 * 17 + 16]));
    assert_true(one->columns[0].parameter == 0.2 && one->columns[22].parameter == 1.6);
    for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
        options.workers = workers[i];
        dyn_orbit_diagram *many = diagram_of(map, &options);
        assert_same_diagrams(one, many);
        dyn_orbit_diagram_destroy(many);
    }
    assert_true(map->params[0] == 1.4);
    dyn_orbit_diagram_destroy(one);
    dyn_orbit_diagram_destroy(NULL);
    dyn_map_destroy(map);
}

static double observe_sum(void *context, int worker, const double *x)
{
    const double *weights = context;
    assert_true(worker >= 0 && worker < 3);
    return weights[0] * x[0] + weights[1] * x[1];
}

/* A number of the caller's takes the place of the coordinate, and nothing else changes. */
static void test_a_number_of_ones_own(void **state)
{
    double weights[2] = {0.0, 1.0};
    dyn_map *map = maps_make("henon", "");
    dyn_orbit_diagram_options options = dyn_orbit_diagram_defaults();
    options.vary = "a";
    options.from = 0.2;
    options.to = 1.6;
    options.columns = 9;
    options.coordinate = 1;
    options.workers = 3;
    (void)state;
    dyn_orbit_diagram *plain = diagram_of(map, &options);
    options.observe = observe_sum;
    options.observer = weights;
    options.coordinate = 0;
    dyn_orbit_diagram *own = diagram_of(map, &options);
    assert_same_diagrams(plain, own);
    weights[0] = 2.0;
    dyn_orbit_diagram *other = diagram_of(map, &options);
    assert_true(other->values[0] != own->values[0]);
    dyn_orbit_diagram_destroy(plain);
    dyn_orbit_diagram_destroy(own);
    dyn_orbit_diagram_destroy(other);
    dyn_map_destroy(map);
}

/* The cubic map keeps the sign of x while |x| < √μ. From 1.3 the orbit therefore ends in the right
 * well at μ = 1.8 and in the left one at μ = 1.5; a scan that follows stays in the right one. */
static void test_following_keeps_a_branch(void **state)
{
    dyn_map *map = maps_make("cubic", "");
    const double start = 1.3;
    dyn_orbit_diagram_options options = dyn_orbit_diagram_defaults();
    options.vary = "mu";
    options.from = 1.8;
    options.to = 1.5;
    options.columns = 4;
    options.x0 = &start;
    options.workers = 4;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        options.follow = i == 1;
        dyn_orbit_diagram *scan = diagram_of(map, &options);
        MAPS_CLOSE(scan->columns[0].values[99], sqrt(0.8), 1e-9);
        MAPS_CLOSE(scan->columns[3].values[99], i == 1 ? sqrt(0.5) : -sqrt(0.5), 1e-9);
        dyn_orbit_diagram_destroy(scan);
    }
    /* From μ = 4 up every orbit is lost; when the scan goes down, columns begin anew at x0. */
    options.from = 5;
    options.to = 1.5;
    options.columns = 5;
    dyn_orbit_diagram *d = diagram_of(map, &options);
    assert_int_equal(d->columns[0].status, KERN_DIVERGED);
    assert_int_equal(d->columns[4].status, KERN_OK);
    MAPS_CLOSE(fabs(d->columns[4].values[99]), sqrt(0.5), 1e-9);
    dyn_orbit_diagram_destroy(d);
    dyn_map_destroy(map);
}

static void test_a_collapsed_column(void **state)
{
    dyn_map *map = maps_make("tent", "");
    dyn_orbit_diagram_options options = dyn_orbit_diagram_defaults();
    options.vary = "mu";
    options.from = 1.9;
    options.to = 2;
    options.columns = 2;
    (void)state;
    dyn_orbit_diagram *d = diagram_of(map, &options);
    assert_false(d->columns[0].collapsed);
    MAPS_CLOSE(d->columns[0].exponent, log(1.9), 1e-12);
    assert_true(d->columns[1].collapsed);
    assert_int_equal(d->columns[1].period, 1);
    dyn_orbit_diagram_destroy(d);
    dyn_map_destroy(map);
}

static void refuse_diagram(dyn_orbit_diagram_options options, const char *part)
{
    dyn_map *map = maps_make("coupled-logistic", "n=3");
    dyn_orbit_diagram *diagram = NULL;
    kern_error err = {0};
    assert_int_equal(dyn_orbit_diagram_create(&diagram, map, &options, &err),
                     KERN_INVALID_ARGUMENT);
    assert_null(diagram);
    maps_error(&err, KERN_INVALID_ARGUMENT, part);
    dyn_map_destroy(map);
}

static void test_diagram_refusals(void **state)
{
    dyn_orbit_diagram_options fine = dyn_orbit_diagram_defaults();
    fine.vary = "r";
    fine.from = 3;
    fine.to = 4;
    (void)state;
    dyn_orbit_diagram_options options = fine;
    options.vary = "mu";
    refuse_diagram(options, "accepted: r, eps, n");
    options.vary = "n";
    refuse_diagram(options, "cannot vary");
    options = fine;
    options.to = (double)NAN;
    refuse_diagram(options, "3 to nan");
    options = fine;
    options.coordinate = 3;
    refuse_diagram(options, "accepted are 0 to 2");
    options = fine;
    options.columns = 0;
    refuse_diagram(options, "is empty");
    options = fine;
    options.values = 0;
    refuse_diagram(options, "is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states_energy_and_transient),
        cmocka_unit_test(test_observables),
        cmocka_unit_test(test_how_orbits_end),
        cmocka_unit_test(test_escape_boundary),
        cmocka_unit_test(test_doubling_collapses),
        cmocka_unit_test(test_synchronisation),
        cmocka_unit_test(test_orbit_refusals),
        cmocka_unit_test(test_periods_of_the_logistic_map),
        cmocka_unit_test(test_no_period),
        cmocka_unit_test(test_period_find),
        cmocka_unit_test(test_workers_do_not_matter),
        cmocka_unit_test(test_a_number_of_ones_own),
        cmocka_unit_test(test_following_keeps_a_branch),
        cmocka_unit_test(test_a_collapsed_column),
        cmocka_unit_test(test_diagram_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
