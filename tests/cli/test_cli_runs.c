/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whole work flows with the built program on models that train in a moment.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <errno.h>
#include <math.h>
#include <sys/file.h>
#include <time.h>

/* Everything that fixes a small training but its family, folder and length. */
#define SMALL                                                                                      \
    "--data", "listops:generate=300", "--width", "8", "--batch", "4", "--window", "16",            \
        "--threads", "2", "--eval-batches", "1", "--log-every", "1"
#define PROMPT "max_10 ( 2 9 3 ) ="

static void train(const char *family, const char *name, const char *steps)
{
    program_expect(0, "train", "--family", family, SMALL, "--out", in(name), "--steps", steps,
                   "--schedule", "constant", "--warmup", "0", "--json", NULL);
}

static bool exists(const char *name)
{
    return access(in(name), F_OK) == 0;
}

static void assert_same_run(const char *a, const char *b)
{
    char one[TEST_PATH];
    char two[TEST_PATH];
    static const char *const files[] = {"model.safetensors", "optimizer.safetensors"};
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(one, sizeof one, "%.200s/%s", a, files[i]);
        (void)snprintf(two, sizeof two, "%.200s/%s", b, files[i]);
        if (!same_files(in(one), in(two))) {
            fail_msg("%s and %s differ", one, two);
        }
    }
}

/* ---- One run from end to end ------------------------------------------------------------- */

static void test_train_reports(void **state)
{
    (void)state;
    train("nrgpt", "run", "30");
    cJSON *object = program_json();
    assert_true(number(object, "steps") >= 30);
    assert_true(number(object, "parameters") > 100);
    assert_true(number(object, "tokens_per_s") > 0);
    const double loss = number(object, "loss");
    const double val_loss = number(object, "val_loss");
    assert_true(loss > 0.5 && loss < 3.2 && val_loss > 0.5 && val_loss < 3.2);
    cJSON_Delete(object);
    program_read("run/metrics.csv", program_out);
    assert_int_equal(strncmp(program_out, "step,tokens,loss,val_loss", 25), 0);
    assert_non_null(strstr(program_out, "\n30,1920,"));
    assert_int_equal(test_count_entries(in("run")), 4);
}

static void test_info_counts(void **state)
{
    (void)state;
    program_expect(0, "info", in("run"), "--json", NULL);
    cJSON *object = program_json();
    double sum = 0;
    const cJSON *tensor;
    cJSON_ArrayForEach(tensor, cJSON_GetObjectItemCaseSensitive(object, "tensors"))
    {
        sum += number(tensor, "parameters");
    }
    assert_true(fabs(sum - number(object, "parameters")) < 0.5);
    const double forward = number(member(object, "flops_per_token"), "forward");
    assert_true(forward > 2 * 8 * 8);
    assert_true(fabs(number(member(object, "flops_per_token"), "training") - 3 * forward) < 1e-6);
    assert_true(number(member(object, "config"), "n_embed") >= 8);
    cJSON_Delete(object);
    program_expect(0, "info", in("run"), NULL);
    assert_non_null(strstr(program_out, "token_embedding_table.weight"));
    assert_non_null(strstr(program_out, "listops:generate=300,seed=42"));
}

/* The weights alone are a model too: the same one, with tokens written as numbers. */
static void test_weights_file_is_a_model(void **state)
{
    (void)state;
    program_expect(0, "info", in("run"), "--json", NULL);
    cJSON *whole = program_json();
    program_expect(0, "info", in("run/model.safetensors"), "--json", NULL);
    cJSON *weights = program_json();
    assert_true(number(weights, "parameters") == number(whole, "parameters"));
    assert_true(number(weights, "steps") == number(whole, "steps"));
    assert_true(number(whole, "steps") > 0);
    cJSON_Delete(whole);
    cJSON_Delete(weights);
    program_expect(0, "trace", in("run/model.safetensors"), "--prompt", "4 12 3", "--steps", "3",
                   "--out", in("weights.h5"), NULL);
    program_expect(2, "trace", in("run/model.safetensors"), "--prompt", "max_10", "--steps", "3",
                   "--out", in("weights.h5"), NULL);
    program_complained("--prompt");
}

