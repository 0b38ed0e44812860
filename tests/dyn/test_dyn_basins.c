/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Basins: known fractions and attractors, outcomes that are none, and what must not pass as an
 * attractor. Row numbers are those of the table of reference values in the design notes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_basins.h"
#include "tests/dyn/dyn_basin_maps.h"
#include "tests/dyn/dyn_basins_check.h"
#include "tests/dyn/dyn_test_maps.h"

#include <stdlib.h>

static const double two_pi = 6.283185307179586477;

static size_t count_of(const dyn_basins *b, dyn_basin_outcome outcome)
{
    return b->counts[-1 - (int)outcome];
}

/* ---- Known basins ------------------------------------------------------------------------- */

/* Row 18, at μ = 1.5, where the attractors are ±√½ with multiplier 0; the edge state 0 is a start
 * itself without jitter and attracts nothing. */
static void test_cubic(void **state)
{
    dyn_map *map = maps_make("cubic", "mu=1.5");
    basins_box b;
    (void)state;
    basins_set_box(&b, 101, -1.0, 1.0);
    b.o.starts.jitter = 0.0;
    dyn_basins out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 2);
    MAPS_CLOSE(out.attractors[0].points[0], -sqrt(0.5), 1e-12);
    MAPS_CLOSE(out.attractors[1].points[0], sqrt(0.5), 1e-12);
    assert_true(out.attractors[0].period == 1 && out.attractors[0].spectral_radius < 1e-9);
    assert_int_equal(out.attractors[0].count, 50);
    assert_int_equal(out.attractors[1].count, 50);
    assert_int_equal(out.labels[50], DYN_BASIN_UNRESOLVED);
    assert_int_equal(out.verdicts[DYN_JUDGED_REPELLING], 1);
    dyn_basins_fini(&out);
    /* With jitter no start is on the edge. */
    b.o.starts.jitter = 1e-3;
    out = basins_find(map, &b.o);
    assert_int_equal(out.attractors[0].count + out.attractors[1].count, 101);
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
}

/* At μ = 2 itself ±1 have multiplier −1 and attract by a power law: they are solved for, and
 * accepted because orbits are seen to come closer. */
static void test_algebraic(void **state)
{
    dyn_map *map = maps_make("cubic", "mu=2");
    basins_box b;
    (void)state;
    basins_set_box(&b, 20, -1.3, 1.3);
    dyn_basins out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 2);
    for (size_t i = 0; i < 2; i++) {
        MAPS_CLOSE(out.attractors[i].points[0], i == 0 ? -1.0 : 1.0, 1e-12);
        MAPS_CLOSE(out.attractors[i].spectral_radius, 1.0, 1e-9);
        assert_int_equal(out.attractors[i].period, 1);
        assert_int_equal(out.attractors[i].count, 10);
    }
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
}

/* Steps of one start: until the orbit has been near its attractor for as many as `stay` says. */
static size_t count_steps(dyn_map *map, const dyn_basins *out, const basins_box *b, size_t start)
{
    double x;
    size_t steps = 0;
    size_t kept = 0;
    const double at = out->attractors[out->labels[start] - 1].points[0];
    dyn_basin_starts starts = b->o.starts;
    starts.size = 1;
    dyn_basin_starts_get(&starts, start, &x);
    while (kept < b->o.stay) {
        map->kind->step(map, &x, &x);
        steps++;
        kept = fabs(x - at) <= out->radius ? kept + 1 : 0;
    }
    return steps;
}

static void check_steps(dyn_map *map, const dyn_basins *out, const basins_box *b)
{
    for (size_t i = 0; i < out->n_starts; i += 97) {
        if (out->labels[i] > 0) {
            assert_int_equal(out->steps[i], count_steps(map, out, b, i));
        }
    }
}

/* Rows 21 and 22: η = ½ on [−3, 3]. Escape beyond √5: a grid of n cells is right to one cell at
 * each end, 2/n of the box; left and right are mirror images of each other. */
