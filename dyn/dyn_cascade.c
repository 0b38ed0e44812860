/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_cascade.h"

#include "dyn/dyn_frozen.h"
#include "dyn/dyn_orbit.h"
#include "dyn/dyn_shooting.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct dyn_cascade_solver {
    dyn_map *block; /* of the block in question, with a clone of the map in it */
    dyn_shooting *newton;
    double *trial; /* block_width */
};

/* One call of dyn_cascade_init. */
typedef struct cascade_run {
    dyn_map *map;
    const dyn_cascade_options *o;
    dyn_cascade *out;
    dyn_cascade_solver *solver;
    double *starts[DYN_CASCADE_STARTS]; /* size numbers each, in one block of memory */
    double *image;                      /* size */
} cascade_run;

const char *dyn_cascade_start_word(dyn_cascade_start start)
{
    static const char *const words[DYN_CASCADE_STARTS] = {"settled", "mean", "given"};
    return start < DYN_CASCADE_STARTS ? words[start] : "unknown";
}

dyn_cascade_options dyn_cascade_options_default(void)
{
    return (dyn_cascade_options){.settle = 200, .tol = 1e-11, .max_iterations = 60};
}

/* ---- One block ---------------------------------------------------------------------------- */

kern_status dyn_cascade_solver_create(dyn_cascade_solver **out, const dyn_map *map, kern_error *err)
{
    *out = NULL;
    dyn_cascade_solver *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a solver");
    }
    kern_status status = dyn_frozen_create(&s->block, map, 0, NULL, err);
    if (status == KERN_OK) {
        status = dyn_shooting_create(&s->newton, s->block, 1, err);
    }
    if (status == KERN_OK) {
        s->trial = calloc(map->block_width, sizeof *s->trial);
        status = s->trial != NULL ? KERN_OK
                                  : kern_raise(err, KERN_NO_MEMORY, "no memory for a block of %zu",
                                               map->block_width);
    }
    if (status != KERN_OK) {
        dyn_cascade_solver_destroy(s);
        return status;
    }
    *out = s;
    return KERN_OK;
}

void dyn_cascade_solver_destroy(dyn_cascade_solver *s)
{
    if (s != NULL) {
        dyn_shooting_destroy(s->newton);
        dyn_map_destroy(s->block);
        free(s->trial);
        free(s);
    }
}

kern_status dyn_cascade_solver_set(dyn_cascade_solver *s, const char *name, double value,
                                   kern_error *err)
{
    return dyn_map_set_param(s->block, name, value, err);
}

dyn_cascade_block dyn_cascade_solver_run(dyn_cascade_solver *s, size_t block, double *state,
                                         double tol, size_t max_iterations)
{
    const size_t w = s->block->size;
    double *own = state + block * w;
    dyn_frozen_hold(s->block, block, state);
    memcpy(s->trial, own, w * sizeof *own);
    const dyn_chain_goal goal = {.tol = tol, .max_iterations = max_iterations};
    const dyn_chain_result r = dyn_shooting_solve(s->newton, s->trial, 1, &goal);
    if (r.status == KERN_OK) {
        memcpy(own, s->trial, w * sizeof *own);
    }
    return (dyn_cascade_block){
        .status = r.status, .iterations = r.iterations, .residual = r.residual};
}

/* ---- Where blocks are started from -------------------------------------------------------- */

/* Follows the map; the mean is over the last half of the states. */
static void settle(cascade_run *run, const double *start)
{
    const size_t n = run->map->size;
    const size_t steps = run->o->settle;
    const size_t half = steps / 2;
    double *settled = run->starts[DYN_CASCADE_SETTLED];
    double *mean = run->starts[DYN_CASCADE_MEAN];
    memcpy(settled, start, n * sizeof *settled);
    for (size_t t = 1; t <= steps; t++) {
        run->map->kind->step(run->map, settled, settled);
        for (size_t i = 0; t > half && i < n; i++) {
            mean[i] += settled[i] / (double)(steps - half);
        }
    }
    if (steps == 0) {
        memcpy(mean, start, n * sizeof *mean);
    }
    memcpy(run->starts[DYN_CASCADE_GIVEN], start, n * sizeof *start);
}

