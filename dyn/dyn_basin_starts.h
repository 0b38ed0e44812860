/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starts of many orbits: the centres of a grid of cells in a box, points drawn in a box, points
 * that the caller has, or that a function of the caller's tells. None is stored; start `index` is a
 * function of the description alone, so any worker may ask for any of them, in any order and at no
 * cost in memory.
 */
#ifndef BASIN_DYN_BASIN_STARTS_H
#define BASIN_DYN_BASIN_STARTS_H

#include "kernels/kern_status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum dyn_basin_starts_kind {
    DYN_BASIN_GRID,   /* cell centres; the last coordinate runs fastest */
    DYN_BASIN_RANDOM, /* uniform in the box */
    DYN_BASIN_GIVEN,  /* the caller's */
    DYN_BASIN_TOLD    /* by the caller's function */
} dyn_basin_starts_kind;

/* Writes point `index`, of `size` numbers, into x. Called by several threads at once; equal
 * arguments give equal points. */
typedef void dyn_basin_starts_tell(const void *context, size_t index, size_t size, double *x);

/* What to start from. All arrays are borrowed. */
typedef struct dyn_basin_starts {
    dyn_basin_starts_kind kind;
    size_t size;       /* coordinates of a point */
    const double *low; /* ends of the box, `size` numbers each; not of GIVEN and TOLD */
    const double *high;
    const size_t *grid; /* of GRID: cells along each coordinate */
    /* Of GRID: a start lies within this part of a cell's width of the centre, drawn by index, so
     * that no start lies on a plane of symmetry, whose orbits never leave it. */
    double jitter;
    size_t n;                    /* of RANDOM, GIVEN and TOLD */
    const double *given;         /* of GIVEN: n × size */
    dyn_basin_starts_tell *tell; /* of TOLD */
    const void *context;         /* of tell */
    uint64_t seed;
} dyn_basin_starts;

/* Number of points. KERN_INVALID_ARGUMENT for no points, a box that is not finite or not ascending,
 * a jitter outside [0, ½]; KERN_OVERFLOW when their number does not fit size_t. */
kern_status dyn_basin_starts_count(const dyn_basin_starts *starts, size_t *count, kern_error *err);

/* Point `index` into x, which has room for `size` numbers. */
void dyn_basin_starts_get(const dyn_basin_starts *starts, size_t index, double *x);

#endif
