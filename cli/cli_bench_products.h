/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speed of the matrix products that training is made of, at its sizes: what the libraries behind
 * the door leave to be had.
 */
#ifndef BASIN_CLI_BENCH_PRODUCTS_H
#define BASIN_CLI_BENCH_PRODUCTS_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* C (m×n) from a left operand and a right one, depth k. Weight gradients have a transposed left
 * operand and add to C; other products have a packed right operand and overwrite C. */
typedef struct cli_bench_product {
    const char *name;
    bool gradient;
    size_t m;
    size_t n;
    size_t k;
} cli_bench_product;

typedef struct cli_bench_rate {
    double gflops;           /* median over rounds, all workers together */
    double fraction_of_peak; /* of the largest peak that the run measured */
    double peak_gflops;      /* largest over rounds */
} cli_bench_rate;

/* The products, in the order of the training cases. */
const cli_bench_product *cli_bench_products(size_t *count);

/* Measures one product with every worker on a copy of its own, as lanes do, over several outputs in
 * turn, so that C comes from memory as it does in training. */
kern_status cli_bench_product_run(const cli_bench_product *product, int threads, size_t rounds,
                                  cli_bench_rate *rate, kern_error *err);

#endif
