/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The CPU's kernels of one precision, in the order of kern_op_id.
 */
#include "kernels/kern_op.h"
#include "kernels/kern_pack.h"
#include "kernels/kern_real.h"

static void pack(void *out, const void *in, size_t rows, size_t cols, int workers)
{
    KERN_NAME(kern_pack)(out, in, rows, cols, workers);
}

const kern_backend KERN_NAME(kern_backend_cpu) = {
#if KERN_REAL_BITS == 32
    .name = "cpu_f32",
#else
    .name = "cpu_f64",
#endif
    .real_size = sizeof(kern_real),
    .kernels =
        {
#define KERN_OP_ENTRY(ID, id) &KERN_NAME(kern_op_##id##_kernels),
            KERN_OP_LIST(KERN_OP_ENTRY)
#undef KERN_OP_ENTRY
        },
    .pack = pack,
};
