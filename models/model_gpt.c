/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The baselines GPT (distinct blocks), GPT-Rec (one block applied n_layer times) and
 * GPT-Rec-parallel (attention and feed-forward read the same x). Pre-norm, causal softmax attention
 * with 1/√d, ReLU, as in the code published with NRGPT.
 */
#include "models/model_family.h"

#include <math.h>
#include <stdio.h>

typedef struct block_name {
    char text[MODEL_PARAM_NAME];
} block_name;

/* "blocks.<index>.<rest>", or "blocks.<rest>" for a recurrent model. */
static block_name name_in_block(const model_config *c, size_t index, const char *rest)
{
    block_name name;
    if (c->recurrent) {
        (void)snprintf(name.text, sizeof name.text, "blocks.%s", rest);
    } else {
        (void)snprintf(name.text, sizeof name.text, "blocks.%zu.%s", index, rest);
    }
    return name;
}

static size_t head_width(const model_config *c)
{
    return c->n_embed / c->n_head;
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* A tensor of block `index`: a Gaussian matrix, or a constant vector when rows is 0. */
typedef struct block_tensor {
    const char *name;
    size_t rows;
    size_t cols;
    double constant;
} block_tensor;

static kern_status add_tensor(model_params *params, const model_config *c, size_t index,
                              block_tensor t, kern_error *err)
{
    const bool is_matrix = t.rows > 0;
    model_param row = {.rank = is_matrix ? 2 : 1,
                       .rows = is_matrix ? t.rows : 1,
                       .cols = t.cols,
                       .init = is_matrix ? MODEL_INIT_NORMAL : MODEL_INIT_CONSTANT,
                       .value = is_matrix ? 0.02 : t.constant,
                       .trained = true};
    const block_name name = name_in_block(c, index, t.name);
    (void)snprintf(row.name, sizeof row.name, "%s", name.text);
    return model_params_add(params, &row, NULL, err);
}

static kern_status add_heads(model_params *params, const model_config *c, size_t index,
                             const char *word, kern_error *err)
{
    model_params_begin_stack(params);
    for (size_t h = 0; h < c->n_head; h++) {
        char rest[MODEL_PARAM_NAME / 2];
        (void)snprintf(rest, sizeof rest, "sa.heads.%zu.%s.weight", h, word);
        const block_tensor t = {.name = rest, .rows = head_width(c), .cols = c->n_embed};
        KERN_TRY(add_tensor(params, c, index, t, err));
    }
    model_params_end_stack(params);
    return KERN_OK;
}

static kern_status add_block(model_params *params, const model_config *c, size_t index,
                             kern_error *err)
{
    const size_t d = c->n_embed;
    const size_t m = c->ff_hid_factor * d;
    const block_tensor rest[] = {
        {"sa.proj.weight", d, head_width(c) * c->n_head, 0},
        {"sa.proj.bias", 0, d, 0},
        {"ffwd.net.0.weight", m, d, 0},
        {"ffwd.net.0.bias", 0, m, 0},
        {"ffwd.net.2.weight", d, m, 0},
        {"ffwd.net.2.bias", 0, d, 0},
        {"ln1.weight", 0, d, 1},
        {"ln1.bias", 0, d, 0},
        {"ln2.weight", 0, d, 1},
        {"ln2.bias", 0, d, 0},
    };
    KERN_TRY(add_heads(params, c, index, "key", err));
    KERN_TRY(add_heads(params, c, index, "query", err));
    KERN_TRY(add_heads(params, c, index, "value", err));
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        KERN_TRY(add_tensor(params, c, index, rest[i], err));
    }
    return KERN_OK;
}

static kern_status gpt_add_params(model_params *params, const model_config *c, kern_error *err)
{
    const size_t blocks = c->recurrent ? 1 : c->n_layer;
    for (size_t l = 0; l < blocks; l++) {
        KERN_TRY(add_block(params, c, l, err));
    }
    return KERN_OK;
}

/* ---- graph ---------------------------------------------------------------------------------- */

