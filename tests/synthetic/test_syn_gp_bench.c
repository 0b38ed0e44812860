/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training on Gaussian-process sequences, and the benchmark: that it learns, repeats and resumes,
 * what it lists, and what it says about files that do not belong to it.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "synthetic/syn_gp_floor.h"
#include "synthetic/syn_gp_table.h"
#include "tests/models/model_test_folder.h"

#include <math.h>

static kern_error err;

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != KERN_OK) {                                                                   \
            fail_msg("%s", err.text);                                                              \
        }                                                                                          \
    } while (0)

static const size_t steps_list[] = {1, 3};
static const size_t eval_list[] = {1, 3};

/* A benchmark of seconds: a narrow model, few and short steps. */
static syn_gp_bench_options tiny(const char *folder)
{
    syn_gp_bench_options o = syn_gp_bench_options_default();
    o.plan.base.n_embed = 16;
    o.plan.base.n_head = 2;
    o.plan.base.n_hidden = 16;
    o.plan.steps = steps_list;
    o.plan.n_steps = 2;
    o.plan.n_seeds = 2;
    o.plan.training.batch = 4;
    o.plan.training.schedule.total = 6;
    o.plan.training.schedule.warmup = 2;
    o.eval_steps = eval_list;
    o.n_eval_steps = 2;
    o.eval_sequences = 8;
    o.folder = folder;
    o.save_every = 4;
    return o;
}

static char *folder_of(const char *name)
{
    static char paths[4][TEST_PATH];
    static size_t next;
    char *path = paths[next++ % 4];
    (void)test_path(path, name);
    (void)mkdir(path, 0700);
    return path;
}

static void run_bench(syn_gp_bench *b, const syn_gp_bench_options *o)
{
    OK(syn_gp_bench_init(b, o, &err));
    OK(syn_gp_bench_run(b, &err));
}

/* Same scores, bit for bit. */
static void assert_same(const syn_gp_bench *a, const syn_gp_bench *b)
{
    assert_int_equal(a->n_arms, b->n_arms);
    for (size_t i = 0; i < a->n_arms; i++) {
        assert_string_equal(a->arms[i].name, b->arms[i].name);
        assert_true(a->results[i].done && b->results[i].done);
        assert_int_equal(a->results[i].n_rows, b->results[i].n_rows);
        for (size_t k = 0; k < a->results[i].n_rows; k++) {
            const syn_gp_row *left = &a->results[i].rows[k];
            const syn_gp_row *right = &b->results[i].rows[k];
            assert_true(left->rmse.value == right->rmse.value);
            assert_true(left->excess.value == right->excess.value);
            assert_string_equal(left->hist, right->hist);
            assert_true(left->span == right->span);
        }
    }
}

/* ---- training ------------------------------------------------------------------------------- */

/* Predicting zero has the error 1 on average; a trained model must do better on fresh sequences,
 * and no model can do better than the floor, to the error of a finite set. */
static void test_training_learns(void **state)
{
    (void)state;
    const syn_gp_task *task = syn_gp_task_at(0);
    syn_gp_plan plan = syn_gp_plan_default();
    syn_gp_trainer *t = NULL;
    syn_gp *gp = NULL;
    syn_gp_batch batch = {0};
    syn_gp_score rms;
    syn_gp_score floor;
    plan.base.n_embed = 32;
    plan.base.n_hidden = 32;
    plan.base.vocab_size = 1;
    plan.training.batch = 8;
    plan.training.schedule.total = 150;
    plan.training.schedule.warmup = 20;
    plan.training.schedule.peak = 5e-3;
    OK(syn_gp_trainer_create(&t, task, &plan.base, &plan.training, &err));
    for (size_t i = 0; i < 150; i++) {
        double loss;
        OK(syn_gp_trainer_step(t, &loss, &err));
        assert_true(isfinite(loss) && loss > 0.0);
    }
    assert_int_equal(syn_gp_trainer_steps(t), 150);
    OK(syn_gp_batch_init(&batch, 64, task->points, &err));
    OK(syn_gp_create(&gp, task, 1, &err));
    OK(syn_gp_draw(gp, 3, SYN_GP_EVAL, 0, &batch, &err));
    double *squared = calloc(64 * task->points, sizeof *squared);
    double *least = calloc(64 * task->points, sizeof *least);
    assert_non_null(squared);
    assert_non_null(least);
    OK(syn_gp_predict_squared(syn_gp_trainer_model(t), NULL, &batch, squared, &err));
    syn_gp_oracle(&batch, least, NULL);
    OK(syn_gp_score_rms(&rms, squared, 64, task->points, syn_gp_span_at(0), &err));
    OK(syn_gp_score_rms(&floor, least, 64, task->points, syn_gp_span_at(0), &err));
    assert_true(rms.value < 0.9);
    assert_true(rms.value > floor.value);
    free(least);
    free(squared);
    syn_gp_batch_fini(&batch);
    syn_gp_destroy(gp);
    syn_gp_trainer_destroy(t);
}

