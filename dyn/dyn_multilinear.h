/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Second and third derivatives of an iterated map in given directions, from products by the
 * Jacobian: what normal forms are made of.
 *
 *   B(a, b) = d²/ds dt F^p(x + s a + t b),   C(a, b, c) = d³/dr ds dt F^p(x + r a + s b + t c) at 0
 *
 * The first derivative is exact (jvp along the p steps). Those of one step are differences of it,
 * one more a central difference, two more a second difference:
 *
 *   B(a, b)    ≈ [J(x + ha) − J(x − ha)] b / 2h
 *   C(a, b, c) ≈ [J(x + h(a+b)) − J(x + h(a−b)) − J(x − h(a−b)) + J(x − h(a+b))] c / 4h²
 *
 * Both have errors in even powers of h, so widths that halve are extrapolated to zero (Richardson),
 * and the entry of the table with the smallest estimated error is taken (Ridders 1982). No width
 * suits all maps, and a jvp that is itself a difference is noisy at small widths. The widest
 * displacement is 1/8 of max(1, |x|∞) along the longest direction.
 *
 * An iterate is not differenced as a whole: it varies over distances that shrink with the p-th
 * power of the map's expansion, and of a cycle of 128 states no width is left. Its derivatives
 * follow from those of the steps by the chain rule: with a_i, b_i, c_i the images of the directions
 * under the first i steps, and B_i and C_i the derivatives of these,
 *
 *   B_{i+1}(a, b)    = J B_i(a, b) + B(a_i, b_i)
 *   C_{i+1}(a, b, c) = J C_i(a, b, c) + C(a_i, b_i, c_i)
 *                    + B(a_i, B_i(b, c)) + B(b_i, B_i(a, c)) + B(c_i, B_i(a, b)),
 *
 * everything on the right taken at the i-th state.
 *
 * Errors of a step, for x and directions near 1 and a map that varies over distances near 1: about
 * 1e-13 for B and 1e-11 for C with an exact jvp. A jvp with noise 1e-10 gives about 1e-9 and 1e-8.
 * Errors of steps are carried on by the Jacobian and taken to add up; what rounding of the states
 * amounts to is not in the estimate, which is kept of the last call. Derivatives that are not
 * finite make the result NaN.
 */
#ifndef BASIN_DYN_MULTILINEAR_H
#define BASIN_DYN_MULTILINEAR_H

#include "dyn/dyn_map.h"

#include <complex.h>
#include <stddef.h>

typedef struct dyn_multilinear dyn_multilinear;

/* Workspace for the p-th iterate of `map`, which is borrowed. KERN_INVALID_ARGUMENT for p = 0,
 * KERN_OVERFLOW, KERN_NO_MEMORY. */
kern_status dyn_multilinear_create(dyn_multilinear **out, dyn_map *map, size_t period,
                                   kern_error *err);
void dyn_multilinear_destroy(dyn_multilinear *m);

/* y = F^p(x) unless NULL, jv = (F^p)'(x) v. Cost p jvps. */
void dyn_multilinear_first(dyn_multilinear *m, const double *x, const double *v, double *y,
                           double *jv);

/* out = B(a, b) at x. Outputs may not be inputs. Cost: mostly 6 to 12 jvps, at most 28, for each
 * step, and four more when there are several. */
void dyn_multilinear_second(dyn_multilinear *m, const double *x, const double *a, const double *b,
                            double *out);

/* out = C(a, b, c) at x. Cost: mostly 12 to 24 jvps, at most 56, for p = 1; else those for each
 * step, 11 more, and six calls of B, or two when a, b and c are one array. */
void dyn_multilinear_third(dyn_multilinear *m, const double *x, const double *a, const double *b,
                           const double *c, double *out);

/* The same for complex directions, expanded by linearity. Cost: up to 4 and 8 real calls. */
void dyn_multilinear_second_complex(dyn_multilinear *m, const double *x, const double complex *a,
                                    const double complex *b, double complex *out);
void dyn_multilinear_third_complex(dyn_multilinear *m, const double *x, const double complex *a,
                                   const double complex *b, const double complex *c,
                                   double complex *out);

/* Estimated largest error of an entry of the last result of a call above but the first; for complex
 * directions the sum over the real calls. NaN when the result is. */
double dyn_multilinear_error(const dyn_multilinear *m);

#endif
