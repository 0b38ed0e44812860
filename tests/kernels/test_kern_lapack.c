/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of matrices that have known ones, and the identities that define them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 7 };

/* One of the n computed eigenvalues is re + i im, within `tolerance`. */
static void assert_among(const double *re, const double *im, size_t n, double x, double y,
                         double tolerance)
{
    double nearest = (double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        nearest = fmin(nearest, hypot(re[i] - x, im[i] - y));
    }
    assert_true(nearest <= tolerance);
}

/* The cyclic shift has the roots of unity; shifted by 2 they tell transposes and signs apart. */
static void test_roots_of_unity(void **state)
{
    double a[SIZE * SIZE] = {0};
    double re[SIZE];
    double im[SIZE];
    (void)state;
    for (size_t i = 0; i < SIZE; i++) {
        a[i * SIZE + i] = 2.0;
        a[i * SIZE + (i + 1) % SIZE] = 3.0;
    }
    assert_int_equal(kern_lapack_eigenvalues(SIZE, a, re, im, NULL), KERN_OK);
    for (size_t i = 0; i < SIZE; i++) {
        const double angle = 2 * 3.14159265358979323846 * (double)i / SIZE;
        assert_among(re, im, SIZE, 2 + 3 * cos(angle), 3 * sin(angle), 1e-13);
    }
}

/* A triangular matrix, far from normal, has its diagonal. */
static void test_triangular(void **state)
{
    double a[SIZE * SIZE] = {0};
    double re[SIZE];
    double im[SIZE];
    (void)state;
    for (size_t i = 0; i < SIZE; i++) {
        for (size_t j = i; j < SIZE; j++) {
            a[i * SIZE + j] = i == j ? (double)i - 3.0 : 1.0 + (double)(i * j);
        }
    }
    assert_int_equal(kern_lapack_eigenvalues(SIZE, a, re, im, NULL), KERN_OK);
    for (size_t i = 0; i < SIZE; i++) {
        assert_among(re, im, SIZE, (double)i - 3.0, 0, 1e-11);
    }
}

/* Companion matrix of (x − 1)(x² + 2x + 5), that is x³ + x² + 3x − 5. */
static void test_companion(void **state)
{
    double a[9] = {-1, -3, 5, 1, 0, 0, 0, 1, 0};
    double re[3];
    double im[3];
    (void)state;
    assert_int_equal(kern_lapack_eigenvalues(3, a, re, im, NULL), KERN_OK);
    assert_among(re, im, 3, 1, 0, 1e-14);
    assert_among(re, im, 3, -1, 2, 1e-14);
    assert_among(re, im, 3, -1, -2, 1e-14);
}

static void test_edges(void **state)
{
    double a[4] = {1, 2, (double)NAN, 4};
    double re[2];
    double im[2];
    kern_error err = {0};
    (void)state;
    assert_int_equal(kern_lapack_eigenvalues(2, a, re, im, &err), KERN_NAN);
    assert_non_null(strstr(err.text, "entry 2 of a 2 × 2 matrix"));
    a[2] = (double)INFINITY;
    assert_int_equal(kern_lapack_eigenvalues(2, a, re, im, &err), KERN_NAN);
    assert_int_equal(kern_lapack_eigenvalues(0, a, re, im, &err), KERN_OK);
    a[0] = -2.5;
    assert_int_equal(kern_lapack_eigenvalues(1, a, re, im, &err), KERN_OK);
    assert_true(re[0] == -2.5 && im[0] == 0.0);
}

/* ---- Vectors, frames, systems ---------------------------------------------------------------- */

