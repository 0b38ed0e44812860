/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The judgement of an orbit; see dyn_attractor.h.
 */
#include "dyn/dyn_attractor_judge.h"

#include "dyn/dyn_multipliers.h"
#include "dyn/dyn_orbit.h"
#include "dyn/dyn_orbit_diagram.h"
#include "dyn/dyn_shooting.h"
#include "dyn/dyn_state.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A multiplier this close to the unit circle is on it: at a bifurcation the cycle that Newton finds
 * is only good to about the root of the tolerance, and so are its multipliers. */
#define NEUTRAL_MARGIN 1e-6

/* Times the tolerance of a return: an orbit this close to a cycle is at it. */
#define AT_CYCLE 1e2

/* Returns that are tried, from strict to loose. A loose one only proposes a period, so that an
 * orbit that is still converging slowly is recognised; the cycle is then solved for. */
static const double loosening[] = {1.0, 1e3, 1e5};

enum { N_LOOSENING = 3, NEWTON_MOST = 50, CREEPING_PARTS = 4, POLISH_PASSES = 8 };

/* Coordinates this close do not decide which state of a cycle is the first. */
#define MERGE 1e-6

/* ---- Cycles ------------------------------------------------------------------------------- */

/* Distance of a state to the cycle held. */
static double distance_to_cycle(const dyn_judge *j, const double *x, size_t period)
{
    const dyn_attractor held = {.n_points = period, .points = j->cycle};
    return dyn_attractor_reach(j->map, &held, x);
}

/* Keeps the cycle held, in its reported form: the same whichever start found it. */
static kern_status keep_cycle(dyn_judge *j, size_t period, kern_error *err)
{
    const size_t size = j->map->size;
    double *points = calloc(period * size, sizeof *points);
    if (points == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a cycle of %zu states", period);
    }
    dyn_chain_normalise(j->map, j->cycle, period, MERGE, points);
    memcpy(points, j->cycle, period * size * sizeof *points);
    j->out->points = points;
    j->out->n_points = period;
    j->out->period = period;
    return KERN_OK;
}

/* Whether the cycle held is what the orbit goes to: it is there, or it comes closer. */
static bool approaches(dyn_judge *j, size_t period)
{
    const double before = distance_to_cycle(j, j->x, period);
    const double at = AT_CYCLE * j->o->tolerance * dyn_attractor_scale(j->map, j->x);
    if (before <= at) {
        return true;
    }
    if (!dyn_judge_advance(j, j->o->confirm)) {
        return false;
    }
    const double after = distance_to_cycle(j, j->x, period);
    return after <= 0.5 * before || after <= at;
}

/* Largest distance to the cycle held over a stretch of states; NaN when the orbit is lost. */
static double distance_of_stretch(dyn_judge *j, size_t period)
{
    double largest = 0.0;
    for (size_t t = 0; t < DYN_PERIOD_STATES; t++) {
        largest = fmax(largest, distance_to_cycle(j, j->x, period));
        if (!dyn_judge_advance(j, 1)) {
            return (double)NAN;
        }
    }
    return largest;
}

/* Whether the orbit comes closer to the cycle held all the time, by a tenth at least: how it
 * arrives by a power law. */
static bool creeps_closer(dyn_judge *j, size_t period)
{
    const double first = distance_of_stretch(j, period);
    double last = first;
    for (int part = 0; part < CREEPING_PARTS; part++) {
        if (!dyn_judge_advance(j, j->o->confirm / CREEPING_PARTS)) {
            return false;
        }
        const double now = distance_of_stretch(j, period);
        if (!(now < last)) {
            return false;
        }
        last = now;
    }
    return last <= 0.9 * first;
}

/* Smallest modulus of the multipliers. */
static double find_least(const dyn_multipliers *m)
{
    double least = (double)INFINITY;
    for (size_t b = 0; b < m->n_blocks; b++) {
        for (size_t i = 0; i < m->blocks[b].n; i++) {
            least = fmin(least, hypot(m->blocks[b].re[i], m->blocks[b].im[i]));
        }
    }
    return least;
}

/* Improves a cycle whose equation determines it badly: a residual of 1e-11 leaves a cubic tangency
 * 2e-4 away. Newton's method goes on while it reaches a hundredth of the residual, to where
 * rounding stops it. */
static void polish_cycle(dyn_judge *j, dyn_shooting *solver, size_t period, dyn_chain_goal goal)
{
    double kept[DYN_SHOOTING_MAX];
    const size_t bytes = period * j->map->size * sizeof *kept;
    for (int pass = 0; pass < POLISH_PASSES; pass++) {
        memcpy(kept, j->cycle, bytes);
        goal.tol *= 1e-2;
        if (dyn_shooting_solve(solver, j->cycle, period, &goal).status != KERN_OK) {
            memcpy(j->cycle, kept, bytes);
            return;
        }
    }
}

