/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_measure.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Steps that are tried, each half of the one before; and the first, in ε^(1/6) of the scale. */
enum { STEPS = 8, FIRST = 8 };

/* Points around the place for one step: ±a, ±b and the four diagonals. */
enum { AROUND = 8, POINTS = STEPS * AROUND + 1 };

enum { SLOPE_A, SLOPE_B, BEND_AA, BEND_AB, BEND_BB, TERMS };

/* Of an extrapolated second difference of numbers rounded to ε|E|: (4·4/(h/2)² + 4/h²)/3; and of a
 * first one: (4·2/h + 1/h)/3. */
#define BEND_ROUNDING  (68.0 / 3.0)
#define SLOPE_ROUNDING 3.0

/* A step is made to this part of itself, or not at all. */
#define STEP_GRAIN 1e-6

#define PI 3.14159265358979323846

static const double around[AROUND][2] = {{1, 0}, {-1, 0}, {0, 1},  {0, -1},
                                         {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};

typedef struct derivatives {
    double d[TERMS];
    double slope_doubt, bend_doubt; /* how far slopes and second derivatives may be off */
} derivatives;

/* Central differences with step h, of second order. */
static void take_differences(double centre, const double e[AROUND], double h, double d[TERMS])
{
    d[SLOPE_A] = (e[0] - e[1]) / (2.0 * h);
    d[SLOPE_B] = (e[2] - e[3]) / (2.0 * h);
    d[BEND_AA] = ((e[0] - centre) + (e[1] - centre)) / (h * h);
    d[BEND_BB] = ((e[2] - centre) + (e[3] - centre)) / (h * h);
    d[BEND_AB] = ((e[4] - e[5]) - (e[6] - e[7])) / (4.0 * h * h);
}

/* How far two extrapolations may both be off: how far they are apart, and the rounding that they
 * share. */
static double doubt(const double one[TERMS], const double other[TERMS], size_t first, size_t last,
                    double rounding)
{
    double apart = rounding;
    for (size_t i = first; i <= last; i++) {
        apart += fabs(one[i] - other[i]);
    }
    return apart;
}

/* Takes the extrapolated differences of two steps whose second derivatives agree best, and tells
 * how far slopes and second derivatives may be off; all NaN when no two are finite. Steps that are
 * too small a part of the place to be made are NaN in `e`. */
static derivatives choose(double centre, const double *e, double h)
{
    double plain[STEPS][TERMS];
    double rich[STEPS - 1][TERMS];
    derivatives best = {.slope_doubt = (double)NAN, .bend_doubt = (double)NAN};
    for (size_t k = 0; k < STEPS; k++) {
        take_differences(centre, e + k * AROUND, ldexp(h, -(int)k), plain[k]);
    }
    for (size_t k = 0; k + 1 < STEPS; k++) {
        for (size_t i = 0; i < TERMS; i++) {
            rich[k][i] = (4.0 * plain[k + 1][i] - plain[k][i]) / 3.0;
        }
    }
    for (size_t i = 0; i < TERMS; i++) {
        best.d[i] = (double)NAN;
    }
    for (size_t k = 0; k + 2 < STEPS; k++) {
        const double step = ldexp(h, -(int)k);
        const double grain = DBL_EPSILON * fabs(centre);
        const double apart =
            doubt(rich[k], rich[k + 1], BEND_AA, BEND_BB, BEND_ROUNDING * grain / (step * step));
        if (isfinite(apart) && !(apart >= best.bend_doubt)) {
            best.bend_doubt = apart;
            best.slope_doubt =
                doubt(rich[k], rich[k + 1], SLOPE_A, SLOPE_B, SLOPE_ROUNDING * grain / step);
            memcpy(best.d, rich[k], sizeof best.d);
        }
    }
    return best;
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

/* How far eigenvalues of G⁻¹H may be off: of H what the differences are and what its Christoffel
 * symbols make of the slopes', over the least eigenvalue det G/tr G of G, to a factor of 2; and of
 * G the rounding of its determinant. */
static double curvature_doubt(const view_measure *m, const derivatives *v,
                              const dyn_plane_metric *metric)
{
    const double *g = metric->gram;
    const double det = g[0] * g[2] - g[1] * g[1];
    double symbols = 0.0;
    for (size_t i = 0; i < 3; i++) {
        symbols = fmax(symbols, fabs(metric->bend[0][i]) + fabs(metric->bend[1][i]));
    }
    const double most = fmax(fabs(m->curvature[0]), fabs(m->curvature[1]));
    return (v->bend_doubt + symbols * v->slope_doubt) * (g[0] + g[2]) / (2.0 * det) +
           most * DBL_EPSILON * g[0] * g[2] / det;
}

void view_measure_source(view_measure *out, const dyn_slice_source *source, int worker,
                         const dyn_plane_metric *metric, double scale, double a, double b)
{
    const double h = FIRST * pow(DBL_EPSILON, 1.0 / 6.0) * scale;
    double as[POINTS];
    double bs[POINTS];
    double e[POINTS];
    as[0] = a;
    bs[0] = b;
    for (size_t i = 1; i < POINTS; i++) {
        const double step = ldexp(h, -(int)((i - 1) / AROUND));
        as[i] = a + step * around[(i - 1) % AROUND][0];
        bs[i] = b + step * around[(i - 1) % AROUND][1];
    }
    source->energies(source->context, worker, POINTS, as, bs, e);
    for (size_t i = 1; i < POINTS; i++) {
        const double step = ldexp(h, -(int)((i - 1) / AROUND));
        if (!(fmax(fabs(a), fabs(b)) * DBL_EPSILON <= STEP_GRAIN * step)) {
            e[i] = (double)NAN;
        }
    }
    const derivatives v = choose(e[0], e + 1, h);
    *out = (view_measure){.a = a, .b = b, .energy = e[0], .slope = {v.d[SLOPE_A], v.d[SLOPE_B]}};
    measure_frame(out, v.d, metric);
    out->uncertainty = curvature_doubt(out, &v, metric);
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
