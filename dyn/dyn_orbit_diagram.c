/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_orbit_diagram.h"

#include "dyn/dyn_orbit.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of the transient that the tangent takes part in. */
enum { FRAME_STEPS = 200 };

dyn_orbit_diagram_options dyn_orbit_diagram_defaults(void)
{
    return (dyn_orbit_diagram_options){
        .columns = 200, .ttr = 1000, .values = 100, .tolerance = 1e-8, .workers = 1};
}

/* ---- Periods ----------------------------------------------------------------------------------
 */

static double largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

/* Size that a tolerance refers to; a coordinate on a circle has none, however far it is lifted. */
static double scale_of(const dyn_map *map, const double *x)
{
    double most = 0;
    for (size_t i = 0; i < map->size; i++) {
        if (map->periods == NULL || !(map->periods[i] > 0)) {
            most = fmax(most, fabs(x[i]));
        }
    }
    return 1.0 + most;
}

static bool returns_after(const dyn_map *map, const double *states, size_t period, size_t stride,
                          double tolerance)
{
    for (size_t i = 0; i < period; i++) {
        const double *here = states + i * map->size;
        const double *there = here + stride * period * map->size;
        const double bound = tolerance * scale_of(map, here);
        /* Written so that NaN is refused. */
        if (!(dyn_map_distance(map, here, there) <= bound)) {
            return false;
        }
    }
    return true;
}

size_t dyn_period_find(const dyn_map *map, const double *states, double tolerance)
{
    for (size_t i = 0; i < DYN_PERIOD_STATES * map->size; i++) {
        if (!isfinite(states[i])) {
            return 0;
        }
    }
    for (size_t p = 1; p <= DYN_PERIOD_MOST; p++) {
        if (returns_after(map, states, p, DYN_PERIOD_STRIDE_A, tolerance) &&
            returns_after(map, states, p, DYN_PERIOD_STRIDE_B, tolerance)) {
            return p;
        }
    }
    return 0;
}

/* ---- One column -------------------------------------------------------------------------------
 */

/* A worker's own map and memory. */
typedef struct lane {
    dyn_map *map;
    double *x;      /* state */
    double *v;      /* tangent of length 1 */
    double *states; /* DYN_PERIOD_STATES of them */
} lane;

typedef struct scan {
    const dyn_orbit_diagram_options *o;
    const double *x0;
    size_t index; /* of the parameter */
    lane *lanes;
    int n_lanes;
    dyn_orbit_diagram *diagram;
} scan;

static void reset_tangent(lane *l)
{
    for (size_t i = 0; i < l->map->size; i++) {
        l->v[i] = 0.5 + 0x1p-64 * (double)kern_rng_hash(1, i);
    }
}

/* Scales the tangent to length 1 (largest coordinate) and returns the log of what it was. */
static double rescale(lane *l)
{
    const double length = largest(l->v, l->map->size);
    for (size_t i = 0; i < l->map->size && length > 0; i++) {
        l->v[i] /= length;
    }
    return log(length);
}

/* One step of state, and of the tangent if asked for; false when the orbit ends with it. */
static bool advance(lane *l, dyn_orbit_column *c, bool with_tangent, double *growth)
{
    if (with_tangent) {
        l->map->kind->jvp(l->map, l->x, l->v, l->x, l->v);
        *growth += rescale(l);
    } else {
        l->map->kind->step(l->map, l->x, l->x);
    }
    c->end++;
    c->status = dyn_orbit_judge(l->map, l->x, NULL, NULL);
    return c->status == KERN_OK;
}

static bool skip_transient(lane *l, dyn_orbit_column *c, size_t ttr)
{
    double ignored = 0;
    for (size_t k = 0; k < ttr; k++) {
        if (!advance(l, c, ttr - k <= FRAME_STEPS, &ignored)) {
            return false;
        }
    }
    /* A tangent that vanished on the way shall be seen in the steps that count, if it does again.
     */
    if (!(largest(l->v, l->map->size) > 0)) {
        reset_tangent(l);
    }
    return true;
}

static void sample(lane *l, dyn_orbit_column *c, double *values, const dyn_orbit_diagram_options *o)
{
    double growth = 0;
    const size_t size = l->map->size;
    for (size_t k = 0; k < o->values; k++) {
        values[k] = l->x[o->coordinate];
        c->n = k + 1;
        if (!advance(l, c, true, &growth)) {
            return;
        }
    }
    for (size_t k = 0; k < DYN_PERIOD_STATES; k++) {
        memcpy(l->states + k * size, l->x, size * sizeof *l->x);
        if (!advance(l, c, true, &growth)) {
            return;
        }
    }
    c->exponent = growth / (double)(o->values + DYN_PERIOD_STATES);
    c->period = dyn_period_find(l->map, l->states, o->tolerance);
    c->collapsed = c->period > 0 && c->exponent > 1e-3;
}

/* Column `index` from the state that the lane holds. */
static void run_column(const scan *s, lane *l, size_t index)
{
    const dyn_orbit_diagram_options *o = s->o;
    dyn_orbit_column *c = &s->diagram->columns[index];
    double *values = s->diagram->values + index * o->values;
    const double part = o->columns > 1 ? (double)index / (double)(o->columns - 1) : 0.0;
    *c = (dyn_orbit_column){.parameter = (1.0 - part) * o->from + part * o->to,
                            .values = values,
                            .exponent = (double)NAN};
    for (size_t k = 0; k < o->values; k++) {
        values[k] = (double)NAN;
    }
    l->map->params[s->index] = c->parameter;
    reset_tangent(l);
    c->status = dyn_orbit_judge(l->map, l->x, NULL, NULL);
    if (c->status == KERN_OK && skip_transient(l, c, o->ttr)) {
        sample(l, c, values, o);
    }
}

