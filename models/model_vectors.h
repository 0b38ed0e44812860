/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reference vectors: a safetensors file with a configuration, weights, inputs, and what independent
 * code computed from them; every tensor in it is recomputed in double precision and compared.
 *
 * Tensors: idx, targets, param/NAME, state/t, energy_attn/t, energy_ff/t, logits, loss, grad/NAME,
 * grad_g_published/t, grad_g_exact/t, jvp_in → jvp_out, vjp_in → vjp_out, jac_token_blocks,
 * jac_eig_abs_sorted. The Jacobian ones belong to sequence 0 at state 1. A tensor of any other name
 * is an error: nothing passes unchecked.
 */
#ifndef BASIN_MODEL_VECTORS_H
#define BASIN_MODEL_VECTORS_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* Bounds on max|Δ| / max|reference| of a tensor (max|Δ| where the reference is zero). Gradients sum
 * over all tokens and steps, hence the wider bound. */
#define MODEL_VECTORS_TOLERANCE          1e-10
#define MODEL_VECTORS_GRADIENT_TOLERANCE 1e-9

typedef struct model_vectors_report {
    size_t checked;     /* tensors compared */
    size_t failed;      /* of them off by more than their bound */
    double max_rel_err; /* largest error over all tensors */
    char worst[128];    /* tensor with the largest error relative to its bound */
    double worst_err;
    bool known_family; /* false: nothing was checked */
    char family[32];
} model_vectors_report;

/* Checks one file. A family that Basin does not have gives KERN_OK with known_family = false.
 * KERN_BAD_INPUT for a file that is malformed, lacks what it needs, or holds tensors of unknown
 * meaning. */
kern_status model_vectors_check(const char *path, model_vectors_report *report, kern_error *err);

#endif
