/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_levels.h"

#include "viz/viz_ticks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_WIDTH 0.6
#define FAINT_ALPHA   0.5
#define FAINT_WIDTH   0.4
#define HALO_EXTRA    0.9  /* of the dark line's width over the white one's */
#define TEXT_AIR      1.5  /* between the text and the ends of the line */
#define STRAIGHT      0.97 /* least chord over length under a text */
#define EDGE_AIR      3.0  /* between a text and the edge of the plot */
#define SERIES_AIR    3.0  /* between a text and a series, half a marker included */
#define SERIES_STEP   0.5  /* vertices of a series nearer than this are taken as one */
#define DASH          4.0
#define DASH_GAP      2.5

/* A level to be written: where, and the half sides of its gap before turning. */
typedef struct level_text {
    double x, y, angle;
    double half_w, half_h;
    viz_rect box;
    double level;
    char text[VIZ_TICKS_TEXT];
} level_text;

/* A piece of a series' line in page coordinates. Markers without a line are not in the way, so that
 * one may move over the map without moving its texts. */
typedef struct piece {
    double x0, y0, x1, y1;
} piece;

/* One set of isolines in page coordinates. */
typedef struct drawing {
    viz_canvas *canvas;
    const viz_isolines *lines;
    viz_rect plot;
    double *x, *y;    /* vertices; NaN where the axes have no place */
    double *length;   /* of every line */
    size_t *order;    /* lines, longest first */
    level_text *text; /* VIZ_LEVELS_MAX entries */
    size_t n_text;
    piece *pieces; /* of all series of the panel */
    size_t n_pieces;
} drawing;

/* ---- Series in the way --------------------------------------------------------------------- */

static size_t count_points(const viz_panel *panel)
{
    size_t n = 0;
    for (size_t i = 0; i < panel->n_series; i++) {
        n += panel->series[i].n;
    }
    return n;
}

static void gather_series(drawing *d, const viz_panel *panel, const viz_frame *frame,
                          const viz_series *series)
{
    bool joined = false;
    double x0 = 0.0;
    double y0 = 0.0;
    for (size_t i = 0; i < series->n && series->style.width > 0.0; i++) {
        if (!viz_scene_drawable(panel, series->x[i], series->y[i])) {
            joined = false;
            continue;
        }
        const double x = viz_layout_x(frame, &panel->x, series->x[i]);
        const double y = viz_layout_y(frame, &panel->y, series->y[i]);
        if (joined && hypot(x - x0, y - y0) < SERIES_STEP) {
            continue;
        }
        d->pieces[d->n_pieces++] = (piece){joined ? x0 : x, joined ? y0 : y, x, y};
        joined = true;
        x0 = x;
        y0 = y;
    }
}

/* Whether the piece passes through the box: what is left of it after cutting at the four sides
 * (Liang and Barsky 1984). */
static bool crosses(const piece *p, viz_rect box)
{
    const double from[4] = {p->x0 - box.x, box.x + box.w - p->x0, p->y0 - box.y,
                            box.y + box.h - p->y0};
    const double step[4] = {p->x0 - p->x1, p->x1 - p->x0, p->y0 - p->y1, p->y1 - p->y0};
    double begin = 0.0;
    double end = 1.0;
    for (size_t i = 0; i < 4; i++) {
        if (step[i] < 0.0) {
            begin = fmax(begin, from[i] / step[i]);
        } else if (step[i] > 0.0) {
            end = fmin(end, from[i] / step[i]);
        } else if (from[i] < 0.0) {
            return false;
        }
    }
    return begin <= end;
}

static bool is_clear(const drawing *d, viz_rect box)
{
    const viz_rect wide = {box.x - SERIES_AIR, box.y - SERIES_AIR, box.w + 2.0 * SERIES_AIR,
                           box.h + 2.0 * SERIES_AIR};
    for (size_t i = 0; i < d->n_pieces; i++) {
        if (crosses(&d->pieces[i], wide)) {
            return false;
        }
    }
    return true;
}

/* ---- Places of texts ----------------------------------------------------------------------- */

static void measure_lines(drawing *d)
{
    for (size_t k = 0; k < d->lines->n_lines; k++) {
        d->length[k] = 0.0;
        for (size_t i = d->lines->first[k] + 1; i < d->lines->first[k + 1]; i++) {
            const double step = hypot(d->x[i] - d->x[i - 1], d->y[i] - d->y[i - 1]);
            d->length[k] += step > 0.0 ? step : 0.0;
        }
    }
}

/* Insertion by length would be quadratic; lines are few thousand at most, so a heap is not worth
 * it either: qsort on pairs. */
typedef struct ranked {
    double length;
    size_t line;
} ranked;

static int longer_first(const void *a, const void *b)
{
    const ranked *p = a;
    const ranked *q = b;
    if (p->length != q->length) {
        return p->length > q->length ? -1 : 1;
    }
    return (p->line > q->line) - (p->line < q->line);
}

