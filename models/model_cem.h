/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Causal Energy Minimization (J. Xu, C. Couturier, V. Rühle, S. Rajmohan, J. Hensman, arXiv
 * 2605.07588, 2026): a sub-layer is T steps of preconditioned gradient descent on a conditional
 * energy ε(x_i | h_1 … h_i) of every position, started at x_i = h_i,
 *   x ← x − η P ∇ε(x).
 * The text of the paper was not public when this was written; the energies below are what its
 * abstract and summaries state, and the switches cover what they leave open.
 *
 *   interaction   ε = −τ Σ_k log Σ_{j≤i} exp(u_i·A_k c_j / τ),  A_k = diag(d_k) + W_QkᵀW_Kk, τ = √d
 *                 −∇ε = Σ_k [W_Qkᵀ R_iᵀ Σ_j α^k_ij R_j W_Kk c_j + d_k ⊙ Σ_j α^k_ij c_j]
 *   elementwise   A: ε = −Σ_m g_m Φ(z_m),           −∇ε = W_Uᵀ(g ⊙ σ(z)),   Φ′ = σ = silu
 *                 B: ε = −½ Σ_m σ(g_m) z_m²,        −∇ε = W_Uᵀ(σ(g) ⊙ z),   z = W_U u, g = W_G c
 *
 * with u the state as the energy sees it and c the history. One step of either with η = 1 and P = I
 * is the tied sub-layer of a Llama: values are keys and W_o = W_Qᵀ, W_down = W_Uᵀ.
 *
 * What steps share is made once: the (turned) keys and the history of the interaction, the gate of
 * the elementwise energy. It is a shared segment, and every step a segment of its own, so that a
 * backward pass that computes activations again keeps of a step nothing but its state, and makes
 * the history again once.
 */
#ifndef BASIN_MODEL_CEM_H
#define BASIN_MODEL_CEM_H

#include "models/model_stack.h"

/* What the steps of a sub-layer read of its history. */
typedef struct model_cem_history {
    kern_value c;      /* rows × D: the history as the energy sees it */
    kern_value keys;   /* keys, turned where there are rotary positions; or gates, rows × F */
    kern_value values; /* what attention mixes; KERN_NO_VALUE: the keys */
} model_cem_history;

/* An energy at u and its negative gradient r W + gain ⊙ extra, left unmultiplied so that a plain
 * step is one product that adds to the state. */
typedef struct model_cem_force {
    kern_value row;    /* r */
    kern_value weight; /* W, a parameter with D columns */
    kern_value extra;  /* rows × D, or KERN_NO_VALUE */
    kern_value gain;   /* 1 × D, or KERN_NO_VALUE: 1 */
    kern_value energy; /* rows × 1 */
} model_cem_force;

typedef struct model_cem_energy {
    model_layer_part part;
    const char *prefix; /* of its parameters: attn or mlp */
    const char *norm;   /* of its gain */
    model_cem_history (*history)(model_builder *b, size_t layer, kern_value c);
    model_cem_force (*force)(model_builder *b, size_t layer, const model_cem_history *history,
                             kern_value u);
} model_cem_energy;

extern const model_cem_energy model_cem_interaction;
extern const model_cem_energy model_cem_elementwise;

/* The energy that a part of a layer descends; NULL for a part that is no descent. */
const model_cem_energy *model_cem_energy_of(const model_config *config, model_layer_part part);

/* r W + gain ⊙ extra as one value. */
kern_value model_cem_force_value(model_builder *b, const model_cem_force *force);

/* A sub-layer under descent: its energy, its input h, and the history that its steps read. */
typedef struct model_cem_descent {
    model_builder *b;
    size_t layer;
    const model_cem_energy *energy;
    kern_value h;
    kern_value start; /* x^(0): h, or n(h) when the descent runs on the normalised input */
    kern_value seen;  /* n(h), which is what the energy sees of x^(0) */
    model_cem_history history;
} model_cem_descent;

/* Makes the history of rows h. */
model_cem_descent model_cem_begin(model_builder *b, size_t layer, const model_cem_energy *energy,
                                  kern_value h);

/* x^(t+1) from x = x^(t). *value (may be NULL) receives ε(x^(t)), rows × 1, with the confining
 * term. `first` says that x is d->start. */
kern_value model_cem_step(model_cem_descent *d, kern_value x, bool first, kern_value *value);

/* The parts of the energy at x: ε(x), and ½λ|x − x^(0)|², KERN_NO_VALUE without a confining term;
 * rows × 1. For builders that make energies. */
enum { MODEL_CEM_TERMS = 2 };
void model_cem_energies(model_cem_descent *d, kern_value x, kern_value terms[MODEL_CEM_TERMS]);

/* Adds the parameters of P and η of a sub-layer. */
kern_status model_cem_add_step(model_params *params, const model_config *config, size_t layer,
                               const model_cem_energy *energy, kern_error *err);

/* The whole sub-layer with `steps` steps: what it hands on. The iterates that it records are those
 * of the steps that the builder shows, which may be fewer or more. */
kern_value model_cem_build(model_builder *b, size_t layer, const model_cem_energy *energy,
                           size_t steps, kern_value h);

#endif
