/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_draw.h"

#include "viz/viz_axes.h"
#include "viz/viz_labels.h"
#include "viz/viz_layout.h"
#include "viz/viz_lines.h"

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

static kern_status draw_all(viz_canvas *canvas, const viz_layout *layout, kern_error *err)
{
    const viz_scene *scene = canvas->scene;
    viz_canvas_theme(canvas, VIZ_PAINT_PAGE);
    cairo_rectangle(canvas->cr, 0.0, 0.0, scene->width, scene->height);
    cairo_fill(canvas->cr);
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        const viz_frame *frame = &layout->frames[i];
        cairo_save(canvas->cr);
        viz_axes_ground(canvas, panel, frame);
        viz_lines_draw(canvas, panel, frame);
        viz_axes_draw(canvas, panel, frame);
        viz_labels_header(canvas, panel, frame);
        const kern_status status = viz_labels_ends(canvas, panel, frame, err);
        cairo_restore(canvas->cr);
        KERN_TRY(status);
    }
    viz_axes_bar(canvas, layout);
    draw_page_texts(canvas, layout);
    const cairo_status_t status = cairo_status(canvas->cr);
    if (status != CAIRO_STATUS_SUCCESS) {
        return kern_raise(err, KERN_IO, "drawing the figure failed in cairo: %s",
                          cairo_status_to_string(status));
    }
    return KERN_OK;
}

kern_status viz_draw(cairo_t *cr, const viz_scene *scene, viz_log *log, kern_error *err)
{
    viz_canvas canvas;
    viz_layout *layout = NULL;
    cairo_save(cr);
    kern_status status = viz_canvas_init(&canvas, cr, scene, log, err);
    if (status == KERN_OK) {
        status = viz_layout_create(&layout, &canvas, err);
    }
    if (status == KERN_OK) {
        status = draw_all(&canvas, layout, err);
    }
    viz_layout_destroy(layout);
    viz_canvas_fini(&canvas);
    cairo_restore(cr);
    return status;
}

kern_status viz_draw_label_room(const viz_scene *scene, size_t index, size_t *room, kern_error *err)
{
    if (index >= scene->n_panels) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "panel %zu does not exist; there are %zu",
                          index, scene->n_panels);
    }
    viz_canvas canvas;
    viz_layout *layout = NULL;
    cairo_surface_t *surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
    cairo_t *cr = cairo_create(surface);
    kern_status status = viz_canvas_init(&canvas, cr, scene, NULL, err);
    if (status == KERN_OK) {
        status = viz_layout_create(&layout, &canvas, err);
    }
    if (status == KERN_OK) {
        *room = viz_layout_room(&layout->frames[index]);
    }
    viz_layout_destroy(layout);
    viz_canvas_fini(&canvas);
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
    return status;
}