static void test_double_well(void **state)
{
    dyn_map *map = maps_make("double-well", "eta=0.5");
    basins_box b;
    (void)state;
    for (size_t method = 0; method < METHODS; method++) {
        basins_set_box(&b, 2000, -3.0, 3.0);
        b.o.method = method;
        dyn_basins out = basins_find(map, &b.o);
        const double n = (double)out.n_starts;
        assert_int_equal(out.n_attractors, 2);
        MAPS_CLOSE(out.attractors[0].points[0], -1.0, 1e-12);
        MAPS_CLOSE(out.attractors[1].points[0], 1.0, 1e-12);
        assert_int_equal(out.attractors[0].count, out.attractors[1].count);
        MAPS_CLOSE((double)count_of(&out, DYN_BASIN_DIVERGED) / n, 1.0 - sqrt(5.0) / 3.0,
                   2.0 / 2000.0);
        assert_int_equal(out.attractors[0].count + out.attractors[1].count +
                             count_of(&out, DYN_BASIN_DIVERGED),
                         out.n_starts);
        assert_true((out.steps != NULL) == (method == PROXIMITY));
        if (out.steps != NULL) {
            check_steps(map, &out, &b);
        }
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

/* Row 23: the crisis at η = 3√3/2 − 1. */
static void test_crisis(void **state)
{
    static const double crisis = 1.598076211353316;
    dyn_map *map = maps_make("double-well", "");
    basins_box b;
    (void)state;
    basins_set_box(&b, 200, -1.3, 1.3);
    for (int side = -1; side <= 1; side += 2) {
        assert_int_equal(dyn_map_set_param(map, "eta", crisis + side * 1e-3, NULL), KERN_OK);
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, side < 0 ? 2 : 1);
        for (size_t i = 0; i < out.n_attractors; i++) {
            assert_true(out.attractors[i].period == 0 && out.attractors[i].exponent > 0.3);
        }
        assert_int_equal(count_of(&out, DYN_BASIN_TIMEOUT) + count_of(&out, DYN_BASIN_UNRESOLVED),
                         0);
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

/* Row 43: 0.4325 ± 0.0005 of [−2, 2]² comes to the Hénon attractor. A grid of 500² has a sampling
 * error of at most √(f(1 − f)/n) = 1e-3. */
static void test_henon(void **state)
{
    dyn_map *map = maps_make("henon", "");
    basins_box b;
    (void)state;
    basins_set_box(&b, 500, -2.0, 2.0);
    b.o.workers = 2;
    dyn_basins out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 1);
    assert_int_equal(out.attractors[0].period, 0);
    MAPS_CLOSE(out.attractors[0].exponent, 0.419, 0.05);
    MAPS_CLOSE(out.attractors[0].fraction, 0.4325, 0.0005 + 3.0 * out.attractors[0].fraction_error);
    assert_int_equal(count_of(&out, DYN_BASIN_DIVERGED) + out.attractors[0].count, out.n_starts);
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
}

/* Row 68: half and half, by all methods; −r and r in order. */
static void test_signs(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_SIGNS);
    basins_box b;
    (void)state;
    for (size_t method = 0; method < METHODS; method++) {
        basins_set_box(&b, 100, -2.0, 2.0);
        b.o.method = method;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 2);
        for (size_t i = 0; i < 2; i++) {
            assert_true(out.attractors[i].points[0] == (i == 0 ? -1.0 : 1.0));
            assert_true(out.attractors[i].fraction == 0.5);
            assert_true(out.attractors[i].spectral_radius == 0.0);
        }
        for (size_t k = 0; k < 100; k++) {
            assert_int_equal(out.labels[k], k < 50 ? 1 : 2);
        }
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

/* Eight wells and not 27 attractors, although every middle start of an odd grid without jitter lies
 * on a symmetry plane; those starts are told to sit on something that repels. */
static void test_wells(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_WELLS);
    basins_box b;
    (void)state;
    basins_set_box(&b, 11, -1.5, 1.5);
    dyn_basins out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 8);
    assert_int_equal(count_of(&out, DYN_BASIN_UNRESOLVED), 0);
    dyn_basins_fini(&out);
    b.o.starts.jitter = 0.0;
    b.o.horizon = 20000;
    out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(out.attractors[i].count, 125);
        for (size_t k = 0; k < 3; k++) {
            MAPS_CLOSE(fabs(out.attractors[i].points[k]), 1.0, 1e-12);
        }
    }
    assert_int_equal(out.verdicts[DYN_JUDGED_REPELLING], 1331 - 1000);
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
}

