/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the methods that find basins share.
 */
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
