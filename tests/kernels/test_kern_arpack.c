/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Eigenpairs from products alone: operators of known spectrum, among them those that Arnoldi
 * programs are known to stumble over, and what goes wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_arpack.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_HERE = 120, K_MAX = 12 };

#define TOL 1e-12

/* An operator: a function of rows and columns, or a fault. */
typedef struct operator_here {
    size_t n;
    double (*entry)(size_t n, size_t i, size_t j);
    size_t calls;
    size_t stop_at; /* 0: never */
    size_t nan_at;  /* 0: never */
    double norm;    /* Frobenius */
    double matrix[SIZE_MAX_HERE * SIZE_MAX_HERE];
} operator_here;

static operator_here shared;

static void set_operator(size_t n, double (*entry)(size_t n, size_t i, size_t j))
{
    assert_true(n <= SIZE_MAX_HERE);
    shared.n = n;
    shared.entry = entry;
    shared.calls = shared.stop_at = shared.nan_at = 0;
    shared.norm = 0.0;
    for (size_t i = 0; i < n * n; i++) {
        shared.matrix[i] = entry(n, i / n, i % n);
        shared.norm = hypot(shared.norm, shared.matrix[i]);
    }
}

static bool apply(void *context, const double *x, double *y)
{
    operator_here *a = context;
    a->calls++;
    for (size_t i = 0; i < a->n; i++) {
        y[i] = 0.0;
        for (size_t j = 0; j < a->n; j++) {
            y[i] += a->matrix[i * a->n + j] * x[j];
        }
    }
    if (a->nan_at != 0 && a->calls >= a->nan_at) {
        y[a->n - 1] = (double)NAN;
    }
    return a->stop_at == 0 || a->calls < a->stop_at;
}

/* A copy of what a run found. */
typedef struct found {
    size_t n;
    double re[K_MAX + 1], im[K_MAX + 1];
    double vectors[(K_MAX + 1) * SIZE_MAX_HERE];
    kern_arpack_result result;
} found;

static double start_vector[SIZE_MAX_HERE];

static kern_arpack_problem problem_default(kern_arpack_end end)
{
    for (size_t i = 0; i < SIZE_MAX_HERE; i++) {
        start_vector[i] = (double)(kern_rng_hash(7, i) >> 11) * 0x1p-52 - 1.0;
    }
    return (kern_arpack_problem){.apply = apply,
                                 .context = &shared,
                                 .end = end,
                                 .start = start_vector,
                                 .tol = TOL,
                                 .max_restarts = 300,
                                 .seed = 3};
}

/* Runs, and checks every claim against the matrix itself: unit vectors, the residual as told, and
 * below what the header promises. */
static void run(const kern_arpack_problem *p, size_t k, found *out)
{
    const size_t n = shared.n;
    kern_arpack *arpack = NULL;
    kern_error err = {0};
    if (kern_arpack_create(&arpack, n, k, 0, &err) != KERN_OK ||
        kern_arpack_run(arpack, p, &out->result, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    const kern_arpack_result *r = &out->result;
    out->n = r->n_converged;
    assert_true(out->n <= k + 1);
    assert_int_equal(r->products, shared.calls);
    assert_true(r->scale <= shared.norm * (1.0 + 1e-12));
    memcpy(out->re, r->re, out->n * sizeof *out->re);
    memcpy(out->im, r->im, out->n * sizeof *out->im);
    memcpy(out->vectors, r->vectors, out->n * n * sizeof *out->vectors);
    for (size_t j = 0; j < out->n; j++) {
        const bool pair = out->im[j] > 0.0;
        const double *a = out->vectors + j * n;
        double length = 0.0;
        double gap = 0.0;
        assert_true(!(out->im[j] < 0.0) || out->im[j] == -out->im[j - 1]);
        if (out->im[j] < 0.0) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            double re = -out->re[j] * a[i] + (pair ? out->im[j] * a[n + i] : 0.0);
            double im = pair ? -out->re[j] * a[n + i] - out->im[j] * a[i] : 0.0;
            for (size_t l = 0; l < n; l++) {
                re += shared.matrix[i * n + l] * a[l];
                im += pair ? shared.matrix[i * n + l] * a[n + l] : 0.0;
            }
            gap = hypot(gap, hypot(re, im));
            length = hypot(length, pair ? hypot(a[i], a[n + i]) : a[i]);
        }
        assert_true(fabs(length - 1.0) < 1e-14 * (double)n);
        assert_true(fabs(gap - r->residuals[j]) <= 1e-14 * shared.norm);
        assert_true(r->residuals[j] <= 2.0 * TOL * r->scale);
    }
    kern_arpack_destroy(arpack);
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
    }
}

