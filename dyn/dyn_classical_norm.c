/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The built-in map layernorm-power: power iteration as gradient descent behind a layer norm.
 */
#include "dyn/dyn_classical_internal.h"

#include "kernels/kern_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MOST = 8192 };

/* Matrix and workspace in one block: W (n × n, symmetric), then g, then two vectors. */
static double *norm_matrix(const dyn_map *map)
{
    return map->data;
}

static double *norm_work(const dyn_map *map, size_t index)
{
    return norm_matrix(map) + map->size * (map->size + index);
}

/* g = (x − mean)/std; returns std. */
static double normalise(size_t n, const double *x, double *g)
{
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < n; i++) {
        mean += x[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        g[i] = x[i] - mean;
        square += g[i] * g[i] / (double)n;
    }
    const double std = sqrt(square);
    for (size_t i = 0; i < n; i++) {
        g[i] /= std;
    }
    return std;
}

/* to = LN'(x) v = (v − mean(v) − g (g·v)/n)/std, which is symmetric; to may be v. */
static void normalise_slope(size_t n, const double *g, double std, const double *v, double *to)
{
    double mean = 0;
    double along = 0;
    for (size_t i = 0; i < n; i++) {
        mean += v[i] / (double)n;
        along += g[i] * v[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        to[i] = (v[i] - mean - g[i] * along) / std;
    }
}

/* to = W v. */
static void multiply(const dyn_map *map, const double *v, double *to)
{
    const size_t n = map->size;
    const double *row = norm_matrix(map);
    for (size_t i = 0; i < n; i++, row += n) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) {
            sum += row[j] * v[j];
        }
        to[i] = sum;
    }
}

static void power_step(dyn_map *map, const double *x, double *y)
{
    double *g = norm_work(map, 0);
    double *force = norm_work(map, 1);
    (void)normalise(map->size, x, g);
    multiply(map, g, force);
    for (size_t i = 0; i < map->size; i++) {
        y[i] = x[i] + map->params[0] * force[i];
    }
}

static void power_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    double *g = norm_work(map, 0);
    double *force = norm_work(map, 1);
    double *tangent = norm_work(map, 2);
    const double std = normalise(map->size, x, g);
    normalise_slope(map->size, g, std, v, tangent);
    multiply(map, tangent, force);
    for (size_t i = 0; i < map->size; i++) {
        tangent[i] = v[i] + map->params[0] * force[i];
    }
    if (y != NULL) {
        power_step(map, x, y);
    }
    memcpy(jv, tangent, map->size * sizeof *jv);
}

static void power_vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    double *g = norm_work(map, 0);
    double *pulled = norm_work(map, 1);
    const double std = normalise(map->size, x, g);
    multiply(map, w, pulled);
    normalise_slope(map->size, g, std, pulled, pulled);
    for (size_t i = 0; i < map->size; i++) {
        jtw[i] = w[i] + map->params[0] * pulled[i];
    }
}

static double power_energy(dyn_map *map, const double *x)
{
    double *g = norm_work(map, 0);
    double *force = norm_work(map, 1);
    double sum = 0;
    (void)normalise(map->size, x, g);
    multiply(map, g, force);
    for (size_t i = 0; i < map->size; i++) {
        sum -= 0.5 * g[i] * force[i];
    }
    return sum;
}

static kern_status power_reserve(dyn_map *map, kern_error *err)
{
    map->data = calloc(map->size * (map->size + 3), sizeof(double));
    return map->data != NULL
               ? KERN_OK
               : kern_raise(err, KERN_NO_MEMORY,
                            "no memory for map layernorm-power of %zu coordinates", map->size);
}

static kern_status power_draw(dyn_map *map, uint64_t seed, kern_error *err)
{
    const size_t n = map->size;
    const double scale = 1.0 / sqrt((double)n);
    KERN_TRY(power_reserve(map, err));
    kern_rng *rng = kern_rng_create(seed, "layernorm-power", 0);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for random numbers");
    }
    double *w = norm_matrix(map);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            w[i * n + j] = scale * kern_rng_normal(rng);
            w[j * n + i] = w[i * n + j];
        }
        w[i * n + i] = 1.4142135623730950488 * scale * kern_rng_normal(rng);
    }
    for (size_t i = 0; i < n; i++) {
        map->start[i] = kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
    return KERN_OK;
}

static kern_status power_build(dyn_map **out, const dyn_classical_entry *entry,
                               const dyn_classical_request *request, kern_error *err)
{
    KERN_TRY(dyn_classical_read_whole(entry, request, 1, 2, SIZE_MOST, err));
    KERN_TRY(dyn_classical_read_whole(entry, request, 2, 0, 9007199254740992.0, err));
    const size_t n = (size_t)request->values[1];
    KERN_TRY(dyn_map_create(out, &entry->kind, n, entry->params, 3, err));
    (*out)->n_fixed = 2;
    (*out)->gauge = DYN_GAUGE_SCALE_SHIFT;
    memcpy((*out)->params, request->values, 3 * sizeof *request->values);
    const kern_status status = power_draw(*out, (uint64_t)request->values[2], err);
    if (status != KERN_OK) {
        dyn_map_destroy(*out);
        *out = NULL;
    }
    return status;
}

static kern_status power_clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    KERN_TRY(dyn_map_create_like(out, map, err));
    const kern_status status = power_reserve(*out, err);
    if (status != KERN_OK) {
        dyn_map_destroy(*out);
        *out = NULL;
        return status;
    }
    memcpy((*out)->data, map->data, map->size * map->size * sizeof(double));
    return KERN_OK;
}

static void free_data(dyn_map *map)
{
    free(map->data);
}

const dyn_classical_entry dyn_classical_norm[] = {
    {.kind = {.name = "layernorm-power",
              .formula = "x + eta W LN(x), W symmetric Gaussian",
              .step = power_step,
              .jvp = power_jvp,
              .vjp = power_vjp,
              .energy = power_energy,
              .clone = power_clone,
              .fini = free_data},
     .params = {{"eta", 0.1, "step size"},
                {"n", 16.0, "number of coordinates"},
                {"seed", 1.0, "of the matrix and the start"}},
     .n_params = 3,
     .build = power_build},
};

const size_t dyn_classical_norm_count = sizeof dyn_classical_norm / sizeof dyn_classical_norm[0];
