/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin train: trains a model, or goes on with a run.
 */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_data.h"
#include "cli/cli_json.h"
#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "cli/cli_train_options.h"
#include "models/model_checkpoint.h"
#include "models/model_file.h"
#include "models/model_metrics.h"
#include "models/model_positive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything one call of basin train holds. */
typedef struct train_job {
    cli_train_settings s;
    model_run run; /* the run that goes on; zeroed for a new one */
    char *spec;    /* owned; --data of that run */
    int lock;      /* on the folder, from before it is changed to the end; -1: none */
    cli_data data;
    model *m;
    model_trainer *trainer;
    model_metrics *metrics;
    cli_progress progress;
    size_t saved;   /* step of the last checkpoint */
    double seconds; /* of training in this call */
    double earlier; /* in earlier calls */
    double started;
    size_t first; /* step at which this call began */
    /* Since the last row of metrics.csv. */
    double loss_sum;
    size_t loss_n;
    double row_seconds;
    double loss;     /* of the last row */
    double val_loss; /* last measured */
} train_job;

static void job_fini(train_job *job)
{
    model_metrics_destroy(job->metrics);
    model_trainer_destroy(job->trainer);
    model_destroy(job->m);
    cli_data_fini(&job->data);
    model_run_fini(&job->run);
    free(job->spec);
    model_run_unlock(job->lock);
}

/* ---- Preparation ------------------------------------------------------------------------- */

static kern_status check_usage(const train_job *job, const cli_call *call, kern_error *err)
{
    if (job->s.resume && job->s.overwrite) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--resume and --overwrite exclude each other; accepted is one of them");
    }
    if (job->s.resume) {
        return KERN_OK;
    }
    if (!cli_args_given(call, "family")) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--family is missing; accepted are nrgpt, gpt, gpt-rec, "
                          "gpt-rec-parallel, llama, cem and hourglass");
    }
    if (job->s.data.spec == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--data is missing; accepted are listops:FILE, listops:generate, "
                          "chars:FILE and tokens:FILE");
    }
    return KERN_OK;
}

/* --data as the run has it, unless it is given again; what then comes is compared when the
 * checkpoint is read. */
static kern_status recall_data(train_job *job, kern_error *err)
{
    if (job->s.data.spec != NULL) {
        return KERN_OK;
    }
    KERN_TRY(cli_data_recall(job->run.data_kind, job->run.data_path, &job->spec, err));
    job->s.data.spec = job->spec;
    return KERN_OK;
}

static kern_status settle(train_job *job, const cli_call *call, kern_error *err)
{
    KERN_TRY(check_usage(job, call, err));
    if (!job->s.resume) {
        return cli_train_complete(&job->s, call, err);
    }
    KERN_TRY(model_run_init(&job->run, job->s.out, err));
    KERN_TRY(model_run_lock(&job->lock, job->s.out, err));
    model_run_fini(&job->run); /* another process may have changed it until now */
    KERN_TRY(model_run_init(&job->run, job->s.out, err));
    KERN_TRY(cli_train_adopt(&job->s, call, &job->run, err));
    return recall_data(job, err);
}

/* Refuses sizes that cannot fit: weights, their packed copies, two moments, and one gradient for
 * each worker. The kernel would otherwise promise the memory and end the program later. */
static kern_status check_memory(const model *m, const model_training *t, kern_error *err)
{
    const double lanes = t->batch >= (size_t)t->threads ? (double)t->threads : 1.0;
    const double need = (double)m->params.length * sizeof(float) * (4.0 + lanes);
    const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (have > 0 && need > have) {
        return kern_raise(err, KERN_NO_MEMORY,
                          "%zu parameters (--width %zu) need %.1f GiB for training and this "
                          "machine has %.1f GiB; accepted are smaller sizes",
                          m->params.elements, m->config.n_embed, need * 0x1p-30, have * 0x1p-30);
    }
    return KERN_OK;
}

