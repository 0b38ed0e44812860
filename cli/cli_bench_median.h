/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Medians of a bench's rounds.
 */
#ifndef BASIN_CLI_BENCH_MEDIAN_H
#define BASIN_CLI_BENCH_MEDIAN_H

#include <stddef.h>

enum { CLI_BENCH_ROUNDS = 101 }; /* most rounds of a bench */

/* Median of n ≥ 1 values, which are sorted in place. */
double cli_bench_median(double *values, size_t n);

#endif
