/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bad usage and bad input: every case ends with status 2 and one sentence on standard error.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#define SMALL                                                                                      \
    "--data", "listops:generate=200", "--width", "8", "--batch", "4", "--window", "16",            \
        "--threads", "1", "--eval-batches", "1"

static char out_path[TEST_PATH];

static const char *out_folder(void)
{
    return test_path(out_path, "never");
}

/* The refused command left nothing behind. */
static void assert_no_run(void)
{
    assert_int_not_equal(access(out_folder(), F_OK), 0);
}

static const char *write_text(const char *name, const char *text)
{
    static char path[TEST_PATH];
    test_write(test_path(path, name), text, strlen(text));
    return path;
}

static void test_help_and_version(void **state)
{
    static const char *const commands[] = {
        "train",        "eval",   "generate",      "info",     "trace",    "selftest",
        "bench",        "orbit",  "orbit-diagram", "continue", "lyapunov", "multipliers",
        "fixed-points", "basins", "chaos",         "rqa",      "budget",   "gp",
        "hourglass",    "figure", "verify",        "landscape"};
    (void)state;
    program_expect(0, NULL);
    assert_non_null(strstr(program_out, "Usage: basin SUBCOMMAND"));
    program_expect(0, "--help", NULL);
    program_expect(0, "--version", NULL);
    assert_int_equal(strncmp(program_out, "basin ", 6), 0);
    assert_true(program_out[6] >= '0' && program_out[6] <= '9');
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        program_expect(0, commands[i], "--help", NULL);
        assert_non_null(strstr(program_out, "Example:\n  basin "));
        assert_non_null(strstr(program_out, "--json"));
        assert_null(strstr(program_out, "(null)"));
        assert_string_equal(program_err, "");
        program_expect(0, "help", commands[i], NULL);
        assert_non_null(strstr(program_out, "Usage: basin "));
    }
}

static void test_unknown_subcommands(void **state)
{
    (void)state;
    program_expect(2, "trian", NULL);
    program_complained("did you mean train?");
    program_expect(2, "frobnicate", NULL);
    program_complained("accepted are train, eval");
    program_expect(2, "help", "evaluate", NULL);
    program_complained("\"evaluate\" is not a subcommand");
    program_expect(2, "--json", NULL);
    program_complained("\"--json\" is not a subcommand");
}

static void test_missing_options(void **state)
{
    (void)state;
    program_expect(2, "train", "--data", "listops:generate", "--out", out_folder(), NULL);
    program_complained("--family is missing; accepted are nrgpt");
    program_expect(2, "train", "--family", "nrgpt", "--out", out_folder(), NULL);
    program_complained("--data is missing");
    program_expect(2, "train", "--family", "nrgpt", SMALL, NULL);
    program_complained("--out is missing");
    program_expect(2, "eval", NULL);
    program_complained("RUN is missing");
    program_expect(2, "generate", "run", NULL);
    program_complained("--prompt is missing");
    program_expect(2, "selftest", NULL);
    program_complained("--vectors is missing");
}

static void refuse_option(const char *option, const char *value, const char *part)
{
    program_expect(2, "train", "--family", "nrgpt", SMALL, "--steps", "1", "--out", out_folder(),
                   option, value, NULL);
    program_complained(part);
    assert_non_null(strstr(program_err, value));
    assert_no_run();
}

static void test_values_out_of_domain(void **state)
{
    static const char *const widths[] = {"0", "-64", "1000000000", "1e9", "wide", "NaN", "8x"};
    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        refuse_option("--width", widths[i], "whole numbers from 1 to 16777216");
    }
    refuse_option("--family", "mamba", "gpt-rec, gpt-rec-parallel, llama, cem, hourglass");
    refuse_option("--ff", "ff3", "ff1, ff2, ff2w");
    refuse_option("--mask", "loose", "strict and inclusive");
    refuse_option("--beta", "1/sqrt(H)", "1/sqrt(D)");
    refuse_option("--lr", "0", "numbers above 0");
    refuse_option("--dropout", "1", "less than 1");
    refuse_option("--norm-eps", "nan", "numbers from 0 to 1");
    refuse_option("--micro-batch", "3", "does not divide");
    refuse_option("--rank", "9", "at most n_embed = 8");
    refuse_option("--warmup", "2", "longer than the run");
    refuse_option("--width", "100000", "parameters");
}

static void test_options_that_do_not_go_together(void **state)
{
    (void)state;
    program_expect(2, "train", "--family", "gpt", SMALL, "--heads", "9", "--out", out_folder(),
                   NULL);
    program_complained("at most n_embed = 8 heads");
    program_expect(2, "train", "--family", "gpt", SMALL, "--eta", "psd", "--out", out_folder(),
                   NULL);
    program_complained("--eta belongs to the family nrgpt");
    program_expect(2, "train", "--family", "nrgpt", SMALL, "--block", "8", "--out", out_folder(),
                   NULL);
    program_complained("a window of 16 tokens is longer than the model's block of 8");
    program_expect(2, "train", "--resume", "--overwrite", "--out", out_folder(), NULL);
    program_complained("--resume and --overwrite exclude each other");
    assert_no_run();
}

