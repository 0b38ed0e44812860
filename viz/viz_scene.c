/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_scene.h"

#include "kernels/kern_arena.h"
#include "kernels/kern_size.h"
#include "viz/viz_text.h"
#include "viz/viz_ticks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char default_family[] = "DejaVu Sans, sans-serif";

enum { CHUNK_BYTES = 1 << 16, FIRST_ROOM = 8 };

/* Chain of arenas: a scene grows while it is built, and a single arena cannot. */
struct viz_memory {
    viz_memory *next;
    kern_arena arena;
};

static kern_status refused(kern_error *err)
{
    return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
}

static void *scene_alloc(viz_scene *scene, size_t count, size_t size)
{
    if (scene->memory != NULL) {
        void *block = kern_arena_alloc(&scene->memory->arena, count, size);
        if (block != NULL) {
            return block;
        }
    }
    const size_t cost = kern_arena_cost(count, size);
    viz_memory *chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL ||
        kern_arena_init(&chunk->arena, kern_size_max(cost, CHUNK_BYTES), NULL) != KERN_OK) {
        free(chunk);
        return NULL;
    }
    chunk->next = scene->memory;
    scene->memory = chunk;
    return kern_arena_alloc(&chunk->arena, count, size);
}

/* Copy of `text` owned by the scene; NULL stays NULL. */
static kern_status copy_text(const char **out, viz_scene *scene, const char *text, kern_error *err)
{
    *out = NULL;
    if (text == NULL) {
        return KERN_OK;
    }
    const size_t bytes = strlen(text) + 1;
    char *copy = scene_alloc(scene, bytes, 1);
    if (copy == NULL) {
        return refused(err);
    }
    memcpy(copy, text, bytes);
    *out = copy;
    return KERN_OK;
}

static kern_status copy_markup(const char **out, viz_scene *scene, const char *markup,
                               kern_error *err)
{
    if (markup != NULL) {
        KERN_TRY(viz_text_check(markup, err));
    }
    return copy_text(out, scene, markup, err);
}

static kern_status copy_numbers(const double **out, viz_scene *scene, const double *values,
                                size_t n, kern_error *err)
{
    double *copy = scene_alloc(scene, n, sizeof *copy);
    if (copy == NULL) {
        return refused(err);
    }
    if (n > 0) {
        memcpy(copy, values, n * sizeof *copy);
    }
    *out = copy;
    return KERN_OK;
}

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
        return refused(err);
    }
    scene->width = width;
    scene->height = height;
    scene->family = default_family;
    *out = scene;
    return KERN_OK;
}

void viz_scene_destroy(viz_scene *scene)
{
    if (scene == NULL) {
        return;
    }
    while (scene->memory != NULL) {
        viz_memory *chunk = scene->memory;
        scene->memory = chunk->next;
        kern_arena_fini(&chunk->arena);
        free(chunk);
    }
    free(scene);
}

kern_status viz_scene_set_title(viz_scene *scene, const char *markup, kern_error *err)
{
    return copy_markup(&scene->title, scene, markup, err);
}

kern_status viz_scene_set_note(viz_scene *scene, const char *markup, kern_error *err)
{
    return copy_markup(&scene->note, scene, markup, err);
}

kern_status viz_scene_set_family(viz_scene *scene, const char *family, kern_error *err)
{
    if (family == NULL) {
        scene->family = default_family;
        return KERN_OK;
    }
    if (family[0] == '\0' || !viz_text_is_utf8(family)) {
        return kern_raise(
            err, KERN_BAD_INPUT,
            "the font family is empty or not UTF-8; a name such as \"%s\" is accepted",
            default_family);
    }
    return copy_text(&scene->family, scene, family, err);
}

kern_status viz_scene_set_bar(viz_scene *scene, const viz_bar *bar, kern_error *err)
{
    if (!(isfinite(bar->lo) && isfinite(bar->hi) && bar->lo < bar->hi)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the colour bar's range %g to %g is not increasing and finite", bar->lo,
                          bar->hi);
    }
    const char *label;
    KERN_TRY(copy_markup(&label, scene, bar->label, err));
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
    *panel = *spec;
    panel->n_columns = columns;
    panel->n_series = panel->series_room = 0;
    panel->n_spans = panel->spans_room = 0;
    panel->series = NULL;
    panel->spans = NULL;
    KERN_TRY(copy_markup(&panel->title, scene, spec->title, err));
    KERN_TRY(copy_markup(&panel->x.label, scene, spec->x.label, err));
    KERN_TRY(copy_markup(&panel->y.label, scene, spec->y.label, err));
    scene->n_panels++;
    *out = panel;
    return KERN_OK;
}

/* Makes room for one more entry by doubling; the old block stays in the arena. */
static kern_status grow(viz_scene *scene, void **block, size_t *room, size_t used, size_t size,
                        kern_error *err)
{
    if (used < *room) {
        return KERN_OK;
    }
    size_t next = FIRST_ROOM;
    if (*room > 0 && !kern_size_mul(*room, 2, &next)) {
        return refused(err);
    }
    void *larger = scene_alloc(scene, next, size);
    if (larger == NULL) {
        return refused(err);
    }
    if (used > 0) {
        memcpy(larger, *block, used * size);
    }
    *block = larger;
    *room = next;
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
    return KERN_OK;
}

kern_status viz_scene_add_series(viz_scene *scene, viz_panel *panel, const viz_series *series,
                                 kern_error *err)
{
    KERN_TRY(check_series(series, err));
    viz_series copy = *series;
    KERN_TRY(copy_text(&copy.name, scene, series->name, err));
    KERN_TRY(copy_markup(&copy.legend, scene, series->legend, err));
    KERN_TRY(copy_markup(&copy.end_label, scene, series->end_label, err));
    KERN_TRY(copy_numbers(&copy.x, scene, series->x, series->n, err));
    KERN_TRY(copy_numbers(&copy.y, scene, series->y, series->n, err));
    void *block = panel->series;
    KERN_TRY(grow(scene, &block, &panel->series_room, panel->n_series, sizeof copy, err));
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
    KERN_TRY(copy_markup(&copy.label, scene, span->label, err));
    void *block = panel->spans;
    KERN_TRY(grow(scene, &block, &panel->spans_room, panel->n_spans, sizeof copy, err));
    panel->spans = block;
    panel->spans[panel->n_spans++] = copy;
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
