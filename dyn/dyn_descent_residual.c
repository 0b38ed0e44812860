/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The residual Π(η − cΓ), without cancellation, and what a gradient makes of it.
 */
#include "dyn/dyn_descent_internal.h"
#include "dyn/dyn_vector.h"

#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdint.h>

enum { MATRICES = 4, VECTORS = 9 };

size_t dyn_descent_work_size(size_t width)
{
    size_t square;
    size_t numbers;
    size_t bytes;
    size_t integers;
    const size_t vectors =
        VECTORS - 1 + kern_lapack_symmetric_work(1); /* that one is a vector too */
    if (!kern_size_mul(width, width, &square) || !kern_size_mul(square, MATRICES, &numbers) ||
        !kern_size_mul(width, vectors, &square) || !kern_size_add(numbers, square, &numbers) ||
        !kern_size_mul(numbers, sizeof(double), &bytes) ||
        !kern_size_mul(kern_lapack_symmetric_integers(width), sizeof(int), &integers) ||
        !kern_size_add(bytes, integers, &bytes)) {
        return SIZE_MAX;
    }
    return bytes;
}

/* The power of two that brings the largest of n numbers into [½, 1), as a shift; 0 when all are 0.
 */
static int largest_exponent(const double *a, size_t n)
{
    double largest = 0;
    int exponent = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(a[i]));
    }
    (void)frexp(largest, &exponent);
    return exponent;
}

static void scale_by(const double *a, size_t n, int shift, double *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = ldexp(a[i], shift);
    }
}

void dyn_descent_residual_init(dyn_descent_residual *r, const dyn_descent_system *system,
                               void *work)
{
    const size_t d = system->width;
    double *next = work;
    double **matrices[MATRICES] = {&r->eta, &r->r, &r->gram, &r->matrix};
    double **vectors[VECTORS] = {&r->gamma, &r->values, &r->vector, &r->cut[0], &r->cut[1],
                                 &r->p,     &r->q,      &r->rv,     &r->lapack};
    *r = (dyn_descent_residual){.width = d, .centre = system->centre};
    for (size_t i = 0; i < MATRICES; i++) {
        *matrices[i] = next;
        next += d * d;
    }
    for (size_t i = 0; i < VECTORS; i++) {
        *vectors[i] = next;
        next += d;
    }
    next += kern_lapack_symmetric_work(d) - d;
    r->integers = (int *)(void *)next;
    r->gamma_shift = largest_exponent(system->gamma, d);
    r->eta_shift = largest_exponent(system->eta, d * d);
    scale_by(system->gamma, d, -r->gamma_shift, r->gamma);
    scale_by(system->eta, d * d, -r->eta_shift, r->eta);
}

/* a − b with its rounding error. */
static double subtract(double a, double b, double *error)
{
    const double difference = a - b;
    const double part = difference - a;
    *error = (a - (difference - part)) - (b + part);
    return difference;
}

/* Column j of η − cΓ, less one of its entries off the diagonal for LayerNorm: where all of those
 * are nearly equal the difference is exact, and the mean of the small rest has no cancellation. */
static void fill_column(dyn_descent_residual *r, size_t j)
{
    const size_t d = r->width;
    const double reference = r->centre && d > 1 ? r->eta[(j + 1) % d * d + j] : 0.0;
    double mean = 0;
    for (size_t i = 0; i < d; i++) {
        double error;
        double entry = subtract(r->eta[i * d + j], reference, &error);
        entry = i == j ? fma(-r->c, r->gamma[j], entry) + error : entry;
        r->r[i * d + j] = entry;
        mean += entry / (double)d;
    }
    for (size_t i = 0; r->centre && i < d; i++) {
        r->r[i * d + j] -= mean;
    }
}

void dyn_descent_residual_fill(dyn_descent_residual *r, double c)
{
    const size_t count = r->width * r->width;
    double largest = 0;
    r->c = c;
    for (size_t j = 0; j < r->width; j++) {
        fill_column(r, j);
    }
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(r->r[i]));
    }
    const int shift = largest_exponent(r->r, count);
    r->tau = largest > 0 ? ldexp(1.0, shift) : 0.0;
    scale_by(r->r, count, -shift, r->r);
}

dyn_descent_cut dyn_descent_residual_apply(dyn_descent_residual *r, const double *v)
{
    const size_t d = r->width;
    double mean = 0;
    for (size_t i = 0; i < d; i++) {
        r->p[i] = r->gamma[i] * v[i];
        mean += r->p[i] / (double)d;
        r->rv[i] = dyn_vector_dot(r->r + i * d, v, d);
    }
    for (size_t i = 0; i < d; i++) {
        r->p[i] -= r->centre ? mean : 0.0;
        r->q[i] = r->c * r->p[i] + r->tau * r->rv[i];
    }
    return (dyn_descent_cut){.pp = dyn_vector_dot(r->p, r->p, d),
                             .rp = dyn_vector_dot(r->rv, r->p, d),
                             .rr = dyn_vector_dot(r->rv, r->rv, d)};
}

/* |q| − c|p|, in units of τ, is (|q|² − c²|p|²)/(|q| + c|p|), which does not cancel. */
double dyn_descent_residual_violation(const dyn_descent_residual *r, dyn_descent_cut cut,
                                      double *at)
{
    const double length = sqrt(cut.pp);
    const double extra = r->tau * (2 * r->c * cut.rp + r->tau * cut.rr);
    const double moved = sqrt(fmax(r->c * r->c * cut.pp + extra, 0.0));
    const double excess = (2 * r->c * cut.rp + r->tau * cut.rr) / (moved + r->c * length);
    *at = excess / length;
    if (!(cut.pp > 0)) {
        return 0;
    }
    return (cut.rr - excess * excess) / (4 * r->c);
}
