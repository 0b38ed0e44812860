/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A frame being drawn, and what its parts do alike: run commands, draw texts and lines.
 */
#ifndef BASIN_VIEW_DESK_H
#define BASIN_VIEW_DESK_H

#include "viz/view/view_cache.h"
#include "viz/view/view_command.h"

enum { VIEW_DESK_CHOICES = 4, VIEW_DESK_WORDS = 24, VIEW_HINT = 384 };

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
    char hint[VIEW_HINT]; /* what a part has to say about what is under the pointer; or empty */
} view_desk;

/* Runs a command line, or sets a setting; a failure goes to the user. */
bool view_desk_do(view_desk *d, const char *line);
bool view_desk_set(view_desk *d, const char *name, const char *value);
bool view_desk_change(view_desk *d, const view_settings *s, const char *field);

/* Sets a setting as its command does, so that the user is told what was chosen. */
bool view_desk_choose(view_desk *d, const char *name, const char *value);

/* Colours and texts for what is drawn without a widget. */
viz_rgb view_desk_colour(const view_desk *d, viz_paint_kind kind);
void view_desk_paint(view_desk *d, viz_rgb colour, double opacity);
void view_desk_line(view_desk *d, double x0, double y0, double x1, double y1, double width);

/* The ring around a picture, where it has the focus and the keyboard is in use. */
void view_desk_focus(view_desk *d, const char *id, viz_rect rect);

/* A text of several lines in the middle of a rectangle; the same words are a label named `id`. */
void view_desk_text(view_desk *d, const char *id, viz_rect rect, const char *text, bool warning);

#endif
