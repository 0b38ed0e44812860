/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Descriptions of the operations that are matrix products: shapes, work, scratch.
 */
#include "kernels/kern_attention.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_op.h"
#include "kernels/kern_op_check.h"
#include "kernels/kern_size.h"

/* An optional input that is absent or rows × cols. */
static bool suits(kern_shape s, size_t rows, size_t cols)
{
    return s.rows == 0 || kern_shape_is_shape(s, rows, cols);
}

static kern_status linear_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                kern_error *err)
{
    const bool plain = attr->linear.plain;
    const size_t inner = plain ? in[1].rows : in[1].cols;
    const size_t outer = plain ? in[1].cols : in[1].rows;
    if (in[0].cols != inner) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a linear map of %zu inputs cannot take rows of %zu", inner, in[0].cols);
    }
    if (!suits(in[2], 1, outer)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a linear map of %zu outputs cannot take a bias of %zu × %zu", outer,
                          in[2].rows, in[2].cols);
    }
    if (!suits(in[3], in[0].rows, outer)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a linear map to %zu × %zu cannot add to %zu × %zu", in[0].rows, outer,
                          in[3].rows, in[3].cols);
    }
    out[0] = (kern_shape){in[0].rows, outer};
    return KERN_OK;
}

static double linear_flops(const kern_attr *attr, const kern_shape *in, const kern_shape *out)
{
    (void)attr;
    (void)out;
    return 2.0 * (double)in[0].rows * (double)in[1].rows * (double)in[1].cols;
}

/* For the weight's gradient. */
static size_t linear_scratch(const kern_attr *attr, const kern_shape *in, const kern_shape *out)
{
    (void)attr;
    (void)out;
    return kern_gemm_scratch_size(in[1].rows, in[1].cols, in[0].rows);
}

/* The addend may give its memory to y, and its cotangent is ȳ itself. */
const kern_op kern_op_linear = {
    .name = "linear",
    .n_in = 4,
    .n_out = 1,
    .optional_in = 0xC,
    .reads_in = 0x3,
    .inplace_in = 0x8,
    .inplace_d_in = 0x8,
    .stacks_tangents = true,
    .infer = linear_infer,
    .flops = linear_flops,
    .scratch = linear_scratch,
};

/* ---- attention, interaction ------------------------------------------------------------------ */

/* What attention mixes: its keys where there are no values. */
static kern_shape values_of(const kern_shape *in)
{
    return in[2].rows == 0 ? in[1] : in[2];
}

/* Outputs of attention and context: the mix of values of `cols` columns, ℓ, diagonal, weights. */
static void set_outputs(const kern_attention_attr *a, size_t rows, size_t cols, kern_shape weights,
                        kern_shape *out)
{
    out[0] = (kern_shape){rows, a->sum_heads ? cols / a->heads : cols};
    out[1] = (kern_shape){rows, a->heads};
    out[2] = (kern_shape){rows, a->heads};
    out[3] = weights;
}

/* Pairs of tokens inside the mask, of all sequences that `rows` make. */
static double pairs_of(const kern_attention_attr *a, size_t rows)
{
    const double n = (double)a->tokens;
    const double pairs = a->strict ? n * (n - 1) / 2 : n * (n + 1) / 2;
    return pairs * (double)(rows / a->tokens);
}

static kern_status attention_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                   kern_error *err)
{
    const kern_attention_attr *a = &attr->attention;
    const size_t rows = in[0].rows;
    if (a->heads == 0 || a->tokens == 0 || rows % a->tokens != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "attention over sequences of %zu tokens cannot take %zu rows", a->tokens,
                          rows);
    }
    const size_t width = a->shared_query ? in[0].cols : in[0].cols / a->heads;
    size_t wide = 0;
    if ((!a->shared_query && in[0].cols % a->heads != 0) || width == 0 ||
        !kern_size_mul(width, a->heads, &wide) || in[1].cols != wide || in[1].rows != rows) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "attention with %zu heads cannot pair queries %zu × %zu with keys "
                          "%zu × %zu",
                          a->heads, rows, in[0].cols, in[1].rows, in[1].cols);
    }
    const kern_shape values = values_of(in);
    if (values.rows != rows || values.cols == 0 || values.cols % a->heads != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "attention with %zu heads cannot mix values %zu × %zu", a->heads,
                          values.rows, values.cols);
    }
    set_outputs(a, rows, values.cols, (kern_shape){rows * a->heads, a->tokens}, out);
    return KERN_OK;
}

/* Pairs inside the mask times the two products, for every head. */
static double attention_flops(const kern_attr *attr, const kern_shape *in, const kern_shape *out)
{
    const double widths = (double)in[1].cols + (double)values_of(in).cols;
    (void)out;
    return 2.0 * pairs_of(&attr->attention, in[0].rows) * widths;
}

static size_t attention_scratch(const kern_attr *attr, const kern_shape *in, const kern_shape *out)
{
    const kern_attention_attr *a = &attr->attention;
    (void)out;
    return kern_attention_scratch_size(a->tokens, a->heads, in[1].cols / a->heads,
                                       values_of(in).cols / a->heads);
}

