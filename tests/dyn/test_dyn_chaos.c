/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Indicators of chaos: alignment of tangent vectors against closed forms, the 0–1 test, and both on
 * the same orbits of the standard map.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_gali.h"
#include "dyn/dyn_zero_one.h"
#include "tests/dyn/dyn_fault_maps.h"
#include "tests/dyn/dyn_test_maps.h"

#include <stdlib.h>

static dyn_gali gali_of(dyn_map *map, const double *x0, const dyn_gali_options *o)
{
    dyn_gali out;
    MAPS_OK(dyn_gali_init(&out, map, x0 != NULL ? x0 : map->start, o, maps_err));
    return out;
}

static dyn_zero_one zero_one_of(const double *values, size_t n, int workers)
{
    dyn_zero_one out;
    dyn_zero_one_options o = dyn_zero_one_options_default();
    o.workers = workers;
    MAPS_OK(dyn_zero_one_init(&out, values, n, &o, maps_err));
    return out;
}

static void assert_verdict(dyn_chaos verdict, dyn_chaos expected)
{
    assert_string_equal(dyn_chaos_word(verdict), dyn_chaos_word(expected));
}

/* ---- GALI: closed forms --------------------------------------------------------------------- */

/* Constant Jacobians diag(a, b, c): once aligned, the index of k vectors falls by the product of
 * the quotients of the first k to the largest, each step. */
static void test_exponential_fall(void **state)
{
    static const double diagonal[9] = {3, 0, 0, 0, 2, 0, 0, 0, 1};
    static const double factors[] = {2.0 / 3, 2.0 / 9};
    (void)state;
    for (size_t k = 2; k <= 3; k++) {
        dyn_map *map = dyn_test_linear(3, diagonal, 1);
        dyn_gali_options o = dyn_gali_options_default();
        o.k = k;
        o.series = true;
        o.steps = 200;
        o.bound = 1e300;
        dyn_gali g = gali_of(map, NULL, &o);
        assert_true(g.series[0] == 1.0 && g.n_series == g.fell + 1 && g.value <= 1e-12);
        assert_true(g.value == g.series[g.fell] && g.series[g.fell - 1] > 1e-12);
        const size_t last = k == 2 ? 60 : 14; /* before rounding of the volume shows */
        MAPS_CLOSE(g.series[last] / g.series[last - 1], factors[k - 2], k == 2 ? 1e-5 : 2e-3);
        MAPS_CLOSE(g.growth, log(3), 0.05); /* the first vector turns for some steps of 200 */
        assert_verdict(g.verdict, DYN_CHAOS_CHAOTIC);
        dyn_gali_fini(&g);
        dyn_map_destroy(map);
    }
}

/* A rotation keeps the volume 1. Shear of unit vectors leaves 1/t² of it: |v_1||v_2| → b_1 b_2 t²
 * with the components b that shear, at a determinant of 1. */
static void test_regular_laws(void **state)
{
    const double c = 0.8;
    const double turn[4] = {c, -0.6, 0.6, c};
    static const double shear[4] = {1, 1, 0, 1};
    dyn_gali_options o = dyn_gali_options_default();
    o.series = true;
    (void)state;
    dyn_map *map = dyn_test_linear(2, turn, 1);
    dyn_gali g = gali_of(map, NULL, &o);
    assert_int_equal(g.n_series, 1001);
    for (size_t t = 0; t < g.n_series; t++) {
        MAPS_CLOSE(g.series[t], 1, 1e-12);
    }
    MAPS_CLOSE(g.growth, 0, 1e-14);
    assert_verdict(g.verdict, DYN_CHAOS_REGULAR);
    dyn_gali_fini(&g);
    dyn_map_destroy(map);
    map = dyn_test_linear(2, shear, 1);
    g = gali_of(map, NULL, &o);
    MAPS_CLOSE(4 * g.series[1000] / g.series[500], 1, 0.02);
    assert_true(g.fell == 0 && g.value < 1e-4);
    assert_verdict(g.verdict, DYN_CHAOS_REGULAR);
    dyn_gali_fini(&g);
    dyn_map_destroy(map);
}

