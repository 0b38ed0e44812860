/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_cascade_path.h"

#include "dyn/dyn_cascade.h"
#include "dyn/dyn_path_spectrum.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM_FIRST = 64,   /* points, and events, that there is room for at first */
    EVENTS_MOST = 64,  /* in one interval of one block */
    THOUSANDTHS = 1000 /* of the way, for progress */
};

/* A change of counts is a crossing when a multiplier is this close to it after locating: what is
 * left is 1e-10 of the parameter's scale, so what crosses is within its slope times that,
 * while two real multipliers that meet off the circle and become a pair change counts with none
 * near. */
#define NEAR_CROSSING 1e-4

/* Growth of the step after a success. */
#define STEP_GROWTH 1.5

typedef struct path_point {
    double p;
    double *state;               /* size */
    dyn_path_spectrum *spectrum; /* n_blocks */
} path_point;

typedef struct path_run {
    const dyn_cascade_path_options *o;
    dyn_cascade_path *out;
    dyn_cascade_solver *solver;
    dyn_map *map;    /* a clone */
    size_t active;   /* blocks that are still followed, the first ones */
    path_point last; /* the point before `now` */
    path_point now;
    path_point next;
    double *probe;  /* size: a state between two points */
    double *image;  /* size */
    double *memory; /* all of the above */
    bool has_last;
    size_t points_room;
    size_t events_room;
} path_run;

const char *dyn_path_word(dyn_path_event_kind kind)
{
    static const char *const words[DYN_PATH_KIND_COUNT] = {"PD", "NS", "LP", "LOST"};
    return kind < DYN_PATH_KIND_COUNT ? words[kind] : "unknown";
}

dyn_cascade_path_options dyn_cascade_path_options_default(const char *parameter, double from,
                                                          double to)
{
    const double way = fabs(to - from);
    return (dyn_cascade_path_options){.parameter = parameter,
                                      .from = from,
                                      .to = to,
                                      .step = way / 100.0,
                                      .step_max = way / 50.0,
                                      .step_min = 1e-9 * way,
                                      .tol = 1e-11,
                                      .locate = 1e-10,
                                      .jump = 0.3,
                                      .max_iterations = 30,
                                      .max_points = 10000};
}

/* ---- Points ------------------------------------------------------------------------------- */

static kern_status set_parameter(path_run *run, double p, kern_error *err)
{
    KERN_TRY(dyn_map_set_param(run->map, run->o->parameter, p, err));
    return dyn_cascade_solver_set(run->solver, run->o->parameter, p, err);
}

/* Largest |F(x)_A − x_A| and |x_A| of a block. */
static double find_gap(const path_run *run, const double *state, size_t block)
{
    const size_t w = run->map->block_width;
    double largest = 0.0;
    for (size_t i = block * w; i < (block + 1) * w; i++) {
        if (!(fabs(run->image[i] - state[i]) <= largest)) {
            largest = fabs(run->image[i] - state[i]);
        }
        if (isnan(largest)) {
            return largest;
        }
    }
    return largest;
}

/* True when the block of `solved` is near that of `predicted`, which `image` holds. */
static bool stays_near(const path_run *run, const double *solved, size_t block)
{
    const size_t w = run->map->block_width;
    double scale = 1.0;
    for (size_t i = block * w; i < (block + 1) * w; i++) {
        scale = fmax(scale, fabs(solved[i]));
    }
    return find_gap(run, solved, block) <= run->o->jump * scale;
}

/* Solves for the first `count` blocks of `state` at parameter p, from what is in it. *failed
 * receives the first block that is not solved, or `count`. Blocks that are solved already, as
 * relative equilibria are at any rate, are left alone while those before them are. */
static kern_status solve(path_run *run, double p, double *state, size_t count, size_t *failed,
                         kern_error *err)
{
    size_t first = 0;
    KERN_TRY(set_parameter(run, p, err));
    run->map->kind->step(run->map, state, run->image);
    while (first < count && find_gap(run, state, first) <= run->o->tol) {
        first++;
    }
    memcpy(run->image, state, run->map->size * sizeof *state);
    for (*failed = first; *failed < count; ++*failed) {
        const dyn_cascade_block r = dyn_cascade_solver_run(run->solver, *failed, state, run->o->tol,
                                                           run->o->max_iterations);
        if (r.status != KERN_OK || !stays_near(run, state, *failed)) {
            return KERN_OK;
        }
    }
    return KERN_OK;
}

/* The next point on the secant through the last two; the point itself when it is the first. */
static void predict(path_run *run)
{
    const double *now = run->now.state;
    const double *last = run->has_last ? run->last.state : now;
    const double t = run->has_last ? (run->next.p - run->now.p) / (run->now.p - run->last.p) : 0.0;
    for (size_t i = 0; i < run->map->size; i++) {
        run->next.state[i] = now[i] + t * (now[i] - last[i]);
    }
}

