/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_headless.h"

#include "models/model_file.h"
#include "viz/view/view_private.h"
#include "viz/viz_export_cairo.h"

#include <string.h>

static kern_status write_image(cairo_surface_t *image, const char *path, kern_error *err)
{
    viz_bytes bytes = {0};
    cairo_surface_flush(image);
    kern_status status =
        viz_export_cairo(cairo_surface_write_to_png_stream(image, viz_export_sink, &bytes), err);
    status = status == KERN_OK ? viz_bytes_check(&bytes, err) : status;
    if (status == KERN_OK) {
        const model_file_chunk chunk = {bytes.data, bytes.size};
        status = model_file_write_atomic(path, &chunk, 1, err);
    }
    viz_bytes_fini(&bytes);
    return status;
}

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
    kern_error why = {0};
    if (write_image(image, path, &why) != KERN_OK) {
        view_say(v, true, "the window's picture could not be written: %s", why.text);
    }
}

kern_status view_headless_frame(view *v, cairo_surface_t *image, kern_error *err)
{
    const ui_input input = {.x = -1.0, .y = -1.0};
    cairo_t *cr = cairo_create(image);
    const kern_status status = view_frame(v, cr, cairo_image_surface_get_width(image),
                                          cairo_image_surface_get_height(image), 0.0, &input, err);
    cairo_destroy(cr);
    cairo_surface_flush(image);
    return status;
}

static kern_status draw(view *v, cairo_surface_t *image, kern_error *err)
{
    double wait;
    for (int i = 0; i == 0 || (i < VIEW_HEADLESS_FRAMES && view_wants_frame(v, 0.0, &wait)); i++) {
        KERN_TRY(view_headless_frame(v, image, err));
        view_headless_capture(v, image, 0.0);
        view_settle(v);
    }
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
        status = draw(v, frame, err);
    }
    if (image != NULL && status == KERN_OK) {
        *image = frame;
    } else {
        cairo_surface_destroy(frame);
    }
    return status;
}
