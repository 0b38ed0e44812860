/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts of an NRGPT's energy on a plane. With T_h the rows of token A times H_h (or, of rank r,
 * times Q_hᵀK_h), the logit of A and B is the table T_h · (rows of B): only A's rows meet a matrix.
 */
#include "models/model_slice_private.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_size.h"

#include <stdlib.h>

/* What the parts of all tokens are made with. */
typedef struct reduction {
    model__slice_plan *plan;
    const model *m;
    const model_config *c;
    model__slice_basis basis;
    size_t hidden;
    double scale_ff;
    double *products; /* 4 × widest: what rows of a token are multiplied to */
    double *scores;   /* 4 × rows of the basis */
} reduction;

static const double *param(const reduction *r, const char *name)
{
    const model_param *row = model_params_find(&r->m->params, name);
    return row != NULL ? (const double *)r->m->values + row->offset : NULL;
}

static const double *rows_of(const reduction *r, size_t token)
{
    return r->basis.vectors + r->basis.row[token] * r->basis.width;
}

/* to (m × n) = from (m × k) W, or Wᵀ. */
static void multiply(double *to, const double *from, const double *w, size_t m, size_t k, size_t n,
                     bool transposed)
{
    const kern_gemm_f64 g = {.tb = transposed,
                             .m = m,
                             .n = n,
                             .k = k,
                             .alpha = 1.0,
                             .a = from,
                             .lda = k,
                             .b = w,
                             .ldb = transposed ? k : n,
                             .c = to,
                             .ldc = n};
    kern_gemm_run_f64(&g, 1);
}

/* ---- Feed-forward ------------------------------------------------------------------------- */

static const kern_fn act_functions[] = {
    [MODEL_GELU] = KERN_FN_GELU, [MODEL_RELU] = KERN_FN_RELU, [MODEL_SOFTPLUS] = KERN_FN_SOFTPLUS};

/* −s g·b₂ as a form that is linear in κ. */
static kern_status add_linear(reduction *r, size_t token, const double *bias, kern_error *err)
{
    const size_t d = r->basis.width;
    model__slice_part part = {.kind = MODEL__SLICE_FORM,
                              .scale = -r->scale_ff,
                              .slot = r->basis.slot[token],
                              .moves = r->basis.slot[token] != MODEL__SLICE_HELD};
    for (size_t i = 0; i < model__slice_basis_count(&r->basis, token); i++) {
        part.form[3][model__slice_feature(&r->basis, token, i)] =
            dyn_vector_dot(rows_of(r, token) + i * d, bias, d);
    }
    return model__slice_add_part(r->plan, &part, err);
}

static kern_status add_ff(reduction *r, size_t token, kern_error *err)
{
    const size_t d = r->basis.width;
    const size_t rows = model__slice_basis_count(&r->basis, token);
    const size_t slot = r->basis.slot[token];
    const bool gated = r->c->ff == MODEL_FF2W;
    model__slice_part part = {.kind = gated ? MODEL__SLICE_PRODUCTS : MODEL__SLICE_SQUARES,
                              .scale = -r->scale_ff,
                              .slot = slot,
                              .moves = slot != MODEL__SLICE_HELD,
                              .fn = act_functions[r->c->activation],
                              .rows = r->hidden};
    multiply(r->products, rows_of(r, token), param(r, "blocks.ffwd.net.0.weight"), rows, d,
             r->hidden, true);
    KERN_TRY(model__slice_add_units(r->plan, &r->basis, token, r->hidden, r->products,
                                    param(r, "blocks.ffwd.net.0.bias"), &part.coef, err));
    if (gated) {
        multiply(r->products, rows_of(r, token), param(r, "blocks.ffwd.net.2.weight"), rows, d,
                 r->hidden, false);
        KERN_TRY(model__slice_add_units(r->plan, &r->basis, token, r->hidden, r->products, NULL,
                                        &part.gate, err));
        KERN_TRY(add_linear(r, token, param(r, "blocks.ffwd.net.2.bias"), err));
    }
    return model__slice_add_part(r->plan, &part, err);
}

