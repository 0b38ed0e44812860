/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Energies at many points of a plane at once, from what their terms have in common: every
 * preactivation or logit z_r is a combination of a few features φ_i of the point,
 *   z_rp = Σ_i coef[r·features + i] φ_i,p,
 * with coefficients that belong to the plane. KERN_SLICE_POINTS points are treated together, so
 * that loops run over points, in vector registers, and sums over r need no reduction; fewer points
 * are padded by the caller. Layout: φ is features × KERN_SLICE_POINTS, z rows ×
 * KERN_SLICE_POINTS.
 *
 * Sums are in double; in single precision 16 terms at a time are added in float first, which costs
 * about their rounding once more. NaN and infinity reach the sums. One thread each.
 */
#ifndef BASIN_KERN_SLICE_H
#define BASIN_KERN_SLICE_H

#include "kernels/kern_op.h"

#include <stddef.h>

enum { KERN_SLICE_POINTS = 64 };

/* z as above. */
void kern_slice_combine_f32(float *z, size_t rows, size_t features, const float *coef,
                            const float *phi);
void kern_slice_combine_f64(double *z, size_t rows, size_t features, const double *coef,
                            const double *phi);

/* sum_p += Σ_r f(z_rp)², four features. */
void kern_slice_squares_f32(kern_fn fn, size_t rows, const float *coef, const float *phi,
                            double *sum);
void kern_slice_squares_f64(kern_fn fn, size_t rows, const double *coef, const double *phi,
                            double *sum);

/* sum_p += Σ_r y_rp f(z_rp), four features; y_rp = Σ_i gate[4r + i] φ_i,p. */
void kern_slice_products_f32(kern_fn fn, size_t rows, const float *coef, const float *gate,
                             const float *phi, double *sum);
void kern_slice_products_f64(kern_fn fn, size_t rows, const double *coef, const double *gate,
                             const double *phi, double *sum);

/* sum_p += log Σ_r exp z_rp, from the largest down, rows ≥ 1. z is overwritten. */
void kern_slice_log_sum_exp_f32(size_t rows, float *z, double *sum);
void kern_slice_log_sum_exp_f64(size_t rows, double *z, double *sum);

#endif
