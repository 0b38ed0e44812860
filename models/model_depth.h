/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finite-time Lyapunov exponents over the depth of a stack: time runs through the parts of its
 * layers, attention and feed-forward part in turn, each of which is a map of its own.
 *
 * Every token carries m tangents of its own through the diagonal blocks J = ∂part(h)_A/∂h_A, which
 * is exact for feed-forward parts and leaves out, of attention, what tokens do to each other. With
 * Q_n R_n = J_n Q_{n−1} (G. Benettin et al., 1980), the numbers ln R_ii(n) are what part n adds to
 * direction i; their sums over parts, over the whole depth, are the exponents times the time. A
 * residual stream grows, and with it all of J's numbers stay near 1, so the same is done for
 * directions ĥ = h/|h|, which is what norms further on see:
 *   A_n = (|h_{n−1}|/|h_n|) (I − ĥ_nĥ_nᵀ) J_n (I − ĥ_{n−1}ĥ_{n−1}ᵀ),
 * whose growth splits into −ln(|h_n|/|h_{n−1}|) and the rest.
 *
 * K sub-MLPs of an hourglass are one part here, so layers of different K have the same clock.
 */
#ifndef BASIN_MODEL_DEPTH_H
#define BASIN_MODEL_DEPTH_H

#include "models/model.h"

#include <stdint.h>

typedef struct model_depth {
    size_t parts;            /* 2 · layers: attention of layer 0, its feed-forward part, … */
    size_t tangents;         /* m */
    size_t angular_tangents; /* min(m, D − 1) */
    /* Means over tokens: (parts, m) and (parts, angular_tangents), row-major, and (parts); owned.
     * −∞ where a Jacobian is singular. */
    double *exponents;
    double *angular;
    double *growth; /* ln(|h_n|/|h_{n−1}|) */
} model_depth;

/* At a prompt, with `tangents` from 1 to D, whose start is random by `seed`. `m` must be a stack in
 * double precision. KERN_INVALID_ARGUMENT as model_check_prompt and for other models and numbers;
 * KERN_NO_MEMORY. Cost: about 0.7 m forward passes for each kind. */
kern_status model_depth_init(model_depth *out, const model *m, const int32_t *ids, size_t tokens,
                             size_t tangents, uint64_t seed, kern_error *err);
void model_depth_fini(model_depth *depth);

/* Sum over all parts of direction i. */
double model_depth_sum(const model_depth *depth, bool angular, size_t i);

#endif
