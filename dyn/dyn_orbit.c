/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_orbit.h"

#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXPANSION_STEPS = 64 };

static const double expansion_least = 1e3;

kern_status dyn_orbit_judge(const dyn_map *map, const double *x, const double *lo, const double *hi)
{
    kern_status status = KERN_OK;
    for (size_t i = 0; i < map->size; i++) {
        if (isnan(x[i])) {
            return KERN_NAN;
        }
        if (fabs(x[i]) > DYN_DIVERGED) {
            status = KERN_DIVERGED;
        } else if (status == KERN_OK && lo != NULL && (x[i] < lo[i] || x[i] > hi[i])) {
            status = KERN_LEFT_BOX;
        }
    }
    return status;
}

static kern_status check_box(const dyn_map *map, const dyn_orbit_options *o, kern_error *err)
{
    if ((o->lo == NULL) != (o->hi == NULL)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the box of an orbit has one end only; accepted are both or neither");
    }
    for (size_t i = 0; o->lo != NULL && i < map->size; i++) {
        if (!(o->lo[i] < o->hi[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "the box of an orbit is %g to %g in coordinate %zu; accepted is a "
                              "low end below the high end",
                              o->lo[i], o->hi[i], i);
        }
    }
    return KERN_OK;
}

void dyn_orbit_destroy(dyn_orbit *orbit)
{
    if (orbit != NULL) {
        free(orbit->states);
        free(orbit->energy);
        free(orbit->observed);
        free(orbit);
    }
}

static size_t stride_of(const dyn_orbit_options *o)
{
    return o->stride > 0 ? o->stride : 1;
}

static double *reserve(size_t rows, size_t width)
{
    size_t count = 0;
    return kern_size_mul(rows, width, &count) ? calloc(count, sizeof(double)) : NULL;
}

static kern_status allocate(dyn_orbit **out, const dyn_map *map, const dyn_orbit_options *o,
                            kern_error *err)
{
    size_t rows = 0;
    if (!kern_size_add(o->steps, 1, &rows)) {
        return kern_raise(err, KERN_OVERFLOW, "an orbit of %zu steps is too long", o->steps);
    }
    dyn_orbit *orbit = calloc(1, sizeof *orbit);
    *out = orbit;
    if (orbit != NULL) {
        orbit->size = map->size;
        orbit->states = reserve(rows, map->size);
        orbit->energy = map->kind->energy != NULL ? reserve(rows, 1) : NULL;
        orbit->observed = o->observe != NULL ? reserve(rows, o->n_observed + 1) : NULL;
    }
    if (orbit == NULL || orbit->states == NULL ||
        (map->kind->energy != NULL && orbit->energy == NULL) ||
        (o->observe != NULL && orbit->observed == NULL)) {
        return kern_raise(err, KERN_NO_MEMORY,
                          "no memory for an orbit of %zu states of %zu numbers", rows, map->size);
    }
    return KERN_OK;
}

/* Largest growth of a generic tangent over some steps at a fixed point exceeds the bound. */
static kern_status measure_expansion(dyn_map *map, const double *x, bool *expands, kern_error *err)
{
    double *v = malloc(map->size * sizeof *v);
    if (v == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a tangent of %zu numbers", map->size);
    }
    for (size_t i = 0; i < map->size; i++) {
        v[i] = 0.5 + 0x1p-64 * (double)kern_rng_hash(1, i);
    }
    double growth = 1;
    for (size_t k = 0; k < EXPANSION_STEPS && growth <= expansion_least; k++) {
        map->kind->jvp(map, x, v, NULL, v);
        growth = 0;
        for (size_t i = 0; i < map->size; i++) {
            growth = fmax(growth, fabs(v[i]));
        }
    }
    *expands = growth > expansion_least;
    free(v);
    return KERN_OK;
}

static kern_status find_collapse(dyn_orbit *orbit, dyn_map *map, double *image, kern_error *err)
{
    if (orbit->status != KERN_OK || orbit->n < 2) {
        return KERN_OK;
    }
    const double *last = orbit->states + (orbit->n - 1) * orbit->size;
    map->kind->step(map, last, image);
    if (memcmp(last, image, orbit->size * sizeof *last) != 0) {
        return KERN_OK;
    }
    return measure_expansion(map, last, &orbit->collapsed, err);
}

static void store(dyn_orbit *orbit, dyn_map *map, const dyn_orbit_options *o, const double *x)
{
    const size_t row = orbit->n++;
    memcpy(orbit->states + row * orbit->size, x, orbit->size * sizeof *x);
    if (orbit->energy != NULL) {
        orbit->energy[row] = map->kind->energy(map, x);
    }
    if (orbit->observed != NULL) {
        o->observe(o->context, row, x, orbit->observed + row * o->n_observed);
    }
}

/* Follows the orbit in x, which holds its first state, over `last` steps. */
static kern_status follow(dyn_orbit *orbit, dyn_map *map, const dyn_orbit_options *o, size_t last,
                          double *x, kern_error *err)
{
    const size_t stride = stride_of(o);
    for (size_t k = 0;; k++) {
        orbit->status = dyn_orbit_judge(map, x, o->lo, o->hi);
        orbit->end = k;
        if (orbit->status != KERN_OK) {
            return KERN_OK;
        }
        if (k >= o->ttr && (k - o->ttr) % stride == 0) {
            store(orbit, map, o, x);
        }
        if (k == last) {
            return KERN_OK;
        }
        if (o->progress != NULL && k % DYN_ORBIT_WATCH == 0 && !o->progress(o->watcher, k, last)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped after step %zu of %zu", k, last);
        }
        map->kind->step(map, x, x);
    }
}

static kern_status compute(dyn_orbit **out, dyn_map *map, const dyn_orbit_options *o,
                           kern_error *err)
{
    size_t last = 0;
    KERN_TRY(check_box(map, o, err));
    if (!kern_size_mul(o->steps, stride_of(o), &last) || !kern_size_add(o->ttr, last, &last)) {
        return kern_raise(err, KERN_OVERFLOW, "a transient of %zu steps is too long", o->ttr);
    }
    KERN_TRY(allocate(out, map, o, err));
    double *x = malloc(map->size * sizeof *x);
    if (x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a state of %zu numbers", map->size);
    }
    memcpy(x, o->x0 != NULL ? o->x0 : map->start, map->size * sizeof *x);
    kern_status status = follow(*out, map, o, last, x, err);
    if (status == KERN_OK) {
        status = find_collapse(*out, map, x, err);
    }
    free(x);
    return status;
}

kern_status dyn_orbit_create(dyn_orbit **out, dyn_map *map, const dyn_orbit_options *options,
                             kern_error *err)
{
    *out = NULL;
    const kern_status status = compute(out, map, options, err);
    if (status != KERN_OK) {
        dyn_orbit_destroy(*out);
        *out = NULL;
    }
    return status;
}
