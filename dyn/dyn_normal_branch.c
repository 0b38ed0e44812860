/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The form of a branch point.
 */
#include "dyn/dyn_normal_form.h"

#include "dyn/dyn_normal_internal.h"
#include "dyn/dyn_state.h"
#include "kernels/kern_lapack.h"

#include <math.h>
#include <string.h>

/* Widths of differences in the parameter, relative to max(1, |μ|). Over two widths the error in h²
 * is removed; what is left, of order h⁴, balances against rounding divided by h, or by h². */
#define WIDTH_FIRST  1e-3
#define WIDTH_SECOND 4e-3

/* Largest b20 of a pitchfork, relative to max(1, |b11|, |b30|). */
#define PITCHFORK 1e-6

/* A b30 that is smaller than this part of its own terms may be 0. */
#define UNSURE_PART 1e-8

/* A point of the map and the parameter that varies. */
typedef struct place {
    dyn_normal *s;
    const double *x;
    size_t parameter;
} place;

/* ---- Derivatives by the parameter --------------------------------------------------------- */

/* Differences of width h into `out`; `v` is a direction or NULL. */
typedef void difference(const place *at, const double *v, double h, double *out);

/* F^p and, unless v is NULL, (F^p)' v with the parameter moved by h. */
static void evaluate(const place *at, const double *v, double h, double *y, double *jv)
{
    dyn_map *map = at->s->map;
    const double value = map->params[at->parameter];
    map->params[at->parameter] = value + h;
    if (v != NULL) {
        dyn_multilinear_first(at->s->derivatives, at->x, v, y, jv);
    } else {
        dyn_map_iterate(map, at->x, at->s->period, y);
    }
    map->params[at->parameter] = value;
}

/* F_μ. */
static void take_slope(const place *at, const double *v, double h, double *out)
{
    double *behind = at->s->third;
    (void)v;
    evaluate(at, NULL, h, out, NULL);
    evaluate(at, NULL, -h, behind, NULL);
    dyn_state_difference(at->s->map, out, behind, out);
    for (size_t i = 0; i < at->s->n; i++) {
        out[i] /= 2.0 * h;
    }
}

/* F_μμ. */
static void take_curvature(const place *at, const double *v, double h, double *out)
{
    const size_t n = at->s->n;
    double *behind = at->s->third;
    double *here = at->s->spare;
    (void)v;
    evaluate(at, NULL, h, out, NULL);
    evaluate(at, NULL, -h, behind, NULL);
    evaluate(at, NULL, 0.0, here, NULL);
    dyn_state_difference(at->s->map, out, here, out);
    dyn_state_difference(at->s->map, here, behind, behind);
    for (size_t i = 0; i < n; i++) {
        out[i] = (out[i] - behind[i]) / (h * h);
    }
}

/* F_{xμ} v. */
static void take_mixed(const place *at, const double *v, double h, double *out)
{
    double *behind = at->s->third;
    double *state = at->s->spare;
    evaluate(at, v, h, state, out);
    evaluate(at, v, -h, state, behind);
    for (size_t i = 0; i < at->s->n; i++) {
        out[i] = (out[i] - behind[i]) / (2.0 * h);
    }
}

/* The limit of a difference into `out`. */
static void take_limit(const place *at, difference *take, const double *v, double width,
                       double *out)
{
    const size_t n = at->s->n;
    double *wide = at->s->spare + n;
    const double h = width * fmax(1.0, fabs(at->s->map->params[at->parameter]));
    take(at, v, h, wide);
    take(at, v, 0.5 * h, out);
    for (size_t i = 0; i < n; i++) {
        out[i] += (out[i] - wide[i]) / 3.0;
    }
}

/* ---- The coefficients --------------------------------------------------------------------- */

/* The first n numbers of rhs become the u with (I−A) u = rhs − ⟨w, rhs⟩ q and ⟨w, u⟩ = 0. */
static kern_status solve_across(dyn_normal *s)
{
    const size_t n = s->n;
    const size_t m = n + 1;
    const double along = dyn_normal_dot(s->w, s->rhs, n);
    memset(s->system, 0, m * m * sizeof *s->system);
    for (size_t i = 0; i < n; i++) {
        double *row = s->system + i * m;
        for (size_t j = 0; j < n; j++) {
            row[j] = -s->a[i * n + j];
        }
        row[i] += 1.0;
        row[n] = s->q[i];
        s->system[n * m + i] = s->w[i];
        s->rhs[i] -= along * s->q[i];
    }
    s->rhs[n] = 0.0;
    KERN_TRY(kern_lapack_lu(m, s->system, s->pivots, NULL, NULL));
    return kern_lapack_lu_solve(m, s->system, s->pivots, s->rhs, NULL);
}

/* v, into the second half of s->q. */
static kern_status find_shift(const place *at, double pairing, dyn_branch_form *out)
{
    dyn_normal *s = at->s;
    take_limit(at, take_slope, NULL, WIDTH_FIRST, s->first);
    /* w is normalised for ⟨w, q⟩ = 1; of unit length it is `pairing` times as long. */
    out->transversal = dyn_normal_dot(s->w, s->first, s->n) * pairing;
    memcpy(s->rhs, s->first, s->n * sizeof *s->rhs);
    KERN_TRY(solve_across(s));
    memcpy(s->q + s->n, s->rhs, s->n * sizeof *s->q);
    return KERN_OK;
}