/* ---- Attention ---------------------------------------------------------------------------- */

/* Runs of token A's logits: what is held together, then one run for each token that moves. Fills
 * in the part's rows, runs, and whether anything moves. */
static kern_status plan_runs(reduction *r, size_t token, size_t context, model__slice_part *part,
                             kern_error *err)
{
    const model__slice_basis *b = &r->basis;
    model__slice_run held = {.left = b->slot[token], .right = MODEL__SLICE_HELD};
    const size_t left = b->slot[token];
    part->first_run = r->plan->n_runs;
    for (size_t other = 0; other < context; other++) {
        held.rows += b->slot[other] == MODEL__SLICE_HELD ? 1 : 0;
    }
    part->rows = context;
    part->moves = left != MODEL__SLICE_HELD || held.rows < context;
    if (held.rows > 0) {
        KERN_TRY(model__slice_add_run(r->plan, &held, err));
        part->head_stride += held.rows * MODEL__SLICE_FEATURES;
    }
    for (size_t other = 0; other < context; other++) {
        const model__slice_run run = {.left = left, .right = b->slot[other], .rows = 1};
        if (run.right != MODEL__SLICE_HELD) {
            KERN_TRY(model__slice_add_run(r->plan, &run, err));
            part->head_stride +=
                left != MODEL__SLICE_HELD ? MODEL__SLICE_PAIR : MODEL__SLICE_FEATURES;
        }
    }
    part->n_runs = r->plan->n_runs - part->first_run;
    return KERN_OK;
}

/* Coefficients of one logit from the table of A's rows against B's. */
static void fill_logit(const reduction *r, size_t token, size_t other, double *coef)
{
    const model__slice_basis *b = &r->basis;
    const bool pair = b->slot[token] != MODEL__SLICE_HELD && b->slot[other] != MODEL__SLICE_HELD;
    const bool by_other = b->slot[token] == MODEL__SLICE_HELD;
    for (size_t i = 0; i < model__slice_basis_count(b, token); i++) {
        for (size_t j = 0; j < model__slice_basis_count(b, other); j++) {
            const double score = r->c->beta * r->scores[i * b->rows + b->row[other] + j];
            const size_t fi = model__slice_feature(b, token, i);
            const size_t fj = model__slice_feature(b, other, j);
            coef[pair ? fi * MODEL__SLICE_FEATURES + fj : by_other ? fj : fi] = score;
        }
    }
}

/* T_h of token A into `products`: its rows through head h. */
static void apply_head(reduction *r, size_t token, size_t head)
{
    const size_t d = r->basis.width;
    const size_t rows = model__slice_basis_count(&r->basis, token);
    const size_t rank = r->c->rank;
    if (rank == 0) {
        const double *h = param(r, "blocks.attn.heads.0.H.weight") + head * d * d;
        multiply(r->products, rows_of(r, token), h, rows, d, d, false);
        return;
    }
    double *query = r->products + MODEL__SLICE_FEATURES * d;
    multiply(query, rows_of(r, token), param(r, "blocks.attn.heads.0.Q.weight") + head * rank * d,
             rows, d, rank, true);
    multiply(r->products, query, param(r, "blocks.attn.heads.0.K.weight") + head * rank * d, rows,
             rank, d, false);
}

static void fill_head(reduction *r, size_t token, size_t head, const model__slice_part *part)
{
    const model__slice_basis *b = &r->basis;
    double *coef = r->plan->coef + part->coef + head * part->head_stride;
    apply_head(r, token, head);
    multiply(r->scores, r->products, b->vectors, model__slice_basis_count(b, token), b->width,
             b->rows, true);
    for (int held = 1; held >= 0; held--) { /* in the order of the runs */
        for (size_t other = 0; other < part->rows; other++) {
            if ((b->slot[other] == MODEL__SLICE_HELD) == (held == 1)) {
                const bool pair = held == 0 && b->slot[token] != MODEL__SLICE_HELD;
                fill_logit(r, token, other, coef);
                coef += pair ? MODEL__SLICE_PAIR : MODEL__SLICE_FEATURES;
            }
        }
    }
}

