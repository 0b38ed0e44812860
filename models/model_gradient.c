/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The graph of the energy's terms alone, with the token's energies as seeds of a backward pass.
 */
#include "models/model_gradient.h"

#include "models/model_cem.h"
#include "models/model_layer_private.h"

#include <stdlib.h>
#include <string.h>

struct model_gradient {
    const model *m;
    model__layer_run run; /* owned */
    kern_value input;
    size_t n_terms;
    kern_value terms[MODEL_GRADIENT_TERMS]; /* tokens × 1 each */
    double scale[MODEL_GRADIENT_TERMS];     /* their factors in the energy */
    size_t tokens, token, width;
};

/* ---- construction -----------------------------------------------------------------------------
 */

static kern_status reserve(model_gradient **out, const model *m, size_t tokens, size_t token,
                           kern_error *err)
{
    if (token >= tokens && token != SIZE_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "token %zu is not one of %zu", token, tokens);
    }
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a gradient");
    }
    **out = (model_gradient){.m = m, .tokens = tokens, .token = token, .width = m->config.n_embed};
    return KERN_OK;
}

/* A term that is absent is not counted. */
static void add_term(model_gradient *d, kern_graph *graph, kern_value term, double scale)
{
    if (term != KERN_NO_VALUE) {
        kern_graph_keep(graph, term);
        d->terms[d->n_terms] = term;
        d->scale[d->n_terms++] = scale;
    }
}

/* Makes the graph of the terms ready to run. */
static kern_status finish(model_gradient *d, kern_graph *graph, kern_error *err)
{
    const kern_plan_options plan = {.mode = KERN_MODE_VJP,
                                    .wrt = &d->input,
                                    .n_wrt = 1,
                                    .seeds = d->terms,
                                    .n_seeds = d->n_terms};
    return model__layer_run_init(&d->run, d->m, graph, &plan, err);
}

/* Hands the gradient out, or releases it. */
static kern_status hand_out(model_gradient **out, model_gradient *d, kern_status status)
{
    if (status != KERN_OK) {
        model_gradient_destroy(d);
        d = NULL;
    }
    *out = d;
    return status;
}

static kern_status check(const model *m, kern_error *err)
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
    return KERN_OK;
}

static kern_status build(model_gradient *d, kern_error *err)
{
    const model_param *scale = model_params_find(&d->m->params, "blocks.scale_ff");
    model_builder b;
    KERN_TRY(model__layer_begin(&b, d->m, d->tokens, true, &d->input, err));
    const model_step step = model_family_get(d->m->config.family)->build_step(&b, d->input, 0);
    add_term(d, b.graph, step.energy_attn, 1.0);
    add_term(d, b.graph, step.energy_ff,
             scale != NULL ? model_value_get(d->m, scale->offset) : 1.0);
    return finish(d, b.graph, err);
}

kern_status model_gradient_create(model_gradient **out, const model *m, size_t tokens, size_t token,
                                  kern_error *err)
{
    model_gradient *d = NULL;
    *out = NULL;
    KERN_TRY(check(m, err));
    KERN_TRY(reserve(&d, m, tokens, token, err));
    return hand_out(out, d, build(d, err));
}

/* The input h is an input of the graph beside the state x. */
static kern_status build_layer(model_gradient *d, size_t layer, const model_cem_energy *energy,
                               const double *h, kern_error *err)
{
    const size_t size = d->tokens * d->width;
    kern_value terms[MODEL_CEM_TERMS];
    model_builder b;
    KERN_TRY(model__layer_begin(&b, d->m, d->tokens, true, &d->input, err));
    const kern_value input = kern_graph_input(b.graph, (kern_shape){d->tokens, d->width});
    model_cem_descent descent = model_cem_begin(&b, layer, energy, input);
    model_cem_energies(&descent, d->input, terms);
    for (size_t i = 0; i < MODEL_CEM_TERMS; i++) {
        add_term(d, b.graph, terms[i], 1.0);
    }
    KERN_TRY(finish(d, b.graph, err));
    memcpy(kern_exec_value(d->run.exec, input), h, size * sizeof *h);
    return KERN_OK;
}

kern_status model_gradient_create_layer(model_gradient **out, const model *m, size_t layer,
                                        model_layer_part part, const double *h, size_t tokens,
                                        size_t token, kern_error *err)
{
    model_gradient *d = NULL;
    *out = NULL;
    KERN_TRY(model__layer_check(m, layer, tokens, err));
    const model_cem_energy *energy = model_cem_energy_of(&m->config, part);
    if (energy == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "part %s of a %s layer has no energy; accepted are the parts of cem",
                          model_layer_part_word(part), model_config_family_name(&m->config));
    }
    KERN_TRY(reserve(&d, m, tokens, token, err));
    return hand_out(out, d, build_layer(d, layer, energy, h, err));
}

void model_gradient_destroy(model_gradient *gradient)
{
    if (gradient != NULL) {
        model__layer_run_fini(&gradient->run);
        free(gradient);
    }
}

/* ---- use --------------------------------------------------------------------------------------
 */

/* The energies that count, of the terms that do. */
static void seed(const model_gradient *d, size_t term)
{
    for (size_t i = 0; i < d->n_terms; i++) {
        double *seeds = kern_exec_derivative(d->run.exec, d->terms[i]);
        for (size_t a = 0; a < d->tokens; a++) {
            const bool counts =
                (term >= d->n_terms || term == i) && (d->token == SIZE_MAX || d->token == a);
            seeds[a] = counts ? d->scale[i] : 0.0;
        }
    }
}

void model_gradient_at(void *context, size_t term, const double *x, double *g)
{
    model_gradient *d = context;
    const kern_run run = {.params = d->m->values};
    const size_t size = d->tokens * d->width;
    const bool all = d->token == SIZE_MAX;
    const size_t begin = all ? 0 : d->token * d->width;
    const size_t end = all ? size : begin + d->width;
    memcpy(kern_exec_value(d->run.exec, d->input), x, size * sizeof *x);
    kern_exec_forward(d->run.exec, &run);
    seed(d, term);
    kern_exec_backward(d->run.exec, &run);
    const double *from = kern_exec_derivative(d->run.exec, d->input);
    memset(g, 0, size * sizeof *g);
    memcpy(g + begin, from + begin, (end - begin) * sizeof *g);
}

dyn_plane_energy model_gradient_energy(model_gradient *gradient)
{
    return (dyn_plane_energy){
        .context = gradient, .n_terms = gradient->n_terms, .gradient = model_gradient_at};
}
