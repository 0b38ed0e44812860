/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Curves of bifurcations in two parameters: the fold (LP), flip (PD) and Neimark–Sacker (NS) points
 * of fixed points and cycles, followed by pseudo-arclength (dyn_arclength.h), and the points of
 * codimension two on them.
 *
 * The curve solves the multiple-shooting equations F(x_i; p, q) = x_{i+1}, x_P = x_0, together with
 * the condition that a matrix made of A = F'(x_{P−1}) ⋯ F'(x_0) is singular, as its bordered system
 * says (dyn_border.h; Govaerts 2000, Kuznetsov 2004, section 10.4):
 *
 *   LP  A − I, PD  A + I:     rank deficiency 1, one equation
 *   NS  A² − 2k A + I:        rank deficiency 2, two equations, and k = cos θ as an unknown
 *
 * None of them is singular where a pair meets on the real line. An NS curve goes on through R1 and
 * R2 to |k| > 1, where real multipliers μ and 1/μ replace the pair: a curve of neutral saddles,
 * which are no bifurcation. Its points are marked.
 *
 * Of the 2×2 matrix G that is to vanish for NS, two combinations are equations. Near the curve
 * G ≈ (t − 2k) WAVᵀ + (1 − D) WVᵀ, with t and D trace and determinant of A on the invariant plane
 * and V, W bases of it and of that of Aᵀ (Cayley–Hamilton), so the combinations are the projections
 * on an orthonormal basis of the span of these two matrices.
 *
 * Borders follow the curve. Derivatives of the conditions by states are differences of Jacobians,
 * those by parameters differences of products, each over two widths with the h² error removed; they
 * steer Newton's method, and points do not inherit their error.
 *
 * Codimension two. Test functions are compared at the ends of every step, and a change of sign is
 * followed to its root in arclength:
 *
 *   CP    cusp, a = 0            R1  double +1             LPPD  fold and flip
 *   GPD   generalised flip, b = 0  R2  double −1           LPNS  fold and Neimark–Sacker
 *   CH    Chenciner, Re d = 0    R3, R4  θ = 2π/3, π/2     PDNS  flip and Neimark–Sacker
 *   NSNS  two pairs
 *
 * a, b and d are those of dyn_normal_form.h; poles of the latter (b at a fold–flip, say) are told
 * from roots. A coefficient that vanishes all along the curve, as Re d does for a family of
 * area-preserving maps, makes no events. Points where a test function touches zero without crossing
 * it are not found.
 *
 * Lengths. Unknowns are x_i / (X √P), k, (p − p₀) / (p_high − p_low) and the same of q, with X the
 * larger of 1 and the root mean square of the first cycle's coordinates; steps are in these units.
 */
#ifndef BASIN_DYN_CURVE_H
#define BASIN_DYN_CURVE_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_normal_form.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>

/* The least tolerance for a map whose jvp is a difference quotient. The condition is made of its
 * Jacobian, whose error, which no iteration removes, is about ε^{2/3} |x|² for a displacement in
 * proportion to |x|: 4e-9 for states of size 10, and some 25 times that after products and
 * divisions by borders. Points are corrected to what can be reached beyond it. */
#define DYN_CURVE_NOISE 1e-7

/* Largest period · size. */
enum { DYN_CURVE_MAX = 600 };

typedef enum dyn_curve_event_kind {
    DYN_CURVE_CP,
    DYN_CURVE_GPD,
    DYN_CURVE_CH,
    DYN_CURVE_R1,
    DYN_CURVE_R2,
    DYN_CURVE_R3,
    DYN_CURVE_R4,
    DYN_CURVE_LPPD,
    DYN_CURVE_LPNS,
    DYN_CURVE_PDNS,
    DYN_CURVE_NSNS,
    DYN_CURVE_EVENT_KINDS
} dyn_curve_event_kind;

/* "CP", "GPD", …; as listed above. */
const char *dyn_curve_event_word(dyn_curve_event_kind kind);

