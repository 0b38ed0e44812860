/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * g = γ ⊙ x̂ + δ with x̂ = (x − μ)/σ; see kern_norm_attr. With w = γ ⊙ ḡ and ⟨·⟩ the mean of a row,
 *   x̄ = (w − ⟨w⟩ − x̂ ⟨w x̂⟩)/σ + σ̄ x̂/D      (no ⟨w⟩ in RMSNorm),
 *   γ̄ = Σ_rows ḡ ⊙ x̂,   δ̄ = Σ_rows ḡ.
 * x̂ is recomputed from x, μ and σ.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_norm_row.h"
#include "kernels/kern_rows.h"
#include "kernels/kern_vmath.h"

#include <math.h>

enum { X, GAIN, SHIFT };
enum { G, SIGMA, MU };

/* out = (x − μ)/σ ⊙ gain + shift over one row. */
KERN_INLINE void write_row(kern_real *out, const kern_real *x, const kern_real *gain,
                           const kern_real *shift, kern_real mu, kern_real inverse, size_t cols)
{
    KERN_IVDEP
    for (size_t j = 0; j < cols; j++) {
        const kern_real normal = (x[j] - mu) * inverse;
        const kern_real scaled = gain == NULL ? normal : normal * gain[j];
        out[j] = shift == NULL ? scaled : scaled + shift[j];
    }
}

/* Calls write_row with the presence of gain and shift as constants. */
KERN_INLINE void write_row_any(kern_real *out, const kern_real *x, const kern_real *gain,
                               const kern_real *shift, kern_real mu, kern_real inverse, size_t cols)
{
    if (gain == NULL && shift == NULL) {
        write_row(out, x, NULL, NULL, mu, inverse, cols);
    } else if (gain == NULL) {
        write_row(out, x, NULL, shift, mu, inverse, cols);
    } else if (shift == NULL) {
        write_row(out, x, gain, NULL, mu, inverse, cols);
    } else {
        write_row(out, x, gain, shift, mu, inverse, cols);
    }
}

KERN_HOT static void norm_forward_rows(const kern_call *call, size_t begin, size_t end)
{
    const kern_norm_attr *attr = &call->attr->norm;
    const size_t cols = call->in[X].cols;
    const double count = (double)cols;
    kern_real *sigmas = call->out[SIGMA].data;
    kern_real *mus = call->out[MU].data;
    for (size_t r = begin; r < end; r++) {
        const kern_real *x = kern_norm_row(call->in[X], r, cols);
        const double mu =
            attr->kind == KERN_RMSNORM ? 0.0 : KERN_NAME(kern_vmath_sum)(x, cols) / count;
        const double sum = KERN_NAME(kern_vmath_sumsq)(x, mu, cols);
        const double sigma = sqrt(sum / count + attr->epsilon);
        if (call->out[G].data != NULL) {
            write_row_any((kern_real *)call->out[G].data + r * cols, x, call->in[GAIN].data,
                          call->in[SHIFT].data, (kern_real)mu, (kern_real)(1.0 / sigma), cols);
        }
        if (sigmas != NULL) {
            sigmas[r] = (kern_real)sigma;
        }
        if (mus != NULL) {
            mus[r] = (kern_real)mu;
        }
    }
}

static void norm_forward(const kern_call *call)
{
    kern_range_run(call, call->in[X].rows, 1, norm_forward_rows);
}

