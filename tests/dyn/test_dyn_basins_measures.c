/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Basin entropy of drawn partitions, uncertainty exponents of known boundaries, and attractors
 * followed against a parameter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_basins_match.h"
#include "dyn/dyn_basins_measures.h"
#include "tests/dyn/dyn_basin_maps.h"
#include "tests/dyn/dyn_test_maps.h"

#include <stdlib.h>

enum { SIDE = 60 };

/* ---- Basin entropy ------------------------------------------------------------------------ */

static dyn_basin_entropy entropy_of(const int32_t *labels, const size_t *grid, size_t size,
                                    size_t box)
{
    dyn_basin_entropy e;
    MAPS_OK(dyn_basin_entropy_find(&e, labels, grid, size, box, maps_err));
    return e;
}

/* A straight boundary after `columns` columns of a square: boxes of side k that it cuts hold a part
 * p = (columns mod k)/k of one label, and there are SIDE/k of them. */
static void test_straight_boundary(void **state)
{
    static int32_t labels[SIDE * SIDE];
    static const size_t grid[2] = {SIDE, SIDE};
    static const size_t boxes[] = {1, 2, 3, 4, 5, 6, 10, 12, 60};
    (void)state;
    for (size_t columns = 27; columns <= 33; columns++) {
        for (size_t i = 0; i < SIDE * SIDE; i++) {
            labels[i] = i % SIDE < columns ? 1 : DYN_BASIN_DIVERGED;
        }
        for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
            const size_t k = boxes[i];
            const double p = (double)(columns % k) / (double)k;
            const size_t cut = p > 0.0 ? SIDE / k : 0;
            const double s = p > 0.0 ? -p * log(p) - (1.0 - p) * log(1.0 - p) : 0.0;
            const dyn_basin_entropy e = entropy_of(labels, grid, 2, k);
            const size_t all = (SIDE / k) * (SIDE / k);
            assert_int_equal(e.box, k);
            assert_int_equal(e.n_boxes, all);
            assert_int_equal(e.n_boundary, cut);
            MAPS_CLOSE(e.entropy, s * (double)cut / (double)all, 1e-14);
            assert_true(isnan(e.boundary_entropy) == (cut == 0));
            assert_true(cut == 0 || fabs(e.boundary_entropy - s) < 1e-14);
            assert_false(e.above_ln2);
        }
    }
}

/* Three labels in equal parts in every box: S = ln 3 everywhere, above ln 2. In one and three
 * dimensions, with a side that boxes do not fill. */
