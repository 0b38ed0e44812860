/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_measure.h"

#include <float.h>
#include <math.h>

/* Steps that are tried, each half of the one before; and the first, in ε^(1/6) of the scale. */
enum { STEPS = 8, FIRST = 8 };

/* Points around the place for one step: ±a, ±b and the four diagonals. */
enum { AROUND = 8, POINTS = STEPS * AROUND + 1 };

enum { SLOPE_A, SLOPE_B, BEND_AA, BEND_AB, BEND_BB, TERMS };

/* Of an extrapolated second difference of numbers rounded to ε|E|: (4·4/(h/2)² + 4/h²)/3. */
#define ROUNDING (68.0 / 3.0)

#define PI 3.14159265358979323846

static const double around[AROUND][2] = {{1, 0}, {-1, 0}, {0, 1},  {0, -1},
                                         {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};

/* Central differences with step h, of second order. */
static void take_differences(double centre, const double e[AROUND], double h, double d[TERMS])
{
    d[SLOPE_A] = (e[0] - e[1]) / (2.0 * h);
    d[SLOPE_B] = (e[2] - e[3]) / (2.0 * h);
    d[BEND_AA] = ((e[0] - centre) + (e[1] - centre)) / (h * h);
    d[BEND_BB] = ((e[2] - centre) + (e[3] - centre)) / (h * h);
    d[BEND_AB] = ((e[4] - e[5]) - (e[6] - e[7])) / (4.0 * h * h);
}

/* Takes the extrapolated differences of two steps that agree best. Returns how well their second
 * derivatives do, with the rounding that both may share; NaN when no two are finite. */
static double choose(double centre, const double *e, double h, double best[TERMS])
{
    double plain[STEPS][TERMS];
    double rich[STEPS - 1][TERMS];
    double least = (double)NAN;
    for (size_t k = 0; k < STEPS; k++) {
        take_differences(centre, e + k * AROUND, ldexp(h, -(int)k), plain[k]);
    }
    for (size_t k = 0; k + 1 < STEPS; k++) {
        for (size_t i = 0; i < TERMS; i++) {
            rich[k][i] = (4.0 * plain[k + 1][i] - plain[k][i]) / 3.0;
        }
    }
    for (size_t i = 0; i < TERMS; i++) {
        best[i] = (double)NAN;
    }
    for (size_t k = 0; k + 2 < STEPS; k++) {
        const double step = ldexp(h, -(int)k);
        double apart = ROUNDING * DBL_EPSILON * fabs(centre) / (step * step);
        for (size_t i = BEND_AA; i <= BEND_BB; i++) {
            apart += fabs(rich[k][i] - rich[k + 1][i]);
        }
        if (isfinite(apart) && !(apart >= least)) {
            least = apart;
            for (size_t i = 0; i < TERMS; i++) {
                best[i] = rich[k][i];
            }
        }
    }
    return least;
}

/* An angle of a line, in [0, π). */
static double line_angle(double x, double y)
{
    const double angle = atan2(y, x);
    const double turned = angle < 0.0 ? angle + PI : angle;
    return turned >= PI ? 0.0 : turned;
}

/* Gradient and curvatures in an orthonormal frame (p, q) with p along the first axis: ∂x/∂a = |e_a|
 * p and ∂x/∂b = c p + s q. */
static void measure_frame(view_measure *out, const double d[TERMS], const dyn_plane_metric *metric)
{
    const double *gram = metric->gram;
    double bend[3]; /* covariant: aa, ab, bb */
    for (size_t i = 0; i < 3; i++) {
        bend[i] =
            d[BEND_AA + i] - metric->bend[0][i] * d[SLOPE_A] - metric->bend[1][i] * d[SLOPE_B];
    }
    const double length = sqrt(gram[0]);
    const double c = gram[1] / length;
    const double s = sqrt(gram[2] - c * c);
    const double gp = d[SLOPE_A] / length;
    const double gq = (d[SLOPE_B] - c * gp) / s;
    const double pp = bend[0] / gram[0];
    const double pq = (bend[1] / length - c * pp) / s;
    const double qq = (bend[2] - 2.0 * c * s * pq - c * c * pp) / (s * s);
    const double middle = 0.5 * (pp + qq);
    const double half = hypot(0.5 * (pp - qq), pq);
    /* Direction of the larger: tan 2φ = 2 pq/(pp − qq). */
    const double large = 0.5 * atan2(2.0 * pq, pp - qq);
    out->gradient = hypot(gp, gq);
    out->curvature[0] = middle - half;
    out->curvature[1] = middle + half;
    out->direction[1] = line_angle(cos(large), sin(large));
    out->direction[0] = line_angle(-sin(large), cos(large));
    for (size_t k = 0; k < 2; k++) {
        const double up = sin(out->direction[k]) / s;
        out->page[k] = line_angle((cos(out->direction[k]) - c * up) / length, up);
    }
}

void view_measure_source(view_measure *out, const dyn_slice_source *source, int worker,
                         const dyn_plane_metric *metric, double scale, double a, double b)
{
    const double h = FIRST * pow(DBL_EPSILON, 1.0 / 6.0) * scale;
    double as[POINTS];
    double bs[POINTS];
    double e[POINTS];
    double d[TERMS];
    as[0] = a;
    bs[0] = b;
    for (size_t i = 1; i < POINTS; i++) {
        const double step = ldexp(h, -(int)((i - 1) / AROUND));
        as[i] = a + step * around[(i - 1) % AROUND][0];
        bs[i] = b + step * around[(i - 1) % AROUND][1];
    }
    source->energies(source->context, worker, POINTS, as, bs, e);
    const double apart = choose(e[0], e + 1, h, d);
    *out = (view_measure){
        .a = a, .b = b, .energy = e[0], .slope = {d[SLOPE_A], d[SLOPE_B]}, .uncertainty = apart};
    measure_frame(out, d, metric);
}

void view_measure_at(view_measure *out, const view_landscape *landscape, int worker, double a,
                     double b)
{
    const dyn_plane *plane = landscape->plane;
    const dyn_slice_range *r = &landscape->range;
    const double side = 0.5 * fmin(r->a_high - r->a_low, r->b_high - r->b_low);
    dyn_plane_metric metric;
    double square = 0.0;
    /* What the energy sees behind a norm is the direction, which turns over the length of the
     * blocks that move; a range may be a small part of that. */
    for (size_t i = 0; i < plane->size; i++) {
        const size_t block = i / plane->block_width;
        square +=
            plane->moves[block] ? plane->weight[block] * plane->centre[i] * plane->centre[i] : 0.0;
    }
    dyn_plane_measure(plane, a, b, &metric);
    view_measure_source(out, &landscape->source, worker, &metric, fmax(side, sqrt(square)), a, b);
}
