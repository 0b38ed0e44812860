/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_TEXT = 512 };

kern_status dyn_map_create(dyn_map **out, const dyn_map_kind *kind, size_t size,
                           const dyn_param *info, size_t n_params, kern_error *err)
{
    *out = NULL;
    if (size == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "map %s has 0 coordinates; accepted is 1 or more", kind->name);
    }
    dyn_map *map = calloc(1, sizeof *map);
    if (map == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for map %s", kind->name);
    }
    map->start = calloc(size, sizeof *map->start);
    map->params = calloc(n_params + 1, sizeof *map->params);
    if (map->start == NULL || map->params == NULL) {
        free(map->start);
        free(map->params);
        free(map);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for map %s of %zu coordinates",
                          kind->name, size);
    }
    map->kind = kind;
    map->size = size;
    map->block_count = 1;
    map->block_width = size;
    map->n_params = n_params;
    map->param_info = info;
    for (size_t i = 0; i < n_params; i++) {
        map->params[i] = info[i].value;
    }
    *out = map;
    return KERN_OK;
}

kern_status dyn_map_create_like(dyn_map **out, const dyn_map *map, kern_error *err)
{
    KERN_TRY(dyn_map_create(out, map->kind, map->size, map->param_info, map->n_params, err));
    dyn_map *copy = *out;
    copy->block_count = map->block_count;
    copy->block_width = map->block_width;
    copy->n_fixed = map->n_fixed;
    copy->gauge = map->gauge;
    copy->block_zeros = map->block_zeros;
    copy->approximate_jvp = map->approximate_jvp;
    copy->periods = map->periods;
    memcpy(copy->start, map->start, map->size * sizeof *map->start);
    if (map->n_params > 0) {
        memcpy(copy->params, map->params, map->n_params * sizeof *map->params);
    }
    return KERN_OK;
}

void dyn_map_destroy(dyn_map *map)
{
    if (map != NULL) {
        if (map->kind->fini != NULL) {
            map->kind->fini(map);
        }
        free(map->start);
        free(map->params);
        free(map);
    }
}

/* Names of the first n parameters, separated by commas; cut when they do not fit. */
static void list_names(const dyn_map *map, size_t n, char out[NAMES_TEXT])
{
    size_t used = 0;
    (void)snprintf(out, NAMES_TEXT, "none");
    for (size_t i = 0; i < n && used < NAMES_TEXT; i++) {
        used += (size_t)snprintf(out + used, NAMES_TEXT - used, "%s%s", i > 0 ? ", " : "",
                                 map->param_info[i].name);
    }
}

kern_status dyn_map_find_param(const dyn_map *map, const char *name, size_t *index, kern_error *err)
{
    char names[NAMES_TEXT];
    for (size_t i = 0; i < map->n_params; i++) {
        if (strcmp(map->param_info[i].name, name) == 0) {
            *index = i;
            return KERN_OK;
        }
    }
    list_names(map, map->n_params, names);
    return kern_raise(err, KERN_INVALID_ARGUMENT, "map %s has no parameter \"%.64s\"; accepted: %s",
                      map->kind->name, name, names);
}

kern_status dyn_map_set_param(dyn_map *map, const char *name, double value, kern_error *err)
{
    size_t index = 0;
    char names[NAMES_TEXT];
    KERN_TRY(dyn_map_find_param(map, name, &index, err));
    if (index + map->n_fixed >= map->n_params) {
        list_names(map, map->n_params - map->n_fixed, names);
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "parameter %s of map %s was settled when the map was made; accepted: %s",
                          name, map->kind->name, names);
    }
    if (!isfinite(value)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "parameter %s of map %s is %g; accepted are finite numbers", name,
                          map->kind->name, value);
    }
    map->params[index] = value;
    return KERN_OK;
}

void dyn_map_iterate(dyn_map *map, const double *x, size_t n, double *y)
{
    if (y != x) {
        memcpy(y, x, map->size * sizeof *y);
    }
    for (size_t i = 0; i < n; i++) {
        map->kind->step(map, y, y);
    }
}

/* y comes last, since it may be x. */
void dyn_map_jvp_many(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                      double *jv)
{
    if (map->kind->jvp_many != NULL) {
        map->kind->jvp_many(map, x, k, v, y, jv);
        return;
    }
    for (size_t i = 0; i < k; i++) {
        map->kind->jvp(map, x, v + i * map->size, i + 1 == k ? y : NULL, jv + i * map->size);
    }
    if (k == 0 && y != NULL) {
        map->kind->step(map, x, y);
    }
}

static bool is_zero(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i] != 0.0) {
            return false;
        }
    }
    return true;
}

/* One tangent, block by block: of the image of a block's part, that in the block is kept. */
static void push_blocks(dyn_map *map, const double *x, const double *v, double *jv, double *work)
{
    const size_t width = map->block_width;
    for (size_t block = 0; block < map->block_count; block++) {
        double *support = work + block * width;
        if (is_zero(v + block * width, width)) {
            memset(jv + block * width, 0, width * sizeof *jv);
            continue;
        }
        memset(work, 0, map->size * sizeof *work);
        memcpy(support, v + block * width, width * sizeof *work);
        map->kind->jvp(map, x, work, NULL, work);
        memcpy(jv + block * width, support, width * sizeof *work);
    }
}

void dyn_map_jvp_blocks(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                        double *jv, double *work)
{
    if (map->block_count == 1) {
        dyn_map_jvp_many(map, x, k, v, y, jv);
        return;
    }
    if (map->kind->jvp_blocks != NULL) {
        map->kind->jvp_blocks(map, x, k, v, y, jv);
        return;
    }
    for (size_t i = 0; i < k; i++) {
        push_blocks(map, x, v + i * map->size, jv + i * map->size, work);
    }
    if (y != NULL) {
        map->kind->step(map, x, y);
    }
}

double dyn_map_distance(const dyn_map *map, const double *x, const double *y)
{
    double largest = 0;
    for (size_t i = 0; i < map->size; i++) {
        double gap = fabs(x[i] - y[i]);
        if (map->periods != NULL && map->periods[i] > 0) {
            gap = fabs(remainder(gap, map->periods[i]));
        }
        /* A NaN is kept, whatever comes after it. */
        if (!(gap <= largest)) {
            largest = gap;
        }
        if (isnan(gap)) {
            break;
        }
    }
    return largest;
}
