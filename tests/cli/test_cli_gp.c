/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand gp with the built program: what it writes, going on, and what it says about wrong
 * options.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_file.h"
#include "tests/cli/cli_test_json.h"

#include <time.h>

/* Words of a benchmark of a second. */
#define TINY                                                                                       \
    "--steps", "1,2", "--seeds", "2", "--train-steps", "5", "--batch", "4", "--width", "16",       \
        "--heads", "2", "--hidden", "16", "--eval-sequences", "8", "--eval-steps", "1,2"

/* Every arm, seed, history, T' and span has one row, with the floor beside it. */
static void test_rows(void **state)
{
    (void)state;
    program_expect(0, "gp", TINY, "--out", in("a"), "--json", NULL);
    cJSON *object = program_json();
    /* Of each seed: cem T = 1 under both histories and T = 2 under either, at two T' each; llama,
     * llama-deep and tied-deep; six spans. */
    assert_int_equal(count(object, "rows"), 2 * (2 * 2 + 2 * 2 + 3) * 6);
    assert_int_equal(count(object, "broken"), 0);
    assert_int_equal(count(object, "references"), 4 * 6);
    const cJSON *rows = member(object, "rows");
    size_t deep = 0;
    for (const cJSON *row = rows->child; row != NULL; row = row->next) {
        assert_word(row, "task", "gp-1");
        const double rmse = number(row, "rmse");
        const double floor = number(row, "rmse_floor");
        const double excess = number(row, "excess");
        assert_true(rmse > 0 && floor > 0);
        assert_near(excess * fabs(excess), rmse * rmse - floor * floor, 1e-9);
        deep += strcmp(member(row, "arm")->valuestring, "tied-deep") == 0 ? 1 : 0;
        assert_true(number(row, "seed") == 1 || number(row, "seed") == 2);
        assert_true(number(row, "parameters") > 1000);
    }
    assert_int_equal(deep, 2 * 6);
    cJSON_Delete(object);
}

/* All files are there; a second call reads them and ends alike; one thread gives the same. */
static void test_files(void **state)
{
    (void)state;
    static const char *const names[] = {"a/gp-1.csv", "a/gp-1.json", "a/gp-1.svg", "a/gp-1.png"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(access(in(names[i]), R_OK), 0);
    }
    program_expect(0, "gp", TINY, "--out", in("b"), "--threads", "1", NULL);
    assert_non_null(strstr(program_out, "bayes (floor)"));
    assert_non_null(strstr(program_out, "tied-deep"));
    assert_non_null(strstr(program_out, "smoother"));
    assert_true(same_files(in("a/gp-1.csv"), in("b/gp-1.csv")));
    assert_true(same_files(in("a/gp-1.json"), in("b/gp-1.json")));
    assert_true(same_files(in("a/gp-1.svg"), in("b/gp-1.svg")));
    assert_int_equal(remove(in("b/gp-1.csv")), 0);
    program_expect(0, "gp", TINY, "--out", in("b"), NULL);
    assert_true(same_files(in("a/gp-1.csv"), in("b/gp-1.csv")));
}

