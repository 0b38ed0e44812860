/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Matrix products against a triple loop in long double: awkward sizes, transposes, factors, leading
 * dimensions wider than the rows, packed right operands, several workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_pack.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A product, its numbers in double (exact in single precision), and its two results. */
typedef struct problem {
    bool ta;
    bool tb;
    bool panels;
    size_t m;
    size_t n;
    size_t k;
    size_t gap;   /* columns between the end of a row and the next one */
    bool scratch; /* whether the product is given some */
    bool biased;
    double alpha;
    double beta;
    int workers;
    double *a;
    double *b;
    double *c;
    double *bias;
} problem;

static double *random_numbers(size_t n, kern_rng *rng)
{
    double *x = malloc((n + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)(float)kern_rng_normal(rng);
    }
    return x;
}

static size_t rows_a(const problem *p)
{
    return p->ta ? p->k : p->m;
}

static size_t rows_b(const problem *p)
{
    return p->tb ? p->n : p->k;
}

static size_t width_a(const problem *p)
{
    return (p->ta ? p->m : p->k) + p->gap;
}

static size_t width_b(const problem *p)
{
    return (p->tb ? p->k : p->n) + p->gap;
}

static size_t width_c(const problem *p)
{
    return p->n + p->gap;
}

static float *to_single(const double *x, size_t n)
{
    float *y = aligned_alloc(64, (n * sizeof *y + 127) / 64 * 64);
    assert_non_null(y);
    for (size_t i = 0; i < n; i++) {
        y[i] = (float)x[i];
    }
    return y;
}

/* Computes into c, which holds C as it is before. */
static void compute_double(const problem *p, double *c)
{
    const size_t stride = kern_gemm_scratch_size(p->m, p->n, p->k);
    double *panels = malloc((kern_pack_size(p->k, width_b(p)) + 1) * sizeof *panels);
    double *scratch = malloc((stride * (size_t)p->workers + 1) * sizeof *scratch);
    assert_non_null(panels);
    assert_non_null(scratch);
    if (p->panels) {
        kern_pack_f64(panels, p->b, p->k, width_b(p), p->workers);
    }
    const kern_gemm_f64 g = {.ta = p->ta,
                             .tb = p->tb,
                             .panels = p->panels,
                             .m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .alpha = p->alpha,
                             .beta = p->beta,
                             .a = p->a,
                             .lda = width_a(p),
                             .b = p->panels ? panels : p->b,
                             .ldb = width_b(p),
                             .c = c,
                             .ldc = width_c(p),
                             .bias = p->biased ? p->bias : NULL,
                             .scratch = p->scratch ? scratch : NULL,
                             .scratch_stride = stride};
    kern_gemm_run_f64(&g, p->workers);
    free(panels);
    free(scratch);
}

static void compute_single(const problem *p, double *c)
{
    const size_t size = p->m * width_c(p);
    float *a = to_single(p->a, rows_a(p) * width_a(p));
    float *b = to_single(p->b, rows_b(p) * width_b(p));
    float *y = to_single(c, size);
    float *bias = to_single(p->bias, p->n);
    const size_t stride = kern_gemm_scratch_size(p->m, p->n, p->k);
    float *panels = malloc((kern_pack_size(p->k, width_b(p)) + 1) * sizeof *panels);
    float *scratch = malloc((stride * (size_t)p->workers + 1) * sizeof *scratch);
    assert_non_null(panels);
    assert_non_null(scratch);
    if (p->panels) {
        kern_pack_f32(panels, b, p->k, width_b(p), p->workers);
    }
    const kern_gemm_f32 g = {.ta = p->ta,
                             .tb = p->tb,
                             .panels = p->panels,
                             .m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .alpha = (float)p->alpha,
                             .beta = (float)p->beta,
                             .a = a,
                             .lda = width_a(p),
                             .b = p->panels ? panels : b,
                             .ldb = width_b(p),
                             .c = y,
                             .ldc = width_c(p),
                             .bias = p->biased ? bias : NULL,
                             .scratch = p->scratch ? scratch : NULL,
                             .scratch_stride = stride};
    kern_gemm_run_f32(&g, p->workers);
    for (size_t i = 0; i < size; i++) {
        c[i] = (double)y[i];
    }
    free(a);
    free(b);
    free(y);
    free(bias);
    free(panels);
    free(scratch);
}

