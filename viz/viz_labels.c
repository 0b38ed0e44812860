/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_labels.h"

#include "kernels/kern_size.h"
#include "viz/viz_axes.h"
#include "viz/viz_lines.h"
#include "viz/viz_raster.h"

#include <math.h>
#include <stdlib.h>

#define LEADER_WIDTH 0.5
#define LEADER_FLAT  3.0 /* horizontal parts of a leader at both ends */

typedef struct end_label {
    double x, y; /* last drawable point of the line */
    size_t series;
} end_label;

static int compare_ends(const void *a, const void *b)
{
    const end_label *p = a;
    const end_label *q = b;
    if (p->y != q->y) {
        return p->y < q->y ? -1 : 1;
    }
    return p->series < q->series ? -1 : (p->series > q->series ? 1 : 0);
}

/* Finds the last drawable point of a series; false when there is none. */
static bool last_point(const viz_panel *panel, const viz_frame *frame, size_t index, end_label *end)
{
    const viz_series *series = &panel->series[index];
    const viz_rect plot = frame->plot;
    for (size_t i = series->n; i-- > 0;) {
        if (viz_scene_drawable(panel, series->x[i], series->y[i])) {
            const double x = viz_layout_x(frame, &panel->x, series->x[i]);
            const double y = viz_layout_y(frame, &panel->y, series->y[i]);
            end->x = fmin(fmax(x, plot.x), plot.x + plot.w);
            end->y = fmin(fmax(y, plot.y), plot.y + plot.h);
            end->series = index;
            return true;
        }
    }
    return false;
}

/* Collects every `stride`-th label whose line has a point. */
static size_t collect_ends(const viz_panel *panel, const viz_frame *frame, size_t stride,
                           end_label *ends)
{
    size_t n = 0;
    size_t seen = 0;
    for (size_t i = 0; i < panel->n_series; i++) {
        if (panel->series[i].end_label == NULL) {
            continue;
        }
        if (seen++ % stride == 0 && last_point(panel, frame, i, &ends[n])) {
            n++;
        }
    }
    return n;
}

static void draw_end(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                     const end_label *end, double y)
{
    cairo_t *cr = canvas->cr;
    const viz_series *series = &panel->series[end->series];
    const double edge = frame->plot.x + frame->plot.w;
    viz_style pen = series->style;
    pen.width = LEADER_WIDTH;
    pen.dash = VIZ_SOLID;
    if (end->x < edge - 0.5) {
        /* The line ends early: a dotted stretch leads to the edge without looking like data. */
        pen.dash = VIZ_DOTTED;
        viz_lines_pen(canvas, &pen);
        cairo_move_to(cr, end->x, end->y);
        cairo_line_to(cr, edge, end->y);
        cairo_stroke(cr);
        pen.dash = VIZ_SOLID;
    }
    viz_lines_pen(canvas, &pen);
    cairo_move_to(cr, edge + 1.0, end->y);
    cairo_line_to(cr, edge + LEADER_FLAT, end->y);
    cairo_line_to(cr, edge + VIZ_LEADER - LEADER_FLAT - 1.5, y);
    cairo_line_to(cr, edge + VIZ_LEADER - 1.5, y);
    cairo_stroke(cr);
    const viz_place place = {.x = edge + VIZ_LEADER, .y = y, .ay = 0.5};
    viz_canvas_text(canvas, VIZ_ROLE_END_LABEL, series->end_label, &place);
}

kern_status viz_labels_ends(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                            kern_error *err)
{
    const size_t wanted = viz_layout_labels(panel);
    if (wanted == 0) {
        return KERN_OK;
    }
    const size_t room = viz_layout_room(frame);
    const size_t stride = (wanted + room - 1) / room;
    end_label *ends = calloc(wanted, sizeof *ends);
    double *numbers = calloc(wanted, 3 * sizeof *numbers);
    if (ends == NULL || numbers == NULL) {
        free(ends);
        free(numbers);
        return kern_raise(err, KERN_NO_MEMORY, "memory for %zu labels was refused", wanted);
    }
    const size_t n = collect_ends(panel, frame, stride, ends);
    qsort(ends, n, sizeof *ends, compare_ends);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = ends[i].y;
    }
    /* Half a label may stand over each end of the plot. */
    const double over = 0.5 * frame->label_height;
    viz_layout_spread(numbers, n, frame->label_height, frame->plot.y - over,
                      frame->plot.y + frame->plot.h + over, numbers + wanted);
    for (size_t i = 0; i < n; i++) {
        draw_end(canvas, panel, frame, &ends[i], numbers[i]);
    }
    free(ends);
    free(numbers);
    return KERN_OK;
}

