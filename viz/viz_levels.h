/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Drawing of isolines with their levels written on them. Part of viz_draw.
 *
 * A level is written along its line, in a gap of it, where the line is straight enough for the
 * text, lies inside the plot, no other level stands, and no line of a series passes; longest lines
 * first, at most VIZ_LEVELS_EACH times a level. A line without such a place stays unlabelled.
 */
#ifndef BASIN_VIZ_LEVELS_H
#define BASIN_VIZ_LEVELS_H

#include "viz/viz_layout.h"

enum { VIZ_LEVELS_EACH = 2, VIZ_LEVELS_MAX = 64 };

/* All isolines of a panel, cut to the plot. */
kern_status viz_levels_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                            kern_error *err);

#endif
