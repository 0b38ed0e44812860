/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Blocks of 64 bytes × 64 bytes (16 × 16 floats, 8 × 8 doubles): read in rows, turned inside
 * registers by rounds of two-operand permutations, and written in rows, so that every cache line is
 * touched once. Elsewhere, and for the edges, the same blocks element by element.
 */
#include "kernels/kern_transpose.h"

#include "kernels/kern_real.h"
#include "kernels/kern_simd.h"
#include "kernels/kern_size.h"

enum { SIDE = 64 / (int)sizeof(kern_real) };

/* What is copied where: out[j·ldo + i] = in[i·ldi + j]. */
typedef struct copy {
    kern_real *out;
    size_t ldo;
    const kern_real *in;
    size_t ldi;
} copy;

static void block_plain(copy c, size_t rows, size_t cols)
{
    for (size_t j = 0; j < cols; j++) {
        for (size_t i = 0; i < rows; i++) {
            c.out[j * c.ldo + i] = c.in[i * c.ldi + j];
        }
    }
}

#if KERN_GNU_X86
#include <immintrin.h>

#define KERN_AVX512 __attribute__((target("avx512f")))

/* Turns one whole block. The first rounds turn the small squares within 128-bit lanes, the last two
 * rounds turn the 4 × 4 matrix of lanes. */
