/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Observables of states, and orbits that keep every so many states.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_observe.h"
#include "dyn/dyn_orbit.h"
#include "tests/dyn/dyn_fault_maps.h"
#include "tests/dyn/dyn_test_maps.h"

static dyn_observer observer_of(dyn_map *map, const char *names)
{
    dyn_observer out;
    MAPS_OK(dyn_observer_init(&out, map, names, maps_err));
    return out;
}

/* Two blocks of two numbers under x' = x + 1. */
static void test_values_by_block(void **state)
{
    dyn_map *map = dyn_test_translation(4, DYN_TEST_FAULT_NONE);
    const double x[4] = {3, 4, -6, 8};
    double out[6] = {0};
    (void)state;
    map->block_count = 2;
    map->block_width = 2;
    dyn_observer o = observer_of(map, "length,mean,move");
    assert_true(o.n == 3 && o.which[0] == DYN_OBSERVE_LENGTH && o.which[2] == DYN_OBSERVE_MOVE);
    dyn_observer_write(&o, 0, x, out);
    assert_true(out[0] == 5 && out[1] == 10);
    assert_true(out[2] == 3.5 && out[3] == 1);
    assert_true(out[4] == 1 && out[5] == 1);
    dyn_observer_fini(&o);
    map->params[0] = DYN_TEST_FAULT_NAN;
    const double bad[4] = {6, 0, 0, 0};
    o = observer_of(map, "move");
    dyn_observer_write(&o, 0, bad, out);
    assert_true(out[0] == 1 && isnan(out[1]));
    dyn_observer_fini(&o);
    dyn_map_destroy(map);
}

/* Scale, energy, and moves the short way round a circle. */
static void test_values_of_maps(void **state)
{
    dyn_map *map = maps_make("layernorm-power", "n=4");
    const double x[4] = {1, 3, 5, 7};
    double out[2];
    (void)state;
    dyn_observer o = observer_of(map, "sigma,energy");
    dyn_observer_write(&o, 0, x, out);
    MAPS_CLOSE(out[0], sqrt(5), 1e-15);
    assert_true(out[1] == map->kind->energy(map, x));
    dyn_observer_fini(&o);
    dyn_map_destroy(map);
    map = maps_make("circle", "omega=0.9 k=0");
    const double angle = 0.3;
    o = observer_of(map, "move");
    dyn_observer_write(&o, 0, &angle, out);
    MAPS_CLOSE(out[0], 0.1, 1e-15);
    dyn_observer_fini(&o);
    dyn_map_destroy(map);
    assert_string_equal(dyn_observable_word(DYN_OBSERVE_SIGMA), "sigma");
    assert_string_equal(dyn_observable_word(DYN_OBSERVE_COUNT), "unknown");
}

static void refuse(dyn_map *map, const char *names, const char *part)
{
    dyn_observer o;
    kern_error err = {0};
    assert_int_not_equal(dyn_observer_init(&o, map, names, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, part);
    dyn_observer_fini(&o);
}

static void test_refusals(void **state)
{
    dyn_map *map = maps_make("henon", "");
    (void)state;
    refuse(map, "sigma", "no observable \"sigma\"; accepted are mean, length, move");
    refuse(map, "mean,energy", "no observable \"energy\"");
    refuse(map, "", "no observable \"\"");
    refuse(map, "mean,", "no observable \"\"");
    refuse(map, "means", "no observable \"means\"");
    refuse(map, "mea", "no observable \"mea\"");
    refuse(map, "mean,move,mean", "mean is given twice");
    dyn_map_destroy(map);
}

/* Every third state of an orbit is what an orbit of all states has there. */
static void test_stride(void **state)
{
    dyn_map *map = maps_make("henon", "");
    dyn_orbit *all = NULL;
    dyn_orbit *some = NULL;
    const dyn_orbit_options every = {.ttr = 7, .steps = 30};
    const dyn_orbit_options third = {.ttr = 7, .steps = 10, .stride = 3};
    (void)state;
    MAPS_OK(dyn_orbit_create(&all, map, &every, maps_err));
    MAPS_OK(dyn_orbit_create(&some, map, &third, maps_err));
    assert_true(some->n == 11 && all->n == 31 && some->end == all->end);
    for (size_t k = 0; k < some->n; k++) {
        assert_memory_equal(some->states + 2 * k, all->states + 6 * k, 2 * sizeof(double));
    }
    dyn_orbit_destroy(all);
    dyn_orbit_destroy(some);
    dyn_map_destroy(map);
    /* A 2-cycle is no collapse, although every second state is the same. */
    map = maps_make("logistic", "r=3.2");
    const dyn_orbit_options second = {.ttr = 1000, .steps = 10, .stride = 2};
    MAPS_OK(dyn_orbit_create(&some, map, &second, maps_err));
    assert_false(some->collapsed);
    dyn_orbit_destroy(some);
    kern_error err = {0};
    const dyn_orbit_options far = {.steps = SIZE_MAX / 4, .stride = 5};
    assert_int_equal(dyn_orbit_create(&some, map, &far, &err), KERN_OVERFLOW);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_by_block),
        cmocka_unit_test(test_values_of_maps),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_stride),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
