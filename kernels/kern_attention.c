/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_attention.h"

#include "kernels/kern_blas.h"
#include "kernels/kern_dropout.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_simd.h"
#include "kernels/kern_size.h"

#include <string.h>

static size_t head_width(kern_view view, size_t heads)
{
    return view.cols / heads;
}

static kern_panel panel_at(kern_view view, size_t row, size_t column)
{
    if (view.data == NULL) {
        return (kern_panel){NULL, view.cols};
    }
    return (kern_panel){(kern_real *)view.data + row * view.cols + column, view.cols};
}

static void set_weights(const kern_call *call, kern_head *head, size_t sequence, size_t index)
{
    const kern_view p = call->out[KERN_ATTENTION_P];
    head->first_row = (sequence * call->attr->attention.heads + index) * head->tokens;
    head->p = (kern_panel){(kern_real *)p.data, head->tokens};
    if (p.data != NULL) {
        head->p.data += head->first_row * head->tokens;
    }
}

kern_head kern_attention_head(const kern_call *call, const kern_view *views, kern_view output,
                              size_t sequence, size_t head)
{
    const kern_attention_attr *a = &call->attr->attention;
    const bool values_are_keys = call->in[2].data == NULL;
    const kern_view values = values_are_keys ? call->in[1] : call->in[2];
    const size_t row = sequence * a->tokens;
    const size_t width = head_width(call->in[1], a->heads);
    const size_t value_width = head_width(values, a->heads);
    kern_head h = {.tokens = a->tokens, .width = width, .value_width = value_width};
    h.q = panel_at(views[0], row, a->shared_query ? 0 : head * width);
    h.k = panel_at(views[1], row, head * width);
    h.v = panel_at(values_are_keys ? views[1] : views[2], row, head * value_width);
    h.out = panel_at(output, row, a->sum_heads ? 0 : head * value_width);
    set_weights(call, &h, sequence, head);
    return h;
}

kern_attention_part kern_attention_kind(const kern_call *call)
{
    if (call->in[KERN_ATTENTION_C].data == NULL) {
        return KERN_ATTENTION_PLAIN;
    }
    return call->in[KERN_ATTENTION_E].cols == call->in[KERN_ATTENTION_C].cols
               ? KERN_ATTENTION_SHARED
               : KERN_ATTENTION_EACH;
}

kern_head kern_attention_diagonal(const kern_call *call, const kern_view *views, kern_view output,
                                  size_t sequence, size_t head)
{
    const size_t row = sequence * call->attr->attention.tokens;
    const size_t width = call->in[KERN_ATTENTION_C].cols;
    const size_t column = kern_attention_kind(call) == KERN_ATTENTION_EACH ? head * width : 0;
    kern_head h = {.tokens = call->attr->attention.tokens, .width = width, .value_width = width};
    h.q = panel_at(views[KERN_ATTENTION_E], row, column);
    h.k = panel_at(views[KERN_ATTENTION_C], row, 0);
    h.v = h.k;
    h.out = panel_at(output, row, column);
    set_weights(call, &h, sequence, head);
    return h;
}

void kern_attention_turn_diagonal(const kern_call *call, const kern_attention_scratch *scratch,
                                  size_t sequence, size_t begin, size_t end)
{
    const kern_head diagonal =
        kern_attention_diagonal(call, call->in, call->out[KERN_ATTENTION_M], sequence, 0);
    const size_t last = kern_size_min(end * KERN_PANEL, diagonal.tokens);
    KERN_NAME(kern_pack_turned)
    (scratch->wide, diagonal.k.data, diagonal.k.ld, begin * KERN_PANEL, last, diagonal.width);
}

static kern_attention_scratch scratch_of(const kern_call *call, int worker)
{
    const kern_attention_attr *a = &call->attr->attention;
    const kern_view values = call->in[2].data == NULL ? call->in[1] : call->in[2];
    const size_t width = head_width(call->in[1], a->heads);
    const size_t value_width = head_width(values, a->heads);
    const size_t widest = width > value_width ? width : value_width;
    kern_attention_scratch s;
    s.turned = (kern_real *)call->scratch + (size_t)worker * call->scratch_stride;
    s.block = s.turned + widest * a->tokens;
    s.dropped = s.block + KERN_ATTENTION_BLOCK * a->tokens;
    s.scores = s.dropped + a->tokens * a->tokens;
    s.base = s.scores + a->heads * a->tokens * a->tokens;
    s.sums = s.base + a->tokens * a->tokens;
    s.wide = s.sums + a->tokens * a->tokens;
    return s;
}

typedef struct stage_task {
    const kern_call *call;
    const kern_attention_stage *stages;
    size_t count;
    size_t sequence;
} stage_task;

/* Whole sequences: stage after stage, so that what one just made is still in cache. */
static void sequence_worker(void *context, int worker, int workers)
{
    const stage_task *task = context;
    const size_t sequences = task->call->in[0].rows / task->call->attr->attention.tokens;
    const kern_attention_scratch scratch = scratch_of(task->call, worker);
    size_t begin;
    size_t end;
    kern_parallel_share(sequences, 1, worker, workers, &begin, &end);
    for (size_t s = begin; s < end; s++) {
        for (size_t k = 0; k < task->count; k++) {
            if (task->stages[k].body != NULL) {
                task->stages[k].body(task->call, &scratch, s, 0, task->stages[k].items);
            }
        }
    }
}

