/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_orbit_diagram.h"

#include "dyn/dyn_orbit.h"
#include "dyn/dyn_param_range.h"
#include "dyn/dyn_scan.h"
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

/* A worker's own memory, and the map it was given. */
typedef struct lane {
    dyn_map *map;
    int worker;
    double *x;      /* state */
    double *v;      /* tangent of length 1 */
    double *states; /* DYN_PERIOD_STATES of them */
} lane;

typedef struct diagram_run {
    const dyn_orbit_diagram_options *o;
    dyn_param_range range;
    const double *x0;
    lane *lanes;
    int n_lanes;
    dyn_orbit_diagram *diagram;
} diagram_run;

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
        values[k] =
            o->observe != NULL ? o->observe(o->observer, l->worker, l->x) : l->x[o->coordinate];
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
static void run_column(const diagram_run *run, lane *l, size_t index)
{
    const dyn_orbit_diagram_options *o = run->o;
    dyn_orbit_column *c = &run->diagram->columns[index];
    double *values = run->diagram->values + index * o->values;
    *c = (dyn_orbit_column){.parameter = dyn_param_range_set(&run->range, l->map, index),
                            .values = values,
                            .exponent = (double)NAN};
    for (size_t k = 0; k < o->values; k++) {
        values[k] = (double)NAN;
    }
    reset_tangent(l);
    c->status = dyn_orbit_judge(l->map, l->x, NULL, NULL);
    if (c->status == KERN_OK && skip_transient(l, c, o->ttr)) {
        sample(l, c, values, o);
    }
}

/* Items of the scan are columns, or, when they follow one another, the one chain of all. */
static kern_status run_item(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    const diagram_run *run = context;
    lane *l = &run->lanes[worker];
    (void)err;
    l->map = map;
    l->worker = worker;
    memcpy(l->x, run->x0, map->size * sizeof *l->x);
    run_column(run, l, item);
    return KERN_OK;
}

static kern_status run_chain(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    const diagram_run *run = context;
    const dyn_orbit_diagram_options *o = run->o;
    lane *l = &run->lanes[worker];
    bool lost = true;
    l->map = map;
    l->worker = worker;
    for (item = 0; item < o->columns; item++) {
        if (lost) {
            memcpy(l->x, run->x0, map->size * sizeof *l->x);
        }
        run_column(run, l, item);
        lost = run->diagram->columns[item].status != KERN_OK;
        if (o->progress != NULL && !o->progress(o->context, item + 1, o->columns)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped before all %zu columns were done",
                              o->columns);
        }
    }
    return KERN_OK;
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

static kern_status check(const dyn_map *map, const dyn_orbit_diagram_options *o, kern_error *err)
{
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

static kern_status make_lanes(diagram_run *run, size_t size, kern_error *err)
{
    size_t states = 0;
    const bool fits = kern_size_mul(size, DYN_PERIOD_STATES, &states);
    run->lanes = calloc((size_t)run->n_lanes, sizeof *run->lanes);
    bool done = fits && run->lanes != NULL;
    for (int i = 0; i < run->n_lanes && done; i++) {
        lane *l = &run->lanes[i];
        l->x = calloc(size, sizeof *l->x);
        l->v = calloc(size, sizeof *l->v);
        l->states = calloc(states, sizeof *l->states);
        done = l->x != NULL && l->v != NULL && l->states != NULL;
    }
    return done ? KERN_OK : kern_raise(err, KERN_NO_MEMORY, "no memory for an orbit diagram");
}

static void free_lanes(diagram_run *run)
{
    for (int i = 0; run->lanes != NULL && i < run->n_lanes; i++) {
        free(run->lanes[i].x);
        free(run->lanes[i].v);
        free(run->lanes[i].states);
    }
    free(run->lanes);
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

static kern_status compute(diagram_run *run, const dyn_map *map, kern_error *err)
{
    const dyn_orbit_diagram_options *o = run->o;
    const dyn_scan_options scan = {.items = o->follow ? 1 : o->columns,
                                   .workers = o->workers,
                                   .progress = o->follow ? NULL : o->progress,
                                   .context = o->context};
    KERN_TRY(dyn_param_range_init(&run->range, map, o->vary, o->from, o->to, o->columns, err));
    KERN_TRY(check(map, o, err));
    run->n_lanes = dyn_scan_workers(&scan);
    KERN_TRY(allocate(&run->diagram, o, err));
    KERN_TRY(make_lanes(run, map->size, err));
    return dyn_scan_run(map, &scan, o->follow ? run_chain : run_item, run, err);
}

kern_status dyn_orbit_diagram_create(dyn_orbit_diagram **out, const dyn_map *map,
                                     const dyn_orbit_diagram_options *options, kern_error *err)
{
    diagram_run run = {.o = options, .x0 = options->x0 != NULL ? options->x0 : map->start};
    const kern_status status = compute(&run, map, err);
    free_lanes(&run);
    if (status != KERN_OK) {
        dyn_orbit_diagram_destroy(run.diagram);
        run.diagram = NULL;
    }
    *out = run.diagram;
    return status;
}
