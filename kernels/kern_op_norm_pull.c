/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The transposed Jacobian of norm; see norm_pull in kern_op.h. Without the gain the Jacobian
 *   J v = (v − ⟨v⟩ − x̂ ⟨v x̂⟩)/σ       (no ⟨v⟩ in RMSNorm)
 * is symmetric, so out = J w with w = γ ⊙ f, and with a = ō, p = J a, o = J w:
 *   f̄ = γ ⊙ p,   γ̄ = Σ_rows f ⊙ p,   x̄ = −(⟨a o⟩ x̂ + ⟨w x̂⟩ p + ⟨a x̂⟩ o)/σ,
 *   ȯ = J ẇ − (⟨x̂ ẋ⟩ o + ⟨w x̂⟩ J ẋ + ⟨o ẋ⟩ x̂)/σ,   ẇ = γ̇ ⊙ f + γ ⊙ ḟ,
 * since x̂ moves by J ẋ and σ by ⟨x̂ ẋ⟩. Everything is a combination, with coefficients of the row,
 * of vectors at hand; the coefficients are double.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_norm_row.h"
#include "kernels/kern_rows.h"
#include "kernels/kern_vmath.h"

#include <math.h>

enum { X, GAIN, F };

/* ⟨v⟩, 0 in RMSNorm, and ⟨v x̂⟩. */
typedef struct row_means {
    double one;
    double along;
} row_means;

typedef struct pull_row {
    const kern_real *x;
    const kern_real *f;
    const kern_real *gain;
    size_t cols;
    bool centred;
    double mu;
    double sigma;
    row_means w;
} pull_row;

/* Means of gain ⊙ v. */
KERN_INLINE row_means means_of(const pull_row *row, const kern_real *v, const kern_real *gain)
{
    double sums[2];
    kern_norm_moments(row->x, v, gain, row->mu, row->cols, sums);
    return (row_means){.one = row->centred ? sums[0] / (double)row->cols : 0,
                       .along = sums[1] / ((double)row->cols * row->sigma)};
}

/* ⟨v w⟩. */
KERN_INLINE double mean_with_w(const pull_row *row, const kern_real *v)
{
    double sums[2];
    kern_norm_moments(v, row->f, row->gain, 0, row->cols, sums);
    return sums[1] / (double)row->cols;
}

/* ⟨v, J w⟩/D from the means of v. */
KERN_INLINE double mean_with_output(const pull_row *row, const kern_real *v, row_means m)
{
    return (mean_with_w(row, v) - m.one * row->w.one - m.along * row->w.along) / row->sigma;
}

KERN_INLINE pull_row open_row(const kern_call *call, size_t r)
{
    const size_t cols = call->in[X].cols;
    pull_row row = {.x = kern_norm_row(call->in[X], r, cols),
                    .f = kern_norm_row(call->in[F], r, cols),
                    .gain = call->in[GAIN].data,
                    .cols = cols,
                    .centred = call->attr->norm.kind == KERN_LAYERNORM};
    row.mu = row.centred ? KERN_NAME(kern_vmath_sum)(row.x, cols) / (double)cols : 0;
    const double sum = KERN_NAME(kern_vmath_sumsq)(row.x, row.mu, cols);
    row.sigma = sqrt(sum / (double)cols + call->attr->norm.epsilon);
    row.w = means_of(&row, row.f, row.gain);
    return row;
}

/* out (+)= factor · gain ⊙ v − offset − slope · (x − μ). */
typedef struct combination {
    double factor;
    double offset;
    double slope;
} combination;

KERN_INLINE void combine(const pull_row *row, kern_real *out, const kern_real *v,
                         const kern_real *gain, combination k, bool add)
{
    const kern_norm_mix mix = {.p = (kern_real)k.factor,
                               .q = (kern_real)k.offset,
                               .s = (kern_real)k.slope,
                               .mu = (kern_real)row->mu};
    kern_norm_mix_row(out, row->x, v, gain, mix, row->cols, add);
}

/* k J (gain ⊙ v) from the means of gain ⊙ v. */
KERN_INLINE combination jacobian(const pull_row *row, row_means m, double k)
{
    return (combination){.factor = k / row->sigma,
                         .offset = k * m.one / row->sigma,
                         .slope = k * m.along / (row->sigma * row->sigma)};
}

KERN_HOT static void forward_rows(const kern_call *call, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) {
        const pull_row row = open_row(call, r);
        combine(&row, (kern_real *)call->out[0].data + r * row.cols, row.f, row.gain,
                jacobian(&row, row.w, 1), false);
    }
}

static void norm_pull_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        kern_range_run(call, call->out[0].rows, 1, forward_rows);
    }
}

/* x̄ = of_a a + of_w w + of_u (x − μ) + constant and f̄ = γ ⊙ (factor a − offset − slope (x − μ)).
 */
typedef struct cotangent_mix {
    kern_real mu;
    kern_real of_a;
    kern_real of_w;
    kern_real of_u;
    kern_real constant;
    kern_real factor;
    kern_real offset;
    kern_real slope;
} cotangent_mix;

KERN_INLINE cotangent_mix cotangents_of(const pull_row *row, const kern_real *a)
{
    const row_means m = means_of(row, a, NULL);
    const double across = mean_with_output(row, a, m);
    const double inverse = 1 / row->sigma;
    const double square = inverse * inverse;
    const combination j = jacobian(row, m, 1);
    return (cotangent_mix){
        .mu = (kern_real)row->mu,
        .of_a = (kern_real)(-row->w.along * square),
        .of_w = (kern_real)(-m.along * square),
        .of_u = (kern_real)((2 * row->w.along * m.along * inverse - across) * square),
        .constant = (kern_real)((row->w.along * m.one + m.along * row->w.one) * square),
        .factor = (kern_real)j.factor,
        .offset = (kern_real)j.offset,
        .slope = (kern_real)j.slope};
}

