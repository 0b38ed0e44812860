/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starts of a search: points that are given, then points drawn in a box.
 *
 * Uniform points come from a random stream each. Sobol points are those of I. M. Sobol (1967) in at
 * most 40 coordinates, shifted modulo 1 by one random vector (R. Cranley, T. N. L. Patterson 1976),
 * so that another seed gives another set and no point sits on a face or a symmetry plane of the
 * box; they leave smaller holes than uniform ones, which matters for basins that are small. Beyond
 * 40 coordinates there is no table of directions, and the points are uniform.
 */
#ifndef BASIN_DYN_STARTS_H
#define BASIN_DYN_STARTS_H

#include "dyn/dyn_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct dyn_starts dyn_starts;

typedef struct dyn_starts_options {
    size_t n_given;
    const double *given; /* n_given × size */
    size_t n_drawn;
    const double *low; /* `size` numbers each, low < high; may be NULL when n_drawn is 0 */
    const double *high;
    bool sobol;
    uint64_t seed;
} dyn_starts_options;

/* The options and what they point to are borrowed. KERN_INVALID_ARGUMENT when there is no start at
 * all, and when the box is missing, empty or not finite; KERN_NO_MEMORY. */
kern_status dyn_starts_create(dyn_starts **out, const dyn_map *map,
                              const dyn_starts_options *options, kern_error *err);
void dyn_starts_destroy(dyn_starts *s);

/* The next start into x. Points depend on the options and their place in the order alone. Called
 * at most n_given + n_drawn times. KERN_NO_MEMORY. */
kern_status dyn_starts_next(dyn_starts *s, double *x, kern_error *err);

#endif
