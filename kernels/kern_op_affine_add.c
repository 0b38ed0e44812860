/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * out = a + scale · s^power · (f ⊙ γ); see kern_affine_attr. With k = scale · s^power:
 *   ā += ō,  f̄ += k γ ⊙ ō,  γ̄ += k Σ_rows f ⊙ ō,  s̄ += scale · power · s^(power−1) Σ ō·(f ⊙ γ).
 * With γ = softplus δ, the kernels run on γ in scratch, and γ̄ and γ̇ are joined to δ's by σ(δ).
 */
#include "kernels/kern_block.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_rows.h"
#include "kernels/kern_vmath.h"

enum { A, F, S, GAIN };

/* s̄ is summed in this many groups of rows, whatever the number of workers, and the groups in
 * order. */
enum { GROUPS = 64 };

/* s, 1 when absent. */
static double scalar_of(const kern_call *call)
{
    const kern_real *s = call->in[S].data;
    return s == NULL ? 1.0 : (double)*s;
}

/* scale · s^power. */
static kern_real coefficient(const kern_call *call)
{
    const double s = scalar_of(call);
    return (kern_real)(call->attr->affine.scale * (call->attr->affine.power == 2 ? s * s : s));
}

/* ∂(scale · s^power)/∂s. */
static double coefficient_slope(const kern_call *call)
{
    const double scale = call->attr->affine.scale;
    return call->attr->affine.power == 2 ? 2 * scale * scalar_of(call) : scale;
}

/* γ = softplus δ, its slope σ(δ), and γ̇, in scratch; what a call with a plain gain has no need of.
 */
enum { SOFT_GAIN, SOFT_SLOPE, SOFT_TANGENT };

static kern_real *soft_row(const kern_call *call, size_t which)
{
    return (kern_real *)call->scratch + which * call->in[F].cols;
}

/* The same call with γ in place of δ. */
static kern_call with_plain_gain(const kern_call *call)
{
    kern_call plain = *call;
    if (call->attr->affine.softplus) {
        plain.in[GAIN].data = soft_row(call, SOFT_GAIN);
        KERN_NAME(kern_vmath_fn)
        (KERN_FN_SOFTPLUS, plain.in[GAIN].data, soft_row(call, SOFT_SLOPE), NULL,
         call->in[GAIN].data, call->in[F].cols);
    }
    return plain;
}

/* Rows of to = base + k f ⊙ gain; base and gain may be absent (0 and 1). */
KERN_INLINE void combine_rows(kern_real *to, const kern_real *base, const kern_real *f,
                              const kern_real *gain, kern_real k, size_t cols, size_t rows)
{
    for (size_t r = 0; r < rows; r++) {
        const size_t at = r * cols;
        KERN_IVDEP
        for (size_t j = 0; j < cols; j++) {
            const kern_real g = gain == NULL ? KERN_R(1.0) : gain[j];
            const kern_real b = base == NULL ? KERN_R(0.0) : base[at + j];
            to[at + j] = b + k * g * f[at + j];
        }
    }
}

KERN_HOT static void affine_forward_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[F].cols;
    const size_t at = begin * cols;
    const kern_real *a = call->in[A].data;
    combine_rows((kern_real *)call->out[0].data + at, a == NULL ? NULL : a + at,
                 (const kern_real *)call->in[F].data + at, call->in[GAIN].data, coefficient(call),
                 cols, end - begin);
}

static void affine_forward(const kern_call *call)
{
    if (call->out[0].data != NULL) {
        const kern_call plain = with_plain_gain(call);
        kern_range_run(&plain, plain.out[0].rows, 1, affine_forward_rows);
    }
}

/* γ̄ for columns begin … end − 1, each summed over the rows in order. */
KERN_HOT static void gain_gradient(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[F].cols;
    const kern_real *f = call->in[F].data;
    const kern_real *dy = call->d_out[0].data;
    kern_real *d_gain = call->d_in[GAIN].data;
    const kern_real *slope = call->attr->affine.softplus ? soft_row(call, SOFT_SLOPE) : NULL;
    const double k = (double)coefficient(call);
    for (size_t at = begin; at < end; at += KERN_BLOCK) {
        const size_t n = kern_block_size(at, end);
        double sum[KERN_BLOCK] = {0};
        for (size_t r = 0; r < call->in[F].rows; r++) {
            const size_t first = r * cols + at;
            for (size_t j = 0; j < n; j++) {
                sum[j] += (double)f[first + j] * (double)dy[first + j];
            }
        }
        for (size_t j = 0; j < n; j++) {
            const double chain = slope == NULL ? 1.0 : (double)slope[at + j];
            d_gain[at + j] += (kern_real)(k * sum[j] * chain);
        }
    }
}

typedef struct scalar_task {
    const kern_call *call;
    double partial[GROUPS];
} scalar_task;

/* Σ ō·(f ⊙ γ) of one row, in interleaved sums. */
KERN_HOT static double row_triple(const kern_real *dy, const kern_real *f, const kern_real *gain,
                                  size_t cols)
{
    enum { LANES = 16 };
    double lane[LANES] = {0};
    size_t j = 0;
    for (; j + LANES <= cols; j += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            lane[l] += (double)(f[j + l] * gain[j + l]) * (double)dy[j + l];
        }
    }
    for (size_t l = 0; j + l < cols; l++) {
        lane[l] += (double)(f[j + l] * gain[j + l]) * (double)dy[j + l];
    }
    double total = 0;
    for (size_t l = 0; l < LANES; l++) {
        total += lane[l];
    }
    return total;
}