static void find_quadratic(const place *at, dyn_branch_form *out)
{
    dyn_normal *s = at->s;
    const size_t n = s->n;
    const double *v = s->q + n;
    dyn_multilinear_second(s->derivatives, at->x, s->q, s->q, s->first);
    out->b20 = dyn_normal_dot(s->w, s->first, n);
    dyn_multilinear_second(s->derivatives, at->x, s->q, v, s->first);
    out->b11 = dyn_normal_dot(s->w, s->first, n);
    take_limit(at, take_mixed, s->q, WIDTH_FIRST, s->first);
    out->b11 += dyn_normal_dot(s->w, s->first, n);
    dyn_multilinear_second(s->derivatives, at->x, v, v, s->first);
    out->b02 = dyn_normal_dot(s->w, s->first, n);
    take_limit(at, take_mixed, v, WIDTH_FIRST, s->first);
    out->b02 += 2.0 * dyn_normal_dot(s->w, s->first, n);
    take_limit(at, take_curvature, NULL, WIDTH_SECOND, s->first);
    out->b02 += dyn_normal_dot(s->w, s->first, n);
}

/* h of the header is −u for the right-hand side B(q, q). *scale receives the size of the terms. */
static kern_status find_cubic(const place *at, dyn_branch_form *out, double *scale)
{
    dyn_normal *s = at->s;
    const size_t n = s->n;
    dyn_multilinear_second(s->derivatives, at->x, s->q, s->q, s->rhs);
    KERN_TRY(solve_across(s));
    dyn_multilinear_second(s->derivatives, at->x, s->q, s->rhs, s->first);
    dyn_multilinear_third(s->derivatives, at->x, s->q, s->q, s->q, s->second);
    const double cubic = dyn_normal_dot(s->w, s->second, n);
    const double quadratic = 3.0 * dyn_normal_dot(s->w, s->first, n);
    out->b30 = cubic + quadratic;
    *scale = fabs(cubic) + fabs(quadratic);
    return KERN_OK;
}

static void judge(double scale, dyn_branch_form *out)
{
    const double size = fmax(1.0, fmax(fabs(out->b11), fabs(out->b30)));
    out->pitchfork = fabs(out->b20) <= PITCHFORK * size;
    if (!out->pitchfork) {
        out->criticality = DYN_CRITICALITY_NONE;
    } else if (!(fabs(out->b30) > UNSURE_PART * fmax(1.0, scale))) {
        out->criticality = DYN_CRITICALITY_UNSURE;
    } else {
        out->criticality = out->b30 < 0.0 ? DYN_SUPERCRITICAL : DYN_SUBCRITICAL;
    }
}

/* The unit vector of (x, μ) that the direction (ξ : ε) stands for. */
static void fill_tangent(const dyn_normal *s, double xi, double epsilon, double *tangent)
{
    const size_t n = s->n;
    for (size_t i = 0; i < n; i++) {
        tangent[i] = xi * s->q[i] + epsilon * s->q[n + i];
    }
    tangent[n] = epsilon;
    const double length = sqrt(dyn_normal_dot(tangent, tangent, n + 1));
    for (size_t i = 0; i <= n; i++) {
        tangent[i] /= length;
    }
}

/* Both roots of ½ b20 ξ² + b11 ξε + ½ b02 ε², without cancellation. */
static kern_status find_tangents(const dyn_normal *s, const dyn_branch_form *form, double *tangents)
{
    const size_t m = s->n + 1;
    const double discriminant = form->b11 * form->b11 - form->b20 * form->b02;
    if (!(discriminant > 0.0)) {
        return isnan(discriminant) ? KERN_NAN : KERN_SINGULAR;
    }
    if (tangents == NULL) {
        return KERN_OK;
    }
    const double root = -(form->b11 + copysign(sqrt(discriminant), form->b11));
    fill_tangent(s, root, form->b20, tangents);
    fill_tangent(s, form->b02, root, tangents + m);
    if (fabs(tangents[m - 1]) < fabs(tangents[2 * m - 1])) {
        for (size_t i = 0; i < m; i++) {
            const double kept = tangents[i];
            tangents[i] = tangents[m + i];
            tangents[m + i] = kept;
        }
    }
    return KERN_OK;
}

static kern_status find_form(const place *at, dyn_branch_form *out, double *tangents)
{
    double pairing = (double)NAN;
    double scale = 0.0;
    dyn_normal_fill_jacobian(at->s, at->x);
    KERN_TRY(dyn_normal_take_real(at->s, 1.0, &out->re, &out->im, &pairing));
    out->distance = hypot(out->re - 1.0, out->im);
    KERN_TRY(find_shift(at, pairing, out));
    find_quadratic(at, out);
    KERN_TRY(find_cubic(at, out, &scale));
    judge(scale, out);
    return find_tangents(at->s, out, tangents);
}

void dyn_normal_branch(dyn_normal *normal, const double *x, size_t parameter, dyn_branch_form *out,
                       double *tangents)
{
    const double nan = (double)NAN;
    const place at = {.s = normal, .x = x, .parameter = parameter};
    *out = (dyn_branch_form){.re = nan,
                             .im = nan,
                             .distance = nan,
                             .transversal = nan,
                             .b20 = nan,
                             .b11 = nan,
                             .b02 = nan,
                             .b30 = nan,
                             .criticality = DYN_CRITICALITY_UNSURE};
    out->status = find_form(&at, out, tangents);
}
