/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_basin_starts.h"

#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <string.h>

static kern_status check_box(const dyn_basin_starts *s, kern_error *err)
{
    if (s->low == NULL || s->high == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "starts need a box, and there is none");
    }
    for (size_t i = 0; i < s->size; i++) {
        if (!(s->low[i] < s->high[i]) || !isfinite(s->high[i] - s->low[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "coordinate %zu of the box reaches from %g to %g, accepted are two "
                              "finite numbers in ascending order",
                              i, s->low[i], s->high[i]);
        }
    }
    return KERN_OK;
}

static kern_status count_grid(const dyn_basin_starts *s, size_t *count, kern_error *err)
{
    if (!(s->jitter >= 0.0 && s->jitter <= 0.5)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the jitter is %g of a cell, accepted are numbers from 0 to 0.5",
                          s->jitter);
    }
    *count = 1;
    for (size_t i = 0; i < s->size; i++) {
        if (!kern_size_mul(*count, s->grid[i], count)) {
            return kern_raise(err, KERN_OVERFLOW,
                              "a grid of %zu cells along each of %zu coordinates has more starts "
                              "than can be counted",
                              s->grid[i], s->size);
        }
    }
    return KERN_OK;
}

kern_status dyn_basin_starts_count(const dyn_basin_starts *starts, size_t *count, kern_error *err)
{
    *count = starts->n;
    if (starts->kind == DYN_BASIN_GRID || starts->kind == DYN_BASIN_RANDOM) {
        KERN_TRY(check_box(starts, err));
    }
    if (starts->kind == DYN_BASIN_GRID) {
        KERN_TRY(count_grid(starts, count, err));
    }
    if (*count == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "there are no starts; accepted is 1 or more (of a grid: cells along each "
                          "coordinate)");
    }
    return KERN_OK;
}

/* Uniform in [0, 1), from the top 53 bits, so that 1 is not reached by rounding. */
static double draw(uint64_t key, size_t i)
{
    return 0x1p-53 * (double)(kern_rng_hash(key, i) >> 11);
}

static void get_centre(const dyn_basin_starts *s, size_t index, uint64_t key, double *x)
{
    for (size_t i = s->size; i-- > 0;) {
        const size_t n = s->grid[i];
        const double offset = s->jitter > 0.0 ? s->jitter * (2.0 * draw(key, i) - 1.0) : 0.0;
        const double part = ((double)(index % n) + 0.5 + offset) / (double)n;
        x[i] = (1.0 - part) * s->low[i] + part * s->high[i];
        index /= n;
    }
}

void dyn_basin_starts_get(const dyn_basin_starts *starts, size_t index, double *x)
{
    const size_t size = starts->size;
    if (starts->kind == DYN_BASIN_GIVEN) {
        memcpy(x, starts->given + index * size, size * sizeof *x);
        return;
    }
    if (starts->kind == DYN_BASIN_TOLD) {
        starts->tell(starts->context, index, size, x);
        return;
    }
    /* A counter-based stream of the start's own: nothing is allocated for millions of starts. */
    const uint64_t key = kern_rng_seed(starts->seed, "starts", index);
    if (starts->kind == DYN_BASIN_GRID) {
        get_centre(starts, index, key, x);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        x[i] = starts->low[i] + (starts->high[i] - starts->low[i]) * draw(key, i);
    }
}
