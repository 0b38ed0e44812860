/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_fixed_points.h"

#include "dyn/dyn_chain.h"
#include "dyn/dyn_cycle_accuracy.h"
#include "dyn/dyn_deflation.h"
#include "dyn/dyn_kinetic.h"
#include "dyn/dyn_orbit.h"
#include "dyn/dyn_scan.h"
#include "dyn/dyn_starts.h"
#include "dyn/dyn_stride.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_STARTS = 256,     /* starts whose results are kept before they are merged */
    BATCH_NUMBERS = 1 << 22 /* that their chains may hold */
};

/* Slow points are told apart at 100 times the slope that makes a minimum: their position is
 * uncertain by the slope over the curvature of |g|. */
#define SLOW_MERGE (100.0 * DYN_KINETIC_FLAT)

/* States farther from each other than this, relative to the larger of 1 and their size, are never
 * taken for one: no uncertainty of dyn_cycle_accuracy.h is as large at any tolerance below 1e-9. */
#define NEAR 1e-2

/* What one start came to. */
typedef struct outcome {
    double *states; /* period × size: the chain, of which `period` states count */
    dyn_chain_result result;
    size_t period; /* minimal */
    kern_status returns;
    bool slow; /* no solution but a minimum of q */
    dyn_kinetic_result kinetic;
} outcome;

/* What one worker has. */
typedef struct lane {
    dyn_map *map; /* its clone, NULL before its first start */
    void *solver;
    dyn_kinetic *kinetic;
    double *work; /* size: of the strides */
} lane;

/* One search. */
typedef struct search {
    dyn_map *map;
    const dyn_fixed_points_options *o;
    dyn_fixed_points *out;
    dyn_starts *starts;
    dyn_cycles cycles;
    size_t chain; /* period × size */
    size_t batch; /* outcomes */
    outcome *outcomes;
    double *numbers; /* chains of the outcomes, and two more for work */
    double *work;    /* period × size */
    double *base;    /* period × size: the chain of a start that is used again */
    lane *lanes;
    size_t first; /* start of the batch's first outcome */
} search;

dyn_fixed_points_options dyn_fixed_points_options_default(void)
{
    return (dyn_fixed_points_options){.period = 1,
                                      .n_starts = 200,
                                      .tol = 1e-11,
                                      .merge = 1e-6,
                                      .max_iterations = 100,
                                      .seed = 1,
                                      .workers = 1};
}

const char *dyn_seeds_name(dyn_seeds seeds)
{
    static const char *const names[] = {[DYN_SEEDS_UNIFORM] = "uniform",
                                        [DYN_SEEDS_SOBOL] = "sobol",
                                        [DYN_SEEDS_KINETIC] = "kinetic"};
    return (unsigned)seeds < DYN_SEEDS_COUNT ? names[seeds] : NULL;
}

/* ---- Options ------------------------------------------------------------------------------ */

static kern_status check_options(search *s, kern_error *err)
{
    const dyn_fixed_points_options *o = s->o;
    size_t bytes;
    if (!(o->tol > 0.0) || !(o->merge > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the tolerance is %g and the merging distance %g, accepted is more than "
                          "0",
                          o->tol, o->merge);
    }
    if (o->period == 0 || !kern_size_mul(o->period, s->map->size, &s->chain) ||
        !kern_size_mul(s->chain, sizeof(double) * (BATCH_STARTS + 2), &bytes)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a cycle of %zu states of %zu numbers is not accepted, the period must "
                          "be at least 1 and the product fit in memory",
                          o->period, s->map->size);
    }
    s->out->method = o->method != NULL ? o->method : dyn_method_choose(s->map, o->period);
    if (o->deflate && !s->out->method->deflates) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "method %s cannot deflate, accepted are Newton's methods",
                          s->out->method->name);
    }
    return KERN_OK;
}

/* ---- One start ---------------------------------------------------------------------------- */

static kern_status equip(const search *s, lane *l, dyn_map *map, kern_error *err)
{
    if (l->map != NULL) {
        return KERN_OK;
    }
    KERN_TRY(s->out->method->create(&l->solver, map, s->o->period, err));
    if (s->o->seeds == DYN_SEEDS_KINETIC) {
        KERN_TRY(dyn_kinetic_create(&l->kinetic, map, s->o->period, err));
    }
    l->work = calloc(dyn_stride_work(map), sizeof *l->work);
    if (l->work == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a state of %zu numbers", map->size);
    }
    l->map = map;
    return KERN_OK;
}

