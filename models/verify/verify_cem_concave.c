/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The interaction energy is concave: −τ log-sum-exp of scores that are affine in u.
 *
 * cem-concavity looks at that from two sides, in turn. By curvature: vᵀ∇²ε(u)v ≤ 0 with ∇²ε =
 * −(1/τ) Σ_k A_k Cov_α(c) A_kᵀ; the search takes the top eigenvector of the Hessian for v. By
 * tangent: ε(y) ≤ ε(u) − G(u)·(y − u) at points y near and far, which is concavity together with
 * G = −∇ε, and uses no formula of a second derivative.
 *
 * cem-descent-once. With the norm once, steps run in the space of u, and the tangent at y = x + ηPG
 * says ε(x + ηPG) ≤ ε(x) − η GᵀPG: for P ≻ 0 every step descends, whatever its size.
 *
 * Rounding. Along v a score moves by at most R|v|, so that with the errors of the weights
 * (verify_cem_instance.h) −∇²ε v is off by n u (R²|v|/τ)(8 + 8R|u|/τ), both differences α(s′ −
 * mean) and A c included; vᵀ times that is off by |v| times as much. The tangent's G·(y − u) is off
 * by |y − u| times what G is off by, and D roundings of |G||y − u|.
 */
#include "models/verify/verify_cem_run.h"

#include "dyn/dyn_vector.h"
#include "models/verify/verify_dense.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROUND (0.5 * DBL_EPSILON)

static const char *const sides[] = {"curvature", "tangent", NULL};

/* ---- concavity --------------------------------------------------------------------------------
 */

/* A direction v of unit length, and a distance s: y = u + s v. */
static kern_status put_direction(verify_record *record, kern_rng *rng, size_t trial, size_t width,
                                 kern_error *err)
{
    double *v = NULL;
    KERN_TRY(verify_record_put_word(record, "by", sides[trial / 8 % 2], err));
    KERN_TRY(verify_record_put(record, "v", 1, width, &v, err));
    for (size_t i = 0; i < width; i++) {
        v[i] = kern_rng_normal(rng);
    }
    const double length = dyn_vector_norm(v, width);
    for (size_t i = 0; i < width; i++) {
        v[i] /= length;
    }
    return verify_record_put_number(record, "distance",
                                    pow(10.0, 6.0 * kern_rng_uniform(rng) - 4.0), err);
}

static kern_status draw_concave(const verify_subject *subject, kern_rng *rng, size_t trial,
                                verify_work *work, verify_record *record, kern_error *err)
{
    const verify_cem_options of = {.place = VERIFY_CEM_ONCE,
                                   .rope = trial % 2 == 0 ? VERIFY_CEM_UNTURNED : VERIFY_CEM_TURNED,
                                   .diag = (verify_cem_diag)(trial / 2 % 3),
                                   .eta = 1.0};
    size_t width = 0;
    (void)subject;
    (void)work;
    KERN_TRY(verify_cem_draw_attention(record, rng, &of, err));
    KERN_TRY(verify_record_get_size(record, "width", 1, 64, &width, err));
    return put_direction(record, rng, trial, width, err);
}

static kern_status draw_concave_run(const verify_subject *subject, kern_rng *rng, size_t trial,
                                    verify_work *work, verify_record *record, kern_error *err)
{
    KERN_TRY(verify_cem_draw_run(record, subject, VERIFY_CEM_ATTN_PART, trial, false, work, err));
    return put_direction(record, rng, trial, subject->width, err);
}

static const char *applies_concave(const verify_subject *subject)
{
    const char *other = verify_cem_applies(subject);
    if (other != NULL) {
        return other;
    }
    if (subject->m->config.attn != MODEL_ATTN_CEM) {
        return "its attention is no descent";
    }
    return subject->m->config.rope == MODEL_ROPE_PLAIN
               ? "under plain rotary positions a step is along no gradient"
               : NULL;
}

