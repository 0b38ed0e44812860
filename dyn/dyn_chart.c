/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_chart.h"

#include "kernels/kern_size.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const dyn_param own_params[DYN_CHART_PARAMS] = {
    {"rate", 1.0, "factor on eta/sigma, 1 is the map's own"},
    {"sigma_scale", 1.0, "factor on the pinned scales"},
};

/* What the map owns. The kind is its own, since name and energy depend on the map inside. */
typedef struct chart {
    dyn_map_kind kind;
    dyn_map *inner;    /* owned */
    dyn_param *params; /* descriptions, own and inner's */
    double *pinned;    /* block_count: σ as given */
    double *sigma;     /* block_count: times sigma_scale */
    double *length;    /* block_count: root mean square of the argument's blocks */
    double *stretch;   /* block_count: of the image's blocks before they are normalised */
    double *direction; /* size: the argument normalised */
    double *state;     /* size: σ times it */
    double *image;     /* size */
    double *tangent;   /* size, of vjp */
    double *product;   /* size, of vjp */
    double *several;   /* MANY × size: tangents taken at a time */
} chart;

/* Tangents that go into the map inside at a time. */
enum { MANY = 4 * DYN_MAP_GROUP };

/* ---- Normalising one block ------------------------------------------------------------------
 */

size_t dyn_gauge_count(dyn_gauge gauge)
{
    return (size_t)gauge;
}

static double find_mean(const double *x, size_t w)
{
    double sum = 0.0;
    for (size_t i = 0; i < w; i++) {
        sum += x[i];
    }
    return sum / (double)w;
}

/* Root mean square of a block, about its mean where that is gauge; *mean is what was taken off. */
static double find_scale(dyn_gauge gauge, size_t w, const double *x, double *mean)
{
    double square = 0.0;
    *mean = gauge == DYN_GAUGE_SCALE_SHIFT ? find_mean(x, w) : 0.0;
    for (size_t i = 0; i < w; i++) {
        square += (x[i] - *mean) * (x[i] - *mean);
    }
    return gauge == DYN_GAUGE_NONE ? 1.0 : sqrt(square / (double)w);
}

/* z = N(x) of a block of w numbers; returns its scale. z may be x. */
static double normalise(dyn_gauge gauge, size_t w, const double *x, double *z)
{
    double mean;
    const double scale = find_scale(gauge, w, x, &mean);
    for (size_t i = 0; i < w; i++) {
        z[i] = (x[i] - mean) / scale;
    }
    return scale;
}

/* to = N'(x) v = (v − mean − z (z·v)/w)/rms for z = N(x), which is symmetric. `to` may be v. */
static void apply_slope(dyn_gauge gauge, size_t w, const double *z, double rms, const double *v,
                        double *to)
{
    const double mean = gauge == DYN_GAUGE_SCALE_SHIFT ? find_mean(v, w) : 0.0;
    double along = 0.0;
    for (size_t i = 0; i < w; i++) {
        along += z[i] * v[i];
    }
    along /= (double)w;
    for (size_t i = 0; i < w; i++) {
        to[i] = (v[i] - mean - z[i] * along) / rms;
    }
}

/* ---- The map's functions ---------------------------------------------------------------------
 */

/* Sets the inner map's parameters and the scales. */
static chart *follow_params(const dyn_map *map)
{
    chart *c = map->data;
    if (c->inner->n_params > 0) {
        memcpy(c->inner->params, map->params + DYN_CHART_PARAMS,
               c->inner->n_params * sizeof *map->params);
    }
    for (size_t a = 0; a < map->block_count; a++) {
        c->sigma[a] = map->params[DYN_CHART_SIGMA_SCALE] * c->pinned[a];
    }
    return c;
}

/* Argument, direction and state. */
static chart *enter(dyn_map *map, const double *z)
{
    chart *c = follow_params(map);
    const size_t w = map->block_width;
    for (size_t a = 0; a < map->block_count; a++) {
        c->length[a] = normalise(c->inner->gauge, w, z + a * w, c->direction + a * w);
    }
    dyn_chart_join(map, c->direction, c->sigma, c->state);
    return c;
}

