/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommands lyapunov, multipliers and fixed-points with the built program.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

/* ---- lyapunov ----------------------------------------------------------------------------- */

static void test_lyapunov_json(void **state)
{
    (void)state;
    program_expect(0, "lyapunov", "--map", "henon", "--steps", "20000", "--window", "100",
                   "--series", "--json", NULL);
    cJSON *object = program_json();
    const double first = number_at(object, "exponents", 0);
    const double second = number_at(object, "exponents", 1);
    assert_near(first, 0.4192, 0.03);
    assert_near(first + second, log(0.3), 1e-9);
    assert_near(number(object, "mean_log_abs_det"), log(0.3), 1e-9);
    assert_near(number(object, "kaplan_yorke"), 1.0 + first / -second, 1e-12);
    assert_true(number_at(object, "stderr", 0) > 1e-4);
    assert_true(number(object, "steps") == 20000 && number(object, "ttr") == 1000);
    assert_true(number(object, "frame_ttr") == 200 && number(object, "window") == 100);
    assert_int_equal(count(object, "series"), 200);
    assert_word(object, "status", "ok");
    cJSON_Delete(object);
    program_expect(1, "lyapunov", "--map", "tent", "--param", "mu=2", "--steps", "50", NULL);
    assert_non_null(strstr(program_out, "status: collapsed"));
}

/* A lost orbit is told with its status, without numbers, and with exit status 1. */
static void test_lyapunov_lost(void **state)
{
    (void)state;
    program_expect(1, "lyapunov", "--map", "logistic", "--x0", "-1", "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "status", "diverged");
    assert_true(cJSON_IsNull(entry(object, "exponents", 0)));
    assert_true(cJSON_IsNull(member(object, "kaplan_yorke")));
    assert_true(number(object, "end") > 0);
    cJSON_Delete(object);
    program_expect(1, "lyapunov", "--map", "logistic", "--x0", "-1", NULL);
    assert_non_null(strstr(program_out, "status: diverged"));
    program_expect(2, "lyapunov", "--map", "henon", "--k", "3", NULL);
    assert_non_null(strstr(program_err, "3 exponents were asked for, accepted is 1 to 2"));
    program_expect(2, "lyapunov", "--map", "henon", "--block", "1", NULL);
    assert_non_null(strstr(program_err, "block 1 is not one of the map's 1"));
}

/* ---- multipliers -------------------------------------------------------------------------- */

static void test_multipliers_json(void **state)
{
    (void)state;
    program_expect(0, "multipliers", "--map", "henon", "--at", "0.6,0.2", "--solve", "--vectors",
                   "--json", NULL);
    cJSON *object = program_json();
    const cJSON *block = entry(object, "blocks", 0);
    assert_near(number(entry(block, "values", 0), "re"), -1.923738858153, 1e-11);
    assert_near(number(entry(block, "values", 1), "re"), 0.155946322303, 1e-11);
    assert_true(number(entry(block, "values", 0), "im") == 0.0);
    assert_true(number_at(block, "residuals", 0) < 1e-14);
    assert_int_equal(cJSON_GetArraySize(entry(block, "vectors", 1)), 2);
    assert_near(number(block, "spectral_radius"), 1.923738858153, 1e-11);
    assert_true(number(block, "token") == 0 && number(block, "transient_growth") > 1.9);
    assert_near(number_at(object, "x", 0), 0.631354477089505, 1e-12);
    assert_true(number(object, "residual") < 1e-14 && cJSON_IsFalse(member(object, "stable")));
    cJSON_Delete(object);
    /* Pairs are conjugate, and so are their vectors. */
    program_expect(0, "multipliers", "--map", "delayed-logistic", "--param", "r=2", "--at",
                   "0.5,0.5", "--vectors", "--json", NULL);
    object = program_json();
    block = entry(object, "blocks", 0);
    assert_near(number(entry(block, "values", 0), "im"), 0.866025403784439, 1e-12);
    const cJSON *up = cJSON_GetArrayItem(entry(block, "vectors", 0), 1);
    const cJSON *down = cJSON_GetArrayItem(entry(block, "vectors", 1), 1);
    const cJSON *up_first = cJSON_GetArrayItem(entry(block, "vectors", 0), 0);
    /* The second row of the Jacobian is (1, 0), so μ v₁ = v₀. */
    assert_near(0.5 * number(up, "re") - 0.866025403784439 * number(up, "im"),
                number(up_first, "re"), 1e-12);
    assert_near(number(up, "im"), -number(down, "im"), 0.0);
    assert_near(number(up, "re"), number(down, "re"), 0.0);
    cJSON_Delete(object);
}

static void test_multipliers_outcomes(void **state)
{
    (void)state;
    program_expect(0, "multipliers", "--map", "henon", "--x0", "0.1,0.2", "--period", "3", NULL);
    assert_non_null(strstr(program_out, "period 3, residual"));
    program_expect(1, "multipliers", "--map", "circle", "--param", "omega=0.4", "--param", "k=0.1",
                   "--solve", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "blocks"), 0);
    assert_true(strcmp(cJSON_GetStringValue(member(object, "status")), "ok") != 0);
    cJSON_Delete(object);
    program_expect(2, "multipliers", "--map", "henon", "--at", "1", NULL);
    assert_non_null(strstr(program_err, "--at has 1 numbers; map henon accepts 2"));
    program_expect(2, "multipliers", "--map", "henon", "--at", "1,x", NULL);
    assert_non_null(strstr(program_err, "--at: "));
    program_expect(1, "multipliers", "--map", "henon", "--period", "400", "--solve", NULL);
    assert_non_null(strstr(program_out, "status: "));
}

