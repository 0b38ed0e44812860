/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Relative equilibria for subcommands: solving for them token by token, and where each token loses
 * stability as the factor on η/σ grows.
 */
#ifndef BASIN_CLI_RELATIVE_H
#define BASIN_CLI_RELATIVE_H

#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "dyn/dyn_cascade.h"
#include "dyn/dyn_chart.h"
#include "dyn/dyn_multipliers.h"

/* Zero-initialise; release with cli_relative_fini. */
typedef struct cli_relative {
    dyn_cascade cascade;        /* zeroed when nothing was solved */
    dyn_chart_margins *margins; /* of a chart: one per block, NaN where a block is not solved */
    double eta;                 /* c of Δ = −c ∇E, NaN where η is another */
} cli_relative;

/* Solves for a fixed point from `state` (size numbers), block by block, with a progress line. */
kern_status cli_relative_solve(cli_relative *r, cli_map *system, const double *state,
                               const dyn_cascade_options *options, kern_error *err);

/* Margins of all blocks of a chart from the multipliers at the solved state. */
kern_status cli_relative_measure(cli_relative *r, const cli_map *system, const dyn_multipliers *m,
                                 kern_error *err);
void cli_relative_fini(cli_relative *r);

/* Adds to the result of block `block` what is known of it. Rates that do not exist are null. */
void cli_relative_add(cli_json *json, cJSON *parent, const cli_relative *r, size_t block);

/* One line per block, and what to make of complex multipliers. */
void cli_relative_print(const cli_relative *r, const cli_map *system);

#endif
