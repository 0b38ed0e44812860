/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Charts, one token alone, relative equilibria, their continuation and settle times with the built
 * program.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

#define SCALAR TEST_VECTORS "/eta-scalar.safetensors"
#define STRICT TEST_VECTORS "/single-token-strict.safetensors"

/* ---- multipliers -------------------------------------------------------------------------- */

/* The last two multipliers are gauge; the others follow from the eigenvalues, since all are (σ +
 * ηλ_j)/(σ + ηλ_1), so that doubling η at twice the scale changes nothing. */
static void test_power(void **state)
{
    (void)state;
    cJSON *object[2];
    for (int k = 0; k < 2; k++) {
        program_expect(0, "multipliers", "--map", "layernorm-power", "--param",
                       k == 0 ? "eta=0.1" : "eta=0.2", "--param", "rate=1.5", "--sigma",
                       k == 0 ? "2" : "4", "--solve", "--json", NULL);
        object[k] = program_json();
    }
    const cJSON *block = entry(object[0], "blocks", 0);
    assert_word(object[0], "status", "ok");
    assert_word(object[0], "pinned_at", "number");
    assert_near(number_at(object[0], "sigma", 0), 2.0, 0.0);
    assert_near(number(block, "gauge"), 2.0, 0.0);
    assert_near(number(entry(block, "values", 15), "re"), 0.0, 1e-14);
    assert_near(number(entry(block, "values", 14), "re"), 0.0, 1e-14);
    assert_true(cJSON_IsNull(member(block, "ns_rate")) && cJSON_IsNull(member(block, "kappa")));
    for (int j = 0; j < 14; j++) {
        const cJSON *other = entry(entry(object[1], "blocks", 0), "values", j);
        assert_near(number(entry(block, "values", j), "re"), number(other, "re"), 1e-11);
    }
    cJSON_Delete(object[0]);
    cJSON_Delete(object[1]);
}

/* η = c·I: real multipliers, κ = −growth/c, every token solved. */
static void test_model(void **state)
{
    (void)state;
    program_expect(0, "multipliers", "--model", SCALAR, "--prompt", "1 2 3", "--solve", "--json",
                   NULL);
    cJSON *object = program_json();
    assert_word(object, "pinned_at", "trained");
    assert_true(number(object, "residual") <= 1e-11);
    assert_int_equal(count(object, "blocks"), 3);
    for (int a = 0; a < 3; a++) {
        const cJSON *block = entry(object, "blocks", a);
        assert_word(member(block, "solve"), "status", "ok");
        assert_true(cJSON_IsFalse(member(member(block, "solve"), "conditional")));
        assert_true(number(block, "complex") == 0);
        assert_true(number(block, "kappa") * number(block, "radial") < 0.0);
        assert_near(number(block, "sigma"), number_at(object, "sigma", a), 0.0);
    }
    cJSON_Delete(object);
    program_expect(0, "multipliers", "--model", SCALAR, "--prompt", "1 2 3", "--solve", NULL);
    assert_non_null(strstr(program_out, "scales pinned at: trained"));
    assert_null(strstr(program_out, "certified"));
    program_expect(0, "multipliers", "--model", STRICT, "--prompt", "1 2 3", "--solve", NULL);
    assert_non_null(strstr(program_out, "outside the certified family"));
}

/* Token 0 of this model moves on a circle around its relative equilibrium, which the mean of its
 * states leads to; it is a solution and not stable. */
