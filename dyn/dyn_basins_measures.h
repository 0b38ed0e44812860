/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How intricate basins are: basin entropy, and the uncertainty exponent.
 *
 * Both depend on the resolution they are computed at, which their results state.
 */
#ifndef BASIN_DYN_BASINS_MEASURES_H
#define BASIN_DYN_BASINS_MEASURES_H

#include "dyn/dyn_basins.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Basin entropy (Daza, Wagemakers, Georgeot, Guéry-Odelin, Sanjuán, Sci. Rep. 6, 31416 (2016)): the
 * grid of labels is tiled by boxes of `box` cells along each side; of a box in which label j has
 * part p_j of the cells, the entropy is S = −Σ p_j ln p_j. Every label counts as a colour of its
 * own, outcomes such as diverged included. Cells that fill no whole box at the upper ends are left
 * out. */
typedef struct dyn_basin_entropy {
    size_t box;        /* cells along the side of a box */
    size_t n_boxes;    /* boxes */
    size_t n_boundary; /* of them, those with more than one label */
    double entropy;    /* S_b, mean of S over all boxes */
    /* S_bb, mean of S over boxes with more than one label, and its standard error; NaN without such
     * boxes, the error also with one. */
    double boundary_entropy;
    double boundary_error;
    /* S_bb > ln 2 by more than two standard errors. A smooth boundary has boxes of two labels and
     * S ≤ ln 2, but for the few that hold a point where three meet, so this is sufficient for a
     * fractal boundary, at this resolution; that it fails says nothing. */
    bool above_ln2;
} dyn_basin_entropy;

/* Computes the entropy of labels of a grid of grid[0] × … × grid[size − 1] cells, the last
 * coordinate running fastest. KERN_INVALID_ARGUMENT when box is 0 or larger than a side;
 * KERN_NO_MEMORY. */
kern_status dyn_basin_entropy_find(dyn_basin_entropy *out, const int32_t *labels,
                                   const size_t *grid, size_t size, size_t box, kern_error *err);

/* Uncertainty exponent (Grebogi, McDonald, Ott, Yorke, Phys. Lett. A 99, 415 (1983)): of points
 * drawn in the box of the starts, the part f(ε) that has another label after a change of one
 * coordinate by +ε or −ε times the box's side behaves as ε^α, where D − α is the (box-counting)
 * dimension of the boundary: α = 1 for a smooth one. Every ε has points of its own, so that the
 * errors of f are independent. */
typedef struct dyn_uncertainty_options {
    double largest; /* of ε, in (0, ½] */
    double smallest;
    size_t n;      /* values of ε, evenly spaced in their logarithm, at least 3 */
    size_t points; /* for every ε */
} dyn_uncertainty_options;

/* 10⁻² to 10⁻⁵, 9 values, 10000 points each: enough for the 3 scales that a line needs when the
 * boundary is smooth (f = 2ε on an axis that it cuts once). */
dyn_uncertainty_options dyn_uncertainty_options_default(void);

typedef struct dyn_uncertainty_scale {
    double epsilon;
    size_t decided;   /* points whose three labels are attractors, diverged or left_box */
    size_t uncertain; /* of them, those whose labels differ */
    double fraction;  /* uncertain/decided; NaN when none is decided */
} dyn_uncertainty_scale;

typedef struct dyn_uncertainty {
    size_t n;
    dyn_uncertainty_scale *scales; /* owned */
    /* Straight line through ln f against ln ε, weighted by the binomial errors, over the n_fitted
     * scales with at least 10 uncertain and 10 other points. KERN_NOT_FOUND and NaN when they are
     * fewer than 3. The error is scaled by the scatter about the line where that is larger than
     * expected. It is that of chance alone: where ε is not small against the distances between
     * pieces of the boundary, or f is not against 1, f bends off the power law, which makes the
     * exponent too small by what the error does not tell; a smaller `largest` shows how much. */
    kern_status status;
    size_t n_fitted;
    double exponent;
    double exponent_error;
    double boundary_dimension; /* number of coordinates − exponent */
} dyn_uncertainty;

/* *n_starts: orbits that dyn_uncertainty_init follows, 3 · n · points. KERN_OVERFLOW. */
kern_status dyn_uncertainty_count(const dyn_uncertainty_options *options, size_t *n_starts,
                                  kern_error *err);

/* Measures the exponent with the method and the box of `basins`; its own starts are not followed.
 * *out is initialised here and released with dyn_uncertainty_fini, which is harmless after a
 * failure. KERN_INVALID_ARGUMENT for options outside their domain; errors of dyn_basins_init. Cost:
 * dyn_uncertainty_count starts, of which none is stored. */
kern_status dyn_uncertainty_init(dyn_uncertainty *out, const dyn_map *map,
                                 const dyn_basins_options *basins,
                                 const dyn_uncertainty_options *options, kern_error *err);
void dyn_uncertainty_fini(dyn_uncertainty *out);

#endif
