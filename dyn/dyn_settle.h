/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * When each block of a causal map comes to rest, and how long after those before it.
 *
 * Followed for `horizon` T steps, block A has settled at the first step t from which on it stays
 * within `tol` of where it is at T: |z_A(s) − z_A(T)|/√w ≤ tol for all s ≥ t, z_A the block's
 * direction where the map has a gauge (dyn_chart_split; the scale grows for ever) and the block
 * itself otherwise, w the block's width. The last step is always within the tolerance of itself, so
 * a block counts as settled only when the second half of the horizon confirms it, t ≤ T/2. Behind a
 * norm directions converge like a power of t, and the time found depends on the horizon; a chart
 * with pinned scales converges exponentially. A block on a cycle, or chaotic, does not settle.
 *
 * The cascade delay is the time from when the slowest block before has settled: what the block
 * takes on its own, negative when it is first.
 */
#ifndef BASIN_DYN_SETTLE_H
#define BASIN_DYN_SETTLE_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct dyn_settle_options {
    size_t horizon;         /* T, at least 2 */
    double tol;             /* more than 0 */
    dyn_progress *progress; /* counts steps, 2T in all; may be NULL */
    void *context;
} dyn_settle_options;

typedef struct dyn_settle_block {
    kern_status status;       /* KERN_OK; KERN_TIMEOUT: not settled; KERN_DIVERGED, KERN_NAN */
    size_t time;              /* t; for KERN_TIMEOUT the last step that was farther away, plus 1 */
    bool has_delay;           /* block A > 0, and it and all before it have settled */
    long long delay;          /* time minus the largest time of the blocks before */
    long long delay_previous; /* time minus that of block A − 1 */
} dyn_settle_block;

typedef struct dyn_settle {
    size_t horizon;
    double tol;
    size_t n_blocks;
    size_t n_settled;
    dyn_settle_block *blocks; /* owned */
} dyn_settle;

/* From `start` (map->size numbers; NULL: the map's start). *out is initialised here and released
 * with dyn_settle_fini, which is harmless after a failure. The orbit is run twice, so that memory
 * is three states whatever the horizon. KERN_INVALID_ARGUMENT for options outside their domain,
 * KERN_INTERRUPTED, KERN_NO_MEMORY. */
kern_status dyn_settle_init(dyn_settle *out, dyn_map *map, const double *start,
                            const dyn_settle_options *options, kern_error *err);
void dyn_settle_fini(dyn_settle *out);

#endif
