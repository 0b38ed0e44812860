/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Built-in maps whose number of coordinates depends on their parameters: quadratic and
 * coupled-logistic.
 */
#include "dyn/dyn_classical_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MOST = 65536, LAMBDA_TEXT = 16 };

/* ---- quadratic --------------------------------------------------------------------------------
 */

/* The curvatures are parameters 1, 2, … and need names of their own. */
typedef struct quadratic_names {
    dyn_param *info;
    char (*text)[LAMBDA_TEXT];
} quadratic_names;

static void quadratic_fini(dyn_map *map)
{
    quadratic_names *names = map->data;
    if (names != NULL) {
        free(names->info);
        free(names->text);
        free(names);
    }
}

static kern_status name_curvatures(quadratic_names **out, const dyn_param *eta,
                                   const double *lambda, size_t n, kern_error *err)
{
    quadratic_names *names = calloc(1, sizeof *names);
    *out = names;
    if (names != NULL) {
        names->info = calloc(n + 1, sizeof *names->info);
        names->text = calloc(n, sizeof *names->text);
    }
    if (names == NULL || names->info == NULL || names->text == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for map quadratic of %zu coordinates", n);
    }
    names->info[0] = *eta;
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(names->text[i], LAMBDA_TEXT, "lambda%zu", (i + 1) % 1000000);
        names->info[i + 1] =
            (dyn_param){.name = names->text[i], .value = lambda[i], .help = "curvature"};
    }
    return KERN_OK;
}

/* Makes the map around its names, which it takes over, also when it fails. */
static kern_status quadratic_wrap(dyn_map **out, const dyn_map_kind *kind, quadratic_names *names,
                                  size_t n, kern_error *err)
{
    dyn_map owner = {.data = names};
    const kern_status status = dyn_map_create(out, kind, n, names->info, n + 1, err);
    if (status != KERN_OK) {
        quadratic_fini(&owner);
        return status;
    }
    (*out)->data = names;
    return KERN_OK;
}

static kern_status quadratic_build(dyn_map **out, const dyn_classical_entry *entry,
                                   const dyn_classical_request *request, kern_error *err)
{
    static const double default_lambda[] = {1.0, 2.0};
    const double *lambda = request->list != NULL ? request->list : default_lambda;
    const size_t n = request->list != NULL ? request->n_list : 2;
    quadratic_names *names = NULL;
    const dyn_param eta = {"eta", request->values[0], entry->params[0].help};
    if (n > SIZE_MOST) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "parameter lambda of map quadratic has %zu values; accepted are 1 to %d",
                          n, SIZE_MOST);
    }
    const kern_status status = name_curvatures(&names, &eta, lambda, n, err);
    if (status != KERN_OK) {
        dyn_map owner = {.data = names};
        quadratic_fini(&owner);
        return status;
    }
    KERN_TRY(quadratic_wrap(out, &entry->kind, names, n, err));
    for (size_t i = 0; i < n; i++) {
        (*out)->start[i] = 1.0;
    }
    return KERN_OK;
}

static kern_status quadratic_clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    const size_t n = map->size;
    quadratic_names *names = NULL;
    *out = NULL;
    kern_status status = name_curvatures(&names, &map->param_info[0], map->params + 1, n, err);
    if (status != KERN_OK) {
        dyn_map owner = {.data = names};
        quadratic_fini(&owner);
        return status;
    }
    KERN_TRY(quadratic_wrap(out, map->kind, names, n, err));
    memcpy((*out)->params, map->params, (n + 1) * sizeof *map->params);
    memcpy((*out)->start, map->start, n * sizeof *map->start);
    return KERN_OK;
}

static double multiplier(const dyn_map *map, size_t i)
{
    return 1.0 - map->params[0] * map->params[i + 1];
}

static void quadratic_step(dyn_map *map, const double *x, double *y)
{
    for (size_t i = 0; i < map->size; i++) {
        y[i] = multiplier(map, i) * x[i];
    }
}

static void quadratic_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    if (y != NULL) {
        quadratic_step(map, x, y);
    }
    quadratic_step(map, v, jv);
}

static void quadratic_vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    (void)x;
    quadratic_step(map, w, jtw);
}

static double quadratic_energy(dyn_map *map, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < map->size; i++) {
        sum += 0.5 * map->params[i + 1] * x[i] * x[i];
    }
    return sum;
}

static double quadratic_log_abs_det(dyn_map *map, const double *x)
{
    double sum = 0;
    (void)x;
    for (size_t i = 0; i < map->size; i++) {
        sum += log(fabs(multiplier(map, i)));
    }
    return sum;
}

/* ---- coupled-logistic -------------------------------------------------------------------------
 */

/* The coupling is symmetric, so one function serves J v = C(f' ⊙ v) and Jᵀw = f' ⊙ (C w). It reads
 * `from` completely before `to` is complete: `to` is never `from`. */
