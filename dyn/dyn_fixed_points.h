/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fixed points and cycles of a map: multiple shooting from many starts, with duplicates merged.
 *
 * Starts are points given by the caller and points drawn uniformly in a box, each from a random
 * stream of its own. Every start is followed for `settle` steps, halved for every second one, and
 * its next `period` states are the chain that Newton's method begins with; a state that leaves
 * every bound is replaced by another point of the box. What converges is a cycle whose length
 * divides `period`; its minimal period is the smallest stride at which all states return, it is
 * solved again with that period, and it is the same cycle as another one when all states agree up
 * to a shift.
 *
 * A model with a layer norm has no fixed points in x, since x grows for ever while its direction
 * settles; the starts then end as KERN_DIVERGED, KERN_SINGULAR or KERN_NOT_CONVERGED.
 */
#ifndef BASIN_DYN_FIXED_POINTS_H
#define BASIN_DYN_FIXED_POINTS_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_multipliers.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct dyn_fixed_points_options {
    size_t period;     /* at least 1; period × size at most DYN_SHOOTING_MAX */
    bool prime;        /* cycles of minimal period `period` only, not those of its divisors */
    size_t n_starts;   /* points drawn in the box */
    const double *low; /* size numbers each, low < high; may be NULL when n_starts is 0 */
    const double *high;
    size_t n_given;        /* points given */
    const double *given;   /* n_given × size */
    size_t settle;         /* steps from a start to its chain */
    double tol;            /* of the residual; larger states than rounding allows are refused */
    double merge;          /* states closer than this times max(1, largest |x|) are the same */
    size_t max_iterations; /* of Newton's method per start */
    uint64_t seed;
    dyn_progress *progress; /* counts starts; may be NULL */
    void *context;
} dyn_fixed_points_options;

/* Period 1, 200 starts, settling for 0 steps, tolerance 1e-11, merging at 1e-6, 100 iterations,
 * seed 1; the caller adds a box or given points. */
dyn_fixed_points_options dyn_fixed_points_options_default(void);

typedef struct dyn_cycle {
    size_t period;  /* minimal */
    double *states; /* period × size, coordinates on circles reduced; begins with the state that is
                       smallest coordinate by coordinate */
    double *image;  /* F of the first state, evaluated after the last change of it */
    double residual;             /* largest |F(x_i) − x_{i+1}|, evaluated after the last change */
    size_t hits;                 /* starts that ended here */
    dyn_multipliers multipliers; /* of the cycle */
    bool stable;                 /* spectral radius below 1 */
} dyn_cycle;

typedef struct dyn_fixed_points {
    size_t n_requested;                 /* starts: n_given + n_starts */
    size_t n_converged;                 /* of them, those that ended in one of the cycles below */
    size_t failures[KERN_STATUS_COUNT]; /* of them, those that ended otherwise, by status; with
                                           `prime`, KERN_NOT_FOUND counts shorter cycles */
    size_t n_cycles;
    dyn_cycle *cycles; /* owned; by period, then by first state */
} dyn_fixed_points;

/* Searches. *out is initialised here and released with dyn_fixed_points_fini, which is harmless
 * after a failure. Finding nothing is an outcome, not an error; equal options give equal bits.
 * KERN_INVALID_ARGUMENT for options outside their domain, KERN_INTERRUPTED, KERN_NO_MEMORY. Cost:
 * starts × iterations × (period · size jvps + ⅔ (period · size)³). */
kern_status dyn_fixed_points_init(dyn_fixed_points *out, dyn_map *map,
                                  const dyn_fixed_points_options *options, kern_error *err);
void dyn_fixed_points_fini(dyn_fixed_points *out);

#endif
