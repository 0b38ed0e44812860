/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Multipliers that touch +1, −1 or the unit circle and turn back, all within one step. The distance
 * is followed, with the sign of the side that the multiplier is on. Its minimum is the root of its
 * derivative, for which differences of fourth order stay clear of the place itself, where the
 * equations may be singular. Where the minimum is negative the multiplier has crossed and come
 * back: both halves of the step then hold one crossing each, which is searched for there.
 */
#include "dyn/dyn_branch_internal.h"

#include <math.h>
#include <string.h>

enum { ITERATIONS = 50, KINDS = 3, DEPTH = 8 /* of intervals within a step */ };

/* Distances that are looked into at all; farther ones do not reach 0 within a step. */
#define NEAR 0.3
/* A distance this small is a touch: a double root that rounding has moved. */
#define TOUCH 1e-7
/* Offset of differences, as a part of the step. */
#define OFFSET 2e-3
/* A distance this far beyond 0 is more than rounding of a simple multiplier; where it is less well
 * known than that, samples beside it have to agree. */
#define BEYOND 1e-13
/* Slope of the parameter at a touch of +1 below which the curve folds there. */
#define FOLD 1e-5
/* An event nearer to an end of the branch than this part of the step is the one at the end. */
#define SAME_PLACE 1e-3

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
    if (!a->known || !b->known || branch_sample_outside(w, a) != branch_sample_outside(w, b)) {
        return true;
    }
    return (kind == 0 && (turns || a->above != b->above)) || (kind == 1 && a->below != b->below);
}

/* Distance, negative where the multiplier is on the other side than at the sample `from`. */
static double signed_distance(size_t kind, const branch_sample *from, const branch_sample *s)
{
    const bool other = kind == 0   ? s->above != from->above
                       : kind == 1 ? s->below != from->below
                                   : s->pairs != from->pairs;
    return other ? -distances[kind](s) : distances[kind](s);
}

/* A search for a minimum between two samples on the same side. */
typedef struct search {
    size_t kind;
    const branch_sample *a, *b;
    double at;    /* the minimum, */
    double value; /* and the signed distance there */
    branch_sample sample;
    bool found;
} search;

/* Signed distance at s, or NaN. */
static kern_status distance_at(branch_walk *w, const search *q, double s, double *d,
                               kern_error *err)
{
    branch_sample sample;
    bool found;
    KERN_TRY(branch_sample_between(w, s, &sample, &found, err));
    *d = found ? signed_distance(q->kind, q->a, &sample) : (double)NAN;
    return KERN_OK;
}

/* Twelve times the offset times the derivative of the signed distance at s. */
static kern_status derivative_at(branch_walk *w, const search *q, double s, double *slope,
                                 kern_error *err)
{
    const double h = q->b->at - q->a->at;
    const double offset = fmin(OFFSET * h, 0.5 * fmin(s - q->a->at, q->b->at - s));
    double d[4];
    KERN_TRY(distance_at(w, q, s - 2.0 * offset, &d[0], err));
    KERN_TRY(distance_at(w, q, s - offset, &d[1], err));
    KERN_TRY(distance_at(w, q, s + offset, &d[2], err));
    KERN_TRY(distance_at(w, q, s + 2.0 * offset, &d[3], err));
    *slope = 8.0 * (d[2] - d[1]) - (d[3] - d[0]);
    return KERN_OK;
}

/* The minimum by secants and bisections on the derivative, which is negative at `low` and positive
 * at `high`. */
static kern_status find_minimum(branch_walk *w, search *q, kern_error *err)
{
    const double h = q->b->at - q->a->at;
    double low = q->a->at;
    double high = q->b->at;
    double f_low = (double)NAN;
    double f_high = (double)NAN;
    for (int i = 0; i < ITERATIONS && high - low > 1e-13 * h; i++) {
        double f;
        double middle = low + (high - low) * f_low / (f_low - f_high);
        middle = i % 3 != 2 && middle > low && middle < high ? middle : 0.5 * (low + high);
        KERN_TRY(derivative_at(w, q, middle, &f, err));
        if (!isfinite(f)) {
            break;
        }
        *(f < 0.0 ? &low : &high) = middle;
        *(f < 0.0 ? &f_low : &f_high) = f;
    }
    q->at = fabs(f_low) < fabs(f_high) ? low : high;
    KERN_TRY(branch_sample_between(w, q->at, &q->sample, &q->found, err));
    q->value = q->found ? signed_distance(q->kind, q->a, &q->sample) : (double)NAN;
    return KERN_OK;
}

/* Looks for a minimum inside the interval; q->found is false where there is none. */
static kern_status look_inside(branch_walk *w, search *q, kern_error *err)
{
    const double h = q->b->at - q->a->at;
    const double da = distances[q->kind](q->a);
    const double db = distances[q->kind](q->b);
    double inner[2];
    if (crosses(w, q->a, q->b, q->kind) || !(da > TOUCH && db > TOUCH && fmin(da, db) <= NEAR) ||
        (q->kind == 2 && w->ignore_pairs)) {
        return KERN_OK;
    }
    KERN_TRY(distance_at(w, q, q->a->at + OFFSET * h, &inner[0], err));
    KERN_TRY(distance_at(w, q, q->b->at - OFFSET * h, &inner[1], err));
    return inner[0] < da && inner[1] < db ? find_minimum(w, q, err) : KERN_OK;
}

