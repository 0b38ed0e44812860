/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Energies of a model's tokens on a plane through its states (dyn/dyn_plane.h), by three vectors.
 *
 * On a plane, block A of the state is k₀ c_A + k₁ u_A + k₂ v_A. Its norm's denominator follows from
 * the triangular factor of those three vectors, and g_A = γ ⊙ x̂_A + δ is a combination of four
 * vectors with features κ = (k₀, k₁, k₂)/σ_A and 1. Whatever is affine in g before its
 * nonlinearity is then one of those four numbers per unit, computed once for the plane by products
 * with M c, M u and M v, and a point costs four multiplications and one nonlinearity per unit
 * instead of D:
 *   attention   logits of a token that moves against one that is held are 4 numbers each; of two
 *               that move, 16 (bilinear in κ_A and κ_B), as on a plane of two tokens; a token's
 *               logit with itself under an inclusive mask is a quadratic form in κ_A
 *   FF1         −s Σ f(z)², z affine
 *   FF2W        −s Σ p f(z) − s g·b₂, z and p affine
 *   CEM         interaction: as attention against a fixed history; form A: −Σ g_m Φ(z_m); form B: a
 *               quadratic form in κ; the confining term: one in k
 * FF2, whose inner layer is not affine, and CEM under a synchronous history are refused; the map's
 * own energy serves them (dyn/dyn_slice.h).
 *
 * Agrees with the graph's energies to rounding: 1e-12 of the larger of 1 and Σ|terms| in double
 * precision. Single precision, for a first look, is good to about 1e-5 of the same.
 */
#ifndef BASIN_MODEL_SLICE_H
#define BASIN_MODEL_SLICE_H

#include "dyn/dyn_slice.h"
#include "models/model.h"
#include "models/model_family.h"

#include <stdbool.h>

typedef struct model_slice model_slice;

/* All tokens together. */
#define MODEL_SLICE_SUM SIZE_MAX

/* Energy of token `token`, or of all, of an NRGPT on a plane among N tokens of width D. `m` must be
 * in double precision; neither it nor the plane is needed afterwards, except that the plane must
 * live while the slice is asked for energies. Up to `workers` threads may ask at once.
 * KERN_INVALID_ARGUMENT for another family, for FF2, for single precision, a plane whose blocks are
 * not D wide, or a token outside it; KERN_OVERFLOW, KERN_NO_MEMORY. Cost: O(H D²) for a token, and
 * O(N H D²) where tokens before it move or all are asked for. */
kern_status model_slice_create(model_slice **out, const model *m, const dyn_plane *plane,
                               size_t token, int workers, kern_error *err);

/* The same of a part of a layer that is a CEM descent, whose input is h (N × D, as
 * model_layer_input gives it). KERN_INVALID_ARGUMENT also for a synchronous history and a part that
 * has no energy. */
kern_status model_slice_create_layer(model_slice **out, const model *m, size_t layer,
                                     model_layer_part part, const double *h, const dyn_plane *plane,
                                     size_t token, int workers, kern_error *err);

void model_slice_destroy(model_slice *slice);

/* What dyn_slice_compute takes; `single` chooses single precision. */
dyn_slice_source model_slice_source(model_slice *slice, bool single);

/* The energy at one point, in double precision, by the first worker. */
double model_slice_energy(model_slice *slice, double a, double b);

#endif
