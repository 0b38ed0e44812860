/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_cem_instance.h"

#include "models/model_stack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH_MIN = 2,
    WIDTH_MAX = 12,
    HEADS_MAX = 3,
    HISTORY_MAX = 6,
    HIDDEN_MAX = 24,
    RANK_MAX = 3
};

static void fill(kern_rng *rng, double *to, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = scale * kern_rng_normal(rng);
    }
}

/* 10^low … 10^high, evenly in the exponent. */
static double magnitude(kern_rng *rng, double low, double high)
{
    return pow(10.0, low + (high - low) * kern_rng_uniform(rng));
}

static size_t between(kern_rng *rng, size_t low, size_t high)
{
    return low + kern_rng_below(rng, (uint32_t)(high - low + 1));
}

static kern_status put_matrix(verify_record *record, kern_rng *rng, const char *name, size_t rows,
                              size_t cols, double scale, kern_error *err)
{
    double *values = NULL;
    KERN_TRY(verify_record_put(record, name, rows, cols, &values, err));
    fill(rng, values, rows * cols, scale);
    return KERN_OK;
}

/* ---- random instances -------------------------------------------------------------------------
 */

static kern_status put_gamma(verify_record *record, kern_rng *rng, size_t width,
                             const verify_cem_options *of, kern_error *err)
{
    double *gamma = NULL;
    KERN_TRY(verify_record_put(record, "gamma", 1, width, &gamma, err));
    for (size_t i = 0; i < width; i++) {
        gamma[i] = of->unit_gamma ? 1.0 : magnitude(rng, -0.7, 0.7);
        if (of->signed_gamma && kern_rng_uniform(rng) < 0.4) {
            gamma[i] = -gamma[i];
        }
        if (of->signed_gamma && kern_rng_uniform(rng) < 0.03) {
            gamma[i] = 0.0;
        }
    }
    return KERN_OK;
}

/* What both energies have. */
static kern_status put_common(verify_record *record, kern_rng *rng, verify_cem_kind kind,
                              size_t width, const verify_cem_options *of, kern_error *err)
{
    KERN_TRY(verify_record_put_word(record, "energy", verify_cem_kinds[kind], err));
    KERN_TRY(verify_record_put_word(record, "place", verify_cem_places[of->place], err));
    KERN_TRY(verify_record_put_word(record, "precond", verify_cem_preconds[of->precond], err));
    KERN_TRY(verify_record_put_number(record, "width", (double)width, err));
    KERN_TRY(verify_record_put_number(record, "epsilon", of->epsilon, err));
    KERN_TRY(verify_record_put_number(record, "eta", of->eta, err));
    KERN_TRY(put_matrix(record, rng, "x", 1, width, magnitude(rng, -1.0, 1.0), err));
    if (of->place != VERIFY_CEM_ONCE || of->precond == VERIFY_CEM_GAMMA) {
        KERN_TRY(put_gamma(record, rng, width, of, err));
    }
    return of->precond == VERIFY_CEM_GAMMA
               ? verify_record_put_number(record, "factor", magnitude(rng, -1.0, 1.0), err)
               : KERN_OK;
}

kern_status verify_cem_draw_attention(verify_record *record, kern_rng *rng,
                                      const verify_cem_options *of, kern_error *err)
{
    const size_t width = between(rng, WIDTH_MIN, WIDTH_MAX);
    const size_t heads = between(rng, 1, HEADS_MAX);
    const size_t history = between(rng, 1, HISTORY_MAX);
    const size_t half = between(rng, 1, 2);
    const size_t head = of->rope == VERIFY_CEM_UNTURNED ? between(rng, 1, 5) : 2 * half;
    const double scale = magnitude(rng, -1.0, 0.2);
    const size_t rows = of->diag == VERIFY_CEM_PER_HEAD ? heads : 1;
    KERN_TRY(put_common(record, rng, VERIFY_CEM_ATTENTION, width, of, err));
    KERN_TRY(verify_record_put_word(record, "rope", verify_cem_ropes[of->rope], err));
    KERN_TRY(verify_record_put_word(record, "diag", verify_cem_diags[of->diag], err));
    KERN_TRY(verify_record_put_number(record, "heads", (double)heads, err));
    KERN_TRY(verify_record_put_number(record, "head", (double)head, err));
    KERN_TRY(verify_record_put_number(record, "history", (double)history, err));
    KERN_TRY(verify_record_put_number(record, "rope_base", MODEL_ROPE_BASE, err));
    KERN_TRY(put_matrix(record, rng, "wq", heads * head, width, scale, err));
    KERN_TRY(put_matrix(record, rng, "wk", heads * head, width, scale, err));
    if (of->diag != VERIFY_CEM_NO_DIAG) {
        KERN_TRY(put_matrix(record, rng, "diag_rows", rows, width, scale, err));
    }
    return put_matrix(record, rng, "c", history, width, 1.0, err);
}

