/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommands orbit and orbit-diagram with the built program. PLUGIN_EXAMPLE is the path of the
 * example plugin.
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

static double state_of(const cJSON *object, int step, int coordinate)
{
    return cJSON_GetArrayItem(entry(object, "states", step), coordinate)->valuedouble;
}

/* ---- orbit ------------------------------------------------------------------------------------
 */

static void test_orbit_json(void **state)
{
    (void)state;
    program_expect(0, "orbit", "--map", "henon", "--param", "a=1.4", "--param", "b=0.3", "--x0",
                   "-1.131354477089505,-0.339406343126851", "--steps", "2", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "states"), 3);
    assert_true(fabs(state_of(object, 2, 0) + 1.131354477089505) < 1e-12);
    assert_true(cJSON_IsNull(member(object, "energy")));
    assert_word(object, "status", "ok");
    assert_word(object, "map", "henon");
    assert_true(number(member(object, "params"), "a") == 1.4);
    cJSON_Delete(object);
    program_expect(0, "orbit", "--map", "double-well", "--x0=2", "--param", "eta=0.1", "--ttr",
                   "500", "--steps", "1", "--json", NULL);
    object = program_json();
    assert_true(fabs(state_of(object, 0, 0) - 1) < 1e-12);
    assert_int_equal(count(object, "energy"), 2);
    cJSON_Delete(object);
    program_expect(0, "orbit", "--map", "tent", "--param", "mu=2", "--steps", "60", "--json", NULL);
    object = program_json();
    assert_true(cJSON_IsTrue(member(object, "collapsed")));
    cJSON_Delete(object);
}

