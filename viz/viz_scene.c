/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_scene.h"

#include "kernels/kern_size.h"
#include "viz/viz_memory.h"
#include "viz/viz_text.h"
#include "viz/viz_ticks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double viz_scene_points(double mm)
{
    return mm * 72.0 / 25.4;
}

static bool page_side_ok(double side)
{
    return side >= VIZ_PAGE_MIN && side <= VIZ_PAGE_MAX;
}

kern_status viz_scene_create(viz_scene **out, double width, double height, kern_error *err)
{
    *out = NULL;
    if (!page_side_ok(width) || !page_side_ok(height)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the page of %g by %g points is outside %g to %g points a side", width,
                          height, VIZ_PAGE_MIN, VIZ_PAGE_MAX);
    }
    viz_scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL) {
        return viz_memory_refused(err);
    }
    scene->width = width;
    scene->height = height;
    scene->family = VIZ_FAMILY;
    *out = scene;
    return KERN_OK;
}

void viz_scene_destroy(viz_scene *scene)
{
    if (scene == NULL) {
        return;
    }
    viz_memory_free(scene->memory);
    free(scene);
}

kern_status viz_scene_set_title(viz_scene *scene, const char *markup, kern_error *err)
{
    return viz_memory_markup(&scene->title, &scene->memory, markup, err);
}

kern_status viz_scene_set_note(viz_scene *scene, const char *markup, kern_error *err)
{
    return viz_memory_markup(&scene->note, &scene->memory, markup, err);
}

kern_status viz_scene_set_description(viz_scene *scene, const char *text, kern_error *err)
{
    if (text == NULL) {
        scene->description = NULL;
        return KERN_OK;
    }
    if (!viz_text_is_utf8(text)) {
        return kern_raise(err, KERN_BAD_INPUT, "the description of a scene is not UTF-8");
    }
    return viz_memory_text(&scene->description, &scene->memory, text, err);
}

kern_status viz_scene_set_family(viz_scene *scene, const char *family, kern_error *err)
{
    if (family == NULL) {
        scene->family = VIZ_FAMILY;
        return KERN_OK;
    }
    if (family[0] == '\0' || !viz_text_is_utf8(family)) {
        return kern_raise(
            err, KERN_BAD_INPUT,
            "the font family is empty or not UTF-8; a name such as \"%s\" is accepted", VIZ_FAMILY);
    }
    return viz_memory_text(&scene->family, &scene->memory, family, err);
}

kern_status viz_scene_set_bar(viz_scene *scene, const viz_bar *bar, kern_error *err)
{
    KERN_TRY(viz_scale_check(&bar->scale, err));
    const char *label;
    KERN_TRY(viz_memory_markup(&label, &scene->memory, bar->label, err));
    scene->bar = *bar;
    scene->bar.label = label;
    scene->bar.shown = true;
    return KERN_OK;
}

kern_status viz_scene_add_panel(viz_panel **out, viz_scene *scene, const viz_panel *spec,
                                kern_error *err)
{
    *out = NULL;
    const size_t columns = kern_size_max(spec->n_columns, 1);
    if (scene->n_panels == VIZ_PANELS_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a figure holds at most %d panels",
                          VIZ_PANELS_MAX);
    }
    if (spec->row >= VIZ_GRID_MAX || spec->column >= VIZ_GRID_MAX ||
        columns > VIZ_GRID_MAX - spec->column) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the panel at row %zu, column %zu lies outside the %d by %d grid",
                          spec->row, spec->column, VIZ_GRID_MAX, VIZ_GRID_MAX);
    }
    viz_panel *panel = &scene->panels[scene->n_panels];
    *panel = (viz_panel){.row = spec->row,
                         .column = spec->column,
                         .n_columns = columns,
                         .x = spec->x,
                         .y = spec->y,
                         .equal = spec->equal,
                         .boxed = spec->boxed};
    KERN_TRY(viz_memory_markup(&panel->title, &scene->memory, spec->title, err));
    KERN_TRY(viz_memory_markup(&panel->x.label, &scene->memory, spec->x.label, err));
    KERN_TRY(viz_memory_markup(&panel->y.label, &scene->memory, spec->y.label, err));
    scene->n_panels++;
    *out = panel;
    return KERN_OK;
}

static kern_status check_series(const viz_series *series, kern_error *err)
{
    const viz_style *style = &series->style;
    if (series->name == NULL || !viz_text_is_utf8(series->name)) {
        return kern_raise(err, KERN_BAD_INPUT, "a series has no name, or one that is not UTF-8");
    }
    if (!(style->width >= 0.0 && style->width <= 100.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the line width %g of series \"%s\" is outside 0 to 100 points",
                          style->width, series->name);
    }
    if (style->marker != VIZ_MARKER_NONE && !(style->size > 0.0 && style->size <= 100.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the marker size %g of series \"%s\" is outside 0 to 100 points",
                          style->size, series->name);
    }
    if (!(style->halo >= 0.0 && style->halo <= 20.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the halo %g of series \"%s\" is outside 0 to 20 points", style->halo,
                          series->name);
    }
    for (size_t i = 0; series->opacity != NULL && i < series->n; i++) {
        if (!(series->opacity[i] >= 0.0 && series->opacity[i] <= 1.0)) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "opacity %zu of series \"%s\" is %g and not in 0 to 1", i,
                              series->name, series->opacity[i]);
        }
    }
    return KERN_OK;
}

