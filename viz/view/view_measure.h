/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measure: energy, gradient and curvature of the landscape at one place of the plane.
 *
 * Lengths and angles are those of the surface that the chart's states make, at the place, so that a
 * state has the same numbers on oblique and orthonormal axes and on every curved chart of a token's
 * sphere. With the Gram matrix G and the Christoffel symbols of dyn_plane_measure: |∇E|² = sᵀG⁻¹s
 * for the slopes s of E(a, b), and curvatures are the eigenvalues of G⁻¹H for the covariant Hessian
 * H_ij = ∂_i∂_j E − Σ_k Γᵏ_ij ∂_k E, second derivatives along the surface's geodesics.
 */
#ifndef BASIN_VIEW_MEASURE_H
#define BASIN_VIEW_MEASURE_H

#include "viz/view/view_landscape.h"

typedef struct view_measure {
    double a, b;
    double energy;
    double slope[2];     /* ∂E/∂a, ∂E/∂b */
    double gradient;     /* |∇E| along the surface, in the plane's lengths */
    double curvature[2]; /* eigenvalues of the 2 × 2 Hessian, ascending */
    double direction[2]; /* angle of their eigenvectors from the first axis, in [0, π) */
    double page[2];      /* the same as a and b are drawn, at right angles and equal units */
    double uncertainty;  /* of the curvatures, estimated from two step lengths and how far the
                          * chart stretches there, which magnifies what they are off */
} view_measure;

/* By central differences of the energy in double precision, with Richardson extrapolation. All
 * numbers are NaN where the energy is not finite, and all but the energy where the chart has no
 * lengths (its rim, antipodes) or where steps are too small a part of a and b. Cost: 65 energies.
 */
void view_measure_at(view_measure *out, const view_landscape *landscape, int worker, double a,
                     double b);

/* The same of any source at a place where lengths are those of `metric`. `scale` is a length
 * over which the energy changes, to an order of magnitude: steps h from 8 ε^(1/6) of it downwards
 * by halves are tried, about ε^(1/6) being where the error h⁴ of an extrapolated second difference
 * and its rounding ε/h² are equal, and of these the one is taken that agrees best with the next. */
void view_measure_source(view_measure *out, const dyn_slice_source *source, int worker,
                         const dyn_plane_metric *metric, double scale, double a, double b);

#endif
