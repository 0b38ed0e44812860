/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin lyapunov: mean growth rates along an orbit.
 */
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_lyapunov_scan.h"
#include "cli/cli_map.h"
#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_lyapunov.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_size.h"

#include <math.h>

enum { DEFAULT_K = 8, MAX_K = 1 << 24 };

typedef struct lyapunov_settings {
    cli_map_options system;
    size_t k;
    size_t block;
    size_t steps;
    size_t ttr;
    size_t frame_ttr;
    size_t window;
    size_t resamples;
    uint64_t seed;
    int threads;
    bool series;
    cli_vary vary;
    cli_files files;
    bool json;
} lyapunov_settings;

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(lyapunov_settings, system),
    {.kind = CLI_HEADING, .help = "Exponents"},
    {.name = "k",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = MAX_K,
     .hide_default = true,
     .offset = offsetof(lyapunov_settings, k),
     .help = "number of exponents, the largest ones (default: all, but at most 8)"},
    {.name = "block",
     .value = "A",
     .kind = CLI_SIZE,
     .low = 0,
     .high = MAX_K,
     .hide_default = true,
     .offset = offsetof(lyapunov_settings, block),
     .help = "conditional exponents of one block (token), counted from 0, given the orbit of those "
             "before it (default: of the whole state)"},
    {.name = "steps",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = CLI_STEPS_MAX,
     .offset = offsetof(lyapunov_settings, steps),
     .help = "steps that are averaged"},
    CLI_OPTION_TTR(lyapunov_settings, ttr),
    {.name = "frame-ttr",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = CLI_STEPS_MAX,
     .offset = offsetof(lyapunov_settings, frame_ttr),
     .help = "steps after the transient in which the tangent vectors align before they count"},
    CLI_OPTION_SEED(lyapunov_settings, "of the first tangent vectors and of the bootstrap"),
    {.kind = CLI_HEADING, .help = "Errors"},
    {.name = "window",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = CLI_STEPS_MAX,
     .hide_default = true,
     .offset = offsetof(lyapunov_settings, window),
     .help = "steps of a window, the unit that the bootstrap draws (default: root of --steps)"},
    {.name = "resamples",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = 1 << 20,
     .offset = offsetof(lyapunov_settings, resamples),
     .help = "of the bootstrap; below 2 there are no standard errors"},
    {.kind = CLI_HEADING, .help = "Against a parameter"},
    CLI_OPTIONS_VARY(lyapunov_settings, vary, false),
    CLI_OPTIONS_FILES(lyapunov_settings, files, "parameter, exponents, errors; with --vary"),
    {.kind = CLI_HEADING, .help = "Results"},
    {.name = "series",
     .kind = CLI_FLAG,
     .offset = offsetof(lyapunov_settings, series),
     .help = "adds the exponents of every window to the JSON object"},
    CLI_OPTION_THREADS(lyapunov_settings),
    CLI_OPTION_JSON(lyapunov_settings),
};

static void defaults(void *settings)
{
    const dyn_lyapunov_options o = dyn_lyapunov_options_default();
    *(lyapunov_settings *)settings = (lyapunov_settings){.block = DYN_LYAPUNOV_WHOLE,
                                                         .steps = o.steps,
                                                         .ttr = o.ttr,
                                                         .frame_ttr = o.frame_ttr,
                                                         .resamples = o.resamples,
                                                         .threads = kern_parallel_processors(),
                                                         .vary = {.n = 200},
                                                         .seed = o.seed};
}

/* One call. */
typedef struct lyapunov_job {
    const lyapunov_settings *s;
    cli_map system;
    dyn_lyapunov result;
} lyapunov_job;

static dyn_lyapunov_options options_of(const lyapunov_settings *s, const dyn_map *map)
{
    dyn_lyapunov_options o = dyn_lyapunov_options_default();
    const size_t width = s->block == DYN_LYAPUNOV_WHOLE ? map->size : map->block_width;
    o.k = s->k > 0 ? s->k : kern_size_min(width, DEFAULT_K);
    o.steps = s->steps;
    o.ttr = s->ttr;
    o.frame_ttr = s->frame_ttr;
    o.window = s->window;
    o.resamples = s->resamples;
    o.block = s->block;
    o.seed = s->seed;
    o.workers = s->threads;
    return o;
}

