/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_branch_internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BISECTIONS = 60,  /* of a step that ends at a bound: down to the spacing of doubles */
    CLOSING_STEPS = 4 /* before the curve can have come back */
};

/* A state this many times as large as the unit of states has gone to infinity. */
#define FAR 1e3
/* Distance, as a part of the step, at which the curve passes its beginning when it is closed: in
 * the plane through the beginning across the tangent the two agree to rounding, another curve does
 * not. */
#define CLOSING_GAP 1e-6
/* Least cosine between the tangents there. */
#define CLOSING_TURN 0.95
/* A parameter this near an end of the range, as a part of it, is at the end. */
#define AT_END 1e-13

/* ---- Making ------------------------------------------------------------------------------- */

static kern_status allocate(branch_walk *w, kern_error *err)
{
    const size_t n = w->system->n;
    const size_t work = branch_cross_work(w->system);
    KERN_TRY(kern_arena_init(
        &w->arena,
        6 * kern_arena_cost(n + 1, sizeof(double)) + kern_arena_cost(work, sizeof(double)), err));
    w->u = kern_arena_calloc(&w->arena, n + 1, sizeof(double));
    w->tangent = kern_arena_calloc(&w->arena, n + 1, sizeof(double));
    w->states = kern_arena_calloc(&w->arena, n + 1, sizeof(double));
    w->first_u = kern_arena_calloc(&w->arena, n + 1, sizeof(double));
    w->first_tangent = kern_arena_calloc(&w->arena, n + 1, sizeof(double));
    w->direction = kern_arena_calloc(&w->arena, n + 1, sizeof(double));
    w->cross_work = kern_arena_calloc(&w->arena, work, sizeof(double));
    const dyn_arc_problem problem = branch_system_problem(w->system);
    const dyn_arc_options options = {.step = w->o->step,
                                     .step_min = w->o->step_min,
                                     .step_max = w->o->step_max,
                                     .tol = w->o->tol,
                                     .max_iterations = 10};
    return dyn_arc_create(&w->arc, &problem, &options, err);
}

kern_status branch_walk_create(branch_walk *w, dyn_map *map, const dyn_branch_options *o,
                               dyn_branch *out, double rms, kern_error *err)
{
    size_t parameter;
    *w = (branch_walk){.map = map, .o = o, .out = out, .sign = 1.0};
    KERN_TRY(branch_check_options(map, o, &parameter, err));
    KERN_TRY(branch_system_create(&w->system, map, parameter, out->period, o->start,
                                  o->high - o->low, rms, err));
    return allocate(w, err);
}

kern_status branch_walk_start(branch_walk *w, const double *u, const double *direction)
{
    return dyn_arc_start(w->arc, u, direction);
}

void branch_walk_destroy(branch_walk *w)
{
    dyn_arc_destroy(w->arc);
    branch_system_destroy(w->system);
    kern_arena_fini(&w->arena);
}

/* ---- Points ------------------------------------------------------------------------------- */

static kern_status make_room(branch_walk *w, kern_error *err)
{
    dyn_branch *out = w->out;
    if (out->n_points < w->points_allocated) {
        return KERN_OK;
    }
    const size_t wanted = w->points_allocated > 0 ? 2 * w->points_allocated : 64;
    dyn_branch_point *grown = realloc(out->points, wanted * sizeof *grown);
    if (grown == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu points of a branch", wanted);
    }
    out->points = grown;
    w->points_allocated = wanted;
    return KERN_OK;
}

/* An end of the range that was aimed at is met to rounding. */
static double snap(const dyn_branch_options *o, double parameter)
{
    const double slack = AT_END * (o->high - o->low);
    if (fabs(parameter - o->high) <= slack) {
        return o->high;
    }
    return fabs(parameter - o->low) <= slack ? o->low : parameter;
}

