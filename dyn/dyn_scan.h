/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A scan: the same work on many independent items (starts, parameter values, cells), spread over
 * workers of which each has a clone of the map.
 *
 * Items are handed out in chunks of `grain`, in order, to whoever is free, since orbits differ in
 * length. An item writes only what belongs to it and draws from random streams of its own index, so
 * the outcome does not depend on the number of workers.
 */
#ifndef BASIN_DYN_SCAN_H
#define BASIN_DYN_SCAN_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdatomic.h>
#include <stddef.h>

/* Work on one item. `map` is the worker's clone, NULL when the scan has none, and keeps what
 * earlier items of that worker have set on it. `worker` runs from 0 to workers − 1 and selects a
 * workspace. An outcome that belongs into a result is no failure; failing ends the whole scan. */
typedef kern_status dyn_scan_body(void *context, dyn_map *map, int worker, size_t item,
                                  kern_error *err);

/* Progress is told how many items all workers have finished: after every chunk of the first worker,
 * every 20 ms or sooner once that one has run out of items, and at the end with all of them. */
typedef struct dyn_scan_options {
    size_t items;
    size_t grain;           /* items taken at a time; 0 is 1 */
    int workers;            /* below 1: one */
    dyn_progress *progress; /* from the calling thread only; may be NULL */
    void *context;          /* of progress */
} dyn_scan_options;

/* Workers that a scan uses: as asked for, and no more than there are items; at least 1. */
int dyn_scan_workers(const dyn_scan_options *options);

/* Runs `body` once for every item. `map` itself is not stepped; NULL: the work needs none. Returns
 * the failure of the smallest item among those that failed; KERN_INTERRUPTED when progress returned
 * false, and then some items may not have been run; KERN_NO_MEMORY; errors of clone. */
kern_status dyn_scan_run(const dyn_map *map, const dyn_scan_options *options, dyn_scan_body *body,
                         void *context, kern_error *err);

/* For items so long that they have to notice by themselves that the scan is to stop. The scan gets
 * dyn_scan_report as its progress and the watch as its context; a body asks dyn_scan_goes_on now
 * and then and gives up with KERN_INTERRUPTED when that is false. Set progress (may be NULL) and
 * context; the rest is zeroed. */
typedef struct dyn_scan_watch {
    dyn_progress *progress;
    void *context;
    size_t done, total; /* as last reported */
    atomic_bool stop;
} dyn_scan_watch;

dyn_progress dyn_scan_report;
bool dyn_scan_goes_on(dyn_scan_watch *watch, int worker);

#endif