static kern_status rank_lines(drawing *d, kern_error *err)
{
    const size_t n = d->lines->n_lines;
    ranked *list = calloc(n, sizeof *list);
    if (list == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for %zu isolines was refused", n);
    }
    for (size_t k = 0; k < n; k++) {
        list[k] = (ranked){d->length[k], k};
    }
    qsort(list, n, sizeof *list, longer_first);
    for (size_t k = 0; k < n; k++) {
        d->order[k] = list[k].line;
    }
    free(list);
    return KERN_OK;
}

/* Point of line k at arc length s. */
static void point_at(const drawing *d, size_t k, double s, double *x, double *y)
{
    const size_t end = d->lines->first[k + 1];
    for (size_t i = d->lines->first[k] + 1; i < end; i++) {
        const double step = hypot(d->x[i] - d->x[i - 1], d->y[i] - d->y[i - 1]);
        if (s <= step && step > 0.0) {
            *x = d->x[i - 1] + s / step * (d->x[i] - d->x[i - 1]);
            *y = d->y[i - 1] + s / step * (d->y[i] - d->y[i - 1]);
            return;
        }
        s -= step > 0.0 ? step : 0.0;
    }
    *x = d->x[end - 1];
    *y = d->y[end - 1];
}

static bool inside(viz_rect box, viz_rect plot)
{
    return box.x >= plot.x + EDGE_AIR && box.y >= plot.y + EDGE_AIR &&
           box.x + box.w <= plot.x + plot.w - EDGE_AIR &&
           box.y + box.h <= plot.y + plot.h - EDGE_AIR;
}

static bool apart(viz_rect a, viz_rect b)
{
    return a.x + a.w < b.x || b.x + b.w < a.x || a.y + a.h < b.y || b.y + b.h < a.y;
}

/* Tries to write `t` with its middle at arc length s of line k. */
static bool fits(const drawing *d, size_t k, double s, level_text *t)
{
    double x0;
    double y0;
    double x1;
    double y1;
    if (s < t->half_w || s + t->half_w > d->length[k]) {
        return false;
    }
    point_at(d, k, s - t->half_w, &x0, &y0);
    point_at(d, k, s + t->half_w, &x1, &y1);
    if (!(hypot(x1 - x0, y1 - y0) >= STRAIGHT * 2.0 * t->half_w)) {
        return false;
    }
    t->x = 0.5 * (x0 + x1);
    t->y = 0.5 * (y0 + y1);
    /* y grows downwards; the text reads from left to right. */
    t->angle = x1 >= x0 ? atan2(y0 - y1, x1 - x0) : atan2(y1 - y0, x0 - x1);
    const double c = fabs(cos(t->angle));
    const double sn = fabs(sin(t->angle));
    t->box = (viz_rect){.w = 2.0 * (c * t->half_w + sn * t->half_h),
                        .h = 2.0 * (sn * t->half_w + c * t->half_h)};
    t->box.x = t->x - 0.5 * t->box.w;
    t->box.y = t->y - 0.5 * t->box.h;
    bool good = inside(t->box, d->plot);
    for (size_t i = 0; i < d->n_text && good; i++) {
        good = apart(t->box, d->text[i].box);
    }
    return good && is_clear(d, t->box);
}

static void place_text(drawing *d, size_t k)
{
    /* The middle first, then outwards. */
    static const double share[] = {0.5, 0.35, 0.65, 0.2, 0.8, 0.43, 0.57, 0.27, 0.73, 0.12, 0.88};
    const double level = d->lines->level[k];
    size_t same = 0;
    for (size_t i = 0; i < d->n_text; i++) {
        same += d->text[i].level == level ? 1 : 0;
    }
    if (same >= VIZ_LEVELS_EACH || d->n_text == VIZ_LEVELS_MAX) {
        return;
    }
    level_text *t = &d->text[d->n_text];
    double w;
    double h;
    t->level = level;
    viz_ticks_number(t->text, level, d->lines->level, d->lines->n_lines);
    viz_canvas_measure(d->canvas, VIZ_ROLE_LEVEL, t->text, 0.0, &w, &h);
    t->half_w = 0.5 * w + TEXT_AIR;
    t->half_h = 0.5 * h;
    /* A line shorter than three texts would be hidden by its own level. */
    if (d->length[k] < 6.0 * t->half_w) {
        return;
    }
    for (size_t i = 0; i < sizeof share / sizeof share[0]; i++) {
        if (fits(d, k, share[i] * d->length[k], t)) {
            d->n_text++;
            return;
        }
    }
}

/* Clips to the plot without the places of the texts. */
static void clip_gaps(const drawing *d)
{
    cairo_t *cr = d->canvas->cr;
    cairo_rectangle(cr, d->plot.x, d->plot.y, d->plot.w, d->plot.h);
    for (size_t i = 0; i < d->n_text; i++) {
        const level_text *t = &d->text[i];
        const double c = cos(t->angle);
        const double s = sin(t->angle);
        const double ux = c * t->half_w;
        const double uy = -s * t->half_w;
        const double vx = s * t->half_h;
        const double vy = c * t->half_h;
        cairo_move_to(cr, t->x - ux - vx, t->y - uy - vy);
        cairo_line_to(cr, t->x + ux - vx, t->y + uy - vy);
        cairo_line_to(cr, t->x + ux + vx, t->y + uy + vy);
        cairo_line_to(cr, t->x - ux + vx, t->y - uy + vy);
        cairo_close_path(cr);
    }
    cairo_set_fill_rule(cr, CAIRO_FILL_RULE_EVEN_ODD);
    cairo_clip(cr);
    cairo_set_fill_rule(cr, CAIRO_FILL_RULE_WINDING);
}

