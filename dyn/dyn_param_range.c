/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_param_range.h"

#include <math.h>

kern_status dyn_param_range_init(dyn_param_range *out, const dyn_map *map, const char *name,
                                 double from, double to, size_t n, kern_error *err)
{
    *out = (dyn_param_range){.from = from, .to = to, .n = n};
    KERN_TRY(dyn_map_find_param(map, name, &out->index, err));
    if (out->index + map->n_fixed >= map->n_params) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "parameter %s of map %s was settled when the map was made and cannot vary", name,
            map->kind->name);
    }
    if (!isfinite(from) || !isfinite(to)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "parameter %s varies from %g to %g; accepted are finite numbers", name,
                          from, to);
    }
    return KERN_OK;
}

double dyn_param_range_value(const dyn_param_range *range, size_t i)
{
    const double part = range->n > 1 ? (double)i / (double)(range->n - 1) : 0.0;
    return (1.0 - part) * range->from + part * range->to;
}

double dyn_param_range_set(const dyn_param_range *range, dyn_map *map, size_t i)
{
    map->params[range->index] = dyn_param_range_value(range, i);
    return map->params[range->index];
}
