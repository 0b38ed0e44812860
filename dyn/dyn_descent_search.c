/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The worst case: the minimum over c > 0 of h(c) = ‖Π(η − cΓ)‖₂²/(4c), and a gradient that attains
 * it.
 *
 * A top singular vector v at one c gives a lower bound of h everywhere, (|q|²/c − 2p·q + c|p|²)/4,
 * which touches h there and whose own minimum over c is V(v). The minimum of h is enclosed between
 * two such cuts, one falling and one rising; the next c is where their maximum is least. Any
 * combination of the two gradients is a candidate as well, and the best of them has a V at least as
 * large as that least maximum, by the duality of dyn_descent.h in two dimensions. So both bounds
 * meet: superlinearly where the top singular value is simple, after one step where two cross.
 *
 * All is in offsets t of c from the r->c of the residual, in units of τ, so that a τ of 10⁻¹² costs
 * no digits: R(t) = R − tΠΓ and c = r->c + τt.
 */
#include "dyn/dyn_descent_internal.h"

#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"

#include <math.h>
#include <string.h>

/* V is flat at the worst gradient, so that a gradient whose V is within this of the bound is right
 * to its square root; eigenvalues are right to about D·2⁻⁵², which stays below for D < 10⁶. */
static const double GAP_TOLERANCE = 1e-9;

enum { ITERATIONS = 80, ANGLES = 48, GOLDEN_STEPS = 40 };

typedef struct search {
    dyn_descent_residual *r;
    double at[2];           /* where the cuts touch: left (falling) and right (rising) */
    dyn_descent_cut cut[2]; /* of r->cut */
    bool known[2];
    double *best; /* D */
    dyn_descent_worst *out;
} search;

/* R(t)ᵀR(t) = RᵀR − t(RᵀΓ + ΓR) + t²ΓΠΓ; the lower triangle. */
static void fill_matrix(dyn_descent_residual *r, double t)
{
    const size_t d = r->width;
    const double mean = r->centre ? 1.0 / (double)d : 0.0;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            const double mixed = r->r[j * d + i] * r->gamma[j] + r->gamma[i] * r->r[i * d + j];
            const double gains = r->gamma[i] * r->gamma[j] * ((i == j ? 1.0 : 0.0) - mean);
            r->matrix[i * d + j] = r->gram[i * d + j] - t * mixed + t * t * gains;
        }
    }
}

static void fill_gram(dyn_descent_residual *r)
{
    const size_t d = r->width;
    const kern_gemm_f64 g = {.ta = true,
                             .m = d,
                             .n = d,
                             .k = d,
                             .alpha = 1.0,
                             .a = r->r,
                             .lda = d,
                             .b = r->r,
                             .ldb = d,
                             .c = r->gram,
                             .ldc = d};
    kern_gemm_run_f64(&g, 1);
}

static void take_best(search *s, const double *v, double violation)
{
    if (violation > s->out->violation) {
        s->out->violation = violation;
        memcpy(s->best, v, s->r->width * sizeof *v);
    }
}

/* h at offset t, in units of τ², with the gradient in r->vector. */
static kern_status solve(dyn_descent_residual *r, double t, double *bound, kern_error *err)
{
    fill_matrix(r, t);
    KERN_TRY(kern_lapack_symmetric_top(r->width, 1, r->matrix, r->values, r->vector, r->lapack,
                                       r->integers, err));
    *bound = r->values[0] / (4 * (r->c + r->tau * t));
    return KERN_OK;
}

/* Solves at offset t; the cut replaces the one of its side. *minimum is where that cut is least. */
static kern_status touch(search *s, double t, size_t *side, double *minimum, kern_error *err)
{
    dyn_descent_residual *r = s->r;
    double bound;
    KERN_TRY(solve(r, t, &bound, err));
    if (bound < s->out->bound) {
        s->out->bound = bound;
        s->out->c = r->c + r->tau * t;
    }
    const dyn_descent_cut cut = dyn_descent_residual_apply(r, r->vector);
    take_best(s, r->vector, dyn_descent_residual_violation(r, cut, minimum));
    *side = *minimum > t ? 0 : 1;
    s->at[*side] = t;
    s->cut[*side] = cut;
    s->known[*side] = true;
    memcpy(r->cut[*side], r->vector, r->width * sizeof *r->vector);
    s->out->iterations++;
    return KERN_OK;
}

/* ---- The plane of two gradients ------------------------------------------------------------- */

/* Quadratic forms on the plane: of cos·v₀ + sin·v₁, each as its values on v₀, both, v₁. */
typedef struct plane {
    double pp[3], rp[3], rr[3], vv[3];
} plane;

static double at_angle(const double f[3], double cosine, double sine)
{
    return cosine * cosine * f[0] + 2 * cosine * sine * f[1] + sine * sine * f[2];
}

static double plane_violation(const dyn_descent_residual *r, const plane *f, double angle)
{
    const double x = cos(angle);
    const double y = sin(angle);
    const double vv = at_angle(f->vv, x, y);
    double unused;
    const dyn_descent_cut cut = {
        .pp = at_angle(f->pp, x, y), .rp = at_angle(f->rp, x, y), .rr = at_angle(f->rr, x, y)};
    /* Where the two gradients agree, one combination is nothing but rounding. */
    return vv > 1e-12 ? dyn_descent_residual_violation(r, cut, &unused) / vv : 0.0;
}

static void mix(double *out, const double *a, double x, const double *b, double y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = x * a[i] + y * b[i];
    }
}

