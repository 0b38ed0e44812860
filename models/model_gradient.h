/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gradient of a token's energy, or of one of its terms, with respect to the token's own state, with
 * the other tokens held, and of the energy of all: what planes of steepest descent, of curvatures
 * and of the energy's two terms are made of (dyn/dyn_plane_kinds.h).
 *
 * It is the true gradient of E(x), the graph's energy pulled back to the state: the norm's Jacobian
 * is in it, and every place where the state enters, whatever the model's update follows. So it has
 * both slots of the self term under an inclusive mask of NRGPT, and in CEM under a synchronous
 * history the token's own key; P and η have no part in it, and with plain rotary positions it is
 * not along the update. Right to rounding.
 */
#ifndef BASIN_MODEL_GRADIENT_H
#define BASIN_MODEL_GRADIENT_H

#include "dyn/dyn_plane_kinds.h"
#include "models/model.h"
#include "models/model_family.h"

#include <stddef.h>

typedef struct model_gradient model_gradient;

/* The terms of an NRGPT's energy; of a CEM's part they are ε, and the confining term where there is
 * one. */
enum { MODEL_GRADIENT_ATTENTION, MODEL_GRADIENT_FF, MODEL_GRADIENT_TERMS };

/* Of token `token` of a sequence of `tokens`, or of their sum when it is SIZE_MAX. `m` must be in
 * double precision, outlive it and keep its values. KERN_INVALID_ARGUMENT for a family without an
 * energy of tokens, single precision, or a token outside the sequence; KERN_NO_MEMORY. */
kern_status model_gradient_create(model_gradient **out, const model *m, size_t tokens, size_t token,
                                  kern_error *err);

/* The same of a part of a layer that is a CEM descent, whose input is h (tokens × D, as
 * model_layer_input gives it; copied). KERN_INVALID_ARGUMENT also for a layer that the model does
 * not have and a part that has no energy. */
kern_status model_gradient_create_layer(model_gradient **out, const model *m, size_t layer,
                                        model_layer_part part, const double *h, size_t tokens,
                                        size_t token, kern_error *err);

void model_gradient_destroy(model_gradient *gradient);

/* g = ∇ at x (tokens × D numbers each), 0 outside the token's block. `term` is one of the terms
 * above, or larger for their sum. `context` is a model_gradient, used by one thread at a time.
 * Cost: about 3 passes of the block, or of the part with its history. */
void model_gradient_at(void *context, size_t term, const double *x, double *g);

/* What a plane's recipe takes. The gradient is borrowed. */
dyn_plane_energy model_gradient_energy(model_gradient *gradient);

#endif
