/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How widgets look.
 */
#include "viz/ui/ui_internal.h"

#include <math.h>
#include <stdio.h>

#define FONT_SIZE 13.0
#define PADDING   7.0
#define RADIUS    4.0

/* Shares of ink that bring the themes' colours to 7:1 as text; the test of widgets measures it. */
#define FAINT_INK   0.4
#define WARNING_INK 0.5

static viz_rgb theme_colour(const ui *u, viz_paint_kind kind)
{
    const viz_paint paint = viz_paint_of(kind);
    return viz_colour_resolve(&paint, u->frame.theme);
}

void ui_paint(ui *u, viz_paint_kind kind)
{
    const viz_rgb c = theme_colour(u, kind);
    cairo_set_source_rgb(u->frame.cr, c.r, c.g, c.b);
}

void ui_paint_mix(ui *u, viz_paint_kind a, viz_paint_kind b, double t)
{
    const viz_rgb p = theme_colour(u, a);
    const viz_rgb q = theme_colour(u, b);
    cairo_set_source_rgb(u->frame.cr, p.r + t * (q.r - p.r), p.g + t * (q.g - p.g),
                         p.b + t * (q.b - p.b));
}

viz_rgb ui_tone_colour(ui_tone tone, viz_theme theme)
{
    const viz_paint paints[] = {viz_paint_of(VIZ_PAINT_INK), viz_paint_of(VIZ_PAINT_MUTED)};
    const viz_rgb ink = viz_colour_resolve(&paints[0], theme);
    const viz_rgb of = tone == UI_FAINT     ? viz_colour_resolve(&paints[1], theme)
                       : tone == UI_WARNING ? viz_colour_class(1, theme)
                                            : ink;
    const double t = tone == UI_FAINT ? FAINT_INK : WARNING_INK;
    return (viz_rgb){of.r + t * (ink.r - of.r), of.g + t * (ink.g - of.g),
                     of.b + t * (ink.b - of.b)};
}

void ui_box(ui *u, viz_rect r, double radius)
{
    cairo_t *cr = u->frame.cr;
    const double quarter = acos(0.0);
    cairo_new_sub_path(cr);
    cairo_arc(cr, r.x + r.w - radius, r.y + radius, radius, -quarter, 0.0);
    cairo_arc(cr, r.x + r.w - radius, r.y + r.h - radius, radius, 0.0, quarter);
    cairo_arc(cr, r.x + radius, r.y + r.h - radius, radius, quarter, 2.0 * quarter);
    cairo_arc(cr, r.x + radius, r.y + radius, radius, 2.0 * quarter, 3.0 * quarter);
    cairo_close_path(cr);
}

void ui_face(ui *u, const ui_node *node, double lift)
{
    cairo_t *cr = u->frame.cr;
    const viz_rect edge = {node->rect.x + 0.5, node->rect.y + 0.5, node->rect.w - 1.0,
                           node->rect.h - 1.0};
    ui_paint_mix(u, VIZ_PAINT_PAGE, VIZ_PAINT_INK, 0.04 + 0.12 * lift);
    ui_box(u, edge, RADIUS);
    cairo_fill_preserve(cr);
    ui_paint_mix(u, VIZ_PAINT_PAGE, VIZ_PAINT_MUTED, node->enabled ? 1.0 : 0.4);
    cairo_set_line_width(cr, 1.0);
    cairo_stroke(cr);
    if (node->focused && u->show_focus) {
        const viz_rgb c = viz_colour_class(0, u->frame.theme);
        cairo_set_source_rgb(cr, c.r, c.g, c.b);
        cairo_set_line_width(cr, 2.0);
        ui_box(u, (viz_rect){edge.x - 1.5, edge.y - 1.5, edge.w + 3.0, edge.h + 3.0}, RADIUS + 1.5);
        cairo_stroke(cr);
    }
}

