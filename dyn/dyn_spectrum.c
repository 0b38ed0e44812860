/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_spectrum.h"

#include "dyn/dyn_multipliers.h"
#include "dyn/dyn_spectrum_operator.h"
#include "dyn/dyn_spectrum_pool.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_arpack.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOL_EXACT    1e-12
#define TOL_QUOTIENT 1e-8

/* What a Krylov space may grow to, in sizes that it began with. */
enum { GROWTH_MAX = 16 };

/* Restarts of an Arnoldi run, and the largest width, that dyn_spectrum_dense_width reckons with. */
enum { RESTARTS_EXPECTED = 10, DENSE_MAX = 1024, ENDS_MAX = 2 };

/* One computation. */
typedef struct spectrum_run {
    const dyn_spectrum_options *o;
    double tol;
    size_t size; /* rows of an operator */
    bool by_block;
    dyn_spectrum_operator op;
    kern_arena arena;
    kern_arpack *arpack;
    size_t space; /* of it */
    dyn_spectrum_pool pool;
    double *start; /* size */
} spectrum_run;

/* ---- Tables ------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    size_t n_ends;
    kern_arpack_end ends[ENDS_MAX];
} whichs[DYN_SPECTRUM_WHICH_COUNT] = {
    [DYN_SPECTRUM_MODULUS] = {"modulus", 1, {KERN_ARPACK_LARGEST_MODULUS}},
    [DYN_SPECTRUM_NEAR_PLUS_ONE] = {"near-plus-one", 1, {KERN_ARPACK_LARGEST_REAL}},
    [DYN_SPECTRUM_NEAR_MINUS_ONE] = {"near-minus-one", 1, {KERN_ARPACK_SMALLEST_REAL}},
    [DYN_SPECTRUM_BOTH_ENDS] = {"both-ends",
                                2,
                                {KERN_ARPACK_LARGEST_REAL, KERN_ARPACK_SMALLEST_REAL}},
};

static const char *const method_words[DYN_SPECTRUM_METHOD_COUNT] = {"auto", "dense", "arnoldi"};

const char *dyn_spectrum_which_word(dyn_spectrum_which which)
{
    return whichs[which].word;
}

const char *dyn_spectrum_method_word(dyn_spectrum_method method)
{
    return method_words[method];
}

dyn_spectrum_options dyn_spectrum_options_default(void)
{
    return (dyn_spectrum_options){.period = 1,
                                  .k = 6,
                                  .block = DYN_MULTIPLIERS_ALL,
                                  .merge = 1e-6,
                                  .max_restarts = 100,
                                  .max_runs = 8,
                                  .seed = 1};
}

size_t dyn_spectrum_dense_width(size_t k, dyn_spectrum_which which, size_t together)
{
    if (k >= DENSE_MAX) {
        return DENSE_MAX;
    }
    const size_t space = kern_arpack_space(SIZE_MAX, k);
    const size_t products = whichs[which].n_ends * 2 * (space + RESTARTS_EXPECTED * (space - k));
    size_t width;
    if (!kern_size_mul(products / 2, together, &width)) {
        return DENSE_MAX;
    }
    return kern_size_min(width, DENSE_MAX);
}

/* ---- Results ------------------------------------------------------------------------------ */

void dyn_spectrum_fini(dyn_spectrum *out)
{
    for (size_t i = 0; i < out->n_parts; i++) {
        free(out->parts[i].re);
        free(out->parts[i].im);
        free(out->parts[i].residuals);
        free(out->parts[i].confirmed);
        free(out->parts[i].vectors);
    }
    free(out->parts);
    *out = (dyn_spectrum){0};
}

