/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training: AdamW against a plain one in double, schedules at points worked out by hand, and what a
 * run promises: repeatability, indifference to how it is split, and no harm from failures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "tests/models/model_test_tiny.h"

#include <math.h>

/* ---- AdamW ---------------------------------------------------------------------------------- */

/* Algorithm 2 of Loshchilov and Hutter 2019 for one tensor, with everything in double. */
typedef struct plain_adamw {
    double w[600];
    double m[600];
    double v[600];
} plain_adamw;

static void plain_step(plain_adamw *o, const model_adamw *s, const model_params *params,
                       const float *const *gradients, size_t lanes, double lr, double t)
{
    double norm = 0;
    double g[600] = {0};
    for (size_t k = 0; k < params->count; k++) {
        const model_param *p = &params->items[k];
        for (size_t i = p->offset; p->trained && i < p->offset + model_param_size(p); i++) {
            for (size_t lane = 0; lane < lanes; lane++) {
                g[i] += (double)gradients[lane][i];
            }
            norm += g[i] * g[i];
        }
    }
    norm = sqrt(norm);
    const double factor = s->clip > 0 && norm > s->clip ? s->clip / norm : 1.0;
    for (size_t k = 0; k < params->count; k++) {
        const model_param *p = &params->items[k];
        const double decay = p->rank == 2 || s->decay_vectors ? s->weight_decay : 0.0;
        for (size_t i = p->offset; p->trained && i < p->offset + model_param_size(p); i++) {
            o->m[i] = s->beta1 * o->m[i] + (1 - s->beta1) * factor * g[i];
            o->v[i] = s->beta2 * o->v[i] + (1 - s->beta2) * factor * factor * g[i] * g[i];
            const double mean = o->m[i] / (1 - pow(s->beta1, t));
            const double root = sqrt(o->v[i] / (1 - pow(s->beta2, t)));
            o->w[i] -= lr * (mean / (root + s->epsilon) + decay * o->w[i]);
        }
    }
}

static void add_row(model_params *params, const char *name, size_t rank, size_t rows, size_t cols,
                    bool trained)
{
    model_param p = {.rank = rank, .rows = rows, .cols = cols, .trained = trained};
    (void)snprintf(p.name, sizeof p.name, "%s", name);
    TINY_OK(model_params_add(params, &p, NULL, tiny_err));
}

/* Whether element `i` lies between tensors, where gradients are always zero. */
static bool is_gap(const model_params *params, size_t i)
{
    for (size_t k = 0; k < params->count; k++) {
        const model_param *p = &params->items[k];
        if (i >= p->offset && i < p->offset + model_param_size(p)) {
            return false;
        }
    }
    return true;
}

/* Fifty steps of two lanes; every weight moves by about 50 lr, and 50 roundings of it are allowed.
 */
static void check_adamw(const model_adamw *settings, int workers)
{
    enum { LANES = 2, STEPS = 50 };
    model_params params = {0};
    model_optimizer o;
    plain_adamw plain = {.w = {0}};
    add_row(&params, "matrix", 2, 13, 17, true);
    add_row(&params, "frozen", 1, 1, 19, false);
    add_row(&params, "vector", 1, 1, 101, true);
    float *weights = calloc(params.length, sizeof *weights);
    float *lanes[LANES] = {calloc(params.length, sizeof(float)),
                           calloc(params.length, sizeof(float))};
    kern_rng *rng = kern_rng_create(4, "adamw", 0);
    assert_true(params.length <= 600 && weights != NULL && lanes[0] != NULL && lanes[1] != NULL);
    TINY_OK(model_optimizer_init(&o, &params, settings, tiny_err));
    for (size_t i = 0; i < params.length; i++) {
        weights[i] = (float)kern_rng_normal(rng);
        plain.w[i] = (double)weights[i];
    }
    for (size_t t = 1; t <= STEPS; t++) {
        const double lr = 1e-2 / (double)t;
        double norm;
        for (size_t i = 0; i < LANES * params.length; i++) {
            const bool gap = is_gap(&params, i / LANES);
            const double size = gap ? 0.0 : t % 3 == 0 ? 1e-4 : 1.0;
            lanes[i % LANES][i / LANES] = (float)(size * kern_rng_normal(rng));
        }
        plain_step(&plain, settings, &params, (const float *const *)lanes, LANES, lr, (double)t);
        TINY_OK(model_optimizer_step(&o, weights, lanes, LANES, lr, workers, &norm, tiny_err));
        assert_true(norm > 0);
    }
    for (size_t i = 0; i < params.length; i++) {
        assert_true(fabs((double)weights[i] - plain.w[i]) <= 50 * 0x1p-24 * (1 + fabs(plain.w[i])));
        assert_true(lanes[0][i] == 0.0F && lanes[1][i] == 0.0F);
    }
    kern_rng_destroy(rng);
    model_optimizer_fini(&o);
    model_optimizer_fini(&o);
    model_params_fini(&params);
    free(weights);
    free(lanes[0]);
    free(lanes[1]);
}

