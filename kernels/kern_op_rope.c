/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rotary position embedding; see kern_rope_attr for the formulas and kern_rope.h for the angles.
 * The turn is linear and orthogonal: a jvp turns tangents likewise, a vjp turns cotangents back.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_rope.h"

#include <math.h>

/* One pass over rows: `to` is `from` turned, by the opposite angles when `back`. */
typedef struct rope_task {
    const kern_call *call;
    kern_view from;
    kern_view to;
    bool back;
    bool add;
} rope_task;

/* A worker's scratch. Table rows are `half` cosines, then as many sines. */
typedef struct rope_tables {
    size_t half;   /* pairs of one head */
    size_t stride; /* number of fine positions */
    double *fine;
    double *coarse;
    kern_real *cosine; /* of the row in work */
    kern_real *sine;
} rope_tables;

/* to = a·b, rows of `half` cosines and as many sines: the sums of their angles. */
KERN_HOT static void add_angles(double *restrict to, const double *a, const double *b, size_t half)
{
    for (size_t i = 0; i < half; i++) {
        to[i] = a[i] * b[i] - a[half + i] * b[half + i];
        to[half + i] = a[half + i] * b[i] + a[i] * b[half + i];
    }
}

/* Row k holds the angles of position k·step: rows 0 and 2^m from cos and sin, the others as the sum
 * of the row of their lowest binary digit and the row of the other digits. */
static void fill_table(double *table, size_t count, size_t step, size_t half, double base)
{
    for (size_t i = 0; i < half; i++) {
        const double frequency = pow(base, -(double)i / (double)half);
        for (size_t k = 0; k < count; k = k == 0 ? 1 : 2 * k) {
            const double angle = (double)(k * step) * frequency;
            table[k * 2 * half + i] = cos(angle);
            table[k * 2 * half + half + i] = sin(angle);
        }
    }
    for (size_t k = 3; k < count; k++) {
        const size_t rest = k & (k - 1);
        if (rest != 0) {
            add_angles(table + k * 2 * half, table + rest * 2 * half, table + (k - rest) * 2 * half,
                       half);
        }
    }
}

static rope_tables make_tables(const kern_call *call, int worker)
{
    const kern_rope_attr *a = &call->attr->rope;
    const size_t width = call->in[0].cols / a->heads;
    kern_real *scratch = (kern_real *)call->scratch + (size_t)worker * call->scratch_stride;
    rope_tables t = {.half = width / 2, .stride = kern_rope_stride(a->tokens)};
    const size_t coarse = kern_rope_table_rows(a->tokens) - t.stride;
    t.fine = (void *)scratch;
    t.coarse = t.fine + t.stride * width;
    t.cosine = (void *)(t.coarse + coarse * width);
    t.sine = t.cosine + t.half;
    fill_table(t.fine, t.stride, 1, t.half, a->base);
    fill_table(t.coarse, coarse, t.stride, t.half, a->base);
    return t;
}

/* cos and sin of every frequency's angle at `position`, by the sums of coarse and fine angle. */
KERN_HOT static void set_angles(const rope_tables *t, size_t position, double sign)
{
    const double *coarse = t->coarse + position / t->stride * 2 * t->half;
    const double *fine = t->fine + position % t->stride * 2 * t->half;
    kern_real *cosine = t->cosine;
    kern_real *sine = t->sine;
    const size_t half = t->half;
    KERN_IVDEP
    for (size_t i = 0; i < half; i++) {
        const double c = coarse[i] * fine[i] - coarse[half + i] * fine[half + i];
        const double s = coarse[half + i] * fine[i] + coarse[i] * fine[half + i];
        cosine[i] = (kern_real)c;
        sine[i] = (kern_real)(sign * s);
    }
}

/* Pairs of one head. Outputs may be the inputs' memory. */
KERN_INLINE void turn_head(const rope_tables *t, kern_real *to, const kern_real *from, bool add)
{
    const size_t half = t->half;
    const kern_real *cosine = t->cosine;
    const kern_real *sine = t->sine;
    KERN_IVDEP
    for (size_t i = 0; i < half; i++) {
        const kern_real x = from[i];
        const kern_real y = from[half + i];
        const kern_real low = x * cosine[i] - y * sine[i];
        const kern_real high = y * cosine[i] + x * sine[i];
        to[i] = add ? to[i] + low : low;
        to[half + i] = add ? to[half + i] + high : high;
    }
}

/* One row: all heads by the same angles. */
KERN_HOT static void turn_row(const rope_tables *t, kern_real *to, const kern_real *from,
                              size_t heads, bool add)
{
    const size_t width = 2 * t->half;
    for (size_t h = 0; h < heads; h++) {
        if (add) {
            turn_head(t, to + h * width, from + h * width, true);
        } else {
            turn_head(t, to + h * width, from + h * width, false);
        }
    }
}

static void rope_worker(void *context, int worker, int workers)
{
    const rope_task *task = context;
    const kern_rope_attr *a = &task->call->attr->rope;
    size_t begin;
    size_t end;
    kern_parallel_share(task->from.rows, 1, worker, workers, &begin, &end);
    if (begin == end) {
        return;
    }
    const rope_tables t = make_tables(task->call, worker);
    const double sign = task->back != a->inverse ? -1 : 1;
    for (size_t r = begin; r < end; r++) {
        const size_t at = r * task->from.cols;
        set_angles(&t, r % a->tokens, sign);
        turn_row(&t, (kern_real *)task->to.data + at, (const kern_real *)task->from.data + at,
                 a->heads, task->add);
    }
}

static void turn(rope_task task)
{
    if (task.to.data != NULL) {
        kern_parallel_run(task.call->workers > 1 ? task.call->workers : 1, rope_worker, &task);
    }
}

static void rope_forward(const kern_call *call)
{
    turn((rope_task){.call = call, .from = call->in[0], .to = call->out[0]});
}

static void rope_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        kern_clear_cotangents(call);
        return;
    }
    turn((rope_task){.call = call,
                     .from = call->d_out[0],
                     .to = call->d_in[0],
                     .back = true,
                     .add = call->accumulate[0]});
}

static void rope_jvp(const kern_call *call)
{
    const kern_view to = call->d_out[0];
    if (call->d_in[0].data == NULL && to.data != NULL) {
        kern_block_clear(to.data, to.rows * to.cols);
        return;
    }
    turn((rope_task){.call = call, .from = call->d_in[0], .to = to});
}

const kern_op_kernels KERN_NAME(kern_op_rope_kernels) = {
    .forward = rope_forward,
    .vjp = rope_vjp,
    .jvp = rope_jvp,
};
