/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin orbit-diagram: samples of a map's attractor against a parameter.
 */
#include "cli/cli_commands.h"
#include "cli/cli_csv.h"
#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "cli/cli_progress.h"
#include "cli/cli_rows.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_orbit_diagram.h"
#include "kernels/kern_parallel.h"

#include <math.h>
#include <stdlib.h>

typedef struct diagram_settings {
    cli_map_options system;
    cli_vary vary;
    size_t values;
    size_t ttr;
    size_t coordinate;
    bool follow;
    double tolerance;
    int threads;
    cli_files files;
    bool json;
} diagram_settings;

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(diagram_settings, system),
    {.kind = CLI_HEADING, .help = "Diagram"},
    CLI_OPTIONS_VARY(diagram_settings, vary, true),
    CLI_OPTION_STEPS(diagram_settings, values, 1,
                     "steps after the transient, and values in a column"),
    CLI_OPTION_TTR(diagram_settings, ttr),
    CLI_OPTION_COORDINATE(diagram_settings, coordinate, "coordinate whose values are kept, from 0"),
    {.name = "follow",
     .kind = CLI_FLAG,
     .offset = offsetof(diagram_settings, follow),
     .help = "start every column where the one before ended, to stay on a branch"},
    {.name = "tol",
     .value = "X",
     .kind = CLI_REAL,
     .low = 0,
     .high = 1,
     .offset = offsetof(diagram_settings, tolerance),
     .help = "of a period: change of the state relative to 1 + its largest coordinate"},
    CLI_OPTION_THREADS(diagram_settings),
    {.kind = CLI_HEADING, .help = "Results"},
    CLI_OPTIONS_FILES(diagram_settings, files,
                      "one line for every value, with parameter, period, exponent and status"),
    CLI_OPTION_JSON(diagram_settings),
};

static void defaults(void *settings)
{
    diagram_settings *s = settings;
    const dyn_orbit_diagram_options o = dyn_orbit_diagram_defaults();
    s->vary.n = o.columns;
    s->values = o.values;
    s->ttr = o.ttr;
    s->tolerance = o.tolerance;
    s->threads = kern_parallel_processors();
}

typedef struct diagram_job {
    const diagram_settings *s;
    cli_map system;
    dyn_orbit_diagram *diagram;
} diagram_job;

static kern_status compute(diagram_job *job, kern_error *err)
{
    const diagram_settings *s = job->s;
    cli_progress progress;
    KERN_TRY(cli_files_check(&s->files, err));
    KERN_TRY(cli_map_open(&job->system, &s->system, err));
    const dyn_orbit_diagram_options o = {.vary = s->vary.name,
                                         .from = s->vary.from,
                                         .to = s->vary.to,
                                         .columns = s->vary.n,
                                         .ttr = s->ttr,
                                         .values = s->values,
                                         .coordinate = s->coordinate,
                                         .follow = s->follow,
                                         .tolerance = s->tolerance,
                                         .workers = s->threads,
                                         .progress = cli_run_watch,
                                         .context = &progress};
    cli_signal_watch();
    cli_progress_start(&progress, "column", 0, o.columns, "columns", 1.0);
    const kern_status status = dyn_orbit_diagram_create(&job->diagram, job->system.map, &o, err);
    cli_progress_finish(&progress);
    return status;
}

/* ---- Results ----------------------------------------------------------------------------------
 */

static void describe(cli_json *json, const void *context)
{
    const diagram_job *job = context;
    const diagram_settings *s = job->s;
    cli_map_describe(json, job->system.map);
    cli_json_text(json, json->object, "vary", s->vary.name);
    cli_json_real(json, json->object, "from", s->vary.from);
    cli_json_real(json, json->object, "to", s->vary.to);
    cli_json_size(json, json->object, "steps", s->values);
    cli_json_size(json, json->object, "ttr", s->ttr);
    cli_json_size(json, json->object, "coordinate", s->coordinate);
    cli_json_bool(json, json->object, "follow", s->follow);
    cli_json_real(json, json->object, "tol", s->tolerance);
}