static void test_adamw_agrees_with_a_plain_one(void **state)
{
    (void)state;
    const model_adamw plain = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8};
    for (size_t i = 0; i < 6; i++) {
        model_adamw s = plain;
        s.clip = i % 2 == 0 ? 0.5 : 0.0;
        s.weight_decay = i / 2 == 0 ? 0.0 : 0.3;
        s.decay_vectors = i / 2 == 2;
        s.beta1 = i == 5 ? 0.0 : s.beta1;
        check_adamw(&s, 1 + (int)i % 3);
    }
}

static void test_a_gradient_that_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    model_params params = {0};
    model_optimizer o;
    kern_error err = {0};
    double norm;
    add_row(&params, "matrix", 2, 3, 5, true);
    const model_adamw s = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.5};
    float weights[16] = {1, 2, 3};
    float lane[16] = {0, (float)NAN, 1};
    float other[16] = {1, 1, 1};
    float *const lanes[] = {lane, other};
    TINY_OK(model_optimizer_init(&o, &params, &s, tiny_err));
    assert_int_equal(model_optimizer_step(&o, weights, lanes, 2, 0.1, 2, &norm, &err), KERN_NAN);
    assert_non_null(strstr(err.text, "gradient is not finite"));
    assert_true(weights[0] == 1 && weights[1] == 2 && weights[2] == 3 && o.steps == 0);
    for (size_t i = 0; i < params.length; i++) {
        assert_true(lane[i] == 0.0F && other[i] == 0.0F && o.m[i] == 0.0F && o.v[i] == 0.0F);
    }
    model_optimizer_fini(&o);
    model_params_fini(&params);
}

/* ---- schedules ------------------------------------------------------------------------------ */

static void test_schedules(void **state)
{
    (void)state;
    model_schedule s = {
        .kind = MODEL_SCHEDULE_COSINE, .peak = 8e-3, .floor = 2e-3, .warmup = 4, .total = 12};
    static const double cosine[][2] = {{0, 2e-3}, {1, 4e-3},  {3, 8e-3},   {4, 8e-3},
                                       {8, 5e-3}, {12, 2e-3}, {1000, 2e-3}};
    for (size_t i = 0; i < sizeof cosine / sizeof *cosine; i++) {
        assert_true(fabs(model_schedule_rate(&s, (size_t)cosine[i][0]) - cosine[i][1]) < 1e-17);
    }
    s.kind = MODEL_SCHEDULE_EXPONENTIAL;
    assert_true(fabs(model_schedule_rate(&s, 8) - 4e-3) < 1e-17);
    assert_true(fabs(model_schedule_rate(&s, 6) - 8e-3 / sqrt(2)) < 1e-17);
    assert_true(fabs(model_schedule_rate(&s, 99) - 2e-3) < 1e-17);
    s.kind = MODEL_SCHEDULE_CONSTANT;
    assert_true(model_schedule_rate(&s, 0) == 2e-3 && model_schedule_rate(&s, 4) == 8e-3 &&
                model_schedule_rate(&s, 5000) == 8e-3);
    s.warmup = 0;
    assert_true(model_schedule_rate(&s, 0) == 8e-3);
    s.kind = MODEL_SCHEDULE_COSINE;
    s.total = 0;
    assert_true(model_schedule_rate(&s, 0) == 8e-3 && model_schedule_rate(&s, 1) == 2e-3);
}

static void refuse_schedule(model_schedule s, const char *part)
{
    kern_error err = {0};
    assert_int_equal(model_schedule_check(&s, &err), KERN_INVALID_ARGUMENT);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
}

