/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_curve.h"

#include "dyn/dyn_chain.h"
#include "dyn/dyn_curve_internal.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A state this many times as large as those at the start is lost. */
#define FAR 1e6

/* Distance, relative to max(1, |x|), at which two states are the same. */
#define SAME 1e-6

/* Value of a test function at a bound that counts as a root there. */
#define BOUND_NEAR 1e-10

/* Steps before a curve may have come back to its start. */
enum { CLOSED_AFTER = 4 };

const char *dyn_curve_event_word(dyn_curve_event_kind kind)
{
    static const char *const words[DYN_CURVE_EVENT_KINDS] = {
        "CP", "GPD", "CH", "R1", "R2", "R3", "R4", "LPPD", "LPNS", "PDNS", "NSNS"};
    return kind < DYN_CURVE_EVENT_KINDS ? words[kind] : "unknown";
}

const char *dyn_curve_end_word(dyn_curve_end end)
{
    static const char *const words[DYN_CURVE_END_KINDS] = {
        "reached_bound", "closed", "period_halved", "diverged", "not_converged", "max_points"};
    return end < DYN_CURVE_END_KINDS ? words[end] : "unknown";
}

dyn_curve_options dyn_curve_options_default(void)
{
    return (dyn_curve_options){.kind = DYN_NORMAL_LP,
                               .period = 1,
                               .angle = (double)NAN,
                               .step = 0.01,
                               .step_min = 1e-10,
                               .step_max = 0.04,
                               .tol = 1e-11,
                               .max_iterations = 12,
                               .max_points = 1000};
}

/* ---- Options ------------------------------------------------------------------------------ */

static kern_status check_range(const dyn_map *map, const dyn_curve_options *o, size_t i,
                               size_t *parameter, kern_error *err)
{
    KERN_TRY(dyn_map_find_param(map, o->parameters[i], parameter, err));
    if (*parameter + map->n_fixed >= map->n_params) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "parameter %s of map %s was settled when the map was made and cannot vary",
            o->parameters[i], map->kind->name);
    }
    const double value = map->params[*parameter];
    if (!(o->low[i] < o->high[i]) || !isfinite(o->high[i] - o->low[i]) ||
        !(o->low[i] <= value && value <= o->high[i])) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the range of %s is %g to %g, accepted are two finite numbers in "
                          "ascending order around its present value %g",
                          o->parameters[i], o->low[i], o->high[i], value);
    }
    return KERN_OK;
}

static kern_status check_options(const dyn_map *map, const dyn_curve_options *o,
                                 size_t parameters[2], kern_error *err)
{
    size_t n;
    if (o->kind >= DYN_NORMAL_KINDS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a curve of kind %d is not known",
                          (int)o->kind);
    }
    if (o->period == 0 || !kern_size_mul(o->period, map->size, &n) || n > DYN_CURVE_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a cycle of %zu states of %zu numbers is not accepted, the period must "
                          "be at least 1 and the product at most %d",
                          o->period, map->size, DYN_CURVE_MAX);
    }
    if (o->kind == DYN_NORMAL_NS && map->size < 2) {
        return kern_raise(err, KERN_NOT_FOUND,
                          "map %s has one coordinate, and a Neimark–Sacker point needs two",
                          map->kind->name);
    }
    for (size_t i = 0; i < 2; i++) {
        KERN_TRY(check_range(map, o, i, &parameters[i], err));
    }
    if (parameters[0] == parameters[1]) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "both parameters are %s, accepted are two different ones",
                          o->parameters[0]);
    }
    if (o->max_points == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a curve of 0 points is not accepted");
    }
    return KERN_OK;
}

/* ---- The start ---------------------------------------------------------------------------- */

static kern_status reserve(curve_job *job, kern_error *err)
{
    const curve_system *s = job->system;
    const size_t count = 6 * s->size + 3 * s->unknowns + s->n;
    job->numbers = calloc(count, sizeof *job->numbers);
    if (job->numbers == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a curve of bifurcations");
    }
    double *next = job->numbers;
    curve_sample *const samples[] = {&job->before, &job->now, &job->probe};
    for (size_t i = 0; i < 3; i++) {
        samples[i]->re = next;
        samples[i]->im = next + s->size;
        next += 2 * s->size;
    }
    job->u = next;
    job->start = job->u + s->unknowns;
    job->tangent = job->start + s->unknowns;
    job->halves = job->tangent + s->unknowns;
    return KERN_OK;
}

