/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_generate.h"

#include "kernels/kern_parallel.h"
#include "kernels/kern_size.h"
#include "models/model_forward.h"
#include "models/model_sample.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHORTEST = 16, /* tokens of the smallest graph */
    LENGTHS = 32,  /* most graphs: each is twice as long as the one before */
    ROUND = 4,     /* prompts per thread between two reports of progress */
    MAX_THREADS = 4096
};

model_sampling model_sampling_default(void)
{
    return (model_sampling){.temperature = 1.0, .max_new = 60, .eos = -1, .seed = 1};
}

void model_continuations_fini(model_continuation *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(items[i].ids);
        items[i] = (model_continuation){0};
    }
}

/* ---- Work space --------------------------------------------------------------------------- */

/* What one thread needs besides the graphs. */
typedef struct lane {
    int32_t *window; /* the tokens that are looked at, then anything */
    double *logits;
    model_candidate *room;
    kern_status status;
    kern_error error;
} lane;

typedef struct generator {
    const model *m;
    const model_sampling *sampling;
    const model_prompts *prompts;
    model_continuation *out;
    size_t vocab; /* ids to draw from */
    model_forward passes[LENGTHS];
    size_t n_passes;
    size_t shortest_pass; /* length number of passes[0] */
    model_forward readout;
    lane *lanes;
    size_t n_lanes;
    size_t begin, end; /* prompts of the current round */
} generator;

/* Number of the graph for a sequence of `n` ≤ block_size tokens, and its tokens. */
static size_t length_number(size_t n)
{
    size_t number = 0;
    for (size_t tokens = SHORTEST; tokens < n; tokens *= 2) {
        number++;
    }
    return number;
}

static size_t length_tokens(const model *m, size_t number)
{
    return kern_size_min((size_t)SHORTEST << number, m->config.block_size);
}

static kern_status build_pass(model_forward *pass, const generator *g, size_t tokens,
                              kern_error *err)
{
    const model_graph_options options = {
        .batch = 1, .tokens = tokens, .steps = g->m->config.n_layer, .start = MODEL_START_TOKENS};
    return model_forward_init(pass, g->m, &options, g->n_lanes, err);
}

/* Graphs for every length that may come up, and the readout of a single state. */
static kern_status build_passes(generator *g, kern_error *err)
{
    const size_t block = g->m->config.block_size;
    size_t shortest = block;
    for (size_t i = 0; i < g->prompts->n; i++) {
        shortest = kern_size_min(shortest, g->prompts->items[i].n);
    }
    size_t longest = block;
    if (!kern_size_add(g->prompts->longest, g->sampling->max_new, &longest) || longest > block) {
        longest = block;
    }
    g->shortest_pass = length_number(shortest);
    const size_t last = length_number(longest);
    for (size_t number = g->shortest_pass; number <= last; number++) {
        model_forward *pass = &g->passes[number - g->shortest_pass];
        KERN_TRY(build_pass(pass, g, length_tokens(g->m, number), err));
        g->n_passes++;
    }
    const model_graph_options options = {
        .batch = 1, .tokens = 1, .start = MODEL_START_STATE, .readout = true};
    return model_forward_init(&g->readout, g->m, &options, g->n_lanes, err);
}

static kern_status build_lanes(generator *g, kern_error *err)
{
    g->lanes = calloc(g->n_lanes, sizeof *g->lanes);
    for (size_t i = 0; g->lanes != NULL && i < g->n_lanes; i++) {
        lane *l = &g->lanes[i];
        l->window = calloc(g->m->config.block_size, sizeof *l->window);
        l->logits = calloc(g->m->config.vocab_size, sizeof *l->logits);
        l->room = calloc(g->m->config.vocab_size, sizeof *l->room);
        if (l->window == NULL || l->logits == NULL || l->room == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory to generate with %zu threads",
                              g->n_lanes);
        }
    }
    return g->lanes != NULL ? KERN_OK
                            : kern_raise(err, KERN_NO_MEMORY,
                                         "no memory to generate with %zu threads", g->n_lanes);
}

