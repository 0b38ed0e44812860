/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_gp_train.h"

#include "kernels/kern_exec.h"
#include "kernels/kern_memory.h"
#include "kernels/kern_size.h"
#include "models/model_regressor.h"
#include "models/model_safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_MAX = 1 << 20,
    MICRO_BATCH = 1, /* keeps the activations of a step in a core's cache */
    NUMBER_TEXT = 32
};

syn_gp_training syn_gp_training_default(void)
{
    return (syn_gp_training){
        .batch = 64,
        .micro_batch = MICRO_BATCH,
        .schedule = {.kind = MODEL_SCHEDULE_COSINE,
                     .peak = 2e-3,
                     .floor = 1e-4,
                     .warmup = 100,
                     .total = 20000},
        .adamw = {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.01, .clip = 1.0},
        .seed = 1,
    };
}

kern_status syn_gp_training_check(const syn_gp_training *t, kern_error *err)
{
    const model_adamw *a = &t->adamw;
    if (t->batch < 1 || t->batch > BATCH_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a batch of %zu sequences is not possible; accepted are 1 to %d",
                          t->batch, BATCH_MAX);
    }
    if (t->micro_batch < 1 || t->batch % t->micro_batch != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a micro-batch of %zu sequences does not divide the batch of %zu",
                          t->micro_batch, t->batch);
    }
    if (!(a->beta1 >= 0.0 && a->beta1 < 1.0 && a->beta2 >= 0.0 && a->beta2 < 1.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "AdamW's β = (%g, %g) must both lie in 0 ≤ β < 1", a->beta1, a->beta2);
    }
    if (!(a->epsilon > 0.0 && a->weight_decay >= 0.0 && a->clip >= 0.0) || !isfinite(a->epsilon) ||
        !isfinite(a->weight_decay) || !isfinite(a->clip)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "AdamW takes ε > 0, weight decay ≥ 0 and clipping ≥ 0, not %g, %g, %g",
                          a->epsilon, a->weight_decay, a->clip);
    }
    if (!(t->deviation >= 0.0) || !isfinite(t->deviation)) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "matrices cannot start with a deviation of %g; accepted are finite numbers "
            "from 0",
            t->deviation);
    }
    return model_schedule_check(&t->schedule, err);
}

/* ---- a graph that can be run ---------------------------------------------------------------- */

/* A regressor's graph with memory for one micro-batch. */
typedef struct gp_engine {
    const model *m; /* borrowed */
    model_regressor graph;
    kern_plan *plan;
    kern_exec *exec;
    void *packed;
    size_t rows;
} gp_engine;

static void engine_fini(gp_engine *e)
{
    kern_exec_destroy(e->exec);
    kern_plan_destroy(e->plan);
    model_regressor_fini(&e->graph);
    free(e->packed);
    *e = (gp_engine){0};
}

static kern_status engine_build(gp_engine *e, const model_regressor_options *o, kern_error *err)
{
    KERN_TRY(model_regressor_init(&e->graph, e->m, o, err));
    const kern_plan_options plan = {.mode = o->loss ? KERN_MODE_VJP : KERN_MODE_FORWARD,
                                    .params = o->loss,
                                    .seeds = &e->graph.error,
                                    .n_seeds = o->loss ? 1 : 0};
    KERN_TRY(kern_plan_create(&e->plan, e->graph.graph, &plan, err));
    KERN_TRY(kern_exec_create(&e->exec, e->plan, e->m->backend, 1, err));
    const size_t count = kern_graph_pack_count(e->graph.graph);
    e->packed = kern_memory_create(count, e->m->backend->real_size);
    if (e->packed == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for copies of %zu weights", count);
    }
    return KERN_OK;
}

static kern_status engine_init(gp_engine *e, const model *m, const model_regressor_options *o,
                               kern_error *err)
{
    *e = (gp_engine){.m = m, .rows = o->batch * o->tokens};
    const kern_status status = engine_build(e, o, err);
    if (status != KERN_OK) {
        engine_fini(e);
    }
    return status;
}

