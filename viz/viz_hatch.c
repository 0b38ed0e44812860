/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_hatch.h"

#include <math.h>

#define SPACING    4.0 /* between lines, in points */
#define HALF_WIDTH 0.3
#define DOT_RADIUS 0.65
#define LINE_SHARE 0.45 /* of black (white on dark grounds) in the colour of lines */

static viz_rgb mix(viz_rgb a, viz_rgb b, double share)
{
    return (viz_rgb){a.r + share * (b.r - a.r), a.g + share * (b.g - a.g),
                     a.b + share * (b.b - a.b)};
}

viz_hatch_ink viz_hatch_ink_of(const viz_class *class, viz_theme theme)
{
    const viz_rgb black = {0.0, 0.0, 0.0};
    const viz_rgb white = {1.0, 1.0, 1.0};
    viz_hatch_ink ink = {.hatch = class->hatch, .ground = viz_colour_resolve(&class->paint, theme)};
    /* 0.18 is the luminance whose contrasts to black and to white are equal. */
    const bool bright = viz_colour_luminance(ink.ground) > 0.18;
    ink.line = mix(ink.ground, bright ? black : white, LINE_SHARE);
    return ink;
}

viz_hatch_ink viz_hatch_missing(viz_theme theme)
{
    const viz_rgb grey = viz_colour_missing(theme);
    return (viz_hatch_ink){.hatch = VIZ_HATCH_NONE, .ground = grey, .line = grey};
}

/* Distance to the nearest multiple of the spacing. */
static double to_line(double v)
{
    return fabs(v - SPACING * floor(v / SPACING + 0.5));
}

static double line_cover(double distance, double half_width, double pixel)
{
    return fmin(fmax((half_width - distance) / pixel + 0.5, 0.0), 1.0);
}

static double dot_cover(double x, double y, double pixel)
{
    /* Every second row of dots is shifted by half the spacing. */
    const double step = SPACING;
    const double row = floor(y / (0.5 * step) + 0.5);
    const double shift = fmod(fabs(row), 2.0) * 0.5 * step;
    const double dx = to_line(x - shift);
    const double dy = y - row * 0.5 * step;
    return line_cover(sqrt(dx * dx + dy * dy), DOT_RADIUS, pixel);
}

static double rising(double x, double y, double pixel)
{
    return line_cover(to_line((x + y) * sqrt(0.5)), HALF_WIDTH, pixel);
}

static double falling(double x, double y, double pixel)
{
    return line_cover(to_line((x - y) * sqrt(0.5)), HALF_WIDTH, pixel);
}

double viz_hatch_cover(viz_hatch hatch, double x, double y, double pixel)
{
    switch (hatch) {
    case VIZ_HATCH_RISING:
        return rising(x, y, pixel);
    case VIZ_HATCH_FALLING:
        return falling(x, y, pixel);
    case VIZ_HATCH_LEVEL:
        return line_cover(to_line(y), HALF_WIDTH, pixel);
    case VIZ_HATCH_UPRIGHT:
        return line_cover(to_line(x), HALF_WIDTH, pixel);
    case VIZ_HATCH_CROSSED:
        return fmax(rising(x, y, pixel), falling(x, y, pixel));
    case VIZ_HATCH_DOTS:
        return dot_cover(x, y, pixel);
    case VIZ_HATCH_NONE:
    case VIZ_HATCH_COUNT:
        break;
    }
    return 0.0;
}

uint32_t viz_hatch_pixel(const viz_hatch_ink *ink, double x, double y, double pixel, double light)
{
    viz_rgb c = ink->ground;
    if (ink->hatch != VIZ_HATCH_NONE) {
        c = mix(c, ink->line, viz_hatch_cover(ink->hatch, x, y, pixel));
    }
    return viz_colour_pixel((viz_rgb){c.r * light, c.g * light, c.b * light});
}
