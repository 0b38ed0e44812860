/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_graph.h"

#include "kernels/kern_size.h"

#include <stdlib.h>

static const model_step no_step = {KERN_NO_VALUE, KERN_NO_VALUE, KERN_NO_VALUE,
                                   KERN_NO_VALUE, KERN_NO_VALUE, KERN_NO_VALUE};

/* Largest number of tokens in a batch, and of steps. */
#define SIZES_MAX ((size_t)1 << 40)

static kern_status check_options(const model *m, const model_graph_options *o, kern_error *err)
{
    const model_config *c = &m->config;
    if (o->batch == 0 || o->tokens == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a batch of %zu sequences of %zu tokens is empty", o->batch, o->tokens);
    }
    if (o->batch > SIZES_MAX / o->tokens || o->steps > SIZES_MAX) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "%zu sequences of %zu tokens over %zu steps are too many; accepted are up "
            "to %zu tokens and %zu steps",
            o->batch, o->tokens, o->steps, SIZES_MAX, SIZES_MAX);
    }
    const size_t sub[] = {o->t_attn, o->t_mlp, o->inner_attn, o->inner_mlp};
    for (size_t i = 0; i < sizeof sub / sizeof *sub; i++) {
        if (sub[i] > MODEL_INNER_MAX) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "%zu steps of a sub-layer are too many; accepted are up to %d",
                              sub[i], MODEL_INNER_MAX);
        }
    }
    if (o->start == MODEL_START_G && model_family_get(c->family)->build_energy == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a %s model has no energy; accepted is nrgpt",
                          model_config_family_name(c));
    }
    if (o->start == MODEL_START_TOKENS && o->tokens > c->block_size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu tokens are longer than the model's block of %zu", o->tokens,
                          c->block_size);
    }
    if (model_config_has_layers(c) &&
        (o->start == MODEL_START_TOKENS ? o->steps != c->n_layer : o->steps > c->n_layer)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a %s with %zu distinct blocks cannot take %zu steps",
                          model_config_family_name(c), c->n_layer, o->steps);
    }
    return KERN_OK;
}

static kern_value build_embedding(model_builder *b)
{
    const kern_attr attr = {
        .embed = {.slot = MODEL_SLOT_TOKENS, .tokens = b->tokens, .rows = b->batch * b->tokens}};
    const model_outer *o = model_family_get(b->config->family)->outer;
    const kern_value in[] = {model_build_param(b, o->embedding),
                             o->position != NULL ? model_build_param(b, o->position)
                                                 : KERN_NO_VALUE};
    return kern_graph_apply(b->graph, KERN_OP_EMBED, &attr, in, NULL);
}

static kern_value build_logits(model_builder *b, kern_value x)
{
    const model_outer *o = model_family_get(b->config->family)->outer;
    const kern_norm_attr norm = {.kind = o->norm, .epsilon = b->config->norm_eps};
    const kern_value h = model_build_norm(b, x, o->norm_gain, o->norm_bias, norm, NULL);
    return model_build_linear(
        b, h, model_build_param(b, model_family_head(b->config)),
        o->head_bias != NULL ? model_build_param(b, o->head_bias) : KERN_NO_VALUE, KERN_NO_VALUE);
}

static kern_value build_loss(model_builder *b, kern_value logits)
{
    const kern_attr attr = {.cross_entropy = {.slot = MODEL_SLOT_TARGETS}};
    return kern_graph_apply(b->graph, KERN_OP_CROSS_ENTROPY, &attr, &logits, NULL);
}

static void keep_step(kern_graph *graph, const model_step *step)
{
    kern_graph_keep(graph, step->state);
    kern_graph_keep(graph, step->g);
    kern_graph_keep(graph, step->sigma);
    kern_graph_keep(graph, step->force);
    kern_graph_keep(graph, step->energy_attn);
    kern_graph_keep(graph, step->energy_ff);
}

static void keep_inner(kern_graph *graph, const model_inner *inner)
{
    for (size_t t = 0; t < inner->count; t++) {
        kern_graph_keep(graph, inner->x[t]);
        kern_graph_keep(graph, inner->energy[t]);
    }
}

static kern_value build_start(model_builder *b, model_graph *out, model_start start)
{
    if (start == MODEL_START_TOKENS) {
        return build_embedding(b);
    }
    out->input = kern_graph_input(b->graph, (kern_shape){b->batch * b->tokens, b->config->n_embed});
    return out->input;
}

/* The state after the last step has a g, a σ and energies too; its own next state is left unread.
 */
