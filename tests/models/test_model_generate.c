/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_exec.h"
#include "models/model_generate.h"
#include "models/model_graph.h"
#include "models/model_sample.h"
#include "tests/models/model_test_folder.h"
#include "tests/models/model_test_tiny.h"

#include <math.h>

enum { PROMPTS = 7, VOCAB = 20, NEW = 30, LONGEST = 40 };

/* Prompts of lengths 1 … 40, the last ones longer than the block of 24. */
static int32_t tokens[PROMPTS][LONGEST];
static model_prompt items[PROMPTS];
static model_prompts prompts = {items, PROMPTS, LONGEST};

static int make_prompts(void **state)
{
    static const size_t lengths[PROMPTS] = {1, 3, 15, 17, 24, 25, LONGEST};
    kern_rng *rng = kern_rng_create(2, "prompts", 0);
    for (size_t i = 0; i < PROMPTS; i++) {
        for (size_t k = 0; k < lengths[i]; k++) {
            tokens[i][k] = (int32_t)kern_rng_below(rng, VOCAB);
        }
        items[i] = (model_prompt){tokens[i], lengths[i], -1};
    }
    kern_rng_destroy(rng);
    return test_folder_make(state);
}

/* ---- A plain implementation -------------------------------------------------------------- */

/* Logits behind the last of `n` tokens, from a graph of exactly that length that is thrown away. */
static void plain_logits(const model *m, const int32_t *ids, size_t n, double logits[VOCAB])
{
    const model_graph_options options = {.batch = 1,
                                         .tokens = n,
                                         .steps = m->config.n_layer,
                                         .start = MODEL_START_TOKENS,
                                         .readout = true};
    const kern_plan_options forward = {.mode = KERN_MODE_FORWARD};
    model_graph graph;
    kern_plan *plan = NULL;
    kern_exec *exec = NULL;
    TINY_OK(model_graph_init(&graph, m, &options, tiny_err));
    TINY_OK(kern_plan_create(&plan, graph.graph, &forward, tiny_err));
    TINY_OK(kern_exec_create(&exec, plan, m->backend, 1, tiny_err));
    kern_run run = {.params = m->values};
    run.bindings.index[MODEL_SLOT_TOKENS] = ids;
    kern_exec_forward(exec, &run);
    const void *values = kern_exec_value(exec, graph.logits);
    for (size_t i = 0; i < VOCAB; i++) {
        const size_t at = (n - 1) * VOCAB + i;
        logits[i] = m->backend->real_size == sizeof(float) ? (double)((const float *)values)[at]
                                                           : ((const double *)values)[at];
    }
    kern_exec_destroy(exec);
    kern_plan_destroy(plan);
    model_graph_fini(&graph);
}

static int32_t plain_draw(const double logits[VOCAB], double temperature, kern_rng *rng)
{
    double share[VOCAB];
    double total = 0;
    for (size_t i = 0; i < VOCAB; i++) {
        share[i] = exp((logits[i] - logits[0]) / temperature);
        total += share[i];
    }
    double u = kern_rng_uniform(rng) * total;
    for (int32_t i = 0; i < VOCAB; i++) {
        u -= share[i];
        if (u < 0) {
            return i;
        }
    }
    return VOCAB - 1;
}

static void check_against_plain(const model *m, const model_sampling *sampling)
{
    model_continuation out[PROMPTS];
    TINY_OK(model_generate_batch(m, sampling, &prompts, 2, NULL, NULL, out, tiny_err));
    for (size_t i = 0; i < PROMPTS; i++) {
        int32_t ids[LONGEST + NEW];
        double logits[VOCAB];
        size_t n = items[i].n;
        memcpy(ids, tokens[i], n * sizeof *ids);
        kern_rng *rng = kern_rng_create(sampling->seed, "generate", sampling->first_index + i);
        assert_int_equal(out[i].n, sampling->max_new);
        for (size_t k = 0; k < out[i].n; k++) {
            const size_t seen = n < m->config.block_size ? n : m->config.block_size;
            plain_logits(m, ids + n - seen, seen, logits);
            size_t best = 0;
            for (size_t v = 1; v < VOCAB; v++) {
                best = logits[v] > logits[best] ? v : best;
            }
            ids[n] =
                sampling->greedy ? (int32_t)best : plain_draw(logits, sampling->temperature, rng);
            assert_int_equal(out[i].ids[k], ids[n]);
            n++;
        }
        kern_rng_destroy(rng);
    }
    model_continuations_fini(out, PROMPTS);
    model_continuations_fini(out, PROMPTS);
}

static void test_agrees_with_plain(void **state)
{
    (void)state;
    static const char *const families[] = {"nrgpt", "gpt", "gpt-rec-parallel", "cem"};
    for (size_t i = 0; i < 8; i++) {
        model_config config = tiny_config(i / 2 == 0 ? MODEL_NRGPT : MODEL_GPT);
        TINY_OK(model_config_set_family(&config, families[i / 2], tiny_err));
        config.strict_mask = i % 2 == 0;
        config.dropout = 0.5; /* for training only */
        model *m = tiny_model(&config, i % 2 == 0 ? &kern_backend_cpu_f64 : &kern_backend_cpu_f32);
        model_sampling sampling = model_sampling_default();
        sampling.max_new = NEW;
        sampling.greedy = true;
        check_against_plain(m, &sampling);
        sampling.greedy = false;
        sampling.temperature = 1.7;
        sampling.first_index = 5;
        check_against_plain(m, &sampling);
        model_destroy(m);
    }
}

