/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_checkpoint.h"
#include "models/model_file.h"
#include "tests/models/model_test_folder.h"
#include "tests/models/model_test_tiny.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { STEPS = 20, BREAK = 11, KILLS = 25, LIMIT = 1 << 24 };

static const char *program; /* this test, to be started again as the process that is killed */

/* ---- Helpers ----------------------------------------------------------------------------- */

static model_stream stream;

static int make_all(void **state)
{
    tiny_stream(&stream, 900, 20);
    return test_folder_make(state);
}

static int remove_all(void **state)
{
    model_stream_fini(&stream);
    return test_folder_remove(state);
}

/* A new empty folder in the test's own. */
static const char *folder_named(char out[TEST_PATH], const char *name)
{
    test_path(out, name);
    test_remove_tree(out);
    assert_int_equal(mkdir(out, 0777), 0);
    return out;
}

static const char *in_folder(char out[TEST_PATH], const char *folder, const char *name)
{
    (void)snprintf(out, TEST_PATH, "%.250s/%.200s", folder, name);
    return out;
}

static void copy_file(const char *folder, const char *from, const char *to)
{
    char path[TEST_PATH];
    char *data = NULL;
    size_t size = 0;
    TINY_OK(model_file_read(in_folder(path, folder, from), LIMIT, &data, &size, tiny_err));
    test_write(in_folder(path, folder, to), data, size);
    free(data);
}

static void assert_same_state(const tiny_run *a, const tiny_run *b)
{
    const size_t bytes = a->m->params.length * sizeof(float);
    assert_int_equal(a->t->step, b->t->step);
    assert_int_equal(a->t->optimizer.steps, b->t->optimizer.steps);
    assert_memory_equal(a->m->values, b->m->values, bytes);
    assert_memory_equal(a->t->optimizer.m, b->t->optimizer.m, bytes);
    assert_memory_equal(a->t->optimizer.v, b->t->optimizer.v, bytes);
}

static void assert_load_refused(const char *folder, const model_config *config,
                                const model_stream *data, const model_training *training,
                                kern_status status, const char *part)
{
    char note[MODEL_CHECKPOINT_NOTE];
    kern_error err = {KERN_OK, ""};
    tiny_run run = tiny_start(config, data, training);
    assert_int_equal(model_checkpoint_load(folder, run.t, note, &err), status);
    test_error(&err, status, part);
    tiny_stop(&run);
}

/* ---- Continuing -------------------------------------------------------------------------- */

/* 20 steps at once, and 11 + 9 with everything destroyed between them. */
static void check_continues(const model_config *config, const model_training *training)
{
    char folder[TEST_PATH];
    char note[MODEL_CHECKPOINT_NOTE];
    double whole[STEPS];
    double parts[STEPS];
    folder_named(folder, "continue");
    tiny_run a = tiny_start(config, &stream, training);
    tiny_train(&a, STEPS, whole);

    tiny_run b = tiny_start(config, &stream, training);
    tiny_train(&b, BREAK, parts);
    TINY_OK(model_checkpoint_save(folder, b.t, tiny_err));
    assert_int_equal(test_count_entries(folder), 2);
    tiny_stop(&b);

    tiny_run c = tiny_start(config, &stream, training);
    tiny_train(&c, 2, parts + BREAK); /* what is loaded replaces all of it */
    tiny_stop(&c);
    c = tiny_start(config, &stream, training);
    TINY_OK(model_checkpoint_load(folder, c.t, note, tiny_err));
    assert_string_equal(note, "");
    assert_int_equal(c.t->step, BREAK);
    tiny_train(&c, STEPS - BREAK, parts + BREAK);
    assert_memory_equal(whole, parts, sizeof whole);
    assert_true(fabs(whole[0] - whole[STEPS - 1]) > 1e-3);
    assert_same_state(&a, &c);
    tiny_stop(&a);
    tiny_stop(&c);
}

