/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cycles by multiple shooting: Newton's method for F(x_i) = x_{i+1}, i = 0 … p − 1, x_p = x_0, in
 * all p states together. Unlike Newton for F^p(x) = x, its convergence does not shrink with the
 * p-th power of the expansion of F.
 *
 * The step is halved until |G|₂ has decreased enough (Armijo), G_i = F(x_i) − x_{i+1} with
 * differences on circles taken the short way round. The linear system of p·size equations is dense.
 */
#ifndef BASIN_DYN_SHOOTING_H
#define BASIN_DYN_SHOOTING_H

#include "dyn/dyn_map.h"

#include <stddef.h>

/* Most equations of the dense system. */
enum { DYN_SHOOTING_MAX = 600 };

typedef struct dyn_shooting dyn_shooting;

/* What a solution is worth. */
typedef struct dyn_shooting_result {
    kern_status status; /* KERN_OK, KERN_NOT_CONVERGED, KERN_SINGULAR, KERN_DIVERGED, KERN_NAN */
    size_t iterations;
    double residual; /* largest |G| of the states as left, evaluated after the last change */
} dyn_shooting_result;

/* A solver for cycles of up to `period` states. It borrows `map`. KERN_INVALID_ARGUMENT when the
 * period is 0 or period × size is more than DYN_SHOOTING_MAX, KERN_NO_MEMORY. */
kern_status dyn_shooting_create(dyn_shooting **out, dyn_map *map, size_t period, kern_error *err);
void dyn_shooting_destroy(dyn_shooting *s);

/* Improves `states` (period × size numbers, `period` at most that of the solver) in place until the
 * largest |G| is at most `tol`, and then by up to three steps more as long as they help, so that a
 * simple cycle is right to rounding. A residual that is not a number never counts as small. Nor
 * does one at states so large that the spacing of doubles there exceeds `tol`: maps that drift, as
 * those with a layer norm do, have no fixed point but steps that vanish against |x|. That is
 * KERN_DIVERGED. Cost per iteration: period · size jvps and ⅔ (period · size)³. */
dyn_shooting_result dyn_shooting_solve(dyn_shooting *s, double *states, size_t period, double tol,
                                       size_t max_iterations);

/* Largest |F(x_i) − x_{i+1}| of a chain of states; NaN or ∞ when an image is. */
double dyn_shooting_residual(dyn_shooting *s, const double *states, size_t period);

#endif
