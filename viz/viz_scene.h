/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scene: everything a figure shows, as plain data. Nothing here knows how it is drawn.
 *
 * A scene is a page with a grid of panels. A panel has two axes, shaded spans, layers (fields
 * as pixels, maps of classes, lines of equal value; viz_layers.h) and series. The
 * scene owns copies of all numbers and texts given to it. Texts called "markup" are Pango markup
 * in UTF-8 (<i>, <sub>, <sup>, …) and are checked when they are added; put text of unknown origin
 * through viz_text_escape first. Lengths are points (1/72 inch).
 */
#ifndef BASIN_VIZ_SCENE_H
#define BASIN_VIZ_SCENE_H

#include "kernels/kern_status.h"
#include "viz/viz_colour.h"
#include "viz/viz_layers.h"

#include <stdbool.h>
#include <stddef.h>

enum { VIZ_PANELS_MAX = 20, VIZ_GRID_MAX = 10 };

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
    double halo; /* a contrasting edge this wide around line and markers, for use over a field */
} viz_style;

/* A polyline, points, or both. Points with a coordinate that is not finite (or not positive on a
 * logarithmic axis) break the line. */
typedef struct viz_series {
    const char *name;      /* plain text, for tables; required */
    const char *legend;    /* markup, or NULL for no legend entry */
    const char *end_label; /* markup at the right end of the line, or NULL */
    const double *x, *y;   /* n values each */
    const double *z;       /* n values that give the heights over a surface, or NULL elsewhere */
    const double *opacity; /* n values in [0, 1] or NULL: of the markers; a piece of the line has
                              the mean of its ends */
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
    bool quiet;   /* ticks have no labels: those of a panel beside or below count here too */
} viz_axis;

typedef struct viz_panel {
    const char *title;             /* markup, or NULL */
    size_t row, column, n_columns; /* cell and its width in columns; 0 counts as 1 */
    viz_axis x, y;
    bool equal;   /* one unit of x as long as one of y: the plot shrinks inside its cell */
    bool boxed;   /* axis lines on all four sides; implied by a field or a map of classes */
    bool surface; /* private: the first field is drawn as a surface, seen by `camera` */
    viz_camera camera;
    size_t n_fields;
    viz_field *fields;
    size_t n_classes;
    viz_classes *classes;
    size_t n_isolines;
    viz_isolines *isolines;
    size_t n_series;
    viz_series *series;
    size_t n_spans;
    viz_span *spans;
    size_t n_marks;
    viz_mark *marks;
    size_t fields_room, classes_room, isolines_room; /* private: entries allocated */
    size_t series_room, spans_room, marks_room;
} viz_panel;

/* Colour bar at the right of the first row of panels, or of all. */
typedef struct viz_bar {
    bool shown;
    bool integer;
    bool tall;  /* along all rows that stand in the same columns */
    bool whole; /* the whole map, as fields have it, not the part that lines use */
    viz_scale scale;
    const char *label; /* markup, or NULL */
} viz_bar;

struct viz_memory;

typedef struct viz_scene {
    double width, height;
    viz_theme theme;
    const char *family;      /* font family list, most wanted first */
    const char *title;       /* markup, or NULL */
    const char *note;        /* markup under the panels, wrapped to the page, or NULL */
    const char *description; /* plain text: what is to be seen, for who does not see it; or NULL */
    viz_bar bar;
    double row_weight[VIZ_GRID_MAX]; /* relative heights; 0 counts as 1 */
    size_t n_panels;
    viz_panel panels[VIZ_PANELS_MAX];
    struct viz_memory *memory; /* private */
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

/* Plain text, or NULL. KERN_BAD_INPUT unless it is UTF-8. */
kern_status viz_scene_set_description(viz_scene *scene, const char *text, kern_error *err);

/* Font family list; NULL restores the default. */
#define VIZ_FAMILY "DejaVu Sans, sans-serif"
kern_status viz_scene_set_family(viz_scene *scene, const char *family, kern_error *err);

/* Shows a colour bar; `bar->shown` is ignored. */
kern_status viz_scene_set_bar(viz_scene *scene, const viz_bar *bar, kern_error *err);

/* Adds a panel with the title, cell, axes and flags of `spec`; its contents are ignored. *out
 * stays valid until the scene is destroyed. Axis ranges may be set or fitted later. */
kern_status viz_scene_add_panel(viz_panel **out, viz_scene *scene, const viz_panel *spec,
                                kern_error *err);

kern_status viz_scene_add_series(viz_scene *scene, viz_panel *panel, const viz_series *series,
                                 kern_error *err);
kern_status viz_scene_add_mark(viz_scene *scene, viz_panel *panel, const viz_mark *mark,
                               kern_error *err);
kern_status viz_scene_add_span(viz_scene *scene, viz_panel *panel, const viz_span *span,
                               kern_error *err);

/* Layers are drawn under all series: fields first, then maps of classes, then isolines, each kind
 * in the order of adding. All numbers are copied. KERN_BAD_INPUT for a name or a text that is
 * missing or not valid, KERN_INVALID_ARGUMENT for a lattice, scale, class or line that cannot be
 * drawn; values that are not finite can. */
kern_status viz_scene_add_field(viz_scene *scene, viz_panel *panel, const viz_field *field,
                                kern_error *err);
/* Adds a field that is drawn as a surface in three dimensions (viz_surface.h) in place of the
 * panel's axes. Isolines added to the panel are drawn on the surface at their levels, and series
 * and marks at their heights z. KERN_INVALID_ARGUMENT also for a camera that is not finite or looks
 * from below, for a field of less than 2 × 2 values, and when the panel has a layer of pixels. */
kern_status viz_scene_add_surface(viz_scene *scene, viz_panel *panel, const viz_field *field,
                                  const viz_camera *camera, kern_error *err);
kern_status viz_scene_add_classes(viz_scene *scene, viz_panel *panel, const viz_classes *classes,
                                  kern_error *err);
kern_status viz_scene_add_isolines(viz_scene *scene, viz_panel *panel, const viz_isolines *lines,
                                   kern_error *err);

/* Sets both axis ranges of a panel to what the lattice covers when it is drawn with `filter`. */
void viz_scene_fit_lattice(viz_panel *panel, const viz_lattice *lattice, viz_filter filter);

/* Sets both axis ranges of a panel to the finite data of its series, y padded by `margin` of its
 * length, with the guard for constant data of viz_ticks_pad. A panel without finite points gets 0
 * to 1. */
void viz_scene_fit(viz_panel *panel, double margin);

/* True when the point can be placed on the panel's axes: finite, and positive where logarithmic. */
bool viz_scene_drawable(const viz_panel *panel, double x, double y);

#endif
