/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_draw.h"
#include "viz/viz_export_cairo.h"
#include "viz/viz_export_formats.h"
#include "viz/viz_export_limits.h"
#include "viz/viz_session.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Signature and header chunk: 8 bytes, then length, type, 13 bytes of body and checksum. */
enum { PNG_FIRST = 8 + 4 + 4 + 13 + 4 };

/* CRC-32 with the reflected polynomial 0xEDB88320 (ISO/IEC 15948, annex D), bit by bit: chunks
 * made here are small. */
static uint32_t crc_add(uint32_t crc, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned char)data[i];
        for (int k = 0; k < 8; k++) {
            crc = (crc & 1u) != 0 ? (crc >> 1) ^ 0xedb88320u : crc >> 1;
        }
    }
    return crc;
}

static void put_u32(viz_bytes *out, uint32_t value)
{
    const unsigned char b[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                (unsigned char)(value >> 8), (unsigned char)value};
    viz_bytes_append(out, b, sizeof b);
}

static void put_chunk(viz_bytes *out, const char *type, const viz_bytes *body)
{
    put_u32(out, (uint32_t)body->size);
    viz_bytes_append(out, type, 4);
    viz_bytes_append(out, body->data, body->size);
    put_u32(out, ~crc_add(crc_add(0xffffffffu, type, 4), body->data, body->size));
    out->failed = out->failed || body->failed;
}

/* iTXt: keyword, zero, no compression (two zeros), empty language and translated keyword. */
static void put_text(viz_bytes *out, const char *keyword, const char *text)
{
    viz_bytes body = {0};
    viz_bytes_append(&body, keyword, strlen(keyword) + 1);
    viz_bytes_append(&body, "\0\0\0\0", 4);
    viz_bytes_text(&body, text);
    put_chunk(out, "iTXt", &body);
    viz_bytes_fini(&body);
}

static void put_resolution(viz_bytes *out, double dpi)
{
    viz_bytes body = {0};
    const uint32_t per_metre = (uint32_t)lround(dpi / 0.0254);
    put_u32(&body, per_metre);
    put_u32(&body, per_metre);
    viz_bytes_append(&body, "\1", 1);
    put_chunk(out, "pHYs", &body);
    viz_bytes_fini(&body);
}

static kern_status check_size(const viz_scene *scene, double dpi, kern_error *err)
{
    if (!(dpi >= VIZ_DPI_MIN && dpi <= VIZ_DPI_MAX)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the resolution %g is outside %g to %g dots per inch", dpi, VIZ_DPI_MIN,
                          VIZ_DPI_MAX);
    }
    const double w = scene->width * dpi / 72.0;
    const double h = scene->height * dpi / 72.0;
    if (!(w <= VIZ_PIXELS_SIDE && h <= VIZ_PIXELS_SIDE && w * h <= (double)VIZ_PIXELS_TOTAL)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the image of %.0f by %.0f pixels is larger than %d a side or %d in all; "
                          "a lower resolution than %g is needed",
                          w, h, VIZ_PIXELS_SIDE, VIZ_PIXELS_TOTAL, dpi);
    }
    return KERN_OK;
}

/* Draws on an image whose sides are rounded up to whole pixels. */
static kern_status draw_image(viz_bytes *out, const viz_scene *scene, double dpi, kern_error *err)
{
    const int w = (int)ceil(scene->width * dpi / 72.0 - 1e-6);
    const int h = (int)ceil(scene->height * dpi / 72.0 - 1e-6);
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h);
    cairo_t *cr = cairo_create(surface);
    /* The last pixels may lie partly beyond the page; they get its colour as well. */
    const viz_paint page = viz_paint_of(VIZ_PAINT_PAGE);
    const viz_rgb c = viz_colour_resolve(&page, scene->theme);
    cairo_set_source_rgb(cr, c.r, c.g, c.b);
    cairo_paint(cr);
    cairo_scale(cr, dpi / 72.0, dpi / 72.0);
    kern_status status = viz_draw(cr, scene, NULL, err);
    cairo_destroy(cr);
    if (status == KERN_OK) {
        status =
            viz_export_cairo(cairo_surface_write_to_png_stream(surface, viz_export_sink, out), err);
    }
    cairo_surface_destroy(surface);
    return status;
}

kern_status viz_export_png(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, double dpi, kern_error *err)
{
    viz_bytes image = {0};
    KERN_TRY(check_size(scene, dpi, err));
    kern_status status = draw_image(&image, scene, dpi, err);
    if (status == KERN_OK && image.size < PNG_FIRST) {
        status = kern_raise(err, KERN_IO, "cairo wrote an incomplete PNG image");
    }
    if (status == KERN_OK) {
        viz_bytes_append(out, image.data, PNG_FIRST);
        put_resolution(out, dpi);
        if (title[0] != '\0') {
            put_text(out, "Title", title);
        }
        put_text(out, "Software", "Basin");
        if (session != NULL) {
            put_text(out, VIZ_SESSION_KEY, session);
        }
        viz_bytes_append(out, image.data + PNG_FIRST, image.size - PNG_FIRST);
    }
    viz_bytes_fini(&image);
    return status;
}
