/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_param_slope.h"

#include "dyn/dyn_state.h"

#include <math.h>
#include <string.h>

enum { ORDERS = 3, WIDTHS = 4 };

/* First width as a part of the scale, and how much narrower the next ones are: rounding costs
 * 2⁻⁵² / 2⁻⁶ of the value, extrapolation leaves the sixth power of the width. */
#define FIRST_WIDTH 0x1p-6
#define NARROWING   0x1p-5
/* Disagreement of orders that asks for no narrower width. */
#define AGREEMENT 1e-8

size_t dyn_param_slope_work(const dyn_map *map)
{
    return (ORDERS + 1) * map->size;
}

/* out = (F(x; p + h) − F(x; p − h)) / 2h. */
static void difference(dyn_map *map, size_t index, double h, const double *x, double *out,
                       double *below)
{
    const double p = map->params[index];
    const double up = p + h;
    const double down = p - h;
    map->params[index] = up;
    map->kind->step(map, x, out);
    map->params[index] = down;
    map->kind->step(map, x, below);
    map->params[index] = p;
    dyn_state_difference(map, out, below, out);
    for (size_t i = 0; i < map->size; i++) {
        out[i] /= up - down; /* as rounded */
    }
}

/* Slope from widths h, h/2 and h/4 into table[0]; returns the disagreement of the last two orders
 * relative to 1 and the largest slope. */
static double extrapolate(dyn_map *map, size_t index, double h, const double *x, double *table,
                          double *below)
{
    const size_t n = map->size;
    double worst = 0.0;
    double most = 1.0;
    for (size_t k = 0; k < ORDERS; k++) {
        difference(map, index, h / (double)(1U << k), x, table + k * n, below);
    }
    for (size_t i = 0; i < n; i++) {
        const double wide = (4.0 * table[n + i] - table[i]) / 3.0;
        const double narrow = (4.0 * table[2 * n + i] - table[n + i]) / 3.0;
        table[i] = (16.0 * narrow - wide) / 15.0;
        const double gap = fabs(table[i] - narrow);
        worst = gap <= worst ? worst : gap; /* keeps NaN out of the first operand */
        most = fmax(most, fabs(table[i]));
        if (!isfinite(table[i])) {
            return (double)NAN;
        }
    }
    return worst / most;
}

double dyn_param_slope(dyn_map *map, size_t index, double scale, const double *x, double *slope,
                       double *work)
{
    const size_t n = map->size;
    double *below = work + ORDERS * n;
    double best = (double)NAN;
    double h = FIRST_WIDTH * scale;
    for (size_t i = 0; i < n; i++) {
        slope[i] = (double)NAN;
    }
    for (size_t k = 0; k < WIDTHS && !(best <= AGREEMENT); k++, h *= NARROWING) {
        const double gap = extrapolate(map, index, h, x, work, below);
        if (gap < best || (isnan(best) && !isnan(gap))) {
            best = gap;
            memcpy(slope, work, n * sizeof *slope);
        }
    }
    return best;
}
