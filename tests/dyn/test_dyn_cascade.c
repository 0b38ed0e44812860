/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fixed points of causal maps block by block, and following them in a parameter: known relative
 * equilibria, flips, Neimark-Sacker points and a fold, with what is labelled where a block is not
 * solved.
 */
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_cascade.h"
#include "dyn/dyn_cascade_path.h"
#include "dyn/dyn_chart.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_causal_maps.h"

#include <stdlib.h>

/* Scales at which all tokens are stable at rate 1. */
static const double scales[CAUSAL_TOKENS] = {2.0, 5.0, 6.0};

/* What token A does at √w q_1: a, and where its multipliers cross, in closed form. */
static double radial_of(size_t a)
{
    return causal_spectrum[a][1] + (a > 0 ? causal_pull : 0.0);
}

static double flip_of(size_t a, size_t j)
{
    return -2.0 * scales[a] / (causal_spectrum[a][j] + radial_of(a));
}

static double turn_of_last(void)
{
    const double a = radial_of(2);
    const double re = causal_spectrum[2][2];
    return 2.0 * scales[2] * (a - re) / (re * re + causal_twist * causal_twist - a * a);
}

static dyn_map *make_chart(void)
{
    dyn_map *inner = causal_norm_map();
    dyn_map *chart = NULL;
    MAPS_OK(dyn_chart_create(&chart, inner, NULL, scales, maps_err));
    dyn_map_destroy(inner);
    return chart;
}

/* ---- Solving ------------------------------------------------------------------------------ */

static void test_relative_equilibrium(void **state)
{
    (void)state;
    double q[CAUSAL_WIDTH];
    double radial[CAUSAL_TOKENS], tangential[CAUSAL_TOKENS], work[CAUSAL_WIDTH];
    dyn_map *chart = make_chart();
    dyn_cascade_options o = dyn_cascade_options_default();
    dyn_cascade c;
    dyn_multipliers m;
    dyn_multipliers_options options = dyn_multipliers_options_default();
    MAPS_OK(dyn_cascade_init(&c, chart, NULL, &o, maps_err));
    assert_int_equal(c.status, KERN_OK);
    assert_int_equal(c.n_converged, CAUSAL_TOKENS);
    assert_true(c.residual <= 1e-13);
    causal_basis(1, q);
    for (size_t i = 0; i < chart->size; i++) {
        MAPS_CLOSE(c.state[i], sqrt(CAUSAL_WIDTH) * q[i % CAUSAL_WIDTH], 1e-11);
    }
    dyn_chart_update(chart, c.state, radial, tangential, work);
    MAPS_OK(dyn_multipliers_init(&m, chart, c.state, &options, maps_err));
    const double flips[] = {flip_of(0, 5), flip_of(1, 4), flip_of(2, 4)};
    const double turns[] = {(double)INFINITY, (double)INFINITY, turn_of_last()};
    for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
        const dyn_chart_margins g = dyn_chart_find_margins(chart, &m.blocks[a], radial[a]);
        MAPS_CLOSE(radial[a], radial_of(a), 1e-12);
        MAPS_CLOSE(tangential[a], 0.0, 1e-11);
        MAPS_CLOSE(g.flip, flips[a], 1e-9);
        assert_true(isinf(turns[a]) ? isinf(g.ns) : fabs(g.ns - turns[a]) <= 1e-9);
        MAPS_CLOSE(g.lost, fmin(flips[a], turns[a]), 1e-9);
        assert_int_equal(g.n_complex, a == 2 ? 2 : 0);
        assert_true(g.sigma == scales[a]);
    }
    dyn_multipliers_fini(&m);
    dyn_cascade_fini(&c);
    dyn_map_destroy(chart);
}

/* Beyond the flip of token 1 the orbit is a 2-cycle; its mean leads Newton to what it flipped from.
 */
static void test_beyond_the_flip(void **state)
{
    (void)state;
    double q[CAUSAL_WIDTH];
    dyn_map *chart = make_chart();
    dyn_cascade_options o = dyn_cascade_options_default();
    dyn_cascade c;
    MAPS_OK(dyn_map_set_param(chart, "rate", 1.05 * flip_of(0, 5), maps_err));
    o.settle = 400;
    MAPS_OK(dyn_cascade_init(&c, chart, NULL, &o, maps_err));
    assert_int_equal(c.blocks[0].status, KERN_OK);
    causal_basis(1, q);
    for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
        MAPS_CLOSE(fabs(c.state[i]), sqrt(CAUSAL_WIDTH) * fabs(q[i]), 1e-11);
    }
    dyn_cascade_fini(&c);
    dyn_map_destroy(chart);
}

