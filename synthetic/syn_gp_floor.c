/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_gp_floor.h"

#include "dyn/dyn_scan.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <string.h>

enum { MAX_NODES = 1024 };

/* Weight of the smoother's sink. Anything from 1e-5 to 1e-3 gives the same errors within a few in a
 * thousand once the bandwidth fits; a weight of 1 doubles them. */
#define SINK 1e-3

/* ------------------------------------------------------------------ Bayes */

/* What one worker has. */
typedef struct floor_lane {
    double *r;      /* correlations, [points²] */
    double *l;      /* factor, [points²] */
    double *error;  /* e_n L_nn, [nodes][points] */
    double *sd;     /* L_nn, [nodes][points] */
    double *weight; /* logarithms of weights up to the point at hand, [nodes] */
} floor_lane;

typedef struct floor_job {
    const syn_gp_task *task;
    const syn_gp_batch *batch;
    size_t lengthscales;
    size_t scales;
    floor_lane *lanes;
    double *squared;
    double *variance;
} floor_job;

syn_gp_floor_options syn_gp_floor_options_default(void)
{
    return (syn_gp_floor_options){.lengthscales = 25, .scales = 16, .workers = 1};
}

/* Middle of cell `index` of `n` equal ones. */
static double node_value(syn_gp_range range, size_t index, size_t n)
{
    return range.low + (range.high - range.low) * ((double)index + 0.5) / (double)n;
}

/* Errors and deviations of one node. */
static kern_status fill_node(const floor_job *job, const floor_lane *lane, const double *y,
                             double lengthscale, double scale, size_t node, kern_error *err)
{
    const size_t n = job->task->points;
    double *const error = lane->error + node * n;
    double *const sd = lane->sd + node * n;
    KERN_TRY(syn_gp_factor(job->task, lane->r, lengthscale, scale, lane->l, err));
    memcpy(error, y, n * sizeof *error);
    kern_lapack_lower_solve(n, lane->l, error);
    for (size_t i = 0; i < n; i++) {
        sd[i] = lane->l[i * n + i];
        error[i] *= sd[i];
    }
    return KERN_OK;
}

static kern_status fill_nodes(const floor_job *job, const floor_lane *lane, const double *x,
                              const double *y, kern_error *err)
{
    const syn_gp_task *const task = job->task;
    for (size_t a = 0; a < job->lengthscales; a++) {
        const double lengthscale = node_value(task->lengthscale, a, job->lengthscales);
        syn_gp_correlate(x, task->points, lengthscale, lane->r);
        for (size_t b = 0; b < job->scales; b++) {
            const double scale = node_value(task->scale, b, job->scales);
            KERN_TRY(fill_node(job, lane, y, lengthscale, scale, a * job->scales + b, err));
        }
    }
    return KERN_OK;
}

/* Mixes the nodes' predictions of point n, whose errors and deviations begin at `error` and `sd`
 * and lie `stride` apart, and takes y_n into the weights. The largest weight is scaled to 1. */
static void mix_nodes(const floor_lane *lane, size_t n, size_t nodes, size_t stride,
                      double *squared, double *variance)
{
    double largest = lane->weight[0];
    double total = 0.0;
    double mean = 0.0;
    double second = 0.0;
    for (size_t g = 1; g < nodes; g++) {
        largest = fmax(largest, lane->weight[g]);
    }
    for (size_t g = 0; g < nodes; g++) {
        const double w = exp(lane->weight[g] - largest);
        const double error = lane->error[g * stride + n];
        const double sd = lane->sd[g * stride + n];
        const double e = error / sd;
        total += w;
        mean += w * error;
        second += w * (sd * sd + error * error);
        lane->weight[g] += -0.5 * e * e - log(sd);
    }
    mean /= total;
    *squared = mean * mean;
    *variance = second / total - mean * mean;
}

static kern_status floor_sequence(void *context, dyn_map *map, int worker, size_t item,
                                  kern_error *err)
{
    const floor_job *const job = context;
    const floor_lane *const lane = &job->lanes[worker];
    const size_t n = job->task->points;
    const size_t nodes = job->lengthscales * job->scales;
    (void)map;
    KERN_TRY(fill_nodes(job, lane, job->batch->x + item * n, job->batch->y + item * n, err));
    memset(lane->weight, 0, nodes * sizeof *lane->weight);
    for (size_t i = 0; i < n; i++) {
        double variance;
        mix_nodes(lane, i, nodes, n, &job->squared[item * n + i], &variance);
        if (job->variance != NULL) {
            job->variance[item * n + i] = variance;
        }
    }
    return KERN_OK;
}

static kern_status check_floor(const syn_gp_task *task, const syn_gp_batch *batch,
                               const syn_gp_floor_options *o, kern_error *err)
{
    KERN_TRY(syn_gp_task_check(task, err));
    if (batch->points != task->points) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the batch has sequences of %zu points, the task has %zu", batch->points,
                          task->points);
    }
    if (o->lengthscales < 1 || o->lengthscales > MAX_NODES || o->scales < 1 ||
        o->scales > MAX_NODES) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the grid has %zu lengthscales and %zu scales; 1 to %d of each are "
                          "accepted",
                          o->lengthscales, o->scales, MAX_NODES);
    }
    return KERN_OK;
}

