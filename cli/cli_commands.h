/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommands: one file each, listed in cli_main.c.
 */
#ifndef BASIN_CLI_COMMANDS_H
#define BASIN_CLI_COMMANDS_H

#include "cli/cli_args.h"

extern const cli_command cli_train;
extern const cli_command cli_eval;
extern const cli_command cli_generate;
extern const cli_command cli_info;
extern const cli_command cli_trace;
extern const cli_command cli_selftest;
extern const cli_command cli_bench;
extern const cli_command cli_orbit;
extern const cli_command cli_orbit_diagram;
extern const cli_command cli_continue;
extern const cli_command cli_lyapunov;
extern const cli_command cli_chaos;
extern const cli_command cli_rqa;
extern const cli_command cli_multipliers;
extern const cli_command cli_fixed_points;
extern const cli_command cli_basins;
extern const cli_command cli_budget;
extern const cli_command cli_figure;
extern const cli_command cli_gp;
extern const cli_command cli_landscape;
extern const cli_command cli_hourglass;
extern const cli_command cli_verify;
extern const cli_command cli_view;

#endif
