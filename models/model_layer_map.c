/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_layer_map.h"

#include "models/model_bottleneck.h"
#include "models/model_cem.h"
#include "models/model_layer_private.h"
#include "models/model_scaled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a history is made of, as inputs of the step's graph. */
enum { HISTORY_C, HISTORY_KEYS, HISTORY_VALUES, HISTORY_START, HISTORY_PARTS };

enum { LAYER_NAME = 64 };

typedef struct layer_map {
    model_scaled base; /* first: what the shared functions see */
    const model *m;
    size_t layer;
    model_layer_part part;
    kern_value energy; /* rows × 1, or KERN_NO_VALUE */
    kern_value history[HISTORY_PARTS];
    model_bottleneck *bottleneck; /* owned; NULL without */
    double *h;                    /* the part's input; owned, tokens × D */
    char name[LAYER_NAME];
} layer_map;

static void layer_map_destroy(layer_map *l)
{
    if (l != NULL) {
        model_scaled_fini(&l->base);
        model_bottleneck_destroy(l->bottleneck);
        free(l->h);
        free(l);
    }
}

/* ---- the map's functions ----------------------------------------------------------------------
 */

static void block_energies(dyn_map *map, const double *x, double *energies)
{
    const layer_map *l = map->data;
    memcpy(energies, model_map_observe(l->base.block, x, l->energy),
           map->block_count * sizeof *energies);
}

/* With a scaled update J = I + s U C. */
static void block_factors(dyn_map *map, const double *x, size_t block, double *u, double *c)
{
    const layer_map *l = map->data;
    const size_t d = map->block_width;
    model_bottleneck_evaluate(l->bottleneck, x + block * d, u, c);
    for (size_t i = 0; map->params[0] != 1.0 && i < d * map->block_rank; i++) {
        u[i] *= map->params[0];
    }
}

static void fini(dyn_map *map)
{
    layer_map_destroy(map->data);
}

/* ---- graphs -----------------------------------------------------------------------------------
 */

/* A descent step whose history is made of inputs shaped as `shapes` says; columns 0: absent. */
static kern_value build_step(layer_map *l, model_builder *b, const model_cem_energy *energy_of,
                             const kern_shape shapes[HISTORY_PARTS], kern_value input)
{
    for (size_t i = 0; i < HISTORY_PARTS; i++) {
        l->history[i] = shapes[i].cols > 0 ? kern_graph_input(b->graph, shapes[i]) : KERN_NO_VALUE;
    }
    model_cem_descent d = {.b = b,
                           .layer = l->layer,
                           .energy = energy_of,
                           .h = KERN_NO_VALUE,
                           .start = l->history[HISTORY_START],
                           .seen = KERN_NO_VALUE,
                           .history = {.c = l->history[HISTORY_C],
                                       .keys = l->history[HISTORY_KEYS],
                                       .values = l->history[HISTORY_VALUES]}};
    const kern_value next = model_cem_step(&d, input, false, &l->energy);
    kern_graph_keep(b->graph, l->energy);
    return next;
}

/* ---- construction -----------------------------------------------------------------------------
 */

/* The parts of a history, in the order of their numbers: where they are in the graph that makes
 * them, their shapes (no columns: absent) and numbers. */
typedef struct history {
    kern_value made[HISTORY_PARTS];
    kern_shape shapes[HISTORY_PARTS];
    double *values[HISTORY_PARTS]; /* owned */
} history;

static void history_fini(history *h)
{
    for (size_t i = 0; i < HISTORY_PARTS; i++) {
        free(h->values[i]);
    }
}

