/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What branches are computed with: the bordered cyclic system against a dense one, and slopes by a
 * parameter against closed forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_cyclic.h"
#include "dyn/dyn_param_slope.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "tests/dyn/dyn_fault_maps.h"
#include "tests/dyn/dyn_test_maps.h"

#include <stdlib.h>

/* A system with entries of a fixed sequence, blocks scaled. */
static dyn_cyclic *fill(size_t size, size_t period, size_t border, double scale)
{
    const size_t n = size * period;
    dyn_cyclic *c = NULL;
    MAPS_OK(dyn_cyclic_create(&c, size, period, border, maps_err));
    for (size_t i = 0; i < period; i++) {
        double *block = dyn_cyclic_block(c, i);
        dyn_test_fill(block, size * size, (unsigned)(10 + i));
        for (size_t j = 0; j < size * size; j++) {
            block[j] *= scale;
        }
    }
    dyn_test_fill(dyn_cyclic_columns(c), n * border, 2);
    dyn_test_fill(dyn_cyclic_rows(c), border * (n + border), 3);
    return c;
}

/* The same as a dense matrix, row-major; the caller frees it. */
static double *spread(dyn_cyclic *c, size_t size, size_t period, size_t border, double closing)
{
    const size_t n = size * period;
    const size_t order = n + border;
    double *matrix = calloc(order * order, sizeof *matrix);
    assert_non_null(matrix);
    for (size_t i = 0; i < period; i++) {
        const size_t next = (i + 1) % period * size;
        for (size_t r = 0; r < size; r++) {
            double *row = matrix + (i * size + r) * order;
            memcpy(row + i * size, dyn_cyclic_block(c, i) + r * size, size * sizeof *row);
            row[next + r] -= i + 1 == period ? closing : 1.0;
            memcpy(row + n, dyn_cyclic_columns(c) + (i * size + r) * border, border * sizeof *row);
        }
    }
    memcpy(matrix + n * order, dyn_cyclic_rows(c), border * order * sizeof *matrix);
    return matrix;
}

/* Largest |A x − b|. */
static double residual(const double *matrix, size_t order, const double *x, const double *b)
{
    double most = 0.0;
    for (size_t i = 0; i < order; i++) {
        double sum = -b[i];
        for (size_t j = 0; j < order; j++) {
            sum += matrix[i * order + j] * x[j];
        }
        most = fabs(sum) <= most ? most : fabs(sum);
    }
    return most;
}

static void compare(size_t size, size_t period, size_t border, double closing)
{
    const size_t order = size * period + border;
    dyn_cyclic *c = fill(size, period, border, 1.0);
    double *matrix = spread(c, size, period, border, closing);
    double *x = calloc(2 * order, sizeof *x);
    int *pivots = calloc(order, sizeof *pivots);
    assert_true(x != NULL && pivots != NULL);
    for (int pass = 0; pass < 2; pass++) { /* solving twice: the system stays as it was written */
        dyn_test_fill(x, order, 4);
        memcpy(x + order, x, order * sizeof *x);
        assert_int_equal(dyn_cyclic_solve(c, closing, x), KERN_OK);
    }
    assert_true(residual(matrix, order, x, x + order) <= 1e-11);
    assert_int_equal(kern_lapack_lu(order, matrix, pivots, NULL, NULL), KERN_OK);
    assert_int_equal(kern_lapack_lu_solve(order, matrix, pivots, x + order, NULL), KERN_OK);
    for (size_t i = 0; i < order; i++) {
        MAPS_CLOSE(x[i], x[order + i], 1e-9);
    }
    free(x);
    free(pivots);
    free(matrix);
    dyn_cyclic_destroy(c);
}

static void test_dense(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 8};
    static const size_t periods[] = {1, 2, 3, 7, 30};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 5; j++) {
            for (size_t border = 1; border <= 2; border++) {
                compare(sizes[i], periods[j], border, 1.0);
                compare(sizes[i], periods[j], border, -1.0);
            }
        }
    }
}

