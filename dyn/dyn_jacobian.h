/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dense Jacobians from products by the Jacobian, some columns at a time.
 */
#ifndef BASIN_DYN_JACOBIAN_H
#define BASIN_DYN_JACOBIAN_H

#include "dyn/dyn_map.h"

#include <stddef.h>

/* Numbers of workspace of the call below: at most DYN_MAP_GROUP states. */
size_t dyn_jacobian_work(const dyn_map *map);

/* J_ij = ∂F_i/∂x_j at x into the rows of `jacobian`, whose row i begins at i·ld (ld ≥ size). `y`
 * receives F(x) unless it is NULL; it may not be x. Cost: size jvps. */
void dyn_jacobian_fill(dyn_map *map, const double *x, double *y, double *jacobian, size_t ld,
                       double *work);

#endif
