/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Instances from a trained run: one of its tokens on the prefix it had at that step.
 */
#include "models/verify/verify_nrgpt_instance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *verify_nrgpt_applies(const verify_subject *subject)
{
    const char *reason = verify_subject_needs_nrgpt(subject);
    if (reason != NULL) {
        return reason;
    }
    if (subject->m->config.ff == MODEL_FF2) {
        return "its feed-forward energy is FF2, and the statement covers FF1 and FF2W";
    }
    if (!(subject->m->config.beta > 0.0)) {
        return "its inverse temperature is not positive";
    }
    if (subject->lost && subject->m->config.norm_eps == 0.0) {
        return "a token's state is constant, which has no normalised state at epsilon = 0, or its "
               "orbit diverges";
    }
    return NULL;
}

static kern_status find_tensor(const verify_subject *subject, const char *name, size_t rows,
                               size_t cols, const double **values, kern_error *err)
{
    size_t r = 0;
    size_t c = 0;
    *values = verify_subject_tensor(subject, name, &r, &c);
    if (*values == NULL || r * c != rows * cols) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the run has no tensor %s of %zu numbers, which an NRGPT has", name,
                          rows * cols);
    }
    return KERN_OK;
}

static kern_status put_tensor(verify_record *record, const verify_subject *subject,
                              const char *name, const char *entry, size_t rows, size_t cols,
                              kern_error *err)
{
    const double *values = NULL;
    KERN_TRY(find_tensor(subject, name, rows, cols, &values, err));
    return verify_record_put_copy(record, entry, rows, cols, values, err);
}

/* J_h = H_hᵀ of a full head, K_hᵀQ_h of one of low rank. */
static kern_status fill_head(const verify_subject *subject, size_t head, double *j, kern_error *err)
{
    const size_t d = subject->width;
    const size_t rank = subject->m->config.rank;
    const double *key = NULL;
    const double *query = NULL;
    char name[96];
    (void)snprintf(name, sizeof name, "blocks.attn.heads.%zu.%s.weight", head,
                   rank == 0 ? "H" : "K");
    KERN_TRY(find_tensor(subject, name, rank == 0 ? d : rank, d, &key, err));
    for (size_t i = 0; rank == 0 && i < d * d; i++) {
        j[i] = key[i % d * d + i / d];
    }
    if (rank == 0) {
        return KERN_OK;
    }
    (void)snprintf(name, sizeof name, "blocks.attn.heads.%zu.Q.weight", head);
    KERN_TRY(find_tensor(subject, name, rank, d, &query, err));
    for (size_t r = 0; r < rank; r++) {
        for (size_t i = 0; i < d * d; i++) {
            j[i] += key[r * d + i / d] * query[r * d + i % d];
        }
    }
    return KERN_OK;
}

static kern_status put_attention(verify_record *record, const verify_subject *subject,
                                 kern_error *err)
{
    const model_config *c = &subject->m->config;
    const size_t d = subject->width;
    double *alpha = NULL;
    double *j = NULL;
    KERN_TRY(verify_record_put_number(record, "beta", c->beta, err));
    KERN_TRY(verify_record_put(record, "alpha", 1, c->n_head, &alpha, err));
    KERN_TRY(verify_record_put(record, "J", c->n_head * d, d, &j, err));
    for (size_t h = 0; h < c->n_head; h++) {
        alpha[h] = c->alpha;
        KERN_TRY(fill_head(subject, h, j + h * d * d, err));
    }
    return KERN_OK;
}

