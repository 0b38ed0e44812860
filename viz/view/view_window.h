/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Window: shows a view on the screen and hands it the user's input, with SDL2.
 *
 * The view draws with cairo into an image in pixels, whose device scale makes logical units of
 * them; the image goes to the screen through one streaming texture. A frame is drawn when input has
 * come or the view wants one, and else the program sleeps in SDL_WaitEventTimeout: a window that
 * nothing happens to takes no time of the processor. Frames do not wait for the screen's beat.
 *
 * Input of several events becomes one frame's input where their order does not matter
 * (view_gather.h).
 *
 * The window lives longer than its view, because the view's threads wake it up. One thread calls
 * all of this, the one that made the window, except view_window_notify. A process has one window
 * at a time.
 */
#ifndef BASIN_VIEW_WINDOW_H
#define BASIN_VIEW_WINDOW_H

#include "viz/view/view.h"

typedef struct view_window view_window;

typedef struct view_window_options {
    int width, height; /* logical units; 0: 1280 × 800, or what the screen has room for */
} view_window_options;

/* Starts SDL's video and makes a window, which shows itself with its first frame. KERN_NOT_FOUND
 * when there is no display: without one, and without a driver named in SDL_VIDEODRIVER, SDL draws
 * where nobody sees it, and that is an error here. KERN_IO with SDL's own words when it fails
 * otherwise; KERN_NO_MEMORY. */
kern_status view_window_create(view_window **out, const view_window_options *options,
                               kern_error *err);

/* Call it after view_destroy. NULL is ignored. */
void view_window_destroy(view_window *window);

/* Wakes the window up; a view's `notify` with the window as context. Any thread; a flood of calls
 * costs one event. */
void view_window_notify(void *window);

/* Shows the view until the user closes the window or gives the command "quit". Errors of
 * view_frame, and KERN_IO when SDL cannot show a frame. */
kern_status view_window_run(view_window *window, view *v, kern_error *err);

/* ---- One turn at a time, as tests need it ---- */

/* Takes input that has come and draws a frame if that or the view calls for one. Waits for that at
 * most `patience` seconds; negative: as long as it takes. */
kern_status view_window_turn(view_window *window, view *v, double patience, kern_error *err);

/* False once the user, or a signal, has closed the window. */
bool view_window_is_open(const view_window *window);

/* True once it was closed by a signal (SIGINT, SIGTERM) and not by the user. */
bool view_window_was_asked(const view_window *window);

/* Frames drawn since the window was opened. */
size_t view_window_frames(const view_window *window);

/* The last frame in pixels, CAIRO_FORMAT_RGB24; NULL before the first. Borrowed, until the next
 * turn. */
cairo_surface_t *view_window_surface(const view_window *window);

#endif
