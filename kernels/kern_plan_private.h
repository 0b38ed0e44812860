/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of the planner share: kern_plan_marks.c decides what is needed, kern_plan_emit.c
 * writes instructions and lifetimes, kern_plan.c puts them in order and places the memory.
 */
#ifndef BASIN_KERN_PLAN_PRIVATE_H
#define BASIN_KERN_PLAN_PRIVATE_H

#include "kernels/kern_plan.h"
#include "kernels/kern_plan_memory.h"

struct kern_plan {
    const kern_graph *graph;
    kern_mode mode;
    kern_instruction *instructions; /* slots while building, offsets when done */
    size_t *times; /* when each instruction runs; the seeds take a time of their own */
    size_t count;
    size_t room;
    size_t forward_count;
    size_t tangents;
    size_t buffer_size;
    size_t scratch_size;
    size_t kept_size;
    size_t *value_at;      /* by value: slot, later offset */
    size_t *derivative_at; /* by value: slot, later offset */
};

/* What is known of a value while planning, as bits. */
enum {
    KERN__VALUE_ALIVE = 1,     /* kept, or read by a node that is alive */
    KERN__VALUE_DEPENDS = 2,   /* moves with a wrt input or a parameter */
    KERN__VALUE_REACHES = 4,   /* moves a seed */
    KERN__VALUE_WRITTEN = 8,   /* its cotangent already holds a contribution */
    KERN__VALUE_CROSSING = 16, /* kept, or read outside its segment */
    KERN__VALUE_AGAIN = 32,    /* needed by the backward pass of its segment */
    KERN__VALUE_SHARED = 64,   /* of a shared segment, read by others */
    KERN__VALUE_REMADE = 128   /* first result of a node whose segment was made again */
};

typedef struct kern__planner {
    kern_plan *plan;
    const kern_graph *graph;
    const kern_plan_options *options;
    kern_slots slots;
    unsigned *flags; /* by value */
    size_t time;
    kern_error *err;
} kern__planner;

const kern_value_info *kern__plan_info(const kern__planner *p, kern_value v);
bool kern__plan_is_param(const kern__planner *p, kern_value v);

/* Whether a value has all of `flags`. */
bool kern__plan_has(const kern__planner *p, kern_value v, unsigned flags);

/* Whether some output or input of a node has `flag`, and giving it to all inputs. */
bool kern__plan_any_out(const kern__planner *p, const kern_node *node, unsigned flag);
bool kern__plan_any_in(const kern__planner *p, const kern_node *node, unsigned flag);
void kern__plan_set_ins(kern__planner *p, const kern_node *node, unsigned flag);

/* Sets all flags but WRITTEN, AGAIN and REMADE, which belong to the backward pass. */
void kern__plan_mark_values(kern__planner *p);

/* Whether the node has a vjp or jvp instruction, and whether its first results are forgotten. */
bool kern__plan_has_derivative(const kern__planner *p, const kern_node *node);
bool kern__plan_is_recomputed(const kern__planner *p, const kern_node *node);

/* A slot of the size of `v`, in *at; one for the derivatives of `v` in value order. */
kern_status kern__plan_new_slot(kern__planner *p, kern_value v, size_t *at);
kern_status kern__plan_new_derivative(kern__planner *p, kern_value v);

/* Extends a slot's life to the present; returns it. KERN_NO_SLOT passes through. */
size_t kern__plan_touch(kern__planner *p, size_t slot);

/* Append the instruction of node number `index`. `again`: in the backward pass. */
kern_status kern__plan_emit_forward(kern__planner *p, size_t index, bool again);
kern_status kern__plan_emit_vjp(kern__planner *p, size_t index);
kern_status kern__plan_emit_jvp(kern__planner *p, size_t index);

#endif
