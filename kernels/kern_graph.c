/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_graph.h"

#include "kernels/kern_pack.h"
#include "kernels/kern_size.h"

#include <stdlib.h>
#include <string.h>

/* Weights up to this many reals are packed; beyond, copying costs memory and gains nothing
 * measurable. */
enum { PACK_LIMIT = 1 << 23 };

struct kern_graph {
    kern_value_info *values;
    size_t n_values;
    size_t value_room;
    kern_node *nodes;
    size_t n_nodes;
    size_t node_room;
    size_t pack_count;
    size_t segment;      /* current one, 0 for none */
    bool shared;         /* the current one is read by several */
    size_t last_segment; /* highest number given out */
    kern_error error;    /* first failure */
};

kern_status kern_graph_create(kern_graph **out, kern_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a graph");
    }
    return KERN_OK;
}

void kern_graph_destroy(kern_graph *graph)
{
    if (graph != NULL) {
        free(graph->values);
        free(graph->nodes);
        free(graph);
    }
}

static bool graph_failed(const kern_graph *graph)
{
    return graph->error.status != KERN_OK;
}

/* Doubles `*items` when it is full. */
static bool grow(kern_graph *graph, void **items, size_t *room, size_t used, size_t item_size)
{
    if (used < *room) {
        return true;
    }
    const size_t next = *room == 0 ? 64 : 2 * *room;
    void *grown = realloc(*items, next * item_size);
    if (grown == NULL) {
        (void)kern_raise(&graph->error, KERN_NO_MEMORY, "no memory for a graph of %zu items", next);
        return false;
    }
    *items = grown;
    *room = next;
    return true;
}

static kern_value add_value(kern_graph *graph, kern_value_info info)
{
    size_t count;
    if (graph_failed(graph)) {
        return KERN_NO_VALUE;
    }
    if (!kern_size_mul(info.shape.rows, info.shape.cols, &count) || count > SIZE_MAX / 16) {
        (void)kern_raise(&graph->error, KERN_OVERFLOW, "a %zu × %zu matrix is too large",
                         info.shape.rows, info.shape.cols);
        return KERN_NO_VALUE;
    }
    void *items = graph->values;
    if (!grow(graph, &items, &graph->value_room, graph->n_values, sizeof *graph->values)) {
        return KERN_NO_VALUE;
    }
    graph->values = items;
    graph->values[graph->n_values] = info;
    return graph->n_values++;
}

kern_value kern_graph_input(kern_graph *graph, kern_shape shape)
{
    return add_value(graph, (kern_value_info){.shape = shape,
                                              .role = KERN_ROLE_INPUT,
                                              .pack_offset = SIZE_MAX,
                                              .node = SIZE_MAX,
                                              .kept = true});
}

/* The value of a parameter that was added before, or KERN_NO_VALUE. */
static kern_value find_param(const kern_graph *graph, size_t offset, kern_shape shape)
{
    for (kern_value v = 0; v < graph->n_values; v++) {
        const kern_value_info *info = &graph->values[v];
        if (info->role == KERN_ROLE_PARAM && info->param_offset == offset &&
            info->shape.rows == shape.rows && info->shape.cols == shape.cols) {
            return v;
        }
    }
    return KERN_NO_VALUE;
}

kern_value kern_graph_param(kern_graph *graph, size_t offset, kern_shape shape)
{
    const kern_value known = graph_failed(graph) ? KERN_NO_VALUE : find_param(graph, offset, shape);
    if (known != KERN_NO_VALUE) {
        return known;
    }
    return add_value(graph, (kern_value_info){.shape = shape,
                                              .role = KERN_ROLE_PARAM,
                                              .param_offset = offset,
                                              .pack_offset = SIZE_MAX,
                                              .node = SIZE_MAX});
}

/* Checks that required inputs are there and that no value is used twice; fills the shapes. */
static bool check_inputs(kern_graph *graph, const kern_op *op, const kern_value *in,
                         kern_shape *shapes)
{
    for (size_t i = 0; i < op->n_in; i++) {
        shapes[i] = (kern_shape){0, 0};
        if (in[i] == KERN_NO_VALUE) {
            if ((op->optional_in >> i & 1U) == 0) {
                (void)kern_raise(&graph->error, KERN_INVALID_ARGUMENT,
                                 "operation %s lacks its input %zu", op->name, i);
                return false;
            }
            continue;
        }
        if (in[i] >= graph->n_values) {
            (void)kern_raise(&graph->error, KERN_INVALID_ARGUMENT,
                             "operation %s takes value %zu of a graph that has %zu", op->name,
                             in[i], graph->n_values);
            return false;
        }
        shapes[i] = graph->values[in[i]].shape;
        for (size_t j = 0; j < i; j++) {
            if (in[j] == in[i]) {
                (void)kern_raise(&graph->error, KERN_INVALID_ARGUMENT,
                                 "operation %s takes one value as inputs %zu and %zu", op->name, j,
                                 i);
                return false;
            }
        }
    }
    return true;
}

/* A linear operation multiplies by its weight in both orientations; the copy makes each of them the
 * fast one. */
