/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_lyapunov_scan.h"

#include "cli/cli_csv.h"
#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_lyapunov_scan.h"

#include <stdio.h>
#include <stdlib.h>

enum { SHOWN_EXPONENTS = 4, NAME_TEXT = 32 };

/* One call. */
typedef struct scan_job {
    const cli_lyapunov_scan *r;
    const dyn_map *map;
    dyn_lyapunov_scan scan;
} scan_job;

static void describe(cli_json *json, const void *context)
{
    const scan_job *job = context;
    const cli_lyapunov_scan *r = job->r;
    cli_map_describe(json, job->map);
    cli_json_text(json, json->object, "vary", r->vary.name);
    cli_json_real(json, json->object, "from", r->vary.from);
    cli_json_real(json, json->object, "to", r->vary.to);
    cli_json_size(json, json->object, "k", job->scan.k);
    cli_json_size(json, json->object, "steps", r->at.steps);
    cli_json_size(json, json->object, "ttr", r->at.ttr);
    cli_json_size(json, json->object, "frame_ttr", r->at.frame_ttr);
    cli_json_size(json, json->object, "window", r->at.window);
    cli_json_size(json, json->object, "resamples", r->at.resamples);
    cli_json_size(json, json->object, "seed", r->at.seed);
}

const char *cli_lyapunov_word(kern_status status, bool collapsed)
{
    return status == KERN_OK && collapsed ? "collapsed" : kern_status_word(status);
}

static const char *word_of(const dyn_lyapunov_point *p)
{
    return cli_lyapunov_word(p->status, p->collapsed);
}

/* Values where orbits are lost belong to many scans; one without any result shows nothing, and is
 * as its first point. */
static const dyn_lyapunov_point *outcome_of(const dyn_lyapunov_scan *scan)
{
    for (size_t i = 0; i < scan->n; i++) {
        if (scan->points[i].status == KERN_OK && !scan->points[i].collapsed) {
            return &scan->points[i];
        }
    }
    return &scan->points[0];
}

static kern_status print_json(const void *context, kern_error *err)
{
    const scan_job *job = context;
    cli_json json;
    cli_json_init(&json);
    describe(&json, job);
    cJSON *points = cli_json_array(&json, json.object, "points");
    for (size_t i = 0; i < job->scan.n; i++) {
        const dyn_lyapunov_point *p = &job->scan.points[i];
        cJSON *point = cli_json_child(&json, points, NULL);
        cli_json_real(&json, point, "parameter", p->parameter);
        (void)cli_json_reals(&json, point, "exponents", p->exponents, job->scan.k);
        (void)cli_json_reals(&json, point, "stderr", p->standard_errors, job->scan.k);
        cli_json_real(&json, point, "mean_log_abs_det", p->mean_log_abs_det);
        cli_json_real(&json, point, "kaplan_yorke", p->kaplan_yorke);
        cli_json_real(&json, point, "kaplan_yorke_low", p->kaplan_yorke_low);
        cli_json_real(&json, point, "kaplan_yorke_high", p->kaplan_yorke_high);
        cli_json_text(&json, point, "status", word_of(p));
        cli_json_bool(&json, point, "collapsed", p->collapsed);
    }
    cli_json_text(&json, json.object, "status", word_of(outcome_of(&job->scan)));
    return cli_json_print(&json, err);
}

static void write_heads(cli_csv *csv, size_t k)
{
    static const char *const prefixes[] = {"lambda", "stderr"};
    cli_csv_word(csv, "parameter");
    for (size_t i = 0; i < 2 * k; i++) {
        char name[NAME_TEXT];
        (void)snprintf(name, sizeof name, "%s%zu", prefixes[i / k], i % k + 1);
        cli_csv_word(csv, name);
    }
    cli_csv_word(csv, "mean_log_abs_det");
    cli_csv_word(csv, "kaplan_yorke");
    cli_csv_word(csv, "status");
    cli_csv_end_line(csv);
}

static kern_status write_csv(const void *context, const char *path, kern_error *err)
{
    const scan_job *job = context;
    cli_csv csv;
    const size_t k = job->scan.k;
    KERN_TRY(cli_csv_begin(&csv, path, err));
    write_heads(&csv, k);
    for (size_t i = 0; i < job->scan.n && csv.status == KERN_OK; i++) {
        const dyn_lyapunov_point *p = &job->scan.points[i];
        cli_csv_real(&csv, p->parameter);
        for (size_t j = 0; j < 2 * k; j++) {
            cli_csv_real(&csv, j < k ? p->exponents[j] : p->standard_errors[j - k]);
        }
        cli_csv_real(&csv, p->mean_log_abs_det);
        cli_csv_real(&csv, p->kaplan_yorke);
        cli_csv_word(&csv, word_of(p));
        cli_csv_end_line(&csv);
    }
    return cli_csv_commit(&csv);
}