/* Room for one more point. */
static kern_status reserve_point(path_run *run, kern_error *err)
{
    dyn_cascade_path *out = run->out;
    const size_t room = kern_size_max(ROOM_FIRST, 2 * run->points_room);
    if (out->n_points < run->points_room) {
        return KERN_OK;
    }
    double *parameters = realloc(out->parameters, room * sizeof *parameters);
    out->parameters = parameters != NULL ? parameters : out->parameters;
    double *radius = realloc(out->radius, room * out->n_blocks * sizeof *radius);
    out->radius = radius != NULL ? radius : out->radius;
    if (parameters == NULL || radius == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu points of a path", room);
    }
    run->points_room = room;
    return KERN_OK;
}

static kern_status record_point(path_run *run, const path_point *point, kern_error *err)
{
    dyn_cascade_path *out = run->out;
    const size_t n = out->n_blocks;
    KERN_TRY(reserve_point(run, err));
    out->parameters[out->n_points] = point->p;
    for (size_t a = 0; a < n; a++) {
        out->radius[out->n_points * n + a] =
            a < run->active ? point->spectrum[a].radius : (double)NAN;
    }
    out->n_points++;
    return KERN_OK;
}

/* ---- Events ------------------------------------------------------------------------------- */

static kern_status record_event(path_run *run, const dyn_path_event *event, kern_error *err)
{
    dyn_cascade_path *out = run->out;
    const size_t room = kern_size_max(ROOM_FIRST, 2 * run->events_room);
    if (out->n_events == run->events_room) {
        dyn_path_event *events = realloc(out->events, room * sizeof *events);
        if (events == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu events", room);
        }
        out->events = events;
        run->events_room = room;
    }
    out->events[out->n_events++] = *event;
    if (event->stable_before && !event->stable_after && isnan(out->lost[event->block])) {
        out->lost[event->block] = event->parameter;
    }
    return KERN_OK;
}

/* The ends of an interval of one block in which counts change. */
typedef struct path_bracket {
    size_t block;
    double lo, hi;
    dyn_path_spectrum at_lo, at_hi;
} path_bracket;

/* Where to look next: at the root of a line, moved a little over it so that the bracket closes from
 * both sides; every third time, and where there is no line, in the middle. */
static double choose_trial(const path_bracket *b, size_t trial, double width)
{
    const double way = b->hi - b->lo;
    const double t = dyn_path_guess(&b->at_lo, &b->at_hi);
    const double over = 0.4 * width / fabs(way);
    const double moved = t < 0.5 ? t + over : t - over;
    return b->lo + (trial % 3 != 2 && moved > 0.0 && moved < 1.0 ? moved : 0.5) * way;
}

/* `probe` at part t of the way from the present point to the next. */
static void mix_states(path_run *run, double t)
{
    for (size_t i = 0; i < run->map->size; i++) {
        run->probe[i] = run->now.state[i] + t * (run->next.state[i] - run->now.state[i]);
    }
}

/* Shrinks the bracket to the first change after its lower end. Stops early, and wide, when a trial
 * cannot be solved. */
static kern_status shrink(path_run *run, path_bracket *b, kern_error *err)
{
    const double width = run->o->locate * fmax(1.0, fabs(b->lo));
    for (size_t trials = 0; fabs(b->hi - b->lo) > width; trials++) {
        const double p = choose_trial(b, trials, width);
        dyn_path_spectrum trial;
        size_t failed;
        if (p == b->lo || p == b->hi) {
            return KERN_OK;
        }
        mix_states(run, (p - run->now.p) / (run->next.p - run->now.p));
        KERN_TRY(solve(run, p, run->probe, b->block + 1, &failed, err));
        if (failed <= b->block) {
            return KERN_OK;
        }
        KERN_TRY(dyn_path_measure(&trial, run->map, run->probe, b->block, err));
        if (dyn_path_agrees(&trial, &b->at_lo)) {
            b->lo = p;
            b->at_lo = trial;
        } else {
            b->hi = p;
            b->at_hi = trial;
        }
    }
    return KERN_OK;
}

static const dyn_path_event_kind kinds[DYN_PATH_CROSSINGS] = {
    [DYN_PATH_FLIP] = DYN_PATH_PD, [DYN_PATH_PAIR] = DYN_PATH_NS, [DYN_PATH_FOLD] = DYN_PATH_LP};

