/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameter counts and budgets against the tables of shared/design/hourglass.md, section 2, and
 * cem.md, B.1 (reconstructions: the papers' own tables are not public).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model.h"
#include "models/model_budget.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_113M ((size_t)113246208)

enum { ROOM = 256 };

/* Rules without gains and embeddings. */
static const model_budget_rules llama = {.attn = MODEL_ATTN_LLAMA, .ffn = MODEL_FFN_LLAMA};
static const model_budget_rules hourglass = {.attn = MODEL_ATTN_LLAMA, .ffn = MODEL_FFN_HOURGLASS};

static model_budget_parts count(const model_budget_rules *rules, size_t d, size_t layers, size_t k,
                                size_t d_attn, size_t per_layer)
{
    const model_budget_shape shape = {.d = d,
                                      .layers = layers,
                                      .d_attn = d_attn,
                                      .d_kv = d_attn,
                                      .k = k,
                                      .hidden = per_layer * layers};
    model_budget_parts parts = {0};
    kern_error err = {0};
    if (model_budget_count(rules, &shape, &parts, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return parts;
}

/* 16 d² L, and how it is shared. */
static void test_labels(void **state)
{
    static const size_t rows[][4] = {{12, 768, 3072, 113246208},
                                     {24, 1024, 4096, 402653184},
                                     {24, 1536, 6144, 905969664},
                                     {16, 2048, 8192, 1073741824}};
    static const double shares[][2] = {
        {28.3, 84.9}, {100.7, 302.0}, {226.5, 679.5}, {268.4, 805.3}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const size_t d = rows[i][1];
        const model_budget_parts p = count(&llama, d, rows[i][0], 1, d, rows[i][2]);
        assert_int_equal(p.all, rows[i][3]);
        assert_true(fabs(1e-6 * (double)p.attention - shares[i][0]) < 0.05 + 1e-9);
        assert_true(fabs(1e-6 * (double)p.feed_forward - shares[i][1]) < 0.05 + 1e-9);
        assert_int_equal(p.gains + p.embeddings, 0);
    }
    /* The other reading of the first three: 12 d² L, hidden 8d/3, other depths. */
    assert_int_equal(count(&llama, 768, 16, 1, 768, 2048).all, rows[0][3]);
    assert_true(fabs((double)count(&llama, 1024, 32, 1, 1024, 2731).all / 402653184.0 - 1) < 1e-3);
    assert_int_equal(count(&llama, 1536, 32, 1, 1536, 4096).all, rows[2][3]);
}

/* The exact solutions: at 113,246,208, with free attention width, at twice width and depth, and the
 * two toy budgets. */
static void test_exact_solutions(void **state)
{
    static const size_t rows[][6] = {
        /* budget, d, L, d_a, K, d_h */
        {BUDGET_113M, 768, 12, 768, 6, 512},  {BUDGET_113M, 768, 12, 768, 8, 384},
        {BUDGET_113M, 768, 12, 768, 12, 256}, {BUDGET_113M, 768, 12, 768, 16, 192},
        {BUDGET_113M, 768, 16, 768, 4, 512},  {BUDGET_113M, 768, 16, 768, 8, 256},
        {BUDGET_113M, 1152, 8, 1152, 4, 640}, {BUDGET_113M, 1152, 8, 1152, 5, 512},
        {BUDGET_113M, 1152, 8, 1152, 8, 320}, {BUDGET_113M, 1536, 6, 1536, 2, 1024},
        {BUDGET_113M, 1536, 6, 1536, 4, 512}, {BUDGET_113M, 1536, 8, 1536, 1, 1024},
        {BUDGET_113M, 1536, 8, 1536, 2, 512}, {BUDGET_113M, 1536, 8, 1536, 4, 256},
        {BUDGET_113M, 1536, 8, 1344, 2, 640}, {BUDGET_113M, 1536, 8, 1344, 4, 320},
        {905969664, 2304, 16, 2304, 4, 1280}, {905969664, 2304, 16, 2304, 5, 1024},
        {905969664, 3072, 16, 3072, 2, 1024}, {2359296, 192, 4, 192, 6, 128},
        {2359296, 192, 4, 192, 8, 96},        {2359296, 192, 4, 192, 12, 64},
        {2359296, 192, 8, 192, 2, 128},       {2359296, 192, 8, 192, 4, 64},
        {14155776, 384, 6, 384, 6, 256},      {14155776, 384, 6, 384, 8, 192},
        {14155776, 384, 6, 384, 12, 128},     {14155776, 384, 12, 384, 2, 256},
        {14155776, 384, 12, 384, 4, 128},     {14155776, 576, 4, 576, 4, 320},
        {14155776, 576, 4, 576, 5, 256},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t *const r = rows[i];
        const model_budget_search search = {.rules = hourglass,
                                            .parameters = r[0],
                                            .d = {&r[1], 1},
                                            .layers = {&r[2], 1},
                                            .k = {&r[4], 1},
                                            .d_attn = {&r[3], 1},
                                            .split = MODEL_BUDGET_UNIFORM,
                                            .multiple = 1,
                                            .narrowest = 1};
        model_budget_shape shape;
        model_budget_tally tally;
        assert_int_equal(model_budget_solve(&search, &shape, 1, &tally, NULL), KERN_OK);
        assert_int_equal(tally.found, 1);
        assert_int_equal(shape.parameters, r[0]);
        assert_true(shape.error == 0.0);
        assert_int_equal(model_budget_widths(&shape), r[4]);
        for (size_t k = 0; k < r[4]; k++) {
            assert_int_equal(model_budget_width(&shape, r[2] - 1, k), r[5]);
        }
    }
}

/* 66 M attention and 47 M feed-forward: d = 1536, L = 7, and the exact one with d_a = 1344. */
static void test_reallocated_winner(void **state)
{
    const model_budget_parts p = count(&hourglass, 1536, 7, 2, 1536, 1463);
    const model_budget_parts q = count(&hourglass, 1536, 8, 2, 1344, 1280);
    (void)state;
    assert_int_equal(p.attention, 66060288);
    assert_true(fabs(1e-6 * (double)p.feed_forward - 47.19) < 0.005);
    assert_int_equal(q.all, BUDGET_113M);
    assert_true(fabs(1e-6 * (double)q.attention - 66.1) < 0.05);
    assert_true(fabs(1e-6 * (double)q.feed_forward - 47.2) < 0.05);
}

/* The grids of the enumeration: d in multiples of 64, 3 to 40 layers, 1 to 12 sub-MLPs. */
typedef struct grids {
    size_t d[64];
    size_t layers[38];
    size_t k[12];
} grids;

static model_budget_search enumeration(grids *g, const model_budget_rules *rules)
{
    for (size_t i = 0; i < 64; i++) {
        g->d[i] = 64 * (i + 1);
    }
    for (size_t i = 0; i < 38; i++) {
        g->layers[i] = 3 + i;
    }
    for (size_t i = 0; i < 12; i++) {
        g->k[i] = 1 + i;
    }
    return (model_budget_search){.rules = *rules,
                                 .parameters = BUDGET_113M,
                                 .tolerance = 1e-5,
                                 .d = {g->d, 64},
                                 .layers = {g->layers, 38},
                                 .k = {g->k, 12},
                                 .split = MODEL_BUDGET_UNIFORM,
                                 .multiple = 1,
                                 .narrowest = 1};
}

static size_t different_shapes(const model_budget_shape *shapes, size_t n)
{
    size_t different = 0;
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++) {
            seen = seen || (shapes[i].d == shapes[j].d && shapes[i].layers == shapes[j].layers);
        }
        different += seen ? 0 : 1;
    }
    return different;
}

/* The order of a list: by distance, and equally near ones by d, layers and k. */
static bool comes_before(const model_budget_shape *a, const model_budget_shape *b)
{
    if (fabs(a->error) < fabs(b->error) || fabs(a->error) > fabs(b->error)) {
        return fabs(a->error) < fabs(b->error);
    }
    if (a->d != b->d) {
        return a->d < b->d;
    }
    return a->layers != b->layers ? a->layers < b->layers : a->k < b->k;
}

/* As stated, the rule gives 112 tuples (d, L, K) of 37 shapes (d, L); the three beyond the 109 of
 * the notes have sub-MLPs of 1, 2 and 5 units. */
static void test_enumeration(void **state)
{
    grids g;
    model_budget_shape shapes[ROOM];
    model_budget_tally tally;
    model_budget_search search = enumeration(&g, &hourglass);
    (void)state;
    assert_int_equal(model_budget_solve(&search, shapes, ROOM, &tally, NULL), KERN_OK);
    assert_int_equal(tally.found, 112);
    assert_int_equal(tally.listed, ROOM);
    assert_int_equal(different_shapes(shapes, 112), 37);
    for (size_t i = 0; i < 112; i++) {
        assert_true(fabs(shapes[i].error) <= 1e-5);
        assert_true(i == 0 || comes_before(&shapes[i - 1], &shapes[i]));
        assert_true(model_budget_width(&shapes[i], 0, 0) < shapes[i].d);
    }
    assert_true(fabs(shapes[112].error) > 1e-5);
    search.narrowest = 8;
    assert_int_equal(model_budget_solve(&search, shapes, ROOM, &tally, NULL), KERN_OK);
    assert_int_equal(tally.found, 109);
    assert_int_equal(different_shapes(shapes, 109), 37);
    search.tolerance = 0.0;
    assert_int_equal(model_budget_solve(&search, shapes, ROOM, &tally, NULL), KERN_OK);
    assert_int_equal(tally.found, 47);
    assert_int_equal(shapes[46].parameters, BUDGET_113M);
    assert_int_not_equal(shapes[47].parameters, BUDGET_113M);
}

/* A short list is the beginning of a long one. */
static void test_capacity(void **state)
{
    grids g;
    model_budget_shape shapes[ROOM];
    model_budget_shape few[7];
    model_budget_tally tally;
    const model_budget_search search = enumeration(&g, &hourglass);
    (void)state;
    assert_int_equal(model_budget_solve(&search, shapes, ROOM, &tally, NULL), KERN_OK);
    const size_t candidates = tally.candidates;
    assert_int_equal(model_budget_solve(&search, few, 7, &tally, NULL), KERN_OK);
    assert_int_equal(tally.candidates, candidates);
    assert_int_equal(tally.found, 112);
    assert_int_equal(tally.listed, 7);
    assert_memory_equal(shapes, few, sizeof few);
}

/* Any number of units: the error is at most half a unit, 1.5 d / B, wherever there is room; widths
 * differ by at most 1, add up, and stand wider first. */
static void test_ragged(void **state)
{
    grids g;
    model_budget_shape shapes[ROOM];
    model_budget_tally tally;
    model_budget_search search = enumeration(&g, &hourglass);
    (void)state;
    search.split = MODEL_BUDGET_MODEL;
    for (size_t i = 0; i < 64; i++) {
        search.d = (model_budget_values){&g.d[i], 1};
        assert_int_equal(model_budget_solve(&search, shapes, ROOM, &tally, NULL), KERN_OK);
        for (size_t j = 0; j < tally.listed; j++) {
            const model_budget_shape *const s = &shapes[j];
            const size_t subs = s->layers * s->k;
            size_t total = 0;
            size_t last = SIZE_MAX;
            for (size_t n = 0; n < subs; n++) {
                const size_t width = model_budget_width(s, n / s->k, n % s->k);
                assert_true(model_budget_widths(s) == s->k ? n % s->k == 0 || width <= last
                                                           : width <= last);
                assert_true(width == s->hidden / subs || width == s->hidden / subs + 1);
                total += width;
                last = width;
            }
            assert_int_equal(total, s->hidden);
            const bool clamped = s->hidden == subs || s->hidden == subs * (s->d - 1);
            assert_true(clamped || fabs(s->error) <= 1.5 * (double)s->d / 113246208.0);
        }
    }
}

/* Fixed attention: the first sub-MLPs of every layer are one wider, the total stays. */
static void test_fixed_attention(void **state)
{
    const size_t d = 768;
    const size_t layers = 12;
    (void)state;
    for (size_t k = 5; k <= 17; k++) {
        const model_budget_search search = {.rules = hourglass,
                                            .parameters = BUDGET_113M,
                                            .d = {&d, 1},
                                            .layers = {&layers, 1},
                                            .k = {&k, 1},
                                            .split = MODEL_BUDGET_LAYER,
                                            .multiple = 1,
                                            .narrowest = 1};
        model_budget_shape shape;
        model_budget_tally tally;
        assert_int_equal(model_budget_solve(&search, &shape, 1, &tally, NULL), KERN_OK);
        assert_true(shape.error == 0.0);
        assert_int_equal(model_budget_widths(&shape), k);
        for (size_t i = 0; i < k; i++) {
            assert_int_equal(model_budget_width(&shape, 7, i), 3072 / k + (i < 3072 % k ? 1 : 0));
        }
    }
}

/* Gains: one more width for attention in every layer, and one at the end. */
static void test_gains(void **state)
{
    static const model_gain modes[] = {MODEL_GAIN_NONE, MODEL_GAIN_SHARED, MODEL_GAIN_PER_SUB};
    static const size_t each[] = {0, 1, 8};
    model_budget_rules rules = hourglass;
    (void)state;
    rules.count_gains = true;
    for (size_t i = 0; i < 3; i++) {
        rules.gain = modes[i];
        const model_budget_parts p = count(&rules, 768, 12, 8, 768, 3072);
        assert_int_equal(p.gains, 768 * (12 * (1 + each[i]) + 1));
        assert_int_equal(p.all, BUDGET_113M + p.gains);
    }
    /* (K − 1) d L more with one each than with one for all: 64,512, or 0.057 %. */
    assert_int_equal(count(&rules, 768, 12, 8, 768, 3072).gains - 768 * 25, 64512);
}

static model_budget_rules stack(model_attn attn, model_ffn ffn, size_t vocab)
{
    return (model_budget_rules){.attn = attn,
                                .ffn = ffn,
                                .count_gains = true,
                                .gain = MODEL_GAIN_SHARED,
                                .vocab = vocab,
                                .diag = MODEL_DIAG_NONE};
}

/* The stacks of cem.md: 162 M and 86 M, and what each tie saves. */
static void test_cem_totals(void **state)
{
    const model_budget_rules base = stack(MODEL_ATTN_LLAMA, MODEL_FFN_LLAMA, 50257);
    const model_budget_rules small = stack(MODEL_ATTN_LLAMA, MODEL_FFN_LLAMA, 32000);
    const model_budget_rules attention = stack(MODEL_ATTN_CEM, MODEL_FFN_LLAMA, 50257);
    const model_budget_rules mlp = stack(MODEL_ATTN_LLAMA, MODEL_FFN_CEM, 50257);
    model_budget_rules both = stack(MODEL_ATTN_CEM, MODEL_FFN_CEM, 50257);
    (void)state;
    assert_int_equal(count(&base, 768, 12, 1, 768, 2048).all, 162148608);
    assert_int_equal(count(&small, 768, 12, 1, 768, 3072).all, 162417408);
    assert_int_equal(count(&base, 512, 10, 1, 512, 1536).all, 85552640);
    assert_int_equal(count(&base, 576, 7, 1, 576, 1536).all, 85773888);
    assert_int_equal(count(&attention, 768, 12, 1, 768, 2048).all, 147992832);
    assert_int_equal(count(&mlp, 768, 12, 1, 768, 2048).all, 143274240);
    const size_t tied = count(&both, 768, 12, 1, 768, 2048).all;
    assert_int_equal(tied, 129118464);
    /* D per diagonal, H of them per head; D + 2 D r per preconditioner, two a layer. */
    both.diag = MODEL_DIAG_SHARED;
    assert_int_equal(count(&both, 768, 12, 1, 768, 2048).all, tied + 12 * 768);
    both.diag = MODEL_DIAG_PER_HEAD;
    both.heads = 12;
    assert_int_equal(count(&both, 768, 12, 1, 768, 2048).all, tied + 12 * 12 * 768);
    both.diag = MODEL_DIAG_NONE;
    both.precond = MODEL_PRECOND_DLR;
    both.p_rank = 8;
    assert_int_equal(count(&both, 768, 12, 1, 768, 2048).all, tied + 24 * 768 * 17);
    both.precond = MODEL_PRECOND_GAMMA;
    both.eta_trained = true;
    assert_int_equal(count(&both, 768, 12, 1, 768, 2048).all, tied + 24);
    both.tied_head = true;
    assert_int_equal(count(&both, 768, 12, 1, 768, 2048).embeddings, 50257 * 768);
}

/* At equal parameters the tied stacks are wider inside: with 162,148,608 the hidden width is
 * F = (4 D² + 3 D F′ − 2 D²) / 2 D = D + 1.5 F′ = 3840. */
static void test_cem_at_equal_parameters(void **state)
{
    const size_t d = 768;
    const size_t layers = 12;
    const size_t one = 1;
    const model_budget_search search = {.rules = stack(MODEL_ATTN_CEM, MODEL_FFN_CEM, 50257),
                                        .parameters = 162148608,
                                        .d = {&d, 1},
                                        .layers = {&layers, 1},
                                        .k = {&one, 1},
                                        .split = MODEL_BUDGET_UNIFORM,
                                        .multiple = 1,
                                        .narrowest = 1};
    model_budget_shape shape;
    model_budget_tally tally;
    (void)state;
    assert_int_equal(model_budget_solve(&search, &shape, 1, &tally, NULL), KERN_OK);
    assert_true(shape.error == 0.0);
    assert_int_equal(model_budget_width(&shape, 0, 0), 3840);
}

/* A model that is built has as many parameters as are counted for its shape. */
static void check_built(const model_config *config)
{
    const size_t k = config->ffn == MODEL_FFN_HOURGLASS ? config->hourglass.k : 1;
    const model_budget_rules rules = {.attn = config->attn,
                                      .ffn = config->ffn,
                                      .count_gains = true,
                                      .gain = config->hourglass.gain,
                                      .vocab = config->vocab_size,
                                      .tied_head = config->tied_head,
                                      .diag = config->cem.diag,
                                      .heads = config->n_head,
                                      .precond = config->cem.precond,
                                      .p_rank = config->cem.p_rank,
                                      .eta_trained = config->cem.eta_trained};
    const model_budget_shape shape = {.d = config->n_embed,
                                      .layers = config->n_layer,
                                      .d_attn = model_config_attention_width(config),
                                      .d_kv = model_config_kv_width(config),
                                      .k = k,
                                      .hidden = config->n_layer * k * config->n_hidden};
    model_budget_parts parts = {0};
    model *m = NULL;
    kern_error err = {0};
    if (model_create(&m, config, &kern_backend_cpu_f64, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(model_budget_count(&rules, &shape, &parts, NULL), KERN_OK);
    assert_int_equal(parts.all, m->params.elements);
    model_destroy(m);
}

static model_config small(model_family family)
{
    model_config config = model_config_default(family);
    config.n_embed = 24;
    config.n_head = 3;
    config.n_layer = 3;
    config.n_hidden = 10;
    return config;
}

static void test_models_that_are_built(void **state)
{
    static const model_gain gains[] = {MODEL_GAIN_PER_SUB, MODEL_GAIN_SHARED, MODEL_GAIN_NONE};
    model_config config = small(MODEL_LLAMA);
    (void)state;
    check_built(&config);
    config.tied_head = true;
    config.d_attn = 12;
    check_built(&config);
    for (size_t i = 0; i < 3; i++) {
        config = small(MODEL_HOURGLASS);
        config.hourglass.gain = gains[i];
        check_built(&config);
    }
    config = small(MODEL_CEM);
    check_built(&config);
    config.cem.diag = MODEL_DIAG_PER_HEAD;
    config.cem.precond = MODEL_PRECOND_DLR;
    config.cem.p_rank = 3;
    check_built(&config);
    config.cem.precond = MODEL_PRECOND_GAMMA;
    check_built(&config);
    config.cem.precond = MODEL_PRECOND_NONE;
    config.cem.eta_trained = true;
    check_built(&config);
    config.ffn = MODEL_FFN_LLAMA;
    check_built(&config);
}

/* Given hidden units are counted, not solved for; d_a and d_kv apart; multiples. */
static void test_other_ways_to_ask(void **state)
{
    const size_t hidden[] = {2048, 3072, 4000};
    const size_t kv = 256;
    const size_t d = 768;
    const size_t layers = 12;
    const size_t one = 1;
    model_budget_search search = {.rules = llama,
                                  .parameters = BUDGET_113M,
                                  .d = {&d, 1},
                                  .layers = {&layers, 1},
                                  .k = {&one, 1},
                                  .hidden = {hidden, 3},
                                  .multiple = 1,
                                  .narrowest = 1};
    model_budget_shape shapes[4];
    model_budget_tally tally;
    (void)state;
    assert_int_equal(model_budget_solve(&search, shapes, 4, &tally, NULL), KERN_OK);
    assert_int_equal(tally.candidates, 3);
    assert_int_equal(tally.listed, 3);
    assert_int_equal(shapes[0].hidden, 3072 * 12);
    search.hidden.count = 0;
    search.d_kv = (model_budget_values){&kv, 1};
    assert_int_equal(model_budget_solve(&search, shapes, 4, &tally, NULL), KERN_OK);
    /* 2 d (d_a + d_kv) + 3 d S = 16 d²: S = (16·768 − 2·1024) / 3 = 3413.3 */
    assert_int_equal(shapes[0].d_kv, 256);
    assert_int_equal(model_budget_width(&shapes[0], 0, 0), 3413);
    search.multiple = 64;
    assert_int_equal(model_budget_solve(&search, shapes, 4, &tally, NULL), KERN_OK);
    assert_int_equal(model_budget_width(&shapes[0], 0, 0), 3392);
}

static void refuse(const model_budget_search *search, kern_status status, const char *part)
{
    model_budget_shape shape;
    model_budget_tally tally;
    kern_error err = {0};
    assert_int_equal(model_budget_solve(search, &shape, 1, &tally, &err), status);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
}

/* An impossible budget still has nearest shapes; questions without sense are refused. */
static void test_impossible(void **state)
{
    grids g;
    model_budget_shape shape;
    model_budget_tally tally;
    model_budget_search search = enumeration(&g, &hourglass);
    (void)state;
    search.parameters = 100;
    assert_int_equal(model_budget_solve(&search, &shape, 1, &tally, NULL), KERN_OK);
    assert_int_equal(tally.found, 0);
    assert_true(shape.d == 64 && shape.layers == 3 && shape.k == 1 && shape.hidden == 3);
    search.parameters = (size_t)1 << 50;
    assert_int_equal(model_budget_solve(&search, &shape, 1, &tally, NULL), KERN_OK);
    assert_true(shape.d == 4096 && shape.layers == 40 && shape.error < -0.9);
    search.parameters = 0;
    refuse(&search, KERN_INVALID_ARGUMENT, "the number of parameters is 0");
    search = enumeration(&g, &hourglass);
    search.tolerance = (double)NAN;
    refuse(&search, KERN_INVALID_ARGUMENT, "the tolerance is nan");
    search = enumeration(&g, &hourglass);
    g.layers[3] = 0;
    refuse(&search, KERN_INVALID_ARGUMENT, "the number of layers is 0; 1 to 4096 are accepted");
    search = enumeration(&g, &llama);
    refuse(&search, KERN_INVALID_ARGUMENT, "the number of sub-MLPs is 2; 1 to 1 are accepted");
    search = enumeration(&g, &hourglass);
    search.k.count = 0;
    refuse(&search, KERN_INVALID_ARGUMENT, "no value for the number of sub-MLPs");
    search = enumeration(&g, &hourglass);
    search.narrowest = 5000;
    refuse(&search, KERN_NOT_FOUND, "at least 5000 wide");
    search = enumeration(&g, &hourglass);
    search.d_attn = (model_budget_values){g.d, 64};
    search.d_kv = (model_budget_values){g.d, 64};
    refuse(&search, KERN_INVALID_ARGUMENT, "more than 67108864 combinations");
    search = enumeration(&g, &hourglass);
    search.rules.precond = MODEL_PRECOND_DLR;
    refuse(&search, KERN_INVALID_ARGUMENT, "the rank of the preconditioner is 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_exact_solutions),
        cmocka_unit_test(test_reallocated_winner),
        cmocka_unit_test(test_enumeration),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_ragged),
        cmocka_unit_test(test_fixed_attention),
        cmocka_unit_test(test_gains),
        cmocka_unit_test(test_cem_totals),
        cmocka_unit_test(test_cem_at_equal_parameters),
        cmocka_unit_test(test_models_that_are_built),
        cmocka_unit_test(test_other_ways_to_ask),
        cmocka_unit_test(test_impossible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
