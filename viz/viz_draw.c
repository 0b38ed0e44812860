/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_draw.h"

#include "viz/viz_axes.h"
#include "viz/viz_labels.h"
#include "viz/viz_layout.h"
#include "viz/viz_levels.h"
#include "viz/viz_lines.h"
#include "viz/viz_marks.h"
#include "viz/viz_raster.h"
#include "viz/viz_surface.h"

#include <math.h>

static void draw_page_texts(viz_canvas *canvas, const viz_layout *layout)
{
    const viz_scene *scene = canvas->scene;
    const double inner = scene->width - 2.0 * VIZ_PAGE_PAD;
    if (scene->title != NULL) {
        const viz_place place = {.x = VIZ_PAGE_PAD, .y = VIZ_PAGE_PAD, .wrap = inner};
        viz_canvas_text(canvas, VIZ_ROLE_TITLE, scene->title, &place);
    }
    if (scene->note != NULL) {
        const viz_place place = {.x = VIZ_PAGE_PAD, .y = layout->note_top, .wrap = inner};
        viz_canvas_text(canvas, VIZ_ROLE_NOTE, scene->note, &place);
    }
}

static kern_status draw_panel_base(viz_canvas *canvas, const viz_panel *panel,
                                   const viz_frame *frame, kern_error *err)
{
    if (panel->surface) {
        return viz_surface_draw(canvas, panel, frame, err);
    }
    viz_axes_ground(canvas, panel, frame);
    KERN_TRY(viz_raster_draw(canvas, panel, frame, err));
    return viz_levels_draw(canvas, panel, frame, err);
}

static kern_status draw_panel_around(viz_canvas *canvas, const viz_panel *panel,
                                     const viz_frame *frame, kern_error *err)
{
    if (panel->surface) {
        viz_surface_axes(canvas, panel, frame);
    } else {
        viz_axes_draw(canvas, panel, frame);
    }
    KERN_TRY(viz_labels_header(canvas, panel, frame, err));
    return viz_labels_ends(canvas, panel, frame, err);
}

static kern_status draw_panel(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                              unsigned layers, kern_error *err)
{
    if ((layers & VIZ_DRAW_BASE) != 0) {
        KERN_TRY(draw_panel_base(canvas, panel, frame, err));
    }
    if ((layers & VIZ_DRAW_OVER) != 0) {
        viz_lines_draw(canvas, panel, frame);
        viz_marks_draw(canvas, panel, frame);
    }
    return (layers & VIZ_DRAW_AROUND) != 0 ? draw_panel_around(canvas, panel, frame, err) : KERN_OK;
}

static kern_status draw_parts(viz_canvas *canvas, const viz_layout *layout, unsigned layers,
                              kern_error *err)
{
    const viz_scene *scene = canvas->scene;
    if ((layers & VIZ_DRAW_BASE) != 0) {
        viz_canvas_theme(canvas, VIZ_PAINT_PAGE);
        cairo_rectangle(canvas->cr, 0.0, 0.0, scene->width, scene->height);
        cairo_fill(canvas->cr);
    }
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        const viz_frame *frame = &layout->frames[i];
        cairo_save(canvas->cr);
        const kern_status status = draw_panel(canvas, panel, frame, layers, err);
        cairo_restore(canvas->cr);
        KERN_TRY(status);
    }
    if ((layers & VIZ_DRAW_AROUND) != 0) {
        viz_axes_bar(canvas, layout);
        draw_page_texts(canvas, layout);
    }
    const cairo_status_t status = cairo_status(canvas->cr);
    if (status != CAIRO_STATUS_SUCCESS) {
        return kern_raise(err, KERN_IO, "drawing the figure failed in cairo: %s",
                          cairo_status_to_string(status));
    }
    return KERN_OK;
}

kern_status viz_draw_layers(cairo_t *cr, const viz_scene *scene, const viz_layout *layout,
                            unsigned layers, viz_log *log, kern_error *err)
{
    viz_canvas canvas;
    viz_layout *own = NULL;
    cairo_save(cr);
    kern_status status = viz_canvas_init(&canvas, cr, scene, log, err);
    if (status == KERN_OK && layout == NULL) {
        status = viz_layout_create(&own, &canvas, err);
    }
    if (status == KERN_OK) {
        status = draw_parts(&canvas, layout != NULL ? layout : own, layers, err);
    }
    viz_layout_destroy(own);
    viz_canvas_fini(&canvas);
    cairo_restore(cr);
    return status;
}

kern_status viz_draw(cairo_t *cr, const viz_scene *scene, viz_log *log, kern_error *err)
{
    return viz_draw_layers(cr, scene, NULL, VIZ_DRAW_ALL, log, err);
}

kern_status viz_draw_layout(viz_layout **out, const viz_scene *scene, kern_error *err)
{
    viz_canvas canvas;
    cairo_surface_t *surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
    cairo_t *cr = cairo_create(surface);
    kern_status status = viz_canvas_init(&canvas, cr, scene, NULL, err);
    *out = NULL;
    if (status == KERN_OK) {
        status = viz_layout_create(out, &canvas, err);
    }
    viz_canvas_fini(&canvas);
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
    return status;
}

kern_status viz_draw_label_room(const viz_scene *scene, size_t index, size_t *room, kern_error *err)
{
    if (index >= scene->n_panels) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "panel %zu does not exist; there are %zu",
                          index, scene->n_panels);
    }
    viz_layout *layout;
    KERN_TRY(viz_draw_layout(&layout, scene, err));
    *room = viz_layout_room(&layout->frames[index]);
    viz_layout_destroy(layout);
    return KERN_OK;
}

/* Height that all rows together could do without. */
static double spare_height(const viz_scene *scene, const viz_layout *layout)
{
    double row[VIZ_GRID_MAX];
    double sum = 0.0;
    for (size_t r = 0; r < VIZ_GRID_MAX; r++) {
        row[r] = HUGE_VAL;
    }
    for (size_t i = 0; i < scene->n_panels; i++) {
        const size_t r = scene->panels[i].row;
        row[r] = fmin(row[r], layout->frames[i].spare_height);
    }
    for (size_t r = 0; r < VIZ_GRID_MAX; r++) {
        sum += isfinite(row[r]) ? row[r] : 0.0;
    }
    return sum;
}

kern_status viz_draw_fit_height(viz_scene *scene, double most, kern_error *err)
{
    viz_layout *layout;
    for (size_t i = 0; i < scene->n_panels; i++) {
        if (!scene->panels[i].equal) {
            return KERN_OK;
        }
    }
    scene->height = fmin(fmax(most, VIZ_PAGE_MIN), VIZ_PAGE_MAX);
    /* Fewer ticks on a lower page change the width a little, so the second pass settles it. */
    for (int pass = 0; pass < 2; pass++) {
        KERN_TRY(viz_draw_layout(&layout, scene, err));
        scene->height = fmax(scene->height - spare_height(scene, layout), VIZ_PAGE_MIN);
        viz_layout_destroy(layout);
    }
    return KERN_OK;
}
