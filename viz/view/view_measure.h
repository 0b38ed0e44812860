/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measure: energy, gradient and curvature of the landscape at one place of the plane.
 *
 * The Hessian is that of E(a, b), in the coordinates of the plane's chart; at the centre that is
 * the second derivative along the plane, elsewhere on a sphere the chart has a share in it. Lengths
 * and angles are those of the plane's Gram matrix G, so that oblique axes give the same numbers as
 * orthonormal ones: |∇E|² = sᵀG⁻¹s for the slopes s, and curvatures are the eigenvalues of G⁻¹H.
 */
#ifndef BASIN_VIEW_MEASURE_H
#define BASIN_VIEW_MEASURE_H

#include "viz/view/view_landscape.h"

typedef struct view_measure {
    double a, b;
    double energy;
    double slope[2];     /* ∂E/∂a, ∂E/∂b */
    double gradient;     /* |∇E| along the plane, in the plane's lengths */
    double curvature[2]; /* eigenvalues of the 2 × 2 Hessian in the plane, ascending */
    double direction[2]; /* angle of their eigenvectors from the first axis, in [0, π) */
    double uncertainty;  /* of the curvatures, estimated from two step lengths */
} view_measure;

/* By central differences of the energy in double precision, with Richardson extrapolation. All
 * numbers are NaN where the energy is not finite. Cost: 65 energies. */
void view_measure_at(view_measure *out, const view_landscape *landscape, int worker, double a,
                     double b);

/* The same of any source on axes with the Gram matrix (⟨u,u⟩, ⟨u,v⟩, ⟨v,v⟩). `scale` is a length
 * over which the energy changes, to an order of magnitude: steps h from 8 ε^(1/6) of it downwards
 * by halves are tried, about ε^(1/6) being where the error h⁴ of an extrapolated second difference
 * and its rounding ε/h² are equal, and of these the one is taken that agrees best with the next. */
void view_measure_source(view_measure *out, const dyn_slice_source *source, int worker,
                         const double gram[3], double scale, double a, double b);

#endif
