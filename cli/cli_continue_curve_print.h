/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What `basin continue --second` has found, and its report.
 */
#ifndef BASIN_CLI_CONTINUE_CURVE_PRINT_H
#define BASIN_CLI_CONTINUE_CURVE_PRINT_H

#include "cli/cli_continue.h"
#include "dyn/dyn_curve.h"

typedef struct cli_curve_job {
    const cli_continue_job *base;
    dyn_normal_kind kind;
    double low, high;   /* range of --second */
    size_t n_requested; /* events of that kind on the branches */
    size_t n_known;     /* of them, those on a curve that another one had led to */
    size_t n_failed;    /* of them, those that led to no curve */
    kern_error failure; /* of the first of these */
    size_t n_curves;
    dyn_curve *curves; /* owned */
} cli_curve_job;

/* Reports as --json, --out, --csv and the text table ask. */
kern_status cli_continue_curve_report(const cli_curve_job *job, kern_error *err);

/* KERN_OK when the curve ended at a bound or closed; what cut it short otherwise. */
kern_status cli_continue_curve_status(const dyn_curve *curve);

#endif
