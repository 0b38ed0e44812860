/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the methods of dyn_basins.h share.
 */
#ifndef BASIN_DYN_BASINS_INTERNAL_H
#define BASIN_DYN_BASINS_INTERNAL_H

#include "dyn/dyn_basins.h"
#include "dyn/dyn_scan.h"

/* Labels while a run lasts. */
enum {
    DYN_BASIN_UNDONE = 0,
    DYN_BASIN_PENDING = INT32_MIN /* came to something that is not known yet */
};

/* One run. */
typedef struct dyn_basins_job {
    const dyn_map *map; /* the caller's, never stepped */
    dyn_map *own;       /* a clone for serial work */
    const dyn_basins_options *o;
    const double *low; /* of the box that orbits may not leave, or NULL */
    const double *high;
    dyn_basins *out;
    size_t room;       /* attractors that out->attractors has room for */
    uint8_t *verdicts; /* by start: last verdict */
    int workers;
} dyn_basins_job;

/* Adds an attractor, whose points then belong to the result, under the next id. *id becomes 0 when
 * there are too many, and then `a` is released. */
kern_status dyn_basins_add(dyn_basins_job *job, dyn_attractor *a, int32_t *id, kern_error *err);

/* *id: of a known attractor that is the same as `a`, or 0. `map` is the worker's. */
kern_status dyn_basins_match_known(const dyn_basins_job *job, dyn_map *map, const dyn_attractor *a,
                                   int32_t *id, kern_error *err);

/* Runs a scan of `items` with the job's workers; `counted` when items are starts that progress
 * counts. */
kern_status dyn_basins_scan(dyn_basins_job *job, size_t items, bool counted, dyn_scan_body *body,
                            void *context, kern_error *err);

/* Number of points that attractors are looked for from before the starts are followed: the seeds,
 * and up to `wanted` starts; and point `index` of them. */
size_t dyn_basins_scouts(const dyn_basins_job *job, size_t wanted);
void dyn_basins_get_scout(const dyn_basins_job *job, size_t index, size_t wanted, double *x);

/* Whether x is in the box; true when there is none. */
bool dyn_basins_inside(const dyn_basins_job *job, const double *x);

/* Watches one orbit. */
typedef struct dyn_basins_guard {
    const dyn_basins_job *job;
    dyn_map *map;
    size_t outside; /* consecutive steps */
} dyn_basins_guard;

/* Label of a state by itself: DIVERGED, NAN, or UNDONE. */
int32_t dyn_basins_judge(const dyn_map *map, const double *x);

/* One step of x, with coordinates on circles reduced; the label when the orbit ends with it, else
 * UNDONE. */
int32_t dyn_basins_step(dyn_basins_guard *guard, double *x);

extern const dyn_basins_method dyn_basins_recurrences;
extern const dyn_basins_method dyn_basins_proximity;
extern const dyn_basins_method dyn_basins_features;

#endif