static void test_continues_bit_for_bit(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        for (int dropout = 0; dropout < 2; dropout++) {
            model_config config = tiny_config(MODEL_NRGPT);
            model_training training = tiny_training(threads);
            config.dropout = dropout == 0 ? 0.0 : 0.2;
            check_continues(&config, &training);
            training.batch = 1; /* fewer windows than threads: one lane with several workers */
            check_continues(&config, &training);
        }
    }
    model_config config = tiny_config(MODEL_GPT);
    model_training training = tiny_training(2);
    config.dropout = 0.1;
    training.micro_batch = 3;
    training.recompute = true;
    training.schedule.kind = MODEL_SCHEDULE_COSINE;
    training.seed = UINT64_MAX - 5; /* not a number that JSON can hold */
    check_continues(&config, &training);
    for (unsigned family = MODEL_LLAMA; family <= MODEL_HOURGLASS; family++) {
        config = tiny_config((model_family)family);
        config.cem.precond = MODEL_PRECOND_DLR;
        config.hourglass.widths = (model_widths){.count = 4, .at = {3, 4, 5, 6}};
        check_continues(&config, &training);
    }
}

/* Dropout must be at work above, or its stream could be lost unnoticed. */
static void test_dropout_matters(void **state)
{
    (void)state;
    double losses[2][3];
    const model_training training = tiny_training(1);
    for (size_t i = 0; i < 2; i++) {
        model_config config = tiny_config(MODEL_NRGPT);
        config.dropout = i == 0 ? 0.0 : 0.2;
        tiny_run run = tiny_start(&config, &stream, &training);
        tiny_train(&run, 3, losses[i]);
        tiny_stop(&run);
    }
    assert_memory_not_equal(losses[0], losses[1], sizeof losses[0]);
}

static void test_other_threads_are_noted(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char note[MODEL_CHECKPOINT_NOTE];
    double losses[2];
    const model_config config = tiny_config(MODEL_NRGPT);
    model_training training = tiny_training(1);
    folder_named(folder, "threads");
    tiny_run run = tiny_start(&config, &stream, &training);
    tiny_train(&run, 2, losses);
    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    tiny_stop(&run);
    training.threads = 2;
    training.schedule.total = 4000; /* a constant schedule may be extended */
    training.schedule.floor = 5e-4; /* and does not look at its floor */
    run = tiny_start(&config, &stream, &training);
    TINY_OK(model_checkpoint_load(folder, run.t, note, tiny_err));
    assert_non_null(strstr(note, "2 threads"));
    tiny_train(&run, 1, losses);
    tiny_stop(&run);
}

/* ---- Refusals ---------------------------------------------------------------------------- */

typedef void change_settings(model_training *t);

static void change_batch(model_training *t)
{
    t->batch = 4;
}
static void change_window(model_training *t)
{
    t->window = 12;
}
static void change_seed(model_training *t)
{
    t->seed = 78;
}
static void change_beta1(model_training *t)
{
    t->adamw.beta1 = 0.8;
}
static void change_beta2(model_training *t)
{
    t->adamw.beta2 = 0.999;
}
static void change_epsilon(model_training *t)
{
    t->adamw.epsilon = 1e-7;
}
static void change_decay(model_training *t)
{
    t->adamw.weight_decay = 0.1;
}
static void change_decay_vectors(model_training *t)
{
    t->adamw.decay_vectors = true;
}
static void change_clip(model_training *t)
{
    t->adamw.clip = 0.5;
}
static void change_kind(model_training *t)
{
    t->schedule.kind = MODEL_SCHEDULE_CONSTANT;
}
static void change_peak(model_training *t)
{
    t->schedule.peak = 4e-3;
}
static void change_floor(model_training *t)
{
    t->schedule.floor = 2e-3;
}
static void change_warmup(model_training *t)
{
    t->schedule.warmup = 5;
}
static void change_total(model_training *t)
{
    t->schedule.total = 41;
}

static const struct {
    change_settings *change;
    const char *part;
} changes[] = {
    {change_batch, "the batch is 4 but the run was trained with 6"},
    {change_window, "the window is 12"},
    {change_seed, "the seed is 78"},
    {change_beta1, "beta1 is 0.8 but the run was trained with 0.9"},
    {change_beta2, "beta2 is 0.999"},
    {change_epsilon, "epsilon is 1e-07"},
    {change_decay, "the weight decay is 0.1"},
    {change_decay_vectors, "the decay of vectors is 1"},
    {change_clip, "the clipping norm is 0.5"},
    {change_kind, "the schedule is constant but the run was trained with cosine"},
    {change_peak, "the learning rate is 0.004"},
    {change_floor, "the final learning rate is 0.002"},
    {change_warmup, "the warm-up is 5"},
    {change_total, "41 steps in all would change the cosine schedule of the 40 steps"},
};

