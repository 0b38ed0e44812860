/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plugins for tests, one for each value of PLUGIN_CASE: most are wrong in one way.
 */
#include "dyn/dyn_plugin.h"

#include <math.h>

enum {
    FINE,
    VERSION,
    DIMENSION,
    STEP,
    NAME,
    PARAMS,
    NOTHING,
    NOT_A_NUMBER,
    NO_SYMBOL,
    FIRST_VERSION,
    STRUCTURE,
    BLOCKS,
    GAUGE,
    NARROW,
    PERIODS,
    TEXT,
    TWICE,
    DEFAULT,
    WRONG_JVP,
    RIGHT_JVP
};

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
                                           {PLUGIN_CASE == PARAMS  ? NULL
                                            : PLUGIN_CASE == TWICE ? "a"
                                                                   : "b",
                                            PLUGIN_CASE == DEFAULT ? (double)INFINITY : 0.25,
                                            "shift"}};

/* With an error in one entry where the case says so. */
static void fixture_jvp(const double *p, const double *x, const double *v, double *jv)
{
    jv[0] = (p[0] - x[1] * x[1]) * v[0] - 2.0 * x[0] * x[1] * v[1];
    jv[1] = (PLUGIN_CASE == WRONG_JVP ? -1.0 : 1.0) * cos(x[0]) * v[0];
}

static void fixture_vjp(const double *p, const double *x, const double *w, double *jtw)
{
    jtw[0] = (p[0] - x[1] * x[1]) * w[0] + cos(x[0]) * w[1];
    jtw[1] = -2.0 * x[0] * x[1] * w[0];
}

static const double fixture_periods[] = {0, PLUGIN_CASE == PERIODS ? -1 : 7};

static const dyn_plugin fixture = {.version = PLUGIN_CASE == VERSION ? DYN_PLUGIN_VERSION + 6
                                                                     : DYN_PLUGIN_VERSION,
                                   .name = PLUGIN_CASE == NAME   ? ""
                                           : PLUGIN_CASE == TEXT ? "fixt\xffre"
                                                                 : "fixture",
                                   .dimension = PLUGIN_CASE == DIMENSION ? 0 : 2,
                                   .params = fixture_params,
                                   .n_params = 2,
                                   .step = PLUGIN_CASE == STEP ? NULL : fixture_step,
                                   .jvp = PLUGIN_CASE >= WRONG_JVP ? fixture_jvp : NULL,
                                   .energy = fixture_energy,
                                   .vjp = fixture_vjp,
                                   .block_count = PLUGIN_CASE == BLOCKS      ? 3
                                                  : PLUGIN_CASE == STRUCTURE ? 2
                                                                             : 0,
                                   .gauge = PLUGIN_CASE == GAUGE    ? (dyn_gauge)7
                                            : PLUGIN_CASE == NARROW ? DYN_GAUGE_SCALE_SHIFT
                                                                    : DYN_GAUGE_NONE,
                                   .periods = fixture_periods};

#if PLUGIN_CASE == 8
const dyn_plugin *another_name(void)
{
    return &fixture;
}
#else
/* What a compiler made of the first version, which ended with `energy`; what lies behind it in
 * memory is no part of it. */
static const struct {
    unsigned version;
    const char *name;
    const char *formula;
    size_t dimension;
    const dyn_param *params;
    size_t n_params;
    const double *start;
    void (*step)(const double *params, const double *x, double *y);
    void (*jvp)(const double *params, const double *x, const double *v, double *jv);
    double (*energy)(const double *params, const double *x);
    size_t behind[4];
} first_version = {.version = 1,
                   .name = "first",
                   .dimension = 2,
                   .params = fixture_params,
                   .n_params = 2,
                   .step = fixture_step,
                   .energy = fixture_energy,
                   .behind = {5, 5, 5, 5}};

const dyn_plugin *basin_plugin(void)
{
    const void *first = &first_version;
    if (PLUGIN_CASE == FIRST_VERSION) {
        return first;
    }
    return PLUGIN_CASE == NOTHING ? NULL : &fixture;
}
#endif
