/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lists, and choices that open one.
 */
#include "viz/ui/ui_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROW ((double)UI_ROW)

static bool move_index(ui *u, const char *id, size_t n, size_t page, size_t *index)
{
    const size_t old = *index;
    while (ui_focus_key(u, id, UI_UP)) {
        *index -= *index > 0;
    }
    while (ui_focus_key(u, id, UI_DOWN)) {
        *index += *index + 1 < n;
    }
    while (ui_focus_key(u, id, UI_PAGE_UP)) {
        *index -= *index > page ? page : *index;
    }
    while (ui_focus_key(u, id, UI_PAGE_DOWN)) {
        *index = *index + page < n ? *index + page : n - 1;
    }
    if (ui_focus_key(u, id, UI_HOME)) {
        *index = 0;
    }
    if (ui_focus_key(u, id, UI_END)) {
        *index = n - 1;
    }
    return *index != old;
}

#define SHARE_LEAST 0.005
#define SHARE_WIDTH 58.0 /* of the percentage */

/* The bar's whole is the row; returns the width that the percentage takes at its end. */
static double draw_share(ui *u, viz_rect row, double share)
{
    char text[16];
    if (!(share >= SHARE_LEAST)) {
        return 0.0;
    }
    const viz_rgb colour = viz_colour_class(0, u->frame.theme);
    cairo_set_source_rgb(u->frame.cr, colour.r, colour.g, colour.b);
    cairo_rectangle(u->frame.cr, row.x + 6.0, row.y + row.h - 4.0,
                    fmin(share, 1.0) * (row.w - 12.0), 3.0);
    cairo_fill(u->frame.cr);
    (void)snprintf(text, sizeof text, "%.0f %%", 100.0 * share);
    ui_text(u, (viz_rect){row.x + row.w - SHARE_WIDTH - 6.0, row.y, SHARE_WIDTH, row.h}, text,
            UI_FAINT, 1.0);
    return SHARE_WIDTH;
}

/* What stands in a row: its text, and behind it the value. */
static void write_row(const ui_rows *rows, size_t i, char *out, size_t size)
{
    out[0] = '\0';
    rows->text(rows->context, i, out, size);
    const size_t used = strlen(out);
    if (rows->value != NULL && used + sizeof UI_BETWEEN < size) {
        memcpy(out + used, UI_BETWEEN, sizeof UI_BETWEEN);
        rows->value(rows->context, i, out + used + sizeof UI_BETWEEN - 1,
                    size - used - sizeof UI_BETWEEN + 1);
        if (out[used + sizeof UI_BETWEEN - 1] == '\0') {
            out[used] = '\0';
        }
    }
}

static void draw_row(ui *u, viz_rect row, const ui_rows *rows, size_t i, bool chosen)
{
    cairo_t *cr = u->frame.cr;
    if (chosen) {
        ui_paint_mix(u, VIZ_PAINT_PAGE, VIZ_PAINT_INK, 0.16);
        cairo_rectangle(cr, row.x, row.y, row.w, row.h);
        cairo_fill(cr);
    }
    viz_rgb colour;
    if (rows->mark != NULL && rows->mark(rows->context, i, &colour)) {
        cairo_set_source_rgb(cr, colour.r, colour.g, colour.b);
        cairo_rectangle(cr, row.x + 6.0, row.y + row.h / 2.0 - 5.0, 10.0, 10.0);
        cairo_fill(cr);
    }
    char text[UI_TEXT_MAX] = "";
    char value[UI_TEXT_MAX] = "";
    rows->text(rows->context, i, text, sizeof text);
    if (rows->value != NULL) {
        rows->value(rows->context, i, value, sizeof value);
    }
    const double shift = rows->mark != NULL ? 14.0 : 0.0;
    const double taken =
        rows->share != NULL ? draw_share(u, row, rows->share(rows->context, i)) : 0.0;
    ui_tint tint;
    const bool tinted = rows->tint != NULL && rows->tint(rows->context, i, &tint);
    ui_text_pair(u, (viz_rect){row.x + shift, row.y, row.w - shift - taken, row.h}, text, value,
                 chosen ? UI_STRONG : UI_PLAIN, tinted ? &tint : NULL);
}

static void draw_bar(ui *u, viz_rect rect, double offset, double whole)
{
    if (whole <= rect.h) {
        return;
    }
    const double size = fmax(16.0, rect.h * rect.h / whole);
    const double at = rect.y + (rect.h - size) * offset / (whole - rect.h);
    ui_paint(u, VIZ_PAINT_MUTED);
    ui_box(u, (viz_rect){rect.x + rect.w - 6.0, at, 4.0, size}, 2.0);
    cairo_fill(u->frame.cr);
}

