/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fixed points of a causal map followed in a parameter, block by block, and where each block loses
 * stability.
 *
 * Natural continuation: at each value every block is solved for in turn (dyn_cascade.h) from a
 * secant through its last two points, and the step is halved when one fails or lands farther from
 * its prediction than `jump`. Since the Jacobian is block lower-triangular, block A's multipliers
 * are those of its diagonal block, and they decide block by block. A change in how many of them are
 * real and below −1, real and above 1, or complex and outside the circle is an event, located by a
 * bracket on these counts that shrinks by secants of the nearest multiplier's distance, with the
 * blocks up to A solved at every trial value.
 *
 * A block whose solution cannot be followed any further (a fold; branches are not followed round
 * it, which is dyn_branch's work for maps of one block) is lost, and with it the blocks after
 * it; those before it go on.
 *
 * With a chart (dyn_chart.h) followed in `rate` the relative equilibria do not move at all, and the
 * events are those that dyn_chart_find_margins knows in closed form.
 */
#ifndef BASIN_DYN_CASCADE_PATH_H
#define BASIN_DYN_CASCADE_PATH_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum dyn_path_event_kind {
    DYN_PATH_PD,   /* a real multiplier through −1 */
    DYN_PATH_NS,   /* a complex pair through the circle */
    DYN_PATH_LP,   /* a real multiplier through 1: a fold or a branch point */
    DYN_PATH_LOST, /* the solution ends here, as at a fold */
    DYN_PATH_KIND_COUNT
} dyn_path_event_kind;

/* "PD", "NS", "LP", "LOST". */
const char *dyn_path_word(dyn_path_event_kind kind);

typedef struct dyn_path_event {
    dyn_path_event_kind kind;
    size_t block;
    double parameter;
    double width;                     /* of the interval that holds it */
    double re, im;                    /* the multiplier, im ≥ 0; NaN for LOST */
    bool stable_before, stable_after; /* the block; after LOST: false */
} dyn_path_event;

typedef struct dyn_cascade_path_options {
    const char *parameter; /* to vary */
    double from, to;       /* either may be the larger */
    double step, step_max; /* first and largest, positive */
    double step_min;       /* below which a block is lost */
    double tol;            /* of the residual of each block */
    double locate;         /* width of an event's interval, relative to max(1, |parameter|) */
    double jump;           /* farthest from the prediction, relative to max(1, largest |x|) */
    size_t max_iterations; /* of Newton's method */
    size_t max_points;
    dyn_progress *progress; /* in thousandths of the way; may be NULL */
    void *context;
} dyn_cascade_path_options;

/* From `from` to `to` in at least 50 steps, step_min 1e-9 of the way, tolerance 1e-11, locate
 * 1e-10, jump 0.3, 30 iterations, 10000 points. */
dyn_cascade_path_options dyn_cascade_path_options_default(const char *parameter, double from,
                                                          double to);

typedef struct dyn_cascade_path {
    /* KERN_OK when the end was reached with every block; KERN_NOT_CONVERGED when a block was lost
     * or a start not solved; KERN_TIMEOUT when max_points was reached. */
    kern_status status;
    size_t n_blocks;
    size_t n_points;
    double *parameters; /* n_points */
    double *radius;     /* n_points × n_blocks: spectral radius of each block, NaN once lost */
    size_t n_events;
    dyn_path_event *events; /* in the order met */
    double *lost;           /* n_blocks: the value at which each block first is not stable: the
                             * start's, an event's, or NaN when it is stable to the end */
    double *state;          /* size: the last point; lost blocks as they were last */
} dyn_cascade_path;

/* `start` is a fixed point at `from`, or close to one. *out is initialised here and released with
 * dyn_cascade_path_fini, which is harmless after a failure. KERN_INVALID_ARGUMENT for options
 * outside their domain and a parameter that the map does not have; KERN_INTERRUPTED, KERN_NO_MEMORY
 * and errors of clone. Cost per point: block_width products by the diagonal blocks, and per block a
 * solve and an eigenproblem; per event about 10 times that for the blocks up to its own. */
kern_status dyn_cascade_path_init(dyn_cascade_path *out, const dyn_map *map, const double *start,
                                  const dyn_cascade_path_options *options, kern_error *err);
void dyn_cascade_path_fini(dyn_cascade_path *out);

#endif
