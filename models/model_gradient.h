/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gradient of a token's energy, or of one of its terms, with respect to the token's own state, with
 * the tokens before it held: what planes of steepest descent, of curvatures and of the energy's two
 * terms are made of (dyn/dyn_plane_kinds.h).
 *
 * It is the true gradient of E_A(x_A), norm included: both slots of the self term under an
 * inclusive mask, whatever the model's update follows, and the norm's Jacobian.
 */
#ifndef BASIN_MODEL_GRADIENT_H
#define BASIN_MODEL_GRADIENT_H

#include "models/model.h"

#include <stddef.h>

typedef struct model_gradient model_gradient;

enum { MODEL_GRADIENT_ATTENTION, MODEL_GRADIENT_FF, MODEL_GRADIENT_TERMS };

/* Of token `token` of a sequence of `tokens`. `m` must be in double precision, outlive it and keep
 * its values. KERN_INVALID_ARGUMENT for a family without an energy of tokens, single precision, or
 * a token outside the sequence; KERN_NO_MEMORY. */
kern_status model_gradient_create(model_gradient **out, const model *m, size_t tokens, size_t token,
                                  kern_error *err);
void model_gradient_destroy(model_gradient *gradient);

/* g = ∇ at x (tokens × D numbers each), 0 outside the token's block. `term` is one of the terms
 * above, or larger for their sum. `context` is a model_gradient, used by one thread at a time.
 * Cost: about 3 passes of the block. */
void model_gradient_at(void *context, size_t term, const double *x, double *g);

#endif
