/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_attractor.h"

#include "dyn/dyn_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Distance, relative to 1 + largest coordinate, within which two cycles are one. */
#define SAME_CYCLE 1e-6

/* Points of an aperiodic attractor that are compared, and periods in which contracting directions
 * die out: 100 periods of a multiplier of 0.8 take them below 1e-9. */
enum { SAME_POINTS = 300, RELAX_PERIODS = 100 };

/* Part of the way between two cycles that a state may move while it relaxes. The centre manifold
 * bends away from the way by its square only; a state that goes to one of two attractors moves by a
 * quarter or more. */
#define MOVED 0.125

dyn_verify_options dyn_verify_options_default(void)
{
    return (dyn_verify_options){.ttr = 500,
                                .confirm = 20000,
                                .exponent_steps = 5000,
                                .samples = 1000,
                                .tolerance = 1e-8,
                                .seed = 1};
}

kern_status dyn_verify_options_check(const dyn_verify_options *o, kern_error *err)
{
    if (o->exponent_steps < 100 || o->samples < 100) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an attractor is verified over %zu steps and kept as %zu samples; "
                          "accepted are 100 or more of both",
                          o->exponent_steps, o->samples);
    }
    if (!(o->tolerance > 0.0 && o->tolerance <= 1e-3)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the tolerance of a return is %g, accepted are numbers above 0 and up to "
                          "0.001",
                          o->tolerance);
    }
    return KERN_OK;
}

void dyn_attractor_fini(dyn_attractor *a)
{
    free(a->points);
    *a = (dyn_attractor){0};
}

/* Distance of x to the nearest of n points that stand `stride` states apart, point `skip` left
 * out. */
static double find_nearest(const dyn_map *map, const double *points, size_t n, size_t stride,
                           const double *x, size_t skip)
{
    double nearest = (double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double d = dyn_map_distance(map, points + i * stride * map->size, x);
        if (isnan(d)) {
            return d;
        }
        nearest = i != skip && d < nearest ? d : nearest;
    }
    return n > 0 ? nearest : (double)NAN;
}

double dyn_attractor_reach(const dyn_map *map, const dyn_attractor *a, const double *x)
{
    return find_nearest(map, a->points, a->n_points, 1, x, SIZE_MAX);
}

/* Points of an attractor that are looked at: every stride-th. */
typedef struct thinned {
    const double *points;
    size_t n, stride;
} thinned;

static thinned thin(const dyn_attractor *a, size_t most)
{
    const size_t stride = a->n_points > most ? (a->n_points + most - 1) / most : 1;
    return (thinned){
        .points = a->points, .n = (a->n_points + stride - 1) / stride, .stride = stride};
}

static double find_excess(const dyn_map *map, const thinned *a, const thinned *b)
{
    double largest = 0.0;
    for (size_t i = 0; i < a->n; i++) {
        const double *x = a->points + i * a->stride * map->size;
        const double d = find_nearest(map, b->points, b->n, b->stride, x, SIZE_MAX);
        /* Written so that NaN is kept. */
        if (!(d <= largest)) {
            largest = d;
        }
        if (isnan(d)) {
            break;
        }
    }
    return a->n > 0 ? largest : (double)NAN;
}

double dyn_attractor_distance(const dyn_map *map, const dyn_attractor *a, const dyn_attractor *b,
                              size_t most)
{
    const thinned one = thin(a, most);
    const thinned two = thin(b, most);
    const double there = find_excess(map, &one, &two);
    const double back = find_excess(map, &two, &one);
    return there <= back || isnan(back) ? back : there;
}

/* ---- The same one ------------------------------------------------------------------------- */

double dyn_attractor_scale(const dyn_map *map, const double *x)
{
    double most = 0.0;
    for (size_t i = 0; i < map->size; i++) {
        if (map->periods == NULL || !(map->periods[i] > 0.0)) {
            most = fmax(most, fabs(x[i]));
        }
    }
    return 1.0 + most;
}

static bool near_cycle(const dyn_map *map, const dyn_attractor *a, const dyn_attractor *b)
{
    const double reach = SAME_CYCLE * dyn_attractor_scale(map, a->points);
    return dyn_attractor_distance(map, a, b, SIZE_MAX) <= reach;
}

