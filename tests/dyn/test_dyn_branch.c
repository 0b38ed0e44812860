/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Branches of the classical maps: events, coefficients and other branches with closed forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_branch.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_test_maps.h"

#include <stdlib.h>

/* What was asked for is 1e-8 in parameter and state; this is what comes out. */
#define PLACE 1e-11

static dyn_branch_options range_of(const char *vary, double start, double low, double high)
{
    dyn_branch_options o = dyn_branch_options_default();
    o.vary = vary;
    o.start = start;
    o.low = low;
    o.high = high;
    return o;
}

static dyn_branch_tree follow(dyn_map *map, const dyn_branch_options *o, size_t depth)
{
    dyn_branch_tree tree;
    MAPS_OK(dyn_branch_tree_init(&tree, map, o, depth, maps_err));
    for (size_t b = 0; b < tree.n_branches; b++) {
        const dyn_branch *branch = &tree.branches[b];
        assert_true(branch->n_points > 0 && branch->start < branch->n_points);
        for (size_t i = 0; i < branch->n_points; i++) {
            const dyn_branch_point *p = &branch->points[i];
            assert_true(p->residual <= o->tol);
            assert_true(p->parameter >= o->low && p->parameter <= o->high);
            assert_true(i == 0 || p->arclength > branch->points[i - 1].arclength);
        }
        for (size_t e = 0; e < branch->n_events; e++) {
            const dyn_branch_event *event = &branch->events[e];
            assert_true(event->arclength >= branch->points[event->point].arclength);
            assert_true(event->residual <= 1e-14);
            assert_true(event->kind == DYN_BRANCH_UZ || event->distance <= 1e-7);
        }
    }
    return tree;
}

/* The event of this kind and place, whatever its order; every test says how many there are. */
static const dyn_branch_event *expect(const dyn_branch *branch, dyn_branch_event_kind kind,
                                      double parameter, double x)
{
    for (size_t e = 0; e < branch->n_events; e++) {
        const dyn_branch_event *event = &branch->events[e];
        for (size_t i = 0; i < event->period; i++) {
            if (event->kind == kind && fabs(event->parameter - parameter) <= PLACE &&
                fabs(event->states[i * branch->size] - x) <= PLACE) {
                return event;
            }
        }
    }
    fail_msg("there is no %s at %.15g, x = %.15g", dyn_branch_event_word(kind), parameter, x);
    return NULL;
}

static void assert_ends(const dyn_branch *branch, dyn_branch_end behind, dyn_branch_end ahead)
{
    if (branch->ends[0] != behind || branch->ends[1] != ahead) {
        fail_msg("the branch ends %s and %s", dyn_branch_end_word(branch->ends[0]),
                 dyn_branch_end_word(branch->ends[1]));
    }
}

/* ---- One dimension ------------------------------------------------------------------------ */

/* 1 − 1/r with multiplier 2 − r; flips at 3 and, of the 2-cycle, at 1 + √6. b = f_xx²/4 + f_xxx/6.
 */
