/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * asymptotic-stability-runs: what orbits do that no theorem covers, as numbers.
 *
 * Each instance is a sequence of tokens, followed twice: with all tokens moving in parallel, as the
 * model does it, and with the last one moving alone on the prefix of the start. Of the latter,
 * tangential gradient and σ are fitted by powers of t, by least squares of their logarithms at 32
 * times, equally spaced on a logarithmic axis over the last sixteenth fold of the orbit. In the
 * flow σ grows linearly and the direction moves in the time ∫dt/σ ~ log t, so that what decays
 * exponentially there decays like a power of t.
 *
 * A step rises when it raises a token's energy by more than 4 times the bounds on the rounding of
 * both energies, which leaves room for that of the prefix.
 */
#include "models/verify/verify_asymptotic.h"

#include "models/verify/verify_table.h"

#include <math.h>
#include <string.h>

enum { RANDOM_TOKENS = 5, STEPS = 2000, SAMPLES = 32, STEPS_MAX = 10000000 };

static const char *const updates[] = {"published", "exact", NULL};

/* A sequence on its way. */
typedef struct sequence {
    verify_nrgpt q;
    size_t tokens, steps;
    bool exact;
    const double *eta;
    double *states;           /* tokens × D */
    double *context;          /* tokens × D: g of the states */
    double *energies, *noise; /* tokens each, of the step before */
    double *least;            /* smallest energy so far */
    size_t *rising;           /* 2 × tokens: in the first and in the second half */
    verify_nrgpt_point point;
    double *v;
} sequence;

/* Sums of a straight line through (log t, log y). */
typedef struct power_fit {
    double n, x, y, xx, xy;
} power_fit;

static void add_sample(power_fit *f, double t, double value)
{
    const double x = log(t);
    const double y = log(value);
    if (isfinite(y)) {
        f->n += 1.0;
        f->x += x;
        f->y += y;
        f->xx += x * x;
        f->xy += x * y;
    }
}

/* The power; NaN without two samples. */
static double find_power(const power_fit *f)
{
    return (f->n * f->xy - f->x * f->y) / (f->n * f->xx - f->x * f->x);
}

/* ---- Drawing ------------------------------------------------------------------------------- */

static kern_status draw_random(const verify_subject *subject, kern_rng *rng, size_t trial,
                               verify_work *work, verify_record *record, kern_error *err)
{
    static const verify_nrgpt_kinds kinds = {
        .strict = true, .no_ff2w = true, .tokens = RANDOM_TOKENS};
    double *states = NULL;
    double *eta = NULL;
    (void)subject;
    (void)trial;
    (void)work;
    KERN_TRY(verify_nrgpt_draw(record, rng, &kinds, err));
    const verify_entry *gamma = verify_record_find(record, "gamma");
    const size_t d = gamma->cols;
    KERN_TRY(verify_record_put(record, "states", RANDOM_TOKENS, d, &states, err));
    for (size_t i = 0; i < RANDOM_TOKENS * d; i++) {
        states[i] = kern_rng_normal(rng);
    }
    KERN_TRY(verify_record_put(record, "eta", d, d, &eta, err));
    for (size_t i = 0; i < d; i++) {
        eta[i * d + i] = 0.1 * gamma->values[i];
    }
    KERN_TRY(verify_record_put_word(record, "update", "exact", err));
    return verify_record_put_number(record, "steps", STEPS, err);
}

static kern_status draw_run(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    const size_t prompt = trial % subject->n_prompts;
    const size_t tokens = subject->prompts[prompt].tokens;
    const size_t d = subject->width;
    const bool exact = subject->m->config.update == MODEL_UPDATE_EXACT;
    (void)rng;
    KERN_TRY(verify_nrgpt_put_run(record, subject, prompt, 0, tokens - 1, work, err));
    KERN_TRY(
        verify_record_put_copy(record, "states", tokens, d, subject->prompts[prompt].states, err));
    KERN_TRY(verify_record_put_copy(record, "eta", d, d, subject->eta, err));
    KERN_TRY(verify_record_put_word(record, "update", exact ? "exact" : "published", err));
    return verify_record_put_number(record, "steps", (double)(10 * subject->steps), err);
}

/* ---- Following ----------------------------------------------------------------------------- */