/* A block that was lost while settling starts from the state given. */
static void repair(cascade_run *run, size_t block)
{
    const size_t w = run->map->block_width;
    for (size_t k = 0; k < DYN_CASCADE_GIVEN; k++) {
        double *own = run->starts[k] + block * w;
        if (dyn_state_check(own, w, DYN_DIVERGED) != KERN_OK) {
            memcpy(own, run->starts[DYN_CASCADE_GIVEN] + block * w, w * sizeof *own);
        }
    }
}

/* Tries the starts in turn. A block that none of them solves stays where settling left it. */
static void solve_block(cascade_run *run, size_t block)
{
    const size_t w = run->map->block_width;
    double *own = run->out->state + block * w;
    dyn_cascade_block *result = &run->out->blocks[block];
    repair(run, block);
    for (size_t k = 0; k < DYN_CASCADE_STARTS; k++) {
        memcpy(own, run->starts[k] + block * w, w * sizeof *own);
        dyn_cascade_block trial = dyn_cascade_solver_run(run->solver, block, run->out->state,
                                                         run->o->tol, run->o->max_iterations);
        trial.start = (dyn_cascade_start)k;
        if (k == 0 || trial.status == KERN_OK) {
            *result = trial;
        }
        if (trial.status == KERN_OK) {
            return;
        }
    }
    memcpy(own, run->starts[0] + block * w, w * sizeof *own);
}

/* ---- The whole ---------------------------------------------------------------------------- */

static kern_status allocate(cascade_run *run, kern_error *err)
{
    const size_t n = run->map->size;
    dyn_cascade *out = run->out;
    size_t numbers;
    if (!kern_size_mul(n, DYN_CASCADE_STARTS + 1, &numbers) ||
        numbers > SIZE_MAX / sizeof(double)) {
        return kern_raise(err, KERN_OVERFLOW, "a map of %zu numbers is too large", n);
    }
    out->size = n;
    out->n_blocks = run->map->block_count;
    out->blocks = calloc(out->n_blocks, sizeof *out->blocks);
    out->state = calloc(n, sizeof *out->state);
    run->starts[0] = calloc(numbers, sizeof *run->starts[0]);
    if (out->blocks == NULL || out->state == NULL || run->starts[0] == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a cascade of %zu numbers", n);
    }
    for (size_t k = 1; k < DYN_CASCADE_STARTS; k++) {
        run->starts[k] = run->starts[0] + k * n;
    }
    run->image = run->starts[0] + DYN_CASCADE_STARTS * n;
    return dyn_cascade_solver_create(&run->solver, run->map, err);
}

static kern_status solve_all(cascade_run *run, kern_error *err)
{
    dyn_cascade *out = run->out;
    memcpy(out->state, run->starts[0], out->size * sizeof *out->state);
    for (size_t a = 0; a < out->n_blocks; a++) {
        solve_block(run, a);
        out->blocks[a].conditional = out->status != KERN_OK;
        out->n_converged += out->blocks[a].status == KERN_OK && !out->blocks[a].conditional;
        out->status = out->status == KERN_OK ? out->blocks[a].status : out->status;
        if (run->o->progress != NULL && !run->o->progress(run->o->context, a + 1, out->n_blocks)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped after block %zu", a);
        }
    }
    run->map->kind->step(run->map, out->state, run->image);
    out->residual = dyn_map_distance(run->map, run->image, out->state);
    return KERN_OK;
}

kern_status dyn_cascade_init(dyn_cascade *out, dyn_map *map, const double *start,
                             const dyn_cascade_options *options, kern_error *err)
{
    *out = (dyn_cascade){0};
    if (!(options->tol > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the tolerance is %g, accepted is more than 0", options->tol);
    }
    cascade_run run = {.map = map, .o = options, .out = out};
    kern_status status = allocate(&run, err);
    if (status == KERN_OK) {
        settle(&run, start != NULL ? start : map->start);
        status = solve_all(&run, err);
    }
    dyn_cascade_solver_destroy(run.solver);
    free(run.starts[0]);
    if (status != KERN_OK) {
        dyn_cascade_fini(out);
    }
    return status;
}

void dyn_cascade_fini(dyn_cascade *out)
{
    free(out->blocks);
    free(out->state);
    *out = (dyn_cascade){0};
}
