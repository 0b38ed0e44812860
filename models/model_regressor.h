/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A stack of layers that predicts one number per token from vectors instead of words:
 *
 *   x^(0) = W_in φ + b_in,   ŷ = w·n(x^(L)) + b,   e = weight · (ŷ − y)²
 *
 * with the layers of a llama, cem or hourglass configuration in between and n its final RMSNorm.
 * There is no table of tokens; the configuration's vocab_size, block_size and tied_head have no
 * bearing. A regressor is a `model` with its own parameter table, so initial values, the optimizer
 * and checks of a model serve it as well.
 *
 * Parameters: embed_in D×F and embed_in_bias D, those of the layers (model_stack.h), norm_f D, head
 * 1×D and head_bias 1. W_in starts with deviation 1/√F, the layers' matrices with a deviation of
 * the caller's, all else as in a stack.
 */
#ifndef BASIN_MODEL_REGRESSOR_H
#define BASIN_MODEL_REGRESSOR_H

#include "kernels/kern_graph.h"
#include "models/model.h"

/* A regressor of vectors of `inputs` numbers, 1 … 2²⁴, with all values zero. Release it with
 * model_destroy; start it with model_init_values, which gives the Gaussian matrices of layers the
 * deviation `deviation` (0: that of a stack). KERN_INVALID_ARGUMENT for a family that is no stack,
 * a deviation that is negative or not finite, and from model_config_check; KERN_NO_MEMORY. */
kern_status model_regressor_create(model **out, const model_config *config, size_t inputs,
                                   double deviation, const kern_backend *backend, kern_error *err);

/* x = W_in φ + b_in, tokens × D, of a regressor in double precision: the rows in front of its first
 * layer (model_layer_input_at). `features` is tokens × F; x does not overlap it.
 * KERN_INVALID_ARGUMENT for a model that is no regressor or in single precision. */
kern_status model_regressor_embed(const model *m, const double *features, size_t tokens, double *x,
                                  kern_error *err);

typedef struct model_regressor_options {
    size_t batch;  /* sequences */
    size_t tokens; /* of each */
    /* What the layers are built by; NULL: the model's own. Another one must have the same
     * parameters, as when only the steps or the history of CEM differ. Read during the call. */
    const model_config *config;
    bool loss; /* add targets, weights and the error */
} model_regressor_options;

/* Rows are tokens, sequence by sequence. The inputs are written by the caller before each run. */
typedef struct model_regressor {
    kern_graph *graph;     /* owned */
    kern_value features;   /* input, rows × F */
    kern_value targets;    /* input, rows × 1, with `loss` */
    kern_value weights;    /* input, rows × 1, with `loss`; a row of weight 0 is left out */
    kern_value prediction; /* rows × 1, kept */
    kern_value error;      /* rows × 1, kept, with `loss` */
} model_regressor;

/* Builds the graph of a model of model_regressor_create. KERN_INVALID_ARGUMENT when it is empty,
 * is no regressor, or the other configuration needs parameters that the model lacks. On failure
 * *out is zeroed. */
kern_status model_regressor_init(model_regressor *out, const model *m,
                                 const model_regressor_options *options, kern_error *err);
void model_regressor_fini(model_regressor *r);

#endif
