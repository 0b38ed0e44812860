/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The claims about CEM: the plain formulas against numbers worked out by independent code and
 * against the graph engine, the claims on random instances, claims made wrong on purpose, and runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/verify/verify_cem_instance.h"
#include "models/verify/verify_cem_mlp_bound.h"
#include "models/verify/verify_run.h"
#include "models/verify/verify_table.h"
#include "tests/models/model_test_graph.h"

#include <math.h>
#include <string.h>

/* ---- numbers of independent code: sin(a + n), n = 0, 1, … -------------------------------------
 */

/* The numbers have twelve decimals. */
#define GOLDEN 2e-12

enum { D = 4, HEADS = 2, HEAD = 2, J = 3, F = 5 };

static void put_sines(verify_record *r, const char *name, size_t rows, size_t cols, double centre,
                      double scale, double start)
{
    double *values = NULL;
    TEST_OK(verify_record_put(r, name, rows, cols, &values, test_err));
    for (size_t n = 0; n < rows * cols; n++) {
        values[n] = centre + scale * sin(start + (double)n);
    }
}

static void put_common(verify_record *r, const char *energy, const char *place, const char *precond)
{
    TEST_OK(verify_record_put_word(r, "energy", energy, test_err));
    TEST_OK(verify_record_put_word(r, "place", place, test_err));
    TEST_OK(verify_record_put_word(r, "precond", precond, test_err));
    TEST_OK(verify_record_put_number(r, "width", D, test_err));
    TEST_OK(verify_record_put_number(r, "epsilon", 1e-5, test_err));
    TEST_OK(verify_record_put_number(r, "eta", 1, test_err));
    put_sines(r, "x", 1, D, 0, 1, 11);
    put_sines(r, "gamma", 1, D, 1, 0.5, 10);
    if (strcmp(precond, "dlr") == 0) {
        TEST_OK(verify_record_put_number(r, "rank", 1, test_err));
        put_sines(r, "p_delta", 1, D, 0, 1, 7);
        put_sines(r, "p_u", D, 1, 0, 0.5, 8);
        put_sines(r, "p_v", D, 1, 0, 0.5, 9);
    }
}

/* The history is h itself, or n(h) with the norm in every step. */
static void put_attention(verify_record *r, const char *rope, const char *diag, bool normed)
{
    double *c = NULL;
    TEST_OK(verify_record_put_word(r, "rope", rope, test_err));
    TEST_OK(verify_record_put_word(r, "diag", diag, test_err));
    TEST_OK(verify_record_put_number(r, "heads", HEADS, test_err));
    TEST_OK(verify_record_put_number(r, "head", HEAD, test_err));
    TEST_OK(verify_record_put_number(r, "history", J, test_err));
    TEST_OK(verify_record_put_number(r, "rope_base", 10000, test_err));
    put_sines(r, "wq", HEADS * HEAD, D, 0, 1, 1);
    put_sines(r, "wk", HEADS * HEAD, D, 0, 1, 2);
    put_sines(r, "diag_rows", 1, D, 0, 0.3, 4);
    put_sines(r, "c", J, D, 0, 1, 3);
    TEST_OK(verify_record_edit(r, "c", J, D, &c, test_err));
    for (size_t j = 0; normed && j < J; j++) {
        double square = 0;
        for (size_t i = 0; i < D; i++) {
            square += c[j * D + i] * c[j * D + i];
        }
        for (size_t i = 0; i < D; i++) {
            c[j * D + i] *= (1 + 0.5 * sin(10 + (double)i)) / sqrt(square / D + 1e-5);
        }
    }
}

static void put_mlp(verify_record *r)
{
    double *gate = NULL;
    TEST_OK(verify_record_put_number(r, "hidden", F, test_err));
    put_sines(r, "wu", F, D, 0, 1, 5);
    TEST_OK(verify_record_put(r, "gate", 1, F, &gate, test_err));
    for (size_t m = 0; m < F; m++) {
        for (size_t i = 0; i < D; i++) {
            gate[m] += sin(6 + (double)(m * D + i)) * sin(11 + (double)i);
        }
    }
}

typedef struct golden {
    const char *energy, *place, *precond, *rope, *diag;
    double value;
    double step[D]; /* P G, with the norm's Jacobian under exact */
} golden;