/* Spectral radius of the cycle held, and whether it has a contracting direction. */
static kern_status find_radius(dyn_judge *j, size_t period, double *radius, kern_error *err)
{
    dyn_multipliers m;
    dyn_multipliers_options o = dyn_multipliers_options_default();
    o.period = period;
    o.horizon = 0;
    KERN_TRY(dyn_multipliers_init(&m, j->map, j->cycle, &o, err));
    *radius = m.spectral_radius;
    j->preserving = j->map->size > 1 && find_least(&m) >= 1.0 - DYN_ATTRACTOR_NEARLY_NEUTRAL;
    dyn_multipliers_fini(&m);
    return KERN_OK;
}

/* Solves for a cycle of `period` states from the recorded ones into `cycle`. *radius becomes its
 * spectral radius, or NaN when there is none. */
static kern_status solve_cycle(dyn_judge *j, size_t period, double *radius, kern_error *err)
{
    dyn_shooting *solver = NULL;
    const dyn_chain_goal goal = {.tol = DYN_ATTRACTOR_RESIDUAL * dyn_attractor_scale(j->map, j->x),
                                 .max_iterations = NEWTON_MOST};
    *radius = (double)NAN;
    KERN_TRY(dyn_shooting_create(&solver, j->map, period, err));
    memcpy(j->cycle, j->states, period * j->map->size * sizeof *j->cycle);
    const dyn_chain_result r = dyn_shooting_solve(solver, j->cycle, period, &goal);
    kern_status status = r.status == KERN_OK ? find_radius(j, period, radius, err) : KERN_OK;
    if (status == KERN_OK && fabs(*radius - 1.0) <= DYN_ATTRACTOR_NEARLY_NEUTRAL) {
        polish_cycle(j, solver, period, goal);
        status = find_radius(j, period, radius, err);
    }
    dyn_shooting_destroy(solver);
    return status;
}

/* Judges the cycle held. Beside a multiplier on the unit circle an orbit may still come closer, by
 * a power law, as it does at a bifurcation; not where no direction contracts. The verdict stays as
 * it is when the orbit does not belong to the cycle. */
static kern_status judge_cycle(dyn_judge *j, size_t period, double radius, kern_error *err)
{
    const double at = AT_CYCLE * j->o->tolerance * dyn_attractor_scale(j->map, j->x);
    bool arrives = false;
    if (isnan(radius)) {
        return KERN_OK;
    }
    const bool neutral = radius >= 1.0 - NEUTRAL_MARGIN && radius <= 1.0 + NEUTRAL_MARGIN;
    if (neutral) {
        arrives = !j->preserving && creeps_closer(j, period);
    } else if (radius < 1.0) {
        arrives = approaches(j, period);
    }
    if (arrives) {
        j->verdict = DYN_JUDGED_ATTRACTOR;
        j->out->spectral_radius = radius;
        j->out->exponent = log(radius) / (double)period;
        return keep_cycle(j, period, err);
    }
    if (j->verdict == DYN_JUDGED_PASSING && !(radius < 1.0 - NEUTRAL_MARGIN) &&
        distance_to_cycle(j, j->x, period) <= at) {
        j->verdict = neutral ? DYN_JUDGED_NEUTRAL : DYN_JUDGED_REPELLING;
    }
    return KERN_OK;
}

/* Solves for the cycle that the states propose and judges it; the verdict stays PASSING when there
 * is none. An orbit that alternates about a cycle of multiplier −1 proposes twice its period, and
 * the equations of that are singular there, so that divisors are tried first when the solution is
 * close to neutral. */
static kern_status try_cycle(dyn_judge *j, size_t period, kern_error *err)
{
    double radius;
    KERN_TRY(solve_cycle(j, period, &radius, err));
    if (radius < 1.0 - DYN_ATTRACTOR_NEARLY_NEUTRAL ||
        radius > 1.0 + DYN_ATTRACTOR_NEARLY_NEUTRAL) {
        return judge_cycle(j, period, radius, err);
    }
    for (size_t d = 1; d <= period && j->verdict == DYN_JUDGED_PASSING; d++) {
        if (period % d == 0) {
            KERN_TRY(solve_cycle(j, d, &radius, err));
            KERN_TRY(judge_cycle(j, d, radius, err));
        }
    }
    return KERN_OK;
}

/* A cycle too large to solve for: it returns, and tangents shrink. */
static kern_status judge_large_cycle(dyn_judge *j, size_t period, kern_error *err)
{
    dyn_lyapunov l;
    KERN_TRY(dyn_judge_find_exponents(j, &l, err));
    if (l.status != KERN_OK) {
        j->verdict = DYN_JUDGED_LOST;
    } else if (l.exponents[0] < -DYN_JUDGE_ZERO_EXPONENT) {
        j->verdict = DYN_JUDGED_ATTRACTOR;
    } else {
        j->verdict =
            l.exponents[0] <= DYN_JUDGE_ZERO_EXPONENT ? DYN_JUDGED_NEUTRAL : DYN_JUDGED_REPELLING;
    }
    j->out->exponent = l.exponents[0];
    dyn_lyapunov_fini(&l);
    if (j->verdict != DYN_JUDGED_ATTRACTOR) {
        return KERN_OK;
    }
    memcpy(j->cycle, j->states, period * j->map->size * sizeof *j->cycle);
    return keep_cycle(j, period, err);
}

