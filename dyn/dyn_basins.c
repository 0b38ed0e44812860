/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_basins.h"

#include "dyn/dyn_basins_internal.h"
#include "dyn/dyn_orbit.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Starts taken at a time by a worker, at most, and parts of the work of which a worker takes one,
 * so that few starts of long orbits are spread evenly and an interrupt is noticed between them. */
enum { GRAIN_MOST = 32, GRAIN_PARTS = 64 };

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

size_t dyn_basins_cells(size_t size)
{
    return size <= 1 ? 4096 : size == 2 ? 512 : 128;
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

/* ---- What the methods share ---------------------------------------------------------------- */

kern_status dyn_basins_add(dyn_basins_job *job, dyn_attractor *a, int32_t *id, kern_error *err)
{
    dyn_basins *out = job->out;
    *id = 0;
    if (out->n_attractors >= job->o->most_attractors) {
        out->too_many = true;
        dyn_attractor_fini(a);
        return KERN_OK;
    }
    if (out->n_attractors == job->room) {
        const size_t wanted = job->room > 0 ? 2 * job->room : 8;
        dyn_attractor *grown = realloc(out->attractors, wanted * sizeof *grown);
        if (grown == NULL) {
            dyn_attractor_fini(a);
            return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu attractors", wanted);
        }
        out->attractors = grown;
        job->room = wanted;
    }
    *id = (int32_t)out->n_attractors + 1;
    out->attractors[out->n_attractors++] = *a;
    out->attractors[out->n_attractors - 1].id = *id;
    *a = (dyn_attractor){0};
    return KERN_OK;
}

kern_status dyn_basins_match_known(const dyn_basins_job *job, dyn_map *map, const dyn_attractor *a,
                                   int32_t *id, kern_error *err)
{
    *id = 0;
    for (size_t i = 0; i < job->out->n_attractors && *id == 0; i++) {
        bool same;
        KERN_TRY(dyn_attractor_same(&same, map, &job->out->attractors[i], a, err));
        *id = same ? job->out->attractors[i].id : 0;
    }
    return KERN_OK;
}

/* Keeps an interrupt in view while items that progress does not count are done. */
static bool watch_uncounted(void *context, size_t done, size_t total)
{
    const dyn_basins_job *job = context;
    (void)done;
    (void)total;
    return job->o->progress(job->o->context, 0, job->out->n_starts);
}

kern_status dyn_basins_scan(dyn_basins_job *job, size_t items, bool counted, dyn_scan_body *body,
                            void *context, kern_error *err)
{
    const size_t part = 1 + items / GRAIN_PARTS / (size_t)job->workers;
    dyn_scan_options s = {.items = items,
                          .grain = counted ? kern_size_min(part, GRAIN_MOST) : 1,
                          .workers = job->workers};
    if (job->o->progress != NULL) {
        s.progress = counted ? job->o->progress : watch_uncounted;
        s.context = counted ? job->o->context : job;
    }
    return dyn_scan_run(job->map, &s, body, context, err);
}

size_t dyn_basins_scouts(const dyn_basins_job *job, size_t wanted)
{
    return job->o->n_seeds + kern_size_min(wanted, job->out->n_starts);
}

void dyn_basins_get_scout(const dyn_basins_job *job, size_t index, size_t wanted, double *x)
{
    const size_t n = job->out->n_starts;
    if (index < job->o->n_seeds) {
        memcpy(x, job->o->seeds + index * job->map->size, job->map->size * sizeof *x);
        return;
    }
    /* Of more starts than are wanted, hashed ones: evenly spaced ones would lie in few lines of a
     * grid. */
    const size_t i = index - job->o->n_seeds;
    const size_t start =
        n <= wanted ? i : (size_t)(kern_rng_hash(kern_rng_seed(job->o->seed, "scouts", 0), i) % n);
    dyn_basin_starts starts = job->o->starts;
    starts.size = job->map->size;
    dyn_basin_starts_get(&starts, start, x);
}

bool dyn_basins_inside(const dyn_basins_job *job, const double *x)
{
    for (size_t i = 0; job->low != NULL && i < job->map->size; i++) {
        const double period = job->map->periods != NULL ? job->map->periods[i] : 0.0;
        double from = x[i] - job->low[i];
        from -= period > 0.0 ? period * floor(from / period) : 0.0;
        if (!(from >= 0.0 && from <= job->high[i] - job->low[i])) {
            return false;
        }
    }
    return true;
}

int32_t dyn_basins_judge(const dyn_map *map, const double *x)
{
    const kern_status status = dyn_state_check(x, map->size, DYN_DIVERGED);
    return status == KERN_OK    ? DYN_BASIN_UNDONE
           : status == KERN_NAN ? DYN_BASIN_NAN
                                : DYN_BASIN_DIVERGED;
}

int32_t dyn_basins_step(dyn_basins_guard *guard, double *x)
{
    dyn_map *map = guard->map;
    map->kind->step(map, x, x);
    const int32_t label = dyn_basins_judge(map, x);
    if (label != DYN_BASIN_UNDONE) {
        return label;
    }
    dyn_state_reduce(map, x);
    guard->outside = dyn_basins_inside(guard->job, x) ? 0 : guard->outside + 1;
    const size_t most = guard->job->o->outside;
    return most > 0 && guard->outside >= most ? DYN_BASIN_LEFT_BOX : DYN_BASIN_UNDONE;
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
