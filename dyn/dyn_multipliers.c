/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_multipliers.h"

#include "dyn/dyn_scan.h"
#include "dyn/dyn_transient_growth.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Workspace of one worker. */
typedef struct multipliers_lane {
    double *scratch; /* n × n */
    double *modulus; /* n, the sorting key */
    double *growth;  /* of dyn_transient_growth_work numbers */
} multipliers_lane;

/* One computation. */
typedef struct multipliers_run {
    dyn_map *map;
    const dyn_multipliers_options *o;
    const double *states;
    size_t n; /* width of a block */
    dyn_multipliers *out;
    kern_arena arena;
    double *products; /* n × n for each block of `out`: its Jacobian along the cycle, and later,
                       * when residuals are wanted, row j its product with vector j */
    double *tangents; /* DYN_MAP_GROUP states */
    double *work;     /* one state */
    double *factors;  /* U and C of a block, where it is taken by its factors */
    multipliers_lane *lanes; /* one per worker */
    dyn_scan_watch watch;
} multipliers_run;

/* One worker of it, as the context of a transient growth. */
typedef struct multipliers_worker {
    multipliers_run *run;
    int index;
} multipliers_worker;

dyn_multipliers_options dyn_multipliers_options_default(void)
{
    return (dyn_multipliers_options){.period = 1, .horizon = 20, .block = DYN_MULTIPLIERS_ALL};
}

/* ---- Memory ------------------------------------------------------------------------------- */

static int count_workers(const multipliers_run *run)
{
    const dyn_scan_options scan = {.items = run->out->n_blocks, .workers = run->o->workers};
    return dyn_scan_workers(&scan);
}

static kern_status allocate_run(multipliers_run *run, kern_error *err)
{
    const size_t n = run->n;
    const size_t workers = (size_t)count_workers(run);
    size_t square;
    size_t products;
    size_t scratch;
    if (!kern_size_mul(n, n, &square) || !kern_size_mul(square, run->out->n_blocks, &products) ||
        !kern_size_mul(square, workers, &scratch) || products > SIZE_MAX / 64 ||
        scratch > SIZE_MAX / 256) {
        return kern_raise(err, KERN_OVERFLOW, "%zu Jacobians of %zu × %zu numbers are too large",
                          run->out->n_blocks, n, n);
    }
    const size_t growth = dyn_transient_growth_work(n);
    const size_t factors = run->o->factored ? 2 * n * run->map->block_rank : 0;
    const size_t capacity =
        kern_arena_cost(factors, sizeof(double)) + kern_arena_cost(products, sizeof(double)) +
        kern_arena_cost((DYN_MAP_GROUP + 1) * run->map->size, sizeof(double)) +
        kern_arena_cost(workers, sizeof *run->lanes) +
        workers * (kern_arena_cost(square, sizeof(double)) + kern_arena_cost(n, sizeof(double)) +
                   kern_arena_cost(growth, sizeof(double)));
    KERN_TRY(kern_arena_init(&run->arena, capacity, err));
    run->products = kern_arena_alloc(&run->arena, products, sizeof(double));
    run->tangents =
        kern_arena_alloc(&run->arena, (DYN_MAP_GROUP + 1) * run->map->size, sizeof(double));
    run->work = run->tangents + DYN_MAP_GROUP * run->map->size;
    run->factors = kern_arena_alloc(&run->arena, factors, sizeof(double));
    run->lanes = kern_arena_alloc(&run->arena, workers, sizeof *run->lanes);
    for (size_t i = 0; i < workers; i++) {
        multipliers_lane *lane = &run->lanes[i];
        lane->scratch = kern_arena_alloc(&run->arena, square, sizeof(double));
        lane->modulus = kern_arena_alloc(&run->arena, n, sizeof(double));
        lane->growth = kern_arena_alloc(&run->arena, growth, sizeof(double));
    }
    return KERN_OK;
}

static double *allocate_nan(size_t count)
{
    double *values = calloc(count, sizeof *values);
    for (size_t i = 0; values != NULL && i < count; i++) {
        values[i] = (double)NAN;
    }
    return values;
}

