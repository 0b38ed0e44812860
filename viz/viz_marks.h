/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Drawing of marks: texts beside points. Part of viz_draw.
 */
#ifndef BASIN_VIZ_MARKS_H
#define BASIN_VIZ_MARKS_H

#include "viz/viz_layout.h"

/* Texts of one panel considered at most; later marks are left out. */
enum { VIZ_MARKS_MAX = 256 };

/* All marks of a panel that find a free place. */
void viz_marks_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame);

#endif
