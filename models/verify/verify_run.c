/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_run.h"

#include "dyn/dyn_scan.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one worker has. */
typedef struct run_lane {
    verify_work work;
    verify_record record;
} run_lane;

/* One claim being run. */
typedef struct run_state {
    const verify_claim *claim;
    const verify_subject *subject;
    const verify_options *o;
    dyn_scan_watch watch;
    run_lane *lanes;
    int n_lanes;
    size_t trials;            /* the most that are to be run */
    size_t first;             /* of the present block */
    verify_outcome *outcomes; /* of the block */
    verify_result *result;
    double sums[VERIFY_EXTRAS_MAX];
} run_state;

/* ---- one instance --------------------------------------------------------------------------- */

static bool sharpens(const verify_claim *claim, size_t trial)
{
    return claim->sharpen != NULL &&
           (claim->kind != VERIFY_THEOREM || trial % VERIFY_SHARPEN_STRIDE == 0);
}

kern_status verify_run_draw(const verify_claim *claim, const verify_subject *subject, uint64_t seed,
                            size_t trial, verify_work *work, verify_record *record, kern_error *err)
{
    kern_rng *rng = kern_rng_create(seed, claim->name, trial);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    verify_work_reset(work);
    verify_record_reset(record);
    kern_status status = claim->draw(subject, rng, trial, work, record, err);
    kern_rng_destroy(rng);
    if (status == KERN_OK && sharpens(claim, trial)) {
        verify_work_reset(work);
        status = claim->sharpen(record, work, claim->budget, err);
    }
    return status;
}

kern_status verify_run_check(const verify_claim *claim, const verify_record *record,
                             verify_work *work, verify_outcome *outcome, kern_error *err)
{
    verify_work_reset(work);
    *outcome = (verify_outcome){0};
    return claim->check(record, work, outcome, err);
}

static kern_status run_instance(const run_state *state, run_lane *lane, size_t trial,
                                verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(verify_run_draw(state->claim, state->subject, state->o->seed, trial, &lane->work,
                             &lane->record, err));
    return verify_run_check(state->claim, &lane->record, &lane->work, outcome, err);
}

static kern_status run_item(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    const run_state *state = context;
    (void)map;
    return run_instance(state, &state->lanes[worker], state->first + item, &state->outcomes[item],
                        err);
}

/* ---- gathering, in the order of instances -----------------------------------------------------
 */

static bool is_worse(const verify_outcome *a, const verify_outcome *b)
{
    const bool violates = verify_outcome_violates(a);
    if (violates != verify_outcome_violates(b)) {
        return violates;
    }
    return verify_outcome_excess(a) > verify_outcome_excess(b);
}

static void gather_extras(run_state *state, const verify_outcome *outcome)
{
    verify_result *r = state->result;
    r->n_extras = kern_size_max(r->n_extras, outcome->n_extras);
    for (size_t i = 0; i < outcome->n_extras; i++) {
        const double value = outcome->extras[i].value;
        verify_summary *s = &r->extras[i];
        s->name = outcome->extras[i].name;
        if (isnan(value)) {
            continue;
        }
        s->least = s->count == 0 || value < s->least ? value : s->least;
        s->greatest = s->count == 0 || value > s->greatest ? value : s->greatest;
        s->count++;
        state->sums[i] += value;
    }
}

static void gather(run_state *state, size_t count)
{
    verify_result *r = state->result;
    for (size_t i = 0; i < count; i++) {
        const verify_outcome *outcome = &state->outcomes[i];
        if (outcome->skipped) {
            r->skipped++;
            continue;
        }
        gather_extras(state, outcome);
        r->violations += verify_outcome_violates(outcome);
        if (r->trials == 0 || is_worse(outcome, &r->outcome)) {
            r->outcome = *outcome;
            r->worst_trial = state->first + i;
        }
        r->trials++;
    }
}

static void summarise(run_state *state)
{
    verify_result *r = state->result;
    for (size_t i = 0; i < r->n_extras; i++) {
        verify_summary *s = &r->extras[i];
        s->worst = i < r->outcome.n_extras ? r->outcome.extras[i].value : (double)NAN;
        s->mean = s->count > 0 ? state->sums[i] / (double)s->count : (double)NAN;
        if (s->count == 0) {
            s->least = (double)NAN;
            s->greatest = (double)NAN;
        }
    }
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Draws the worst instance again and keeps its record. */
static kern_status recall_worst(run_state *state, kern_error *err)
{
    verify_result *r = state->result;
    run_lane *lane = &state->lanes[0];
    verify_outcome again;
    KERN_TRY(run_instance(state, lane, r->worst_trial, &again, err));
    if (!same_bits(again.left, r->outcome.left) || !same_bits(again.right, r->outcome.right)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "claim %s is no function of its record: instance %zu gave %.17g against "
                          "%.17g, then %.17g against %.17g",
                          state->claim->name, r->worst_trial, r->outcome.left, r->outcome.right,
                          again.left, again.right);
    }
    return verify_record_copy(&r->record, &lane->record, err);
}

