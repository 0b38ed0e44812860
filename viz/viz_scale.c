/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_scale.h"

#include "viz/viz_ticks.h"

#include <math.h>
#include <stdlib.h>

kern_status viz_scale_check(const viz_scale *scale, kern_error *err)
{
    if (!(isfinite(scale->lo) && isfinite(scale->hi) && scale->lo < scale->hi &&
          isfinite(scale->hi - scale->lo))) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the colour range %g to %g is not increasing and finite", scale->lo,
                          scale->hi);
    }
    if (scale->kind == VIZ_SCALE_LOG && !(scale->lo > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the logarithmic colour range %g to %g is not positive", scale->lo,
                          scale->hi);
    }
    if (scale->kind == VIZ_SCALE_SYMLOG && !(scale->threshold > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the threshold %g of a symmetric-logarithmic colour range is not "
                          "positive",
                          scale->threshold);
    }
    if ((unsigned)scale->map >= VIZ_MAP_COUNT) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "colour map %d does not exist",
                          (int)scale->map);
    }
    return KERN_OK;
}

double viz_scale_transform(const viz_scale *scale, double value)
{
    if (!isfinite(value)) {
        return (double)NAN;
    }
    switch (scale->kind) {
    case VIZ_SCALE_LOG:
        return value > 0.0 ? log(value) : (double)NAN;
    case VIZ_SCALE_SYMLOG:
        return copysign(log1p(fabs(value) / scale->threshold), value);
    case VIZ_SCALE_LINEAR:
        break;
    }
    return value;
}

double viz_scale_place(const viz_scale *scale, double value)
{
    const double lo = viz_scale_transform(scale, scale->lo);
    const double hi = viz_scale_transform(scale, scale->hi);
    return (viz_scale_transform(scale, value) - lo) / (hi - lo);
}

viz_rgb viz_scale_colour(const viz_scale *scale, viz_theme theme, double value)
{
    const double place = viz_scale_place(scale, value);
    return isnan(place) ? viz_colour_missing(theme) : viz_colour_map_at(scale->map, place);
}

static int ascending(const void *a, const void *b)
{
    const double p = *(const double *)a;
    const double q = *(const double *)b;
    return (p > q) - (p < q);
}

/* Brings the least value to the front and the largest to the end, which is all that a range without
 * a trim asks of an order. */
static void move_extremes(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (values[i] < values[0]) {
            const double least = values[i];
            values[i] = values[0];
            values[0] = least;
        }
    }
    for (size_t i = 0; i + 1 < n; i++) {
        if (values[i] > values[n - 1]) {
            const double most = values[i];
            values[i] = values[n - 1];
            values[n - 1] = most;
        }
    }
}

/* Widens a range without length, as axes do; a logarithmic one by a factor. */
static void open_range(viz_scale *scale)
{
    if (scale->kind == VIZ_SCALE_LOG) {
        if (!(scale->hi > scale->lo * (1.0 + 1e-9))) {
            scale->lo /= 2.0;
            scale->hi *= 2.0;
        }
        return;
    }
    viz_ticks_pad(&scale->lo, &scale->hi, 0.0);
}

static void set_range(viz_scale *scale, const double *sorted, size_t kept, double trim)
{
    if (kept == 0) {
        scale->lo = scale->kind == VIZ_SCALE_LOG ? 0.1 : 0.0;
        scale->hi = 1.0;
    } else {
        /* The smallest rank whose share of the values reaches `trim`, and its mirror image. */
        const size_t cut = (size_t)(trim * (double)(kept - 1) + 0.5);
        scale->lo = sorted[cut];
        scale->hi = sorted[kept - 1 - cut];
    }
    if (viz_colour_map_diverges(scale->map) && scale->kind != VIZ_SCALE_LOG) {
        const double reach = fmax(fabs(scale->lo), fabs(scale->hi));
        scale->lo = -(reach > 0.0 ? reach : 1.0);
        scale->hi = -scale->lo;
    }
    open_range(scale);
    if (scale->kind == VIZ_SCALE_SYMLOG && !(scale->threshold > 0.0)) {
        scale->threshold = 1e-3 * fmax(fabs(scale->lo), fabs(scale->hi));
    }
}

kern_status viz_scale_fit(viz_scale *scale, viz_scale_counts *counts, const double *values,
                          size_t n, double trim, kern_error *err)
{
    if (!(trim >= 0.0 && trim < 0.5)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the trimmed share %g of a colour range is outside 0 to 0.5", trim);
    }
    double *sorted = calloc(n > 0 ? n : 1, sizeof *sorted);
    if (sorted == NULL) {
        return kern_raise(err, KERN_NO_MEMORY,
                          "memory for the colour range of %zu values was "
                          "refused",
                          n);
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i]) && (scale->kind != VIZ_SCALE_LOG || values[i] > 0.0)) {
            sorted[kept++] = values[i];
        }
    }
    if (trim > 0.0) {
        qsort(sorted, kept, sizeof *sorted, ascending);
    } else {
        move_extremes(sorted, kept);
    }
    set_range(scale, sorted, kept, trim);
    if (counts != NULL) {
        *counts = (viz_scale_counts){.missing = n - kept};
        for (size_t i = 0; i < kept; i++) {
            counts->below += sorted[i] < scale->lo ? 1 : 0;
            counts->above += sorted[i] > scale->hi ? 1 : 0;
        }
    }
    free(sorted);
    return KERN_OK;
}
