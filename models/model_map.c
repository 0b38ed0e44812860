/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_map.h"

#include "kernels/kern_exec.h"
#include "kernels/kern_size.h"
#include "models/model_graph.h"

#include <stdlib.h>
#include <string.h>

/* Rows of tangents that go through the block together: enough for the matrix products to run at
 * their full rate, and few enough for what they write to stay in the second-level cache. */
enum { TANGENT_ROWS = 256 };

/* A power of two that keeps to that, so that groups of MODEL_MAP_GROUP tangents are whole. */
static size_t choose_tangents(size_t tokens)
{
    size_t tangents = MODEL_MAP_GROUP;
    while (tangents > 1 && tangents * tokens > TANGENT_ROWS) {
        tangents /= 2;
    }
    return tangents;
}

struct model_map {
    const model *m;
    size_t size;
    size_t tangents; /* that the execution carries at a time */
    model_graph graph;
    double *packed;
    kern_plan *jvp_plan;
    kern_plan *vjp_plan;
    kern_exec *jvp;
    kern_exec *vjp;
};

static kern_status build_graph(model_map *map, size_t tokens, kern_error *err)
{
    const model_graph_options options = {
        .batch = 1, .tokens = tokens, .steps = 1, .start = MODEL_START_STATE};
    KERN_TRY(model_graph_init(&map->graph, map->m, &options, err));
    const size_t pack = kern_graph_pack_count(map->graph.graph) + 8;
    map->packed = aligned_alloc(64, kern_size_round_up(pack * sizeof(double), 64));
    if (map->packed == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a map of %zu numbers", map->size);
    }
    kern_graph_pack(map->graph.graph, map->m->backend, map->packed, map->m->values, 1);
    return KERN_OK;
}

static kern_status build_executions(model_map *map, kern_error *err)
{
    const kern_plan_options jvp = {
        .mode = KERN_MODE_JVP, .wrt = &map->graph.input, .n_wrt = 1, .tangents = map->tangents};
    const kern_plan_options vjp = {.mode = KERN_MODE_VJP,
                                   .wrt = &map->graph.input,
                                   .n_wrt = 1,
                                   .seeds = &map->graph.states[1],
                                   .n_seeds = 1};
    KERN_TRY(kern_plan_create(&map->jvp_plan, map->graph.graph, &jvp, err));
    KERN_TRY(kern_plan_create(&map->vjp_plan, map->graph.graph, &vjp, err));
    KERN_TRY(kern_exec_create(&map->jvp, map->jvp_plan, map->m->backend, 1, err));
    return kern_exec_create(&map->vjp, map->vjp_plan, map->m->backend, 1, err);
}

kern_status model_map_create(model_map **out, const model *m, size_t tokens, kern_error *err)
{
    *out = NULL;
    if (m->backend->real_size != sizeof(double)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a map needs a double-precision model");
    }
    if (m->config.family == MODEL_GPT && !m->config.recurrent) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a gpt with distinct blocks is not an iterated map; accepted are nrgpt, "
                          "gpt-rec, gpt-rec-parallel");
    }
    model_map *map = calloc(1, sizeof *map);
    if (map == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a map");
    }
    map->m = m;
    map->size = tokens * m->config.n_embed;
    map->tangents = choose_tangents(tokens);
    kern_status status = build_graph(map, tokens, err);
    if (status == KERN_OK) {
        status = build_executions(map, err);
    }
    if (status != KERN_OK) {
        model_map_destroy(map);
        return status;
    }
    *out = map;
    return KERN_OK;
}

void model_map_destroy(model_map *map)
{
    if (map != NULL) {
        kern_exec_destroy(map->jvp);
        kern_exec_destroy(map->vjp);
        kern_plan_destroy(map->jvp_plan);
        kern_plan_destroy(map->vjp_plan);
        model_graph_fini(&map->graph);
        free(map->packed);
        free(map);
    }
}

size_t model_map_size(const model_map *map)
{
    return map->size;
}

static kern_run run_of(const model_map *map)
{
    return (kern_run){.params = map->m->values, .packed = map->packed};
}

static void copy(double *to, const double *from, const model_map *map)
{
    memcpy(to, from, map->size * sizeof *to);
}

void model_map_step(model_map *map, const double *x, double *y)
{
    const kern_run run = run_of(map);
    copy(kern_exec_value(map->vjp, map->graph.input), x, map);
    kern_exec_forward(map->vjp, &run);
    copy(y, kern_exec_value(map->vjp, map->graph.states[1]), map);
}

void model_map_jvp(model_map *map, const double *x, const double *v, double *y, double *jv)
{
    model_map_jvp_many(map, x, 1, v, false, y, jv);
}

void model_map_jvp_many(model_map *map, const double *x, size_t k, const double *v, bool own_tokens,
                        double *y, double *jv)
{
    kern_run run = run_of(map);
    double *in = kern_exec_derivative(map->jvp, map->graph.input);
    const double *out = kern_exec_derivative(map->jvp, map->graph.states[1]);
    run.bindings.own_rows = own_tokens;
    copy(kern_exec_value(map->jvp, map->graph.input), x, map);
    kern_exec_forward(map->jvp, &run);
    for (size_t i = 0; i < k; i += map->tangents) {
        const size_t count = kern_size_min(map->tangents, k - i);
        memcpy(in, v + i * map->size, count * map->size * sizeof *in);
        kern_exec_tangents(map->jvp, &run, count);
        memcpy(jv + i * map->size, out, count * map->size * sizeof *out);
    }
    if (y != NULL) { /* last, since it may be v */
        copy(y, kern_exec_value(map->jvp, map->graph.states[1]), map);
    }
}

void model_map_vjp(model_map *map, const double *x, const double *w, double *jtw)
{
    const kern_run run = run_of(map);
    copy(kern_exec_value(map->vjp, map->graph.input), x, map);
    kern_exec_forward(map->vjp, &run);
    copy(kern_exec_derivative(map->vjp, map->graph.states[1]), w, map);
    kern_exec_backward(map->vjp, &run);
    copy(jtw, kern_exec_derivative(map->vjp, map->graph.input), map);
}