/* k = cos θ of the pair that the curve begins with. */
static kern_status find_angle(curve_job *job, const double *x, double *k, kern_error *err)
{
    dyn_normal_form form;
    *k = 0.0;
    if (job->system->kind != DYN_NORMAL_NS) {
        return KERN_OK;
    }
    dyn_normal_find(job->normal, x, DYN_NORMAL_NS, job->o->angle, &form);
    if (!isfinite(form.angle)) {
        return kern_raise(err, KERN_NOT_FOUND,
                          "no multiplier is complex at the start of a Neimark–Sacker curve");
    }
    *k = cos(form.angle);
    return KERN_OK;
}

/* A unit vector along the curve at u: what the rows of the Jacobian leave of a fixed vector without
 * structure. */
static kern_status find_direction(curve_job *job, const double *u, double *direction,
                                  kern_error *err)
{
    const size_t m = job->system->unknowns;
    const size_t n = m - 1;
    const size_t room = n * m + n * n + n + kern_lapack_orthonormalise_work(m, n);
    double *rows = calloc(room, sizeof *rows);
    if (rows == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a Jacobian of %zu rows", n);
    }
    double *r = rows + n * m;
    double *g = r + n * n;
    curve_system_evaluate(job->system, u, g, rows);
    const kern_status status = kern_lapack_orthonormalise(m, n, rows, r, g + n, err);
    for (size_t i = 0; i < m; i++) {
        direction[i] = (double)(kern_rng_hash(3, i) >> 11) * 0x1p-52 - 1.0;
    }
    /* Twice, so that what is left is orthogonal to the rows to rounding. */
    for (size_t i = 0; status == KERN_OK && i < 2 * n; i++) {
        const double *row = rows + i % n * m;
        double along = 0.0;
        for (size_t j = 0; j < m; j++) {
            along += row[j] * direction[j];
        }
        for (size_t j = 0; j < m; j++) {
            direction[j] -= along * row[j];
        }
    }
    free(rows);
    return status;
}

/* The start is a cycle of the period asked for, not of a divisor. */
static kern_status check_period(const curve_job *job, kern_error *err)
{
    const curve_system *s = job->system;
    const size_t period = dyn_chain_minimal_period(s->map, s->states, s->period, SAME);
    if (period != s->period) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the cycle has %zu states, and %zu were given as its period", period,
                          s->period);
    }
    return KERN_OK;
}

static kern_status find_start(curve_job *job, const double *states, kern_error *err)
{
    curve_system *s = job->system;
    const dyn_curve_options *o = job->o;
    const dyn_arc_problem problem = {
        .n = s->unknowns - 1, .context = s, .evaluate = curve_system_evaluate};
    const dyn_arc_options arc = {.step = o->step,
                                 .step_min = o->step_min,
                                 .step_max = o->step_max,
                                 .tol = s->map->approximate_jvp ? fmax(o->tol, DYN_CURVE_NOISE)
                                                                : o->tol,
                                 .max_iterations = o->max_iterations};
    double k;
    KERN_TRY(dyn_arc_create(&job->arc, &problem, &arc, err));
    KERN_TRY(find_angle(job, states, &k, err));
    curve_system_pack(s, states, k, job->u);
    kern_status status = curve_system_adopt(s, job->u, true);
    if (status == KERN_OK) {
        status = find_direction(job, job->u, job->tangent, err);
    }
    if (status == KERN_OK) {
        status = dyn_arc_start(job->arc, job->u, job->tangent);
    }
    if (status != KERN_OK) {
        return kern_raise(err, status, "no %s point of map %s was found near the start: %s",
                          dyn_normal_kind_word(s->kind), s->map->kind->name,
                          kern_status_gloss(status));
    }
    memcpy(job->start, dyn_arc_point(job->arc), s->unknowns * sizeof *job->start);
    memcpy(job->tangent, dyn_arc_tangent(job->arc), s->unknowns * sizeof *job->tangent);
    curve_system_unpack(s, job->start);
    return check_period(job, err);
}

/* ---- Following ---------------------------------------------------------------------------- */

static kern_status add_point(curve_job *job, curve_side *side, kern_error *err)
{
    if (side->n_points == side->room_points) {
        const size_t room = side->room_points > 0 ? 2 * side->room_points : 64;
        dyn_curve_point *grown = realloc(side->points, room * sizeof *grown);
        if (grown == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu points of a curve", room);
        }
        side->points = grown;
        side->room_points = room;
    }
    KERN_TRY(curve_point_make(job, &job->now, &side->points[side->n_points], err));
    side->n_points++;
    return KERN_OK;
}

