/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Multipliers that touch +1, −1 or the unit circle and turn back: nothing changes its sign there,
 * so the distance is followed instead. A minimum inside a step is the root of its derivative, for
 * which differences of fourth order stay clear of the place itself, where the equations may be
 * singular.
 */
#include "dyn/dyn_branch_internal.h"

#include <math.h>

enum { ITERATIONS = 50, KINDS = 3 };

/* Distances that are looked into at all; farther ones do not reach 0 within a step. */
#define NEAR 0.3
/* A distance this small is a touch: a double root that rounding has moved. */
#define TOUCH 1e-7
/* Offset of differences, as a part of the step. */
#define OFFSET 2e-3
/* Slope of the parameter at a touch of +1 below which the curve folds there. */
#define FOLD 1e-5

typedef double distance_of(const branch_sample *s);

static double from_one(const branch_sample *s)
{
    return s->one;
}

static double from_flip(const branch_sample *s)
{
    return s->flip;
}

static double from_circle(const branch_sample *s)
{
    return s->circle;
}

static distance_of *const distances[KINDS] = {from_one, from_flip, from_circle};
static const dyn_branch_event_kind kinds[KINDS] = {DYN_BRANCH_BP, DYN_BRANCH_PD, DYN_BRANCH_NS};

/* True when something of this kind crosses between two samples, or is not known to touch. */
static bool crosses(const branch_walk *w, const branch_sample *a, const branch_sample *b,
                    size_t kind)
{
    const bool turns = (a->slope < 0.0) != (b->slope < 0.0);
    if (!a->known || !b->known || branch_events_outside(w, a) != branch_events_outside(w, b)) {
        return true;
    }
    return (kind == 0 && (turns || a->above != b->above)) || (kind == 1 && a->below != b->below);
}

/* Distance at s, or NaN. */
static kern_status distance_at(branch_walk *w, size_t kind, double s, double *d, kern_error *err)
{
    branch_sample sample;
    bool found;
    KERN_TRY(branch_events_sample(w, s, &sample, &found, err));
    *d = found ? distances[kind](&sample) : (double)NAN;
    return KERN_OK;
}

/* Twelve times the offset times the derivative of the distance at s. */
static kern_status derivative_at(branch_walk *w, size_t kind, double s, double *slope,
                                 kern_error *err)
{
    const double h = dyn_arc_last_step(w->arc);
    const double offset = fmin(OFFSET * h, 0.5 * fmin(s, h - s));
    double d[4];
    KERN_TRY(distance_at(w, kind, s - 2.0 * offset, &d[0], err));
    KERN_TRY(distance_at(w, kind, s - offset, &d[1], err));
    KERN_TRY(distance_at(w, kind, s + offset, &d[2], err));
    KERN_TRY(distance_at(w, kind, s + 2.0 * offset, &d[3], err));
    *slope = 8.0 * (d[2] - d[1]) - (d[3] - d[0]);
    return KERN_OK;
}

/* The minimum by secants and bisections on the derivative, which is negative at `low` and positive
 * at `high`. */
static kern_status find_minimum(branch_walk *w, size_t kind, double *s, kern_error *err)
{
    const double h = dyn_arc_last_step(w->arc);
    double low = 0.0;
    double high = h;
    double f_low = (double)NAN;
    double f_high = (double)NAN;
    for (int i = 0; i < ITERATIONS && high - low > 1e-13 * h; i++) {
        double f;
        double middle = low + (high - low) * f_low / (f_low - f_high);
        middle = i % 3 != 2 && middle > low && middle < high ? middle : 0.5 * (low + high);
        KERN_TRY(derivative_at(w, kind, middle, &f, err));
        if (!isfinite(f)) {
            break;
        }
        *(f < 0.0 ? &low : &high) = middle;
        *(f < 0.0 ? &f_low : &f_high) = f;
    }
    *s = fabs(f_low) < fabs(f_high) ? low : high;
    return KERN_OK;
}

/* Records the touch at s, if it is one. */
static kern_status record(branch_walk *w, size_t kind, double s, kern_error *err)
{
    branch_sample sample;
    bool found;
    KERN_TRY(branch_events_sample(w, s, &sample, &found, err));
    if (!found || !(distances[kind](&sample) <= TOUCH)) {
        return KERN_OK;
    }
    const bool fold = kind == 0 && fabs(sample.slope) <= FOLD;
    return branch_record_event(w, fold ? DYN_BRANCH_LP : kinds[kind], s, true, NULL, err);
}

static kern_status find_kind(branch_walk *w, size_t kind, const branch_sample *a,
                             const branch_sample *b, kern_error *err)
{
    const double h = dyn_arc_last_step(w->arc);
    const double da = distances[kind](a);
    const double db = distances[kind](b);
    double inner[2];
    double s;
    if (crosses(w, a, b, kind)) {
        return KERN_OK;
    }
    /* A step that begins on the touch. */
    if (da <= TOUCH && db > TOUCH && w->has_before && !crosses(w, &w->before, b, kind) &&
        distances[kind](&w->before) > TOUCH) {
        return record(w, kind, 0.0, err);
    }
    if (!(da > TOUCH && db > TOUCH && fmin(da, db) <= NEAR)) {
        return KERN_OK;
    }
    KERN_TRY(distance_at(w, kind, OFFSET * h, &inner[0], err));
    KERN_TRY(distance_at(w, kind, h - OFFSET * h, &inner[1], err));
    if (!(inner[0] < da && inner[1] < db)) {
        return KERN_OK;
    }
    KERN_TRY(find_minimum(w, kind, &s, err));
    return record(w, kind, s, err);
}

kern_status branch_touch_find(branch_walk *w, const branch_sample *a, const branch_sample *b,
                              kern_error *err)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        KERN_TRY(find_kind(w, kind, a, b, err));
    }
    return KERN_OK;
}