static kern_status compute(lyapunov_job *job, kern_error *err)
{
    const dyn_map *map = job->system.map;
    dyn_lyapunov_options o = options_of(job->s, map);
    cli_progress progress;
    o.progress = cli_run_watch;
    o.context = &progress;
    cli_signal_watch();
    cli_progress_start(&progress, "step", 0, o.ttr + o.frame_ttr + o.steps, "steps", 1.0);
    const kern_status status =
        dyn_lyapunov_init(&job->result, job->system.map, map->start, &o, err);
    cli_progress_finish(&progress);
    return status;
}

/* ---- Printing ---------------------------------------------------------------------------- */

static void add_settings(cli_json *json, const lyapunov_job *job)
{
    const dyn_lyapunov *l = &job->result;
    cli_json_size(json, json->object, "steps", l->steps);
    cli_json_size(json, json->object, "ttr", l->ttr);
    cli_json_size(json, json->object, "frame_ttr", l->frame_ttr);
    cli_json_size(json, json->object, "window", l->window);
    cli_json_size(json, json->object, "resamples", job->s->resamples);
    cli_json_size(json, json->object, "seed", job->s->seed);
    if (job->s->block != DYN_LYAPUNOV_WHOLE) {
        cli_json_size(json, json->object, "block", job->s->block);
    }
}

static kern_status print_json(const lyapunov_job *job, kern_error *err)
{
    const dyn_lyapunov *l = &job->result;
    cli_json json;
    cli_json_init(&json);
    cli_map_describe(&json, job->system.map);
    (void)cli_json_reals(&json, json.object, "exponents", l->exponents, l->k);
    (void)cli_json_reals(&json, json.object, "stderr", l->standard_errors, l->k);
    cli_json_real(&json, json.object, "mean_log_abs_det", l->mean_log_abs_det);
    cli_json_real(&json, json.object, "kaplan_yorke", l->kaplan_yorke);
    cli_json_real(&json, json.object, "kaplan_yorke_low", l->kaplan_yorke_low);
    cli_json_real(&json, json.object, "kaplan_yorke_high", l->kaplan_yorke_high);
    cli_json_size(&json, json.object, "neutral", l->n_neutral);
    add_settings(&json, job);
    cli_json_text(&json, json.object, "status", cli_lyapunov_word(l->status, l->collapsed));
    if (l->status != KERN_OK) {
        cli_json_size(&json, json.object, "end", l->failed_step);
    }
    cli_json_bool(&json, json.object, "collapsed", l->collapsed);
    if (job->s->series) {
        cJSON *series = cli_json_array(&json, json.object, "series");
        for (size_t w = 0; w < l->n_windows; w++) {
            (void)cli_json_reals(&json, series, NULL, l->series + w * l->k, l->k);
        }
    }
    return cli_json_print(&json, err);
}

static void print_dimension(const dyn_lyapunov *l)
{
    if (l->kaplan_yorke_status != KERN_OK) {
        (void)printf("Kaplan-Yorke dimension not defined: the sums of %zu exponents do not cross "
                     "zero\n",
                     l->k);
        return;
    }
    (void)printf("Kaplan-Yorke dimension %.6f", l->kaplan_yorke);
    if (!isnan(l->kaplan_yorke_low) && !isnan(l->kaplan_yorke_high)) {
        (void)printf(", from %.6f to %.6f within the errors", l->kaplan_yorke_low,
                     l->kaplan_yorke_high);
    }
    (void)printf("\n");
    if (l->n_neutral > 0) {
        (void)printf("%zu of the exponents %s 0 within the error and counted so\n", l->n_neutral,
                     l->n_neutral == 1 ? "is" : "are");
    }
}

