/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text being typed, and the text field.
 */
#include "viz/ui/ui_internal.h"

#include <string.h>

/* Bytes to the neighbouring character; continuation bytes of UTF-8 begin with the bits 10. */
static size_t before(const char *text, size_t at)
{
    size_t i = at;
    do {
        i -= i > 0;
    } while (i > 0 && ((unsigned char)text[i] & 0xc0u) == 0x80u);
    return i;
}

static size_t after(const char *text, size_t at)
{
    size_t i = at + (text[at] != '\0');
    while (((unsigned char)text[i] & 0xc0u) == 0x80u) {
        i++;
    }
    return i;
}

static void cut(char *text, size_t from, size_t to)
{
    memmove(text + from, text + to, strlen(text + to) + 1);
}

/* Text that does not fit as a whole is left out, so that no character is cut. */
static bool insert(char *text, size_t size, size_t *caret, const char *more)
{
    const size_t n = strlen(more);
    const size_t have = strlen(text);
    if (n == 0 || have + n >= size) {
        return false;
    }
    memmove(text + *caret + n, text + *caret, have - *caret + 1);
    memcpy(text + *caret, more, n);
    *caret += n;
    return true;
}

static bool delete_keys(ui *u, char *text, size_t *caret)
{
    bool changed = false;
    while (*caret > 0 && ui_take_key(u, UI_BACKSPACE, 0, false)) {
        const size_t from = before(text, *caret);
        cut(text, from, *caret);
        *caret = from;
        changed = true;
    }
    while (text[*caret] != '\0' && ui_take_key(u, UI_DELETE, 0, false)) {
        cut(text, *caret, after(text, *caret));
        changed = true;
    }
    return changed;
}

static bool accepts(const char *accepted, char letter)
{
    return accepted == NULL || (letter != '\0' && strchr(accepted, letter) != NULL);
}

/* A letter typed comes as text and as a key; the key is then no command. */
static void swallow_letters(ui *u, const char *accepted)
{
    const ui_input *in = u->frame.input;
    for (size_t i = 0; i < in->n_keys && i < UI_KEYS_MAX; i++) {
        const ui_key *key = &in->keys[i];
        const char letter = key->code == UI_SPACE ? ' ' : key->letter;
        if (!key->ctrl && (key->code == UI_LETTER || key->code == UI_SPACE) &&
            accepts(accepted, letter)) {
            u->taken[i] = true;
        }
    }
}

/* Bytes beyond ASCII are accepted with everything or not at all, so that none is left alone. */
static bool insert_typed(ui *u, char *text, size_t size, size_t *caret, const char *accepted)
{
    char more[UI_TEXT_MAX];
    size_t n = 0;
    if (u->text_taken) {
        return false;
    }
    for (const char *at = u->frame.input->text; *at != '\0' && n + 1 < sizeof more; at++) {
        if (accepts(accepted, *at)) {
            more[n++] = *at;
        }
    }
    more[n] = '\0';
    u->text_taken = true;
    return insert(text, size, caret, more);
}

bool ui_edit_apply(ui *u, char *text, size_t size, size_t *caret, const char *accepted)
{
    const size_t end = strlen(text);
    *caret = *caret > end ? end : *caret;
    bool changed = insert_typed(u, text, size, caret, accepted);
    swallow_letters(u, accepted);
    changed = delete_keys(u, text, caret) || changed;
    while (ui_take_key(u, UI_LEFT, 0, false)) {
        *caret = before(text, *caret);
    }
    while (ui_take_key(u, UI_RIGHT, 0, false)) {
        *caret = after(text, *caret);
    }
    if (ui_take_key(u, UI_HOME, 0, false)) {
        *caret = 0;
    }
    if (ui_take_key(u, UI_END, 0, false)) {
        *caret = strlen(text);
    }
    return changed;
}

static void draw_caret(ui *u, viz_rect rect, const char *text, size_t caret)
{
    const double x = rect.x + 7.0 + ui_text_width(u, text, caret);
    if (x < rect.x + rect.w) {
        ui_paint(u, VIZ_PAINT_INK);
        cairo_rectangle(u->frame.cr, x, rect.y + 4.0, 1.5, rect.h - 8.0);
        cairo_fill(u->frame.cr);
    }
}

bool ui_field(ui *u, const char *id, viz_rect rect, const char *label, char *text, size_t size)
{
    ui_node *node = ui_add(u, id, UI_ROLE_FIELD, label, rect, true);
    (void)ui_interact(u, node);
    node->focused = ui_has_focus(u, id);
    bool entered = false;
    if (node->focused) {
        if (!ui_same(u->edit.id, id)) {
            ui_copy_id(u->edit.id, id);
            u->edit.caret = strlen(text);
        }
        (void)ui_edit_apply(u, text, size, &u->edit.caret, NULL);
        entered = ui_focus_key(u, id, UI_ENTER);
    }
    ui_copy_text(node->value, sizeof node->value, text);
    ui_face(u, node, 0.0);
    if (text[0] == '\0') {
        ui_text(u, rect, label, UI_FAINT, 0.0);
    } else {
        ui_text(u, rect, text, UI_PLAIN, 0.0);
    }
    if (node->focused) {
        draw_caret(u, rect, text, u->edit.caret);
    }
    return entered;
}
