/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Encoders behind viz_export: each appends a whole file to a buffer. `session` may be NULL and
 * has been checked; `title` is plain text, empty without a title.
 */
#ifndef BASIN_VIZ_EXPORT_FORMATS_H
#define BASIN_VIZ_EXPORT_FORMATS_H

#include "viz/viz_bytes.h"
#include "viz/viz_scene.h"

kern_status viz_export_pdf(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, kern_error *err);
kern_status viz_export_svg(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, kern_error *err);
kern_status viz_export_png(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, double dpi, kern_error *err);

/* Columns panel, series, x, y, one row per point; comment lines carry title and session. A scene
 * with layers has the columns panel, series, piece, x, y, value: samples of fields (of ink only
 * where there is some) and labels of classes (piece 0), vertices of isolines (piece k for the k-th
 * line, value its level), and points of series (piece 0, no value); a comment line "# value: " has
 * the label of its bar, which names the values and their unit. */
kern_status viz_export_csv(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, kern_error *err);

#endif
