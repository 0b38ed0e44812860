/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One sub-MLP of an hourglass as a function of one token, and its Jacobian, which has the form
 * J = I + U C with U D × d_h and C d_h × D, so that what the bottleneck does is in the d_h × d_h
 * matrix M = C U:
 *   spec J = {1, D − d_h times} ∪ spec(I + M),   ln|det J| = ln|det(I + M)|,
 *   ‖J‖_F² = D + 2 tr M + tr(UᵀU CCᵀ),
 * and wᵀh does not change for any w ⟂ col U (under D, w ⟂ diag(g) w_down). (With d_h > D, d_h − D
 * of the numbers of I + M are 1.) All of it is proved in two lines from det(λI − UC) = λ^(D−d_h)
 * det(λI − CU); nothing here is from the paper. Under variants B and C the sub-MLPs run on the
 * normalised input of the part.
 */
#ifndef BASIN_MODEL_SUB_H
#define BASIN_MODEL_SUB_H

#include "models/model.h"

typedef struct model_sub model_sub;

/* Sub-MLP k of layer `layer` of a model in double precision with an hourglass, which must outlive
 * it. KERN_INVALID_ARGUMENT for other models and numbers outside. */
kern_status model_sub_create(model_sub **out, const model *m, size_t layer, size_t k,
                             kern_error *err);
void model_sub_destroy(model_sub *s);

size_t model_sub_hidden(const model_sub *s);

/* f = α f_k(h), D numbers; u (D × d_h) and c (d_h × D), both or neither NULL, receive J = I + U C.
 */
void model_sub_evaluate(model_sub *s, const double *h, double *f, double *u, double *c);

/* The d_h multipliers of J that may differ from 1, in LAPACK's order. Cost O(d_h² D + d_h³). */
kern_status model_sub_multipliers(model_sub *s, const double *h, double *re, double *im,
                                  kern_error *err);

/* ln|det J|, −∞ where it is singular. */
kern_status model_sub_log_abs_det(model_sub *s, const double *h, double *value, kern_error *err);

#endif
