/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_frame.h"

#include <math.h>
#include <stdio.h>

#define SIDE_WIDTH   238.0
#define WORDS_HEIGHT 22.0  /* of a line of words */
#define TWO_LINES    560.0 /* height of a window from which what is pointed at has its own line */
#define STRIP_HEIGHT 148.0
#define LEAST_ROOM   110.0 /* for the picture, beside a strip */

/* ---- The frame ------------------------------------------------------------------------------- */

/* Moves an edge onto the pixels, so that images kept in pixels are copied and not resampled. */
static double on_pixel(double at, double pixels)
{
    return round(at * pixels) / pixels;
}

static double pixels_of(cairo_t *cr)
{
    cairo_matrix_t m;
    double sx;
    double sy;
    cairo_get_matrix(cr, &m);
    cairo_surface_get_device_scale(cairo_get_target(cr), &sx, &sy);
    return m.xx * sx;
}

static void draw_parts(view_desk *d)
{
    const double pixels = pixels_of(d->cr);
    const double side = on_pixel(fmin(SIDE_WIDTH, 0.4 * d->w), pixels);
    const double words = on_pixel((d->h < TWO_LINES ? 1.0 : 2.0) * WORDS_HEIGHT, pixels);
    const double bottom = d->h - words;
    const double dock = on_pixel(view_frame_dock_height(d->h), pixels);
    const double wanted = on_pixel(fmin(STRIP_HEIGHT, 0.25 * d->h), pixels);
    const bool has_room = bottom - dock - wanted >= LEAST_ROOM;
    const double strip = d->v->s.orbit && has_room ? wanted : 0.0;
    const double width = d->w - side;
    const double height = bottom - dock - strip;
    view_frame_side(d, (viz_rect){0.0, 0.0, side, bottom});
    view_frame_picture(d, (viz_rect){side, 0.0, width, height});
    if (strip > 0.0) {
        view_frame_orbit(d, (viz_rect){side, height, width, strip});
    } else if (d->v->s.orbit) {
        (void)snprintf(d->hint, sizeof d->hint,
                       "no room for the orbit strip: a larger window, or Ctrl and \xe2\x88\x92");
    }
    view_frame_dock(d, (viz_rect){side, bottom - dock, width, dock});
    view_frame_words(d, (viz_rect){0.0, bottom, d->w, words});
}

static kern_status draw(view_desk *d, kern_error *err)
{
    view *v = d->v;
    const ui_frame frame = {d->cr, d->w, d->h, v->s.dark ? VIZ_DARK : VIZ_LIGHT, d->in};
    ui_begin(d->u, &frame);
    view_desk_paint(d, view_desk_colour(d, VIZ_PAINT_PAGE), 1.0);
    cairo_rectangle(d->cr, 0.0, 0.0, d->w, d->h);
    cairo_fill(d->cr);
    if (v->overlay == VIEW_OVER_NOTHING) {
        d->c->opened = VIEW_OVER_NOTHING;
    }
    if (d->in->pressed) {
        view_undo_close(v);
    }
    ui_block(d->u, v->overlay != VIEW_OVER_NOTHING);
    draw_parts(d);
    ui_block(d->u, false);
    view_frame_over(d);
    view_command_keys(v);
    if (d->in->released) {
        view_undo_close(v); /* what was dragged is one step back */
    }
    return ui_end(d->u, err);
}

kern_status view_frame(view *v, cairo_t *cr, double width, double height, double seconds,
                       const ui_input *input, kern_error *err)
{
    const double scale = v->s.scale > 0.0 ? v->s.scale : 1.0;
    ui_input scaled = *input;
    if (view_cache_of(v) == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for a frame was refused by the system");
    }
    if (input->pressed) {
        view_undo_close(v); /* a drag begins */
    }
    view_beat(v, seconds);
    (void)view_tasks_take(v);
    v->stale = false;
    scaled.x /= scale;
    scaled.y /= scale;
    view_desk d = {.v = v,
                   .c = v->base,
                   .u = v->ui,
                   .cr = cr,
                   .in = &scaled,
                   .w = width / scale,
                   .h = height / scale};
    view_work_hold(v->work);
    cairo_save(cr);
    cairo_scale(cr, scale, scale);
    const kern_status status = draw(&d, err);
    cairo_restore(cr);
    view_work_resume(v->work);
    return status;
}

void view_frame_fini(view *v)
{
    view_cache_destroy(v->base);
    v->base = NULL;
}
