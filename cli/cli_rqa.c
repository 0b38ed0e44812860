/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin rqa: the recurrence plot of an orbit, and its lines.
 */
#include "cli/cli_commands.h"
#include "cli/cli_csv.h"
#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "cli/cli_progress.h"
#include "cli/cli_rows.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_orbit.h"
#include "dyn/dyn_rqa.h"
#include "kernels/kern_parallel.h"
#include "models/model_file.h"

#include <math.h>
#include <stdlib.h>

enum { STATES_MAX = 1 << 22, IMAGE_MAX = 1 << 16, MAX_COUNT = 1 << 24, LINE_TEXT = 64 };

/* As a coordinate: all of them. */
#define WHOLE_STATE SIZE_MAX

typedef struct rqa_settings {
    cli_map_options system;
    size_t steps;
    size_t ttr;
    size_t coordinate;
    size_t embed;
    size_t delay;
    dyn_norm norm;
    double rate;
    double threshold;
    size_t theiler;
    size_t lmin;
    size_t vmin;
    dyn_rqa_border border;
    size_t margin;
    int threads;
    const char *csv;
    const char *out;
    bool json;
} rqa_settings;

static kern_status parse_norm(void *member, const char *value, kern_error *err)
{
    *(dyn_norm *)member = dyn_norm_find(value);
    return *(dyn_norm *)member < DYN_NORM_COUNT
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT, "this is no norm");
}

static void show_norm(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", dyn_norm_word(*(const dyn_norm *)member));
}

static kern_status parse_border(void *member, const char *value, kern_error *err)
{
    *(dyn_rqa_border *)member = dyn_rqa_border_find(value);
    return *(dyn_rqa_border *)member < DYN_RQA_BORDER_COUNT
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT, "this is no rule for borders");
}

static void show_border(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", dyn_rqa_border_word(*(const dyn_rqa_border *)member));
}

/* A size_t member with bounds. */
#define ROW_SIZE(option, member, least, most, what)                                                \
    {                                                                                              \
        .name = (option), .value = "N", .kind = CLI_SIZE, .low = (least), .high = (most),          \
        .offset = offsetof(rqa_settings, member), .help = (what)                                   \
    }

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(rqa_settings, system),
    {.kind = CLI_HEADING, .help = "Series"},
    ROW_SIZE("steps", steps, 1, STATES_MAX, "states after the first one; N + 1 are compared"),
    CLI_OPTION_TTR(rqa_settings, ttr),
    {.name = "coordinate",
     .value = "I",
     .kind = CLI_SIZE,
     .low = 0,
     .high = CLI_STEPS_MAX,
     .hide_default = true,
     .offset = offsetof(rqa_settings, coordinate),
     .help = "compares this coordinate alone, from 0 (default: whole states, or 0 with --embed)"},
    ROW_SIZE("embed", embed, 1, MAX_COUNT, "values of the coordinate in a delay vector"),
    ROW_SIZE("delay", delay, 1, MAX_COUNT, "steps between them"),
    {.kind = CLI_HEADING, .help = "Recurrence"},
    {.name = "norm",
     .value = "NAME",
     .kind = CLI_WORD,
     .accepted = "max and euclid",
     .offset = offsetof(rqa_settings, norm),
     .parse = parse_norm,
     .show = show_norm,
     .help = "distance of states: max or euclid; on circles the shortest way round"},
    {.name = "threshold",
     .value = "X",
     .kind = CLI_REAL,
     .low = 0,
     .high = 1e300,
     .hide_default = true,
     .offset = offsetof(rqa_settings, threshold),
     .help = "largest distance of states that recur (default: as --rate says)"},
    {.name = "rate",
     .value = "P",
     .kind = CLI_REAL,
     .low = 1e-12,
     .high = 1,
     .offset = offsetof(rqa_settings, rate),
     .help = "the threshold is the smallest distance at which this part of all pairs recurs, but "
             "above rounding errors (at rest and on cycles more pairs recur)"},
    {.kind = CLI_HEADING, .help = "Lines"},
    ROW_SIZE("theiler", theiler, 0, MAX_COUNT,
             "leaves out pairs less than N steps apart; 1: states with themselves"),
    ROW_SIZE("lmin", lmin, 1, MAX_COUNT, "shortest diagonal line"),
    ROW_SIZE("vmin", vmin, 1, MAX_COUNT, "shortest vertical line"),
    {.name = "border",
     .value = "RULE",
     .kind = CLI_WORD,
     .accepted = "keep, drop and longest",
     .offset = offsetof(rqa_settings, border),
     .parse = parse_border,
     .show = show_border,
     .help = "lines cut by the border or the Theiler band: keep them with the length seen, drop "
             "them, or keep only the longest"},
    ROW_SIZE("trend-margin", margin, 0, MAX_COUNT,
             "longest distances in time left out of the trend"),
    CLI_OPTION_THREADS(rqa_settings),
    {.kind = CLI_HEADING, .help = "Results"},
    {.name = "out",
     .value = "F.pbm",
     .kind = CLI_TEXT,
     .offset = offsetof(rqa_settings, out),
     .help = "write the plot as a portable bitmap, time running right and up"},
    {.name = "csv",
     .value = "F.csv",
     .kind = CLI_TEXT,
     .offset = offsetof(rqa_settings, csv),
     .help = "write the recurrences as lines i,j"},
    CLI_OPTION_JSON(rqa_settings),
};

