/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The elementwise energy: a gated feed-forward part whose readout is one of its projections.
 */
#include "models/model_cem.h"

static kern_status cem_mlp_params(model_params *params, const model_config *c, size_t layer,
                                  kern_error *err)
{
    const size_t d = c->n_embed;
    const model_layer_tensor tensors[] = {{.name = "norm2", .cols = d, .constant = 1},
                                          {.name = "mlp.wu", .rows = c->n_hidden, .cols = d},
                                          {.name = "mlp.wg", .rows = c->n_hidden, .cols = d}};
    KERN_TRY(model_layer_add(params, layer, tensors, sizeof tensors / sizeof *tensors, err));
    return model_cem_add_step(params, c, layer, &model_cem_elementwise, err);
}

/* The gate before its nonlinearity. */
static model_cem_history elementwise_history(model_builder *b, size_t layer, kern_value c)
{
    const kern_value w = model_layer_param(b, layer, "mlp.wg");
    return (model_cem_history){.c = c,
                               .keys = model_build_linear(b, c, w, KERN_NO_VALUE, KERN_NO_VALUE),
                               .values = KERN_NO_VALUE};
}

static kern_value dot(model_builder *b, kern_value x, kern_value y, double scale)
{
    const kern_attr attr = {.row = {.scale = scale}};
    return kern_graph_apply(b->graph, KERN_OP_ROW_DOT, &attr, (const kern_value[]){x, y}, NULL);
}

/* A: r = σ(z) ⊙ g, ε = −g·Φ(z);   B: r = σ(g) ⊙ z, ε = −½ r·z. */
static model_cem_force elementwise_force(model_builder *b, size_t layer,
                                         const model_cem_history *history, kern_value u)
{
    const kern_attr silu = {.act = {.fn = KERN_FN_SILU_INTEGRAL}};
    const bool form_a = b->config->cem.mlp == MODEL_MLP_A;
    const kern_value w = model_layer_param(b, layer, "mlp.wu");
    const kern_value z = model_build_linear(b, u, w, KERN_NO_VALUE, KERN_NO_VALUE);
    const kern_value g = history->keys;
    const kern_value pair[] = {form_a ? z : g, form_a ? g : z};
    const kern_value r = kern_graph_apply(b->graph, KERN_OP_ACT_GATE, &silu, pair, NULL);
    model_cem_force f = {.row = r,
                         .weight = w,
                         .extra = KERN_NO_VALUE,
                         .gain = KERN_NO_VALUE,
                         .energy = KERN_NO_VALUE};
    if (b->energies) {
        f.energy = form_a
                       ? dot(b, g, kern_graph_apply(b->graph, KERN_OP_ACT, &silu, &z, NULL), -1.0)
                       : dot(b, r, z, -0.5);
    }
    return f;
}

const model_cem_energy model_cem_elementwise = {.part = MODEL_LAYER_FFN,
                                                .prefix = "mlp",
                                                .norm = "norm2",
                                                .history = elementwise_history,
                                                .force = elementwise_force};

static kern_value cem_mlp_build(model_builder *b, size_t layer, kern_value x)
{
    const size_t steps = b->t_mlp != 0 ? b->t_mlp : b->config->cem.t_mlp;
    return model_cem_build(b, layer, &model_cem_elementwise, steps, x);
}

const model_sublayer model_sublayer_cem_ffn = {.add_params = cem_mlp_params,
                                               .build = cem_mlp_build};
