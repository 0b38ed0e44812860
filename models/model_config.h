/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Model configuration: everything that fixes a model's equations and shapes.
 *
 * The struct is plain data; the JSON form uses the key names of the published configurations
 * (n_embed, n_head, vocab_size, block_size, ff_hid_factor, n_layer, ff, strict_mask,
 * gamma_trained, recurrent, parallel) and Basin's own names for what those do not have.
 */
#ifndef BASIN_MODEL_CONFIG_H
#define BASIN_MODEL_CONFIG_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum model_family { MODEL_NRGPT, MODEL_GPT } model_family;

/* Feed-forward energies of NRGPT: FF1 −‖f(Wg+b)‖²; FF2 −‖f(W_b f(W_a g+b_a)+b_b)‖²;
 * FF2W −gᵀ(W₂ f(W₁g+b₁)+b₂). */
typedef enum model_ff { MODEL_FF1, MODEL_FF2, MODEL_FF2W } model_ff;

typedef enum model_norm { MODEL_LAYERNORM, MODEL_RMSNORM } model_norm;

/* Nonlinearity f of the feed-forward energy. */
typedef enum model_act { MODEL_GELU, MODEL_RELU, MODEL_SOFTPLUS } model_act;

/* Parametrisation of the inference-rate matrix η (D×D): a full matrix; c·diag(γ); c·I; w²·I;
 * S Sᵀ; S Sᵀ + (A − Aᵀ). */
typedef enum model_eta {
    MODEL_ETA_FULL,
    MODEL_ETA_GAMMA,
    MODEL_ETA_SCALAR,
    MODEL_ETA_SQUARE,
    MODEL_ETA_PSD,
    MODEL_ETA_PSD_SKEW
} model_eta;

/* Vector that a step follows: the published one leaves out the second slot of the self term
 * under an inclusive mask; the exact one is ∂E_A/∂g_A. They agree under the strict mask. */
typedef enum model_update { MODEL_UPDATE_PUBLISHED, MODEL_UPDATE_EXACT } model_update;

typedef struct model_config {
    model_family family;
    size_t n_embed;       /* D, width */
    size_t n_head;        /* H */
    size_t vocab_size;    /* V */
    size_t block_size;    /* longest sequence */
    size_t n_layer;       /* recurrent steps, or blocks of a GPT */
    size_t ff_hid_factor; /* M = ff_hid_factor · D */
    double norm_eps;      /* ε of every norm */
    double dropout;       /* probability of dropping, in [0, 1) */

    /* NRGPT only. */
    model_ff ff;
    model_act activation;
    model_norm norm;
    model_eta eta;
    model_update update;
    bool strict_mask;   /* true: B < A; false: B ≤ A */
    bool gamma_trained; /* false: γ stays at its initial value 1 */
    size_t rank;        /* 0: full D×D J_h; else J_h = K_hᵀQ_h with K_h, Q_h of rank × D */
    double beta;        /* inverse temperature; 1 as published; 1/√D is written as a number */
    double alpha;       /* weight α_h shared by all heads; 1 as published */
    double eta_init;    /* initial c (or w) of the scalar parametrisations */

    /* GPT only. */
    bool recurrent; /* one block applied n_layer times */
    bool parallel;  /* attention and feed-forward read the same x and add up */
} model_config;

/* Published defaults for a family: D = 64, H = 1, V = 20, block 128, 5 steps, M = 4D, ε = 1e-5,
 * no dropout, FF2W, exact-erf GELU, LayerNorm with frozen γ, full η, published update, strict mask,
 * β = α = 1. */
model_config model_config_default(model_family family);

/* KERN_INVALID_ARGUMENT, naming the field, its value and what is accepted, unless every field is in
 * its domain: sizes in 1 … 2²⁴ (block_size, n_layer, ff_hid_factor, rank within theirs), products
 * within size_t, numbers finite; a GPT's n_head ≤ n_embed. */
kern_status model_config_check(const model_config *config, kern_error *err);

/* Reads the JSON object `text` over the defaults of `family`. Unknown keys, wrong types, numbers
 * that are not whole where a count is meant, and values out of domain are KERN_BAD_INPUT. `std`
 * (initial deviation in reference files) is accepted and ignored. */
kern_status model_config_from_json(model_config *config, model_family family, const char *text,
                                   kern_error *err);

/* JSON object with every field of the family, numbers at full precision. The caller frees *text
 * with free(). */
kern_status model_config_to_json(const model_config *config, char **text, kern_error *err);

/* Words for the enumerations ("ff2w", "rmsnorm", "psd-skew", …) and back; the parsers return
 * KERN_INVALID_ARGUMENT listing what is accepted. */
const char *model_ff_word(model_ff ff);
const char *model_norm_word(model_norm norm);
const char *model_act_word(model_act act);
const char *model_eta_word(model_eta eta);
const char *model_update_word(model_update update);
kern_status model_ff_parse(model_ff *out, const char *word, kern_error *err);
kern_status model_norm_parse(model_norm *out, const char *word, kern_error *err);
kern_status model_act_parse(model_act *out, const char *word, kern_error *err);
kern_status model_eta_parse(model_eta *out, const char *word, kern_error *err);
kern_status model_update_parse(model_update *out, const char *word, kern_error *err);

/* "nrgpt", "gpt", "gpt-rec" or "gpt-rec-parallel": the name used on the command line. */
const char *model_config_family_name(const model_config *config);

/* Sets family, recurrent and parallel from such a name; KERN_INVALID_ARGUMENT lists the names. */
kern_status model_config_set_family(model_config *config, const char *name, kern_error *err);

#endif
