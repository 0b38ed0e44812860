/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_desk.h"

#include <math.h>
#include <stdio.h>

#define TEXT_SIZE 14.0

enum { VIEW_DESK_LINE = 64 /* a name, or a word to choose */ };

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

bool view_desk_choose(view_desk *d, const char *name, const char *value)
{
    char line[2 * VIEW_DESK_LINE];
    (void)snprintf(line, sizeof line, "%.*s %.*s", VIEW_DESK_LINE - 2, name, VIEW_DESK_LINE - 2,
                   value);
    return view_desk_do(d, line);
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

void view_desk_focus(view_desk *d, const char *id, viz_rect rect)
{
    const ui_node *node = ui_find(d->u, id);
    if (node != NULL && node->focused && ui_shows_focus(d->u)) {
        view_desk_paint(d, viz_colour_class(0, d->v->s.dark ? VIZ_DARK : VIZ_LIGHT), 1.0);
        cairo_rectangle(d->cr, rect.x + 1.0, rect.y + 1.0, rect.w - 2.0, rect.h - 2.0);
        cairo_set_line_width(d->cr, 2.0);
        cairo_stroke(d->cr);
    }
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
    view_desk_paint(
        d, ui_tone_colour(warning ? UI_WARNING : UI_FAINT, d->v->s.dark ? VIZ_DARK : VIZ_LIGHT),
        1.0);
    cairo_move_to(d->cr, rect.x, rect.y + 0.5 * (rect.h - (double)box.height / PANGO_SCALE));
    pango_cairo_show_layout(d->cr, layout);
    g_object_unref(layout);
    /* A label too narrow for letters draws none. */
    ui_label(d->u, id, (viz_rect){rect.x, rect.y, 0.0, rect.h}, text, UI_PLAIN);
}
