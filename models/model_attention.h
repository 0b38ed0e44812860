/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whom a token attends to: the softmax inside the attention part of its energy, at a state.
 *
 *   P^h_AB = exp(s^h_AB) / Σ_C exp(s^h_AC)   over C < A, or C ≤ A under an inclusive mask,
 *
 * with the scores of NRGPT, s^h_AB = β g_Bᵀ J_h g_A, or of the interaction energy of a CEM layer,
 * s^h_AB = u_A·A_h c_B / τ; they are the weights with which tokens pull in −∂E^AT/∂g. The numbers
 * are those of the model's own operation, taken out of the graph that steps and derivatives are
 * made of. Attention parts of a Llama and of an hourglass have theirs as well.
 */
#ifndef BASIN_MODEL_ATTENTION_H
#define BASIN_MODEL_ATTENTION_H

#include "dyn/dyn_map.h"

/* `map` is one that model_dynamics_create or model_layer_map_create made, or a clone of it; x is a
 * state of it, of N tokens. */

/* H, the number of heads; 0 for a map without attention, such as a feed-forward part, of which the
 * functions below must not be asked. */
size_t model_attention_heads(const dyn_map *map);

/* weights[h N + B] = P^h_AB of token A, for all H heads and N tokens; 0 for those it does not see.
 * Every head's sum to 1, but for a first token that does not see itself (strict mask), all of whose
 * weights are 0. Cost: a step of the map. */
void model_attention_weights(dyn_map *map, const double *x, size_t token, double *weights);

/* means[A N + B] = (1/H) Σ_h P^h_AB, of all tokens at the same cost. */
void model_attention_means(dyn_map *map, const double *x, double *means);

#endif
