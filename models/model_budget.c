/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_budget.h"

#include "kernels/kern_size.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ counting */

static kern_status check_number(const char *what, size_t value, size_t low, size_t high,
                                kern_error *err)
{
    if (value < low || value > high) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%s is %zu; %zu to %zu are accepted", what,
                          value, low, high);
    }
    return KERN_OK;
}

static kern_status check_rules(const model_budget_rules *rules, kern_error *err)
{
    KERN_TRY(check_number("the vocabulary", rules->vocab, 0, MODEL_BUDGET_VOCAB, err));
    if (rules->attn == MODEL_ATTN_CEM && rules->diag == MODEL_DIAG_PER_HEAD) {
        KERN_TRY(check_number("the number of heads", rules->heads, 1, MODEL_BUDGET_WIDTH, err));
    }
    if (rules->precond == MODEL_PRECOND_DLR) {
        KERN_TRY(check_number("the rank of the preconditioner", rules->p_rank, 1,
                              MODEL_BUDGET_WIDTH, err));
    }
    return KERN_OK;
}

static kern_status check_shape(const model_budget_shape *shape, kern_error *err)
{
    KERN_TRY(check_number("the width", shape->d, 1, MODEL_BUDGET_WIDTH, err));
    KERN_TRY(check_number("the number of layers", shape->layers, 1, MODEL_BUDGET_LAYERS, err));
    KERN_TRY(check_number("the number of sub-MLPs", shape->k, 1, MODEL_BUDGET_K, err));
    KERN_TRY(check_number("the attention width", shape->d_attn, 1, MODEL_BUDGET_WIDTH, err));
    KERN_TRY(check_number("the width of keys and values", shape->d_kv, 1, MODEL_BUDGET_WIDTH, err));
    return check_number("the number of hidden units", shape->hidden, shape->layers * shape->k,
                        MODEL_BUDGET_WIDTH * shape->layers, err);
}

/* Parameters per unit of d·S: matrices of the feed-forward part. */
static size_t matrices(const model_budget_rules *rules)
{
    return rules->ffn == MODEL_FFN_CEM ? 2 : 3;
}

/* Preconditioner and step size of one tied sub-layer. */
static size_t count_descent(const model_budget_rules *rules, size_t d)
{
    const size_t precond = rules->precond == MODEL_PRECOND_DLR ? d + 2 * d * rules->p_rank : 0;
    return precond + (rules->eta_trained ? 1 : 0);
}

static size_t count_diagonals(const model_budget_rules *rules, size_t d)
{
    switch (rules->diag) {
    case MODEL_DIAG_SHARED:
        return d;
    case MODEL_DIAG_PER_HEAD:
        return d * rules->heads;
    case MODEL_DIAG_NONE:
    default:
        return 0;
    }
}

static size_t count_attention(const model_budget_rules *rules, const model_budget_shape *s)
{
    if (rules->attn == MODEL_ATTN_CEM) {
        return s->layers *
               (2 * s->d * s->d_attn + count_diagonals(rules, s->d) + count_descent(rules, s->d));
    }
    return s->layers * (2 * s->d * s->d_attn + 2 * s->d * s->d_kv);
}

static size_t count_gains(const model_budget_rules *rules, const model_budget_shape *s)
{
    if (!rules->count_gains) {
        return 0;
    }
    const size_t each = rules->gain == MODEL_GAIN_NONE     ? 0
                        : rules->gain == MODEL_GAIN_SHARED ? 1
                                                           : s->k;
    return s->d * (s->layers * (1 + each) + 1);
}

/* A checked shape; only the feed-forward part depends on s->hidden. */
static model_budget_parts count_parts(const model_budget_rules *rules, const model_budget_shape *s)
{
    model_budget_parts p = {.attention = count_attention(rules, s),
                            .feed_forward = matrices(rules) * s->d * s->hidden,
                            .gains = count_gains(rules, s),
                            .embeddings = rules->vocab * s->d * (rules->tied_head ? 1 : 2)};
    if (rules->ffn == MODEL_FFN_CEM) {
        p.feed_forward += s->layers * count_descent(rules, s->d);
    }
    p.all = p.attention + p.feed_forward + p.gains + p.embeddings;
    return p;
}

kern_status model_budget_count(const model_budget_rules *rules, const model_budget_shape *shape,
                               model_budget_parts *parts, kern_error *err)
{
    KERN_TRY(check_rules(rules, err));
    KERN_TRY(check_shape(shape, err));
    *parts = count_parts(rules, shape);
    return KERN_OK;
}

