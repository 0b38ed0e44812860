/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speed of landscapes: the energy of the last of 64 tokens of an NRGPT (D = 256, 8 heads, random
 * weights, FF1 and FF2W) on a plane. What a user waits for after moving the plane is its reduction
 * to coefficients and a first field; what is settled is the finest field in double precision with
 * its contours. Behind these stand what the explorer's frames cost (cli/cli_bench_view.h).
 */
#ifndef BASIN_CLI_BENCH_VIZ_H
#define BASIN_CLI_BENCH_VIZ_H

#include "cli/cli_json.h"
#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_bench_viz_job {
    int threads;
    size_t rounds;    /* at most CLI_BENCH_ROUNDS */
    bool json;        /* print nothing */
    const char *only; /* rows whose names begin so, or NULL: all */
} cli_bench_viz_job;

/* Measures everything: a row each of `rows` ("name", "wall_ms", "cpu_ms", "rounds"; medians over
 * the rounds, processor time of all threads), and a table on standard output.
 * KERN_INVALID_ARGUMENT when no row's name begins with `only`. */
kern_status cli_bench_viz(const cli_bench_viz_job *job, cli_json *json, cJSON *rows,
                          kern_error *err);

#endif
