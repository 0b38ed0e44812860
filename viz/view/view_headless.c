/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_headless.h"

#include "viz/view/view_private.h"

#include <string.h>

void view_headless_capture(view *v, cairo_surface_t *image, double seconds)
{
    char path[VIEW_TEXT];
    double wait;
    if (v->capture[0] == '\0') {
        return;
    }
    if (view_wants_frame(v, seconds, &wait)) {
        v->stale = true; /* what was taken in shows in the next frame */
        return;
    }
    memcpy(path, v->capture, sizeof path);
    v->capture[0] = '\0';
    cairo_surface_flush(image);
    const cairo_status_t status = cairo_surface_write_to_png(image, path);
    if (status != CAIRO_STATUS_SUCCESS) {
        view_say(v, true, "the window's picture could not be written to %.300s: %s", path,
                 cairo_status_to_string(status));
    }
}

static kern_status draw(view *v, cairo_surface_t *image, int width, int height, kern_error *err)
{
    const ui_input input = {.x = -1.0, .y = -1.0};
    double wait;
    for (int i = 0; i == 0 || (i < VIEW_HEADLESS_FRAMES && view_wants_frame(v, 0.0, &wait)); i++) {
        cairo_t *cr = cairo_create(image);
        const kern_status status = view_frame(v, cr, width, height, 0.0, &input, err);
        cairo_destroy(cr);
        KERN_TRY(status);
        view_headless_capture(v, image, 0.0);
        view_settle(v);
    }
    cairo_surface_flush(image);
    return KERN_OK;
}

kern_status view_headless_draw(view *v, int width, int height, cairo_surface_t **image,
                               kern_error *err)
{
    cairo_surface_t *frame = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    kern_status status = KERN_OK;
    if (cairo_surface_status(frame) != CAIRO_STATUS_SUCCESS) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for a frame of %d × %d pixels", width,
                            height);
    } else {
        view_settle(v);
        status = draw(v, frame, width, height, err);
    }
    if (image != NULL && status == KERN_OK) {
        *image = frame;
    } else {
        cairo_surface_destroy(frame);
    }
    return status;
}
