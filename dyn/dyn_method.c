/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_method.h"

#include "dyn/dyn_anderson.h"
#include "dyn/dyn_newton_krylov.h"
#include "dyn/dyn_shooting.h"
#include "kernels/kern_size.h"

#include <string.h>

static kern_status create_shooting(void **out, dyn_map *map, size_t period, kern_error *err)
{
    dyn_shooting *s = NULL;
    const kern_status status = dyn_shooting_create(&s, map, period, err);
    *out = s;
    return status;
}

static void destroy_shooting(void *solver)
{
    dyn_shooting_destroy(solver);
}

static dyn_chain_result solve_shooting(void *solver, double *states, size_t period,
                                       const dyn_chain_goal *goal)
{
    return dyn_shooting_solve(solver, states, period, goal);
}

static kern_status create_krylov(void **out, dyn_map *map, size_t period, kern_error *err)
{
    dyn_newton_krylov_options o = dyn_newton_krylov_options_default();
    dyn_newton_krylov *k = NULL;
    o.period = period;
    const kern_status status = dyn_newton_krylov_create(&k, map, &o, err);
    *out = k;
    return status;
}

static void destroy_krylov(void *solver)
{
    dyn_newton_krylov_destroy(solver);
}

static dyn_chain_result solve_krylov(void *solver, double *states, size_t period,
                                     const dyn_chain_goal *goal)
{
    return dyn_newton_krylov_solve(solver, states, period, goal);
}

static kern_status create_anderson(void **out, dyn_map *map, size_t period, kern_error *err)
{
    const dyn_anderson_options o = dyn_anderson_options_default();
    dyn_anderson *a = NULL;
    (void)period;
    const kern_status status = dyn_anderson_create(&a, map, &o, err);
    *out = a;
    return status;
}

static void destroy_anderson(void *solver)
{
    dyn_anderson_destroy(solver);
}

static dyn_chain_result solve_anderson(void *solver, double *states, size_t period,
                                       const dyn_chain_goal *goal)
{
    return dyn_anderson_solve(solver, states, period, goal);
}

static const dyn_method methods[] = {
    {.name = "newton",
     .help = "multiple shooting with a dense linear system",
     .deflates = true,
     .create = create_shooting,
     .destroy = destroy_shooting,
     .solve = solve_shooting},
    {.name = "newton-krylov",
     .help = "multiple shooting with GMRES, for large maps",
     .deflates = true,
     .create = create_krylov,
     .destroy = destroy_krylov,
     .solve = solve_krylov},
    {.name = "anderson",
     .help = "accelerated iteration without a Jacobian, for attracting cycles",
     .create = create_anderson,
     .destroy = destroy_anderson,
     .solve = solve_anderson},
};

const dyn_method *dyn_method_at(size_t index)
{
    return index < sizeof methods / sizeof methods[0] ? &methods[index] : NULL;
}

const dyn_method *dyn_method_find(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(methods[i].name, name) == 0) {
            return &methods[i];
        }
    }
    return NULL;
}

const dyn_method *dyn_method_choose(const dyn_map *map, size_t period)
{
    size_t n;
    const bool small = kern_size_mul(period, map->size, &n) && n <= DYN_SHOOTING_MAX;
    return &methods[small ? 0 : 1];
}
