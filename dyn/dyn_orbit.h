/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Orbits: the states of a map after a transient, and how the orbit ended.
 */
#ifndef BASIN_DYN_ORBIT_H
#define BASIN_DYN_ORBIT_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>

/* A coordinate beyond this has diverged: its square is still a number, so that a map of squares
 * shows up as diverged and not, one step later, as infinity minus infinity. */
#define DYN_DIVERGED 1e150

enum { DYN_ORBIT_WATCH = 64 }; /* steps between two calls of a progress function */

/* Writes `n_observed` numbers about the state x, the step-th that is stored. */
typedef void dyn_orbit_observe(void *context, size_t step, const double *x, double *observed);

/* What to compute; zero-initialise, then set what differs. */
typedef struct dyn_orbit_options {
    const double *x0; /* `size` numbers; NULL: the map's start */
    size_t ttr;       /* transient: steps taken before the first state is stored */
    size_t steps;     /* states stored after that one; steps + 1 are stored in all */
    size_t stride;    /* steps of the map from one stored state to the next; 0 is 1 */
    const double *lo; /* box that the orbit may not leave, ends included; `size` numbers each, */
    const double *hi; /* both or neither */
    dyn_orbit_observe *observe; /* may be NULL */
    void *context;
    size_t n_observed;      /* numbers that observe writes for a state */
    dyn_progress *progress; /* counts steps, every DYN_ORBIT_WATCH of them; may be NULL */
    void *watcher;          /* its context */
} dyn_orbit_options;

typedef struct dyn_orbit {
    size_t size;        /* coordinates of a state */
    size_t n;           /* states stored: steps + 1, or fewer when the orbit ended early */
    double *states;     /* n × size, owned */
    double *energy;     /* n, owned; NULL for a map without energy */
    double *observed;   /* n × n_observed, owned; NULL without observe */
    kern_status status; /* KERN_OK, KERN_NAN, KERN_DIVERGED or KERN_LEFT_BOX */
    size_t end;         /* steps from x0 (transient included) to the state that has this status */
    bool collapsed;     /* see dyn_orbit_create */
} dyn_orbit;

/* Status of a state: KERN_NAN when a coordinate is not a number, KERN_DIVERGED when one is beyond
 * DYN_DIVERGED, KERN_LEFT_BOX when one is outside lo … hi (NULL: no box), in this order. */
kern_status dyn_orbit_judge(const dyn_map *map, const double *x, const double *lo,
                            const double *hi);

/* Computes an orbit. It ends at the first state whose status is not KERN_OK, which is not stored
 * any more; that an orbit ends is a result and not a failure.
 *
 * An orbit has collapsed when its last state is its own image in every bit although the map expands
 * there (some tangent grows more than thousandfold in 64 steps): rounding has carried it onto a
 * repelling fixed point (or it began on one), as doubling maps do after some 55 steps, and it says
 * nothing about the map.
 *
 * KERN_INVALID_ARGUMENT when the box is given by half or is empty in a coordinate; KERN_OVERFLOW;
 * KERN_INTERRUPTED; KERN_NO_MEMORY. */
kern_status dyn_orbit_create(dyn_orbit **out, dyn_map *map, const dyn_orbit_options *options,
                             kern_error *err);
void dyn_orbit_destroy(dyn_orbit *orbit);

#endif
