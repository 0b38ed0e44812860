/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_slice.h"

#include "kernels/kern_memory.h"
#include "kernels/kern_size.h"
#include "models/model_slice_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = KERN_SLICE_POINTS, FEATURES = MODEL__SLICE_FEATURES };

struct model_slice {
    model__slice_plan plan;
    int workers;
    model__slice_lane *lanes;
};

/* ---- Points ------------------------------------------------------------------------------- */

/* |Σ_j k_j x_j|² for the vectors behind the factor: a sum of squares, so nothing cancels where the
 * plane passes close to 0. */
static double square_length(const model__slice_mover *mover, const double k[3])
{
    double sum = 0.0;
    for (size_t i = 0; i < 3; i++) {
        double part = 0.0;
        for (size_t j = i; j < 3; j++) {
            part += mover->factor[i][j] * k[j];
        }
        sum += part * part;
    }
    return sum;
}

/* Weights and κ of every mover at POINTS points. */
static void place(const model__slice_plan *plan, const model__slice_lane *lane, const double *a,
                  const double *b)
{
    for (size_t s = 0; s < plan->n_movers; s++) {
        const model__slice_mover *mover = &plan->movers[s];
        double *weights = lane->weights + s * 3 * POINTS;
        double *kappa = lane->kappa + s * FEATURES * POINTS;
        for (size_t p = 0; p < POINTS; p++) {
            double k[3];
            dyn_plane_weights(plan->plane, mover->token, a[p], b[p], k);
            const double sigma =
                mover->normed ? sqrt(square_length(mover, k) / plan->width + plan->epsilon) : 1.0;
            for (size_t i = 0; i < 3; i++) {
                weights[i * POINTS + p] = k[i];
                kappa[i * POINTS + p] = k[i] / sigma;
            }
            kappa[3 * POINTS + p] = 1.0;
        }
    }
}

static void energies(model_slice *s, int worker, bool single, const double *points[2], double *e)
{
    double sum[POINTS] = {0.0};
    const model__slice_lane *lane = &s->lanes[worker];
    place(&s->plan, lane, points[0], points[1]);
    (single ? model__slice_evaluate_f32 : model__slice_evaluate_f64)(&s->plan, lane, true, sum);
    for (size_t p = 0; p < POINTS; p++) {
        const bool has = dyn_plane_has(s->plan.plane, points[0][p], points[1][p]);
        e[p] = has ? s->plan.constant + sum[p] : (double)NAN;
    }
}

/* Groups are filled up with copies of their last point. */
static void energies_of(model_slice *s, int worker, bool single, size_t n, const double *a,
                        const double *b, double *e)
{
    double group[3][POINTS];
    const double *points[2] = {group[0], group[1]};
    for (size_t begin = 0; begin < n; begin += POINTS) {
        const size_t count = kern_size_min(POINTS, n - begin);
        for (size_t p = 0; p < POINTS; p++) {
            const size_t from = begin + kern_size_min(p, count - 1);
            group[0][p] = a[from];
            group[1][p] = b[from];
        }
        energies(s, worker, single, points, group[2]);
        memcpy(e + begin, group[2], count * sizeof *e);
    }
}

static void energies_single(void *context, int worker, size_t n, const double *a, const double *b,
                            double *e)
{
    energies_of(context, worker, true, n, a, b, e);
}

static void energies_double(void *context, int worker, size_t n, const double *a, const double *b,
                            double *e)
{
    energies_of(context, worker, false, n, a, b, e);
}

dyn_slice_source model_slice_source(model_slice *slice, bool single)
{
    return (dyn_slice_source){.context = slice,
                              .workers = slice->workers,
                              .plane = slice->plan.plane,
                              .energies = single ? energies_single : energies_double};
}

double model_slice_energy(model_slice *slice, double a, double b)
{
    double e;
    energies_of(slice, 0, false, 1, &a, &b, &e);
    return e;
}

/* ---- Creation ----------------------------------------------------------------------------- */

