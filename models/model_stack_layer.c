/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the parts of the layers of a stack share.
 */
#include "models/model_stack.h"

#include <math.h>
#include <stdio.h>

/* ---- Parameters ------------------------------------------------------------------------------ */

typedef struct layer_name {
    char text[MODEL_PARAM_NAME];
} layer_name;

static layer_name name_in_layer(size_t layer, const char *name)
{
    layer_name full;
    (void)snprintf(full.text, sizeof full.text, "layers.%zu.%s", layer, name);
    return full;
}

kern_status model_layer_add(model_params *params, size_t layer, const model_layer_tensor *tensors,
                            size_t count, kern_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const model_layer_tensor *t = &tensors[i];
        const bool gaussian = t->rows > 0 && !t->constant_matrix;
        model_param row = {.rank = t->rows > 0 ? 2 : 1,
                           .rows = t->rows > 0 ? t->rows : 1,
                           .cols = t->cols,
                           .init = gaussian ? MODEL_INIT_NORMAL : MODEL_INIT_CONSTANT,
                           .value = !gaussian          ? t->constant
                                    : t->deviation > 0 ? t->deviation
                                                       : 0.02,
                           .trained = true,
                           .undecayed = t->undecayed};
        (void)snprintf(row.name, sizeof row.name, "%s", name_in_layer(layer, t->name).text);
        KERN_TRY(model_params_add(params, &row, NULL, err));
    }
    return KERN_OK;
}

double model_layer_deviation_in(const model_config *c)
{
    return c->spread == MODEL_SPREAD_FAN_IN ? 1 / sqrt((double)c->n_embed) : 0;
}

double model_layer_deviation_out(const model_config *c, size_t units)
{
    const double parts = 2 * (double)c->n_layer;
    return c->spread == MODEL_SPREAD_FAN_IN ? 1 / sqrt(parts * (double)units) : 0;
}

/* Hidden units of a layer's feed-forward part, of all sub-MLPs together. */
static size_t count_units(const model_config *c, size_t layer)
{
    size_t units = 0;
    if (c->ffn != MODEL_FFN_HOURGLASS) {
        return c->n_hidden;
    }
    for (size_t k = 0; k < c->hourglass.k; k++) {
        units += model_config_sub_width(c, layer, k);
    }
    return units;
}

kern_status model_layer_add_swiglu(model_params *params, const model_config *config, size_t layer,
                                   const char *prefix, size_t hidden, kern_error *err)
{
    const size_t d = config->n_embed;
    char names[3][MODEL_PARAM_NAME / 2];
    (void)snprintf(names[0], sizeof names[0], "%s.w_gate", prefix);
    (void)snprintf(names[1], sizeof names[1], "%s.w_up", prefix);
    (void)snprintf(names[2], sizeof names[2], "%s.w_down", prefix);
    const double in = model_layer_deviation_in(config);
    const double out = model_layer_deviation_out(config, count_units(config, layer));
    const model_layer_tensor tensors[] = {
        {.name = names[0], .rows = hidden, .cols = d, .deviation = in},
        {.name = names[1], .rows = hidden, .cols = d, .deviation = in},
        {.name = names[2], .rows = d, .cols = hidden, .deviation = out}};
    return model_layer_add(params, layer, tensors, 3, err);
}

/* ---- Graph ----------------------------------------------------------------------------------- */

kern_value model_layer_param(model_builder *b, size_t layer, const char *name)
{
    return model_build_param(b, name_in_layer(layer, name).text);
}

kern_value model_layer_norm(model_builder *b, size_t layer, const char *name, kern_value x)
{
    const kern_norm_attr attr = {.kind = KERN_RMSNORM, .epsilon = b->config->norm_eps};
    if (name == NULL) {
        return model_build_norm(b, x, NULL, NULL, attr, NULL);
    }
    return model_build_norm(b, x, name_in_layer(layer, name).text, NULL, attr, NULL);
}

kern_value model_layer_turn(model_builder *b, kern_value x, size_t heads, bool inverse)
{
    const kern_attr attr = {
        .rope = {.tokens = b->tokens, .heads = heads, .base = MODEL_ROPE_BASE, .inverse = inverse}};
    if (b->config->rope == MODEL_ROPE_NONE) {
        return x;
    }
    return kern_graph_apply(b->graph, KERN_OP_ROPE, &attr, &x, NULL);
}

void model_layer_record(model_builder *b, model_layer_part part, kern_value x, kern_value energy)
{
    model_inner *inner = b->inner != NULL ? &b->inner[part] : NULL;
    if (inner != NULL && inner->count < inner->room) {
        inner->x[inner->count] = x;
        inner->energy[inner->count] = energy;
        inner->count++;
    }
}

kern_value model_layer_swiglu(model_builder *b, size_t layer, const char *prefix, double alpha,
                              kern_value n, kern_value c)
{
    const kern_attr gate = {.act = {.fn = KERN_FN_SILU_INTEGRAL}};
    const kern_attr down = {.linear = {.alpha = alpha}};
    char name[MODEL_PARAM_NAME / 2];
    kern_value weights[3];
    static const char *const words[] = {"w_gate", "w_up", "w_down"};
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "%s.%s", prefix, words[i]);
        weights[i] = model_layer_param(b, layer, name);
    }
    const kern_value pair[] = {model_build_linear(b, n, weights[0], KERN_NO_VALUE, KERN_NO_VALUE),
                               model_build_linear(b, n, weights[1], KERN_NO_VALUE, KERN_NO_VALUE)};
    const kern_value u = kern_graph_apply(b->graph, KERN_OP_ACT_GATE, &gate, pair, NULL);
    const kern_value in[] = {u, weights[2], KERN_NO_VALUE, c};
    return kern_graph_apply(b->graph, KERN_OP_LINEAR, &down, in, NULL);
}
