/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_gp_bench.h"

#include "dyn/dyn_scan.h"
#include "models/model_run_path.h"
#include "synthetic/syn_gp_bench_floor.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Optimizer steps between two reports of progress. */
enum { LOOK_STEPS = 4 };

syn_gp_bench_options syn_gp_bench_options_default(void)
{
    static const size_t steps[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    return (syn_gp_bench_options){.plan = syn_gp_plan_default(),
                                  .eval_steps = steps,
                                  .n_eval_steps = sizeof steps / sizeof steps[0],
                                  .eval_sequences = SYN_GP_EVAL_SEQUENCES,
                                  .eval_seed = 1,
                                  .save_every = 500,
                                  .workers = 1};
}

/* ---- what there is to do -------------------------------------------------------------------- */

static kern_status check_options(const syn_gp_bench_options *o, kern_error *err)
{
    enum { EVAL_STEPS_MAX = 64, SEQUENCES_MAX = 1 << 20 };
    if (o->eval_sequences < 2 || o->eval_sequences > SEQUENCES_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an evaluation on %zu sequences is not possible; accepted are 2 to %d",
                          o->eval_sequences, SEQUENCES_MAX);
    }
    if (o->n_eval_steps < 1 || o->n_eval_steps > EVAL_STEPS_MAX) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "an evaluation at %zu numbers of steps is not possible; accepted are 1 to "
            "%d",
            o->n_eval_steps, EVAL_STEPS_MAX);
    }
    for (size_t i = 0; i < o->n_eval_steps; i++) {
        if (o->eval_steps[i] < 1 || o->eval_steps[i] > MODEL_INNER_MAX) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "an evaluation with %zu steps of a layer is not possible; accepted "
                              "are 1 to %d",
                              o->eval_steps[i], MODEL_INNER_MAX);
        }
    }
    return KERN_OK;
}

typedef enum arm_file { ARM_RESULT, ARM_STATE } arm_file;

static kern_status arm_path(char **path, const syn_gp_bench *b, const syn_gp_arm *arm,
                            arm_file which, kern_error *err)
{
    char name[SYN_GP_ARM_NAME + 16];
    (void)snprintf(name, sizeof name, "%s.%s", arm->name,
                   which == ARM_RESULT ? "json" : "safetensors");
    return model_run_path(path, b->options.folder, name, err);
}

/* What the folder holds of an arm: a result, or a state *steps steps behind its start. */
static kern_status read_files(syn_gp_bench *b, size_t index, const char *recipe, size_t *steps,
                              kern_error *err)
{
    const syn_gp_arm *arm = &b->arms[index];
    char *path = NULL;
    *steps = arm->training.schedule.total;
    kern_status status = arm_path(&path, b, arm, ARM_RESULT, err);
    if (status == KERN_OK) {
        status = syn_gp_result_read(&b->results[index], arm, &b->evaluation, recipe, path, err);
    }
    free(path);
    path = NULL;
    if (status != KERN_OK || b->results[index].done) {
        return status;
    }
    status = arm_path(&path, b, arm, ARM_STATE, err);
    if (status == KERN_OK) {
        status = syn_gp_state_steps(steps, &arm->training, path, recipe, err);
    }
    free(path);
    return status;
}

static kern_status read_arm(syn_gp_bench *b, size_t index, kern_error *err)
{
    const syn_gp_arm *arm = &b->arms[index];
    char *recipe = NULL;
    size_t steps = 0;
    KERN_TRY(syn_gp_arm_recipe(arm, b->options.plan.task, &recipe, err));
    const kern_status status = read_files(b, index, recipe, &steps, err);
    free(recipe);
    b->work_done += syn_gp_arm_work(arm) * steps;
    b->work_total += syn_gp_arm_work(arm) * arm->training.schedule.total;
    return status;
}

static kern_status find_work(syn_gp_bench *b, kern_error *err)
{
    const syn_gp_bench_options *o = &b->options;
    KERN_TRY(check_options(o, err));
    KERN_TRY(syn_gp_arms_create(&b->arms, &b->n_arms, &o->plan, err));
    b->results = calloc(b->n_arms, sizeof *b->results);
    if (b->results == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the results of %zu arms", b->n_arms);
    }
    b->work_total = syn_gp_bench_floor_work(b);
    for (size_t i = 0; i < b->n_arms; i++) {
        KERN_TRY(read_arm(b, i, err));
    }
    return KERN_OK;
}

