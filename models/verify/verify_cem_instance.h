/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One token of one CEM sub-layer on a fixed history, in plain loops over doubles: its conditional
 * energy, the negative gradient, and steps of the descent, with bounds on their own rounding. What
 * claims about CEM draw, read from records, and check; no code is shared with the graph engine,
 * which a claim compares it to. (J. Xu et al. 2026, arXiv 2605.07588; notation of model_cem.h.)
 *
 *   attention  ε(u) = −τ Σ_k log Σ_{j≤i} exp(s_kj/τ),  s_kj = (W_k^Q u)·key_kj + u·(d_k ⊙ c_j)
 *              G = Σ_k [W_k^Qᵀ Σ_j α_kj value_kj + d_k ⊙ Σ_j α_kj c_j],  τ = √d
 *   mlp-a      ε(u) = −Σ_m g_m Φ(z_m),  G = W_Uᵀ(g ⊙ σ(z)),  z = W_U u,  Φ′ = σ = silu
 *   mlp-b      ε(u) = −½ Σ_m σ(g_m) z_m²,  G = W_Uᵀ(σ(g) ⊙ z)
 *
 * key_kj = R_{j−i} W_k^K c_j with the rotary turn R, i = J − 1 being the token itself: only the
 * difference of two positions counts. value = key, but under plain rotary positions W_k^K c_j. With
 * P the preconditioner and n(x) = γ ⊙ x/r, r = sqrt(mean(x²) + ε₀), a step is
 *   step   x′ = x + η P G(n(x))       once   x′ = x + η P G(x)
 *   exact  x′ = x + η P (γ ⊙ G − x (x·(γ ⊙ G))/(D r²))/r at n(x)
 *
 * Record: words energy, place, precond and, for attention, rope, diag; numbers width D, epsilon,
 * eta; matrices x, gamma (1×D each; gamma unless neither the norm nor P needs it); attention:
 * numbers heads H, head d, history J, rope_base, matrices wq, wk (H·d × D), c (J × D), diag_rows (1
 * or H × D); mlp: number hidden F, matrices wu (F × D), gate (1 × F); precond gamma: number factor
 * c, P = c diag(γ); dlr: number rank, matrices p_delta (1 × D), p_u, p_v (D × rank), P =
 * diag(softplus δ) + U Vᵀ + V Uᵀ.
 *
 * Rounding. u is the unit roundoff; to first order in it, a sum of n products is off by at most n u
 * times the sum of their magnitudes (N. J. Higham 2002, section 3.1), which the 2-norms bound by
 * Cauchy and Schwarz. With R = Σ_k (‖W_k^Q‖_F ‖W_k^K‖_F max_j|c_j| + max_j|d_k ⊙ c_j|) and n = 2D +
 * d + J + 32, a score of all heads together is off by n u R|u|, the energy by n u (R|u| + Hτ(1 +
 * ln J)) since log-sum-exp moves no more than its largest argument, a weight α relatively by n u (2
 * + 2R|u|/τ), and G by n u R (3 + 2R|u|/τ). The 32 leave room for exp, log and the turn, which are
 * right to a few units in the last place. For the gated energies the terms are bounded one by one.
 */
#ifndef BASIN_VERIFY_CEM_INSTANCE_H
#define BASIN_VERIFY_CEM_INSTANCE_H

#include "kernels/kern_rng.h"
#include "models/model_family.h"
#include "models/verify/verify_record.h"
#include "models/verify/verify_subject.h"
#include "models/verify/verify_work.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum verify_cem_kind {
    VERIFY_CEM_ATTENTION,
    VERIFY_CEM_MLP_A,
    VERIFY_CEM_MLP_B
} verify_cem_kind;

typedef enum verify_cem_place {
    VERIFY_CEM_STEP,
    VERIFY_CEM_ONCE,
    VERIFY_CEM_EXACT
} verify_cem_place;

typedef enum verify_cem_rope {
    VERIFY_CEM_TURNED,
    VERIFY_CEM_PLAIN,
    VERIFY_CEM_UNTURNED
} verify_cem_rope;

typedef enum verify_cem_diag {
    VERIFY_CEM_SHARED,
    VERIFY_CEM_NO_DIAG,
    VERIFY_CEM_PER_HEAD
} verify_cem_diag;

typedef enum verify_cem_precond {
    VERIFY_CEM_IDENTITY,
    VERIFY_CEM_DLR,
    VERIFY_CEM_GAMMA
} verify_cem_precond;

/* Words of the record, in the order of the enumerations. */
extern const char *const verify_cem_kinds[];
extern const char *const verify_cem_places[];
extern const char *const verify_cem_ropes[];
extern const char *const verify_cem_diags[];
extern const char *const verify_cem_preconds[];

