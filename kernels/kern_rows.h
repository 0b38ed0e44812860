/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Splits a kernel call over its rows or columns. The split never changes a sum: each row, or each
 * column, is computed by one worker in one order.
 */
#ifndef BASIN_KERN_ROWS_H
#define BASIN_KERN_ROWS_H

#include "kernels/kern_op.h"

#include <stddef.h>

/* Part of a call: items `begin` … `end` − 1 (rows or columns). */
typedef void kern_range_body(const kern_call *call, size_t begin, size_t end);

/* Runs `body` over 0 … n−1, split among call->workers in multiples of `grain`. */
void kern_range_run(const kern_call *call, size_t n, size_t grain, kern_range_body *body);

#endif
