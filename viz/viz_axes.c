/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_axes.h"

#include <math.h>

#define SPINE_WIDTH 0.7
#define TICK_WIDTH  0.6
#define GRID_WIDTH  0.5

enum { BAR_STOPS = 64 };

bool viz_axes_span(const viz_panel *panel, const viz_frame *frame, const viz_span *span,
                   double *left, double *right)
{
    const double from = fmax(span->from, panel->x.lo);
    const double to = fmin(span->to, panel->x.hi);
    if (!(from < to)) {
        return false;
    }
    *left = viz_layout_x(frame, &panel->x, from);
    *right = viz_layout_x(frame, &panel->x, to);
    return true;
}

void viz_axes_ground(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame)
{
    cairo_t *cr = canvas->cr;
    const viz_rect plot = frame->plot;
    viz_canvas_theme(canvas, VIZ_PAINT_SHADE);
    for (size_t i = 0; i < panel->n_spans; i++) {
        double left;
        double right;
        if (viz_axes_span(panel, frame, &panel->spans[i], &left, &right)) {
            cairo_rectangle(cr, left, plot.y, right - left, plot.h);
            cairo_fill(cr);
        }
    }
    viz_canvas_theme(canvas, VIZ_PAINT_GRID);
    cairo_set_line_width(cr, GRID_WIDTH);
    for (size_t i = 0; i < frame->y.n_major; i++) {
        const double y = viz_layout_y(frame, &panel->y, frame->y.major[i]);
        cairo_move_to(cr, plot.x, y);
        cairo_line_to(cr, plot.x + plot.w, y);
    }
    cairo_stroke(cr);
}

static void tick_at(cairo_t *cr, double x, double y, double dx, double dy)
{
    cairo_move_to(cr, x, y);
    cairo_rel_line_to(cr, dx, dy);
}

static void draw_x_axis(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame)
{
    cairo_t *cr = canvas->cr;
    const viz_rect plot = frame->plot;
    const double base = plot.y + plot.h;
    for (size_t i = 0; i < frame->x.n_minor; i++) {
        tick_at(cr, viz_layout_x(frame, &panel->x, frame->x.minor[i]), base, 0.0, VIZ_TICK_MINOR);
    }
    for (size_t i = 0; i < frame->x.n_major; i++) {
        tick_at(cr, viz_layout_x(frame, &panel->x, frame->x.major[i]), base, 0.0, VIZ_TICK_MAJOR);
    }
    cairo_stroke(cr);
    for (size_t i = 0; i < frame->x.n_major && !panel->x.quiet; i++) {
        const viz_place place = {.x = viz_layout_x(frame, &panel->x, frame->x.major[i]),
                                 .y = base + VIZ_TICK_MAJOR + VIZ_TICK_GAP,
                                 .ax = 0.5};
        if (frame->x.label[i][0] != '\0') {
            viz_canvas_text(canvas, VIZ_ROLE_TICK, frame->x.label[i], &place);
        }
    }
    if (panel->x.label != NULL) {
        double w;
        double h;
        viz_canvas_measure(canvas, VIZ_ROLE_TICK, frame->x.label[frame->x.n_major / 2], 0.0, &w,
                           &h);
        h = panel->x.quiet ? 0.0 : h;
        const viz_place place = {.x = plot.x + 0.5 * plot.w,
                                 .y = base + VIZ_TICK_MAJOR + VIZ_TICK_GAP + h + VIZ_AXIS_GAP,
                                 .ax = 0.5,
                                 .wrap = frame->x_label.wrap,
                                 .lines = frame->x_label.lines};
        viz_canvas_text(canvas, VIZ_ROLE_AXIS, panel->x.label, &place);
    }
}

/* Draws the labels of a vertical axis at the given side (−1 left, +1 right) and the axis label
 * beyond the widest of them. */
