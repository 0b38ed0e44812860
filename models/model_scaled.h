/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the maps of a model share (model_dynamics.h, model_layer_map.h): a block or part F of it as
 * the map x' = x + s (F(x) − x) over the tokens of a prompt, whose one parameter is step_scale s.
 *
 * Whoever makes such a map keeps a model_scaled as the first member of what map->data points to.
 * For the files of models/ only.
 */
#ifndef BASIN_MODEL_SCALED_H
#define BASIN_MODEL_SCALED_H

#include "dyn/dyn_map.h"
#include "models/model_map.h"

typedef struct model_scaled {
    dyn_map_kind kind; /* the map's own: its name and energy depend on the model */
    model_map *block;  /* F; owned */
    size_t trained;    /* how often the trained model applies F */
    double *work;      /* states that a scaled update takes; owned */
} model_scaled;

/* Fills the kind: everything but clone, fini and energies. `name` and `formula` are borrowed. */
void model_scaled_init(model_scaled *s, const char *name, const char *formula);

/* Gives the kind an energy, the sum of the tokens' that `block_energies` computes. */
void model_scaled_add_energy(model_scaled *s,
                             void (*block_energies)(dyn_map *map, const double *x, double *e));

/* A map of `tokens` blocks of `width` numbers with the data `s` belongs to, whose s->block must be
 * set before the first use. On failure `s` stays the caller's. KERN_NO_MEMORY. */
kern_status model_scaled_create(dyn_map **out, model_scaled *s, size_t tokens, size_t width,
                                kern_error *err);

/* Start and parameter of `map` for its clone. */
void model_scaled_copy(dyn_map *clone, const dyn_map *map);

/* Releases the block and the workspace; safe on a zeroed one. */
void model_scaled_fini(model_scaled *s);

#endif
