/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bounds on curvature and energy of one token.
 *
 * Curvature. With p = softmax(β s), ∇²(−(α/β) log Σ exp(β s_B)) = −α (β Cov_p(∇s) + Σ p_B ∇²s_B).
 * Only the token's own score is curved, ∇²s_A = J + Jᵀ. A covariance is between 0 and
 * max_B |∇s_B − a|² for any a, hence
 *   α ≥ 0: λ_max ≤ α λ_max(−(J + Jᵀ))₊, which is 0 under the strict mask
 *   α < 0: λ_max ≤ |α| (β max_B |∇s_B − a|² + λ_max(J + Jᵀ)₊)
 * ∇²(−s Σf(z)²) = −s Wᵀ diag((f²)″) W, so λ_max ≤ s·(−min (f²)″)‖W‖² or |s| max (f²)″ ‖W‖².
 * ∇²(−s gᵀ(W₂f + b₂)) = −s (W₂ diag(f′) W₁ + its transpose + W₁ᵀ diag(f″ ⊙ W₂ᵀg) W₁), of norm at
 * most |s| (2 max|f′| ‖W₁‖‖W₂‖ + max|f″| ‖W₁‖² |W₂ᵀg|_∞); |W₂ᵀg|_∞ is convex in g, so that on a
 * segment it is largest at an end.
 */
#include "models/verify/verify_nrgpt_instance.h"

#include "dyn/dyn_vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SQUARINGS = 9 };

/* ---- Spectral norms ------------------------------------------------------------------------ */

/* Divides by the power of two that brings the largest entry into ½ … 1, which is exact; its
 * exponent. False for a matrix of zeros and one that is not finite. */
static bool rescale(double *a, size_t n, int *exponent)
{
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        largest = fabs(a[i]) > largest || isnan(a[i]) ? fabs(a[i]) : largest;
    }
    if (!(largest > 0.0) || !isfinite(largest)) {
        return false;
    }
    (void)frexp(largest, exponent);
    for (size_t i = 0; i < n; i++) {
        a[i] = ldexp(a[i], -*exponent);
    }
    return true;
}

/* b = a² for a symmetric a. */
static void square(const double *a, size_t n, double *b)
{
    memset(b, 0, n * n * sizeof *b);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            const double factor = a[i * n + k];
            for (size_t j = 0; j < n; j++) {
                b[i * n + j] += factor * a[k * n + j];
            }
        }
    }
}

/* Largest modulus of the eigenvalues of the symmetric n×n matrix a, from above, which is lost; b
 * is another such. ‖A‖ ≤ ‖A^p‖_F^(1/p) with p = 2⁹. Each squaring is off by at most (n + 2)u·√n
 * relative to the Frobenius norm, of which the power 1/2^k is taken, so that all together lift the
 * result by less than 2(n + 2)u·√n; scaling is exact, and roots and powers of two add 16u. */
static double bound_radius(double *a, double *b, size_t n)
{
    double power = 1.0;
    double exponents = 0.0; /* exact: multiples of 2⁻⁹ */
    for (size_t k = 0; k < SQUARINGS; k++) {
        int exponent = 0;
        if (!rescale(a, n * n, &exponent)) {
            return dyn_vector_dot(a, a, n * n); /* 0, or not finite */
        }
        exponents += exponent / power;
        square(a, n, b);
        memcpy(a, b, n * n * sizeof *a);
        power *= 2.0;
    }
    double norm = sqrt(dyn_vector_dot(a, a, n * n));
    for (size_t k = 0; k < SQUARINGS; k++) {
        norm = sqrt(norm);
    }
    const double whole = floor(exponents);
    const double slack = 1.0 + 2.0 * ((double)n + 8.0) * sqrt((double)n) * DBL_EPSILON;
    return ldexp(norm * exp2(exponents - whole), (int)whole) * slack;
}

/* AᵀA, or AAᵀ where that is smaller: n² numbers in `gram`. */
static void fill_gram(const double *a, size_t m, size_t n, double *gram)
{
    for (size_t k = 0; k < m && n <= m; k++) {
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) {
                gram[i * n + j] += a[k * n + i] * a[k * n + j];
            }
        }
    }
    for (size_t i = 0; i < m * m && m < n; i++) {
        gram[i] = dyn_vector_dot(a + i / m * n, a + i % m * n, n);
    }
}

