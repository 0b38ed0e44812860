/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One token of an NRGPT on a frozen prefix, in plain loops over doubles: its energy, the gradient,
 * one step, and bounds on curvature and energy, all with bounds on their own rounding. What claims
 * about NRGPT draw, read from records, and check; no code is shared with the graph engine, which a
 * test compares it to.
 *
 *   E(g) = −Σ_h (α_h/β) log Σ_B exp(β g_Bᵀ J_h g) + s E_FF(g),   g = γ ⊙ x̂ + δ
 *   FF1    E_FF = −‖f(Wg + b)‖²
 *   FF2W   E_FF = −gᵀ(W₂ f(W₁g + b₁) + b₂)
 *   x̂ = (x − mean)/σ, σ = sqrt(var + ε) for a LayerNorm; x̂ = x/σ, σ = sqrt(|x|²/D + ε) for an
 *   RMSNorm; without a norm x̂ = x, σ = 1
 *
 * The sum runs over the prefix g_1 … g_K; under the inclusive mask over the token itself too, whose
 * score is gᵀ J_h g. With no summand the attention energy is 0. (N. Dehmamy et al. 2025, arXiv
 * 2512.16762.)
 *
 * Record: words norm, mask, act, ff; numbers width D, heads H, prefix K, hidden M, beta, scale_ff,
 * epsilon; matrices alpha (1×H), J (H·D × D), context (K × D: g_B), W1 (M × D), b1 (1×M) and, for
 * FF2W, W2 (D × M), b2 (1×D); gamma, delta, x (1×D each). What has no rows is left out.
 */
#ifndef BASIN_VERIFY_NRGPT_INSTANCE_H
#define BASIN_VERIFY_NRGPT_INSTANCE_H

#include "kernels/kern_rng.h"
#include "models/verify/verify_record.h"
#include "models/verify/verify_subject.h"
#include "models/verify/verify_work.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum verify_nrgpt_norm {
    VERIFY_NRGPT_LAYERNORM,
    VERIFY_NRGPT_RMSNORM,
    VERIFY_NRGPT_NO_NORM
} verify_nrgpt_norm;

typedef enum verify_nrgpt_ff { VERIFY_NRGPT_FF1, VERIFY_NRGPT_FF2W } verify_nrgpt_ff;

/* A nonlinearity f and what the bounds need to know of it. The extremes are those over all real
 * numbers, rounded outwards in the sixth digit. */
typedef struct verify_nrgpt_act {
    const char *name;
    void (*at)(double z, double f[3]); /* f, f′, f″ */
    double slope;                      /* max |f′| */
    double bend;                       /* max |f″|; ∞ for a kink */
    double square_low;                 /* −min (f²)″, or 0 */
    double square_high;                /* max (f²)″ */
    double offset;                     /* |f(z)| ≤ |z| + offset */
} verify_nrgpt_act;

enum { VERIFY_NRGPT_ACTS = 3 };
extern const verify_nrgpt_act verify_nrgpt_acts[VERIFY_NRGPT_ACTS];

/* Read from a record; pointers go into the record or the workspace. */
typedef struct verify_nrgpt {
    size_t width, heads, prefix, hidden;
    bool inclusive;
    const verify_nrgpt_act *act;
    verify_nrgpt_ff ff;
    verify_nrgpt_norm norm;
    double beta, scale_ff, epsilon;
    const double *alpha, *j, *context, *w1, *b1, *w2, *b2, *gamma, *delta;
    const double *x;
    double gain;    /* max |γ_i| */
    double *keys;   /* H × K × D: J_hᵀ g_B */
    double *sizes;  /* M: |row of W₁|₂ */
    double *scores; /* K + 1 */
    double *z;      /* 4 M */
    double *own;    /* 2 D */
} verify_nrgpt;

/* ---- Making -------------------------------------------------------------------------------- */

/* What a random instance may be. */
typedef struct verify_nrgpt_kinds {
    bool concave;   /* strict mask, α ≥ 0, and FF1 with ReLU or softplus and s ≥ 0, or no FF */
    bool strict;    /* never the inclusive mask */
    bool inclusive; /* always */
    bool smooth;    /* no ReLU within FF2W, whose gradient jumps */
    bool no_norm;   /* g = x */
    bool no_ff2w;
    bool folded;   /* FF2W with W₂ = −W₁ᵀ, b = 0, s > 0 and no attention; γ > 0, δ = 0 */
    size_t tokens; /* 0, or K + 1 of an instance with D = 10 and attention */
} verify_nrgpt_kinds;

/* Puts a random instance, 3 ≤ D ≤ 16, K ≤ 5, H ≤ 3, M ≤ 2D; each of both norms, of ε in {0, 1e-5,
 * 0.5}, of γ = 1, positive γ and γ of either sign with even chances. */
kern_status verify_nrgpt_draw(verify_record *record, kern_rng *rng, const verify_nrgpt_kinds *kinds,
                              kern_error *err);

/* Puts an instance for which the step bound is an equality: RMSNorm, ε = 0, γ = 1, no attention,
 * FF1 with ReLU and s < 0, units in pairs ±w with biases so large that none is ever off, the w a
 * multiple of a reflection, so that the Hessian is a multiple of 1. */
kern_status verify_nrgpt_draw_sharp(verify_record *record, kern_rng *rng, kern_error *err);

/* Puts token `token` of prompt `prompt` of a run after `step` steps. `subject` is an NRGPT for
 * which verify_nrgpt_applies is NULL. */