/* The forms by polarisation of their values on v₀, v₁ and v₀ + v₁. */
static plane make_plane(const search *s)
{
    dyn_descent_residual *r = s->r;
    const size_t d = r->width;
    mix(r->vector, r->cut[0], 1, r->cut[1], 1, d);
    const dyn_descent_cut both = dyn_descent_residual_apply(r, r->vector);
    const dyn_descent_cut *const a = &s->cut[0];
    const dyn_descent_cut *const b = &s->cut[1];
    double inner = 0;
    for (size_t i = 0; i < d; i++) {
        inner += r->cut[0][i] * r->cut[1][i];
    }
    return (plane){.pp = {a->pp, 0.5 * (both.pp - a->pp - b->pp), b->pp},
                   .rp = {a->rp, 0.5 * (both.rp - a->rp - b->rp), b->rp},
                   .rr = {a->rr, 0.5 * (both.rr - a->rr - b->rr), b->rr},
                   .vv = {1, inner, 1}};
}

/* The angle of the largest V: the best of a grid, refined by golden sections. */
static double best_angle(const dyn_descent_residual *r, const plane *f)
{
    const double golden = 0.6180339887498949;
    const double step = 3.14159265358979324 / ANGLES;
    double best = 0;
    double largest = -(double)INFINITY;
    for (size_t i = 0; i < ANGLES; i++) {
        const double value = plane_violation(r, f, step * (double)i);
        best = value > largest ? step * (double)i : best;
        largest = fmax(largest, value);
    }
    double low = best - step;
    double high = best + step;
    for (size_t i = 0; i < GOLDEN_STEPS; i++) {
        const double a = high - golden * (high - low);
        const double b = low + golden * (high - low);
        const bool left = plane_violation(r, f, a) > plane_violation(r, f, b);
        high = left ? b : high;
        low = left ? low : a;
    }
    return low + 0.5 * (high - low);
}

static void try_plane(search *s)
{
    dyn_descent_residual *r = s->r;
    const size_t d = r->width;
    double norm = 0;
    double unused;
    const plane f = make_plane(s);
    const double angle = best_angle(r, &f);
    mix(r->vector, r->cut[0], cos(angle), r->cut[1], sin(angle), d);
    for (size_t i = 0; i < d; i++) {
        norm += r->vector[i] * r->vector[i];
    }
    if (!(norm > 1e-12)) {
        return;
    }
    mix(r->vector, r->vector, 1 / sqrt(norm), r->vector, 0, d);
    const dyn_descent_cut cut = dyn_descent_residual_apply(r, r->vector);
    take_best(s, r->vector, dyn_descent_residual_violation(r, cut, &unused));
}

/* ---- The walk along c ----------------------------------------------------------------------- */

/* Numerator of a cut at offset t: |Rv − tp|². Both cuts have the same denominator. */
static double numerator(dyn_descent_cut cut, double t)
{
    return cut.rr - 2 * t * cut.rp + t * t * cut.pp;
}

/* Where the two numerators cross between the points at which they touch h. */
static double crossing(const search *s)
{
    double low = s->at[0];
    double high = s->at[1];
    for (size_t i = 0; i < 60; i++) {
        const double middle = low + 0.5 * (high - low);
        const bool left = numerator(s->cut[0], middle) > numerator(s->cut[1], middle);
        low = left ? middle : low;
        high = left ? high : middle;
    }
    return low + 0.5 * (high - low);
}

/* Where the larger of the two cuts is least: at their crossing, or at the minimum of one of them
 * where that is above the other. */
static double next_between(const search *s)
{
    double best = crossing(s);
    for (size_t i = 0; i < 2; i++) {
        double at;
        (void)dyn_descent_residual_violation(s->r, s->cut[i], &at);
        if (at > s->at[0] && at < s->at[1] &&
            numerator(s->cut[i], at) >= numerator(s->cut[1 - i], at)) {
            best = at;
        }
    }
    return best;
}

/* Beyond the only side known: to the minimum of its cut, and ever farther; c stays positive. R and
 * Γ are of order 1, and so is the t at which they balance; the minimum of a cut whose gradient lies
 * in the kernel of ΠΓ is at infinity. */
static double next_beyond(const search *s, double from, double minimum, size_t steps)
{
    const double origin = -s->r->c / s->r->tau;
    const double reach = ldexp(fmin(minimum - from, 4.0), (int)steps);
    return fmax(from + reach, origin + 0.5 * (from - origin));
}

static kern_status walk(search *s, kern_error *err)
{
    double t = 0;
    double width = (double)INFINITY;
    size_t alone = 0;
    while (s->out->iterations < ITERATIONS) {
        size_t side = 0;
        double minimum = 0;
        KERN_TRY(touch(s, t, &side, &minimum, err));
        const bool enclosed = s->known[0] && s->known[1];
        if (enclosed) {
            try_plane(s);
        }
        if (s->out->bound - s->out->violation <= GAP_TOLERANCE * s->out->bound) {
            return KERN_OK;
        }
        if (!enclosed) {
            t = next_beyond(s, t, minimum, alone++);
            continue;
        }
        const double now = s->at[1] - s->at[0];
        const bool slow = s->out->iterations % 3 == 0 && !(now < 0.5 * width);
        width = s->out->iterations % 3 == 0 ? now : width;
        t = slow ? s->at[0] + 0.5 * now : next_between(s);
        if (!(t > s->at[0] && t < s->at[1])) {
            return KERN_OK; /* no number lies between */
        }
    }
    return KERN_OK;
}

kern_status dyn_descent_search_here(dyn_descent_residual *r, double *bound, kern_error *err)
{
    fill_gram(r);
    return solve(r, 0.0, bound, err);
}

kern_status dyn_descent_search(dyn_descent_residual *r, double *v, dyn_descent_worst *worst,
                               kern_error *err)
{
    search s = {.r = r, .best = v, .out = worst};
    *worst = (dyn_descent_worst){.bound = (double)INFINITY, .c = r->c};
    fill_gram(r);
    return walk(&s, err);
}
