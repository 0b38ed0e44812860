/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scalar exp and activation functions that vectorise: to be inlined into loops. Included by kernel
 * sources, in the precision of the unit.
 *
 * Single precision uses branch-free polynomials of our own. Double precision calls exp, erfc and
 * log1p, whose vector versions the compiler picks (kern_simd.h).
 */
#ifndef BASIN_KERN_FN_H
#define BASIN_KERN_FN_H

#include "kernels/kern_op.h"
#include "kernels/kern_real.h"
#include "kernels/kern_simd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Value and two derivatives. Members that a loop does not use cost nothing after inlining. */
typedef struct kern_fn_value {
    kern_real f;
    kern_real d1;
    kern_real d2;
} kern_fn_value;

#if KERN_REAL_BITS == 32

/* Bounds of x for which exp x is a normal number. */
#define KERN_FN_EXP_LOW  (-87.336544f)
#define KERN_FN_EXP_HIGH 88.722839f

/* y 2ⁿ, where `shifted` is n + 1.5·2²³: the addition has rounded n to an integer and left it in the
 * low bits, whence it is added to the exponent of y. The result must be a normal number. */
KERN_INLINE float kern_fn_scale(float y, float shifted)
{
    uint32_t bits;
    uint32_t n;
    memcpy(&bits, &y, sizeof bits);
    memcpy(&n, &shifted, sizeof n);
    bits += n << 23;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* e^x = 2ⁿ e^r for x within the bounds above; anything else, NaN included, gives garbage. The
 * polynomial interpolates (e^r − 1 − r)/r² on |r| ≤ ln 2/2 in Chebyshev nodes; its error is below
 * 1e-8 of e^r. Here and below, polynomials are summed in pairs (Estrin 1960), since these loops
 * wait for latency. */
KERN_INLINE float kern_fn_exp_core(float x)
{
    const float shifter = 12582912.0f;
    const float shifted = x * 1.44269504088896341f + shifter;
    const float n = shifted - shifter;
    /* ln 2 in two parts; n times the first is exact. */
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    const float r2 = r * r;
    const float high = (4.1666554213e-2f + r * 8.3632328837e-3f) + r2 * 1.3926250831e-3f;
    const float q = (0.5f + r * 1.6666576666e-1f) + r2 * high;
    return kern_fn_scale(1.0f + (r + r2 * q), shifted);
}

/* e^x within 2 ulp; ∞ and NaN as in libm, but results below the smallest normal number are 0. */
KERN_INLINE float kern_fn_exp(float x)
{
    const float y = kern_fn_exp_core(x);
    const float upper = x <= KERN_FN_EXP_HIGH ? y : x + INFINITY;
    return x < KERN_FN_EXP_LOW ? 0.0f : upper;
}

/* e^(−a²/2) and 1 − Φ(a) for 0 ≤ a ≤ KERN_FN_NORMAL_LIMIT; `square` is a². NaN gives a NaN tail.
 *
 * The exponential is 2^n 2^f with n + f = −a²/(2 ln 2): rounding that number costs as much as the
 * rounding of a² already has. The tail is the exponential times a rational function of a (Mills'
 * ratio over √2π, minimax in relative error, 5e-9, by Remez exchange up to a = 12.6), whose
 * numerator and denominator have positive coefficients and do not wait for the exponential. */
KERN_INLINE void kern_fn_normal(float a, float square, float *e, float *tail)
{
    const float shifter = 12582912.0f;
    const float exponent = square * -0.72134752044448170368f;
    const float shifted = exponent + shifter;
    const float f = exponent - (shifted - shifter);
    const float f2 = f * f;
    const float high = (9.6180825573e-3f + f * 1.3390863365e-3f) + f2 * 1.5453162945e-4f;
    const float middle = 2.4022650761e-1f + f * 5.5503571142e-2f;
    const float power = (1.0f + f * 6.9314718803e-1f) + f2 * (middle + f2 * high);
    const float p01 = 0.5f + a * 4.339880232022e-1f;
    const float p23 = 1.800581173843e-1f + a * 3.956564369011e-2f;
    const float q01 = 1.0f + a * 1.665860929196f;
    const float q23 = 1.189277199537f + a * 4.610854018370e-1f;
    const float q45 = 9.918440107885e-2f + a * 9.922662509893e-3f;
    const float p = p01 + square * (p23 + square * 3.958633558942e-3f);
    const float q = q01 + square * (q23 + square * q45);
    *e = kern_fn_scale(power, shifted);
    *tail = *e * (p / q);
}

/* log(1 + e) for 0 ≤ e ≤ 1, as 2 artanh(e/(2 + e)). */
KERN_INLINE float kern_fn_log1p(float e)
{
    const float s = e / (2.0f + e);
    const float w = s * s;
    const float w2 = w * w;
    const float high = 2.8620207624e-01f + w * 2.1398558557e-01f + w2 * 2.4393914479e-01f;
    return s * ((2.0f + w * 6.6666679027e-01f) + w2 * (3.9998711236e-01f + w * high));
}

/* Arguments up to which e^(−a²/2) and e^−a, and what is made of them, are normal numbers; beyond,
 * they are taken as 0. */
#define KERN_FN_NORMAL_LIMIT 12.5f
#define KERN_FN_DECAY_LIMIT  87.0f

#else

KERN_INLINE double kern_fn_exp_core(double x)
{
    return exp(x);
}

KERN_INLINE double kern_fn_exp(double x)
{
    return exp(x);
}

KERN_INLINE void kern_fn_normal(double a, double square, double *e, double *tail)
{
    *e = exp(-0.5 * square);
    *tail = 0.5 * erfc(a * 0.70710678118654752440);
}

KERN_INLINE double kern_fn_log1p(double e)
{
    return log1p(e);
}

#define KERN_FN_NORMAL_LIMIT 37.0
#define KERN_FN_DECAY_LIMIT  700.0

#endif

/* a = |z|, the normal density φ(a) and tail Q(a) = 1 − Φ(a), from which functions of both signs of
 * z follow. Where φ is taken as 0, a is limited, so that ±∞ have their limits. NaN passes all
 * comparisons. */
typedef struct kern_fn_tails {
    kern_real a;
    kern_real square;
    kern_real density;
    kern_real tail;
} kern_fn_tails;

KERN_INLINE kern_fn_tails kern_fn_normal_at(kern_real z)
{
    const kern_real limit = KERN_FN_NORMAL_LIMIT;
    const kern_real magnitude = z < KERN_R(0.0) ? -z : z;
    const kern_real a = magnitude > limit ? limit : magnitude;
    const kern_real square = a * a;
    kern_real e;
    kern_real tail;
    kern_fn_normal(a, square, &e, &tail);
    e = magnitude > limit ? KERN_R(0.0) : e;
    tail = magnitude > limit ? KERN_R(0.0) : tail;
    return (kern_fn_tails){a, square, KERN_R(0.39894228040143267794) * e, tail};
}

/* gelu z = z Φ(z) with the exact Φ, its derivative Φ + zφ and φ(2 − z²), from the tails: z Φ(z) =
 * max(z, 0) − a Q, and Φ + zφ is Q − aφ, or 1 less that. */
KERN_INLINE kern_fn_value kern_fn_gelu(kern_real z)
{
    const kern_fn_tails t = kern_fn_normal_at(z);
    const kern_real slope = t.tail - t.a * t.density;
    return (kern_fn_value){.f = (z > KERN_R(0.0) ? z : KERN_R(0.0)) - t.a * t.tail,
                           .d1 = z > KERN_R(0.0) ? KERN_R(1.0) - slope : slope,
                           .d2 = t.density * (KERN_R(2.0) - t.square)};
}

/* max(z, 0), with derivative 0 at 0. NaN has derivative NaN. */
KERN_INLINE kern_fn_value kern_fn_relu(kern_real z)
{
    const kern_real at_most_zero = z <= KERN_R(0.0) ? KERN_R(0.0) : z;
    return (kern_fn_value){
        .f = at_most_zero, .d1 = z > KERN_R(0.0) ? KERN_R(1.0) : at_most_zero, .d2 = KERN_R(0.0)};
}

/* a = |z| and e^−a, from which functions of both signs of z follow; limits as above. */
typedef struct kern_fn_magnitude {
    kern_real a;
    kern_real e;
} kern_fn_magnitude;

KERN_INLINE kern_fn_magnitude kern_fn_decay(kern_real z)
{
    const kern_real limit = KERN_FN_DECAY_LIMIT;
    const kern_real magnitude = z < KERN_R(0.0) ? -z : z;
    const kern_real a = magnitude > limit ? limit : magnitude;
    const kern_real decay = kern_fn_exp_core(-a);
    const kern_real tiny = magnitude > limit ? KERN_R(0.0) : decay;
    return (kern_fn_magnitude){a, z == z ? tiny : z};
}

/* log(1 + e^z), logistic(z) and its derivative, from e^−|z|. */
KERN_INLINE kern_fn_value kern_fn_softplus(kern_real z)
{
    const kern_real e = kern_fn_decay(z).e;
    const kern_real larger = KERN_R(1.0) / (KERN_R(1.0) + e);
    const kern_real smaller = e * larger;
    return (kern_fn_value){.f = (z > KERN_R(0.0) ? z : KERN_R(0.0)) + kern_fn_log1p(e),
                           .d1 = z < KERN_R(0.0) ? smaller : larger,
                           .d2 = larger * smaller};
}

/* z σ with the logistic σ = 1/(1 + e^−z), its derivative σ(1 + zτ) and στ(2 + z(τ − σ)), τ = 1 − σ.
 * Where σ or τ is next to nothing, z is limited, so that ±∞ have their limits. */
KERN_INLINE kern_fn_value kern_fn_silu(kern_real z)
{
    const kern_real limit = KERN_FN_DECAY_LIMIT;
    const kern_real above = z < -limit ? -limit : z;
    const kern_real within = above > limit ? limit : above;
    const kern_real e = kern_fn_exp_core(-within);
    const kern_real sigma = KERN_R(1.0) / (KERN_R(1.0) + e);
    const kern_real tau = e * sigma;
    return (kern_fn_value){.f = above * sigma,
                           .d1 = sigma * (KERN_R(1.0) + within * tau),
                           .d2 = sigma * tau * (KERN_R(2.0) + within * (tau - sigma))};
}

/* −Li₂(−e) from w = ln(1 + e), 0 ≤ w ≤ ln 2: w + w²/4 + Σ_k −B_2k w^(2k+1)/(2k+1)! with the
 * Bernoulli numbers B, whose terms shrink by (w/2π)² ≤ 1/82. Those left out are below 1e-18, in
 * single precision 4e-9. */
KERN_INLINE kern_real kern_fn_dilog(kern_real w)
{
    const kern_real s = w * w;
    const kern_real first = KERN_R(1.0) / 36 - s * (KERN_R(1.0) / 3600);
#if KERN_REAL_BITS == 32
    const kern_real odd = first + s * s * (KERN_R(1.0) / 211680);
#else
    const kern_real s2 = s * s;
    const kern_real middle = 1.0 / 211680 - s * (1.0 / 10886400);
    const kern_real next = 1.0 / 526901760 - s * (691.0 / 16999766784000);
    const kern_real last = 1.0 / 1120863744000 - s * (3617.0 / 181400588328960000);
    const kern_real odd = (first + s2 * middle) + s2 * s2 * (next + s2 * last);
#endif
    return w + s * (KERN_R(0.25) + w * odd);
}

/* Value at z of the integral F of a function f with f(z) − f(−z) = z, from F(−|z|): F(z) + F(−z) =
 * z²/2. */
KERN_INLINE kern_real kern_fn_reflect(kern_real z, kern_real below)
{
    return z > KERN_R(0.0) ? KERN_R(0.5) * z * z - below : below;
}

/* ∫ silu, from π²/12 − a ln(1 + e^−a) + Li₂(−e^−a) at −a. Double precision is within 1e-15 of GSL's
 * dilogarithm, which is not vectorised. */
KERN_INLINE kern_fn_value kern_fn_silu_integral(kern_real z)
{
    const kern_fn_magnitude m = kern_fn_decay(z);
    const kern_real w = kern_fn_log1p(m.e);
    const kern_real below = (KERN_R(0.82246703342411321824) - kern_fn_dilog(w)) - m.a * w;
    const kern_fn_value silu = kern_fn_silu(z);
    return (kern_fn_value){.f = kern_fn_reflect(z, below), .d1 = silu.f, .d2 = silu.d1};
}

/* ∫ gelu, from ¼ + ½((a² − 1) Q(a) − aφ(a)) at −a. */
KERN_INLINE kern_fn_value kern_fn_gelu_integral(kern_real z)
{
    const kern_fn_tails t = kern_fn_normal_at(z);
    const kern_real below =
        KERN_R(0.25) + KERN_R(0.5) * ((t.square - KERN_R(1.0)) * t.tail - t.a * t.density);
    const kern_fn_value gelu = kern_fn_gelu(z);
    return (kern_fn_value){.f = kern_fn_reflect(z, below), .d1 = gelu.f, .d2 = gelu.d1};
}

/* ½ max(z, 0)². */
KERN_INLINE kern_fn_value kern_fn_relu_integral(kern_real z)
{
    const kern_fn_value relu = kern_fn_relu(z);
    return (kern_fn_value){.f = KERN_R(0.5) * relu.f * relu.f, .d1 = relu.f, .d2 = relu.d1};
}

/* `fn` must be a constant in the caller, so that the choice disappears. */
KERN_INLINE kern_fn_value kern_fn_eval(kern_fn fn, kern_real z)
{
#define KERN_FN_CASE(argument, ID, id) fn == KERN_FN_##ID ? kern_fn_##id(argument):
    return KERN_FN_LIST(KERN_FN_CASE, z) kern_fn_gelu(z);
#undef KERN_FN_CASE
}

#endif
