/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_session_pdf.h"

#include "models/model_utf8.h"
#include "viz/viz_session.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { XREF_ENTRY = 20 };

typedef struct cursor {
    const char *data;
    size_t size, at;
} cursor;

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == '\0';
}

static void skip_space(cursor *c)
{
    while (c->at < c->size && is_space(c->data[c->at])) {
        c->at++;
    }
}

/* Skips spaces and then `word`; false when something else follows. */
static bool accept(cursor *c, const char *word)
{
    const size_t n = strlen(word);
    skip_space(c);
    if (c->size - c->at < n || memcmp(c->data + c->at, word, n) != 0) {
        return false;
    }
    c->at += n;
    return true;
}

static bool accept_number(cursor *c, size_t *out)
{
    skip_space(c);
    const size_t start = c->at;
    size_t value = 0;
    while (c->at < c->size && c->data[c->at] >= '0' && c->data[c->at] <= '9') {
        if (value > SIZE_MAX / 10 - 1) {
            return false;
        }
        value = 10 * value + (size_t)(c->data[c->at] - '0');
        c->at++;
    }
    *out = value;
    return c->at > start;
}

/* Puts the cursor behind the last `word` of the file. */
static bool seek_last(cursor *c, const char *word)
{
    const size_t n = strlen(word);
    for (size_t i = c->size; i-- > 0;) {
        if (c->size - i >= n && memcmp(c->data + i, word, n) == 0) {
            c->at = i + n;
            return true;
        }
    }
    return false;
}

/* Moves to the object that the trailer names as document information. */
static bool seek_info(cursor *c)
{
    size_t object;
    size_t table;
    size_t first;
    size_t count;
    size_t offset;
    size_t ignored;
    if (!seek_last(c, "/Info") || !accept_number(c, &object)) {
        return false;
    }
    if (!seek_last(c, "startxref") || !accept_number(c, &table) || table >= c->size) {
        return false;
    }
    c->at = table;
    if (!accept(c, "xref") || !accept_number(c, &first) || !accept_number(c, &count)) {
        return false;
    }
    skip_space(c);
    if (object < first || object - first >= count ||
        (c->size - c->at) / XREF_ENTRY <= object - first) {
        return false;
    }
    c->at += (object - first) * XREF_ENTRY;
    if (!accept_number(c, &offset) || offset >= c->size) {
        return false;
    }
    c->at = offset;
    return accept_number(c, &ignored) && ignored == object && accept_number(c, &ignored) &&
           accept(c, "obj") && accept(c, "<<");
}

/* Reads "( … )" with its escapes. */
static bool read_literal(cursor *c, viz_bytes *out)
{
    size_t depth = 1;
    for (c->at++; c->at < c->size; c->at++) {
        char byte = c->data[c->at];
        if (byte == '\\' && c->at + 1 < c->size) {
            byte = c->data[++c->at];
        } else if (byte == '(') {
            depth++;
        } else if (byte == ')' && --depth == 0) {
            c->at++;
            return true;
        }
        viz_bytes_append(out, &byte, 1);
    }
    return false;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads "< hex >". */
static bool read_hex(cursor *c, viz_bytes *out)
{
    int high = -1;
    for (c->at++; c->at < c->size; c->at++) {
        const char byte = c->data[c->at];
        if (byte == '>') {
            c->at++;
            return high < 0;
        }
        if (is_space(byte)) {
            continue;
        }
        const int digit = hex_digit(byte);
        if (digit < 0) {
            return false;
        }
        if (high < 0) {
            high = digit;
        } else {
            const char whole = (char)(16 * high + digit);
            viz_bytes_append(out, &whole, 1);
            high = -1;
        }
    }
    return false;
}

static uint32_t unit_at(const viz_bytes *text, size_t i)
{
    return (uint32_t)((unsigned)(unsigned char)text->data[i] << 8 |
                      (unsigned char)text->data[i + 1]);
}

/* Converts UTF-16 with a big-endian mark to UTF-8; a text without the mark is ASCII already. */
static bool to_utf8(viz_bytes *out, const viz_bytes *text)
{
    if (text->size < 2 || unit_at(text, 0) != 0xfeff) {
        viz_bytes_append(out, text->data, text->size);
        return true;
    }
    for (size_t i = 2; i + 1 < text->size; i += 2) {
        uint32_t point = unit_at(text, i);
        if (point >= 0xd800 && point < 0xdc00 && i + 3 < text->size) {
            i += 2;
            point = 0x10000 + ((point - 0xd800) << 10) + (unit_at(text, i) - 0xdc00);
        }
        if ((point >= 0xd800 && point < 0xe000) || point > 0x10ffff) {
            return false;
        }
        char piece[MODEL_UTF8_MAX + 1];
        viz_bytes_append(out, piece, model_utf8_encode(piece, point));
    }
    return true;
}

/* Reads the value at the cursor into `value` when it is a string; other values are skipped. */
static bool read_value(cursor *c, viz_bytes *value)
{
    skip_space(c);
    if (c->at < c->size && c->data[c->at] == '(') {
        return read_literal(c, value);
    }
    if (c->at < c->size && c->data[c->at] == '<') {
        return read_hex(c, value);
    }
    while (c->at < c->size && c->data[c->at] != '/' && c->data[c->at] != '>') {
        c->at++;
    }
    return c->at < c->size;
}

/* Walks the dictionary and converts the value of Keywords. */
static bool read_keywords(cursor *c, viz_bytes *out)
{
    for (;;) {
        viz_bytes value = {0};
        skip_space(c);
        if (accept(c, ">>")) {
            return true;
        }
        if (c->at >= c->size || c->data[c->at] != '/') {
            return false;
        }
        const size_t name = ++c->at;
        while (c->at < c->size && !is_space(c->data[c->at]) && c->data[c->at] != '(' &&
               c->data[c->at] != '<' && c->data[c->at] != '/') {
            c->at++;
        }
        const bool wanted = c->at - name == 8 && memcmp(c->data + name, "Keywords", 8) == 0;
        bool ok = read_value(c, &value);
        if (ok && wanted) {
            ok = to_utf8(out, &value);
        }
        viz_bytes_fini(&value);
        if (!ok || wanted) {
            return ok;
        }
    }
}

kern_status viz_session_pdf_read(viz_bytes *out, const char *data, size_t size, const char *path,
                                 kern_error *err)
{
    cursor c = {data, size, 0};
    viz_bytes text = {0};
    static const char head[] = VIZ_SESSION_KEY " ";
    const size_t skip = sizeof head - 1;
    const bool ok = seek_info(&c) && read_keywords(&c, &text);
    if (ok && text.size > skip && memcmp(text.data, head, skip) == 0) {
        viz_bytes_append(out, text.data + skip, text.size - skip);
    }
    out->failed = out->failed || text.failed;
    viz_bytes_fini(&text);
    if (!ok) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the document information of the PDF %s cannot be read; a figure "
                          "written by basin is needed",
                          path);
    }
    return KERN_OK;
}
