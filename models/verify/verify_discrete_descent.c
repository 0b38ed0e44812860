/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * discrete-descent: a step size below which the energy of a token with a frozen prefix falls.
 *
 * Derivation. x′ = x − cΓv with v = ∇E(g), Γ = diag(γ), g = Γx̂ + δ. For an upper bound m ≥ 0 of
 * the curvature of E on [g, g′],
 *   E(g′) − E(g) ≤ v·Γ(x̂′ − x̂) + (m/2)|Γ(x̂′ − x̂)|².
 * Γv = −(x′ − x)/c, and (x′ − x)·(x̂′ − x̂) ≥ ((σ + σ′)/2)|x̂′ − x̂|² (norm-monotone), hence
 *   E(g′) − E(g) ≤ −½ [(σ + σ′)/c − mγ²max] |x̂′ − x̂|²,
 * which is at most 0 when c mγ²max ≤ σ + σ′. Since σ′ depends on c, that is a condition on the step
 * made, not an interval of c: for c → ∞ σ′ grows like c, and a step may be covered again. It is
 * evaluated here as it stands, with the σ′ of the step. c ≤ σ/(mγ²max) is always enough.
 *
 * Equality holds for RMSNorm, ε = 0, γ = 1 and ∇²E = m·1, which one instance in eight is; so the
 * constant cannot be better.
 *
 * Rounding: verify_nrgpt_compare bounds it for the change and the step; m and γ enter with a
 * relative error of less than 1e-14, which the bounds of norms are lifted by.
 */
#include "models/verify/verify_discrete_descent.h"

#include "models/model_dynamics.h"
#include "models/verify/verify_climb.h"
#include "models/verify/verify_nrgpt_instance.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char source[] =
    "docs/theory.md, section 8, from the descent lemma and convexity of the norm's potential; "
    "B. T. Polyak 1963 for the lemma, N. Dehmamy et al. 2025, arXiv 2512.16762, for the model";

/* An instance, ready to step. */
typedef struct stage {
    verify_nrgpt q;
    verify_nrgpt_sizes sizes;
    verify_nrgpt_point from, to;
} stage;

/* What one step is. */
typedef struct trial_step {
    verify_nrgpt_change change;
    double curvature; /* mγ²max */
    double sum;       /* σ + σ′ */
} trial_step;

static kern_status enter(stage *s, const verify_record *record, verify_work *work, kern_error *err)
{
    KERN_TRY(verify_nrgpt_read(&s->q, record, work, err));
    KERN_TRY(verify_nrgpt_measure(&s->q, &s->sizes, work, err));
    KERN_TRY(verify_nrgpt_point_init(&s->from, &s->q, work, err));
    KERN_TRY(verify_nrgpt_point_init(&s->to, &s->q, work, err));
    memcpy(s->from.x, s->q.x, s->q.width * sizeof *s->from.x);
    verify_nrgpt_visit(&s->q, &s->from);
    return KERN_OK;
}

static trial_step make_step(stage *s, double c)
{
    verify_nrgpt_descend(&s->q, &s->from, c, &s->to);
    const double m = verify_nrgpt_curvature(&s->q, &s->sizes, s->from.g, s->to.g);
    return (trial_step){.change = verify_nrgpt_compare(&s->q, &s->from, &s->to, c),
                        .curvature = m * s->q.gain * s->q.gain,
                        .sum = s->from.sigma + s->to.sigma};
}

/* c mγ²/(σ + σ′). */
static double find_share(const trial_step *t, double c)
{
    return t->curvature > 0.0 ? c * t->curvature / t->sum : 0.0;
}

/* ½mγ²|x̂′ − x̂|². */
static double find_rise(const trial_step *t)
{
    return 0.5 * t->curvature * t->change.moved;
}

/* ---- Drawing ------------------------------------------------------------------------------- */

static double draw_power(kern_rng *rng, double low, double high)
{
    return pow(10.0, low + (high - low) * kern_rng_uniform(rng));
}

static kern_status draw_instance(kern_rng *rng, size_t trial, verify_record *record,
                                 kern_error *err)
{
    static const verify_nrgpt_kinds kinds = {.smooth = true};
    return trial % 8 == 0 ? verify_nrgpt_draw_sharp(record, rng, err)
                          : verify_nrgpt_draw(record, rng, &kinds, err);
}

/* A step size close to the largest that is covered near a random one: halved until it is, and
 * raised again by bisection. */