static void strip(const search *s, lane *l)
{
    if (l->solver != NULL) {
        s->out->method->destroy(l->solver);
    }
    dyn_kinetic_destroy(l->kinetic);
    free(l->work);
    *l = (lane){0};
}

/* x becomes its image. Where that is lost, it becomes a point of the box, if there is one. */
static void follow(const search *s, dyn_map *map, kern_rng *rng, double *x)
{
    const dyn_fixed_points_options *o = s->o;
    map->kind->step(map, x, x);
    if (o->n_starts > 0 && dyn_state_check(x, map->size, DYN_DIVERGED) != KERN_OK) {
        for (size_t i = 0; i < map->size; i++) {
            x[i] = o->low[i] + (o->high[i] - o->low[i]) * kern_rng_uniform(rng);
        }
    }
}

/* The chain that follows from start `index`, whose point is its first state. */
static kern_status unroll(const search *s, lane *l, size_t index, double *chain, kern_error *err)
{
    const size_t size = s->map->size;
    const size_t settle = index % 2 == 0 ? s->o->settle : s->o->settle / 2;
    if (settle > 0 || s->o->period > 1) {
        kern_rng *rng = kern_rng_create(s->o->seed, "fixed-points-lost", index);
        if (rng == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
        }
        for (size_t t = 0; t < settle; t++) {
            follow(s, l->map, rng, chain);
        }
        for (size_t i = 1; i < s->o->period; i++) {
            memcpy(chain + i * size, chain + (i - 1) * size, size * sizeof *chain);
            follow(s, l->map, rng, chain + i * size);
        }
        kern_rng_destroy(rng);
    }
    if (l->kinetic != NULL) {
        (void)dyn_kinetic_descend(l->kinetic, chain, s->o->period, DYN_FIXED_POINTS_DESCENT);
    }
    return KERN_OK;
}

/* The minimal period. States that are near each other may be one state that is not known any
 * better, as near a flip, where the cycle of twice the period begins. */
static kern_status find_period(const search *s, lane *l, outcome *r, kern_error *err)
{
    const dyn_fixed_points_options *o = s->o;
    const size_t period = r->period;
    r->period = dyn_chain_minimal_period(l->map, r->states, period, o->merge);
    if (r->period < period || l->map->block_width > DYN_CYCLES_DENSE_MAX ||
        dyn_chain_minimal_period(l->map, r->states, period, NEAR) == period) {
        return KERN_OK;
    }
    dyn_multipliers_options options = dyn_multipliers_options_default();
    dyn_multipliers m;
    dyn_cycle_accuracy accuracy;
    options.period = period;
    options.horizon = 0;
    KERN_TRY(dyn_multipliers_init(&m, l->map, r->states, &options, err));
    const kern_status status = dyn_cycle_accuracy_locate(&accuracy, l->map, r->states, &m, err);
    dyn_multipliers_fini(&m);
    if (status == KERN_OK && accuracy.position > 0.0) {
        const double merge =
            fmax(o->merge, 2.0 * accuracy.position / dyn_chain_reach(r->states, l->map->size, 1.0));
        r->period = dyn_chain_minimal_period(l->map, r->states, period, merge);
    }
    return status;
}

/* Solves from the outcome's chain, finds the minimal period, and checks that the cycle returns. */
static kern_status solve(const search *s, lane *l, outcome *r, const dyn_deflation *deflation,
                         kern_error *err)
{
    const dyn_fixed_points_options *o = s->o;
    const dyn_method *method = s->out->method;
    dyn_chain_goal goal = {.tol = o->tol,
                           .max_iterations = o->max_iterations,
                           .deflation = deflation,
                           .merge = o->merge};
    r->period = o->period;
    r->result = method->solve(l->solver, r->states, o->period, &goal);
    if (r->result.status != KERN_OK) {
        return KERN_OK;
    }
    size_t longer = 0;
    while (r->result.status == KERN_OK && longer != r->period) {
        longer = r->period;
        KERN_TRY(find_period(s, l, r, err));
        goal.deflation = NULL;
        if (r->period < longer) {
            r->result = method->solve(l->solver, r->states, r->period, &goal);
        }
    }
    if (r->result.status == KERN_OK) {
        dyn_stride_check check;
        KERN_TRY(dyn_stride_run(&check, l->map, r->states, r->period, o->tol, l->work, err));
        r->returns = check.status;
        r->result.status = check.status == KERN_NOT_CONVERGED ? KERN_NOT_CONVERGED : KERN_OK;
    }
    return KERN_OK;
}

