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
 *
 * In both charts block B is k₀ c_B + k₁ u_B + k₂ v_B with three numbers that dyn_plane_weights
 * gives: whatever is linear in a block needs three products for the whole plane.
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
    DYN_PLANE_CHART_COUNT
} dyn_plane_chart;

typedef enum dyn_plane_norm {
    DYN_PLANE_EUCLIDEAN,
    DYN_PLANE_RMS,
    DYN_PLANE_RELATIVE,
    DYN_PLANE_NORM_COUNT
} dyn_plane_norm;

/* Words "flat", "sphere"; "euclidean", "rms", "relative"; NULL outside the lists. */
const char *dyn_plane_chart_word(dyn_plane_chart chart);
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
    double *radius;   /* by block: R_B of those that may move on a sphere, else 0 */
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

/* k of block `block` at (a, b). */
void dyn_plane_weights(const dyn_plane *plane, size_t block, double a, double b, double k[3]);

/* x = the state at (a, b). x is not the centre's memory. */
void dyn_plane_point(const dyn_plane *plane, double a, double b, double *x);

/* ⟨v, w⟩. */
double dyn_plane_product(const dyn_plane *plane, const double *v, const double *w);

/* w = the displacement from the centre to x in the blocks that may move, 0 in the others: x − c, or
 * the inverse of the exponential map (of x's direction; a block opposite to its centre has no
 * unique one and gives some). w may be x. Axes need not be set. */
void dyn_plane_lift(const dyn_plane *plane, const double *x, double *w);

/* Makes a direction one of the plane's space: 0 in blocks that may not move, tangent on spheres. */
void dyn_plane_make_tangent(const dyn_plane *plane, double *v);

/* Where a state falls on the plane, and how far it is from what is shown there. */
typedef struct dyn_plane_shadow {
    double a, b;     /* of the nearest point */
    double distance; /* of x from the centre, |w| */
    double residual; /* |w − a u − b v|: off the plane */
    double held;     /* |x − c| over the blocks that may not move */
} dyn_plane_shadow;

/* Uses the plane's workspace: by one thread at a time. */
void dyn_plane_project(dyn_plane *plane, const double *x, dyn_plane_shadow *shadow);

#endif
