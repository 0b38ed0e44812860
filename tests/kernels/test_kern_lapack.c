/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Eigenvalues of matrices that have known ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"

#include <math.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roots_of_unity),
        cmocka_unit_test(test_triangular),
        cmocka_unit_test(test_companion),
        cmocka_unit_test(test_edges),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
