/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Claims about a run, on small models whose answers are known: which blocks are gradients of their
 * own energy, which steps descend, which equilibria are stable; and orbits in parallel against the
 * graph engine's traces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dyn/dyn_cascade.h"
#include "dyn/dyn_chart.h"
#include "kernels/kern_blas.h"
#include "models/model_dynamics.h"
#include "models/model_trace.h"
#include "models/verify/verify_nrgpt_instance.h"
#include "models/verify/verify_run.h"
#include "models/verify/verify_table.h"
#include "tests/models/model_test_graph.h"

enum { D = 8, N = 4 };

static const int32_t ids[N] = {3, 0, 6, 2};

static model_config make_config(void)
{
    model_config c = model_config_default(MODEL_NRGPT);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = 7;
    c.block_size = N;
    c.n_layer = 3;
    c.ff_hid_factor = 2;
    c.ff = MODEL_FF1;
    c.activation = MODEL_SOFTPLUS;
    c.eta = MODEL_ETA_GAMMA;
    return c;
}

typedef struct fixture {
    model *m;
    verify_subject *subject;
} fixture;

static void set_value(model *m, const char *name, double value)
{
    const model_param *p = model_params_find(&m->params, name);
    for (size_t i = 0; p != NULL && i < model_param_size(p); i++) {
        model_value_set(m, p->offset + i, value);
    }
}

/* A random model with s = 1 and, where it is a number, η = 0.1. */
static void init_fixture(fixture *f, const model_config *c, uint64_t seed)
{
    const size_t tokens = N;
    f->m = test_model(c, 0.35, seed);
    set_value(f->m, "blocks.eta", 0.1);
    set_value(f->m, "blocks.scale_ff", 1.0);
    TEST_OK(verify_subject_create(&f->subject, f->m, "tiny", 1, &tokens, ids, test_err));
}

static void fini_fixture(fixture *f)
{
    verify_subject_destroy(f->subject);
    model_destroy(f->m);
}

static void run_claim(const fixture *f, const verify_claim *claim, size_t trials, verify_result *r)
{
    const verify_options o = {.seed = 3, .trials = trials, .workers = 2};
    *r = (verify_result){0};
    TEST_OK(verify_run_claim(claim, f->subject, &o, r, test_err));
}

/* The claim's verdict, and the worst value on the left. */
static verify_verdict judge(const model_config *c, uint64_t seed, const verify_claim *claim,
                            double *left)
{
    fixture f;
    verify_result r;
    init_fixture(&f, c, seed);
    run_claim(&f, claim, 60, &r);
    const verify_verdict verdict = r.verdict;
    if (left != NULL) {
        *left = r.outcome.left;
    }
    verify_result_fini(&r);
    fini_fixture(&f);
    return verdict;
}

/* ---- Gradients ----------------------------------------------------------------------------- */

static void test_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < 16; i++) {
        model_config c = make_config();
        double left;
        c.strict_mask = i % 2 == 0;
        c.update = i / 2 % 2 == 0 ? MODEL_UPDATE_PUBLISHED : MODEL_UPDATE_EXACT;
        c.ff = i / 4 % 2 == 0 ? MODEL_FF1 : MODEL_FF2W;
        c.eta = i / 8 == 0 ? MODEL_ETA_FULL : MODEL_ETA_SCALAR;
        c.activation = MODEL_GELU;
        const bool whole = c.strict_mask || c.update == MODEL_UPDATE_EXACT;
        assert_int_equal(judge(&c, 10 * i, &verify_update_is_gradient_run, &left),
                         whole ? VERIFY_HOLDS : VERIFY_FAILS);
        assert_true(whole ? left < 1e-11 : left > 1e-3);
    }
}

/* ---- Descent ------------------------------------------------------------------------------- */

static void test_descent(void **state)
{
    (void)state;
    model_config c = make_config();
    double left;
    /* Certified for every step size. */
    assert_int_equal(judge(&c, 1, &verify_discrete_descent_run, &left), VERIFY_HOLDS);
    assert_true(left <= 1e-12);
    assert_int_equal(judge(&c, 1, &verify_energy_bounded_run, NULL), VERIFY_HOLDS);
    /* A random η is no descent. */
    c.eta = MODEL_ETA_FULL;
    assert_int_equal(judge(&c, 1, &verify_discrete_descent_run, &left), VERIFY_FAILS);
    assert_true(left > 1e-3);
    assert_int_equal(judge(&c, 1, &verify_energy_bounded_run, NULL), VERIFY_HOLDS);
}

/* The verdict on a model whose tensor `name` has one value, and whether a reason came with it. */
static verify_verdict judge_with(const model_config *c, const char *name, double value,
                                 const verify_claim *claim, bool *explained)
{
    const size_t tokens = N;
    fixture f;
    verify_result r;
    init_fixture(&f, c, 1);
    set_value(f.m, name, value);
    set_value(f.m, "position_embedding_table.weight", 0.0);
    verify_subject_destroy(f.subject);
    TEST_OK(verify_subject_create(&f.subject, f.m, "tiny", 1, &tokens, ids, test_err));
    run_claim(&f, claim, 12, &r);
    const verify_verdict verdict = r.verdict;
    *explained = r.reason != NULL;
    verify_result_fini(&r);
    fini_fixture(&f);
    return verdict;
}