static double choose_step(stage *s, kern_rng *rng)
{
    enum { HALVINGS = 200, BISECTIONS = 5 };
    const double m = verify_nrgpt_curvature(&s->q, &s->sizes, s->from.g, s->from.g);
    double c = draw_power(rng, -2.0, 4.0);
    if (m > 0.0) {
        c = s->from.sigma / (m * s->q.gain * s->q.gain) * draw_power(rng, -1.0, 2.0);
    }
    trial_step t = make_step(s, c);
    size_t halved = 0;
    for (; !(find_share(&t, c) <= 1.0) && halved < HALVINGS; halved++) {
        c *= 0.5;
        t = make_step(s, c);
    }
    double factor = 2.0;
    for (size_t k = 0; halved > 0 && k < BISECTIONS; k++) {
        factor = sqrt(factor);
        t = make_step(s, c * factor);
        c *= find_share(&t, c * factor) <= 1.0 ? factor : 1.0;
    }
    return c;
}

static kern_status draw_covered(const verify_subject *subject, kern_rng *rng, size_t trial,
                                verify_work *work, verify_record *record, kern_error *err)
{
    stage s;
    (void)subject;
    KERN_TRY(draw_instance(rng, trial, record, err));
    KERN_TRY(enter(&s, record, work, err));
    return verify_record_put_number(record, "c", choose_step(&s, rng), err);
}

static kern_status draw_any(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    (void)subject;
    (void)work;
    KERN_TRY(draw_instance(rng, trial, record, err));
    return verify_record_put_number(record, "c", draw_power(rng, -2.0, 4.0), err);
}

static kern_status draw_concave(const verify_subject *subject, kern_rng *rng, size_t trial,
                                verify_work *work, verify_record *record, kern_error *err)
{
    static const verify_nrgpt_kinds kinds = {.concave = true};
    (void)subject;
    (void)trial;
    (void)work;
    KERN_TRY(verify_nrgpt_draw(record, rng, &kinds, err));
    return verify_record_put_number(record, "c", draw_power(rng, -2.0, 4.0), err);
}

/* ---- Checking ------------------------------------------------------------------------------ */

static kern_status enter_step(stage *s, double *c, const verify_record *record, verify_work *work,
                              kern_error *err)
{
    KERN_TRY(verify_record_get_number(record, "c", c, err));
    if (!(*c > 0.0)) {
        return kern_raise(err, KERN_BAD_INPUT, "the step size c is %g, accepted is more than 0",
                          *c);
    }
    return enter(s, record, work, err);
}

/* Fills the outcome: the change on the left, and on the right what bounds it. A step too small to
 * move the state in double precision says nothing. */
static void judge(const trial_step *t, double right, double c, verify_outcome *outcome)
{
    outcome->left = t->change.actual;
    outcome->right = right;
    outcome->tolerance =
        t->change.rounding + 64.0 * DBL_EPSILON * (t->change.decrement + find_rise(t));
    outcome->scale = t->change.decrement + find_rise(t);
    outcome->skipped = outcome->skipped || t->change.moved == 0.0;
    verify_outcome_add(outcome, "share_of_bound", find_share(t, c));
}

static kern_status check_covered(const verify_record *record, verify_work *work,
                                 verify_outcome *outcome, kern_error *err)
{
    stage s;
    double c;
    KERN_TRY(enter_step(&s, &c, record, work, err));
    const trial_step t = make_step(&s, c);
    outcome->skipped = find_share(&t, c) > 1.0;
    judge(&t, 0.0, c, outcome);
    return KERN_OK;
}

/* The curvature bound times |x̂′ − x̂|² has the rounding of the latter. */
static kern_status check_lemma(const verify_record *record, verify_work *work,
                               verify_outcome *outcome, kern_error *err)
{
    stage s;
    double c;
    KERN_TRY(enter_step(&s, &c, record, work, err));
    const trial_step t = make_step(&s, c);
    const double place = s.from.place_rounding + s.to.place_rounding;
    judge(&t, find_rise(&t) - t.change.decrement, c, outcome);
    outcome->tolerance += t.curvature * sqrt(t.change.moved) * place;
    return KERN_OK;
}

static kern_status check_concave(const verify_record *record, verify_work *work,
                                 verify_outcome *outcome, kern_error *err)
{
    stage s;
    double c;
    KERN_TRY(enter_step(&s, &c, record, work, err));
    const trial_step t = make_step(&s, c);
    outcome->skipped = t.curvature > 0.0;
    judge(&t, -t.change.decrement, c, outcome);
    return KERN_OK;
}

static const char *const free_entries[] = {"c", "x", NULL};

static kern_status sharpen_covered(verify_record *record, verify_work *work, size_t budget,
                                   kern_error *err)
{
    return verify_climb(record, free_entries, check_covered, work, budget, err);
}

static kern_status sharpen_lemma(verify_record *record, verify_work *work, size_t budget,
                                 kern_error *err)
{
    return verify_climb(record, free_entries, check_lemma, work, budget, err);
}

static kern_status sharpen_concave(verify_record *record, verify_work *work, size_t budget,
                                   kern_error *err)
{
    return verify_climb(record, free_entries, check_concave, work, budget, err);
}

