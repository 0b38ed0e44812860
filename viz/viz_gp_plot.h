/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "error against the number of steps": panels of curves with error bars, and horizontal
 * levels that they are measured against.
 *
 * Curves are named at their right ends, levels too. A point's error bar spans one standard error to
 * either side. Points above a panel's ceiling are left out, so that a few wild ones do not flatten
 * the rest, and the note says how many there are.
 */
#ifndef BASIN_VIZ_GP_PLOT_H
#define BASIN_VIZ_GP_PLOT_H

#include "kernels/kern_status.h"
#include "viz/viz_scene.h"

#include <stddef.h>

typedef struct viz_gp_curve {
    const char *name; /* plain UTF-8 text */
    const double *x;  /* n values each, x ascending */
    const double *y;
    const double *error; /* standard errors; NaN: not known; NULL: none are */
    size_t n;
    size_t colour; /* categorical colour and symbol */
    bool dashed;
} viz_gp_curve;

typedef struct viz_gp_level {
    const char *name; /* plain UTF-8 text */
    double value;
    bool strong; /* drawn solid, in the colour of text */
} viz_gp_level;

typedef struct viz_gp_panel {
    const char *title;   /* plain UTF-8 text */
    const char *x_label; /* markup, or NULL */
    const viz_gp_curve *curves;
    size_t n_curves;
    const viz_gp_level *levels;
    size_t n_levels;
    double ceiling; /* largest value shown; 0: none */
} viz_gp_panel;

/* All arrays are borrowed during the call only. */
typedef struct viz_gp_data {
    const char *title;   /* plain UTF-8 text */
    const char *y_label; /* markup */
    const char *note;    /* plain UTF-8 text, or NULL */
    const viz_gp_panel *panels;
    size_t n_panels; /* 1 … 4, two in a row; each has a curve */
} viz_gp_data;

/* Zero-initialise for the defaults. */
typedef struct viz_gp_style {
    double width; /* points; 0: double-column width */
    viz_theme theme;
} viz_gp_style;

/* Builds the scene; the caller owns *out and destroys it with viz_scene_destroy. `style` may be
 * NULL. KERN_INVALID_ARGUMENT when a panel has no finite point or a size is absurd; KERN_BAD_INPUT
 * for a text that is not UTF-8; KERN_NO_MEMORY. */
kern_status viz_gp_plot(viz_scene **out, const viz_gp_data *data, const viz_gp_style *style,
                        kern_error *err);

#endif
