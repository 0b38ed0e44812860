/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the sub-MLPs of a layer do to the tokens of a prompt, one behind the other.
 */
#ifndef BASIN_MODEL_HOURGLASS_DYNAMICS_H
#define BASIN_MODEL_HOURGLASS_DYNAMICS_H

#include "models/model_sub.h"

/* One sub-MLP, means over tokens. With ĥ = h/|h| and h′ = h + f, the angular Jacobian is A =
 * (|h|/|h′|) (I − ĥ′ĥ′ᵀ) J (I − ĥĥᵀ): what later norms see. */
typedef struct model_sub_report {
    size_t hidden;
    double relative_step; /* |f|/|h| */
    double log_growth;    /* ln(|h′|/|h|) */
    double log_abs_det;
    double gain;         /* ‖J‖_F/√D */
    double angular_gain; /* ‖A‖_F/√(D−1); NaN when D = 1 */
    double turn;         /* cos of the angle between f and the next sub-MLP's; NaN for the last */
    /* (tr S)²/tr S² of S = Σ f fᵀ over all tokens, no mean: the number of directions that it moves
     * them in, from 1 to min(tokens, D); NaN when nothing moves. */
    double participation;
} model_sub_report;

typedef struct model_hourglass_report {
    size_t k;
    model_sub_report *subs; /* k, owned */
    double coverage;        /* κ = Σ d_h / D */
    size_t conserved;       /* directions that the whole part leaves alone: max(0, D − Σ d_h) */
    double log_abs_det;     /* Σ over sub-MLPs */
    double participation;   /* of h_K − h_0 */
    double parallel_gap; /* |h_K − (h_0 + Σ f_k(h_0))| / |Σ f_k(h_0)|: 0 where the stack is no more
                          * than one wide layer */
} model_hourglass_report;

/* Follows `tokens` rows h (the part's input, tokens × D) through the hourglass of a layer, one
 * behind the other whatever the configuration's `parallel` says. Errors as above, and
 * KERN_NO_MEMORY. */
kern_status model_hourglass_diagnose(const model *m, size_t layer, const double *h, size_t tokens,
                                     model_hourglass_report *out, kern_error *err);
void model_hourglass_report_fini(model_hourglass_report *report);

#endif
