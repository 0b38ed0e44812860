/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Forward passes of one graph by several lanes: a graph, its plan, packed weights, and one
 * single-threaded execution per lane. Lanes are independent, so a result depends on what a lane is
 * given and never on how many there are.
 */
#ifndef BASIN_MODEL_FORWARD_H
#define BASIN_MODEL_FORWARD_H

#include "kernels/kern_exec.h"
#include "models/model.h"
#include "models/model_graph.h"

typedef struct model_forward {
    const model *m; /* borrowed */
    model_graph graph;
    kern_plan *plan;
    void *packed; /* copies of the weights as they were at init */
    kern_exec **lanes;
    size_t n_lanes;
} model_forward;

/* Builds everything for `lanes` ≥ 1 lanes. `m` must outlive it and keep its values. Errors of
 * model_graph_init, and KERN_NO_MEMORY. On failure *f is zeroed. */
kern_status model_forward_init(model_forward *f, const model *m, const model_graph_options *options,
                               size_t lanes, kern_error *err);

/* Safe on a zeroed one and when called twice. */
void model_forward_fini(model_forward *f);

/* Runs lane `lane` on batch × tokens ids; `targets` (NULL: none) has as many, negative ones without
 * loss. Dropout is off. Different lanes may run in different threads. */
void model_forward_run(const model_forward *f, size_t lane, const int32_t *tokens,
                       const int32_t *targets);

/* Memory of a kept value in a lane: reals of the model's precision. */
void *model_forward_value(const model_forward *f, size_t lane, kern_value value);

#endif
