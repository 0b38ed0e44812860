/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model's recurrent block as a map of N·D numbers (one sequence of N tokens), in double
 * precision, with products by its Jacobian and by the transpose.
 */
#ifndef BASIN_MODEL_MAP_H
#define BASIN_MODEL_MAP_H

#include "kernels/kern_graph.h"
#include "models/model.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct model_map model_map;

/* Map of one application of the block. `m` must be in double precision and must not change while
 * the map lives. KERN_INVALID_ARGUMENT for a GPT with distinct blocks, which is not one map. */
kern_status model_map_create(model_map **out, const model *m, size_t tokens, kern_error *err);

/* Map of any finished graph over the parameters of `m` with an input and a kept result of `tokens`
 * × D numbers. The graph belongs to the map from then on, also on failure; its other inputs must
 * be set before the first use. */
kern_status model_map_adopt(model_map **out, const model *m, kern_graph *graph, kern_value input,
                            kern_value output, size_t tokens, kern_error *err);

void model_map_destroy(model_map *map);

/* Fills another input of the graph, for all later calls. */
void model_map_set_input(model_map *map, kern_value input, const double *values);

/* A kept value at the state x. The memory is the map's, until its next call. */
const double *model_map_observe(model_map *map, const double *x, kern_value value);

/* Heads of the block's attention; 0 where the graph has none, or more than one attention. */
size_t model_map_heads(const model_map *map);

/* Its weights P at the state x, of one head after another, each tokens × tokens with zeros outside
 * the mask; NULL without heads. The memory is the map's, until its next call. */
const double *model_map_attention(model_map *map, const double *x);

/* Number of state variables: tokens × D, token by token. */
size_t model_map_size(const model_map *map);

/* y = F(x). Arrays hold model_map_size numbers; y may be x. */
void model_map_step(model_map *map, const double *x, double *y);

/* y = F(x) (NULL: not wanted) and jv = F′(x) v; cost about two steps. Outputs may be inputs. */
void model_map_jvp(model_map *map, const double *x, const double *v, double *y, double *jv);

/* Splitting a call of model_map_jvp_many at multiples of this many tangents gives the same bits. */
enum { MODEL_MAP_GROUP = 8 };

/* As model_map_jvp for k tangents, one after another in v and jv: cost about 1 + 0.7 k steps. With
 * `own_tokens`, the diagonal blocks ∂F(x)_A/∂x_A take the place of F′(x), all of them at once. */
void model_map_jvp_many(model_map *map, const double *x, size_t k, const double *v, bool own_tokens,
                        double *y, double *jv);

/* jtw = F′(x)ᵀ w; cost about three steps. jtw may be w. */
void model_map_vjp(model_map *map, const double *x, const double *w, double *jtw);

#endif