static kern_status enter(sequence *s, const verify_record *record, verify_work *work,
                         kern_error *err)
{
    const double *states = NULL;
    size_t update;
    void *counts = NULL;
    *s = (sequence){0};
    KERN_TRY(verify_nrgpt_read(&s->q, record, work, err));
    s->tokens = s->q.prefix + 1;
    const size_t n = s->tokens * s->q.width;
    KERN_TRY(verify_record_get(record, "states", s->tokens, s->q.width, &states, err));
    KERN_TRY(verify_record_get(record, "eta", s->q.width, s->q.width, &s->eta, err));
    KERN_TRY(verify_record_get_word(record, "update", updates, &update, err));
    KERN_TRY(verify_record_get_size(record, "steps", 2, STEPS_MAX, &s->steps, err));
    KERN_TRY(verify_nrgpt_point_init(&s->point, &s->q, work, err));
    KERN_TRY(verify_work_take(work, 2 * n + 3 * s->tokens + s->q.width, &s->states, err));
    KERN_TRY(verify_work_take_bytes(work, 2 * s->tokens, sizeof *s->rising, &counts, err));
    s->exact = update == 1;
    s->context = s->states + n;
    s->energies = s->context + n;
    s->noise = s->energies + s->tokens;
    s->least = s->noise + s->tokens;
    s->v = s->least + s->tokens;
    s->rising = counts;
    memset(s->rising, 0, 2 * s->tokens * sizeof *s->rising);
    memcpy(s->states, states, n * sizeof *states);
    return KERN_OK;
}

/* g of all tokens. */
static void fill_context(sequence *s)
{
    const size_t d = s->q.width;
    for (size_t a = 0; a < s->tokens; a++) {
        (void)verify_nrgpt_normalise(&s->q, s->states + a * d, s->point.unit, s->context + a * d);
    }
}

/* Visits token a on the prefix in s->context, and counts. */
static void look(sequence *s, size_t a, size_t step)
{
    verify_nrgpt_hold(&s->q, a, s->context);
    memcpy(s->point.x, s->states + a * s->q.width, s->q.width * sizeof *s->point.x);
    verify_nrgpt_visit(&s->q, &s->point);
    const double change = s->point.energy - s->energies[a];
    if (step > 0 && !(change <= 4.0 * (s->point.rounding + s->noise[a]))) {
        s->rising[(2 * step > s->steps ? s->tokens : 0) + a]++;
    }
    s->energies[a] = s->point.energy;
    s->noise[a] = s->point.rounding;
    s->least[a] = step == 0 ? s->point.energy : fmin(s->least[a], s->point.energy);
}

/* x −= ηv for the token looked at. */
static void move(sequence *s, size_t a)
{
    const size_t d = s->q.width;
    const double *v = s->point.gradient;
    if (!s->exact && s->q.inclusive) {
        (void)verify_nrgpt_evaluate(&s->q, s->point.g, false, s->v);
        v = s->v;
    }
    for (size_t i = 0; i < d; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < d; j++) {
            sum += s->eta[i * d + j] * v[j];
        }
        s->states[a * d + i] -= sum;
    }
}

/* All tokens in parallel. */
static kern_status follow_all(sequence *s, verify_work *work, kern_error *err)
{
    for (size_t t = 0; t <= s->steps; t++) {
        if (t % 64 == 0 && !verify_work_goes_on(work)) {
            return kern_raise(err, KERN_INTERRUPTED, "interrupted");
        }
        fill_context(s);
        for (size_t a = 0; a < s->tokens; a++) {
            look(s, a, t);
            if (t < s->steps) {
                move(s, a);
            }
        }
    }
    return KERN_OK;
}

/* What the last token does alone. */
typedef struct lone {
    power_fit tangent, sigma;
    double first_sigma, first_tangent, last_sigma, last_tangent;
    size_t rises;
} lone;

/* The samples' times, the next of which is *k; a time is used once. */
static bool is_sample(size_t t, size_t steps, size_t *k)
{
    bool hit = false;
    while (*k < SAMPLES) {
        const double at = (double)steps * pow(16.0, ((double)*k + 1.0) / SAMPLES - 1.0);
        if (at > (double)t) {
            break;
        }
        hit = true;
        (*k)++;
    }
    return hit;
}

