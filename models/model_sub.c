/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_sub.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"
#include "models/model_hourglass_start.h"
#include "models/model_sub_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- construction -----------------------------------------------------------------------------
 */

kern_status model__sub_check(const model *m, size_t layer, size_t k, kern_error *err)
{
    const model_config *c = &m->config;
    if (!model_config_is_stack(c) || c->ffn != MODEL_FFN_HOURGLASS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a model of family %s has no hourglass; accepted are models whose ffn is "
                          "hourglass",
                          model_config_family_name(c));
    }
    if (m->backend->real_size != sizeof(double)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an hourglass needs a double-precision model");
    }
    if (layer >= c->n_layer || k >= c->hourglass.k) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "sub-MLP %zu of layer %zu is not within 0 to %zu of 0 to %zu", k, layer,
                          c->hourglass.k - 1, c->n_layer - 1);
    }
    return KERN_OK;
}

void model__sub_load(double *to, const model *m, const char *name, size_t count)
{
    const model_param *p = model_params_find(&m->params, name);
    for (size_t i = 0; i < count; i++) {
        to[i] = p != NULL ? model_value_get(m, p->offset + i) : 1.0;
    }
}

static void load_all(model_sub *s, const model *m, size_t layer, size_t k)
{
    const size_t area = s->width * s->hidden;
    const bool shared = m->config.hourglass.gain == MODEL_GAIN_SHARED;
    char name[MODEL_PARAM_NAME];
    (void)snprintf(name, sizeof name, "layers.%zu.hg.%zu.w_gate", layer, k);
    model__sub_load(s->gate, m, name, area);
    (void)snprintf(name, sizeof name, "layers.%zu.hg.%zu.w_up", layer, k);
    model__sub_load(s->up, m, name, area);
    (void)snprintf(name, sizeof name, "layers.%zu.hg.%zu.w_down", layer, k);
    model__sub_load(s->down, m, name, area);
    if (shared) {
        (void)snprintf(name, sizeof name, "layers.%zu.hg.norm", layer);
    } else {
        (void)snprintf(name, sizeof name, "layers.%zu.hg.%zu.norm", layer, k);
    }
    model__sub_load(s->gain, m, name, s->width);
}

static kern_status reserve(model_sub *s, kern_error *err)
{
    const size_t area = s->width * s->hidden;
    size_t core;
    size_t total;
    size_t bytes;
    if (kern_size_mul(s->hidden, s->hidden, &core) &&
        kern_size_add(core, 5 * area + 3 * s->width, &total) &&
        kern_size_mul(total, sizeof(double), &bytes)) {
        s->gate = malloc(bytes);
        s->pivots = malloc((s->hidden + 1) * sizeof *s->pivots);
    }
    if (s->gate == NULL || s->pivots == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a sub-MLP of %zu by %zu", s->width,
                          s->hidden);
    }
    s->up = s->gate + area;
    s->down = s->up + area;
    s->u = s->down + area;
    s->c = s->u + area;
    s->gain = s->c + area;
    s->n = s->gain + s->width;
    s->q = s->n + s->width;
    s->core = s->q + s->width;
    return KERN_OK;
}

kern_status model_sub_create(model_sub **out, const model *m, size_t layer, size_t k,
                             kern_error *err)
{
    const model_config *c = &m->config;
    *out = NULL;
    KERN_TRY(model__sub_check(m, layer, k, err));
    model_sub *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a sub-MLP");
    }
    s->width = c->n_embed;
    s->hidden = model_config_sub_width(c, layer, k);
    s->alpha = c->hourglass.alpha;
    s->epsilon = c->norm_eps;
    s->norm_behind = c->hourglass.norm == MODEL_SANDGLASS_D;
    s->norm_before =
        c->hourglass.norm == MODEL_SANDGLASS_A || c->hourglass.norm == MODEL_SANDGLASS_C;
    const kern_status status = reserve(s, err);
    if (status != KERN_OK) {
        model_sub_destroy(s);
        return status;
    }
    load_all(s, m, layer, k);
    *out = s;
    return KERN_OK;
}

void model_sub_destroy(model_sub *s)
{
    if (s != NULL) {
        free(s->gate);
        free(s->pivots);
        free(s);
    }
}

size_t model_sub_hidden(const model_sub *s)
{
    return s->hidden;
}

/* ---- one sub-MLP ------------------------------------------------------------------------------
 */

double model__sub_rms(const double *x, size_t n, double epsilon)
{
    return sqrt(dyn_vector_dot(x, x, n) / (double)n + epsilon);
}

/* silu z and its derivative. */
static double silu(double z, double *slope)
{
    const double e = exp(-fabs(z));
    const double logistic = z >= 0 ? 1 / (1 + e) : e / (1 + e);
    *slope = logistic * (1 + z * (1 - logistic));
    return z * logistic;
}

