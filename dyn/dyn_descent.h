/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Descent certificates: whether x' = −η v, with v the gradient of an energy with respect to the
 * normalised state g = γ ⊙ x̂ + δ, lowers that energy for every state x and every gradient v.
 *
 * With C = I − 11ᵀ/D, Π = C (LayerNorm, `centre`) or I (RMSNorm), y = Πx, σ² = |y|²/D + ε,
 * û = y/|y| and Γ = diag γ, x̂ = y/σ and ∂g/∂x = ΓP/σ with P(x) = Π − ρ û ûᵀ, ρ = |y|²/(Dσ²) ≤ 1.
 * Then
 *     dE/dt = −(1/σ) vᵀΓP(x)η v,
 * and the question is whether sym(ΓP(x)η) ⪰ 0 for all x (the condition of NRGPT's proposition 2.1,
 * arXiv 2512.16762, made necessary and sufficient). All of what follows is derived here.
 *
 * Theorem. Let m be the rank of Π (D, or D − 1 for LayerNorm), m ≥ 2 and γ ≠ 0. For ε = 0 and for
 * ε > 0 alike, descent for all x and v holds if and only if Π(η − cΓ) = 0 for some c ≥ 0:
 *     RMSNorm: η = cΓ;        LayerNorm: η = cΓ + 1bᵀ with any b,
 * whatever the signs of γ, zeros included: where γ_j = 0, column j of η is 0, or b_j·1.
 *
 * Worst case. Over all states, the smallest eigenvalue that sym(ΓP(x)η) attains (ε = 0), or
 * approaches as |y| grows (ε > 0), is exactly
 *     −min over c > 0 of ‖Π(η − cΓ)‖₂²/(4c),
 * a convex problem in one variable. Hence the law of small deviations: an η at the 2-norm distance
 * δ from cΓ (+ 1bᵀ) allows a violation of at most δ²/(4c).
 *
 * Proof. For one v put p = ΠΓv, q = Πηv. Since P = ΠPΠ, vᵀΓPηv = p·q − ρ(û·p)(û·q).
 *  1. Over unit vectors û of range Π, which has dimension m ≥ 2, (û·p)(û·q) is at most
 *     (p·q + |p||q|)/2 ≥ 0, at the bisector of p and q. Hence the minimum over all states is
 *     −V(v), V = (|p||q| − p·q)/2, at ρ = 1: attained for ε = 0, approached as |y| → ∞ for ε > 0.
 *     So ε > 0 does not enlarge the family. (Only a bound on |y| does: with ρ ≤ ρ₁ < 1 the angle
 *     between p and q may have any cosine ≥ ρ₁/(2 − ρ₁), for all v.)
 *  2. V ≥ 0, and V = 0 only where p and q point the same way or one is 0. Maps v ↦ p and v ↦ q that
 *     are linear and do so for every v have q = cp with one c ≥ 0: of two independent columns of
 *     ΠΓ, at e_j, e_k and e_j + e_k, the c are the same; and where γ_j = 0, te_k + e_j with t → 0
 *     from both sides needs q(e_j) = 0. This is the theorem.
 *  3. Identity: with any c > 0 and r = q − cp, V = (|r|² − (|q| − c|p|)²)/(4c), by expanding |r|².
 *     So V = min over c of |r|²/(4c), attained at c = |q|/|p|, and max_v V ≤ min_c max_v |r|²/(4c),
 *     |v| = 1. For equality let N(c) = Rᵀ R/c with R = Π(η − cΓ): h(c) = λ_max(N(c))/4 is a maximum
 *     of convex functions of c, and at its minimum c* zero is a subgradient, a mean of vᵀN′(c*)v
 *     over unit vectors of the top eigenspace. These values form an interval, so one v has
 *     vᵀN′v = |p|² − |q|²/c*² = 0, and there V = λ_max/4. ∎
 * The violation is of second order since a gradient in ker P gains nothing by itself: it takes a
 * cross term of ker P and range P, of size t·δ for an admixture t, against the dissipation c·t².
 *
 * Small ranks. m = 0: P = 0. m = 1 (RMSNorm with D = 1, LayerNorm with D = 2): with ε = 0, P = 0
 * and every η will do, since g can take two values only; with ε > 0, P = (1 − ρ)û ûᵀ with a fixed û
 * and the condition is Π(η − cΓ) = 0, c ≥ 0, as above. γ = 0: every η will do, since g is constant.
 */
#ifndef BASIN_DYN_DESCENT_H
#define BASIN_DYN_DESCENT_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* The matrices in question; nothing is owned. */
typedef struct dyn_descent_system {
    size_t width;        /* D ≥ 1 */
    bool centre;         /* LayerNorm; false: RMSNorm */
    double epsilon;      /* ε ≥ 0 */
    const double *gamma; /* D: γ */
    const double *eta;   /* D × D, row-major: η */
    double unit; /* half the spacing of the numbers that η was stored in, relative: 2⁻⁵³ for
                  * f64 (also for 0), 2⁻²⁴ for f32 */
} dyn_descent_system;

typedef enum dyn_descent_verdict {
    DYN_DESCENT_CERTIFIED,       /* descent for every state and gradient, decided exactly */
    DYN_DESCENT_WITHIN_ROUNDING, /* not exactly; η is what a certified matrix becomes when it is
                                  * computed and stored with relative errors of `unit` */
    DYN_DESCENT_VIOLATED,        /* some state and gradient rise */
    DYN_DESCENT_VERDICTS
} dyn_descent_verdict;

