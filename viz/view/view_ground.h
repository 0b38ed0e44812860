/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ground: what is drawn once of a picture, whatever is pointed out on it: its layout, and as images
 * in pixels of the window the base (page, field, contours) and what lies around (axes, texts).
 *
 * A shelf keeps the grounds shown last, so that moving along a trajectory whose fields are computed
 * draws each of them once.
 */
#ifndef BASIN_VIEW_GROUND_H
#define BASIN_VIEW_GROUND_H

#include "viz/view/view_basins.h"
#include "viz/view/view_picture.h"
#include "viz/viz_layout.h"

#include <cairo.h>

/* Of what a ground was made. */
typedef struct view_ground_key {
    view_picture *picture;     /* kept by the ground */
    const view_basins *basins; /* drawn over the field, or NULL; of the view */
    size_t basins_number;      /* which of those that the view has had; 0: none */
    view_settings s;           /* of which the looks count, but not the step */
    double width, height;      /* of the page */
    double low, high;
    double range[4]; /* that the map's axes cover */
    double sx, sy;   /* pixels per point */
    int w, h;        /* of the images */
} view_ground_key;

typedef struct view_ground {
    view_ground_key key;
    viz_layout *layout;
    cairo_surface_t *base, *around;
} view_ground;

/* Grounds, the one shown last first. */
enum { VIEW_SHELF_MOST = 32 };
typedef struct view_shelf {
    size_t n;
    view_ground *grounds[VIEW_SHELF_MOST];
} view_shelf;

/* The ground of a key, which comes first now; NULL when it is not there. */
view_ground *view_shelf_find(view_shelf *shelf, const view_ground_key *key);

/* Draws the ground of a scene and puts it first. Images of more than 128 MiB together are not kept:
 * those shown longest ago go, but never the first. A note of the scene that is to stand at the side
 * is `note`; NULL: none. Errors of viz_draw_layers. */
kern_status view_shelf_add(view_shelf *shelf, const view_ground_key *key, const viz_scene *scene,
                           const char *note, kern_error *err);

/* Releases those for which `keeps` says no, with their pictures. */
void view_shelf_sweep(view_shelf *shelf, bool (*keeps)(const void *context, const view_ground *g),
                      const void *context);

/* Releases all. */
void view_shelf_clear(view_shelf *shelf);

#endif
