/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Roots along the last step of a curve: its events, and where it ends.
 */
#include "dyn/dyn_curve_internal.h"

#include "dyn/dyn_state.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOT_STEPS = 100 };

/* Width of arclength at which a root is found; unknowns are near 1. */
#define ROOT_WIDTH 1e-14

/* ---- Roots -------------------------------------------------------------------------------- */

/* What is to vanish: a test function, a parameter's distance from a bound, or the product of the
 * halves' difference with what it was before. */
typedef struct target {
    double (*measure)(curve_job *job, const struct target *target);
    size_t index; /* of the test or the parameter */
    double bound;
} target;

static double measure_test(curve_job *job, const target *t)
{
    if (curve_sample_take(job->system, job->normal, job->u, &job->probe) != KERN_OK) {
        return (double)NAN;
    }
    return job->probe.value[t->index];
}

static double measure_bound(curve_job *job, const target *t)
{
    const curve_system *s = job->system;
    const double value = job->u[s->unknowns - 2 + t->index];
    return s->origin[t->index] + s->length[t->index] * value - t->bound;
}

static double compare_halves(const curve_job *job, const double *u)
{
    const curve_system *s = job->system;
    const size_t half = s->n / 2;
    double sum = 0.0;
    curve_system_unpack(job->system, u);
    for (size_t i = 0; i < half; i++) {
        sum += job->halves[i] * (s->states[i] - s->states[half + i]);
    }
    return sum;
}

static double measure_halves(curve_job *job, const target *t)
{
    (void)t;
    return compare_halves(job, job->u);
}

/* The target at s along the last step, with job->u there; NaN when no point is found. */
static double measure_at(curve_job *job, const target *t, double s)
{
    if (dyn_arc_between(job->arc, s, job->u, NULL) != KERN_OK) {
        return (double)NAN;
    }
    return t->measure(job, t);
}

/* The next abscissa in a bracket whose better end is b: by inverse quadratic interpolation or the
 * secant, unless that is slower than halving (Brent 1973, chapter 4). */
static double interpolate(double a, double fa, double b, double fb, double c, double fc,
                          double last_but_one)
{
    const double half = 0.5 * (c - b);
    double step;
    if (fa != fc) {
        const double r = fb / fc;
        const double p = fb / fa;
        const double q = fa / fc;
        step = -p * (q * (q - r) * (c - b) + (1.0 - r) * (b - a)) /
               ((q - 1.0) * (r - 1.0) * (p - 1.0));
    } else {
        step = fb * (b - a) / (fa - fb);
    }
    const bool inside = step * half > 0.0 && fabs(step) < 1.5 * fabs(half);
    return inside && fabs(step) < 0.5 * fabs(last_but_one) ? step : half;
}

/* A root between 0 and h, where the target is f0 and fh of opposite signs. KERN_SINGULAR where it
 * ends at a pole, around which the target has grown and at which it is not a number; KERN_NAN
 * where it cannot be computed otherwise; KERN_NOT_CONVERGED. */
static kern_status find_root(curve_job *job, const target *t, double f0, double fh, double *root)
{
    double a = 0.0; /* the last b */
    double b = dyn_arc_last_step(job->arc);
    double c = a; /* the other end of the bracket */
    double fa = f0;
    double fb = fh;
    double fc = f0;
    double step = b - a;
    double last = step;
    for (int i = 0; i < ROOT_STEPS; i++) {
        if (fabs(fc) < fabs(fb)) {
            a = b;
            fa = fb;
            b = c;
            fb = fc;
            c = a;
            fc = fa;
        }
        const double width = 2.0 * DBL_EPSILON * fabs(b) + 0.5 * ROOT_WIDTH;
        if (fabs(c - b) <= 2.0 * width || fb == 0.0) {
            *root = b;
            return KERN_OK;
        }
        const double next = fabs(last) < width || fabs(fa) <= fabs(fb)
                                ? 0.5 * (c - b)
                                : interpolate(a, fa, b, fb, c, fc, last);
        last = next == 0.5 * (c - b) ? next : step;
        step = next;
        a = b;
        fa = fb;
        b += fabs(step) > width ? step : copysign(width, c - b);
        fb = measure_at(job, t, b);
        if (isnan(fb)) {
            const bool grown = fmin(fabs(fa), fabs(fc)) >= fmin(fabs(f0), fabs(fh));
            return grown ? KERN_SINGULAR : KERN_NAN;
        }
        if ((fb > 0.0) == (fc > 0.0)) {
            c = a;
            fc = fa;
            step = b - a;
            last = step;
        }
    }
    return KERN_NOT_CONVERGED;
}

/* ---- Ends --------------------------------------------------------------------------------- */

void curve_fill_halves(const curve_system *s, double *halves)
{
    const size_t half = s->n / 2;
    for (size_t i = 0; s->period % 2 == 0 && i < half; i++) {
        halves[i] = s->states[i] - s->states[half + i];
    }
}

/* The earliest place where the target has left 0, if it is before *first. */
static void try_end(curve_job *job, const target *t, double f0, double fh, dyn_curve_end end,
                    double *first, dyn_curve_end *which)
{
    double s;
    if (find_root(job, t, f0, fh, &s) == KERN_OK && s < *first) {
        *first = s;
        *which = end;
    }
}

/* Parameter i at u. */
static double parameter_at(const curve_system *s, const double *u, size_t i)
{
    return s->origin[i] + s->length[i] * u[s->unknowns - 2 + i];
}

