/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plane through the state space of a map, for looking at an energy on it: a centre c, two axes u
 * and v, and a chart that says which state the point (a, b) is.
 *
 *   flat    x = c + a u + b v.
 *   sphere  every block B that moves keeps its distance R_B from 0: with w_B = a u_B + b v_B and
 *           θ_B = |w_B|/R_B, x_B = cos θ_B c_B + (sin θ_B/θ_B) w_B, the exponential map of the
 *           product of the blocks' spheres at c. For energies that see a block's direction only,
 *           which on a flat plane are constant along rays from 0. Axes are made tangent to the
 *           spheres first; where the norm also takes a block's mean away (DYN_GAUGE_SCALE_SHIFT),
 *           c_B, u_B and v_B lose theirs and R_B = |c_B| is that of what is left.
 *   gnomonic      the same spheres seen from their middle: with ρ_B = |w_B|/R_B = tan θ_B, x_B =
 *                 (c_B + w_B)/√(1 + ρ_B²). Every great circle is a straight line, not only those
 *                 through c. The half of a sphere where x_B·c_B > 0 takes the whole plane; the
 *                 other half has no place.
 *   orthographic  seen from far away: ρ_B = sin θ_B and x_B = √(1 − ρ_B²) c_B + w_B. The half with
 *                 x_B·c_B ≥ 0 takes the disc ρ_B ≤ 1. The other half has no place, and places
 *                 where a block has ρ_B > 1 have no state.
 *
 * In all of them block B is k₀ c_B + k₁ u_B + k₂ v_B with three numbers that dyn_plane_weights
 * gives: whatever is linear in a block needs three products for the whole plane. To second order in
 * a and b the three curved charts agree, so that slopes and curvatures at the centre are those of
 * all (dyn_plane_chart.h has the table, Snyder 1987 the last two, as map projections).
 *
 * Lengths are measured by ⟨v, w⟩ = Σ_B ω_B v_B·w_B: ω_B = 1 (Euclidean), 1/D (rms of a block of
 * width D), or 1/|c_B|² (relative to the block's own size, with its mean taken away as above, so
 * that a single block on its sphere has coordinates in radians).
 *
 * Axes are made orthonormal in that product by Gram and Schmidt, unless they are to be kept as
 * given (oblique); then coordinates of other states are those of the nearest point of the plane
 * (least squares), and the angle between the axes is told.
 */
#ifndef BASIN_DYN_PLANE_H
#define BASIN_DYN_PLANE_H

#include "dyn/dyn_map.h"
#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum dyn_plane_chart {
    DYN_PLANE_FLAT,
    DYN_PLANE_SPHERE,
    DYN_PLANE_GNOMONIC,
    DYN_PLANE_ORTHOGRAPHIC,
    DYN_PLANE_CHART_COUNT
} dyn_plane_chart;

typedef enum dyn_plane_norm {
    DYN_PLANE_EUCLIDEAN,
    DYN_PLANE_RMS,
    DYN_PLANE_RELATIVE,
    DYN_PLANE_NORM_COUNT
} dyn_plane_norm;

/* Words "flat", "sphere", "gnomonic", "orthographic"; "euclidean", "rms", "relative"; how a chart
 * is to be read, for captions, and what coordinates are on the sphere of one block in lengths
 * relative to it ("rad", …). NULL outside the lists. */
const char *dyn_plane_chart_word(dyn_plane_chart chart);
const char *dyn_plane_chart_help(dyn_plane_chart chart);
const char *dyn_plane_chart_unit(dyn_plane_chart chart);
/* Whether blocks keep their lengths. */
bool dyn_plane_chart_is_curved(dyn_plane_chart chart);
const char *dyn_plane_norm_word(dyn_plane_norm norm);

/* Space, centre and measure of a plane. */
typedef struct dyn_plane_frame {
    size_t block_count;
    size_t block_width;
    dyn_gauge gauge;       /* SCALE_SHIFT takes means away on spheres and in relative lengths */
    const double *centre;  /* block_count · block_width numbers, copied */
    const size_t *movable; /* blocks that may move, ascending; NULL: all */
    size_t n_movable;
    dyn_plane_chart chart;
    dyn_plane_norm norm;
} dyn_plane_frame;

typedef struct dyn_plane {
    size_t size;
    size_t block_count;
    size_t block_width;
    dyn_gauge gauge;
    dyn_plane_chart chart;
    dyn_plane_norm norm;
    bool oblique;
    double *centre; /* size; owned, as all arrays */
    double *axes[2];
    bool *movable;    /* by block */
    bool *moves;      /* by block: an axis has a part in it */
    double *weight;   /* by block: ω_B */
    double *radius;   /* by block: R_B of those that may move on spheres, else 0 */
    double *products; /* by block: u·u, u·v, v·v, unweighted */
    double gram[3];   /* ⟨u,u⟩, ⟨u,v⟩, ⟨v,v⟩ */
    double angle;     /* of the axes as they were given, made tangent; 0 … π, radians */
    double *work;     /* size */
} dyn_plane;

