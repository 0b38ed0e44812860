/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The update's own graph gives −∂E/∂g; with its negative as the cotangent of g, the norm's
 * transpose takes it to x. The feed-forward term alone is the cotangent of its energy, and what
 * is left is attention's.
 */
#include "models/model_gradient.h"

#include "kernels/kern_exec.h"
#include "models/model_family.h"
#include "models/model_graph.h"

#include <stdlib.h>
#include <string.h>

struct model_gradient {
    model exact; /* a view of the model whose force is the whole gradient; values are borrowed */
    model_graph graph;
    kern_plan *plan;
    kern_exec *exec;
    size_t tokens, token, width;
    double scale_ff;
};

static kern_status build(model_gradient *d, kern_error *err)
{
    const model_graph_options options = {.batch = 1,
                                         .tokens = d->tokens,
                                         .start = MODEL_START_STATE,
                                         .energies = true,
                                         .keep_steps = true};
    KERN_TRY(model_graph_init(&d->graph, &d->exact, &options, err));
    const model_step *step = &d->graph.steps[0];
    const kern_value seeds[2] = {step->g, step->energy_ff};
    const kern_plan_options plan = {
        .mode = KERN_MODE_VJP, .wrt = &d->graph.input, .n_wrt = 1, .seeds = seeds, .n_seeds = 2};
    KERN_TRY(kern_plan_create(&d->plan, d->graph.graph, &plan, err));
    return kern_exec_create(&d->exec, d->plan, d->exact.backend, 1, err);
}

static kern_status check(const model *m, size_t tokens, size_t token, kern_error *err)
{
    if (model_family_get(m->config.family)->build_energy == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a %s model has no energy of its tokens; accepted is nrgpt",
                          model_config_family_name(&m->config));
    }
    if (m->backend->real_size != sizeof(double)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the gradient of an energy needs a double-precision model");
    }
    if (token >= tokens) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "token %zu is not one of %zu", token, tokens);
    }
    return KERN_OK;
}

kern_status model_gradient_create(model_gradient **out, const model *m, size_t tokens, size_t token,
                                  kern_error *err)
{
    *out = NULL;
    KERN_TRY(check(m, tokens, token, err));
    model_gradient *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a gradient");
    }
    const model_param *scale = model_params_find(&m->params, "blocks.scale_ff");
    d->exact = *m;
    d->exact.config.update = MODEL_UPDATE_EXACT;
    d->exact.config.dropout = 0.0;
    d->tokens = tokens;
    d->token = token;
    d->width = m->config.n_embed;
    d->scale_ff = scale != NULL ? model_value_get(m, scale->offset) : 1.0;
    const kern_status status = build(d, err);
    if (status != KERN_OK) {
        model_gradient_destroy(d);
        return status;
    }
    *out = d;
    return KERN_OK;
}

void model_gradient_destroy(model_gradient *gradient)
{
    if (gradient != NULL) {
        kern_exec_destroy(gradient->exec);
        kern_plan_destroy(gradient->plan);
        model_graph_fini(&gradient->graph);
        free(gradient);
    }
}

void model_gradient_at(void *context, size_t term, const double *x, double *g)
{
    model_gradient *d = context;
    const kern_run run = {.params = d->exact.values};
    const model_step *step = &d->graph.steps[0];
    const size_t size = d->tokens * d->width;
    const size_t own = d->token * d->width;
    memcpy(kern_exec_value(d->exec, d->graph.input), x, size * sizeof *x);
    kern_exec_forward(d->exec, &run);
    const double *force = kern_exec_value(d->exec, step->force);
    double *seed = kern_exec_derivative(d->exec, step->g);
    double *seed_ff = kern_exec_derivative(d->exec, step->energy_ff);
    memset(seed, 0, size * sizeof *seed);
    memset(seed_ff, 0, d->tokens * sizeof *seed_ff);
    for (size_t i = own; term != MODEL_GRADIENT_FF && i < own + d->width; i++) {
        seed[i] = -force[i];
    }
    if (term < MODEL_GRADIENT_TERMS) {
        seed_ff[d->token] = term == MODEL_GRADIENT_FF ? d->scale_ff : -d->scale_ff;
    }
    kern_exec_backward(d->exec, &run);
    memset(g, 0, size * sizeof *g);
    const double *from = kern_exec_derivative(d->exec, d->graph.input);
    memcpy(g + own, from + own, d->width * sizeof *g);
}
