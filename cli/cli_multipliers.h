/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of basin multipliers.
 */
#ifndef BASIN_CLI_MULTIPLIERS_H
#define BASIN_CLI_MULTIPLIERS_H

#include "cli/cli_map.h"
#include "cli/cli_relative.h"
#include "cli/cli_spectrum.h"
#include "dyn/dyn_fixed_points.h"
#include "dyn/dyn_multipliers.h"

typedef struct cli_multipliers_settings {
    cli_map_options system;
    const char *at;
    bool solve;
    size_t period;
    double tol;
    size_t settle;
    size_t block;
    size_t horizon;
    bool vectors;
    bool bottleneck;
    cli_spectrum_options leading;
    int threads;
    bool json;
} cli_multipliers_settings;

/* One call. */
typedef struct cli_multipliers_job {
    const cli_multipliers_settings *s;
    cli_map system;
    double *states;  /* period × size, owned; NULL when the search found nothing */
    size_t period;   /* of states */
    double residual; /* distance of the image of the last state from the first, or of the search */
    kern_status status;
    dyn_multipliers result;
    dyn_spectrum leading;    /* with --k, instead of the above */
    cli_relative relative;   /* of a map of blocks or a chart that was solved */
    dyn_fixed_points failed; /* counts of a search that found nothing */
} cli_multipliers_job;

/* Print the result. */
kern_status cli_multipliers_print_json(const cli_multipliers_job *job, kern_error *err);
void cli_multipliers_print_text(const cli_multipliers_job *job);

#endif
