/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions and reductions over arrays, vectorised, for one thread. n may be 0.
 *
 * Outputs may be the same array as an input (element i depends on element i only); partial overlap
 * is not allowed. Reductions accumulate in double in 16 interleaved sums that are combined in a
 * fixed order, so their result depends on the data alone.
 */
#ifndef BASIN_KERN_VMATH_H
#define BASIN_KERN_VMATH_H

#include "kernels/kern_op.h"

#include <stddef.h>

/* out = e^x. f32: within 2 ulp, except that results below the smallest normal number are 0. f64:
 * within 4 ulp. ±∞ and NaN as in libm. */
void kern_vmath_exp_f32(float *out, const float *x, size_t n);
void kern_vmath_exp_f64(double *out, const double *x, size_t n);

/* out = e^(x − shift), and returns its sum: the numerator and denominator of a softmax when `shift`
 * is the maximum. `out` may be NULL when only the sum is wanted. */
double kern_vmath_exp_sum_f32(float *out, const float *x, float shift, size_t n);
double kern_vmath_exp_sum_f64(double *out, const double *x, double shift, size_t n);

/* Activation f(z) and its first two derivatives; an output that is NULL is not written. f32 errors
 * are a few ulp of the larger of 1 and |result|; f64 a few ulp of the same. gelu is z Φ(z) with
 * the exact Φ; relu has derivative 0 at 0. ±∞ give the limits, NaN gives NaN. The integrals behave
 * as z²/2 for large z. */
void kern_vmath_fn_f32(kern_fn fn, float *f, float *d1, float *d2, const float *z, size_t n);
void kern_vmath_fn_f64(kern_fn fn, double *f, double *d1, double *d2, const double *z, size_t n);

/* Word for a function, as in KERN_FN_LIST ("gelu", "relu", "softplus", …). */
const char *kern_fn_word(kern_fn fn);

/* Σ x, Σ x y, Σ (x − centre)². */
double kern_vmath_sum_f32(const float *x, size_t n);
double kern_vmath_sum_f64(const double *x, size_t n);
double kern_vmath_dot_f32(const float *x, const float *y, size_t n);
double kern_vmath_dot_f64(const double *x, const double *y, size_t n);
double kern_vmath_sumsq_f32(const float *x, double centre, size_t n);
double kern_vmath_sumsq_f64(const double *x, double centre, size_t n);

/* Largest element; −∞ when n is 0. NaN elements are skipped. */
float kern_vmath_max_f32(const float *x, size_t n);
double kern_vmath_max_f64(const double *x, size_t n);

#endif
