/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Coefficients of the normal forms of a fixed point or cycle where a multiplier lies on the unit
 * circle (Kuznetsov 2004, chapters 4, 5 and 9; Govaerts and Kuznetsov 2007).
 *
 * A = (F^p)'(x) is the Jacobian of the p-th iterate at the first state of the cycle, B and C its
 * second and third derivatives there (dyn_multilinear.h). With A q = μ q, Aᵀ w = μ̄ w, |q|₂ = 1 and
 * ⟨w, q⟩ = Σ w̄_i q_i = 1:
 *
 *   LP, μ = 1    a = ½ ⟨w, B(q,q)⟩                           ξ' = ξ + a ξ² + …
 *   PD, μ = −1   b = ⅙ ⟨w, C(q,q,q) + 3B(q, (I−A)⁻¹B(q,q))⟩    ξ' = −ξ + b ξ³ + …
 *   NS, e^{iθ}   d = ½ e^{−iθ} ⟨w, C(q,q,q̄) + 2B(q, (I−A)⁻¹B(q,q̄)) + B(q̄, (e^{2iθ}I−A)⁻¹B(q,q))⟩
 *                                                            ζ' = e^{iθ} ζ (1 + d |ζ|²) + …
 *   BP, μ = 1    as described at dyn_normal_branch
 *
 * q is oriented so that the first of its entries of largest magnitude is positive, which decides
 * the sign of a: the cycles that meet at a fold lie on the side where a and the change of the
 * parameter times ⟨w, F_μ⟩ have opposite signs.
 *
 * A flip is supercritical (a stable cycle of twice the period appears) when b > 0, a Neimark–Sacker
 * point (a stable invariant circle) when Re d < 0. Signs do not depend on which state of a cycle is
 * the first, magnitudes do: |q|₂ = 1 is asked at that state.
 *
 * Everything is dense, for maps of up to a few hundred coordinates. For polynomial maps of moderate
 * size, coefficients are right to about 1e-10 at an exact critical point, and off by as much as the
 * point is.
 */
#ifndef BASIN_DYN_NORMAL_FORM_H
#define BASIN_DYN_NORMAL_FORM_H

#include "dyn/dyn_map.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum dyn_normal_kind {
    DYN_NORMAL_LP, /* limit point (fold): multiplier +1 */
    DYN_NORMAL_PD, /* period doubling (flip): multiplier −1 */
    DYN_NORMAL_NS, /* Neimark–Sacker: multipliers e^{±iθ}, 0 < θ < π */
    DYN_NORMAL_KINDS
} dyn_normal_kind;

/* "LP", "PD" or "NS". */
const char *dyn_normal_kind_word(dyn_normal_kind kind);

/* What happens to what bifurcates. */
typedef enum dyn_criticality {
    DYN_CRITICALITY_NONE,  /* the kind of point has none: LP, transcritical BP */
    DYN_SUPERCRITICAL,     /* what appears is stable in the critical direction */
    DYN_SUBCRITICAL,       /* what disappears is unstable in it */
    DYN_CRITICALITY_UNSURE /* the coefficient is not distinct from 0 */
} dyn_criticality;

/* "none", "supercritical", "subcritical" or "unsure". */
const char *dyn_criticality_word(dyn_criticality criticality);

typedef struct dyn_normal_form {
    /* KERN_OK; KERN_SINGULAR: ⟨w, q⟩ vanishes (a double multiplier without two eigenvectors, as at
     * R1 and R2) or another multiplier makes a linear system above singular (fold–flip, R3, …);
     * KERN_NAN: a derivative is not finite; KERN_NOT_FOUND: NS was asked for and no multiplier is
     * complex; KERN_NOT_CONVERGED: the eigenvalues were not found. Coefficients are then NaN. */
    kern_status status;
    double re, im;      /* the multiplier that was taken for the critical one; im ≥ 0 */
    double distance;    /* from its ideal place: |μ − 1|, |μ + 1|, ||μ| − 1| */
    double angle;       /* NS: its argument θ in (0, π); LP: 0; PD: π */
    double coefficient; /* a, b or Re d */
    double imaginary;   /* Im d; 0 for LP and PD */
    double scale;       /* sum of the magnitudes of the terms that make up the coefficient */
    double error;       /* estimated, of the coefficient: from the differences alone */
    double pairing;     /* |⟨w, q⟩| for |w|₂ = |q|₂ = 1: 0 at a defective multiplier */
    dyn_criticality criticality;
} dyn_normal_form;

