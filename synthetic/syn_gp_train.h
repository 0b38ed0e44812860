/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training of a regressor (models/model_regressor.h) on fresh sequences of a Gaussian-process task,
 * in single precision, by one thread.
 *
 * Step t draws sequences t·batch … (t+1)·batch − 1 of (seed, "gp-train"), so that models under one
 * seed see the same data whatever their size, and differentiates
 *
 *   (1 / (batch (N − 1))) Σ_b Σ_{i ≥ 1} (ŷ_bi − y_bi)²:
 *
 * point 0, of which nothing is known, is left out. AdamW follows. The data are a function of the
 * step number, so that a state is the weights, two moments and a step, and training continued from
 * a file ends with the same bits as training that was never interrupted. Trainers are independent:
 * several may run side by side, each in its own thread.
 */
#ifndef BASIN_SYN_GP_TRAIN_H
#define BASIN_SYN_GP_TRAIN_H

#include "models/model.h"
#include "models/model_optimizer.h"
#include "models/model_schedule.h"
#include "synthetic/syn_gp.h"

#include <stdbool.h>

typedef struct syn_gp_training {
    size_t batch;       /* sequences per step, 1 … 2²⁰ */
    size_t micro_batch; /* sequences treated at once; divides the batch; changes rounding only */
    model_schedule schedule;
    model_adamw adamw;
    /* Of the Gaussian matrices of layers at the start; 0: 1/√D. The 0.02 of language models, which
     * are wider, learns slowly here. */
    double deviation;
    uint64_t seed; /* of initial values and data */
} syn_gp_training;

/* 64 sequences, 20,000 steps of cosine from 2e-3 to 5 % of it after 100 steps of warm-up, β = (0.9,
 * 0.95), weight decay 0.01 on matrices only, clipping at 1 (a proposal of this project). */
syn_gp_training syn_gp_training_default(void);

/* KERN_INVALID_ARGUMENT, naming what is out of its domain. */
kern_status syn_gp_training_check(const syn_gp_training *training, kern_error *err);

typedef struct syn_gp_trainer syn_gp_trainer;

/* A new model for `config`, a stack, with initial values of the seed. The task, which is copied,
 * has at least two points. Errors of syn_gp_training_check, syn_gp_create and
 * model_regressor_create; KERN_NO_MEMORY. */
kern_status syn_gp_trainer_create(syn_gp_trainer **out, const syn_gp_task *task,
                                  const model_config *config, const syn_gp_training *training,
                                  kern_error *err);
void syn_gp_trainer_destroy(syn_gp_trainer *t);

/* Steps done, and the model as it stands; both live as long as the trainer. */
size_t syn_gp_trainer_steps(const syn_gp_trainer *t);
const model *syn_gp_trainer_model(const syn_gp_trainer *t);

/* One optimizer step; *loss (may be NULL) receives the mean squared error of its batch before it.
 * KERN_NAN when loss or gradient is not finite; the weights are then unchanged. Errors of
 * syn_gp_draw. */
kern_status syn_gp_trainer_step(syn_gp_trainer *t, double *loss, kern_error *err);

/* Writes weights, moments and step to `path`, atomically, with `recipe`, a text that says what is
 * trained. Errors of model_safetensors_write. */
kern_status syn_gp_trainer_save(const syn_gp_trainer *t, const char *path, const char *recipe,
                                kern_error *err);

/* Continues from such a file. KERN_NOT_FOUND without one; KERN_BAD_INPUT, naming the file, for one
 * with another recipe or other shapes, or numbers that are not finite; then the trainer is as
 * before or must be destroyed. */
kern_status syn_gp_trainer_load(syn_gp_trainer *t, const char *path, const char *recipe,
                                kern_error *err);

/* Steps behind the state in such a file, 0 without one. KERN_BAD_INPUT as syn_gp_trainer_load, for
 * what can be told without the model. */
kern_status syn_gp_state_steps(size_t *steps, const syn_gp_training *training, const char *path,
                               const char *recipe, kern_error *err);

/* Squared errors of a model's predictions of a batch, [sequences][points], point 0 included, with
 * layers built by `config` (NULL: the model's own; see model_regressor_options). One thread. Errors
 * of model_regressor_init; KERN_NO_MEMORY. */
kern_status syn_gp_predict_squared(const model *m, const model_config *config,
                                   const syn_gp_batch *batch, double *squared, kern_error *err);

#endif
