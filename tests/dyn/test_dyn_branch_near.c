/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Events near each other: a map whose four coordinates bifurcate each at a place of its own, many
 * of them within one step of the branch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_branch.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_test_maps.h"

enum { SIZE = 4 };

/* ---- The map ------------------------------------------------------------------------------ */

/* x_i' = s (1 + λ − a_i) x_i − s x_i³: at the origin multiplier i is s at λ = a_i, a flip (s = −1)
 * or a pitchfork (s = 1). */
static const dyn_param params[] = {{"lambda", 0.0, "the parameter"},
                                   {"sign", -1.0, "of the multipliers"},
                                   {"a", 0.1, "where coordinate 0 is critical"},
                                   {"b", 0.1, "coordinate 1"},
                                   {"c", 0.1, "coordinate 2"},
                                   {"d", 0.1, "coordinate 3"}};

static double growth(const dyn_map *map, size_t i)
{
    return map->params[1] * (1.0 + map->params[0] - map->params[2 + i]);
}

static void step(dyn_map *map, const double *x, double *y)
{
    for (size_t i = 0; i < SIZE; i++) {
        y[i] = growth(map, i) * x[i] - map->params[1] * x[i] * x[i] * x[i];
    }
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    for (size_t i = 0; i < SIZE; i++) {
        jv[i] = (growth(map, i) - 3.0 * map->params[1] * x[i] * x[i]) * v[i];
    }
    if (y != NULL) {
        step(map, x, y);
    }
}

static const dyn_map_kind kind = {
    .name = "diagonal", .formula = "four scalar maps", .step = step, .jvp = jvp};

/* The branch of the origin for λ from 0 to 0.3. */
static void follow(dyn_branch *out, double sign, const double places[SIZE])
{
    const double x0[SIZE] = {0.0};
    dyn_map *map = NULL;
    MAPS_OK(dyn_map_create(&map, &kind, SIZE, params, 6, maps_err));
    map->params[1] = sign;
    memcpy(map->params + 2, places, SIZE * sizeof *places);
    dyn_branch_options o = dyn_branch_options_default();
    o.vary = "lambda";
    o.high = 0.3;
    o.x0 = x0;
    MAPS_OK(dyn_branch_init(out, map, &o, maps_err));
    dyn_map_destroy(map);
}

/* ---- Checks ------------------------------------------------------------------------------- */

/* Multipliers beyond `sign` at a point. */
static size_t count_beyond(const dyn_branch_point *p, double sign)
{
    size_t n = 0;
    for (size_t i = 0; i < SIZE; i++) {
        n += sign * p->multipliers.blocks[0].re[i] > 1.0 ? 1U : 0U;
    }
    return n;
}

/* Between neighbouring points the number of multipliers beyond ±1 grows by the counts of the events
 * there. */
static void check_counts(const dyn_branch *branch, double sign)
{
    for (size_t i = 0; i + 1 < branch->n_points; i++) {
        size_t counted = 0;
        for (size_t e = 0; e < branch->n_events; e++) {
            counted += branch->events[e].point == i ? branch->events[e].count : 0;
        }
        assert_int_equal(count_beyond(&branch->points[i + 1], sign),
                         count_beyond(&branch->points[i], sign) + counted);
    }
}

/* Events of the kind at the places, with the counts; n of them. */
static void check_events(double sign, const double places[SIZE], size_t n, const double *expected,
                         const size_t *counts)
{
    dyn_branch branch;
    follow(&branch, sign, places);
    assert_int_equal(branch.n_events, n);
    for (size_t e = 0; e < n; e++) {
        const dyn_branch_event *event = &branch.events[e];
        assert_int_equal(event->kind, sign < 0.0 ? DYN_BRANCH_PD : DYN_BRANCH_BP);
        assert_int_equal(event->count, counts[e]);
        assert_false(event->touch);
        MAPS_CLOSE(event->parameter, expected[e], counts[e] == 1 ? 1e-9 : 1e-8);
        MAPS_CLOSE(event->re, sign, 1e-8);
        assert_int_equal(event->normal_status, counts[e] == 1 ? KERN_OK : KERN_SINGULAR);
    }
    check_counts(&branch, sign);
    dyn_branch_fini(&branch);
}

/* ---- Tests -------------------------------------------------------------------------------- */

/* Four flips within one step. */
static void test_four_flips(void **state)
{
    const double places[SIZE] = {0.1, 0.101, 0.102, 0.103};
    const size_t counts[SIZE] = {1, 1, 1, 1};
    (void)state;
    check_events(-1.0, places, 4, places, counts);
}

/* Two at one place beside a third. */
static void test_double_flip(void **state)
{
    const double places[SIZE] = {0.1, 0.101, 0.101, 9.0};
    const double expected[] = {0.1, 0.101};
    const size_t counts[] = {1, 2};
    (void)state;
    check_events(-1.0, places, 2, expected, counts);
}

/* Two and two. */
static void test_two_double_flips(void **state)
{
    const double places[SIZE] = {0.101, 0.1, 0.101, 0.1};
    const double expected[] = {0.1, 0.101};
    const size_t counts[] = {2, 2};
    (void)state;
    check_events(-1.0, places, 2, expected, counts);
}

/* As near as 1e-5 and 1e-6 they are told apart, and do not count each other. */
static void test_near_flips(void **state)
{
    const double gaps[] = {1e-5, 1e-6};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const double places[SIZE] = {0.1, 0.1 + gaps[i], 9.0, 9.0};
        const size_t counts[] = {1, 1};
        check_events(-1.0, places, 2, places, counts);
    }
}

static void test_two_pitchforks(void **state)
{
    const double places[SIZE] = {0.1, 0.101, 9.0, 9.0};
    const size_t counts[] = {1, 1};
    (void)state;
    check_events(1.0, places, 2, places, counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_flips),       cmocka_unit_test(test_double_flip),
        cmocka_unit_test(test_two_double_flips), cmocka_unit_test(test_near_flips),
        cmocka_unit_test(test_two_pitchforks),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
