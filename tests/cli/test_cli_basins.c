/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin basins as a user runs it: results, files, refusals.
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

/* ---- Results ------------------------------------------------------------------------------ */

static void test_double_well(void **state)
{
    (void)state;
    program_expect(0, "basins", "--map", "double-well", "--param", "eta=0.5", "--box=-3:3",
                   "--grid", "600", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *attractors = member(object, "attractors");
    double total = 0.0;
    assert_int_equal(cJSON_GetArraySize(attractors), 2);
    for (int i = 0; i < 2; i++) {
        const cJSON *a = cJSON_GetArrayItem(attractors, i);
        const cJSON *point = cJSON_GetArrayItem(entry(a, "points", 0), 0);
        assert_true(number(a, "id") == i + 1);
        assert_true(number(a, "period") == 1);
        assert_near(point->valuedouble, i == 0 ? -1.0 : 1.0, 1e-12);
        assert_near(number(a, "fraction"), 0.372677, 1.0 / 600.0);
        assert_true(cJSON_IsNull(member(a, "exponent"))); /* superstable: −∞ */
    }
    for (const cJSON *f = member(object, "fractions")->child; f != NULL; f = f->next) {
        total += f->valuedouble;
    }
    assert_near(total, 1.0, 1e-14);
    assert_near(number(member(object, "fractions"), "diverged"), 0.254644, 2.0 / 600.0);
    assert_true(number(member(object, "fractions"), "1") ==
                number(member(object, "fractions"), "2"));
    assert_true(number(object, "entropy_box") == 5);
    assert_true(number(object, "entropy") < number(object, "boundary_entropy"));
    assert_string_equal(member(object, "method")->valuestring, "recurrences");
    cJSON_Delete(object);
    program_expect(0, "basins", "--map", "double-well", "--param", "eta=0.5", "--box=-3:3", NULL);
    assert_non_null(strstr(program_out, "diverged"));
    assert_non_null(strstr(program_out, "basin entropy"));
}

static void test_methods(void **state)
{
    static const char *const methods[] = {"recurrences", "proximity", "features"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        program_expect(0, "basins", "--map", "logistic", "--param", "r=3.2", "--box", "0:1",
                       "--starts", "40", "--method", methods[i], "--seed", "3", "--json", NULL);
        cJSON *object = program_json();
        const cJSON *a = entry(object, "attractors", 0);
        assert_true(number(a, "period") == 2);
        assert_true(number(a, "fraction") == 1);
        assert_near(number(a, "spectral_radius"), 0.16, 1e-9);
        assert_true(cJSON_IsNull(member(object, "entropy")));
        assert_string_equal(member(object, "method")->valuestring, methods[i]);
        cJSON_Delete(object);
    }
}

static void test_uncertainty(void **state)
{
    (void)state;
    program_expect(0, "basins", "--map", "double-well", "--param", "eta=0.5", "--box=-1.5:1.5",
                   "--uncertainty", "--points", "4000", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *u = member(object, "uncertainty");
    assert_near(number(u, "exponent"), 1.0, 4.0 * number(u, "exponent_error"));
    assert_int_equal(count(u, "scales"), 9);
    cJSON_Delete(object);
}

/* Two ids along the sweep, one beyond the crisis. */
static void test_sweep(void **state)
{
    double fractions[4 * 7];
    double parameter[4];
    model_hdf5_reader *reader = NULL;
    kern_error err = {0};
    (void)state;
    program_expect(0, "basins", "--map", "double-well", "--box=-1.4:1.4", "--grid", "50", "--vary",
                   "eta", "--from", "0.3", "--to", "0.9", "--n", "4", "--out", in("s.h5"), "--csv",
                   in("s.csv"), "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "columns"), 4);
    assert_true(number(object, "n_ids") == 2);
    cJSON_Delete(object);
    assert_int_equal(model_hdf5_reader_create(&reader, in("s.h5"), &err), KERN_OK);
    assert_int_equal(model_hdf5_read_doubles(reader, "fractions", fractions, 28, &err), KERN_OK);
    assert_int_equal(model_hdf5_read_doubles(reader, "parameter", parameter, 4, &err), KERN_OK);
    assert_near(parameter[3], 0.9, 1e-15);
    assert_true(fractions[0] == 0.5 && fractions[1] == 0.5 && fractions[2] == 0.0);
    model_hdf5_reader_destroy(reader);
    program_read("s.csv", program_out);
    assert_int_equal(
        strncmp(program_out, "parameter,label,period,fraction\n0.2999999999999999", 50) == 0 ||
            strncmp(program_out, "parameter,label,period,fraction\n0.3", 35) == 0,
        1);
    assert_non_null(strstr(program_out, ",diverged,0,0\n"));
}

/* ---- Files -------------------------------------------------------------------------------- */

/* The same labels for one worker and three, in either format. */
static void test_files(void **state)
{
    int64_t labels[12 * 12];
    double point[2];
    model_hdf5_reader *reader = NULL;
    kern_error err = {0};
    size_t diverged = 0;
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        program_expect(0, "basins", "--map", "henon", "--param", "a=0.2", "--box=-4:4", "--grid",
                       "12", "--threads", threads == 1 ? "1" : "3", "--csv",
                       in(threads == 1 ? "1.csv" : "3.csv"), "--out", in("b.h5"), NULL);
    }
    assert_true(same_files(in("1.csv"), in("3.csv")));
    assert_int_equal(model_hdf5_reader_create(&reader, in("b.h5"), &err), KERN_OK);
    assert_int_equal(model_hdf5_read_int64s(reader, "labels", labels, 144, &err), KERN_OK);
    assert_int_equal(model_hdf5_read_doubles(reader, "attractors/1/points", point, 2, &err),
                     KERN_OK);
    /* The fixed point of x = 1 − a x² + b x. */
    assert_near(point[0], (-0.7 + sqrt(0.49 + 0.8)) / 0.4, 1e-12);
    for (size_t i = 0; i < 144; i++) {
        assert_true(labels[i] == 1 || labels[i] == -1);
        diverged += labels[i] == -1 ? 1U : 0U;
    }
    assert_true(diverged > 0 && diverged < 144);
    model_hdf5_reader_destroy(reader);
    program_read("1.csv", program_out);
    assert_int_equal(strncmp(program_out, "start,x0,x1,label\n0,-3.6", 24), 0);
    assert_non_null(strstr(program_out, ",diverged\n"));
}

/* ---- Outcomes and refusals ------------------------------------------------------------------ */

static void test_undecided(void **state)
{
    (void)state;
    program_expect(0, "basins", "--map", "logistic", "--param", "r=5", "--box", "2:3", "--json",
                   NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "attractors"), 0);
    assert_true(number(member(object, "fractions"), "diverged") == 1);
    assert_true(cJSON_IsNull(member(object, "boundary_entropy")));
    assert_word(object, "status", "ok");
    cJSON_Delete(object);
    /* Too short a horizon decides nothing, which the exit status says. */
    program_expect(1, "basins", "--map", "logistic", "--param", "r=3.2", "--box", "0:1",
                   "--horizon", "5", NULL);
    assert_non_null(strstr(program_out, "timeout"));
    program_expect(1, "basins", "--map", "logistic", "--param", "r=3.2", "--box", "0:1",
                   "--horizon", "5", "--json", NULL);
    object = program_json();
    assert_word(object, "status", "not_converged");
    cJSON_Delete(object);
}

static void test_dry_run(void **state)
{
    (void)state;
    program_expect(0, "basins", "--map", "henon", "--grid", "1000", "--dry-run", "--json", NULL);
    cJSON *object = program_json();
    assert_true(number(object, "n_starts") == 1e6);
    assert_true(number(object, "bytes") == 5e6);
    assert_true(number(object, "steps_at_most") == 1e11);
    assert_true(number(object, "seconds") >= 0.0);
    cJSON_Delete(object);
    program_expect(0, "basins", "--map", "henon", "--starts", "500", "--dry-run", NULL);
    assert_non_null(strstr(program_out, "500 starts"));
}

static void refuse(const char *a, const char *b, const char *c, const char *d, const char *part)
{
    program_expect(2, "basins", "--map", "henon", a, b, c, d, NULL);
    program_complained(part);
}

static void test_refusals(void **state)
{
    (void)state;
    refuse("--grid", "31623", "--box", "-2:2", "--grid 31623: 1000014129 starts would take 5 GB");
    refuse("--grid", "1000", "--memory-limit", "1", "--memory-limit");
    refuse("--starts", "1000000000", "--box", "-2:2", "--starts 1000000000: ");
    refuse("--grid", "10", "--starts", "10", "--starts and --grid are both given");
    refuse("--grid", "0", "--box", "-2:2", "--grid is \"0\"");
    refuse("--box", "2:-2", "--grid", "10", "2:-2");
    refuse("--track", "1", "--grid", "10", "--track");
    refuse("--method", "guess", "--grid", "10", "recurrences, proximity and features");
    refuse("--group", "guess", "--grid", "10", "dbscan and histogram");
    refuse("--entropy-box", "11", "--grid", "10", "--entropy-box is 11");
    refuse("--entropy-box", "5", "--starts", "10", "--entropy-box needs a grid");
    refuse("--jitter", "1", "--grid", "10", "--jitter");
    refuse("--vary", "a", "--grid", "10", "--from");
    refuse("--out", "/nowhere/b.h5", "--grid", "10", "/nowhere");
    program_expect(2, "basins", "--map", "henon", "--vary", "c", "--from", "0", "--to", "1",
                   "--grid", "5", NULL);
    program_complained("accepted: a, b");
    program_expect(2, "basins", "--map", "coupled-logistic", "--param", "n=5", "--method",
                   "recurrences", NULL);
    program_complained("has 5 coordinates");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_double_well), cmocka_unit_test(test_methods),
        cmocka_unit_test(test_uncertainty), cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_files),       cmocka_unit_test(test_undecided),
        cmocka_unit_test(test_dry_run),     cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
