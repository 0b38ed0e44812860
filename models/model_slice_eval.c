/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_slice_private.h"

#include "kernels/kern_real.h"

enum { POINTS = KERN_SLICE_POINTS, FEATURES = MODEL__SLICE_FEATURES };

static const kern_real *coefficients(const model__slice_plan *plan)
{
#if KERN_REAL_BITS == 32
    return plan->coef_single;
#else
    return plan->coef;
#endif
}

/* Features of a mover, or of what is held. */
static const kern_real *features_of(const model__slice_plan *plan, const model__slice_lane *lane,
                                    size_t slot)
{
    const kern_real *phi = lane->phi;
    return phi + (slot == MODEL__SLICE_HELD ? plan->n_movers : slot) * FEATURES * POINTS;
}

/* κ in the unit's precision, and (0, 0, 0, 1) behind. */
static void round_features(const model__slice_plan *plan, const model__slice_lane *lane)
{
    kern_real *phi = lane->phi;
    const size_t n = plan->n_movers * FEATURES * POINTS;
    for (size_t i = 0; i < n; i++) {
        phi[i] = (kern_real)lane->kappa[i];
    }
    for (size_t i = 0; i < FEATURES * POINTS; i++) {
        phi[n + i] = i < (FEATURES - 1) * POINTS ? KERN_R(0.0) : KERN_R(1.0);
    }
}

/* ---- Attention ---------------------------------------------------------------------------- */

static const kern_real *pair_features(const model__slice_plan *plan, const model__slice_lane *lane,
                                      const model__slice_run *run)
{
    const kern_real *left = features_of(plan, lane, run->left);
    const kern_real *right = features_of(plan, lane, run->right);
    kern_real *pair = lane->pair;
    for (size_t ij = 0; ij < MODEL__SLICE_PAIR; ij++) {
        const kern_real *x = left + ij / FEATURES * POINTS;
        const kern_real *y = right + ij % FEATURES * POINTS;
        for (size_t p = 0; p < POINTS; p++) {
            pair[ij * POINTS + p] = x[p] * y[p];
        }
    }
    return pair;
}

/* One run of logits of every head would need all heads' logits at once; instead the products of a
 * pair are formed again for every head, which costs less than the head's exponentials. */
static void add_attention(const model__slice_plan *plan, const model__slice_lane *lane,
                          const model__slice_part *part, double *sum)
{
    for (size_t head = 0; head < part->heads; head++) {
        const kern_real *coef = coefficients(plan) + part->coef + head * part->head_stride;
        kern_real *z = lane->logits;
        for (size_t i = 0; i < part->n_runs; i++) {
            const model__slice_run *run = &plan->runs[part->first_run + i];
            const bool pair = run->left != MODEL__SLICE_HELD && run->right != MODEL__SLICE_HELD;
            const size_t slot = run->left != MODEL__SLICE_HELD ? run->left : run->right;
            const size_t features = pair ? MODEL__SLICE_PAIR : FEATURES;
            const kern_real *phi =
                pair ? pair_features(plan, lane, run) : features_of(plan, lane, slot);
            KERN_NAME(kern_slice_combine)(z, run->rows, features, coef, phi);
            coef += run->rows * features;
            z += run->rows * POINTS;
        }
        KERN_NAME(kern_slice_log_sum_exp)(part->rows, lane->logits, sum);
    }
}

/* ---- Parts -------------------------------------------------------------------------------- */

/* A quadratic form of a few numbers is computed in double whatever the precision. */
static void add_form(const model__slice_lane *lane, const model__slice_part *part, double *sum)
{
    for (size_t p = 0; p < POINTS; p++) {
        double f[FEATURES] = {0.0, 0.0, 0.0, 1.0};
        for (size_t i = 0; i < 3 && part->slot != MODEL__SLICE_HELD; i++) {
            f[i] = part->raw ? lane->weights[(part->slot * 3 + i) * POINTS + p]
                             : lane->kappa[(part->slot * FEATURES + i) * POINTS + p];
        }
        f[0] -= part->raw && part->slot != MODEL__SLICE_HELD ? 1.0 : 0.0;
        for (size_t i = 0; i < FEATURES; i++) {
            for (size_t j = 0; j < FEATURES; j++) {
                sum[p] += part->form[i][j] * f[i] * f[j];
            }
        }
    }
}

static void add_part(const model__slice_plan *plan, const model__slice_lane *lane,
                     const model__slice_part *part, double *sum)
{
    const kern_real *coef = coefficients(plan);
    const kern_real *phi = features_of(plan, lane, part->slot);
    switch (part->kind) {
    case MODEL__SLICE_SQUARES:
        KERN_NAME(kern_slice_squares)(part->fn, part->rows, coef + part->coef, phi, sum);
        break;
    case MODEL__SLICE_PRODUCTS:
        KERN_NAME(kern_slice_products)
        (part->fn, part->rows, coef + part->coef, coef + part->gate, phi, sum);
        break;
    case MODEL__SLICE_ATTENTION:
        add_attention(plan, lane, part, sum);
        break;
    case MODEL__SLICE_FORM:
        add_form(lane, part, sum);
        break;
    }
}

void KERN_NAME(model__slice_evaluate)(const model__slice_plan *plan, const model__slice_lane *lane,
                                      bool moving, double *sum)
{
    round_features(plan, lane);
    for (size_t i = 0; i < plan->n_parts; i++) {
        double part[POINTS] = {0.0};
        if (plan->parts[i].moves != moving) {
            continue;
        }
        add_part(plan, lane, &plan->parts[i], part);
        for (size_t p = 0; p < POINTS; p++) {
            sum[p] += plan->parts[i].scale * part[p];
        }
    }
}
