/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dropout masks as a pure function of (run key, salt, row, column), so that they are recomputed
 * instead of stored and do not depend on the order of evaluation. Included by kernel sources, in
 * the precision of the unit.
 */
#ifndef BASIN_KERN_DROPOUT_H
#define BASIN_KERN_DROPOUT_H

#include "kernels/kern_real.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_simd.h"

#include <stddef.h>
#include <stdint.h>

/* One row's mask: the two halves of a 64-bit hash, the keep threshold and 1/(1 − p). */
typedef struct kern_dropout_row {
    uint32_t low;
    uint32_t high;
    uint32_t threshold;
    kern_real scale;
} kern_dropout_row;

/* Mask of row `row` with drop probability p in [0, 1), resolved to 2⁻³². */
KERN_INLINE kern_dropout_row kern_dropout_start(uint64_t key, uint64_t salt, size_t row, double p)
{
    const uint64_t h = kern_rng_hash(kern_rng_hash(key, salt), (uint64_t)row);
    return (kern_dropout_row){.low = (uint32_t)h,
                              .high = (uint32_t)(h >> 32),
                              .threshold = (uint32_t)(p * 4294967296.0),
                              .scale = (kern_real)(1.0 / (1.0 - p))};
}

/* Factor of column `col`: 0 or 1/(1 − p). The mixing is two rounds of xor-shift and multiply with
 * the constants of lowbias32 (Wellons 2018), the row's hash entering before each; 32-bit integer
 * arithmetic vectorises on every generation. */
KERN_INLINE kern_real kern_dropout_factor(const kern_dropout_row *row, size_t col)
{
    uint32_t h = (uint32_t)col * 0x9e3779b9u + row->low;
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h ^= row->high;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    h ^= h >> 16;
    return h >= row->threshold ? row->scale : KERN_R(0.0);
}

#endif
