/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * act_pair and act_gate, r = f′(z) p with or without a = f(z): one body for both, since the second
 * is the first without its first output. `valued` must be a constant in the caller. Included by
 * kernel sources, in the precision of the unit.
 *
 *   z̄ = f′ ā + f″p r̄,  p̄ = f′ r̄;   ȧ = f′ ż,  ṙ = f″p ż + f′ ṗ.
 */
#ifndef BASIN_KERN_ACT_PRODUCT_H
#define BASIN_KERN_ACT_PRODUCT_H

#include "kernels/kern_block.h"
#include "kernels/kern_fn.h"
#include "kernels/kern_rows.h"

/* Inputs, and outputs from the product on: after a when `valued`. */
enum { KERN_PRODUCT_Z, KERN_PRODUCT_P };
enum { KERN_PRODUCT_R, KERN_PRODUCT_SLOPE, KERN_PRODUCT_BEND };

KERN_INLINE kern_view kern_product_value(const kern_view *views, bool valued)
{
    return valued ? views[0] : (kern_view){0};
}

KERN_INLINE void kern_product_forward(kern_fn fn, bool valued, const kern_call *call, size_t begin,
                                      size_t end)
{
    const kern_view *out = call->out + (valued ? 1 : 0);
    kern_sink sinks[4];
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *z = (const kern_real *)call->in[KERN_PRODUCT_Z].data + at;
        const kern_real *p = (const kern_real *)call->in[KERN_PRODUCT_P].data + at;
        kern_real *r = kern_sink_open(&sinks[0], out[KERN_PRODUCT_R], false, at);
        kern_real *slope = kern_sink_open(&sinks[1], out[KERN_PRODUCT_SLOPE], false, at);
        kern_real *bend = kern_sink_open(&sinks[2], out[KERN_PRODUCT_BEND], false, at);
        kern_real *a = kern_sink_open(&sinks[3], kern_product_value(call->out, valued), false, at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_real pi = p[i];
            const kern_fn_value v = kern_fn_eval(fn, z[i]);
            if (valued) {
                a[i] = v.f;
            }
            r[i] = v.d1 * pi;
            slope[i] = v.d1;
            bend[i] = v.d2 * pi;
        }
    }
}

KERN_INLINE void kern_product_vjp(bool valued, const kern_call *call, size_t begin, size_t end)
{
    const kern_view *out = call->out + (valued ? 1 : 0);
    const kern_view *d_out = call->d_out + (valued ? 1 : 0);
    const kern_block_zeros zeros = {{0}};
    kern_sink sinks[2];
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *slope = (const kern_real *)out[KERN_PRODUCT_SLOPE].data + at;
        const kern_real *bend = (const kern_real *)out[KERN_PRODUCT_BEND].data + at;
        const kern_real *dr = kern_source(d_out[KERN_PRODUCT_R], at, &zeros);
        const kern_real *da = kern_source(kern_product_value(call->d_out, valued), at, &zeros);
        kern_real *dz = kern_sink_open(&sinks[0], call->d_in[KERN_PRODUCT_Z],
                                       call->accumulate[KERN_PRODUCT_Z], at);
        kern_real *dp = kern_sink_open(&sinks[1], call->d_in[KERN_PRODUCT_P],
                                       call->accumulate[KERN_PRODUCT_P], at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_real of_r = bend[i] * dr[i];
            const kern_real for_z = valued ? slope[i] * da[i] + of_r : of_r;
            const kern_real for_p = slope[i] * dr[i];
            dz[i] = for_z;
            dp[i] = for_p;
        }
        kern_sink_close(&sinks[0], n);
        kern_sink_close(&sinks[1], n);
    }
}

KERN_INLINE void kern_product_jvp(bool valued, const kern_call *call, size_t begin, size_t end)
{
    const kern_view *out = call->out + (valued ? 1 : 0);
    const kern_view *d_out = call->d_out + (valued ? 1 : 0);
    const kern_block_zeros zeros = {{0}};
    kern_sink sinks[2];
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *slope = (const kern_real *)out[KERN_PRODUCT_SLOPE].data + at;
        const kern_real *bend = (const kern_real *)out[KERN_PRODUCT_BEND].data + at;
        const kern_real *dz = kern_source(call->d_in[KERN_PRODUCT_Z], at, &zeros);
        const kern_real *dp = kern_source(call->d_in[KERN_PRODUCT_P], at, &zeros);
        kern_real *dr = kern_sink_open(&sinks[0], d_out[KERN_PRODUCT_R], false, at);
        kern_real *da =
            kern_sink_open(&sinks[1], kern_product_value(call->d_out, valued), false, at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_real of_a = slope[i] * dz[i];
            const kern_real of_r = bend[i] * dz[i] + slope[i] * dp[i];
            if (valued) {
                da[i] = of_a;
            }
            dr[i] = of_r;
        }
    }
}

/* Number of elements. */
KERN_INLINE size_t kern_product_size(const kern_call *call)
{
    return call->in[KERN_PRODUCT_Z].rows * call->in[KERN_PRODUCT_Z].cols;
}

/* Defines the three kernels of an operation and its table. */
#define KERN_PRODUCT_KERNELS(name, valued)                                                         \
    KERN_INLINE void name##_forward_range_any(kern_fn fn, const kern_call *call, size_t begin,     \
                                              size_t end)                                          \
    {                                                                                              \
        kern_product_forward(fn, valued, call, begin, end);                                        \
    }                                                                                              \
    KERN_FN_VARIANTS(name##_forward_range)                                                         \
    KERN_HOT static void name##_vjp_range(const kern_call *call, size_t begin, size_t end)         \
    {                                                                                              \
        kern_product_vjp(valued, call, begin, end);                                                \
    }                                                                                              \
    KERN_HOT static void name##_jvp_range(const kern_call *call, size_t begin, size_t end)         \
    {                                                                                              \
        kern_product_jvp(valued, call, begin, end);                                                \
    }                                                                                              \
    static void name##_forward(const kern_call *call)                                              \
    {                                                                                              \
        kern_range_run(call, kern_product_size(call), KERN_BLOCK, name##_forward_range);           \
    }                                                                                              \
    static void name##_vjp(const kern_call *call)                                                  \
    {                                                                                              \
        kern_range_run(call, kern_product_size(call), KERN_BLOCK, name##_vjp_range);               \
    }                                                                                              \
    static void name##_jvp(const kern_call *call)                                                  \
    {                                                                                              \
        kern_range_run(call, kern_product_size(call), KERN_BLOCK, name##_jvp_range);               \
    }                                                                                              \
    const kern_op_kernels KERN_NAME(kern_op_##name##_kernels) = {                                  \
        .forward = name##_forward, .vjp = name##_vjp, .jvp = name##_jvp}

#endif
