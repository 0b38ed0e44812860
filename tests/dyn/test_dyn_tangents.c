/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Many tangents at once: what takes the place of a missing jvp_many or jvp_blocks, frames, and
 * dense Jacobians, against single products by the Jacobian. tests/models has those of models.
 */
#include "tests/dyn/dyn_fault_maps.h"
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_frame.h"
#include "dyn/dyn_jacobian.h"
#include "dyn/dyn_state.h"
#include "kernels/kern_blas.h"

#include <stdlib.h>

enum { MANY = 21, MAX_SIZE = 24 };

static void draw(double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = sin(1.0 + 2.3 * (double)i);
    }
}

/* As many single products; y may be x, and tangents are replaced in place. */
static void check_many(dyn_map *map)
{
    const size_t n = map->size;
    double x[MAX_SIZE], y[MAX_SIZE], single[MAX_SIZE], v[MANY * MAX_SIZE], jv[MANY * MAX_SIZE];
    memcpy(x, map->start, n * sizeof *x);
    draw(v, MANY * n);
    map->kind->step(map, x, y);
    dyn_map_jvp_many(map, x, MANY, v, NULL, jv);
    for (size_t i = 0; i < MANY; i++) {
        map->kind->jvp(map, x, v + i * n, NULL, single);
        assert_memory_equal(jv + i * n, single, n * sizeof *single);
    }
    dyn_map_jvp_many(map, x, MANY, v, x, v);
    assert_memory_equal(x, y, n * sizeof *x);
    assert_memory_equal(v, jv, MANY * n * sizeof *v);
    memcpy(x, map->start, n * sizeof *x);
    dyn_map_jvp_many(map, x, 0, v, x, v);
    assert_memory_equal(x, y, n * sizeof *x);
    assert_memory_equal(v, jv, MANY * n * sizeof *v);
}

static void test_many_are_single_ones(void **state)
{
    static const char *const names[][2] = {{"logistic", ""},
                                           {"henon", ""},
                                           {"ikeda", ""},
                                           {"standard", ""},
                                           {"coupled-logistic", "n=20"},
                                           {"layernorm-power", "n=9"}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        dyn_map *map = maps_make(names[i][0], names[i][1]);
        check_many(map);
        dyn_map_destroy(map);
    }
}

/* A plain map is one block, so that its block-diagonal part is all of it; the driven map's second
 * block is not reached by the first. */
static void test_blocks(void **state)
{
    double work[MAX_SIZE], v[2 * MAX_SIZE], jv[2 * MAX_SIZE], many[2 * MAX_SIZE], y[MAX_SIZE];
    (void)state;
    dyn_map *map = maps_make("henon", "");
    draw(v, 4);
    dyn_map_jvp_blocks(map, map->start, 2, v, y, jv, work);
    dyn_map_jvp_many(map, map->start, 2, v, NULL, many);
    assert_memory_equal(jv, many, 4 * sizeof *jv);
    dyn_map_destroy(map);
    map = dyn_test_driven(0.5, 0.4);
    const double x[2] = {0.3, 0.7};
    double image[2];
    draw(v, 4);
    map->kind->step(map, x, image);
    dyn_map_jvp_blocks(map, x, 2, v, y, jv, work);
    assert_memory_equal(y, image, sizeof image);
    for (size_t i = 0; i < 2; i++) {
        double single[2] = {v[2 * i], 0.0};
        map->kind->jvp(map, x, single, NULL, single);
        assert_true(jv[2 * i] == single[0] && single[1] != 0.0);
        double other[2] = {0.0, v[2 * i + 1]};
        map->kind->jvp(map, x, other, NULL, other);
        assert_true(jv[2 * i + 1] == other[1] && other[0] == 0.0);
    }
    dyn_map_jvp_blocks(map, x, 2, v, NULL, v, work);
    assert_memory_equal(v, jv, 4 * sizeof *v);
    dyn_map_destroy(map);
}

static void test_jacobian(void **state)
{
    (void)state;
    dyn_map *map = maps_make("coupled-logistic", "n=19");
    const size_t n = map->size;
    const size_t ld = n + 3;
    double *jacobian = calloc(n * ld, sizeof *jacobian);
    double *work = calloc(dyn_jacobian_work(map), sizeof *work);
    double y[MAX_SIZE], image[MAX_SIZE];
    assert_true(jacobian != NULL && work != NULL);
    dyn_jacobian_fill(map, map->start, y, jacobian, ld, work);
    map->kind->step(map, map->start, image);
    assert_memory_equal(y, image, n * sizeof *y);
    for (size_t j = 0; j < n; j++) {
        double unit[MAX_SIZE] = {0};
        unit[j] = 1.0;
        map->kind->jvp(map, map->start, unit, NULL, unit);
        for (size_t i = 0; i < n; i++) {
            assert_true(jacobian[i * ld + j] == unit[i]);
        }
    }
    free(jacobian);
    free(work);
    dyn_map_destroy(map);
}

/* A frame with several workers moves as one with one, and as single tangents do. */
static void test_frame(void **state)
{
    (void)state;
    dyn_map *map = maps_make("coupled-logistic", "n=24");
    const size_t n = map->size;
    double x[MAX_SIZE], y[MAX_SIZE], v[MANY * MAX_SIZE], jv[MANY * MAX_SIZE];
    draw(v, MANY * n);
    memcpy(x, map->start, n * sizeof *x);
    dyn_map_jvp_many(map, x, MANY, v, NULL, jv);
    for (int workers = 0; workers <= 5; workers++) {
        dyn_frame frame;
        MAPS_OK(dyn_frame_init(&frame, map, DYN_FRAME_WHOLE, MANY, workers, maps_err));
        assert_true(frame.n == n && frame.workers == (workers < 1 ? 1 : workers < 3 ? workers : 3));
        memcpy(frame.rows, v, MANY * n * sizeof *v);
        dyn_frame_push(&frame, x, y);
        assert_memory_equal(frame.rows, jv, MANY * n * sizeof *v);
        map->kind->step(map, x, v);
        assert_memory_equal(y, v, n * sizeof *y);
        draw(v, MANY * n);
        dyn_frame_fini(&frame);
    }
    dyn_map_destroy(map);
}

/* A frame in a block moves by the diagonal block. */
static void test_frame_in_a_block(void **state)
{
    (void)state;
    dyn_map *map = dyn_test_driven(0.5, 0.4);
    const double x[2] = {0.3, 0.7};
    double y[2], image[2];
    map->kind->step(map, x, image);
    for (size_t block = 0; block < 2; block++) {
        dyn_frame frame;
        double unit[2] = {block == 0 ? 1.0 : 0.0, block == 0 ? 0.0 : 1.0};
        MAPS_OK(dyn_frame_init(&frame, map, block, 1, 4, maps_err));
        assert_true(frame.n == 1 && frame.workers == 1);
        frame.rows[0] = 1.0;
        dyn_frame_push(&frame, x, y);
        map->kind->jvp(map, x, unit, NULL, unit);
        assert_true(frame.rows[0] == unit[block]);
        assert_memory_equal(y, image, sizeof y);
        dyn_frame_fini(&frame);
    }
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_are_single_ones),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_jacobian),
        cmocka_unit_test(test_frame),
        cmocka_unit_test(test_frame_in_a_block),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