static kern_status history_reserve(history *h, kern_graph *graph, kern_error *err)
{
    KERN_TRY(kern_graph_finish(graph, err));
    for (size_t i = 0; i < HISTORY_PARTS; i++) {
        if (h->made[i] == KERN_NO_VALUE) {
            continue;
        }
        kern_graph_keep(graph, h->made[i]);
        h->shapes[i] = kern_graph_value_info(graph, h->made[i])->shape;
        h->values[i] = malloc((h->shapes[i].rows * h->shapes[i].cols + 1) * sizeof(double));
        if (h->values[i] == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for a history of %zu tokens",
                              h->shapes[i].rows);
        }
    }
    return KERN_OK;
}

/* Computes the history of the part's input. */
static kern_status history_make(history *h, const layer_map *l, const model_cem_energy *energy_of,
                                size_t tokens, kern_error *err)
{
    model_builder b;
    kern_value input;
    KERN_TRY(model__layer_begin(&b, l->m, tokens, false, &input, err));
    const model_cem_descent d = model_cem_begin(&b, l->layer, energy_of, input);
    const kern_value made[HISTORY_PARTS] = {[HISTORY_C] = d.history.c,
                                            [HISTORY_KEYS] = d.history.keys,
                                            [HISTORY_VALUES] = d.history.values,
                                            [HISTORY_START] = d.start};
    memcpy(h->made, made, sizeof made);
    const kern_status status = history_reserve(h, b.graph, err);
    if (status != KERN_OK) {
        kern_graph_destroy(b.graph);
        return status;
    }
    return model__layer_evaluate(l->m, b.graph, input, l->h, h->made, h->values, HISTORY_PARTS,
                                 err);
}

static kern_status build_descent(layer_map *l, const model_cem_energy *energy_of, const history *h,
                                 size_t tokens, kern_error *err)
{
    model_builder b;
    kern_value input;
    KERN_TRY(model__layer_begin(&b, l->m, tokens, true, &input, err));
    const kern_value next = build_step(l, &b, energy_of, h->shapes, input);
    KERN_TRY(model__layer_adopt(&l->base.block, &b, l->m, input, next, err));
    for (size_t i = 0; i < HISTORY_PARTS; i++) {
        if (l->history[i] != KERN_NO_VALUE) {
            model_map_set_input(l->base.block, l->history[i], h->values[i]);
        }
    }
    return KERN_OK;
}

static kern_status build_cem(layer_map *l, const model_cem_energy *energy_of, size_t tokens,
                             double *start, kern_error *err)
{
    history h = {.made = {0}};
    kern_status status = history_make(&h, l, energy_of, tokens, err);
    if (status == KERN_OK) {
        status = build_descent(l, energy_of, &h, tokens, err);
    }
    if (status == KERN_OK) {
        memcpy(start, h.values[HISTORY_START], tokens * l->m->config.n_embed * sizeof *start);
    }
    history_fini(&h);
    return status;
}

/* A part as a whole; its start is its input. */
static kern_status build_whole(layer_map *l, size_t tokens, double *start, kern_error *err)
{
    if (l->base.kind.block_factors != NULL) {
        KERN_TRY(model_bottleneck_create(&l->bottleneck, l->m, l->layer, err));
    }
    memcpy(start, l->h, tokens * l->m->config.n_embed * sizeof *start);
    return model__layer_part(&l->base.block, l->m, l->layer, l->part, tokens, err);
}

/* A norm in front of the whole update takes away the scale. That is so for a CEM step with the norm
 * in every step and nothing that looks at x itself, and for parts that read one normalised input.
 */
static dyn_gauge find_gauge(const model_config *c, model_layer_part part)
{
    const model_hourglass *hg = &c->hourglass;
    bool normed = true;
    if (model_cem_energy_of(c, part) != NULL) {
        normed = c->cem.norm == MODEL_PLACE_STEP && !(c->cem.confine > 0);
    } else if (part == MODEL_LAYER_FFN && c->ffn == MODEL_FFN_HOURGLASS) {
        const bool one = hg->parallel || hg->k == 1;
        normed = hg->norm == MODEL_SANDGLASS_B || hg->norm == MODEL_SANDGLASS_C ||
                 (hg->norm == MODEL_SANDGLASS_A && one);
    }
    return normed ? DYN_GAUGE_SCALE : DYN_GAUGE_NONE;
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err);

