/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * (z, p) → a = f(z), r = f′(z) p, the gradient of f(z)·p; see kern_act_attr.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_fn.h"
#include "kernels/kern_rows.h"

enum { Z, P };
enum { A, R, SLOPE, BEND };

KERN_INLINE void pair_forward_range_any(kern_fn fn, const kern_call *call, size_t begin, size_t end)
{
    kern_sink sinks[4];
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *z = (const kern_real *)call->in[Z].data + at;
        const kern_real *p = (const kern_real *)call->in[P].data + at;
        kern_real *a = kern_sink_open(&sinks[0], call->out[A], false, at);
        kern_real *r = kern_sink_open(&sinks[1], call->out[R], false, at);
        kern_real *slope = kern_sink_open(&sinks[2], call->out[SLOPE], false, at);
        kern_real *bend = kern_sink_open(&sinks[3], call->out[BEND], false, at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_real pi = p[i];
            const kern_fn_value v = kern_fn_eval(fn, z[i]);
            a[i] = v.f;
            r[i] = v.d1 * pi;
            slope[i] = v.d1;
            bend[i] = v.d2 * pi;
        }
    }
}

KERN_FN_VARIANTS(pair_forward_range)

static void pair_forward(const kern_call *call)
{
    kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, pair_forward_range);
}

/* z̄ = f′ ā + f″p r̄, p̄ = f′ r̄. */
KERN_HOT static void pair_vjp_range(const kern_call *call, size_t begin, size_t end)
{
    const kern_block_zeros zeros = {{0}};
    kern_sink sinks[2];
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *slope = (const kern_real *)call->out[SLOPE].data + at;
        const kern_real *bend = (const kern_real *)call->out[BEND].data + at;
        const kern_real *da = kern_source(call->d_out[A], at, &zeros);
        const kern_real *dr = kern_source(call->d_out[R], at, &zeros);
        kern_real *dz = kern_sink_open(&sinks[0], call->d_in[Z], call->accumulate[Z], at);
        kern_real *dp = kern_sink_open(&sinks[1], call->d_in[P], call->accumulate[P], at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_real for_z = slope[i] * da[i] + bend[i] * dr[i];
            const kern_real for_p = slope[i] * dr[i];
            dz[i] = for_z;
            dp[i] = for_p;
        }
        kern_sink_close(&sinks[0], n);
        kern_sink_close(&sinks[1], n);
    }
}

static void pair_vjp(const kern_call *call)
{
    kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, pair_vjp_range);
}

/* ȧ = f′ ż, ṙ = f″p ż + f′ ṗ. */
KERN_HOT static void pair_jvp_range(const kern_call *call, size_t begin, size_t end)
{
    const kern_block_zeros zeros = {{0}};
    kern_sink sinks[2];
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *slope = (const kern_real *)call->out[SLOPE].data + at;
        const kern_real *bend = (const kern_real *)call->out[BEND].data + at;
        const kern_real *dz = kern_source(call->d_in[Z], at, &zeros);
        const kern_real *dp = kern_source(call->d_in[P], at, &zeros);
        kern_real *da = kern_sink_open(&sinks[0], call->d_out[A], false, at);
        kern_real *dr = kern_sink_open(&sinks[1], call->d_out[R], false, at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_real of_a = slope[i] * dz[i];
            const kern_real of_r = bend[i] * dz[i] + slope[i] * dp[i];
            da[i] = of_a;
            dr[i] = of_r;
        }
    }
}

static void pair_jvp(const kern_call *call)
{
    kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, pair_jvp_range);
}

const kern_op_kernels KERN_NAME(kern_op_act_pair_kernels) = {
    .forward = pair_forward,
    .vjp = pair_vjp,
    .jvp = pair_jvp,
};