static void test_circle(void **state)
{
    (void)state;
    program_expect(0, "multipliers", "--model", TEST_VECTORS "/gamma-trained-ff2w.safetensors",
                   "--prompt", "1 2 3", "--solve", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *block = entry(object, "blocks", 0);
    assert_word(member(block, "solve"), "status", "ok");
    assert_word(member(block, "solve"), "start", "mean");
    assert_near(number(block, "complex"), 2.0, 0.0);
    assert_true(number(block, "spectral_radius") > 1.0 && number(block, "lost_rate") < 1.0);
    assert_true(cJSON_IsFalse(member(object, "stable")));
    assert_word(member(entry(object, "blocks", 1), "solve"), "start", "settled");
    cJSON_Delete(object);
}

/* A token that is not solved for is told, with exit status 1; without steps to settle none is. */
static void test_not_solved(void **state)
{
    (void)state;
    program_expect(1, "multipliers", "--model", SCALAR, "--prompt", "1 2 3", "--solve", "--ttr",
                   "0", "--tol", "1e-17", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *block = entry(object, "blocks", 0);
    assert_string_not_equal(cJSON_GetStringValue(member(object, "status")), "ok");
    assert_true(cJSON_IsNull(member(block, "lost_rate")));
    assert_true(cJSON_IsTrue(member(member(entry(object, "blocks", 2), "solve"), "conditional")));
    cJSON_Delete(object);
}

/* ---- One token, and charts elsewhere ------------------------------------------------------ */

/* The chart's orbit has directions: their square is the width. A token's energy falls. */
static void test_orbit(void **state)
{
    (void)state;
    program_expect(0, "orbit", "--model", SCALAR, "--prompt", "1 2 3", "--token", "2", "--sigma",
                   "start", "--steps", "20", "--json", NULL);
    cJSON *object = program_json();
    const int width = cJSON_GetArraySize(entry(object, "states", 0));
    for (int k = 1; k < 20; k++) {
        assert_true(number_at(object, "energy", k) <= number_at(object, "energy", k - 1) + 1e-11);
    }
    cJSON_Delete(object);
    program_expect(0, "orbit", "--model", SCALAR, "--prompt", "1 2 3", "--token", "2", "--chart",
                   "--steps", "5", "--json", NULL);
    object = program_json();
    const cJSON *last = entry(object, "states", 5);
    double square = 0.0;
    for (int i = 0; i < width; i++) {
        square += pow(cJSON_GetArrayItem(last, i)->valuedouble, 2.0);
    }
    assert_int_equal(cJSON_GetArraySize(last), width);
    assert_near(square, width, 1e-12);
    assert_int_equal(count(object, "sigma"), 1);
    cJSON_Delete(object);
}

/* From the prompt, the last token moves by itself as it does in the whole, at any step size. */
static void test_token_steps_as_in_the_whole(void **state)
{
    static const char *const sizes[] = {"step_scale=1", "step_scale=0.5"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        program_expect(0, "orbit", "--model", SCALAR, "--prompt", "1 2 3", "--param", sizes[i],
                       "--steps", "1", "--json", NULL);
        cJSON *whole = program_json();
        program_expect(0, "orbit", "--model", SCALAR, "--prompt", "1 2 3", "--param", sizes[i],
                       "--token", "2", "--sigma", "start", "--steps", "1", "--json", NULL);
        cJSON *own = program_json();
        const cJSON *all = entry(whole, "states", 1);
        const cJSON *last = entry(own, "states", 1);
        const int width = cJSON_GetArraySize(last);
        assert_int_equal(cJSON_GetArraySize(all), 3 * width);
        for (int k = 0; k < width; k++) {
            assert_near(cJSON_GetArrayItem(last, k)->valuedouble,
                        cJSON_GetArrayItem(all, 2 * width + k)->valuedouble, 1e-13);
        }
        cJSON_Delete(own);
        cJSON_Delete(whole);
    }
}

static void test_settle(void **state)
{
    (void)state;
    program_expect(0, "orbit", "--model", SCALAR, "--prompt", "1 2 3", "--chart", "--steps", "300",
                   "--settle", "1e-6", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *settle = member(object, "settle");
    assert_near(number(settle, "n_settled"), 3.0, 0.0);
    assert_near(number(settle, "horizon"), 300.0, 0.0);
    const cJSON *tokens = member(settle, "tokens");
    for (int a = 0; a < 3; a++) {
        const cJSON *token = cJSON_GetArrayItem(tokens, a);
        assert_word(token, "status", "ok");
        assert_true(number(token, "time") > 1.0);
        assert_true(cJSON_IsNull(member(token, "delay")) == (a == 0));
    }
    cJSON_Delete(object);
    program_expect(0, "orbit", "--map", "logistic", "--param", "r=4", "--settle", "1e-3", NULL);
    assert_non_null(strstr(program_out, "not_settled"));
}

/* ---- continue ----------------------------------------------------------------------------- */

/* The events along the rate are the margins of the multipliers. */
static void test_continue(void **state)
{
    (void)state;
    program_expect(0, "multipliers", "--model", STRICT, "--prompt", "1 2 3", "--solve", "--json",
                   NULL);
    cJSON *margins = program_json();
    program_expect(0, "continue", "--model", STRICT, "--prompt", "1 2 3", "--vary", "rate",
                   "--from", "0.5", "--to", "5", "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "status", "ok");
    assert_word(object, "vary", "rate");
    for (int a = 0; a < 3; a++) {
        assert_near(number(entry(object, "tokens", a), "lost"),
                    number(entry(margins, "blocks", a), "lost_rate"), 1e-8);
    }
    const cJSON *event;
    double last = 0.0;
    cJSON_ArrayForEach(event, member(object, "events"))
    {
        const cJSON *m = member(event, "multiplier");
        assert_near(hypot(number(m, "re"), number(m, "im")), 1.0, 1e-7);
        assert_true(number(event, "parameter") >= last && number(event, "width") <= 1e-8);
        last = number(event, "parameter");
    }
    assert_word(entry(object, "events", 0), "type", "NS");
    assert_true(cJSON_IsFalse(member(entry(object, "points", 51), "stable")));
    cJSON_Delete(object);
    cJSON_Delete(margins);
}

/* ---- Refusals ----------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    (void)state;
    program_expect(2, "orbit", "--map", "henon", "--chart", NULL);
    program_complained("map henon has no norm");
    program_expect(2, "orbit", "--map", "layernorm-power", "--chart", "--sigma", "trained", NULL);
    program_complained("--sigma is trained");
    program_expect(2, "orbit", "--map", "layernorm-power", "--chart", "--sigma", "-1", NULL);
    program_complained("--sigma is \"-1\"");
    program_expect(2, "orbit", "--map", "layernorm-power", "--sigma", "1", NULL);
    program_complained("--sigma is given without --chart or --token");
    program_expect(2, "orbit", "--model", SCALAR, "--prompt", "1 2 3", "--token", "3", NULL);
    program_complained("--token is \"3\"; accepted are 0 to 2");
    program_expect(2, "orbit", "--map", "layernorm-power", "--param", "rate=2", NULL);
    program_complained("rate");
    program_expect(2, "continue", "--model", SCALAR, "--prompt", "1 2", "--vary", "pace", "--from",
                   "1", "--to", "2", NULL);
    program_complained("no parameter \"pace\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power),    cmocka_unit_test(test_model),
        cmocka_unit_test(test_circle),   cmocka_unit_test(test_not_solved),
        cmocka_unit_test(test_orbit),    cmocka_unit_test(test_token_steps_as_in_the_whole),
        cmocka_unit_test(test_settle),   cmocka_unit_test(test_continue),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
