/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plane of a landscape, for view_landscape.c.
 */
#ifndef BASIN_VIEW_LANDSCAPE_PLANE_H
#define BASIN_VIEW_LANDSCAPE_PLANE_H

#include "viz/view/view_landscape.h"

/* Room for n states of `size` numbers each, 0: for their places alone. */
kern_status view_landscape_path(view_path *p, size_t n, size_t size, kern_error *err);
void view_landscape_path_fini(view_path *p);

/* Takes the settings' further tokens. KERN_INVALID_ARGUMENT for one that the prompt does not have.
 */
kern_status view_landscape_also(view_landscape *l, kern_error *err);

/* Makes the plane around `centre` with the tokens that move, and later its axes, of which a kind
 * may need the trajectory. Errors of dyn_plane.h and dyn_plane_kinds.h. */
kern_status view_landscape_frame(view_landscape *l, const double *centre, kern_error *err);
kern_status view_landscape_axes(view_landscape *l, kern_error *err);

#endif