kern_status viz_scene_add_series(viz_scene *scene, viz_panel *panel, const viz_series *series,
                                 kern_error *err)
{
    KERN_TRY(check_series(series, err));
    viz_series copy = *series;
    KERN_TRY(viz_memory_text(&copy.name, &scene->memory, series->name, err));
    KERN_TRY(viz_memory_markup(&copy.legend, &scene->memory, series->legend, err));
    KERN_TRY(viz_memory_markup(&copy.end_label, &scene->memory, series->end_label, err));
    KERN_TRY(viz_memory_numbers(&copy.x, &scene->memory, series->x, series->n, err));
    KERN_TRY(viz_memory_numbers(&copy.y, &scene->memory, series->y, series->n, err));
    KERN_TRY(viz_memory_numbers(&copy.z, &scene->memory, series->z, series->n, err));
    KERN_TRY(viz_memory_numbers(&copy.opacity, &scene->memory, series->opacity, series->n, err));
    void *block = panel->series;
    KERN_TRY(viz_memory_grow(&scene->memory, &block, &panel->series_room, panel->n_series,
                             sizeof copy, err));
    panel->series = block;
    panel->series[panel->n_series++] = copy;
    return KERN_OK;
}

kern_status viz_scene_add_span(viz_scene *scene, viz_panel *panel, const viz_span *span,
                               kern_error *err)
{
    if (!(isfinite(span->from) && isfinite(span->to) && span->from < span->to)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the shaded range %g to %g is not increasing and finite", span->from,
                          span->to);
    }
    viz_span copy = *span;
    KERN_TRY(viz_memory_markup(&copy.label, &scene->memory, span->label, err));
    void *block = panel->spans;
    KERN_TRY(viz_memory_grow(&scene->memory, &block, &panel->spans_room, panel->n_spans,
                             sizeof copy, err));
    panel->spans = block;
    panel->spans[panel->n_spans++] = copy;
    return KERN_OK;
}

kern_status viz_scene_add_mark(viz_scene *scene, viz_panel *panel, const viz_mark *mark,
                               kern_error *err)
{
    if (mark->text == NULL || !(mark->gap >= 0.0 && mark->gap <= 100.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a mark has no text, or a gap outside 0 to 100 points");
    }
    viz_mark copy = *mark;
    KERN_TRY(viz_memory_markup(&copy.text, &scene->memory, mark->text, err));
    void *block = panel->marks;
    KERN_TRY(viz_memory_grow(&scene->memory, &block, &panel->marks_room, panel->n_marks,
                             sizeof copy, err));
    panel->marks = block;
    panel->marks[panel->n_marks++] = copy;
    return KERN_OK;
}

bool viz_scene_drawable(const viz_panel *panel, double x, double y)
{
    return isfinite(x) && isfinite(y) && (!panel->x.log || x > 0.0) && (!panel->y.log || y > 0.0);
}

/* Pads an axis; a logarithmic one is padded in its logarithm. */
static void pad_axis(viz_axis *axis, double lo, double hi, double margin)
{
    if (axis->log) {
        lo = log10(lo);
        hi = log10(hi);
    }
    viz_ticks_pad(&lo, &hi, margin);
    axis->lo = axis->log ? pow(10.0, lo) : lo;
    axis->hi = axis->log ? pow(10.0, hi) : hi;
}

void viz_scene_fit(viz_panel *panel, double margin)
{
    double lo[2] = {HUGE_VAL, HUGE_VAL};
    double hi[2] = {-HUGE_VAL, -HUGE_VAL};
    for (size_t s = 0; s < panel->n_series; s++) {
        const viz_series *series = &panel->series[s];
        for (size_t i = 0; i < series->n; i++) {
            if (viz_scene_drawable(panel, series->x[i], series->y[i])) {
                lo[0] = fmin(lo[0], series->x[i]);
                hi[0] = fmax(hi[0], series->x[i]);
                lo[1] = fmin(lo[1], series->y[i]);
                hi[1] = fmax(hi[1], series->y[i]);
            }
        }
    }
    if (!(lo[0] <= hi[0])) {
        lo[0] = lo[1] = panel->x.log || panel->y.log ? 0.1 : 0.0;
        hi[0] = hi[1] = 1.0;
    }
    pad_axis(&panel->x, lo[0], hi[0], 0.0);
    pad_axis(&panel->y, lo[1], hi[1], margin);
}
