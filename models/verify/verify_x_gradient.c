/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * x-gradient-variant: descent along the gradient with respect to the state, u = ∇_x E = PΓ∇_gE/σ,
 * which asks only for η₊ ⪰ 0 (RMSNorm) or Cη₊C ⪰ 0 (LayerNorm); and the bound for a step of finite
 * size. Proofs in dyn_descent_gradient.h.
 *
 * The step is tested on energies whose curvature is known, E(g) = h·g + ½ gᵀHg with H = m qqᵀ −
 * SSᵀ, |q| = 1, so that λ_max(H) ≤ m; a third of them has H = 0, where nothing but the curvature of
 * the norm is left, and the step and the gradient are then drawn along the directions in which that
 * is 2/√3, so that two thirds of the constant would be seen to fail.
 *
 * Rounding of the step. g is off by at most (D + 8)u γ_max√D k, k = |x|/|y| for LayerNorm (1 for
 * RMSNorm), E by that times |h| + ‖H‖|g|, and by (D² + D)u of the sum of magnitudes; x' is rounded
 * to u|x'| and the step to (2D + 8)u of what it is summed from, which changes E by at most
 * |∇_x E| ≤ |Γ∇E|/σ times that; and uᵀηu by (2D + 8)u of its magnitudes. ROOM collects the factors.
 */
#include "models/verify/verify_descent_instance.h"

#include "dyn/dyn_vector.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char source[] = "docs/theory.md, section 10";

enum { WIDTH_LIMIT = 1 << 12 };

/* ---- continuous time ------------------------------------------------------------------------- */

/* Half of the η have η₊ positive definite; the gains have either sign and some are 0. */
static kern_status draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err)
{
    const size_t turn = trial + trial / VERIFY_SHARPEN_STRIDE; /* all kinds are sharpened */
    const bool positive = turn % 4 < 2;
    const verify_eta kind =
        positive ? VERIFY_ETA_POSITIVE_SKEW : (verify_eta)(turn / 4 % VERIFY_ETAS);
    double *gamma = NULL;
    verify_descent q;
    (void)subject;
    KERN_TRY(verify_descent_draw(record, rng, trial, kind, err));
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(verify_record_edit(record, "gamma", 1, q.system.width, &gamma, err));
    for (size_t i = 1; positive && i < q.system.width; i++) {
        gamma[i] = turn / 4 % 5 == 0 && i % 3 == 0 ? 0.0 : kern_rng_normal(rng);
    }
    return KERN_OK;
}

static kern_status check(const verify_record *record, verify_work *work, verify_outcome *outcome,
                         kern_error *err)
{
    verify_descent q;
    double form;
    double error;
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(dyn_descent_gradient_decide(&q.system, q.work, &q.gradient, err));
    KERN_TRY(dyn_descent_gradient_form(&q.system, q.x, q.v, q.found.x, &form, &error, err));
    const bool certified = q.gradient.verdict == DYN_DESCENT_CERTIFIED;
    outcome->left = -form;
    outcome->right = certified ? 0.0 : fmax(-q.gradient.least, 0.0);
    outcome->tolerance = error + (certified ? 0.0 : q.gradient.tolerance);
    double square = 0;
    for (size_t i = 0; i < q.system.width * q.system.width; i++) {
        square += q.system.eta[i] * q.system.eta[i];
    }
    outcome->scale = sqrt(square);
    verify_outcome_add(outcome, "smallest_eigenvalue", q.gradient.least);
    verify_outcome_add(outcome, "share_of_bound",
                       form < 0 && outcome->right > 0 ? -form / outcome->right : (double)NAN);
    return KERN_OK;
}

static kern_status sharpen(verify_record *record, verify_work *work, size_t budget, kern_error *err)
{
    (void)budget;
    return verify_descent_sharpen_gradient(record, work, err);
}

const verify_claim verify_x_gradient_variant = {
    .name = "x-gradient-variant",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement =
        "Along -eta u with u = grad_x E, the norm's Jacobian applied, the energy falls whatever "
        "the "
        "state and the gradient if the symmetric part of eta is positive semidefinite (RMSNorm), "
        "or "
        "is so on vectors of mean 0 (LayerNorm), and else rises at no more than -lambda |u|^2, "
        "lambda its smallest eigenvalue there, which some states attain",
    .source = source,
    .measured = "left: -u' eta u/|u|^2; right: 0, or -lambda where that is positive",
    .trials = 100000,
    .budget = 1,
    .draw = draw,
    .check = check,
    .sharpen = sharpen,
};

