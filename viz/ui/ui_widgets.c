/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Labels, buttons, toggles, and pictures that take the pointer.
 */
#include "viz/ui/ui_internal.h"

void ui_label(ui *u, const char *id, viz_rect rect, const char *text, ui_tone tone)
{
    (void)ui_add(u, id, UI_ROLE_LABEL, text, rect, true);
    ui_text(u, rect, text, tone, 0.0);
}

void ui_panel(ui *u, viz_rect rect)
{
    ui_paint_mix(u, VIZ_PAINT_PAGE, VIZ_PAINT_INK, 0.03);
    cairo_rectangle(u->frame.cr, rect.x, rect.y, rect.w, rect.h);
    cairo_fill(u->frame.cr);
}

void ui_sheet(ui *u, viz_rect rect)
{
    const viz_paint page = viz_paint_of(VIZ_PAINT_PAGE);
    const viz_rgb c = viz_colour_resolve(&page, u->frame.theme);
    cairo_set_source_rgba(u->frame.cr, c.r, c.g, c.b, 0.6);
    cairo_rectangle(u->frame.cr, 0.0, 0.0, u->frame.width, u->frame.height);
    cairo_fill(u->frame.cr);
    const ui_node edge = {.rect = rect, .enabled = true};
    ui_face(u, &edge, 0.0);
}

bool ui_button(ui *u, const char *id, viz_rect rect, const char *label, bool enabled)
{
    const ui_node *node = ui_add(u, id, UI_ROLE_BUTTON, label, rect, enabled);
    const ui_touch touch = ui_interact(u, node);
    ui_face(u, node, touch.active ? 1.0 : touch.hot ? 0.5 : 0.0);
    ui_text(u, rect, label, node->enabled ? UI_PLAIN : UI_FAINT, 0.5);
    return touch.clicked;
}

static void draw_tick(ui *u, viz_rect box)
{
    cairo_t *cr = u->frame.cr;
    cairo_move_to(cr, box.x + 0.22 * box.w, box.y + 0.52 * box.h);
    cairo_line_to(cr, box.x + 0.42 * box.w, box.y + 0.74 * box.h);
    cairo_line_to(cr, box.x + 0.80 * box.w, box.y + 0.26 * box.h);
    ui_paint(u, VIZ_PAINT_INK);
    cairo_set_line_width(cr, 2.0);
    cairo_stroke(cr);
}

bool ui_toggle(ui *u, const char *id, viz_rect rect, const char *label, bool *on)
{
    ui_node *node = ui_add(u, id, UI_ROLE_TOGGLE, label, rect, true);
    const ui_touch touch = ui_interact(u, node);
    if (touch.clicked) {
        *on = !*on;
    }
    ui_copy_text(node->value, sizeof node->value, *on ? "on" : "off");
    ui_node face = *node;
    face.rect = (viz_rect){rect.x, rect.y + (rect.h - 16.0) / 2.0, 16.0, 16.0};
    ui_face(u, &face, touch.active ? 1.0 : touch.hot ? 0.5 : 0.0);
    if (*on) {
        draw_tick(u, face.rect);
    }
    ui_text(u, (viz_rect){rect.x + 16.0, rect.y, rect.w - 16.0, rect.h}, label, UI_PLAIN, 0.0);
    return touch.clicked;
}

ui_canvas_event ui_canvas(ui *u, const char *id, viz_rect rect, const char *label,
                          const char *value)
{
    const ui_input *in = u->frame.input;
    ui_node *node = ui_add(u, id, UI_ROLE_CANVAS, label, rect, true);
    ui_copy_text(node->value, sizeof node->value, value);
    const ui_touch touch = ui_interact(u, node);
    const bool dragged = touch.active && !in->pressed;
    return (ui_canvas_event){.hovered = touch.hot,
                             .pressed = touch.active && in->pressed,
                             .dragged = dragged,
                             .released = touch.active && in->released,
                             .x = in->x - rect.x,
                             .y = in->y - rect.y,
                             .dx = dragged ? in->x - u->last_x : 0.0,
                             .dy = dragged ? in->y - u->last_y : 0.0,
                             .wheel = touch.hot ? in->wheel : 0.0};
}
