/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_token.h"

#include "dyn/dyn_chart.h"
#include "dyn/dyn_frozen.h"
#include "models/model_dynamics.h"
#include "models/model_token.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- A map that ends -------------------------------------------------------------------------
 */

/* Passes every call on until it is cancelled. The kind is its own, since it depends on the map
 * inside. */
typedef struct guard {
    dyn_map_kind kind;
    dyn_map *inner; /* owned */
    view_cancelled *cancelled;
    void *context;
} guard;

/* NULL, and n numbers of y NaN, once cancelled; else the map inside with this one's parameters. */
static dyn_map *enter(dyn_map *map, size_t n, double *y)
{
    const guard *g = map->data;
    if (g->cancelled != NULL && g->cancelled(g->context)) {
        for (size_t i = 0; y != NULL && i < n; i++) {
            y[i] = (double)NAN;
        }
        return NULL;
    }
    if (map->n_params > 0) {
        memcpy(g->inner->params, map->params, map->n_params * sizeof *map->params);
    }
    return g->inner;
}

static void step(dyn_map *map, const double *x, double *y)
{
    dyn_map *inner = enter(map, map->size, y);
    if (inner != NULL) {
        inner->kind->step(inner, x, y);
    }
}

static void jvp_many(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                     double *jv)
{
    dyn_map *inner = enter(map, k * map->size, jv);
    if (inner != NULL) {
        dyn_map_jvp_many(inner, x, k, v, y, jv);
    } else if (y != NULL) {
        (void)enter(map, map->size, y);
    }
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    jvp_many(map, x, 1, v, y, jv);
}

static void jvp_blocks(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                       double *jv)
{
    dyn_map *inner = enter(map, k * map->size, jv);
    if (inner != NULL) {
        inner->kind->jvp_blocks(inner, x, k, v, y, jv);
    } else if (y != NULL) {
        (void)enter(map, map->size, y);
    }
}

static void fini(dyn_map *map)
{
    guard *g = map->data;
    if (g != NULL) {
        dyn_map_destroy(g->inner);
        free(g);
    }
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err);

static dyn_map_kind guard_kind(const dyn_map *inner)
{
    dyn_map_kind kind = {.name = inner->kind->name,
                         .formula = inner->kind->formula,
                         .step = step,
                         .jvp = jvp,
                         .jvp_many = jvp_many,
                         .clone = clone,
                         .fini = fini};
    if (inner->block_count == 1) {
        kind.jvp_blocks = jvp_many;
    } else if (inner->kind->jvp_blocks != NULL) {
        kind.jvp_blocks = jvp_blocks;
    }
    return kind;
}

/* A guard around `inner`, which it owns from then on, also when it fails. */
static kern_status guard_create(dyn_map **out, dyn_map *inner, view_cancelled *cancelled,
                                void *context, kern_error *err)
{
    guard *g = malloc(sizeof *g);
    kern_status status =
        g != NULL ? KERN_OK : kern_raise(err, KERN_NO_MEMORY, "no memory for a map");
    *out = NULL;
    if (status == KERN_OK) {
        *g = (guard){
            .kind = guard_kind(inner), .inner = inner, .cancelled = cancelled, .context = context};
        status =
            dyn_map_create(out, &g->kind, inner->size, inner->param_info, inner->n_params, err);
    }
    if (status != KERN_OK) {
        free(g);
        dyn_map_destroy(inner);
        return status;
    }
    dyn_map *map = *out;
    map->data = g;
    map->block_count = inner->block_count;
    map->block_width = inner->block_width;
    map->gauge = inner->gauge;
    map->n_fixed = inner->n_fixed;
    map->approximate_jvp = inner->approximate_jvp;
    memcpy(map->start, inner->start, inner->size * sizeof *map->start);
    if (inner->n_params > 0) {
        memcpy(map->params, inner->params, inner->n_params * sizeof *map->params);
    }
    return KERN_OK;
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    const guard *g = map->data;
    dyn_map *inner = NULL;
    *out = NULL;
    KERN_TRY(g->inner->kind->clone(&inner, g->inner, err));
    KERN_TRY(guard_create(out, inner, g->cancelled, g->context, err));
    memcpy((*out)->start, map->start, map->size * sizeof *map->start);
    if (map->n_params > 0) {
        memcpy((*out)->params, map->params, map->n_params * sizeof *map->params);
    }
    return KERN_OK;
}

/* ---- The token ------------------------------------------------------------------------------- */

/* Scales after the trained number of steps, where they are pinned: of the map's blocks. */
static kern_status find_sigma(view_token *t, kern_error *err)
{
    const dyn_map *whole = t->landscape->subject->map;
    dyn_map *own = NULL;
    double *x = calloc(whole->size + whole->block_count, sizeof *x);
    if (x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", whole->size);
    }
    const kern_status status = whole->kind->clone(&own, whole, err);
    if (status == KERN_OK) {
        model_dynamics_trained_state(own, x);
        dyn_chart_split(own, x, NULL, x + whole->size);
        memcpy(t->sigma, x + whole->size + (t->whole ? 0 : t->index),
               t->map->block_count * sizeof *t->sigma);
    }
    dyn_map_destroy(own);
    free(x);
    return status;
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum / (double)n;
}