static void engine_pack(gp_engine *e)
{
    kern_graph_pack(e->graph.graph, e->m->backend, e->packed, e->m->values, 1);
}

/* Sequences first … first + count − 1 of a batch, borrowed. */
static syn_gp_batch slice(const syn_gp_batch *batch, size_t first, size_t count)
{
    const size_t at = first * batch->points;
    return (syn_gp_batch){.sequences = count,
                          .points = batch->points,
                          .lengthscale = batch->lengthscale + first,
                          .scale = batch->scale + first,
                          .x = batch->x + at,
                          .y = batch->y + at,
                          .innovation = batch->innovation + at,
                          .sd = batch->sd + at};
}

/* ---- trainer -------------------------------------------------------------------------------- */

struct syn_gp_trainer {
    syn_gp_training settings;
    syn_gp *gp;
    syn_gp_batch batch;
    model *m;
    gp_engine engine;
    model_optimizer optimizer;
    float *gradients; /* params.length */
    size_t step;
};

/* Point 0 has weight 0, and every other one that of the mean. */
static void write_weights(const gp_engine *e, size_t points, size_t sequences)
{
    float *weights = kern_exec_value(e->exec, e->graph.weights);
    const float share = (float)(1.0 / ((double)sequences * (double)(points - 1)));
    for (size_t r = 0; r < e->rows; r++) {
        weights[r] = r % points == 0 ? 0.0F : share;
    }
}

static kern_status trainer_build(syn_gp_trainer *t, const syn_gp_task *task,
                                 const model_config *config, kern_error *err)
{
    const syn_gp_training *s = &t->settings;
    const double deviation =
        s->deviation > 0.0 ? s->deviation : 1.0 / sqrt((double)config->n_embed);
    KERN_TRY(syn_gp_create(&t->gp, task, 1, err));
    KERN_TRY(syn_gp_batch_init(&t->batch, s->batch, task->points, err));
    KERN_TRY(model_regressor_create(&t->m, config, SYN_GP_FEATURES, deviation,
                                    &kern_backend_cpu_f32, err));
    KERN_TRY(model_init_values(t->m, s->seed, err));
    const model_regressor_options o = {
        .batch = s->micro_batch, .tokens = task->points, .loss = true};
    KERN_TRY(engine_init(&t->engine, t->m, &o, err));
    write_weights(&t->engine, task->points, s->batch);
    KERN_TRY(model_optimizer_init(&t->optimizer, &t->m->params, &s->adamw, err));
    t->gradients = calloc(t->m->params.length, sizeof *t->gradients);
    if (t->gradients == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu gradients", t->m->params.length);
    }
    return KERN_OK;
}

kern_status syn_gp_trainer_create(syn_gp_trainer **out, const syn_gp_task *task,
                                  const model_config *config, const syn_gp_training *training,
                                  kern_error *err)
{
    *out = NULL;
    KERN_TRY(syn_gp_training_check(training, err));
    if (task->points < 2) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "sequences of %zu points leave nothing to predict; accepted are 2 or more",
            task->points);
    }
    syn_gp_trainer *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a trainer");
    }
    t->settings = *training;
    const kern_status status = trainer_build(t, task, config, err);
    if (status != KERN_OK) {
        syn_gp_trainer_destroy(t);
        return status;
    }
    *out = t;
    return KERN_OK;
}

void syn_gp_trainer_destroy(syn_gp_trainer *t)
{
    if (t == NULL) {
        return;
    }
    free(t->gradients);
    model_optimizer_fini(&t->optimizer);
    engine_fini(&t->engine);
    model_destroy(t->m);
    syn_gp_batch_fini(&t->batch);
    syn_gp_destroy(t->gp);
    free(t);
}

size_t syn_gp_trainer_steps(const syn_gp_trainer *t)
{
    return t->step;
}

const model *syn_gp_trainer_model(const syn_gp_trainer *t)
{
    return t->m;
}

