/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Contours: lines along which a function sampled on a lattice takes given values.
 *
 * Marching squares: a node is above a level when its value is at least the level, and lines cross
 * the edges of the lattice whose ends differ in that. A level that is exactly a node's value thus
 * passes through the node once, and a plateau at a level is bounded, not filled. A cell with a
 * corner that is not finite has no line. Where opposite corners of a cell agree and neighbours do
 * not (a saddle), the function itself is asked at the cell's centre, so that lines join as they do
 * and not as an average of corners would have it.
 *
 * Segments are chained by the edges they cross into open lines, which end at the border or at
 * missing values, and closed ones. All run with the larger values on their left, so that closed
 * lines turn anticlockwise around a maximum.
 *
 * A vertex begins where the values at its edge's ends, taken as linear between them, equal the
 * level. When the function is given, it is then moved along the edge by false position (Illinois;
 * Dowell and Jarratt 1971) until the function differs from the level by at most `tolerance`.
 */
#ifndef BASIN_VIZ_CONTOUR_H
#define BASIN_VIZ_CONTOUR_H

#include "kernels/kern_status.h"
#include "viz/viz_layers.h"

#include <stdbool.h>
#include <stddef.h>

/* v_i = the function at (x_i, y_i), i < n. */
typedef void viz_contour_values(void *context, size_t n, const double *x, const double *y,
                                double *v);

typedef struct viz_contour_options {
    const double *levels; /* n_levels numbers */
    size_t n_levels;
    viz_contour_values *values; /* NULL: saddles by the mean of the corners, no refinement */
    void *context;
    double tolerance; /* of refined vertices, as a share of the range of the finite samples; 0:
                         2.5e-7, so that 1e-6 holds with rounding to spare */
} viz_contour_options;

/* Lines in the form that viz_isolines takes: vertices first[k] … first[k + 1] − 1 of line k; a
 * closed one repeats its first vertex. All owned. */
typedef struct viz_contours {
    size_t n_lines;
    size_t *first; /* n_lines + 1 */
    double *x, *y;
    double *level;    /* by line */
    size_t n_saddles; /* cells whose centre settled them, over all levels */
    size_t n_rough;   /* vertices that were to be refined and are not within the tolerance */
} viz_contours;

/* Traces `values` (ny × nx, as viz_lattice says). Without a line n_lines is 0. *out is initialised
 * here and released with viz_contours_fini, also after a failure. KERN_INVALID_ARGUMENT for a
 * lattice of fewer than 2 × 2 samples or an unordered range, and a level that is not finite;
 * KERN_OVERFLOW, KERN_NO_MEMORY. Cost: O(cells) a level, and about 4 values a vertex. */
kern_status viz_contours_init(viz_contours *out, const viz_lattice *lattice, const double *values,
                              const viz_contour_options *options, kern_error *err);
void viz_contours_fini(viz_contours *contours);

/* Leaves out vertices that lie within `tolerance` of the line through those that stay (Douglas and
 * Peucker 1973), with x and y measured in units of scale_x and scale_y, such as points of the page
 * per unit of the axes. Ends stay, closed lines stay closed, and closed lines of which less than a
 * triangle would be left stay as they are. KERN_NO_MEMORY. */
kern_status viz_contours_simplify(viz_contours *contours, double scale_x, double scale_y,
                                  double tolerance, kern_error *err);

enum { VIZ_CONTOUR_LEVELS_MAX = 64 };

/* Multiples of a step of 1, 2 or 5 times a power of ten strictly inside (low, high), at most `most`
 * (2 … VIZ_CONTOUR_LEVELS_MAX) of them; returns their number, 0 for a range that is not one. */
size_t viz_contour_round_levels(double low, double high, size_t most, double *levels);

/* Values below which a share (i + ½)/n of the finite samples lies, ascending, equal ones once;
 * returns their number. `sorted` holds `count` numbers of workspace. */
size_t viz_contour_quantile_levels(const double *values, size_t count, size_t n, double *levels,
                                   double *sorted);

#endif
