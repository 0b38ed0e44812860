/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_slow.h"

#include "dyn/dyn_chain.h"

#include <stdlib.h>
#include <string.h>

static dyn_slow_point *find_known(dyn_slow_points *list, const dyn_map *map, size_t period,
                                  const double *states, double merge)
{
    for (size_t i = 0; i < list->n; i++) {
        for (size_t shift = 0; shift < period; shift++) {
            if (dyn_chain_agrees(map, states, period, list->items[i].states, period, shift,
                                 merge)) {
                return &list->items[i];
            }
        }
    }
    return NULL;
}

kern_status dyn_slow_points_enter(dyn_slow_points *list, const dyn_map *map, size_t period,
                                  const dyn_slow_point *point, double merge, kern_error *err)
{
    const size_t bytes = period * map->size * sizeof(double);
    dyn_slow_point *known = find_known(list, map, period, point->states, merge);
    if (known != NULL) {
        known->hits++;
        return KERN_OK;
    }
    if (list->n == list->allocated) {
        const size_t wanted = list->allocated > 0 ? 2 * list->allocated : 4;
        dyn_slow_point *grown = realloc(list->items, wanted * sizeof *grown);
        if (grown == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu slow points", wanted);
        }
        list->items = grown;
        list->allocated = wanted;
    }
    double *states = malloc(bytes);
    if (states == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a chain of %zu states", period);
    }
    memcpy(states, point->states, bytes);
    list->items[list->n] = *point;
    list->items[list->n].states = states;
    list->items[list->n].hits = 1;
    list->n++;
    return KERN_OK;
}

void dyn_slow_points_fini(dyn_slow_points *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].states);
    }
    free(list->items);
    *list = (dyn_slow_points){0};
}
