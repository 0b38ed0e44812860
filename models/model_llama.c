/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sub-layers of a Llama (H. Touvron et al., arXiv 2302.13971, 2023):
 *   x + W_o softmax(R q·R k/√d) v,  q, k, v = W n(x),   and   x + W_down(silu(W_gate n) ⊙ W_up n).
 * Queries may share heads of keys and values, and both may go through norms of their own first
 * (qk_norm).
 */
#include "models/model_stack.h"

#include <math.h>

static kern_status llama_attn_params(model_params *params, const model_config *c, size_t layer,
                                     kern_error *err)
{
    const size_t d = c->n_embed;
    const size_t wide = model_config_attention_width(c);
    const size_t kv = model_config_kv_width(c);
    const double in = model_layer_deviation_in(c);
    const double out = model_layer_deviation_out(c, wide);
    const model_layer_tensor tensors[] = {
        {.name = "norm1", .cols = d, .constant = 1},
        {.name = "attn.wq", .rows = wide, .cols = d, .deviation = in},
        {.name = "attn.wk", .rows = kv, .cols = d, .deviation = in},
        {.name = "attn.wv", .rows = kv, .cols = d, .deviation = in},
        {.name = "attn.wo", .rows = d, .cols = wide, .deviation = out}};
    const model_layer_tensor norms[] = {{.name = "attn.q_norm", .cols = wide, .constant = 1},
                                        {.name = "attn.k_norm", .cols = kv, .constant = 1}};
    KERN_TRY(model_layer_add(params, layer, tensors, sizeof tensors / sizeof *tensors, err));
    return c->qk_norm ? model_layer_add(params, layer, norms, 2, err) : KERN_OK;
}

static kern_value project(model_builder *b, size_t layer, const char *name, kern_value n)
{
    return model_build_linear(b, n, model_layer_param(b, layer, name), KERN_NO_VALUE,
                              KERN_NO_VALUE);
}

/* Keys or values for every head, where several share them. */
static kern_value share(model_builder *b, kern_value x, size_t heads)
{
    const kern_attr attr = {.head_repeat = {.heads = heads, .times = b->config->n_head / heads}};
    return heads == b->config->n_head
               ? x
               : kern_graph_apply(b->graph, KERN_OP_HEAD_REPEAT, &attr, &x, NULL);
}

static kern_value llama_attn_build(model_builder *b, size_t layer, kern_value x)
{
    const model_config *c = b->config;
    const size_t width = model_config_head_width(c);
    const size_t kv_heads = model_config_kv_width(c) / width;
    const kern_attr attr = {.attention = {.tokens = b->tokens,
                                          .heads = c->n_head,
                                          .beta = 1.0 / sqrt((double)width),
                                          .scale = 1.0}};
    const kern_value n = model_layer_norm(b, layer, "norm1", x);
    kern_value q = project(b, layer, "attn.wq", n);
    kern_value k = project(b, layer, "attn.wk", n);
    const kern_value v = project(b, layer, "attn.wv", n);
    if (c->qk_norm) {
        q = model_layer_norm(b, layer, "attn.q_norm", q);
        k = model_layer_norm(b, layer, "attn.k_norm", k);
    }
    const kern_value in[] = {model_layer_turn(b, q, c->n_head, false),
                             share(b, model_layer_turn(b, k, kv_heads, false), kv_heads),
                             share(b, v, kv_heads)};
    const kern_value mixed = kern_graph_apply(b->graph, KERN_OP_ATTENTION, &attr, in, NULL);
    return model_build_linear(b, mixed, model_layer_param(b, layer, "attn.wo"), KERN_NO_VALUE, x);
}

const model_sublayer model_sublayer_llama_attn = {.add_params = llama_attn_params,
                                                  .build = llama_attn_build};

static kern_status llama_ffn_params(model_params *params, const model_config *c, size_t layer,
                                    kern_error *err)
{
    const model_layer_tensor norm = {.name = "norm2", .cols = c->n_embed, .constant = 1};
    KERN_TRY(model_layer_add(params, layer, &norm, 1, err));
    return model_layer_add_swiglu(params, c, layer, "mlp", c->n_hidden, err);
}

static kern_value llama_ffn_build(model_builder *b, size_t layer, kern_value x)
{
    const kern_value n = model_layer_norm(b, layer, "norm2", x);
    return model_layer_swiglu(b, layer, "mlp", 1.0, n, x);
}

const model_sublayer model_sublayer_llama_ffn = {.add_params = llama_ffn_params,
                                                 .build = llama_ffn_build};