/* A circle: both halves, whichever way the box is cut. */
static void test_circle(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_CLOCK);
    (void)state;
    for (size_t method = 0; method < METHODS; method++) {
        for (int cut = 0; cut < 2; cut++) {
            basins_box b;
            basins_set_box(&b, 80, cut == 0 ? 0.0 : 0.3, cut == 0 ? 1.0 : 1.3);
            b.o.method = method;
            b.o.outside = 5;
            dyn_basins out = basins_find(map, &b.o);
            assert_int_equal(out.n_attractors, 2);
            assert_true(out.attractors[0].fraction == 0.5 && out.attractors[1].fraction == 0.5);
            MAPS_CLOSE(out.attractors[0].points[0], 0.0, 1e-12);
            MAPS_CLOSE(out.attractors[1].points[0], 0.5, 1e-12);
            MAPS_CLOSE(out.attractors[0].spectral_radius, 0.5, 1e-9);
            dyn_basins_fini(&out);
        }
    }
    dyn_map_destroy(map);
}

/* A cycle of 2 and one of period 5 · 2ⁿ are found with their multipliers; the logistic map has one
 * attractor at a time. */
static void test_cycles(void **state)
{
    static const struct {
        const char *r;
        size_t period;
        double radius; /* NaN: any below 1 */
    } cases[] = {{"r=3.2", 2, 0.16}, {"r=3.5", 4, (double)NAN}, {"r=3.74", 5, (double)NAN}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = maps_make("logistic", cases[i].r);
        basins_box b;
        basins_set_box(&b, 50, 0.0, 1.0);
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 1);
        assert_int_equal(out.attractors[0].period, cases[i].period);
        assert_int_equal(out.attractors[0].count, 50);
        assert_true(out.attractors[0].spectral_radius < 1.0);
        if (!isnan(cases[i].radius)) {
            MAPS_CLOSE(out.attractors[0].spectral_radius, cases[i].radius, 1e-9);
            MAPS_CLOSE(out.attractors[0].exponent, 0.5 * log(0.16), 1e-9);
        }
        dyn_basins_fini(&out);
        dyn_map_destroy(map);
    }
}

/* Past the Neimark–Sacker bifurcation the attractor is a closed curve: aperiodic, exponent 0. */
static void test_quasiperiodic(void **state)
{
    dyn_map *map = maps_make("delayed-logistic", "r=2.02");
    basins_box b;
    (void)state;
    basins_set_box(&b, 20, 0.3, 0.7);
    b.o.outside = 0;
    dyn_basins out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 1);
    assert_int_equal(out.attractors[0].period, 0);
    MAPS_CLOSE(out.attractors[0].exponent, 0.0, 2e-3);
    assert_int_equal(out.attractors[0].count, 400);
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
}

