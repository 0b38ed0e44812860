/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a view's frames keep from one to the next: the scene that is shown, its ground and those of
 * the other steps as images in pixels of the window, and what the pointer is doing.
 *
 * A frame copies the base (page, field, contours), draws what lies over it (trajectory, marks), and
 * lays axes and texts on top. A ground is drawn when it is shown for the first time, so that moving
 * along the trajectory costs two copies and a few lines.
 */
#ifndef BASIN_VIEW_CACHE_H
#define BASIN_VIEW_CACHE_H

#include "viz/view/view_ground.h"
#include "viz/view/view_private.h"

/* What the pointer does on the picture. */
typedef enum view_tool { VIEW_TOOL_LOOK, VIEW_TOOL_SEED, VIEW_TOOL_TURN, VIEW_TOOLS } view_tool;

/* Numbers that tell what the image of the orbit strip shows. */
enum { VIEW_STRIP_KEY = 9 };

typedef struct view_cache {
    viz_scene *scene; /* NULL: there is nothing to show, for the reason in `why` */
    size_t step;      /* that it points out */
    view_shelf shelf;
    view_ground *ground; /* the scene's, on the shelf; NULL without a scene */
    kern_error why;
    double zoom; /* logical units per point of the page */
    /* The pointer. */
    view_tool tool;
    bool held;         /* the button went down on the picture */
    bool moved;        /* and the pointer moved since, so that it is no click */
    double from[2];    /* where, in units from the picture's corner */
    double pointer[2]; /* where it is, likewise */
    bool hovered;
    double hover[2]; /* place of the plane under the pointer; NaN off the map */
    /* The orbit strip's points. */
    cairo_surface_t *strip;
    double strip_key[VIEW_STRIP_KEY];
    /* The dialogs. */
    view_overlay opened; /* the one shown in the frame before */
    size_t width_choice, dpi_choice;
    char replaces[VIEW_TEXT]; /* a path that is taken, as the user has been told; or empty */
    size_t scrolled;          /* first line of the help */
} view_cache;

/* The view's cache, made when there is none yet; NULL when memory is refused. */
view_cache *view_cache_of(view *v);
void view_cache_destroy(view_cache *c);

/* Brings scene and images up to date for an area of the window, with `zoom` units per point. When
 * that fails, `scene` is NULL and `why` says the reason. */
void view_cache_update(view *v, cairo_t *cr, viz_rect area, double zoom);

/* Draws the picture into the area it was updated for. */
kern_status view_cache_draw(view_cache *c, cairo_t *cr, viz_rect area, kern_error *err);

/* Place of the plane under a point of the area (units from its corner); false off the map and for a
 * surface. */
bool view_cache_place(const view_cache *c, double x, double y, double place[2]);

/* Where a place of the plane with an energy is drawn, in units from the area's corner; false where
 * it is not. */
bool view_cache_point(const view_cache *c, double a, double b, double energy, double at[2]);

/* Energy of the shown field at a place, between its samples; NaN outside. */
double view_cache_energy(const view_cache *c, const double place[2]);

/* The range that the axes cover, or will when the field asked for is there. */
void view_cache_range(const view *v, double range[4]);

/* Energies of the subject's n tokens at the trajectory's state `step`; NULL where there is no such
 * state or no picture of the subject. */
const double *view_cache_energies(const view *v, size_t step);

#endif
