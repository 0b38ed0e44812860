/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Descriptions of all operations but the matrix products (kern_op_matrix_shapes.c) and the losses
 * (kern_op_loss_shapes.c): their shapes, what their derivatives read, and where they may work in
 * place.
 *
 * Bit i of a mask stands for input or output i. The numbers follow the order of inputs and outputs
 * in kern_op.h.
 */
#include "kernels/kern_op.h"
#include "kernels/kern_op_check.h"
#include "kernels/kern_rope.h"
#include "kernels/kern_size.h"

#include <float.h>

/* ---- embed ---------------------------------------------------------------------------------- */

static kern_status embed_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                               kern_error *err)
{
    const kern_embed_attr *a = &attr->embed;
    KERN_TRY(kern_check_nonempty("embed", "the table", in[0], err));
    if (a->slot >= KERN_INDEX_SLOTS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "embed: index slot %zu does not exist; slots are 0 to %d", a->slot,
                          KERN_INDEX_SLOTS - 1);
    }
    if (a->tokens == 0 || a->rows == 0 || a->rows % a->tokens != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "embed: %zu rows are not a whole, positive number of sequences of %zu "
                          "tokens",
                          a->rows, a->tokens);
    }
    if (in[0].rows > INT32_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "embed: a table of %zu rows exceeds the %d that ids can name", in[0].rows,
                          INT32_MAX);
    }
    if (!kern_shape_is_absent(in[1]) && (in[1].rows < a->tokens || in[1].cols != in[0].cols)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "embed: the position table is %zu × %zu, where at least %zu rows of %zu "
                          "columns are needed",
                          in[1].rows, in[1].cols, a->tokens, in[0].cols);
    }
    out[0] = (kern_shape){a->rows, in[0].cols};
    return KERN_OK;
}

const kern_op kern_op_embed = {
    .name = "embed",
    .n_in = 2,
    .n_out = 1,
    .optional_in = 0x2,
    .infer = embed_infer,
};

/* ---- norm ----------------------------------------------------------------------------------- */

static kern_status norm_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                              kern_error *err)
{
    const kern_shape row = {1, in[0].cols};
    if (!(attr->norm.epsilon >= 0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "norm: epsilon is %g, where a number of at least 0 is needed",
                          attr->norm.epsilon);
    }
    KERN_TRY(kern_check_nonempty("norm", "the input", in[0], err));
    KERN_TRY(kern_check_optional("norm", "the gain", in[1], row, err));
    KERN_TRY(kern_check_optional("norm", "the bias", in[2], row, err));
    out[0] = in[0];
    out[1] = (kern_shape){in[0].rows, 1};
    out[2] = out[1];
    return KERN_OK;
}

const kern_op kern_op_norm = {
    .name = "norm",
    .n_in = 3,
    .n_out = 3,
    .optional_in = 0x6,
    .saved_out = 0x4,
    .reads_in = 0x3,
    .reads_out = 0x6,
    .inplace_in = 0x1,
    .inplace_d_in = 0x1,
    .infer = norm_infer,
};

static kern_status norm_pull_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                   kern_error *err)
{
    if (!(attr->norm.epsilon >= 0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "norm_pull: epsilon is %g, where a number of at least 0 is needed",
                          attr->norm.epsilon);
    }
    KERN_TRY(kern_check_nonempty("norm_pull", "the input", in[0], err));
    KERN_TRY(kern_check_optional("norm_pull", "the gain", in[1], (kern_shape){1, in[0].cols}, err));
    KERN_TRY(kern_check_shape("norm_pull", "the gradient", in[2], in[0], err));
    out[0] = in[0];
    return KERN_OK;
}

const kern_op kern_op_norm_pull = {
    .name = "norm_pull",
    .n_in = 3,
    .n_out = 1,
    .optional_in = 0x2,
    .reads_in = 0x7,
    .inplace_in = 0x5,
    .inplace_d_in = 0x5,
    .infer = norm_pull_infer,
};

/* ---- rope ----------------------------------------------------------------------------------- */

static kern_status rope_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                              kern_error *err)
{
    const kern_rope_attr *a = &attr->rope;
    KERN_TRY(kern_check_nonempty("rope", "the input", in[0], err));
    if (a->heads == 0 || in[0].cols % a->heads != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "rope: %zu columns cannot be shared among %zu heads", in[0].cols,
                          a->heads);
    }
    if (in[0].cols / a->heads % 2 != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "rope: heads are %zu columns wide, where an even width is needed to turn "
                          "coordinates in pairs",
                          in[0].cols / a->heads);
    }
    if (a->tokens == 0 || in[0].rows % a->tokens != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "rope: %zu rows are not a whole number of sequences of %zu tokens",
                          in[0].rows, a->tokens);
    }
    if (!(a->base > 0 && a->base <= DBL_MAX)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "rope: the base is %g, where a positive, finite number is needed",
                          a->base);
    }
    out[0] = in[0];
    return KERN_OK;
}