static void release(generator *g)
{
    for (size_t i = 0; g->lanes != NULL && i < g->n_lanes; i++) {
        free(g->lanes[i].window);
        free(g->lanes[i].logits);
        free(g->lanes[i].room);
    }
    free(g->lanes);
    for (size_t i = 0; i < g->n_passes; i++) {
        model_forward_fini(&g->passes[i]);
    }
    model_forward_fini(&g->readout);
}

/* ---- One prompt --------------------------------------------------------------------------- */

/* Logits behind the last of `n` tokens at `ids`. What stands behind them in the window are tokens
 * of earlier calls, which cannot reach back. */
static void compute_logits(const generator *g, size_t index, const int32_t *ids, size_t n)
{
    const size_t d = g->m->config.n_embed;
    const size_t real = g->m->backend->real_size;
    lane *l = &g->lanes[index];
    const model_forward *pass = &g->passes[length_number(n) - g->shortest_pass];
    memcpy(l->window, ids, n * sizeof *ids);
    model_forward_run(pass, index, l->window, NULL);
    const unsigned char *states =
        model_forward_value(pass, index, pass->graph.states[pass->graph.n_steps]);
    void *input = model_forward_value(&g->readout, index, g->readout.graph.input);
    memcpy(input, states + (n - 1) * d * real, d * real);
    model_forward_run(&g->readout, index, NULL, NULL);
    const void *logits = model_forward_value(&g->readout, index, g->readout.graph.logits);
    for (size_t i = 0; i < g->vocab; i++) {
        l->logits[i] = real == sizeof(float) ? (double)((const float *)logits)[i]
                                             : ((const double *)logits)[i];
    }
}

static kern_status continue_ids(const generator *g, size_t index, size_t number, int32_t *ids,
                                kern_rng *rng)
{
    lane *l = &g->lanes[index];
    const size_t block = g->m->config.block_size;
    size_t n = g->prompts->items[number].n;
    model_continuation *out = &g->out[number];
    while (out->n < g->sampling->max_new && !out->ended) {
        const size_t seen = kern_size_min(n, block);
        compute_logits(g, index, ids + n - seen, seen);
        const int32_t id = model_sample(g->sampling, l->logits, g->vocab, rng, l->room);
        if (id < 0) {
            return kern_raise(&l->error, KERN_NAN,
                              "a logit behind token %zu of prompt %zu is not a finite number", n,
                              number + 1);
        }
        ids[n++] = id;
        out->n++;
        out->ended = id == g->sampling->eos;
    }
    return KERN_OK;
}

static kern_status continue_prompt(const generator *g, size_t index, size_t number)
{
    lane *l = &g->lanes[index];
    const model_prompt *prompt = &g->prompts->items[number];
    model_continuation *out = &g->out[number];
    size_t room = 0;
    size_t bytes = 0;
    int32_t *ids = NULL;
    if (kern_size_add(prompt->n, g->sampling->max_new, &room) &&
        kern_size_mul(room, sizeof *ids, &bytes)) {
        ids = malloc(bytes);
    }
    kern_rng *rng =
        kern_rng_create(g->sampling->seed, "generate", g->sampling->first_index + number);
    kern_status status = KERN_NO_MEMORY;
    if (ids == NULL || rng == NULL) {
        (void)kern_raise(&l->error, status, "no memory for %zu new tokens", g->sampling->max_new);
    } else {
        memcpy(ids, prompt->ids, prompt->n * sizeof *ids);
        status = continue_ids(g, index, number, ids, rng);
    }
    kern_rng_destroy(rng);
    if (status != KERN_OK) {
        free(ids);
        return status;
    }
    memmove(ids, ids + prompt->n, out->n * sizeof *ids);
    out->ids = ids;
    return KERN_OK;
}

/* ---- Many prompts ------------------------------------------------------------------------- */

