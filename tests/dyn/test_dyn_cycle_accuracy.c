/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fixed points and cycles at bifurcations, where many states have a small residual: what is one
 * cycle stays one, and is neither stable nor unstable by rounding.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_cycle_accuracy.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_points_check.h"

/* The search in a box that is the same for all coordinates. */
static dyn_fixed_points find(dyn_map *map, size_t period, double low, double high)
{
    const double lows[] = {low, low};
    const double highs[] = {high, high};
    const dyn_fixed_points_options o = points_options(period, 200, lows, highs);
    return points_search(map, &o);
}

static void check_cycle(const dyn_cycle *cycle, size_t period, double x, dyn_stability stability)
{
    assert_int_equal(cycle->period, period);
    assert_string_equal(dyn_stability_word(cycle->stability), dyn_stability_word(stability));
    assert_true(cycle->stable == (stability == DYN_STABILITY_STABLE));
    /* The uncertainty covers the error, and is no excuse. */
    assert_true(fabs(cycle->states[0] - x) <= cycle->accuracy.position);
    assert_true(cycle->accuracy.position < 1e-3);
}

/* At r = 3 the fixed point 2/3 flips: μ = −1, and states on both sides of it look like 2-cycles. */
static void test_flip(void **state)
{
    (void)state;
    for (size_t period = 1; period <= 4; period *= 2) {
        dyn_map *map = maps_make("logistic", "r=3");
        dyn_fixed_points all = find(map, period, 0.0, 1.0);
        assert_int_equal(all.n_cycles, 2);
        check_cycle(&all.cycles[0], 1, 0.0, DYN_STABILITY_UNSTABLE);
        check_cycle(&all.cycles[1], 1, 2.0 / 3.0, DYN_STABILITY_MARGINAL);
        assert_true(all.cycles[1].accuracy.position < 1e-14);
        dyn_fixed_points_fini(&all);
        dyn_map_destroy(map);
    }
}

/* Beside it there are verdicts. */
static void test_beside_the_flip(void **state)
{
    static const double values[] = {2.9999, 3.0001};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const double r = values[i];
        dyn_map *map = maps_make("logistic", "");
        MAPS_OK(dyn_map_set_param(map, "r", r, maps_err));
        dyn_fixed_points all = find(map, 1, 0.0, 1.0);
        assert_int_equal(all.n_cycles, 2);
        check_cycle(&all.cycles[1], 1, 1.0 - 1.0 / r,
                    r < 3.0 ? DYN_STABILITY_STABLE : DYN_STABILITY_UNSTABLE);
        dyn_fixed_points_fini(&all);
        dyn_map_destroy(map);
    }
}

/* The 2-cycle (r + 1 ± √((r − 3)(r + 1)))/2r is one cycle, and no fixed point, down to where its
 * states are 2e-4 apart. */
static void test_small_cycle(void **state)
{
    static const double values[] = {3.0001, 3.000001, 3.0000001};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const double r = values[i];
        const double low = (r + 1.0 - sqrt((r - 3.0) * (r + 1.0))) / (2.0 * r);
        dyn_map *map = maps_make("logistic", "");
        MAPS_OK(dyn_map_set_param(map, "r", r, maps_err));
        dyn_fixed_points all = find(map, 2, 0.0, 1.0);
        assert_true(all.n_cycles >= 2 && all.n_cycles <= 3);
        assert_int_equal(all.cycles[all.n_cycles - 2].period, 1);
        check_cycle(&all.cycles[all.n_cycles - 1], 2, low, DYN_STABILITY_STABLE);
        dyn_fixed_points_fini(&all);
        dyn_map_destroy(map);
    }
}

/* At r = 1 + √8 the 3-cycles are born: a double root, with half the digits. */
static void test_fold(void **state)
{
    dyn_map *map = maps_make("logistic", "");
    (void)state;
    MAPS_OK(dyn_map_set_param(map, "r", 1.0 + sqrt(8.0), maps_err));
    dyn_fixed_points all = find(map, 3, 0.0, 1.0);
    assert_int_equal(all.n_cycles, 3);
    check_cycle(&all.cycles[2], 3, 0.1599288184463, DYN_STABILITY_MARGINAL);
    dyn_fixed_points_fini(&all);
    dyn_map_destroy(map);
}

/* x' = μx − x³ at μ = 1: a triple root. */
static void test_pitchfork(void **state)
{
    dyn_map *map = maps_make("cubic", "mu=1");
    (void)state;
    dyn_fixed_points all = find(map, 1, -1.0, 1.0);
    assert_int_equal(all.n_cycles, 1);
    check_cycle(&all.cycles[0], 1, 0.0, DYN_STABILITY_MARGINAL);
    dyn_fixed_points_fini(&all);
    dyn_map_destroy(map);
}

/* Prey x that flips, and predators y that grow beside it: a 2-cycle is none there either. */
static void prey_step(dyn_map *map, const double *x, double *y)
{
    const double prey = x[0];
    (void)map;
    y[0] = 3.0 * prey * (1.0 - prey) - 3.5 * prey * x[1];
    y[1] = 2.5 * prey * x[1];
}

static void prey_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double out[] = {(3.0 - 6.0 * x[0] - 3.5 * x[1]) * v[0] - 3.5 * x[0] * v[1],
                          2.5 * x[1] * v[0] + 2.5 * x[0] * v[1]};
    memcpy(jv, out, sizeof out);
    if (y != NULL) {
        prey_step(map, x, y);
    }
}

static kern_status prey_clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    return dyn_map_create_like(out, map, err);
}

static const dyn_map_kind prey = {.name = "prey",
                                  .formula = "prey and predators",
                                  .step = prey_step,
                                  .jvp = prey_jvp,
                                  .clone = prey_clone};

static void test_flip_in_the_plane(void **state)
{
    dyn_map *map = NULL;
    (void)state;
    MAPS_OK(dyn_map_create(&map, &prey, 2, NULL, 0, maps_err));
    dyn_fixed_points all = find(map, 2, 0.0, 1.0);
    assert_int_equal(all.n_cycles, 3);
    check_cycle(&all.cycles[0], 1, 0.0, DYN_STABILITY_UNSTABLE);
    check_cycle(&all.cycles[1], 1, 0.4, DYN_STABILITY_STABLE);
    check_cycle(&all.cycles[2], 1, 2.0 / 3.0, DYN_STABILITY_UNSTABLE);
    dyn_fixed_points_fini(&all);
    dyn_map_destroy(map);
}

/* An area-preserving map has elliptic points, |μ| = 1, which are marginal whatever rounding does.
 */
static void test_elliptic(void **state)
{
    const double x0[] = {3.14, 0.0};
    dyn_map *map = maps_make("standard", "k=0.7");
    dyn_fixed_points_options o = points_options(1, 0, NULL, NULL);
    (void)state;
    o.n_given = 1;
    o.given = x0;
    dyn_fixed_points all = points_search(map, &o);
    assert_int_equal(all.n_cycles, 1);
    check_cycle(&all.cycles[0], 1, 3.14159265358979324, DYN_STABILITY_MARGINAL);
    dyn_fixed_points_fini(&all);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flip),
        cmocka_unit_test(test_beside_the_flip),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_small_cycle),
        cmocka_unit_test(test_pitchfork),
        cmocka_unit_test(test_elliptic),
        cmocka_unit_test(test_flip_in_the_plane),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
