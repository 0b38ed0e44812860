/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand verify with the built program: the JSON that others rely on, the same output for
 * any number of threads, witnesses that replay, reports on a small run, and bad input.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#define SMALL                                                                                      \
    "--data", "listops:generate=300", "--width", "6", "--batch", "4", "--window", "16",            \
        "--threads", "1", "--eval-batches", "1", "--steps", "3", "--schedule", "constant",         \
        "--warmup", "0"

static void train(const char *family, const char *name)
{
    program_expect(0, "train", "--family", family, SMALL, "--out", in(name), NULL);
}

/* Trains it once. */
static void train_nrgpt(void)
{
    if (access(in("nrgpt"), F_OK) != 0) {
        train("nrgpt", "nrgpt");
    }
}

static void test_json(void **state)
{
    (void)state;
    program_expect(0, "verify", "--claim", "norm-monotone,asymptotic-stability-state", "--trials",
                   "30", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "claims"), 2);
    const cJSON *theorem = entry(object, "claims", 0);
    assert_word(theorem, "name", "norm-monotone");
    assert_word(theorem, "kind", "theorem");
    assert_true(cJSON_IsTrue(member(theorem, "holds")));
    assert_true(cJSON_IsNull(member(theorem, "witness")));
    assert_true(number(theorem, "trials") == 30);
    assert_true(number(theorem, "worst") <= number(theorem, "tolerance"));
    const cJSON *refuted = entry(object, "claims", 1);
    assert_word(refuted, "kind", "refuted");
    assert_true(cJSON_IsTrue(member(refuted, "holds")));
    const cJSON *witness = member(refuted, "witness");
    assert_true(number(witness, "left") > number(witness, "right") + number(witness, "tolerance"));
    assert_true(cJSON_IsObject(member(witness, "inputs")));
    cJSON_Delete(object);
}

/* One kind of every family of claims, on one thread and on three. */
static void test_threads_change_nothing(void **state)
{
    static char first[PROGRAM_TEXT];
    (void)state;
    program_expect(0, "verify", "--claim", "norm,cem,discrete-descent", "--trials", "20", "--seed",
                   "9", "--threads", "1", "--json", NULL);
    memcpy(first, program_out, sizeof first);
    program_expect(0, "verify", "--claim", "norm,cem,discrete-descent", "--trials", "20", "--seed",
                   "9", "--threads", "3", "--json", NULL);
    assert_string_equal(first, program_out);
}

static void test_witnesses_replay(void **state)
{
    (void)state;
    program_expect(0, "verify", "--claim", "norm,cem", "--trials", "10", "--out", in("w.h5"), NULL);
    assert_non_null(strstr(program_out, "written: "));
    program_expect(0, "verify", "--replay", in("w.h5"), "--json", NULL);
    cJSON *object = program_json();
    assert_true(cJSON_IsTrue(member(object, "pass")));
    assert_true(count(object, "claims") > 4);
    for (int i = 0; i < count(object, "claims"); i++) {
        const cJSON *claim = entry(object, "claims", i);
        assert_word(claim, "replay", "same bits");
        assert_true(number(claim, "left") == number(claim, "stored_left"));
    }
    cJSON_Delete(object);
    program_expect(0, "verify", "--replay", in("w.h5"), NULL);
    assert_non_null(strstr(program_out, "norm-monotone (theorem): does not violate"));
}

static void test_list(void **state)
{
    (void)state;
    program_expect(0, "verify", "--list", NULL);
    assert_non_null(strstr(program_out, "norm-monotone (theorem, of random instances; 100000"));
    assert_non_null(strstr(program_out, "x-gradient-variant (property, of a run; 1 instance)"));
    assert_null(strstr(program_out, "notes"));
    program_expect(0, "verify", "--list", "--claim", "norm", NULL);
    assert_true(program_out[0] == 'n'); /* no empty line before the first */
    program_expect(0, "verify", "--list", "--claim", "norm", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "claims"), 1);
    assert_word(entry(object, "claims", 0), "needs", "random");
    cJSON_Delete(object);
}

/* ---- a run ------------------------------------------------------------------------------------
 */

