/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A differentiable graph: values, and operations between them.
 *
 * A graph is built once for a configuration and a shape and holds no numbers. Building is linear
 * code: the first failure sticks, later calls return KERN_NO_VALUE, and kern_graph_finish reports
 * it. A finished graph is read-only and may be shared by threads.
 *
 * Values are inputs (numbers the caller writes), parameters (slices of one parameter vector) and
 * results of operations. The inputs of one operation are distinct values.
 */
#ifndef BASIN_KERN_GRAPH_H
#define BASIN_KERN_GRAPH_H

#include "kernels/kern_op.h"
#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef size_t kern_value;
#define KERN_NO_VALUE SIZE_MAX

typedef struct kern_graph kern_graph;

typedef enum kern_role { KERN_ROLE_INPUT, KERN_ROLE_PARAM, KERN_ROLE_RESULT } kern_role;

typedef struct kern_value_info {
    kern_shape shape;
    kern_role role;
    size_t param_offset; /* parameters: first element in the parameter vector */
    size_t pack_offset;  /* packed parameters: first element of the copies; else SIZE_MAX */
    size_t node;         /* results: the producing node; else SIZE_MAX */
    bool kept;           /* its memory is not reused */
} kern_value_info;

typedef struct kern_node {
    kern_op_id op;
    kern_attr attr;
    kern_value in[KERN_MAX_IN]; /* KERN_NO_VALUE where absent */
    kern_value out[KERN_MAX_OUT];
    size_t segment; /* 0: none; equal numbers are recomputed together */
    bool shared;    /* its segment is one of kern_graph_begin_shared_segment */
} kern_node;

/* Empty graph; the caller owns it. */
kern_status kern_graph_create(kern_graph **out, kern_error *err);
void kern_graph_destroy(kern_graph *graph);

/* Adds an input or a parameter of the given shape. The same parameter asked for twice
 * is one value; two different ones may overlap (a stack of heads and one head). */
kern_value kern_graph_input(kern_graph *graph, kern_shape shape);
kern_value kern_graph_param(kern_graph *graph, size_t offset, kern_shape shape);

/* Applies operation `id` to `in` (n_in entries, KERN_NO_VALUE where absent) and writes the values
 * of its outputs to `out` (n_out entries; may be NULL when only the return value is wanted).
 * Returns output 0. */
kern_value kern_graph_apply(kern_graph *graph, kern_op_id id, const kern_attr *attr,
                            const kern_value *in, kern_value *out);

/* Marks a value as one the caller reads: its memory is never reused, in any plan. */
void kern_graph_keep(kern_graph *graph, kern_value value);

/* Starts a new segment: the nodes added until the next call are recomputed together when a plan
 * trades time for memory. kern_graph_end_segment returns to no segment. */
void kern_graph_begin_segment(kern_graph *graph);

/* Starts a segment whose results several later segments read, such as the keys of all steps of a
 * recursion. A plan that recomputes forgets these too, and makes them again once, for the first
 * segment that needs them on the way back; all others find them there. */
void kern_graph_begin_shared_segment(kern_graph *graph);
void kern_graph_end_segment(kern_graph *graph);

/* First failure of building, with its sentence; KERN_OK when there was none. */
kern_status kern_graph_finish(const kern_graph *graph, kern_error *err);

size_t kern_graph_value_count(const kern_graph *graph);
size_t kern_graph_node_count(const kern_graph *graph);
const kern_value_info *kern_graph_value_info(const kern_graph *graph, kern_value value);
const kern_node *kern_graph_node(const kern_graph *graph, size_t node);

/* Floating-point operations that the mathematics of a forward pass needs (see kern_op.flops), of
 * one node and of all; a vjp costs twice as many. */
double kern_graph_node_flops(const kern_graph *graph, size_t node);
double kern_graph_flops(const kern_graph *graph);

/* Number of reals of the packed weights (see kern_pack.h), and the packing: once after every change
 * of the parameters. `packed` is shared by all executions of the graph. */
size_t kern_graph_pack_count(const kern_graph *graph);
void kern_graph_pack(const kern_graph *graph, const kern_backend *backend, void *packed,
                     const void *params, int workers);

#endif
