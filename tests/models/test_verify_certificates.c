/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Claims on descent certificates: they hold over many instances, their witnesses rise by plain
 * arithmetic, statements that are wrong on purpose fail, and small models get the verdict that
 * their parametrisation deserves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/verify/verify_descent_instance.h"
#include "models/verify/verify_run.h"
#include "models/verify/verify_table.h"
#include "tests/dyn/dyn_descent_check.h"
#include "tests/models/model_test_graph.h"

#include <math.h>
#include <string.h>

static verify_result run(const verify_claim *claim, const verify_subject *subject, size_t trials,
                         int workers)
{
    verify_result result = {0};
    const verify_options options = {.seed = 11, .trials = trials, .workers = workers};
    TEST_OK(verify_run_claim(claim, subject, &options, &result, test_err));
    return result;
}

static const verify_extra *extra_of(const verify_outcome *outcome, const char *name)
{
    for (size_t i = 0; i < outcome->n_extras; i++) {
        if (strcmp(outcome->extras[i].name, name) == 0) {
            return &outcome->extras[i];
        }
    }
    fail_msg("no extra %s", name);
    return NULL;
}

static double greatest(const verify_result *result, const char *name)
{
    for (size_t i = 0; i < result->n_extras; i++) {
        if (strcmp(result->extras[i].name, name) == 0) {
            return result->extras[i].greatest;
        }
    }
    fail_msg("no extra %s", name);
    return 0;
}

/* ---- theorems -------------------------------------------------------------------------------- */

static void test_theorems(void **state)
{
    const verify_claim *const claims[] = {&verify_descent_condition, &verify_x_gradient_variant,
                                          &verify_x_gradient_step};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        verify_result r = run(claims[i], NULL, 30000, 2);
        assert_true(claims[i]->trials >= 100000);
        assert_int_equal(r.violations, 0);
        assert_int_equal(r.verdict, VERIFY_HOLDS);
        /* Instances are found that come close: two thirds of the bound would fail. */
        assert_true(greatest(&r, "share_of_bound") > 0.99);
        assert_true(greatest(&r, "share_of_bound") <= 1 + 1e-6);
        verify_result_fini(&r);
    }
}

static void test_converses(void **state)
{
    const verify_claim *const claims[] = {&verify_descent_condition_necessary,
                                          &verify_x_gradient_variant_necessary};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        verify_result r = run(claims[i], NULL, 3000, 2);
        assert_true(r.trials >= 2900);
        assert_int_equal(r.violations, 0);
        assert_int_equal(r.verdict, VERIFY_HOLDS);
        verify_result_fini(&r);
    }
}

static dyn_descent_system system_of(const verify_record *record)
{
    const verify_entry *gamma = verify_record_find(record, "gamma");
    return (dyn_descent_system){
        .width = gamma->cols,
        .centre = strcmp(verify_record_find(record, "norm")->word, "layernorm") == 0,
        .epsilon = verify_record_find(record, "epsilon")->values[0],
        .gamma = gamma->values,
        .eta = verify_record_find(record, "eta")->values};
}

/* Every kind of η outside the family, by the plain arithmetic of dyn_descent_check.h. */
static void test_witnesses_by_hand(void **state)
{
    verify_record record = {0};
    verify_work work = {0};
    (void)state;
    for (size_t trial = 0; trial < 600; trial++) {
        TEST_OK(verify_run_draw(&verify_descent_condition_necessary, NULL, 3, trial, &work, &record,
                                test_err));
        const dyn_descent_system s = system_of(&record);
        const double *x = verify_record_find(&record, "x")->values;
        const double *v = verify_record_find(&record, "v")->values;
        assert_true(check_form_twofold(&s, x, v) < 0);
    }
    verify_record_fini(&record);
    verify_work_fini(&work);
}

static void test_refuted(void **state)
{
    (void)state;
    verify_result r = run(&verify_descent_condition_positive, NULL, 0, 2);
    assert_int_equal(r.verdict, VERIFY_HOLDS);
    assert_true(r.witness);
    assert_int_equal(r.violations, r.trials); /* by search and not by luck */
    const dyn_descent_system s = system_of(&r.record);
    const double *x = verify_record_find(&r.record, "x")->values;
    const double *v = verify_record_find(&r.record, "v")->values;
    assert_true(check_form(&s, x, v) < 0);
    assert_true(fabs(check_form(&s, x, v) + r.outcome.left) <= 1e-12 * r.outcome.scale);
    verify_result_fini(&r);
}