/* Rank of what the part adds to the identity, where that has a form of its own. */
static size_t find_rank(const model *m, size_t layer, model_layer_part part)
{
    return part == MODEL_LAYER_FFN ? model_bottleneck_rank(&m->config, layer) : 0;
}

static layer_map *reserve(const model *m, size_t layer, model_layer_part part, const double *h,
                          size_t tokens)
{
    const size_t size = tokens * m->config.n_embed;
    layer_map *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return NULL;
    }
    *l = (layer_map){.m = m, .layer = layer, .part = part, .energy = KERN_NO_VALUE};
    l->h = malloc((size + 1) * sizeof *l->h);
    if (l->h == NULL) {
        free(l);
        return NULL;
    }
    memcpy(l->h, h, size * sizeof *h);
    (void)snprintf(l->name, sizeof l->name, "%s layer %zu %s", model_config_family_name(&m->config),
                   layer, model_layer_part_word(part));
    model_scaled_init(&l->base, l->name, "x + step_scale (F(x) - x), F one step of a layer's part");
    l->base.trained = model_layer_map_steps(m, part);
    l->base.kind.clone = clone;
    l->base.kind.fini = fini;
    if (model_cem_energy_of(&m->config, part) != NULL) {
        model_scaled_add_energy(&l->base, block_energies);
    }
    if (find_rank(m, layer, part) > 0) {
        l->base.kind.block_factors = block_factors;
    }
    return l;
}

kern_status model_layer_map_create_at(dyn_map **out, const model *m, size_t layer,
                                      model_layer_part part, const double *h, size_t tokens,
                                      kern_error *err)
{
    *out = NULL;
    KERN_TRY(model__layer_check(m, layer, tokens, err));
    const model_cem_energy *energy_of = model_cem_energy_of(&m->config, part);
    layer_map *l = reserve(m, layer, part, h, tokens);
    if (l == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a map of %zu tokens", tokens);
    }
    kern_status status = model_scaled_create(out, &l->base, tokens, m->config.n_embed, err);
    if (status != KERN_OK) {
        layer_map_destroy(l);
        return status;
    }
    (*out)->gauge = find_gauge(&m->config, part);
    (*out)->block_rank = find_rank(m, layer, part);
    status = energy_of != NULL ? build_cem(l, energy_of, tokens, (*out)->start, err)
                               : build_whole(l, tokens, (*out)->start, err);
    if (status != KERN_OK) {
        dyn_map_destroy(*out);
        *out = NULL;
    }
    return status;
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    const layer_map *l = map->data;
    KERN_TRY(model_layer_map_create_at(out, l->m, l->layer, l->part, l->h, map->block_count, err));
    model_scaled_copy(*out, map);
    return KERN_OK;
}

kern_status model_layer_map_create(dyn_map **out, const model *m, size_t layer,
                                   model_layer_part part, const int32_t *ids, size_t tokens,
                                   kern_error *err)
{
    *out = NULL;
    KERN_TRY(model__layer_check(m, layer, tokens, err));
    double *h = malloc((tokens * m->config.n_embed + 1) * sizeof *h);
    if (h == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a prompt of %zu tokens", tokens);
    }
    kern_status status = model_layer_input(m, layer, part, ids, tokens, h, err);
    if (status == KERN_OK) {
        status = model_layer_map_create_at(out, m, layer, part, h, tokens, err);
    }
    free(h);
    return status;
}

size_t model_layer_map_steps(const model *m, model_layer_part part)
{
    const bool attn = part == MODEL_LAYER_ATTN;
    if (model_cem_energy_of(&m->config, part) == NULL) {
        return 1;
    }
    return attn ? m->config.cem.t_attn : m->config.cem.t_mlp;
}
