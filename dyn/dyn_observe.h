/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Observables: numbers about a state, by name, one for each block of the map (a plain map is one
 * block).
 */
#ifndef BASIN_DYN_OBSERVE_H
#define BASIN_DYN_OBSERVE_H

#include "dyn/dyn_map.h"

#include <stddef.h>

typedef enum dyn_observable {
    DYN_OBSERVE_SIGMA,  /* "sigma": scale of the block, for maps with a norm (dyn/dyn_chart.h) */
    DYN_OBSERVE_MEAN,   /* "mean" of the coordinates */
    DYN_OBSERVE_LENGTH, /* "length": Euclidean length */
    DYN_OBSERVE_MOVE,   /* "move": largest change of a coordinate at the next step, on circles the
                         * shortest way round */
    DYN_OBSERVE_ENERGY, /* "energy" of the block, for maps that tell it by block */
    DYN_OBSERVE_COUNT
} dyn_observable;

/* Word of an observable; "unknown" for a value outside the list. */
const char *dyn_observable_word(dyn_observable observable);

/* Observables of one map, to be evaluated together. Zero-initialise; release with
 * dyn_observer_fini. */
typedef struct dyn_observer {
    dyn_map *map; /* borrowed; stepped for `move` */
    dyn_observable which[DYN_OBSERVE_COUNT];
    size_t n;     /* observables */
    double *work; /* map->size */
} dyn_observer;

/* Reads names separated by commas, each at most once. KERN_INVALID_ARGUMENT for an unknown name,
 * listing them, for one given twice, and for one that the map does not have; KERN_NO_MEMORY. */
kern_status dyn_observer_init(dyn_observer *observer, dyn_map *map, const char *names,
                              kern_error *err);
void dyn_observer_fini(dyn_observer *observer);

/* Writes n × block_count numbers, observable by observable, about the state x. Its type is
 * dyn_orbit_observe; the context is a dyn_observer. */
void dyn_observer_write(void *context, size_t step, const double *x, double *observed);

#endif
