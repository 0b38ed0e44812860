/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Picture: energies and contours of a landscape at one fineness, and the scene made of them.
 *
 * Shared and unchanging. The scene is what is drawn in the window and written to files.
 */
#ifndef BASIN_VIEW_PICTURE_H
#define BASIN_VIEW_PICTURE_H

#include "viz/view/view_landscape.h"
#include "viz/view/view_measure.h"
#include "viz/viz_contour.h"
#include "viz/viz_scene.h"

typedef struct view_picture {
    atomic_size_t holders;     /* private */
    view_landscape *landscape; /* kept */
    dyn_slice_field field;
    double *fringe; /* its values as surfaces take them at a chart's rim; NULL without one */
    viz_contours contours;
    view_measure centre;    /* slopes and curvatures at (0, 0) */
    viz_contours quadratic; /* of the second-order model that they make, at the same levels */
    viz_contours ghost;     /* of the landscape before, where there is one, at the same levels */
    bool sketch;            /* single precision */
} view_picture;

typedef struct view_grain {
    size_t columns; /* rows are 5/8 of them */
    bool sketch;    /* single precision, contours not refined */
    int workers;
} view_grain;

/* KERN_INTERRUPTED when `cancelled` (may be NULL) returns true; `progress` (may be NULL) counts
 * rows. */
kern_status view_picture_create(view_picture **out, view_landscape *landscape,
                                const view_grain *grain, dyn_progress *progress, void *context,
                                kern_error *err);

view_picture *view_picture_keep(view_picture *picture);
void view_picture_release(view_picture *picture); /* NULL is ignored */

/* What is drawn of a picture: settings count for looks only (mode, colours, scale, step, dark).
 * `low` and `high` fix the colour scale; equal: the picture's own. A page of width 0 is
 * double-column. `basins` (or NULL) covers the field with classes. The caller owns *out; panel 0 is
 * the map. */
struct view_basins;
typedef struct view_page {
    double width, height; /* points; height 0: the figure's own */
    bool point_out;       /* mark the state at the settings' step */
    double low, high;
    const struct view_basins *basins;
} view_page;

kern_status view_picture_scene(viz_scene **out, const view_picture *picture, const view_settings *s,
                               const view_page *page, kern_error *err);

/* What is seen of the field, in a sentence without its full stop: whose energy, on which plane, its
 * least and largest with their places, and the unit. Plain text; the same is in the scene's
 * description. */
void view_picture_say(const view_picture *picture, char out[VIEW_NOTE]);

/* The session text for files; the caller frees it. */
kern_status view_picture_session(char **text, const view_picture *picture, const view_settings *s,
                                 kern_error *err);

#endif
