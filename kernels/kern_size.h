/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checked arithmetic on sizes. Shapes reach us from files and from the command line, so
 * every product that becomes a length or an offset goes through here.
 */
#ifndef BASIN_KERN_SIZE_H
#define BASIN_KERN_SIZE_H

#include <stdbool.h>
#include <stddef.h>

/* *out = a·b; false (and *out untouched) when the product does not fit size_t. */
static inline bool kern_size_mul(size_t a, size_t b, size_t *out)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) {
        return false;
    }
    *out = product;
    return true;
}

/* *out = a + b; false (and *out untouched) when the sum does not fit size_t. */
static inline bool kern_size_add(size_t a, size_t b, size_t *out)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return false;
    }
    *out = sum;
    return true;
}

/* Smallest multiple of `unit` (a power of two) that is ≥ n; n itself must be far from SIZE_MAX. */
static inline size_t kern_size_round_up(size_t n, size_t unit)
{
    return (n + unit - 1) & ~(unit - 1);
}

/* Smallest share of n, a multiple of `unit` (a power of two), that makes no more shares than `most`
 * of each would; n is at least 1. */
static inline size_t kern_size_share(size_t n, size_t most, size_t unit)
{
    const size_t shares = (n + most - 1) / most;
    return kern_size_round_up((n + shares - 1) / shares, unit);
}

static inline size_t kern_size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t kern_size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

#endif
