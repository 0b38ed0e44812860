/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Frames that nobody sees, for scripts and tests, which ask a view for its widgets; and pictures of
 * the whole window.
 */
#ifndef BASIN_VIEW_HEADLESS_H
#define BASIN_VIEW_HEADLESS_H

#include "viz/view/view.h"

/* Saves a frame that has just been drawn as PNG when the command "screenshot" has asked for that
 * and the view wants no other frame by `seconds`; one that it does not want to stay is not the
 * picture asked for. view_said tells of a failure. Whoever owns the image calls it after
 * view_frame. */
void view_headless_capture(view *v, cairo_surface_t *image, double seconds);

/* Waits until the view has computed what it was asked for, and draws frames without input into an
 * image of width × height pixels, one per logical unit, until it wants no more; an animation gets
 * as many as VIEW_HEADLESS_FRAMES. The clock stands still. When `image` is not NULL it receives the
 * last frame (CAIRO_FORMAT_RGB24), which the caller destroys. KERN_NO_MEMORY; errors of view_frame.
 */
enum { VIEW_HEADLESS_FRAMES = 8 };
kern_status view_headless_draw(view *v, int width, int height, cairo_surface_t **image,
                               kern_error *err);

/* Draws one frame without input into such an image as things stand, without waiting: for measuring
 * what a frame costs. Errors of view_frame. */
kern_status view_headless_frame(view *v, cairo_surface_t *image, kern_error *err);

#endif