static const golden goldens[] = {
    {"attention",
     "once",
     "none",
     "none",
     "none",
     -8.145891735974,
     {-2.812620558754, -3.061695225664, -0.495861421829, 2.525865086453}},
    {"attention",
     "once",
     "none",
     "none",
     "shared",
     -8.003695079650,
     {-2.513989986495, -2.645151262346, -0.275998935393, 2.791433749872}},
    {"attention",
     "once",
     "none",
     "exact",
     "none",
     -8.644296591486,
     {-2.963709266970, -3.933720979904, -1.287087765198, 2.542888005122}},
    {"attention",
     "once",
     "none",
     "exact",
     "shared",
     -8.408800817223,
     {-2.676569243596, -3.562697948287, -1.256410692661, 2.751591116376}},
    {"attention",
     "step",
     "none",
     "exact",
     "shared",
     -10.779873269266,
     {-3.379486724146, -4.778550297973, -1.731091098480, 3.552405452969}},
    {"attention",
     "exact",
     "none",
     "exact",
     "shared",
     -10.779873269266,
     {0.758766988261, -0.960205948381, -3.260668888772, 1.629021659279}},
    {"attention",
     "step",
     "dlr",
     "exact",
     "shared",
     -10.779873269266,
     {-4.192908408375, -5.054420978301, 0.247411533736, 2.430803969556}},
    {"mlp-a",
     "once",
     "none",
     NULL,
     NULL,
     -5.697418062276,
     {-5.267845572474, -2.633768973200, 2.421782673786, 5.250758499117}},
    {"mlp-b",
     "once",
     "none",
     NULL,
     NULL,
     -6.295841021348,
     {-5.137248111583, -2.430960040942, 2.510341480395, 5.143646621689}},
};

static void test_golden_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        const golden *g = &goldens[i];
        verify_record r = {0};
        verify_work work = {0};
        verify_cem q;
        verify_cem_point from;
        verify_cem_point to;
        put_common(&r, g->energy, g->place, g->precond);
        if (g->rope != NULL) {
            put_attention(&r, g->rope, g->diag, strcmp(g->place, "once") != 0);
        } else {
            put_mlp(&r);
        }
        TEST_OK(verify_cem_read(&q, &r, &work, test_err));
        TEST_OK(verify_cem_point_init(&from, &q, &work, test_err));
        TEST_OK(verify_cem_point_init(&to, &q, &work, test_err));
        memcpy(from.x, q.x, D * sizeof *q.x);
        verify_cem_visit(&q, &from);
        verify_cem_step(&q, &from, &to);
        assert_true(fabs(from.at.energy - g->value) <= GOLDEN);
        for (size_t k = 0; k < D; k++) {
            assert_true(fabs(to.x[k] - from.x[k] - g->step[k]) <= GOLDEN);
        }
        /* What the bounds allow is little beside energies and steps of a few units. */
        assert_true(from.rounding < 1e-10 && to.moved_rounding < 1e-10);
        verify_work_fini(&work);
        verify_record_fini(&r);
    }
}

/* Two steps with the indefinite-free P of the notes: the second one rises. */
static void test_rising_steps(void **state)
{
    static const double energies[] = {-10.779873269266, -10.909653783519, -10.870558077245};
    static const double last[D] = {-9.179674586357, -11.213119981087, 0.331309972589,
                                   5.668203271572};
    verify_record r = {0};
    verify_work work = {0};
    verify_cem q;
    verify_cem_point p[3];
    (void)state;
    put_common(&r, "attention", "step", "dlr");
    put_attention(&r, "exact", "shared", true);
    TEST_OK(verify_cem_read(&q, &r, &work, test_err));
    for (size_t t = 0; t < 3; t++) {
        TEST_OK(verify_cem_point_init(&p[t], &q, &work, test_err));
    }
    memcpy(p[0].x, q.x, D * sizeof *q.x);
    verify_cem_visit(&q, &p[0]);
    verify_cem_step(&q, &p[0], &p[1]);
    verify_cem_step(&q, &p[1], &p[2]);
    for (size_t t = 0; t < 3; t++) {
        assert_true(fabs(p[t].at.energy - energies[t]) <= 10 * GOLDEN);
    }
    for (size_t k = 0; k < D; k++) {
        assert_true(fabs(p[2].x[k] - last[k]) <= 10 * GOLDEN);
    }
    assert_true(p[2].at.energy > p[1].at.energy + p[2].rounding + p[1].rounding);
    verify_work_fini(&work);
    verify_record_fini(&r);
}

