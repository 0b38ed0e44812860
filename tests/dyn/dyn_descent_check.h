/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What tests of descent certificates share: the quadratic forms once more, by plain arithmetic that
 * has nothing in common with the code under test, and random matrices.
 */
#ifndef BASIN_TEST_DYN_DESCENT_CHECK_H
#define BASIN_TEST_DYN_DESCENT_CHECK_H

#include "dyn/dyn_descent.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <stddef.h>

enum { DESCENT_D = 16 };

/* vᵀΓP(x)ηv by its definition: P as a matrix, in double precision. */
static inline double check_form(const dyn_descent_system *s, const double *x, const double *v)
{
    const size_t d = s->width;
    double mean = 0, square = 0, form = 0;
    for (size_t i = 0; i < d; i++) {
        mean += s->centre ? x[i] / (double)d : 0;
    }
    for (size_t i = 0; i < d; i++) {
        square += (x[i] - mean) * (x[i] - mean);
    }
    for (size_t i = 0; i < d; i++) {
        for (size_t k = 0; k < d; k++) {
            const double p = (i == k ? 1.0 : 0.0) - (s->centre ? 1.0 / (double)d : 0.0) -
                             (x[i] - mean) * (x[k] - mean) / (square + (double)d * s->epsilon);
            for (size_t j = 0; j < d; j++) {
                form += v[i] * s->gamma[i] * p * s->eta[k * d + j] * v[j];
            }
        }
    }
    return form;
}

/* sum += a·b in twice the precision of long double. */
static inline void check_add(long double sum[2], long double a, long double b)
{
    const long double product = a * b;
    const long double total = sum[0] + product;
    const long double part = total - sum[0];
    sum[1] += fmal(a, b, -product) + ((sum[0] - (total - part)) + (product - part));
    sum[0] = total;
}

/* sum += f·a·b for numbers of two parts. */
static inline void check_add_pair(long double sum[2], long double f, const long double *a,
                                  const long double *b)
{
    check_add(sum, f * a[0], b[0]);
    check_add(sum, f * a[0], b[1]);
    check_add(sum, f * a[1], b[0]);
}

/* D Σ ab − Σa Σb for LayerNorm, Σ ab for RMSNorm; f is 1 or a power of two, or D exactly. */
static inline void check_moment(const dyn_descent_system *s, long double (*a)[2],
                                long double (*b)[2], long double out[2])
{
    long double sums[2][2] = {{0}};
    out[0] = out[1] = 0;
    for (size_t i = 0; i < s->width; i++) {
        long double scaled[2] = {0};
        check_add(scaled, b[i][0], s->centre ? (long double)s->width : 1);
        check_add(scaled, b[i][1], s->centre ? (long double)s->width : 1);
        check_add_pair(out, 1, a[i], scaled);
        check_add(sums[0], a[i][0], 1);
        check_add(sums[0], a[i][1], 1);
        check_add(sums[1], b[i][0], 1);
        check_add(sums[1], b[i][1], 1);
    }
    if (s->centre) {
        check_add_pair(out, -1, sums[0], sums[1]);
    }
}

/* The same form in about thirty digits, for violations of second order: over the common denominator
 * nothing but sums of products is left. */
static inline double check_form_twofold(const dyn_descent_system *s, const double *x,
                                        const double *v)
{
    const size_t d = s->width;
    const long double n = s->centre ? (long double)d : 1;
    long double y[DESCENT_D][2] = {{0}}, p[DESCENT_D][2] = {{0}}, q[DESCENT_D][2] = {{0}};
    long double xx[2], xp[2], xq[2], pq[2], form[2] = {0};
    for (size_t i = 0; i < d; i++) {
        y[i][0] = (long double)x[i];
        check_add(p[i], (long double)s->gamma[i], (long double)v[i]);
        for (size_t j = 0; j < d; j++) {
            check_add(q[i], (long double)s->eta[i * d + j], (long double)v[j]);
        }
    }
    check_moment(s, y, y, xx);
    check_moment(s, y, p, xp);
    check_moment(s, y, q, xq);
    check_moment(s, p, q, pq);
    check_add(xx, n * (long double)d, (long double)s->epsilon);
    check_add_pair(form, 1, pq, xx);
    check_add_pair(form, -1, xp, xq);
    return (double)((form[0] + form[1]) / (n * (xx[0] + xx[1])));
}

/* ---- Random matrices ------------------------------------------------------------------------- */

static inline void random_normals(kern_rng *rng, double *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = kern_rng_normal(rng);
    }
}

/* Whole numbers over 8, from −4 to 4 without 0, so that products of a few of them are exact. */
static inline double random_eighth(kern_rng *rng)
{
    const double size = (1 + (double)kern_rng_below(rng, 32)) / 8;
    return kern_rng_below(rng, 2) == 0 ? size : -size;
}

/* η = SSᵀ + a skew part of size `skew`. */
static inline void random_psd(kern_rng *rng, size_t d, double skew, double *eta)
{
    double s[DESCENT_D * DESCENT_D];
    random_normals(rng, s, d * d);
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < d; k++) {
                sum += s[i * d + k] * s[j * d + k] / (double)d;
            }
            const double turn = i == j ? 0.0 : skew * kern_rng_normal(rng);
            eta[i * d + j] = sum + turn;
            eta[j * d + i] = sum - turn;
        }
    }
}

#endif
