/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_anderson.h"

#include "dyn/dyn_orbit.h"
#include "dyn/dyn_state.h"
#include "dyn/dyn_vector.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Growth of |f|₂ over the best that is still followed. The way to a solution often leads through
 * larger residuals, and a limit near 1 cuts it off; a jump by orders of magnitude shows that the
 * differences say nothing about where the iteration has gone. */
#define GROWTH 1e4

/* Smallest part of a difference that must be new. */
#define INDEPENDENT 1e-8

/* Damping of plain steps below which the search is over. */
#define DAMPING_LEAST 0x1p-20

struct dyn_anderson {
    dyn_map *map;
    size_t window;
    double damping;
    kern_arena arena;
    double *x, *f;           /* where the iteration is */
    double *best_x, *best_f; /* smallest |f|₂ so far */
    double *next_x, *next_f; /* where it tries to go */
    double *step;
    double *rest;     /* f or ΔF without its part in the window */
    double *moves;    /* window rows: ΔX, the oldest first */
    double *q;        /* window rows, orthonormal: ΔF = q R */
    double *triangle; /* window rows: R, upper triangular */
    double *gamma;    /* window */
    size_t count;     /* columns in the window */
};

dyn_anderson_options dyn_anderson_options_default(void)
{
    return (dyn_anderson_options){.window = 8, .damping = 1.0};
}

static kern_status allocate(dyn_anderson *a, kern_error *err)
{
    double **const vectors[] = {&a->x,      &a->f,      &a->best_x, &a->best_f,
                                &a->next_x, &a->next_f, &a->step,   &a->rest};
    const size_t n_vectors = sizeof vectors / sizeof vectors[0];
    const size_t number = sizeof(double);
    const size_t n = a->map->size;
    size_t rows;
    if (!kern_size_mul(a->window + 1, n, &rows) || rows > SIZE_MAX / 256 ||
        a->window > SIZE_MAX / 256 / (a->window + 1)) {
        return kern_raise(err, KERN_OVERFLOW,
                          "a window of %zu states of %zu numbers does not fit "
                          "in memory",
                          a->window, n);
    }
    rows -= n;
    KERN_TRY(kern_arena_init(
        &a->arena,
        n_vectors * kern_arena_cost(n, number) + 2 * kern_arena_cost(rows, number) +
            kern_arena_cost(a->window * a->window, number) + kern_arena_cost(a->window, number),
        err));
    for (size_t i = 0; i < n_vectors; i++) {
        *vectors[i] = kern_arena_alloc(&a->arena, n, number);
    }
    a->moves = kern_arena_alloc(&a->arena, rows, number);
    a->q = kern_arena_alloc(&a->arena, rows, number);
    a->triangle = kern_arena_alloc(&a->arena, a->window * a->window, number);
    a->gamma = kern_arena_alloc(&a->arena, a->window, number);
    return KERN_OK;
}

kern_status dyn_anderson_create(dyn_anderson **out, dyn_map *map,
                                const dyn_anderson_options *options, kern_error *err)
{
    *out = NULL;
    if (!(options->damping > 0.0 && options->damping <= 1.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the damping of Anderson's method is %g, accepted is more than 0 and at "
                          "most 1",
                          options->damping);
    }
    dyn_anderson *a = calloc(1, sizeof *a);
    if (a == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a solver of %zu numbers", map->size);
    }
    a->map = map;
    a->window = options->window;
    a->damping = options->damping;
    const kern_status status = allocate(a, err);
    if (status != KERN_OK) {
        dyn_anderson_destroy(a);
        return status;
    }
    *out = a;
    return KERN_OK;
}

void dyn_anderson_destroy(dyn_anderson *a)
{
    if (a != NULL) {
        kern_arena_fini(&a->arena);
        free(a);
    }
}

/* ---- The window --------------------------------------------------------------------------- */

/* Takes the window's part out of `rest`, twice; the coefficients go to `column`, `stride` apart. */
static void project_out(dyn_anderson *a, double *column, size_t stride)
{
    const size_t n = a->map->size;
    for (size_t i = 0; i < a->count; i++) {
        column[i * stride] = 0.0;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < a->count; i++) {
            const double *q = a->q + i * n;
            const double part = dyn_vector_dot(q, a->rest, n);
            column[i * stride] += part;
            dyn_vector_add(a->rest, -part, q, n);
        }
    }
}

/* Rows i and i + 1 of R, from column i + 1 on, and of q turn so that R's entry (i + 1, i + 1) of
 * the old numbering moves onto the diagonal; column 0 is then dropped by the caller. */
static void rotate_rows(dyn_anderson *a, size_t i)
{
    const size_t n = a->map->size;
    double *upper = a->triangle + i * a->window;
    double *lower = upper + a->window;
    const double length = hypot(upper[i + 1], lower[i + 1]);
    const double c = length > 0.0 ? upper[i + 1] / length : 1.0;
    const double s = length > 0.0 ? lower[i + 1] / length : 0.0;
    for (size_t j = i + 1; j < a->count; j++) {
        const double u = upper[j];
        upper[j] = c * u + s * lower[j];
        lower[j] = c * lower[j] - s * u;
    }
    double *q = a->q + i * n;
    for (size_t j = 0; j < n; j++) {
        const double u = q[j];
        q[j] = c * u + s * q[n + j];
        q[n + j] = c * q[n + j] - s * u;
    }
}

/* The oldest column leaves. */
static void drop_oldest(dyn_anderson *a)
{
    const size_t n = a->map->size;
    for (size_t i = 0; i + 1 < a->count; i++) {
        rotate_rows(a, i);
    }
    a->count--;
    for (size_t i = 0; i < a->count; i++) {
        double *row = a->triangle + i * a->window;
        memmove(row + i, row + i + 1, (a->count - i) * sizeof *row);
    }
    memmove(a->moves, a->moves + n, a->count * n * sizeof *a->moves);
}

