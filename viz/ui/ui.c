/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What widgets keep and ask: nodes, the focus, keys, the pointer. It calls no widget.
 */
#include "viz/ui/ui_internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const roles[UI_ROLE_COUNT] = {
    [UI_ROLE_LABEL] = "label",   [UI_ROLE_BUTTON] = "button", [UI_ROLE_TOGGLE] = "toggle",
    [UI_ROLE_SLIDER] = "slider", [UI_ROLE_CHOICE] = "choice", [UI_ROLE_LIST] = "list",
    [UI_ROLE_ITEM] = "item",     [UI_ROLE_FIELD] = "field",   [UI_ROLE_CANVAS] = "canvas"};

const char *ui_role_word(ui_role role)
{
    return (unsigned)role < UI_ROLE_COUNT ? roles[role] : NULL;
}

kern_status ui_create(ui **out, kern_error *err)
{
    *out = NULL;
    ui *u = calloc(1, sizeof *u);
    ui_node *nodes = calloc(UI_NODES_MAX, sizeof *nodes);
    if (u == NULL || nodes == NULL) {
        free(u);
        free(nodes);
        return kern_raise(err, KERN_NO_MEMORY, "memory for the widgets was refused by the system");
    }
    u->nodes = nodes;
    *out = u;
    return KERN_OK;
}

void ui_destroy(ui *u)
{
    if (u == NULL) {
        return;
    }
    if (u->layout != NULL) {
        g_object_unref(u->layout);
    }
    free(u->nodes);
    free(u);
}

bool ui_same(const char *a, const char *b)
{
    return a[0] != '\0' && strncmp(a, b, UI_ID_MAX) == 0;
}

void ui_copy_text(char *to, size_t size, const char *text)
{
    size_t n = strlen(text);
    if (n >= size) {
        /* A continuation byte of UTF-8 begins with the bits 10; it is not the place to cut. */
        for (n = size - 1; n > 0 && ((unsigned char)text[n] & 0xc0u) == 0x80u; n--) {
        }
    }
    memcpy(to, text, n);
    to[n] = '\0';
}

void ui_copy_id(char *to, const char *id)
{
    ui_copy_text(to, UI_ID_MAX, id);
}

bool ui_inside(const viz_rect *rect, double x, double y)
{
    return x >= rect->x && x < rect->x + rect->w && y >= rect->y && y < rect->y + rect->h;
}

ui_node *ui_add(ui *u, const char *id, ui_role role, const char *label, viz_rect rect, bool enabled)
{
    if (u->n_nodes == UI_NODES_MAX) {
        u->overflow = true;
        u->n_nodes--; /* the last one is overwritten, and ui_end tells of it */
    }
    ui_node *node = &u->nodes[u->n_nodes++];
    *node = (ui_node){.role = role, .rect = rect, .enabled = enabled && !u->blocked};
    ui_copy_id(node->id, id);
    ui_copy_text(node->label, sizeof node->label, label);
    node->focused = node->enabled && ui_has_focus(u, id);
    return node;
}

bool ui_has_focus(const ui *u, const char *id)
{
    return ui_same(u->focus, id);
}

void ui_edit_stop(ui *u)
{
    memset(&u->edit, 0, sizeof u->edit);
}

bool ui_typing(const ui *u)
{
    return u->edit.id[0] != '\0';
}

void ui_focus(ui *u, const char *id)
{
    if (!ui_same(u->focus, id != NULL ? id : "")) {
        ui_edit_stop(u);
        u->restless = true;
    }
    ui_copy_id(u->focus, id != NULL ? id : "");
}

bool ui_shows_focus(const ui *u)
{
    return u->show_focus;
}

void ui_block(ui *u, bool on)
{
    u->blocked = on;
}

bool ui_take_key(ui *u, ui_code code, char letter, bool ctrl)
{
    const ui_input *in = u->frame.input;
    for (size_t i = 0; i < in->n_keys && i < UI_KEYS_MAX; i++) {
        const ui_key *key = &in->keys[i];
        if (!u->taken[i] && key->code == code && key->ctrl == ctrl && key->letter == letter) {
            u->taken[i] = true;
            return true;
        }
    }
    return false;
}

bool ui_focus_key(ui *u, const char *id, ui_code code)
{
    return ui_has_focus(u, id) && ui_take_key(u, code, 0, false);
}

/* An open list covers what is below it. */
static bool covered(const ui *u, const ui_node *node)
{
    const ui_input *in = u->frame.input;
    return u->popup.id[0] != '\0' && !ui_same(u->popup.id, node->id) &&
           ui_inside(&u->popup.rect, in->x, in->y);
}

ui_touch ui_interact(ui *u, const ui_node *node)
{
    const ui_input *in = u->frame.input;
    ui_touch touch = {0};
    if (!node->enabled) {
        return touch;
    }
    touch.hot = ui_inside(&node->rect, in->x, in->y) && !covered(u, node);
    if (touch.hot && in->pressed) {
        ui_copy_id(u->active, node->id);
        ui_focus(u, node->id);
    }
    touch.active = ui_same(u->active, node->id);
    if (touch.active && in->released) {
        touch.clicked = touch.hot;
    }
    if (node->role == UI_ROLE_BUTTON || node->role == UI_ROLE_TOGGLE ||
        node->role == UI_ROLE_CHOICE) {
        const bool key = ui_focus_key(u, node->id, UI_ENTER) || ui_focus_key(u, node->id, UI_SPACE);
        touch.clicked = touch.clicked || key;
    }
    return touch;
}

bool ui_restless(const ui *u)
{
    return u->restless;
}

const ui_node *ui_nodes(const ui *u, size_t *count)
{
    *count = u->n_nodes;
    return u->nodes;
}

const ui_node *ui_find(const ui *u, const char *id)
{
    for (size_t i = 0; i < u->n_nodes; i++) {
        if (ui_same(u->nodes[i].id, id)) {
            return &u->nodes[i];
        }
    }
    return NULL;
}

ui_scroll *ui_scroll_of(ui *u, const char *id)
{
    size_t slot = UI_SCROLLS - 1; /* more scrolled widgets than slots share the last */
    for (size_t i = UI_SCROLLS; i-- > 0;) {
        if (ui_same(u->scrolls[i].id, id)) {
            return &u->scrolls[i];
        }
        slot = u->scrolls[i].id[0] == '\0' ? i : slot;
    }
    ui_copy_id(u->scrolls[slot].id, id);
    u->scrolls[slot].offset = 0.0;
    u->scrolls[slot].chosen = SIZE_MAX;
    return &u->scrolls[slot];
}

viz_rect ui_row(viz_rect *rest, double h)
{
    const viz_rect row = {rest->x, rest->y, rest->w, h};
    rest->y += h + UI_GAP;
    rest->h -= h + UI_GAP;
    return row;
}

viz_rect ui_part(viz_rect row, size_t i, size_t n)
{
    const double w = (row.w - UI_GAP * (double)(n - 1)) / (double)n;
    return (viz_rect){row.x + (double)i * (w + UI_GAP), row.y, w, row.h};
}
