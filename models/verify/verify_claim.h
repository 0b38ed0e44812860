/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A claim: a statement about one instance, which a computer can check.
 *
 * Every claim is an entry of one table (verify_table.h). It draws an instance into a record
 * (verify_record.h), at random or from a trained run (verify_subject.h), and it checks a record:
 * it computes two numbers that the statement orders, left ≤ right, from the record alone. The
 * runner (verify_run.h) draws and checks many, keeps the worst, and calls that a witness when it
 * violates the statement; `basin verify --replay` checks a stored record again by the same call.
 *
 * Kinds, and what the verdict means:
 *   theorem    holds: no instance violates it under its stated preconditions;
 *   refuted    a false statement, as its author made it: holds (as a refutation) when an instance
 *              violates it;
 *   property   of a run, which has it or not: holds when no instance violates it;
 *   statistic  numbers only: holds is neither.
 *
 * The tolerance of a check is a bound on the rounding of the two numbers it compares; it is derived
 * in the claim's file, and never chosen so that a claim passes.
 */
#ifndef BASIN_VERIFY_CLAIM_H
#define BASIN_VERIFY_CLAIM_H

#include "kernels/kern_rng.h"
#include "kernels/kern_status.h"
#include "models/verify/verify_record.h"
#include "models/verify/verify_subject.h"
#include "models/verify/verify_work.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum verify_kind {
    VERIFY_THEOREM,
    VERIFY_REFUTED,
    VERIFY_PROPERTY,
    VERIFY_STATISTIC,
    VERIFY_KINDS
} verify_kind;

/* "theorem", "refuted", "property", "statistic"; NULL beyond them. */
const char *verify_kind_word(verify_kind kind);

/* Where instances come from. A claim about mathematics that also has something to say about a run
 * has two entries of the same name, one for each. */
typedef enum verify_needs {
    VERIFY_RANDOM, /* random instances; `draw` gets a NULL subject */
    VERIFY_RUN     /* a trained run */
} verify_needs;

enum { VERIFY_EXTRAS_MAX = 12 };

/* A number beside the two that are compared, such as a rising fraction or an exponent. The runner
 * reports it for the worst instance and its least, greatest and mean value over all instances where
 * it is a number. */
typedef struct verify_extra {
    const char *name; /* static; letters, digits and "_", as a key of JSON */
    double value;     /* NaN: this instance has none */
} verify_extra;

/* What a check found. The runner zeroes it first. All instances of a claim give the same extras, in
 * the same order. */
typedef struct verify_outcome {
    double left;
    double right;
    double tolerance;  /* ≥ 0; of left − right, from rounding */
    double scale;      /* > 0: natural size of left and right, by which instances are compared;
                        * 0 stands for 1 */
    bool skipped;      /* the statement's preconditions do not hold for this instance */
    const char *label; /* NULL, or a static phrase for the verdict on this instance, such as
                        * "within rounding of the certified family" */
    size_t n_extras;
    verify_extra extras[VERIFY_EXTRAS_MAX];
} verify_outcome;

/* Adds an extra number; beyond VERIFY_EXTRAS_MAX it is left out. */
void verify_outcome_add(verify_outcome *outcome, const char *name, double value);

/* Violated: !(left ≤ right + tolerance), so that a number that is not one violates. */
bool verify_outcome_violates(const verify_outcome *outcome);

/* (left − right)/scale, by which the worst instance is found; NaN counts as +∞. */
double verify_outcome_excess(const verify_outcome *outcome);

typedef struct verify_claim {
    const char *name; /* "descent-condition": lower case, digits and "-" */
    verify_kind kind;
    verify_needs needs;
    const char *statement; /* one sentence, with its preconditions; what is false, for a refuted
                            * claim */
    const char *source;    /* author, year and place; for own derivations docs/theory.md and the
                            * section */
    const char *measured;  /* what left and right are: "left: …; right: …" */
    size_t trials;         /* instances by default; of a refuted claim, the most that are tried */
    size_t budget;         /* of sharpen: evaluations, roughly */

    /* NULL, or tells whether the claim has something to say about this run: NULL for yes, else a
     * static sentence that says why not. `subject` is never NULL. */
    const char *(*applies)(const verify_subject *subject);

    /* Fills the empty record with instance `trial`: a pure function of its arguments (of the rng:
     * of its stream). `subject` is NULL for VERIFY_RANDOM. */
    kern_status (*draw)(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err);

    /* Checks a record: a pure function of it. Errors are for records that are not of this claim
     * (KERN_BAD_INPUT), memory and interrupts; a state that leaves every bound gives NaN. */
    kern_status (*check)(const verify_record *record, verify_work *work, verify_outcome *outcome,
                         kern_error *err);

    /* NULL, or moves free parts of the record towards a violation by gradients, eigenvectors or the
     * power method, deterministically and within `budget`. The record stays within the
     * statement's preconditions. Called for every instance of a refuted claim or a property, and
     * for every VERIFY_SHARPEN_STRIDE-th of a theorem, which it tries to break. */
    kern_status (*sharpen)(verify_record *record, verify_work *work, size_t budget,
                           kern_error *err);
} verify_claim;

enum { VERIFY_SHARPEN_STRIDE = 64 };

#endif
