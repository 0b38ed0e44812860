/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_zero_one.h"

#include "dyn/dyn_scan.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A range below this part of the largest value is rounding. */
#define CONSTANT_RANGE 1e-10

enum {
    REACH = 10,     /* displacements over n/REACH steps */
    WALKS = 3,      /* p, q and D of a worker */
    WATCH = 1 << 22 /* terms between two looks at whether to stop */
};

typedef struct zero_one_run {
    const double *values;
    size_t n;
    double mean; /* of the values */
    const dyn_zero_one_options *o;
    dyn_zero_one *out;
    double *walks; /* workers × WALKS × n */
    dyn_scan_watch watch;
} zero_one_run;

dyn_zero_one_options dyn_zero_one_options_default(void)
{
    return (dyn_zero_one_options){.n_angles = 100, .seed = 1, .workers = 1};
}

/* ---- One angle ---------------------------------------------------------------------------- */

static void walk(const zero_one_run *run, double c, double *p, double *q)
{
    double x = 0.0;
    double y = 0.0;
    for (size_t j = 0; j < run->n; j++) {
        const double angle = c * (double)(j + 1);
        x += run->values[j] * cos(angle);
        y += run->values[j] * sin(angle);
        p[j] = x;
        q[j] = y;
    }
}

/* d[n − 1] = D(n) for n = 1 … reach, means over the same number of starts for every n. False when
 * it is to stop. */
static bool displace(zero_one_run *run, int worker, double c, double *walks)
{
    const double *p = walks;
    const double *q = p + run->n;
    double *d = walks + 2 * run->n;
    size_t terms = 0;
    const size_t reach = run->n / REACH;
    const size_t starts = run->n - reach;
    const double swing = run->mean * run->mean / (1.0 - cos(c));
    for (size_t n = 1; n <= reach; n++) {
        double sum = 0.0;
        for (size_t j = 0; j < starts; j++) {
            const double x = p[j + n] - p[j];
            const double y = q[j + n] - q[j];
            sum += x * x + y * y;
        }
        d[n - 1] = sum / (double)starts - swing * (1.0 - cos(c * (double)n));
        terms += starts;
        if (terms >= WATCH && !dyn_scan_goes_on(&run->watch, worker)) {
            return false;
        }
        terms = terms >= WATCH ? 0 : terms;
    }
    return true;
}

/* Correlation of d[n − 1] and n; 0 when d does not vary at all. */
static double correlate(const double *d, size_t n)
{
    const double middle = 0.5 * (double)(n + 1);
    double mean = 0.0;
    double both = 0.0;
    double spread = 0.0;
    double steps = 0.0;
    for (size_t i = 0; i < n; i++) {
        mean += d[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const double x = (double)(i + 1) - middle;
        both += x * (d[i] - mean);
        spread += (d[i] - mean) * (d[i] - mean);
        steps += x * x;
    }
    return spread > 0.0 ? both / sqrt(spread * steps) : 0.0;
}

static kern_status test_angle(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    zero_one_run *run = context;
    double *walks = run->walks + (size_t)worker * WALKS * run->n;
    const double c = run->out->angles[item];
    (void)map;
    walk(run, c, walks, walks + run->n);
    if (!displace(run, worker, c, walks)) {
        return kern_raise(err, KERN_INTERRUPTED, "stopped in angle %zu of %zu", item + 1,
                          run->o->n_angles);
    }
    run->out->k[item] = correlate(walks + 2 * run->n, run->n / REACH);
    return KERN_OK;
}

/* ---- The series --------------------------------------------------------------------------- */

static kern_status check(const zero_one_run *run, kern_error *err)
{
    if (run->n < DYN_ZERO_ONE_LEAST || run->o->n_angles == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a 0-1 test of %zu values by %zu angles; accepted are %d values or more "
                          "and 1 angle or more",
                          run->n, run->o->n_angles, (int)DYN_ZERO_ONE_LEAST);
    }
    for (size_t i = 0; i < run->n; i++) {
        if (!isfinite(run->values[i])) {
            return kern_raise(err, KERN_NAN,
                              "value %zu of the series is %g; accepted are finite numbers", i,
                              run->values[i]);
        }
    }
    return KERN_OK;
}

