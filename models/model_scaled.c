/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_scaled.h"

#include "kernels/kern_size.h"

#include <stdlib.h>
#include <string.h>

/* States of the workspace: tangents that a scaled update takes at a time, whole groups, and one
 * more for the energies of the tokens, which are no more than a state has numbers. */
enum { WORK_STATES = 2 * DYN_MAP_GROUP };

_Static_assert((int)DYN_MAP_GROUP % (int)MODEL_MAP_GROUP == 0,
               "splits that dyn/ allows itself must suit the block");

static const dyn_param scaled_params[] = {
    {"step_scale", 1.0, "factor of the update; 1 is the trained step"}};

static size_t bytes(const dyn_map *map)
{
    return map->size * sizeof(double);
}

/* to = from + s (to − from). Scale 1 is left alone, so that the block's own bits come through. */
static void scale_update(const dyn_map *map, const double *from, double *to)
{
    const double s = map->params[0];
    for (size_t i = 0; s != 1.0 && i < map->size; i++) {
        to[i] = from[i] + s * (to[i] - from[i]);
    }
}

static void step(dyn_map *map, const double *x, double *y)
{
    const model_scaled *s = map->data;
    model_map_step(s->block, x, s->work);
    scale_update(map, x, s->work);
    memcpy(y, s->work, bytes(map));
}

/* Tangents of x + s (F(x) − x): v + s (J v − v), through the workspace since jv may be v. y comes
 * last, since it may be x. */
static void push(dyn_map *map, const double *x, size_t k, const double *v, bool own_tokens,
                 double *y, double *jv)
{
    const model_scaled *s = map->data;
    if (map->params[0] == 1.0) {
        model_map_jvp_many(s->block, x, k, v, own_tokens, y, jv);
        return;
    }
    for (size_t first = 0; first < k; first += WORK_STATES) {
        const size_t count = kern_size_min(WORK_STATES, k - first);
        model_map_jvp_many(s->block, x, count, v + first * map->size, own_tokens, NULL, s->work);
        for (size_t i = 0; i < count; i++) {
            scale_update(map, v + (first + i) * map->size, s->work + i * map->size);
        }
        memcpy(jv + first * map->size, s->work, count * bytes(map));
    }
    if (y != NULL) {
        step(map, x, y);
    }
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    push(map, x, 1, v, false, y, jv);
}

static void jvp_many(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                     double *jv)
{
    push(map, x, k, v, false, y, jv);
}

static void jvp_blocks(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                       double *jv)
{
    push(map, x, k, v, true, y, jv);
}

static void vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    const model_scaled *s = map->data;
    model_map_vjp(s->block, x, w, s->work);
    scale_update(map, w, s->work);
    memcpy(jtw, s->work, bytes(map));
}

static double energy(dyn_map *map, const double *x)
{
    const model_scaled *s = map->data;
    double *by_tokens = s->work + WORK_STATES * map->size;
    double sum = 0;
    map->kind->block_energies(map, x, by_tokens);
    for (size_t i = 0; i < map->block_count; i++) {
        sum += by_tokens[i];
    }
    return sum;
}

void model_scaled_init(model_scaled *s, const char *name, const char *formula)
{
    s->kind = (dyn_map_kind){.name = name,
                             .formula = formula,
                             .step = step,
                             .jvp = jvp,
                             .jvp_many = jvp_many,
                             .jvp_blocks = jvp_blocks,
                             .vjp = vjp};
}

void model_scaled_add_energy(model_scaled *s,
                             void (*block_energies)(dyn_map *map, const double *x, double *e))
{
    s->kind.energy = energy;
    s->kind.block_energies = block_energies;
}

kern_status model_scaled_create(dyn_map **out, model_scaled *s, size_t tokens, size_t width,
                                kern_error *err)
{
    size_t size = 0;
    size_t room;
    *out = NULL;
    if (kern_size_mul(tokens, width, &size) &&
        kern_size_mul((WORK_STATES + 1) * sizeof(double), size, &room)) {
        s->work = malloc(room);
    }
    if (s->work == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a map of %zu tokens", tokens);
    }
    KERN_TRY(dyn_map_create(out, &s->kind, size, scaled_params, 1, err));
    (*out)->data = s;
    (*out)->block_count = tokens;
    (*out)->block_width = width;
    return KERN_OK;
}

void model_scaled_copy(dyn_map *clone, const dyn_map *map)
{
    memcpy(clone->start, map->start, bytes(map));
    clone->params[0] = map->params[0];
}

void model_scaled_fini(model_scaled *s)
{
    model_map_destroy(s->block);
    free(s->work);
    s->block = NULL;
    s->work = NULL;
}
