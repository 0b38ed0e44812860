/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_plan.h"

#include "kernels/kern_plan_private.h"
#include "kernels/kern_size.h"

#include <stdlib.h>

/* ---- programs ------------------------------------------------------------------------------- */

static kern_status plan_inputs(kern__planner *p)
{
    for (kern_value v = 0; v < kern_graph_value_count(p->graph); v++) {
        if (kern__plan_info(p, v)->role == KERN_ROLE_INPUT) {
            KERN_TRY(kern__plan_new_slot(p, v, &p->plan->value_at[v]));
            kern_slots_touch(&p->slots, p->plan->value_at[v], KERN_TIME_BEGIN);
            kern_slots_touch(&p->slots, p->plan->value_at[v], KERN_TIME_END);
        }
    }
    for (size_t i = 0; i < p->options->n_wrt; i++) {
        const kern_value v = p->options->wrt[i];
        if (p->plan->derivative_at[v] != KERN_NO_SLOT) {
            continue; /* named twice */
        }
        KERN_TRY(kern__plan_new_derivative(p, v));
        kern_slots_touch(&p->slots, p->plan->derivative_at[v], KERN_TIME_BEGIN);
        kern_slots_touch(&p->slots, p->plan->derivative_at[v], KERN_TIME_END);
    }
    return KERN_OK;
}

static kern_status plan_forward(kern__planner *p)
{
    for (size_t i = 0; i < kern_graph_node_count(p->graph); i++) {
        const kern_node *node = kern_graph_node(p->graph, i);
        if (!kern__plan_any_out(p, node, KERN__VALUE_ALIVE)) {
            continue;
        }
        KERN_TRY(kern__plan_emit_forward(p, i, false));
    }
    p->plan->forward_count = p->plan->count;
    return KERN_OK;
}

static kern_status plan_tangents(kern__planner *p)
{
    for (size_t i = 0; i < kern_graph_node_count(p->graph); i++) {
        const kern_node *node = kern_graph_node(p->graph, i);
        if (kern__plan_any_out(p, node, KERN__VALUE_ALIVE) && kern__plan_has_derivative(p, node)) {
            KERN_TRY(kern__plan_emit_jvp(p, i));
        }
    }
    return KERN_OK;
}

static kern_status plan_seeds(kern__planner *p)
{
    for (size_t i = 0; i < p->options->n_seeds; i++) {
        const kern_value v = p->options->seeds[i];
        if (p->plan->derivative_at[v] != KERN_NO_SLOT) {
            continue; /* named twice */
        }
        KERN_TRY(kern__plan_new_derivative(p, v));
        (void)kern__plan_touch(p, p->plan->derivative_at[v]);
        p->flags[v] |= KERN__VALUE_WRITTEN;
    }
    p->time++;
    return KERN_OK;
}

/* A node runs again when something it makes is needed and was not kept. */
static bool runs_again(const kern__planner *p, const kern_node *node)
{
    for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
        if (kern__plan_has(p, node->out[j], KERN__VALUE_AGAIN) &&
            !kern__plan_has(p, node->out[j], KERN__VALUE_CROSSING)) {
            return true;
        }
    }
    return false;
}

/* Marks what the vjps of nodes first … last − 1 (one segment) read and must be made again. */
static void mark_again(kern__planner *p, size_t first, size_t last)
{
    for (size_t i = last; i > first; i--) {
        const kern_node *node = kern_graph_node(p->graph, i - 1);
        const kern_op *op = kern_op_get(node->op);
        const bool derivative = kern__plan_has_derivative(p, node);
        for (size_t j = 0; derivative && j < op->n_out; j++) {
            p->flags[node->out[j]] |= (op->reads_out >> j & 1U) != 0 ? KERN__VALUE_AGAIN : 0U;
        }
        if (runs_again(p, node)) {
            kern__plan_set_ins(p, node, KERN__VALUE_AGAIN);
        }
        for (size_t k = 0; derivative && k < op->n_in; k++) {
            if (node->in[k] != KERN_NO_VALUE && (op->reads_in >> k & 1U) != 0) {
                p->flags[node->in[k]] |= KERN__VALUE_AGAIN;
            }
        }
    }
}

