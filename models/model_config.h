/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Model configuration: everything that fixes a model's equations and shapes.
 *
 * The struct is plain data; the JSON form uses the key names of the published configurations
 * (n_embed, n_head, vocab_size, block_size, ff_hid_factor, n_layer, ff, strict_mask,
 * gamma_trained, recurrent, parallel) and Basin's own names for what those do not have. A key may
 * mean different things to different families: "norm" and "eta" are the kind of norm and the form
 * of η of an NRGPT, but the place of the norm and the step size of CEM (cem.norm, cem.eta).
 */
#ifndef BASIN_MODEL_CONFIG_H
#define BASIN_MODEL_CONFIG_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* The last three are stacks of distinct pre-norm layers and differ in what a layer is made of. */
typedef enum model_family {
    MODEL_NRGPT,
    MODEL_GPT,
    MODEL_LLAMA,
    MODEL_CEM,
    MODEL_HOURGLASS
} model_family;

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

/* ---- layers of a stack ----------------------------------------------------------------------- */

/* Sub-layers: those of a Llama (H. Touvron et al., arXiv 2302.13971, 2023), those of Causal Energy
 * Minimization (J. Xu et al., arXiv 2605.07588, 2026), and the hourglass feed-forward stack (Liao
 * et al., arXiv 2602.06471, 2026). */
typedef enum model_attn { MODEL_ATTN_LLAMA, MODEL_ATTN_CEM } model_attn;
typedef enum model_ffn { MODEL_FFN_LLAMA, MODEL_FFN_CEM, MODEL_FFN_HOURGLASS } model_ffn;

/* Rotary positions: EXACT is the gradient of the rotated energy, PLAIN mixes the unrotated keys as
 * an ordinary tied attention does. The two agree for an untied attention. */
typedef enum model_rope { MODEL_ROPE_EXACT, MODEL_ROPE_PLAIN, MODEL_ROPE_NONE } model_rope;

/* Diagonal part of the interaction matrix: one for all heads, none, or one per head. */
typedef enum model_diag { MODEL_DIAG_SHARED, MODEL_DIAG_NONE, MODEL_DIAG_PER_HEAD } model_diag;

/* Which branch of the gated energy is nonlinear: A the tied projection, −Σ g Φ(z); B the gate,
 * −½ Σ σ(g) z². */
typedef enum model_mlp { MODEL_MLP_A, MODEL_MLP_B } model_mlp;

/* Preconditioner P: the identity; diag(softplus δ) + U Vᵀ + V Uᵀ; the norm's diag(γ). */
typedef enum model_precond {
    MODEL_PRECOND_NONE,
    MODEL_PRECOND_DLR,
    MODEL_PRECOND_GAMMA
} model_precond;

/* Whether all steps of a sub-layer read its input as history, or the states of their own time. */
typedef enum model_hist { MODEL_HIST_FIXED, MODEL_HIST_SYNC } model_hist;

/* Where the norm stands: the gradient at the normalised state moves the state (STEP); the descent
 * runs on the normalised input and its displacement is added (ONCE); the energy of the normalised
 * state descends with the norm's Jacobian (EXACT). */
typedef enum model_place { MODEL_PLACE_STEP, MODEL_PLACE_ONCE, MODEL_PLACE_EXACT } model_place;

/* Norms of an hourglass: A before every sub-MLP; B one before the stack, which then runs on the
 * normalised state; C that and A inside; D on the output of every sub-MLP. */
typedef enum model_sandglass {
    MODEL_SANDGLASS_A,
    MODEL_SANDGLASS_B,
    MODEL_SANDGLASS_C,
    MODEL_SANDGLASS_D
} model_sandglass;

/* Gains of its norms: one vector per sub-MLP, one shared by those of a layer, none. */
typedef enum model_gain { MODEL_GAIN_PER_SUB, MODEL_GAIN_SHARED, MODEL_GAIN_NONE } model_gain;

/* Deviations that the matrices of untied layers start with. CONSTANT: 0.02 for all. FAN_IN: 1/√D
 * into a part, 1/√(2 L S) out of it with S its hidden units of all sub-MLPs, or heads, together and
 * L layers, which gives every part the variance of a conventional one at any K (a choice of this
 * project: the paper's is not public). */
typedef enum model_spread { MODEL_SPREAD_CONSTANT, MODEL_SPREAD_FAN_IN } model_spread;

enum {
    MODEL_WIDTHS_MAX = 512,
    MODEL_INNER_MAX = 1024 /* steps of a sub-layer, each of which has its own nodes in a graph */
};

/* A list of hidden widths. */
typedef struct model_widths {
    size_t count;
    size_t at[MODEL_WIDTHS_MAX];
} model_widths;

typedef struct model_cem {
    model_diag diag;
    model_mlp mlp;
    model_precond precond;
    size_t p_rank; /* r: columns of U and V */
    size_t t_attn; /* steps of each sub-layer */
    size_t t_mlp;
    double eta;       /* step size, or where it starts */
    bool eta_trained; /* one scalar per sub-layer */
    double confine;   /* λ of the optional term ½λ|x − h|² (not in the paper) */
    model_hist hist;
    model_place norm;
} model_cem;

