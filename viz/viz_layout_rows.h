/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page's split into a title, a note and a grid of panels, and the heights of its rows. Part of
 * viz_layout.
 */
#ifndef BASIN_VIZ_LAYOUT_ROWS_H
#define BASIN_VIZ_LAYOUT_ROWS_H

#include "viz/viz_layout.h"

typedef struct viz_grid {
    viz_rect area;
    size_t rows, columns;
    double top[VIZ_GRID_MAX], bottom[VIZ_GRID_MAX]; /* of the plots of a row */
    double left[VIZ_GRID_MAX][VIZ_GRID_MAX];        /* [row][column] of the plots */
    double right[VIZ_GRID_MAX][VIZ_GRID_MAX];
    double cell_left[VIZ_GRID_MAX][VIZ_GRID_MAX]; /* with the margins for ticks and labels */
    double cell_right[VIZ_GRID_MAX][VIZ_GRID_MAX];
    double footer[VIZ_GRID_MAX]; /* below the plots of a row */
    double most[VIZ_GRID_MAX];   /* height that the plots of a row can use */
    double bar_width;            /* taken from the rows that share the first row's columns */
} viz_grid;

/* Sets the title, the note and what they leave for panels; rows may use any height. */
void viz_layout_page(viz_layout *layout, viz_canvas *canvas, viz_grid *g);

/* Splits the height of all plots by the rows' weights, for labels as they are fitted. */
void viz_layout_rows(viz_layout *layout, viz_canvas *canvas, viz_grid *g);

/* Finds what rows of plots with equal units, or of surfaces, can use of their height, when there
 * are other rows to have the rest. True when it is less than was known. */
bool viz_layout_most(const viz_layout *layout, const viz_scene *scene, viz_grid *g);

#endif
