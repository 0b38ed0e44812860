/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the widgets' files share: the state that lasts, how a widget learns what happened to it, and
 * drawing.
 */
#ifndef BASIN_UI_INTERNAL_H
#define BASIN_UI_INTERNAL_H

#include "viz/ui/ui.h"

/* A list opened by a choice: drawn by ui_end, above everything, and first to get the pointer. */
typedef struct ui_popup {
    char id[UI_ID_MAX];         /* of its choice; empty: none is open */
    viz_rect rect;              /* as drawn in the frame before */
    const char *const *options; /* borrowed from the choice's call, until ui_end */
    size_t n, at;               /* entries, and the one under the pointer or the arrows */
    size_t chosen;              /* the one that counts */
    bool seen;                  /* its choice was called in this frame */
} ui_popup;

/* A text being typed: of the focused field, or the number of the focused slider. */
typedef struct ui_edit {
    char id[UI_ID_MAX]; /* empty: nothing is typed */
    char text[UI_TEXT_MAX];
    size_t caret; /* bytes */
} ui_edit;

enum { UI_SCROLLS = 16 };

typedef struct ui_scroll {
    char id[UI_ID_MAX];
    double offset;
    size_t chosen; /* row that was chosen in the frame before; SIZE_MAX before the first */
} ui_scroll;

struct ui {
    ui_frame frame;
    PangoLayout *layout;
    ui_node *nodes; /* UI_NODES_MAX, owned */
    size_t n_nodes;
    bool taken[UI_KEYS_MAX]; /* keys that were used */
    bool text_taken;
    char focus[UI_ID_MAX];
    char active[UI_ID_MAX]; /* what the button went down on */
    double last_x, last_y;  /* the pointer in the frame before */
    ui_popup popup;
    ui_edit edit;
    ui_scroll scrolls[UI_SCROLLS];
    bool restless;
    bool blocked;
    bool overflow;
    bool show_focus; /* the keyboard was used last, so the focus is drawn strongly */
};

typedef struct ui_touch {
    bool hot;     /* the pointer is over it, and over nothing above it */
    bool active;  /* the button went down on it and is held */
    bool clicked; /* released over it, or pressed by key */
} ui_touch;

/* Adds a node and gives it to the caller, who may fill in more; a spare one when the frame is full.
 */
ui_node *ui_add(ui *u, const char *id, ui_role role, const char *label, viz_rect rect,
                bool enabled);

/* What the pointer and Enter or Space do to a node; takes the focus when it is pressed. */
ui_touch ui_interact(ui *u, const ui_node *node);

bool ui_has_focus(const ui *u, const char *id);
bool ui_same(const char *a, const char *b);
void ui_copy_id(char *to, const char *id);

/* Copies what fits of a text, cut between characters, with a final zero. */
void ui_copy_text(char *to, size_t size, const char *text);

bool ui_inside(const viz_rect *rect, double x, double y);

/* Takes one key of the focused widget, without control; see ui_take_key. */
bool ui_focus_key(ui *u, const char *id, ui_code code);

/* Ends the typing of a text. */
void ui_edit_stop(ui *u);

/* Applies typed text and editing keys to `text`; returns true when it changed. Of what is typed
 * only the characters of `accepted` count, all when it is NULL; keys of others are left to
 * commands. */
bool ui_edit_apply(ui *u, char *text, size_t size, size_t *caret, const char *accepted);

/* The open list, drawn and asked by ui_end and ui_begin. */
void ui_popup_draw(ui *u);

/* How far a widget is scrolled, kept under its id. */
ui_scroll *ui_scroll_of(ui *u, const char *id);

/* ---- Drawing ---- */

void ui_paint(ui *u, viz_paint_kind kind);
void ui_paint_mix(ui *u, viz_paint_kind a, viz_paint_kind b, double t);
void ui_box(ui *u, viz_rect rect, double radius);

/* A filled control with its edge and, when focused, its ring. `lift` in 0 … 1 sets it off. */
void ui_face(ui *u, const ui_node *node, double lift);

/* Text within rect: align 0 left, ½ centre, 1 right; centred vertically, cut with an ellipsis. */
void ui_text(ui *u, viz_rect rect, const char *text, ui_tone tone, double align);

#define UI_BETWEEN "   " /* a text and its value */

/* A text and behind it a value, which gives way last: the text's middle is cut first. `tint`
 * colours a part of the text; NULL: none. */
void ui_text_pair(ui *u, viz_rect rect, const char *text, const char *value, ui_tone tone,
                  const ui_tint *tint);

/* Width of a text, and of its first `bytes` bytes. */
double ui_text_width(ui *u, const char *text, size_t bytes);

#endif