static void load(ui *u, const char *text, ui_tone tone)
{
    PangoFontDescription *font = pango_font_description_new();
    pango_font_description_set_family(font, VIZ_FAMILY);
    pango_font_description_set_absolute_size(font, FONT_SIZE * PANGO_SCALE);
    pango_font_description_set_weight(font,
                                      tone == UI_STRONG ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_font_description(u->layout, font);
    pango_font_description_free(font);
    pango_layout_set_text(u->layout, text, -1);
}

static void colour_part(ui *u, const ui_tint *tint)
{
    if (tint == NULL) {
        return;
    }
    PangoAttrList *list = pango_attr_list_new();
    PangoAttribute *colour = pango_attr_foreground_new((guint16)(65535.0 * tint->colour.r),
                                                       (guint16)(65535.0 * tint->colour.g),
                                                       (guint16)(65535.0 * tint->colour.b));
    colour->start_index = (guint)tint->from;
    colour->end_index = (guint)(tint->from + tint->bytes);
    pango_attr_list_insert(list, colour);
    pango_layout_set_attributes(u->layout, list);
    pango_attr_list_unref(list);
}

static void draw_text(ui *u, viz_rect rect, const char *text, ui_tone tone, double align,
                      PangoEllipsizeMode cut, const ui_tint *tint)
{
    cairo_t *cr = u->frame.cr;
    const viz_rect in = {rect.x + PADDING, rect.y, rect.w - 2.0 * PADDING, rect.h};
    if (!(in.w > 0.0)) {
        return;
    }
    load(u, text, tone);
    colour_part(u, tint);
    pango_layout_set_width(u->layout, (int)(in.w * PANGO_SCALE));
    pango_layout_set_ellipsize(u->layout, cut);
    pango_layout_set_single_paragraph_mode(u->layout, TRUE);
    PangoRectangle box;
    pango_layout_get_extents(u->layout, NULL, &box);
    const double w = (double)box.width / PANGO_SCALE;
    const double h = (double)box.height / PANGO_SCALE;
    const viz_rgb c = ui_tone_colour(tone, u->frame.theme);
    cairo_set_source_rgb(cr, c.r, c.g, c.b);
    cairo_move_to(cr, in.x + align * (in.w - w) - (double)box.x / PANGO_SCALE,
                  in.y + (in.h - h) / 2.0);
    pango_cairo_show_layout(cr, u->layout);
    pango_layout_set_attributes(u->layout, NULL);
}

void ui_text(ui *u, viz_rect rect, const char *text, ui_tone tone, double align)
{
    draw_text(u, rect, text, tone, align, PANGO_ELLIPSIZE_END, NULL);
}

static double natural_width(ui *u, const char *text, ui_tone tone)
{
    PangoRectangle box;
    load(u, text, tone);
    pango_layout_set_width(u->layout, -1);
    pango_layout_get_extents(u->layout, NULL, &box);
    return (double)box.width / PANGO_SCALE;
}

void ui_text_pair(ui *u, viz_rect rect, const char *text, const char *value, ui_tone tone,
                  const ui_tint *tint)
{
    char both[2 * UI_TEXT_MAX + 8];
    (void)snprintf(both, sizeof both, "%s%s%s", text, value[0] != '\0' ? UI_BETWEEN : "", value);
    const double room = rect.w - 2.0 * PADDING;
    const double end = natural_width(u, value, tone) + natural_width(u, UI_BETWEEN, tone);
    if (value[0] == '\0' || natural_width(u, both, tone) <= room || !(end < room)) {
        draw_text(u, rect, both, tone, 0.0, PANGO_ELLIPSIZE_END, tint);
        return;
    }
    viz_rect part = {rect.x, rect.y, room - end + 2.0 * PADDING, rect.h};
    draw_text(u, part, text, tone, 0.0, PANGO_ELLIPSIZE_MIDDLE, tint);
    part = (viz_rect){rect.x + room - end, rect.y, end + 2.0 * PADDING, rect.h};
    draw_text(u, part, value, tone, 1.0, PANGO_ELLIPSIZE_END, NULL);
}

double ui_text_width(ui *u, const char *text, size_t bytes)
{
    load(u, "", UI_PLAIN);
    pango_layout_set_text(u->layout, text, (int)bytes);
    pango_layout_set_width(u->layout, -1);
    PangoRectangle box;
    pango_layout_get_extents(u->layout, NULL, &box);
    return (double)box.width / PANGO_SCALE;
}
