/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_attractor.h"

#include "dyn/dyn_state.h"

#include <math.h>
#include <stdlib.h>

/* Distance, relative to 1 + largest coordinate, within which two cycles are one. */
#define SAME_CYCLE 1e-6

/* Points of an aperiodic attractor that are compared. */
enum { SAME_POINTS = 300 };

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

static double scale_of(const dyn_map *map, const double *x)
{
    double most = 0.0;
    for (size_t i = 0; i < map->size; i++) {
        if (map->periods == NULL || !(map->periods[i] > 0.0)) {
            most = fmax(most, fabs(x[i]));
        }
    }
    return 1.0 + most;
}

static bool same_cycle(const dyn_map *map, const dyn_attractor *a, const dyn_attractor *b)
{
    const double reach = SAME_CYCLE * scale_of(map, a->points);
    return a->period == b->period && dyn_attractor_distance(map, a, b, SIZE_MAX) <= reach;
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

bool dyn_attractor_same(const dyn_map *map, const dyn_attractor *a, const dyn_attractor *b)
{
    if (a->n_points == 0 || b->n_points == 0 || (a->period > 0) != (b->period > 0)) {
        return false;
    }
    if (a->period > 0) {
        return same_cycle(map, a, b);
    }
    const thinned one = thin(a, SAME_POINTS);
    const thinned two = thin(b, SAME_POINTS);
    return find_overlap(map, &one, &two, 2.0 * find_gap(map, &two)) >= 0.5 ||
           find_overlap(map, &two, &one, 2.0 * find_gap(map, &one)) >= 0.5;
}
