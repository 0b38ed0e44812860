/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attractors followed against a parameter: which attractor of one parameter value is which of
 * another, and fractions of basins against the parameter.
 */
#ifndef BASIN_DYN_BASINS_MATCH_H
#define BASIN_DYN_BASINS_MATCH_H

#include "dyn/dyn_basins.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Gives ids to the `n` attractors `now` from those of the `n_known` attractors `known`: pairs are
 * taken in ascending order of distance as long as it is at most `threshold`, so that no id is given
 * twice; those left get *next, *next + 1, …, and *next moves on. The distance is that of the sets
 * (dyn_attractor_distance of up to 1000 points), or of their mean positions with `centroid` (plain
 * means: not for coordinates on circles). Equal distances go to the earlier attractors. Only
 * `known[k].id` is read as an id. KERN_NO_MEMORY. */
kern_status dyn_attractors_match(int32_t *ids, const dyn_map *map, const dyn_attractor *now,
                                 size_t n, const dyn_attractor *known, size_t n_known,
                                 double threshold, bool centroid, int32_t *next, kern_error *err);

typedef struct dyn_basins_sweep_options {
    const char *vary; /* parameter */
    double from, to;  /* its values at the first and the last column, evenly spaced between */
    size_t n;         /* columns, at least 1 */
    double threshold; /* of matching; 0: a twentieth of the longest side of the box */
    bool centroid;
    bool keep_labels; /* otherwise the labels of a column are dropped when it is done */
} dyn_basins_sweep_options;

typedef struct dyn_basins_column {
    double parameter;
    dyn_basins basins; /* as dyn_basins_init gives it; labels are its own ids, or NULL */
    int32_t *ids;      /* of basins.attractors, the same along all columns; owned */
} dyn_basins_column;

typedef struct dyn_basins_sweep {
    size_t n;
    dyn_basins_column *columns; /* owned */
    size_t n_ids;               /* ids given: 1 … n_ids */
    double threshold;           /* as used */
} dyn_basins_sweep;

/* Finds the basins of `options` for every parameter value, on a clone of `map`. Each column also
 * starts from the attractors of the one before, so that one whose basin has become small is not
 * missed. An attractor that was not there for a while has its id again when it comes back within
 * the threshold of where it was last seen. A parameter value at which no start comes to an
 * attractor is a column without attractors. *out is initialised here and released with
 * dyn_basins_sweep_fini, which is harmless after a failure.
 *
 * KERN_INVALID_ARGUMENT for an unknown or settled parameter, bounds that are not finite, no
 * columns, or neither a threshold nor a box; errors of dyn_basins_init. Progress counts the starts
 * of all columns. */
kern_status dyn_basins_sweep_init(dyn_basins_sweep *out, const dyn_map *map,
                                  const dyn_basins_options *options,
                                  const dyn_basins_sweep_options *sweep, kern_error *err);
void dyn_basins_sweep_fini(dyn_basins_sweep *out);

#endif
