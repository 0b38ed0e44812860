/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_gather.h"

#include <ctype.h>
#include <string.h>

void view_gather_begin(ui_input *in)
{
    *in =
        (ui_input){.x = in->x, .y = in->y, .down = in->down, .shift = in->shift, .ctrl = in->ctrl};
}

static bool has_keys(const ui_input *in)
{
    return in->n_keys > 0 || in->text[0] != '\0';
}

static bool has_button(const ui_input *in)
{
    return in->pressed || in->released;
}

bool view_gather_modifiers(ui_input *in, bool shift, bool ctrl)
{
    if ((has_button(in) || in->wheel != 0.0) && (shift != in->shift || ctrl != in->ctrl)) {
        return false;
    }
    in->shift = shift;
    in->ctrl = ctrl;
    return true;
}

/* A key that comes with text. */
static bool is_letter(const ui_key *key)
{
    return !key->ctrl && (key->code == UI_LETTER || key->code == UI_SPACE);
}

/* A second Enter is for what the first one has brought. */
static bool is_repeat(const ui_key *a, const ui_key *b)
{
    return a->code != UI_ENTER && a->code == b->code && a->letter == b->letter &&
           a->shift == b->shift && a->ctrl == b->ctrl;
}

bool view_gather_key(ui_input *in, const ui_key *key)
{
    if (has_button(in) || in->n_keys == UI_KEYS_MAX) {
        return false;
    }
    if (in->n_keys > 0) {
        const ui_key *last = &in->keys[in->n_keys - 1];
        const bool word = is_letter(last) && is_letter(key);
        if (!word && (is_letter(last) || !is_repeat(last, key))) {
            return false;
        }
    }
    in->keys[in->n_keys++] = *key;
    return true;
}

bool view_gather_text(ui_input *in, const char *text)
{
    const size_t have = strlen(in->text);
    const size_t more = strlen(text);
    ui_key *last = in->n_keys > 0 ? &in->keys[in->n_keys - 1] : NULL;
    if (in->ctrl || more >= sizeof in->text) {
        return true;
    }
    if (has_button(in) || have + more >= sizeof in->text || (last != NULL && !is_letter(last))) {
        return false;
    }
    if (last != NULL && last->code == UI_LETTER && more == 1 && text[0] > ' ') {
        last->letter = (char)tolower((unsigned char)text[0]);
    }
    memcpy(in->text + have, text, more + 1);
    return true;
}

bool view_gather_button(ui_input *in, bool down, double x, double y)
{
    if (has_keys(in) || has_button(in)) {
        return false;
    }
    in->x = x;
    in->y = y;
    in->pressed = down;
    in->released = !down && in->down;
    in->down = down;
    return true;
}

bool view_gather_motion(ui_input *in, double x, double y)
{
    if (has_button(in)) {
        return false;
    }
    in->x = x;
    in->y = y;
    return true;
}

bool view_gather_wheel(ui_input *in, double lines)
{
    if (has_keys(in) || has_button(in)) {
        return false;
    }
    in->wheel += lines;
    return true;
}