static kern_value block_param(model_builder *b, size_t index, const char *rest)
{
    const block_name name = name_in_block(b->config, index, rest);
    return model_build_param(b, name.text);
}

static kern_value head_stack(model_builder *b, size_t index, const char *rest)
{
    const block_name name = name_in_block(b->config, index, rest);
    return model_build_stack(b, name.text, b->config->n_head);
}

static kern_value block_norm(model_builder *b, kern_value x, size_t index, const char *weight,
                             const char *bias)
{
    const block_name w = name_in_block(b->config, index, weight);
    const block_name v = name_in_block(b->config, index, bias);
    const kern_norm_attr attr = {.kind = KERN_LAYERNORM, .epsilon = b->config->norm_eps};
    return model_build_norm(b, x, w.text, v.text, attr, NULL);
}

/* c + dropout(x W ᵀ + bias); without dropout the sum is part of the product. */
static kern_value project(model_builder *b, kern_value x, kern_value w, kern_value bias,
                          kern_value c)
{
    if (b->config->dropout <= 0.0) {
        return model_build_linear(b, x, w, bias, c);
    }
    const kern_value y = model_build_linear(b, x, w, bias, KERN_NO_VALUE);
    return model_build_affine(b, c, model_build_dropout(b, y), KERN_NO_VALUE, KERN_NO_VALUE,
                              (kern_affine_attr){.scale = 1.0, .power = 1});
}

/* c + SA(g). */
static kern_value add_attention(model_builder *b, kern_value g, kern_value c, size_t index)
{
    const model_config *config = b->config;
    const kern_attr attr = {.attention = {.tokens = b->tokens,
                                          .heads = config->n_head,
                                          .beta = 1.0 / sqrt((double)head_width(config)),
                                          .scale = 1.0,
                                          .dropout = config->dropout,
                                          .salt = config->dropout > 0.0 ? b->salt++ : 0}};
    const char *const names[] = {"sa.heads.0.query.weight", "sa.heads.0.key.weight",
                                 "sa.heads.0.value.weight"};
    kern_value qkv[3];
    for (size_t i = 0; i < 3; i++) {
        qkv[i] =
            model_build_linear(b, g, head_stack(b, index, names[i]), KERN_NO_VALUE, KERN_NO_VALUE);
    }
    const kern_value mixed = kern_graph_apply(b->graph, KERN_OP_ATTENTION, &attr, qkv, NULL);
    return project(b, mixed, block_param(b, index, "sa.proj.weight"),
                   block_param(b, index, "sa.proj.bias"), c);
}

/* c + FF(g). */
static kern_value add_ff(model_builder *b, kern_value g, kern_value c, size_t index)
{
    const kern_attr relu = {.act = {.fn = KERN_FN_RELU}};
    const kern_value z =
        model_build_linear(b, g, block_param(b, index, "ffwd.net.0.weight"),
                           block_param(b, index, "ffwd.net.0.bias"), KERN_NO_VALUE);
    const kern_value a = kern_graph_apply(b->graph, KERN_OP_ACT, &relu, &z, NULL);
    return project(b, a, block_param(b, index, "ffwd.net.2.weight"),
                   block_param(b, index, "ffwd.net.2.bias"), c);
}

static model_step gpt_build_step(model_builder *b, kern_value x, size_t index)
{
    model_step step = {.g = KERN_NO_VALUE,
                       .sigma = KERN_NO_VALUE,
                       .force = KERN_NO_VALUE,
                       .energy_attn = KERN_NO_VALUE,
                       .energy_ff = KERN_NO_VALUE};
    const kern_value g1 = block_norm(b, x, index, "ln1.weight", "ln1.bias");
    const kern_value attended = add_attention(b, g1, x, index);
    const kern_value source = b->config->parallel ? x : attended;
    const kern_value g2 = block_norm(b, source, index, "ln2.weight", "ln2.bias");
    step.state = add_ff(b, g2, attended, index);
    return step;
}

const model_family_ops model_family_gpt = {
    .word = "gpt",
    .outer = &model_outer_gpt,
    .add_params = gpt_add_params,
    .build_step = gpt_build_step,
};