kern_status verify_cem_draw_mlp(verify_record *record, kern_rng *rng, verify_cem_kind kind,
                                const verify_cem_options *of, kern_error *err)
{
    const size_t width = between(rng, WIDTH_MIN, WIDTH_MAX);
    const size_t hidden = between(rng, 1, HIDDEN_MAX);
    KERN_TRY(put_common(record, rng, kind, width, of, err));
    KERN_TRY(verify_record_put_number(record, "hidden", (double)hidden, err));
    KERN_TRY(put_matrix(record, rng, "wu", hidden, width, magnitude(rng, -1.0, 0.5), err));
    return put_matrix(record, rng, "gate", 1, hidden, magnitude(rng, -1.0, 0.5), err);
}

/* ½‖U − V‖₂² ≤ ½‖U − V‖_F², which is brought below nine tenths of the smallest softplus δ. */
kern_status verify_cem_put_dlr(verify_record *record, kern_rng *rng, size_t width, kern_error *err)
{
    const size_t rank = between(rng, 1, RANK_MAX);
    double *delta = NULL;
    double *u = NULL;
    double *v = NULL;
    double smallest = HUGE_VAL;
    double square = 0.0;
    KERN_TRY(verify_record_put_number(record, "rank", (double)rank, err));
    KERN_TRY(verify_record_put(record, "p_delta", 1, width, &delta, err));
    KERN_TRY(verify_record_put(record, "p_u", width, rank, &u, err));
    KERN_TRY(verify_record_put(record, "p_v", width, rank, &v, err));
    fill(rng, delta, width, 1.0);
    fill(rng, u, width * rank, 0.5);
    fill(rng, v, width * rank, 0.5);
    for (size_t i = 0; i < width; i++) {
        smallest = fmin(smallest, log1p(exp(delta[i])));
    }
    for (size_t i = 0; i < width * rank; i++) {
        square += 0.5 * (u[i] - v[i]) * (u[i] - v[i]);
    }
    const double shrink = fmin(1.0, sqrt(0.9 * smallest / square));
    for (size_t i = 0; i < width * rank; i++) {
        u[i] *= shrink;
        v[i] *= shrink;
    }
    return KERN_OK;
}

/* ---- runs -------------------------------------------------------------------------------------
 */

const char *verify_cem_applies(const verify_subject *subject)
{
    const char *other = verify_subject_needs_cem(subject);
    if (other != NULL) {
        return other;
    }
    const model_config *c = &subject->m->config;
    if (c->cem.hist != MODEL_HIST_FIXED) {
        return "the history is synchronous, so that the energy changes from step to step";
    }
    return c->cem.confine > 0.0 ? "the energy has a confining term, which is not looked at" : NULL;
}

/* Copies tensor `name` of a layer under another name. */
static kern_status copy_tensor(verify_record *record, const verify_subject *subject, size_t layer,
                               const char *name, const char *entry, kern_error *err)
{
    char full[MODEL_PARAM_NAME];
    size_t rows = 0;
    size_t cols = 0;
    (void)snprintf(full, sizeof full, "layers.%zu.%s", layer, name);
    const double *values = verify_subject_tensor(subject, full, &rows, &cols);
    if (values == NULL) {
        return kern_raise(err, KERN_NOT_FOUND, "the run has no tensor \"%s\"", full);
    }
    return verify_record_put_copy(record, entry, rows, cols, values, err);
}

/* n(h) with the gain of the part's norm, tokens rows. */
static kern_status normalised(const verify_subject *subject, size_t layer, const char *norm,
                              const double *h, size_t tokens, double *to, kern_error *err)
{
    const size_t d = subject->width;
    char full[MODEL_PARAM_NAME];
    (void)snprintf(full, sizeof full, "layers.%zu.%s", layer, norm);
    const double *gamma = verify_subject_tensor(subject, full, NULL, NULL);
    if (gamma == NULL) {
        return kern_raise(err, KERN_NOT_FOUND, "the run has no tensor \"%s\"", full);
    }
    for (size_t t = 0; t < tokens; t++) {
        double square = 0.0;
        for (size_t i = 0; i < d; i++) {
            square += h[t * d + i] * h[t * d + i];
        }
        const double r = sqrt(square / (double)d + subject->m->config.norm_eps);
        for (size_t i = 0; i < d; i++) {
            to[t * d + i] = gamma[i] * h[t * d + i] / r;
        }
    }
    return KERN_OK;
}

