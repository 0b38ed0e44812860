/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * out = x ⊙ m/(1 − p); see kern_dropout_attr. The operation is linear and diagonal, so forward, vjp
 * and jvp are one masked product.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_dropout.h"
#include "kernels/kern_rows.h"

/* Masks one row; the identity without a key. */
KERN_INLINE void mask_row(const kern_call *call, size_t r, kern_real *to, const kern_real *from,
                          size_t cols, bool add)
{
    const kern_dropout_attr *attr = &call->attr->dropout;
    if (call->bindings->dropout_key == 0) {
        kern_block_scale(to, from, KERN_R(1.0), cols, add);
        return;
    }
    const kern_dropout_row row =
        kern_dropout_start(call->bindings->dropout_key, attr->salt, r, attr->p);
    if (add) {
        KERN_IVDEP
        for (size_t j = 0; j < cols; j++) {
            to[j] += from[j] * kern_dropout_factor(&row, j);
        }
    } else {
        KERN_IVDEP
        for (size_t j = 0; j < cols; j++) {
            to[j] = from[j] * kern_dropout_factor(&row, j);
        }
    }
}

KERN_INLINE void mask_rows(const kern_call *call, kern_view to, kern_view from, bool add,
                           size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) {
        kern_real *out = (kern_real *)to.data + r * to.cols;
        if (from.data != NULL) {
            mask_row(call, r, out, (const kern_real *)from.data + r * to.cols, to.cols, add);
        } else if (!add) {
            kern_block_clear(out, to.cols);
        }
    }
}

KERN_HOT static void dropout_forward_rows(const kern_call *call, size_t begin, size_t end)
{
    mask_rows(call, call->out[0], call->in[0], false, begin, end);
}

KERN_HOT static void dropout_vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    mask_rows(call, call->d_in[0], call->d_out[0], call->accumulate[0], begin, end);
}

KERN_HOT static void dropout_jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    mask_rows(call, call->d_out[0], call->d_in[0], false, begin, end);
}

static void dropout_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        kern_range_run(call, call->out[0].rows, 1, dropout_forward_rows);
    }
}

static void dropout_vjp(const kern_call *call)
{
    if (call->d_in[0].data != NULL) {
        kern_range_run(call, call->d_in[0].rows, 1, dropout_vjp_rows);
    }
}

static void dropout_jvp(const kern_call *call)
{
    if (call->d_out[0].data != NULL) {
        kern_range_run(call, call->d_out[0].rows, 1, dropout_jvp_rows);
    }
}

const kern_op_kernels KERN_NAME(kern_op_dropout_kernels) = {
    .forward = dropout_forward,
    .vjp = dropout_vjp,
    .jvp = dropout_jvp,
};
