/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * descent-condition: when the step −η∂E/∂g lowers the energy whatever the state and the gradient,
 * sym(ΓP(x)η) ⪰ 0 for all x; the theorem, its converse and their proofs stand in dyn_descent.h.
 *
 * Four claims. The theorem bounds the rate at which any η can raise the energy by its distance to
 * the certified family, so that members of it never do; its converse finds, for every η outside, a
 * state and a gradient at which the rate is the bound, also for distances of 10⁻¹². The refuted one
 * is what is often believed, that a positive definite η will do. Of a run it is a property.
 *
 * Rounding. The form vᵀΓPηv comes with a bound on its own (dyn_descent_form). Each entry of R =
 * Π(η − cΓ), and of Rv, is off by at most (D + 6)u of S_i = Σ_j |entry_ij v_j|, the mean that is
 * taken off included, so |Rv|²/(4c) by 2(D + 6)u|S|(|Rv| + |S|(D + 6)u)/(4c), S twice what it is
 * without the mean.
 */
#include "models/verify/verify_descent_instance.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>

static const char source[] =
    "docs/theory.md, sections 4 and 5; the sufficient condition eta = c diag(gamma) is "
    "proposition 2.1 of Dehmamy et al. 2025, NRGPT, arXiv 2512.16762";

/* V of a witness is within GAP of the bound, up to what a finite state costs for ε > 0. */
static const double GAP = 1e-6;
static const double STATE_COST = 1.0 / 256;

/* ---- the theorem ------------------------------------------------------------------------------
 */

/* |Γv||Q| with Q_i = Σ_j |η_ij v_j|, the size of what is compared. */
static double size_of(const verify_descent *q)
{
    const size_t d = q->system.width;
    double p = 0;
    double sum = 0;
    for (size_t i = 0; i < d; i++) {
        double row = 0;
        for (size_t j = 0; j < d; j++) {
            row += fabs(q->system.eta[i * d + j] * q->v[j]);
        }
        p += q->system.gamma[i] * q->v[i] * q->system.gamma[i] * q->v[i];
        sum += row * row;
    }
    return sqrt(p * sum);
}

/* |Π(η − cΓ)v|²/(4c), and its rounding. An entry of every column is taken off for LayerNorm, which
 * leaves exact zeros of a member. */
static double bound_of(const verify_descent *q, double *rounding)
{
    const dyn_descent_system *s = &q->system;
    const size_t d = s->width;
    double mean = 0;
    double square = 0;
    double magnitude = 0;
    for (size_t i = 0; i < d; i++) {
        double sum = 0;
        double size = 0;
        for (size_t j = 0; j < d; j++) {
            const double other = s->centre ? s->eta[(j + 1) % d * d + j] : 0.0;
            const double gain = i == j ? q->c * s->gamma[j] : 0.0;
            sum += (s->eta[i * d + j] - other - gain) * q->v[j];
            size += (fabs(s->eta[i * d + j] - other) + fabs(gain)) * fabs(q->v[j]);
        }
        q->found.x[i] = sum;
        mean += s->centre ? sum / (double)d : 0.0;
        magnitude += 4 * size * size;
    }
    for (size_t i = 0; i < d; i++) {
        square += (q->found.x[i] - mean) * (q->found.x[i] - mean);
    }
    const double step = ((double)d + 6) * DBL_EPSILON * sqrt(magnitude);
    *rounding = 2 * step * (sqrt(square) + step) / (4 * q->c);
    return square / (4 * q->c);
}

/* Half of the η are members, and half of their gradients lie almost in the kernel of PΓ, where the
 * rate is nearest to 0. For a member c is its own. */