#if KERN_REAL_BITS == 32
KERN_AVX512 static void block_turn(copy c)
{
    __m512 a[16];
    __m512 b[16];
    for (size_t i = 0; i < 16; i++) {
        a[i] = _mm512_loadu_ps(c.in + i * c.ldi);
    }
    for (size_t i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
    /* a[4k + m]: lanes L hold column 4L + m of rows 4k … 4k + 3. */
    for (size_t i = 0; i < 16; i += 4) {
        for (size_t m = 0; m < 2; m++) {
            const __m512d low = _mm512_castps_pd(b[i + m]);
            const __m512d high = _mm512_castps_pd(b[i + m + 2]);
            a[i + 2 * m] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            a[i + 2 * m + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
    }
    for (size_t m = 0; m < 4; m++) {
        const __m512 t0 = _mm512_shuffle_f32x4(a[m], a[m + 4], 0x88);
        const __m512 t1 = _mm512_shuffle_f32x4(a[m], a[m + 4], 0xdd);
        const __m512 t2 = _mm512_shuffle_f32x4(a[m + 8], a[m + 12], 0x88);
        const __m512 t3 = _mm512_shuffle_f32x4(a[m + 8], a[m + 12], 0xdd);
        b[m] = _mm512_shuffle_f32x4(t0, t2, 0x88);
        b[m + 4] = _mm512_shuffle_f32x4(t1, t3, 0x88);
        b[m + 8] = _mm512_shuffle_f32x4(t0, t2, 0xdd);
        b[m + 12] = _mm512_shuffle_f32x4(t1, t3, 0xdd);
    }
    for (size_t j = 0; j < 16; j++) {
        _mm512_storeu_ps(c.out + j * c.ldo, b[j]);
    }
}
#else
KERN_AVX512 static void block_turn(copy c)
{
    __m512d a[8];
    __m512d b[8];
    for (size_t i = 0; i < 8; i++) {
        a[i] = _mm512_loadu_pd(c.in + i * c.ldi);
    }
    /* b[2k + m]: lanes L hold column 2L + m of rows 2k and 2k + 1. */
    for (size_t i = 0; i < 8; i += 2) {
        b[i] = _mm512_unpacklo_pd(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_pd(a[i], a[i + 1]);
    }
    for (size_t m = 0; m < 2; m++) {
        const __m512d t0 = _mm512_shuffle_f64x2(b[m], b[m + 2], 0x88);
        const __m512d t1 = _mm512_shuffle_f64x2(b[m], b[m + 2], 0xdd);
        const __m512d t2 = _mm512_shuffle_f64x2(b[m + 4], b[m + 6], 0x88);
        const __m512d t3 = _mm512_shuffle_f64x2(b[m + 4], b[m + 6], 0xdd);
        a[m] = _mm512_shuffle_f64x2(t0, t2, 0x88);
        a[m + 2] = _mm512_shuffle_f64x2(t1, t3, 0x88);
        a[m + 4] = _mm512_shuffle_f64x2(t0, t2, 0xdd);
        a[m + 6] = _mm512_shuffle_f64x2(t1, t3, 0xdd);
    }
    for (size_t j = 0; j < 8; j++) {
        _mm512_storeu_pd(c.out + j * c.ldo, a[j]);
    }
}
#endif

enum { BAND = 4 * SIDE };

/* All whole blocks of a matrix: some rows of blocks at a time, so that neither side walks over more
 * pages than are remembered, and of these a column after the other, so that lines of `out` that
 * lie side by side are written one after the other. */
KERN_AVX512 static void turn_blocks(copy c, size_t rows, size_t cols)
{
    for (size_t band = 0; band < rows; band += BAND) {
        const size_t end = kern_size_min(band + BAND, rows);
        for (size_t j = 0; j < cols; j += SIDE) {
            for (size_t i = band; i < end; i += SIDE) {
                block_turn((copy){c.out + j * c.ldo + i, c.ldo, c.in + i * c.ldi + j, c.ldi});
            }
        }
    }
}

/* Blocks with registers of half the size, squares of 8 floats or 4 doubles, as `in` lies. */
enum { HALF = SIDE / 2 };

#define KERN_AVX2 __attribute__((target("avx2")))

#if KERN_REAL_BITS == 32
KERN_AVX2 static void half_turn(copy c)
{
    __m256 a[8];
    __m256 b[8];
    for (size_t i = 0; i < 8; i++) {
        a[i] = _mm256_loadu_ps(c.in + i * c.ldi);
    }
    for (size_t i = 0; i < 8; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    /* a[4k + m]: lanes L hold column 4L + m of rows 4k … 4k + 3. */
    for (size_t i = 0; i < 8; i += 4) {
        a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
        a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
        a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
        a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
    }
    for (size_t m = 0; m < 4; m++) {
        _mm256_storeu_ps(c.out + m * c.ldo, _mm256_permute2f128_ps(a[m], a[m + 4], 0x20));
        _mm256_storeu_ps(c.out + (m + 4) * c.ldo, _mm256_permute2f128_ps(a[m], a[m + 4], 0x31));
    }
}
#else
KERN_AVX2 static void half_turn(copy c)
{
    __m256d a[4];
    __m256d b[4];
    for (size_t i = 0; i < 4; i++) {
        a[i] = _mm256_loadu_pd(c.in + i * c.ldi);
    }
    for (size_t i = 0; i < 4; i += 2) {
        b[i] = _mm256_unpacklo_pd(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_pd(a[i], a[i + 1]);
    }
    for (size_t m = 0; m < 2; m++) {
        _mm256_storeu_pd(c.out + m * c.ldo, _mm256_permute2f128_pd(b[m], b[m + 2], 0x20));
        _mm256_storeu_pd(c.out + (m + 2) * c.ldo, _mm256_permute2f128_pd(b[m], b[m + 2], 0x31));
    }
}
#endif

KERN_AVX2 static void turn_halves(copy c, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i += HALF) {
        for (size_t j = 0; j < cols; j += HALF) {
            half_turn((copy){c.out + j * c.ldo + i, c.ldo, c.in + i * c.ldi + j, c.ldi});
        }
    }
}

typedef void turn_body(copy c, size_t rows, size_t cols);

/* What turns whole blocks on this machine; NULL: nothing does. */
static turn_body *find_turn(void)
{
    if (__builtin_cpu_supports("avx512f") != 0) {
        return turn_blocks;
    }
    return __builtin_cpu_supports("avx2") != 0 ? turn_halves : NULL;
}
#else
typedef void turn_body(copy c, size_t rows, size_t cols);

static turn_body *find_turn(void)
{
    return NULL;
}
#endif

/* Element by element, in blocks. */
static void copy_plain(copy c, size_t rows, size_t cols)
{
    for (size_t j = 0; j < cols; j += SIDE) {
        for (size_t i = 0; i < rows; i += SIDE) {
            block_plain((copy){c.out + j * c.ldo + i, c.ldo, c.in + i * c.ldi + j, c.ldi},
                        kern_size_min(SIDE, rows - i), kern_size_min(SIDE, cols - j));
        }
    }
}

void KERN_NAME(kern_transpose)(kern_real *out, size_t ldo, const kern_real *in, size_t ldi,
                               size_t rows, size_t cols)
{
    const copy c = {out, ldo, in, ldi};
    turn_body *const turn = find_turn();
    if (turn == NULL) {
        copy_plain(c, rows, cols);
        return;
    }
    const size_t whole_rows = rows - rows % SIDE;
    const size_t whole_cols = cols - cols % SIDE;
    turn(c, whole_rows, whole_cols);
    copy_plain((copy){out + whole_rows, ldo, in + whole_rows * ldi, ldi}, rows - whole_rows,
               whole_cols);
    copy_plain((copy){out + whole_cols * ldo, ldo, in + whole_cols, ldi}, rows, cols - whole_cols);
}