/* to = from + r (to − from) for n numbers. */
static void stretch_update(double r, size_t n, const double *from, double *to)
{
    for (size_t i = 0; i < n && r != 1.0; i++) {
        to[i] = from[i] + r * (to[i] - from[i]);
    }
}

/* The image before and after it is normalised: `image` becomes N of itself. */
static void leave(dyn_map *map, chart *c)
{
    const size_t w = map->block_width;
    stretch_update(map->params[DYN_CHART_RATE], map->size, c->state, c->image);
    for (size_t a = 0; a < map->block_count; a++) {
        double *block = c->image + a * w;
        c->stretch[a] = normalise(c->inner->gauge, w, block, block);
    }
}

static void step(dyn_map *map, const double *z, double *y)
{
    chart *c = enter(map, z);
    c->inner->kind->step(c->inner, c->state, c->image);
    leave(map, c);
    memcpy(y, c->image, map->size * sizeof *y);
}

/* to_A = factor_A · N'(·) v_A, with normalised blocks `z` and their lengths. */
static void apply_slopes(const dyn_map *map, const double *z, const double *length,
                         const double *factor, const double *v, double *to)
{
    const chart *c = map->data;
    const size_t w = map->block_width;
    for (size_t a = 0; a < map->block_count; a++) {
        const double over = factor != NULL ? length[a] / factor[a] : length[a];
        apply_slope(c->inner->gauge, w, z + a * w, over, v + a * w, to + a * w);
    }
}

/* A call of the map inside for k tangents at its state, in place, with the image unless NULL. */
typedef void push_call(chart *c, size_t k, double *tangents, double *image);

static void push_one(chart *c, size_t k, double *tangents, double *image)
{
    (void)k;
    c->inner->kind->jvp(c->inner, c->state, tangents, image, tangents);
}

static void push_many(chart *c, size_t k, double *tangents, double *image)
{
    c->inner->kind->jvp_many(c->inner, c->state, k, tangents, image, tangents);
}

static void push_blocks(chart *c, size_t k, double *tangents, double *image)
{
    c->inner->kind->jvp_blocks(c->inner, c->state, k, tangents, image, tangents);
}

/* Products of up to MANY tangents: N′ (1 − r + r J) σ N′ v, the second N′ at the argument. The
 * first call at a state finds the image too, which the outer N′ needs. Normalising acts on each
 * block for itself, so what holds for J holds for its diagonal blocks. */
static void push(dyn_map *map, push_call *inner, bool first, size_t k, const double *v, double *jv)
{
    chart *c = map->data;
    const size_t n = map->size;
    for (size_t i = 0; i < k; i++) {
        apply_slopes(map, c->direction, c->length, c->sigma, v + i * n, c->several + i * n);
    }
    memcpy(jv, c->several, k * n * sizeof *jv);
    inner(c, k, c->several, first ? c->image : NULL);
    stretch_update(map->params[DYN_CHART_RATE], k * n, jv, c->several);
    if (first) {
        leave(map, c);
    }
    for (size_t i = 0; i < k; i++) {
        apply_slopes(map, c->image, c->stretch, NULL, c->several + i * n, jv + i * n);
    }
}

static void push_all(dyn_map *map, push_call *inner, const double *z, size_t k, const double *v,
                     double *y, double *jv)
{
    const size_t n = map->size;
    chart *c = enter(map, z);
    for (size_t first = 0; first < k; first += MANY) {
        const size_t count = kern_size_min(MANY, k - first);
        push(map, inner, first == 0, count, v + first * n, jv + first * n);
    }
    if (y != NULL && k > 0) {
        memcpy(y, c->image, n * sizeof *y);
    } else if (y != NULL) {
        step(map, z, y);
    }
}

static void jvp(dyn_map *map, const double *z, const double *v, double *y, double *jv)
{
    push_all(map, push_one, z, 1, v, y, jv);
}

static void jvp_many(dyn_map *map, const double *z, size_t k, const double *v, double *y,
                     double *jv)
{
    push_all(map, push_many, z, k, v, y, jv);
}

