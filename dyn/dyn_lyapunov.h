/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lyapunov exponents: mean growth rates of tangent vectors along an orbit, in natural logarithm
 * per step of the map, by repeated QR decomposition of a frame of k of them (Benettin, Galgani,
 * Giorgilli, Strelcyn 1980; Shimada, Nagashima 1979).
 *
 * With W_t = F′(x_t) Q_t = Q_{t+1} R_t, exponent i is the mean of ln (R_t)_ii over `steps` steps.
 * Before these, the state moves `ttr` steps alone, so that it is on the attractor, and then
 * `frame_ttr` steps together with the frame, which starts at random (Gaussian, seeded), so that the
 * frame is aligned. Both bias the result when they are left out.
 *
 * Conditional exponents of a block A of a map with blocks (a token, given the orbit of those before
 * it): tangent vectors have support in block A only, and of their images the part in block A is
 * kept, that is F′ is replaced by its diagonal block. The union over all blocks is the spectrum of
 * the whole map.
 *
 * Errors: consecutive windows of `window` steps give finite-time exponents; resampling whole
 * windows with replacement (Carlstein 1986) gives a standard error that allows for correlations up
 * to the length of a window.
 */
#ifndef BASIN_DYN_LYAPUNOV_H
#define BASIN_DYN_LYAPUNOV_H

#include "dyn/dyn_frame.h"
#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As `block`: the frame spans the whole state. */
#define DYN_LYAPUNOV_WHOLE DYN_FRAME_WHOLE

typedef struct dyn_lyapunov_options {
    size_t k;         /* exponents wanted, 1 … width of the frame */
    size_t steps;     /* steps that are averaged, at least 1 */
    size_t ttr;       /* steps of the state alone before */
    size_t frame_ttr; /* steps of state and frame before */
    size_t window;    /* steps of a window, at most `steps`; 0: the whole part of √steps */
    size_t resamples; /* of the bootstrap; below 2: no standard errors */
    size_t block;     /* DYN_LYAPUNOV_WHOLE, or the block the frame is confined to */
    double bound;     /* a larger coordinate is divergence */
    uint64_t seed;    /* of the first frame and of the bootstrap */
    int workers;      /* that share the frame in groups of DYN_MAP_GROUP vectors, below 1: one;
                       * bits do not depend on it */
    dyn_progress *progress; /* counts steps of all three parts; may be NULL */
    void *context;
} dyn_lyapunov_options;

/* k = 1, 10000 steps after 1000 and 200, window √steps, 200 resamples, the whole state, bound
 * DYN_DIVERGED, seed 1. */
dyn_lyapunov_options dyn_lyapunov_options_default(void);

typedef struct dyn_lyapunov {
    /* KERN_OK; KERN_NAN or KERN_DIVERGED when the orbit or a tangent vector was lost, and then all
     * exponents are NaN and `failed_step` counts the steps from the start up to there. */
    kern_status status;
    size_t failed_step;
    /* The orbit ended on a fixed point although the largest exponent is positive: rounding has
     * carried it there, as doubling maps do after some 55 steps, or it began on one. The exponents
     * are those of the point and say nothing about the attractor, and neither do their errors:
     * callers must not pass them on as a result. */
    bool collapsed;
    size_t k, steps, ttr, frame_ttr; /* as used */
    size_t window, n_windows;        /* the last steps % window steps are in no window */
    /* k numbers, descending; −∞ where a step was singular. */
    double *exponents;
    /* k numbers, NaN for fewer than 2 windows or resamples and beside an exponent of −∞. */
    double *standard_errors;
    /* n_windows × k, the columns in the order of `exponents`: finite-time exponents. */
    double *series;
    /* Mean of ln|det F′| (of the diagonal block, for a frame in a block): from the map's
     * log_abs_det, or else, when k is the full width, from LU decompositions of F′(x_t) Q_t. It
     * equals the sum of all exponents to rounding, which checks both. NaN otherwise. */
    double mean_log_abs_det;
    /* Exponents that are 0 as far as this run tells: no larger than their standard error, or than
     * (1 + ln steps)/steps, what growth in proportion to the time, as of the phase on an invariant
     * circle or of shear, comes to. */
    size_t n_neutral;
    /* Kaplan–Yorke dimension j + (λ_1 + … + λ_j) / |λ_{j+1}|, with j the largest number for which
     * that sum is not negative, and 0 for neutral exponents, since a sign that rounding decides
     * would move it by one; 0 when λ_1 < 0; the full width when all exponents are known and
     * their sum is zero to rounding. KERN_NOT_FOUND and NaN when the sums do not cross zero. */
    kern_status kaplan_yorke_status;
    double kaplan_yorke;
    /* The same of all exponents moved down, and up, by the larger of the two errors above; at most
     * the full width, and NaN when sums of fewer exponents do not cross zero. */
    double kaplan_yorke_low, kaplan_yorke_high;
} dyn_lyapunov;

/* Follows the orbit of x0 (map->size numbers, kept). *out is initialised here and released with
 * dyn_lyapunov_fini, which is harmless after a failure. Coordinates on circles are kept reduced.
 * Equal options give equal bits. KERN_INVALID_ARGUMENT when k is 0 or larger than the width of the
 * frame (map->size, or map->block_width), or another option is outside its domain;
 * KERN_INTERRUPTED; KERN_NO_MEMORY. A lost orbit is an outcome, not an error.
 * Cost per step: k products by the Jacobian (dyn_map_jvp_many) and 4nk² for the QR, n the width;
 * memory: the frame, about n·(k + 4) numbers, for a frame in a block DYN_MAP_GROUP + 1 states per
 * worker, another n² when log|det| comes from LU, and n_windows·k. Nothing is allocated while
 * stepping. */
kern_status dyn_lyapunov_init(dyn_lyapunov *out, dyn_map *map, const double *x0,
                              const dyn_lyapunov_options *options, kern_error *err);
void dyn_lyapunov_fini(dyn_lyapunov *out);

#endif