/* ---- the converse ---------------------------------------------------------------------------- */

static kern_status draw_indefinite(const verify_subject *subject, kern_rng *rng, size_t trial,
                                   verify_work *work, verify_record *record, kern_error *err)
{
    verify_descent q;
    double *eta = NULL;
    (void)subject;
    KERN_TRY(verify_descent_draw(record, rng, trial, VERIFY_ETA_POSITIVE_SKEW, err));
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(dyn_descent_gradient_decide(&q.system, q.work, &q.gradient, err));
    const size_t d = q.system.width;
    const double shift = q.gradient.least + pow(10.0, -8.0 * kern_rng_uniform(rng));
    KERN_TRY(verify_record_edit(record, "eta", d, d, &eta, err));
    for (size_t i = 0; i < d; i++) {
        eta[i * d + i] -= shift;
    }
    return verify_descent_sharpen_gradient(record, work, err);
}

static kern_status check_indefinite(const verify_record *record, verify_work *work,
                                    verify_outcome *outcome, kern_error *err)
{
    verify_descent q;
    double form;
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(dyn_descent_gradient_decide(&q.system, q.work, &q.gradient, err));
    KERN_TRY(
        dyn_descent_gradient_form(&q.system, q.x, q.v, q.found.x, &form, &outcome->tolerance, err));
    outcome->skipped = q.gradient.verdict != DYN_DESCENT_VIOLATED;
    outcome->left = -0.9 * q.gradient.least;
    outcome->right = -form;
    outcome->tolerance += q.gradient.tolerance;
    outcome->scale = -q.gradient.least;
    if (!(form < 0)) {
        outcome->left = (double)INFINITY;
        outcome->label = "no witness found";
    }
    verify_outcome_add(outcome, "smallest_eigenvalue", q.gradient.least);
    return KERN_OK;
}

const verify_claim verify_x_gradient_variant_necessary = {
    .name = "x-gradient-variant-necessary",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "Where the symmetric part of eta has a negative eigenvalue lambda (on vectors of "
                 "mean 0, for LayerNorm), the energy rises along -eta grad_x E at some state and "
                 "gradient, at a rate as near to -lambda |u|^2 as wanted",
    .source = source,
    .measured = "left: -0.9 lambda; right: -u' eta u/|u|^2 at the witness",
    .trials = 100000,
    .draw = draw_indefinite,
    .check = check_indefinite,
};

/* ---- steps of finite size -------------------------------------------------------------------- */

static const char *const norms[] = {"layernorm", "rmsnorm", NULL};

/* An energy E(g) = h·g + ½ gᵀHg, a state and η. */
typedef struct step_instance {
    size_t d;
    bool centre;
    double epsilon, curvature;
    const double *gamma, *h, *q, *s, *eta, *x;
} step_instance;

/* H = 0: γ = 1, w = h at α = −1/√(3ρ) to y, and η a multiple of 1: the gradient then lies in the
 * plane of y and w, and steps to where the curvature is largest are among those drawn. */
static void align(kern_rng *rng, const step_instance *t, double *h)
{
    double mean = 0;
    double square = 0;
    double along = 0;
    double rest = 0;
    for (size_t i = 0; i < t->d; i++) {
        mean += t->centre ? t->x[i] / (double)t->d : 0.0;
    }
    for (size_t i = 0; i < t->d; i++) {
        square += (t->x[i] - mean) * (t->x[i] - mean);
        along += (t->x[i] - mean) * h[i];
    }
    for (size_t i = 0; i < t->d; i++) {
        h[i] -= along / square * (t->x[i] - mean);
        rest += h[i] * h[i];
    }
    const double rho = square / (square + (double)t->d * t->epsilon);
    const double alpha = -fmin(1 / sqrt(3 * rho), 1) * (0.8 + 0.4 * kern_rng_uniform(rng));
    for (size_t i = 0; i < t->d; i++) {
        h[i] = sqrt(fmax(1 - alpha * alpha, 0.0) / rest) * h[i] +
               alpha * (t->x[i] - mean) / sqrt(square);
    }
}

