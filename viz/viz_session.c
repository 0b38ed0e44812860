/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_session.h"

#include "models/model_file.h"
#include "models/model_utf8.h"
#include "viz/viz_bytes.h"
#include "viz/viz_session_pdf.h"
#include "viz/viz_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 30, PNG_HEAD = 8, PNG_CHUNK_HEAD = 8, PNG_CHUNK_TAIL = 4 };

static const char svg_open[] = "<metadata id=\"" VIZ_SESSION_KEY "\">";

kern_status viz_session_check(const char *text, kern_error *err)
{
    const size_t size = strlen(text);
    if (size == 0 || size > VIZ_SESSION_MAX) {
        return kern_raise(err, KERN_BAD_INPUT, "a session of %zu bytes is outside 1 to %d bytes",
                          size, VIZ_SESSION_MAX);
    }
    if (!viz_text_is_utf8(text)) {
        return kern_raise(err, KERN_BAD_INPUT, "the session is not valid UTF-8");
    }
    for (const char *s = text; *s != '\0'; s++) {
        const unsigned char c = (unsigned char)*s;
        if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "the session holds the control character 0x%02x at byte %zu; only "
                              "tab and newline are accepted",
                              (unsigned)c, (size_t)(s - text));
        }
    }
    return KERN_OK;
}

/* First place of `needle` in the `size` bytes at `data`, or NULL. */
static const char *find_bytes(const char *data, size_t size, const char *needle)
{
    const size_t n = strlen(needle);
    for (size_t i = 0; n <= size && i <= size - n; i++) {
        if (memcmp(data + i, needle, n) == 0) {
            return data + i;
        }
    }
    return NULL;
}

static void read_svg(viz_bytes *out, const char *data, size_t size)
{
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;"};
    static const char plain[] = {'&', '<', '>'};
    const char *from = find_bytes(data, size, svg_open);
    if (from == NULL) {
        return;
    }
    from += sizeof svg_open - 1;
    const char *end = find_bytes(from, size - (size_t)(from - data), "</metadata>");
    while (end != NULL && from < end) {
        size_t step = 1;
        char c = *from;
        for (size_t k = 0; k < 3; k++) {
            const size_t n = strlen(entity[k]);
            if ((size_t)(end - from) >= n && memcmp(from, entity[k], n) == 0) {
                c = plain[k];
                step = n;
            }
        }
        viz_bytes_append(out, &c, 1);
        from += step;
    }
}

static uint32_t big_endian(const char *data)
{
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++) {
        value = (value << 8) | (unsigned char)data[i];
    }
    return value;
}

static void read_png(viz_bytes *out, const char *data, size_t size)
{
    /* Keyword, its zero, compression flag and method, then an empty language and an empty
     * translated keyword with their zeros: five zero bytes in all. */
    static const char head[] = VIZ_SESSION_KEY "\0\0\0\0";
    size_t at = PNG_HEAD;
    while (size - at >= PNG_CHUNK_HEAD + PNG_CHUNK_TAIL) {
        const size_t length = big_endian(data + at);
        const char *body = data + at + PNG_CHUNK_HEAD;
        if (length > size - at - PNG_CHUNK_HEAD - PNG_CHUNK_TAIL) {
            return;
        }
        if (memcmp(data + at + 4, "iTXt", 4) == 0 && length >= sizeof head &&
            memcmp(body, head, sizeof head) == 0) {
            viz_bytes_append(out, body + sizeof head, length - sizeof head);
            return;
        }
        at += PNG_CHUNK_HEAD + length + PNG_CHUNK_TAIL;
    }
}

static void read_csv(viz_bytes *out, const char *data, size_t size)
{
    const size_t mark = strlen(VIZ_SESSION_CSV);
    bool first = true;
    for (size_t at = 0; at < size;) {
        const char *line = data + at;
        const char *end = memchr(line, '\n', size - at);
        const size_t length = end == NULL ? size - at : (size_t)(end - line);
        if (line[0] != '#') {
            return;
        }
        if (length >= mark && memcmp(line, VIZ_SESSION_CSV, mark) == 0) {
            viz_bytes_append(out, "\n", first ? 0 : 1);
            viz_bytes_append(out, line + mark, length - mark);
            first = false;
        }
        at += length + 1;
    }
}

static bool starts(const char *data, size_t size, const char *magic)
{
    const size_t n = strlen(magic);
    return size >= n && memcmp(data, magic, n) == 0;
}

static kern_status read_any(viz_bytes *out, const char *data, size_t size, const char *path,
                            kern_error *err)
{
    if (starts(data, size, "%PDF-")) {
        return viz_session_pdf_read(out, data, size, path, err);
    }
    if (starts(data, size, "\x89PNG\r\n\x1a\n")) {
        read_png(out, data, size);
    } else if (starts(data, size, "<?xml") || starts(data, size, "<svg")) {
        read_svg(out, data, size);
    } else if (starts(data, size, "# basin ")) {
        read_csv(out, data, size);
    } else {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s is not a PDF, SVG, PNG or CSV figure written by basin", path);
    }
    return KERN_OK;
}

kern_status viz_session_read(char **text, const char *path, kern_error *err)
{
    char *data = NULL;
    size_t size = 0;
    viz_bytes out = {0};
    *text = NULL;
    KERN_TRY(model_file_read(path, FILE_LIMIT, &data, &size, err));
    kern_status status = read_any(&out, data, size, path, err);
    free(data);
    if (status == KERN_OK && out.size == 0 && !out.failed) {
        status = kern_raise(err, KERN_NOT_FOUND, "%s carries no session", path);
    }
    if (status == KERN_OK) {
        kern_error why = {0};
        status = model_utf8_require(out.data, out.size, &why);
        if (status != KERN_OK) {
            (void)kern_raise(err, status, "the session in %s: %s", path, why.text);
        }
    }
    viz_bytes_append(&out, "", 1);
    if (status == KERN_OK) {
        status = viz_bytes_check(&out, err);
    }
    if (status != KERN_OK) {
        viz_bytes_fini(&out);
        return status;
    }
    *text = out.data;
    return KERN_OK;
}
