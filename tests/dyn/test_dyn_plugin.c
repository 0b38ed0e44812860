/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plugins: the example's fixed point and Jacobian, a plugin without a Jacobian, clones, and
 * everything that can be wrong with a file. PLUGIN_EXAMPLE is the path of the example and
 * PLUGIN_FIXTURES the folder of test_plugin_0.so ….
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dyn/dyn_plugin.h"
#include "tests/dyn/dyn_test_maps.h"

#include <stdlib.h>
#include <unistd.h>

enum { PATH_TEXT = 1024 };

static const char *fixture(int number)
{
    static char path[PATH_TEXT];
    (void)snprintf(path, sizeof path, "%s/test_plugin_%d.so", PLUGIN_FIXTURES, number);
    return path;
}

/* Coexistence at x = 1/d, y = (r(1 − 1/d) − 1)/b. There the Jacobian is [1 − r/d, −b/d; dy, 1], so
 * its trace is 2 − r/d. */
static void test_example(void **state)
{
    static const dyn_assignment assignments[] = {{"r=3.4"}, {"d=2.2"}};
    const double at[2] = {1 / 2.2, (3.4 * (1 - 1 / 2.2) - 1) / 3.5};
    const double e0[2] = {1, 0};
    const double e1[2] = {0, 1};
    double y[2], first[2], second[2];
    dyn_map *map = NULL;
    (void)state;
    MAPS_OK(dyn_plugin_create(&map, PLUGIN_EXAMPLE, assignments, 2, maps_err));
    assert_int_equal(map->size, 2);
    assert_int_equal(map->n_params, 3);
    assert_string_equal(map->kind->name, "predator-prey");
    assert_false(map->approximate_jvp);
    assert_null(map->kind->energy);
    assert_null(strstr(map->kind->formula, "differences"));
    assert_true(map->start[0] == 0.5 && map->start[1] == 0.2);
    map->kind->jvp(map, at, e0, y, first);
    map->kind->jvp(map, at, e1, NULL, second);
    MAPS_CLOSE(y[0], at[0], 1e-15);
    MAPS_CLOSE(y[1], at[1], 1e-15);
    MAPS_CLOSE(first[0] + second[1], 2 - 3.4 / 2.2, 1e-14);
    MAPS_CLOSE(first[1], 2.2 * at[1], 1e-14);
    MAPS_CLOSE(second[0], -3.5 / 2.2, 1e-14);
    /* A nearby orbit spirals in: the modulus is √(1 − r/d + b y) = 0.76. */
    double x[2] = {at[0] + 0.01, at[1] - 0.01};
    dyn_map_iterate(map, x, 300, x);
    MAPS_CLOSE(dyn_map_distance(map, x, at), 0, 1e-14);
    dyn_map_destroy(map);
}

static void test_differences_take_the_place_of_a_jvp(void **state)
{
    const double x[2] = {0.7, -1.4};
    const double v[2] = {300, -200};
    const double zero[2] = {0, 0};
    double y[2], stepped[2], jv[2];
    dyn_map *map = NULL;
    (void)state;
    MAPS_OK(dyn_plugin_create(&map, fixture(0), NULL, 0, maps_err));
    assert_true(map->approximate_jvp);
    assert_non_null(strstr(map->kind->formula, "Jacobian by central differences"));
    map->kind->step(map, x, stepped);
    map->kind->jvp(map, x, v, y, jv);
    assert_memory_equal(y, stepped, sizeof y);
    /* Relative to |v| the error is some 1e-10: h = 6e-6, h² F'''/6 and ε/h. */
    MAPS_CLOSE(jv[0], (0.5 - 1.96) * 300 - 2 * 0.7 * -1.4 * -200, 300 * 1e-9);
    MAPS_CLOSE(jv[1], cos(0.7) * 300, 300 * 1e-9);
    map->kind->jvp(map, x, zero, NULL, jv);
    assert_true(jv[0] == 0 && jv[1] == 0);
    MAPS_CLOSE(map->kind->energy(map, x), 0.5 * 0.7 - 1.4, 1e-15);
    double a[2] = {x[0], x[1]};
    double b[2] = {v[0], v[1]};
    map->kind->jvp(map, x, v, y, jv);
    map->kind->jvp(map, a, b, a, b);
    assert_memory_equal(a, y, sizeof y);
    assert_memory_equal(b, jv, sizeof jv);
    dyn_map_destroy(map);
}

static void test_clones_outlive_the_map(void **state)
{
    const dyn_assignment assignment = {"b=0.75"};
    dyn_map *map = NULL;
    dyn_map *copy = NULL;
    double x[2], y[2];
    (void)state;
    MAPS_OK(dyn_plugin_create(&map, fixture(0), &assignment, 1, maps_err));
    MAPS_OK(map->kind->clone(&copy, map, maps_err));
    dyn_map_iterate(map, map->start, 7, x);
    dyn_map_destroy(map);
    dyn_map_iterate(copy, copy->start, 7, y);
    assert_memory_equal(x, y, sizeof x);
    assert_true(copy->params[1] == 0.75 && copy->approximate_jvp);
    dyn_map_destroy(copy);
}

