/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The benchmark's results with the seeds of each arm taken together.
 */
#ifndef BASIN_SYN_GP_TABLE_H
#define BASIN_SYN_GP_TABLE_H

#include "synthetic/syn_gp_bench.h"

/* Mean over seeds, and its standard error: deviation over the root of their number, NaN for one
 * seed. */
typedef struct syn_gp_mean {
    double value;
    double error;
} syn_gp_mean;

/* One kind of arm with T steps, under one history, evaluated at T'. */
typedef struct syn_gp_line {
    const syn_gp_arm *arm; /* of the smallest seed; borrowed from the benchmark */
    const char *hist;      /* "fixed", "sync" or "none" */
    size_t steps_eval;
    size_t parameters;
    size_t seeds;  /* whose training ended */
    size_t broken; /* whose training met numbers that are not finite; not in the means */
    syn_gp_mean rmse[SYN_GP_SPANS_MAX];
    syn_gp_mean excess[SYN_GP_SPANS_MAX]; /* over the floor, √(rmse² − floor²) of each seed */
} syn_gp_line;

/* Lines of all results there are, by kind, history, T and T'; *lines is one block that the caller
 * frees, whose arms live as long as the benchmark. A line without any finished seed has NaN.
 * KERN_NO_MEMORY. */
kern_status syn_gp_table_create(syn_gp_line **lines, size_t *count, const syn_gp_bench *b,
                                kern_error *err);

/* True when T' is the number of steps that the arm was trained with. */
bool syn_gp_line_is_own(const syn_gp_line *line);

#endif
