/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_colour.h"

#include <math.h>
#include <string.h>

enum { ANCHORS = 10 };

static const unsigned anchors[VIZ_MAP_SEQUENTIAL][ANCHORS] = {
    [VIZ_MAP_VIRIDIS] = {0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779,
                         0x6ece58, 0xb5de2b, 0xfde725},
    [VIZ_MAP_CIVIDIS] = {0x00224e, 0x123570, 0x3b496c, 0x575d6d, 0x707173, 0x8a8678, 0xa59c74,
                         0xc3b369, 0xe1cc55, 0xfee838},
    [VIZ_MAP_PLASMA] = {0x0d0887, 0x46039f, 0x7201a8, 0x9c179e, 0xbd3786, 0xd8576b, 0xed7953,
                        0xfb9f3a, 0xfdca26, 0xf0f921},
};

static const char *const map_names[VIZ_MAP_COUNT] = {
    [VIZ_MAP_VIRIDIS] = "viridis",
    [VIZ_MAP_CIVIDIS] = "cividis",
    [VIZ_MAP_PLASMA] = "plasma",
    [VIZ_MAP_BALANCE] = "balance",
};

/* Parts of each map with contrast 3:1 to the page; the colour test recomputes the contrast. */
static const double line_part[2][VIZ_MAP_SEQUENTIAL][2] = {
    [VIZ_LIGHT] = {[VIZ_MAP_VIRIDIS] = {0.0, 0.58},
                   [VIZ_MAP_CIVIDIS] = {0.0, 0.61},
                   [VIZ_MAP_PLASMA] = {0.0, 0.63}},
    [VIZ_DARK] = {[VIZ_MAP_VIRIDIS] = {0.36, 1.0},
                  [VIZ_MAP_CIVIDIS] = {0.39, 1.0},
                  [VIZ_MAP_PLASMA] = {0.41, 1.0}},
};

static viz_rgb from_hex(unsigned hex)
{
    return (viz_rgb){(double)((hex >> 16) & 255u) / 255.0, (double)((hex >> 8) & 255u) / 255.0,
                     (double)(hex & 255u) / 255.0};
}

static double clamp_unit(double t)
{
    return t >= 0.0 ? (t <= 1.0 ? t : 1.0) : 0.0;
}

static double to_linear(double c)
{
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double to_gamma(double c)
{
    c = clamp_unit(c);
    return c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1.0 / 2.4) - 0.055;
}

