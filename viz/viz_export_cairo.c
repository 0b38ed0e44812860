/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_export_cairo.h"

cairo_status_t viz_export_sink(void *closure, const unsigned char *data, unsigned int size)
{
    viz_bytes *bytes = closure;
    viz_bytes_append(bytes, data, size);
    return bytes->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

kern_status viz_export_cairo(cairo_status_t status, kern_error *err)
{
    if (status == CAIRO_STATUS_SUCCESS) {
        return KERN_OK;
    }
    return kern_raise(err, status == CAIRO_STATUS_NO_MEMORY ? KERN_NO_MEMORY : KERN_IO,
                      "exporting the figure failed in cairo: %s", cairo_status_to_string(status));
}
