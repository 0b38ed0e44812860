/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Linear systems of multiple shooting around a cycle, with a border: unknowns δ_0 … δ_{p−1} of
 * `size` numbers each and m extra ones e,
 *
 *   A_i δ_i − δ_{i+1} + C_i e = b_i,  i = 0 … p − 1,  δ_p = κ δ_0
 *   Σ_i R_i δ_i + D e = d             (m rows)
 *
 * κ = 1 closes the cycle, κ = −1 gives what changes its sign in one turn (a flip). One interior
 * δ_k after the other is eliminated by orthogonal transformations of two neighbouring block rows
 * (Wright 1992), which is stable however much the products of the A_i grow, and a dense system of
 * size + m equations is left. Cost O(p size³) instead of O(p³ size³).
 */
#ifndef BASIN_DYN_CYCLIC_H
#define BASIN_DYN_CYCLIC_H

#include "kernels/kern_status.h"

#include <stddef.h>

typedef struct dyn_cyclic dyn_cyclic;

/* Room for `period` blocks of `size` and `border` extra unknowns, each at least 1.
 * KERN_INVALID_ARGUMENT, KERN_OVERFLOW, KERN_NO_MEMORY. Memory about 4 period size². */
kern_status dyn_cyclic_create(dyn_cyclic **out, size_t size, size_t period, size_t border,
                              kern_error *err);
void dyn_cyclic_destroy(dyn_cyclic *c);

/* Where the caller writes the system, row-major; solving leaves it as it is. */
double *dyn_cyclic_block(dyn_cyclic *c, size_t i); /* A_i: size × size */
double *dyn_cyclic_columns(dyn_cyclic *c);         /* C: (period·size) × border */
double *dyn_cyclic_rows(dyn_cyclic *c);            /* [R D]: border × (period·size + border) */

/* Solves in place of b (period·size + border numbers). KERN_SINGULAR, KERN_NAN. */
kern_status dyn_cyclic_solve(dyn_cyclic *c, double closing, double *b);

#endif
