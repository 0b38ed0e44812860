/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cem-mlp-step-bound: how long a step of the gated energies may be, the norm standing once.
 *
 * The Hessian is −W_Uᵀ diag(g ⊙ σ′(z)) W_U (form A) or −W_Uᵀ diag(σ(g)) W_U (form B), so its upper
 * curvature is at most m = ‖W_U‖₂² max_m b_m with b_m = max(0, −inf_z g_m σ′(z)): 1.09984 |g_m| for
 * g_m < 0 and 0.09984 g_m for g_m > 0 in form A, since silu′ runs from −0.0998394 to 1.0998394;
 * max(0, −σ(g_m)) in form B. Taylor's formula gives
 *   ε(x + ηPG) ≤ ε(x) − η GᵀPG + (m/2) η² |PG|² ≤ ε(x) − η GᵀPG (1 − ½ η λmax(P) m)
 * since |PG|² ≤ λmax(P) GᵀPG for P ≻ 0: no rise while η λmax(P) ≤ 2/m. With max|g| ·
 * 1.09984 in place of max b, which is never smaller, it is coarser. In form B with one unit and P =
 * I the bound is attained: z′ = −z at η = 2/m.
 *
 * The record holds the factor 2 as `limit`, so that a wrong one can be tried.
 *
 * Rounding: as verify_cem_instance.h says for the energies and the step. The eigenvalues are right
 * to 8D u of themselves (Jacobi's rotations; the norm ‖·‖_F ≤ √D ‖·‖₂), which η is allowed to
 * exceed the bound by; a step longer by a relative δ changes the energy by at most δη|G||PG| to
 * first order.
 */
#include "models/verify/verify_cem_mlp_bound.h"

#include "dyn/dyn_vector.h"
#include "models/verify/verify_cem_instance.h"
#include "models/verify/verify_dense.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROUND (0.5 * DBL_EPSILON)

/* Largest eigenvalue of a symmetric matrix, which is destroyed. */
static kern_status top(size_t n, double *a, double *value, verify_work *work, kern_error *err)
{
    double *values = NULL;
    KERN_TRY(verify_work_take(work, n, &values, err));
    verify_dense_symmetric(n, a, values, NULL);
    *value = values[n - 1];
    return KERN_OK;
}

/* m of the header. */
static kern_status curvature(const verify_cem *q, double *m, verify_work *work, kern_error *err)
{
    const size_t d = q->width;
    double largest = 0.0;
    double *square = NULL;
    KERN_TRY(verify_work_take_zeros(work, d * d, &square, err));
    for (size_t k = 0; k < q->hidden; k++) {
        const double *w = q->wu + k * d;
        const double g = q->gate[k];
        const double own = q->kind == VERIFY_CEM_MLP_A ? g > 0.0 ? 0.09984 * g : -1.09984 * g
                                                       : -verify_cem_silu(g);
        largest = fmax(largest, own);
        for (size_t i = 0; i < d * d; i++) {
            square[i] += w[i / d] * w[i % d];
        }
    }
    KERN_TRY(top(d, square, m, work, err));
    *m *= largest;
    return KERN_OK;
}

/* λmax(P), or NaN for a P that is not positive definite. */
static kern_status largest_of_p(const verify_cem *q, double *largest, verify_work *work,
                                kern_error *err)
{
    const size_t d = q->width;
    double *p = NULL;
    *largest = 1.0;
    for (size_t i = 0; q->precond == VERIFY_CEM_GAMMA && i < d; i++) {
        const double own = q->factor * q->gamma[i];
        *largest = i == 0 ? own : fmax(own, *largest);
        *largest = own > 0.0 ? *largest : (double)NAN;
    }
    if (q->precond == VERIFY_CEM_DLR) {
        KERN_TRY(verify_work_take(work, d * d, &p, err));
        memcpy(p, q->p, d * d * sizeof *p);
        KERN_TRY(top(d, p, largest, work, err));
        memcpy(p, q->p, d * d * sizeof *p);
        *largest = verify_dense_is_positive(d, p) ? *largest : (double)NAN;
    }
    return KERN_OK;
}

/* ---- drawing ----------------------------------------------------------------------------------
 */

/* One unit of form B whose step is exactly as long as `limit` allows. */
static kern_status make_sharp(verify_record *record, kern_error *err)
{
    size_t hidden = 0;
    double *gate = NULL;
    KERN_TRY(verify_record_get_size(record, "hidden", 1, 64, &hidden, err));
    KERN_TRY(verify_record_edit(record, "gate", 1, hidden, &gate, err));
    for (size_t m = 0; m < hidden; m++) {
        gate[m] = m == 0 ? -fabs(gate[m]) : 0.0;
    }
    return KERN_OK;
}

/* Every eighth instance is sharp; every other step is as long as allowed. */
kern_status verify_cem_draw_bounded(kern_rng *rng, size_t trial, double limit, verify_work *work,
                                    verify_record *record, kern_error *err)
{
    const bool sharp = trial % 8 == 7;
    const verify_cem_options of = {.place = VERIFY_CEM_ONCE,
                                   .precond = sharp ? VERIFY_CEM_IDENTITY
                                                    : (verify_cem_precond)(trial / 2 % 3),
                                   .eta = 1.0};
    const verify_cem_kind kind = trial % 2 == 0 ? VERIFY_CEM_MLP_A : VERIFY_CEM_MLP_B;
    verify_cem q;
    double m = 0.0;
    double largest = 0.0;
    double *eta = NULL;
    KERN_TRY(verify_cem_draw_mlp(record, rng, kind, &of, err));
    KERN_TRY(verify_record_put_number(record, "limit", limit, err));
    if (of.precond == VERIFY_CEM_DLR) {
        size_t width = 0;
        KERN_TRY(verify_record_get_size(record, "width", 1, 64, &width, err));
        KERN_TRY(verify_cem_put_dlr(record, rng, width, err));
    }
    if (sharp) {
        KERN_TRY(make_sharp(record, err));
    }
    KERN_TRY(verify_cem_read(&q, record, work, err));
    if (sharp) {
        double *wu = NULL;
        KERN_TRY(verify_record_edit(record, "wu", q.hidden, q.width, &wu, err));
        memset(wu + q.width, 0, (q.hidden - 1) * q.width * sizeof *wu);
    }
    KERN_TRY(curvature(&q, &m, work, err));
    KERN_TRY(largest_of_p(&q, &largest, work, err));
    KERN_TRY(verify_record_edit(record, "eta", 1, 1, &eta, err));
    const double longest = fmin(limit / (m * largest), 1e3 / largest);
    *eta = longest * (trial / 16 % 2 == 0 ? 1.0 : kern_rng_uniform(rng));
    return KERN_OK;
}

static kern_status draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err)
{
    (void)subject;
    return verify_cem_draw_bounded(rng, trial, 2.0, work, record, err);
}

