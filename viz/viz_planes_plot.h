/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "planes": one landscape on several planes side by side, so that none is over-read.
 *
 * All maps have the same range, the same colours and the same contour levels. On each the states of
 * one trajectory are drawn at their nearest points of that plane, in the colour of their true
 * energy and fainter the more they are off it. A panel's title names the plane's seed and how much
 * of the trajectory it holds; a panel below shows how far every state is off every plane.
 */
#ifndef BASIN_VIZ_PLANES_PLOT_H
#define BASIN_VIZ_PLANES_PLOT_H

#include "viz/viz_contour.h"
#include "viz/viz_plot.h"

#include <stdint.h>

enum { VIZ_PLANES_MAX = 16 };

typedef struct viz_planes_plane {
    uint64_t seed;
    const double *values; /* of the lattice: ny × nx energies */
    size_t n_outside;     /* values, not finite, at places that have no state */
    size_t n_rim;         /* points of the line around those that have; 0: none */
    const double *rim_a, *rim_b;
    const viz_contours *contours; /* or NULL */
    const double *a, *b;          /* n_states each: places of the states' shadows */
    const double *distance;       /* from the centre */
    const double *residual;       /* off the plane */
} viz_planes_plane;

typedef struct viz_planes_data {
    size_t n; /* 2 to VIZ_PLANES_MAX */
    const viz_planes_plane *planes;
    viz_lattice lattice;
    viz_map map;
    double low, high;         /* ends of the colours, low < high */
    const char *axis[2];      /* markup */
    const char *energy_label; /* markup, with the unit */
    const char *description;  /* markup */
    size_t n_states;          /* ≥ 1 */
    const double *energy;     /* true ones */
} viz_planes_data;

/* Part of the trajectory's squared distances from the centre that is in the plane,
 * 1 − Σ residual² / Σ distance² over the states that have a place; NaN when that is 0/0. */
double viz_planes_held(const double *distance, const double *residual, size_t n);

/* Columns of the grid of maps on a page of this width, in points. */
size_t viz_planes_columns(size_t n, double width);

/* Builds the scene; the caller owns *out. A width of 0 is double-column, and a height of 0 what the
 * maps take. KERN_INVALID_ARGUMENT for a number of planes, a lattice or a scale that cannot be
 * drawn; KERN_BAD_INPUT for a text that is not markup; KERN_NO_MEMORY. */
kern_status viz_planes_plot(viz_scene **out, const viz_planes_data *data,
                            const viz_plot_style *style, kern_error *err);

#endif
