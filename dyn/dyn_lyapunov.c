/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_lyapunov.h"

#include "dyn/dyn_frame.h"
#include "dyn/dyn_orbit.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where ln|det| comes from. */
typedef enum det_source { DET_NONE, DET_MAP, DET_LU } det_source;

/* Sums of all exponents below this part of the sum of their magnitudes are zero to rounding. */
#define ZERO_SUM 1e-9

/* One computation. */
typedef struct lyapunov_run {
    dyn_map *map;
    dyn_frame frame; /* k × n, orthonormal rows */
    const dyn_lyapunov_options *o;
    dyn_lyapunov *out;
    size_t n; /* width of the frame */
    det_source det;
    size_t done; /* steps */
    kern_arena arena;
    double *x;      /* state */
    double *next;   /* its image */
    double *r;      /* k × k */
    double *qr;     /* workspace */
    double *lu;     /* n × n, with DET_LU */
    double *mean;   /* k, sums over the steps and later a bootstrap mean */
    double *moment; /* k */
    int *pivots;    /* n, with DET_LU */
    double log_abs_det;
} lyapunov_run;

dyn_lyapunov_options dyn_lyapunov_options_default(void)
{
    return (dyn_lyapunov_options){.k = 1,
                                  .steps = 10000,
                                  .ttr = 1000,
                                  .frame_ttr = 200,
                                  .resamples = 200,
                                  .block = DYN_LYAPUNOV_WHOLE,
                                  .bound = DYN_DIVERGED,
                                  .seed = 1};
}

/* ---- Preparation -------------------------------------------------------------------------- */

static kern_status check_options(const dyn_map *map, const dyn_lyapunov_options *o, kern_error *err)
{
    const bool whole = o->block == DYN_LYAPUNOV_WHOLE;
    const size_t width = whole ? map->size : map->block_width;
    if (!whole && o->block >= map->block_count) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "block %zu is not one of the map's %zu",
                          o->block, map->block_count);
    }
    if (o->k < 1 || o->k > width) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu exponents were asked for, accepted is 1 to %zu, the number of %s",
                          o->k, width, whole ? "coordinates" : "coordinates of a block");
    }
    if (o->steps < 1) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "0 steps give no mean, accepted is 1 or more");
    }
    if (o->window > o->steps) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a window of %zu steps is longer than the %zu steps of the mean",
                          o->window, o->steps);
    }
    if (!(o->bound > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the bound of the orbit is %g, accepted is more than 0", o->bound);
    }
    return KERN_OK;
}

static size_t choose_window(const dyn_lyapunov_options *o)
{
    return o->window > 0 ? o->window : (size_t)sqrt((double)o->steps);
}

/* `count` numbers, each NaN; NULL when memory is refused. */
static double *allocate_nan(size_t rows, size_t columns)
{
    size_t count;
    if (!kern_size_mul(rows, columns, &count) || count > SIZE_MAX / sizeof(double)) {
        return NULL;
    }
    double *values = malloc((count > 0 ? count : 1) * sizeof *values);
    for (size_t i = 0; values != NULL && i < count; i++) {
        values[i] = (double)NAN;
    }
    return values;
}

static kern_status init_result(dyn_lyapunov *out, const dyn_lyapunov_options *o, kern_error *err)
{
    const size_t window = choose_window(o);
    *out = (dyn_lyapunov){.k = o->k,
                          .steps = o->steps,
                          .ttr = o->ttr,
                          .frame_ttr = o->frame_ttr,
                          .window = window,
                          .n_windows = o->steps / window,
                          .mean_log_abs_det = (double)NAN,
                          .kaplan_yorke_status = KERN_NOT_FOUND,
                          .kaplan_yorke = (double)NAN,
                          .kaplan_yorke_low = (double)NAN,
                          .kaplan_yorke_high = (double)NAN};
    out->exponents = allocate_nan(1, o->k);
    out->standard_errors = allocate_nan(1, o->k);
    out->series = allocate_nan(out->n_windows, o->k);
    if (out->exponents == NULL || out->standard_errors == NULL || out->series == NULL) {
        dyn_lyapunov_fini(out);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu windows of %zu exponents",
                          o->steps / window, o->k);
    }
    return KERN_OK;
}