/* Row 50: the sink of the Ikeda map beside its chaotic attractor, by all methods. */
static void test_ikeda(void **state)
{
    dyn_map *map = maps_make("ikeda", "u=0.9");
    double fraction = 0.0;
    (void)state;
    for (size_t method = 0; method < METHODS; method++) {
        basins_box b;
        basins_set_box(&b, 30, -2.0, 6.0);
        b.low[1] = -3.0;
        b.high[1] = 6.0;
        b.o.method = method;
        b.o.radius = method == PROXIMITY ? 0.05 : 0.0;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 2);
        const dyn_attractor *sink = &out.attractors[out.attractors[0].period == 1 ? 0 : 1];
        assert_int_equal(sink->period, 1);
        MAPS_CLOSE(sink->points[0], 2.97213162, 1e-8);
        MAPS_CLOSE(sink->points[1], 4.14594642, 1e-8);
        MAPS_CLOSE(sink->spectral_radius, 0.9, 1e-8);
        fraction = method == 0 ? sink->fraction : fraction;
        MAPS_CLOSE(sink->fraction, fraction, 0.01);
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

/* Cells and radii so large that orbits pass through those of the wrong attractor, and that two
 * attractors share a cell: labels are still those of long orbits. At η = 0.3 orbits arrive at ±1,
 * the borders of 3 cells of ±3, from both sides; at η = 0.5 some of 6 cells of ±3.3 hold points of
 * both basins. */
static void test_passing(void **state)
{
    static const struct {
        const char *eta;
        double track;
        size_t cells, method;
        double radius;
    } cases[] = {{"eta=0.3", 3.0, 3, RECURRENCES, 0.0},
                 {"eta=0.5", 3.3, 6, RECURRENCES, 0.0},
                 {"eta=0.5", 3.3, 6, PROXIMITY, 0.9}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = maps_make("double-well", cases[i].eta);
        const double low = -cases[i].track;
        basins_box b;
        basins_set_box(&b, 200, -2.2, 2.2);
        b.o.low = &low;
        b.o.high = &cases[i].track;
        b.o.cells = &cases[i].cells;
        b.o.method = cases[i].method;
        b.o.radius = cases[i].radius;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 2);
        for (size_t k = 0; k < out.n_starts; k++) {
            dyn_basin_starts starts = b.o.starts;
            double x;
            starts.size = 1;
            dyn_basin_starts_get(&starts, k, &x);
            dyn_map_iterate(map, &x, 2000, &x);
            MAPS_CLOSE(fabs(x), 1.0, 1e-12);
            if (out.labels[k] != (x < 0.0 ? 1 : 2)) {
                fail_msg("start %zu of case %zu has label %d", k, i, (int)out.labels[k]);
            }
        }
        dyn_basins_fini(&out);
        dyn_map_destroy(map);
    }
}

/* Two crowds, a point at the edge of the first, one that only the edge is near to, and a column
 * that holds nothing but rounding. */
static void test_groups(void **state)
{
    static const double values[] = {0.0, 0.01, 0.02, 0.04, 0.13, 0.22, 0.91, 0.93, 0.96, 1.0};
    static const int32_t expected[2][10] = {{1, 1, 1, 1, 1, 0, 2, 2, 2, 2},
                                            {1, 1, 1, 1, 2, 3, 4, 4, 4, 5}};
    (void)state;
    for (size_t method = 0; method < 2; method++) {
        dyn_group_options o = dyn_group_options_default();
        double rows[20];
        int32_t groups[10];
        size_t n = 0;
        o.method = method;
        o.neighbours = 4;
        for (size_t i = 0; i < 10; i++) {
            rows[2 * i] = 5.0 + 2.0 * values[i];
            rows[2 * i + 1] = 1.0 + 1e-13 * (double)i;
        }
        MAPS_OK(dyn_group_rows(groups, &n, rows, 10, 2, &o, maps_err));
        assert_int_equal(n, method == 0 ? 2 : 5);
        assert_memory_equal(groups, expected[method], sizeof groups);
        o.radius = 0.0;
        assert_int_equal(dyn_group_rows(groups, &n, rows, 10, 2, &o, NULL), KERN_INVALID_ARGUMENT);
        o.radius = 0.1;
        rows[5] = (double)NAN;
        assert_int_equal(dyn_group_rows(groups, &n, rows, 10, 2, &o, NULL), KERN_INVALID_ARGUMENT);
    }
}

/* ---- Outcomes that are no attractor -------------------------------------------------------- */