/* --quick keeps what is given. */
static void test_quick(void **state)
{
    (void)state;
    program_expect(0, "gp", "--quick", "--train-steps", "3", "--width", "16", "--hidden", "8",
                   "--eval-sequences", "4", "--eval-steps", "2", "--arms", "cem", "--out", in("q"),
                   "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "rows"), 4 * 6);
    assert_true(number(object, "train_steps") == 3);
    assert_true(number(object, "batch") == 16);
    cJSON_Delete(object);
}

/* A stopped benchmark keeps its states and goes on. */
static void test_interrupt(void **state)
{
    (void)state;
    char path[TEST_PATH];
    const struct timespec nap = {.tv_nsec = 10000000};
    const pid_t child = program_launch(
        "gp", "--steps", "1", "--seeds", "1", "--arms", "cem", "--width", "16", "--hidden", "16",
        "--train-steps", "1000000", "--batch", "2", "--save-every", "2", "--out", in("i"), NULL);
    (void)test_path(path, "i/gp-1-cem-t1-l1-s1.safetensors");
    for (size_t i = 0; i < 1000 && access(path, R_OK) != 0; i++) {
        (void)nanosleep(&nap, NULL);
    }
    assert_int_equal(kill(child, SIGINT), 0);
    program_finish(child);
    assert_int_equal(program_code, 130);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_not_equal(access(in("i/gp-1-cem-t1-l1-s1.json"), R_OK), 0);
}

/* What the interrupted run left is a model of points: a command that reads models of tokens says
 * so, and one that is given the folder around the file names the file. */
static void test_other_commands(void **state)
{
    char path[TEST_PATH];
    char linked[TEST_PATH];
    (void)state;
    (void)test_path(path, "i/gp-1-cem-t1-l1-s1.safetensors");
    assert_int_equal(mkdir(in("folder"), 0755), 0);
    assert_int_equal(symlink(path, test_path(linked, "folder/model.safetensors")), 0);
    program_expect(2, "trace", path, "--prompt", "1", "--out", in("t.h5"), NULL);
    program_complained(
        "s1.safetensors' holds a model of Gaussian processes, and this command reads "
        "models of tokens; basin landscape and basin view read that file");
    program_expect(2, "trace", in("folder"), "--prompt", "1", "--out", in("t.h5"), NULL);
    program_complained("config.json' does not exist; name the file of weights in it, '");
    program_expect(2, "landscape", in("folder"), "--prompt", "1:4", "--token", "2", "--out",
                   in("f.csv"), NULL);
    program_complained("config.json' does not exist; name the file of weights in it, '");
    program_expect(0, "landscape", linked, "--prompt", "1:4", "--token", "2", "--columns", "8",
                   "--out", in("f.csv"), NULL);
    program_expect(2, "info", in("nowhere"), NULL);
    assert_null(strstr(program_err, "name the file"));
}

/* A trained step size, which five steps of a tiny rate have hardly moved from its start. */
static void test_info(void **state)
{
    char path[TEST_PATH];
    size_t found = 0;
    (void)state;
    program_expect(0, "gp", TINY, "--arms", "cem", "--hist", "fixed", "--learned-eta", "--eta",
                   "0.375", "--lr", "1e-7", "--out", in("eta"), NULL);
    (void)test_path(path, "eta/gp-1-cem-fixed-t2-l1-s1.safetensors");
    program_expect(0, "info", path, "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "family", "cem");
    assert_word(member(object, "data"), "task", "gp-1");
    assert_true(number(object, "steps") == 5);
    const cJSON *tensors = member(object, "tensors");
    for (const cJSON *item = tensors->child; item != NULL; item = item->next) {
        const char *name = member(item, "name")->valuestring;
        const bool scalar = number(item, "parameters") == 1;
        assert_true(scalar == (cJSON_GetObjectItemCaseSensitive(item, "value") != NULL));
        if (strcmp(name, "layers.0.attn.eta") == 0 || strcmp(name, "layers.0.mlp.eta") == 0) {
            assert_near(number(item, "value"), 0.375, 1e-5);
            found++;
        }
    }
    assert_int_equal(found, 2);
    cJSON_Delete(object);
    program_expect(0, "info", path, NULL);
    assert_non_null(strstr(program_out, "data     Gaussian process gp-1: "));
    assert_non_null(strstr(program_out, "  = 0.375\n"));
}

/* Replaces bytes of a file by as many others. */
static void patch(const char *path, const char *old, const char *new)
{
    char *text = NULL;
    size_t size = 0;
    kern_error err = {0};
    const size_t n = strlen(old);
    assert_int_equal(strlen(new), n);
    assert_int_equal(model_file_read(path, (size_t)1 << 24, &text, &size, &err), KERN_OK);
    size_t at = 0;
    while (at + n < size && memcmp(text + at, old, n) != 0) {
        at++;
    }
    assert_true(at + n < size);
    memcpy(text + at, new, n);
    test_write(path, text, size);
    free(text);
}

static void test_a_step_that_is_no_number(void **state)
{
    char path[TEST_PATH];
    (void)state;
    (void)test_path(path, "eta/gp-1-cem-fixed-t2-l1-s1.safetensors");
    patch(path, "\"step\":\"5\"", "\"step\":\"x\"");
    program_expect(2, "info", path, NULL);
    program_complained("no step that is a whole number");
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *complaint;
    } cases[] = {{"--task", "gp-9", "--task"},
                 {"--steps", "0", "--steps"},
                 {"--steps", "1,,2", "--steps"},
                 {"--steps", "1,2,", "--steps"},
                 {"--steps", "4x", "--steps"},
                 {"--hist", "fixed,old", "--hist"},
                 {"--arms", "gpt", "--arms"},
                 {"--seeds", "0", "--seeds"},
                 {"--eval-steps", "2000", "1 to 1024"},
                 {"--eval-sequences", "1", "--eval-sequences"},
                 {"--lr", "0", "--lr"},
                 {"--norm", "twice", "--norm"},
                 {"--heads", "3", "n_embed"},
                 {"--train-steps", "0", "--train-steps"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        program_expect(2, "gp", cases[i].option, cases[i].value, "--out", in("r"), NULL);
        program_complained(cases[i].complaint);
    }
    program_expect(2, "gp", "--steps", "1", NULL);
    program_complained("--out");
    program_expect(2, "gp", TINY, "--lr", "0.5", "--out", in("a"), NULL);
    program_complained("other settings");
    program_expect(2, "gp", TINY, "--arms", "tied-deep", "--steps", "1", "--out", in("r"), NULL);
    program_complained("nothing to train");
}

/* A model whose numbers run away ends with exit status 1 and is named. */
static void test_broken_arm(void **state)
{
    (void)state;
    program_expect(1, "gp", "--arms", "cem,llama", "--steps", "12", "--hist", "fixed", "--seeds",
                   "1", "--eta", "1000000", "--norm", "once", "--train-steps", "3", "--batch", "2",
                   "--eval-sequences", "4", "--eval-steps", "1", "--out", in("x"), "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "broken"), 1);
    assert_int_equal(count(object, "rows"), 6);
    cJSON_Delete(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_quick),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_other_commands),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_a_step_that_is_no_number),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_broken_arm),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