/* ---- statements that are wrong on purpose ---------------------------------------------------- */

static kern_status check_two_thirds(const verify_record *record, verify_work *work,
                                    verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(verify_descent_condition.check(record, work, outcome, err));
    outcome->right /= 1.5;
    return KERN_OK;
}

static kern_status check_flipped(const verify_record *record, verify_work *work,
                                 verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(verify_descent_condition.check(record, work, outcome, err));
    outcome->left = -outcome->left;
    return KERN_OK;
}

static kern_status check_flipped_gradient(const verify_record *record, verify_work *work,
                                          verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(verify_x_gradient_variant.check(record, work, outcome, err));
    outcome->left = -outcome->left;
    return KERN_OK;
}

/* The constant 2/√3 over 1.5: on energies without curvature of their own it is all there is. */
static kern_status check_small_constant(const verify_record *record, verify_work *work,
                                        verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(verify_x_gradient_step.check(record, work, outcome, err));
    outcome->skipped = verify_record_find(record, "curvature")->values[0] != 0;
    const double share = extra_of(outcome, "share_of_bound")->value;
    outcome->left = share;
    outcome->right = 1 / 1.5;
    outcome->tolerance = 1e-6;
    return KERN_OK;
}

/* The worst case is claimed to be 1.5 times what it is. */
static kern_status check_too_much(const verify_record *record, verify_work *work,
                                  verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(verify_descent_condition_necessary.check(record, work, outcome, err));
    outcome->left *= 1.5;
    return KERN_OK;
}

static void test_wrong_claims_fail(void **state)
{
    verify_claim wrong[] = {verify_descent_condition, verify_descent_condition,
                            verify_x_gradient_variant, verify_x_gradient_step,
                            verify_descent_condition_necessary};
    (void)state;
    wrong[0].check = check_two_thirds;
    wrong[1].check = check_flipped;
    wrong[2].check = check_flipped_gradient;
    wrong[3].check = check_small_constant;
    wrong[4].check = check_too_much;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        verify_result r = run(&wrong[i], NULL, 4000, 2);
        assert_int_equal(r.verdict, VERIFY_FAILS);
        assert_true(r.violations > 0);
        verify_result_fini(&r);
    }
}

static void test_preconditioner_spectrum(void **state)
{
    (void)state;
    verify_result r = run(&verify_preconditioner_spectrum, NULL, 20000, 2);
    assert_true(verify_preconditioner_spectrum.trials >= 100000);
    assert_int_equal(r.verdict, VERIFY_HOLDS);
    assert_int_equal(r.violations, 0);
    verify_record record = {0};
    verify_work work = {0};
    verify_outcome outcome;
    double u[] = {1, 2, 2};
    double v[] = {3, 0, 4};
    TEST_OK(verify_record_put_number(&record, "width", 3, test_err));
    TEST_OK(verify_record_put_number(&record, "rank", 1, test_err));
    TEST_OK(verify_record_put_copy(&record, "p_u", 3, 1, u, test_err));
    TEST_OK(verify_record_put_copy(&record, "p_v", 3, 1, v, test_err));
    TEST_OK(verify_run_check(&verify_preconditioner_spectrum, &record, &work, &outcome, test_err));
    assert_false(verify_outcome_violates(&outcome));
    verify_record_fini(&record);
    verify_work_fini(&work);
    verify_result_fini(&r);
}

/* ---- the same for any number of workers ------------------------------------------------------ */

