/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_export_formats.h"
#include "viz/viz_session.h"
#include "viz/viz_text.h"

#include <math.h>
#include <stdbool.h>
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

static bool has_layers(const viz_scene *scene)
{
    for (size_t p = 0; p < scene->n_panels; p++) {
        const viz_panel *panel = &scene->panels[p];
        if (panel->n_fields + panel->n_classes + panel->n_isolines > 0) {
            return true;
        }
    }
    return false;
}

/* Begins a row: panel, name and, in a table with layers, the piece. */
static void put_head(viz_bytes *out, size_t panel, const char *name, bool layers, size_t piece)
{
    viz_bytes_format(out, "%zu,", panel + 1);
    put_quoted(out, name);
    if (layers) {
        viz_bytes_format(out, ",%zu", piece);
    }
}

static void put_cell(viz_bytes *out, double value)
{
    viz_bytes_text(out, ",");
    put_number(out, value);
}

static double position(size_t i, size_t n, double lo, double hi)
{
    return n > 1 ? lo + (double)i * (hi - lo) / (double)(n - 1) : 0.5 * (lo + hi);
}

/* All samples of a lattice, `values` or `labels`; a sparse one without those that are missing. */
static void put_lattice(viz_bytes *out, size_t panel, const char *name, const viz_lattice *lattice,
                        const double *values, const int32_t *labels, bool sparse)
{
    const size_t n = lattice->nx * lattice->ny;
    for (size_t k = 0; k < n && !out->failed; k++) {
        if (sparse && isnan(values[k])) {
            continue;
        }
        put_head(out, panel, name, true, 0);
        put_cell(out, position(k % lattice->nx, lattice->nx, lattice->x0, lattice->x1));
        put_cell(out, position(k / lattice->nx, lattice->ny, lattice->y0, lattice->y1));
        if (values != NULL) {
            put_cell(out, values[k]);
        } else {
            viz_bytes_format(out, ",%d", (int)labels[k]);
        }
        viz_bytes_text(out, "\n");
    }
}

static void put_isolines(viz_bytes *out, size_t panel, const viz_isolines *lines)
{
    for (size_t k = 0; k < lines->n_lines; k++) {
        for (size_t i = lines->first[k]; i < lines->first[k + 1]; i++) {
            put_head(out, panel, lines->name, true, k + 1);
            put_cell(out, lines->x[i]);
            put_cell(out, lines->y[i]);
            put_cell(out, lines->level[k]);
            viz_bytes_text(out, "\n");
        }
    }
}

static void put_series(viz_bytes *out, size_t panel, const viz_series *series, bool layers)
{
    for (size_t i = 0; i < series->n; i++) {
        put_head(out, panel, series->name, layers, 0);
        put_cell(out, series->x[i]);
        put_cell(out, series->y[i]);
        if (layers && series->z != NULL) {
            put_cell(out, series->z[i]);
            viz_bytes_text(out, "\n");
        } else {
            viz_bytes_text(out, layers ? ",\n" : "\n");
        }
    }
}

kern_status viz_export_csv(viz_bytes *out, const viz_scene *scene, const char *title,
                           const char *session, kern_error *err)
{
    const bool layers = has_layers(scene);
    char label[256];
    viz_bytes_text(out, "# basin figure\n");
    if (title[0] != '\0') {
        put_comment(out, "# title: ", title);
    }
    if (layers && scene->bar.label != NULL) {
        (void)viz_text_plain(label, sizeof label, scene->bar.label);
        put_comment(out, "# value: ", label);
    }
    if (session != NULL) {
        put_comment(out, VIZ_SESSION_CSV, session);
    }
    viz_bytes_text(out, layers ? "panel,series,piece,x,y,value\n" : "panel,series,x,y\n");
    for (size_t p = 0; p < scene->n_panels; p++) {
        const viz_panel *panel = &scene->panels[p];
        for (size_t i = 0; i < panel->n_fields; i++) {
            const viz_field *f = &panel->fields[i];
            put_lattice(out, p, f->name, &f->lattice, f->values, NULL, f->ink);
        }
        for (size_t i = 0; i < panel->n_classes; i++) {
            const viz_classes *c = &panel->classes[i];
            put_lattice(out, p, c->name, &c->lattice, NULL, c->labels, false);
        }
        for (size_t i = 0; i < panel->n_isolines; i++) {
            put_isolines(out, p, &panel->isolines[i]);
        }
        for (size_t i = 0; i < panel->n_series; i++) {
            put_series(out, p, &panel->series[i], layers);
        }
    }
    return viz_bytes_check(out, err);
}
