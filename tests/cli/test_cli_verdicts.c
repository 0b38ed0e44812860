/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the built program says where rounding would decide: at bifurcations, on neutral directions,
 * on cycles, and where an orbit has collapsed.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

/* A flip is neither stable nor unstable, and no 2-cycle. */
static void test_marginal(void **state)
{
    (void)state;
    program_expect(1, "fixed-points", "--map", "logistic", "--param", "r=3", "--period", "2",
                   "--box", "0:1", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "points"), 2);
    const cJSON *origin = entry(object, "points", 0);
    const cJSON *flip = entry(object, "points", 1);
    assert_word(origin, "stability", "unstable");
    assert_true(cJSON_IsFalse(member(origin, "stable")));
    assert_word(flip, "stability", "marginal");
    assert_true(cJSON_IsNull(member(flip, "stable")));
    assert_true(number(flip, "period") == 1 && number(flip, "position_error") < 1e-14);
    assert_true(number(flip, "multiplier_error") > 0 && number(flip, "multiplier_error") < 1e-12);
    cJSON_Delete(object);
    program_expect(0, "fixed-points", "--map", "logistic", "--param", "r=3", "--box", "0:1", NULL);
    assert_non_null(strstr(program_out, "marginal"));
}

/* An orbit on a repelling fixed point is no result. */
static void test_collapsed(void **state)
{
    (void)state;
    program_expect(1, "lyapunov", "--map", "tent", "--param", "mu=2", "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "status", "collapsed");
    assert_true(cJSON_IsTrue(member(object, "collapsed")));
    cJSON_Delete(object);
    program_expect(1, "lyapunov", "--map", "tent", "--vary", "mu", "--from", "2", "--to", "2",
                   "--n", "1", "--json", NULL);
    object = program_json();
    assert_word(object, "status", "collapsed");
    assert_word(entry(object, "points", 0), "status", "collapsed");
    cJSON_Delete(object);
    program_expect(1, "chaos", "--test", "zero-one", "--map", "tent", "--param", "mu=2", "--json",
                   NULL);
    object = program_json();
    assert_word(object, "status", "collapsed");
    assert_word(object, "verdict", "undecided");
    assert_true(cJSON_IsTrue(member(object, "collapsed")));
    cJSON_Delete(object);
    program_expect(0, "chaos", "--test", "zero-one", "--map", "logistic", "--param", "r=3.2",
                   "--json", NULL);
    object = program_json();
    assert_word(object, "verdict", "regular");
    assert_true(cJSON_IsFalse(member(object, "collapsed")));
    cJSON_Delete(object);
}

/* The dimension of an invariant circle. */
static void test_neutral(void **state)
{
    (void)state;
    program_expect(0, "lyapunov", "--map", "delayed-logistic", "--param", "r=2.1", "--json", NULL);
    cJSON *object = program_json();
    assert_true(number(object, "kaplan_yorke") == 1 && number(object, "neutral") == 1);
    assert_true(number(object, "kaplan_yorke_low") == 0);
    assert_true(number(object, "kaplan_yorke_high") > 1);
    cJSON_Delete(object);
    program_expect(0, "lyapunov", "--map", "delayed-logistic", "--param", "r=2.1", NULL);
    assert_non_null(strstr(program_out, "0 within the error"));
}

/* On a cycle a recurrence rate has no threshold of its own. */
static void test_rate_on_a_cycle(void **state)
{
    (void)state;
    program_expect(0, "rqa", "--map", "logistic", "--param", "r=3.83", "--steps", "300", "--rate",
                   "0.05", "--ttr", "5000", "--json", NULL);
    cJSON *object = program_json();
    assert_true(cJSON_IsTrue(member(object, "threshold_at_rounding")));
    assert_near(number(object, "rr"), 1.0 / 3, 0.01);
    assert_near(number(object, "det"), 1, 1e-3);
    cJSON_Delete(object);
    program_expect(0, "rqa", "--map", "logistic", "--param", "r=3.83", "--steps", "300", NULL);
    assert_non_null(strstr(program_out, "--threshold sets another"));
    program_expect(0, "rqa", "--map", "logistic", "--param", "r=3.9", "--steps", "300", "--json",
                   NULL);
    object = program_json();
    assert_true(cJSON_IsFalse(member(object, "threshold_at_rounding")));
    cJSON_Delete(object);
}

/* Too few points for an exponent: the sentence says what to give. */
static void test_uncertainty_without_points(void **state)
{
    (void)state;
    program_expect(0, "basins", "--map", "double-well", "--param", "eta=0.5", "--box", "-1.5:1.5",
                   "--grid", "20", "--uncertainty", "--points", "100", NULL);
    assert_non_null(strstr(program_out, "uncertainty exponent not found"));
    assert_non_null(strstr(program_out, "--points"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marginal),
        cmocka_unit_test(test_collapsed),
        cmocka_unit_test(test_neutral),
        cmocka_unit_test(test_rate_on_a_cycle),
        cmocka_unit_test(test_uncertainty_without_points),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
