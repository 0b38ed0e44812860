/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cem-energy-bounds: what the energies and forces of CEM cannot exceed.
 *
 *   lower   −Σ_k (max_j s_kj + τ ln J) ≤ ε     upper   ε ≤ −Σ_k max_j s_kj
 *   force   |G| ≤ Σ_k ‖A_k‖₂ max_j |c_j|; with rotary positions ‖W_k^Q‖₂‖W_k^K‖₂ + max|d_k| for
 * ‖A_k‖₂ floor   ε ≥ −Σ_k (the same · γ_max √D + τ ln J) for every state behind a norm gated   |ε|
 * ≤ Σ_m |g_m| Φ(z_m), form A
 *
 * since max ≤ τ log-sum-exp(·/τ) ≤ max + τ ln J, a mean of vectors is no longer than the longest,
 * |n(x)| ≤ γ_max √D, and Φ ≥ 0. `floor` is what the norm is for: without it ε is unbounded below.
 *
 * Rounding: as verify_cem_instance.h says; the scores here are those of the energy, off by as much.
 * Spectral norms are right to 8D u of themselves, and what they bound is smaller by the reach R.
 */
#include "models/verify/verify_cem_instance.h"

#include "dyn/dyn_vector.h"
#include "models/verify/verify_dense.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROUND (0.5 * DBL_EPSILON)

static const char *const bounds[] = {"lower", "upper", "force", "floor", "gated", NULL};

enum { LOWER, UPPER, FORCE, FLOOR, GATED, BOUNDS };

static kern_status draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err)
{
    const size_t bound = trial % BOUNDS;
    const size_t turn = trial / BOUNDS;
    const verify_cem_options of = {.place = VERIFY_CEM_STEP,
                                   .rope = turn % 2 == 0 ? VERIFY_CEM_UNTURNED : VERIFY_CEM_TURNED,
                                   .diag = (verify_cem_diag)(turn / 2 % 3),
                                   .eta = 1.0,
                                   .epsilon = turn % 4 == 0 ? 0.0 : 1e-5,
                                   .signed_gamma = true};
    (void)subject;
    (void)work;
    KERN_TRY(verify_record_put_word(record, "bound", bounds[bound], err));
    return bound == GATED ? verify_cem_draw_mlp(record, rng, VERIFY_CEM_MLP_A, &of, err)
                          : verify_cem_draw_attention(record, rng, &of, err);
}

/* max_j s_kj at u. */
static double highest(const verify_cem *q, const double *u, size_t k)
{
    const size_t d = q->width;
    const double *diag = q->diagonals > 0 ? q->diag + (q->diagonals > 1 ? k * d : 0) : NULL;
    double most = -HUGE_VAL;
    for (size_t j = 0; j < q->history; j++) {
        double score = 0.0;
        for (size_t m = k * q->head; m < (k + 1) * q->head; m++) {
            score += dyn_vector_dot(q->wq + m * d, u, d) * q->keys[j * q->heads * q->head + m];
        }
        for (size_t i = 0; diag != NULL && i < d; i++) {
            score += u[i] * diag[i] * q->c[j * d + i];
        }
        most = fmax(most, score);
    }
    return most;
}

/* ‖a‖₂ of an m × n matrix. */
static kern_status norm2(const double *a, size_t m, size_t n, double *norm, verify_work *work,
                         kern_error *err)
{
    double least = 0.0;
    double *room = NULL;
    KERN_TRY(verify_work_take(work, n * n + n, &room, err));
    verify_dense_singular(m, n, a, &least, norm, room);
    return KERN_OK;
}

/* A bound of ‖A_k‖₂ between any two positions. */
static kern_status norm_of_head(const verify_cem *q, size_t k, double *norm, verify_work *work,
                                kern_error *err)
{
    const size_t d = q->width;
    const size_t rows = k * q->head * d;
    const double *diag = q->diagonals > 0 ? q->diag + (q->diagonals > 1 ? k * d : 0) : NULL;
    double *a = NULL;
    double key = 0.0;
    double longest = 0.0;
    if (q->rope != VERIFY_CEM_UNTURNED) {
        KERN_TRY(norm2(q->wq + rows, q->head, d, norm, work, err));
        KERN_TRY(norm2(q->wk + rows, q->head, d, &key, work, err));
        for (size_t i = 0; diag != NULL && i < d; i++) {
            longest = fmax(longest, fabs(diag[i]));
        }
        *norm = *norm * key + longest;
        return KERN_OK;
    }
    KERN_TRY(verify_work_take_zeros(work, d * d, &a, err));
    for (size_t i = 0; i < d; i++) {
        for (size_t m = 0; m < q->head; m++) {
            for (size_t j = 0; j < d; j++) {
                a[i * d + j] += q->wq[rows + m * d + i] * q->wk[rows + m * d + j];
            }
        }
        a[i * d + i] += diag != NULL ? diag[i] : 0.0;
    }
    return norm2(a, d, d, norm, work, err);
}

