/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Built-in maps of two coordinates.
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
    const double at[2] = {x[0], x[1]};
    entry_of(map)->image(map->params, at, y);
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double at[2] = {x[0], x[1]};
    const double tangent[2] = {v[0], v[1]};
    double j[4];
    entry_of(map)->jacobian(map->params, at, j);
    if (y != NULL) {
        entry_of(map)->image(map->params, at, y);
    }
    jv[0] = j[0] * tangent[0] + j[1] * tangent[1];
    jv[1] = j[2] * tangent[0] + j[3] * tangent[1];
}

static void vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    const double cotangent[2] = {w[0], w[1]};
    double j[4];
    entry_of(map)->jacobian(map->params, x, j);
    jtw[0] = j[0] * cotangent[0] + j[2] * cotangent[1];
    jtw[1] = j[1] * cotangent[0] + j[3] * cotangent[1];
}

static double log_abs_det(dyn_map *map, const double *x)
{
    double j[4];
    entry_of(map)->jacobian(map->params, x, j);
    return log(fabs(j[0] * j[3] - j[1] * j[2]));
}

/* x reduced to [0, period); a tiny negative x may round to the period itself, which is 0. */
static double wrap(double x, double period)
{
    const double reduced = x - period * floor(x / period);
    return reduced >= period ? 0.0 : reduced;
}

/* ---- Rules ------------------------------------------------------------------------------------
 */

static void henon(const double *p, const double *x, double *y)
{
    y[0] = 1.0 - p[0] * x[0] * x[0] + x[1];
    y[1] = p[1] * x[0];
}

static void henon_jacobian(const double *p, const double *x, double *j)
{
    j[0] = -2.0 * p[0] * x[0];
    j[1] = 1.0;
    j[2] = p[1];
    j[3] = 0.0;
}

static void lozi(const double *p, const double *x, double *y)
{
    y[0] = 1.0 - p[0] * fabs(x[0]) + x[1];
    y[1] = p[1] * x[0];
}

static void lozi_jacobian(const double *p, const double *x, double *j)
{
    j[0] = x[0] < 0.0 ? p[0] : -p[0];
    j[1] = 1.0;
    j[2] = p[1];
    j[3] = 0.0;
}

static void henon2(const double *p, const double *x, double *y)
{
    y[0] = x[1];
    y[1] = p[0] - p[1] * x[0] - x[1] * x[1];
}

static void henon2_jacobian(const double *p, const double *x, double *j)
{
    j[0] = 0.0;
    j[1] = 1.0;
    j[2] = -p[1];
    j[3] = -2.0 * x[1];
}

static void ikeda(const double *p, const double *x, double *y)
{
    const double t = 0.4 - 6.0 / (1.0 + x[0] * x[0] + x[1] * x[1]);
    const double c = cos(t);
    const double s = sin(t);
    y[0] = 1.0 + p[0] * (x[0] * c - x[1] * s);
    y[1] = p[0] * (x[0] * s + x[1] * c);
}

/* With r = 1 + x² + y², ∂t/∂x = 12x/r², and rotating by t turns ∂/∂t into a quarter turn. */
static void ikeda_jacobian(const double *p, const double *x, double *j)
{
    const double r = 1.0 + x[0] * x[0] + x[1] * x[1];
    const double t = 0.4 - 6.0 / r;
    const double c = cos(t);
    const double s = sin(t);
    const double along = x[0] * c - x[1] * s;
    const double across = x[0] * s + x[1] * c;
    const double tx = 12.0 * x[0] / (r * r);
    const double ty = 12.0 * x[1] / (r * r);
    j[0] = p[0] * (c - across * tx);
    j[1] = p[0] * (-s - across * ty);
    j[2] = p[0] * (s + along * tx);
    j[3] = p[0] * (c + along * ty);
}

static void standard(const double *p, const double *x, double *y)
{
    const double momentum = x[1] + p[0] * sin(x[0]);
    y[0] = wrap(x[0] + momentum, two_pi);
    y[1] = wrap(momentum, two_pi);
}

static void standard_jacobian(const double *p, const double *x, double *j)
{
    const double kick = p[0] * cos(x[0]);
    j[0] = 1.0 + kick;
    j[1] = 1.0;
    j[2] = kick;
    j[3] = 1.0;
}

static void delayed_logistic(const double *p, const double *x, double *y)
{
    y[0] = p[0] * x[0] * (1.0 - x[1]);
    y[1] = x[0];
}

