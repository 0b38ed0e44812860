/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * nll = ℓ − logit_target, ℓ = log Σ exp; see kern_cross_entropy_attr. Rows are independent. The
 * softmax is recomputed from ℓ. A target beyond the vocabulary, which callers reject, gives NaN
 * rather than a stray read.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_fn.h"
#include "kernels/kern_rows.h"
#include "kernels/kern_vmath.h"

#include <math.h>

enum { LOGITS };
enum { NLL, LSE };

static int32_t target_of(const kern_call *call, size_t r)
{
    return call->bindings->index[call->attr->cross_entropy.slot][r];
}

static void cross_entropy_forward_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[LOGITS].cols;
    kern_real *nll = call->out[NLL].data;
    kern_real *lse = call->out[LSE].data;
    for (size_t r = begin; r < end; r++) {
        const kern_real *x = (const kern_real *)call->in[LOGITS].data + r * cols;
        const int32_t target = target_of(call, r);
        const kern_real largest = KERN_NAME(kern_vmath_max)(x, cols);
        const double total = KERN_NAME(kern_vmath_exp_sum)(NULL, x, largest, cols);
        const double l = (double)largest + log(total);
        if (nll != NULL) {
            const bool inside = (size_t)target < cols;
            const double value = inside ? l - (double)x[target] : (double)NAN;
            nll[r] = target < 0 ? 0 : (kern_real)value;
        }
        if (lse != NULL) {
            lse[r] = (kern_real)l;
        }
    }
}

static void cross_entropy_forward(const kern_call *call)
{
    kern_range_run(call, call->in[LOGITS].rows, 1, cross_entropy_forward_rows);
}

/* x̄ = (softmax − onehot) n̄ for one row. */
KERN_INLINE void vjp_row(kern_real *dx, const kern_real *x, kern_real lse, kern_real seed,
                         size_t cols, bool add)
{
    if (add) {
        KERN_IVDEP
        for (size_t j = 0; j < cols; j++) {
            dx[j] += seed * kern_fn_exp(x[j] - lse);
        }
    } else {
        KERN_IVDEP
        for (size_t j = 0; j < cols; j++) {
            dx[j] = seed * kern_fn_exp(x[j] - lse);
        }
    }
}

KERN_HOT static void cross_entropy_vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[LOGITS].cols;
    const kern_real *lse = call->out[LSE].data;
    const kern_real *seed = call->d_out[NLL].data;
    for (size_t r = begin; r < end; r++) {
        const kern_real *x = (const kern_real *)call->in[LOGITS].data + r * cols;
        kern_real *dx = (kern_real *)call->d_in[LOGITS].data + r * cols;
        const int32_t target = target_of(call, r);
        if (target >= 0 && (size_t)target < cols) {
            vjp_row(dx, x, lse[r], seed[r], cols, call->accumulate[LOGITS]);
            dx[target] -= seed[r];
        } else if (!call->accumulate[LOGITS]) {
            kern_block_clear(dx, cols);
        }
    }
}

static void cross_entropy_vjp(const kern_call *call)
{
    if (call->d_out[NLL].data == NULL) {
        kern_clear_cotangents(call);
    } else if (call->d_in[LOGITS].data != NULL) {
        kern_range_run(call, call->in[LOGITS].rows, 1, cross_entropy_vjp_rows);
    }
}

/* softmax·ẋ of one row: exponentials of one block, then their product with the tangent. */
KERN_HOT static double softmax_dot(const kern_real *x, const kern_real *dx, kern_real lse,
                                   size_t cols)
{
    kern_real p[KERN_BLOCK];
    double total = 0;
    for (size_t at = 0; at < cols; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, cols);
        for (size_t j = 0; j < n; j++) {
            p[j] = kern_fn_exp(x[at + j] - lse);
        }
        total += KERN_NAME(kern_vmath_dot)(p, dx + at, n);
    }
    return total;
}

/* ṅ = softmax·ẋ − ẋ_target. */
static void cross_entropy_jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[LOGITS].cols;
    const kern_real *lse = call->out[LSE].data;
    kern_real *dn = call->d_out[NLL].data;
    for (size_t r = begin; r < end; r++) {
        const kern_real *x = (const kern_real *)call->in[LOGITS].data + r * cols;
        const kern_real *dx = call->d_in[LOGITS].data;
        const int32_t target = target_of(call, r);
        if (dx == NULL || target < 0 || (size_t)target >= cols) {
            dn[r] = 0;
            continue;
        }
        dx += r * cols;
        dn[r] = (kern_real)(softmax_dot(x, dx, lse[r], cols) - (double)dx[target]);
    }
}

static void cross_entropy_jvp(const kern_call *call)
{
    if (call->d_out[NLL].data != NULL) {
        kern_range_run(call, call->in[LOGITS].rows, 1, cross_entropy_jvp_rows);
    }
}

const kern_op_kernels KERN_NAME(kern_op_cross_entropy_kernels) = {
    .forward = cross_entropy_forward,
    .vjp = cross_entropy_vjp,
    .jvp = cross_entropy_jvp,
};