/* ---- checking ---------------------------------------------------------------------------------
 */

static void compare(const verify_cem *q, const verify_cem_point *from, const verify_cem_point *to,
                    double product, verify_outcome *outcome)
{
    double along = 0.0;
    double square = 0.0;
    for (size_t i = 0; i < q->width; i++) {
        const double moved = to->x[i] - from->x[i];
        along += from->force[i] * moved;
        square += moved * moved;
    }
    const double length = sqrt(dyn_vector_dot(from->force, from->force, q->width));
    const double slack = (8.0 * (double)q->width + 16.0) * ROUND;
    outcome->left = to->at.energy;
    outcome->right = from->at.energy - fmax(0.0, along * (1.0 - 0.5 * product));
    outcome->scale = 1.0 + fabs(from->at.energy) + fabs(to->at.energy);
    outcome->tolerance = to->rounding + from->rounding +
                         sqrt(square) * (from->at.force_rounding + slack * length) +
                         to->moved_rounding * length;
    verify_outcome_add(outcome, "of_bound", 0.5 * product);
}

static kern_status check(const verify_record *record, verify_work *work, verify_outcome *outcome,
                         kern_error *err)
{
    verify_cem q;
    verify_cem_point from;
    verify_cem_point to;
    double m = 0.0;
    double largest = 0.0;
    double limit = 0.0;
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(verify_record_get_number(record, "limit", &limit, err));
    if (q.kind == VERIFY_CEM_ATTENTION) {
        return kern_raise(err, KERN_BAD_INPUT, "the record is no gated energy");
    }
    KERN_TRY(curvature(&q, &m, work, err));
    KERN_TRY(largest_of_p(&q, &largest, work, err));
    const double product = q.eta * largest * m;
    const double slack = 1.0 + (8.0 * (double)q.width + 16.0) * ROUND;
    if (q.place != VERIFY_CEM_ONCE || !(q.eta >= 0.0) || !(product <= limit * slack)) {
        outcome->skipped = true;
        return KERN_OK;
    }
    KERN_TRY(verify_cem_first_step(&q, &from, &to, work, err));
    compare(&q, &from, &to, product, outcome);
    return KERN_OK;
}

const verify_claim verify_cem_mlp_step_bound = {
    .name = "cem-mlp-step-bound",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "With the norm once and P positive definite, no step of the CEM feed-forward part "
                 "raises its energy while eta lambda_max(P) <= 2/m, m = |W_U|_2^2 max_m b_m, b_m = "
                 "1.09984 |g_m| for g_m < 0 and 0.09984 g_m else (form A), max(0, -silu g_m) (form "
                 "B).",
    .source = "docs/theory.md, section 15",
    .measured = "left: the energy after the step; right: the energy before it less eta G'PG (1 - "
                "eta lambda_max(P) m/2)",
    .trials = 100000,
    .draw = draw,
    .check = check,
};
