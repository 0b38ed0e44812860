/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * update-is-gradient: the step x′ − x is −η ∂E/∂g of the block's own energy.
 *
 * Derivation of the test. For any covector a, a·(x′ − x) = −(ηᵀa)·∇E. Along the segment from g to
 * g + h, h = ηᵀa, the work of that is the difference of two energies, which the formula of the
 * gradient has no part in:
 *   E(g + h) − E(g) + ∫₀¹ a·Δx(g + th) dt = 0,   Δx(g) = −ηv(g), v the vector the update follows.
 * So left is the modulus of this sum and right is 0.
 *
 * Tolerance. The integral is taken by Gauss's rule of 8 nodes, exact up to degree 15. The segment
 * is short: β|h·∂(s_B − s_C)/∂g| ≤ 0.3 and |w_j·h| ≤ 0.3 for every key and unit. The integrand is
 * analytic within a distance of π of the real line in these variables (zeros of Σ exp(β s_B), poles
 * of softplus), ten times the segment's length or more, and the rule is then off by less than
 * 4·20⁻¹⁶ ≈ 6e-21 of the integrand's size (L. N. Trefethen 2013, Approximation Theory and
 * Approximation Practice, theorem 19.3), which is far below rounding. ReLU is analytic where no
 * unit switches: the segment is halved until none does. What is left is the rounding of both
 * energies and of v (verify_nrgpt_evaluate), of h and of the sums.
 *
 * Refuted: the same of the published update under the inclusive mask. It leaves out
 * u = −Σ_h α_h p_A J_h g, one of the two slots of the token's own score; with η = 1 and a along u
 * the work differs by |u||a|. The strict mask has no such term.
 *
 * Of a run the step made by the graph engine is compared with −η∂E/∂g of this plain code, relative
 * to the latter, so that left is by how much the block is not a gradient of its own energy.
 */
#include "models/verify/verify_nrgpt_instance.h"

#include "dyn/dyn_vector.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { NODES = 8 };

static const char source[] =
    "docs/theory.md, section 11; N. Dehmamy et al. 2025, arXiv 2512.16762, for the "
    "model and its update";

/* Gauss–Legendre on −1 … 1 (M. Abramowitz and I. A. Stegun 1964, table 25.4): the positive nodes.
 */
static const double nodes[NODES / 2] = {0.183434642495649805, 0.525532409916328986,
                                        0.796666477413626740, 0.960289856497536232};
static const double weights[NODES / 2] = {0.362683783378361983, 0.313706645877887287,
                                          0.222381034453374471, 0.101228536290376259};

/* An instance, its matrix η and covector a. */
typedef struct segment {
    verify_nrgpt q;
    const double *eta, *a;
    double *g, *h, *at, *v, *unit; /* D each */
} segment;

static kern_status enter(segment *s, const verify_record *record, verify_work *work,
                         kern_error *err)
{
    KERN_TRY(verify_nrgpt_read(&s->q, record, work, err));
    const size_t d = s->q.width;
    KERN_TRY(verify_record_get(record, "eta", d, d, &s->eta, err));
    KERN_TRY(verify_record_get(record, "a", 1, d, &s->a, err));
    KERN_TRY(verify_work_take(work, 5 * d, &s->g, err));
    s->h = s->g + d;
    s->at = s->g + 2 * d;
    s->v = s->g + 3 * d;
    s->unit = s->g + 4 * d;
    (void)verify_nrgpt_normalise(&s->q, s->q.x, s->unit, s->g);
    memset(s->h, 0, d * sizeof *s->h);
    for (size_t i = 0; i < d * d; i++) {
        s->h[i % d] += s->eta[i] * s->a[i / d];
    }
    return KERN_OK;
}

/* at = g + t h. */
static void go_to(segment *s, double t)
{
    for (size_t i = 0; i < s->q.width; i++) {
        s->at[i] = s->g[i] + t * s->h[i];
    }
}

/* a·Δx = −a·ηv at t; adds the sum of magnitudes behind it to *size and the rounding of v. */
static double find_work(segment *s, double t, bool exact, double *size, double *rounding)
{
    const size_t d = s->q.width;
    double sum = 0.0;
    go_to(s, t);
    const verify_nrgpt_value value = verify_nrgpt_evaluate(&s->q, s->at, exact, s->v);
    for (size_t i = 0; i < d; i++) {
        double row = 0.0;
        for (size_t j = 0; j < d; j++) {
            row += s->eta[i * d + j] * s->v[j];
            *size += fabs(s->a[i] * s->eta[i * d + j] * s->v[j]);
        }
        sum -= s->a[i] * row;
    }
    *rounding += value.gradient_rounding * dyn_vector_norm(s->h, d);
    return sum;
}