/* ---- Operators ---------------------------------------------------------------------------- */

/* −1, −0.9803, …: n numbers in equal steps, so that both ends of 100 are close in modulus. */
static double diagonal(size_t n, size_t i, size_t j)
{
    (void)n;
    return i == j ? -1.0 + 0.0197 * (double)i : 0.0;
}

/* Rotations by i + 1 tenths of a radian, shrunk by 0.99 to the power i. */
static double rotations(size_t n, size_t i, size_t j)
{
    const double angle = 0.1 * (double)(i / 2 + 1);
    const double radius = pow(0.99, (double)(i / 2));
    (void)n;
    if (i / 2 != j / 2) {
        return 0.0;
    }
    return radius * (i == j ? cos(angle) : (i > j ? sin(angle) : -sin(angle)));
}

/* Ones on and above the diagonal up to the third, −1 below it (Grcar 1989): eigenvalues of
 * condition 1e9 and more. */
static double grcar(size_t n, size_t i, size_t j)
{
    (void)n;
    return i == j + 1 ? -1.0 : (j >= i && j <= i + 3 ? 1.0 : 0.0);
}

/* One eigenvalue with one eigenvector. */
static double jordan(size_t n, size_t i, size_t j)
{
    (void)n;
    return i == j ? 0.5 : (j == i + 1 ? 1.0 : 0.0);
}

/* A hub joined to n − 1 others: ±√(n − 1), and 0 with multiplicity n − 2 (arpack-ng issue 142). */
static double star(size_t n, size_t i, size_t j)
{
    (void)n;
    return (i == 0) != (j == 0) ? 1.0 : 0.0;
}

static double identity(size_t n, size_t i, size_t j)
{
    (void)n;
    return i == j ? 1.0 : 0.0;
}

static double zero(size_t n, size_t i, size_t j)
{
    (void)n;
    (void)i;
    (void)j;
    return 0.0;
}

/* ---- Right values ------------------------------------------------------------------------- */

/* A normal operator, so that eigenvalues are as right as residuals are small. */
static void test_ends(void **state)
{
    static found f;
    static const double expected[KERN_ARPACK_END_COUNT][4] = {{-1.0, -0.9803, -0.9606, 0.9503},
                                                              {0.9503, 0.9306, 0.9109, 0.8912},
                                                              {-1.0, -0.9803, -0.9606, -0.9409}};
    (void)state;
    for (int end = 0; end < KERN_ARPACK_END_COUNT; end++) {
        set_operator(100, diagonal);
        const kern_arpack_problem p = problem_default((kern_arpack_end)end);
        run(&p, 4, &f);
        assert_int_equal(f.n, 4);
        for (size_t j = 0; j < 4; j++) {
            assert_near(f.re[j], expected[end][j], 1e-11);
            assert_true(f.im[j] == 0.0);
        }
    }
}

/* Pairs come whole: 5 wanted are 6. */
static void test_pairs(void **state)
{
    static found f;
    (void)state;
    set_operator(80, rotations);
    const kern_arpack_problem p = problem_default(KERN_ARPACK_LARGEST_MODULUS);
    run(&p, 5, &f);
    assert_int_equal(f.n, 6);
    for (size_t j = 0; j < 6; j++) {
        const double angle = 0.1 * (double)(j / 2 + 1);
        const double radius = pow(0.99, (double)(j / 2));
        assert_near(f.re[j], radius * cos(angle), 1e-11);
        assert_near(f.im[j], (j % 2 == 0 ? 1.0 : -1.0) * radius * sin(angle), 1e-11);
    }
}

/* Every size down to the smallest, all of whose spaces are the whole space in the end. */
static void test_small(void **state)
{
    static found f;
    (void)state;
    for (size_t n = 3; n <= 12; n++) {
        for (size_t k = 1; k + 2 <= n; k++) {
            set_operator(n, diagonal);
            const kern_arpack_problem p = problem_default(KERN_ARPACK_SMALLEST_REAL);
            run(&p, k, &f);
            assert_int_equal(f.n, k);
            for (size_t j = 0; j < k; j++) {
                assert_near(f.re[j], -1.0 + 0.0197 * (double)j, 1e-12);
            }
        }
    }
}

