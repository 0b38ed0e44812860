/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_basins.h"

#include "dyn/dyn_basins_internal.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>

const dyn_basins_method *const dyn_basins_methods[] = {&dyn_basins_recurrences,
                                                       &dyn_basins_proximity, &dyn_basins_features};
const size_t dyn_basins_method_count = sizeof dyn_basins_methods / sizeof dyn_basins_methods[0];

/* ---- Words and defaults ------------------------------------------------------------------- */

const char *dyn_basin_outcome_word(int32_t label)
{
    switch (label) {
#define WORD_CASE(name, code, word, gloss)                                                         \
    case code:                                                                                     \
        return word;
        DYN_BASIN_OUTCOME_LIST(WORD_CASE)
#undef WORD_CASE
    default:
        return NULL;
    }
}

const char *dyn_basin_outcome_gloss(int32_t label)
{
    switch (label) {
#define GLOSS_CASE(name, code, word, gloss)                                                        \
    case code:                                                                                     \
        return gloss;
        DYN_BASIN_OUTCOME_LIST(GLOSS_CASE)
#undef GLOSS_CASE
    default:
        return NULL;
    }
}

dyn_basins_options dyn_basins_options_default(void)
{
    return (dyn_basins_options){.starts = {.jitter = 1e-3, .seed = 1},
                                .horizon = 100000,
                                .outside = 1000,
                                .verify = dyn_verify_options_default(),
                                .stay = 10,
                                .recurrences = 100,
                                .quiet = 10000,
                                .search = 64,
                                .settle = 2000,
                                .tail = 200,
                                .group = dyn_group_options_default(),
                                .most_attractors = 1000,
                                .memory_limit = (size_t)2 << 30,
                                .seed = 1,
                                .workers = 1};
}

/* ---- Checks ------------------------------------------------------------------------------- */

static kern_status check_numbers(const dyn_basins_options *o, kern_error *err)
{
    if (o->method >= dyn_basins_method_count) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "method %zu of basins does not exist; accepted are 0 to %zu", o->method,
                          dyn_basins_method_count - 1);
    }
    if (o->horizon == 0 || o->stay == 0 || o->recurrences == 0 || o->quiet == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the horizon is %zu steps, arrival takes %zu, recurrences are %zu and "
                          "quiet steps %zu; accepted is 1 or more",
                          o->horizon, o->stay, o->recurrences, o->quiet);
    }
    if (o->most_attractors == 0 || o->most_attractors > INT32_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "at most %zu attractors are told apart; accepted are 1 to %d",
                          o->most_attractors, INT32_MAX);
    }
    if (!(o->radius >= 0.0) || !isfinite(o->radius)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the radius is %g, accepted are finite numbers from 0", o->radius);
    }
    return dyn_verify_options_check(&o->verify, err);
}

kern_status dyn_basins_estimate(const dyn_map *map, const dyn_basins_options *options,
                                size_t *n_starts, size_t *bytes, kern_error *err)
{
    dyn_basin_starts starts = options->starts;
    size_t labels;
    KERN_TRY(check_numbers(options, err));
    starts.size = map->size;
    KERN_TRY(dyn_basin_starts_count(&starts, n_starts, err));
    const dyn_basins_method *method = dyn_basins_methods[options->method];
    const size_t own = method->cost != NULL ? method->cost(map, options, *n_starts) : 0;
    if (!kern_size_mul(*n_starts, sizeof(int32_t) + sizeof(uint8_t), &labels) ||
        !kern_size_add(labels, own, bytes)) {
        *bytes = SIZE_MAX;
    }
    if (options->memory_limit > 0 && *bytes > options->memory_limit) {
        return kern_raise(err, KERN_NO_MEMORY,
                          "%zu starts would take %.3g GB of memory, and the limit is %.3g GB; "
                          "accepted are fewer starts or a higher limit",
                          *n_starts, 1e-9 * (double)*bytes, 1e-9 * (double)options->memory_limit);
    }
    return KERN_OK;
}

/* ---- The result ----------------------------------------------------------------------------- */

/* Mean position, coordinate by coordinate; an order to list attractors in, no more. */
static double mean_of(const dyn_attractor *a, size_t size, size_t coordinate)
{
    double sum = 0.0;
    for (size_t i = 0; i < a->n_points; i++) {
        sum += a->points[i * size + coordinate];
    }
    return sum / (double)a->n_points;
}

