/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Maps with known basins.
 */
#ifndef BASIN_DYN_BASIN_MAPS_H
#define BASIN_DYN_BASIN_MAPS_H

#include "dyn/dyn_map.h"

typedef enum basin_map {
    /* x' = r for x > 0 and −r otherwise; parameter r. Half the line each. */
    BASIN_MAP_SIGNS,
    /* Three double wells x − η(x³ − x) side by side: 8 attractors; on its symmetry planes 19 more
     * fixed points, all of them unstable. Parameter eta. */
    BASIN_MAP_WELLS,
    /* x + a + x² up to ½, which creeps through 0 in about π/√a steps, then 2 + (x − 2)/2: 2
     * attracts all of [−1, ∞). Parameter a. */
    BASIN_MAP_BOTTLENECK,
    /* The same beside y' = y/2. */
    BASIN_MAP_BOTTLENECK_PLANAR,
    /* NaN below 0, else 1 + (x − 1)/2. */
    BASIN_MAP_HOLE,
    /* θ − (k/4π) sin 4πθ + 3 on the circle of length 1: 0 and ½ attract half of it each.
     * Parameter k. */
    BASIN_MAP_CLOCK,
    /* Slope 5 from [0, 1/5], [2/5, 3/5] and [4/5, 1] onto [0, 1]; what falls between goes to −1 or
     * to 2, which attract; the boundary is a Cantor set of dimension ln 3/ln 5. */
    BASIN_MAP_CANTOR,
    /* Newton's method for z³ = 1 in the plane; three basins with one fractal boundary. */
    BASIN_MAP_NEWTON,
    /* Nothing settles: x + 1e-3 on the line. */
    BASIN_MAP_DRIFT,
    /* x − e·(x − 1)³: 1 attracts as (2 e t)^(-1/2). Parameter e. */
    BASIN_MAP_TANGENCY,
    /* (x − u³, y/2 + u²) with u = x − 1: the same along a curve, y ≈ 2u². */
    BASIN_MAP_BENT,
    /* x − x³ beside a double well in y: (0, ±1) attract slowly along x and at once along y. */
    BASIN_MAP_TRENCHES
} basin_map;

/* Makes a map; parameters are set with dyn_map_set_param. */
dyn_map *basin_map_make(basin_map which);

#endif
