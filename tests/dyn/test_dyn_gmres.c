/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Restarted GMRES: known solutions, systems on which it must stop, and what it reports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_gmres.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_fault_maps.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40 };

/* A matrix, and how often it was applied. */
typedef struct system {
    size_t n;
    const double *matrix; /* row-major */
    size_t products;
    size_t poison; /* product that is NaN; 0: none is */
} system_t;

static void multiply(void *context, const double *v, double *av)
{
    system_t *s = context;
    s->products++;
    for (size_t i = 0; i < s->n; i++) {
        av[i] = 0.0;
        for (size_t j = 0; j < s->n; j++) {
            av[i] += s->matrix[i * s->n + j] * v[j];
        }
    }
    if (s->products == s->poison) {
        av[s->n - 1] = (double)NAN;
    }
}

/* |b − A x|₂. */
static double measure(const system_t *s, const double *b, const double *x)
{
    system_t copy = *s;
    double sum = 0.0;
    double ax[N];
    copy.poison = 0;
    multiply(&copy, x, ax);
    for (size_t i = 0; i < s->n; i++) {
        sum += (b[i] - ax[i]) * (b[i] - ax[i]);
    }
    return sqrt(sum);
}

/* Solves, and checks what must hold whatever the outcome: the residual reported is that of x, it is
 * not above |b|, products are counted, and success means the tolerance. */
static dyn_gmres_result solve(system_t *s, size_t restart, const double *b, double tol,
                              size_t max_products, double *x)
{
    dyn_gmres *g = NULL;
    double zero[N] = {0};
    assert_int_equal(dyn_gmres_create(&g, s->n, restart, NULL), KERN_OK);
    const dyn_gmres_result r = dyn_gmres_solve(g, multiply, s, b, tol, max_products, x);
    const double norm = measure(s, b, zero);
    assert_int_equal(r.products, s->products);
    assert_true(r.products <= max_products + 1);
    if (r.status != KERN_NAN) {
        assert_true(fabs(r.residual - measure(s, b, x)) <= 1e-13 * norm);
        assert_true(r.residual <= norm);
        assert_true((r.residual <= tol) == (r.status == KERN_OK));
    }
    dyn_gmres_destroy(g);
    return r;
}

/* A full, unsymmetric matrix with eigenvalues around 1, and the right side of a known solution. */
static void make_system(double *matrix, double *b, double *solution)
{
    dyn_test_fill(matrix, (size_t)N * N, 1);
    dyn_test_fill(solution, N, 2);
    for (size_t i = 0; i < (size_t)N * N; i++) {
        matrix[i] = 0.2 * matrix[i] + (i % (N + 1) == 0 ? 1.0 : 0.0);
    }
    system_t s = {.n = N, .matrix = matrix};
    multiply(&s, solution, b);
}

static double find_error(const double *a, const double *b, size_t n)
{
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(a[i] - b[i]));
    }
    return largest;
}

static void test_full_space(void **state)
{
    static double matrix[N * N];
    double b[N], solution[N], x[N];
    system_t s = {.n = N, .matrix = matrix};
    (void)state;
    make_system(matrix, b, solution);
    const dyn_gmres_result r = solve(&s, 1000, b, 1e-13, 1000, x);
    assert_int_equal(r.status, KERN_OK);
    assert_true(r.products <= N + 2 && r.rounds <= 2);
    assert_true(find_error(x, solution, N) < 1e-12);
}

static void test_restarts(void **state)
{
    static double matrix[N * N];
    double b[N], solution[N], x[N];
    system_t s = {.n = N, .matrix = matrix};
    (void)state;
    make_system(matrix, b, solution);
    const dyn_gmres_result r = solve(&s, 20, b, 1e-11, 4000, x);
    assert_int_equal(r.status, KERN_OK);
    assert_true(r.rounds > 2 && r.products <= 21 * r.rounds);
    assert_true(find_error(x, solution, N) < 1e-9);
}

