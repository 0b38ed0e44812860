/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which steps never raise the attention energy of CEM when the norm stands in every step.
 *
 * cem-unconditional-descent. ε is concave (log-sum-exp of affine scores), so with w = γ ⊙ G,
 * G = −∇ε at n(x), and x̂ = x/r,
 *   ε(n(x′)) − ε(n(x)) ≤ −G·(n(x′) − n(x)) = −w·(x̂′ − x̂).
 * With P = c diag(γ) the step is x′ − x = η c w, and (x′ − x)·(x̂′ − x̂) ≥ ((r + r′)/2)|x̂′ − x̂|²
 * (norm-monotone), hence
 *   ε(n(x′)) ≤ ε(n(x)) − (r + r′)/(2ηc) |x̂′ − x̂|²
 * for every η > 0, every sign pattern of γ, zeros included, and every ε₀ ≥ 0. Rotary positions may
 * be exact or none: under plain ones G is no gradient.
 *
 * cem-dlr-not-monotone and cem-identity-not-monotone. Let K = P diag(γ)⁻¹, which is symmetric when
 * γ = 1 or P = I. To first order a step changes the energy by −(η/r) wᵀΠKw with Π = I − x̂x̂ᵀ/D. Let
 * λ, λ′ be the extreme eigenvalues of K and v, v′ their eigenvectors; x̂ ∝ v + v′ and w = x̂/|x̂| −
 * t (v − v′)/√2 give Kx̂/|x̂| the part κ = (λ − λ′)/2 along the second, so that wᵀΠKw = t²μ − tκ with
 * μ = (λ + λ′)/2, which is least, −κ²/(4μ), at t = κ/(2μ). So whenever K is no multiple of 1 there
 * is a force for which the energy rises. A history of one token, with W_Q = G and W_K c = 1, makes
 * the energy linear, ε = −u·G with that G. The search then only has to find a good step size.
 *
 * Rounding: as verify_cem_instance.h says for the two energies and for the step; a difference of x̂
 * is off by (D + 8)u(|x̂| + |x̂′|) and twice what the step is off by over r′, so the decrement q|x̂′ −
 * x̂|² by 2q|x̂′ − x̂| times that.
 */
#include "models/verify/verify_cem_run.h"
#include "models/verify/verify_dense.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- drawing ----------------------------------------------------------------------------------
 */

static const double epsilons[] = {0.0, 1e-5, 0.5};

static kern_status draw_gamma(const verify_subject *subject, kern_rng *rng, size_t trial,
                              verify_work *work, verify_record *record, kern_error *err)
{
    const verify_cem_options of = {.place = VERIFY_CEM_STEP,
                                   .rope = trial % 2 == 0 ? VERIFY_CEM_UNTURNED : VERIFY_CEM_TURNED,
                                   .diag = (verify_cem_diag)(trial / 2 % 3),
                                   .precond = VERIFY_CEM_GAMMA,
                                   .eta = pow(10.0, 6.0 * kern_rng_uniform(rng) - 3.0),
                                   .epsilon = epsilons[trial / 6 % 3],
                                   .signed_gamma = true};
    (void)subject;
    (void)work;
    return verify_cem_draw_attention(record, rng, &of, err);
}

static kern_status draw_dlr(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    const verify_cem_options of = {.place = VERIFY_CEM_STEP,
                                   .rope = VERIFY_CEM_UNTURNED,
                                   .diag = VERIFY_CEM_NO_DIAG,
                                   .precond = VERIFY_CEM_DLR,
                                   .eta = 1.0,
                                   .unit_gamma = true};
    size_t width = 0;
    (void)subject;
    (void)trial;
    (void)work;
    KERN_TRY(verify_cem_draw_attention(record, rng, &of, err));
    KERN_TRY(verify_record_get_size(record, "width", 1, 64, &width, err));
    return verify_cem_put_dlr(record, rng, width, err);
}

static kern_status draw_identity(const verify_subject *subject, kern_rng *rng, size_t trial,
                                 verify_work *work, verify_record *record, kern_error *err)
{
    const verify_cem_options of = {.place = VERIFY_CEM_STEP,
                                   .rope = VERIFY_CEM_UNTURNED,
                                   .diag = VERIFY_CEM_NO_DIAG,
                                   .precond = VERIFY_CEM_IDENTITY,
                                   .eta = 1.0};
    (void)subject;
    (void)trial;
    (void)work;
    return verify_cem_draw_attention(record, rng, &of, err);
}

/* ---- checking ---------------------------------------------------------------------------------
 */

typedef struct one_step {
    verify_cem q;
    verify_cem_point from;
    verify_cem_point to;
} one_step;

static kern_status take_step(one_step *s, const verify_record *record, verify_work *work,
                             kern_error *err)
{
    KERN_TRY(verify_cem_read(&s->q, record, work, err));
    return verify_cem_first_step(&s->q, &s->from, &s->to, work, err);
}

static void put_energies(const one_step *s, verify_outcome *outcome)
{
    outcome->left = s->to.at.energy;
    outcome->right = s->from.at.energy;
    outcome->tolerance = s->to.rounding + s->from.rounding;
    outcome->scale = s->q.reach * (1.0 + s->q.gain * sqrt((double)s->q.width));
}

