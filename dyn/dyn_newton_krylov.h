/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cycles of large maps: Newton's method of dyn_newton.h in all states of the cycle, with linear
 * systems solved by GMRES from products by the Jacobian alone.
 *
 * The unknowns are all p states, as in dyn_shooting.h, so that a long or repelling cycle costs no
 * digits in the nonlinear iteration. The linear system is not handed to GMRES as it stands: its
 * part that shifts states by one is a permutation, on which restarted GMRES stalls for p·size
 * products. Eliminating s_1 … s_{p−1} by s_{i+1} = J_i s_i − G_i leaves `size` equations
 *
 *     (J_{p−1} ⋯ J_0 − I) s_0 = c,   c = G_{p−1} + J_{p−1}(G_{p−2} + J_{p−2}(…)),
 *
 * whose matrix has its spectrum clustered at −1 where the map contracts, so that few products
 * suffice. What GMRES leaves over is exactly what the whole system has left over, since the
 * eliminated equations hold; Newton's forcing term thus means the same as without elimination. The
 * price: where p steps expand by a factor near 1/ε, s_0 has no digits left; such cycles need
 * dyn_shooting.h.
 *
 * Source: J. Sánchez, M. Net, B. García-Archilla, C. Simó, Newton–Krylov continuation of periodic
 * orbits for Navier–Stokes flows, J. Comput. Phys. 201 (2004), for p = 1; the elimination is that
 * of condensing in multiple shooting.
 */
#ifndef BASIN_DYN_NEWTON_KRYLOV_H
#define BASIN_DYN_NEWTON_KRYLOV_H

#include "dyn/dyn_chain.h"
#include "dyn/dyn_map.h"
#include "dyn/dyn_newton.h"

#include <stddef.h>

typedef struct dyn_newton_krylov dyn_newton_krylov;

typedef struct dyn_newton_krylov_options {
    size_t period;       /* states of the longest cycle */
    size_t restart;      /* of GMRES */
    size_t max_products; /* by the matrix of p Jacobians, for each of Newton's steps */
} dyn_newton_krylov_options;

/* Period 1, restart after 100 products, 1000 products. */
dyn_newton_krylov_options dyn_newton_krylov_options_default(void);

/* A solver, which borrows `map`. Memory: (3 · period + restart + 4) · size numbers.
 * KERN_INVALID_ARGUMENT for a period, restart or max_products of 0, KERN_OVERFLOW, KERN_NO_MEMORY.
 */
kern_status dyn_newton_krylov_create(dyn_newton_krylov **out, dyn_map *map,
                                     const dyn_newton_krylov_options *options, kern_error *err);
void dyn_newton_krylov_destroy(dyn_newton_krylov *k);

/* As dyn_shooting_solve. KERN_SINGULAR also when GMRES cannot lower the residual of the linear
 * system at all; when it lowers it by less than was asked for, the step is taken as far as it goes.
 * Cost per product: `period` jvps. */
dyn_chain_result dyn_newton_krylov_solve(dyn_newton_krylov *k, double *states, size_t period,
                                         const dyn_chain_goal *goal);

/* Products by the matrix of p Jacobians since the solver was made. */
size_t dyn_newton_krylov_products(const dyn_newton_krylov *k);

#endif
