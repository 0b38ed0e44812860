/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of a frame share. A frame is cut into a column at the left (what is looked at),
 * the picture, the orbit strip when it is on, a dock below (steps and rate), and a line of words at
 * the bottom; dialogs lie over all of it.
 */
#ifndef BASIN_VIEW_FRAME_H
#define BASIN_VIEW_FRAME_H

#include "viz/view/view_desk.h"
#include "viz/view/view_number.h"

/* The parts, in the order of the Tab key. */
void view_frame_side(view_desk *d, viz_rect area);
void view_frame_picture(view_desk *d, viz_rect area);
void view_frame_orbit(view_desk *d, viz_rect area);
void view_frame_dock(view_desk *d, viz_rect area);
void view_frame_words(view_desk *d, viz_rect area);
void view_frame_over(view_desk *d);

/* Height of the dock in a window of this height: without the energies where there is little room.
 */
double view_frame_dock_height(double window);

/* Says of a token, as the hint, its energy at the step pointed out, how far that step took it, and
 * the length of its state. */
void view_desk_token(view_desk *d, size_t token);

/* Takes the pointer and the keys of the picture. */
void view_frame_point(view_desk *d, const ui_canvas_event *event);

/* State of the trajectory under a place of the picture; SIZE_MAX when none is near. */
size_t view_frame_state_at(const view_desk *d, double x, double y);

/* The same among the trajectories of other tokens: which of the landscape's `others`, and its
 * state; SIZE_MAX when none is near. */
size_t view_frame_other_at(const view_desk *d, double x, double y, size_t *state);

#endif
