/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Hatches: the second cue of a class, as a pattern in points that is the same at every
 * resolution and continues from cell to cell.
 */
#ifndef BASIN_VIZ_HATCH_H
#define BASIN_VIZ_HATCH_H

#include "viz/viz_colour.h"
#include "viz/viz_layers.h"

#include <stdint.h>

/* Colours of a class's ground and of its hatch lines. */
typedef struct viz_hatch_ink {
    viz_hatch hatch;
    viz_rgb ground, line;
} viz_hatch_ink;

viz_hatch_ink viz_hatch_ink_of(const viz_class *class, viz_theme theme);

/* Ink of cells without a class. */
viz_hatch_ink viz_hatch_missing(viz_theme theme);

/* Share of a pixel of side `pixel` centred at (x, y), in points, that lines of the hatch cover. */
double viz_hatch_cover(viz_hatch hatch, double x, double y, double pixel);

/* Opaque pixel there; `light` multiplies the colour. */
uint32_t viz_hatch_pixel(const viz_hatch_ink *ink, double x, double y, double pixel, double light);

#endif
