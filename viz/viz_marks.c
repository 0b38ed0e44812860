/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_marks.h"

#include "viz/viz_surface.h"

static bool apart(viz_rect a, viz_rect b)
{
    return a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
}

static bool inside(viz_rect box, viz_rect plot)
{
    return box.x >= plot.x && box.y >= plot.y && box.x + box.w <= plot.x + plot.w &&
           box.y + box.h <= plot.y + plot.h;
}

/* Boxes that are taken: of the points that are marked, of a surface's tick labels, and of texts
 * already placed. */
typedef struct taken {
    viz_rect box[2 * VIZ_MARKS_MAX + 2 * VIZ_TICKS_MAJOR_MAX];
    size_t n;
} taken;

static bool is_free(const taken *t, viz_rect box, size_t own)
{
    for (size_t i = 0; i < t->n; i++) {
        if (i != own && !apart(box, t->box[i])) {
            return false;
        }
    }
    return true;
}

/* Draws one text at the first free of eight places. */
static void place_mark(viz_canvas *canvas, const viz_mark *mark, const viz_rect *plot, taken *t,
                       size_t own)
{
    /* Directions from the point, with y downwards: right and above first, as in atlases. */
    static const double way[8][2] = {{1.0, -1.0}, {1.0, 1.0},  {-1.0, -1.0}, {-1.0, 1.0},
                                     {1.0, 0.0},  {-1.0, 0.0}, {0.0, -1.0},  {0.0, 1.0}};
    const viz_rect point = t->box[own];
    const double x = point.x + 0.5 * point.w;
    const double y = point.y + 0.5 * point.h;
    double w;
    double h;
    viz_canvas_measure(canvas, VIZ_ROLE_MARK, mark->text, 0.0, &w, &h);
    for (size_t k = 0; k < 8; k++) {
        /* Along a diagonal the corner of the text is as far away as its side is elsewhere. */
        const double gap = mark->gap * (way[k][0] != 0.0 && way[k][1] != 0.0 ? 0.70710678 : 1.0);
        const viz_rect box = {x + way[k][0] * (gap + 0.5 * w) - 0.5 * w,
                              y + way[k][1] * (gap + 0.5 * h) - 0.5 * h, w, h};
        if (inside(box, *plot) && is_free(t, box, own)) {
            const viz_place place = {.x = box.x, .y = box.y};
            viz_canvas_text(canvas, VIZ_ROLE_MARK, mark->text, &place);
            t->box[t->n++] = box;
            return;
        }
    }
}

static bool point_of(const viz_panel *panel, const viz_frame *frame, const viz_mark *mark,
                     double *x, double *y)
{
    if (panel->surface) {
        return viz_surface_point(panel, frame, mark->x, mark->y, mark->z, x, y);
    }
    if (!viz_scene_drawable(panel, mark->x, mark->y)) {
        return false;
    }
    *x = viz_layout_x(frame, &panel->x, mark->x);
    *y = viz_layout_y(frame, &panel->y, mark->y);
    return true;
}

void viz_marks_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame)
{
    taken t = {.n = 0};
    const size_t n = panel->n_marks < VIZ_MARKS_MAX ? panel->n_marks : VIZ_MARKS_MAX;
    const viz_mark *shown[VIZ_MARKS_MAX];
    for (size_t i = 0; i < n; i++) {
        const viz_mark *mark = &panel->marks[i];
        double x;
        double y;
        if (point_of(panel, frame, mark, &x, &y)) {
            const double r = 0.6 * mark->gap;
            shown[t.n] = mark;
            t.box[t.n++] = (viz_rect){x - r, y - r, 2.0 * r, 2.0 * r};
        }
    }
    const size_t points = t.n;
    if (panel->surface) {
        t.n += viz_surface_tick_boxes(canvas, panel, frame, t.box + t.n);
    }
    for (size_t i = 0; i < points; i++) {
        place_mark(canvas, shown[i], &frame->plot, &t, i);
    }
}
