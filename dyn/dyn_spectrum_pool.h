/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Eigenpairs gathered from several runs of an iterative method: which are the same, which are
 * copies with an eigenvector of their own, and which have been found again.
 */
#ifndef BASIN_DYN_SPECTRUM_POOL_H
#define BASIN_DYN_SPECTRUM_POOL_H

#include "kernels/kern_arena.h"
#include "kernels/kern_arpack.h"

#include <stdbool.h>
#include <stddef.h>

/* A real eigenvalue, or a complex pair by its half with im > 0. */
typedef struct dyn_pool_entry {
    double re, im;
    double residual;
    double rank;      /* of the value, or of the first one gathered that is the same value */
    size_t slot;      /* of the vector */
    size_t first_run; /* that found it */
    bool confirmed;   /* a later run found the value again */
} dyn_pool_entry;

typedef struct dyn_spectrum_pool {
    size_t n; /* numbers of a vector */
    size_t k; /* eigenvalues kept */
    size_t capacity;
    size_t count;
    dyn_pool_entry *entries; /* by descending rank, older ones first where ranks are equal */
    bool *taken;             /* capacity: slots in use */
    double *slots;           /* capacity × 2n: real and imaginary parts */
    double *frame;           /* (2 capacity + 2) × n: an orthonormal frame, and a candidate */
    double tol;
    double merge;  /* values within merge · scale are the same */
    double angle;  /* a unit vector whose distance from a span is at most this lies in it; what is
                    * left of a vector below its square has no direction */
    double scale;  /* the largest seen of ‖H‖ */
    double radius; /* the largest modulus seen */
} dyn_spectrum_pool;

/* Bytes of an arena that a pool for k eigenvalues of operators of n rows takes: some 8 (k + 1) n
 * numbers. SIZE_MAX when that is too many. */
size_t dyn_spectrum_pool_cost(size_t n, size_t k);

/* An empty pool in `arena`, which must have room for it. Residuals are up to tol · scale. Of a
 * simple eigenvalue whose nearest neighbour is further than merge · scale, two eigenvectors with
 * such residuals differ by about tol/merge at most, two that belong to different copies by about 1;
 * the geometric mean √(tol/merge) tells them apart. */
void dyn_spectrum_pool_init(dyn_spectrum_pool *pool, kern_arena *arena, size_t n, size_t k,
                            double tol, double merge);

/* Forgets all pairs. */
void dyn_spectrum_pool_clear(dyn_spectrum_pool *pool);

/* Adds what run `run` (counted from 0, none twice) found at `end`, and keeps the k leading
 * eigenvalues, or k + 1 when the last is half a pair. Returns whether any that is kept is new or
 * newly confirmed. Values that occur in the pool already are added unless their eigenvectors lie
 * in the span of the ones of that value. They confirm those of earlier runs to which they are
 * closer than merge · radius or 4 tol · scale: where ‖J‖ is far above the radius, eigenvalues are
 * sensitive, and agreement to a part of ‖J‖ means little. Within the
 * first run all are added, since one Krylov space gives none twice. */
bool dyn_spectrum_pool_absorb(dyn_spectrum_pool *pool, const kern_arpack_result *found,
                              kern_arpack_end end, size_t run);

/* Eigenvalues kept, both halves of pairs counted, and whether all are confirmed. */
size_t dyn_spectrum_pool_size(const dyn_spectrum_pool *pool, bool *confirmed);

/* The vector of an entry: n numbers of real, then n of imaginary parts. */
const double *dyn_spectrum_pool_vector(const dyn_spectrum_pool *pool, const dyn_pool_entry *entry);

#endif
