/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Small models, data and runs shared by the tests of training. Include after cmocka.h.
 */
#ifndef BASIN_MODEL_TEST_TINY_H
#define BASIN_MODEL_TEST_TINY_H

#include "kernels/kern_rng.h"
#include "models/model_run.h"
#include "models/model_trainer.h"

#include <string.h>

/* An awkward size in every direction. */
static inline model_config tiny_config(model_family family)
{
    model_config c = model_config_default(family);
    c.n_embed = 12;
    c.n_head = 2;
    c.block_size = 24;
    c.n_layer = 3;
    c.ff_hid_factor = 2;
    return c;
}

static inline model_training tiny_training(int threads)
{
    model_training t = model_training_default();
    t.batch = 6;
    t.window = 11;
    t.schedule = (model_schedule){
        .kind = MODEL_SCHEDULE_CONSTANT, .peak = 3e-3, .floor = 1e-3, .warmup = 4, .total = 40};
    t.threads = threads;
    t.seed = 77;
    return t;
}

#define TINY_OK(call)                                                                              \
    do {                                                                                           \
        kern_error tiny_err_ = {0};                                                                \
        kern_error *tiny_err = &tiny_err_;                                                         \
        if ((call) != KERN_OK) {                                                                   \
            fail_msg("%s", tiny_err_.text);                                                        \
        }                                                                                          \
    } while (0)

/* Random tokens of `vocab_size` kinds, each likely to follow its predecessor by one. */
static inline void tiny_stream(model_stream *stream, size_t n, size_t vocab_size)
{
    int32_t *ids = calloc(n, sizeof *ids);
    kern_rng *rng = kern_rng_create(5, "tiny", vocab_size);
    assert_non_null(ids);
    assert_non_null(rng);
    for (size_t i = 1; i < n; i++) {
        const uint32_t jump = kern_rng_uniform(rng) < 0.7 ? 1 : kern_rng_below(rng, 7);
        ids[i] = (int32_t)(((size_t)ids[i - 1] + jump) % vocab_size);
    }
    TINY_OK(model_stream_init(stream, "tiny", ids, n, vocab_size, tiny_err));
    kern_rng_destroy(rng);
    free(ids);
}

/* Model with values spread widely enough that logits differ. */
static inline model *tiny_model(const model_config *config, const kern_backend *backend)
{
    model *m = NULL;
    TINY_OK(model_create(&m, config, backend, tiny_err));
    TINY_OK(model_init_values(m, 3, tiny_err));
    kern_rng *rng = kern_rng_create(8, "spread", 0);
    assert_non_null(rng);
    for (size_t i = 0; i < m->params.count; i++) {
        const model_param *p = &m->params.items[i];
        for (size_t k = 0; p->rank == 2 && k < model_param_size(p); k++) {
            model_value_set(m, p->offset + k, 0.4 * kern_rng_normal(rng));
        }
    }
    kern_rng_destroy(rng);
    return m;
}

/* Model and trainer as at the start of a run. */
typedef struct tiny_run {
    model *m;
    model_trainer *t;
} tiny_run;

static inline tiny_run tiny_start(const model_config *config, const model_stream *stream,
                                  const model_training *training)
{
    tiny_run run = {NULL, NULL};
    TINY_OK(model_create(&run.m, config, &kern_backend_cpu_f32, tiny_err));
    TINY_OK(model_init_values(run.m, training->seed, tiny_err));
    TINY_OK(model_trainer_create(&run.t, run.m, stream, training, tiny_err));
    return run;
}

static inline void tiny_stop(tiny_run *run)
{
    model_trainer_destroy(run->t);
    model_destroy(run->m);
    *run = (tiny_run){NULL, NULL};
}

/* Takes `n` steps and writes the losses. */
static inline void tiny_train(const tiny_run *run, size_t n, double *losses)
{
    for (size_t i = 0; i < n; i++) {
        model_step_report report;
        TINY_OK(model_trainer_step(run->t, &report, tiny_err));
        losses[i] = report.loss;
    }
}

#endif
