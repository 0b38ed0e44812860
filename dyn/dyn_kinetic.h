/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kinetic energy of a chain, q = ½ Σ_i |F(x_i) − x_{i+1}|², and descent on it. For one state this
 * is the q of D. Sussillo and O. Barak, Opening the black box, Neural Comput. 25 (2013).
 *
 * A low q is not a solution. Its minima with q > 0 are places where the map is slow, such as what
 * is left of two fixed points after a fold; so descent makes starts for Newton's method, and where
 * that refuses a minimum of q, the minimum is a slow point and is to be called that.
 *
 * Descent is by L-BFGS (J. Nocedal 1980) with 8 pairs and halved steps. The gradient of q in x_i is
 * J_iᵀ g_i − g_{i−1}, by a vjp where the map has one; else each of its entries takes a jvp.
 */
#ifndef BASIN_DYN_KINETIC_H
#define BASIN_DYN_KINETIC_H

#include "dyn/dyn_map.h"

#include <stddef.h>

/* Slope at which a place counts as a minimum of the speed: moving by d changes |g|₂ by at most
 * 1e-6 d. At a simple solution the slope tends to a singular value of J − I instead and stays
 * above, so that only places where J − I is singular along g are minima with q > 0. */
#define DYN_KINETIC_FLAT 1e-6

typedef struct dyn_kinetic dyn_kinetic;

typedef struct dyn_kinetic_result {
    /* KERN_OK: a minimum, slope ≤ DYN_KINETIC_FLAT. KERN_NOT_CONVERGED: the iterations are used up,
     * q is 0, or no step lowers q. KERN_NAN, KERN_DIVERGED: the start has no q. */
    kern_status status;
    size_t iterations;
    double q;
    double slope; /* |∇q|₂/|g|₂ = |∇|g||₂; NaN where q is 0 */
} dyn_kinetic_result;

/* For chains of up to `period` states. It borrows `map`. KERN_OVERFLOW, KERN_NO_MEMORY. Memory:
 * 21 · period · size numbers. */
kern_status dyn_kinetic_create(dyn_kinetic **out, dyn_map *map, size_t period, kern_error *err);
void dyn_kinetic_destroy(dyn_kinetic *k);

/* Lowers q by at most `max_iterations` steps from `states` (period × size numbers), in place. Cost
 * per iteration: period vjps, or period · size jvps without one, and a few evaluations of q. */
dyn_kinetic_result dyn_kinetic_descend(dyn_kinetic *k, double *states, size_t period,
                                       size_t max_iterations);

#endif
