/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Stacks of distinct pre-norm layers: x ← attention(x), x ← feed-forward(x), each with its residual
 * connection inside. Attention and feed-forward part are chosen separately, from one table each.
 *
 * Parameters of layer l are named layers.l.NAME: norm1, attn.wq, attn.wk, then attn.wv and attn.wo
 * of a Llama (and attn.q_norm, attn.k_norm with qk_norm) or attn.diag of CEM; norm2; mlp.w_gate,
 * mlp.w_up and mlp.w_down of a Llama, mlp.wu (tied, nonlinear under form A) and mlp.wg (gate) of
 * CEM, hg.k.norm, hg.k.w_gate, hg.k.w_up and hg.k.w_down of an hourglass; attn.p_delta, p_u, p_v
 * and attn.eta of a CEM step, and mlp.* of the same. There are no biases and no table of positions.
 * For the rooms models/ and its tests.
 */
#ifndef BASIN_MODEL_STACK_H
#define BASIN_MODEL_STACK_H

#include "models/model_family.h"

/* Angles of rotary positions are p·base^(−2i/d). */
#define MODEL_ROPE_BASE 10000.0

/* A part of a layer: its parameters, and what it makes of the rows x. */
typedef struct model_sublayer {
    kern_status (*add_params)(model_params *params, const model_config *config, size_t layer,
                              kern_error *err);
    kern_value (*build)(model_builder *b, size_t layer, kern_value x);
} model_sublayer;

extern const model_sublayer model_sublayer_llama_attn;
extern const model_sublayer model_sublayer_llama_ffn;
extern const model_sublayer model_sublayer_cem_attn;
extern const model_sublayer model_sublayer_cem_ffn;
extern const model_sublayer model_sublayer_hourglass;

/* The one that a configuration names. */
const model_sublayer *model_sublayer_get(const model_config *config, model_layer_part part);

/* ---- what the parts are made with --------------------------------------------------------------
 */

/* A tensor of a layer: a matrix, or a vector when rows is 0. Matrices start Gaussian with deviation
 * 0.02, vectors constant. */
typedef struct model_layer_tensor {
    const char *name; /* behind "layers.l." */
    size_t rows;
    size_t cols;
    double constant;
    double deviation;     /* of a Gaussian matrix; 0: 0.02 */
    bool constant_matrix; /* a matrix that starts at `constant` */
    bool undecayed;       /* a matrix that weight decay leaves alone */
} model_layer_tensor;

kern_status model_layer_add(model_params *params, size_t layer, const model_layer_tensor *tensors,
                            size_t count, kern_error *err);

/* Deviation of a matrix out of D numbers into a part, and of one out of its `units` hidden units
 * back; 0 where the configuration has constant ones. */
double model_layer_deviation_in(const model_config *config);
double model_layer_deviation_out(const model_config *config, size_t units);

kern_value model_layer_param(model_builder *b, size_t layer, const char *name);

/* RMSNorm of x with the gain `name`, or without one when NULL. */
kern_value model_layer_norm(model_builder *b, size_t layer, const char *name, kern_value x);

/* x with every head turned by its position, or back; x itself without rotary positions. */
kern_value model_layer_turn(model_builder *b, kern_value x, size_t heads, bool inverse);

/* Appends an iterate, and its energy or KERN_NO_VALUE, to the trace of a part, where one is kept.
 */
void model_layer_record(model_builder *b, model_layer_part part, kern_value x, kern_value energy);

/* c + α W_down (silu(W_gate n) ⊙ W_up n), the three matrices named PREFIX.w_gate and so on; without
 * c the product alone. */
kern_value model_layer_swiglu(model_builder *b, size_t layer, const char *prefix, double alpha,
                              kern_value n, kern_value c);

/* Adds those three, for `hidden` units. */
kern_status model_layer_add_swiglu(model_params *params, const model_config *config, size_t layer,
                                   const char *prefix, size_t hidden, kern_error *err);

#endif
