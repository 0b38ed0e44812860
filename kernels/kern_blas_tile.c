/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_blas_tile.h"

#include "kernels/kern_pack.h"
#include "kernels/kern_simd.h"
#include "kernels/kern_size.h"

#if KERN_GNU_X86
#include <immintrin.h>

#define KERN_AVX512 __attribute__((target("avx512f")))
#define TILE_INLINE KERN_AVX512 KERN_INLINE
#define UNROLL      _Pragma("GCC unroll 16")

/* A register tile of six rows and four vectors: 24 sums, four vectors of the panel and one number
 * of A, of 32 registers. */
enum { ROWS = 6, LANES = 16, VECTORS = KERN_PANEL / LANES };

/* Steps over k between two requests for memory, of a line each: what is asked for all at once is
 * waited for. */
enum { STEPS = 4 };

typedef struct tile {
    size_t k;
    const float *a;
    size_t lda;
    const float *panel;
    float *c;
    size_t ldc;
    bool add;
    float alpha;
    const float *ahead; /* what is asked for meanwhile */
} tile;

/* sum += x·y. Left to itself, the compiler takes forms of the instruction that overwrite a
 * factor, and then copies registers, which costs 5 % of the speed. */
#define MULTIPLY_ADD(sum, x, y) __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y))

/* Where the rows of A and of the panel stand, and the sums: up to ROWS rows, the number of which is
 * a constant of every caller, so that the loops disappear and the arrays become registers. */
typedef struct state {
    const float *a[ROWS];
    const float *b; /* the row that k stands at */
    size_t k;
    __m512 sum[ROWS][VECTORS];
} state;

/* Step s over k: the outer product of a column of A and a row of the panel. */
TILE_INLINE void step(state *at, size_t rows, size_t s)
{
    __m512 row[VECTORS];
    UNROLL for (size_t j = 0; j < VECTORS; j++)
    {
        row[j] = _mm512_loadu_ps(at->b + s * KERN_PANEL + j * LANES);
    }
    UNROLL for (size_t i = 0; i < rows; i++)
    {
        const __m512 x = _mm512_set1_ps(at->a[i][at->k + s]);
        UNROLL for (size_t j = 0; j < VECTORS; j++)
        {
            MULTIPLY_ADD(at->sum[i][j], x, row[j]);
        }
    }
}

/* One index for all rows of A, not a pointer for each: the assembler's empty line keeps the
 * compiler from making these. */
TILE_INLINE void advance(state *at, size_t steps)
{
    at->k += steps;
    at->b += steps * KERN_PANEL;
    __asm__("" : "+r"(at->k));
}

TILE_INLINE void start(state *at, const tile *t, size_t rows)
{
    at->b = t->panel;
    at->k = 0;
    UNROLL for (size_t i = 0; i < rows; i++)
    {
        at->a[i] = t->a + i * t->lda;
        UNROLL for (size_t j = 0; j < VECTORS; j++)
        {
            at->sum[i][j] = _mm512_setzero_ps();
        }
    }
}

TILE_INLINE void finish(const state *at, const tile *t, size_t rows)
{
    const __m512 alpha = _mm512_set1_ps(t->alpha);
    UNROLL for (size_t i = 0; i < rows; i++)
    {
        float *c = t->c + i * t->ldc;
        UNROLL for (size_t j = 0; j < VECTORS; j++, c += LANES)
        {
            const __m512 sum = _mm512_mul_ps(alpha, at->sum[i][j]);
            _mm512_storeu_ps(c, t->add ? _mm512_add_ps(sum, _mm512_loadu_ps(c)) : sum);
        }
    }
}

/* Some steps, during which a line is fetched. */
TILE_INLINE void steps(state *at, size_t rows, const float *line)
{
    _mm_prefetch(line, _MM_HINT_T0);
    UNROLL for (size_t s = 0; s < STEPS; s++)
    {
        step(at, rows, s);
    }
    advance(at, STEPS);
}

/* What C holds is fetched first, if it is wanted, then the next panel. */
TILE_INLINE void run(const tile *t, size_t rows)
{
    state at;
    const float *ahead = t->ahead;
    size_t k = t->k;
    start(&at, t, rows);
    for (size_t i = 0; t->add && i < rows && k >= VECTORS * STEPS; i++, k -= VECTORS * STEPS) {
        for (size_t j = 0; j < VECTORS; j++) {
            steps(&at, rows, t->c + i * t->ldc + j * LANES);
        }
    }
    for (; k >= STEPS; k -= STEPS, ahead += LANES) {
        steps(&at, rows, ahead);
    }
    for (; k > 0; k--) {
        step(&at, rows, 0);
        advance(&at, 1);
    }
    finish(&at, t, rows);
}

/* Defines tile_N, the tile of N rows. */
#define TILE(rows)                                                                                 \
    KERN_AVX512 static void tile_##rows(const tile *t)                                             \
    {                                                                                              \
        run(t, rows);                                                                              \
    }

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

typedef void tile_body(const tile *t);

static tile_body *const bodies[ROWS + 1] = {NULL, tile_1, tile_2, tile_3, tile_4, tile_5, tile_6};

bool kern_blas_tile_serves(const kern_gemm_f32 *g)
{
    return !g->tb && g->alpha != 0.0F && (g->beta == 0.0F || g->beta == 1.0F) &&
           __builtin_cpu_supports("avx512f") != 0;
}

/* Numbers of the next panel that one tile asks for, after the rows of C that it asks for first. */
static size_t numbers_ahead(const kern_gemm_f32 *g)
{
    const size_t rows = g->beta != 0.0F ? kern_size_min(ROWS, g->k / (VECTORS * STEPS)) : 0;
    return (g->k / STEPS - rows * VECTORS) * LANES;
}

void kern_blas_tile(const kern_gemm_f32 *g, const float *next)
{
    const size_t asked = numbers_ahead(g);
    const size_t length = g->k * KERN_PANEL;
    size_t done = next == NULL ? length : 0;
    tile t = {.k = g->k, .lda = g->lda, .panel = g->b, .ldc = g->ldc, .alpha = g->alpha};
    t.add = g->beta != 0.0F;
    for (size_t i = 0; i < g->m; i += ROWS) {
        t.a = g->a + i * g->lda;
        t.c = g->c + i * g->ldc;
        t.ahead = done < length ? next + kern_size_min(done, length - asked) : g->b;
        done += asked;
        bodies[kern_size_min(ROWS, g->m - i)](&t);
    }
}
#else
bool kern_blas_tile_serves(const kern_gemm_f32 *g)
{
    (void)g;
    return false;
}

void kern_blas_tile(const kern_gemm_f32 *g, const float *next)
{
    (void)g;
    (void)next;
}
#endif
