/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin continue --second with the built program.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_hdf5.h"
#include "tests/cli/cli_test_json.h"

/* Points of a curve are right to the square root of the corrector's tolerance or better. */
#define TOLERANCE 1e-8

/* The event of a curve with this type, at p and q. */
static void assert_event(const cJSON *curve, const char *type, double p, double q)
{
    const cJSON *event = NULL;
    size_t found = 0;
    cJSON_ArrayForEach(event, member(curve, "events"))
    {
        if (strcmp(cJSON_GetStringValue(member(event, "type")), type) == 0) {
            assert_near(number_at(event, "parameters", 0), p, TOLERANCE);
            assert_near(number_at(event, "parameters", 1), q, TOLERANCE);
            found++;
        }
    }
    if (found != 1) {
        fail_msg("there are %zu %s", found, type);
    }
}

static cJSON *follow(const char *at, const char *curve)
{
    program_expect(0, "continue", "--map", "henon2", "--param", at, "--vary", "alpha", "--from",
                   "-1.5", "--to", "3.5", "--at", "0.1", "--second", "beta", "--range", "-2:2",
                   "--curve", curve, "--json", NULL);
    return program_json();
}

/* α = −(1+β)²/4 from the branch at β = 0.2. */
static void test_folds(void **state)
{
    (void)state;
    cJSON *object = follow("beta=0.2", "LP");
    const cJSON *curves = member(object, "curves");
    const cJSON *point = NULL;
    assert_int_equal(cJSON_GetArraySize(curves), 1);
    const cJSON *curve = cJSON_GetArrayItem(curves, 0);
    cJSON_ArrayForEach(point, member(curve, "points"))
    {
        const double beta = number_at(point, "parameters", 1);
        assert_near(number_at(point, "parameters", 0), -0.25 * (1.0 + beta) * (1.0 + beta),
                    TOLERANCE);
        assert_near(number_at(point, "x", 0), -0.5 * (1.0 + beta), TOLERANCE);
        assert_near(number_at(point, "x", 1), -0.5 * (1.0 + beta), TOLERANCE);
    }
    assert_int_equal(count(curve, "events"), 2);
    assert_event(curve, "R1", -1.0, 1.0);
    assert_event(curve, "LPPD", 0.0, -1.0);
    assert_string_equal(cJSON_GetStringValue(member(curve, "type")), "LP");
    assert_string_equal(cJSON_GetStringValue(member(object, "status")), "ok");
    assert_string_equal(cJSON_GetStringValue(member(object, "second")), "beta");
    assert_true(number(object, "n_requested") == 1.0);
    cJSON_Delete(object);
}

/* α = 3(1+β)²/4. */
static void test_flips(void **state)
{
    (void)state;
    cJSON *object = follow("beta=0.2", "PD");
    const cJSON *curve = entry(object, "curves", 0);
    const cJSON *point = NULL;
    cJSON_ArrayForEach(point, member(curve, "points"))
    {
        const double beta = number_at(point, "parameters", 1);
        assert_near(number_at(point, "parameters", 0), 0.75 * (1.0 + beta) * (1.0 + beta),
                    TOLERANCE);
    }
    assert_event(curve, "LPPD", 0.0, -1.0);
    assert_event(curve, "R2", 3.0, 1.0);
    cJSON_Delete(object);
}