/* ∫₀¹ a·Δx dt, and its rounding. The nodes themselves round by u|g|, which moves v by less than the
 * curvature there times that; it is part of the last term, as the work along a segment of the same
 * end points does not depend on the path. */
static double integrate(segment *s, bool exact, double *rounding)
{
    const double d = (double)s->q.width;
    double sum = 0.0;
    double size = 0.0;
    double error = 0.0;
    for (size_t k = 0; k < NODES; k++) {
        const double node = k % 2 == 0 ? nodes[k / 2] : -nodes[k / 2];
        sum += 0.5 * weights[k / 2] * find_work(s, 0.5 + 0.5 * node, exact, &size, &error);
    }
    *rounding = error / NODES + (2.0 * d + 32.0) * DBL_EPSILON * size / NODES;
    return sum;
}

/* ---- Drawing ------------------------------------------------------------------------------- */

/* Largest size of what changes along h: β times the spread of scores, and units. */
static double find_reach(const segment *s)
{
    const verify_nrgpt *q = &s->q;
    const size_t d = q->width;
    double largest = 0.0;
    for (size_t k = 0; k < q->heads * q->prefix; k++) {
        double change = 0.0;
        for (size_t i = 0; i < d; i++) {
            change += q->keys[k * d + i] * s->h[i];
        }
        largest = fmax(largest, 2.0 * q->beta * fabs(change));
    }
    for (size_t k = 0; k < q->heads && q->inclusive; k++) {
        double change = 0.0;
        for (size_t i = 0; i < d * d; i++) {
            const double j = q->j[k * d * d + i];
            change += fabs(j) * (fabs(s->g[i / d] * s->h[i % d]) + fabs(s->h[i / d] * s->g[i % d]) +
                                 fabs(s->h[i / d] * s->h[i % d]));
        }
        largest = fmax(largest, 2.0 * q->beta * change);
    }
    for (size_t j = 0; j < q->hidden; j++) {
        largest = fmax(largest, q->sizes[j] * dyn_vector_norm(s->h, d));
    }
    return largest;
}

/* True when a unit of a ReLU switches between g and g + h. */
static bool has_switch(const segment *s)
{
    const verify_nrgpt *q = &s->q;
    bool found = false;
    for (size_t j = 0; j < q->hidden && isinf(q->act->bend); j++) {
        double z = q->b1[j];
        double change = 0.0;
        for (size_t i = 0; i < q->width; i++) {
            z += q->w1[j * q->width + i] * s->g[i];
            change += q->w1[j * q->width + i] * s->h[i];
        }
        found = found || (z > 0.0) != (z + change > 0.0) || !(fabs(z) > 1e-12);
    }
    return found;
}

/* Shortens a until the segment is as the tolerance needs it. */
static void shorten(segment *s, double *a)
{
    enum { HALVINGS = 40 };
    const size_t d = s->q.width;
    double factor = fmin(1.0, 0.3 / find_reach(s));
    for (size_t k = 0; k < HALVINGS; k++) {
        for (size_t i = 0; i < d; i++) {
            a[i] *= factor;
            s->h[i] *= factor;
        }
        if (!has_switch(s)) {
            return;
        }
        factor = 0.5;
    }
}

/* η is full, scalar or diagonal; a is random. */
static kern_status draw_segment(const verify_nrgpt_kinds *kinds, kern_rng *rng, size_t trial,
                                verify_work *work, verify_record *record, kern_error *err)
{
    segment s;
    double *eta = NULL;
    double *a = NULL;
    KERN_TRY(verify_nrgpt_draw(record, rng, kinds, err));
    const size_t d = verify_record_find(record, "x")->cols;
    KERN_TRY(verify_record_put(record, "eta", d, d, &eta, err));
    KERN_TRY(verify_record_put(record, "a", 1, d, &a, err));
    for (size_t i = 0; i < d * d; i++) {
        const double number = kern_rng_normal(rng);
        const bool kept = trial % 3 == 0 || i / d == i % d;
        eta[i] = !kept ? 0.0 : trial % 3 == 1 && i > 0 ? eta[0] : number;
    }
    for (size_t i = 0; i < d; i++) {
        a[i] = kern_rng_normal(rng);
    }
    KERN_TRY(enter(&s, record, work, err));
    shorten(&s, a);
    return KERN_OK;
}

static kern_status draw_exact(const verify_subject *subject, kern_rng *rng, size_t trial,
                              verify_work *work, verify_record *record, kern_error *err)
{
    static const verify_nrgpt_kinds kinds = {.smooth = true};
    (void)subject;
    return draw_segment(&kinds, rng, trial, work, record, err);
}

