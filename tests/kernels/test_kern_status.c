/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_size.h"
#include "kernels/kern_status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_words_are_distinct(void **state)
{
    (void)state;
    assert_string_equal(kern_status_word(KERN_OK), "ok");
    assert_string_equal(kern_status_word(KERN_NAN), "nan");
    assert_string_equal(kern_status_word(KERN_STATUS_COUNT), "unknown");
    assert_string_equal(kern_status_gloss(KERN_STATUS_COUNT), "unknown status");
    for (int a = 0; a < KERN_STATUS_COUNT; a++) {
        assert_true(strlen(kern_status_gloss((kern_status)a)) > 5);
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(kern_status_word((kern_status)a),
                                    kern_status_word((kern_status)b));
        }
    }
}

static void test_raise_formats_and_returns(void **state)
{
    (void)state;
    kern_error err = {0};
    assert_int_equal(kern_raise(&err, KERN_IO, "cannot read %s: %d bytes", "x.bin", 12), KERN_IO);
    assert_int_equal(err.status, KERN_IO);
    assert_string_equal(err.text, "cannot read x.bin: 12 bytes");
    assert_int_equal(kern_raise(NULL, KERN_NAN, "nobody listens"), KERN_NAN);
}

static void test_raise_cuts_long_text(void **state)
{
    (void)state;
    kern_error err = {0};
    char text[2 * KERN_ERROR_TEXT];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)kern_raise(&err, KERN_BAD_INPUT, "%s", text);
    assert_int_equal(strlen(err.text), KERN_ERROR_TEXT - 1);
}

static kern_status try_it(kern_status inner, int *after, kern_error *err)
{
    KERN_TRY(kern_raise(err, inner, "inner"));
    *after += 1;
    return KERN_OK;
}

static void test_try_returns_early(void **state)
{
    (void)state;
    int after = 0;
    kern_error err = {0};
    assert_int_equal(try_it(KERN_OVERFLOW, &after, &err), KERN_OVERFLOW);
    assert_int_equal(after, 0);
    assert_int_equal(try_it(KERN_OK, &after, &err), KERN_OK);
    assert_int_equal(after, 1);
}

static void test_sizes_overflow(void **state)
{
    (void)state;
    size_t out = 5;
    assert_false(kern_size_mul(SIZE_MAX / 2, 3, &out));
    assert_false(kern_size_add(SIZE_MAX, 1, &out));
    assert_int_equal(out, 5);
    assert_true(kern_size_mul(SIZE_MAX / 3, 3, &out));
    assert_true(out == SIZE_MAX / 3 * 3);
    assert_true(kern_size_add(SIZE_MAX - 1, 1, &out));
    assert_true(out == SIZE_MAX);
    assert_int_equal(kern_size_round_up(0, 64), 0);
    assert_int_equal(kern_size_round_up(1, 64), 64);
    assert_int_equal(kern_size_round_up(128, 64), 128);
    assert_int_equal(kern_size_min(3, 7) + kern_size_max(3, 7), 10);
    assert_int_equal(kern_size_min(7, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_distinct),
        cmocka_unit_test(test_raise_formats_and_returns),
        cmocka_unit_test(test_raise_cuts_long_text),
        cmocka_unit_test(test_try_returns_early),
        cmocka_unit_test(test_sizes_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