static kern_status put_forward(verify_record *record, const verify_subject *subject,
                               kern_error *err)
{
    const size_t d = subject->width;
    const size_t m = subject->m->config.ff_hid_factor * d;
    const double *scale = NULL;
    KERN_TRY(find_tensor(subject, "blocks.scale_ff", 1, 1, &scale, err));
    KERN_TRY(verify_record_put_number(record, "scale_ff", *scale, err));
    KERN_TRY(put_tensor(record, subject, "blocks.ffwd.net.0.weight", "W1", m, d, err));
    KERN_TRY(put_tensor(record, subject, "blocks.ffwd.net.0.bias", "b1", 1, m, err));
    if (subject->m->config.ff == MODEL_FF1) {
        return KERN_OK;
    }
    KERN_TRY(put_tensor(record, subject, "blocks.ffwd.net.2.weight", "W2", d, m, err));
    return put_tensor(record, subject, "blocks.ffwd.net.2.bias", "b2", 1, d, err);
}

static kern_status put_shape(verify_record *record, const verify_subject *subject, size_t token,
                             kern_error *err)
{
    static const char *const acts[] = {
        [MODEL_GELU] = "gelu", [MODEL_RELU] = "relu", [MODEL_SOFTPLUS] = "softplus"};
    const model_config *c = &subject->m->config;
    KERN_TRY(verify_record_put_word(record, "norm",
                                    c->norm == MODEL_RMSNORM ? "rmsnorm" : "layernorm", err));
    KERN_TRY(verify_record_put_word(record, "mask", c->strict_mask ? "strict" : "inclusive", err));
    KERN_TRY(verify_record_put_word(record, "ff", c->ff == MODEL_FF1 ? "ff1" : "ff2w", err));
    KERN_TRY(verify_record_put_word(record, "act", acts[c->activation], err));
    KERN_TRY(verify_record_put_number(record, "width", (double)subject->width, err));
    KERN_TRY(verify_record_put_number(record, "heads", (double)c->n_head, err));
    KERN_TRY(verify_record_put_number(record, "prefix", (double)token, err));
    KERN_TRY(verify_record_put_number(record, "hidden", (double)(c->ff_hid_factor * subject->width),
                                      err));
    return verify_record_put_number(record, "epsilon", c->norm_eps, err);
}

/* The normalised states of the tokens before. */
static kern_status put_context(verify_record *record, const verify_subject *subject,
                               const double *states, size_t token, verify_work *work,
                               kern_error *err)
{
    const model_config *c = &subject->m->config;
    const size_t d = subject->width;
    double *context = NULL;
    double *unit = NULL;
    const verify_nrgpt q = {.width = d,
                            .epsilon = c->norm_eps,
                            .norm = c->norm == MODEL_RMSNORM ? VERIFY_NRGPT_RMSNORM
                                                             : VERIFY_NRGPT_LAYERNORM,
                            .gamma = subject->gamma,
                            .delta = subject->delta};
    if (token == 0) {
        return KERN_OK;
    }
    KERN_TRY(verify_work_take(work, d, &unit, err));
    KERN_TRY(verify_record_put(record, "context", token, d, &context, err));
    for (size_t b = 0; b < token; b++) {
        (void)verify_nrgpt_normalise(&q, states + b * d, unit, context + b * d);
    }
    return KERN_OK;
}

kern_status verify_nrgpt_put_states(verify_record *record, const verify_subject *subject,
                                    const double *states, size_t token, verify_work *work,
                                    kern_error *err)
{
    const size_t d = subject->width;
    KERN_TRY(put_shape(record, subject, token, err));
    KERN_TRY(verify_record_put_copy(record, "gamma", 1, d, subject->gamma, err));
    KERN_TRY(verify_record_put_copy(record, "delta", 1, d, subject->delta, err));
    KERN_TRY(put_context(record, subject, states, token, work, err));
    KERN_TRY(put_attention(record, subject, err));
    KERN_TRY(put_forward(record, subject, err));
    return verify_record_put_copy(record, "x", 1, d, states + token * d, err);
}

kern_status verify_nrgpt_put_run(verify_record *record, const verify_subject *subject,
                                 size_t prompt, size_t step, size_t token, verify_work *work,
                                 kern_error *err)
{
    const double *states = verify_subject_state(subject, prompt, step, 0);
    return verify_nrgpt_put_states(record, subject, states, token, work, err);
}
