/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Does a cycle return? A check of a claimed cycle of p states by two free runs, of 2p and 3p steps.
 *
 * An orbit of minimal period q returns after s₁p and after s₂p steps only if q divides both; with
 * s₁ and s₂ coprime, only if q divides p. So a longer cycle that is sampled at its own period does
 * not pass as a shorter one, which one stride, whichever it is, cannot tell.
 *
 * How near it must come back: let every step of the claimed cycle be right to `tol`. After n steps
 * of the run the distance to the cycle is, to first order, B δ, B = (J_{n−1}⋯J_1, …, J_{n−1}, I), δ
 * the errors of the n steps, |δ|₂ ≤ √(n size) tol. ‖B‖₂, which is about |μ|^{s} for a multiplier
 * |μ| > 1, is bounded by the largest |B ω| over 6 Gaussian vectors ω times 10 √(2/π), except with
 * probability 10⁻⁶ (N. Halko, P. G. Martinsson, J. A. Tropp, SIAM Rev. 53 (2011), lemma 4.1). B ω
 * is a run of tangent vectors with noise, so no matrix is formed.
 *
 * Where the bound exceeds the distance of the states of the cycle from each other, a run says
 * nothing: the cycle repels too strongly for a check of this kind.
 */
#ifndef BASIN_DYN_STRIDE_H
#define BASIN_DYN_STRIDE_H

#include "dyn/dyn_map.h"

#include <stddef.h>

enum { DYN_STRIDE_FIRST = 2, DYN_STRIDE_SECOND = 3 };

typedef struct dyn_stride_check {
    /* KERN_OK: it returned after both strides. KERN_NOT_CONVERGED: after one of them it did not.
     * KERN_TIMEOUT: undecided, the bound exceeds the size of the cycle. */
    kern_status status;
    double distance[2]; /* from the first state after 2p and 3p steps, largest coordinate */
    double allowed[2];
} dyn_stride_check;

/* Numbers of workspace. */
size_t dyn_stride_work(const dyn_map *map);

/* Checks the claim that `states` (period × size numbers) is a cycle each step of which is right to
 * `tol`. KERN_NO_MEMORY only when there is none for a random stream. Cost: 3p steps, 18p jvps. */
kern_status dyn_stride_run(dyn_stride_check *out, dyn_map *map, const double *states, size_t period,
                           double tol, double *work, kern_error *err);

#endif
