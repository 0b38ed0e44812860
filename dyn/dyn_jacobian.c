/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_jacobian.h"

#include "kernels/kern_size.h"

#include <string.h>

size_t dyn_jacobian_work(const dyn_map *map)
{
    return kern_size_min(DYN_MAP_GROUP, map->size) * map->size;
}

void dyn_jacobian_fill(dyn_map *map, const double *x, double *y, double *jacobian, size_t ld,
                       double *work)
{
    const size_t n = map->size;
    for (size_t first = 0; first < n; first += DYN_MAP_GROUP) {
        const size_t count = kern_size_min(DYN_MAP_GROUP, n - first);
        memset(work, 0, count * n * sizeof *work);
        for (size_t t = 0; t < count; t++) {
            work[t * n + first + t] = 1.0;
        }
        dyn_map_jvp_many(map, x, count, work, first == 0 ? y : NULL, work);
        for (size_t i = 0; i < n; i++) {
            for (size_t t = 0; t < count; t++) {
                jacobian[i * ld + first + t] = work[t * n + i];
            }
        }
    }
}
