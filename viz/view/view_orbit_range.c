/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which columns of an orbit strip have settled, and the values that it shows.
 */
#include "viz/view/view_orbit.h"

#include <math.h>

#define LEAST 1e-3 /* of the plane's first axis, that a strip shows */
#define ALIKE 0.5  /* of the range of both halves of a settled column, at least common */
#define FEW   0.02 /* of the columns, that do not stretch the range */

static void widen(double range[2], const double *a, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (isfinite(a[k])) {
            range[0] = fmin(range[0], a[k]);
            range[1] = fmax(range[1], a[k]);
        }
    }
}

/* Steps that shrink by e^λ each have |last| / (1 − e^λ) still to go, at most. */
bool view_orbit_is_near_rest(const view_orbit *o, size_t column)
{
    const double *a = o->a + column * o->values;
    if (o->values < 2 || !(o->exponent[column] < 0.0)) {
        return false;
    }
    const double last = fabs(a[o->values - 1] - a[o->values - 2]);
    return last <= LEAST * o->span * -expm1(o->exponent[column]);
}

/* On the way to rest the later half lies elsewhere, or in a part of the range. */
bool view_orbit_has_settled(const view_orbit *o, size_t column)
{
    const double *a = o->a + column * o->values;
    const size_t half = o->values / 2;
    double first[2] = {HUGE_VAL, -HUGE_VAL};
    double second[2] = {HUGE_VAL, -HUGE_VAL};
    if (o->period[column] > 0 || view_orbit_is_near_rest(o, column)) {
        return true;
    }
    for (size_t k = 0; k < o->values; k++) {
        if (!isfinite(a[k])) {
            return false;
        }
    }
    widen(first, a, half);
    widen(second, a + half, o->values - half);
    const double both = fmin(first[1], second[1]) - fmax(first[0], second[0]);
    const double all = fmax(first[1], second[1]) - fmin(first[0], second[0]);
    return both > ALIKE * all;
}

/* What a settled column counts for: the end where it creeps to rest. */
static void range_of(const view_orbit *o, size_t column, double range[2])
{
    const bool rests = o->period[column] == 0 && view_orbit_is_near_rest(o, column);
    const double *a = o->a + column * o->values;
    widen(range, rests ? a + o->values - 1 : a, rests ? 1 : o->values);
}

/* The next value inwards from `now` that settled columns have as that end (0 low, 1 high), and how
 * many columns reach beyond it; `now` when there is none. */
static double next_end(const view_orbit *o, int end, double now, size_t *beyond)
{
    const double sign = end == 0 ? 1.0 : -1.0;
    double next = HUGE_VAL;
    *beyond = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < o->columns; i++) {
            double range[2] = {HUGE_VAL, -HUGE_VAL};
            if (view_orbit_has_settled(o, i)) {
                range_of(o, i, range);
            }
            const double at = sign * range[end];
            next = pass == 0 && at > sign * now && at < next ? at : next;
            *beyond += pass == 1 && at < next ? 1 : 0;
        }
    }
    return isfinite(next) ? sign * next : now;
}

/* Takes as many columns as count as few off either end of a range, where that is what stretches it.
 */
static void trim(const view_orbit *o, size_t settled, double range[2])
{
    const size_t few = (size_t)ceil(FEW * (double)settled);
    double inner[2] = {range[0], range[1]};
    for (int end = 0; end < 2; end++) {
        size_t beyond = 0;
        for (size_t k = 0; k < few && beyond < few; k++) {
            const double next = next_end(o, end, inner[end], &beyond);
            inner[end] = beyond <= few ? next : inner[end];
        }
    }
    const double shown = fmax(inner[1] - inner[0], LEAST * o->span);
    if (inner[0] <= inner[1] && range[1] - range[0] > 2.0 * shown) {
        range[0] = inner[0];
        range[1] = inner[1];
    }
}

/* The others are cut at the ends of this range: an orbit that creeps would flatten the rest. */
void view_orbit_range(const view_orbit *o, double *low, double *high)
{
    double range[2] = {HUGE_VAL, -HUGE_VAL};
    size_t settled = 0;
    for (size_t i = 0; i < o->columns; i++) {
        if (view_orbit_has_settled(o, i)) {
            range_of(o, i, range);
            settled++;
        }
    }
    const bool any = range[0] <= range[1];
    if (any) {
        trim(o, settled, range);
    }
    *low = any ? range[0] : o->low;
    *high = any ? range[1] : o->high;
    /* What differs by less than this is at one place of the map. */
    const double middle = 0.5 * (*low + *high);
    const double half = 0.5 * fmax(*high - *low, LEAST * o->span);
    *low = middle - half;
    *high = middle + half;
}
