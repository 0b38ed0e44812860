/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Canvas: a cairo context with the scene's theme and fonts, and text placed by anchor.
 *
 * Hinting is off and glyph positions are not rounded, so text has the same extent on screen and
 * in every file format. Each text drawn can be logged with its box, which is how tests find
 * overlaps and clipped labels without reading pixels.
 */
#ifndef BASIN_VIZ_CANVAS_H
#define BASIN_VIZ_CANVAS_H

#include "kernels/kern_status.h"
#include "viz/viz_scene.h"

#include <cairo.h>
#include <pango/pangocairo.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct viz_rect {
    double x, y, w, h; /* left, top, width, height; y grows downwards */
} viz_rect;

/* What a text is for; fixes its size, weight and colour. */
typedef enum viz_role {
    VIZ_ROLE_TITLE,
    VIZ_ROLE_PANEL_TITLE,
    VIZ_ROLE_AXIS,
    VIZ_ROLE_TICK,
    VIZ_ROLE_END_LABEL,
    VIZ_ROLE_LEGEND,
    VIZ_ROLE_SPAN,
    VIZ_ROLE_NOTE,
    VIZ_ROLE_MARK,  /* beside a point of the plot */
    VIZ_ROLE_LEVEL, /* on an isoline: white over a dark edge */
    VIZ_ROLE_COUNT
} viz_role;

/* Grey of the dark edge around what is drawn over a field. */
#define VIZ_HALO_GREY 0.12

enum { VIZ_LOG_TEXT = 256 };

typedef struct viz_placed {
    viz_role role;
    viz_rect box; /* on the page, in points */
    char text[VIZ_LOG_TEXT];
} viz_placed;

/* Caller's list of placed texts; texts beyond `capacity` are counted but not kept. */
typedef struct viz_log {
    viz_placed *items;
    size_t capacity;
    size_t count;
} viz_log;

typedef struct viz_canvas {
    cairo_t *cr;
    const viz_scene *scene;
    viz_log *log; /* or NULL */
    PangoLayout *layout;
} viz_canvas;

/* Prepares a canvas on `cr`, which must outlive it; `log` may be NULL. */
kern_status viz_canvas_init(viz_canvas *canvas, cairo_t *cr, const viz_scene *scene, viz_log *log,
                            kern_error *err);
void viz_canvas_fini(viz_canvas *canvas);

/* Turns hinting off in a layout, which would make widths depend on the surface and its resolution.
 */
void viz_canvas_plain_fonts(PangoLayout *layout);

/* Sets the source colour to a paint, one with an opacity in [0, 1], or a theme colour. */
void viz_canvas_paint(viz_canvas *canvas, const viz_paint *paint);
void viz_canvas_paint_clear(viz_canvas *canvas, const viz_paint *paint, double opacity);
void viz_canvas_theme(viz_canvas *canvas, viz_paint_kind kind);

/* Sets the source to a grey that contrasts with the paint: dark around bright, white around dark.
 */
void viz_canvas_halo(viz_canvas *canvas, const viz_paint *paint, double opacity);

/* Width and height of a text; lines are broken at `wrap` points when it is positive, between words.
 */
void viz_canvas_measure(viz_canvas *canvas, viz_role role, const char *markup, double wrap,
                        double *width, double *height);

/* The same of a text broken at `wrap` > 0 into at most `lines` > 0 lines, of which the last ends in
 * an ellipsis where that is not all; *cut says so. Words longer than a line are broken too, and
 * lines of axis labels are centred. */
void viz_canvas_measure_lines(viz_canvas *canvas, viz_role role, const char *markup, double wrap,
                              size_t lines, double *width, double *height, bool *cut);

/* Where a text goes: the point (x, y) lies at fraction (ax, ay) of its box, so (0, 0) is the top
 * left corner and (1, 0.5) the middle of the right side. A `turned` text reads upwards, and the
 * fractions refer to its turned box. */
typedef struct viz_place {
    double x, y, ax, ay;
    double wrap;  /* as in viz_canvas_measure */
    size_t lines; /* with a wrap: as in viz_canvas_measure_lines; 0: any number */
    bool turned;  /* reads upwards */
    double angle; /* with ax = ay = 1/2 and not turned: counterclockwise turn, in radians */
} viz_place;

void viz_canvas_text(viz_canvas *canvas, viz_role role, const char *markup, const viz_place *place);

#endif
