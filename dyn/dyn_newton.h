/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Newton's method for cycles in all their states together, whatever solves the linear systems:
 * G_i = F(x_i) − x_{i+1} = 0, i = 0 … p − 1, x_p = x_0.
 *
 * Unlike Newton for F^p(x) = x, its convergence does not shrink with the p-th power of the
 * expansion of F. The method is inexact: the system is solved until its own residual is η|G|₂, and
 * the step is halved until |G|₂ is at most (1 − 10⁻⁴ λ (1 − η)) of what it was, λ the part of the
 * step taken. η follows the second choice of S. C. Eisenstat and H. F. Walker, Choosing the forcing
 * terms in an inexact Newton method, SIAM J. Sci. Comput. 17 (1996): η = 0.9 (|G|/|G before|)^α, α
 * the golden ratio, kept from falling faster than quadratically, which gives convergence of order α
 * without solving systems to digits that the next step throws away.
 *
 * With deflation the step is multiplied as dyn_deflation.h says and always taken whole.
 *
 * After convergence up to three whole steps more are taken while each halves the residual: they are
 * nearly free and take a simple cycle from the tolerance to rounding.
 */
#ifndef BASIN_DYN_NEWTON_H
#define BASIN_DYN_NEWTON_H

#include "dyn/dyn_chain.h"
#include "dyn/dyn_map.h"

#include <stddef.h>

/* Solves G′(x) s = G to |G′s − G|₂ ≤ *forcing |G|₂, so that x − s is Newton's step; *forcing
 * receives the part that was reached, 0 for a direct solver. `gap` is G. A status other than
 * KERN_OK ends the method with it. */
typedef kern_status dyn_newton_direction(void *context, const double *states, size_t period,
                                         const double *gap, double *forcing, double *step);

/* What the method needs; all of it belongs to the solver around it. */
typedef struct dyn_newton {
    dyn_map *map;
    dyn_newton_direction *direction;
    void *context;
    double *gap; /* period × size numbers each */
    double *step;
    double *trial;
} dyn_newton;

/* Improves `states` in place until the largest |G| is at most goal->tol. A residual that is not a
 * number never counts as small. Nor does one at states so large that the spacing of doubles there
 * exceeds the tolerance: maps that drift, as those with a layer norm do, have no fixed point but
 * steps that vanish against |x|. That is KERN_DIVERGED, or KERN_NOT_CONVERGED where the states are
 * of the size they had at the start (dyn_chain_judge). A solution that is a deflated one is
 * KERN_NOT_FOUND. The states are left at the last ones that lowered |G|, and with deflation at the
 * last ones. */
dyn_chain_result dyn_newton_solve(dyn_newton *n, double *states, size_t period,
                                  const dyn_chain_goal *goal);

#endif
