/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Widgets: buttons, sliders, lists and text fields, drawn with cairo and Pango.
 *
 * The layer is of the immediate kind: a program calls every widget in every frame, between
 * ui_begin and ui_end, and learns from the call what the user did to it. What lasts from frame to
 * frame (focus, what is being dragged, an open list, a text being typed) is kept under the widget's
 * id, a short text that never changes. Nothing here knows a window system: a frame gets a cairo
 * context and an ui_input, and the same calls work in a window, in a test and in a picture.
 *
 * Every widget leaves a node in the frame's tree: id, role, label, value, range and rectangle. The
 * tree gives the order of the Tab key, lets tests address "eta" instead of pixels, and is what a
 * screen reader's bridge would read (SDL2 has none).
 *
 * Lengths are logical units; the context's scale makes pixels of them. Texts are plain UTF-8, not
 * markup. Colours come from viz_colour's themes: in both, text has a contrast of at least 7:1 (WCAG
 * 2.1, level AAA) and edges 3:1 to what is behind them, but for disabled widgets.
 */
#ifndef BASIN_UI_H
#define BASIN_UI_H

#include "kernels/kern_status.h"
#include "viz/viz_canvas.h"
#include "viz/viz_colour.h"

#include <cairo.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum ui_code {
    UI_TAB,
    UI_ENTER,
    UI_SPACE,
    UI_ESCAPE,
    UI_LEFT,
    UI_RIGHT,
    UI_UP,
    UI_DOWN,
    UI_HOME,
    UI_END,
    UI_PAGE_UP,
    UI_PAGE_DOWN,
    UI_BACKSPACE,
    UI_DELETE,
    UI_LETTER /* `letter` says which: lower case, digits and punctuation of ASCII */
} ui_code;

typedef struct ui_key {
    ui_code code;
    char letter; /* of UI_LETTER, else 0 */
    bool shift, ctrl;
} ui_key;

enum { UI_KEYS_MAX = 32, UI_TEXT_MAX = 256, UI_ID_MAX = 40, UI_NODES_MAX = 2048 };

/* What happened since the frame before. */
typedef struct ui_input {
    double x, y;      /* of the pointer */
    bool down;        /* the primary button is held */
    bool pressed;     /* it went down */
    bool released;    /* it went up */
    bool shift, ctrl; /* are held */
    double wheel;     /* lines, positive away from the user */
    size_t n_keys;
    ui_key keys[UI_KEYS_MAX];
    char text[UI_TEXT_MAX]; /* UTF-8 typed or pasted; nothing of keys with Ctrl */
} ui_input;

typedef enum ui_role {
    UI_ROLE_LABEL,
    UI_ROLE_BUTTON,
    UI_ROLE_TOGGLE,
    UI_ROLE_SLIDER,
    UI_ROLE_CHOICE,
    UI_ROLE_LIST,
    UI_ROLE_ITEM,
    UI_ROLE_FIELD,
    UI_ROLE_CANVAS, /* a picture that takes the pointer */
    UI_ROLE_COUNT
} ui_role;

/* "label", "button", …; NULL beyond them. */
const char *ui_role_word(ui_role role);

typedef struct ui_node {
    char id[UI_ID_MAX];
    ui_role role;
    char label[UI_TEXT_MAX];
    char value[UI_TEXT_MAX]; /* as shown; empty where there is none */
    double low, high, now;   /* of a slider; item numbers of a list or choice; else 0 */
    viz_rect rect;
    bool enabled;
    bool focused;
    bool chosen; /* of an item: it is the one of its list or choice that counts */
    bool hidden; /* scrolled out of sight; rect is of no meaning then */
} ui_node;

typedef struct ui ui;

/* Releases with ui_destroy; NULL is ignored there. KERN_NO_MEMORY. */
kern_status ui_create(ui **out, kern_error *err);
void ui_destroy(ui *u);

typedef struct ui_frame {
    cairo_t *cr; /* its state is restored by ui_end */
    double width, height;
    viz_theme theme;
    const ui_input *input; /* borrowed until ui_end */
} ui_frame;

void ui_begin(ui *u, const ui_frame *frame);

/* Draws what lies above all else (open lists), moves the focus for an unused Tab, and finishes.
 * KERN_IO when cairo reports an error; KERN_OVERFLOW when there were more than UI_NODES_MAX
 * widgets; KERN_INVALID_ARGUMENT when two had one id. */
kern_status ui_end(ui *u, kern_error *err);

/* True when the frame just ended changed something that it had already drawn, so that another
 * should follow at once. */
bool ui_restless(const ui *u);

/* The last frame's nodes in the order of the calls, valid until the next ui_begin. */
const ui_node *ui_nodes(const ui *u, size_t *count);
const ui_node *ui_find(const ui *u, const char *id);

/* Gives the focus to a widget, from the next frame on; NULL takes it away. */
void ui_focus(ui *u, const char *id);

/* True when the keyboard was used last, and the focus is shown. */
bool ui_shows_focus(const ui *u);

/* True while a text field or a slider's typed number takes letters. */
bool ui_typing(const ui *u);

/* While on, widgets are drawn faintly and take nothing: for those under a dialog. ui_begin turns it
 * off. */
