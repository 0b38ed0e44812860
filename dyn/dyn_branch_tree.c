/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_branch.h"
#include "dyn/dyn_branch_internal.h"

#include <math.h>
#include <stdlib.h>

/* Events whose parameters differ by this part of the range, and whose states agree as well as this
 * part of their size, are one. */
#define SAME 1e-6

/* True when some shift of cycle `a` is cycle `b`. */
static bool same_cycle(const dyn_map *map, const double *a, const double *b, size_t period)
{
    const double reach = SAME * fmax(1.0, branch_rms(a, period * map->size));
    for (size_t shift = 0; shift < period; shift++) {
        bool same = true;
        for (size_t i = 0; same && i < period; i++) {
            same = dyn_map_distance(map, a + i * map->size, b + (i + shift) % period * map->size) <=
                   reach;
        }
        if (same) {
            return true;
        }
    }
    return false;
}

/* True when another branch of the tree met this event: then what leaves there is known. */
static bool is_known(const dyn_branch_tree *tree, const dyn_map *map, const dyn_branch_options *o,
                     size_t branch, const dyn_branch_event *event)
{
    for (size_t b = 0; b < tree->n_branches; b++) {
        for (size_t e = 0; b != branch && e < tree->branches[b].n_events; e++) {
            const dyn_branch_event *other = &tree->branches[b].events[e];
            if (other->kind == event->kind && other->period == event->period &&
                fabs(other->parameter - event->parameter) <= SAME * (o->high - o->low) &&
                same_cycle(map, event->states, other->states, event->period)) {
                return true;
            }
        }
    }
    return false;
}

static kern_status add_branch(dyn_branch_tree *tree, const dyn_branch *branch, kern_error *err)
{
    dyn_branch *grown = realloc(tree->branches, (tree->n_branches + 1) * sizeof *grown);
    if (grown == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu branches", tree->n_branches + 1);
    }
    tree->branches = grown;
    tree->branches[tree->n_branches++] = *branch;
    return KERN_OK;
}

/* Follows what leaves at one event. */
static kern_status follow_event(dyn_branch_tree *tree, dyn_map *map, const dyn_branch_options *o,
                                size_t index, size_t event, kern_error *err)
{
    dyn_branch child;
    const dyn_branch_event *from = &tree->branches[index].events[event];
    if (from->direction == NULL) {
        return KERN_OK;
    }
    if (is_known(tree, map, o, index, from)) {
        tree->n_failed++;
        return KERN_OK;
    }
    kern_status status = dyn_branch_switch_init(&child, map, o, &tree->branches[index], event, err);
    if (status == KERN_NOT_CONVERGED || status == KERN_INVALID_ARGUMENT) {
        tree->n_failed++; /* nothing found, or a period beyond the limit: the others go on */
        if (err != NULL) {
            *err = (kern_error){0};
        }
        return KERN_OK;
    }
    KERN_TRY(status);
    child.parent = index;
    status = add_branch(tree, &child, err);
    if (status != KERN_OK) {
        dyn_branch_fini(&child);
    }
    return status;
}

static kern_status grow(dyn_branch_tree *tree, dyn_map *map, const dyn_branch_options *o,
                        size_t depth, kern_error *err)
{
    dyn_branch first;
    KERN_TRY(dyn_branch_init(&first, map, o, err));
    const kern_status status = add_branch(tree, &first, err);
    if (status != KERN_OK) {
        dyn_branch_fini(&first);
        return status;
    }
    for (size_t b = 0; b < tree->n_branches; b++) {
        for (size_t e = 0; tree->branches[b].depth < depth && e < tree->branches[b].n_events; e++) {
            KERN_TRY(follow_event(tree, map, o, b, e, err));
        }
    }
    return KERN_OK;
}

kern_status dyn_branch_tree_init(dyn_branch_tree *out, dyn_map *map,
                                 const dyn_branch_options *options, size_t depth, kern_error *err)
{
    *out = (dyn_branch_tree){0};
    const kern_status status = grow(out, map, options, depth, err);
    if (status != KERN_OK) {
        dyn_branch_tree_fini(out);
    }
    return status;
}

void dyn_branch_tree_fini(dyn_branch_tree *tree)
{
    for (size_t i = 0; i < tree->n_branches; i++) {
        dyn_branch_fini(&tree->branches[i]);
    }
    free(tree->branches);
    *tree = (dyn_branch_tree){0};
}
