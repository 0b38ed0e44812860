/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(cli_nearest_distance("train", "train"), 0);
    assert_int_equal(cli_nearest_distance("", "abc"), 3);
    assert_int_equal(cli_nearest_distance("abc", ""), 3);
    assert_int_equal(cli_nearest_distance("trian", "train"), 1);
    assert_int_equal(cli_nearest_distance("kitten", "sitting"), 3);
    assert_int_equal(cli_nearest_distance("lr_min", "lr-min"), 0);
    assert_int_equal(cli_nearest_distance("ca", "abc"), 3);
}

static void test_long_words_are_unlike(void **state)
{
    char word[CLI_NEAREST_WORD + 1];
    (void)state;
    memset(word, 'a', sizeof word);
    word[CLI_NEAREST_WORD] = '\0';
    assert_int_equal(cli_nearest_distance(word, word), CLI_NEAREST_WORD);
    word[CLI_NEAREST_WORD - 1] = '\0';
    assert_int_equal(cli_nearest_distance(word, word), 0);
}

static void test_find_orders_by_likeness(void **state)
{
    static const char *const names[] = {"width", "weight-decay", "warmup", "window", "with"};
    const char *best[2];
    (void)state;
    assert_int_equal(cli_nearest_find("widht", names, 5, best, 2), 1);
    assert_string_equal(best[0], "width");
    assert_int_equal(cli_nearest_find("wi", names, 5, best, 2), 2);
    assert_string_equal(best[0], "width");
    assert_string_equal(best[1], "window");
    assert_int_equal(cli_nearest_find("weight", names, 5, best, 2), 1);
    assert_string_equal(best[0], "weight-decay");
    assert_int_equal(cli_nearest_find("temperature", names, 5, best, 2), 0);
    assert_int_equal(cli_nearest_find("width", names, 0, best, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance_counts_edits),
        cmocka_unit_test(test_long_words_are_unlike),
        cmocka_unit_test(test_find_orders_by_likeness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
