/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_forward.h"
#include "models/model_score.h"
#include "tests/models/model_test_folder.h"
#include "tests/models/model_test_tiny.h"

#include <math.h>

enum { VOCAB = 20, EOS = 0, SEVEN = 17 };

/* ---- Loss -------------------------------------------------------------------------------- */

/* The same windows, one graph of the exact length for each. */
static double plain_loss(const model *m, const int32_t *ids, size_t count, size_t window)
{
    double sum = 0;
    for (size_t start = 0; start + 1 < count; start += window) {
        const size_t left = count - 1 - start;
        const size_t n = left < window ? left : window;
        const model_graph_options options = {.batch = 1,
                                             .tokens = n,
                                             .steps = m->config.n_layer,
                                             .start = MODEL_START_TOKENS,
                                             .loss = true};
        model_forward f;
        TINY_OK(model_forward_init(&f, m, &options, 1, tiny_err));
        model_forward_run(&f, 0, ids + start, ids + start + 1);
        const void *nll = model_forward_value(&f, 0, f.graph.nll);
        for (size_t i = 0; i < n; i++) {
            sum += m->backend->real_size == sizeof(float) ? (double)((const float *)nll)[i]
                                                          : ((const double *)nll)[i];
        }
        model_forward_fini(&f);
    }
    return sum / (double)(count - 1);
}

static void test_loss_agrees_with_plain(void **state)
{
    (void)state;
    static const model_part parts[] = {MODEL_PART_TRAIN, MODEL_PART_VAL, MODEL_PART_ALL};
    static const size_t windows[] = {0, 1, 7, 24};
    model_stream stream;
    tiny_stream(&stream, 317, VOCAB);
    for (size_t i = 0; i < 24; i++) {
        const bool wide = i % 2 == 0;
        static const model_family families[] = {MODEL_NRGPT, MODEL_CEM, MODEL_GPT, MODEL_HOURGLASS};
        const model_config config = tiny_config(families[i / 6]);
        model *m = tiny_model(&config, wide ? &kern_backend_cpu_f64 : &kern_backend_cpu_f32);
        const model_part part = parts[i / 2 % 3];
        const size_t window = windows[i / 6];
        size_t count = 0;
        model_loss one;
        model_loss two;
        const int32_t *ids = model_stream_part(&stream, part, &count);
        const double expected = plain_loss(m, ids, count, window > 0 ? window : 24);
        model_loss_options options = {.part = part, .window = window, .threads = 1};
        TINY_OK(model_score_loss(m, &stream, &options, &one, tiny_err));
        options.threads = 3;
        TINY_OK(model_score_loss(m, &stream, &options, &two, tiny_err));
        assert_memory_equal(&one.loss, &two.loss, sizeof one.loss);
        assert_true(fabs(one.loss - expected) <= (wide ? 1e-12 : 1e-5));
        assert_true(fabs(one.perplexity - exp(one.loss)) < 1e-9);
        assert_int_equal(one.n, count - 1);
        model_destroy(m);
    }
    model_stream_fini(&stream);
}

/* A model without weights knows nothing: ln V, whatever the text. */
static void test_loss_of_ignorance(void **state)
{
    (void)state;
    const model_config config = tiny_config(MODEL_NRGPT);
    model_stream stream;
    model *m = NULL;
    model_loss loss;
    tiny_stream(&stream, 21, VOCAB); /* two tokens for validation: one prediction */
    stream.n_train = 19;
    TINY_OK(model_create(&m, &config, &kern_backend_cpu_f64, tiny_err));
    const model_loss_options options = {.part = MODEL_PART_VAL, .threads = 2};
    TINY_OK(model_score_loss(m, &stream, &options, &loss, tiny_err));
    assert_true(fabs(loss.loss - log(VOCAB)) < 1e-12);
    assert_true(fabs(loss.perplexity - VOCAB) < 1e-10);
    assert_int_equal(loss.n, 1);
    model_destroy(m);
    model_stream_fini(&stream);
}

static bool stop_at_once(void *context, size_t done, size_t total)
{
    size_t *calls = context;
    (*calls)++;
    return done > total;
}

static void assert_loss_refused(const model *m, const model_stream *stream, size_t window,
                                int threads, kern_status status, const char *part)
{
    model_loss loss;
    kern_error err = {KERN_OK, ""};
    const model_loss_options options = {
        .part = MODEL_PART_VAL, .window = window, .threads = threads};
    assert_int_equal(model_score_loss(m, stream, &options, &loss, &err), status);
    test_error(&err, status, part);
}