static void normals(kern_rng *rng, double *a, size_t n, double size)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = size * kern_rng_normal(rng);
    }
}

/* η: SSᵀ and a skew part, or a multiple of 1; of sizes from 10⁻³ to 10. */
static void draw_eta(kern_rng *rng, size_t d, bool plain, double *eta)
{
    const double size = pow(10.0, 4.0 * kern_rng_uniform(rng) - 3.0);
    for (size_t i = 0; i < d; i++) {
        eta[i * d + i] = size;
        for (size_t j = 0; !plain && j < i; j++) {
            eta[i * d + j] = size * kern_rng_normal(rng);
            eta[j * d + i] = size * kern_rng_normal(rng);
        }
    }
}

static kern_status draw_step(const verify_subject *subject, kern_rng *rng, size_t trial,
                             verify_work *work, verify_record *record, kern_error *err)
{
    static const char *const names[] = {"gamma", "h", "q", "x"};
    static const double epsilons[] = {0.0, 1e-5, 0.5};
    const size_t d = 3 + kern_rng_below(rng, 10);
    const bool flat = trial % 3 == 0;
    double *values[4] = {NULL, NULL, NULL, NULL};
    double *s = NULL;
    double *eta = NULL;
    double square = 0;
    step_instance t = {.d = d, .centre = trial % 2 == 0, .epsilon = epsilons[trial / 6 % 3]};
    (void)subject;
    (void)work;
    KERN_TRY(verify_record_put_word(record, "norm", norms[t.centre ? 0 : 1], err));
    KERN_TRY(verify_record_put_number(record, "width", (double)d, err));
    KERN_TRY(verify_record_put_number(record, "epsilon", t.epsilon, err));
    KERN_TRY(verify_record_put_number(record, "curvature",
                                      flat ? 0.0 : pow(10, 2 * kern_rng_uniform(rng) - 1), err));
    for (size_t i = 0; i < 4; i++) {
        KERN_TRY(verify_record_put(record, names[i], 1, d, &values[i], err));
        normals(rng, values[i], d, 1.0);
    }
    KERN_TRY(verify_record_put(record, "s", d, d, &s, err));
    KERN_TRY(verify_record_put(record, "eta", d, d, &eta, err));
    normals(rng, s, d * d, flat ? 0.0 : 0.3 * kern_rng_uniform(rng));
    draw_eta(rng, d, flat, eta);
    for (size_t i = 0; i < d; i++) {
        values[0][i] = flat ? 1.0 : values[0][i];
        square += values[2][i] * values[2][i];
    }
    for (size_t i = 0; i < d; i++) {
        values[2][i] /= sqrt(square);
    }
    t.x = values[3];
    if (flat) {
        align(rng, &t, values[1]);
    }
    return KERN_OK;
}

static kern_status read_step(step_instance *t, const verify_record *record, kern_error *err)
{
    size_t norm = 0;
    *t = (step_instance){0};
    KERN_TRY(verify_record_get_word(record, "norm", norms, &norm, err));
    KERN_TRY(verify_record_get_size(record, "width", 1, WIDTH_LIMIT, &t->d, err));
    KERN_TRY(verify_record_get_number(record, "epsilon", &t->epsilon, err));
    KERN_TRY(verify_record_get_number(record, "curvature", &t->curvature, err));
    t->centre = norm == 0;
    KERN_TRY(verify_record_get(record, "gamma", 1, t->d, &t->gamma, err));
    KERN_TRY(verify_record_get(record, "h", 1, t->d, &t->h, err));
    KERN_TRY(verify_record_get(record, "q", 1, t->d, &t->q, err));
    KERN_TRY(verify_record_get(record, "x", 1, t->d, &t->x, err));
    KERN_TRY(verify_record_get(record, "s", t->d, t->d, &t->s, err));
    return verify_record_get(record, "eta", t->d, t->d, &t->eta, err);
}

