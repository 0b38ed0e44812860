/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_branch_internal.h"

#include "dyn/dyn_jacobian.h"
#include "dyn/dyn_param_slope.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Solution of a system of unit right-hand side that tells a singular matrix. */
#define HUGE_SOLUTION 1e9

/* ---- Making ------------------------------------------------------------------------------- */

/* Pseudo-random numbers of length 1: as a border they meet every direction. */
static void make_fill(branch_system *s)
{
    double sum = 0.0;
    for (size_t i = 0; i <= s->n; i++) {
        s->fill[i] = 0.5 + (double)(kern_rng_hash(1, i) >> 11) * 0x1p-53;
        s->fill[i] = i % 2 == 0 ? s->fill[i] : -s->fill[i];
        sum += s->fill[i] * s->fill[i];
    }
    for (size_t i = 0; i <= s->n; i++) {
        s->fill[i] /= sqrt(sum);
    }
}

static kern_status allocate(branch_system *s, kern_error *err)
{
    const size_t work = kern_size_max(dyn_jacobian_work(s->map), dyn_param_slope_work(s->map));
    KERN_TRY(kern_arena_init(
        &s->arena,
        kern_arena_cost(s->n, sizeof(double)) + kern_arena_cost(work, sizeof(double)) +
            kern_arena_cost(s->size, sizeof(double)) + kern_arena_cost(s->n + 1, sizeof(double)),
        err));
    s->states = kern_arena_alloc(&s->arena, s->n, sizeof(double));
    s->work = kern_arena_alloc(&s->arena, work, sizeof(double));
    s->image = kern_arena_alloc(&s->arena, s->size, sizeof(double));
    s->fill = kern_arena_alloc(&s->arena, s->n + 1, sizeof(double));
    KERN_TRY(dyn_cyclic_create(&s->one, s->size, s->period, 1, err));
    KERN_TRY(dyn_cyclic_create(&s->two, s->size, s->period, 2, err));
    make_fill(s);
    return KERN_OK;
}

kern_status branch_system_create(branch_system **out, dyn_map *map, size_t parameter, size_t period,
                                 double origin, double length, double rms, kern_error *err)
{
    size_t n;
    *out = NULL;
    if (!kern_size_mul(period, map->size, &n) || period == 0 || n > DYN_BRANCH_MAX ||
        map->size > DYN_BRANCH_SIZE) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a branch of cycles of %zu states of %zu numbers is not accepted, the "
                          "period must be at least 1, the product at most %d and a state at most "
                          "%d numbers",
                          period, map->size, DYN_BRANCH_MAX, DYN_BRANCH_SIZE);
    }
    branch_system *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a branch");
    }
    *s = (branch_system){.map = map,
                         .parameter = parameter,
                         .size = map->size,
                         .period = period,
                         .n = n,
                         .origin = origin,
                         .length = length,
                         .unit = fmax(1.0, rms) * sqrt((double)period)};
    const kern_status status = allocate(s, err);
    if (status != KERN_OK) {
        branch_system_destroy(s);
        return status;
    }
    *out = s;
    return KERN_OK;
}

void branch_system_destroy(branch_system *s)
{
    if (s != NULL) {
        dyn_cyclic_destroy(s->one);
        dyn_cyclic_destroy(s->two);
        kern_arena_fini(&s->arena);
        free(s);
    }
}

/* ---- Unknowns ----------------------------------------------------------------------------- */

void branch_system_pack(const branch_system *s, const double *states, double parameter, double *u)
{
    for (size_t i = 0; i < s->n; i++) {
        u[i] = states[i] / s->unit;
    }
    u[s->n] = (parameter - s->origin) / s->length;
}

double branch_system_unpack(const branch_system *s, const double *u, double *states)
{
    for (size_t i = 0; i < s->n; i++) {
        states[i] = u[i] * s->unit;
    }
    s->map->params[s->parameter] = s->origin + s->length * u[s->n];
    return s->map->params[s->parameter];
}

/* ---- Equations ---------------------------------------------------------------------------- */

