/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Drawing of a panel's pixels: fields and maps of classes. Part of viz_draw.
 */
#ifndef BASIN_VIZ_RASTER_H
#define BASIN_VIZ_RASTER_H

#include "viz/viz_layout.h"

/* All fields, then all maps of classes of a panel, cut to the plot. Cost O(pixels) and, for every
 * layer, O(nx ny) for its values. */
kern_status viz_raster_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                            kern_error *err);

/* A sample of a class in colour and hatch, for legends. */
kern_status viz_raster_swatch(viz_canvas *canvas, const viz_class *class, viz_rect box,
                              kern_error *err);

#endif