/* An empty part, with room for k + 1 at each end. */
static kern_status init_part(const spectrum_run *run, size_t block, dyn_spectrum_part *part,
                             kern_error *err)
{
    const size_t n_ends = whichs[run->o->which].n_ends;
    const size_t room = n_ends * (run->o->k + 1);
    *part = (dyn_spectrum_part){.block = block,
                                .size = run->size,
                                .n_requested = kern_size_min(n_ends * run->o->k, run->size),
                                .scale = (double)NAN,
                                .re = calloc(room, sizeof(double)),
                                .im = calloc(room, sizeof(double)),
                                .residuals = calloc(room, sizeof(double)),
                                .confirmed = calloc(room, sizeof(bool))};
    if (run->o->vectors) {
        part->vectors = calloc(room, run->size * sizeof(double));
    }
    if (part->re == NULL || part->im == NULL || part->residuals == NULL ||
        part->confirmed == NULL || (run->o->vectors && part->vectors == NULL)) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu multipliers of %zu rows", room,
                          run->size);
    }
    return KERN_OK;
}

/* A multiplier on its way into a part. */
typedef struct spectrum_pair {
    double re, im, residual;
    bool confirmed, late;
    const double *vector; /* one row, or two when im > 0 */
} spectrum_pair;

/* Appends a real multiplier, or both of a pair. */
static void append_pair(dyn_spectrum_part *part, const spectrum_pair *pair)
{
    const size_t rows = pair->im != 0.0 ? 2 : 1;
    if (part->vectors != NULL) {
        memcpy(part->vectors + part->n * part->size, pair->vector,
               rows * part->size * sizeof *part->vectors);
    }
    for (size_t half = 0; half < rows; half++) {
        part->re[part->n] = pair->re;
        part->im[part->n] = half == 0 ? pair->im : -pair->im;
        part->residuals[part->n] = pair->residual;
        part->confirmed[part->n] = pair->confirmed;
        part->n_confirmed += pair->confirmed ? 1 : 0;
        part->n_late += pair->late ? 1 : 0;
        part->n++;
    }
}

/* Where the ends meet: the second one begins left of the first. */
static bool belongs_to_first_end(const dyn_spectrum_part *part, size_t n_first, double re,
                                 double distance)
{
    for (size_t j = 0; j < n_first; j++) {
        if (re >= part->re[j] - distance) {
            return true;
        }
    }
    return false;
}

/* ---- Dense -------------------------------------------------------------------------------- */

/* The k most wanted of a dense decomposition at end number `e`. */
static void take_end(const spectrum_run *run, const dyn_multipliers_block *dense, bool *used,
                     size_t e, dyn_spectrum_part *part)
{
    const kern_arpack_end end = whichs[run->o->which].ends[e];
    const size_t n_first = part->n;
    while (part->n - n_first < run->o->k) {
        size_t best = SIZE_MAX;
        double rank = -(double)INFINITY;
        for (size_t j = 0; j < dense->n; j++) {
            const double of_j = kern_arpack_rank(end, dense->re[j], dense->im[j]);
            if (!used[j] && dense->im[j] >= 0.0 && (best == SIZE_MAX || of_j > rank)) {
                best = j;
                rank = of_j;
            }
        }
        if (best == SIZE_MAX || belongs_to_first_end(part, n_first, dense->re[best], 0.0)) {
            return;
        }
        used[best] = true;
        const spectrum_pair pair = {.re = dense->re[best],
                                    .im = dense->im[best],
                                    .residual = dense->residuals[best],
                                    .confirmed = true,
                                    .vector = dense->vectors + best * dense->n};
        append_pair(part, &pair);
    }
}

