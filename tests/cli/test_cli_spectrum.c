/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin multipliers --k with the built program: leading multipliers of a wide ring, and what is
 * refused.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

#define PI 3.14159265358979323846

/* Values of the first block are (2 − r)(1 − ε(1 − cos 2πj/n)) for the modes j listed. */
static void assert_ring(const cJSON *object, double r, double eps, double n, const int *modes,
                        int n_modes)
{
    const cJSON *block = entry(object, "blocks", 0);
    assert_int_equal(count(block, "values"), n_modes);
    assert_true(number(block, "n_converged") == n_modes && number(block, "n_confirmed") == n_modes);
    for (int j = 0; j < n_modes; j++) {
        const double coupling = 1.0 - eps * (1.0 - cos(2.0 * PI * modes[j] / n));
        assert_near(number(entry(block, "values", j), "re"), (2.0 - r) * coupling, 1e-10);
        assert_true(number(entry(block, "values", j), "im") == 0.0);
        assert_true(number_at(block, "residuals", j) < 1e-11);
        assert_true(cJSON_IsTrue(entry(block, "confirmed", j)));
    }
}

/* The fixed point 1 − 1/r = 0.6 of r = 2.5 as text, n times. */
static const char *synchronised(size_t n)
{
    static char text[TEST_PATH];
    assert_true(4 * n < sizeof text);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + 4 * i, "0.6,", 4);
    }
    text[4 * n - 1] = '\0';
    return text;
}

/* Both methods, at the end near −1, where multipliers come in pairs. */
static void test_ring(void **state)
{
    static const char *const methods[2] = {"dense", "arnoldi"};
    static const int modes[5] = {0, 1, 1, 2, 2};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        program_expect(0, "multipliers", "--map", "coupled-logistic", "--param", "r=2.5", "--param",
                       "eps=0.4", "--param", "n=40", "--at", synchronised(40), "--k", "5",
                       "--which", "near-minus-one", "--method", methods[i], "--json", NULL);
        cJSON *object = program_json();
        assert_ring(object, 2.5, 0.4, 40.0, modes, 5);
        const cJSON *block = entry(object, "blocks", 0);
        assert_string_equal(cJSON_GetStringValue(member(block, "method")), methods[i]);
        assert_true(number(block, "products") > 0 && number(object, "k") == 5);
        assert_string_equal(cJSON_GetStringValue(member(object, "which")), "near-minus-one");
        assert_string_equal(cJSON_GetStringValue(member(object, "status")), "ok");
        /* One end decides nothing while all of it is inside the circle. */
        assert_true(cJSON_IsNull(member(object, "stable")));
        assert_true(cJSON_IsNull(member(object, "spectral_radius")));
        assert_true(cJSON_IsNull(member(block, "transient_growth")));
        cJSON_Delete(object);
    }
    program_expect(0, "multipliers", "--map", "coupled-logistic", "--param", "r=2.5", "--param",
                   "eps=0.4", "--param", "n=40", "--at", synchronised(40), "--k", "1", "--vectors",
                   "--json", NULL);
    cJSON *object = program_json();
    assert_near(number(object, "spectral_radius"), 0.5, 1e-11);
    assert_true(cJSON_IsTrue(member(object, "stable")));
    assert_int_equal(cJSON_GetArraySize(entry(entry(object, "blocks", 0), "vectors", 0)), 40);
    cJSON_Delete(object);
}

static void test_text(void **state)
{
    (void)state;
    program_expect(0, "multipliers", "--map", "coupled-logistic", "--param", "n=30", "--param",
                   "r=2.5", "--at", synchronised(30), "--k", "3", "--method", "arnoldi", NULL);
    assert_non_null(strstr(program_out, "confirmed"));
    assert_non_null(strstr(program_out, "modulus of blocks, by arnoldi"));
    assert_non_null(strstr(program_out, "stable"));
    program_expect(0, "multipliers", "--map", "henon", "--at", "0.6,0.2", "--solve", "--k", "1",
                   "--which", "near-plus-one", NULL);
    assert_non_null(strstr(program_out, "no verdict on stability"));
    program_expect(0, "multipliers", "--map", "henon", "--at", "0.6,0.2", "--solve", "--k", "2",
                   "--which", "both-ends", NULL);
    assert_non_null(strstr(program_out, "not stable"));
    program_expect(1, "multipliers", "--map", "logistic", "--at", "1e308", "--k", "1", NULL);
    assert_non_null(strstr(program_out, "0 of 1, 0 confirmed: nan"));
}

static void test_refused(void **state)
{
    (void)state;
    program_expect(2, "multipliers", "--map", "henon", "--k", "3", NULL);
    program_complained("--k is 3, but a block of map henon has 2 multipliers; accepted is 1 to 2");
    program_expect(2, "multipliers", "--map", "henon", "--k", "0", NULL);
    program_complained("--k is \"0\"");
    program_expect(2, "multipliers", "--map", "henon", "--which", "modulus", NULL);
    program_complained("--which is given without --k");
    program_expect(2, "multipliers", "--map", "henon", "--k", "1", "--which", "near", NULL);
    program_complained("--which is \"near\"; accepted are modulus, near-plus-one");
    program_expect(2, "multipliers", "--map", "henon", "--method", "arnoldi", NULL);
    program_complained("--method is \"arnoldi\", which needs --k");
    program_expect(2, "multipliers", "--map", "henon", "--k", "1", "--method", "arnoldi", NULL);
    program_complained("the Arnoldi method accepts all but two at most");
    program_expect(2, "multipliers", "--map", "henon", "--k", "1", "--method", "dense", "--scope",
                   "whole", NULL);
    program_complained("scope whole accepts arnoldi");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
