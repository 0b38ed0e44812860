/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Throughput of training at fixed sizes, beside the machine's own limit measured in the same run.
 */
#ifndef BASIN_CLI_BENCH_TRAIN_H
#define BASIN_CLI_BENCH_TRAIN_H

#include "kernels/kern_exec.h"
#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* A size: an NRGPT with the published mask of its data set, random tokens. */
typedef struct cli_bench_case {
    const char *name;
    bool ff1; /* else FF2W */
    size_t width;
    size_t heads;
    size_t steps;
    size_t vocab;
    size_t batch;
    size_t window;
    bool strict;
} cli_bench_case;

/* Plain numbers, so that a child process can hand it to its parent. */
typedef struct cli_bench_result {
    kern_status status;
    char text[256];          /* sentence when status is not KERN_OK */
    double tokens_per_s;     /* median over rounds */
    double fraction_of_peak; /* of the largest peak that the run measured */
    double peak_gflops;      /* largest over rounds, f32, all threads */
    double mflop_per_token;  /* what causal training needs */
    double max_rss_mb;       /* of the process that ran this case alone */
    size_t rounds;
    kern_profile profile; /* of the last round, all lanes together */
} cli_bench_result;

/* The cases, in the order they run. */
const cli_bench_case *cli_bench_train_cases(size_t *count);

/* Measures one case: after two warm-up steps, `rounds` times a tenth of a second of multiply-adds
 * and then training steps for about `seconds`. A tail of the profile is filled when `profile` is
 * set (which costs about a per cent). */
void cli_bench_train_run(const cli_bench_case *bench, int threads, size_t rounds, double seconds,
                         bool profile, cli_bench_result *result);

#endif
