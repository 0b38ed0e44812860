/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Drawing of what surrounds the data: shaded ranges, grid, axes and the colour bar. Parts of
 * viz_draw; all expect the frames of a finished layout.
 */
#ifndef BASIN_VIZ_AXES_H
#define BASIN_VIZ_AXES_H

#include "viz/viz_layout.h"

/* Shaded ranges (cut to the plot) and horizontal grid lines, below the data. */
void viz_axes_ground(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame);

/* Axis lines, ticks, tick labels and axis labels, above the data. */
void viz_axes_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame);

/* Colour bar with its ticks and label; nothing when the scene has none. */
void viz_axes_bar(viz_canvas *canvas, const viz_layout *layout);

/* Part of [span->from, span->to] inside the plot as page positions; false when there is none. */
bool viz_axes_span(const viz_panel *panel, const viz_frame *frame, const viz_span *span,
                   double *left, double *right);

#endif