static void test_workers(void **state)
{
    const verify_claim *const claims[] = {&verify_descent_condition,
                                          &verify_descent_condition_necessary,
                                          &verify_descent_condition_positive,
                                          &verify_x_gradient_variant,
                                          &verify_x_gradient_variant_necessary,
                                          &verify_x_gradient_step};
    (void)state;
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        verify_result one = run(claims[i], NULL, 500, 1);
        verify_result two = run(claims[i], NULL, 500, 3);
        assert_int_equal(one.worst_trial, two.worst_trial);
        assert_memory_equal(&one.outcome.left, &two.outcome.left, sizeof(double));
        assert_memory_equal(&one.outcome.right, &two.outcome.right, sizeof(double));
        assert_memory_equal(&one.extras[0].mean, &two.extras[0].mean, sizeof(double));
        verify_result_fini(&one);
        verify_result_fini(&two);
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

static model *small_model(model_family family, model_eta eta, model_norm norm, uint64_t seed)
{
    model_config c = model_config_default(family);
    c.n_embed = 10;
    c.n_head = 1;
    c.vocab_size = 9;
    c.n_layer = 2;
    c.eta = eta;
    c.norm = norm;
    return test_model(&c, 0.4, seed);
}

/* Numbers of a tensor, as single precision would keep them. */
static void round_tensor(model *m, const char *name, double shift)
{
    const model_param *p = model_params_find(&m->params, name);
    double *values = m->values;
    for (size_t i = 0; p != NULL && i < p->rows * p->cols; i++) {
        values[p->offset + i] = (double)(float)(values[p->offset + i] + shift);
    }
}

static verify_subject *subject_of(const model *m)
{
    static const size_t tokens = 6;
    verify_subject *subject = NULL;
    int32_t *ids = test_ids(tokens, 9, 5);
    TEST_OK(verify_subject_create(&subject, m, "a run", 1, &tokens, ids, test_err));
    free(ids);
    return subject;
}

static void check_run_verdict(model *m, const verify_claim *claim, verify_verdict verdict,
                              const char *label)
{
    verify_subject *subject = subject_of(m);
    verify_result r = run(claim, subject, 0, 1);
    assert_int_equal(r.verdict, verdict);
    if (label != NULL) {
        assert_non_null(r.outcome.label);
        assert_non_null(strstr(r.outcome.label, label));
    }
    if (verdict == VERIFY_FAILS && claim == &verify_descent_condition_run) {
        const dyn_descent_system s = system_of(&r.record);
        assert_true(check_form_twofold(&s, verify_record_find(&r.record, "x")->values,
                                       verify_record_find(&r.record, "v")->values) < 0);
    }
    verify_result_fini(&r);
    verify_subject_destroy(subject);
}

static void test_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const model_norm norm = i == 0 ? MODEL_LAYERNORM : MODEL_RMSNORM;
        for (int eta = MODEL_ETA_FULL; eta <= MODEL_ETA_PSD_SKEW; eta++) {
            model *m = small_model(MODEL_NRGPT, (model_eta)eta, norm, 20 + i);
            round_tensor(m, "blocks.ln.weight", 0.0);
            round_tensor(m, "blocks.eta", 2.0); /* c > 0 */
            const bool member = eta == MODEL_ETA_GAMMA;
            const bool positive = eta == MODEL_ETA_SCALAR || eta == MODEL_ETA_SQUARE;
            check_run_verdict(m, &verify_descent_condition_run,
                              member ? VERIFY_HOLDS : VERIFY_FAILS,
                              member ? "certified: eta is in" : "not certified: the witness rises");
            if (positive || eta == MODEL_ETA_FULL) {
                check_run_verdict(m, &verify_x_gradient_variant_run,
                                  positive ? VERIFY_HOLDS : VERIFY_FAILS, NULL);
            }
            model_destroy(m);
        }
        model *gpt = small_model(MODEL_GPT, MODEL_ETA_FULL, norm, 3);
        check_run_verdict(gpt, &verify_descent_condition_run, VERIFY_NOT_APPLICABLE, NULL);
        check_run_verdict(gpt, &verify_x_gradient_variant_run, VERIFY_NOT_APPLICABLE, NULL);
        model_destroy(gpt);
    }
}

/* A full η that was trained to cΓ and stored in single precision. */
static void test_run_within_rounding(void **state)
{
    (void)state;
    model *m = small_model(MODEL_NRGPT, MODEL_ETA_FULL, MODEL_RMSNORM, 9);
    const model_param *eta = model_params_find(&m->params, "blocks.proj.weight");
    const model_param *gamma = model_params_find(&m->params, "blocks.ln.weight");
    assert_non_null(eta);
    assert_non_null(gamma);
    double *values = m->values;
    for (size_t i = 0; i < 100; i++) {
        const double gain = values[gamma->offset + i / 10];
        values[eta->offset + i] = i % 11 == 0 ? (double)(float)(0.3 * gain) : 0.0;
    }
    check_run_verdict(m, &verify_descent_condition_run, VERIFY_HOLDS, "within rounding");
    values[eta->offset + 1] = (double)(float)1e-6;
    check_run_verdict(m, &verify_descent_condition_run, VERIFY_FAILS, "not certified");
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_theorems),
        cmocka_unit_test(test_converses),
        cmocka_unit_test(test_witnesses_by_hand),
        cmocka_unit_test(test_refuted),
        cmocka_unit_test(test_wrong_claims_fail),
        cmocka_unit_test(test_preconditioner_spectrum),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_run_within_rounding),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