/* Numbers in [−1, 1), different for every seed. */
static void fill(double *a, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = (double)(kern_rng_hash(seed, i) >> 11) * 0x1p-52 - 1.0;
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* A v = μ v for the vectors as the header lays them out; the matrix is far from symmetric, so that
 * left vectors or columns would be seen. */
static void test_vectors(void **state)
{
    double a[SIZE * SIZE];
    double copy[SIZE * SIZE];
    double vectors[SIZE * SIZE];
    double re[SIZE];
    double im[SIZE];
    bool complex = false;
    (void)state;
    fill(a, SIZE * SIZE, 11);
    memcpy(copy, a, sizeof a);
    assert_int_equal(kern_lapack_eigen(SIZE, copy, re, im, vectors, NULL), KERN_OK);
    for (size_t j = 0; j < SIZE; j++) {
        const bool pair = im[j] > 0.0;
        const double *x = vectors + j * SIZE;
        const double *y = x + SIZE; /* read for a pair only */
        for (size_t i = 0; i < SIZE; i++) {
            const double real = re[j] * x[i] - (pair ? im[j] * y[i] : 0.0);
            assert_true(fabs(dot(a + i * SIZE, x, SIZE) - real) < 1e-13);
            assert_true(!pair ||
                        fabs(dot(a + i * SIZE, y, SIZE) - re[j] * y[i] - im[j] * x[i]) < 1e-13);
        }
        const double norm = dot(x, x, SIZE) + (pair ? dot(y, y, SIZE) : 0.0);
        assert_true(fabs(norm - 1.0) < 1e-14);
        complex = complex || pair;
        j += pair ? 1 : 0;
    }
    assert_true(complex);
}

/* The singular values of a rotation times a diagonal, also of a matrix that is not square. */
static void test_singular_values(void **state)
{
    double a[6] = {0.6 * 3, 0.8 * -5, 0, 0.8 * 3, 0.6 * 5, 0};
    double wide[6];
    double s[2];
    (void)state;
    memcpy(wide, a, sizeof a);
    assert_int_equal(kern_lapack_singular_values(2, 3, wide, s, NULL), KERN_OK);
    assert_true(fabs(s[0] - 5.0) < 1e-14 && fabs(s[1] - 3.0) < 1e-14);
    /* The same numbers as a 3×2 matrix: columns (1.8, 0, 3) and (−4, 2.4, 0). */
    assert_int_equal(kern_lapack_singular_values(3, 2, a, s, NULL), KERN_OK);
    assert_true(fabs(s[0] * s[0] + s[1] * s[1] - (1.8 * 1.8 + 9 + 16 + 2.4 * 2.4)) < 1e-12);
    assert_true(fabs(s[0] * s[0] * s[1] * s[1] - ((1.8 * 1.8 + 9) * (16 + 2.4 * 2.4) - 51.84)) <
                1e-11);
    assert_int_equal(kern_lapack_singular_values(0, 2, a, s, NULL), KERN_OK);
}

/* Frames of awkward sizes: V = Rᵀ Q by rows, Q orthonormal, R upper triangular with a diagonal that
 * is not negative; the workspace ends where it is said to. */
static void check_frame(size_t n, size_t k, uint64_t seed)
{
    const size_t room = kern_lapack_orthonormalise_work(n, k);
    double *v = malloc((2 * n * k + k * k + room + 1) * sizeof *v);
    assert_non_null(v);
    double *q = v + n * k;
    double *r = q + n * k;
    double *work = r + k * k;
    fill(v, n * k, seed);
    memcpy(q, v, n * k * sizeof *v);
    work[room] = -7.5;
    assert_int_equal(kern_lapack_orthonormalise(n, k, q, r, work, NULL), KERN_OK);
    assert_true(work[room] == -7.5);
    for (size_t i = 0; i < k; i++) {
        assert_true(r[i * k + i] >= 0.0);
        for (size_t j = 0; j < k; j++) {
            assert_true(fabs(dot(q + i * n, q + j * n, n) - (i == j ? 1.0 : 0.0)) < 1e-14);
            assert_true(j >= i || r[i * k + j] == 0.0);
        }
        for (size_t t = 0; t < n; t++) {
            double sum = 0.0;
            for (size_t j = 0; j <= i; j++) {
                sum += r[j * k + i] * q[j * n + t];
            }
            assert_true(fabs(sum - v[i * n + t]) < 1e-13);
        }
    }
    free(v);
}

static void test_frames(void **state)
{
    static const size_t sizes[][2] = {{1, 1}, {2, 1}, {2, 2}, {5, 3}, {37, 36}, {64, 64}, {101, 7}};
    double same[6] = {1, 2, 2, 2, 4, 4};
    double r[4];
    double work[70];
    kern_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_frame(sizes[i][0], sizes[i][1], i);
    }
    /* Parallel vectors: the second one is free, of no length, and still orthonormal. */
    assert_true(kern_lapack_orthonormalise_work(3, 2) <= 70);
    assert_int_equal(kern_lapack_orthonormalise(3, 2, same, r, work, NULL), KERN_OK);
    assert_true(fabs(r[0] - 3.0) < 1e-14 && fabs(r[3]) < 1e-14 && fabs(r[1] - 6.0) < 1e-14);
    assert_true(fabs(same[0] - 1.0 / 3.0) < 1e-15);
    assert_true(fabs(dot(same, same + 3, 3)) < 1e-15 &&
                fabs(dot(same + 3, same + 3, 3) - 1) < 1e-14);
    assert_int_equal(kern_lapack_orthonormalise(1, 2, same, r, work, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "2 vectors of 1 numbers"));
    assert_int_equal(kern_lapack_orthonormalise(3, 0, same, r, work, NULL), KERN_OK);
    same[4] = (double)NAN;
    assert_int_equal(kern_lapack_orthonormalise(3, 2, same, r, work, &err), KERN_NAN);
}

