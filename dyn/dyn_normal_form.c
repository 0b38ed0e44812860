/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_normal_form.h"

#include "dyn/dyn_normal_internal.h"
#include "kernels/kern_lapack.h"

#include <math.h>
#include <string.h>

/* Smallest distance of a multiplier from λ for a system with λI − A. */
#define RESONANT 1e-8

/* A coefficient within this many estimated errors of 0, or this part of its terms, may be 0. */
#define UNSURE_ERRORS 10.0
#define UNSURE_PART   1e-9

static const double pi = 3.14159265358979323846;

const char *dyn_normal_kind_word(dyn_normal_kind kind)
{
    static const char *const words[DYN_NORMAL_KINDS] = {"LP", "PD", "NS"};
    return kind < DYN_NORMAL_KINDS ? words[kind] : "unknown";
}

const char *dyn_criticality_word(dyn_criticality criticality)
{
    static const char *const words[] = {"none", "supercritical", "subcritical", "unsure"};
    return words[criticality];
}

/* ---- Pairs -------------------------------------------------------------------------------- */

/* The critical one of the complex multipliers; KERN_NOT_FOUND when all are real. */
static kern_status choose_pair(const dyn_normal *s, double angle, size_t *index)
{
    const bool known = angle > 0.0 && angle < pi;
    double least = (double)INFINITY;
    for (size_t i = 0; i < s->n; i++) {
        if (s->im[i] > 0.0) {
            const double distance = known ? hypot(s->re[i] - cos(angle), s->im[i] - sin(angle))
                                          : fabs(hypot(s->re[i], s->im[i]) - 1.0);
            if (distance < least) {
                least = distance;
                *index = i;
            }
        }
    }
    return isfinite(least) ? KERN_OK : KERN_NOT_FOUND;
}

/* out = M v. */
static void multiply(const double *matrix, const double *v, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = dyn_normal_dot(matrix + i * n, v, n);
    }
}

/* t = A² − 2 re A + (re² + im²) I, which the invariant plane of the pair re ± i·im spans the null
 * space of. */
static void fill_square(dyn_normal *s, double re, double im)
{
    const size_t n = s->n;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++) {
            s->second[i] = s->a[i * n + j];
        }
        multiply(s->a, s->second, n, s->first);
        for (size_t i = 0; i < n; i++) {
            s->t[i * n + j] = s->first[i] - 2.0 * re * s->second[i];
        }
        s->t[j * n + j] += re * re + im * im;
    }
}

/* v = z_0 row_0 + z_1 row_1 of unit length, where z is the eigenvector of the 2×2 matrix m for
 * `lambda`. */
static void combine(const double *rows, const double m[4], double complex lambda, size_t n,
                    double complex *v)
{
    double complex z[2] = {m[1], lambda - m[0]};
    const double complex other[2] = {lambda - m[3], m[2]};
    double sum = 0.0;
    if (cabs(other[0]) + cabs(other[1]) > cabs(z[0]) + cabs(z[1])) {
        z[0] = other[0];
        z[1] = other[1];
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = z[0] * rows[i] + z[1] * rows[n + i];
        sum += creal(v[i]) * creal(v[i]) + cimag(v[i]) * cimag(v[i]);
    }
    for (size_t i = 0; i < n; i++) {
        v[i] /= sqrt(sum);
    }
}

/* ⟨a, b⟩ = Σ ā_i b_i. */
static double complex pair_complex(const double complex *a, const double complex *b, size_t n)
{
    double complex sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += conj(a[i]) * b[i];
    }
    return sum;
}

/* zq and zw of the pair, from the planes that A and Aᵀ leave invariant. */
static kern_status take_pair(dyn_normal *s, double angle, dyn_normal_form *out)
{
    const size_t n = s->n;
    const double *v = s->pair.c;
    const double *w = s->pair.b;
    double right[4];
    double left[4];
    size_t index = 0;
    KERN_TRY(dyn_normal_find_multipliers(s));
    KERN_TRY(choose_pair(s, angle, &index));
    out->re = s->re[index];
    out->im = s->im[index];
    fill_square(s, out->re, out->im);
    KERN_TRY(dyn_border_find(&s->pair, s->t));
    for (size_t j = 0; j < 2; j++) {
        multiply(s->a, v + j * n, n, s->first);
        multiply(s->a, w + j * n, n, s->second);
        for (size_t i = 0; i < 2; i++) {
            right[2 * i + j] = dyn_normal_dot(v + i * n, s->first, n);
            left[2 * j + i] = dyn_normal_dot(w + i * n, s->second, n);
        }
    }
    const double complex lambda = out->re + out->im * (double complex)I;
    combine(v, right, lambda, n, s->zq);
    combine(w, left, conj(lambda), n, s->zw);
    const double complex product = pair_complex(s->zw, s->zq, n);
    out->pairing = cabs(product);
    if (!(out->pairing >= dyn_normal_pairing_least(s->map))) {
        return KERN_SINGULAR;
    }
    for (size_t i = 0; i < n; i++) {
        s->zw[i] /= conj(product);
        s->zc[i] = conj(s->zq[i]);
        s->q[i] = creal(s->zq[i]);
        s->q[n + i] = cimag(s->zq[i]);
    }
    return KERN_OK;
}

