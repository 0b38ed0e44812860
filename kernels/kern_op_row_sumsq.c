/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * e_r = c |x_r|²; see kern_row_attr. Rows are independent.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_rows.h"
#include "kernels/kern_vmath.h"

static void row_sumsq_forward_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[0].cols;
    const kern_real *x = call->in[0].data;
    kern_real *e = call->out[0].data;
    for (size_t r = begin; r < end; r++) {
        const double sum = KERN_NAME(kern_vmath_sumsq)(x + r * cols, 0.0, cols);
        e[r] = (kern_real)(call->attr->row.scale * sum);
    }
}

static void row_sumsq_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        kern_range_run(call, call->in[0].rows, 1, row_sumsq_forward_rows);
    }
}

/* x̄ = 2c ē x. */
KERN_HOT static void row_sumsq_vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[0].cols;
    const kern_real *x = call->in[0].data;
    const kern_real *de = call->d_out[0].data;
    kern_real *dx = call->d_in[0].data;
    for (size_t r = begin; r < end; r++) {
        kern_block_scale(dx + r * cols, x + r * cols,
                         (kern_real)(2 * call->attr->row.scale) * de[r], cols, call->accumulate[0]);
    }
}

static void row_sumsq_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        kern_clear_cotangents(call);
    } else if (call->d_in[0].data != NULL) {
        kern_range_run(call, call->in[0].rows, 1, row_sumsq_vjp_rows);
    }
}

/* ė = 2c x·ẋ. */
static void row_sumsq_jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[0].cols;
    const kern_real *x = call->in[0].data;
    const kern_real *dx = call->d_in[0].data;
    kern_real *de = call->d_out[0].data;
    for (size_t r = begin; r < end; r++) {
        const double dot =
            dx == NULL ? 0 : KERN_NAME(kern_vmath_dot)(x + r * cols, dx + r * cols, cols);
        de[r] = (kern_real)(2 * call->attr->row.scale * dot);
    }
}

static void row_sumsq_jvp(const kern_call *call)
{
    if (call->d_out[0].data != NULL) {
        kern_range_run(call, call->in[0].rows, 1, row_sumsq_jvp_rows);
    }
}

const kern_op_kernels KERN_NAME(kern_op_row_sumsq_kernels) = {
    .forward = row_sumsq_forward,
    .vjp = row_sumsq_vjp,
    .jvp = row_sumsq_jvp,
};
