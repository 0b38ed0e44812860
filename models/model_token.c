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
    kern_shape shape; /* of the prefix's keys */
    double *keys;     /* owned */
} token_map;

static void token_map_destroy(token_map *t)
{
    if (t != NULL) {
        model_scaled_fini(&t->base);
        free(t->keys);
        free(t);
    }
}

static void fini(dyn_map *map)
{
    token_map_destroy(map->data);
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

/* One step of the token, with the prefix's keys as a second input. */
static kern_status build(token_map *t, kern_error *err)
{
    model_builder b;
    kern_value input;
    KERN_TRY(model__layer_begin(&b, t->m, 1, false, &input, err));
    b.alone = true;
    b.held = t->keys != NULL ? kern_graph_input(b.graph, t->shape) : KERN_NO_VALUE;
    const kern_value held = b.held;
    const kern_value next = model_family_get(MODEL_NRGPT)->build_step(&b, input, 0).state;
    KERN_TRY(model__layer_adopt(&t->base.block, &b, t->m, input, next, err));
    if (held != KERN_NO_VALUE) {
        model_map_set_input(t->base.block, held, t->keys);
    }
    return KERN_OK;
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err);

/* A map without start; its keys are those of `state`, or of another such map. */
static kern_status make(dyn_map **out, const token_map *like, const double *state, kern_error *err)
{
    const model *m = like->m;
    *out = NULL;
    token_map *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a map");
    }
    *t = (token_map){.m = m, .token = like->token, .shape = like->shape};
    model_scaled_init(&t->base, "nrgpt token", "x + step_scale (F(x) - x), F a token's own step");
    t->base.trained = m->config.n_layer;
    t->base.kind.clone = clone;
    t->base.kind.fini = fini;
    kern_status status = KERN_OK;
    if (state != NULL) {
        status = find_keys(t, state, err);
    } else if (like->keys != NULL) {
        const size_t bytes = t->shape.rows * t->shape.cols * sizeof *t->keys;
        t->keys = malloc(bytes);
        if (t->keys != NULL) {
            memcpy(t->keys, like->keys, bytes);
        } else {
            status =
                kern_raise(err, KERN_NO_MEMORY, "no memory for the keys of %zu tokens", t->token);
        }
    }
    status = status == KERN_OK ? build(t, err) : status;
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
