/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_draw.h"
#include "viz/viz_export_cairo.h"
#include "viz/viz_export_formats.h"
#include "viz/viz_session.h"
#include "viz/viz_text.h"

#include <cairo-svg.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX = 24, NOTE_ROOM = 2048 };

/* The number of an identifier: how many others appeared before it. A long trajectory has a clip
 * path at every marker, hence the table. */
static size_t number_of(GHashTable *numbers, const char *start, size_t length)
{
    char *name = g_strndup(start, length);
    gpointer number;
    if (g_hash_table_lookup_extended(numbers, name, NULL, &number)) {
        g_free(name);
        return GPOINTER_TO_SIZE(number);
    }
    const size_t next = g_hash_table_size(numbers);
    (void)g_hash_table_insert(numbers, name, GSIZE_TO_POINTER(next));
    return next;
}

/* Bytes of the opening of an identifier or of a reference at `s`, or 0. */
static size_t opening(const char *s, size_t left)
{
    static const char *const openings[] = {" id=\"", "href=\"#", "url(#"};
    for (size_t i = 0; i < 3; i++) {
        const size_t n = strlen(openings[i]);
        if (left > n && memcmp(s, openings[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

/* Rewrites identifiers as PREFIX-number. cairo numbers surfaces through the whole process, so its
 * own names differ between two exports of one scene, and they repeat between two figures. */
static void rename_ids(viz_bytes *out, const viz_bytes *svg, const char *prefix)
{
    GHashTable *numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    size_t copied = 0;
    for (size_t i = 0; i < svg->size; i++) {
        const size_t n = opening(svg->data + i, svg->size - i);
        if (n == 0) {
            continue;
        }
        const size_t start = i + n;
        size_t end = start;
        while (end < svg->size && svg->data[end] != '"' && svg->data[end] != ')') {
            end++;
        }
        viz_bytes_append(out, svg->data + copied, start - copied);
        viz_bytes_format(out, "%s-%zu", prefix, number_of(numbers, svg->data + start, end - start));
        copied = end;
        i = end;
    }
    viz_bytes_append(out, svg->data + copied, svg->size - copied);
    g_hash_table_destroy(numbers);
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static uint64_t hash_bytes(const viz_bytes *bytes)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes->size; i++) {
        h = (h ^ (unsigned char)bytes->data[i]) * 0x100000001b3u;
    }
    return h;
}

static kern_status draw_svg(viz_bytes *out, const viz_scene *scene, kern_error *err)
{
    cairo_surface_t *surface =
        cairo_svg_surface_create_for_stream(viz_export_sink, out, scene->width, scene->height);
    cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PT);
    cairo_t *cr = cairo_create(surface);
    kern_status status = viz_draw(cr, scene, NULL, err);
    cairo_destroy(cr);
    cairo_surface_finish(surface);
    if (status == KERN_OK) {
        status = viz_export_cairo(cairo_surface_status(surface), err);
    }
    cairo_surface_destroy(surface);
    return status;
}

/* Title and description for readers of the page, and the session for basin. */
static void put_texts(viz_bytes *out, const viz_scene *scene, const char *title,
                      const char *session)
{
    if (title[0] != '\0') {
        viz_bytes_text(out, "\n<title>");
        viz_bytes_xml(out, title);
        viz_bytes_text(out, "</title>");
    }
    if (scene->note != NULL || scene->description != NULL) {
        const char *seen = scene->description != NULL ? scene->description : "";
        char note[NOTE_ROOM] = "";
        if (scene->note != NULL) {
            (void)viz_text_plain(note, sizeof note, scene->note);
        }
        viz_bytes_text(out, "\n<desc>");
        viz_bytes_xml(out, seen);
        viz_bytes_text(out, seen[0] != '\0' && note[0] != '\0' ? " " : "");
        viz_bytes_xml(out, note);
        viz_bytes_text(out, "</desc>");
    }
    if (session != NULL) {
        viz_bytes_text(out, "\n<metadata id=\"" VIZ_SESSION_KEY "\">");
        viz_bytes_xml(out, session);
        viz_bytes_text(out, "</metadata>");
    }
}

/* End of the opening <svg …> tag, or 0. */
static size_t root_end(const viz_bytes *svg)
{
    for (size_t i = 0; i + 4 < svg->size; i++) {
        if (memcmp(svg->data + i, "<svg", 4) == 0) {
            const char *end = memchr(svg->data + i, '>', svg->size - i);
            return end == NULL ? 0 : (size_t)(end - svg->data) + 1;
        }
    }
    return 0;
}

kern_status viz_export_svg(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, kern_error *err)
{
    viz_bytes raw = {0};
    viz_bytes numbered = {0};
    viz_bytes final = {0};
    kern_status status = draw_svg(&raw, scene, err);
    if (status == KERN_OK) {
        char prefix[PREFIX];
        rename_ids(&numbered, &raw, "b");
        (void)snprintf(prefix, sizeof prefix, "b%016llx",
                       (unsigned long long)hash_bytes(&numbered));
        rename_ids(&final, &raw, prefix);
        out->failed = out->failed || numbered.failed || final.failed;
        const size_t split = root_end(&final);
        if (split == 0 && !out->failed) {
            status = kern_raise(err, KERN_IO, "cairo wrote an incomplete SVG drawing");
        }
        if (split > 0) {
            viz_bytes_append(out, final.data, split);
            put_texts(out, scene, title, session);
            viz_bytes_append(out, final.data + split, final.size - split);
        }
    }
    viz_bytes_fini(&raw);
    viz_bytes_fini(&numbered);
    viz_bytes_fini(&final);
    return status;
}