static void lane_worker(void *context, int worker, int workers)
{
    generator *g = context;
    lane *l = &g->lanes[worker];
    for (size_t i = g->begin + (size_t)worker; i < g->end && l->status == KERN_OK;
         i += (size_t)workers) {
        l->status = continue_prompt(g, (size_t)worker, i);
    }
}

static kern_status run_rounds(generator *g, model_progress *progress, void *context,
                              kern_error *err)
{
    const size_t n = g->prompts->n;
    for (g->begin = 0; g->begin < n; g->begin = g->end) {
        g->end = kern_size_min(n, g->begin + ROUND * g->n_lanes);
        kern_parallel_run((int)g->n_lanes, lane_worker, g);
        for (size_t i = 0; i < g->n_lanes; i++) {
            const lane *l = &g->lanes[i];
            if (l->status != KERN_OK) {
                return kern_raise(err, l->status, "%s", l->error.text);
            }
        }
        if (progress != NULL && !progress(context, g->end, n)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped after %zu of %zu prompts", g->end, n);
        }
    }
    return KERN_OK;
}

static kern_status check_prompts(const model *m, const model_prompts *prompts, int threads,
                                 kern_error *err)
{
    if (prompts->n == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "there are no prompts; at least 1 is needed");
    }
    if (threads < 1 || threads > MAX_THREADS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%d threads are not between 1 and %d",
                          threads, MAX_THREADS);
    }
    for (size_t i = 0; i < prompts->n; i++) {
        const model_prompt *p = &prompts->items[i];
        if (p->n == 0) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "prompt %zu is empty; at least one token is needed", i + 1);
        }
        for (size_t k = 0; k < p->n; k++) {
            if (p->ids[k] < 0 || (size_t)p->ids[k] >= m->config.vocab_size) {
                return kern_raise(err, KERN_BAD_INPUT,
                                  "token %zu of prompt %zu has id %d; the model accepts 0 to %zu",
                                  k + 1, i + 1, (int)p->ids[k], m->config.vocab_size - 1);
            }
        }
    }
    return KERN_OK;
}

kern_status model_generate_batch(const model *m, const model_sampling *sampling,
                                 const model_prompts *prompts, int threads,
                                 model_progress *progress, void *context, model_continuation *out,
                                 kern_error *err)
{
    memset(out, 0, prompts->n * sizeof *out);
    KERN_TRY(model_sampling_check(sampling, m->config.vocab_size, err));
    KERN_TRY(check_prompts(m, prompts, threads, err));
    generator g = {.m = m,
                   .sampling = sampling,
                   .prompts = prompts,
                   .out = out,
                   .vocab = sampling->vocab > 0 ? sampling->vocab : m->config.vocab_size,
                   .n_lanes = kern_size_min((size_t)threads, prompts->n)};
    kern_status status = build_lanes(&g, err);
    if (status == KERN_OK) {
        status = build_passes(&g, err);
    }
    if (status == KERN_OK) {
        status = run_rounds(&g, progress, context, err);
    }
    release(&g);
    if (status != KERN_OK) {
        model_continuations_fini(out, prompts->n);
    }
    return status;
}

kern_status model_generate(const model *m, const model_sampling *sampling, const int32_t *prompt,
                           size_t n, model_continuation *out, kern_error *err)
{
    size_t bytes = 0;
    int32_t *ids = kern_size_mul(n + 1, sizeof *ids, &bytes) ? malloc(bytes) : NULL;
    *out = (model_continuation){0};
    if (ids == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a prompt of %zu tokens", n);
    }
    memcpy(ids, prompt, n * sizeof *ids);
    model_prompt item = {.ids = ids, .n = n, .answer = -1};
    const model_prompts one = {.items = &item, .n = 1, .longest = n};
    const kern_status status = model_generate_batch(m, sampling, &one, 1, NULL, NULL, out, err);
    free(ids);
    return status;
}