/* To ten decimals; far out by the asymptotes z²/2 − π²/12 and π²/12. */
static void test_silu_integral(void **state)
{
    (void)state;
    assert_true(fabs(verify_cem_silu_integral(1) - 0.3294426505) <= 5e-11);
    assert_true(fabs(verify_cem_silu_integral(-1) - 0.1705573495) <= 5e-11);
    assert_true(fabs(verify_cem_silu_integral(5) - 11.717836340) <= 5e-10);
    assert_true(fabs(verify_cem_silu_integral(0)) <= 1e-15);
    assert_true(fabs(verify_cem_silu_integral(-60) - 0.8224670334241132) <= 1e-15);
    assert_true(fabs(verify_cem_silu_integral(60) - (1800 - 0.8224670334241132)) <= 1e-12);
}

/* The 2-D witness of the notes, P = I: γ = (1, 9), x̂ = (1, 1), G = (1, 0.3) gives a slope of the
 * energy in η of wᵀΠw′ = ½(1 − 2.7)(1 − 0.3)·(−1) = 0.595. */
static void test_two_dimensional_witness(void **state)
{
    static const double x[] = {1, 1};
    static const double gamma[] = {1, 9};
    static const double force[] = {1, 0.3};
    static const double unit[] = {1, 0};
    const double eta = 1e-7;
    verify_record r = {0};
    verify_work work = {0};
    verify_outcome o;
    (void)state;
    TEST_OK(verify_record_put_word(&r, "energy", "attention", test_err));
    TEST_OK(verify_record_put_word(&r, "place", "step", test_err));
    TEST_OK(verify_record_put_word(&r, "precond", "none", test_err));
    TEST_OK(verify_record_put_word(&r, "rope", "none", test_err));
    TEST_OK(verify_record_put_word(&r, "diag", "none", test_err));
    TEST_OK(verify_record_put_number(&r, "width", 2, test_err));
    TEST_OK(verify_record_put_number(&r, "epsilon", 0, test_err));
    TEST_OK(verify_record_put_number(&r, "eta", eta, test_err));
    TEST_OK(verify_record_put_number(&r, "heads", 1, test_err));
    TEST_OK(verify_record_put_number(&r, "head", 1, test_err));
    TEST_OK(verify_record_put_number(&r, "history", 1, test_err));
    TEST_OK(verify_record_put_number(&r, "rope_base", 1, test_err));
    TEST_OK(verify_record_put_copy(&r, "x", 1, 2, x, test_err));
    TEST_OK(verify_record_put_copy(&r, "gamma", 1, 2, gamma, test_err));
    TEST_OK(verify_record_put_copy(&r, "wq", 1, 2, force, test_err));
    TEST_OK(verify_record_put_copy(&r, "wk", 1, 2, unit, test_err));
    TEST_OK(verify_record_put_copy(&r, "c", 1, 2, unit, test_err));
    TEST_OK(verify_run_check(&verify_cem_identity_not_monotone, &r, &work, &o, test_err));
    assert_false(o.skipped);
    assert_true(verify_outcome_violates(&o));
    /* Second order in η, and roundings of energies of about four over η. */
    assert_true(fabs((o.left - o.right) / eta - 0.595) <= 1e-6);
    verify_work_fini(&work);
    verify_record_fini(&r);
}

/* ---- claims -----------------------------------------------------------------------------------
 */

static const verify_claim *const claims[] = {
    &verify_cem_attention_equivalence,
    &verify_cem_mlp_equivalence,
    &verify_cem_concavity,
    &verify_cem_descent_once,
    &verify_cem_unconditional_descent,
    &verify_cem_dlr_not_monotone,
    &verify_cem_identity_not_monotone,
    &verify_cem_mlp_step_bound,
    &verify_cem_energy_bounds,
    &verify_preconditioner_definite,
};

enum { CLAIMS = sizeof claims / sizeof *claims };

static verify_result run_claim(const verify_claim *claim, const verify_subject *subject,
                               size_t trials, int workers)
{
    const verify_options o = {.seed = 5, .trials = trials, .workers = workers};
    verify_result r = {0};
    TEST_OK(verify_run_claim(claim, subject, &o, &r, test_err));
    return r;
}

static void test_claims_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLAIMS; i++) {
        verify_result r = run_claim(claims[i], NULL, 5000, 2);
        assert_int_equal(r.verdict, VERIFY_HOLDS);
        assert_true(r.claim->kind == VERIFY_REFUTED ? r.witness : r.trials == 5000);
        assert_true(claims[i]->kind == VERIFY_REFUTED || claims[i]->trials >= 100000);
        /* A rise that is found is far beyond rounding. */
        assert_true(r.claim->kind != VERIFY_REFUTED || r.worst > 1e6 * r.tolerance);
        verify_result_fini(&r);
    }
}

