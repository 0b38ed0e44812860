/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trace of an energy model: every token's energy and state while the block is applied T times, in
 * double precision.
 *
 * With g_A = norm(x_A), v_A = ∂E_A/∂g_A (both slots of the self term), J_A = ΓP_A/σ_A the norm's
 * Jacobian and Δ the change from step t to t + 1:
 *   actual  E_A(t+1) − E_A(t)
 *   self    v_A·J_A Δx_A, the first-order effect of the token's own move; with the exact update
 *           and η = cΓ (any γ) it is −(c/σ_A) w·P_A w with w = Γv_A, and −(c/σ_A)|P_A w|² when
 *           ε = 0, since P_A is a projector then
 *   cross   Σ_{B<A} (∂E_A/∂g_B)·Δg_B, the first-order effect of the moving prefix
 * What is left, actual − self − cross, is curvature: second order in the step.
 */
#ifndef BASIN_MODEL_TRACE_H
#define BASIN_MODEL_TRACE_H

#include "models/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arrays are (tokens, states) or (tokens, steps), token by token; states = steps + 1. All owned. */
typedef struct model_trace {
    size_t tokens; /* N */
    size_t steps;  /* T */
    size_t trained_steps;
    size_t width;          /* D */
    double scale_ff;       /* s */
    double *energy_attn;   /* N × (T+1): E_AT, nats */
    double *energy_ff;     /* N × (T+1): s·E_FF, nats */
    double *energy;        /* N × (T+1): their sum */
    double *sigma;         /* N × (T+1): the norm's denominator */
    double *gradient_norm; /* N × (T+1): |PΓv|, the tangential gradient */
    double *self_change;   /* N × T */
    double *cross_change;  /* N × T */
    double *actual_change; /* N × T */
    bool *rising;          /* N × T: actual_change above rounding */
    double *g;             /* N × (T+1) × D */
    double *x;             /* N × (T+1) × D */
    size_t n_rising;
} model_trace;

/* Traces the prompt `ids` (1 … block_size tokens) over `steps` ≥ 1 applications of the block. `m`
 * may have either precision; the trace is computed in double. KERN_INVALID_ARGUMENT for a family
 * without an energy, an empty or too long prompt, an id outside the vocabulary or no steps. Cost:
 * about 4 forward passes a step. */
kern_status model_trace_create(model_trace **out, const model *m, const int32_t *ids, size_t tokens,
                               size_t steps, kern_error *err);
void model_trace_destroy(model_trace *trace);

/* Share of (token, step) pairs that rise, in 0 … 1. */
double model_trace_rising_fraction(const model_trace *trace);

/* What goes beside the numbers. */
typedef struct model_trace_labels {
    const char *const *tokens; /* text of each token */
    const char *prompt;
    const char *recipe; /* JSON: what made this file */
    bool with_states;   /* write x too */
} model_trace_labels;

/* Writes the trace as HDF5, atomically. */
kern_status model_trace_write(const model_trace *trace, const model_trace_labels *labels,
                              const char *path, kern_error *err);

#endif
