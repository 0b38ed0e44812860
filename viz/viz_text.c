/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_text.h"

#include "models/model_utf8.h"

#include <pango/pango.h>
#include <stdio.h>
#include <string.h>

#define SPACE_SIGN    "\xe2\x90\xa3"                 /* U+2423 */
#define NEWLINE_SIGN  "\xe2\x8f\x8e"                 /* U+23CE */
#define TAB_SIGN      "\xe2\x87\xa5"                 /* U+21E5 */
#define NO_BREAK      "\xc2\xa0"                     /* U+00A0 */
#define EMPTY_SIGN    "\xe2\x88\x85"                 /* U+2205 */
#define ELLIPSIS_SIGN "\xe2\x80\xa6"                 /* U+2026 */
#define BYTE_FORMAT   "\xe2\x9f\xa8%02X\xe2\x9f\xa9" /* U+27E8 hh U+27E9 */

enum { PIECE = 16 };

/* Bounded output that never holds part of a character. */
typedef struct writer {
    char *out;
    size_t size, used;
    bool full;
} writer;

static void write_piece(writer *w, const char *piece, size_t bytes)
{
    if (w->full || w->size == 0 || bytes >= w->size - w->used) {
        w->full = true;
        return;
    }
    memcpy(w->out + w->used, piece, bytes);
    w->used += bytes;
}

static size_t finish(writer *w)
{
    if (w->size > 0) {
        w->out[w->used] = '\0';
    }
    return w->used;
}

/* Bytes of the UTF-8 character at `s`, a zero-terminated text, or 0 when there is none. */
static size_t character_bytes(const char *s)
{
    size_t left = 1;
    while (left < MODEL_UTF8_MAX && s[left - 1] != '\0') {
        left++;
    }
    uint32_t point;
    return model_utf8_decode(s, left, &point);
}

bool viz_text_is_utf8(const char *text)
{
    while (*text != '\0') {
        const size_t n = character_bytes(text);
        if (n == 0) {
            return false;
        }
        text += n;
    }
    return true;
}

kern_status viz_text_check(const char *markup, kern_error *err)
{
    if (!viz_text_is_utf8(markup)) {
        return kern_raise(err, KERN_BAD_INPUT, "a text of the figure is not valid UTF-8");
    }
    if (strlen(markup) > VIZ_TEXT_MAX) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "a text of the figure has %zu bytes; at most %d are accepted",
                          strlen(markup), VIZ_TEXT_MAX);
    }
    if (!pango_parse_markup(markup, -1, 0, NULL, NULL, NULL, NULL)) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the text \"%.200s\" is not valid Pango markup; write &lt; for < and "
                          "&amp; for &",
                          markup);
    }
    return KERN_OK;
}

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

size_t viz_text_escape(char *out, size_t size, const char *text)
{
    writer w = {out, size, 0, false};
    while (*text != '\0') {
        const char *entity = entity_of(*text);
        const size_t n = character_bytes(text);
        const size_t step = n > 0 ? n : 1;
        if (entity != NULL) {
            write_piece(&w, entity, strlen(entity));
        } else {
            write_piece(&w, text, step);
        }
        text += step;
    }
    return finish(&w);
}

/* Visible form of the character of `n` bytes at `s` (n = 0: a stray byte); returns its bytes. */
static size_t visible_piece(char piece[PIECE], const char *s, size_t n)
{
    const unsigned char c = (unsigned char)s[0];
    int made = 0;
    if (c == ' ') {
        made = snprintf(piece, PIECE, SPACE_SIGN);
    } else if (c == '\n') {
        made = snprintf(piece, PIECE, NEWLINE_SIGN);
    } else if (c == '\t') {
        made = snprintf(piece, PIECE, TAB_SIGN);
    } else if (n == 0 || c < 0x20 || c == 0x7f) {
        made = snprintf(piece, PIECE, BYTE_FORMAT, (unsigned)c);
    } else {
        memcpy(piece, s, n);
        made = (int)n;
    }
    return (size_t)made;
}

size_t viz_text_token(char *out, size_t size, const char *token, size_t max_characters)
{
    writer w = {out, size, 0, false};
    if (*token == '\0') {
        write_piece(&w, EMPTY_SIGN, strlen(EMPTY_SIGN));
    }
    for (size_t count = 0; *token != '\0'; count++) {
        const size_t n = character_bytes(token);
        const size_t step = n > 0 ? n : 1;
        if (count + 1 >= max_characters && token[step] != '\0') {
            write_piece(&w, ELLIPSIS_SIGN, strlen(ELLIPSIS_SIGN));
            break;
        }
        char piece[PIECE];
        write_piece(&w, piece, visible_piece(piece, token, n));
        token += step;
    }
    return finish(&w);
}

size_t viz_text_plain(char *out, size_t size, const char *markup)
{
    writer w = {out, size, 0, false};
    char *text = NULL;
    const bool parsed =
        viz_text_is_utf8(markup) && pango_parse_markup(markup, -1, 0, NULL, &text, NULL, NULL);
    const char *s = parsed ? text : markup;
    while (*s != '\0') {
        const size_t n = character_bytes(s);
        const size_t step = n > 0 ? n : 1;
        write_piece(&w, s, step);
        s += step;
    }
    const size_t used = finish(&w);
    g_free(text);
    return used;
}

size_t viz_text_bind(char *out, size_t size, const char *markup)
{
    writer w = {out, size, 0, false};
    const char *start = markup;
    bool tag = false;
    while (*markup != '\0') {
        const size_t n = character_bytes(markup);
        const size_t step = n > 0 ? n : 1;
        tag = *markup == '<' || (tag && markup[-1] != '>');
        const char before = markup > start ? markup[-1] : ' ';
        const char behind = *markup == ' ' ? markup[1] : ' ';
        const bool number = behind >= '0' && behind <= '9' && before >= 'a' && before <= 'z';
        const bool tied =
            !tag && *markup == ' ' && (behind == '=' || behind == '%' || before == '=' || number);
        write_piece(&w, tied ? NO_BREAK : markup, tied ? strlen(NO_BREAK) : step);
        markup += step;
    }
    return finish(&w);
}

size_t viz_text_scripts(char *out, size_t size, const char *markup)
{
    static const struct {
        const char *tag, *span;
    } table[] = {
        {"<sub>", "<span size=\"72%\" rise=\"-1600\">"},
        {"<sup>", "<span size=\"72%\" rise=\"2900\">"},
        {"</sub>", "</span>"},
        {"</sup>", "</span>"},
    };
    writer w = {out, size, 0, false};
    while (*markup != '\0') {
        size_t step = character_bytes(markup);
        step = step > 0 ? step : 1;
        const char *piece = markup;
        size_t bytes = step;
        for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
            const size_t n = strlen(table[i].tag);
            if (strncmp(markup, table[i].tag, n) == 0) {
                piece = table[i].span;
                bytes = strlen(piece);
                step = n;
            }
        }
        write_piece(&w, piece, bytes);
        markup += step;
    }
    return finish(&w);
}
