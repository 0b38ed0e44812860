/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * preconditioner-definite-spectrum: what the low-rank part of P = diag(softplus δ) + U Vᵀ + V Uᵀ
 * adds. With W = [U V] (D × 2r) and J = [[0, I], [I, 0]] it is M = W J Wᵀ, whose eigenvalues other
 * than 0 are those of the 2r × 2r matrix J WᵀW, since XY and YX share them.
 *
 * Two matrices have the same eigenvalues other than 0 if and only if the traces of all their powers
 * agree, the first 2r of which are compared: a test without an eigenvalue problem, whose rounding
 * is plain. With T = ‖U‖_F² + ‖V‖_F² both matrices have a Frobenius norm of at most T; their
 * entries are sums of at most D or 2r products, so each further factor adds (D + 2r + 4)u T to the
 * relative error of a power, and a trace is at most √n times a Frobenius norm: together 2r(D + 2r +
 * 4)u(√D + √(2r)) of T^k.
 */
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { RANK_MAX = 1 << 6, WIDTH_MAX = 1 << 12 };

static kern_status draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err)
{
    static const char *const names[] = {"p_u", "p_v"};
    const size_t width = 1 + kern_rng_below(rng, 10);
    const size_t rank = 1 + kern_rng_below(rng, 3);
    (void)subject;
    (void)work;
    KERN_TRY(verify_record_put_number(record, "width", (double)width, err));
    KERN_TRY(verify_record_put_number(record, "rank", (double)rank, err));
    for (size_t k = 0; k < 2; k++) {
        double *values = NULL;
        KERN_TRY(verify_record_put(record, names[k], width, rank, &values, err));
        for (size_t i = 0; i < width * rank; i++) {
            /* Now and then V = U, where all eigenvalues have one sign, and V = 0, as at the start.
             */
            const double other = k == 1 ? verify_record_find(record, "p_u")->values[i] : 0.0;
            values[i] = k == 1 && trial % 8 == 1   ? other
                        : k == 1 && trial % 8 == 3 ? 0.0
                                                   : kern_rng_normal(rng);
        }
    }
    return KERN_OK;
}

/* Traces of the first `count` powers of the n×n matrix m, over the powers of `scale`. */
static kern_status find_traces(const double *m, size_t n, double scale, size_t count,
                               double *traces, verify_work *work, kern_error *err)
{
    double *power = NULL;
    double *next = NULL;
    KERN_TRY(verify_work_take_zeros(work, n * n, &power, err));
    KERN_TRY(verify_work_take(work, n * n, &next, err));
    for (size_t i = 0; i < n; i++) {
        power[i * n + i] = 1;
    }
    for (size_t k = 0; k < count; k++) {
        traces[k] = 0;
        for (size_t i = 0; i < n * n; i++) {
            next[i] = 0;
            for (size_t j = 0; j < n; j++) {
                next[i] += power[i / n * n + j] * m[j * n + i % n] / scale;
            }
            traces[k] += i % (n + 1) == 0 ? next[i] : 0.0;
        }
        memcpy(power, next, n * n * sizeof *power);
    }
    return KERN_OK;
}

/* M, D × D. */
static void fill_large(const double *u, const double *v, size_t width, size_t rank, double *m)
{
    for (size_t i = 0; i < width * width; i++) {
        m[i] = 0;
        for (size_t k = 0; k < rank; k++) {
            m[i] += u[i / width * rank + k] * v[i % width * rank + k] +
                    v[i / width * rank + k] * u[i % width * rank + k];
        }
    }
}

/* J WᵀW: row i of it is row i + r, modulo 2r, of WᵀW. */
static void fill_small(const double *u, const double *v, size_t width, size_t rank, double *m)
{
    const size_t n = 2 * rank;
    for (size_t i = 0; i < n * n; i++) {
        const size_t row = (i / n + rank) % n;
        const size_t column = i % n;
        const double *a = row < rank ? u + row : v + (row - rank);
        const double *b = column < rank ? u + column : v + (column - rank);
        m[i] = 0;
        for (size_t k = 0; k < width; k++) {
            m[i] += a[k * rank] * b[k * rank];
        }
    }
}

static kern_status check(const verify_record *record, verify_work *work, verify_outcome *outcome,
                         kern_error *err)
{
    size_t width = 0;
    size_t rank = 0;
    const double *u = NULL;
    const double *v = NULL;
    double *large = NULL;
    double *small = NULL;
    double *traces = NULL;
    double scale = 0;
    KERN_TRY(verify_record_get_size(record, "width", 1, WIDTH_MAX, &width, err));
    KERN_TRY(verify_record_get_size(record, "rank", 1, RANK_MAX, &rank, err));
    KERN_TRY(verify_record_get(record, "p_u", width, rank, &u, err));
    KERN_TRY(verify_record_get(record, "p_v", width, rank, &v, err));
    const size_t n = 2 * rank;
    KERN_TRY(verify_work_take(work, width * width, &large, err));
    KERN_TRY(verify_work_take(work, n * n, &small, err));
    KERN_TRY(verify_work_take(work, 2 * n, &traces, err));
    fill_large(u, v, width, rank, large);
    fill_small(u, v, width, rank, small);
    for (size_t i = 0; i < width * rank; i++) {
        scale += u[i] * u[i] + v[i] * v[i];
    }
    KERN_TRY(find_traces(large, width, scale, n, traces, work, err));
    KERN_TRY(find_traces(small, n, scale, n, traces + n, work, err));
    outcome->left = 0;
    for (size_t k = 0; k < n; k++) {
        const double apart = fabs(traces[k] - traces[n + k]);
        outcome->left = apart <= outcome->left ? outcome->left : apart;
    }
    outcome->right = 0;
    outcome->tolerance =
        (double)(n * (width + n + 4)) * 0.5 * DBL_EPSILON * (sqrt((double)width) + sqrt((double)n));
    return KERN_OK;
}

const verify_claim verify_preconditioner_spectrum = {
    .name = "preconditioner-definite-spectrum",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "The eigenvalues of U V' + V U' other than 0 are those of the 2r by 2r matrix "
                 "[[0, I], [I, 0]] [U V]'[U V]",
    .source = "docs/theory.md, section 16",
    .measured =
        "left: the largest difference of the traces of the first 2r powers of the two, over "
        "(|U|_F^2 + |V|_F^2)^k; right: 0",
    .trials = 100000,
    .draw = draw,
    .check = check,
};