/* What version 2 added reaches the map and its clones. */
static void test_structure(void **state)
{
    const double x[2] = {0.7, -1.4};
    const double v[2] = {0.3, -0.2};
    const double w[2] = {1.1, 0.6};
    double jv[2], jtw[2];
    dyn_map *map = NULL;
    dyn_map *copy = NULL;
    (void)state;
    MAPS_OK(dyn_plugin_create(&map, fixture(10), NULL, 0, maps_err));
    MAPS_OK(map->kind->clone(&copy, map, maps_err));
    dyn_map_destroy(map);
    assert_true(copy->block_count == 2 && copy->block_width == 1);
    assert_true(copy->gauge == DYN_GAUGE_NONE);
    assert_true(copy->periods != NULL && copy->periods[0] == 0 && copy->periods[1] == 7);
    assert_non_null(copy->kind->vjp);
    copy->kind->jvp(copy, x, v, NULL, jv);
    copy->kind->vjp(copy, x, w, jtw);
    MAPS_CLOSE(jv[0] * w[0] + jv[1] * w[1], v[0] * jtw[0] + v[1] * jtw[1], 1e-9);
    dyn_map_destroy(copy);
}

static void test_the_first_version_still_loads(void **state)
{
    const double x[2] = {0.7, -1.4};
    double y[2];
    dyn_map *map = NULL;
    (void)state;
    MAPS_OK(dyn_plugin_create(&map, fixture(9), NULL, 0, maps_err));
    assert_string_equal(map->kind->name, "first");
    assert_true(map->block_count == 1 && map->block_width == 2);
    assert_true(map->gauge == DYN_GAUGE_NONE && map->periods == NULL && map->kind->vjp == NULL);
    map->kind->step(map, x, y);
    MAPS_CLOSE(y[1], sin(0.7) + 0.25, 1e-15);
    MAPS_CLOSE(map->kind->energy(map, x), 0.5 * 0.7 - 1.4, 1e-15);
    dyn_map_destroy(map);
}

static void refuse(const char *path, const char *assignment, kern_status status, const char *part)
{
    const dyn_assignment assignments[] = {{assignment}};
    kern_error err = {0};
    dyn_map *map = NULL;
    assert_int_equal(dyn_plugin_create(&map, path, assignments, 1, &err), status);
    assert_null(map);
    maps_error(&err, status, part);
}

static void test_refusals(void **state)
{
    (void)state;
    refuse("no-such-plugin.so", "a=1", KERN_NOT_FOUND, "./no-such-plugin.so cannot be read");
    refuse(fixture(0), "c=1", KERN_INVALID_ARGUMENT, "accepted: a, b");
    refuse(fixture(0), "a=1,2", KERN_INVALID_ARGUMENT, "accepted is one");
    refuse(fixture(0), "a", KERN_INVALID_ARGUMENT, "name=value");
    refuse(fixture(1), "a=1", KERN_BAD_INPUT, "interface version 8; accepted are 1 to 2");
    refuse(fixture(2), "a=1", KERN_BAD_INPUT, "dimension 0; accepted is 1 or more");
    refuse(fixture(3), "a=1", KERN_BAD_INPUT, "has no step");
    refuse(fixture(4), "a=1", KERN_BAD_INPUT, "no name");
    refuse(fixture(5), "a=1", KERN_BAD_INPUT, "parameter 2 of 2 has no name");
    refuse(fixture(6), "a=1", KERN_BAD_INPUT, "returned nothing");
    refuse(fixture(7), "a=1", KERN_BAD_INPUT, "gives nan in coordinate 1");
    refuse(fixture(8), "a=1", KERN_BAD_INPUT, "does not export basin_plugin");
    refuse(fixture(11), "a=1", KERN_BAD_INPUT, "3 blocks in 2 coordinates");
    refuse(fixture(12), "a=1", KERN_BAD_INPUT, "gauge 7; accepted are none (0)");
    refuse(fixture(13), "a=1", KERN_BAD_INPUT, "blocks of width 2, of which its gauge leaves");
    refuse(fixture(14), "a=1", KERN_BAD_INPUT, "coordinate 1 the period -1");
    refuse(fixture(15), "a=1", KERN_BAD_INPUT, "not UTF-8");
    refuse(fixture(16), "a=1", KERN_BAD_INPUT, "parameters 1 and 2 are both named a");
    refuse(fixture(17), "a=1", KERN_BAD_INPUT, "parameter b is inf by default");
    refuse(fixture(18), "a=1", KERN_BAD_INPUT, "its jvp differs");
    dyn_map *map = NULL;
    MAPS_OK(dyn_plugin_create(&map, fixture(19), NULL, 0, maps_err));
    assert_false(map->approximate_jvp);
    dyn_map_destroy(map);
}

static void test_a_text_is_no_plugin(void **state)
{
    const char *base = getenv("TMPDIR");
    char folder[PATH_TEXT];
    char path[PATH_TEXT + 16];
    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/basin-plugin-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/text.so", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs("x' = r x (1 - x)\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    refuse(path, "a=1", KERN_BAD_INPUT, "is not a shared object that loads");
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_differences_take_the_place_of_a_jvp),
        cmocka_unit_test(test_clones_outlive_the_map),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_the_first_version_still_loads),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_a_text_is_no_plugin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