static void request_pack(kern_graph *graph, kern_op_id op, const kern_value *in)
{
    if (op != KERN_OP_LINEAR) {
        return;
    }
    kern_value_info *weight = &graph->values[in[1]];
    const size_t count = weight->shape.rows * weight->shape.cols;
    if (weight->role == KERN_ROLE_PARAM && weight->pack_offset == SIZE_MAX && count <= PACK_LIMIT) {
        weight->pack_offset = graph->pack_count;
        graph->pack_count += kern_pack_size(weight->shape.rows, weight->shape.cols);
    }
}

static bool add_node(kern_graph *graph, const kern_node *node)
{
    void *items = graph->nodes;
    if (!grow(graph, &items, &graph->node_room, graph->n_nodes, sizeof *graph->nodes)) {
        return false;
    }
    graph->nodes = items;
    graph->nodes[graph->n_nodes++] = *node;
    return true;
}

kern_value kern_graph_apply(kern_graph *graph, kern_op_id id, const kern_attr *attr,
                            const kern_value *in, kern_value *out)
{
    const kern_op *op = kern_op_get(id);
    kern_shape in_shapes[KERN_MAX_IN];
    kern_shape out_shapes[KERN_MAX_OUT] = {{0, 0}};
    kern_node node = {.op = id, .attr = *attr, .segment = graph->segment, .shared = graph->shared};
    for (size_t j = 0; out != NULL && j < op->n_out; j++) {
        out[j] = KERN_NO_VALUE;
    }
    if (graph_failed(graph) || !check_inputs(graph, op, in, in_shapes)) {
        return KERN_NO_VALUE;
    }
    if (op->infer(attr, in_shapes, out_shapes, &graph->error) != KERN_OK) {
        return KERN_NO_VALUE;
    }
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        node.in[i] = i < op->n_in ? in[i] : KERN_NO_VALUE;
    }
    for (size_t j = 0; j < KERN_MAX_OUT; j++) {
        node.out[j] = KERN_NO_VALUE;
        if (j < op->n_out) {
            node.out[j] = add_value(graph, (kern_value_info){.shape = out_shapes[j],
                                                             .role = KERN_ROLE_RESULT,
                                                             .pack_offset = SIZE_MAX,
                                                             .node = graph->n_nodes});
        }
    }
    request_pack(graph, id, in);
    if (graph_failed(graph) || !add_node(graph, &node)) {
        return KERN_NO_VALUE;
    }
    if (out != NULL) {
        memcpy(out, node.out, op->n_out * sizeof *out);
    }
    return node.out[0];
}

void kern_graph_keep(kern_graph *graph, kern_value value)
{
    if (!graph_failed(graph) && value < graph->n_values) {
        graph->values[value].kept = true;
    }
}

void kern_graph_begin_segment(kern_graph *graph)
{
    graph->segment = ++graph->last_segment;
    graph->shared = false;
}

void kern_graph_begin_shared_segment(kern_graph *graph)
{
    kern_graph_begin_segment(graph);
    graph->shared = true;
}

void kern_graph_end_segment(kern_graph *graph)
{
    graph->segment = 0;
    graph->shared = false;
}

kern_status kern_graph_finish(const kern_graph *graph, kern_error *err)
{
    if (graph_failed(graph)) {
        return kern_raise(err, graph->error.status, "%s", graph->error.text);
    }
    return KERN_OK;
}

size_t kern_graph_value_count(const kern_graph *graph)
{
    return graph->n_values;
}

size_t kern_graph_node_count(const kern_graph *graph)
{
    return graph->n_nodes;
}

const kern_value_info *kern_graph_value_info(const kern_graph *graph, kern_value value)
{
    return &graph->values[value];
}

const kern_node *kern_graph_node(const kern_graph *graph, size_t node)
{
    return &graph->nodes[node];
}

double kern_graph_node_flops(const kern_graph *graph, size_t index)
{
    const kern_node *node = &graph->nodes[index];
    const kern_op *op = kern_op_get(node->op);
    kern_shape in[KERN_MAX_IN] = {{0, 0}};
    kern_shape out[KERN_MAX_OUT] = {{0, 0}};
    if (op->flops == NULL) {
        return 0;
    }
    for (size_t j = 0; j < op->n_in; j++) {
        if (node->in[j] != KERN_NO_VALUE) {
            in[j] = graph->values[node->in[j]].shape;
        }
    }
    for (size_t j = 0; j < op->n_out; j++) {
        out[j] = graph->values[node->out[j]].shape;
    }
    return op->flops(&node->attr, in, out);
}

double kern_graph_flops(const kern_graph *graph)
{
    double total = 0;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        total += kern_graph_node_flops(graph, i);
    }
    return total;
}

size_t kern_graph_pack_count(const kern_graph *graph)
{
    return graph->pack_count;
}

void kern_graph_pack(const kern_graph *graph, const kern_backend *backend, void *packed,
                     const void *params, int workers)
{
    const size_t real = backend->real_size;
    for (size_t v = 0; v < graph->n_values; v++) {
        const kern_value_info *info = &graph->values[v];
        if (info->pack_offset != SIZE_MAX) {
            backend->pack((unsigned char *)packed + info->pack_offset * real,
                          (const unsigned char *)params + info->param_offset * real,
                          info->shape.rows, info->shape.cols, workers);
        }
    }
}
