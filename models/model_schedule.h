/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Learning rate against the step number.
 */
#ifndef BASIN_MODEL_SCHEDULE_H
#define BASIN_MODEL_SCHEDULE_H

#include "kernels/kern_status.h"

#include <stddef.h>

typedef enum model_schedule_kind {
    MODEL_SCHEDULE_CONSTANT,
    MODEL_SCHEDULE_COSINE,
    MODEL_SCHEDULE_EXPONENTIAL
} model_schedule_kind;

typedef struct model_schedule {
    model_schedule_kind kind;
    double peak;   /* rate after the warm-up */
    double floor;  /* rate at step `total`; the constant schedule ignores it */
    size_t warmup; /* steps of linear rise from 0 */
    size_t total;  /* steps in all */
} model_schedule;

/* Rate of step t = 0, 1, …: peak·(t+1)/warmup while t < warmup; after it, with
 * u = (t − warmup)/(total − warmup) held at 1 beyond the end,
 *   constant     peak
 *   cosine       floor + (peak − floor)(1 + cos πu)/2
 *   exponential  peak·(floor/peak)^u */
double model_schedule_rate(const model_schedule *schedule, size_t step);

/* KERN_INVALID_ARGUMENT unless peak is positive and finite, 0 ≤ floor ≤ peak (0 < floor when
 * exponential), and the warm-up is no longer than the run. */
kern_status model_schedule_check(const model_schedule *schedule, kern_error *err);

const char *model_schedule_word(model_schedule_kind kind);
kern_status model_schedule_parse(model_schedule_kind *out, const char *word, kern_error *err);

#endif
