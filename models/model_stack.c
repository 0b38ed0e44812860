/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_stack.h"

static const model_sublayer *const attentions[] = {
    [MODEL_ATTN_LLAMA] = &model_sublayer_llama_attn,
    [MODEL_ATTN_CEM] = &model_sublayer_cem_attn,
};

static const model_sublayer *const feed_forwards[] = {
    [MODEL_FFN_LLAMA] = &model_sublayer_llama_ffn,
    [MODEL_FFN_CEM] = &model_sublayer_cem_ffn,
    [MODEL_FFN_HOURGLASS] = &model_sublayer_hourglass,
};

const model_sublayer *model_sublayer_get(const model_config *config, model_layer_part part)
{
    return part == MODEL_LAYER_ATTN ? attentions[config->attn] : feed_forwards[config->ffn];
}

static kern_status stack_add_params(model_params *params, const model_config *c, kern_error *err)
{
    for (size_t l = 0; l < c->n_layer; l++) {
        for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
            KERN_TRY(model_sublayer_get(c, (model_layer_part)part)->add_params(params, c, l, err));
        }
    }
    return KERN_OK;
}

/* Every part starts a segment of its own: what a layer hands on is kept, what it is made of may be
 * computed again. */
static model_step stack_build_step(model_builder *b, kern_value x, size_t index)
{
    const model_step step = {.state = KERN_NO_VALUE,
                             .g = KERN_NO_VALUE,
                             .sigma = KERN_NO_VALUE,
                             .force = KERN_NO_VALUE,
                             .energy_attn = KERN_NO_VALUE,
                             .energy_ff = KERN_NO_VALUE};
    model_step out = step;
    out.state = model_sublayer_get(b->config, MODEL_LAYER_ATTN)->build(b, index, x);
    kern_graph_begin_segment(b->graph);
    out.state = model_sublayer_get(b->config, MODEL_LAYER_FFN)->build(b, index, out.state);
    return out;
}

const model_family_ops model_family_llama = {.word = "llama",
                                             .outer = &model_outer_stack,
                                             .add_params = stack_add_params,
                                             .build_step = stack_build_step};

const model_family_ops model_family_cem = {.word = "cem",
                                           .outer = &model_outer_stack,
                                           .add_params = stack_add_params,
                                           .build_step = stack_build_step};

const model_family_ops model_family_hourglass = {.word = "hourglass",
                                                 .outer = &model_outer_stack,
                                                 .add_params = stack_add_params,
                                                 .build_step = stack_build_step};
