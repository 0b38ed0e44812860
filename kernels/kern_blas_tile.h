/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products of single-precision rows with one packed panel, on processors with AVX-512.
 *
 * The libraries behind kern_blas.h reach nine tenths of such a processor's peak while a panel is in
 * its cache, and less where panels come from memory, since none of them can be told what the next
 * one is. These tiles ask for the next panel while they work on this one.
 */
#ifndef BASIN_KERN_BLAS_TILE_H
#define BASIN_KERN_BLAS_TILE_H

#include "kernels/kern_blas.h"

#include <stdbool.h>

/* Whether this program and processor have what kern_blas_tile needs, and α, β and the order of B
 * are those of a product that it computes: α ≠ 0, β = 0 or 1, B not transposed. */
bool kern_blas_tile_serves(const kern_gemm_f32 *g);

/* C = α A B + β C, where B is one panel of KERN_PANEL columns, n = KERN_PANEL, and A is not
 * transposed; the bias is left to the caller. Each number of C is its sum over k, in order, times
 * α, to which β C is added last, so it depends on neither m nor the place of its row. `next` is
 * asked for meanwhile: the panel that is B next, as deep as this one, or NULL. */
void kern_blas_tile(const kern_gemm_f32 *g, const float *next);

#endif
