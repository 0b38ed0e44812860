/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The solvers of cycles behind one interface: a table of methods.
 */
#ifndef BASIN_DYN_METHOD_H
#define BASIN_DYN_METHOD_H

#include "dyn/dyn_chain.h"
#include "dyn/dyn_map.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct dyn_method {
    const char *name;
    const char *help; /* one line */
    bool deflates;    /* heeds goal->deflation */
    /* A solver for cycles of up to `period` states, with the method's default options. */
    kern_status (*create)(void **out, dyn_map *map, size_t period, kern_error *err);
    void (*destroy)(void *solver);
    dyn_chain_result (*solve)(void *solver, double *states, size_t period,
                              const dyn_chain_goal *goal);
} dyn_method;

/* Methods by index, NULL behind the last one: "newton" (dyn_shooting.h), "newton-krylov",
 * "anderson". */
const dyn_method *dyn_method_at(size_t index);

/* The method of that name, NULL when there is none. */
const dyn_method *dyn_method_find(const char *name);

/* What suits a map and a period: newton while its dense system has at most DYN_SHOOTING_MAX
 * equations, newton-krylov beyond. */
const dyn_method *dyn_method_choose(const dyn_map *map, size_t period);

#endif