/* One number of every value. */
static kern_status put_column(model_hdf5_writer *writer, const scan_job *job, const char *name,
                              double (*of)(const dyn_lyapunov_point *), kern_error *err)
{
    static const char *const dims[] = {"value"};
    const model_hdf5_shape line = {.rank = 1, .size = {job->scan.n}};
    const model_hdf5_meta meta = {.dims = dims};
    double *values = calloc(job->scan.n, sizeof *values);
    if (values == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu values", job->scan.n);
    }
    for (size_t i = 0; i < job->scan.n; i++) {
        values[i] = of(&job->scan.points[i]);
    }
    const kern_status status = model_hdf5_put_doubles(writer, name, values, &line, &meta, err);
    free(values);
    return status;
}

static double parameter_of(const dyn_lyapunov_point *p)
{
    return p->parameter;
}

static double determinant_of(const dyn_lyapunov_point *p)
{
    return p->mean_log_abs_det;
}

static double dimension_of(const dyn_lyapunov_point *p)
{
    return p->kaplan_yorke;
}

static kern_status put_status(model_hdf5_writer *writer, const scan_job *job, kern_error *err)
{
    static const char *const dims[] = {"value"};
    const model_hdf5_shape line = {.rank = 1, .size = {job->scan.n}};
    const model_hdf5_meta meta = {.description = "how the orbit ended", .dims = dims};
    const char **words = calloc(job->scan.n, sizeof *words);
    if (words == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu values", job->scan.n);
    }
    for (size_t i = 0; i < job->scan.n; i++) {
        words[i] = word_of(&job->scan.points[i]);
    }
    const kern_status status = model_hdf5_put_strings(writer, "status", words, &line, &meta, err);
    free(words);
    return status;
}

static kern_status put_scan(model_hdf5_writer *writer, const void *context, kern_error *err)
{
    static const char *const dims[] = {"value", "exponent"};
    const scan_job *job = context;
    const model_hdf5_shape table = {.rank = 2, .size = {job->scan.n, job->scan.k}};
    const model_hdf5_meta exponents = {
        .units = "1/step", .description = "Lyapunov exponents, descending", .dims = dims};
    const model_hdf5_meta errors = {
        .units = "1/step", .description = "their standard errors", .dims = dims};
    KERN_TRY(put_column(writer, job, "parameter", parameter_of, err));
    KERN_TRY(
        model_hdf5_put_doubles(writer, "exponents", job->scan.exponents, &table, &exponents, err));
    KERN_TRY(
        model_hdf5_put_doubles(writer, "stderr", job->scan.standard_errors, &table, &errors, err));
    KERN_TRY(put_column(writer, job, "mean_log_abs_det", determinant_of, err));
    KERN_TRY(put_column(writer, job, "kaplan_yorke", dimension_of, err));
    return put_status(writer, job, err);
}

static void print_text(const void *context)
{
    const scan_job *job = context;
    (void)printf("%16s  %-12s exponents, nats per step\n", job->r->vary.name, "status");
    for (size_t i = 0; i < job->scan.n; i++) {
        const dyn_lyapunov_point *p = &job->scan.points[i];
        (void)printf("%16.9g  %-12s", p->parameter, word_of(p));
        for (size_t j = 0; j < job->scan.k && j < SHOWN_EXPONENTS; j++) {
            (void)printf(" %13.8f", p->exponents[j]);
        }
        (void)printf("%s%s\n", job->scan.k > SHOWN_EXPONENTS ? " ..." : "",
                     p->collapsed ? ", of a fixed point that rounding chose" : "");
    }
}

static const cli_report forms = {.command = "basin lyapunov",
                                 .describe = describe,
                                 .write_csv = write_csv,
                                 .put = put_scan,
                                 .print_json = print_json,
                                 .print_text = print_text};

static kern_status report(const scan_job *job, kern_error *err)
{
    return cli_files_report(&forms, &job->r->files, job->map, job->r->json, job, err);
}

kern_status cli_lyapunov_scan_run(cli_call *call, const dyn_map *map,
                                  const cli_lyapunov_scan *request, kern_error *err)
{
    scan_job job = {.r = request, .map = map};
    cli_progress progress;
    const dyn_lyapunov_scan_options o = {.vary = request->vary.name,
                                         .from = request->vary.from,
                                         .to = request->vary.to,
                                         .n = request->vary.n,
                                         .at = request->at,
                                         .workers = request->threads,
                                         .progress = cli_run_watch,
                                         .context = &progress};
    cli_signal_watch();
    cli_progress_start(&progress, "value", 0, o.n, "values", 1.0);
    kern_status status = dyn_lyapunov_scan_init(&job.scan, map, &o, err);
    cli_progress_finish(&progress);
    if (status == KERN_OK) {
        const dyn_lyapunov_point *outcome = outcome_of(&job.scan);
        call->check_failed = outcome->status != KERN_OK || outcome->collapsed;
        status = report(&job, err);
    }
    dyn_lyapunov_scan_fini(&job.scan);
    return status;
}