/* Πa in place. */
static void centre(const step_instance *t, double *a)
{
    double mean = 0;
    for (size_t i = 0; t->centre && i < t->d; i++) {
        mean += a[i] / (double)t->d;
    }
    for (size_t i = 0; i < t->d; i++) {
        a[i] -= mean;
    }
}

/* y = Πx and g; σ. */
static double normalise(const step_instance *t, const double *x, double *y, double *g)
{
    memcpy(y, x, t->d * sizeof *y);
    centre(t, y);
    const double sigma = sqrt(dyn_vector_dot(y, y, t->d) / (double)t->d + t->epsilon);
    for (size_t i = 0; i < t->d; i++) {
        g[i] = t->gamma[i] * y[i] / sigma;
    }
    return sigma;
}

/* E(g), ∇E into v with room for Sᵀg; *size receives the sum of the magnitudes. */
static double energy(const step_instance *t, const double *g, double *v, double *room, double *size)
{
    const size_t d = t->d;
    const double along = dyn_vector_dot(t->q, g, d);
    double value = dyn_vector_dot(t->h, g, d) + 0.5 * t->curvature * along * along;
    *size = sqrt(dyn_vector_dot(t->h, t->h, d) * dyn_vector_dot(g, g, d)) +
            0.5 * t->curvature * dyn_vector_dot(g, g, d);
    for (size_t k = 0; k < d; k++) {
        room[k] = 0;
        double magnitude = 0;
        for (size_t i = 0; i < d; i++) {
            room[k] += t->s[i * d + k] * g[i];
            magnitude += fabs(t->s[i * d + k] * g[i]);
        }
        value -= 0.5 * room[k] * room[k];
        *size += magnitude * magnitude;
    }
    for (size_t i = 0; i < d; i++) {
        v[i] = t->h[i] + t->curvature * along * t->q[i] - dyn_vector_dot(t->s + i * d, room, d);
    }
    return value;
}

/* The least σ on the segment from y to y + e, e = Πd. */
static double least_sigma(const step_instance *t, const double *y, const double *e)
{
    const double ee = dyn_vector_dot(e, e, t->d);
    const double where = ee > 0 ? fmin(fmax(-dyn_vector_dot(y, e, t->d) / ee, 0.0), 1.0) : 0.0;
    double square = 0;
    for (size_t i = 0; i < t->d; i++) {
        square += (y[i] + where * e[i]) * (y[i] + where * e[i]);
    }
    return sqrt(square / (double)t->d + t->epsilon);
}

/* L over the segment: |Γ∇E| ≤ |Γh| + γ_max (m + ‖S‖_F²) |g|, |g| ≤ γ_max√D. */
static double curvature_over(const step_instance *t, double sigma)
{
    const size_t d = t->d;
    double gain = 0;
    double slope = 0;
    for (size_t i = 0; i < d; i++) {
        gain = fmax(gain, fabs(t->gamma[i]));
        slope += t->gamma[i] * t->h[i] * t->gamma[i] * t->h[i];
    }
    const double bend = t->curvature + dyn_vector_dot(t->s, t->s, d * d);
    const double gradient = sqrt(slope) + gain * bend * gain * sqrt((double)d);
    return dyn_descent_gradient_curvature(d, sigma, gain, t->curvature, gradient);
}

/* u into `u`, −ηu into `step`; uᵀηu, and the size of what that is summed from. */
static double take_step(const step_instance *t, const double *y, double sigma, const double *v,
                        double *u, double *step, double *size)
{
    const size_t d = t->d;
    for (size_t i = 0; i < d; i++) {
        u[i] = t->gamma[i] * v[i];
    }
    centre(t, u);
    const double along = dyn_vector_dot(y, u, d) / ((double)d * sigma * sigma);
    for (size_t i = 0; i < d; i++) {
        u[i] = (u[i] - along * y[i]) / sigma;
    }
    for (size_t i = 0; i < d; i++) {
        step[i] = -dyn_vector_dot(t->eta + i * d, u, d);
    }
    *size = sqrt(dyn_vector_dot(t->eta, t->eta, d * d) * dyn_vector_dot(u, u, d));
    return -dyn_vector_dot(u, step, d);
}

enum { ROOM = 40 };

