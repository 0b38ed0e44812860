/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameter budgets of layered models: how many parameters a shape has, and which shapes have a
 * given number.
 *
 * Per layer, with model width d, attention width d_a, width of keys and values d_kv, and hidden
 * units S = Σ_k d_h,k over the K sub-MLPs (K = 1 but for the hourglass):
 *
 *   attention     2 d d_a + 2 d d_kv; tied (CEM: V = K, O = Qᵀ) 2 d d_a, and d for a shared
 *                 diagonal or H d for one per head
 *   feed-forward  3 d S; tied (CEM: down = upᵀ) 2 d S
 *   each tied sub-layer  d + 2 d r for a preconditioner of rank r, 1 for a trained step size;
 *                 the preconditioner diag(γ) has no parameters of its own
 *   gains         d before attention, and none, d or K d in the feed-forward part; d at the end
 *
 * and V d for embeddings, 2 V d with a readout of its own. Which of gains and embeddings belong to
 * "the" number of parameters is a matter of convention; the labels of the hourglass paper count
 * neither (reconstructed: its body is not public).
 *
 * Sources: arXiv 2602.06471 (hourglass), arXiv 2605.07588 (CEM); derivations of this project.
 */
#ifndef BASIN_MODEL_BUDGET_H
#define BASIN_MODEL_BUDGET_H

#include "models/model_config.h"

/* Ends of the domains; with them every product fits 64 bits. */
enum {
    MODEL_BUDGET_WIDTH = 1 << 20, /* d, d_a, d_kv, hidden units of a layer, heads, rank */
    MODEL_BUDGET_LAYERS = 1 << 12,
    MODEL_BUDGET_K = 1 << 10,
    MODEL_BUDGET_UNIT = 1 << 16, /* multiple and narrowest of a search */
    MODEL_BUDGET_CANDIDATES = 1 << 26
};
#define MODEL_BUDGET_PARAMETERS ((size_t)1 << 53)
#define MODEL_BUDGET_VOCAB      ((size_t)1 << 31)

/* What a parameter is counted for. */
typedef struct model_budget_rules {
    model_attn attn;
    model_ffn ffn;
    bool count_gains;
    model_gain gain; /* of the feed-forward part; what has one sub-MLP has one gain or none */
    size_t vocab;    /* 0: embeddings are not counted */
    bool tied_head;  /* the readout is the embedding */
    model_diag diag; /* of tied attention, as heads */
    size_t heads;    /* for a diagonal per head */
    model_precond precond;
    size_t p_rank;
    bool eta_trained;
} model_budget_rules;

/* A shape. The hidden units are given for the whole model; see model_budget_width. */
typedef struct model_budget_shape {
    size_t d;
    size_t layers;
    size_t d_attn;
    size_t d_kv;
    size_t k;
    size_t hidden;     /* units of all layers · k sub-MLPs */
    size_t parameters; /* filled by a search, as error: (parameters − asked) / asked */
    double error;
} model_budget_shape;

typedef struct model_budget_parts {
    size_t attention; /* with its diagonals, preconditioners, step sizes */
    size_t feed_forward;
    size_t gains;
    size_t embeddings;
    size_t all;
} model_budget_parts;

/* Parameters of a shape. KERN_INVALID_ARGUMENT, naming the number and its domain. */
kern_status model_budget_count(const model_budget_rules *rules, const model_budget_shape *shape,
                               model_budget_parts *parts, kern_error *err);

/* Width of sub-MLP `sub` of layer `layer`. Widths differ by at most 1, the wider ones first: within
 * each layer when the layers can be alike (layers divides hidden), else over the whole model. */
size_t model_budget_width(const model_budget_shape *shape, size_t layer, size_t sub);

/* Sub-MLPs that list all widths: k when the layers are alike, else layers · k. It is the form in
 * which an hourglass is configured (model_hourglass.widths). */
size_t model_budget_widths(const model_budget_shape *shape);

/* Which numbers of hidden units a search may choose: all sub-MLPs of one width; layers of one
 * number of units; any number. The coarser, the rarer are exact shapes: a step is 3 d L K, 3 d L or
 * 3 d parameters. */
typedef enum model_budget_split {
    MODEL_BUDGET_UNIFORM,
    MODEL_BUDGET_LAYER,
    MODEL_BUDGET_MODEL
} model_budget_split;

/* Values to try, in order. */
typedef struct model_budget_values {
    const size_t *at;
    size_t count;
} model_budget_values;

/* A search over all combinations of the values. Each gives one candidate: the number of hidden
 * units that comes nearest to the budget. An hourglass is narrower inside, d_h < d. */
typedef struct model_budget_search {
    model_budget_rules rules;
    size_t parameters; /* asked, 1 … MODEL_BUDGET_PARAMETERS */
    double tolerance;  /* on |error|, from 0; 0 asks for exact shapes */
    model_budget_values d;
    model_budget_values layers;
    model_budget_values k;      /* 1 alone unless for an hourglass */
    model_budget_values d_attn; /* empty: d */
    model_budget_values d_kv;   /* empty, and with tied attention: d_attn */
    model_budget_values hidden; /* units of a layer; empty: chosen by `split` */
    model_budget_split split;
    size_t multiple;  /* of which uniform widths are multiples, at least 1 */
    size_t narrowest; /* least width of a sub-MLP, at least 1 */
} model_budget_search;

typedef struct model_budget_tally {
    size_t candidates;
    size_t found;  /* candidates within the tolerance */
    size_t listed; /* shapes written */
} model_budget_tally;

/* Writes the candidates nearest to the budget, nearest first, whether within the tolerance or not,
 * at most `capacity`; of equally near ones the order of the values decides, d before layers, k,
 * d_attn and d_kv. KERN_INVALID_ARGUMENT for values out of domain and for more than
 * MODEL_BUDGET_CANDIDATES combinations; KERN_NOT_FOUND when no combination is a shape at all. Cost
 * O(candidates), and O(capacity) for each one listed. */
kern_status model_budget_solve(const model_budget_search *search, model_budget_shape *shapes,
                               size_t capacity, model_budget_tally *tally, kern_error *err);

#endif
