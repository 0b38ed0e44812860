/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the analyses of maps say when they find nothing, are told two things at once, or are
 * stopped.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define SCALAR TEST_VECTORS "/eta-scalar.safetensors"

/* ---- Nothing found ------------------------------------------------------------------------ */

/* The last run, with --json, printed an object of this status that says why, and so did stderr. */
static void assert_failure(const char *status, const char *part)
{
    cJSON *json = program_json();
    assert_word(json, "status", status);
    assert_int_equal(count(json, "points"), 0);
    const char *message = cJSON_GetStringValue(member(json, "message"));
    assert_non_null(message);
    assert_non_null(strstr(message, part));
    assert_non_null(strstr(program_err, part));
    cJSON_Delete(json);
}

static void test_failures_are_json_too(void **state)
{
    (void)state;
    program_expect(1, "continue", "--map", "logistic", "--vary", "r", "--from", "2.5", "--to", "3",
                   "--period", "3", "--json", NULL);
    assert_failure("not_converged", "no cycle of minimal period 3");
    program_expect(1, "continue", "--map", "henon", "--vary", "a", "--from", "0", "--to", "1.4",
                   "--second", "b", "--range", "0:0.5", "--curve", "NS", "--json", NULL);
    assert_failure("not_converged", "no NS point");
    program_expect(1, "continue", "--map", "layernorm-power", "--vary", "eta", "--from", "0.1",
                   "--to", "1", "--json", NULL);
    assert_failure("singular", "--chart");
    program_expect(1, "fixed-points", "--map", "layernorm-power", "--json", NULL);
    assert_failure("singular", "--chart");
}

/* Fixed points are no cycle of period 3. */
static void test_only_shorter_cycles(void **state)
{
    (void)state;
    program_expect(1, "fixed-points", "--map", "logistic", "--param", "r=3.2", "--period", "3",
                   NULL);
    assert_non_null(strstr(program_out, "no cycle of minimal period 3 was found"));
    program_expect(1, "fixed-points", "--map", "logistic", "--param", "r=3.2", "--period", "3",
                   "--json", NULL);
    cJSON *json = program_json();
    assert_word(json, "status", "not_converged");
    assert_int_equal(count(json, "points"), 2);
    assert_near(number(json, "n_exact"), 0, 0);
    cJSON_Delete(json);
    program_expect(0, "fixed-points", "--map", "logistic", "--param", "r=3.2", "--period", "2",
                   NULL);
}

/* Where coordinates are 7e7 no residual of 1e-11 can be told from rounding. */
static void test_tolerance_below_rounding(void **state)
{
    (void)state;
    program_expect(1, "fixed-points", "--map", "quadratic", "--param", "lambda=0", "--starts", "0",
                   "--x0", "7e7", NULL);
    assert_non_null(strstr(program_out, "not_converged"));
    assert_non_null(strstr(program_out, "exceeds --tol 1e-11: give a larger --tol"));
    program_expect(1, "multipliers", "--map", "quadratic", "--param", "lambda=0", "--solve", "--x0",
                   "7e7", NULL);
    assert_non_null(strstr(program_out, "exceeds --tol 1e-11: give a larger --tol"));
    program_expect(0, "fixed-points", "--map", "quadratic", "--param", "lambda=0", "--starts", "0",
                   "--x0", "7e7", "--tol", "1e-7", NULL);
}

/* ---- Tokens ------------------------------------------------------------------------------- */

static void test_tokens_keep_their_number(void **state)
{
    (void)state;
    program_expect(0, "multipliers", "--model", SCALAR, "--prompt", "1 2 3", "--token", "2",
                   "--solve", "--json", NULL);
    cJSON *json = program_json();
    assert_near(number(entry(json, "blocks", 0), "token"), 2, 0);
    cJSON_Delete(json);
    program_expect(2, "continue", "--model", SCALAR, "--prompt", "1 2 3", "--token", "2", "--vary",
                   "rate", "--from", "1", "--to", "2", NULL);
    program_complained("add --chart");
}

/* ---- Two things at once ------------------------------------------------------------------- */

