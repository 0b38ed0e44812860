/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the sources of `basin continue` share: cli_continue.c reads the options and follows branches
 * in one parameter, cli_continue_print.c reports them, and cli_continue_curve.c, when --second is
 * given, follows curves of the events found in two parameters.
 */
#ifndef BASIN_CLI_CONTINUE_H
#define BASIN_CLI_CONTINUE_H

#include "cli/cli_args.h"
#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "dyn/dyn_branch.h"

typedef struct cli_continue_settings {
    cli_map_options system;
    const char *vary;
    double from, to;
    double at; /* where the branch begins; NaN: at `from` */
    size_t period;
    size_t depth; /* of --switch */
    const char *box;
    double step, step_min, step_max;
    double tol;
    size_t max_points;
    uint64_t seed;
    cli_files files;
    bool cycles; /* all states of every point in the JSON */
    bool json;
    /* Curves in two parameters. */
    const char *second; /* NULL: none */
    const char *range;  /* "lo:hi" of the second parameter; NULL when it was not given */
    const char *curve;  /* "LP", "PD" or "NS"; NULL when it was not given */
} cli_continue_settings;

/* One call of `basin continue`. */
typedef struct cli_continue_job {
    const cli_continue_settings *s;
    cli_map system;
    double *box; /* owned: map->size lower ends, then as many upper ones; NULL: no box */
    const double *box_high;
    dyn_branch_tree tree; /* the branches in one parameter */
} cli_continue_job;

/* Reports the branches as --json, --out, --csv and the text table ask. */
kern_status cli_continue_report(const cli_continue_job *job, kern_error *err);

/* Members that branches and curves have in common: map, params, vary, from, to, period, …. */
void cli_continue_describe(cli_json *json, const cli_continue_job *job);

/* Whether --second, --range and --curve fit each other and the map: before long work.
 * KERN_INVALID_ARGUMENT naming the option. */
kern_status cli_continue_curve_check(const cli_continue_settings *s, const dyn_map *map,
                                     kern_error *err);

/* With --second: follows the curves that begin at the job's events of kind --curve in the
 * parameters --vary and --second, and reports them instead of the branches. Sets
 * call->check_failed when a curve ended unfinished. KERN_NOT_CONVERGED when the branches have no
 * such event, and when none of them led to a curve. */
kern_status cli_continue_curve_run(cli_call *call, const cli_continue_job *job, kern_error *err);

#endif
