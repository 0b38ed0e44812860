/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts of a CEM sub-layer's energy on a plane. Projections, rotary positions and the norm of
 * the history come from a graph of the model's own operations, run once on five sequences: one for
 * each of a token's four vectors, at its own position, and the layer's input.
 */
#include "models/model_slice_private.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_exec.h"
#include "kernels/kern_size.h"
#include "kernels/kern_vmath.h"
#include "models/model_cem.h"
#include "models/model_layer_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = MODEL__SLICE_FEATURES + 1 };

typedef struct reduction {
    model__slice_plan *plan;
    const model__slice_layer *where;
    const model_config *c;
    model__slice_basis basis;
    size_t tokens;  /* of the layer's input */
    size_t wide;    /* numbers of a projection: of all heads, or hidden units */
    double *rows;   /* SEQUENCES × tokens × D: what goes in; owned, as below */
    double *query;  /* SEQUENCES × tokens × wide: queries, or z */
    double *key;    /* the same: keys, or gates */
    double *c_rows; /* SEQUENCES × tokens × D: normalised */
} reduction;

static const double *layer_param(const reduction *r, const char *name)
{
    char full[MODEL_PARAM_NAME];
    (void)snprintf(full, sizeof full, "layers.%zu.%s", r->where->layer, name);
    const model_param *row = model_params_find(&r->where->m->params, full);
    return row != NULL ? (const double *)r->where->m->values + row->offset : NULL;
}

/* Row of token `token` in sequence `sequence`. */
static size_t row_of(const reduction *r, size_t sequence, size_t token)
{
    return sequence * r->tokens + token;
}

/* ---- Products by the model's graph -------------------------------------------------------- */

static void fill_rows(const reduction *r)
{
    const size_t d = r->basis.width;
    for (size_t token = 0; token < r->basis.tokens; token++) {
        for (size_t i = 0; i < model__slice_basis_count(&r->basis, token); i++) {
            const size_t sequence = model__slice_feature(&r->basis, token, i);
            memcpy(r->rows + row_of(r, sequence, token) * d,
                   r->basis.vectors + (r->basis.row[token] + i) * d, d * sizeof *r->rows);
        }
    }
    memcpy(r->rows + row_of(r, SEQUENCES - 1, 0) * d, r->where->h, r->tokens * d * sizeof *r->rows);
}

static void build_attention(const reduction *r, model_builder *b, kern_value x, kern_value c,
                            kern_value out[2])
{
    const size_t layer = r->where->layer;
    const size_t heads = r->c->n_head;
    const kern_value wq = model_layer_param(b, layer, "attn.wq");
    const kern_value wk = model_layer_param(b, layer, "attn.wk");
    const kern_value query = model_build_linear(b, x, wq, KERN_NO_VALUE, KERN_NO_VALUE);
    const kern_value key = model_build_linear(b, c, wk, KERN_NO_VALUE, KERN_NO_VALUE);
    out[0] = model_layer_turn(b, query, heads, false);
    out[1] = model_layer_turn(b, key, heads, false);
}

static void build_mlp(const reduction *r, model_builder *b, kern_value x, kern_value c,
                      kern_value out[2])
{
    const size_t layer = r->where->layer;
    out[0] = model_build_linear(b, x, model_layer_param(b, layer, "mlp.wu"), KERN_NO_VALUE,
                                KERN_NO_VALUE);
    out[1] = model_build_linear(b, c, model_layer_param(b, layer, "mlp.wg"), KERN_NO_VALUE,
                                KERN_NO_VALUE);
}

static kern_status project(const reduction *r, kern_error *err)
{
    const bool attn = r->where->part == MODEL_LAYER_ATTN;
    const model *m = r->where->m;
    model_builder b = {
        .config = &m->config, .params = &m->params, .batch = SEQUENCES, .tokens = r->tokens};
    kern_value out[3];
    double *const to[3] = {r->query, r->key, r->c_rows};
    KERN_TRY(kern_graph_create(&b.graph, err));
    const kern_value x =
        kern_graph_input(b.graph, (kern_shape){SEQUENCES * r->tokens, r->basis.width});
    out[2] = model_layer_norm(&b, r->where->layer, attn ? "norm1" : "norm2", x);
    (attn ? build_attention : build_mlp)(r, &b, x, out[2], out);
    for (size_t i = 0; i < 3; i++) {
        kern_graph_keep(b.graph, out[i]);
    }
    return model__layer_evaluate(m, b.graph, x, r->rows, out, to, 3, err);
}

/* ---- Interaction -------------------------------------------------------------------------- */

/* Σ_i u_i d_i c_i of the diagonal part of head `head`; 0 without one. */
static double diagonal_score(const reduction *r, const double *diag, size_t head, const double *u,
                             const double *c)
{
    const size_t d = r->basis.width;
    const double *own =
        diag != NULL && r->c->cem.diag == MODEL_DIAG_PER_HEAD ? diag + head * d : diag;
    double sum = 0.0;
    for (size_t i = 0; own != NULL && i < d; i++) {
        sum += u[i] * own[i] * c[i];
    }
    return sum;
}