static void run_share(void *context, int worker, int workers)
{
    const scan *s = context;
    lane *l = &s->lanes[worker];
    const size_t n = s->o->columns;
    for (size_t i = (size_t)worker; i < n; i += (size_t)workers) {
        memcpy(l->x, s->x0, l->map->size * sizeof *l->x);
        run_column(s, l, i);
    }
}

static void run_chain(const scan *s)
{
    lane *l = &s->lanes[0];
    bool lost = true;
    for (size_t i = 0; i < s->o->columns; i++) {
        if (lost) {
            memcpy(l->x, s->x0, l->map->size * sizeof *l->x);
        }
        run_column(s, l, i);
        lost = s->diagram->columns[i].status != KERN_OK;
    }
}

/* ---- The diagram ------------------------------------------------------------------------------
 */

void dyn_orbit_diagram_destroy(dyn_orbit_diagram *diagram)
{
    if (diagram != NULL) {
        free(diagram->columns);
        free(diagram->values);
        free(diagram);
    }
}

static kern_status check(scan *s, const dyn_map *map, kern_error *err)
{
    const dyn_orbit_diagram_options *o = s->o;
    KERN_TRY(dyn_map_find_param(map, o->vary, &s->index, err));
    if (s->index + map->n_fixed >= map->n_params) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "parameter %s of map %s was settled when the map was made and cannot vary", o->vary,
            map->kind->name);
    }
    if (!isfinite(o->from) || !isfinite(o->to)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "parameter %s varies from %g to %g; accepted are finite numbers", o->vary,
                          o->from, o->to);
    }
    if (o->coordinate >= map->size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "map %s has no coordinate %zu; accepted are 0 to %zu", map->kind->name,
                          o->coordinate, map->size - 1);
    }
    if (o->columns == 0 || o->values == 0) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "an orbit diagram of %zu columns of %zu values is empty; accepted is 1 or "
            "more of both",
            o->columns, o->values);
    }
    return KERN_OK;
}

static kern_status make_lanes(scan *s, const dyn_map *map, kern_error *err)
{
    size_t states = 0;
    const bool fits = kern_size_mul(map->size, DYN_PERIOD_STATES, &states);
    s->lanes = calloc((size_t)s->n_lanes, sizeof *s->lanes);
    if (s->lanes == NULL || !fits) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for an orbit diagram");
    }
    for (int i = 0; i < s->n_lanes; i++) {
        lane *l = &s->lanes[i];
        KERN_TRY(map->kind->clone(&l->map, map, err));
        l->x = calloc(map->size, sizeof *l->x);
        l->v = calloc(map->size, sizeof *l->v);
        l->states = calloc(states, sizeof *l->states);
        if (l->x == NULL || l->v == NULL || l->states == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for an orbit diagram");
        }
    }
    return KERN_OK;
}

static void free_lanes(scan *s)
{
    for (int i = 0; s->lanes != NULL && i < s->n_lanes; i++) {
        dyn_map_destroy(s->lanes[i].map);
        free(s->lanes[i].x);
        free(s->lanes[i].v);
        free(s->lanes[i].states);
    }
    free(s->lanes);
}

static kern_status allocate(dyn_orbit_diagram **out, const dyn_orbit_diagram_options *o,
                            kern_error *err)
{
    size_t count = 0;
    if (!kern_size_mul(o->columns, o->values, &count)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu columns of %zu values are too many", o->columns,
                          o->values);
    }
    dyn_orbit_diagram *diagram = calloc(1, sizeof *diagram);
    *out = diagram;
    if (diagram != NULL) {
        diagram->n_columns = o->columns;
        diagram->n_values = o->values;
        diagram->columns = calloc(o->columns, sizeof *diagram->columns);
        diagram->values = calloc(count, sizeof *diagram->values);
    }
    if (diagram == NULL || diagram->columns == NULL || diagram->values == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu columns of %zu values",
                          o->columns, o->values);
    }
    return KERN_OK;
}

static kern_status compute(scan *s, const dyn_map *map, kern_error *err)
{
    KERN_TRY(check(s, map, err));
    KERN_TRY(allocate(&s->diagram, s->o, err));
    KERN_TRY(make_lanes(s, map, err));
    if (s->o->follow) {
        run_chain(s);
    } else {
        kern_parallel_run(s->n_lanes, run_share, s);
    }
    return KERN_OK;
}

kern_status dyn_orbit_diagram_create(dyn_orbit_diagram **out, const dyn_map *map,
                                     const dyn_orbit_diagram_options *options, kern_error *err)
{
    scan s = {.o = options, .x0 = options->x0 != NULL ? options->x0 : map->start, .n_lanes = 1};
    if (!options->follow && options->workers > 1) {
        s.n_lanes =
            (size_t)options->workers < options->columns ? options->workers : (int)options->columns;
    }
    s.n_lanes = s.n_lanes < 1 ? 1 : s.n_lanes;
    const kern_status status = compute(&s, map, err);
    free_lanes(&s);
    if (status != KERN_OK) {
        dyn_orbit_diagram_destroy(s.diagram);
        s.diagram = NULL;
    }
    *out = s.diagram;
    return status;
}