/* ---- Linear systems ----------------------------------------------------------------------- */

/* True when λI − A is singular but for rounding: nothing is left of the digits of a solution. */
static bool is_resonant(const dyn_normal *s, double complex lambda)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!(hypot(s->re[i] - creal(lambda), s->im[i] - cimag(lambda)) > RESONANT)) {
            return true;
        }
    }
    return false;
}

/* rhs becomes the solution of (I − A) h = rhs. */
static kern_status solve_real(dyn_normal *s)
{
    const size_t n = s->n;
    if (is_resonant(s, 1.0)) {
        return KERN_SINGULAR;
    }
    for (size_t i = 0; i < n * n; i++) {
        s->system[i] = -s->a[i];
    }
    for (size_t i = 0; i < n; i++) {
        s->system[i * n + i] += 1.0;
    }
    KERN_TRY(kern_lapack_lu(n, s->system, s->pivots, NULL, NULL));
    return kern_lapack_lu_solve(n, s->system, s->pivots, s->rhs, NULL);
}

/* zh becomes the solution of (λI − A) h = zh, as 2n real equations. */
static kern_status solve_complex(dyn_normal *s, double complex lambda)
{
    const size_t n = s->n;
    const size_t m = 2 * n;
    if (is_resonant(s, lambda)) {
        return KERN_SINGULAR;
    }
    memset(s->system, 0, m * m * sizeof *s->system);
    for (size_t i = 0; i < n; i++) {
        double *upper = s->system + i * m;
        double *lower = s->system + (n + i) * m;
        for (size_t j = 0; j < n; j++) {
            upper[j] = -s->a[i * n + j];
            lower[n + j] = -s->a[i * n + j];
        }
        upper[i] += creal(lambda);
        upper[n + i] = -cimag(lambda);
        lower[n + i] += creal(lambda);
        lower[i] = cimag(lambda);
        s->rhs[i] = creal(s->zh[i]);
        s->rhs[n + i] = cimag(s->zh[i]);
    }
    KERN_TRY(kern_lapack_lu(m, s->system, s->pivots, NULL, NULL));
    KERN_TRY(kern_lapack_lu_solve(m, s->system, s->pivots, s->rhs, NULL));
    for (size_t i = 0; i < n; i++) {
        s->zh[i] = s->rhs[i] + s->rhs[n + i] * (double complex)I;
    }
    return KERN_OK;
}

/* ---- Coefficients ------------------------------------------------------------------------- */

/* Sum of magnitudes of w: what an error of every entry of a derivative amounts to at most. */
static double find_reach(const dyn_normal *s)
{
    double sum = 0.0;
    for (size_t i = 0; i < s->n; i++) {
        sum += fabs(s->w[i]);
    }
    return sum;
}

static kern_status find_fold(dyn_normal *s, const double *x, double angle, dyn_normal_form *out,
                             double *error)
{
    (void)angle;
    KERN_TRY(dyn_normal_take_real(s, 1.0, &out->re, &out->im, &out->pairing));
    dyn_multilinear_second(s->derivatives, x, s->q, s->q, s->first);
    out->coefficient = 0.5 * dyn_normal_dot(s->w, s->first, s->n);
    out->scale = fabs(out->coefficient);
    *error = 0.5 * find_reach(s) * dyn_multilinear_error(s->derivatives);
    return KERN_OK;
}

static kern_status find_flip(dyn_normal *s, const double *x, double angle, dyn_normal_form *out,
                             double *error)
{
    const size_t n = s->n;
    (void)angle;
    KERN_TRY(dyn_normal_take_real(s, -1.0, &out->re, &out->im, &out->pairing));
    dyn_multilinear_second(s->derivatives, x, s->q, s->q, s->rhs);
    *error = dyn_multilinear_error(s->derivatives);
    KERN_TRY(solve_real(s));
    dyn_multilinear_second(s->derivatives, x, s->q, s->rhs, s->first);
    *error += dyn_multilinear_error(s->derivatives);
    dyn_multilinear_third(s->derivatives, x, s->q, s->q, s->q, s->second);
    *error += dyn_multilinear_error(s->derivatives);
    *error *= find_reach(s);
    const double quadratic = 0.5 * dyn_normal_dot(s->w, s->first, n);
    const double cubic = dyn_normal_dot(s->w, s->second, n) / 6.0;
    out->coefficient = quadratic + cubic;
    out->scale = fabs(quadratic) + fabs(cubic);
    return KERN_OK;
}

