/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One part of one layer of a stack as a map that the analyses of dyn/ take (dyn/dyn_map.h).
 *
 * CEM: one step of the descent, x' = x − η P ∇ε(x | h), over all tokens of a prompt, whose history
 * h is what the trained layer gets from it. Under fixed history tokens do not see each other's
 * moves, so every diagonal block of the Jacobian is a token's own map; under a synchronous one the
 * history is the state itself. The energy is Σ_i ε(x_i), the blocks' are the tokens'. Hourglass and
 * the parts of a Llama: the whole part with its residual connection, x' = part(x). The model
 * applies it once; as an iteration it is the weight-tied variant of itself.
 *
 * The one parameter, step_scale s, scales the update, x' = x + s (F(x) − x); for CEM it scales η.
 * The start is the part's input at the prompt (normalised under norm = once). The map's name says
 * which part it is, as "cem layer 1 mlp".
 */
#ifndef BASIN_MODEL_LAYER_MAP_H
#define BASIN_MODEL_LAYER_MAP_H

#include "dyn/dyn_map.h"
#include "models/model.h"
#include "models/model_family.h"

#include <stdint.h>

/* Makes the map of part `part` of layer `layer` for a prompt of `tokens` ids. `m` must be in double
 * precision, outlive the map and its clones, and keep its values; clones may run in other threads.
 * KERN_INVALID_ARGUMENT for a family without layers of this kind, a layer that the model does not
 * have, an empty or too long prompt, or an id outside the vocabulary. */
kern_status model_layer_map_create(dyn_map **out, const model *m, size_t layer,
                                   model_layer_part part, const int32_t *ids, size_t tokens,
                                   kern_error *err);

/* The same at given rows h (tokens × D), the part's input. */
kern_status model_layer_map_create_at(dyn_map **out, const model *m, size_t layer,
                                      model_layer_part part, const double *h, size_t tokens,
                                      kern_error *err);

/* Input of a part at a prompt into h, tokens × D. Errors as above. */
kern_status model_layer_input(const model *m, size_t layer, model_layer_part part,
                              const int32_t *ids, size_t tokens, double *h, kern_error *err);

/* The same from the rows in front of the first layer, x (tokens × D), wherever they come from; h
 * may be x. */
kern_status model_layer_input_at(const model *m, size_t layer, model_layer_part part,
                                 const double *x, size_t tokens, double *h, kern_error *err);

/* Steps that the trained layer takes of this map: T of a CEM sub-layer, else 1. */
size_t model_layer_map_steps(const model *m, model_layer_part part);

/* "attn" and "mlp", and back ("ffn" is accepted too); KERN_INVALID_ARGUMENT lists them. */
const char *model_layer_part_word(model_layer_part part);
kern_status model_layer_part_parse(model_layer_part *out, const char *word, kern_error *err);

#endif