/* The map itself has multipliers +1 and no fixed points: no block may be called solved. */
static void test_without_the_chart(void **state)
{
    (void)state;
    dyn_map *map = causal_norm_map();
    dyn_cascade_options o = dyn_cascade_options_default();
    dyn_cascade c;
    MAPS_OK(dyn_cascade_init(&c, map, NULL, &o, maps_err));
    assert_int_equal(c.n_converged, 0);
    assert_int_not_equal(c.status, KERN_OK);
    for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
        assert_int_not_equal(c.blocks[a].status, KERN_OK);
        assert_true(c.blocks[a].conditional == (a > 0));
    }
    dyn_cascade_fini(&c);
    dyn_map_destroy(map);
}

/* Where r = 6 leaves block 1 without a fixed point, block 0 is solved and block 2 is conditional.
 */
static void test_conditional(void **state)
{
    (void)state;
    dyn_map *map = causal_fold_map();
    dyn_cascade_options o = dyn_cascade_options_default();
    dyn_cascade c;
    MAPS_OK(dyn_map_set_param(map, "r", 6.0, maps_err));
    o.settle = 3;
    MAPS_OK(dyn_cascade_init(&c, map, NULL, &o, maps_err));
    assert_int_equal(c.blocks[0].status, KERN_OK);
    MAPS_CLOSE(c.state[0], c.state[0] > 0.5 ? 1.0 - 1.0 / 6.0 : 0.0, 1e-12);
    assert_int_not_equal(c.blocks[1].status, KERN_OK);
    assert_false(c.blocks[1].conditional);
    assert_int_equal(c.blocks[2].status, KERN_OK);
    assert_true(c.blocks[2].conditional);
    assert_int_equal(c.n_converged, 1);
    assert_int_equal(c.status, c.blocks[1].status);
    dyn_cascade_fini(&c);
    dyn_map_destroy(map);
}

/* ---- Following ---------------------------------------------------------------------------- */

static void check_event(const dyn_path_event *e, dyn_path_event_kind kind, size_t block, double p,
                        bool before, bool after)
{
    if (e->kind != kind || e->block != block) {
        fail_msg("an event is %s of block %zu at %g and not %s of block %zu at %g",
                 dyn_path_word(e->kind), e->block, e->parameter, dyn_path_word(kind), block, p);
    }
    MAPS_CLOSE(e->parameter, p, 1e-8);
    assert_true(e->width <= 1e-8);
    assert_true(e->stable_before == before && e->stable_after == after);
    if (kind != DYN_PATH_LOST) {
        MAPS_CLOSE(hypot(e->re, e->im), 1.0, 1e-7);
    }
}

/* Located events in the rate are those of the closed form, in order. */
static void test_rate(void **state)
{
    (void)state;
    dyn_map *chart = make_chart();
    dyn_cascade_options o = dyn_cascade_options_default();
    dyn_cascade c;
    dyn_cascade_path path;
    const dyn_cascade_path_options options = dyn_cascade_path_options_default("rate", 1.0, 6.0);
    MAPS_OK(dyn_cascade_init(&c, chart, NULL, &o, maps_err));
    MAPS_OK(dyn_cascade_path_init(&path, chart, c.state, &options, maps_err));
    assert_int_equal(path.status, KERN_OK);
    assert_int_equal(path.n_events, 4);
    check_event(&path.events[0], DYN_PATH_PD, 0, flip_of(0, 5), true, false);
    check_event(&path.events[1], DYN_PATH_PD, 1, flip_of(1, 4), true, false);
    check_event(&path.events[2], DYN_PATH_NS, 2, turn_of_last(), true, false);
    check_event(&path.events[3], DYN_PATH_PD, 1, flip_of(1, 3), false, false);
    MAPS_CLOSE(path.lost[0], flip_of(0, 5), 1e-8);
    MAPS_CLOSE(path.lost[1], flip_of(1, 4), 1e-8);
    MAPS_CLOSE(path.lost[2], turn_of_last(), 1e-8);
    for (size_t i = 0; i < chart->size; i++) {
        MAPS_CLOSE(path.state[i], c.state[i], 1e-10);
    }
    assert_true(path.parameters[0] == 1.0 && path.parameters[path.n_points - 1] == 6.0);
    dyn_cascade_path_fini(&path);
    dyn_cascade_fini(&c);
    dyn_map_destroy(chart);
}