/* True when the multiplier is on the other side at the minimum. Within TOUCH of it that must hold
 * over half the width, by the parabola through the ends, over which it would. */
static kern_status is_beyond(branch_walk *w, const search *q, bool *beyond, kern_error *err)
{
    const double far = fmax(distances[q->kind](q->a), distances[q->kind](q->b));
    const double reach = fmax(q->at - q->a->at, q->b->at - q->at);
    const double half = 0.5 * reach * sqrt(fabs(q->value) / far);
    *beyond = q->found && q->value < -BEYOND;
    for (int i = -1; i <= 1 && *beyond && q->value > -TOUCH; i += 2) {
        double d;
        KERN_TRY(distance_at(w, q, q->at + i * half, &d, err));
        *beyond = d < 0.0;
    }
    return KERN_OK;
}

static kern_status record(branch_walk *w, size_t kind, const branch_sample *sample, kern_error *err)
{
    branch_sample again;
    bool found;
    const bool fold = kind == 0 && fabs(sample->slope) <= FOLD;
    KERN_TRY(branch_sample_between(w, sample->at, &again, &found, err));
    return found ? branch_record_event(w, fold ? DYN_BRANCH_LP : kinds[kind], sample->at, true,
                                       NULL, err)
                 : KERN_OK;
}

/* A step that begins on a touch. */
static kern_status touch_begin(branch_walk *w, size_t kind, const branch_sample *a,
                               const branch_sample *b, kern_error *err)
{
    const bool touches = distances[kind](a) <= TOUCH && distances[kind](b) > TOUCH;
    return touches && w->has_before && !crosses(w, &w->before, b, kind) &&
                   !crosses(w, a, b, kind) && distances[kind](&w->before) > TOUCH
               ? record(w, kind, a, err)
               : KERN_OK;
}

static kern_status find_between(branch_walk *w, const branch_sample *a, const branch_sample *b,
                                int depth, kern_error *err)
{
    search searches[KINDS];
    for (size_t kind = 0; kind < KINDS; kind++) {
        search *q = &searches[kind];
        bool beyond;
        *q = (search){.kind = kind, .a = a, .b = b};
        KERN_TRY(look_inside(w, q, err));
        KERN_TRY(is_beyond(w, q, &beyond, err));
        if (beyond && depth < DEPTH) {
            KERN_TRY(branch_events_isolate(w, a, &q->sample, err));
            KERN_TRY(branch_events_isolate(w, &q->sample, b, err));
            KERN_TRY(find_between(w, a, &q->sample, depth + 1, err));
            return find_between(w, &q->sample, b, depth + 1, err);
        }
    }
    for (size_t kind = 0; kind < KINDS; kind++) {
        const search *q = &searches[kind];
        if (q->found && fabs(q->value) <= TOUCH) {
            KERN_TRY(record(w, kind, &q->sample, err));
        }
    }
    return KERN_OK;
}

kern_status branch_touch_find(branch_walk *w, const branch_sample *a, const branch_sample *b,
                              kern_error *err)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        KERN_TRY(touch_begin(w, kind, a, b, err));
    }
    return find_between(w, a, b, 0, err);
}

/* ---- Ends --------------------------------------------------------------------------------- */

/* True when an event of this kind has been recorded about arclength s of the last step. */
static bool is_recorded(const branch_walk *w, size_t kind, double s)
{
    const double at = w->sign * (w->travelled + s);
    const double near = SAME_PLACE * dyn_arc_last_step(w->arc);
    for (size_t i = 0; i < w->out->n_events; i++) {
        const dyn_branch_event *e = &w->out->events[i];
        const bool same =
            e->kind == kinds[kind] || (kinds[kind] == DYN_BRANCH_BP && e->kind == DYN_BRANCH_LP);
        if (same && fabs(e->arclength - at) <= near) {
            return true;
        }
    }
    return false;
}

/* Places w->u at an end of the last step. The corrector, which would do so for a place inside, may
 * fail at a branch point. */
static void place_end(branch_walk *w, const branch_sample *end)
{
    const double *u = end->at > 0.0 ? dyn_arc_point(w->arc) : dyn_arc_previous_point(w->arc);
    memcpy(w->u, u, (w->system->n + 1) * sizeof *u);
}

kern_status branch_touch_end(branch_walk *w, const branch_sample *end, const branch_sample *other,
                             kern_error *err)
{
    for (size_t kind = 0; kind < KINDS && end->known && other->known && !w->halved; kind++) {
        const bool reached = distances[kind](end) <= TOUCH && distances[kind](other) > TOUCH;
        const bool fold = kind == 0 && fabs(end->slope) <= FOLD;
        if (reached && !(kind == 2 && w->ignore_pairs) && !is_recorded(w, kind, end->at)) {
            place_end(w, end);
            KERN_TRY(branch_record_event(w, fold ? DYN_BRANCH_LP : kinds[kind], end->at, false,
                                         NULL, err));
        }
    }
    return KERN_OK;
}
