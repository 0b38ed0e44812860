/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin continue: branches of fixed points and cycles against a parameter, and their bifurcations.
 */
#include "cli/cli_continue.h"

#include "cli/cli_commands.h"
#include "cli/cli_continue_tokens.h"
#include "cli/cli_progress.h"
#include "cli/cli_rows.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_cascade.h"
#include "dyn/dyn_chart.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COUNT = 1 << 24, DEPTH_MAX = 32 };

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(cli_continue_settings, system),
    {.kind = CLI_HEADING, .help = "Branch"},
    {.name = "vary",
     .value = "P",
     .kind = CLI_TEXT,
     .required = true,
     .offset = offsetof(cli_continue_settings, vary),
     .help = "parameter that varies"},
    CLI_OPTION_END(cli_continue_settings, "from", "A", from, true, "its value at the beginning"),
    CLI_OPTION_END(cli_continue_settings, "to", "B", to, true, "its value at the end"),
    CLI_OPTION_END(cli_continue_settings, "at", "C", at, false,
                   "begins here, between A and B, and goes both ways"),
    {.name = "period",
     .value = "P",
     .kind = CLI_SIZE,
     .low = 1,
     .high = DYN_BRANCH_MAX,
     .offset = offsetof(cli_continue_settings, period),
     .help = "minimal period of the cycle that is followed"},
    {.name = "switch",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = DEPTH_MAX,
     .offset = offsetof(cli_continue_settings, depth),
     .help = "follows as well what leaves at PD and BP points, N branchings deep"},
    {.name = "box",
     .value = "LO:HI,...",
     .kind = CLI_TEXT,
     .offset = offsetof(cli_continue_settings, box),
     .help = "box that states may not leave; one pair for all coordinates, or one each"},
    {.name = "step",
     .value = "X",
     .kind = CLI_REAL,
     .low = 1e-12,
     .high = 1,
     .offset = offsetof(cli_continue_settings, step),
     .help = "first step, of arclength in units of the parameter's range and of the states' size"},
    {.name = "step-min",
     .value = "X",
     .kind = CLI_REAL,
     .low = 1e-15,
     .high = 1,
     .offset = offsetof(cli_continue_settings, step_min),
     .help = "smallest step"},
    {.name = "step-max",
     .value = "X",
     .kind = CLI_REAL,
     .low = 1e-12,
     .high = 10,
     .offset = offsetof(cli_continue_settings, step_max),
     .help = "largest step"},
    {.name = "tol",
     .value = "X",
     .kind = CLI_REAL,
     .low = 1e-300,
     .high = 1,
     .offset = offsetof(cli_continue_settings, tol),
     .help = "largest residual; it must exceed the rounding of the largest coordinate"},
    {.name = "max-points",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = MAX_COUNT,
     .offset = offsetof(cli_continue_settings, max_points),
     .help = "of a branch in each direction"},
    CLI_OPTION_SEED(cli_continue_settings, "of the search for a first cycle"),
    {.kind = CLI_HEADING, .help = "Curves in two parameters"},
    {.name = "second",
     .value = "Q",
     .kind = CLI_TEXT,
     .offset = offsetof(cli_continue_settings, second),
     .help = "follows the bifurcations found in this parameter and that of --vary"},
    {.name = "range",
     .value = "LO:HI",
     .kind = CLI_TEXT,
     .offset = offsetof(cli_continue_settings, range),
     .help = "range of the second parameter, around its value on the branch"},
    {.name = "curve",
     .value = "LP|PD|NS",
     .kind = CLI_TEXT,
     .offset = offsetof(cli_continue_settings, curve),
     .help = "kind of bifurcation that is followed"},
    {.kind = CLI_HEADING, .help = "Results"},
    {.name = "cycles",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_continue_settings, cycles),
     .help = "adds all states of every point's cycle to the JSON, not the first alone"},
    CLI_OPTIONS_FILES(cli_continue_settings, files,
                      "one line for every point, with branch, parameter, stability and states"),
    CLI_OPTION_JSON(cli_continue_settings),
};

static void defaults(void *settings)
{
    const dyn_branch_options o = dyn_branch_options_default();
    *(cli_continue_settings *)settings = (cli_continue_settings){.at = (double)NAN,
                                                                 .period = o.period,
                                                                 .step = o.step,
                                                                 .step_min = o.step_min,
                                                                 .step_max = o.step_max,
                                                                 .tol = o.tol,
                                                                 .max_points = o.max_points,
                                                                 .seed = o.seed};
}

/* ---- Work --------------------------------------------------------------------------------- */

static kern_status check_range(const cli_continue_settings *s, kern_error *err)
{
    if (s->from == s->to) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--from and --to are both %g, accepted are two different numbers",
                          s->from);
    }
    if (!isnan(s->at) && !(s->at >= fmin(s->from, s->to) && s->at <= fmax(s->from, s->to))) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--at is %g, accepted is %g to %g, between --from and --to", s->at,
                          fmin(s->from, s->to), fmax(s->from, s->to));
    }
    if (!(s->step_min <= s->step && s->step <= s->step_max)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--step is %g, accepted is --step-min (%g) to --step-max (%g)", s->step,
                          s->step_min, s->step_max);
    }
    return KERN_OK;
}

