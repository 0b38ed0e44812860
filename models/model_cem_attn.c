/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The interaction energy: attention whose values are its keys and whose readout is its queries'
 * projection.
 */
#include "models/model_cem.h"

#include <math.h>

static kern_status cem_attn_params(model_params *params, const model_config *c, size_t layer,
                                   kern_error *err)
{
    const size_t d = c->n_embed;
    const size_t wide = model_config_attention_width(c);
    const model_layer_tensor tensors[] = {{.name = "norm1", .cols = d, .constant = 1},
                                          {.name = "attn.wq", .rows = wide, .cols = d},
                                          {.name = "attn.wk", .rows = wide, .cols = d}};
    const model_layer_tensor diagonals[] = {[MODEL_DIAG_SHARED] = {.name = "attn.diag", .cols = d},
                                            [MODEL_DIAG_NONE] = {.name = NULL},
                                            [MODEL_DIAG_PER_HEAD] = {.name = "attn.diag",
                                                                     .rows = c->n_head,
                                                                     .cols = d,
                                                                     .constant_matrix = true,
                                                                     .undecayed = true}};
    KERN_TRY(model_layer_add(params, layer, tensors, sizeof tensors / sizeof *tensors, err));
    if (c->cem.diag != MODEL_DIAG_NONE) {
        KERN_TRY(model_layer_add(params, layer, &diagonals[c->cem.diag], 1, err));
    }
    return model_cem_add_step(params, c, layer, &model_cem_interaction, err);
}

/* Keys of the whole history. Under exact rotary positions the turned keys are also what is mixed.
 */
static model_cem_history interaction_history(model_builder *b, size_t layer, kern_value c)
{
    const kern_value w = model_layer_param(b, layer, "attn.wk");
    const kern_value keys = model_build_linear(b, c, w, KERN_NO_VALUE, KERN_NO_VALUE);
    const bool plain = b->config->rope == MODEL_ROPE_PLAIN;
    return (model_cem_history){.c = c,
                               .keys = model_layer_turn(b, keys, b->config->n_head, false),
                               .values = plain ? keys : KERN_NO_VALUE};
}

/* u ⊙ d, one part per head where every head has its own. */
static kern_value scale_query(model_builder *b, kern_value u, kern_value diag)
{
    const kern_attr attr = {.head_gain = {.heads = b->config->n_head}};
    if (b->config->cem.diag == MODEL_DIAG_PER_HEAD) {
        return kern_graph_apply(b->graph, KERN_OP_HEAD_GAIN, &attr, (const kern_value[]){u, diag},
                                NULL);
    }
    return model_build_affine(b, KERN_NO_VALUE, u, KERN_NO_VALUE, diag,
                              (kern_affine_attr){.scale = 1.0, .power = 1});
}

/* What the diagonal adds to the gradient: d ⊙ m, summed over heads where each has its own. */
static void add_diagonal(model_builder *b, model_cem_force *f, kern_value mix, kern_value diag)
{
    const kern_attr attr = {.head_gain = {.heads = b->config->n_head, .fold = true}};
    if (b->config->cem.diag == MODEL_DIAG_PER_HEAD) {
        f->extra = kern_graph_apply(b->graph, KERN_OP_HEAD_GAIN, &attr,
                                    (const kern_value[]){mix, diag}, NULL);
    } else {
        f->extra = mix;
        f->gain = diag;
    }
}

/* −τ Σ_k ℓ_k. */
static kern_value interaction_energy(model_builder *b, kern_value lse, double tau)
{
    const kern_attr attr = {.row = {.scale = -tau}};
    return kern_graph_apply(b->graph, KERN_OP_ROW_COMBINE, &attr, &lse, NULL);
}

static model_cem_force interaction_force(model_builder *b, size_t layer,
                                         const model_cem_history *history, kern_value u)
{
    const model_config *c = b->config;
    const double tau = sqrt((double)model_config_head_width(c));
    const kern_attr attr = {
        .attention = {.tokens = b->tokens, .heads = c->n_head, .beta = 1.0 / tau, .scale = 1.0}};
    const kern_value w = model_layer_param(b, layer, "attn.wq");
    const bool with_diag = c->cem.diag != MODEL_DIAG_NONE;
    const kern_value diag = with_diag ? model_layer_param(b, layer, "attn.diag") : KERN_NO_VALUE;
    const kern_value query = model_layer_turn(
        b, model_build_linear(b, u, w, KERN_NO_VALUE, KERN_NO_VALUE), c->n_head, false);
    const kern_value in[] = {query, history->keys, history->values,
                             with_diag ? scale_query(b, u, diag) : KERN_NO_VALUE, history->c};
    kern_value out[KERN_MAX_OUT];
    (void)kern_graph_apply(b->graph, with_diag ? KERN_OP_INTERACTION : KERN_OP_ATTENTION, &attr, in,
                           out);
    model_cem_force f = {
        .row = c->rope == MODEL_ROPE_EXACT ? model_layer_turn(b, out[0], c->n_head, true) : out[0],
        .weight = w,
        .extra = KERN_NO_VALUE,
        .gain = KERN_NO_VALUE,
        .energy = b->energies ? interaction_energy(b, out[1], tau) : KERN_NO_VALUE};
    if (with_diag) {
        add_diagonal(b, &f, out[4], diag);
    }
    return f;
}

const model_cem_energy model_cem_interaction = {.part = MODEL_LAYER_ATTN,
                                                .prefix = "attn",
                                                .norm = "norm1",
                                                .history = interaction_history,
                                                .force = interaction_force};

static kern_value cem_attn_build(model_builder *b, size_t layer, kern_value x)
{
    const size_t steps = b->t_attn != 0 ? b->t_attn : b->config->cem.t_attn;
    return model_cem_build(b, layer, &model_cem_interaction, steps, x);
}

const model_sublayer model_sublayer_cem_attn = {.add_params = cem_attn_params,
                                                .build = cem_attn_build};
