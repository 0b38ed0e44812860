/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NRGPT (Dehmamy et al. 2025, arXiv 2512.16762): one block, applied n_layer times,
 *   g = norm(x),   x' = x − η ∂E/∂g,   E_A = E^AT_A + s E^FF_A.
 *
 * The code follows the force f = −∂E/∂g, so every product has a positive sign:
 *   attention   E^AT = −(α/β) Σ_h log Σ_B exp(β g_Bᵀ J_h g_A),  f += α Σ_h Σ_B p^h_AB J_hᵀ g_B
 *   exact self  (only under the inclusive mask)                 f += α Σ_h p^h_AA J_h g_A
 *   FF1         E = −‖σ(z)‖², z = Wg + b,                       f += 2 s Wᵀ(σσ′)(z)
 *   FF2         E = −‖σ(z_b)‖²,             f += 2 s W_aᵀ[σ′(z_a) ⊙ W_bᵀ(σσ′)(z_b)]
 *   FF2W        E = −gᵀ(W₂σ(z) + b₂),       f += s(W₂σ(z) + b₂ + W₁ᵀ[σ′(z) ⊙ W₂ᵀg])
 * A head is a full D×D matrix H_h (J_h = H_hᵀ), or J_h = K_hᵀQ_h of rank r.
 */
#include "models/model_family.h"

#include <stdio.h>

/* ---- parameters ----------------------------------------------------------------------------- */

static model_param matrix(const char *name, size_t rows, size_t cols)
{
    model_param p = {.rank = 2,
                     .rows = rows,
                     .cols = cols,
                     .init = MODEL_INIT_NORMAL,
                     .value = 0.02,
                     .trained = true};
    (void)snprintf(p.name, sizeof p.name, "%s", name);
    return p;
}

static model_param vector(const char *name, size_t cols, double value, bool trained)
{
    model_param p = {.rank = 1,
                     .rows = 1,
                     .cols = cols,
                     .init = MODEL_INIT_CONSTANT,
                     .value = value,
                     .trained = trained};
    (void)snprintf(p.name, sizeof p.name, "%s", name);
    return p;
}

static kern_status add(model_params *params, model_param row, kern_error *err)
{
    return model_params_add(params, &row, NULL, err);
}

/* One tensor per head and letter, the heads of a letter stacked. */
static kern_status add_heads(model_params *params, const model_config *c, const char *letter,
                             size_t rows, kern_error *err)
{
    model_params_begin_stack(params);
    for (size_t h = 0; h < c->n_head; h++) {
        char name[MODEL_PARAM_NAME];
        (void)snprintf(name, sizeof name, "blocks.attn.heads.%zu.%s.weight", h, letter);
        KERN_TRY(add(params, matrix(name, rows, c->n_embed), err));
    }
    model_params_end_stack(params);
    return KERN_OK;
}

static kern_status add_attention(model_params *params, const model_config *c, kern_error *err)
{
    if (c->rank == 0) {
        return add_heads(params, c, "H", c->n_embed, err);
    }
    KERN_TRY(add_heads(params, c, "K", c->rank, err));
    return add_heads(params, c, "Q", c->rank, err);
}

static kern_status add_ff(model_params *params, const model_config *c, kern_error *err)
{
    const size_t d = c->n_embed;
    const size_t m = c->ff_hid_factor * d;
    const size_t first = c->ff == MODEL_FF2 ? d : m;
    KERN_TRY(add(params, matrix("blocks.ffwd.net.0.weight", first, d), err));
    KERN_TRY(add(params, vector("blocks.ffwd.net.0.bias", first, 0.0, true), err));
    if (c->ff == MODEL_FF1) {
        return KERN_OK;
    }
    const size_t second = c->ff == MODEL_FF2 ? m : d;
    KERN_TRY(add(params, matrix("blocks.ffwd.net.2.weight", second, first), err));
    return add(params, vector("blocks.ffwd.net.2.bias", second, 0.0, true), err);
}

static kern_status add_eta(model_params *params, const model_config *c, kern_error *err)
{
    const size_t d = c->n_embed;
    switch (c->eta) {
    case MODEL_ETA_FULL:
        return add(params, matrix("blocks.proj.weight", d, d), err);
    case MODEL_ETA_GAMMA:
    case MODEL_ETA_SCALAR:
    case MODEL_ETA_SQUARE:
        return add(params, vector("blocks.eta", 1, c->eta_init, true), err);
    case MODEL_ETA_PSD:
        return add(params, matrix("blocks.eta_s.weight", d, d), err);
    case MODEL_ETA_PSD_SKEW:
        KERN_TRY(add(params, matrix("blocks.eta_s.weight", d, d), err));
        return add(params, matrix("blocks.eta_a.weight", d, d), err);
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "the form of η is outside its list");
}