/* Every number of a block is NaN until it is known. */
static kern_status init_block(dyn_multipliers_block *block, size_t index, size_t n, bool vectors,
                              kern_error *err)
{
    *block = (dyn_multipliers_block){.block = index,
                                     .n = n,
                                     .re = allocate_nan(n),
                                     .im = allocate_nan(n),
                                     .spectral_radius = (double)NAN,
                                     .transient_growth = (double)NAN};
    if (vectors) {
        block->vectors = allocate_nan(n * n);
        block->residuals = allocate_nan(n);
    }
    if (block->re == NULL || block->im == NULL ||
        (vectors && (block->vectors == NULL || block->residuals == NULL))) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu multipliers", n);
    }
    return KERN_OK;
}

void dyn_multipliers_fini(dyn_multipliers *out)
{
    for (size_t i = 0; i < out->n_blocks; i++) {
        free(out->blocks[i].re);
        free(out->blocks[i].im);
        free(out->blocks[i].vectors);
        free(out->blocks[i].residuals);
    }
    free(out->blocks);
    *out = (dyn_multipliers){0};
}

/* ---- Products by the Jacobian along the cycle ---------------------------------------------- */

static double *product_of(const multipliers_run *run, size_t i)
{
    return run->products + i * run->n * run->n;
}

/* Part of tangent t that lies in block i of the result. */
static double *support_of(const multipliers_run *run, size_t t, size_t i)
{
    return run->tangents + t * run->map->size + run->out->blocks[i].block * run->n;
}

/* The first `count` tangents become their images along the cycle, each block on its own. */
static void push_tangents(multipliers_run *run, size_t count)
{
    for (size_t t = 0; t < run->o->period; t++) {
        dyn_map_jvp_blocks(run->map, run->states + t * run->map->size, count, run->tangents, NULL,
                           run->tangents, run->work);
    }
}

static void clear_tangents(multipliers_run *run, size_t count)
{
    memset(run->tangents, 0, count * run->map->size * sizeof *run->tangents);
}

/* The diagonal blocks along the cycle, column by column: a unit vector in every block at once. */
static kern_status form_products(multipliers_run *run, kern_error *err)
{
    const size_t n = run->n;
    for (size_t first = 0; first < n; first += DYN_MAP_GROUP) {
        const size_t count = kern_size_min(DYN_MAP_GROUP, n - first);
        if (!dyn_scan_goes_on(&run->watch, 0)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped at column %zu of %zu", first, n);
        }
        clear_tangents(run, count);
        for (size_t t = 0; t < count; t++) {
            for (size_t i = 0; i < run->out->n_blocks; i++) {
                support_of(run, t, i)[first + t] = 1.0;
            }
        }
        push_tangents(run, count);
        for (size_t i = 0; i < run->out->n_blocks; i++) {
            double *product = product_of(run, i);
            for (size_t row = 0; row < n; row++) {
                for (size_t t = 0; t < count; t++) {
                    product[row * n + first + t] = support_of(run, t, i)[row];
                }
            }
        }
    }
    return KERN_OK;
}

/* Order of the matrix that a block's multipliers come from. */
static size_t core_order(const multipliers_run *run)
{
    return run->o->factored ? kern_size_min(run->n, run->map->block_rank) : run->n;
}

/* I + C U of every block, or I + U C where that is no larger, in place of its product. */
static kern_status form_cores(multipliers_run *run, kern_error *err)
{
    const size_t n = run->n;
    const size_t r = run->map->block_rank;
    const size_t m = core_order(run);
    double *u = run->factors;
    double *c = u + n * r;
    for (size_t i = 0; i < run->out->n_blocks; i++) {
        double *core = product_of(run, i);
        if (!dyn_scan_goes_on(&run->watch, 0)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped at block %zu of %zu", i,
                              run->out->n_blocks);
        }
        run->map->kind->block_factors(run->map, run->states, run->out->blocks[i].block, u, c);
        memset(core, 0, m * m * sizeof *core);
        for (size_t k = 0; k < m; k++) {
            core[k * m + k] = 1.0;
        }
        const bool inner = r < n;
        const kern_gemm_f64 product = {.m = m,
                                       .n = m,
                                       .k = inner ? n : r,
                                       .alpha = 1.0,
                                       .beta = 1.0,
                                       .a = inner ? c : u,
                                       .lda = inner ? n : r,
                                       .b = inner ? u : c,
                                       .ldb = inner ? r : n,
                                       .c = core,
                                       .ldc = m};
        kern_gemm_run_f64(&product, 1);
    }
    return KERN_OK;
}