static void test_eval_scores(void **state)
{
    (void)state;
    program_expect(0, "eval", in("run"), "--n-prompts", "20", "--max-new", "8", "--json", NULL);
    cJSON *object = program_json();
    const double loss = number(object, "val_loss");
    assert_true(fabs(number(object, "perplexity") - exp(loss)) < 1e-9 * exp(loss));
    assert_true(number(object, "n") > 100);
    const double greedy = number(member(object, "accuracy"), "greedy");
    const double sampled = number(member(object, "accuracy"), "sampled");
    assert_true(greedy >= 0 && greedy <= 1 && sampled >= 0 && sampled <= 1);
    assert_true(number(member(object, "accuracy"), "n") >= 20);
    cJSON_Delete(object);
    program_expect(0, "eval", in("run"), "--n-prompts", "20", "--max-new", "8", "--part", "all",
                   NULL);
    assert_non_null(strstr(program_out, "chance"));
}

static void test_eval_of_test_prompts_alone(void **state)
{
    static const char text[] = "max_10 ( 2 9 3 ) =\t9\nadd_10 ( 6 5 ) =\t1\n";
    (void)state;
    test_write(in("alone_test.tsv"), text, sizeof text - 1);
    char spec[2 * TEST_PATH];
    (void)snprintf(spec, sizeof spec, "listops:%s", in("alone_test.tsv"));
    program_expect(0, "eval", in("run"), "--data", spec, "--json", NULL);
    cJSON *object = program_json();
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(object, "val_loss")));
    assert_true(number(member(object, "accuracy"), "n") <= 2);
    cJSON_Delete(object);
}

static void test_generate_is_repeatable(void **state)
{
    char first[PROGRAM_TEXT];
    (void)state;
    program_expect(0, "generate", in("run"), "--prompt", PROMPT, "--seed", "7", "--json", NULL);
    cJSON *object = program_json();
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "text"));
    assert_non_null(text);
    assert_int_equal(strncmp(text, PROMPT, strlen(PROMPT)), 0);
    cJSON_Delete(object);
    (void)snprintf(first, sizeof first, "%s", program_out);
    program_expect(0, "generate", in("run"), "--prompt", PROMPT, "--seed", "7", "--json", NULL);
    assert_string_equal(first, program_out);
    program_expect(0, "generate", in("run"), "--prompt", PROMPT, "--seed", "8", "--json", NULL);
    assert_string_not_equal(first, program_out);
    program_expect(0, "generate", in("run"), "--prompt", PROMPT, "--greedy", NULL);
    assert_int_equal(strncmp(program_out, PROMPT, strlen(PROMPT)), 0);
}

static void test_trace_writes_file_and_figure(void **state)
{
    (void)state;
    program_expect(0, "trace", in("run"), "--prompt", PROMPT, "--steps", "6", "--out",
                   in("trace.h5"), "--figure", in("trace.svg"), "--json", NULL);
    cJSON *object = program_json();
    const cJSON *energy = cJSON_GetObjectItemCaseSensitive(object, "energy");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(object, "tokens")), 7);
    assert_int_equal(cJSON_GetArraySize(energy), 7);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetArrayItem(energy, 3)), 7);
    assert_true(number(object, "steps") >= 6);
    const double rising = number(object, "rising_fraction");
    assert_true(rising >= 0 && rising <= 1);
    cJSON_Delete(object);
    assert_true(exists("trace.h5") && exists("trace.svg"));
    program_expect(2, "trace", in("run"), "--prompt", PROMPT, "--out", in("never.h5"), "--figure",
                   in("never.bmp"), NULL);
    program_complained("--figure");
    assert_false(exists("never.h5"));
}