static bool comes_before(const dyn_attractor *a, const dyn_attractor *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const double one = mean_of(a, size, i);
        const double two = mean_of(b, size, i);
        if (fabs(one - two) > 1e-9 * (1.0 + fabs(one))) {
            return one < two;
        }
    }
    return false;
}

/* Orders the attractors; insertion, as there are few. Ids stay what they were until the labels are
 * translated. */
static void sort_attractors(dyn_basins *out, size_t size)
{
    for (size_t j = 1; j < out->n_attractors; j++) {
        for (size_t i = j; i > 0; i--) {
            const dyn_attractor a = out->attractors[i - 1];
            const dyn_attractor b = out->attractors[i];
            if (!comes_before(&b, &a, size)) {
                break;
            }
            out->attractors[i - 1] = b;
            out->attractors[i] = a;
        }
    }
}

static kern_status renumber(dyn_basins_job *job, kern_error *err)
{
    dyn_basins *out = job->out;
    int32_t *fresh = calloc(out->n_attractors + 1, sizeof *fresh);
    if (fresh == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu ids", out->n_attractors);
    }
    if (job->o->n_given == 0) {
        sort_attractors(out, job->map->size);
    }
    for (size_t i = 0; i < out->n_attractors; i++) {
        fresh[out->attractors[i].id] = (int32_t)i + 1;
        out->attractors[i].id = (int32_t)i + 1;
    }
    for (size_t i = 0; i < out->n_starts; i++) {
        out->labels[i] = out->labels[i] > 0 ? fresh[out->labels[i]] : out->labels[i];
    }
    free(fresh);
    return KERN_OK;
}

static void count_labels(dyn_basins_job *job)
{
    dyn_basins *out = job->out;
    for (size_t i = 0; i < out->n_starts; i++) {
        const int32_t label = out->labels[i];
        if (label > 0) {
            out->attractors[label - 1].count++;
        } else {
            out->counts[-1 - label]++;
        }
        if (label == DYN_BASIN_UNRESOLVED) {
            out->verdicts[job->verdicts[i]]++;
        }
    }
    for (size_t i = 0; i < out->n_attractors; i++) {
        dyn_attractor *a = &out->attractors[i];
        const double f = (double)a->count / (double)out->n_starts;
        a->fraction = f;
        a->fraction_error = sqrt(f * (1.0 - f) / (double)out->n_starts);
    }
}

static kern_status run_job(dyn_basins_job *job, kern_error *err)
{
    dyn_basins *out = job->out;
    size_t bytes;
    KERN_TRY(dyn_basins_estimate(job->map, job->o, &out->n_starts, &bytes, err));
    out->labels = calloc(out->n_starts, sizeof *out->labels);
    job->verdicts = calloc(out->n_starts, sizeof *job->verdicts);
    if (out->labels == NULL || job->verdicts == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the labels of %zu starts",
                          out->n_starts);
    }
    KERN_TRY(job->map->kind->clone(&job->own, job->map, err));
    KERN_TRY(dyn_basins_methods[job->o->method]->run(job, err));
    KERN_TRY(renumber(job, err));
    count_labels(job);
    return KERN_OK;
}

kern_status dyn_basins_init(dyn_basins *out, const dyn_map *map, const dyn_basins_options *options,
                            kern_error *err)
{
    *out = (dyn_basins){.radius = (double)NAN};
    dyn_basins_job job = {.map = map,
                          .o = options,
                          .low = options->low != NULL ? options->low : options->starts.low,
                          .high = options->high != NULL ? options->high : options->starts.high,
                          .out = out,
                          .workers = options->workers > 1 ? options->workers : 1};
    const kern_status status = run_job(&job, err);
    dyn_map_destroy(job.own);
    free(job.verdicts);
    if (status != KERN_OK) {
        dyn_basins_fini(out);
    }
    return status;
}

void dyn_basins_fini(dyn_basins *out)
{
    for (size_t i = 0; i < out->n_attractors; i++) {
        dyn_attractor_fini(&out->attractors[i]);
    }
    free(out->attractors);
    free(out->labels);
    free(out->steps);
    *out = (dyn_basins){0};
}
