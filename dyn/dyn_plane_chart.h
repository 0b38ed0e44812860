/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The charts of planes as a table: what dyn_plane.h says of each, as functions of one block.
 *
 * On a curved chart block B is p(s) c + q(s) w with w = a u_B + b v_B and s = |w|²/R². It stays on
 * its sphere: p² + s q² = 1, and p is the cosine of its angle from the centre. With Q = q² and
 * m_ij = e_i·e_j of the axes' parts e in the block, its first fundamental form is
 *
 *   ∂_i x·∂_j x = Q m_ij + R² h s_i s_j,   s_i = ∂_i s = 2 w·e_i/R²,   h = p′² + s q′² + q q′,
 *
 * primes being derivatives in s. Along w a step dρ of ρ = √s is one of R √(Q + 4 s h) dρ, across it
 * one of R √Q (do Carmo 1976, §2-5).
 */
#ifndef BASIN_DYN_PLANE_CHART_H
#define BASIN_DYN_PLANE_CHART_H

#include "dyn/dyn_plane.h"

/* Of the first fundamental form, at one s. */
typedef struct dyn_plane_chart_form {
    double across, across_slope; /* Q and Q′ */
    double along, along_slope;   /* h and h′ */
} dyn_plane_chart_form;

/* The functions of a flat chart are NULL. */
typedef struct dyn_plane_chart_kind {
    const char *word;
    const char *help; /* how it is to be read, for captions */
    const char *unit; /* of coordinates in lengths relative to one block, on its sphere */
    bool half;        /* the far half of a sphere has no place */
    double edge;      /* largest ρ that has a state; ∞: all have */
    double span;      /* angle from the centre, in radians, up to which states are to be seen */
    void (*weights)(double s, double *p, double *q);
    void (*form)(double s, dyn_plane_chart_form *form);
    /* ρ of the direction with these parts along the centre and across it, of any length; NaN where
     * it has none. Parts up to `rounding` may be rounding. */
    double (*inverse)(double along, double across, double rounding);
} dyn_plane_chart_kind;

/* NULL outside the list. */
const dyn_plane_chart_kind *dyn_plane_chart_at(dyn_plane_chart chart);

#endif