/* With a rate too small to move any weight, the loss of step t is the mean squared error of that
 * model over points 1 and on of sequences t·batch and on of the training stream: fresh data every
 * time. Single-precision errors are summed in another order, so they agree to some 1e-6. */
static void test_loss_is_of_fresh_sequences(void **state)
{
    (void)state;
    enum { BATCH = 6, STEPS = 3 };
    syn_gp_plan plan = syn_gp_plan_default();
    const size_t points = plan.task->points;
    syn_gp_trainer *t = NULL;
    syn_gp *gp = NULL;
    syn_gp_batch batch = {0};
    double squared[BATCH * 64];
    double last = 0.0;
    plan.base.n_embed = 16;
    plan.base.n_hidden = 16;
    plan.training.batch = BATCH;
    plan.training.micro_batch = 3;
    plan.training.schedule =
        (model_schedule){.kind = MODEL_SCHEDULE_CONSTANT, .peak = 1e-30, .total = STEPS};
    assert_int_equal(points, 64);
    OK(syn_gp_trainer_create(&t, plan.task, &plan.base, &plan.training, &err));
    OK(syn_gp_batch_init(&batch, BATCH, points, &err));
    OK(syn_gp_create(&gp, plan.task, 1, &err));
    for (size_t step = 0; step < STEPS; step++) {
        double loss;
        double sum = 0.0;
        OK(syn_gp_trainer_step(t, &loss, &err));
        OK(syn_gp_draw(gp, plan.training.seed, SYN_GP_TRAIN, step * BATCH, &batch, &err));
        OK(syn_gp_predict_squared(syn_gp_trainer_model(t), NULL, &batch, squared, &err));
        for (size_t i = 0; i < BATCH * points; i++) {
            sum += i % points == 0 ? 0.0 : squared[i];
        }
        assert_true(fabs(loss - sum / (double)(BATCH * (points - 1))) <= 1e-5 * loss);
        assert_true(fabs(loss - last) > 1e-3);
        last = loss;
    }
    syn_gp_destroy(gp);
    syn_gp_batch_fini(&batch);
    syn_gp_trainer_destroy(t);
}

/* Training continued from a file has the same weights as training without a break. */
static void test_training_continues(void **state)
{
    (void)state;
    char path[TEST_PATH];
    syn_gp_plan plan = syn_gp_plan_default();
    syn_gp_trainer *whole = NULL;
    syn_gp_trainer *part = NULL;
    size_t steps = 9;
    plan.base.n_embed = 16;
    plan.base.n_hidden = 16;
    plan.training.batch = 3;
    plan.training.schedule.total = 7;
    plan.training.schedule.warmup = 2;
    (void)test_path(path, "state.safetensors");
    OK(syn_gp_state_steps(&steps, &plan.training, path, "a recipe", &err));
    assert_int_equal(steps, 0);
    OK(syn_gp_trainer_create(&whole, plan.task, &plan.base, &plan.training, &err));
    for (size_t i = 0; i < 7; i++) {
        OK(syn_gp_trainer_step(whole, NULL, &err));
        if (i == 3) {
            OK(syn_gp_trainer_save(whole, path, "a recipe", &err));
        }
    }
    OK(syn_gp_trainer_create(&part, plan.task, &plan.base, &plan.training, &err));
    assert_int_equal(syn_gp_trainer_load(part, path, "another", &err), KERN_BAD_INPUT);
    OK(syn_gp_trainer_load(part, path, "a recipe", &err));
    OK(syn_gp_state_steps(&steps, &plan.training, path, "a recipe", &err));
    assert_int_equal(steps, 4);
    assert_int_equal(syn_gp_trainer_steps(part), 4);
    for (size_t i = 4; i < 7; i++) {
        OK(syn_gp_trainer_step(part, NULL, &err));
    }
    const model *a = syn_gp_trainer_model(whole);
    const model *b = syn_gp_trainer_model(part);
    assert_memory_equal(a->values, b->values, a->params.length * sizeof(float));
    syn_gp_trainer_destroy(part);
    syn_gp_trainer_destroy(whole);
}

