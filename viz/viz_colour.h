/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Colour: sRGB triples, perceptual colour maps, the categorical palette, themes and paints.
 *
 * Colour maps are tables of ten sRGB anchors interpolated in OKLab (Ottosson 2020), so that equal
 * steps in t look equal. Lightness rises strictly with t, which keeps order readable
 * in grey and under colour-vision deficiency. Sequential maps do; the diverging map "balance" is
 * for signed values with 0 at t = 1/2: blue to orange-red through a light grey, two arms of equal
 * lightness L = 0.95 − 0.57 |2t − 1| whose hues stay apart under every common deficiency. It is
 * computed, not tabulated. Anchors: viridis and plasma (van der Walt and
 * Smith 2015, CC0), cividis (Nuñez, Anderton, Renslow 2018).
 *
 * A scene stores paints, not colours: a paint is resolved against the theme when it is drawn, so
 * that one scene can be drawn light and dark.
 */
#ifndef BASIN_VIZ_COLOUR_H
#define BASIN_VIZ_COLOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sRGB, each channel in [0, 1]. */
typedef struct viz_rgb {
    double r, g, b;
} viz_rgb;

/* OKLab coordinates: lightness L in [0, 1], a green–red, b blue–yellow. */
typedef struct viz_oklab {
    double L, a, b;
} viz_oklab;

/* Sequential maps first. */
typedef enum viz_map {
    VIZ_MAP_VIRIDIS,
    VIZ_MAP_CIVIDIS,
    VIZ_MAP_PLASMA,
    VIZ_MAP_SEQUENTIAL, /* their number */
    VIZ_MAP_BALANCE = VIZ_MAP_SEQUENTIAL,
    VIZ_MAP_COUNT
} viz_map;

typedef enum viz_theme { VIZ_LIGHT, VIZ_DARK } viz_theme;

typedef enum viz_paint_kind {
    VIZ_PAINT_INK,   /* text and axes of the theme */
    VIZ_PAINT_MUTED, /* secondary text */
    VIZ_PAINT_GRID,  /* grid lines */
    VIZ_PAINT_SHADE, /* shaded ranges */
    VIZ_PAINT_PAGE,  /* background */
    VIZ_PAINT_RGB,   /* `rgb` as given */
    VIZ_PAINT_CLASS, /* categorical colour number `index` */
    VIZ_PAINT_MAP    /* colour map `map` at `t`, over the part readable on the theme's page */
} viz_paint_kind;

typedef struct viz_paint {
    viz_paint_kind kind;
    viz_map map;
    double t; /* [0, 1]; clamped, and a NaN counts as 0 */
    size_t index;
    viz_rgb rgb;
} viz_paint;

/* Number of distinct categorical colours; higher indices repeat. */
enum { VIZ_CLASS_COUNT = 7 };

/* OKLab from sRGB, and back with each channel clamped to [0, 1]. */
viz_oklab viz_colour_to_oklab(viz_rgb colour);
viz_rgb viz_colour_from_oklab(viz_oklab lab);

/* Colour of `map` at t; t is clamped to [0, 1], a NaN counts as 0. */
viz_rgb viz_colour_map_at(viz_map map, double t);

/* Name of a map ("viridis", …); NULL for a value outside the list. */
const char *viz_colour_map_name(viz_map map);

/* True for a map that has a centre. */
bool viz_colour_map_diverges(viz_map map);

/* Map named `name`; VIZ_MAP_COUNT when there is none. */
viz_map viz_colour_map_find(const char *name);

enum { VIZ_TABLE_SIZE = 1024 };

/* Fills `table` with 0xffrrggbb for t = k/(VIZ_TABLE_SIZE − 1), the layout of an opaque pixel of
 * a cairo image. */
void viz_colour_table(uint32_t table[VIZ_TABLE_SIZE], viz_map map);

/* Colour of missing data: a grey that no map contains, on either page. */
viz_rgb viz_colour_missing(viz_theme theme);

/* Opaque pixel of a colour. */
uint32_t viz_colour_pixel(viz_rgb colour);

/* As viz_colour_map_at over the part of the map that keeps a contrast of at least 3:1 to the
 * theme's page, so that thin lines stay readable at both ends. A diverging map has no such part and
 * is used whole. */
viz_rgb viz_colour_line_at(viz_map map, viz_theme theme, double t);

/* Categorical colour `index` modulo VIZ_CLASS_COUNT: the hues of Okabe and Ito (2008), the dim ones
 * darkened on a light page and the dark ones lightened on a dark page, so that each keeps 3:1 to
 * the page, and any two stay 0.055 apart in OKLab for normal sight and for a full protanopia,
 * deuteranopia and tritanopia (Machado, Oliveira and Fernandes 2009; 0.02 is about a just
 * noticeable difference). */
viz_rgb viz_colour_class(size_t index, viz_theme theme);

/* Relative luminance, and contrast ratio in [1, 21] (WCAG 2.1). */
double viz_colour_luminance(viz_rgb colour);
double viz_colour_contrast(viz_rgb a, viz_rgb b);

/* Colour of a paint under a theme. */
viz_rgb viz_colour_resolve(const viz_paint *paint, viz_theme theme);

/* Shorthands for paints. */
viz_paint viz_paint_of(viz_paint_kind kind);
viz_paint viz_paint_map(viz_map map, double t);
viz_paint viz_paint_class(size_t index);

#endif