/* Refused before anything is computed or written. */
static void trace_refused(const char *out, const char *figure, const char *part)
{
    program_expect(2, "trace", in("run"), "--prompt", PROMPT, "--out", out, "--figure", figure,
                   NULL);
    program_complained(part);
}

static void test_trace_spares_other_files(void **state)
{
    (void)state;
    char out[TEST_PATH];
    char figure[TEST_PATH];
    struct stat info;
    trace_refused(test_path(out, "one.csv"), test_path(figure, "one.csv"), "the same file");
    trace_refused(out, test_path(figure, "./run/../one.csv"), "the same file");
    assert_int_equal(symlink(".", in("here")), 0);
    trace_refused(out, test_path(figure, "here/one.csv"), "the same file");
    trace_refused(out, test_path(figure, "no-folder/one.csv"), "--figure");
    trace_refused(out, test_path(figure, "run"), "--figure");
    trace_refused(test_path(out, "no-folder/one.h5"), test_path(figure, "one.csv"), "--out");
    trace_refused(test_path(out, "run/model.safetensors"), figure, "is not an HDF5 file");
    program_expect(0, "info", in("run"), NULL);
    assert_int_equal(mkfifo(test_path(out, "fifo.h5"), 0600), 0);
    trace_refused(out, figure, "is a device or a pipe");
    assert_int_equal(lstat(out, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    assert_false(exists("one.csv"));
    assert_int_equal(unlink(in("here")), 0);
}

static void test_prompts_that_do_not_fit(void **state)
{
    (void)state;
    program_expect(2, "generate", in("run"), "--prompt", "max_10 ( 2 eleven ) =", NULL);
    program_complained("eleven");
    assert_non_null(strstr(program_err, "--prompt"));
    program_expect(2, "generate", in("run"), "--prompt", "", NULL);
    program_complained("--prompt is empty");
    program_expect(2, "trace", in("run"), "--prompt", "hello", "--out", in("never.h5"), NULL);
    program_complained("hello");
    program_expect(2, "trace", in("run"), "--out", in("never.h5"), "--prompt",
                   "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", NULL);
    program_complained("17 tokens; accepted are at most 16");
    assert_false(exists("never.h5"));
}

static void test_existing_runs_are_kept(void **state)
{
    (void)state;
    program_expect(2, "train", "--family", "nrgpt", SMALL, "--steps", "1", "--out", in("run"),
                   NULL);
    assert_non_null(strstr(program_err, "already holds a run"));
    program_expect(2, "eval", in("run"), "--data", "chars:/dev/null", NULL);
    program_complained("kind \"word\"");
}

/* ---- Going on ---------------------------------------------------------------------------- */

static void test_resume_is_exact(void **state)
{
    (void)state;
    train("nrgpt", "whole", "20");
    train("nrgpt", "parts", "9");
    program_expect(0, "train", "--resume", "--out", in("parts"), "--steps", "20", "--eval-batches",
                   "1", "--log-every", "1", NULL);
    assert_same_run("whole", "parts");
    /* The whole first command line may stand again, as long as it agrees. */
    program_expect(0, "train", "--family", "nrgpt", SMALL, "--out", in("parts"), "--steps", "20",
                   "--resume", NULL);
    program_expect(2, "train", "--resume", "--out", in("parts"), "--width", "9", NULL);
    program_complained("--width is 9, but the run to be resumed has 8");
    program_expect(2, "train", "--resume", "--out", in("parts"), "--data", "listops:generate=301",
                   "--steps", "21", NULL);
    assert_non_null(strstr(program_err, "data"));
}

static void wait_for_rows(const char *name)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    static char text[PROGRAM_TEXT];
    for (int i = 0; i < 30000; i++) {
        program_read(name, text);
        const char *header = strchr(text, '\n');
        if (header != NULL && strchr(header + 1, '\n') != NULL) {
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
    fail_msg("%s has no rows after a minute", name);
}

/* Starts a training, interrupts it once it is under way, and returns when it has ended. */
static void interrupt(int number, const char *name, const char *steps)
{
    char metrics[TEST_PATH];
    const pid_t child =
        program_launch("train", "--family", "nrgpt", SMALL, "--out", in(name), "--steps", steps,
                       "--schedule", "constant", "--warmup", "0", NULL);
    (void)snprintf(metrics, sizeof metrics, "%.200s/metrics.csv", name);
    wait_for_rows(metrics);
    assert_int_equal(kill(child, number), 0);
    program_finish(child);
}

static void test_interruption_and_resume(void **state)
{
    (void)state;
    train("nrgpt", "straight", "400");
    interrupt(SIGINT, "broken", "400");
    assert_int_equal(program_code, 130);
    assert_non_null(strstr(program_err, "--resume"));
    assert_string_equal(program_out, "");
    program_expect(0, "info", in("broken"), NULL);
    program_expect(0, "train", "--resume", "--out", in("broken"), "--eval-batches", "1", NULL);
    assert_same_run("straight", "broken");
    interrupt(SIGTERM, "ended", "1000000");
    assert_int_equal(program_code, 130);
    interrupt(SIGHUP, "hung-up", "1000000");
    assert_int_equal(program_code, 130);
    assert_non_null(strstr(program_err, "is saved in"));
}

static int open_folder(const char *name)
{
    const int folder = open(in(name), O_RDONLY | O_CLOEXEC);
    assert_true(folder >= 0);
    return folder;
}

static void test_one_training_at_a_time(void **state)
{
    (void)state;
    train("nrgpt", "shared", "2");
    const int folder = open_folder("shared");
    assert_int_equal(flock(folder, LOCK_EX | LOCK_NB), 0);
    program_expect(2, "train", "--resume", "--out", in("shared"), "--steps", "3", NULL);
    program_complained("another process is training in");
    program_complained(in("shared"));
    program_expect(2, "train", "--family", "nrgpt", SMALL, "--out", in("shared"), "--steps", "1",
                   "--overwrite", NULL);
    assert_non_null(strstr(program_err, "another process is training in"));
    program_expect(0, "info", in("shared"), NULL); /* readers need no lock */
    assert_int_equal(close(folder), 0);
    train("nrgpt", "shared-2", "2");
    assert_same_run("shared", "shared-2");
    assert_int_equal(test_count_entries(in("shared")), 4);
}

/* The lock lasts from the first change of the folder to the end of the training. */
static void test_training_holds_its_folder(void **state)
{
    (void)state;
    const pid_t child = program_launch("train", "--family", "nrgpt", SMALL, "--out", in("held"),
                                       "--steps", "1000000", NULL);
    wait_for_rows("held/metrics.csv");
    const int folder = open_folder("held");
    const int locked = flock(folder, LOCK_EX | LOCK_NB);
    assert_int_equal(kill(child, SIGTERM), 0);
    program_finish(child);
    assert_int_not_equal(locked, 0);
    assert_int_equal(flock(folder, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(close(folder), 0);
}

/* ---- Damage ------------------------------------------------------------------------------ */

static void copy_file(const char *from, const char *to)
{
    static char data[1 << 20];
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    const size_t n = fread(data, 1, sizeof data, file);
    assert_int_equal(fclose(file), 0);
    test_write(to, data, n);
}

static void test_weights_of_another_family(void **state)
{
    (void)state;
    train("gpt-rec", "other", "1");
    program_expect(0, "generate", in("other"), "--prompt", PROMPT, NULL);
    program_expect(2, "trace", in("other"), "--prompt", PROMPT, "--out", in("never.h5"), NULL);
    program_complained("energy");
    train("nrgpt", "mixed", "1");
    copy_file(in("other/model.safetensors"), in("mixed/model.safetensors"));
    program_expect(2, "info", in("mixed"), NULL);
    program_complained("gpt-rec");
    assert_non_null(strstr(program_err, "nrgpt"));
}

static void spoil_weights(const char *name, uint32_t bits)
{
    FILE *file = fopen(in(name), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -4, SEEK_END), 0);
    assert_int_equal(fwrite(&bits, sizeof bits, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void test_weights_that_are_no_numbers(void **state)
{
    (void)state;
    train("nrgpt", "spoilt", "1");
    spoil_weights("spoilt/model.safetensors", 0x7fc00000u);
    program_expect(2, "info", in("spoilt"), NULL);
    program_complained("model.safetensors");
    spoil_weights("spoilt/model.safetensors", 0x7f800000u);
    program_expect(2, "eval", in("spoilt"), "--json", NULL);
    program_complained("model.safetensors");
    assert_int_equal(truncate(in("spoilt/model.safetensors"), 100), 0);
    program_expect(2, "generate", in("spoilt"), "--prompt", PROMPT, NULL);
    program_complained("model.safetensors");
}

/* A changed bit that leaves a number is found by every command that reads the weights. */
static void test_weights_that_are_other_numbers(void **state)
{
    (void)state;
    static const char part[] = "is damaged: its weights differ from their checksum";
    train("nrgpt", "flipped", "1");
    spoil_weights("flipped/model.safetensors", 0x3f9d0000u);
    program_expect(2, "info", in("flipped"), NULL);
    program_complained(part);
    program_expect(2, "info", in("flipped/model.safetensors"), NULL);
    program_complained(part);
    program_expect(2, "eval", in("flipped"), "--json", NULL);
    program_complained(part);
    program_expect(2, "generate", in("flipped"), "--prompt", PROMPT, NULL);
    program_complained(part);
    program_expect(2, "trace", in("flipped"), "--prompt", PROMPT, "--out", in("never.h5"), NULL);
    program_complained(part);
    program_expect(2, "train", "--resume", "--out", in("flipped"), "--steps", "2", NULL);
    assert_non_null(strstr(program_err, part));
}

static void test_refused_resume_changes_nothing(void **state)
{
    (void)state;
    train("nrgpt", "table", "1");
    copy_file(in("table/config.json"), in("config-before.json"));
    test_write(in("table/metrics.csv"), "no,table\n", 9);
    program_expect(2, "train", "--resume", "--out", in("table"), "--steps", "5", NULL);
    assert_non_null(strstr(program_err, "metrics.csv"));
    assert_true(same_files(in("table/config.json"), in("config-before.json")));
}

static void test_divergence_keeps_the_checkpoint(void **state)
{
    (void)state;
    program_expect(1, "train", "--family", "nrgpt", SMALL, "--out", in("wild"), "--steps", "500",
                   "--lr", "1e6", "--clip", "0", "--warmup", "0", "--depth", "8", "--json", NULL);
    assert_non_null(strstr(program_err, "not finite"));
    assert_non_null(strstr(program_err, "is kept in"));
    assert_non_null(strstr(program_err, "a fresh run with a lower one may help"));
    assert_string_equal(program_out, "");
    program_expect(0, "info", in("wild"), "--json", NULL);
}

/* A limit on file sizes acts like a disk that is full. */
static void test_full_disk(void **state)
{
    (void)state;
    program_setup.file_limit = 2048;
    program_expect(2, "train", "--family", "nrgpt", SMALL, "--out", in("full"), "--steps", "1",
                   NULL);
    assert_non_null(strstr(program_err, "model.safetensors"));
    assert_false(exists("full/model.safetensors"));
    assert_true(!exists("full") || test_count_entries(in("full")) <= 1);
    program_setup.file_limit = 2048;
    program_expect(2, "trace", in("run"), "--prompt", PROMPT, "--steps", "200", "--out",
                   in("full.h5"), NULL);
    program_complained(strerror(EFBIG));
    assert_false(exists("full.h5"));
    program_setup.file_limit = 1024;
    program_expect(2, "train", "--resume", "--out", in("run"), "--steps", "31", NULL);
    program_expect(0, "info", in("run"), NULL);
    program_setup.stdout_path = "/dev/full";
    program_expect(2, "info", in("run"), "--json", NULL);
    assert_non_null(strstr(program_err, "standard output"));
}

static void test_overwriting(void **state)
{
    (void)state;
    train("nrgpt", "old", "3");
    train("nrgpt", "old-2", "3");
    /* The last limit lets the first of the two files pass. */
    for (size_t limit = 1024; limit <= 8192; limit *= 2) {
        program_setup.file_limit = limit;
        program_expect(2, "train", "--family", "nrgpt", SMALL, "--out", in("old"), "--steps", "1",
                       "--overwrite", NULL);
        assert_non_null(strstr(program_err, ".safetensors"));
        assert_same_run("old", "old-2");
        assert_int_equal(test_count_entries(in("old")), 4);
    }
    program_expect(0, "train", "--resume", "--out", in("old"), "--steps", "4", NULL);
    program_expect(0, "train", "--family", "nrgpt", SMALL, "--out", in("old"), "--steps", "3",
                   "--schedule", "constant", "--warmup", "0", "--overwrite", NULL);
    assert_same_run("old", "old-2");
    assert_int_equal(test_count_entries(in("old")), 4);
}

/* ---- Characters -------------------------------------------------------------------------- */

static void test_characters(void **state)
{
    char spec[2 * TEST_PATH];
    char text[2000];
    (void)state;
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = "to be, or not to be\n"[i * 7 % 20];
    }
    test_write(in("text.txt"), text, sizeof text);
    (void)snprintf(spec, sizeof spec, "chars:%s", in("text.txt"));
    program_expect(0, "train", "--family", "gpt", "--data", spec, "--width", "8", "--heads", "2",
                   "--depth", "2", "--batch", "4", "--window", "16", "--steps", "5", "--threads",
                   "1", "--out", in("chars"), NULL);
    assert_non_null(strstr(program_out, "val_loss"));
    program_expect(0, "eval", in("chars"), "--json", NULL);
    cJSON *object = program_json();
    assert_null(cJSON_GetObjectItemCaseSensitive(object, "accuracy"));
    cJSON_Delete(object);
    program_expect(2, "generate", in("chars"), "--prompt", "to be x", NULL);
    program_complained("x");
    assert_non_null(strstr(program_err, "--prompt"));
    program_expect(2, "eval", in("chars"), "--prompts", in("alone_test.tsv"), NULL);
    program_complained("--prompts goes with --data listops");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_reports),
        cmocka_unit_test(test_info_counts),
        cmocka_unit_test(test_weights_file_is_a_model),
        cmocka_unit_test(test_eval_scores),
        cmocka_unit_test(test_eval_of_test_prompts_alone),
        cmocka_unit_test(test_generate_is_repeatable),
        cmocka_unit_test(test_trace_writes_file_and_figure),
        cmocka_unit_test(test_trace_spares_other_files),
        cmocka_unit_test(test_prompts_that_do_not_fit),
        cmocka_unit_test(test_existing_runs_are_kept),
        cmocka_unit_test(test_resume_is_exact),
        cmocka_unit_test(test_interruption_and_resume),
        cmocka_unit_test(test_one_training_at_a_time),
        cmocka_unit_test(test_training_holds_its_folder),
        cmocka_unit_test(test_weights_of_another_family),
        cmocka_unit_test(test_weights_that_are_no_numbers),
        cmocka_unit_test(test_weights_that_are_other_numbers),
        cmocka_unit_test(test_refused_resume_changes_nothing),
        cmocka_unit_test(test_divergence_keeps_the_checkpoint),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_overwriting),
        cmocka_unit_test(test_characters),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
