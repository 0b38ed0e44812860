/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_arclength.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    EASY = 3,  /* iterations up to which the next step grows */
    HARD = 6,  /* iterations from which it shrinks */
    POLISH = 3 /* iterations after convergence, as long as they help */
};

#define GROWTH    1.6
#define SHRINKAGE 0.6
/* Of the tangent in one step: cos 22.5°, and what counts as hardly any turn. */
#define TURN_MOST 0.92387953251128674
#define TURN_EASY 0.995
/* Largest correction of a prediction, as a part of the step. */
#define CORRECTION_MOST 0.5
/* Least cosine between a tangent inside a step and the mean of those at its ends. */
#define SAME_COURSE 0.9

struct dyn_arc {
    dyn_arc_problem problem;
    dyn_arc_options o;
    size_t m; /* unknowns */
    kern_arena arena;
    double *point, *tangent;         /* m each */
    double *old_point, *old_tangent; /* before the last step */
    double *trial, *trial_tangent;   /* a candidate, which becomes the point or is dropped */
    double *plane;                   /* normal of the hyperplane of a start */
    double *g;                       /* m: G and the equation of the plane */
    double *delta;                   /* m: Newton's step */
    double *matrix;                  /* m × m, NULL with problem.solve */
    int *pivots;
    double next_step;
    double last_step;
    double residual;
    bool started, stepped;
};

/* ---- Making ------------------------------------------------------------------------------- */

static kern_status check(const dyn_arc_problem *p, const dyn_arc_options *o, kern_error *err)
{
    if (p->n == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a curve needs at least one equation, and there is none");
    }
    if (!(o->step_min > 0.0 && o->step_min <= o->step && o->step <= o->step_max) ||
        !isfinite(o->step_max)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the steps are %g at first, %g at least and %g at most, accepted are "
                          "positive numbers with the first between the others",
                          o->step, o->step_min, o->step_max);
    }
    if (!(o->tol > 0.0) || o->max_iterations == 0) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "the tolerance is %g with %zu iterations, accepted is more than 0 of both", o->tol,
            o->max_iterations);
    }
    return KERN_OK;
}

static kern_status allocate(dyn_arc *arc, bool dense, kern_error *err)
{
    const size_t m = arc->m;
    size_t square = 0;
    if (dense && (!kern_size_mul(m, m, &square) || square > SIZE_MAX / 64)) {
        return kern_raise(err, KERN_OVERFLOW, "a system of %zu equations is too large", m);
    }
    KERN_TRY(kern_arena_init(&arc->arena,
                             9 * kern_arena_cost(m, sizeof(double)) +
                                 kern_arena_cost(square, sizeof(double)) +
                                 kern_arena_cost(m, sizeof(int)),
                             err));
    double **const vectors[] = {&arc->point,       &arc->tangent, &arc->old_point,
                                &arc->old_tangent, &arc->trial,   &arc->trial_tangent,
                                &arc->plane,       &arc->g,       &arc->delta};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        *vectors[i] = kern_arena_calloc(&arc->arena, m, sizeof(double));
    }
    arc->matrix = dense ? kern_arena_alloc(&arc->arena, square, sizeof(double)) : NULL;
    arc->pivots = kern_arena_alloc(&arc->arena, m, sizeof(int));
    return KERN_OK;
}

kern_status dyn_arc_create(dyn_arc **out, const dyn_arc_problem *problem,
                           const dyn_arc_options *options, kern_error *err)
{
    *out = NULL;
    KERN_TRY(check(problem, options, err));
    dyn_arc *arc = calloc(1, sizeof *arc);
    if (arc == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a curve of %zu equations",
                          problem->n);
    }
    arc->problem = *problem;
    arc->o = *options;
    arc->m = problem->n + 1;
    const kern_status status = allocate(arc, problem->solve == NULL, err);
    if (status != KERN_OK) {
        free(arc);
        return status;
    }
    *out = arc;
    return KERN_OK;
}

void dyn_arc_destroy(dyn_arc *arc)
{
    if (arc != NULL) {
        kern_arena_fini(&arc->arena);
        free(arc);
    }
}

/* ---- Vectors ------------------------------------------------------------------------------ */

/* Largest magnitude, keeping NaN. */
static double largest(const double *a, size_t n)
{
    double most = 0.0;
    for (size_t i = 0; i < n && !isnan(most); i++) {
        if (!(fabs(a[i]) <= most)) {
            most = fabs(a[i]);
        }
    }
    return most;
}

static void copy(double *to, const double *from, size_t n)
{
    memcpy(to, from, n * sizeof *to);
}

/* ---- Systems ------------------------------------------------------------------------------ */

/* Solves [G'(u); rowᵀ] x = b in place of b. `work` of m numbers is lost. */
static kern_status solve(dyn_arc *arc, const double *u, const double *row, double *b, double *work)
{
    const size_t m = arc->m;
    if (arc->problem.solve != NULL) {
        return arc->problem.solve(arc->problem.context, u, row, b);
    }
    arc->problem.evaluate(arc->problem.context, u, work, arc->matrix);
    copy(arc->matrix + (m - 1) * m, row, m);
    KERN_TRY(kern_lapack_lu(m, arc->matrix, arc->pivots, NULL, NULL));
    return kern_lapack_lu_solve(m, arc->matrix, arc->pivots, b, NULL);
}