/* Node of row `i`; `rect` is what of the list's rectangle the row would take. */
static void add_row(ui *u, const ui_node *list, const ui_rows *rows, size_t i, viz_rect rect,
                    bool chosen)
{
    char id[UI_ID_MAX + 24];
    char text[UI_TEXT_MAX] = "";
    const double top = fmax(rect.y, list->rect.y);
    const double foot = fmin(rect.y + rect.h, list->rect.y + list->rect.h);
    rows->text(rows->context, i, text, sizeof text);
    (void)snprintf(id, sizeof id, "%.20s.%zu", list->id, i);
    ui_node *node = ui_add(u, id, UI_ROLE_ITEM, text, rect, list->enabled);
    node->hidden = !(top < foot);
    node->rect = node->hidden ? (viz_rect){list->rect.x, list->rect.y, 0.0, 0.0}
                              : (viz_rect){rect.x, top, rect.w, foot - top};
    node->chosen = chosen;
    if (rows->value != NULL) {
        rows->value(rows->context, i, node->value, sizeof node->value);
    }
    const double share = rows->share != NULL ? rows->share(rows->context, i) : 0.0;
    if (share >= SHARE_LEAST) {
        const size_t used = strlen(node->value);
        (void)snprintf(node->value + used, sizeof node->value - used, "%s%.0f %%",
                       used > 0 ? ", " : "", 100.0 * share);
    }
}

static void draw_rows(ui *u, const ui_node *list, const ui_rows *rows, double offset, size_t chosen)
{
    const viz_rect rect = list->rect;
    cairo_save(u->frame.cr);
    cairo_rectangle(u->frame.cr, rect.x + 1.0, rect.y + 1.0, rect.w - 2.0, rect.h - 2.0);
    cairo_clip(u->frame.cr);
    for (size_t i = 0; i < rows->n; i++) {
        const viz_rect row = {rect.x, rect.y + (double)i * ROW - offset, rect.w, ROW};
        if (row.y + row.h > rect.y && row.y < rect.y + rect.h) {
            draw_row(u, row, rows, i, i == chosen);
        }
        add_row(u, list, rows, i, row, i == chosen);
    }
    draw_bar(u, rect, offset, (double)rows->n * ROW);
    cairo_restore(u->frame.cr);
}

/* Keeps the offset within the rows, and after a move the chosen row within sight. */
static void settle_offset(double *offset, viz_rect rect, size_t n, size_t chosen, bool moved)
{
    if (moved) {
        const double top = (double)chosen * ROW;
        *offset = fmin(*offset, top);
        *offset = fmax(*offset, top + ROW - rect.h);
    }
    *offset = fmax(0.0, fmin(*offset, (double)n * ROW - rect.h));
}

bool ui_list(ui *u, const char *id, viz_rect rect, const char *label, const ui_rows *rows,
             size_t *index)
{
    const ui_input *in = u->frame.input;
    ui_node *node = ui_add(u, id, UI_ROLE_LIST, label, rect, rows->n > 0);
    const ui_touch touch = ui_interact(u, node);
    ui_scroll *scroll = ui_scroll_of(u, id);
    double *offset = &scroll->offset;
    const size_t old = *index;
    const size_t page = (size_t)fmax(1.0, floor(rect.h / ROW));
    (void)(rows->n > 0 && move_index(u, id, rows->n, page, index));
    const bool moved = *index != scroll->chosen; /* by keys here, or by the caller */
    scroll->chosen = *index;
    if (touch.hot) {
        *offset -= 3.0 * ROW * in->wheel;
    }
    settle_offset(offset, rect, rows->n, *index, moved);
    const size_t at = touch.hot ? (size_t)((in->y - rect.y + *offset) / ROW) : SIZE_MAX;
    if (rows->hovered != NULL) {
        *rows->hovered = at < rows->n ? at : SIZE_MAX;
    }
    if (touch.hot && in->pressed) {
        *index = at < rows->n ? at : *index;
    }
    ui_face(u, node, 0.0);
    node->high = rows->n > 0 ? (double)(rows->n - 1) : 0.0;
    node->now = (double)*index;
    if (*index < rows->n) {
        write_row(rows, *index, node->value, sizeof node->value);
    }
    draw_rows(u, node, rows, *offset, *index);
    return *index != old;
}

/* ---- Choices ---- */