/* ---- Independence ------------------------------------------------------------------------- */

static bool same(const model_continuation *a, const model_continuation *b)
{
    return a->n == b->n && a->ended == b->ended &&
           memcmp(a->ids, b->ids, a->n * sizeof *a->ids) == 0;
}

static void test_split_and_threads_do_not_matter(void **state)
{
    (void)state;
    const model_config config = tiny_config(MODEL_NRGPT);
    model *m = tiny_model(&config, &kern_backend_cpu_f32);
    model_continuation whole[PROMPTS];
    model_continuation part[PROMPTS];
    model_sampling sampling = model_sampling_default();
    sampling.eos = 3;
    TINY_OK(model_generate_batch(m, &sampling, &prompts, 1, NULL, NULL, whole, tiny_err));
    for (int threads = 2; threads <= 9; threads += 7) {
        TINY_OK(model_generate_batch(m, &sampling, &prompts, threads, NULL, NULL, part, tiny_err));
        for (size_t i = 0; i < PROMPTS; i++) {
            assert_true(same(&whole[i], &part[i]));
        }
        model_continuations_fini(part, PROMPTS);
    }
    size_t ended = 0;
    for (size_t i = 0; i < PROMPTS; i++) {
        sampling.first_index = i;
        TINY_OK(model_generate(m, &sampling, tokens[i], items[i].n, part, tiny_err));
        assert_true(same(&whole[i], part));
        ended += part->ended;
        /* The end token ends, and comes nowhere else. */
        for (size_t k = 0; k < part->n; k++) {
            assert_true((part->ids[k] == 3) == (part->ended && k == part->n - 1));
        }
        assert_true(part->ended || part->n == sampling.max_new);
        model_continuations_fini(part, 1);
    }
    assert_true(ended > 0);
    sampling.first_index = 0;
    sampling.seed = 2;
    size_t different = 0;
    TINY_OK(model_generate_batch(m, &sampling, &prompts, 2, NULL, NULL, part, tiny_err));
    for (size_t i = 0; i < PROMPTS; i++) {
        different += !same(&whole[i], &part[i]);
    }
    assert_true(different > 0);
    model_continuations_fini(part, PROMPTS);
    model_continuations_fini(whole, PROMPTS);
    model_destroy(m);
}

/* ---- One draw ----------------------------------------------------------------------------- */

/* Shares of 20000 draws against their probabilities, within 5 standard deviations. */
static void check_shares(const model_sampling *s, const double *logits, size_t n, const double *p)
{
    enum { DRAWS = 20000, MOST = 8 };
    size_t counts[MOST] = {0};
    model_candidate room[MOST];
    kern_rng *rng = kern_rng_create(4, "shares", s->top_k);
    for (size_t i = 0; i < DRAWS; i++) {
        const int32_t id = model_sample(s, logits, n, rng, room);
        assert_in_range(id, 0, n - 1);
        counts[id]++;
    }
    for (size_t i = 0; i < n; i++) {
        const double deviation = sqrt(DRAWS * p[i] * (1 - p[i]));
        assert_true(fabs((double)counts[i] - DRAWS * p[i]) <= 5 * deviation);
    }
    kern_rng_destroy(rng);
}

static void test_draws(void **state)
{
    (void)state;
    /* e^logit = 1, 4, 2, 4, 1, shifted far beyond the range of exp. */
    const double shift = 5000;
    const double logits[] = {shift, shift + log(4), shift + log(2), shift + log(4), shift};
    const double all[] = {1 / 12., 4 / 12., 2 / 12., 4 / 12., 1 / 12.};
    const double flat[] = {1 / 7.414213562, 2 / 7.414213562, 1.414213562 / 7.414213562,
                           2 / 7.414213562, 1 / 7.414213562};
    const double two[] = {0, 0.5, 0, 0.5, 0};
    const double four[] = {1 / 11., 4 / 11., 2 / 11., 4 / 11., 0};
    const double one[] = {0, 1, 0, 0, 0};
    model_sampling s = model_sampling_default();
    check_shares(&s, logits, 5, all);
    s.temperature = 2;
    check_shares(&s, logits, 5, flat);
    s.temperature = 1;
    s.top_k = 2;
    check_shares(&s, logits, 5, two);
    s.top_k = 4;
    check_shares(&s, logits, 5, four);
    s.top_k = 9;
    check_shares(&s, logits, 5, all);
    s.top_k = 1;
    check_shares(&s, logits, 5, one);
    s.top_k = 0;
    s.temperature = 1e-9;
    check_shares(&s, logits, 5, two);
    s.greedy = true;
    check_shares(&s, logits, 5, one);
    const double bad[][2] = {{0, (double)NAN}, {(double)INFINITY, 0}, {0, -(double)INFINITY}};
    for (size_t i = 0; i < 3; i++) {
        model_candidate room[2];
        assert_int_equal(model_sample(&s, bad[i], 2, NULL, room), -1);
    }
}

