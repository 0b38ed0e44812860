/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_vmath.h"

#include "kernels/kern_block.h"
#include "kernels/kern_fn.h"
#include "kernels/kern_real.h"
#include "kernels/kern_simd.h"

/* Interleaved partial results: enough to fill two vectors of doubles, four of floats. The compiler
 * keeps the arrays in registers, and since their number is part of the source, every instruction
 * set adds in the same order. */
enum { SUM_LANES = 16, MAX_LANES = 32 };

/* Halves onto each other, which takes a vector few steps where a chain of 16 takes 16. */
#define FOLD(lanes, join)                                                                          \
    _Pragma("GCC unroll 8") for (size_t half = (lanes) / 2; half > 0; half /= 2)                   \
    {                                                                                              \
        _Pragma("GCC unroll 16") for (size_t l = 0; l < half; l++)                                 \
        {                                                                                          \
            lane[l] = join(lane[l], lane[half + l]);                                               \
        }                                                                                          \
    }

#define SUM(x, y)    ((x) + (y))
#define LARGER(x, y) ((y) > (x) ? (y) : (x))

KERN_INLINE double add_lanes(double *lane)
{
    FOLD(SUM_LANES, SUM)
    return lane[0];
}

KERN_HOT double KERN_NAME(kern_vmath_sum)(const kern_real *x, size_t n)
{
    double lane[SUM_LANES] = {0};
    size_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES) {
        for (size_t l = 0; l < SUM_LANES; l++) {
            lane[l] += (double)x[i + l];
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        lane[l] += (double)x[i + l];
    }
    return add_lanes(lane);
}

KERN_HOT double KERN_NAME(kern_vmath_dot)(const kern_real *x, const kern_real *y, size_t n)
{
    double lane[SUM_LANES] = {0};
    size_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES) {
        for (size_t l = 0; l < SUM_LANES; l++) {
            lane[l] += (double)x[i + l] * (double)y[i + l];
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        lane[l] += (double)x[i + l] * (double)y[i + l];
    }
    return add_lanes(lane);
}

KERN_HOT double KERN_NAME(kern_vmath_sumsq)(const kern_real *x, double centre, size_t n)
{
    double lane[SUM_LANES] = {0};
    size_t i = 0;
    for (; i + SUM_LANES <= n; i += SUM_LANES) {
        for (size_t l = 0; l < SUM_LANES; l++) {
            const double d = (double)x[i + l] - centre;
            lane[l] += d * d;
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        const double d = (double)x[i + l] - centre;
        lane[l] += d * d;
    }
    return add_lanes(lane);
}

KERN_HOT kern_real KERN_NAME(kern_vmath_max)(const kern_real *x, size_t n)
{
    kern_real lane[MAX_LANES];
    for (size_t l = 0; l < MAX_LANES; l++) {
        lane[l] = -(kern_real)INFINITY;
    }
    size_t i = 0;
    for (; i + MAX_LANES <= n; i += MAX_LANES) {
        for (size_t l = 0; l < MAX_LANES; l++) {
            lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
    }
    FOLD(MAX_LANES, LARGER)
    return lane[0];
}

KERN_HOT void KERN_NAME(kern_vmath_exp)(kern_real *out, const kern_real *x, size_t n)
{
    KERN_IVDEP
    for (size_t i = 0; i < n; i++) {
        out[i] = kern_fn_exp(x[i]);
    }
}

/* Exponentials of one block, then its sum: a single loop would wait for each addition. */
KERN_HOT double KERN_NAME(kern_vmath_exp_sum)(kern_real *out, const kern_real *x, kern_real shift,
                                              size_t n)
{
    kern_real buffer[KERN_BLOCK];
    double lane[SUM_LANES] = {0};
    for (size_t begin = 0; begin < n; begin += KERN_BLOCK) {
        const size_t size = kern_block_size(begin, n);
        kern_real *e = out == NULL ? buffer : out + begin;
        size_t i = 0;
        KERN_IVDEP
        for (size_t j = 0; j < size; j++) {
            e[j] = kern_fn_exp(x[begin + j] - shift);
        }
        for (; i + SUM_LANES <= size; i += SUM_LANES) {
            for (size_t l = 0; l < SUM_LANES; l++) {
                lane[l] += (double)e[i + l];
            }
        }
        for (size_t l = 0; i + l < size; l++) {
            lane[l] += (double)e[i + l];
        }
    }
    return add_lanes(lane);
}

typedef struct fn_arrays {
    kern_view f;
    kern_view d1;
    kern_view d2;
    const kern_real *z;
    size_t n;
} fn_arrays;

KERN_INLINE void fn_any(kern_fn fn, const fn_arrays *a)
{
    kern_sink sinks[3];
    for (size_t begin = 0; begin < a->n; begin += KERN_BLOCK) {
        const size_t n = kern_block_size(begin, a->n);
        const kern_real *z = a->z + begin;
        kern_real *f = kern_sink_open(&sinks[0], a->f, false, begin);
        kern_real *d1 = kern_sink_open(&sinks[1], a->d1, false, begin);
        kern_real *d2 = kern_sink_open(&sinks[2], a->d2, false, begin);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_fn_value v = kern_fn_eval(fn, z[i]);
            f[i] = v.f;
            d1[i] = v.d1;
            d2[i] = v.d2;
        }
    }
}

#define FN_VARIANT(name, ID, id)                                                                   \
    KERN_HOT static void name##_##id(const fn_arrays *a)                                           \
    {                                                                                              \
        fn_any(KERN_FN_##ID, a);                                                                   \
    }
KERN_FN_LIST(FN_VARIANT, fn)

typedef void fn_body(const fn_arrays *a);

void KERN_NAME(kern_vmath_fn)(kern_fn fn, kern_real *f, kern_real *d1, kern_real *d2,
                              const kern_real *z, size_t n)
{
#define FN_VARIANT_NAME(name, ID, id) name##_##id,
    static fn_body *const variants[KERN_FN_COUNT] = {KERN_FN_LIST(FN_VARIANT_NAME, fn)};
    const fn_arrays arrays = {
        .f = {.data = f}, .d1 = {.data = d1}, .d2 = {.data = d2}, .z = z, .n = n};
    variants[fn](&arrays);
}