/* Adds the gradients of one micro-batch and returns its share of the mean. */
static double run_micro_batch(const syn_gp_trainer *t, size_t first)
{
    const gp_engine *e = &t->engine;
    const syn_gp_batch part = slice(&t->batch, first, t->settings.micro_batch);
    const kern_run run = {
        .params = t->m->values, .packed = e->packed, .param_gradients = t->gradients};
    syn_gp_tokens_f32(&part, kern_exec_value(e->exec, e->graph.features),
                      kern_exec_value(e->exec, e->graph.targets));
    kern_exec_forward(e->exec, &run);
    const float *error = kern_exec_value(e->exec, e->graph.error);
    float *seed = kern_exec_derivative(e->exec, e->graph.error);
    double sum = 0.0;
    for (size_t r = 0; r < e->rows; r++) {
        sum += (double)error[r];
        seed[r] = 1.0F;
    }
    kern_exec_backward(e->exec, &run);
    return sum;
}

kern_status syn_gp_trainer_step(syn_gp_trainer *t, double *loss, kern_error *err)
{
    const syn_gp_training *s = &t->settings;
    const uint64_t first = (uint64_t)t->step * s->batch;
    double norm = 0.0;
    double sum = 0.0;
    KERN_TRY(syn_gp_draw(t->gp, s->seed, SYN_GP_TRAIN, first, &t->batch, err));
    engine_pack(&t->engine);
    for (size_t i = 0; i < s->batch; i += s->micro_batch) {
        sum += run_micro_batch(t, i);
    }
    if (loss != NULL) {
        *loss = sum;
    }
    if (!isfinite(sum)) {
        memset(t->gradients, 0, t->m->params.length * sizeof *t->gradients);
        return kern_raise(err, KERN_NAN, "the loss is not finite at step %zu", t->step);
    }
    KERN_TRY(model_optimizer_step(&t->optimizer, t->m->values, &t->gradients, 1,
                                  model_schedule_rate(&s->schedule, t->step), 1, &norm, err));
    t->step++;
    return KERN_OK;
}

/* ---- file ----------------------------------------------------------------------------------- */

enum { STATE_TENSORS = 3 };

/* The vectors of a state, gaps of the parameter table included: they are zero. */
static void list_state(const syn_gp_trainer *t, const char *names[STATE_TENSORS],
                       float *data[STATE_TENSORS])
{
    names[0] = "weights";
    data[0] = t->m->values;
    names[1] = "first_moments";
    data[1] = t->optimizer.m;
    names[2] = "second_moments";
    data[2] = t->optimizer.v;
}

kern_status syn_gp_trainer_save(const syn_gp_trainer *t, const char *path, const char *recipe,
                                kern_error *err)
{
    const char *names[STATE_TENSORS];
    float *data[STATE_TENSORS];
    char step[NUMBER_TEXT];
    model_safetensors_tensor tensors[STATE_TENSORS];
    list_state(t, names, data);
    for (size_t i = 0; i < STATE_TENSORS; i++) {
        tensors[i] = (model_safetensors_tensor){.name = names[i],
                                                .dtype = MODEL_DTYPE_F32,
                                                .rank = 1,
                                                .shape = {t->m->params.length},
                                                .data = data[i]};
    }
    (void)snprintf(step, sizeof step, "%zu", t->step);
    const model_safetensors_pair metadata[] = {{"recipe", recipe}, {"step", step}};
    return model_safetensors_write(path, tensors, STATE_TENSORS, metadata, 2, err);
}

static kern_status read_state(syn_gp_trainer *t, const model_safetensors *file, kern_error *err)
{
    const char *names[STATE_TENSORS];
    float *data[STATE_TENSORS];
    const size_t n = t->m->params.length;
    list_state(t, names, data);
    for (size_t i = 0; i < STATE_TENSORS; i++) {
        const model_safetensors_entry *entry;
        KERN_TRY(model_safetensors_require(file, names[i], 1, &n, &entry, err));
        KERN_TRY(model_safetensors_read_f32(file, entry, data[i], n, err));
        KERN_TRY(model_values_check_finite_f32(names[i], data[i], n, err));
    }
    return KERN_OK;
}