static void test_loss_refusals(void **state)
{
    (void)state;
    const model_config config = tiny_config(MODEL_NRGPT);
    model *m = tiny_model(&config, &kern_backend_cpu_f32);
    model_stream stream;
    model_loss loss;
    size_t calls = 0;
    kern_error err = {KERN_OK, ""};
    tiny_stream(&stream, 400, VOCAB);
    assert_loss_refused(m, &stream, 25, 1, KERN_INVALID_ARGUMENT, "a window of 25 tokens");
    assert_loss_refused(m, &stream, 0, 0, KERN_INVALID_ARGUMENT, "0 threads");
    const model_loss_options options = {.part = MODEL_PART_ALL,
                                        .window = 1,
                                        .threads = 2,
                                        .progress = stop_at_once,
                                        .context = &calls};
    assert_int_equal(model_score_loss(m, &stream, &options, &loss, &err), KERN_INTERRUPTED);
    test_error(&err, KERN_INTERRUPTED, "of 399 windows");
    assert_int_equal(calls, 1);
    stream.n_train = 399;
    assert_loss_refused(m, &stream, 0, 1, KERN_BAD_INPUT, "has 1 tokens; at least 2");
    stream.n_train = 360;
    model_value_set(m, model_params_find(&m->params, "lm_head.bias")->offset, (double)NAN);
    assert_loss_refused(m, &stream, 0, 1, KERN_NAN, "is not a finite number");
    model_stream_fini(&stream);
    tiny_stream(&stream, 400, VOCAB + 1);
    assert_loss_refused(m, &stream, 0, 1, KERN_BAD_INPUT, "a vocabulary of 21 tokens");
    model_stream_fini(&stream);
    model_destroy(m);
}

/* ---- Answers ----------------------------------------------------------------------------- */

static void test_answer(void **state)
{
    (void)state;
    int32_t ids[] = {5, 6, EOS};
    assert_int_equal(model_score_answer(&(model_continuation){ids, 3, true}), 6);
    assert_int_equal(model_score_answer(&(model_continuation){ids, 2, false}), 6);
    assert_int_equal(model_score_answer(&(model_continuation){ids + 2, 1, true}), -1);
}

/* A model that looks at the position alone: "7" behind the first four tokens, <eos> behind every
 * later one. `sure` is how much larger that logit is than the others. */
static model *position_model(double sure)
{
    const model_config config = tiny_config(MODEL_NRGPT);
    model *m = NULL;
    TINY_OK(model_create(&m, &config, &kern_backend_cpu_f32, tiny_err));
    const size_t d = config.n_embed;
    const size_t position =
        model_params_find(&m->params, "position_embedding_table.weight")->offset;
    const size_t head = model_params_find(&m->params, "lm_head.weight")->offset;
    const size_t gain = model_params_find(&m->params, "ln_f.weight")->offset;
    for (size_t a = 0; a < config.block_size; a++) {
        model_value_set(m, position + a * d + (a < 4 ? 0 : 1), 1.0);
    }
    /* The norm maps a unit vector of 12 to √11 there and −1/√11 elsewhere. */
    model_value_set(m, gain, 1);
    model_value_set(m, gain + 1, 1);
    model_value_set(m, head + SEVEN * d, sure / sqrt(11.0));
    model_value_set(m, head + EOS * d + 1, sure / sqrt(11.0));
    return m;
}

static bool judge_length(void *context, const int32_t *ids, size_t n)
{
    size_t *calls = context;
    (*calls)++;
    return n == 6 && ids[0] == 10 && ids[n - 1] == EOS;
}