/* One block for all lanes; offsets are whole vectors. */
static kern_status make_lanes(model_slice *s, int workers, kern_error *err)
{
    const model__slice_plan *plan = &s->plan;
    const size_t parts[] = {plan->n_movers * 3, plan->n_movers * FEATURES,
                            (plan->n_movers + 1) * FEATURES, MODEL__SLICE_PAIR, plan->most_logits};
    size_t rows = 0;
    size_t bytes;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        rows += parts[i];
    }
    s->workers = workers > 1 ? workers : 1;
    s->lanes = calloc((size_t)s->workers, sizeof *s->lanes);
    if (!kern_size_mul(rows, POINTS * sizeof(double), &bytes)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu features of a plane are too many", rows);
    }
    for (int i = 0; i < s->workers && s->lanes != NULL; i++) {
        double *block = kern_memory_create(bytes, 1);
        if (block == NULL) {
            break;
        }
        s->lanes[i].weights = block;
        s->lanes[i].kappa = block + parts[0] * POINTS;
        double *phi = s->lanes[i].kappa + parts[1] * POINTS;
        s->lanes[i].phi = phi;
        s->lanes[i].pair = phi + parts[2] * POINTS;
        s->lanes[i].logits = phi + (parts[2] + parts[3]) * POINTS;
    }
    return s->lanes != NULL && s->lanes[s->workers - 1].weights != NULL
               ? KERN_OK
               : kern_raise(err, KERN_NO_MEMORY, "no memory for %d workers", workers);
}

/* Parts that are the same everywhere become one number. */
static void fold_constants(model_slice *s)
{
    model__slice_plan *plan = &s->plan;
    double sum[POINTS] = {0.0};
    size_t kept = 0;
    const double zeros[POINTS] = {0.0};
    place(plan, &s->lanes[0], zeros, zeros);
    model__slice_evaluate_f64(plan, &s->lanes[0], false, sum);
    plan->constant = sum[0];
    for (size_t i = 0; i < plan->n_parts; i++) {
        if (plan->parts[i].moves) {
            plan->parts[kept++] = plan->parts[i];
        }
    }
    plan->n_parts = kept;
}

static kern_status finish(model_slice *s, int workers, kern_error *err)
{
    model__slice_plan *plan = &s->plan;
    plan->coef_single = malloc((plan->n_coef + 1) * sizeof *plan->coef_single);
    if (plan->coef_single == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu coefficients", plan->n_coef);
    }
    for (size_t i = 0; i < plan->n_coef; i++) {
        plan->coef_single[i] = (float)plan->coef[i];
    }
    KERN_TRY(make_lanes(s, workers, err));
    fold_constants(s);
    return KERN_OK;
}

static kern_status begin(model_slice **out, const model *m, const dyn_plane *plane, size_t token,
                         kern_error *err)
{
    *out = NULL;
    if (m->backend->real_size != sizeof(double)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a slice needs a double-precision model");
    }
    if (plane->block_width != m->config.n_embed) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a plane among blocks of %zu numbers does not suit a model of width %zu",
                          plane->block_width, m->config.n_embed);
    }
    if (token != MODEL_SLICE_SUM && token >= plane->block_count) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "token %zu is not within 0 to %zu", token,
                          plane->block_count - 1);
    }
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a slice");
    }
    (*out)->plan.plane = plane;
    (*out)->plan.epsilon = m->config.norm_eps;
    (*out)->plan.width = (double)plane->block_width;
    return KERN_OK;
}

static kern_status end(model_slice **out, int workers, kern_status status, kern_error *err)
{
    if (status == KERN_OK) {
        status = finish(*out, workers, err);
    }
    if (status != KERN_OK) {
        model_slice_destroy(*out);
        *out = NULL;
    }
    return status;
}

kern_status model_slice_create(model_slice **out, const model *m, const dyn_plane *plane,
                               size_t token, int workers, kern_error *err)
{
    KERN_TRY(begin(out, m, plane, token, err));
    return end(out, workers, model__slice_nrgpt(&(*out)->plan, m, token, err), err);
}

kern_status model_slice_create_layer(model_slice **out, const model *m, size_t layer,
                                     model_layer_part part, const double *h, const dyn_plane *plane,
                                     size_t token, int workers, kern_error *err)
{
    const model__slice_layer where = {.m = m, .layer = layer, .part = part, .h = h};
    KERN_TRY(begin(out, m, plane, token, err));
    return end(out, workers, model__slice_cem(&(*out)->plan, &where, token, err), err);
}

void model_slice_destroy(model_slice *slice)
{
    if (slice != NULL) {
        for (int i = 0; slice->lanes != NULL && i < slice->workers; i++) {
            free(slice->lanes[i].weights);
        }
        free(slice->lanes);
        free(slice->plan.movers);
        free(slice->plan.parts);
        free(slice->plan.runs);
        free(slice->plan.coef);
        free(slice->plan.coef_single);
        free(slice);
    }
}
