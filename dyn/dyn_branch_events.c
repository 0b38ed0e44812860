/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_branch_internal.h"

#include <float.h>
#include <math.h>

enum {
    DEPTH = 40,      /* halvings of a step in search of single events */
    ITERATIONS = 80, /* of a root */
    DODGES = 4       /* places tried beside one where the corrector fails */
};

/* A fold alone may be a fold and a branch point: it is one event once the interval is this part of
 * the step. */
#define ALONE 1e-4
/* Width, as a part of the step, from which a branch point is refined. */
#define COARSE 1e-3
/* Size of the reduced problem at a branch point, as a part of the step. */
#define REACH 0.5
/* Least width of an interval, as a part of the step: what is not told apart here happens at once.
 */
#define FINEST 1e-11
/* Distance from the unit circle, at the end of a search, of a multiplier that is on it. */
#define ON_CIRCLE 1e-5

/* ---- Samples inside a step ---------------------------------------------------------------- */

/* The sample at a + part·(b − a), or beside it where the corrector fails, as it may at a branch
 * point. */
static kern_status sample_inside(branch_walk *w, double a, double b, double part,
                                 branch_sample *sample, bool *found, kern_error *err)
{
    *found = false;
    for (int i = 0; i < DODGES && !*found; i++) {
        const double moved = part + (part < 0.5 ? 0.07 : -0.07) * (double)i;
        KERN_TRY(branch_sample_between(w, a + moved * (b - a), sample, found, err));
    }
    return KERN_OK;
}

/* ---- Changes ------------------------------------------------------------------------------ */

typedef struct changes {
    bool fold;    /* the parameter turns */
    bool plus;    /* real multipliers above 1, by an odd number */
    bool minus;   /* real multipliers below −1, by an odd number */
    bool real;    /* real multipliers above 1 or below −1, by any number */
    size_t moved; /* multipliers outside the circle, difference of the counts */
} changes;

static changes compare(const branch_walk *w, const branch_sample *a, const branch_sample *b)
{
    const size_t before = branch_sample_outside(w, a);
    const size_t after = branch_sample_outside(w, b);
    changes c = {.fold = (a->slope < 0.0) != (b->slope < 0.0)};
    if (a->known && b->known) {
        c.plus = (a->above + b->above) % 2 != 0;
        c.minus = (a->below + b->below) % 2 != 0;
        c.real = a->above != b->above || a->below != b->below;
        c.moved = before > after ? before - after : after - before;
    }
    return c;
}

static bool is_quiet(const changes *c)
{
    return !c->fold && !c->plus && !c->minus && c->moved == 0;
}

/* True when the changes are those of one event. Two that leave the circle are one event when they
 * are a complex pair; two real ones may do so at different places. */
static bool is_single(const changes *c, double width, double step)
{
    if (c->minus) {
        return !c->fold && !c->plus && c->moved == 1;
    }
    if (c->plus) {
        return c->moved == 1;
    }
    return c->fold ? c->moved == 0 && width <= ALONE * step : c->moved == 2 && !c->real;
}

/* ---- Roots -------------------------------------------------------------------------------- */

/* What changes its sign at an event. */
typedef enum root_kind { ROOT_SLOPE, ROOT_PLUS, ROOT_MINUS, ROOT_COUNT, ROOT_MONITOR } root_kind;

/* `count`: the number of multipliers outside at the left end. */
static double value_of(const branch_walk *w, const branch_sample *s, root_kind kind, size_t count)
{
    switch (kind) {
    case ROOT_SLOPE:
        return s->slope;
    case ROOT_PLUS:
        return s->plus;
    case ROOT_MINUS:
        return s->minus;
    case ROOT_COUNT:
        return branch_sample_outside(w, s) == count ? -1.0 : 1.0;
    case ROOT_MONITOR:
        return s->monitor;
    }
    return (double)NAN;
}

/* Narrows [*a, *b], over which the value changes its sign, to `width`, by regula falsi (Dowell and
 * Jarratt's Illinois rule) with a bisection every third time. */
