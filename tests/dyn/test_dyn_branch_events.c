/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Events of maps made for it: every kind in rotated coordinates of three dimensions with known
 * coefficients, multipliers that touch without crossing, things that are no events, ends of
 * branches, and starts that are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_branch.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_fault_maps.h"
#include "tests/dyn/dyn_test_maps.h"

#include <stdlib.h>

#define PLACE 1e-10

/* ---- Maps --------------------------------------------------------------------------------- */

/* z' = Q g(Qᵀ z; m): the rule works on w = Qᵀ z with m = λ − shift. Its coordinate 0 is critical;
 * 1 and 2 are driven by it and contract, or take part. */
typedef struct rule {
    void (*image)(double m, const double *w, double *out);
    void (*jacobian)(double m, const double *w, double *j); /* 3 × 3 */
} rule;

static const double rotation[9] = {2.0 / 3.0,  -1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0,
                                   -1.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0};
static const dyn_param params[] = {{"lambda", 0.0, "the parameter"},
                                   {"shift", 0.0, "where it is critical"}};

static void apply(const double *matrix, bool transpose, const double *v, double *out)
{
    for (size_t i = 0; i < 3; i++) {
        out[i] = 0.0;
        for (size_t j = 0; j < 3; j++) {
            out[i] += matrix[transpose ? j * 3 + i : i * 3 + j] * v[j];
        }
    }
}

static void step(dyn_map *map, const double *x, double *y)
{
    const rule *r = map->data;
    double w[3];
    double image[3];
    apply(rotation, true, x, w);
    r->image(map->params[0] - map->params[1], w, image);
    apply(rotation, false, image, y);
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const rule *r = map->data;
    double w[3];
    double t[3];
    double j[9];
    double out[3];
    apply(rotation, true, x, w);
    apply(rotation, true, v, t);
    r->jacobian(map->params[0] - map->params[1], w, j);
    if (y != NULL) {
        step(map, x, y);
    }
    apply(j, false, t, out);
    apply(rotation, false, out, jv);
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    KERN_TRY(dyn_map_create_like(out, map, err));
    (*out)->data = map->data;
    return KERN_OK;
}

static const dyn_map_kind kind = {
    .name = "rotated", .formula = "Q g(Q' z)", .step = step, .jvp = jvp, .clone = clone};

static dyn_map *make(rule *r, double shift)
{
    dyn_map *map = NULL;
    MAPS_OK(dyn_map_create(&map, &kind, 3, params, 2, maps_err));
    map->data = r;
    map->params[1] = shift;
    return map;
}

/* Coordinates 1 and 2, driven by coordinate 0. */
static void drive(const double *w, double *out)
{
    out[1] = 0.4 * w[1] + 0.3 * w[0] * w[0];
    out[2] = -0.6 * w[2] + w[0] * w[1];
}

static void drive_jacobian(const double *w, double slope, double *j)
{
    const double rows[9] = {slope, 0.0, 0.0, 0.6 * w[0], 0.4, 0.0, w[1], w[0], -0.6};
    memcpy(j, rows, sizeof rows);
}

