/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * asymptotic-stability: what is true of long orbits, and what is not.
 *
 * Theorem. Let E be concave in g (strict mask, α ≥ 0; FF1 with ReLU or softplus and s ≥ 0, or
 * none), the prefix frozen and η = cΓ with any c > 0. By discrete-descent-concave every step lowers
 * E by at least d_t = (σ_t + σ_{t+1})/(2c) |x̂_{t+1} − x̂_t|², and by energy-bounded E ≥ B. Hence E
 * never rises, and Σ d_t ≤ E(0) − B for every number of steps, so the sum over all steps is finite.
 *
 * What is checked of an orbit of T steps: E_{t+1} ≤ E_t for each t, and Σ_{t<T} d_t ≤ E(0) − B. The
 * states are those computed: each step is compared with the state it was computed from, so rounding
 * does not add up along the orbit in the first, and adds up to Σ_t of the single bounds
 * (verify_nrgpt_compare) in the second, T u of the sum included. That the sum is finite for T → ∞
 * is the theorem's; the check is that no partial sum exceeds a bound that does not depend on T.
 *
 * Refuted, 1: that x converges. At a critical point of E on the normalised manifold Γ∇E lies along
 * x̂ and 1, which the norm hides but x′ = x − cΓ∇E does not. With one key and no feed-forward part
 * ∇E is constant and every step has the same length; half of the instances are of that kind, so
 * that the witness holds for all times. In the others σ grows about linearly.
 *
 * Refuted, 2: the theorem for FF2W. W₂ = −W₁ᵀ makes E = g·W₁ᵀf(W₁g) = Σ z f(z), which is convex at
 * 0 and pulls x inwards: σ shrinks until c/σ is past the step bound, and late steps rise, although
 * the first step was at a quarter of the bound.
 */
#include "models/verify/verify_asymptotic.h"

#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STEPS_MAX = 10000000 };

static const char source[] = "docs/theory.md, section 9; N. Dehmamy et al. 2025, arXiv 2512.16762, "
                             "section 2.3, for the statement on asymptotic stability";

/* An instance and its orbit. */
typedef struct journey {
    verify_nrgpt q;
    double c;
    size_t steps, late;
    verify_orbit orbit;
} journey;

static kern_status travel(journey *j, const verify_record *record, verify_work *work,
                          kern_error *err)
{
    KERN_TRY(verify_nrgpt_read(&j->q, record, work, err));
    KERN_TRY(verify_record_get_number(record, "c", &j->c, err));
    KERN_TRY(verify_record_get_size(record, "steps", 1, STEPS_MAX, &j->steps, err));
    KERN_TRY(verify_record_get_size(record, "late", 0, j->steps - 1, &j->late, err));
    return verify_orbit_run(&j->q, j->c, j->steps, j->late, NULL, NULL, work, &j->orbit, err);
}

static kern_status put_orbit(verify_record *record, double c, size_t steps, size_t late,
                             kern_error *err)
{
    KERN_TRY(verify_record_put_number(record, "c", c, err));
    KERN_TRY(verify_record_put_number(record, "steps", (double)steps, err));
    return verify_record_put_number(record, "late", (double)late, err);
}

static double draw_power(kern_rng *rng, double low, double high)
{
    return pow(10.0, low + (high - low) * kern_rng_uniform(rng));
}

/* ---- Theorem ------------------------------------------------------------------------------- */

static const verify_nrgpt_kinds concave = {.concave = true};

static kern_status draw_orbit(const verify_subject *subject, kern_rng *rng, size_t trial,
                              verify_work *work, verify_record *record, kern_error *err)
{
    (void)subject;
    (void)trial;
    (void)work;
    KERN_TRY(verify_nrgpt_draw(record, rng, &concave, err));
    return put_orbit(record, draw_power(rng, -2.0, 2.0), 300, 0, err);
}

static kern_status check_descent(const verify_record *record, verify_work *work,
                                 verify_outcome *outcome, kern_error *err)
{
    journey j;
    KERN_TRY(travel(&j, record, work, err));
    outcome->left = j.orbit.worst + j.orbit.worst_rounding;
    outcome->right = 0.0;
    outcome->tolerance = j.orbit.worst_rounding;
    outcome->scale = fabs(j.orbit.first_energy) + fabs(j.orbit.energy);
    outcome->skipped = j.orbit.first_move == 0.0; /* no unit is on: nothing moves */
    verify_outcome_add(outcome, "rising_steps", (double)j.orbit.rises);
    verify_outcome_add(outcome, "sigma_growth", j.orbit.sigma / j.orbit.first_sigma);
    verify_outcome_add(outcome, "tangent_ratio", j.orbit.tangent / j.orbit.first_tangent);
    return KERN_OK;
}

