/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_bench_median.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

double cli_bench_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

double cli_bench_largest(const double *values, size_t n)
{
    double largest = values[0];
    for (size_t i = 1; i < n; i++) {
        largest = values[i] > largest ? values[i] : largest;
    }
    return largest;
}
