/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_vmath.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <gsl/gsl_sf_dilog.h>

enum { CHUNK = 1000 };

/* ---- exp --------------------------------------------------------------------------------------
 */

/* |found − wanted| in units of the last place of a float near `wanted`. */
static double float_ulps(double found, double wanted)
{
    int exponent;
    (void)frexp(wanted, &exponent);
    return fabs(found - wanted) / ldexp(1, exponent - FLT_MANT_DIG);
}

static void test_exp_f32_within_two_ulp(void **state)
{
    (void)state;
    float x[CHUNK];
    float y[CHUNK];
    double worst = 0;
    for (double begin = -87.3; begin < 88.7; begin += 0.1) {
        for (size_t i = 0; i < CHUNK; i++) {
            x[i] = (float)(begin + 0.1 * (double)i / CHUNK);
        }
        kern_vmath_exp_f32(y, x, CHUNK);
        for (size_t i = 0; i < CHUNK; i++) {
            const double wanted = exp((double)x[i]);
            if (wanted <= (double)FLT_MAX) {
                worst = fmax(worst, float_ulps((double)y[i], wanted));
            }
        }
    }
    if (!(worst <= 2)) {
        fail_msg("exp is off by %.2f ulp", worst);
    }
}

static void test_exp_f64_within_four_ulp(void **state)
{
    (void)state;
    double x[CHUNK];
    double y[CHUNK];
    double worst = 0;
    for (double begin = -700; begin < 700; begin += 1) {
        for (size_t i = 0; i < CHUNK; i++) {
            x[i] = begin + (double)i / CHUNK;
        }
        kern_vmath_exp_f64(y, x, CHUNK);
        for (size_t i = 0; i < CHUNK; i++) {
            const double wanted = exp(x[i]);
            worst = fmax(worst, fabs(y[i] - wanted) / wanted);
        }
    }
    assert_true(worst <= 5 * DBL_EPSILON);
}

/* Special values at every position of a vector and in its tail. */
static void test_exp_of_special_values(void **state)
{
    (void)state;
    for (size_t n = 1; n < 40; n++) {
        float x[40];
        float y[40];
        uint32_t ones = 0xFFFFFFFFU;
        for (size_t at = 0; at < n; at++) {
            const float specials[] = {-INFINITY, INFINITY, -90, 89, -1e30F, 1e30F, 0, -0.0F};
            const float wanted[] = {0, INFINITY, 0, INFINITY, 0, INFINITY, 1, 1};
            for (size_t k = 0; k < 8; k++) {
                for (size_t i = 0; i < n; i++) {
                    x[i] = 1;
                }
                x[at] = specials[k];
                kern_vmath_exp_f32(y, x, n);
                assert_true(y[at] == wanted[k]);
                assert_true(fabs((double)y[(at + 1) % n] - exp(1)) < 1e-6 || n == 1);
            }
            x[at] = (float)NAN;
            kern_vmath_exp_f32(y, x, n);
            assert_true(isnan(y[at]));
            memcpy(&x[at], &ones, sizeof ones);
            kern_vmath_exp_f32(x, x, n);
            assert_true(isnan(x[at]));
        }
    }
}

static void test_exp_sum(void **state)
{
    (void)state;
    float x[CHUNK] = {0};
    float y[CHUNK];
    for (size_t n = 0; n < CHUNK; n += 37) {
        double wanted = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)sin((double)(i * i)) * 5;
            wanted += exp((double)x[i] - 2);
        }
        const double with = kern_vmath_exp_sum_f32(y, x, 2, n);
        const double without = kern_vmath_exp_sum_f32(NULL, x, 2, n);
        assert_true(with == without);
        assert_true(fabs(with - wanted) <= 2e-7 * wanted);
        for (size_t i = 0; i < n; i++) {
            assert_true(float_ulps((double)y[i], exp((double)(x[i] - 2))) <= 2);
        }
    }
}

/* ---- activations ------------------------------------------------------------------------------
 */