static void by_curvature(verify_cem *q, const verify_cem_point *at, const double *v, double *bent,
                         verify_outcome *outcome)
{
    const double square = q->reach * q->reach / q->tau;
    const double saturation = q->reach * dyn_vector_norm(at->u, q->width) / q->tau;
    verify_cem_bend(q, at->u, v, bent);
    outcome->left = -dyn_vector_dot(v, bent, q->width);
    outcome->right = 0.0;
    outcome->scale = square;
    outcome->tolerance = q->terms * ROUND * square * (8.0 + 8.0 * saturation);
}

static void by_tangent(verify_cem *q, const verify_cem_point *at, const double *v, double distance,
                       double *y, verify_outcome *outcome)
{
    double away = 0.0;
    double along = 0.0;
    for (size_t i = 0; i < q->width; i++) {
        y[i] = at->u[i] + distance * v[i];
        along += at->force[i] * (y[i] - at->u[i]);
        away += (y[i] - at->u[i]) * (y[i] - at->u[i]);
    }
    const verify_cem_value there = verify_cem_evaluate(q, y, NULL);
    outcome->left = there.energy;
    outcome->right = at->at.energy - along;
    outcome->scale = q->reach * (1.0 + sqrt(away));
    outcome->tolerance = there.rounding + at->at.rounding +
                         sqrt(away) * (at->at.force_rounding + q->terms * ROUND * q->reach);
}

static kern_status check_concave(const verify_record *record, verify_work *work,
                                 verify_outcome *outcome, kern_error *err)
{
    verify_cem q;
    verify_cem_point at;
    size_t side = 0;
    double distance = 0.0;
    double *room = NULL;
    const double *v = NULL;
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(verify_record_get_word(record, "by", sides, &side, err));
    KERN_TRY(verify_record_get(record, "v", 1, q.width, &v, err));
    KERN_TRY(verify_record_get_number(record, "distance", &distance, err));
    KERN_TRY(verify_cem_point_init(&at, &q, work, err));
    KERN_TRY(verify_work_take(work, q.width, &room, err));
    if (q.kind != VERIFY_CEM_ATTENTION || q.rope == VERIFY_CEM_PLAIN) {
        outcome->skipped = true;
        return KERN_OK;
    }
    memcpy(at.x, q.x, q.width * sizeof *q.x);
    verify_cem_visit(&q, &at);
    if (side == 0) {
        by_curvature(&q, &at, v, room, outcome);
    } else {
        by_tangent(&q, &at, v, distance, room, outcome);
    }
    return KERN_OK;
}

/* The top eigenvector of the Hessian at u for v. */
static kern_status sharpen_concave(verify_record *record, verify_work *work, size_t budget,
                                   kern_error *err)
{
    verify_cem q;
    double *u = NULL;
    double *h = NULL;
    double *values = NULL;
    double *vectors = NULL;
    double *v = NULL;
    (void)budget;
    KERN_TRY(verify_cem_read(&q, record, work, err));
    const size_t d = q.width;
    KERN_TRY(verify_record_edit(record, "v", 1, d, &v, err));
    KERN_TRY(verify_work_take(work, d, &u, err));
    KERN_TRY(verify_work_take(work, d * d, &h, err));
    KERN_TRY(verify_work_take(work, d * d, &vectors, err));
    KERN_TRY(verify_work_take(work, d, &values, err));
    (void)verify_cem_see(&q, q.x, u);
    for (size_t i = 0; i < d; i++) {
        memset(v, 0, d * sizeof *v);
        v[i] = 1.0;
        verify_cem_bend(&q, u, v, h + i * d);
        for (size_t j = 0; j < d; j++) {
            h[i * d + j] = -h[i * d + j];
        }
    }
    verify_dense_symmetric(d, h, values, vectors);
    memcpy(v, vectors + (d - 1) * d, d * sizeof *v);
    return KERN_OK;
}

/* ---- descent with the norm once ---------------------------------------------------------------
 */

