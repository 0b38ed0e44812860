/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_surface.h"

#include "viz/viz_surface_internal.h"

#include <math.h>

/* Room for tick labels beside the floor's corners, within the plot. */
#define SIDE_AIR  16.0
#define FLOOR_AIR 3.0

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

bool viz_surface_point(const viz_panel *panel, const viz_frame *frame, double x, double y, double z,
                       double *px, double *py)
{
    const double point[3] = {x, y, z};
    double page[2];
    const bool seen =
        viz_surface_place(&panel->fields[0], &panel->camera, inner(frame), point, page, NULL);
    *px = page[0];
    *py = page[1];
    return seen;
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
    int along;        /* 0: x runs along it, 1: y */
    double at;        /* where the other coordinate stands */
    double out[2];    /* direction on the page away from the floor, of length 1 */
    double middle[2]; /* of the side, on the page */
} edge;

static void edge_place(const viz_view *v, const edge *e, double value, double page[2])
{
    double p[3] = {e->at, e->at, FLOOR};
    p[e->along] = (value - v->middle[e->along]) / v->side;
    viz_view_project(v, p, page, NULL);
}

/* Boxes of the texts placed so far, which later ones keep clear of. */
typedef struct texts {
    viz_rect box[2 * VIZ_TICKS_MAJOR_MAX + 2];
    size_t n;
} texts;

static bool clear_of(const texts *t, viz_rect a)
{
    for (size_t i = 0; i < t->n; i++) {
        const viz_rect b = t->box[i];
        if (a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h) {
            return false;
        }
    }
    return true;
}

/* A text beyond the side, the nearest point of its box `gap` away; left out where another is. */
static void edge_text(viz_canvas *canvas, viz_role role, const char *text, const double at[2],
                      const edge *e, double gap, texts *taken)
{
    const viz_place place = {.x = at[0] + gap * e->out[0],
                             .y = at[1] + gap * e->out[1],
                             .ax = 0.5 - 0.5 * e->out[0],
                             .ay = 0.5 - 0.5 * e->out[1]};
    viz_rect box;
    viz_canvas_measure(canvas, role, text, 0.0, &box.w, &box.h);
    box.x = place.x - place.ax * box.w;
    box.y = place.y - place.ay * box.h;
    if (clear_of(taken, box)) {
        viz_canvas_text(canvas, role, text, &place);
        taken->box[taken->n++] = box;
    }
}

static void draw_edge(viz_canvas *canvas, const viz_view *v, const edge *e, texts *taken)
{
    cairo_t *cr = canvas->cr;
    double widest = 0.0;
    double tallest = 0.0;
    viz_canvas_theme(canvas, VIZ_PAINT_INK);
    cairo_set_line_width(cr, 0.6);
    for (size_t i = 0; i < e->ticks->n_major; i++) {
        double page[2];
        double w;
        double h;
        edge_place(v, e, e->ticks->major[i], page);
        cairo_move_to(cr, page[0], page[1]);
        cairo_rel_line_to(cr, VIZ_TICK_MAJOR * e->out[0], VIZ_TICK_MAJOR * e->out[1]);
        viz_canvas_measure(canvas, VIZ_ROLE_TICK, e->ticks->label[i], 0.0, &w, &h);
        widest = fmax(widest, w);
        tallest = fmax(tallest, h);
    }
    cairo_stroke(cr);
    const double gap = VIZ_TICK_MAJOR + VIZ_TICK_GAP;
    for (size_t i = 0; i < e->ticks->n_major; i++) {
        double page[2];
        edge_place(v, e, e->ticks->major[i], page);
        edge_text(canvas, VIZ_ROLE_TICK, e->ticks->label[i], page, e, gap, taken);
    }
    if (e->axis->label != NULL) {
        const double beyond =
            gap + fabs(e->out[0]) * widest + fabs(e->out[1]) * tallest + VIZ_AXIS_GAP;
        edge_text(canvas, VIZ_ROLE_AXIS, e->axis->label, e->middle, e, beyond, taken);
    }
}

void viz_surface_axes(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame)
{
    const viz_view v = viz_view_of_panel(panel, frame);
    const viz_axis *axes[2] = {&panel->x, &panel->y};
    const viz_ticks *ticks[2] = {&frame->x, &frame->y};
    double sign[2];
    texts taken = {.n = 0};
    facing(&v, sign);
    for (int along = 0; along < 2; along++) {
        const int across = 1 - along;
        edge e = {axes[along], ticks[along], along, sign[across] * v.half[across], {0}, {0}};
        const double outward[3] = {along == 1 ? sign[0] : 0.0, along == 0 ? sign[1] : 0.0, 0.0};
        double zero[2];
        double tip[2];
        viz_view_project(&v, (const double[3]){0.0, 0.0, 0.0}, zero, NULL);
        viz_view_project(&v, outward, tip, NULL);
        /* Seen nearly from the side the floor is a line, and below it is the way out. */
        const double away[2] = {tip[0] - zero[0], tip[1] - zero[1] + 0.15 * v.unit};
        const double length = hypot(away[0], away[1]);
        e.out[0] = away[0] / length;
        e.out[1] = away[1] / length;
        edge_place(&v, &e, v.middle[along], e.middle);
        draw_edge(canvas, &v, &e, &taken);
    }
}
