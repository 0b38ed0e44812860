/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_frozen.h"

#include "kernels/kern_size.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What the map owns. The kind is its own, since name and energy depend on the whole map. */
typedef struct frozen {
    dyn_map_kind kind;
    dyn_map *inner;   /* owned */
    size_t block;     /* which one moves */
    double *state;    /* inner->size: the blocks held; the moving one is written at each call */
    double *tangent;  /* inner->size, zero but in the moving block between calls */
    double *image;    /* inner->size */
    double *product;  /* inner->size */
    double *energies; /* inner->block_count */
    double *several;  /* MANY × inner->size: tangents taken at a time */
} frozen;

/* Tangents that go into the whole map at a time. */
enum { MANY = 4 * DYN_MAP_GROUP };

static void destroy_data(frozen *f)
{
    if (f != NULL) {
        dyn_map_destroy(f->inner);
        free(f->state);
        free(f);
    }
}

static void fini(dyn_map *map)
{
    destroy_data(map->data);
}

/* ---- The map's functions ---------------------------------------------------------------------
 */

static size_t bytes(const dyn_map *map)
{
    return map->size * sizeof(double);
}

/* Where the moving block is in an array of the whole map. */
static double *moving(const dyn_map *map, double *whole)
{
    const frozen *f = map->data;
    return whole + f->block * map->size;
}

/* The whole map at the state in question, with this map's parameters. */
static frozen *enter(dyn_map *map, const double *x)
{
    frozen *f = map->data;
    if (map->n_params > 0) {
        memcpy(f->inner->params, map->params, map->n_params * sizeof *map->params);
    }
    memcpy(moving(map, f->state), x, bytes(map));
    return f;
}

static void step(dyn_map *map, const double *x, double *y)
{
    const frozen *f = enter(map, x);
    f->inner->kind->step(f->inner, f->state, f->image);
    memcpy(y, moving(map, f->image), bytes(map));
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const frozen *f = enter(map, x);
    memcpy(moving(map, f->tangent), v, bytes(map));
    f->inner->kind->jvp(f->inner, f->state, f->tangent, y != NULL ? f->image : NULL, f->product);
    if (y != NULL) {
        memcpy(y, moving(map, f->image), bytes(map));
    }
    memcpy(jv, moving(map, f->product), bytes(map));
}

/* The whole map's diagonal block is all that is asked for, so the cheaper call for diagonal blocks
 * does. */
static void push_whole(const frozen *f, size_t k)
{
    if (f->inner->kind->jvp_blocks != NULL) {
        f->inner->kind->jvp_blocks(f->inner, f->state, k, f->several, NULL, f->several);
    } else {
        f->inner->kind->jvp_many(f->inner, f->state, k, f->several, NULL, f->several);
    }
}

static void jvp_many(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                     double *jv)
{
    const frozen *f = enter(map, x);
    const size_t whole = f->inner->size;
    for (size_t first = 0; first < k; first += MANY) {
        const size_t count = kern_size_min(MANY, k - first);
        memset(f->several, 0, count * whole * sizeof *f->several);
        for (size_t i = 0; i < count; i++) {
            memcpy(moving(map, f->several + i * whole), v + (first + i) * map->size, bytes(map));
        }
        push_whole(f, count);
        for (size_t i = 0; i < count; i++) {
            memcpy(jv + (first + i) * map->size, moving(map, f->several + i * whole), bytes(map));
        }
    }
    if (y != NULL) {
        step(map, x, y);
    }
}

static void vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    const frozen *f = enter(map, x);
    memcpy(moving(map, f->tangent), w, bytes(map));
    f->inner->kind->vjp(f->inner, f->state, f->tangent, f->product);
    memcpy(jtw, moving(map, f->product), bytes(map));
}

static double energy(dyn_map *map, const double *x)
{
    const frozen *f = enter(map, x);
    if (f->inner->kind->block_energies == NULL) {
        return f->inner->kind->energy(f->inner, f->state);
    }
    f->inner->kind->block_energies(f->inner, f->state, f->energies);
    return f->energies[f->block];
}

static void block_energies(dyn_map *map, const double *x, double *energies)
{
    energies[0] = energy(map, x);
}