kern_status syn_gp_bench_init(syn_gp_bench *b, const syn_gp_bench_options *options, kern_error *err)
{
    *b = (syn_gp_bench){.options = *options,
                        .evaluation = {.steps = options->eval_steps,
                                       .n_steps = options->n_eval_steps,
                                       .sequences = options->eval_sequences,
                                       .seed = options->eval_seed,
                                       .t_mlp = options->plan.t_mlp}};
    for (unsigned h = 0; h < SYN_GP_HISTS; h++) {
        b->evaluation.hists[h] = options->plan.hists[h];
    }
    while (b->n_spans < SYN_GP_SPANS_MAX && syn_gp_span_at(b->n_spans) != NULL) {
        b->n_spans++;
    }
    const kern_status status = find_work(b, err);
    if (status != KERN_OK) {
        syn_gp_bench_fini(b);
    }
    return status;
}

void syn_gp_bench_fini(syn_gp_bench *b)
{
    for (size_t i = 0; b->results != NULL && i < b->n_arms; i++) {
        syn_gp_result_fini(&b->results[i]);
    }
    free(b->results);
    free(b->arms);
    *b = (syn_gp_bench){0};
}

/* ---- running -------------------------------------------------------------------------------- */

/* What the workers share. */
typedef struct bench_run {
    syn_gp_bench *b;
    size_t *pending;         /* indices of arms */
    syn_gp_bench_set set;    /* evaluation sequences and their floor */
    atomic_size_t done;      /* work */
    atomic_bool stop;        /* asked to, or because an arm failed */
    atomic_bool interrupted; /* asked to */
} bench_run;

/* One arm under way. */
typedef struct arm_run {
    bench_run *run;
    const syn_gp_arm *arm;
    syn_gp_result *result;
    int worker;
    char *recipe;
    char *state_path;
    char *result_path;
    syn_gp_trainer *trainer;
    double *squared; /* of the evaluation set */
} arm_run;

/* Tells how far all are; only the first worker, which runs in the calling thread, may. */
static void report(bench_run *run)
{
    const syn_gp_bench_options *o = &run->b->options;
    if (o->progress != NULL &&
        !o->progress(o->context, atomic_load(&run->done), run->b->work_total)) {
        atomic_store(&run->interrupted, true);
        atomic_store(&run->stop, true);
    }
}

static kern_status stopped(const arm_run *a, kern_error *err)
{
    if (a->worker == 0) {
        report(a->run);
    }
    return atomic_load(&a->run->stop)
               ? kern_raise(err, KERN_INTERRUPTED, "the benchmark was stopped")
               : KERN_OK;
}

static kern_status save(const arm_run *a, kern_error *err)
{
    return syn_gp_trainer_save(a->trainer, a->state_path, a->recipe, err);
}

/* Trains until the end, a stop, or numbers that are not finite. */
static kern_status train(arm_run *a, kern_error *err)
{
    const size_t total = a->arm->training.schedule.total;
    const size_t every = a->run->b->options.save_every;
    const size_t work = syn_gp_arm_work(a->arm);
    for (size_t step = syn_gp_trainer_steps(a->trainer); step < total; step++) {
        if (step % LOOK_STEPS == 0 && stopped(a, err) != KERN_OK) {
            const kern_status saved = save(a, err);
            return saved != KERN_OK ? saved : KERN_INTERRUPTED;
        }
        KERN_TRY(syn_gp_trainer_step(a->trainer, NULL, err));
        atomic_fetch_add(&a->run->done, work);
        if (every > 0 && (step + 1) % every == 0 && step + 1 < total) {
            KERN_TRY(save(a, err));
        }
    }
    return save(a, err);
}

/* Scores of one history and T'. */
static kern_status evaluate_pass(arm_run *a, model_hist hist, size_t steps, kern_error *err)
{
    const syn_gp_bench *b = a->run->b;
    const syn_gp_batch *batch = &a->run->set.batch;
    const model_config as = a->arm->kind->recursive
                                ? syn_gp_arm_config(a->arm, steps, hist, b->options.plan.t_mlp)
                                : a->arm->config;
    KERN_TRY(syn_gp_predict_squared(syn_gp_trainer_model(a->trainer), &as, batch, a->squared, err));
    for (size_t i = 0; i < b->n_spans; i++) {
        syn_gp_row *row = &a->result->rows[a->result->n_rows];
        *row = (syn_gp_row){.hist = syn_gp_result_hist(a->arm, hist),
                            .steps_eval = steps,
                            .span = syn_gp_span_at(i)};
        KERN_TRY(syn_gp_score_rms(&row->rmse, a->squared, batch->sequences, batch->points,
                                  row->span, err));
        KERN_TRY(syn_gp_score_excess(&row->excess, a->squared, a->run->set.floor, batch->sequences,
                                     batch->points, row->span, err));
        a->result->n_rows++;
    }
    return KERN_OK;
}