/* Enters a point whose multipliers are known; they are taken over. */
static kern_status append(branch_walk *w, const branch_sample *sample, double arclength,
                          dyn_multipliers *m, kern_error *err)
{
    const size_t n = w->system->n;
    double *states = malloc(n * sizeof *states);
    const kern_status room = states != NULL ? make_room(w, err) : KERN_NO_MEMORY;
    if (room != KERN_OK) {
        free(states);
        dyn_multipliers_fini(m);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a point of %zu numbers", n);
    }
    const double parameter = branch_system_unpack(w->system, dyn_arc_point(w->arc), states);
    w->out->points[w->out->n_points++] = (dyn_branch_point){.parameter = snap(w->o, parameter),
                                                            .arclength = arclength,
                                                            .slope = w->sign * sample->slope,
                                                            .states = states,
                                                            .residual = dyn_arc_residual(w->arc),
                                                            .multipliers = *m,
                                                            .stable = m->stable,
                                                            .folds = w->folds};
    return KERN_OK;
}

kern_status branch_walk_record(branch_walk *w, double arclength, kern_error *err)
{
    branch_sample sample;
    dyn_multipliers m;
    KERN_TRY(branch_sample_take(w, dyn_arc_point(w->arc), dyn_arc_tangent(w->arc), 0.0, &sample, &m,
                                err));
    return append(w, &sample, arclength, &m, err);
}

void branch_walk_turn(dyn_branch *out)
{
    for (size_t i = 0; i + 1 < out->n_points - i; i++) {
        const dyn_branch_point kept = out->points[i];
        out->points[i] = out->points[out->n_points - 1 - i];
        out->points[out->n_points - 1 - i] = kept;
    }
    for (size_t i = 0; i + 1 < out->n_events - i; i++) {
        const dyn_branch_event kept = out->events[i];
        out->events[i] = out->events[out->n_events - 1 - i];
        out->events[out->n_events - 1 - i] = kept;
    }
}

/* ---- Ends --------------------------------------------------------------------------------- */

/* Why u is outside, or DYN_BRANCH_END_START when it is not. */
static dyn_branch_end judge(branch_walk *w, const double *u)
{
    const dyn_branch_options *o = w->o;
    const double parameter = branch_system_unpack(w->system, u, w->states);
    if (!(parameter <= o->high)) {
        return DYN_BRANCH_END_HIGH;
    }
    if (!(parameter >= o->low)) {
        return DYN_BRANCH_END_LOW;
    }
    for (size_t i = 0; i < w->system->n; i++) {
        const size_t j = i % w->system->size;
        if (o->box_low != NULL && o->box_high != NULL &&
            !(w->states[i] >= o->box_low[j] && w->states[i] <= o->box_high[j])) {
            return DYN_BRANCH_END_BOX;
        }
        if (!(fabs(u[i]) <= FAR)) {
            return DYN_BRANCH_END_FAR;
        }
    }
    return DYN_BRANCH_END_START;
}

/* Shortens the last step to end where the bound is met. */
static kern_status end_at_bound(branch_walk *w)
{
    double inside = 0.0;
    double outside = dyn_arc_last_step(w->arc);
    for (int i = 0; i < BISECTIONS && outside - inside > DBL_EPSILON * outside; i++) {
        const double middle = 0.5 * (inside + outside);
        if (dyn_arc_between(w->arc, middle, w->u, NULL) == KERN_OK &&
            judge(w, w->u) == DYN_BRANCH_END_START) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    return inside > 0.0 ? dyn_arc_retreat(w->arc, inside) : KERN_NOT_CONVERGED;
}

/* first_u − u in component i, the short way round where the coordinate is on a circle. */
static double gap_from_first(const branch_walk *w, const double *u, size_t i)
{
    const branch_system *s = w->system;
    const double gap = w->first_u[i] - u[i];
    const double period =
        w->map->periods != NULL && i < s->n ? w->map->periods[i % s->size] / s->unit : 0.0;
    return period > 0.0 ? gap - period * round(gap / period) : gap;
}

/* True, and the step ends at the beginning, when it passes it. */
static bool end_closed(branch_walk *w, size_t steps)
{
    const size_t m = w->system->n + 1;
    const double *from = dyn_arc_previous_point(w->arc);
    const double *along = dyn_arc_previous_tangent(w->arc);
    const double h = dyn_arc_last_step(w->arc);
    double s = 0.0;
    double turn = 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < m; i++) {
        s += gap_from_first(w, from, i) * along[i];
        turn += w->first_tangent[i] * along[i];
    }
    if (steps < CLOSING_STEPS || !(s > 0.0 && s <= h) || !(turn >= CLOSING_TURN) ||
        dyn_arc_between(w->arc, s, w->u, NULL) != KERN_OK) {
        return false;
    }
    for (size_t i = 0; i < m; i++) {
        const double gap = gap_from_first(w, w->u, i);
        sum += gap * gap;
    }
    return sqrt(sum) <= CLOSING_GAP * h && dyn_arc_retreat(w->arc, s) == KERN_OK;
}