/* C of the product in the given precision, as doubles; guard columns included. */
static double *compute(const problem *p, bool single)
{
    const size_t size = p->m * width_c(p);
    double *c = malloc((size + 1) * sizeof *c);
    assert_non_null(c);
    memcpy(c, p->c, size * sizeof *c);
    (single ? compute_single : compute_double)(p, c);
    return c;
}

/* k + 4 roundings of a sum of products whose sizes add up to `size`. */
static void check_entry(const problem *p, double found, size_t i, size_t j, double unit)
{
    long double sum = 0;
    double size = 0;
    for (size_t l = 0; l < p->k; l++) {
        const double a = p->a[p->ta ? l * width_a(p) + i : i * width_a(p) + l];
        const double b = p->b[p->tb ? j * width_b(p) + l : l * width_b(p) + j];
        sum += (long double)a * (long double)b;
        size += fabs(p->alpha * a * b);
    }
    double expected = p->alpha * (double)sum;
    if (p->beta != 0) {
        expected += p->beta * p->c[i * width_c(p) + j];
        size += fabs(p->beta * p->c[i * width_c(p) + j]);
    }
    if (p->biased) {
        expected += p->bias[j];
        size += fabs(p->bias[j]);
    }
    if (!(fabs(found - expected) <= ((double)p->k + 4) * unit * size)) {
        fail_msg("%zu×%zu×%zu ta %d tb %d panels %d α %g β %g workers %d: C[%zu][%zu] = %.17g, not "
                 "%.17g",
                 p->m, p->n, p->k, p->ta, p->tb, p->panels, p->alpha, p->beta, p->workers, i, j,
                 found, expected);
    }
}

static void check(problem p)
{
    kern_rng *rng = kern_rng_create(p.m * 10007 + p.n * 101 + p.k, "gemm", p.gap);
    assert_non_null(rng);
    p.a = random_numbers(rows_a(&p) * width_a(&p), rng);
    p.b = random_numbers(rows_b(&p) * width_b(&p), rng);
    p.c = random_numbers(p.m * width_c(&p), rng);
    p.bias = random_numbers(p.n, rng);
    for (size_t i = 0; p.beta == 0 && i < p.m; i++) {
        for (size_t j = 0; j < p.n; j++) {
            p.c[i * width_c(&p) + j] = (double)NAN;
        }
    }
    for (size_t single = 0; single < 2; single++) {
        double *c = compute(&p, single == 1);
        for (size_t i = 0; i < p.m; i++) {
            for (size_t j = 0; j < width_c(&p); j++) {
                const size_t at = i * width_c(&p) + j;
                if (j < p.n) {
                    check_entry(&p, c[at], i, j, single == 1 ? 0x1p-23 : 0x1p-52);
                } else {
                    assert_true(c[at] == p.c[at]); /* guard columns */
                }
            }
        }
        free(c);
    }
    free(p.a);
    free(p.b);
    free(p.c);
    free(p.bias);
    kern_rng_destroy(rng);
}

static const size_t sizes[][3] = {{1, 1, 1},   {2, 3, 5},    {7, 1, 9},   {1, 33, 4}, {17, 31, 13},
                                  {33, 65, 2}, {64, 64, 64}, {40, 7, 70}, {5, 97, 1}, {129, 66, 3}};

static void test_products_of_all_forms(void **state)
{
    static const double factors[][2] = {{1, 0}, {1, 1}, {-0.5, 2}, {2, 0}, {0, 0.5}, {0, 0}};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t f = 0; f < 4 * (sizeof factors / sizeof *factors); f++) {
            check((problem){.ta = f % 2 == 1,
                            .tb = f / 2 % 2 == 1,
                            .m = sizes[s][0],
                            .n = sizes[s][1],
                            .k = sizes[s][2],
                            .gap = (s + f) % 3 * 3,
                            .alpha = factors[f / 4][0],
                            .beta = factors[f / 4][1],
                            .workers = 1 + (int)((s + f) % 3)});
        }
    }
}

