/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The points of many attractors, found by place: which attractor is a state near to, at a cost that
 * does not grow with their number. Aperiodic attractors have a thousand points each, and a state is
 * asked about after every step of every orbit.
 *
 * Points are hashed by the cell of their first coordinates, up to 3. Cells are twice the radius
 * wide, or a little more where they divide a circle, so what is within the radius of a state lies
 * in at most 2 cells along each coordinate; the distance of the points in these is then computed in
 * all coordinates. Few points are looked at one after another instead.
 */
#ifndef BASIN_DYN_NEAR_H
#define BASIN_DYN_NEAR_H

#include "dyn/dyn_attractor.h"
#include "dyn/dyn_cells.h"

/* A point: its attractor, and the next one of its cell. */
typedef struct dyn_near_point {
    const double *x; /* borrowed */
    int32_t id;
    int32_t next; /* place + 1; 0: none */
} dyn_near_point;

/* Private to dyn_near.c. */
typedef struct dyn_near {
    const dyn_map *map;
    double radius;
    size_t depth;                       /* coordinates that are hashed */
    double width[DYN_CELLS_DIMENSIONS]; /* of a cell */
    size_t n;                           /* points */
    dyn_near_point *points;             /* owned */
    dyn_cell_table heads;               /* place + 1 of the first point, by cell */
    bool hashed;
} dyn_near;

/* Indexes the points of n attractors, whose ids are 1 … n in order. Borrows them and `map`.
 * KERN_OVERFLOW for more than INT32_MAX points, KERN_NO_MEMORY. */
kern_status dyn_near_init(dyn_near *near, const dyn_map *map, const dyn_attractor *attractors,
                          size_t n, double radius, kern_error *err);
void dyn_near_fini(dyn_near *near);

/* Id of the only attractor with a point within the radius of x (dyn_map_distance); 0: none, −1:
 * several. May be asked by several threads at once. */
int32_t dyn_near_find(const dyn_near *near, const double *x);

/* *least: the smallest distance of points of two different attractors, or `most` when that is less.
 * Sorts by the coordinate in which the points reach furthest and compares those that are closer in
 * it than the least distance so far. KERN_NO_MEMORY. */
kern_status dyn_near_separation(double *least, const dyn_map *map, const dyn_attractor *attractors,
                                size_t n, double most, kern_error *err);

#endif