/* Images of all vectors in place of the products: row j becomes J times row j of `vectors`. */
static void push_vectors(multipliers_run *run)
{
    const size_t n = run->n;
    for (size_t first = 0; first < n; first += DYN_MAP_GROUP) {
        const size_t count = kern_size_min(DYN_MAP_GROUP, n - first);
        clear_tangents(run, count);
        for (size_t t = 0; t < count; t++) {
            for (size_t i = 0; i < run->out->n_blocks; i++) {
                memcpy(support_of(run, t, i), run->out->blocks[i].vectors + (first + t) * n,
                       n * sizeof(double));
            }
        }
        push_tangents(run, count);
        for (size_t t = 0; t < count; t++) {
            for (size_t i = 0; i < run->out->n_blocks; i++) {
                memcpy(product_of(run, i) + (first + t) * n, support_of(run, t, i),
                       n * sizeof(double));
            }
        }
    }
}

/* ---- Spectra ------------------------------------------------------------------------------ */

static void swap_numbers(double *a, double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Insertion keeps equal keys in order, so the two of a complex pair stay together. */
static void sort_spectrum(multipliers_lane *lane, dyn_multipliers_block *block)
{
    const size_t n = block->n;
    double *key = lane->modulus;
    for (size_t j = 0; j < n; j++) {
        key[j] = hypot(block->re[j], block->im[j]);
        for (size_t i = j; i > 0; i--) {
            const bool tied = key[i] == key[i - 1];
            if (!(key[i] > key[i - 1] || (tied && block->re[i] > block->re[i - 1]))) {
                break;
            }
            swap_numbers(&key[i], &key[i - 1], 1);
            swap_numbers(&block->re[i], &block->re[i - 1], 1);
            swap_numbers(&block->im[i], &block->im[i - 1], 1);
            if (block->vectors != NULL) {
                swap_numbers(block->vectors + i * n, block->vectors + (i - 1) * n, n);
            }
        }
    }
    block->spectral_radius = n > 0 ? key[0] : 0.0;
}

/* |J v − μ v|₂ for the multiplier whose vector begins in row j, from its image and, for a complex
 * pair, with rows j and j + 1 as its real and imaginary part. */
static double measure_residual(const dyn_multipliers_block *block, const double *images, size_t j,
                               bool pair)
{
    const size_t n = block->n;
    const double *a = block->vectors + j * n;
    const double *b = pair ? a + n : NULL;
    const double *image = images + j * n;
    const double re = block->re[j];
    const double im = block->im[j];
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double gap = image[i] - re * a[i] + (pair ? im * b[i] : 0.0);
        sum += gap * gap;
    }
    for (size_t i = 0; pair && i < n; i++) {
        const double gap = image[n + i] - re * b[i] - im * a[i];
        sum += gap * gap;
    }
    return sqrt(sum);
}

static void measure_residuals(multipliers_run *run)
{
    push_vectors(run);
    for (size_t i = 0; i < run->out->n_blocks; i++) {
        dyn_multipliers_block *block = &run->out->blocks[i];
        for (size_t j = 0; j < block->n; j++) {
            const bool pair = block->im[j] != 0.0 && j + 1 < block->n;
            block->residuals[j] = measure_residual(block, product_of(run, i), j, pair);
            if (pair) {
                block->residuals[j + 1] = block->residuals[j];
                j++;
            }
        }
    }
}

/* ---- One block ----------------------------------------------------------------------------- */

/* A failed iteration leaves some eigenvalues behind, which nothing vouches for. */
static void forget_spectrum(dyn_multipliers_block *block)
{
    for (size_t i = 0; i < block->n; i++) {
        block->re[i] = (double)NAN;
        block->im[i] = (double)NAN;
    }
    for (size_t i = 0; block->vectors != NULL && i < block->n * block->n; i++) {
        block->vectors[i] = (double)NAN;
    }
}

static bool goes_on(void *context)
{
    const multipliers_worker *w = context;
    return dyn_scan_goes_on(&w->run->watch, w->index);
}

/* Fills block `item` of the result. Entries that are not finite, and a QR iteration that fails, are
 * outcomes. */
