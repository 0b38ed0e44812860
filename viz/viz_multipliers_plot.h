/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "multipliers on the unit circle": eigenvalues of a map's Jacobian at a point, or over a
 * cycle, in the complex plane with equal units.
 *
 * Filled circles lie inside the circle, open squares on or outside it, so that stability does not
 * rest on colour. With tokens given, a multiplier's colour is the position of the token whose
 * diagonal block it belongs to. The crossings are named where the circle meets them: +1 (fold), −1
 * (flip), and elsewhere a pair (Neimark–Sacker). The note counts what lies outside and gives the
 * spectral radius; multipliers that are not finite are left out and counted.
 */
#ifndef BASIN_VIZ_MULTIPLIERS_PLOT_H
#define BASIN_VIZ_MULTIPLIERS_PLOT_H

#include "viz/viz_plot.h"

/* Borrowed during the call only. */
typedef struct viz_multipliers_data {
    size_t n;              /* ≥ 1 */
    const double *re, *im; /* n values each */
    const size_t *token;   /* n positions, or NULL for a map without blocks */
} viz_multipliers_data;

/* Builds the scene; the caller owns *out. KERN_INVALID_ARGUMENT when no multiplier is finite;
 * KERN_NO_MEMORY; errors of viz_plot_page. */
kern_status viz_multipliers_plot(viz_scene **out, const viz_multipliers_data *data,
                                 const viz_plot_style *style, kern_error *err);

#endif
