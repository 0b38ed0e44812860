/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_canvas.h"

#include "viz/viz_text.h"

#include <math.h>

typedef struct font {
    double size;
    PangoWeight weight;
    PangoStyle style;
    viz_paint_kind paint;
} font;

static const font fonts[VIZ_ROLE_COUNT] = {
    [VIZ_ROLE_TITLE] = {9.0, PANGO_WEIGHT_BOLD, PANGO_STYLE_NORMAL, VIZ_PAINT_INK},
    [VIZ_ROLE_PANEL_TITLE] = {8.0, PANGO_WEIGHT_BOLD, PANGO_STYLE_NORMAL, VIZ_PAINT_INK},
    [VIZ_ROLE_AXIS] = {8.0, PANGO_WEIGHT_NORMAL, PANGO_STYLE_NORMAL, VIZ_PAINT_INK},
    [VIZ_ROLE_TICK] = {7.0, PANGO_WEIGHT_NORMAL, PANGO_STYLE_NORMAL, VIZ_PAINT_INK},
    [VIZ_ROLE_END_LABEL] = {6.5, PANGO_WEIGHT_NORMAL, PANGO_STYLE_NORMAL, VIZ_PAINT_INK},
    [VIZ_ROLE_LEGEND] = {7.0, PANGO_WEIGHT_NORMAL, PANGO_STYLE_NORMAL, VIZ_PAINT_INK},
    [VIZ_ROLE_SPAN] = {7.0, PANGO_WEIGHT_NORMAL, PANGO_STYLE_ITALIC, VIZ_PAINT_MUTED},
    [VIZ_ROLE_NOTE] = {7.0, PANGO_WEIGHT_NORMAL, PANGO_STYLE_NORMAL, VIZ_PAINT_MUTED},
    [VIZ_ROLE_MARK] = {6.5, PANGO_WEIGHT_NORMAL, PANGO_STYLE_NORMAL, VIZ_PAINT_INK},
    [VIZ_ROLE_LEVEL] = {6.0, PANGO_WEIGHT_NORMAL, PANGO_STYLE_NORMAL, VIZ_PAINT_RGB},
};

void viz_canvas_plain_fonts(PangoLayout *layout)
{
    PangoContext *context = pango_layout_get_context(layout);
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(context, options);
    cairo_font_options_destroy(options);
    pango_context_set_round_glyph_positions(context, FALSE);
    pango_layout_context_changed(layout);
}

kern_status viz_canvas_init(viz_canvas *canvas, cairo_t *cr, const viz_scene *scene, viz_log *log,
                            kern_error *err)
{
    *canvas = (viz_canvas){.cr = cr, .scene = scene, .log = log};
    if (log != NULL) {
        log->count = 0;
    }
    canvas->layout = pango_cairo_create_layout(cr);
    if (canvas->layout == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "the text layout of a figure could not be created");
    }
    viz_canvas_plain_fonts(canvas->layout);
    return KERN_OK;
}

void viz_canvas_fini(viz_canvas *canvas)
{
    if (canvas->layout != NULL) {
        g_object_unref(canvas->layout);
    }
    *canvas = (viz_canvas){0};
}

void viz_canvas_paint(viz_canvas *canvas, const viz_paint *paint)
{
    const viz_rgb c = viz_colour_resolve(paint, canvas->scene->theme);
    cairo_set_source_rgb(canvas->cr, c.r, c.g, c.b);
}

void viz_canvas_paint_clear(viz_canvas *canvas, const viz_paint *paint, double opacity)
{
    const viz_rgb c = viz_colour_resolve(paint, canvas->scene->theme);
    cairo_set_source_rgba(canvas->cr, c.r, c.g, c.b, opacity);
}

void viz_canvas_halo(viz_canvas *canvas, const viz_paint *paint, double opacity)
{
    /* 0.18 is the luminance whose contrasts to black and to white are equal. */
    const viz_rgb c = viz_colour_resolve(paint, canvas->scene->theme);
    const double grey = viz_colour_luminance(c) > 0.18 ? VIZ_HALO_GREY : 1.0;
    cairo_set_source_rgba(canvas->cr, grey, grey, grey, opacity);
}

void viz_canvas_theme(viz_canvas *canvas, viz_paint_kind kind)
{
    const viz_paint paint = viz_paint_of(kind);
    viz_canvas_paint(canvas, &paint);
}

/* Texts of one line that may be broken: what belongs together in them stays on one. */
static bool binds(viz_role role)
{
    return role == VIZ_ROLE_AXIS || role == VIZ_ROLE_PANEL_TITLE || role == VIZ_ROLE_LEGEND;
}

/* How the lines of a text are made. */
typedef struct breaking {
    double wrap;  /* 0: it stays on one */
    size_t lines; /* 0: any number; else what is more is cut */
} breaking;

