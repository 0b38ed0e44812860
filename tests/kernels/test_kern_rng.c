/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DRAWS = 100000 };

static void test_streams_are_reproducible_and_distinct(void **state)
{
    (void)state;
    kern_rng *a = kern_rng_create(7, "init", 3);
    kern_rng *b = kern_rng_create(7, "init", 3);
    kern_rng *others[] = {kern_rng_create(8, "init", 3), kern_rng_create(7, "windows", 3),
                          kern_rng_create(7, "init", 4)};
    size_t equal[3] = {0};
    for (size_t i = 0; i < 1000; i++) {
        const double x = kern_rng_uniform(a);
        assert_true(x == kern_rng_uniform(b));
        for (size_t k = 0; k < 3; k++) {
            equal[k] += x == kern_rng_uniform(others[k]);
        }
    }
    for (size_t k = 0; k < 3; k++) {
        assert_in_range(equal[k], 0, 3);
        kern_rng_destroy(others[k]);
    }
    kern_rng_destroy(b);
    kern_rng_destroy(a);
    kern_rng_destroy(NULL);
}

/* Mean and variance within five standard errors. */
static void test_moments(void **state)
{
    (void)state;
    kern_rng *rng = kern_rng_create(1, "moments", 0);
    double uniform = 0;
    double normal = 0;
    double square = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        const double u = kern_rng_uniform(rng);
        const double z = kern_rng_normal(rng);
        assert_true(u >= 0 && u < 1);
        uniform += u / DRAWS;
        normal += z / DRAWS;
        square += z * z / DRAWS;
    }
    assert_true(fabs(uniform - 0.5) < 5 * sqrt(1.0 / 12 / DRAWS));
    assert_true(fabs(normal) < 5 * sqrt(1.0 / DRAWS));
    assert_true(fabs(square - 1) < 5 * sqrt(2.0 / DRAWS));
    kern_rng_destroy(rng);
}

static void test_below_is_uniform(void **state)
{
    (void)state;
    kern_rng *rng = kern_rng_create(2, "below", 0);
    size_t counts[7] = {0};
    for (size_t i = 0; i < DRAWS; i++) {
        const uint32_t k = kern_rng_below(rng, 7);
        assert_true(k < 7);
        counts[k]++;
        assert_int_equal(kern_rng_below(rng, 1), 0);
    }
    for (size_t k = 0; k < 7; k++) {
        assert_true(fabs((double)counts[k] - DRAWS / 7.0) < 5 * sqrt(DRAWS * 6.0 / 49));
    }
    (void)kern_rng_below(rng, UINT32_MAX);
    kern_rng_destroy(rng);
}

static void test_restored_stream_continues(void **state)
{
    (void)state;
    kern_rng *rng = kern_rng_create(3, "state", 0);
    kern_rng *other = kern_rng_create(4, "state", 0);
    kern_error err = {0};
    const size_t size = kern_rng_state_size(rng);
    void *saved = malloc(size);
    assert_non_null(saved);
    for (size_t i = 0; i < 777; i++) {
        (void)kern_rng_normal(rng);
    }
    kern_rng_save(rng, saved);
    assert_int_equal(kern_rng_restore(other, saved, size, &err), KERN_OK);
    for (size_t i = 0; i < 2000; i++) {
        assert_true(kern_rng_normal(rng) == kern_rng_normal(other));
    }
    assert_int_equal(kern_rng_restore(other, saved, size - 1, &err), KERN_BAD_INPUT);
    assert_non_null(strstr(err.text, "bytes"));
    free(saved);
    kern_rng_destroy(other);
    kern_rng_destroy(rng);
}

static void test_hash_spreads_counters(void **state)
{
    (void)state;
    size_t ones[64] = {0};
    enum { COUNTERS = 10000 };
    for (uint64_t i = 0; i < COUNTERS; i++) {
        const uint64_t flips = kern_rng_hash(5, i) ^ kern_rng_hash(5, i + 1);
        for (size_t bit = 0; bit < 64; bit++) {
            ones[bit] += flips >> bit & 1U;
        }
    }
    for (size_t bit = 0; bit < 64; bit++) {
        assert_true(fabs((double)ones[bit] - COUNTERS / 2.0) < 6 * sqrt(COUNTERS / 4.0));
    }
    assert_true(kern_rng_seed(0, "", 0) != 0);
    assert_true(kern_rng_seed(1, "ab", 0) != kern_rng_seed(1, "ba", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_are_reproducible_and_distinct),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_below_is_uniform),
        cmocka_unit_test(test_restored_stream_continues),
        cmocka_unit_test(test_hash_spreads_counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