/* Large enough for the other path of single precision. */
static void test_large_products(void **state)
{
    (void)state;
    for (size_t f = 0; f < 4; f++) {
        check((problem){.ta = f % 2 == 1,
                        .tb = f / 2 == 1,
                        .m = 37,
                        .n = 520,
                        .k = 130,
                        .gap = f,
                        .alpha = 1,
                        .beta = f < 2 ? 0 : 1,
                        .workers = 1 + (int)f % 3});
    }
}

static void test_packed_right_operands(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t f = 0; f < 6; f++) {
            check((problem){.panels = true,
                            .m = sizes[s][0],
                            .n = sizes[s][1] + (f == 5 ? 130 : 0),
                            .k = sizes[s][2],
                            .gap = f % 3 * 30,
                            .alpha = f < 4 ? 1 : -0.5,
                            .beta = f % 2 == 0 ? 0 : 1,
                            .workers = 1 + (int)f % 3});
        }
    }
}

/* Several shares of rows and of depth; panels that are copied in pieces where there is no AVX-512;
 * and the ends of all these. */
static void test_packed_pieces(void **state)
{
    static const size_t large[][3] = {{192, 65, 192}, {300, 70, 1100}, {257, 64, 1025},
                                      {400, 128, 70}, {770, 66, 33},   {21, 64, 2100}};
    (void)state;
    for (size_t s = 0; s < sizeof large / sizeof *large; s++) {
        for (size_t f = 0; f < 4; f++) {
            check((problem){.panels = true,
                            .m = large[s][0],
                            .n = large[s][1],
                            .k = large[s][2],
                            .biased = f > 0,
                            .alpha = f < 2 ? 1 : -0.5,
                            .beta = f % 2 == 0 ? 0 : 1,
                            .workers = 1 + (int)f % 3});
        }
    }
}

/* Tiles of every height, whole panels and a narrower last one, more columns packed than used, and
 * depths around the steps between two requests for memory. */
static void test_tiles(void **state)
{
    static const size_t depths[] = {1, 3, 4, 15, 16, 95, 97, 130};
    (void)state;
    for (size_t m = 1; m <= 13; m++) {
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
            check((problem){.panels = true,
                            .m = m,
                            .n = 64 + (m + d) % 3 * 40,
                            .k = depths[d],
                            .gap = d % 2 * 70,
                            .biased = m % 3 == 0,
                            .alpha = d % 3 == 0 ? -0.75 : 1,
                            .beta = (m + d) % 2 == 0 ? 0 : 1,
                            .workers = 1});
        }
    }
}

/* Left operands that are turned into scratch: pieces of rows, columns and depth, and their ends. */
static void test_turned_left_operands(void **state)
{
    static const size_t large[][3] = {{128, 256, 1},   {130, 300, 40},  {193, 257, 17},
                                      {200, 256, 800}, {150, 1000, 30}, {389, 260, 5}};
    (void)state;
    for (size_t s = 0; s < sizeof large / sizeof *large; s++) {
        for (size_t f = 0; f < 3; f++) {
            check((problem){.ta = true,
                            .scratch = true,
                            .m = large[s][0],
                            .n = large[s][1],
                            .k = large[s][2],
                            .gap = f * 3,
                            .biased = f == 1,
                            .alpha = f == 2 ? 0.5 : 1,
                            .beta = f == 0 ? 0 : 1,
                            .workers = 1 + (int)f});
        }
    }
    check((problem){.ta = true,
                    .panels = true,
                    .scratch = true,
                    .m = 128,
                    .n = 256,
                    .k = 40,
                    .alpha = 1,
                    .workers = 1});
}

static void test_empty_products(void **state)
{
    (void)state;
    for (size_t f = 0; f < 6; f++) {
        check((problem){.m = 4,
                        .n = 5,
                        .k = 0,
                        .gap = 2,
                        .alpha = 1,
                        .beta = 0.5 * (double)(f % 3),
                        .ta = f > 2,
                        .workers = 1 + (int)f % 2});
        check((problem){.m = 0, .n = 5, .k = 3, .alpha = 1, .beta = 1, .workers = 2});
        check((problem){.m = 4, .n = 0, .k = 3, .alpha = 1, .beta = 0, .workers = 2});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_all_forms),
        cmocka_unit_test(test_large_products),
        cmocka_unit_test(test_packed_right_operands),
        cmocka_unit_test(test_packed_pieces),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_turned_left_operands),
        cmocka_unit_test(test_empty_products),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
