/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Compiled once per precision. Only this file and kern_blas_runtime.c include a BLAS header.
 */
#include "kernels/kern_blas.h"

#include "kernels/kern_blas_tile.h"
#include "kernels/kern_pack.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_real.h"
#include "kernels/kern_simd.h"
#include "kernels/kern_size.h"
#include "kernels/kern_transpose.h"

#include <string.h>

typedef KERN_NAME(kern_gemm) gemm;

/* Depth of the pieces of a panel that is copied: 256 kB in single precision. */
enum { PIECE_DEPTH = 1024 };

#if KERN_REAL_BITS == 32

#include <dnnl.h>
#include <libxsmm.h>

/* libxsmm keeps the whole right operand and accumulators near; beyond about a quarter megabyte of
 * operand oneDNN's packing wins (measured over 8 … 3072 on Zen 4 and Zen 5). */
enum { SMALL_OPERAND = 65536, SMALL_DIMENSION = 512, PANEL_DEPTH = 4096 };

/* Without AVX-512, libxsmm reads a panel anew for every few rows, and from sizes like these on
 * oneDNN, which copies it, is a third faster, in pieces that stay in a second-level cache of 512 kB
 * (measured on Zen 3). */
enum { COPY_ROWS = 192, COPY_DEPTH = 192 };

static bool panels_are_copied(const gemm *g)
{
    return !g->ta && g->m >= COPY_ROWS && g->k >= COPY_DEPTH &&
           libxsmm_get_target_archid() < LIBXSMM_X86_AVX512;
}

static bool gemm_is_small(const gemm *g)
{
    const bool plain = !g->tb && g->alpha == 1.0F && (g->beta == 0.0F || g->beta == 1.0F);
    if (g->panels) {
        return plain && !g->ta && g->m <= SMALL_DIMENSION && g->k <= PANEL_DEPTH &&
               !panels_are_copied(g);
    }
    return plain && g->n * g->k <= SMALL_OPERAND && g->m * g->k <= SMALL_OPERAND &&
           g->m <= SMALL_DIMENSION && g->n <= SMALL_DIMENSION && g->k <= SMALL_DIMENSION;
}

/* libxsmm is column-major: C = op(A)·B row-major is Cᵀ = Bᵀ·op(A)ᵀ, so B comes first. */
static libxsmm_smmfunction small_kernel(const gemm *g)
{
    const libxsmm_blasint lda = (libxsmm_blasint)g->ldb;
    const libxsmm_blasint ldb = (libxsmm_blasint)g->lda;
    const libxsmm_blasint ldc = (libxsmm_blasint)g->ldc;
    const int flags = g->ta ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
    return libxsmm_smmdispatch((libxsmm_blasint)g->n, (libxsmm_blasint)g->m, (libxsmm_blasint)g->k,
                               &lda, &ldb, &ldc, &g->alpha, &g->beta, &flags, NULL);
}

static void gemm_block(const gemm *g)
{
    if (gemm_is_small(g)) {
        const libxsmm_smmfunction kernel = small_kernel(g);
        if (kernel != NULL) {
            kernel(g->b, g->a, g->c);
            return;
        }
    }
    (void)dnnl_sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', (dnnl_dim_t)g->m, (dnnl_dim_t)g->n,
                     (dnnl_dim_t)g->k, g->alpha, g->a, (dnnl_dim_t)g->lda, g->b, (dnnl_dim_t)g->ldb,
                     g->beta, g->c, (dnnl_dim_t)g->ldc);
}

#else

#include <cblas.h>

/* OpenBLAS copies its operands whatever their size. */
static bool panels_are_copied(const gemm *g)
{
    (void)g;
    return false;
}

static void gemm_block(const gemm *g)
{
    cblas_dgemm(CblasRowMajor, g->ta ? CblasTrans : CblasNoTrans, g->tb ? CblasTrans : CblasNoTrans,
                (blasint)g->m, (blasint)g->n, (blasint)g->k, g->alpha, g->a, (blasint)g->lda, g->b,
                (blasint)g->ldb, g->beta, g->c, (blasint)g->ldc);
}

#endif

/* Rows and depths of pieces come in multiples of this. */
enum { GRAIN = 32 };