/* First node of the segment whose last node is last − 1. */
static size_t segment_begin(const kern__planner *p, size_t last)
{
    const size_t segment = kern_graph_node(p->graph, last - 1)->segment;
    size_t first = last;
    while (first > 0 && kern_graph_node(p->graph, first - 1)->segment == segment) {
        first--;
    }
    return first;
}

static bool is_remade(const kern__planner *p, size_t first)
{
    return kern__plan_has(p, kern_graph_node(p->graph, first)->out[0], KERN__VALUE_REMADE);
}

/* Whether some node of a segment runs again. */
static bool is_needed(const kern__planner *p, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        if (runs_again(p, kern_graph_node(p->graph, i))) {
            return true;
        }
    }
    return false;
}

/* Marks all that a shared segment is for, so that it runs once: what others read of it, and what
 * its own vjps read. */
static void mark_shared(kern__planner *p, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const kern_node *node = kern_graph_node(p->graph, i);
        for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
            const bool read =
                kern__plan_has(p, node->out[j], KERN__VALUE_SHARED | KERN__VALUE_ALIVE);
            p->flags[node->out[j]] |= read ? KERN__VALUE_AGAIN : 0U;
        }
    }
    mark_again(p, first, last);
}

static kern_status make_segment(kern__planner *p, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const kern_node *node = kern_graph_node(p->graph, i);
        if (runs_again(p, node)) {
            KERN_TRY(kern__plan_emit_forward(p, i, true));
        }
        p->flags[node->out[0]] |= KERN__VALUE_REMADE;
    }
    return KERN_OK;
}

/* Makes again the shared segments before node `end` of which something is needed and not there. A
 * shared segment may read earlier ones, so marks go backwards and instructions forwards. */
static kern_status remake_shared(kern__planner *p, size_t end)
{
    for (size_t last = end; last > 0; last--) {
        const size_t first = segment_begin(p, last);
        const bool shared = kern_graph_node(p->graph, first)->shared;
        if (shared && !is_remade(p, first) && is_needed(p, first, last)) {
            mark_shared(p, first, last);
        }
        last = first + 1;
    }
    for (size_t i = 0; i < end; i++) {
        const kern_node *node = kern_graph_node(p->graph, i);
        size_t last = i + 1;
        while (node->shared && last < end &&
               kern_graph_node(p->graph, last)->segment == node->segment) {
            last++;
        }
        if (node->shared && !is_remade(p, i) && is_needed(p, i, last)) {
            KERN_TRY(make_segment(p, i, last));
        }
        i = last - 1;
    }
    return KERN_OK;
}

/* `last` is one past the segment's last node. */
static kern_status recompute_segment(kern__planner *p, size_t last)
{
    const size_t first = segment_begin(p, last);
    if (is_remade(p, first)) {
        return KERN_OK;
    }
    mark_again(p, first, last);
    KERN_TRY(remake_shared(p, first));
    return make_segment(p, first, last);
}

