/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Polynomial maps for tests, in skewed coordinates: x = S y, where y obeys a polynomial rule that
 * is given term by term, so that what is known of y is known of x while no coordinate of x is
 * special.
 */
#ifndef BASIN_DYN_POLY_MAPS_H
#define BASIN_DYN_POLY_MAPS_H

#include "dyn/dyn_map.h"

#include <stddef.h>

enum { POLY_SIZE = 6, POLY_TERMS = 24 };

/* y'_row += coefficient · Π_i y_i^{power[i]} · (value of parameter number `parameter`), without the
 * last factor when `parameter` is negative. */
typedef struct poly_term {
    size_t row;
    double coefficient;
    int parameter;
    unsigned power[POLY_SIZE];
} poly_term;

/* What such a map offers besides step and jvp. */
typedef enum poly_offer {
    POLY_PLAIN,      /* nothing */
    POLY_VJP,        /* vjp */
    POLY_APPROXIMATE /* its jvp is a central difference, marked as such */
} poly_offer;

/* Parameters p and q begin at 0. `terms` ends with a coefficient of 0, and is copied. */
dyn_map *poly_make(size_t size, const poly_term *terms, poly_offer offer);

/* S, size × size, row-major; borrowed. */
const double *poly_frame(const dyn_map *map);

/* |S e_i|₂. */
double poly_length(const dyn_map *map, size_t i);

/* x = S y and back. */
void poly_to_state(const dyn_map *map, const double *y, double *x);
void poly_from_state(const dyn_map *map, const double *x, double *y);

#endif
