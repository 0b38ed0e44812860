/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_hourglass_dynamics.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"
#include "models/model_hourglass_start.h"
#include "models/model_sub_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a layer ----------------------------------------------------------------------------------
 */

/* What following one token takes: all sub-MLPs and vectors of D numbers. */
typedef struct follower {
    model_sub **subs;
    size_t k;
    size_t width;
    double *h;        /* the state */
    double *next;     /* behind a sub-MLP */
    double *f;        /* its branch */
    double *before;   /* the branch before */
    double *start;    /* h_0 */
    double *together; /* Σ f_k(h_0) */
    double *row;      /* Jᵀ of a direction */
    double *moves;    /* (K + 1) × tokens × D, owned: f of every sub-MLP, and their sum */
    size_t tokens;
    size_t token; /* that is followed */
} follower;

static void follower_fini(follower *w)
{
    for (size_t i = 0; w->subs != NULL && i < w->k; i++) {
        model_sub_destroy(w->subs[i]);
    }
    free(w->subs);
    free(w->h);
    free(w->moves);
}

static kern_status follower_init(follower *w, const model *m, size_t layer, size_t tokens,
                                 kern_error *err)
{
    const size_t d = m->config.n_embed;
    size_t moves;
    *w = (follower){.k = m->config.hourglass.k, .width = d, .tokens = tokens};
    if (kern_size_mul((w->k + 1) * d, tokens, &moves)) {
        w->moves = calloc(moves + 1, sizeof *w->moves);
    }
    w->subs = calloc(w->k, sizeof *w->subs);
    w->h = calloc(7 * d, sizeof *w->h);
    if (w->subs == NULL || w->h == NULL || w->moves == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu sub-MLPs", w->k);
    }
    double **const vectors[] = {&w->next, &w->f, &w->before, &w->start, &w->together, &w->row};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = w->h + (i + 1) * d;
    }
    for (size_t i = 0; i < w->k; i++) {
        KERN_TRY(model_sub_create(&w->subs[i], m, layer, i, err));
    }
    return KERN_OK;
}

/* Jv, or Jᵀv when transposed, from the U and C that make_core left; `hidden` is room for d_h. */
static void apply_jacobian(const model_sub *s, bool transposed, const double *v, double *out)
{
    const size_t d = s->width;
    const size_t r = s->hidden;
    memcpy(out, v, d * sizeof *out);
    for (size_t i = 0; i < r; i++) {
        double factor = 0;
        for (size_t j = 0; j < d; j++) {
            factor += (transposed ? s->u[j * r + i] : s->c[i * d + j]) * v[j];
        }
        for (size_t j = 0; j < d; j++) {
            out[j] += factor * (transposed ? s->c[i * d + j] : s->u[j * r + i]);
        }
    }
}

/* ‖J‖_F² = D + 2 tr(CU) + Σ_ik (UᵀU)_ik (CCᵀ)_ik. */
static double frobenius(const model_sub *s)
{
    const size_t d = s->width;
    const size_t r = s->hidden;
    double sum = (double)d;
    for (size_t i = 0; i < r; i++) {
        sum += 2 * (s->core[i * r + i] - 1);
        for (size_t k = 0; k < r; k++) {
            double uu = 0;
            for (size_t j = 0; j < d; j++) {
                uu += s->u[j * r + i] * s->u[j * r + k];
            }
            sum += uu * dyn_vector_dot(s->c + i * d, s->c + k * d, d);
        }
    }
    return sum;
}

/* ‖(I − ĥ′ĥ′ᵀ) J (I − ĥĥᵀ)‖_F² = ‖J‖² − |Jĥ|² − |Jᵀĥ′|² + (ĥ′·Jĥ)², times (|h|/|h′|)². */
static double angular(const follower *w, const model_sub *s, double square, double size,
                      double grown)
{
    const size_t d = w->width;
    apply_jacobian(s, false, w->h, w->row);
    const double right = dyn_vector_dot(w->row, w->row, d) / (size * size);
    const double corner = dyn_vector_dot(w->row, w->next, d) / (size * grown);
    apply_jacobian(s, true, w->next, w->row);
    const double left = dyn_vector_dot(w->row, w->row, d) / (grown * grown);
    const double rest = square - right - left + corner * corner;
    return size * size / (grown * grown) * (rest > 0 ? rest : 0);
}

/* Sub-MLP k at the state, which moves on; its numbers are added to the report with weight `share`.
 */