static void trace_lines(const drawing *d)
{
    cairo_t *cr = d->canvas->cr;
    for (size_t k = 0; k < d->lines->n_lines; k++) {
        const size_t from = d->lines->first[k];
        const size_t end = d->lines->first[k + 1];
        bool joined = false;
        for (size_t i = from; i < end; i++) {
            if (isnan(d->x[i]) || isnan(d->y[i])) {
                joined = false;
            } else if (joined) {
                cairo_line_to(cr, d->x[i], d->y[i]);
            } else {
                cairo_move_to(cr, d->x[i], d->y[i]);
                joined = true;
            }
        }
        const bool closed =
            end > from + 2 && d->x[from] == d->x[end - 1] && d->y[from] == d->y[end - 1];
        if (closed) {
            cairo_close_path(cr);
        }
    }
}

static void stroke_all(const drawing *d)
{
    cairo_t *cr = d->canvas->cr;
    const bool faint = d->lines->faint;
    const double alpha = faint ? FAINT_ALPHA : 1.0;
    const double width = d->lines->width > 0.0 ? d->lines->width
                         : faint               ? FAINT_WIDTH
                                               : DEFAULT_WIDTH;
    cairo_save(cr);
    clip_gaps(d);
    const double dashes[2] = {DASH, DASH_GAP};
    cairo_set_dash(cr, dashes, d->lines->dashed ? 2 : 0, 0.0);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_BUTT);
    trace_lines(d);
    cairo_set_line_width(cr, width + HALO_EXTRA);
    cairo_set_source_rgba(cr, VIZ_HALO_GREY, VIZ_HALO_GREY, VIZ_HALO_GREY, alpha);
    cairo_stroke_preserve(cr);
    cairo_set_line_width(cr, width);
    cairo_set_source_rgba(cr, 1.0, 1.0, 1.0, alpha);
    cairo_stroke(cr);
    cairo_restore(cr);
    for (size_t i = 0; i < d->n_text; i++) {
        const viz_place place = {
            .x = d->text[i].x, .y = d->text[i].y, .ax = 0.5, .ay = 0.5, .angle = d->text[i].angle};
        viz_canvas_text(d->canvas, VIZ_ROLE_LEVEL, d->text[i].text, &place);
    }
}

static kern_status draw_set(drawing *d, const viz_panel *panel, const viz_frame *frame,
                            kern_error *err)
{
    const size_t n = d->lines->first[d->lines->n_lines];
    for (size_t i = 0; i < n; i++) {
        const bool ok = viz_scene_drawable(panel, d->lines->x[i], d->lines->y[i]);
        d->x[i] = ok ? viz_layout_x(frame, &panel->x, d->lines->x[i]) : (double)NAN;
        d->y[i] = ok ? viz_layout_y(frame, &panel->y, d->lines->y[i]) : (double)NAN;
    }
    measure_lines(d);
    if (d->lines->labelled) {
        KERN_TRY(rank_lines(d, err));
        for (size_t i = 0; i < panel->n_series; i++) {
            gather_series(d, panel, frame, &panel->series[i]);
        }
        for (size_t k = 0; k < d->lines->n_lines; k++) {
            place_text(d, d->order[k]);
        }
    }
    stroke_all(d);
    return KERN_OK;
}

kern_status viz_levels_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                            kern_error *err)
{
    for (size_t s = 0; s < panel->n_isolines; s++) {
        const viz_isolines *lines = &panel->isolines[s];
        if (lines->n_lines == 0) {
            continue;
        }
        const size_t n = lines->first[lines->n_lines];
        drawing d = {.canvas = canvas, .lines = lines, .plot = frame->plot};
        d.x = calloc(2 * n + lines->n_lines + 1, sizeof *d.x);
        d.order = calloc(lines->n_lines, sizeof *d.order);
        d.text = calloc(VIZ_LEVELS_MAX, sizeof *d.text);
        d.pieces = calloc(count_points(panel) + 1, sizeof *d.pieces);
        kern_status status = KERN_OK;
        if (d.x == NULL || d.order == NULL || d.text == NULL || d.pieces == NULL) {
            status = kern_raise(err, KERN_NO_MEMORY, "memory for %zu isolines was refused",
                                lines->n_lines);
        } else {
            d.y = d.x + n;
            d.length = d.y + n;
            status = draw_set(&d, panel, frame, err);
        }
        free(d.x);
        free(d.order);
        free(d.text);
        free(d.pieces);
        KERN_TRY(status);
    }
    return KERN_OK;
}
