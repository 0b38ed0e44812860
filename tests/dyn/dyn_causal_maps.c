/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/dyn/dyn_causal_maps.h"

#include <math.h>
#include <string.h>

const double causal_spectrum[CAUSAL_TOKENS][CAUSAL_WIDTH] = {{0.4, 2.0, 1.1, 0.3, -0.7, -5.0},
                                                             {0.1, 0.5, 0.9, -4.0, -9.0, 0.2},
                                                             {-0.2, 0.3, -1.5, -1.5, -2.5, 0.6}};
const double causal_pull = 1.5;
const double causal_twist = 4.0;

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    return dyn_map_create_like(out, map, err);
}

/* ---- Behind a norm ------------------------------------------------------------------------ */

void causal_basis(size_t j, double *q)
{
    const double w = CAUSAL_WIDTH;
    for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
        const double angle = 3.14159265358979323846 * ((double)i + 0.5) * (double)j / w;
        q[i] = j == 0 ? 1.0 / sqrt(w) : sqrt(2.0 / w) * cos(angle);
    }
}

/* g = N(x); returns the denominator. */
static double normalise(const double *x, double *g)
{
    double mean = 0.0;
    double square = 0.0;
    for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
        mean += x[i] / CAUSAL_WIDTH;
    }
    for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
        g[i] = x[i] - mean;
        square += g[i] * g[i] / CAUSAL_WIDTH;
    }
    for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
        g[i] /= sqrt(square);
    }
    return sqrt(square);
}

/* dg = N'(x) v. */
static void slope(const double *g, double scale, const double *v, double *dg)
{
    double mean = 0.0;
    double along = 0.0;
    for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
        mean += v[i] / CAUSAL_WIDTH;
        along += v[i] * g[i] / CAUSAL_WIDTH;
    }
    for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
        dg[i] = (v[i] - mean - along * g[i]) / scale;
    }
}

static double dot(const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* to += eta W_A g, or its transpose. */
static void add_own(size_t token, double eta, bool transposed, const double *g, double *to)
{
    for (size_t j = 0; j < CAUSAL_WIDTH; j++) {
        double q[CAUSAL_WIDTH], r[CAUSAL_WIDTH];
        const size_t partner = j == 2 ? 3 : 2;
        double twist = token == 2 && (j == 2 || j == 3) ? causal_twist : 0.0;
        twist = (j == 2) == transposed ? twist : -twist;
        causal_basis(j, q);
        causal_basis(partner, r);
        const double part = causal_spectrum[token][j] * dot(q, g) + twist * dot(r, g);
        for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
            to[i] += eta * part * q[i];
        }
    }
}

static void norm_step(dyn_map *map, const double *x, double *y)
{
    double g[CAUSAL_TOKENS][CAUSAL_WIDTH];
    const double eta = map->params[0];
    for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
        (void)normalise(x + a * CAUSAL_WIDTH, g[a]);
    }
    memmove(y, x, map->size * sizeof *y);
    for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
        double *own = y + a * CAUSAL_WIDTH;
        add_own(a, eta, false, g[a], own);
        for (size_t i = 0; a > 0 && i < CAUSAL_WIDTH; i++) {
            own[i] += eta * causal_pull * dot(g[a - 1], g[a]) / CAUSAL_WIDTH * g[a - 1][i];
        }
    }
}

static void norm_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    double g[CAUSAL_TOKENS][CAUSAL_WIDTH], dg[CAUSAL_TOKENS][CAUSAL_WIDTH];
    const double eta = map->params[0];
    const double pull = eta * causal_pull / CAUSAL_WIDTH;
    for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
        const double scale = normalise(x + a * CAUSAL_WIDTH, g[a]);
        slope(g[a], scale, v + a * CAUSAL_WIDTH, dg[a]);
    }
    memmove(jv, v, map->size * sizeof *jv);
    for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
        double *own = jv + a * CAUSAL_WIDTH;
        add_own(a, eta, false, dg[a], own);
        for (size_t i = 0; a > 0 && i < CAUSAL_WIDTH; i++) {
            own[i] += pull * ((dot(dg[a - 1], g[a]) + dot(g[a - 1], dg[a])) * g[a - 1][i] +
                              dot(g[a - 1], g[a]) * dg[a - 1][i]);
        }
    }
    if (y != NULL) {
        norm_step(map, x, y);
    }
}