void dyn_lyapunov_fini(dyn_lyapunov *out)
{
    free(out->exponents);
    free(out->standard_errors);
    free(out->series);
    *out = (dyn_lyapunov){0};
}

/* An array of the run: where its address goes, and how many numbers it holds. */
typedef struct run_array {
    double **at;
    size_t rows, columns;
} run_array;

static kern_status allocate_run(lyapunov_run *run, kern_error *err)
{
    const size_t size = run->map->size;
    const size_t k = run->o->k;
    const size_t lu = run->det == DET_LU ? run->n : 0;
    const run_array arrays[] = {
        {&run->x, 1, size},
        {&run->next, 1, size},
        {&run->r, k, k},
        {&run->lu, lu, lu},
        {&run->mean, 1, k},
        {&run->moment, 1, k},
        {&run->qr, 1, kern_lapack_orthonormalise_work(run->n, k)},
    };
    const size_t n_arrays = sizeof arrays / sizeof arrays[0];
    size_t capacity = kern_arena_cost(lu, sizeof *run->pivots);
    bool fits = true;
    for (size_t i = 0; i < n_arrays; i++) {
        size_t count = 0;
        fits = fits && kern_size_mul(arrays[i].rows, arrays[i].columns, &count);
        fits = fits && kern_size_add(capacity, kern_arena_cost(count, sizeof(double)), &capacity);
    }
    if (!fits) {
        return kern_raise(err, KERN_OVERFLOW, "a frame of %zu vectors of %zu numbers is too large",
                          k, run->n);
    }
    KERN_TRY(kern_arena_init(&run->arena, capacity, err));
    for (size_t i = 0; i < n_arrays; i++) {
        *arrays[i].at =
            kern_arena_calloc(&run->arena, arrays[i].rows * arrays[i].columns, sizeof(double));
    }
    run->pivots = kern_arena_alloc(&run->arena, lu, sizeof *run->pivots);
    return KERN_OK;
}

/* ---- Stepping ----------------------------------------------------------------------------- */

/* Marks the orbit as lost. */
static kern_status lose(lyapunov_run *run, kern_status why)
{
    run->out->status = why;
    run->out->failed_step = run->done;
    return why;
}

static kern_status report(const lyapunov_run *run, kern_error *err)
{
    const dyn_lyapunov_options *o = run->o;
    if (o->progress != NULL &&
        !o->progress(o->context, run->done, o->ttr + o->frame_ttr + o->steps)) {
        return kern_raise(err, KERN_INTERRUPTED, "stopped after step %zu", run->done);
    }
    return KERN_OK;
}

/* ln|det| of the step that has just been made, before the frame is orthonormal
 * again: det(F′ Q) = ± det F′. */
static kern_status measure_det(lyapunov_run *run, double *out)
{
    *out = 0.0;
    if (run->det == DET_MAP) {
        *out = run->map->kind->log_abs_det(run->map, run->x);
    } else if (run->det == DET_LU) {
        memcpy(run->lu, run->frame.rows, run->n * run->n * sizeof *run->lu);
        return kern_lapack_lu(run->n, run->lu, run->pivots, out, NULL);
    }
    return KERN_OK;
}

/* Accepts `next` as the state unless it is lost. */
static kern_status settle_state(lyapunov_run *run)
{
    run->done++;
    const kern_status status = dyn_state_accept(run->map, &run->x, &run->next, run->o->bound);
    return status == KERN_OK ? KERN_OK : lose(run, status);
}

/* One step of state and frame. */
static kern_status advance(lyapunov_run *run, double *log_abs_det)
{
    dyn_frame_push(&run->frame, run->x, run->next);
    kern_status status = measure_det(run, log_abs_det);
    KERN_TRY(settle_state(run));
    if (status == KERN_OK) {
        status =
            kern_lapack_orthonormalise(run->n, run->o->k, run->frame.rows, run->r, run->qr, NULL);
    }
    return status == KERN_OK ? KERN_OK : lose(run, KERN_NAN);
}

static kern_status warm_up(lyapunov_run *run, kern_error *err)
{
    double ignored;
    const kern_status status = dyn_state_check(run->x, run->map->size, run->o->bound);
    if (status != KERN_OK) {
        return lose(run, status);
    }
    for (size_t t = 0; t < run->o->ttr; t++) {
        run->map->kind->step(run->map, run->x, run->next);
        KERN_TRY(settle_state(run));
        KERN_TRY(report(run, err));
    }
    for (size_t t = 0; t < run->o->frame_ttr; t++) {
        KERN_TRY(advance(run, &ignored));
        KERN_TRY(report(run, err));
    }
    return KERN_OK;
}

