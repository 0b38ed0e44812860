/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of a frame share. A frame is cut into a column at the left (what is looked at),
 * the picture, the orbit strip when it is on, a dock below (steps and rate), and a line of words at
 * the bottom; dialogs lie over all of it.
 */
#ifndef BASIN_VIEW_FRAME_H
#define BASIN_VIEW_FRAME_H

#include "viz/view/view_cache.h"
#include "viz/view/view_command.h"

enum { VIEW_DESK_CHOICES = 4, VIEW_DESK_WORDS = 24 };

/* A frame being drawn. Lengths are logical units of the scaled window. */
typedef struct view_desk {
    view *v;
    view_cache *c;
    ui *u;
    cairo_t *cr;
    const ui_input *in; /* with the pointer in these units */
    double w, h;
    /* Words of the choices, which the widgets borrow until the frame's end. */
    const char *words[VIEW_DESK_CHOICES][VIEW_DESK_WORDS];
    size_t n_choices;
    char hint[256]; /* what a part has to say about what is under the pointer; or empty */
} view_desk;

/* Runs a command line, or sets a setting; a failure goes to the user. */
bool view_desk_do(view_desk *d, const char *line);
bool view_desk_set(view_desk *d, const char *name, const char *value);
bool view_desk_change(view_desk *d, const view_settings *s, const char *field);

/* Colours and texts for what is drawn without a widget. */
viz_rgb view_desk_colour(const view_desk *d, viz_paint_kind kind);
void view_desk_paint(view_desk *d, viz_rgb colour, double opacity);
void view_desk_line(view_desk *d, double x0, double y0, double x1, double y1, double width);

/* A text of several lines in the middle of a rectangle; the same words are a label named `id`. */
void view_desk_text(view_desk *d, const char *id, viz_rect rect, const char *text, bool warning);

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

/* A number of the words: few digits, with a typographic minus sign. */
const char *view_desk_number(char out[32], double x);

/* Says of a token, as the hint, its energy at the step pointed out, how far that step took it, and
 * the length of its state. */
void view_desk_token(view_desk *d, size_t token);

/* Takes the pointer and the keys of the picture. */
void view_frame_point(view_desk *d, const ui_canvas_event *event);

/* State of the trajectory under a place of the picture; SIZE_MAX when none is near. */
size_t view_frame_state_at(const view_desk *d, double x, double y);

#endif
