/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Heads shared by several; see kern_head_repeat_attr. The transpose adds up the copies.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_rows.h"

/* Rows begin … end − 1 of `to`, each head of `from` copied `times` times. */
KERN_INLINE void copy_rows(const kern_call *call, kern_view to, kern_view from, size_t begin,
                           size_t end)
{
    const kern_head_repeat_attr *a = &call->attr->head_repeat;
    const size_t width = from.cols / a->heads;
    for (size_t r = begin; r < end; r++) {
        kern_real *out = (kern_real *)to.data + r * to.cols;
        const kern_real *in = (const kern_real *)from.data + r * from.cols;
        for (size_t h = 0; h < a->heads * a->times; h++) {
            memcpy(out + h * width, in + h / a->times * width, width * sizeof *out);
        }
    }
}

KERN_HOT static void forward_rows(const kern_call *call, size_t begin, size_t end)
{
    copy_rows(call, call->out[0], call->in[0], begin, end);
}

static void head_repeat_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        kern_range_run(call, call->out[0].rows, 1, forward_rows);
    }
}

KERN_HOT static void vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    const kern_head_repeat_attr *a = &call->attr->head_repeat;
    const kern_view to = call->d_in[0];
    const kern_view from = call->d_out[0];
    const size_t width = to.cols / a->heads;
    for (size_t r = begin; r < end; r++) {
        for (size_t h = 0; h < a->heads * a->times; h++) {
            kern_real *out = (kern_real *)to.data + r * to.cols + h / a->times * width;
            const kern_real *in = (const kern_real *)from.data + r * from.cols + h * width;
            const bool add = call->accumulate[0] || h % a->times != 0;
            kern_block_scale(out, in, KERN_R(1.0), width, add);
        }
    }
}

static void head_repeat_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        kern_clear_cotangents(call);
    } else if (call->d_in[0].data != NULL) {
        kern_range_run(call, call->d_in[0].rows, 1, vjp_rows);
    }
}

KERN_HOT static void jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    copy_rows(call, call->d_out[0], call->d_in[0], begin, end);
}

static void head_repeat_jvp(const kern_call *call)
{
    const kern_view to = call->d_out[0];
    if (to.data != NULL && call->d_in[0].data != NULL) {
        kern_range_run(call, to.rows, 1, jvp_rows);
    } else if (to.data != NULL) {
        kern_block_clear(to.data, to.rows * to.cols);
    }
}

const kern_op_kernels KERN_NAME(kern_op_head_repeat_kernels) = {
    .forward = head_repeat_forward,
    .vjp = head_repeat_vjp,
    .jvp = head_repeat_jvp,
};