static void defaults(void *settings)
{
    const dyn_rqa_options o = dyn_rqa_options_default();
    *(rqa_settings *)settings = (rqa_settings){.steps = 1000,
                                               .ttr = 1000,
                                               .coordinate = WHOLE_STATE,
                                               .embed = 1,
                                               .delay = 1,
                                               .rate = 0.05,
                                               .threshold = (double)NAN,
                                               .theiler = o.theiler,
                                               .lmin = o.lmin,
                                               .vmin = o.vmin,
                                               .border = o.border,
                                               .margin = o.trend_margin,
                                               .threads = kern_parallel_processors()};
}

/* One call. */
typedef struct rqa_job {
    const rqa_settings *s;
    cli_map system;
    dyn_orbit *orbit;
    double *vectors; /* owned; NULL for whole states */
    dyn_recurrence recurrence;
    dyn_plot plot;
    dyn_rqa rqa;
} rqa_job;

/* ---- Computation -------------------------------------------------------------------------- */

static kern_status check_options(const cli_call *call, const rqa_settings *s, kern_error *err)
{
    if (cli_args_given(call, "threshold") && cli_args_given(call, "rate")) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--threshold and --rate are both given; accepted is one");
    }
    if (s->out != NULL && s->steps >= IMAGE_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--out of %zu states is a picture of 2^%.0f bits; accepted with --out "
                          "are fewer than %d --steps",
                          s->steps + 1, 2.0 * log2((double)s->steps), (int)IMAGE_MAX);
    }
    if (s->out != NULL) {
        KERN_TRY(model_file_check_target(s->out, err));
    }
    if (s->csv != NULL) {
        KERN_TRY(model_file_check_target(s->csv, err));
    }
    return s->out != NULL && s->csv != NULL
               ? cli_files_check_distinct("out", s->out, "csv", s->csv, err)
               : KERN_OK;
}

/* The states that are compared: those of the orbit, or delay vectors of one coordinate. */
static kern_status make_series(rqa_job *job, kern_error *err)
{
    const rqa_settings *s = job->s;
    const dyn_recurrence_series states = {.n = job->orbit->n,
                                          .width = job->orbit->size,
                                          .values = job->orbit->states,
                                          .periods = job->system.map->periods};
    job->recurrence = (dyn_recurrence){.rows = states, .norm = s->norm, .threshold = s->threshold};
    if (s->coordinate == WHOLE_STATE && s->embed == 1) {
        return KERN_OK;
    }
    return dyn_recurrence_embed(&job->recurrence.rows, &job->vectors, &states,
                                s->coordinate == WHOLE_STATE ? 0 : s->coordinate, s->embed,
                                s->delay, err);
}

static kern_status quantify(rqa_job *job, cli_progress *progress, kern_error *err)
{
    const rqa_settings *s = job->s;
    const dyn_recurrence_fit fit = {.rate = s->rate,
                                    .theiler = s->theiler,
                                    .workers = s->threads,
                                    .progress = cli_run_watch,
                                    .context = progress};
    const dyn_rqa_options o = {.theiler = s->theiler,
                               .lmin = s->lmin,
                               .vmin = s->vmin,
                               .border = s->border,
                               .trend_margin = s->margin,
                               .workers = s->threads,
                               .progress = cli_run_watch,
                               .context = progress};
    const size_t n = job->recurrence.rows.n;
    if (isnan(s->threshold)) {
        cli_progress_start(progress, "diagonal of the search for a threshold", 0, 4 * n, "lines",
                           1.0);
        KERN_TRY(dyn_recurrence_fit_threshold(&job->recurrence, &fit, err));
        cli_progress_finish(progress);
    }
    KERN_TRY(dyn_recurrence_plot(&job->plot, &job->recurrence, err));
    cli_progress_start(progress, "line", 0, 2 * n, "lines", 1.0);
    return dyn_rqa_init(&job->rqa, &job->plot, &o, err);
}

