/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_branch.h"

#include "dyn/dyn_branch_internal.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 40 }; /* of a first point on a branch that leaves, each half as far as the last */

/* Largest part of the distance that the corrector may move such a point by. */
#define MOVE 0.1
/* Solution of a system of unit right-hand side that tells a singular matrix. */
#define HUGE_SOLUTION 1e9

static const char *const event_words[DYN_BRANCH_EVENT_KINDS] = {"LP", "PD", "NS", "BP", "UZ"};

static const char *const end_words[DYN_BRANCH_END_KINDS] = {
    [DYN_BRANCH_END_START] = "start",          [DYN_BRANCH_END_HIGH] = "reached_high",
    [DYN_BRANCH_END_LOW] = "reached_low",      [DYN_BRANCH_END_BOX] = "left_box",
    [DYN_BRANCH_END_FAR] = "diverged",         [DYN_BRANCH_END_CLOSED] = "closed",
    [DYN_BRANCH_END_HALVED] = "period_halved", [DYN_BRANCH_END_STEP] = "not_converged",
    [DYN_BRANCH_END_POINTS] = "max_points"};

const char *dyn_branch_event_word(dyn_branch_event_kind kind)
{
    return (unsigned)kind < DYN_BRANCH_EVENT_KINDS ? event_words[kind] : "unknown";
}

const char *dyn_branch_end_word(dyn_branch_end end)
{
    return (unsigned)end < DYN_BRANCH_END_KINDS ? end_words[end] : "unknown";
}

dyn_branch_options dyn_branch_options_default(void)
{
    return (dyn_branch_options){.period = 1,
                                .step = 0.01,
                                .step_min = 1e-12,
                                .step_max = 0.04,
                                .tol = 1e-11,
                                .max_points = 1000,
                                .seed = 1};
}

void dyn_branch_fini(dyn_branch *branch)
{
    for (size_t i = 0; i < branch->n_points; i++) {
        free(branch->points[i].states);
        dyn_multipliers_fini(&branch->points[i].multipliers);
    }
    for (size_t i = 0; i < branch->n_events; i++) {
        free(branch->events[i].states);
        free(branch->events[i].direction);
    }
    free(branch->points);
    free(branch->events);
    *branch = (dyn_branch){0};
}

/* ---- Order -------------------------------------------------------------------------------- */

/* Events by arclength, each with the point before it. */
static void finish(dyn_branch *out)
{
    for (size_t j = 1; j < out->n_events; j++) {
        for (size_t i = j; i > 0 && out->events[i].arclength < out->events[i - 1].arclength; i--) {
            const dyn_branch_event kept = out->events[i];
            out->events[i] = out->events[i - 1];
            out->events[i - 1] = kept;
        }
    }
    size_t point = 0;
    for (size_t j = 0; j < out->n_events; j++) {
        while (point + 1 < out->n_points &&
               out->points[point + 1].arclength <= out->events[j].arclength) {
            point++;
        }
        out->events[j].point = point;
    }
}

/* ---- From a cycle ------------------------------------------------------------------------- */

/* True when the curve's tangent is not the only direction that leads on from where it stands: the
 * system across the tangent is then singular but for rounding, and its solutions are huge. */
static bool is_branch_point(branch_walk *w)
{
    const dyn_arc_problem problem = branch_system_problem(w->system);
    double largest = 0.0;
    memcpy(w->u, w->system->fill, (w->system->n + 1) * sizeof *w->u);
    if (problem.solve(problem.context, dyn_arc_point(w->arc), dyn_arc_tangent(w->arc), w->u) !=
        KERN_OK) {
        return true;
    }
    for (size_t i = 0; i <= w->system->n; i++) {
        largest = fmax(largest, fabs(w->u[i]));
    }
    return largest >= HUGE_SOLUTION;
}

/* Begins at the states, moving the parameter upwards or downwards. */
static kern_status begin(branch_walk *w, const double *states, double upwards, kern_error *err)
{
    branch_system_pack(w->system, states, w->o->start, w->u);
    memset(w->direction, 0, (w->system->n + 1) * sizeof *w->direction);
    w->direction[w->system->n] = upwards;
    const kern_status status = branch_walk_start(w, w->u, w->direction);
    if (status == KERN_SINGULAR || (status == KERN_OK && is_branch_point(w))) {
        return kern_raise(err, KERN_SINGULAR,
                          "the cycle at %s = %g is a branch point, where more than one direction "
                          "leads on; begin at another value of the parameter",
                          w->o->vary, w->o->start);
    }
    if (status != KERN_OK) {
        return kern_raise(err, status, "the cycle at %s = %g could not be corrected to %g",
                          w->o->vary, w->o->start, w->o->tol);
    }
    return KERN_OK;
}

