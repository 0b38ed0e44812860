/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L

#include "dyn/dyn_scan.h"

#include "kernels/kern_parallel.h"
#include "kernels/kern_size.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* How long the first worker sleeps when nothing is left for it, in nanoseconds: at first, so that a
 * short scan ends at once, and at most, so that an interrupt is noticed at once. */
enum { NAP_FIRST = 20000, NAP_LONGEST = 20000000 };

/* What one worker has. */
typedef struct scan_lane {
    dyn_map *map;
    kern_error error;
    size_t failed; /* item that failed; SIZE_MAX: none */
} scan_lane;

typedef struct scan_run {
    const dyn_scan_options *o;
    dyn_scan_body *body;
    void *context;
    scan_lane *lanes;
    size_t grain;
    atomic_size_t next; /* first item not handed out yet */
    atomic_size_t done; /* items finished, by any worker */
    size_t reported;    /* of them, at the last report */
    atomic_bool stop;
    atomic_bool interrupted;
} scan_run;

int dyn_scan_workers(const dyn_scan_options *options)
{
    const int workers = options->workers > 1 ? options->workers : 1;
    if ((size_t)workers <= options->items) {
        return workers;
    }
    return options->items > 0 ? (int)options->items : 1;
}

/* The first worker alone reports, since it runs in the calling thread; it counts for all. */
static void report(scan_run *run)
{
    const size_t done = atomic_load(&run->done);
    if (run->o->progress == NULL) {
        return;
    }
    run->reported = done;
    if (!run->o->progress(run->o->context, done, run->o->items)) {
        atomic_store(&run->interrupted, true);
        atomic_store(&run->stop, true);
    }
}

/* Counts what is done once a chunk: workers that write one counter at every short item wait for
 * each other's cache line longer than they work. */
static void run_items(scan_run *run, int worker, size_t begin, size_t end)
{
    scan_lane *lane = &run->lanes[worker];
    for (size_t item = begin; item < end && !atomic_load(&run->stop); item++) {
        if (run->body(run->context, lane->map, worker, item, &lane->error) != KERN_OK) {
            lane->failed = item;
            atomic_store(&run->stop, true);
            return;
        }
    }
    atomic_fetch_add(&run->done, end - begin);
}

/* The first worker, once every item is handed out, reports until the others are done. They cannot
 * depend on it: what is handed out and not done is being worked on by another thread. */
static void watch_others(scan_run *run)
{
    struct timespec nap = {.tv_nsec = NAP_FIRST};
    while (run->o->progress != NULL && !atomic_load(&run->stop) &&
           atomic_load(&run->done) < run->o->items) {
        (void)nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec < NAP_LONGEST / 2 ? 2 * nap.tv_nsec : NAP_LONGEST;
        if (atomic_load(&run->done) > run->reported || nap.tv_nsec == NAP_LONGEST) {
            report(run);
        }
    }
    if (!atomic_load(&run->stop) && run->reported < run->o->items) {
        report(run);
    }
}

static void run_lane(void *context, int worker, int workers)
{
    scan_run *run = context;
    (void)workers;
    while (!atomic_load(&run->stop)) {
        const size_t begin = atomic_fetch_add(&run->next, run->grain);
        if (begin >= run->o->items) {
            break;
        }
        run_items(run, worker, begin, kern_size_min(begin + run->grain, run->o->items));
        if (worker == 0 && !atomic_load(&run->stop)) {
            report(run);
        }
    }
    if (worker == 0) {
        watch_others(run);
    }
}

static kern_status make_lanes(scan_run *run, const dyn_map *map, int workers, kern_error *err)
{
    run->lanes = calloc((size_t)workers, sizeof *run->lanes);
    if (run->lanes == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a scan by %d workers", workers);
    }
    for (int i = 0; i < workers; i++) {
        run->lanes[i].failed = SIZE_MAX;
        if (map != NULL) {
            KERN_TRY(map->kind->clone(&run->lanes[i].map, map, err));
        }
    }
    return KERN_OK;
}

/* The failure of the smallest item, so that one worker and several tell the same. */
static kern_status judge(const scan_run *run, int workers, kern_error *err)
{
    const scan_lane *first = NULL;
    for (int i = 0; i < workers; i++) {
        const scan_lane *lane = &run->lanes[i];
        if (lane->failed != SIZE_MAX && (first == NULL || lane->failed < first->failed)) {
            first = lane;
        }
    }
    if (first != NULL) {
        return kern_raise(err, first->error.status, "%s", first->error.text);
    }
    if (atomic_load(&run->interrupted)) {
        return kern_raise(err, KERN_INTERRUPTED, "stopped before all %zu items were done",
                          run->o->items);
    }
    return KERN_OK;
}

kern_status dyn_scan_run(const dyn_map *map, const dyn_scan_options *options, dyn_scan_body *body,
                         void *context, kern_error *err)
{
    const int workers = dyn_scan_workers(options);
    scan_run run = {.o = options,
                    .body = body,
                    .context = context,
                    .grain = options->grain > 0 ? options->grain : 1};
    kern_status status = make_lanes(&run, map, workers, err);
    if (status == KERN_OK) {
        kern_parallel_run(workers, run_lane, &run);
        status = judge(&run, workers, err);
    }
    for (int i = 0; run.lanes != NULL && i < workers; i++) {
        dyn_map_destroy(run.lanes[i].map);
    }
    free(run.lanes);
    return status;
}

/* ---- Long items --------------------------------------------------------------------------- */

bool dyn_scan_report(void *context, size_t done, size_t total)
{
    dyn_scan_watch *watch = context;
    watch->done = done;
    watch->total = total;
    if (watch->progress != NULL && !watch->progress(watch->context, done, total)) {
        atomic_store(&watch->stop, true);
    }
    return !atomic_load(&watch->stop);
}

bool dyn_scan_goes_on(dyn_scan_watch *watch, int worker)
{
    /* Progress functions are called from the calling thread only, which is the first worker's. */
    return worker == 0 ? dyn_scan_report(watch, watch->done, watch->total)
                       : !atomic_load(&watch->stop);
}
