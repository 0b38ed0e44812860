/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_kinetic.h"

#include "dyn/dyn_chain.h"
#include "dyn/dyn_orbit.h"
#include "dyn/dyn_state.h"
#include "dyn/dyn_vector.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_size.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 8, HALVINGS = 40 };

/* Part of the decrease that the slope predicts which a step must bring. */
#define ARMIJO 1e-4

struct dyn_kinetic {
    dyn_map *map;
    kern_arena arena;
    double *gap;      /* period × size each */
    double *gradient; /* of q */
    double *direction;
    double *trial;
    double *next_gradient;
    double *moves;   /* PAIRS rows: changes of the states, a ring */
    double *changes; /* PAIRS rows: changes of the gradient */
    double *unit;    /* size each */
    double *column;
    double curvature[PAIRS]; /* moves · changes */
    double weight[PAIRS];
    size_t n;     /* period × size under way */
    size_t count; /* pairs in the ring */
    size_t newest;
};

kern_status dyn_kinetic_create(dyn_kinetic **out, dyn_map *map, size_t period, kern_error *err)
{
    const size_t number = sizeof(double);
    size_t n;
    *out = NULL;
    if (!kern_size_mul(period, map->size, &n) || n > SIZE_MAX / 256) {
        return kern_raise(err, KERN_OVERFLOW,
                          "a chain of %zu states of %zu numbers does not fit in "
                          "memory",
                          period, map->size);
    }
    dyn_kinetic *k = calloc(1, sizeof *k);
    if (k == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a chain of %zu states", period);
    }
    const kern_status status =
        kern_arena_init(&k->arena,
                        5 * kern_arena_cost(n, number) + 2 * kern_arena_cost(PAIRS * n, number) +
                            2 * kern_arena_cost(map->size, number),
                        err);
    if (status != KERN_OK) {
        free(k);
        return status;
    }
    k->map = map;
    k->gap = kern_arena_alloc(&k->arena, n, number);
    k->gradient = kern_arena_alloc(&k->arena, n, number);
    k->direction = kern_arena_alloc(&k->arena, n, number);
    k->trial = kern_arena_alloc(&k->arena, n, number);
    k->next_gradient = kern_arena_alloc(&k->arena, n, number);
    k->moves = kern_arena_alloc(&k->arena, PAIRS * n, number);
    k->changes = kern_arena_alloc(&k->arena, PAIRS * n, number);
    k->unit = kern_arena_calloc(&k->arena, map->size, number);
    k->column = kern_arena_alloc(&k->arena, map->size, number);
    *out = k;
    return KERN_OK;
}

void dyn_kinetic_destroy(dyn_kinetic *k)
{
    if (k != NULL) {
        kern_arena_fini(&k->arena);
        free(k);
    }
}

/* ---- q and its gradient ------------------------------------------------------------------- */

/* Jᵀ w at x: by a vjp, or entry by entry. */
static void pull_back(dyn_kinetic *k, const double *x, const double *w, double *out)
{
    const size_t size = k->map->size;
    if (k->map->kind->vjp != NULL) {
        k->map->kind->vjp(k->map, x, w, out);
        return;
    }
    for (size_t j = 0; j < size; j++) {
        k->unit[j] = 1.0;
        k->map->kind->jvp(k->map, x, k->unit, NULL, k->column);
        k->unit[j] = 0.0;
        out[j] = dyn_vector_dot(w, k->column, size);
    }
}

/* ∇q at `states`, whose gaps are in k->gap. */
static void find_gradient(dyn_kinetic *k, const double *states, size_t period, double *gradient)
{
    const size_t size = k->map->size;
    for (size_t i = 0; i < period; i++) {
        const double *before = k->gap + (i + period - 1) % period * size;
        double *g = gradient + i * size;
        pull_back(k, states + i * size, k->gap + i * size, g);
        for (size_t j = 0; j < size; j++) {
            g[j] -= before[j];
        }
    }
}

/* |G′ v|₂² at `states`. */
static double find_stretch(dyn_kinetic *k, const double *states, size_t period, const double *v)
{
    const size_t size = k->map->size;
    double sum = 0.0;
    for (size_t i = 0; i < period; i++) {
        const double *next = v + (i + 1) % period * size;
        k->map->kind->jvp(k->map, states + i * size, v + i * size, NULL, k->column);
        for (size_t j = 0; j < size; j++) {
            const double part = k->column[j] - next[j];
            sum += part * part;
        }
    }
    return sum;
}

/* ---- L-BFGS ------------------------------------------------------------------------------- */

/* direction = −H ∇q, H from the pairs in the ring. Without any it is the step along the gradient
 * that is right for a linear map. */
