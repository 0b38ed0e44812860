/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_depth.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"
#include "models/model_layer_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tangents of one kind: `count` states of tokens × D. */
typedef struct bundle {
    size_t count;
    bool angular;
    double *v;
} bundle;

typedef struct depth_run {
    const model *m;
    size_t width;
    size_t tokens;
    size_t size; /* tokens × D */
    kern_arena arena;
    double *h; /* the state in front of a part, and behind it */
    double *next;
    bundle kinds[2];
    double *rows; /* those of one token, count × D */
    double *r;    /* count × count */
    double *work; /* of an orthonormalisation */
} depth_run;

static kern_status reserve(depth_run *run, size_t m, kern_error *err)
{
    const size_t d = run->width;
    const size_t room = kern_lapack_orthonormalise_work(d, m);
    size_t states;
    size_t capacity;
    if (!kern_size_mul(2 * m + 2, run->size, &states) ||
        !kern_size_mul(states, 2 * sizeof(double), &capacity)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu tangents of %zu numbers are too many", m,
                          run->size);
    }
    KERN_TRY(kern_arena_init(
        &run->arena,
        kern_arena_cost(states, sizeof(double)) + kern_arena_cost(m * d, sizeof(double)) +
            kern_arena_cost(m * m, sizeof(double)) + kern_arena_cost(room, sizeof(double)),
        err));
    run->h = kern_arena_alloc(&run->arena, states, sizeof(double));
    run->next = run->h + run->size;
    run->kinds[0] = (bundle){.count = m, .v = run->next + run->size};
    run->kinds[1] = (bundle){
        .count = kern_size_min(m, d - 1), .angular = true, .v = run->kinds[0].v + m * run->size};
    run->rows = kern_arena_alloc(&run->arena, m * d, sizeof(double));
    run->r = kern_arena_alloc(&run->arena, m * m, sizeof(double));
    run->work = kern_arena_alloc(&run->arena, room, sizeof(double));
    return KERN_OK;
}

/* v −= ĥ (ĥ·v) and then v *= factor. */
static void project(const double *h, double size, double factor, size_t d, double *v)
{
    dyn_vector_add(v, -dyn_vector_dot(h, v, d) / (size * size), h, d);
    for (size_t i = 0; i < d; i++) {
        v[i] *= factor;
    }
}

/* Makes the tangents of token `a` orthonormal, and adds `share` of ln R_ii to sums unless NULL. */
static kern_status orthonormalise(depth_run *run, const bundle *t, size_t a, double share,
                                  double *sums, kern_error *err)
{
    const size_t d = run->width;
    for (size_t i = 0; i < t->count; i++) {
        memcpy(run->rows + i * d, t->v + i * run->size + a * d, d * sizeof *run->rows);
    }
    KERN_TRY(kern_lapack_orthonormalise(d, t->count, run->rows, run->r, run->work, err));
    for (size_t i = 0; i < t->count; i++) {
        memcpy(t->v + i * run->size + a * d, run->rows + i * d, d * sizeof *run->rows);
        if (sums != NULL) {
            sums[i] += share * log(run->r[i * t->count + i]);
        }
    }
    return KERN_OK;
}

/* Random directions of every token, across its state for the angular kind. */
static kern_status start_tangents(depth_run *run, uint64_t seed, kern_error *err)
{
    const size_t d = run->width;
    for (size_t kind = 0; kind < 2; kind++) {
        bundle *t = &run->kinds[kind];
        kern_rng *rng = kern_rng_create(seed, "depth", kind);
        if (rng == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for random numbers");
        }
        for (size_t i = 0; i < t->count * run->size; i++) {
            t->v[i] = kern_rng_normal(rng);
        }
        kern_rng_destroy(rng);
        for (size_t a = 0; a < run->tokens; a++) {
            const double *h = run->h + a * d;
            for (size_t i = 0; t->angular && i < t->count; i++) {
                project(h, dyn_vector_norm(h, d), 1.0, d, t->v + i * run->size + a * d);
            }
            KERN_TRY(orthonormalise(run, t, a, 0, NULL, err));
        }
    }
    return KERN_OK;
}