static kern_status narrow(branch_walk *w, root_kind kind, double width, branch_sample *a,
                          branch_sample *b, kern_error *err)
{
    const size_t count = branch_sample_outside(w, a);
    double fa = value_of(w, a, kind, count);
    double fb = value_of(w, b, kind, count);
    const bool bisect = kind == ROOT_COUNT;
    int side = 0; /* the end that moved last: −1 left, 1 right */
    for (int i = 0; i < ITERATIONS && b->at - a->at > width; i++) {
        branch_sample middle;
        bool found;
        double part = bisect || i % 3 == 2 ? 0.5 : fa / (fa - fb);
        part = part > 0.0 && part < 1.0 ? part : 0.5;
        KERN_TRY(sample_inside(w, a->at, b->at, part, &middle, &found, err));
        const double f = found ? value_of(w, &middle, kind, count) : (double)NAN;
        if (isnan(f) || middle.at <= a->at || middle.at >= b->at) {
            break;
        }
        if ((f < 0.0) == (fa < 0.0)) {
            *a = middle;
            fa = f;
            fb *= side < 0 ? 0.5 : 1.0;
            side = -1;
        } else {
            *b = middle;
            fb = f;
            fa *= side > 0 ? 0.5 : 1.0;
            side = 1;
        }
        if (f == 0.0) {
            *a = middle;
            *b = middle;
        }
    }
    return KERN_OK;
}

/* The end of [a, b] where the value is smaller, as w->u. */
static kern_status settle(branch_walk *w, root_kind kind, const branch_sample *a,
                          const branch_sample *b, double *s, kern_error *err)
{
    branch_sample sample;
    bool found;
    const size_t count = branch_sample_outside(w, a);
    const double fa = value_of(w, a, kind, count);
    const double fb = value_of(w, b, kind, count);
    *s = fabs(fa) < fabs(fb) ? a->at : b->at;
    KERN_TRY(branch_sample_between(w, *s, &sample, &found, err));
    if (!found) {
        return kern_raise(err, KERN_NOT_CONVERGED,
                          "a point of a branch was lost while an event was "
                          "located");
    }
    return KERN_OK;
}

/* ---- Single events ------------------------------------------------------------------------ */

static kern_status locate(branch_walk *w, root_kind root, dyn_branch_event_kind kind,
                          branch_sample a, branch_sample b, kern_error *err)
{
    double s;
    KERN_TRY(narrow(w, root, 2.0 * DBL_EPSILON * dyn_arc_last_step(w->arc), &a, &b, err));
    KERN_TRY(settle(w, root, &a, &b, &s, err));
    return branch_record_event(w, kind, s, false, NULL, err);
}

/* A branch point: near it first, then by the reduced equation. Where that has no solution, the root
 * has to do. */
static kern_status locate_branching(branch_walk *w, root_kind root, const branch_sample *from,
                                    const branch_sample *to, kern_error *err)
{
    const double h = dyn_arc_last_step(w->arc);
    branch_sample a = *from;
    branch_sample b = *to;
    branch_cross cross;
    double s;
    KERN_TRY(narrow(w, root, COARSE * h, &a, &b, err));
    KERN_TRY(settle(w, root, &a, &b, &s, err));
    branch_sample_course(w);
    if (branch_cross_find(w->system, w->u, w->tangent, REACH * h, &cross, w->cross_work) !=
        KERN_OK) {
        return locate(w, root, DYN_BRANCH_BP, a, b, err);
    }
    return branch_record_event(w, DYN_BRANCH_BP, s, false, cross.crossing ? cross.second : NULL,
                               err);
}

/* Multipliers enter or leave the circle by two: a complex pair, or equal real ones, as symmetric
 * maps have them. What is on the circle in the end decides. */
static kern_status locate_pair(branch_walk *w, branch_sample a, branch_sample b, kern_error *err)
{
    const double h = dyn_arc_last_step(w->arc);
    double s;
    KERN_TRY(narrow(w, ROOT_COUNT, 2.0 * DBL_EPSILON * h, &a, &b, err));
    KERN_TRY(settle(w, ROOT_COUNT, &a, &b, &s, err));
    if (b.circle <= ON_CIRCLE) {
        return branch_record_event(w, DYN_BRANCH_NS, s, false, NULL, err);
    }
    const bool flip = a.below != b.below;
    return branch_record_event(w, flip ? DYN_BRANCH_PD : DYN_BRANCH_BP, s, false, NULL, err);
}

