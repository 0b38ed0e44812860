/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Limits of exported images.
 */
#ifndef BASIN_VIZ_EXPORT_LIMITS_H
#define BASIN_VIZ_EXPORT_LIMITS_H

/* Resolution limits of PNG, dots per inch, and of its sides and area in pixels. */
#define VIZ_DPI_MIN     18.0
#define VIZ_DPI_MAX     2400.0
#define VIZ_DPI_DEFAULT 300.0
enum { VIZ_PIXELS_SIDE = 32767, VIZ_PIXELS_TOTAL = 1 << 28 };

#endif
