/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_shooting.h"

#include "dyn/dyn_jacobian.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <stdlib.h>
#include <string.h>

struct dyn_shooting {
    dyn_newton newton;
    kern_arena arena;
    double *matrix; /* of the system */
    double *work;   /* of the Jacobian */
    int *pivots;
};

/* ---- The linear system -------------------------------------------------------------------- */

/* The Jacobian of G: F′(x_i) in block (i, i), −1 in block (i, i + 1 mod p). */
static void fill_matrix(dyn_shooting *s, const double *states, size_t period)
{
    dyn_map *map = s->newton.map;
    const size_t size = map->size;
    const size_t n = period * size;
    memset(s->matrix, 0, n * n * sizeof *s->matrix);
    for (size_t i = 0; i < period; i++) {
        const size_t next = (i + 1) % period * size;
        double *rows = s->matrix + i * size * n;
        dyn_jacobian_fill(map, states + i * size, NULL, rows + i * size, n, s->work);
        for (size_t j = 0; j < size; j++) {
            rows[j * n + next + j] -= 1.0;
        }
    }
}

static kern_status find_step(void *context, const double *states, size_t period, const double *gap,
                             double *forcing, double *step)
{
    dyn_shooting *s = context;
    const size_t n = period * s->newton.map->size;
    fill_matrix(s, states, period);
    memcpy(step, gap, n * sizeof *step);
    *forcing = 0.0;
    KERN_TRY(kern_lapack_lu(n, s->matrix, s->pivots, NULL, NULL));
    return kern_lapack_lu_solve(n, s->matrix, s->pivots, step, NULL);
}

/* ---- The solver --------------------------------------------------------------------------- */

kern_status dyn_shooting_create(dyn_shooting **out, dyn_map *map, size_t period, kern_error *err)
{
    size_t n;
    *out = NULL;
    if (period == 0 || !kern_size_mul(period, map->size, &n) || n > DYN_SHOOTING_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a cycle of %zu states of %zu numbers is not accepted, the period must "
                          "be at least 1 and the product at most %d",
                          period, map->size, DYN_SHOOTING_MAX);
    }
    dyn_shooting *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a system of %zu equations", n);
    }
    const size_t work = dyn_jacobian_work(map);
    const kern_status status = kern_arena_init(
        &s->arena,
        3 * kern_arena_cost(n, sizeof(double)) + kern_arena_cost(n * n, sizeof(double)) +
            kern_arena_cost(work, sizeof(double)) + kern_arena_cost(n, sizeof(int)),
        err);
    if (status != KERN_OK) {
        free(s);
        return status;
    }
    s->newton = (dyn_newton){.map = map, .direction = find_step, .context = s};
    s->newton.gap = kern_arena_alloc(&s->arena, n, sizeof(double));
    s->newton.step = kern_arena_alloc(&s->arena, n, sizeof(double));
    s->newton.trial = kern_arena_alloc(&s->arena, n, sizeof(double));
    s->matrix = kern_arena_alloc(&s->arena, n * n, sizeof *s->matrix);
    s->work = kern_arena_alloc(&s->arena, work, sizeof *s->work);
    s->pivots = kern_arena_alloc(&s->arena, n, sizeof *s->pivots);
    *out = s;
    return KERN_OK;
}

void dyn_shooting_destroy(dyn_shooting *s)
{
    if (s != NULL) {
        kern_arena_fini(&s->arena);
        free(s);
    }
}

dyn_chain_result dyn_shooting_solve(dyn_shooting *s, double *states, size_t period,
                                    const dyn_chain_goal *goal)
{
    return dyn_newton_solve(&s->newton, states, period, goal);
}