/* Goes on down q where there is no solution: is there a minimum? */
static void look_for_minimum(const search *s, lane *l, outcome *r)
{
    r->slow = false;
    if (l->kinetic != NULL && r->result.status != KERN_OK && r->result.status != KERN_NOT_FOUND) {
        r->kinetic =
            dyn_kinetic_descend(l->kinetic, r->states, s->o->period, DYN_FIXED_POINTS_MINIMUM);
        r->slow = r->kinetic.status == KERN_OK;
    }
}

/* ---- Merging ------------------------------------------------------------------------------ */

static kern_status fail(search *s, outcome *r, kern_status status, kern_error *err)
{
    s->out->failures[status]++;
    if (r->result.coarse) {
        const double size = dyn_chain_largest(r->states, s->chain);
        s->out->coarse_size = s->out->n_coarse > 0 ? fmin(s->out->coarse_size, size) : size;
        s->out->n_coarse++;
    }
    if (!r->slow) {
        return KERN_OK;
    }
    const dyn_slow_point point = {
        .states = r->states, .q = r->kinetic.q, .slope = r->kinetic.slope, .refusal = status};
    return dyn_slow_points_enter(&s->out->slow, s->map, s->o->period, &point,
                                 fmax(s->o->merge, SLOW_MERGE), err);
}

static kern_status merge(search *s, outcome *r, kern_error *err)
{
    if (r->result.status != KERN_OK) {
        return fail(s, r, r->result.status, err);
    }
    if (s->o->prime && r->period < s->o->period) {
        return fail(s, r, KERN_NOT_FOUND, err);
    }
    s->out->n_converged++;
    return dyn_cycles_enter(&s->cycles, r->states, r->period, r->returns, s->work, NULL, err);
}

/* ---- Independent starts ------------------------------------------------------------------- */

static kern_status try_start(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    search *s = context;
    lane *l = &s->lanes[worker];
    outcome *r = &s->outcomes[item];
    KERN_TRY(equip(s, l, map, err));
    KERN_TRY(unroll(s, l, s->first + item, r->states, err));
    KERN_TRY(solve(s, l, r, NULL, err));
    look_for_minimum(s, l, r);
    return KERN_OK;
}

/* Progress of a batch is progress of the whole. */
static bool report(void *context, size_t done, size_t total)
{
    const search *s = context;
    (void)total;
    return s->o->progress(s->o->context, s->first + done, s->out->n_requested);
}

static kern_status run_batch(search *s, size_t count, kern_error *err)
{
    const dyn_scan_options scan = {.items = count,
                                   .workers = s->o->workers,
                                   .progress = s->o->progress != NULL ? report : NULL,
                                   .context = s};
    for (size_t i = 0; i < count; i++) {
        KERN_TRY(dyn_starts_next(s->starts, s->outcomes[i].states, err));
    }
    const kern_status status = dyn_scan_run(s->map, &scan, try_start, s, err);
    /* The workers' maps are gone; so go the solvers that borrow them. */
    for (int i = 0; i < dyn_scan_workers(&scan); i++) {
        strip(s, &s->lanes[i]);
    }
    for (size_t i = 0; status == KERN_OK && i < count; i++) {
        KERN_TRY(merge(s, &s->outcomes[i], err));
    }
    return status;
}

static kern_status run_independent(search *s, kern_error *err)
{
    for (s->first = 0; s->first < s->out->n_requested; s->first += s->batch) {
        KERN_TRY(run_batch(s, kern_size_min(s->batch, s->out->n_requested - s->first), err));
    }
    return KERN_OK;
}

/* ---- Deflation ---------------------------------------------------------------------------- */

/* Enters what r came to, if it was not known before. *again: the start may have more to give. */
static kern_status enter_new(search *s, dyn_deflation *d, outcome *r, bool *found, bool *again,
                             kern_error *err)
{
    *found = false;
    *again =
        r->result.status == KERN_OK && !dyn_deflation_holds(d, r->states, r->period, s->o->merge);
    if (!*again) {
        return KERN_OK;
    }
    KERN_TRY(dyn_deflation_add(d, r->states, r->period, err));
    *found = !(s->o->prime && r->period < s->o->period);
    return !*found
               ? KERN_OK
               : dyn_cycles_enter(&s->cycles, r->states, r->period, r->returns, s->work, NULL, err);
}

/* One start: without deflation at first, so that nothing is missed that a plain search finds, and
 * then with all that is known deflated, until nothing new comes. */