/* The step behind a state of the same recipe. */
static kern_status check_file(size_t *step, const model_safetensors *file, size_t most,
                              const char *path, const char *recipe, kern_error *err)
{
    const char *made = model_safetensors_metadata(file, "recipe");
    if (made == NULL || strcmp(made, recipe) != 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' holds training with other settings; accepted are the same ones, or "
                          "another folder",
                          path);
    }
    if (!model_safetensors_metadata_whole(file, "step", most, step)) {
        return kern_raise(err, KERN_BAD_INPUT, "'%s' has no step from 0 to %zu in its metadata",
                          path, most);
    }
    return KERN_OK;
}

kern_status syn_gp_state_steps(size_t *steps, const syn_gp_training *training, const char *path,
                               const char *recipe, kern_error *err)
{
    model_safetensors *file = NULL;
    kern_error why = {0};
    *steps = 0;
    kern_status status = model_safetensors_create(&file, path, &why);
    if (status != KERN_OK) {
        return status == KERN_NOT_FOUND ? KERN_OK : kern_raise(err, status, "%s", why.text);
    }
    status = check_file(steps, file, training->schedule.total, path, recipe, err);
    model_safetensors_destroy(file);
    return status;
}

static kern_status load_file(syn_gp_trainer *t, const model_safetensors *file, const char *path,
                             const char *recipe, kern_error *err)
{
    kern_error why = {0};
    size_t step = 0;
    KERN_TRY(check_file(&step, file, t->settings.schedule.total, path, recipe, err));
    if (read_state(t, file, &why) != KERN_OK) {
        return kern_raise(err, KERN_BAD_INPUT, "'%s': %s", path, why.text);
    }
    t->step = step;
    t->optimizer.steps = step;
    return KERN_OK;
}

kern_status syn_gp_trainer_load(syn_gp_trainer *t, const char *path, const char *recipe,
                                kern_error *err)
{
    model_safetensors *file = NULL;
    KERN_TRY(model_safetensors_create(&file, path, err));
    const kern_status status = load_file(t, file, path, recipe, err);
    model_safetensors_destroy(file);
    return status;
}

/* ---- prediction ----------------------------------------------------------------------------- */

/* Predictions of at most one micro-batch; rows behind a short one keep what they had. */
static void predict_part(gp_engine *e, const syn_gp_batch *part, float *targets, double *squared)
{
    const kern_run run = {.params = e->m->values, .packed = e->packed};
    syn_gp_tokens_f32(part, kern_exec_value(e->exec, e->graph.features), targets);
    kern_exec_forward(e->exec, &run);
    const float *prediction = kern_exec_value(e->exec, e->graph.prediction);
    for (size_t r = 0; r < part->sequences * part->points; r++) {
        const double off = (double)prediction[r] - part->y[r];
        squared[r] = off * off;
    }
}

kern_status syn_gp_predict_squared(const model *m, const model_config *config,
                                   const syn_gp_batch *batch, double *squared, kern_error *err)
{
    const size_t micro = kern_size_min(batch->sequences, MICRO_BATCH);
    const model_regressor_options o = {.batch = micro, .tokens = batch->points, .config = config};
    gp_engine e;
    KERN_TRY(engine_init(&e, m, &o, err));
    float *targets = calloc(e.rows, sizeof *targets);
    if (targets == NULL) {
        engine_fini(&e);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu targets", e.rows);
    }
    engine_pack(&e);
    for (size_t i = 0; i < batch->sequences; i += micro) {
        const syn_gp_batch part = slice(batch, i, kern_size_min(micro, batch->sequences - i));
        predict_part(&e, &part, targets, squared + i * batch->points);
    }
    free(targets);
    engine_fini(&e);
    return KERN_OK;
}