static kern_status evaluate(arm_run *a, kern_error *err)
{
    const syn_gp_evaluation *e = &a->run->b->evaluation;
    const syn_gp_batch *batch = &a->run->set.batch;
    const size_t rows = syn_gp_result_rows(a->arm, e);
    model_hist hist;
    size_t steps;
    a->squared = calloc(batch->sequences * batch->points, sizeof *a->squared);
    a->result->rows = calloc(rows + 1, sizeof *a->result->rows);
    if (a->squared == NULL || a->result->rows == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory to evaluate %zu sequences",
                          batch->sequences);
    }
    for (size_t pass = 0; syn_gp_result_pass(a->arm, e, pass, &hist, &steps); pass++) {
        KERN_TRY(stopped(a, err));
        KERN_TRY(evaluate_pass(a, hist, steps, err));
    }
    return KERN_OK;
}

static kern_status prepare(arm_run *a, kern_error *err)
{
    const syn_gp_bench *b = a->run->b;
    kern_error why = {0};
    KERN_TRY(arm_path(&a->state_path, b, a->arm, ARM_STATE, err));
    KERN_TRY(arm_path(&a->result_path, b, a->arm, ARM_RESULT, err));
    KERN_TRY(syn_gp_arm_recipe(a->arm, b->options.plan.task, &a->recipe, err));
    KERN_TRY(syn_gp_trainer_create(&a->trainer, b->options.plan.task, &a->arm->config,
                                   &a->arm->training, err));
    const kern_status status = syn_gp_trainer_load(a->trainer, a->state_path, a->recipe, &why);
    if (status != KERN_OK && status != KERN_NOT_FOUND) {
        return kern_raise(err, status, "%s", why.text);
    }
    return KERN_OK;
}

static kern_status work_on(arm_run *a, kern_error *err)
{
    kern_error why = {0};
    KERN_TRY(prepare(a, err));
    a->result->parameters = syn_gp_trainer_model(a->trainer)->params.elements;
    kern_status status = train(a, &why);
    if (status != KERN_OK && status != KERN_NAN) {
        return kern_raise(err, status, "%s", why.text);
    }
    a->result->status = status;
    a->result->trained = syn_gp_trainer_steps(a->trainer);
    if (status == KERN_OK) {
        KERN_TRY(evaluate(a, err));
    }
    KERN_TRY(syn_gp_result_write(a->result, a->arm, &a->run->b->evaluation, a->recipe,
                                 a->result_path, err));
    a->result->done = true;
    return KERN_OK;
}

static kern_status run_arm(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    bench_run *run = context;
    const size_t index = run->pending[item];
    arm_run a = {.run = run,
                 .arm = &run->b->arms[index],
                 .result = &run->b->results[index],
                 .worker = worker};
    (void)map;
    kern_status status = work_on(&a, err);
    if (status != KERN_OK) {
        syn_gp_result_fini(a.result);
        atomic_store(&run->stop, true);
    }
    free(a.squared);
    syn_gp_trainer_destroy(a.trainer);
    free(a.recipe);
    free(a.state_path);
    free(a.result_path);
    /* A stop on account of another arm is no failure of this one. */
    return status == KERN_INTERRUPTED && !atomic_load(&run->interrupted) ? KERN_OK : status;
}

/* Of the scan, whose unit is the arm. */
static bool watch(void *context, size_t done, size_t total)
{
    bench_run *run = context;
    (void)done;
    (void)total;
    report(run);
    return !atomic_load(&run->interrupted);
}

static kern_status run_pending(bench_run *run, size_t n, kern_error *err)
{
    const dyn_scan_options scan = {
        .items = n, .workers = run->b->options.workers, .progress = watch, .context = run};
    atomic_init(&run->done, run->b->work_done + syn_gp_bench_floor_work(run->b));
    atomic_init(&run->stop, false);
    atomic_init(&run->interrupted, false);
    return dyn_scan_run(NULL, &scan, run_arm, run, err);
}

kern_status syn_gp_bench_run(syn_gp_bench *b, kern_error *err)
{
    bench_run run = {.b = b};
    size_t n = 0;
    run.pending = calloc(b->n_arms + 1, sizeof *run.pending);
    if (run.pending == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a list of %zu arms", b->n_arms);
    }
    for (size_t i = 0; i < b->n_arms; i++) {
        if (!b->results[i].done) {
            run.pending[n++] = i;
        }
    }
    kern_status status = syn_gp_bench_set_init(&run.set, b, err);
    if (status == KERN_OK && n > 0) {
        status = run_pending(&run, n, err);
    }
    syn_gp_bench_set_fini(&run.set);
    free(run.pending);
    return status;
}
