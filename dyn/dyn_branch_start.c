/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_branch_internal.h"

#include "dyn/dyn_fixed_points.h"
#include "dyn/dyn_jacobian.h"
#include "dyn/dyn_orbit.h"
#include "dyn/dyn_shooting.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTLE = 1000,    /* steps onto an attractor */
    ITERATIONS = 100, /* of Newton's method */
    PROBES = 3        /* states at which a structural multiplier is looked for */
};

/* States nearer than this times their size are the same. */
#define SAME 1e-6
/* Half the width of the box of a search. */
#define REACH 2.0
/* Ratio of singular values of F' − 1 at which it is singular; for a jvp by differences. */
#define RANK             1e-12
#define RANK_APPROXIMATE 1e-8

/* ---- Options ------------------------------------------------------------------------------ */

static kern_status check_range(const dyn_branch_options *o, kern_error *err)
{
    if (!(o->low < o->high) || !isfinite(o->high - o->low)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "parameter %s is to be continued from %g to %g, accepted are two finite "
                          "numbers that differ",
                          o->vary, o->low, o->high);
    }
    if (!(o->start >= o->low && o->start <= o->high)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the branch is to start at %s = %g, accepted is %g to %g", o->vary,
                          o->start, o->low, o->high);
    }
    if (!(o->tol > 0.0) || o->max_points == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the tolerance is %g with %zu points at most, accepted is more than 0 of "
                          "both",
                          o->tol, o->max_points);
    }
    return KERN_OK;
}

kern_status branch_check_options(const dyn_map *map, const dyn_branch_options *o, size_t *parameter,
                                 kern_error *err)
{
    KERN_TRY(dyn_map_find_param(map, o->vary, parameter, err));
    if (*parameter + map->n_fixed >= map->n_params) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "parameter %s of map %s was settled when the map was made and cannot vary", o->vary,
            map->kind->name);
    }
    return check_range(o, err);
}

/* ---- Small measures ----------------------------------------------------------------------- */

double branch_rms(const double *values, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i] * values[i];
    }
    return sqrt(sum / (double)n);
}

double branch_half_gap(const dyn_map *map, const double *states, size_t period)
{
    double most = 0.0;
    for (size_t i = 0; i < period / 2; i++) {
        most = fmax(most, dyn_map_distance(map, states + i * map->size,
                                           states + (i + period / 2) * map->size));
    }
    return most;
}

/* ---- Structural multipliers --------------------------------------------------------------- */

/* Divides rows, then columns, by their largest entries, twice: units of coordinates and of images,
 * which may differ by many orders, are no singularity. */
static void equilibrate(double *matrix, size_t n)
{
    for (int pass = 0; pass < 4; pass++) {
        const size_t along = pass % 2 == 0 ? 1 : n;
        const size_t across = pass % 2 == 0 ? n : 1;
        for (size_t i = 0; i < n; i++) {
            double largest = 0.0;
            for (size_t j = 0; j < n; j++) {
                largest = fmax(largest, fabs(matrix[i * across + j * along]));
            }
            for (size_t j = 0; largest > 0.0 && j < n; j++) {
                matrix[i * across + j * along] /= largest;
            }
        }
    }
}

/* Smallest over largest singular value of F'(x) − 1 in units that suit it; NaN when they are not
 * found. `work` holds size² + size + dyn_jacobian_work numbers. */
static double measure_rank(dyn_map *map, const double *x, double *work)
{
    const size_t n = map->size;
    double *matrix = work;
    double *values = work + n * n;
    dyn_jacobian_fill(map, x, NULL, matrix, n, values + n);
    for (size_t i = 0; i < n; i++) {
        matrix[i * n + i] -= 1.0;
    }
    equilibrate(matrix, n);
    if (kern_lapack_singular_values(n, n, matrix, values, NULL) != KERN_OK) {
        return (double)NAN;
    }
    return values[0] > 0.0 ? values[n - 1] / values[0] : 0.0;
}

kern_status branch_raise_gauge(const dyn_map *map, kern_error *err)
{
    return kern_raise(err, KERN_SINGULAR,
                      "map %s has a multiplier of 1 at every state that was tried, so x has "
                      "gauge directions in which nothing isolates a fixed point, as under a norm "
                      "the scale of x; continue in the chart of directions instead, which has none",
                      map->kind->name);
}

/* True when F' − 1 is singular at places near the start that nothing distinguishes. `x` holds
 * size and the work of measure_rank. */
static bool is_degenerate(dyn_map *map, const dyn_branch_options *o, double *x)
{
    const size_t n = map->size;
    const double rank = map->approximate_jvp ? RANK_APPROXIMATE : RANK;
    const double *at = o->x0 != NULL ? o->x0 : map->start;
    for (size_t probe = 0; probe < PROBES; probe++) {
        for (size_t i = 0; i < n; i++) {
            const double part = (double)(kern_rng_hash(o->seed, probe * n + i) >> 11) * 0x1p-53;
            x[i] = at[i] + 0.1 * (part - 0.5);
        }
        if (!(measure_rank(map, x, x + n) <= rank)) {
            return false;
        }
    }
    return true;
}

