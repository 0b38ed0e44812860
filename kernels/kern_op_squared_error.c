/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * e_r = c w_r |p_r − t_r|²; see kern_op.h. Rows are independent; one of weight 0 is not read.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_rows.h"

enum { P, T, W };

static kern_real weight_of(const kern_call *call, size_t r)
{
    const kern_real *w = call->in[W].data;
    return w == NULL ? 1 : w[r];
}

/* Row r of an input. */
static const kern_real *row_of(const kern_call *call, size_t input, size_t r)
{
    return (const kern_real *)call->in[input].data + r * call->in[input].cols;
}

/* c |p_r − t_r|². */
static double distance(const kern_call *call, size_t r)
{
    const kern_real *p = row_of(call, P, r);
    const kern_real *t = row_of(call, T, r);
    double sum = 0;
    for (size_t j = 0; j < call->in[P].cols; j++) {
        const double off = (double)p[j] - (double)t[j];
        sum += off * off;
    }
    return call->attr->row.scale * sum;
}

static void squared_error_forward_rows(const kern_call *call, size_t begin, size_t end)
{
    kern_real *e = call->out[0].data;
    for (size_t r = begin; r < end; r++) {
        const kern_real w = weight_of(call, r);
        e[r] = w == 0 ? 0 : (kern_real)((double)w * distance(call, r));
    }
}

static void squared_error_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        kern_range_run(call, call->in[P].rows, 1, squared_error_forward_rows);
    }
}

/* d = k (p − t), or d += k (p − t), for row r; nothing is read when it is left out. */
static void pull_row(const kern_call *call, size_t input, size_t r, double k, bool left_out)
{
    const size_t cols = call->in[P].cols;
    const bool add = call->accumulate[input];
    kern_real *d = (kern_real *)call->d_in[input].data + r * cols;
    if (left_out) {
        if (!add) {
            kern_block_clear(d, cols);
        }
        return;
    }
    const kern_real *p = row_of(call, P, r);
    const kern_real *t = row_of(call, T, r);
    for (size_t j = 0; j < cols; j++) {
        const kern_real term = (kern_real)(k * ((double)p[j] - (double)t[j]));
        d[j] = add ? d[j] + term : term;
    }
}

/* p̄ = 2 c w ē (p − t),   t̄ = −p̄,   w̄ = c ē |p − t|². */
static void squared_error_vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    const kern_real *de = call->d_out[0].data;
    kern_real *dw = call->d_in[W].data;
    for (size_t r = begin; r < end; r++) {
        const double w = (double)weight_of(call, r);
        const bool left_out = w == 0;
        const double k = 2.0 * call->attr->row.scale * w * (double)de[r];
        if (call->d_in[P].data != NULL) {
            pull_row(call, P, r, k, left_out);
        }
        if (call->d_in[T].data != NULL) {
            pull_row(call, T, r, -k, left_out);
        }
        if (dw != NULL) {
            const kern_real term = left_out ? 0 : (kern_real)((double)de[r] * distance(call, r));
            dw[r] = call->accumulate[W] ? dw[r] + term : term;
        }
    }
}

static void squared_error_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        kern_clear_cotangents(call);
        return;
    }
    kern_range_run(call, call->in[P].rows, 1, squared_error_vjp_rows);
}

/* 2 c (p − t)·(ṗ − ṫ) of row r. */
static double push_row(const kern_call *call, size_t r)
{
    const size_t cols = call->in[P].cols;
    const kern_real *p = row_of(call, P, r);
    const kern_real *t = row_of(call, T, r);
    const kern_real *dp = call->d_in[P].data;
    const kern_real *dt = call->d_in[T].data;
    double sum = 0;
    for (size_t j = 0; j < cols; j++) {
        const double moved = (dp == NULL ? 0.0 : (double)dp[r * cols + j]) -
                             (dt == NULL ? 0.0 : (double)dt[r * cols + j]);
        sum += ((double)p[j] - (double)t[j]) * moved;
    }
    return 2.0 * call->attr->row.scale * sum;
}

/* ė = 2 c w (p − t)·(ṗ − ṫ) + c ẇ |p − t|². */
static void squared_error_jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    const kern_real *dw = call->d_in[W].data;
    kern_real *de = call->d_out[0].data;
    for (size_t r = begin; r < end; r++) {
        const double w = (double)weight_of(call, r);
        double sum = 0;
        if (w != 0) {
            sum = w * push_row(call, r) + (dw == NULL ? 0.0 : (double)dw[r] * distance(call, r));
        }
        de[r] = (kern_real)sum;
    }
}

static void squared_error_jvp(const kern_call *call)
{
    if (call->d_out[0].data != NULL) {
        kern_range_run(call, call->in[P].rows, 1, squared_error_jvp_rows);
    }
}

const kern_op_kernels KERN_NAME(kern_op_squared_error_kernels) = {
    .forward = squared_error_forward,
    .vjp = squared_error_vjp,
    .jvp = squared_error_jvp,
};
