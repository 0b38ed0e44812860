/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Basins by the distance to attractors; see dyn_basins.h.
 */
#include "dyn/dyn_basins_internal.h"

#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scouts whose attractors are held before they are compared: attractors hold many states. */
enum { BATCH = 16 };

typedef struct proximity {
    dyn_basins_job *job;
    dyn_attractor *found; /* BATCH, by scout; without points where there is none */
    size_t first;         /* scout of the present batch */
    double *x;            /* workers × size */
} proximity;

/* ---- Attractors --------------------------------------------------------------------------- */

/* Follows a scout until it is verified or lost. */
static kern_status scan_scout(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    proximity *p = context;
    const dyn_basins_options *o = p->job->o;
    double *x = p->x + (size_t)worker * map->size;
    dyn_judgement verdict = DYN_JUDGED_PASSING;
    size_t steps = 0;
    dyn_basins_get_scout(p->job, p->first + item, o->search, x);
    while (verdict != DYN_JUDGED_ATTRACTOR && verdict != DYN_JUDGED_LOST && steps < o->horizon) {
        /* A scout that starts on no state would not be seen as lost when ttr is 0. */
        if (dyn_basins_judge(map, x) != DYN_BASIN_UNDONE) {
            return KERN_OK;
        }
        KERN_TRY(dyn_attractor_verify(&p->found[item], &verdict, map, x, &steps, &o->verify, err));
    }
    return KERN_OK;
}

static kern_status copy_attractor(dyn_attractor *out, const dyn_attractor *a, size_t size,
                                  kern_error *err)
{
    *out = *a;
    out->count = 0;
    out->points = calloc(a->n_points * size + 1, sizeof *out->points);
    if (out->points == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for an attractor of %zu points",
                          a->n_points);
    }
    if (a->n_points > 0) {
        memcpy(out->points, a->points, a->n_points * size * sizeof *out->points);
    }
    return KERN_OK;
}

static kern_status take_given(proximity *p, kern_error *err)
{
    const dyn_basins_options *o = p->job->o;
    int32_t id;
    for (size_t i = 0; i < o->n_given; i++) {
        dyn_attractor a;
        if (o->given[i].n_points == 0) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "attractor %zu that is given has no points; accepted is 1 or more",
                              i + 1);
        }
        KERN_TRY(copy_attractor(&a, &o->given[i], p->job->map->size, err));
        KERN_TRY(dyn_basins_add(p->job, &a, &id, err));
    }
    return KERN_OK;
}

static kern_status enter_batch(proximity *p, size_t n, kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int32_t id;
        if (p->found[i].n_points > 0 && dyn_basins_match_known(p->job, &p->found[i]) == 0) {
            KERN_TRY(dyn_basins_add(p->job, &p->found[i], &id, err));
        }
        dyn_attractor_fini(&p->found[i]);
    }
    return KERN_OK;
}

static kern_status search(proximity *p, kern_error *err)
{
    dyn_basins_job *job = p->job;
    const size_t n_scouts = dyn_basins_scouts(job, job->o->search);
    if (n_scouts == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "no attractors are given and no starts are searched for them; accepted "
                          "is 1 or more of either");
    }
    p->found = calloc(BATCH, sizeof *p->found);
    if (p->found == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu searches", n_scouts);
    }
    for (p->first = 0; p->first < n_scouts; p->first += BATCH) {
        const size_t n = kern_size_min(BATCH, n_scouts - p->first);
        KERN_TRY(dyn_basins_scan(job, n, false, scan_scout, p, err));
        KERN_TRY(enter_batch(p, n, err));
    }
    return KERN_OK;
}

/* Smallest distance of a point of one attractor to another attractor. */
static double find_separation(const dyn_basins_job *job)
{
    const dyn_basins *out = job->out;
    double least = (double)INFINITY;
    for (size_t i = 0; i < out->n_attractors; i++) {
        const dyn_attractor *a = &out->attractors[i];
        for (size_t k = 0; k < i; k++) {
            for (size_t t = 0; t < a->n_points; t++) {
                least = fmin(least, dyn_attractor_reach(job->map, &out->attractors[k],
                                                        a->points + t * job->map->size));
            }
        }
    }
    return least;
}

