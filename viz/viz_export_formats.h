/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Encoders behind viz_export: each appends a whole file to a buffer. `session` may be NULL and
 * has been checked; `title` is plain text, empty without a title.
 */
#ifndef BASIN_VIZ_EXPORT_FORMATS_H
#define BASIN_VIZ_EXPORT_FORMATS_H

#include "viz/viz_bytes.h"
#include "viz/viz_scene.h"

#include <cairo.h>

kern_status viz_export_pdf(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, kern_error *err);
kern_status viz_export_svg(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, kern_error *err);
kern_status viz_export_png(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, double dpi, kern_error *err);

/* Columns panel, series, x, y, one row per point; comment lines carry title and session. */
kern_status viz_export_csv(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, kern_error *err);

/* Write callback of cairo's stream functions; `closure` is a viz_bytes. */
cairo_status_t viz_export_sink(void *closure, const unsigned char *data, unsigned int size);

/* KERN_IO with cairo's own words unless `status` is success. */
kern_status viz_export_cairo(cairo_status_t status, kern_error *err);

#endif
