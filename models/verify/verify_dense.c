/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Ten sweeps are more than any matrix has been seen to need; the last ones do nothing. */
enum { SWEEPS = 30 };

static void swap_rows(double *a, size_t n, size_t i, size_t j)
{
    for (size_t k = 0; k < n; k++) {
        const double kept = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = kept;
    }
}

/* The rotation in the plane (p, q) that makes a_pq zero. */
static void rotate(size_t n, double *a, double *vectors, size_t p, size_t q)
{
    const double theta = 0.5 * (a[q * n + q] - a[p * n + p]) / a[p * n + q];
    const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + hypot(theta, 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0);
    const double s = t * c;
    for (size_t k = 0; k < n; k++) {
        const double x = a[k * n + p];
        const double y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        const double x = a[p * n + k];
        const double y = a[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
    }
    for (size_t k = 0; vectors != NULL && k < n; k++) {
        const double x = vectors[p * n + k];
        const double y = vectors[q * n + k];
        vectors[p * n + k] = c * x - s * y;
        vectors[q * n + k] = s * x + c * y;
    }
}

static void sort(size_t n, double *values, double *vectors)
{
    for (size_t i = 0; i + 1 < n; i++) {
        size_t least = i;
        for (size_t j = i + 1; j < n; j++) {
            least = values[j] < values[least] ? j : least;
        }
        const double kept = values[i];
        values[i] = values[least];
        values[least] = kept;
        if (vectors != NULL && least != i) {
            swap_rows(vectors, n, i, least);
        }
    }
}

/* Rotates every entry above the threshold once; true when there was none. */
static bool sweep(size_t n, double *a, double *vectors, double threshold)
{
    bool done = true;
    for (size_t p = 0; p + 1 < n; p++) {
        for (size_t q = p + 1; q < n; q++) {
            if (fabs(a[p * n + q]) > threshold) {
                rotate(n, a, vectors, p, q);
                done = false;
            }
        }
    }
    return done;
}

void verify_dense_symmetric(size_t n, double *a, double *values, double *vectors)
{
    double square = 0.0;
    for (size_t i = 0; i < n * n; i++) {
        square += a[i] * a[i];
        if (vectors != NULL) {
            vectors[i] = i / n == i % n ? 1.0 : 0.0;
        }
    }
    const bool finite = square <= DBL_MAX;
    const double threshold = 0.5 * DBL_EPSILON * sqrt(square) / (double)(n > 0 ? n : 1);
    for (int i = 0; finite && i < SWEEPS && !sweep(n, a, vectors, threshold); i++) {
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = finite ? a[i * n + i] : (double)NAN;
    }
    sort(n, values, vectors);
}

void verify_dense_singular(size_t m, size_t n, const double *a, double *least, double *greatest,
                           double *room)
{
    double *values = room + n * n;
    memset(room, 0, n * n * sizeof *room);
    for (size_t k = 0; k < m; k++) {
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) {
                room[i * n + j] += a[k * n + i] * a[k * n + j];
            }
        }
    }
    verify_dense_symmetric(n, room, values, NULL);
    *least = sqrt(fmax(values[0], 0.0));
    *greatest = sqrt(fmax(values[n - 1], 0.0));
}

double verify_dense_log_abs_det(size_t n, double *a)
{
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++) {
            pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
        }
        if (pivot != k) {
            swap_rows(a, n, k, pivot);
        }
        sum += log(fabs(a[k * n + k]));
        for (size_t i = k + 1; i < n && a[k * n + k] != 0.0; i++) {
            const double factor = a[i * n + k] / a[k * n + k];
            for (size_t j = k + 1; j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
            }
        }
    }
    return sum;
}

bool verify_dense_is_positive(size_t n, double *a)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++) {
                sum -= a[i * n + k] * a[j * n + k];
            }
            if (i > j) {
                a[i * n + j] = sum / a[j * n + j];
            } else if (sum > 0.0) {
                a[i * n + i] = sqrt(sum);
            } else {
                return false;
            }
        }
    }
    return true;
}