void ui_block(ui *u, bool on);

/* Takes a key that no widget used: true once for each such key of the frame. Call it after the
 * widgets. `letter` is 0 but for UI_LETTER. */
bool ui_take_key(ui *u, ui_code code, char letter, bool ctrl);

/* ---- Widgets ----------------------------------------------------------------------------------
 * `id` is unique in the frame and shorter than UI_ID_MAX. A disabled widget is drawn faintly and
 * takes nothing. Enter and Space press the focused button or toggle. */

typedef enum ui_tone { UI_PLAIN, UI_STRONG, UI_FAINT, UI_WARNING } ui_tone;

/* Colour of text: 7:1 on the page and on it with up to 16 % of ink, of warnings with up to 8 %. */
viz_rgb ui_tone_colour(ui_tone tone, viz_theme theme);

/* Text in a rectangle, cut with an ellipsis where it does not fit. */
void ui_label(ui *u, const char *id, viz_rect rect, const char *text, ui_tone tone);

/* A plain panel behind widgets. */
void ui_panel(ui *u, viz_rect rect);

/* A panel with an edge that lies over other widgets, which it dims. */
void ui_sheet(ui *u, viz_rect rect);

/* True in the frame in which it was pressed. */
bool ui_button(ui *u, const char *id, viz_rect rect, const char *label, bool enabled);

/* Changes *on and returns true when it was switched. */
bool ui_toggle(ui *u, const char *id, viz_rect rect, const char *label, bool *on);

/* A place on a slider that means something, such as a bifurcation. */
typedef struct ui_landmark {
    double at;
    const char *label;
    const char *brief; /* written where the label has no room; or NULL */
} ui_landmark;

typedef struct ui_range {
    double low, high; /* low < high; both positive when `log` */
    bool log;
    double step; /* values are multiples of it above `low`; 0: any value; not with `log` */
    const char *label;
    const char *unit; /* or NULL */
    const ui_landmark *landmarks;
    size_t n_landmarks;
} ui_range;

/* Dragging, the wheel, arrows (a hundredth of the range, or `step`), Page keys (a tenth), Home and
 * End move it; a number typed on the focused slider and Enter set it, Escape gives that up. Digits,
 * signs, the point and the letter e belong to a number; other letters are not taken. Changes
 * *value and returns true when the value changed; a value outside the range is shown at its end and
 * left alone until then. Landmarks are named above their ticks, in labels ID.mark.0, …, where there
 * is room behind label and value; the one that the value is at is named there else. */
bool ui_slider(ui *u, const char *id, viz_rect rect, const ui_range *range, double *value);

/* One of n texts: a button that opens a list. Arrows change it without opening. */
bool ui_choice(ui *u, const char *id, viz_rect rect, const char *label, const char *const *options,
               size_t n, size_t *index);

/* Bytes of a text that have a colour of their own. */
typedef struct ui_tint {
    size_t from, bytes;
    viz_rgb colour;
} ui_tint;

/* A list of n rows of which one is chosen, with a scroll bar when they do not fit; each is an item
 * ID.0, ID.1, …, in sight or not. `text` writes row `i`; `mark` returns whether there is a mark
 * before it, and its colour. */
typedef struct ui_rows {
    size_t n;
    void (*text)(void *context, size_t i, char *out, size_t size);
    void (*value)(void *context, size_t i, char *out, size_t size); /* behind it; NULL: none */
    bool (*mark)(void *context, size_t i, viz_rgb *colour);         /* NULL: no marks */
    /* Whether part of the text has another colour, and which; NULL: none has. */
    bool (*tint)(void *context, size_t i, ui_tint *out);
    /* Share of a whole that row `i` has, 0 to 1, drawn as a bar below its text and written at its
     * end in percent; less than a half percent, or NULL: nothing. */
    double (*share)(void *context, size_t i);
    void *context;
    size_t *hovered; /* gets the row under the pointer, SIZE_MAX for none; NULL: is not asked for */
} ui_rows;

bool ui_list(ui *u, const char *id, viz_rect rect, const char *label, const ui_rows *rows,
             size_t *index);

/* A line of text in `text` (UTF-8, `size` bytes with the final zero). Returns true for Enter.
 * Arrows, Home, End, Backspace and Delete work by characters. */
bool ui_field(ui *u, const char *id, viz_rect rect, const char *label, char *text, size_t size);

/* What the pointer does on a picture. */
typedef struct ui_canvas_event {
    bool hovered;
    bool pressed, dragged, released;
    double x, y;   /* from the picture's left top corner */
    double dx, dy; /* moved since the frame before, while dragged */
    double wheel;
} ui_canvas_event;

/* Makes a rectangle of the window take the pointer and the focus; the caller draws it. */
ui_canvas_event ui_canvas(ui *u, const char *id, viz_rect rect, const char *label,
                          const char *value);

/* ---- Layout ---- */

enum { UI_ROW = 24, UI_GAP = 6 };

/* Cuts a row of height h off the top of *rest, with a gap below it. */
viz_rect ui_row(viz_rect *rest, double h);

/* Part i of n equal parts of a row, with gaps between. */
viz_rect ui_part(viz_rect row, size_t i, size_t n);

#endif
