/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pseudo-arclength continuation of a curve G(u) = 0, with n equations in n + 1 unknowns (Keller
 * 1977): predictor along the tangent, corrector by Newton's method in the plane across it, a step
 * that adapts to how hard the corrector worked.
 *
 * It knows nothing of maps: a branch of fixed points, a branch of cycles and a curve of
 * bifurcations in two parameters are three problems for it. Lengths are Euclidean in u, so a
 * problem whose unknowns differ in size scales them.
 *
 * A step counts only if the corrector moved the prediction by no more than half the step and the
 * tangent turned by no more than a quarter of a right angle; so it neither jumps to a curve near by
 * nor cuts a corner.
 */
#ifndef BASIN_DYN_ARCLENGTH_H
#define BASIN_DYN_ARCLENGTH_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* A curve. Functions do not fail unless they say so: what they cannot compute becomes NaN, which a
 * step refuses. */
typedef struct dyn_arc_problem {
    size_t n; /* equations; unknowns are n + 1 */
    void *context;
    /* g (n numbers) = G(u) and, unless it is NULL, jacobian = G'(u), n × (n + 1), row-major. */
    void (*evaluate)(void *context, const double *u, double *g, double *jacobian);
    /* For problems with structure: solves [G'(u); rowᵀ] x = b in place of b (n + 1 numbers each).
     * KERN_SINGULAR, KERN_NAN. NULL: a dense LU decomposition, and `evaluate` gives the Jacobian;
     * otherwise `evaluate` is never asked for one. */
    kern_status (*solve)(void *context, const double *u, const double *row, double *b);
} dyn_arc_problem;

typedef struct dyn_arc_options {
    double step, step_min, step_max; /* of arclength: first, smallest, largest */
    double tol;                      /* largest |G_i| of a point */
    size_t max_iterations;           /* of the corrector */
} dyn_arc_options;

/* A workspace with the current point and tangent. */
typedef struct dyn_arc dyn_arc;

/* Copies `problem` and `options`; the problem's context is borrowed. KERN_INVALID_ARGUMENT for
 * n = 0 and for steps and a tolerance that are not positive and in order, KERN_OVERFLOW,
 * KERN_NO_MEMORY. Memory: (n + 1)² numbers without `solve`, O(n) with it. */
kern_status dyn_arc_create(dyn_arc **out, const dyn_arc_problem *problem,
                           const dyn_arc_options *options, kern_error *err);
void dyn_arc_destroy(dyn_arc *arc);

/* Begins at u (n + 1 numbers): corrects it in the hyperplane through u across `direction` (any
 * length but 0) and takes the tangent whose product with `direction` is positive. The next step is
 * options->step again. KERN_NOT_CONVERGED, KERN_SINGULAR when the curve runs across `direction` or
 * has no tangent there, KERN_NAN; the workspace then has no point. */
kern_status dyn_arc_start(dyn_arc *arc, const double *u, const double *direction);

/* One step onwards, at most `limit` long (∞: no limit), halved until the corrector succeeds.
 * KERN_NOT_CONVERGED when the smallest step failed too; the point then stays. */
kern_status dyn_arc_step(dyn_arc *arc, double limit);

/* A point of the curve between the last two: at signed arclength s (in the tangent direction of the
 * point before the last step) from that point, 0 ≤ s ≤ the last step. For locating events by a root
 * of a test function in s. `u` and `tangent` receive n + 1 numbers each (tangent may be NULL).
 * KERN_INVALID_ARGUMENT outside that range or before the first step; KERN_NOT_CONVERGED,
 * KERN_SINGULAR, KERN_NAN. */
kern_status dyn_arc_between(dyn_arc *arc, double s, double *u, double *tangent);

/* Makes the point at s, as dyn_arc_between finds it, the current one; the last step becomes s. For
 * ending a curve exactly at a bound. At a branch point, where no tangent is found, the current one
 * becomes the mean of those at both ends. */
kern_status dyn_arc_retreat(dyn_arc *arc, double s);

/* Current point, its unit tangent (n + 1 numbers each), and the length of the last step. */
const double *dyn_arc_point(const dyn_arc *arc);
const double *dyn_arc_tangent(const dyn_arc *arc);
double dyn_arc_last_step(const dyn_arc *arc);

/* Point before the last step and its unit tangent. */
const double *dyn_arc_previous_point(const dyn_arc *arc);
const double *dyn_arc_previous_tangent(const dyn_arc *arc);

/* Residual of the current point: largest |G_i|, evaluated after the last change of the point. */
double dyn_arc_residual(const dyn_arc *arc);

#endif
