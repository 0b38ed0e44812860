/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the encoders that draw with cairo share: where its bytes go and how it fails. Part of
 * viz_export.
 */
#ifndef BASIN_VIZ_EXPORT_CAIRO_H
#define BASIN_VIZ_EXPORT_CAIRO_H

#include "kernels/kern_status.h"
#include "viz/viz_bytes.h"

#include <cairo.h>

/* Write callback of cairo's stream functions; `closure` is a viz_bytes. */
cairo_status_t viz_export_sink(void *closure, const unsigned char *data, unsigned int size);

/* KERN_IO with cairo's own words unless `status` is success. */
kern_status viz_export_cairo(cairo_status_t status, kern_error *err);

#endif
