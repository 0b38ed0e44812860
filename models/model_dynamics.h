/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trained model's recurrent block, started from the tokens of a prompt, as a map that the
 * analyses of dyn/ take (dyn/dyn_map.h).
 *
 * The state is the tokens' vectors one after another: N blocks of D numbers, and the causal mask
 * makes token A depend on tokens B ≤ A. The one parameter, step_scale s, scales the update,
 * x' = x + s (F(x) − x); with s = 1 the map is the trained block F itself. For NRGPT this scales η.
 * The energy is the sum over tokens of E_AT + s_FF·E_FF in nats, for families that have one, and
 * the energies of the blocks are the tokens'. The gauge of every block is that of the norm: scale
 * and mean for a LayerNorm, scale for an RMSNorm (dyn/dyn_chart.h). The map of one token with its
 * prefix held is dyn_frozen_create's (dyn/dyn_frozen.h), and of an NRGPT at less cost that of
 * models/model_token.h.
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

/* x = the state after the trained number of steps of the trained block or part (n_layer, or T of a
 * CEM sub-layer, or 1), whatever step_scale is, from the map's start. `map` is one that
 * model_dynamics_create or model_layer_map_create made. A chart's scales are pinned there by
 * default. */
void model_dynamics_trained_state(dyn_map *map, double *x);

/* The number c of an update Δ = −c ∇E with respect to the normalised state before its bias, that
 * is, of η = c·I with γ = 1 and of η = c·diag(γ); NaN for every other model. */
double model_dynamics_scalar_eta(const model *m);

#endif
