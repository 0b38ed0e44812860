/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of model_slice share: the energy on a plane as a list of parts, and how it is put
 * together and evaluated.
 *
 * Every token has a basis: 4 rows γ⊙c, γ⊙u, γ⊙v, δ when it moves, or 1 row, its g, when it is held.
 * The features of a token that moves are κ; those of one that is held are (0, 0, 0, 1), so that
 * everything has four features per token.
 */
#ifndef BASIN_MODEL_SLICE_PRIVATE_H
#define BASIN_MODEL_SLICE_PRIVATE_H

#include "kernels/kern_slice.h"
#include "models/model_slice.h"

enum { MODEL__SLICE_FEATURES = 4, MODEL__SLICE_PAIR = 16 };

/* A token that is held, in place of the number of one that moves. */
#define MODEL__SLICE_HELD SIZE_MAX

typedef enum model__slice_kind {
    MODEL__SLICE_SQUARES,   /* Σ f(z)² */
    MODEL__SLICE_PRODUCTS,  /* Σ y f(z) */
    MODEL__SLICE_ATTENTION, /* Σ over heads of log Σ exp z */
    MODEL__SLICE_FORM       /* Σ_ij form_ij φ_i φ_j */
} model__slice_kind;

/* Rows of logits with the same features: those of `left` and `right`, or their products. */
typedef struct model__slice_run {
    size_t left, right; /* moving tokens, or MODEL__SLICE_HELD */
    size_t rows;
} model__slice_run;

/* A part of the energy: `scale` times what its kind says. Coefficients are offsets into the plan's.
 */
typedef struct model__slice_part {
    model__slice_kind kind;
    double scale;
    size_t slot; /* moving token whose features it takes */
    bool moves;  /* it is not the same everywhere */
    kern_fn fn;
    size_t rows; /* units, or logits of one head */
    size_t coef;
    size_t gate;        /* products */
    size_t heads;       /* attention */
    size_t head_stride; /* coefficients of a head */
    size_t first_run, n_runs;
    bool raw; /* form: of (k₀ − 1, k₁, k₂, 1) instead of κ */
    double form[MODEL__SLICE_FEATURES][MODEL__SLICE_FEATURES];
} model__slice_part;

/* A token that moves. */
typedef struct model__slice_mover {
    size_t token;
    bool normed;
    double factor[3][3]; /* upper triangle: σ²D = Σ_i (Σ_j factor_ij k_j)² + εD */
} model__slice_mover;

typedef struct model__slice_plan {
    const dyn_plane *plane;
    double epsilon; /* of the norm */
    double width;
    double constant; /* what does not depend on the point */
    size_t n_movers;
    model__slice_mover *movers;
    size_t n_parts, parts_room;
    model__slice_part *parts;
    size_t n_runs, runs_room;
    model__slice_run *runs;
    size_t n_coef, coef_room;
    double *coef;
    float *coef_single; /* the same, rounded */
    size_t most_logits; /* of a head */
} model__slice_plan;

/* What a worker has: features in double, then in the precision of the call. */
typedef struct model__slice_lane {
    double *weights; /* movers × 3 × points: k */
    double *kappa;   /* movers × 4 × points */
    void *phi;       /* (movers + 1) × 4 × points; the last is of held tokens */
    void *pair;      /* 16 × points */
    void *logits;    /* most_logits × points */
} model__slice_lane;

/* ---- building --------------------------------------------------------------------------------
 */

/* The model's tokens on the plane. */
typedef struct model__slice_basis {
    size_t tokens;
    size_t width;
    size_t *row;  /* by token: its first row */
    size_t *slot; /* by token: its mover, or MODEL__SLICE_HELD */
    size_t rows;
    double *vectors; /* rows × width */
} model__slice_basis;

/* What a norm is made of; gain and bias may be NULL. */
typedef struct model__slice_norm {
    bool none; /* g = x */
    bool centred;
    const double *gain;
    const double *bias;
} model__slice_norm;

/* Basis of the first `tokens` tokens of the plan's plane, and the plan's movers. */
kern_status model__slice_basis_init(model__slice_basis *basis, model__slice_plan *plan,
                                    size_t tokens, const model__slice_norm *norm, kern_error *err);
void model__slice_basis_fini(model__slice_basis *basis);

/* Rows that a token has: 4 or 1. */
size_t model__slice_basis_count(const model__slice_basis *basis, size_t token);

/* Which of the four features row i of a token belongs to. */
size_t model__slice_feature(const model__slice_basis *basis, size_t token, size_t i);

/* Room for n more coefficients, zero; *offset of the first. */
kern_status model__slice_reserve(model__slice_plan *plan, size_t n, size_t *offset,
                                 kern_error *err);
kern_status model__slice_add_part(model__slice_plan *plan, const model__slice_part *part,
                                  kern_error *err);
kern_status model__slice_add_run(model__slice_plan *plan, const model__slice_run *run,
                                 kern_error *err);

/* Coefficients of `units` units from products z (rows of the token × units, leading dimension
 * `units`), plus bias (may be NULL) on the constant feature; *offset of the first. */
kern_status model__slice_add_units(model__slice_plan *plan, const model__slice_basis *basis,
                                   size_t token, size_t units, const double *z, const double *bias,
                                   size_t *offset, kern_error *err);

/* The parts of token `token`. */
kern_status model__slice_nrgpt(model__slice_plan *plan, const model *m, size_t token,
                               kern_error *err);

typedef struct model__slice_layer {
    const model *m;
    size_t layer;
    model_layer_part part;
    const double *h;
} model__slice_layer;

kern_status model__slice_cem(model__slice_plan *plan, const model__slice_layer *layer, size_t token,
                             kern_error *err);

/* ---- evaluation ------------------------------------------------------------------------------
 */

/* sum_p += the parts that `moving` says, at KERN_SLICE_POINTS points whose weights and κ the lane
 * holds. */
void model__slice_evaluate_f32(const model__slice_plan *plan, const model__slice_lane *lane,
                               bool moving, double *sum);
void model__slice_evaluate_f64(const model__slice_plan *plan, const model__slice_lane *lane,
                               bool moving, double *sum);

#endif
