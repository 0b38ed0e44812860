/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Colour scales: from a value to a place on a colour map, and the range that a set of values asks
 * for.
 *
 * Places: linear (v − lo)/(hi − lo); logarithmic the same in ln v, where values ≤ 0 have none;
 * symmetric-logarithmic in s(v) = sign(v) ln(1 + |v|/threshold), which is linear near 0 and
 * logarithmic far from it. Values that are not finite have no place: they get the page's own
 * colour for missing data and are never drawn as an end of the map.
 */
#ifndef BASIN_VIZ_SCALE_H
#define BASIN_VIZ_SCALE_H

#include "kernels/kern_status.h"
#include "viz/viz_colour.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum viz_scale_kind { VIZ_SCALE_LINEAR, VIZ_SCALE_LOG, VIZ_SCALE_SYMLOG } viz_scale_kind;

typedef struct viz_scale {
    viz_scale_kind kind;
    viz_map map;
    double lo, hi;    /* values at the two ends of the map, lo < hi; positive when logarithmic */
    double threshold; /* VIZ_SCALE_SYMLOG only; > 0 */
} viz_scale;

/* KERN_INVALID_ARGUMENT, with the range in words, unless the scale can be used. */
kern_status viz_scale_check(const viz_scale *scale, kern_error *err);

/* Value transformed so that the scale is linear in it; NaN for a value without a place. */
double viz_scale_transform(const viz_scale *scale, double value);

/* Place of a value: 0 at lo, 1 at hi, outside [0, 1] beyond them, NaN without a place. */
double viz_scale_place(const viz_scale *scale, double value);

/* Colour of a value; values beyond the ends get the ends' colours. */
viz_rgb viz_scale_colour(const viz_scale *scale, viz_theme theme, double value);

/* What viz_scale_fit found. */
typedef struct viz_scale_counts {
    size_t missing; /* values without a place */
    size_t below;   /* values under lo */
    size_t above;   /* values over hi */
} viz_scale_counts;

/* Sets lo and hi, and a threshold ≤ 0 to a thousandth of the largest magnitude, from n values:
 * the quantiles `trim` and 1 − trim of those with a place (0 ≤ trim < 0.5; 0 takes the extremes,
 * VIZ_SCALE_ROBUST leaves single wild values from flattening the rest). A diverging map gets a
 * range symmetric about 0. Constant data get a range around the value; without any value the
 * range is 0 to 1 (0.1 to 1 when logarithmic). `scale->kind` and `map` are read; `counts` may be
 * NULL. KERN_NO_MEMORY; KERN_INVALID_ARGUMENT for a bad trim. Cost O(n log n), and O(n) with a trim
 * of 0. */
#define VIZ_SCALE_ROBUST 0.01
kern_status viz_scale_fit(viz_scale *scale, viz_scale_counts *counts, const double *values,
                          size_t n, double trim, kern_error *err);

#endif
