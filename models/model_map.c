/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_map.h"

#include "kernels/kern_exec.h"
#include "kernels/kern_memory.h"
#include "kernels/kern_size.h"
#include "models/model_graph.h"

#include <stdlib.h>
#include <string.h>

/* Rows of tangents that go through the block together: enough for the matrix products to run at
 * their full rate, and few enough for what they write to stay in the second-level cache. */
enum { TANGENT_ROWS = 256 };

/* Place of the weights P among what an attention or interaction puts out (kern_op.h). */
enum { WEIGHTS_OUT = 3 };

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
    size_t tangents;   /* that the execution carries at a time */
    kern_graph *graph; /* owned */
    kern_value input;
    kern_value output;
    kern_value weights; /* of its one attention, heads × tokens × tokens; or KERN_NO_VALUE */
    size_t heads;
    double *packed;
    kern_plan *jvp_plan;
    kern_plan *vjp_plan;
    kern_exec *jvp;
    kern_exec *vjp;
};

static kern_status pack_weights(model_map *map, kern_error *err)
{
    map->packed = kern_memory_create(kern_graph_pack_count(map->graph), sizeof *map->packed);
    if (map->packed == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a map of %zu numbers", map->size);
    }
    kern_graph_pack(map->graph, map->m->backend, map->packed, map->m->values, 1);
    return KERN_OK;
}

static kern_status build_executions(model_map *map, kern_error *err)
{
    const kern_plan_options jvp = {
        .mode = KERN_MODE_JVP, .wrt = &map->input, .n_wrt = 1, .tangents = map->tangents};
    const kern_plan_options vjp = {
        .mode = KERN_MODE_VJP, .wrt = &map->input, .n_wrt = 1, .seeds = &map->output, .n_seeds = 1};
    KERN_TRY(kern_plan_create(&map->jvp_plan, map->graph, &jvp, err));
    KERN_TRY(kern_plan_create(&map->vjp_plan, map->graph, &vjp, err));
    KERN_TRY(kern_exec_create(&map->jvp, map->jvp_plan, map->m->backend, 1, err));
    return kern_exec_create(&map->vjp, map->vjp_plan, map->m->backend, 1, err);
}

static kern_status check_precision(const model *m, kern_error *err)
{
    return m->backend->real_size == sizeof(double)
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT, "a map needs a double-precision model");
}

/* Keeps the weights of the graph's attention; they are in memory anyway, for its derivatives. */
static void keep_weights(model_map *map)
{
    size_t found = 0;
    map->weights = KERN_NO_VALUE;
    for (size_t i = 0; i < kern_graph_node_count(map->graph); i++) {
        const kern_node *node = kern_graph_node(map->graph, i);
        if (node->op == KERN_OP_ATTENTION || node->op == KERN_OP_INTERACTION) {
            map->weights = node->out[WEIGHTS_OUT];
            map->heads = node->attr.attention.heads;
            found++;
        }
    }
    if (found == 1) {
        kern_graph_keep(map->graph, map->weights);
    } else {
        map->weights = KERN_NO_VALUE;
        map->heads = 0;
    }
}

