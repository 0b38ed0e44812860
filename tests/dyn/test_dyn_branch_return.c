/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A multiplier that crosses and comes back within one step, one that only touches, and events at
 * the ends of a branch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_branch.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_test_maps.h"

enum { SIZE = 2 };

/* Where the multiplier turns: at no place that a step would end at by chance. */
#define TURN 0.0137

/* ---- The map ------------------------------------------------------------------------------ */

/* z' = (m e^{iθ} − |z|²) z with m = 1 + ((a − TURN)² − e)/2, z = x + iy: at the origin two
 * multipliers of modulus m, which are critical at a = TURN ± √e. With `real` the second one is a
 * half and the first one is ±m. */
static const dyn_param params[] = {{"a", -1.0, "the parameter"},
                                   {"e", 1e-4, "depth of the crossing, or negative"},
                                   {"theta", 1.0, "angle of the multipliers"},
                                   {"real", 0.0, "the second coordinate stands alone"}};

static void linear(const dyn_map *map, const double *v, double *y)
{
    const double at = map->params[0] - TURN;
    const double m = 1.0 + 0.5 * (at * at - map->params[1]);
    const double c = m * cos(map->params[2]);
    const double s = m * sin(map->params[2]);
    const bool real = map->params[3] != 0.0;
    y[0] = real ? copysign(m, c) * v[0] : c * v[0] - s * v[1];
    y[1] = real ? 0.5 * v[1] : s * v[0] + c * v[1];
}

static void step(dyn_map *map, const double *x, double *y)
{
    const double r = x[0] * x[0] + x[1] * x[1];
    double z[SIZE];
    linear(map, x, z);
    for (size_t i = 0; i < SIZE; i++) {
        y[i] = z[i] - r * x[i];
    }
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double r = x[0] * x[0] + x[1] * x[1];
    const double dr = 2.0 * (x[0] * v[0] + x[1] * v[1]);
    double z[SIZE];
    linear(map, v, z);
    for (size_t i = 0; i < SIZE; i++) {
        jv[i] = z[i] - dr * x[i] - r * v[i];
    }
    if (y != NULL) {
        step(map, x, y);
    }
}

static const dyn_map_kind kind = {
    .name = "turning", .formula = "multipliers that turn", .step = step, .jvp = jvp};

typedef struct turning {
    dyn_branch_event_kind event;
    double theta;
    double real;
} turning;

static const turning kinds[] = {
    {DYN_BRANCH_BP, 0.0, 1.0}, {DYN_BRANCH_PD, 3.0, 1.0}, {DYN_BRANCH_NS, 1.0, 0.0}};

/* The branch of the origin from a to b. */
static void follow(dyn_branch *out, const turning *t, double e, double a, double b)
{
    const double x0[SIZE] = {0.0};
    dyn_map *map = NULL;
    MAPS_OK(dyn_map_create(&map, &kind, SIZE, params, 4, maps_err));
    map->params[1] = e;
    map->params[2] = t->theta;
    map->params[3] = t->real;
    dyn_branch_options o = dyn_branch_options_default();
    o.vary = "a";
    o.start = a;
    o.low = fmin(a, b);
    o.high = fmax(a, b);
    o.direction = a < b ? 1 : -1;
    o.x0 = x0;
    MAPS_OK(dyn_branch_init(out, map, &o, maps_err));
    dyn_map_destroy(map);
}

/* ---- There and back ----------------------------------------------------------------------- */

/* Steps are 0.04 of a range of 2: 0.08, which holds both crossings or is divided by one. */
static void test_crosses_and_returns(void **state)
{
    const double depths[] = {4e-4, 1e-4, 1e-6, 1e-8};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < 4; i++) {
            dyn_branch branch;
            follow(&branch, &kinds[k], depths[i], -1.0, 1.0);
            assert_int_equal(branch.n_events, 2);
            for (size_t j = 0; j < 2; j++) {
                const dyn_branch_event *event = &branch.events[j];
                const double at = TURN + (j == 0 ? -1.0 : 1.0) * sqrt(depths[i]);
                assert_int_equal(event->kind, kinds[k].event);
                assert_false(event->touch);
                /* A multiplier known to 1e-15 that moves by √e per unit of the parameter. */
                MAPS_CLOSE(event->parameter, at, 1e-8);
            }
            dyn_branch_fini(&branch);
        }
    }
}

static void test_touches(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        dyn_branch branch;
        follow(&branch, &kinds[k], 0.0, -1.0, 1.0);
        assert_int_equal(branch.n_events, 1);
        assert_int_equal(branch.events[0].kind, kinds[k].event);
        assert_true(branch.events[0].touch);
        MAPS_CLOSE(branch.events[0].parameter, TURN, 1e-7);
        dyn_branch_fini(&branch);
    }
}

/* A multiplier that turns 5e-5 before its place. */
static void test_does_not_touch(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        dyn_branch branch;
        follow(&branch, &kinds[k], -1e-4, -1.0, 1.0);
        assert_int_equal(branch.n_events, 0);
        dyn_branch_fini(&branch);
    }
}

/* ---- Ends --------------------------------------------------------------------------------- */

/* From and to each of the two critical places, on the side where nothing else happens and across
 * the other place. A first cycle that is itself a branch point is refused elsewhere. */
static void test_events_at_ends(void **state)
{
    const double places[] = {TURN - 0.3, TURN + 0.3};
    const double ends[] = {-1.0, 1.0};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < 4; i++) {
            const double place = places[i % 2];
            const double end = ends[i / 2];
            const size_t n = i == 1 || i == 2 ? 2 : 1;
            dyn_branch branch;
            follow(&branch, &kinds[k], 0.09, end, place);
            assert_int_equal(branch.n_events, n);
            MAPS_CLOSE(branch.events[n - 1].parameter, place, 1e-9);
            assert_int_equal(branch.events[n - 1].kind, kinds[k].event);
            dyn_branch_fini(&branch);
            if (kinds[k].event == DYN_BRANCH_BP) {
                continue;
            }
            follow(&branch, &kinds[k], 0.09, place, end);
            assert_int_equal(branch.n_events, n);
            MAPS_CLOSE(branch.events[0].parameter, place, 1e-9);
            assert_int_equal(branch.events[0].kind, kinds[k].event);
            dyn_branch_fini(&branch);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crosses_and_returns),
        cmocka_unit_test(test_touches),
        cmocka_unit_test(test_does_not_touch),
        cmocka_unit_test(test_events_at_ends),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
