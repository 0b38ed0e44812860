/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_plan.h"

#include "kernels/kern_plan_memory.h"
#include "kernels/kern_size.h"

#include <stdlib.h>
#include <string.h>

struct kern_plan {
    const kern_graph *graph;
    kern_mode mode;
    kern_instruction *instructions; /* slots while building, offsets when done */
    size_t *times; /* when each instruction runs; the seeds take a time of their own */
    size_t count;
    size_t room;
    size_t forward_count;
    size_t buffer_size;
    size_t scratch_size;
    size_t *value_at;      /* by value: slot, later offset */
    size_t *derivative_at; /* by value: slot, later offset */
};

/* What is known of a value while planning. */
typedef struct value_state {
    bool alive;    /* kept, or read by a node that is alive */
    bool depends;  /* moves with a wrt input or a parameter */
    bool reaches;  /* moves a seed */
    bool written;  /* its cotangent already holds a contribution */
    bool crossing; /* kept, or read outside its segment */
    bool again;    /* needed by the backward pass of its segment */
} value_state;

typedef struct planner {
    kern_plan *plan;
    const kern_graph *graph;
    const kern_plan_options *options;
    kern_slots slots;
    value_state *state;
    size_t time;
    kern_error *err;
} planner;

static const kern_value_info *info_of(const planner *p, kern_value v)
{
    return kern_graph_value_info(p->graph, v);
}

static bool is_param(const planner *p, kern_value v)
{
    return info_of(p, v)->role == KERN_ROLE_PARAM;
}

static kern_status new_slot(planner *p, kern_value v, size_t *at)
{
    const kern_shape shape = info_of(p, v)->shape;
    *at = kern_slots_add(&p->slots, shape.rows * shape.cols);
    if (*at == SIZE_MAX) {
        return kern_raise(p->err, KERN_NO_MEMORY, "no memory to plan the graph");
    }
    return KERN_OK;
}

/* ---- what is needed ------------------------------------------------------------------------- */

static bool any_out(const planner *p, const kern_node *node, size_t flag_offset)
{
    for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
        if (*((const bool *)&p->state[node->out[j]] + flag_offset)) {
            return true;
        }
    }
    return false;
}

static bool any_in(const planner *p, const kern_node *node, size_t flag_offset)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        if (node->in[i] != KERN_NO_VALUE && *((const bool *)&p->state[node->in[i]] + flag_offset)) {
            return true;
        }
    }
    return false;
}

static void set_ins(planner *p, const kern_node *node, size_t flag_offset)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        if (node->in[i] != KERN_NO_VALUE) {
            *((bool *)&p->state[node->in[i]] + flag_offset) = true;
        }
    }
}

static void set_outs(planner *p, const kern_node *node, size_t flag_offset)
{
    for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
        *((bool *)&p->state[node->out[j]] + flag_offset) = true;
    }
}

#define FLAG(name) offsetof(value_state, name)

static void mark_sources(planner *p)
{
    const size_t n = kern_graph_value_count(p->graph);
    for (kern_value v = 0; v < n; v++) {
        p->state[v].alive = info_of(p, v)->kept;
        p->state[v].crossing = info_of(p, v)->kept;
        p->state[v].depends = p->options->params && is_param(p, v);
    }
    for (size_t i = 0; i < p->options->n_wrt; i++) {
        p->state[p->options->wrt[i]].depends = true;
    }
    for (size_t i = 0; i < p->options->n_seeds; i++) {
        p->state[p->options->seeds[i]].reaches = true;
    }
}

/* Values read outside the segment that makes them stay in memory when segments are recomputed. */
static void mark_crossings(planner *p, const kern_node *node)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        if (node->in[i] == KERN_NO_VALUE) {
            continue;
        }
        const size_t producer = info_of(p, node->in[i])->node;
        const size_t segment =
            producer == SIZE_MAX ? 0 : kern_graph_node(p->graph, producer)->segment;
        if (segment == 0 || segment != node->segment) {
            p->state[node->in[i]].crossing = true;
        }
    }
}