/* A plane without axes yet. KERN_INVALID_ARGUMENT for a block outside the space, for a centre that
 * is not finite, and, on spheres and in relative lengths, when a block that may move is 0 (or, with
 * a shift, constant), which has no direction; KERN_OVERFLOW, KERN_NO_MEMORY. */
kern_status dyn_plane_create(dyn_plane **out, const dyn_plane_frame *frame, kern_error *err);
void dyn_plane_destroy(dyn_plane *plane);

/* Gives the plane its axes, `size` numbers each, of which parts in blocks that may not move are
 * left out. KERN_INVALID_ARGUMENT when an axis is zero in the others, when at most √ε ≈ 1.5e-8 of
 * its length is along their spheres, so that less than half the digits of what is left are its own
 * and not rounding, and when the axes are parallel in that sense: when the sine of their angle is
 * no more than √ε. KERN_NAN when a number is not finite. */
kern_status dyn_plane_set_axes(dyn_plane *plane, const double *u, const double *v, bool oblique,
                               kern_error *err);

/* Whether a state is at (a, b): not beyond the rim of an orthographic chart, nor where a number is
 * not finite. */
bool dyn_plane_has(const dyn_plane *plane, double a, double b);

/* k of block `block` at (a, b); NaN beyond the block's rim. */
void dyn_plane_weights(const dyn_plane *plane, size_t block, double a, double b, double k[3]);

/* x = the state at (a, b); all NaN where there is none. x is not the centre's memory. */
void dyn_plane_point(const dyn_plane *plane, double a, double b, double *x);

/* The largest t for which a state is at (t a, t b); ∞ where there is no rim that way. */
double dyn_plane_rim(const dyn_plane *plane, double a, double b);

/* The largest angle of a block at (a, b) from its centre, in radians: 0 on flat charts, NaN where
 * there is no state. */
double dyn_plane_angle(const dyn_plane *plane, double a, double b);

/* How lengths and directions change over the chart. With e_a = ∂x/∂a and e_b, `gram` is ⟨e_a, e_a⟩,
 * ⟨e_a, e_b⟩, ⟨e_b, e_b⟩, and bend[k] are the Christoffel symbols Γᵏ of aa, ab, bb, with which the
 * second derivatives of an energy along the surface of the chart's states (its covariant Hessian)
 * are ∂_i∂_j E − Σ_k Γᵏ_ij ∂_k E. On flat charts, and at the centre of all, they are the plane's
 * own Gram matrix and 0. On one block's sphere, gradient and curvatures made with them are the same
 * numbers in every curved chart. */
typedef struct dyn_plane_metric {
    double gram[3];
    double bend[2][3];
} dyn_plane_metric;

/* NaN where there is no state; not finite on the rim and at antipodes. */
void dyn_plane_measure(const dyn_plane *plane, double a, double b, dyn_plane_metric *metric);

/* ⟨v, w⟩. */
double dyn_plane_product(const dyn_plane *plane, const double *v, const double *w);

/* w = the displacement from the centre to x in the blocks that may move, 0 in the others: x − c, or
 * on every curved chart the inverse of the exponential map (of x's direction; a block opposite to
 * its centre has no unique one and gives some). w may be x. Axes need not be set. */
void dyn_plane_lift(const dyn_plane *plane, const double *x, double *w);

/* The same in the chart's own coordinates: w with x_B = p c_B + q w_B of dyn_plane_chart.h, up to
 * the length of x_B. NaN in blocks that have no place in the chart, in the far half of their
 * sphere. In one block it has the direction of the above, and another length. */
void dyn_plane_locate(const dyn_plane *plane, const double *x, double *w);

/* Makes a direction one of the plane's space: 0 in blocks that may not move, tangent on spheres. */
void dyn_plane_make_tangent(const dyn_plane *plane, double *v);

/* Where a state falls on the plane, and how far it is from what is shown there, with w of
 * dyn_plane_locate. a, b, distance and residual are NaN when a block has no place in the chart. On
 * one block's sphere the share residual/distance is the same in every curved chart, and a gnomonic
 * (a, b) is that of the nearest state of the plane itself. */
typedef struct dyn_plane_shadow {
    double a, b;     /* of the nearest point: of all w of the plane the one nearest to that of x */
    double distance; /* of x from the centre, |w| */
    double residual; /* |w − a u − b v|: off the plane */
    double held;     /* |x − c| over the blocks that may not move */
} dyn_plane_shadow;

/* Uses the plane's workspace: by one thread at a time. */
void dyn_plane_project(dyn_plane *plane, const double *x, dyn_plane_shadow *shadow);

#endif