static void judge(verify_result *r)
{
    const double scale = r->outcome.scale > 0.0 ? r->outcome.scale : 1.0;
    if (r->trials == 0) {
        r->verdict = VERIFY_OPEN;
        r->reason = "no instance met the preconditions";
        r->worst = (double)NAN;
        r->tolerance = (double)NAN;
        return;
    }
    r->worst = verify_outcome_excess(&r->outcome);
    r->tolerance = r->outcome.tolerance / scale;
    r->witness = r->violations > 0 && r->claim->kind != VERIFY_STATISTIC;
    const bool holds = (r->claim->kind == VERIFY_REFUTED) == (r->violations > 0);
    if (r->claim->kind == VERIFY_STATISTIC) {
        r->verdict = VERIFY_OPEN;
    } else {
        r->verdict = holds ? VERIFY_HOLDS : VERIFY_FAILS;
    }
}

/* ---- all instances -------------------------------------------------------------------------- */

/* Progress of the scan of one block, told as that of all blocks. */
static bool report(void *context, size_t done, size_t total)
{
    run_state *state = context;
    (void)total;
    return dyn_scan_report(&state->watch, state->first + done, state->trials);
}

static bool goes_on(void *context, int worker)
{
    run_state *state = context;
    return dyn_scan_goes_on(&state->watch, worker);
}

static kern_status run_blocks(run_state *state, kern_error *err)
{
    const bool search = state->claim->kind == VERIFY_REFUTED;
    const size_t block = search ? VERIFY_SEARCH : VERIFY_BLOCK;
    for (size_t first = 0; first < state->trials; first += block) {
        const size_t count = kern_size_min(block, state->trials - first);
        const dyn_scan_options scan = {.items = count,
                                       .grain = count == VERIFY_BLOCK ? 16 : 1,
                                       .workers = state->n_lanes,
                                       .progress = report,
                                       .context = state};
        state->first = first;
        KERN_TRY(dyn_scan_run(NULL, &scan, run_item, state, err));
        gather(state, count);
        if (search && state->result->violations > 0) {
            break;
        }
    }
    summarise(state);
    return state->result->trials > 0 ? recall_worst(state, err) : KERN_OK;
}

static kern_status make_lanes(run_state *state, kern_error *err)
{
    const size_t block = state->claim->kind == VERIFY_REFUTED ? VERIFY_SEARCH : VERIFY_BLOCK;
    const size_t held = kern_size_max(1, kern_size_min(block, state->trials));
    state->n_lanes = state->o->workers > 1 ? state->o->workers : 1;
    state->lanes = calloc((size_t)state->n_lanes, sizeof *state->lanes);
    state->outcomes = calloc(held, sizeof *state->outcomes);
    if (state->lanes == NULL || state->outcomes == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory to verify %s with %d threads",
                          state->claim->name, state->n_lanes);
    }
    for (int i = 0; i < state->n_lanes; i++) {
        verify_work *work = &state->lanes[i].work;
        work->goes_on = goes_on;
        work->context = state;
        work->worker = i;
    }
    return KERN_OK;
}

static void release_lanes(run_state *state)
{
    for (int i = 0; state->lanes != NULL && i < state->n_lanes; i++) {
        verify_work_fini(&state->lanes[i].work);
        verify_record_fini(&state->lanes[i].record);
    }
    free(state->lanes);
    free(state->outcomes);
}

kern_status verify_run_claim(const verify_claim *claim, const verify_subject *subject,
                             const verify_options *options, verify_result *result, kern_error *err)
{
    verify_result_fini(result);
    if ((claim->needs == VERIFY_RUN) != (subject != NULL)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "claim %s is about %s", claim->name,
                          claim->needs == VERIFY_RUN ? "a trained run, and there is none"
                                                     : "random instances, not about a run");
    }
    result->claim = claim;
    result->seed = options->seed;
    result->reason = subject != NULL && claim->applies != NULL ? claim->applies(subject) : NULL;
    if (result->reason != NULL) {
        result->verdict = VERIFY_NOT_APPLICABLE;
        result->worst = (double)NAN;
        result->tolerance = (double)NAN;
        return KERN_OK;
    }
    run_state state = {.claim = claim,
                       .subject = subject,
                       .o = options,
                       .watch = {.progress = options->progress, .context = options->context},
                       .trials = options->trials > 0 ? options->trials : claim->trials,
                       .result = result};
    kern_status status = make_lanes(&state, err);
    if (status == KERN_OK) {
        status = run_blocks(&state, err);
    }
    release_lanes(&state);
    if (status == KERN_OK) {
        judge(result);
    } else {
        verify_result_fini(result);
    }
    return status;
}

void verify_result_fini(verify_result *result)
{
    verify_record_fini(&result->record);
    *result = (verify_result){0};
}

bool verify_result_fails(const verify_result *result, bool strict)
{
    const verify_kind kind = result->claim->kind;
    if (result->verdict == VERIFY_NOT_APPLICABLE || kind == VERIFY_STATISTIC) {
        return false;
    }
    const bool counts = kind != VERIFY_PROPERTY || strict;
    const bool untested = result->verdict == VERIFY_OPEN && result->claim->needs == VERIFY_RANDOM;
    return counts && (result->verdict == VERIFY_FAILS || untested);
}