/* True when the last step passed the start in the direction that the curve left it in. */
static bool has_closed(const curve_job *job, const curve_side *side, double sign)
{
    const size_t m = job->system->unknowns;
    const double *point = dyn_arc_point(job->arc);
    const double *tangent = dyn_arc_tangent(job->arc);
    double distance = 0.0;
    double along = 0.0;
    for (size_t i = 0; i < m; i++) {
        const double gap = point[i] - job->start[i];
        distance += gap * gap;
        along += sign * tangent[i] * job->tangent[i];
    }
    return side->n_points >= CLOSED_AFTER && along > 0.5 &&
           sqrt(distance) < dyn_arc_last_step(job->arc);
}

static bool is_far(const curve_system *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!(fabs(s->states[i]) <= FAR * s->unit)) {
            return true;
        }
    }
    return false;
}

/* What the point that the arc stands at makes known; the old one moves to `before`. */
static kern_status look_around(curve_job *job, bool first)
{
    const curve_sample kept = job->before;
    if (!first) {
        job->before = job->now;
        job->now = kept;
    }
    KERN_TRY(curve_system_adopt(job->system, dyn_arc_point(job->arc), false));
    return curve_sample_take(job->system, job->normal, dyn_arc_point(job->arc), &job->now);
}

/* A root at a bound of the range, as whole numbers often are, lies on either side of it by
 * rounding; it counts. */
static void meet_bound(curve_job *job)
{
    for (size_t i = 0; i < curve_test_count(job->system->kind); i++) {
        double *value = &job->now.value[i];
        *value = fabs(*value) <= BOUND_NEAR ? 0.0 : *value;
    }
}

/* Where the period halves, what is 0 but for rounding belongs to the end and is no event: a fold's
 * coefficient vanishes at the flip that the cycles come from. */
static void meet_half(curve_job *job)
{
    for (size_t i = 0; i < curve_test_count(job->system->kind); i++) {
        double *value = &job->now.value[i];
        if (fabs(*value) <= job->now.floor[i]) {
            *value = copysign(*value, job->before.value[i]);
        }
    }
}

/* One step: the next point and the events before it. *done tells that it was the last one. */
static kern_status advance(curve_job *job, curve_side *side, double sign, bool *done,
                           kern_error *err)
{
    curve_system *s = job->system;
    *done = true;
    curve_system_unpack(s, dyn_arc_point(job->arc));
    curve_fill_halves(s, job->halves);
    side->end = DYN_CURVE_END_STEP;
    if (dyn_arc_step(job->arc, (double)INFINITY) != KERN_OK) {
        return KERN_OK;
    }
    const bool cut = curve_cut_step(job, &side->end);
    if (!cut && curve_is_outside(job)) {
        return KERN_OK; /* the bound could not be landed on */
    }
    if (cut && !(dyn_arc_last_step(job->arc) > job->o->step_min)) {
        return KERN_OK; /* the curve began, or the last step ended, at this very place */
    }
    if (look_around(job, false) != KERN_OK) {
        return KERN_OK;
    }
    if (cut && side->end == DYN_CURVE_END_BOUND) {
        meet_bound(job);
    } else if (cut) {
        meet_half(job);
    }
    KERN_TRY(curve_find_events(job, side, err));
    /* Events have moved the system to places between. */
    curve_system_evaluate(s, dyn_arc_point(job->arc), s->right, NULL);
    KERN_TRY(add_point(job, side, err));
    if (cut) {
        return KERN_OK;
    }
    if (is_far(s)) {
        side->end = DYN_CURVE_END_FAR;
    } else if (has_closed(job, side, sign)) {
        side->end = DYN_CURVE_END_CLOSED;
    } else if (side->n_points >= job->o->max_points) {
        side->end = DYN_CURVE_END_POINTS;
    } else {
        *done = false;
    }
    return KERN_OK;
}

static kern_status tell_progress(const curve_job *job, kern_error *err)
{
    const size_t n = job->sides[0].n_points + job->sides[1].n_points;
    if (job->o->progress != NULL && !job->o->progress(job->o->context, n, 2 * job->o->max_points)) {
        return kern_raise(err, KERN_INTERRUPTED, "interrupted after %zu points of a curve", n);
    }
    return KERN_OK;
}

/* Follows the curve from its start along `sign` times the tangent there. */
static kern_status follow(curve_job *job, curve_side *side, double sign, kern_error *err)
{
    const curve_system *s = job->system;
    bool done = false;
    for (size_t i = 0; i < s->unknowns; i++) {
        job->u[i] = sign * job->tangent[i];
    }
    side->end = DYN_CURVE_END_STEP;
    if (dyn_arc_start(job->arc, job->start, job->u) != KERN_OK ||
        look_around(job, true) != KERN_OK) {
        return KERN_OK;
    }
    /* A root exactly at the start belongs to one of the two sides. */
    for (size_t i = 0; i < CURVE_TESTS; i++) {
        job->now.value[i] = job->now.value[i] == 0.0 ? sign * 1e-300 : job->now.value[i];
    }
    while (!done) {
        KERN_TRY(advance(job, side, sign, &done, err));
        KERN_TRY(tell_progress(job, err));
    }
    return KERN_OK;
}

