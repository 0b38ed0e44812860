/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Basins where attraction is slow or scouts miss attractors: one marginal attractor is one, a
 * shrinking spiral is none, starts at rest are not given up; and finding attractors by place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_basins.h"
#include "dyn/dyn_near.h"
#include "kernels/kern_rng.h"
#include "tests/dyn/dyn_basin_maps.h"
#include "tests/dyn/dyn_basins_check.h"
#include "tests/dyn/dyn_test_maps.h"

#include <string.h>

/* ---- Marginal attractors ------------------------------------------------------------------ */

/* Every method finds one fixed point, at (place, 0). It is known to where the residual e·u³ falls
 * below that of the last pass of Newton's method, 1e-15 (1 + place). Away from 0 different starts
 * thus find places that differ by more than cycles do that are the same by their places. */
static void expect_one(dyn_map *map, double place, double reach, double e)
{
    for (size_t method = 0; method < METHODS; method++) {
        basins_box b;
        basins_set_box(&b, map->size == 1 ? 40 : 8, place - reach, place + reach);
        b.o.method = method;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 1);
        assert_int_equal(out.attractors[0].period, 1);
        assert_int_equal(out.attractors[0].count, out.n_starts);
        MAPS_CLOSE(out.attractors[0].points[0], place, cbrt(1e-15 * (1.0 + place) / e));
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

static void test_tangency(void **state)
{
    (void)state;
    expect_one(maps_make("cubic", "mu=1"), 0.0, 1.0, 1.0);
    expect_one(basin_map_make(BASIN_MAP_TANGENCY), 1.0, 4.0, 1e-3);
}

/* The slow curve is bent: states between two solutions of the equation are off it at first. */
static void test_bent(void **state)
{
    (void)state;
    expect_one(basin_map_make(BASIN_MAP_BENT), 1.0, 1.2, 1.0);
}

/* Just beyond, ±1/100 have multipliers of 1 − 2e-4, and are two. */
static void test_told_apart(void **state)
{
    dyn_map *map = maps_make("cubic", "mu=1.0001");
    (void)state;
    for (size_t method = 0; method < METHODS; method++) {
        basins_box b;
        basins_set_box(&b, 20, -1.0, 1.0);
        b.o.method = method;
        b.o.settle = 50000;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 2);
        MAPS_CLOSE(out.attractors[0].points[0], -0.01, 1e-6);
        MAPS_CLOSE(out.attractors[1].points[0], 0.01, 1e-6);
        assert_int_equal(out.attractors[0].count, 10);
        assert_int_equal(out.attractors[1].count, 10);
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

/* Two marginal attractors with a fast direction between them, along which what is between goes to
 * either and rests there. */
static void test_trenches(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_TRENCHES);
    (void)state;
    for (size_t method = 0; method < METHODS; method++) {
        basins_box b;
        basins_set_box(&b, 8, -1.2, 1.2);
        b.o.method = method;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 2);
        assert_int_equal(out.attractors[0].count, 32);
        assert_int_equal(out.attractors[1].count, 32);
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

/* At a Neimark-Sacker bifurcation orbits spiral in as t^(-1/2): a turn is closed to the eye, and is
 * no quasi-periodic attractor. */
static void test_spiral(void **state)
{
    dyn_map *map = maps_make("delayed-logistic", "r=2");
    (void)state;
    for (size_t method = 0; method < METHODS; method++) {
        basins_box b;
        basins_set_box(&b, 6, 0.3, 0.7);
        b.o.method = method;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 0);
        if (method != PROXIMITY) {
            assert_int_equal(out.verdicts[DYN_JUDGED_PASSING], out.n_starts);
        }
        dyn_basins_fini(&out);
    }
    dyn_map_destroy(map);
}

/* ---- Attractors that scouts miss ----------------------------------------------------------- */

/* One scout finds one of eight; the others come from starts at rest, whatever the workers. */
static void test_missed(void **state)
{
    dyn_map *map = basin_map_make(BASIN_MAP_WELLS);
    basins_box b;
    (void)state;
    basins_set_box(&b, 6, -1.5, 1.5);
    dyn_basins whole = basins_find(map, &b.o);
    b.o.method = PROXIMITY;
    b.o.search = 1;
    for (int workers = 1; workers <= 3; workers += 2) {
        b.o.workers = workers;
        dyn_basins out = basins_find(map, &b.o);
        assert_int_equal(out.n_attractors, 8);
        assert_int_equal(out.counts[-1 - DYN_BASIN_TIMEOUT], 0);
        assert_memory_equal(out.labels, whole.labels, out.n_starts * sizeof *out.labels);
        dyn_basins_fini(&out);
    }
    b.o.most_attractors = 3;
    dyn_basins few = basins_find(map, &b.o);
    assert_true(few.too_many);
    assert_int_equal(few.n_attractors, 3);
    assert_int_equal(few.counts[-1 - DYN_BASIN_UNRESOLVED], 5 * 27);
    dyn_basins_fini(&few);
    dyn_basins_fini(&whole);
    dyn_map_destroy(map);
}

/* Attractors that are given are all there are. */
static void test_given_alone(void **state)
{
    dyn_map *map = maps_make("cubic", "mu=1.5");
    double point = sqrt(0.5);
    const dyn_attractor given = {.id = 1, .period = 1, .n_points = 1, .points = &point};
    basins_box b;
    (void)state;
    basins_set_box(&b, 20, -1.0, 1.0);
    b.o.method = PROXIMITY;
    b.o.given = &given;
    b.o.n_given = 1;
    b.o.horizon = 2000;
    dyn_basins out = basins_find(map, &b.o);
    assert_int_equal(out.n_attractors, 1);
    assert_int_equal(out.attractors[0].count, 10);
    assert_int_equal(out.counts[-1 - DYN_BASIN_TIMEOUT], 10);
    dyn_basins_fini(&out);
    dyn_map_destroy(map);
}

/* ---- By place ------------------------------------------------------------------------------- */

enum { CLOUDS = 5, CLOUD = 40, ASKED = 3000 };

static double draw(uint64_t *counter)
{
    return 0x1p-64 * (double)kern_rng_hash(7, (*counter)++);
}

/* Clouds of points in the unit cube of `map`, about places of their own. */
static void draw_clouds(dyn_attractor *clouds, double *points, size_t size, uint64_t *counter)
{
    for (size_t i = 0; i < CLOUDS; i++) {
        double *own = points + i * CLOUD * size;
        clouds[i] = (dyn_attractor){.id = (int32_t)i + 1, .n_points = CLOUD, .points = own};
        for (size_t k = 0; k < CLOUD * size; k++) {
            own[k] = k < size ? draw(counter) : own[k % size] + 0.2 * (draw(counter) - 0.5);
        }
    }
}

static int32_t find_plainly(const dyn_map *map, const dyn_attractor *clouds, double radius,
                            const double *x)
{
    int32_t found = 0;
    for (size_t i = 0; i < CLOUDS; i++) {
        if (dyn_attractor_reach(map, &clouds[i], x) <= radius) {
            found = found == 0 ? clouds[i].id : -1;
        }
    }
    return found;
}

static double separate_plainly(const dyn_map *map, const dyn_attractor *clouds)
{
    double least = (double)INFINITY;
    for (size_t i = 0; i < CLOUDS; i++) {
        for (size_t k = 0; k < CLOUDS * CLOUD; k++) {
            if (k / CLOUD != i) {
                least = fmin(least,
                             dyn_attractor_reach(map, &clouds[i],
                                                 clouds[k / CLOUD].points + k % CLOUD * map->size));
            }
        }
    }
    return least;
}

/* The same as looking at every point: on the line, the circle, the plane and in four dimensions,
 * for radii from small to beyond the circle, also at points themselves and at places on borders. */
static void check_near(const dyn_map *map, double radius)
{
    double points[CLOUDS * CLOUD * 5];
    dyn_attractor clouds[CLOUDS];
    dyn_near near;
    uint64_t counter = 0;
    size_t hits[3] = {0};
    double least;
    draw_clouds(clouds, points, map->size, &counter);
    MAPS_OK(dyn_near_init(&near, map, clouds, CLOUDS, radius, maps_err));
    for (size_t k = 0; k < ASKED; k++) {
        double x[5];
        for (size_t i = 0; i < map->size; i++) {
            x[i] = k % 3 == 0 ? points[k % (CLOUDS * CLOUD) * map->size + i]
                              : 1.6 * draw(&counter) - 0.3;
            x[i] = k % 5 == 0 ? 2.0 * radius * floor(x[i] / (2.0 * radius)) : x[i];
        }
        const int32_t found = dyn_near_find(&near, x);
        assert_int_equal(found, find_plainly(map, clouds, radius, x));
        hits[found > 0 ? 2 : found + 1]++;
    }
    assert_true(hits[2] > 0 || hits[0] > 0);
    dyn_near_fini(&near);
    MAPS_OK(dyn_near_separation(&least, map, clouds, CLOUDS, (double)INFINITY, maps_err));
    MAPS_CLOSE(least, separate_plainly(map, clouds), 1e-15);
    MAPS_OK(dyn_near_separation(&least, map, clouds, CLOUDS, 1e-9, maps_err));
    assert_true(least <= 1e-9);
}

static void test_near(void **state)
{
    static const double radii[] = {1e-3, 0.03, 0.1, 0.3, 0.7};
    dyn_map *maps[] = {maps_make("cubic", ""), basin_map_make(BASIN_MAP_CLOCK),
                       maps_make("henon", ""), maps_make("coupled-logistic", "n=5")};
    (void)state;
    for (size_t m = 0; m < 4; m++) {
        for (size_t r = 0; r < 5; r++) {
            check_near(maps[m], radii[r]);
        }
        dyn_map_destroy(maps[m]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tangency),    cmocka_unit_test(test_bent),
        cmocka_unit_test(test_told_apart),  cmocka_unit_test(test_trenches),
        cmocka_unit_test(test_spiral),      cmocka_unit_test(test_missed),
        cmocka_unit_test(test_given_alone), cmocka_unit_test(test_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
