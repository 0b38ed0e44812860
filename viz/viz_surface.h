/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Surface: a field in three dimensions, drawn from back to front. Part of viz_draw.
 *
 * The view is orthographic. The longer side of the field has length 1 and heights 1/3: a value has
 * the height of its place on the field's scale, and one beyond an end of the scale that of the end,
 * as in colour. With φ the azimuth and θ the elevation, a point (X, Y, Z) counted from the middle
 * lies
 *
 *   to the right   X cos φ + Y sin φ
 *   up             (Y cos φ − X sin φ) sin θ + Z cos θ
 *   away           (Y cos φ − X sin φ) cos θ − Z sin θ
 *
 * so that φ = 0, θ = π/2 is the map. One unit is as long in every view of a turn, so that turning
 * does not zoom. Cells of a height field hide each other in an order known from φ alone, so
 * painting them from the farthest on is exact.
 *
 * A colour is the map's times (1 + n)/2, with n the vertical part of the surface's unit normal:
 * flat places have the map's own colour and steep ones are darker, whatever side they face.
 * Isolines of the panel are drawn as lines of equal height on the surface. Cells with a corner that
 * is not finite stay open. Walls in the colour of the ground close the two sides that face the
 * viewer.
 */
#ifndef BASIN_VIZ_SURFACE_H
#define BASIN_VIZ_SURFACE_H

#include "viz/viz_layout.h"

/* Where a point (x, y, value) of the field's space is drawn in `rect` of the page, and its distance
 * from the viewer (larger is farther) in units of the longer side; either may be NULL. False when a
 * coordinate is not finite or the value has no place on the scale. */
bool viz_surface_place(const viz_field *field, const viz_camera *camera, viz_rect rect,
                       const double point[3], double page[2], double *depth);

/* The same for a panel with a surface, in its plot; false also beside the field, where the block
 * has no surface that a height could be compared with. */
bool viz_surface_point(const viz_panel *panel, const viz_frame *frame, double x, double y, double z,
                       double *px, double *py);

/* Cuts a piece of a line from (x, y, value) p to q, in place, to what lies over the field. False
 * when nothing of it does, or a number is not finite. */
bool viz_surface_cut(const viz_panel *panel, double p[3], double q[3]);

/* Height of a plot of this width from which on the surface is as large as the width allows. */
double viz_surface_height(const viz_panel *panel, double width);

/* The surface as one image at the resolution of the surface or file drawn on (viz_plate.h), with
 * its walls and the outline of its floor. Cost O(cells + pixels). */
kern_status viz_surface_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                             kern_error *err);

/* Boxes of the tick labels along the floor, which other texts keep clear of; returns how many. */
size_t viz_surface_tick_boxes(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                              viz_rect boxes[2 * VIZ_TICKS_MAJOR_MAX]);

/* Ticks and labels along the two sides of the floor that face the viewer, within the plot and what
 * the layout keeps free for axes. A label without room beyond its side is broken into up to four
 * lines; where that does not help both labels stand below everything, the left one at the left. */
void viz_surface_axes(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame);

#endif
