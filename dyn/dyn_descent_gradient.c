/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_descent_gradient.h"

#include "dyn/dyn_descent_internal.h"
#include "dyn/dyn_vector.h"
#include "kernels/kern_lapack.h"

#include <float.h>
#include <math.h>
#include <string.h>

double dyn_descent_gradient_curvature(size_t width, double sigma, double gain, double curvature,
                                      double gradient)
{
    const double bend = 2 / sqrt(3.0) * gradient / sqrt((double)width);
    return (gain * gain * curvature + bend) / (sigma * sigma);
}

/* ---- The form ------------------------------------------------------------------------------- */

/* y = Πx, less x_0 first; the mean for LayerNorm is then no larger than the spread of x. */
static double centred(const dyn_descent_system *s, const double *x, double mean, size_t i)
{
    return s->centre ? x[i] - x[0] - mean : x[i];
}

/* PΓv into `u`; *rounding receives a bound on the error of each entry. A sum of D terms is off by D
 * units of their magnitudes, and each of the three stages takes one or two such sums; û is off by
 * as much times |x − x_0|/|y|, which is at most √D. */
static bool project_gradient(const dyn_descent_system *s, const double *x, const double *v,
                             double *u, double *rounding)
{
    const size_t d = s->width;
    double mean_x = 0;
    double mean_w = 0;
    double square = 0;
    double along = 0;
    double size = 0;
    for (size_t i = 0; i < d; i++) {
        mean_x += s->centre ? (x[i] - x[0]) / (double)d : 0;
        mean_w += s->centre ? s->gamma[i] * v[i] / (double)d : 0;
    }
    for (size_t i = 0; i < d; i++) {
        const double y = centred(s, x, mean_x, i);
        u[i] = s->gamma[i] * v[i] - mean_w;
        square += y * y;
        along += y * u[i];
        size += s->gamma[i] * v[i] * s->gamma[i] * v[i];
    }
    const double scale = square + (double)d * s->epsilon;
    *rounding = (4 * (double)d + 16) * (1 + sqrt((double)d)) * DBL_EPSILON * sqrt(size);
    if (!(scale > 0)) {
        return false;
    }
    for (size_t i = 0; i < d; i++) {
        u[i] -= centred(s, x, mean_x, i) * (along / scale);
    }
    return true;
}

kern_status dyn_descent_gradient_form(const dyn_descent_system *system, const double *x,
                                      const double *v, double *u, double *value, double *error,
                                      kern_error *err)
{
    const size_t d = system->width;
    double rounding;
    double size = 0;
    double product = 0;
    double magnitude = 0;
    double change = 0;
    if (!project_gradient(system, x, v, u, &rounding)) {
        return kern_raise(err, KERN_SINGULAR,
                          "the state has σ = 0, so that its gradient is not defined; accepted are "
                          "other states, or ε > 0");
    }
    for (size_t i = 0; i < d; i++) {
        size += u[i] * u[i];
    }
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            const double entry = system->eta[i * d + j];
            product += u[i] * entry * u[j];
            magnitude += fabs(u[i] * entry * u[j]);
            change += fabs(entry) * (fabs(u[i]) + fabs(u[j]));
        }
    }
    *value = 0;
    *error = 0;
    if (size > 0) {
        const double terms = (double)d * (double)d + 4;
        *value = product / size;
        *error = (terms * DBL_EPSILON * magnitude + rounding * change) / size;
        for (size_t i = 0; i < d; i++) {
            u[i] /= sqrt(size);
        }
    }
    return KERN_OK;
}

/* ---- The smallest eigenvalue ----------------------------------------------------------------- */

/* −Πη₊Π, and for LayerNorm a multiple of 11ᵀ less that moves the mean below all else. */
static void fill_matrix(dyn_descent_residual *r, double size)
{
    const size_t d = r->width;
    double mean = 0;
    for (size_t i = 0; i < d; i++) {
        r->p[i] = 0;
        for (size_t j = 0; r->centre && j < d; j++) {
            r->p[i] += 0.5 * (r->eta[i * d + j] + r->eta[j * d + i]) / (double)d;
        }
        mean += r->p[i] / (double)d;
    }
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            const double even = 0.5 * (r->eta[i * d + j] + r->eta[j * d + i]);
            const double below = r->centre ? 2 * size / (double)d : 0.0;
            r->matrix[i * d + j] = -(even - r->p[i] - r->p[j] + mean) - below;
        }
    }
}

static bool is_skew(const dyn_descent_system *s)
{
    for (size_t i = 0; i < s->width; i++) {
        for (size_t j = 0; j <= i; j++) {
            if (s->eta[i * s->width + j] != -s->eta[j * s->width + i]) {
                return false;
            }
        }
    }
    return true;
}

/* ---- The witness ---------------------------------------------------------------------------- */

/* Length of the part of y where γ ≠ 0. Where that is less than `least`, y is moved towards the
 * channel of the largest gain by as much. */