kern_status branch_check_gauge(dyn_map *map, const dyn_branch_options *o, size_t parameter,
                               kern_error *err)
{
    const size_t n = map->size;
    const double elsewhere = o->low + 0.381966 * (o->high - o->low);
    double *x = calloc(n * n + 2 * n + dyn_jacobian_work(map), sizeof *x);
    if (x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a Jacobian of %zu numbers", n * n);
    }
    const bool here = is_degenerate(map, o, x);
    map->params[parameter] = elsewhere;
    const bool there = here && is_degenerate(map, o, x);
    map->params[parameter] = o->start;
    free(x);
    if (there) {
        return branch_raise_gauge(map, err);
    }
    if (here) {
        return kern_raise(
            err, KERN_SINGULAR,
            "map %s has a multiplier of 1 at every state at %s = %g, as far as tried, where "
            "nothing isolates a fixed point; begin at another value",
            map->kind->name, o->vary, o->start);
    }
    return KERN_OK;
}

/* ---- A first cycle ------------------------------------------------------------------------ */

typedef struct search {
    dyn_map *map;
    const dyn_branch_options *o;
    dyn_shooting *solver;
    double *states;
    dyn_chain_result last;
} search;

/* Newton's method from the chain that begins `settle` steps after x; true when it ends at a cycle
 * of this minimal period. */
static bool try_chain(search *s, const double *x, size_t settle)
{
    const size_t size = s->map->size;
    const size_t period = s->o->period;
    dyn_map_iterate(s->map, x, settle, s->states);
    for (size_t i = 1; i < period; i++) {
        s->map->kind->step(s->map, s->states + (i - 1) * size, s->states + i * size);
    }
    s->last.status = dyn_state_check(s->states, period * size, DYN_DIVERGED);
    if (s->last.status != KERN_OK) {
        return false;
    }
    const dyn_chain_goal goal = {.tol = s->o->tol, .max_iterations = ITERATIONS};
    s->last = dyn_shooting_solve(s->solver, s->states, period, &goal);
    return s->last.status == KERN_OK &&
           dyn_chain_minimal_period(s->map, s->states, period, SAME) == period;
}

/* Searches the box for cycles of exactly this period: a stable one if there is one. */
static kern_status try_box(search *s, bool *found, kern_error *err)
{
    const size_t size = s->map->size;
    dyn_fixed_points_options f = dyn_fixed_points_options_default();
    dyn_fixed_points all;
    double *ends = calloc(2 * size, sizeof *ends);
    if (ends == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a box of %zu coordinates", size);
    }
    for (size_t i = 0; i < size; i++) {
        const double *at = s->o->x0 != NULL ? s->o->x0 : s->map->start;
        ends[i] = s->o->box_low != NULL ? s->o->box_low[i] : at[i] - REACH;
        ends[size + i] = s->o->box_high != NULL ? s->o->box_high[i] : at[i] + REACH;
    }
    f.period = s->o->period;
    f.prime = true;
    f.tol = s->o->tol;
    f.seed = s->o->seed;
    f.low = ends;
    f.high = ends + size;
    const kern_status status = dyn_fixed_points_init(&all, s->map, &f, err);
    free(ends);
    KERN_TRY(status);
    for (size_t i = 0; i < all.n_cycles; i++) {
        if (i == 0 || all.cycles[i].stable) {
            memcpy(s->states, all.cycles[i].states, f.period * size * sizeof *s->states);
            *found = true;
        }
        if (all.cycles[i].stable) {
            break;
        }
    }
    dyn_fixed_points_fini(&all);
    return KERN_OK;
}

static kern_status raise_not_found(const search *s, kern_error *err)
{
    const bool lost = s->last.status == KERN_DIVERGED || s->last.status == KERN_NAN;
    const char *why = s->last.coarse ? ", where the rounding of states exceeds the tolerance"
                      : lost         ? ", whose orbit diverges"
                                     : "";
    return kern_raise(err, KERN_NOT_CONVERGED,
                      "no cycle of minimal period %zu of map %s was found at %s = %g, neither from "
                      "%s nor from 200 points of the box around it%s; give a point near one, or "
                      "another value to begin at",
                      s->o->period, s->map->kind->name, s->o->vary, s->o->start,
                      s->o->x0 != NULL ? "the point given" : "the map's start", why);
}

kern_status branch_find_start(dyn_map *map, const dyn_branch_options *o, double *states,
                              kern_error *err)
{
    const double *x = o->x0 != NULL ? o->x0 : map->start;
    search s = {.map = map, .o = o, .states = states};
    KERN_TRY(dyn_shooting_create(&s.solver, map, o->period, err));
    /* A point that was given is meant; from the map's start, what attracts is looked for first. */
    const size_t first = o->x0 != NULL ? 0 : SETTLE;
    bool found = try_chain(&s, x, first) || try_chain(&s, x, SETTLE - first);
    dyn_shooting_destroy(s.solver);
    if (!found) {
        KERN_TRY(try_box(&s, &found, err));
    }
    return found ? KERN_OK : raise_not_found(&s, err);
}