static void test_mixed(void **state)
{
    static int32_t labels[13 * 9 * 6];
    static const size_t line[1] = {300};
    static const size_t block[3] = {13, 9, 6};
    (void)state;
    for (size_t i = 0; i < 13 * 9 * 6; i++) {
        labels[i] = (int32_t)(i % 3) + 1;
    }
    dyn_basin_entropy e = entropy_of(labels, line, 1, 6);
    assert_int_equal(e.n_boxes, 50);
    MAPS_CLOSE(e.entropy, log(3.0), 1e-14);
    MAPS_CLOSE(e.boundary_entropy, log(3.0), 1e-14);
    assert_true(e.above_ln2);
    e = entropy_of(labels, block, 3, 3);
    assert_int_equal(e.n_boxes, 4 * 3 * 2);
    MAPS_CLOSE(e.entropy, log(3.0), 1e-14);
    for (size_t i = 0; i < 300; i++) {
        labels[i] = 1;
    }
    e = entropy_of(labels, line, 1, 7);
    assert_int_equal(e.n_boxes, 42);
    assert_true(e.entropy == 0.0 && isnan(e.boundary_entropy) && !e.above_ln2);
    kern_error err = {0};
    assert_int_equal(dyn_basin_entropy_find(&e, labels, block, 3, 7, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "boxes of the basin entropy are 7 cells wide");
    assert_int_equal(dyn_basin_entropy_find(&e, labels, line, 1, 0, NULL), KERN_INVALID_ARGUMENT);
}

/* Newton's method for z³ = 1. S_b falls with the side of a box as a power below 1, that of the
 * uncertainty exponent; for a smooth boundary it would be 1. */
static void test_newton_entropy(void **state)
{
    static const double low[2] = {-1.5, -1.5};
    static const double high[2] = {1.5, 1.5};
    static const size_t grid[2] = {300, 300};
    dyn_map *map = basin_map_make(BASIN_MAP_NEWTON);
    dyn_basins_options o = dyn_basins_options_default();
    dyn_basins b;
    (void)state;
    o.starts.low = low;
    o.starts.high = high;
    o.starts.grid = grid;
    MAPS_OK(dyn_basins_init(&b, map, &o, maps_err));
    assert_int_equal(b.n_attractors, 3);
    MAPS_CLOSE(b.attractors[2].points[0], 1.0, 1e-12);
    MAPS_CLOSE(b.attractors[0].points[1], -sqrt(0.75), 1e-12);
    const dyn_basin_entropy coarse = entropy_of(b.labels, grid, 2, 12);
    const dyn_basin_entropy fine = entropy_of(b.labels, grid, 2, 3);
    const double exponent = log(coarse.entropy / fine.entropy) / log(4.0);
    assert_true(coarse.boundary_entropy > 0.5 && coarse.boundary_entropy < log(3.0));
    assert_true(exponent > 0.3 && exponent < 0.8);
    dyn_basins_fini(&b);
    dyn_map_destroy(map);
}

/* ---- Uncertainty exponent ----------------------------------------------------------------- */

static dyn_uncertainty measure(const dyn_map *map, double low, double high,
                               const dyn_uncertainty_options *u)
{
    static const double room_low[2] = {-3.0, -3.0};
    static const double room_high[2] = {3.0, 3.0};
    const double lows[2] = {low, low};
    const double highs[2] = {high, high};
    dyn_basins_options o = dyn_basins_options_default();
    dyn_uncertainty out;
    o.starts.low = lows;
    o.starts.high = highs;
    o.low = room_low;
    o.high = room_high;
    MAPS_OK(dyn_uncertainty_init(&out, map, &o, u, maps_err));
    assert_int_equal(out.n, u->n);
    MAPS_CLOSE(out.scales[0].epsilon, u->largest, 1e-15);
    MAPS_CLOSE(out.scales[u->n - 1].epsilon, u->smallest, 1e-15);
    return out;
}

/* The options that callers get find the exponent of a smooth boundary. */
static void test_default_options(void **state)
{
    dyn_map *map = maps_make("double-well", "eta=0.5");
    const dyn_uncertainty_options u = dyn_uncertainty_options_default();
    (void)state;
    dyn_uncertainty out = measure(map, -1.5, 1.5, &u);
    assert_int_equal(out.status, KERN_OK);
    assert_true(out.n_fitted >= 3 && out.exponent_error < 0.2);
    MAPS_CLOSE(out.exponent, 1.0, 3.0 * out.exponent_error);
    dyn_uncertainty_fini(&out);
    dyn_map_destroy(map);
}

/* Within ±√3, which maps to 0, only 0 is on the boundary: f = 2ε, and α = 1 within three standard
 * errors. (Beyond, preimages of 0 accumulate on ±√5, and f is no power.) */
static void test_smooth_boundary(void **state)
{
    dyn_map *map = maps_make("double-well", "eta=0.5");
    const dyn_uncertainty_options u = {.largest = 0.03, .smallest = 0.001, .n = 6, .points = 20000};
    (void)state;
    dyn_uncertainty out = measure(map, -1.5, 1.5, &u);
    assert_int_equal(out.status, KERN_OK);
    MAPS_CLOSE(out.exponent, 1.0, 3.0 * out.exponent_error);
    assert_true(out.exponent_error < 0.05);
    assert_true(out.boundary_dimension == 1.0 - out.exponent);
    for (size_t i = 0; i < out.n; i++) {
        const double f = 2.0 * out.scales[i].epsilon;
        assert_int_equal(out.scales[i].decided, u.points);
        MAPS_CLOSE(out.scales[i].fraction, f, 4.0 * sqrt(f * (1.0 - f) / (double)u.points));
    }
    dyn_uncertainty_fini(&out);
    dyn_map_destroy(map);
}

/* A Cantor set of dimension ln 3/ln 5, probed at its own ratio of scales: f(5⁻ⁿ) is A (3/5)ⁿ − B
 * 5⁻ⁿ, as points in the gaps of level k < n are 3ᵏ times as many; from n = 4 on, the second term is
 * less than 1/81 of the first, which moves the exponent by less than its error. */
static void test_cantor_boundary(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_CANTOR);
    const dyn_uncertainty_options u = {
        .largest = 1.0 / 625.0, .smallest = 1.0 / 9765625.0, .n = 7, .points = 20000};
    (void)state;
    dyn_uncertainty out = measure(map, 0.0, 1.0, &u);
    assert_int_equal(out.status, KERN_OK);
    MAPS_CLOSE(out.exponent, 1.0 - log(3.0) / log(5.0), 3.0 * out.exponent_error);
    assert_true(out.exponent_error < 0.02);
    dyn_uncertainty_fini(&out);
    dyn_map_destroy(map);
}