static kern_status compute(const cli_call *call, rqa_job *job, kern_error *err)
{
    const rqa_settings *s = job->s;
    const dyn_orbit_options o = {.ttr = s->ttr, .steps = s->steps};
    cli_progress progress;
    KERN_TRY(check_options(call, s, err));
    KERN_TRY(cli_map_open(&job->system, &s->system, err));
    KERN_TRY(dyn_orbit_create(&job->orbit, job->system.map, &o, err));
    if (job->orbit->status != KERN_OK) {
        return KERN_OK;
    }
    KERN_TRY(make_series(job, err));
    cli_signal_watch();
    const kern_status status = quantify(job, &progress, err);
    cli_progress_finish(&progress);
    return status;
}

/* ---- Files -------------------------------------------------------------------------------- */

static kern_status append_rows(const rqa_job *job, model_file_writer *writer, kern_error *err)
{
    const size_t bytes = (job->plot.columns + 7) / 8;
    unsigned char *cells = malloc(job->plot.columns + bytes);
    if (cells == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a row of %zu cells",
                          job->plot.columns);
    }
    kern_status status = KERN_OK;
    /* Pictures begin at the top, where time is latest. */
    for (size_t i = job->plot.rows; i-- > 0 && status == KERN_OK;) {
        dyn_plot_pack_row(&job->plot, i, cells, cells + job->plot.columns);
        status = model_file_writer_append(writer, cells + job->plot.columns, bytes, err);
        status = status == KERN_OK ? cli_signal_poll(err) : status;
    }
    free(cells);
    return status;
}

static kern_status write_image(const rqa_job *job, kern_error *err)
{
    model_file_writer *writer = NULL;
    char head[LINE_TEXT];
    const int n = snprintf(head, sizeof head, "P4\n%zu %zu\n", job->plot.columns, job->plot.rows);
    KERN_TRY(model_file_writer_begin(&writer, job->s->out, err));
    kern_status status = model_file_writer_append(writer, head, (size_t)n, err);
    if (status == KERN_OK) {
        status = append_rows(job, writer, err);
    }
    if (status == KERN_OK) {
        return model_file_writer_commit(&writer, err);
    }
    model_file_writer_abort(&writer);
    return status;
}

static kern_status write_csv(const rqa_job *job, kern_error *err)
{
    cli_csv csv;
    unsigned char *cells = malloc(job->plot.columns);
    if (cells == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a row of %zu cells",
                          job->plot.columns);
    }
    kern_status status = cli_csv_begin(&csv, job->s->csv, err);
    if (status != KERN_OK) {
        free(cells);
        return status;
    }
    cli_csv_word(&csv, "i");
    cli_csv_word(&csv, "j");
    cli_csv_end_line(&csv);
    for (size_t i = 0; i < job->plot.rows && csv.status == KERN_OK; i++) {
        job->plot.read(job->plot.context, i, 0, 0, 1, job->plot.columns, cells);
        for (size_t j = 0; j < job->plot.columns; j++) {
            if (cells[j] != 0) {
                cli_csv_size(&csv, i);
                cli_csv_size(&csv, j);
                cli_csv_end_line(&csv);
            }
        }
    }
    free(cells);
    return cli_csv_commit(&csv);
}

/* ---- Results ------------------------------------------------------------------------------ */

static void add_measures(cli_json *json, const dyn_rqa *q)
{
    const struct {
        const char *key;
        double value;
    } reals[] = {
        {"rr", q->rr},
        {"det", q->diagonal.share},
        {"l", q->diagonal.mean},
        {"div", q->div},
        {"entr", q->diagonal.entropy},
        {"trend", q->trend},
        {"lam", q->vertical.share},
        {"tt", q->vertical.mean},
        {"ventr", q->vertical.entropy},
        {"mrt", q->returns.mean},
        {"rte", q->returns.entropy},
    };
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        cli_json_real(json, json->object, reals[i].key, reals[i].value);
    }
    cli_json_size(json, json->object, "lmax", q->diagonal.longest);
    cli_json_size(json, json->object, "vmax", q->vertical.longest);
    cli_json_size(json, json->object, "recurrences", q->recurrences);
    cli_json_size(json, json->object, "cells", q->cells);
}

