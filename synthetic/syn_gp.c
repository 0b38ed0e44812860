/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_gp.h"

#include "dyn/dyn_scan.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"
#include "kernels/kern_vmath.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.28318530717958647692
#define OMEGA  (TWO_PI / 8.0)

/* Sequences that a worker takes at a time. */
enum { GRAIN = 4 };

/* ------------------------------------------------------------------ tasks */

#define FIXED(value)                                                                               \
    {                                                                                              \
        (value), (value)                                                                           \
    }

/* The bandwidths of GP-1 and GP-1n are those of the design notes; the others minimise the error of
 * the smoother over points 1 … 63 (tests/synthetic/test_syn_gp_floor.c holds all to that). */
static const syn_gp_task tasks[] = {
    {.name = "gp-1",
     .gloss = "fixed lengthscale 0.4 and scale 1, noise 0.02, inputs uniform on [-2, 2]",
     .points = 64,
     .inputs = SYN_GP_UNIFORM,
     .x = {-2.0, 2.0},
     .lengthscale = FIXED(0.4),
     .scale = FIXED(1.0),
     .noise = 0.02,
     .jitter = 1e-8,
     .bandwidth = 0.105},
    {.name = "gp-1n",
     .gloss = "as gp-1 with noise 0.1",
     .points = 64,
     .inputs = SYN_GP_UNIFORM,
     .x = {-2.0, 2.0},
     .lengthscale = FIXED(0.4),
     .scale = FIXED(1.0),
     .noise = 0.1,
     .jitter = 1e-8,
     .bandwidth = 0.110},
    {.name = "gp-2",
     .gloss = "lengthscale uniform on [0.1, 0.6], scale on [0.1, 1], noise 0.02",
     .points = 64,
     .inputs = SYN_GP_UNIFORM,
     .x = {-2.0, 2.0},
     .lengthscale = {0.1, 0.6},
     .scale = {0.1, 1.0},
     .noise = 0.02,
     .jitter = 1e-8,
     .bandwidth = 0.085},
    {.name = "gp-3",
     .gloss = "time series with four points per lengthscale 0.4, noise 0.02",
     .points = 64,
     .inputs = SYN_GP_SERIES,
     .spacing = 0.25,
     .lengthscale = FIXED(0.4),
     .scale = FIXED(1.0),
     .noise = 0.02,
     .jitter = 1e-8,
     .bandwidth = 0.04},
    {.name = "gp-3n",
     .gloss = "as gp-3 with noise 0.1",
     .points = 64,
     .inputs = SYN_GP_SERIES,
     .spacing = 0.25,
     .lengthscale = FIXED(0.4),
     .scale = FIXED(1.0),
     .noise = 0.1,
     .jitter = 1e-8,
     .bandwidth = 0.035},
};

enum { TASKS = sizeof tasks / sizeof tasks[0], NAMES_TEXT = 128 };

const syn_gp_task *syn_gp_task_at(size_t index)
{
    return index < TASKS ? &tasks[index] : NULL;
}

kern_status syn_gp_task_find(const syn_gp_task **task, const char *name, kern_error *err)
{
    char names[NAMES_TEXT] = "";
    size_t used = 0;
    *task = NULL;
    for (size_t i = 0; i < TASKS; i++) {
        if (strcmp(tasks[i].name, name) == 0) {
            *task = &tasks[i];
            return KERN_OK;
        }
        const int written =
            snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", tasks[i].name);
        used += written > 0 ? (size_t)written : 0;
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "the task is \"%s\"; accepted are %s", name,
                      names);
}

static kern_status check_number(const char *field, double value, double low, const char *accepted,
                                kern_error *err)
{
    if (!(isfinite(value) && value >= low)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%s is %g; accepted are %s", field, value,
                          accepted);
    }
    return KERN_OK;
}

static kern_status check_positive(const char *field, double value, kern_error *err)
{
    return check_number(field, value, nextafter(0.0, 1.0), "finite numbers above 0", err);
}

/* Ends of a range, of which the lower one is positive when `positive`. */
static kern_status check_range(const char *field, syn_gp_range range, bool positive,
                               kern_error *err)
{
    if (positive) {
        KERN_TRY(check_positive(field, range.low, err));
    }
    if (!(isfinite(range.low) && isfinite(range.high) && range.low <= range.high)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s is drawn from %g to %g; accepted are finite ends in ascending order",
                          field, range.low, range.high);
    }
    return KERN_OK;
}