/* The table that was there is as before. */
static void assert_table_kept(void)
{
    char text[8] = "";
    FILE *file = fopen(in("table.csv"), "rb");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), 4);
    (void)fclose(file);
    assert_string_equal(text, "a,b\n");
}

static void test_one_file_for_two_results(void **state)
{
    static const struct {
        const char *out, *table;
    } pairs[] = {{"link.h5", "table.csv"}, {"./x.h5", "x.h5"}, {"same.h5", "same.h5"}};
    (void)state;
    test_write(in("table.csv"), "a,b\n", 4);
    assert_int_equal(symlink(in("table.csv"), in("link.h5")), 0);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        program_expect(2, "orbit", "--map", "logistic", "--out", in(pairs[i].out), "--csv",
                       in(pairs[i].table), NULL);
        assert_int_equal(access(in("x.h5"), F_OK), -1);
        assert_table_kept();
    }
    program_complained("name the same file");
    program_expect(2, "rqa", "--map", "logistic", "--out", in("p"), "--csv", in("./p"), NULL);
    program_complained("name the same file");
}

static void test_refusals(void **state)
{
    (void)state;
    program_expect(2, "orbit", "--map", "logistic", "--out", in("x.txt"), NULL);
    program_complained("accepted are names that end in .h5, .hdf5 or .csv");
    program_expect(2, "orbit", "--map", "logistic", "--map", "henon", NULL);
    program_complained("--map is given twice");
    program_expect(2, "orbit", "--plugin", "", NULL);
    program_complained("accepted are paths of shared objects");
    program_expect(0, "help", "--help", NULL);
}

/* ---- Stopped ------------------------------------------------------------------------------ */

/* True once the program watches for Ctrl-C: a signal before would end it as any other program. */
static bool watches(pid_t child)
{
    char path[64];
    char line[256];
    unsigned long long caught = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "SigCgt:", 7) == 0) {
            caught = strtoull(line + 7, NULL, 16);
        }
    }
    (void)fclose(file);
    return (caught >> (SIGINT - 1) & 1) != 0;
}

/* Interrupts the program at work that takes far longer than the 0.3 s it is given. */
static void assert_stops(pid_t child)
{
    const struct timespec nap = {.tv_nsec = 300000000};
    for (int i = 0; i < 100 && !watches(child); i++) {
        (void)nanosleep(&nap, NULL);
    }
    (void)nanosleep(&nap, NULL);
    assert_int_equal(kill(child, SIGINT), 0);
    program_finish(child);
    if (program_code != 130) {
        fail_msg("exited with %d: %s%s", program_code, program_err, program_out);
    }
    assert_string_equal(program_out, "");
}

static void test_interruptions(void **state)
{
    (void)state;
    const size_t before = test_count_entries(in(""));
    assert_stops(program_launch("orbit", "--map", "henon", "--ttr", "1000000000", "--steps", "10",
                                "--csv", in("orbit.csv"), "--out", in("orbit.h5"), NULL));
    /* Written row by row. */
    assert_stops(program_launch("orbit", "--map", "henon", "--steps", "20000000", "--csv",
                                in("long.csv"), NULL));
    assert_stops(program_launch("orbit", "--map", "henon", "--settle", "1e-9", "--steps", "10",
                                "--stride", "50000000", NULL));
    assert_stops(program_launch("chaos", "--map", "henon", "--test", "zero-one", "--steps",
                                "1000000", "--angles", "1", NULL));
    assert_stops(program_launch("chaos", "--map", "henon", "--test", "zero-one", "--steps",
                                "1000000", "--threads", "2", NULL));
    assert_stops(program_launch("multipliers", "--map", "coupled-logistic", "--param", "n=60",
                                "--param", "r=0.5", "--horizon", "1048576", NULL));
    assert_int_equal(test_count_entries(in("")), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures_are_json_too),
        cmocka_unit_test(test_only_shorter_cycles),
        cmocka_unit_test(test_tolerance_below_rounding),
        cmocka_unit_test(test_tokens_keep_their_number),
        cmocka_unit_test(test_one_file_for_two_results),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_interruptions),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
