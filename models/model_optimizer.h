/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * AdamW (Loshchilov and Hutter 2019, algorithm 2), single precision, with clipping by the global
 * norm.
 *
 *   g ← g·min(1, clip/|g|),   m ← β₁m + (1−β₁)g,   v ← β₂v + (1−β₂)g²,
 *   w ← w − lr (m̂/(√v̂ + ε) + λw),   m̂ = m/(1−β₁ᵗ),  v̂ = v/(1−β₂ᵗ).
 *
 * Gradients come as one vector per lane; they are added in lane order, and the norm is summed over
 * fixed chunks in order, so the result depends on the number of lanes and on nothing else.
 */
#ifndef BASIN_MODEL_OPTIMIZER_H
#define BASIN_MODEL_OPTIMIZER_H

#include "models/model_params.h"

#include <stdint.h>

typedef struct model_adamw {
    double beta1;
    double beta2;
    double epsilon;
    double weight_decay;
    bool decay_vectors; /* also decay biases, gains and scalars (rank 1) */
    double clip;        /* 0: no clipping */
} model_adamw;

typedef struct model_optimizer {
    model_adamw settings;
    const model_params *params; /* borrowed */
    float *m;                   /* params->length each; owned */
    float *v;
    size_t steps; /* updates done */
    double *chunk_sums;
    size_t n_chunks;
} model_optimizer;

kern_status model_optimizer_init(model_optimizer *o, const model_params *params,
                                 const model_adamw *settings, kern_error *err);
void model_optimizer_fini(model_optimizer *o);

/* One update of `weights` with rate `lr`. `gradients` holds `lanes` vectors of params->length; they
 * are consumed: on return they are zero, ready to be added to. *norm is the global norm before
 * clipping. A norm that is not finite leaves weights and moments alone and returns KERN_NAN. */
kern_status model_optimizer_step(model_optimizer *o, float *weights, float *const *gradients,
                                 size_t lanes, double lr, int workers, double *norm,
                                 kern_error *err);

#endif
