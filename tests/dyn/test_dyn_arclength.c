/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pseudo-arclength continuation on curves with closed forms, curves that end, and curves that do
 * not exist.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_arclength.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_test_maps.h"

#include <math.h>

static const dyn_arc_options usual = {
    .step = 0.05, .step_min = 1e-8, .step_max = 0.2, .tol = 1e-12, .max_iterations = 12};

static dyn_arc *make(size_t n, void (*evaluate)(void *, const double *, double *, double *),
                     const dyn_arc_options *options)
{
    const dyn_arc_problem problem = {.n = n, .evaluate = evaluate};
    dyn_arc *arc = NULL;
    MAPS_OK(dyn_arc_create(&arc, &problem, options, maps_err));
    return arc;
}

/* ---- Curves ------------------------------------------------------------------------------- */

static void circle(void *context, const double *u, double *g, double *jacobian)
{
    (void)context;
    g[0] = u[0] * u[0] + u[1] * u[1] - 1.0;
    if (jacobian != NULL) {
        jacobian[0] = 2.0 * u[0];
        jacobian[1] = 2.0 * u[1];
    }
}

/* (x, λ) with λ = x²: a fold at 0. */
static void fold(void *context, const double *u, double *g, double *jacobian)
{
    (void)context;
    g[0] = u[0] * u[0] - u[1];
    if (jacobian != NULL) {
        jacobian[0] = 2.0 * u[0];
        jacobian[1] = -1.0;
    }
}

/* (cos z, sin z, z). */
static void helix(void *context, const double *u, double *g, double *jacobian)
{
    (void)context;
    g[0] = u[0] - cos(u[2]);
    g[1] = u[1] - sin(u[2]);
    if (jacobian != NULL) {
        const double rows[6] = {1.0, 0.0, sin(u[2]), 0.0, 1.0, -cos(u[2])};
        memcpy(jacobian, rows, sizeof rows);
    }
}

/* The lemniscate (x² + y²)² = x² − y², which crosses itself at 0. */
static void eight(void *context, const double *u, double *g, double *jacobian)
{
    const double r = u[0] * u[0] + u[1] * u[1];
    (void)context;
    g[0] = r * r - u[0] * u[0] + u[1] * u[1];
    if (jacobian != NULL) {
        jacobian[0] = 4.0 * r * u[0] - 2.0 * u[0];
        jacobian[1] = 4.0 * r * u[1] + 2.0 * u[1];
    }
}

/* Two lines y = ±0.02 in one equation. */
static void twins(void *context, const double *u, double *g, double *jacobian)
{
    (void)context;
    g[0] = u[1] * u[1] - 4e-4;
    if (jacobian != NULL) {
        jacobian[0] = 0.0;
        jacobian[1] = 2.0 * u[1];
    }
}

/* y = tanh 50x: a cliff between two plains of the same direction. */
static void cliff(void *context, const double *u, double *g, double *jacobian)
{
    const double t = tanh(50.0 * u[0]);
    (void)context;
    g[0] = u[1] - t;
    if (jacobian != NULL) {
        jacobian[0] = -50.0 * (1.0 - t * t);
        jacobian[1] = 1.0;
    }
}

/* y = (1 − x)^{3/2}, which ends at (1, 0): beyond, nothing is a number. */
static void ending(void *context, const double *u, double *g, double *jacobian)
{
    const double root = sqrt(1.0 - u[0]);
    (void)context;
    g[0] = u[1] - root * root * root;
    if (jacobian != NULL) {
        jacobian[0] = 1.5 * root;
        jacobian[1] = 1.0;
    }
}

static void nowhere(void *context, const double *u, double *g, double *jacobian)
{
    (void)context;
    g[0] = 1.0 + u[0] * u[0];
    if (jacobian != NULL) {
        jacobian[0] = 2.0 * u[0];
        jacobian[1] = 0.0;
    }
}

static void not_a_number(void *context, const double *u, double *g, double *jacobian)
{
    (void)context;
    (void)u;
    g[0] = (double)NAN;
    if (jacobian != NULL) {
        jacobian[0] = (double)NAN;
        jacobian[1] = 1.0;
    }
}

/* The helix once more, its system solved by hand: with x = cos z + …, rows 1 and 2 give δx and δy
 * from δz. */
