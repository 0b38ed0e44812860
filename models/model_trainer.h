/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training in single precision: one step draws a batch of windows, differentiates the mean
 * next-token loss and applies AdamW.
 *
 * With enough sequences the batch is split among lanes, each with its own buffers and
 * single-threaded kernels; else one lane runs kernels that split rows, heads or columns. Either way
 * a run is repeatable bit for bit for a given number of threads.
 */
#ifndef BASIN_MODEL_TRAINER_H
#define BASIN_MODEL_TRAINER_H

#include "kernels/kern_exec.h"
#include "models/model.h"
#include "models/model_data.h"
#include "models/model_graph.h"
#include "models/model_optimizer.h"
#include "models/model_schedule.h"

typedef struct model_training {
    size_t batch;       /* windows per step */
    size_t window;      /* tokens per window */
    size_t micro_batch; /* windows a lane treats at once; 0: chosen */
    model_schedule schedule;
    model_adamw adamw;
    bool recompute; /* forget activations of a step and compute them again */
    int threads;
    uint64_t seed;
} model_training;

/* Defaults: 64 windows of 64 tokens, 6,000 steps of cosine from 2e-3 to 2e-4 after 100 steps of
 * warm-up, β = (0.9, 0.99), weight decay 0.01 on matrices only, clipping at 1. */
model_training model_training_default(void);

kern_status model_training_check(const model_training *training, kern_error *err);

typedef struct model_lane {
    kern_exec *exec;
    float *gradients; /* params.length, owned */
    double loss;      /* sum of this lane's losses in the current batch */
    kern_profile profile;
} model_lane;

typedef struct model_trainer {
    model *m; /* borrowed; f32 */
    model_training settings;
    model_graph graph;
    kern_plan *plan;
    model_lane *lanes;
    int n_lanes;
    float *packed;
    model_optimizer optimizer;
    model_sampler sampler;
    int32_t *idx; /* batch × window */
    int32_t *targets;
    size_t step;    /* steps done */
    bool profiling; /* fill the lanes' profiles */
} model_trainer;

typedef struct model_step_report {
    double loss; /* mean over the batch, nats per token */
    double rate;
    double gradient_norm;
} model_step_report;

/* `m` must be in single precision; `m` and `stream` must outlive the trainer. Checks the settings,
 * the window against the stream's training part and the model's block, and the vocabulary. */
kern_status model_trainer_create(model_trainer **out, model *m, const model_stream *stream,
                                 const model_training *settings, kern_error *err);
void model_trainer_destroy(model_trainer *t);

/* One optimizer step. KERN_NAN when loss or gradient is not finite; the weights are then unchanged.
 */
kern_status model_trainer_step(model_trainer *t, model_step_report *report, kern_error *err);

/* Mean loss over `batches` batches of windows of `part`, drawn from stream (seed, part) afresh, so
 * that every call measures the same windows; dropout is off. Weights are not touched.
 * KERN_INVALID_ARGUMENT for no batches; KERN_BAD_INPUT when the part is shorter than a window or
 * has tokens that the model does not know. */
kern_status model_trainer_evaluate(model_trainer *t, const model_stream *stream, model_part part,
                                   size_t batches, double *loss, kern_error *err);

/* Floating-point operations per token that training needs (three forward passes of the graph's
 * products). */
double model_trainer_flops_per_token(const model_trainer *t);

#endif