static void mark_values(planner *p)
{
    const size_t nodes = kern_graph_node_count(p->graph);
    mark_sources(p);
    for (size_t i = 0; i < nodes; i++) {
        const kern_node *node = kern_graph_node(p->graph, i);
        if (any_in(p, node, FLAG(depends))) {
            set_outs(p, node, FLAG(depends));
        }
        mark_crossings(p, node);
    }
    for (size_t i = nodes; i > 0; i--) {
        const kern_node *node = kern_graph_node(p->graph, i - 1);
        if (any_out(p, node, FLAG(alive))) {
            set_ins(p, node, FLAG(alive));
        }
        if (any_out(p, node, FLAG(reaches))) {
            set_ins(p, node, FLAG(reaches));
        }
    }
}

static bool has_derivative(const planner *p, const kern_node *node)
{
    switch (p->options->mode) {
    case KERN_MODE_VJP:
        return any_out(p, node, FLAG(reaches)) && any_in(p, node, FLAG(depends));
    case KERN_MODE_JVP:
        return any_in(p, node, FLAG(depends));
    case KERN_MODE_FORWARD:
    default:
        return false;
    }
}

static bool is_recomputed(const planner *p, const kern_node *node)
{
    return p->options->recompute && p->options->mode == KERN_MODE_VJP && node->segment != 0;
}

/* ---- instructions --------------------------------------------------------------------------- */

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

static size_t touched(planner *p, size_t slot)
{
    if (slot != KERN_NO_SLOT) {
        kern_slots_touch(&p->slots, slot, p->time);
    }
    return slot;
}

static kern_status append(planner *p, const kern_instruction *instruction)
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
static bool output_wanted(const planner *p, const kern_node *node, size_t j, bool again)
{
    const kern_op *op = kern_op_get(node->op);
    if (p->state[node->out[j]].alive) {
        return true;
    }
    const bool read_back = (op->reads_out >> j & 1U) != 0 && has_derivative(p, node);
    return read_back && (again || !is_recomputed(p, node));
}

static kern_status emit_forward(planner *p, size_t index, bool again)
{
    const kern_node *node = kern_graph_node(p->graph, index);
    const kern_op *op = kern_op_get(node->op);
    kern_instruction instruction = empty_instruction(index, KERN_PHASE_FORWARD);
    for (size_t i = 0; i < op->n_in; i++) {
        if (node->in[i] != KERN_NO_VALUE) {
            instruction.in[i] = touched(p, p->plan->value_at[node->in[i]]);
        }
    }
    for (size_t j = 0; j < op->n_out; j++) {
        const kern_value v = node->out[j];
        if (!output_wanted(p, node, j, again)) {
            continue;
        }
        if (!again || !p->state[v].crossing) {
            KERN_TRY(new_slot(p, v, &p->plan->value_at[v]));
        }
        instruction.out[j] = touched(p, p->plan->value_at[v]);
        if (info_of(p, v)->kept) {
            kern_slots_touch(&p->slots, instruction.out[j], KERN_TIME_END);
        }
    }
    return append(p, &instruction);
}

/* Primal values that a derivative instruction reads. */
static void set_primals(planner *p, const kern_node *node, kern_instruction *instruction)
{
    const kern_op *op = kern_op_get(node->op);
    for (size_t i = 0; i < op->n_in; i++) {
        if (node->in[i] != KERN_NO_VALUE && (op->reads_in >> i & 1U) != 0) {
            instruction->in[i] = touched(p, p->plan->value_at[node->in[i]]);
        }
    }
    for (size_t j = 0; j < op->n_out; j++) {
        if ((op->reads_out >> j & 1U) != 0) {
            instruction->out[j] = touched(p, p->plan->value_at[node->out[j]]);
        }
    }
}

static kern_status emit_vjp(planner *p, size_t index)
{
    const kern_node *node = kern_graph_node(p->graph, index);
    kern_instruction instruction = empty_instruction(index, KERN_PHASE_VJP);
    set_primals(p, node, &instruction);
    for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
        instruction.d_out[j] = touched(p, p->plan->derivative_at[node->out[j]]);
    }
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        const kern_value v = node->in[i];
        if (v == KERN_NO_VALUE || !p->state[v].depends) {
            continue;
        }
        if (is_param(p, v)) {
            instruction.param_d_in[i] = true;
            instruction.accumulate[i] = true;
            continue;
        }
        if (p->plan->derivative_at[v] == KERN_NO_SLOT) {
            KERN_TRY(new_slot(p, v, &p->plan->derivative_at[v]));
        }
        instruction.d_in[i] = touched(p, p->plan->derivative_at[v]);
        instruction.accumulate[i] = p->state[v].written;
        p->state[v].written = true;
    }
    return append(p, &instruction);
}

