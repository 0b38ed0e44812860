/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_hourglass_dynamics.h"

#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model_sub {
    size_t width;  /* D */
    size_t hidden; /* d_h */
    double alpha;
    double epsilon;
    bool norm_before;
    bool norm_behind;
    double *gate; /* d_h × D, and all that follows: owned, one block */
    double *up;   /* d_h × D */
    double *down; /* D × d_h */
    double *gain; /* D */
    double *n;    /* D: what the projections read */
    double *q;    /* D: what they give */
    double *u;    /* D × d_h */
    double *c;    /* d_h × D */
    double *core; /* d_h × d_h */
    int *pivots;  /* d_h, owned */
};

/* ---- construction -----------------------------------------------------------------------------
 */

static kern_status check(const model *m, size_t layer, size_t k, kern_error *err)
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

/* Copies a tensor of the sub-MLP; ones where the model has none of that name. */
static void load(double *to, const model *m, const char *name, size_t count)
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
    load(s->gate, m, name, area);
    (void)snprintf(name, sizeof name, "layers.%zu.hg.%zu.w_up", layer, k);
    load(s->up, m, name, area);
    (void)snprintf(name, sizeof name, "layers.%zu.hg.%zu.w_down", layer, k);
    load(s->down, m, name, area);
    if (shared) {
        (void)snprintf(name, sizeof name, "layers.%zu.hg.norm", layer);
    } else {
        (void)snprintf(name, sizeof name, "layers.%zu.hg.%zu.norm", layer, k);
    }
    load(s->gain, m, name, s->width);
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
    KERN_TRY(check(m, layer, k, err));
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

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static double root_mean_square(const double *x, size_t n, double epsilon)
{
    return sqrt(dot(x, x, n) / (double)n + epsilon);
}

/* silu z and its derivative. */
static double silu(double z, double *slope)
{
    const double e = exp(-fabs(z));
    const double logistic = z >= 0 ? 1 / (1 + e) : e / (1 + e);
    *slope = logistic * (1 + z * (1 - logistic));
    return z * logistic;
}

/* Row of C behind the norm: w through diag(g)(I − hhᵀ/(Dσ²))/σ. */
static void pull_row(const model_sub *s, const double *h, double sigma, double *w)
{
    const size_t d = s->width;
    for (size_t j = 0; j < d; j++) {
        w[j] *= s->gain[j];
    }
    const double along = dot(w, h, d) / ((double)d * sigma * sigma);
    for (size_t j = 0; j < d; j++) {
        w[j] = (w[j] - along * h[j]) / sigma;
    }
}

/* Hidden unit i: its value, and its row of C. */
static double evaluate_unit(const model_sub *s, const double *h, double sigma, size_t i, double *c)
{
    const size_t d = s->width;
    const double *gate = s->gate + i * d;
    const double *up = s->up + i * d;
    double slope;
    const double value = silu(dot(gate, s->n, d), &slope);
    const double b = dot(up, s->n, d);
    if (c != NULL) {
        for (size_t j = 0; j < d; j++) {
            c[i * d + j] = b * slope * gate[j] + value * up[j];
        }
        if (s->norm_before) {
            pull_row(s, h, sigma, c + i * d);
        }
    }
    return value * b;
}

/* f = α q, or α g ⊙ q/σ with a norm behind, and U likewise. */
static void finish(const model_sub *s, double *f, double *u)
{
    const size_t d = s->width;
    const double sigma = s->norm_behind ? root_mean_square(s->q, d, s->epsilon) : 1;
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
    const double sigma = s->norm_before ? root_mean_square(h, d, s->epsilon) : 1;
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

/* I + C U into the core, with U and C at h in their places; f is left in n. */
static void make_core(model_sub *s, const double *h)
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
    make_core(s, h);
    return kern_lapack_eigenvalues(s->hidden, s->core, re, im, err);
}

kern_status model_sub_log_abs_det(model_sub *s, const double *h, double *value, kern_error *err)
{
    make_core(s, h);
    return kern_lapack_lu(s->hidden, s->core, s->pivots, value, err);
}

/* ---- a layer ----------------------------------------------------------------------------------
 */

