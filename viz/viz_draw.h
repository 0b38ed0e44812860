/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one function that draws a scene, for the screen and for every file format alike.
 */
#ifndef BASIN_VIZ_DRAW_H
#define BASIN_VIZ_DRAW_H

#include "kernels/kern_status.h"
#include "viz/viz_canvas.h"
#include "viz/viz_layout.h"
#include "viz/viz_scene.h"

#include <cairo.h>

/* Draws the scene on the page (0, 0) to (width, height) in user units of `cr`; one unit is one
 * point. The state of `cr` is restored. `log` (may be NULL) receives every text with its box.
 * Panels are drawn in order: shaded ranges, grid, fields or surfaces, maps of classes, isolines,
 * series, axes, labels. When a panel has more end
 * labels than room, every k-th is drawn, with the smallest k that fits. KERN_INVALID_ARGUMENT for
 * a bad axis range or a page too small, KERN_IO when cairo reports an error. */
kern_status viz_draw(cairo_t *cr, const viz_scene *scene, viz_log *log, kern_error *err);

/* Parts of a picture, from the ground up. */
enum {
    VIZ_DRAW_BASE = 1,   /* page, shaded ranges, grid, fields, surfaces, classes, isolines */
    VIZ_DRAW_OVER = 2,   /* series and marks */
    VIZ_DRAW_AROUND = 4, /* axes, labels, the colour bar, texts of the page */
    VIZ_DRAW_ALL = 7
};

/* Where everything stands on the page; the same on every surface, since texts are not hinted. The
 * caller releases it with viz_layout_destroy. Errors as for viz_draw. */
kern_status viz_draw_layout(viz_layout **out, const viz_scene *scene, kern_error *err);

/* Draws some parts of a scene, so that one that changes seldom can be kept as an image: drawn one
 * after another in their order, all parts give the pixels of viz_draw. `layout` is the scene's, or
 * NULL to have it made; `log` and errors as for viz_draw. */
kern_status viz_draw_layers(cairo_t *cr, const viz_scene *scene, const viz_layout *layout,
                            unsigned layers, viz_log *log, kern_error *err);

/* Number of end labels that fit beside panel `index` as the scene stands now. */
kern_status viz_draw_label_room(const viz_scene *scene, size_t index, size_t *room,
                                kern_error *err);

/* Sets the height of a page whose panels all have equal units, so that none leaves room below
 * itself: the largest height of at most `most` points at which a row fills its share. Other scenes
 * keep their height. Errors as for viz_draw. */
kern_status viz_draw_fit_height(viz_scene *scene, double most, kern_error *err);

#endif
