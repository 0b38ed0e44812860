/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by rope's description and its kernels: the tables in a worker's scratch.
 *
 * Positions are written p = a·S + b with b < S ≈ √N. cos and sin of the angles of the S fine
 * positions b and of the N/S coarse ones a·S are tabulated in double, themselves as products of
 * those of powers of two, and one complex product gives those of p: about log N calls of cos and
 * sin for N angles, at an error of about log N roundings.
 */
#ifndef BASIN_KERN_ROPE_H
#define BASIN_KERN_ROPE_H

#include <stddef.h>

/* S: a power of two, the largest whose square is at most max(N, 1), doubled when that is short. */
static inline size_t kern_rope_stride(size_t tokens)
{
    size_t stride = 1;
    while (stride < tokens / stride) {
        stride *= 2;
    }
    return stride;
}

/* Rows of both tables together. */
static inline size_t kern_rope_table_rows(size_t tokens)
{
    const size_t stride = kern_rope_stride(tokens);
    return stride + (tokens + stride - 1) / stride;
}

/* Reals of one worker's scratch: both tables in double, whatever the precision, and one row of cos
 * and of sin in it. */
static inline size_t kern_rope_scratch_size(size_t tokens, size_t width)
{
    return width * (2 * kern_rope_table_rows(tokens) + 1);
}

#endif