/* Why a curve ends. */
typedef enum dyn_curve_end {
    DYN_CURVE_END_BOUND,  /* a parameter reached an end of its range */
    DYN_CURVE_END_CLOSED, /* it came back to where it began */
    DYN_CURVE_END_HALVED, /* the cycle became one of half the period, as at a generalised flip of
                             that one; curves cross there, so the last point is right to about
                             1e-5 only */
    DYN_CURVE_END_FAR,    /* a state is a million times as large as those at the start */
    DYN_CURVE_END_STEP,   /* the corrector failed at the smallest step, or at a bound of the range;
                             no point lies beyond one but for the residual */
    DYN_CURVE_END_POINTS, /* as many points as were allowed */
    DYN_CURVE_END_KINDS
} dyn_curve_end;

/* "reached_bound", "closed", "period_halved", "diverged", "not_converged", "max_points". */
const char *dyn_curve_end_word(dyn_curve_end end);

typedef struct dyn_curve_point {
    double parameters[2];
    double *states;  /* period × size */
    double residual; /* largest equation: of the cycle and of the condition */
    double *re, *im; /* size each: multipliers, in no order; behind `states` in its block */
    double critical_re, critical_im; /* +1, −1 or e^{iθ}; the one outside the circle of a neutral
                                        saddle */
    bool neutral;                    /* on an NS curve: a neutral saddle, |k| > 1 */
    dyn_normal_form form;            /* not looked for at neutral saddles: KERN_NOT_FOUND */
} dyn_curve_point;

typedef struct dyn_curve_event {
    dyn_curve_event_kind kind;
    size_t index; /* of the point before it, in the order of the curve */
    dyn_curve_point at;
} dyn_curve_event;

typedef struct dyn_curve {
    dyn_normal_kind kind;
    size_t period, size;
    size_t parameters[2]; /* indices */
    double low[2], high[2];
    size_t n_points;
    dyn_curve_point *points; /* owned; in order along the curve */
    size_t start;            /* index of the point it began with */
    size_t n_events;
    dyn_curve_event *events; /* owned; in order along the curve */
    size_t n_unlocated;      /* changes of sign whose root could not be computed */
    dyn_curve_end ends[2];   /* behind the first point, behind the last one */
} dyn_curve;

typedef struct dyn_curve_options {
    dyn_normal_kind kind;
    size_t period;             /* states of the cycle */
    const char *parameters[2]; /* names p and q, distinct */
    double low[2], high[2];    /* ranges, which include the map's present values */
    double angle;              /* of NS: θ of the pair that is followed; NaN: nearest */
    double step, step_min, step_max;
    double tol;             /* of residuals; for maps with approximate_jvp no less than
                             * DYN_CURVE_NOISE counts */
    size_t max_iterations;  /* of the corrector */
    size_t max_points;      /* in each direction */
    dyn_progress *progress; /* counts points, of both directions; may be NULL */
    void *context;
} dyn_curve_options;

/* LP, period 1, angle NaN, steps 0.01, 1e-10 and 0.04, tolerance 1e-11, 12 iterations, 1000 points;
 * the caller sets the parameters and their ranges. */
dyn_curve_options dyn_curve_options_default(void);

/* Follows the curve of `options->kind` through the point that `states` (period × size) and the
 * map's present parameters are near, in both directions. The parameters are restored. *out is
 * initialised here and released with dyn_curve_fini, which is harmless after a failure. That a
 * curve ends early is an outcome, as `ends` says. Errors: KERN_INVALID_ARGUMENT for options outside
 * their domain; KERN_NOT_CONVERGED when no such point was found near the start; KERN_SINGULAR when
 * the curve has no tangent there; KERN_NOT_FOUND when NS is asked for and no multiplier is complex;
 * KERN_INTERRUPTED; KERN_NO_MEMORY. Cost per corrector iteration: 5 (NS: 17) period·size jvps and
 * O((period·size)³); per point the normal form besides. Memory O((period·size)²). */
kern_status dyn_curve_init(dyn_curve *out, dyn_map *map, const double *states,
                           const dyn_curve_options *options, kern_error *err);
void dyn_curve_fini(dyn_curve *curve);

/* True when a point found otherwise, say on another branch in one parameter, lies on the curve: it
 * is nearer to the chord of two neighbouring points than a quarter of its length, with the cycle
 * begun at any of its states. `critical_re` is the real part of its critical multiplier. */
bool dyn_curve_passes(const dyn_curve *curve, const double parameters[2], const double *states,
                      double critical_re);

#endif