static kern_status load_data(train_job *job, kern_error *err)
{
    cli_data *data = &job->data;
    KERN_TRY(cli_data_parse(data, &job->s.data, err));
    KERN_TRY(cli_data_load(data, job->s.resume ? &job->run.tokenizer : NULL, err));
    if (data->stream.n == 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "--data %s holds test prompts only; accepted is a text to train on",
                          job->s.data.spec);
    }
    if (job->s.eval_batches > 0) {
        KERN_TRY(
            model_stream_check_window(&data->stream, MODEL_PART_VAL, job->s.training.window, err));
    }
    return KERN_OK;
}

static kern_status build_trainer(train_job *job, kern_error *err)
{
    cli_train_settings *s = &job->s;
    if (!s->resume) {
        s->config.vocab_size = job->data.tokenizer.vocab_size;
    }
    KERN_TRY(model_config_check(&s->config, err));
    KERN_TRY(model_training_check(&s->training, err));
    KERN_TRY(model_create(&job->m, &s->config, &kern_backend_cpu_f32, err));
    KERN_TRY(check_memory(job->m, &s->training, err));
    KERN_TRY(model_init_values(job->m, s->training.seed, err));
    return model_trainer_create(&job->trainer, job->m, &job->data.stream, &s->training, err);
}

static kern_status save(train_job *job, kern_error *err)
{
    KERN_TRY(model_checkpoint_save(job->s.out, job->trainer, err));
    job->saved = job->trainer->step;
    return KERN_OK;
}

/* A run that is overwritten goes only when the first checkpoint of the new one is on the disk. */
static kern_status start_folder(train_job *job, const model_recipe *recipe, kern_error *err)
{
    size_t step = 0;
    KERN_TRY(model_file_make_folder(job->s.out, err));
    KERN_TRY(model_run_lock(&job->lock, job->s.out, err));
    if (!job->s.overwrite) {
        KERN_TRY(model_run_begin(job->s.out, recipe, false, err));
        return save(job, err);
    }
    KERN_TRY(model_checkpoint_stage(job->s.out, job->trainer, err));
    KERN_TRY(model_run_begin(job->s.out, recipe, true, err));
    return model_checkpoint_recover(job->s.out, &step, err);
}

static kern_status begin_run(train_job *job, kern_error *err)
{
    char *path = NULL;
    KERN_TRY(cli_data_describe(&job->data, &path, err));
    const model_recipe recipe = {.config = &job->s.config,
                                 .tokenizer = &job->data.tokenizer,
                                 .data_kind = cli_data_kind_word(job->data.kind),
                                 .data_path = path,
                                 .training = &job->s.training};
    const kern_status status = start_folder(job, &recipe, err);
    free(path);
    return status;
}

static kern_status resume_run(train_job *job, kern_error *err)
{
    char note[MODEL_CHECKPOINT_NOTE] = "";
    KERN_TRY(model_checkpoint_load(job->s.out, job->trainer, note, err));
    job->saved = job->trainer->step;
    if (note[0] != '\0') {
        (void)fprintf(stderr, "note: %s\n", note);
    }
    return KERN_OK;
}

/* Only a total that has changed is written, and only once everything else was accepted. */
static kern_status extend_run(train_job *job, kern_error *err)
{
    if (!job->s.resume || job->s.training.schedule.total == job->run.training.schedule.total) {
        return KERN_OK;
    }
    job->run.training = job->s.training;
    return model_run_write(&job->run, err);
}

/* A step along −P∇ε descends only where P is positive definite: a run that has lost that is saved
 * and stopped, unless it was told to go on or is at its end. */
static kern_status check_preconditioners(train_job *job, kern_error *err)
{
    kern_error why = {0};
    const size_t step = job->trainer->step;
    const bool last = step >= job->s.training.schedule.total;
    const kern_status status = model_positive_require(job->m, &why);
    if (status == KERN_INVALID_ARGUMENT && (job->s.allow_indefinite || last)) {
        cli_progress_note(&job->progress, "step %zu: %s", step, why.text);
        return KERN_OK;
    }
    if (status == KERN_INVALID_ARGUMENT && job->saved != step) {
        KERN_TRY(save(job, err));
    }
    if (status != KERN_OK) {
        return kern_raise(err, status,
                          "%s; step %zu is saved in %s, and --allow-indefinite goes on", why.text,
                          job->saved, job->s.out);
    }
    return KERN_OK;
}

