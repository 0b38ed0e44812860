/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * y = c + α x op(W) + b; see kern_linear_attr. Products go through kern_blas.
 */
#include "kernels/kern_blas.h"
#include "kernels/kern_op.h"
#include "kernels/kern_pack.h"
#include "kernels/kern_real.h"
#include "kernels/kern_rows.h"
#include "kernels/kern_simd.h"

#include <string.h>

typedef KERN_NAME(kern_gemm) gemm;

enum { X, W, BIAS, ADDEND };

/* A weight and its packed copies (NULL: none). */
typedef struct operand {
    const kern_real *plain;
    const kern_real *packed;
} operand;

static operand weight_of(const kern_call *call)
{
    return (operand){call->in[W].data, call->packed[W]};
}

/* y (+)= α x op(W) + bias, where `reverse` means x op(W)ᵀ, from the packed weight when there is
 * one. */
static void multiply(const kern_call *call, kern_view y, kern_view x, operand weight,
                     const kern_real *bias, bool reverse, bool accumulate)
{
    const kern_view w = call->in[W];
    const bool plain = call->attr->linear.plain != reverse;
    gemm g = {.m = x.rows,
              .n = y.cols,
              .k = x.cols,
              .alpha = (kern_real)call->attr->linear.alpha,
              .beta = accumulate ? 1 : 0,
              .a = x.data,
              .lda = x.cols,
              .b = weight.plain,
              .ldb = w.cols,
              .c = y.data,
              .ldc = y.cols,
              .bias = bias,
              .tb = !plain};
    if (weight.packed != NULL) {
        g.b = weight.packed + (plain ? 0 : kern_pack_operand_size(w.rows, w.cols));
        g.ldb = y.cols;
        g.panels = true;
        g.tb = false;
    }
    KERN_NAME(kern_gemm_run)(&g, call->workers);
}

/* W̄ += α ȳᵀx, or α xᵀȳ when the weight is used plain. */
static void weight_gradient(const kern_call *call)
{
    const kern_view x = call->in[X];
    const kern_view dy = call->d_out[0];
    const kern_view dw = call->d_in[W];
    const bool plain = call->attr->linear.plain;
    const kern_view left = plain ? x : dy;
    const kern_view right = plain ? dy : x;
    const gemm g = {.ta = true,
                    .m = dw.rows,
                    .n = dw.cols,
                    .k = x.rows,
                    .alpha = (kern_real)call->attr->linear.alpha,
                    .beta = 1,
                    .a = left.data,
                    .lda = left.cols,
                    .b = right.data,
                    .ldb = right.cols,
                    .c = dw.data,
                    .ldc = dw.cols,
                    .scratch = call->scratch,
                    .scratch_stride = call->scratch_stride};
    KERN_NAME(kern_gemm_run)(&g, call->workers);
}

/* y = c; false when c is absent, and y is untouched. */
static bool copy_addend(kern_view y, const kern_real *addend)
{
    if (addend != NULL && addend != y.data) {
        memcpy(y.data, addend, y.rows * y.cols * sizeof *addend);
    }
    return addend != NULL;
}

static void linear_forward(const kern_call *call)
{
    const bool started = copy_addend(call->out[0], call->in[ADDEND].data);
    multiply(call, call->out[0], call->in[X], weight_of(call), call->in[BIAS].data, false, started);
}

/* Columns begin … end − 1 of the bias gradient, each summed over the rows in order. */
KERN_HOT static void bias_gradient(const kern_call *call, size_t begin, size_t end)
{
    const kern_view dy = call->d_out[0];
    const kern_real *restrict y = dy.data;
    kern_real *restrict db = call->d_in[BIAS].data;
    for (size_t i = 0; i < dy.rows; i++) {
        const kern_real *row = y + i * dy.cols;
        for (size_t j = begin; j < end; j++) {
            db[j] += row[j];
        }
    }
}

KERN_HOT static void pass_through(const kern_call *call, size_t begin, size_t end)
{
    const kern_real *from = call->d_out[0].data;
    kern_real *to = call->d_in[ADDEND].data;
    if (!call->accumulate[ADDEND]) {
        if (to != from) {
            memcpy(to + begin, from + begin, (end - begin) * sizeof *to);
        }
        return;
    }
    for (size_t i = begin; i < end; i++) {
        to[i] += from[i];
    }
}

/* With no cotangent to receive, those that are to be overwritten become zero. */
static void clear_gradients(const kern_call *call)
{
    const size_t inputs[] = {X, ADDEND};
    for (size_t i = 0; i < 2; i++) {
        const kern_view d = call->d_in[inputs[i]];
        if (d.data != NULL && !call->accumulate[inputs[i]]) {
            memset(d.data, 0, d.rows * d.cols * sizeof(kern_real));
        }
    }
}

static void linear_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        clear_gradients(call);
        return;
    }
    if (call->d_in[X].data != NULL) {
        multiply(call, call->d_in[X], call->d_out[0], weight_of(call), NULL, true,
                 call->accumulate[X]);
    }
    if (call->d_in[W].data != NULL) {
        weight_gradient(call);
    }
    if (call->d_in[BIAS].data != NULL) {
        kern_range_run(call, call->d_in[BIAS].cols, 64, bias_gradient);
    }
    if (call->d_in[ADDEND].data != NULL) {
        kern_range_run(call, call->d_in[ADDEND].rows * call->d_in[ADDEND].cols, 1024, pass_through);
    }
}

/* ẏ = ċ + ḃ + α ẋ op(W) + α x op(Ẇ). */
static void linear_jvp(const kern_call *call)
{
    const kern_view dy = call->d_out[0];
    const operand moving = {call->d_in[W].data, NULL};
    const kern_real *bias = call->d_in[BIAS].data;
    kern_real *out = dy.data;
    bool started = copy_addend(dy, call->d_in[ADDEND].data);
    if (call->d_in[X].data != NULL) {
        multiply(call, dy, call->d_in[X], weight_of(call), NULL, false, started);
        started = true;
    }
    if (moving.plain != NULL) {
        multiply(call, dy, call->in[X], moving, NULL, false, started);
        started = true;
    }
    if (!started) {
        memset(out, 0, dy.rows * dy.cols * sizeof *out);
    }
    for (size_t i = 0; bias != NULL && i < dy.rows * dy.cols; i++) {
        out[i] += bias[i % dy.cols];
    }
}

const kern_op_kernels KERN_NAME(kern_op_linear_kernels) = {
    .forward = linear_forward,
    .vjp = linear_vjp,
    .jvp = linear_jvp,
};
