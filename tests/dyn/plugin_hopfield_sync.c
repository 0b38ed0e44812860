/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plugin for tests: two binary units with W = [[0, −1], [−1, 0]] that are updated together,
 * x′ = sign(W x). Updated one after the other they would lower E = −½ xᵀWx; together they go
 * around (1, 1) ↔ (−1, −1), where E is at its largest, besides the fixed points (1, −1) and (−1,
 * 1).
 */
#include "dyn/dyn_plugin.h"

const dyn_plugin *basin_plugin(void);

static double find_sign(double z)
{
    return z < 0.0 ? -1.0 : 1.0;
}

static void step(const double *p, const double *x, double *y)
{
    (void)p;
    y[0] = find_sign(-x[1]);
    y[1] = find_sign(-x[0]);
}

/* The steps of the sign have no slope. */
static void jvp(const double *p, const double *x, const double *v, double *jv)
{
    (void)p;
    (void)x;
    (void)v;
    jv[0] = 0.0;
    jv[1] = 0.0;
}

static double energy(const double *p, const double *x)
{
    (void)p;
    return x[0] * x[1];
}

const dyn_plugin *basin_plugin(void)
{
    static const double start[] = {1.0, 1.0};
    static const dyn_plugin plugin = {.version = DYN_PLUGIN_VERSION,
                                      .name = "hopfield-sync",
                                      .formula = "sign(-y), sign(-x)",
                                      .dimension = 2,
                                      .start = start,
                                      .step = step,
                                      .jvp = jvp,
                                      .energy = energy};
    return &plugin;
}
