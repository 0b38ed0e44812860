/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Boxes of starts for tests of basins, and what holds for every result. Include after cmocka.h.
 */
#ifndef BASIN_DYN_BASINS_CHECK_H
#define BASIN_DYN_BASINS_CHECK_H

#include "dyn/dyn_basins.h"
#include "tests/dyn/dyn_test_maps.h"

/* The methods, in the order of their table. */
enum { RECURRENCES, PROXIMITY, FEATURES, METHODS };

/* A grid of n cells along each of up to 3 coordinates of low … high. */
typedef struct basins_box {
    double low[3], high[3];
    size_t grid[3];
    dyn_basins_options o;
} basins_box;

static inline void basins_set_box(basins_box *b, size_t n, double low, double high)
{
    for (size_t i = 0; i < 3; i++) {
        b->low[i] = low;
        b->high[i] = high;
        b->grid[i] = n;
    }
    b->o = dyn_basins_options_default();
    b->o.starts.low = b->low;
    b->o.starts.high = b->high;
    b->o.starts.grid = b->grid;
}

/* Runs, and checks what holds for every result: labels and counts agree, fractions add to 1. */
static inline dyn_basins basins_find(const dyn_map *map, const dyn_basins_options *o)
{
    dyn_basins out;
    size_t total = 0;
    size_t unresolved = 0;
    double fractions = 0.0;
    MAPS_OK(dyn_basins_init(&out, map, o, maps_err));
    for (size_t i = 0; i < out.n_attractors; i++) {
        const dyn_attractor *a = &out.attractors[i];
        size_t count = 0;
        assert_int_equal(a->id, i + 1);
        for (size_t k = 0; k < out.n_starts; k++) {
            count += out.labels[k] == a->id ? 1U : 0U;
        }
        assert_int_equal(count, a->count);
        assert_true(a->n_points >= 1 && (a->period == 0 || a->period == a->n_points));
        MAPS_CLOSE(a->fraction, (double)count / (double)out.n_starts, 1e-15);
        MAPS_CLOSE(a->fraction_error,
                   sqrt(a->fraction * (1.0 - a->fraction) / (double)out.n_starts), 1e-15);
        total += a->count;
        fractions += a->fraction;
    }
    for (size_t i = 0; i < DYN_BASIN_OUTCOMES; i++) {
        total += out.counts[i];
        fractions += (double)out.counts[i] / (double)out.n_starts;
    }
    for (size_t i = 0; i < DYN_JUDGED_COUNT; i++) {
        unresolved += out.verdicts[i];
    }
    assert_int_equal(total, out.n_starts);
    assert_int_equal(unresolved, out.counts[-1 - DYN_BASIN_UNRESOLVED]);
    MAPS_CLOSE(fractions, 1.0, 1e-14);
    return out;
}

#endif