static bool solvable(const dyn_judge *j, size_t period)
{
    return period * j->map->size <= DYN_SHOOTING_MAX;
}

/* Looks for short periods, from strict returns to loose ones. */
static kern_status judge_returns(dyn_judge *j, kern_error *err)
{
    size_t tried = 0;
    j->verdict = DYN_JUDGED_PASSING;
    if (!dyn_judge_record(j, DYN_PERIOD_STATES)) {
        return KERN_OK;
    }
    for (size_t i = 0; i < N_LOOSENING && j->verdict == DYN_JUDGED_PASSING; i++) {
        const double tolerance = j->o->tolerance * loosening[i];
        const size_t period = dyn_period_find(j->map, j->states, tolerance);
        if (period == 0 || period == tried) {
            continue;
        }
        tried = period;
        if (solvable(j, period)) {
            KERN_TRY(try_cycle(j, period, err));
        } else if (i == 0) {
            KERN_TRY(judge_large_cycle(j, period, err));
        }
    }
    return KERN_OK;
}

/* The first period at which the orbit is back, up to the longest that is looked for; the states of
 * it are left in `cycle`. 0: none. */
static size_t find_long_period(dyn_judge *j)
{
    const size_t size = j->map->size;
    const double tolerance = j->o->tolerance * dyn_attractor_scale(j->map, j->x);
    for (size_t p = 0; p < j->room; p++) {
        memcpy(j->cycle + p * size, j->x, size * sizeof *j->x);
        if (p > 0 && dyn_map_distance(j->map, j->cycle, j->x) <= tolerance) {
            return p;
        }
        if (!dyn_judge_advance(j, 1)) {
            return 0;
        }
    }
    return 0;
}

/* ---- Other orbits ------------------------------------------------------------------------- */

/* A negative exponent without a short period: a long one, or still on the way. */
static kern_status judge_contracting(dyn_judge *j, kern_error *err)
{
    const size_t period = find_long_period(j);
    j->verdict = j->verdict == DYN_JUDGED_LOST ? j->verdict : DYN_JUDGED_PASSING;
    if (period == 0) {
        return KERN_OK;
    }
    if (solvable(j, period)) {
        memcpy(j->states, j->cycle, kern_size_min(period, j->room) * j->map->size * sizeof(double));
        return try_cycle(j, period, err);
    }
    j->verdict = DYN_JUDGED_ATTRACTOR;
    return keep_cycle(j, period, err);
}

/* ---- The whole ---------------------------------------------------------------------------- */

static kern_status run_judge(dyn_judge *j, kern_error *err)
{
    if (!dyn_judge_advance(j, j->o->ttr)) {
        return KERN_OK;
    }
    KERN_TRY(judge_returns(j, err));
    if (j->verdict != DYN_JUDGED_PASSING || !dyn_judge_advance(j, j->o->confirm)) {
        return KERN_OK;
    }
    KERN_TRY(judge_returns(j, err));
    if (j->verdict != DYN_JUDGED_PASSING) {
        return KERN_OK;
    }
    bool contracting;
    KERN_TRY(dyn_judge_aperiodic(j, &contracting, err));
    return contracting ? judge_contracting(j, err) : KERN_OK;
}

kern_status dyn_attractor_verify(dyn_attractor *out, dyn_judgement *verdict, dyn_map *map,
                                 double *x, size_t *steps, const dyn_verify_options *options,
                                 kern_error *err)
{
    size_t n_states = 0;
    *out = (dyn_attractor){.spectral_radius = (double)NAN, .exponent = (double)NAN};
    *verdict = DYN_JUDGED_PASSING;
    KERN_TRY(dyn_verify_options_check(options, err));
    dyn_judge j = {.map = map,
                   .o = options,
                   .x = x,
                   .steps = steps,
                   .out = out,
                   .room = DYN_ATTRACTOR_PERIOD_MOST + 1,
                   .verdict = DYN_JUDGED_PASSING};
    const size_t held = kern_size_max(kern_size_max(DYN_PERIOD_STATES, options->samples), j.room);
    if (kern_size_add(held, j.room, &n_states) && kern_size_mul(n_states, map->size, &n_states)) {
        j.states = calloc(n_states, sizeof *j.states);
    }
    if (j.states == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu states of map %s", held,
                          map->kind->name);
    }
    j.cycle = j.states + held * map->size;
    const kern_status status = run_judge(&j, err);
    free(j.states);
    if (status != KERN_OK || j.verdict != DYN_JUDGED_ATTRACTOR) {
        dyn_attractor_fini(out);
    }
    *verdict = j.verdict;
    return status;
}