static bool descends(const verify_cem *q)
{
    return q->kind == VERIFY_CEM_ATTENTION && q->place == VERIFY_CEM_STEP &&
           q->rope != VERIFY_CEM_PLAIN && q->precond == VERIFY_CEM_GAMMA &&
           q->eta * q->factor > 0.0;
}

/* Takes the decrement off the right side. */
static void subtract_decrement(const one_step *s, verify_outcome *outcome)
{
    const size_t d = s->q.width;
    double turned = 0.0;
    double length = 0.0;
    for (size_t i = 0; i < d; i++) {
        const double a = s->from.x[i] / s->from.r;
        const double b = s->to.x[i] / s->to.r;
        turned += (b - a) * (b - a);
        length += a * a + b * b;
    }
    const double factor = (s->from.r + s->to.r) / (2.0 * s->q.eta * s->q.factor);
    const double off = (double)(d + 8) * 0.5 * DBL_EPSILON * 2.0 * sqrt(length) +
                       2.0 * s->to.moved_rounding / s->to.r;
    outcome->right -= factor * turned;
    outcome->tolerance += factor * off * (2.0 * sqrt(turned) + off);
    verify_outcome_add(outcome, "fall", s->from.at.energy - s->to.at.energy);
    verify_outcome_add(outcome, "decrement", factor * turned);
}

static kern_status check_gamma(const verify_record *record, verify_work *work,
                               verify_outcome *outcome, kern_error *err)
{
    one_step s;
    KERN_TRY(take_step(&s, record, work, err));
    if (!descends(&s.q) || !(s.from.r > 0.0)) {
        outcome->skipped = true;
        return KERN_OK;
    }
    put_energies(&s, outcome);
    subtract_decrement(&s, outcome);
    return KERN_OK;
}

static kern_status check_any(const verify_record *record, verify_work *work,
                             verify_outcome *outcome, kern_error *err)
{
    one_step s;
    KERN_TRY(take_step(&s, record, work, err));
    if (s.q.place != VERIFY_CEM_STEP || s.q.rope == VERIFY_CEM_PLAIN || !(s.from.r > 0.0) ||
        !(s.q.eta > 0.0)) {
        outcome->skipped = true;
        return KERN_OK;
    }
    if (s.q.precond == VERIFY_CEM_DLR) {
        outcome->skipped = !verify_dense_is_positive(s.q.width, s.q.p);
    }
    put_energies(&s, outcome);
    return KERN_OK;
}

/* ---- searching --------------------------------------------------------------------------------
 */

/* K = P diag(γ)⁻¹ of an instance that makes it symmetric. */
static void make_k(const verify_cem *q, double *k)
{
    const size_t d = q->width;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            const double p = q->precond == VERIFY_CEM_DLR ? q->p[i * d + j] : i == j ? 1.0 : 0.0;
            k[i * d + j] = p / q->gamma[j];
        }
    }
}

/* x, and the force G, of the header. */
static void choose(const verify_cem *q, const double *vectors, const double *values, double *x,
                   double *force)
{
    const size_t d = q->width;
    const double *low = vectors;
    const double *high = vectors + (d - 1) * d;
    const double kappa = 0.5 * (values[d - 1] - values[0]);
    const double mean = 0.5 * (values[d - 1] + values[0]);
    const double t = mean > 0.0 ? 0.5 * kappa / mean : 0.5;
    for (size_t i = 0; i < d; i++) {
        const double along = (high[i] + low[i]) * sqrt(0.5);
        const double across = (high[i] - low[i]) * sqrt(0.5);
        x[i] = along * sqrt((double)d);
        force[i] = (along - t * across) / q->gamma[i];
    }
}

/* One token in the history, and weights that make its force `force`. */
static kern_status make_linear(verify_record *record, const verify_cem *q, const double *force,
                               kern_error *err)
{
    const size_t d = q->width;
    const size_t rows = q->heads * q->head;
    double *wq = NULL;
    double *wk = NULL;
    double *c = NULL;
    KERN_TRY(verify_record_edit(record, "wq", rows, d, &wq, err));
    KERN_TRY(verify_record_edit(record, "wk", rows, d, &wk, err));
    KERN_TRY(verify_record_edit(record, "c", q->history, d, &c, err));
    memset(wq, 0, rows * d * sizeof *wq);
    memset(wk, 0, rows * d * sizeof *wk);
    memcpy(wq, force, d * sizeof *wq);
    wk[0] = 1.0;
    for (size_t j = 0; j < q->history; j++) {
        memset(c + j * d, 0, d * sizeof *c);
        c[j * d] = 1.0;
    }
    return KERN_OK;
}

