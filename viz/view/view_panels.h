/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Panels: one trajectory on several planes of random directions, of consecutive seeds, with the
 * same range and the same colours, so that nobody takes what one of them shows for the landscape.
 */
#ifndef BASIN_VIEW_PANELS_H
#define BASIN_VIEW_PANELS_H

#include "viz/view/view_landscape.h"
#include "viz/view/view_picture.h"
#include "viz/viz_planes_plot.h"

typedef struct view_panels {
    view_settings settings; /* they were made from; seeds are seed, seed + 1, … */
    size_t n;
    view_landscape *landscapes[VIZ_PLANES_MAX]; /* kept */
    dyn_slice_field fields[VIZ_PLANES_MAX];
    viz_contours contours[VIZ_PLANES_MAX];
    double held[VIZ_PLANES_MAX]; /* viz_planes_held of the trajectory */
    double low, high;            /* of all fields, or those of the settings */
} view_panels;

/* Whether the other settings can be drawn on several planes. KERN_INVALID_ARGUMENT, in a sentence
 * that begins with the setting, when the plane is none of random directions and for what is drawn
 * of a single plane only: modes other than map, quadratic, seeds, also. */
kern_status view_panels_check(const view_settings *settings, kern_error *err);

/* Follows the trajectory on settings->panels planes and computes their fields over a range that
 * holds what all of them take. KERN_INVALID_ARGUMENT, in a sentence that begins with the setting,
 * for a range of which no place that is sampled has a state on a plane, and for states that take
 * more than VIEW_PATH_BYTES on all planes together; errors of view_panels_check and of
 * view_landscape_create. `progress` (may be NULL) counts rows of every field. Release with
 * view_panels_destroy. */
kern_status view_panels_create(view_panels **out, view_subject *subject,
                               const view_settings *settings, int workers,
                               view_cancelled *cancelled, dyn_progress *progress, void *context,
                               kern_error *err);
void view_panels_destroy(view_panels *panels); /* NULL is ignored */

/* As view_picture_scene and view_picture_session. */
kern_status view_panels_scene(viz_scene **out, const view_panels *panels, const view_page *page,
                              kern_error *err);
kern_status view_panels_session(char **text, const view_panels *panels, kern_error *err);

#endif
