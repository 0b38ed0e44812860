/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_draw.h"
#include "viz/viz_export_cairo.h"
#include "viz/viz_export_formats.h"
#include "viz/viz_session.h"

#include <cairo-pdf.h>
#include <string.h>

/* A creation date from the clock would make every export differ. */
static const char fixed_date[] = "2000-01-01T00:00:00Z";

/* cairo keeps a surface with bad metadata in an error state yet writes a file without it, so the
 * status is asked for after the metadata and again at the end. */
static kern_status set_metadata(cairo_surface_t *surface, const char *title, const char *session,
                                kern_error *err)
{
    viz_bytes keywords = {0};
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, fixed_date);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATOR, "Basin");
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, title);
    if (session != NULL) {
        viz_bytes_text(&keywords, VIZ_SESSION_KEY " ");
        viz_bytes_append(&keywords, session, strlen(session) + 1);
        if (!keywords.failed) {
            cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_KEYWORDS, keywords.data);
        }
    }
    kern_status status = viz_bytes_check(&keywords, err);
    viz_bytes_fini(&keywords);
    if (status == KERN_OK) {
        status = viz_export_cairo(cairo_surface_status(surface), err);
    }
    return status;
}

kern_status viz_export_pdf(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, kern_error *err)
{
    cairo_surface_t *surface =
        cairo_pdf_surface_create_for_stream(viz_export_sink, out, scene->width, scene->height);
    cairo_pdf_surface_restrict_to_version(surface, CAIRO_PDF_VERSION_1_5);
    kern_status status = set_metadata(surface, title, session, err);
    cairo_t *cr = cairo_create(surface);
    if (status == KERN_OK) {
        status = viz_draw(cr, scene, NULL, err);
    }
    cairo_show_page(cr);
    cairo_destroy(cr);
    cairo_surface_finish(surface);
    if (status == KERN_OK) {
        status = viz_export_cairo(cairo_surface_status(surface), err);
    }
    cairo_surface_destroy(surface);
    return status;
}