kern_status syn_gp_task_check(const syn_gp_task *task, kern_error *err)
{
    if (task->points < 1 || task->points > SYN_GP_MAX_POINTS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a sequence has %zu points; 1 to %d are accepted", task->points,
                          SYN_GP_MAX_POINTS);
    }
    if (task->inputs == SYN_GP_SERIES) {
        KERN_TRY(check_positive("the spacing", task->spacing, err));
    } else {
        KERN_TRY(check_range("the input", task->x, false, err));
    }
    KERN_TRY(check_range("the lengthscale", task->lengthscale, true, err));
    KERN_TRY(check_range("the scale", task->scale, true, err));
    KERN_TRY(check_number("the noise", task->noise, 0.0, "finite numbers from 0", err));
    KERN_TRY(check_number("the jitter", task->jitter, 0.0, "finite numbers from 0", err));
    return check_positive("the bandwidth", task->bandwidth, err);
}

/* ------------------------------------------------------------------ batches */

kern_status syn_gp_batch_init(syn_gp_batch *batch, size_t sequences, size_t points, kern_error *err)
{
    size_t per_sequence;
    size_t count;
    *batch = (syn_gp_batch){0};
    if (!kern_size_mul(points, 4, &per_sequence) ||
        !kern_size_add(per_sequence, 2, &per_sequence) ||
        !kern_size_mul(sequences, per_sequence, &count)) {
        return kern_raise(err, KERN_OVERFLOW,
                          "%zu sequences of %zu points are more than memory can address", sequences,
                          points);
    }
    double *const block = calloc(kern_size_max(count, 1), sizeof *block);
    if (block == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu sequences of %zu points",
                          sequences, points);
    }
    *batch = (syn_gp_batch){.sequences = sequences, .points = points, .lengthscale = block};
    batch->scale = block + sequences;
    batch->x = batch->scale + sequences;
    batch->y = batch->x + sequences * points;
    batch->innovation = batch->y + sequences * points;
    batch->sd = batch->innovation + sequences * points;
    return KERN_OK;
}

void syn_gp_batch_fini(syn_gp_batch *batch)
{
    free(batch->lengthscale);
    *batch = (syn_gp_batch){0};
}

/* ------------------------------------------------------------------ kernel matrices */

void syn_gp_correlate(const double *x, size_t n, double lengthscale, double *r)
{
    for (size_t i = 0; i < n; i++) {
        double *const row = r + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double gap = (x[i] - x[j]) / lengthscale;
            row[j] = -0.5 * gap * gap;
        }
        kern_vmath_exp_f64(row, row, i + 1);
    }
}

kern_status syn_gp_factor(const syn_gp_task *task, const double *r, double lengthscale,
                          double scale, double *l, kern_error *err)
{
    const size_t n = task->points;
    const double variance = scale * scale;
    const double diagonal = task->noise * task->noise + task->jitter;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            l[i * n + j] = variance * r[i * n + j];
        }
        l[i * n + i] += diagonal;
    }
    if (kern_lapack_cholesky(n, l, NULL) != KERN_OK) {
        return kern_raise(err, KERN_SINGULAR,
                          "the kernel matrix of %zu points is not positive definite at lengthscale "
                          "%g and scale %g with noise %g and jitter %g; more jitter or noise, or a "
                          "shorter lengthscale, is needed",
                          n, lengthscale, scale, task->noise, task->jitter);
    }
    return KERN_OK;
}

/* ------------------------------------------------------------------ drawing */

struct syn_gp {
    syn_gp_task task;
    int workers;
    double *matrices; /* [workers][points²], owned */
};

kern_status syn_gp_create(syn_gp **out, const syn_gp_task *task, int workers, kern_error *err)
{
    *out = NULL;
    KERN_TRY(syn_gp_task_check(task, err));
    const size_t n = task->points;
    const size_t lanes = workers > 1 ? (size_t)workers : 1;
    syn_gp *const gp = calloc(1, sizeof *gp);
    if (gp != NULL) {
        gp->matrices = calloc(lanes, n * n * sizeof *gp->matrices);
    }
    if (gp == NULL || gp->matrices == NULL) {
        syn_gp_destroy(gp);
        return kern_raise(err, KERN_NO_MEMORY,
                          "no memory for %zu workers with a kernel matrix of %zu points each",
                          lanes, n);
    }
    gp->task = *task;
    gp->workers = (int)lanes;
    *out = gp;
    return KERN_OK;
}

void syn_gp_destroy(syn_gp *gp)
{
    if (gp != NULL) {
        free(gp->matrices);
        free(gp);
    }
}

