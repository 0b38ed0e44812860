/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What must hold of every sub-MLP of an hourglass whatever its weights, and how far a trained one
 * is from it in floating point, with full D × D Jacobians. For the derivations see model_sub.h.
 */
#ifndef BASIN_MODEL_HOURGLASS_IDENTITIES_H
#define BASIN_MODEL_HOURGLASS_IDENTITIES_H

#include "models/model.h"

/* Largest over sub-MLPs and tokens. */
typedef struct model_hourglass_identities {
    size_t checked; /* Jacobians */
    double log_det; /* |ln|det J| − ln|det(I + M)|| / (1 + |ln|det J||); 0 where both are −∞ */
    /* |Π f|/|f| with Π the projection on what no column of U reaches (under D, of diag(g) w_down,
     * to which U lacks the direction of f itself): wᵀh of every such w is conserved. 0 for d_h ≥ D,
     * where there is none. */
    double leak;
    /* |J h − h|/|h|, which is of the order of ε/mean(h²) where a norm without shift stands in front
     * of the sub-MLP (variants A and C); NaN under B and D, where it need not hold. */
    double radial;
    double epsilon; /* largest ε/(mean(h²) + ε) on the way: what the last is to be judged by */
} model_hourglass_identities;

/* At `tokens` rows h (the part's input, tokens × D) of a model in double precision; the sub-MLPs
 * are visited one behind the other. KERN_INVALID_ARGUMENT for a model without an hourglass and a
 * layer that it does not have; KERN_NO_MEMORY. Cost O(D³ + d_h D²) a token and sub-MLP. */
kern_status model_hourglass_identities_check(model_hourglass_identities *out, const model *m,
                                             size_t layer, const double *h, size_t tokens,
                                             kern_error *err);

#endif
