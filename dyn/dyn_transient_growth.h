/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Transient growth of a matrix A: max ‖A^m‖₂ over 1 ≤ m ≤ horizon, how much a perturbation can grow
 * before it decays although the spectral radius is below 1 (Trefethen and Embree 2005).
 *
 * Singular values cost more than all else. Since ‖A^m‖₂ ≤ ‖A^m‖_F, they are computed only for
 * powers whose Frobenius norm is not below the largest 2-norm found so far, the likeliest power
 * first; the result is that of computing all of them.
 */
#ifndef BASIN_DYN_TRANSIENT_GROWTH_H
#define BASIN_DYN_TRANSIENT_GROWTH_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* Asked between powers whether to go on; NULL: for ever. */
typedef struct dyn_transient_growth_watch {
    bool (*goes_on)(void *context);
    void *context;
} dyn_transient_growth_watch;

/* Numbers of workspace for an n×n matrix. */
size_t dyn_transient_growth_work(size_t n);

/* *growth receives the maximum for the n×n matrix `a`, row-major and kept, and *step the first m
 * that attains it. A power with an entry that is not finite gives ∞ and its m. A horizon of 0 gives
 * NaN and 0. `work` holds dyn_transient_growth_work(n) numbers and may not overlap `a`.
 * KERN_INTERRUPTED when `watch` (may be NULL) says so; KERN_NO_MEMORY, KERN_NOT_CONVERGED from the
 * singular values. Cost: at most two products per power, and O(n³) for each power that may be the
 * largest. */
kern_status dyn_transient_growth_find(const double *a, size_t n, size_t horizon, double *work,
                                      const dyn_transient_growth_watch *watch, double *growth,
                                      size_t *step, kern_error *err);

#endif
