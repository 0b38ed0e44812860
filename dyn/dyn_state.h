/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every analysis asks about a state: is it still one, and where does it lie on its circles.
 */
#ifndef BASIN_DYN_STATE_H
#define BASIN_DYN_STATE_H

#include "dyn/dyn_map.h"

#include <stddef.h>

/* Told after each item of long work; returning false stops it with KERN_INTERRUPTED. */
typedef bool dyn_progress(void *context, size_t done, size_t total);

/* KERN_NAN when a coordinate is not a number, KERN_DIVERGED when one is larger than `bound` in
 * magnitude, KERN_OK otherwise. No sentence: the outcome belongs into a result. */
kern_status dyn_state_check(const double *x, size_t size, double bound);

/* Brings coordinates that live on a circle into [0, period); the others stay. Tangent vectors are
 * not affected. */
void dyn_state_reduce(const dyn_map *map, double *x);

/* Accepts *next as the state: the two change places, and *x is reduced unless it is lost, which the
 * outcome of dyn_state_check tells. */
kern_status dyn_state_accept(const dyn_map *map, double **x, double **next, double bound);

/* d = a − b, on circles the shortest way round. d may be a or b. */
void dyn_state_difference(const dyn_map *map, const double *a, const double *b, double *d);

#endif
