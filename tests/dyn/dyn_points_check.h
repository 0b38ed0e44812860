/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Searching for fixed points and cycles in a test, and what must hold of any search.
 */
#ifndef BASIN_DYN_POINTS_CHECK_H
#define BASIN_DYN_POINTS_CHECK_H

#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_fixed_points.h"

static inline dyn_fixed_points_options points_options(size_t period, size_t starts,
                                                      const double *low, const double *high)
{
    dyn_fixed_points_options o = dyn_fixed_points_options_default();
    o.period = period;
    o.n_starts = starts;
    o.low = low;
    o.high = high;
    return o;
}

/* The search, with what must hold of any: every start ends somewhere, and every one that converged
 * has hit a cycle of the list, a new one each time with deflation. */
static inline dyn_fixed_points points_search(dyn_map *map, const dyn_fixed_points_options *o)
{
    dyn_fixed_points out;
    kern_error err = {0};
    if (dyn_fixed_points_init(&out, map, o, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    size_t failed = 0;
    size_t hits = 0;
    for (size_t i = 0; i < KERN_STATUS_COUNT; i++) {
        failed += out.failures[i];
    }
    for (size_t i = 0; i < out.n_cycles; i++) {
        hits += out.cycles[i].hits;
    }
    assert_int_equal(out.n_requested, o->n_given + o->n_starts);
    assert_int_equal(out.n_converged + failed, out.n_requested);
    assert_int_equal(hits, o->deflate ? out.n_cycles : out.n_converged);
    return out;
}

#endif
