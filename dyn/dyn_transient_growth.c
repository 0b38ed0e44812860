/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_transient_growth.h"

#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A walk along the powers of a matrix, n × n each. */
typedef struct power_walk {
    const double *a;
    size_t n;
    size_t horizon;
    double *power;
    double *scratch;
    double *likeliest; /* the power of largest Frobenius norm */
    double *singular;  /* n */
    size_t likeliest_step;
    double runner_up; /* the next largest Frobenius norm */
    const dyn_transient_growth_watch *watch;
} power_walk;

size_t dyn_transient_growth_work(size_t n)
{
    return n * (3 * n + 1);
}

static size_t bytes(const power_walk *w)
{
    return w->n * w->n * sizeof *w->a;
}

/* `power` becomes A^m, given that it is A^(m−1). */
static kern_status next_power(power_walk *w, size_t m, kern_error *err)
{
    const size_t n = w->n;
    if (w->watch != NULL && !w->watch->goes_on(w->watch->context)) {
        return kern_raise(err, KERN_INTERRUPTED, "stopped before power %zu of %zu", m, w->horizon);
    }
    if (m == 1) {
        memcpy(w->power, w->a, bytes(w));
        return KERN_OK;
    }
    const kern_gemm_f64 g = {.m = n,
                             .n = n,
                             .k = n,
                             .alpha = 1.0,
                             .a = w->a,
                             .lda = n,
                             .b = w->power,
                             .ldb = n,
                             .c = w->scratch,
                             .ldc = n};
    kern_gemm_run_f64(&g, 1);
    double *kept = w->power;
    w->power = w->scratch;
    w->scratch = kept;
    return KERN_OK;
}

/* Frobenius norm, scaled against overflow; infinite when an entry is not finite. */
static double frobenius(const power_walk *w)
{
    double largest = 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < w->n * w->n; i++) {
        if (!isfinite(w->power[i])) {
            return (double)INFINITY;
        }
        largest = fmax(largest, fabs(w->power[i]));
    }
    for (size_t i = 0; largest > 0.0 && i < w->n * w->n; i++) {
        const double part = w->power[i] / largest;
        sum += part * part;
    }
    return largest * sqrt(sum);
}

static kern_status spectral_norm(power_walk *w, const double *power, double *norm, kern_error *err)
{
    memcpy(w->scratch, power, bytes(w));
    KERN_TRY(kern_lapack_singular_values(w->n, w->n, w->scratch, w->singular, err));
    *norm = w->n > 0 ? w->singular[0] : 0.0;
    return KERN_OK;
}

/* Frobenius norms of all powers: the largest and the next. *lost is the first power that is not
 * finite, or 0. */
static kern_status survey(power_walk *w, size_t *lost, kern_error *err)
{
    double largest = -1.0;
    w->runner_up = -1.0;
    *lost = 0;
    for (size_t m = 1; m <= w->horizon; m++) {
        KERN_TRY(next_power(w, m, err));
        const double norm = frobenius(w);
        if (!isfinite(norm)) {
            *lost = m;
            return KERN_OK;
        }
        if (!(norm > largest)) {
            w->runner_up = fmax(w->runner_up, norm);
            continue;
        }
        w->runner_up = largest;
        w->likeliest_step = m;
        memcpy(w->likeliest, w->power, bytes(w));
        largest = norm;
    }
    return KERN_OK;
}

/* The first power that attains the largest 2-norm, given a finite survey. */
static kern_status settle(power_walk *w, double *growth, size_t *step, kern_error *err)
{
    /* Rounding of a Frobenius norm and of singular values, both relative. */
    const double slack = 1.0 + (double)(w->n * w->n) * DBL_EPSILON;
    *step = w->likeliest_step;
    KERN_TRY(spectral_norm(w, w->likeliest, growth, err));
    for (size_t m = 1; w->runner_up * slack >= *growth && m <= w->horizon; m++) {
        double norm;
        KERN_TRY(next_power(w, m, err));
        if (m == w->likeliest_step || frobenius(w) * slack < *growth) {
            continue;
        }
        KERN_TRY(spectral_norm(w, w->power, &norm, err));
        if (norm > *growth || (norm == *growth && m < *step)) {
            *growth = norm;
            *step = m;
        }
    }
    return KERN_OK;
}

kern_status dyn_transient_growth_find(const double *a, size_t n, size_t horizon, double *work,
                                      const dyn_transient_growth_watch *watch, double *growth,
                                      size_t *step, kern_error *err)
{
    size_t lost;
    power_walk w = {.a = a,
                    .n = n,
                    .horizon = horizon,
                    .watch = watch,
                    .power = work,
                    .scratch = work + n * n,
                    .likeliest = work + 2 * n * n,
                    .singular = work + 3 * n * n};
    *growth = (double)NAN;
    *step = 0;
    if (horizon == 0) {
        return KERN_OK;
    }
    KERN_TRY(survey(&w, &lost, err));
    if (lost > 0) {
        *growth = (double)INFINITY;
        *step = lost;
        return KERN_OK;
    }
    return settle(&w, growth, step, err);
}