/* The Newton fractal: an exponent below 1 by more than five of its errors. */
static void test_newton_boundary(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_NEWTON);
    const dyn_uncertainty_options u = {.largest = 0.03, .smallest = 1e-5, .n = 6, .points = 1500};
    (void)state;
    dyn_uncertainty out = measure(map, -1.5, 1.5, &u);
    assert_int_equal(out.status, KERN_OK);
    assert_true(out.exponent + 5.0 * out.exponent_error < 1.0);
    assert_true(out.exponent > 0.3);
    dyn_uncertainty_fini(&out);
    dyn_map_destroy(map);
}

/* One basin has no boundary: nothing to fit, and no number. */
static void test_no_boundary(void **state)
{
    dyn_map *map = maps_make("double-well", "eta=0.5");
    dyn_uncertainty_options u = {.largest = 0.03, .smallest = 1e-3, .n = 3, .points = 100};
    dyn_basins_options o = dyn_basins_options_default();
    dyn_uncertainty out;
    kern_error err = {0};
    (void)state;
    out = measure(map, 0.5, 1.5, &u);
    assert_int_equal(out.status, KERN_NOT_FOUND);
    assert_true(isnan(out.exponent) && isnan(out.exponent_error) && isnan(out.boundary_dimension));
    assert_int_equal(out.n_fitted, 0);
    dyn_uncertainty_fini(&out);
    assert_int_equal(dyn_uncertainty_init(&out, map, &o, &u, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "needs a box");
    u.smallest = 0.1;
    assert_int_equal(dyn_uncertainty_init(&out, map, &o, &u, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "0 < smallest < largest");
    dyn_map_destroy(map);
}

/* ---- Matching ------------------------------------------------------------------------------- */

static dyn_attractor at(double *x, int32_t id)
{
    return (dyn_attractor){.id = id, .period = 1, .n_points = 1, .points = x};
}

/* The nearest pair first; never one id for two; beyond the threshold a new id. */
static void test_match(void **state)
{
    double places[] = {0.0, 1.0, 0.1, 0.2, 5.0, (double)NAN};
    dyn_map *map = basin_map_make(BASIN_MAP_SIGNS);
    const dyn_attractor known[] = {at(&places[0], 7), at(&places[1], 3)};
    const dyn_attractor now[] = {at(&places[3], 0), at(&places[2], 0), at(&places[4], 0),
                                 at(&places[5], 0)};
    int32_t ids[4];
    int32_t next = 8;
    (void)state;
    for (int centroid = 0; centroid < 2; centroid++) {
        next = 8;
        MAPS_OK(
            dyn_attractors_match(ids, map, now, 3, known, 2, 0.85, centroid == 1, &next, maps_err));
        assert_int_equal(ids[1], 7);
        assert_int_equal(ids[0], 3);
        assert_int_equal(ids[2], 8);
        assert_int_equal(next, 9);
    }
    MAPS_OK(dyn_attractors_match(ids, map, now, 4, known, 2, 0.5, false, &next, maps_err));
    assert_true(ids[1] == 7 && ids[0] == 9 && ids[2] == 10 && ids[3] == 11 && next == 12);
    MAPS_OK(dyn_attractors_match(ids, map, now, 2, known, 0, 0.5, false, &next, maps_err));
    assert_true(ids[0] == 12 && ids[1] == 13);
    MAPS_OK(dyn_attractors_match(ids, map, now, 0, known, 2, 0.5, false, &next, maps_err));
    dyn_map_destroy(map);
}

static dyn_basins_sweep sweep(const dyn_map *map, const dyn_basins_options *o,
                              const dyn_basins_sweep_options *s)
{
    dyn_basins_sweep out;
    MAPS_OK(dyn_basins_sweep_init(&out, map, o, s, maps_err));
    for (size_t i = 0; i < out.n; i++) {
        const dyn_basins_column *c = &out.columns[i];
        assert_true((c->basins.labels != NULL) == s->keep_labels);
        for (size_t k = 0; k < c->basins.n_attractors; k++) {
            assert_true(c->ids[k] >= 1 && (size_t)c->ids[k] <= out.n_ids);
            for (size_t l = 0; l < k; l++) {
                assert_int_not_equal(c->ids[k], c->ids[l]);
            }
        }
    }
    return out;
}

/* The double well from before the flip to beyond the crisis: two ids throughout, then one; the
 * flips at 1 and 1.236… change the period and keep the id. */
static void test_double_well_sweep(void **state)
{
    static const double low = -1.4;
    static const double high = 1.4;
    static const size_t grid = 100;
    dyn_map *map = maps_make("double-well", "");
    dyn_basins_options o = dyn_basins_options_default();
    const dyn_basins_sweep_options s = {
        .vary = "eta", .from = 0.9, .to = 1.62, .n = 10, .keep_labels = true, .threshold = 0.6};
    (void)state;
    o.starts.low = &low;
    o.starts.high = &high;
    o.starts.grid = &grid;
    dyn_basins_sweep out = sweep(map, &o, &s);
    assert_int_equal(out.n, 10);
    for (size_t i = 0; i < 9; i++) {
        const dyn_basins_column *c = &out.columns[i];
        MAPS_CLOSE(c->parameter, 0.9 + 0.08 * (double)i, 1e-12);
        assert_int_equal(c->basins.n_attractors, 2);
        assert_true(c->ids[0] == 1 && c->ids[1] == 2);
        MAPS_CLOSE(c->basins.attractors[0].fraction, 0.5, 1e-12);
    }
    assert_int_equal(out.columns[0].basins.attractors[0].period, 1);
    assert_int_equal(out.columns[3].basins.attractors[0].period, 2);
    assert_int_equal(out.columns[9].basins.n_attractors, 1);
    dyn_basins_sweep_fini(&out);
    dyn_map_destroy(map);
}

/* Beyond r = 4 every start of [0, 1] escapes, which is a column like another; the attractor keeps
 * its id on the way back. */
static void test_sweep_over_divergence(void **state)
{
    static const double low = 0.01;
    static const double high = 0.99;
    static const size_t grid = 20;
    dyn_map *map = maps_make("logistic", "");
    dyn_basins_options o = dyn_basins_options_default();
    dyn_basins_sweep_options s = {.vary = "r", .from = 5.0, .to = 2.5, .n = 6};
    dyn_basins_sweep out;
    kern_error err = {0};
    (void)state;
    o.starts.low = &low;
    o.starts.high = &high;
    o.starts.grid = &grid;
    out = sweep(map, &o, &s);
    MAPS_CLOSE(out.threshold, 0.049, 1e-12);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(out.columns[i].basins.n_attractors, 0);
        assert_int_equal(out.columns[i].basins.counts[-1 - DYN_BASIN_DIVERGED], 20);
    }
    assert_int_equal(out.columns[5].basins.n_attractors, 1);
    assert_int_equal(out.columns[5].basins.attractors[0].period, 1);
    dyn_basins_sweep_fini(&out);
    s.vary = "a";
    assert_int_equal(dyn_basins_sweep_init(&out, map, &o, &s, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "accepted: r");
    s.vary = "r";
    s.n = 0;
    assert_int_equal(dyn_basins_sweep_init(&out, map, &o, &s, &err), KERN_INVALID_ARGUMENT);
    s.n = 2;
    s.to = (double)INFINITY;
    assert_int_equal(dyn_basins_sweep_init(&out, map, &o, &s, &err), KERN_INVALID_ARGUMENT);
    dyn_map_destroy(map);
}

/* Row 44: the Hénon map at 101 values of a, 1.2 … 1.25. One attractor at a time and three in all:
 * the chaotic one, which a cycle of period 26 interrupts in one column, and from a ≈ 1.2265 on a
 * cycle of period 7. */
static void test_henon_sweep(void **state)
{
    static const double low[2] = {-2.5, -2.5};
    static const double high[2] = {2.5, 2.5};
    static const size_t grid[2] = {10, 10};
    dyn_map *map = maps_make("henon", "");
    dyn_basins_options o = dyn_basins_options_default();
    const dyn_basins_sweep_options s = {.vary = "a", .from = 1.2, .to = 1.25, .n = 101};
    (void)state;
    o.starts.low = low;
    o.starts.high = high;
    o.starts.grid = grid;
    o.verify.confirm = 5000;
    o.workers = 2;
    dyn_basins_sweep out = sweep(map, &o, &s);
    assert_int_equal(out.n_ids, 3);
    for (size_t i = 0; i < out.n; i++) {
        const dyn_basins_column *c = &out.columns[i];
        assert_int_equal(c->basins.n_attractors, 1);
        const dyn_attractor *a = &c->basins.attractors[0];
        assert_true(a->fraction > 0.3 && a->fraction < 0.45);
        assert_int_equal(a->count + c->basins.counts[-1 - DYN_BASIN_DIVERGED], 100);
        if (c->parameter < 1.2264) {
            assert_int_equal(a->period, i == 1 ? 26 : 0);
            assert_int_equal(c->ids[0], i == 1 ? 2 : 1);
        } else if (c->parameter > 1.2269) {
            assert_int_equal(a->period, 7);
            assert_int_equal(c->ids[0], 3);
        }
    }
    dyn_basins_sweep_fini(&out);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_straight_boundary), cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_newton_entropy),    cmocka_unit_test(test_smooth_boundary),
        cmocka_unit_test(test_cantor_boundary),   cmocka_unit_test(test_newton_boundary),
        cmocka_unit_test(test_no_boundary),       cmocka_unit_test(test_match),
        cmocka_unit_test(test_double_well_sweep), cmocka_unit_test(test_sweep_over_divergence),
        cmocka_unit_test(test_default_options),   cmocka_unit_test(test_henon_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