bool curve_is_outside(const curve_job *job)
{
    bool outside = false;
    for (size_t i = 0; i < 2; i++) {
        const double p = parameter_at(job->system, dyn_arc_point(job->arc), i);
        outside = outside || !(p >= job->o->low[i] && p <= job->o->high[i]);
    }
    return outside;
}

bool curve_cut_step(curve_job *job, dyn_curve_end *end)
{
    const curve_system *s = job->system;
    const double none = (double)INFINITY;
    const double *from = dyn_arc_previous_point(job->arc);
    const double *to = dyn_arc_point(job->arc);
    double first = none;
    for (size_t i = 0; i < 2; i++) {
        const double p0 = parameter_at(s, from, i);
        const double ph = parameter_at(s, to, i);
        if (ph > job->o->high[i] || ph < job->o->low[i]) {
            const double bound = ph > job->o->high[i] ? job->o->high[i] : job->o->low[i];
            const target t = {.measure = measure_bound, .index = i, .bound = bound};
            try_end(job, &t, p0 - bound, ph - bound, DYN_CURVE_END_BOUND, &first, end);
        }
    }
    if (s->period % 2 == 0) {
        const target t = {.measure = measure_halves};
        const double f0 = compare_halves(job, from);
        const double fh = compare_halves(job, to);
        if (f0 > 0.0 && fh <= 0.0) {
            try_end(job, &t, f0, fh, DYN_CURVE_END_HALVED, &first, end);
        }
    }
    return first < none && dyn_arc_retreat(job->arc, first) == KERN_OK;
}

/* ---- Points and events -------------------------------------------------------------------- */

kern_status curve_point_make(const curve_job *job, const curve_sample *sample,
                             dyn_curve_point *point, kern_error *err)
{
    const curve_system *s = job->system;
    const double root = sqrt(fabs(1.0 - sample->k * sample->k));
    *point = (dyn_curve_point){.residual = sample->residual, .form = sample->form};
    point->states = malloc((s->n + 2 * s->size) * sizeof *point->states);
    if (point->states == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a point of a curve");
    }
    point->re = point->states + s->n;
    point->im = point->re + s->size;
    memcpy(point->states, s->states, s->n * sizeof *point->states);
    memcpy(point->re, sample->re, s->size * sizeof *point->re);
    memcpy(point->im, sample->im, s->size * sizeof *point->im);
    for (size_t i = 0; i < 2; i++) {
        point->parameters[i] = s->map->params[s->parameters[i]];
    }
    point->neutral = s->kind == DYN_NORMAL_NS && fabs(sample->k) > 1.0;
    if (s->kind != DYN_NORMAL_NS) {
        point->critical_re = s->kind == DYN_NORMAL_LP ? 1.0 : -1.0;
    } else if (point->neutral) {
        point->critical_re = sample->k + copysign(root, sample->k);
    } else {
        point->critical_re = sample->k;
        point->critical_im = root;
    }
    return KERN_OK;
}

void curve_point_fini(dyn_curve_point *point)
{
    free(point->states);
    *point = (dyn_curve_point){0};
}

static kern_status add_event(curve_job *job, curve_side *side, dyn_curve_event_kind kind,
                             kern_error *err)
{
    if (side->n_events == side->room_events) {
        const size_t room = side->room_events > 0 ? 2 * side->room_events : 8;
        dyn_curve_event *grown = realloc(side->events, room * sizeof *grown);
        if (grown == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu events of a curve", room);
        }
        side->events = grown;
        side->room_events = room;
    }
    dyn_curve_event *event = &side->events[side->n_events];
    *event = (dyn_curve_event){.kind = kind, .index = side->n_points};
    KERN_TRY(curve_point_make(job, &job->probe, &event->at, err));
    side->n_events++;
    return KERN_OK;
}

/* A root found in the step. */
typedef struct found {
    double s;
    size_t test;
} found;

/* Enters the root at `s` if it is an event. */
static kern_status enter_root(curve_job *job, curve_side *side, const found *root, kern_error *err)
{
    const dyn_normal_kind kind = job->system->kind;
    if (dyn_arc_between(job->arc, root->s, job->u, NULL) != KERN_OK ||
        curve_sample_take(job->system, job->normal, job->u, &job->probe) != KERN_OK) {
        job->out->n_unlocated++;
        return KERN_OK;
    }
    if (!curve_test_holds(kind, root->test, &job->before, &job->now, &job->probe)) {
        return KERN_OK;
    }
    return add_event(job, side, curve_test_event(kind, root->test), err);
}

kern_status curve_find_events(curve_job *job, curve_side *side, kern_error *err)
{
    const dyn_normal_kind kind = job->system->kind;
    found list[CURVE_TESTS];
    size_t n = 0;
    for (size_t i = 0; i < curve_test_count(kind); i++) {
        const target t = {.measure = measure_test, .index = i};
        found root = {.test = i};
        if (!curve_test_changed(kind, i, &job->before, &job->now)) {
            continue;
        }
        const kern_status status =
            find_root(job, &t, job->before.value[i], job->now.value[i], &root.s);
        if (status != KERN_OK) {
            job->out->n_unlocated += status == KERN_SINGULAR ? 0 : 1;
            continue;
        }
        size_t place = n++;
        for (; place > 0 && list[place - 1].s > root.s; place--) {
            list[place] = list[place - 1];
        }
        list[place] = root;
    }
    for (size_t i = 0; i < n; i++) {
        KERN_TRY(enter_root(job, side, &list[i], err));
    }
    return KERN_OK;
}
