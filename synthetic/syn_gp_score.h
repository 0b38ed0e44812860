/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Errors of predictions over a span of points, with what chance adds to them.
 *
 * An average over points is the square root of the squared error pooled over sequences and points.
 * Sequences are independent and points of one are not, so standard errors come from the scatter of
 * the sequences' mean squared errors, carried through the root by its derivative.
 */
#ifndef BASIN_SYN_GP_SCORE_H
#define BASIN_SYN_GP_SCORE_H

#include "kernels/kern_status.h"

#include <stddef.h>

/* Points first … last, counted by the number of points observed before them. */
typedef struct syn_gp_span {
    const char *name; /* "1-63", "8" */
    size_t first;
    size_t last;
} syn_gp_span;

/* The spans that the benchmark reports, for sequences of 64 points: 1-63, 8-63, 8, 16, 32, 63. NULL
 * beyond the last. */
const syn_gp_span *syn_gp_span_at(size_t index);

/* A root mean square and its standard error (NaN for a single sequence). */
typedef struct syn_gp_score {
    double value;
    double error;
} syn_gp_score;

/* Root of the mean of `squared` ([sequences][points]) over the span. KERN_INVALID_ARGUMENT when the
 * span is not within the points or there is no sequence. */
kern_status syn_gp_score_rms(syn_gp_score *score, const double *squared, size_t sequences,
                             size_t points, const syn_gp_span *span, kern_error *err);

/* Excess over a floor on the same sequences: the root of the mean of squared − floor, negative when
 * that mean is (a finite set can fall below its floor). For predictions it is the distance to the
 * best ones, without the part that nobody can predict. The standard error is that of the paired
 * differences; NaN where the excess is 0. */
kern_status syn_gp_score_excess(syn_gp_score *score, const double *squared, const double *floor,
                                size_t sequences, size_t points, const syn_gp_span *span,
                                kern_error *err);

#endif
