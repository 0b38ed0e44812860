/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * (z, t) → r = f′(z) t; see kern_act_attr.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_fn.h"
#include "kernels/kern_rows.h"

enum { Z, T };
enum { R, SLOPE, BEND };

KERN_INLINE void gate_forward_range_any(kern_fn fn, const kern_call *call, size_t begin, size_t end)
{
    kern_sink sinks[3];
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *z = (const kern_real *)call->in[Z].data + at;
        const kern_real *t = (const kern_real *)call->in[T].data + at;
        kern_real *r = kern_sink_open(&sinks[0], call->out[R], false, at);
        kern_real *slope = kern_sink_open(&sinks[1], call->out[SLOPE], false, at);
        kern_real *bend = kern_sink_open(&sinks[2], call->out[BEND], false, at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_real ti = t[i];
            const kern_fn_value v = kern_fn_eval(fn, z[i]);
            r[i] = v.d1 * ti;
            slope[i] = v.d1;
            bend[i] = v.d2 * ti;
        }
    }
}

KERN_FN_VARIANTS(gate_forward_range)

static void gate_forward(const kern_call *call)
{
    kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, gate_forward_range);
}

/* z̄ = f″t r̄, t̄ = f′ r̄. */
KERN_HOT static void gate_vjp_range(const kern_call *call, size_t begin, size_t end)
{
    const kern_block_zeros zeros = {{0}};
    kern_sink sinks[2];
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *slope = (const kern_real *)call->out[SLOPE].data + at;
        const kern_real *bend = (const kern_real *)call->out[BEND].data + at;
        const kern_real *dr = kern_source(call->d_out[R], at, &zeros);
        kern_real *dz = kern_sink_open(&sinks[0], call->d_in[Z], call->accumulate[Z], at);
        kern_real *dt = kern_sink_open(&sinks[1], call->d_in[T], call->accumulate[T], at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_real cotangent = dr[i];
            const kern_real for_z = bend[i] * cotangent;
            const kern_real for_t = slope[i] * cotangent;
            dz[i] = for_z;
            dt[i] = for_t;
        }
        kern_sink_close(&sinks[0], n);
        kern_sink_close(&sinks[1], n);
    }
}

static void gate_vjp(const kern_call *call)
{
    kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, gate_vjp_range);
}

/* ṙ = f″t ż + f′ ṫ. */
KERN_HOT static void gate_jvp_range(const kern_call *call, size_t begin, size_t end)
{
    const kern_block_zeros zeros = {{0}};
    kern_sink sink;
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *slope = (const kern_real *)call->out[SLOPE].data + at;
        const kern_real *bend = (const kern_real *)call->out[BEND].data + at;
        const kern_real *dz = kern_source(call->d_in[Z], at, &zeros);
        const kern_real *dt = kern_source(call->d_in[T], at, &zeros);
        kern_real *dr = kern_sink_open(&sink, call->d_out[R], false, at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            dr[i] = bend[i] * dz[i] + slope[i] * dt[i];
        }
    }
}

static void gate_jvp(const kern_call *call)
{
    kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, gate_jvp_range);
}

const kern_op_kernels KERN_NAME(kern_op_act_gate_kernels) = {
    .forward = gate_forward,
    .vjp = gate_vjp,
    .jvp = gate_jvp,
};