static kern_status nrgpt_add_params(model_params *params, const model_config *c, kern_error *err)
{
    KERN_TRY(add_attention(params, c, err));
    KERN_TRY(add_ff(params, c, err));
    KERN_TRY(add(params, vector("blocks.ln.weight", c->n_embed, 1.0, c->gamma_trained), err));
    KERN_TRY(add(params, vector("blocks.ln.bias", c->n_embed, 0.0, true), err));
    KERN_TRY(add_eta(params, c, err));
    return add(params, vector("blocks.scale_ff", 1, 1.0, true), err);
}

/* ---- attention ------------------------------------------------------------------------------ */

static kern_attr attention_attr(model_builder *b)
{
    const model_config *c = b->config;
    const bool full = c->rank == 0;
    return (kern_attr){.attention = {.tokens = b->tokens,
                                     .heads = c->n_head,
                                     .strict = c->strict_mask,
                                     .shared_query = full,
                                     .sum_heads = full,
                                     .beta = c->beta,
                                     .scale = c->alpha,
                                     .dropout = c->dropout,
                                     .salt = c->dropout > 0.0 ? b->salt++ : 0}};
}

/* α Σ_h p_AA J_h g_A: the part of ∂E_A/∂g_A that comes from the token as its own context. */
static kern_value self_force(model_builder *b, kern_value query, kern_value diagonal,
                             kern_value keys, kern_value force)
{
    const kern_attr attr = {.head_scale = {.heads = b->config->n_head,
                                           .shared_query = b->config->rank == 0,
                                           .scale = b->config->alpha}};
    const kern_value in[] = {diagonal, query};
    const kern_value scaled = kern_graph_apply(b->graph, KERN_OP_HEAD_SCALE, &attr, in, NULL);
    return model_build_linear_plain(b, scaled, keys, force);
}

static kern_value attention_energy(model_builder *b, kern_value lse)
{
    const kern_attr attr = {.row = {.scale = -b->config->alpha / b->config->beta}};
    return kern_graph_apply(b->graph, KERN_OP_ROW_COMBINE, &attr, &lse, NULL);
}

/* Weights of the keys, the heads stacked. */
static kern_value key_weights(model_builder *b)
{
    const bool full = b->config->rank == 0;
    const char *name = full ? "blocks.attn.heads.0.H.weight" : "blocks.attn.heads.0.K.weight";
    return model_build_stack(b, name, b->config->n_head);
}

static kern_value attention_force(model_builder *b, kern_value g, kern_value *energy)
{
    const model_config *c = b->config;
    const bool full = c->rank == 0;
    const kern_value w_key = key_weights(b);
    kern_value w_query = KERN_NO_VALUE;
    kern_value query = g;
    if (!full) {
        w_query = model_build_stack(b, "blocks.attn.heads.0.Q.weight", c->n_head);
        query = model_build_linear(b, g, w_query, KERN_NO_VALUE, KERN_NO_VALUE);
    }
    const kern_value keys = model_build_linear(b, g, w_key, KERN_NO_VALUE, KERN_NO_VALUE);
    const kern_attr attr = attention_attr(b);
    const kern_value in[] = {query, keys, b->alone ? b->held : KERN_NO_VALUE};
    kern_value out[KERN_MAX_OUT];
    kern_value force =
        kern_graph_apply(b->graph, b->alone ? KERN_OP_CONTEXT : KERN_OP_ATTENTION, &attr, in, out);
    if (!full) {
        force = model_build_linear_plain(b, force, w_query, KERN_NO_VALUE);
    }
    if (c->update == MODEL_UPDATE_EXACT && !c->strict_mask) {
        force = self_force(b, query, out[2], w_key, force);
    }
    if (b->energies) {
        *energy = attention_energy(b, out[1]);
    }
    return model_build_dropout(b, force);
}

/* ---- feed-forward --------------------------------------------------------------------------- */

