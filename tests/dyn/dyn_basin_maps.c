/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/dyn/dyn_basin_maps.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* A map whose Jacobian is diagonal: image and slope of one coordinate. */
typedef double rule(double p, size_t coordinate, double x);

static const double pi = 3.141592653589793238462643;

static double signs(double r, size_t i, double x)
{
    (void)i;
    return x > 0.0 ? r : -r;
}

static double flat(double p, size_t i, double x)
{
    (void)p;
    (void)i;
    return 0.0 * x;
}

static double wells(double eta, size_t i, double x)
{
    (void)i;
    return x - eta * (x * x * x - x);
}

static double wells_slope(double eta, size_t i, double x)
{
    (void)i;
    return 1.0 - eta * (3.0 * x * x - 1.0);
}

static double bottleneck(double a, size_t i, double x)
{
    if (i == 1) {
        return 0.5 * x;
    }
    return x <= 0.5 ? x + a + x * x : 2.0 + 0.5 * (x - 2.0);
}

static double bottleneck_slope(double a, size_t i, double x)
{
    (void)a;
    return i == 0 && x <= 0.5 ? 1.0 + 2.0 * x : 0.5;
}

static double hole(double p, size_t i, double x)
{
    (void)p;
    (void)i;
    return x < 0.0 ? (double)NAN : 1.0 + 0.5 * (x - 1.0);
}

static double hole_slope(double p, size_t i, double x)
{
    (void)p;
    (void)i;
    return x < 0.0 ? (double)NAN : 0.5;
}

static double clock_rule(double k, size_t i, double x)
{
    (void)i;
    return x - k / (4.0 * pi) * sin(4.0 * pi * x) + 3.0;
}

static double clock_slope(double k, size_t i, double x)
{
    (void)i;
    return 1.0 - k * cos(4.0 * pi * x);
}

static double cantor(double p, size_t i, double x)
{
    (void)p;
    (void)i;
    if (x < 0.0 || x > 1.0) {
        return x < 0.0 ? -1.0 + 0.5 * (x + 1.0) : 2.0 + 0.5 * (x - 2.0);
    }
    const double part = 5.0 * x;
    const double branch = fmin(floor(part), 4.0);
    return branch == 1.0 ? -1.0 : branch == 3.0 ? 2.0 : part - branch;
}

static double cantor_slope(double p, size_t i, double x)
{
    (void)p;
    (void)i;
    if (x < 0.0 || x > 1.0) {
        return 0.5;
    }
    return fmod(floor(5.0 * x), 2.0) == 0.0 ? 5.0 : 0.0;
}

static double drift(double p, size_t i, double x)
{
    (void)i;
    return x + p;
}

static double one(double p, size_t i, double x)
{
    (void)p;
    (void)i;
    return 1.0 + 0.0 * x;
}

typedef struct entry {
    dyn_map_kind kind; /* first, so that map->kind leads here */
    size_t size;
    dyn_param param;
    rule *image, *slope;
    const double *periods;
} entry;

static void step(dyn_map *map, const double *x, double *y)
{
    const entry *e = (const entry *)map->kind;
    for (size_t i = 0; i < map->size; i++) {
        y[i] = e->image(map->params[0], i, x[i]);
    }
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const entry *e = (const entry *)map->kind;
    for (size_t i = 0; i < map->size; i++) {
        const double at = x[i];
        jv[i] = e->slope(map->params[0], i, at) * v[i];
        if (y != NULL) {
            y[i] = e->image(map->params[0], i, at);
        }
    }
}

/* (2z³ + 1)/(3z²), whose derivative is 2(z³ − 1)/(3z³). */
static void newton(const double *x, double *y, double *slope)
{
    const double a = x[0];
    const double b = x[1];
    const double r = a * a + b * b;
    const double square[2] = {(a * a - b * b) / (r * r), -2.0 * a * b / (r * r)}; /* z⁻² */
    const double cube[2] = {(square[0] * a + square[1] * b) / r,
                            (square[1] * a - square[0] * b) / r}; /* z⁻³ */
    y[0] = (2.0 * a + square[0]) / 3.0;
    y[1] = (2.0 * b + square[1]) / 3.0;
    slope[0] = 2.0 * (1.0 - cube[0]) / 3.0;
    slope[1] = -2.0 * cube[1] / 3.0;
}

static void newton_step(dyn_map *map, const double *x, double *y)
{
    double slope[2];
    (void)map;
    newton(x, y, slope);
}