static void refuse_data(const char *data, const char *part)
{
    program_expect(2, "train", "--family", "nrgpt", "--width", "8", "--window", "16", "--batch",
                   "2", "--steps", "1", "--out", out_folder(), "--data", data, NULL);
    program_complained(part);
    assert_no_run();
}

static void test_bad_data(void **state)
{
    char spec[2 * TEST_PATH];
    (void)state;
    refuse_data("parquet:x", "--data is \"parquet:x\"; accepted are listops:FILE");
    refuse_data("chars", "accepted are");
    refuse_data("chars:", "accepted are");
    refuse_data("listops:generate=0", "1 to 10000000 examples");
    refuse_data("listops:generate=5x", "1 to 10000000 examples");
    refuse_data("chars:/nonexistent/file.txt", "/nonexistent/file.txt");
    (void)snprintf(spec, sizeof spec, "chars:%s", write_text("empty.txt", ""));
    refuse_data(spec, "empty.txt");
    (void)snprintf(spec, sizeof spec, "chars:%s", write_text("short.txt", "to be or not\n"));
    refuse_data(spec, "16");
    (void)snprintf(spec, sizeof spec, "listops:%s",
                   write_text("words.txt", "max_10 ( 2 12 ) = 2\n"));
    refuse_data(spec, "12");
    (void)snprintf(spec, sizeof spec, "listops:%s",
                   write_text("only_test.tsv", "max_10 ( 1 2 ) =\t2\n"));
    refuse_data(spec, "test prompts only");
    (void)snprintf(spec, sizeof spec, "tokens:%s", write_text("odd.bin", "abc"));
    refuse_data(spec, "odd.bin");
}

static void test_folders_that_cannot_be_written(void **state)
{
    char path[2 * TEST_PATH];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/run", write_text("file", "x"));
    program_expect(2, "train", "--family", "nrgpt", SMALL, "--steps", "1", "--out", path, NULL);
    program_complained("/file");
    program_expect(2, "train", "--family", "nrgpt", SMALL, "--steps", "1", "--out",
                   "/proc/basin-run", NULL);
    program_complained("/proc");
}

static void test_runs_that_are_none(void **state)
{
    char path[TEST_PATH];
    (void)state;
    program_expect(2, "info", "/nonexistent", NULL);
    program_complained("/nonexistent");
    program_expect(2, "eval", test_folder, NULL);
    program_complained("config.json");
    program_expect(2, "train", "--resume", "--out", out_folder(), NULL);
    program_complained("config.json");
    assert_int_equal(mkdir(test_path(path, "damaged"), 0777), 0);
    (void)write_text("damaged/config.json", "{\"format\": \"basin-run\"");
    program_expect(2, "generate", path, "--prompt", "1", NULL);
    program_complained("config.json");
}

static void test_selftest_without_vectors(void **state)
{
    char path[TEST_PATH];
    (void)state;
    program_expect(2, "selftest", "--vectors", "/nonexistent", NULL);
    program_complained("--vectors /nonexistent");
    assert_int_equal(mkdir(test_path(path, "vectors"), 0777), 0);
    program_expect(2, "selftest", "--vectors", path, NULL);
    program_complained("has no file *.safetensors");
    (void)write_text("vectors/bad.safetensors", "this is not one");
    program_expect(1, "selftest", "--vectors", path, "--json", NULL);
    cJSON *object = program_json();
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(object, "files");
    assert_true(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(object, "pass")));
    assert_int_equal(cJSON_GetArraySize(files), 1);
    cJSON_Delete(object);
}

static void test_selftest_on_reference_vectors(void **state)
{
    char path[TEST_PATH];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/../shared/reference", BASIN_SOURCE_DIR);
    if (access(path, R_OK) != 0) {
        skip();
    }
    program_expect(0, "selftest", "--vectors", path, "--json", NULL);
    cJSON *object = program_json();
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "pass")));
    assert_true(number(object, "n_passed") >= 9);
    assert_true(number(object, "n_failed") <= 0);
    cJSON_Delete(object);
}

static void test_full_standard_output(void **state)
{
    (void)state;
    program_setup.stdout_path = "/dev/full";
    program_expect(2, "--help", NULL);
    assert_non_null(strstr(program_err, "cannot be written to standard output"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_unknown_subcommands),
        cmocka_unit_test(test_missing_options),
        cmocka_unit_test(test_values_out_of_domain),
        cmocka_unit_test(test_options_that_do_not_go_together),
        cmocka_unit_test(test_bad_data),
        cmocka_unit_test(test_folders_that_cannot_be_written),
        cmocka_unit_test(test_runs_that_are_none),
        cmocka_unit_test(test_selftest_without_vectors),
        cmocka_unit_test(test_selftest_on_reference_vectors),
        cmocka_unit_test(test_full_standard_output),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