static void popup_close(ui *u)
{
    memset(&u->popup, 0, sizeof u->popup);
    u->restless = true;
}

/* What the open list of this choice got from the pointer and the keys in this frame. */
static void popup_ask(ui *u, const ui_node *node, size_t *index)
{
    const ui_input *in = u->frame.input;
    ui_popup *p = &u->popup;
    (void)move_index(u, p->id, p->n, p->n, &p->at);
    const bool over = ui_inside(&p->rect, in->x, in->y);
    if (over && (in->released || in->x != u->last_x || in->y != u->last_y)) {
        const size_t at = (size_t)((in->y - p->rect.y) / ROW);
        p->at = at < p->n ? at : p->n - 1;
    }
    const bool chosen = (over && in->released) || ui_focus_key(u, p->id, UI_ENTER) ||
                        ui_focus_key(u, p->id, UI_SPACE);
    if (chosen) {
        *index = p->at;
    }
    const bool elsewhere = in->pressed && !over && !ui_inside(&node->rect, in->x, in->y);
    if (chosen || elsewhere || ui_focus_key(u, p->id, UI_ESCAPE) || !ui_has_focus(u, p->id)) {
        popup_close(u);
    }
}

/* Below its choice, or above where there is more room. */
static void popup_open(ui *u, const ui_node *node, const char *const *options, size_t n, size_t at)
{
    const double h = (double)n * ROW;
    const double below = node->rect.y + node->rect.h;
    const bool up = below + h > u->frame.height && node->rect.y > u->frame.height - below;
    ui_copy_id(u->popup.id, node->id);
    u->popup.rect = (viz_rect){node->rect.x, up ? node->rect.y - h : below, node->rect.w, h};
    u->popup.options = options;
    u->popup.n = n;
    u->popup.at = u->popup.chosen = at;
    u->popup.seen = true;
}

bool ui_choice(ui *u, const char *id, viz_rect rect, const char *label, const char *const *options,
               size_t n, size_t *index)
{
    const size_t old = *index;
    ui_node *node = ui_add(u, id, UI_ROLE_CHOICE, label, rect, n > 0);
    bool open = ui_same(u->popup.id, id);
    if (open) {
        u->popup.options = options;
        u->popup.n = n;
        u->popup.seen = true;
        popup_ask(u, node, index);
        u->popup.chosen = *index;
    }
    const ui_touch touch = ui_interact(u, node);
    if (!open && touch.clicked && n > 0) {
        popup_open(u, node, options, n, *index);
        u->restless = true;
    } else if (open && touch.clicked) {
        popup_close(u);
    } else if (n > 0 && !ui_same(u->popup.id, id)) {
        (void)move_index(u, id, n, 1, index);
    }
    node->focused = ui_has_focus(u, id);
    node->high = n > 0 ? (double)(n - 1) : 0.0;
    node->now = (double)*index;
    const char *shown = *index < n ? options[*index] : "";
    ui_copy_text(node->value, sizeof node->value, shown);
    ui_face(u, node, touch.active ? 1.0 : touch.hot ? 0.5 : 0.0);
    char text[2 * UI_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s: %s", label, shown);
    ui_text(u, (viz_rect){rect.x, rect.y, rect.w - 16.0, rect.h}, text, UI_PLAIN, 0.0);
    ui_text(u, rect, "▾", UI_FAINT, 1.0);
    return *index != old;
}

void ui_popup_draw(ui *u)
{
    ui_popup *p = &u->popup;
    if (p->id[0] == '\0') {
        return;
    }
    if (!p->seen) {
        popup_close(u); /* its choice is gone */
        return;
    }
    ui_node face = {.rect = p->rect, .enabled = true};
    ui_face(u, &face, 0.0);
    for (size_t i = 0; i < p->n; i++) {
        const viz_rect row = {p->rect.x, p->rect.y + (double)i * ROW, p->rect.w, ROW};
        if (i == p->at) {
            ui_paint_mix(u, VIZ_PAINT_PAGE, VIZ_PAINT_INK, 0.16);
            cairo_rectangle(u->frame.cr, row.x + 1.0, row.y, row.w - 2.0, row.h);
            cairo_fill(u->frame.cr);
        }
        ui_text(u, row, p->options[i], UI_PLAIN, 0.0);
        char id[UI_ID_MAX + 24];
        (void)snprintf(id, sizeof id, "%.20s.%zu", p->id, i);
        ui_add(u, id, UI_ROLE_ITEM, p->options[i], row, true)->chosen = i == p->chosen;
    }
    p->options = NULL;
}