static kern_status plan_backward(kern__planner *p)
{
    size_t segment = 0;
    for (size_t i = kern_graph_node_count(p->graph); i > 0; i--) {
        const kern_node *node = kern_graph_node(p->graph, i - 1);
        if (kern__plan_is_recomputed(p, node) && node->segment != segment) {
            KERN_TRY(recompute_segment(p, i));
        }
        segment = node->segment;
        if (kern__plan_has_derivative(p, node)) {
            KERN_TRY(kern__plan_emit_vjp(p, i - 1));
        }
    }
    return KERN_OK;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Lets results take the place of operands that die in the same instruction, in order of time. */
static void merge_in_place(kern__planner *p)
{
    for (size_t k = 0; k < p->plan->count; k++) {
        const kern_instruction *x = &p->plan->instructions[k];
        const kern_op *op = kern_op_get(kern_graph_node(p->graph, x->node)->op);
        const size_t time = p->plan->times[k];
        for (size_t i = 0; i < op->n_in; i++) {
            if (x->phase == KERN_PHASE_FORWARD && (op->inplace_in >> i & 1U) != 0 &&
                x->in[i] != KERN_NO_SLOT && x->out[0] != KERN_NO_SLOT &&
                kern_slots_merge(&p->slots, x->in[i], x->out[0], time)) {
                break;
            }
            if (x->phase == KERN_PHASE_VJP && (op->inplace_d_in >> i & 1U) != 0 &&
                !x->accumulate[i] && x->d_in[i] != KERN_NO_SLOT && x->d_out[0] != KERN_NO_SLOT &&
                kern_slots_merge(&p->slots, x->d_out[0], x->d_in[i], time)) {
                break;
            }
        }
    }
}

static void to_offsets(const kern__planner *p, size_t *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (slots[i] != KERN_NO_SLOT) {
            slots[i] = p->slots.items[slots[i]].offset;
        }
    }
}

static void plan_scratch(kern__planner *p)
{
    for (size_t i = 0; i < kern_graph_node_count(p->graph); i++) {
        const kern_node *node = kern_graph_node(p->graph, i);
        const kern_op *op = kern_op_get(node->op);
        kern_shape in[KERN_MAX_IN] = {{0, 0}};
        kern_shape out[KERN_MAX_OUT] = {{0, 0}};
        if (op->scratch == NULL) {
            continue;
        }
        for (size_t k = 0; k < op->n_in; k++) {
            if (node->in[k] != KERN_NO_VALUE) {
                in[k] = kern__plan_info(p, node->in[k])->shape;
            }
        }
        for (size_t j = 0; j < op->n_out; j++) {
            out[j] = kern__plan_info(p, node->out[j])->shape;
        }
        p->plan->scratch_size = kern_size_max(
            p->plan->scratch_size, kern_size_round_up(op->scratch(&node->attr, in, out), 16));
    }
}

/* Memory that is alive across the end of the forward pass; a chain of slots that take over from one
 * another is its root, whose life is theirs. */
static void plan_kept(kern__planner *p)
{
    kern_plan *plan = p->plan;
    const size_t last = plan->forward_count == 0 ? 0 : plan->times[plan->forward_count - 1];
    for (size_t i = 0; i < p->slots.count; i++) {
        const kern_slot *slot = &p->slots.items[i];
        if (slot->parent == i && slot->start <= last && slot->end > last) {
            plan->kept_size += slot->size;
        }
    }
}

static kern_status plan_memory(kern__planner *p)
{
    kern_plan *plan = p->plan;
    merge_in_place(p);
    plan_kept(p);
    KERN_TRY(kern_slots_place(&p->slots, &plan->buffer_size, p->err));
    for (size_t k = 0; k < plan->count; k++) {
        kern_instruction *x = &plan->instructions[k];
        to_offsets(p, x->in, KERN_MAX_IN);
        to_offsets(p, x->out, KERN_MAX_OUT);
        to_offsets(p, x->d_in, KERN_MAX_IN);
        to_offsets(p, x->d_out, KERN_MAX_OUT);
    }
    const size_t values = kern_graph_value_count(p->graph);
    to_offsets(p, plan->value_at, values);
    to_offsets(p, plan->derivative_at, values);
    plan_scratch(p);
    return KERN_OK;
}

/* Inputs and kept results are the only values whose derivatives the caller may touch. */
static kern_status check_options(const kern__planner *p)
{
    const kern_plan_options *o = p->options;
    const size_t count = kern_graph_value_count(p->graph);
    for (size_t i = 0; i < o->n_wrt; i++) {
        if (o->wrt[i] >= count || kern__plan_info(p, o->wrt[i])->role != KERN_ROLE_INPUT) {
            return kern_raise(p->err, KERN_INVALID_ARGUMENT,
                              "derivatives are taken by inputs of the graph, value %zu is none",
                              o->wrt[i]);
        }
    }
    for (size_t i = 0; i < o->n_seeds; i++) {
        const kern_value v = o->seeds[i];
        if (v >= count || !kern__plan_info(p, v)->kept ||
            kern__plan_info(p, v)->role != KERN_ROLE_RESULT) {
            return kern_raise(p->err, KERN_INVALID_ARGUMENT,
                              "a seed must be a kept result of the graph, value %zu is not", v);
        }
    }
    return KERN_OK;
}

