/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_transient_growth.h"

#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
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
static void next_power(power_walk *w, size_t m)
{
    const size_t n = w->n;
    if (m == 1) {
        memcpy(w->power, w->a, bytes(w));
        return;
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

/* Frobenius norms of all powers: the largest and the next. Returns the first power that is not
 * finite, or 0. */
static size_t survey(power_walk *w)
{
    double largest = -1.0;
    w->runner_up = -1.0;
    for (size_t m = 1; m <= w->horizon; m++) {
        next_power(w, m);
        const double norm = frobenius(w);
        if (!isfinite(norm)) {
            return m;
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
    return 0;
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
        next_power(w, m);
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
                                      double *growth, size_t *step, kern_error *err)
{
    power_walk w = {.a = a,
                    .n = n,
                    .horizon = horizon,
                    .power = work,
                    .scratch = work + n * n,
                    .likeliest = work + 2 * n * n,
                    .singular = work + 3 * n * n};
    *growth = (double)NAN;
    *step = 0;
    if (horizon == 0) {
        return KERN_OK;
    }
    const size_t lost = survey(&w);
    if (lost > 0) {
        *growth = (double)INFINITY;
        *step = lost;
        return KERN_OK;
    }
    return settle(&w, growth, step, err);
}
