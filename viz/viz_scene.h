/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scene: everything a figure shows, as plain data. Nothing here knows how it is drawn.
 *
 * A scene is a page with a grid of panels. A panel has two axes, series and shaded spans. The
 * scene owns copies of all numbers and texts given to it. Texts called "markup" are Pango markup
 * in UTF-8 (<i>, <sub>, <sup>, …) and are checked when they are added; put text of unknown origin
 * through viz_text_escape first. Lengths are points (1/72 inch).
 */
#ifndef BASIN_VIZ_SCENE_H
#define BASIN_VIZ_SCENE_H

#include "kernels/kern_status.h"
#include "viz/viz_colour.h"

#include <stdbool.h>
#include <stddef.h>

enum { VIZ_PANELS_MAX = 16, VIZ_GRID_MAX = 8 };

/* Page limits in points: smaller pages hold no axes, larger ones no PDF viewer opens. */
#define VIZ_PAGE_MIN 60.0
#define VIZ_PAGE_MAX 14400.0

/* Figure widths of journals, in millimetres. */
#define VIZ_SINGLE_COLUMN_MM 89.0
#define VIZ_DOUBLE_COLUMN_MM 183.0

typedef enum viz_dash { VIZ_SOLID, VIZ_DASHED, VIZ_DOTTED } viz_dash;

typedef enum viz_marker {
    VIZ_MARKER_NONE,
    VIZ_MARKER_CIRCLE,
    VIZ_MARKER_SQUARE,
    VIZ_MARKER_TRIANGLE, /* pointing up */
    VIZ_MARKER_CROSS
} viz_marker;

typedef struct viz_style {
    viz_paint paint;
    double width; /* of the line; 0 draws markers only */
    viz_dash dash;
    viz_marker marker;
    double size; /* of a marker, side or diameter */
    bool open;   /* marker outlined and filled with the page colour */
} viz_style;

/* A polyline, points, or both. Points with a coordinate that is not finite (or not positive on a
 * logarithmic axis) break the line. */
typedef struct viz_series {
    const char *name;      /* plain text, for tables; required */
    const char *legend;    /* markup, or NULL for no legend entry */
    const char *end_label; /* markup at the right end of the line, or NULL */
    const double *x, *y;   /* n values each */
    size_t n;
    viz_style style;
} viz_series;

/* Shaded range of x. */
typedef struct viz_span {
    double from, to;
    const char *label; /* markup written above the range, or NULL */
} viz_span;

typedef struct viz_axis {
    const char *label; /* markup, or NULL */
    double lo, hi;
    bool log;
    bool integer; /* ticks at integers only */
} viz_axis;

typedef struct viz_panel {
    const char *title;             /* markup, or NULL */
    size_t row, column, n_columns; /* cell and its width in columns; 0 counts as 1 */
    viz_axis x, y;
    size_t n_series;
    viz_series *series;
    size_t n_spans;
    viz_span *spans;
    size_t series_room, spans_room; /* private: entries allocated */
} viz_panel;

/* Colour bar at the right of the page. */
typedef struct viz_bar {
    bool shown;
    bool integer;
    viz_map map;
    double lo, hi;
    const char *label; /* markup, or NULL */
} viz_bar;

typedef struct viz_memory viz_memory;

typedef struct viz_scene {
    double width, height;
    viz_theme theme;
    const char *family; /* font family list, most wanted first */
    const char *title;  /* markup, or NULL */
    const char *note;   /* markup under the panels, wrapped to the page, or NULL */
    viz_bar bar;
    double row_weight[VIZ_GRID_MAX]; /* relative heights; 0 counts as 1 */
    size_t n_panels;
    viz_panel panels[VIZ_PANELS_MAX];
    viz_memory *memory; /* private */
} viz_scene;

/* Points in `mm` millimetres. */
double viz_scene_points(double mm);

/* New empty scene; the caller owns it. KERN_INVALID_ARGUMENT when a side is outside VIZ_PAGE_MIN
 * to VIZ_PAGE_MAX or not a number. */
kern_status viz_scene_create(viz_scene **out, double width, double height, kern_error *err);

/* Releases a scene with all it owns; NULL is ignored. */
void viz_scene_destroy(viz_scene *scene);

/* Setters for the page's texts; NULL removes. KERN_BAD_INPUT names a text that is not valid
 * markup. */
kern_status viz_scene_set_title(viz_scene *scene, const char *markup, kern_error *err);
kern_status viz_scene_set_note(viz_scene *scene, const char *markup, kern_error *err);

/* Font family list such as "DejaVu Sans, sans-serif"; NULL restores that default. */
kern_status viz_scene_set_family(viz_scene *scene, const char *family, kern_error *err);

/* Shows a colour bar; `bar->shown` is ignored. */
kern_status viz_scene_set_bar(viz_scene *scene, const viz_bar *bar, kern_error *err);

/* Adds a panel with the title, cell and axes of `spec`; its series and spans are ignored. *out
 * stays valid until the scene is destroyed. Axis ranges may be set or fitted later. */
kern_status viz_scene_add_panel(viz_panel **out, viz_scene *scene, const viz_panel *spec,
                                kern_error *err);

kern_status viz_scene_add_series(viz_scene *scene, viz_panel *panel, const viz_series *series,
                                 kern_error *err);
kern_status viz_scene_add_span(viz_scene *scene, viz_panel *panel, const viz_span *span,
                               kern_error *err);

/* Sets both axis ranges of a panel to its finite data, y padded by `margin` of its length, with
 * the guard for constant data of viz_ticks_pad. A panel without finite points gets 0 to 1. */
void viz_scene_fit(viz_panel *panel, double margin);

/* True when the point can be placed on the panel's axes: finite, and positive where logarithmic. */
bool viz_scene_drawable(const viz_panel *panel, double x, double y);

#endif