static void test_padded_vocabulary(void **state)
{
    (void)state;
    const model_config config = tiny_config(MODEL_GPT);
    model *m = tiny_model(&config, &kern_backend_cpu_f32);
    model_continuation out[PROMPTS];
    model_sampling sampling = model_sampling_default();
    sampling.vocab = 3;
    TINY_OK(model_generate_batch(m, &sampling, &prompts, 2, NULL, NULL, out, tiny_err));
    for (size_t i = 0; i < PROMPTS; i++) {
        assert_int_equal(out[i].n, 60);
        for (size_t k = 0; k < out[i].n; k++) {
            assert_in_range(out[i].ids[k], 0, 2);
        }
    }
    model_continuations_fini(out, PROMPTS);
    model_destroy(m);
}

/* ---- Refusals ----------------------------------------------------------------------------- */

static void assert_refused(const model *m, const model_sampling *s, const model_prompts *p,
                           int threads, kern_status status, const char *part)
{
    model_continuation out[PROMPTS];
    kern_error err = {KERN_OK, ""};
    memset(out, 0xff, sizeof out);
    assert_int_equal(model_generate_batch(m, s, p, threads, NULL, NULL, out, &err), status);
    test_error(&err, status, part);
    for (size_t i = 0; i < p->n; i++) {
        assert_null(out[i].ids);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const double temperatures[] = {0, -1, (double)NAN, (double)INFINITY};
    const model_config config = tiny_config(MODEL_NRGPT);
    model *m = tiny_model(&config, &kern_backend_cpu_f32);
    model_sampling s = model_sampling_default();
    for (size_t i = 0; i < 4; i++) {
        s.temperature = temperatures[i];
        assert_refused(m, &s, &prompts, 1, KERN_INVALID_ARGUMENT, "the temperature is");
    }
    s = model_sampling_default();
    s.max_new = 0;
    assert_refused(m, &s, &prompts, 1, KERN_INVALID_ARGUMENT, "0 new tokens");
    s = model_sampling_default();
    s.vocab = 21;
    assert_refused(m, &s, &prompts, 1, KERN_INVALID_ARGUMENT, "21 tokens to draw from");
    s = model_sampling_default();
    s.eos = 20;
    assert_refused(m, &s, &prompts, 1, KERN_INVALID_ARGUMENT, "the end token 20");
    s = model_sampling_default();
    assert_refused(m, &s, &prompts, 0, KERN_INVALID_ARGUMENT, "0 threads");
    s.max_new = SIZE_MAX;
    assert_refused(m, &s, &prompts, 1, KERN_NO_MEMORY, "no memory for");
    s.max_new = 4;
    const model_prompts none = {NULL, 0, 0};
    assert_refused(m, &s, &none, 1, KERN_INVALID_ARGUMENT, "there are no prompts");
    int32_t ids[] = {1, 20, 2, -1};
    model_prompt odd[] = {{ids, 1, -1}, {ids, 0, -1}};
    const model_prompts two = {odd, 2, 4};
    assert_refused(m, &s, &two, 1, KERN_BAD_INPUT, "prompt 2 is empty");
    odd[1].n = 3;
    assert_refused(m, &s, &two, 1, KERN_BAD_INPUT, "token 2 of prompt 2 has id 20");
    odd[1] = (model_prompt){ids + 3, 1, -1};
    assert_refused(m, &s, &two, 1, KERN_BAD_INPUT, "token 1 of prompt 2 has id -1");
    const model_param *p = model_params_find(&m->params, "lm_head.bias");
    model_value_set(m, p->offset + 4, (double)NAN);
    assert_refused(m, &s, &prompts, 2, KERN_NAN, "is not a finite number");
    model_destroy(m);
}

static bool stop_at(void *context, size_t done, size_t total)
{
    size_t *calls = context;
    assert_int_equal(total, PROMPTS);
    assert_true(done <= total);
    return ++*calls < 2;
}

static void test_progress_stops(void **state)
{
    (void)state;
    const model_config config = tiny_config(MODEL_NRGPT);
    model *m = tiny_model(&config, &kern_backend_cpu_f32);
    model_sampling s = model_sampling_default();
    model_continuation out[PROMPTS];
    size_t calls = 0;
    kern_error err = {KERN_OK, ""};
    s.max_new = 2;
    assert_int_equal(model_generate_batch(m, &s, &prompts, 1, stop_at, &calls, out, &err),
                     KERN_INTERRUPTED);
    test_error(&err, KERN_INTERRUPTED, "stopped after 7 of 7 prompts");
    assert_int_equal(calls, 2);
    assert_null(out[0].ids);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_plain),
        cmocka_unit_test(test_split_and_threads_do_not_matter),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_padded_vocabulary),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_progress_stops),
    };
    return cmocka_run_group_tests(tests, make_prompts, test_folder_remove);
}
