/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a chart's states end (dyn_plane_rim), for view_landscape.c and pictures.
 */
#ifndef BASIN_VIEW_LANDSCAPE_RIM_H
#define BASIN_VIEW_LANDSCAPE_RIM_H

#include "viz/view/view_landscape.h"

/* Sets the landscape's rim. */
void view_landscape_trace_rim(view_landscape *l);

/* KERN_INVALID_ARGUMENT, in a sentence that begins with the range, when no sample of a computed
 * field of the landscape has a state: the range lies outside of the chart, or it is so wide that
 * the whole chart lies between its samples. */
kern_status view_landscape_check_field(const view_landscape *l, const dyn_slice_field *field,
                                       kern_error *err);

/* values = those of a field of the landscape, in which samples without a state that neighbour one
 * with a state have the energy of the rim's state between them and the centre: a surface through
 * them ends at the rim to within a cell, instead of at the last sample, where it is steepest. */
void view_landscape_fringe(const view_landscape *l, const dyn_slice_field *field, double *values);

#endif
