/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The 0–1 test for chaos of a series of numbers (Gottwald, Melbourne 2009, SIAM Journal on Applied
 * Dynamical Systems 8): it needs no tangent vectors and no embedding.
 *
 * For an angle c the series φ drives a walk in the plane,
 *   p(n) = Σ_{j≤n} φ_j cos jc,   q(n) = Σ_{j≤n} φ_j sin jc,
 * which stays bounded for a regular series and spreads like Brownian motion for a chaotic one. Its
 * mean square displacement over n steps, less a term that only oscillates,
 *   D(n) = mean_j ((p_{j+n} − p_j)² + (q_{j+n} − q_j)²) − (mean φ)² (1 − cos nc)/(1 − cos c),
 * is correlated with n = 1 … N/10: K_c is near 0 or near 1. The result is the median of K_c over
 * angles drawn from (π/5, 4π/5), since an angle in resonance with the series misleads.
 *
 * A series that is sampled so densely that neighbours hardly differ looks regular however chaotic
 * it is; then every m-th value has to be taken.
 */
#ifndef BASIN_DYN_ZERO_ONE_H
#define BASIN_DYN_ZERO_ONE_H

#include "dyn/dyn_chaos.h"
#include "dyn/dyn_state.h"
#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DYN_ZERO_ONE_LEAST = 100 }; /* shortest series */

/* Verdicts: regular at or below the first, chaotic at or above the second. */
#define DYN_ZERO_ONE_REGULAR 0.2
#define DYN_ZERO_ONE_CHAOTIC 0.8

/* Range of the series over its mean step beyond which it is sampled too densely (Melosik,
 * Marszalek 2016). */
#define DYN_ZERO_ONE_DENSE 10.0

typedef struct dyn_zero_one_options {
    size_t n_angles;        /* at least 1 */
    uint64_t seed;          /* of the angles, each from a stream of its own */
    int workers;            /* below 1: one */
    dyn_progress *progress; /* counts angles; may be NULL */
    void *context;
} dyn_zero_one_options;

/* 100 angles, seed 1, one worker. */
dyn_zero_one_options dyn_zero_one_options_default(void);

typedef struct dyn_zero_one {
    double value;     /* median of K_c, from −1 to 1 */
    double low, high; /* quartiles of K_c */
    double range_step; /* (max φ − min φ) / mean |φ_{n+1} − φ_n|; ∞ for a constant series */
    bool oversampled; /* that is above DYN_ZERO_ONE_DENSE, and the series is not constant */
    /* Of the median. A series that is constant to 1e-10 of its size, whose walk would be one of
     * rounding errors, is regular with value 0; one that is sampled too densely is never called
     * regular but undecided. */
    dyn_chaos verdict;
    size_t n_angles;
    double *angles; /* n_angles, owned */
    double *k;      /* n_angles, K of each angle, owned */
} dyn_zero_one;

/* Tests the n values. *out is initialised here and released with dyn_zero_one_fini, which is
 * harmless after a failure. Equal options give equal bits for any number of workers.
 * KERN_INVALID_ARGUMENT for fewer than DYN_ZERO_ONE_LEAST values and for no angles; KERN_NAN when a
 * value is not finite; KERN_INTERRUPTED; KERN_NO_MEMORY. Cost: n²/10 for each angle; memory: 3 n
 * numbers for each worker. */
kern_status dyn_zero_one_init(dyn_zero_one *out, const double *values, size_t n,
                              const dyn_zero_one_options *options, kern_error *err);
void dyn_zero_one_fini(dyn_zero_one *out);

#endif
