/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cycles by multiple shooting with a dense linear system: Newton's method of dyn_newton.h, each
 * step by an LU decomposition of the p·size equations J_i s_i − s_{i+1} = G_i.
 */
#ifndef BASIN_DYN_SHOOTING_H
#define BASIN_DYN_SHOOTING_H

#include "dyn/dyn_chain.h"
#include "dyn/dyn_map.h"
#include "dyn/dyn_newton.h"

#include <stddef.h>

/* Most equations of the dense system. */
enum { DYN_SHOOTING_MAX = 600 };

typedef struct dyn_shooting dyn_shooting;

/* A solver for cycles of up to `period` states. It borrows `map`. KERN_INVALID_ARGUMENT when the
 * period is 0 or period × size is more than DYN_SHOOTING_MAX, KERN_NO_MEMORY. */
kern_status dyn_shooting_create(dyn_shooting **out, dyn_map *map, size_t period, kern_error *err);
void dyn_shooting_destroy(dyn_shooting *s);

/* Improves `states` (period × size numbers, `period` at most that of the solver) as
 * dyn_newton_solve does. KERN_OK, KERN_NOT_CONVERGED, KERN_SINGULAR, KERN_DIVERGED, KERN_NAN, and
 * KERN_NOT_FOUND with deflation. Cost per iteration: period · size jvps and ⅔ (period · size)³. */
dyn_chain_result dyn_shooting_solve(dyn_shooting *s, double *states, size_t period,
                                    const dyn_chain_goal *goal);

#endif