/* Numbers that are not finite end training, and leave the weights as they were. */
static void test_training_that_breaks(void **state)
{
    (void)state;
    syn_gp_plan plan = syn_gp_plan_default();
    syn_gp_trainer *t = NULL;
    plan.base.n_embed = 16;
    plan.base.n_hidden = 16;
    plan.base.cem.eta = 1e12;
    plan.training.batch = 2;
    plan.training.schedule.total = 3;
    plan.training.schedule.warmup = 0;
    plan.base.cem.norm = MODEL_PLACE_ONCE;
    plan.base.cem.t_mlp = 12; /* a factor of 1e12 each is beyond single precision */
    OK(syn_gp_trainer_create(&t, plan.task, &plan.base, &plan.training, &err));
    assert_int_equal(syn_gp_trainer_step(t, NULL, &err), KERN_NAN);
    assert_int_equal(syn_gp_trainer_steps(t), 0);
    OK(model_check_finite(syn_gp_trainer_model(t), &err));
    syn_gp_trainer_destroy(t);
}

/* ---- the benchmark -------------------------------------------------------------------------- */

/* Arms of two seeds: cem fixed and sync with T = 3, cem with T = 1 for both, llama, and one deep
 * one of each kind. */
static void test_arms(void **state)
{
    (void)state;
    const syn_gp_bench_options o = tiny("");
    syn_gp_arm *arms = NULL;
    size_t n = 0;
    size_t found = 0;
    OK(syn_gp_arms_create(&arms, &n, &o.plan, &err));
    assert_int_equal(n, 12);
    for (size_t i = 0; i + 1 < n; i++) {
        assert_true(syn_gp_arm_work(&arms[i]) >= syn_gp_arm_work(&arms[i + 1]));
        found += strcmp(arms[i].name, "gp-1-cem-sync-t3-l1-s2") == 0 ? 1 : 0;
        found += strcmp(arms[i].name, "gp-1-tied-deep-t3-l3-s1") == 0 ? 1 : 0;
        found += strcmp(arms[i].name, "gp-1-cem-t1-l1-s1") == 0 ? 1 : 0;
    }
    assert_int_equal(found, 3);
    free(arms);
}

static void test_plans_that_are_refused(void **state)
{
    (void)state;
    static const size_t none[] = {0};
    syn_gp_bench b;
    syn_gp_bench_options o = tiny(test_folder);
    o.plan.n_seeds = 0;
    assert_int_equal(syn_gp_bench_init(&b, &o, &err), KERN_INVALID_ARGUMENT);
    o = tiny(test_folder);
    o.plan.steps = none;
    assert_int_equal(syn_gp_bench_init(&b, &o, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "0 steps"));
    o = tiny(test_folder);
    memset(o.plan.hists, 0, sizeof o.plan.hists);
    assert_int_equal(syn_gp_bench_init(&b, &o, &err), KERN_INVALID_ARGUMENT);
    o = tiny(test_folder);
    memset(o.plan.kinds, 0, sizeof o.plan.kinds);
    assert_int_equal(syn_gp_bench_init(&b, &o, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "nothing to train"));
    o = tiny(test_folder);
    o.eval_sequences = 1;
    assert_int_equal(syn_gp_bench_init(&b, &o, &err), KERN_INVALID_ARGUMENT);
    assert_null(b.arms);
}

/* Two workers give what one gives, and a folder that is complete is read and left alone. */
static void test_results_repeat(void **state)
{
    (void)state;
    syn_gp_bench one;
    syn_gp_bench two;
    syn_gp_bench again;
    syn_gp_bench_options o = tiny(folder_of("one"));
    run_bench(&one, &o);
    assert_int_equal(one.work_done, 0);
    o = tiny(folder_of("two"));
    o.workers = 2;
    run_bench(&two, &o);
    assert_same(&one, &two);
    OK(syn_gp_bench_init(&again, &o, &err));
    assert_int_equal(again.work_done, again.work_total);
    for (size_t i = 0; i < again.n_arms; i++) {
        assert_true(again.results[i].done);
    }
    OK(syn_gp_bench_run(&again, &err));
    assert_same(&one, &again);
    assert_true(one.floor[0].value > 0.0 && one.floor[0].value == again.floor[0].value);
    assert_true(one.references[0][0].value > one.floor[0].value);
    syn_gp_bench_fini(&again);
    syn_gp_bench_fini(&two);
    syn_gp_bench_fini(&one);
}