static void jvp_blocks(dyn_map *map, const double *z, size_t k, const double *v, double *y,
                       double *jv)
{
    push_all(map, push_blocks, z, k, v, y, jv);
}

static void vjp(dyn_map *map, const double *z, const double *w, double *jtw)
{
    chart *c = enter(map, z);
    c->inner->kind->step(c->inner, c->state, c->image);
    leave(map, c);
    apply_slopes(map, c->image, c->stretch, NULL, w, c->tangent);
    c->inner->kind->vjp(c->inner, c->state, c->tangent, c->product);
    stretch_update(map->params[DYN_CHART_RATE], map->size, c->tangent, c->product);
    apply_slopes(map, c->direction, c->length, c->sigma, c->product, jtw);
}

static double energy(dyn_map *map, const double *z)
{
    chart *c = enter(map, z);
    return c->inner->kind->energy(c->inner, c->state);
}

static void block_energies(dyn_map *map, const double *z, double *energies)
{
    chart *c = enter(map, z);
    c->inner->kind->block_energies(c->inner, c->state, energies);
}

/* ---- Construction ----------------------------------------------------------------------------
 */

static void destroy_data(chart *c)
{
    if (c != NULL) {
        dyn_map_destroy(c->inner);
        free(c->params);
        free(c->pinned);
        free(c);
    }
}

static void fini(dyn_map *map)
{
    destroy_data(map->data);
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    const chart *c = map->data;
    KERN_TRY(dyn_chart_create(out, c->inner, map->start, c->pinned, err));
    memcpy((*out)->start, map->start, map->size * sizeof *map->start);
    memcpy((*out)->params, map->params, map->n_params * sizeof *map->params);
    return KERN_OK;
}

static kern_status reserve(chart *c, const dyn_map *inner, kern_error *err)
{
    const size_t n = inner->size;
    const size_t blocks = inner->block_count;
    const size_t many = inner->kind->jvp_many != NULL || inner->kind->jvp_blocks != NULL ? MANY : 1;
    if (n > SIZE_MAX / ((9 + MANY) * sizeof(double))) {
        return kern_raise(err, KERN_OVERFLOW, "a map of %zu numbers is too large", n);
    }
    c->params = calloc(DYN_CHART_PARAMS + inner->n_params, sizeof *c->params);
    c->pinned = calloc((5 + many) * n + 4 * blocks, sizeof *c->pinned);
    if (c->params == NULL || c->pinned == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a chart of %zu numbers", n);
    }
    c->sigma = c->pinned + blocks;
    c->length = c->sigma + blocks;
    c->stretch = c->length + blocks;
    c->direction = c->stretch + blocks;
    c->state = c->direction + n;
    c->image = c->state + n;
    c->tangent = c->image + n;
    c->product = c->tangent + n;
    c->several = c->product + n;
    return KERN_OK;
}

static kern_status build(chart *c, const dyn_map *inner, kern_error *err)
{
    const dyn_map_kind *kind = inner->kind;
    c->kind = (dyn_map_kind){.name = kind->name,
                             .formula = "the map on directions, scales pinned",
                             .step = step,
                             .jvp = jvp,
                             .jvp_many = kind->jvp_many != NULL ? jvp_many : NULL,
                             .jvp_blocks = kind->jvp_blocks != NULL ? jvp_blocks : NULL,
                             .vjp = kind->vjp != NULL ? vjp : NULL,
                             .energy = kind->energy != NULL ? energy : NULL,
                             .block_energies = kind->block_energies != NULL ? block_energies : NULL,
                             .clone = clone,
                             .fini = fini};
    KERN_TRY(reserve(c, inner, err));
    KERN_TRY(kind->clone(&c->inner, inner, err));
    /* The name may be the map's own, and it is the clone that lives as long as this one. */
    c->kind.name = c->inner->kind->name;
    return KERN_OK;
}