static void test_all_diverge(void **state)
{
    dyn_map *map = maps_make("logistic", "r=5");
    (void)state;
    for (size_t method = 0; method < METHODS; method++) {
        basins_box b;
        basins_set_box(&b, 40, 2.0, 3.0);
        b.o.method = method;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 0);
        assert_int_equal(count_of(&out, DYN_BASIN_DIVERGED), 40);
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

static void test_nan(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_HOLE);
    (void)state;
    for (size_t method = 0; method < METHODS; method++) {
        basins_box b;
        basins_set_box(&b, 40, -1.0, 3.0);
        b.o.method = method;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 1);
        assert_int_equal(count_of(&out, DYN_BASIN_NAN), 10);
        assert_int_equal(out.attractors[0].count, 30);
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

/* A drift leaves the box when leaving is an outcome, after exactly so many steps outside; within
 * the horizon it has neither settled nor left. */
static void test_box_and_timeout(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_DRIFT);
    basins_box b;
    (void)state;
    basins_set_box(&b, 10, 0.0, 1.0);
    b.o.outside = 5;
    b.o.recurrences = 2000;
    for (size_t method = 0; method < 2; method++) {
        static const double far = 50.0;
        const dyn_attractor given = {.n_points = 1, .points = (double[]){far}};
        b.o.method = method;
        b.o.given = &given;
        b.o.n_given = 1;
        b.o.radius = 0.1;
        b.o.horizon = 3000;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(count_of(&out, DYN_BASIN_LEFT_BOX), 10);
        dyn_basins_fini(&out);
        b.o.horizon = 40;
        out = basins_find(map, &b.o);
        assert_int_equal(count_of(&out, DYN_BASIN_TIMEOUT), 10);
        assert_int_equal(count_of(&out, DYN_BASIN_LEFT_BOX), 0);
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

/* Creeping through a bottleneck, alone and beside a contracting coordinate, is not arriving. */
static void test_slow_passage(void **state)
{
    static const basin_map maps[] = {BASIN_MAP_BOTTLENECK, BASIN_MAP_BOTTLENECK_PLANAR};
    static const double speeds[] = {1e-6, 1e-8, 1e-9};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 3; k++) {
            dyn_map *map = basin_map_make(maps[i]);
            basins_box b;
            assert_int_equal(dyn_map_set_param(map, "a", speeds[k], NULL), KERN_OK);
            basins_set_box(&b, i == 0 ? 40 : 8, -0.5, 3.0);
            b.o.horizon = 2000000;
            dyn_basins out = basins_find(map, &b.o);
            assert_int_equal(out.n_attractors, 1);
            MAPS_CLOSE(out.attractors[0].points[0], 2.0, 1e-9);
            assert_int_equal(out.attractors[0].count, out.n_starts);
            dyn_basins_fini(&out);
            /* A horizon within the passage, verifications included, leaves those starts unresolved,
             * as still moving. */
            b.o.horizon = 1000;
            out = basins_find(map, &b.o);
            assert_int_equal(out.n_attractors, 1);
            assert_true((count_of(&out, DYN_BASIN_UNRESOLVED) > 0) == (speeds[k] < 1e-6));
            assert_int_equal(out.verdicts[DYN_JUDGED_PASSING],
                             count_of(&out, DYN_BASIN_UNRESOLVED));
            dyn_basins_fini(&out);
            dyn_map_destroy(map);
        }
    }
}

/* A map that preserves area has no attractors, whether an orbit is regular or chaotic. */
static void test_conservative(void **state)
{
    dyn_map *map = maps_make("standard", "k=1.5");
    basins_box b;
    (void)state;
    basins_set_box(&b, 4, 0.0, two_pi);
    b.o.horizon = 60000;
    b.o.cells = (size_t[]){64, 64};
    dyn_basins out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 0);
    assert_int_equal(out.verdicts[DYN_JUDGED_NEUTRAL], 16);
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
}

/* ---- Starts, workers, methods --------------------------------------------------------------- */

static void assert_same(const dyn_basins *a, const dyn_basins *b, size_t size)
{
    assert_int_equal(a->n_starts, b->n_starts);
    assert_memory_equal(a->labels, b->labels, a->n_starts * sizeof *a->labels);
    assert_int_equal(a->n_attractors, b->n_attractors);
    for (size_t i = 0; i < a->n_attractors; i++) {
        assert_int_equal(a->attractors[i].n_points, b->attractors[i].n_points);
        assert_memory_equal(a->attractors[i].points, b->attractors[i].points,
                            a->attractors[i].n_points * size * sizeof(double));
    }
}

