/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_scan.h"

#include "kernels/kern_parallel.h"
#include "kernels/kern_size.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

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

/* Only the first worker reports, since it runs in the calling thread. */
static void report(scan_run *run, int worker, size_t done)
{
    if (worker == 0 && run->o->progress != NULL &&
        !run->o->progress(run->o->context, done, run->o->items)) {
        atomic_store(&run->interrupted, true);
        atomic_store(&run->stop, true);
    }
}

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
    report(run, worker, end);
}

static void run_lane(void *context, int worker, int workers)
{
    scan_run *run = context;
    (void)workers;
    while (!atomic_load(&run->stop)) {
        const size_t begin = atomic_fetch_add(&run->next, run->grain);
        if (begin >= run->o->items) {
            return;
        }
        run_items(run, worker, begin, kern_size_min(begin + run->grain, run->o->items));
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
