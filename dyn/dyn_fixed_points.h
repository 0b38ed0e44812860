/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fixed points and cycles of a map: a solver from many starts, with duplicates merged.
 *
 * Starts are points given by the caller and points drawn in a box. Every start is followed for
 * `settle` steps, halved for every second one, and its next `period` states are the chain that the
 * solver begins with; a state that leaves every bound is replaced by another point of the box. What
 * converges is a cycle whose length divides `period`; its minimal period is the smallest stride at
 * which all states return, it is solved again with that period, it must return after free runs of
 * two coprime strides (dyn_stride.h), and it is the same cycle as another one when all states agree
 * up to a shift. Where a multiplier of the cycle is near +1 states are known to much less than the
 * residual, as at a bifurcation, and what agrees to their uncertainty (dyn_cycle_accuracy.h) is one
 * state, or one cycle. Stability is told by the multipliers to their uncertainty, and is marginal
 * within it.
 *
 * Starts are independent and are spread over workers; what they find is merged in their order, so
 * results do not depend on the number of workers. With deflation (dyn_deflation.h) each start is
 * used again until it finds nothing new, and starts run one after another, since what is found
 * depends on what was found before.
 *
 * Kinetic seeds are drawn uniformly and moved down the kinetic energy q (dyn_kinetic.h) first. That
 * is all q is used for: nothing is a fixed point but what the solver converges to. Where the solver
 * refuses a seed that leads to a minimum of q > 0, that minimum is listed among the slow points.
 *
 * A model with a layer norm has no fixed points in x, since x grows for ever while its direction
 * settles; the starts then end as KERN_DIVERGED, KERN_SINGULAR or KERN_NOT_CONVERGED.
 */
#ifndef BASIN_DYN_FIXED_POINTS_H
#define BASIN_DYN_FIXED_POINTS_H

#include "dyn/dyn_cycles.h"
#include "dyn/dyn_map.h"
#include "dyn/dyn_method.h"
#include "dyn/dyn_slow.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where starts come from. */
typedef enum dyn_seeds {
    DYN_SEEDS_UNIFORM,
    DYN_SEEDS_SOBOL,   /* dyn_starts.h */
    DYN_SEEDS_KINETIC, /* uniform, then down the kinetic energy */
    DYN_SEEDS_COUNT
} dyn_seeds;

/* Names of the seeds: "uniform", "sobol", "kinetic"; NULL beyond them. */
const char *dyn_seeds_name(dyn_seeds seeds);

enum {
    DYN_FIXED_POINTS_DESCENT = 20,  /* steps down q from a kinetic seed */
    DYN_FIXED_POINTS_MINIMUM = 500, /* steps down q on the way to a slow point */
    DYN_FIXED_POINTS_REUSES = 100   /* of one start with deflation, for maps with a continuum of
                                       solutions */
};

typedef struct dyn_fixed_points_options {
    size_t period; /* at least 1 */
    bool prime;    /* cycles of minimal period `period` only, not those of its divisors */
    const dyn_method *method; /* NULL: dyn_method_choose */
    bool deflate;             /* methods that deflate only */
    dyn_seeds seeds;
    size_t n_starts;   /* points drawn in the box */
    const double *low; /* size numbers each, low < high; may be NULL when n_starts is 0 */
    const double *high;
    size_t n_given;        /* points given */
    const double *given;   /* n_given × size */
    size_t settle;         /* steps from a start to its chain */
    double tol;            /* of the residual; larger states than rounding allows are refused */
    double merge;          /* states closer than this times max(1, largest |x|) are the same */
    size_t max_iterations; /* of the solver per start */
    uint64_t seed;
    int workers;            /* below 1: one */
    dyn_progress *progress; /* counts starts; may be NULL */
    void *context;
} dyn_fixed_points_options;

/* Period 1, the method that suits, 200 uniform starts, settling for 0 steps, tolerance 1e-11,
 * merging at 1e-6, 100 iterations, seed 1, one worker; the caller adds a box or given points. */
dyn_fixed_points_options dyn_fixed_points_options_default(void);

typedef struct dyn_fixed_points {
    const dyn_method *method;           /* that was used */
    size_t n_requested;                 /* starts: n_given + n_starts */
    size_t n_converged;                 /* of them, those that ended in one of the cycles below */
    size_t failures[KERN_STATUS_COUNT]; /* of them, those that ended otherwise, by status; with
                                           `prime`, KERN_NOT_FOUND counts shorter cycles, and with
                                           deflation starts that found known cycles only */
    size_t n_coarse;    /* of the failures, those at states whose rounding exceeds the tolerance, */
    double coarse_size; /* and the smallest of their largest coordinates */
    size_t n_cycles;
    dyn_cycle *cycles; /* owned; by period, then by first state. The sum of their hits is
                          n_converged, and with deflation their number */
    dyn_slow_points slow;
} dyn_fixed_points;

/* Searches. *out is initialised here and released with dyn_fixed_points_fini, which is harmless
 * after a failure. Finding nothing is an outcome, not an error; equal options give equal bits.
 * KERN_INVALID_ARGUMENT for options outside their domain, KERN_INTERRUPTED, KERN_NO_MEMORY. Cost:
 * starts × that of the method; memory besides the workers' solvers: chains of at most 256 starts,
 * and of one for each worker at least. */
kern_status dyn_fixed_points_init(dyn_fixed_points *out, dyn_map *map,
                                  const dyn_fixed_points_options *options, kern_error *err);
void dyn_fixed_points_fini(dyn_fixed_points *out);

#endif
