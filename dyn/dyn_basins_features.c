/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Basins by features of the tails of orbits; see dyn_basins.h.
 *
 * The features unless the caller has others: mean, standard deviation, least and largest value of
 * every observed number, and the mean energy where the map has one. Observed are the coordinates
 * (cosine and sine of those on circles), or as many projections of these on random directions.
 */
#include "dyn/dyn_basins_internal.h"

#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COORDINATES_MOST = 16, /* that are observed as they are */
    PROJECTIONS = 8,       /* that are observed of more */
    MOMENTS = 4,           /* features of an observed number */
    TRIES = 3,             /* orbits of a group that are verified before it is given up */
    BATCH = 32             /* groups whose attractors are held before they are compared */
};

static const double two_pi = 6.283185307179586476925287;

typedef struct features {
    dyn_basins_job *job;
    size_t n_raw;      /* coordinates, circles counted twice */
    size_t n_observed; /* of them or of their projections */
    bool project;
    double *directions; /* n_observed × n_raw when projecting */
    size_t width;       /* features of an orbit */
    double *rows;       /* n_starts × width; of lost orbits unused */
    double *tails;      /* workers × tail × size */
    double *observed;   /* workers × (n_raw + n_observed) */
    int32_t *groups;    /* by orbit that was not lost */
    size_t *members;    /* their starts */
    size_t *chosen;     /* TRIES starts of every group */
    size_t n_groups;
    size_t first;         /* group of the present batch */
    dyn_attractor *found; /* BATCH */
    uint8_t *verdicts;    /* n_groups: the last verdict on each */
} features;

/* ---- What is observed --------------------------------------------------------------------- */

static bool on_circle(const dyn_map *map, size_t i)
{
    return map->periods != NULL && map->periods[i] > 0.0;
}

static void set_sizes(features *f)
{
    const dyn_map *map = f->job->map;
    const dyn_basins_options *o = f->job->o;
    f->n_raw = map->size;
    for (size_t i = 0; i < map->size; i++) {
        f->n_raw += on_circle(map, i) ? 1U : 0U;
    }
    f->project = o->projections > 0 || f->n_raw > COORDINATES_MOST;
    f->n_observed = !f->project          ? f->n_raw
                    : o->projections > 0 ? o->projections
                                         : (size_t)PROJECTIONS;
    f->width = o->feature != NULL ? o->n_features
                                  : MOMENTS * f->n_observed + (map->kind->energy != NULL ? 1U : 0U);
}

/* Directions with Gaussian entries, scaled so that a state of entries of size 1 has projections of
 * size 1. */
