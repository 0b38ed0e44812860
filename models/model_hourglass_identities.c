/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_hourglass_identities.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"
#include "models/model_hourglass_start.h"
#include "models/model_sub_private.h"

#include <math.h>
#include <string.h>

/* Room for one sub-MLP. */
typedef struct identity_work {
    size_t width;
    model_sub *sub; /* borrowed */
    kern_arena arena;
    double *h; /* D each */
    double *f;
    double *gain;
    double *u; /* D × d_h and d_h × D */
    double *c;
    double *basis;  /* d_h × D */
    double *square; /* D × D */
    double *room;   /* of an orthonormalisation */
    int *pivots;
} identity_work;

static kern_status work_init(identity_work *w, size_t d, size_t hidden, kern_error *err)
{
    const size_t rank = kern_size_min(hidden, d);
    const size_t room = kern_lapack_orthonormalise_work(d, rank);
    *w = (identity_work){.width = d};
    KERN_TRY(kern_arena_init(
        &w->arena,
        3 * kern_arena_cost(d, sizeof(double)) + 3 * kern_arena_cost(hidden * d, sizeof(double)) +
            kern_arena_cost(d * d, sizeof(double)) + kern_arena_cost(room, sizeof(double)) +
            kern_arena_cost(d, sizeof(int)),
        err));
    double **const vectors[] = {&w->h, &w->f, &w->gain};
    double **const areas[] = {&w->u, &w->c, &w->basis};
    for (size_t i = 0; i < 3; i++) {
        *vectors[i] = kern_arena_alloc(&w->arena, d, sizeof(double));
        *areas[i] = kern_arena_alloc(&w->arena, hidden * d, sizeof(double));
    }
    w->square = kern_arena_alloc(&w->arena, d * d, sizeof(double));
    w->room = kern_arena_alloc(&w->arena, room, sizeof(double));
    w->pivots = kern_arena_alloc(&w->arena, d, sizeof(int));
    return KERN_OK;
}

static void keep_largest(double *largest, double value)
{
    *largest = value <= *largest ? *largest : value; /* a NaN stays */
}

/* The full J against I + C U. */
static kern_status check_determinant(identity_work *w, model_hourglass_identities *out,
                                     kern_error *err)
{
    const size_t d = w->width;
    const size_t r = w->sub->hidden;
    double full;
    double small;
    memset(w->square, 0, d * d * sizeof *w->square);
    for (size_t a = 0; a < d; a++) {
        w->square[a * d + a] = 1;
        for (size_t i = 0; i < r; i++) {
            dyn_vector_add(w->square + a * d, w->u[a * r + i], w->c + i * d, d);
        }
    }
    KERN_TRY(kern_lapack_lu(d, w->square, w->pivots, &full, err));
    KERN_TRY(model_sub_log_abs_det(w->sub, w->h, &small, err));
    if (!(isinf(full) && isinf(small))) {
        keep_largest(&out->log_det, fabs(full - small) / (1 + fabs(small)));
    }
    return KERN_OK;
}

/* A norm behind takes its own direction out of U, though f has it; f then lies in the span of the
 * scaled w_down. */
static kern_status check_leak(identity_work *w, model_hourglass_identities *out, kern_error *err)
{
    const size_t d = w->width;
    const model_sub *s = w->sub;
    const size_t r = s->hidden;
    const double size = dyn_vector_norm(w->f, d);
    if (r >= d || !(size > 0)) {
        return KERN_OK;
    }
    for (size_t i = 0; i < r; i++) {
        for (size_t j = 0; j < d; j++) {
            w->basis[i * d + j] =
                s->norm_behind ? s->gain[j] * s->down[j * r + i] : w->u[j * r + i];
        }
    }
    KERN_TRY(kern_lapack_orthonormalise(d, r, w->basis, w->square, w->room, err));
    memcpy(w->square, w->f, d * sizeof *w->square);
    for (size_t i = 0; i < r; i++) {
        const double *q = w->basis + i * d;
        dyn_vector_add(w->square, -dyn_vector_dot(q, w->square, d), q, d);
    }
    keep_largest(&out->leak, dyn_vector_norm(w->square, d) / size);
    return KERN_OK;
}

/* |U C h|/|h|. */
static void check_radial(identity_work *w, model_hourglass_identities *out)
{
    const size_t d = w->width;
    const size_t r = w->sub->hidden;
    const double size = dyn_vector_norm(w->h, d);
    const double mean = size * size / (double)d + w->sub->epsilon;
    keep_largest(&out->epsilon, w->sub->epsilon / mean);
    if (!w->sub->norm_before) {
        out->radial = (double)NAN;
        return;
    }
    memset(w->square, 0, d * sizeof *w->square);
    for (size_t i = 0; i < r; i++) {
        const double factor = dyn_vector_dot(w->c + i * d, w->h, d);
        for (size_t j = 0; j < d; j++) {
            w->square[j] += factor * w->u[j * r + i];
        }
    }
    keep_largest(&out->radial, dyn_vector_norm(w->square, d) / size);
}

/* One sub-MLP at the state in w->h, which moves on. */
static kern_status check_sub(identity_work *w, model_hourglass_identities *out, kern_error *err)
{
    model_sub_evaluate(w->sub, w->h, w->f, w->u, w->c);
    KERN_TRY(check_determinant(w, out, err));
    KERN_TRY(check_leak(w, out, err));
    check_radial(w, out);
    out->checked++;
    dyn_vector_add(w->h, 1.0, w->f, w->width);
    return KERN_OK;
}

static kern_status check_token(identity_work *w, const model *m, size_t layer, const double *h,
                               model_hourglass_identities *out, kern_error *err)
{
    (void)model__hourglass_start(m, layer, h, w->gain, w->h);
    for (size_t k = 0; k < m->config.hourglass.k; k++) {
        KERN_TRY(model_sub_create(&w->sub, m, layer, k, err));
        const kern_status status = check_sub(w, out, err);
        model_sub_destroy(w->sub);
        KERN_TRY(status);
    }
    return KERN_OK;
}

kern_status model_hourglass_identities_check(model_hourglass_identities *out, const model *m,
                                             size_t layer, const double *h, size_t tokens,
                                             kern_error *err)
{
    const size_t d = m->config.n_embed;
    identity_work w;
    size_t widest = 1;
    *out = (model_hourglass_identities){0};
    KERN_TRY(model__sub_check(m, layer, 0, err));
    for (size_t k = 0; k < m->config.hourglass.k; k++) {
        widest = kern_size_max(widest, model_config_sub_width(&m->config, layer, k));
    }
    kern_status status = work_init(&w, d, widest, err);
    for (size_t i = 0; status == KERN_OK && i < tokens; i++) {
        status = check_token(&w, m, layer, h + i * d, out, err);
    }
    kern_arena_fini(&w.arena);
    return status;
}
