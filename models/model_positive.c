/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_positive.h"

#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BISECTIONS = 46 };

/* A preconditioner as a matrix, and room for the decomposition of a shifted one. */
typedef struct precond {
    size_t width;
    double *matrix;  /* D × D, the lower triangle */
    double *factor;  /* D × D */
    double diagonal; /* min softplus δ */
    double skew;     /* ½‖U − V‖_F² */
} precond;

static double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static kern_status precond_init(precond *p, size_t width, kern_error *err)
{
    size_t count;
    size_t bytes;
    *p = (precond){.width = width};
    if (kern_size_mul(width, width, &count) && kern_size_mul(count, sizeof(double), &bytes)) {
        p->matrix = malloc(bytes);
        p->factor = malloc(bytes);
    }
    if (p->matrix == NULL || p->factor == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a preconditioner of width %zu",
                          width);
    }
    return KERN_OK;
}

static void precond_fini(precond *p)
{
    free(p->matrix);
    free(p->factor);
}

/* The three tensors of the preconditioner `name`; false when it has none. */
static bool find_tensors(const model *m, const char *name, const model_param *out[3])
{
    static const char *const words[] = {"p_delta", "p_u", "p_v"};
    for (size_t i = 0; i < 3; i++) {
        char full[MODEL_PARAM_NAME];
        (void)snprintf(full, sizeof full, "%s.%s", name, words[i]);
        out[i] = model_params_find(&m->params, full);
        if (out[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* Fills the lower triangle, and what the bound needs. */
static void fill(precond *p, const model *m, const model_param *const tensors[3])
{
    const size_t d = p->width;
    const size_t r = tensors[1]->cols;
    p->diagonal = (double)INFINITY;
    p->skew = 0;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < r; k++) {
                sum += model_value_get(m, tensors[1]->offset + i * r + k) *
                           model_value_get(m, tensors[2]->offset + j * r + k) +
                       model_value_get(m, tensors[2]->offset + i * r + k) *
                           model_value_get(m, tensors[1]->offset + j * r + k);
            }
            p->matrix[i * d + j] = sum;
        }
        const double delta = softplus(model_value_get(m, tensors[0]->offset + i));
        p->matrix[i * d + i] += delta;
        p->diagonal = fmin(p->diagonal, delta);
    }
    for (size_t i = 0; i < d * r; i++) {
        const double u = model_value_get(m, tensors[1]->offset + i);
        const double v = model_value_get(m, tensors[2]->offset + i);
        p->skew += 0.5 * (u - v) * (u - v);
    }
}

/* Whether P − shift·I is positive definite to rounding. */
static kern_status is_positive(precond *p, double shift, bool *positive, kern_error *err)
{
    const size_t d = p->width;
    kern_error inner = {0};
    memcpy(p->factor, p->matrix, d * d * sizeof *p->factor);
    for (size_t i = 0; i < d; i++) {
        p->factor[i * d + i] -= shift;
    }
    const kern_status status = kern_lapack_cholesky(d, p->factor, &inner);
    *positive = status == KERN_OK;
    if (status != KERN_OK && status != KERN_SINGULAR) {
        return kern_raise(err, status, "%s", inner.text);
    }
    return KERN_OK;
}

/* No eigenvalue lies above the smallest diagonal element's Rayleigh quotient, none below the bound.
 */
static kern_status bisect(precond *p, double *smallest, kern_error *err)
{
    double low = p->diagonal - p->skew;
    double high = (double)INFINITY;
    for (size_t i = 0; i < p->width; i++) {
        high = fmin(high, p->matrix[i * p->width + i]);
    }
    for (int k = 0; k < BISECTIONS; k++) {
        const double middle = low + 0.5 * (high - low);
        bool positive;
        KERN_TRY(is_positive(p, middle, &positive, err));
        low = positive ? middle : low;
        high = positive ? high : middle;
    }
    *smallest = low + 0.5 * (high - low);
    return KERN_OK;
}

static kern_status check_one(precond *p, const char *name, model_positive *out, kern_error *err)
{
    bool positive = p->diagonal > p->skew;
    double smallest;
    out->checked++;
    if (!positive) {
        KERN_TRY(is_positive(p, 0, &positive, err));
    }
    if (positive) {
        return KERN_OK;
    }
    KERN_TRY(bisect(p, &smallest, err));
    out->indefinite++;
    if (smallest < out->smallest) {
        out->smallest = smallest;
        (void)snprintf(out->name, sizeof out->name, "%s", name);
    }
    return KERN_OK;
}

kern_status model_positive_check(const model *m, model_positive *out, kern_error *err)
{
    static const char *const parts[] = {"attn", "mlp"};
    const model_param *tensors[3];
    precond p = {0};
    *out = (model_positive){.smallest = (double)INFINITY};
    if (!model_config_is_stack(&m->config) || m->config.cem.precond != MODEL_PRECOND_DLR) {
        return KERN_OK;
    }
    kern_status status = precond_init(&p, m->config.n_embed, err);
    for (size_t i = 0; status == KERN_OK && i < 2 * m->config.n_layer; i++) {
        char name[MODEL_PARAM_NAME / 2];
        (void)snprintf(name, sizeof name, "layers.%zu.%s", i / 2, parts[i % 2]);
        if (find_tensors(m, name, tensors)) {
            fill(&p, m, tensors);
            status = check_one(&p, name, out, err);
        }
    }
    precond_fini(&p);
    return status;
}

kern_status model_positive_smallest(const model *m, const char *name, double *smallest,
                                    kern_error *err)
{
    const model_param *tensors[3];
    precond p;
    if (!find_tensors(m, name, tensors)) {
        return kern_raise(err, KERN_NOT_FOUND, "%s has no preconditioner of rank r", name);
    }
    kern_status status = precond_init(&p, m->config.n_embed, err);
    if (status == KERN_OK) {
        fill(&p, m, tensors);
        status = bisect(&p, smallest, err);
    }
    precond_fini(&p);
    return status;
}

kern_status model_positive_require(const model *m, kern_error *err)
{
    model_positive found;
    KERN_TRY(model_positive_check(m, &found, err));
    if (found.indefinite > 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu of %zu preconditioners are not positive definite; the smallest "
                          "eigenvalue is %.6g, that of %s",
                          found.indefinite, found.checked, found.smallest, found.name);
    }
    return KERN_OK;
}