/* Loads a text into the canvas's layout and gives its box, in points. */
static viz_rect load(viz_canvas *canvas, viz_role role, const char *markup, breaking how)
{
    const font *f = &fonts[role];
    PangoLayout *layout = canvas->layout;
    PangoFontDescription *description = pango_font_description_new();
    pango_font_description_set_family(description, canvas->scene->family);
    pango_font_description_set_absolute_size(description, f->size * PANGO_SCALE);
    pango_font_description_set_weight(description, f->weight);
    pango_font_description_set_style(description, f->style);
    pango_layout_set_font_description(layout, description);
    pango_font_description_free(description);
    const bool counted = how.wrap > 0.0 && how.lines > 0;
    pango_layout_set_width(layout, how.wrap > 0.0 ? (int)(how.wrap * PANGO_SCALE) : -1);
    pango_layout_set_height(layout, counted ? -(int)how.lines : -1);
    pango_layout_set_wrap(layout, counted ? PANGO_WRAP_WORD_CHAR : PANGO_WRAP_WORD);
    pango_layout_set_ellipsize(layout, counted ? PANGO_ELLIPSIZE_END : PANGO_ELLIPSIZE_NONE);
    pango_layout_set_alignment(layout, counted && role == VIZ_ROLE_AXIS ? PANGO_ALIGN_CENTER
                                                                        : PANGO_ALIGN_LEFT);
    /* Scenes refuse longer texts, so the buffers hold the longest with every tag replaced. */
    char bound[VIZ_TEXT_MAX * 2];
    char prepared[VIZ_TEXT_MAX * 8];
    const bool bind = how.wrap > 0.0 && binds(role);
    (void)viz_text_bind(bound, sizeof bound, bind ? markup : "");
    (void)viz_text_scripts(prepared, sizeof prepared, bind ? bound : markup);
    pango_layout_set_markup(layout, prepared, -1);
    PangoRectangle logical;
    pango_layout_get_extents(layout, NULL, &logical);
    return (viz_rect){(double)logical.x / PANGO_SCALE, (double)logical.y / PANGO_SCALE,
                      (double)logical.width / PANGO_SCALE, (double)logical.height / PANGO_SCALE};
}

void viz_canvas_measure(viz_canvas *canvas, viz_role role, const char *markup, double wrap,
                        double *width, double *height)
{
    const viz_rect box = load(canvas, role, markup, (breaking){.wrap = wrap});
    *width = box.x + box.w;
    *height = box.h;
}

void viz_canvas_measure_lines(viz_canvas *canvas, viz_role role, const char *markup, double wrap,
                              size_t lines, double *width, double *height, bool *cut)
{
    const viz_rect box = load(canvas, role, markup, (breaking){wrap, lines});
    *width = box.w;
    *height = box.h;
    *cut = pango_layout_is_ellipsized(canvas->layout) != FALSE;
}

static void log_text(viz_canvas *canvas, viz_role role, const char *markup, viz_rect box)
{
    viz_log *log = canvas->log;
    if (log == NULL) {
        return;
    }
    if (log->count < log->capacity) {
        viz_placed *item = &log->items[log->count];
        item->role = role;
        item->box = box;
        (void)viz_text_plain(item->text, sizeof item->text, markup);
    }
    log->count++;
}

/* Shows the layout with its left end `left` before the origin; a level gets an edge so that it
 * reads on every colour. */
static void show(viz_canvas *canvas, viz_role role, double left)
{
    cairo_t *cr = canvas->cr;
    cairo_move_to(cr, -left, 0.0);
    if (role == VIZ_ROLE_LEVEL) {
        pango_cairo_layout_path(cr, canvas->layout);
        cairo_set_source_rgb(cr, VIZ_HALO_GREY, VIZ_HALO_GREY, VIZ_HALO_GREY);
        cairo_set_line_width(cr, 1.3);
        cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
        cairo_set_dash(cr, NULL, 0, 0.0);
        cairo_stroke(cr);
        cairo_set_source_rgb(cr, 1.0, 1.0, 1.0);
        cairo_move_to(cr, -left, 0.0);
    } else {
        viz_canvas_theme(canvas, fonts[role].paint);
    }
    pango_cairo_show_layout(cr, canvas->layout);
}

void viz_canvas_text(viz_canvas *canvas, viz_role role, const char *markup, const viz_place *place)
{
    cairo_t *cr = canvas->cr;
    const viz_rect text = load(canvas, role, markup, (breaking){place->wrap, place->lines});
    /* Centred lines stand within the wrap; their own box counts. */
    const double left = place->wrap > 0.0 && place->lines > 0 ? text.x : 0.0;
    const double width = text.x + text.w - left;
    const double height = text.h;
    viz_rect box = {.w = place->turned ? height : width, .h = place->turned ? width : height};
    box.x = place->x - place->ax * box.w;
    box.y = place->y - place->ay * box.h;
    cairo_save(cr);
    /* A new path keeps the text from joining one that is being built. */
    cairo_new_path(cr);
    if (place->turned) {
        cairo_translate(cr, box.x, box.y + box.h);
        cairo_rotate(cr, -acos(0.0));
    } else if (place->angle != 0.0) {
        cairo_translate(cr, place->x, place->y);
        cairo_rotate(cr, -place->angle);
        cairo_translate(cr, -0.5 * width, -0.5 * height);
        const double c = fabs(cos(place->angle));
        const double s = fabs(sin(place->angle));
        box.w = c * width + s * height;
        box.h = s * width + c * height;
        box.x = place->x - 0.5 * box.w;
        box.y = place->y - 0.5 * box.h;
    } else {
        cairo_translate(cr, box.x, box.y);
    }
    show(canvas, role, left);
    cairo_new_path(cr);
    cairo_restore(cr);
    log_text(canvas, role, markup, box);
}