/* −I and two directions more: three eigenvalues, so three products and one for the residual. */
static void test_clustered_spectrum(void **state)
{
    static double matrix[N * N];
    double b[N], x[N];
    system_t s = {.n = N, .matrix = matrix};
    (void)state;
    dyn_test_fill(b, N, 3);
    for (size_t i = 0; i < N; i++) {
        matrix[i * (N + 1)] = i == 4 ? 2.5 : i == 7 ? -3.0 : -1.0;
    }
    const dyn_gmres_result r = solve(&s, N, b, 1e-12, 100, x);
    assert_int_equal(r.status, KERN_OK);
    assert_int_equal(r.products, 4);
    assert_true(fabs(x[4] - b[4] / 2.5) < 1e-12 && fabs(x[0] + b[0]) < 1e-12);
}

/* A cyclic shift moves the unit vector around the ring: nothing is gained before the space is full,
 * so a shorter restart stops after one round, with x = 0. */
static void test_stagnation(void **state)
{
    enum { RING = 12 };
    double matrix[RING * RING] = {0};
    double b[RING] = {1.0};
    double x[RING];
    (void)state;
    for (size_t i = 0; i < RING; i++) {
        matrix[(i + 1) % RING * RING + i] = 1.0;
    }
    system_t s = {.n = RING, .matrix = matrix};
    dyn_gmres_result r = solve(&s, 5, b, 1e-12, 1000, x);
    assert_int_equal(r.status, KERN_NOT_CONVERGED);
    assert_true(r.rounds == 1 && r.residual == 1.0 && x[0] == 0.0);
    s.products = 0;
    r = solve(&s, RING, b, 1e-12, 1000, x);
    assert_int_equal(r.status, KERN_OK);
    assert_true(fabs(x[RING - 1] - 1.0) < 1e-14);
}

/* The first coordinate cannot be reached: what is left of b there is the residual. Without that
 * part the singular system has solutions, and one is found. */
static void test_singular(void **state)
{
    double matrix[9] = {0, 0, 0, 0, 2, 0, 0, 0, 3};
    double b[3] = {0.5, 1, 1};
    double x[3];
    system_t s = {.n = 3, .matrix = matrix};
    (void)state;
    dyn_gmres_result r = solve(&s, 3, b, 1e-12, 100, x);
    assert_int_equal(r.status, KERN_SINGULAR);
    assert_true(fabs(r.residual - 0.5) < 1e-14);
    b[0] = 0.0;
    s.products = 0;
    r = solve(&s, 3, b, 1e-12, 100, x);
    assert_int_equal(r.status, KERN_OK);
    assert_true(fabs(x[1] - 0.5) < 1e-14 && fabs(x[2] - 1.0 / 3.0) < 1e-14);
    memset(matrix, 0, sizeof matrix);
    s.products = 0;
    r = solve(&s, 3, b, 1e-12, 100, x);
    assert_int_equal(r.status, KERN_SINGULAR);
    assert_true(x[0] == 0.0 && x[1] == 0.0 && x[2] == 0.0);
}

static void test_ends(void **state)
{
    static double matrix[N * N];
    double b[N], solution[N], x[N];
    double zero[N] = {0};
    system_t s = {.n = N, .matrix = matrix, .poison = 3};
    (void)state;
    make_system(matrix, b, solution);
    dyn_gmres_result r = solve(&s, N, b, 1e-12, 1000, x);
    assert_int_equal(r.status, KERN_NAN);
    assert_true(isfinite(x[0]) && isfinite(x[N - 1]));
    s = (system_t){.n = N, .matrix = matrix};
    r = solve(&s, N, b, 1e-12, 6, x);
    assert_true(r.status == KERN_NOT_CONVERGED && r.products <= 6);
    s.products = 0;
    r = solve(&s, N, zero, 0.0, 10, x);
    assert_true(r.status == KERN_OK && r.products == 0 && x[0] == 0.0);
    b[1] = (double)NAN;
    r = solve(&s, N, b, 1e-12, 10, x);
    assert_int_equal(r.status, KERN_NAN);
    dyn_gmres *g = NULL;
    kern_error err = {0};
    assert_int_equal(dyn_gmres_create(&g, 0, 5, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(dyn_gmres_create(&g, 5, 0, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(dyn_gmres_create(&g, SIZE_MAX / 4, 50, &err), KERN_OVERFLOW);
    assert_null(g);
    dyn_gmres_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_space),         cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_clustered_spectrum), cmocka_unit_test(test_stagnation),
        cmocka_unit_test(test_singular),           cmocka_unit_test(test_ends),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
