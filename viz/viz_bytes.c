/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_bytes.h"

#include "kernels/kern_size.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096, FORMAT_ROOM = 256 };

void viz_bytes_fini(viz_bytes *bytes)
{
    free(bytes->data);
    *bytes = (viz_bytes){0};
}

void viz_bytes_append(viz_bytes *bytes, const void *data, size_t size)
{
    size_t needed;
    if (bytes->failed || size == 0) {
        return;
    }
    if (!kern_size_add(bytes->size, size, &needed)) {
        bytes->failed = true;
        return;
    }
    if (needed > bytes->room) {
        size_t room = 0;
        if (!kern_size_mul(bytes->room, 2, &room)) {
            room = needed;
        }
        room = kern_size_max(kern_size_max(room, needed), FIRST_ROOM);
        char *larger = realloc(bytes->data, room);
        if (larger == NULL) {
            bytes->failed = true;
            return;
        }
        bytes->data = larger;
        bytes->room = room;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size = needed;
}

void viz_bytes_text(viz_bytes *bytes, const char *text)
{
    viz_bytes_append(bytes, text, strlen(text));
}

void viz_bytes_format(viz_bytes *bytes, const char *format, ...)
{
    char text[FORMAT_ROOM];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    viz_bytes_text(bytes, text);
}

void viz_bytes_xml(viz_bytes *bytes, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            viz_bytes_text(bytes, "&amp;");
            break;
        case '<':
            viz_bytes_text(bytes, "&lt;");
            break;
        case '>':
            viz_bytes_text(bytes, "&gt;");
            break;
        default:
            viz_bytes_append(bytes, text, 1);
        }
    }
}

kern_status viz_bytes_check(const viz_bytes *bytes, kern_error *err)
{
    if (bytes->failed) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for an exported file was refused");
    }
    return KERN_OK;
}
