/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_newton.h"

#include "dyn/dyn_deflation.h"
#include "dyn/dyn_orbit.h"
#include "dyn/dyn_state.h"

#include <math.h>
#include <string.h>

enum {
    HALVINGS = 30, /* of a step before it is given up */
    POLISH = 3     /* steps after convergence */
};

/* Part of the decrease that the linear model predicts which a step must bring. */
#define ARMIJO 1e-4

/* Forcing terms: the first, the largest, and that of steps after convergence. */
#define FORCING_FIRST   0.5
#define FORCING_LARGEST 0.9
#define FORCING_POLISH  1e-3

/* One solution under way. */
typedef struct newton_run {
    dyn_newton *n;
    double *states;
    size_t period;
    const dyn_chain_goal *goal;
    double first;   /* largest of the first states */
    double norm;    /* |G|₂ */
    double forcing; /* η of the next system */
} newton_run;

/* Moves along the step, halved until |G|₂ is at most (1 − `least` · part) of what it is. False,
 * with the states as they were, when no such part was found in `halvings` trials. */
static bool search_line(newton_run *r, int halvings, double least)
{
    const size_t n = r->period * r->n->map->size;
    double *trial = r->n->trial;
    double part = 1.0;
    for (int i = 0; i < halvings; i++, part *= 0.5) {
        for (size_t j = 0; j < n; j++) {
            trial[j] = r->states[j] - part * r->n->step[j];
        }
        const double next = dyn_chain_gap(r->n->map, trial, r->period, r->n->gap);
        if (next <= (1.0 - least * part) * r->norm) {
            memcpy(r->states, trial, n * sizeof *trial);
            r->norm = next;
            return true;
        }
    }
    (void)dyn_chain_gap(r->n->map, r->states, r->period, r->n->gap);
    return false;
}

/* Takes the whole deflated step, which may be longer than Newton's or lead the other way. It is not
 * made to lower anything: m|G| has poles at the known solutions, and a descent could not get past
 * them to what lies behind. False when it leads nowhere. */
static bool leap(newton_run *r)
{
    const size_t n = r->period * r->n->map->size;
    /* The states move by −step, which turns the sign of the slope. */
    const double slope = dyn_deflation_slope(r->goal->deflation, r->states, r->period, r->n->step);
    const double factor = 1.0 / (1.0 + slope);
    for (size_t j = 0; j < n; j++) {
        r->states[j] -= factor * r->n->step[j];
    }
    r->norm = dyn_chain_gap(r->n->map, r->states, r->period, r->n->gap);
    return isfinite(r->norm);
}

/* Whole steps while they halve the residual. */
static void polish(newton_run *r)
{
    for (int i = 0; i < POLISH && r->norm > 0.0; i++) {
        double forcing = FORCING_POLISH;
        if (r->n->direction(r->n->context, r->states, r->period, r->n->gap, &forcing, r->n->step) !=
                KERN_OK ||
            !search_line(r, 1, 0.5)) {
            return;
        }
    }
}

/* The next η from the decrease of |G|. Below half the tolerance nothing is to be gained. */
static void choose_forcing(newton_run *r, double before)
{
    const double golden = 1.618033988749894848;
    const double kept = FORCING_LARGEST * pow(r->forcing, golden);
    double next = FORCING_LARGEST * pow(r->norm / before, golden);
    if (kept > 0.1) {
        next = fmax(next, kept);
    }
    next = fmax(next, 0.5 * r->goal->tol / r->norm);
    r->forcing = fmin(next, FORCING_LARGEST);
}

static kern_status advance(newton_run *r)
{
    double reached = r->forcing;
    const double before = r->norm;
    KERN_TRY(r->n->direction(r->n->context, r->states, r->period, r->n->gap, &reached, r->n->step));
    const bool moved =
        r->goal->deflation != NULL ? leap(r) : search_line(r, HALVINGS, ARMIJO * (1.0 - reached));
    if (!moved) {
        return KERN_NOT_CONVERGED;
    }
    choose_forcing(r, before);
    return KERN_OK;
}

/* What a chain whose gaps are small is. */
static kern_status accept(newton_run *r)
{
    const size_t n = r->period * r->n->map->size;
    KERN_TRY(dyn_chain_judge(r->states, n, r->first, r->goal->tol));
    polish(r);
    if (r->goal->deflation != NULL &&
        dyn_deflation_holds(r->goal->deflation, r->states, r->period, r->goal->merge)) {
        return KERN_NOT_FOUND;
    }
    return KERN_OK;
}

static kern_status iterate(newton_run *r, size_t *iterations)
{
    const size_t n = r->period * r->n->map->size;
    r->first = dyn_chain_largest(r->states, n);
    r->norm = dyn_chain_gap(r->n->map, r->states, r->period, r->n->gap);
    KERN_TRY(dyn_state_check(r->n->gap, n, DYN_DIVERGED));
    for (*iterations = 0;; ++*iterations) {
        if (dyn_chain_largest(r->n->gap, n) <= r->goal->tol) {
            return accept(r);
        }
        if (*iterations == r->goal->max_iterations) {
            return KERN_NOT_CONVERGED;
        }
        KERN_TRY(advance(r));
    }
}

dyn_chain_result dyn_newton_solve(dyn_newton *n, double *states, size_t period,
                                  const dyn_chain_goal *goal)
{
    dyn_chain_result result = {.status = KERN_OK};
    newton_run r = {
        .n = n, .states = states, .period = period, .goal = goal, .forcing = FORCING_FIRST};
    result.status = iterate(&r, &result.iterations);
    result.residual = dyn_chain_residual(n->map, states, period, n->trial);
    result.coarse = isfinite(result.residual) &&
                    dyn_chain_judge(states, period * n->map->size, r.first, goal->tol) != KERN_OK;
    return result;
}
