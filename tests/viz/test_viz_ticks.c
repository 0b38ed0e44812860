/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_ticks.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MINUS "\xe2\x88\x92"
#define TIMES "\xc3\x97"

static void near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fmax(1.0, fabs(b)))) {
        fail_msg("%.17g is not near %.17g", a, b);
    }
}

/* Properties that any linear ticks must have. */
static void check_linear(double lo, double hi, size_t target)
{
    viz_ticks t;
    kern_error err = {0};
    if (viz_ticks_linear(&t, lo, hi, target, false, &err) != KERN_OK) {
        fail_msg("%g to %g: %s", lo, hi, err.text);
    }
    const double slack = 2e-9 * (hi - lo);
    assert_true(t.n_major >= 2 && t.n_major <= target + 1);
    const double mantissa = t.step / pow(10.0, floor(log10(t.step) + 1e-9));
    assert_true(fabs(mantissa - 1.0) < 1e-6 || fabs(mantissa - 2.0) < 1e-6 ||
                fabs(mantissa - 5.0) < 1e-6);
    for (size_t i = 0; i < t.n_major; i++) {
        assert_true(t.major[i] >= lo - slack && t.major[i] <= hi + slack);
        assert_true(t.label[i][0] != '\0');
        if (i > 0) {
            assert_true(fabs(t.major[i] - t.major[i - 1] - t.step) <= 1e-6 * t.step);
            assert_string_not_equal(t.label[i], t.label[i - 1]);
        }
    }
    for (size_t i = 0; i < t.n_minor; i++) {
        assert_true(t.minor[i] >= lo - slack && t.minor[i] <= hi + slack);
        for (size_t k = 0; k < t.n_major; k++) {
            assert_true(fabs(t.minor[i] - t.major[k]) > 0.1 * t.step);
        }
    }
}

static void test_linear_properties(void **state)
{
    (void)state;
    static const double starts[] = {-1e7, -317.2, -1.0, -1e-5, 0.0, 3e-7, 0.73, 12.0, 99.5, 4e11};
    static const double lengths[] = {1e-6, 0.0037, 0.9, 1.0, 6.4, 30.0, 1234.5, 8e8};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            /* Below this ratio neighbouring labels share all of their printed digits. */
            if (lengths[k] > 1e-9 * fabs(starts[i])) {
                for (size_t target = 3; target <= 12; target += 3) {
                    check_linear(starts[i], starts[i] + lengths[k], target);
                }
            }
        }
    }
}

static void test_known_ticks(void **state)
{
    (void)state;
    viz_ticks t;
    assert_int_equal(viz_ticks_linear(&t, -0.3, 0.3, 7, false, NULL), KERN_OK);
    assert_int_equal(t.n_major, 7);
    near(t.major[0], -0.3);
    assert_string_equal(t.label[0], MINUS "0.3");
    assert_string_equal(t.label[3], "0.0");
    assert_string_equal(t.label[6], "0.3");
    assert_int_equal(viz_ticks_linear(&t, 0.0, 60.0, 7, true, NULL), KERN_OK);
    assert_int_equal(t.n_major, 7);
    assert_string_equal(t.label[1], "10");
    assert_int_equal(viz_ticks_linear(&t, 0.0, 3e7, 4, false, NULL), KERN_OK);
    assert_string_equal(t.label[0], "0");
    assert_string_equal(t.label[1], "1" TIMES "10<sup>7</sup>");
    assert_int_equal(viz_ticks_linear(&t, -4e-6, 0.0, 5, false, NULL), KERN_OK);
    assert_string_equal(t.label[0], MINUS "4" TIMES "10<sup>" MINUS "6</sup>");
    near(viz_ticks_nice_step(0.3), 0.5);
    near(viz_ticks_nice_step(20.0), 20.0);
    near(viz_ticks_nice_step(5.1), 10.0);
}

static void test_integer_ticks(void **state)
{
    (void)state;
    for (int last = 1; last < 140; last++) {
        viz_ticks t;
        assert_int_equal(viz_ticks_linear(&t, 0.0, last, 9, true, NULL), KERN_OK);
        for (size_t i = 0; i < t.n_major; i++) {
            near(t.major[i], round(t.major[i]));
            assert_null(strchr(t.label[i], '.'));
        }
        for (size_t i = 0; i < t.n_minor; i++) {
            near(t.minor[i], round(t.minor[i]));
        }
    }
}