static kern_status prepare(train_job *job, const cli_call *call, kern_error *err)
{
    KERN_TRY(settle(job, call, err));
    KERN_TRY(load_data(job, err));
    KERN_TRY(build_trainer(job, err));
    KERN_TRY(job->s.resume ? resume_run(job, err) : begin_run(job, err));
    KERN_TRY(check_preconditioners(job, err));
    KERN_TRY(model_metrics_create(&job->metrics, job->s.out, job->trainer->step, err));
    KERN_TRY(extend_run(job, err));
    job->earlier = model_metrics_seconds(job->metrics);
    job->first = job->trainer->step;
    return KERN_OK;
}

/* ---- Training ---------------------------------------------------------------------------- */

static size_t tokens_per_step(const train_job *job)
{
    return job->s.training.batch * job->s.training.window;
}

static double speed(const train_job *job, size_t steps, double seconds)
{
    return seconds > 0 ? (double)(steps * tokens_per_step(job)) / seconds : (double)NAN;
}

static kern_status evaluate(train_job *job, kern_error *err)
{
    if (job->s.eval_batches == 0) {
        return KERN_OK;
    }
    KERN_TRY(model_trainer_evaluate(job->trainer, &job->data.stream, MODEL_PART_VAL,
                                    job->s.eval_batches, &job->val_loss, err));
    cli_progress_note(&job->progress, "step %zu: validation loss %.4f", job->trainer->step,
                      job->val_loss);
    return KERN_OK;
}

static kern_status write_row(train_job *job, const model_step_report *report, bool evaluated,
                             kern_error *err)
{
    if (job->loss_n > 0) {
        job->loss = job->loss_sum / (double)job->loss_n;
    }
    const model_metrics_row row = {.step = job->trainer->step,
                                   .tokens = job->trainer->step * tokens_per_step(job),
                                   .loss = job->loss,
                                   .val_loss = evaluated ? job->val_loss : (double)NAN,
                                   .rate = report->rate,
                                   .gradient_norm = report->gradient_norm,
                                   .tokens_per_s = speed(job, job->loss_n, job->row_seconds),
                                   .seconds = job->earlier + job->seconds};
    job->loss_sum = 0;
    job->loss_n = 0;
    job->row_seconds = 0;
    return model_metrics_append(job->metrics, &row, err);
}

static bool is_due(size_t step, size_t every)
{
    return every > 0 && step % every == 0;
}

static kern_status take_step(train_job *job, model_step_report *report, kern_error *err)
{
    kern_error why = {0};
    const double before = cli_progress_now();
    const kern_status status = model_trainer_step(job->trainer, report, &why);
    if (status == KERN_NAN) {
        return kern_raise(err, status,
                          "%s; the checkpoint of step %zu is kept in %s; --resume cannot change "
                          "--lr and --clip, but a fresh run with a lower one may help",
                          why.text, job->saved, job->s.out);
    }
    if (status != KERN_OK) {
        return kern_raise(err, status, "%s", why.text);
    }
    const double spent = cli_progress_now() - before;
    job->seconds += spent;
    job->row_seconds += spent;
    job->loss_sum += report->loss;
    job->loss_n++;
    return KERN_OK;
}

/* What is due after a step: measurement, row, checkpoint. */
static kern_status after_step(train_job *job, const model_step_report *report, kern_error *err)
{
    const size_t step = job->trainer->step;
    const bool last = step == job->s.training.schedule.total;
    const bool measure = last || is_due(step, job->s.eval_every);
    if (measure) {
        KERN_TRY(evaluate(job, err));
    }
    if (measure || is_due(step, job->s.log_every)) {
        KERN_TRY(write_row(job, report, measure && job->s.eval_batches > 0, err));
    }
    if (last || is_due(step, job->s.checkpoint_every)) {
        KERN_TRY(save(job, err));
    }
    return measure || job->saved == step ? check_preconditioners(job, err) : KERN_OK;
}

