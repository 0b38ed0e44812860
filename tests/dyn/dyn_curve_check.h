/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Following a curve of bifurcations in a test, and what must hold of any.
 */
#ifndef BASIN_DYN_CURVE_CHECK_H
#define BASIN_DYN_CURVE_CHECK_H

#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_curve.h"

/* What is known exactly is found to this accuracy: roots of functions that are right to about
 * 1e-12. */
#define CURVE_EXACT 1e-10

static inline dyn_curve_options curve_options(dyn_normal_kind kind, const char *p, const char *q,
                                              double reach)
{
    dyn_curve_options o = dyn_curve_options_default();
    o.kind = kind;
    o.parameters[0] = p;
    o.parameters[1] = q;
    for (size_t i = 0; i < 2; i++) {
        o.low[i] = -reach;
        o.high[i] = reach;
    }
    return o;
}

/* The curve, with what must hold of any: residuals, parameters within their ranges, one multiplier
 * where it should be. */
static inline dyn_curve curve_follow(dyn_map *map, const double *states, const dyn_curve_options *o)
{
    dyn_curve curve;
    kern_error err = {0};
    const double before[] = {map->params[0], map->params[1]};
    if (dyn_curve_init(&curve, map, states, o, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(map->params[0] == before[0] && map->params[1] == before[1]);
    assert_int_equal(curve.n_unlocated, 0);
    assert_true(curve.n_points > 2 && curve.start < curve.n_points);
    for (size_t i = 0; i < curve.n_points; i++) {
        const dyn_curve_point *point = &curve.points[i];
        double least = (double)INFINITY;
        assert_true(point->residual <= o->tol);
        for (size_t j = 0; j < 2; j++) {
            assert_true(point->parameters[j] >= o->low[j] - o->tol);
            assert_true(point->parameters[j] <= o->high[j] + o->tol);
        }
        for (size_t j = 0; j < curve.size; j++) {
            least = fmin(
                least, hypot(point->re[j] - point->critical_re, point->im[j] - point->critical_im));
        }
        /* Half the digits are left where two multipliers meet. */
        assert_true(least < 1e-6);
    }
    for (size_t i = 1; i < curve.n_events; i++) {
        assert_true(curve.events[i - 1].index <= curve.events[i].index);
    }
    return curve;
}

/* The events of a curve in either direction: their kinds as one text. */
static inline void curve_events(const dyn_curve *curve, const char *ahead, const char *backward)
{
    char there[256] = "";
    char back[256] = "";
    for (size_t i = 0; i < curve->n_events; i++) {
        const char *word = dyn_curve_event_word(curve->events[i].kind);
        const char *last = dyn_curve_event_word(curve->events[curve->n_events - 1 - i].kind);
        (void)strncat(there, i > 0 ? " " : "", sizeof there - strlen(there) - 1);
        (void)strncat(there, word, sizeof there - strlen(there) - 1);
        (void)strncat(back, i > 0 ? " " : "", sizeof back - strlen(back) - 1);
        (void)strncat(back, last, sizeof back - strlen(back) - 1);
    }
    if (strcmp(there, ahead) != 0 && strcmp(there, backward) != 0) {
        fail_msg("events are \"%s\" and not \"%s\"", there, ahead);
    }
}

static inline const dyn_curve_event *curve_find(const dyn_curve *curve, dyn_curve_event_kind kind)
{
    const dyn_curve_event *event = NULL;
    for (size_t i = 0; i < curve->n_events; i++) {
        if (curve->events[i].kind == kind) {
            assert_null(event);
            event = &curve->events[i];
        }
    }
    if (event == NULL) {
        fail_msg("there is no %s", dyn_curve_event_word(kind));
    }
    return event;
}

static inline void curve_event(const dyn_curve *curve, dyn_curve_event_kind kind, double p,
                               double q)
{
    const dyn_curve_event *event = curve_find(curve, kind);
    MAPS_CLOSE(event->at.parameters[0], p, CURVE_EXACT);
    MAPS_CLOSE(event->at.parameters[1], q, CURVE_EXACT);
    assert_true(event->at.residual < 1e-11);
}

#endif
