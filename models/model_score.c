/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_score.h"

#include "kernels/kern_parallel.h"
#include "kernels/kern_size.h"
#include "models/model_forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUND = 8, MAX_THREADS = 4096 }; /* windows per thread between two reports of progress */

/* ---- Loss -------------------------------------------------------------------------------- */

typedef struct loss_task {
    model_forward forward;
    const int32_t *ids; /* of the part */
    size_t n;           /* tokens to predict */
    size_t window;
    size_t windows;
    int32_t *tokens; /* one window per lane, and its targets */
    int32_t *targets;
    double *sums; /* one per window, added in order at the end */
    size_t begin, end;
} loss_task;

static void fill_window(const loss_task *task, size_t index, int32_t *tokens, int32_t *targets)
{
    const size_t start = index * task->window;
    const size_t length = kern_size_min(task->window, task->n - start);
    for (size_t i = 0; i < task->window; i++) {
        /* Behind the end of the text stands anything, without loss. */
        tokens[i] = i < length ? task->ids[start + i] : 0;
        targets[i] = i < length ? task->ids[start + i + 1] : -1;
    }
}

static double sum_losses(const loss_task *task, size_t lane)
{
    const model_forward *f = &task->forward;
    const void *nll = model_forward_value(f, lane, f->graph.nll);
    const bool single = f->m->backend->real_size == sizeof(float);
    double sum = 0;
    for (size_t i = 0; i < task->window; i++) {
        sum += single ? (double)((const float *)nll)[i] : ((const double *)nll)[i];
    }
    return sum;
}

static void loss_worker(void *context, int worker, int workers)
{
    loss_task *task = context;
    const size_t lane = (size_t)worker;
    int32_t *tokens = task->tokens + lane * task->window;
    int32_t *targets = task->targets + lane * task->window;
    for (size_t i = task->begin + lane; i < task->end; i += (size_t)workers) {
        fill_window(task, i, tokens, targets);
        model_forward_run(&task->forward, lane, tokens, targets);
        task->sums[i] = sum_losses(task, lane);
    }
}

static kern_status prepare(loss_task *task, const model *m, size_t lanes, kern_error *err)
{
    const model_graph_options options = {.batch = 1,
                                         .tokens = task->window,
                                         .steps = m->config.n_layer,
                                         .start = MODEL_START_TOKENS,
                                         .loss = true};
    task->tokens = calloc(lanes * task->window, sizeof *task->tokens);
    task->targets = calloc(lanes * task->window, sizeof *task->targets);
    task->sums = calloc(task->windows, sizeof *task->sums);
    if (task->tokens == NULL || task->targets == NULL || task->sums == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the losses of %zu windows",
                          task->windows);
    }
    return model_forward_init(&task->forward, m, &options, lanes, err);
}

static kern_status run_windows(loss_task *task, const model_loss_options *options, kern_error *err)
{
    const size_t lanes = task->forward.n_lanes;
    for (task->begin = 0; task->begin < task->windows; task->begin = task->end) {
        task->end = kern_size_min(task->windows, task->begin + ROUND * lanes);
        kern_parallel_run((int)lanes, loss_worker, task);
        if (options->progress != NULL &&
            !options->progress(options->context, task->end, task->windows)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped after %zu of %zu windows", task->end,
                              task->windows);
        }
    }
    return KERN_OK;
}

static kern_status finish(const loss_task *task, const model_stream *stream, model_loss *out,
                          kern_error *err)
{
    double sum = 0;
    for (size_t i = 0; i < task->windows; i++) {
        sum += task->sums[i];
    }
    if (!isfinite(sum)) {
        return kern_raise(err, KERN_NAN, "the loss over '%s' is not a finite number", stream->name);
    }
    out->n = task->n;
    out->loss = sum / (double)task->n;
    out->perplexity = exp(out->loss);
    return KERN_OK;
}

