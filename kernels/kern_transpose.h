/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Matrix transpose with leading dimensions.
 */
#ifndef BASIN_KERN_TRANSPOSE_H
#define BASIN_KERN_TRANSPOSE_H

#include <stddef.h>

/* out[j·ldo + i] = in[i·ldi + j] for i < rows, j < cols; ldi ≥ cols, ldo ≥ rows. `out` and `in` may
 * not overlap. Any size is accepted; blocks of 16×16 are the fast path. */
void kern_transpose_f32(float *out, size_t ldo, const float *in, size_t ldi, size_t rows,
                        size_t cols);
void kern_transpose_f64(double *out, size_t ldo, const double *in, size_t ldi, size_t rows,
                        size_t cols);

#endif
