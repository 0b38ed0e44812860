/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_frame.h"

#include <math.h>

#define SIDE_WIDTH   238.0
#define WORDS_HEIGHT 22.0  /* of a line of words */
#define TWO_LINES    560.0 /* height of a window from which what is pointed at has its own line */
#define STRIP_HEIGHT 148.0
#define TEXT_SIZE    14.0

/* ---- What the parts share -------------------------------------------------------------------- */

static bool tell(view_desk *d, kern_status status, const kern_error *err)
{
    if (status != KERN_OK) {
        view_say(d->v, true, "%s", err->text);
    }
    return status == KERN_OK;
}

bool view_desk_do(view_desk *d, const char *line)
{
    kern_error err = {0};
    return tell(d, view_do(d->v, line, &err), &err);
}

bool view_desk_set(view_desk *d, const char *name, const char *value)
{
    kern_error err = {0};
    return tell(d, view_set(d->v, name, value, &err), &err);
}

bool view_desk_change(view_desk *d, const view_settings *s, const char *field)
{
    kern_error err = {0};
    return tell(d, view_change(d->v, s, field, &err), &err);
}

viz_rgb view_desk_colour(const view_desk *d, viz_paint_kind kind)
{
    const viz_paint paint = viz_paint_of(kind);
    return viz_colour_resolve(&paint, d->v->s.dark ? VIZ_DARK : VIZ_LIGHT);
}

void view_desk_paint(view_desk *d, viz_rgb colour, double opacity)
{
    cairo_set_source_rgba(d->cr, colour.r, colour.g, colour.b, opacity);
}

void view_desk_line(view_desk *d, double x0, double y0, double x1, double y1, double width)
{
    cairo_set_line_width(d->cr, width);
    cairo_move_to(d->cr, x0, y0);
    cairo_line_to(d->cr, x1, y1);
    cairo_stroke(d->cr);
}

void view_desk_text(view_desk *d, const char *id, viz_rect rect, const char *text, bool warning)
{
    PangoLayout *layout = pango_cairo_create_layout(d->cr);
    PangoFontDescription *font = pango_font_description_new();
    PangoRectangle box;
    viz_canvas_plain_fonts(layout);
    pango_font_description_set_family(font, VIZ_FAMILY);
    pango_font_description_set_absolute_size(font, TEXT_SIZE * PANGO_SCALE);
    pango_layout_set_font_description(layout, font);
    pango_font_description_free(font);
    pango_layout_set_text(layout, text, -1);
    pango_layout_set_width(layout, (int)(fmax(rect.w, 1.0) * PANGO_SCALE));
    pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR);
    pango_layout_set_alignment(layout, PANGO_ALIGN_CENTER);
    pango_layout_get_extents(layout, NULL, &box);
    view_desk_paint(d,
                    warning ? viz_colour_class(1, d->v->s.dark ? VIZ_DARK : VIZ_LIGHT)
                            : view_desk_colour(d, VIZ_PAINT_MUTED),
                    1.0);
    cairo_move_to(d->cr, rect.x, rect.y + 0.5 * (rect.h - (double)box.height / PANGO_SCALE));
    pango_cairo_show_layout(d->cr, layout);
    g_object_unref(layout);
    /* A label too narrow for letters draws none. */
    ui_label(d->u, id, (viz_rect){rect.x, rect.y, 0.0, rect.h}, text, UI_PLAIN);
}

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
    const double strip = d->v->s.orbit ? on_pixel(fmin(STRIP_HEIGHT, 0.25 * d->h), pixels) : 0.0;
    const double width = d->w - side;
    const double height = bottom - dock - strip;
    view_frame_side(d, (viz_rect){0.0, 0.0, side, bottom});
    view_frame_picture(d, (viz_rect){side, 0.0, width, height});
    if (d->v->s.orbit) {
        view_frame_orbit(d, (viz_rect){side, height, width, strip});
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
    cairo_save(cr);
    cairo_scale(cr, scale, scale);
    const kern_status status = draw(&d, err);
    cairo_restore(cr);
    return status;
}

void view_frame_fini(view *v)
{
    view_cache_destroy(v->base);
    v->base = NULL;
}