static kern_status draw_directions(features *f, kern_error *err)
{
    const double scale = 1.0 / sqrt((double)f->n_raw);
    if (!f->project) {
        return KERN_OK;
    }
    kern_rng *rng = kern_rng_create(f->job->o->seed, "projections", 0);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    for (size_t i = 0; i < f->n_observed * f->n_raw; i++) {
        f->directions[i] = scale * kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
    return KERN_OK;
}

/* Observes a state; the numbers stand behind n_raw numbers of workspace. */
static const double *observe(const features *f, const double *x, double *work)
{
    const dyn_map *map = f->job->map;
    double *raw = work;
    double *seen = work + f->n_raw;
    for (size_t i = 0; i < map->size; i++) {
        if (on_circle(map, i)) {
            const double angle = two_pi * x[i] / map->periods[i];
            *raw++ = cos(angle);
            *raw++ = sin(angle);
        } else {
            *raw++ = x[i];
        }
    }
    if (!f->project) {
        return work;
    }
    for (size_t k = 0; k < f->n_observed; k++) {
        seen[k] = 0.0;
        for (size_t i = 0; i < f->n_raw; i++) {
            seen[k] += f->directions[k * f->n_raw + i] * work[i];
        }
    }
    return seen;
}

/* Mean, spread and ends of every observed number, with Welford's update, and the mean energy. */
static void describe_tail(const features *f, dyn_map *map, const double *tail, double *work,
                          double *row)
{
    const size_t n = f->job->o->tail;
    double energy = 0.0;
    for (size_t t = 0; t < n; t++) {
        const double *x = tail + t * map->size;
        const double *seen = observe(f, x, work);
        for (size_t k = 0; k < f->n_observed; k++) {
            double *m = row + MOMENTS * k;
            if (t == 0) {
                m[0] = m[2] = m[3] = seen[k];
                m[1] = 0.0;
                continue;
            }
            const double gap = seen[k] - m[0];
            m[0] += gap / (double)(t + 1);
            m[1] += gap * (seen[k] - m[0]);
            m[2] = fmin(m[2], seen[k]);
            m[3] = fmax(m[3], seen[k]);
        }
        energy += map->kind->energy != NULL ? map->kind->energy(map, x) : 0.0;
    }
    for (size_t k = 0; k < f->n_observed; k++) {
        row[MOMENTS * k + 1] = sqrt(row[MOMENTS * k + 1] / (double)n);
    }
    if (map->kind->energy != NULL) {
        row[MOMENTS * f->n_observed] = energy / (double)n;
    }
}

/* ---- Starts ------------------------------------------------------------------------------- */

static kern_status scan_start(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    const features *f = context;
    const dyn_basins_options *o = f->job->o;
    const size_t size = map->size;
    double *tail = f->tails + (size_t)worker * o->tail * size;
    double *work = f->observed + (size_t)worker * (f->n_raw + f->n_observed);
    double *row = f->rows + item * f->width;
    dyn_basins_guard guard = {.job = f->job, .map = map};
    dyn_basin_starts starts = o->starts;
    (void)err;
    starts.size = size;
    dyn_basin_starts_get(&starts, item, tail);
    int32_t label = dyn_basins_judge(map, tail);
    for (size_t t = 0; label == DYN_BASIN_UNDONE && t < o->settle; t++) {
        label = dyn_basins_step(&guard, tail);
    }
    for (size_t t = 1; label == DYN_BASIN_UNDONE && t < o->tail; t++) {
        memcpy(tail + t * size, tail + (t - 1) * size, size * sizeof *tail);
        label = dyn_basins_step(&guard, tail + t * size);
    }
    if (label == DYN_BASIN_UNDONE && o->feature != NULL) {
        o->feature(o->feature_context, tail, o->tail, size, row);
    } else if (label == DYN_BASIN_UNDONE) {
        describe_tail(f, map, tail, work, row);
    }
    for (size_t k = 0; label == DYN_BASIN_UNDONE && k < f->width; k++) {
        label = isfinite(row[k]) ? label : DYN_BASIN_NAN;
    }
    f->job->out->labels[item] = label;
    return KERN_OK;
}

/* ---- Groups ------------------------------------------------------------------------------- */

/* Moves the rows of orbits that were not lost together, and groups them. One that is alone becomes
 * a group of its own, so that an attractor that few starts come to is found. */
static kern_status group_rows(features *f, kern_error *err)
{
    const dyn_basins *out = f->job->out;
    size_t n = 0;
    for (size_t i = 0; i < out->n_starts; i++) {
        if (out->labels[i] == DYN_BASIN_UNDONE) {
            memmove(f->rows + n * f->width, f->rows + i * f->width, f->width * sizeof *f->rows);
            f->members[n++] = i;
        }
    }
    KERN_TRY(dyn_group_rows(f->groups, &f->n_groups, f->rows, n, f->width, &f->job->o->group, err));
    for (size_t i = 0; i < n; i++) {
        out->labels[f->members[i]] = f->groups[i] > 0 ? f->groups[i] : (int32_t)++f->n_groups;
    }
    return KERN_OK;
}

/* First, middle and last member of every group, in the order of the starts. */
static kern_status choose_members(features *f, kern_error *err)
{
    const dyn_basins *out = f->job->out;
    size_t *counts = calloc(2 * f->n_groups + 1, sizeof *counts);
    size_t *seen = counts != NULL ? counts + f->n_groups : NULL;
    f->chosen = calloc(TRIES * f->n_groups + 1, sizeof *f->chosen);
    f->found = calloc(BATCH, sizeof *f->found);
    f->verdicts = calloc(f->n_groups + 1, sizeof *f->verdicts);
    if (counts == NULL || f->chosen == NULL || f->found == NULL || f->verdicts == NULL) {
        free(counts);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu groups", f->n_groups);
    }
    for (size_t i = 0; i < out->n_starts; i++) {
        if (out->labels[i] > 0) {
            counts[out->labels[i] - 1]++;
        }
    }
    for (size_t i = 0; i < out->n_starts; i++) {
        if (out->labels[i] > 0) {
            const size_t g = (size_t)out->labels[i] - 1;
            const size_t rank = seen[g]++;
            size_t *chosen = f->chosen + TRIES * g;
            chosen[0] = rank == 0 ? i : chosen[0];
            chosen[1] = rank == counts[g] / 2 ? i : chosen[1];
            chosen[2] = rank + 1 == counts[g] ? i : chosen[2];
        }
    }
    free(counts);
    return KERN_OK;
}

/* Verifies orbits of a group until one is on an attractor. */
static kern_status scan_group(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    features *f = context;
    const dyn_basins_options *o = f->job->o;
    const size_t *chosen = f->chosen + TRIES * (f->first + item);
    double *x = f->tails + (size_t)worker * o->tail * map->size;
    dyn_basin_starts starts = o->starts;
    dyn_judgement verdict = DYN_JUDGED_PASSING;
    starts.size = map->size;
    for (size_t try = 0; try < TRIES && verdict != DYN_JUDGED_ATTRACTOR; try++) {
        size_t steps = 0;
        if (try > 0 && chosen[try] == chosen[try - 1]) {
            continue;
        }
        dyn_basin_starts_get(&starts, chosen[try], x);
        for (size_t t = 0; t + 1 < o->settle + o->tail; t++) {
            map->kind->step(map, x, x);
            dyn_state_reduce(map, x);
        }
        KERN_TRY(dyn_attractor_verify(&f->found[item], &verdict, map, x, &steps, &o->verify, err));
    }
    f->verdicts[f->first + item] = (uint8_t)verdict;
    return KERN_OK;
}

/* Gives the groups of a batch the ids of the attractors that their orbits are on. */
static kern_status enter_batch(features *f, size_t n, int32_t *ids, kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int32_t id = 0;
        if (f->found[i].n_points > 0) {
            KERN_TRY(dyn_basins_match_known(f->job, f->job->own, &f->found[i], &id, err));
        }
        if (f->found[i].n_points > 0 && id == 0) {
            KERN_TRY(dyn_basins_add(f->job, &f->found[i], &id, err));
        }
        dyn_attractor_fini(&f->found[i]);
        ids[f->first + i] = id > 0 ? id : DYN_BASIN_UNRESOLVED;
    }
    return KERN_OK;
}