static kern_status draw_once(const verify_subject *subject, kern_rng *rng, size_t trial,
                             verify_work *work, verify_record *record, kern_error *err)
{
    const verify_cem_options of = {.place = VERIFY_CEM_ONCE,
                                   .rope = trial % 2 == 0 ? VERIFY_CEM_UNTURNED : VERIFY_CEM_TURNED,
                                   .diag = (verify_cem_diag)(trial / 2 % 3),
                                   .precond = (verify_cem_precond)(trial / 6 % 3),
                                   .eta = pow(10.0, 6.0 * kern_rng_uniform(rng) - 3.0)};
    size_t width = 0;
    (void)subject;
    (void)work;
    KERN_TRY(verify_cem_draw_attention(record, rng, &of, err));
    KERN_TRY(verify_record_get_size(record, "width", 1, 64, &width, err));
    return of.precond == VERIFY_CEM_DLR ? verify_cem_put_dlr(record, rng, width, err) : KERN_OK;
}

/* P ≻ 0, and the energy as a function of the state itself. */
static kern_status meets(const verify_cem *q, verify_work *work, bool *met, kern_error *err)
{
    *met = q->kind == VERIFY_CEM_ATTENTION && q->place == VERIFY_CEM_ONCE &&
           q->rope != VERIFY_CEM_PLAIN && q->eta > 0.0;
    for (size_t i = 0; q->precond == VERIFY_CEM_GAMMA && i < q->width; i++) {
        *met = *met && q->factor * q->gamma[i] > 0.0;
    }
    if (q->precond == VERIFY_CEM_DLR) {
        double *p = NULL;
        KERN_TRY(verify_work_take(work, q->width * q->width, &p, err));
        memcpy(p, q->p, q->width * q->width * sizeof *p);
        *met = *met && verify_dense_is_positive(q->width, p);
    }
    return KERN_OK;
}

static kern_status check_once(const verify_record *record, verify_work *work,
                              verify_outcome *outcome, kern_error *err)
{
    verify_cem q;
    verify_cem_point from;
    verify_cem_point to;
    bool met = false;
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(meets(&q, work, &met, err));
    if (!met) {
        outcome->skipped = true;
        return KERN_OK;
    }
    KERN_TRY(verify_cem_first_step(&q, &from, &to, work, err));
    double along = 0.0;
    double away = 0.0;
    for (size_t i = 0; i < q.width; i++) {
        const double moved = to.x[i] - from.x[i];
        along += from.force[i] * moved;
        away += moved * moved;
    }
    outcome->left = to.at.energy;
    outcome->right = from.at.energy - along;
    outcome->scale = q.reach * (1.0 + sqrt(away));
    outcome->tolerance = to.rounding + from.rounding +
                         sqrt(away) * (from.at.force_rounding + q.terms * ROUND * q.reach) +
                         to.moved_rounding * q.reach;
    verify_outcome_add(outcome, "fall", from.at.energy - to.at.energy);
    return KERN_OK;
}

#define CONCAVE                                                                                    \
    .name = "cem-concavity", .kind = VERIFY_THEOREM,                                               \
    .statement = "The interaction energy of CEM on a fixed history, rotary positions exact or "    \
                 "none, is concave in the state that it sees.",                                    \
    .source = "docs/theory.md, section 14: minus log-sum-exp of affine scores",                    \
    .measured = "left: v'Hv, H the Hessian, or the energy at y; right: 0, or the value at y of "   \
                "the tangent at u"

const verify_claim verify_cem_concavity = {
    CONCAVE,
    .needs = VERIFY_RANDOM,
    .trials = 100000,
    .draw = draw_concave,
    .check = check_concave,
    .sharpen = sharpen_concave,
};

const verify_claim verify_cem_concavity_run = {
    CONCAVE,
    .needs = VERIFY_RUN,
    .trials = 512,
    .applies = applies_concave,
    .draw = draw_concave_run,
    .check = check_concave,
    .sharpen = sharpen_concave,
};

const verify_claim verify_cem_descent_once = {
    .name = "cem-descent-once",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement =
        "With the norm once, a fixed history, rotary positions exact or none and P positive "
        "definite, every step of CEM attention lowers the energy by at least eta G'PG, "
        "whatever eta > 0.",
    .source = "docs/theory.md, section 14",
    .measured = "left: the energy after the step; right: the energy before it less eta G'PG",
    .trials = 100000,
    .draw = draw_once,
    .check = check_once,
};
