/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand continue in one parameter, with the built program.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

/* ---- Results ------------------------------------------------------------------------------ */

static void test_cascade(void **state)
{
    (void)state;
    program_expect(0, "continue", "--map", "logistic", "--vary", "r", "--from", "2.5", "--to",
                   "3.57", "--switch", "2", "--cycles", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *last = entry(object, "points", count(object, "points") - 1);
    assert_true(number(entry(object, "points", 0), "parameter") == 2.5);
    assert_true(number(last, "parameter") == 3.57 && cJSON_IsFalse(member(last, "stable")));
    assert_near(number_at(last, "x", 0), 1.0 - 1.0 / 3.57, 1e-14);
    assert_near(number(entry(last, "multipliers", 0), "re"), 2.0 - 3.57, 1e-13);
    assert_int_equal(count(object, "events"), 1);
    const cJSON *event = entry(object, "events", 0);
    assert_word(event, "type", "PD");
    assert_near(number(event, "parameter"), 3.0, 1e-11);
    assert_near(number_at(event, "x", 0), 2.0 / 3.0, 1e-11);
    assert_near(number(event, "coefficient"), 9.0, 1e-6);
    assert_word(event, "criticality", "supercritical");
    assert_near(number(member(event, "multiplier"), "re"), -1.0, 1e-12);
    assert_int_equal(count(object, "branches"), 2);
    const cJSON *second = entry(object, "branches", 1);
    assert_true(number(second, "period") == 4 && number(second, "parent") == 1);
    assert_true(number(second, "depth") == 2 && number(second, "parent_event") == 0);
    assert_near(number(entry(second, "events", 0), "parameter"), 3.544090359551923, 1e-11);
    assert_int_equal(count(entry(second, "points", 3), "cycle"), 4);
    assert_word(object, "status", "ok");
    assert_true(cJSON_IsTrue(member(object, "reached")));
    assert_word(member(object, "ends"), "first", "reached_from");
    assert_word(member(object, "ends"), "last", "reached_to");
    assert_word(object, "vary", "r");
    cJSON_Delete(object);
}

/* Downwards through a fold and back up; both ways from a value inside. */
static void test_directions(void **state)
{
    (void)state;
    program_expect(0, "continue", "--map", "logistic", "--vary", "r", "--from", "3.9", "--to",
                   "3.7", "--period", "3", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "events"), 2);
    assert_word(entry(object, "events", 0), "type", "LP");
    assert_near(number(entry(object, "events", 0), "parameter"), 1.0 + sqrt(8.0), 1e-11);
    assert_true(cJSON_IsFalse(member(object, "reached")));
    assert_word(object, "status", "ok");
    assert_true(number(entry(object, "points", 0), "parameter") == 3.9);
    cJSON_Delete(object);
    program_expect(0, "continue", "--map", "henon", "--vary", "a", "--from", "-0.2", "--to", "1.2",
                   "--at", "0.2", "--box", "-3:3,-3:3", "--json", NULL);
    object = program_json();
    assert_int_equal(count(object, "events"), 2);
    assert_near(number(entry(object, "events", 0), "parameter"), -0.1225, 1e-11);
    assert_near(number(entry(object, "events", 1), "parameter"), 0.3675, 1e-11);
    assert_word(member(object, "ends"), "first", "left_box");
    assert_word(object, "status", "left_box");
    cJSON_Delete(object);
}

static void test_text(void **state)
{
    (void)state;
    program_expect(0, "continue", "--map", "kopel", "--param", "rho=0.7", "--vary", "mu", "--from",
                   "1.6", "--to", "4", "--switch", "1", NULL);
    assert_non_null(strstr(program_out, "BP pitchfork supercritical, coefficient -3.15"));
    assert_non_null(strstr(program_out, "branch 1, period 1, from BP at 3 of branch 0"));
    assert_non_null(strstr(program_out, "NS supercritical"));
    assert_non_null(strstr(program_out, "reached_from ... reached_to"));
}

static void test_files(void **state)
{
    char table[TEST_PATH];
    char hdf5[TEST_PATH];
    char line[256];
    size_t lines = 0;
    (void)state;
    program_expect(0, "continue", "--map", "logistic", "--vary", "r", "--from", "2.5", "--to",
                   "3.3", "--switch", "1", "--csv", test_path(table, "branch.csv"), "--out",
                   test_path(hdf5, "branch.h5"), "--json", NULL);
    cJSON *object = program_json();
    FILE *file = fopen(table, "rb");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(
        line, "branch,period,parameter,arclength,stable,spectral_radius,residual,state,x0\n");
    while (fgets(line, sizeof line, file) != NULL) {
        lines++;
    }
    (void)fclose(file);
    assert_int_equal(lines,
                     count(object, "points") + 2 * count(entry(object, "branches", 0), "points"));
    cJSON_Delete(object);
    file = fopen(hdf5, "rb");
    assert_non_null(file);
    (void)fclose(file);
}

/* A branch cut short is reported, with exit status 1. */
static void test_unfinished(void **state)
{
    (void)state;
    program_expect(1, "continue", "--map", "logistic", "--vary", "r", "--from", "2.5", "--to",
                   "3.5", "--max-points", "2", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "points"), 3);
    assert_word(object, "status", "timeout");
    assert_word(member(object, "ends"), "last", "max_points");
    cJSON_Delete(object);
}

/* ---- Complaints --------------------------------------------------------------------------- */

/* Continues the logistic map in `vary` from `from` to `to` with one more option. */
static void complain(int code, const char *vary, const char *from, const char *to,
                     const char *option, const char *value, const char *sentence)
{
    program_expect(code, "continue", "--map", "logistic", "--vary", vary, "--from", from, "--to",
                   to, option, value, NULL);
    program_complained(sentence);
}

static void test_complaints(void **state)
{
    (void)state;
    complain(2, "q", "3", "3.5", "--seed", "1", "no parameter \"q\"; accepted: r");
    complain(2, "r", "3", "3", "--seed", "1", "--from and --to are both 3");
    complain(2, "r", "3", "3.5", "--at", "2", "--at is 2, accepted is 3 to 3.5");
    complain(2, "r", "3", "3.5", "--period", "0", "--period");
    complain(2, "r", "3", "3.5", "--step", "0.5", "--step is 0.5, accepted is --step-min");
    complain(2, "r", "3", "3.5", "--box", "1", "--box");
    complain(2, "r", "3", "3.5", "--period", "9999", "a cycle of 9999 states");
    /* These ran, and found nothing to follow. */
    complain(1, "r", "3.5", "3.6", "--period", "3", "no cycle of minimal period 3");
    program_expect(1, "continue", "--map", "layernorm-power", "--vary", "eta", "--from", "0.1",
                   "--to", "1", NULL);
    program_complained("gauge directions");
    program_expect(1, "continue", "--map", "henon", "--vary", "a", "--from", "-2", "--to", "-1",
                   NULL);
    program_complained("no cycle of minimal period 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cascade),    cmocka_unit_test(test_directions),
        cmocka_unit_test(test_text),       cmocka_unit_test(test_files),
        cmocka_unit_test(test_unfinished), cmocka_unit_test(test_complaints),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
