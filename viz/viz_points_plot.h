/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "fixed points and cycles": where they lie and whether they are stable.
 *
 * With two coordinates the axes are those; with one, the ordinate is the spectral radius of the
 * cycle, and the line at 1 separates stable from unstable. Filled is stable, open unstable; symbol
 * and colour tell the minimal period.
 */
#ifndef BASIN_VIZ_POINTS_PLOT_H
#define BASIN_VIZ_POINTS_PLOT_H

#include "viz/viz_plot.h"

#include <stdbool.h>

typedef struct viz_points_data {
    size_t n;
    const double *x;             /* n first coordinates */
    const double *y;             /* n second ones, or NULL for a map of one dimension */
    const double *radius;        /* n spectral radii; needed when y is NULL */
    const bool *stable;          /* n */
    const size_t *period;        /* n minimal periods */
    const char *x_name, *y_name; /* plain UTF-8 text; y_name unused without y */
} viz_points_data;

/* Builds the scene; the caller owns *out. KERN_INVALID_ARGUMENT when there is no finite point;
 * KERN_BAD_INPUT for a text that is not UTF-8; KERN_NO_MEMORY. */
kern_status viz_points_plot(viz_scene **out, const viz_points_data *data,
                            const viz_plot_style *style, kern_error *err);

#endif