/* Stops after a number of reports. */
static bool stop_soon(void *context, size_t done, size_t total)
{
    size_t *left = context;
    assert_true(done <= total);
    return (*left)-- > 1;
}

/* However often it is stopped, the end is that of a benchmark that was not. */
static void test_benchmark_resumes(void **state)
{
    (void)state;
    syn_gp_bench whole;
    syn_gp_bench b;
    size_t breaks = 0;
    syn_gp_bench_options o = tiny(folder_of("whole"));
    run_bench(&whole, &o);
    o = tiny(folder_of("broken"));
    o.progress = stop_soon;
    while (true) {
        size_t left = 3 + breaks / 8; /* an evaluation has to be done in one piece */
        o.context = &left;
        OK(syn_gp_bench_init(&b, &o, &err));
        const kern_status status = syn_gp_bench_run(&b, &err);
        if (status == KERN_OK) {
            break;
        }
        assert_int_equal(status, KERN_INTERRUPTED);
        syn_gp_bench_fini(&b);
        assert_true(++breaks < 1000);
    }
    assert_true(breaks > 5);
    syn_gp_bench_fini(&b);
    o.progress = NULL;
    run_bench(&b, &o);
    assert_same(&whole, &b);
    syn_gp_bench_fini(&b);
    syn_gp_bench_fini(&whole);
}

/* A model trained with one step sees the same under both histories at one step, and not at three;
 * trained models evaluated otherwise are not trained again. */
static void test_evaluation(void **state)
{
    (void)state;
    static const size_t other[] = {2};
    syn_gp_bench b;
    syn_gp_line *lines = NULL;
    size_t n = 0;
    const syn_gp_line *line[2][2] = {{NULL, NULL}, {NULL, NULL}};
    syn_gp_bench_options o = tiny(folder_of("one"));
    run_bench(&b, &o);
    OK(syn_gp_table_create(&lines, &n, &b, &err));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(lines[i].seeds, 2);
        if (lines[i].arm->kind->recursive && lines[i].arm->steps == 1) {
            line[strcmp(lines[i].hist, "sync") == 0][lines[i].steps_eval == 3] = &lines[i];
        }
    }
    assert_non_null(line[1][1]);
    assert_true(line[0][0]->rmse[0].value == line[1][0]->rmse[0].value);
    assert_true(line[0][1]->rmse[0].value != line[1][1]->rmse[0].value);
    const double gap = line[0][0]->rmse[0].value;
    free(lines);
    syn_gp_bench_fini(&b);
    o.eval_steps = other;
    o.n_eval_steps = 1;
    OK(syn_gp_bench_init(&b, &o, &err));
    assert_int_equal(b.work_done, b.work_total);
    OK(syn_gp_bench_run(&b, &err));
    OK(syn_gp_table_create(&lines, &n, &b, &err));
    assert_int_equal(n, 7); /* four of cem, since T = 1 stands under both, and three baselines */
    assert_true(lines[0].rmse[0].value != gap);
    free(lines);
    syn_gp_bench_fini(&b);
}

/* Mean and standard error of three seeds, from their scores. */
static void test_table(void **state)
{
    (void)state;
    enum { SEEDS = 3 };
    syn_gp_bench b;
    syn_gp_line *lines = NULL;
    size_t n = 0;
    double mean = 0.0;
    double scatter = 0.0;
    syn_gp_bench_options o = tiny(folder_of("table"));
    o.plan.n_seeds = SEEDS;
    o.plan.kinds[0] = false;
    o.plan.kinds[2] = false;
    o.plan.kinds[3] = false;
    run_bench(&b, &o);
    assert_int_equal(b.n_arms, SEEDS);
    OK(syn_gp_table_create(&lines, &n, &b, &err));
    assert_int_equal(n, 1);
    assert_int_equal(lines[0].seeds, SEEDS);
    for (size_t i = 0; i < SEEDS; i++) {
        mean += b.results[i].rows[1].rmse.value / SEEDS;
    }
    for (size_t i = 0; i < SEEDS; i++) {
        scatter += pow(b.results[i].rows[1].rmse.value - mean, 2);
    }
    assert_true(fabs(lines[0].rmse[1].value - mean) <= 1e-15);
    assert_true(fabs(lines[0].rmse[1].error - sqrt(scatter / 2.0 / SEEDS)) <= 1e-15);
    assert_true(lines[0].rmse[1].error > 0.0);
    free(lines);
    syn_gp_bench_fini(&b);
}

