/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settle times: exact ones of linear blocks, a chaotic and a diverging block, directions behind a
 * norm, delays.
 */
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_chart.h"
#include "dyn/dyn_settle.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_causal_maps.h"

enum { BLOCKS = 4 };

/* Blocks x' = a_i x of one number each. */
static void step(dyn_map *map, const double *x, double *y)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        y[i] = map->params[i] * x[i];
    }
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    return dyn_map_create_like(out, map, err);
}

static dyn_map *make_linear(void)
{
    static const dyn_map_kind kind = {.name = "linear", .step = step, .clone = clone};
    static const dyn_param info[BLOCKS] = {
        {"a", 0.5, ""}, {"b", -0.5, ""}, {"c", 0.25, ""}, {"d", 1.0, ""}};
    dyn_map *map = NULL;
    MAPS_OK(dyn_map_create(&map, &kind, BLOCKS, info, BLOCKS, maps_err));
    map->block_count = BLOCKS;
    map->block_width = 1;
    for (size_t i = 0; i < BLOCKS; i++) {
        map->start[i] = 1.0;
    }
    return map;
}

/* 2^−t is below 1e-3 from t = 10 on, 4^−t from t = 5 on, and what does not move at once. */
static void test_times(void **state)
{
    (void)state;
    const size_t times[BLOCKS] = {10, 10, 5, 0};
    const long long delays[BLOCKS] = {0, 0, -5, -10};
    const long long previous[BLOCKS] = {0, 0, -5, -5};
    const dyn_settle_options o = {.horizon = 100, .tol = 1e-3};
    dyn_map *map = make_linear();
    dyn_settle s;
    MAPS_OK(dyn_settle_init(&s, map, NULL, &o, maps_err));
    assert_int_equal(s.n_settled, BLOCKS);
    for (size_t a = 0; a < BLOCKS; a++) {
        assert_int_equal(s.blocks[a].status, KERN_OK);
        assert_int_equal(s.blocks[a].time, times[a]);
        assert_true(s.blocks[a].has_delay == (a > 0));
        assert_true(s.blocks[a].delay == delays[a]);
        assert_true(s.blocks[a].delay_previous == previous[a]);
    }
    dyn_settle_fini(&s);
    dyn_map_destroy(map);
}

/* A short horizon does not confirm; what flips or grows has no rest. */
static void test_labels(void **state)
{
    (void)state;
    dyn_settle_options o = {.horizon = 19, .tol = 1e-3};
    dyn_map *map = make_linear();
    dyn_settle s;
    MAPS_OK(dyn_map_set_param(map, "d", -1.0, maps_err));
    MAPS_OK(dyn_settle_init(&s, map, NULL, &o, maps_err));
    assert_int_equal(s.blocks[0].status, KERN_TIMEOUT);
    assert_int_equal(s.blocks[2].status, KERN_OK);
    assert_false(s.blocks[2].has_delay);
    assert_int_equal(s.blocks[3].status, KERN_TIMEOUT);
    assert_int_equal(s.n_settled, 1);
    dyn_settle_fini(&s);
    o.horizon = 200;
    MAPS_OK(dyn_map_set_param(map, "b", 10.0, maps_err));
    MAPS_OK(dyn_map_set_param(map, "d", 1e200, maps_err));
    MAPS_OK(dyn_settle_init(&s, map, NULL, &o, maps_err));
    assert_int_equal(s.blocks[0].status, KERN_OK);
    assert_int_equal(s.blocks[1].status, KERN_DIVERGED);
    assert_int_equal(s.blocks[3].status, KERN_DIVERGED);
    dyn_settle_fini(&s);
    dyn_map_destroy(map);
    map = causal_fold_map();
    MAPS_OK(dyn_map_set_param(map, "r", 3.9, maps_err));
    map->start[0] = 0.3;
    o.horizon = 1000;
    MAPS_OK(dyn_settle_init(&s, map, NULL, &o, maps_err));
    assert_int_equal(s.blocks[0].status, KERN_TIMEOUT);
    assert_int_equal(s.blocks[1].status, KERN_OK);
    assert_int_equal(s.blocks[2].status, KERN_TIMEOUT);
    dyn_settle_fini(&s);
    dyn_map_destroy(map);
}

/* Behind a norm the direction settles while the state does not; tokens of the chart settle one
 * after the other at the rates of their leading multipliers. */
static void test_directions(void **state)
{
    (void)state;
    const double sigma[CAUSAL_TOKENS] = {2.0, 5.0, 6.0};
    const dyn_settle_options o = {.horizon = 400, .tol = 1e-6};
    dyn_map *map = causal_norm_map();
    dyn_map *chart = NULL;
    dyn_settle s;
    MAPS_OK(dyn_chart_create(&chart, map, NULL, sigma, maps_err));
    MAPS_OK(dyn_settle_init(&s, chart, NULL, &o, maps_err));
    assert_int_equal(s.n_settled, CAUSAL_TOKENS);
    assert_true(s.blocks[0].time > 5 && s.blocks[1].time > s.blocks[0].time);
    dyn_settle_fini(&s);
    const dyn_settle_options loose = {.horizon = 4000, .tol = 0.05};
    MAPS_OK(dyn_settle_init(&s, map, NULL, &loose, maps_err));
    assert_int_equal(s.blocks[0].status, KERN_OK);
    dyn_settle_fini(&s);
    dyn_map_destroy(chart);
    dyn_map_destroy(map);
}

static void test_refusals(void **state)
{
    (void)state;
    kern_error err = {0};
    dyn_map *map = make_linear();
    dyn_settle s;
    dyn_settle_options o = {.horizon = 1, .tol = 1e-3};
    assert_int_equal(dyn_settle_init(&s, map, NULL, &o, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "horizon is 1 steps");
    o = (dyn_settle_options){.horizon = 10, .tol = (double)NAN};
    assert_int_equal(dyn_settle_init(&s, map, NULL, &o, &err), KERN_INVALID_ARGUMENT);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
