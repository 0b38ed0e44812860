/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gaussian-process regression in context: sequences of points (x_i, y_i) whose values are to be
 * predicted one after the other.
 *
 *   f ~ GP(0, k),  k(x, x') = s² exp(−(x − x')² / 2ℓ²),  y_i = f(x_i) + σ ξ_i,  ξ_i ~ N(0, 1)
 *
 * With K̃ = K + (σ² + jitter) I = L Lᵀ over the points in order, a sequence is drawn as y = L e with
 * e ~ N(0, I). The same factor predicts it: e_n is the innovation of point n, L_nn the standard
 * deviation of y_n given y_0 … y_{n−1}, and e_n L_nn the error of the best prediction, so that the
 * Bayes floor of a batch comes with its draw.
 *
 * Sequence i of (seed, purpose) is a pure function of these three: it does not depend on the batch
 * it is drawn in, on what was drawn before, or on the number of workers. Its numbers come from
 * kern_rng_hash with the 64-bit key kern_rng_seed(seed, purpose, i), at fixed counters: ℓ, s, the
 * inputs, the innovations (by the transform of Box and Muller 1958). Two tasks with the same number
 * of points hence share inputs and innovations under one seed.
 *
 * Everything here is in double precision; syn_gp_tokens_f32 makes the tokens for training. The
 * tasks are proposals of this project: what the CEM paper (arXiv 2605.07588) used is not public.
 * GP-2 is the prior that transformer neural processes train on (Nguyen, Grover 2022).
 */
#ifndef BASIN_SYN_GP_H
#define BASIN_SYN_GP_H

#include "kernels/kern_status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SYN_GP_MAX_POINTS = 4096,
    SYN_GP_HARMONICS = 8,
    SYN_GP_FEATURES = 4 * SYN_GP_HARMONICS + 2, /* numbers of a token, 34 */
    SYN_GP_EVAL_SEQUENCES = 4096                /* size of a fixed evaluation set */
};

/* Purposes of the streams: what is trained on never comes up in an evaluation. */
#define SYN_GP_TRAIN "gp-train"
#define SYN_GP_EVAL  "gp-eval"

/* Where the inputs come from: independent and uniform on [x.low, x.high], in no order; or the time
 * series x_i = i · spacing · ℓ. */
typedef enum syn_gp_inputs { SYN_GP_UNIFORM, SYN_GP_SERIES } syn_gp_inputs;

/* A number drawn uniformly for every sequence; fixed when both ends are equal. */
typedef struct syn_gp_range {
    double low;
    double high;
} syn_gp_range;

typedef struct syn_gp_task {
    const char *name;
    const char *gloss;
    size_t points; /* N, 1 … SYN_GP_MAX_POINTS */
    syn_gp_inputs inputs;
    syn_gp_range x;           /* of uniform inputs */
    double spacing;           /* of a series, in lengthscales, above 0 */
    syn_gp_range lengthscale; /* ℓ, above 0 */
    syn_gp_range scale;       /* s, above 0 */
    double noise;             /* σ, from 0 */
    double jitter;            /* variance added to the diagonal, from 0 */
    double bandwidth;         /* of the reference smoother (syn_gp_floor.h), above 0 */
} syn_gp_task;

/* The tasks by place; NULL beyond the last. */
const syn_gp_task *syn_gp_task_at(size_t index);

/* The task of that name; KERN_INVALID_ARGUMENT lists the names. */
kern_status syn_gp_task_find(const syn_gp_task **task, const char *name, kern_error *err);

/* KERN_INVALID_ARGUMENT, naming the field, its value and what is accepted, unless every field is in
 * its domain. */
kern_status syn_gp_task_check(const syn_gp_task *task, kern_error *err);

/* Sequences, row by row. */
typedef struct syn_gp_batch {
    size_t sequences;
    size_t points;
    double *lengthscale; /* [sequences], owned; the other blocks stand behind it */
    double *scale;       /* [sequences] */
    double *x;           /* [sequences][points], as all that follow */
    double *y;
    double *innovation; /* e */
    double *sd;         /* L_nn: y_n = E[y_n | y_0 … y_{n−1}] + e_n L_nn */
} syn_gp_batch;

/* Room for a batch; zero it first. KERN_OVERFLOW, KERN_NO_MEMORY. */
kern_status syn_gp_batch_init(syn_gp_batch *batch, size_t sequences, size_t points,
                              kern_error *err);
void syn_gp_batch_fini(syn_gp_batch *batch);

/* A task with the workspaces of its workers, so that drawing allocates none for the sequences. */
typedef struct syn_gp syn_gp;

/* Copies the task, which is checked; `workers` below 1 are 1. KERN_NO_MEMORY. */
kern_status syn_gp_create(syn_gp **out, const syn_gp_task *task, int workers, kern_error *err);

/* Releases it; NULL is ignored. */
void syn_gp_destroy(syn_gp *gp);

/* Draws the sequences first … first + batch->sequences − 1 of (seed, purpose). The batch was made
 * for the task's number of points, KERN_INVALID_ARGUMENT otherwise; errors of syn_gp_factor. Cost
 * N³/3 per sequence. */
kern_status syn_gp_draw(syn_gp *gp, uint64_t seed, const char *purpose, uint64_t first,
                        syn_gp_batch *batch, kern_error *err);

/* Lower triangle of the correlations r_ij = exp(−(x_i − x_j)² / 2ℓ²), diagonal included, of n
 * inputs; `r` holds n·n numbers, and what is above the diagonal is not written. */
void syn_gp_correlate(const double *x, size_t n, double lengthscale, double *r);

/* Lower triangle L of s² R + (σ² + jitter) I = L Lᵀ from the correlations R at the lengthscale ℓ;
 * `l` may be `r`. KERN_SINGULAR when the matrix is not positive definite to rounding, naming the
 * lengthscale, the noise and the jitter. */
kern_status syn_gp_factor(const syn_gp_task *task, const double *r, double lengthscale,
                          double scale, double *l, kern_error *err);

/* Tokens of a batch. `features` receives [sequences][points][SYN_GP_FEATURES] numbers, `targets`
 * the y_i, [sequences][points]. Token i holds φ(x_i), φ(x_{i−1}), y_{i−1} and 1 when i = 0, else 0;
 * what has index −1 is 0. φ(x) = (sin ωx, …, sin 8ωx, cos ωx, …, cos 8ωx) with ω = π/4: it tells
 * inputs apart that lie within a period of 8. The target of token i is in no token before i + 1, so
 * a causal model sees none of what it predicts. */
void syn_gp_tokens_f32(const syn_gp_batch *batch, float *features, float *targets);

#endif
