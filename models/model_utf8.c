/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_utf8.h"

#include <stdio.h>
#include <string.h>

/* Length that a first byte announces, 0 when no character begins so; *bits gets its payload and
 * *least the smallest code point that needs this length. */
static size_t read_first_byte(unsigned char byte, uint32_t *bits, uint32_t *least)
{
    if (byte < 0x80) {
        *bits = byte;
        *least = 0;
        return 1;
    }
    if (byte >= 0xc0 && byte < 0xe0) {
        *bits = byte & 0x1fu;
        *least = 0x80;
        return 2;
    }
    if (byte >= 0xe0 && byte < 0xf0) {
        *bits = byte & 0x0fu;
        *least = 0x800;
        return 3;
    }
    if (byte >= 0xf0 && byte < 0xf8) {
        *bits = byte & 0x07u;
        *least = 0x10000;
        return 4;
    }
    return 0;
}

size_t model_utf8_decode(const char *text, size_t size, uint32_t *point)
{
    uint32_t bits;
    uint32_t least;
    if (size == 0) {
        return 0;
    }
    const size_t length = read_first_byte((unsigned char)text[0], &bits, &least);
    if (length == 0 || length > size) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if ((byte & 0xc0u) != 0x80u) {
            return 0;
        }
        bits = (bits << 6) | (byte & 0x3fu);
    }
    if (bits < least || bits > 0x10ffff || (bits >= 0xd800 && bits <= 0xdfff)) {
        return 0;
    }
    *point = bits;
    return length;
}

size_t model_utf8_encode(char out[MODEL_UTF8_MAX + 1], uint32_t point)
{
    size_t length = 1;
    if (point >= 0x80) {
        length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    }
    static const unsigned char marks[MODEL_UTF8_MAX + 1] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80u | (point & 0x3fu));
        point >>= 6;
    }
    out[0] = (char)(marks[length] | point);
    out[length] = '\0';
    return length;
}

kern_status model_utf8_require(const char *text, size_t size, kern_error *err)
{
    size_t line = 1;
    uint32_t point = 0;
    for (size_t at = 0; at < size;) {
        const size_t length = model_utf8_decode(text + at, size - at, &point);
        if (length == 0 || point == 0) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "byte 0x%02x at offset %zu (line %zu) is not text: UTF-8 without NUL "
                              "bytes is accepted",
                              (unsigned)(unsigned char)text[at], at, line);
        }
        line += point == '\n';
        at += length;
    }
    return KERN_OK;
}

/* Form of the character at text[0] inside a sentence; returns the bytes it consumes. */
static size_t quote_one(char out[MODEL_UTF8_MAX + 1], const char *text, size_t size)
{
    uint32_t point;
    const size_t length = model_utf8_decode(text, size, &point);
    if (length > 0 && point >= 0x20 && !(point >= 0x7f && point < 0xa0)) {
        memcpy(out, text, length);
        out[length] = '\0';
        return length;
    }
    static const char controls[] = "\n\t\r";
    static const char *const names[] = {"\\n", "\\t", "\\r"};
    const char *const found = text[0] != '\0' ? strchr(controls, text[0]) : NULL;
    if (found != NULL) {
        (void)snprintf(out, MODEL_UTF8_MAX + 1, "%s", names[found - controls]);
    } else {
        (void)snprintf(out, MODEL_UTF8_MAX + 1, "\\x%02x", (unsigned)(unsigned char)text[0]);
    }
    return 1;
}

void model_utf8_quote(char out[MODEL_UTF8_QUOTE], const char *text, size_t size)
{
    static const char ellipsis[] = "...";
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        char piece[MODEL_UTF8_MAX + 1];
        at += quote_one(piece, text + at, size - at);
        const size_t length = strlen(piece);
        if (used + length + sizeof ellipsis > MODEL_UTF8_QUOTE) {
            memcpy(out + used, ellipsis, sizeof ellipsis);
            return;
        }
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
}