static kern_status choose_radius(const dyn_basins_job *job, kern_error *err)
{
    double longest = 0.0;
    job->out->radius = job->o->radius;
    if (job->o->radius > 0.0 || job->out->n_attractors == 0) {
        return KERN_OK;
    }
    for (size_t i = 0; job->low != NULL && i < job->map->size; i++) {
        longest = fmax(longest, job->high[i] - job->low[i]);
    }
    const double separation = find_separation(job);
    job->out->radius = fmin(0.25 * separation, longest > 0.0 ? 0.01 * longest : separation);
    if (!(job->out->radius > 0.0) || !isfinite(job->out->radius)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu attractors at distance %g and no box give no radius; a radius above "
                          "0 must be given",
                          job->out->n_attractors, separation);
    }
    return KERN_OK;
}

/* ---- Starts ------------------------------------------------------------------------------- */

/* Id of the only attractor within the radius of x; 0: none, −1: several. */
static int32_t find_near(const dyn_basins_job *job, const double *x)
{
    int32_t id = 0;
    for (size_t i = 0; i < job->out->n_attractors; i++) {
        if (dyn_attractor_reach(job->map, &job->out->attractors[i], x) <= job->out->radius) {
            if (id != 0) {
                return -1;
            }
            id = (int32_t)i + 1;
        }
    }
    return id;
}

static kern_status scan_start(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    const proximity *p = context;
    const dyn_basins_options *o = p->job->o;
    double *x = p->x + (size_t)worker * map->size;
    dyn_basins_guard guard = {.job = p->job, .map = map};
    dyn_basin_starts starts = o->starts;
    int32_t near = 0;
    size_t kept = 0;
    (void)err;
    starts.size = map->size;
    dyn_basin_starts_get(&starts, item, x);
    int32_t label = dyn_basins_judge(map, x);
    for (size_t t = 0; label == DYN_BASIN_UNDONE && t < o->horizon; t++) {
        const int32_t before = near;
        label = dyn_basins_step(&guard, x);
        near = label == DYN_BASIN_UNDONE ? find_near(p->job, x) : 0;
        kept = near > 0 && near == before ? kept + 1 : 1;
        if (near > 0 && kept >= o->stay) {
            label = near;
        }
    }
    if (label == DYN_BASIN_UNDONE) {
        label = near < 0 ? DYN_BASIN_UNRESOLVED : DYN_BASIN_TIMEOUT;
    }
    p->job->out->labels[item] = label;
    return KERN_OK;
}

static kern_status run_with(proximity *p, kern_error *err)
{
    dyn_basins_job *job = p->job;
    p->x = calloc((size_t)job->workers * job->map->size, sizeof *p->x);
    if (p->x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %d workers", job->workers);
    }
    KERN_TRY(job->o->n_given > 0 ? take_given(p, err) : search(p, err));
    KERN_TRY(choose_radius(job, err));
    return dyn_basins_scan(job, job->out->n_starts, true, scan_start, p, err);
}

static kern_status run(dyn_basins_job *job, kern_error *err)
{
    proximity p = {.job = job};
    const kern_status status = run_with(&p, err);
    for (size_t i = 0; p.found != NULL && i < BATCH; i++) {
        dyn_attractor_fini(&p.found[i]);
    }
    free(p.found);
    free(p.x);
    return status;
}

static size_t cost(const dyn_map *map, const dyn_basins_options *o, size_t n_starts)
{
    (void)map;
    (void)o;
    (void)n_starts;
    return 0;
}

const dyn_basins_method dyn_basins_proximity = {
    .name = "proximity",
    .help = "orbits that keep near attractors found before, any number of coordinates",
    .cost = cost,
    .run = run};
