/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trained model's recurrent block, started from the tokens of a prompt, as a map that the
 * analyses of dyn/ take (dyn/dyn_map.h).
 *
 * The state is the tokens' vectors one after another: N blocks of D numbers, and the causal mask
 * makes token A depend on tokens B ≤ A. The one parameter, step_scale s, scales the update,
 * x' = x + s (F(x) − x); with s = 1 the map is the trained block F itself. For NRGPT this scales η.
 * The energy is the sum over tokens of E_AT + s_FF·E_FF in nats, for families that have one.
 */
#ifndef BASIN_MODEL_DYNAMICS_H
#define BASIN_MODEL_DYNAMICS_H

#include "dyn/dyn_map.h"
#include "models/model.h"

#include <stdint.h>

/* Makes the map of model `m` for a prompt of `tokens` ids; its start is the prompt's embedding. `m`
 * must be in double precision, outlive the map and its clones, and keep its values; clones may run
 * in other threads. KERN_INVALID_ARGUMENT when the prompt is empty, longer than block_size or has
 * an id outside the vocabulary; errors of model_map_create. */
kern_status model_dynamics_create(dyn_map **out, const model *m, const int32_t *ids, size_t tokens,
                                  kern_error *err);

#endif