static void scale_output(const gemm *g)
{
    for (size_t i = 0; i < g->m; i++) {
        kern_real *row = g->c + i * g->ldc;
        if (g->beta == 0) {
            memset(row, 0, g->n * sizeof *row);
            continue;
        }
        for (size_t j = 0; j < g->n; j++) {
            row[j] *= g->beta;
        }
    }
}

/* Adds the bias to a block that was just computed and is still in cache. */
KERN_HOT static void add_bias(const gemm *g)
{
    for (size_t i = 0; i < g->m; i++) {
        kern_real *restrict row = g->c + i * g->ldc;
        const kern_real *restrict bias = g->bias;
        for (size_t j = 0; j < g->n; j++) {
            row[j] += bias[j];
        }
    }
}

static void gemm_with_bias(const gemm *g)
{
    gemm_block(g);
    if (g->bias != NULL) {
        add_bias(g);
    }
}

/* Of a product with panels, the one with the panel that starts at column j, and of that the depth
 * from k to `end`. The first piece starts C, the last one adds the bias. */
static gemm panel_piece(const gemm *g, size_t j, size_t k, size_t end)
{
    gemm part = *g;
    part.n = kern_size_min(KERN_PANEL, g->n - j);
    part.k = end - k;
    part.a = g->a + k;
    part.ldb = kern_size_min(KERN_PANEL, g->ldb - j);
    part.b = g->b + j * g->k + k * part.ldb;
    part.c = g->c + j;
    part.beta = k == 0 ? g->beta : 1;
    part.bias = g->bias == NULL || end < g->k ? NULL : g->bias + j;
    return part;
}

/* Panel by panel, in pieces of the depth where panels are copied. */
static void gemm_panels(const gemm *g)
{
    const size_t depth = panels_are_copied(g) ? PIECE_DEPTH : g->k;
    for (size_t j = 0; j < g->n; j += KERN_PANEL) {
        for (size_t k = 0; k < g->k; k += depth) {
            const gemm part = panel_piece(g, j, k, kern_size_min(k + depth, g->k));
            gemm_with_bias(&part);
        }
    }
}

#if KERN_REAL_BITS == 32

/* Rows and depth of the left operand that are worked on at a time: together a megabyte at most,
 * which stays in a second-level cache while all panels pass. */
enum { TILES_ROWS = 256, TILES_DEPTH = 1024 };

static bool tiles_serve(const gemm *g)
{
    return !g->ta && kern_blas_tile_serves(g);
}

/* Turning and packing pay when both serve several tiles. */
static bool turned_serve(const gemm *g)
{
    return g->ta && !g->panels && g->scratch != NULL && g->m >= 2 * KERN_PANEL &&
           g->n >= 4 * KERN_PANEL && kern_blas_tile_serves(g);
}

/* The whole panel that follows `part`, of the same depth, or NULL. */
static const float *panel_after(const gemm *g, const gemm *part, size_t j)
{
    return j + 2 * KERN_PANEL <= g->n ? part->b + KERN_PANEL * g->k : NULL;
}

/* All panels with some rows of A and some of its depth. */
static void tiles_piece(const gemm *g, size_t k, size_t end)
{
    for (size_t j = 0; j < g->n; j += KERN_PANEL) {
        const gemm part = panel_piece(g, j, k, end);
        if (part.n < KERN_PANEL) {
            gemm_with_bias(&part);
            continue;
        }
        kern_blas_tile(&part, panel_after(g, &part, j));
        if (part.bias != NULL) {
            add_bias(&part);
        }
    }
}

static void gemm_tiles(const gemm *g)
{
    const size_t rows = kern_size_share(g->m, TILES_ROWS, GRAIN);
    const size_t depth = kern_size_share(g->k, TILES_DEPTH, GRAIN);
    for (size_t i = 0; i < g->m; i += rows) {
        gemm part = *g;
        part.m = kern_size_min(rows, g->m - i);
        part.a += i * g->lda;
        part.c += i * g->ldc;
        for (size_t k = 0; k < g->k; k += depth) {
            tiles_piece(&part, k, kern_size_min(k + depth, g->k));
        }
    }
}

#else

static bool tiles_serve(const gemm *g)
{
    (void)g;
    return false;
}