static kern_status follow_last(sequence *s, lone *l, verify_work *work, kern_error *err)
{
    const size_t a = s->tokens - 1;
    size_t k = 0;
    *l = (lone){0};
    fill_context(s);
    for (size_t t = 0; t <= s->steps; t++) {
        if (t % 64 == 0 && !verify_work_goes_on(work)) {
            return kern_raise(err, KERN_INTERRUPTED, "interrupted");
        }
        look(s, a, t);
        l->last_sigma = s->point.sigma;
        l->last_tangent = verify_orbit_tangent(&s->q, &s->point);
        l->first_sigma = t == 0 ? l->last_sigma : l->first_sigma;
        l->first_tangent = t == 0 ? l->last_tangent : l->first_tangent;
        if (t > 0 && is_sample(t, s->steps, &k)) {
            add_sample(&l->tangent, (double)t, l->last_tangent);
            add_sample(&l->sigma, (double)t, l->last_sigma);
        }
        move(s, a);
    }
    l->rises = s->rising[a] + s->rising[s->tokens + a];
    return KERN_OK;
}

/* ---- Checking ------------------------------------------------------------------------------ */

/* Share of steps that rise, of tokens from `first` on, in one half of the orbit. */
static double find_share(const sequence *s, size_t first, size_t last, size_t half)
{
    size_t sum = 0;
    for (size_t a = first; a < last; a++) {
        sum += s->rising[half * s->tokens + a];
    }
    return last > first ? 2.0 * (double)sum / (double)(s->steps * (last - first)) : (double)NAN;
}

static void report(const sequence *s, const lone *l, verify_outcome *outcome)
{
    double above = 0.0;
    for (size_t a = 0; a < s->tokens; a++) {
        above = fmax(above, s->energies[a] - s->least[a]);
    }
    verify_outcome_add(outcome, "tangent_exponent", find_power(&l->tangent));
    verify_outcome_add(outcome, "tangent_ratio", l->last_tangent / l->first_tangent);
    verify_outcome_add(outcome, "sigma_exponent", find_power(&l->sigma));
    verify_outcome_add(outcome, "sigma_growth", l->last_sigma / l->first_sigma);
    verify_outcome_add(outcome, "rising_alone", (double)l->rises / (double)s->steps);
    verify_outcome_add(outcome, "rising_first_token",
                       0.5 * (find_share(s, 0, 1, 0) + find_share(s, 0, 1, 1)));
    verify_outcome_add(outcome, "rising_early", find_share(s, 1, s->tokens, 0));
    verify_outcome_add(outcome, "rising_late", find_share(s, 1, s->tokens, 1));
    verify_outcome_add(outcome, "tokens_rising_late",
                       find_share(s, 1, s->tokens, 1) > 0.0 ? 1.0 : 0.0);
    verify_outcome_add(outcome, "above_least_energy", above);
}

static kern_status check(const verify_record *record, verify_work *work, verify_outcome *outcome,
                         kern_error *err)
{
    sequence s;
    lone l;
    KERN_TRY(enter(&s, record, work, err));
    KERN_TRY(follow_last(&s, &l, work, err));
    KERN_TRY(enter(&s, record, work, err));
    KERN_TRY(follow_all(&s, work, err));
    report(&s, &l, outcome);
    outcome->left = s.tokens > 1 ? find_share(&s, 1, s.tokens, 1) : 0.0;
    outcome->right = 0.0;
    outcome->tolerance = 0.0;
    return KERN_OK;
}

/* ---- Claims -------------------------------------------------------------------------------- */

static const char source[] = "docs/theory.md, section 9; N. Dehmamy et al. 2025, arXiv 2512.16762, "
                             "section 2.3, for the statement that energies fall after a transient";

const verify_claim verify_asymptotic_stability_runs = {
    .name = "asymptotic-stability-runs",
    .kind = VERIFY_STATISTIC,
    .needs = VERIFY_RANDOM,
    .statement = "How tangential gradient and sigma go with the number of steps, and how often "
                 "energies rise: five tokens, strict mask, FF1, eta = 0.1 diag(gamma), 2000 steps",
    .source = source,
    .measured = "left: share of steps in the second half that raise the energy of tokens after the "
                "first, in parallel; right: 0",
    .trials = 100,
    .draw = draw_random,
    .check = check,
};

const verify_claim verify_asymptotic_stability_runs_run = {
    .name = "asymptotic-stability-runs",
    .kind = VERIFY_STATISTIC,
    .needs = VERIFY_RUN,
    .statement = "How tangential gradient and sigma go with the number of steps, and how often "
                 "energies rise, over twenty times the trained number of steps",
    .source = source,
    .measured = "left: share of steps in the second half that raise the energy of tokens after the "
                "first, in parallel; right: 0",
    .trials = 8,
    .applies = verify_nrgpt_applies,
    .draw = draw_run,
    .check = check,
};
