/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Further trajectories of figure "landscape", for viz_landscape_plot.c: a line each, with markers
 * at its states, in colours and shapes by their place in the list.
 */
#ifndef BASIN_VIZ_LANDSCAPE_PATHS_H
#define BASIN_VIZ_LANDSCAPE_PATHS_H

#include "viz/viz_landscape_plot.h"

/* Opacity of a state that is `share` of its distance from the centre off the plane: 1 − share, at
 * least a third, and 1 for NaN, the centre itself. */
double viz_landscape_opacity(double share);

/* More states than these, and a path has no markers, which would hide the line. */
enum { VIZ_LANDSCAPE_MARKED = 200 };

/* Adds data->seeds to the map's panel. Errors of viz_scene_add_series; KERN_NO_MEMORY. */
kern_status viz_landscape_add_paths(viz_scene *scene, viz_panel *panel,
                                    const viz_landscape_data *data, kern_error *err);

#endif