static kern_status solve_helix(void *context, const double *u, const double *row, double *b)
{
    const double s = sin(u[2]);
    const double c = cos(u[2]);
    const double pivot = row[2] - row[0] * s + row[1] * c;
    (void)context;
    if (pivot == 0.0) {
        return KERN_SINGULAR;
    }
    b[2] = (b[2] - row[0] * b[0] - row[1] * b[1]) / pivot;
    b[0] -= s * b[2];
    b[1] += c * b[2];
    return KERN_OK;
}

/* ---- Tests -------------------------------------------------------------------------------- */

/* Once round: every point on the circle, every tangent along it, and the angles sum to 2π. */
static void test_circle(void **state)
{
    const double start[2] = {1.1, 0.0};
    const double up[2] = {0.0, 3.0};
    dyn_arc *arc = make(1, circle, &usual);
    double angle = 0.0;
    (void)state;
    assert_int_equal(dyn_arc_start(arc, start, up), KERN_OK);
    MAPS_CLOSE(dyn_arc_point(arc)[0], 1.0, 1e-15);
    MAPS_CLOSE(dyn_arc_tangent(arc)[1], 1.0, 1e-15);
    for (int i = 0; i < 80; i++) {
        const double before = atan2(dyn_arc_point(arc)[1], dyn_arc_point(arc)[0]);
        assert_int_equal(dyn_arc_step(arc, (double)INFINITY), KERN_OK);
        const double *u = dyn_arc_point(arc);
        const double *t = dyn_arc_tangent(arc);
        MAPS_CLOSE(hypot(u[0], u[1]), 1.0, 1e-15);
        MAPS_CLOSE(t[0], -u[1], 1e-14);
        MAPS_CLOSE(t[1], u[0], 1e-14);
        assert_true(dyn_arc_residual(arc) <= 1e-15);
        const double turned = remainder(atan2(u[1], u[0]) - before, 6.283185307179586);
        /* A step of length h along the tangent turns by asin h. */
        MAPS_CLOSE(sin(turned), dyn_arc_last_step(arc), 1e-13);
        angle += turned;
    }
    assert_true(angle > 6.3);
    dyn_arc_destroy(arc);
    dyn_arc_destroy(NULL);
}

/* Through the fold, whose place is found as the root of the tangent's parameter component. */
static void test_fold(void **state)
{
    const double start[2] = {-1.0, 1.0};
    const double left[2] = {0.0, -1.0};
    dyn_arc *arc = make(1, fold, &usual);
    double u[2];
    double t[2];
    (void)state;
    assert_int_equal(dyn_arc_start(arc, start, left), KERN_OK);
    assert_int_equal(dyn_arc_between(arc, 0.0, u, t), KERN_INVALID_ARGUMENT);
    while (dyn_arc_tangent(arc)[1] < 0.0) {
        assert_int_equal(dyn_arc_step(arc, (double)INFINITY), KERN_OK);
    }
    double low = 0.0;
    double high = dyn_arc_last_step(arc);
    assert_int_equal(dyn_arc_between(arc, high, u, t), KERN_OK);
    MAPS_CLOSE(u[0], dyn_arc_point(arc)[0], 1e-14);
    MAPS_CLOSE(u[1], dyn_arc_point(arc)[1], 1e-14);
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        assert_int_equal(dyn_arc_between(arc, middle, u, t), KERN_OK);
        *(t[1] < 0.0 ? &low : &high) = middle;
    }
    MAPS_CLOSE(u[0], 0.0, 1e-12);
    MAPS_CLOSE(u[1], 0.0, 1e-15);
    assert_int_equal(dyn_arc_between(arc, 2.0 * dyn_arc_last_step(arc), u, t),
                     KERN_INVALID_ARGUMENT);
    assert_int_equal(dyn_arc_retreat(arc, low), KERN_OK);
    MAPS_CLOSE(dyn_arc_point(arc)[0], 0.0, 1e-12);
    MAPS_CLOSE(fabs(dyn_arc_tangent(arc)[0]), 1.0, 1e-12);
    assert_true(dyn_arc_last_step(arc) == low);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(dyn_arc_step(arc, (double)INFINITY), KERN_OK);
    }
    assert_true(dyn_arc_point(arc)[0] > 0.5);
    dyn_arc_destroy(arc);
}

