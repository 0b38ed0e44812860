/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_multipliers.h"

#include "dyn/dyn_jacobian.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One computation. */
typedef struct multipliers_run {
    dyn_map *map;
    const dyn_multipliers_options *o;
    const double *states;
    size_t n; /* width of a block */
    kern_arena arena;
    double *jacobian; /* n × n, of one state */
    double *product;  /* n × n, along the cycle */
    double *power;    /* n × n */
    double *scratch;  /* n × n */
    double *singular; /* n */
    double *modulus;  /* n, the sorting key */
    double *tangents; /* of dyn_jacobian_work numbers */
} multipliers_run;

dyn_multipliers_options dyn_multipliers_options_default(void)
{
    return (dyn_multipliers_options){.period = 1, .horizon = 20, .block = DYN_MULTIPLIERS_ALL};
}

/* ---- Memory ------------------------------------------------------------------------------- */

static kern_status allocate_run(multipliers_run *run, kern_error *err)
{
    const size_t n = run->n;
    size_t square;
    size_t capacity;
    if (!kern_size_mul(n, n, &square) || square > SIZE_MAX / 64) {
        return kern_raise(err, KERN_OVERFLOW, "a Jacobian of %zu × %zu numbers is too large", n, n);
    }
    capacity = 4 * kern_arena_cost(square, sizeof(double)) +
               2 * kern_arena_cost(n, sizeof(double)) +
               kern_arena_cost(dyn_jacobian_work(run->map), sizeof(double));
    KERN_TRY(kern_arena_init(&run->arena, capacity, err));
    run->jacobian = kern_arena_alloc(&run->arena, square, sizeof(double));
    run->product = kern_arena_alloc(&run->arena, square, sizeof(double));
    run->power = kern_arena_alloc(&run->arena, square, sizeof(double));
    run->scratch = kern_arena_alloc(&run->arena, square, sizeof(double));
    run->singular = kern_arena_alloc(&run->arena, n, sizeof(double));
    run->modulus = kern_arena_alloc(&run->arena, n, sizeof(double));
    run->tangents =
        kern_arena_alloc(&run->arena, dyn_jacobian_work(run->map), sizeof *run->tangents);
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

/* ---- Jacobians along the cycle ------------------------------------------------------------ */

/* c = a b, n × n each. */
static void multiply(size_t n, const double *a, const double *b, double *c)
{
    const kern_gemm_f64 g = {
        .m = n, .n = n, .k = n, .alpha = 1.0, .a = a, .lda = n, .b = b, .ldb = n, .c = c, .ldc = n};
    kern_gemm_run_f64(&g, 1);
}

static void swap_arrays(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

/* `product` becomes the diagonal block along the cycle. */
static void form_product(multipliers_run *run, size_t block)
{
    const size_t size = run->map->size;
    dyn_jacobian_fill_block(run->map, run->states, block, run->product, run->tangents);
    for (size_t t = 1; t < run->o->period; t++) {
        dyn_jacobian_fill_block(run->map, run->states + t * size, block, run->jacobian,
                                run->tangents);
        multiply(run->n, run->jacobian, run->product, run->scratch);
        swap_arrays(&run->product, &run->scratch);
    }
}

/* out = J_A v by products with the whole Jacobian, `v` and `out` with n numbers. */
static void apply_block(multipliers_run *run, size_t block, const double *v, double *out)
{
    const size_t size = run->map->size;
    double *support = run->tangents + block * run->n;
    memcpy(out, v, run->n * sizeof *v);
    for (size_t t = 0; t < run->o->period; t++) {
        memset(run->tangents, 0, size * sizeof *run->tangents);
        memcpy(support, out, run->n * sizeof *out);
        run->map->kind->jvp(run->map, run->states + t * size, run->tangents, NULL, run->tangents);
        memcpy(out, support, run->n * sizeof *out);
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
static void sort_spectrum(multipliers_run *run, dyn_multipliers_block *block)
{
    const size_t n = run->n;
    double *key = run->modulus;
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

/* |J v − μ v|₂ for the multiplier whose vector begins in row j; `pair`: rows j and j + 1 are its
 * real and imaginary part. */
static double measure_residual(multipliers_run *run, const dyn_multipliers_block *block, size_t j,
                               bool pair)
{
    const size_t n = run->n;
    const double *a = block->vectors + j * n;
    const double *b = pair ? a + n : NULL;
    const double re = block->re[j];
    const double im = block->im[j];
    double sum = 0.0;
    apply_block(run, block->block, a, run->singular);
    for (size_t i = 0; i < n; i++) {
        const double gap = run->singular[i] - re * a[i] + (pair ? im * b[i] : 0.0);
        sum += gap * gap;
    }
    if (pair) {
        apply_block(run, block->block, b, run->singular);
        for (size_t i = 0; i < n; i++) {
            const double gap = run->singular[i] - re * b[i] - im * a[i];
            sum += gap * gap;
        }
    }
    return sqrt(sum);
}

static void measure_residuals(multipliers_run *run, dyn_multipliers_block *block)
{
    for (size_t j = 0; j < run->n; j++) {
        const bool pair = block->im[j] != 0.0 && j + 1 < run->n;
        block->residuals[j] = measure_residual(run, block, j, pair);
        if (pair) {
            block->residuals[j + 1] = block->residuals[j];
            j++;
        }
    }
}

static kern_status measure_growth(multipliers_run *run, dyn_multipliers_block *block,
                                  kern_error *err)
{
    const size_t n = run->n;
    const size_t bytes = n * n * sizeof *run->power;
    memcpy(run->power, run->product, bytes);
    for (size_t m = 1; m <= run->o->horizon; m++) {
        if (m > 1) {
            multiply(n, run->product, run->power, run->scratch);
            swap_arrays(&run->power, &run->scratch);
        }
        memcpy(run->scratch, run->power, bytes);
        const kern_status status =
            kern_lapack_singular_values(n, n, run->scratch, run->singular, err);
        if (status != KERN_OK && status != KERN_NAN) {
            return status;
        }
        const double norm = status == KERN_NAN ? (double)INFINITY : run->singular[0];
        if (m == 1 || norm > block->transient_growth) {
            block->transient_growth = norm;
            block->transient_step = m;
        }
        if (status == KERN_NAN) {
            return KERN_OK;
        }
    }
    return KERN_OK;
}

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

/* Fills a block. Entries that are not finite, and a QR iteration that fails, are outcomes. */
static kern_status compute_block(multipliers_run *run, dyn_multipliers_block *block,
                                 kern_error *err)
{
    const size_t n = run->n;
    kern_status status;
    form_product(run, block->block);
    memcpy(run->scratch, run->product, n * n * sizeof *run->scratch);
    if (block->vectors != NULL) {
        status = kern_lapack_eigen(n, run->scratch, block->re, block->im, block->vectors, err);
    } else {
        status = kern_lapack_eigenvalues(n, run->scratch, block->re, block->im, err);
    }
    if (status == KERN_NAN || status == KERN_NOT_CONVERGED) {
        block->status = status;
        forget_spectrum(block);
        return KERN_OK;
    }
    KERN_TRY(status);
    sort_spectrum(run, block);
    if (block->residuals != NULL) {
        measure_residuals(run, block);
    }
    return measure_growth(run, block, err);
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
    return KERN_OK;
}

static kern_status compute(multipliers_run *run, dyn_multipliers *out, kern_error *err)
{
    const dyn_multipliers_options *o = run->o;
    const bool all = o->block == DYN_MULTIPLIERS_ALL;
    const size_t count = all ? run->map->block_count : 1;
    KERN_TRY(allocate_run(run, err));
    out->blocks = calloc(count, sizeof *out->blocks);
    if (out->blocks == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu blocks", count);
    }
    out->n_blocks = count;
    out->spectral_radius = 0.0;
    for (size_t i = 0; i < count; i++) {
        dyn_multipliers_block *block = &out->blocks[i];
        KERN_TRY(init_block(block, all ? i : o->block, run->n, o->vectors, err));
        KERN_TRY(compute_block(run, block, err));
        out->status = out->status == KERN_OK ? block->status : out->status;
        out->spectral_radius = fmax(out->spectral_radius, block->spectral_radius);
        if (o->progress != NULL && !o->progress(o->context, i + 1, count)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped after block %zu", i);
        }
    }
    if (out->status != KERN_OK) {
        out->spectral_radius = (double)NAN;
    }
    out->stable = out->spectral_radius < 1.0;
    return KERN_OK;
}

kern_status dyn_multipliers_init(dyn_multipliers *out, dyn_map *map, const double *states,
                                 const dyn_multipliers_options *options, kern_error *err)
{
    *out = (dyn_multipliers){0};
    KERN_TRY(check_options(map, options, err));
    multipliers_run run = {.map = map, .o = options, .states = states, .n = map->block_width};
    out->period = options->period;
    const kern_status status = compute(&run, out, err);
    kern_arena_fini(&run.arena);
    if (status != KERN_OK) {
        dyn_multipliers_fini(out);
    }
    return status;
}