static kern_status follow_both(branch_walk *w, const double *states, kern_error *err)
{
    const dyn_branch_options *o = w->o;
    dyn_branch *out = w->out;
    const bool downwards = o->direction < 0;
    const bool at_low = o->start <= o->low;
    const bool at_high = o->start >= o->high;
    const dyn_branch_end low = at_low ? DYN_BRANCH_END_LOW : DYN_BRANCH_END_START;
    const dyn_branch_end high = at_high ? DYN_BRANCH_END_HIGH : DYN_BRANCH_END_START;
    out->ends[0] = downwards ? high : low;
    out->ends[1] = downwards ? low : high;
    if (o->direction == 0 && !at_low) {
        KERN_TRY(begin(w, states, -1.0, err));
        KERN_TRY(branch_walk_run(w, -1.0, 0.0, &out->ends[0], err));
        branch_walk_turn(out);
    }
    out->start = out->n_points;
    w->sign = 1.0;
    w->folds = 0;
    KERN_TRY(begin(w, states, downwards ? -1.0 : 1.0, err));
    KERN_TRY(branch_walk_record(w, 0.0, err));
    if (out->ends[0] == DYN_BRANCH_END_CLOSED) {
        out->ends[1] = DYN_BRANCH_END_CLOSED; /* the other way round is the same curve */
    } else if (downwards ? !at_low : !at_high) {
        KERN_TRY(branch_walk_run(w, 1.0, 0.0, &out->ends[1], err));
    }
    finish(out);
    return KERN_OK;
}

/* The map's parameter is as given on return. */
static kern_status follow_first(dyn_branch *out, dyn_map *map, const dyn_branch_options *o,
                                size_t parameter, double *states, kern_error *err)
{
    branch_walk w = {0};
    map->params[parameter] = o->start;
    KERN_TRY(branch_check_gauge(map, o, parameter, err));
    KERN_TRY(branch_find_start(map, o, states, err));
    kern_status status =
        branch_walk_create(&w, map, o, out, branch_rms(states, o->period * map->size), err);
    if (status == KERN_OK) {
        status = follow_both(&w, states, err);
    }
    branch_walk_destroy(&w);
    return status;
}

kern_status dyn_branch_init(dyn_branch *out, dyn_map *map, const dyn_branch_options *options,
                            kern_error *err)
{
    size_t parameter;
    size_t n;
    *out = (dyn_branch){
        .size = map->size, .period = options->period, .parent = SIZE_MAX, .parent_event = SIZE_MAX};
    KERN_TRY(branch_check_options(map, options, &parameter, err));
    if (map->gauge != DYN_GAUGE_NONE) {
        return branch_raise_gauge(map, err);
    }
    if (options->period == 0 || !kern_size_mul(options->period, map->size, &n) ||
        n > DYN_BRANCH_MAX || map->size > DYN_BRANCH_SIZE) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a branch of cycles of %zu states of %zu numbers is not accepted, the "
                          "period must be at least 1, the product at most %d and a state at most "
                          "%d numbers",
                          options->period, map->size, DYN_BRANCH_MAX, DYN_BRANCH_SIZE);
    }
    double *states = calloc(n, sizeof *states);
    if (states == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a cycle of %zu numbers", n);
    }
    const double kept = map->params[parameter];
    const kern_status status = follow_first(out, map, options, parameter, states, err);
    map->params[parameter] = kept;
    free(states);
    if (status != KERN_OK) {
        dyn_branch_fini(out);
    }
    return status;
}

/* ---- From an event ------------------------------------------------------------------------ */

/* The event in the unknowns of the branch that leaves: `base`, and a unit `direction`. */
static void place_event(const branch_walk *w, const dyn_branch *parent,
                        const dyn_branch_event *event, double *base, double *direction)
{
    const branch_system *s = w->system;
    const size_t n = parent->period * parent->size;
    const bool doubled = event->kind == DYN_BRANCH_PD;
    double sum = 0.0;
    for (size_t i = 0; i < s->n; i++) {
        base[i] = event->states[i % n] / s->unit;
        direction[i] = event->direction[i % n] * (i < n ? 1.0 : -1.0) / s->unit;
        sum += direction[i] * direction[i];
    }
    base[s->n] = (event->parameter - s->origin) / s->length;
    direction[s->n] = doubled ? 0.0 : event->direction[n] / s->length;
    sum += direction[s->n] * direction[s->n];
    for (size_t i = 0; i <= s->n; i++) {
        direction[i] /= sqrt(sum);
    }
}

