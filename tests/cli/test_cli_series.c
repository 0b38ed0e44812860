/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommands rqa and chaos, observables and files of orbit, and exponents against a parameter,
 * with the built program.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_hdf5.h"
#include "tests/cli/cli_test_json.h"

#include <math.h>
#include <stdlib.h>

/* ---- rqa ------------------------------------------------------------------------------------ */

/* 91 states of the 3-cycle at r = 3.83: diagonals at distance 3m have 91 − 3m cells. */
static void test_rqa_of_a_cycle(void **state)
{
    (void)state;
    program_expect(0, "rqa", "--map", "logistic", "--param", "r=3.83", "--ttr", "5000", "--steps",
                   "90", "--threshold", "0.01", "--json", NULL);
    cJSON *object = program_json();
    assert_near(number(object, "det"), 1, 2e-3); /* one line of a single cell */
    assert_near(number(object, "lmax"), 88, 0);
    assert_near(number(object, "mrt"), 3, 1e-12);
    assert_near(number(object, "lam"), 0, 0);
    assert_near(number(object, "rr"), 2 * (30 * 91 - 3 * 30 * 31 / 2) / (91.0 * 90), 1e-12);
    assert_near(number(object, "theiler"), 1, 0);
    assert_near(number(object, "lmin"), 2, 0);
    assert_near(number(object, "threshold"), 0.01, 0);
    assert_true(member(object, "l") != NULL && member(object, "tt") != NULL &&
                member(object, "entr") != NULL);
    assert_word(object, "border", "keep");
    assert_word(object, "status", "ok");
    cJSON_Delete(object);
}

static void test_rqa_rate_files_and_threads(void **state)
{
    char one[PROGRAM_TEXT / 8];
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        program_expect(0, "rqa", "--map", "henon", "--steps", "300", "--coordinate", "0", "--embed",
                       "2", "--delay", "3", "--rate", "0.1", "--norm", "euclid", "--border",
                       "longest", "--threads", threads == 1 ? "1" : "3", "--out",
                       in(threads == 1 ? "1.pbm" : "3.pbm"), "--csv", in("r.csv"), "--json", NULL);
        if (threads == 1) {
            assert_true(strlen(program_out) < sizeof one);
            memcpy(one, program_out, strlen(program_out) + 1);
        }
    }
    assert_string_equal(program_out, one);
    assert_true(same_files(in("1.pbm"), in("3.pbm")));
    cJSON *object = program_json();
    assert_near(number(object, "states"), 298, 0);
    assert_near(number(object, "rr"), 0.1, 1e-4);
    const double recurrences = number(object, "recurrences");
    cJSON_Delete(object);
    /* The table has the main diagonal as well, and a head. */
    static char text[1 << 20];
    FILE *file = fopen(in("r.csv"), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    size_t lines = 0;
    for (const char *c = text; *c != '\0'; c++) {
        lines += *c == '\n';
    }
    assert_true((double)lines == recurrences + 298 + 1);
    assert_int_equal(strncmp(text, "i,j\n0,0\n", 8), 0);
    file = fopen(in("1.pbm"), "rb");
    assert_non_null(file);
    const size_t bytes = fread(text, 1, sizeof text, file);
    (void)fclose(file);
    assert_int_equal(bytes, strlen("P4\n298 298\n") + (size_t)298 * 38);
    assert_int_equal(strncmp(text, "P4\n298 298\n", 11), 0);
    /* The last row comes first; its last cell is on the main diagonal. */
    assert_true((text[11 + 37] & (1 << (7 - 297 % 8))) != 0);
}