static bool nearly_neutral(const dyn_attractor *a)
{
    return fabs(a->spectral_radius - 1.0) <= DYN_ATTRACTOR_NEARLY_NEUTRAL;
}

/* Whether the state x, `part` of the way from one of a to one of b, is a cycle of `period` states
 * to the residual that cycles are solved to. work holds 2 × size numbers. */
static bool rests_between(dyn_map *map, const double *a, const double *way, double part,
                          size_t period, double *work)
{
    double *x = work;
    double *before = work + map->size;
    double length = 0.0;
    const double tolerance = DYN_ATTRACTOR_RESIDUAL * dyn_attractor_scale(map, a) * (double)period;
    for (size_t i = 0; i < map->size; i++) {
        before[i] = x[i] = a[i] + part * way[i];
        length = fmax(length, fabs(way[i]));
    }
    dyn_map_iterate(map, x, RELAX_PERIODS * period, x);
    if (!(dyn_map_distance(map, x, before) <= MOVED * length)) {
        return false;
    }
    memcpy(before, x, map->size * sizeof *x);
    dyn_map_iterate(map, x, period, x);
    return dyn_map_distance(map, x, before) <= tolerance;
}

/* Whether two badly determined cycles of one period cannot be told apart. */
static kern_status join_cycles(bool *same, dyn_map *map, const dyn_attractor *a,
                               const dyn_attractor *b, kern_error *err)
{
    const size_t size = map->size;
    size_t nearest = 0;
    double least = (double)INFINITY;
    double *work = calloc(3 * size, sizeof *work);
    if (work == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu coordinates", 3 * size);
    }
    for (size_t i = 0; i < b->n_points; i++) {
        const double d = dyn_map_distance(map, b->points + i * size, a->points);
        nearest = d < least ? i : nearest;
        least = d < least ? d : least;
    }
    double *way = work + 2 * size;
    dyn_state_difference(map, b->points + nearest * size, a->points, way);
    *same = true;
    for (int quarter = 1; quarter <= 3 && *same; quarter++) {
        *same = rests_between(map, a->points, way, 0.25 * quarter, a->period, work);
    }
    free(work);
    return KERN_OK;
}

static kern_status same_cycle(bool *same, dyn_map *map, const dyn_attractor *a,
                              const dyn_attractor *b, kern_error *err)
{
    *same = a->period == b->period && near_cycle(map, a, b);
    if (*same || a->period != b->period || !nearly_neutral(a) || !nearly_neutral(b)) {
        return KERN_OK;
    }
    return join_cycles(same, map, a, b, err);
}

/* Mean distance of a point to the nearest other one. */
static double find_gap(const dyn_map *map, const thinned *a)
{
    double sum = 0.0;
    for (size_t i = 0; i < a->n; i++) {
        sum +=
            find_nearest(map, a->points, a->n, a->stride, a->points + i * a->stride * map->size, i);
    }
    return sum / (double)a->n;
}

/* Part of the points of a that lie within `reach` of one of b. */
static double find_overlap(const dyn_map *map, const thinned *a, const thinned *b, double reach)
{
    size_t inside = 0;
    for (size_t i = 0; i < a->n; i++) {
        const double *x = a->points + i * a->stride * map->size;
        inside += find_nearest(map, b->points, b->n, b->stride, x, SIZE_MAX) <= reach ? 1U : 0U;
    }
    return (double)inside / (double)a->n;
}

kern_status dyn_attractor_same(bool *same, dyn_map *map, const dyn_attractor *a,
                               const dyn_attractor *b, kern_error *err)
{
    *same = false;
    if (a->n_points == 0 || b->n_points == 0 || (a->period > 0) != (b->period > 0)) {
        return KERN_OK;
    }
    if (a->period > 0) {
        return same_cycle(same, map, a, b, err);
    }
    const thinned one = thin(a, SAME_POINTS);
    const thinned two = thin(b, SAME_POINTS);
    *same = find_overlap(map, &one, &two, 2.0 * find_gap(map, &two)) >= 0.5 ||
            find_overlap(map, &two, &one, 2.0 * find_gap(map, &one)) >= 0.5;
    return KERN_OK;
}