static void label_vertical(viz_canvas *canvas, const viz_ticks *ticks, const double *positions,
                           double edge, double side, const char *label, const viz_fit *fit,
                           double middle)
{
    const double away = VIZ_TICK_MAJOR + VIZ_TICK_GAP;
    double widest = 0.0;
    for (size_t i = 0; i < ticks->n_major; i++) {
        double w;
        double h;
        viz_canvas_measure(canvas, VIZ_ROLE_TICK, ticks->label[i], 0.0, &w, &h);
        widest = fmax(widest, w);
    }
    for (size_t i = 0; i < ticks->n_major; i++) {
        /* Right-aligned towards the axis on the left side and to the widest label on the right,
         * so that the digits line up. */
        const viz_place place = {.x = edge + side * away + (side > 0.0 ? widest : 0.0),
                                 .y = positions[i],
                                 .ax = 1.0,
                                 .ay = 0.5};
        viz_canvas_text(canvas, VIZ_ROLE_TICK, ticks->label[i], &place);
    }
    if (label != NULL) {
        const viz_place place = {.x = edge + side * (away + widest + VIZ_AXIS_GAP),
                                 .y = middle,
                                 .ax = side > 0.0 ? 0.0 : 1.0,
                                 .ay = 0.5,
                                 .wrap = fit->wrap,
                                 .lines = fit->lines,
                                 .turned = true};
        viz_canvas_text(canvas, VIZ_ROLE_AXIS, label, &place);
    }
}

static void draw_y_axis(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame)
{
    cairo_t *cr = canvas->cr;
    const viz_rect plot = frame->plot;
    double positions[VIZ_TICKS_MAJOR_MAX];
    for (size_t i = 0; i < frame->y.n_minor; i++) {
        tick_at(cr, plot.x, viz_layout_y(frame, &panel->y, frame->y.minor[i]), -VIZ_TICK_MINOR,
                0.0);
    }
    for (size_t i = 0; i < frame->y.n_major; i++) {
        positions[i] = viz_layout_y(frame, &panel->y, frame->y.major[i]);
        tick_at(cr, plot.x, positions[i], -VIZ_TICK_MAJOR, 0.0);
    }
    cairo_stroke(cr);
    const viz_ticks none = {.n_major = 0};
    label_vertical(canvas, panel->y.quiet ? &none : &frame->y, positions, plot.x, -1.0,
                   panel->y.label, &frame->y_label, plot.y + 0.5 * plot.h);
}

void viz_axes_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame)
{
    cairo_t *cr = canvas->cr;
    const viz_rect plot = frame->plot;
    viz_canvas_theme(canvas, VIZ_PAINT_INK);
    cairo_set_line_width(cr, SPINE_WIDTH);
    cairo_move_to(cr, plot.x, plot.y);
    cairo_line_to(cr, plot.x, plot.y + plot.h);
    cairo_line_to(cr, plot.x + plot.w, plot.y + plot.h);
    if (viz_layout_boxed(panel)) {
        cairo_line_to(cr, plot.x + plot.w, plot.y);
        cairo_close_path(cr);
    }
    cairo_stroke(cr);
    cairo_set_line_width(cr, TICK_WIDTH);
    draw_x_axis(canvas, panel, frame);
    viz_canvas_theme(canvas, VIZ_PAINT_INK);
    draw_y_axis(canvas, panel, frame);
}

void viz_axes_bar(viz_canvas *canvas, const viz_layout *layout)
{
    const viz_bar *bar = &canvas->scene->bar;
    const viz_rect box = layout->bar;
    cairo_t *cr = canvas->cr;
    if (!bar->shown) {
        return;
    }
    /* A gradient has no seams between its colours, unlike a stack of rectangles. */
    cairo_pattern_t *gradient = cairo_pattern_create_linear(0.0, box.y + box.h, 0.0, box.y);
    for (int i = 0; i < BAR_STOPS; i++) {
        const double t = (double)i / (double)(BAR_STOPS - 1);
        const viz_rgb c = bar->whole ? viz_colour_map_at(bar->scale.map, t)
                                     : viz_colour_line_at(bar->scale.map, canvas->scene->theme, t);
        cairo_pattern_add_color_stop_rgb(gradient, t, c.r, c.g, c.b);
    }
    cairo_rectangle(cr, box.x, box.y, box.w, box.h);
    cairo_set_source(cr, gradient);
    cairo_fill(cr);
    cairo_pattern_destroy(gradient);
    double positions[VIZ_TICKS_MAJOR_MAX];
    viz_canvas_theme(canvas, VIZ_PAINT_INK);
    cairo_set_line_width(cr, TICK_WIDTH);
    for (size_t i = 0; i < layout->bar_ticks.n_major; i++) {
        const double f = viz_scale_place(&bar->scale, layout->bar_ticks.major[i]);
        positions[i] = box.y + (1.0 - f) * box.h;
        tick_at(cr, box.x + box.w, positions[i], VIZ_TICK_MAJOR, 0.0);
    }
    cairo_stroke(cr);
    label_vertical(canvas, &layout->bar_ticks, positions, box.x + box.w, 1.0, bar->label,
                   &layout->bar_label, box.y + 0.5 * box.h);
}