static const kern_fn act_functions[] = {
    [MODEL_GELU] = KERN_FN_GELU,
    [MODEL_RELU] = KERN_FN_RELU,
    [MODEL_SOFTPLUS] = KERN_FN_SOFTPLUS,
};

static kern_value apply_act(model_builder *b, kern_op_id op, kern_value z, kern_value other,
                            kern_value *out)
{
    const kern_attr attr = {.act = {.fn = act_functions[b->config->activation]}};
    const kern_value in[] = {z, other};
    return kern_graph_apply(b->graph, op, &attr, in, out);
}

/* −|f(z)|² per token. */
static kern_value square_energy(model_builder *b, kern_value z)
{
    const kern_attr attr = {.row = {.scale = -1.0}};
    const kern_value a = apply_act(b, KERN_OP_ACT, z, KERN_NO_VALUE, NULL);
    return kern_graph_apply(b->graph, KERN_OP_ROW_SUMSQ, &attr, &a, NULL);
}

/* A feed-forward energy: the direction and its scale (force = scale · s · direction). */
typedef struct ff_force {
    kern_value direction;
    double scale;
    kern_value energy;
} ff_force;

static ff_force build_ff1(model_builder *b, kern_value g)
{
    const kern_value w = model_build_param(b, "blocks.ffwd.net.0.weight");
    const kern_value bias = model_build_param(b, "blocks.ffwd.net.0.bias");
    const kern_value z = model_build_linear(b, g, w, bias, KERN_NO_VALUE);
    const kern_value u = apply_act(b, KERN_OP_ACT_ENERGY, z, KERN_NO_VALUE, NULL);
    return (ff_force){.direction = model_build_linear_plain(b, u, w, KERN_NO_VALUE),
                      .scale = 2.0,
                      .energy = b->energies ? square_energy(b, z) : KERN_NO_VALUE};
}

static ff_force build_ff2(model_builder *b, kern_value g)
{
    const kern_value wa = model_build_param(b, "blocks.ffwd.net.0.weight");
    const kern_value wb = model_build_param(b, "blocks.ffwd.net.2.weight");
    const kern_value za =
        model_build_linear(b, g, wa, model_build_param(b, "blocks.ffwd.net.0.bias"), KERN_NO_VALUE);
    const kern_value a = apply_act(b, KERN_OP_ACT, za, KERN_NO_VALUE, NULL);
    const kern_value zb =
        model_build_linear(b, a, wb, model_build_param(b, "blocks.ffwd.net.2.bias"), KERN_NO_VALUE);
    const kern_value u = apply_act(b, KERN_OP_ACT_ENERGY, zb, KERN_NO_VALUE, NULL);
    const kern_value t = model_build_linear_plain(b, u, wb, KERN_NO_VALUE);
    const kern_value r = apply_act(b, KERN_OP_ACT_GATE, za, t, NULL);
    return (ff_force){.direction = model_build_linear_plain(b, r, wa, KERN_NO_VALUE),
                      .scale = 2.0,
                      .energy = b->energies ? square_energy(b, zb) : KERN_NO_VALUE};
}

/* −g·(W₂a + b₂) per token. */
static kern_value bilinear_energy(model_builder *b, kern_value g, kern_value y)
{
    const kern_attr attr = {.row = {.scale = -1.0}};
    const kern_value in[] = {g, y};
    return kern_graph_apply(b->graph, KERN_OP_ROW_DOT, &attr, in, NULL);
}

static ff_force build_ff2w(model_builder *b, kern_value g)
{
    const kern_value w1 = model_build_param(b, "blocks.ffwd.net.0.weight");
    const kern_value w2 = model_build_param(b, "blocks.ffwd.net.2.weight");
    const kern_value b2 = model_build_param(b, "blocks.ffwd.net.2.bias");
    const kern_value z =
        model_build_linear(b, g, w1, model_build_param(b, "blocks.ffwd.net.0.bias"), KERN_NO_VALUE);
    const kern_value p = model_build_linear_plain(b, g, w2, KERN_NO_VALUE);
    kern_value out[KERN_MAX_OUT];
    const kern_value a = apply_act(b, KERN_OP_ACT_PAIR, z, p, out);
    const kern_value y = model_build_linear(b, a, w2, b2, KERN_NO_VALUE);
    return (ff_force){.direction = model_build_linear_plain(b, out[1], w1, y),
                      .scale = 1.0,
                      .energy = b->energies ? bilinear_energy(b, g, y) : KERN_NO_VALUE};
}

