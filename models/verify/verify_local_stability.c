/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * local-stability: a token at a relative equilibrium, its scale pinned, comes back to it.
 *
 * Behind a norm the state x has no fixed points: its scale drifts. What rests is the direction x̂,
 * in the chart of dyn/dyn_chart.h: σ pinned, z ↦ N(σz + Δ(σz)). The equilibria are found there,
 * token by token with the graph engine; the record holds the token with its prefix at rest, the
 * block of the chart's Jacobian, σ and the radial part a of the update. The one or two multipliers
 * along the gauge are 0 by construction and left out: those of smallest modulus. With α = μ(σ + a)
 * − σ the eigenvalues of the tangential derivative of the update, the multipliers at r times the
 * present η/σ are (σ + rα)/(σ + ra), so that a flip (μ = −1) is at r = −2σ/(α + a), real α, a
 * Neimark–Sacker point (|μ| = 1) at r = 2σ(a − Re α)/(|α|² − a²), complex α, and extras give the
 * smallest such r > 0: above 1 by how much η/σ may grow.
 *
 * The residual is taken again by the plain code: |CΔ − a x̂|/√D of the instance's own step. An
 * instance whose search did not converge is left out and counted as skipped.
 *
 * Tolerance. Eigenvalues from LAPACK are those of a matrix within D u‖J‖_F of J; that is what the
 * largest modulus is allowed, which for a normal J bounds the error and for another is its unit.
 */
#include "dyn/dyn_cascade.h"
#include "dyn/dyn_chart.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"
#include "models/model_dynamics.h"
#include "models/verify/verify_nrgpt_instance.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Newton's method costs as many products as a token has numbers, for every token before it as well:
 * the first tokens of a prompt are looked at, which those after them have no effect on. */
enum { TOKENS_EACH = 6, ITERATIONS = 20 };

static const char *const updates[] = {"published", "exact", NULL};

/* ---- Equilibria of one prompt -------------------------------------------------------------- */

/* What is kept from one instance to the next: it depends on the run and the prompt alone. */
typedef struct solution {
    const verify_subject *subject;
    size_t prompt;
    size_t tokens;
    dyn_map *chart;
    dyn_cascade cascade;
    double *states;     /* tokens × D: σ z */
    double *radial;     /* tokens */
    double *tangential; /* tokens */
    double *work;       /* D */
} solution;

static void release(void *data)
{
    solution *s = data;
    if (s != NULL) {
        dyn_map_destroy(s->chart);
        dyn_cascade_fini(&s->cascade);
        free(s->states);
        free(s);
    }
}

static kern_status make_chart(solution *s, kern_error *err)
{
    const verify_prompt *prompt = &s->subject->prompts[s->prompt];
    dyn_map *map = NULL;
    KERN_TRY(model_dynamics_create(&map, s->subject->m, prompt->ids, s->tokens, err));
    s->states = malloc((map->size + 2 * s->tokens + s->subject->width) * sizeof *s->states);
    kern_status status = KERN_OK;
    if (s->states == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu tokens", s->tokens);
    } else {
        s->radial = s->states + map->size;
        s->tangential = s->radial + s->tokens;
        s->work = s->tangential + s->tokens;
        model_dynamics_trained_state(map, s->states);
        status = dyn_chart_create(&s->chart, map, s->states, NULL, err);
    }
    dyn_map_destroy(map);
    return status;
}

static kern_status solve(solution *s, kern_error *err)
{
    dyn_cascade_options o = dyn_cascade_options_default();
    o.max_iterations = ITERATIONS;
    KERN_TRY(make_chart(s, err));
    KERN_TRY(dyn_cascade_init(&s->cascade, s->chart, NULL, &o, err));
    dyn_chart_update(s->chart, s->cascade.state, s->radial, s->tangential, s->work);
    dyn_chart_join(s->chart, s->cascade.state, dyn_chart_sigma(s->chart), s->states);
    return KERN_OK;
}

/* The solution of a prompt, from the stash if it is there. */
static kern_status find_solution(const verify_subject *subject, size_t prompt, verify_work *work,
                                 solution **out, kern_error *err)
{
    solution *s = work->stash.data;
    if (s != NULL && s->subject == subject && s->prompt == prompt) {
        *out = s;
        return KERN_OK;
    }
    verify_work_drop_stash(work);
    s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a relative equilibrium");
    }
    *s = (solution){.subject = subject,
                    .prompt = prompt,
                    .tokens = kern_size_min(subject->prompts[prompt].tokens, TOKENS_EACH)};
    const kern_status status = solve(s, err);
    if (status != KERN_OK) {
        release(s);
        return status;
    }
    work->stash.data = s;
    work->stash.release = release;
    *out = s;
    return KERN_OK;
}

/* ---- Drawing ------------------------------------------------------------------------------- */