/* All parts from one decomposition of the blocks, whose columns share products. */
static kern_status compute_dense(spectrum_run *run, dyn_spectrum *out, kern_error *err)
{
    dyn_multipliers_options o = dyn_multipliers_options_default();
    dyn_multipliers all;
    kern_status status = KERN_OK;
    o.period = run->o->period;
    o.block = run->o->block;
    o.horizon = 0;
    o.vectors = true;
    o.workers = run->o->workers;
    o.progress = run->o->progress;
    o.context = run->o->context;
    KERN_TRY(dyn_multipliers_init(&all, run->op.map, run->op.states, &o, err));
    for (size_t i = 0; i < all.n_blocks && status == KERN_OK; i++) {
        const dyn_multipliers_block *block = &all.blocks[i];
        dyn_spectrum_part *part = &out->parts[i];
        bool *used = calloc(run->size, sizeof *used);
        part->method = DYN_SPECTRUM_DENSE;
        part->status = block->status;
        part->products = 2 * run->size * o.period;
        if (used == NULL) {
            status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu marks", run->size);
        } else if (block->status == KERN_OK) {
            for (size_t e = 0; e < whichs[run->o->which].n_ends; e++) {
                take_end(run, block, used, e, part);
            }
        }
        free(used);
    }
    dyn_multipliers_fini(&all);
    return status;
}

/* ---- Arnoldi ------------------------------------------------------------------------------ */

/* The stream of random numbers of run `index`. */
static uint64_t stream_of(const spectrum_run *run, size_t index)
{
    const uint64_t stream = (uint64_t)run->op.block * run->o->max_runs + index;
    return kern_rng_seed(run->o->seed, "spectrum", stream);
}

static const double *make_start(spectrum_run *run, size_t index)
{
    const uint64_t key = stream_of(run, index);
    if (index == 0 && run->o->start != NULL) {
        return run->o->start;
    }
    for (size_t i = 0; i < run->size; i++) {
        run->start[i] = (double)(kern_rng_hash(key, i) >> 11) * 0x1p-52 - 1.0;
    }
    return run->start;
}

/* A workspace for Krylov spaces of `space` vectors, unless there is one. */
static kern_status set_space(spectrum_run *run, size_t space, kern_error *err)
{
    if (run->arpack != NULL && run->space == space) {
        return KERN_OK;
    }
    kern_arpack_destroy(run->arpack);
    run->space = space;
    return kern_arpack_create(&run->arpack, run->size, run->o->k, space, err);
}

static size_t first_space(const spectrum_run *run)
{
    return run->o->space > 0 ? run->o->space : kern_arpack_space(run->size, run->o->k);
}

/* Doubles a space that was too small for an operator far from normal, where that is left to us and
 * there is room. */
static kern_status grow_space(spectrum_run *run, bool *grown, kern_error *err)
{
    const size_t most = kern_size_min(run->size, GROWTH_MAX * first_space(run));
    *grown = run->o->space == 0 && run->space < most;
    return *grown ? set_space(run, kern_size_min(2 * run->space, most), err) : KERN_OK;
}

/* Runs at one end until one brings nothing new. A product that is not finite, and a Krylov space
 * that cannot be built, are outcomes of the part. */
static kern_status gather_end(spectrum_run *run, kern_arpack_end end, dyn_spectrum_part *part,
                              kern_error *err)
{
    bool confirmed = false;
    dyn_spectrum_pool_clear(&run->pool);
    KERN_TRY(set_space(run, first_space(run), err));
    for (size_t index = 0; index < run->o->max_runs; index++) {
        kern_arpack_result found;
        const kern_arpack_problem problem = {.apply = dyn_spectrum_operator_apply(run->o->scope),
                                             .context = &run->op,
                                             .end = end,
                                             .start = make_start(run, index),
                                             .tol = run->tol,
                                             .max_restarts = run->o->max_restarts,
                                             .seed = stream_of(run, index)};
        const kern_status status = kern_arpack_run(run->arpack, &problem, &found, err);
        part->runs++;
        part->restarts += found.restarts;
        part->products += found.products * run->o->period;
        if (status == KERN_NAN || status == KERN_NOT_CONVERGED) {
            part->status = status;
            return KERN_OK;
        }
        KERN_TRY(status);
        const bool fresh = dyn_spectrum_pool_absorb(&run->pool, &found, end, index);
        const size_t size = dyn_spectrum_pool_size(&run->pool, &confirmed);
        bool grown = false;
        if (found.n_converged < run->o->k) {
            KERN_TRY(grow_space(run, &grown, err));
        }
        if (index > 0 && !grown && (!fresh || (confirmed && size >= run->o->k))) {
            break;
        }
    }
    const bool enough = dyn_spectrum_pool_size(&run->pool, &confirmed) >= run->o->k;
    if (!enough || !confirmed) {
        part->status = KERN_NOT_CONVERGED;
    }
    return KERN_OK;
}