void model__norm_pull_row(size_t d, const double *h, double sigma, const double *gain, double *w)
{
    for (size_t j = 0; j < d; j++) {
        w[j] *= gain[j];
    }
    const double along = dyn_vector_dot(w, h, d) / ((double)d * sigma * sigma);
    for (size_t j = 0; j < d; j++) {
        w[j] = (w[j] - along * h[j]) / sigma;
    }
}

double model__hourglass_start(const model *m, size_t layer, const double *h, double *gain,
                              double *z)
{
    const model_sandglass norm = m->config.hourglass.norm;
    const size_t d = m->config.n_embed;
    char name[MODEL_PARAM_NAME];
    memcpy(z, h, d * sizeof *h);
    if (norm != MODEL_SANDGLASS_B && norm != MODEL_SANDGLASS_C) {
        return 1.0;
    }
    (void)snprintf(name, sizeof name, "layers.%zu.%s", layer,
                   norm == MODEL_SANDGLASS_B ? "hg.0.norm" : "norm2");
    model__sub_load(gain, m, name, d);
    const double sigma = model__sub_rms(h, d, m->config.norm_eps);
    for (size_t j = 0; j < d; j++) {
        z[j] = gain[j] * h[j] / sigma;
    }
    return sigma;
}

/* Hidden unit i: its value, and its row of C. */
static double evaluate_unit(const model_sub *s, const double *h, double sigma, size_t i, double *c)
{
    const size_t d = s->width;
    const double *gate = s->gate + i * d;
    const double *up = s->up + i * d;
    double slope;
    const double value = silu(dyn_vector_dot(gate, s->n, d), &slope);
    const double b = dyn_vector_dot(up, s->n, d);
    if (c != NULL) {
        for (size_t j = 0; j < d; j++) {
            c[i * d + j] = b * slope * gate[j] + value * up[j];
        }
        if (s->norm_before) {
            model__norm_pull_row(d, h, sigma, s->gain, c + i * d);
        }
    }
    return value * b;
}

/* f = α q, or α g ⊙ q/σ with a norm behind, and U likewise. */
static void finish(const model_sub *s, double *f, double *u)
{
    const size_t d = s->width;
    const double sigma = s->norm_behind ? model__sub_rms(s->q, d, s->epsilon) : 1;
    for (size_t j = 0; j < d; j++) {
        f[j] = s->alpha * (s->norm_behind ? s->gain[j] * s->q[j] / sigma : s->q[j]);
    }
    for (size_t i = 0; u != NULL && i < s->hidden; i++) {
        double along = 0;
        for (size_t j = 0; s->norm_behind && j < d; j++) {
            along += s->q[j] * s->down[j * s->hidden + i] / ((double)d * sigma * sigma);
        }
        for (size_t j = 0; j < d; j++) {
            const double w = s->down[j * s->hidden + i] - along * s->q[j];
            u[j * s->hidden + i] = s->alpha * (s->norm_behind ? s->gain[j] * w / sigma : w);
        }
    }
}

void model_sub_evaluate(model_sub *s, const double *h, double *f, double *u, double *c)
{
    const size_t d = s->width;
    const double sigma = s->norm_before ? model__sub_rms(h, d, s->epsilon) : 1;
    for (size_t j = 0; j < d; j++) {
        s->n[j] = s->norm_before ? s->gain[j] * h[j] / sigma : h[j];
        s->q[j] = 0;
    }
    for (size_t i = 0; i < s->hidden; i++) {
        const double value = evaluate_unit(s, h, sigma, i, c);
        for (size_t j = 0; j < d; j++) {
            s->q[j] += value * s->down[j * s->hidden + i];
        }
    }
    finish(s, f, u);
}

void model__sub_make_core(model_sub *s, const double *h)
{
    const size_t r = s->hidden;
    model_sub_evaluate(s, h, s->n, s->u, s->c);
    for (size_t i = 0; i < r; i++) {
        for (size_t k = 0; k < r; k++) {
            double sum = i == k ? 1 : 0;
            for (size_t j = 0; j < s->width; j++) {
                sum += s->c[i * s->width + j] * s->u[j * r + k];
            }
            s->core[i * r + k] = sum;
        }
    }
}

kern_status model_sub_multipliers(model_sub *s, const double *h, double *re, double *im,
                                  kern_error *err)
{
    model__sub_make_core(s, h);
    return kern_lapack_eigenvalues(s->hidden, s->core, re, im, err);
}

kern_status model_sub_log_abs_det(model_sub *s, const double *h, double *value, kern_error *err)
{
    model__sub_make_core(s, h);
    return kern_lapack_lu(s->hidden, s->core, s->pivots, value, err);
}
