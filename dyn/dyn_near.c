/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_near.h"

#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>

/* Up to so many points are looked at one after another, which is faster than cells. */
enum { FEW = 16 };

/* Part of the radius that cells have room for beyond it: places and distances are rounded. */
#define ROOM 1e-9

static double period_of(const dyn_map *map, size_t i)
{
    return map->periods != NULL && map->periods[i] > 0.0 ? map->periods[i] : 0.0;
}

/* ---- By place ----------------------------------------------------------------------------- */

/* Index of the cell of a coordinate, as a number that fits; equal places give equal indices. Beyond
 * 2⁶² cells from 0 all are one, which costs time and finds the same. */
static uint64_t index_of(double place)
{
    const double index = floor(place);
    const double most = 0x1p62;
    return (uint64_t)(int64_t)(index > most ? most : index >= -most ? index : -most);
}

/* Key of the cell whose corner is chosen by the bits of `corner`: the lower or the upper end of the
 * stretch within `reach` of every coordinate. */
static uint64_t key_of(const dyn_near *near, const double *x, double reach, size_t corner)
{
    uint64_t key = 0;
    for (size_t i = 0; i < near->depth; i++) {
        const double period = period_of(near->map, i);
        double place = (corner >> i & 1) != 0 ? x[i] + reach : x[i] - reach;
        place -= period > 0.0 ? period * floor(place / period) : 0.0;
        double index = place / near->width[i];
        /* Rounding may put a place just below a whole circle at its end. */
        index = period > 0.0 ? fmin(index, period / near->width[i] - 0.5) : index;
        key = kern_rng_hash(key, index_of(index));
    }
    return key;
}

static kern_status insert(dyn_near *near, size_t place, kern_error *err)
{
    const uint64_t key = key_of(near, near->points[place].x, 0.0, 0);
    int32_t before = 0;
    KERN_TRY(dyn_cell_table_put(&near->heads, key, (int32_t)place + 1, &before, err));
    near->points[place].next = before;
    return KERN_OK;
}

static kern_status gather_points(dyn_near *near, const dyn_attractor *attractors, size_t n,
                                 kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!kern_size_add(near->n, attractors[i].n_points, &near->n) || near->n >= INT32_MAX) {
            return kern_raise(err, KERN_OVERFLOW, "%zu attractors have more points than %d", n,
                              INT32_MAX);
        }
    }
    near->points = calloc(near->n + 1, sizeof *near->points);
    if (near->points == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu points", near->n);
    }
    size_t place = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < attractors[i].n_points; k++) {
            near->points[place++] = (dyn_near_point){
                .x = attractors[i].points + k * near->map->size, .id = (int32_t)i + 1};
        }
    }
    return KERN_OK;
}

kern_status dyn_near_init(dyn_near *near, const dyn_map *map, const dyn_attractor *attractors,
                          size_t n, double radius, kern_error *err)
{
    *near = (dyn_near){
        .map = map, .radius = radius, .depth = kern_size_min(map->size, DYN_CELLS_DIMENSIONS)};
    KERN_TRY(gather_points(near, attractors, n, err));
    near->hashed = near->n > FEW;
    if (!near->hashed) {
        return KERN_OK;
    }
    for (size_t i = 0; i < near->depth; i++) {
        const double period = period_of(map, i);
        near->width[i] = 2.0 * radius * (1.0 + ROOM);
        if (period > 0.0) {
            near->width[i] = period / fmax(1.0, floor(period / near->width[i]));
        }
    }
    KERN_TRY(dyn_cell_table_init(&near->heads, near->n, err));
    for (size_t place = 0; place < near->n; place++) {
        KERN_TRY(insert(near, place, err));
    }
    return KERN_OK;
}

void dyn_near_fini(dyn_near *near)
{
    free(near->points);
    dyn_cell_table_fini(&near->heads);
    *near = (dyn_near){0};
}

/* What is known when another point is near: its id, or −1 when another attractor was before. */
static int32_t join_ids(int32_t before, int32_t id)
{
    return before == 0 || before == id ? id : -1;
}