/* A folder of other settings, and a damaged result, are told before any work. */
static void test_foreign_files(void **state)
{
    (void)state;
    syn_gp_bench b;
    char path[TEST_PATH];
    syn_gp_bench_options o = tiny(folder_of("one"));
    o.plan.training.schedule.peak = 1e-2;
    assert_int_equal(syn_gp_bench_init(&b, &o, &err), KERN_BAD_INPUT);
    assert_non_null(strstr(err.text, "other settings"));
    o = tiny(folder_of("damaged"));
    (void)test_path(path, "damaged/gp-1-llama-t1-l1-s1.json");
    test_write(path, "{\"recipe\": 1", 12);
    assert_int_equal(syn_gp_bench_init(&b, &o, &err), KERN_BAD_INPUT);
    assert_non_null(strstr(err.text, "gp-1-llama-t1-l1-s1.json"));
    test_write(path, "{\"recipe\": 1}", 13);
    assert_int_equal(syn_gp_bench_init(&b, &o, &err), KERN_BAD_INPUT);
}

/* An arm that breaks off is kept as that, and stops no other. */
static void test_arm_that_breaks(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 12};
    syn_gp_bench b;
    syn_gp_line *lines = NULL;
    size_t n = 0;
    size_t broken = 0;
    syn_gp_bench_options o = tiny(folder_of("breaks"));
    o.plan.steps = steps;
    o.plan.kinds[2] = false;
    o.plan.kinds[3] = false;
    o.plan.base.cem.eta = 1e12;
    o.plan.base.cem.norm = MODEL_PLACE_ONCE;
    for (size_t pass = 0; pass < 2; pass++) {
        run_bench(&b, &o);
        broken = 0;
        for (size_t i = 0; i < b.n_arms; i++) {
            broken += b.results[i].status == KERN_NAN ? 1 : 0;
            assert_true(b.results[i].done);
            assert_true((b.results[i].n_rows > 0) == (b.results[i].status == KERN_OK));
            assert_true(b.arms[i].kind->tied || b.results[i].status == KERN_OK);
        }
        assert_true(broken > 0 && broken < b.n_arms);
        OK(syn_gp_table_create(&lines, &n, &b, &err));
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(lines[i].seeds + lines[i].broken, 2);
            assert_true(lines[i].seeds > 0 || isnan(lines[i].rmse[0].value));
            assert_true(lines[i].arm->kind->tied || isfinite(lines[i].rmse[0].value));
        }
        free(lines);
        syn_gp_bench_fini(&b);
    }
}

/* The floor of random hyper-parameters is kept in the folder and read from there. */
static void test_floor_is_kept(void **state)
{
    (void)state;
    syn_gp_bench b;
    char path[TEST_PATH];
    struct stat info;
    syn_gp_bench_options o = tiny(folder_of("gp2"));
    const syn_gp_task *task = NULL;
    OK(syn_gp_task_find(&task, "gp-2", &err));
    o.plan.task = task;
    o.plan.n_seeds = 1;
    o.plan.n_steps = 1;
    o.eval_sequences = 2;
    run_bench(&b, &o);
    const double floor = b.floor[1].value;
    syn_gp_bench_fini(&b);
    assert_int_equal(stat(test_path(path, "gp2/gp-2-floor-n2-s1.safetensors"), &info), 0);
    run_bench(&b, &o);
    assert_true(b.floor[1].value == floor && floor > 0.0);
    syn_gp_bench_fini(&b);
}

static int set_up(void **state)
{
    kern_runtime_init();
    return test_folder_make(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_learns),
        cmocka_unit_test(test_loss_is_of_fresh_sequences),
        cmocka_unit_test(test_training_continues),
        cmocka_unit_test(test_training_that_breaks),
        cmocka_unit_test(test_arms),
        cmocka_unit_test(test_plans_that_are_refused),
        cmocka_unit_test(test_results_repeat),
        cmocka_unit_test(test_benchmark_resumes),
        cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_foreign_files),
        cmocka_unit_test(test_arm_that_breaks),
        cmocka_unit_test(test_floor_is_kept),
    };
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
