/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_export.h"

#include "models/model_file.h"
#include "viz/viz_export_formats.h"
#include "viz/viz_session.h"
#include "viz/viz_text.h"

#include <stdbool.h>
#include <string.h>

enum { TITLE_ROOM = 512 };

typedef enum format { FORMAT_PDF, FORMAT_SVG, FORMAT_PNG, FORMAT_CSV, FORMAT_COUNT } format;

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool ends_with(const char *path, const char *extension)
{
    const size_t n = strlen(extension);
    const size_t length = strlen(path);
    for (size_t i = 0; i < n; i++) {
        if (length <= n || lower(path[length - n + i]) != extension[i]) {
            return false;
        }
    }
    return true;
}

static kern_status format_of(format *out, const char *path, kern_error *err)
{
    static const char *const extensions[FORMAT_COUNT] = {".pdf", ".svg", ".png", ".csv"};
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (ends_with(path, extensions[i])) {
            *out = (format)i;
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "the figure file \"%s\" must end in .pdf, .svg, .png or .csv", path);
}

kern_status viz_export_check_path(const char *path, kern_error *err)
{
    format unused;
    KERN_TRY(format_of(&unused, path, err));
    return model_file_check_target(path, err);
}

static kern_status encode(viz_bytes *out, format kind, const viz_scene *scene,
                          const viz_export_options *options, kern_error *err)
{
    char title[TITLE_ROOM] = "";
    if (scene->title != NULL) {
        (void)viz_text_plain(title, sizeof title, scene->title);
    }
    switch (kind) {
    case FORMAT_PDF:
        return viz_export_pdf(out, scene, title, options->session, err);
    case FORMAT_SVG:
        return viz_export_svg(out, scene, title, options->session, err);
    case FORMAT_PNG:
        return viz_export_png(out, scene, title, options->session,
                              options->dpi == 0.0 ? VIZ_DPI_DEFAULT : options->dpi, err);
    case FORMAT_CSV:
        return viz_export_csv(out, scene, title, options->session, err);
    case FORMAT_COUNT:
        break;
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "the figure's file format is unknown");
}

kern_status viz_export(const viz_scene *scene, const char *path, const viz_export_options *options,
                       kern_error *err)
{
    static const viz_export_options defaults = {.dpi = 0.0, .session = NULL};
    const viz_export_options *use = options != NULL ? options : &defaults;
    format kind;
    KERN_TRY(format_of(&kind, path, err));
    if (use->session != NULL) {
        KERN_TRY(viz_session_check(use->session, err));
    }
    viz_bytes bytes = {0};
    kern_status status = encode(&bytes, kind, scene, use, err);
    if (status == KERN_OK) {
        status = viz_bytes_check(&bytes, err);
    }
    if (status == KERN_OK) {
        const model_file_chunk chunk = {bytes.data, bytes.size};
        status = model_file_write_atomic(path, &chunk, 1, err);
    }
    viz_bytes_fini(&bytes);
    return status;
}