/* x̄ of one row; g is ḡ, or NULL when only σ has a cotangent. */
KERN_INLINE void vjp_row(const kern_call *call, size_t r, const kern_real *g, const kern_real *gain,
                         bool add)
{
    const size_t cols = call->in[X].cols;
    const double count = (double)cols;
    const kern_real *x = kern_norm_row(call->in[X], r, cols);
    const double mu = (double)*kern_norm_row(call->out[MU], r, 1);
    const double sigma = (double)*kern_norm_row(call->out[SIGMA], r, 1);
    const kern_real *d_sigma = kern_norm_row(call->d_out[SIGMA], r, 1);
    double moments[2];
    kern_norm_moments(x, g, gain, mu, cols, moments);
    const bool centred = call->attr->norm.kind == KERN_LAYERNORM;
    const double of_sigma = d_sigma == NULL ? 0.0 : (double)*d_sigma / (count * sigma);
    const kern_norm_mix mix = {
        .p = (kern_real)(1.0 / sigma),
        .q = centred ? (kern_real)(moments[0] / (count * sigma)) : 0,
        .s = (kern_real)(moments[1] / (count * sigma * sigma * sigma) - of_sigma),
        .mu = (kern_real)mu,
    };
    kern_norm_mix_row((kern_real *)call->d_in[X].data + r * cols, x, g, gain, mix, cols, add);
}

/* x̄ = σ̄ x̂/D: the same when g has no cotangent. */
KERN_INLINE void vjp_row_sigma(const kern_call *call, size_t r)
{
    const size_t cols = call->in[X].cols;
    const kern_real *x = kern_norm_row(call->in[X], r, cols);
    const double sigma = (double)*kern_norm_row(call->out[SIGMA], r, 1);
    const kern_real mu = *kern_norm_row(call->out[MU], r, 1);
    const kern_real k =
        (kern_real)((double)*kern_norm_row(call->d_out[SIGMA], r, 1) / ((double)cols * sigma));
    kern_real *dx = (kern_real *)call->d_in[X].data + r * cols;
    for (size_t j = 0; j < cols; j++) {
        dx[j] = (call->accumulate[X] ? dx[j] : 0) + k * (x[j] - mu);
    }
}

KERN_HOT static void norm_vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[X].cols;
    const kern_real *gain = call->in[GAIN].data;
    const bool add = call->accumulate[X];
    for (size_t r = begin; r < end; r++) {
        const kern_real *g = kern_norm_row(call->d_out[G], r, cols);
        if (g == NULL) {
            vjp_row_sigma(call, r);
        } else if (gain == NULL && add) {
            vjp_row(call, r, g, NULL, true);
        } else if (gain == NULL) {
            vjp_row(call, r, g, NULL, false);
        } else {
            vjp_row(call, r, g, gain, add);
        }
    }
}

/* γ̄ and δ̄ for columns begin … end − 1, each summed over the rows in order. */
KERN_HOT static void norm_vjp_columns(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[X].cols;
    kern_real *d_gain = call->d_in[GAIN].data;
    kern_real *d_shift = call->d_in[SHIFT].data;
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        double gain_sum[KERN_BLOCK] = {0};
        double shift_sum[KERN_BLOCK] = {0};
        for (size_t r = 0; r < call->in[X].rows; r++) {
            const kern_real *g = kern_norm_row(call->d_out[G], r, cols) + at;
            if (d_shift != NULL) {
                for (size_t j = 0; j < n; j++) {
                    shift_sum[j] += (double)g[j];
                }
            }
            if (d_gain != NULL) {
                const kern_real *x = kern_norm_row(call->in[X], r, cols) + at;
                const kern_real mu = *kern_norm_row(call->out[MU], r, 1);
                const kern_real inverse = KERN_R(1.0) / *kern_norm_row(call->out[SIGMA], r, 1);
                for (size_t j = 0; j < n; j++) {
                    gain_sum[j] += (double)(g[j] * ((x[j] - mu) * inverse));
                }
            }
        }
        for (size_t j = 0; d_gain != NULL && j < n; j++) {
            d_gain[at + j] += (kern_real)gain_sum[j];
        }
        for (size_t j = 0; d_shift != NULL && j < n; j++) {
            d_shift[at + j] += (kern_real)shift_sum[j];
        }
    }
}

