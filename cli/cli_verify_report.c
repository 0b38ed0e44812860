/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin verify --report and --figure: the report on a run, measured and written.
 */
#define _POSIX_C_SOURCE 200809L

#include "cli/cli_verify.h"

#include "cli/cli_progress.h"
#include "models/model_file.h"
#include "viz/viz_export.h"
#include "viz/viz_verify_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_ROOM = 4096 };

/* ---- where it goes ----------------------------------------------------------------------------
 */

static bool ends_in(const char *path, const char *end)
{
    const size_t n = strlen(path);
    const size_t m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

/* The forms of a report, by the end of its name. */
typedef enum report_form { FORM_TEXT, FORM_JSON, FORM_PAGE, FORM_FOLDER } report_form;

static report_form form_of(const char *path)
{
    static const struct {
        const char *end;
        report_form form;
    } forms[] = {{".txt", FORM_TEXT},
                 {".json", FORM_JSON},
                 {".pdf", FORM_PAGE},
                 {".svg", FORM_PAGE},
                 {".png", FORM_PAGE}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (ends_in(path, forms[i].end)) {
            return forms[i].form;
        }
    }
    return FORM_FOLDER;
}

kern_status cli_verify_check_report(const cli_verify_settings *s, kern_error *err)
{
    kern_error why = {0};
    kern_status status = KERN_OK;
    if ((s->report != NULL || s->figure != NULL) && s->run == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--%s is on a run; RUN is missing",
                          s->report != NULL ? "report" : "figure");
    }
    if (s->figure != NULL) {
        status = viz_export_check_path(s->figure, &why);
        if (status != KERN_OK) {
            return kern_raise(err, status, "--figure: %s", why.text);
        }
    }
    if (s->report != NULL && form_of(s->report) != FORM_FOLDER) {
        status = model_file_check_target(s->report, &why);
    }
    return status == KERN_OK ? KERN_OK : kern_raise(err, status, "--report: %s", why.text);
}

kern_status cli_verify_make_folder(const cli_verify_settings *s, kern_error *err)
{
    kern_error why = {0};
    if (s->report == NULL || form_of(s->report) != FORM_FOLDER) {
        return KERN_OK;
    }
    const kern_status status = model_file_make_folder(s->report, &why);
    return status == KERN_OK ? KERN_OK : kern_raise(err, status, "--report: %s", why.text);
}

/* ---- what the projection costs ----------------------------------------------------------------
 */

static kern_status score_loss(const cli_verify_job *job, const model *m, model_loss *out,
                              kern_error *err)
{
    cli_progress progress;
    size_t tokens = 0;
    const size_t window = job->run.run.training.window;
    KERN_TRY(model_stream_check_window(&job->data.stream, MODEL_PART_VAL, window, err));
    (void)model_stream_part(&job->data.stream, MODEL_PART_VAL, &tokens);
    cli_progress_start(&progress, "window", 0, (tokens + window - 1) / window, "tokens",
                       (double)window);
    const model_loss_options o = {.part = MODEL_PART_VAL,
                                  .window = window,
                                  .threads = job->s->threads,
                                  .progress = cli_run_watch,
                                  .context = &progress};
    const kern_status status = model_score_loss(m, &job->data.stream, &o, out, err);
    cli_progress_finish(&progress);
    return status;
}

static kern_status score_answers(const cli_verify_job *job, const model *m, model_accuracy *out,
                                 kern_error *err)
{
    cli_progress progress;
    model_scoring scoring = model_scoring_default(job->data.tokenizer.eos);
    scoring.sampling.greedy = true;
    scoring.sampling.vocab = job->data.tokenizer.vocab_size;
    scoring.threads = job->s->threads;
    scoring.progress = cli_run_watch;
    scoring.context = &progress;
    cli_progress_start(&progress, "greedy answer", 0, job->data.prompts.n, "answers", 1.0);
    const kern_status status = model_score_listops(m, &job->data.prompts, &scoring, out, err);
    cli_progress_finish(&progress);
    return status;
}

/* As basin eval measures it, in single precision. A loss that is not a number is a result here. */
static kern_status score_model(const cli_verify_job *job, const model *m, cli_verify_score *out,
                               kern_error *err)
{
    model *single = NULL;
    KERN_TRY(model_convert(&single, m, &kern_backend_cpu_f32, err));
    kern_status status = score_loss(job, single, &out->loss, err);
    if (status == KERN_NAN) {
        out->loss.loss = (double)NAN;
        status = KERN_OK;
    }
    if (status == KERN_OK && job->data.prompts.n > 0) {
        status = score_answers(job, single, &out->greedy, err);
    }
    model_destroy(single);
    return status;
}

static kern_status score_both(cli_verify_job *job, kern_error *err)
{
    model *projected = NULL;
    if (job->data.kind == CLI_DATA_LISTOPS) {
        KERN_TRY(cli_data_load_prompts(&job->data, err));
    }
    KERN_TRY(score_model(job, job->run.m, &job->trained, err));
    KERN_TRY(verify_report_project(&projected, job->run.m, job->report->certificate.c, err));
    const kern_status status = score_model(job, projected, &job->projected, err);
    model_destroy(projected);
    job->scored = status == KERN_OK;
    return status;
}