static void test_same_bits_for_any_workers(void **state)
{
    (void)state;
    for (size_t i = 0; i < CLAIMS; i++) {
        verify_result a = run_claim(claims[i], NULL, 300, 1);
        verify_result b = run_claim(claims[i], NULL, 300, 3);
        assert_memory_equal(&a.outcome.left, &b.outcome.left, sizeof a.outcome.left);
        assert_memory_equal(&a.outcome.right, &b.outcome.right, sizeof a.outcome.right);
        assert_int_equal(a.worst_trial, b.worst_trial);
        verify_result_fini(&a);
        verify_result_fini(&b);
    }
}

/* ---- wrong on purpose -------------------------------------------------------------------------
 */

/* The decrement ×1.5: with one token in the history and ε₀ = 0 it is attained. */
static kern_status greedy_check(const verify_record *record, verify_work *work,
                                verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(verify_cem_unconditional_descent.check(record, work, outcome, err));
    outcome->right -= outcome->skipped ? 0 : 0.5 * outcome->extras[1].value;
    return KERN_OK;
}

/* The sign of the curvature. */
static kern_status convex_check(const verify_record *record, verify_work *work,
                                verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(verify_cem_concavity.check(record, work, outcome, err));
    const double kept = outcome->left;
    outcome->left = outcome->right;
    outcome->right = kept;
    return KERN_OK;
}

/* Steps half as long again as allowed. */
static kern_status long_draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                             verify_work *work, verify_record *record, kern_error *err)
{
    (void)subject;
    return verify_cem_draw_bounded(rng, trial, 3, work, record, err);
}

/* Log of the history's length left out of the lower bound. */
static kern_status tight_check(const verify_record *record, verify_work *work,
                               verify_outcome *outcome, kern_error *err)
{
    size_t history = 0;
    size_t heads = 0;
    double head = 0;
    KERN_TRY(verify_cem_energy_bounds.check(record, work, outcome, err));
    if (verify_record_find(record, "history") != NULL) {
        KERN_TRY(verify_record_get_size(record, "history", 1, 99, &history, err));
        KERN_TRY(verify_record_get_size(record, "heads", 1, 99, &heads, err));
        KERN_TRY(verify_record_get_number(record, "head", &head, err));
        outcome->left += 0.5 * (double)heads * sqrt(head) * log((double)history);
    }
    return KERN_OK;
}

static void test_wrong_claims_are_caught(void **state)
{
    verify_claim wrong[] = {verify_cem_unconditional_descent, verify_cem_concavity,
                            verify_cem_mlp_step_bound, verify_cem_energy_bounds};
    (void)state;
    wrong[0].check = greedy_check;
    wrong[1].check = convex_check;
    wrong[2].draw = long_draw;
    wrong[3].check = tight_check;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        verify_result r = run_claim(&wrong[i], NULL, 2000, 2);
        assert_int_equal(r.verdict, VERIFY_FAILS);
        assert_true(r.witness && verify_result_fails(&r, false));
        verify_result_fini(&r);
    }
}

/* ---- runs -------------------------------------------------------------------------------------
 */

static model_config config_of(unsigned i)
{
    model_config c = model_config_default(MODEL_CEM);
    c.n_embed = 8;
    c.n_head = 2;
    c.vocab_size = 9;
    c.block_size = 7;
    c.n_layer = 2;
    c.n_hidden = 6;
    c.rope = (model_rope)(i % 3);
    c.cem.diag = (model_diag)(i / 2 % 3);
    c.cem.mlp = (model_mlp)(i % 2);
    c.cem.precond = (model_precond)(i / 3 % 3);
    c.cem.p_rank = 2;
    c.cem.norm = (model_place)(i / 4 % 3);
    c.cem.t_attn = 3;
    c.cem.t_mlp = 2;
    c.cem.eta = 0.8;
    return c;
}

/* Of two prompts. */
static verify_subject *subject_of(const model *m)
{
    static const size_t tokens[] = {6, 7};
    verify_subject *subject = NULL;
    int32_t *ids = test_ids(13, 9, 5);
    TEST_OK(verify_subject_create(&subject, m, "a run", 2, tokens, ids, test_err));
    free(ids);
    return subject;
}

static bool is_certified(const model_config *c)
{
    return c->cem.precond == MODEL_PRECOND_GAMMA && c->cem.norm == MODEL_PLACE_STEP &&
           c->rope != MODEL_ROPE_PLAIN;
}

