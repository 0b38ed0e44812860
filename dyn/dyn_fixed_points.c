/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_fixed_points.h"

#include "dyn/dyn_orbit.h"
#include "dyn/dyn_shooting.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One search. */
typedef struct search {
    dyn_map *map;
    const dyn_fixed_points_options *o;
    dyn_fixed_points *out;
    dyn_shooting *solver;
    double *chain;    /* period × size, the candidate */
    double *rotated;  /* period × size */
    size_t allocated; /* cycles that out->cycles has room for */
} search;

dyn_fixed_points_options dyn_fixed_points_options_default(void)
{
    return (dyn_fixed_points_options){.period = 1,
                                      .n_starts = 200,
                                      .tol = 1e-11,
                                      .merge = 1e-6,
                                      .max_iterations = 100,
                                      .seed = 1};
}

/* ---- Options ------------------------------------------------------------------------------ */

static kern_status check_box(const dyn_map *map, const dyn_fixed_points_options *o, kern_error *err)
{
    if (o->n_starts == 0) {
        return KERN_OK;
    }
    if (o->low == NULL || o->high == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu starts need a box to be drawn in, and there is none", o->n_starts);
    }
    for (size_t i = 0; i < map->size; i++) {
        if (!(o->low[i] < o->high[i]) || !isfinite(o->high[i] - o->low[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "coordinate %zu of the box reaches from %g to %g, accepted are two "
                              "finite numbers in ascending order",
                              i, o->low[i], o->high[i]);
        }
    }
    return KERN_OK;
}

static kern_status check_options(const dyn_map *map, const dyn_fixed_points_options *o,
                                 kern_error *err)
{
    size_t total;
    if (!kern_size_add(o->n_starts, o->n_given, &total) || total == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a search needs at least one start, drawn or given");
    }
    if (!(o->tol > 0.0) || !(o->merge > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the tolerance is %g and the merging distance %g, accepted is more than "
                          "0",
                          o->tol, o->merge);
    }
    return check_box(map, o, err);
}

/* ---- Starts ------------------------------------------------------------------------------- */

static void draw_point(const search *s, kern_rng *rng, double *x)
{
    for (size_t i = 0; i < s->map->size; i++) {
        x[i] = s->o->low[i] + (s->o->high[i] - s->o->low[i]) * kern_rng_uniform(rng);
    }
}

/* x becomes its image. Where that is lost, it becomes a point of the box, if there is one. */
static void follow(const search *s, kern_rng *rng, double *x)
{
    s->map->kind->step(s->map, x, x);
    if (s->o->n_starts > 0 && dyn_state_check(x, s->map->size, DYN_DIVERGED) != KERN_OK) {
        draw_point(s, rng, x);
    }
}

/* The chain of start `index`; given points come first. */
static kern_status prepare_chain(search *s, size_t index, kern_error *err)
{
    const size_t size = s->map->size;
    const size_t settle = index % 2 == 0 ? s->o->settle : s->o->settle / 2;
    kern_rng *rng = kern_rng_create(s->o->seed, "fixed-points", index);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    if (index < s->o->n_given) {
        memcpy(s->chain, s->o->given + index * size, size * sizeof *s->chain);
    } else {
        draw_point(s, rng, s->chain);
    }
    for (size_t t = 0; t < settle; t++) {
        follow(s, rng, s->chain);
    }
    for (size_t i = 1; i < s->o->period; i++) {
        memcpy(s->chain + i * size, s->chain + (i - 1) * size, size * sizeof *s->chain);
        follow(s, rng, s->chain + i * size);
    }
    kern_rng_destroy(rng);
    return KERN_OK;
}

/* ---- What a chain is ---------------------------------------------------------------------- */

/* Distance below which two states are the same. */
static double find_reach(const search *s, const double *x)
{
    double largest = 1.0;
    for (size_t i = 0; i < s->map->size; i++) {
        largest = fmax(largest, fabs(x[i]));
    }
    return s->o->merge * largest;
}

/* True when state i of `a` is state (i + shift) mod period of `b`, for all i. */
static bool agree(const search *s, const double *a, const double *b, size_t period, size_t shift)
{
    const size_t size = s->map->size;
    for (size_t i = 0; i < period; i++) {
        const double *x = a + i * size;
        const double *y = b + (i + shift) % period * size;
        if (!(dyn_map_distance(s->map, x, y) <= find_reach(s, x))) {
            return false;
        }
    }
    return true;
}

/* The smallest stride at which all states return. */
static size_t find_minimal_period(const search *s)
{
    const size_t period = s->o->period;
    for (size_t d = 1; d < period; d++) {
        if (period % d == 0 && agree(s, s->chain, s->chain, period, d)) {
            return d;
        }
    }
    return period;
}

/* Coordinates on circles in [0, period), or barely below 0 where they are 0 but for rounding. */
static void reduce_states(const search *s, double *states, size_t period)
{
    const size_t size = s->map->size;
    for (size_t i = 0; i < period; i++) {
        double *x = states + i * size;
        dyn_state_reduce(s->map, x);
        for (size_t j = 0; s->map->periods != NULL && j < size; j++) {
            const double circle = s->map->periods[j];
            if (circle > 0.0 && circle - x[j] <= s->o->merge) {
                x[j] -= circle;
            }
        }
    }
}

/* True when x comes before y, coordinates that agree to the merging distance left aside. */
static bool comes_before(const search *s, const double *x, const double *y)
{
    const double reach = find_reach(s, x);
    for (size_t i = 0; i < s->map->size; i++) {
        if (fabs(x[i] - y[i]) > reach) {
            return x[i] < y[i];
        }
    }
    return false;
}

/* Turns the chain so that it begins with its first state in order. */
static void rotate_chain(search *s, size_t period)
{
    const size_t size = s->map->size;
    size_t first = 0;
    for (size_t i = 1; i < period; i++) {
        if (comes_before(s, s->chain + i * size, s->chain + first * size)) {
            first = i;
        }
    }
    for (size_t i = 0; i < period; i++) {
        memcpy(s->rotated + i * size, s->chain + (first + i) % period * size,
               size * sizeof *s->chain);
    }
    memcpy(s->chain, s->rotated, period * size * sizeof *s->chain);
}

/* ---- Cycles found ------------------------------------------------------------------------- */

static dyn_cycle *find_known(const search *s, size_t period)
{
    for (size_t c = 0; c < s->out->n_cycles; c++) {
        dyn_cycle *cycle = &s->out->cycles[c];
        for (size_t shift = 0; cycle->period == period && shift < period; shift++) {
            if (agree(s, s->chain, cycle->states, period, shift)) {
                return cycle;
            }
        }
    }
    return NULL;
}

static void fini_cycle(dyn_cycle *cycle)
{
    free(cycle->states);
    free(cycle->image);
    dyn_multipliers_fini(&cycle->multipliers);
    *cycle = (dyn_cycle){0};
}

static kern_status make_room(search *s, kern_error *err)
{
    if (s->out->n_cycles < s->allocated) {
        return KERN_OK;
    }
    const size_t wanted = s->allocated > 0 ? 2 * s->allocated : 8;
    dyn_cycle *grown = realloc(s->out->cycles, wanted * sizeof *grown);
    if (grown == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu cycles", wanted);
    }
    s->out->cycles = grown;
    s->allocated = wanted;
    return KERN_OK;
}

/* NULL when memory is refused. */
static double *copy_numbers(const double *values, size_t n)
{
    double *copy = n > 0 ? malloc(n * sizeof *copy) : NULL;
    if (copy != NULL) {
        memcpy(copy, values, n * sizeof *copy);
    }
    return copy;
}

static kern_status describe(search *s, dyn_cycle *cycle, kern_error *err)
{
    const size_t size = s->map->size;
    dyn_multipliers_options o = dyn_multipliers_options_default();
    cycle->states = copy_numbers(s->chain, cycle->period * size);
    cycle->image = copy_numbers(s->chain, size);
    if (cycle->states == NULL || cycle->image == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a cycle of %zu states of %zu numbers",
                          cycle->period, size);
    }
    cycle->residual = dyn_shooting_residual(s->solver, cycle->states, cycle->period);
    s->map->kind->step(s->map, cycle->states, cycle->image);
    o.period = cycle->period;
    o.horizon = 0;
    KERN_TRY(dyn_multipliers_init(&cycle->multipliers, s->map, cycle->states, &o, err));
    cycle->stable = cycle->multipliers.stable;
    return KERN_OK;
}

