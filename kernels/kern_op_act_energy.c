/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * u = f(z) f′(z), the gradient of ½ f²; see kern_act_attr.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_fn.h"
#include "kernels/kern_rows.h"

enum { Z, U = 0, SLOPE };

KERN_INLINE void energy_forward_range_any(kern_fn fn, const kern_call *call, size_t begin,
                                          size_t end)
{
    kern_sink sinks[2];
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *z = (const kern_real *)call->in[Z].data + at;
        kern_real *u = kern_sink_open(&sinks[0], call->out[U], false, at);
        kern_real *slope = kern_sink_open(&sinks[1], call->out[SLOPE], false, at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_fn_value v = kern_fn_eval(fn, z[i]);
            u[i] = v.f * v.d1;
            slope[i] = v.d1 * v.d1 + v.f * v.d2;
        }
    }
}

KERN_FN_VARIANTS(energy_forward_range)

static void energy_forward(const kern_call *call)
{
    kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, energy_forward_range);
}

KERN_HOT static void energy_vjp_range(const kern_call *call, size_t begin, size_t end)
{
    const kern_block_zeros zeros = {{0}};
    kern_sink sink;
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *slope = kern_source(call->out[SLOPE], at, &zeros);
        const kern_real *du = kern_source(call->d_out[U], at, &zeros);
        kern_real *dz = kern_sink_open(&sink, call->d_in[Z], call->accumulate[Z], at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            dz[i] = slope[i] * du[i];
        }
        kern_sink_close(&sink, n);
    }
}

static void energy_vjp(const kern_call *call)
{
    if (call->d_in[Z].data != NULL) {
        kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, energy_vjp_range);
    }
}

KERN_HOT static void energy_jvp_range(const kern_call *call, size_t begin, size_t end)
{
    const kern_block_zeros zeros = {{0}};
    kern_sink sink;
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *slope = kern_source(call->out[SLOPE], at, &zeros);
        const kern_real *dz = kern_source(call->d_in[Z], at, &zeros);
        kern_real *du = kern_sink_open(&sink, call->d_out[U], false, at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            du[i] = slope[i] * dz[i];
        }
    }
}

static void energy_jvp(const kern_call *call)
{
    kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, energy_jvp_range);
}

const kern_op_kernels KERN_NAME(kern_op_act_energy_kernels) = {
    .forward = energy_forward,
    .vjp = energy_vjp,
    .jvp = energy_jvp,
};
