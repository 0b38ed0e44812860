/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * e_r = c Σ_j x_rj; see kern_row_attr. Rows are independent.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_rows.h"
#include "kernels/kern_vmath.h"

/* to = c × row sums of from; 0 when `from` is absent. Serves values and tangents. */
static void sum_rows(const kern_call *call, kern_real *to, const kern_real *from, size_t begin,
                     size_t end)
{
    const size_t cols = call->in[0].cols;
    for (size_t r = begin; r < end; r++) {
        const double sum = from == NULL ? 0 : KERN_NAME(kern_vmath_sum)(from + r * cols, cols);
        to[r] = (kern_real)(call->attr->row.scale * sum);
    }
}

static void row_combine_forward_rows(const kern_call *call, size_t begin, size_t end)
{
    sum_rows(call, call->out[0].data, call->in[0].data, begin, end);
}

static void row_combine_jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    sum_rows(call, call->d_out[0].data, call->d_in[0].data, begin, end);
}

static void row_combine_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        kern_range_run(call, call->in[0].rows, 1, row_combine_forward_rows);
    }
}

static void row_combine_jvp(const kern_call *call)
{
    if (call->d_out[0].data != NULL) {
        kern_range_run(call, call->in[0].rows, 1, row_combine_jvp_rows);
    }
}

/* x̄_j = c ē for every j. */
KERN_HOT static void row_combine_vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[0].cols;
    const kern_real *de = call->d_out[0].data;
    for (size_t r = begin; r < end; r++) {
        const kern_real value = (kern_real)call->attr->row.scale * de[r];
        kern_real *dx = (kern_real *)call->d_in[0].data + r * cols;
        for (size_t j = 0; j < cols; j++) {
            dx[j] = call->accumulate[0] ? dx[j] + value : value;
        }
    }
}

static void row_combine_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        kern_clear_cotangents(call);
    } else if (call->d_in[0].data != NULL) {
        kern_range_run(call, call->in[0].rows, 1, row_combine_vjp_rows);
    }
}

const kern_op_kernels KERN_NAME(kern_op_row_combine_kernels) = {
    .forward = row_combine_forward,
    .vjp = row_combine_vjp,
    .jvp = row_combine_jvp,
};
