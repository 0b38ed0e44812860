/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * energy-bounded: a norm bounds the energy from below, and nothing else does.
 *
 * With a norm |g| ≤ R = γ_max √D + |δ|. With a_B = ∂score_B/∂g = J_hᵀ g_B for the prefix,
 *   E_AT ≥ −Σ_h |α_h| [(1/β) log n + max(max_B |a_B|, ‖J_h‖R) R], n summands, ‖J_h‖R only where
 *          the token attends itself,
 *   E_FF1 ≥ −(‖W‖R + |b| + √M k)² for s ≥ 0, and ≥ 0 for s < 0, as |f(z)| ≤ |z| + k: k = 0 for GELU
 *           and ReLU, log 2 for softplus,
 *   E_FF2W ≥ −R (‖W₂‖(‖W₁‖R + |b₁| + √M k) + |b₂|).
 * The bound that is usually written has ‖J_h‖R in place of max_B |a_B|, which is no smaller.
 *
 * Without a norm a concave energy that is not constant falls for ever along a ray: E(x + tu) ≤
 * E(x) + t u·∇E(x), and u = −∇E(x) makes the slope negative. The witness is such a ray with a t at
 * which the energy is below the bound that the same token would have with an RMSNorm; extras give
 * the slope at the start, which proves that there is no bound at all, and the mean slope up to t,
 * which concavity makes at least as steep.
 *
 * Rounding: verify_nrgpt_visit bounds that of the energy; the bound is a sum of fewer than 64
 * rounded operations on positive numbers, its norms being lifted beyond their own rounding.
 */
#include "models/verify/verify_climb.h"
#include "models/verify/verify_nrgpt_instance.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char source[] =
    "docs/theory.md, section 6; N. Dehmamy et al. 2025, arXiv 2512.16762, for the "
    "model and the statement that norms bound its energy";

/* ---- With a norm --------------------------------------------------------------------------- */

static kern_status draw_bounded(const verify_subject *subject, kern_rng *rng, size_t trial,
                                verify_work *work, verify_record *record, kern_error *err)
{
    static const verify_nrgpt_kinds kinds = {0};
    (void)subject;
    (void)trial;
    (void)work;
    return verify_nrgpt_draw(record, rng, &kinds, err);
}

static kern_status check_bounded(const verify_record *record, verify_work *work,
                                 verify_outcome *outcome, kern_error *err)
{
    verify_nrgpt q;
    verify_nrgpt_sizes sizes;
    verify_nrgpt_point p;
    KERN_TRY(verify_nrgpt_read(&q, record, work, err));
    KERN_TRY(verify_nrgpt_measure(&q, &sizes, work, err));
    KERN_TRY(verify_nrgpt_point_init(&p, &q, work, err));
    memcpy(p.x, q.x, q.width * sizeof *p.x);
    verify_nrgpt_visit(&q, &p);
    outcome->left = verify_nrgpt_floor(&q, &sizes);
    outcome->right = p.energy;
    outcome->tolerance = p.rounding + 64.0 * DBL_EPSILON * fabs(outcome->left);
    outcome->scale = fabs(outcome->left) + fabs(outcome->right);
    verify_outcome_add(outcome, "energy_of_bound",
                       outcome->left < 0.0 ? p.energy / outcome->left : (double)NAN);
    return KERN_OK;
}

static kern_status sharpen_bounded(verify_record *record, verify_work *work, size_t budget,
                                   kern_error *err)
{
    static const char *const names[] = {"x", NULL};
    return verify_climb(record, names, check_bounded, work, budget, err);
}

/* ---- Without ------------------------------------------------------------------------------- */

static kern_status draw_unbounded(const verify_subject *subject, kern_rng *rng, size_t trial,
                                  verify_work *work, verify_record *record, kern_error *err)
{
    static const verify_nrgpt_kinds kinds = {.concave = true, .no_norm = true};
    double *ray = NULL;
    (void)subject;
    (void)trial;
    (void)work;
    KERN_TRY(verify_nrgpt_draw(record, rng, &kinds, err));
    const size_t d = verify_record_find(record, "x")->cols;
    KERN_TRY(verify_record_put(record, "ray", 1, d, &ray, err));
    for (size_t i = 0; i < d; i++) {
        ray[i] = kern_rng_normal(rng) / sqrt((double)d);
    }
    return verify_record_put_number(record, "t", 1.0, err);
}

/* E(x + tu), its rounding, and u·∇E there. */
static double look(const verify_nrgpt *q, const double *u, double t, verify_nrgpt_point *p)
{
    double slope = 0.0;
    for (size_t i = 0; i < q->width; i++) {
        p->x[i] = q->x[i] + t * u[i];
    }
    verify_nrgpt_visit(q, p);
    for (size_t i = 0; i < q->width; i++) {
        slope += u[i] * p->gradient[i];
    }
    return slope;
}