static void test_listops(void **state)
{
    (void)state;
    int32_t ids[] = {10, 11, 3, 10, 11, 12, 13, 3};
    model_prompt items[] = {
        {ids, 3, SEVEN},     /* 7 7 <eos> */
        {ids, 2, SEVEN + 1}, /* answers 7, wrong */
        {ids, 4, SEVEN},     /* 7 <eos> */
        {ids, 5, 11},        /* <eos> at once: no answer, although 11 came last */
        {ids, 8, SEVEN},     /* <eos> at once */
        {ids + 3, 1, SEVEN},
    };
    const model_prompts prompts = {items, 6, 8};
    model *m = position_model(60);
    model_scoring scoring = model_scoring_default(EOS);
    model_accuracy result;
    size_t calls = 0;
    assert_int_equal(scoring.sampling.max_new, 60);
    for (int threads = 1; threads <= 2; threads++) {
        for (int greedy = 0; greedy < 2; greedy++) {
            scoring.threads = threads;
            scoring.sampling.greedy = greedy == 1;
            TINY_OK(model_score_listops(m, &prompts, &scoring, &result, tiny_err));
            assert_int_equal(result.n, 6);
            assert_int_equal(result.correct, 3);
            assert_int_equal(result.ended, 6);
            assert_int_equal(result.valid, 0);
            assert_true(fabs(result.accuracy - 0.5) < 1e-15);
        }
    }
    scoring.judge = judge_length;
    scoring.context = &calls;
    TINY_OK(model_score_listops(m, &prompts, &scoring, &result, tiny_err));
    assert_int_equal(calls, 6);
    assert_int_equal(result.valid, 5); /* all but the prompt of eight tokens */
    scoring.sampling.max_new = 1;      /* 7 is now the last token without an end */
    TINY_OK(model_score_listops(m, &prompts, &scoring, &result, tiny_err));
    assert_int_equal(result.correct, 3);
    assert_int_equal(result.ended, 2);
    model_destroy(m);
}

/* Prompt, then continuation with its end. */
static bool judge_text(void *context, const int32_t *ids, size_t n)
{
    const int32_t expected[] = {10, 11, 3, SEVEN, SEVEN, EOS};
    (void)context;
    return n == 6 && memcmp(ids, expected, sizeof expected) == 0;
}

static void test_judge_sees_the_whole_text(void **state)
{
    (void)state;
    int32_t ids[] = {10, 11, 3, 12};
    model_prompt items[] = {{ids, 4, SEVEN}, {ids, 3, SEVEN}, {ids + 1, 3, SEVEN}};
    const model_prompts prompts = {items, 3, 4};
    model *m = position_model(60);
    model_scoring scoring = model_scoring_default(EOS);
    model_accuracy result;
    scoring.judge = judge_text;
    TINY_OK(model_score_listops(m, &prompts, &scoring, &result, tiny_err));
    assert_int_equal(result.correct, 3);
    assert_int_equal(result.valid, 1);
    model_destroy(m);
}

/* Sampling follows the probabilities: with 19 equal others, e^sure = 19 makes half the answers. */
static void test_sampled_accuracy(void **state)
{
    (void)state;
    enum { MANY = 600 };
    int32_t ids[] = {10};
    static model_prompt items[MANY];
    for (size_t i = 0; i < MANY; i++) {
        items[i] = (model_prompt){ids, 1, SEVEN};
    }
    const model_prompts prompts = {items, MANY, 1};
    model *m = position_model(log(19));
    model_scoring scoring = model_scoring_default(EOS);
    model_accuracy result;
    scoring.sampling.max_new = 1;
    scoring.threads = 2;
    TINY_OK(model_score_listops(m, &prompts, &scoring, &result, tiny_err));
    assert_true(fabs(result.accuracy - 0.5) < 5 * sqrt(0.25 / MANY) + 0.02);
    scoring.sampling.greedy = true;
    TINY_OK(model_score_listops(m, &prompts, &scoring, &result, tiny_err));
    assert_int_equal(result.correct, MANY);
    model_destroy(m);
}

static void test_listops_refusals(void **state)
{
    (void)state;
    int32_t ids[] = {10, 99};
    model_prompt item = {ids, 2, SEVEN};
    const model_prompts prompts = {&item, 1, 2};
    model *m = position_model(1);
    model_accuracy result;
    kern_error err = {KERN_OK, ""};
    model_scoring scoring = model_scoring_default(-1);
    assert_int_equal(model_score_listops(m, &prompts, &scoring, &result, &err),
                     KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "answers are found by the end token");
    scoring = model_scoring_default(EOS);
    assert_int_equal(model_score_listops(m, &prompts, &scoring, &result, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "token 2 of prompt 1 has id 99");
    size_t calls = 0;
    item.n = 1;
    scoring.progress = stop_at_once;
    scoring.context = &calls;
    assert_int_equal(model_score_listops(m, &prompts, &scoring, &result, &err), KERN_INTERRUPTED);
    assert_int_equal(result.n, 0);
    scoring.sampling.max_new = SIZE_MAX;
    assert_int_equal(model_score_listops(m, &prompts, &scoring, &result, &err), KERN_NO_MEMORY);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_agrees_with_plain),
        cmocka_unit_test(test_loss_of_ignorance),
        cmocka_unit_test(test_loss_refusals),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_listops),
        cmocka_unit_test(test_judge_sees_the_whole_text),
        cmocka_unit_test(test_sampled_accuracy),
        cmocka_unit_test(test_listops_refusals),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
