/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "orbit diagram and branches": values of one coordinate against a parameter, drawn as a
 * density of ink, with branches of fixed points or cycles over it and, where known, the largest
 * Lyapunov exponent below.
 *
 * The diagram is a picture of counts: values of a column fall into bins of half a point, and the
 * opacity is 0.35 + 0.65 ln(1 + count)/ln(1 + largest), so that a period of one and a chaotic band
 * are both seen; as a picture its size does not grow with the number of values. Columns must be
 * evenly spaced. Branches are solid where stable and dashed where not. Events carry their kind as
 * symbol and colour, named in the legend: LP (fold), PD (flip), NS (Neimark–Sacker), BP (branch
 * point).
 */
#ifndef BASIN_VIZ_ORBIT_PLOT_H
#define BASIN_VIZ_ORBIT_PLOT_H

#include "viz/viz_plot.h"

#include <stdbool.h>

/* Values of `n` evenly spaced parameters, those of column c being first[c] … first[c + 1] − 1. */
typedef struct viz_orbit_columns {
    size_t n;                /* 0: no diagram */
    const double *parameter; /* n, ascending or descending */
    const size_t *first;     /* n + 1 */
    const double *values;
    const double *exponent; /* n, or NULL for no second panel */
} viz_orbit_columns;

typedef struct viz_orbit_branch {
    size_t n;
    const double *parameter, *value; /* n each, in the order of the branch */
    const bool *stable;              /* n */
} viz_orbit_branch;

typedef struct viz_orbit_event {
    const char *kind; /* "LP", "PD", "NS", "BP" or another short text */
    double parameter, value;
} viz_orbit_event;

/* Borrowed during the call only. */
typedef struct viz_orbit_data {
    const char *parameter_name; /* plain UTF-8 text */
    const char *value_name;     /* plain UTF-8 text */
    viz_orbit_columns columns;
    const viz_orbit_branch *branches;
    size_t n_branches;
    const viz_orbit_event *events;
    size_t n_events;
    bool one_point; /* a branch is of cycles, of which one point is given; the note says so */
} viz_orbit_data;

/* Builds the scene; the caller owns *out. KERN_INVALID_ARGUMENT when nothing is finite or the
 * columns are not evenly spaced to a thousandth of a step; KERN_BAD_INPUT for a text that is not
 * UTF-8; KERN_NO_MEMORY. */
kern_status viz_orbit_plot(viz_scene **out, const viz_orbit_data *data, const viz_plot_style *style,
                           kern_error *err);

#endif