kern_status verify_nrgpt_put_run(verify_record *record, const verify_subject *subject,
                                 size_t prompt, size_t step, size_t token, verify_work *work,
                                 kern_error *err);

/* The same of token `token` among the given states of all tokens (D numbers each). */
kern_status verify_nrgpt_put_states(verify_record *record, const verify_subject *subject,
                                    const double *states, size_t token, verify_work *work,
                                    kern_error *err);

/* For `applies` of a claim: NULL, or why this run is none of these instances. */
const char *verify_nrgpt_applies(const verify_subject *subject);

/* ---- Reading and evaluating ---------------------------------------------------------------- */

/* Reads an instance and takes its workspace. KERN_BAD_INPUT for a record that is none;
 * KERN_NO_MEMORY. Cost H·K·D² + M·D. */
kern_status verify_nrgpt_read(verify_nrgpt *q, const verify_record *record, verify_work *work,
                              kern_error *err);

/* Another prefix, of at most as many tokens: context holds prefix × D numbers and is borrowed. */
void verify_nrgpt_hold(verify_nrgpt *q, size_t prefix, const double *context);

/* x̂ and g of the state x (D numbers each); σ. */
double verify_nrgpt_normalise(const verify_nrgpt *q, const double *x, double *unit, double *g);

typedef struct verify_nrgpt_value {
    double energy;
    double rounding;          /* of `energy` at the g given */
    double gradient_rounding; /* 2-norm, of the gradient at the g given */
} verify_nrgpt_value;

/* E(g), and the gradient unless it is NULL: ∂E/∂g when `exact`, else the vector that the published
 * update follows, which leaves out −Σ α_h p_A J_h g of the token's own score. */
verify_nrgpt_value verify_nrgpt_evaluate(const verify_nrgpt *q, const double *g, bool exact,
                                         double *gradient);

/* A state and what there is to know of it. */
typedef struct verify_nrgpt_point {
    double *x, *unit, *g, *gradient; /* D each; x̂ and the exact gradient */
    double sigma;
    double energy;
    double rounding;          /* of `energy` as a function of x */
    double gradient_rounding; /* |·|₂ at the g computed */
    double place_rounding;    /* |·|₂, of x̂ */
} verify_nrgpt_point;

kern_status verify_nrgpt_point_init(verify_nrgpt_point *p, const verify_nrgpt *q, verify_work *work,
                                    kern_error *err);

/* Fills the point of the state in p->x. */
void verify_nrgpt_visit(const verify_nrgpt *q, verify_nrgpt_point *p);

/* to->x = from->x − c γ ⊙ ∂E/∂g, and visits it. */
void verify_nrgpt_descend(const verify_nrgpt *q, const verify_nrgpt_point *from, double c,
                          verify_nrgpt_point *to);

/* What a step of η = cΓ did, and what the descent lemma says of it:
 *   E(g′) − E(g) ≤ −½ [(σ + σ′)/c − m γ²max] |x̂′ − x̂|²
 * for every upper bound m ≥ 0 of the curvature of E on [g, g′]. */
typedef struct verify_nrgpt_change {
    double actual;    /* E(g′) − E(g) */
    double moved;     /* |x̂′ − x̂|² */
    double decrement; /* (σ + σ′)/(2c) |x̂′ − x̂|² */
    double rounding;  /* of actual + decrement, and of the step itself */
} verify_nrgpt_change;

verify_nrgpt_change verify_nrgpt_compare(const verify_nrgpt *q, const verify_nrgpt_point *from,
                                         const verify_nrgpt_point *to, double c);

/* ---- Bounds -------------------------------------------------------------------------------- */

/* Upper bound of the largest singular value of an m×n matrix, too large by less than a factor
 * n^(1/2048), 0.2 percent for n = 64: the root of the Frobenius norm of (AᵀA)^512 (I. Gelfand
 * 1941), with AAᵀ where m < n. KERN_NO_MEMORY. Cost m n² + 9 n³. */
kern_status verify_nrgpt_norm2(const double *a, size_t m, size_t n, verify_work *work, double *norm,
                               kern_error *err);

/* What bounds are made of. */
typedef struct verify_nrgpt_sizes {
    double radius;          /* R = γ_max √D + |δ| ≥ |g|; ∞ without a norm */
    double w1, w2;          /* spectral norms, from above */
    double attention_curve; /* curvature of the attention energy, 0 where it is concave */
    double attention_reach; /* Σ_h |α_h| max |score|/R: of keys J_hᵀ g_B, and ‖J_h‖ R */
    double attention_bend;  /* ≥ ‖∇²E_AT‖ */
} verify_nrgpt_sizes;

kern_status verify_nrgpt_measure(const verify_nrgpt *q, verify_nrgpt_sizes *sizes,
                                 verify_work *work, kern_error *err);

/* m₊: 0 ≤ m₊ ≥ λ_max(∇²E) on the segment from g to g′; ∞ for ReLU within FF2W. */
double verify_nrgpt_curvature(const verify_nrgpt *q, const verify_nrgpt_sizes *sizes,
                              const double *g, const double *next);

/* ‖∇²E(g)‖ from above. */
double verify_nrgpt_bend(const verify_nrgpt *q, const verify_nrgpt_sizes *sizes, const double *g);

/* A number below E(g) for all |g| ≤ R. */
double verify_nrgpt_floor(const verify_nrgpt *q, const verify_nrgpt_sizes *sizes);

#endif
