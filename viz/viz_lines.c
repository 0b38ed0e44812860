/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_lines.h"

#include "viz/viz_surface.h"

#include <math.h>

#define MARKER_EDGE       0.6
#define MARKER_EDGE_SHARE 0.18 /* of the size, for small markers */
/* How far lines and markers may reach over the plot's edge before they are cut. */
#define OVERHANG 4.0

void viz_lines_pen(viz_canvas *canvas, const viz_style *style)
{
    cairo_t *cr = canvas->cr;
    const double w = style->width;
    const double dashed[2] = {4.0 * w, 2.5 * w};
    const double dotted[2] = {0.0, 2.2 * w};
    viz_canvas_paint(canvas, &style->paint);
    cairo_set_line_width(cr, w);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_cap(cr, style->dash == VIZ_DASHED ? CAIRO_LINE_CAP_BUTT : CAIRO_LINE_CAP_ROUND);
    if (style->dash == VIZ_SOLID) {
        cairo_set_dash(cr, NULL, 0, 0.0);
    } else {
        cairo_set_dash(cr, style->dash == VIZ_DASHED ? dashed : dotted, 2, 0.0);
    }
}

static void trace_marker(cairo_t *cr, viz_marker marker, double size, double x, double y)
{
    const double r = 0.5 * size;
    switch (marker) {
    case VIZ_MARKER_CIRCLE:
        cairo_new_sub_path(cr);
        cairo_arc(cr, x, y, r, 0.0, 4.0 * acos(0.0));
        break;
    case VIZ_MARKER_SQUARE:
        cairo_rectangle(cr, x - r, y - r, size, size);
        break;
    case VIZ_MARKER_TRIANGLE:
        /* Equilateral, its centroid on the point. */
        cairo_move_to(cr, x, y - 1.1547 * r);
        cairo_line_to(cr, x + r, y + 0.57735 * r);
        cairo_line_to(cr, x - r, y + 0.57735 * r);
        cairo_close_path(cr);
        break;
    case VIZ_MARKER_CROSS:
        cairo_move_to(cr, x - r, y - r);
        cairo_line_to(cr, x + r, y + r);
        cairo_move_to(cr, x - r, y + r);
        cairo_line_to(cr, x + r, y - r);
        break;
    case VIZ_MARKER_NONE:
        break;
    }
}

/* One marker with an opacity. */
static void stamp(viz_canvas *canvas, const viz_style *style, double x, double y, double opacity)
{
    cairo_t *cr = canvas->cr;
    const double edge = fmin(MARKER_EDGE, MARKER_EDGE_SHARE * style->size);
    cairo_new_path(cr);
    trace_marker(cr, style->marker, style->size, x, y);
    cairo_set_dash(cr, NULL, 0, 0.0);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_MITER);
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_BUTT);
    if (style->halo > 0.0) {
        cairo_set_line_width(cr, edge + 2.0 * style->halo);
        viz_canvas_halo(canvas, &style->paint, opacity);
        cairo_stroke_preserve(cr);
    }
    cairo_set_line_width(cr, edge);
    viz_canvas_paint_clear(canvas, &style->paint, opacity);
    if (style->marker != VIZ_MARKER_CROSS) {
        if (style->open) {
            viz_canvas_theme(canvas, VIZ_PAINT_PAGE);
        }
        cairo_fill_preserve(cr);
        viz_canvas_paint_clear(canvas, &style->paint, opacity);
    }
    cairo_stroke(cr);
}

void viz_lines_marker(viz_canvas *canvas, const viz_style *style, double x, double y)
{
    stamp(canvas, style, x, y, 1.0);
}

/* Pixels far outside the page overflow cairo's fixed-point coordinates, so they are pulled in. */
static double tame(double v, double least, double most)
{
    const double far = 4.0 * VIZ_PAGE_MAX;
    return fmin(fmax(v, least - far), most + far);
}

/* Where point i of a series stands; false when it cannot be placed. */
static bool place_point(const viz_panel *panel, const viz_frame *frame, const viz_series *series,
                        size_t i, double *px, double *py)
{
    const viz_rect plot = frame->plot;
    double x;
    double y;
    if (panel->surface) {
        const double z = series->z != NULL ? series->z[i] : (double)NAN;
        if (!viz_surface_point(panel, frame, series->x[i], series->y[i], z, &x, &y)) {
            return false;
        }
    } else if (viz_scene_drawable(panel, series->x[i], series->y[i])) {
        x = viz_layout_x(frame, &panel->x, series->x[i]);
        y = viz_layout_y(frame, &panel->y, series->y[i]);
    } else {
        return false;
    }
    *px = tame(x, plot.x, plot.x + plot.w);
    *py = tame(y, plot.y, plot.y + plot.h);
    return true;
}