viz_oklab viz_colour_to_oklab(viz_rgb colour)
{
    const double r = to_linear(colour.r);
    const double g = to_linear(colour.g);
    const double b = to_linear(colour.b);
    const double l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const double m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const double s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return (viz_oklab){0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
                       1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
                       0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

viz_rgb viz_colour_from_oklab(viz_oklab lab)
{
    const double l0 = lab.L + 0.3963377774 * lab.a + 0.2158037573 * lab.b;
    const double m0 = lab.L - 0.1055613458 * lab.a - 0.0638541728 * lab.b;
    const double s0 = lab.L - 0.0894841775 * lab.a - 1.2914855480 * lab.b;
    const double l = l0 * l0 * l0;
    const double m = m0 * m0 * m0;
    const double s = s0 * s0 * s0;
    return (viz_rgb){to_gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                     to_gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                     to_gamma(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

/* Two straight arms in OKLab; the ends lie inside the sRGB gamut, so nothing is clipped. */
static viz_rgb balance_at(double t)
{
    const double s = 2.0 * clamp_unit(t) - 1.0;
    const double u = fabs(s);
    const viz_oklab arm =
        s < 0.0 ? (viz_oklab){-0.57, -0.030, -0.125} : (viz_oklab){-0.57, 0.110, 0.075};
    return viz_colour_from_oklab((viz_oklab){0.95 + u * arm.L, u * arm.a, u * arm.b});
}

viz_rgb viz_colour_map_at(viz_map map, double t)
{
    if (map == VIZ_MAP_BALANCE) {
        return balance_at(t);
    }
    const size_t row = (unsigned)map < VIZ_MAP_SEQUENTIAL ? (size_t)map : 0;
    const double place = clamp_unit(t) * (double)(ANCHORS - 1);
    size_t cell = (size_t)place;
    if (cell > ANCHORS - 2) {
        cell = ANCHORS - 2;
    }
    const double f = place - (double)cell;
    const viz_oklab a = viz_colour_to_oklab(from_hex(anchors[row][cell]));
    const viz_oklab b = viz_colour_to_oklab(from_hex(anchors[row][cell + 1]));
    return viz_colour_from_oklab(
        (viz_oklab){a.L + f * (b.L - a.L), a.a + f * (b.a - a.a), a.b + f * (b.b - a.b)});
}

const char *viz_colour_map_name(viz_map map)
{
    return (unsigned)map < VIZ_MAP_COUNT ? map_names[map] : NULL;
}

bool viz_colour_map_diverges(viz_map map)
{
    return map == VIZ_MAP_BALANCE;
}

viz_map viz_colour_map_find(const char *name)
{
    int map = 0;
    while (map < VIZ_MAP_COUNT && strcmp(map_names[map], name) != 0) {
        map++;
    }
    return (viz_map)map;
}

uint32_t viz_colour_pixel(viz_rgb colour)
{
    const uint32_t r = (uint32_t)lround(255.0 * clamp_unit(colour.r));
    const uint32_t g = (uint32_t)lround(255.0 * clamp_unit(colour.g));
    const uint32_t b = (uint32_t)lround(255.0 * clamp_unit(colour.b));
    return 0xff000000u | r << 16 | g << 8 | b;
}

void viz_colour_table(uint32_t table[VIZ_TABLE_SIZE], viz_map map)
{
    for (int k = 0; k < VIZ_TABLE_SIZE; k++) {
        table[k] = viz_colour_pixel(viz_colour_map_at(map, k / (VIZ_TABLE_SIZE - 1.0)));
    }
}

viz_rgb viz_colour_missing(viz_theme theme)
{
    return from_hex(theme == VIZ_DARK ? 0x5a5a5a : 0xb9b9b9);
}

viz_rgb viz_colour_line_at(viz_map map, viz_theme theme, double t)
{
    if (viz_colour_map_diverges(map)) {
        return viz_colour_map_at(map, t);
    }
    const size_t row = (unsigned)map < VIZ_MAP_SEQUENTIAL ? (size_t)map : 0;
    const double *part = line_part[theme == VIZ_DARK][row];
    return viz_colour_map_at(map, part[0] + clamp_unit(t) * (part[1] - part[0]));
}

viz_rgb viz_colour_class(size_t index, viz_theme theme)
{
    /* Blue, vermilion, bluish green, reddish purple, sky blue, orange, yellow; on a light page the
     * last two are browns, of lightnesses that tell them apart where hue does not. */
    static const unsigned light[VIZ_CLASS_COUNT] = {0x0072b2, 0xd55e00, 0x1f734e, 0xb0568a,
                                                    0x4a8abc, 0x9c7e4e, 0x825f04};
    static const unsigned dark[VIZ_CLASS_COUNT] = {0x4990d1, 0xe8762a, 0x19b387, 0xd78cb9,
                                                   0x7cc4ee, 0xe8aa2e, 0xf0e442};
    const size_t i = index % VIZ_CLASS_COUNT;
    return from_hex(theme == VIZ_DARK ? dark[i] : light[i]);
}

double viz_colour_luminance(viz_rgb colour)
{
    return 0.2126 * to_linear(colour.r) + 0.7152 * to_linear(colour.g) +
           0.0722 * to_linear(colour.b);
}

double viz_colour_contrast(viz_rgb a, viz_rgb b)
{
    const double la = viz_colour_luminance(a);
    const double lb = viz_colour_luminance(b);
    return (fmax(la, lb) + 0.05) / (fmin(la, lb) + 0.05);
}

viz_rgb viz_colour_resolve(const viz_paint *paint, viz_theme theme)
{
    static const unsigned roles[2][5] = {
        [VIZ_LIGHT] = {0x1a1a1a, 0x595959, 0xe4e4e4, 0xf1efe9, 0xffffff},
        [VIZ_DARK] = {0xececec, 0xb0b4ba, 0x33373d, 0x23262b, 0x15171a},
    };
    switch (paint->kind) {
    case VIZ_PAINT_RGB:
        return paint->rgb;
    case VIZ_PAINT_CLASS:
        return viz_colour_class(paint->index, theme);
    case VIZ_PAINT_MAP:
        return viz_colour_line_at(paint->map, theme, paint->t);
    case VIZ_PAINT_INK:
    case VIZ_PAINT_MUTED:
    case VIZ_PAINT_GRID:
    case VIZ_PAINT_SHADE:
    case VIZ_PAINT_PAGE:
        return from_hex(roles[theme == VIZ_DARK][paint->kind]);
    }
    return from_hex(roles[theme == VIZ_DARK][VIZ_PAINT_INK]);
}

viz_paint viz_paint_of(viz_paint_kind kind)
{
    return (viz_paint){.kind = kind};
}

viz_paint viz_paint_map(viz_map map, double t)
{
    return (viz_paint){.kind = VIZ_PAINT_MAP, .map = map, .t = t};
}

viz_paint viz_paint_class(size_t index)
{
    return (viz_paint){.kind = VIZ_PAINT_CLASS, .index = index};
}