/* Enters the chain, a cycle of minimal period `period`. */
static kern_status record(search *s, size_t period, kern_error *err)
{
    dyn_cycle *cycle = find_known(s, period);
    if (cycle == NULL) {
        dyn_cycle fresh = {.period = period};
        KERN_TRY(make_room(s, err));
        reduce_states(s, s->chain, period);
        rotate_chain(s, period);
        const kern_status status = describe(s, &fresh, err);
        if (status != KERN_OK) {
            fini_cycle(&fresh);
            return status;
        }
        cycle = &s->out->cycles[s->out->n_cycles++];
        *cycle = fresh;
    }
    cycle->hits++;
    s->out->n_converged++;
    return KERN_OK;
}

/* Follows one start to its end. */
static kern_status try_start(search *s, size_t index, kern_error *err)
{
    const dyn_fixed_points_options *o = s->o;
    KERN_TRY(prepare_chain(s, index, err));
    dyn_shooting_result result =
        dyn_shooting_solve(s->solver, s->chain, o->period, o->tol, o->max_iterations);
    size_t period = o->period;
    if (result.status == KERN_OK) {
        period = find_minimal_period(s);
    }
    if (result.status == KERN_OK && period < o->period) {
        if (o->prime) {
            result.status = KERN_NOT_FOUND;
        } else {
            result = dyn_shooting_solve(s->solver, s->chain, period, o->tol, o->max_iterations);
        }
    }
    if (result.status != KERN_OK) {
        s->out->failures[result.status]++;
        return KERN_OK;
    }
    return record(s, period, err);
}