static kern_status wrap(dyn_map **out, chart *c, kern_error *err)
{
    const dyn_map *inner = c->inner;
    memcpy(c->params, own_params, sizeof own_params);
    for (size_t i = 0; i < inner->n_params; i++) {
        c->params[DYN_CHART_PARAMS + i] = inner->param_info[i];
    }
    KERN_TRY(dyn_map_create(out, &c->kind, inner->size, c->params,
                            DYN_CHART_PARAMS + inner->n_params, err));
    dyn_map *map = *out;
    for (size_t i = 0; i < inner->n_params; i++) {
        map->params[DYN_CHART_PARAMS + i] = inner->params[i];
    }
    map->block_count = inner->block_count;
    map->block_width = inner->block_width;
    map->block_zeros = dyn_gauge_count(inner->gauge);
    map->n_fixed = inner->n_fixed;
    map->approximate_jvp = inner->approximate_jvp;
    map->data = c;
    return KERN_OK;
}

/* Scales and start, from the state and the scales given. */
static kern_status pin(dyn_map *map, const double *x, const double *sigma, kern_error *err)
{
    chart *c = map->data;
    dyn_chart_split(c->inner, x, map->start, c->pinned);
    if (sigma != NULL) {
        memcpy(c->pinned, sigma, map->block_count * sizeof *sigma);
    }
    for (size_t a = 0; a < map->block_count; a++) {
        if (!(c->pinned[a] > 0.0) || !isfinite(c->pinned[a]) ||
            !isfinite(map->start[a * map->block_width])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "block %zu has scale %g; accepted is a state whose blocks have a "
                              "direction, and scales that are finite and more than 0",
                              a, c->pinned[a]);
        }
    }
    return KERN_OK;
}

kern_status dyn_chart_create(dyn_map **out, const dyn_map *inner, const double *x,
                             const double *sigma, kern_error *err)
{
    *out = NULL;
    if (inner->gauge == DYN_GAUGE_NONE) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "map %s has no norm, so it has no chart; accepted are maps whose update "
                          "depends on directions",
                          inner->kind->name);
    }
    chart *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a chart");
    }
    kern_status status = build(c, inner, err);
    if (status == KERN_OK) {
        status = wrap(out, c, err);
    }
    if (status != KERN_OK) {
        destroy_data(c);
        return status;
    }
    status = pin(*out, x != NULL ? x : inner->start, sigma, err);
    if (status != KERN_OK) {
        dyn_map_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* ---- In and out of the chart -----------------------------------------------------------------
 */

void dyn_chart_split(const dyn_map *map, const double *x, double *z, double *sigma)
{
    const size_t w = map->block_width;
    for (size_t a = 0; a < map->block_count; a++) {
        double mean;
        const double scale = z != NULL ? normalise(map->gauge, w, x + a * w, z + a * w)
                                       : find_scale(map->gauge, w, x + a * w, &mean);
        if (sigma != NULL) {
            sigma[a] = scale;
        }
    }
}

void dyn_chart_join(const dyn_map *map, const double *z, const double *sigma, double *x)
{
    const size_t w = map->block_width;
    for (size_t i = 0; i < map->size; i++) {
        x[i] = sigma[i / w] * z[i];
    }
}

bool dyn_chart_is(const dyn_map *map)
{
    return map->kind->step == step;
}

const double *dyn_chart_sigma(const dyn_map *map)
{
    return follow_params(map)->sigma;
}

dyn_map *dyn_chart_inner(const dyn_map *map)
{
    return follow_params(map)->inner;
}

/* ---- At a relative equilibrium ---------------------------------------------------------------
 */

void dyn_chart_update(dyn_map *map, const double *z, double *radial, double *tangential,
                      double *work)
{
    const chart *c = enter(map, z);
    const size_t w = map->block_width;
    double *rest = work;
    c->inner->kind->step(c->inner, c->state, c->image);
    for (size_t a = 0; a < map->block_count; a++) {
        const double *direction = c->direction + a * w;
        double along = 0.0;
        double square = 0.0;
        for (size_t i = 0; i < w; i++) {
            rest[i] = c->image[a * w + i] - c->state[a * w + i];
            along += rest[i] * direction[i];
        }
        apply_slope(c->inner->gauge, w, direction, 1.0, rest, rest);
        for (size_t i = 0; i < w; i++) {
            square += rest[i] * rest[i];
        }
        radial[a] = along / (double)w;
        tangential[a] = sqrt(square / (double)w);
    }
}