/* A first point on that branch, `*distance` from the event: near enough that the branch is still
 * straight, so that the corrector hardly moves what was predicted. */
static kern_status leave(branch_walk *w, const double *base, const double *direction,
                         double *distance)
{
    const size_t m = w->system->n + 1;
    *distance = w->o->step;
    for (int trial = 0; trial < TRIALS; trial++, *distance *= 0.5) {
        double moved = 0.0;
        for (size_t i = 0; i < m; i++) {
            w->u[i] = base[i] + *distance * direction[i];
        }
        if (branch_walk_start(w, w->u, direction) != KERN_OK) {
            continue;
        }
        for (size_t i = 0; i < m; i++) {
            const double gap = dyn_arc_point(w->arc)[i] - w->u[i];
            moved += gap * gap;
        }
        if (sqrt(moved) <= MOVE * *distance) {
            return KERN_OK;
        }
    }
    return KERN_NOT_CONVERGED;
}

/* One direction; the first point is entered as well. */
static kern_status follow_leaving(branch_walk *w, const double *base, const double *direction,
                                  double sign, dyn_branch_end *end, kern_error *err)
{
    double distance;
    w->sign = sign;
    w->folds = 0;
    const kern_status status = leave(w, base, direction, &distance);
    if (status != KERN_OK) {
        return kern_raise(err, KERN_NOT_CONVERGED,
                          "no point of the branch that leaves at %s = %.10g was found", w->o->vary,
                          w->system->origin + w->system->length * base[w->system->n]);
    }
    KERN_TRY(branch_walk_record(w, sign * distance, err));
    return branch_walk_run(w, sign, distance, end, err);
}

static kern_status follow_event(branch_walk *w, const dyn_branch *parent,
                                const dyn_branch_event *event, double *base, double *direction,
                                kern_error *err)
{
    const size_t m = w->system->n + 1;
    dyn_branch *out = w->out;
    place_event(w, parent, event, base, direction);
    if (event->kind == DYN_BRANCH_BP) {
        for (size_t i = 0; i < m; i++) {
            direction[i] = -direction[i];
        }
        KERN_TRY(follow_leaving(w, base, direction, -1.0, &out->ends[0], err));
        branch_walk_turn(out);
        for (size_t i = 0; i < m; i++) {
            direction[i] = -direction[i];
        }
    }
    out->start = out->n_points;
    KERN_TRY(follow_leaving(w, base, direction, 1.0, &out->ends[1], err));
    finish(out);
    return KERN_OK;
}

static kern_status follow_with(branch_walk *w, const dyn_branch *parent,
                               const dyn_branch_event *event, kern_error *err)
{
    const size_t m = w->system->n + 1;
    double *vectors = calloc(2 * m, sizeof *vectors);
    if (vectors == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a branch of %zu unknowns", m);
    }
    const kern_status status = follow_event(w, parent, event, vectors, vectors + m, err);
    free(vectors);
    return status;
}

kern_status dyn_branch_switch_init(dyn_branch *out, dyn_map *map, const dyn_branch_options *options,
                                   const dyn_branch *parent, size_t event, kern_error *err)
{
    size_t parameter;
    branch_walk w = {0};
    *out = (dyn_branch){0};
    KERN_TRY(branch_check_options(map, options, &parameter, err));
    if (event >= parent->n_events || parent->events[event].direction == NULL) {
        return kern_raise(err, KERN_NOT_FOUND,
                          "event %zu of the branch has no other branch, accepted are period "
                          "doublings and branch points with a direction",
                          event);
    }
    const dyn_branch_event *from = &parent->events[event];
    const size_t n = parent->period * parent->size;
    *out = (dyn_branch){.size = parent->size,
                        .period = parent->period * (from->kind == DYN_BRANCH_PD ? 2U : 1U),
                        .depth = parent->depth + 1,
                        .parent = SIZE_MAX,
                        .parent_event = event};
    const double kept = map->params[parameter];
    kern_status status =
        branch_walk_create(&w, map, options, out, branch_rms(from->states, n), err);
    if (status == KERN_OK) {
        status = follow_with(&w, parent, from, err);
    }
    branch_walk_destroy(&w);
    map->params[parameter] = kept;
    if (status != KERN_OK) {
        dyn_branch_fini(out);
    }
    return status;
}