/* Blocks without a norm, whose fixed points move. */
static void test_delayed_logistic(void **state)
{
    (void)state;
    dyn_map *map = causal_pair_map();
    dyn_cascade_path path;
    const double x[4] = {1.0 / 3.0, 1.0 / 3.0, 0.476, 0.1};
    const dyn_cascade_path_options options = dyn_cascade_path_options_default("r", 1.5, 2.3);
    MAPS_OK(dyn_cascade_path_init(&path, map, x, &options, maps_err));
    assert_int_equal(path.status, KERN_OK);
    assert_int_equal(path.n_events, 1);
    check_event(&path.events[0], DYN_PATH_NS, 0, 2.0, true, false);
    MAPS_CLOSE(path.events[0].re, 0.5, 1e-7);
    MAPS_CLOSE(path.state[0], 1.0 - 1.0 / 2.3, 1e-10);
    MAPS_CLOSE(path.state[2], path.state[0] / 0.7, 1e-10);
    assert_true(isnan(path.lost[1]));
    dyn_cascade_path_fini(&path);
    dyn_map_destroy(map);
}

/* A flip that is passed, and a fold that ends block 1 and with it block 2, but not block 0. */
static void check_fold(double to, size_t points_at_least)
{
    dyn_map *map = causal_fold_map();
    dyn_cascade_path path;
    const double x[3] = {0.6, 0.79, 2.8};
    const dyn_cascade_path_options options = dyn_cascade_path_options_default("r", 2.5, to);
    MAPS_OK(dyn_cascade_path_init(&path, map, x, &options, maps_err));
    assert_int_equal(path.status, KERN_NOT_CONVERGED);
    assert_int_equal(path.n_events, 2);
    check_event(&path.events[0], DYN_PATH_PD, 0, 3.0, true, false);
    check_event(&path.events[1], DYN_PATH_LOST, 1, 5.0, true, false);
    assert_true(path.parameters[path.n_points - 1] == to);
    assert_true(path.n_points >= points_at_least);
    const double *last = path.radius + (path.n_points - 1) * 3;
    MAPS_CLOSE(last[0], to - 2.0, 1e-9);
    assert_true(isnan(last[1]) && isnan(last[2]));
    MAPS_CLOSE(path.lost[0], 3.0, 1e-8);
    MAPS_CLOSE(path.lost[1], 5.0, 1e-8);
    dyn_cascade_path_fini(&path);
    dyn_map_destroy(map);
}

static void test_fold(void **state)
{
    (void)state;
    check_fold(5.5, 50);
    check_fold(7.0, 50);
}

/* Backwards from beyond the flip: block 0 gains stability. */
static void test_backwards(void **state)
{
    (void)state;
    dyn_map *map = causal_fold_map();
    dyn_cascade_path path;
    const double x[3] = {0.7, 0.5, 2.4};
    const dyn_cascade_path_options options = dyn_cascade_path_options_default("r", 3.5, 2.5);
    MAPS_OK(dyn_cascade_path_init(&path, map, x, &options, maps_err));
    assert_int_equal(path.status, KERN_OK);
    assert_int_equal(path.n_events, 1);
    check_event(&path.events[0], DYN_PATH_PD, 0, 3.0, false, true);
    assert_true(path.lost[0] == 3.5);
    dyn_cascade_path_fini(&path);
    dyn_map_destroy(map);
}

static void test_refusals(void **state)
{
    (void)state;
    kern_error err = {0};
    dyn_map *map = causal_fold_map();
    dyn_cascade_path path;
    dyn_cascade c;
    dyn_cascade_options o = dyn_cascade_options_default();
    dyn_cascade_path_options options = dyn_cascade_path_options_default("r", 3.0, 3.0);
    assert_int_equal(dyn_cascade_path_init(&path, map, map->start, &options, &err),
                     KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "from 3 to 3");
    options = dyn_cascade_path_options_default("q", 2.5, 3.0);
    assert_int_equal(dyn_cascade_path_init(&path, map, map->start, &options, &err),
                     KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "no parameter \"q\"");
    options = dyn_cascade_path_options_default("r", 2.5, (double)NAN);
    assert_int_equal(dyn_cascade_path_init(&path, map, map->start, &options, &err),
                     KERN_INVALID_ARGUMENT);
    o.tol = 0.0;
    assert_int_equal(dyn_cascade_init(&c, map, NULL, &o, &err), KERN_INVALID_ARGUMENT);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relative_equilibrium),
        cmocka_unit_test(test_beyond_the_flip),
        cmocka_unit_test(test_without_the_chart),
        cmocka_unit_test(test_conditional),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_delayed_logistic),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_backwards),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