static kern_status stop_on_request(train_job *job, kern_error *err)
{
    KERN_TRY(save(job, err));
    return kern_raise(err, KERN_INTERRUPTED,
                      "stopped on request; step %zu is saved in %s, and basin train --resume "
                      "--out %s goes on from there",
                      job->saved, job->s.out, job->s.out);
}

static kern_status train(train_job *job, kern_error *err)
{
    const size_t total = job->s.training.schedule.total;
    while (job->trainer->step < total) {
        model_step_report report = {0};
        if (cli_signal_caught()) {
            return stop_on_request(job, err);
        }
        KERN_TRY(take_step(job, &report, err));
        cli_progress_update(&job->progress, job->trainer->step,
                            job->loss_sum / (double)job->loss_n);
        KERN_TRY(after_step(job, &report, err));
    }
    /* A run that had nothing left to do is measured all the same. */
    return job->first >= total ? evaluate(job, err) : KERN_OK;
}

/* ---- Result ------------------------------------------------------------------------------ */

/* What this call had no occasion to measure is left out. */
static void print_measured(const char *name, double value, const char *unit)
{
    if (isfinite(value)) {
        (void)printf("%-13s %.6g%s%s\n", name, value, unit[0] != '\0' ? " " : "", unit);
    }
}

static kern_status print_result(const train_job *job, kern_error *err)
{
    const size_t steps = job->trainer->step;
    const double rate = speed(job, steps - job->first, job->seconds);
    const double minutes = (cli_progress_now() - job->started) / 60.0;
    if (!job->s.json) {
        (void)printf("run           %s\nparameters    %zu\nsteps         %zu\ntokens        %zu\n",
                     job->s.out, job->m->params.elements, steps, steps * tokens_per_step(job));
        print_measured("loss", job->loss, "nats per token");
        print_measured("val_loss", job->val_loss, "nats per token");
        print_measured("tokens_per_s", rate, "");
        print_measured("minutes", minutes, "");
        return KERN_OK;
    }
    cli_json json;
    cli_json_init(&json);
    cli_json_text(&json, json.object, "run", job->s.out);
    cli_json_text(&json, json.object, "family", model_config_family_name(&job->s.config));
    cli_json_size(&json, json.object, "parameters", job->m->params.elements);
    cli_json_size(&json, json.object, "steps", steps);
    cli_json_size(&json, json.object, "tokens", steps * tokens_per_step(job));
    cli_json_real(&json, json.object, "loss", job->loss);
    cli_json_real(&json, json.object, "val_loss", job->val_loss);
    cli_json_real(&json, json.object, "tokens_per_s", rate);
    cli_json_real(&json, json.object, "minutes", minutes);
    return cli_json_print(&json, err);
}

kern_status cli_train_run(cli_call *call, const void *settings, kern_error *err)
{
    train_job job = {.s = *(const cli_train_settings *)settings,
                     .lock = -1,
                     .started = cli_progress_now(),
                     .loss = (double)NAN,
                     .val_loss = (double)NAN};
    kern_status status = prepare(&job, call, err);
    if (status == KERN_OK) {
        cli_signal_watch();
        (void)fprintf(stderr, "%s: %zu parameters, %zu training tokens, steps %zu to %zu\n",
                      model_config_family_name(&job.s.config), job.m->params.elements,
                      job.data.stream.n_train, job.first, job.s.training.schedule.total);
        cli_progress_start(&job.progress, "step", job.first, job.s.training.schedule.total,
                           "tokens", (double)tokens_per_step(&job));
        status = train(&job, err);
        cli_progress_finish(&job.progress);
    }
    if (status == KERN_OK) {
        status = print_result(&job, err);
    }
    job_fini(&job);
    return status;
}
