/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_export_formats.h"
#include "viz/viz_session.h"

#include <math.h>
#include <string.h>

/* Quotes a field (RFC 4180): quotation marks are doubled. */
static void put_quoted(viz_bytes *out, const char *text)
{
    viz_bytes_text(out, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            viz_bytes_text(out, "\"");
        }
        viz_bytes_append(out, text, 1);
    }
    viz_bytes_text(out, "\"");
}

/* Seventeen digits restore a double exactly; values that are not finite get the words that common
 * readers know. */
static void put_number(viz_bytes *out, double value)
{
    if (isnan(value)) {
        viz_bytes_text(out, "nan");
    } else if (isinf(value)) {
        viz_bytes_text(out, value > 0.0 ? "inf" : "-inf");
    } else {
        viz_bytes_format(out, "%.17g", value);
    }
}

/* Writes every line of `text` behind `mark`. */
static void put_comment(viz_bytes *out, const char *mark, const char *text)
{
    while (text != NULL) {
        const char *end = strchr(text, '\n');
        viz_bytes_text(out, mark);
        viz_bytes_append(out, text, end == NULL ? strlen(text) : (size_t)(end - text));
        viz_bytes_text(out, "\n");
        text = end == NULL ? NULL : end + 1;
    }
}

kern_status viz_export_csv(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, kern_error *err)
{
    viz_bytes_text(out, "# basin figure\n");
    if (title[0] != '\0') {
        put_comment(out, "# title: ", title);
    }
    if (session != NULL) {
        put_comment(out, VIZ_SESSION_CSV, session);
    }
    viz_bytes_text(out, "panel,series,x,y\n");
    for (size_t p = 0; p < scene->n_panels; p++) {
        const viz_panel *panel = &scene->panels[p];
        for (size_t s = 0; s < panel->n_series; s++) {
            const viz_series *series = &panel->series[s];
            for (size_t i = 0; i < series->n; i++) {
                viz_bytes_format(out, "%zu,", p + 1);
                put_quoted(out, series->name);
                viz_bytes_text(out, ",");
                put_number(out, series->x[i]);
                viz_bytes_text(out, ",");
                put_number(out, series->y[i]);
                viz_bytes_text(out, "\n");
            }
        }
    }
    return viz_bytes_check(out, err);
}