typedef ff_force ff_builder(model_builder *b, kern_value g);

static ff_builder *const ff_builders[] = {
    [MODEL_FF1] = build_ff1,
    [MODEL_FF2] = build_ff2,
    [MODEL_FF2W] = build_ff2w,
};

/* ---- step ----------------------------------------------------------------------------------- */

static model_step nrgpt_build_energy(model_builder *b, kern_value g)
{
    model_step step = {.state = KERN_NO_VALUE,
                       .g = g,
                       .sigma = KERN_NO_VALUE,
                       .energy_attn = KERN_NO_VALUE,
                       .energy_ff = KERN_NO_VALUE};
    const kern_value attention = attention_force(b, g, &step.energy_attn);
    const ff_force ff = ff_builders[b->config->ff](b, g);
    step.energy_ff = ff.energy;
    step.force =
        model_build_affine(b, attention, ff.direction, model_build_param(b, "blocks.scale_ff"),
                           KERN_NO_VALUE, (kern_affine_attr){.scale = ff.scale, .power = 1});
    return step;
}

/* x + S Sᵀ f + (A − Aᵀ) f. */
static kern_value apply_psd(model_builder *b, kern_value x, kern_value f, bool skew)
{
    const kern_value s = model_build_param(b, "blocks.eta_s.weight");
    const kern_value sf = model_build_linear_plain(b, f, s, KERN_NO_VALUE);
    const kern_value next = model_build_linear(b, sf, s, KERN_NO_VALUE, x);
    if (!skew) {
        return next;
    }
    const kern_value a = model_build_param(b, "blocks.eta_a.weight");
    const kern_attr minus = {.linear = {.plain = true, .alpha = -1.0}};
    const kern_value in[] = {f, a, KERN_NO_VALUE, model_build_linear(b, f, a, KERN_NO_VALUE, next)};
    return kern_graph_apply(b->graph, KERN_OP_LINEAR, &minus, in, NULL);
}

/* x + η f. */
static kern_value apply_eta(model_builder *b, kern_value x, kern_value f)
{
    const kern_affine_attr linear = {.scale = 1.0, .power = 1};
    const kern_affine_attr square = {.scale = 1.0, .power = 2};
    switch (b->config->eta) {
    case MODEL_ETA_GAMMA:
        return model_build_affine(b, x, f, model_build_param(b, "blocks.eta"),
                                  model_build_param(b, "blocks.ln.weight"), linear);
    case MODEL_ETA_SCALAR:
        return model_build_affine(b, x, f, model_build_param(b, "blocks.eta"), KERN_NO_VALUE,
                                  linear);
    case MODEL_ETA_SQUARE:
        return model_build_affine(b, x, f, model_build_param(b, "blocks.eta"), KERN_NO_VALUE,
                                  square);
    case MODEL_ETA_PSD:
        return apply_psd(b, x, f, false);
    case MODEL_ETA_PSD_SKEW:
        return apply_psd(b, x, f, true);
    case MODEL_ETA_FULL:
    default:
        return model_build_linear(b, f, model_build_param(b, "blocks.proj.weight"), KERN_NO_VALUE,
                                  x);
    }
}

static kern_value build_norm(model_builder *b, kern_value x, kern_value *sigma)
{
    const model_config *c = b->config;
    const kern_norm_attr norm = {.kind = c->norm == MODEL_RMSNORM ? KERN_RMSNORM : KERN_LAYERNORM,
                                 .epsilon = c->norm_eps};
    return model_build_norm(b, x, "blocks.ln.weight", "blocks.ln.bias", norm, sigma);
}

kern_value model_nrgpt_keys(model_builder *b, kern_value x)
{
    return model_build_linear(b, build_norm(b, x, NULL), key_weights(b), KERN_NO_VALUE,
                              KERN_NO_VALUE);
}

static model_step nrgpt_build_step(model_builder *b, kern_value x, size_t index)
{
    kern_value sigma;
    (void)index;
    const kern_value g = build_norm(b, x, &sigma);
    model_step step = nrgpt_build_energy(b, g);
    step.sigma = sigma;
    step.state = apply_eta(b, x, step.force);
    return step;
}

const model_family_ops model_family_nrgpt = {
    .word = "nrgpt",
    .outer = &model_outer_gpt,
    .add_params = nrgpt_add_params,
    .build_step = nrgpt_build_step,
    .build_energy = nrgpt_build_energy,
};
