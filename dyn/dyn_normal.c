/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Normal forms: the workspace, the Jacobian and critical vectors of a real multiplier.
 */
#include "dyn/dyn_normal_internal.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Magnitudes that differ by less than this part are alike. */
#define ALIKE 1e-6

/* ---- Workspace ---------------------------------------------------------------------------- */

enum { VECTORS = 5, VECTORS_TWICE = 4, VECTORS_COMPLEX = 5, MATRICES = 6 };

static kern_status allocate(dyn_normal *s, kern_error *err)
{
    const size_t n = s->n;
    size_t bytes;
    if (!kern_size_mul(n, n, &bytes) ||
        !kern_size_mul(bytes, 2 * MATRICES * sizeof(double), &bytes)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu coordinates are too many for dense normal forms",
                          n);
    }
    KERN_TRY(kern_arena_init(&s->arena,
                             2 * kern_arena_cost(n * n, sizeof(double)) +
                                 kern_arena_cost(4 * n * n, sizeof(double)) +
                                 VECTORS * kern_arena_cost(n, sizeof(double)) +
                                 VECTORS_TWICE * kern_arena_cost(2 * n, sizeof(double)) +
                                 VECTORS_COMPLEX * kern_arena_cost(n, sizeof(double complex)) +
                                 kern_arena_cost(2 * n, sizeof(int)),
                             err));
    double **const vectors[VECTORS] = {&s->re, &s->im, &s->first, &s->second, &s->third};
    double **const twice[VECTORS_TWICE] = {&s->rhs, &s->q, &s->w, &s->spare};
    double complex **const complexes[VECTORS_COMPLEX] = {&s->zq, &s->zw, &s->zc, &s->zh, &s->zb};
    s->a = kern_arena_alloc(&s->arena, n * n, sizeof *s->a);
    s->t = kern_arena_alloc(&s->arena, n * n, sizeof *s->t);
    s->system = kern_arena_alloc(&s->arena, 4 * n * n, sizeof *s->system);
    for (size_t i = 0; i < VECTORS; i++) {
        *vectors[i] = kern_arena_alloc(&s->arena, n, sizeof(double));
    }
    for (size_t i = 0; i < VECTORS_TWICE; i++) {
        *twice[i] = kern_arena_calloc(&s->arena, 2 * n, sizeof(double));
    }
    for (size_t i = 0; i < VECTORS_COMPLEX; i++) {
        *complexes[i] = kern_arena_alloc(&s->arena, n, sizeof(double complex));
    }
    s->pivots = kern_arena_alloc(&s->arena, 2 * n, sizeof *s->pivots);
    return KERN_OK;
}

kern_status dyn_normal_create(dyn_normal **out, dyn_map *map, size_t period, kern_error *err)
{
    *out = NULL;
    dyn_normal *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for normal forms");
    }
    s->map = map;
    s->period = period;
    s->n = map->size;
    kern_status status = dyn_multilinear_create(&s->derivatives, map, period, err);
    if (status == KERN_OK) {
        status = allocate(s, err);
    }
    if (status == KERN_OK) {
        status = dyn_border_init(&s->single, s->n, 1, err);
    }
    if (status == KERN_OK && s->n > 1) {
        status = dyn_border_init(&s->pair, s->n, 2, err);
    }
    if (status != KERN_OK) {
        dyn_normal_destroy(s);
        return status;
    }
    *out = s;
    return KERN_OK;
}

void dyn_normal_destroy(dyn_normal *normal)
{
    if (normal != NULL) {
        dyn_multilinear_destroy(normal->derivatives);
        dyn_border_fini(&normal->single);
        dyn_border_fini(&normal->pair);
        kern_arena_fini(&normal->arena);
        free(normal);
    }
}

const double *dyn_normal_vector(const dyn_normal *normal)
{
    return normal->q;
}

double dyn_normal_dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* ---- Multipliers -------------------------------------------------------------------------- */

void dyn_normal_fill_jacobian(dyn_normal *normal, const double *x)
{
    const size_t n = normal->n;
    memset(normal->second, 0, n * sizeof *normal->second);
    for (size_t j = 0; j < n; j++) {
        normal->second[j] = 1.0;
        dyn_multilinear_first(normal->derivatives, x, normal->second, normal->third, normal->first);
        normal->second[j] = 0.0;
        for (size_t i = 0; i < n; i++) {
            normal->a[i * n + j] = normal->first[i];
        }
    }
}

kern_status dyn_normal_find_multipliers(dyn_normal *s)
{
    memcpy(s->t, s->a, s->n * s->n * sizeof *s->t);
    return kern_lapack_eigenvalues(s->n, s->t, s->re, s->im, NULL);
}

/* The sign that makes the first of the entries of largest magnitude positive. */
static double find_orientation(const double *v, size_t n)
{
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(v[i]));
    }
    for (size_t i = 0; i < n; i++) {
        if (fabs(v[i]) > (1.0 - ALIKE) * largest) {
            return v[i] < 0.0 ? -1.0 : 1.0;
        }
    }
    return 1.0;
}

kern_status dyn_normal_take_real(dyn_normal *s, double target, double *re, double *im,
                                 double *pairing)
{
    const size_t n = s->n;
    size_t best = 0;
    KERN_TRY(dyn_normal_find_multipliers(s));
    for (size_t i = 1; i < n; i++) {
        if (hypot(s->re[i] - target, s->im[i]) < hypot(s->re[best] - target, s->im[best])) {
            best = i;
        }
    }
    *re = s->re[best];
    *im = fabs(s->im[best]);
    memcpy(s->t, s->a, n * n * sizeof *s->t);
    for (size_t i = 0; i < n; i++) {
        s->t[i * n + i] -= *re;
    }
    KERN_TRY(dyn_border_find(&s->single, s->t));
    const double sign = find_orientation(s->single.c, n);
    for (size_t i = 0; i < n; i++) {
        s->q[i] = sign * s->single.c[i];
    }
    memcpy(s->w, s->single.b, n * sizeof *s->w);
    const double product = dyn_normal_dot(s->w, s->q, n);
    *pairing = fabs(product);
    if (!(*pairing >= dyn_normal_pairing_least(s->map))) {
        return KERN_SINGULAR;
    }
    for (size_t i = 0; i < n; i++) {
        s->w[i] /= product;
    }
    return KERN_OK;
}
