/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One sub-MLP of an hourglass at one state, in plain loops over doubles: its branch, its Jacobian
 * in two ways, and bounds on their rounding (Liao et al. 2026, arXiv 2602.06471). No code is shared
 * with the graph engine or model_hourglass_dynamics.h, which a claim compares it to.
 *
 *   f = α U u,  u = silu(a) ⊙ b,  a = W_g n,  b = W_v n,  n = γ ⊙ h/√m or h,  m = mean(h²) + ε
 *   J = I + α U C,  C = B diag(γ)(I − hhᵀ/(Dm))/√m or B,  B = diag(b ⊙ silu′(a)) W_g + diag(silu a)
 * W_v
 *
 * Record: word norm (before, none); numbers width D, hidden d_h, alpha, epsilon; matrices gamma,
 * h (1 × D), w_gate, w_up (d_h × D), w_down (D × d_h).
 *
 * Rounding. With n₀ = 2D + d_h + 32 and u the unit roundoff, a and b are off by n₀u|W_i||n|, silu
 * and silu′ have slopes of at most 1.1 and ½, so u_i is off by n₀u(1.1|b||G_i||n| + |s||V_i||n| +
 * |sb|), f by α‖U‖_F times the 2-norm of that, and row i of B by n₀u[(1.1|V_i||n| + ½|b||G_i||n|
 * + 1.1|b|) |G_i| + (1.1|G_i||n| + |s|)|V_i|]; the norm makes that 2γ_max/√m times as much in C. J
 * is off by the 2-norm e_J = α‖U‖_F times that of C.
 */
#ifndef BASIN_VERIFY_HOURGLASS_SUB_H
#define BASIN_VERIFY_HOURGLASS_SUB_H

#include "models/verify/verify_record.h"
#include "models/verify/verify_work.h"

#include <stdbool.h>
#include <stddef.h>

/* Words of `norm`. */
extern const char *const verify_sub_norms[];

/* Read from a record; pointers go into it or the workspace. */
typedef struct verify_sub {
    size_t width, hidden;
    bool norm;
    double alpha, epsilon;
    const double *gamma, *gate, *up, *down, *h; /* d_h × D twice, D × d_h */
    double root;                                /* √m, 1 without a norm */
    double gain;                                /* max |γ|, 1 without a norm */
    double *n;                                  /* D */
    double *u;                                  /* D × d_h: α U */
    double *b;                                  /* d_h × D: B */
    double *c;                                  /* d_h × D: C */
    double *j;                                  /* D × D */
    double *m;                                  /* d_h × d_h: I + α C U */
    double *values;                             /* D */
    double u_size, b_size, c_size;              /* Frobenius norms */
    double terms;                               /* n₀u */
    double f_rounding, j_rounding;              /* 2-norms */
} verify_sub;

/* Reads a sub-MLP, and computes all but J and I + M. KERN_BAD_INPUT; KERN_NO_MEMORY. */
kern_status verify_sub_read(verify_sub *s, const verify_record *record, verify_work *work,
                            kern_error *err);

/* f += the part of units first … last − 1. */
void verify_sub_add_units(const verify_sub *s, size_t first, size_t last, double *f);

/* out = J v by differentiating one operation after another; dn is room for D numbers. */
void verify_sub_tangent(const verify_sub *s, const double *v, double *out, double *dn);

/* J column by column into s->j, and I + α C U into s->m; column and dn are room for D numbers. */
void verify_sub_matrices(verify_sub *s, double *column, double *dn);

#endif
