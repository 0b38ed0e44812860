/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speed of the analyses of maps on a model's block: each rate beside that of the plain steps that
 * it is made of, and scans beside one thread. A subject and what it is compared with take turns, so
 * that a disturbance meets both.
 */
#ifndef BASIN_CLI_BENCH_DYN_H
#define BASIN_CLI_BENCH_DYN_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* How long to measure, and on what. */
typedef struct cli_bench_dyn_job {
    const char
        *model; /* folder of a trained run, or NULL: NRGPT (FF2W, D = 64) with random weights */
    int threads;
    size_t rounds;
    double seconds; /* of a round: half for the subject, half for its reference */
} cli_bench_dyn_job;

typedef struct cli_bench_dyn_case cli_bench_dyn_case;

/* The cases, in the order they run, and what a line of theirs says. */
size_t cli_bench_dyn_count(void);
const cli_bench_dyn_case *cli_bench_dyn_at(size_t i);
const char *cli_bench_dyn_name(const cli_bench_dyn_case *c);
const char *cli_bench_dyn_unit(const cli_bench_dyn_case *c);
const char *cli_bench_dyn_reference(const cli_bench_dyn_case *c); /* NULL: compared with nothing */

/* Plain numbers, so that a child process can hand them to its parent. NaN where a case has none. */
typedef struct cli_bench_dyn_result {
    kern_status status;
    char text[256];      /* sentence when status is not KERN_OK */
    double rate;         /* units per second, median over rounds */
    double fraction;     /* of the reference's rate, median of the rounds' ratios */
    double us_per_token; /* of one report, for those that report on every token */
    double max_rss_mb;   /* of the process that ran this case alone */
    bool checked;        /* one worker and several were compared, and … */
    bool identical;      /* … gave the same bits */
    size_t rounds;
} cli_bench_dyn_result;

/* Measures one case, after a call of each side that is not timed. */
void cli_bench_dyn_run(const cli_bench_dyn_case *c, const cli_bench_dyn_job *job,
                       cli_bench_dyn_result *result);

#endif
