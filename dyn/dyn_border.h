/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Null vectors of a nearly singular matrix from bordered systems (Govaerts 2000).
 *
 * For an n×n matrix T and borders B, C of r vectors of n numbers,
 *
 *   [ T   Bᵀ ] [ Vᵀ ]   [ 0 ]        [ Tᵀ  Cᵀ ] [ Wᵀ ]   [ 0 ]
 *   [ C   0  ] [ G  ] = [ I ]        [ B   0  ] [ H  ] = [ I ],   H = Gᵀ.
 *
 * The bordered matrix is regular although T has an r-fold null space, when the borders are not
 * orthogonal to it. The r×r matrix G is zero exactly where the null space of T is at least r-fold;
 * the rows of V and W then span the null spaces of T and of Tᵀ. For a parameter z of T,
 * dG/dz = −W (dT/dz) Vᵀ.
 */
#ifndef BASIN_DYN_BORDER_H
#define BASIN_DYN_BORDER_H

#include "kernels/kern_status.h"

#include <stddef.h>

enum { DYN_BORDER_MAX = 2 };

typedef struct dyn_border {
    size_t n, rank;
    double *b, *c;                            /* borders: rank × n, orthonormal rows */
    double *v, *w;                            /* of the last solution: rank × n */
    double g[DYN_BORDER_MAX][DYN_BORDER_MAX]; /* of the last solution */
    double *matrix;                           /* (n + rank)² */
    double *rhs;
    double *work; /* of making rows orthonormal */
    int *pivots;
} dyn_border;

/* Borders of rank 1 or 2 for matrices of n ≥ rank rows, drawn at random from a fixed sequence: any
 * choice but an unlucky one will do to begin with. Released with dyn_border_fini, which is harmless
 * after a failure. KERN_INVALID_ARGUMENT, KERN_OVERFLOW, KERN_NO_MEMORY. */
kern_status dyn_border_init(dyn_border *border, size_t n, size_t rank, kern_error *err);
void dyn_border_fini(dyn_border *border);

/* Solves both systems for T (n×n, kept). KERN_SINGULAR when the bordered matrix is, KERN_NAN when T
 * is not finite. Cost ⅔(n + rank)³. */
kern_status dyn_border_solve(dyn_border *border, const double *t);

/* The last V and W, made orthonormal, become C and B: the best borders for matrices near the last
 * T. Rows keep their orientation. KERN_NAN. */
kern_status dyn_border_adopt(dyn_border *border);

/* Null vectors of a T whose null space is nearly rank-fold, from fresh random borders: afterwards
 * c and b hold orthonormal bases of the null spaces of T and Tᵀ. Errors of dyn_border_solve. */
kern_status dyn_border_find(dyn_border *border, const double *t);

#endif
