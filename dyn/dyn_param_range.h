/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Evenly spaced values of one parameter of a map.
 */
#ifndef BASIN_DYN_PARAM_RANGE_H
#define BASIN_DYN_PARAM_RANGE_H

#include "dyn/dyn_map.h"

#include <stddef.h>

typedef struct dyn_param_range {
    size_t index; /* of the parameter */
    double from, to;
    size_t n; /* values; a single one is at `from` */
} dyn_param_range;

/* KERN_INVALID_ARGUMENT for a parameter that the map does not have or that was settled when it was
 * made, and for ends that are not finite. */
kern_status dyn_param_range_init(dyn_param_range *out, const dyn_map *map, const char *name,
                                 double from, double to, size_t n, kern_error *err);

/* Value i of n, with both ends exact; and the same, set on a map of the same kind. */
double dyn_param_range_value(const dyn_param_range *range, size_t i);
double dyn_param_range_set(const dyn_param_range *range, dyn_map *map, size_t i);

#endif