static kern_status check_step(const verify_record *record, verify_work *work,
                              verify_outcome *outcome, kern_error *err)
{
    step_instance t;
    double *y = NULL;
    double size[3];
    KERN_TRY(read_step(&t, record, err));
    const size_t d = t.d;
    KERN_TRY(verify_work_take(work, 6 * d, &y, err));
    double *const g = y + d;
    double *const v = y + 2 * d;
    double *const u = y + 3 * d;
    double *const step = y + 4 * d;
    double *const next = y + 5 * d;
    const double sigma = normalise(&t, t.x, y, g);
    const double before = energy(&t, g, v, next, &size[0]);
    const double drop = take_step(&t, y, sigma, v, u, step, &size[1]);
    for (size_t i = 0; i < d; i++) {
        next[i] = t.x[i] + step[i];
    }
    centre(&t, step);
    const double least = least_sigma(&t, y, step);
    const double rise = 0.5 * curvature_over(&t, least) * dyn_vector_dot(step, step, d);
    const double length = dyn_vector_norm(u, d);
    (void)normalise(&t, next, y, g);
    const double after = energy(&t, g, v, u, &size[2]);
    const double reach = dyn_vector_norm(next, d) + size[1];
    outcome->left = after - before;
    outcome->right = rise - drop;
    outcome->scale = rise + fabs(drop);
    outcome->tolerance =
        ROOM * (double)d * DBL_EPSILON *
        (((double)d + 2) * (size[0] + size[2]) * (1 + reach / least / sqrt((double)d)) +
         length * size[1] + rise);
    verify_outcome_add(outcome, "share_of_bound", (after - before + drop) / rise);
    return KERN_OK;
}

const verify_claim verify_x_gradient_step = {
    .name = "x-gradient-variant-step",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement =
        "One step x' = x - eta u, u = grad_x E, changes the energy by at most -u' eta u + "
        "(L/2)|Pi eta u|^2, with L = (gamma_max^2 m + (2/sqrt 3)|diag(gamma) grad_g E|/sqrt D)/"
        "sigma^2 over the segment, m >= 0 a bound on the curvature of E; so it never rises if "
        "sym(Pi eta Pi) - (L/2) Pi eta' Pi eta Pi is positive semidefinite",
    .source = source,
    .measured = "left: E(x') - E(x); right: -u' eta u + (L/2)|Pi eta u|^2",
    .trials = 100000,
    .draw = draw_step,
    .check = check_step,
};

/* ---- a run ------------------------------------------------------------------------------------
 */

static kern_status draw_run(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    (void)rng;
    (void)trial;
    KERN_TRY(verify_descent_put_run(record, subject, err));
    return verify_descent_sharpen_gradient(record, work, err);
}

static kern_status check_run(const verify_record *record, verify_work *work,
                             verify_outcome *outcome, kern_error *err)
{
    static const char *const labels[DYN_DESCENT_VERDICTS] = {
        "certified", "within rounding of semidefinite", "not certified: the witness rises"};
    verify_descent q;
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(dyn_descent_gradient_decide(&q.system, q.work, &q.gradient, err));
    double form = q.gradient.least;
    outcome->tolerance = q.gradient.tolerance;
    if (verify_descent_has_witness(&q)) {
        KERN_TRY(dyn_descent_gradient_form(&q.system, q.x, q.v, q.found.x, &form,
                                           &outcome->tolerance, err));
    }
    outcome->left = isnan(form) ? 0.0 : -form;
    outcome->right = 0;
    outcome->label = labels[q.gradient.verdict];
    verify_outcome_add(outcome, "smallest_eigenvalue", q.gradient.least);
    return KERN_OK;
}

const verify_claim verify_x_gradient_variant_run = {
    .name = "x-gradient-variant",
    .kind = VERIFY_PROPERTY,
    .needs = VERIFY_RUN,
    .statement =
        "With the norm's Jacobian applied, the run's eta lowers the energy at every state "
        "and gradient: its symmetric part, on vectors of mean 0 for LayerNorm, is positive "
        "semidefinite",
    .source = source,
    .measured =
        "left: minus the smallest eigenvalue, as -u' eta u/|u|^2 at the witness where there "
        "is one; right: 0",
    .trials = 1,
    .applies = verify_descent_applies,
    .draw = draw_run,
    .check = check_run,
};