/* Elements at … at + n − 1 of one row; each is read before it is written, since x̄ or f̄ may lie
 * where ō does. */
KERN_INLINE void cotangent_block(const pull_row *row, cotangent_mix k, const kern_real *a,
                                 kern_real *dx, kern_real *df, size_t at, size_t n)
{
    KERN_IVDEP
    for (size_t i = 0; i < n; i++) {
        const kern_real g = row->gain == NULL ? KERN_R(1.0) : row->gain[at + i];
        const kern_real u = row->x[at + i] - k.mu;
        const kern_real cotangent = a[at + i];
        const kern_real w = g * row->f[at + i];
        const kern_real for_x = k.of_a * cotangent + k.of_w * w + k.of_u * u + k.constant;
        const kern_real for_f = g * (k.factor * cotangent - k.offset - k.slope * u);
        dx[i] = for_x;
        df[i] = for_f;
    }
}

KERN_HOT static void vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    kern_sink sinks[2];
    for (size_t r = begin; r < end; r++) {
        const pull_row row = open_row(call, r);
        const kern_real *a = kern_norm_row(call->d_out[0], r, row.cols);
        const cotangent_mix k = cotangents_of(&row, a);
        for (size_t at = 0; at < row.cols; at += KERN_BLOCK) {
            const size_t n = kern_block_size(at, row.cols);
            const size_t place = r * row.cols + at;
            kern_real *dx = kern_sink_open(&sinks[0], call->d_in[X], call->accumulate[X], place);
            kern_real *df = kern_sink_open(&sinks[1], call->d_in[F], call->accumulate[F], place);
            cotangent_block(&row, k, a, dx, df, at, n);
            kern_sink_close(&sinks[0], n);
            kern_sink_close(&sinks[1], n);
        }
    }
}

/* γ̄ for columns begin … end − 1, each summed over the rows in order. A row's means are taken anew
 * for each run of columns, which is therefore long. */
enum { GAIN_COLUMNS = 4 * KERN_BLOCK };

KERN_HOT static void vjp_columns(const kern_call *call, size_t begin, size_t end)
{
    kern_real *d_gain = call->d_in[GAIN].data;
    for (size_t at = begin; at < end; at += GAIN_COLUMNS) {
        const size_t n = end - at < GAIN_COLUMNS ? end - at : GAIN_COLUMNS;
        double sum[GAIN_COLUMNS] = {0};
        for (size_t r = 0; r < call->in[X].rows; r++) {
            const pull_row row = open_row(call, r);
            const kern_real *a = kern_norm_row(call->d_out[0], r, row.cols);
            const combination k = jacobian(&row, means_of(&row, a, NULL), 1);
            for (size_t j = 0; j < n; j++) {
                const double u = (double)row.x[at + j] - row.mu;
                const double p = k.factor * (double)a[at + j] - k.offset - k.slope * u;
                sum[j] += (double)row.f[at + j] * p;
            }
        }
        for (size_t j = 0; j < n; j++) {
            d_gain[at + j] += (kern_real)sum[j];
        }
    }
}

/* The gain first: x̄ or f̄ may take the memory of ō. */
static void norm_pull_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        kern_clear_cotangents(call);
        return;
    }
    kern_clear_cotangent(call, GAIN);
    if (call->d_in[GAIN].data != NULL) {
        kern_range_run(call, call->in[X].cols, 64, vjp_columns);
    }
    if (call->d_in[X].data != NULL || call->d_in[F].data != NULL) {
        kern_range_run(call, call->in[X].rows, 1, vjp_rows);
    }
}

/* What ẋ does to one row, added. */
KERN_INLINE void add_motion(const pull_row *row, kern_real *out, const kern_real *dx)
{
    const row_means m = means_of(row, dx, NULL);
    const double with_output = mean_with_output(row, dx, m);
    const combination of_w = jacobian(row, row->w, -m.along / row->sigma);
    combination of_dx = jacobian(row, m, -row->w.along / row->sigma);
    of_dx.slope += with_output / (row->sigma * row->sigma);
    combine(row, out, row->f, row->gain, of_w, true);
    combine(row, out, dx, NULL, of_dx, true);
}

KERN_HOT static void jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    const kern_real *d_gain = call->d_in[GAIN].data;
    for (size_t r = begin; r < end; r++) {
        const pull_row row = open_row(call, r);
        const kern_real *dx = kern_norm_row(call->d_in[X], r, row.cols);
        const kern_real *df = kern_norm_row(call->d_in[F], r, row.cols);
        kern_real *out = (kern_real *)call->d_out[0].data + r * row.cols;
        kern_block_clear(out, row.cols);
        if (df != NULL) {
            const row_means m = means_of(&row, df, row.gain);
            combine(&row, out, df, row.gain, jacobian(&row, m, 1), true);
        }
        if (d_gain != NULL) {
            const row_means m = means_of(&row, row.f, d_gain);
            combine(&row, out, row.f, d_gain, jacobian(&row, m, 1), true);
        }
        if (dx != NULL) {
            add_motion(&row, out, dx);
        }
    }
}

static void norm_pull_jvp(const kern_call *call)
{
    if (call->d_out[0].data != NULL) {
        kern_range_run(call, call->d_out[0].rows, 1, jvp_rows);
    }
}

const kern_op_kernels KERN_NAME(kern_op_norm_pull_kernels) = {
    .forward = norm_pull_forward,
    .vjp = norm_pull_vjp,
    .jvp = norm_pull_jvp,
};