static void print_text(const lyapunov_job *job)
{
    const dyn_lyapunov *l = &job->result;
    const dyn_map_kind *kind = job->system.map->kind;
    (void)printf("%s: %s\n", kind->name, kind->formula);
    (void)printf("%zu steps after %zu of the state alone and %zu with the tangent vectors\n\n",
                 l->steps, l->ttr, l->frame_ttr);
    if (l->status != KERN_OK) {
        (void)printf("status: %s (%s) after %zu steps\n", kern_status_word(l->status),
                     kern_status_gloss(l->status), l->failed_step);
        return;
    }
    if (l->collapsed) {
        (void)printf("status: collapsed. The orbit sits on a repelling fixed point, where rounding "
                     "has put it;\nwhat follows belongs to that point and says nothing about an "
                     "attractor.\n\n");
    }
    (void)printf("%6s %16s %12s\n", "", "nats per step", "std. error");
    for (size_t i = 0; i < l->k; i++) {
        (void)printf("%6zu %16.9f %12.2g\n", i + 1, l->exponents[i], l->standard_errors[i]);
    }
    (void)printf("\n");
    if (!isnan(l->mean_log_abs_det)) {
        (void)printf("mean ln|det J|         %.9f\n", l->mean_log_abs_det);
    }
    print_dimension(l);
}

static kern_status check_options(const cli_call *call, const lyapunov_settings *s, kern_error *err)
{
    static const char *const only[] = {"out", "csv", "n"};
    KERN_TRY(cli_vary_check(call, &s->vary, only, sizeof only / sizeof only[0], err));
    if (s->series && s->vary.name != NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--series is given with --vary; accepted is one of them");
    }
    return cli_files_check(&s->files, err);
}

static kern_status run_scan(cli_call *call, const lyapunov_job *job, kern_error *err)
{
    const lyapunov_settings *s = job->s;
    const cli_lyapunov_scan request = {.vary = s->vary,
                                       .files = s->files,
                                       .at = options_of(s, job->system.map),
                                       .threads = s->threads,
                                       .json = s->json};
    return cli_lyapunov_scan_run(call, job->system.map, &request, err);
}

static kern_status run_point(cli_call *call, lyapunov_job *job, kern_error *err)
{
    KERN_TRY(compute(job, err));
    call->check_failed = job->result.status != KERN_OK || job->result.collapsed;
    if (job->s->json) {
        return print_json(job, err);
    }
    print_text(job);
    return KERN_OK;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    lyapunov_job job = {.s = settings};
    kern_status status = check_options(call, job.s, err);
    if (status == KERN_OK) {
        status = cli_map_open(&job.system, &job.s->system, err);
    }
    if (status == KERN_OK) {
        status = job.s->vary.name != NULL ? run_scan(call, &job, err) : run_point(call, &job, err);
    }
    dyn_lyapunov_fini(&job.result);
    cli_map_fini(&job.system);
    return status;
}

const cli_command cli_lyapunov = {
    .name = "lyapunov",
    .purpose = "Lyapunov exponents: mean growth rates along an orbit",
    .description =
        "Measures the mean growth rates of tangent vectors along an orbit by QR decompositions, in "
        "natural logarithm per step, the largest first, with standard errors by a block bootstrap, "
        "the mean of ln|det J|, which is the sum of all exponents, and the Kaplan-Yorke dimension. "
        "An exponent that is 0 within its error counts as 0 there. When the orbit is lost, or "
        "rounding has put it on a repelling fixed point (collapsed), the status says so, and the "
        "exit status is 1. With --vary, the same at every value of a parameter, by all threads; "
        "then it is 1 when no value has a result.",
    .example = "basin lyapunov --map henon --steps 100000\n"
               "basin lyapunov --map henon --vary a --from 1 --to 1.4 --n 400 --out henon.csv\n"
               "basin lyapunov --model run --prompt \"( max_10 3 5 )\" --block 2 --k 4",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(lyapunov_settings),
    .defaults = defaults,
    .run = run,
};
