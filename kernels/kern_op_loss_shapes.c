/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Descriptions of the losses: shapes, and what their derivatives read.
 */
#include "kernels/kern_op_check.h"

/* ---- cross_entropy -------------------------------------------------------------------------- */

static kern_status cross_entropy_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                       kern_error *err)
{
    if (attr->cross_entropy.slot >= KERN_INDEX_SLOTS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "cross_entropy: index slot %zu does not exist; slots are 0 to %d",
                          attr->cross_entropy.slot, KERN_INDEX_SLOTS - 1);
    }
    KERN_TRY(kern_check_nonempty("cross_entropy", "the matrix of logits", in[0], err));
    out[0] = (kern_shape){in[0].rows, 1};
    out[1] = out[0];
    return KERN_OK;
}

const kern_op kern_op_cross_entropy = {
    .name = "cross_entropy",
    .n_in = 1,
    .n_out = 2,
    .saved_out = 0x2,
    .reads_in = 0x1,
    .reads_out = 0x2,
    .infer = cross_entropy_infer,
};

/* ---- squared_error -------------------------------------------------------------------------- */

static kern_status squared_error_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                       kern_error *err)
{
    const kern_shape p = in[0];
    (void)attr;
    KERN_TRY(kern_check_nonempty("squared_error", "the matrix of predictions", p, err));
    KERN_TRY(kern_check_shape("squared_error", "the matrix of targets", in[1], p, err));
    KERN_TRY(kern_check_optional("squared_error", "the vector of weights", in[2],
                                 (kern_shape){p.rows, 1}, err));
    out[0] = (kern_shape){p.rows, 1};
    return KERN_OK;
}

const kern_op kern_op_squared_error = {
    .name = "squared_error",
    .n_in = 3,
    .n_out = 1,
    .optional_in = 0x4,
    .reads_in = 0x7,
    .infer = squared_error_infer,
};
