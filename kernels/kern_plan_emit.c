/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Instructions of a plan, and how long their operands live.
 */
#include "kernels/kern_plan_private.h"

#include "kernels/kern_size.h"

#include <stdlib.h>

static kern_status add_slot(kern__planner *p, size_t size, size_t *at)
{
    *at = kern_slots_add(&p->slots, size);
    if (*at == SIZE_MAX) {
        return kern_raise(p->err, KERN_NO_MEMORY, "no memory to plan the graph");
    }
    return KERN_OK;
}

kern_status kern__plan_new_slot(kern__planner *p, kern_value v, size_t *at)
{
    const kern_shape shape = kern__plan_info(p, v)->shape;
    return add_slot(p, shape.rows * shape.cols, at);
}

kern_status kern__plan_new_derivative(kern__planner *p, kern_value v)
{
    const kern_shape shape = kern__plan_info(p, v)->shape;
    size_t size;
    if (!kern_size_mul(shape.rows * shape.cols, p->plan->tangents, &size) || size > SIZE_MAX - 64) {
        return kern_raise(p->err, KERN_OVERFLOW, "%zu tangents of %zu x %zu numbers are too many",
                          p->plan->tangents, shape.rows, shape.cols);
    }
    return add_slot(p, size, &p->plan->derivative_at[v]);
}

static kern_instruction empty_instruction(size_t node, kern_phase phase)
{
    kern_instruction instruction = {.node = node, .phase = phase};
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        instruction.in[i] = KERN_NO_SLOT;
        instruction.d_in[i] = KERN_NO_SLOT;
    }
    for (size_t j = 0; j < KERN_MAX_OUT; j++) {
        instruction.out[j] = KERN_NO_SLOT;
        instruction.d_out[j] = KERN_NO_SLOT;
    }
    return instruction;
}

size_t kern__plan_touch(kern__planner *p, size_t slot)
{
    if (slot != KERN_NO_SLOT) {
        kern_slots_touch(&p->slots, slot, p->time);
    }
    return slot;
}

static kern_status append(kern__planner *p, const kern_instruction *instruction)
{
    kern_plan *plan = p->plan;
    if (plan->count == plan->room) {
        const size_t room = plan->room == 0 ? 64 : 2 * plan->room;
        kern_instruction *items = realloc(plan->instructions, room * sizeof *items);
        if (items == NULL) {
            return kern_raise(p->err, KERN_NO_MEMORY, "no memory to plan the graph");
        }
        plan->instructions = items;
        size_t *times = realloc(plan->times, room * sizeof *times);
        if (times == NULL) {
            return kern_raise(p->err, KERN_NO_MEMORY, "no memory to plan the graph");
        }
        plan->times = times;
        plan->room = room;
    }
    plan->instructions[plan->count] = *instruction;
    plan->times[plan->count] = p->time;
    plan->count++;
    p->time++;
    return KERN_OK;
}

/* Whether output `j` gets memory in this forward instruction. The first pass of a recomputed
 * segment keeps nothing for the backward pass. */
static bool output_wanted(const kern__planner *p, const kern_node *node, size_t j, bool again)
{
    const kern_op *op = kern_op_get(node->op);
    if (kern__plan_has(p, node->out[j], KERN__VALUE_ALIVE)) {
        return true;
    }
    const bool read_back = (op->reads_out >> j & 1U) != 0 && kern__plan_has_derivative(p, node);
    return read_back && (again || !kern__plan_is_recomputed(p, node));
}

kern_status kern__plan_emit_forward(kern__planner *p, size_t index, bool again)
{
    const kern_node *node = kern_graph_node(p->graph, index);
    const kern_op *op = kern_op_get(node->op);
    kern_instruction instruction = empty_instruction(index, KERN_PHASE_FORWARD);
    for (size_t i = 0; i < op->n_in; i++) {
        if (node->in[i] != KERN_NO_VALUE) {
            instruction.in[i] = kern__plan_touch(p, p->plan->value_at[node->in[i]]);
        }
    }
    for (size_t j = 0; j < op->n_out; j++) {
        const kern_value v = node->out[j];
        if (!output_wanted(p, node, j, again)) {
            continue;
        }
        if (!again || !kern__plan_has(p, v, KERN__VALUE_CROSSING)) {
            KERN_TRY(kern__plan_new_slot(p, v, &p->plan->value_at[v]));
        }
        instruction.out[j] = kern__plan_touch(p, p->plan->value_at[v]);
        if (kern__plan_info(p, v)->kept) {
            kern_slots_touch(&p->slots, instruction.out[j], KERN_TIME_END);
        }
    }
    return append(p, &instruction);
}

