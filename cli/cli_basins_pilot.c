/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What `basin basins --dry-run` computes: how long the run would take, within a few seconds.
 */
#include "cli/cli_basins.h"

#include "cli/cli_progress.h"
#include "dyn/dyn_orbit.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PILOT_STARTS = 100, /* that are followed at first, and so many times as many then */
    PILOT_GROWTH = 4,
    TIMED_STEPS = 2000,
    ASSUMED_STEPS = 1000 /* of a start, where none is followed and its length is not an option */
};

/* Seconds: that steps are timed for, and that starts are followed for. */
#define TIMED_FOR 0.2
#define PILOT_FOR 3.0

/* Longest step, in seconds, with which starts are followed: a verification takes some ten thousand
 * steps and cannot be stopped within. */
#define PILOT_STEP 1e-5

/* Seconds of one step, from the map's start on. */
static kern_status time_step(const dyn_map *map, double *seconds, kern_error *err)
{
    dyn_map *own = NULL;
    size_t n = 0;
    double passed = 0.0;
    KERN_TRY(map->kind->clone(&own, map, err));
    double *x = calloc(map->size, sizeof *x);
    if (x == NULL) {
        dyn_map_destroy(own);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu coordinates", map->size);
    }
    memcpy(x, own->start, map->size * sizeof *x);
    const double begun = cli_progress_now();
    while (n < TIMED_STEPS && passed < TIMED_FOR) {
        own->kind->step(own, x, x);
        n++;
        passed = cli_progress_now() - begun;
        /* Numbers that are none may take longer. */
        if (dyn_state_check(x, map->size, DYN_DIVERGED) != KERN_OK) {
            memcpy(x, own->start, map->size * sizeof *x);
        }
    }
    *seconds = passed / (double)n;
    free(x);
    dyn_map_destroy(own);
    return KERN_OK;
}

/* A run that is stopped when its time is over. */
typedef struct pilot {
    double begun, until;
    size_t done; /* starts, when it was last asked */
    double passed;
} pilot;

static bool watch_pilot(void *context, size_t done, size_t total)
{
    pilot *p = context;
    const double now = cli_progress_now();
    (void)total;
    p->done = kern_size_max(p->done, done);
    p->passed = now - p->begun;
    return now < p->until;
}

/* Follows n starts, or as many as there is time for. */
static kern_status follow_starts(const cli_basins_job *job, size_t n, pilot *p, kern_error *err)
{
    dyn_basins_options o = job->o;
    dyn_basins found;
    o.starts.kind = DYN_BASIN_RANDOM;
    o.starts.n = n;
    o.progress = watch_pilot;
    o.context = p;
    p->begun = cli_progress_now();
    p->done = 0;
    const kern_status status = dyn_basins_init(&found, job->system.map, &o, err);
    p->passed = cli_progress_now() - p->begun;
    p->done = status == KERN_OK ? n : p->done;
    dyn_basins_fini(&found);
    return status;
}

/* Seconds of a run by a small one and one that takes twice as long, whose difference leaves out
 * what is done once: looking for attractors. NaN when not one start was done in time. */
static kern_status follow_some(const cli_basins_job *job, double *seconds, kern_error *err)
{
    pilot p = {.until = cli_progress_now() + PILOT_FOR};
    double few = 0.0;
    kern_error why = {0};
    size_t n = PILOT_STARTS;
    kern_status status = follow_starts(job, n, &p, &why);
    few = p.passed;
    while (status == KERN_OK && n < job->n_starts && p.passed < 2.0 * few) {
        n *= PILOT_GROWTH;
        status = follow_starts(job, n, &p, &why);
    }
    if (status != KERN_OK && status != KERN_INTERRUPTED) {
        return kern_raise(err, status, "%s", why.text);
    }
    const double all = (double)job->n_starts;
    if (status == KERN_INTERRUPTED) {
        *seconds = p.done > 0 ? p.passed / (double)p.done * all : (double)NAN;
    } else {
        const double each = fmax(0.0, p.passed - few) / (double)n;
        *seconds = n > PILOT_STARTS ? few + each * all : few;
    }
    return KERN_OK;
}

/* Steps that a start is taken to have. */
static size_t assume_steps(const cli_basins_job *job)
{
    const dyn_basins_options *o = &job->o;
    return strcmp(dyn_basins_methods[o->method]->name, "features") == 0
               ? o->settle + o->tail
               : kern_size_min(o->horizon, ASSUMED_STEPS);
}

kern_status cli_basins_estimate_time(cli_basins_job *job, kern_error *err)
{
    const double columns = job->s->vary.name != NULL ? (double)job->s->vary.n : 1.0;
    job->seconds = (double)NAN;
    job->assumed = 0;
    KERN_TRY(time_step(job->system.map, &job->step_seconds, err));
    if (job->step_seconds <= PILOT_STEP) {
        KERN_TRY(follow_some(job, &job->seconds, err));
    }
    if (isnan(job->seconds)) {
        const size_t workers = kern_size_min((size_t)job->o.workers, job->n_starts);
        job->assumed = assume_steps(job);
        job->seconds = (double)job->n_starts * (double)job->assumed * job->step_seconds /
                       (double)kern_size_max(workers, 1);
    }
    job->seconds *= columns;
    return KERN_OK;
}