/* β = 1, met by a branch in β at α = 1; the points beyond R1 and R2 are neutral saddles. */
static void test_circles(void **state)
{
    (void)state;
    program_expect(0, "continue", "--map", "henon2", "--param", "alpha=1", "--vary", "beta",
                   "--from", "0.5", "--to", "1.5", "--second", "alpha", "--range", "-1.5:3.5",
                   "--curve", "NS", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *curve = entry(object, "curves", 0);
    const cJSON *point = NULL;
    cJSON_ArrayForEach(point, member(curve, "points"))
    {
        const double x = number_at(point, "x", 0);
        assert_near(number_at(point, "parameters", 0), 1.0, TOLERANCE);
        assert_near(number_at(point, "parameters", 1), 2.0 * x + x * x, TOLERANCE);
        assert_true(cJSON_IsTrue(member(point, "neutral_saddle")) == (fabs(x) > 1.0));
    }
    assert_int_equal(count(curve, "events"), 4);
    assert_event(curve, "R1", 1.0, -1.0);
    assert_event(curve, "R2", 1.0, 3.0);
    assert_event(curve, "R3", 1.0, 1.25);
    assert_event(curve, "R4", 1.0, 0.0);
    cJSON_Delete(object);
}

/* Kopel's duopoly: both asymmetric branches, met by --switch, have a Neimark-Sacker point at
 * μ = 1 + √(4 + 2/ρ) with cos θ = 1 − ρ: two curves, mirrored, with R4 at ρ = 1. */
static void test_curves_from_several_branches(void **state)
{
    (void)state;
    program_expect(0, "continue", "--map", "kopel", "--param", "rho=0.7", "--vary", "mu", "--from",
                   "2.5", "--to", "4", "--x0", "0.55,0.55", "--switch", "1", "--second", "rho",
                   "--range", "0.3:1.2", "--curve", "NS", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *curve = NULL;
    assert_true(number(object, "n_requested") == 2.0);
    assert_int_equal(count(object, "curves"), 2);
    cJSON_ArrayForEach(curve, member(object, "curves"))
    {
        const cJSON *point = NULL;
        cJSON_ArrayForEach(point, member(curve, "points"))
        {
            const double rho = number_at(point, "parameters", 1);
            assert_near(number_at(point, "parameters", 0), 1.0 + sqrt(4.0 + 2.0 / rho), TOLERANCE);
            assert_near(number(member(point, "multiplier"), "re"), 1.0 - rho, TOLERANCE);
        }
        assert_int_equal(count(curve, "events"), 1);
        assert_event(curve, "R4", 1.0 + sqrt(6.0), 1.0);
    }
    cJSON_Delete(object);
}

static void test_text_and_files(void **state)
{
    char path[2][TEST_PATH];
    model_hdf5_shape shape;
    model_hdf5_reader *reader = NULL;
    kern_error err = {0};
    (void)state;
    (void)test_path(path[0], "c.csv");
    (void)test_path(path[1], "c.h5");
    program_expect(0, "continue", "--map", "henon2", "--param", "beta=0.2", "--vary", "alpha",
                   "--from", "1", "--to", "-1.5", "--second", "beta", "--range", "0:2", "--curve",
                   "LP", "--csv", path[0], "--out", path[1], NULL);
    assert_non_null(strstr(program_out, "curve 0 of LP points, period 1"));
    assert_non_null(strstr(program_out, "1 point of codimension two\nR1 "));
    assert_int_equal(model_hdf5_reader_create(&reader, path[1], &err), KERN_OK);
    assert_int_equal(model_hdf5_read_shape(reader, "curve_0_parameters", &shape, &err), KERN_OK);
    assert_true(shape.rank == 2 && shape.size[0] > 10 && shape.size[1] == 2);
    assert_int_equal(model_hdf5_read_shape(reader, "curve_0_states", &shape, &err), KERN_OK);
    assert_true(shape.rank == 3 && shape.size[1] == 1 && shape.size[2] == 2);
    model_hdf5_reader_destroy(reader);
    program_read("c.csv", program_out);
    assert_int_equal(strncmp(program_out, "curve,period,event,p,q,re,im,neutral,", 37), 0);
    assert_non_null(strstr(program_out, "\n0,1,R1,-1"));
}

static void test_refusals(void **state)
{
    static const struct {
        const char *second, *range, *curve, *part;
        int code;
    } cases[] = {
        {"beta", "-2:2", "CP", "--curve is \"CP\"; accepted are LP, PD and NS", 2},
        {"beta", "2", "LP", "--range is \"2\"; accepted is lo:hi", 2},
        {"beta", "1:2", "LP", "accepted is a range around 0.2, which beta has", 2},
        {"beta", "2:-2", "LP", "accepted is lo:hi with lo below hi", 2},
        {"gamma", "-2:2", "LP", "accepted: alpha, beta", 2},
        {"alpha", "-2:2", "LP", "--second and --vary are both \"alpha\"", 2},
        {"beta", "-2:2", "NS", "no NS point lies on the branch in alpha from 1 to -1.5", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        program_expect(cases[i].code, "continue", "--map", "henon2", "--param", "beta=0.2",
                       "--vary", "alpha", "--from", "1", "--to", "-1.5", "--second",
                       cases[i].second, "--range", cases[i].range, "--curve", cases[i].curve, NULL);
        program_complained(cases[i].part);
    }
    program_complained("its events: 1 LP");
    program_expect(2, "continue", "--map", "henon2", "--vary", "alpha", "--from", "1", "--to", "2",
                   "--second", "beta", NULL);
    program_complained("--second is given without --curve");
    program_expect(2, "continue", "--map", "henon2", "--vary", "alpha", "--from", "1", "--to", "2",
                   "--curve", "LP", NULL);
    program_complained("--curve is given without --second");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folds),          cmocka_unit_test(test_flips),
        cmocka_unit_test(test_circles),        cmocka_unit_test(test_curves_from_several_branches),
        cmocka_unit_test(test_text_and_files), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