static void test_schedules_are_checked(void **state)
{
    (void)state;
    const model_schedule good = {
        .kind = MODEL_SCHEDULE_EXPONENTIAL, .peak = 1e-2, .floor = 1e-3, .warmup = 5, .total = 5};
    model_schedule s = good;
    assert_int_equal(model_schedule_check(&s, NULL), KERN_OK);
    s.peak = (double)NAN;
    refuse_schedule(s, "nan is not a positive number");
    s.peak = (double)INFINITY;
    refuse_schedule(s, "inf is not a positive number");
    s.peak = 0;
    refuse_schedule(s, "0 is not a positive number");
    s = good;
    s.floor = 2e-2;
    refuse_schedule(s, "between 0 and the peak 0.01");
    s.floor = (double)NAN;
    refuse_schedule(s, "between 0 and the peak");
    s.floor = 0;
    refuse_schedule(s, "above 0");
    s.kind = MODEL_SCHEDULE_COSINE;
    assert_int_equal(model_schedule_check(&s, NULL), KERN_OK);
    s.warmup = 6;
    refuse_schedule(s, "longer than the run of 5");
}

static void test_schedule_words(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        model_schedule_kind kind = MODEL_SCHEDULE_CONSTANT;
        TINY_OK(model_schedule_parse(&kind, model_schedule_word((model_schedule_kind)k), tiny_err));
        assert_int_equal(kind, k);
    }
    kern_error err = {0};
    model_schedule_kind kind;
    assert_int_equal(model_schedule_parse(&kind, "linear", &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "\"linear\" is no schedule; accepted are constant"));
    assert_string_equal(model_schedule_word((model_schedule_kind)9), "unknown");
}

/* ---- runs ----------------------------------------------------------------------------------- */

enum { VOCAB = 20, LENGTH = 2000, STEPS = 3 };

/* A period of seven tokens. */
static void repetitive_stream(model_stream *stream)
{
    int32_t ids[LENGTH];
    for (size_t i = 0; i < LENGTH; i++) {
        ids[i] = (int32_t)(3 * (i % 7) % VOCAB);
    }
    TINY_OK(model_stream_init(stream, "repetitive", ids, LENGTH, VOCAB, tiny_err));
}

static void test_the_loss_falls(void **state)
{
    (void)state;
    enum { MANY = 25 };
    model_stream stream;
    repetitive_stream(&stream);
    for (unsigned f = 0; f <= MODEL_HOURGLASS; f++) {
        const model_config config = tiny_config((model_family)f);
        model_training training = tiny_training(2);
        double losses[MANY];
        double after;
        training.schedule.peak = 1e-2;
        tiny_run run = tiny_start(&config, &stream, &training);
        tiny_train(&run, MANY, losses);
        TINY_OK(model_trainer_evaluate(run.t, &stream, MODEL_PART_VAL, 2, &after, tiny_err));
        assert_true(fabs(losses[0] - log(VOCAB)) < 0.1);
        assert_true(losses[MANY - 1] < 0.5 * losses[0]);
        assert_true(fabs(after - losses[MANY - 1]) < 0.3);
        assert_true(model_trainer_flops_per_token(run.t) > 0);
        tiny_stop(&run);
    }
    model_stream_fini(&stream);
}

/* Trains a few steps and returns the weights; the caller frees them. */
static float *trained(const model_config *config, const model_training *training, double *losses)
{
    model_stream stream;
    tiny_stream(&stream, LENGTH, VOCAB);
    tiny_run run = tiny_start(config, &stream, training);
    tiny_train(&run, STEPS, losses);
    float *weights = calloc(run.m->params.length, sizeof *weights);
    assert_non_null(weights);
    memcpy(weights, run.m->values, run.m->params.length * sizeof *weights);
    tiny_stop(&run);
    model_stream_fini(&stream);
    return weights;
}

static size_t length_of(const model_config *config)
{
    model *m = NULL;
    TINY_OK(model_create(&m, config, &kern_backend_cpu_f32, tiny_err));
    const size_t length = m->params.length;
    model_destroy(m);
    return length;
}

