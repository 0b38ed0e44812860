/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/dyn/dyn_fault_maps.h"

#include "dyn/dyn_classical.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

dyn_map *dyn_test_named(const char *name, const char *first, const char *second, const char *third)
{
    const dyn_assignment all[] = {{first}, {second}, {third}};
    const size_t n = first == NULL ? 0U : second == NULL ? 1U : third == NULL ? 2U : 3U;
    dyn_map *map = NULL;
    kern_error err = {0};
    if (dyn_classical_create(&map, name, all, n, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return map;
}

static dyn_map *make(const dyn_map_kind *kind, size_t size, const dyn_param *params, size_t n)
{
    dyn_map *map = NULL;
    assert_int_equal(dyn_map_create(&map, kind, size, params, n, NULL), KERN_OK);
    return map;
}

/* ---- Linear ------------------------------------------------------------------------------- */

/* The matrix, and room for a product. */
static void multiply(dyn_map *map, const double *x, double *y)
{
    const size_t n = map->size;
    const double *matrix = map->data;
    double *out = (double *)map->data + n * n;
    for (size_t i = 0; i < n; i++) {
        out[i] = 0.0;
        for (size_t j = 0; j < n; j++) {
            out[i] += matrix[i * n + j] * x[j];
        }
    }
    memcpy(y, out, n * sizeof *y);
}

static void linear_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    if (y != NULL) {
        multiply(map, x, y);
    }
    multiply(map, v, jv);
}

static kern_status clone_linear(dyn_map **out, const dyn_map *map, kern_error *err)
{
    const size_t numbers = map->size * map->size + map->size;
    double *data = calloc(numbers, sizeof *data);
    assert_non_null(data);
    memcpy(data, map->data, numbers * sizeof *data);
    KERN_TRY(dyn_map_create_like(out, map, err));
    (*out)->data = data;
    return KERN_OK;
}

static void linear_fini(dyn_map *map)
{
    free(map->data);
}

static const dyn_map_kind linear_kind = {.name = "linear",
                                         .formula = "M x",
                                         .step = multiply,
                                         .jvp = linear_jvp,
                                         .clone = clone_linear,
                                         .fini = linear_fini};

dyn_map *dyn_test_linear(size_t size, const double *matrix, size_t blocks)
{
    dyn_map *map = make(&linear_kind, size, NULL, 0);
    double *data = calloc(size * size + size, sizeof *data);
    assert_non_null(data);
    memcpy(data, matrix, size * size * sizeof *data);
    map->data = data;
    map->block_count = blocks;
    map->block_width = size / blocks;
    return map;
}

/* ---- Faults ------------------------------------------------------------------------------- */

static const dyn_param fault_params[] = {{"fault", 0.0, "what happens beyond 5"}};

static dyn_test_fault fault_at(const dyn_map *map, const double *x)
{
    return x[0] > 5.0 ? (dyn_test_fault)map->params[0] : DYN_TEST_FAULT_NONE;
}

static void translate(dyn_map *map, const double *x, double *y)
{
    const dyn_test_fault fault = fault_at(map, x);
    for (size_t i = 0; i < map->size; i++) {
        y[i] = x[i] + 1.0;
    }
    if (fault == DYN_TEST_FAULT_NAN) {
        y[map->size - 1] = (double)NAN;
    } else if (fault == DYN_TEST_FAULT_INF) {
        y[map->size - 1] = (double)INFINITY;
    }
}

static void translate_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const dyn_test_fault fault = fault_at(map, x);
    memmove(jv, v, map->size * sizeof *jv);
    if (fault == DYN_TEST_FAULT_TANGENT) {
        jv[0] = (double)NAN;
    }
    if (y != NULL) {
        translate(map, x, y);
    }
}

static const dyn_map_kind translation_kind = {.name = "translation",
                                              .formula = "x + 1",
                                              .step = translate,
                                              .jvp = translate_jvp,
                                              .clone = dyn_map_create_like};

dyn_map *dyn_test_translation(size_t size, dyn_test_fault fault)
{
    dyn_map *map = make(&translation_kind, size, fault_params, 1);
    map->params[0] = (double)fault;
    return map;
}

/* ---- Driven ------------------------------------------------------------------------------- */

static const dyn_param driven_params[] = {{"a", 0.5, "slope without driver"},
                                          {"b", 0.4, "slope for the driver"}};

static void drive(dyn_map *map, const double *x, double *y)
{
    const double driver = x[0];
    y[1] = (map->params[0] + map->params[1] * driver) * x[1] + driver;
    y[0] = 4.0 * driver * (1.0 - driver);
}

static void drive_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double at[2] = {x[0], x[1]};
    const double tangent[2] = {v[0], v[1]};
    jv[0] = (4.0 - 8.0 * at[0]) * tangent[0];
    jv[1] = (map->params[1] * at[1] + 1.0) * tangent[0] +
            (map->params[0] + map->params[1] * at[0]) * tangent[1];
    if (y != NULL) {
        drive(map, at, y);
    }
}

static const dyn_map_kind driven_kind = {.name = "driven",
                                         .formula = "(4x(1-x), (a + b x) y + x)",
                                         .step = drive,
                                         .jvp = drive_jvp,
                                         .clone = dyn_map_create_like};

dyn_map *dyn_test_driven(double a, double b)
{
    dyn_map *map = make(&driven_kind, 2, driven_params, 2);
    map->params[0] = a;
    map->params[1] = b;
    map->block_count = 2;
    map->block_width = 1;
    map->start[0] = 0.3;
    map->start[1] = 0.1;
    return map;
}

void dyn_test_fill(double *values, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = kern_rng_hash(seed, i) >> 11;
        values[i] = (double)bits * 0x1p-52 - 1.0;
    }
}