static void build_steps(model_builder *b, const model_family_ops *family, model_graph *out,
                        const model_graph_options *o)
{
    const bool has_energy = family->build_energy != NULL;
    const size_t extra = o->energies && has_energy ? 1 : 0;
    for (size_t t = 0; t < o->steps + extra; t++) {
        b->inner = out->inner != NULL ? &out->inner[t * MODEL_LAYER_PARTS] : NULL;
        kern_graph_begin_segment(b->graph);
        out->steps[t] = family->build_step(b, out->states[t], t);
        if (t < o->steps) {
            out->states[t + 1] = out->steps[t].state;
        }
        if (o->keep_steps) {
            out->steps[t].state = t < o->steps ? out->steps[t].state : KERN_NO_VALUE;
            keep_step(b->graph, &out->steps[t]);
        }
        for (size_t i = 0; b->inner != NULL && i < MODEL_LAYER_PARTS; i++) {
            keep_inner(b->graph, &b->inner[i]);
        }
    }
    kern_graph_end_segment(b->graph);
}

static void build_all(model_builder *b, const model *m, model_graph *out,
                      const model_graph_options *o)
{
    const model_family_ops *family = model_family_get(m->config.family);
    out->states[0] = build_start(b, out, o->start);
    if (o->keep_steps) {
        kern_graph_keep(b->graph, out->states[0]);
    }
    if (o->start == MODEL_START_G) {
        out->steps[0] = family->build_energy(b, out->input);
        keep_step(b->graph, &out->steps[0]);
        return;
    }
    build_steps(b, family, out, o);
    kern_graph_keep(b->graph, out->states[o->steps]);
    if (o->readout || o->loss) {
        out->logits = build_logits(b, out->states[o->steps]);
    }
    if (o->readout) {
        kern_graph_keep(b->graph, out->logits);
    }
    if (o->loss) {
        out->nll = build_loss(b, out->logits);
        kern_graph_keep(b->graph, out->nll);
    }
}

/* Entries that a part of a layer may write. */
static size_t inner_room(const model_config *c, const model_graph_options *o)
{
    const size_t attn = o->t_attn != 0 ? o->t_attn : c->cem.t_attn;
    const size_t mlp = o->t_mlp != 0 ? o->t_mlp : c->cem.t_mlp;
    const size_t most =
        kern_size_max(kern_size_max(attn, o->inner_attn), kern_size_max(mlp, o->inner_mlp));
    return kern_size_max(most, c->hourglass.k) + 1;
}

static kern_status allocate_inner(model_graph *out, const model_config *c,
                                  const model_graph_options *o, kern_error *err)
{
    const size_t parts = o->steps * MODEL_LAYER_PARTS;
    const size_t room = inner_room(c, o);
    if (!o->keep_inner || !model_config_is_stack(c) || o->start == MODEL_START_G) {
        return KERN_OK;
    }
    out->inner = calloc(parts + 1, sizeof *out->inner);
    out->inner_values = calloc(2 * parts * room + 1, sizeof *out->inner_values);
    if (out->inner == NULL || out->inner_values == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the iterates of %zu layers",
                          o->steps);
    }
    for (size_t i = 0; i < parts; i++) {
        out->inner[i] = (model_inner){.room = room,
                                      .x = out->inner_values + 2 * i * room,
                                      .energy = out->inner_values + (2 * i + 1) * room};
    }
    return KERN_OK;
}

static kern_status allocate(model_graph *out, size_t steps, kern_error *err)
{
    *out = (model_graph){
        .n_steps = steps, .logits = KERN_NO_VALUE, .nll = KERN_NO_VALUE, .input = KERN_NO_VALUE};
    KERN_TRY(kern_graph_create(&out->graph, err));
    out->steps = calloc(steps + 1, sizeof *out->steps);
    out->states = calloc(steps + 1, sizeof *out->states);
    if (out->steps == NULL || out->states == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a graph of %zu steps", steps);
    }
    for (size_t t = 0; t <= steps; t++) {
        out->steps[t] = no_step;
        out->states[t] = KERN_NO_VALUE;
    }
    return KERN_OK;
}

kern_status model_graph_init(model_graph *out, const model *m, const model_graph_options *options,
                             kern_error *err)
{
    *out = (model_graph){0};
    KERN_TRY(check_options(m, options, err));
    kern_status status = allocate(out, options->start == MODEL_START_G ? 0 : options->steps, err);
    if (status == KERN_OK) {
        status = allocate_inner(out, &m->config, options, err);
    }
    if (status == KERN_OK) {
        model_builder b = {.graph = out->graph,
                           .config = &m->config,
                           .params = &m->params,
                           .batch = options->batch,
                           .tokens = options->tokens,
                           .t_attn = options->t_attn,
                           .t_mlp = options->t_mlp,
                           .inner_attn = options->inner_attn,
                           .inner_mlp = options->inner_mlp,
                           .energies = options->energies || options->start == MODEL_START_G};
        build_all(&b, m, out, options);
        status = kern_graph_finish(out->graph, err);
    }
    if (status != KERN_OK) {
        model_graph_fini(out);
    }
    return status;
}

void model_graph_fini(model_graph *g)
{
    kern_graph_destroy(g->graph);
    free(g->steps);
    free(g->states);
    free(g->inner);
    free(g->inner_values);
    *g = (model_graph){0};
}