/* The diagonal block of the chart's Jacobian. */
static kern_status fill_jacobian(const solution *s, size_t token, verify_work *work,
                                 double *jacobian, kern_error *err)
{
    const size_t d = s->chart->block_width;
    const size_t size = s->chart->size;
    double *v = NULL;
    KERN_TRY(verify_work_take_zeros(work, d * size + size, &v, err));
    for (size_t j = 0; j < d; j++) {
        v[j * size + token * d + j] = 1.0;
    }
    dyn_map_jvp_blocks(s->chart, s->cascade.state, d, v, NULL, v, v + d * size);
    for (size_t i = 0; i < d * d; i++) {
        jacobian[i] = v[i % d * size + token * d + i / d];
    }
    return KERN_OK;
}

static kern_status put_solution(verify_record *record, const solution *s, size_t token,
                                verify_work *work, kern_error *err)
{
    const size_t d = s->chart->block_width;
    const dyn_cascade_block *block = &s->cascade.blocks[token];
    const bool solved = block->status == KERN_OK && !block->conditional;
    double *jacobian = NULL;
    KERN_TRY(verify_record_put_number(record, "solved", solved ? 1.0 : 0.0, err));
    KERN_TRY(verify_record_put_number(record, "sigma", dyn_chart_sigma(s->chart)[token], err));
    KERN_TRY(verify_record_put_number(record, "radial", s->radial[token], err));
    KERN_TRY(verify_record_put_number(record, "gauge", (double)s->chart->block_zeros, err));
    KERN_TRY(verify_record_put(record, "jacobian", d, d, &jacobian, err));
    return fill_jacobian(s, token, work, jacobian, err);
}

/* Prompt after prompt, the first tokens of each. */
static kern_status draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err)
{
    const size_t prompt = trial / TOKENS_EACH % subject->n_prompts;
    const size_t tokens = kern_size_min(subject->prompts[prompt].tokens, TOKENS_EACH);
    const size_t token = trial % TOKENS_EACH % tokens;
    const size_t d = subject->width;
    const bool exact = subject->m->config.update == MODEL_UPDATE_EXACT;
    solution *s = NULL;
    (void)rng;
    KERN_TRY(find_solution(subject, prompt, work, &s, err));
    KERN_TRY(verify_nrgpt_put_states(record, subject, s->states, token, work, err));
    KERN_TRY(verify_record_put_word(record, "update", updates[exact], err));
    KERN_TRY(verify_record_put_copy(record, "eta", d, d, subject->eta, err));
    return put_solution(record, s, token, work, err);
}

/* ---- Checking ------------------------------------------------------------------------------ */

/* What a record says of the equilibrium. */
typedef struct equilibrium {
    size_t d, gauge, solved;
    double sigma, radial, frobenius;
    double *re, *im; /* d each; the gauge's are moved to the end */
} equilibrium;

/* Moves the `gauge` multipliers of smallest modulus to the end. */
static void set_gauge_apart(equilibrium *e)
{
    for (size_t k = 0; k < e->gauge && k < e->d; k++) {
        const size_t last = e->d - 1 - k;
        size_t least = 0;
        for (size_t i = 1; i <= last; i++) {
            least = hypot(e->re[i], e->im[i]) < hypot(e->re[least], e->im[least]) ? i : least;
        }
        const double re = e->re[least];
        const double im = e->im[least];
        e->re[least] = e->re[last];
        e->im[least] = e->im[last];
        e->re[last] = re;
        e->im[last] = im;
    }
}

static kern_status read_equilibrium(equilibrium *e, const verify_record *record, size_t d,
                                    verify_work *work, kern_error *err)
{
    const double *jacobian = NULL;
    double *copy = NULL;
    *e = (equilibrium){.d = d};
    KERN_TRY(verify_record_get_size(record, "gauge", 0, 2, &e->gauge, err));
    KERN_TRY(verify_record_get_size(record, "solved", 0, 1, &e->solved, err));
    KERN_TRY(verify_record_get_number(record, "sigma", &e->sigma, err));
    KERN_TRY(verify_record_get_number(record, "radial", &e->radial, err));
    KERN_TRY(verify_record_get(record, "jacobian", d, d, &jacobian, err));
    KERN_TRY(verify_work_take(work, d * d + 2 * d, &copy, err));
    e->re = copy + d * d;
    e->im = e->re + d;
    for (size_t i = 0; i < d * d; i++) {
        copy[i] = jacobian[i];
        e->frobenius += jacobian[i] * jacobian[i];
        e->re[i % d] = e->im[i % d] = (double)NAN;
    }
    e->frobenius = sqrt(e->frobenius);
    if (isfinite(e->frobenius)) {
        KERN_TRY(kern_lapack_eigenvalues(d, copy, e->re, e->im, err));
    }
    set_gauge_apart(e);
    return KERN_OK;
}

/* Lowers *least to the rate r if it is positive and the point is still one there. */
static void take_least(const equilibrium *e, double r, double *least)
{
    if (r > 0.0 && r < *least && e->sigma + r * e->radial > 0.0) {
        *least = r;
    }
}