/* Where nothing moves the step is the gradient, which is 0: γ = 0, η = 0. */
static void test_no_gradient(void **state)
{
    (void)state;
    static const char *const names[] = {"blocks.ln.weight", "blocks.eta"};
    const model_config c = make_config();
    bool explained;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(judge_with(&c, names[i], 0.0, &verify_update_is_gradient_run, &explained),
                         VERIFY_HOLDS);
        assert_false(explained);
    }
}

/* Constant tokens: at ε = 0 there is no normalised state to speak of; for ε > 0 there is, but, as
 * long as they stay constant, no direction. */
static void test_constant_state(void **state)
{
    (void)state;
    static const verify_claim *const claims[] = {
        &verify_update_is_gradient_run, &verify_discrete_descent_run, &verify_energy_bounded_run};
    static const char embedding[] = "token_embedding_table.weight";
    model_config c = make_config();
    bool explained;
    for (size_t i = 0; i < 2 * sizeof claims / sizeof *claims; i++) {
        c.norm_eps = i % 2 == 0 ? 0.0 : 1e-5;
        const verify_verdict verdict = judge_with(&c, embedding, 0.25, claims[i / 2], &explained);
        assert_int_equal(verdict, i % 2 == 0 ? VERIFY_NOT_APPLICABLE : VERIFY_HOLDS);
        assert_int_equal(explained, i % 2 == 0);
    }
    c.n_embed = 1;
    c.n_head = 1;
    assert_int_equal(judge_with(&c, embedding, 0.25, &verify_local_stability, &explained),
                     VERIFY_NOT_APPLICABLE);
    assert_true(explained);
}

static void test_not_applicable(void **state)
{
    (void)state;
    static const verify_claim *const claims[] = {
        &verify_update_is_gradient_run, &verify_discrete_descent_run, &verify_energy_bounded_run,
        &verify_asymptotic_stability_runs_run, &verify_local_stability};
    model_config c = make_config();
    c.family = MODEL_GPT;
    c.recurrent = true;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        assert_int_equal(judge(&c, 1, claims[i], NULL), VERIFY_NOT_APPLICABLE);
    }
}

/* ---- Orbits -------------------------------------------------------------------------------- */

static double find_extra(const verify_outcome *o, const char *name)
{
    for (size_t i = 0; i < o->n_extras; i++) {
        if (strcmp(o->extras[i].name, name) == 0) {
            return o->extras[i].value;
        }
    }
    fail_msg("no extra %s", name);
    return 0.0;
}

/* Rising steps of all tokens but the first, counted by the engine's trace. */
static void test_parallel(void **state)
{
    (void)state;
    for (size_t seed = 1; seed < 4; seed++) {
        model_config c = make_config();
        fixture f;
        verify_result r;
        model_trace *trace = NULL;
        size_t rising[2] = {0, 0}, first = 0;
        c.activation = MODEL_GELU;
        init_fixture(&f, &c, seed);
        run_claim(&f, &verify_asymptotic_stability_runs_run, 1, &r);
        assert_int_equal(r.verdict, VERIFY_OPEN);
        const size_t steps = (size_t)*verify_record_find(&r.record, "steps")->values;
        TEST_OK(model_trace_create(&trace, f.m, ids, N, steps, test_err));
        for (size_t i = 0; i < N * steps; i++) {
            const bool late = 2 * (i % steps + 1) > steps;
            if (trace->actual_change[i] > 1e-9) {
                rising[late] += i >= steps;
                first += i < steps;
            }
        }
        const double share = 0.5 * (double)steps * (N - 1);
        assert_true(fabs(find_extra(&r.outcome, "rising_early") * share - (double)rising[0]) < 3.5);
        assert_true(fabs(find_extra(&r.outcome, "rising_late") * share - (double)rising[1]) < 3.5);
        assert_true(fabs(find_extra(&r.outcome, "rising_first_token") * (double)steps -
                         (double)first) < 1.5);
        model_trace_destroy(trace);
        verify_result_fini(&r);
        fini_fixture(&f);
    }
}

/* ---- Equilibria ---------------------------------------------------------------------------- */

/* z ↦ N(σz + Δ(σz)) of the plain instance, N as the norm does it with ε = 0. */
static void move_plain(const verify_record *record, verify_nrgpt *q, double sigma, const double *z,
                       double *y)
{
    const double *eta = verify_record_find(record, "eta")->values;
    const double epsilon = q->epsilon;
    double x[D], unit[D], g[D], v[D];
    q->epsilon = 0.0;
    (void)verify_nrgpt_normalise(q, z, unit, g);
    q->epsilon = epsilon;
    for (size_t i = 0; i < D; i++) {
        x[i] = sigma * unit[i];
    }
    (void)verify_nrgpt_normalise(q, x, unit, g);
    (void)verify_nrgpt_evaluate(q, g, true, v);
    for (size_t i = 0; i < D; i++) {
        x[i] -= test_dot(eta + i * D, v, D);
    }
    q->epsilon = 0.0;
    (void)verify_nrgpt_normalise(q, x, y, g);
    q->epsilon = epsilon;
}