kern_status cli_verify_make_report(cli_verify_job *job, kern_error *err)
{
    const verify_report_options o = {.seed = job->s->seed, .workers = job->s->threads};
    KERN_TRY(verify_report_create(&job->report, job->subject, &o, err));
    return job->has_data ? score_both(job, err) : KERN_OK;
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* What `print` prints, as a text that the caller frees. */
static kern_status print_to_text(void (*print)(FILE *, const cli_verify_job *),
                                 const cli_verify_job *job, char **text, size_t *size,
                                 kern_error *err)
{
    FILE *out = open_memstream(text, size);
    if (out == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a report");
    }
    print(out, job);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(*text);
        *text = NULL;
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a report");
    }
    return KERN_OK;
}

static kern_status write_text(const cli_verify_job *job, const char *path, kern_error *err)
{
    char *text = NULL;
    size_t size = 0;
    KERN_TRY(print_to_text(cli_verify_print_report, job, &text, &size, err));
    const model_file_chunk chunk = {.data = text, .size = size};
    const kern_status status = model_file_write_atomic(path, &chunk, 1, err);
    free(text);
    return status;
}

static kern_status write_json(const cli_verify_job *job, const char *path, kern_error *err)
{
    cli_json json;
    char *text = NULL;
    cli_json_init(&json);
    cli_verify_add_json(&json, job);
    KERN_TRY(cli_json_take(&json, &text, err));
    const model_file_chunk chunks[] = {{.data = text, .size = strlen(text)},
                                       {.data = "\n", .size = 1}};
    const kern_status status = model_file_write_atomic(path, chunks, 2, err);
    free(text);
    return status;
}

/* The figure, with the sentences beneath on a whole page, or alone. */
static kern_status draw(const cli_verify_job *job, const char *note, const char *path,
                        kern_error *err)
{
    const verify_report *r = job->report;
    double c[3][VERIFY_REPORT_CURVE];
    double reach[2][VERIFY_REPORT_REACHES];
    char title[PATH_ROOM];
    viz_scene *scene = NULL;
    (void)snprintf(title, sizeof title, "Report on %.200s", job->subject->name);
    for (size_t i = 0; i < VERIFY_REPORT_CURVE; i++) {
        c[0][i] = r->c[i];
        c[1][i] = r->curve[i].change;
        c[2][i] = r->curve[i].allowed;
    }
    for (size_t i = 0; i < r->n_reaches; i++) {
        reach[0][i] = r->reaches[i].covered;
        reach[1][i] = r->reaches[i].rises;
    }
    const bool witness = r->n_channels > 0;
    const viz_verify_data data = {.title = title,
                                  .note = note,
                                  .n_curve = r->n_reaches > 0 ? VERIFY_REPORT_CURVE : 0,
                                  .c = c[0],
                                  .change = c[1],
                                  .allowed = c[2],
                                  .covered = r->n_reaches > 0 ? r->reaches[r->curve_state].covered
                                                              : (double)NAN,
                                  .step = r->step,
                                  .n_states = r->n_reaches,
                                  .covered_each = reach[0],
                                  .rises_each = reach[1],
                                  .n_channels = witness ? job->subject->width : 0,
                                  .share = witness ? r->certificate.share : NULL};
    const double width = viz_scene_points(VIZ_DOUBLE_COLUMN_MM);
    const viz_verify_style alone = {.width = width, .height = (witness ? 0.8 : 0.45) * width};
    kern_status status = viz_verify_plot(&scene, &data, note == NULL ? &alone : NULL, err);
    if (status == KERN_OK) {
        status = viz_export(scene, path, NULL, err);
    }
    viz_scene_destroy(scene);
    return status;
}

static kern_status write_page(const cli_verify_job *job, const char *path, kern_error *err)
{
    char *note = NULL;
    size_t size = 0;
    KERN_TRY(print_to_text(cli_verify_print_note, job, &note, &size, err));
    const kern_status status = draw(job, note, path, err);
    free(note);
    return status;
}

static kern_status write_folder(const cli_verify_job *job, const char *folder, kern_error *err)
{
    static const struct {
        const char *name;
        kern_status (*write)(const cli_verify_job *job, const char *path, kern_error *err);
    } files[] = {
        {"report.txt", write_text}, {"report.json", write_json}, {"report.pdf", write_page}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[PATH_ROOM];
        const int n = snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        if (n < 0 || (size_t)n >= sizeof path) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "--report: the name is too long");
        }
        KERN_TRY(files[i].write(job, path, err));
    }
    return KERN_OK;
}

kern_status cli_verify_write_report(const cli_verify_job *job, kern_error *err)
{
    const char *path = job->s->report;
    if (job->s->figure != NULL) {
        KERN_TRY(draw(job, NULL, job->s->figure, err));
    }
    if (path == NULL) {
        return KERN_OK;
    }
    switch (form_of(path)) {
    case FORM_TEXT:
        return write_text(job, path, err);
    case FORM_JSON:
        return write_json(job, path, err);
    case FORM_PAGE:
        return write_page(job, path, err);
    case FORM_FOLDER:
        break;
    }
    return write_folder(job, path, err);
}