/* Read from a record; pointers go into the record or the workspace. */
typedef struct verify_cem {
    verify_cem_kind kind;
    verify_cem_place place;
    verify_cem_rope rope;
    verify_cem_precond precond;
    size_t width, heads, head, history, hidden;
    size_t diagonals; /* rows of diag: 0, 1 or H */
    double tau, base, epsilon, eta, factor;
    const double *wq, *wk, *c, *diag, *wu, *gate, *gamma, *x;
    double *p;      /* D × D for dlr, else NULL */
    double *keys;   /* J × H·d */
    double *values; /* the same, or keys */
    double *query;  /* d */
    double *scores; /* J */
    double *pulled; /* D */
    double reach;   /* R above */
    double terms;   /* n above */
    double p_size;  /* at least ‖P‖₂ */
    double gain;    /* max |γ|; 1 under once */
} verify_cem;

/* ---- Making -------------------------------------------------------------------------------- */

/* What a random instance is like. */
typedef struct verify_cem_options {
    verify_cem_place place;
    verify_cem_rope rope;
    verify_cem_diag diag;
    verify_cem_precond precond; /* not dlr: add that with verify_cem_put_dlr */
    double eta;
    double epsilon;
    bool signed_gamma; /* γ of either sign and, now and then, with a zero; else positive */
    bool unit_gamma;   /* γ = 1 */
} verify_cem_options;

/* Puts a random attention instance: 2 ≤ D ≤ 12, H ≤ 3, J ≤ 6, scores from small to saturating. */
kern_status verify_cem_draw_attention(verify_record *record, kern_rng *rng,
                                      const verify_cem_options *of, kern_error *err);

/* Puts a random instance of one of the two gated energies: 2 ≤ D ≤ 12, F ≤ 24. */
kern_status verify_cem_draw_mlp(verify_record *record, kern_rng *rng, verify_cem_kind kind,
                                const verify_cem_options *of, kern_error *err);

/* Puts δ, U and V of a P of rank 1 to 3, positive definite by the sufficient test with the
 * Frobenius norm in place of the spectral one. The record's precond must be dlr. */
kern_status verify_cem_put_dlr(verify_record *record, kern_rng *rng, size_t width, kern_error *err);

/* Puts token `token` of the part's input h (tokens × D, from model_layer_input) of a CEM run for
 * which verify_cem_applies is NULL. */
kern_status verify_cem_put_run(verify_record *record, const verify_subject *subject, size_t layer,
                               model_layer_part part, const double *h, size_t token,
                               verify_work *work, kern_error *err);

/* For `applies`: NULL, or why a run has no descents of this form. */
const char *verify_cem_applies(const verify_subject *subject);

/* ---- Reading and evaluating ---------------------------------------------------------------- */

/* Reads an instance and takes its workspace. KERN_BAD_INPUT for a record that is none;
 * KERN_NO_MEMORY. */
kern_status verify_cem_read(verify_cem *q, const verify_record *record, verify_work *work,
                            kern_error *err);

/* P = diag(softplus δ) + U Vᵀ + V Uᵀ of a record with these entries, into p (D × D). */
kern_status verify_cem_read_dlr(const verify_record *record, size_t width, double *p,
                                kern_error *err);

typedef struct verify_cem_value {
    double energy;
    double rounding;       /* of the energy at the u given */
    double force_rounding; /* 2-norm, of G at the u given */
    double slope;          /* at least |G| at and near u */
} verify_cem_value;

/* ε(u), and G into `force` unless it is NULL. */
verify_cem_value verify_cem_evaluate(verify_cem *q, const double *u, double *force);

/* −(∇²ε) v of the attention energy, into `out`: Σ_k A_k Σ_j (dα_kj) c_j along v. */
void verify_cem_bend(verify_cem *q, const double *u, const double *v, double *out);

/* u of the state x: n(x), or x under once. Returns r (1 under once). */
double verify_cem_see(const verify_cem *q, const double *x, double *u);

/* A state and what there is to know of it. */
typedef struct verify_cem_point {
    double *x, *u, *force; /* D each */
    double r;
    verify_cem_value at;
    double rounding; /* of the energy as a function of the record: `at`, and that of x and u */
    double moved_rounding; /* |·|₂, of x */
} verify_cem_point;

kern_status verify_cem_point_init(verify_cem_point *p, const verify_cem *q, verify_work *work,
                                  kern_error *err);

/* Fills the point of the state in p->x, which is off by p->moved_rounding. */
void verify_cem_visit(verify_cem *q, verify_cem_point *p);

/* out = P f. */
void verify_cem_precondition(const verify_cem *q, const double *f, double *out);

/* to->x = one step from `from`, and visits it. */
void verify_cem_step(verify_cem *q, const verify_cem_point *from, verify_cem_point *to);

/* Both ends of the step from the instance's own state, initialised here. KERN_NO_MEMORY. */
kern_status verify_cem_first_step(verify_cem *q, verify_cem_point *from, verify_cem_point *to,
                                  verify_work *work, kern_error *err);

/* silu z, and Φ(z) = ∫₀ᶻ silu. */
double verify_cem_silu(double z);
double verify_cem_silu_integral(double z);

#endif