/* Unit tangent at u whose product with `row` is positive. */
static kern_status find_tangent(dyn_arc *arc, const double *u, const double *row, double *tangent)
{
    const size_t m = arc->m;
    memset(tangent, 0, m * sizeof *tangent);
    tangent[m - 1] = 1.0;
    KERN_TRY(solve(arc, u, row, tangent, arc->g));
    const double length = dyn_vector_norm(tangent, m);
    if (!(length > 0.0) || !isfinite(length)) {
        return isnan(length) ? KERN_NAN : KERN_SINGULAR;
    }
    for (size_t i = 0; i < m; i++) {
        tangent[i] /= length;
    }
    return KERN_OK;
}

/* G at u, and its largest magnitude. */
static double measure(dyn_arc *arc, const double *u)
{
    arc->problem.evaluate(arc->problem.context, u, arc->g, NULL);
    return largest(arc->g, arc->problem.n);
}

/* Newton's step from u, whose G is known, to delta: u moves by −delta. All iterates lie in one
 * plane across `row`, so the last equation asks for no movement along it. */
static kern_status find_step(dyn_arc *arc, const double *u, const double *row)
{
    copy(arc->delta, arc->g, arc->problem.n);
    arc->delta[arc->m - 1] = 0.0;
    return solve(arc, u, row, arc->delta, arc->g);
}

/* Whole steps from a point that has converged, as long as they halve the residual: they take it to
 * rounding at hardly any cost. */
static double polish(dyn_arc *arc, double *u, const double *row, double residual)
{
    const size_t m = arc->m;
    for (int i = 0; i < POLISH && residual > 0.0; i++) {
        if (find_step(arc, u, row) != KERN_OK) {
            break;
        }
        for (size_t j = 0; j < m; j++) {
            u[j] -= arc->delta[j];
        }
        const double next = measure(arc, u);
        if (!(next <= 0.5 * residual)) {
            for (size_t j = 0; j < m; j++) {
                u[j] += arc->delta[j];
            }
            residual = measure(arc, u);
            break;
        }
        residual = next;
    }
    return residual;
}

/* Corrects u in the plane through it across `row`. */
static kern_status correct(dyn_arc *arc, double *u, const double *row, size_t *iterations,
                           double *residual)
{
    const size_t m = arc->m;
    *residual = measure(arc, u);
    for (*iterations = 0; isfinite(*residual); ++*iterations) {
        /* At states so large that their spacing exceeds the tolerance, a small residual means
         * nothing. */
        if (*residual <= arc->o.tol && largest(u, m) * DBL_EPSILON <= arc->o.tol) {
            *residual = polish(arc, u, row, *residual);
            return KERN_OK;
        }
        if (*iterations == arc->o.max_iterations) {
            return KERN_NOT_CONVERGED;
        }
        KERN_TRY(find_step(arc, u, row));
        for (size_t j = 0; j < m; j++) {
            u[j] -= arc->delta[j];
        }
        *residual = measure(arc, u);
    }
    return KERN_NAN;
}

/* ---- Moving ------------------------------------------------------------------------------- */

kern_status dyn_arc_start(dyn_arc *arc, const double *u, const double *direction)
{
    const size_t m = arc->m;
    size_t iterations;
    const double length = dyn_vector_norm(direction, m);
    arc->started = false;
    arc->stepped = false;
    if (!(length > 0.0) || !isfinite(length)) {
        return KERN_SINGULAR;
    }
    for (size_t i = 0; i < m; i++) {
        arc->plane[i] = direction[i] / length;
    }
    copy(arc->point, u, m);
    KERN_TRY(correct(arc, arc->point, arc->plane, &iterations, &arc->residual));
    KERN_TRY(find_tangent(arc, arc->point, arc->plane, arc->tangent));
    copy(arc->old_point, arc->point, m);
    copy(arc->old_tangent, arc->tangent, m);
    arc->next_step = arc->o.step;
    arc->last_step = 0.0;
    arc->started = true;
    return KERN_OK;
}

/* One trial of length h from the current point. */
static bool try_step(dyn_arc *arc, double h, size_t *iterations, double *residual)
{
    const size_t m = arc->m;
    for (size_t i = 0; i < m; i++) {
        arc->trial[i] = arc->point[i] + h * arc->tangent[i];
    }
    if (correct(arc, arc->trial, arc->tangent, iterations, residual) != KERN_OK ||
        find_tangent(arc, arc->trial, arc->tangent, arc->trial_tangent) != KERN_OK) {
        return false;
    }
    for (size_t i = 0; i < m; i++) {
        arc->delta[i] = arc->trial[i] - arc->point[i] - h * arc->tangent[i];
    }
    return dyn_vector_norm(arc->delta, m) <= CORRECTION_MOST * h &&
           dyn_vector_dot(arc->tangent, arc->trial_tangent, m) >= TURN_MOST;
}

