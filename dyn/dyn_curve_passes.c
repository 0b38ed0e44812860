/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether a point lies on a curve that has been followed.
 */
#include "dyn/dyn_curve.h"

#include <math.h>

/* Steps turn by at most 22.5°, which keeps an arc within a tenth of its chord's length. */
#define NEAR 0.25

/* A point given, and the lengths that make coordinates comparable. */
typedef struct place {
    const double *parameters, *states;
    double critical_re;
    double unit;
} place;

/* Coordinate i of a point of the curve, and of the given point, in units of the curve: the states
 * with the given cycle begun at state `shift`, then p, q and the critical multiplier. */
static double coordinate_of(const dyn_curve *curve, const place *at, const dyn_curve_point *point,
                            size_t i, size_t shift)
{
    const size_t n = curve->period * curve->size;
    if (i < n) {
        const double *states = point != NULL ? point->states : at->states;
        return states[point != NULL ? i : (i + shift * curve->size) % n] / at->unit;
    }
    if (i < n + 2) {
        const size_t j = i - n;
        const double value = point != NULL ? point->parameters[j] : at->parameters[j];
        return value / (curve->high[j] - curve->low[j]);
    }
    return point != NULL ? point->critical_re : at->critical_re;
}

static bool is_near_chord(const dyn_curve *curve, const place *at, const dyn_curve_point *a,
                          const dyn_curve_point *b, size_t shift)
{
    const size_t m = curve->period * curve->size + 3;
    double length = 0.0; /* squared */
    double along = 0.0;
    double distance = 0.0; /* squared, from a */
    for (size_t i = 0; i < m; i++) {
        const double start = coordinate_of(curve, at, a, i, shift);
        const double chord = coordinate_of(curve, at, b, i, shift) - start;
        const double gap = coordinate_of(curve, at, NULL, i, shift) - start;
        length += chord * chord;
        along += chord * gap;
        distance += gap * gap;
    }
    const double part = length > 0.0 ? fmin(1.0, fmax(0.0, along / length)) : 0.0;
    const double left = distance - 2.0 * part * along + part * part * length;
    return left <= NEAR * NEAR * length;
}

bool dyn_curve_passes(const dyn_curve *curve, const double parameters[2], const double *states,
                      double critical_re)
{
    const size_t n = curve->period * curve->size;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += states[i] * states[i];
    }
    const place at = {.parameters = parameters,
                      .states = states,
                      .critical_re = critical_re,
                      .unit = fmax(1.0, sqrt(sum / (double)n)) * sqrt((double)curve->period)};
    for (size_t i = 0; i + 1 < curve->n_points; i++) {
        for (size_t shift = 0; shift < curve->period; shift++) {
            if (is_near_chord(curve, &at, &curve->points[i], &curve->points[i + 1], shift)) {
                return true;
            }
        }
    }
    return false;
}