/* ---- The whole ---------------------------------------------------------------------------- */

/* Cycles by period and then by first state. Insertion needs no comparison function that knows the
 * size, and a search finds few cycles. */
static void sort_cycles(search *s)
{
    dyn_cycle *cycles = s->out->cycles;
    for (size_t j = 1; j < s->out->n_cycles; j++) {
        for (size_t i = j; i > 0; i--) {
            const dyn_cycle a = cycles[i - 1];
            const dyn_cycle b = cycles[i];
            if (a.period < b.period ||
                (a.period == b.period && !comes_before(s, b.states, a.states))) {
                break;
            }
            cycles[i - 1] = b;
            cycles[i] = a;
        }
    }
}

static kern_status run_search(search *s, kern_error *err)
{
    const dyn_fixed_points_options *o = s->o;
    KERN_TRY(dyn_shooting_create(&s->solver, s->map, o->period, err));
    s->chain = calloc(o->period * s->map->size, sizeof *s->chain);
    s->rotated = calloc(o->period * s->map->size, sizeof *s->rotated);
    if (s->chain == NULL || s->rotated == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a cycle of %zu states", o->period);
    }
    for (size_t i = 0; i < s->out->n_requested; i++) {
        KERN_TRY(try_start(s, i, err));
        if (o->progress != NULL && !o->progress(o->context, i + 1, s->out->n_requested)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped after start %zu", i + 1);
        }
    }
    sort_cycles(s);
    return KERN_OK;
}

kern_status dyn_fixed_points_init(dyn_fixed_points *out, dyn_map *map,
                                  const dyn_fixed_points_options *options, kern_error *err)
{
    *out = (dyn_fixed_points){0};
    KERN_TRY(check_options(map, options, err));
    out->n_requested = options->n_starts + options->n_given;
    search s = {.map = map, .o = options, .out = out};
    const kern_status status = run_search(&s, err);
    dyn_shooting_destroy(s.solver);
    free(s.chain);
    free(s.rotated);
    if (status != KERN_OK) {
        dyn_fixed_points_fini(out);
    }
    return status;
}

void dyn_fixed_points_fini(dyn_fixed_points *out)
{
    for (size_t i = 0; i < out->n_cycles; i++) {
        fini_cycle(&out->cycles[i]);
    }
    free(out->cycles);
    *out = (dyn_fixed_points){0};
}
