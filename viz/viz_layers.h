/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layers of a panel that lie under its series: fields drawn as pixels, maps of classes, and lines
 * of equal value. Plain data, as all of a scene.
 *
 * A lattice holds nx × ny samples, row-major with row 0 at y0, so that values[j·nx + i] belongs to
 * x = x0 + i (x1 − x0)/(nx − 1), y = y0 + j (y1 − y0)/(ny − 1): the ends are positions of samples,
 * not edges of cells. A single column or row is a cell between x0 and x1 (y0 and y1).
 */
#ifndef BASIN_VIZ_LAYERS_H
#define BASIN_VIZ_LAYERS_H

#include "viz/viz_colour.h"
#include "viz/viz_scale.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct viz_lattice {
    size_t nx, ny; /* ≥ 1, at most VIZ_LATTICE_SIDE each */
    double x0, x1; /* x0 < x1 */
    double y0, y1; /* y0 < y1 */
} viz_lattice;

enum { VIZ_LATTICE_SIDE = 16384, VIZ_LATTICE_TOTAL = 1 << 26 };

/* How pixels between samples are coloured. Either way the layer is one image without seams, made
 * at the resolution of the surface, because readers ignore a file's own wish for interpolation. */
typedef enum viz_filter {
    VIZ_NEAREST, /* each sample fills its cell, half a step to every side: data shown as they are */
    VIZ_BILINEAR /* smooth between samples, drawn between the outermost ones only */
} viz_filter;

typedef struct viz_field {
    const char *name; /* plain text, for tables; required */
    viz_lattice lattice;
    const double *values; /* ny × nx */
    viz_scale scale;
    viz_filter filter;
    bool ink;  /* one colour, `paint`, whose opacity is the value's place on the scale; values
                  without a place show what is beneath; a pixel that several samples of a
                  VIZ_NEAREST field fall on gets the largest, so that no point of a sparse plot is
                  lost */
    bool bare; /* values without a place show what is beneath; a pixel between such a sample and
                  others has the value of the nearest, so that the gap's edge is half-way */
    viz_paint paint;
} viz_field;

/* How a surface is seen: turned about the vertical, and from the side (0) to from above (π/2). */
typedef struct viz_camera {
    double azimuth, elevation; /* radians */
} viz_camera;

/* Second cue beside the hue of a class. */
typedef enum viz_hatch {
    VIZ_HATCH_NONE,
    VIZ_HATCH_RISING,  /* lines /// */
    VIZ_HATCH_FALLING, /* lines \\\ */
    VIZ_HATCH_LEVEL,   /* horizontal lines */
    VIZ_HATCH_UPRIGHT, /* vertical lines */
    VIZ_HATCH_CROSSED, /* lines /// and \\\ */
    VIZ_HATCH_DOTS,
    VIZ_HATCH_COUNT
} viz_hatch;

typedef struct viz_class {
    int32_t label;
    const char *name;   /* plain text, for tables; required */
    const char *legend; /* markup, or NULL for no entry */
    viz_paint paint;
    viz_hatch hatch;
} viz_class;

enum { VIZ_CLASSES_MAX = 64 };

/* Map of classes, always VIZ_NEAREST. A label that no class has is drawn as missing data. */
typedef struct viz_classes {
    const char *name; /* plain text, for tables; required */
    viz_lattice lattice;
    const int32_t *labels; /* ny × nx */
    const double *light;   /* ny × nx, or NULL: 0 darkens a cell by a third, 1 leaves it */
    const viz_class *classes;
    size_t n_classes; /* ≤ VIZ_CLASSES_MAX */
} viz_classes;

/* Lines of equal value: white over a dark halo, which reads on every colour of a map. */
typedef struct viz_isolines {
    const char *name; /* plain text, for tables; required */
    size_t n_lines;
    const size_t *first; /* n_lines + 1 ascending offsets into x and y; line k has the vertices
                            first[k] … first[k + 1] − 1; a closed line repeats its first vertex */
    const double *x, *y;
    const double *level; /* of every line; lines of one level need not stand together */
    double width;        /* of the white line in points; 0: 0.6, or 0.4 of a faint one */
    bool labelled;       /* levels written into gaps of long lines, where there is room */
    bool dashed;
    bool faint; /* half transparent, to lie under others */
} viz_isolines;

/* A text beside a point, at one of eight places around it that is free of other marks and inside
 * the plot; left out where there is none. */
typedef struct viz_mark {
    double x, y;
    double z;         /* gives the height over a surface; 0 elsewhere */
    double gap;       /* between the point and the text, in points */
    const char *text; /* markup; required */
} viz_mark;

#endif
