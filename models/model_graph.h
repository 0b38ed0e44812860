/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model's graph for a batch of B sequences of N tokens: embedding, steps, readout, loss, and what
 * is to be kept along the way.
 */
#ifndef BASIN_MODEL_GRAPH_H
#define BASIN_MODEL_GRAPH_H

#include "kernels/kern_graph.h"
#include "models/model.h"
#include "models/model_family.h"

/* Index slots of the graph's bindings. */
enum { MODEL_SLOT_TOKENS = 0, MODEL_SLOT_TARGETS = 1 };

typedef enum model_start {
    MODEL_START_TOKENS, /* x^(0) = embedding of slot MODEL_SLOT_TOKENS */
    MODEL_START_STATE,  /* x^(0) is an input: the block as a map */
    MODEL_START_G       /* the normalised state is an input: one energy evaluation, no step */
} model_start;

typedef struct model_graph_options {
    size_t batch;
    size_t tokens;
    size_t steps; /* how often the block is applied; a model of distinct blocks accepts its n_layer,
                   * or fewer when started from a state; MODEL_START_G takes no step */
    model_start start;
    bool readout;    /* logits */
    bool loss;       /* negative log likelihood per token; implies readout */
    bool energies;   /* energies of every step, and of the last state */
    bool keep_steps; /* states, g, σ, forces and energies stay in memory */
    bool keep_inner; /* iterates inside the layers of a stack stay too, and their energies if asked
                      */
    /* Steps of the CEM sub-layers, which may differ from those of training; 0: as configured. */
    size_t t_attn;
    size_t t_mlp;
    /* With keep_inner, steps of theirs that are kept; 0: those that are taken. What is beyond those
     * is computed to be looked at: a sub-layer hands on what it does without. */
    size_t inner_attn;
    size_t inner_mlp;
} model_graph_options;

typedef struct model_graph {
    kern_graph *graph; /* owned */
    size_t n_steps;
    model_step *steps;  /* n_steps + 1 entries, owned; entry n_steps holds g, σ and energies of the
                         * last state  when energies are asked for */
    kern_value *states; /* n_steps + 1 entries: x^(0) … x^(T), owned */
    kern_value logits;  /* rows × V, or KERN_NO_VALUE */
    kern_value nll;     /* rows × 1, or KERN_NO_VALUE */
    kern_value input;   /* the input of MODEL_START_STATE and MODEL_START_G */
    model_inner *inner; /* with keep_inner: layer l's parts from l · MODEL_LAYER_PARTS on; owned */
    kern_value *inner_values; /* what their arrays are pieces of; owned */
} model_graph;

/* Builds the graph. KERN_INVALID_ARGUMENT when there are no tokens, or more than block_size while
 * the embedding is part of the graph, when a model of distinct blocks is asked for other than
 * n_layer blocks, or a family without an energy for one. On failure *out is zeroed. */
kern_status model_graph_init(model_graph *out, const model *m, const model_graph_options *options,
                             kern_error *err);
void model_graph_fini(model_graph *g);

#endif