/* ---- The whole ---------------------------------------------------------------------------- */

/* Moves both sides into the result, the backward one reversed, around the start. */
static kern_status assemble(curve_job *job, kern_error *err)
{
    dyn_curve *out = job->out;
    curve_side *back = &job->sides[0];
    curve_side *ahead = &job->sides[1];
    const size_t n_events = back->n_events + ahead->n_events;
    out->points = calloc(back->n_points + ahead->n_points + 1, sizeof *out->points);
    out->events = calloc(n_events + 1, sizeof *out->events);
    if (out->points == NULL || out->events == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the points of a curve");
    }
    KERN_TRY(curve_system_adopt(job->system, job->start, false));
    KERN_TRY(curve_sample_take(job->system, job->normal, job->start, &job->now));
    out->start = back->n_points;
    KERN_TRY(curve_point_make(job, &job->now, &out->points[out->start], err));
    for (size_t i = 0; i < back->n_points; i++) {
        out->points[back->n_points - 1 - i] = back->points[i];
    }
    for (size_t i = 0; i < ahead->n_points; i++) {
        out->points[out->start + 1 + i] = ahead->points[i];
    }
    out->n_points = back->n_points + ahead->n_points + 1;
    for (size_t i = 0; i < back->n_events; i++) {
        dyn_curve_event *event = &out->events[back->n_events - 1 - i];
        *event = back->events[i];
        event->index = out->start - 1 - event->index;
    }
    for (size_t i = 0; i < ahead->n_events; i++) {
        out->events[back->n_events + i] = ahead->events[i];
        out->events[back->n_events + i].index += out->start;
    }
    out->n_events = n_events;
    back->n_points = back->n_events = ahead->n_points = ahead->n_events = 0;
    return KERN_OK;
}

static kern_status run(curve_job *job, const double *states, const size_t parameters[2],
                       kern_error *err)
{
    KERN_TRY(curve_system_create(&job->system, job->map, states, job->o, parameters, err));
    KERN_TRY(dyn_normal_create(&job->normal, job->map, job->o->period, err));
    KERN_TRY(reserve(job, err));
    KERN_TRY(find_start(job, states, err));
    KERN_TRY(follow(job, &job->sides[1], 1.0, err));
    if (job->sides[1].end == DYN_CURVE_END_CLOSED) {
        job->sides[0].end = DYN_CURVE_END_CLOSED;
    } else {
        KERN_TRY(follow(job, &job->sides[0], -1.0, err));
    }
    job->out->ends[0] = job->sides[0].end;
    job->out->ends[1] = job->sides[1].end;
    return assemble(job, err);
}

static void fini_side(curve_side *side)
{
    for (size_t i = 0; i < side->n_points; i++) {
        curve_point_fini(&side->points[i]);
    }
    for (size_t i = 0; i < side->n_events; i++) {
        curve_point_fini(&side->events[i].at);
    }
    free(side->points);
    free(side->events);
}

kern_status dyn_curve_init(dyn_curve *out, dyn_map *map, const double *states,
                           const dyn_curve_options *options, kern_error *err)
{
    size_t parameters[2] = {0, 0};
    *out = (dyn_curve){0};
    KERN_TRY(check_options(map, options, parameters, err));
    const double kept[] = {map->params[parameters[0]], map->params[parameters[1]]};
    curve_job job = {.map = map, .o = options, .out = out};
    out->kind = options->kind;
    out->period = options->period;
    out->size = map->size;
    memcpy(out->parameters, parameters, sizeof out->parameters);
    memcpy(out->low, options->low, sizeof out->low);
    memcpy(out->high, options->high, sizeof out->high);
    const kern_status status = run(&job, states, parameters, err);
    map->params[parameters[0]] = kept[0];
    map->params[parameters[1]] = kept[1];
    fini_side(&job.sides[0]);
    fini_side(&job.sides[1]);
    curve_system_destroy(job.system);
    dyn_normal_destroy(job.normal);
    dyn_arc_destroy(job.arc);
    free(job.numbers);
    return status;
}

void dyn_curve_fini(dyn_curve *curve)
{
    for (size_t i = 0; curve->points != NULL && i < curve->n_points; i++) {
        curve_point_fini(&curve->points[i]);
    }
    for (size_t i = 0; curve->events != NULL && i < curve->n_events; i++) {
        curve_point_fini(&curve->events[i].at);
    }
    free(curve->points);
    free(curve->events);
    *curve = (dyn_curve){0};
}