static void delayed_logistic_jacobian(const double *p, const double *x, double *j)
{
    j[0] = p[0] * (1.0 - x[1]);
    j[1] = -p[0] * x[0];
    j[2] = 1.0;
    j[3] = 0.0;
}

static void cat(const double *p, const double *x, double *y)
{
    (void)p;
    y[0] = wrap(2.0 * x[0] + x[1], 1.0);
    y[1] = wrap(x[0] + x[1], 1.0);
}

static void cat_jacobian(const double *p, const double *x, double *j)
{
    (void)p;
    (void)x;
    j[0] = 2.0;
    j[1] = 1.0;
    j[2] = 1.0;
    j[3] = 1.0;
}

static void kopel(const double *p, const double *x, double *y)
{
    y[0] = (1.0 - p[0]) * x[0] + p[0] * p[1] * x[1] * (1.0 - x[1]);
    y[1] = (1.0 - p[0]) * x[1] + p[0] * p[1] * x[0] * (1.0 - x[0]);
}

static void kopel_jacobian(const double *p, const double *x, double *j)
{
    j[0] = 1.0 - p[0];
    j[1] = p[0] * p[1] * (1.0 - 2.0 * x[1]);
    j[2] = p[0] * p[1] * (1.0 - 2.0 * x[0]);
    j[3] = 1.0 - p[0];
}

/* ---- Entries ----------------------------------------------------------------------------------
 */

static const double torus_of_angles[] = {6.283185307179586476925287, 6.283185307179586476925287};
static const double unit_torus[] = {1.0, 1.0};

#define PLANAR_KIND(map_name, map_formula)                                                         \
    .kind = {.name = map_name,                                                                     \
             .formula = map_formula,                                                               \
             .step = step,                                                                         \
             .jvp = jvp,                                                                           \
             .vjp = vjp,                                                                           \
             .log_abs_det = log_abs_det,                                                           \
             .clone = dyn_map_create_like}

const dyn_classical_entry dyn_classical_planar[] = {
    {PLANAR_KIND("henon", "(1 - a x^2 + y, b x)"),
     .params = {{"a", 1.4, "curvature"}, {"b", 0.3, "area left by a step"}}, .n_params = 2,
     .start = {0.0, 0.0}, .image = henon, .jacobian = henon_jacobian},
    {PLANAR_KIND("lozi", "(1 - a|x| + y, b x)"),
     .params = {{"a", 1.7, "slope"}, {"b", 0.5, "area left by a step"}}, .n_params = 2,
     .start = {0.1, 0.1}, .image = lozi, .jacobian = lozi_jacobian},
    {PLANAR_KIND("henon2", "(y, alpha - beta x - y^2)"),
     .params = {{"alpha", 1.0, "height"}, {"beta", 0.5, "area left by a step"}}, .n_params = 2,
     .start = {0.4, 0.4}, .image = henon2, .jacobian = henon2_jacobian},
    {PLANAR_KIND("ikeda", "t = 0.4 - 6/(1+x^2+y^2): (1 + u(x cos t - y sin t), "
                          "u(x sin t + y cos t))"),
     .params = {{"u", 0.9, "share of the field that stays in the ring"}}, .n_params = 1,
     .start = {0.1, 0.1}, .image = ikeda, .jacobian = ikeda_jacobian},
    {PLANAR_KIND("standard", "(theta, p): p' = p + k sin theta, theta' = theta + p', mod 2pi"),
     .params = {{"k", 0.971635, "strength of the kick"}}, .n_params = 1,
     .start = {0.001245, 0.00875}, .periods = torus_of_angles, .image = standard,
     .jacobian = standard_jacobian},
    {PLANAR_KIND("delayed-logistic", "(r x(1-y), x)"), .params = {{"r", 2.1, "growth rate"}},
     .n_params = 1, .start = {0.4, 0.4}, .image = delayed_logistic,
     .jacobian = delayed_logistic_jacobian},
    {PLANAR_KIND("cat", "(2x + y, x + y), mod 1"), .n_params = 0,
     .start = {0.414213562373095, 0.732050807568877}, .periods = unit_torus, .image = cat,
     .jacobian = cat_jacobian},
    {PLANAR_KIND("kopel", "((1-rho)x + rho mu y(1-y), (1-rho)y + rho mu x(1-x))"),
     .params = {{"rho", 0.7, "speed of adjustment"}, {"mu", 3.5, "strength of the reaction"}},
     .n_params = 2, .start = {0.4, 0.6}, .image = kopel, .jacobian = kopel_jacobian},
};

const size_t dyn_classical_planar_count =
    sizeof dyn_classical_planar / sizeof dyn_classical_planar[0];
