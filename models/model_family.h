/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A family of models: its parameters, and one step (or block) as graph operations. The table of
 * families is the only place that knows them all.
 */
#ifndef BASIN_MODEL_FAMILY_H
#define BASIN_MODEL_FAMILY_H

#include "kernels/kern_graph.h"
#include "models/model_config.h"
#include "models/model_params.h"

/* What a step leaves behind; KERN_NO_VALUE where a family or an option has no such thing. Rows are
 * tokens. */
typedef struct model_step {
    kern_value state;       /* x after the step, rows × D */
    kern_value g;           /* normalised state before the step, rows × D */
    kern_value sigma;       /* the norm's denominator, rows × 1 */
    kern_value force;       /* −∂E/∂g as the update follows it, rows × D */
    kern_value energy_attn; /* E_AT at g, rows × 1 */
    kern_value energy_ff;   /* E_FF at g, without s, rows × 1 */
} model_step;

/* The two parts of a layer. */
typedef enum model_layer_part {
    MODEL_LAYER_ATTN,
    MODEL_LAYER_FFN,
    MODEL_LAYER_PARTS
} model_layer_part;

/* One part of one layer as an iteration: what it went through. Absent in families whose block has
 * no parts of that kind. */
typedef struct model_inner {
    size_t count;       /* entries: T + 1 iterates of CEM, the K inputs of an hourglass; 0: none */
    size_t room;        /* of the arrays, which the graph owns */
    kern_value *x;      /* iterates, rows × D */
    kern_value *energy; /* conditional energies there, rows × 1, or KERN_NO_VALUE */
} model_inner;

/* Where a step is built. */
typedef struct model_builder {
    kern_graph *graph;
    const model_config *config;
    const model_params *params;
    size_t batch;
    size_t tokens;
    bool energies; /* build the energies too */
    uint64_t salt; /* distinguishes dropout nodes; advanced by each */
    /* Steps of CEM sub-layers; 0: as configured. */
    size_t t_attn;
    size_t t_mlp;
    size_t inner_attn; /* steps of theirs that `inner` shows; 0: all that are taken */
    size_t inner_mlp;
    model_inner *inner; /* MODEL_LAYER_PARTS entries of the layer being built, or NULL */
    /* Of NRGPT: rows are states of one token, each for itself, that sees the keys `held` of its
     * prefix (KERN_NO_VALUE: it is the first) and its own. */
    bool alone;
    kern_value held;
} model_builder;

/* Keys of NRGPT's attention at states x, rows × H·width: what tokens after them see. */
kern_value model_nrgpt_keys(model_builder *b, kern_value x);

/* Tensors outside the blocks; NULL where a family has none. */
typedef struct model_outer {
    const char *embedding;
    const char *position;
    const char *norm_gain;
    const char *norm_bias;
    const char *head;
    const char *head_bias;
    kern_norm_kind norm;
} model_outer;

extern const model_outer model_outer_gpt;   /* embeddings, LayerNorm and biases of GPT and NRGPT */
extern const model_outer model_outer_stack; /* embedding, RMSNorm and head of a stack */

typedef struct model_family_ops {
    const char *word; /* in file metadata */
    const model_outer *outer;
    /* Adds the parameters between the embedding and the final norm. */
    kern_status (*add_params)(model_params *params, const model_config *config, kern_error *err);
    /* Applies step (or block) number `index` to `x`. */
    model_step (*build_step)(model_builder *b, kern_value x, size_t index);
    /* Energy and force as functions of g; NULL for families without an energy. */
    model_step (*build_energy)(model_builder *b, kern_value g);
} model_family_ops;

extern const model_family_ops model_family_nrgpt;
extern const model_family_ops model_family_gpt;
extern const model_family_ops model_family_llama;
extern const model_family_ops model_family_cem;
extern const model_family_ops model_family_hourglass;

const model_family_ops *model_family_get(model_family family);

/* Name of the readout's weights: that of the embedding when the configuration ties them. */
const char *model_family_head(const model_config *config);

/* Family whose word is `word` into *out; false when there is none. */
bool model_family_find(const char *word, model_family *out);

/* The parameter named `name` (printf style) as a graph value of its own shape. Fails in the graph's
 * sticky status when the table has no such row. */
kern_value model_build_param(model_builder *b, const char *name);

/* `count` equal tensors that start at `name` and follow each other, as one matrix (count·rows) ×
 * cols. */
kern_value model_build_stack(model_builder *b, const char *name, size_t count);

/* y = c + α x op(W) + bias; KERN_NO_VALUE for absent bias or c. */
kern_value model_build_linear(model_builder *b, kern_value x, kern_value w, kern_value bias,
                              kern_value c);
/* The same with W plain (x W). */
kern_value model_build_linear_plain(model_builder *b, kern_value x, kern_value w, kern_value c);

/* a + scale · s^power · (f ⊙ γ). */
kern_value model_build_affine(model_builder *b, kern_value a, kern_value f, kern_value s,
                              kern_value gamma, kern_affine_attr affine);

/* Dropout with the configuration's probability; x itself when that is zero. */
kern_value model_build_dropout(model_builder *b, kern_value x);

/* Norm; weight, bias and sigma may be NULL. */
kern_value model_build_norm(model_builder *b, kern_value x, const char *weight, const char *bias,
                            kern_norm_attr norm, kern_value *sigma);

#endif