static size_t rope_scratch(const kern_attr *attr, const kern_shape *in, const kern_shape *out)
{
    (void)out;
    return kern_rope_scratch_size(attr->rope.tokens, in[0].cols / attr->rope.heads);
}

const kern_op kern_op_rope = {
    .name = "rope",
    .n_in = 1,
    .n_out = 1,
    .inplace_in = 0x1,
    .inplace_d_in = 0x1,
    .stacks_tangents = true,
    .infer = rope_infer,
    .scratch = rope_scratch,
};

/* ---- head_scale and head_gain --------------------------------------------------------------- */

static kern_status head_scale_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                    kern_error *err)
{
    const kern_head_scale_attr *a = &attr->head_scale;
    size_t cols = in[1].cols;
    KERN_TRY(kern_check_nonempty("head_scale", "the input", in[1], err));
    if (a->heads == 0 || (!a->shared_query && cols % a->heads != 0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "head_scale: %zu columns cannot be shared among %zu heads", cols,
                          a->heads);
    }
    KERN_TRY(kern_check_shape("head_scale", "the matrix of factors", in[0],
                              (kern_shape){in[1].rows, a->heads}, err));
    if (a->shared_query && !kern_size_mul(cols, a->heads, &cols)) {
        return kern_raise(err, KERN_OVERFLOW, "head_scale: %zu heads of %zu columns are too many",
                          a->heads, in[1].cols);
    }
    out[0] = (kern_shape){in[1].rows, cols};
    return KERN_OK;
}

const kern_op kern_op_head_scale = {
    .name = "head_scale",
    .n_in = 2,
    .n_out = 1,
    .reads_in = 0x3,
    .inplace_in = 0x2,
    .inplace_d_in = 0x2,
    .infer = head_scale_infer,
};

static kern_status head_gain_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                   kern_error *err)
{
    const kern_head_gain_attr *a = &attr->head_gain;
    size_t cols = in[0].cols;
    KERN_TRY(kern_check_nonempty("head_gain", "the input", in[0], err));
    if (a->heads == 0 || (a->fold && cols % a->heads != 0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "head_gain: %zu columns cannot be shared among %zu heads", cols,
                          a->heads);
    }
    if (a->fold) {
        cols /= a->heads;
    } else if (!kern_size_mul(cols, a->heads, &cols)) {
        return kern_raise(err, KERN_OVERFLOW, "head_gain: %zu heads of %zu columns are too many",
                          a->heads, in[0].cols);
    }
    const kern_shape gain = {a->heads, a->fold ? cols : in[0].cols};
    KERN_TRY(kern_check_shape("head_gain", "the gain", in[1], gain, err));
    out[0] = (kern_shape){in[0].rows, cols};
    return KERN_OK;
}

const kern_op kern_op_head_gain = {
    .name = "head_gain",
    .n_in = 2,
    .n_out = 1,
    .reads_in = 0x3,
    .infer = head_gain_infer,
};

/* ---- activations ---------------------------------------------------------------------------- */

static kern_status check_activation(const char *op, const kern_attr *attr, kern_shape z,
                                    kern_error *err)
{
    if ((unsigned)attr->act.fn >= KERN_FN_COUNT) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s: function %d does not exist; functions are 0 to %d", op,
                          (int)attr->act.fn, KERN_FN_COUNT - 1);
    }
    return kern_check_nonempty(op, "the input", z, err);
}

static kern_status act_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                             kern_error *err)
{
    KERN_TRY(check_activation("act", attr, in[0], err));
    out[0] = in[0];
    out[1] = in[0];
    return KERN_OK;
}

const kern_op kern_op_act = {
    .name = "act",
    .n_in = 1,
    .n_out = 2,
    .saved_out = 0x2,
    .reads_out = 0x2,
    .inplace_in = 0x1,
    .inplace_d_in = 0x1,
    .infer = act_infer,
};

const kern_op kern_op_act_energy = {
    .name = "act_energy",
    .n_in = 1,
    .n_out = 2,
    .saved_out = 0x2,
    .reads_out = 0x2,
    .inplace_in = 0x1,
    .inplace_d_in = 0x1,
    .infer = act_infer,
};

static kern_status act_pair_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                  kern_error *err)
{
    KERN_TRY(check_activation("act_pair", attr, in[0], err));
    KERN_TRY(kern_check_shape("act_pair", "the second input", in[1], in[0], err));
    for (size_t j = 0; j < 4; j++) {
        out[j] = in[0];
    }
    return KERN_OK;
}

