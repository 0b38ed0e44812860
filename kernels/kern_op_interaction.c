/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention with a diagonal part; see interaction in kern_op.h. Attention's kernels serve both.
 */
#include "kernels/kern_attention.h"

const kern_op_kernels KERN_NAME(kern_op_interaction_kernels) = {
    .forward = kern_attention_forward,
    .vjp = kern_attention_vjp,
    .jvp = kern_attention_jvp,
};
