/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The measured limit is a possible one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_peak.h"

#include <math.h>

/* No core does less than a few operations per microsecond or more than a thousand per nanosecond.
 */
static void test_peak_is_possible(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        const double peak = kern_peak_f32(workers, 0.01);
        assert_true(isfinite(peak));
        assert_true(peak > 1e6);
        assert_true(peak < 3e12);
    }
}

/* It runs for about the time asked for. */
static void test_peak_takes_its_time(void **state)
{
    (void)state;
    const double start = kern_peak_clock();
    (void)kern_peak_f32(1, 0.05);
    assert_true(kern_peak_clock() - start >= 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peak_is_possible),
        cmocka_unit_test(test_peak_takes_its_time),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
