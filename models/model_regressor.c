/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_regressor.h"

#include "models/model_family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Most inputs of a row, and most rows of a batch. */
#define INPUTS_MAX ((size_t)1 << 24)
#define ROWS_MAX   ((size_t)1 << 40)

#define EMBED_IN      "embed_in"
#define EMBED_IN_BIAS "embed_in_bias"
#define NORM_F        "norm_f"
#define HEAD          "head"
#define HEAD_BIAS     "head_bias"

/* ---- parameters ----------------------------------------------------------------------------- */

/* A matrix with Gaussian entries of that deviation, or a constant vector when rows is 0. */
static kern_status add_tensor(model_params *params, const char *name, size_t rows, size_t cols,
                              double value, kern_error *err)
{
    model_param row = {.rank = rows > 0 ? 2 : 1,
                       .rows = rows > 0 ? rows : 1,
                       .cols = cols,
                       .init = rows > 0 ? MODEL_INIT_NORMAL : MODEL_INIT_CONSTANT,
                       .value = value,
                       .trained = true};
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    return model_params_add(params, &row, NULL, err);
}

/* The layers' parameters, with another deviation unless it is 0. */
static kern_status add_layers(model_params *params, const model_config *c, double deviation,
                              kern_error *err)
{
    const size_t first = params->count;
    KERN_TRY(model_family_get(c->family)->add_params(params, c, err));
    for (size_t i = first; deviation > 0.0 && i < params->count; i++) {
        if (params->items[i].init == MODEL_INIT_NORMAL) {
            params->items[i].value = deviation;
        }
    }
    return KERN_OK;
}

static kern_status build_table(model_params *params, const model_config *c, size_t inputs,
                               double deviation, kern_error *err)
{
    const size_t d = c->n_embed;
    KERN_TRY(add_tensor(params, EMBED_IN, d, inputs, 1.0 / sqrt((double)inputs), err));
    KERN_TRY(add_tensor(params, EMBED_IN_BIAS, 0, d, 0.0, err));
    KERN_TRY(add_layers(params, c, deviation, err));
    KERN_TRY(add_tensor(params, NORM_F, 0, d, 1.0, err));
    KERN_TRY(add_tensor(params, HEAD, 1, d, 0.02, err));
    return add_tensor(params, HEAD_BIAS, 0, 1, 0.0, err);
}

static kern_status check_create(const model_config *config, size_t inputs, double deviation,
                                kern_error *err)
{
    KERN_TRY(model_config_check(config, err));
    if (!model_config_is_stack(config)) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "a regressor cannot be made of the family %s; accepted are llama, cem and "
            "hourglass",
            model_config_family_name(config));
    }
    if (inputs < 1 || inputs > INPUTS_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a regressor of %zu inputs is not possible; accepted are 1 to %zu",
                          inputs, INPUTS_MAX);
    }
    if (!(deviation >= 0.0) || !isfinite(deviation)) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "matrices cannot start with a deviation of %g; accepted are finite numbers "
            "from 0",
            deviation);
    }
    return KERN_OK;
}

kern_status model_regressor_create(model **out, const model_config *config, size_t inputs,
                                   double deviation, const kern_backend *backend, kern_error *err)
{
    *out = NULL;
    KERN_TRY(check_create(config, inputs, deviation, err));
    model *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a regressor");
    }
    m->config = *config;
    m->backend = backend;
    kern_status status = build_table(&m->params, config, inputs, deviation, err);
    if (status == KERN_OK) {
        m->values = calloc(m->params.length, backend->real_size);
        if (m->values == NULL) {
            status =
                kern_raise(err, KERN_NO_MEMORY, "no memory for %zu parameters", m->params.elements);
        }
    }
    if (status != KERN_OK) {
        model_destroy(m);
        return status;
    }
    *out = m;
    return KERN_OK;
}

/* ---- embedding ------------------------------------------------------------------------------ */