static kern_status emit_jvp(planner *p, size_t index)
{
    const kern_node *node = kern_graph_node(p->graph, index);
    const kern_op *op = kern_op_get(node->op);
    kern_instruction instruction = empty_instruction(index, KERN_PHASE_JVP);
    set_primals(p, node, &instruction);
    for (size_t i = 0; i < op->n_in; i++) {
        const kern_value v = node->in[i];
        if (v != KERN_NO_VALUE && p->state[v].depends) {
            instruction.param_d_in[i] = is_param(p, v);
            instruction.d_in[i] = touched(p, p->plan->derivative_at[v]);
        }
    }
    for (size_t j = 0; j < op->n_out; j++) {
        const kern_value v = node->out[j];
        if (!p->state[v].alive) {
            continue;
        }
        KERN_TRY(new_slot(p, v, &p->plan->derivative_at[v]));
        instruction.d_out[j] = touched(p, p->plan->derivative_at[v]);
        if (info_of(p, v)->kept) {
            kern_slots_touch(&p->slots, instruction.d_out[j], KERN_TIME_END);
        }
    }
    return append(p, &instruction);
}

/* ---- programs ------------------------------------------------------------------------------- */

static kern_status plan_inputs(planner *p)
{
    for (kern_value v = 0; v < kern_graph_value_count(p->graph); v++) {
        if (info_of(p, v)->role == KERN_ROLE_INPUT) {
            KERN_TRY(new_slot(p, v, &p->plan->value_at[v]));
            kern_slots_touch(&p->slots, p->plan->value_at[v], KERN_TIME_BEGIN);
            kern_slots_touch(&p->slots, p->plan->value_at[v], KERN_TIME_END);
        }
    }
    for (size_t i = 0; i < p->options->n_wrt; i++) {
        const kern_value v = p->options->wrt[i];
        KERN_TRY(new_slot(p, v, &p->plan->derivative_at[v]));
        kern_slots_touch(&p->slots, p->plan->derivative_at[v], KERN_TIME_BEGIN);
        kern_slots_touch(&p->slots, p->plan->derivative_at[v], KERN_TIME_END);
    }
    return KERN_OK;
}

static kern_status plan_forward(planner *p)
{
    for (size_t i = 0; i < kern_graph_node_count(p->graph); i++) {
        const kern_node *node = kern_graph_node(p->graph, i);
        if (!any_out(p, node, FLAG(alive))) {
            continue;
        }
        KERN_TRY(emit_forward(p, i, false));
        if (p->options->mode == KERN_MODE_JVP && has_derivative(p, node)) {
            KERN_TRY(emit_jvp(p, i));
        }
    }
    p->plan->forward_count = p->plan->count;
    return KERN_OK;
}

static kern_status plan_seeds(planner *p)
{
    for (size_t i = 0; i < p->options->n_seeds; i++) {
        const kern_value v = p->options->seeds[i];
        if (!info_of(p, v)->kept || info_of(p, v)->role != KERN_ROLE_RESULT) {
            return kern_raise(p->err, KERN_INVALID_ARGUMENT,
                              "a seed must be a kept result of the graph, value %zu is not", v);
        }
        KERN_TRY(new_slot(p, v, &p->plan->derivative_at[v]));
        (void)touched(p, p->plan->derivative_at[v]);
        p->state[v].written = true;
    }
    p->time++;
    return KERN_OK;
}

