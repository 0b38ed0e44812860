/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/dyn/dyn_poly_maps.h"

#include "kernels/kern_lapack.h"
#include "tests/dyn/dyn_fault_maps.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct poly_data {
    poly_term terms[POLY_TERMS];
    size_t n;
    double frame[POLY_SIZE * POLY_SIZE];   /* S */
    double inverse[POLY_SIZE * POLY_SIZE]; /* of S */
} poly_data;

static const dyn_param params[] = {{"p", 0.0, "first parameter"}, {"q", 0.0, "second parameter"}};

static void multiply(const double *matrix, size_t n, const double *v, double *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = 0.0;
        for (size_t j = 0; j < n; j++) {
            out[i] += matrix[i * n + j] * v[j];
        }
    }
}

/* c·yᵏ and its derivative. */
static double raise_to(double y, unsigned k, double *slope)
{
    double value = 1.0;
    *slope = 0.0;
    for (unsigned i = 0; i < k; i++) {
        *slope = *slope * y + value;
        value *= y;
    }
    return value;
}

/* z = rule(y) and dz = rule'(y) dy. */
static void evaluate(const dyn_map *map, const double *y, const double *dy, double *z, double *dz)
{
    const poly_data *data = map->data;
    memset(z, 0, map->size * sizeof *z);
    memset(dz, 0, map->size * sizeof *dz);
    for (size_t t = 0; t < data->n; t++) {
        const poly_term *term = &data->terms[t];
        const double factor = term->parameter < 0 ? 1.0 : map->params[term->parameter];
        double value = term->coefficient * factor;
        double slope = 0.0;
        for (size_t i = 0; i < map->size; i++) {
            double inner;
            const double power = raise_to(y[i], term->power[i], &inner);
            slope = slope * power + value * inner * dy[i];
            value *= power;
        }
        z[term->row] += value;
        dz[term->row] += slope;
    }
}

static void jvp(dyn_map *map, const double *x, const double *v, double *image, double *jv)
{
    const poly_data *data = map->data;
    const size_t n = map->size;
    double y[POLY_SIZE] = {0.0};
    double dy[POLY_SIZE] = {0.0};
    double z[POLY_SIZE] = {0.0};
    double dz[POLY_SIZE] = {0.0};
    multiply(data->inverse, n, x, y);
    multiply(data->inverse, n, v, dy);
    evaluate(map, y, dy, z, dz);
    if (image != NULL) {
        multiply(data->frame, n, z, image);
    }
    multiply(data->frame, n, dz, jv);
}

static void step(dyn_map *map, const double *x, double *image)
{
    const double none[POLY_SIZE] = {0.0};
    double jv[POLY_SIZE] = {0.0};
    jvp(map, x, none, image, jv);
}

static void vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    const double cotangent[POLY_SIZE] = {w[0],
                                         w[1],
                                         map->size > 2 ? w[2] : 0.0,
                                         map->size > 3 ? w[3] : 0.0,
                                         map->size > 4 ? w[4] : 0.0,
                                         map->size > 5 ? w[5] : 0.0};
    double unit[POLY_SIZE] = {0.0};
    double column[POLY_SIZE] = {0.0};
    for (size_t j = 0; j < map->size; j++) {
        unit[j] = 1.0;
        jvp(map, x, unit, NULL, column);
        unit[j] = 0.0;
        jtw[j] = 0.0;
        for (size_t i = 0; i < map->size; i++) {
            jtw[j] += cotangent[i] * column[i];
        }
    }
}

/* The central difference that a plugin without jvp gets. */
static void jvp_difference(dyn_map *map, const double *x, const double *v, double *image,
                           double *jv)
{
    const double h = 6e-6;
    double ahead[POLY_SIZE] = {0.0};
    double behind[POLY_SIZE] = {0.0};
    for (size_t i = 0; i < map->size; i++) {
        ahead[i] = x[i] + h * v[i];
        behind[i] = x[i] - h * v[i];
    }
    step(map, ahead, ahead);
    step(map, behind, behind);
    if (image != NULL) {
        step(map, x, image);
    }
    for (size_t i = 0; i < map->size; i++) {
        jv[i] = (ahead[i] - behind[i]) / (2.0 * h);
    }
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    KERN_TRY(dyn_map_create_like(out, map, err));
    (*out)->data = malloc(sizeof(poly_data));
    assert_non_null((*out)->data);
    memcpy((*out)->data, map->data, sizeof(poly_data));
    return KERN_OK;
}

static void fini(dyn_map *map)
{
    free(map->data);
}

static const dyn_map_kind kinds[] = {
    [POLY_PLAIN] = {.name = "polynomial",
                    .formula = "a polynomial",
                    .step = step,
                    .jvp = jvp,
                    .clone = clone,
                    .fini = fini},
    [POLY_VJP] = {.name = "polynomial",
                  .formula = "a polynomial",
                  .step = step,
                  .jvp = jvp,
                  .vjp = vjp,
                  .clone = clone,
                  .fini = fini},
    [POLY_APPROXIMATE] = {.name = "polynomial",
                          .formula = "a polynomial",
                          .step = step,
                          .jvp = jvp_difference,
                          .clone = clone,
                          .fini = fini},
};

/* S = I + ½ R with entries of R in [−1, 1), and its inverse. */
static void make_frame(poly_data *data, size_t n)
{
    double lu[POLY_SIZE * POLY_SIZE];
    int pivots[POLY_SIZE];
    dyn_test_fill(data->frame, n * n, 7);
    for (size_t i = 0; i < n * n; i++) {
        data->frame[i] *= 0.5;
    }
    for (size_t i = 0; i < n; i++) {
        data->frame[i * n + i] += 1.0;
    }
    memcpy(lu, data->frame, n * n * sizeof *lu);
    assert_int_equal(kern_lapack_lu(n, lu, pivots, NULL, NULL), KERN_OK);
    for (size_t j = 0; j < n; j++) {
        double column[POLY_SIZE] = {0.0};
        column[j] = 1.0;
        assert_int_equal(kern_lapack_lu_solve(n, lu, pivots, column, NULL), KERN_OK);
        for (size_t i = 0; i < n; i++) {
            data->inverse[i * n + j] = column[i];
        }
    }
}

dyn_map *poly_make(size_t size, const poly_term *terms, poly_offer offer)
{
    dyn_map *map = NULL;
    poly_data *data = calloc(1, sizeof *data);
    assert_non_null(data);
    assert_true(size <= POLY_SIZE);
    assert_int_equal(dyn_map_create(&map, &kinds[offer], size, params, 2, NULL), KERN_OK);
    while (terms[data->n].coefficient != 0.0) {
        assert_true(data->n < POLY_TERMS);
        data->terms[data->n] = terms[data->n];
        data->n++;
    }
    make_frame(data, size);
    map->data = data;
    map->approximate_jvp = offer == POLY_APPROXIMATE;
    return map;
}

const double *poly_frame(const dyn_map *map)
{
    return ((const poly_data *)map->data)->frame;
}

double poly_length(const dyn_map *map, size_t i)
{
    double sum = 0.0;
    for (size_t k = 0; k < map->size; k++) {
        sum += poly_frame(map)[k * map->size + i] * poly_frame(map)[k * map->size + i];
    }
    return sqrt(sum);
}

void poly_to_state(const dyn_map *map, const double *y, double *x)
{
    multiply(poly_frame(map), map->size, y, x);
}

void poly_from_state(const dyn_map *map, const double *x, double *y)
{
    multiply(((const poly_data *)map->data)->inverse, map->size, x, y);
}