/* ---- Construction ----------------------------------------------------------------------------
 */

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    const frozen *f = map->data;
    KERN_TRY(dyn_frozen_create(out, f->inner, f->block, f->state, err));
    memcpy((*out)->start, map->start, bytes(map));
    if (map->n_params > 0) {
        memcpy((*out)->params, map->params, map->n_params * sizeof *map->params);
    }
    return KERN_OK;
}

static kern_status build(frozen *f, const dyn_map *inner, kern_error *err)
{
    /* A map of one block has the energy of that block. */
    const bool has_energy = inner->kind->block_energies != NULL ||
                            (inner->block_count == 1 && inner->kind->energy != NULL);
    const bool many = inner->kind->jvp_many != NULL || inner->kind->jvp_blocks != NULL;
    size_t numbers;
    f->kind = (dyn_map_kind){.name = inner->kind->name,
                             .formula = "one block of the map, the other blocks held",
                             .step = step,
                             .jvp = jvp,
                             .jvp_many = many ? jvp_many : NULL,
                             .vjp = inner->kind->vjp != NULL ? vjp : NULL,
                             .energy = has_energy ? energy : NULL,
                             .block_energies = has_energy ? block_energies : NULL,
                             .clone = clone,
                             .fini = fini};
    if (!kern_size_mul(inner->size, 4 + (many ? MANY : 0), &numbers) ||
        !kern_size_add(numbers, inner->block_count, &numbers) ||
        numbers > SIZE_MAX / sizeof(double)) {
        return kern_raise(err, KERN_OVERFLOW, "a map of %zu numbers is too large", inner->size);
    }
    f->state = calloc(numbers, sizeof *f->state);
    if (f->state == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a block of map %s",
                          inner->kind->name);
    }
    f->tangent = f->state + inner->size;
    f->image = f->tangent + inner->size;
    f->product = f->image + inner->size;
    f->energies = f->product + inner->size;
    f->several = f->energies + inner->block_count;
    KERN_TRY(inner->kind->clone(&f->inner, inner, err));
    /* The name may be the map's own, and it is the clone that lives as long as this one. */
    f->kind.name = f->inner->kind->name;
    return KERN_OK;
}

/* The map around `f`, with everything of the whole map that holds for one block too. */
static kern_status wrap(dyn_map **out, frozen *f, kern_error *err)
{
    const dyn_map *inner = f->inner;
    KERN_TRY(
        dyn_map_create(out, &f->kind, inner->block_width, inner->param_info, inner->n_params, err));
    dyn_map *map = *out;
    map->n_fixed = inner->n_fixed;
    map->gauge = inner->gauge;
    map->block_zeros = inner->block_zeros;
    map->approximate_jvp = inner->approximate_jvp;
    if (inner->n_params > 0) {
        memcpy(map->params, inner->params, inner->n_params * sizeof *map->params);
    }
    map->data = f;
    return KERN_OK;
}

kern_status dyn_frozen_create(dyn_map **out, const dyn_map *inner, size_t block,
                              const double *state, kern_error *err)
{
    *out = NULL;
    if (block >= inner->block_count) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "block %zu is not one of the %zu of map %s; accepted are 0 to %zu", block,
                          inner->block_count, inner->kind->name, inner->block_count - 1);
    }
    frozen *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a map");
    }
    kern_status status = build(f, inner, err);
    if (status == KERN_OK) {
        status = wrap(out, f, err);
    }
    if (status != KERN_OK) {
        destroy_data(f);
        return status;
    }
    dyn_frozen_hold(*out, block, state != NULL ? state : inner->start);
    memcpy((*out)->start, moving(*out, f->state), bytes(*out));
    return KERN_OK;
}

void dyn_frozen_hold(dyn_map *map, size_t block, const double *state)
{
    frozen *f = map->data;
    memset(f->tangent, 0, f->inner->size * sizeof *f->tangent);
    f->block = block;
    map->periods = f->inner->periods != NULL ? f->inner->periods + block * map->size : NULL;
    memcpy(f->state, state, f->inner->size * sizeof *f->state);
}
