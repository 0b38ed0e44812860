/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Matrices rearranged for products: the right operand of a product, cut into panels of KERN_PANEL
 * columns, each stored without gaps (k rows of the panel's width). A panel stays in cache while all
 * rows of the left operand pass, and its rows share pages, which a wide matrix's do not.
 */
#ifndef BASIN_KERN_PACK_H
#define BASIN_KERN_PACK_H

#include <stddef.h>

enum { KERN_PANEL = 64 };

/* Reals of one operand's panels, rounded to a cache line, and of both operands of a weight. */
static inline size_t kern_pack_operand_size(size_t rows, size_t cols)
{
    return (rows * cols + 15) / 16 * 16;
}

static inline size_t kern_pack_size(size_t rows, size_t cols)
{
    return 2 * kern_pack_operand_size(rows, cols);
}

/* Writes both operands made of the weight `in` (rows × cols) to `out` (kern_pack_size reals): the
 * panels of W, and, kern_pack_operand_size reals later, those of Wᵀ. Any size. Cost: two copies. */
void kern_pack_f32(float *out, const float *in, size_t rows, size_t cols, int workers);
void kern_pack_f64(double *out, const double *in, size_t rows, size_t cols, int workers);

/* Writes the panels of W alone (rows × cols, ldi reals from row to row) to `out`, rows·cols reals.
 */
void kern_pack_plain_f32(float *out, const float *in, size_t ldi, size_t rows, size_t cols);
void kern_pack_plain_f64(double *out, const double *in, size_t ldi, size_t rows, size_t cols);

/* Writes to `out` panels of Xᵀ, those made of rows begin … end − 1 of X (ldi reals from row to row,
 * `cols` of them used), where `begin` is a multiple of KERN_PANEL, and `end` is too or is the
 * number of all rows. These take cols reals each, and every panel has the place that
 * kern_pack_plain of Xᵀ gives it. */
void kern_pack_turned_f32(float *out, const float *in, size_t ldi, size_t begin, size_t end,
                          size_t cols);
void kern_pack_turned_f64(double *out, const double *in, size_t ldi, size_t begin, size_t end,
                          size_t cols);

#endif
