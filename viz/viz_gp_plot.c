/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_gp_plot.h"

#include "viz/viz_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HEIGHT_ONE 0.42 /* page height over width with one row of panels */
#define HEIGHT_TWO 0.80
#define Y_MARGIN   0.05

enum { PANELS_MAX = 4, POINTS_MAX = 1 << 20, TEXT_ROOM = 512, NOTE_ROOM = 2048, BAR_POINTS = 3 };

/* Everything the parts of the builder share. */
typedef struct builder {
    viz_scene *scene;
    const viz_gp_data *data;
    double *bars;   /* x, then y, of the error bars of one curve */
    double *shown;  /* y of one curve without what is cut */
    double ceiling; /* of the panel under construction; infinity: none */
    size_t cut;     /* points above a ceiling */
} builder;

static kern_status escape(char out[TEXT_ROOM], const char *text, kern_error *err)
{
    if (!viz_text_is_utf8(text)) {
        return kern_raise(err, KERN_BAD_INPUT, "a text of the figure is not valid UTF-8");
    }
    (void)viz_text_escape(out, TEXT_ROOM, text);
    return KERN_OK;
}

static viz_marker marker_of(size_t colour)
{
    static const viz_marker markers[] = {VIZ_MARKER_CIRCLE, VIZ_MARKER_SQUARE, VIZ_MARKER_TRIANGLE,
                                         VIZ_MARKER_CROSS};
    return markers[colour % (sizeof markers / sizeof markers[0])];
}

/* Bars of one curve as one series of short lines with gaps between them. */
static kern_status add_bars(builder *b, viz_panel *panel, const viz_gp_curve *curve,
                            kern_error *err)
{
    double *x = b->bars;
    double *y = b->bars + BAR_POINTS * curve->n;
    char name[TEXT_ROOM];
    bool any = false;
    for (size_t i = 0; curve->error != NULL && i < curve->n; i++) {
        const double e = curve->error[i];
        any = any || isfinite(e);
        for (size_t k = 0; k < BAR_POINTS; k++) {
            x[BAR_POINTS * i + k] = curve->x[i];
        }
        y[BAR_POINTS * i] = b->shown[i] - e;
        y[BAR_POINTS * i + 1] = b->shown[i] + e > b->ceiling ? b->ceiling : b->shown[i] + e;
        y[BAR_POINTS * i + 2] = (double)NAN;
    }
    if (!any) {
        return KERN_OK;
    }
    (void)snprintf(name, sizeof name, "%.200s, standard error", curve->name);
    const viz_series bars = {.name = name,
                             .x = x,
                             .y = y,
                             .n = BAR_POINTS * curve->n,
                             .style = {.paint = viz_paint_class(curve->colour), .width = 0.8}};
    return viz_scene_add_series(b->scene, panel, &bars, err);
}

static kern_status add_curve(builder *b, viz_panel *panel, const viz_gp_curve *curve,
                             kern_error *err)
{
    char label[TEXT_ROOM];
    KERN_TRY(escape(label, curve->name, err));
    for (size_t i = 0; i < curve->n; i++) {
        const bool above = curve->y[i] > b->ceiling;
        b->shown[i] = above ? (double)NAN : curve->y[i];
        b->cut += above ? 1 : 0;
    }
    const viz_series line = {.name = curve->name,
                             .end_label = label,
                             .x = curve->x,
                             .y = b->shown,
                             .n = curve->n,
                             .style = {.paint = viz_paint_class(curve->colour),
                                       .width = 1.1,
                                       .dash = curve->dashed ? VIZ_DASHED : VIZ_SOLID,
                                       .marker = marker_of(curve->colour),
                                       .size = 4.0}};
    KERN_TRY(viz_scene_add_series(b->scene, panel, &line, err));
    return add_bars(b, panel, curve, err);
}

static kern_status add_level(builder *b, viz_panel *panel, const viz_gp_level *level,
                             const double ends[2], kern_error *err)
{
    char label[TEXT_ROOM];
    const double y[] = {level->value, level->value};
    KERN_TRY(escape(label, level->name, err));
    const viz_series line = {
        .name = level->name,
        .end_label = label,
        .x = ends,
        .y = y,
        .n = 2,
        .style = {.paint = viz_paint_of(level->strong ? VIZ_PAINT_INK : VIZ_PAINT_MUTED),
                  .width = level->strong ? 1.0 : 0.8,
                  .dash = level->strong ? VIZ_SOLID : VIZ_DOTTED}};
    return viz_scene_add_series(b->scene, panel, &line, err);
}

