/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_shooting.h"

#include "dyn/dyn_jacobian.h"
#include "dyn/dyn_orbit.h"
#include "dyn/dyn_state.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HALVINGS = 30, /* of a step before it is given up */
    POLISH = 3     /* steps after convergence */
};

/* Part of the decrease that the linear model predicts which a step must bring. */
#define ARMIJO 1e-4

struct dyn_shooting {
    dyn_map *map;
    size_t capacity; /* period · size of the largest system */
    kern_arena arena;
    double *gap;    /* G */
    double *step;   /* Newton's step */
    double *trial;  /* states tried */
    double *matrix; /* of the system */
    double *work;   /* of the Jacobian */
    int *pivots;
};

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
    s->map = map;
    s->capacity = n;
    s->gap = kern_arena_alloc(&s->arena, n, sizeof *s->gap);
    s->step = kern_arena_alloc(&s->arena, n, sizeof *s->step);
    s->trial = kern_arena_alloc(&s->arena, n, sizeof *s->trial);
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

/* ---- Residuals ---------------------------------------------------------------------------- */

/* |G|₂ of `states`, and G itself. */
static double measure_gap(dyn_shooting *s, const double *states, size_t period, double *gap)
{
    const size_t size = s->map->size;
    double sum = 0.0;
    for (size_t i = 0; i < period; i++) {
        double *g = gap + i * size;
        s->map->kind->step(s->map, states + i * size, g);
        dyn_state_difference(s->map, g, states + (i + 1) % period * size, g);
        for (size_t j = 0; j < size; j++) {
            sum += g[j] * g[j];
        }
    }
    return sqrt(sum);
}

/* Largest magnitude, keeping NaN. */
static double find_largest(const double *values, size_t n)
{
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(values[i]) <= largest)) {
            largest = fabs(values[i]);
        }
        if (isnan(largest)) {
            break;
        }
    }
    return largest;
}

double dyn_shooting_residual(dyn_shooting *s, const double *states, size_t period)
{
    (void)measure_gap(s, states, period, s->trial);
    return find_largest(s->trial, period * s->map->size);
}

/* ---- Newton's method ---------------------------------------------------------------------- */

/* The Jacobian of G: F′(x_i) in block (i, i), −1 in block (i, i + 1 mod p). */
static void fill_matrix(dyn_shooting *s, const double *states, size_t period)
{
    const size_t size = s->map->size;
    const size_t n = period * size;
    memset(s->matrix, 0, n * n * sizeof *s->matrix);
    for (size_t i = 0; i < period; i++) {
        const size_t next = (i + 1) % period * size;
        double *rows = s->matrix + i * size * n;
        dyn_jacobian_fill(s->map, states + i * size, NULL, rows + i * size, n, s->work);
        for (size_t j = 0; j < size; j++) {
            rows[j * n + next + j] -= 1.0;
        }
    }
}

/* Newton's step from `states`, whose G is known: the states are to move by −step. */
static kern_status find_step(dyn_shooting *s, const double *states, size_t period)
{
    const size_t n = period * s->map->size;
    fill_matrix(s, states, period);
    memcpy(s->step, s->gap, n * sizeof *s->step);
    KERN_TRY(kern_lapack_lu(n, s->matrix, s->pivots, NULL, NULL));
    return kern_lapack_lu_solve(n, s->matrix, s->pivots, s->step, NULL);
}

/* Moves along the step, halved until |G|₂ is at most (1 − `least` · part) times *norm. False, with
 * the states as they were, when no such part was found in `halvings` trials. */
static bool search_line(dyn_shooting *s, double *states, size_t period, int halvings, double least,
                        double *norm)
{
    const size_t n = period * s->map->size;
    double part = 1.0;
    for (int trial = 0; trial < halvings; trial++, part *= 0.5) {
        for (size_t i = 0; i < n; i++) {
            s->trial[i] = states[i] - part * s->step[i];
        }
        const double next = measure_gap(s, s->trial, period, s->gap);
        if (next <= (1.0 - least * part) * *norm) {
            memcpy(states, s->trial, n * sizeof *states);
            *norm = next;
            return true;
        }
    }
    (void)measure_gap(s, states, period, s->gap);
    return false;
}

/* Whole steps while they halve the residual: Newton's last steps are nearly free and take a simple
 * cycle from the tolerance to rounding. */
static void polish(dyn_shooting *s, double *states, size_t period, double norm)
{
    for (int i = 0; i < POLISH && norm > 0.0; i++) {
        if (find_step(s, states, period) != KERN_OK ||
            !search_line(s, states, period, 1, 0.5, &norm)) {
            return;
        }
    }
}

static kern_status iterate(dyn_shooting *s, double *states, size_t period, double tol,
                           size_t max_iterations, size_t *iterations)
{
    const size_t n = period * s->map->size;
    double norm = measure_gap(s, states, period, s->gap);
    const kern_status start = dyn_state_check(s->gap, n, DYN_DIVERGED);
    for (*iterations = 0; start == KERN_OK; ++*iterations) {
        if (find_largest(s->gap, n) <= tol) {
            if (!(find_largest(states, n) * DBL_EPSILON <= tol)) {
                return KERN_DIVERGED;
            }
            polish(s, states, period, norm);
            return KERN_OK;
        }
        if (*iterations == max_iterations) {
            return KERN_NOT_CONVERGED;
        }
        const kern_status status = find_step(s, states, period);
        if (status != KERN_OK) {
            return status;
        }
        if (!search_line(s, states, period, HALVINGS, ARMIJO, &norm)) {
            return KERN_NOT_CONVERGED;
        }
    }
    return start;
}

dyn_shooting_result dyn_shooting_solve(dyn_shooting *s, double *states, size_t period, double tol,
                                       size_t max_iterations)
{
    dyn_shooting_result result = {.status = KERN_OK};
    result.status = iterate(s, states, period, tol, max_iterations, &result.iterations);
    result.residual = dyn_shooting_residual(s, states, period);
    return result;
}