static void test_changed_settings_are_refused(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    double losses[2];
    const model_config config = tiny_config(MODEL_NRGPT);
    model_training training = tiny_training(1);
    training.schedule.kind = MODEL_SCHEDULE_COSINE;
    folder_named(folder, "changes");
    tiny_run run = tiny_start(&config, &stream, &training);
    tiny_train(&run, 2, losses);
    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    tiny_stop(&run);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        model_training other = training;
        changes[i].change(&other);
        assert_load_refused(folder, &config, &stream, &other, KERN_INVALID_ARGUMENT,
                            changes[i].part);
    }

    model_stream data;
    tiny_stream(&data, 900, 19);
    assert_load_refused(folder, &config, &data, &training, KERN_INVALID_ARGUMENT,
                        "the data (810 training tokens) are not those");
    model_stream_fini(&data);

    model_config other = config;
    other.beta = 0.5;
    assert_load_refused(folder, &other, &stream, &training, KERN_BAD_INPUT, "whose \"beta\"");
    other = tiny_config(MODEL_GPT);
    assert_load_refused(folder, &other, &stream, &training, KERN_BAD_INPUT,
                        "holds a model of family nrgpt; expected is gpt");
}

/* Writes over one byte of a file, `back` bytes before its end. */
static void spoil(const char *folder, const char *name, size_t back)
{
    char path[TEST_PATH];
    char *data = NULL;
    size_t size = 0;
    TINY_OK(model_file_read(in_folder(path, folder, name), LIMIT, &data, &size, tiny_err));
    data[size - back] = (char)(data[size - back] ^ 1);
    test_write(path, data, size);
    free(data);
}

static void test_damage_is_refused(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char path[TEST_PATH];
    double losses[2];
    const model_config config = tiny_config(MODEL_NRGPT);
    const model_training training = tiny_training(1);
    tiny_run run = tiny_start(&config, &stream, &training);
    folder_named(folder, "damage");
    assert_load_refused(folder, &config, &stream, &training, KERN_NOT_FOUND, "nothing was saved");
    assert_load_refused("/nonexistent-folder", &config, &stream, &training, KERN_NOT_FOUND,
                        "/nonexistent-folder");
    kern_error err = {KERN_OK, ""};
    assert_int_not_equal(model_checkpoint_save("/nonexistent-folder", run.t, &err), KERN_OK);
    assert_non_null(strstr(err.text, "/nonexistent-folder"));

    tiny_train(&run, 2, losses);
    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    spoil(folder, MODEL_RUN_MODEL, 4);
    assert_load_refused(folder, &config, &stream, &training, KERN_BAD_INPUT, "its weights differ");
    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    spoil(folder, MODEL_RUN_OPTIMIZER, 40);
    assert_load_refused(folder, &config, &stream, &training, KERN_BAD_INPUT,
                        "the random numbers differ");
    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    test_write(in_folder(path, folder, MODEL_RUN_OPTIMIZER), "xyz", 3);
    assert_load_refused(folder, &config, &stream, &training, KERN_BAD_INPUT,
                        "optimizer.safetensors");

    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    run.t->optimizer.m[run.m->params.items[2].offset + 1] = NAN;
    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    assert_load_refused(folder, &config, &stream, &training, KERN_BAD_INPUT, "exp_avg/");
    run.t->optimizer.m[run.m->params.items[2].offset + 1] = 0;
    run.t->optimizer.v[run.m->params.items[3].offset] = -1;
    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    assert_load_refused(folder, &config, &stream, &training, KERN_BAD_INPUT, "is at least 0");
    tiny_stop(&run);
}

/* ---- Breaks, one by one ------------------------------------------------------------------ */

static size_t recovered_step(const char *folder)
{
    size_t step = 0;
    TINY_OK(model_checkpoint_recover(folder, &step, tiny_err));
    assert_int_equal(test_count_entries(folder), 2);
    return step;
}

