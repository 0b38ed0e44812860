/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the sources of dyn_plane_kinds share. Not for other parts of the library.
 */
#ifndef BASIN_DYN_PLANE_INTERNAL_H
#define BASIN_DYN_PLANE_INTERNAL_H

#include "dyn/dyn_plane_kinds.h"

typedef struct dyn_plane__job {
    const dyn_plane *plane;
    const dyn_plane_recipe *recipe;
    dyn_plane_notes *notes;
} dyn_plane__job;

/* v = the direction across u along which the Hessian at the centre is largest in magnitude. Notes
 * its curvature as that of axis 1. */
kern_status dyn_plane__largest_across(dyn_plane__job *job, const double *u, double *v,
                                      kern_error *err);

/* u and v = directions of the smallest and the largest eigenvalue. */
kern_status dyn_plane__ends(dyn_plane__job *job, double *u, double *v, kern_error *err);

#endif