/* ---- Tightness ----------------------------------------------------------------------------- */

static verify_descent_sample take_sample(stage *s, double c)
{
    const trial_step t = make_step(s, c);
    return (verify_descent_sample){.c = c,
                                   .change = t.change.actual,
                                   .tolerance = t.change.rounding,
                                   .allowed = find_rise(&t) - t.change.decrement,
                                   .share = find_share(&t, c)};
}

kern_status verify_descent_curve(const verify_record *record, size_t count, const double *c,
                                 verify_descent_sample *samples, verify_work *work, kern_error *err)
{
    stage s;
    KERN_TRY(enter(&s, record, work, err));
    for (size_t i = 0; i < count; i++) {
        samples[i] = take_sample(&s, c[i]);
    }
    return KERN_OK;
}

static bool leaves(const verify_descent_sample *a)
{
    return !(a->share <= 1.0);
}

static bool rises(const verify_descent_sample *a)
{
    return !(a->change <= a->tolerance);
}

/* The smallest c between two sizes, the second of which `holds` for, to 1e-6. */
static double bisect(stage *s, double low, double high,
                     bool (*holds)(const verify_descent_sample *))
{
    while (high > low * (1.0 + 1e-6)) {
        const double middle = sqrt(low * high);
        const verify_descent_sample a = take_sample(s, middle);
        *(holds(&a) ? &high : &low) = middle;
    }
    return high;
}

static verify_descent_reach find_reach(stage *s)
{
    enum { DECADES = 6, EACH = 32 };
    const double m = verify_nrgpt_curvature(&s->q, &s->sizes, s->from.g, s->from.g);
    const double unit = m > 0.0 ? s->from.sigma / (m * s->q.gain * s->q.gain) : s->from.sigma;
    verify_descent_reach r = {.covered = HUGE_VAL, .rises = HUGE_VAL};
    double before = 0.0;
    for (int k = 0; k <= DECADES * EACH; k++) {
        const double c = unit * pow(10.0, -3.0 + (double)k / EACH);
        const verify_descent_sample a = take_sample(s, c);
        if (isinf(r.covered) && leaves(&a)) {
            r.covered = k == 0 ? c : bisect(s, before, c, leaves);
        }
        if (isinf(r.rises) && rises(&a)) {
            r.rises = k == 0 ? c : bisect(s, before, c, rises);
        }
        before = c;
    }
    r.limit = before;
    return r;
}

kern_status verify_descent_find_reach(const verify_record *record, verify_descent_reach *reach,
                                      verify_work *work, kern_error *err)
{
    stage s;
    KERN_TRY(enter(&s, record, work, err));
    *reach = find_reach(&s);
    return KERN_OK;
}

static kern_status draw_state(const verify_subject *subject, kern_rng *rng, size_t trial,
                              verify_work *work, verify_record *record, kern_error *err)
{
    (void)subject;
    (void)work;
    return draw_instance(rng, trial, record, err);
}

static kern_status check_tightness(const verify_record *record, verify_work *work,
                                   verify_outcome *outcome, kern_error *err)
{
    verify_descent_reach r;
    KERN_TRY(verify_descent_find_reach(record, &r, work, err));
    const double nothing = (double)NAN;
    outcome->left = r.covered;
    outcome->right = r.rises;
    outcome->scale = r.rises;
    outcome->skipped = isinf(r.rises) || isinf(r.covered);
    verify_outcome_add(outcome, "covered_up_to", isinf(r.covered) ? nothing : r.covered);
    verify_outcome_add(outcome, "rises_from", isinf(r.rises) ? nothing : r.rises);
    verify_outcome_add(outcome, "ratio", outcome->skipped ? nothing : r.rises / r.covered);
    verify_outcome_add(outcome, "never_rises", isinf(r.rises) ? 1.0 : 0.0);
    return KERN_OK;
}

/* ---- Of a run ------------------------------------------------------------------------------ */

static kern_status draw_run(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    const size_t prompt = trial % subject->n_prompts;
    const size_t token = kern_rng_below(rng, (uint32_t)subject->prompts[prompt].tokens);
    const size_t step = kern_rng_below(rng, (uint32_t)subject->steps);
    const size_t d = subject->width;
    const bool exact = subject->m->config.update == MODEL_UPDATE_EXACT;
    KERN_TRY(verify_nrgpt_put_run(record, subject, prompt, step, token, work, err));
    KERN_TRY(verify_record_put_word(record, "update", exact ? "exact" : "published", err));
    KERN_TRY(verify_record_put_copy(record, "eta", d, d, subject->eta, err));
    const double c = model_dynamics_scalar_eta(subject->m);
    return isnan(c) ? KERN_OK : verify_record_put_number(record, "c", c, err);
}