/* Number `counter` of a sequence, uniform in [0, 1). */
static double draw_uniform(uint64_t key, uint64_t counter)
{
    return (double)(kern_rng_hash(key, counter) >> 11) * 0x1p-53;
}

static double draw_range(uint64_t key, uint64_t counter, syn_gp_range range)
{
    return range.low + (range.high - range.low) * draw_uniform(key, counter);
}

/* n standard normal numbers, two from every two uniform ones. */
static void draw_normals(uint64_t key, uint64_t counter, double *e, size_t n)
{
    for (size_t i = 0; i < n; i += 2) {
        const double radius = sqrt(-2.0 * log(1.0 - draw_uniform(key, counter + i)));
        const double angle = TWO_PI * draw_uniform(key, counter + i + 1);
        e[i] = radius * cos(angle);
        if (i + 1 < n) {
            e[i + 1] = radius * sin(angle);
        }
    }
}

typedef struct draw_job {
    syn_gp *gp;
    uint64_t seed;
    const char *purpose;
    uint64_t first;
    syn_gp_batch *batch;
} draw_job;

static kern_status draw_sequence(void *context, dyn_map *map, int worker, size_t item,
                                 kern_error *err)
{
    const draw_job *const job = context;
    const syn_gp_task *const task = &job->gp->task;
    const size_t n = task->points;
    const uint64_t key = kern_rng_seed(job->seed, job->purpose, job->first + item);
    double *const l = job->gp->matrices + (size_t)worker * n * n;
    double *const x = job->batch->x + item * n;
    double *const y = job->batch->y + item * n;
    double *const e = job->batch->innovation + item * n;
    (void)map;
    const double lengthscale = draw_range(key, 0, task->lengthscale);
    const double scale = draw_range(key, 1, task->scale);
    for (size_t i = 0; i < n; i++) {
        x[i] = task->inputs == SYN_GP_SERIES ? (double)i * task->spacing * lengthscale
                                             : draw_range(key, 2 + i, task->x);
    }
    draw_normals(key, 2 + n, e, n);
    syn_gp_correlate(x, n, lengthscale, l);
    KERN_TRY(syn_gp_factor(task, l, lengthscale, scale, l, err));
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t j = 0; j <= i; j++) {
            sum += l[i * n + j] * e[j];
        }
        y[i] = sum;
        job->batch->sd[item * n + i] = l[i * n + i];
    }
    job->batch->lengthscale[item] = lengthscale;
    job->batch->scale[item] = scale;
    return KERN_OK;
}

kern_status syn_gp_draw(syn_gp *gp, uint64_t seed, const char *purpose, uint64_t first,
                        syn_gp_batch *batch, kern_error *err)
{
    if (batch->points != gp->task.points) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the batch has room for sequences of %zu points; %zu are drawn",
                          batch->points, gp->task.points);
    }
    draw_job job = {gp, seed, purpose, first, batch};
    const dyn_scan_options o = {.items = batch->sequences, .grain = GRAIN, .workers = gp->workers};
    return dyn_scan_run(NULL, &o, draw_sequence, &job, err);
}

/* ------------------------------------------------------------------ tokens */

/* φ(x): multiples of the angle by the addition theorem, which loses a few ulp of double only. */
static void encode_input(double x, float *phi)
{
    const double s1 = sin(OMEGA * x);
    const double c1 = cos(OMEGA * x);
    double s = s1;
    double c = c1;
    for (size_t k = 0; k < SYN_GP_HARMONICS; k++) {
        phi[k] = (float)s;
        phi[SYN_GP_HARMONICS + k] = (float)c;
        const double next = s * c1 + c * s1;
        c = c * c1 - s * s1;
        s = next;
    }
}

void syn_gp_tokens_f32(const syn_gp_batch *batch, float *features, float *targets)
{
    enum { PHI = 2 * SYN_GP_HARMONICS };
    const size_t n = batch->points;
    for (size_t b = 0; b < batch->sequences * n; b += n) {
        for (size_t i = 0; i < n; i++) {
            float *const token = features + (b + i) * SYN_GP_FEATURES;
            encode_input(batch->x[b + i], token);
            if (i > 0) {
                memcpy(token + PHI, token - SYN_GP_FEATURES, PHI * sizeof *token);
            } else {
                memset(token + PHI, 0, PHI * sizeof *token);
            }
            token[2 * PHI] = i > 0 ? (float)batch->y[b + i - 1] : 0.0F;
            token[2 * PHI + 1] = i > 0 ? 0.0F : 1.0F;
            targets[b + i] = (float)batch->y[b + i];
        }
    }
}
