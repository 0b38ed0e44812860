/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Regressors: their parameters, their gradient, causality, and that other steps need no other
 * parameters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_exec.h"
#include "kernels/kern_rng.h"
#include "models/model_regressor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static kern_error err;

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != KERN_OK) {                                                                   \
            fail_msg("%s", err.text);                                                              \
        }                                                                                          \
    } while (0)

enum { TOKENS = 5, BATCH = 2, ROWS = TOKENS * BATCH, INPUTS = 3 };

static model_config small_config(model_family family)
{
    model_config c = model_config_default(family);
    c.n_embed = 8;
    c.n_head = 2;
    c.n_hidden = 6;
    c.n_layer = 2;
    c.vocab_size = 1;
    c.rope = MODEL_ROPE_NONE;
    c.hourglass.k = 2;
    return c;
}

static model *make(const model_config *c)
{
    model *m = NULL;
    OK(model_regressor_create(&m, c, INPUTS, 0.0, &kern_backend_cpu_f64, &err));
    OK(model_init_values(m, 7, &err));
    return m;
}

/* One graph with memory. */
typedef struct bench {
    model_regressor r;
    kern_plan *plan;
    kern_exec *exec;
    kern_run run;
} bench;

static void open_bench(bench *b, const model *m, const model_config *as)
{
    const model_regressor_options o = {
        .batch = BATCH, .tokens = TOKENS, .config = as, .loss = true};
    *b = (bench){.run = {.params = m->values}};
    OK(model_regressor_init(&b->r, m, &o, &err));
    const kern_plan_options plan = {
        .mode = KERN_MODE_VJP, .params = true, .seeds = &b->r.error, .n_seeds = 1};
    OK(kern_plan_create(&b->plan, b->r.graph, &plan, &err));
    OK(kern_exec_create(&b->exec, b->plan, m->backend, 1, &err));
    double *features = kern_exec_value(b->exec, b->r.features);
    double *targets = kern_exec_value(b->exec, b->r.targets);
    double *weights = kern_exec_value(b->exec, b->r.weights);
    for (size_t i = 0; i < ROWS * INPUTS; i++) {
        features[i] = sin(1.0 + 0.7 * (double)i);
    }
    for (size_t r = 0; r < ROWS; r++) {
        targets[r] = cos(2.0 + 0.9 * (double)r);
        weights[r] = r % TOKENS == 0 ? 0.0 : 1.0;
    }
}

static void close_bench(bench *b)
{
    kern_exec_destroy(b->exec);
    kern_plan_destroy(b->plan);
    model_regressor_fini(&b->r);
}

static double total(const bench *b)
{
    const double *e = kern_exec_value(b->exec, b->r.error);
    double sum = 0.0;
    for (size_t r = 0; r < ROWS; r++) {
        sum += e[r];
    }
    return sum;
}

/* The counts of the design notes' pilot: 27.1k tied, 43.5k untied, 51.8k for two tied layers. */
static void test_parameters(void **state)
{
    (void)state;
    static const struct {
        model_family family;
        size_t layers, elements;
    } cases[] = {{MODEL_CEM, 1, 27073}, {MODEL_LLAMA, 1, 43457}, {MODEL_CEM, 2, 51777}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        model_config c = model_config_default(cases[i].family);
        model *m = NULL;
        c.n_embed = 64;
        c.n_head = 4;
        c.n_hidden = 128;
        c.n_layer = cases[i].layers;
        c.rope = MODEL_ROPE_NONE;
        c.cem.diag = MODEL_DIAG_NONE;
        OK(model_regressor_create(&m, &c, 34, 0.0, &kern_backend_cpu_f32, &err));
        assert_int_equal(m->params.elements, cases[i].elements);
        model_destroy(m);
    }
}

/* A deviation scales the layers' Gaussian matrices and nothing else. */
static void test_deviation(void **state)
{
    (void)state;
    const model_config c = small_config(MODEL_CEM);
    model *usual = make(&c);
    model *wide = NULL;
    size_t changed = 0;
    OK(model_regressor_create(&wide, &c, INPUTS, 0.5, &kern_backend_cpu_f64, &err));
    OK(model_init_values(wide, 7, &err));
    for (size_t i = 0; i < usual->params.count; i++) {
        const model_param *p = &usual->params.items[i];
        const bool layer = strncmp(p->name, "layers.", 7) == 0 && p->init == MODEL_INIT_NORMAL;
        const double factor = layer ? 0.5 / 0.02 : 1.0;
        changed += layer ? 1 : 0;
        for (size_t k = 0; k < p->rows * p->cols; k++) {
            const double value = model_value_get(usual, p->offset + k) * factor;
            assert_true(fabs(model_value_get(wide, p->offset + k) - value) <= 1e-14);
        }
    }
    assert_int_equal(changed, 8); /* four matrices in each of two layers */
    model_destroy(wide);
    model_destroy(usual);
}

/* The error is the weighted square of prediction − target, and its gradient is that of central
 * differences. Their error with h = 1e-5 is h²/6 times a third derivative plus rounding of ε/h,
 * both near 1e-10 of the values' size. */
