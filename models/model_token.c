/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_token.h"

#include "kernels/kern_size.h"
#include "models/model_family.h"
#include "models/model_layer_private.h"
#include "models/model_scaled.h"

#include <stdlib.h>
#include <string.h>

typedef struct token_map {
    model_scaled base; /* first: what the shared functions see */
    const model *m;
    size_t token;
    kern_shape shape;        /* of the prefix's keys */
    double *keys;            /* owned */
    model__layer_run energy; /* of the token's energies; owned, like what follows */
    kern_value input, energy_attn, energy_ff; /* in its graph */
    double scale_ff;
} token_map;

static void token_map_destroy(token_map *t)
{
    if (t != NULL) {
        model_scaled_fini(&t->base);
        model__layer_run_fini(&t->energy);
        free(t->keys);
        free(t);
    }
}

static void fini(dyn_map *map)
{
    token_map_destroy(map->data);
}

static void block_energies(dyn_map *map, const double *x, double *energies)
{
    const token_map *t = map->data;
    const kern_run run = {.params = t->m->values};
    memcpy(kern_exec_value(t->energy.exec, t->input), x, map->size * sizeof *x);
    kern_exec_forward(t->energy.exec, &run);
    const double *attention = kern_exec_value(t->energy.exec, t->energy_attn);
    const double *forward = kern_exec_value(t->energy.exec, t->energy_ff);
    energies[0] = *attention + t->scale_ff * *forward;
}

/* Keys of the tokens before this one. */
static kern_status find_keys(token_map *t, const double *state, kern_error *err)
{
    model_builder b;
    kern_value input;
    size_t numbers;
    if (t->token == 0) {
        return KERN_OK;
    }
    KERN_TRY(model__layer_begin(&b, t->m, t->token, false, &input, err));
    const kern_value keys = model_nrgpt_keys(&b, input);
    kern_graph_keep(b.graph, keys);
    kern_status status = kern_graph_finish(b.graph, err);
    if (status == KERN_OK) {
        t->shape = kern_graph_value_info(b.graph, keys)->shape;
        if (kern_size_mul(t->shape.rows, t->shape.cols, &numbers)) {
            t->keys = calloc(numbers, sizeof *t->keys);
        }
        status = t->keys != NULL ? KERN_OK
                                 : kern_raise(err, KERN_NO_MEMORY,
                                              "no memory for the keys of %zu tokens", t->token);
    }
    if (status != KERN_OK) {
        kern_graph_destroy(b.graph);
        return status;
    }
    return model__layer_evaluate(t->m, b.graph, input, state, &keys, &t->keys, 1, err);
}

/* One step of the token, with the prefix's keys as a second input, b->held. */
static kern_status build_step(const token_map *t, model_builder *b, bool energies,
                              kern_value *input, model_step *step, kern_error *err)
{
    KERN_TRY(model__layer_begin(b, t->m, 1, energies, input, err));
    b->alone = true;
    b->held = t->keys != NULL ? kern_graph_input(b->graph, t->shape) : KERN_NO_VALUE;
    *step = model_family_get(MODEL_NRGPT)->build_step(b, *input, 0);
    return KERN_OK;
}

static kern_status build(token_map *t, kern_error *err)
{
    model_builder b;
    model_step step;
    kern_value input;
    KERN_TRY(build_step(t, &b, false, &input, &step, err));
    KERN_TRY(model__layer_adopt(&t->base.block, &b, t->m, input, step.state, err));
    if (b.held != KERN_NO_VALUE) {
        model_map_set_input(t->base.block, b.held, t->keys);
    }
    return KERN_OK;
}

/* Energies have a graph of their own, so that steps do not pay for them. */
static kern_status build_energy(token_map *t, kern_error *err)
{
    const kern_plan_options forward = {.mode = KERN_MODE_FORWARD};
    const model_param *scale = model_params_find(&t->m->params, "blocks.scale_ff");
    model_builder b;
    model_step step;
    KERN_TRY(build_step(t, &b, true, &t->input, &step, err));
    kern_graph_keep(b.graph, step.energy_attn);
    kern_graph_keep(b.graph, step.energy_ff);
    KERN_TRY(model__layer_run_init(&t->energy, t->m, b.graph, &forward, err));
    if (b.held != KERN_NO_VALUE) {
        memcpy(kern_exec_value(t->energy.exec, b.held), t->keys,
               t->shape.rows * t->shape.cols * sizeof *t->keys);
    }
    t->energy_attn = step.energy_attn;
    t->energy_ff = step.energy_ff;
    t->scale_ff = scale != NULL ? model_value_get(t->m, scale->offset) : 1.0;
    model_scaled_add_energy(&t->base, block_energies);
    return KERN_OK;
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err);

/* Keys of `state`, or of another such map. */
static kern_status take_keys(token_map *t, const token_map *like, const double *state,
                             kern_error *err)
{
    if (state != NULL) {
        return find_keys(t, state, err);
    }
    if (like->keys == NULL) {
        return KERN_OK;
    }
    const size_t bytes = t->shape.rows * t->shape.cols * sizeof *t->keys;
    t->keys = malloc(bytes);
    if (t->keys == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the keys of %zu tokens", t->token);
    }
    memcpy(t->keys, like->keys, bytes);
    return KERN_OK;
}

/* A map without start. */
static kern_status make(dyn_map **out, const token_map *like, const double *state, kern_error *err)
{
    const model *m = like->m;
    *out = NULL;
    token_map *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a map");
    }
    *t = (token_map){.m = m, .token = like->token, .shape = like->shape};
    model_scaled_init(&t->base, model_config_family_name(&m->config),
                      "one block of the map, the other blocks held");
    t->base.trained = m->config.n_layer;
    t->base.kind.clone = clone;
    t->base.kind.fini = fini;
    kern_status status = take_keys(t, like, state, err);
    status = status == KERN_OK ? build(t, err) : status;
    status = status == KERN_OK ? build_energy(t, err) : status;
    status =
        status == KERN_OK ? model_scaled_create(out, &t->base, 1, m->config.n_embed, err) : status;
    if (status != KERN_OK) {
        token_map_destroy(t);
        return status;
    }
    (*out)->gauge = m->config.norm == MODEL_RMSNORM ? DYN_GAUGE_SCALE : DYN_GAUGE_SCALE_SHIFT;
    return KERN_OK;
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    KERN_TRY(make(out, map->data, NULL, err));
    model_scaled_copy(*out, map);
    return KERN_OK;
}

kern_status model_token_create(dyn_map **out, const model *m, const double *state, size_t token,
                               kern_error *err)
{
    const token_map like = {.m = m, .token = token};
    const size_t d = m->config.n_embed;
    *out = NULL;
    if (m->config.family != MODEL_NRGPT) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a %s has no map of one token; accepted is nrgpt",
                          model_config_family_name(&m->config));
    }
    if (m->backend->real_size != sizeof(double)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a map needs a double-precision model");
    }
    KERN_TRY(make(out, &like, state, err));
    memcpy((*out)->start, state + token * d, d * sizeof *state);
    return KERN_OK;
}
