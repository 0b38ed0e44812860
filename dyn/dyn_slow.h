/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Slow points: minima of the kinetic energy q with q > 0 at which Newton's method found no
 * solution. They are not fixed points and are kept apart from them.
 */
#ifndef BASIN_DYN_SLOW_H
#define BASIN_DYN_SLOW_H

#include "dyn/dyn_map.h"

#include <stddef.h>

typedef struct dyn_slow_point {
    double *states;      /* period × size numbers, a chain of the period searched for */
    double q;            /* ½ Σ |F(x_i) − x_{i+1}|² */
    double slope;        /* |∇|g||₂ there, at most DYN_KINETIC_FLAT */
    kern_status refusal; /* how Newton's method ended */
    size_t hits;         /* starts that ended here */
} dyn_slow_point;

typedef struct dyn_slow_points {
    dyn_slow_point *items; /* owned, in the order found */
    size_t n;
    size_t allocated;
} dyn_slow_points;

/* Enters a point, whose states are copied, or counts a hit more for one that it agrees with up to a
 * shift and `merge`. KERN_NO_MEMORY. */
kern_status dyn_slow_points_enter(dyn_slow_points *list, const dyn_map *map, size_t period,
                                  const dyn_slow_point *point, double merge, kern_error *err);
void dyn_slow_points_fini(dyn_slow_points *list);

#endif