/* jtw_A = w_A + N'_A (eta W_Aᵀ w_A + pull (u·w_A) u) + N'_A of what token A + 1 sends back. */
static void norm_vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    double g[CAUSAL_TOKENS][CAUSAL_WIDTH], bar[CAUSAL_TOKENS][CAUSAL_WIDTH] = {{0}};
    double scale[CAUSAL_TOKENS];
    const double eta = map->params[0];
    const double pull = eta * causal_pull / CAUSAL_WIDTH;
    for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
        scale[a] = normalise(x + a * CAUSAL_WIDTH, g[a]);
    }
    for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
        const double *own = w + a * CAUSAL_WIDTH;
        add_own(a, eta, true, own, bar[a]);
        for (size_t i = 0; a > 0 && i < CAUSAL_WIDTH; i++) {
            bar[a][i] += pull * dot(g[a - 1], own) * g[a - 1][i];
            bar[a - 1][i] += pull * (dot(g[a - 1], own) * g[a][i] + dot(g[a - 1], g[a]) * own[i]);
        }
    }
    memmove(jtw, w, map->size * sizeof *jtw);
    for (size_t a = 0; a < CAUSAL_TOKENS; a++) {
        double back[CAUSAL_WIDTH];
        slope(g[a], scale[a], bar[a], back);
        for (size_t i = 0; i < CAUSAL_WIDTH; i++) {
            jtw[a * CAUSAL_WIDTH + i] += back[i];
        }
    }
}

static void norm_jvp_many(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                          double *jv)
{
    for (size_t i = 0; i < k; i++) {
        norm_jvp(map, x, v + i * map->size, NULL, jv + i * map->size);
    }
    if (y != NULL) {
        norm_step(map, x, y);
    }
}

static const dyn_map_kind norm_kind = {.name = "causal-norm",
                                       .formula = "x + eta (W g + k (u g/w) u)",
                                       .step = norm_step,
                                       .jvp = norm_jvp,
                                       .jvp_many = norm_jvp_many,
                                       .vjp = norm_vjp,
                                       .clone = clone};

/* ---- Without a norm ----------------------------------------------------------------------- */

static void pair_step(dyn_map *map, const double *x, double *y)
{
    const double next[] = {map->params[0] * x[0] * (1.0 - x[1]), x[0], 0.3 * x[2] + x[0],
                           -0.5 * x[3] + x[2] * x[0]};
    memcpy(y, next, sizeof next);
}

static void pair_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double r = map->params[0];
    const double next[] = {r * v[0] * (1.0 - x[1]) - r * x[0] * v[1], v[0], 0.3 * v[2] + v[0],
                           -0.5 * v[3] + v[2] * x[0] + x[2] * v[0]};
    memcpy(jv, next, sizeof next);
    if (y != NULL) {
        pair_step(map, x, y);
    }
}

static void fold_step(dyn_map *map, const double *x, double *y)
{
    const double r = map->params[0];
    const double next[] = {r * x[0] * (1.0 - x[0]), x[1] + 0.25 * (5.0 - r) - x[1] * x[1],
                           0.5 * x[2] + x[0] + x[1]};
    memcpy(y, next, sizeof next);
}

static void fold_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const double r = map->params[0];
    const double next[] = {r * (1.0 - 2.0 * x[0]) * v[0], (1.0 - 2.0 * x[1]) * v[1],
                           0.5 * v[2] + v[0] + v[1]};
    memcpy(jv, next, sizeof next);
    if (y != NULL) {
        fold_step(map, x, y);
    }
}

static const dyn_map_kind pair_kind = {.name = "causal-pair",
                                       .formula = "two blocks of two",
                                       .step = pair_step,
                                       .jvp = pair_jvp,
                                       .clone = clone};
static const dyn_map_kind fold_kind = {.name = "causal-fold",
                                       .formula = "three blocks of one",
                                       .step = fold_step,
                                       .jvp = fold_jvp,
                                       .clone = clone};

static dyn_map *make(const dyn_map_kind *kind, size_t blocks, size_t width, const dyn_param *param)
{
    dyn_map *map = NULL;
    if (dyn_map_create(&map, kind, blocks * width, param, 1, NULL) == KERN_OK) {
        map->block_count = blocks;
        map->block_width = width;
    }
    return map;
}

dyn_map *causal_norm_map(void)
{
    static const dyn_param param = {"eta", 1.0, "step size"};
    dyn_map *map = make(&norm_kind, CAUSAL_TOKENS, CAUSAL_WIDTH, &param);
    map->gauge = DYN_GAUGE_SCALE_SHIFT;
    for (size_t i = 0; i < map->size; i++) {
        double q[CAUSAL_WIDTH];
        causal_basis(1, q);
        map->start[i] = 3.0 * q[i % CAUSAL_WIDTH] + 0.7 * sin(2.0 + 3.0 * (double)i);
    }
    return map;
}

dyn_map *causal_pair_map(void)
{
    static const dyn_param param = {"r", 1.5, "of the delayed logistic block"};
    dyn_map *map = make(&pair_kind, 2, 2, &param);
    map->start[0] = map->start[1] = 0.3;
    return map;
}

dyn_map *causal_fold_map(void)
{
    static const dyn_param param = {"r", 2.5, "of the logistic block"};
    dyn_map *map = make(&fold_kind, 3, 1, &param);
    map->start[0] = 0.5;
    map->start[1] = 1.0;
    return map;
}
