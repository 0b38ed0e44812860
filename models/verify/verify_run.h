/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The runner: draws and checks many instances of a claim and says what that shows.
 *
 * Instance t comes from the random stream (seed, claim's name, t) alone, workers write only what
 * belongs to an instance, and everything is gathered in the order of instances. So verdict, worst
 * instance and every number are the same bits for any number of workers. The worst instance is the
 * one that violates before those that do not, then the one of greatest (left − right)/scale, then
 * the earliest; its record is drawn again at the end, and must give the same bits again.
 *
 * A refuted claim stops after the first group of VERIFY_SEARCH instances in which a witness is
 * found; every instance there is sharpened (verify_claim.h), so that what is reported is found by
 * search and not by luck.
 */
#ifndef BASIN_VERIFY_RUN_H
#define BASIN_VERIFY_RUN_H

#include "dyn/dyn_state.h"
#include "models/verify/verify_claim.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VERIFY_BLOCK = 4096, /* instances whose outcomes are held at a time */
    VERIFY_SEARCH = 16   /* the same for a refuted claim */
};

typedef struct verify_options {
    uint64_t seed;
    size_t trials;          /* 0: as the claim says */
    int workers;            /* below 1: one */
    dyn_progress *progress; /* counts instances; may be NULL */
    void *context;
} verify_options;

typedef enum verify_verdict {
    VERIFY_HOLDS,
    VERIFY_FAILS,
    VERIFY_OPEN,          /* a statistic, or no instance to which the statement applies */
    VERIFY_NOT_APPLICABLE /* to this run; nothing was drawn */
} verify_verdict;

/* An extra number (verify_extra) over all instances that have it. */
typedef struct verify_summary {
    const char *name;
    size_t count;
    double worst; /* of the worst instance */
    double least; /* NaN for a count of 0, as the next two */
    double greatest;
    double mean;
} verify_summary;

/* Zero-initialise; release with verify_result_fini. */
typedef struct verify_result {
    const verify_claim *claim;
    verify_verdict verdict;
    const char *reason;     /* why it does not apply or nothing was decided; static; else NULL */
    size_t trials;          /* instances checked, without those skipped */
    size_t skipped;         /* instances that do not meet the preconditions */
    size_t violations;      /* instances that violate */
    size_t worst_trial;     /* number of the worst instance */
    verify_outcome outcome; /* of the worst instance */
    double worst;           /* its (left − right)/scale; NaN when nothing was checked */
    double tolerance;       /* its tolerance/scale */
    bool witness;           /* it violates the statement */
    uint64_t seed;
    verify_record record; /* the worst instance */
    size_t n_extras;
    verify_summary extras[VERIFY_EXTRAS_MAX];
} verify_result;

/* Runs one claim. `subject` is NULL unless the claim needs a run. Errors of the claim;
 * KERN_INTERRUPTED when progress said so; KERN_INVALID_ARGUMENT when a claim turns out not to be a
 * function of its record; KERN_NO_MEMORY. */
kern_status verify_run_claim(const verify_claim *claim, const verify_subject *subject,
                             const verify_options *options, verify_result *result, kern_error *err);

/* Safe on a zeroed result and when called twice. */
void verify_result_fini(verify_result *result);

/* True when the check that was asked for fails: a theorem is violated or was not tested at all, a
 * refuted claim has no witness, and, if `strict`, a property is missing. */
bool verify_result_fails(const verify_result *result, bool strict);

/* Instance `trial` of a claim into `record`, sharpened where the runner would do so. `work` is
 * reset. Errors of the claim. */
kern_status verify_run_draw(const verify_claim *claim, const verify_subject *subject, uint64_t seed,
                            size_t trial, verify_work *work, verify_record *record,
                            kern_error *err);

/* Checks a record; `work` is reset. Errors of the claim. */
kern_status verify_run_check(const verify_claim *claim, const verify_record *record,
                             verify_work *work, verify_outcome *outcome, kern_error *err);

#endif