/* Marks what the vjps of nodes first … last − 1 (one segment) read and must be made again. */
static void mark_again(planner *p, size_t first, size_t last)
{
    for (size_t i = last; i > first; i--) {
        const kern_node *node = kern_graph_node(p->graph, i - 1);
        const kern_op *op = kern_op_get(node->op);
        const bool derivative = has_derivative(p, node);
        for (size_t j = 0; derivative && j < op->n_out; j++) {
            p->state[node->out[j]].again |= (op->reads_out >> j & 1U) != 0;
        }
        if (any_out(p, node, FLAG(again))) {
            set_ins(p, node, FLAG(again));
        }
        for (size_t k = 0; derivative && k < op->n_in; k++) {
            if (node->in[k] != KERN_NO_VALUE && (op->reads_in >> k & 1U) != 0) {
                p->state[node->in[k]].again = true;
            }
        }
    }
}

/* A node runs again when something it makes is needed and was not kept. */
static bool runs_again(const planner *p, const kern_node *node)
{
    for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
        const value_state *state = &p->state[node->out[j]];
        if (state->again && !state->crossing) {
            return true;
        }
    }
    return false;
}

/* `last` is one past the segment's last node. */
static kern_status recompute_segment(planner *p, size_t last)
{
    const size_t segment = kern_graph_node(p->graph, last - 1)->segment;
    size_t first = last;
    while (first > 0 && kern_graph_node(p->graph, first - 1)->segment == segment) {
        first--;
    }
    mark_again(p, first, last);
    for (size_t i = first; i < last; i++) {
        if (runs_again(p, kern_graph_node(p->graph, i))) {
            KERN_TRY(emit_forward(p, i, true));
        }
    }
    return KERN_OK;
}

static kern_status plan_backward(planner *p)
{
    size_t segment = 0;
    for (size_t i = kern_graph_node_count(p->graph); i > 0; i--) {
        const kern_node *node = kern_graph_node(p->graph, i - 1);
        if (is_recomputed(p, node) && node->segment != segment) {
            KERN_TRY(recompute_segment(p, i));
        }
        segment = node->segment;
        if (has_derivative(p, node)) {
            KERN_TRY(emit_vjp(p, i - 1));
        }
    }
    return KERN_OK;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Lets results take the place of operands that die in the same instruction, in order of time. */
static void merge_in_place(planner *p)
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

static void to_offsets(const planner *p, size_t *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (slots[i] != KERN_NO_SLOT) {
            slots[i] = p->slots.items[slots[i]].offset;
        }
    }
}

static void plan_scratch(planner *p)
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
                in[k] = info_of(p, node->in[k])->shape;
            }
        }
        for (size_t j = 0; j < op->n_out; j++) {
            out[j] = info_of(p, node->out[j])->shape;
        }
        p->plan->scratch_size = kern_size_max(
            p->plan->scratch_size, kern_size_round_up(op->scratch(&node->attr, in, out), 16));
    }
}

static kern_status plan_memory(planner *p)
{
    kern_plan *plan = p->plan;
    merge_in_place(p);
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

static kern_status plan_program(planner *p)
{
    mark_values(p);
    KERN_TRY(plan_inputs(p));
    KERN_TRY(plan_forward(p));
    if (p->options->mode == KERN_MODE_VJP) {
        KERN_TRY(plan_seeds(p));
        KERN_TRY(plan_backward(p));
    }
    return plan_memory(p);
}

static kern_status allocate(planner *p, kern_plan **out)
{
    const size_t values = kern_graph_value_count(p->graph) + 1;
    p->state = calloc(values, sizeof *p->state);
    p->plan = calloc(1, sizeof *p->plan);
    *out = p->plan;
    if (p->state == NULL || p->plan == NULL) {
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
    return KERN_OK;
}

kern_status kern_plan_create(kern_plan **out, const kern_graph *graph,
                             const kern_plan_options *options, kern_error *err)
{
    planner p = {.graph = graph, .options = options, .err = err};
    *out = NULL;
    KERN_TRY(kern_graph_finish(graph, err));
    kern_status status = allocate(&p, out);
    if (status == KERN_OK) {
        status = plan_program(&p);
    }
    kern_slots_fini(&p.slots);
    free(p.state);
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

size_t kern_plan_buffer_size(const kern_plan *plan)
{
    return plan->buffer_size;
}

size_t kern_plan_scratch_size(const kern_plan *plan)
{
    return plan->scratch_size;
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