/* What the index alone would get wrong. */
static void test_growth_has_a_say(void **state)
{
    static const double node[4] = {0.9, 0, 0, 0.1};
    static const double twins[4] = {2, 0, 0, 2};
    static const double nothing[4] = {0, 0, 0, 0};
    dyn_gali_options o = dyn_gali_options_default();
    (void)state;
    o.bound = 1e300;
    o.steps = 500;
    dyn_map *map = dyn_test_linear(2, node, 1);
    dyn_gali g = gali_of(map, NULL, &o);
    assert_true(g.fell > 0);
    assert_verdict(g.verdict, DYN_CHAOS_REGULAR); /* vectors align, and shrink */
    dyn_gali_fini(&g);
    dyn_map_destroy(map);
    map = dyn_test_linear(2, twins, 1);
    g = gali_of(map, NULL, &o);
    assert_true(g.fell == 0 && g.value > 0.99);
    assert_verdict(g.verdict, DYN_CHAOS_UNDECIDED); /* vectors grow, and do not align */
    dyn_gali_fini(&g);
    dyn_map_destroy(map);
    map = dyn_test_linear(2, nothing, 1);
    g = gali_of(map, NULL, &o);
    assert_true(g.value == 0 && g.fell == 1 && isinf(g.growth));
    assert_verdict(g.verdict, DYN_CHAOS_REGULAR);
    dyn_gali_fini(&g);
    dyn_map_destroy(map);
    map = maps_make("henon", "");
    g = gali_of(map, NULL, &o);
    assert_verdict(g.verdict, DYN_CHAOS_CHAOTIC);
    dyn_gali_fini(&g);
    dyn_map_destroy(map);
    /* Ikeda's sink: the vectors turn together and shrink. */
    const double sink[2] = {2.97213162, 4.14594642};
    map = maps_make("ikeda", "");
    g = gali_of(map, sink, &o);
    MAPS_CLOSE(g.growth, log(0.9), 1e-2);
    assert_verdict(g.verdict, DYN_CHAOS_REGULAR);
    dyn_gali_fini(&g);
    dyn_map_destroy(map);
    /* A power law too near to the threshold to be told from an exponential. */
    map = maps_make("coupled-logistic", "n=8 r=4 eps=0.05");
    o.k = 8;
    o.steps = 1000;
    o.threshold = 1e-15;
    g = gali_of(map, NULL, &o);
    assert_true(g.fell > 0 && pow((double)g.fell, -8) < 1e-13);
    assert_verdict(g.verdict, DYN_CHAOS_UNDECIDED);
    dyn_gali_fini(&g);
    dyn_map_destroy(map);
}

/* ---- GALI: difference quotients ------------------------------------------------------------- */

/* A turning state whose tangents grow by 2 and by 2 e^{−gap}, but for errors of 1e-10. */
static void turn(dyn_map *map, const double *x, double *y)
{
    (void)map;
    y[0] = x[0] + 0.61803398874989485;
    y[1] = x[1];
}

static void turn_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double length = hypot(v[0], v[1]);
    const double out[] = {2.0 * v[0] + 1e-10 * length * cos(1e3 * x[0] + v[1]),
                          2.0 * exp(-map->params[0]) * v[1] +
                              1e-10 * length * sin(1e3 * x[0] + v[0])};
    memcpy(jv, out, sizeof out);
    if (y != NULL) {
        turn(map, x, y);
    }
}

static const dyn_param gap_info[] = {{"gap", 0.0, "of the exponents"}};
static const dyn_map_kind turning = {
    .name = "turning", .formula = "two rates", .step = turn, .jvp = turn_jvp};

/* Below the noise the index falls to any threshold by chance. With a gap of 0.3 it gets there
 * before a power law could, which is chaos; with 0.004 it does not, and nothing is decided. */