static kern_status draw_published(const verify_subject *subject, kern_rng *rng, size_t trial,
                                  verify_work *work, verify_record *record, kern_error *err)
{
    static const verify_nrgpt_kinds kinds = {.smooth = true, .inclusive = true, .tokens = 3};
    (void)subject;
    return draw_segment(&kinds, rng, trial, work, record, err);
}

/* ---- Checking ------------------------------------------------------------------------------ */

/* |∂E/∂g − v|/|∂E/∂g| of the published v. */
static double find_missing(segment *s)
{
    const size_t d = s->q.width;
    double gap = 0.0;
    (void)verify_nrgpt_evaluate(&s->q, s->g, true, s->at);
    (void)verify_nrgpt_evaluate(&s->q, s->g, false, s->v);
    for (size_t i = 0; i < d; i++) {
        gap += (s->at[i] - s->v[i]) * (s->at[i] - s->v[i]);
    }
    return sqrt(gap) / dyn_vector_norm(s->at, d);
}

static kern_status check_work(const verify_record *record, bool exact, verify_work *work,
                              verify_outcome *outcome, kern_error *err)
{
    segment s;
    double rounding;
    KERN_TRY(enter(&s, record, work, err));
    const double work_done = integrate(&s, exact, &rounding);
    go_to(&s, 1.0);
    const verify_nrgpt_value end = verify_nrgpt_evaluate(&s.q, s.at, true, s.v);
    const double steep = dyn_vector_norm(s.v, s.q.width);
    const verify_nrgpt_value start = verify_nrgpt_evaluate(&s.q, s.g, true, NULL);
    const double change = end.energy - start.energy;
    outcome->left = fabs(change + work_done);
    outcome->right = 0.0;
    outcome->tolerance = rounding + end.rounding + start.rounding +
                         4.0 * DBL_EPSILON * steep * dyn_vector_norm(s.at, s.q.width);
    outcome->scale = fabs(change) + fabs(work_done) + 1e-3 * fabs(start.energy);
    verify_outcome_add(outcome, "missing_share", exact ? 0.0 : find_missing(&s));
    return KERN_OK;
}

static kern_status check_exact(const verify_record *record, verify_work *work,
                               verify_outcome *outcome, kern_error *err)
{
    return check_work(record, true, work, outcome, err);
}

static kern_status check_published(const verify_record *record, verify_work *work,
                                   verify_outcome *outcome, kern_error *err)
{
    return check_work(record, false, work, outcome, err);
}

/* η = 1 and a along the part left out, as short as before. */
static kern_status sharpen_published(verify_record *record, verify_work *work, size_t budget,
                                     kern_error *err)
{
    segment s;
    double *eta = NULL;
    double *a = NULL;
    (void)budget;
    KERN_TRY(enter(&s, record, work, err));
    const size_t d = s.q.width;
    KERN_TRY(verify_record_edit(record, "eta", d, d, &eta, err));
    KERN_TRY(verify_record_edit(record, "a", 1, d, &a, err));
    (void)verify_nrgpt_evaluate(&s.q, s.g, true, s.at);
    (void)verify_nrgpt_evaluate(&s.q, s.g, false, s.v);
    for (size_t i = 0; i < d * d; i++) {
        eta[i] = i / d == i % d ? 1.0 : 0.0;
    }
    for (size_t i = 0; i < d; i++) {
        a[i] = s.at[i] - s.v[i];
        s.h[i] = a[i];
    }
    shorten(&s, a);
    return KERN_OK;
}

/* ---- Of a run ------------------------------------------------------------------------------ */

static const char *const updates[] = {"published", "exact", NULL};

static kern_status draw_run(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    const size_t prompt = trial % subject->n_prompts;
    const size_t token = kern_rng_below(rng, (uint32_t)subject->prompts[prompt].tokens);
    const size_t step = kern_rng_below(rng, (uint32_t)subject->steps);
    const size_t d = subject->width;
    const bool exact = subject->m->config.update == MODEL_UPDATE_EXACT;
    KERN_TRY(verify_nrgpt_put_run(record, subject, prompt, step, token, work, err));
    KERN_TRY(verify_record_put_word(record, "update", updates[exact], err));
    KERN_TRY(verify_record_put_copy(record, "eta", d, d, subject->eta, err));
    return verify_record_put_copy(record, "x_next", 1, d,
                                  verify_subject_state(subject, prompt, step + 1, token), err);
}

/* |x′ − x + ηv|/|η∇E|, with |η∇E| in *size. */
static double find_gap(const segment *s, const double *next, const double *v)
{
    const size_t d = s->q.width;
    double square = 0.0;
    for (size_t i = 0; i < d; i++) {
        double sum = next[i] - s->q.x[i];
        for (size_t j = 0; j < d; j++) {
            sum += s->eta[i * d + j] * v[j];
        }
        square += sum * sum;
    }
    return sqrt(square);
}

