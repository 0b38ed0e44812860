/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_newton_krylov.h"

#include "dyn/dyn_gmres.h"
#include "dyn/dyn_vector.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_size.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct dyn_newton_krylov {
    dyn_newton newton;
    dyn_gmres *gmres;
    size_t max_products;
    size_t products;
    kern_arena arena;
    double *side; /* size: c */
    /* Of the system under way. */
    const double *states;
    size_t period;
};

dyn_newton_krylov_options dyn_newton_krylov_options_default(void)
{
    return (dyn_newton_krylov_options){.period = 1, .restart = 100, .max_products = 1000};
}

/* ---- The linear system -------------------------------------------------------------------- */

/* av = J_{p−1} ⋯ J_0 v − v. */
static void apply(void *context, const double *v, double *av)
{
    dyn_newton_krylov *k = context;
    dyn_map *map = k->newton.map;
    const double *from = v;
    for (size_t i = 0; i < k->period; i++) {
        map->kind->jvp(map, k->states + i * map->size, from, NULL, av);
        from = av;
    }
    for (size_t j = 0; j < map->size; j++) {
        av[j] -= v[j];
    }
}

/* c, the gaps carried to the end of the chain. */
static void gather_side(dyn_newton_krylov *k, const double *gap)
{
    dyn_map *map = k->newton.map;
    memcpy(k->side, gap, map->size * sizeof *gap);
    for (size_t i = 1; i < k->period; i++) {
        map->kind->jvp(map, k->states + i * map->size, k->side, NULL, k->side);
        for (size_t j = 0; j < map->size; j++) {
            k->side[j] += gap[i * map->size + j];
        }
    }
}

/* s_1 … s_{p−1} from s_0. */
static void spread_step(dyn_newton_krylov *k, const double *gap, double *step)
{
    dyn_map *map = k->newton.map;
    for (size_t i = 0; i + 1 < k->period; i++) {
        double *next = step + (i + 1) * map->size;
        map->kind->jvp(map, k->states + i * map->size, step + i * map->size, NULL, next);
        for (size_t j = 0; j < map->size; j++) {
            next[j] -= gap[i * map->size + j];
        }
    }
}

static kern_status find_step(void *context, const double *states, size_t period, const double *gap,
                             double *forcing, double *step)
{
    dyn_newton_krylov *k = context;
    const double norm = dyn_vector_norm(gap, period * k->newton.map->size);
    k->states = states;
    k->period = period;
    gather_side(k, gap);
    const dyn_gmres_result solved =
        dyn_gmres_solve(k->gmres, apply, k, k->side, *forcing * norm, k->max_products, step);
    k->products += solved.products;
    if (solved.status == KERN_NAN) {
        return KERN_NAN;
    }
    if (!(solved.residual < norm)) {
        return KERN_SINGULAR;
    }
    spread_step(k, gap, step);
    *forcing = solved.residual / norm;
    return KERN_OK;
}

/* ---- The solver --------------------------------------------------------------------------- */

static kern_status check(const dyn_map *map, const dyn_newton_krylov_options *o, size_t *n,
                         kern_error *err)
{
    if (o->period == 0 || o->max_products == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a cycle of %zu states with %zu products for each step is not accepted, "
                          "both must be at least 1",
                          o->period, o->max_products);
    }
    if (!kern_size_mul(o->period, map->size, n) || *n > SIZE_MAX / 64) {
        return kern_raise(err, KERN_OVERFLOW,
                          "a cycle of %zu states of %zu numbers does not fit in memory", o->period,
                          map->size);
    }
    return KERN_OK;
}

static kern_status init(dyn_newton_krylov *k, dyn_map *map, const dyn_newton_krylov_options *o,
                        size_t n, kern_error *err)
{
    const size_t number = sizeof(double);
    KERN_TRY(dyn_gmres_create(&k->gmres, map->size, o->restart, err));
    KERN_TRY(kern_arena_init(
        &k->arena, 3 * kern_arena_cost(n, number) + kern_arena_cost(map->size, number), err));
    k->max_products = o->max_products;
    k->newton = (dyn_newton){.map = map, .direction = find_step, .context = k};
    k->newton.gap = kern_arena_alloc(&k->arena, n, number);
    k->newton.step = kern_arena_alloc(&k->arena, n, number);
    k->newton.trial = kern_arena_alloc(&k->arena, n, number);
    k->side = kern_arena_alloc(&k->arena, map->size, number);
    return KERN_OK;
}

kern_status dyn_newton_krylov_create(dyn_newton_krylov **out, dyn_map *map,
                                     const dyn_newton_krylov_options *options, kern_error *err)
{
    size_t n = 0;
    *out = NULL;
    KERN_TRY(check(map, options, &n, err));
    dyn_newton_krylov *k = calloc(1, sizeof *k);
    if (k == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a cycle of %zu states of %zu numbers",
                          options->period, map->size);
    }
    const kern_status status = init(k, map, options, n, err);
    if (status != KERN_OK) {
        dyn_newton_krylov_destroy(k);
        return status;
    }
    *out = k;
    return KERN_OK;
}

void dyn_newton_krylov_destroy(dyn_newton_krylov *k)
{
    if (k != NULL) {
        dyn_gmres_destroy(k->gmres);
        kern_arena_fini(&k->arena);
        free(k);
    }
}

dyn_chain_result dyn_newton_krylov_solve(dyn_newton_krylov *k, double *states, size_t period,
                                         const dyn_chain_goal *goal)
{
    return dyn_newton_solve(&k->newton, states, period, goal);
}

size_t dyn_newton_krylov_products(const dyn_newton_krylov *k)
{
    return k->products;
}
