/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_surface.h"

#include "viz/viz_layout_fit.h"
#include "viz/viz_surface_internal.h"

#include <math.h>
#include <string.h>

/* Room for tick labels beside the floor's corners, within the plot. */
#define SIDE_AIR  16.0
#define FLOOR_AIR 3.0

#define TEXT_AIR 2.0 /* between a label and other texts */

/* An axis label may lie farther out than its ticks need, and is looked for in steps. */
#define LABEL_REACH 60.0
#define LABEL_STEP  2.0

/* A point this share of a side beyond it is on it: far above the rounding of a range. */
#define ON_SIDE 1e-9

#define FLOOR (-1.0 / 6.0) /* height of the scale's low end, from the middle */

viz_view viz_view_of(const viz_field *field, const viz_camera *camera, viz_rect rect)
{
    const viz_lattice *l = &field->lattice;
    const double dx = l->x1 - l->x0;
    const double dy = l->y1 - l->y0;
    viz_view v = {.field = field,
                  .side = fmax(dx, dy),
                  .middle = {l->x0 + 0.5 * dx, l->y0 + 0.5 * dy},
                  .half = {0.5 * dx / fmax(dx, dy), 0.5 * dy / fmax(dx, dy)},
                  .cos_a = cos(camera->azimuth),
                  .sin_a = sin(camera->azimuth),
                  .cos_e = cos(camera->elevation),
                  .sin_e = sin(camera->elevation),
                  .page = {rect.x + 0.5 * rect.w, rect.y + 0.5 * rect.h}};
    const double reach = hypot(v.half[0], v.half[1]);
    v.unit = fmin(rect.w / (2.0 * reach), rect.h / (2.0 * (reach * v.sin_e - FLOOR * v.cos_e)));
    return v;
}

double viz_view_height(const viz_view *v, double value)
{
    const double place = viz_scale_place(&v->field->scale, value);
    return isnan(place) ? (double)NAN : FLOOR - 2.0 * FLOOR * fmin(fmax(place, 0.0), 1.0);
}

void viz_view_project(const viz_view *v, const double p[3], double page[2], double *depth)
{
    const double right = p[0] * v->cos_a + p[1] * v->sin_a;
    const double back = p[1] * v->cos_a - p[0] * v->sin_a;
    page[0] = v->page[0] + v->unit * right;
    page[1] = v->page[1] - v->unit * (back * v->sin_e + p[2] * v->cos_e);
    if (depth != NULL) {
        *depth = back * v->cos_e - p[2] * v->sin_e;
    }
}

bool viz_surface_place(const viz_field *field, const viz_camera *camera, viz_rect rect,
                       const double point[3], double page[2], double *depth)
{
    const viz_view v = viz_view_of(field, camera, rect);
    const double p[3] = {(point[0] - v.middle[0]) / v.side, (point[1] - v.middle[1]) / v.side,
                         viz_view_height(&v, point[2])};
    double at[2];
    viz_view_project(&v, p, at, depth);
    if (page != NULL) {
        page[0] = at[0];
        page[1] = at[1];
    }
    return isfinite(at[0]) && isfinite(at[1]);
}

static viz_rect inner(const viz_frame *frame)
{
    const viz_rect plot = frame->plot;
    return (viz_rect){plot.x + SIDE_AIR, plot.y + FLOOR_AIR, plot.w - 2.0 * SIDE_AIR,
                      plot.h - 2.0 * FLOOR_AIR};
}

double viz_surface_height(const viz_panel *panel, double width)
{
    /* A page so high that the width alone counts. */
    const viz_rect wide = {0.0, 0.0, fmax(width - 2.0 * SIDE_AIR, 0.0), HUGE_VAL};
    const viz_view v = viz_view_of(&panel->fields[0], &panel->camera, wide);
    const double reach = hypot(v.half[0], v.half[1]);
    return 2.0 * v.unit * (reach * v.sin_e - FLOOR * v.cos_e) + 2.0 * FLOOR_AIR;
}

static bool is_within(double value, double low, double high)
{
    const double air = ON_SIDE * (high - low);
    return value >= low - air && value <= high + air;
}

bool viz_surface_point(const viz_panel *panel, const viz_frame *frame, double x, double y, double z,
                       double *px, double *py)
{
    const viz_lattice *l = &panel->fields[0].lattice;
    const double point[3] = {x, y, z};
    double page[2];
    const bool seen =
        viz_surface_place(&panel->fields[0], &panel->camera, inner(frame), point, page, NULL) &&
        is_within(x, l->x0, l->x1) && is_within(y, l->y0, l->y1);
    *px = page[0];
    *py = page[1];
    return seen;
}