/* Columns that diverge belong to many diagrams; one without any orbit shows nothing, and is as its
 * first column. */
static kern_status outcome_of(const dyn_orbit_diagram *d)
{
    for (size_t i = 0; i < d->n_columns; i++) {
        if (d->columns[i].status == KERN_OK) {
            return KERN_OK;
        }
    }
    return d->columns[0].status;
}

static kern_status print_json(const void *context, kern_error *err)
{
    const diagram_job *job = context;
    cli_json json;
    cli_json_init(&json);
    describe(&json, job);
    cJSON *columns = cli_json_array(&json, json.object, "columns");
    for (size_t i = 0; i < job->diagram->n_columns; i++) {
        const dyn_orbit_column *c = &job->diagram->columns[i];
        cJSON *column = cli_json_child(&json, columns, NULL);
        cli_json_real(&json, column, "parameter", c->parameter);
        (void)cli_json_reals(&json, column, "values", c->values, c->n);
        if (c->period > 0) {
            cli_json_size(&json, column, "period", c->period);
        } else {
            cli_json_null(&json, column, "period");
        }
        cli_json_real(&json, column, "exponent", c->exponent);
        cli_json_bool(&json, column, "collapsed", c->collapsed);
        cli_json_text(&json, column, "status", kern_status_word(c->status));
    }
    cli_json_text(&json, json.object, "status", kern_status_word(outcome_of(job->diagram)));
    return cli_json_print(&json, err);
}

static kern_status write_csv(const void *context, const char *path, kern_error *err)
{
    const diagram_job *job = context;
    static const char *const heads[] = {"parameter", "value", "period", "exponent", "status"};
    cli_csv csv;
    KERN_TRY(cli_csv_begin(&csv, path, err));
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        cli_csv_word(&csv, heads[i]);
    }
    cli_csv_end_line(&csv);
    for (size_t i = 0; i < job->diagram->n_columns && csv.status == KERN_OK; i++) {
        const dyn_orbit_column *c = &job->diagram->columns[i];
        /* A column without values still says what became of it. */
        for (size_t k = 0; k < c->n || (k == 0 && c->n == 0); k++) {
            cli_csv_real(&csv, c->parameter);
            cli_csv_real(&csv, c->values[k]);
            cli_csv_size(&csv, c->period);
            cli_csv_real(&csv, c->exponent);
            cli_csv_word(&csv, kern_status_word(c->status));
            cli_csv_end_line(&csv);
        }
    }
    return cli_csv_commit(&csv);
}

/* The columns' members as arrays. */
typedef struct diagram_arrays {
    double *parameter;
    double *exponent;
    int64_t *period;
    const char **status;
} diagram_arrays;

static void arrays_fini(diagram_arrays *a)
{
    free(a->parameter);
    free(a->exponent);
    free(a->period);
    free(a->status);
}

static kern_status arrays_init(diagram_arrays *a, const dyn_orbit_diagram *d, kern_error *err)
{
    const size_t n = d->n_columns;
    a->parameter = calloc(n, sizeof *a->parameter);
    a->exponent = calloc(n, sizeof *a->exponent);
    a->period = calloc(n, sizeof *a->period);
    a->status = calloc(n, sizeof *a->status);
    if (a->parameter == NULL || a->exponent == NULL || a->period == NULL || a->status == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory for %zu columns", n);
    }
    for (size_t i = 0; i < n; i++) {
        a->parameter[i] = d->columns[i].parameter;
        a->exponent[i] = d->columns[i].exponent;
        a->period[i] = (int64_t)d->columns[i].period;
        a->status[i] = kern_status_word(d->columns[i].status);
    }
    return KERN_OK;
}

