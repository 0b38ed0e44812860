/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one door to matrix products.
 *
 * f32 goes to the tiles of kern_blas_tile.h where these serve and the right operand is packed or
 * gets packed, to libxsmm's generated kernels where the block is small, and to oneDNN
 * otherwise; f64 goes to OpenBLAS. Each product is computed by single-threaded calls on blocks that
 * the door splits among workers, so bits depend on the worker count at most.
 */
#ifndef BASIN_KERN_BLAS_H
#define BASIN_KERN_BLAS_H

#include "kernels/kern_size.h"

#include <stdbool.h>
#include <stddef.h>

/* Of a product in single precision with a transposed A, so many rows and columns of C and so much
 * depth are computed at a time where the tiles serve and scratch is given: Aᵀ is turned, with a gap
 * behind each row lest all rows fall into the same places of a cache, and B is packed, so that A
 * stays in a second-level cache while all of B passes, and C is read and written once. */
enum { KERN_GEMM_ROWS = 192, KERN_GEMM_COLUMNS = 768, KERN_GEMM_DEPTH = 768, KERN_GEMM_PAD = 16 };

/* Reals of one worker's scratch for C = Aᵀ B. Without it the product is correct too, and slower
 * where A and B come from memory. */
static inline size_t kern_gemm_scratch_size(size_t m, size_t n, size_t k)
{
    const size_t depth = kern_size_min(k, KERN_GEMM_DEPTH);
    return (depth + KERN_GEMM_PAD) * kern_size_min(m, KERN_GEMM_ROWS) +
           depth * kern_size_min(n, KERN_GEMM_COLUMNS);
}

/* C = α op(A) op(B) + β C + 1 biasᵀ, row-major, op(A) is m×k and op(B) k×n; `ta` and `tb`
 * transpose; with `panels`, B is packed as kern_pack.h says, ldb columns of which the first n count
 * (then tb is false). Leading dimensions count reals between rows as stored. C overlaps neither A
 * nor B. With β = 0, C is not read. */
typedef struct kern_gemm_f32 {
    bool ta;
    bool tb;
    bool panels;
    size_t m;
    size_t n;
    size_t k;
    float alpha;
    float beta;
    const float *a;
    size_t lda;
    const float *b;
    size_t ldb;
    float *c;
    size_t ldc;
    const float *bias;     /* n values added to every row, or NULL */
    float *scratch;        /* kern_gemm_scratch_size reals for every worker, or NULL */
    size_t scratch_stride; /* reals from one worker's to the next one's */
} kern_gemm_f32;

typedef struct kern_gemm_f64 {
    bool ta;
    bool tb;
    bool panels;
    size_t m;
    size_t n;
    size_t k;
    double alpha;
    double beta;
    const double *a;
    size_t lda;
    const double *b;
    size_t ldb;
    double *c;
    size_t ldc;
    const double *bias;    /* n values added to every row, or NULL */
    double *scratch;       /* kern_gemm_scratch_size reals for every worker, or NULL */
    size_t scratch_stride; /* reals from one worker's to the next one's */
} kern_gemm_f64;

/* Runs the product with up to `workers` workers. Sizes of zero are allowed (k = 0 scales C by β).
 */
void kern_gemm_run_f32(const kern_gemm_f32 *g, int workers);
void kern_gemm_run_f64(const kern_gemm_f64 *g, int workers);

/* Process-wide settings of the libraries behind the door: BLAS and oneDNN single-threaded per call,
 * GSL's aborting error handler off. Called once by main and by tests, before any other call. */
void kern_runtime_init(void);

#endif