kern_status model_regressor_embed(const model *m, const double *features, size_t tokens, double *x,
                                  kern_error *err)
{
    const model_param *w = model_params_find(&m->params, EMBED_IN);
    const model_param *bias = model_params_find(&m->params, EMBED_IN_BIAS);
    if (w == NULL || bias == NULL || m->backend->real_size != sizeof(double)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "rows can be embedded by a regressor in double precision only");
    }
    const double *values = m->values;
    for (size_t t = 0; t < tokens; t++) {
        for (size_t i = 0; i < w->rows; i++) {
            double sum = values[bias->offset + i];
            for (size_t k = 0; k < w->cols; k++) {
                sum += values[w->offset + i * w->cols + k] * features[t * w->cols + k];
            }
            x[t * w->rows + i] = sum;
        }
    }
    return KERN_OK;
}

/* ---- graph ---------------------------------------------------------------------------------- */

static kern_status check_options(const model *m, const model_regressor_options *o, kern_error *err)
{
    if (o->batch == 0 || o->tokens == 0 || o->batch > ROWS_MAX / o->tokens) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a batch of %zu sequences of %zu tokens is empty or too large", o->batch,
                          o->tokens);
    }
    if (model_params_find(&m->params, EMBED_IN) == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "the model is no regressor: it has no %s",
                          EMBED_IN);
    }
    return o->config != NULL ? model_config_check(o->config, err) : KERN_OK;
}

static void build_layers(model_builder *b, model_regressor *r)
{
    const kern_norm_attr norm = {.kind = KERN_RMSNORM, .epsilon = b->config->norm_eps};
    kern_value x = model_build_linear(b, r->features, model_build_param(b, EMBED_IN),
                                      model_build_param(b, EMBED_IN_BIAS), KERN_NO_VALUE);
    for (size_t l = 0; l < b->config->n_layer; l++) {
        kern_graph_begin_segment(b->graph);
        x = model_family_get(b->config->family)->build_step(b, x, l).state;
    }
    kern_graph_end_segment(b->graph);
    x = model_build_norm(b, x, NORM_F, NULL, norm, NULL);
    r->prediction = model_build_linear(b, x, model_build_param(b, HEAD),
                                       model_build_param(b, HEAD_BIAS), KERN_NO_VALUE);
    kern_graph_keep(b->graph, r->prediction);
}

static void build_error(model_regressor *r, size_t rows)
{
    const kern_attr attr = {.row = {.scale = 1.0}};
    r->targets = kern_graph_input(r->graph, (kern_shape){rows, 1});
    r->weights = kern_graph_input(r->graph, (kern_shape){rows, 1});
    const kern_value in[] = {r->prediction, r->targets, r->weights};
    r->error = kern_graph_apply(r->graph, KERN_OP_SQUARED_ERROR, &attr, in, NULL);
    kern_graph_keep(r->graph, r->error);
}

kern_status model_regressor_init(model_regressor *out, const model *m,
                                 const model_regressor_options *options, kern_error *err)
{
    *out = (model_regressor){0};
    KERN_TRY(check_options(m, options, err));
    model_regressor r = {
        .targets = KERN_NO_VALUE, .weights = KERN_NO_VALUE, .error = KERN_NO_VALUE};
    KERN_TRY(kern_graph_create(&r.graph, err));
    const size_t rows = options->batch * options->tokens;
    model_builder b = {.graph = r.graph,
                       .config = options->config != NULL ? options->config : &m->config,
                       .params = &m->params,
                       .batch = options->batch,
                       .tokens = options->tokens};
    r.features = kern_graph_input(
        r.graph, (kern_shape){rows, model_params_find(&m->params, EMBED_IN)->cols});
    build_layers(&b, &r);
    if (options->loss) {
        build_error(&r, rows);
    }
    const kern_status status = kern_graph_finish(r.graph, err);
    if (status != KERN_OK) {
        model_regressor_fini(&r);
        return status;
    }
    *out = r;
    return KERN_OK;
}

void model_regressor_fini(model_regressor *r)
{
    kern_graph_destroy(r->graph);
    *r = (model_regressor){0};
}