static void test_rqa_outcomes(void **state)
{
    (void)state;
    program_expect(1, "rqa", "--map", "henon", "--x0", "9,9", "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "status", "diverged");
    cJSON_Delete(object);
    program_expect(0, "rqa", "--map", "henon", "--steps", "50", NULL);
    assert_non_null(strstr(program_out, "DET, L, Lmax, ENTR"));
    program_expect(2, "rqa", "--map", "henon", "--rate", "0.1", "--threshold", "1", NULL);
    program_complained("--threshold and --rate are both given");
    program_expect(2, "rqa", "--map", "henon", "--norm", "manhattan", NULL);
    program_complained("accepted are max and euclid");
    program_expect(2, "rqa", "--map", "henon", "--border", "all", NULL);
    program_complained("keep, drop and longest");
    program_expect(2, "rqa", "--map", "henon", "--steps", "70000", "--out", in("x.pbm"), NULL);
    program_complained("fewer than 65536 --steps");
    program_expect(2, "rqa", "--map", "henon", "--coordinate", "2", NULL);
    program_complained("no coordinate 2; accepted are 0 to 1");
    program_expect(2, "rqa", "--map", "henon", "--theiler", "5000", NULL);
    program_complained("leaves no pair");
    program_expect(2, "rqa", "--map", "henon", "--out", "/nowhere/x.pbm", NULL);
    program_complained("/nowhere");
}

/* ---- chaos ---------------------------------------------------------------------------------- */

static void check_chaos(const char *test, const char *x0, const char *verdict)
{
    program_expect(0, "chaos", "--test", test, "--map", "standard", "--param", "k=1", "--x0", x0,
                   "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "test", test);
    assert_word(object, "verdict", verdict);
    assert_word(object, "status", "ok");
    (void)number(object, "value");
    cJSON_Delete(object);
}

static void test_chaos_verdicts(void **state)
{
    static const char *const tests[] = {"gali", "zero-one"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        check_chaos(tests[i], "0.1,0.1", "chaotic");
        check_chaos(tests[i], "3,0.1", "regular");
        program_expect(1, "chaos", "--test", tests[i], "--map", "henon", "--x0", "9,9", "--json",
                       NULL);
        cJSON *object = program_json();
        assert_word(object, "status", "diverged");
        assert_word(object, "verdict", "undecided");
        assert_true(cJSON_IsNull(member(object, "value")));
        cJSON_Delete(object);
    }
    program_expect(0, "chaos", "--test", "zero-one", "--map", "logistic", "--param", "r=4", NULL);
    assert_non_null(strstr(program_out, "verdict: chaotic"));
    /* Too few steps for vectors to align. */
    program_expect(1, "chaos", "--test", "gali", "--map", "henon", "--steps", "5", "--series",
                   "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "verdict", "undecided");
    assert_word(object, "status", "timeout");
    assert_int_equal(count(object, "series"), 6);
    cJSON_Delete(object);
}

static void test_chaos_refusals(void **state)
{
    (void)state;
    program_expect(2, "chaos", "--map", "henon", NULL);
    program_complained("--test is missing: gali: alignment");
    program_expect(2, "chaos", "--test", "sali", "--map", "henon", NULL);
    program_complained("accepted are gali and zero-one");
    program_expect(2, "chaos", "--test", "gali", "--map", "logistic", NULL);
    program_complained("one coordinate, in which no tangent vectors can align");
    program_expect(2, "chaos", "--test", "gali", "--map", "henon", "--k", "3", NULL);
    program_complained("accepted is 2 to 2");
    program_expect(2, "chaos", "--test", "zero-one", "--map", "henon", "--coordinate", "2", NULL);
    program_complained("--coordinate is 2; accepted are 0 to 1");
    program_expect(2, "chaos", "--test", "zero-one", "--map", "henon", "--steps", "99", NULL);
    program_complained("100 values or more");
}

/* ---- orbit ---------------------------------------------------------------------------------- */

static double observed(const cJSON *object, const char *name, int step)
{
    const cJSON *rows = member(member(object, "observed"), name);
    return cJSON_GetArrayItem(cJSON_GetArrayItem(rows, step), 0)->valuedouble;
}

static void test_observables_and_files(void **state)
{
    double values[4];
    double eta = 0;
    char *text = NULL;
    model_hdf5_reader *reader = NULL;
    kern_error err = {0};
    (void)state;
    program_expect(0, "orbit", "--map", "layernorm-power", "--param", "eta=0.2", "--steps", "3",
                   "--stride", "2", "--observe", "sigma,energy", "--out", in("o.h5"), "--csv",
                   in("o.csv"), "--json", NULL);
    cJSON *object = program_json();
    assert_near(number(object, "stride"), 2, 0);
    assert_near(number(object, "end"), 6, 0);
    assert_int_equal(model_hdf5_reader_create(&reader, in("o.h5"), &err), KERN_OK);
    assert_int_equal(model_hdf5_read_doubles(reader, "observed/sigma", values, 4, &err), KERN_OK);
    for (int k = 0; k < 4; k++) {
        const cJSON *x = entry(object, "states", k);
        double sums[2] = {0};
        for (int i = 0; i < 16; i++) {
            const double value = cJSON_GetArrayItem(x, i)->valuedouble;
            sums[0] += value / 16;
            sums[1] += value * value / 16;
        }
        assert_true(fabs(values[k] - sqrt(sums[1] - sums[0] * sums[0])) < 1e-12);
        assert_true(values[k] == observed(object, "sigma", k));
        assert_true(observed(object, "energy", k) == number_at(object, "energy", k));
    }
    cJSON_Delete(object);
    assert_int_equal(model_hdf5_read_attr_doubles(reader, "params", "eta", &eta, 1, &err), KERN_OK);
    assert_true(eta == 0.2);
    assert_int_equal(model_hdf5_read_attr_string(reader, "/", "recipe", &text, &err), KERN_OK);
    assert_non_null(strstr(text, "\"stride\""));
    free(text);
    model_hdf5_reader_destroy(reader);
    program_read("o.csv", program_out);
    assert_non_null(strstr(program_out, "x15,energy,sigma0,energy0\n0,"));
    assert_non_null(strstr(program_out, "\n6,"));
    /* A name that ends in .csv is a table. */
    program_expect(0, "orbit", "--map", "layernorm-power", "--param", "eta=0.2", "--steps", "3",
                   "--stride", "2", "--observe", "sigma,energy", "--out", in("p.csv"), NULL);
    assert_true(same_files(in("o.csv"), in("p.csv")));
    program_expect(2, "orbit", "--map", "henon", "--out", in("a.csv"), "--csv", in("b.csv"), NULL);
    program_complained("both name a table");
    program_expect(2, "orbit", "--map", "henon", "--observe", "sigma", NULL);
    program_complained("accepted are mean, length, move");
    program_expect(2, "orbit", "--map", "henon", "--observe", "mean,mean", NULL);
    program_complained("mean is given twice");
    program_expect(2, "orbit", "--map", "henon", "--out", "/nowhere/o.h5", NULL);
    program_complained("/nowhere");
}

/* ---- lyapunov --vary ------------------------------------------------------------------------ */

/* The logistic map at r = 2.6, 2.9, 3.2 and 5: ln|2 − r|, ½ ln 0.4, and no orbit. */
static void test_exponents_against_a_parameter(void **state)
{
    static const double expected[] = {-0.510825623765990683, -0.105360515657826301,
                                      -0.916290731874155065};
    double exponents[3];
    model_hdf5_reader *reader = NULL;
    kern_error err = {0};
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        program_expect(0, "lyapunov", "--map", "logistic", "--vary", "r", "--from", "2.6", "--to",
                       "3.2", "--n", "3", "--steps", "1000", "--threads", threads == 1 ? "1" : "3",
                       "--out", in("l.h5"), "--csv", in(threads == 1 ? "1.csv" : "3.csv"), "--json",
                       NULL);
    }
    cJSON *object = program_json();
    const cJSON *points = member(object, "points");
    assert_int_equal(cJSON_GetArraySize(points), 3);
    assert_int_equal(model_hdf5_reader_create(&reader, in("l.h5"), &err), KERN_OK);
    assert_int_equal(model_hdf5_read_doubles(reader, "exponents", exponents, 3, &err), KERN_OK);
    model_hdf5_reader_destroy(reader);
    for (int i = 0; i < 3; i++) {
        const cJSON *point = cJSON_GetArrayItem(points, i);
        const double value = number_at(point, "exponents", 0);
        assert_true(fabs(value - expected[i]) < 1e-9);
        assert_true(value == exponents[i]);
        assert_word(point, "status", "ok");
    }
    assert_word(object, "status", "ok");
    cJSON_Delete(object);
    assert_true(same_files(in("1.csv"), in("3.csv")));
    program_expect(0, "lyapunov", "--map", "logistic", "--vary", "r", "--from", "3.2", "--to", "5",
                   "--n", "2", NULL);
    assert_non_null(strstr(program_out, "diverged"));
    program_expect(1, "lyapunov", "--map", "logistic", "--vary", "r", "--from", "5", "--to", "6",
                   "--n", "2", "--json", NULL);
    object = program_json();
    assert_word(object, "status", "diverged");
    cJSON_Delete(object);
}

static void test_vary_refusals(void **state)
{
    (void)state;
    program_expect(2, "lyapunov", "--map", "henon", "--from", "1", NULL);
    program_complained("--from is given without --vary");
    program_expect(2, "lyapunov", "--map", "henon", "--vary", "a", "--from", "1", NULL);
    program_complained("--to is missing");
    program_expect(2, "lyapunov", "--map", "henon", "--out", in("x.h5"), NULL);
    program_complained("--out is given without --vary");
    program_expect(2, "lyapunov", "--map", "henon", "--vary", "c", "--from", "1", "--to", "2",
                   NULL);
    program_complained("accepted: a, b");
    program_expect(2, "lyapunov", "--map", "coupled-logistic", "--vary", "n", "--from", "1", "--to",
                   "2", NULL);
    program_complained("cannot vary");
    program_expect(2, "lyapunov", "--map", "henon", "--vary", "a", "--from", "1", "--to", "2",
                   "--k", "3", NULL);
    program_complained("accepted is 1 to 2");
    program_expect(2, "lyapunov", "--map", "henon", "--vary", "a", "--from", "1", "--to", "2",
                   "--series", NULL);
    program_complained("--series is given with --vary");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rqa_of_a_cycle),
        cmocka_unit_test(test_rqa_rate_files_and_threads),
        cmocka_unit_test(test_rqa_outcomes),
        cmocka_unit_test(test_chaos_verdicts),
        cmocka_unit_test(test_chaos_refusals),
        cmocka_unit_test(test_observables_and_files),
        cmocka_unit_test(test_exponents_against_a_parameter),
        cmocka_unit_test(test_vary_refusals),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