static void test_workers(void **state)
{
    static const char *const maps[][2] = {
        {"henon", "a=1.4"}, {"ikeda", "u=0.9"}, {"henon", "a=1.2266"}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        dyn_map *map = maps_make(maps[i][0], maps[i][1]);
        for (size_t method = 0; method < METHODS; method++) {
            basins_box b;
            basins_set_box(&b, 14, -2.0, 2.0);
            b.o.verify.confirm = 2000;
            b.o.method = method;
            b.o.radius = method == PROXIMITY ? 0.05 : 0.0;
            b.o.workers = 1;
            dyn_basins one = basins_find(map, &b.o);
            b.o.workers = 3;
            dyn_basins three = basins_find(map, &b.o);
            assert_same(&one, &three, 2);
            dyn_basins_fini(&one);
            dyn_basins_fini(&three);
        }
        dyn_map_destroy(map);
    }
}

/* Random starts: the fraction of row 21 within four of its own standard errors (a false alarm in
 * 16000 seeds), another seed gives others, and the points given are used as they are. */
static void test_random_and_given(void **state)
{
    dyn_map *map = maps_make("double-well", "eta=0.5");
    const double given[] = {-0.1, 2.0, 2.3, -2.0};
    basins_box b;
    (void)state;
    basins_set_box(&b, 1, -3.0, 3.0);
    b.o.starts.kind = DYN_BASIN_RANDOM;
    b.o.starts.n = 3000;
    dyn_basins out = basins_find(map, &b.o);
    const double f = (double)count_of(&out, DYN_BASIN_DIVERGED) / 3000.0;
    MAPS_CLOSE(f, 1.0 - sqrt(5.0) / 3.0, 4.0 * sqrt(f * (1.0 - f) / 3000.0));
    b.o.starts.seed = 2;
    dyn_basins other = basins_find(map, &b.o);
    assert_memory_not_equal(out.labels, other.labels, 3000 * sizeof *out.labels);
    dyn_basins_fini(&out);
    dyn_basins_fini(&other);
    b.o.starts.kind = DYN_BASIN_GIVEN;
    b.o.starts.given = given;
    b.o.starts.n = 4;
    out = basins_find(map, &b.o);
    assert_int_equal(out.labels[0], 1);
    assert_int_equal(out.labels[2], DYN_BASIN_DIVERGED);
    assert_true(out.labels[1] > 0 && out.labels[3] > 0 && out.labels[1] != out.labels[3]);
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
}

/* More coordinates than a grid of cells takes: descent on a bowl in 40 of them, which are
 * projected.
 */
static void test_many_coordinates(void **state)
{
    dyn_map *map =
        maps_make("quadratic", "eta=0.5 lambda=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                               "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
    double low[40];
    double high[40];
    kern_error err = {0};
    dyn_basins out;
    (void)state;
    for (size_t i = 0; i < 40; i++) {
        low[i] = -1.0;
        high[i] = 1.0;
    }
    dyn_basins_options o = dyn_basins_options_default();
    o.starts.kind = DYN_BASIN_RANDOM;
    o.starts.low = low;
    o.starts.high = high;
    o.starts.n = 50;
    assert_int_equal(dyn_basins_init(&out, map, &o, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "has 40 coordinates");
    for (size_t method = PROXIMITY; method < METHODS; method++) {
        o.method = method;
        out = basins_find(map, &o);
        assert_int_equal(out.n_attractors, 1);
        assert_int_equal(out.attractors[0].count, 50);
        MAPS_CLOSE(out.attractors[0].spectral_radius, 0.5, 1e-9);
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

static void sign_feature(void *context, const double *tail, size_t n, size_t size, double *features)
{
    (void)context;
    features[0] = tail[(n - 1) * size] > 0.0 ? 1.0 : 0.0;
}

/* Features of the caller's own, and the histogram. */
static void test_own_features(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_WELLS);
    basins_box b;
    (void)state;
    basins_set_box(&b, 6, -1.5, 1.5);
    b.o.method = FEATURES;
    b.o.group.method = 1;
    dyn_basins out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 8);
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
    map = basin_map_make(BASIN_MAP_SIGNS);
    basins_set_box(&b, 60, -1.0, 2.0);
    b.o.method = FEATURES;
    b.o.feature = sign_feature;
    b.o.n_features = 1;
    out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 2);
    assert_int_equal(out.attractors[0].count, 20);
    dyn_basins_fini(&out);
    /* One start in ten, fewer than make a crowd, has an attractor of its own. */
    basins_set_box(&b, 10, -9.0, 1.0);
    b.o.method = FEATURES;
    out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 2);
    assert_int_equal(out.attractors[1].count, 1);
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
}