/* x′ = x − ηv. */
static void move_run(stage *s, const double *eta, const double *v)
{
    const size_t d = s->q.width;
    for (size_t i = 0; i < d; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < d; j++) {
            sum += eta[i * d + j] * v[j];
        }
        s->to.x[i] = s->from.x[i] - sum;
    }
    verify_nrgpt_visit(&s->q, &s->to);
}

static kern_status check_run(const verify_record *record, verify_work *work,
                             verify_outcome *outcome, kern_error *err)
{
    static const char *const updates[] = {"published", "exact", NULL};
    stage s;
    size_t update;
    const double *eta = NULL;
    double *v = NULL;
    KERN_TRY(enter(&s, record, work, err));
    KERN_TRY(verify_record_get_word(record, "update", updates, &update, err));
    KERN_TRY(verify_record_get(record, "eta", s.q.width, s.q.width, &eta, err));
    KERN_TRY(verify_work_take(work, s.q.width, &v, err));
    (void)verify_nrgpt_evaluate(&s.q, s.from.g, update == 1, v);
    move_run(&s, eta, v);
    outcome->left = s.to.energy - s.from.energy;
    outcome->tolerance = s.from.rounding + s.to.rounding;
    const verify_entry *c = verify_record_find(record, "c");
    const double m = verify_nrgpt_curvature(&s.q, &s.sizes, s.from.g, s.to.g);
    verify_outcome_add(outcome, "rising_fraction", outcome->left > outcome->tolerance ? 1.0 : 0.0);
    verify_outcome_add(outcome, "sigma", s.from.sigma);
    verify_outcome_add(outcome, "share_of_bound",
                       c == NULL
                           ? (double)NAN
                           : c->values[0] * m * s.q.gain * s.q.gain / (s.from.sigma + s.to.sigma));
    return KERN_OK;
}

/* ---- Claims -------------------------------------------------------------------------------- */

const verify_claim verify_discrete_descent = {
    .name = "discrete-descent",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "With eta = c diag(gamma), a norm and a frozen prefix, a step whose c is at most "
                 "(sigma + sigma')/(m max gamma^2) does not raise the token's energy, m >= 0 "
                 "bounding its curvature from above between the two states",
    .source = source,
    .measured = "left: change of the energy over one step; right: 0",
    .trials = 105000,
    .budget = 48,
    .draw = draw_covered,
    .check = check_covered,
    .sharpen = sharpen_covered,
};

const verify_claim verify_discrete_descent_lemma = {
    .name = "discrete-descent-lemma",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement =
        "With eta = c diag(gamma), a norm and a frozen prefix, a step of any c > 0 changes "
        "the token's energy by at most -1/2 ((sigma + sigma')/c - m max gamma^2) "
        "|dxhat|^2, with equality for an isotropic Hessian under RMSNorm with eps = 0",
    .source = source,
    .measured = "left: change of the energy over one step; right: the bound",
    .trials = 105000,
    .budget = 48,
    .draw = draw_any,
    .check = check_lemma,
    .sharpen = sharpen_lemma,
};

const verify_claim verify_discrete_descent_concave = {
    .name = "discrete-descent-concave",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "With eta = c diag(gamma), a norm, a frozen prefix and a concave energy (strict "
                 "mask, alpha >= 0, FF1 with ReLU or softplus, s >= 0), a step of any c > 0 lowers "
                 "the token's energy by at least (sigma + sigma')/(2c) |dxhat|^2",
    .source = source,
    .measured = "left: change of the energy over one step, c from 0.01 to 10000; right: minus "
                "(sigma + sigma')/(2c) |dxhat|^2",
    .trials = 105000,
    .budget = 48,
    .draw = draw_concave,
    .check = check_concave,
    .sharpen = sharpen_concave,
};

const verify_claim verify_discrete_descent_tightness = {
    .name = "discrete-descent-tightness",
    .kind = VERIFY_STATISTIC,
    .needs = VERIFY_RANDOM,
    .statement = "How far the largest step size that discrete-descent covers is from the smallest "
                 "that raises the energy",
    .source = source,
    .measured = "left: largest c up to which every step is covered; right: smallest c found that "
                "raises the energy",
    .trials = 2000,
    .draw = draw_state,
    .check = check_tightness,
};

const verify_claim verify_discrete_descent_run = {
    .name = "discrete-descent",
    .kind = VERIFY_PROPERTY,
    .needs = VERIFY_RUN,
    .statement = "No step of the run's block raises a token's energy while its prefix is frozen",
    .source = source,
    .measured = "left: change of the energy over one step of the trained eta, prefix frozen; "
                "right: 0",
    .trials = 400,
    .applies = verify_nrgpt_applies,
    .draw = draw_run,
    .check = check_run,
};
