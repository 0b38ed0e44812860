/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * out_h = scale · d_h q_h; see kern_head_scale_attr. Rows are independent. With `shared_query`, q_h
 * is the whole row of q for every head.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_rows.h"
#include "kernels/kern_vmath.h"

enum { D, Q };

/* Row r of an array with `cols` columns, or NULL when the array is absent. */
KERN_INLINE kern_real *row_of(kern_view view, size_t r, size_t cols)
{
    return view.data == NULL ? NULL : (kern_real *)view.data + r * cols;
}

/* One row of out (+)= scale · d_h q_h. */
KERN_INLINE void scale_heads(const kern_call *call, kern_real *out, const kern_real *d,
                             const kern_real *q, bool add)
{
    const kern_head_scale_attr *attr = &call->attr->head_scale;
    const size_t width = call->out[0].cols / attr->heads;
    for (size_t h = 0; h < attr->heads; h++) {
        const kern_real *q_h = attr->shared_query ? q : q + h * width;
        kern_block_scale(out + h * width, q_h, (kern_real)attr->scale * d[h], width, add);
    }
}

KERN_HOT static void head_scale_forward_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t heads = call->attr->head_scale.heads;
    for (size_t r = begin; r < end; r++) {
        scale_heads(call, row_of(call->out[0], r, call->out[0].cols), row_of(call->in[D], r, heads),
                    row_of(call->in[Q], r, call->in[Q].cols), false);
    }
}

static void head_scale_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        kern_range_run(call, call->out[0].rows, 1, head_scale_forward_rows);
    }
}

/* d̄_h = scale · ō_h·q_h, then q̄_h = scale · d_h ō_h, summed over h when q is shared. d̄ comes first:
 * q̄ may take the memory of ō. */
KERN_HOT static void head_scale_vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    const kern_head_scale_attr *attr = &call->attr->head_scale;
    const size_t width = call->out[0].cols / attr->heads;
    const size_t q_cols = call->in[Q].cols;
    for (size_t r = begin; r < end; r++) {
        const kern_real *dy = row_of(call->d_out[0], r, call->out[0].cols);
        const kern_real *d = row_of(call->in[D], r, attr->heads);
        const kern_real *q = row_of(call->in[Q], r, q_cols);
        kern_real *d_bar = row_of(call->d_in[D], r, attr->heads);
        kern_real *q_bar = row_of(call->d_in[Q], r, q_cols);
        for (size_t h = 0; d_bar != NULL && h < attr->heads; h++) {
            const kern_real *q_h = attr->shared_query ? q : q + h * width;
            const double dot = KERN_NAME(kern_vmath_dot)(dy + h * width, q_h, width);
            const kern_real value = (kern_real)(attr->scale * dot);
            d_bar[h] = call->accumulate[D] ? d_bar[h] + value : value;
        }
        for (size_t h = 0; q_bar != NULL && h < attr->heads; h++) {
            const bool add = call->accumulate[Q] || (attr->shared_query && h > 0);
            kern_block_scale(attr->shared_query ? q_bar : q_bar + h * width, dy + h * width,
                             (kern_real)attr->scale * d[h], width, add);
        }
    }
}

static void head_scale_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        kern_clear_cotangents(call);
        return;
    }
    kern_range_run(call, call->out[0].rows, 1, head_scale_vjp_rows);
}

/* ȯ_h = scale · (d_h q̇_h + ḋ_h q_h). */
KERN_HOT static void head_scale_jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t heads = call->attr->head_scale.heads;
    const size_t cols = call->out[0].cols;
    const size_t q_cols = call->in[Q].cols;
    for (size_t r = begin; r < end; r++) {
        kern_real *dy = row_of(call->d_out[0], r, cols);
        const kern_real *d_dot = row_of(call->d_in[D], r, heads);
        const kern_real *q_dot = row_of(call->d_in[Q], r, q_cols);
        if (q_dot != NULL) {
            scale_heads(call, dy, row_of(call->in[D], r, heads), q_dot, false);
        }
        if (d_dot != NULL) {
            scale_heads(call, dy, d_dot, row_of(call->in[Q], r, q_cols), q_dot != NULL);
        }
        if (q_dot == NULL && d_dot == NULL) {
            kern_block_clear(dy, cols);
        }
    }
}

static void head_scale_jvp(const kern_call *call)
{
    if (call->d_out[0].data != NULL) {
        kern_range_run(call, call->out[0].rows, 1, head_scale_jvp_rows);
    }
}

const kern_op_kernels KERN_NAME(kern_op_head_scale_kernels) = {
    .forward = head_scale_forward,
    .vjp = head_scale_vjp,
    .jvp = head_scale_jvp,
};
