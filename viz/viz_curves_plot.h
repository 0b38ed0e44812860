/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "bifurcation curves in two parameters": curves of folds, flips and Neimark–Sacker
 * bifurcations with the points of codimension two on them.
 *
 * Each kind has its colour and its dash; the points carry their names (R1 … R4, CP, GPD, …).
 */
#ifndef BASIN_VIZ_CURVES_PLOT_H
#define BASIN_VIZ_CURVES_PLOT_H

#include "viz/viz_plot.h"

typedef struct viz_curve {
    const char *kind; /* "LP", "PD", "NS" or another short text */
    size_t n;
    const double *p, *q; /* n values each */
} viz_curve;

typedef struct viz_curve_event {
    const char *kind; /* short text */
    double p, q;
} viz_curve_event;

/* Borrowed during the call only. */
typedef struct viz_curves_data {
    const char *p_name, *q_name; /* plain UTF-8 text */
    const viz_curve *curves;
    size_t n_curves;
    const viz_curve_event *events;
    size_t n_events;
} viz_curves_data;

/* Builds the scene; the caller owns *out. KERN_INVALID_ARGUMENT when no point is finite;
 * KERN_BAD_INPUT for a text that is not UTF-8; KERN_NO_MEMORY. */
kern_status viz_curves_plot(viz_scene **out, const viz_curves_data *data,
                            const viz_plot_style *style, kern_error *err);

#endif