bool viz_surface_cut(const viz_panel *panel, double p[3], double q[3])
{
    const viz_lattice *l = &panel->fields[0].lattice;
    const double low[2] = {l->x0, l->y0};
    const double high[2] = {l->x1, l->y1};
    const double start[3] = {p[0], p[1], p[2]};
    const double way[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
    double from = 0.0;
    double to = 1.0;
    if (!isfinite(way[0]) || !isfinite(way[1]) || !isfinite(way[2])) {
        return false;
    }
    for (int k = 0; k < 2; k++) {
        const double at[2] = {(low[k] - p[k]) / way[k], (high[k] - p[k]) / way[k]};
        if (way[k] != 0.0) {
            from = fmax(from, fmin(at[0], at[1]));
            to = fmin(to, fmax(at[0], at[1]));
        } else if (!is_within(p[k], low[k], high[k])) {
            return false;
        }
    }
    for (int k = 0; k < 3 && from <= to; k++) {
        q[k] = to < 1.0 ? start[k] + to * way[k] : q[k];
        p[k] = from > 0.0 ? start[k] + from * way[k] : p[k];
    }
    return from <= to;
}

viz_view viz_view_of_panel(const viz_panel *panel, const viz_frame *frame)
{
    return viz_view_of(&panel->fields[0], &panel->camera, inner(frame));
}

/* Signs of the two sides that face the viewer: the one at x1 (or x0), the one at y1 (or y0). */
static void facing(const viz_view *v, double sign[2])
{
    sign[0] = v->sin_a > 0.0 ? 1.0 : -1.0;
    sign[1] = v->cos_a > 0.0 ? -1.0 : 1.0;
}

static void corner(const viz_view *v, double sx, double sy, double page[2])
{
    const double p[3] = {sx * v->half[0], sy * v->half[1], FLOOR};
    viz_view_project(v, p, page, NULL);
}

void viz_surface_floor(viz_canvas *canvas, const viz_view *v)
{
    static const double around[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    cairo_t *cr = canvas->cr;
    for (int i = 0; i < 4; i++) {
        double page[2];
        corner(v, around[i][0], around[i][1], page);
        if (i == 0) {
            cairo_move_to(cr, page[0], page[1]);
        } else {
            cairo_line_to(cr, page[0], page[1]);
        }
    }
    cairo_close_path(cr);
    viz_canvas_theme(canvas, VIZ_PAINT_SHADE);
    cairo_fill_preserve(cr);
    viz_canvas_theme(canvas, VIZ_PAINT_MUTED);
    cairo_set_line_width(cr, 0.5);
    cairo_stroke(cr);
}

/* One labelled side of the floor. */
typedef struct edge {
    const viz_axis *axis;
    const viz_ticks *ticks;
    int along;         /* 0: x runs along it, 1: y */
    double at;         /* where the other coordinate stands */
    double out[2];     /* direction on the page away from the floor, of length 1 */
    double ends[2][2]; /* of the side, on the page */
    double wide, tall; /* of the largest tick label */
    viz_fit fit;       /* of the axis label */
    viz_rect box;
} edge;

static void edge_place(const viz_view *v, const edge *e, double place, double page[2])
{
    double p[3] = {e->at, e->at, FLOOR};
    p[e->along] = place;
    viz_view_project(v, p, page, NULL);
}

/* Boxes of the texts placed so far, which later ones keep clear of. */
typedef struct texts {
    viz_rect box[2 * VIZ_TICKS_MAJOR_MAX + 2];
    size_t n;
    viz_rect room; /* for all of them */
} texts;

static bool clear_of(const texts *t, viz_rect a, double air)
{
    for (size_t i = 0; i < t->n; i++) {
        const viz_rect b = t->box[i];
        if (a.x < b.x + b.w + air && b.x < a.x + a.w + air && a.y < b.y + b.h + air &&
            b.y < a.y + a.h + air) {
            return false;
        }
    }
    return true;
}

static bool has_room(const texts *t, viz_rect a)
{
    return a.x >= t->room.x && a.y >= t->room.y && a.x + a.w <= t->room.x + t->room.w &&
           a.y + a.h <= t->room.y + t->room.h;
}

/* False when the side runs through the box, which is convex, as looked up at `SAMPLES` places. */
static bool clear_of_side(const edge *e, viz_rect a)
{
    enum { SAMPLES = 33 };
    for (int i = 0; i < SAMPLES; i++) {
        const double t = (double)i / (double)(SAMPLES - 1);
        const double x = e->ends[0][0] + t * (e->ends[1][0] - e->ends[0][0]);
        const double y = e->ends[0][1] + t * (e->ends[1][1] - e->ends[0][1]);
        if (x > a.x && x < a.x + a.w && y > a.y && y < a.y + a.h) {
            return false;
        }
    }
    return true;
}

/* The box of a text beyond a point of the side, its nearest point `gap` away. */
static viz_rect box_beyond(const edge *e, const double at[2], double gap, double w, double h)
{
    return (viz_rect){at[0] + gap * e->out[0] - (0.5 - 0.5 * e->out[0]) * w,
                      at[1] + gap * e->out[1] - (0.5 - 0.5 * e->out[1]) * h, w, h};
}

static void put_text(viz_canvas *canvas, viz_role role, const char *text, const viz_fit *fit,
                     viz_rect box, texts *taken)
{
    const viz_place place = {.x = box.x, .y = box.y, .wrap = fit->wrap, .lines = fit->lines};
    viz_canvas_text(canvas, role, text, &place);
    taken->box[taken->n++] = box;
}

/* Tick labels, which are left out where another is; only their boxes are found unless `drawn`. */
static void put_tick_labels(viz_canvas *canvas, const viz_view *v, edge *e, bool drawn,
                            texts *taken)
{
    const viz_fit whole = {.lines = 0};
    for (size_t i = 0; i < e->ticks->n_major; i++) {
        const char *text = e->ticks->label[i];
        double page[2];
        double w;
        double h;
        edge_place(v, e, (e->ticks->major[i] - v->middle[e->along]) / v->side, page);
        viz_canvas_measure(canvas, VIZ_ROLE_TICK, text, 0.0, &w, &h);
        e->wide = fmax(e->wide, w);
        e->tall = fmax(e->tall, h);
        const viz_rect box = box_beyond(e, page, VIZ_TICK_MAJOR + VIZ_TICK_GAP, w, h);
        if (!clear_of(taken, box, 0.0)) {
            continue;
        }
        if (drawn) {
            put_text(canvas, VIZ_ROLE_TICK, text, &whole, box, taken);
        } else {
            taken->box[taken->n++] = box;
        }
    }
}

static void draw_ticks(viz_canvas *canvas, const viz_view *v, const edge *e)
{
    cairo_t *cr = canvas->cr;
    viz_canvas_theme(canvas, VIZ_PAINT_INK);
    cairo_set_line_width(cr, 0.6);
    for (size_t i = 0; i < e->ticks->n_major; i++) {
        double page[2];
        edge_place(v, e, (e->ticks->major[i] - v->middle[e->along]) / v->side, page);
        cairo_move_to(cr, page[0], page[1]);
        cairo_rel_line_to(cr, VIZ_TICK_MAJOR * e->out[0], VIZ_TICK_MAJOR * e->out[1]);
    }
    cairo_stroke(cr);
}

/* Looks for a place of a label beyond the middle of its side, and if need be nearer to its ends and
 * farther out. */
static bool find_place(const edge *e, const viz_fit *fit, const texts *taken, viz_rect *box)
{
    static const double along[] = {0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8};
    const double least = VIZ_TICK_MAJOR + VIZ_TICK_GAP + VIZ_AXIS_GAP + fabs(e->out[0]) * e->wide +
                         fabs(e->out[1]) * e->tall;
    for (double gap = least; gap <= least + LABEL_REACH; gap += LABEL_STEP) {
        for (size_t i = 0; i < sizeof along / sizeof *along; i++) {
            const double at[2] = {e->ends[0][0] + along[i] * (e->ends[1][0] - e->ends[0][0]),
                                  e->ends[0][1] + along[i] * (e->ends[1][1] - e->ends[0][1])};
            *box = box_beyond(e, at, gap, fit->width, fit->height);
            if (has_room(taken, *box) && clear_of(taken, *box, TEXT_AIR) &&
                clear_of_side(e, *box)) {
                return true;
            }
        }
    }
    return false;
}

/* On one line, on two, or on three: the first that has room beyond its side. */
static bool place_label(viz_canvas *canvas, edge *e, const texts *taken)
{
    viz_fit one;
    viz_fit_text(&one, canvas, VIZ_ROLE_AXIS, e->axis->label, HUGE_VAL, 0);
    e->fit = one;
    bool placed = find_place(e, &e->fit, taken, &e->box);
    for (int lines = 2; lines <= VIZ_FIT_LINES && !placed; lines++) {
        /* Words do not break evenly. */
        viz_fit_text(&e->fit, canvas, VIZ_ROLE_AXIS, e->axis->label, 1.25 * one.width / lines,
                     (size_t)lines);
        placed = !e->fit.cut && find_place(e, &e->fit, taken, &e->box);
    }
    return placed;
}

/* Below everything, where the layout keeps room for it: at the left or the right end. */
static void put_below(edge *e, const viz_fit *fit, bool right, const texts *taken)
{
    const viz_rect room = taken->room;
    e->fit = *fit;
    e->box = (viz_rect){right ? room.x + room.w - fit->width : room.x,
                        room.y + room.h - fit->height, fit->width, fit->height};
}

/* Each beyond its side when both find room there, else both below. */
static void draw_labels(viz_canvas *canvas, const viz_frame *frame, edge edges[2], texts *taken)
{
    const viz_fit *below[2] = {&frame->x_label, &frame->y_label};
    const size_t ticks = taken->n;
    bool placed = true;
    for (int k = 0; k < 2 && placed; k++) {
        if (edges[k].axis->label != NULL) {
            placed = place_label(canvas, &edges[k], taken);
            taken->box[taken->n++] = edges[k].box;
        }
    }
    taken->n = ticks;
    for (int k = 0; k < 2; k++) {
        const edge *other = &edges[1 - k];
        if (edges[k].axis->label != NULL) {
            if (!placed) {
                const double own = edges[k].ends[0][0] + edges[k].ends[1][0];
                put_below(&edges[k], below[k], own > other->ends[0][0] + other->ends[1][0], taken);
            }
            put_text(canvas, VIZ_ROLE_AXIS, edges[k].axis->label, &edges[k].fit, edges[k].box,
                     taken);
        }
    }
}

static edge edge_of(const viz_view *v, int along, const double sign[2])
{
    const int across = 1 - along;
    edge e = {.along = along, .at = sign[across] * v->half[across]};
    const double outward[3] = {along == 1 ? sign[0] : 0.0, along == 0 ? sign[1] : 0.0, 0.0};
    double zero[2];
    double tip[2];
    viz_view_project(v, (const double[3]){0.0, 0.0, 0.0}, zero, NULL);
    viz_view_project(v, outward, tip, NULL);
    /* Seen nearly from the side the floor is a line, and below it is the way out. */
    const double away[2] = {tip[0] - zero[0], tip[1] - zero[1] + 0.15 * v->unit};
    const double length = hypot(away[0], away[1]);
    e.out[0] = away[0] / length;
    e.out[1] = away[1] / length;
    edge_place(v, &e, -v->half[along], e.ends[0]);
    edge_place(v, &e, v->half[along], e.ends[1]);
    return e;
}

static void edges_of(const viz_view *v, const viz_panel *panel, const viz_frame *frame,
                     edge edges[2])
{
    double sign[2];
    facing(v, sign);
    for (int k = 0; k < 2; k++) {
        edges[k] = edge_of(v, k, sign);
        edges[k].axis = k == 0 ? &panel->x : &panel->y;
        edges[k].ticks = k == 0 ? &frame->x : &frame->y;
    }
}

size_t viz_surface_tick_boxes(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                              viz_rect boxes[2 * VIZ_TICKS_MAJOR_MAX])
{
    const viz_view v = viz_view_of_panel(panel, frame);
    texts taken = {.n = 0, .room = frame->cell};
    edge edges[2];
    edges_of(&v, panel, frame, edges);
    for (int k = 0; k < 2; k++) {
        put_tick_labels(canvas, &v, &edges[k], false, &taken);
    }
    memcpy(boxes, taken.box, taken.n * sizeof *boxes);
    return taken.n;
}

void viz_surface_axes(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame)
{
    const viz_view v = viz_view_of_panel(panel, frame);
    texts taken = {.n = 0, .room = frame->cell};
    edge edges[2];
    edges_of(&v, panel, frame, edges);
    for (int k = 0; k < 2; k++) {
        draw_ticks(canvas, &v, &edges[k]);
        put_tick_labels(canvas, &v, &edges[k], true, &taken);
    }
    draw_labels(canvas, frame, edges, &taken);
}