/* ---- fixed-points ------------------------------------------------------------------------- */

static void test_points_json(void **state)
{
    (void)state;
    program_expect(0, "fixed-points", "--map", "logistic", "--param", "r=3.2", "--period", "2",
                   "--box", "0:1", "--starts", "40", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *cycle = entry(object, "points", 2);
    assert_int_equal(count(object, "points"), 3);
    assert_true(number(entry(object, "points", 0), "period") == 1);
    assert_true(number(cycle, "period") == 2 && cJSON_IsTrue(member(cycle, "stable")));
    assert_near(number(entry(cycle, "multipliers", 0), "re"), 0.16, 1e-9);
    assert_near(number_at(cycle, "x", 0), (4.2 - sqrt(0.84)) / 6.4, 1e-12);
    assert_near(number_at(cycle, "image", 0), (4.2 + sqrt(0.84)) / 6.4, 1e-12);
    assert_int_equal(count(cycle, "cycle"), 2);
    assert_true(number(cycle, "residual") < 1e-14);
    assert_true(number(object, "n_requested") == 40 && number(object, "n_converged") == 40);
    assert_word(object, "status", "ok");
    cJSON_Delete(object);
    program_expect(0, "fixed-points", "--map", "cat", "--period", "2", NULL);
    assert_non_null(strstr(program_out, "converged to 3 cycles"));
}

/* A period that does not exist is a result, with exit status 1. */
static void test_points_nothing(void **state)
{
    (void)state;
    program_expect(1, "fixed-points", "--map", "henon", "--period", "3", "--prime", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "points"), 0);
    assert_true(number(object, "n_converged") == 0 && number(object, "n_requested") == 200);
    assert_true(number(member(object, "failures"), "not_found") > 0);
    assert_word(object, "status", "not_converged");
    cJSON_Delete(object);
    program_expect(1, "fixed-points", "--map", "henon", "--period", "3", "--prime", NULL);
    assert_non_null(strstr(program_out, "to shorter cycles"));
    program_expect(2, "fixed-points", "--map", "henon", "--box", "1:0", NULL);
    assert_non_null(strstr(program_err, "--box"));
    program_expect(2, "fixed-points", "--map", "henon", "--starts", "0", NULL);
    assert_non_null(strstr(program_err, "at least one start"));
    program_expect(0, "fixed-points", "--map", "henon", "--starts", "0", "--x0", "0.6,0.2", NULL);
    assert_non_null(strstr(program_out, "1 of 1 starts converged to 1 cycle"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lyapunov_json),    cmocka_unit_test(test_lyapunov_lost),
        cmocka_unit_test(test_multipliers_json), cmocka_unit_test(test_multipliers_outcomes),
        cmocka_unit_test(test_points_json),      cmocka_unit_test(test_points_nothing),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