static void test_gali_noise(void **state)
{
    static const double gaps[] = {0.3, 0.004};
    static const dyn_chaos verdicts[] = {DYN_CHAOS_CHAOTIC, DYN_CHAOS_UNDECIDED};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        dyn_map *map = NULL;
        MAPS_OK(dyn_map_create(&map, &turning, 2, gap_info, 1, maps_err));
        map->params[0] = gaps[i];
        map->approximate_jvp = true;
        dyn_gali_options o = dyn_gali_options_default();
        o.steps = 60000;
        dyn_gali g = gali_of(map, NULL, &o);
        assert_true(g.noisy && g.fell > 0 && g.value > 1e-12);
        assert_true(exp(-gaps[i] * (double)g.fell) < 10 * DYN_GALI_NOISE);
        assert_verdict(g.verdict, verdicts[i]);
        dyn_gali_fini(&g);
        map->approximate_jvp = false; /* exact products may say all they can */
        g = gali_of(map, NULL, &o);
        assert_false(g.noisy);
        dyn_gali_fini(&g);
        dyn_map_destroy(map);
    }
}

/* x' = 2x on both circles ends at 0 by rounding, where vectors grow: nothing is decided. */
static void double_angles(dyn_map *map, const double *x, double *y)
{
    (void)map;
    y[0] = 2.0 * x[0];
    y[1] = 2.0 * x[1];
}

static void double_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    jv[0] = 2.0 * v[0] + 0.5 * v[1];
    jv[1] = 0.25 * v[1];
    if (y != NULL) {
        double_angles(map, x, y);
    }
}

static const dyn_map_kind doubling = {
    .name = "doubling", .formula = "2x", .step = double_angles, .jvp = double_jvp};

static void test_gali_collapse(void **state)
{
    static const double circles[] = {1.0, 1.0};
    static const double x0[] = {0.3, 0.7};
    static const double rest[] = {0.0, 0.0};
    dyn_map *map = NULL;
    const dyn_gali_options o = dyn_gali_options_default();
    (void)state;
    MAPS_OK(dyn_map_create(&map, &doubling, 2, NULL, 0, maps_err));
    map->periods = circles;
    dyn_gali g = gali_of(map, x0, &o);
    assert_true(g.collapsed);
    assert_verdict(g.verdict, DYN_CHAOS_UNDECIDED);
    dyn_gali_fini(&g);
    g = gali_of(map, rest, &o); /* who begins there means it */
    assert_false(g.collapsed);
    assert_verdict(g.verdict, DYN_CHAOS_CHAOTIC);
    dyn_gali_fini(&g);
    dyn_map_destroy(map);
}