static kern_status compute_part(spectrum_run *run, dyn_spectrum_part *part, kern_error *err)
{
    const dyn_spectrum_pool *pool = &run->pool;
    part->method = DYN_SPECTRUM_ARNOLDI;
    for (size_t e = 0; e < whichs[run->o->which].n_ends; e++) {
        const size_t n_first = part->n;
        KERN_TRY(gather_end(run, whichs[run->o->which].ends[e], part, err));
        part->scale = fmax(part->scale, pool->scale);
        for (size_t i = 0; i < pool->count; i++) {
            const dyn_pool_entry *entry = &pool->entries[i];
            if (belongs_to_first_end(part, n_first, entry->re, pool->merge * pool->scale)) {
                continue;
            }
            const spectrum_pair pair = {.re = entry->re,
                                        .im = entry->im,
                                        .residual = entry->residual,
                                        .confirmed = entry->confirmed,
                                        .late = entry->first_run > 0,
                                        .vector = dyn_spectrum_pool_vector(pool, entry)};
            append_pair(part, &pair);
        }
        if (part->status == KERN_NAN) {
            break;
        }
    }
    return KERN_OK;
}

/* ---- The whole ---------------------------------------------------------------------------- */

static kern_status check_numbers(const spectrum_run *run, kern_error *err)
{
    const dyn_spectrum_options *o = run->o;
    if (o->period < 1 || o->max_runs < 2 || o->max_restarts < 1) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "multipliers take a cycle of 1 state or more, 2 runs or more and 1 "
                          "restart or more");
    }
    if (!(run->tol > 0.0) || !(o->merge > run->tol) || !(o->merge < 1.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the tolerance of multipliers is %g and their merging distance %g, "
                          "accepted is 0 < tolerance < distance < 1",
                          run->tol, o->merge);
    }
    if (run->by_block && o->block != DYN_MULTIPLIERS_ALL && o->block >= run->op.map->block_count) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "block %zu is not one of the map's %zu",
                          o->block, run->op.map->block_count);
    }
    return KERN_OK;
}

/* Settles the method for operators of this size. */
static kern_status choose_method(const spectrum_run *run, dyn_spectrum_method *method,
                                 kern_error *err)
{
    const dyn_spectrum_options *o = run->o;
    if (o->k < 1 || o->k > run->size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu multipliers were asked for, accepted is 1 to %zu", o->k, run->size);
    }
    if (*method == DYN_SPECTRUM_AUTO) {
        const bool alone = run->op.map->kind->jvp_blocks == NULL || o->block != DYN_MULTIPLIERS_ALL;
        const size_t together = alone ? 1 : run->op.map->block_count;
        const bool narrow = run->size <= dyn_spectrum_dense_width(o->k, o->which, together);
        *method = run->by_block && (narrow || o->k + 2 > run->size) ? DYN_SPECTRUM_DENSE
                                                                    : DYN_SPECTRUM_ARNOLDI;
    }
    if (*method == DYN_SPECTRUM_DENSE && !run->by_block) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a dense decomposition takes one block at a time, scope %s accepts %s",
                          dyn_spectrum_scope_word(o->scope), method_words[DYN_SPECTRUM_ARNOLDI]);
    }
    if (*method == DYN_SPECTRUM_ARNOLDI && o->k + 2 > run->size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu of %zu multipliers were asked for, the Arnoldi method accepts all "
                          "but two at most; a dense decomposition gives all",
                          o->k, run->size);
    }
    return KERN_OK;
}

