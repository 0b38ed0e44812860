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
};

/* Hinting would make widths depend on the surface and its resolution. */
static void disable_hinting(PangoContext *context)
{
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(context, options);
    cairo_font_options_destroy(options);
    pango_context_set_round_glyph_positions(context, FALSE);
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
    disable_hinting(pango_layout_get_context(canvas->layout));
    pango_layout_context_changed(canvas->layout);
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

void viz_canvas_theme(viz_canvas *canvas, viz_paint_kind kind)
{
    const viz_paint paint = viz_paint_of(kind);
    viz_canvas_paint(canvas, &paint);
}

/* Loads a text into the canvas's layout and gives its size. */
static void load(viz_canvas *canvas, viz_role role, const char *markup, double wrap, double *width,
                 double *height)
{
    const font *f = &fonts[role];
    PangoFontDescription *description = pango_font_description_new();
    pango_font_description_set_family(description, canvas->scene->family);
    pango_font_description_set_absolute_size(description, f->size * PANGO_SCALE);
    pango_font_description_set_weight(description, f->weight);
    pango_font_description_set_style(description, f->style);
    pango_layout_set_font_description(canvas->layout, description);
    pango_font_description_free(description);
    pango_layout_set_width(canvas->layout, wrap > 0.0 ? (int)(wrap * PANGO_SCALE) : -1);
    /* Scenes refuse longer texts, so the buffer holds the longest with every tag replaced. */
    char prepared[VIZ_TEXT_MAX * 8];
    (void)viz_text_scripts(prepared, sizeof prepared, markup);
    pango_layout_set_markup(canvas->layout, prepared, -1);
    PangoRectangle logical;
    pango_layout_get_extents(canvas->layout, NULL, &logical);
    *width = (double)(logical.x + logical.width) / PANGO_SCALE;
    *height = (double)logical.height / PANGO_SCALE;
}

void viz_canvas_measure(viz_canvas *canvas, viz_role role, const char *markup, double wrap,
                        double *width, double *height)
{
    load(canvas, role, markup, wrap, width, height);
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

void viz_canvas_text(viz_canvas *canvas, viz_role role, const char *markup, const viz_place *place)
{
    double width;
    double height;
    load(canvas, role, markup, place->wrap, &width, &height);
    viz_rect box = {.w = place->turned ? height : width, .h = place->turned ? width : height};
    box.x = place->x - place->ax * box.w;
    box.y = place->y - place->ay * box.h;
    cairo_save(canvas->cr);
    viz_canvas_theme(canvas, fonts[role].paint);
    if (place->turned) {
        cairo_translate(canvas->cr, box.x, box.y + box.h);
        cairo_rotate(canvas->cr, -acos(0.0));
    } else {
        cairo_translate(canvas->cr, box.x, box.y);
    }
    /* A new path start keeps the text from joining a path that is being built. */
    cairo_move_to(canvas->cr, 0.0, 0.0);
    pango_cairo_show_layout(canvas->cr, canvas->layout);
    cairo_new_path(canvas->cr);
    cairo_restore(canvas->cr);
    log_text(canvas, role, markup, box);
}