/* ---- Awkward operators -------------------------------------------------------------------- */

/* Far from normal: values are an eigenvalue's condition times worse than residuals, so what is
 * claimed is checked by its residual, and against the dense values as far as those are right. */
static void test_far_from_normal(void **state)
{
    static found f;
    static double copy[SIZE_MAX_HERE * SIZE_MAX_HERE];
    double re[SIZE_MAX_HERE];
    double im[SIZE_MAX_HERE];
    (void)state;
    set_operator(30, grcar);
    memcpy(copy, shared.matrix, sizeof copy);
    assert_int_equal(kern_lapack_eigenvalues(30, copy, re, im, NULL), KERN_OK);
    const kern_arpack_problem p = problem_default(KERN_ARPACK_LARGEST_MODULUS);
    run(&p, 4, &f);
    assert_int_equal(f.n, 4);
    for (size_t j = 0; j < f.n; j++) {
        double nearest = (double)INFINITY;
        for (size_t i = 0; i < 30; i++) {
            nearest = fmin(nearest, hypot(f.re[j] - re[i], f.im[j] - im[i]));
        }
        assert_true(nearest < 1e-8);
    }
    /* Of a Jordan block rounding makes a circle of eigenvalues, of which none is right, and the
     * residuals are small all the same. */
    set_operator(40, jordan);
    run(&p, 3, &f);
    for (size_t j = 0; j < f.n; j++) {
        assert_true(hypot(f.re[j] - 0.5, f.im[j]) < 1.0);
    }
}

/* Number of independent vectors among the rows, by the pivots of a decomposition. */
static size_t count_independent(const found *f, size_t n)
{
    static double v[K_MAX * SIZE_MAX_HERE];
    double r[K_MAX * K_MAX];
    double *work = calloc(kern_lapack_orthonormalise_work(n, f->n), sizeof *work);
    size_t count = 0;
    assert_non_null(work);
    memcpy(v, f->vectors, f->n * n * sizeof *v);
    assert_int_equal(kern_lapack_orthonormalise(n, f->n, v, r, work, NULL), KERN_OK);
    for (size_t j = 0; j < f->n; j++) {
        count += r[j * f->n + j] > 1e-6 ? 1U : 0U;
    }
    free(work);
    return count;
}

/* Krylov spaces of these operators are exhausted after one to three vectors; going on from a new
 * vector finds the copies. */
static void test_exhausted(void **state)
{
    static found f;
    (void)state;
    set_operator(11, star);
    const kern_arpack_problem p = problem_default(KERN_ARPACK_LARGEST_MODULUS);
    run(&p, 5, &f);
    /* Rounding may turn two zeros into a pair, which comes whole. */
    assert_true(f.n == 5 || f.n == 6);
    assert_near(fabs(f.re[0]), sqrt(10.0), 1e-13);
    assert_near(f.re[0] + f.re[1], 0.0, 1e-13);
    for (size_t j = 2; j < f.n; j++) {
        assert_near(hypot(f.re[j], f.im[j]), 0.0, 1e-12);
    }
    assert_int_equal(count_independent(&f, 11), f.n);
    set_operator(50, identity);
    run(&p, 5, &f);
    assert_int_equal(f.n, 5);
    assert_true(f.re[0] == 1.0 || fabs(f.re[0] - 1.0) < 1e-14);
    assert_int_equal(count_independent(&f, 50), 5);
    set_operator(50, zero);
    run(&p, 3, &f);
    assert_int_equal(f.n, 3);
    assert_true(f.re[0] == 0.0 && f.re[2] == 0.0);
}

/* The same problem gives the same bits, also when vectors had to be drawn, and whatever ran in
 * between. */
static void test_repeatable(void **state)
{
    static found first;
    static found second;
    (void)state;
    set_operator(50, zero);
    kern_arpack_problem p = problem_default(KERN_ARPACK_LARGEST_MODULUS);
    run(&p, 5, &first);
    set_operator(30, star);
    run(&p, 5, &second);
    set_operator(50, zero);
    run(&p, 5, &second);
    assert_memory_equal(first.re, second.re, first.n * sizeof *first.re);
    assert_memory_equal(first.vectors, second.vectors, first.n * 50 * sizeof *first.vectors);
    p.seed = 4;
    shared.calls = 0;
    run(&p, 5, &second);
    assert_true(memcmp(first.vectors, second.vectors, first.n * 50 * sizeof *first.vectors) != 0);
}

