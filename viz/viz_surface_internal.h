/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the two files of a surface share: its view, and the painting of its cells.
 */
#ifndef BASIN_VIZ_SURFACE_INTERNAL_H
#define BASIN_VIZ_SURFACE_INTERNAL_H

#include "viz/viz_surface.h"

/* A camera made ready: heights and places in units of the longer side, counted from the middle. */
typedef struct viz_view {
    const viz_field *field;
    double side;      /* length of the longer side, in the field's units */
    double middle[2]; /* of the field */
    double half[2];   /* half sides */
    double cos_a, sin_a, cos_e, sin_e;
    double unit;    /* points on the page */
    double page[2]; /* of the middle */
} viz_view;

viz_view viz_view_of(const viz_field *field, const viz_camera *camera, viz_rect rect);
viz_view viz_view_of_panel(const viz_panel *panel, const viz_frame *frame);

/* Height of a value; NaN without a place on the scale. */
double viz_view_height(const viz_view *v, double value);

void viz_view_project(const viz_view *v, const double p[3], double page[2], double *depth);

/* The floor under the surface. */
void viz_surface_floor(viz_canvas *canvas, const viz_view *v);

#endif