/* One step with what ends it; *end stays DYN_BRANCH_END_START when nothing does. False when no
 * step was made. */
static bool advance(branch_walk *w, size_t steps, dyn_branch_end *end)
{
    if (dyn_arc_step(w->arc, (double)INFINITY) != KERN_OK) {
        *end = DYN_BRANCH_END_STEP;
        return false;
    }
    if (end_closed(w, steps)) {
        *end = DYN_BRANCH_END_CLOSED;
        return true;
    }
    *end = judge(w, dyn_arc_point(w->arc));
    return *end == DYN_BRANCH_END_START || end_at_bound(w) == KERN_OK;
}

/* ---- The walk ----------------------------------------------------------------------------- */

/* True when a branch that ends so ends at a bound, where no more is known of it. */
static bool is_bound(dyn_branch_end end)
{
    return end == DYN_BRANCH_END_HIGH || end == DYN_BRANCH_END_LOW || end == DYN_BRANCH_END_BOX;
}

/* What happens in the last step, and at the ends of the branch that it holds. */
static kern_status find_events(branch_walk *w, const branch_sample *last, const branch_sample *next,
                               dyn_branch_end end, kern_error *err)
{
    KERN_TRY(branch_events_find(w, last, next, err));
    if (!w->halved) {
        KERN_TRY(branch_touch_find(w, last, next, err));
    }
    if (w->travelled == 0.0) {
        KERN_TRY(branch_touch_end(w, last, next, err));
    }
    return is_bound(end) ? branch_touch_end(w, next, last, err) : KERN_OK;
}

/* From the sample at the last point to the next point; what happens between is recorded first.
 * `end` says why the branch ends there, if it does. */
static kern_status walk_step(branch_walk *w, branch_sample *last, dyn_branch_end end,
                             kern_error *err)
{
    branch_sample next;
    dyn_multipliers m;
    const double h = dyn_arc_last_step(w->arc);
    KERN_TRY(
        branch_sample_take(w, dyn_arc_point(w->arc), dyn_arc_tangent(w->arc), h, &next, &m, err));
    const kern_status status = find_events(w, last, &next, end, err);
    if (status != KERN_OK || w->halved) {
        dyn_multipliers_fini(&m);
        return status;
    }
    w->travelled += h;
    KERN_TRY(append(w, &next, w->sign * w->travelled, &m, err));
    w->before = *last;
    w->has_before = true;
    *last = next;
    last->at = 0.0;
    return KERN_OK;
}

kern_status branch_walk_run(branch_walk *w, double sign, double first, dyn_branch_end *end,
                            kern_error *err)
{
    const dyn_branch_options *o = w->o;
    const size_t m = w->system->n + 1;
    branch_sample last;
    w->sign = sign;
    w->travelled = first;
    w->folds = 0;
    w->halved = false;
    w->has_before = false;
    memcpy(w->first_u, dyn_arc_point(w->arc), m * sizeof *w->first_u);
    memcpy(w->first_tangent, dyn_arc_tangent(w->arc), m * sizeof *w->first_tangent);
    KERN_TRY(branch_sample_take(w, w->first_u, w->first_tangent, 0.0, &last, NULL, err));
    *end = DYN_BRANCH_END_POINTS;
    for (size_t i = 0; i < o->max_points; i++) {
        dyn_branch_end reason;
        if (!advance(w, i, &reason)) {
            *end = reason;
            return KERN_OK;
        }
        KERN_TRY(walk_step(w, &last, reason, err));
        if (w->halved || reason != DYN_BRANCH_END_START) {
            *end = w->halved ? DYN_BRANCH_END_HALVED : reason;
            return KERN_OK;
        }
        if (o->progress != NULL && !o->progress(o->context, i + 1, o->max_points)) {
            return kern_raise(err, KERN_INTERRUPTED, "stopped after point %zu of a branch", i + 1);
        }
    }
    return KERN_OK;
}
