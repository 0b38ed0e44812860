/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand budget with the built program: what it lists, in which form, and what it says when
 * nothing fits.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

static const cJSON *shape_at(const cJSON *object, int index)
{
    const cJSON *shapes = cJSON_GetObjectItemCaseSensitive(object, "shapes");
    const cJSON *shape = cJSON_GetArrayItem(shapes, index);
    if (shape == NULL) {
        fail_msg("shape %d is missing in %s", index, program_out);
    }
    return shape;
}

static void assert_hidden(const cJSON *shape, const double *widths, int n)
{
    const cJSON *hidden = cJSON_GetObjectItemCaseSensitive(shape, "hidden");
    assert_int_equal(cJSON_GetArraySize(hidden), n);
    for (int i = 0; i < n; i++) {
        assert_true(cJSON_GetArrayItem(hidden, i)->valuedouble == widths[i]);
    }
}

/* The default grids find the 109 tuples of the notes. */
static void test_default_grids(void **state)
{
    (void)state;
    program_expect(0, "budget", "--params", "113246208", "--list", "200", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *shapes = cJSON_GetObjectItemCaseSensitive(object, "shapes");
    assert_true(number(object, "n_found") == 109);
    assert_int_equal(cJSON_GetArraySize(shapes), 109);
    for (int i = 0; i < 109; i++) {
        assert_true(fabs(number(shape_at(object, i), "error")) <= 1e-5);
    }
    cJSON_Delete(object);
    program_expect(0, "budget", "--params", "113246208", "--list", "2", "--json", NULL);
    object = program_json();
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(object, "shapes")), 2);
    assert_true(number(object, "n_found") == 109);
    cJSON_Delete(object);
}

static void test_exact_shape(void **state)
{
    static const double widths[] = {640, 640};
    (void)state;
    program_expect(0, "budget", "--params", "113246208", "--width", "1536", "--layers", "8", "--k",
                   "2", "--attn-width", "1344", "--tol", "0", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *shape = shape_at(object, 0);
    assert_true(number(shape, "d") == 1536);
    assert_true(number(shape, "layers") == 8);
    assert_true(number(shape, "d_attn") == 1344);
    assert_true(number(shape, "d_kv") == 1344);
    assert_true(number(shape, "k") == 2);
    assert_true(number(shape, "parameters") == 113246208);
    assert_true(number(shape, "error") == 0);
    assert_true(number(member(shape, "parts"), "attention") == 66060288);
    assert_true(number(member(shape, "parts"), "feed_forward") == 47185920);
    assert_hidden(shape, widths, 2);
    cJSON_Delete(object);
    program_expect(0, "budget", "--params", "113246208", "--width", "768", "--layers", "12", "--k",
                   "8", NULL);
    assert_non_null(strstr(program_out, "8x384"));
    assert_non_null(strstr(program_out, "1 of 1 shapes tried are within 0.001 %"));
}

/* Ragged widths: of the layers, all alike; of the whole model, all listed. */
static void test_ragged(void **state)
{
    static const double layer[] = {615, 615, 614, 614, 614};
    double model[14];
    (void)state;
    program_expect(0, "budget", "--params", "113246208", "--width", "768", "--layers", "12", "--k",
                   "5", "--split", "layer", "--json", NULL);
    cJSON *object = program_json();
    assert_hidden(shape_at(object, 0), layer, 5);
    cJSON_Delete(object);
    for (int i = 0; i < 14; i++) {
        model[i] = i < 6 ? 732 : 731;
    }
    program_expect(0, "budget", "--params", "113246208", "--width", "1536", "--layers", "7", "--k",
                   "2", "--split", "model", "--tol", "2e-5", "--json", NULL);
    object = program_json();
    assert_hidden(shape_at(object, 0), model, 14);
    cJSON_Delete(object);
}

/* The stacks of cem.md at 162 M and 86 M: untied and tied. */
static void test_cem(void **state)
{
    static const double hidden[] = {3840};
    (void)state;
    program_expect(0, "budget", "--params", "162148608", "--family", "cem", "--vocab", "50257",
                   "--count-gains", "--diag", "none", "--width", "768", "--depth", "12", "--tol",
                   "0", "--json", NULL);
    cJSON *object = program_json();
    assert_hidden(shape_at(object, 0), hidden, 1);
    cJSON_Delete(object);
    program_expect(0, "budget", "--params", "162148608", "--family", "llama", "--attn", "cem",
                   "--vocab", "50257", "--count-gains", "--width", "768", "--layers", "12",
                   "--hidden", "2048", "--tol", "0.1", "--json", NULL);
    object = program_json();
    assert_true(number(shape_at(object, 0), "parameters") == 147992832 + 12 * 768);
    cJSON_Delete(object);
    program_expect(0, "budget", "--params", "86000000", "--family", "llama", "--vocab", "50257",
                   "--count-gains", "--multiple", "256", "--width", "512,576", "--layers", "7,10",
                   "--tol", "0.006", "--json", NULL);
    object = program_json();
    assert_true(number(shape_at(object, 0), "parameters") == 85773888);
    assert_true(number(shape_at(object, 2), "parameters") == 85552640);
    cJSON_Delete(object);
}

/* Refused with the nearest shapes. */
static void test_impossible(void **state)
{
    (void)state;
    program_expect(2, "budget", "--params", "113246209", "--width", "768", "--layers", "12",
                   "--tol", "0", "--json", NULL);
    program_complained("--params is 113246209, and none of the ");
    program_complained("the nearest are width 768 with 12 layers and hidden widths 6x512 "
                       "(113246208, ");
    program_expect(2, "budget", "--params", "7", NULL);
    program_complained("the nearest are width 64 with 3 layers and hidden widths 1x8 (53760, "
                       "+7.68e+05 %)");
}

static void test_bad_usage(void **state)
{
    static const char *const grids[] = {"",        "0",       "8:4",
                                        "1:2:0",   "1:2:3:4", "1,",
                                        "1,,2",    "a",       "-1",
                                        "1:",      "2 4",     "1048577",
                                        "1:70000", "1.5",     "99999999999999999999"};
    (void)state;
    program_expect(2, "budget", NULL);
    program_complained("--params is missing");
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        program_expect(2, "budget", "--params", "1000000", "--width", grids[i], NULL);
        program_complained("--width is \"");
        program_complained("accepted are N, A,B,..., LO:HI and LO:HI:STEP");
    }
    program_expect(2, "budget", "--params", "1000000", "--family", "gpt", NULL);
    program_complained("hourglass, llama and cem");
    program_expect(2, "budget", "--params", "1000000", "--split", "odd", NULL);
    program_complained("uniform, layer and model");
    program_expect(2, "budget", "--params", "1000000", "--family", "llama", "--k", "2", NULL);
    program_complained("--k is \"2\"");
    program_expect(2, "budget", "--params", "1000000", "--family", "cem", "--diag", "per_head",
                   NULL);
    program_complained("the number of heads is 0");
    program_expect(2, "budget", "--params", "1000000", "--width", "8", "--narrowest", "8", NULL);
    program_complained("no combination of the values to try is a shape");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_grids), cmocka_unit_test(test_exact_shape),
        cmocka_unit_test(test_ragged),        cmocka_unit_test(test_cem),
        cmocka_unit_test(test_impossible),    cmocka_unit_test(test_bad_usage),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