kern_status model_map_adopt(model_map **out, const model *m, kern_graph *graph, kern_value input,
                            kern_value output, size_t tokens, kern_error *err)
{
    *out = NULL;
    kern_status status = check_precision(m, err);
    model_map *map = status == KERN_OK ? calloc(1, sizeof *map) : NULL;
    if (map == NULL) {
        kern_graph_destroy(graph);
        return status != KERN_OK ? status : kern_raise(err, KERN_NO_MEMORY, "no memory for a map");
    }
    map->m = m;
    map->graph = graph;
    map->input = input;
    map->output = output;
    map->size = tokens * m->config.n_embed;
    map->tangents = choose_tangents(tokens);
    keep_weights(map);
    status = pack_weights(map, err);
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

kern_status model_map_create(model_map **out, const model *m, size_t tokens, kern_error *err)
{
    const model_graph_options options = {
        .batch = 1, .tokens = tokens, .steps = 1, .start = MODEL_START_STATE};
    model_graph graph;
    *out = NULL;
    KERN_TRY(check_precision(m, err));
    if (model_config_has_layers(&m->config)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a %s with distinct blocks is not an iterated map; accepted are nrgpt, "
                          "gpt-rec, gpt-rec-parallel",
                          model_config_family_name(&m->config));
    }
    KERN_TRY(model_graph_init(&graph, m, &options, err));
    kern_graph *net = graph.graph;
    const kern_value input = graph.input;
    const kern_value output = graph.states[1];
    graph.graph = NULL; /* handed on */
    model_graph_fini(&graph);
    return model_map_adopt(out, m, net, input, output, tokens, err);
}

void model_map_destroy(model_map *map)
{
    if (map != NULL) {
        kern_exec_destroy(map->jvp);
        kern_exec_destroy(map->vjp);
        kern_plan_destroy(map->jvp_plan);
        kern_plan_destroy(map->vjp_plan);
        kern_graph_destroy(map->graph);
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

void model_map_set_input(model_map *map, kern_value input, const double *values)
{
    const kern_shape shape = kern_graph_value_info(map->graph, input)->shape;
    const size_t bytes = shape.rows * shape.cols * sizeof *values;
    memcpy(kern_exec_value(map->jvp, input), values, bytes);
    memcpy(kern_exec_value(map->vjp, input), values, bytes);
}

const double *model_map_observe(model_map *map, const double *x, kern_value value)
{
    const kern_run run = run_of(map);
    copy(kern_exec_value(map->vjp, map->input), x, map);
    kern_exec_forward(map->vjp, &run);
    return kern_exec_value(map->vjp, value);
}

size_t model_map_heads(const model_map *map)
{
    return map->heads;
}

const double *model_map_attention(model_map *map, const double *x)
{
    return map->heads > 0 ? model_map_observe(map, x, map->weights) : NULL;
}

void model_map_step(model_map *map, const double *x, double *y)
{
    const kern_run run = run_of(map);
    copy(kern_exec_value(map->vjp, map->input), x, map);
    kern_exec_forward(map->vjp, &run);
    copy(y, kern_exec_value(map->vjp, map->output), map);
}

void model_map_jvp(model_map *map, const double *x, const double *v, double *y, double *jv)
{
    model_map_jvp_many(map, x, 1, v, false, y, jv);
}

void model_map_jvp_many(model_map *map, const double *x, size_t k, const double *v, bool own_tokens,
                        double *y, double *jv)
{
    kern_run run = run_of(map);
    double *in = kern_exec_derivative(map->jvp, map->input);
    const double *out = kern_exec_derivative(map->jvp, map->output);
    run.bindings.own_rows = own_tokens;
    copy(kern_exec_value(map->jvp, map->input), x, map);
    kern_exec_forward(map->jvp, &run);
    for (size_t i = 0; i < k; i += map->tangents) {
        const size_t count = kern_size_min(map->tangents, k - i);
        memcpy(in, v + i * map->size, count * map->size * sizeof *in);
        kern_exec_tangents(map->jvp, &run, count);
        memcpy(jv + i * map->size, out, count * map->size * sizeof *out);
    }
    if (y != NULL) { /* last, since it may be v */
        copy(y, kern_exec_value(map->jvp, map->output), map);
    }
}

void model_map_vjp(model_map *map, const double *x, const double *w, double *jtw)
{
    const kern_run run = run_of(map);
    copy(kern_exec_value(map->vjp, map->input), x, map);
    kern_exec_forward(map->vjp, &run);
    copy(kern_exec_derivative(map->vjp, map->output), w, map);
    kern_exec_backward(map->vjp, &run);
    copy(jtw, kern_exec_derivative(map->vjp, map->input), map);
}