static kern_status use_start(search *s, dyn_deflation *d, kern_error *err)
{
    outcome *r = &s->outcomes[0];
    lane *l = &s->lanes[0];
    bool any = false;
    bool again = true;
    kern_status first = KERN_OK;
    KERN_TRY(dyn_starts_next(s->starts, s->base, err));
    KERN_TRY(unroll(s, l, s->first, s->base, err));
    for (int i = 0; again && i < DYN_FIXED_POINTS_REUSES; i++) {
        bool found;
        memcpy(r->states, s->base, s->chain * sizeof *s->base);
        KERN_TRY(solve(s, l, r, i > 0 ? d : NULL, err));
        if (i == 0) {
            first = r->result.status;
            look_for_minimum(s, l, r);
        }
        KERN_TRY(enter_new(s, d, r, &found, &again, err));
        again = again || (i == 0 && first == KERN_OK);
        any = any || found;
    }
    if (any) {
        s->out->n_converged++;
        return KERN_OK;
    }
    return fail(s, r, first != KERN_OK ? first : KERN_NOT_FOUND, err);
}

static kern_status use_starts(search *s, dyn_deflation *d, kern_error *err)
{
    const dyn_fixed_points_options *o = s->o;
    KERN_TRY(equip(s, &s->lanes[0], s->map, err));
    for (s->first = 0; s->first < s->out->n_requested; s->first++) {
        KERN_TRY(use_start(s, d, err));
        if (o->progress != NULL && !o->progress(o->context, s->first + 1, s->out->n_requested)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped after start %zu", s->first + 1);
        }
    }
    return KERN_OK;
}

static kern_status run_deflated(search *s, kern_error *err)
{
    dyn_deflation *d = NULL;
    KERN_TRY(dyn_deflation_create(&d, s->map, err));
    const kern_status status = use_starts(s, d, err);
    strip(s, &s->lanes[0]);
    dyn_deflation_destroy(d);
    return status;
}

/* ---- The whole ---------------------------------------------------------------------------- */

static kern_status allocate(search *s, kern_error *err)
{
    const size_t workers = s->o->workers > 1 ? (size_t)s->o->workers : 1;
    s->batch = kern_size_max(workers, kern_size_min(BATCH_STARTS, BATCH_NUMBERS / s->chain));
    s->batch = s->o->deflate ? 1 : kern_size_min(s->batch, s->out->n_requested);
    s->outcomes = calloc(s->batch, sizeof *s->outcomes);
    s->numbers = calloc((s->batch + 2) * s->chain, sizeof *s->numbers);
    s->lanes = calloc(workers, sizeof *s->lanes);
    if (s->outcomes == NULL || s->numbers == NULL || s->lanes == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu chains of %zu states", s->batch,
                          s->o->period);
    }
    for (size_t i = 0; i < s->batch; i++) {
        s->outcomes[i].states = s->numbers + i * s->chain;
    }
    s->work = s->numbers + s->batch * s->chain;
    s->base = s->work + s->chain;
    return KERN_OK;
}

static kern_status run_search(search *s, kern_error *err)
{
    const dyn_starts_options starts = {.n_given = s->o->n_given,
                                       .given = s->o->given,
                                       .n_drawn = s->o->n_starts,
                                       .low = s->o->low,
                                       .high = s->o->high,
                                       .sobol = s->o->seeds == DYN_SEEDS_SOBOL,
                                       .seed = s->o->seed};
    KERN_TRY(dyn_starts_create(&s->starts, s->map, &starts, err));
    s->out->n_requested = s->o->n_starts + s->o->n_given;
    KERN_TRY(check_options(s, err));
    KERN_TRY(allocate(s, err));
    KERN_TRY(s->o->deflate ? run_deflated(s, err) : run_independent(s, err));
    dyn_cycles_sort(&s->cycles);
    return KERN_OK;
}

kern_status dyn_fixed_points_init(dyn_fixed_points *out, dyn_map *map,
                                  const dyn_fixed_points_options *options, kern_error *err)
{
    *out = (dyn_fixed_points){0};
    search s = {
        .map = map, .o = options, .out = out, .cycles = {.map = map, .merge = options->merge}};
    const kern_status status = run_search(&s, err);
    out->cycles = s.cycles.items;
    out->n_cycles = s.cycles.n;
    dyn_starts_destroy(s.starts);
    free(s.outcomes);
    free(s.numbers);
    free(s.lanes);
    if (status != KERN_OK) {
        dyn_fixed_points_fini(out);
    }
    return status;
}

void dyn_fixed_points_fini(dyn_fixed_points *out)
{
    dyn_cycles_release(out->cycles, out->n_cycles);
    dyn_slow_points_fini(&out->slow);
    *out = (dyn_fixed_points){0};
}