static kern_status draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err)
{
    const size_t turn = trial + trial / VERIFY_SHARPEN_STRIDE; /* all kinds are sharpened */
    const verify_eta kind =
        turn % 4 < 2 ? VERIFY_ETA_MEMBER : (verify_eta)(1 + turn / 4 % (VERIFY_ETAS - 1));
    verify_descent q;
    double *c = NULL;
    double *v = NULL;
    (void)subject;
    KERN_TRY(verify_descent_draw(record, rng, trial, kind, err));
    if (kind != VERIFY_ETA_MEMBER) {
        return KERN_OK;
    }
    KERN_TRY(verify_descent_read(&q, record, work, err));
    const size_t d = q.system.width;
    KERN_TRY(verify_record_edit(record, "c", 1, 1, &c, err));
    KERN_TRY(verify_record_edit(record, "v", 1, d, &v, err));
    const double other = q.system.centre ? q.system.eta[(d - 1) * d] : 0.0;
    *c = (q.system.eta[0] - other) / q.system.gamma[0];
    const double size = pow(10.0, -8.0 * kern_rng_uniform(rng));
    for (size_t i = 0; turn / 4 % 2 == 0 && i < d; i++) {
        const double gain = q.system.gamma[i];
        v[i] = size * v[i] + (gain != 0 ? q.x[i] / gain : 0.0);
    }
    return KERN_OK;
}

static kern_status check(const verify_record *record, verify_work *work, verify_outcome *outcome,
                         kern_error *err)
{
    verify_descent q;
    double form;
    double error;
    double rounding;
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(dyn_descent_form(&q.system, q.x, q.v, &form, &error, err));
    outcome->left = -form;
    outcome->right = bound_of(&q, &rounding);
    outcome->tolerance = error + rounding;
    outcome->scale = size_of(&q);
    verify_outcome_add(outcome, "relative_rise", -form / outcome->scale);
    verify_outcome_add(outcome, "share_of_bound",
                       form < 0 && outcome->right > 0 ? -form / outcome->right : (double)NAN);
    return KERN_OK;
}

static kern_status sharpen(verify_record *record, verify_work *work, size_t budget, kern_error *err)
{
    (void)budget;
    return verify_descent_sharpen(record, work, err);
}

const verify_claim verify_descent_condition = {
    .name = "descent-condition",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement =
        "For LayerNorm (Pi = I - 11'/D) and RMSNorm (Pi = I), every eps >= 0, gamma, eta, c > 0, "
        "state x and gradient v = dE/dg, a step along -eta v raises the energy at no more than "
        "|Pi (eta - c diag(gamma)) v|^2/(4 c sigma) per unit of time; so with eta = c diag(gamma), "
        "or c diag(gamma) + 1 b' for LayerNorm, it never rises",
    .source = source,
    .measured = "left: -v' diag(gamma) P(x) eta v; right: |Pi (eta - c diag(gamma)) v|^2/(4 c)",
    .trials = 100000,
    .budget = 1,
    .draw = draw,
    .check = check,
    .sharpen = sharpen,
};

/* ---- the converse -----------------------------------------------------------------------------
 */

static kern_status draw_outsider(const verify_subject *subject, kern_rng *rng, size_t trial,
                                 verify_work *work, verify_record *record, kern_error *err)
{
    const verify_eta kind = (verify_eta)(1 + trial / 6 % (VERIFY_ETAS - 1));
    (void)subject;
    KERN_TRY(verify_descent_draw(record, rng, trial, kind, err));
    return verify_descent_sharpen(record, work, err);
}

/* ‖Γη‖_F. */
static double product_norm(const verify_descent *q)
{
    const size_t d = q->system.width;
    double sum = 0;
    for (size_t i = 0; i < d * d; i++) {
        const double entry = q->system.eta[i] * q->system.gamma[i / d];
        sum += entry * entry;
    }
    return sqrt(sum);
}

static double largest_gain(const verify_descent *q)
{
    double gain = 0;
    for (size_t i = 0; i < q->system.width; i++) {
        gain = fmax(gain, fabs(q->system.gamma[i]));
    }
    return gain;
}

/* ‖R‖₂ of the bound ‖R‖₂²/(4c) moves by up to uc·γ_max when c is rounded, and by the rounding of
 * the eigenvalue, D units of ‖R‖. */
static double bound_rounding(const verify_descent *q, double bound)
{
    const double length = sqrt(4 * q->c * bound);
    const double step = DBL_EPSILON * (q->c * largest_gain(q) + (double)q->system.width * length);
    return step * (2 * length + step) / (4 * q->c);
}

/* Twice the working precision leaves about 10⁻²⁸ of γ_max‖η‖_F of a form; what is below a hundred
 * times that is not told from 0. */