/* A rule whose coordinate 0 follows f(m, x) with slope f'(m, x). */
#define SCALAR_RULE(name, value, slope)                                                            \
    static void name##_image(double m, const double *w, double *out)                               \
    {                                                                                              \
        const double x = w[0];                                                                     \
        drive(w, out);                                                                             \
        out[0] = (value);                                                                          \
    }                                                                                              \
    static void name##_jacobian(double m, const double *w, double *j)                              \
    {                                                                                              \
        const double x = w[0];                                                                     \
        (void)m;                                                                                   \
        (void)x;                                                                                   \
        drive_jacobian(w, (slope), j);                                                             \
    }                                                                                              \
    static rule name = {name##_image, name##_jacobian}

SCALAR_RULE(fold, x + m + 0.7 * x * x, 1.0 + 1.4 * x);
SCALAR_RULE(crossing, x + m * x - 0.7 * x * x, 1.0 + m - 1.4 * x);
SCALAR_RULE(pitchfork, x + m * x - 0.7 * x * x * x, 1.0 + m - 2.1 * x * x);
SCALAR_RULE(turned_pitchfork, x + m * x + 0.7 * x * x * x, 1.0 + m + 2.1 * x * x);
SCALAR_RULE(flip, -(1.0 + m) * x + 0.7 * x * x * x, -(1.0 + m) + 2.1 * x * x);
SCALAR_RULE(bubble, -(1.0 + 0.4 * m * (1.0 - m)) * x + 0.7 * x * x * x,
            -(1.0 + 0.4 * m * (1.0 - m)) + 2.1 * x * x);
SCALAR_RULE(touch_one, x - m * m * x, 1.0 - m * m);
SCALAR_RULE(touch_flip, -(1.0 - m * m) * x, -(1.0 - m * m));
SCALAR_RULE(inflection, x + m - 0.3 * x * x * x, 1.0 - 0.9 * x * x);
SCALAR_RULE(island, x + 0.3 * (x * x + m * m - 1.0), 1.0 + 0.6 * x);
SCALAR_RULE(edge, 0.5 * x + 0.5 * sqrt(m), 0.5);

/* Coordinates 1 and 2 turn by 1 radian and are scaled by `radius`. */
static void turn(double radius, const double *w, double *out)
{
    out[0] = 0.5 * w[0];
    out[1] = radius * (cos(1.0) * w[1] - sin(1.0) * w[2]);
    out[2] = radius * (sin(1.0) * w[1] + cos(1.0) * w[2]);
}

static void turn_jacobian(double radius, double *j)
{
    const double c = radius * cos(1.0);
    const double s = radius * sin(1.0);
    const double rows[9] = {0.5, 0.0, 0.0, 0.0, c, -s, 0.0, s, c};
    memcpy(j, rows, sizeof rows);
}

static void touch_circle_image(double m, const double *w, double *out)
{
    turn(1.0 - m * m, w, out);
}

static void touch_circle_jacobian(double m, const double *w, double *j)
{
    (void)w;
    turn_jacobian(1.0 - m * m, j);
}

static rule touch_circle = {touch_circle_image, touch_circle_jacobian};

/* Multipliers 2 + m and 1/2 whose product passes 1, a pair √(1.5 ± √m) that is complex below m = 0
 * and outside the circle on both sides. */
static void saddle_image(double m, const double *w, double *out)
{
    out[0] = 0.5 * w[0];
    out[1] = 1.5 * w[1] + m * w[2];
    out[2] = w[1] + 1.5 * w[2];
}

static void saddle_jacobian(double m, const double *w, double *j)
{
    const double rows[9] = {0.5, 0.0, 0.0, 0.0, 1.5, m, 0.0, 1.0, 1.5};
    (void)w;
    memcpy(j, rows, sizeof rows);
}

static rule saddle = {saddle_image, saddle_jacobian};

static void neutral_image(double m, const double *w, double *out)
{
    out[0] = (2.0 + m) * w[0];
    out[1] = 0.5 * w[1] + w[0] * w[0];
    out[2] = -0.3 * w[2];
}

static void neutral_jacobian(double m, const double *w, double *j)
{
    const double rows[9] = {2.0 + m, 0.0, 0.0, 2.0 * w[0], 0.5, 0.0, 0.0, 0.0, -0.3};
    memcpy(j, rows, sizeof rows);
}

static rule neutral = {neutral_image, neutral_jacobian};

/* ---- Following ---------------------------------------------------------------------------- */

static const double origin[3] = {0.0, 0.0, 0.0};

/* From `start` both ways, with x0 = Q (w, 0, 0) or nearly so. */
static dyn_branch_tree follow(dyn_map *map, double start, double low, double high, double w,
                              size_t depth)
{
    dyn_branch_options o = dyn_branch_options_default();
    dyn_branch_tree tree;
    const double at[3] = {w, 0.5 * w * w, 0.3 * w * w * w};
    double x0[3];
    apply(rotation, false, at, x0);
    o.vary = "lambda";
    o.start = start;
    o.low = low;
    o.high = high;
    o.x0 = x0;
    MAPS_OK(dyn_branch_tree_init(&tree, map, &o, depth, maps_err));
    return tree;
}

/* The only event of a branch: its kind, parameter and critical coordinate. */
static const dyn_branch_event *only(const dyn_branch *branch, dyn_branch_event_kind what,
                                    double parameter, double coordinate)
{
    double w[3];
    assert_int_equal(branch->n_events, 1);
    const dyn_branch_event *event = &branch->events[0];
    assert_string_equal(dyn_branch_event_word(event->kind), dyn_branch_event_word(what));
    MAPS_CLOSE(event->parameter, parameter, PLACE);
    apply(rotation, true, event->states, w);
    MAPS_CLOSE(w[0], coordinate, PLACE);
    return event;
}

/* ---- Kinds -------------------------------------------------------------------------------- */

static void test_fold(void **state)
{
    dyn_map *map = make(&fold, 0.3);
    dyn_branch_tree tree = follow(map, -0.5, -0.6, 0.6, -1.0, 1);
    (void)state;
    assert_int_equal(tree.n_branches, 1);
    const dyn_branch_event *e = only(&tree.branches[0], DYN_BRANCH_LP, 0.3, 0.0);
    MAPS_CLOSE(fabs(e->coefficient), 0.7, 1e-6);
    assert_true(e->criticality == DYN_CRITICALITY_NONE && !e->touch);
    assert_int_equal(tree.branches[0].ends[1], DYN_BRANCH_END_LOW);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

static void test_transcritical(void **state)
{
    dyn_map *map = make(&crossing, 0.3);
    dyn_branch_tree tree = follow(map, -0.5, -0.6, 0.9, 0.0, 1);
    (void)state;
    assert_int_equal(tree.n_branches, 2);
    const dyn_branch_event *e = only(&tree.branches[0], DYN_BRANCH_BP, 0.3, 0.0);
    assert_true(!e->pitchfork && e->criticality == DYN_CRITICALITY_NONE);
    MAPS_CLOSE(fabs(e->coefficient), 0.7, 1e-6);
    /* The other branch is x = m/0.7, which passes the point both ways. */
    const dyn_branch *other = &tree.branches[1];
    assert_int_equal(other->n_events, 0);
    assert_true(other->points[0].parameter * other->points[other->n_points - 1].parameter < 0.0);
    for (size_t i = 0; i < other->n_points; i++) {
        double w[3];
        apply(rotation, true, other->points[i].states, w);
        MAPS_CLOSE(w[0], (other->points[i].parameter - 0.3) / 0.7, 1e-12);
    }
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

static void test_pitchfork(void **state)
{
    rule *const rules[] = {&pitchfork, &turned_pitchfork};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        dyn_map *map = make(rules[i], 0.3);
        dyn_branch_tree tree = follow(map, -0.5, -0.6, 0.9, 0.0, 1);
        assert_int_equal(tree.n_branches, 2);
        const dyn_branch_event *e = only(&tree.branches[0], DYN_BRANCH_BP, 0.3, 0.0);
        assert_true(e->pitchfork);
        MAPS_CLOSE(e->coefficient, i == 0 ? -0.7 : 0.7, 1e-6);
        assert_int_equal(e->criticality, i == 0 ? DYN_SUPERCRITICAL : DYN_SUBCRITICAL);
        const dyn_branch_end end = i == 0 ? DYN_BRANCH_END_HIGH : DYN_BRANCH_END_LOW;
        assert_true(tree.branches[1].ends[0] == end && tree.branches[1].ends[1] == end);
        assert_int_equal(tree.branches[1].n_events, 0);
        dyn_branch_tree_fini(&tree);
        dyn_map_destroy(map);
    }
}

/* Along an arm the parameter turns at the pitchfork and the multiplier touches 1: a branch point,
 * no fold. The stem leaves there. */
static void test_side_branch(void **state)
{
    dyn_map *map = make(&pitchfork, 0.3);
    dyn_branch_tree tree = follow(map, 0.9, -0.6, 1.0, sqrt(0.6 / 0.7), 1);
    (void)state;
    assert_int_equal(tree.n_branches, 2);
    const dyn_branch_event *e = only(&tree.branches[0], DYN_BRANCH_BP, 0.3, 0.0);
    assert_true(e->pitchfork && e->criticality == DYN_SUPERCRITICAL);
    const dyn_branch *arms = &tree.branches[0];
    assert_true(arms->ends[0] == DYN_BRANCH_END_HIGH && arms->ends[1] == DYN_BRANCH_END_HIGH);
    const dyn_branch *stem = &tree.branches[1];
    assert_int_equal(stem->n_events, 0);
    for (size_t i = 0; i < stem->n_points; i++) {
        MAPS_CLOSE(dyn_map_distance(map, stem->points[i].states, origin), 0.0, 1e-14);
        assert_true(stem->points[i].stable == (stem->points[i].parameter < 0.3));
    }
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

static void test_flip(void **state)
{
    dyn_map *map = make(&flip, 0.3);
    dyn_branch_tree tree = follow(map, -0.5, -0.6, 0.9, 0.0, 1);
    (void)state;
    assert_int_equal(tree.n_branches, 2);
    const dyn_branch_event *e = only(&tree.branches[0], DYN_BRANCH_PD, 0.3, 0.0);
    MAPS_CLOSE(e->coefficient, 0.7, 1e-6);
    assert_int_equal(e->criticality, DYN_SUPERCRITICAL);
    const dyn_branch *pair = &tree.branches[1];
    assert_true(pair->period == 2 && pair->ends[1] == DYN_BRANCH_END_HIGH);
    for (size_t i = 0; i < pair->n_points; i++) {
        double w[3];
        apply(rotation, true, pair->points[i].states, w);
        MAPS_CLOSE(w[0] * w[0], (pair->points[i].parameter - 0.3) / 0.7, 1e-12);
    }
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* A cycle is born at one flip and dies at another: the branch ends there, as a flip of the fixed
 * point, and is followed once. */
static void test_bubble(void **state)
{
    dyn_map *map = make(&bubble, 0.1);
    dyn_branch_tree tree = follow(map, -0.5, -0.6, 1.7, 0.0, 3);
    (void)state;
    assert_true(tree.n_branches == 2 && tree.n_failed == 1);
    assert_int_equal(tree.branches[0].n_events, 2);
    MAPS_CLOSE(tree.branches[0].events[0].parameter, 0.1, PLACE);
    MAPS_CLOSE(tree.branches[0].events[1].parameter, 1.1, PLACE);
    const dyn_branch *cycle = &tree.branches[1];
    assert_true(cycle->ends[1] == DYN_BRANCH_END_HALVED && cycle->period == 2);
    const dyn_branch_event *e = only(cycle, DYN_BRANCH_PD, 1.1, 0.0);
    assert_true(e->period == 1 && e->direction == NULL);
    MAPS_CLOSE(e->re, -1.0, 1e-9);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* ---- Touches ------------------------------------------------------------------------------ */

static void test_touches(void **state)
{
    static const struct {
        rule *r;
        dyn_branch_event_kind kind;
    } cases[] = {{&touch_one, DYN_BRANCH_BP},
                 {&touch_flip, DYN_BRANCH_PD},
                 {&touch_circle, DYN_BRANCH_NS},
                 {&inflection, DYN_BRANCH_LP}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = make(cases[i].r, 0.123);
        const double w = cases[i].kind == DYN_BRANCH_LP ? -cbrt(0.623 / 0.3) : 0.0;
        dyn_branch_tree tree = follow(map, -0.5, -0.6, 0.9, w, 1);
        const dyn_branch_event *e = only(&tree.branches[0], cases[i].kind, 0.123, 0.0);
        assert_true(e->touch && e->distance <= 1e-12 && e->direction == NULL);
        assert_true(tree.n_branches == 1 && tree.branches[0].ends[1] == DYN_BRANCH_END_HIGH);
        dyn_branch_tree_fini(&tree);
        dyn_map_destroy(map);
    }
}

/* A step that ends exactly on the touch. */
static void test_touch_at_point(void **state)
{
    rule *const rules[] = {&touch_flip, &touch_circle};
    dyn_branch_options o = dyn_branch_options_default();
    dyn_branch branch;
    (void)state;
    o.vary = "lambda";
    o.start = -0.25;
    o.low = -0.5;
    o.high = 0.5;
    o.x0 = origin;
    o.step = o.step_min = o.step_max = 0.0625;
    for (size_t i = 0; i < 2; i++) {
        dyn_map *map = make(rules[i], 0.0);
        MAPS_OK(dyn_branch_init(&branch, map, &o, maps_err));
        bool met = false;
        for (size_t j = 0; j < branch.n_points; j++) {
            met = met || branch.points[j].parameter == 0.0;
        }
        assert_true(met);
        assert_true(branch.n_events == 1 && branch.events[0].touch);
        MAPS_CLOSE(branch.events[0].parameter, 0.0, PLACE);
        dyn_branch_fini(&branch);
        dyn_map_destroy(map);
    }
}

/* ---- No events ---------------------------------------------------------------------------- */

/* A complex pair that becomes two real multipliers outside the circle, and real ones whose product
 * passes 1, are nothing. */
static void test_no_events(void **state)
{
    rule *const rules[] = {&saddle, &neutral};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        dyn_map *map = make(rules[i], 0.0);
        dyn_branch_tree tree = follow(map, -0.2, -0.2, 0.2, 0.0, 1);
        assert_int_equal(tree.branches[0].n_events, 0);
        assert_int_equal(tree.branches[0].ends[1], DYN_BRANCH_END_HIGH);
        dyn_branch_tree_fini(&tree);
        dyn_map_destroy(map);
    }
}

/* ---- Ends --------------------------------------------------------------------------------- */

/* x² + m² = 1: closed, folded at m = ±1. */
static void test_island(void **state)
{
    dyn_map *map = make(&island, 0.1);
    dyn_branch_tree tree = follow(map, 0.15, -2.0, 2.0, -1.0, 1);
    const dyn_branch *branch = &tree.branches[0];
    (void)state;
    assert_true(branch->ends[0] == DYN_BRANCH_END_CLOSED && branch->ends[1] == branch->ends[0]);
    assert_int_equal(branch->n_events, 2);
    for (size_t e = 0; e < 2; e++) {
        assert_int_equal(branch->events[e].kind, DYN_BRANCH_LP);
        MAPS_CLOSE(fabs(branch->events[e].parameter - 0.1), 1.0, PLACE);
    }
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

/* √m ends at m = 0; what has been followed is kept. A box ends a branch at its face; few points end
 * it early. */
static void test_ends(void **state)
{
    dyn_map *map = make(&edge, 0.0);
    dyn_branch_options o = dyn_branch_options_default();
    const double low[3] = {-9.0, -9.0, -9.0};
    const double high[3] = {0.5, 9.0, 9.0};
    dyn_branch branch;
    (void)state;
    o.vary = "lambda";
    o.start = 0.25;
    o.low = -1.0;
    o.high = 1.0;
    o.box_low = low;
    o.box_high = high;
    MAPS_OK(dyn_branch_init(&branch, map, &o, maps_err));
    assert_int_equal(branch.ends[0], DYN_BRANCH_END_STEP);
    assert_int_equal(branch.ends[1], DYN_BRANCH_END_BOX);
    assert_true(branch.points[0].parameter < 1e-3 && branch.points[0].parameter >= 0.0);
    MAPS_CLOSE(branch.points[branch.n_points - 1].states[0], 0.5, 1e-12);
    dyn_branch_fini(&branch);
    o.max_points = 3;
    o.direction = -1;
    MAPS_OK(dyn_branch_init(&branch, map, &o, maps_err));
    assert_int_equal(branch.ends[1], DYN_BRANCH_END_POINTS);
    assert_true(branch.n_points == 4 && branch.start == 0);
    assert_true(branch.points[3].parameter < 0.25 && branch.points[3].arclength > 0.0);
    dyn_branch_fini(&branch);
    dyn_map_destroy(map);
}

static bool stop(void *context, size_t done, size_t total)
{
    (void)total;
    return ++*(size_t *)context < 3 && done > 0;
}

/* ---- Refusals ----------------------------------------------------------------------------- */

static void refuse(dyn_map *map, const dyn_branch_options *o, kern_status status, const char *part)
{
    dyn_branch branch;
    kern_error err = {0};
    assert_int_equal(dyn_branch_init(&branch, map, o, &err), status);
    maps_error(&err, status, part);
    dyn_branch_fini(&branch);
}

static void test_refusals(void **state)
{
    dyn_map *map = make(&fold, 0.0);
    dyn_branch_options o = dyn_branch_options_default();
    size_t calls = 0;
    (void)state;
    o.vary = "mu";
    o.start = o.low = -1.0;
    o.high = 1.0;
    refuse(map, &o, KERN_INVALID_ARGUMENT, "lambda");
    o.vary = "lambda";
    o.high = -1.0;
    refuse(map, &o, KERN_INVALID_ARGUMENT, "from -1 to -1");
    o.high = (double)NAN;
    refuse(map, &o, KERN_INVALID_ARGUMENT, "from -1 to nan");
    o.high = 1.0;
    o.start = 2.0;
    refuse(map, &o, KERN_INVALID_ARGUMENT, "start at lambda = 2");
    o.start = -1.0;
    o.period = 0;
    refuse(map, &o, KERN_INVALID_ARGUMENT, "cycles of 0 states");
    o.period = (size_t)1 << 40;
    refuse(map, &o, KERN_INVALID_ARGUMENT, "at most");
    o.period = 1;
    o.tol = (double)NAN;
    refuse(map, &o, KERN_INVALID_ARGUMENT, "tolerance is nan");
    o.tol = 1e-11;
    o.step_max = 1e-3;
    refuse(map, &o, KERN_INVALID_ARGUMENT, "0.001 at most");
    o.step_max = 0.1;
    o.progress = stop;
    o.context = &calls;
    refuse(map, &o, KERN_INTERRUPTED, "stopped after point");
    o.progress = NULL;
    /* Above the fold there is nothing. */
    o.start = 0.5;
    refuse(map, &o, KERN_NOT_CONVERGED, "no cycle of minimal period 1");
    /* The parameter stays as it was. */
    MAPS_CLOSE(map->params[0], 0.0, 0.0);
    dyn_map_destroy(map);
    map = make(&pitchfork, 0.0);
    o.start = 0.0;
    o.x0 = origin;
    refuse(map, &o, KERN_SINGULAR, "is a branch point");
    dyn_map_destroy(map);
    map = make(&neutral, 0.0);
    o.period = 3;
    refuse(map, &o, KERN_NOT_CONVERGED, "minimal period 3");
    dyn_map_destroy(map);
}

/* A structural multiplier 1: under a norm, of a translation, and of descent with step 0. */
static void test_gauge(void **state)
{
    dyn_branch_options o = dyn_branch_options_default();
    (void)state;
    o.vary = "eta";
    o.start = o.low = 0.1;
    o.high = 1.0;
    dyn_map *map = maps_make("layernorm-power", "n=5");
    refuse(map, &o, KERN_SINGULAR, "gauge");
    map->gauge = DYN_GAUGE_NONE;
    refuse(map, &o, KERN_SINGULAR, "gauge"); /* seen even if the map does not say so */
    dyn_map_destroy(map);
    map = dyn_test_translation(2, DYN_TEST_FAULT_NONE);
    o.vary = "fault";
    refuse(map, &o, KERN_SINGULAR, "gauge");
    dyn_map_destroy(map);
    map = maps_make("double-well", "");
    o.vary = "eta";
    o.start = o.low = 0.0;
    refuse(map, &o, KERN_SINGULAR, "at every state at eta = 0");
    dyn_map_destroy(map);
}

/* Events without a branch cannot be switched at. */
static void test_switch_refusals(void **state)
{
    dyn_map *map = make(&fold, 0.3);
    dyn_branch_tree tree = follow(map, -0.5, -0.6, 0.6, -1.0, 0);
    dyn_branch_options o = dyn_branch_options_default();
    dyn_branch other;
    (void)state;
    o.vary = "lambda";
    o.start = o.low = -0.5;
    o.high = 0.6;
    assert_int_equal(dyn_branch_switch_init(&other, map, &o, &tree.branches[0], 0, NULL),
                     KERN_NOT_FOUND);
    assert_int_equal(dyn_branch_switch_init(&other, map, &o, &tree.branches[0], 9, NULL),
                     KERN_NOT_FOUND);
    dyn_branch_tree_fini(&tree);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold),      cmocka_unit_test(test_transcritical),
        cmocka_unit_test(test_pitchfork), cmocka_unit_test(test_side_branch),
        cmocka_unit_test(test_flip),      cmocka_unit_test(test_bubble),
        cmocka_unit_test(test_touches),   cmocka_unit_test(test_touch_at_point),
        cmocka_unit_test(test_no_events), cmocka_unit_test(test_island),
        cmocka_unit_test(test_ends),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_gauge),     cmocka_unit_test(test_switch_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
