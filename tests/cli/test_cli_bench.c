/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand bench with the built program: what its rows say, not how fast anything is.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

/* The one row of a short run of a case of dyn. */
static cJSON *run_case(const char *name)
{
    program_expect(0, "bench", "dyn", "--case", name, "--rounds", "1", "--seconds", "0.01",
                   "--threads", "2", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *rows = member(object, "rows");
    assert_int_equal(cJSON_GetArraySize(rows), 1);
    const cJSON *row = cJSON_GetArrayItem(rows, 0);
    assert_string_equal(cJSON_GetStringValue(member(row, "name")), name);
    assert_true(member(row, "rate")->valuedouble > 0.0);
    assert_true(member(row, "max_rss_mb")->valuedouble > 1.0);
    assert_true(fabs(member(row, "rate")->valuedouble * member(row, "seconds")->valuedouble - 1.0) <
                1e-12);
    return object;
}

static void test_rates_beside_steps(void **state)
{
    (void)state;
    cJSON *object = run_case("tangents-32");
    const cJSON *row = entry(object, "rows", 0);
    assert_true(member(row, "fraction")->valuedouble > 0.0);
    assert_string_equal(cJSON_GetStringValue(member(row, "fraction_of")), "steps");
    assert_true(cJSON_IsNull(member(row, "us_per_token")));
    assert_true(cJSON_IsNull(member(row, "identical")));
    cJSON_Delete(object);
}

/* One worker and two give the same bits. */
static void test_threads_change_nothing(void **state)
{
    static const char *const names[] = {"exponents-32", "multipliers-8", "scan-10000"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        cJSON *object = run_case(names[i]);
        const cJSON *row = entry(object, "rows", 0);
        assert_true(cJSON_IsTrue(member(row, "identical")));
        assert_int_equal(cJSON_IsNumber(member(row, "us_per_token")), i == 1);
        cJSON_Delete(object);
    }
}

/* Frames of the explorer's window, and whom tokens attend to: a row each with what it takes. */
static void test_frames(void **state)
{
    static const char *const names[] = {"window scrub, field held",
                                        "window scrub, other tokens drawn",
                                        "window scrub, field follows",
                                        "window scrub, field follows, ghost",
                                        "window scrub, field follows, new steps",
                                        "window scrub, ghost, new steps",
                                        "window turn of the surface"};
    enum { N = sizeof names / sizeof *names };
    (void)state;
    program_expect(0, "bench", "viz", "--case", "window", "--rounds", "1", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(cJSON_GetArraySize(member(object, "rows")), N);
    for (int i = 0; i < N; i++) {
        const cJSON *row = entry(object, "rows", i);
        assert_string_equal(cJSON_GetStringValue(member(row, "name")), names[i]);
        assert_true(member(row, "wall_ms")->valuedouble > 0.0);
        assert_true(member(row, "cpu_ms")->valuedouble > 0.0);
        assert_int_equal(member(row, "rounds")->valuedouble, 1);
    }
    cJSON_Delete(object);
    program_expect(0, "bench", "viz", "--case", "ff1 attention", "--rounds", "1", NULL);
    assert_non_null(strstr(program_out, "ff1 attention weights of all tokens"));
    assert_null(strstr(program_out, "window"));
    program_expect(2, "bench", "viz", "--case", "door", NULL);
    assert_non_null(strstr(program_err, "such as ff1 and window"));
}

static void test_text(void **state)
{
    (void)state;
    program_expect(0, "bench", "dyn", "--case", "jvp", "--rounds", "1", "--seconds", "0.01", NULL);
    assert_non_null(strstr(program_out, "products"));
    assert_non_null(strstr(program_out, " of steps"));
}

static void test_refusals(void **state)
{
    (void)state;
    program_expect(2, "bench", "dyn", "--case", "jump", NULL);
    assert_non_null(strstr(program_err, "--case is \"jump\"; accepted are step, jvp, "));
    program_expect(2, "bench", "dance", NULL);
    assert_non_null(strstr(program_err, "accepted are train, products, dyn, cem and viz"));
    program_expect(2, "bench", "dyn", "--case", "step", "--model", "no-such-run", NULL);
    assert_non_null(strstr(program_err, "no-such-run"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_beside_steps),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