/* Takes the tangents of one kind through a part from run->h to run->next. */
static kern_status push(depth_run *run, model_map *part, const bundle *t, double *sums,
                        kern_error *err)
{
    const size_t d = run->width;
    model_map_jvp_many(part, run->h, t->count, t->v, true, NULL, t->v);
    for (size_t a = 0; a < run->tokens; a++) {
        const double before = dyn_vector_norm(run->h + a * d, d);
        const double after = dyn_vector_norm(run->next + a * d, d);
        for (size_t i = 0; t->angular && i < t->count; i++) {
            project(run->next + a * d, after, before / after, d, t->v + i * run->size + a * d);
        }
        KERN_TRY(orthonormalise(run, t, a, 1.0 / (double)run->tokens, sums, err));
    }
    return KERN_OK;
}

static kern_status follow_part(depth_run *run, size_t n, model_depth *out, kern_error *err)
{
    const size_t d = run->width;
    model_map *part = NULL;
    KERN_TRY(model__layer_part(&part, run->m, n / MODEL_LAYER_PARTS,
                               (model_layer_part)(n % MODEL_LAYER_PARTS), run->tokens, err));
    model_map_step(part, run->h, run->next);
    kern_status status = push(run, part, &run->kinds[0], out->exponents + n * out->tangents, err);
    if (status == KERN_OK) {
        status = push(run, part, &run->kinds[1], out->angular + n * out->angular_tangents, err);
    }
    model_map_destroy(part);
    for (size_t a = 0; a < run->tokens; a++) {
        out->growth[n] +=
            log(dyn_vector_norm(run->next + a * d, d) / dyn_vector_norm(run->h + a * d, d)) /
            (double)run->tokens;
    }
    memcpy(run->h, run->next, run->size * sizeof *run->h);
    return status;
}

static kern_status reserve_result(model_depth *out, const model *m, size_t tangents,
                                  kern_error *err)
{
    const size_t parts = MODEL_LAYER_PARTS * m->config.n_layer;
    *out = (model_depth){.parts = parts,
                         .tangents = tangents,
                         .angular_tangents = kern_size_min(tangents, m->config.n_embed - 1)};
    out->exponents = calloc(parts * tangents, sizeof(double));
    out->angular = calloc(parts * out->angular_tangents + 1, sizeof(double));
    out->growth = calloc(parts, sizeof(double));
    if (out->exponents == NULL || out->angular == NULL || out->growth == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for exponents of %zu parts", parts);
    }
    return KERN_OK;
}

static kern_status follow(depth_run *run, const int32_t *ids, uint64_t seed, model_depth *out,
                          kern_error *err)
{
    KERN_TRY(reserve(run, out->tangents, err));
    KERN_TRY(model_layer_input(run->m, 0, MODEL_LAYER_ATTN, ids, run->tokens, run->h, err));
    KERN_TRY(start_tangents(run, seed, err));
    for (size_t n = 0; n < out->parts; n++) {
        KERN_TRY(follow_part(run, n, out, err));
    }
    return KERN_OK;
}

kern_status model_depth_init(model_depth *out, const model *m, const int32_t *ids, size_t tokens,
                             size_t tangents, uint64_t seed, kern_error *err)
{
    const size_t d = m->config.n_embed;
    *out = (model_depth){0};
    KERN_TRY(model__layer_check(m, 0, tokens, err));
    if (tangents < 1 || tangents > d) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu tangents are not within 1 to the model's width of %zu", tangents, d);
    }
    depth_run run = {.m = m, .width = d, .tokens = tokens, .size = tokens * d};
    kern_status status = reserve_result(out, m, tangents, err);
    if (status == KERN_OK) {
        status = follow(&run, ids, seed, out, err);
    }
    kern_arena_fini(&run.arena);
    if (status != KERN_OK) {
        model_depth_fini(out);
    }
    return status;
}

void model_depth_fini(model_depth *depth)
{
    free(depth->exponents);
    free(depth->angular);
    free(depth->growth);
    *depth = (model_depth){0};
}

double model_depth_sum(const model_depth *depth, bool angular, size_t i)
{
    const size_t m = angular ? depth->angular_tangents : depth->tangents;
    const double *numbers = angular ? depth->angular : depth->exponents;
    double sum = 0;
    for (size_t n = 0; n < depth->parts; n++) {
        sum += numbers[n * m + i];
    }
    return sum;
}
