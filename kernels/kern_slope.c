/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_slope.h"

#include "kernels/kern_block.h"
#include "kernels/kern_rows.h"

enum { Z, Y = 0, SLOPE };

KERN_HOT static void vjp_range(const kern_call *call, size_t begin, size_t end)
{
    const kern_block_zeros zeros = {{0}};
    kern_sink sink;
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *slope = kern_source(call->out[SLOPE], at, &zeros);
        const kern_real *dy = kern_source(call->d_out[Y], at, &zeros);
        kern_real *dz = kern_sink_open(&sink, call->d_in[Z], call->accumulate[Z], at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            dz[i] = slope[i] * dy[i];
        }
        kern_sink_close(&sink, n);
    }
}

void kern_slope_vjp(const kern_call *call)
{
    if (call->d_in[Z].data != NULL) {
        kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, vjp_range);
    }
}

KERN_HOT static void jvp_range(const kern_call *call, size_t begin, size_t end)
{
    const kern_block_zeros zeros = {{0}};
    kern_sink sink;
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        const kern_real *slope = kern_source(call->out[SLOPE], at, &zeros);
        const kern_real *dz = kern_source(call->d_in[Z], at, &zeros);
        kern_real *dy = kern_sink_open(&sink, call->d_out[Y], false, at);
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            dy[i] = slope[i] * dz[i];
        }
    }
}

void kern_slope_jvp(const kern_call *call)
{
    kern_range_run(call, call->in[Z].rows * call->in[Z].cols, KERN_BLOCK, jvp_range);
}