static void test_runs_repeat_bit_for_bit(void **state)
{
    (void)state;
    for (int threads = 1; threads < 4; threads++) {
        model_config config = tiny_config(threads == 2 ? MODEL_GPT : MODEL_NRGPT);
        const size_t length = length_of(&config);
        model_training training = tiny_training(threads);
        double losses[3][STEPS];
        config.dropout = threads == 3 ? 0.2 : 0.0;
        training.micro_batch = threads == 3 ? 6 : 0; /* one lane, three workers inside */
        float *first = trained(&config, &training, losses[0]);
        float *again = trained(&config, &training, losses[1]);
        training.recompute = true;
        float *thrifty = trained(&config, &training, losses[2]);
        assert_memory_equal(first, again, length * sizeof *first);
        assert_memory_equal(first, thrifty, length * sizeof *first);
        assert_memory_equal(losses[0], losses[1], sizeof losses[0]);
        assert_memory_equal(losses[0], losses[2], sizeof losses[0]);
        training.seed++;
        float *other = trained(&config, &training, losses[2]);
        assert_true(memcmp(first, other, length * sizeof *first) != 0);
        free(first);
        free(again);
        free(thrifty);
        free(other);
    }
}

/* Sums in another order: the first step's norm, and the first losses, agree to rounding. */
static void test_the_split_does_not_matter(void **state)
{
    (void)state;
    static const size_t micro_batches[] = {1, 2, 3, 6, 0};
    const model_config config = tiny_config(MODEL_NRGPT);
    model_stream stream;
    model_step_report first = {0};
    tiny_stream(&stream, LENGTH, VOCAB);
    for (size_t i = 0; i < 10; i++) {
        model_training training = tiny_training(1 + (int)i / 5 * 2);
        model_step_report report;
        training.micro_batch = micro_batches[i % 5];
        tiny_run run = tiny_start(&config, &stream, &training);
        TINY_OK(model_trainer_step(run.t, &report, tiny_err));
        if (i == 0) {
            first = report;
        }
        assert_true(fabs(report.loss - first.loss) <= 1e-6 * first.loss);
        assert_true(fabs(report.gradient_norm - first.gradient_norm) <= 1e-4 * first.gradient_norm);
        assert_true(report.gradient_norm > 1e-4);
        tiny_stop(&run);
    }
    model_stream_fini(&stream);
}

static void test_gamma_stays_frozen(void **state)
{
    (void)state;
    for (size_t f = 0; f < 2; f++) {
        model_config config = tiny_config(MODEL_NRGPT);
        model_training training = tiny_training(1);
        model_stream stream;
        double losses[STEPS];
        config.gamma_trained = f == 1;
        training.adamw.decay_vectors = true;
        tiny_stream(&stream, LENGTH, VOCAB);
        tiny_run run = tiny_start(&config, &stream, &training);
        tiny_train(&run, STEPS, losses);
        const model_param *gamma = model_params_find(&run.m->params, "blocks.ln.weight");
        for (size_t i = 0; i < gamma->cols; i++) {
            assert_true((model_value_get(run.m, gamma->offset + i) == 1.0) == (f == 0));
        }
        tiny_stop(&run);
        model_stream_fini(&stream);
    }
}

static void test_dropout_is_for_training_only(void **state)
{
    (void)state;
    for (size_t f = 0; f < 2; f++) {
        model_config config = tiny_config(f == 0 ? MODEL_NRGPT : MODEL_GPT);
        const model_training training = tiny_training(2);
        model_stream stream;
        double losses[2][STEPS];
        double measured[3];
        tiny_stream(&stream, LENGTH, VOCAB);
        for (size_t i = 0; i < 2; i++) {
            config.dropout = i == 0 ? 0.0 : 0.4;
            tiny_run run = tiny_start(&config, &stream, &training);
            for (size_t k = 0; k < run.m->params.length; k++) { /* logits that dropout can move */
                model_value_set(run.m, k, 8 * model_value_get(run.m, k));
            }
            TINY_OK(model_trainer_evaluate(run.t, &stream, MODEL_PART_TRAIN, 1, &measured[i],
                                           tiny_err));
            TINY_OK(model_trainer_evaluate(run.t, &stream, MODEL_PART_TRAIN, 1, &measured[2],
                                           tiny_err));
            assert_true(measured[2] == measured[i]);
            tiny_train(&run, 2, losses[i]);
            tiny_stop(&run);
        }
        /* Dropout takes sums out of products, which changes their rounding. */
        assert_true(fabs(measured[0] - measured[1]) <= 1e-6 * measured[0]);
        assert_true(losses[0][0] == measured[0]); /* the same windows, without dropout */
        assert_true(losses[1][0] != losses[0][0] && isfinite(losses[1][1]));
        model_stream_fini(&stream);
    }
}