static bool turned_serve(const gemm *g)
{
    (void)g;
    return false;
}

static void gemm_tiles(const gemm *g)
{
    gemm_panels(g);
}

#endif

/* Aᵀ, turned, times some columns of B, packed into panels; both some depth. */
static void turned_rows(const gemm *g, const kern_real *packed, size_t k, size_t depth)
{
    kern_real *turned = g->scratch;
    const size_t ld = depth + KERN_GEMM_PAD;
    gemm part = *g;
    part.ta = false;
    part.panels = true;
    part.k = depth;
    part.a = turned;
    part.lda = ld;
    part.b = packed;
    part.ldb = g->n;
    part.beta = k == 0 ? g->beta : 1;
    part.bias = k + depth < g->k ? NULL : g->bias;
    for (size_t i = 0; i < g->m; i += KERN_GEMM_ROWS) {
        part.m = kern_size_min(KERN_GEMM_ROWS, g->m - i);
        part.c = g->c + i * g->ldc;
        KERN_NAME(kern_transpose)(turned, ld, g->a + k * g->lda + i, g->lda, depth, part.m);
        gemm_tiles(&part);
    }
}

static void gemm_turned(const gemm *g)
{
    const size_t depth = kern_size_share(g->k, KERN_GEMM_DEPTH, GRAIN);
    gemm some = *g;
    for (size_t j = 0; j < g->n; j += KERN_GEMM_COLUMNS) {
        some.n = kern_size_min(KERN_GEMM_COLUMNS, g->n - j);
        some.c = g->c + j;
        some.bias = g->bias == NULL ? NULL : g->bias + j;
        for (size_t k = 0; k < g->k; k += depth) {
            const size_t deep = kern_size_min(depth, g->k - k);
            kern_real *packed =
                g->scratch + (deep + KERN_GEMM_PAD) * kern_size_min(g->m, KERN_GEMM_ROWS);
            KERN_NAME(kern_pack_plain)(packed, g->b + k * g->ldb + j, g->ldb, deep, some.n);
            turned_rows(&some, packed, k, deep);
        }
    }
}

static void gemm_serial(const gemm *g)
{
    if (turned_serve(g)) {
        gemm_turned(g);
    } else if (!g->panels) {
        gemm_with_bias(g);
    } else if (tiles_serve(g)) {
        gemm_tiles(g);
    } else {
        gemm_panels(g);
    }
}

static void gemm_columns(const gemm *whole, size_t begin, size_t end)
{
    gemm part = *whole;
    const size_t step = whole->panels ? whole->k : whole->tb ? whole->ldb : 1;
    part.n = end - begin;
    part.b += begin * step;
    part.ldb -= whole->panels ? begin : 0;
    part.c += begin;
    part.bias = whole->bias == NULL ? NULL : whole->bias + begin;
    gemm_serial(&part);
}

static void gemm_rows(const gemm *whole, size_t begin, size_t end)
{
    gemm part = *whole;
    part.m = end - begin;
    part.a += begin * (whole->ta ? 1 : whole->lda);
    part.c += begin * whole->ldc;
    gemm_serial(&part);
}

static void gemm_worker(void *context, int worker, int workers)
{
    gemm mine = *(const gemm *)context;
    const gemm *whole = &mine;
    if (mine.scratch != NULL) {
        mine.scratch += (size_t)worker * mine.scratch_stride;
    }
    const bool by_columns = whole->n >= whole->m;
    size_t begin;
    size_t end;
    kern_parallel_share(by_columns ? whole->n : whole->m, by_columns ? KERN_PANEL : GRAIN, worker,
                        workers, &begin, &end);
    if (begin < end) {
        (by_columns ? gemm_columns : gemm_rows)(whole, begin, end);
    }
}

void KERN_NAME(kern_gemm_run)(const gemm *g, int workers)
{
    if (g->m == 0 || g->n == 0) {
        return;
    }
    if (g->k == 0) {
        scale_output(g);
        if (g->bias != NULL) {
            add_bias(g);
        }
        return;
    }
    if (workers <= 1) {
        gemm_serial(g);
        return;
    }
    gemm copy = *g;
    kern_parallel_run(workers, gemm_worker, &copy);
}