static void test_orbits_that_end(void **state)
{
    (void)state;
    program_expect(1, "orbit", "--map", "henon", "--x0", "5,5", "--steps", "99", "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "status", "diverged");
    assert_true(count(object, "states") < 99);
    cJSON_Delete(object);
    program_expect(1, "orbit", "--map", "circle", "--box", "0:5", "--steps", "99", "--json", NULL);
    object = program_json();
    assert_word(object, "status", "left_box");
    assert_true(number(object, "end") == count(object, "states"));
    cJSON_Delete(object);
    program_expect(1, "orbit", "--map", "layernorm-power", "--param", "n=2", "--x0", "1,1", NULL);
    assert_non_null(strstr(program_out, "status: nan"));
}

static void test_orbit_of_a_plugin(void **state)
{
    (void)state;
    program_expect(0, "orbit", "--plugin", PLUGIN_EXAMPLE, "--param", "d=2.2", "--param", "r=3.4",
                   "--ttr", "2000", "--steps", "0", "--json", NULL);
    cJSON *object = program_json();
    assert_true(fabs(state_of(object, 0, 0) - 1 / 2.2) < 1e-12);
    cJSON_Delete(object);
}

static void test_orbit_of_a_model(void **state)
{
    (void)state;
    program_expect(0, "train", "--family", "nrgpt", "--data", "listops:generate=200", "--width",
                   "8", "--batch", "4", "--window", "16", "--threads", "1", "--eval-batches", "1",
                   "--out", in("run"), "--steps", "3", "--schedule", "constant", "--warmup", "0",
                   "--json", NULL);
    program_expect(0, "orbit", "--model", in("run"), "--prompt", "max_10 ( 2 9 3 ) =", "--steps",
                   "4", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *first = entry(object, "states", 0);
    assert_true(cJSON_GetArraySize(first) % 8 == 0 && cJSON_GetArraySize(first) > 8);
    assert_int_equal(count(object, "energy"), 5);
    cJSON_Delete(object);
    program_expect(0, "orbit-diagram", "--model", in("run"), "--prompt",
                   "max_10 ( 2 9 3 ) =", "--vary", "step_scale", "--from", "0.5", "--to", "1",
                   "--n", "2", "--ttr", "5", "--steps", "3", "--json", NULL);
    object = program_json();
    assert_int_equal(count(object, "columns"), 2);
    cJSON_Delete(object);
}

static void test_orbit_files(void **state)
{
    double states[11 * 2];
    model_hdf5_reader *reader = NULL;
    kern_error err = {0};
    (void)state;
    program_expect(0, "orbit", "--map", "lozi", "--steps", "10", "--csv", in("o.csv"), "--out",
                   in("o.h5"), "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(model_hdf5_reader_create(&reader, in("o.h5"), &err), KERN_OK);
    assert_int_equal(model_hdf5_read_doubles(reader, "states", states, 22, &err), KERN_OK);
    for (int k = 0; k < 22; k++) {
        assert_true(states[k] == state_of(object, k / 2, k % 2));
    }
    model_hdf5_reader_destroy(reader);
    cJSON_Delete(object);
    program_read("o.csv", program_out);
    assert_int_equal(strncmp(program_out, "step,x0,x1\n0,0.1", 16), 0);
    assert_non_null(strstr(program_out, "\n10,"));
    assert_null(strstr(program_out, "\n11,"));
}

/* ---- orbit-diagram ----------------------------------------------------------------------------
 */

static void test_diagram_json(void **state)
{
    static const int periods[] = {1, 2, 4, 8};
    static const char *const at[] = {"2.5", "3.2", "3.5", "3.55"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        program_expect(0, "orbit-diagram", "--map", "logistic", "--vary", "r", "--from", at[i],
                       "--to", "3.9", "--n", "2", "--ttr", "2000", "--steps", "50", "--json", NULL);
        cJSON *object = program_json();
        const cJSON *columns = member(object, "columns");
        const cJSON *first = cJSON_GetArrayItem(columns, 0);
        const cJSON *last = cJSON_GetArrayItem(columns, 1);
        assert_int_equal(cJSON_GetArraySize(columns), 2);
        assert_true(number(first, "parameter") == strtod(at[i], NULL));
        assert_true(number(first, "period") == periods[i]);
        assert_true(number(first, "exponent") < 0);
        assert_int_equal(count(first, "values"), 50);
        assert_true(number(last, "parameter") == 3.9);
        assert_true(cJSON_IsNull(member(last, "period")));
        assert_true(number(last, "exponent") > 0.3);
        assert_word(object, "status", "ok");
        cJSON_Delete(object);
    }
}

static void test_diagram_files(void **state)
{
    double values[4 * 7];
    int64_t period[4];
    model_hdf5_reader *reader = NULL;
    kern_error err = {0};
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        program_expect(0, "orbit-diagram", "--map", "logistic", "--vary", "r", "--from", "2",
                       "--to", "5", "--n", "4", "--steps", "7", "--threads",
                       threads == 1 ? "1" : "3", "--csv", in(threads == 1 ? "1.csv" : "3.csv"),
                       "--out", in("d.h5"), NULL);
        assert_non_null(strstr(program_out, "diverged"));
    }
    assert_true(same_files(in("1.csv"), in("3.csv")));
    assert_int_equal(model_hdf5_reader_create(&reader, in("d.h5"), &err), KERN_OK);
    assert_int_equal(model_hdf5_read_doubles(reader, "values", values, 28, &err), KERN_OK);
    assert_int_equal(model_hdf5_read_int64s(reader, "period", period, 4, &err), KERN_OK);
    assert_true(fabs(values[6] - 0.5) < 1e-12 && isnan(values[27]));
    assert_true(period[0] == 1 && period[3] == 0);
    model_hdf5_reader_destroy(reader);
    program_read("1.csv", program_out);
    assert_int_equal(strncmp(program_out, "parameter,value,period,exponent,status\n2,0.5,1,", 47),
                     0);
    assert_non_null(strstr(program_out, "\n5,nan,0,nan,diverged\n"));
}

static void test_a_diagram_without_orbits(void **state)
{
    (void)state;
    program_expect(1, "orbit-diagram", "--map", "logistic", "--vary", "r", "--from", "5", "--to",
                   "6", "--n", "3", "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "status", "diverged");
    cJSON_Delete(object);
}

/* ---- Refusals ---------------------------------------------------------------------------------
 */

static void refuse(const char *a, const char *b, const char *c, const char *d, const char *part)
{
    program_expect(2, "orbit", a, b, c, d, NULL);
    program_complained(part);
}

static void test_refusals(void **state)
{
    (void)state;
    program_expect(2, "orbit", NULL);
    program_complained("accepted is one of --map NAME, --plugin FILE and --model RUN");
    refuse("--map", "henon", "--plugin", "x.so", "2 of --map, --plugin and --model");
    refuse("--map", "henon", "--prompt", "x", "--prompt is given without --model");
    refuse("--model", "run", "--steps", "3", "--model is given without --prompt");
    refuse("--map", "henn", "--steps", "3", "accepted are logistic");
    refuse("--map", "henon", "--param", "c=1", "accepted: a, b");
    refuse("--map", "henon", "--param", "a", "accepted is name=value");
    refuse("--map", "henon", "--x0", "1,2,3", "--x0 has 3 numbers; map henon accepts 2");
    refuse("--map", "henon", "--x0", "1,two", "--x0: ");
    refuse("--map", "henon", "--steps", "-1", "--steps is \"-1\"");
    refuse("--plugin", "absent.so", "--steps", "1", "./absent.so cannot be read");
    static const char *const boxes[] = {"1", "1:", "1:2,3", "2:1", "1:2,3:4,5:6", "1,2:3", "a:b"};
    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
        refuse("--map", "henon", "--box", boxes[i], "accepted are pairs lo:hi");
    }
    refuse("--map", "henon", "--csv", "/nowhere/o.csv", "/nowhere");
    program_expect(2, "orbit-diagram", "--map", "henon", "--from", "1", "--to", "2", NULL);
    program_complained("--vary is missing");
    program_expect(2, "orbit-diagram", "--map", "henon", "--vary", "c", "--from", "1", "--to", "2",
                   NULL);
    program_complained("accepted: a, b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orbit_json),        cmocka_unit_test(test_orbits_that_end),
        cmocka_unit_test(test_orbit_of_a_plugin), cmocka_unit_test(test_orbit_of_a_model),
        cmocka_unit_test(test_orbit_files),       cmocka_unit_test(test_diagram_json),
        cmocka_unit_test(test_diagram_files),     cmocka_unit_test(test_a_diagram_without_orbits),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