/* "certified", "within_rounding", "violated". */
const char *dyn_descent_verdict_word(dyn_descent_verdict verdict);

/* What the verdict rests on. */
typedef enum dyn_descent_ground {
    DYN_DESCENT_BY_FAMILY,  /* membership in the family of the theorem, or the lack of it */
    DYN_DESCENT_BY_NO_MOVE, /* P(x) = 0 for all x: the normalised state cannot move */
    DYN_DESCENT_BY_NO_GAIN, /* γ = 0: the normalised state is constant */
    DYN_DESCENT_BY_SIGN     /* of a spectrum (dyn_descent_gradient.h) */
} dyn_descent_ground;

/* A certificate. The caller points b, x, v and share to D numbers each, of its own. */
typedef struct dyn_descent_certificate {
    dyn_descent_verdict verdict;
    dyn_descent_ground ground;

    /* The nearest certified matrix cΓ + 1bᵀ in the Frobenius norm, c ≥ 0; b = 0 for RMSNorm. */
    double c;
    double *b;
    double distance;          /* δ_F = ‖Π(η − cΓ)‖_F */
    double relative_distance; /* δ_F/‖η‖_F; 0 for η = 0 */

    /* Worst case: −bound ≤ smallest. */
    double worst_c; /* the c* of the worst case; NaN where there is none to find */
    double bound; /* ‖Π(η − c*Γ)‖₂²/(4c*): no state and unit gradient do worse, up to rounding */
    kern_status status; /* KERN_OK; KERN_NOT_CONVERGED when `gap` stayed above its tolerance */
    size_t iterations;  /* eigenvalue problems solved */
    double gap;         /* 1 − V/bound of the gradient found */

    /* The witness; x, v and share are set to 0 where there is none. */
    bool confirmed; /* smallest + error < 0: the witness rises in exact arithmetic */
    double *x;      /* a state */
    double *v;      /* a gradient, of unit norm up to rounding */
    double *share; /* share of each channel in the violation, ≥ 0, sum 1: n_i² for the direction n
                    * in which Γv and ηv part */
    double smallest; /* vᵀΓP(x)ηv/|v|²: the smallest eigenvalue of sym(ΓP(x)η), up to `gap` */
    double error;    /* bound on the rounding of `smallest` */
    double relative;  /* smallest/‖Γη‖_F; 0 when that is 0 */
    double cosine;    /* of the angle between ΠΓv and Πηv */
    double least_rho; /* this gradient rises at states along x with ρ above this */

    double skew_ratio; /* ‖η₋‖_F/‖η₊‖_F; ∞ for a skew η, 0 for η = 0 */
} dyn_descent_certificate;

/* Bytes of workspace for a width, aligned for any type; SIZE_MAX when they cannot be counted. */
size_t dyn_descent_work_size(size_t width);

/* Decides descent, with the worst case and a witness unless η is certified.
 *
 * Membership is decided in exact arithmetic, without tolerance, barring underflow. Within rounding
 * is an η for which some member has every entry within 2u|b_j| (off the diagonal) and
 * 3u(|cγ_j| + |b_j|) (on it), u the `unit`: what cγ_j, b_j and their sum lose when they are
 * rounded, and the difference that is formed here.
 *
 * The witness is found from the worst case above: both sides of c* give a top singular vector of
 * Π(η − cΓ), and the best combination of the two is the gradient v; the state is the bisector of
 * ΠΓv and Πηv, for ε > 0 so large that (1 − ρ) costs less than 1/256 of the violation. Residuals
 * Π(η − cΓ) are formed without cancellation, so this works for relative distances down to about
 * 10⁻¹⁵; and the witness is confirmed by dyn_descent_form. A deviation below about 10⁻²⁴ of η
 * leaves nothing to compute with: the verdict stands, without a witness, and the bound is 0.
 *
 * `work` holds dyn_descent_work_size(width) bytes. KERN_INVALID_ARGUMENT for a width of 0, an ε
 * that is negative or not finite, a `unit` outside [0, 1); KERN_NAN when γ or η is not finite;
 * KERN_NOT_CONVERGED from LAPACK. Cost: a product 2D³ and about ten eigenvalue problems of 4/3 D³.
 */
kern_status dyn_descent_decide(const dyn_descent_system *system, void *work,
                               dyn_descent_certificate *out, kern_error *err);

/* ‖Π(η − cΓ)‖₂²/(4c) for one c > 0: a bound on how fast any state and unit gradient can rise. Its
 * minimum over c is the worst case. `work` and errors as above; KERN_INVALID_ARGUMENT when c is not
 * positive and finite. Cost: a product 2D³ and one eigenvalue problem of 4/3 D³. */
kern_status dyn_descent_bound(const dyn_descent_system *system, double c, void *work, double *bound,
                              kern_error *err);

/* vᵀΓP(x)ηv, evaluated in twice the working precision (Dekker 1971, as error-free sums and
 * products) so that second-order violations of 10⁻²⁸ are told from rounding: *error receives a
 * bound on the rounding. x = 0 (or constant, for LayerNorm) is accepted with ε > 0 and gives P = Π.
 * KERN_SINGULAR when σ = 0. Cost O(D²). */
kern_status dyn_descent_form(const dyn_descent_system *system, const double *x, const double *v,
                             double *value, double *error, kern_error *err);

/* Fills `out` (D × D) with the certified matrix cΓ + 1bᵀ of a certificate. */
void dyn_descent_project(const dyn_descent_system *system, double c, const double *b, double *out);

#endif