static void assert_file(const char *name)
{
    struct stat info;
    char path[TEST_PATH];
    if (stat(test_path(path, name), &info) != 0 || info.st_size == 0) {
        fail_msg("%s is missing or empty", name);
    }
}

static void test_report(void **state)
{
    (void)state;
    train_nrgpt();
    program_expect(0, "verify", in("nrgpt"), "--claim", "discrete-descent", "--trials", "8",
                   "--report", in("report"), "--figure", in("figure.svg"), "--n-prompts", "20",
                   "--json", NULL);
    cJSON *object = program_json();
    const cJSON *report = member(object, "report");
    const cJSON *certificate = member(report, "certificate");
    assert_word(certificate, "verdict", "violated");
    assert_true(number(certificate, "smallest") < 0);
    assert_true(number(certificate, "smallest") >= -number(certificate, "bound") * (1 + 1e-9));
    assert_int_equal(count(member(certificate, "witness"), "x"), 6);
    const double rising = number(member(report, "orbits"), "rising_fraction");
    assert_true(rising >= 0 && rising <= 1);
    assert_int_equal(count(member(report, "reach"), "rises"), 24);
    const cJSON *projection = member(report, "projection");
    assert_true(number(member(projection, "trained"), "val_loss") > 0);
    assert_true(number(member(projection, "projected"), "n") == 20);
    cJSON_Delete(object);
    assert_file("report/report.txt");
    assert_file("report/report.json");
    assert_file("report/report.pdf");
    assert_file("figure.svg");
    program_read("report/report.txt", program_out);
    assert_non_null(strstr(program_out, "certificate  not certified"));
    assert_non_null(strstr(program_out, "to change    η := "));
}