/* The events that the bracket holds. */
static kern_status report_bracket(path_run *run, const path_bracket *b, kern_error *err)
{
    for (size_t k = 0; k < DYN_PATH_CROSSINGS; k++) {
        const dyn_path_spectrum *nearer =
            b->at_hi.gap[k] <= b->at_lo.gap[k] ? &b->at_hi : &b->at_lo;
        if (b->at_lo.outside[k] == b->at_hi.outside[k] || !(nearer->gap[k] <= NEAR_CROSSING)) {
            continue;
        }
        const dyn_path_event event = {.kind = kinds[k],
                                      .block = b->block,
                                      .parameter = 0.5 * (b->lo + b->hi),
                                      .width = fabs(b->hi - b->lo),
                                      .re = nearer->re[k],
                                      .im = nearer->im[k],
                                      .stable_before = dyn_path_is_stable(&b->at_lo),
                                      .stable_after = dyn_path_is_stable(&b->at_hi)};
        KERN_TRY(record_event(run, &event, err));
    }
    return KERN_OK;
}

/* All events of a block between the present point and the next. */
static kern_status locate(path_run *run, size_t block, kern_error *err)
{
    const dyn_path_spectrum *end = &run->next.spectrum[block];
    path_bracket b = {.block = block, .lo = run->now.p, .at_lo = run->now.spectrum[block]};
    for (size_t i = 0; i < EVENTS_MOST && !dyn_path_agrees(&b.at_lo, end); i++) {
        b.hi = run->next.p;
        b.at_hi = *end;
        KERN_TRY(shrink(run, &b, err));
        KERN_TRY(report_bracket(run, &b, err));
        b.lo = b.hi;
        b.at_lo = b.at_hi;
    }
    return KERN_OK;
}

/* Events of one step by their place; insertion, since they are few. */
static void sort_events(dyn_cascade_path *out, size_t first, bool forward)
{
    for (size_t j = first + 1; j < out->n_events; j++) {
        for (size_t i = j; i > first; i--) {
            const dyn_path_event a = out->events[i - 1];
            const dyn_path_event b = out->events[i];
            if (forward ? a.parameter <= b.parameter : a.parameter >= b.parameter) {
                break;
            }
            out->events[i - 1] = b;
            out->events[i] = a;
        }
    }
}

/* Block `block` and those after it cannot be followed beyond the present point. */
static kern_status lose(path_run *run, size_t block, double step, kern_error *err)
{
    const dyn_path_event event = {.kind = DYN_PATH_LOST,
                                  .block = block,
                                  .parameter = run->now.p + 0.5 * step,
                                  .width = fabs(step),
                                  .re = (double)NAN,
                                  .im = (double)NAN,
                                  .stable_before = dyn_path_is_stable(&run->now.spectrum[block])};
    run->active = block;
    run->out->status = KERN_NOT_CONVERGED;
    return record_event(run, &event, err);
}

/* ---- Following ---------------------------------------------------------------------------- */

static kern_status measure_all(path_run *run, path_point *point, kern_error *err)
{
    KERN_TRY(set_parameter(run, point->p, err));
    return dyn_path_measure(point->spectrum, run->map, point->state, DYN_MULTIPLIERS_ALL, err);
}

static void accept(path_run *run)
{
    const path_point spare = run->last;
    run->last = run->now;
    run->now = run->next;
    run->next = spare;
    run->has_last = true;
}

/* One step to run->next.p. *failed receives the first block that is not solved, run->active when
 * all are. */
static kern_status try_step(path_run *run, size_t *failed, kern_error *err)
{
    const size_t first = run->out->n_events;
    predict(run);
    KERN_TRY(solve(run, run->next.p, run->next.state, run->active, failed, err));
    if (*failed < run->active) {
        return KERN_OK;
    }
    KERN_TRY(measure_all(run, &run->next, err));
    for (size_t a = 0; a < run->active; a++) {
        KERN_TRY(locate(run, a, err));
    }
    sort_events(run->out, first, run->o->to > run->o->from);
    KERN_TRY(record_point(run, &run->next, err));
    accept(run);
    return KERN_OK;
}

static kern_status watch(const path_run *run, kern_error *err)
{
    const double part = (run->now.p - run->o->from) / (run->o->to - run->o->from);
    const size_t done = (size_t)(THOUSANDTHS * fmin(1.0, fmax(0.0, part)));
    if (run->o->progress != NULL && !run->o->progress(run->o->context, done, THOUSANDTHS)) {
        return kern_raise(err, KERN_INTERRUPTED, "stopped at %s = %g", run->o->parameter,
                          run->now.p);
    }
    return KERN_OK;
}