static kern_status print_json(const rqa_job *job, kern_error *err)
{
    const rqa_settings *s = job->s;
    cli_json json;
    cli_json_init(&json);
    cli_map_describe(&json, job->system.map);
    if (job->orbit->status == KERN_OK) {
        add_measures(&json, &job->rqa);
        cli_json_real(&json, json.object, "threshold", job->recurrence.threshold);
        cli_json_bool(&json, json.object, "threshold_at_rounding", job->recurrence.at_rounding);
        cli_json_size(&json, json.object, "states", job->recurrence.rows.n);
    }
    cli_json_size(&json, json.object, "theiler", s->theiler);
    cli_json_size(&json, json.object, "lmin", s->lmin);
    cli_json_size(&json, json.object, "vmin", s->vmin);
    cli_json_text(&json, json.object, "border", dyn_rqa_border_word(s->border));
    cli_json_text(&json, json.object, "norm", dyn_norm_word(s->norm));
    if (isnan(s->threshold)) {
        cli_json_real(&json, json.object, "rate", s->rate);
    }
    if (job->vectors != NULL) {
        cli_json_size(&json, json.object, "coordinate",
                      s->coordinate == WHOLE_STATE ? 0 : s->coordinate);
        cli_json_size(&json, json.object, "embed", s->embed);
        cli_json_size(&json, json.object, "delay", s->delay);
    }
    cli_json_size(&json, json.object, "steps", s->steps);
    cli_json_size(&json, json.object, "ttr", s->ttr);
    cli_json_size(&json, json.object, "end", job->orbit->end);
    cli_json_text(&json, json.object, "status", kern_status_word(job->orbit->status));
    return cli_json_print(&json, err);
}

static void print_lines(const char *what, const dyn_rqa_lines *lines, const char *names)
{
    (void)printf("%-9s %10.6f %10.4f %8zu %10.4f  %s\n", what, lines->share, lines->mean,
                 lines->longest, lines->entropy, names);
}

static void print_text(const rqa_job *job)
{
    const dyn_rqa *q = &job->rqa;
    const dyn_map_kind *kind = job->system.map->kind;
    (void)printf("%s: %s\n", kind->name, kind->formula);
    if (job->orbit->status != KERN_OK) {
        (void)printf("status: %s (%s) after %zu steps\n", kern_status_word(job->orbit->status),
                     kern_status_gloss(job->orbit->status), job->orbit->end);
        return;
    }
    (void)printf("%zu states, pairs within %.9g (%s norm), Theiler window %zu, border %s\n\n",
                 job->recurrence.rows.n, job->recurrence.threshold, dyn_norm_word(job->s->norm),
                 job->s->theiler, dyn_rqa_border_word(job->s->border));
    if (job->recurrence.at_rounding) {
        (void)printf(
            "At rate %g the threshold would fall among rounding errors, as it does at rest "
            "and on cycles.\nIt was set above them, so that what is one state but for "
            "rounding recurs; --threshold sets another.\n\n",
            job->s->rate);
    }
    (void)printf("recurrence rate RR %.9g, trend %.3g per step\n\n", q->rr, q->trend);
    (void)printf("%-9s %10s %10s %8s %10s\n", "lines", "share", "mean", "longest", "entropy");
    print_lines("diagonal", &q->diagonal, "DET, L, Lmax, ENTR");
    print_lines("vertical", &q->vertical, "LAM, TT, Vmax");
    (void)printf("%-9s %10s %10.4f %8zu %10.4f  MRT, longest, RTE\n", "returns", "",
                 q->returns.mean, q->returns.longest, q->returns.entropy);
}

static kern_status report(const rqa_job *job, kern_error *err)
{
    const bool has_plot = job->orbit->status == KERN_OK;
    if (has_plot && job->s->csv != NULL) {
        KERN_TRY(write_csv(job, err));
    }
    if (has_plot && job->s->out != NULL) {
        KERN_TRY(write_image(job, err));
    }
    if (job->s->json) {
        return print_json(job, err);
    }
    print_text(job);
    return KERN_OK;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    rqa_job job = {.s = settings};
    kern_status status = compute(call, &job, err);
    if (status == KERN_OK) {
        call->check_failed = job.orbit->status != KERN_OK;
        status = report(&job, err);
    }
    dyn_rqa_fini(&job.rqa);
    free(job.vectors);
    dyn_orbit_destroy(job.orbit);
    cli_map_fini(&job.system);
    return status;
}

const cli_command cli_rqa = {
    .name = "rqa",
    .purpose = "recurrence plot of an orbit, and its lines",
    .description =
        "Compares all states of an orbit pairwise, without storing the plot, and measures its "
        "diagonal lines (stretches of the orbit that run along each other), its vertical ones "
        "(stays near a state) and the times of return. Shares refer to the pairs that the Theiler "
        "window leaves. When the orbit is lost its status says how, and the exit status is 1.",
    .example =
        "basin rqa --map logistic --param r=3.83 --threshold 0.01\n"
        "basin rqa --map henon --steps 2000 --coordinate 0 --embed 2 --rate 0.05 --out h.pbm",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(rqa_settings),
    .defaults = defaults,
    .run = run,
};
