/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fitting of texts to the room that a layout has for them. Part of viz_layout.
 *
 * How many lines a label takes depends on the size of its plot, and that on what its labels take.
 * Both are settled by turns: plots are placed with the lines that labels have, then labels get as
 * many as they need. Lines are added and never taken back, so that this ends.
 */
#ifndef BASIN_VIZ_LAYOUT_FIT_H
#define BASIN_VIZ_LAYOUT_FIT_H

#include "viz/viz_layout.h"

/* Most lines of an axis label or a panel's title; what is longer is cut with an ellipsis. */
enum { VIZ_FIT_LINES = 4 };

/* Breaks a text (NULL: none) into as few lines of about equal length as fit into `room`, at most
 * `most`, and cuts it where that is not enough. */
void viz_fit_text(viz_fit *fit, viz_canvas *canvas, viz_role role, const char *markup, double room,
                  size_t most);

/* Axis labels and titles as they stand unbroken, and legends as wide as `cell` of every panel. */
void viz_fit_start(viz_layout *layout, viz_canvas *canvas, const double *cell);

/* Height of a text on one line; of none 0. */
double viz_fit_height(viz_canvas *canvas, viz_role role, const char *markup);

/* Width of the widest label. */
double viz_fit_widest(viz_canvas *canvas, const viz_ticks *ticks);

/* Fits axis labels, titles and legends to the plots that are placed, the axis labels of a surface
 * to half the width below it each, and what tick labels hang over. Without `grow` none gets more
 * lines than it has, and false is returned; with it, whether one takes more room than it had. */
bool viz_fit_labels(viz_layout *layout, viz_canvas *canvas, bool grow);

/* Heights of the lines above a plot, for its title and its legend's width. */
void viz_fit_header(viz_canvas *canvas, const viz_panel *panel, viz_frame *frame);

#endif