static kern_status locate_single(branch_walk *w, const changes *c, const branch_sample *a,
                                 const branch_sample *b, kern_error *err)
{
    if (c->minus) {
        return locate(w, ROOT_MINUS, DYN_BRANCH_PD, *a, *b, err);
    }
    if (c->fold && (c->plus || !a->known || !b->known)) {
        return locate(w, ROOT_SLOPE, DYN_BRANCH_LP, *a, *b, err);
    }
    if (c->fold || c->plus) {
        return locate_branching(w, c->plus ? ROOT_PLUS : ROOT_SLOPE, a, b, err);
    }
    return locate_pair(w, *a, *b, err);
}

/* Several events at one place, as far as doubles tell. */
static kern_status record_all(branch_walk *w, const changes *c, const branch_sample *a,
                              const branch_sample *b, kern_error *err)
{
    double s;
    KERN_TRY(settle(w, ROOT_SLOPE, a, b, &s, err));
    if (c->fold && c->plus) {
        KERN_TRY(branch_record_event(w, DYN_BRANCH_LP, s, false, NULL, err));
    } else if (c->fold || c->plus) {
        KERN_TRY(locate_branching(w, c->plus ? ROOT_PLUS : ROOT_SLOPE, a, b, err));
        KERN_TRY(settle(w, ROOT_SLOPE, a, b, &s, err));
    }
    if (c->minus) {
        KERN_TRY(branch_record_event(w, DYN_BRANCH_PD, s, false, NULL, err));
    }
    const size_t real = (c->plus ? 1U : 0U) + (c->minus ? 1U : 0U);
    if (c->moved > real && b->circle <= ON_CIRCLE) {
        return branch_record_event(w, DYN_BRANCH_NS, s, false, NULL, err);
    }
    if (c->moved > 1 && real == 0) {
        const bool flip = a->below != b->below;
        return branch_record_event(w, flip ? DYN_BRANCH_PD : DYN_BRANCH_BP, s, false, NULL, err);
    }
    return KERN_OK;
}

/* ---- Intervals ---------------------------------------------------------------------------- */

/* What happens between a and b, halved until each event is alone. */
static kern_status isolate(branch_walk *w, const branch_sample *a, const branch_sample *b,
                           int depth, kern_error *err)
{
    const changes c = compare(w, a, b);
    const double h = dyn_arc_last_step(w->arc);
    const double width = b->at - a->at;
    if (w->halved || is_quiet(&c)) {
        return KERN_OK;
    }
    if (is_single(&c, width, h)) {
        return locate_single(w, &c, a, b, err);
    }
    branch_sample middle;
    bool found = false;
    if (depth < DEPTH && width > FINEST * h) {
        KERN_TRY(sample_inside(w, a->at, b->at, 0.5, &middle, &found, err));
    }
    if (!found) {
        return record_all(w, &c, a, b, err);
    }
    KERN_TRY(isolate(w, a, &middle, depth + 1, err));
    return isolate(w, &middle, b, depth + 1, err);
}

kern_status branch_events_isolate(branch_walk *w, const branch_sample *a, const branch_sample *b,
                                  kern_error *err)
{
    return isolate(w, a, b, 0, err);
}

kern_status branch_events_find(branch_walk *w, const branch_sample *a, const branch_sample *b,
                               kern_error *err)
{
    w->ignore_pairs = a->neutral > 0 && b->neutral > 0;
    KERN_TRY(isolate(w, a, b, 0, err));
    if (!w->halved && (a->monitor < 0.0) != (b->monitor < 0.0) && isfinite(a->monitor) &&
        isfinite(b->monitor)) {
        return locate(w, ROOT_MONITOR, DYN_BRANCH_UZ, *a, *b, err);
    }
    return KERN_OK;
}