static void test_linear_systems(void **state)
{
    double a[SIZE * SIZE];
    double lu[SIZE * SIZE];
    double x[SIZE];
    double b[SIZE];
    int pivots[SIZE];
    double log_abs_det = 0.0;
    kern_error err = {0};
    (void)state;
    fill(a, SIZE * SIZE, 21);
    fill(x, SIZE, 22);
    for (size_t i = 0; i < SIZE; i++) {
        b[i] = dot(a + i * SIZE, x, SIZE);
    }
    memcpy(lu, a, sizeof a);
    assert_int_equal(kern_lapack_lu(SIZE, lu, pivots, NULL, NULL), KERN_OK);
    assert_int_equal(kern_lapack_lu_solve(SIZE, lu, pivots, b, NULL), KERN_OK);
    for (size_t i = 0; i < SIZE; i++) {
        assert_true(fabs(b[i] - x[i]) < 1e-12);
    }
    for (size_t i = 0; i < SIZE; i++) {
        b[i] = 0.0;
        for (size_t j = 0; j < SIZE; j++) {
            b[i] += a[j * SIZE + i] * x[j];
        }
    }
    assert_int_equal(kern_lapack_lu_solve_transposed(SIZE, lu, pivots, b, NULL), KERN_OK);
    for (size_t i = 0; i < SIZE; i++) {
        assert_true(fabs(b[i] - x[i]) < 1e-12);
    }
    double small[4] = {0, -3, 2, 5};
    assert_int_equal(kern_lapack_lu(2, small, pivots, &log_abs_det, NULL), KERN_OK);
    assert_true(fabs(log_abs_det - log(6.0)) < 1e-15);
    double singular[4] = {1, 2, 2, 4};
    assert_int_equal(kern_lapack_lu(2, singular, pivots, &log_abs_det, NULL), KERN_OK);
    assert_true(isinf(log_abs_det) && log_abs_det < 0.0);
    assert_int_equal(kern_lapack_lu_solve(2, singular, pivots, b, &err), KERN_SINGULAR);
    assert_non_null(strstr(err.text, "pivot 1 of a linear system of 2 equations"));
    double tiny[1] = {1e-300};
    b[0] = 1e300;
    assert_int_equal(kern_lapack_lu(1, tiny, pivots, &log_abs_det, NULL), KERN_OK);
    assert_int_equal(kern_lapack_lu_solve(1, tiny, pivots, b, &err), KERN_SINGULAR);
    assert_int_equal(kern_lapack_lu(0, tiny, pivots, &log_abs_det, NULL), KERN_OK);
    assert_true(log_abs_det == 0.0);
    tiny[0] = (double)INFINITY;
    assert_int_equal(kern_lapack_lu(1, tiny, pivots, NULL, &err), KERN_NAN);
    assert_int_equal(kern_lapack_lu(SIZE_MAX, tiny, pivots, NULL, &err), KERN_OVERFLOW);
}

/* A = L Lᵀ from a known L; above the diagonal stands what must not matter and must stay. */
static void test_cholesky(void **state)
{
    double l[SIZE * SIZE] = {0};
    double a[SIZE * SIZE];
    double x[SIZE];
    double b[SIZE];
    (void)state;
    fill(l, SIZE * SIZE, 31);
    fill(x, SIZE, 32);
    for (size_t i = 0; i < SIZE; i++) {
        l[i * SIZE + i] = 1.5 + (double)i;
        for (size_t j = i + 1; j < SIZE; j++) {
            l[i * SIZE + j] = 0.0;
        }
    }
    for (size_t i = 0; i < SIZE; i++) {
        for (size_t j = 0; j < SIZE; j++) {
            a[i * SIZE + j] = j > i ? (double)NAN : dot(l + i * SIZE, l + j * SIZE, SIZE);
        }
        b[i] = dot(l + i * SIZE, x, SIZE);
    }
    assert_int_equal(kern_lapack_cholesky(SIZE, a, NULL), KERN_OK);
    for (size_t i = 0; i < SIZE; i++) {
        for (size_t j = 0; j < SIZE; j++) {
            assert_true(j > i ? isnan(a[i * SIZE + j])
                              : fabs(a[i * SIZE + j] - l[i * SIZE + j]) < 1e-13);
        }
    }
    kern_lapack_lower_solve(SIZE, a, b);
    for (size_t i = 0; i < SIZE; i++) {
        assert_true(fabs(b[i] - x[i]) < 1e-13);
    }
}