static kern_status average(lyapunov_run *run, kern_error *err)
{
    dyn_lyapunov *out = run->out;
    const size_t k = run->o->k;
    for (size_t t = 0; t < run->o->steps; t++) {
        double log_abs_det;
        const size_t w = t / out->window;
        KERN_TRY(advance(run, &log_abs_det));
        run->log_abs_det += log_abs_det;
        for (size_t i = 0; i < k; i++) {
            const double growth = log(run->r[i * k + i]);
            run->mean[i] += growth;
            if (w < out->n_windows) {
                double *cell = &out->series[w * k + i];
                *cell = t % out->window == 0 ? growth : *cell + growth;
            }
        }
        KERN_TRY(report(run, err));
    }
    return KERN_OK;
}

/* ---- Results ------------------------------------------------------------------------------ */

static void swap(double *a, double *b)
{
    const double kept = *a;
    *a = *b;
    *b = kept;
}

/* Columns i and i − 1 of everything change places until the exponents descend. QR delivers them
 * nearly in order, which insertion needs. */
static void sort_descending(dyn_lyapunov *out)
{
    for (size_t j = 1; j < out->k; j++) {
        for (size_t i = j; i > 0 && out->exponents[i] > out->exponents[i - 1]; i--) {
            swap(&out->exponents[i], &out->exponents[i - 1]);
            for (size_t w = 0; w < out->n_windows; w++) {
                swap(&out->series[w * out->k + i], &out->series[w * out->k + i - 1]);
            }
        }
    }
}

static void divide_sums(lyapunov_run *run)
{
    dyn_lyapunov *out = run->out;
    for (size_t i = 0; i < out->k; i++) {
        out->exponents[i] = run->mean[i] / (double)out->steps;
    }
    for (size_t i = 0; i < out->n_windows * out->k; i++) {
        out->series[i] /= (double)out->window;
    }
    if (run->det != DET_NONE) {
        out->mean_log_abs_det = run->log_abs_det / (double)out->steps;
    }
}

/* Standard errors: deviations of the means of resampled windows, by Welford's recurrence. */
static kern_status bootstrap(lyapunov_run *run, kern_error *err)
{
    dyn_lyapunov *out = run->out;
    const size_t resamples = run->o->resamples;
    if (out->n_windows < 2 || resamples < 2 || out->n_windows > UINT32_MAX) {
        return KERN_OK;
    }
    kern_rng *rng = kern_rng_create(run->o->seed, "lyapunov-bootstrap", 0);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    memset(run->mean, 0, out->k * sizeof *run->mean);
    memset(run->moment, 0, out->k * sizeof *run->moment);
    for (size_t b = 0; b < resamples; b++) {
        double *sums = run->r; /* k × k numbers that are free by now */
        memset(sums, 0, out->k * sizeof *sums);
        for (size_t w = 0; w < out->n_windows; w++) {
            const size_t pick = kern_rng_below(rng, (uint32_t)out->n_windows);
            for (size_t i = 0; i < out->k; i++) {
                sums[i] += out->series[pick * out->k + i];
            }
        }
        for (size_t i = 0; i < out->k; i++) {
            const double value = sums[i] / (double)out->n_windows;
            const double gap = value - run->mean[i];
            run->mean[i] += gap / (double)(b + 1);
            run->moment[i] += gap * (value - run->mean[i]);
        }
    }
    for (size_t i = 0; i < out->k; i++) {
        out->standard_errors[i] = sqrt(run->moment[i] / (double)(resamples - 1));
    }
    kern_rng_destroy(rng);
    return KERN_OK;
}

/* The dimension of k descending exponents; NaN when their sums do not cross zero. */
static double dimension_of(const double *exponents, size_t k, size_t width)
{
    double sum = 0.0;
    double magnitude = 0.0;
    for (size_t j = 0; j < k; j++) {
        const double next = sum + exponents[j];
        magnitude += fabs(exponents[j]);
        const bool zero = isfinite(next) && fabs(next) <= ZERO_SUM * magnitude;
        if (next < 0.0 && !(zero && j + 1 == width)) {
            return (double)j + sum / fabs(exponents[j]);
        }
        sum = next;
    }
    const bool whole = k == width && isfinite(sum) && fabs(sum) <= ZERO_SUM * magnitude;
    return whole ? (double)width : (double)NAN;
}