const kern_op kern_op_act_pair = {
    .name = "act_pair",
    .n_in = 2,
    .n_out = 4,
    .saved_out = 0xC,
    .reads_out = 0xC,
    .inplace_in = 0x3,
    .inplace_d_in = 0x3,
    .infer = act_pair_infer,
};

static kern_status act_gate_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                  kern_error *err)
{
    KERN_TRY(check_activation("act_gate", attr, in[0], err));
    KERN_TRY(kern_check_shape("act_gate", "the second input", in[1], in[0], err));
    for (size_t j = 0; j < 3; j++) {
        out[j] = in[0];
    }
    return KERN_OK;
}

const kern_op kern_op_act_gate = {
    .name = "act_gate",
    .n_in = 2,
    .n_out = 3,
    .saved_out = 0x6,
    .reads_out = 0x6,
    .inplace_in = 0x3,
    .inplace_d_in = 0x3,
    .infer = act_gate_infer,
};

/* ---- one number per row --------------------------------------------------------------------- */

static kern_status row_dot_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                 kern_error *err)
{
    (void)attr;
    KERN_TRY(kern_check_nonempty("row_dot", "the first input", in[0], err));
    KERN_TRY(kern_check_shape("row_dot", "the second input", in[1], in[0], err));
    out[0] = (kern_shape){in[0].rows, 1};
    return KERN_OK;
}

const kern_op kern_op_row_dot = {
    .name = "row_dot",
    .n_in = 2,
    .n_out = 1,
    .reads_in = 0x3,
    .infer = row_dot_infer,
};

static kern_status row_sumsq_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                   kern_error *err)
{
    (void)attr;
    KERN_TRY(kern_check_nonempty("row_sumsq", "the input", in[0], err));
    out[0] = (kern_shape){in[0].rows, 1};
    return KERN_OK;
}

const kern_op kern_op_row_sumsq = {
    .name = "row_sumsq",
    .n_in = 1,
    .n_out = 1,
    .reads_in = 0x1,
    .infer = row_sumsq_infer,
};

static kern_status row_combine_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                     kern_error *err)
{
    (void)attr;
    KERN_TRY(kern_check_nonempty("row_combine", "the input", in[0], err));
    out[0] = (kern_shape){in[0].rows, 1};
    return KERN_OK;
}

const kern_op kern_op_row_combine = {
    .name = "row_combine",
    .n_in = 1,
    .n_out = 1,
    .infer = row_combine_infer,
};

/* ---- affine_add ----------------------------------------------------------------------------- */

static kern_status affine_add_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                    kern_error *err)
{
    if (attr->affine.power != 1 && attr->affine.power != 2) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "affine_add: the power is %d, where 1 or 2 is needed",
                          attr->affine.power);
    }
    if (attr->affine.softplus && kern_shape_is_absent(in[3])) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "affine_add: the gain is absent, which has no softplus");
    }
    KERN_TRY(kern_check_nonempty("affine_add", "the second input", in[1], err));
    KERN_TRY(kern_check_optional("affine_add", "the first input", in[0], in[1], err));
    KERN_TRY(kern_check_optional("affine_add", "the scalar", in[2], (kern_shape){1, 1}, err));
    KERN_TRY(
        kern_check_optional("affine_add", "the gain", in[3], (kern_shape){1, in[1].cols}, err));
    out[0] = in[1];
    return KERN_OK;
}

/* softplus δ, its derivative, and a tangent of it. */
static size_t affine_add_scratch(const kern_attr *attr, const kern_shape *in, const kern_shape *out)
{
    (void)out;
    return attr->affine.softplus ? 3 * in[1].cols : 0;
}

const kern_op kern_op_affine_add = {
    .name = "affine_add",
    .n_in = 4,
    .n_out = 1,
    .optional_in = 0xD,
    .reads_in = 0xE,
    .inplace_in = 0x3,
    .inplace_d_in = 0x3,
    .infer = affine_add_infer,
    .scratch = affine_add_scratch,
};

/* ---- dropout -------------------------------------------------------------------------------- */

static kern_status dropout_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                 kern_error *err)
{
    if (!(attr->dropout.p >= 0 && attr->dropout.p < 1)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "dropout: the probability is %g, where at least 0 and less than 1 is "
                          "needed",
                          attr->dropout.p);
    }
    KERN_TRY(kern_check_nonempty("dropout", "the input", in[0], err));
    out[0] = in[0];
    return KERN_OK;
}

const kern_op kern_op_dropout = {
    .name = "dropout",
    .n_in = 1,
    .n_out = 1,
    .inplace_in = 0x1,
    .inplace_d_in = 0x1,
    .infer = dropout_infer,
};
