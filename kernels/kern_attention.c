/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_attention.h"

#include "kernels/kern_dropout.h"
#include "kernels/kern_parallel.h"

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
    const kern_view p = call->out[3];
    h.first_row = (sequence * a->heads + head) * a->tokens;
    h.p = (kern_panel){(kern_real *)p.data, a->tokens};
    if (p.data != NULL) {
        h.p.data += h.first_row * a->tokens;
    }
    return h;
}

static kern_attention_scratch scratch_of(const kern_call *call, int worker)
{
    const kern_attention_attr *a = &call->attr->attention;
    const kern_view values = call->in[2].data == NULL ? call->in[1] : call->in[2];
    const size_t width = head_width(call->in[1], a->heads);
    const size_t value_width = head_width(values, a->heads);
    const size_t widest = width > value_width ? width : value_width;
    kern_attention_scratch s;
    s.transposed = (kern_real *)call->scratch + (size_t)worker * call->scratch_stride;
    s.dropped = s.transposed + a->tokens * widest;
    s.scores = s.dropped + a->tokens * a->tokens;
    return s;
}

typedef struct pass_task {
    const kern_call *call;
    const kern_attention_pass *pass;
    kern_attention_body *body;
    size_t sequence;
    size_t items;
} pass_task;

/* Whole sequences: heads, then columns, so that what a head just made is still in cache. */
static void sequence_worker(void *context, int worker, int workers)
{
    const pass_task *task = context;
    const size_t heads = task->call->attr->attention.heads;
    const kern_attention_scratch scratch = scratch_of(task->call, worker);
    size_t begin;
    size_t end;
    kern_parallel_share(task->items, 1, worker, workers, &begin, &end);
    for (size_t s = begin; s < end; s++) {
        task->pass->by_head(task->call, &scratch, s, 0, heads);
        if (task->pass->by_column != NULL) {
            task->pass->by_column(task->call, &scratch, s, 0, task->pass->columns);
        }
    }
}

static void item_worker(void *context, int worker, int workers)
{
    const pass_task *task = context;
    kern_attention_scratch scratch = scratch_of(task->call, worker);
    scratch.scores = scratch_of(task->call, 0).scores;
    size_t begin;
    size_t end;
    kern_parallel_share(task->items, 1, worker, workers, &begin, &end);
    if (begin < end) {
        task->body(task->call, &scratch, task->sequence, begin, end);
    }
}

void kern_attention_run(const kern_call *call, const kern_attention_pass *pass)
{
    const kern_attention_attr *a = &call->attr->attention;
    const size_t sequences = call->in[0].rows / a->tokens;
    pass_task task = {.call = call, .pass = pass, .items = sequences};
    if (sequences >= (size_t)call->workers) {
        kern_parallel_run(call->workers, sequence_worker, &task);
        return;
    }
    for (size_t s = 0; s < sequences; s++) {
        task.sequence = s;
        task.body = pass->by_head;
        task.items = a->heads;
        kern_parallel_run(call->workers, item_worker, &task);
        if (pass->by_column != NULL) {
            task.body = pass->by_column;
            task.items = pass->columns;
            kern_parallel_run(call->workers, item_worker, &task);
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

const kern_real *kern_attention_drop(const kern_call *call, const kern_head *head, kern_real *out,
                                     size_t row)
{
    const kern_attention_attr *a = &call->attr->attention;
    const uint64_t key = call->bindings->dropout_key;
    const size_t n = head->tokens;
    const kern_real *block = head->p.data + row * n;
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
