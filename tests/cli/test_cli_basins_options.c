/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin basins: options that would be ignored, what the tables say, and the estimate of a dry run.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

static void refuse(const char *a, const char *b, const char *c, const char *d, const char *part)
{
    program_expect(2, "basins", "--map", "henon", "--grid", "10", a, b, c, d, NULL);
    program_complained(part);
}

static void test_ignored(void **state)
{
    (void)state;
    refuse("--radius", "0.1", "--seed", "1", "--radius is given and the method is recurrences");
    refuse("--radius", "0.1", "--method", "features",
           "accepted is --method with one of: proximity");
    refuse("--cells", "9", "--method", "proximity", "--cells is given and the method is proximity");
    refuse("--horizon", "9", "--method", "features", "--horizon is given");
    refuse("--tail", "9", "--method", "recurrences", "--tail is given");
    refuse("--points", "100", "--seed", "1", "--points is given without --uncertainty");
    refuse("--dry-run", "--csv", "x.csv", NULL, "--csv and --dry-run are both given");
    refuse("--dry-run", "--out", "x.h5", NULL, "--out and --dry-run are both given");
    program_expect(2, "basins", "--map", "henon", "--starts", "10", "--jitter", "0.1", NULL);
    program_complained("--jitter needs a grid");
    program_expect(2, "basins", "--map", "henon", "--box", "1:0", NULL);
    program_complained("the lower end 1 is not below the upper end 0");
    program_expect(2, "basins", "--map", "henon", "--box", "0:1,3:2", NULL);
    program_complained("of coordinate 1 the lower end 3 is not below the upper end 2");
}

/* The memory of the starts of --uncertainty is refused before anything is computed: 27 starts for
 * each of 10⁹ points, 5 bytes each. */
static void test_points_refused(void **state)
{
    (void)state;
    refuse("--uncertainty", "--points", "1000000000", NULL,
           "--points 1000000000: 27000000000 starts would take 135 GB");
}

static void test_text(void **state)
{
    (void)state;
    program_expect(0, "basins", "--map", "cubic", "--param", "mu=1", "--box=-1:1", "--grid", "50",
                   NULL);
    assert_int_equal(strncmp(program_out, "cubic: ", 7), 0);
    assert_null(strstr(program_out, "nan"));
    assert_non_null(strstr(program_out, "no boundary between basins"));
    /* One box of 10 cells: no error of a mean. */
    program_expect(0, "basins", "--map", "cubic", "--param", "mu=1.5", "--box=-1:1", "--grid", "10",
                   "--entropy-box", "10", NULL);
    assert_null(strstr(program_out, "nan"));
    assert_non_null(strstr(program_out, "of one box"));
}

/* 5 coordinates: 100 starts are drawn, and the text says why. */
static void test_defaults(void **state)
{
    (void)state;
    program_expect(0, "basins", "--map", "coupled-logistic", "--param", "n=5", "--box", "0:1",
                   "--dry-run", "--json", NULL);
    cJSON *object = program_json();
    assert_true(number(object, "n_starts") == 100);
    assert_true(number(object, "steps_at_most") == 100 * 2200);
    assert_true(number(object, "seconds_per_step") > 0.0);
    assert_true(number(object, "seconds") >= 0.0);
    cJSON_Delete(object);
    program_expect(0, "basins", "--map", "coupled-logistic", "--param", "n=5", "--box", "0:1",
                   "--dry-run", NULL);
    assert_non_null(strstr(program_out, "a map of 5 coordinates; --starts asks for more"));
    program_expect(0, "basins", "--map", "coupled-logistic", "--param", "n=5", "--box", "0:1",
                   "--dry-run", "--starts", "100", NULL);
    assert_null(strstr(program_out, "asks for more"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_points_refused),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
