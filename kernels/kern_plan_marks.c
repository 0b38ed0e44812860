/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a plan needs: values that are read, that move with something, that move a seed.
 */
#include "kernels/kern_plan_private.h"

const kern_value_info *kern__plan_info(const kern__planner *p, kern_value v)
{
    return kern_graph_value_info(p->graph, v);
}

bool kern__plan_is_param(const kern__planner *p, kern_value v)
{
    return kern__plan_info(p, v)->role == KERN_ROLE_PARAM;
}

bool kern__plan_has(const kern__planner *p, kern_value v, unsigned flags)
{
    return (p->flags[v] & flags) == flags;
}

bool kern__plan_any_out(const kern__planner *p, const kern_node *node, unsigned flag)
{
    for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
        if (kern__plan_has(p, node->out[j], flag)) {
            return true;
        }
    }
    return false;
}

bool kern__plan_any_in(const kern__planner *p, const kern_node *node, unsigned flag)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        if (node->in[i] != KERN_NO_VALUE && kern__plan_has(p, node->in[i], flag)) {
            return true;
        }
    }
    return false;
}

void kern__plan_set_ins(kern__planner *p, const kern_node *node, unsigned flag)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        if (node->in[i] != KERN_NO_VALUE) {
            p->flags[node->in[i]] |= flag;
        }
    }
}

static void set_outs(kern__planner *p, const kern_node *node, unsigned flag)
{
    for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
        p->flags[node->out[j]] |= flag;
    }
}

static void mark_sources(kern__planner *p)
{
    const size_t n = kern_graph_value_count(p->graph);
    for (kern_value v = 0; v < n; v++) {
        p->flags[v] = kern__plan_info(p, v)->kept ? KERN__VALUE_ALIVE | KERN__VALUE_CROSSING : 0;
        if (p->options->params && kern__plan_is_param(p, v)) {
            p->flags[v] |= KERN__VALUE_DEPENDS;
        }
    }
    for (size_t i = 0; i < p->options->n_wrt; i++) {
        p->flags[p->options->wrt[i]] |= KERN__VALUE_DEPENDS;
    }
    for (size_t i = 0; i < p->options->n_seeds; i++) {
        p->flags[p->options->seeds[i]] |= KERN__VALUE_REACHES;
    }
}

/* Values read outside the segment that makes them stay in memory when segments are recomputed, but
 * for those of a shared segment that only segments read: these are made again. */
static void mark_crossings(kern__planner *p, const kern_node *node)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        if (node->in[i] == KERN_NO_VALUE) {
            continue;
        }
        const size_t index = kern__plan_info(p, node->in[i])->node;
        const kern_node *producer = index == SIZE_MAX ? NULL : kern_graph_node(p->graph, index);
        if (producer == NULL || producer->segment == 0) {
            p->flags[node->in[i]] |= KERN__VALUE_CROSSING;
        } else if (producer->segment != node->segment) {
            p->flags[node->in[i]] |=
                producer->shared && node->segment != 0 ? KERN__VALUE_SHARED : KERN__VALUE_CROSSING;
        }
    }
}

void kern__plan_mark_values(kern__planner *p)
{
    const size_t nodes = kern_graph_node_count(p->graph);
    mark_sources(p);
    for (size_t i = 0; i < nodes; i++) {
        const kern_node *node = kern_graph_node(p->graph, i);
        if (kern__plan_any_in(p, node, KERN__VALUE_DEPENDS)) {
            set_outs(p, node, KERN__VALUE_DEPENDS);
        }
        mark_crossings(p, node);
    }
    for (size_t i = nodes; i > 0; i--) {
        const kern_node *node = kern_graph_node(p->graph, i - 1);
        if (kern__plan_any_out(p, node, KERN__VALUE_ALIVE)) {
            kern__plan_set_ins(p, node, KERN__VALUE_ALIVE);
        }
        if (kern__plan_any_out(p, node, KERN__VALUE_REACHES)) {
            kern__plan_set_ins(p, node, KERN__VALUE_REACHES);
        }
    }
}

bool kern__plan_has_derivative(const kern__planner *p, const kern_node *node)
{
    switch (p->options->mode) {
    case KERN_MODE_VJP:
        return kern__plan_any_out(p, node, KERN__VALUE_REACHES) &&
               kern__plan_any_in(p, node, KERN__VALUE_DEPENDS);
    case KERN_MODE_JVP:
        return kern__plan_any_in(p, node, KERN__VALUE_DEPENDS);
    case KERN_MODE_FORWARD:
    default:
        return false;
    }
}

bool kern__plan_is_recomputed(const kern__planner *p, const kern_node *node)
{
    return p->options->recompute && p->options->mode == KERN_MODE_VJP && node->segment != 0;
}
