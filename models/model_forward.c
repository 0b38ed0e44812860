/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_forward.h"

#include "kernels/kern_memory.h"

#include <stdlib.h>

static kern_status pack_weights(model_forward *f, kern_error *err)
{
    const kern_backend *backend = f->m->backend;
    const size_t count = kern_graph_pack_count(f->graph.graph);
    f->packed = kern_memory_create(count, backend->real_size);
    if (f->packed == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for copies of %zu weights", count);
    }
    kern_graph_pack(f->graph.graph, backend, f->packed, f->m->values, 1);
    return KERN_OK;
}

static kern_status build(model_forward *f, const model_graph_options *options, size_t lanes,
                         kern_error *err)
{
    const kern_plan_options plan = {.mode = KERN_MODE_FORWARD};
    KERN_TRY(model_graph_init(&f->graph, f->m, options, err));
    KERN_TRY(kern_plan_create(&f->plan, f->graph.graph, &plan, err));
    KERN_TRY(pack_weights(f, err));
    f->lanes = calloc(lanes, sizeof(kern_exec *));
    if (f->lanes == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu lanes", lanes);
    }
    f->n_lanes = lanes;
    for (size_t i = 0; i < lanes; i++) {
        KERN_TRY(kern_exec_create(&f->lanes[i], f->plan, f->m->backend, 1, err));
    }
    return KERN_OK;
}

kern_status model_forward_init(model_forward *f, const model *m, const model_graph_options *options,
                               size_t lanes, kern_error *err)
{
    *f = (model_forward){.m = m};
    const kern_status status = build(f, options, lanes, err);
    if (status != KERN_OK) {
        model_forward_fini(f);
    }
    return status;
}

void model_forward_fini(model_forward *f)
{
    for (size_t i = 0; i < f->n_lanes; i++) {
        kern_exec_destroy(f->lanes[i]);
    }
    free(f->lanes);
    free(f->packed);
    kern_plan_destroy(f->plan);
    model_graph_fini(&f->graph);
    *f = (model_forward){0};
}

void model_forward_run(const model_forward *f, size_t lane, const int32_t *tokens,
                       const int32_t *targets)
{
    kern_run run = {.params = f->m->values, .packed = f->packed};
    run.bindings.index[MODEL_SLOT_TOKENS] = tokens;
    run.bindings.index[MODEL_SLOT_TARGETS] = targets;
    kern_exec_forward(f->lanes[lane], &run);
}

void *model_forward_value(const model_forward *f, size_t lane, kern_value value)
{
    return kern_exec_value(f->lanes[lane], value);
}
