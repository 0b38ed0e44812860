/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Planes by recipe: how the two axes come about. A recipe (the kind's name, seed, tokens) is what a
 * session keeps, and gives the same plane again, bit for bit.
 *
 *   random    two Gaussian directions from the stream (seed, "plane")
 *   relative  the same with every block's part scaled to the block's size at the centre (what
 *             filter normalisation is to weights; Li et al. 2018)
 *   pca       principal directions of a trajectory's displacements from the centre, by the
 *             eigenvectors of their T × T Gram matrix; `explained` are shares of Σ|w_t|²
 *   points    through two more states: u towards the first, v towards the second, along geodesics
 *             where a state has no place in the chart
 *   tokens    a random direction of one token along u, and one of another along v
 *   gradient  u = −∇E, v the direction across it along which the Hessian is largest in magnitude
 *   hessian   directions of the smallest and the largest eigenvalue of the Hessian
 *   terms     −∇ of the first term of the energy along u, and of the second along v
 *   custom    two given vectors, kept as they are if they are to be (oblique)
 *
 * Eigenvectors are Lanczos' (1950), with all vectors orthogonalised again, in the plane's product:
 * curvatures are those of the energy along the chart, in energy per unit of length squared. The
 * Hessian is never formed: its products are differences of gradients. On curved charts it is that
 * of the energy along geodesics, P ∇²E P − (c·∇E/R²) in every block.
 *
 * Displacements of pca are along geodesics (dyn_plane_lift), so that all curved charts have the
 * same axes, states without a place in the chart count, and states near its end count no more.
 */
#ifndef BASIN_DYN_PLANE_KINDS_H
#define BASIN_DYN_PLANE_KINDS_H

#include "dyn/dyn_plane.h"

#include <stdint.h>

/* Gradient of an energy, or of one of its terms, as a function of the state. */
typedef struct dyn_plane_energy {
    void *context;
    size_t n_terms; /* 0: it is not split */
    /* g = ∇ of term `term`, or of the whole when that is DYN_PLANE_ALL_TERMS; size numbers each. */
    void (*gradient)(void *context, size_t term, const double *x, double *g);
} dyn_plane_energy;

#define DYN_PLANE_ALL_TERMS SIZE_MAX

typedef struct dyn_plane_kind dyn_plane_kind;

typedef struct dyn_plane_recipe {
    const dyn_plane_kind *kind;
    uint64_t seed;
    /* A trajectory (pca), two states (points) or two directions (custom), one after another. */
    const double *vectors;
    size_t n_vectors;
    size_t tokens[2];               /* tokens: one along each axis */
    const dyn_plane_energy *energy; /* gradient, hessian, terms */
    size_t lanczos_steps;           /* at most; 0: 200 */
    bool oblique;                   /* custom */
} dyn_plane_recipe;

/* What is known about the axes besides their coordinates; NaN where it does not apply. */
typedef struct dyn_plane_notes {
    double explained[2];
    double curvature[2];
    double residual[2]; /* |H v − λ v| of the eigenvectors */
    size_t products;    /* with the Hessian */
    kern_status status; /* KERN_NOT_CONVERGED: a residual is above 1e-6 of the largest |λ| seen */
} dyn_plane_notes;

/* The kinds in the order above; the one called `name`, or KERN_INVALID_ARGUMENT listing them. */
size_t dyn_plane_kind_count(void);
const dyn_plane_kind *dyn_plane_kind_at(size_t i);
const char *dyn_plane_kind_name(const dyn_plane_kind *kind);
const char *dyn_plane_kind_help(const dyn_plane_kind *kind);
kern_status dyn_plane_kind_find(const dyn_plane_kind **out, const char *name, kern_error *err);

/* Words for an axis (0 or 1) of a kind: "PC 1", "−∇E", … */
const char *dyn_plane_kind_axis(const dyn_plane_kind *kind, int axis);

/* Gives `plane` axes by a recipe; notes may be NULL. KERN_INVALID_ARGUMENT when the recipe lacks
 * what its kind needs and for parallel axes; KERN_SINGULAR for a trajectory on a line and for a
 * gradient of zero; KERN_NAN; KERN_NO_MEMORY. Cost: pca O(T² n + T³); Lanczos two gradients and
 * O(steps · n) a step. */
kern_status dyn_plane_make(dyn_plane *plane, const dyn_plane_recipe *recipe, dyn_plane_notes *notes,
                           kern_error *err);

#endif
