/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_climb.h"

#include <math.h>

#define SMALLEST_STRIDE 1e-6

typedef struct climb {
    verify_record *record;
    verify_climb_check *check;
    verify_work *work;
    size_t left; /* of the budget */
    double best; /* −∞ while nothing counts */
} climb;

/* Excess of the record as it stands; −∞ when it does not count. */
static kern_status weigh(climb *c, double *excess, kern_error *err)
{
    verify_outcome outcome = {0};
    const verify_mark mark = verify_work_mark(c->work);
    KERN_TRY(c->check(c->record, c->work, &outcome, err));
    verify_work_rewind(c->work, mark);
    c->left--;
    const bool counts = !outcome.skipped && !isnan(outcome.left - outcome.right);
    *excess = counts ? verify_outcome_excess(&outcome) : -HUGE_VAL;
    return KERN_OK;
}

/* Tries both directions for one number and keeps the better of what it was and what it becomes. */
static kern_status try_number(climb *c, double *number, double step, bool factor, bool *better,
                              kern_error *err)
{
    const double before = *number;
    for (int sign = -1; sign <= 1 && c->left > 0; sign += 2) {
        double excess;
        *number = factor ? before * exp(sign * step) : before + sign * step;
        KERN_TRY(weigh(c, &excess, err));
        if (excess > c->best) {
            c->best = excess;
            *better = true;
            return KERN_OK;
        }
        *number = before;
    }
    return KERN_OK;
}

static kern_status sweep(climb *c, const char *name, double stride, bool *better, kern_error *err)
{
    const verify_entry *entry = verify_record_find(c->record, name);
    double *values = NULL;
    double square = 0.0;
    if (entry == NULL) {
        return KERN_OK;
    }
    const size_t n = entry->rows * entry->cols;
    KERN_TRY(verify_record_edit(c->record, name, entry->rows, entry->cols, &values, err));
    for (size_t i = 0; i < n; i++) {
        square += values[i] * values[i] / (double)n;
    }
    for (size_t i = 0; i < n && c->left > 0; i++) {
        const double step = n == 1 ? stride : stride * sqrt(square);
        KERN_TRY(try_number(c, &values[i], step, n == 1, better, err));
    }
    return KERN_OK;
}

kern_status verify_climb(verify_record *record, const char *const *names, verify_climb_check *check,
                         verify_work *work, size_t budget, kern_error *err)
{
    climb c = {.record = record, .check = check, .work = work, .left = budget + 1};
    KERN_TRY(weigh(&c, &c.best, err));
    for (double stride = 0.25; c.left > 0 && stride > SMALLEST_STRIDE;) {
        bool better = false;
        for (size_t k = 0; names[k] != NULL; k++) {
            KERN_TRY(sweep(&c, names[k], stride, &better, err));
        }
        stride *= better ? 1.0 : 0.5;
    }
    return KERN_OK;
}
