/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The derivative of a map by one of its parameters, which maps do not give: central differences
 * with two Richardson extrapolations (Richardson and Gaunt 1927).
 */
#ifndef BASIN_DYN_PARAM_SLOPE_H
#define BASIN_DYN_PARAM_SLOPE_H

#include "dyn/dyn_map.h"

#include <stddef.h>

/* Numbers of workspace. */
size_t dyn_param_slope_work(const dyn_map *map);

/* slope (size numbers) = ∂F/∂p at x, p the parameter number `index`, which is restored. `scale` > 0
 * is the distance over which p changes things; the differences span 1/64 of it, and less where two
 * orders of extrapolation disagree by more than 1e-8 or a value is not a number. Errors are about
 * 1e-13 of |F|/scale for maps that are smooth over that distance. Returns the disagreement of the
 * last two orders, NaN when no difference was finite. Cost: 6 steps, 24 at most. */
double dyn_param_slope(dyn_map *map, size_t index, double scale, const double *x, double *slope,
                       double *work);

#endif
