/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "recurrence plot": which pairs of an orbit's states lie near each other (Eckmann,
 * Kamphorst and Ruelle 1987). Ink stands where state j is near state i; both axes count steps, time
 * running right and up.
 */
#ifndef BASIN_VIZ_RECURRENCE_PLOT_H
#define BASIN_VIZ_RECURRENCE_PLOT_H

#include "viz/viz_plot.h"

#include <stdint.h>

/* Borrowed during the call only. */
typedef struct viz_recurrence_data {
    size_t n;            /* states, 2 … VIZ_LATTICE_SIDE and n² within VIZ_LATTICE_TOTAL */
    const uint8_t *near; /* n × n, row j of state j: not 0 where state j is near state i */
    size_t first;        /* step of state 0 */
    double threshold;    /* distance that counts as near; NaN: not known */
} viz_recurrence_data;

/* Builds the scene; the caller owns *out. Errors of viz_scene_add_field and viz_plot_page. */
kern_status viz_recurrence_plot(viz_scene **out, const viz_recurrence_data *data,
                                const viz_plot_style *style, kern_error *err);

#endif