/* More equations than one, with the dense system and with one solved by hand. */
static void test_helix(void **state)
{
    const double start[3] = {0.9, 0.1, 0.0};
    const double up[3] = {0.0, 0.0, 1.0};
    const dyn_arc_problem problem = {.n = 2, .evaluate = helix, .solve = solve_helix};
    dyn_arc *by_hand = NULL;
    dyn_arc *dense = make(2, helix, &usual);
    (void)state;
    MAPS_OK(dyn_arc_create(&by_hand, &problem, &usual, maps_err));
    assert_int_equal(dyn_arc_start(dense, start, up), KERN_OK);
    assert_int_equal(dyn_arc_start(by_hand, start, up), KERN_OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(dyn_arc_step(dense, (double)INFINITY), KERN_OK);
        assert_int_equal(dyn_arc_step(by_hand, (double)INFINITY), KERN_OK);
        const double *u = dyn_arc_point(dense);
        MAPS_CLOSE(u[0], cos(u[2]), 1e-14);
        MAPS_CLOSE(u[1], sin(u[2]), 1e-14);
        MAPS_CLOSE(dyn_arc_tangent(dense)[2], sqrt(0.5), 1e-14);
        MAPS_CLOSE(dyn_arc_point(by_hand)[2], u[2], 1e-11);
    }
    assert_true(dyn_arc_point(dense)[2] > 10.0);
    dyn_arc_destroy(dense);
    dyn_arc_destroy(by_hand);
}

/* Past the crossing, onto the other loop, and not round a corner. */
static void test_crossing(void **state)
{
    const double start[2] = {1.0, 0.0};
    const double up[2] = {0.0, 1.0};
    dyn_arc *arc = make(1, eight, &usual);
    (void)state;
    assert_int_equal(dyn_arc_start(arc, start, up), KERN_OK);
    while (dyn_arc_point(arc)[0] > -0.5) {
        assert_int_equal(dyn_arc_step(arc, (double)INFINITY), KERN_OK);
    }
    assert_true(dyn_arc_point(arc)[1] < 0.0);
    dyn_arc_destroy(arc);
}

/* A prediction from one line must not end on the other. */
static void test_no_jump(void **state)
{
    const double start[2] = {0.0, 0.021};
    const double right[2] = {1.0, 0.0};
    const dyn_arc_options long_steps = {
        .step = 1.0, .step_min = 1e-6, .step_max = 5.0, .tol = 1e-13, .max_iterations = 12};
    dyn_arc *arc = make(1, twins, &long_steps);
    (void)state;
    assert_int_equal(dyn_arc_start(arc, start, right), KERN_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(dyn_arc_step(arc, (double)INFINITY), KERN_OK);
        MAPS_CLOSE(dyn_arc_point(arc)[1], 0.02, 1e-14);
    }
    MAPS_CLOSE(dyn_arc_last_step(arc), 5.0, 0.0);
    assert_int_equal(dyn_arc_step(arc, 0.25), KERN_OK);
    MAPS_CLOSE(dyn_arc_last_step(arc), 0.25, 0.0);
    assert_int_equal(dyn_arc_step(arc, (double)INFINITY), KERN_OK);
    MAPS_CLOSE(dyn_arc_last_step(arc), 5.0, 0.0);
    dyn_arc_destroy(arc);
}

/* However long steps may be, no corner is cut: no step turns by more than a quarter of a right
 * angle, and none goes from one plain to the other without climbing the cliff. */
static void test_long_steps(void **state)
{
    const dyn_arc_options long_steps = {
        .step = 0.8, .step_min = 1e-6, .step_max = 0.9, .tol = 1e-13, .max_iterations = 12};
    const double east[2] = {1.0, 0.0};
    const double up[2] = {0.0, 1.0};
    const double plain[2] = {-1.3, -1.0};
    dyn_arc *arc = make(1, circle, &long_steps);
    size_t climbing = 0;
    (void)state;
    assert_int_equal(dyn_arc_start(arc, east, up), KERN_OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(dyn_arc_step(arc, (double)INFINITY), KERN_OK);
        const double *before = dyn_arc_previous_tangent(arc);
        const double *after = dyn_arc_tangent(arc);
        assert_true(before[0] * after[0] + before[1] * after[1] >= cos(3.141592653589793 / 8.0));
    }
    dyn_arc_destroy(arc);
    arc = make(1, cliff, &long_steps);
    assert_int_equal(dyn_arc_start(arc, plain, east), KERN_OK);
    while (dyn_arc_point(arc)[0] < 1.0) {
        assert_int_equal(dyn_arc_step(arc, (double)INFINITY), KERN_OK);
        climbing += fabs(dyn_arc_point(arc)[1]) < 0.9 ? 1U : 0U;
    }
    assert_true(climbing > 3);
    dyn_arc_destroy(arc);
}