/* The chart of the map, in its place. */
static kern_status make_chart(view_token *t, kern_error *err)
{
    dyn_map *chart = NULL;
    const size_t w = t->map->block_width;
    KERN_TRY(find_sigma(t, err));
    for (size_t i = 0; t->map->gauge == DYN_GAUGE_SCALE_SHIFT && i < t->map->block_count; i++) {
        t->mean[i] = mean_of(t->map->start + i * w, w);
    }
    KERN_TRY(dyn_chart_create(&chart, t->map, NULL, t->sigma, err));
    dyn_map_destroy(t->map);
    t->map = chart;
    t->chart = true;
    return KERN_OK;
}

static kern_status reserve(view_token *t, kern_error *err)
{
    const size_t n = t->map->block_count;
    t->sigma = calloc(2 * n, sizeof *t->sigma);
    if (t->sigma == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu scales", n);
    }
    t->mean = t->sigma + n;
    for (size_t i = 0; i < n; i++) {
        t->sigma[i] = 1.0;
    }
    return KERN_OK;
}

/* The feed-forward part of a layer sees every token for itself, so that a token is a prompt of its
 * own. */
static kern_status make_row(dyn_map **out, const view_token *t, const double *centre,
                            kern_error *err)
{
    const view_subject *s = t->landscape->subject;
    const size_t first = t->index * s->map->block_width;
    KERN_TRY(model_layer_map_create_at(out, s->run.m, s->layer, s->part, s->h + first, 1, err));
    memcpy((*out)->start, centre + first, s->map->block_width * sizeof *centre);
    return KERN_OK;
}

/* The map inside the guard: where there is one, that of a token at the cost of a token. */
static kern_status make_inner(dyn_map **out, const view_token *t, kern_error *err)
{
    const view_subject *subject = t->landscape->subject;
    const dyn_map *whole = subject->map;
    const double *centre = t->landscape->plane->centre;
    const model *m = subject->run.m;
    if (!t->whole && m != NULL && m->config.family == MODEL_NRGPT) {
        return model_token_create(out, m, centre, t->index, err);
    }
    if (!t->whole && subject->h != NULL && subject->part == MODEL_LAYER_FFN) {
        return make_row(out, t, centre, err);
    }
    if (!t->whole) {
        return dyn_frozen_create(out, whole, t->index, centre, err);
    }
    KERN_TRY(whole->kind->clone(out, whole, err));
    memcpy((*out)->start, centre, whole->size * sizeof *centre);
    return KERN_OK;
}

kern_status view_token_init(view_token *token, const view_landscape *landscape, view_extent extent,
                            view_cancelled *cancelled, void *context, kern_error *err)
{
    const dyn_map *whole = landscape->subject->map;
    dyn_map *inner = NULL;
    *token = (view_token){.landscape = landscape,
                          .index = landscape->token == MODEL_SLICE_SUM ? whole->block_count - 1
                                                                       : landscape->token,
                          .whole = extent == VIEW_TOKENS_ALL,
                          .cancelled = cancelled,
                          .context = context};
    if (token->whole && landscape->settings.n_held > 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "held has %zu; what follows all tokens at once holds none of them",
                          landscape->settings.held[0]);
    }
    KERN_TRY(make_inner(&inner, token, err));
    KERN_TRY(guard_create(&token->map, inner, cancelled, context, err));
    kern_status status = reserve(token, err);
    if (status == KERN_OK && whole->gauge != DYN_GAUGE_NONE) {
        status = make_chart(token, err);
    }
    if (status != KERN_OK) {
        view_token_fini(token);
    }
    return status;
}

void view_token_fini(view_token *token)
{
    dyn_map_destroy(token->map);
    free(token->sigma);
    token->map = NULL;
    token->sigma = NULL;
}

const char *view_token_rate(const view_token *token)
{
    return token->chart ? "rate" : "step_scale";
}

kern_status view_token_check(const view_token *token, kern_error *err)
{
    return token->cancelled != NULL && token->cancelled(token->context)
               ? kern_raise(err, KERN_INTERRUPTED, "the analysis of token %zu is not wanted",
                            token->index)
               : KERN_OK;
}

void view_token_leave(const view_token *token, const double *z, double *x)
{
    const size_t w = token->map->block_width;
    for (size_t i = 0; i < token->map->size; i++) {
        x[i] = token->sigma[i / w] * z[i] + token->mean[i / w];
    }
}

void view_token_enter(const view_token *token, const double *x, double *z)
{
    if (token->chart) {
        dyn_chart_split(dyn_chart_inner(token->map), x, z, NULL);
    } else if (z != x) {
        memcpy(z, x, token->map->size * sizeof *z);
    }
}
