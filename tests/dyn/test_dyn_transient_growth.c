/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Transient growth against closed forms, and against singular values of every power.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_transient_growth.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_N = 12, HORIZON = 25 };

typedef struct growth {
    double value;
    size_t step;
} growth;

static growth find(const double *a, size_t n, size_t horizon)
{
    growth g = {0};
    kern_error err = {0};
    double *work = malloc(dyn_transient_growth_work(n) * sizeof *work);
    assert_non_null(work);
    if (dyn_transient_growth_find(a, n, horizon, work, NULL, &g.value, &g.step, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    free(work);
    return g;
}

/* Every power by plain loops, every norm from its singular values, in order. */
static growth find_plainly(const double *a, size_t n, size_t horizon)
{
    double power[MAX_N * MAX_N];
    growth g = {.value = -1.0};
    memcpy(power, a, n * n * sizeof *a);
    for (size_t m = 1; m <= horizon; m++) {
        double copy[MAX_N * MAX_N];
        double singular[MAX_N];
        memcpy(copy, power, sizeof copy);
        assert_int_equal(kern_lapack_singular_values(n, n, copy, singular, NULL), KERN_OK);
        if (singular[0] > g.value) {
            g = (growth){.value = singular[0], .step = m};
        }
        memcpy(copy, power, sizeof copy);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++) {
                power[i * n + j] = 0.0;
                for (size_t k = 0; k < n; k++) {
                    power[i * n + j] += a[i * n + k] * copy[k * n + j];
                }
            }
        }
    }
    return g;
}

/* [λ c; 0 λ]^m = λ^(m−1) [λ mc; 0 λ], whose 2-norm is that of a 2×2 matrix in closed form: with
 * t = mc/λ it is λ^m (t + √(t² + 4))/2, largest at the m of the test. */
static void test_jordan_block(void **state)
{
    const double a[4] = {0.9, 5.0, 0.0, 0.9};
    double largest = 0.0;
    size_t at = 0;
    (void)state;
    for (size_t m = 1; m <= 40; m++) {
        const double t = (double)m * 5.0 / 0.9;
        const double norm = pow(0.9, (double)m) * 0.5 * (t + sqrt(t * t + 4.0));
        if (norm > largest) {
            largest = norm;
            at = m;
        }
    }
    const growth g = find(a, 2, 40);
    assert_true(at > 5 && at < 15);
    assert_int_equal(g.step, at);
    assert_true(fabs(g.value - largest) <= 1e-13 * largest);
    assert_int_equal(find(a, 2, 3).step, 3);
}

/* A rotation keeps its Frobenius norm of √2 and its 2-norm of 1, so no power can be left out. */
static void test_rotation(void **state)
{
    const double a[4] = {cos(1.0), -sin(1.0), sin(1.0), cos(1.0)};
    (void)state;
    const growth g = find(a, 2, HORIZON);
    assert_true(fabs(g.value - 1.0) <= 1e-14);
    assert_true(g.step >= 1 && g.step <= HORIZON);
}

/* Six shifts by 1.5 side by side have the largest Frobenius norm; the chain 0 → 1 → 2 → 3 through
 * one more has the largest 2-norm, as a third power with the single entry 1.5³. */
static void test_likeliest_is_not_largest(void **state)
{
    double a[MAX_N * MAX_N] = {0};
    (void)state;
    for (size_t i = 0; i + 1 < MAX_N; i += 2) {
        a[i * MAX_N + i + 1] = 1.5;
    }
    a[1 * MAX_N + 2] = 1.5;
    const growth g = find(a, MAX_N, HORIZON);
    const growth plain = find_plainly(a, MAX_N, HORIZON);
    assert_int_equal(plain.step, 3);
    assert_int_equal(g.step, plain.step);
    assert_true(fabs(g.value - 3.375) <= 1e-14);
}

/* A shift by 1, 2, 1: all its powers up to the third have 2-norm 2, and the second has the largest
 * Frobenius norm, but the first attains the maximum. */
static void test_tie(void **state)
{
    const double a[16] = {[1] = 1.0, [6] = 2.0, [11] = 1.0};
    (void)state;
    const growth g = find(a, 4, HORIZON);
    assert_true(g.value == 2.0);
    assert_int_equal(g.step, 1);
    assert_int_equal(find_plainly(a, 4, HORIZON).step, 1);
}

/* Random matrices of all sizes, from quickly decaying to growing. */
static void test_against_every_power(void **state)
{
    (void)state;
    kern_rng *rng = kern_rng_create(1, "growth", 0);
    assert_non_null(rng);
    size_t inside = 0;
    for (size_t trial = 0; trial < 300; trial++) {
        const size_t n = 1 + trial % MAX_N;
        const double scale = (0.3 + 0.01 * (double)(trial % 80)) / sqrt((double)n);
        double a[MAX_N * MAX_N];
        for (size_t i = 0; i < n * n; i++) {
            a[i] = scale * kern_rng_normal(rng);
        }
        const growth g = find(a, n, HORIZON);
        const growth plain = find_plainly(a, n, HORIZON);
        assert_int_equal(g.step, plain.step);
        assert_true(fabs(g.value - plain.value) <= 1e-12 * plain.value);
        inside += plain.step > 1 && plain.step < HORIZON;
    }
    assert_true(inside > 20);
    kern_rng_destroy(rng);
}

static void test_not_finite(void **state)
{
    const double huge[4] = {1e160, 0.0, 0.0, 1.0};
    const double nan[4] = {1.0, (double)NAN, 0.0, 1.0};
    (void)state;
    assert_true(find(huge, 2, 1).value == 1e160);
    assert_true(isinf(find(huge, 2, 5).value) && find(huge, 2, 5).step == 2);
    assert_true(isinf(find(nan, 2, 5).value) && find(nan, 2, 5).step == 1);
    assert_true(isnan(find(nan, 2, 0).value) && find(nan, 2, 0).step == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jordan_block),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_likeliest_is_not_largest),
        cmocka_unit_test(test_tie),
        cmocka_unit_test(test_against_every_power),
        cmocka_unit_test(test_not_finite),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