static void report(const equilibrium *e, double residual, verify_outcome *outcome)
{
    double flip = HUGE_VAL;
    double circle = HUGE_VAL;
    double complex_count = 0.0;
    const double stretched = e->sigma + e->radial;
    for (size_t j = 0; j + e->gauge < e->d; j++) {
        const double re = e->re[j] * stretched - e->sigma;
        const double im = e->im[j] * stretched;
        if (im == 0.0) {
            take_least(e, -2.0 * e->sigma / (re + e->radial), &flip);
        } else {
            const double size = re * re + im * im - e->radial * e->radial;
            take_least(e, 2.0 * e->sigma * (e->radial - re) / size, &circle);
            complex_count += 1.0;
        }
    }
    verify_outcome_add(outcome, "flip_rate", isinf(flip) ? (double)NAN : flip);
    verify_outcome_add(outcome, "ns_rate", isinf(circle) ? (double)NAN : circle);
    verify_outcome_add(outcome, "complex", complex_count);
    verify_outcome_add(outcome, "sigma", e->sigma);
    verify_outcome_add(outcome, "radial", e->radial);
    verify_outcome_add(outcome, "residual", residual);
}

/* |CΔ − a x̂|/√D of the plain step. */
static kern_status find_residual(const verify_nrgpt *q, const verify_record *record,
                                 verify_work *work, double *residual, kern_error *err)
{
    const size_t d = q->width;
    size_t update;
    const double *eta = NULL;
    double *g = NULL;
    double along = 0.0;
    double size = 0.0;
    double square = 0.0;
    double mean = 0.0;
    KERN_TRY(verify_record_get_word(record, "update", updates, &update, err));
    KERN_TRY(verify_record_get(record, "eta", d, d, &eta, err));
    KERN_TRY(verify_work_take_zeros(work, 4 * d, &g, err));
    double *unit = g + d;
    double *v = g + 2 * d;
    double *move = g + 3 * d;
    (void)verify_nrgpt_normalise(q, q->x, unit, g);
    (void)verify_nrgpt_evaluate(q, g, update == 1, v);
    for (size_t i = 0; i < d * d; i++) {
        move[i / d] -= eta[i] * v[i % d];
    }
    for (size_t i = 0; i < d; i++) {
        mean += q->norm == VERIFY_NRGPT_LAYERNORM ? move[i] / (double)d : 0.0;
        along += move[i] * unit[i];
        size += unit[i] * unit[i];
    }
    for (size_t i = 0; i < d; i++) {
        const double rest = move[i] - mean - along / size * unit[i];
        square += rest * rest;
    }
    *residual = sqrt(square / (double)d);
    return KERN_OK;
}

static kern_status check(const verify_record *record, verify_work *work, verify_outcome *outcome,
                         kern_error *err)
{
    verify_nrgpt q;
    equilibrium e;
    double residual;
    KERN_TRY(verify_nrgpt_read(&q, record, work, err));
    KERN_TRY(find_residual(&q, record, work, &residual, err));
    KERN_TRY(read_equilibrium(&e, record, q.width, work, err));
    double largest = 0.0;
    for (size_t j = 0; j + e.gauge < e.d; j++) {
        const double modulus = hypot(e.re[j], e.im[j]);
        largest = modulus > largest || isnan(modulus) ? modulus : largest;
    }
    outcome->left = largest;
    outcome->right = 1.0;
    outcome->tolerance = 0.5 * DBL_EPSILON * (double)e.d * e.frobenius;
    outcome->skipped = e.solved == 0;
    report(&e, residual, outcome);
    return KERN_OK;
}

/* True for a state without a direction: 0, or constant where the norm takes the mean off. */
static bool is_still(const verify_subject *subject, const double *x)
{
    const double origin = subject->m->config.norm == MODEL_LAYERNORM ? x[0] : 0.0;
    for (size_t i = 0; i < subject->width; i++) {
        if (x[i] != origin) {
            return false;
        }
    }
    return true;
}

/* A chart pins scales, which a state without a direction does not have, whatever ε. */
static const char *applies(const verify_subject *subject)
{
    const char *reason = verify_nrgpt_applies(subject);
    if (reason == NULL && subject->lost) {
        return "an orbit leaves every bound";
    }
    for (size_t p = 0; reason == NULL && p < subject->n_prompts; p++) {
        const size_t tokens = kern_size_min(subject->prompts[p].tokens, TOKENS_EACH);
        for (size_t a = 0; a < tokens && reason == NULL; a++) {
            const size_t trained = subject->m->config.n_layer;
            if (is_still(subject, verify_subject_state(subject, p, trained, a))) {
                reason = "a token's state after the trained steps is constant and has no direction";
            }
        }
    }
    return reason;
}

const verify_claim verify_local_stability = {
    .name = "local-stability",
    .kind = VERIFY_PROPERTY,
    .needs = VERIFY_RUN,
    .statement =
        "At the relative equilibria of a prompt's first six tokens, scales pinned after "
        "the trained steps, all multipliers but those of the gauge lie within the unit disc",
    .source = "Y. A. Kuznetsov 2004, Elements of Applied Bifurcation Theory, chapter 4, for the "
              "conditions; docs/theory.md, section 12, for the chart of directions",
    .measured = "left: the largest modulus of a multiplier; right: 1",
    .trials = 12,
    .applies = applies,
    .draw = draw,
    .check = check,
};