static kern_status follow_sub(follower *w, size_t k, double share, model_hourglass_report *out,
                              kern_error *err)
{
    model_sub *s = w->subs[k];
    model_sub_report *r = &out->subs[k];
    const size_t d = w->width;
    double determinant;
    model__sub_make_core(s, w->h);
    memcpy(w->f, s->n, d * sizeof *w->f);
    for (size_t j = 0; j < d; j++) {
        w->next[j] = w->h[j] + w->f[j];
    }
    const double size = dyn_vector_norm(w->h, d);
    const double grown = dyn_vector_norm(w->next, d);
    const double moved = dyn_vector_norm(w->f, d);
    const double square = frobenius(s);
    const double angle = angular(w, s, square, size, grown);
    KERN_TRY(kern_lapack_lu(s->hidden, s->core, s->pivots, &determinant, err));
    r->relative_step += share * moved / size;
    r->log_growth += share * log(grown / size);
    r->log_abs_det += share * determinant;
    r->gain += share * sqrt(square / (double)d);
    r->angular_gain += share * sqrt(angle / (double)(d - 1));
    if (k > 0) {
        out->subs[k - 1].turn +=
            share * dyn_vector_dot(w->f, w->before, d) / (moved * dyn_vector_norm(w->before, d));
    }
    memcpy(w->before, w->f, d * sizeof *w->f);
    memcpy(w->moves + (k * w->tokens + w->token) * d, w->f, d * sizeof *w->f);
    dyn_vector_add(w->moves + (w->k * w->tokens + w->token) * d, 1.0, w->f, d);
    memcpy(w->h, w->next, d * sizeof *w->h);
    return KERN_OK;
}

/* One token from its start in w->h. */
static kern_status follow_token(follower *w, double share, model_hourglass_report *out,
                                kern_error *err)
{
    const size_t d = w->width;
    double gap = 0;
    memcpy(w->start, w->h, d * sizeof *w->h);
    memset(w->together, 0, d * sizeof *w->together);
    for (size_t k = 0; k < w->k; k++) {
        model_sub_evaluate(w->subs[k], w->start, w->f, NULL, NULL);
        for (size_t j = 0; j < d; j++) {
            w->together[j] += w->f[j];
        }
    }
    for (size_t k = 0; k < w->k; k++) {
        KERN_TRY(follow_sub(w, k, share, out, err));
    }
    for (size_t j = 0; j < d; j++) {
        const double difference = w->h[j] - w->start[j] - w->together[j];
        gap += difference * difference;
    }
    out->parallel_gap += share * sqrt(gap / dyn_vector_dot(w->together, w->together, d));
    return KERN_OK;
}

/* (Σ_a |f_a|²)² / Σ_ab (f_a·f_b)² of the moves of sub-MLP k, or of all together for k = K: traces
 * of S = Σ f fᵀ and of its square, which are those of the Gram matrix too. */
static double participation(const follower *w, size_t k)
{
    const size_t d = w->width;
    const double *f = w->moves + k * w->tokens * d;
    double trace = 0;
    double square = 0;
    for (size_t a = 0; a < w->tokens; a++) {
        for (size_t b = 0; b <= a; b++) {
            const double product = dyn_vector_dot(f + a * d, f + b * d, d);
            trace += a == b ? product : 0;
            square += (a == b ? 1 : 2) * product * product;
        }
    }
    return square > 0 ? trace * trace / square : (double)NAN;
}

static kern_status report_init(model_hourglass_report *out, const follower *w, kern_error *err)
{
    size_t units = 0;
    *out = (model_hourglass_report){.k = w->k};
    out->subs = calloc(w->k, sizeof *out->subs);
    if (out->subs == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a report of %zu sub-MLPs", w->k);
    }
    for (size_t k = 0; k < w->k; k++) {
        out->subs[k].hidden = w->subs[k]->hidden;
        units += w->subs[k]->hidden;
    }
    out->subs[w->k - 1].turn = (double)NAN;
    out->coverage = (double)units / (double)w->width;
    out->conserved = units < w->width ? w->width - units : 0;
    return KERN_OK;
}

kern_status model_hourglass_diagnose(const model *m, size_t layer, const double *h, size_t tokens,
                                     model_hourglass_report *out, kern_error *err)
{
    follower w = {0};
    *out = (model_hourglass_report){0};
    KERN_TRY(model__sub_check(m, layer, 0, err));
    kern_status status = follower_init(&w, m, layer, tokens, err);
    if (status == KERN_OK) {
        status = report_init(out, &w, err);
    }
    for (size_t i = 0; status == KERN_OK && i < tokens; i++) {
        w.token = i;
        (void)model__hourglass_start(m, layer, h + i * w.width, w.row, w.h);
        status = follow_token(&w, 1.0 / (double)tokens, out, err);
    }
    for (size_t k = 0; status == KERN_OK && k < w.k; k++) {
        out->log_abs_det += out->subs[k].log_abs_det;
        out->subs[k].participation = participation(&w, k);
    }
    out->participation = status == KERN_OK ? participation(&w, w.k) : (double)NAN;
    follower_fini(&w);
    if (status != KERN_OK) {
        model_hourglass_report_fini(out);
    }
    return status;
}

void model_hourglass_report_fini(model_hourglass_report *report)
{
    free(report->subs);
    *report = (model_hourglass_report){0};
}