/* What following one token takes: all sub-MLPs and vectors of D numbers. */
typedef struct follower {
    model_sub **subs;
    size_t k;
    size_t width;
    double *h;        /* the state */
    double *next;     /* behind a sub-MLP */
    double *f;        /* its branch */
    double *before;   /* the branch before */
    double *start;    /* h_0 */
    double *together; /* Σ f_k(h_0) */
    double *row;      /* Jᵀ of a direction */
} follower;

static void follower_fini(follower *w)
{
    for (size_t i = 0; w->subs != NULL && i < w->k; i++) {
        model_sub_destroy(w->subs[i]);
    }
    free(w->subs);
    free(w->h);
}

static kern_status follower_init(follower *w, const model *m, size_t layer, kern_error *err)
{
    const size_t d = m->config.n_embed;
    *w = (follower){.k = m->config.hourglass.k, .width = d};
    w->subs = calloc(w->k, sizeof *w->subs);
    w->h = calloc(7 * d, sizeof *w->h);
    if (w->subs == NULL || w->h == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu sub-MLPs", w->k);
    }
    double **const vectors[] = {&w->next, &w->f, &w->before, &w->start, &w->together, &w->row};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = w->h + (i + 1) * d;
    }
    for (size_t i = 0; i < w->k; i++) {
        KERN_TRY(model_sub_create(&w->subs[i], m, layer, i, err));
    }
    return KERN_OK;
}

/* Jv, or Jᵀv when transposed, from the U and C that make_core left; `hidden` is room for d_h. */
static void apply_jacobian(const model_sub *s, bool transposed, const double *v, double *out)
{
    const size_t d = s->width;
    const size_t r = s->hidden;
    memcpy(out, v, d * sizeof *out);
    for (size_t i = 0; i < r; i++) {
        double factor = 0;
        for (size_t j = 0; j < d; j++) {
            factor += (transposed ? s->u[j * r + i] : s->c[i * d + j]) * v[j];
        }
        for (size_t j = 0; j < d; j++) {
            out[j] += factor * (transposed ? s->c[i * d + j] : s->u[j * r + i]);
        }
    }
}

/* ‖J‖_F² = D + 2 tr(CU) + Σ_ik (UᵀU)_ik (CCᵀ)_ik. */
static double frobenius(const model_sub *s)
{
    const size_t d = s->width;
    const size_t r = s->hidden;
    double sum = (double)d;
    for (size_t i = 0; i < r; i++) {
        sum += 2 * (s->core[i * r + i] - 1);
        for (size_t k = 0; k < r; k++) {
            double uu = 0;
            for (size_t j = 0; j < d; j++) {
                uu += s->u[j * r + i] * s->u[j * r + k];
            }
            sum += uu * dot(s->c + i * d, s->c + k * d, d);
        }
    }
    return sum;
}

/* ‖(I − ĥ′ĥ′ᵀ) J (I − ĥĥᵀ)‖_F² = ‖J‖² − |Jĥ|² − |Jᵀĥ′|² + (ĥ′·Jĥ)², times (|h|/|h′|)². */
static double angular(const follower *w, const model_sub *s, double square, double size,
                      double grown)
{
    const size_t d = w->width;
    apply_jacobian(s, false, w->h, w->row);
    const double right = dot(w->row, w->row, d) / (size * size);
    const double corner = dot(w->row, w->next, d) / (size * grown);
    apply_jacobian(s, true, w->next, w->row);
    const double left = dot(w->row, w->row, d) / (grown * grown);
    const double rest = square - right - left + corner * corner;
    return size * size / (grown * grown) * (rest > 0 ? rest : 0);
}

/* Sub-MLP k at the state, which moves on; its numbers are added to the report with weight `share`.
 */
static kern_status follow_sub(follower *w, size_t k, double share, model_hourglass_report *out,
                              kern_error *err)
{
    model_sub *s = w->subs[k];
    model_sub_report *r = &out->subs[k];
    const size_t d = w->width;
    double determinant;
    make_core(s, w->h);
    memcpy(w->f, s->n, d * sizeof *w->f);
    for (size_t j = 0; j < d; j++) {
        w->next[j] = w->h[j] + w->f[j];
    }
    const double size = sqrt(dot(w->h, w->h, d));
    const double grown = sqrt(dot(w->next, w->next, d));
    const double moved = sqrt(dot(w->f, w->f, d));
    const double square = frobenius(s);
    const double angle = angular(w, s, square, size, grown);
    KERN_TRY(kern_lapack_lu(s->hidden, s->core, s->pivots, &determinant, err));
    r->relative_step += share * moved / size;
    r->log_growth += share * log(grown / size);
    r->log_abs_det += share * determinant;
    r->gain += share * sqrt(square / (double)d);
    r->angular_gain += share * sqrt(angle / (double)(d - 1));
    if (k > 0) {
        out->subs[k - 1].turn +=
            share * dot(w->f, w->before, d) / (moved * sqrt(dot(w->before, w->before, d)));
    }
    memcpy(w->before, w->f, d * sizeof *w->f);
    memcpy(w->h, w->next, d * sizeof *w->h);
    return KERN_OK;
}