/* Products of the blocks reach 10^200 and nothing is lost; with blocks of 0 neither. */
static void test_growth(void **state)
{
    static const double scales[] = {20.0, 1e-3, 0.0};
    const size_t size = 2;
    const size_t period = 200;
    const size_t order = size * period + 1;
    double b[401];
    double x[401];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        dyn_cyclic *c = fill(size, period, 1, scales[i]);
        double *matrix = spread(c, size, period, 1, 1.0);
        dyn_test_fill(b, order, 5);
        memcpy(x, b, sizeof x);
        assert_int_equal(dyn_cyclic_solve(c, 1.0, x), KERN_OK);
        double largest = 1.0;
        for (size_t j = 0; j < order; j++) {
            largest = fmax(largest, fabs(x[j]));
        }
        /* Backward stable: rounding of the entries times the solution, a few hundred times. */
        assert_true(residual(matrix, order, x, b) <= 1e-13 * fmax(1.0, scales[i]) * largest);
        free(matrix);
        dyn_cyclic_destroy(c);
    }
    dyn_cyclic_destroy(NULL);
}

static void test_outcomes(void **state)
{
    dyn_cyclic *c = fill(2, 3, 1, 1.0);
    kern_error err = {0};
    double b[7];
    (void)state;
    dyn_test_fill(b, 7, 6);
    memset(dyn_cyclic_rows(c), 0, 7 * sizeof(double));
    assert_int_equal(dyn_cyclic_solve(c, 1.0, b), KERN_SINGULAR);
    dyn_test_fill(dyn_cyclic_rows(c), 7, 3);
    dyn_cyclic_block(c, 1)[0] = (double)NAN;
    assert_int_not_equal(dyn_cyclic_solve(c, 1.0, b), KERN_OK);
    dyn_cyclic_destroy(c);
    assert_int_equal(dyn_cyclic_create(&c, 0, 1, 1, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "1 states of 0 numbers");
    assert_int_equal(dyn_cyclic_create(&c, SIZE_MAX / 2, 4, 1, &err), KERN_OVERFLOW);
    assert_int_equal(dyn_cyclic_create(&c, 1, SIZE_MAX / 256, 1, &err), KERN_OVERFLOW);
    assert_null(c);
}

/* ---- Slopes ------------------------------------------------------------------------------- */

static void root_step(dyn_map *map, const double *x, double *y)
{
    y[0] = x[0] * sqrt(map->params[0]);
}

static void root_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    jv[0] = v[0] * sqrt(map->params[0]);
    if (y != NULL) {
        root_step(map, x, y);
    }
}

static kern_status root_clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    return dyn_map_create_like(out, map, err);
}

static const dyn_map_kind root_kind = {.name = "root",
                                       .formula = "x sqrt(p)",
                                       .step = root_step,
                                       .jvp = root_jvp,
                                       .clone = root_clone};

static void test_slopes(void **state)
{
    static const dyn_param info[] = {{"p", 1.0, "under the root"}};
    double work[64];
    double slope[2];
    const double x[2] = {0.7, 0.4};
    (void)state;
    dyn_map *map = maps_make("logistic", "r=3.2");
    assert_true(dyn_param_slope_work(map) <= 64);
    assert_true(dyn_param_slope(map, 0, 1.0, x, slope, work) <= 1e-12);
    MAPS_CLOSE(slope[0], 0.7 * 0.3, 1e-14);
    assert_true(map->params[0] == 3.2);
    dyn_map_destroy(map);
    map = maps_make("ikeda", "u=0.8");
    const double t = 0.4 - 6.0 / (1.0 + 0.49 + 0.16);
    (void)dyn_param_slope(map, 0, 1.0, x, slope, work);
    MAPS_CLOSE(slope[0], 0.7 * cos(t) - 0.4 * sin(t), 1e-13);
    MAPS_CLOSE(slope[1], 0.7 * sin(t) + 0.4 * cos(t), 1e-13);
    dyn_map_destroy(map);
    /* On a circle: θ + Ω moves with Ω, also where it wraps round. */
    map = maps_make("standard", "k=1");
    (void)dyn_param_slope(map, 0, 1.0, x, slope, work);
    MAPS_CLOSE(slope[0], sin(0.7), 1e-13);
    dyn_map_destroy(map);
    /* Near the end of the domain the first width is NaN or bad, and a narrower one serves. */
    MAPS_OK(dyn_map_create(&map, &root_kind, 1, info, 1, maps_err));
    map->params[0] = 1e-4;
    assert_true(dyn_param_slope(map, 0, 1.0, x, slope, work) <= 1e-8);
    MAPS_CLOSE(slope[0], 0.7 * 0.5 / 1e-2, 1e-6);
    map->params[0] = -1.0;
    assert_true(isnan(dyn_param_slope(map, 0, 0.5, x, slope, work)));
    assert_true(isnan(slope[0]));
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_slopes),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