typedef struct model_hourglass {
    size_t k; /* sub-MLPs of a layer */
    model_sandglass norm;
    model_gain gain;
    double alpha;        /* factor of every branch */
    bool parallel;       /* all sub-MLPs read the input of the first (Jacobi) */
    model_widths widths; /* empty: n_hidden each; k entries: those of every layer; k · n_layer */
} model_hourglass;

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

    /* Stacks only. */
    size_t n_hidden; /* hidden width of the feed-forward part; of one sub-MLP of an hourglass */
    size_t d_attn;   /* width of all heads together; 0: n_embed */
    size_t d_kv;     /* of keys and values, whole heads; 0: d_attn */
    model_attn attn;
    model_ffn ffn;
    model_rope rope;
    bool qk_norm; /* an RMSNorm with a gain over all queries, and one over all keys, of a Llama's
                   * attention, before positions turn them (as OLMo 2 has it) */
    model_spread spread;
    bool tied_head; /* the readout is the embedding */
    model_cem cem;
    model_hourglass hourglass;
} model_config;

/* Published defaults for a family: D = 64, H = 1, V = 20, block 128, 5 steps, M = 4D, ε = 1e-5,
 * no dropout, FF2W, exact-erf GELU, LayerNorm with frozen γ, full η, published update, strict mask,
 * β = α = 1. A stack has the hidden width of model_config_hidden, an hourglass splits it among
 * K = 4; untied head; of CEM's switches the first of each list, T = 2, r = 8, η = 1 and fixed, no
 * confining term. */
model_config model_config_default(model_family family);

/* 8D/3, rounded up to a multiple of 8: the hidden width that gives a gated feed-forward part of
 * three matrices the parameters of an ungated one with M = 4D. */
size_t model_config_hidden(size_t n_embed);

/* Widths of a stack that follow from others: of all heads, of one, of keys and values; and of
 * sub-MLP `sub` of layer `layer`. */
size_t model_config_attention_width(const model_config *config);
size_t model_config_head_width(const model_config *config);
size_t model_config_kv_width(const model_config *config);
size_t model_config_sub_width(const model_config *config, size_t layer, size_t sub);

/* True for the families whose blocks differ, so that a block applied again is no map. */
bool model_config_has_layers(const model_config *config);

/* True for llama, cem and hourglass. */
bool model_config_is_stack(const model_config *config);

/* KERN_INVALID_ARGUMENT, naming the field, its value and what is accepted, unless every field is in
 * its domain: sizes in 1 … 2²⁴ (block_size, n_layer, ff_hid_factor, rank within theirs), products
 * within size_t, numbers finite; a GPT's n_head ≤ n_embed. In a stack, d_attn must be divisible by
 * n_head, a head that is turned must have an even width, d_kv must be whole heads that divide
 * n_head and, with CEM attention, all of them; a family must have the sub-layers it is named after;
 * η is trained only where P does not do that already; tied sub-layers start at constant
 * deviations, since what leads into them leads out of them too. */
kern_status model_config_check(const model_config *config, kern_error *err);

/* Reads the JSON object `text` over the defaults of `family`. Unknown keys, wrong types, numbers
 * that are not whole where a count is meant, and values out of domain are KERN_BAD_INPUT. `std`
 * (initial deviation in reference files) is accepted and ignored. */
kern_status model_config_from_json(model_config *config, model_family family, const char *text,
                                   kern_error *err);

/* JSON object with every field that counts for the family and its sub-layers, numbers at full
 * precision. The caller frees *text with free(). */
kern_status model_config_to_json(const model_config *config, char **text, kern_error *err);

/* X(name): every enumeration model_NAME of the configuration that has words ("ff2w", "rmsnorm",
 * "per_head", …): model_NAME_word gives the word of a value, model_NAME_parse the value of a word,
 * or KERN_INVALID_ARGUMENT listing what is accepted. */
#define MODEL_CONFIG_ENUMS(X)                                                                      \
    X(ff)                                                                                          \
    X(act)                                                                                         \
    X(norm)                                                                                        \
    X(eta)                                                                                         \
    X(update)                                                                                      \
    X(attn)                                                                                        \
    X(ffn)                                                                                         \
    X(rope)                                                                                        \
    X(diag)                                                                                        \
    X(mlp)                                                                                         \
    X(precond)                                                                                     \
    X(hist)                                                                                        \
    X(place)                                                                                       \
    X(sandglass)                                                                                   \
    X(gain)                                                                                        \
    X(spread)

#define MODEL_CONFIG_DECLARE(name)                                                                 \
    const char *model_##name##_word(model_##name value);                                           \
    kern_status model_##name##_parse(model_##name *out, const char *word, kern_error *err);
MODEL_CONFIG_ENUMS(MODEL_CONFIG_DECLARE)
#undef MODEL_CONFIG_DECLARE

/* "nrgpt", "gpt", "gpt-rec", "gpt-rec-parallel", "llama", "cem" or "hourglass": the name used on
 * the command line. */
const char *model_config_family_name(const model_config *config);

/* Sets family, recurrent, parallel, attn and ffn from such a name; KERN_INVALID_ARGUMENT lists the
 * names. */
kern_status model_config_set_family(model_config *config, const char *name, kern_error *err);

#endif