/* One token from its start in w->h. */
static kern_status follow_token(follower *w, double share, model_hourglass_report *out,
                                kern_error *err)
{
    const size_t d = w->width;
    double gap = 0;
    memcpy(w->start, w->h, d * sizeof *w->h);
    memset(w->together, 0, d * sizeof *w->together);
    for (size_t k = 0; k < w->k; k++) {
        model_sub_evaluate(w->subs[k], w->start, w->f, NULL, NULL);
        for (size_t j = 0; j < d; j++) {
            w->together[j] += w->f[j];
        }
    }
    for (size_t k = 0; k < w->k; k++) {
        KERN_TRY(follow_sub(w, k, share, out, err));
    }
    for (size_t j = 0; j < d; j++) {
        const double difference = w->h[j] - w->start[j] - w->together[j];
        gap += difference * difference;
    }
    out->parallel_gap += share * sqrt(gap / dot(w->together, w->together, d));
    return KERN_OK;
}

/* Where the sub-MLPs begin: the part's input, or that normalised under variants B and C. */
static void load_start(follower *w, const model *m, size_t layer, const double *h)
{
    const model_hourglass *c = &m->config.hourglass;
    const size_t d = w->width;
    char name[MODEL_PARAM_NAME];
    memcpy(w->h, h, d * sizeof *h);
    if (c->norm != MODEL_SANDGLASS_B && c->norm != MODEL_SANDGLASS_C) {
        return;
    }
    (void)snprintf(name, sizeof name, "layers.%zu.%s", layer,
                   c->norm == MODEL_SANDGLASS_B ? "hg.0.norm" : "norm2");
    load(w->row, m, name, d);
    const double sigma = root_mean_square(h, d, m->config.norm_eps);
    for (size_t j = 0; j < d; j++) {
        w->h[j] = w->row[j] * h[j] / sigma;
    }
}

static kern_status report_init(model_hourglass_report *out, const follower *w, kern_error *err)
{
    size_t units = 0;
    *out = (model_hourglass_report){.k = w->k};
    out->subs = calloc(w->k, sizeof *out->subs);
    if (out->subs == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a report of %zu sub-MLPs", w->k);
    }
    for (size_t k = 0; k < w->k; k++) {
        out->subs[k].hidden = w->subs[k]->hidden;
        units += w->subs[k]->hidden;
    }
    out->subs[w->k - 1].turn = (double)NAN;
    out->coverage = (double)units / (double)w->width;
    out->conserved = units < w->width ? w->width - units : 0;
    return KERN_OK;
}

kern_status model_hourglass_diagnose(const model *m, size_t layer, const double *h, size_t tokens,
                                     model_hourglass_report *out, kern_error *err)
{
    follower w = {0};
    *out = (model_hourglass_report){0};
    KERN_TRY(check(m, layer, 0, err));
    kern_status status = follower_init(&w, m, layer, err);
    if (status == KERN_OK) {
        status = report_init(out, &w, err);
    }
    for (size_t i = 0; status == KERN_OK && i < tokens; i++) {
        load_start(&w, m, layer, h + i * w.width);
        status = follow_token(&w, 1.0 / (double)tokens, out, err);
    }
    for (size_t k = 0; status == KERN_OK && k < w.k; k++) {
        out->log_abs_det += out->subs[k].log_abs_det;
    }
    follower_fini(&w);
    if (status != KERN_OK) {
        model_hourglass_report_fini(out);
    }
    return status;
}

void model_hourglass_report_fini(model_hourglass_report *report)
{
    free(report->subs);
    *report = (model_hourglass_report){0};
}
