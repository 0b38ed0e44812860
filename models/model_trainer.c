/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_trainer.h"

#include "kernels/kern_memory.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

model_training model_training_default(void)
{
    return (model_training){
        .batch = 64,
        .window = 64,
        .schedule = {.kind = MODEL_SCHEDULE_COSINE,
                     .peak = 2e-3,
                     .floor = 2e-4,
                     .warmup = 100,
                     .total = 6000},
        .adamw = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.01, .clip = 1.0},
        .threads = kern_parallel_processors(),
        .seed = 1,
    };
}

static kern_status check_adamw(const model_adamw *a, kern_error *err)
{
    /* The update runs in single precision, where the bounds must hold too. */
    if (!(a->beta1 >= 0.0) || !((float)a->beta1 < 1.0F) || !(a->beta2 >= 0.0) ||
        !((float)a->beta2 < 1.0F)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "AdamW's β = (%g, %g) must both lie in 0 ≤ β < 1", a->beta1, a->beta2);
    }
    if (!((float)a->epsilon > 0.0F) || !isfinite(a->epsilon) || !(a->weight_decay >= 0.0) ||
        !(a->clip >= 0.0) || !isfinite(a->weight_decay) || !isfinite(a->clip)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "AdamW takes ε > 0, weight decay ≥ 0 and clipping ≥ 0, not %g, %g, %g",
                          a->epsilon, a->weight_decay, a->clip);
    }
    return KERN_OK;
}

kern_status model_training_check(const model_training *t, kern_error *err)
{
    if (t->batch == 0 || t->window == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a batch of %zu windows of %zu tokens is empty", t->batch, t->window);
    }
    if (t->micro_batch > t->batch || (t->micro_batch != 0 && t->batch % t->micro_batch != 0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a micro-batch of %zu windows does not divide the batch of %zu",
                          t->micro_batch, t->batch);
    }
    if (t->threads < 1 || t->threads > 4096) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%d threads are not between 1 and 4096",
                          t->threads);
    }
    KERN_TRY(check_adamw(&t->adamw, err));
    return model_schedule_check(&t->schedule, err);
}

/* ---- construction --------------------------------------------------------------------------- */

/* One window at a time keeps a lane's activations in its cache; too few windows for the threads
 * means one lane for the whole batch. */
static void choose_split(model_trainer *t)
{
    model_training *s = &t->settings;
    if (s->micro_batch == 0) {
        s->micro_batch = s->batch >= (size_t)s->threads ? 1 : s->batch;
    }
    const size_t micro_batches = s->batch / s->micro_batch;
    t->n_lanes = micro_batches >= (size_t)s->threads ? s->threads : 1;
}

static kern_status build_plan(model_trainer *t, kern_error *err)
{
    const model_graph_options options = {.batch = t->settings.micro_batch,
                                         .tokens = t->settings.window,
                                         .steps = t->m->config.n_layer,
                                         .start = MODEL_START_TOKENS,
                                         .loss = true};
    KERN_TRY(model_graph_init(&t->graph, t->m, &options, err));
    const kern_plan_options plan = {.mode = KERN_MODE_VJP,
                                    .recompute = t->settings.recompute,
                                    .params = true,
                                    .seeds = &t->graph.nll,
                                    .n_seeds = 1};
    return kern_plan_create(&t->plan, t->graph.graph, &plan, err);
}

static kern_status build_lanes(model_trainer *t, kern_error *err)
{
    const size_t length = t->m->params.length;
    const int workers = t->n_lanes == 1 ? t->settings.threads : 1;
    t->lanes = calloc((size_t)t->n_lanes, sizeof *t->lanes);
    if (t->lanes == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %d lanes", t->n_lanes);
    }
    for (int i = 0; i < t->n_lanes; i++) {
        KERN_TRY(kern_exec_create(&t->lanes[i].exec, t->plan, t->m->backend, workers, err));
        t->lanes[i].gradients = kern_memory_zeroed(length, sizeof(float));
        if (t->lanes[i].gradients == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu gradients", length);
        }
    }
    return KERN_OK;
}