/* Looks through one cell. A point may be met again in another corner's cell. */
static int32_t search_cell(const dyn_near *near, uint64_t key, const double *x, int32_t found)
{
    int32_t place = dyn_cell_table_get(&near->heads, key);
    while (place > 0 && found >= 0) {
        const dyn_near_point *p = &near->points[place - 1];
        if (p->id != found && dyn_map_distance(near->map, p->x, x) <= near->radius) {
            found = join_ids(found, p->id);
        }
        place = p->next;
    }
    return found;
}

int32_t dyn_near_find(const dyn_near *near, const double *x)
{
    int32_t found = 0;
    if (!near->hashed) {
        for (size_t k = 0; k < near->n && found >= 0; k++) {
            if (dyn_map_distance(near->map, near->points[k].x, x) <= near->radius) {
                found = join_ids(found, near->points[k].id);
            }
        }
        return found;
    }
    const double reach = near->radius * (1.0 + ROOM);
    uint64_t keys[1 << DYN_CELLS_DIMENSIONS];
    for (size_t corner = 0; corner < (size_t)1 << near->depth && found >= 0; corner++) {
        bool again = false;
        keys[corner] = key_of(near, x, reach, corner);
        for (size_t k = 0; k < corner; k++) {
            again = again || keys[k] == keys[corner];
        }
        found = again ? found : search_cell(near, keys[corner], x, found);
    }
    return found;
}

/* ---- Separation --------------------------------------------------------------------------- */

/* A point by the coordinate that is sorted. */
typedef struct sorted {
    double at;
    const double *x;
    size_t owner, order;
} sorted;

static int compare_sorted(const void *a, const void *b)
{
    const sorted *one = a;
    const sorted *two = b;
    if (one->at != two->at) {
        return one->at < two->at ? -1 : 1;
    }
    return (one->order > two->order) - (one->order < two->order);
}

/* The coordinate in which the points reach furthest, of those that are on no circle, or the first
 * circle when all are. */
static size_t find_longest(const dyn_map *map, const sorted *points, size_t n)
{
    size_t longest = 0;
    double most = -1.0;
    for (size_t i = 0; i < map->size; i++) {
        double low = (double)INFINITY;
        double high = -(double)INFINITY;
        for (size_t k = 0; k < n && !(period_of(map, i) > 0.0); k++) {
            low = fmin(low, points[k].x[i]);
            high = fmax(high, points[k].x[i]);
        }
        longest = high - low > most ? i : longest;
        most = fmax(most, high - low);
    }
    return longest;
}

/* Compares every point with those before it, round the circle where there is one. */
static double sweep_points(const dyn_map *map, const sorted *points, size_t n, double period,
                           double least)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t back = 1; back < n; back++) {
            const bool round = back > i;
            const sorted *other = &points[round ? i + n - back : i - back];
            if ((round && !(period > 0.0)) ||
                !(points[i].at - other->at + (round ? period : 0.0) < least)) {
                break;
            }
            if (other->owner != points[i].owner) {
                least = fmin(least, dyn_map_distance(map, points[i].x, other->x));
            }
        }
    }
    return least;
}

kern_status dyn_near_separation(double *least, const dyn_map *map, const dyn_attractor *attractors,
                                size_t n, double most, kern_error *err)
{
    size_t total = 0;
    *least = most;
    for (size_t i = 0; i < n; i++) {
        total += attractors[i].n_points;
    }
    sorted *points = calloc(total + 1, sizeof *points);
    if (points == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu points", total);
    }
    size_t place = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < attractors[i].n_points; k++, place++) {
            points[place] =
                (sorted){.x = attractors[i].points + k * map->size, .owner = i, .order = place};
        }
    }
    const size_t axis = find_longest(map, points, total);
    const double period = period_of(map, axis);
    for (size_t k = 0; k < total; k++) {
        const double at = points[k].x[axis];
        points[k].at = period > 0.0 ? at - period * floor(at / period) : at;
    }
    qsort(points, total, sizeof *points, compare_sorted);
    *least = sweep_points(map, points, total, period, most);
    free(points);
    return KERN_OK;
}