/* What exponent i may be off by; fmax passes over an error that is not a number. */
static double uncertainty_of(const dyn_lyapunov *out, size_t i)
{
    const double steps = (double)out->steps;
    return fmax(out->standard_errors[i], (1.0 + log(steps)) / steps);
}

/* The dimension with neutral exponents at 0, and with all of them moved down and up by what they
 * may be off by. */
static void find_kaplan_yorke(lyapunov_run *run)
{
    dyn_lyapunov *out = run->out;
    double *moved = run->mean; /* k numbers that are free by now */
    for (size_t i = 0; i < out->k; i++) {
        const bool neutral = fabs(out->exponents[i]) <= uncertainty_of(out, i);
        moved[i] = neutral ? 0.0 : out->exponents[i];
        out->n_neutral += neutral ? 1U : 0U;
    }
    out->kaplan_yorke = dimension_of(moved, out->k, run->n);
    out->kaplan_yorke_status = isnan(out->kaplan_yorke) ? KERN_NOT_FOUND : KERN_OK;
    for (size_t i = 0; i < out->k; i++) {
        moved[i] = out->exponents[i] - uncertainty_of(out, i);
    }
    out->kaplan_yorke_low = dimension_of(moved, out->k, run->n);
    for (size_t i = 0; i < out->k; i++) {
        moved[i] = out->exponents[i] + uncertainty_of(out, i);
    }
    out->kaplan_yorke_high = dimension_of(moved, out->k, run->n);
    if (out->k == run->n && isnan(out->kaplan_yorke_high) && isfinite(out->exponents[0])) {
        out->kaplan_yorke_high = (double)run->n;
    }
}

/* After the last step, `next` is the state before it. */
static bool stands_still(const lyapunov_run *run)
{
    for (size_t i = 0; i < run->map->size; i++) {
        if (run->x[i] != run->next[i]) {
            return false;
        }
    }
    return true;
}

static kern_status compute(lyapunov_run *run, const double *x0, kern_error *err)
{
    dyn_lyapunov *out = run->out;
    KERN_TRY(dyn_frame_init(&run->frame, run->map, run->o->block, run->o->k, run->o->workers, err));
    KERN_TRY(allocate_run(run, err));
    KERN_TRY(dyn_frame_draw(run->frame.rows, run->n, run->o->k, run->o->seed, "lyapunov-frame",
                            run->r, run->qr, err));
    memcpy(run->x, x0, run->map->size * sizeof *x0);
    kern_status status = warm_up(run, err);
    if (status == KERN_OK) {
        status = average(run, err);
    }
    if (out->status != KERN_OK) {
        for (size_t i = 0; i < out->n_windows * out->k; i++) {
            out->series[i] = (double)NAN;
        }
        return KERN_OK;
    }
    KERN_TRY(status);
    divide_sums(run);
    sort_descending(out);
    out->collapsed = out->exponents[0] > 0.0 && stands_still(run);
    KERN_TRY(bootstrap(run, err));
    find_kaplan_yorke(run);
    return KERN_OK;
}

kern_status dyn_lyapunov_init(dyn_lyapunov *out, dyn_map *map, const double *x0,
                              const dyn_lyapunov_options *options, kern_error *err)
{
    *out = (dyn_lyapunov){0};
    KERN_TRY(check_options(map, options, err));
    KERN_TRY(init_result(out, options, err));
    lyapunov_run run = {.map = map, .o = options, .out = out};
    const bool whole = options->block == DYN_LYAPUNOV_WHOLE;
    run.n = whole ? map->size : map->block_width;
    if (run.n == map->size && map->kind->log_abs_det != NULL) {
        run.det = DET_MAP;
    } else if (options->k == run.n) {
        run.det = DET_LU;
    }
    const kern_status status = compute(&run, x0, err);
    kern_arena_fini(&run.arena);
    dyn_frame_fini(&run.frame);
    if (status != KERN_OK) {
        dyn_lyapunov_fini(out);
    }
    return status;
}
