/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand fixed-points with the built program: methods, deflation, seeds, threads, a plugin,
 * and searches that find nothing. PLUGIN_HOPFIELD is the path of a plugin.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

/* The same four fixed points by every method that finds repelling ones. */
static void test_methods(void **state)
{
    static const char *const methods[] = {"auto", "newton", "newton-krylov"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        program_expect(0, "fixed-points", "--map", "kopel", "--param", "mu=3.5", "--box", "0:1",
                       "--starts", "60", "--method", methods[i], "--json", NULL);
        cJSON *object = program_json();
        assert_int_equal(count(object, "points"), 4);
        assert_near(number_at(entry(object, "points", 1), "x", 1), 6.0 / 7.0, 1e-13);
        assert_word(entry(object, "points", 1), "returns", "ok");
        assert_word(object, "method", i == 2 ? "newton-krylov" : "newton");
        assert_word(object, "seeds", "uniform");
        assert_int_equal(count(object, "slow_points"), 0);
        cJSON_Delete(object);
    }
    program_expect(0, "fixed-points", "--map", "logistic", "--param", "r=3.2", "--method",
                   "anderson", "--period", "2", "--prime", "--box", "0:1", "--json", NULL);
    cJSON *object = program_json();
    assert_near(number_at(entry(object, "points", 0), "x", 0), (4.2 - sqrt(0.84)) / 6.4, 1e-10);
    cJSON_Delete(object);
}

/* More coordinates than a dense system may have: the leading multipliers are reported, and said
 * not to be all. All coordinates alike is a fixed point; of the perturbations the uniform one has
 * the multiplier 2 − r = −0.9, and those of the ring (2 − r)(1 − ε(1 − cos)) are nearer to 0. */
static void test_large_map(void **state)
{
    (void)state;
    program_expect(0, "fixed-points", "--map", "coupled-logistic", "--param", "n=1000", "--param",
                   "r=2.9", "--param", "eps=0.4", "--box", "0.6:0.7", "--starts", "1", "--json",
                   NULL);
    cJSON *object = program_json();
    const cJSON *point = entry(object, "points", 0);
    assert_word(object, "method", "newton-krylov");
    assert_near(number_at(point, "x", 500), 1.0 - 1.0 / 2.9, 1e-13);
    assert_true(cJSON_IsFalse(member(point, "multipliers_complete")));
    assert_true(cJSON_IsTrue(member(point, "stable")));
    assert_near(number(point, "spectral_radius"), 0.9, 1e-8);
    cJSON_Delete(object);
}

static void test_deflation(void **state)
{
    (void)state;
    program_expect(0, "fixed-points", "--map", "double-well", "--param", "eta=0.5", "--box", "-2:2",
                   "--starts", "1", "--deflate", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "points"), 3);
    assert_true(cJSON_IsTrue(member(object, "deflate")));
    assert_true(number(object, "n_converged") == 1);
    cJSON_Delete(object);
    program_expect(2, "fixed-points", "--map", "henon", "--deflate", "--method", "anderson", NULL);
    program_complained("method anderson cannot deflate");
}

static void test_seeds(void **state)
{
    (void)state;
    program_expect(0, "fixed-points", "--map", "henon", "--seeds", "sobol", "--starts", "30", NULL);
    assert_non_null(strstr(program_out, "converged to 2 cycles"));
    program_expect(1, "fixed-points", "--map", "henon2", "--param", "alpha=-1.02", "--param",
                   "beta=1", "--seeds", "kinetic", "--starts", "10", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *slow = entry(object, "slow_points", 0);
    assert_word(object, "status", "not_converged");
    assert_int_equal(count(object, "points"), 0);
    assert_near(number(slow, "q"), 1e-4, 1e-9);
    assert_near(number_at(slow, "x", 0), -1.01, 1e-4);
    assert_true(strcmp(cJSON_GetStringValue(member(slow, "refusal")), "ok") != 0);
    cJSON_Delete(object);
    program_expect(1, "fixed-points", "--map", "henon2", "--param", "alpha=-1.02", "--param",
                   "beta=1", "--seeds", "kinetic", "--starts", "10", NULL);
    assert_non_null(strstr(program_out, "slow points, which are no solutions"));
}

static void test_threads(void **state)
{
    static char first[PROGRAM_TEXT];
    (void)state;
    program_expect(0, "fixed-points", "--map", "henon", "--period", "7", "--threads", "1", "--json",
                   NULL);
    memcpy(first, program_out, sizeof first);
    program_expect(0, "fixed-points", "--map", "henon", "--period", "7", "--threads", "3", "--json",
                   NULL);
    assert_string_equal(first, program_out);
}

/* Units updated together go around; that is a cycle and no fixed point. */
static void test_synchronous_hopfield(void **state)
{
    (void)state;
    program_expect(0, "fixed-points", "--plugin", PLUGIN_HOPFIELD, "--period", "2", "--prime",
                   "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "points"), 1);
    const cJSON *point = entry(object, "points", 0);
    assert_true(number(point, "period") == 2);
    assert_true(number_at(point, "x", 0) == -1 && number_at(point, "x", 1) == -1);
    assert_true(number_at(point, "image", 0) == 1);
    cJSON_Delete(object);
    program_expect(1, "fixed-points", "--plugin", PLUGIN_HOPFIELD, "--period", "1", "--starts", "0",
                   "--x0", "1,1", "--max-iterations", "1", "--method", "anderson", NULL);
    assert_non_null(strstr(program_out, "0 of 1 starts converged to 0 cycles"));
}

/* A period that does not exist, a map without any, and words that are none. */
static void test_nothing(void **state)
{
    (void)state;
    program_expect(1, "fixed-points", "--map", "henon", "--period", "5", "--prime", "--deflate",
                   "--starts", "20", "--json", NULL);
    cJSON *object = program_json();
    assert_true(number(object, "n_converged") == 0);
    assert_word(object, "status", "not_converged");
    cJSON_Delete(object);
    program_expect(1, "fixed-points", "--map", "circle", "--param", "omega=0.4", "--param", "k=0.1",
                   NULL);
    assert_non_null(strstr(program_out, "0 of 200 starts"));
    program_expect(2, "fixed-points", "--map", "henon", "--method", "secant", NULL);
    program_complained("accepted are auto, newton, newton-krylov and anderson");
    program_expect(2, "fixed-points", "--map", "henon", "--seeds", "halton", NULL);
    program_complained("accepted are uniform, sobol and kinetic");
    program_expect(2, "fixed-points", "--map", "henon", "--method", "newton", "--period", "301",
                   NULL);
    program_complained("the product at most 600");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),   cmocka_unit_test(test_large_map),
        cmocka_unit_test(test_deflation), cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_synchronous_hopfield),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