static kern_status check_sum(const verify_record *record, verify_work *work,
                             verify_outcome *outcome, kern_error *err)
{
    journey j;
    verify_nrgpt_sizes sizes;
    KERN_TRY(travel(&j, record, work, err));
    KERN_TRY(verify_nrgpt_measure(&j.q, &sizes, work, err));
    const double floor_energy = verify_nrgpt_floor(&j.q, &sizes);
    outcome->left = j.orbit.decrements;
    outcome->right = j.orbit.first_energy - floor_energy;
    outcome->tolerance = j.orbit.rounding + (double)j.steps * DBL_EPSILON * j.orbit.decrements +
                         64.0 * DBL_EPSILON * fabs(floor_energy);
    outcome->scale = outcome->right;
    verify_outcome_add(outcome, "share_of_drop",
                       j.orbit.decrements / (j.orbit.first_energy - j.orbit.energy));
    return KERN_OK;
}

/* ---- Refuted: x converges ------------------------------------------------------------------ */

/* One key, no feed-forward part. */
static kern_status draw_linear(kern_rng *rng, verify_record *record, kern_error *err)
{
    static const size_t d = 6;
    double *values[5];
    static const char *const names[] = {"gamma", "delta", "context", "J", "x"};
    const size_t rows[] = {1, 1, 1, d, 1};
    KERN_TRY(verify_record_put_word(record, "norm", "layernorm", err));
    KERN_TRY(verify_record_put_word(record, "mask", "strict", err));
    KERN_TRY(verify_record_put_word(record, "ff", "ff1", err));
    KERN_TRY(verify_record_put_word(record, "act", "relu", err));
    KERN_TRY(verify_record_put_number(record, "width", (double)d, err));
    KERN_TRY(verify_record_put_number(record, "heads", 1.0, err));
    KERN_TRY(verify_record_put_number(record, "prefix", 1.0, err));
    KERN_TRY(verify_record_put_number(record, "hidden", 0.0, err));
    KERN_TRY(verify_record_put_number(record, "beta", 1.0, err));
    KERN_TRY(verify_record_put_number(record, "scale_ff", 1.0, err));
    KERN_TRY(verify_record_put_number(record, "epsilon", 1e-5, err));
    KERN_TRY(verify_record_put_copy(record, "alpha", 1, 1, (const double[]){1.0}, err));
    for (size_t k = 0; k < 5; k++) {
        KERN_TRY(verify_record_put(record, names[k], rows[k], d, &values[k], err));
        for (size_t i = 0; i < rows[k] * d; i++) {
            values[k][i] = k == 0 ? 1.0 : k == 1 ? 0.0 : kern_rng_normal(rng);
        }
    }
    return KERN_OK;
}

static kern_status draw_state(const verify_subject *subject, kern_rng *rng, size_t trial,
                              verify_work *work, verify_record *record, kern_error *err)
{
    (void)subject;
    (void)work;
    if (trial % 2 == 0) {
        KERN_TRY(draw_linear(rng, record, err));
    } else {
        KERN_TRY(verify_nrgpt_draw(record, rng, &concave, err));
    }
    return put_orbit(record, draw_power(rng, -2.0, 1.0), 1000, 0, err);
}

static kern_status check_state(const verify_record *record, verify_work *work,
                               verify_outcome *outcome, kern_error *err)
{
    journey j;
    double size = 0.0;
    KERN_TRY(travel(&j, record, work, err));
    for (size_t i = 0; i < j.q.width; i++) {
        size += fabs(j.q.x[i]);
    }
    size += (double)j.steps * fmax(j.orbit.first_move, j.orbit.last_move);
    outcome->left = j.orbit.last_move;
    outcome->right = 1e-3 * j.orbit.first_move;
    outcome->tolerance = 8.0 * DBL_EPSILON * size;
    outcome->scale = j.orbit.first_move;
    verify_outcome_add(outcome, "sigma_growth", j.orbit.sigma / j.orbit.first_sigma);
    verify_outcome_add(outcome, "tangent_ratio", j.orbit.tangent / j.orbit.first_tangent);
    return KERN_OK;
}

/* ---- Refuted: FF2W ------------------------------------------------------------------------- */

/* c mγ²max/(2σ) of the first state: at most 1/4, so that the first step is covered by far. */
static double find_first_share(const journey *j, const verify_nrgpt_sizes *sizes, double *g)
{
    const double m = verify_nrgpt_curvature(&j->q, sizes, g, g);
    return j->c * m * j->q.gain * j->q.gain / (2.0 * j->orbit.first_sigma);
}

static kern_status draw_ff2w(const verify_subject *subject, kern_rng *rng, size_t trial,
                             verify_work *work, verify_record *record, kern_error *err)
{
    const verify_nrgpt_kinds kinds = {.strict = true, .smooth = true, .folded = true};
    journey j = {.c = 1.0};
    verify_nrgpt_sizes sizes;
    double *g = NULL;
    (void)subject;
    (void)trial;
    KERN_TRY(verify_nrgpt_draw(record, rng, &kinds, err));
    KERN_TRY(verify_nrgpt_read(&j.q, record, work, err));
    KERN_TRY(verify_nrgpt_measure(&j.q, &sizes, work, err));
    KERN_TRY(verify_work_take(work, 2 * j.q.width, &g, err));
    j.orbit.first_sigma = verify_nrgpt_normalise(&j.q, j.q.x, g + j.q.width, g);
    return put_orbit(record, 0.25 / find_first_share(&j, &sizes, g), 2000, 1000, err);
}

