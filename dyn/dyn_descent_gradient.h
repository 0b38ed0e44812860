/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Descent along the gradient with respect to the state itself: x' = x − ηu, u = ∇_x E = PΓv/σ, in
 * the notation of dyn_descent.h. Any matrix with a positive symmetric part is legal then, with any
 * skew part.
 *
 * In continuous time dE/dt = −uᵀηu. As x and v run over all states and gradients, the directions u
 * are dense in range Π (γ ≠ 0; m ≥ 2, or ε > 0 for m = 1): to reach y with y_j ≠ 0 for some
 * γ_j ≠ 0, take w supported where γ ≠ 0 with w·y = |y|², Γv = w and û along Πw − y, so that
 * PΓv = y for ρ = 1. Hence descent for all x and v if and only if
 *     η₊ ⪰ 0 (RMSNorm),       Cη₊C ⪰ 0 (LayerNorm),       η₊ = (η + ηᵀ)/2,
 * for every γ ≠ 0, zeros included, and every ε.
 *
 * In discrete time, with d = −ηu and L no less than the greatest curvature of x ↦ E(g(x)) along the
 * segment,
 *     E(x + d) − E(x) ≤ −uᵀηu + (L/2)|Πd|²,
 * so no step rises if Πη₊Π ⪰ (L/2)ΠηᵀΠηΠ; the mean that LayerNorm removes costs nothing. And
 *     L ≤ (γ_max² m₊ + (2/√3)|ΠΓv|/√D)/σ²
 * at a point, with m₊ ≥ 0 no less than the greatest curvature of E in g. Proof: ∇²(E∘g) is JᵀHJ
 * with J = ΓP/σ, at most γ_max² m₊/σ², plus the Hessian of w·y/σ with w = ΠΓv fixed. That one is,
 * with y = √(Dρ) σ û, w = |w|(αû + βn), n ⊥ û,
 *     (|w|/(√D σ²)) √ρ [−β(ûnᵀ + nûᵀ) − α(Π − ûûᵀ) − 3(1 − ρ)αûûᵀ],
 * whose greatest eigenvalue, with k = 3(1 − ρ), is √ρ times the greatest of −α and
 * (−(k + 1)α + √((k − 1)²α² + 4β²))/2. Over α² + β² = 1 this is at most √(4/(3ρ)) (Cauchy–Schwarz),
 * attained at α = −1/√(3ρ) if ρ ≥ 1/3; times √ρ it is 2/√3, whatever ρ is. For ρ < 1/3 the most is
 * 3√ρ(1 − ρ) < 2/√3, at α = −1. So the constant cannot be improved, for ε = 0 nor for ε > 0.
 */
#ifndef BASIN_DYN_DESCENT_GRADIENT_H
#define BASIN_DYN_DESCENT_GRADIENT_H

#include "dyn/dyn_descent.h"

/* The caller points x, v and u to D numbers each, of its own; they are 0 where there is no witness.
 */
typedef struct dyn_descent_gradient {
    dyn_descent_verdict verdict; /* within rounding: |least| ≤ tolerance */
    dyn_descent_ground ground;
    double least;     /* smallest eigenvalue of Πη₊Π on range Π; NaN when that is {0} */
    double tolerance; /* rounding of `least`, and what relative errors of `unit` in η do to it */
    bool confirmed;   /* form + error < 0 */
    double *x;        /* the witness: a state */
    double *v;        /* a gradient, of unit norm up to rounding */
    double *u;        /* PΓv at that state over its norm: against η u the energy rises */
    double form;      /* uᵀηu, evaluated at x and v */
    double error;     /* bound on its rounding */
} dyn_descent_gradient;

/* Decides descent along ∇_x E. `work` holds dyn_descent_work_size(width) bytes. Errors as those of
 * dyn_descent_decide. Cost: one eigenvalue problem of 4/3 D³. */
kern_status dyn_descent_gradient_decide(const dyn_descent_system *system, void *work,
                                        dyn_descent_gradient *out, kern_error *err);

/* u = PΓv/|PΓv| into `u`, and uᵀηu with a bound on its rounding; 0 when PΓv = 0. KERN_SINGULAR when
 * σ = 0. `u` overlaps nothing. */
kern_status dyn_descent_gradient_form(const dyn_descent_system *system, const double *x,
                                      const double *v, double *u, double *value, double *error,
                                      kern_error *err);

/* The bound on L above: D, σ, max |γ_i|, m₊ and |ΠΓv|. */
double dyn_descent_gradient_curvature(size_t width, double sigma, double gain, double curvature,
                                      double gradient);

#endif
