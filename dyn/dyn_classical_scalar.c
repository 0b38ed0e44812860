/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Built-in maps of one coordinate.
 */
#include "dyn/dyn_classical_internal.h"

#include <math.h>

static const double two_pi = 6.283185307179586476925287;

/* ---- From a rule to the functions of a map ----------------------------------------------------
 */

static const dyn_classical_entry *entry_of(const dyn_map *map)
{
    return (const dyn_classical_entry *)map->kind;
}

static void step(dyn_map *map, const double *x, double *y)
{
    y[0] = entry_of(map)->value(map->params, x[0]);
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double at = x[0];
    const double tangent = v[0];
    if (y != NULL) {
        y[0] = entry_of(map)->value(map->params, at);
    }
    jv[0] = entry_of(map)->slope(map->params, at) * tangent;
}

static void vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    jtw[0] = entry_of(map)->slope(map->params, x[0]) * w[0];
}

static double log_abs_det(dyn_map *map, const double *x)
{
    return log(fabs(entry_of(map)->slope(map->params, x[0])));
}

/* ---- Rules ------------------------------------------------------------------------------------
 */

static double logistic(const double *p, double x)
{
    return p[0] * x * (1.0 - x);
}

static double logistic_slope(const double *p, double x)
{
    return p[0] * (1.0 - 2.0 * x);
}

static double ricker(const double *p, double x)
{
    return x * exp(p[0] * (1.0 - x));
}

static double ricker_slope(const double *p, double x)
{
    return (1.0 - p[0] * x) * exp(p[0] * (1.0 - x));
}

static double cubic(const double *p, double x)
{
    return p[0] * x - x * x * x;
}

static double cubic_slope(const double *p, double x)
{
    return p[0] - 3.0 * x * x;
}

/* A comparison instead of fmin, which would turn NaN into a number. */
static double tent(const double *p, double x)
{
    return p[0] * (x < 0.5 ? x : 1.0 - x);
}

static double tent_slope(const double *p, double x)
{
    return x < 0.5 ? p[0] : -p[0];
}

static double circle(const double *p, double x)
{
    return x + p[0] - p[1] / two_pi * sin(two_pi * x);
}

static double circle_slope(const double *p, double x)
{
    return 1.0 - p[1] * cos(two_pi * x);
}

static double double_well(const double *p, double x)
{
    return x - p[0] * (x * x * x - x);
}

static double double_well_slope(const double *p, double x)
{
    return 1.0 - p[0] * (3.0 * x * x - 1.0);
}

static double double_well_energy(dyn_map *map, const double *x)
{
    const double s = x[0] * x[0] - 1.0;
    (void)map;
    return 0.25 * s * s;
}

static double hopfield(const double *p, double x)
{
    return (1.0 - p[0]) * x + p[0] * tanh(p[1] * x);
}

static double hopfield_slope(const double *p, double x)
{
    const double t = tanh(p[1] * x);
    return 1.0 - p[0] + p[0] * p[1] * (1.0 - t * t);
}

/* ln cosh u = |u| + ln(1 + e^{−2|u|}) − ln 2 does not overflow; its quotient by β is 0 at β = 0. */
static double hopfield_energy(dyn_map *map, const double *x)
{
    const double beta = map->params[1];
    const double u = fabs(beta * x[0]);
    const double log_cosh = u + log1p(exp(-2.0 * u)) - 0.693147180559945309417232;
    return 0.5 * x[0] * x[0] - (beta == 0.0 ? 0.0 : log_cosh / beta);
}

/* ---- Entries ----------------------------------------------------------------------------------
 */

static const double unit_circle[] = {1.0};

#define SCALAR_KIND(map_name, map_formula, map_energy)                                             \
    .kind = {.name = map_name,                                                                     \
             .formula = map_formula,                                                               \
             .step = step,                                                                         \
             .jvp = jvp,                                                                           \
             .vjp = vjp,                                                                           \
             .energy = map_energy,                                                                 \
             .log_abs_det = log_abs_det,                                                           \
             .clone = dyn_map_create_like}

const dyn_classical_entry dyn_classical_scalar[] = {
    {SCALAR_KIND("logistic", "r x(1-x)", NULL), .params = {{"r", 4.0, "growth rate"}},
     .n_params = 1, .start = {0.4}, .value = logistic, .slope = logistic_slope},
    {SCALAR_KIND("ricker", "x exp(r(1-x))", NULL), .params = {{"r", 2.5, "growth rate"}},
     .n_params = 1, .start = {0.4}, .value = ricker, .slope = ricker_slope},
    {SCALAR_KIND("cubic", "mu x - x^3", NULL), .params = {{"mu", 1.5, "slope at 0"}}, .n_params = 1,
     .start = {0.1}, .value = cubic, .slope = cubic_slope},
    {SCALAR_KIND("tent", "mu min(x, 1-x)", NULL),
     .params = {{"mu", 1.9, "slope; at 2 every orbit ends at 0 after about 55 steps of rounding"}},
     .n_params = 1, .start = {0.4}, .value = tent, .slope = tent_slope},
    {SCALAR_KIND("circle", "x + omega - (k/2pi) sin 2pi x, lifted", NULL),
     .params = {{"omega", 0.618033988749894848, "shift a step, turns"},
                {"k", 0.9, "strength; invertible below 1"}},
     .n_params = 2, .start = {0.0}, .periods = unit_circle, .value = circle, .slope = circle_slope},
    {SCALAR_KIND("double-well", "x - eta(x^3 - x)", double_well_energy),
     .params = {{"eta", 0.5, "step size"}}, .n_params = 1, .start = {0.1}, .value = double_well,
     .slope = double_well_slope},
    {SCALAR_KIND("hopfield", "(1-eta) x + eta tanh(beta x)", hopfield_energy),
     .params = {{"eta", 0.5, "step size"}, {"beta", 2.0, "gain"}}, .n_params = 2, .start = {0.1},
     .value = hopfield, .slope = hopfield_slope},
};

const size_t dyn_classical_scalar_count =
    sizeof dyn_classical_scalar / sizeof dyn_classical_scalar[0];
