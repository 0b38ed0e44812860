/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_state.h"

#include <math.h>

kern_status dyn_state_check(const double *x, size_t size, double bound)
{
    kern_status status = KERN_OK;
    for (size_t i = 0; i < size; i++) {
        if (isnan(x[i])) {
            return KERN_NAN;
        }
        if (!(fabs(x[i]) <= bound)) {
            status = KERN_DIVERGED;
        }
    }
    return status;
}

void dyn_state_reduce(const dyn_map *map, double *x)
{
    for (size_t i = 0; map->periods != NULL && i < map->size; i++) {
        const double period = map->periods[i];
        if (period > 0.0) {
            x[i] -= period * floor(x[i] / period);
            /* A tiny negative number rounds to the period itself, which is 0. */
            x[i] = x[i] >= period ? 0.0 : x[i];
        }
    }
}

kern_status dyn_state_accept(const dyn_map *map, double **x, double **next, double bound)
{
    double *previous = *x;
    *x = *next;
    *next = previous;
    KERN_TRY(dyn_state_check(*x, map->size, bound));
    dyn_state_reduce(map, *x);
    return KERN_OK;
}

void dyn_state_difference(const dyn_map *map, const double *a, const double *b, double *d)
{
    for (size_t i = 0; i < map->size; i++) {
        const double period = map->periods != NULL ? map->periods[i] : 0.0;
        const double gap = a[i] - b[i];
        d[i] = period > 0.0 ? gap - period * round(gap / period) : gap;
    }
}