/* x + tu rounds by u(|x| + 2t|u|) a coordinate, which the slope there turns into energy. */
static double find_ray_rounding(const verify_nrgpt *q, const double *u, double t,
                                const verify_nrgpt_point *p)
{
    double sum = 0.0;
    for (size_t i = 0; i < q->width; i++) {
        sum += fabs(p->gradient[i]) * (fabs(q->x[i]) + 2.0 * fabs(t * u[i]));
    }
    return DBL_EPSILON * sum;
}

static kern_status check_unbounded(const verify_record *record, verify_work *work,
                                   verify_outcome *outcome, kern_error *err)
{
    verify_nrgpt q;
    verify_nrgpt_sizes sizes;
    verify_nrgpt_point p;
    const double *ray = NULL;
    double t;
    KERN_TRY(verify_nrgpt_read(&q, record, work, err));
    KERN_TRY(verify_record_get(record, "ray", 1, q.width, &ray, err));
    KERN_TRY(verify_record_get_number(record, "t", &t, err));
    KERN_TRY(verify_nrgpt_measure(&q, &sizes, work, err));
    KERN_TRY(verify_nrgpt_point_init(&p, &q, work, err));
    sizes.radius = sqrt((double)q.width);
    const double slope = look(&q, ray, 0.0, &p);
    const double start = p.energy;
    (void)look(&q, ray, t, &p);
    outcome->left = verify_nrgpt_floor(&q, &sizes);
    outcome->right = p.energy;
    outcome->tolerance =
        p.rounding + find_ray_rounding(&q, ray, t, &p) + 64.0 * DBL_EPSILON * fabs(outcome->left);
    outcome->scale = fabs(outcome->left);
    verify_outcome_add(outcome, "slope_at_start", slope);
    verify_outcome_add(outcome, "mean_slope", (p.energy - start) / t);
    return KERN_OK;
}

/* The steepest ray, and t doubled until the energy is below the bound. */
static kern_status sharpen_unbounded(verify_record *record, verify_work *work, size_t budget,
                                     kern_error *err)
{
    verify_nrgpt q;
    verify_nrgpt_point p;
    double *ray = NULL;
    double *t = NULL;
    KERN_TRY(verify_nrgpt_read(&q, record, work, err));
    KERN_TRY(verify_record_edit(record, "ray", 1, q.width, &ray, err));
    KERN_TRY(verify_record_edit(record, "t", 1, 1, &t, err));
    KERN_TRY(verify_nrgpt_point_init(&p, &q, work, err));
    (void)look(&q, ray, 0.0, &p);
    for (size_t i = 0; i < q.width; i++) {
        ray[i] = -p.gradient[i];
    }
    for (size_t k = 0; k < budget; k++) {
        verify_outcome outcome = {0};
        const verify_mark mark = verify_work_mark(work);
        KERN_TRY(check_unbounded(record, work, &outcome, err));
        verify_work_rewind(work, mark);
        if (verify_outcome_violates(&outcome)) {
            return KERN_OK;
        }
        *t *= 2.0;
    }
    return KERN_OK;
}

/* ---- Of a run ------------------------------------------------------------------------------ */

static kern_status draw_run(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    const size_t prompt = trial % subject->n_prompts;
    const size_t token = kern_rng_below(rng, (uint32_t)subject->prompts[prompt].tokens);
    const size_t step = kern_rng_below(rng, (uint32_t)subject->steps + 1);
    return verify_nrgpt_put_run(record, subject, prompt, step, token, work, err);
}

/* ---- Claims -------------------------------------------------------------------------------- */

const verify_claim verify_energy_bounded = {
    .name = "energy-bounded",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "With a LayerNorm or an RMSNorm a token's energy is at least the explicit bound "
                 "that the norms of the parameters and R = max|gamma| sqrt(D) + |delta| give",
    .source = source,
    .measured = "left: the bound; right: the energy of a random state",
    .trials = 100000,
    .budget = 48,
    .draw = draw_bounded,
    .check = check_bounded,
    .sharpen = sharpen_bounded,
};

const verify_claim verify_energy_bounded_without_norm = {
    .name = "energy-bounded-without-norm",
    .kind = VERIFY_REFUTED,
    .needs = VERIFY_RANDOM,
    .statement = "Without a norm, too, a token's energy is at least the bound that it has with one",
    .source = source,
    .measured = "left: the bound of the same token with an RMSNorm; right: the energy far out on a "
                "ray along which it is concave and falls",
    .trials = 256,
    .budget = 120,
    .draw = draw_unbounded,
    .check = check_unbounded,
    .sharpen = sharpen_unbounded,
};

const verify_claim verify_energy_bounded_run = {
    .name = "energy-bounded",
    .kind = VERIFY_PROPERTY,
    .needs = VERIFY_RUN,
    .statement = "The energies of the run's tokens are at least the explicit bound",
    .source = source,
    .measured = "left: the bound; right: the energy of a token on its orbit",
    .trials = 64,
    .applies = verify_nrgpt_applies,
    .draw = draw_run,
    .check = check_bounded,
};
