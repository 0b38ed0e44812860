/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "scores against parameters": accuracy of trained models, greedy and sampled, against their
 * number of parameters, with the level of chance.
 *
 * Models whose names differ only behind the last '-' are one group: a line, a colour and a symbol;
 * filled is greedy, open sampled. The abscissa is logarithmic.
 */
#ifndef BASIN_VIZ_SCORES_PLOT_H
#define BASIN_VIZ_SCORES_PLOT_H

#include "viz/viz_plot.h"

typedef struct viz_score {
    const char *name;  /* plain UTF-8 text */
    double parameters; /* > 0 */
    double greedy;     /* share in [0, 1], or NaN */
    double sampled;
} viz_score;

/* Borrowed during the call only. */
typedef struct viz_scores_data {
    const viz_score *scores;
    size_t n;
    double chance; /* share, or NaN */
} viz_scores_data;

/* Builds the scene; the caller owns *out. KERN_INVALID_ARGUMENT when no score is finite or above
 * VIZ_SCORES_MAX are given; KERN_BAD_INPUT for a text that is not UTF-8; KERN_NO_MEMORY. */
enum { VIZ_SCORES_MAX = 256 };
kern_status viz_scores_plot(viz_scene **out, const viz_scores_data *data,
                            const viz_plot_style *style, kern_error *err);

#endif
