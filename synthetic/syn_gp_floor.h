/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What predictions of a Gaussian-process batch are measured against: the sequential Bayes floor,
 * and simple predictors. Point n is predicted from the points before it and its own input.
 *
 * Squared errors and variances are [sequences][points], as syn_gp_score.h takes them.
 */
#ifndef BASIN_SYN_GP_FLOOR_H
#define BASIN_SYN_GP_FLOOR_H

#include "dyn/dyn_state.h"
#include "synthetic/syn_gp.h"

/* Nodes in ℓ and in s of the midpoint rule that a random hyper-parameter is averaged over; a fixed
 * one has one node. */
typedef struct syn_gp_floor_options {
    size_t lengthscales; /* 1 … 1024 */
    size_t scales;       /* 1 … 1024 */
    int workers;
    dyn_progress *progress; /* counts sequences; may be NULL */
    void *context;          /* of progress */
} syn_gp_floor_options;

/* 25 × 16 nodes, one worker. */
syn_gp_floor_options syn_gp_floor_options_default(void);

/* Bayes floor: the error of E[y_n | x, y_0 … y_{n−1}] under the task's prior. With e and L of node
 * g from L_g e_g = y, node g predicts with the error e_gn L_gnn and has the posterior weight
 *
 *   w_gn ∝ exp(Σ_{m<n} [−½ e_gm² − ln L_gmm])
 *
 * under a flat prior over the nodes; the errors of the mean are the weighted ones. `squared`
 * receives their squares, and `variance` (unless NULL) the predictive variances of y_n, whose
 * expectation is the same but which scatter less: Σ w (L² + error²) − (Σ w error)². For fixed
 * hyper-parameters these are (e_n L_nn)² and L_nn². Results do not depend on the workers.
 *
 * KERN_INVALID_ARGUMENT when the batch has another number of points than the task, or for options
 * out of domain; KERN_SINGULAR of syn_gp_factor; KERN_INTERRUPTED; KERN_NO_MEMORY. Cost N³/3 per
 * sequence and node. */
kern_status syn_gp_bayes(const syn_gp_task *task, const syn_gp_batch *batch,
                         const syn_gp_floor_options *options, double *squared, double *variance,
                         kern_error *err);

/* The floor for one who is told ℓ and s of every sequence, from what was drawn: (e_n L_nn)², and
 * L_nn² (unless NULL). It is the Bayes floor when both are fixed. */
void syn_gp_oracle(const syn_gp_batch *batch, double *squared, double *variance);

/* A predictor that knows no covariance. */
typedef struct syn_gp_reference {
    const char *name;
    const char *gloss;
    /* prediction[i] of y[i] from x[0 … i] and y[0 … i − 1], for n points. */
    void (*predict)(const syn_gp_task *task, const double *x, const double *y, size_t n,
                    double *prediction);
} syn_gp_reference;

/* The references by place, NULL beyond the last:
 *   zero      0
 *   nearest   the y of the nearest earlier input, of two the earlier; 0 without one
 *   smoother  Σ_j w_j y_j / (0.001 + Σ_j w_j) with w_j = exp(−(x_n − x_j)² / 2h²), h the task's
 *             bandwidth: one softmax over earlier points, with a sink of value 0 that tells when
 *             none is near */
const syn_gp_reference *syn_gp_reference_at(size_t index);

/* Squared errors of a reference on a batch. Cost N² per sequence. */
void syn_gp_reference_squared(const syn_gp_reference *reference, const syn_gp_task *task,
                              const syn_gp_batch *batch, double *squared);

#endif
