/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cycles by Anderson's acceleration of the iteration x ← F^p(x): no Jacobian at all.
 *
 * With f = F^p(x) − x and the last m differences ΔX, ΔF of states and of f, the next state is
 *
 *     x + β f − (ΔX + β ΔF) γ,   γ = argmin |f − ΔF γ|₂,
 *
 * solved by a QR decomposition of ΔF that is updated when a column enters and when the oldest one
 * leaves; a difference that depends on the others to 1e-8 of its length makes the oldest ones
 * leave, since γ would have no digits.
 *
 * It is meant for attracting cycles. It may end on a repelling one, too: for one coordinate and
 * m = 1 it is the secant method. Nothing is guaranteed there.
 *
 * Safeguard: |f|₂ need not fall at every step, and a limit near its smallest value so far would cut
 * off many ways to a solution. When it is not at most 10⁴ times that value, the window is emptied
 * and the iteration goes on from the best state with a plain step, whose damping β is halved each
 * time and recovers with every new best. For β → 0 the plain step changes f by a factor that tends
 * to 1, so a smooth map does not get stuck here, and a state that is not a number is never gone on
 * from. The best state is kept from the first one on and is what is returned.
 *
 * Source: H. F. Walker, P. Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numer.
 * Anal. 49 (2011).
 */
#ifndef BASIN_DYN_ANDERSON_H
#define BASIN_DYN_ANDERSON_H

#include "dyn/dyn_chain.h"
#include "dyn/dyn_map.h"

#include <stddef.h>

typedef struct dyn_anderson dyn_anderson;

typedef struct dyn_anderson_options {
    size_t window;  /* m; 0 is plain iteration with damping */
    double damping; /* β, in (0, 1] */
} dyn_anderson_options;

/* A window of 8 without damping (β = 1). */
dyn_anderson_options dyn_anderson_options_default(void);

/* A solver, which borrows `map`. Memory: (2m + 8) size numbers. KERN_INVALID_ARGUMENT for a damping
 * outside (0, 1], KERN_OVERFLOW, KERN_NO_MEMORY. */
kern_status dyn_anderson_create(dyn_anderson **out, dyn_map *map,
                                const dyn_anderson_options *options, kern_error *err);
void dyn_anderson_destroy(dyn_anderson *a);

/* Starts from the first of `states` (period × size numbers) and leaves the best state found and its
 * period − 1 images there; only the last gap of that chain is not 0. KERN_OK when |f| is at most
 * goal->tol in every coordinate; KERN_NOT_CONVERGED; KERN_DIVERGED or KERN_NAN when that is what
 * became of the start, or of every step from the best state, and what dyn_chain_judge says when the
 * state is so large that its rounding exceeds the tolerance. goal->deflation has no effect. Cost
 * per iteration: `period` steps of the map and 6 m · size. */
dyn_chain_result dyn_anderson_solve(dyn_anderson *a, double *states, size_t period,
                                    const dyn_chain_goal *goal);

#endif