static kern_status put_arrays(model_hdf5_writer *w, const diagram_arrays *a,
                              const dyn_orbit_diagram *d, kern_error *err)
{
    static const char *const dims[] = {"column", "step"};
    const model_hdf5_shape line = {.rank = 1, .size = {d->n_columns}};
    const model_hdf5_shape table = {.rank = 2, .size = {d->n_columns, d->n_values}};
    const model_hdf5_meta parameter = {.description = "the parameter that varies", .dims = dims};
    const model_hdf5_meta values = {.description = "values of the coordinate", .dims = dims};
    const model_hdf5_meta period = {.description = "minimal period, 0: none found", .dims = dims};
    const model_hdf5_meta exponent = {
        .units = "1/step", .description = "largest Lyapunov exponent", .dims = dims};
    const model_hdf5_meta status = {.description = "how the orbit ended", .dims = dims};
    KERN_TRY(model_hdf5_put_doubles(w, "parameter", a->parameter, &line, &parameter, err));
    KERN_TRY(model_hdf5_put_doubles(w, "values", d->values, &table, &values, err));
    KERN_TRY(model_hdf5_put_int64s(w, "period", a->period, &line, &period, err));
    KERN_TRY(model_hdf5_put_doubles(w, "exponent", a->exponent, &line, &exponent, err));
    return model_hdf5_put_strings(w, "status", a->status, &line, &status, err);
}

static kern_status put_diagram(model_hdf5_writer *writer, const void *context, kern_error *err)
{
    const diagram_job *job = context;
    diagram_arrays arrays = {NULL, NULL, NULL, NULL};
    kern_status status = arrays_init(&arrays, job->diagram, err);
    if (status == KERN_OK) {
        status = put_arrays(writer, &arrays, job->diagram, err);
    }
    arrays_fini(&arrays);
    return status;
}

static void print_column(const dyn_orbit_column *c)
{
    double low = c->n > 0 ? c->values[0] : (double)NAN;
    double high = low;
    for (size_t k = 1; k < c->n; k++) {
        low = fmin(low, c->values[k]);
        high = fmax(high, c->values[k]);
    }
    (void)printf("%16.9g ", c->parameter);
    if (c->period > 0) {
        (void)printf("%6zu", c->period);
    } else {
        (void)printf("%6s", "-");
    }
    (void)printf(" %12.5g %14.7g %14.7g  %s%s\n", c->exponent, low, high,
                 kern_status_word(c->status), c->collapsed ? ", collapsed by rounding" : "");
}

static void print_text(const void *context)
{
    const diagram_job *job = context;
    (void)printf("%16s %6s %12s %14s %14s  %s\n", job->s->vary.name, "period", "exponent", "least",
                 "largest", "status");
    for (size_t i = 0; i < job->diagram->n_columns; i++) {
        print_column(&job->diagram->columns[i]);
    }
}

static const cli_report forms = {.command = "basin orbit-diagram",
                                 .describe = describe,
                                 .write_csv = write_csv,
                                 .put = put_diagram,
                                 .print_json = print_json,
                                 .print_text = print_text};

static kern_status report(const diagram_job *job, kern_error *err)
{
    return cli_files_report(&forms, &job->s->files, job->system.map, job->s->json, job, err);
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    diagram_job job = {.s = settings};
    kern_status status = compute(&job, err);
    if (status == KERN_OK) {
        call->check_failed = outcome_of(job.diagram) != KERN_OK;
        status = report(&job, err);
    }
    dyn_orbit_diagram_destroy(job.diagram);
    cli_map_fini(&job.system);
    return status;
}

const cli_command cli_orbit_diagram = {
    .name = "orbit-diagram",
    .purpose = "a map's attractor against a parameter, with periods",
    .description =
        "For every value of a parameter, follows an orbit past its transient and reports values of "
        "one coordinate, the minimal period (up to 64; none otherwise) and the largest Lyapunov "
        "exponent (natural log per step). The exit status is 1 when every orbit diverges.",
    .example = "basin orbit-diagram --map logistic --vary r --from 2.5 --to 4 --n 400 "
               "--csv logistic.csv",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(diagram_settings),
    .defaults = defaults,
    .run = run,
};