static bool is_resolved(const verify_descent *q, double bound)
{
    double square = 0;
    for (size_t i = 0; i < q->system.width * q->system.width; i++) {
        square += q->system.eta[i] * q->system.eta[i];
    }
    return bound > 1e-26 * largest_gain(q) * sqrt(square);
}

/* The bound at the c of the record is no less than its minimum over c. */
static kern_status check_outsider(const verify_record *record, verify_work *work,
                                  verify_outcome *outcome, kern_error *err)
{
    verify_descent q;
    double form;
    double error;
    double bound;
    double square = 0;
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(dyn_descent_bound(&q.system, q.c, q.work, &bound, err));
    KERN_TRY(dyn_descent_form(&q.system, q.x, q.v, &form, &error, err));
    for (size_t i = 0; i < q.system.width; i++) {
        square += q.v[i] * q.v[i];
    }
    outcome->left = bound * (1 - GAP - (q.system.epsilon > 0 ? STATE_COST : 0.0));
    outcome->right = -form / square;
    outcome->tolerance = error / square + bound_rounding(&q, bound);
    outcome->scale = bound;
    outcome->skipped = !is_resolved(&q, bound);
    if (!(form + error < 0)) {
        outcome->left = (double)INFINITY;
        outcome->label = "no witness found";
    }
    verify_outcome_add(outcome, "relative_eigenvalue", form / square / product_norm(&q));
    verify_outcome_add(outcome, "share_of_bound", outcome->right / bound);
    return KERN_OK;
}

const verify_claim verify_descent_condition_necessary = {
    .name = "descent-condition-necessary",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement =
        "For D >= 3, gamma not 0 and every eps >= 0, every eta other than c diag(gamma), or "
        "c diag(gamma) + 1 b' for LayerNorm, with c >= 0, raises the energy at some state and "
        "gradient (checked for relative distances of 1e-12 and more): the smallest eigenvalue of "
        "sym(diag(gamma) P(x) eta) over all x is "
        "-min over c > 0 of |Pi (eta - c diag(gamma))|_2^2/(4 c)",
    .source = source,
    .measured = "left: that minimum, less a 256th for eps > 0, where it is approached at large x; "
                "right: -v' diag(gamma) P(x) eta v/|v|^2 at the witness",
    .trials = 101000,
    .draw = draw_outsider,
    .check = check_outsider,
};

/* ---- what is often believed -------------------------------------------------------------------
 */

static kern_status draw_positive(const verify_subject *subject, kern_rng *rng, size_t trial,
                                 verify_work *work, verify_record *record, kern_error *err)
{
    (void)subject;
    (void)work;
    const size_t kinds = VERIFY_ETA_POSITIVE_SKEW - VERIFY_ETA_IDENTITY + 1;
    return verify_descent_draw(record, rng, trial,
                               (verify_eta)(VERIFY_ETA_IDENTITY + trial % kinds), err);
}

static kern_status check_sign(const verify_record *record, verify_work *work,
                              verify_outcome *outcome, kern_error *err)
{
    verify_descent q;
    double form;
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(dyn_descent_form(&q.system, q.x, q.v, &form, &outcome->tolerance, err));
    outcome->left = -form;
    outcome->right = 0;
    outcome->scale = size_of(&q);
    verify_outcome_add(outcome, "relative_rise", -form / outcome->scale);
    return KERN_OK;
}

const verify_claim verify_descent_condition_positive = {
    .name = "descent-condition-positive",
    .kind = VERIFY_REFUTED,
    .needs = VERIFY_RANDOM,
    .statement =
        "With a norm, gamma > 0 and an eta whose symmetric part is positive definite, such "
        "as the identity, a positive diagonal or S S' plus a skew part, a step along "
        "-eta dE/dg never raises the energy",
    .source =
        "what proposition 2.2 of Dehmamy et al. 2025, NRGPT, arXiv 2512.16762, says without a "
        "norm, carried over; refuted in docs/theory.md, section 4",
    .measured = "left: -v' diag(gamma) P(x) eta v; right: 0",
    .trials = 64,
    .budget = 1,
    .draw = draw_positive,
    .check = check_sign,
    .sharpen = sharpen,
};

