/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_hourglass_pairs.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"
#include "models/model_hourglass_start.h"
#include "models/model_sub_private.h"

#include <stdlib.h>
#include <string.h>

/* One sub-MLP at z_0, and its bases at the state on the way. */
typedef struct pair_side {
    model_sub *sub; /* owned */
    size_t rank;    /* min(d_h, D) */
    double *f;      /* f(z_0) */
    double *after;  /* Φ(z_0) */
    double *u;      /* D × d_h and d_h × D, at z_0 */
    double *c;
    double *write; /* rank × D, orthonormal rows */
    double *read;
} pair_side;

typedef struct pair_work {
    size_t width;
    size_t k;
    pair_side *sides; /* owned */
    kern_arena arena;
    double *z;     /* z_0 */
    double *state; /* on the way */
    double *f;     /* D numbers each */
    double *gain;
    double *square; /* of an orthonormalisation */
    double *room;
} pair_work;

static void work_fini(pair_work *w)
{
    for (size_t k = 0; w->sides != NULL && k < w->k; k++) {
        model_sub_destroy(w->sides[k].sub);
    }
    free(w->sides);
    kern_arena_fini(&w->arena);
}

static kern_status reserve(pair_work *w, kern_error *err)
{
    const size_t d = w->width;
    size_t widest = 1;
    size_t capacity = 4 * kern_arena_cost(d, sizeof(double));
    for (size_t k = 0; k < w->k; k++) {
        pair_side *s = &w->sides[k];
        const size_t hidden = model_sub_hidden(s->sub);
        s->rank = kern_size_min(hidden, d);
        widest = kern_size_max(widest, s->rank);
        capacity += 2 * kern_arena_cost(d, sizeof(double)) +
                    2 * kern_arena_cost(hidden * d, sizeof(double)) +
                    2 * kern_arena_cost(s->rank * d, sizeof(double));
    }
    const size_t room = kern_lapack_orthonormalise_work(d, widest);
    capacity +=
        kern_arena_cost(widest * widest, sizeof(double)) + kern_arena_cost(room, sizeof(double));
    KERN_TRY(kern_arena_init(&w->arena, capacity, err));
    double **const vectors[] = {&w->z, &w->state, &w->f, &w->gain};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        *vectors[i] = kern_arena_alloc(&w->arena, d, sizeof(double));
    }
    w->square = kern_arena_alloc(&w->arena, widest * widest, sizeof(double));
    w->room = kern_arena_alloc(&w->arena, room, sizeof(double));
    for (size_t k = 0; k < w->k; k++) {
        pair_side *s = &w->sides[k];
        const size_t hidden = model_sub_hidden(s->sub);
        s->f = kern_arena_alloc(&w->arena, d, sizeof(double));
        s->after = kern_arena_alloc(&w->arena, d, sizeof(double));
        s->u = kern_arena_alloc(&w->arena, hidden * d, sizeof(double));
        s->c = kern_arena_alloc(&w->arena, hidden * d, sizeof(double));
        s->write = kern_arena_alloc(&w->arena, s->rank * d, sizeof(double));
        s->read = kern_arena_alloc(&w->arena, s->rank * d, sizeof(double));
    }
    return KERN_OK;
}

static kern_status work_init(pair_work *w, const model *m, size_t layer, kern_error *err)
{
    *w = (pair_work){.width = m->config.n_embed};
    KERN_TRY(model__sub_check(m, layer, 0, err));
    w->sides = calloc(m->config.hourglass.k, sizeof *w->sides);
    if (w->sides == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu sub-MLPs", m->config.hourglass.k);
    }
    w->k = m->config.hourglass.k;
    for (size_t k = 0; k < w->k; k++) {
        KERN_TRY(model_sub_create(&w->sides[k].sub, m, layer, k, err));
    }
    return reserve(w, err);
}

/* ---- one token ---------------------------------------------------------------------------------
 */

/* Orthonormal bases of what the sub-MLP writes and reads, from U and C in their places. */
static kern_status make_bases(pair_work *w, pair_side *s, kern_error *err)
{
    const size_t d = w->width;
    const size_t hidden = model_sub_hidden(s->sub);
    for (size_t i = 0; i < s->rank; i++) {
        for (size_t j = 0; j < d; j++) {
            s->write[i * d + j] = s->u[j * hidden + i];
        }
    }
    memcpy(s->read, s->c, s->rank * d * sizeof *s->read);
    KERN_TRY(kern_lapack_orthonormalise(d, s->rank, s->write, w->square, w->room, err));
    return kern_lapack_orthonormalise(d, s->rank, s->read, w->square, w->room, err);
}

