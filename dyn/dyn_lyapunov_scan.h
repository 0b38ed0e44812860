/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lyapunov exponents against a parameter: independent orbits, one for each of its values, spread
 * over workers.
 */
#ifndef BASIN_DYN_LYAPUNOV_SCAN_H
#define BASIN_DYN_LYAPUNOV_SCAN_H

#include "dyn/dyn_lyapunov.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct dyn_lyapunov_scan_options {
    const char *vary;        /* parameter */
    double from, to;         /* its first and last value, evenly spaced between */
    size_t n;                /* values, at least 1; a single one is at `from` */
    const double *x0;        /* start of every orbit, map->size numbers; NULL: the map's start */
    dyn_lyapunov_options at; /* of every value; its workers and progress are not used */
    int workers;
    dyn_progress *progress; /* counts values; may be NULL */
    void *context;
} dyn_lyapunov_scan_options;

/* 200 values by one worker, and the defaults of dyn_lyapunov.h. */
dyn_lyapunov_scan_options dyn_lyapunov_scan_options_default(void);

/* What dyn_lyapunov.h tells of one value. */
typedef struct dyn_lyapunov_point {
    double parameter;
    kern_status status;
    size_t failed_step;
    bool collapsed;
    const double *exponents;       /* k, in the scan's memory */
    const double *standard_errors; /* k */
    double mean_log_abs_det;
    kern_status kaplan_yorke_status;
    double kaplan_yorke, kaplan_yorke_low, kaplan_yorke_high;
} dyn_lyapunov_point;

typedef struct dyn_lyapunov_scan {
    size_t n, k;
    dyn_lyapunov_point *points; /* n, owned */
    double *exponents;          /* n × k, owned */
    double *standard_errors;    /* n × k, owned */
} dyn_lyapunov_scan;

/* Computes the scan on clones of `map`, which stays as it is. *out is initialised here and released
 * with dyn_lyapunov_scan_fini, which is harmless after a failure. Equal options give equal bits for
 * any number of workers. KERN_INVALID_ARGUMENT for an unknown or settled parameter, ends that are
 * not finite, no values, and as dyn_lyapunov_init; KERN_INTERRUPTED; KERN_OVERFLOW; KERN_NO_MEMORY.
 * A lost orbit is an outcome of its value. Cost: n times that of dyn_lyapunov_init. */
kern_status dyn_lyapunov_scan_init(dyn_lyapunov_scan *out, const dyn_map *map,
                                   const dyn_lyapunov_scan_options *options, kern_error *err);
void dyn_lyapunov_scan_fini(dyn_lyapunov_scan *out);

#endif
