/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Orbit diagram: samples of the attractor against a parameter, with period and largest exponent.
 */
#ifndef BASIN_DYN_ORBIT_DIAGRAM_H
#define BASIN_DYN_ORBIT_DIAGRAM_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    DYN_PERIOD_MOST = 64, /* longest period that is looked for */
    /* Two multiples of a period at which an orbit must return. Being coprime they imply the period
     * itself, and being multiples they refuse an orbit that creeps by less than the tolerance a
     * period. */
    DYN_PERIOD_STRIDE_A = 3,
    DYN_PERIOD_STRIDE_B = 5,
    DYN_PERIOD_STATES = (DYN_PERIOD_STRIDE_B + 1) * DYN_PERIOD_MOST /* states that it takes */
};

/* A number that is kept of a state in place of a coordinate. Called by several threads at once,
 * each with a number of its own below `workers`; equal states give equal numbers. */
typedef double dyn_orbit_diagram_observe(void *context, int worker, const double *x);

/* What to compute. dyn_orbit_diagram_defaults fills in what a caller need not choose. */
typedef struct dyn_orbit_diagram_options {
    const char *vary; /* parameter */
    double from, to;  /* its values at the first and the last column, evenly spaced between */
    size_t columns;   /* 1 or more; one column is at `from` */
    size_t ttr;       /* transient of each column, steps */
    size_t values;    /* values of the coordinate kept per column, 1 or more */
    size_t coordinate;
    dyn_orbit_diagram_observe *observe; /* in place of the coordinate; may be NULL */
    void *observer;                     /* context of observe */
    const double *x0; /* start of every column, or of the first; NULL: the map's start */
    bool follow;      /* start each column where the one before ended (at x0 if that was lost) */
    double tolerance; /* of a period: largest coordinate difference over 1 + largest coordinate,
                       * where coordinates on circles do not count as large */
    int workers;      /* threads; columns that follow one another use one */
    dyn_progress *progress; /* counts columns; may be NULL */
    void *context;          /* of progress */
} dyn_orbit_diagram_options;

/* 200 columns, 1000 steps of transient, 100 values, tolerance 1e-8, one worker. */
dyn_orbit_diagram_options dyn_orbit_diagram_defaults(void);

typedef struct dyn_orbit_column {
    double parameter;
    const double *values; /* n values, in the diagram's memory */
    size_t n;             /* as asked for, or fewer when the orbit ended early */
    size_t period;        /* minimal period in 1 … DYN_PERIOD_MOST; 0: none found */
    double exponent;    /* largest, natural log per step; −∞ where a tangent vanishes, NaN when
                         * the orbit ended */
    bool collapsed;     /* a period with a positive exponent: rounding has put the orbit on a
                         * repelling cycle */
    kern_status status; /* KERN_OK, KERN_NAN or KERN_DIVERGED */
    size_t end;         /* steps from the column's start to the state that has this status */
} dyn_orbit_column;

typedef struct dyn_orbit_diagram {
    size_t n_columns;
    size_t n_values;           /* per column, as asked for */
    dyn_orbit_column *columns; /* owned */
    double *values;            /* n_columns × n_values, owned; NaN where an orbit had ended */
} dyn_orbit_diagram;

/* Minimal period p ≤ DYN_PERIOD_MOST of a stretch of DYN_PERIOD_STATES states, one after another:
 * every state of a cycle must return within the tolerance after 3p and after 5p steps. 0 when there
 * is none, and when a state is not finite. */
size_t dyn_period_find(const dyn_map *map, const double *states, double tolerance);

/* Computes the diagram on clones of `map`, which stays as it is. Per column: ttr steps, `values`
 * steps whose states give the values, and DYN_PERIOD_STATES steps that give the period. The
 * exponent is the mean growth of a tangent over the latter two, after the tangent has turned into
 * its direction over the last of the transient. Results do not depend on the number of workers.
 *
 * KERN_INVALID_ARGUMENT for an unknown or settled parameter, bounds that are not finite, a
 * coordinate the map does not have, or no columns or values; KERN_INTERRUPTED; KERN_OVERFLOW;
 * KERN_NO_MEMORY. */
kern_status dyn_orbit_diagram_create(dyn_orbit_diagram **out, const dyn_map *map,
                                     const dyn_orbit_diagram_options *options, kern_error *err);
void dyn_orbit_diagram_destroy(dyn_orbit_diagram *diagram);

#endif