static bool stop(void *context, size_t done, size_t total)
{
    (void)context;
    return done < total / 2;
}

static void refuse(const dyn_map *map, const dyn_basins_options *o, kern_status status,
                   const char *part)
{
    dyn_basins out;
    kern_error err = {0};
    assert_int_equal(dyn_basins_init(&out, map, o, &err), status);
    maps_error(&err, status, part);
    assert_null(out.labels);
}

/* A grid of 10⁹ cells is refused with the memory that it would take: 5 bytes a start. */
static void test_refusals(void **state)
{
    dyn_map *map = maps_make("henon", "");
    basins_box b;
    (void)state;
    basins_set_box(&b, 31623, -2.0, 2.0);
    refuse(map, &b.o, KERN_NO_MEMORY, "1000014129 starts would take 5 GB of memory");
    basins_set_box(&b, SIZE_MAX / 2, -2.0, 2.0);
    refuse(map, &b.o, KERN_OVERFLOW, "than can be counted");
    basins_set_box(&b, 0, -2.0, 2.0);
    refuse(map, &b.o, KERN_INVALID_ARGUMENT, "there are no starts");
    basins_set_box(&b, 10, 2.0, -2.0);
    refuse(map, &b.o, KERN_INVALID_ARGUMENT, "reaches from 2 to -2");
    basins_set_box(&b, 10, -2.0, 2.0);
    b.o.starts.jitter = 0.6;
    refuse(map, &b.o, KERN_INVALID_ARGUMENT, "the jitter is 0.6");
    basins_set_box(&b, 10, -2.0, 2.0);
    b.o.horizon = 0;
    refuse(map, &b.o, KERN_INVALID_ARGUMENT, "horizon is 0");
    basins_set_box(&b, 100, -2.0, 2.0);
    b.o.progress = stop;
    refuse(map, &b.o, KERN_INTERRUPTED, "stopped");
    b.o.progress = NULL;
    b.o.method = METHODS;
    refuse(map, &b.o, KERN_INVALID_ARGUMENT, "does not exist");
    basins_set_box(&b, 300, -2.0, 2.0);
    b.o.method = FEATURES;
    b.o.settle = 10;
    b.o.tail = 10;
    refuse(map, &b.o, KERN_INVALID_ARGUMENT, "histogram accepts more");
    dyn_map_destroy(map);
}

/* More attractors than are told apart. */
static void test_too_many(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_WELLS);
    basins_box b;
    (void)state;
    basins_set_box(&b, 6, -1.5, 1.5);
    b.o.most_attractors = 3;
    dyn_basins out = basins_find(map, &b.o);
    assert_true(out.too_many);
    assert_int_equal(out.n_attractors, 3);
    assert_int_equal(count_of(&out, DYN_BASIN_UNRESOLVED), 5 * 27);
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cubic),
        cmocka_unit_test(test_algebraic),
        cmocka_unit_test(test_double_well),
        cmocka_unit_test(test_crisis),
        cmocka_unit_test(test_henon),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_wells),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_quasiperiodic),
        cmocka_unit_test(test_ikeda),
        cmocka_unit_test(test_passing),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_all_diverge),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_box_and_timeout),
        cmocka_unit_test(test_slow_passage),
        cmocka_unit_test(test_conservative),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_random_and_given),
        cmocka_unit_test(test_many_coordinates),
        cmocka_unit_test(test_own_features),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