static void test_log_ticks(void **state)
{
    (void)state;
    viz_ticks t;
    assert_int_equal(viz_ticks_log(&t, 1e-5, 1e3, 10, NULL), KERN_OK);
    assert_int_equal(t.n_major, 9);
    assert_string_equal(t.label[0], "10<sup>" MINUS "5</sup>");
    assert_string_equal(t.label[4], "0.1");
    assert_string_equal(t.label[8], "1000");
    assert_int_equal(t.n_minor, 8 * 8);
    assert_int_equal(viz_ticks_log(&t, 0.9, 30.0, 6, NULL), KERN_OK);
    assert_int_equal(t.n_major, 5); /* 1 2 5 10 20 */
    near(t.major[2], 5.0);
    assert_int_equal(viz_ticks_log(&t, 1e-200, 1e200, 8, NULL), KERN_OK);
    assert_true(t.n_major >= 5 && t.n_major <= 9);
    for (size_t i = 1; i < t.n_major; i++) {
        near(log10(t.major[i]) - log10(t.major[i - 1]), 50.0);
    }
    /* Less than two round positions: linear ticks serve. */
    assert_int_equal(viz_ticks_log(&t, 3.1, 3.4, 5, NULL), KERN_OK);
    assert_true(t.n_major >= 2 && t.step > 0.0);
}

/* At the end of the doubles the place before the first tick overflows; ticks inside stay. */
static void test_largest_range(void **state)
{
    viz_ticks ticks;
    kern_error err = {0};
    (void)state;
    assert_int_equal(viz_ticks_linear(&ticks, -1.7e308, -1e306, 5, false, &err), KERN_OK);
    assert_true(ticks.n_major >= 2);
    for (size_t i = 0; i < ticks.n_major; i++) {
        assert_true(ticks.major[i] >= -1.7e308 && ticks.major[i] <= 0.0);
    }
    assert_true(ticks.n_minor <= VIZ_TICKS_MINOR_MAX);
}

static void test_bad_ranges(void **state)
{
    (void)state;
    viz_ticks t;
    kern_error err = {0};
    const double nan = (double)NAN;
    assert_int_equal(viz_ticks_linear(&t, 2.0, 2.0, 5, false, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_ticks_linear(&t, 3.0, 2.0, 5, false, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_ticks_linear(&t, nan, 2.0, 5, false, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_ticks_linear(&t, 0.0, HUGE_VAL, 5, false, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_ticks_linear(&t, -DBL_MAX, DBL_MAX, 5, false, &err),
                     KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_ticks_linear(&t, 0.0, 1.0, 1, false, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_ticks_linear(&t, 0.0, 1.0, 21, false, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_ticks_log(&t, 0.0, 1.0, 5, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "logarithmic"));
    assert_int_equal(viz_ticks_log(&t, -2.0, 1.0, 5, &err), KERN_INVALID_ARGUMENT);
    /* The largest range whose length is finite must not hang or overflow. */
    assert_int_equal(viz_ticks_linear(&t, -8e307, 8e307, 5, false, &err), KERN_OK);
    assert_true(t.n_major >= 2 && isfinite(t.major[0]));
    /* Neighbouring doubles. */
    assert_int_equal(viz_ticks_linear(&t, 1e15, 1e15 + 0.125, 5, false, &err), KERN_OK);
}

static void test_pad(void **state)
{
    (void)state;
    double lo = -2.0;
    double hi = 6.0;
    viz_ticks_pad(&lo, &hi, 0.25);
    near(lo, -4.0);
    near(hi, 8.0);
    lo = hi = -3.25;
    viz_ticks_pad(&lo, &hi, 0.05);
    near(lo, -3.575);
    near(hi, -2.925);
    lo = hi = 0.0;
    viz_ticks_pad(&lo, &hi, 0.05);
    near(lo, -1.0);
    near(hi, 1.0);
    lo = 1e6;
    hi = nextafter(1e6, 2e6);
    viz_ticks_pad(&lo, &hi, 0.05);
    assert_true(hi - lo > 1e5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_properties),
        cmocka_unit_test(test_known_ticks),
        cmocka_unit_test(test_integer_ticks),
        cmocka_unit_test(test_log_ticks),
        cmocka_unit_test(test_bad_ranges),
        cmocka_unit_test(test_largest_range),
        cmocka_unit_test(test_pad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
