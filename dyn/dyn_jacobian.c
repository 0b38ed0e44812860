/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_jacobian.h"

#include <string.h>

size_t dyn_jacobian_work(const dyn_map *map)
{
    return 2 * map->size;
}

/* Rows and columns first … first + count of the Jacobian. */
static void fill_window(dyn_map *map, const double *x, double *y, size_t first, size_t count,
                        double *jacobian, size_t ld, double *work)
{
    double *unit = work;
    double *column = work + map->size;
    memset(unit, 0, map->size * sizeof *unit);
    for (size_t j = 0; j < count; j++) {
        unit[first + j] = 1.0;
        map->kind->jvp(map, x, unit, j == 0 ? y : NULL, column);
        unit[first + j] = 0.0;
        for (size_t i = 0; i < count; i++) {
            jacobian[i * ld + j] = column[first + i];
        }
    }
}

void dyn_jacobian_fill(dyn_map *map, const double *x, double *y, double *jacobian, size_t ld,
                       double *work)
{
    fill_window(map, x, y, 0, map->size, jacobian, ld, work);
}

void dyn_jacobian_fill_block(dyn_map *map, const double *x, size_t block, double *jacobian,
                             double *work)
{
    const size_t width = map->block_width;
    fill_window(map, x, NULL, block * width, width, jacobian, width, work);
}