static kern_status check_ff2w(const verify_record *record, verify_work *work,
                              verify_outcome *outcome, kern_error *err)
{
    journey j;
    verify_nrgpt_sizes sizes;
    double *g = NULL;
    KERN_TRY(travel(&j, record, work, err));
    KERN_TRY(verify_nrgpt_measure(&j.q, &sizes, work, err));
    KERN_TRY(verify_work_take(work, 2 * j.q.width, &g, err));
    (void)verify_nrgpt_normalise(&j.q, j.q.x, g + j.q.width, g);
    const double share = find_first_share(&j, &sizes, g);
    outcome->skipped = !(share <= 0.26);
    outcome->left = j.orbit.worst + j.orbit.worst_rounding;
    outcome->right = 0.0;
    outcome->tolerance = j.orbit.worst_rounding;
    outcome->scale = fabs(j.orbit.first_energy) + fabs(j.orbit.energy);
    verify_outcome_add(outcome, "first_share_of_bound", share);
    verify_outcome_add(outcome, "rising_late", (double)j.orbit.rises);
    verify_outcome_add(outcome, "sigma_growth", j.orbit.sigma / j.orbit.first_sigma);
    verify_outcome_add(outcome, "tangent_ratio", j.orbit.tangent / j.orbit.first_tangent);
    return KERN_OK;
}

/* The orbit is made twice as long until late steps rise. */
static kern_status sharpen_ff2w(verify_record *record, verify_work *work, size_t budget,
                                kern_error *err)
{
    double *steps = NULL;
    double *late = NULL;
    KERN_TRY(verify_record_edit(record, "steps", 1, 1, &steps, err));
    KERN_TRY(verify_record_edit(record, "late", 1, 1, &late, err));
    for (size_t k = 0; k < budget; k++) {
        verify_outcome outcome = {0};
        const verify_mark mark = verify_work_mark(work);
        KERN_TRY(check_ff2w(record, work, &outcome, err));
        verify_work_rewind(work, mark);
        if (!outcome.skipped && verify_outcome_violates(&outcome)) {
            return KERN_OK;
        }
        *steps *= 2.0;
        *late *= 2.0;
    }
    return KERN_OK;
}

/* ---- Claims -------------------------------------------------------------------------------- */

const verify_claim verify_asymptotic_stability = {
    .name = "asymptotic-stability",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "With eta = c diag(gamma), c > 0, a norm, a frozen prefix and a concave energy "
                 "(strict mask, alpha >= 0, FF1 with ReLU or softplus, s >= 0), a token's energy "
                 "never rises along its orbit",
    .source = source,
    .measured = "left: the largest change of the energy in a step of 300 against its rounding; "
                "right: 0",
    .trials = 5000,
    .draw = draw_orbit,
    .check = check_descent,
};

const verify_claim verify_asymptotic_stability_sum = {
    .name = "asymptotic-stability-sum",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement =
        "Under the same conditions the decrements (sigma + sigma')/(2c) |dxhat|^2 that the "
        "steps are certain of sum to at most E(0) minus the bound of energy-bounded, "
        "whatever the number of steps",
    .source = source,
    .measured = "left: the sum over 300 steps; right: E(0) minus the bound",
    .trials = 5000,
    .draw = draw_orbit,
    .check = check_sum,
};

const verify_claim verify_asymptotic_stability_state = {
    .name = "asymptotic-stability-state",
    .kind = VERIFY_REFUTED,
    .needs = VERIFY_RANDOM,
    .statement =
        "Under the same conditions the state x converges: within 1000 steps its steps fall "
        "below a thousandth of the first",
    .source = source,
    .measured = "left: |x(1000) - x(999)|; right: 0.001 |x(1) - x(0)|",
    .trials = 64,
    .draw = draw_state,
    .check = check_state,
};

const verify_claim verify_asymptotic_stability_ff2w = {
    .name = "asymptotic-stability-ff2w",
    .kind = VERIFY_REFUTED,
    .needs = VERIFY_RANDOM,
    .statement = "With eta = c diag(gamma), a norm and a frozen prefix, the energy of a token with "
                 "FF2W no longer rises after a transient, if c is a quarter of what "
                 "discrete-descent allows at the start",
    .source = source,
    .measured = "left: the largest change of the energy in a step of the orbit's second half "
                "(2000 steps or more) against its rounding; right: 0",
    .trials = 64,
    .budget = 5,
    .draw = draw_ff2w,
    .check = check_ff2w,
    .sharpen = sharpen_ff2w,
};