static void test_gali_lost_and_refused(void **state)
{
    dyn_gali_options o = dyn_gali_options_default();
    kern_error err = {0};
    dyn_gali g;
    (void)state;
    for (int fault = DYN_TEST_FAULT_NAN; fault <= DYN_TEST_FAULT_TANGENT; fault++) {
        dyn_map *map = dyn_test_translation(2, (dyn_test_fault)fault);
        g = gali_of(map, NULL, &o);
        assert_int_equal(g.status, fault == DYN_TEST_FAULT_INF ? KERN_DIVERGED : KERN_NAN);
        assert_int_equal(g.end, 7);
        assert_true(isnan(g.value) && isnan(g.growth));
        assert_verdict(g.verdict, DYN_CHAOS_UNDECIDED);
        dyn_gali_fini(&g);
        dyn_map_destroy(map);
    }
    dyn_map *map = maps_make("henon", "");
    o.k = 3;
    assert_int_not_equal(dyn_gali_init(&g, map, map->start, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "3 vectors was asked for; accepted is 2 to 2");
    o.k = 2;
    o.steps = 0;
    assert_int_not_equal(dyn_gali_init(&g, map, map->start, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "0 steps");
    o.steps = 5;
    o.threshold = 1;
    assert_int_not_equal(dyn_gali_init(&g, map, map->start, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "threshold of the alignment index is 1");
    dyn_map_destroy(map);
    map = maps_make("logistic", "");
    o = dyn_gali_options_default();
    assert_int_not_equal(dyn_gali_init(&g, map, map->start, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "one coordinate, in which no tangent vectors");
    dyn_map_destroy(map);
}

/* ---- 0–1 ------------------------------------------------------------------------------------ */

enum { SERIES = 5000 };

static void follow(const char *name, const char *assignments, const double *x0, size_t skip,
                   double *values)
{
    dyn_map *map = maps_make(name, assignments);
    double x[2] = {0};
    assert_true(map->size <= 2);
    memcpy(x, x0 != NULL ? x0 : map->start, map->size * sizeof *x);
    dyn_map_iterate(map, x, skip, x);
    for (size_t t = 0; t < SERIES; t++) {
        values[t] = x[0];
        map->kind->step(map, x, x);
    }
    dyn_map_destroy(map);
}

static void test_series(void **state)
{
    static const struct {
        const char *name, *assignments;
        dyn_chaos verdict;
    } cases[] = {
        {"logistic", "r=4", DYN_CHAOS_CHAOTIC},    {"logistic", "r=3.9", DYN_CHAOS_CHAOTIC},
        {"logistic", "r=3.55", DYN_CHAOS_REGULAR}, {"logistic", "r=3.83", DYN_CHAOS_REGULAR},
        {"logistic", "r=3.2", DYN_CHAOS_REGULAR},  {"logistic", "r=2.5", DYN_CHAOS_REGULAR},
        {"henon", "", DYN_CHAOS_CHAOTIC},          {"ricker", "r=3", DYN_CHAOS_CHAOTIC},
    };
    static double values[SERIES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        follow(cases[i].name, cases[i].assignments, NULL, 5000, values);
        dyn_zero_one z = zero_one_of(values, 2000, 2);
        assert_verdict(z.verdict, cases[i].verdict);
        MAPS_CLOSE(z.value, cases[i].verdict == DYN_CHAOS_CHAOTIC ? 1 : 0, 0.05);
        assert_true(z.low <= z.value && z.value <= z.high && !z.oversampled);
        dyn_zero_one_fini(&z);
    }
    /* Two incommensurate waves. */
    for (size_t t = 0; t < SERIES; t++) {
        values[t] = cos(1.3 * (double)t) + cos(sqrt(2) * 0.7 * (double)t);
    }
    dyn_zero_one z = zero_one_of(values, 2000, 1);
    assert_verdict(z.verdict, DYN_CHAOS_REGULAR);
    dyn_zero_one_fini(&z);
}

/* The walk, the displacement and the correlation again, from their definitions, for one angle. */
static void test_against_definition(void **state)
{
    enum { N = 300, REACH = N / 10 };
    double values[N];
    double mean = 0;
    (void)state;
    for (size_t t = 0; t < N; t++) {
        values[t] = 0.5 + sin(2.1 * (double)(t * t));
        mean += values[t] / N;
    }
    dyn_zero_one z = zero_one_of(values, N, 1);
    const double c = z.angles[7];
    for (size_t i = 0; i < z.n_angles; i++) {
        assert_true(z.angles[i] > 0.2 * 3.14159 && z.angles[i] < 0.8 * 3.1416);
    }
    double d[REACH];
    double sums[4] = {0};
    for (size_t n = 1; n <= REACH; n++) {
        double moved = 0;
        for (size_t j = 1; j <= N - REACH; j++) {
            double p = 0;
            double q = 0;
            for (size_t i = j + 1; i <= j + n; i++) {
                p += values[i - 1] * cos((double)i * c);
                q += values[i - 1] * sin((double)i * c);
            }
            moved += (p * p + q * q) / (N - REACH);
        }
        d[n - 1] = moved - mean * mean * (1 - cos((double)n * c)) / (1 - cos(c));
        sums[0] += d[n - 1] / REACH;
    }
    for (size_t n = 1; n <= REACH; n++) {
        const double x = (double)n - 0.5 * (REACH + 1);
        sums[1] += x * (d[n - 1] - sums[0]);
        sums[2] += x * x;
        sums[3] += (d[n - 1] - sums[0]) * (d[n - 1] - sums[0]);
    }
    MAPS_CLOSE(z.k[7], sums[1] / sqrt(sums[2] * sums[3]), 1e-10);
    dyn_zero_one_fini(&z);
}

static void test_sampling(void **state)
{
    static double values[SERIES];
    (void)state;
    /* A chaotic signal sampled 30 times in the course of a step looks smooth. */
    follow("logistic", "r=4", NULL, 0, values);
    static double dense[SERIES];
    for (size_t t = 0; t < SERIES; t++) {
        const double part = (double)(t % 30) / 30;
        dense[t] = (1 - part) * values[t / 30] + part * values[t / 30 + 1];
    }
    dyn_zero_one z = zero_one_of(dense, SERIES, 2);
    assert_true(z.oversampled && z.range_step > 10);
    assert_true(z.verdict != DYN_CHAOS_REGULAR);
    dyn_zero_one_fini(&z);
    for (size_t t = 0; t < SERIES; t++) {
        values[t] = 0.1 + 1e-16 * (double)(t % 7);
    }
    z = zero_one_of(values, SERIES, 1);
    assert_true(z.value == 0 && !z.oversampled);
    assert_verdict(z.verdict, DYN_CHAOS_REGULAR);
    dyn_zero_one_fini(&z);
}

static void test_workers_and_refusals(void **state)
{
    static double values[SERIES];
    kern_error err = {0};
    dyn_zero_one out;
    dyn_zero_one_options o = dyn_zero_one_options_default();
    (void)state;
    follow("logistic", "r=3.7", NULL, 0, values);
    dyn_zero_one one = zero_one_of(values, 500, 1);
    for (int workers = 2; workers < 300; workers *= 5) {
        dyn_zero_one many = zero_one_of(values, 500, workers);
        assert_memory_equal(one.k, many.k, one.n_angles * sizeof *one.k);
        assert_true(one.value == many.value);
        dyn_zero_one_fini(&many);
    }
    dyn_zero_one_fini(&one);
    assert_int_not_equal(dyn_zero_one_init(&out, values, 99, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "99 values by 100 angles");
    o.n_angles = 0;
    assert_int_not_equal(dyn_zero_one_init(&out, values, 500, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "by 0 angles");
    o.n_angles = 3;
    values[77] = (double)INFINITY;
    assert_int_not_equal(dyn_zero_one_init(&out, values, 500, &o, &err), KERN_OK);
    maps_error(&err, KERN_NAN, "value 77 of the series is inf");
    assert_null(out.k);
}

/* ---- Both ----------------------------------------------------------------------------------- */

/* The standard map at K = 1: near the elliptic point (π, 0) orbits are regular, near the
 * hyperbolic origin chaotic. The index of the former is above 1e-3 after 1000 steps, that of the
 * latter below 1e-12 before, and the 0–1 test agrees on the same orbits. */
static void test_standard_map(void **state)
{
    static const struct {
        double x0[2];
        dyn_chaos verdict;
    } cases[] = {
        {{0.1, 0.1}, DYN_CHAOS_CHAOTIC},
        {{6.2, 0.05}, DYN_CHAOS_CHAOTIC},
        {{3.0, 0.1}, DYN_CHAOS_REGULAR},
        {{3.3, 0.2}, DYN_CHAOS_REGULAR},
    };
    static double values[SERIES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = maps_make("standard", "k=1");
        dyn_gali_options o = dyn_gali_options_default();
        dyn_gali g = gali_of(map, cases[i].x0, &o);
        const bool chaotic = cases[i].verdict == DYN_CHAOS_CHAOTIC;
        assert_true(chaotic ? g.value <= 1e-12 && g.fell < 1000 : g.value > 1e-3);
        assert_verdict(g.verdict, cases[i].verdict);
        dyn_gali_fini(&g);
        dyn_map_destroy(map);
        follow("standard", "k=1", cases[i].x0, 0, values);
        dyn_zero_one z = zero_one_of(values, SERIES, 2);
        assert_verdict(z.verdict, cases[i].verdict);
        dyn_zero_one_fini(&z);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exponential_fall), cmocka_unit_test(test_regular_laws),
        cmocka_unit_test(test_growth_has_a_say), cmocka_unit_test(test_gali_noise),
        cmocka_unit_test(test_gali_collapse),    cmocka_unit_test(test_gali_lost_and_refused),
        cmocka_unit_test(test_series),           cmocka_unit_test(test_against_definition),
        cmocka_unit_test(test_sampling),         cmocka_unit_test(test_workers_and_refusals),
        cmocka_unit_test(test_standard_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