/* Of `budget` steps, powers of two up to 8, that which rises most. */
static kern_status choose_step(verify_record *record, verify_work *work, size_t budget,
                               kern_error *err)
{
    double *eta = NULL;
    double best = 1.0;
    double most = -HUGE_VAL;
    KERN_TRY(verify_record_edit(record, "eta", 1, 1, &eta, err));
    for (size_t i = 0; i < budget; i++) {
        const verify_mark mark = verify_work_mark(work);
        one_step s;
        *eta = ldexp(8.0, -(int)i);
        KERN_TRY(take_step(&s, record, work, err));
        const double rise = s.to.at.energy - s.from.at.energy;
        if (rise > most) {
            most = rise;
            best = *eta;
        }
        verify_work_rewind(work, mark);
    }
    *eta = best;
    return KERN_OK;
}

static kern_status sharpen_any(verify_record *record, verify_work *work, size_t budget,
                               kern_error *err)
{
    verify_cem q;
    double *k = NULL;
    double *vectors = NULL;
    double *values = NULL;
    double *force = NULL;
    double *x = NULL;
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(verify_work_take(work, q.width * q.width, &k, err));
    KERN_TRY(verify_work_take(work, q.width * q.width, &vectors, err));
    KERN_TRY(verify_work_take(work, q.width, &values, err));
    KERN_TRY(verify_work_take(work, q.width, &force, err));
    KERN_TRY(verify_record_edit(record, "x", 1, q.width, &x, err));
    make_k(&q, k);
    verify_dense_symmetric(q.width, k, values, vectors);
    choose(&q, vectors, values, x, force);
    KERN_TRY(make_linear(record, &q, force, err));
    return choose_step(record, work, budget, err);
}

/* ---- claims -----------------------------------------------------------------------------------
 */

#define MEASURED "left: the energy after the step; right: the energy before it"

const verify_claim verify_cem_unconditional_descent = {
    .name = "cem-unconditional-descent",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement =
        "With P = c diag(gamma), c > 0, the norm in every step, a fixed history and rotary "
        "positions exact or none, no step of CEM attention raises the token's energy, "
        "whatever eta > 0, the signs of gamma and epsilon >= 0: it falls by at least "
        "(r + r')/(2 eta c) |xn' - xn|^2.",
    .source = "docs/theory.md, section 14",
    .measured = "left: the energy after the step; right: the energy before it less the decrement",
    .trials = 100000,
    .draw = draw_gamma,
    .check = check_gamma,
};

const verify_claim verify_cem_dlr_not_monotone = {
    .name = "cem-dlr-not-monotone",
    .kind = VERIFY_REFUTED,
    .needs = VERIFY_RANDOM,
    .statement =
        "With a positive definite P = diag(softplus delta) + U V' + V U', the norm in every "
        "step, gamma = 1 and a fixed history, no step of CEM attention raises the token's "
        "energy.",
    .source = "a reading of J. Xu et al. 2026 (arXiv 2605.07588); refuted in docs/theory.md, "
              "section 14",
    .measured = MEASURED,
    .trials = 64,
    .budget = 16,
    .draw = draw_dlr,
    .check = check_any,
    .sharpen = sharpen_any,
};

const verify_claim verify_cem_identity_not_monotone = {
    .name = "cem-identity-not-monotone",
    .kind = VERIFY_REFUTED,
    .needs = VERIFY_RANDOM,
    .statement =
        "With P = I, the norm in every step, any gamma > 0 and a fixed history, no step of "
        "CEM attention raises the token's energy.",
    .source = "a reading of J. Xu et al. 2026 (arXiv 2605.07588); refuted in docs/theory.md, "
              "section 14",
    .measured = MEASURED,
    .trials = 64,
    .budget = 16,
    .draw = draw_identity,
    .check = check_any,
    .sharpen = sharpen_any,
};

/* ---- of a run ---------------------------------------------------------------------------------
 */

static const char *applies_gamma(const verify_subject *subject)
{
    const char *other = verify_cem_applies(subject);
    if (other != NULL) {
        return other;
    }
    const model_config *c = &subject->m->config;
    if (c->attn != MODEL_ATTN_CEM || c->cem.precond != MODEL_PRECOND_GAMMA ||
        c->cem.norm != MODEL_PLACE_STEP || c->rope == MODEL_ROPE_PLAIN) {
        return "the statement is about CEM attention with P = c diag(gamma), the norm in every "
               "step "
               "and rotary positions exact or none";
    }
    return c->cem.eta > 0.0 || c->cem.eta_trained ? NULL : "the step size is not positive";
}

static kern_status draw_run_gamma(const verify_subject *subject, kern_rng *rng, size_t trial,
                                  verify_work *work, verify_record *record, kern_error *err)
{
    (void)rng;
    return verify_cem_draw_run(record, subject, VERIFY_CEM_ATTN_PART, trial, false, work, err);
}

const verify_claim verify_cem_unconditional_descent_run = {
    .name = "cem-unconditional-descent",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RUN,
    .statement =
        "With P = c diag(gamma), c > 0, the norm in every step, a fixed history and rotary "
        "positions exact or none, no step of this run's attention raises a token's energy.",
    .source = "docs/theory.md, section 14",
    .measured = "left: the energy after the step; right: the energy before it less the decrement",
    .trials = 512,
    .applies = applies_gamma,
    .draw = draw_run_gamma,
    .check = check_gamma,
};