/* c·I with γ = 1 is certified, and the loss is that of eval. */
static void test_certified_run(void **state)
{
    (void)state;
    program_expect(0, "train", "--family", "nrgpt", SMALL, "--eta", "scalar", "--out", in("scalar"),
                   NULL);
    program_expect(0, "verify", in("scalar"), "--claim", "discrete-descent", "--trials", "8",
                   "--report", in("r.json"), "--n-prompts", "5", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *report = member(object, "report");
    assert_word(member(report, "certificate"), "verdict", "certified");
    assert_true(cJSON_IsNull(member(member(report, "certificate"), "witness")));
    const double trained = number(member(member(report, "projection"), "trained"), "val_loss");
    const double same = number(member(member(report, "projection"), "projected"), "val_loss");
    assert_near(same, trained, 1e-5);
    cJSON_Delete(object);
    assert_file("r.json");
    program_expect(0, "eval", in("scalar"), "--n-prompts", "1", "--json", NULL);
    object = program_json();
    assert_near(number(object, "val_loss"), trained, 1e-12);
    cJSON_Delete(object);
}

/* A baseline has no energy: every claim says why it does not apply, and nothing fails. */
static void test_baseline(void **state)
{
    (void)state;
    train("gpt-rec", "gpt");
    program_expect(0, "verify", in("gpt"), "--strict", "--json", NULL);
    cJSON *object = program_json();
    assert_true(count(object, "claims") > 3);
    for (int i = 0; i < count(object, "claims"); i++) {
        const cJSON *claim = entry(object, "claims", i);
        assert_true(cJSON_IsFalse(member(claim, "applicable")));
        assert_true(cJSON_IsNull(member(claim, "holds")));
        assert_true(cJSON_IsString(member(claim, "reason")));
    }
    cJSON_Delete(object);
    program_expect(0, "verify", in("gpt"), "--claim", "descent-condition,x-gradient-variant", NULL);
    assert_non_null(strstr(program_out, "not applicable ("));
    assert_non_null(strstr(program_out, "lower): descent-condition,"));
    assert_null(strstr(program_out, "tolerance")); /* a table of nothing */
    program_expect(2, "verify", in("gpt"), "--report", in("no.txt"), NULL);
    program_complained("--report is on an NRGPT, and the run is a gpt-rec");
    assert_int_not_equal(access(in("no.txt"), F_OK), 0);
}

/* One paragraph for all claims that do not apply for the same reason, and no rows. */
static void test_not_applicable(void **state)
{
    (void)state;
    train_nrgpt();
    program_expect(0, "verify", in("nrgpt"), "--trials", "2", NULL);
    const char *first = strstr(program_out, "not applicable (is about the layers of CEM");
    assert_non_null(first);
    assert_null(strstr(first + 1, "not applicable (is about the layers of CEM"));
    assert_non_null(strstr(first, "cem-concavity,"));
    assert_null(strstr(program_out, "cem-concavity "));
    assert_null(strstr(program_out, " nan"));
}

/* --strict alone turns a missing property into a failure. */
static void test_strict(void **state)
{
    (void)state;
    train_nrgpt();
    program_expect(0, "verify", in("nrgpt"), "--claim", "descent-condition", "--trials", "4",
                   "--json", NULL);
    cJSON *object = program_json();
    const cJSON *claim = entry(object, "claims", 0);
    assert_word(claim, "kind", "property");
    assert_true(cJSON_IsFalse(member(claim, "holds")));
    assert_true(cJSON_IsObject(member(claim, "witness")));
    cJSON_Delete(object);
    program_expect(1, "verify", in("nrgpt"), "--claim", "descent-condition", "--trials", "4",
                   "--strict", NULL);
}

/* ---- bad input --------------------------------------------------------------------------------
 */

static void test_bad_usage(void **state)
{
    (void)state;
    program_expect(2, "verify", "--claim", "norm-monotone,nonsense", NULL);
    program_complained("--claim: there is no claim \"nonsense\"; the claims are");
    program_expect(2, "verify", "--claim", "", NULL);
    program_complained("--claim is empty");
    program_expect(2, "verify", "--claim", "local-stability", NULL);
    program_complained("claim local-stability is about a trained run; RUN is missing");
    program_expect(2, "verify", "--report", in("r.txt"), NULL);
    program_complained("--report is on a run; RUN is missing");
    program_expect(2, "verify", "--prompt", "1", NULL);
    program_complained("--prompt is for a run");
    program_expect(2, "verify", "--trials", "0", NULL);
    program_complained("--trials");
    program_expect(2, "verify", "--out", in("absent/w.h5"), NULL);
    program_complained("--out: ");
    program_expect(2, "verify", "--replay", in("w.h5"), "--claim", "norm", NULL);
    program_complained("--replay checks a file as it is");
    program_expect(2, "verify", "--replay", in("w.h5"), "--trials", "9", NULL);
    program_complained("--replay checks a file as it is");
    program_expect(2, "verify", in("no-run"), "--report", in("early"), NULL);
    assert_null(fopen(in("early"), "rb")); /* no folder for a report that cannot be */
    train_nrgpt();
    program_expect(2, "verify", in("nrgpt"), "--claim", "norm-monotone", NULL);
    program_complained("claim norm-monotone is about random instances");
    program_expect(2, "verify", in("nrgpt"), "--prompt", "no token", NULL);
    program_complained("--prompt: ");
    program_expect(2, "verify", in("nrgpt"), "--figure", in("f.docx"), NULL);
    program_complained("--figure: ");
}

static void test_damaged_witnesses(void **state)
{
    static char bytes[1 << 17];
    (void)state;
    program_expect(0, "verify", "--claim", "norm", "--trials", "3", "--out", in("d.h5"), NULL);
    FILE *file = fopen(in("d.h5"), "rb");
    assert_non_null(file);
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    bytes[n / 2] = (char)(bytes[n / 2] ^ 1);
    test_write(in("flipped.h5"), bytes, n);
    test_write(in("cut.h5"), bytes, n / 2);
    program_expect(2, "verify", "--replay", in("flipped.h5"), NULL);
    program_complained("flipped.h5 is damaged");
    program_expect(2, "verify", "--replay", in("cut.h5"), NULL);
    program_complained("cut.h5 is no file of witnesses");
    program_expect(2, "verify", "--replay", in("none.h5"), NULL);
    program_complained("--replay: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_witnesses_replay),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_certified_run),
        cmocka_unit_test(test_baseline),
        cmocka_unit_test(test_not_applicable),
        cmocka_unit_test(test_strict),
        cmocka_unit_test(test_bad_usage),
        cmocka_unit_test(test_damaged_witnesses),
    };
    return cmocka_run_group_tests_name("cli_verify", tests, test_folder_make, test_folder_remove);
}