static kern_status draw_key(viz_canvas *canvas, const viz_entry *entry, double x, double y,
                            kern_error *err)
{
    const double length = VIZ_LEGEND_KEY - 4.0;
    if (entry->class != NULL) {
        const viz_rect box = {x, y - 3.0, length, 6.0};
        return viz_raster_swatch(canvas, entry->class, box, err);
    }
    if (entry->style->width > 0.0) {
        viz_lines_pen(canvas, entry->style);
        cairo_move_to(canvas->cr, x, y);
        cairo_line_to(canvas->cr, x + length, y);
        cairo_stroke(canvas->cr);
    }
    if (entry->style->marker != VIZ_MARKER_NONE) {
        viz_lines_marker(canvas, entry->style, x + 0.5 * length, y);
    }
    return KERN_OK;
}

static kern_status draw_legend(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                               double top, kern_error *err)
{
    double x = 0.0;
    double y = top;
    size_t cursor = 0;
    viz_entry entry;
    for (bool first = true; viz_layout_entry(panel, &cursor, &entry); first = false) {
        double w;
        double h;
        viz_canvas_measure(canvas, VIZ_ROLE_LEGEND, entry.legend, 0.0, &w, &h);
        const double most = frame->legend_width - VIZ_LEGEND_KEY;
        const bool cut = w > most;
        w = fmin(w, most);
        if (!first && x + w + VIZ_LEGEND_KEY > frame->legend_width) {
            x = 0.0;
            y += frame->line_height;
        }
        const double middle = y + 0.5 * frame->line_height;
        KERN_TRY(draw_key(canvas, &entry, frame->plot.x + x, middle, err));
        const viz_place place = {.x = frame->plot.x + x + VIZ_LEGEND_KEY,
                                 .y = middle,
                                 .ay = 0.5,
                                 .wrap = cut ? most : 0.0,
                                 .lines = cut ? 1 : 0};
        viz_canvas_text(canvas, VIZ_ROLE_LEGEND, entry.legend, &place);
        x += w + VIZ_LEGEND_KEY + VIZ_LEGEND_GAP;
    }
    return KERN_OK;
}

/* Labels of shaded ranges stand above the plot from left to right; one that no longer fits beside
 * the label before it is left out rather than drawn over it. */
static void draw_span_labels(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                             double bottom)
{
    double free_from = frame->plot.x;
    const double edge = canvas->scene->width - VIZ_PAGE_PAD;
    for (size_t i = 0; i < panel->n_spans; i++) {
        const viz_span *span = &panel->spans[i];
        double left;
        double right;
        if (span->label == NULL || !viz_axes_span(panel, frame, span, &left, &right)) {
            continue;
        }
        double w;
        double h;
        viz_canvas_measure(canvas, VIZ_ROLE_SPAN, span->label, 0.0, &w, &h);
        const double x = w <= right - left ? left : fmin(left, edge - w);
        if (x >= free_from) {
            const viz_place place = {.x = x, .y = bottom, .ay = 1.0};
            viz_canvas_text(canvas, VIZ_ROLE_SPAN, span->label, &place);
            free_from = x + w + 3.0;
        }
    }
}

kern_status viz_labels_header(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                              kern_error *err)
{
    const double bottom = frame->plot.y - 2.5;
    const double legend = bottom - frame->span_height - frame->legend_height;
    if (panel->title != NULL) {
        const viz_place place = {.x = frame->plot.x,
                                 .y = legend,
                                 .ay = 1.0,
                                 .wrap = frame->title.wrap,
                                 .lines = frame->title.lines};
        viz_canvas_text(canvas, VIZ_ROLE_PANEL_TITLE, panel->title, &place);
    }
    draw_span_labels(canvas, panel, frame, bottom);
    return draw_legend(canvas, panel, frame, legend, err);
}