/* Saves pairs at step 3 ("old"), at 5 ("new"), and at 5 of another training ("odd"). */
static void make_pairs(const char *folder)
{
    double losses[3];
    const model_config config = tiny_config(MODEL_NRGPT);
    model_training training = tiny_training(1);
    tiny_run run = tiny_start(&config, &stream, &training);
    tiny_train(&run, 3, losses);
    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    copy_file(folder, MODEL_RUN_MODEL, "old.model");
    copy_file(folder, MODEL_RUN_OPTIMIZER, "old.optimizer");
    tiny_train(&run, 2, losses);
    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    copy_file(folder, MODEL_RUN_MODEL, "new.model");
    copy_file(folder, MODEL_RUN_OPTIMIZER, "new.optimizer");
    tiny_stop(&run);
    training.seed++;
    run = tiny_start(&config, &stream, &training);
    tiny_train(&run, 3, losses);
    tiny_train(&run, 2, losses);
    TINY_OK(model_checkpoint_save(folder, run.t, tiny_err));
    copy_file(folder, MODEL_RUN_OPTIMIZER, "odd.optimizer");
    tiny_stop(&run);
}

/* A run's files, by the names of make_pairs; NULL where there is none. */
typedef struct break_case {
    const char *files[4]; /* model, optimizer, and the two in waiting */
    size_t step;          /* of the pair that is found */
    const char *part;     /* of the sentence when none is */
} break_case;

static const break_case breaks[] = {
    {{"old.model", "old.optimizer", "new.model", NULL}, 3, NULL},
    {{"old.model", "old.optimizer", "new.model", "new.optimizer"}, 3, NULL},
    {{"new.model", "old.optimizer", NULL, "new.optimizer"}, 5, NULL},
    {{"new.model", "new.optimizer", NULL, NULL}, 5, NULL},
    {{"new.model", "new.optimizer", "old.model", "old.optimizer"}, 5, NULL},
    {{NULL, NULL, "new.model", "new.optimizer"}, 5, NULL},
    {{"new.model", NULL, NULL, "new.optimizer"}, 5, NULL},
    {{"new.model", "old.optimizer", NULL, NULL}, 0, "is from step 5 and"},
    {{"new.model", "old.optimizer", NULL, "odd.optimizer"}, 0, "is from step 5 and"},
    {{"new.model", "odd.optimizer", NULL, NULL}, 0, "different trainings"},
    {{"new.model", NULL, NULL, NULL}, 0, "without which training cannot continue"},
};

static void stage_files(const char *stage, const char *folder, const break_case *c)
{
    static const char *const names[] = {MODEL_RUN_MODEL, MODEL_RUN_OPTIMIZER,
                                        MODEL_RUN_MODEL MODEL_RUN_NEXT,
                                        MODEL_RUN_OPTIMIZER MODEL_RUN_NEXT};
    char path[TEST_PATH];
    for (size_t k = 0; k < 4; k++) {
        if (c->files[k] != NULL) {
            char *data = NULL;
            size_t size = 0;
            in_folder(path, folder, c->files[k]);
            TINY_OK(model_file_read(path, LIMIT, &data, &size, tiny_err));
            test_write(in_folder(path, stage, names[k]), data, size);
            free(data);
        }
    }
}

static void test_every_break_is_repaired(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char stage[TEST_PATH];
    char path[TEST_PATH];
    folder_named(folder, "breaks");
    make_pairs(folder);
    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
        size_t step = 0;
        kern_error err = {KERN_OK, ""};
        folder_named(stage, "stage");
        stage_files(stage, folder, &breaks[i]);
        test_write(in_folder(path, stage, ".basin-0123456789abcdef"), "cut", 3);
        const size_t files = test_count_entries(stage);
        if (breaks[i].part == NULL) {
            assert_int_equal(recovered_step(stage), breaks[i].step);
            assert_int_equal(recovered_step(stage), breaks[i].step);
        } else {
            assert_int_equal(model_checkpoint_recover(stage, &step, &err), KERN_BAD_INPUT);
            test_error(&err, KERN_BAD_INPUT, breaks[i].part);
            assert_int_equal(test_count_entries(stage), files - 1);
        }
    }
}

