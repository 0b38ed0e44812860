/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of the descent certificates share.
 */
#ifndef BASIN_DYN_DESCENT_INTERNAL_H
#define BASIN_DYN_DESCENT_INTERNAL_H

#include "dyn/dyn_descent.h"

/* The system with γ and η scaled by powers of two to a largest entry in [½, 1), and its residual
 * R = Π(η − cΓ)/τ with respect to one c > 0, τ the power of two that brings R there too. All arrays
 * lie in the workspace. */
typedef struct dyn_descent_residual {
    size_t width;
    bool centre;
    int gamma_shift; /* γ = 2^shift · scaled γ */
    int eta_shift;
    double *gamma; /* D, scaled */
    double *eta;   /* D × D, scaled */
    double c;      /* in scaled units */
    double tau;    /* 0 when R = 0 */
    double *r;     /* D × D */

    double *gram;   /* D × D: RᵀR */
    double *matrix; /* D × D: destroyed by every eigenvalue problem */
    double *values; /* D */
    double *vector; /* D: a top eigenvector */
    double *cut[2]; /* D each: the gradients left and right of c* */
    double *p;      /* D: ΠΓv */
    double *q;      /* D: Πηv */
    double *rv;     /* D: Rv */
    double *lapack;
    int *integers;
} dyn_descent_residual;

/* A gradient as the worst case sees it; in scaled units. */
typedef struct dyn_descent_cut {
    double pp; /* |p|² */
    double rp; /* (Rv)·p */
    double rr; /* |Rv|² */
} dyn_descent_cut;

/* What the search found, in scaled units: V and bound are in units of τ². */
typedef struct dyn_descent_worst {
    double violation; /* V of the gradient in `best`, |v| = 1 */
    double bound;
    double c;
    size_t iterations;
} dyn_descent_worst;

/* Whether a system is acceptable: KERN_INVALID_ARGUMENT, KERN_NAN. */
kern_status dyn_descent_check(const dyn_descent_system *system, kern_error *err);

/* Makes `a` orthogonal to the unit vector `n`, and of unit length; the length before that. */
double dyn_descent_reject(double *a, const double *n, size_t d);

/* A unit vector of range Π orthogonal to the unit vector `n`, from the channel in which n is
 * smallest; for a rank of at least 2. */
void dyn_descent_any_direction(double *a, const double *n, size_t d, bool centre);

/* Splits `work` and scales. */
void dyn_descent_residual_init(dyn_descent_residual *r, const dyn_descent_system *system,
                               void *work);

/* Sets c and fills R and τ. */
void dyn_descent_residual_fill(dyn_descent_residual *r, double c);

/* p, q and Rv of a gradient, and its cut. */
dyn_descent_cut dyn_descent_residual_apply(dyn_descent_residual *r, const double *v);

/* V of a cut, in units of τ², for a gradient of unit norm; *at receives the c that attains it, as
 * the offset from r->c in units of τ. */
double dyn_descent_residual_violation(const dyn_descent_residual *r, dyn_descent_cut cut,
                                      double *at);

/* Whether η is a member of the family, exactly; whether it is one to rounding. Not for m = 0, nor
 * γ = 0. */
bool dyn_descent_family_holds(const dyn_descent_system *system);
bool dyn_descent_family_nearly(const dyn_descent_system *system);

/* Least squares: c, b and the distances. Uses r->r. */
void dyn_descent_family_fit(const dyn_descent_system *system, dyn_descent_residual *r,
                            dyn_descent_certificate *out);

/* The bound at r->c, in units of τ². */
kern_status dyn_descent_search_here(dyn_descent_residual *r, double *bound, kern_error *err);

/* Minimises ‖Π(η − cΓ)‖₂²/(4c) over c; the gradient goes to `v`. */
kern_status dyn_descent_search(dyn_descent_residual *r, double *v, dyn_descent_worst *worst,
                               kern_error *err);

#endif