static kern_status build_buffers(model_trainer *t, kern_error *err)
{
    size_t tokens;
    if (!kern_size_mul(t->settings.batch, t->settings.window, &tokens)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu windows of %zu tokens are too many",
                          t->settings.batch, t->settings.window);
    }
    t->packed = kern_memory_create(kern_graph_pack_count(t->graph.graph), sizeof(float));
    t->idx = calloc(tokens, sizeof *t->idx);
    t->targets = calloc(tokens, sizeof *t->targets);
    if (t->packed == NULL || t->idx == NULL || t->targets == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a batch of %zu tokens", tokens);
    }
    return KERN_OK;
}

static kern_status check_vocabulary(const model *m, const model_stream *stream, kern_error *err)
{
    if (stream->vocab_size > m->config.vocab_size) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the data has %zu different tokens, the model knows %zu",
                          stream->vocab_size, m->config.vocab_size);
    }
    return KERN_OK;
}

static kern_status check_model(const model *m, const model_stream *stream, const model_training *s,
                               kern_error *err)
{
    KERN_TRY(model_training_check(s, err));
    if (m->backend->real_size != sizeof(float)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "training needs a single-precision model");
    }
    if (s->window > m->config.block_size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a window of %zu tokens is longer than the model's block of %zu",
                          s->window, m->config.block_size);
    }
    return check_vocabulary(m, stream, err);
}

static kern_status build(model_trainer *t, const model_stream *stream, kern_error *err)
{
    const model_training *s = &t->settings;
    choose_split(t);
    KERN_TRY(build_plan(t, err));
    KERN_TRY(build_lanes(t, err));
    KERN_TRY(build_buffers(t, err));
    KERN_TRY(model_optimizer_init(&t->optimizer, &t->m->params, &s->adamw, err));
    return model_sampler_init(&t->sampler, stream, MODEL_PART_TRAIN, s->batch, s->window, s->seed,
                              err);
}

kern_status model_trainer_create(model_trainer **out, model *m, const model_stream *stream,
                                 const model_training *settings, kern_error *err)
{
    *out = NULL;
    KERN_TRY(check_model(m, stream, settings, err));
    model_trainer *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a trainer");
    }
    t->m = m;
    t->settings = *settings;
    const kern_status status = build(t, stream, err);
    if (status != KERN_OK) {
        model_trainer_destroy(t);
        return status;
    }
    *out = t;
    return KERN_OK;
}

void model_trainer_destroy(model_trainer *t)
{
    if (t == NULL) {
        return;
    }
    for (int i = 0; t->lanes != NULL && i < t->n_lanes; i++) {
        kern_exec_destroy(t->lanes[i].exec);
        free(t->lanes[i].gradients);
    }
    free(t->lanes);
    model_sampler_fini(&t->sampler);
    model_optimizer_fini(&t->optimizer);
    kern_plan_destroy(t->plan);
    model_graph_fini(&t->graph);
    free(t->packed);
    free(t->idx);
    free(t->targets);
    free(t);
}

/* ---- running -------------------------------------------------------------------------------- */

typedef struct batch_task {
    model_trainer *t;
    bool backward;
    uint64_t dropout_key;
} batch_task;

static void write_seeds(const model_trainer *t, const model_lane *lane, size_t rows)
{
    float *seed = kern_exec_derivative(lane->exec, t->graph.nll);
    const float weight = (float)(1.0 / ((double)t->settings.batch * (double)t->settings.window));
    for (size_t i = 0; i < rows; i++) {
        seed[i] = weight;
    }
}

static double sum_losses(const model_trainer *t, const model_lane *lane, size_t rows)
{
    const float *nll = kern_exec_value(lane->exec, t->graph.nll);
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
        sum += (double)nll[i];
    }
    return sum;
}

