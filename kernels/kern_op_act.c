/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * y = f(z); see kern_act_attr.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_fn.h"
#include "kernels/kern_rows.h"
#include "kernels/kern_slope.h"

enum { Z, Y = 0, SLOPE };

KERN_INLINE void act_forward_range_any(kern_fn fn, const kern_call *call, size_t begin, size_t end)
{
    kern_sink sinks[2];
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *z = (const kern_real *)call->in[Z].data + at;
        kern_real *y = kern_sink_open(&sinks[0], call->out[Y], false, at);
        kern_real *slope = kern_sink_open(&sinks[1], call->out[SLOPE], false, at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            const kern_fn_value v = kern_fn_eval(fn, z[i]);
            y[i] = v.f;
            slope[i] = v.d1;
        }
    }
}

KERN_FN_VARIANTS(act_forward_range)

static void act_forward(const kern_call *call)
{
    kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, act_forward_range);
}

const kern_op_kernels KERN_NAME(kern_op_act_kernels) = {
    .forward = act_forward,
    .vjp = kern_slope_vjp,
    .jvp = kern_slope_jvp,
};