/* Primal values that a derivative instruction reads. */
static void set_primals(kern__planner *p, const kern_node *node, kern_instruction *instruction)
{
    const kern_op *op = kern_op_get(node->op);
    for (size_t i = 0; i < op->n_in; i++) {
        if (node->in[i] != KERN_NO_VALUE && (op->reads_in >> i & 1U) != 0) {
            instruction->in[i] = kern__plan_touch(p, p->plan->value_at[node->in[i]]);
        }
    }
    for (size_t j = 0; j < op->n_out; j++) {
        if ((op->reads_out >> j & 1U) != 0) {
            instruction->out[j] = kern__plan_touch(p, p->plan->value_at[node->out[j]]);
        }
    }
}

kern_status kern__plan_emit_vjp(kern__planner *p, size_t index)
{
    const kern_node *node = kern_graph_node(p->graph, index);
    kern_instruction instruction = empty_instruction(index, KERN_PHASE_VJP);
    set_primals(p, node, &instruction);
    for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
        instruction.d_out[j] = kern__plan_touch(p, p->plan->derivative_at[node->out[j]]);
    }
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        const kern_value v = node->in[i];
        if (v == KERN_NO_VALUE || !kern__plan_has(p, v, KERN__VALUE_DEPENDS)) {
            continue;
        }
        if (kern__plan_is_param(p, v)) {
            instruction.param_d_in[i] = true;
            instruction.accumulate[i] = true;
            continue;
        }
        if (p->plan->derivative_at[v] == KERN_NO_SLOT) {
            KERN_TRY(kern__plan_new_derivative(p, v));
        }
        instruction.d_in[i] = kern__plan_touch(p, p->plan->derivative_at[v]);
        instruction.accumulate[i] = kern__plan_has(p, v, KERN__VALUE_WRITTEN);
        p->flags[v] |= KERN__VALUE_WRITTEN;
    }
    return append(p, &instruction);
}

/* What one pass of tangents reads, the next one reads again. */
static void keep_primals(kern__planner *p, const kern_instruction *instruction)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        if (instruction->in[i] != KERN_NO_SLOT) {
            kern_slots_touch(&p->slots, instruction->in[i], KERN_TIME_END);
        }
    }
    for (size_t j = 0; j < KERN_MAX_OUT; j++) {
        if (instruction->out[j] != KERN_NO_SLOT) {
            kern_slots_touch(&p->slots, instruction->out[j], KERN_TIME_END);
        }
    }
}

kern_status kern__plan_emit_jvp(kern__planner *p, size_t index)
{
    const kern_node *node = kern_graph_node(p->graph, index);
    const kern_op *op = kern_op_get(node->op);
    kern_instruction instruction = empty_instruction(index, KERN_PHASE_JVP);
    set_primals(p, node, &instruction);
    keep_primals(p, &instruction);
    for (size_t i = 0; i < op->n_in; i++) {
        const kern_value v = node->in[i];
        if (v != KERN_NO_VALUE && kern__plan_has(p, v, KERN__VALUE_DEPENDS)) {
            instruction.param_d_in[i] = kern__plan_is_param(p, v);
            instruction.d_in[i] = kern__plan_touch(p, p->plan->derivative_at[v]);
        }
    }
    for (size_t j = 0; j < op->n_out; j++) {
        const kern_value v = node->out[j];
        if (!kern__plan_has(p, v, KERN__VALUE_ALIVE)) {
            continue;
        }
        KERN_TRY(kern__plan_new_derivative(p, v));
        instruction.d_out[j] = kern__plan_touch(p, p->plan->derivative_at[v]);
        if (kern__plan_info(p, v)->kept) {
            kern_slots_touch(&p->slots, instruction.d_out[j], KERN_TIME_END);
        }
    }
    return append(p, &instruction);
}