/* Parameters first: x̄ may take the memory of ḡ. */
static void norm_vjp(const kern_call *call)
{
    const bool has_g = call->d_out[G].data != NULL;
    if (!has_g && call->d_out[SIGMA].data == NULL) {
        kern_clear_cotangents(call);
        return;
    }
    kern_clear_cotangent(call, GAIN);
    kern_clear_cotangent(call, SHIFT);
    if (has_g && (call->d_in[GAIN].data != NULL || call->d_in[SHIFT].data != NULL)) {
        kern_range_run(call, call->in[X].cols, 64, norm_vjp_columns);
    }
    if (call->d_in[X].data != NULL) {
        kern_range_run(call, call->in[X].rows, 1, norm_vjp_rows);
    }
}

/* ġ = γ ⊙ (ẋ − ⟨ẋ⟩ − x̂ ⟨ẋ x̂⟩)/σ + γ̇ ⊙ x̂ + δ̇ and σ̇ = ⟨ẋ x̂⟩ for one row. */
KERN_INLINE void jvp_row(const kern_call *call, size_t r)
{
    const size_t cols = call->in[X].cols;
    const double count = (double)cols;
    const kern_real *x = kern_norm_row(call->in[X], r, cols);
    const kern_real *dx = kern_norm_row(call->d_in[X], r, cols);
    const kern_real *gain = call->in[GAIN].data;
    const double mu = (double)*kern_norm_row(call->out[MU], r, 1);
    const double sigma = (double)*kern_norm_row(call->out[SIGMA], r, 1);
    kern_real *dg = (kern_real *)call->d_out[G].data;
    kern_real *d_sigma = call->d_out[SIGMA].data;
    double moments[2] = {0, 0};
    if (dx != NULL) {
        kern_norm_moments(x, dx, NULL, mu, cols, moments);
    }
    if (d_sigma != NULL) {
        d_sigma[r] = (kern_real)(moments[1] / (count * sigma));
    }
    if (dg == NULL) {
        return;
    }
    dg += r * cols;
    const kern_real mean =
        call->attr->norm.kind == KERN_LAYERNORM ? (kern_real)(moments[0] / count) : 0;
    const kern_real along = (kern_real)(moments[1] / (count * sigma * sigma));
    const kern_real inverse = (kern_real)(1.0 / sigma);
    KERN_IVDEP
    for (size_t j = 0; j < cols; j++) {
        const kern_real centred = x[j] - (kern_real)mu;
        const kern_real tangent = dx == NULL ? 0 : (dx[j] - mean - along * centred) * inverse;
        dg[j] = gain == NULL ? tangent : tangent * gain[j];
    }
}

KERN_HOT static void norm_jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[X].cols;
    const kern_real *d_gain = call->d_in[GAIN].data;
    const kern_real *d_shift = call->d_in[SHIFT].data;
    for (size_t r = begin; r < end; r++) {
        jvp_row(call, r);
        kern_real *dg = (kern_real *)call->d_out[G].data;
        if (dg != NULL && d_gain != NULL) {
            const kern_real *x = kern_norm_row(call->in[X], r, cols);
            const kern_real mu = *kern_norm_row(call->out[MU], r, 1);
            const kern_real inverse = KERN_R(1.0) / *kern_norm_row(call->out[SIGMA], r, 1);
            for (size_t j = 0; j < cols; j++) {
                dg[r * cols + j] += d_gain[j] * ((x[j] - mu) * inverse);
            }
        }
        if (dg != NULL && d_shift != NULL) {
            kern_block_scale(dg + r * cols, d_shift, KERN_R(1.0), cols, true);
        }
    }
}

static void norm_jvp(const kern_call *call)
{
    kern_range_run(call, call->in[X].rows, 1, norm_jvp_rows);
}

const kern_op_kernels KERN_NAME(kern_op_norm_kernels) = {
    .forward = norm_forward,
    .vjp = norm_vjp,
    .jvp = norm_jvp,
};