/* Bases along the way first, then everything else at z_0. */
static kern_status prepare(pair_work *w, const model *m, size_t layer, const double *h,
                           kern_error *err)
{
    const size_t d = w->width;
    (void)model__hourglass_start(m, layer, h, w->gain, w->z);
    memcpy(w->state, w->z, d * sizeof *w->state);
    for (size_t k = 0; k < w->k; k++) {
        pair_side *s = &w->sides[k];
        model_sub_evaluate(s->sub, w->state, s->f, s->u, s->c);
        KERN_TRY(make_bases(w, s, err));
        if (!m->config.hourglass.parallel) {
            dyn_vector_add(w->state, 1.0, s->f, d);
        }
        model_sub_evaluate(s->sub, w->z, s->f, s->u, s->c);
        memcpy(s->after, w->z, d * sizeof *s->after);
        dyn_vector_add(s->after, 1.0, s->f, d);
    }
    return KERN_OK;
}

/* out += sign · Df v = sign · U (C v). */
static void add_derivative(const pair_side *s, const double *v, double sign, size_t d, double *out)
{
    const size_t hidden = model_sub_hidden(s->sub);
    for (size_t i = 0; i < hidden; i++) {
        const double factor = sign * dyn_vector_dot(s->c + i * d, v, d);
        for (size_t j = 0; j < d; j++) {
            out[j] += factor * s->u[j * hidden + i];
        }
    }
}

static double commutator(pair_work *w, size_t j, size_t k)
{
    const size_t d = w->width;
    memset(w->f, 0, d * sizeof *w->f);
    add_derivative(&w->sides[k], w->sides[j].f, 1.0, d, w->f);
    add_derivative(&w->sides[j], w->sides[k].f, -1.0, d, w->f);
    return dyn_vector_norm(w->f, d);
}

/* |Φ_k Φ_j z − Φ_j Φ_k z|. */
static double swap(pair_work *w, size_t j, size_t k)
{
    const size_t d = w->width;
    const pair_side *a = &w->sides[j];
    const pair_side *b = &w->sides[k];
    model_sub_evaluate(b->sub, a->after, w->f, NULL, NULL);
    memcpy(w->state, a->after, d * sizeof *w->state);
    dyn_vector_add(w->state, 1.0, w->f, d);
    model_sub_evaluate(a->sub, b->after, w->f, NULL, NULL);
    dyn_vector_add(w->state, -1.0, b->after, d);
    dyn_vector_add(w->state, -1.0, w->f, d);
    return dyn_vector_norm(w->state, d);
}

/* ‖Q Rᵀ‖_F² / min of the ranks, rows orthonormal. */
static double overlap(const double *q, size_t nq, const double *r, size_t nr, size_t d)
{
    double sum = 0;
    for (size_t i = 0; i < nq; i++) {
        for (size_t j = 0; j < nr; j++) {
            const double product = dyn_vector_dot(q + i * d, r + j * d, d);
            sum += product * product;
        }
    }
    return sum / (double)kern_size_min(nq, nr);
}

static void add_pairs(pair_work *w, double share, model_hourglass_pairs *out)
{
    const size_t d = w->width;
    for (size_t j = 0; j < w->k; j++) {
        const pair_side *a = &w->sides[j];
        for (size_t k = 0; k < w->k; k++) {
            const pair_side *b = &w->sides[k];
            const size_t at = j * w->k + k;
            const double moved = dyn_vector_norm(a->f, d) + dyn_vector_norm(b->f, d);
            out->writes[at] += share * overlap(a->write, a->rank, b->write, b->rank, d);
            out->reads[at] += share * overlap(a->write, a->rank, b->read, b->rank, d);
            if (j < k) {
                out->commutator[at] += share * commutator(w, j, k) / moved;
                out->swap[at] += share * swap(w, j, k) / moved;
                out->commutator[k * w->k + j] = out->commutator[at];
                out->swap[k * w->k + j] = out->swap[at];
            }
        }
    }
}

kern_status model_hourglass_pairs_init(model_hourglass_pairs *out, const model *m, size_t layer,
                                       const double *h, size_t tokens, kern_error *err)
{
    pair_work w;
    *out = (model_hourglass_pairs){0};
    kern_status status = work_init(&w, m, layer, err);
    const size_t area = w.k * w.k;
    if (status == KERN_OK) {
        out->k = w.k;
        out->commutator = calloc(4 * area, sizeof(double));
        if (out->commutator == NULL) {
            status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu pairs", area);
        }
    }
    if (status == KERN_OK) {
        out->swap = out->commutator + area;
        out->writes = out->swap + area;
        out->reads = out->writes + area;
    }
    for (size_t i = 0; status == KERN_OK && i < tokens; i++) {
        status = prepare(&w, m, layer, h + i * w.width, err);
        if (status == KERN_OK) {
            add_pairs(&w, 1.0 / (double)tokens, out);
        }
    }
    work_fini(&w);
    if (status != KERN_OK) {
        model_hourglass_pairs_fini(out);
    }
    return status;
}

void model_hourglass_pairs_fini(model_hourglass_pairs *pairs)
{
    free(pairs->commutator);
    *pairs = (model_hourglass_pairs){0};
}
