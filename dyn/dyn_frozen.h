/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One block of a map with all others held: x_A' = F(x_1, …, x_A, …)_A as a map of block_width
 * numbers, on which every analysis works.
 *
 * It is what a causal map (dyn/dyn_map.h, blocks) is for token A once its prefix rests: descent of
 * E_A is guaranteed in this setting only, and a causal map's fixed points are found one block after
 * the other in it. Its Jacobian is the diagonal block of the whole one. Blocks after A have no
 * effect on it. Parameters, gauge, periods and approximate_jvp are those of the whole map; the
 * energy is E_A where the whole map has energies of blocks.
 */
#ifndef BASIN_DYN_FROZEN_H
#define BASIN_DYN_FROZEN_H

#include "dyn/dyn_map.h"

#include <stddef.h>

/* Makes the map of block `block` of `inner`, of which it takes a clone, with the other blocks as in
 * `state` (inner->size numbers, copied; NULL: inner's start). Its start is that block of `state`.
 * KERN_INVALID_ARGUMENT for a block that `inner` does not have; KERN_NO_MEMORY; errors of clone.
 * Cost of each call: that of the same call of the whole map. */
kern_status dyn_frozen_create(dyn_map **out, const dyn_map *inner, size_t block,
                              const double *state, kern_error *err);

/* Another block, or other states of the rest: what a sweep over blocks uses again and again. The
 * start and the parameters stay as they are. `map` is one that dyn_frozen_create made, `block` is
 * within inner's, and `state` holds inner->size numbers. */
void dyn_frozen_hold(dyn_map *map, size_t block, const double *state);

#endif