/* What a residual cannot tell: the eigenvector is left out of the start, and its pair is missed. */
static void test_hidden(void **state)
{
    static found f;
    (void)state;
    set_operator(100, diagonal);
    const kern_arpack_problem p = problem_default(KERN_ARPACK_SMALLEST_REAL);
    start_vector[0] = 0.0;
    run(&p, 3, &f);
    assert_int_equal(f.n, 3);
    assert_near(f.re[0], -0.9803, 1e-11);
}

/* Too little work allowed: what is claimed is right all the same, and is not everything. */
static void test_not_converged(void **state)
{
    static found f;
    (void)state;
    set_operator(120, diagonal);
    kern_arpack_problem p = problem_default(KERN_ARPACK_LARGEST_REAL);
    p.max_restarts = 1;
    run(&p, 8, &f);
    assert_true(f.n < 8);
    assert_true(f.result.restarts <= 1);
}

/* ---- Refusals ----------------------------------------------------------------------------- */

static kern_status attempt(const kern_arpack_problem *p, kern_error *err)
{
    kern_arpack *arpack = NULL;
    kern_arpack_result result;
    assert_int_equal(kern_arpack_create(&arpack, shared.n, 3, 0, NULL), KERN_OK);
    const kern_status status = kern_arpack_run(arpack, p, &result, err);
    assert_int_equal(result.n_converged, 0);
    kern_arpack_destroy(arpack);
    return status;
}

static void test_refused(void **state)
{
    kern_error err = {0};
    kern_arpack *arpack = NULL;
    (void)state;
    assert_int_equal(kern_arpack_create(&arpack, 10, 9, 0, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "9 eigenvalues of a 10 × 10 operator"));
    assert_int_equal(kern_arpack_create(&arpack, 2, 1, 0, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(kern_arpack_create(&arpack, 10, 0, 0, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(kern_arpack_create(&arpack, 10, 3, 4, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "accepted is 5 to 10"));
    assert_int_equal(kern_arpack_create(&arpack, (size_t)1 << 30, 3, 0, &err), KERN_OVERFLOW);
    assert_null(arpack);
    kern_arpack_destroy(NULL);
    set_operator(20, diagonal);
    kern_arpack_problem p = problem_default(KERN_ARPACK_LARGEST_MODULUS);
    p.tol = (double)NAN;
    assert_int_equal(attempt(&p, &err), KERN_INVALID_ARGUMENT);
    p.tol = 1e-12;
    p.max_restarts = 0;
    assert_int_equal(attempt(&p, &err), KERN_INVALID_ARGUMENT);
    p.max_restarts = 10;
    memset(start_vector, 0, sizeof start_vector);
    assert_int_equal(attempt(&p, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "start vector"));
}

/* An operator that turns bad, at the first product or later, in the iteration or when residuals
 * are measured; and one that stops. */
static void test_faults(void **state)
{
    (void)state;
    for (size_t at = 1; at < 24; at++) {
        kern_error err = {0};
        set_operator(20, diagonal);
        kern_arpack_problem p = problem_default(KERN_ARPACK_LARGEST_MODULUS);
        shared.nan_at = at;
        assert_int_equal(attempt(&p, &err), KERN_NAN);
        assert_non_null(strstr(err.text, "number 19 of product"));
        shared.calls = 0;
        shared.nan_at = 0;
        shared.stop_at = at;
        assert_int_equal(attempt(&p, &err), KERN_INTERRUPTED);
    }
}

int main(void)
{
    const struct CMUnitTest values[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_small),
    };
    const struct CMUnitTest awkward[] = {
        cmocka_unit_test(test_far_from_normal), cmocka_unit_test(test_exhausted),
        cmocka_unit_test(test_repeatable),      cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_not_converged),
    };
    const struct CMUnitTest refusals[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_faults),
    };
    kern_runtime_init();
    int failed = cmocka_run_group_tests(values, NULL, NULL);
    failed += cmocka_run_group_tests(awkward, NULL, NULL);
    failed += cmocka_run_group_tests(refusals, NULL, NULL);
    return failed;
}