static void swap(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

/* The trial becomes the point. */
static void accept(dyn_arc *arc, double h, size_t iterations, double residual, bool full)
{
    const double turn = dyn_vector_dot(arc->tangent, arc->trial_tangent, arc->m);
    swap(&arc->old_point, &arc->point);
    swap(&arc->old_tangent, &arc->tangent);
    swap(&arc->point, &arc->trial);
    swap(&arc->tangent, &arc->trial_tangent);
    arc->last_step = h;
    arc->residual = residual;
    arc->stepped = true;
    if (!full) {
        return; /* a step that the caller shortened says nothing about the next one */
    }
    arc->next_step = h;
    if (iterations <= EASY && turn >= TURN_EASY) {
        arc->next_step = fmin(GROWTH * h, arc->o.step_max);
    } else if (iterations >= HARD) {
        arc->next_step = fmax(SHRINKAGE * h, arc->o.step_min);
    }
}

kern_status dyn_arc_step(dyn_arc *arc, double limit)
{
    size_t iterations;
    double residual;
    if (!arc->started || !(limit > 0.0)) {
        return KERN_INVALID_ARGUMENT;
    }
    double h = fmin(arc->next_step, limit);
    bool full = h == arc->next_step;
    while (!try_step(arc, h, &iterations, &residual)) {
        if (h <= arc->o.step_min) {
            return KERN_NOT_CONVERGED;
        }
        h = fmax(0.5 * h, arc->o.step_min);
        full = true;
    }
    accept(arc, h, iterations, residual, full);
    return KERN_OK;
}

/* The point at s into the trial. */
static kern_status find_between(dyn_arc *arc, double s, double *residual)
{
    const size_t m = arc->m;
    const double h = arc->last_step;
    size_t iterations;
    if (!arc->stepped || !(s >= 0.0 && s <= h)) {
        return KERN_INVALID_ARGUMENT;
    }
    /* The parabola that touches the curve at the old point and meets the new one: it stays in the
     * planes across the old tangent. */
    const double part = s / h;
    for (size_t i = 0; i < m; i++) {
        const double straight = arc->old_point[i] + h * arc->old_tangent[i];
        arc->trial[i] =
            arc->old_point[i] + s * arc->old_tangent[i] + part * part * (arc->point[i] - straight);
    }
    KERN_TRY(correct(arc, arc->trial, arc->old_tangent, &iterations, residual));
    for (size_t i = 0; i < m; i++) {
        arc->delta[i] = arc->trial[i] - arc->old_point[i] - s * arc->old_tangent[i];
    }
    /* Far from both ends is another curve. */
    return dyn_vector_norm(arc->delta, m) <= CORRECTION_MOST * h ? KERN_OK : KERN_NOT_CONVERGED;
}

kern_status dyn_arc_between(dyn_arc *arc, double s, double *u, double *tangent)
{
    double residual;
    KERN_TRY(find_between(arc, s, &residual));
    copy(u, arc->trial, arc->m);
    return tangent != NULL ? find_tangent(arc, u, arc->old_tangent, tangent) : KERN_OK;
}

/* The tangent at arc->trial, between the last two points. At a branch point its system is singular
 * and gives anything, or nothing; the mean of the tangents at both points has to do. */
static void find_course(dyn_arc *arc)
{
    double *course = arc->trial_tangent;
    double sum = 0.0;
    double along = 0.0;
    const bool found = find_tangent(arc, arc->trial, arc->old_tangent, course) == KERN_OK;
    for (size_t i = 0; i < arc->m; i++) {
        const double mean = 0.5 * (arc->old_tangent[i] + arc->tangent[i]);
        sum += mean * mean;
        along += mean * course[i];
    }
    if (found && along >= SAME_COURSE * sqrt(sum)) {
        return;
    }
    for (size_t i = 0; i < arc->m; i++) {
        course[i] = 0.5 * (arc->old_tangent[i] + arc->tangent[i]) / sqrt(sum);
    }
}

kern_status dyn_arc_retreat(dyn_arc *arc, double s)
{
    double residual;
    KERN_TRY(find_between(arc, s, &residual));
    find_course(arc);
    swap(&arc->point, &arc->trial);
    swap(&arc->tangent, &arc->trial_tangent);
    arc->last_step = s;
    arc->residual = residual;
    return KERN_OK;
}

/* ---- Looking ------------------------------------------------------------------------------ */

const double *dyn_arc_point(const dyn_arc *arc)
{
    return arc->point;
}

const double *dyn_arc_tangent(const dyn_arc *arc)
{
    return arc->tangent;
}

double dyn_arc_last_step(const dyn_arc *arc)
{
    return arc->last_step;
}

const double *dyn_arc_previous_point(const dyn_arc *arc)
{
    return arc->old_point;
}

const double *dyn_arc_previous_tangent(const dyn_arc *arc)
{
    return arc->old_tangent;
}

double dyn_arc_residual(const dyn_arc *arc)
{
    return arc->residual;
}