static void test_left_overs_alone_are_no_checkpoint(void **state)
{
    (void)state;
    char stage[TEST_PATH];
    char path[TEST_PATH];
    size_t step = 0;
    kern_error err = {KERN_OK, ""};
    folder_named(stage, "stage");
    test_write(in_folder(path, stage, MODEL_RUN_MODEL MODEL_RUN_NEXT), "x", 1);
    test_write(in_folder(path, stage, "notes.txt"), "x", 1);
    test_write(in_folder(path, stage, ".basin-notes"), "x", 1);
    assert_int_equal(model_checkpoint_recover(stage, &step, &err), KERN_NOT_FOUND);
    test_error(&err, KERN_NOT_FOUND, "nothing was saved");
    assert_int_equal(test_count_entries(stage), 2);
}

/* ---- Breaks at random moments ------------------------------------------------------------ */

/* The process to be killed: trains on from what is there, saves after every step, and says so on
 * its standard output. */
static int train_and_save(const char *folder)
{
    char note[MODEL_CHECKPOINT_NOTE];
    const model_config config = tiny_config(MODEL_NRGPT);
    const model_training training = tiny_training(1);
    model_stream data;
    model_step_report report;
    kern_error err = {KERN_OK, ""};
    tiny_stream(&data, 900, 20);
    tiny_run run = tiny_start(&config, &data, &training);
    kern_status status = model_checkpoint_load(folder, run.t, note, &err);
    while (status == KERN_OK || status == KERN_NOT_FOUND) {
        status = model_trainer_step(run.t, &report, &err);
        if (status == KERN_OK) {
            status = model_checkpoint_save(folder, run.t, &err);
        }
        (void)write(STDOUT_FILENO, "x", 1);
    }
    (void)fprintf(stderr, "%s\n", err.text);
    return 1;
}

/* Starts that process and kills it `micros` after its first save, or after its start. */
static void start_and_kill(const char *folder, bool saves, long micros)
{
    int result = 0;
    int ends[2];
    char byte = 0;
    const struct timespec pause = {0, micros * 1000};
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execl("/proc/self/exe", program, "--train-and-save", folder, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    if (saves) {
        assert_int_equal(read(ends[0], &byte, 1), 1);
    }
    (void)nanosleep(&pause, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    (void)close(ends[0]);
    assert_true(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL);
}

/* What was saved last must be a state that an unbroken run passes through. */
static void test_kill_leaves_a_checkpoint(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char note[MODEL_CHECKPOINT_NOTE];
    const model_config config = tiny_config(MODEL_NRGPT);
    const model_training training = tiny_training(1);
    kern_rng *rng = kern_rng_create(1, "kill", 0);
    assert_non_null(rng);
    folder_named(folder, "kill");
    size_t before = 0;
    tiny_run whole = tiny_start(&config, &stream, &training);
    /* A busy machine may not get far in the first rounds; later ones wait longer. */
    for (size_t i = 0; i < KILLS || (before <= 3 && i < 20 * KILLS); i++) {
        const uint32_t patience = 60000U * (uint32_t)(1 + i / KILLS);
        start_and_kill(folder, i % 5 != 0, (long)kern_rng_below(rng, patience));
        tiny_run run = tiny_start(&config, &stream, &training);
        kern_error err = {KERN_OK, ""};
        const kern_status status = model_checkpoint_load(folder, run.t, note, &err);
        if (status != KERN_OK) {
            assert_int_equal(status, KERN_NOT_FOUND); /* killed before the first was complete */
            assert_int_equal(before, 0);
        }
        assert_true(run.t->step >= before);
        before = run.t->step;
        while (whole.t->step < before) {
            double loss;
            tiny_train(&whole, 1, &loss);
        }
        if (before > 0) {
            assert_same_state(&whole, &run);
        }
        tiny_stop(&run);
    }
    assert_true(before > 3);
    kern_rng_destroy(rng);
    tiny_stop(&whole);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 3 && strcmp(argv[1], "--train-and-save") == 0) {
        return train_and_save(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_continues_bit_for_bit),
        cmocka_unit_test(test_dropout_matters),
        cmocka_unit_test(test_other_threads_are_noted),
        cmocka_unit_test(test_changed_settings_are_refused),
        cmocka_unit_test(test_damage_is_refused),
        cmocka_unit_test(test_every_break_is_repaired),
        cmocka_unit_test(test_left_overs_alone_are_no_checkpoint),
        cmocka_unit_test(test_kill_leaves_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, make_all, remove_all);
}