static void test_runs(void **state)
{
    unsigned rising = 0;
    unsigned certified = 0;
    (void)state;
    for (unsigned i = 0; i < 24; i++) {
        const model_config c = config_of(i);
        model *m = test_model(&c, 0.4, 10 + i);
        verify_subject *subject = subject_of(m);
        verify_result engine = run_claim(&verify_cem_engine, subject, 64, 2);
        verify_result descent = run_claim(&verify_cem_unconditional_descent_run, subject, 64, 2);
        verify_result concave = run_claim(&verify_cem_concavity_run, subject, 64, 2);
        verify_result definite = run_claim(&verify_preconditioner_definite_run, subject, 8, 1);
        verify_result monotone = run_claim(&verify_cem_monotone, subject, 64, 2);
        assert_int_equal(engine.verdict, VERIFY_HOLDS);
        assert_int_equal(descent.verdict, is_certified(&c) ? VERIFY_HOLDS : VERIFY_NOT_APPLICABLE);
        assert_int_equal(concave.verdict,
                         c.rope == MODEL_ROPE_PLAIN ? VERIFY_NOT_APPLICABLE : VERIFY_HOLDS);
        assert_int_equal(definite.verdict == VERIFY_NOT_APPLICABLE,
                         c.cem.precond != MODEL_PRECOND_DLR);
        assert_true(descent.reason != NULL || descent.verdict == VERIFY_HOLDS);
        assert_int_equal(monotone.trials, 64);
        assert_string_equal(monotone.extras[0].name, "rising");
        rising += monotone.verdict == VERIFY_FAILS;
        certified += is_certified(&c);
        verify_result_fini(&engine);
        verify_result_fini(&descent);
        verify_result_fini(&concave);
        verify_result_fini(&definite);
        verify_result_fini(&monotone);
        verify_subject_destroy(subject);
        model_destroy(m);
    }
    assert_true(rising > 4 && certified > 0);
}

static void test_runs_that_are_something_else(void **state)
{
    (void)state;
    model_config other = model_config_default(MODEL_LLAMA);
    model_config sync = config_of(0);
    other.n_embed = 8;
    other.n_head = 2;
    other.vocab_size = 9;
    other.n_layer = 1;
    other.n_hidden = 6;
    sync.cem.hist = MODEL_HIST_SYNC;
    const model_config *const configs[] = {&other, &sync};
    for (size_t i = 0; i < 2; i++) {
        model *m = test_model(configs[i], 0.4, 3);
        verify_subject *subject = subject_of(m);
        verify_result r = run_claim(&verify_cem_monotone, subject, 8, 1);
        assert_int_equal(r.verdict, VERIFY_NOT_APPLICABLE);
        assert_non_null(r.reason);
        verify_result_fini(&r);
        verify_subject_destroy(subject);
        model_destroy(m);
    }
}

/* ---- records that are none --------------------------------------------------------------------
 */

static void test_bad_records(void **state)
{
    static const char *const needed[] = {"energy", "width", "wq", "c", "gamma", "x"};
    (void)state;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        verify_work work = {0};
        verify_record r = {0};
        verify_record part = {0};
        verify_outcome o;
        kern_error err = {0};
        put_common(&r, "attention", "step", "none");
        put_attention(&r, "none", "none", true);
        for (size_t k = 0; k < r.count; k++) {
            const verify_entry *e = &r.entries[k];
            if (strcmp(e->name, needed[i]) == 0) {
                continue;
            }
            if (e->rows == 0) {
                TEST_OK(verify_record_put_word(&part, e->name, e->word, test_err));
            } else {
                TEST_OK(
                    verify_record_put_copy(&part, e->name, e->rows, e->cols, e->values, test_err));
            }
        }
        assert_int_equal(
            verify_run_check(&verify_cem_identity_not_monotone, &part, &work, &o, &err),
            KERN_BAD_INPUT);
        assert_non_null(strstr(err.text, needed[i]));
        verify_record_fini(&part);
        verify_record_fini(&r);
        verify_work_fini(&work);
    }
}

int main(void)
{
    kern_runtime_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_numbers),
        cmocka_unit_test(test_rising_steps),
        cmocka_unit_test(test_silu_integral),
        cmocka_unit_test(test_two_dimensional_witness),
        cmocka_unit_test(test_claims_hold),
        cmocka_unit_test(test_same_bits_for_any_workers),
        cmocka_unit_test(test_wrong_claims_are_caught),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_runs_that_are_something_else),
        cmocka_unit_test(test_bad_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