kern_status verify_nrgpt_norm2(const double *a, size_t m, size_t n, verify_work *work, double *norm,
                               kern_error *err)
{
    const size_t small = m < n ? m : n;
    double *gram = NULL;
    const verify_mark mark = verify_work_mark(work);
    KERN_TRY(verify_work_take_zeros(work, 2 * small * small, &gram, err));
    fill_gram(a, m, n, gram);
    const double sum = (double)(m > n ? m : n) * DBL_EPSILON;
    *norm = sqrt(bound_radius(gram, gram + small * small, small) * (1.0 + sum));
    verify_work_rewind(work, mark);
    return KERN_OK;
}

/* λ_max(sign·(J + Jᵀ))₊ from above: that of a matrix S shifted by t ≥ ‖S‖ is ‖tI + S‖ − t. */
static double bound_symmetric(const double *j, double sign, size_t n, double *a, double *b)
{
    for (size_t i = 0; i < n * n; i++) {
        a[i] = j[i] + j[i % n * n + i / n];
    }
    const double shift = bound_radius(a, b, n);
    if (!(shift > 0.0)) {
        return shift;
    }
    for (size_t i = 0; i < n * n; i++) {
        a[i] = sign * (j[i] + j[i % n * n + i / n]) + (i / n == i % n ? shift : 0.0);
    }
    return fmax(bound_radius(a, b, n) - shift, 0.0) + 8.0 * DBL_EPSILON * shift;
}

/* ---- Attention ----------------------------------------------------------------------------- */

/* max_B |J_hᵀ g_B|, and max_B |J_hᵀ g_B − their mean|. */
static void measure_keys(const verify_nrgpt *q, size_t head, double *mean, double *reach,
                         double *spread)
{
    const size_t d = q->width;
    const double *keys = q->keys + head * q->prefix * d;
    *reach = 0.0;
    *spread = 0.0;
    memset(mean, 0, d * sizeof *mean);
    for (size_t i = 0; i < q->prefix * d; i++) {
        mean[i % d] += keys[i] / (double)q->prefix;
    }
    for (size_t b = 0; b < q->prefix; b++) {
        double square_sum = 0.0;
        for (size_t i = 0; i < d; i++) {
            const double gap = keys[b * d + i] - mean[i];
            square_sum += gap * gap;
        }
        *reach = fmax(*reach, sqrt(dyn_vector_dot(keys + b * d, keys + b * d, d)));
        *spread = fmax(*spread, sqrt(square_sum));
    }
}

static kern_status measure_head(const verify_nrgpt *q, size_t head, verify_nrgpt_sizes *sizes,
                                verify_work *work, kern_error *err)
{
    const size_t d = q->width;
    const double *j = q->j + head * d * d;
    const double alpha = q->alpha[head];
    double reach;
    double spread;
    double bend = 0.0;
    double norm = 0.0;
    double *space = NULL;
    KERN_TRY(verify_work_take(work, 2 * d * d + d, &space, err));
    measure_keys(q, head, space, &reach, &spread);
    if (q->inclusive) {
        KERN_TRY(verify_nrgpt_norm2(j, d, d, work, &norm, err));
        bend = bound_symmetric(j, alpha < 0.0 ? 1.0 : -1.0, d, space, space + d * d);
        /* The token's own score has the slope (J + Jᵀ)g, at most 2‖J‖R; the score itself is at
         * most ‖J‖R². */
        spread = fmax(reach, 2.0 * norm * sizes->radius);
        reach = fmax(reach, norm * sizes->radius);
    }
    const double slope = fmax(reach, 2.0 * norm * sizes->radius);
    sizes->attention_bend += fabs(alpha) * (q->beta * slope * slope + 2.0 * norm);
    sizes->attention_reach += fabs(alpha) * reach;
    sizes->attention_curve += fabs(alpha) * bend;
    sizes->attention_curve += alpha < 0.0 ? -alpha * q->beta * spread * spread : 0.0;
    return KERN_OK;
}

/* ---- All ----------------------------------------------------------------------------------- */

