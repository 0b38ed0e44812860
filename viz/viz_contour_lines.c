/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Choice of levels, and lines with fewer vertices.
 */
#include "viz/viz_contour.h"

#include "kernels/kern_size.h"
#include "viz/viz_ticks.h"

#include <math.h>
#include <stdlib.h>

/* ---- Levels ------------------------------------------------------------------------------- */

size_t viz_contour_round_levels(double low, double high, size_t most, double *levels)
{
    const size_t room = kern_size_min(kern_size_max(most, 2), VIZ_CONTOUR_LEVELS_MAX);
    size_t n = 0;
    if (!isfinite(low) || !isfinite(high) || !(high > low) || !isfinite(high - low)) {
        return 0;
    }
    const double step = viz_ticks_nice_step((high - low) / (double)room);
    for (double k = floor(low / step); n < room && k * step < high; k += 1.0) {
        if (k * step > low) {
            levels[n++] = k * step;
        }
        if (k + 1.0 == k) { /* the range is within rounding of its own values */
            break;
        }
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t viz_contour_quantile_levels(const double *values, size_t count, size_t n, double *levels,
                                   double *sorted)
{
    size_t finite = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            sorted[finite++] = values[i];
        }
    }
    qsort(sorted, finite, sizeof *sorted, compare);
    for (size_t i = 0; finite > 0 && i < kern_size_min(n, VIZ_CONTOUR_LEVELS_MAX); i++) {
        const double place = ((double)i + 0.5) / (double)n * (double)(finite - 1);
        const size_t below = (size_t)place;
        const size_t above = kern_size_min(below + 1, finite - 1);
        const double level =
            sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
        if (kept == 0 || level > levels[kept - 1]) {
            levels[kept++] = level;
        }
    }
    return kept;
}

/* ---- Simplification ----------------------------------------------------------------------- */

typedef struct simplifier {
    const viz_contours *c;
    double scale[2];
    double tolerance;
    bool *keep;    /* by vertex */
    size_t *stack; /* pairs of ends still to be looked at */
} simplifier;

/* Distance of vertex i from the segment between vertices a and b. */
static double distance(const simplifier *s, size_t i, size_t a, size_t b)
{
    const viz_contours *c = s->c;
    const double ux = (c->x[b] - c->x[a]) * s->scale[0];
    const double uy = (c->y[b] - c->y[a]) * s->scale[1];
    const double vx = (c->x[i] - c->x[a]) * s->scale[0];
    const double vy = (c->y[i] - c->y[a]) * s->scale[1];
    const double square = ux * ux + uy * uy;
    const double along = square > 0.0 ? fmin(fmax((ux * vx + uy * vy) / square, 0.0), 1.0) : 0.0;
    return hypot(vx - along * ux, vy - along * uy);
}

/* Keeps, between `from` and `to`, what is farther away than the tolerance. */
static void thin(simplifier *s, size_t from, size_t to)
{
    size_t depth = 0;
    s->stack[depth++] = from;
    s->stack[depth++] = to;
    s->keep[from] = true;
    s->keep[to] = true;
    while (depth > 0) {
        const size_t b = s->stack[--depth];
        const size_t a = s->stack[--depth];
        double most = 0.0;
        size_t far = a;
        for (size_t i = a + 1; i < b; i++) {
            const double d = distance(s, i, a, b);
            if (!(d <= most)) {
                most = d;
                far = i;
            }
        }
        if (far != a && !(most <= s->tolerance)) {
            s->keep[far] = true;
            s->stack[depth++] = a;
            s->stack[depth++] = far;
            s->stack[depth++] = far;
            s->stack[depth++] = b;
        }
    }
}

static bool is_closed(const viz_contours *c, size_t from, size_t to)
{
    return to > from + 2 && c->x[from] == c->x[to] && c->y[from] == c->y[to];
}

/* A closed line is two lines between its first vertex and the one farthest from that. */
static void thin_closed(simplifier *s, size_t from, size_t to)
{
    size_t kept = 0;
    size_t far = from + 1;
    for (size_t i = from + 1; i < to; i++) {
        far = distance(s, i, from, from) > distance(s, far, from, from) ? i : far;
    }
    thin(s, from, far);
    thin(s, far, to);
    for (size_t i = from; i < to; i++) {
        kept += s->keep[i] ? 1 : 0;
    }
    for (size_t i = from; kept < 3 && i <= to; i++) {
        s->keep[i] = true;
    }
}

static void compact(viz_contours *c, const bool *keep)
{
    size_t n = 0;
    size_t begin = 0;
    for (size_t line = 0; line < c->n_lines; line++) {
        const size_t end = c->first[line + 1];
        for (size_t i = begin; i < end; i++) {
            if (keep[i]) {
                c->x[n] = c->x[i];
                c->y[n++] = c->y[i];
            }
        }
        begin = end;
        c->first[line + 1] = n;
    }
}

kern_status viz_contours_simplify(viz_contours *contours, double scale_x, double scale_y,
                                  double tolerance, kern_error *err)
{
    const size_t n = contours->n_lines > 0 ? contours->first[contours->n_lines] : 0;
    simplifier s = {.c = contours, .scale = {scale_x, scale_y}, .tolerance = tolerance};
    if (n == 0) {
        return KERN_OK;
    }
    s.keep = calloc(n, sizeof *s.keep);
    s.stack = calloc(2 * n + 4, sizeof *s.stack); /* every vertex is split at once at most */
    if (s.keep == NULL || s.stack == NULL) {
        free(s.keep);
        free(s.stack);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for lines of %zu vertices", n);
    }
    for (size_t line = 0; line < contours->n_lines; line++) {
        const size_t from = contours->first[line];
        const size_t to = contours->first[line + 1] - 1;
        (is_closed(contours, from, to) ? thin_closed : thin)(&s, from, to);
    }
    compact(contours, s.keep);
    free(s.keep);
    free(s.stack);
    return KERN_OK;
}