/* Σ_k ‖A_k‖₂ max_j |c_j|. */
static kern_status reach(const verify_cem *q, double *sum, verify_work *work, kern_error *err)
{
    double longest = 0.0;
    *sum = 0.0;
    for (size_t j = 0; j < q->history; j++) {
        longest =
            fmax(longest, sqrt(dyn_vector_dot(q->c + j * q->width, q->c + j * q->width, q->width)));
    }
    for (size_t k = 0; k < q->heads; k++) {
        double norm = 0.0;
        KERN_TRY(norm_of_head(q, k, &norm, work, err));
        *sum += norm * longest;
    }
    return KERN_OK;
}

static kern_status compare_attention(const verify_cem *q, const verify_cem_point *at, size_t bound,
                                     verify_outcome *outcome, verify_work *work, kern_error *err)
{
    const double spread = bound == UPPER ? 0.0 : q->tau * log((double)q->history);
    const double slack = (double)(8 * q->width + 16) * ROUND * q->reach;
    double sum = 0.0;
    double far = 0.0;
    outcome->scale = q->reach * (1.0 + sqrt((double)q->width) * q->gain);
    outcome->tolerance = 2.0 * at->at.rounding;
    for (size_t k = 0; k < q->heads; k++) {
        sum -= highest(q, at->u, k) + spread;
    }
    outcome->left = bound == UPPER ? at->at.energy : sum;
    outcome->right = bound == UPPER ? sum : at->at.energy;
    if (bound == LOWER || bound == UPPER) {
        return KERN_OK;
    }
    KERN_TRY(reach(q, &far, work, err));
    if (bound == FORCE) {
        outcome->left = sqrt(dyn_vector_dot(at->force, at->force, q->width));
        outcome->right = far;
        outcome->tolerance = at->at.force_rounding + slack;
    } else {
        const double radius = q->gain * sqrt((double)q->width);
        outcome->left = -(far * radius + (double)q->heads * spread);
        outcome->tolerance += slack * radius;
    }
    return KERN_OK;
}

static void compare_gated(const verify_cem *q, const verify_cem_point *at, verify_outcome *outcome)
{
    outcome->left = fabs(at->at.energy);
    outcome->right = 0.0;
    for (size_t m = 0; m < q->hidden; m++) {
        const double z = dyn_vector_dot(q->wu + m * q->width, at->u, q->width);
        outcome->right += fabs(q->gate[m]) * verify_cem_silu_integral(z);
    }
    outcome->tolerance = 2.0 * at->at.rounding;
    outcome->scale = 1.0 + outcome->right;
}

static kern_status check(const verify_record *record, verify_work *work, verify_outcome *outcome,
                         kern_error *err)
{
    verify_cem q;
    verify_cem_point at;
    size_t bound = 0;
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(verify_record_get_word(record, "bound", bounds, &bound, err));
    if ((bound == GATED) != (q.kind == VERIFY_CEM_MLP_A) || q.kind == VERIFY_CEM_MLP_B ||
        q.place == VERIFY_CEM_ONCE || (bound != GATED && q.rope == VERIFY_CEM_PLAIN)) {
        return kern_raise(err, KERN_BAD_INPUT, "the bound \"%s\" is not one of this energy",
                          bounds[bound]);
    }
    KERN_TRY(verify_cem_point_init(&at, &q, work, err));
    memcpy(at.x, q.x, q.width * sizeof *q.x);
    verify_cem_visit(&q, &at);
    if (bound == GATED) {
        compare_gated(&q, &at, outcome);
        return KERN_OK;
    }
    return compare_attention(&q, &at, bound, outcome, work, err);
}

const verify_claim verify_cem_energy_bounds = {
    .name = "cem-energy-bounds",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "The interaction energy of CEM lies between minus the sum over heads of the "
                 "largest score plus tau ln J, and minus the sum of the largest scores; its force "
                 "is at most the sum of |A_k|_2 max|c_j|; behind a norm the energy is bounded "
                 "below; the gated energy of form A is at most the sum of |g| Phi(z).",
    .source = "docs/theory.md, section 13",
    .measured = "left: the smaller side of the bound in turn; right: the larger one",
    .trials = 100000,
    .draw = draw,
    .check = check,
};