static kern_status plan_program(kern__planner *p)
{
    KERN_TRY(check_options(p));
    kern__plan_mark_values(p);
    KERN_TRY(plan_inputs(p));
    KERN_TRY(plan_forward(p));
    if (p->options->mode == KERN_MODE_JVP) {
        KERN_TRY(plan_tangents(p));
    } else if (p->options->mode == KERN_MODE_VJP) {
        KERN_TRY(plan_seeds(p));
        KERN_TRY(plan_backward(p));
    }
    return plan_memory(p);
}

static kern_status allocate(kern__planner *p, kern_plan **out)
{
    const size_t values = kern_graph_value_count(p->graph) + 1;
    p->flags = calloc(values, sizeof *p->flags);
    p->plan = calloc(1, sizeof *p->plan);
    *out = p->plan;
    if (p->flags == NULL || p->plan == NULL) {
        return kern_raise(p->err, KERN_NO_MEMORY, "no memory to plan the graph");
    }
    p->plan->value_at = malloc(values * sizeof *p->plan->value_at);
    p->plan->derivative_at = malloc(values * sizeof *p->plan->derivative_at);
    if (p->plan->value_at == NULL || p->plan->derivative_at == NULL) {
        return kern_raise(p->err, KERN_NO_MEMORY, "no memory to plan the graph");
    }
    for (size_t v = 0; v < values; v++) {
        p->plan->value_at[v] = KERN_NO_SLOT;
        p->plan->derivative_at[v] = KERN_NO_SLOT;
    }
    p->plan->graph = p->graph;
    p->plan->mode = p->options->mode;
    p->plan->tangents =
        p->options->mode == KERN_MODE_JVP ? kern_size_max(p->options->tangents, 1) : 1;
    return KERN_OK;
}

kern_status kern_plan_create(kern_plan **out, const kern_graph *graph,
                             const kern_plan_options *options, kern_error *err)
{
    kern__planner p = {.graph = graph, .options = options, .err = err};
    *out = NULL;
    KERN_TRY(kern_graph_finish(graph, err));
    kern_status status = allocate(&p, out);
    if (status == KERN_OK) {
        status = plan_program(&p);
    }
    kern_slots_fini(&p.slots);
    free(p.flags);
    if (status != KERN_OK) {
        kern_plan_destroy(*out);
        *out = NULL;
    }
    return status;
}

void kern_plan_destroy(kern_plan *plan)
{
    if (plan != NULL) {
        free(plan->instructions);
        free(plan->times);
        free(plan->value_at);
        free(plan->derivative_at);
        free(plan);
    }
}

const kern_graph *kern_plan_graph(const kern_plan *plan)
{
    return plan->graph;
}

kern_mode kern_plan_mode(const kern_plan *plan)
{
    return plan->mode;
}

size_t kern_plan_tangents(const kern_plan *plan)
{
    return plan->tangents;
}

size_t kern_plan_buffer_size(const kern_plan *plan)
{
    return plan->buffer_size;
}

size_t kern_plan_scratch_size(const kern_plan *plan)
{
    return plan->scratch_size;
}

size_t kern_plan_kept_size(const kern_plan *plan)
{
    return plan->kept_size;
}

const kern_instruction *kern_plan_instructions(const kern_plan *plan, size_t *count)
{
    *count = plan->count;
    return plan->instructions;
}

size_t kern_plan_forward_count(const kern_plan *plan)
{
    return plan->forward_count;
}

size_t kern_plan_value_offset(const kern_plan *plan, kern_value value)
{
    return plan->value_at[value];
}

size_t kern_plan_derivative_offset(const kern_plan *plan, kern_value value)
{
    return plan->derivative_at[value];
}