/* ---- a run ------------------------------------------------------------------------------------
 */

static kern_status draw_run(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    (void)rng;
    (void)trial;
    KERN_TRY(verify_descent_put_run(record, subject, err));
    return verify_descent_sharpen(record, work, err);
}

static const char *label_of(const dyn_descent_certificate *c)
{
    static const char *const grounds[] = {
        [DYN_DESCENT_BY_FAMILY] = "certified: eta is in the family",
        [DYN_DESCENT_BY_NO_MOVE] = "certified: the normalised state cannot move",
        [DYN_DESCENT_BY_NO_GAIN] = "certified: gamma is 0, so that the energy is constant"};
    if (c->verdict == DYN_DESCENT_CERTIFIED) {
        return grounds[c->ground];
    }
    if (c->verdict == DYN_DESCENT_WITHIN_ROUNDING) {
        return "within rounding of the certified family";
    }
    return c->confirmed ? "not certified: the witness rises" : "not certified, no witness resolved";
}

/* What is said of the worst case, in every claim on it: with it the channel that takes the largest
 * share of the violation, counted from 0. */
static void add_certificate(const dyn_descent_certificate *c, size_t width, verify_outcome *outcome)
{
    size_t worst = 0;
    for (size_t i = 1; i < width; i++) {
        worst = c->share[i] > c->share[worst] ? i : worst;
    }
    verify_outcome_add(outcome, "channel", c->confirmed ? (double)worst : (double)NAN);
    verify_outcome_add(outcome, "channel_share", c->confirmed ? c->share[worst] : (double)NAN);
    verify_outcome_add(outcome, "relative_distance", c->relative_distance);
    verify_outcome_add(outcome, "smallest_eigenvalue", c->confirmed ? c->smallest : 0.0);
    verify_outcome_add(outcome, "relative_eigenvalue", c->confirmed ? c->relative : 0.0);
    verify_outcome_add(outcome, "bound", c->bound);
    verify_outcome_add(outcome, "gap", c->gap);
    verify_outcome_add(outcome, "skew_ratio", c->skew_ratio);
}

/* What η within rounding may do is allowed for: its bound. */
static kern_status check_run(const verify_record *record, verify_work *work,
                             verify_outcome *outcome, kern_error *err)
{
    verify_descent q;
    double form = 0;
    double error = 0;
    double square = 0;
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(dyn_descent_decide(&q.system, q.work, &q.found, err));
    for (size_t i = 0; i < q.system.width; i++) {
        square += q.v[i] * q.v[i];
    }
    if (square > 0) {
        KERN_TRY(dyn_descent_form(&q.system, q.x, q.v, &form, &error, err));
        form /= square;
        error /= square;
    }
    const dyn_descent_verdict verdict = q.found.verdict;
    const bool unseen = verdict == DYN_DESCENT_VIOLATED && !(form + error < 0);
    outcome->left = unseen ? fmax(q.found.bound, DBL_MIN) : -form;
    outcome->right = verdict == DYN_DESCENT_WITHIN_ROUNDING ? q.found.bound * (1 + GAP) : 0.0;
    outcome->tolerance = unseen ? 0.0 : error;
    outcome->scale = q.found.relative != 0 ? q.found.smallest / q.found.relative : 1.0;
    outcome->label = label_of(&q.found);
    add_certificate(&q.found, q.system.width, outcome);
    verify_outcome_add(outcome, "projection_c", q.found.c);
    verify_outcome_add(outcome, "cosine", q.found.cosine);
    verify_outcome_add(outcome, "least_rho", q.found.least_rho);
    return KERN_OK;
}

const verify_claim verify_descent_condition_run = {
    .name = "descent-condition",
    .kind = VERIFY_PROPERTY,
    .needs = VERIFY_RUN,
    .statement = "The run's eta is certified: with its gamma, a step along -eta dE/dg raises the "
                 "energy at no state and no gradient",
    .source = source,
    .measured = "left: -v' diag(gamma) P(x) eta v/|v|^2 at the worst state and gradient; right: 0, "
                "or what the rounding of eta allows",
    .trials = 1,
    .applies = verify_descent_applies,
    .draw = draw_run,
    .check = check_run,
};