kern_status verify_nrgpt_measure(const verify_nrgpt *q, verify_nrgpt_sizes *sizes,
                                 verify_work *work, kern_error *err)
{
    const size_t d = q->width;
    const verify_mark mark = verify_work_mark(work);
    *sizes = (verify_nrgpt_sizes){.radius = q->norm == VERIFY_NRGPT_NO_NORM
                                                ? HUGE_VAL
                                                : q->gain * sqrt((double)d) +
                                                      sqrt(dyn_vector_dot(q->delta, q->delta, d))};
    sizes->radius *= 1.0 + ((double)d + 8.0) * DBL_EPSILON;
    for (size_t h = 0; h < q->heads; h++) {
        KERN_TRY(measure_head(q, h, sizes, work, err));
    }
    if (q->hidden > 0) {
        KERN_TRY(verify_nrgpt_norm2(q->w1, q->hidden, d, work, &sizes->w1, err));
    }
    if (q->hidden > 0 && q->ff == VERIFY_NRGPT_FF2W) {
        KERN_TRY(verify_nrgpt_norm2(q->w2, d, q->hidden, work, &sizes->w2, err));
    }
    verify_work_rewind(work, mark);
    return KERN_OK;
}

/* |W₂ᵀg|_∞. */
static double find_pull(const verify_nrgpt *q, const double *g)
{
    double largest = 0.0;
    for (size_t j = 0; j < q->hidden; j++) {
        double p = 0.0;
        for (size_t i = 0; i < q->width; i++) {
            p += q->w2[i * q->hidden + j] * g[i];
        }
        largest = fmax(largest, fabs(p));
    }
    return largest;
}

double verify_nrgpt_curvature(const verify_nrgpt *q, const verify_nrgpt_sizes *sizes,
                              const double *g, const double *next)
{
    const double s = q->scale_ff;
    double m = sizes->attention_curve;
    if (q->hidden == 0 || s == 0.0) {
        return m;
    }
    if (q->ff == VERIFY_NRGPT_FF1) {
        const double bend = s > 0.0 ? q->act->square_low : q->act->square_high;
        return m + fabs(s) * bend * sizes->w1 * sizes->w1;
    }
    const double pulled = fmax(find_pull(q, g), find_pull(q, next)) * (1.0 + 64.0 * DBL_EPSILON);
    m += fabs(s) * 2.0 * q->act->slope * sizes->w1 * sizes->w2;
    return m + fabs(s) * q->act->bend * sizes->w1 * sizes->w1 * pulled;
}

double verify_nrgpt_bend(const verify_nrgpt *q, const verify_nrgpt_sizes *sizes, const double *g)
{
    const double s = fabs(q->scale_ff);
    const double w1 = sizes->w1 * sizes->w1;
    if (q->hidden == 0) {
        return sizes->attention_bend;
    }
    if (q->ff == VERIFY_NRGPT_FF1) {
        return sizes->attention_bend + s * fmax(q->act->square_low, q->act->square_high) * w1;
    }
    return sizes->attention_bend + s * 2.0 * q->act->slope * sizes->w1 * sizes->w2 +
           s * q->act->bend * w1 * find_pull(q, g);
}

double verify_nrgpt_floor(const verify_nrgpt *q, const verify_nrgpt_sizes *sizes)
{
    const double n = (double)(q->prefix + (q->inclusive ? 1 : 0));
    const double s = q->scale_ff;
    double least = 0.0;
    for (size_t h = 0; h < q->heads && n > 0.0; h++) {
        least -= fabs(q->alpha[h]) / q->beta * log(n);
    }
    least -= sizes->attention_reach * sizes->radius;
    if (q->hidden == 0) {
        return least;
    }
    const double b1 = sqrt(dyn_vector_dot(q->b1, q->b1, q->hidden));
    const double units = sizes->w1 * sizes->radius + b1 + sqrt((double)q->hidden) * q->act->offset;
    if (q->ff == VERIFY_NRGPT_FF1) {
        return least - fmax(s, 0.0) * units * units;
    }
    const double b2 = sqrt(dyn_vector_dot(q->b2, q->b2, q->width));
    return least - fabs(s) * sizes->radius * (sizes->w2 * units + b2);
}
