/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * x_r = table[id_r] + position[r mod N]; see kern_embed_attr. A row with a negative id is zero and
 * passes nothing back, to the position table either. An id beyond the table, which callers reject,
 * gives a row of NaN rather than a stray read.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_rows.h"

#include <math.h>

enum { TABLE, POSITION };

/* Row of the table for output row r, or `rows` of the table when there is none. */
static size_t table_row(const kern_call *call, size_t r)
{
    const int32_t id = call->bindings->index[call->attr->embed.slot][r];
    const size_t rows = call->in[TABLE].rows;
    return id < 0 || (size_t)id >= rows ? rows : (size_t)id;
}

static void fill_row(kern_real *row, kern_real value, size_t cols)
{
    for (size_t j = 0; j < cols; j++) {
        row[j] = value;
    }
}

/* Rows begin … end − 1 of out from a table and positions, either absent (then 0). */
KERN_INLINE void gather_rows(const kern_call *call, kern_view out, const kern_real *table,
                             const kern_real *position, size_t begin, size_t end)
{
    const kern_embed_attr *attr = &call->attr->embed;
    const size_t cols = out.cols;
    for (size_t r = begin; r < end; r++) {
        const size_t row = table_row(call, r);
        kern_real *to = (kern_real *)out.data + r * cols;
        if (row == call->in[TABLE].rows) {
            const bool negative = call->bindings->index[attr->slot][r] < 0;
            fill_row(to, negative ? 0 : (kern_real)NAN, cols);
            continue;
        }
        if (table == NULL) {
            kern_block_clear(to, cols);
        } else {
            memcpy(to, table + row * cols, cols * sizeof *to);
        }
        if (position != NULL) {
            kern_block_scale(to, position + (r % attr->tokens) * cols, KERN_R(1.0), cols, true);
        }
    }
}

KERN_HOT static void embed_forward_rows(const kern_call *call, size_t begin, size_t end)
{
    gather_rows(call, call->out[0], call->in[TABLE].data, call->in[POSITION].data, begin, end);
}

static void embed_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        kern_range_run(call, call->out[0].rows, 1, embed_forward_rows);
    }
}

/* Columns begin … end − 1 of both tables' gradients, the rows in order. */
KERN_HOT static void embed_vjp_columns(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->out[0].cols;
    const kern_real *dx = call->d_out[0].data;
    kern_real *d_table = call->d_in[TABLE].data;
    kern_real *d_position = call->d_in[POSITION].data;
    for (size_t r = 0; r < call->out[0].rows; r++) {
        const size_t row = table_row(call, r);
        const kern_real *from = dx + r * cols + begin;
        if (row == call->in[TABLE].rows) {
            continue;
        }
        if (d_table != NULL) {
            kern_block_scale(d_table + row * cols + begin, from, KERN_R(1.0), end - begin, true);
        }
        if (d_position != NULL) {
            kern_block_scale(d_position + (r % call->attr->embed.tokens) * cols + begin, from,
                             KERN_R(1.0), end - begin, true);
        }
    }
}

/* Tables may be plain inputs, whose first contribution overwrites: they start from zero. */
static void embed_vjp(const kern_call *call)
{
    kern_clear_cotangents(call);
    if (call->d_out[0].data != NULL) {
        kern_range_run(call, call->out[0].cols, 64, embed_vjp_columns);
    }
}

KERN_HOT static void embed_jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    gather_rows(call, call->d_out[0], call->d_in[TABLE].data, call->d_in[POSITION].data, begin,
                end);
}

static void embed_jvp(const kern_call *call)
{
    if (call->d_out[0].data != NULL) {
        kern_range_run(call, call->d_out[0].rows, 1, embed_jvp_rows);
    }
}

const kern_op_kernels KERN_NAME(kern_op_embed_kernels) = {
    .forward = embed_forward,
    .vjp = embed_vjp,
    .jvp = embed_jvp,
};
