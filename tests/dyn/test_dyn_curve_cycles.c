/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Curves of bifurcations of cycles, and of maps of many coordinates, against closed forms.
 */
#include "tests/dyn/dyn_poly_maps.h"
#include "tests/dyn/dyn_test_maps.h"

#include "tests/dyn/dyn_curve_check.h"

/* The 2-cycle of Hénon's map, whose coordinates x, y are the roots of a²z² − a(1−b)z + (1−b)² − a.
 */
static void fill_cycle(double a, double b, double states[4])
{
    const double c = 1.0 - b;
    const double root = sqrt(4.0 * a - 3.0 * c * c);
    const double x = (c + root) / (2.0 * a);
    const double y = (c - root) / (2.0 * a);
    states[0] = x;
    states[1] = b * y;
    states[2] = y;
    states[3] = b * x;
}

static dyn_map *make_henon(double a, double b)
{
    dyn_map *map = maps_make("henon", "");
    MAPS_OK(dyn_map_set_param(map, "a", a, maps_err));
    MAPS_OK(dyn_map_set_param(map, "b", b, maps_err));
    return map;
}

/* It flips at a = (1−b)² + (1+b)²/4. */
static void test_flips(void **state)
{
    double states[4];
    (void)state;
    dyn_map *map = make_henon(0.9125, 0.3);
    dyn_curve_options o = curve_options(DYN_NORMAL_PD, "a", "b", 0.9);
    fill_cycle(0.9125, 0.3, states);
    o.period = 2;
    o.low[0] = 0.5;
    o.high[0] = 3.0;
    dyn_curve curve = curve_follow(map, states, &o);
    for (size_t i = 0; i < curve.n_points; i++) {
        const double b = curve.points[i].parameters[1];
        MAPS_CLOSE(curve.points[i].parameters[0],
                   (1.0 - b) * (1.0 - b) + 0.25 * (1.0 + b) * (1.0 + b), CURVE_EXACT);
    }
    assert_int_equal(curve.n_events, 0);
    assert_int_equal(curve.period, 2);
    /* A point of the curve is on it, begun at either state; one beside it is not. */
    const dyn_curve_point *middle = &curve.points[curve.n_points / 2];
    const double swapped[] = {middle->states[2], middle->states[3], middle->states[0],
                              middle->states[1]};
    const double beside[] = {middle->parameters[0] + 0.1, middle->parameters[1]};
    assert_true(dyn_curve_passes(&curve, middle->parameters, middle->states, -1.0));
    assert_true(dyn_curve_passes(&curve, middle->parameters, swapped, -1.0));
    assert_false(dyn_curve_passes(&curve, beside, middle->states, -1.0));
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* Its determinant is b² and its trace 4((1−b)² − a) + 2b: a pair e^{±iθ} with cos θ = 7 − 2a at
 * b = −1 for 3 < a < 4. */
static void test_circles(void **state)
{
    double states[4];
    (void)state;
    dyn_map *map = make_henon(3.3, -1.0);
    dyn_curve_options o = curve_options(DYN_NORMAL_NS, "a", "b", 2.0);
    fill_cycle(3.3, -1.0, states);
    o.period = 2;
    o.low[0] = 3.1;
    o.high[0] = 4.4;
    dyn_curve curve = curve_follow(map, states, &o);
    for (size_t i = 0; i < curve.n_points; i++) {
        const dyn_curve_point *point = &curve.points[i];
        MAPS_CLOSE(point->parameters[1], -1.0, CURVE_EXACT);
        if (!point->neutral) {
            MAPS_CLOSE(point->critical_re, 7.0 - 2.0 * point->parameters[0], CURVE_EXACT);
        }
        assert_true(point->neutral == (point->parameters[0] > 4.0));
    }
    curve_events(&curve, "R4 R3 R2", "R2 R3 R4");
    curve_event(&curve, DYN_CURVE_R4, 3.5, -1.0);
    curve_event(&curve, DYN_CURVE_R3, 3.75, -1.0);
    curve_event(&curve, DYN_CURVE_R2, 4.0, -1.0);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* Hénon's 3-cycles fold and flip on curves that end in (a, b) = (1, −1), where
 * (0, 0) → (1, 0) → (0, −1) has a double multiplier +1, in (5/4, −1), where the cycle through
 * (−2/5, 2/5) has a double −1, and in (6, 1), where (0, −1/2) → (1/2, 0) → (−1/2, 1/2) has +1 and
 * −1. The critical direction turns on the way. */
static void test_cycles_of_three(void **state)
{
    static const double states[] = {0.0, -0.5, 0.5, 0.0, -0.5, 0.5};
    (void)state;
    dyn_map *map = make_henon(6.0, 1.0);
    for (dyn_normal_kind kind = DYN_NORMAL_LP; kind <= DYN_NORMAL_PD; kind++) {
        dyn_curve_options o = curve_options(kind, "a", "b", 1.3);
        o.period = 3;
        o.low[0] = 0.5;
        o.high[0] = 8.0;
        dyn_curve curve = curve_follow(map, states, &o);
        curve_event(&curve, DYN_CURVE_LPPD, 6.0, 1.0);
        if (kind == DYN_NORMAL_LP) {
            curve_events(&curve, "R1 LPPD", "LPPD R1");
            curve_event(&curve, DYN_CURVE_R1, 1.0, -1.0);
        } else {
            curve_events(&curve, "R2 LPPD", "LPPD R2");
            curve_event(&curve, DYN_CURVE_R2, 1.25, -1.0);
        }
        dyn_curve_fini(&curve);
    }
    dyn_map_destroy(map);
}

/* y₀' = −(1+p) y₀ + q y₀³ + y₀⁵ has 2-cycles ±y with p = q y² + y⁴, which fold at y² = −q/2,
 * p = −q²/4. The curve begins where they shrink to the generalised flip at the origin; it crosses
 * the curve of flips there, which costs half of the digits. */
static void test_folds_from_a_generalised_flip(void **state)
{
    static const poly_term terms[] = {{0, -1.0, -1, {1}},
                                      {0, -1.0, 0, {1}},
                                      {0, 1.0, 1, {3}},
                                      {0, 1.0, -1, {5}},
                                      {1, 0.5, -1, {0, 1}},
                                      {1, 0.3, -1, {2}},
                                      {0}};
    (void)state;
    dyn_map *map = poly_make(2, terms, POLY_PLAIN);
    const double y[][2] = {{0.5, 0.15}, {-0.5, 0.15}};
    double states[4];
    poly_to_state(map, y[0], states);
    poly_to_state(map, y[1], states + 2);
    map->params[0] = -0.0625;
    map->params[1] = -0.5;
    dyn_curve_options o = curve_options(DYN_NORMAL_LP, "p", "q", 1.0);
    o.period = 2;
    dyn_curve curve = curve_follow(map, states, &o);
    double least = 1.0;
    for (size_t i = 0; i < curve.n_points; i++) {
        const double *p = curve.points[i].parameters;
        MAPS_CLOSE(p[0], -0.25 * p[1] * p[1], CURVE_EXACT);
        assert_true(p[1] < 0.0 || fabs(p[1]) < 1e-4);
        least = fmin(least, fabs(p[1]));
    }
    assert_true(least < 1e-4);
    assert_true((curve.ends[0] == DYN_CURVE_END_HALVED) != (curve.ends[1] == DYN_CURVE_END_HALVED));
    assert_int_equal(curve.n_events, 0);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

/* A ring of 40 logistic maps in step: multipliers (2−r)(1 − ε(1 − cos 2πk/40)), so a flip at r = 3
 * whatever ε, with a multiplier +1 at ε = 1. */
static void test_a_ring(void **state)
{
    double x[40];
    (void)state;
    dyn_map *map = maps_make("coupled-logistic", "n=40 r=3 eps=0.4");
    for (size_t i = 0; i < 40; i++) {
        x[i] = 2.0 / 3.0;
    }
    dyn_curve_options o = curve_options(DYN_NORMAL_PD, "r", "eps", 1.0);
    o.low[0] = 2.5;
    o.high[0] = 3.5;
    o.low[1] = 0.1;
    o.high[1] = 1.004;
    dyn_curve curve = curve_follow(map, x, &o);
    for (size_t i = 0; i < curve.n_points; i++) {
        MAPS_CLOSE(curve.points[i].parameters[0], 3.0, CURVE_EXACT);
        /* b = 9 for a single map; |q| = 1 makes it 9/40. */
        MAPS_CLOSE(curve.points[i].form.coefficient, 9.0 / 40.0, CURVE_EXACT);
    }
    curve_events(&curve, "LPPD", "LPPD");
    curve_event(&curve, DYN_CURVE_LPPD, 3.0, 1.0);
    dyn_curve_fini(&curve);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flips),
        cmocka_unit_test(test_circles),
        cmocka_unit_test(test_cycles_of_three),
        cmocka_unit_test(test_folds_from_a_generalised_flip),
        cmocka_unit_test(test_a_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
