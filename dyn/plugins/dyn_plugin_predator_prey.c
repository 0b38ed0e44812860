/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Example of a plugin: prey x and predators y in discrete seasons,
 *
 *     x' = r x (1 − x) − b x y,   y' = d x y,
 *
 * after Danca, Codreanu and Bakó (1997). Both species coexist at x = 1/d, y = (r(1 − 1/d) − 1)/b.
 */
#include "dyn/dyn_plugin.h"

enum { R, B, D };

const dyn_plugin *basin_plugin(void);

static void step(const double *p, const double *x, double *y)
{
    y[0] = p[R] * x[0] * (1.0 - x[0]) - p[B] * x[0] * x[1];
    y[1] = p[D] * x[0] * x[1];
}

static void jvp(const double *p, const double *x, const double *v, double *jv)
{
    jv[0] = (p[R] * (1.0 - 2.0 * x[0]) - p[B] * x[1]) * v[0] - p[B] * x[0] * v[1];
    jv[1] = p[D] * x[1] * v[0] + p[D] * x[0] * v[1];
}

const dyn_plugin *basin_plugin(void)
{
    static const dyn_param params[] = {{"r", 3.0, "growth rate of the prey"},
                                       {"b", 3.5, "prey lost to a predator"},
                                       {"d", 2.5, "predators fed by the prey"}};
    static const double start[] = {0.5, 0.2};
    static const dyn_plugin plugin = {.version = DYN_PLUGIN_VERSION,
                                      .name = "predator-prey",
                                      .formula = "(r x(1-x) - b x y, d x y)",
                                      .dimension = 2,
                                      .params = params,
                                      .n_params = 3,
                                      .start = start,
                                      .step = step,
                                      .jvp = jvp};
    return &plugin;
}
