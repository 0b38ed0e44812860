/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Drawing of series: polylines broken at missing points, and markers. Part of viz_draw.
 */
#ifndef BASIN_VIZ_LINES_H
#define BASIN_VIZ_LINES_H

#include "viz/viz_layout.h"

/* All series of a panel, cut to the plot, lines first in order, then markers in order. */
void viz_lines_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame);

/* One marker of a style centred at (x, y). */
void viz_lines_marker(viz_canvas *canvas, const viz_style *style, double x, double y);

/* Sets line width, dash and colour of a style. */
void viz_lines_pen(viz_canvas *canvas, const viz_style *style);

#endif