size_t model_budget_widths(const model_budget_shape *shape)
{
    return shape->hidden % shape->layers == 0 ? shape->k : shape->layers * shape->k;
}

size_t model_budget_width(const model_budget_shape *shape, size_t layer, size_t sub)
{
    const size_t span = model_budget_widths(shape);
    const size_t units = span == shape->k ? shape->hidden / shape->layers : shape->hidden;
    const size_t place = span == shape->k ? sub : layer * shape->k + sub;
    return units / span + (place < units % span ? 1 : 0);
}

/* ------------------------------------------------------------------ searching */

typedef struct budget_run {
    const model_budget_search *search;
    model_budget_shape *shapes;
    size_t capacity;
    model_budget_tally tally;
} budget_run;

/* Places the candidate among those kept, behind all that are as near. */
static void keep(budget_run *run, const model_budget_shape *candidate)
{
    size_t at = run->tally.listed;
    const double distance = fabs(candidate->error);
    run->tally.candidates++;
    run->tally.found += distance <= run->search->tolerance ? 1 : 0;
    while (at > 0 && distance < fabs(run->shapes[at - 1].error)) {
        at--;
    }
    if (at == run->capacity) {
        return;
    }
    const size_t kept = kern_size_min(run->tally.listed, run->capacity - 1);
    memmove(run->shapes + at + 1, run->shapes + at, (kept - at) * sizeof *run->shapes);
    run->shapes[at] = *candidate;
    run->tally.listed = kept + 1;
}

/* Fills in parameters and error. */
static void judge(budget_run *run, model_budget_shape *shape)
{
    const size_t asked = run->search->parameters;
    shape->parameters = count_parts(&run->search->rules, shape).all;
    const double above = shape->parameters >= asked ? (double)(shape->parameters - asked)
                                                    : -(double)(asked - shape->parameters);
    shape->error = above / (double)asked;
    keep(run, shape);
}

/* Least and largest number of hidden units that the rules and the domain allow. */
static void bound_units(const model_budget_search *search, const model_budget_shape *shape,
                        size_t *low, size_t *high)
{
    const size_t subs = shape->layers * shape->k;
    *low = subs * search->narrowest;
    *high = shape->layers * MODEL_BUDGET_WIDTH;
    if (search->rules.ffn == MODEL_FFN_HOURGLASS) {
        *high = kern_size_min(*high, subs * (shape->d - 1));
    }
}

static size_t unit_of(const model_budget_search *search, const model_budget_shape *shape)
{
    switch (search->split) {
    case MODEL_BUDGET_UNIFORM:
        return shape->layers * shape->k * search->multiple;
    case MODEL_BUDGET_LAYER:
        return shape->layers;
    case MODEL_BUDGET_MODEL:
    default:
        return 1;
    }
}

/* The number of hidden units nearest to the budget. What a unit costs and what the rest costs are
 * integers below 2⁵³ wherever the quotient matters, so it is rounded from an exact difference. */
static void try_solved(budget_run *run, model_budget_shape *shape)
{
    const model_budget_search *const search = run->search;
    const size_t unit = unit_of(search, shape);
    size_t low;
    size_t high;
    bound_units(search, shape, &low, &high);
    low = (low + unit - 1) / unit * unit;
    high = high / unit * unit;
    if (low > high) {
        return;
    }
    shape->hidden = 0;
    const double rest = (double)search->parameters - (double)count_parts(&search->rules, shape).all;
    const double price = (double)(matrices(&search->rules) * shape->d * unit);
    const double units = floor(rest / price + 0.5) * (double)unit;
    shape->hidden = !(units > (double)low) ? low : !(units < (double)high) ? high : (size_t)units;
    judge(run, shape);
}

static void try_shape(budget_run *run, model_budget_shape *shape)
{
    const model_budget_values *const hidden = &run->search->hidden;
    size_t low;
    size_t high;
    if (hidden->count == 0) {
        try_solved(run, shape);
        return;
    }
    bound_units(run->search, shape, &low, &high);
    for (size_t i = 0; i < hidden->count; i++) {
        shape->hidden = hidden->at[i] * shape->layers;
        if (shape->hidden >= low && shape->hidden <= high) {
            judge(run, shape);
        }
    }
}

/* Values, or the one that stands for none. */
static model_budget_values or_one(model_budget_values values, const size_t *one)
{
    return values.count > 0 ? values : (model_budget_values){one, 1};
}

