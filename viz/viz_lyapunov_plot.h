/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "Lyapunov spectrum": exponents against their index, with standard errors.
 *
 * Open squares are exponents above zero by more than two standard errors, filled triangles those
 * below by as much, crosses the rest, which may be zero. Zero is drawn as a line. The note gives
 * the Kaplan–Yorke dimension and, as a check of the numbers, the sum of the exponents beside the
 * mean of ln |det J|, which it equals when the spectrum is complete.
 */
#ifndef BASIN_VIZ_LYAPUNOV_PLOT_H
#define BASIN_VIZ_LYAPUNOV_PLOT_H

#include "viz/viz_plot.h"

/* Borrowed during the call only. */
typedef struct viz_lyapunov_data {
    size_t n;                /* exponents, ≥ 1 */
    const double *exponents; /* natural logarithm per step */
    const double *error;     /* standard errors, NaN where not known; or NULL */
    double kaplan_yorke;     /* NaN: not known */
    double mean_log_det;     /* NaN: not known */
} viz_lyapunov_data;

/* Builds the scene; the caller owns *out. KERN_INVALID_ARGUMENT when no exponent is finite;
 * KERN_NO_MEMORY; errors of viz_plot_page. */
kern_status viz_lyapunov_plot(viz_scene **out, const viz_lyapunov_data *data,
                              const viz_plot_style *style, kern_error *err);

#endif