/* Lanes of `workers` workers, with the arena they live in. */
static kern_status make_lanes(floor_job *job, int workers, kern_arena *arena, kern_error *err)
{
    const size_t n = job->task->points;
    const size_t nodes = job->lengthscales * job->scales;
    const size_t each = 2 * kern_arena_cost(n * n, sizeof(double)) +
                        2 * kern_arena_cost(nodes * n, sizeof(double)) +
                        kern_arena_cost(nodes, sizeof(double));
    const size_t lanes = (size_t)workers;
    KERN_TRY(
        kern_arena_init(arena, kern_arena_cost(lanes, sizeof *job->lanes) + lanes * each, err));
    job->lanes = kern_arena_calloc(arena, lanes, sizeof *job->lanes);
    for (size_t i = 0; i < lanes; i++) {
        job->lanes[i].r = kern_arena_calloc(arena, n * n, sizeof(double));
        job->lanes[i].l = kern_arena_calloc(arena, n * n, sizeof(double));
        job->lanes[i].error = kern_arena_calloc(arena, nodes * n, sizeof(double));
        job->lanes[i].sd = kern_arena_calloc(arena, nodes * n, sizeof(double));
        job->lanes[i].weight = kern_arena_calloc(arena, nodes, sizeof(double));
    }
    return KERN_OK;
}

static size_t count_nodes(syn_gp_range range, size_t asked)
{
    return range.low < range.high ? asked : 1;
}

kern_status syn_gp_bayes(const syn_gp_task *task, const syn_gp_batch *batch,
                         const syn_gp_floor_options *options, double *squared, double *variance,
                         kern_error *err)
{
    kern_arena arena = {0};
    KERN_TRY(check_floor(task, batch, options, err));
    floor_job job = {.task = task,
                     .batch = batch,
                     .lengthscales = count_nodes(task->lengthscale, options->lengthscales),
                     .scales = count_nodes(task->scale, options->scales),
                     .squared = squared,
                     .variance = variance};
    const dyn_scan_options o = {.items = batch->sequences,
                                .workers = options->workers,
                                .progress = options->progress,
                                .context = options->context};
    kern_status status = make_lanes(&job, dyn_scan_workers(&o), &arena, err);
    if (status == KERN_OK) {
        status = dyn_scan_run(NULL, &o, floor_sequence, &job, err);
    }
    kern_arena_fini(&arena);
    return status;
}

void syn_gp_oracle(const syn_gp_batch *batch, double *squared, double *variance)
{
    for (size_t i = 0; i < batch->sequences * batch->points; i++) {
        const double error = batch->innovation[i] * batch->sd[i];
        squared[i] = error * error;
        if (variance != NULL) {
            variance[i] = batch->sd[i] * batch->sd[i];
        }
    }
}

/* ------------------------------------------------------------------ references */

static void predict_zero(const syn_gp_task *task, const double *x, const double *y, size_t n,
                         double *prediction)
{
    (void)task;
    (void)x;
    (void)y;
    memset(prediction, 0, n * sizeof *prediction);
}

static void predict_nearest(const syn_gp_task *task, const double *x, const double *y, size_t n,
                            double *prediction)
{
    (void)task;
    for (size_t i = 0; i < n; i++) {
        size_t nearest = 0;
        for (size_t j = 1; j < i; j++) {
            nearest = fabs(x[i] - x[j]) < fabs(x[i] - x[nearest]) ? j : nearest;
        }
        prediction[i] = i > 0 ? y[nearest] : 0.0;
    }
}

static void predict_smooth(const syn_gp_task *task, const double *x, const double *y, size_t n,
                           double *prediction)
{
    for (size_t i = 0; i < n; i++) {
        double total = SINK;
        double sum = 0.0;
        for (size_t j = 0; j < i; j++) {
            const double gap = (x[i] - x[j]) / task->bandwidth;
            const double weight = exp(-0.5 * gap * gap);
            total += weight;
            sum += weight * y[j];
        }
        prediction[i] = sum / total;
    }
}

static const syn_gp_reference references[] = {
    {"zero", "predicts 0", predict_zero},
    {"nearest", "predicts the value at the nearest input", predict_nearest},
    {"smoother", "a Gaussian smoother with a zero sink", predict_smooth},
};

const syn_gp_reference *syn_gp_reference_at(size_t index)
{
    return index < sizeof references / sizeof references[0] ? &references[index] : NULL;
}

void syn_gp_reference_squared(const syn_gp_reference *reference, const syn_gp_task *task,
                              const syn_gp_batch *batch, double *squared)
{
    const size_t n = batch->points;
    for (size_t at = 0; at < batch->sequences * n; at += n) {
        reference->predict(task, batch->x + at, batch->y + at, n, squared + at);
        for (size_t i = at; i < at + n; i++) {
            squared[i] = (batch->y[i] - squared[i]) * (batch->y[i] - squared[i]);
        }
    }
}
