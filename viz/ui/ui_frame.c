/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The frame around the widgets: its beginning, and what is left to do once all have been called.
 */
#include "viz/ui/ui_internal.h"

#include "viz/viz_text.h"

#include <string.h>

/* The layout belongs to a context; each frame may bring another. */
static void make_layout(ui *u)
{
    if (u->layout != NULL) {
        g_object_unref(u->layout);
    }
    u->layout = pango_cairo_create_layout(u->frame.cr);
    viz_canvas_plain_fonts(u->layout);
}

void ui_begin(ui *u, const ui_frame *frame)
{
    u->frame = *frame;
    cairo_save(frame->cr);
    make_layout(u);
    u->n_nodes = 0;
    memset(u->taken, 0, sizeof u->taken);
    u->text_taken = false;
    u->restless = false;
    u->blocked = false;
    u->overflow = false;
    u->popup.seen = false;
    if (frame->input->n_keys > 0) {
        u->show_focus = true;
    } else if (frame->input->pressed) {
        u->show_focus = false;
    }
}

static bool focusable(const ui_node *node)
{
    return node->enabled && node->role != UI_ROLE_LABEL && node->role != UI_ROLE_ITEM;
}

/* The focus goes to the next node that takes it, in the order of the calls and around the ends. */
static void move_focus(ui *u, bool back)
{
    size_t at = u->n_nodes;
    for (size_t i = 0; i < u->n_nodes; i++) {
        if (focusable(&u->nodes[i]) && ui_has_focus(u, u->nodes[i].id)) {
            at = i;
        }
    }
    for (size_t k = 1; k <= u->n_nodes; k++) {
        size_t i = 0;
        if (at == u->n_nodes) {
            i = back ? u->n_nodes - k : k - 1;
        } else {
            i = (back ? at + u->n_nodes - k : at + k) % u->n_nodes;
        }
        if (focusable(&u->nodes[i])) {
            ui_focus(u, u->nodes[i].id);
            u->restless = true;
            return;
        }
    }
}

static void take_tabs(ui *u)
{
    const ui_input *in = u->frame.input;
    for (size_t i = 0; i < in->n_keys && i < UI_KEYS_MAX; i++) {
        if (!u->taken[i] && in->keys[i].code == UI_TAB) {
            u->taken[i] = true;
            move_focus(u, in->keys[i].shift);
        }
    }
}

/* Items are numbered by their lists, and are many. */
static const char *twice(const ui *u)
{
    for (size_t i = 0; i < u->n_nodes; i++) {
        for (size_t j = 0; j < i && u->nodes[i].role != UI_ROLE_ITEM; j++) {
            if (ui_same(u->nodes[i].id, u->nodes[j].id)) {
                return u->nodes[i].id;
            }
        }
    }
    return NULL;
}

kern_status ui_end(ui *u, kern_error *err)
{
    ui_popup_draw(u);
    take_tabs(u);
    if (u->frame.input->released) {
        u->active[0] = '\0';
    }
    u->last_x = u->frame.input->x;
    u->last_y = u->frame.input->y;
    cairo_restore(u->frame.cr);
    const cairo_status_t status = cairo_status(u->frame.cr);
    u->frame.input = NULL;
    if (status != CAIRO_STATUS_SUCCESS) {
        return kern_raise(err, KERN_IO, "the widgets could not be drawn: %s",
                          cairo_status_to_string(status));
    }
    if (u->overflow) {
        return kern_raise(err, KERN_OVERFLOW, "a frame has more than %d widgets", UI_NODES_MAX);
    }
    const char *id = twice(u);
    if (id != NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "two widgets of a frame have the id \"%s\"",
                          id);
    }
    return KERN_OK;
}