/* The step and the change of f that it brought enter. */
static void enter(dyn_anderson *a)
{
    const size_t n = a->map->size;
    if (a->window == 0) {
        return;
    }
    if (a->count == a->window) {
        drop_oldest(a);
    }
    for (;;) {
        for (size_t j = 0; j < n; j++) {
            a->rest[j] = a->next_f[j] - a->f[j];
        }
        const double whole = dyn_vector_norm(a->rest, n);
        project_out(a, a->triangle + a->count, a->window);
        const double rest = dyn_vector_norm(a->rest, n);
        if (rest > INDEPENDENT * whole) {
            double *q = a->q + a->count * n;
            a->triangle[a->count * a->window + a->count] = rest;
            for (size_t j = 0; j < n; j++) {
                q[j] = a->rest[j] / rest;
            }
            memcpy(a->moves + a->count * n, a->step, n * sizeof *a->step);
            a->count++;
            return;
        }
        if (a->count == 0) {
            return;
        }
        drop_oldest(a);
    }
}

/* ---- Steps -------------------------------------------------------------------------------- */

/* f at x, and |f|₂. */
static double evaluate(dyn_anderson *a, const double *x, size_t period, double *f)
{
    dyn_map_iterate(a->map, x, period, f);
    dyn_state_difference(a->map, f, x, f);
    return dyn_vector_norm(f, a->map->size);
}

/* Anderson's step from x with the columns that the window has; with none, the plain step. */
static void make_step(dyn_anderson *a, double damping)
{
    const size_t n = a->map->size;
    memcpy(a->rest, a->f, n * sizeof *a->f);
    project_out(a, a->gamma, 1);
    for (size_t i = a->count; i-- > 0;) {
        for (size_t j = i + 1; j < a->count; j++) {
            a->gamma[i] -= a->triangle[i * a->window + j] * a->gamma[j];
        }
        a->gamma[i] /= a->triangle[i * a->window + i];
    }
    for (size_t j = 0; j < n; j++) {
        a->step[j] = damping * a->rest[j];
    }
    for (size_t i = 0; i < a->count; i++) {
        dyn_vector_add(a->step, -a->gamma[i], a->moves + i * n, n);
    }
    for (size_t j = 0; j < n; j++) {
        a->next_x[j] = a->x[j] + a->step[j];
    }
}

/* Back to the best state with an empty window and half the damping, so that the way from there is
 * another one than before. False when it has been halved as often as it is to be. */
static bool fall_back(dyn_anderson *a, double *damping)
{
    const size_t bytes = a->map->size * sizeof(double);
    *damping *= 0.5;
    a->count = 0;
    memcpy(a->x, a->best_x, bytes);
    memcpy(a->f, a->best_f, bytes);
    return *damping >= DAMPING_LEAST;
}

/* The step was good: it is taken. Damping recovers with every new best. */
static void move_on(dyn_anderson *a, double norm, double *best, double *damping)
{
    const size_t bytes = a->map->size * sizeof(double);
    enter(a);
    memcpy(a->x, a->next_x, bytes);
    memcpy(a->f, a->next_f, bytes);
    if (norm < *best) {
        *best = norm;
        *damping = fmin(a->damping, 2.0 * *damping);
        memcpy(a->best_x, a->x, bytes);
        memcpy(a->best_f, a->f, bytes);
    }
}

static kern_status iterate(dyn_anderson *a, size_t period, const dyn_chain_goal *goal,
                           size_t *iterations)
{
    const size_t n = a->map->size;
    const double first = dyn_chain_largest(a->x, n);
    double damping = a->damping;
    double best = evaluate(a, a->x, period, a->f);
    a->count = 0;
    memcpy(a->best_x, a->x, n * sizeof *a->x);
    memcpy(a->best_f, a->f, n * sizeof *a->f);
    KERN_TRY(dyn_state_check(a->f, n, DYN_DIVERGED));
    for (*iterations = 0;; ++*iterations) {
        if (dyn_chain_largest(a->best_f, n) <= goal->tol) {
            return dyn_chain_judge(a->best_x, n, first, goal->tol);
        }
        if (*iterations == goal->max_iterations) {
            return KERN_NOT_CONVERGED;
        }
        make_step(a, damping);
        const double norm = evaluate(a, a->next_x, period, a->next_f);
        if (norm <= GROWTH * best) {
            move_on(a, norm, &best, &damping);
        } else if (!fall_back(a, &damping)) {
            const kern_status status = dyn_state_check(a->next_f, n, DYN_DIVERGED);
            return status != KERN_OK ? status : KERN_NOT_CONVERGED;
        }
    }
}

dyn_chain_result dyn_anderson_solve(dyn_anderson *a, double *states, size_t period,
                                    const dyn_chain_goal *goal)
{
    const size_t n = a->map->size;
    dyn_chain_result result = {.status = KERN_OK};
    memcpy(a->x, states, n * sizeof *a->x);
    result.status = iterate(a, period, goal, &result.iterations);
    memcpy(states, a->best_x, n * sizeof *states);
    for (size_t i = 1; i < period; i++) {
        a->map->kind->step(a->map, states + (i - 1) * n, states + i * n);
    }
    a->map->kind->step(a->map, states + (period - 1) * n, a->f);
    dyn_state_difference(a->map, a->f, states, a->f);
    result.residual = dyn_chain_largest(a->f, n);
    result.coarse =
        isfinite(result.residual) && dyn_chain_judge(states, period * n, 0.0, goal->tol) != KERN_OK;
    return result;
}