/* A share of the items of one stage of one sequence. */
static void item_worker(void *context, int worker, int workers)
{
    const stage_task *task = context;
    const kern_attention_scratch own = scratch_of(task->call, worker);
    kern_attention_scratch scratch = scratch_of(task->call, 0);
    scratch.turned = own.turned;
    scratch.block = own.block;
    scratch.dropped = own.dropped;
    size_t begin;
    size_t end;
    kern_parallel_share(task->stages->items, 1, worker, workers, &begin, &end);
    if (begin < end) {
        task->stages->body(task->call, &scratch, task->sequence, begin, end);
    }
}

void kern_attention_run(const kern_call *call, const kern_attention_stage *stages, size_t count)
{
    const size_t sequences = call->in[0].rows / call->attr->attention.tokens;
    stage_task task = {.call = call, .stages = stages, .count = count};
    if (sequences >= (size_t)call->workers) {
        kern_parallel_run(call->workers, sequence_worker, &task);
        return;
    }
    for (size_t s = 0; s < sequences; s++) {
        task.sequence = s;
        for (size_t k = 0; k < count; k++) {
            task.stages = &stages[k];
            if (stages[k].body != NULL) {
                kern_parallel_run(call->workers, item_worker, &task);
            }
        }
    }
}

KERN_HOT static void mask_weights(kern_real *to, const kern_real *from, size_t n,
                                  kern_dropout_row row)
{
    KERN_IVDEP
    for (size_t j = 0; j < n; j++) {
        to[j] = from[j] * kern_dropout_factor(&row, j);
    }
}

const kern_real *kern_attention_drop(const kern_call *call, const kern_head *head,
                                     const kern_real *block, kern_real *out, size_t row)
{
    const kern_attention_attr *a = &call->attr->attention;
    const uint64_t key = call->bindings->dropout_key;
    const size_t n = head->tokens;
    if (key == 0 || a->dropout <= 0.0) {
        return block;
    }
    const size_t bound = kern_attention_block_end(n, row);
    for (size_t i = 0; i < bound - row; i++) {
        mask_weights(out + i * n, block + i * n, bound,
                     kern_dropout_start(key, a->salt, head->first_row + row + i, a->dropout));
    }
    return out;
}

KERN_HOT void kern_attention_add_rows(kern_real *to, const kern_real *from, size_t tokens,
                                      size_t row, bool add)
{
    const size_t bound = kern_attention_block_end(tokens, row);
    for (size_t i = 0; i < bound - row; i++) {
        kern_real *out = to + i * tokens;
        const kern_real *in = from + i * tokens;
        if (!add) {
            memcpy(out, in, bound * sizeof *out);
            continue;
        }
        KERN_IVDEP
        for (size_t j = 0; j < bound; j++) {
            out[j] += in[j];
        }
    }
}

void kern_attention_scores(const kern_scores *s, kern_real *block, size_t r, bool accumulate)
{
    const size_t end = kern_attention_block_end(s->tokens, r);
    const KERN_NAME(kern_gemm) g = {.panels = true,
                                    .m = end - r,
                                    .n = end,
                                    .k = s->width,
                                    .alpha = (kern_real)s->scale,
                                    .beta = accumulate ? 1 : 0,
                                    .a = s->left.data + r * s->left.ld,
                                    .lda = s->left.ld,
                                    .b = s->turned,
                                    .ldb = s->tokens,
                                    .c = block,
                                    .ldc = s->tokens};
    KERN_NAME(kern_gemm_run)(&g, 1);
}

void kern_attention_mix(const kern_call *call, const kern_head *to, const kern_real *left,
                        kern_panel right, size_t r, bool accumulate)
{
    const size_t n = to->tokens;
    const size_t bound = kern_attention_block_end(n, r);
    const KERN_NAME(kern_gemm) g = {.m = bound - r,
                                    .n = to->value_width,
                                    .k = bound,
                                    .alpha = (kern_real)call->attr->attention.scale,
                                    .beta = accumulate ? 1 : 0,
                                    .a = left,
                                    .lda = n,
                                    .b = right.data,
                                    .ldb = right.ld,
                                    .c = to->out.data + r * to->out.ld,
                                    .ldc = to->out.ld};
    KERN_NAME(kern_gemm_run)(&g, 1);
}

void kern_attention_sum_weights(const kern_call *call, const kern_attention_scratch *scratch,
                                size_t sequence, size_t row, kern_real *to)
{
    for (size_t h = 0; h < call->attr->attention.heads; h++) {
        const kern_head head = kern_attention_head(call, call->in, call->out[0], sequence, h);
        const kern_real *block = kern_attention_drop(call, &head, head.p.data + row * head.tokens,
                                                     scratch->dropped, row);
        kern_attention_add_rows(to, block, head.tokens, row, h > 0);
    }
}