static kern_status put_run_precond(verify_record *record, const verify_subject *subject,
                                   size_t layer, const char *prefix, kern_error *err)
{
    const model_cem *c = &subject->m->config.cem;
    static const char *const rest[] = {"p_delta", "p_u", "p_v"};
    char name[MODEL_PARAM_NAME / 2];
    double eta = c->eta;
    if (c->eta_trained) {
        (void)snprintf(name, sizeof name, "layers.%zu.%s.eta", layer, prefix);
        const double *value = verify_subject_tensor(subject, name, NULL, NULL);
        eta = value != NULL ? *value : eta;
    }
    KERN_TRY(verify_record_put_number(record, "eta", eta, err));
    if (c->precond == MODEL_PRECOND_GAMMA) {
        return verify_record_put_number(record, "factor", 1.0, err);
    }
    if (c->precond == MODEL_PRECOND_DLR) {
        KERN_TRY(verify_record_put_number(record, "rank", (double)c->p_rank, err));
        for (size_t i = 0; i < 3; i++) {
            (void)snprintf(name, sizeof name, "%s.%s", prefix, rest[i]);
            KERN_TRY(copy_tensor(record, subject, layer, name, rest[i], err));
        }
    }
    return KERN_OK;
}

static kern_status put_run_attention(verify_record *record, const verify_subject *subject,
                                     size_t layer, const double *seen, size_t token,
                                     kern_error *err)
{
    const model_config *c = &subject->m->config;
    KERN_TRY(verify_record_put_word(record, "rope", verify_cem_ropes[c->rope], err));
    KERN_TRY(verify_record_put_word(record, "diag", verify_cem_diags[c->cem.diag], err));
    KERN_TRY(verify_record_put_number(record, "heads", (double)c->n_head, err));
    KERN_TRY(verify_record_put_number(record, "head", (double)model_config_head_width(c), err));
    KERN_TRY(verify_record_put_number(record, "history", (double)(token + 1), err));
    KERN_TRY(verify_record_put_number(record, "rope_base", MODEL_ROPE_BASE, err));
    KERN_TRY(copy_tensor(record, subject, layer, "attn.wq", "wq", err));
    KERN_TRY(copy_tensor(record, subject, layer, "attn.wk", "wk", err));
    if (c->cem.diag != MODEL_DIAG_NONE) {
        KERN_TRY(copy_tensor(record, subject, layer, "attn.diag", "diag_rows", err));
    }
    return verify_record_put_copy(record, "c", token + 1, subject->width, seen, err);
}

static kern_status put_run_mlp(verify_record *record, const verify_subject *subject, size_t layer,
                               const double *seen, kern_error *err)
{
    const size_t d = subject->width;
    size_t hidden = 0;
    char full[MODEL_PARAM_NAME];
    double *gate = NULL;
    (void)snprintf(full, sizeof full, "layers.%zu.mlp.wg", layer);
    const double *wg = verify_subject_tensor(subject, full, &hidden, NULL);
    if (wg == NULL) {
        return kern_raise(err, KERN_NOT_FOUND, "the run has no tensor \"%s\"", full);
    }
    KERN_TRY(verify_record_put_number(record, "hidden", (double)hidden, err));
    KERN_TRY(copy_tensor(record, subject, layer, "mlp.wu", "wu", err));
    KERN_TRY(verify_record_put(record, "gate", 1, hidden, &gate, err));
    for (size_t m = 0; m < hidden; m++) {
        for (size_t i = 0; i < d; i++) {
            gate[m] += wg[m * d + i] * seen[i];
        }
    }
    return KERN_OK;
}

kern_status verify_cem_put_run(verify_record *record, const verify_subject *subject, size_t layer,
                               model_layer_part part, const double *h, size_t token,
                               verify_work *work, kern_error *err)
{
    const model_config *c = &subject->m->config;
    const size_t d = subject->width;
    const bool attention = part == MODEL_LAYER_ATTN;
    const char *norm = attention ? "norm1" : "norm2";
    const verify_cem_kind kind =
        attention ? VERIFY_CEM_ATTENTION
                  : (c->cem.mlp == MODEL_MLP_A ? VERIFY_CEM_MLP_A : VERIFY_CEM_MLP_B);
    double *seen = NULL;
    KERN_TRY(verify_work_take(work, (token + 1) * d, &seen, err));
    KERN_TRY(normalised(subject, layer, norm, h, token + 1, seen, err));
    KERN_TRY(verify_record_put_word(record, "energy", verify_cem_kinds[kind], err));
    KERN_TRY(verify_record_put_word(record, "place", verify_cem_places[c->cem.norm], err));
    KERN_TRY(verify_record_put_word(record, "precond", verify_cem_preconds[c->cem.precond], err));
    KERN_TRY(verify_record_put_number(record, "width", (double)d, err));
    KERN_TRY(verify_record_put_number(record, "epsilon", c->norm_eps, err));
    KERN_TRY(put_run_precond(record, subject, layer, attention ? "attn" : "mlp", err));
    if (c->cem.norm != MODEL_PLACE_ONCE || c->cem.precond == MODEL_PRECOND_GAMMA) {
        KERN_TRY(copy_tensor(record, subject, layer, norm, "gamma", err));
    }
    KERN_TRY(verify_record_put_copy(
        record, "x", 1, d, c->cem.norm == MODEL_PLACE_ONCE ? seen + token * d : h + token * d,
        err));
    return attention ? put_run_attention(record, subject, layer, seen, token, err)
                     : put_run_mlp(record, subject, layer, seen + token * d, err);
}
