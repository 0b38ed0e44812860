/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Descriptions of the losses: shapes, and what their derivatives read.
 */
#include "kernels/kern_op.h"

static kern_status check_nonempty(const char *op, const char *what, kern_shape s, kern_error *err)
{
    if (s.rows == 0 || s.cols == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s: %s is %zu × %zu, where at least one row and column are needed", op,
                          what, s.rows, s.cols);
    }
    return KERN_OK;
}

/* ---- cross_entropy -------------------------------------------------------------------------- */

static kern_status cross_entropy_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                       kern_error *err)
{
    if (attr->cross_entropy.slot >= KERN_INDEX_SLOTS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "cross_entropy: index slot %zu does not exist; slots are 0 to %d",
                          attr->cross_entropy.slot, KERN_INDEX_SLOTS - 1);
    }
    KERN_TRY(check_nonempty("cross_entropy", "the matrix of logits", in[0], err));
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
    const kern_shape t = in[1];
    const kern_shape w = in[2];
    (void)attr;
    KERN_TRY(check_nonempty("squared_error", "the matrix of predictions", p, err));
    if (t.rows != p.rows || t.cols != p.cols) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "squared_error: the matrix of targets is %zu × %zu, where %zu × %zu is "
                          "needed",
                          t.rows, t.cols, p.rows, p.cols);
    }
    if ((w.rows != 0 || w.cols != 0) && (w.rows != p.rows || w.cols != 1)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "squared_error: the weights are %zu × %zu, where %zu × 1 is needed",
                          w.rows, w.cols, p.rows);
    }
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
