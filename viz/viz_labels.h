/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Drawing of labels tied to data: end labels with leader lines, legend, labels of shaded ranges.
 * Part of viz_draw.
 */
#ifndef BASIN_VIZ_LABELS_H
#define BASIN_VIZ_LABELS_H

#include "viz/viz_layout.h"

/* End labels beside the plot, spread so that none overlap, each joined to the last drawable point
 * of its line. Every k-th is drawn when they do not fit. */
kern_status viz_labels_ends(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                            kern_error *err);

/* Panel title, legend and labels of shaded ranges, in this order down to the plot. */
kern_status viz_labels_header(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                              kern_error *err);

#endif