void branch_system_gap(branch_system *s, const double *u, double *g)
{
    (void)branch_system_unpack(s, u, s->states);
    for (size_t i = 0; i < s->period; i++) {
        double *row = g + i * s->size;
        s->map->kind->step(s->map, s->states + i * s->size, row);
        dyn_state_difference(s->map, row, s->states + (i + 1) % s->period * s->size, row);
    }
}

/* The blocks stand for δx: the unknowns' unit is put in by the caller of the solver. */
void branch_system_fill(branch_system *s, const double *u, dyn_cyclic *c, size_t border)
{
    double *columns = dyn_cyclic_columns(c);
    (void)branch_system_unpack(s, u, s->states);
    for (size_t i = 0; i < s->period; i++) {
        const double *x = s->states + i * s->size;
        dyn_jacobian_fill(s->map, x, NULL, dyn_cyclic_block(c, i), s->size, s->work);
        (void)dyn_param_slope(s->map, s->parameter, s->length, x, s->image, s->work);
        for (size_t j = 0; j < s->size; j++) {
            /* Equations are divided by the states' unit, so that unknowns keep it. */
            columns[(i * s->size + j) * border] = s->image[j] * s->length / s->unit;
        }
    }
}

static void evaluate(void *context, const double *u, double *g, double *jacobian)
{
    (void)jacobian; /* never asked for */
    branch_system_gap(context, u, g);
}

/* With x = unit·v, G_v = unit (F′ − shift): the equations divided by the unit have the blocks of
 * dyn_cyclic, and so has the right-hand side. */
static kern_status solve(void *context, const double *u, const double *row, double *b)
{
    branch_system *s = context;
    branch_system_fill(s, u, s->one, 1);
    memcpy(dyn_cyclic_rows(s->one), row, (s->n + 1) * sizeof *row);
    for (size_t i = 0; i < s->n; i++) {
        b[i] /= s->unit;
    }
    return dyn_cyclic_solve(s->one, 1.0, b);
}

dyn_arc_problem branch_system_problem(branch_system *s)
{
    return (dyn_arc_problem){.n = s->n, .context = s, .evaluate = evaluate, .solve = solve};
}

/* ---- Flips -------------------------------------------------------------------------------- */

/* KERN_SINGULAR when another direction than q flips as well, as in symmetric maps: the system with
 * the border across q is then singular but for rounding, and a generic right-hand side has a huge
 * solution. q is kept in the border's rows; on return its last number is 0. */
static kern_status is_only_flip(branch_system *s, double *q)
{
    double largest = 0.0;
    for (size_t i = 0; i <= s->n; i++) {
        q[i] = s->fill[s->n - i]; /* not the border's column, which any border solves for */
    }
    KERN_TRY(dyn_cyclic_solve(s->one, -1.0, q));
    for (size_t i = 0; i <= s->n; i++) {
        largest = fmax(largest, fabs(q[i]));
    }
    memcpy(q, dyn_cyclic_rows(s->one), s->n * sizeof *q);
    q[s->n] = 0.0;
    return largest < HUGE_SOLUTION ? KERN_OK : KERN_SINGULAR;
}

/* Inverse iteration with a border: at a flip the unbordered system is singular, and the solution of
 * the bordered one whose right-hand side is the border's is its null vector. The border is then
 * moved onto what was found, which leaves the null vector as well separated as it can be. */
kern_status branch_system_flip(branch_system *s, const double *u, double *q)
{
    branch_system_fill(s, u, s->one, 1);
    double *columns = dyn_cyclic_columns(s->one);
    double *rows = dyn_cyclic_rows(s->one);
    memcpy(columns, s->fill, s->n * sizeof *columns);
    memcpy(rows, s->fill, s->n * sizeof *rows);
    rows[s->n] = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0.0;
        memset(q, 0, s->n * sizeof *q);
        q[s->n] = 1.0;
        KERN_TRY(dyn_cyclic_solve(s->one, -1.0, q));
        for (size_t i = 0; i < s->n; i++) {
            sum += q[i] * q[i];
        }
        if (!(sum > 0.0) || !isfinite(sum)) {
            return KERN_SINGULAR;
        }
        for (size_t i = 0; i < s->n; i++) {
            q[i] /= sqrt(sum);
            rows[i] = q[i];
        }
    }
    return is_only_flip(s, q);
}