/* ∫ silu from 0 to z, with GSL's dilogarithm. */
static long double silu_integral(long double z)
{
    const double e = (double)expl(-fabsl(z));
    const long double pi = acosl(-1);
    const long double below =
        pi * pi / 12 + (long double)gsl_sf_dilog(-e) - fabsl(z) * log1pl((long double)e);
    return z > 0 ? z * z / 2 - below : below;
}

/* f, f′ and f″ by libm in extended precision. */
static void reference(kern_fn fn, long double z, long double value[3])
{
    const long double density = expl(-z * z / 2) / sqrtl(2 * acosl(-1));
    const long double cdf = erfcl(-z / sqrtl(2)) / 2;
    const long double logistic = 1 / (1 + expl(-z));
    const long double slope = logistic * (1 - logistic);
    const long double gelu[] = {z * cdf, cdf + z * density, density * (2 - z * z)};
    const long double silu[] = {z * logistic, logistic + z * slope,
                                slope * (2 + z * (1 - 2 * logistic))};
    const long double ramp = z > 0 ? z : 0;
    const long double table[KERN_FN_COUNT][3] = {
        [KERN_FN_GELU] = {gelu[0], gelu[1], gelu[2]},
        [KERN_FN_RELU] = {ramp, z > 0, 0},
        [KERN_FN_SOFTPLUS] = {log1pl(expl(-fabsl(z))) + ramp, logistic, slope},
        [KERN_FN_SILU] = {silu[0], silu[1], silu[2]},
        [KERN_FN_SILU_INTEGRAL] = {silu_integral(z), silu[0], silu[1]},
        [KERN_FN_GELU_INTEGRAL] = {((z * z - 1) * cdf + z * density) / 2 + 0.25L, gelu[0], gelu[1]},
        [KERN_FN_RELU_INTEGRAL] = {ramp * ramp / 2, ramp, z > 0}};
    memcpy(value, table[fn], sizeof table[fn]);
}

/* Error over max(1, |wanted|). */
static double scaled_error(long double found, long double wanted)
{
    return (double)(fabsl(found - wanted) / fmaxl(1, fabsl(wanted)));
}

static void check_function(kern_fn fn, double tolerance_f32, double tolerance_f64)
{
    float x[CHUNK];
    float single[3][CHUNK];
    double z[CHUNK];
    double wide[3][CHUNK];
    for (double begin = -45; begin < 45; begin += 0.25) {
        for (size_t i = 0; i < CHUNK; i++) {
            x[i] = (float)(begin + 0.25 * (double)i / CHUNK);
            z[i] = (double)x[i];
        }
        kern_vmath_fn_f32(fn, single[0], single[1], single[2], x, CHUNK);
        kern_vmath_fn_f64(fn, wide[0], wide[1], wide[2], z, CHUNK);
        for (size_t i = 0; i < CHUNK; i++) {
            long double wanted[3];
            reference(fn, (long double)z[i], wanted);
            for (size_t k = 0; k < 3; k++) {
                const double narrow_error = scaled_error((long double)single[k][i], wanted[k]);
                const double wide_error = scaled_error((long double)wide[k][i], wanted[k]);
                if (!(narrow_error <= tolerance_f32 && wide_error <= tolerance_f64)) {
                    fail_msg("%s, derivative %zu at %.9g: errors %.3g and %.3g", kern_fn_word(fn),
                             k, z[i], narrow_error, wide_error);
                }
            }
        }
    }
}

static void test_gelu(void **state)
{
    (void)state;
    check_function(KERN_FN_GELU, 2.5e-7, 2e-15);
}

static void test_relu(void **state)
{
    (void)state;
    check_function(KERN_FN_RELU, 0, 0);
}

static void test_softplus(void **state)
{
    (void)state;
    check_function(KERN_FN_SOFTPLUS, 2e-7, 2e-15);
}

static void test_silu(void **state)
{
    (void)state;
    check_function(KERN_FN_SILU, 2.5e-7, 2e-15);
}

/* The double tolerance is that of two roundings of z²/2 beside GSL's own error. */
static void test_integrals(void **state)
{
    (void)state;
    check_function(KERN_FN_SILU_INTEGRAL, 2.5e-7, 2e-15);
    check_function(KERN_FN_GELU_INTEGRAL, 2.5e-7, 2e-15);
    check_function(KERN_FN_RELU_INTEGRAL, 1e-7, 2e-16);
}

