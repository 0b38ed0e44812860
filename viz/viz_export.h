/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Export of a scene to a file. The format follows the file name's extension: .pdf, .svg, .png
 * (any case) draw it; .csv writes the numbers of its series.
 *
 * A file appears complete or not at all, and the same scene and options give the same bytes: the
 * PDF's creation date is fixed, SVG identifiers are numbered by appearance and prefixed with a
 * hash of the drawing, so that figures can be inlined in one page without clashes.
 */
#ifndef BASIN_VIZ_EXPORT_H
#define BASIN_VIZ_EXPORT_H

#include "kernels/kern_status.h"
#include "viz/viz_export_limits.h"
#include "viz/viz_scene.h"

typedef struct viz_export_options {
    double dpi;          /* PNG only; 0 means VIZ_DPI_DEFAULT */
    const char *session; /* JSON text to embed (see viz_session.h), or NULL */
} viz_export_options;

/* Writes the scene to `path`, or to the file that a symbolic link there leads to; `options` may be
 * NULL. KERN_INVALID_ARGUMENT for an unknown
 * extension, a resolution outside the limits or an image larger than they allow; KERN_BAD_INPUT
 * for a session that cannot be embedded; KERN_NOT_FOUND or KERN_IO when the file cannot be
 * written; and the failures of viz_draw. */
kern_status viz_export(const viz_scene *scene, const char *path, const viz_export_options *options,
                       kern_error *err);

/* For checking a command line before long work begins: KERN_INVALID_ARGUMENT, naming the accepted
 * extensions, unless viz_export knows the format of `path`, and the errors of
 * model_file_check_target when no file can be written there. */
kern_status viz_export_check_path(const char *path, kern_error *err);

#endif