static void couple(const dyn_map *map, const double *from, double *to)
{
    const double eps = map->params[1];
    const size_t n = map->size;
    for (size_t i = 0; i < n; i++) {
        const double left = from[i > 0 ? i - 1 : n - 1];
        const double right = from[i + 1 < n ? i + 1 : 0];
        to[i] = (1.0 - eps) * from[i] + 0.5 * eps * (left + right);
    }
}

static void ring_step(dyn_map *map, const double *x, double *y)
{
    double *f = map->data;
    for (size_t i = 0; i < map->size; i++) {
        f[i] = map->params[0] * x[i] * (1.0 - x[i]);
    }
    couple(map, f, y);
}

static void ring_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    double *moved = (double *)map->data + map->size;
    for (size_t i = 0; i < map->size; i++) {
        moved[i] = map->params[0] * (1.0 - 2.0 * x[i]) * v[i];
    }
    if (y != NULL) {
        ring_step(map, x, y);
    }
    couple(map, moved, jv);
}

static void ring_vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    double *pulled = (double *)map->data + map->size;
    couple(map, w, pulled);
    for (size_t i = 0; i < map->size; i++) {
        jtw[i] = map->params[0] * (1.0 - 2.0 * x[i]) * pulled[i];
    }
}

/* The coupling is circulant with eigenvalues 1 − ε(1 − cos 2πk/n). */
static double ring_log_abs_det(dyn_map *map, const double *x)
{
    const double n = (double)map->size;
    double sum = 0;
    for (size_t i = 0; i < map->size; i++) {
        const double angle = 6.283185307179586476925287 * (double)i / n;
        sum += log(fabs(map->params[0] * (1.0 - 2.0 * x[i])));
        sum += log(fabs(1.0 - map->params[1] * (1.0 - cos(angle))));
    }
    return sum;
}

static void free_data(dyn_map *map)
{
    free(map->data);
}

static kern_status ring_reserve(dyn_map *map, kern_error *err)
{
    map->data = calloc(2 * map->size, sizeof(double));
    return map->data != NULL
               ? KERN_OK
               : kern_raise(err, KERN_NO_MEMORY,
                            "no memory for map coupled-logistic of %zu coordinates", map->size);
}

static kern_status ring_build(dyn_map **out, const dyn_classical_entry *entry,
                              const dyn_classical_request *request, kern_error *err)
{
    KERN_TRY(dyn_classical_read_whole(entry, request, 2, 1, SIZE_MOST, err));
    const size_t n = (size_t)request->values[2];
    KERN_TRY(dyn_map_create(out, &entry->kind, n, entry->params, 3, err));
    dyn_map *map = *out;
    map->n_fixed = 1;
    memcpy(map->params, request->values, 3 * sizeof *map->params);
    for (size_t i = 0; i < n; i++) {
        const double turns = 0.618033988749894848 * ((double)i + 1.0);
        map->start[i] = 0.1 + 0.8 * (turns - floor(turns));
    }
    const kern_status status = ring_reserve(map, err);
    if (status != KERN_OK) {
        dyn_map_destroy(map);
        *out = NULL;
    }
    return status;
}

static kern_status ring_clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    KERN_TRY(dyn_map_create_like(out, map, err));
    const kern_status status = ring_reserve(*out, err);
    if (status != KERN_OK) {
        dyn_map_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* ---- Entries ----------------------------------------------------------------------------------
 */

const dyn_classical_entry dyn_classical_sized[] = {
    {.kind = {.name = "quadratic",
              .formula = "x_i' = (1 - eta lambda_i) x_i",
              .step = quadratic_step,
              .jvp = quadratic_jvp,
              .vjp = quadratic_vjp,
              .energy = quadratic_energy,
              .log_abs_det = quadratic_log_abs_det,
              .clone = quadratic_clone,
              .fini = quadratic_fini},
     .params = {{"eta", 0.1, "step size"}},
     .n_params = 1,
     .build = quadratic_build,
     .list = "lambda"},
    {.kind = {.name = "coupled-logistic",
              .formula = "ring: (1-eps) f(x_i) + (eps/2)(f(x_{i-1}) + f(x_{i+1})), f = r x(1-x)",
              .step = ring_step,
              .jvp = ring_jvp,
              .vjp = ring_vjp,
              .log_abs_det = ring_log_abs_det,
              .clone = ring_clone,
              .fini = free_data},
     .params = {{"r", 4.0, "growth rate"}, {"eps", 0.3, "coupling"}, {"n", 8.0, "number of sites"}},
     .n_params = 3,
     .build = ring_build},
};

const size_t dyn_classical_sized_count = sizeof dyn_classical_sized / sizeof dyn_classical_sized[0];
