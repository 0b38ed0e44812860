/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plugins for tests, one for each value of PLUGIN_CASE: most are wrong in one way.
 */
#include "dyn/dyn_plugin.h"

#include <math.h>

enum { FINE, VERSION, DIMENSION, STEP, NAME, PARAMS, NOTHING, NOT_A_NUMBER, NO_SYMBOL };

const dyn_plugin *basin_plugin(void);
const dyn_plugin *another_name(void);

/* A cubic map of two coordinates without a jvp of its own. */
static void fixture_step(const double *p, const double *x, double *y)
{
    y[0] = p[0] * x[0] - x[0] * x[1] * x[1];
    y[1] = PLUGIN_CASE == NOT_A_NUMBER ? (double)NAN : sin(x[0]) + p[1];
}

static double fixture_energy(const double *p, const double *x)
{
    return p[0] * x[0] + x[1];
}

static const dyn_param fixture_params[] = {{"a", 0.5, "slope"},
                                           {PLUGIN_CASE == PARAMS ? NULL : "b", 0.25, "shift"}};

static const dyn_plugin fixture = {.version = PLUGIN_CASE == VERSION ? DYN_PLUGIN_VERSION + 6
                                                                     : DYN_PLUGIN_VERSION,
                                   .name = PLUGIN_CASE == NAME ? "" : "fixture",
                                   .dimension = PLUGIN_CASE == DIMENSION ? 0 : 2,
                                   .params = fixture_params,
                                   .n_params = 2,
                                   .step = PLUGIN_CASE == STEP ? NULL : fixture_step,
                                   .energy = fixture_energy};

#if PLUGIN_CASE == 8
const dyn_plugin *another_name(void)
{
    return &fixture;
}
#else
const dyn_plugin *basin_plugin(void)
{
    return PLUGIN_CASE == NOTHING ? NULL : &fixture;
}
#endif