/* Verifies all groups, batch by batch: attractors hold many states. */
static kern_status verify_groups(features *f, int32_t *ids, kern_error *err)
{
    for (f->first = 0; f->first < f->n_groups; f->first += BATCH) {
        const size_t n = kern_size_min(BATCH, f->n_groups - f->first);
        KERN_TRY(dyn_basins_scan(f->job, n, false, scan_group, f, err));
        KERN_TRY(enter_batch(f, n, ids, err));
    }
    return KERN_OK;
}

static kern_status resolve_groups(features *f, kern_error *err)
{
    dyn_basins_job *job = f->job;
    KERN_TRY(choose_members(f, err));
    int32_t *ids = calloc(f->n_groups + 1, sizeof *ids);
    if (ids == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu groups", f->n_groups);
    }
    const kern_status status = verify_groups(f, ids, err);
    for (size_t i = 0; status == KERN_OK && i < job->out->n_starts; i++) {
        int32_t *label = &job->out->labels[i];
        if (*label > 0) {
            job->verdicts[i] = f->verdicts[*label - 1];
            *label = ids[*label - 1];
        }
    }
    free(ids);
    return status;
}

/* ---- The method --------------------------------------------------------------------------- */

/* Every start may be a group of its own. */
static size_t cost(const dyn_map *map, const dyn_basins_options *o, size_t n_starts)
{
    dyn_basins_job job = {.map = map, .o = o};
    features f = {.job = &job};
    size_t row;
    size_t bytes;
    size_t tails;
    set_sizes(&f);
    const size_t workers = o->workers > 1 ? (size_t)o->workers : 1;
    if (!kern_size_mul(f.width, sizeof(double), &row) ||
        !kern_size_add(row, 2 * sizeof(int32_t) + (TRIES + 3) * sizeof(size_t), &row) ||
        !kern_size_mul(row, n_starts, &bytes) || !kern_size_mul(o->tail, map->size, &tails) ||
        !kern_size_mul(tails, workers * sizeof(double), &tails) ||
        !kern_size_add(bytes, tails, &bytes)) {
        return SIZE_MAX;
    }
    return bytes;
}

static kern_status prepare(features *f, kern_error *err)
{
    const dyn_basins_job *job = f->job;
    const size_t n = job->out->n_starts;
    const size_t workers = (size_t)job->workers;
    set_sizes(f);
    if (job->o->tail == 0 || f->width == 0) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "a tail of %zu states described by %zu features; accepted is 1 or more of "
            "both",
            job->o->tail, f->width);
    }
    f->rows = calloc(n * f->width, sizeof *f->rows);
    f->groups = calloc(n, sizeof *f->groups);
    f->members = calloc(n, sizeof *f->members);
    f->tails = calloc(workers * job->o->tail * job->map->size, sizeof *f->tails);
    f->observed = calloc(workers * (f->n_raw + f->n_observed), sizeof *f->observed);
    f->directions = calloc(f->project ? f->n_observed * f->n_raw : 1, sizeof *f->directions);
    if (f->rows == NULL || f->groups == NULL || f->members == NULL || f->tails == NULL ||
        f->observed == NULL || f->directions == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu features of %zu orbits", f->width,
                          n);
    }
    return draw_directions(f, err);
}

static void release(features *f)
{
    for (size_t i = 0; f->found != NULL && i < BATCH; i++) {
        dyn_attractor_fini(&f->found[i]);
    }
    free(f->rows);
    free(f->groups);
    free(f->members);
    free(f->tails);
    free(f->observed);
    free(f->directions);
    free(f->chosen);
    free(f->found);
    free(f->verdicts);
}

static kern_status run(dyn_basins_job *job, kern_error *err)
{
    features f = {.job = job};
    kern_status status = prepare(&f, err);
    if (status == KERN_OK) {
        status = dyn_basins_scan(job, job->out->n_starts, true, scan_start, &f, err);
    }
    if (status == KERN_OK) {
        status = group_rows(&f, err);
    }
    if (status == KERN_OK) {
        status = resolve_groups(&f, err);
    }
    release(&f);
    return status;
}

const dyn_basins_method dyn_basins_features = {
    .name = "features",
    .help = "groups of orbits whose tails look alike, any number of coordinates",
    .cost = cost,
    .run = run};
