/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_settle.h"

#include "dyn/dyn_chart.h"
#include "dyn/dyn_orbit.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct settle_run {
    dyn_map *map;
    const dyn_settle_options *o;
    dyn_settle *out;
    double *state; /* size */
    double *z;     /* size: directions of the state */
    double *final; /* size: directions at the horizon */
} settle_run;

static kern_status watch(const settle_run *run, size_t done, kern_error *err)
{
    if (run->o->progress != NULL && !run->o->progress(run->o->context, done, 2 * run->o->horizon)) {
        return kern_raise(err, KERN_INTERRUPTED, "stopped after step %zu of %zu", done,
                          2 * run->o->horizon);
    }
    return KERN_OK;
}

/* Root mean square of a − b, on circles the short way round, over the block's coordinates. */
static double find_distance(const settle_run *run, size_t block)
{
    const dyn_map *map = run->map;
    const size_t w = map->block_width;
    double sum = 0.0;
    for (size_t i = block * w; i < (block + 1) * w; i++) {
        double gap = run->z[i] - run->final[i];
        if (map->periods != NULL && map->periods[i] > 0.0) {
            gap = remainder(gap, map->periods[i]);
        }
        sum += gap * gap;
    }
    return sqrt(sum / (double)w);
}

/* To the horizon, and what is there. */
static kern_status find_end(settle_run *run, const double *start, kern_error *err)
{
    const dyn_map *map = run->map;
    const size_t w = map->block_width;
    memcpy(run->state, start, map->size * sizeof *start);
    for (size_t t = 1; t <= run->o->horizon; t++) {
        map->kind->step(run->map, run->state, run->state);
        KERN_TRY(watch(run, t, err));
    }
    for (size_t a = 0; a < run->out->n_blocks; a++) {
        run->out->blocks[a].status = dyn_state_check(run->state + a * w, w, DYN_DIVERGED);
    }
    dyn_chart_split(map, run->state, run->final, NULL);
    return KERN_OK;
}

/* The orbit once more: `time` becomes the first step after the last one that was too far away. */
static kern_status find_times(settle_run *run, const double *start, kern_error *err)
{
    const dyn_map *map = run->map;
    memcpy(run->state, start, map->size * sizeof *start);
    for (size_t t = 0; t < run->o->horizon; t++) {
        dyn_chart_split(map, run->state, run->z, NULL);
        for (size_t a = 0; a < run->out->n_blocks; a++) {
            if (!(find_distance(run, a) <= run->o->tol)) {
                run->out->blocks[a].time = t + 1;
            }
        }
        map->kind->step(run->map, run->state, run->state);
        KERN_TRY(watch(run, run->o->horizon + t + 1, err));
    }
    return KERN_OK;
}

/* Labels, and delays of blocks all of whose predecessors have settled. */
static void judge(dyn_settle *out)
{
    bool all = true;
    size_t slowest = 0;
    for (size_t a = 0; a < out->n_blocks; a++) {
        dyn_settle_block *b = &out->blocks[a];
        if (b->status == KERN_OK && b->time > out->horizon / 2) {
            b->status = KERN_TIMEOUT;
        }
        all = all && b->status == KERN_OK;
        out->n_settled += b->status == KERN_OK;
        b->has_delay = all && a > 0;
        if (b->has_delay) {
            b->delay = (long long)b->time - (long long)slowest;
            b->delay_previous = (long long)b->time - (long long)out->blocks[a - 1].time;
        }
        slowest = b->time > slowest ? b->time : slowest;
    }
}

static kern_status check_options(const dyn_settle_options *o, kern_error *err)
{
    if (o->horizon < 2 || o->horizon > SIZE_MAX / 4) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the horizon is %zu steps, accepted are 2 or more", o->horizon);
    }
    if (!(o->tol > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the tolerance is %g, accepted is more than 0", o->tol);
    }
    return KERN_OK;
}

static kern_status allocate(settle_run *run, kern_error *err)
{
    const size_t n = run->map->size;
    run->out->n_blocks = run->map->block_count;
    run->out->blocks = calloc(run->out->n_blocks, sizeof *run->out->blocks);
    run->state = n <= SIZE_MAX / (4 * sizeof(double)) ? calloc(3 * n, sizeof(double)) : NULL;
    if (run->state == NULL || run->out->blocks == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for states of %zu numbers", n);
    }
    run->z = run->state + n;
    run->final = run->z + n;
    return KERN_OK;
}

kern_status dyn_settle_init(dyn_settle *out, dyn_map *map, const double *start,
                            const dyn_settle_options *options, kern_error *err)
{
    *out = (dyn_settle){0};
    KERN_TRY(check_options(options, err));
    settle_run run = {.map = map, .o = options, .out = out};
    const double *from = start != NULL ? start : map->start;
    out->horizon = options->horizon;
    out->tol = options->tol;
    kern_status status = allocate(&run, err);
    if (status == KERN_OK) {
        status = find_end(&run, from, err);
    }
    if (status == KERN_OK) {
        status = find_times(&run, from, err);
    }
    free(run.state);
    if (status != KERN_OK) {
        dyn_settle_fini(out);
        return status;
    }
    judge(out);
    return KERN_OK;
}

void dyn_settle_fini(dyn_settle *out)
{
    free(out->blocks);
    *out = (dyn_settle){0};
}
