/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one place that knows about threads (OpenMP inside, or none when built without it).
 *
 * Work is split over independent items; each worker writes only what it owns, and whatever is
 * combined afterwards is combined serially in a fixed order, so results depend on the number of
 * workers at most, never on scheduling.
 */
#ifndef BASIN_KERN_PARALLEL_H
#define BASIN_KERN_PARALLEL_H

#include <stddef.h>

/* Body of a parallel section: `worker` runs from 0 to `workers` − 1. */
typedef void kern_parallel_body(void *context, int worker, int workers);

/* Runs `body` once for each of `workers` workers and waits for all of them. One worker, or a call
 * from inside another parallel section, runs in the calling thread: the workers one after another,
 * so that the split and thus the result stay the same. */
void kern_parallel_run(int workers, kern_parallel_body *body, void *context);

/* Share of worker `worker` of `n` items in chunks that are multiples of `grain`: the half-open
 * range
 * [*begin, *end), possibly empty. */
void kern_parallel_share(size_t n, size_t grain, int worker, int workers, size_t *begin,
                         size_t *end);

/* Makes libraries that size their own OpenMP teams use one thread unless told otherwise, since
 * Basin splits work itself. OpenMP keeps that for every thread that a program makes by itself:
 * kern_runtime_init calls this for its own, and every other one calls it first, or its BLAS would
 * split sums and give other bits. */
void kern_parallel_init(void);

/* Number of processors available to this process, at least 1. */
int kern_parallel_processors(void);

#endif
