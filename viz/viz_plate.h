/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plate: an image laid over a rectangle of the page, one pixel of it on each pixel of the surface.
 *
 * On an image surface the plate's pixels are the surface's own, whatever its scale, so nothing is
 * resampled. In a PDF or SVG file the plate has VIZ_PLATE_DPI dots per inch, fewer on a large
 * page and among many: readers ignore a file's wish for smooth or sharp magnification (measured
 * with poppler and librsvg), so the magnification is done here. A plate is one image; it has no
 * seams.
 */
#ifndef BASIN_VIZ_PLATE_H
#define BASIN_VIZ_PLATE_H

#include "viz/viz_canvas.h"

#include <stdbool.h>
#include <stdint.h>

#define VIZ_PLATE_DPI 300.0
/* Most pixels of the plates in a file, of which the smooth fields of its panels have an equal share
 * each: with eight bits a channel this keeps a PDF of a landscape below half a megabyte, with
 * several planes too. */
enum { VIZ_PLATE_PIXELS = 700000 };

typedef struct viz_plate {
    size_t w, h;      /* pixels; 0 when the rectangle covers the centre of none */
    double x, y;      /* page position of the first pixel's corner */
    double dx, dy;    /* size of a pixel on the page, in points */
    uint32_t *pixels; /* row `j` begins at pixels + j · stride; 0xaarrggbb, premultiplied */
    size_t stride;
    cairo_surface_t *image; /* private */
    bool own_pixels;        /* private: the plate's pixels are those of the surface */
} viz_plate;

/* Number of equal cells along the sides of a plate. */
typedef struct viz_cells {
    size_t across, down;
} viz_cells;

/* Makes a plate over `area`, cut to the surface. In files, equal cells (0: there are none)
 * get a whole number of pixels each. A `clear` plate has alpha and begins transparent. Release
 * with viz_plate_fini. */
kern_status viz_plate_init(viz_plate *plate, viz_canvas *canvas, viz_rect area, viz_cells cells,
                           bool clear, kern_error *err);

/* Paints the plate where it belongs, and releases it. */
void viz_plate_show(viz_plate *plate, viz_canvas *canvas);
void viz_plate_fini(viz_plate *plate);

#endif