static void fill_head(const reduction *r, size_t token, size_t head, double tau, double *coef)
{
    const size_t width = model_config_head_width(r->c);
    const double *diag = r->c->cem.diag != MODEL_DIAG_NONE ? layer_param(r, "attn.diag") : NULL;
    for (size_t other = 0; other <= token; other++) {
        const size_t past = row_of(r, SEQUENCES - 1, other);
        const double *key = r->key + past * r->wide + head * width;
        for (size_t i = 0; i < model__slice_basis_count(&r->basis, token); i++) {
            const size_t feature = model__slice_feature(&r->basis, token, i);
            const size_t own = row_of(r, feature, token);
            const double score =
                dyn_vector_dot(r->query + own * r->wide + head * width, key, width) +
                diagonal_score(r, diag, head, r->rows + own * r->basis.width,
                               r->c_rows + past * r->basis.width);
            coef[other * MODEL__SLICE_FEATURES + feature] = score / tau;
        }
    }
}

static kern_status add_interaction(const reduction *r, size_t token, kern_error *err)
{
    const double tau = sqrt((double)model_config_head_width(r->c));
    const model__slice_run run = {
        .left = r->basis.slot[token], .right = MODEL__SLICE_HELD, .rows = token + 1};
    model__slice_part part = {.kind = MODEL__SLICE_ATTENTION,
                              .scale = -tau,
                              .slot = run.left,
                              .moves = run.left != MODEL__SLICE_HELD,
                              .rows = run.rows,
                              .heads = r->c->n_head,
                              .head_stride = run.rows * MODEL__SLICE_FEATURES,
                              .first_run = r->plan->n_runs,
                              .n_runs = 1};
    KERN_TRY(model__slice_add_run(r->plan, &run, err));
    KERN_TRY(model__slice_reserve(r->plan, part.heads * part.head_stride, &part.coef, err));
    for (size_t head = 0; head < part.heads; head++) {
        fill_head(r, token, head, tau, r->plan->coef + part.coef + head * part.head_stride);
    }
    return model__slice_add_part(r->plan, &part, err);
}

/* ---- Elementwise -------------------------------------------------------------------------- */

/* z of a token: its rows × units, side by side. */
static kern_status add_form_a(const reduction *r, size_t token, double *z, kern_error *err)
{
    const size_t slot = r->basis.slot[token];
    const double *gate = r->key + row_of(r, SEQUENCES - 1, token) * r->wide;
    model__slice_part part = {.kind = MODEL__SLICE_PRODUCTS,
                              .scale = -1.0,
                              .slot = slot,
                              .moves = slot != MODEL__SLICE_HELD,
                              .fn = KERN_FN_SILU_INTEGRAL,
                              .rows = r->wide};
    KERN_TRY(model__slice_add_units(r->plan, &r->basis, token, r->wide, z, NULL, &part.coef, err));
    memset(z, 0, MODEL__SLICE_FEATURES * r->wide * sizeof *z);
    KERN_TRY(model__slice_add_units(r->plan, &r->basis, token, r->wide, z, gate, &part.gate, err));
    return model__slice_add_part(r->plan, &part, err);
}

/* −½ Σ_m σ(g_m) z_mi z_mj; σ(g) comes behind z. */
static kern_status add_form_b(const reduction *r, size_t token, double *z, kern_error *err)
{
    const size_t slot = r->basis.slot[token];
    const double *gate = r->key + row_of(r, SEQUENCES - 1, token) * r->wide;
    double *sigma = z + MODEL__SLICE_FEATURES * r->wide;
    model__slice_part part = {
        .kind = MODEL__SLICE_FORM, .scale = -0.5, .slot = slot, .moves = slot != MODEL__SLICE_HELD};
    kern_vmath_fn_f64(KERN_FN_SILU, sigma, NULL, NULL, gate, r->wide);
    for (size_t i = 0; i < model__slice_basis_count(&r->basis, token); i++) {
        for (size_t j = 0; j < model__slice_basis_count(&r->basis, token); j++) {
            double sum = 0.0;
            for (size_t m = 0; m < r->wide; m++) {
                sum += sigma[m] * z[i * r->wide + m] * z[j * r->wide + m];
            }
            part.form[model__slice_feature(&r->basis, token, i)]
                     [model__slice_feature(&r->basis, token, j)] = sum;
        }
    }
    return model__slice_add_part(r->plan, &part, err);
}

static kern_status add_elementwise(const reduction *r, size_t token, kern_error *err)
{
    double *z = calloc(SEQUENCES * r->wide + 1, sizeof *z);
    if (z == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu hidden units", r->wide);
    }
    for (size_t i = 0; i < model__slice_basis_count(&r->basis, token); i++) {
        const size_t own = row_of(r, model__slice_feature(&r->basis, token, i), token);
        memcpy(z + i * r->wide, r->query + own * r->wide, r->wide * sizeof *z);
    }
    const kern_status status =
        (r->c->cem.mlp == MODEL_MLP_A ? add_form_a : add_form_b)(r, token, z, err);
    free(z);
    return status;
}