/* Workspace for cycles of `period` states of `map`, which is borrowed. */
typedef struct dyn_normal dyn_normal;

/* KERN_INVALID_ARGUMENT for a period of 0, KERN_OVERFLOW, KERN_NO_MEMORY. Memory: about 8 size². */
kern_status dyn_normal_create(dyn_normal **out, dyn_map *map, size_t period, kern_error *err);
void dyn_normal_destroy(dyn_normal *normal);

/* The normal form of `kind` at the cycle that begins with `x` (size numbers; the others follow by
 * iteration), with the parameters that the map has now. The critical multiplier is the one nearest
 * its ideal place; for NS, of those off the real line, the one nearest e^{i·angle} when `angle` is
 * in (0, π), and the one nearest the unit circle otherwise (pass NaN). Nothing checks that x is on
 * a cycle, or how near the multiplier is: see `distance`. Cost: period·size jvps, O(size³), and
 * about 20 (LP), 150 (PD), 1000 (NS) times period jvps. */
void dyn_normal_find(dyn_normal *normal, const double *x, dyn_normal_kind kind, double angle,
                     dyn_normal_form *out);

/* The critical right eigenvector q of the last dyn_normal_find or dyn_normal_branch whose status is
 * KERN_OK, size numbers with |q|₂ = 1; of NS the real part, followed by the imaginary one (2·size).
 * Borrowed until the next call. A cycle of twice the period begins near x ± ε q at a flip. */
const double *dyn_normal_vector(const dyn_normal *normal);

/* A branch point: two branches of cycles cross where I − A is singular and F^p_μ, the derivative by
 * the parameter μ, is in its range. With v: (I−A) v = F^p_μ, ⟨w, v⟩ = 0, points nearby are
 * x + ξ q + ε v at parameter μ + ε, and ξ obeys
 *
 *   ξ' = ξ + ½ b20 ξ² + b11 ξ ε + ½ b02 ε² + ⅙ b30 ξ³ + …
 *   b20 = ⟨w, B(q,q)⟩            b11 = ⟨w, B(q,v) + F_{xμ} q⟩
 *   b02 = ⟨w, B(v,v) + 2F_{xμ} v + F_{μμ}⟩
 *   b30 = ⟨w, C(q,q,q) − 3B(q, h)⟩ with (A−I) h = B(q,q) − ⟨w, B(q,q)⟩ q, ⟨w, h⟩ = 0
 *
 * Branches leave along the roots (ξ : ε) of ½ b20 ξ² + b11 ξ ε + ½ b02 ε². A point is a pitchfork
 * when one of them is (1 : 0), b20 = 0, and transcritical otherwise; a pitchfork is supercritical
 * when b30 < 0. */
typedef struct dyn_branch_form {
    kern_status status; /* as above; KERN_SINGULAR as well when the roots are not real and distinct
                           (b11² ≤ b20 b02); the numbers are then as found, if they were */
    double re, im;      /* the multiplier taken for the critical one, as above */
    double distance;    /* |μ − 1| */
    double transversal; /* ⟨w, F_μ⟩ with |w|₂ = 1: 0 at a branch point, not 0 at a fold */
    double b20, b11, b02, b30;
    bool pitchfork; /* |b20| is at most 1e-6 max(1, |b11|, |b30|) */
    dyn_criticality criticality;
} dyn_branch_form;

/* The branch point at x, in parameter number `parameter` of the map. `tangents` (unless NULL)
 * receives 2 × (size + 1) numbers: unit vectors (dx, dμ) along the two branches; the first is the
 * one with the larger |dμ|. Parameter derivatives are differences with Richardson extrapolation;
 * the map's parameter is restored. */
void dyn_normal_branch(dyn_normal *normal, const double *x, size_t parameter, dyn_branch_form *out,
                       double *tangents);

#endif