static void check_gradient(model_family family)
{
    const model_config c = small_config(family);
    model *m = make(&c);
    bench b;
    open_bench(&b, m, NULL);
    double *gradient = calloc(m->params.length, sizeof *gradient);
    double *values = m->values;
    assert_non_null(gradient);
    b.run.param_gradients = gradient;
    kern_exec_forward(b.exec, &b.run);
    const double *prediction = kern_exec_value(b.exec, b.r.prediction);
    const double *target = kern_exec_value(b.exec, b.r.targets);
    const double *e = kern_exec_value(b.exec, b.r.error);
    double *seed = kern_exec_derivative(b.exec, b.r.error);
    for (size_t r = 0; r < ROWS; r++) {
        const double wanted = r % TOKENS == 0 ? 0.0 : pow(prediction[r] - target[r], 2);
        assert_true(fabs(e[r] - wanted) <= 1e-15 * (1.0 + wanted));
        seed[r] = 1.0;
    }
    kern_exec_backward(b.exec, &b.run);
    for (size_t i = 0; i < m->params.length; i += 7) {
        const double h = 1e-5;
        const double at = values[i];
        values[i] = at + h;
        kern_exec_forward(b.exec, &b.run);
        const double up = total(&b);
        values[i] = at - h;
        kern_exec_forward(b.exec, &b.run);
        const double slope = (up - total(&b)) / (2.0 * h);
        values[i] = at;
        if (!(fabs(slope - gradient[i]) <= 1e-7 * (1.0 + fabs(slope)))) {
            fail_msg("number %zu: %.12g, differences give %.12g", i, gradient[i], slope);
        }
    }
    free(gradient);
    close_bench(&b);
    model_destroy(m);
}

static void test_gradient(void **state)
{
    (void)state;
    check_gradient(MODEL_CEM);
    check_gradient(MODEL_LLAMA);
    check_gradient(MODEL_HOURGLASS);
}

/* A row's prediction depends on rows up to it in its own sequence, and on no other. */
static void test_predictions_are_causal(void **state)
{
    (void)state;
    model_config c = small_config(MODEL_CEM);
    c.cem.hist = MODEL_HIST_SYNC;
    c.cem.t_attn = 3;
    model *m = make(&c);
    bench b;
    double before[ROWS];
    open_bench(&b, m, NULL);
    kern_exec_forward(b.exec, &b.run);
    memcpy(before, kern_exec_value(b.exec, b.r.prediction), sizeof before);
    double *features = kern_exec_value(b.exec, b.r.features);
    features[2 * INPUTS] += 0.5;
    kern_exec_forward(b.exec, &b.run);
    const double *after = kern_exec_value(b.exec, b.r.prediction);
    for (size_t r = 0; r < ROWS; r++) {
        const bool reached = r >= 2 && r < TOKENS;
        assert_true((after[r] != before[r]) == reached);
    }
    close_bench(&b);
    model_destroy(m);
}

/* Other steps and another history run on the same parameters and give something else. */
static void test_other_steps(void **state)
{
    (void)state;
    const model_config c = small_config(MODEL_CEM);
    model_config other = c;
    other.cem.t_attn = 4;
    other.cem.hist = MODEL_HIST_SYNC;
    model *m = make(&c);
    model *twin = make(&other);
    bench one;
    bench two;
    bench own;
    assert_int_equal(m->params.elements, twin->params.elements);
    open_bench(&one, m, &other);
    open_bench(&two, twin, NULL);
    open_bench(&own, m, NULL);
    kern_exec_forward(one.exec, &one.run);
    kern_exec_forward(two.exec, &two.run);
    kern_exec_forward(own.exec, &own.run);
    assert_true(total(&one) == total(&two));
    assert_true(total(&one) != total(&own));
    close_bench(&one);
    close_bench(&two);
    close_bench(&own);
    model_destroy(twin);
    model_destroy(m);
}

static void test_refusals(void **state)
{
    (void)state;
    model_config c = small_config(MODEL_CEM);
    model_config gpt = model_config_default(MODEL_GPT);
    model_regressor r;
    model *m = NULL;
    assert_int_equal(model_regressor_create(&m, &c, 0, 0.0, &kern_backend_cpu_f64, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "0 inputs"));
    assert_int_equal(model_regressor_create(&m, &gpt, 3, 0.0, &kern_backend_cpu_f64, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "gpt"));
    assert_int_equal(model_regressor_create(&m, &c, 3, (double)NAN, &kern_backend_cpu_f64, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "deviation"));
    m = make(&c);
    model_regressor_options o = {.batch = 0, .tokens = 4};
    assert_int_equal(model_regressor_init(&r, m, &o, &err), KERN_INVALID_ARGUMENT);
    o.batch = 1;
    c.cem.eta_trained = true; /* needs a parameter that the model does not have */
    o.config = &c;
    assert_int_not_equal(model_regressor_init(&r, m, &o, &err), KERN_OK);
    assert_null(r.graph);
    model_destroy(m);
    OK(model_create(&m, &gpt, &kern_backend_cpu_f64, &err));
    o.config = NULL;
    assert_int_equal(model_regressor_init(&r, m, &o, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "no regressor"));
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),  cmocka_unit_test(test_deviation),
        cmocka_unit_test(test_gradient),    cmocka_unit_test(test_predictions_are_causal),
        cmocka_unit_test(test_other_steps), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