static void test_logistic(void **state)
{
    dyn_map *map = maps_make("logistic", "r=0.7");
    dyn_branch_options o = range_of("r", 2.5, 2.5, 3.5);
    (void)state;
    dyn_branch_tree tree = follow(map, &o, 1);
    assert_int_equal(tree.n_branches, 2);
    const dyn_branch *first = &tree.branches[0];
    assert_ends(first, DYN_BRANCH_END_LOW, DYN_BRANCH_END_HIGH);
    for (size_t i = 0; i < first->n_points; i++) {
        const dyn_branch_point *p = &first->points[i];
        MAPS_CLOSE(p->states[0], 1.0 - 1.0 / p->parameter, 1e-15);
        MAPS_CLOSE(p->multipliers.blocks[0].re[0], 2.0 - p->parameter, 1e-14);
        assert_true(p->stable == (p->parameter < 3.0));
    }
    assert_true(first->points[0].parameter == 2.5);
    assert_true(first->points[first->n_points - 1].parameter == 3.5);
    assert_int_equal(first->n_events, 1);
    const dyn_branch_event *flip = expect(first, DYN_BRANCH_PD, 3.0, 2.0 / 3.0);
    MAPS_CLOSE(flip->coefficient, 9.0, 1e-6);
    assert_int_equal(flip->criticality, DYN_SUPERCRITICAL);
    MAPS_CLOSE(flip->re, -1.0, 1e-13);
    assert_true(flip->count == 1 && !flip->touch && flip->period == 1);
    const dyn_branch *second = &tree.branches[1];
    assert_true(second->period == 2 && second->parent == 0 && second->parent_event == 0);
    for (size_t i = 0; i < second->n_points; i++) {
        const double r = second->points[i].parameter;
        const double *x = second->points[i].states;
        MAPS_CLOSE(fmax(x[0], x[1]), (r + 1.0 + sqrt((r - 3.0) * (r + 1.0))) / (2.0 * r), 1e-12);
        MAPS_CLOSE(fmin(x[0], x[1]), (r + 1.0 - sqrt((r - 3.0) * (r + 1.0))) / (2.0 * r), 1e-12);
    }
    assert_int_equal(second->n_events, 1);
    assert_true(fabs(second->events[0].parameter - 3.449489742783178) <= PLACE);
    MAPS_CLOSE(map->params[0], 0.7, 0.0);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* The 3-cycle is born at 1 + √8, with orbit and multiplier; from 3.9 down, the branch turns there
 * and comes back. */
static void test_tangency(void **state)
{
    dyn_map *map = maps_make("logistic", "");
    dyn_branch_options o = range_of("r", 3.9, 3.7, 3.9);
    (void)state;
    o.period = 3;
    o.direction = -1;
    dyn_branch_tree tree = follow(map, &o, 0);
    const dyn_branch *branch = &tree.branches[0];
    assert_ends(branch, DYN_BRANCH_END_HIGH, DYN_BRANCH_END_HIGH);
    assert_int_equal(branch->n_events, 2);
    const double r = 1.0 + sqrt(8.0);
    const dyn_branch_event *fold = expect(branch, DYN_BRANCH_LP, r, 0.1599288184463);
    (void)expect(branch, DYN_BRANCH_LP, r, 0.5143552770620);
    (void)expect(branch, DYN_BRANCH_LP, r, 0.9563178419736);
    MAPS_CLOSE(fold->re, 1.0, 1e-9);
    assert_true(fold->direction == NULL);
    assert_true(branch->points[0].folds == 0 && branch->points[branch->n_points - 1].folds == 1);
    for (size_t i = 0; i < branch->n_points; i++) {
        const bool behind = branch->points[i].arclength < fold->arclength;
        assert_true(behind == (branch->points[i].slope > 0.0) || branch->points[i].slope != 0.0);
    }
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* x = 0 loses its stability to ±√(μ − 1); at μ = 2 these are ±1 and 0 is between them. */
static void test_cubic(void **state)
{
    dyn_map *map = maps_make("cubic", "");
    dyn_branch_options o = range_of("mu", 0.5, 0.5, 1.9);
    (void)state;
    dyn_branch_tree tree = follow(map, &o, 1);
    assert_int_equal(tree.n_branches, 2);
    assert_int_equal(tree.branches[0].n_events, 1);
    const dyn_branch_event *fork = expect(&tree.branches[0], DYN_BRANCH_BP, 1.0, 0.0);
    assert_true(fork->pitchfork && fork->criticality == DYN_SUPERCRITICAL);
    MAPS_CLOSE(fork->coefficient, -1.0, 1e-6);
    const dyn_branch *arms = &tree.branches[1];
    assert_ends(arms, DYN_BRANCH_END_HIGH, DYN_BRANCH_END_HIGH);
    assert_int_equal(arms->n_events, 0);
    for (size_t i = 0; i < arms->n_points; i++) {
        const dyn_branch_point *p = &arms->points[i];
        MAPS_CLOSE(p->states[0] * p->states[0], p->parameter - 1.0, 1e-13);
        assert_true(p->stable);
    }
    assert_true(arms->points[0].states[0] * arms->points[arms->n_points - 1].states[0] < 0.0);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* Flips of the well x = 1 under descent with step η, three branchings deep. */
static void test_double_well(void **state)
{
    static const double flips[] = {1.0, 1.2360679774997897, 1.288031754485, 1.299227939650};
    dyn_map *map = maps_make("double-well", "");
    dyn_branch_options o = range_of("eta", 0.6, 0.5, 1.3);
    static const double one = 1.0;
    (void)state;
    o.x0 = &one;
    dyn_branch_tree tree = follow(map, &o, 3);
    assert_int_equal(tree.n_branches, 4);
    for (size_t b = 0; b < 4; b++) {
        const dyn_branch *branch = &tree.branches[b];
        assert_true(branch->period == (size_t)1 << b && branch->n_events == 1);
        assert_int_equal(branch->events[0].kind, DYN_BRANCH_PD);
        /* The last two are known to 12 digits. */
        MAPS_CLOSE(branch->events[0].parameter, flips[b], b < 2 ? PLACE : 1e-11);
        assert_int_equal(branch->events[0].criticality, DYN_SUPERCRITICAL);
    }
    MAPS_CLOSE(tree.branches[0].events[0].coefficient, 8.0, 1e-6);
    (void)expect(&tree.branches[1], DYN_BRANCH_PD, sqrt(5.0) - 1.0, sqrt(0.5));
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* Descent on a quadratic flips at η = 2/λ, the largest λ first; equal ones flip together. */
static void test_quadratic(void **state)
{
    dyn_map *map = maps_make("quadratic", "lambda=1,4,2.5,4");
    dyn_branch_options o = range_of("eta", 0.1, 0.1, 1.0);
    (void)state;
    dyn_branch_tree tree = follow(map, &o, 0);
    assert_int_equal(tree.branches[0].n_events, 2);
    const dyn_branch_event *pair = expect(&tree.branches[0], DYN_BRANCH_PD, 0.5, 0.0);
    const dyn_branch_event *one = expect(&tree.branches[0], DYN_BRANCH_PD, 0.8, 0.0);
    assert_true(pair->count == 2 && isnan(pair->coefficient) && pair->direction == NULL);
    assert_true(pair->normal_status == KERN_SINGULAR);
    /* A linear map has no cubic term to decide. */
    assert_true(one->count == 1 && one->criticality == DYN_CRITICALITY_UNSURE);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* ---- The plane ---------------------------------------------------------------------------- */

static void test_henon(void **state)
{
    dyn_map *map = maps_make("henon", "b=0.3");
    dyn_branch_options o = range_of("a", 0.2, -0.2, 1.2);
    (void)state;
    dyn_branch_tree tree = follow(map, &o, 1);
    const dyn_branch *first = &tree.branches[0];
    assert_int_equal(tree.n_branches, 2);
    assert_int_equal(first->n_events, 2);
    /* At the fold x = −(1 − b)/2a. */
    const dyn_branch_event *fold = expect(first, DYN_BRANCH_LP, -0.1225, 0.35 / 0.1225);
    const dyn_branch_event *flip = expect(first, DYN_BRANCH_PD, 0.3675, 0.7 / (2.0 * 0.3675));
    assert_true(fold->criticality == DYN_CRITICALITY_NONE);
    assert_int_equal(flip->criticality, DYN_SUPERCRITICAL);
    MAPS_CLOSE(flip->states[1], 0.3 * flip->states[0], PLACE);
    assert_int_equal(tree.branches[1].n_events, 1);
    MAPS_CLOSE(tree.branches[1].events[0].parameter, 0.9125, PLACE);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* x' = y, y' = α − βx − y² at α = 1. */
static void test_henon2(void **state)
{
    dyn_map *map = maps_make("henon2", "alpha=1");
    dyn_branch_options o = range_of("beta", 0.5, -0.5, 1.5);
    (void)state;
    dyn_branch_tree tree = follow(map, &o, 0);
    assert_int_equal(tree.branches[0].n_events, 2);
    (void)expect(&tree.branches[0], DYN_BRANCH_PD, 2.0 / sqrt(3.0) - 1.0, 1.0 / sqrt(3.0));
    const dyn_branch_event *ns = expect(&tree.branches[0], DYN_BRANCH_NS, 1.0, sqrt(2.0) - 1.0);
    /* Trace −2x and determinant 1. */
    MAPS_CLOSE(ns->re, 1.0 - sqrt(2.0), PLACE);
    /* The map preserves area at β = 1. */
    assert_int_equal(ns->criticality, DYN_CRITICALITY_UNSURE);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

static void test_delayed_logistic(void **state)
{
    dyn_map *map = maps_make("delayed-logistic", "");
    dyn_branch_options o = range_of("r", 1.6, 1.5, 2.2);
    (void)state;
    dyn_branch_tree tree = follow(map, &o, 3);
    assert_int_equal(tree.n_branches, 1);
    assert_int_equal(tree.branches[0].n_events, 1);
    const dyn_branch_event *ns = expect(&tree.branches[0], DYN_BRANCH_NS, 2.0, 0.5);
    MAPS_CLOSE(ns->angle, 1.0471975511965976, 1e-12);
    MAPS_CLOSE(ns->coefficient, -1.0, 1e-8);
    assert_int_equal(ns->criticality, DYN_SUPERCRITICAL);
    assert_true(ns->direction == NULL && ns->im > 0.0);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* BP at μ = 3 for all ρ, PD at 1 + 2/ρ, and NS on both asymmetric arms at 1 + √(4 + 2/ρ). */
static void test_kopel(void **state)
{
    static const char *const rhos[] = {"rho=0.5", "rho=0.7", "rho=0.9"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        dyn_map *map = maps_make("kopel", rhos[i]);
        const double rho = 0.5 + 0.2 * (double)i;
        dyn_branch_options o = range_of("mu", 1.6, 1.5, 5.5);
        dyn_branch_tree tree = follow(map, &o, 1);
        const dyn_branch *symmetric = &tree.branches[0];
        assert_int_equal(symmetric->n_events, 2);
        const dyn_branch_event *fork = expect(symmetric, DYN_BRANCH_BP, 3.0, 2.0 / 3.0);
        assert_true(fork->pitchfork && fork->criticality == DYN_SUPERCRITICAL);
        const double flip = 1.0 + 2.0 / rho;
        (void)expect(symmetric, DYN_BRANCH_PD, flip, 1.0 - 1.0 / flip);
        const dyn_branch *arms = &tree.branches[1];
        assert_true(arms->parent_event == 0 && arms->period == 1);
        size_t turns = 0;
        for (size_t e = 0; e < arms->n_events; e++) {
            if (arms->events[e].kind == DYN_BRANCH_NS) {
                MAPS_CLOSE(arms->events[e].parameter, 1.0 + sqrt(4.0 + 2.0 / rho), PLACE);
                turns++;
            }
        }
        assert_int_equal(turns, 2);
        if (i == 1) {
            const dyn_branch_event *ns =
                expect(arms, DYN_BRANCH_NS, 3.618614682831909, 0.4046170192239401);
            MAPS_CLOSE(ns->states[1], 0.871731829064434, PLACE);
        }
        dyn_branch_tree_fini(&tree);
        dyn_map_destroy(map);
    }
}

/* On the circle fixed points exist for |Ω| ≤ k/2π; followed round the circle they are one closed
 * curve with a fold at either end. */
static void test_circle(void **state)
{
    dyn_map *map = maps_make("circle", "k=0.8");
    dyn_branch_options o = range_of("omega", 0.0, -0.5, 0.5);
    static const double start = 0.02;
    (void)state;
    o.x0 = &start;
    dyn_branch_tree tree = follow(map, &o, 0);
    const dyn_branch *branch = &tree.branches[0];
    assert_ends(branch, DYN_BRANCH_END_CLOSED, DYN_BRANCH_END_CLOSED);
    assert_int_equal(branch->n_events, 2);
    for (size_t e = 0; e < 2; e++) {
        assert_int_equal(branch->events[e].kind, DYN_BRANCH_LP);
        MAPS_CLOSE(fabs(branch->events[e].parameter), 0.8 / 6.283185307179586, PLACE);
    }
    MAPS_CLOSE(branch->events[0].parameter, -branch->events[1].parameter, PLACE);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* Area is preserved: the pair of the elliptic point (π, 0) is on the circle all along, which is no
 * Neimark–Sacker point, until it meets at −1 when k = 4. */
static void test_standard(void **state)
{
    dyn_map *map = maps_make("standard", "");
    dyn_branch_options o = range_of("k", 1.0, 0.5, 5.0);
    const double pi = 3.141592653589793238;
    const double x0[2] = {pi, 0.0};
    (void)state;
    o.x0 = x0;
    dyn_branch_tree tree = follow(map, &o, 1);
    const dyn_branch *branch = &tree.branches[0];
    assert_int_equal(branch->n_events, 1);
    (void)expect(branch, DYN_BRANCH_PD, 4.0, pi);
    assert_true(tree.n_branches == 2 && tree.branches[1].period == 2);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* Equal options, equal bits. */
static void test_repeats(void **state)
{
    dyn_map *map = maps_make("kopel", "rho=0.7");
    dyn_branch_options o = range_of("mu", 1.6, 1.5, 4.0);
    (void)state;
    dyn_branch_tree a = follow(map, &o, 1);
    dyn_branch_tree b = follow(map, &o, 1);
    assert_int_equal(a.n_branches, b.n_branches);
    for (size_t i = 0; i < a.n_branches; i++) {
        const dyn_branch *one = &a.branches[i];
        const dyn_branch *two = &b.branches[i];
        assert_true(one->n_points == two->n_points && one->n_events == two->n_events);
        for (size_t j = 0; j < one->n_points; j++) {
            assert_memory_equal(one->points[j].states, two->points[j].states,
                                one->period * one->size * sizeof(double));
        }
        for (size_t j = 0; j < one->n_events; j++) {
            assert_true(one->events[j].parameter == two->events[j].parameter);
        }
    }
    dyn_branch_tree_fini(&a);
    dyn_branch_tree_fini(&b);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logistic),  cmocka_unit_test(test_tangency),
        cmocka_unit_test(test_cubic),     cmocka_unit_test(test_double_well),
        cmocka_unit_test(test_quadratic), cmocka_unit_test(test_henon),
        cmocka_unit_test(test_henon2),    cmocka_unit_test(test_delayed_logistic),
        cmocka_unit_test(test_kopel),     cmocka_unit_test(test_circle),
        cmocka_unit_test(test_standard),  cmocka_unit_test(test_repeats),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
