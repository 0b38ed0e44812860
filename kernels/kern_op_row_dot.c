/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * e_r = c x_r·y_r; see kern_row_attr. Rows are independent.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_rows.h"
#include "kernels/kern_vmath.h"

enum { X, Y };

/* c x·y of row r. */
static kern_real row_product(const kern_call *call, const void *x, const void *y, size_t r)
{
    const size_t cols = call->in[X].cols;
    const double dot = KERN_NAME(kern_vmath_dot)((const kern_real *)x + r * cols,
                                                 (const kern_real *)y + r * cols, cols);
    return (kern_real)(call->attr->row.scale * dot);
}

static void row_dot_forward_rows(const kern_call *call, size_t begin, size_t end)
{
    kern_real *e = call->out[0].data;
    for (size_t r = begin; r < end; r++) {
        e[r] = row_product(call, call->in[X].data, call->in[Y].data, r);
    }
}

static void row_dot_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        kern_range_run(call, call->in[X].rows, 1, row_dot_forward_rows);
    }
}

/* x̄ = c ē y and ȳ = c ē x, row by row. */
KERN_HOT static void row_dot_vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    const kern_real *de = call->d_out[0].data;
    const size_t cols = call->in[X].cols;
    for (size_t i = X; i <= Y; i++) {
        const kern_real *other = call->in[Y - i].data;
        kern_real *d = call->d_in[i].data;
        for (size_t r = begin; d != NULL && r < end; r++) {
            kern_block_scale(d + r * cols, other + r * cols,
                             (kern_real)call->attr->row.scale * de[r], cols, call->accumulate[i]);
        }
    }
}

static void row_dot_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        kern_clear_cotangents(call);
        return;
    }
    kern_range_run(call, call->in[X].rows, 1, row_dot_vjp_rows);
}

/* ė = c (ẋ·y + x·ẏ). */
static void row_dot_jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    const void *dx = call->d_in[X].data;
    const void *dy = call->d_in[Y].data;
    kern_real *de = call->d_out[0].data;
    for (size_t r = begin; r < end; r++) {
        const kern_real of_x = dx == NULL ? 0 : row_product(call, dx, call->in[Y].data, r);
        const kern_real of_y = dy == NULL ? 0 : row_product(call, call->in[X].data, dy, r);
        de[r] = of_x + of_y;
    }
}

static void row_dot_jvp(const kern_call *call)
{
    if (call->d_out[0].data != NULL) {
        kern_range_run(call, call->in[X].rows, 1, row_dot_jvp_rows);
    }
}

const kern_op_kernels KERN_NAME(kern_op_row_dot_kernels) = {
    .forward = row_dot_forward,
    .vjp = row_dot_vjp,
    .jvp = row_dot_jvp,
};
