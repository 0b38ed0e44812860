/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_hourglass_run.h"

#include "models/model_layer_map.h"
#include "models/model_sub.h"
#include "models/verify/verify_hourglass_sub.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *verify_hourglass_applies(const verify_subject *subject)
{
    const char *other = verify_subject_needs_hourglass(subject);
    if (other != NULL) {
        return other;
    }
    return subject->m->config.hourglass.norm == MODEL_SANDGLASS_D
               ? "its norms stand behind the sub-MLPs, a form which is not looked at"
               : NULL;
}

/* Where an instance is. */
typedef struct place {
    size_t layer, sub, prompt, token;
} place;

static place place_of(const verify_subject *subject, size_t trial)
{
    const model_config *c = &subject->m->config;
    place p = {.sub = trial % c->hourglass.k};
    trial /= c->hourglass.k;
    p.layer = trial % c->n_layer;
    trial /= c->n_layer;
    p.prompt = trial % subject->n_prompts;
    trial /= subject->n_prompts;
    const size_t tokens = subject->prompts[p.prompt].tokens;
    p.token = tokens - 1 - trial % tokens;
    return p;
}

/* Tensor `rest` of a layer, or of its sub-MLP; NULL when there is none. */
static const double *find(const verify_subject *subject, const place *p, bool of_sub,
                          const char *rest)
{
    char name[MODEL_PARAM_NAME];
    if (of_sub) {
        (void)snprintf(name, sizeof name, "layers.%zu.hg.%zu.%s", p->layer, p->sub, rest);
    } else {
        (void)snprintf(name, sizeof name, "layers.%zu.%s", p->layer, rest);
    }
    return verify_subject_tensor(subject, name, NULL, NULL);
}

/* Under variants B and C the sub-MLPs run on the normalised input of the part. */
static void start(const verify_subject *subject, const place *p, double *h)
{
    const model_config *c = &subject->m->config;
    double square = 0.0;
    if (c->hourglass.norm == MODEL_SANDGLASS_A) {
        return;
    }
    const place first = {.layer = p->layer};
    const double *gain = c->hourglass.norm == MODEL_SANDGLASS_B
                             ? find(subject, &first, true, "norm")
                             : find(subject, p, false, "norm2");
    for (size_t i = 0; i < subject->width; i++) {
        square += h[i] * h[i];
    }
    const double r = sqrt(square / (double)subject->width + c->norm_eps);
    for (size_t i = 0; i < subject->width; i++) {
        h[i] = h[i] / r * (gain != NULL ? gain[i] : 1.0);
    }
}

/* The state before the sub-MLP, in h, and what the engine makes of it there. */
static kern_status run_engine(const verify_subject *subject, const place *p, double *h, double *f,
                              double *log_det, kern_error *err)
{
    for (size_t k = 0; k <= p->sub; k++) {
        model_sub *s = NULL;
        KERN_TRY(model_sub_create(&s, subject->m, p->layer, k, err));
        model_sub_evaluate(s, h, f, NULL, NULL);
        const kern_status status =
            k == p->sub ? model_sub_log_abs_det(s, h, log_det, err) : KERN_OK;
        model_sub_destroy(s);
        if (status != KERN_OK) {
            return status;
        }
        for (size_t i = 0; k < p->sub && i < subject->width; i++) {
            h[i] += f[i];
        }
    }
    return KERN_OK;
}

static kern_status put_weights(verify_record *record, const verify_subject *subject, const place *p,
                               kern_error *err)
{
    const model_config *c = &subject->m->config;
    const size_t d = subject->width;
    const size_t hidden = model_config_sub_width(c, p->layer, p->sub);
    const bool inner = c->hourglass.norm != MODEL_SANDGLASS_B;
    const double *gain = NULL;
    double *gamma = NULL;
    if (inner && c->hourglass.gain == MODEL_GAIN_SHARED) {
        gain = find(subject, p, false, "hg.norm");
    } else if (inner && c->hourglass.gain == MODEL_GAIN_PER_SUB) {
        gain = find(subject, p, true, "norm");
    }
    KERN_TRY(verify_record_put_word(record, "norm", verify_sub_norms[inner ? 0 : 1], err));
    KERN_TRY(verify_record_put_number(record, "width", (double)d, err));
    KERN_TRY(verify_record_put_number(record, "hidden", (double)hidden, err));
    KERN_TRY(verify_record_put_number(record, "alpha", c->hourglass.alpha, err));
    KERN_TRY(verify_record_put_number(record, "epsilon", c->norm_eps, err));
    KERN_TRY(verify_record_put(record, "gamma", 1, d, &gamma, err));
    for (size_t i = 0; i < d; i++) {
        gamma[i] = gain != NULL ? gain[i] : 1.0;
    }
    KERN_TRY(
        verify_record_put_copy(record, "w_gate", hidden, d, find(subject, p, true, "w_gate"), err));
    KERN_TRY(
        verify_record_put_copy(record, "w_up", hidden, d, find(subject, p, true, "w_up"), err));
    return verify_record_put_copy(record, "w_down", d, hidden, find(subject, p, true, "w_down"),
                                  err);
}

kern_status verify_hourglass_put_run(verify_record *record, const verify_subject *subject,
                                     size_t trial, verify_work *work, kern_error *err)
{
    const place p = place_of(subject, trial);
    const verify_prompt *prompt = &subject->prompts[p.prompt];
    const size_t d = subject->width;
    double *rows = NULL;
    double *h = NULL;
    double *f = NULL;
    double log_det = 0.0;
    KERN_TRY(verify_work_take(work, prompt->tokens * d, &rows, err));
    KERN_TRY(model_layer_input(subject->m, p.layer, MODEL_LAYER_FFN, prompt->ids, prompt->tokens,
                               rows, err));
    KERN_TRY(put_weights(record, subject, &p, err));
    KERN_TRY(verify_record_put(record, "h", 1, d, &h, err));
    KERN_TRY(verify_record_put(record, "engine_f", 1, d, &f, err));
    memcpy(h, rows + p.token * d, d * sizeof *h);
    start(subject, &p, h);
    KERN_TRY(run_engine(subject, &p, h, f, &log_det, err));
    KERN_TRY(verify_record_put_number(record, "engine_log_det", log_det, err));
    KERN_TRY(verify_record_put_number(record, "parts", 1.0, err));
    KERN_TRY(verify_record_put_number(record, "layer", (double)p.layer, err));
    KERN_TRY(verify_record_put_number(record, "sub", (double)p.sub, err));
    KERN_TRY(verify_record_put_number(record, "prompt", (double)p.prompt, err));
    return verify_record_put_number(record, "token", (double)p.token, err);
}