static void run_micro_batch(const batch_task *task, model_lane *lane, size_t index)
{
    const model_trainer *t = task->t;
    const size_t rows = t->settings.micro_batch * t->settings.window;
    kern_run run = {.params = t->m->values,
                    .packed = t->packed,
                    .param_gradients = lane->gradients,
                    .profile = t->profiling ? &lane->profile : NULL};
    run.bindings.index[MODEL_SLOT_TOKENS] = t->idx + index * rows;
    run.bindings.index[MODEL_SLOT_TARGETS] = t->targets + index * rows;
    if (task->dropout_key != 0) {
        run.bindings.dropout_key = kern_rng_hash(task->dropout_key, index) | 1U;
    }
    kern_exec_forward(lane->exec, &run);
    lane->loss += sum_losses(t, lane, rows);
    if (task->backward) {
        write_seeds(t, lane, rows);
        kern_exec_backward(lane->exec, &run);
    }
}

static void lane_worker(void *context, int worker, int workers)
{
    const batch_task *task = context;
    const size_t micro_batches = task->t->settings.batch / task->t->settings.micro_batch;
    model_lane *lane = &task->t->lanes[worker];
    size_t begin;
    size_t end;
    kern_parallel_share(micro_batches, 1, worker, workers, &begin, &end);
    lane->loss = 0;
    for (size_t i = begin; i < end; i++) {
        run_micro_batch(task, lane, i);
    }
}

/* Mean loss of the batch in idx and targets; with `backward`, gradients are left in the lanes. */
static double run_batch(model_trainer *t, bool backward, uint64_t dropout_key)
{
    batch_task task = {.t = t, .backward = backward, .dropout_key = dropout_key};
    if (t->n_lanes == 1) {
        lane_worker(&task, 0, 1);
    } else {
        kern_parallel_run(t->n_lanes, lane_worker, &task);
    }
    double loss = 0;
    for (int i = 0; i < t->n_lanes; i++) {
        loss += t->lanes[i].loss;
    }
    return loss / ((double)t->settings.batch * (double)t->settings.window);
}

static void pack_weights(model_trainer *t)
{
    kern_graph_pack(t->graph.graph, t->m->backend, t->packed, t->m->values, t->settings.threads);
}

/* What a failed step has added must not reach the next one. */
static void clear_gradients(model_trainer *t)
{
    for (int i = 0; i < t->n_lanes; i++) {
        memset(t->lanes[i].gradients, 0, t->m->params.length * sizeof(float));
    }
}

kern_status model_trainer_step(model_trainer *t, model_step_report *report, kern_error *err)
{
    enum { MAX_LANES = 4096 };
    float *gradients[MAX_LANES];
    const uint64_t key =
        t->m->config.dropout > 0.0 ? kern_rng_seed(t->settings.seed, "dropout", t->step) : 0;
    model_sampler_draw(&t->sampler, t->idx, t->targets);
    pack_weights(t);
    report->loss = run_batch(t, true, key);
    report->rate = model_schedule_rate(&t->settings.schedule, t->step);
    if (!isfinite(report->loss)) {
        clear_gradients(t);
        return kern_raise(err, KERN_NAN, "the loss is not finite at step %zu", t->step);
    }
    for (int i = 0; i < t->n_lanes; i++) {
        gradients[i] = t->lanes[i].gradients;
    }
    KERN_TRY(model_optimizer_step(&t->optimizer, t->m->values, gradients, (size_t)t->n_lanes,
                                  report->rate, t->settings.threads, &report->gradient_norm, err));
    t->step++;
    return KERN_OK;
}

kern_status model_trainer_evaluate(model_trainer *t, const model_stream *stream, model_part part,
                                   size_t batches, double *loss, kern_error *err)
{
    model_sampler sampler;
    if (batches == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a loss cannot be measured on 0 batches, use 1 or more");
    }
    KERN_TRY(check_vocabulary(t->m, stream, err));
    KERN_TRY(model_sampler_init(&sampler, stream, part, t->settings.batch, t->settings.window,
                                t->settings.seed, err));
    pack_weights(t);
    double sum = 0;
    for (size_t i = 0; i < batches; i++) {
        model_sampler_draw(&sampler, t->idx, t->targets);
        sum += run_batch(t, false, 0);
    }
    model_sampler_fini(&sampler);
    *loss = sum / (double)batches;
    return KERN_OK;
}

double model_trainer_flops_per_token(const model_trainer *t)
{
    const double tokens = (double)t->settings.micro_batch * (double)t->settings.window;
    return 3.0 * kern_graph_flops(t->graph.graph) / tokens;
}
