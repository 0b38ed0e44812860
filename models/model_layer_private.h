/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of model_layer share: graphs of one part of a layer, run once.
 */
#ifndef BASIN_MODEL_LAYER_PRIVATE_H
#define BASIN_MODEL_LAYER_PRIVATE_H

#include "kernels/kern_exec.h"
#include "models/model_layer_map.h"
#include "models/model_map.h"

/* KERN_INVALID_ARGUMENT unless `m` is a stack in double precision with that layer and a block that
 * holds so many tokens. */
kern_status model__layer_check(const model *m, size_t layer, size_t tokens, kern_error *err);

/* Starts a graph for one sequence with its rows as input. The caller owns b->graph. */
kern_status model__layer_begin(model_builder *b, const model *m, size_t tokens, bool energies,
                               kern_value *input, kern_error *err);

/* The whole part with its residual connection as a map, as the model applies it. */
kern_status model__layer_part(model_map **out, const model *m, size_t layer, model_layer_part part,
                              size_t tokens, kern_error *err);

/* Takes a graph with its result over into a map, also on failure. */
kern_status model__layer_adopt(model_map **out, model_builder *b, const model *m, kern_value input,
                               kern_value next, kern_error *err);

/* A graph that is ready to run; zeroed: none. All owned. */
typedef struct model__layer_run {
    kern_graph *graph;
    kern_plan *plan;
    kern_exec *exec;
} model__layer_run;

/* Finishes `graph`, which `run` takes over, also on failure, and plans it. */
kern_status model__layer_run_init(model__layer_run *run, const model *m, kern_graph *graph,
                                  const kern_plan_options *options, kern_error *err);
void model__layer_run_fini(model__layer_run *run);

/* Computes kept values of `graph`, which is destroyed, at the input h into out[i]; absent values
 * and NULL places are skipped. */
kern_status model__layer_evaluate(const model *m, kern_graph *graph, kern_value input,
                                  const double *h, const kern_value *values, double *const *out,
                                  size_t n, kern_error *err);

#endif