/* terms[0..2]: ½ e^{−iθ} times ⟨w, ·⟩ of the three parts of d. */
static kern_status find_terms(dyn_normal *s, const double *x, double complex rotation,
                              double complex terms[3], double *error)
{
    const size_t n = s->n;
    dyn_multilinear *m = s->derivatives;
    dyn_multilinear_third_complex(m, x, s->zq, s->zq, s->zc, s->zb);
    *error = dyn_multilinear_error(m);
    terms[0] = 0.5 * conj(rotation) * pair_complex(s->zw, s->zb, n);
    dyn_multilinear_second_complex(m, x, s->zq, s->zc, s->zh);
    KERN_TRY(solve_complex(s, 1.0));
    dyn_multilinear_second_complex(m, x, s->zq, s->zh, s->zb);
    *error += dyn_multilinear_error(m);
    terms[1] = conj(rotation) * pair_complex(s->zw, s->zb, n);
    dyn_multilinear_second_complex(m, x, s->zq, s->zq, s->zh);
    KERN_TRY(solve_complex(s, rotation * rotation));
    dyn_multilinear_second_complex(m, x, s->zc, s->zh, s->zb);
    *error += dyn_multilinear_error(m);
    terms[2] = 0.5 * conj(rotation) * pair_complex(s->zw, s->zb, n);
    return KERN_OK;
}

static kern_status find_circle(dyn_normal *s, const double *x, double angle, dyn_normal_form *out,
                               double *error)
{
    double complex terms[3] = {0.0};
    double reach = 0.0;
    if (s->n < 2) {
        return KERN_NOT_FOUND;
    }
    KERN_TRY(take_pair(s, angle, out));
    const double complex multiplier = out->re + out->im * (double complex)I;
    KERN_TRY(find_terms(s, x, multiplier / cabs(multiplier), terms, error));
    out->scale = 0.0;
    for (size_t i = 0; i < 3; i++) {
        out->scale += cabs(terms[i]);
    }
    for (size_t i = 0; i < s->n; i++) {
        reach += cabs(s->zw[i]);
    }
    *error *= reach;
    out->coefficient = creal(terms[0] + terms[1] + terms[2]);
    out->imaginary = cimag(terms[0] + terms[1] + terms[2]);
    return KERN_OK;
}

/* What the kinds differ in; a positive coefficient times `sign` is supercritical. */
static const struct {
    kern_status (*find)(dyn_normal *s, const double *x, double angle, dyn_normal_form *out,
                        double *error);
    int sign;
} kinds[DYN_NORMAL_KINDS] = {[DYN_NORMAL_LP] = {find_fold, 0},
                             [DYN_NORMAL_PD] = {find_flip, 1},
                             [DYN_NORMAL_NS] = {find_circle, -1}};

static void judge(dyn_normal_kind kind, dyn_normal_form *out)
{
    const int sign = kinds[kind].sign;
    if (sign == 0) {
        out->criticality = DYN_CRITICALITY_NONE;
    } else if (!(fabs(out->coefficient) > UNSURE_ERRORS * out->error + UNSURE_PART * out->scale)) {
        out->criticality = DYN_CRITICALITY_UNSURE;
    } else {
        out->criticality =
            out->coefficient * (double)sign > 0.0 ? DYN_SUPERCRITICAL : DYN_SUBCRITICAL;
    }
}

void dyn_normal_find(dyn_normal *normal, const double *x, dyn_normal_kind kind, double angle,
                     dyn_normal_form *out)
{
    const double nan = (double)NAN;
    double error = nan;
    *out = (dyn_normal_form){.re = nan,
                             .im = nan,
                             .distance = nan,
                             .angle = nan,
                             .coefficient = nan,
                             .imaginary = 0.0,
                             .scale = nan,
                             .error = nan,
                             .pairing = nan,
                             .criticality = DYN_CRITICALITY_UNSURE};
    dyn_normal_fill_jacobian(normal, x);
    out->status = kinds[kind].find(normal, x, angle, out, &error);
    if (kind == DYN_NORMAL_NS) {
        out->distance = fabs(hypot(out->re, out->im) - 1.0);
        out->angle = atan2(out->im, out->re);
    } else {
        out->distance = hypot(out->re - (kind == DYN_NORMAL_LP ? 1.0 : -1.0), out->im);
        out->angle = kind == DYN_NORMAL_LP ? 0.0 : pi;
    }
    if (out->status == KERN_OK && !isfinite(out->coefficient)) {
        out->status = KERN_NAN;
    }
    if (out->status != KERN_OK) {
        out->coefficient = out->imaginary = out->scale = nan;
        return;
    }
    out->error = error;
    judge(kind, out);
}