static void try_attention(budget_run *run, model_budget_shape *shape)
{
    const model_budget_search *const search = run->search;
    const model_budget_values d_attn = or_one(search->d_attn, &shape->d);
    for (size_t i = 0; i < d_attn.count; i++) {
        shape->d_attn = d_attn.at[i];
        const bool tied = search->rules.attn == MODEL_ATTN_CEM;
        const model_budget_values same = {&shape->d_attn, 1};
        const model_budget_values d_kv = tied ? same : or_one(search->d_kv, &shape->d_attn);
        for (size_t j = 0; j < d_kv.count; j++) {
            shape->d_kv = d_kv.at[j];
            try_shape(run, shape);
        }
    }
}

static void try_all(budget_run *run)
{
    const model_budget_search *const search = run->search;
    const size_t combinations = search->layers.count * search->k.count;
    for (size_t i = 0; i < search->d.count; i++) {
        for (size_t j = 0; j < combinations; j++) {
            model_budget_shape shape = {.d = search->d.at[i],
                                        .layers = search->layers.at[j / search->k.count],
                                        .k = search->k.at[j % search->k.count]};
            try_attention(run, &shape);
        }
    }
}

/* ------------------------------------------------------------------ checks */

static kern_status check_values(const char *what, model_budget_values values, bool may_be_empty,
                                size_t high, kern_error *err)
{
    if (values.count == 0 && !may_be_empty) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "there is no value for %s to try", what);
    }
    for (size_t i = 0; i < values.count; i++) {
        KERN_TRY(check_number(what, values.at[i], 1, high, err));
    }
    return KERN_OK;
}

static kern_status check_combinations(const model_budget_search *s, kern_error *err)
{
    const size_t counts[] = {s->d.count,
                             s->layers.count,
                             s->k.count,
                             kern_size_max(s->d_attn.count, 1),
                             kern_size_max(s->d_kv.count, 1),
                             kern_size_max(s->hidden.count, 1)};
    size_t all = 1;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (!kern_size_mul(all, counts[i], &all) || all > MODEL_BUDGET_CANDIDATES) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "the values to try have more than %d combinations; fewer are needed",
                              MODEL_BUDGET_CANDIDATES);
        }
    }
    return KERN_OK;
}

static kern_status check_search(const model_budget_search *s, kern_error *err)
{
    KERN_TRY(check_rules(&s->rules, err));
    KERN_TRY(
        check_number("the number of parameters", s->parameters, 1, MODEL_BUDGET_PARAMETERS, err));
    if (!(s->tolerance >= 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the tolerance is %g; numbers from 0 are accepted", s->tolerance);
    }
    KERN_TRY(check_values("the width", s->d, false, MODEL_BUDGET_WIDTH, err));
    KERN_TRY(check_values("the number of layers", s->layers, false, MODEL_BUDGET_LAYERS, err));
    const bool stacked = s->rules.ffn == MODEL_FFN_HOURGLASS;
    KERN_TRY(
        check_values("the number of sub-MLPs", s->k, false, stacked ? MODEL_BUDGET_K : 1, err));
    KERN_TRY(check_values("the attention width", s->d_attn, true, MODEL_BUDGET_WIDTH, err));
    KERN_TRY(check_values("the width of keys and values", s->d_kv, true, MODEL_BUDGET_WIDTH, err));
    KERN_TRY(check_values("the hidden units of a layer", s->hidden, true, MODEL_BUDGET_WIDTH, err));
    KERN_TRY(check_number("the multiple of widths", s->multiple, 1, MODEL_BUDGET_UNIT, err));
    KERN_TRY(check_number("the narrowest width", s->narrowest, 1, MODEL_BUDGET_UNIT, err));
    return check_combinations(s, err);
}

kern_status model_budget_solve(const model_budget_search *search, model_budget_shape *shapes,
                               size_t capacity, model_budget_tally *tally, kern_error *err)
{
    budget_run run = {.search = search, .shapes = shapes, .capacity = capacity};
    *tally = (model_budget_tally){0};
    KERN_TRY(check_search(search, err));
    KERN_TRY(
        check_number("the number of shapes to list", capacity, 1, MODEL_BUDGET_CANDIDATES, err));
    try_all(&run);
    if (run.tally.candidates == 0) {
        return kern_raise(err, KERN_NOT_FOUND,
                          "no combination of the values to try is a shape: sub-MLPs of an "
                          "hourglass must be narrower than the model, and at least %zu wide",
                          search->narrowest);
    }
    *tally = run.tally;
    return KERN_OK;
}