static double gained(const dyn_descent_residual *r, double *y, double least)
{
    const size_t d = r->width;
    size_t k = 0;
    for (size_t pass = 0;; pass++) {
        double square = 0;
        for (size_t i = 0; i < d; i++) {
            square += r->gamma[i] != 0 ? y[i] * y[i] : 0;
            k = fabs(r->gamma[i]) > fabs(r->gamma[k]) ? i : k;
        }
        if (square >= 0.25 * least * least || pass == 1) {
            return sqrt(square);
        }
        for (size_t i = 0; i < d; i++) {
            y[i] += least * ((i == k ? 1.0 : 0.0) - (r->centre ? 1.0 / (double)d : 0.0));
        }
    }
}

/* û into x: along Πw − y, or along any direction orthogonal to y where the two agree. Returns
 * |Πw − y|. */
static double choose_state(dyn_descent_residual *r, const double *w, const double *y, double *x)
{
    const size_t d = r->width;
    double mean = 0;
    for (size_t i = 0; i < d; i++) {
        mean += r->centre ? w[i] / (double)d : 0;
    }
    for (size_t i = 0; i < d; i++) {
        x[i] = w[i] - mean - y[i];
    }
    const double apart = dyn_vector_norm(x, d);
    if (!(dyn_descent_reject(x, y, d) > sqrt(DBL_EPSILON))) {
        dyn_descent_any_direction(x, y, d, r->centre);
    }
    return apart;
}

/* From the eigenvector y in r->vector. Where only one direction is there, x = 0 has P = Π. */
static void build(const dyn_descent_system *s, dyn_descent_residual *r, double least, double size,
                  size_t rank, dyn_descent_gradient *out)
{
    const size_t d = s->width;
    double *y = r->vector;
    (void)gained(r, y, fmin(0.1, least / (8 * size)));
    const double length = dyn_vector_norm(y, d);
    for (size_t i = 0; i < d; i++) {
        y[i] /= length;
    }
    const double part = gained(r, y, 0);
    for (size_t i = 0; i < d; i++) {
        r->q[i] = r->gamma[i] != 0 ? y[i] / (part * part) : 0.0;
        out->v[i] = r->gamma[i] != 0 ? r->q[i] / r->gamma[i] : 0.0;
    }
    const double v = dyn_vector_norm(out->v, d);
    double scale = 0;
    if (rank > 1) {
        const double apart = choose_state(r, r->q, y, out->x);
        const double variance = s->epsilon * fmax(512 * apart * size / least, 1.0);
        scale = sqrt((double)d * (s->epsilon > 0 ? variance : 1.0));
    }
    for (size_t i = 0; i < d; i++) {
        out->v[i] /= v;
        out->x[i] *= scale;
    }
}

/* ---- The decision --------------------------------------------------------------------------- */

static kern_status find_least(const dyn_descent_system *s, dyn_descent_residual *r, size_t rank,
                              dyn_descent_gradient *out, kern_error *err)
{
    const size_t d = s->width;
    const double size = dyn_vector_norm(r->eta, d * d);
    const double unit = s->unit > 0 ? s->unit : 0.5 * DBL_EPSILON;
    fill_matrix(r, size);
    KERN_TRY(kern_lapack_symmetric_top(d, 1, r->matrix, r->values, r->vector, r->lapack,
                                       r->integers, err));
    const double least = -r->values[0];
    /* The matrix is formed with D units of error and has a norm of at most 3‖η‖_F. */
    const double tolerance = (8 * (double)d * DBL_EPSILON + unit) * size;
    out->least = ldexp(least, r->eta_shift);
    out->tolerance = ldexp(tolerance, r->eta_shift);
    if (least > tolerance || size == 0) {
        return KERN_OK;
    }
    out->verdict = least < -tolerance ? DYN_DESCENT_VIOLATED : DYN_DESCENT_WITHIN_ROUNDING;
    if (out->verdict == DYN_DESCENT_VIOLATED) {
        build(s, r, -least, size, rank, out);
        KERN_TRY(
            dyn_descent_gradient_form(s, out->x, out->v, out->u, &out->form, &out->error, err));
        out->confirmed = out->form + out->error < 0;
    }
    return KERN_OK;
}

kern_status dyn_descent_gradient_decide(const dyn_descent_system *system, void *work,
                                        dyn_descent_gradient *out, kern_error *err)
{
    dyn_descent_residual r;
    KERN_TRY(dyn_descent_check(system, err));
    const size_t d = system->width;
    const size_t rank = d - (system->centre ? 1 : 0);
    *out = (dyn_descent_gradient){
        .ground = DYN_DESCENT_BY_SIGN, .least = (double)NAN, .x = out->x, .v = out->v, .u = out->u};
    memset(out->x, 0, d * sizeof *out->x);
    memset(out->v, 0, d * sizeof *out->v);
    memset(out->u, 0, d * sizeof *out->u);
    dyn_descent_residual_init(&r, system, work);
    if (!(dyn_vector_norm(r.gamma, d) > 0)) {
        out->ground = DYN_DESCENT_BY_NO_GAIN;
        return KERN_OK;
    }
    if (rank == 0 || (rank == 1 && !(system->epsilon > 0))) {
        out->ground = DYN_DESCENT_BY_NO_MOVE;
        return KERN_OK;
    }
    KERN_TRY(find_least(system, &r, rank, out, err));
    if (out->verdict == DYN_DESCENT_WITHIN_ROUNDING && is_skew(system)) {
        out->verdict = DYN_DESCENT_CERTIFIED;
    }
    return KERN_OK;
}