/* ‖η‖_F, and |ηv|. */
static double find_push(const segment *s, const double *v, double *frobenius)
{
    const size_t d = s->q.width;
    double square = 0.0;
    for (size_t i = 0; i < d; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < d; j++) {
            sum += s->eta[i * d + j] * v[j];
        }
        square += sum * sum;
    }
    *frobenius = dyn_vector_norm(s->eta, d * d);
    return sqrt(square);
}

/* The engine's step and the plain one round alike: v by its bound, at a g that is off by that of x̂
 * and 4u of itself, which the curvature of E turns into an error of v; 2u a product and D of them
 * in ηv; and u of both states. Twice that for both. */
static kern_status check_run(const verify_record *record, verify_work *work,
                             verify_outcome *outcome, kern_error *err)
{
    segment s = {0};
    verify_nrgpt_sizes sizes;
    verify_nrgpt_point p;
    size_t update;
    const double *next = NULL;
    double frobenius;
    KERN_TRY(verify_nrgpt_read(&s.q, record, work, err));
    const size_t d = s.q.width;
    KERN_TRY(verify_record_get(record, "eta", d, d, &s.eta, err));
    KERN_TRY(verify_record_get(record, "x_next", 1, d, &next, err));
    KERN_TRY(verify_record_get_word(record, "update", updates, &update, err));
    KERN_TRY(verify_nrgpt_measure(&s.q, &sizes, work, err));
    KERN_TRY(verify_nrgpt_point_init(&p, &s.q, work, err));
    KERN_TRY(verify_work_take(work, d, &s.v, err));
    memcpy(p.x, s.q.x, d * sizeof *p.x);
    verify_nrgpt_visit(&s.q, &p);
    (void)verify_nrgpt_evaluate(&s.q, p.g, update == 1, s.v);
    double push = find_push(&s, p.gradient, &frobenius);
    push = push == 0.0 ? 1.0 : push; /* γ or η is 0: the step must vanish, in its own units */
    const double formula = find_gap(&s, next, s.v) / push;
    outcome->left = find_gap(&s, next, p.gradient) / push;
    outcome->right = 0.0;
    const double place = s.q.gain * p.place_rounding + 4.0 * DBL_EPSILON * dyn_vector_norm(p.g, d);
    const double noise = p.gradient_rounding + verify_nrgpt_bend(&s.q, &sizes, p.g) * place +
                         (double)(d + 4) * DBL_EPSILON * dyn_vector_norm(p.gradient, d);
    outcome->tolerance =
        2.0 *
        (frobenius * noise + DBL_EPSILON * (dyn_vector_norm(s.q.x, d) + dyn_vector_norm(next, d))) /
        push;
    verify_outcome_add(outcome, "formula_gap", formula);
    verify_outcome_add(outcome, "sigma", p.sigma);
    return KERN_OK;
}

/* ---- Claims -------------------------------------------------------------------------------- */

const verify_claim verify_update_is_gradient = {
    .name = "update-is-gradient",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "A step of NRGPT with the exact update is -eta dE/dg of the token's own energy, "
                 "prefix frozen, for any eta, either mask, and FF1 or FF2W where it is smooth",
    .source = source,
    .measured = "left: |E(g + h) - E(g) + work of the step along h|, h = eta' a; right: 0",
    .trials = 100000,
    .draw = draw_exact,
    .check = check_exact,
};

const verify_claim verify_update_is_gradient_published = {
    .name = "update-is-gradient-published",
    .kind = VERIFY_REFUTED,
    .needs = VERIFY_RANDOM,
    .statement = "A step of NRGPT as published is -eta dE/dg of the token's own energy under the "
                 "inclusive mask, too",
    .source = source,
    .measured =
        "left: |E(g + h) - E(g) + work of the step along h|, h along what the update leaves "
        "out; right: 0",
    .trials = 256,
    .budget = 1,
    .draw = draw_published,
    .check = check_published,
    .sharpen = sharpen_published,
};

const verify_claim verify_update_is_gradient_run = {
    .name = "update-is-gradient",
    .kind = VERIFY_PROPERTY,
    .needs = VERIFY_RUN,
    .statement = "Every step of the run's block is -eta dE/dg of the token's own energy",
    .source = source,
    .measured =
        "left: |x' - x + eta dE/dg| / |eta dE/dg|, x' from the graph engine, and its numerator "
        "where eta dE/dg = 0; right: 0",
    .trials = 400,
    .applies = verify_nrgpt_applies,
    .draw = draw_run,
    .check = check_run,
};