/* Range, mean and density of sampling; true when the series is constant to rounding. */
static bool describe(zero_one_run *run)
{
    double low = run->values[0];
    double high = run->values[0];
    double steps = 0.0;
    for (size_t i = 0; i < run->n; i++) {
        low = fmin(low, run->values[i]);
        high = fmax(high, run->values[i]);
        run->mean += run->values[i] / (double)run->n;
        steps += i > 0 ? fabs(run->values[i] - run->values[i - 1]) / (double)(run->n - 1) : 0.0;
    }
    const bool constant = high - low <= CONSTANT_RANGE * fmax(fabs(low), fabs(high));
    run->out->range_step = steps > 0.0 ? (high - low) / steps : (double)INFINITY;
    run->out->oversampled = !constant && run->out->range_step > DYN_ZERO_ONE_DENSE;
    return constant;
}

static kern_status draw_angles(zero_one_run *run, kern_error *err)
{
    const double pi = 4.0 * atan(1.0);
    for (size_t i = 0; i < run->o->n_angles; i++) {
        kern_rng *rng = kern_rng_create(run->o->seed, "zero-one", i);
        if (rng == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
        }
        run->out->angles[i] = pi * (0.2 + 0.6 * kern_rng_uniform(rng));
        kern_rng_destroy(rng);
    }
    return KERN_OK;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Value below which the part `part` of the sorted numbers lies, between neighbours linearly. */
static double quantile(const double *sorted, size_t n, double part)
{
    const double at = part * (double)(n - 1);
    const size_t below = (size_t)at;
    const size_t above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

static void judge(dyn_zero_one *out, double *sorted)
{
    memcpy(sorted, out->k, out->n_angles * sizeof *sorted);
    qsort(sorted, out->n_angles, sizeof *sorted, compare);
    out->value = quantile(sorted, out->n_angles, 0.5);
    out->low = quantile(sorted, out->n_angles, 0.25);
    out->high = quantile(sorted, out->n_angles, 0.75);
    if (out->value >= DYN_ZERO_ONE_CHAOTIC) {
        out->verdict = DYN_CHAOS_CHAOTIC;
    } else if (out->value <= DYN_ZERO_ONE_REGULAR && !out->oversampled) {
        out->verdict = DYN_CHAOS_REGULAR;
    }
}

void dyn_zero_one_fini(dyn_zero_one *out)
{
    free(out->angles);
    free(out->k);
    *out = (dyn_zero_one){0};
}

static kern_status allocate(zero_one_run *run, size_t workers, kern_error *err)
{
    const size_t angles = run->o->n_angles;
    size_t numbers = 0;
    /* The walks are used for sorting too. */
    if (kern_size_mul(workers * WALKS, run->n, &numbers)) {
        run->walks = calloc(kern_size_max(numbers, angles), sizeof *run->walks);
    }
    run->out->angles = calloc(angles, sizeof *run->out->angles);
    run->out->k = calloc(angles, sizeof *run->out->k);
    if (run->walks == NULL || run->out->angles == NULL || run->out->k == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for walks of %zu steps by %zu workers",
                          run->n, workers);
    }
    return KERN_OK;
}

static kern_status compute(zero_one_run *run, kern_error *err)
{
    const dyn_scan_options scan = {.items = run->o->n_angles,
                                   .workers = run->o->workers,
                                   .progress = dyn_scan_report,
                                   .context = &run->watch};
    KERN_TRY(check(run, err));
    KERN_TRY(allocate(run, (size_t)dyn_scan_workers(&scan), err));
    KERN_TRY(draw_angles(run, err));
    if (!describe(run)) {
        KERN_TRY(dyn_scan_run(NULL, &scan, test_angle, run, err));
    }
    judge(run->out, run->walks);
    return KERN_OK;
}

kern_status dyn_zero_one_init(dyn_zero_one *out, const double *values, size_t n,
                              const dyn_zero_one_options *options, kern_error *err)
{
    zero_one_run run = {.values = values, .n = n, .o = options, .out = out};
    run.watch.progress = options->progress;
    run.watch.context = options->context;
    *out = (dyn_zero_one){.n_angles = options->n_angles};
    const kern_status status = compute(&run, err);
    free(run.walks);
    if (status != KERN_OK) {
        dyn_zero_one_fini(out);
    }
    return status;
}