/* Values to ten digits, the limit at −∞, and the bounds of silu's slope (at ±2.39936). */
static void test_silu_values(void **state)
{
    (void)state;
    const double z[] = {1, -1, 5, -1000, -HUGE_VAL, 0};
    const double limit = acos(-1) * acos(-1) / 12;
    const double wanted[] = {0.3294426505, 0.1705573495, 11.717836340, limit, limit, 0};
    const double tolerance[] = {5e-11, 5e-11, 5e-10, 1e-15, 1e-15, 1e-15};
    double f[6];
    kern_vmath_fn_f64(KERN_FN_SILU_INTEGRAL, f, NULL, NULL, z, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_true(fabs(f[i] - wanted[i]) <= tolerance[i]);
    }
    const double turns[] = {2.39936, -2.39936};
    double slope[2];
    kern_vmath_fn_f64(KERN_FN_SILU, NULL, slope, NULL, turns, 2);
    assert_true(fabs(slope[0] - 1.09984) <= 5e-6 && fabs(slope[1] + 0.09984) <= 5e-6);
}

/* The tail keeps relative accuracy, up to the rounding of z² in the exponent: a small activation is
 * small, not noise. */
static void test_gelu_tail(void **state)
{
    (void)state;
    for (float z = -10; z < -1; z += 0.01F) {
        float f;
        long double wanted[3];
        kern_vmath_fn_f32(KERN_FN_GELU, &f, NULL, NULL, &z, 1);
        reference(KERN_FN_GELU, (long double)z, wanted);
        const long double bound = 1e-7L * (4 + (long double)z * (long double)z);
        assert_true(fabsl((long double)f / wanted[0] - 1) < bound);
    }
}

/* What is z at ∞ and 1 in slope there, and 0 at −∞, with all derivatives. */
static void check_ends(kern_fn fn, const float *s, const double *d, const float *x, const double *z)
{
    static const kern_fn integrals[] = {KERN_FN_SILU_INTEGRAL, KERN_FN_GELU_INTEGRAL,
                                        KERN_FN_RELU_INTEGRAL};
    static const double limits[] = {0.82246703342411321824, 0.25, 0};
    size_t k = 0;
    for (k = 0; k < 3 && fn != integrals[k]; k++) {
    }
    for (size_t at = 0; at < 5; at += 3) {
        assert_true(k < 3 ? s[at] >= x[at] && d[at] >= z[at] : s[at] == x[at] && d[at] == z[at]);
    }
    for (size_t at = 1; at < 5; at += 3) {
        const double limit = k < 3 ? limits[k] : 0;
        assert_true(fabs((double)s[at] - limit) < (limit > 0 ? 1e-7 : 1e-30));
        assert_true(fabs(d[at] - limit) < (limit > 0 ? 1e-15 : 1e-200));
    }
}

static void test_functions_at_infinity_and_nan(void **state)
{
    (void)state;
    for (kern_fn fn = KERN_FN_GELU; fn < KERN_FN_COUNT; fn++) {
        const bool integral = fn >= KERN_FN_SILU_INTEGRAL;
        const size_t first = integral ? 1 : 0; /* the order of f, f′, f″ that the ends are of */
        float x[] = {INFINITY, -INFINITY, (float)NAN, 1e38F, -1e38F};
        double z[] = {HUGE_VAL, -HUGE_VAL, (double)NAN, 1e300, -1e300};
        float s[4][5] = {{0}};
        double d[4][5] = {{0}};
        kern_vmath_fn_f32(fn, s[0], s[1], s[2], x, 5);
        kern_vmath_fn_f64(fn, d[0], d[1], d[2], z, 5);
        check_ends(fn, s[0], d[0], x, z);
        for (size_t at = 0; at < 5; at += 3) {
            assert_true(s[first][at] == x[at] && d[first][at] == z[at]);
            assert_true(s[first + 1][at] == 1 && d[first + 1][at] == 1);
            assert_true(fabs((double)s[first + 2][at]) < 1e-30 && fabs(d[first + 2][at]) < 1e-200);
        }
        for (size_t at = 1; at < 5; at += 3) {
            for (size_t k = first; k < 3; k++) {
                assert_true(fabs((double)s[k][at]) < 1e-30 && fabs(d[k][at]) < 1e-200);
            }
        }
        assert_true(isnan(s[0][2]) && isnan(s[1][2]) && isnan(d[0][2]) && isnan(d[1][2]));
    }
}

