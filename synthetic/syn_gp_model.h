/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A regressor that the Gaussian-process benchmark trained, opened from the file of its state
 * (syn_gp_train.h), and sequences for it: what analyses and landscapes of such a model start from.
 */
#ifndef BASIN_SYN_GP_MODEL_H
#define BASIN_SYN_GP_MODEL_H

#include "models/model.h"
#include "synthetic/syn_gp.h"

#include <stdbool.h>

/* Zero-initialise; release with syn_gp_model_fini. */
typedef struct syn_gp_model {
    model *m;                /* owned, in double precision */
    const syn_gp_task *task; /* of the table */
    size_t step;             /* optimizer steps behind it */
} syn_gp_model;

/* True when the file at `path` is a state of the benchmark; false when it is anything else, or
 * cannot be read. */
bool syn_gp_model_is(const char *path);

/* KERN_NOT_FOUND when there is no file; KERN_BAD_INPUT, naming the file, when it is no such state,
 * or its configuration and weights do not hold together. */
kern_status syn_gp_model_init(syn_gp_model *out, const char *path, kern_error *err);

/* Safe on a zeroed one and when called twice. */
void syn_gp_model_fini(syn_gp_model *g);

/* A sequence of the task's evaluation stream and what the model's layers get of it. */
typedef struct syn_gp_sequence {
    size_t points;
    double *x, *y; /* the points, `points` numbers each; one owned block with rows */
    double *rows;  /* points × D, in front of the first layer */
} syn_gp_sequence;

/* The first `points` points (0: all) of the sequence 0 of (seed, "gp-eval"): no model has been
 * trained on it. KERN_INVALID_ARGUMENT for more points than the task has; KERN_NO_MEMORY; errors of
 * syn_gp_draw. */
kern_status syn_gp_sequence_init(syn_gp_sequence *out, const syn_gp_model *g, uint64_t seed,
                                 size_t points, kern_error *err);
void syn_gp_sequence_fini(syn_gp_sequence *s);

#endif