/* A weight that is not a number stops the run, leaves the others alone, and the run goes on once it
 * is mended. */
static void test_not_a_number(void **state)
{
    (void)state;
    const model_config config = tiny_config(MODEL_NRGPT);
    const model_training training = tiny_training(2);
    model_stream stream;
    model_step_report report;
    kern_error err = {0};
    tiny_stream(&stream, LENGTH, VOCAB);
    tiny_run run = tiny_start(&config, &stream, &training);
    const size_t length = run.m->params.length;
    float *before = calloc(length, sizeof *before);
    assert_non_null(before);
    const size_t at = model_params_find(&run.m->params, "lm_head.bias")->offset;
    const double good = model_value_get(run.m, at);
    model_value_set(run.m, at, (double)NAN);
    memcpy(before, run.m->values, length * sizeof *before);
    assert_int_equal(model_trainer_step(run.t, &report, &err), KERN_NAN);
    assert_non_null(strstr(err.text, "not finite at step 0"));
    assert_memory_equal(before, run.m->values, length * sizeof *before);
    assert_int_equal(run.t->step, 0);
    model_value_set(run.m, at, good);
    TINY_OK(model_trainer_step(run.t, &report, tiny_err));
    assert_true(isfinite(report.gradient_norm));
    free(before);
    tiny_stop(&run);
    model_stream_fini(&stream);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void refuse(const model_stream *stream, model_training training, kern_status status,
                   const char *part)
{
    const model_config config = tiny_config(MODEL_NRGPT);
    model *m = NULL;
    model_trainer *t = NULL;
    kern_error err = {0};
    TINY_OK(model_create(&m, &config, &kern_backend_cpu_f32, tiny_err));
    assert_int_equal(model_trainer_create(&t, m, stream, &training, &err), status);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
    assert_null(t);
    model_destroy(m);
}

static void test_refusals(void **state)
{
    (void)state;
    model_stream stream;
    tiny_stream(&stream, 100, VOCAB);
    model_training t = tiny_training(1);
    t.batch = 0;
    refuse(&stream, t, KERN_INVALID_ARGUMENT, "0 windows of 11 tokens is empty");
    t.batch = 6;
    t.window = 0;
    refuse(&stream, t, KERN_INVALID_ARGUMENT, "empty");
    t.window = 25;
    refuse(&stream, t, KERN_INVALID_ARGUMENT, "longer than the model's block of 24");
    t = tiny_training(1);
    t.micro_batch = 4;
    refuse(&stream, t, KERN_INVALID_ARGUMENT, "4 windows does not divide the batch of 6");
    t.micro_batch = 12;
    refuse(&stream, t, KERN_INVALID_ARGUMENT, "does not divide");
    refuse(&stream, tiny_training(0), KERN_INVALID_ARGUMENT, "0 threads");
    refuse(&stream, tiny_training(4097), KERN_INVALID_ARGUMENT, "4097 threads");
    t = tiny_training(1);
    t.schedule.peak = -1;
    refuse(&stream, t, KERN_INVALID_ARGUMENT, "learning rate of -1");
    model_stream_fini(&stream);
    tiny_stream(&stream, 100, VOCAB + 1);
    refuse(&stream, tiny_training(1), KERN_BAD_INPUT, "21 different tokens, the model knows 20");
    model_stream_fini(&stream);
    tiny_stream(&stream, 12, VOCAB);
    refuse(&stream, tiny_training(1), KERN_BAD_INPUT, "11");
    model_stream_fini(&stream);
}

static void test_adamw_refusals(void **state)
{
    (void)state;
    model_stream stream;
    tiny_stream(&stream, 100, VOCAB);
    const struct {
        double beta1, beta2, epsilon, decay, clip;
        const char *part;
    } bad[] = {{1, 0.9, 1e-8, 0, 0, "β = (1, 0.9)"},
               {-0.1, 0.9, 1e-8, 0, 0, "β"},
               {0.9, (double)NAN, 1e-8, 0, 0, "β"},
               {0.9, 0.99999999999, 1e-8, 0, 0, "β"}, /* 1 in single precision */
               {0.9, 0.9, 0, 0, 0, "ε > 0"},
               {0.9, 0.9, 1e-60, 0, 0, "ε > 0"}, /* 0 in single precision */
               {0.9, 0.9, (double)INFINITY, 0, 0, "ε > 0"},
               {0.9, 0.9, 1e-8, -1, 0, "weight decay"},
               {0.9, 0.9, 1e-8, (double)INFINITY, 0, "weight decay"},
               {0.9, 0.9, 1e-8, 0, -1, "clipping"},
               {0.9, 0.9, 1e-8, 0, (double)NAN, "clipping"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        model_training t = tiny_training(1);
        t.adamw = (model_adamw){.beta1 = bad[i].beta1,
                                .beta2 = bad[i].beta2,
                                .epsilon = bad[i].epsilon,
                                .weight_decay = bad[i].decay,
                                .clip = bad[i].clip};
        refuse(&stream, t, KERN_INVALID_ARGUMENT, bad[i].part);
    }
    model_stream_fini(&stream);
}

static void test_double_precision_is_refused(void **state)
{
    (void)state;
    const model_config config = tiny_config(MODEL_NRGPT);
    const model_training training = tiny_training(1);
    model_stream stream;
    model_trainer *t = NULL;
    kern_error err = {0};
    tiny_stream(&stream, 100, VOCAB);
    model *m = tiny_model(&config, &kern_backend_cpu_f64);
    assert_int_equal(model_trainer_create(&t, m, &stream, &training, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "single-precision"));
    model_trainer_destroy(NULL);
    model_destroy(m);
    model_stream_fini(&stream);
}

static void test_evaluation_refusals(void **state)
{
    (void)state;
    const model_config config = tiny_config(MODEL_NRGPT);
    const model_training training = tiny_training(1);
    model_stream stream;
    model_stream wide;
    model_stream brief;
    double loss;
    kern_error err = {0};
    tiny_stream(&stream, 1000, VOCAB);
    tiny_stream(&wide, 1000, VOCAB + 5);
    tiny_stream(&brief, 40, VOCAB);
    tiny_run run = tiny_start(&config, &stream, &training);
    assert_int_equal(model_trainer_evaluate(run.t, &stream, MODEL_PART_VAL, 0, &loss, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "0 batches"));
    assert_int_equal(model_trainer_evaluate(run.t, &wide, MODEL_PART_VAL, 1, &loss, &err),
                     KERN_BAD_INPUT);
    assert_non_null(strstr(err.text, "25 different tokens"));
    assert_int_equal(model_trainer_evaluate(run.t, &brief, MODEL_PART_VAL, 1, &loss, &err),
                     KERN_BAD_INPUT);
    TINY_OK(model_trainer_evaluate(run.t, &brief, MODEL_PART_ALL, 1, &loss, tiny_err));
    tiny_stop(&run);
    model_stream_fini(&stream);
    model_stream_fini(&wide);
    model_stream_fini(&brief);
}

static void test_defaults_are_valid(void **state)
{
    (void)state;
    const model_training t = model_training_default();
    TINY_OK(model_training_check(&t, tiny_err));
    assert_int_equal(t.batch, 64);
    assert_true(t.threads >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adamw_agrees_with_a_plain_one),
        cmocka_unit_test(test_a_gradient_that_is_not_finite_changes_nothing),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_schedules_are_checked),
        cmocka_unit_test(test_schedule_words),
        cmocka_unit_test(test_the_loss_falls),
        cmocka_unit_test(test_runs_repeat_bit_for_bit),
        cmocka_unit_test(test_the_split_does_not_matter),
        cmocka_unit_test(test_gamma_stays_frozen),
        cmocka_unit_test(test_dropout_is_for_training_only),
        cmocka_unit_test(test_not_a_number),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_adamw_refusals),
        cmocka_unit_test(test_double_precision_is_refused),
        cmocka_unit_test(test_evaluation_refusals),
        cmocka_unit_test(test_defaults_are_valid),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
