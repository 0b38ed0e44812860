/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reference vectors: gradients of an energy with respect to the normalised state.
 */
#include "models/model_vectors_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ∂E/∂g at reference state t under the given update: minus the force of one step from there. */
static kern_status force_at(model__checker *c, model_update update, const double *state,
                            double *gradient)
{
    model variant = *c->m;
    variant.config.update = update;
    const model_graph_options options = {.batch = c->batch,
                                         .tokens = c->tokens,
                                         .steps = 1,
                                         .start = MODEL_START_STATE,
                                         .keep_steps = true};
    const kern_plan_options forward = {.mode = KERN_MODE_FORWARD};
    const size_t count = c->batch * c->tokens * c->m->config.n_embed;
    model_graph graph = {0};
    kern_plan *plan = NULL;
    kern_exec *exec = NULL;
    kern_status status = model_graph_init(&graph, &variant, &options, c->err);
    if (status == KERN_OK) {
        status = kern_plan_create(&plan, graph.graph, &forward, c->err);
    }
    if (status == KERN_OK) {
        status = kern_exec_create(&exec, plan, c->m->backend, 1, c->err);
    }
    if (status == KERN_OK) {
        const kern_run run = {.params = c->m->values};
        memcpy(kern_exec_value(exec, graph.input), state, count * sizeof *state);
        kern_exec_forward(exec, &run);
        const double *force = kern_exec_value(exec, graph.steps[0].force);
        for (size_t i = 0; i < count; i++) {
            gradient[i] = -force[i];
        }
    }
    kern_exec_destroy(exec);
    kern_plan_destroy(plan);
    model_graph_fini(&graph);
    return status;
}

static kern_status check_force(model__checker *c, const model_safetensors_entry *entry,
                               const char *tail, model_update update)
{
    const size_t count = c->batch * c->tokens * c->m->config.n_embed;
    char name[64];
    double *state = NULL;
    if (model__checker_number(tail, c->graph.n_steps) == SIZE_MAX ||
        c->graph.steps[0].force == KERN_NO_VALUE) {
        return model__checker_no_step(c, entry);
    }
    (void)snprintf(name, sizeof name, "state/%s", tail);
    KERN_TRY(model__checker_read(c, name, count, &state));
    double *gradient = malloc(count * sizeof *gradient);
    kern_status status = gradient == NULL
                             ? kern_raise(c->err, KERN_NO_MEMORY, "no memory for %s", entry->name)
                             : force_at(c, update, state, gradient);
    if (status == KERN_OK) {
        status = model__checker_compare(c, entry, gradient, count, MODEL_VECTORS_TOLERANCE);
    }
    free(gradient);
    free(state);
    return status;
}

kern_status model__check_published(model__checker *c, const model_safetensors_entry *entry,
                                   const char *tail)
{
    return check_force(c, entry, tail, MODEL_UPDATE_PUBLISHED);
}

kern_status model__check_exact(model__checker *c, const model_safetensors_entry *entry,
                               const char *tail)
{
    return check_force(c, entry, tail, MODEL_UPDATE_EXACT);
}
