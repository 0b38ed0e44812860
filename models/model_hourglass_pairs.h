/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the sub-MLPs of a layer are to each other, as K × K matrices of means over tokens. Whether
 * order matters:
 *
 *   commutator_jk = |Df_k f_j − Df_j f_k| / (|f_j| + |f_k|),  both fields at the part's start z_0
 *   swap_jk       = |Φ_k Φ_j z_0 − Φ_j Φ_k z_0| / (|f_j| + |f_k|),   Φ = id + f
 *
 * which agree to first order in small steps and are 0 where the two sub-MLPs may be exchanged; both
 * are symmetric with a zero diagonal. Whether they share directions, with the states on the way:
 *
 *   writes_jk = ‖Q_jᵀ Q_k‖_F² / min(r_j, r_k),   Q an orthonormal basis of col U
 *   reads_jk  = ‖Q_jᵀ R_k‖_F² / min(r_j, r_k),   R one of the row space of C
 *
 * from 0 (orthogonal) to 1 (one inside the other); reads_jk with j < k says how much of what j
 * writes k can see. Random spaces of dimensions r and s share max(r, s)/D in the mean. U and C are
 * taken to have full rank; of d_h ≥ D columns the first D are, which span everything.
 */
#ifndef BASIN_MODEL_HOURGLASS_PAIRS_H
#define BASIN_MODEL_HOURGLASS_PAIRS_H

#include "models/model.h"

typedef struct model_hourglass_pairs {
    size_t k;
    double *commutator; /* k × k each, row j and column k; owned, one block */
    double *swap;
    double *writes;
    double *reads;
} model_hourglass_pairs;

/* At `tokens` rows h (the part's input, tokens × D) of a model in double precision.
 * KERN_INVALID_ARGUMENT for a model without an hourglass and a layer that it does not have;
 * KERN_NO_MEMORY. Cost O(K² d_h D (1 + d_h)) a token. */
kern_status model_hourglass_pairs_init(model_hourglass_pairs *out, const model *m, size_t layer,
                                       const double *h, size_t tokens, kern_error *err);
void model_hourglass_pairs_fini(model_hourglass_pairs *pairs);

#endif
