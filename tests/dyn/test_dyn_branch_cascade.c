/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The period-doubling cascade of the logistic map, to cycles of 2048 states, by switching from
 * branch to branch; and the superstable cycles on it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_branch.h"
#include "dyn/dyn_normal_form.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_test_maps.h"

enum { DEPTH = 11 };

/* Flips of the cycles of 1, 2, 4, … states. */
static const double flips[] = {3.0,
                               3.449489742783178,
                               3.544090359551923,
                               3.564407266095433,
                               3.568759419543826,
                               3.569691609801397,
                               3.569891259378120,
                               3.569934018373976,
                               3.569943176048402,
                               3.569945137342170,
                               3.569945557391249};

static const double superstable[] = {2.0, 1.0 + 2.23606797749978969641, 3.4985616993277,
                                     3.5546408627688, 3.5666673798563};

/* The multiplier, which is 0 at a superstable cycle. */
static double multiplier(void *context, double parameter, const double *states,
                         const dyn_multipliers *m)
{
    (void)context;
    (void)parameter;
    (void)states;
    return m->status == KERN_OK ? m->blocks[0].re[0] : (double)NAN;
}

static int follow(void **state)
{
    static dyn_branch_tree tree;
    dyn_map *map = maps_make("logistic", "");
    dyn_branch_options o = dyn_branch_options_default();
    o.vary = "r";
    o.start = o.low = 1.5;
    o.high = 3.57;
    o.monitor = multiplier;
    MAPS_OK(dyn_branch_tree_init(&tree, map, &o, DEPTH, maps_err));
    dyn_map_destroy(map);
    *state = &tree;
    return 0;
}

static int release(void **state)
{
    dyn_branch_tree_fini(*state);
    return 0;
}

static const dyn_branch_event *find(const dyn_branch *branch, dyn_branch_event_kind kind)
{
    for (size_t e = 0; e < branch->n_events; e++) {
        if (branch->events[e].kind == kind) {
            return &branch->events[e];
        }
    }
    fail_msg("a cycle of %zu states has no %s", branch->period, dyn_branch_event_word(kind));
    return NULL;
}

/* Every branch ends at 3.57, beyond the cascade, having flipped once. */
static void test_flips(void **state)
{
    const dyn_branch_tree *tree = *state;
    assert_int_equal(tree->n_branches, DEPTH + 1);
    assert_int_equal(tree->n_failed, 0);
    for (size_t k = 0; k < DEPTH; k++) {
        const dyn_branch *branch = &tree->branches[k];
        assert_true(branch->period == (size_t)1 << k && branch->depth == k);
        assert_true(branch->ends[1] == DYN_BRANCH_END_HIGH && branch->n_events == 2);
        /* Tables give 16 digits; the multiplier changes by up to 1e7 for 1 of r, so that −1 is
         * met within rounding of r. */
        MAPS_CLOSE(find(branch, DYN_BRANCH_PD)->parameter, flips[k], 1e-13);
        MAPS_CLOSE(find(branch, DYN_BRANCH_PD)->re, -1.0, 1e-7);
    }
}

/* δ and r∞ from the last three. */
static void test_constants(void **state)
{
    const dyn_branch_tree *tree = *state;
    double r[3];
    for (size_t i = 0; i < 3; i++) {
        r[i] = find(&tree->branches[DEPTH - 3 + i], DYN_BRANCH_PD)->parameter;
    }
    MAPS_CLOSE((r[1] - r[0]) / (r[2] - r[1]), 4.669201609102991, 1e-5);
    const double limit = r[2] + (r[2] - r[1]) * (r[2] - r[1]) / ((r[1] - r[0]) - (r[2] - r[1]));
    MAPS_CLOSE(limit, 3.569945671870945, 1e-12);
}

static void test_superstable(void **state)
{
    const dyn_branch_tree *tree = *state;
    for (size_t k = 0; k < sizeof superstable / sizeof superstable[0]; k++) {
        const dyn_branch_event *event = find(&tree->branches[k], DYN_BRANCH_UZ);
        double nearest = 1.0;
        MAPS_CLOSE(event->parameter, superstable[k], k < 2 ? 1e-13 : 1e-10);
        for (size_t i = 0; i < event->period; i++) {
            nearest = fmin(nearest, fabs(event->states[i] - 0.5));
        }
        MAPS_CLOSE(nearest, 0.0, 1e-12);
    }
}

/* Distance from the critical point ½ to the nearest other state of a superstable cycle, which is
 * half a turn away. */
static double nearest_gap(const dyn_branch_event *event)
{
    const size_t period = event->period;
    size_t critical = 0;
    for (size_t i = 0; i < period; i++) {
        if (fabs(event->states[i] - 0.5) < fabs(event->states[critical] - 0.5)) {
            critical = i;
        }
    }
    return event->states[(critical + period / 2) % period] - event->states[critical];
}

/* Its ratio from one doubling to the next tends to −α. */
static void test_alpha(void **state)
{
    const dyn_branch_tree *tree = *state;
    const double wide = nearest_gap(find(&tree->branches[8], DYN_BRANCH_UZ));
    const double narrow = nearest_gap(find(&tree->branches[9], DYN_BRANCH_UZ));
    MAPS_CLOSE(wide / narrow, -2.502907875095893, 1e-5);
}

/* The state of a cycle that is nearest the critical point ½. */
static size_t nearest_critical(const dyn_branch_event *event)
{
    size_t nearest = 0;
    for (size_t i = 0; i < event->period; i++) {
        if (fabs(event->states[i] - 0.5) < fabs(event->states[nearest] - 0.5)) {
            nearest = i;
        }
    }
    return nearest;
}

/* All flips are supercritical: b > 0 follows from the negative Schwarzian derivative of the map. At
 * the state nearest ½ the iterates look alike after a change of scale by α, and b, whose unit is
 * 1/x², grows by α² from one doubling to the next, but for corrections of order δ^{−k}; those of
 * rounding grow as α^{2k} ε. */
static void test_coefficients(void **state)
{
    const dyn_branch_tree *tree = *state;
    dyn_map *map = maps_make("logistic", "");
    double before = 0.0;
    for (size_t k = 0; k < DEPTH; k++) {
        const dyn_branch_event *event = find(&tree->branches[k], DYN_BRANCH_PD);
        dyn_normal *normal = NULL;
        dyn_normal_form form;
        map->params[0] = event->parameter;
        MAPS_OK(dyn_normal_create(&normal, map, event->period, maps_err));
        dyn_normal_find(normal, event->states + nearest_critical(event), DYN_NORMAL_PD, (double)NAN,
                        &form);
        dyn_normal_destroy(normal);
        assert_int_equal(form.status, KERN_OK);
        assert_int_equal(form.criticality, DYN_SUPERCRITICAL);
        assert_true(form.coefficient > 1e3 * form.error);
        assert_int_equal(event->criticality, DYN_SUPERCRITICAL);
        if (k >= 4) {
            MAPS_CLOSE(form.coefficient / before, 2.502907875095893 * 2.502907875095893, 2e-2);
        }
        before = form.coefficient;
    }
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flips),        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_superstable),  cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_coefficients),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, follow, release);
}