/* Where the piece of a line from point i − 1 to point i stands. Over a surface it ends at the
 * field's edge. */
static bool place_piece(const viz_panel *panel, const viz_frame *frame, const viz_series *series,
                        size_t i, double from[2], double to[2])
{
    if (!panel->surface || series->z == NULL) {
        return place_point(panel, frame, series, i - 1, &from[0], &from[1]) &&
               place_point(panel, frame, series, i, &to[0], &to[1]);
    }
    double p[3] = {series->x[i - 1], series->y[i - 1], series->z[i - 1]};
    double q[3] = {series->x[i], series->y[i], series->z[i]};
    return viz_surface_cut(panel, p, q) &&
           viz_surface_point(panel, frame, p[0], p[1], p[2], &from[0], &from[1]) &&
           viz_surface_point(panel, frame, q[0], q[1], q[2], &to[0], &to[1]);
}

/* Strokes the path at hand: its halo first, when it has one. */
static void stroke_path(viz_canvas *canvas, const viz_style *style, double opacity)
{
    cairo_t *cr = canvas->cr;
    viz_lines_pen(canvas, style);
    if (style->halo > 0.0) {
        cairo_set_line_width(cr, style->width + 2.0 * style->halo);
        viz_canvas_halo(canvas, &style->paint, opacity);
        cairo_stroke_preserve(cr);
        cairo_set_line_width(cr, style->width);
    }
    viz_canvas_paint_clear(canvas, &style->paint, opacity);
    cairo_stroke(cr);
}

/* A line whose pieces have opacities of their own. */
static void stroke_pieces(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                          const viz_series *series)
{
    for (size_t i = 1; i < series->n; i++) {
        double from[2];
        double to[2];
        if (place_piece(panel, frame, series, i, from, to)) {
            cairo_move_to(canvas->cr, from[0], from[1]);
            cairo_line_to(canvas->cr, to[0], to[1]);
            stroke_path(canvas, &series->style,
                        0.5 * (series->opacity[i - 1] + series->opacity[i]));
        }
    }
}

/* A line over a surface, which may leave it and come back. */
static void stroke_over(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                        const viz_series *series)
{
    double last[2] = {(double)NAN, (double)NAN};
    for (size_t i = 1; i < series->n; i++) {
        double from[2];
        double to[2];
        if (!place_piece(panel, frame, series, i, from, to)) {
            continue;
        }
        if (from[0] != last[0] || from[1] != last[1]) {
            cairo_move_to(canvas->cr, from[0], from[1]);
        }
        cairo_line_to(canvas->cr, to[0], to[1]);
        last[0] = to[0];
        last[1] = to[1];
    }
    stroke_path(canvas, &series->style, 1.0);
}

static void stroke_line(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                        const viz_series *series)
{
    cairo_t *cr = canvas->cr;
    bool joined = false;
    for (size_t i = 0; i < series->n; i++) {
        double x;
        double y;
        if (!place_point(panel, frame, series, i, &x, &y)) {
            joined = false;
            continue;
        }
        if (!joined) {
            cairo_move_to(cr, x, y);
        }
        /* With round caps a line to the same place shows a point without neighbours. */
        cairo_line_to(cr, x, y);
        joined = true;
    }
    stroke_path(canvas, &series->style, 1.0);
}

static void stamp_markers(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                          const viz_series *series)
{
    for (size_t i = 0; i < series->n; i++) {
        double x;
        double y;
        if (place_point(panel, frame, series, i, &x, &y)) {
            stamp(canvas, &series->style, x, y, series->opacity != NULL ? series->opacity[i] : 1.0);
        }
    }
}

void viz_lines_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame)
{
    cairo_t *cr = canvas->cr;
    const viz_rect plot = frame->plot;
    /* Nothing reaches over the edge of a field, where it would look like part of the axes. */
    const double over = viz_layout_boxed(panel) ? 0.0 : OVERHANG;
    cairo_save(cr);
    cairo_rectangle(cr, plot.x - over, plot.y - over, plot.w + 2.0 * over, plot.h + 2.0 * over);
    cairo_clip(cr);
    for (size_t i = 0; i < panel->n_series; i++) {
        const viz_series *series = &panel->series[i];
        if (series->style.width > 0.0 && series->opacity != NULL) {
            stroke_pieces(canvas, panel, frame, series);
        } else if (series->style.width > 0.0 && panel->surface) {
            stroke_over(canvas, panel, frame, series);
        } else if (series->style.width > 0.0) {
            stroke_line(canvas, panel, frame, series);
        }
    }
    for (size_t i = 0; i < panel->n_series; i++) {
        if (panel->series[i].style.marker != VIZ_MARKER_NONE) {
            stamp_markers(canvas, panel, frame, &panel->series[i]);
        }
    }
    cairo_restore(cr);
}