static kern_status check_loss(const model *m, const model_stream *stream, size_t count,
                              const model_loss_options *options, kern_error *err)
{
    const int threads = options->threads;
    const size_t window = options->window;
    if (threads < 1 || threads > MAX_THREADS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%d threads are not between 1 and %d",
                          threads, MAX_THREADS);
    }
    if (window > m->config.block_size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a window of %zu tokens is longer than the model's block of %zu", window,
                          m->config.block_size);
    }
    if (stream->vocab_size > m->config.vocab_size) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' has a vocabulary of %zu tokens, the model knows %zu", stream->name,
                          stream->vocab_size, m->config.vocab_size);
    }
    if (count < 2) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the part of '%s' to be scored has %zu tokens; at least 2 are needed",
                          stream->name, count);
    }
    return KERN_OK;
}

kern_status model_score_loss(const model *m, const model_stream *stream,
                             const model_loss_options *options, model_loss *out, kern_error *err)
{
    size_t count = 0;
    loss_task task = {.ids = model_stream_part(stream, options->part, &count)};
    *out = (model_loss){0};
    KERN_TRY(check_loss(m, stream, count, options, err));
    task.n = count - 1;
    task.window = options->window > 0 ? options->window : m->config.block_size;
    task.window = kern_size_min(task.window, task.n);
    task.windows = (task.n - 1) / task.window + 1;
    const size_t lanes = kern_size_min((size_t)options->threads, task.windows);
    kern_status status = prepare(&task, m, lanes, err);
    if (status == KERN_OK) {
        status = run_windows(&task, options, err);
    }
    if (status == KERN_OK) {
        status = finish(&task, stream, out, err);
    }
    model_forward_fini(&task.forward);
    free(task.tokens);
    free(task.targets);
    free(task.sums);
    return status;
}

/* ---- Answers ----------------------------------------------------------------------------- */

model_scoring model_scoring_default(int32_t eos)
{
    model_scoring scoring = {.sampling = model_sampling_default(), .threads = 1};
    scoring.sampling.eos = eos;
    return scoring;
}

int32_t model_score_answer(const model_continuation *c)
{
    const size_t length = c->ended ? c->n - 1 : c->n;
    return length > 0 ? c->ids[length - 1] : -1;
}

static bool judge_chain(const model_scoring *scoring, const model_prompt *prompt,
                        const model_continuation *c, int32_t *room)
{
    if (scoring->judge == NULL) {
        return false;
    }
    memcpy(room, prompt->ids, prompt->n * sizeof *room);
    memcpy(room + prompt->n, c->ids, c->n * sizeof *room);
    return scoring->judge(scoring->context, room, prompt->n + c->n);
}

static void count_answers(const model_prompts *prompts, const model_scoring *scoring,
                          const model_continuation *items, int32_t *room, model_accuracy *out)
{
    *out = (model_accuracy){.n = prompts->n};
    for (size_t i = 0; i < prompts->n; i++) {
        const model_prompt *prompt = &prompts->items[i];
        out->correct += model_score_answer(&items[i]) == prompt->answer;
        out->ended += items[i].ended;
        out->valid += judge_chain(scoring, prompt, &items[i], room);
    }
    out->accuracy = (double)out->correct / (double)out->n;
}

kern_status model_score_listops(const model *m, const model_prompts *prompts,
                                const model_scoring *scoring, model_accuracy *out, kern_error *err)
{
    *out = (model_accuracy){0};
    if (scoring->sampling.eos < 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "answers are found by the end token, and none is set");
    }
    size_t room = 0;
    size_t bytes = 0;
    kern_status status = KERN_OK;
    int32_t *text = NULL;
    model_continuation *items = calloc(prompts->n + 1, sizeof *items);
    if (kern_size_add(prompts->longest, scoring->sampling.max_new, &room) &&
        kern_size_mul(room, sizeof *text, &bytes)) {
        text = malloc(bytes + 1);
    }
    if (items == NULL || text == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu answers", prompts->n);
        goto done;
    }
    status = model_generate_batch(m, &scoring->sampling, prompts, scoring->threads,
                                  scoring->progress, scoring->context, items, err);
    if (status == KERN_OK) {
        count_answers(prompts, scoring, items, text, out);
        model_continuations_fini(items, prompts->n);
    }
done:
    free(text);
    free(items);
    return status;
}
