/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Vectors of doubles: the few products that iterative solvers are made of.
 *
 * Sums run in four strands that are added at the end: always in the same order, so equal input
 * gives equal bits, and not in one chain of additions, each of which would wait for the last.
 */
#ifndef BASIN_DYN_VECTOR_H
#define BASIN_DYN_VECTOR_H

#include <math.h>
#include <stddef.h>

/* a · b. */
static inline double dyn_vector_dot(const double *a, const double *b, size_t n)
{
    double strands[4] = {0.0, 0.0, 0.0, 0.0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        strands[0] += a[i] * b[i];
        strands[1] += a[i + 1] * b[i + 1];
        strands[2] += a[i + 2] * b[i + 2];
        strands[3] += a[i + 3] * b[i + 3];
    }
    for (; i < n; i++) {
        strands[0] += a[i] * b[i];
    }
    return (strands[0] + strands[1]) + (strands[2] + strands[3]);
}

/* |v|₂; ∞ beyond about 1e154, where the square overflows. */
static inline double dyn_vector_norm(const double *v, size_t n)
{
    return sqrt(dyn_vector_dot(v, v, n));
}

/* y += s x. */
static inline void dyn_vector_add(double *y, double s, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        y[i] += s * x[i];
    }
}

#endif