/* Range of the curves' x; false when they have none. */
static bool x_range(const viz_gp_panel *spec, double ends[2])
{
    ends[0] = HUGE_VAL;
    ends[1] = -HUGE_VAL;
    for (size_t c = 0; c < spec->n_curves; c++) {
        for (size_t i = 0; i < spec->curves[c].n; i++) {
            if (isfinite(spec->curves[c].y[i])) {
                ends[0] = fmin(ends[0], spec->curves[c].x[i]);
                ends[1] = fmax(ends[1], spec->curves[c].x[i]);
            }
        }
    }
    return ends[0] <= ends[1];
}

static void fit(viz_panel *panel, const double ends[2])
{
    const double room = fmax(0.04 * (ends[1] - ends[0]), 0.1);
    viz_scene_fit(panel, Y_MARGIN);
    panel->x.lo = ends[0] - room;
    panel->x.hi = ends[1] + room;
}

static kern_status add_panel(builder *b, size_t index, kern_error *err)
{
    const viz_gp_panel *spec = &b->data->panels[index];
    char title[TEXT_ROOM];
    double ends[2];
    viz_panel *panel;
    KERN_TRY(escape(title, spec->title, err));
    if (!x_range(spec, ends)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "panel \"%s\" of the figure has no finite point", spec->title);
    }
    const viz_panel place = {.title = title,
                             .row = index / 2,
                             .column = index % 2,
                             .x = {.label = spec->x_label, .integer = true},
                             .y = {.label = index % 2 == 0 ? b->data->y_label : NULL}};
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &place, err));
    b->ceiling = spec->ceiling > 0.0 ? spec->ceiling : HUGE_VAL;
    for (size_t i = 0; i < spec->n_levels; i++) {
        KERN_TRY(add_level(b, panel, &spec->levels[i], ends, err));
    }
    for (size_t i = 0; i < spec->n_curves; i++) {
        KERN_TRY(add_curve(b, panel, &spec->curves[i], err));
    }
    fit(panel, ends);
    return KERN_OK;
}

static kern_status write_note(builder *b, kern_error *err)
{
    char note[NOTE_ROOM];
    char text[TEXT_ROOM] = "";
    if (b->data->note != NULL) {
        KERN_TRY(escape(text, b->data->note, err));
    }
    (void)snprintf(note, sizeof note, "%s", text);
    if (b->cut > 0) {
        (void)snprintf(note, sizeof note, "%s%s%zu point%s the top of %s panel.", text,
                       text[0] != '\0' ? " " : "", b->cut,
                       b->cut == 1 ? " lies above" : "s lie above", b->cut == 1 ? "its" : "their");
    }
    return viz_scene_set_note(b->scene, note[0] != '\0' ? note : NULL, err);
}

static kern_status build(builder *b, const viz_gp_style *style, kern_error *err)
{
    const double width =
        style->width != 0.0 ? style->width : viz_scene_points(VIZ_DOUBLE_COLUMN_MM);
    char title[TEXT_ROOM];
    KERN_TRY(escape(title, b->data->title, err));
    KERN_TRY(viz_scene_create(&b->scene, width,
                              width * (b->data->n_panels > 2 ? HEIGHT_TWO : HEIGHT_ONE), err));
    b->scene->theme = style->theme;
    KERN_TRY(viz_scene_set_title(b->scene, title, err));
    for (size_t i = 0; i < b->data->n_panels; i++) {
        KERN_TRY(add_panel(b, i, err));
    }
    return write_note(b, err);
}

/* Points of the longest curve. */
static kern_status count_points(size_t *most, const viz_gp_data *data, kern_error *err)
{
    *most = 0;
    if (data->n_panels < 1 || data->n_panels > PANELS_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a figure of %zu panels is not possible; accepted are 1 to %d",
                          data->n_panels, PANELS_MAX);
    }
    for (size_t p = 0; p < data->n_panels; p++) {
        for (size_t c = 0; c < data->panels[p].n_curves; c++) {
            const size_t n = data->panels[p].curves[c].n;
            if (n > POINTS_MAX) {
                return kern_raise(err, KERN_INVALID_ARGUMENT,
                                  "a curve of %zu points is not possible; accepted are up to %d", n,
                                  POINTS_MAX);
            }
            *most = n > *most ? n : *most;
        }
    }
    return KERN_OK;
}

kern_status viz_gp_plot(viz_scene **out, const viz_gp_data *data, const viz_gp_style *style,
                        kern_error *err)
{
    static const viz_gp_style defaults = {.theme = VIZ_LIGHT};
    builder b = {.data = data};
    size_t most;
    *out = NULL;
    KERN_TRY(count_points(&most, data, err));
    b.bars = calloc((2 * BAR_POINTS + 1) * most + 1, sizeof *b.bars);
    if (b.bars == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
    }
    b.shown = b.bars + 2 * BAR_POINTS * most;
    const kern_status status = build(&b, style != NULL ? style : &defaults, err);
    free(b.bars);
    if (status != KERN_OK) {
        viz_scene_destroy(b.scene);
        return status;
    }
    *out = b.scene;
    return KERN_OK;
}