static kern_status allocate_arnoldi(spectrum_run *run, kern_error *err)
{
    const size_t size = run->size;
    const size_t pool = dyn_spectrum_pool_cost(size, run->o->k);
    size_t capacity = kern_arena_cost(size, sizeof(double));
    if (pool == SIZE_MAX ||
        !kern_size_add(capacity, 2 * kern_arena_cost(run->op.map->size, sizeof(double)),
                       &capacity) ||
        !kern_size_add(capacity, pool, &capacity)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu multipliers of %zu rows are too many", run->o->k,
                          size);
    }
    KERN_TRY(set_space(run, first_space(run), err));
    KERN_TRY(kern_arena_init(&run->arena, capacity, err));
    run->op.tangent = kern_arena_alloc(&run->arena, run->op.map->size, sizeof(double));
    run->op.work = kern_arena_alloc(&run->arena, run->op.map->size, sizeof(double));
    run->start = kern_arena_alloc(&run->arena, size, sizeof(double));
    dyn_spectrum_pool_init(&run->pool, &run->arena, size, run->o->k, run->tol, run->o->merge);
    return KERN_OK;
}

static kern_status compute_arnoldi(spectrum_run *run, dyn_spectrum *out, kern_error *err)
{
    KERN_TRY(allocate_arnoldi(run, err));
    for (size_t i = 0; i < out->n_parts; i++) {
        run->op.block = out->parts[i].block;
        KERN_TRY(compute_part(run, &out->parts[i], err));
        run->op.done = i + 1;
        if (!dyn_spectrum_operator_go_on(&run->op)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped after %zu of %zu blocks",
                              run->op.done, run->op.total);
        }
    }
    return KERN_OK;
}

static kern_status init_parts(spectrum_run *run, dyn_spectrum *out, kern_error *err)
{
    const dyn_spectrum_options *o = run->o;
    const bool all = run->by_block && o->block == DYN_MULTIPLIERS_ALL;
    run->op.total = all ? run->op.map->block_count : 1;
    out->parts = calloc(run->op.total, sizeof *out->parts);
    if (out->parts == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu spectra", run->op.total);
    }
    out->n_parts = run->op.total;
    for (size_t i = 0; i < run->op.total; i++) {
        KERN_TRY(init_part(run, all ? i : (run->by_block ? o->block : 0), &out->parts[i], err));
    }
    return KERN_OK;
}

static kern_status compute(spectrum_run *run, dyn_spectrum *out, kern_error *err)
{
    dyn_spectrum_method method = run->o->method;
    KERN_TRY(check_numbers(run, err));
    KERN_TRY(choose_method(run, &method, err));
    KERN_TRY(init_parts(run, out, err));
    KERN_TRY(method == DYN_SPECTRUM_DENSE ? compute_dense(run, out, err)
                                          : compute_arnoldi(run, out, err));
    for (size_t i = 0; i < out->n_parts; i++) {
        out->status = out->status == KERN_OK ? out->parts[i].status : out->status;
    }
    return KERN_OK;
}

kern_status dyn_spectrum_init(dyn_spectrum *out, dyn_map *map, const double *states,
                              const dyn_spectrum_options *options, kern_error *err)
{
    const double least = map->approximate_jvp ? TOL_QUOTIENT : TOL_EXACT;
    spectrum_run run = {.o = options,
                        .tol = options->tol == 0.0 ? least : options->tol,
                        .size = dyn_spectrum_operator_size(map, options->scope),
                        .by_block = dyn_spectrum_operator_by_block(options->scope),
                        .op = {.map = map,
                               .states = states,
                               .period = options->period,
                               .progress = options->progress,
                               .context = options->context}};
    *out = (dyn_spectrum){.period = options->period};
    const kern_status status = compute(&run, out, err);
    kern_arpack_destroy(run.arpack);
    kern_arena_fini(&run.arena);
    if (status != KERN_OK) {
        dyn_spectrum_fini(out);
    }
    return status;
}
