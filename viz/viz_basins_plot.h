/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "basins of attraction": starts on a plane, coloured by the attractor that they end on.
 *
 * Attractor i (1, 2, …) has hue and hatch, of which 49 pairs differ; the negative labels are
 * outcomes, drawn in greys with hatches of their own and named in words, never folded into the
 * range of the attractors. The legend gives every class its share of the starts. Points of the
 * attractors that lie in the picture are marked.
 */
#ifndef BASIN_VIZ_BASINS_PLOT_H
#define BASIN_VIZ_BASINS_PLOT_H

#include "viz/viz_plot.h"

#include <stdint.h>

typedef struct viz_basins_attractor {
    int32_t label; /* ≥ 1 */
    size_t period; /* 0: not periodic */
    size_t n_points;
    const double *x, *y; /* n_points values each */
} viz_basins_attractor;

typedef struct viz_basins_outcome {
    int32_t label;    /* < 0 */
    const char *name; /* plain UTF-8 text */
} viz_basins_outcome;

/* Borrowed during the call only. */
typedef struct viz_basins_data {
    const char *x_name, *y_name; /* plain UTF-8 text */
    viz_lattice lattice;
    const int32_t *labels; /* ny × nx */
    const double *light;   /* as in viz_classes, or NULL */
    const viz_basins_attractor *attractors;
    size_t n_attractors;
    const viz_basins_outcome *outcomes;
    size_t n_outcomes;
} viz_basins_data;

enum { VIZ_BASINS_ATTRACTORS = 49, VIZ_BASINS_OUTCOMES = 8 };

/* Paint and hatch of attractor number k, and of outcome number k, from 0 on. */
void viz_basins_dress_attractor(viz_class *class, size_t k);
void viz_basins_dress_outcome(viz_class *class, size_t k);

/* A share in per cent as legends have it, in markup: one decimal, but never "0.0" for what occurs
 * nor "100.0" for what is not all. */
enum { VIZ_BASINS_SHARE = 16 };
void viz_basins_format_share(char out[VIZ_BASINS_SHARE], double percent);

/* Builds the scene; the caller owns *out. KERN_INVALID_ARGUMENT for more classes than there are
 * appearances, or a label outside its range; KERN_BAD_INPUT for a text that is not UTF-8;
 * KERN_NO_MEMORY. */
kern_status viz_basins_plot(viz_scene **out, const viz_basins_data *data,
                            const viz_plot_style *style, kern_error *err);

#endif