static void find_direction(dyn_kinetic *k, const double *states, size_t period)
{
    const size_t n = k->n;
    double *d = k->direction;
    for (size_t i = 0; i < n; i++) {
        d[i] = -k->gradient[i];
    }
    for (size_t a = 0; a < k->count; a++) {
        const size_t p = (k->newest + PAIRS - a) % PAIRS;
        const double *y = k->changes + p * n;
        k->weight[p] = dyn_vector_dot(k->moves + p * n, d, n) / k->curvature[p];
        dyn_vector_add(d, -k->weight[p], y, n);
    }
    const double *last = k->changes + k->newest * n;
    const double scale =
        k->count > 0 ? k->curvature[k->newest] / dyn_vector_dot(last, last, n)
                     : dyn_vector_dot(d, d, n) / find_stretch(k, states, period, k->gradient);
    for (size_t i = 0; i < n; i++) {
        d[i] *= scale;
    }
    for (size_t a = k->count; a-- > 0;) {
        const size_t p = (k->newest + PAIRS - a) % PAIRS;
        const double *s = k->moves + p * n;
        const double part =
            k->weight[p] - dyn_vector_dot(k->changes + p * n, d, n) / k->curvature[p];
        dyn_vector_add(d, part, s, n);
    }
}

/* Enters the move and the change of the gradient, unless the curvature along it is not safely
 * positive. */
static void enter_pair(dyn_kinetic *k, const double *states)
{
    const size_t n = k->n;
    const size_t p = k->count > 0 ? (k->newest + 1) % PAIRS : 0;
    double *s = k->moves + p * n;
    double *y = k->changes + p * n;
    for (size_t i = 0; i < n; i++) {
        s[i] = k->trial[i] - states[i];
        y[i] = k->next_gradient[i] - k->gradient[i];
    }
    const double curvature = dyn_vector_dot(s, y, n);
    if (curvature > DBL_EPSILON * sqrt(dyn_vector_dot(s, s, n) * dyn_vector_dot(y, y, n))) {
        k->curvature[p] = curvature;
        k->newest = p;
        k->count += k->count < PAIRS ? 1U : 0U;
    } else {
        k->count = 0;
    }
}

/* Moves along the direction until q has fallen enough; the new states are in k->trial, their gaps
 * in k->gap. False when no step lowers q. */
static bool search_line(dyn_kinetic *k, const double *states, size_t period, double *q)
{
    const double slope = dyn_vector_dot(k->gradient, k->direction, k->n);
    double part = 1.0;
    for (int i = 0; slope < 0.0 && i < HALVINGS; i++, part *= 0.5) {
        for (size_t j = 0; j < k->n; j++) {
            k->trial[j] = states[j] + part * k->direction[j];
        }
        const double norm = dyn_chain_gap(k->map, k->trial, period, k->gap);
        const double next = 0.5 * norm * norm;
        if (next <= *q + ARMIJO * part * slope && next < *q) {
            *q = next;
            return true;
        }
    }
    return false;
}

/* One step. False when none was taken. */
static bool step_down(dyn_kinetic *k, double *states, size_t period, double *q)
{
    find_direction(k, states, period);
    if (!search_line(k, states, period, q)) {
        /* The pairs may be to blame; the gradient alone is tried before giving up. */
        const bool worn = k->count > 0;
        k->count = 0;
        if (!worn) {
            return false;
        }
        find_direction(k, states, period);
        if (!search_line(k, states, period, q)) {
            return false;
        }
    }
    find_gradient(k, k->trial, period, k->next_gradient);
    enter_pair(k, states);
    memcpy(states, k->trial, k->n * sizeof *states);
    memcpy(k->gradient, k->next_gradient, k->n * sizeof *k->gradient);
    return true;
}

dyn_kinetic_result dyn_kinetic_descend(dyn_kinetic *k, double *states, size_t period,
                                       size_t max_iterations)
{
    dyn_kinetic_result r = {.status = KERN_NOT_CONVERGED, .slope = (double)NAN};
    k->n = period * k->map->size;
    k->count = 0;
    k->newest = 0;
    const double norm = dyn_chain_gap(k->map, states, period, k->gap);
    const kern_status start = dyn_state_check(k->gap, k->n, DYN_DIVERGED);
    r.q = 0.5 * norm * norm;
    if (start != KERN_OK || !isfinite(r.q)) {
        r.status = start != KERN_OK ? start : KERN_DIVERGED;
        return r;
    }
    find_gradient(k, states, period, k->gradient);
    for (;; r.iterations++) {
        r.slope = sqrt(dyn_vector_dot(k->gradient, k->gradient, k->n) / (2.0 * r.q));
        if (r.slope <= DYN_KINETIC_FLAT) {
            r.status = KERN_OK;
            return r;
        }
        if (!(r.q > 0.0) || r.iterations == max_iterations || !step_down(k, states, period, &r.q)) {
            return r;
        }
    }
}