static kern_status add_attention(reduction *r, size_t token, kern_error *err)
{
    const size_t context = r->c->strict_mask ? token : token + 1;
    model__slice_part part = {.kind = MODEL__SLICE_ATTENTION,
                              .scale = -r->c->alpha / r->c->beta,
                              .slot = r->basis.slot[token],
                              .heads = r->c->n_head};
    size_t n;
    if (context == 0) { /* an empty set has the energy 0, as the graph's */
        return KERN_OK;
    }
    KERN_TRY(plan_runs(r, token, context, &part, err));
    if (!kern_size_mul(part.heads, part.head_stride, &n)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu heads of %zu numbers are too many", part.heads,
                          part.head_stride);
    }
    KERN_TRY(model__slice_reserve(r->plan, n, &part.coef, err));
    for (size_t head = 0; head < part.heads; head++) {
        fill_head(r, token, head, &part);
    }
    return model__slice_add_part(r->plan, &part, err);
}

/* ---- All of it ---------------------------------------------------------------------------- */

static kern_status reserve(reduction *r, kern_error *err)
{
    const size_t widest = kern_size_max(r->hidden, r->basis.width + r->c->rank);
    size_t n;
    size_t scores;
    if (!kern_size_mul(widest, MODEL__SLICE_FEATURES, &n) ||
        !kern_size_mul(r->basis.rows, MODEL__SLICE_FEATURES, &scores) ||
        !kern_size_add(n, scores, &n)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu hidden units are too many", r->hidden);
    }
    r->products = malloc((n + 1) * sizeof *r->products);
    if (r->products == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for products of %zu numbers", widest);
    }
    r->scores = r->products + MODEL__SLICE_FEATURES * widest;
    return KERN_OK;
}

static kern_status check(const model *m, kern_error *err)
{
    if (m->config.family != MODEL_NRGPT) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "the energy of a %s has no reduced form; accepted are nrgpt and the parts "
            "of a cem layer",
            model_config_family_name(&m->config));
    }
    if (m->config.ff == MODEL_FF2) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the feed-forward energy ff2 has no reduced form; accepted are ff1 and "
                          "ff2w");
    }
    return KERN_OK;
}

static kern_status reduce(reduction *r, size_t token, size_t tokens, kern_error *err)
{
    const model__slice_norm norm = {.centred = r->c->norm != MODEL_RMSNORM,
                                    .gain = param(r, "blocks.ln.weight"),
                                    .bias = param(r, "blocks.ln.bias")};
    KERN_TRY(model__slice_basis_init(&r->basis, r->plan, tokens, &norm, err));
    KERN_TRY(reserve(r, err));
    for (size_t a = token == MODEL_SLICE_SUM ? 0 : token; a < tokens; a++) {
        KERN_TRY(add_attention(r, a, err));
        KERN_TRY(add_ff(r, a, err));
    }
    return KERN_OK;
}

kern_status model__slice_nrgpt(model__slice_plan *plan, const model *m, size_t token,
                               kern_error *err)
{
    KERN_TRY(check(m, err));
    reduction r = {.plan = plan,
                   .m = m,
                   .c = &m->config,
                   .hidden = m->config.ff_hid_factor * m->config.n_embed};
    const double *scale = param(&r, "blocks.scale_ff");
    r.scale_ff = scale != NULL ? *scale : 1.0;
    const size_t tokens = token == MODEL_SLICE_SUM ? plan->plane->block_count : token + 1;
    const kern_status status = reduce(&r, token, tokens, err);
    model__slice_basis_fini(&r.basis);
    free(r.products);
    return status;
}