/* The record's Jacobian by differences; h² and rounding/h are below 1e-8. */
static void check_jacobian(const verify_record *record)
{
    const double h = 1e-5;
    const double *jacobian = verify_record_find(record, "jacobian")->values;
    const double sigma = *verify_record_find(record, "sigma")->values;
    verify_work work = {0};
    verify_nrgpt q;
    double z[D], y[2][D];
    TEST_OK(verify_nrgpt_read(&q, record, &work, test_err));
    for (size_t j = 0; j < D; j++) {
        for (size_t k = 0; k < 2; k++) {
            for (size_t i = 0; i < D; i++) {
                z[i] = q.x[i] / sigma + (i == j ? (k == 0 ? h : -h) : 0.0);
            }
            move_plain(record, &q, sigma, z, y[k]);
        }
        for (size_t i = 0; i < D; i++) {
            assert_true(fabs((y[0][i] - y[1][i]) / (2.0 * h) - jacobian[i * D + j]) <= 1e-7);
        }
    }
    verify_work_fini(&work);
}

/* Rates as dyn/dyn_chart.h finds them. */
static void check_margins(const fixture *f, const verify_result *r, size_t token)
{
    const dyn_cascade_options o = dyn_cascade_options_default();
    const dyn_multipliers_options mo = dyn_multipliers_options_default();
    dyn_map *map = NULL, *chart = NULL;
    dyn_cascade cascade;
    dyn_multipliers m;
    double x[N * D], radial[N], tangential[N], work[D];
    TEST_OK(model_dynamics_create(&map, f->m, ids, N, test_err));
    model_dynamics_trained_state(map, x);
    TEST_OK(dyn_chart_create(&chart, map, x, NULL, test_err));
    TEST_OK(dyn_cascade_init(&cascade, chart, NULL, &o, test_err));
    TEST_OK(dyn_multipliers_init(&m, chart, cascade.state, &mo, test_err));
    dyn_chart_update(chart, cascade.state, radial, tangential, work);
    const dyn_chart_margins g = dyn_chart_find_margins(chart, &m.blocks[token], radial[token]);
    const double flip = find_extra(&r->outcome, "flip_rate");
    const double ns = find_extra(&r->outcome, "ns_rate");
    assert_true(isinf(g.flip) ? isnan(flip) : fabs(flip - g.flip) <= 1e-9 * g.flip);
    assert_true(isinf(g.ns) ? isnan(ns) : fabs(ns - g.ns) <= 1e-9 * g.ns);
    assert_true(fabs(r->outcome.left - m.blocks[token].spectral_radius) <= 1e-12);
    assert_true(find_extra(&r->outcome, "complex") == (double)g.n_complex);
    dyn_multipliers_fini(&m);
    dyn_cascade_fini(&cascade);
    dyn_map_destroy(chart);
    dyn_map_destroy(map);
}

static void test_stability(void **state)
{
    (void)state;
    size_t stable = 0, unstable = 0;
    for (size_t seed = 1; seed < 9; seed++) {
        model_config c = make_config();
        fixture f;
        verify_result r;
        c.norm = seed % 2 == 0 ? MODEL_LAYERNORM : MODEL_RMSNORM;
        c.eta = seed % 4 < 2 ? MODEL_ETA_GAMMA : MODEL_ETA_FULL;
        c.norm_eps = 1e-5;
        init_fixture(&f, &c, seed);
        run_claim(&f, &verify_local_stability, 8, &r);
        if (r.verdict != VERIFY_OPEN) {
            const size_t token = (size_t)*verify_record_find(&r.record, "prefix")->values;
            assert_true(find_extra(&r.outcome, "residual") <= 1e-9);
            assert_true((r.outcome.left <= 1.0) == (r.verdict == VERIFY_HOLDS));
            check_jacobian(&r.record);
            check_margins(&f, &r, token);
            stable += r.verdict == VERIFY_HOLDS;
            unstable += r.verdict == VERIFY_FAILS;
        }
        if (c.eta == MODEL_ETA_GAMMA) {
            /* Certified: real multipliers only. */
            assert_true(r.verdict == VERIFY_OPEN || find_extra(&r.outcome, "complex") == 0.0);
        }
        verify_result_fini(&r);
        fini_fixture(&f);
    }
    assert_true(stable >= 3 && unstable >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient),       cmocka_unit_test(test_descent),
        cmocka_unit_test(test_no_gradient),    cmocka_unit_test(test_constant_state),
        cmocka_unit_test(test_not_applicable), cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_stability),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