const kern_op kern_op_attention = {
    .name = "attention",
    .n_in = 3,
    .n_out = 4,
    .optional_in = 0x4,
    .saved_out = 0x8,
    .reads_in = 0x7,
    .reads_out = 0x8,
    .infer = attention_infer,
    .flops = attention_flops,
    .scratch = attention_scratch,
};

/* Attention first; then e and c. */
static kern_status interaction_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                     kern_error *err)
{
    const kern_shape e = in[3];
    const kern_shape c = in[4];
    const size_t heads = attr->attention.heads;
    KERN_TRY(attention_infer(attr, in, out, err));
    if (c.rows != in[0].rows || c.cols == 0 || e.rows != in[0].rows ||
        (e.cols != c.cols && (e.cols % heads != 0 || e.cols / heads != c.cols))) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "interaction of %zu rows and %zu heads cannot pair %zu × %zu with %zu × "
                          "%zu; the first is as wide as the second, or that for every head",
                          in[0].rows, heads, e.rows, e.cols, c.rows, c.cols);
    }
    out[4] = e;
    return KERN_OK;
}

/* The diagonal part's two products are as wide as e, once for all heads or once for each. */
static double interaction_flops(const kern_attr *attr, const kern_shape *in, const kern_shape *out)
{
    const double pairs = pairs_of(&attr->attention, in[0].rows);
    return attention_flops(attr, in, out) + 4.0 * pairs * (double)in[3].cols;
}

static size_t interaction_scratch(const kern_attr *attr, const kern_shape *in,
                                  const kern_shape *out)
{
    return attention_scratch(attr, in, out) +
           kern_attention_diagonal_scratch_size(attr->attention.tokens, in[4].cols);
}

const kern_op kern_op_interaction = {
    .name = "interaction",
    .n_in = 5,
    .n_out = 5,
    .optional_in = 0x4,
    .saved_out = 0x8,
    .reads_in = 0x1F,
    .reads_out = 0x8,
    .infer = interaction_infer,
    .flops = interaction_flops,
    .scratch = interaction_scratch,
};

/* ---- context -------------------------------------------------------------------------------- */

static kern_status context_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                 kern_error *err)
{
    const kern_attention_attr *a = &attr->attention;
    const kern_shape q = in[0];
    const kern_shape k = in[1];
    const kern_shape held = in[2];
    size_t weights;
    if (a->heads == 0 || k.rows == 0 || k.cols == 0 || k.cols % a->heads != 0 || q.rows != k.rows ||
        q.cols != (a->shared_query ? k.cols / a->heads : k.cols)) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "context with %zu heads cannot pair queries %zu × %zu with keys %zu × %zu", a->heads,
            q.rows, q.cols, k.rows, k.cols);
    }
    if (held.rows != 0 && held.cols != k.cols) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "context cannot hold keys of %zu numbers beside keys of %zu", held.cols,
                          k.cols);
    }
    if (!kern_size_mul(k.rows, a->heads, &weights)) {
        return kern_raise(err, KERN_OVERFLOW, "context: %zu rows of %zu heads are too many", k.rows,
                          a->heads);
    }
    set_outputs(a, k.rows, k.cols, (kern_shape){weights, held.rows + 1}, out);
    return KERN_OK;
}

/* Scores and mix of every row with the keys it sees. */
static double context_flops(const kern_attr *attr, const kern_shape *in, const kern_shape *out)
{
    const double seen = (double)in[2].rows + (attr->attention.strict ? 0.0 : 1.0);
    (void)out;
    return 4.0 * (double)in[1].rows * (double)in[1].cols * seen;
}

/* Scores of one head of one row. */
static size_t context_scratch(const kern_attr *attr, const kern_shape *in, const kern_shape *out)
{
    (void)attr;
    (void)out;
    return in[2].rows + 1;
}

const kern_op kern_op_context = {
    .name = "context",
    .n_in = 3,
    .n_out = 4,
    .optional_in = 0x4,
    .saved_out = 0x8,
    .reads_in = 0x7,
    .reads_out = 0x8,
    .infer = context_infer,
    .flops = context_flops,
    .scratch = context_scratch,
};

/* ---- head_repeat ---------------------------------------------------------------------------- */

static kern_status head_repeat_infer(const kern_attr *attr, const kern_shape *in, kern_shape *out,
                                     kern_error *err)
{
    const kern_head_repeat_attr *a = &attr->head_repeat;
    size_t cols;
    if (in[0].rows == 0 || in[0].cols == 0 || a->heads == 0 || in[0].cols % a->heads != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "head_repeat: %zu × %zu cannot be shared among %zu heads", in[0].rows,
                          in[0].cols, a->heads);
    }
    if (a->times == 0 || !kern_size_mul(in[0].cols, a->times, &cols)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "head_repeat: %zu columns cannot be repeated %zu times", in[0].cols,
                          a->times);
    }
    out[0] = (kern_shape){in[0].rows, cols};
    return KERN_OK;
}

const kern_op kern_op_head_repeat = {
    .name = "head_repeat",
    .n_in = 1,
    .n_out = 1,
    .infer = head_repeat_infer,
};