/* Absent outputs and outputs over the input change nothing. */
static void test_function_outputs_are_independent(void **state)
{
    (void)state;
    enum { N = 600 };
    double z[N];
    double all[3][N];
    double one[N];
    for (size_t i = 0; i < N; i++) {
        z[i] = 4 * cos((double)i);
    }
    kern_vmath_fn_f64(KERN_FN_GELU, all[0], all[1], all[2], z, N);
    for (size_t k = 0; k < 3; k++) {
        memcpy(one, z, sizeof z);
        kern_vmath_fn_f64(KERN_FN_GELU, k == 0 ? one : NULL, k == 1 ? one : NULL,
                          k == 2 ? one : NULL, one, N);
        assert_memory_equal(one, all[k], sizeof one);
    }
    assert_string_equal(kern_fn_word(KERN_FN_SOFTPLUS), "softplus");
    assert_string_equal(kern_fn_word(KERN_FN_COUNT), "unknown");
}

/* ---- reductions -------------------------------------------------------------------------------
 */

static void test_reductions(void **state)
{
    (void)state;
    double x[300];
    double y[300];
    float xs[300];
    float ys[300];
    for (size_t i = 0; i < 300; i++) {
        xs[i] = (float)sin((double)(3 * i + 1));
        ys[i] = (float)cos((double)(i * i));
        x[i] = (double)xs[i];
        y[i] = (double)ys[i];
    }
    for (size_t n = 0; n <= 300; n++) {
        long double sum = 0;
        long double dot = 0;
        long double square = 0;
        double largest = -HUGE_VAL;
        for (size_t i = 0; i < n; i++) {
            sum += (long double)x[i];
            dot += (long double)x[i] * (long double)y[i];
            square += ((long double)x[i] - 0.25L) * ((long double)x[i] - 0.25L);
            largest = fmax(largest, x[i]);
        }
        const double found[] = {
            kern_vmath_sum_f64(x, n),         kern_vmath_sum_f32(xs, n),
            kern_vmath_dot_f64(x, y, n),      kern_vmath_dot_f32(xs, ys, n),
            kern_vmath_sumsq_f64(x, 0.25, n), kern_vmath_sumsq_f32(xs, 0.25, n)};
        const double wanted[] = {(double)sum, (double)dot, (double)square};
        for (size_t k = 0; k < 6; k++) {
            assert_true(fabs(found[k] - wanted[k / 2]) <= 1e-13);
        }
        assert_true(kern_vmath_max_f64(x, n) == largest);
        assert_true((double)kern_vmath_max_f32(xs, n) == largest);
    }
}

/* In double even for floats: a sum that a float cannot hold. */
static void test_sums_accumulate_in_double(void **state)
{
    (void)state;
    static float x[100000];
    for (size_t i = 0; i < 100000; i++) {
        x[i] = i % 2 == 0 ? 16777216.0F : -16777215.0F;
    }
    assert_true(kern_vmath_sum_f32(x, 100000) == 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp_f32_within_two_ulp),
        cmocka_unit_test(test_exp_f64_within_four_ulp),
        cmocka_unit_test(test_exp_of_special_values),
        cmocka_unit_test(test_exp_sum),
        cmocka_unit_test(test_gelu),
        cmocka_unit_test(test_relu),
        cmocka_unit_test(test_softplus),
        cmocka_unit_test(test_silu),
        cmocka_unit_test(test_integrals),
        cmocka_unit_test(test_silu_values),
        cmocka_unit_test(test_gelu_tail),
        cmocka_unit_test(test_functions_at_infinity_and_nan),
        cmocka_unit_test(test_function_outputs_are_independent),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_sums_accumulate_in_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
