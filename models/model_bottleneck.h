/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The Jacobian of a whole hourglass part at one token: J = I + U C of rank S = Σ d_h at most, as
 * that of one sub-MLP (model_sub.h). With J_k = I + U_k C_k at the states on the way,
 *   J_K … J_1 = I + Σ_k U_k C̃_k,   C̃_k = C_k J_{k−1} … J_1 = C_k + Σ_{j<k} (C_k U_j) C̃_j,
 * so U has the columns of all U_k and C the rows of all C̃_k. Where all sub-MLPs read the same
 * input, C̃_k = C_k. Under variant B the rows of C̃ go through the Jacobian of the norm in front.
 * Variant C adds the normalised input itself, whose Jacobian has full rank, and is not of this
 * form.
 */
#ifndef BASIN_MODEL_BOTTLENECK_H
#define BASIN_MODEL_BOTTLENECK_H

#include "models/model.h"

typedef struct model_bottleneck model_bottleneck;

/* S of a layer; 0 for a model without an hourglass, under variant C, and for a layer that the model
 * does not have. */
size_t model_bottleneck_rank(const model_config *config, size_t layer);

/* For layer `layer` of a model in double precision, which must outlive it. KERN_INVALID_ARGUMENT
 * where the rank is 0; KERN_NO_MEMORY. */
kern_status model_bottleneck_create(model_bottleneck **out, const model *m, size_t layer,
                                    kern_error *err);
void model_bottleneck_destroy(model_bottleneck *b);

/* U (D × S) and C (S × D), row-major, at the part's input h (D numbers) of one token. Cost O(S² D).
 */
void model_bottleneck_evaluate(model_bottleneck *b, const double *h, double *u, double *c);

#endif