/* Parameters of a chart that a map without one lacks. */
static kern_status check_vary(const cli_continue_settings *s, const dyn_map *map, kern_error *err)
{
    size_t index;
    const bool of_chart = strcmp(s->vary, "rate") == 0 || strcmp(s->vary, "sigma_scale") == 0;
    if (of_chart && !dyn_chart_is(map) &&
        dyn_map_find_param(map, s->vary, &index, NULL) != KERN_OK) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--vary is %s, a parameter of the chart of directions, which map %s does "
                          "not have by itself; add --chart",
                          s->vary, map->kind->name);
    }
    return cli_map_refuse_norm(map, err);
}

static kern_status compute(cli_continue_job *job, kern_error *err)
{
    const cli_continue_settings *s = job->s;
    dyn_branch_options o = dyn_branch_options_default();
    cli_progress progress;
    KERN_TRY(check_range(s, err));
    KERN_TRY(cli_files_check(&s->files, err));
    KERN_TRY(cli_map_open(&job->system, &s->system, err));
    KERN_TRY(check_vary(s, job->system.map, err));
    KERN_TRY(cli_continue_curve_check(s, job->system.map, err));
    KERN_TRY(cli_map_read_box(job->system.map, s->box, &job->box, &job->box_high, err));
    o.vary = s->vary;
    o.start = isnan(s->at) ? s->from : s->at;
    o.low = fmin(s->from, s->to);
    o.high = fmax(s->from, s->to);
    o.direction = !isnan(s->at) ? 0 : s->from < s->to ? 1 : -1;
    o.period = s->period;
    o.x0 = s->system.x0 != NULL ? job->system.map->start : NULL;
    o.step = s->step;
    o.step_min = s->step_min;
    o.step_max = s->step_max;
    o.tol = s->tol;
    o.max_points = s->max_points;
    o.box_low = job->box;
    o.box_high = job->box_high;
    o.seed = s->seed;
    o.progress = cli_run_watch;
    o.context = &progress;
    cli_signal_watch();
    cli_progress_start(&progress, "point", 0, s->max_points, "points", 1.0);
    const kern_status status = dyn_branch_tree_init(&job->tree, job->system.map, &o, s->depth, err);
    cli_progress_finish(&progress);
    return status;
}

/* True when an end says that the branch goes on where it was not followed. */
static bool is_unfinished(const dyn_branch *branch)
{
    for (size_t i = 0; i < 2; i++) {
        if (branch->ends[i] == DYN_BRANCH_END_STEP || branch->ends[i] == DYN_BRANCH_END_POINTS) {
            return true;
        }
    }
    return false;
}

/* Fixed points of many tokens and of charts are followed token by token. */
static bool follows_tokens(const cli_continue_settings *s)
{
    return (s->system.chart || s->system.model != NULL) && s->system.token == NULL &&
           s->period == 1 && s->depth == 0 && s->second == NULL;
}

static kern_status run_tokens(cli_call *call, const cli_continue_settings *s, kern_error *err)
{
    const cli_continue_tokens tokens = {.system = &s->system,
                                        .vary = s->vary,
                                        .from = s->from,
                                        .to = s->to,
                                        .settle = dyn_cascade_options_default().settle,
                                        .tol = s->tol,
                                        .json = s->json};
    KERN_TRY(check_range(s, err));
    return cli_continue_tokens_run(call, &tokens, err);
}

/* Nothing to report but why. */
static kern_status report_failure(const cli_continue_job *job, kern_status status,
                                  const kern_error *err)
{
    cli_json json;
    if (!job->s->json || job->system.map == NULL || !cli_json_is_outcome(status)) {
        return status;
    }
    cli_json_init(&json);
    cli_continue_describe(&json, job);
    (void)cli_json_array(&json, json.object, "points");
    (void)cli_json_array(&json, json.object, "events");
    return cli_json_print_failure(&json, status, err);
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    cli_continue_job job = {.s = settings};
    if (follows_tokens(job.s)) {
        return run_tokens(call, job.s, err);
    }
    kern_status status = compute(&job, err);
    if (status == KERN_OK && job.s->second != NULL) {
        status = cli_continue_curve_run(call, &job, err);
    } else if (status == KERN_OK) {
        call->check_failed = is_unfinished(&job.tree.branches[0]);
        status = cli_continue_report(&job, err);
    }
    status = report_failure(&job, status, err);
    dyn_branch_tree_fini(&job.tree);
    free(job.box);
    cli_map_fini(&job.system);
    return status;
}

const cli_command cli_continue = {
    .name = "continue",
    .purpose = "branches of fixed points and cycles against a parameter",
    .description =
        "Follows a fixed point or cycle by pseudo-arclength continuation and locates where it "
        "bifurcates: LP (fold), PD (period doubling), NS (Neimark-Sacker), BP (branch point), each "
        "with its normal-form coefficient. Without --x0 the branch begins at a cycle near the "
        "map's start, one that attracts if there is one. Relative equilibria, of --model or with "
        "--chart, are followed token by token, with the values at which each token loses "
        "stability; \"rate\" is the factor on eta/sigma. The exit status is 1 when none is found, "
        "when fixed points cannot be isolated, and when the branch ended unfinished.",
    .example =
        "basin continue --map logistic --vary r --from 2.5 --to 3.57 --switch 4\n"
        "basin continue --model run --prompt \"( max_10 3 5 )\" --vary rate --from 1 --to 50",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(cli_continue_settings),
    .defaults = defaults,
    .run = run,
};
