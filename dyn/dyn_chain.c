/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_chain.h"

#include "dyn/dyn_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

double dyn_chain_gap(dyn_map *map, const double *states, size_t period, double *gap)
{
    const size_t size = map->size;
    double sum = 0.0;
    for (size_t i = 0; i < period; i++) {
        double *g = gap + i * size;
        map->kind->step(map, states + i * size, g);
        dyn_state_difference(map, g, states + (i + 1) % period * size, g);
        for (size_t j = 0; j < size; j++) {
            sum += g[j] * g[j];
        }
    }
    return sqrt(sum);
}

double dyn_chain_largest(const double *values, size_t n)
{
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(values[i]) <= largest)) {
            largest = fabs(values[i]);
        }
        if (isnan(largest)) {
            break;
        }
    }
    return largest;
}

double dyn_chain_residual(dyn_map *map, const double *states, size_t period, double *gap)
{
    (void)dyn_chain_gap(map, states, period, gap);
    return dyn_chain_largest(gap, period * map->size);
}

double dyn_chain_reach(const double *x, size_t size, double merge)
{
    return merge * fmax(1.0, dyn_chain_largest(x, size));
}

bool dyn_chain_agrees(const dyn_map *map, const double *a, size_t a_period, const double *b,
                      size_t b_period, size_t shift, double merge)
{
    const size_t size = map->size;
    for (size_t i = 0; i < a_period; i++) {
        const double *x = a + i * size;
        const double *y = b + (i + shift) % b_period * size;
        if (!(dyn_map_distance(map, x, y) <= dyn_chain_reach(x, size, merge))) {
            return false;
        }
    }
    return true;
}

size_t dyn_chain_minimal_period(const dyn_map *map, const double *states, size_t period,
                                double merge)
{
    for (size_t d = 1; d < period; d++) {
        if (period % d == 0 && dyn_chain_agrees(map, states, period, states, period, d, merge)) {
            return d;
        }
    }
    return period;
}

bool dyn_chain_precedes(const double *x, const double *y, size_t size, double merge)
{
    const double reach = dyn_chain_reach(x, size, merge);
    for (size_t i = 0; i < size; i++) {
        if (fabs(x[i] - y[i]) > reach) {
            return x[i] < y[i];
        }
    }
    return false;
}

static void reduce_states(const dyn_map *map, double *states, size_t period, double merge)
{
    for (size_t i = 0; i < period; i++) {
        double *x = states + i * map->size;
        dyn_state_reduce(map, x);
        for (size_t j = 0; map->periods != NULL && j < map->size; j++) {
            const double circle = map->periods[j];
            if (circle > 0.0 && circle - x[j] <= merge) {
                x[j] -= circle;
            }
        }
    }
}

void dyn_chain_normalise(const dyn_map *map, double *states, size_t period, double merge,
                         double *work)
{
    const size_t size = map->size;
    size_t first = 0;
    reduce_states(map, states, period, merge);
    for (size_t i = 1; i < period; i++) {
        if (dyn_chain_precedes(states + i * size, states + first * size, size, merge)) {
            first = i;
        }
    }
    for (size_t i = 0; i < period; i++) {
        memcpy(work + i * size, states + (first + i) % period * size, size * sizeof *work);
    }
    memcpy(states, work, period * size * sizeof *states);
}

kern_status dyn_chain_judge(const double *states, size_t n, double first, double tol)
{
    const double largest = dyn_chain_largest(states, n);
    if (largest * DBL_EPSILON <= tol) {
        return KERN_OK;
    }
    return largest <= DYN_CHAIN_FAR * fmax(1.0, first) ? KERN_NOT_CONVERGED : KERN_DIVERGED;
}
