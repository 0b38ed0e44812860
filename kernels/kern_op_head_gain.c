/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One gain vector per head; see kern_head_gain_attr. Spreading and folding are each other's
 * transposes: with S_γ x = (γ_h ⊙ x)_h and F_γ x = Σ_h γ_h ⊙ x_h,
 *   spread: x̄ = F_γ ȳ, ẏ = S_γ ẋ + S_γ̇ x;   fold: x̄ = S_γ ȳ, ẏ = F_γ ẋ + F_γ̇ x;
 * and γ̄_h = Σ_rows narrow ⊙ wide_h, of the input and the cotangent whichever is which.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_rows.h"

enum { X, GAIN };

/* to_h (+)= γ_h ⊙ from over one row of `cols` to heads·cols. */
KERN_INLINE void spread_row(kern_real *to, const kern_real *from, const kern_real *gain,
                            size_t heads, size_t cols, bool add)
{
    for (size_t h = 0; h < heads; h++) {
        KERN_IVDEP
        for (size_t j = 0; j < cols; j++) {
            const kern_real value = gain[h * cols + j] * from[j];
            to[h * cols + j] = add ? to[h * cols + j] + value : value;
        }
    }
}

/* to (+)= Σ_h γ_h ⊙ from_h over one row of heads·cols to `cols`. */
KERN_INLINE void fold_row(kern_real *to, const kern_real *from, const kern_real *gain, size_t heads,
                          size_t cols, bool add)
{
    for (size_t h = 0; h < heads; h++) {
        const bool start = h == 0 && !add;
        KERN_IVDEP
        for (size_t j = 0; j < cols; j++) {
            const kern_real value = gain[h * cols + j] * from[h * cols + j];
            to[j] = start ? value : to[j] + value;
        }
    }
}

/* Rows begin … end − 1 of to (+)= S_γ from or F_γ from. */
KERN_INLINE void map_rows(const kern_call *call, kern_view to, kern_view from,
                          const kern_real *gain, bool fold, bool add, size_t begin, size_t end)
{
    const size_t heads = call->attr->head_gain.heads;
    const size_t cols = fold ? to.cols : from.cols;
    for (size_t r = begin; r < end; r++) {
        kern_real *out = (kern_real *)to.data + r * to.cols;
        const kern_real *in = (const kern_real *)from.data + r * from.cols;
        if (fold) {
            fold_row(out, in, gain, heads, cols, add);
        } else {
            spread_row(out, in, gain, heads, cols, add);
        }
    }
}

KERN_HOT static void forward_rows(const kern_call *call, size_t begin, size_t end)
{
    map_rows(call, call->out[0], call->in[X], call->in[GAIN].data, call->attr->head_gain.fold,
             false, begin, end);
}

static void head_gain_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        kern_range_run(call, call->out[0].rows, 1, forward_rows);
    }
}

KERN_HOT static void vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    map_rows(call, call->d_in[X], call->d_out[0], call->in[GAIN].data, !call->attr->head_gain.fold,
             call->accumulate[X], begin, end);
}

/* γ̄'s elements begin … end − 1 of H·D, each summed over the rows in order. */
KERN_HOT static void gain_gradient(const kern_call *call, size_t begin, size_t end)
{
    const bool fold = call->attr->head_gain.fold;
    const kern_view narrow = fold ? call->d_out[0] : call->in[X];
    const kern_view wide = fold ? call->in[X] : call->d_out[0];
    kern_real *d_gain = call->d_in[GAIN].data;
    size_t n = 0;
    for (size_t at = begin; at < end; at += n) {
        const size_t column = at % narrow.cols;
        const size_t rest = kern_block_size(at, end);
        double sum[KERN_BLOCK] = {0};
        n = rest < narrow.cols - column ? rest : narrow.cols - column;
        for (size_t r = 0; r < narrow.rows; r++) {
            const kern_real *a = (const kern_real *)narrow.data + r * narrow.cols + column;
            const kern_real *b = (const kern_real *)wide.data + r * wide.cols + at;
            for (size_t j = 0; j < n; j++) {
                sum[j] += (double)a[j] * (double)b[j];
            }
        }
        for (size_t j = 0; j < n; j++) {
            d_gain[at + j] += (kern_real)sum[j];
        }
    }
}

static void head_gain_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        kern_clear_cotangents(call);
        return;
    }
    kern_clear_cotangent(call, GAIN);
    if (call->d_in[GAIN].data != NULL) {
        kern_range_run(call, call->in[GAIN].rows * call->in[GAIN].cols, 64, gain_gradient);
    }
    if (call->d_in[X].data != NULL) {
        kern_range_run(call, call->in[X].rows, 1, vjp_rows);
    }
}

KERN_HOT static void jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    const bool fold = call->attr->head_gain.fold;
    const kern_view to = call->d_out[0];
    if (call->d_in[X].data != NULL) {
        map_rows(call, to, call->d_in[X], call->in[GAIN].data, fold, false, begin, end);
    } else {
        kern_block_clear((kern_real *)to.data + begin * to.cols, (end - begin) * to.cols);
    }
    if (call->d_in[GAIN].data != NULL) {
        map_rows(call, to, call->in[X], call->d_in[GAIN].data, fold, true, begin, end);
    }
}

static void head_gain_jvp(const kern_call *call)
{
    if (call->d_out[0].data != NULL) {
        kern_range_run(call, call->d_out[0].rows, 1, jvp_rows);
    }
}

const kern_op_kernels KERN_NAME(kern_op_head_gain_kernels) = {
    .forward = head_gain_forward,
    .vjp = head_gain_vjp,
    .jvp = head_gain_jvp,
};