/* The last point before the end stays, with its residual. */
static void test_end(void **state)
{
    const double start[2] = {0.0, 1.0};
    const double right[2] = {1.0, 0.0};
    dyn_arc *arc = make(1, ending, &usual);
    kern_status status = KERN_OK;
    int steps = 0;
    (void)state;
    assert_int_equal(dyn_arc_start(arc, start, right), KERN_OK);
    while (status == KERN_OK && steps < 10000) {
        status = dyn_arc_step(arc, (double)INFINITY);
        steps++;
    }
    assert_int_equal(status, KERN_NOT_CONVERGED);
    const double *u = dyn_arc_point(arc);
    assert_true(u[0] > 0.999 && u[0] <= 1.0);
    MAPS_CLOSE(u[1], pow(1.0 - u[0], 1.5), 1e-12);
    assert_true(dyn_arc_residual(arc) <= 1e-12);
    dyn_arc_destroy(arc);
}

static void test_no_curve(void **state)
{
    const double start[2] = {0.3, 0.0};
    const double across[2] = {1.0, 0.0};
    const double along[2] = {0.0, 1.0};
    const double zero[2] = {0.0, 0.0};
    const double lost[2] = {(double)NAN, 0.0};
    const double huge[2] = {1e20, 1e20};
    dyn_arc *arc = make(1, nowhere, &usual);
    (void)state;
    assert_int_equal(dyn_arc_start(arc, start, along), KERN_NOT_CONVERGED);
    assert_int_equal(dyn_arc_step(arc, 1.0), KERN_INVALID_ARGUMENT);
    /* With x held the equation does not change at all. */
    assert_int_equal(dyn_arc_start(arc, start, across), KERN_SINGULAR);
    assert_int_equal(dyn_arc_start(arc, start, zero), KERN_SINGULAR);
    assert_int_equal(dyn_arc_start(arc, lost, along), KERN_NAN);
    dyn_arc_destroy(arc);
    arc = make(1, not_a_number, &usual);
    assert_int_equal(dyn_arc_start(arc, start, along), KERN_NAN);
    dyn_arc_destroy(arc);
    /* Where the spacing of doubles exceeds the tolerance, nothing counts as solved. */
    arc = make(1, twins, &usual);
    assert_int_not_equal(dyn_arc_start(arc, huge, along), KERN_OK);
    dyn_arc_destroy(arc);
}

static void test_refusals(void **state)
{
    const dyn_arc_problem problem = {.n = 1, .evaluate = circle};
    const dyn_arc_problem empty = {.n = 0, .evaluate = circle};
    const dyn_arc_problem vast = {.n = (size_t)1 << 40, .evaluate = circle};
    dyn_arc_options o = usual;
    dyn_arc *arc = NULL;
    kern_error err = {0};
    (void)state;
    assert_int_equal(dyn_arc_create(&arc, &empty, &o, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "at least one equation");
    assert_int_equal(dyn_arc_create(&arc, &vast, &o, &err), KERN_OVERFLOW);
    o.step_min = 0.1;
    assert_int_equal(dyn_arc_create(&arc, &problem, &o, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "0.05 at first, 0.1 at least");
    o = usual;
    o.tol = (double)NAN;
    assert_int_equal(dyn_arc_create(&arc, &problem, &o, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "the tolerance is nan");
    assert_null(arc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_circle),   cmocka_unit_test(test_fold),
        cmocka_unit_test(test_helix),    cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_no_jump),  cmocka_unit_test(test_end),
        cmocka_unit_test(test_no_curve), cmocka_unit_test(test_long_steps),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
