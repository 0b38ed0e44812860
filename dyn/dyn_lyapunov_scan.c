/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_lyapunov_scan.h"

#include "dyn/dyn_param_range.h"
#include "dyn/dyn_scan.h"
#include "kernels/kern_size.h"

#include <stdlib.h>
#include <string.h>

typedef struct scan_run {
    dyn_param_range range;
    const double *x0;
    dyn_lyapunov_options at;
    dyn_lyapunov_scan *out;
} scan_run;

dyn_lyapunov_scan_options dyn_lyapunov_scan_options_default(void)
{
    return (dyn_lyapunov_scan_options){
        .n = 200, .at = dyn_lyapunov_options_default(), .workers = 1};
}

void dyn_lyapunov_scan_fini(dyn_lyapunov_scan *out)
{
    free(out->points);
    free(out->exponents);
    free(out->standard_errors);
    *out = (dyn_lyapunov_scan){0};
}

static kern_status run_item(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    const scan_run *run = context;
    const size_t k = run->at.k;
    double *exponents = run->out->exponents + item * k;
    double *errors = run->out->standard_errors + item * k;
    dyn_lyapunov l;
    (void)worker;
    const double parameter = dyn_param_range_set(&run->range, map, item);
    KERN_TRY(dyn_lyapunov_init(&l, map, run->x0, &run->at, err));
    memcpy(exponents, l.exponents, k * sizeof *exponents);
    memcpy(errors, l.standard_errors, k * sizeof *errors);
    run->out->points[item] = (dyn_lyapunov_point){.parameter = parameter,
                                                  .status = l.status,
                                                  .failed_step = l.failed_step,
                                                  .collapsed = l.collapsed,
                                                  .exponents = exponents,
                                                  .standard_errors = errors,
                                                  .mean_log_abs_det = l.mean_log_abs_det,
                                                  .kaplan_yorke_status = l.kaplan_yorke_status,
                                                  .kaplan_yorke = l.kaplan_yorke,
                                                  .kaplan_yorke_low = l.kaplan_yorke_low,
                                                  .kaplan_yorke_high = l.kaplan_yorke_high};
    dyn_lyapunov_fini(&l);
    return KERN_OK;
}

static kern_status allocate(dyn_lyapunov_scan *out, size_t n, size_t k, kern_error *err)
{
    size_t count = 0;
    if (!kern_size_mul(n, k, &count)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu values of %zu exponents are too many", n, k);
    }
    *out = (dyn_lyapunov_scan){.n = n, .k = k};
    out->points = calloc(n, sizeof *out->points);
    out->exponents = calloc(count, sizeof *out->exponents);
    out->standard_errors = calloc(count, sizeof *out->standard_errors);
    return out->points != NULL && out->exponents != NULL && out->standard_errors != NULL
               ? KERN_OK
               : kern_raise(err, KERN_NO_MEMORY, "no memory for %zu values of %zu exponents", n, k);
}

static kern_status compute(scan_run *run, const dyn_map *map, const dyn_lyapunov_scan_options *o,
                           kern_error *err)
{
    const dyn_scan_options scan = {
        .items = o->n, .workers = o->workers, .progress = o->progress, .context = o->context};
    if (o->n == 0 || o->at.k == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a scan of %zu exponents at %zu values of a parameter is empty; accepted "
                          "is 1 or more of both",
                          o->at.k, o->n);
    }
    KERN_TRY(dyn_param_range_init(&run->range, map, o->vary, o->from, o->to, o->n, err));
    KERN_TRY(allocate(run->out, o->n, o->at.k, err));
    return dyn_scan_run(map, &scan, run_item, run, err);
}

kern_status dyn_lyapunov_scan_init(dyn_lyapunov_scan *out, const dyn_map *map,
                                   const dyn_lyapunov_scan_options *options, kern_error *err)
{
    scan_run run = {
        .x0 = options->x0 != NULL ? options->x0 : map->start, .at = options->at, .out = out};
    *out = (dyn_lyapunov_scan){0};
    /* Workers are spent on values. */
    run.at.workers = 1;
    run.at.progress = NULL;
    const kern_status status = compute(&run, map, options, err);
    if (status != KERN_OK) {
        dyn_lyapunov_scan_fini(out);
    }
    return status;
}
