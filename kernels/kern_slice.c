/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_slice.h"

#include "kernels/kern_fn.h"
#include "kernels/kern_real.h"
#include "kernels/kern_simd.h"

#include <math.h>
#include <stdbool.h>

enum {
    POINTS = KERN_SLICE_POINTS,
    FEATURES = 4,
    FLUSH = 16 /* rows whose sum is in the unit's precision */
};

/* z_p for one row of four features. */
KERN_INLINE kern_real combine4(const kern_real *coef, const kern_real *phi, size_t p)
{
    return (coef[0] * phi[p] + coef[1] * phi[POINTS + p]) +
           (coef[2] * phi[2 * POINTS + p] + coef[3] * phi[3 * POINTS + p]);
}

KERN_INLINE void flush(kern_real *part, double *sum)
{
    for (size_t p = 0; p < POINTS; p++) {
        sum[p] += (double)part[p];
        part[p] = KERN_R(0.0);
    }
}

KERN_HOT static void combine_four(kern_real *z, size_t rows, const kern_real *coef,
                                  const kern_real *phi)
{
    for (size_t r = 0; r < rows; r++) {
        KERN_IVDEP
        for (size_t p = 0; p < POINTS; p++) {
            z[r * POINTS + p] = combine4(coef + r * FEATURES, phi, p);
        }
    }
}

KERN_HOT static void combine_any(kern_real *z, size_t rows, size_t features, const kern_real *coef,
                                 const kern_real *phi)
{
    for (size_t r = 0; r < rows; r++) {
        kern_real total[POINTS] = {KERN_R(0.0)};
        for (size_t i = 0; i < features; i++) {
            const kern_real c = coef[r * features + i];
            for (size_t p = 0; p < POINTS; p++) {
                total[p] += c * phi[i * POINTS + p];
            }
        }
        for (size_t p = 0; p < POINTS; p++) {
            z[r * POINTS + p] = total[p];
        }
    }
}

void KERN_NAME(kern_slice_combine)(kern_real *z, size_t rows, size_t features,
                                   const kern_real *coef, const kern_real *phi)
{
    if (features == FEATURES) {
        combine_four(z, rows, coef, phi);
    } else {
        combine_any(z, rows, features, coef, phi);
    }
}

/* ---- Nonlinear terms ---------------------------------------------------------------------- */

typedef struct slice_terms {
    size_t rows;
    const kern_real *coef;
    const kern_real *gate; /* NULL: the term is f² */
    const kern_real *phi;
    double *sum;
} slice_terms;

/* `fn` and `gated` are constants in the callers, so that the choices disappear. */
KERN_INLINE void terms_any(kern_fn fn, bool gated, const slice_terms *t)
{
    kern_real part[POINTS] = {KERN_R(0.0)};
    for (size_t r = 0; r < t->rows; r++) {
        const kern_real *coef = t->coef + r * FEATURES;
        const kern_real *gate = t->gate + (gated ? r * FEATURES : 0);
        KERN_IVDEP
        for (size_t p = 0; p < POINTS; p++) {
            const kern_real f = kern_fn_eval(fn, combine4(coef, t->phi, p)).f;
            part[p] += f * (gated ? combine4(gate, t->phi, p) : f);
        }
        if (r % FLUSH == FLUSH - 1) {
            flush(part, t->sum);
        }
    }
    flush(part, t->sum);
}

#define TERMS_VARIANT(name, ID, id)                                                                \
    KERN_HOT static void name##_squares_##id(const slice_terms *t)                                 \
    {                                                                                              \
        terms_any(KERN_FN_##ID, false, t);                                                         \
    }                                                                                              \
    KERN_HOT static void name##_products_##id(const slice_terms *t)                                \
    {                                                                                              \
        terms_any(KERN_FN_##ID, true, t);                                                          \
    }
KERN_FN_LIST(TERMS_VARIANT, terms)

typedef void terms_body(const slice_terms *t);

void KERN_NAME(kern_slice_squares)(kern_fn fn, size_t rows, const kern_real *coef,
                                   const kern_real *phi, double *sum)
{
#define SQUARES_NAME(name, ID, id) name##_squares_##id,
    static terms_body *const variants[KERN_FN_COUNT] = {KERN_FN_LIST(SQUARES_NAME, terms)};
    const slice_terms t = {.rows = rows, .coef = coef, .gate = coef, .phi = phi, .sum = sum};
    variants[fn](&t);
}

void KERN_NAME(kern_slice_products)(kern_fn fn, size_t rows, const kern_real *coef,
                                    const kern_real *gate, const kern_real *phi, double *sum)
{
#define PRODUCTS_NAME(name, ID, id) name##_products_##id,
    static terms_body *const variants[KERN_FN_COUNT] = {KERN_FN_LIST(PRODUCTS_NAME, terms)};
    const slice_terms t = {.rows = rows, .coef = coef, .gate = gate, .phi = phi, .sum = sum};
    variants[fn](&t);
}

/* ---- Log-sum-exp -------------------------------------------------------------------------- */

KERN_HOT void KERN_NAME(kern_slice_log_sum_exp)(size_t rows, kern_real *z, double *sum)
{
    kern_real largest[POINTS];
    kern_real part[POINTS] = {KERN_R(0.0)};
    double total[POINTS] = {0.0};
    for (size_t p = 0; p < POINTS; p++) {
        largest[p] = z[p];
    }
    for (size_t r = 1; r < rows; r++) {
        for (size_t p = 0; p < POINTS; p++) {
            const kern_real v = z[r * POINTS + p];
            largest[p] = v > largest[p] ? v : largest[p];
        }
    }
    for (size_t r = 0; r < rows; r++) {
        KERN_IVDEP
        for (size_t p = 0; p < POINTS; p++) {
            part[p] += kern_fn_exp(z[r * POINTS + p] - largest[p]);
        }
        if (r % FLUSH == FLUSH - 1) {
            flush(part, total);
        }
    }
    flush(part, total);
    for (size_t p = 0; p < POINTS; p++) {
        sum[p] += (double)largest[p] + log(total[p]);
    }
}
