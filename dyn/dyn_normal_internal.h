/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of dyn_normal share.
 */
#ifndef BASIN_DYN_NORMAL_INTERNAL_H
#define BASIN_DYN_NORMAL_INTERNAL_H

#include "dyn/dyn_border.h"
#include "dyn/dyn_multilinear.h"
#include "dyn/dyn_normal_form.h"
#include "kernels/kern_arena.h"

#include <complex.h>
#include <stddef.h>

/* Smallest pairing of unit vectors: a double multiplier of A with one eigenvector comes apart by
 * the square root of the rounding of A, and the pairing is in proportion to that. The second is for
 * Jacobians of difference quotients, with errors of 1e-10 in place of ε. */
#define DYN_NORMAL_PAIRING_LEAST       1e-7
#define DYN_NORMAL_PAIRING_APPROXIMATE 1e-4

/* That of the map. */
static inline double dyn_normal_pairing_least(const dyn_map *map)
{
    return map->approximate_jvp ? DYN_NORMAL_PAIRING_APPROXIMATE : DYN_NORMAL_PAIRING_LEAST;
}

struct dyn_normal {
    dyn_map *map;
    size_t period, n;
    dyn_multilinear *derivatives;
    dyn_border single; /* null vectors of A − μI */
    dyn_border pair;   /* of A² − 2 Re μ A + |μ|² I; of rank 0 when n is 1 */
    kern_arena arena;  /* of what follows */
    double *a;         /* A, n × n */
    double *t;         /* n × n: a copy for the eigenvalues, a nearly singular matrix */
    double *system;    /* 2n × 2n: a linear system */
    double *rhs;       /* 2n */
    double *re, *im;   /* n: multipliers */
    double *q, *w; /* 2n: critical vectors, |q| = 1 and ⟨w, q⟩ = 1; NS: imaginary part behind */
    double *first; /* n */
    double *second;                         /* n */
    double *third;                          /* n */
    double *spare;                          /* 2n */
    double complex *zq, *zw, *zc, *zh, *zb; /* n: q, w, q̄, a solution, a derivative */
    int *pivots;                            /* 2n */
};

/* Fills normal->a. */
void dyn_normal_fill_jacobian(dyn_normal *normal, const double *x);

/* Eigenvalues of s->a into s->re and s->im. Errors of kern_lapack_eigenvalues. */
kern_status dyn_normal_find_multipliers(dyn_normal *s);

/* Finds, of the workspace s, the multiplier nearest `target` on the real line, takes q and w for
 * it, and fills *re, *im ≥ 0 and *pairing. KERN_SINGULAR when the pairing is too small. */
kern_status dyn_normal_take_real(dyn_normal *s, double target, double *re, double *im,
                                 double *pairing);

/* ⟨a, b⟩ of real vectors. */
double dyn_normal_dot(const double *a, const double *b, size_t n);

#endif