static kern_status follow(path_run *run, kern_error *err)
{
    const dyn_cascade_path_options *o = run->o;
    const double sign = o->to > o->from ? 1.0 : -1.0;
    double step = o->step;
    while (run->active > 0 && run->now.p != o->to) {
        size_t failed;
        const size_t before = run->active;
        if (run->out->n_points >= o->max_points) {
            run->out->status = KERN_TIMEOUT;
            return KERN_OK;
        }
        const double left = fabs(o->to - run->now.p);
        run->next.p = step >= left * (1.0 - 1e-9) ? o->to : run->now.p + sign * step;
        KERN_TRY(try_step(run, &failed, err));
        if (failed == before) {
            step = fmin(o->step_max, STEP_GROWTH * step);
            KERN_TRY(watch(run, err));
            continue;
        }
        step = 0.5 * fmin(step, left);
        if (step < o->step_min) {
            KERN_TRY(lose(run, failed, 2.0 * sign * step, err));
            step = o->step;
        }
    }
    return KERN_OK;
}

/* The first point. Blocks from the first that is not solved on are not followed. */
static kern_status begin(path_run *run, const double *start, kern_error *err)
{
    const size_t n = run->out->n_blocks;
    size_t failed;
    run->now.p = run->o->from;
    memcpy(run->now.state, start, run->map->size * sizeof *start);
    KERN_TRY(solve(run, run->o->from, run->now.state, n, &failed, err));
    run->active = failed;
    run->out->status = failed < n ? KERN_NOT_CONVERGED : KERN_OK;
    KERN_TRY(measure_all(run, &run->now, err));
    for (size_t a = 0; a < n; a++) {
        const bool stable = a < failed && dyn_path_is_stable(&run->now.spectrum[a]);
        run->out->lost[a] = stable ? (double)NAN : run->o->from;
    }
    return record_point(run, &run->now, err);
}

/* ---- The whole ---------------------------------------------------------------------------- */

static kern_status check_options(const dyn_cascade_path_options *o, kern_error *err)
{
    if (!isfinite(o->from) || !isfinite(o->to) || o->from == o->to) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the path is from %g to %g, accepted are two different numbers", o->from,
                          o->to);
    }
    if (!(o->step > 0.0) || !(o->step_max >= o->step) || !(o->step_min > 0.0) || !(o->tol > 0.0) ||
        !(o->locate > 0.0) || !(o->jump > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "steps are %g to %g from %g on and the tolerance is %g, accepted is more "
                          "than 0, the largest step at least the first",
                          o->step_min, o->step_max, o->step, o->tol);
    }
    return KERN_OK;
}

static kern_status allocate(path_run *run, const dyn_map *map, kern_error *err)
{
    dyn_cascade_path *out = run->out;
    const size_t n = map->size;
    const size_t blocks = map->block_count;
    path_point *points[] = {&run->last, &run->now, &run->next};
    out->n_blocks = blocks;
    out->lost = calloc(blocks, sizeof *out->lost);
    out->state = calloc(n, sizeof *out->state);
    run->memory = n <= SIZE_MAX / (8 * sizeof(double)) ? calloc(5 * n, sizeof(double)) : NULL;
    if (out->lost == NULL || out->state == NULL || run->memory == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a path of %zu numbers", n);
    }
    for (size_t k = 0; k < 3; k++) {
        points[k]->state = run->memory + k * n;
        points[k]->spectrum = calloc(blocks, sizeof *points[k]->spectrum);
        if (points[k]->spectrum == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu spectra", blocks);
        }
    }
    run->probe = run->memory + 3 * n;
    run->image = run->memory + 4 * n;
    KERN_TRY(map->kind->clone(&run->map, map, err));
    return dyn_cascade_solver_create(&run->solver, map, err);
}

kern_status dyn_cascade_path_init(dyn_cascade_path *out, const dyn_map *map, const double *start,
                                  const dyn_cascade_path_options *options, kern_error *err)
{
    *out = (dyn_cascade_path){0};
    KERN_TRY(check_options(options, err));
    path_run run = {.o = options, .out = out};
    kern_status status = allocate(&run, map, err);
    if (status == KERN_OK) {
        status = begin(&run, start, err);
    }
    if (status == KERN_OK) {
        status = follow(&run, err);
    }
    if (status == KERN_OK) {
        memcpy(out->state, run.now.state, map->size * sizeof *out->state);
    }
    dyn_cascade_solver_destroy(run.solver);
    dyn_map_destroy(run.map);
    free(run.last.spectrum);
    free(run.now.spectrum);
    free(run.next.spectrum);
    free(run.memory);
    if (status != KERN_OK) {
        dyn_cascade_path_fini(out);
    }
    return status;
}

void dyn_cascade_path_fini(dyn_cascade_path *out)
{
    free(out->parameters);
    free(out->radius);
    free(out->events);
    free(out->lost);
    free(out->state);
    *out = (dyn_cascade_path){0};
}