/* ---- Confinement -------------------------------------------------------------------------- */

/* ½λ|x − s|² with s = h, or its norm where the descent runs on that: a form in (k₀ − 1, k₁, k₂, 1)
 * of the vectors c, u, v and c − s. */
static kern_status add_confinement(const reduction *r, size_t token, kern_error *err)
{
    const size_t d = r->basis.width;
    const dyn_plane *plane = r->plan->plane;
    const size_t slot = r->basis.slot[token];
    const double *start = r->c->cem.norm == MODEL_PLACE_ONCE
                              ? r->c_rows + row_of(r, SEQUENCES - 1, token) * d
                              : r->where->h + token * d;
    model__slice_part part = {.kind = MODEL__SLICE_FORM,
                              .scale = 0.5 * r->c->cem.confine,
                              .slot = slot,
                              .moves = slot != MODEL__SLICE_HELD,
                              .raw = true};
    for (size_t n = 0; n < d; n++) {
        const size_t at = token * d + n;
        const double x[MODEL__SLICE_FEATURES] = {plane->centre[at], plane->axes[0][at],
                                                 plane->axes[1][at], plane->centre[at] - start[n]};
        for (size_t ij = 0; ij < MODEL__SLICE_PAIR; ij++) {
            const size_t i = ij / MODEL__SLICE_FEATURES;
            const size_t j = ij % MODEL__SLICE_FEATURES;
            part.form[i][j] += x[i] * x[j];
        }
    }
    return model__slice_add_part(r->plan, &part, err);
}

/* ---- All of it ---------------------------------------------------------------------------- */

static kern_status check(const model__slice_layer *where, size_t tokens, kern_error *err)
{
    const model_config *c = &where->m->config;
    KERN_TRY(model__layer_check(where->m, where->layer, tokens, err));
    const bool descent =
        where->part == MODEL_LAYER_ATTN ? c->attn == MODEL_ATTN_CEM : c->ffn == MODEL_FFN_CEM;
    if (!descent) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "part %s of a %s layer has no energy; accepted are the parts of cem",
                          model_layer_part_word(where->part), model_config_family_name(c));
    }
    if (c->cem.hist == MODEL_HIST_SYNC) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "an energy under a synchronous history has no reduced form; accepted is a "
            "fixed one");
    }
    return KERN_OK;
}

static kern_status reserve(reduction *r, kern_error *err)
{
    const size_t d = r->basis.width;
    size_t rows;
    size_t reals;
    if (!kern_size_mul(SEQUENCES, r->tokens, &rows) ||
        !kern_size_mul(rows, 2 * (r->wide + d), &reals)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu tokens are too many", r->tokens);
    }
    r->rows = calloc(reals + 1, sizeof *r->rows);
    if (r->rows == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the projections of %zu tokens",
                          r->tokens);
    }
    r->c_rows = r->rows + rows * d;
    r->query = r->c_rows + rows * d;
    r->key = r->query + rows * r->wide;
    return KERN_OK;
}

static kern_status reduce(reduction *r, size_t token, kern_error *err)
{
    const bool attn = r->where->part == MODEL_LAYER_ATTN;
    const size_t end = token == MODEL_SLICE_SUM ? r->tokens : token + 1;
    const model__slice_norm norm = {.none = r->c->cem.norm == MODEL_PLACE_ONCE,
                                    .gain = layer_param(r, attn ? "norm1" : "norm2")};
    KERN_TRY(model__slice_basis_init(&r->basis, r->plan, end, &norm, err));
    KERN_TRY(reserve(r, err));
    fill_rows(r);
    KERN_TRY(project(r, err));
    for (size_t a = token == MODEL_SLICE_SUM ? 0 : token; a < end; a++) {
        KERN_TRY((attn ? add_interaction : add_elementwise)(r, a, err));
        if (r->c->cem.confine > 0.0) {
            KERN_TRY(add_confinement(r, a, err));
        }
    }
    return KERN_OK;
}

kern_status model__slice_cem(model__slice_plan *plan, const model__slice_layer *layer, size_t token,
                             kern_error *err)
{
    const model_config *c = &layer->m->config;
    const size_t tokens = plan->plane->block_count;
    KERN_TRY(check(layer, tokens, err));
    reduction r = {.plan = plan,
                   .where = layer,
                   .c = c,
                   .tokens = tokens,
                   .wide = layer->part == MODEL_LAYER_ATTN ? model_config_attention_width(c)
                                                           : c->n_hidden};
    const kern_status status = reduce(&r, token, err);
    model__slice_basis_fini(&r.basis);
    free(r.rows);
    return status;
}