static void newton_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    double image[2];
    double slope[2];
    const double tangent[2] = {v[0], v[1]};
    (void)map;
    newton(x, image, slope);
    jv[0] = slope[0] * tangent[0] - slope[1] * tangent[1];
    jv[1] = slope[0] * tangent[1] + slope[1] * tangent[0];
    if (y != NULL) {
        y[0] = image[0];
        y[1] = image[1];
    }
}

static double tangency(double e, size_t i, double x)
{
    (void)i;
    return x - e * (x - 1.0) * (x - 1.0) * (x - 1.0);
}

static double tangency_slope(double e, size_t i, double x)
{
    (void)i;
    return 1.0 - 3.0 * e * (x - 1.0) * (x - 1.0);
}

static double trenches(double eta, size_t i, double x)
{
    return i == 0 ? x - x * x * x : wells(eta, i, x);
}

static double trenches_slope(double eta, size_t i, double x)
{
    return i == 0 ? 1.0 - 3.0 * x * x : wells_slope(eta, i, x);
}

static void bent_step(dyn_map *map, const double *x, double *y)
{
    const double u = x[0] - 1.0;
    (void)map;
    y[1] = 0.5 * x[1] + u * u;
    y[0] = x[0] - u * u * u;
}

static void bent_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double u = x[0] - 1.0;
    const double first = v[0];
    jv[1] = 0.5 * v[1] + 2.0 * u * first;
    jv[0] = (1.0 - 3.0 * u * u) * first;
    if (y != NULL) {
        bent_step(map, x, y);
    }
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    return dyn_map_create_like(out, map, err);
}

static const double unit_circle[] = {1.0};

#define RULE_KIND(map_name)                                                                        \
    .kind = {.name = map_name, .formula = "of a test", .step = step, .jvp = jvp, .clone = clone}

static const entry entries[] = {
    [BASIN_MAP_SIGNS] = {RULE_KIND("signs"), 1, {"r", 1.0, ""}, signs, flat, NULL},
    [BASIN_MAP_WELLS] = {RULE_KIND("wells"), 3, {"eta", 0.5, ""}, wells, wells_slope, NULL},
    [BASIN_MAP_BOTTLENECK] =
        {RULE_KIND("bottleneck"), 1, {"a", 1e-6, ""}, bottleneck, bottleneck_slope, NULL},
    [BASIN_MAP_BOTTLENECK_PLANAR] =
        {RULE_KIND("bottleneck-planar"), 2, {"a", 1e-6, ""}, bottleneck, bottleneck_slope, NULL},
    [BASIN_MAP_HOLE] = {RULE_KIND("hole"), 1, {"unused", 0.0, ""}, hole, hole_slope, NULL},
    [BASIN_MAP_CLOCK] =
        {RULE_KIND("clock"), 1, {"k", 0.5, ""}, clock_rule, clock_slope, unit_circle},
    [BASIN_MAP_CANTOR] = {RULE_KIND("cantor"), 1, {"unused", 0.0, ""}, cantor, cantor_slope, NULL},
    [BASIN_MAP_NEWTON] = {.kind = {.name = "newton",
                                   .formula = "of a test",
                                   .step = newton_step,
                                   .jvp = newton_jvp,
                                   .clone = clone},
                          .size = 2,
                          .param = {"unused", 0.0, ""}},
    [BASIN_MAP_DRIFT] = {RULE_KIND("drift"), 1, {"speed", 1e-3, ""}, drift, one, NULL},
    [BASIN_MAP_TANGENCY] =
        {RULE_KIND("tangency"), 1, {"e", 1e-3, ""}, tangency, tangency_slope, NULL},
    [BASIN_MAP_TRENCHES] =
        {RULE_KIND("trenches"), 2, {"eta", 0.5, ""}, trenches, trenches_slope, NULL},
    [BASIN_MAP_BENT] = {.kind = {.name = "bent",
                                 .formula = "of a test",
                                 .step = bent_step,
                                 .jvp = bent_jvp,
                                 .clone = clone},
                        .size = 2,
                        .param = {"unused", 0.0, ""}},
};

dyn_map *basin_map_make(basin_map which)
{
    const entry *e = &entries[which];
    dyn_map *map = NULL;
    assert_int_equal(dyn_map_create(&map, &e->kind, e->size, &e->param, 1, NULL), KERN_OK);
    map->periods = e->periods;
    return map;
}
