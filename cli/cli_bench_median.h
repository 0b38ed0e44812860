/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a bench makes of its rounds: the median of what is measured, and the largest value of the
 * limit that it is compared with, since interruptions can only lower that.
 */
#ifndef BASIN_CLI_BENCH_MEDIAN_H
#define BASIN_CLI_BENCH_MEDIAN_H

#include <stddef.h>

enum { CLI_BENCH_ROUNDS = 101 }; /* most rounds of a bench */

/* Median of n ≥ 1 values, which are sorted in place. */
double cli_bench_median(double *values, size_t n);

/* Largest of n ≥ 1 values. */
double cli_bench_largest(const double *values, size_t n);

#endif
