/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Energies at many points of a plane: every kernel against plain loops over libm, in both
 * precisions, and what NaN and infinity become.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_rng.h"
#include "kernels/kern_slice.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ROWS = 37, FEATURES = 16, P = KERN_SLICE_POINTS };

typedef struct sample {
    double coef[ROWS * FEATURES], gate[ROWS * FEATURES], phi[FEATURES * P], z[ROWS * P];
    float coef_f[ROWS * FEATURES], gate_f[ROWS * FEATURES], phi_f[FEATURES * P], z_f[ROWS * P];
    double sum[P], sum_f[P];
} sample;

/* The same numbers in both precisions. */
static void draw(double *x, float *f, size_t n, uint64_t seed)
{
    kern_rng *rng = kern_rng_create(seed, "slice", 0);
    assert_non_null(rng);
    for (size_t i = 0; i < n; i++) {
        f[i] = (float)kern_rng_normal(rng);
        x[i] = (double)f[i];
    }
    kern_rng_destroy(rng);
}

static void prepare(sample *s)
{
    memset(s, 0, sizeof *s);
    draw(s->coef, s->coef_f, ROWS * FEATURES, 1);
    draw(s->gate, s->gate_f, ROWS * FEATURES, 2);
    draw(s->phi, s->phi_f, FEATURES * P, 3);
    for (size_t p = 0; p < P; p++) {
        s->sum[p] = s->sum_f[p] = 2.5; /* kernels add */
    }
}

static double combine(const double *coef, const double *phi, size_t features, size_t r, size_t p)
{
    double z = 0.0;
    for (size_t i = 0; i < features; i++) {
        z += coef[r * features + i] * phi[i * P + p];
    }
    return z;
}

/* Terms are below 40 in size, and there are ROWS of them. */
static void compare(const sample *s, const double *expected)
{
    for (size_t p = 0; p < P; p++) {
        assert_true(fabs(s->sum[p] - 2.5 - expected[p]) <= 40.0 * ROWS * DBL_EPSILON * 8.0);
        assert_true(fabs(s->sum_f[p] - 2.5 - expected[p]) <=
                    40.0 * ROWS * (double)FLT_EPSILON * 8.0);
    }
}

static void test_combine(void **state)
{
    static const size_t features[] = {4, 16, 1};
    sample s;
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        prepare(&s);
        kern_slice_combine_f64(s.z, ROWS, features[k], s.coef, s.phi);
        kern_slice_combine_f32(s.z_f, ROWS, features[k], s.coef_f, s.phi_f);
        for (size_t r = 0; r < ROWS; r++) {
            for (size_t p = 0; p < P; p++) {
                const double z = combine(s.coef, s.phi, features[k], r, p);
                assert_true(fabs(s.z[r * P + p] - z) <= 100.0 * DBL_EPSILON);
                assert_true(fabs((double)s.z_f[r * P + p] - z) <= 100.0 * (double)FLT_EPSILON);
            }
        }
    }
}

static double gelu(double z)
{
    return 0.5 * z * erfc(-z / sqrt(2.0));
}

static double softplus(double z)
{
    return fmax(z, 0.0) + log1p(exp(-fabs(z)));
}

static void test_terms(void **state)
{
    static const kern_fn names[] = {KERN_FN_GELU, KERN_FN_SOFTPLUS};
    static double (*const functions[])(double) = {gelu, softplus};
    sample s;
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        double squares[P] = {0.0};
        double products[P] = {0.0};
        prepare(&s);
        for (size_t p = 0; p < P; p++) {
            for (size_t r = 0; r < ROWS; r++) {
                const double f = functions[k](combine(s.coef, s.phi, 4, r, p));
                squares[p] += f * f;
                products[p] += f * combine(s.gate, s.phi, 4, r, p);
            }
        }
        kern_slice_squares_f64(names[k], ROWS, s.coef, s.phi, s.sum);
        kern_slice_squares_f32(names[k], ROWS, s.coef_f, s.phi_f, s.sum_f);
        compare(&s, squares);
        prepare(&s);
        kern_slice_products_f64(names[k], ROWS, s.coef, s.gate, s.phi, s.sum);
        kern_slice_products_f32(names[k], ROWS, s.coef_f, s.gate_f, s.phi_f, s.sum_f);
        compare(&s, products);
    }
}

/* Also of one row, whose value it is, and of logits whose exponentials overflow. */
static void test_log_sum_exp(void **state)
{
    static const size_t rows[] = {ROWS, 1};
    sample s;
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        const double shift = k < 2 ? 0.0 : 1000.0;
        double expected[P];
        prepare(&s);
        draw(s.z, s.z_f, rows[k % 2] * P, 4);
        for (size_t p = 0; p < P; p++) {
            double sum = 0.0;
            for (size_t r = 0; r < rows[k % 2]; r++) {
                sum += exp(s.z[r * P + p]);
                s.z[r * P + p] += shift;
                s.z_f[r * P + p] += (float)shift;
            }
            expected[p] = shift + log(sum);
        }
        kern_slice_log_sum_exp_f64(rows[k % 2], s.z, s.sum);
        kern_slice_log_sum_exp_f32(rows[k % 2], s.z_f, s.sum_f);
        compare(&s, expected);
    }
}

static void test_not_finite(void **state)
{
    sample s;
    (void)state;
    prepare(&s);
    s.phi[5] = (double)NAN;
    s.phi_f[5] = NAN;
    kern_slice_squares_f64(KERN_FN_GELU, ROWS, s.coef, s.phi, s.sum);
    kern_slice_squares_f32(KERN_FN_GELU, ROWS, s.coef_f, s.phi_f, s.sum_f);
    for (size_t p = 0; p < P; p++) {
        assert_true(isnan(s.sum[p]) == (p == 5));
        assert_true(isnan(s.sum_f[p]) == (p == 5));
    }
    prepare(&s);
    s.z[3 * P + 7] = (double)NAN;
    s.z_f[3 * P + 7] = NAN;
    kern_slice_log_sum_exp_f64(ROWS, s.z, s.sum);
    kern_slice_log_sum_exp_f32(ROWS, s.z_f, s.sum_f);
    for (size_t p = 0; p < P; p++) {
        assert_true(isnan(s.sum[p]) == (p == 7));
        assert_true(isnan(s.sum_f[p]) == (p == 7));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_combine),
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_log_sum_exp),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