static kern_status compute_block(void *context, dyn_map *map, int worker, size_t item,
                                 kern_error *err)
{
    multipliers_run *run = context;
    multipliers_lane *lane = &run->lanes[worker];
    dyn_multipliers_block *block = &run->out->blocks[item];
    const double *product = product_of(run, item);
    const size_t n = core_order(run);
    kern_status status;
    (void)map;
    memcpy(lane->scratch, product, n * n * sizeof *product);
    if (block->vectors != NULL) {
        status = kern_lapack_eigen(n, lane->scratch, block->re, block->im, block->vectors, err);
    } else {
        status = kern_lapack_eigenvalues(n, lane->scratch, block->re, block->im, err);
    }
    for (size_t i = n; i < block->n; i++) {
        block->re[i] = 1.0;
        block->im[i] = 0.0;
    }
    if (status == KERN_NAN || status == KERN_NOT_CONVERGED) {
        block->status = status;
        forget_spectrum(block);
        return KERN_OK;
    }
    KERN_TRY(status);
    sort_spectrum(lane, block);
    if (run->o->factored) {
        return KERN_OK;
    }
    multipliers_worker self = {run, worker};
    const dyn_transient_growth_watch watch = {goes_on, &self};
    return dyn_transient_growth_find(product, n, run->o->horizon, lane->growth, &watch,
                                     &block->transient_growth, &block->transient_step, err);
}

/* ---- The whole ---------------------------------------------------------------------------- */

static kern_status check_options(const dyn_map *map, const dyn_multipliers_options *o,
                                 kern_error *err)
{
    if (o->period < 1) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a cycle of 0 states has no multipliers, accepted is 1 or more");
    }
    if (o->block != DYN_MULTIPLIERS_ALL && o->block >= map->block_count) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "block %zu is not one of the map's %zu",
                          o->block, map->block_count);
    }
    if (o->factored && (map->kind->block_factors == NULL || o->vectors || o->period > 1)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the multipliers of map %s are not to be had from factors; accepted are "
                          "maps with a bottleneck at one state, without eigenvectors",
                          map->kind->name);
    }
    return KERN_OK;
}

static kern_status init_blocks(multipliers_run *run, kern_error *err)
{
    const bool all = run->o->block == DYN_MULTIPLIERS_ALL;
    const size_t count = all ? run->map->block_count : 1;
    run->out->blocks = calloc(count, sizeof *run->out->blocks);
    if (run->out->blocks == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu blocks", count);
    }
    run->out->n_blocks = count;
    for (size_t i = 0; i < count; i++) {
        KERN_TRY(init_block(&run->out->blocks[i], all ? i : run->o->block, run->n, run->o->vectors,
                            err));
        run->out->blocks[i].n_zeros = run->map->block_zeros;
    }
    return KERN_OK;
}

static void summarise(dyn_multipliers *out)
{
    out->spectral_radius = 0.0;
    for (size_t i = 0; i < out->n_blocks; i++) {
        out->status = out->status == KERN_OK ? out->blocks[i].status : out->status;
        out->spectral_radius = fmax(out->spectral_radius, out->blocks[i].spectral_radius);
    }
    if (out->status != KERN_OK) {
        out->spectral_radius = (double)NAN;
    }
    out->stable = out->spectral_radius < 1.0;
}

/* The map is used by this thread alone; only the decompositions are shared out. */
static kern_status compute(multipliers_run *run, kern_error *err)
{
    const dyn_multipliers_options *o = run->o;
    KERN_TRY(init_blocks(run, err));
    KERN_TRY(allocate_run(run, err));
    run->watch.total = run->out->n_blocks;
    KERN_TRY(o->factored ? form_cores(run, err) : form_products(run, err));
    const dyn_scan_options scan = {.items = run->out->n_blocks,
                                   .workers = o->workers,
                                   .progress = dyn_scan_report,
                                   .context = &run->watch};
    KERN_TRY(dyn_scan_run(NULL, &scan, compute_block, run, err));
    if (o->vectors) {
        measure_residuals(run);
    }
    summarise(run->out);
    return KERN_OK;
}

kern_status dyn_multipliers_init(dyn_multipliers *out, dyn_map *map, const double *states,
                                 const dyn_multipliers_options *options, kern_error *err)
{
    *out = (dyn_multipliers){0};
    KERN_TRY(check_options(map, options, err));
    multipliers_run run = {
        .map = map, .o = options, .states = states, .n = map->block_width, .out = out};
    out->period = options->period;
    run.watch.progress = options->progress;
    run.watch.context = options->context;
    const kern_status status = compute(&run, err);
    kern_arena_fini(&run.arena);
    if (status != KERN_OK) {
        dyn_multipliers_fini(out);
    }
    return status;
}