static void scalar_worker(void *context, int worker, int workers)
{
    scalar_task *task = context;
    const kern_view f = task->call->in[F];
    const kern_real *dy = task->call->d_out[0].data;
    const kern_real *gain = task->call->in[GAIN].data;
    for (int group = worker; group < GROUPS; group += workers) {
        size_t begin;
        size_t end;
        double sum = 0;
        kern_parallel_share(f.rows, 1, group, GROUPS, &begin, &end);
        for (size_t r = begin; r < end; r++) {
            const kern_real *row = (const kern_real *)f.data + r * f.cols;
            const kern_real *dy_row = dy + r * f.cols;
            sum += gain == NULL ? KERN_NAME(kern_vmath_dot)(dy_row, row, f.cols)
                                : row_triple(dy_row, row, gain, f.cols);
        }
        task->partial[group] = sum;
    }
}

static void scalar_gradient(const kern_call *call)
{
    scalar_task task = {.call = call};
    double total = 0;
    kern_parallel_run(call->workers > 1 ? call->workers : 1, scalar_worker, &task);
    for (size_t group = 0; group < GROUPS; group++) {
        total += task.partial[group];
    }
    kern_real *ds = call->d_in[S].data;
    const double value = coefficient_slope(call) * total;
    *ds = call->accumulate[S] ? (kern_real)((double)*ds + value) : (kern_real)value;
}

/* ā first: f̄ may take the memory of ō. */
KERN_HOT static void affine_vjp_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[F].cols;
    const size_t n = (end - begin) * cols;
    const kern_real *dy = (const kern_real *)call->d_out[0].data + begin * cols;
    if (call->d_in[A].data != NULL) {
        kern_real *da = (kern_real *)call->d_in[A].data + begin * cols;
        if (da != dy) {
            kern_block_scale(da, dy, KERN_R(1.0), n, call->accumulate[A]);
        }
    }
    if (call->d_in[F].data != NULL) {
        kern_real *df = (kern_real *)call->d_in[F].data + begin * cols;
        combine_rows(df, call->accumulate[F] ? df : NULL, dy, call->in[GAIN].data,
                     coefficient(call), cols, end - begin);
    }
}

static void affine_vjp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        kern_clear_cotangents(call);
        return;
    }
    const kern_call plain = with_plain_gain(call);
    kern_clear_cotangent(call, GAIN);
    if (call->d_in[GAIN].data != NULL) {
        kern_range_run(&plain, plain.d_in[GAIN].cols, 64, gain_gradient);
    }
    if (call->d_in[S].data != NULL) {
        scalar_gradient(&plain);
    }
    kern_range_run(&plain, plain.out[0].rows, 1, affine_vjp_rows);
}

/* ȯ = ȧ + k γ ⊙ ḟ + k f ⊙ γ̇ + k̇ f ⊙ γ. */
KERN_HOT static void affine_jvp_rows(const kern_call *call, size_t begin, size_t end)
{
    const size_t cols = call->in[F].cols;
    const size_t rows = end - begin;
    const size_t at = begin * cols;
    const kern_real *f = (const kern_real *)call->in[F].data + at;
    const kern_real *gain = call->in[GAIN].data;
    const kern_real *da = call->d_in[A].data;
    const kern_real *df = call->d_in[F].data;
    const kern_real *ds = call->d_in[S].data;
    const kern_real *d_gain = call->d_in[GAIN].data;
    const kern_real k = coefficient(call);
    kern_real *dy = (kern_real *)call->d_out[0].data + at;
    if (df != NULL) {
        combine_rows(dy, da == NULL ? NULL : da + at, df + at, gain, k, cols, rows);
    } else if (da == NULL) {
        kern_block_clear(dy, rows * cols);
    } else if (da + at != dy) {
        memcpy(dy, da + at, rows * cols * sizeof *dy);
    }
    if (d_gain != NULL) {
        combine_rows(dy, dy, f, d_gain, k, cols, rows);
    }
    if (ds != NULL) {
        const kern_real dk = (kern_real)(coefficient_slope(call) * (double)*ds);
        combine_rows(dy, dy, f, gain, dk, cols, rows);
    }
}

static void affine_jvp(const kern_call *call)
{
    if (call->d_out[0].data == NULL) {
        return;
    }
    kern_call plain = with_plain_gain(call);
    if (call->attr->affine.softplus && call->d_in[GAIN].data != NULL) {
        const kern_real *slope = soft_row(call, SOFT_SLOPE);
        const kern_real *tangent = call->d_in[GAIN].data;
        kern_real *moved = soft_row(call, SOFT_TANGENT);
        for (size_t j = 0; j < call->in[F].cols; j++) {
            moved[j] = slope[j] * tangent[j];
        }
        plain.d_in[GAIN].data = moved;
    }
    kern_range_run(&plain, plain.out[0].rows, 1, affine_jvp_rows);
}

const kern_op_kernels KERN_NAME(kern_op_affine_add_kernels) = {
    .forward = affine_forward,
    .vjp = affine_vjp,
    .jvp = affine_jvp,
};
