/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What `basin bench cem` prints of a result.
 */
#ifndef BASIN_CLI_BENCH_CEM_PRINT_H
#define BASIN_CLI_BENCH_CEM_PRINT_H

#include "cli/cli_bench_cem.h"
#include "cli/cli_json.h"

/* Tables on standard output; with job->profile, also the time by operation of each case. */
void cli_bench_cem_print(const cli_bench_cem_job *job, const cli_bench_cem_result *r);

/* A row of `rows` for each case (forward-1, forward-T, train-1, train-T), and the members "sizes",
 * "ratios" and "memory" of the object. */
void cli_bench_cem_json(cli_json *json, cJSON *rows, const cli_bench_cem_job *job,
                        const cli_bench_cem_result *r);

#endif