/* Refused: a matrix with a negative eigenvalue, a singular one, one that is not finite. */
static void test_cholesky_refusals(void **state)
{
    double saddle[9] = {4, 0, 0, 2, 1, 0, 0, 3, 2};
    double flat[4] = {1, 0, 1, 1};
    kern_error err = {0};
    (void)state;
    assert_int_equal(kern_lapack_cholesky(3, saddle, &err), KERN_SINGULAR);
    assert_non_null(strstr(err.text, "the leading 2 × 2 block of a 3 × 3 matrix"));
    assert_int_equal(kern_lapack_cholesky(2, flat, &err), KERN_SINGULAR);
    flat[2] = (double)NAN;
    assert_int_equal(kern_lapack_cholesky(2, flat, &err), KERN_NAN);
    assert_non_null(strstr(err.text, "entry 2 of a 2 × 2 matrix"));
    assert_int_equal(kern_lapack_cholesky(0, flat, NULL), KERN_OK);
    assert_int_equal(kern_lapack_cholesky(SIZE_MAX, flat, &err), KERN_OVERFLOW);
}

/* The second difference has the eigenvalues 2 − 2 cos(πk/(n + 1)); its lower triangle is enough. */
static void test_symmetric_top(void **state)
{
    double a[SIZE * SIZE], values[SIZE], vectors[SIZE * SIZE], work[35 * SIZE];
    int integers[6 * SIZE];
    (void)state;
    assert_true(kern_lapack_symmetric_work(SIZE) <= 35 * SIZE);
    assert_true(kern_lapack_symmetric_integers(SIZE) <= 6 * SIZE);
    for (size_t count = 0; count <= SIZE; count++) {
        for (size_t i = 0; i < SIZE; i++) {
            for (size_t j = 0; j < SIZE; j++) {
                a[i * SIZE + j] = j > i ? 1e9 : i == j ? 2.0 : i == j + 1 ? -1.0 : 0.0;
            }
        }
        assert_int_equal(
            kern_lapack_symmetric_top(SIZE, count, a, values, vectors, work, integers, NULL),
            KERN_OK);
        for (size_t k = 0; k < count; k++) {
            const double angle = 3.14159265358979323846 * (double)(SIZE - k) / (SIZE + 1);
            const double *v = vectors + k * SIZE;
            assert_true(fabs(values[k] - (2 - 2 * cos(angle))) <= 1e-14);
            for (size_t i = 0; i < SIZE; i++) {
                const double left = i > 0 ? v[i - 1] : 0.0;
                const double right = i + 1 < SIZE ? v[i + 1] : 0.0;
                assert_true(fabs(2 * v[i] - left - right - values[k] * v[i]) <= 1e-14);
            }
        }
    }
    assert_int_equal(kern_lapack_symmetric_top(2, 3, a, values, vectors, work, integers, NULL),
                     KERN_INVALID_ARGUMENT);
    a[2] = (double)NAN;
    assert_int_equal(kern_lapack_symmetric_top(2, 1, a, values, vectors, work, integers, NULL),
                     KERN_NAN);
}

/* All pairs of the same chain, 2 on the diagonal and −1 beside it, ascending; what stands above the
 * diagonal has no say. */
static void test_symmetric(void **state)
{
    double a[SIZE * SIZE];
    double values[SIZE];
    (void)state;
    for (size_t k = 0; k < SIZE * SIZE; k++) {
        const size_t i = k / SIZE;
        const size_t j = k % SIZE;
        a[k] = i == j ? 2.0 : i == j + 1 ? -1.0 : i < j ? 99.0 : 0.0;
    }
    assert_int_equal(kern_lapack_symmetric(SIZE, a, values, NULL), KERN_OK);
    for (size_t k = 0; k < SIZE; k++) {
        const double *v = a + k * SIZE;
        double square = 0.0;
        assert_true(fabs(values[k] - (2 - 2 * cos(acos(-1.0) * (double)(k + 1) / (SIZE + 1)))) <=
                    1e-14);
        for (size_t i = 0; i < SIZE; i++) {
            const double left = i > 0 ? v[i - 1] : 0.0;
            const double right = i + 1 < SIZE ? v[i + 1] : 0.0;
            square += v[i] * v[i];
            assert_true(fabs(2 * v[i] - left - right - values[k] * v[i]) <= 1e-14);
        }
        assert_true(fabs(square - 1) <= 1e-14);
    }
    a[SIZE] = (double)NAN;
    assert_int_equal(kern_lapack_symmetric(SIZE, a, values, NULL), KERN_NAN);
    assert_int_equal(kern_lapack_symmetric(0, NULL, NULL, NULL), KERN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roots_of_unity), cmocka_unit_test(test_triangular),
        cmocka_unit_test(test_companion),      cmocka_unit_test(test_edges),
        cmocka_unit_test(test_vectors),        cmocka_unit_test(test_singular_values),
        cmocka_unit_test(test_frames),         cmocka_unit_test(test_linear_systems),
        cmocka_unit_test(test_cholesky),       cmocka_unit_test(test_cholesky_refusals),
        cmocka_unit_test(test_symmetric_top),  cmocka_unit_test(test_symmetric),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
