/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The runner of claims: what counts as a violation, which instance is the worst, the search for
 * counterexamples, the same bits for any number of workers, interrupts, and claims that are wrong
 * on purpose, which it must catch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/verify/verify_run.h"
#include "models/verify/verify_table.h"
#include "tests/models/model_test_graph.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- toy claims: x² ≤ 1 for normal x ----------------------------------------------------------
 */

static kern_status toy_draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    double *scratch = NULL;
    (void)subject;
    KERN_TRY(verify_work_take(work, 10 + trial % 100, &scratch, err));
    return verify_record_put_number(record, "x", kern_rng_normal(rng), err);
}

static kern_status toy_check(const verify_record *record, verify_work *work,
                             verify_outcome *outcome, kern_error *err)
{
    double x = 0;
    (void)work;
    KERN_TRY(verify_record_get_number(record, "x", &x, err));
    outcome->left = x * x;
    outcome->right = 1;
    outcome->skipped = x < 0;
    verify_outcome_add(outcome, "x", x);
    verify_outcome_add(outcome, "small", x < 0.5 ? x : (double)NAN);
    return KERN_OK;
}

/* x grows by a tenth per unit of the budget. */
static kern_status toy_sharpen(verify_record *record, verify_work *work, size_t budget,
                               kern_error *err)
{
    double *x = NULL;
    (void)work;
    KERN_TRY(verify_record_edit(record, "x", 1, 1, &x, err));
    x[0] += 0.1 * (double)budget;
    return KERN_OK;
}

static kern_status nan_check(const verify_record *record, verify_work *work,
                             verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(toy_check(record, work, outcome, err));
    outcome->left = outcome->extras[0].value > 1 ? (double)NAN : 0;
    return KERN_OK;
}

static kern_status failing_check(const verify_record *record, verify_work *work,
                                 verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(toy_check(record, work, outcome, err));
    return outcome->left > 9 ? kern_raise(err, KERN_SINGULAR, "x is %g", outcome->extras[0].value)
                             : KERN_OK;
}

/* Remembers: no function of its record. */
static kern_status forgetful_check(const verify_record *record, verify_work *work,
                                   verify_outcome *outcome, kern_error *err)
{
    static double calls = 0;
    KERN_TRY(toy_check(record, work, outcome, err));
    outcome->left += ++calls;
    return KERN_OK;
}

static verify_claim toy(verify_kind kind)
{
    return (verify_claim){.name = "toy",
                          .kind = kind,
                          .statement = "x^2 <= 1",
                          .source = "none",
                          .measured = "left: x^2; right: 1",
                          .trials = 1000,
                          .draw = toy_draw,
                          .check = toy_check};
}

static verify_result run_with(const verify_claim *claim, const verify_options *options)
{
    verify_result result = {0};
    TEST_OK(verify_run_claim(claim, NULL, options, &result, test_err));
    return result;
}

static void test_kinds(void **state)
{
    const verify_options o = {.seed = 3};
    (void)state;
    for (int kind = 0; kind < VERIFY_KINDS; kind++) {
        verify_claim claim = toy((verify_kind)kind);
        verify_result r = run_with(&claim, &o);
        const bool search = claim.kind == VERIFY_REFUTED;
        assert_true(search || r.trials + r.skipped == 1000);
        assert_true(r.violations > 0);
        assert_true(search || (r.skipped > 400 && r.skipped < 600));
        assert_int_equal(r.witness, claim.kind != VERIFY_STATISTIC);
        assert_int_equal(r.verdict, claim.kind == VERIFY_STATISTIC ? VERIFY_OPEN
                                    : search                       ? VERIFY_HOLDS
                                                                   : VERIFY_FAILS);
        assert_int_equal(verify_result_fails(&r, false), claim.kind == VERIFY_THEOREM);
        assert_int_equal(verify_result_fails(&r, true),
                         claim.kind == VERIFY_THEOREM || claim.kind == VERIFY_PROPERTY);
        verify_result_fini(&r);
    }
}

/* Worst instance, extremes and mean, against a plain loop over the same streams. */
static void test_gathers(void **state)
{
    const verify_options o = {.seed = 11, .trials = 9000};
    const verify_claim claim = toy(VERIFY_PROPERTY);
    double worst = 0;
    double sum = 0;
    double least = 100;
    size_t at = 0;
    size_t n = 0;
    size_t n_small = 0;
    (void)state;
    for (size_t t = 0; t < 9000; t++) {
        kern_rng *rng = kern_rng_create(11, "toy", t);
        const double x = kern_rng_normal(rng);
        kern_rng_destroy(rng);
        if (x < 0) {
            continue;
        }
        at = x > worst ? t : at;
        worst = fmax(worst, x);
        least = fmin(least, x);
        sum += x;
        n++;
        n_small += x < 0.5;
    }
    verify_result r = run_with(&claim, &o);
    double x = 0;
    TEST_OK(verify_record_get_number(&r.record, "x", &x, test_err));
    assert_int_equal(r.trials, n);
    assert_int_equal(r.worst_trial, at);
    assert_true(x == worst && r.outcome.left == worst * worst && r.worst == worst * worst - 1);
    assert_int_equal(r.n_extras, 2);
    assert_string_equal(r.extras[0].name, "x");
    assert_true(r.extras[0].worst == worst && r.extras[0].greatest == worst);
    assert_true(r.extras[0].least == least);
    assert_true(fabs(r.extras[0].mean - sum / (double)n) < 1e-12);
    assert_int_equal(r.extras[1].count, n_small);
    assert_true(isnan(r.extras[1].worst) && r.extras[1].greatest < 0.5);
    verify_result_fini(&r);
}

/* Without sharpening no drawn instance among the first is large enough; with it, the first is. */
static void test_sharpens(void **state)
{
    const verify_options o = {.seed = 5};
    (void)state;
    verify_claim claim = toy(VERIFY_REFUTED);
    claim.sharpen = toy_sharpen;
    claim.budget = 100;
    verify_result r = run_with(&claim, &o);
    assert_int_equal(r.verdict, VERIFY_HOLDS);
    assert_int_equal(r.trials, VERIFY_SEARCH);
    assert_int_equal(r.violations, VERIFY_SEARCH);
    assert_true(r.outcome.left > 49);
    verify_result_fini(&r);
    claim.kind = VERIFY_THEOREM;
    r = run_with(&claim, &o);
    assert_int_equal(r.worst_trial % VERIFY_SHARPEN_STRIDE, 0);
    assert_true(r.outcome.left > 49);
    verify_result_fini(&r);
}

static void test_not_a_number_violates(void **state)
{
    const verify_options o = {.seed = 5};
    (void)state;
    verify_claim claim = toy(VERIFY_THEOREM);
    claim.check = nan_check;
    verify_result r = run_with(&claim, &o);
    assert_int_equal(r.verdict, VERIFY_FAILS);
    assert_true(r.witness && isnan(r.outcome.left) && r.worst == HUGE_VAL);
    verify_result_fini(&r);
}

static void test_no_instance(void **state)
{
    const verify_options o = {.seed = 5, .trials = 1};
    (void)state;
    verify_claim claim = toy(VERIFY_THEOREM);
    claim.sharpen = toy_sharpen;
    claim.budget = 1;
    kern_error err = {0};
    /* The first instance of this seed is negative, so that it is skipped. */
    verify_options seeded = o;
    for (seeded.seed = 1; seeded.seed < 100; seeded.seed++) {
        kern_rng *rng = kern_rng_create(seeded.seed, "toy", 0);
        const double x = kern_rng_normal(rng);
        kern_rng_destroy(rng);
        if (x < -0.2) {
            break;
        }
    }
    verify_result r = {0};
    assert_int_equal(verify_run_claim(&claim, NULL, &seeded, &r, &err), KERN_OK);
    assert_int_equal(r.verdict, VERIFY_OPEN);
    assert_int_equal(r.skipped, 1);
    assert_non_null(r.reason);
    assert_true(verify_result_fails(&r, false));
    verify_result_fini(&r);
}

static void test_errors(void **state)
{
    const verify_options o = {.seed = 5, .workers = 3};
    kern_error err = {0};
    verify_result r = {0};
    (void)state;
    verify_claim claim = toy(VERIFY_THEOREM);
    claim.check = failing_check;
    assert_int_equal(verify_run_claim(&claim, NULL, &o, &r, &err), KERN_SINGULAR);
    assert_non_null(strstr(err.text, "x is "));
    claim.check = forgetful_check;
    const verify_options alone = {.seed = 5};
    assert_int_equal(verify_run_claim(&claim, NULL, &alone, &r, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "no function of its record"));
    claim = toy(VERIFY_PROPERTY);
    claim.needs = VERIFY_RUN;
    assert_int_equal(verify_run_claim(&claim, NULL, &o, &r, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "a trained run"));
    assert_null(r.claim);
}

static bool stop_soon(void *context, size_t done, size_t total)
{
    size_t *calls = context;
    assert_true(done <= total && total == 100000);
    return ++*calls < 3;
}

static void test_interrupt(void **state)
{
    size_t calls = 0;
    kern_error err = {0};
    verify_result r = {0};
    const verify_claim claim = toy(VERIFY_THEOREM);
    const verify_options o = {
        .seed = 1, .trials = 100000, .workers = 2, .progress = stop_soon, .context = &calls};
    (void)state;
    assert_int_equal(verify_run_claim(&claim, NULL, &o, &r, &err), KERN_INTERRUPTED);
    assert_null(r.claim);
}

/* ---- every claim of the table -----------------------------------------------------------------
 */

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static bool same_entry(const verify_entry *p, const verify_entry *q)
{
    bool same = strcmp(p->name, q->name) == 0 && p->rows == q->rows && p->cols == q->cols &&
                (p->rows > 0 || strcmp(p->word, q->word) == 0);
    for (size_t i = 0; same && i < p->rows * p->cols; i++) {
        same = same_bits(p->values[i], q->values[i]);
    }
    return same;
}

/* What differs between two results, or NULL. */
static const char *difference(const verify_result *a, const verify_result *b)
{
    if (a->verdict != b->verdict || a->trials != b->trials || a->skipped != b->skipped ||
        a->violations != b->violations) {
        return "a count";
    }
    if (a->worst_trial != b->worst_trial || !same_bits(a->worst, b->worst) ||
        !same_bits(a->outcome.left, b->outcome.left) ||
        !same_bits(a->outcome.right, b->outcome.right)) {
        return "the worst instance";
    }
    for (size_t i = 0; i < a->n_extras; i++) {
        if (a->n_extras != b->n_extras || !same_bits(a->extras[i].mean, b->extras[i].mean)) {
            return a->extras[i].name;
        }
    }
    for (size_t i = 0; i < a->record.count; i++) {
        if (a->record.count != b->record.count ||
            !same_entry(&a->record.entries[i], &b->record.entries[i])) {
            return a->record.entries[i].name;
        }
    }
    return NULL;
}

/* Few instances where each is a long orbit. */
static size_t trials_of(const verify_claim *claim)
{
    if (claim->kind == VERIFY_REFUTED) {
        return 0;
    }
    return claim->kind == VERIFY_STATISTIC ? 4 : 40;
}

/* A few instances of every claim about random instances: the verdict is that of its kind, and one
 * worker and three give the same bits. */
static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < verify_table_count(); i++) {
        const verify_claim *claim = verify_table_at(i);
        assert_true(claim->trials > 0 && claim->draw != NULL && claim->check != NULL);
        assert_true(claim->statement != NULL && claim->source != NULL && claim->measured != NULL);
        assert_true(claim->needs == VERIFY_RUN || claim->kind != VERIFY_PROPERTY);
        if (claim->needs != VERIFY_RANDOM) {
            continue;
        }
        verify_options o = {.seed = 21, .trials = trials_of(claim)};
        verify_result one = run_with(claim, &o);
        o.workers = 3;
        verify_result three = run_with(claim, &o);
        if (verify_result_fails(&one, false)) {
            fail_msg("%s: instance %zu: %.17g against %.17g, tolerance %g", claim->name,
                     one.worst_trial, one.outcome.left, one.outcome.right, one.outcome.tolerance);
        }
        if (difference(&one, &three) != NULL) {
            fail_msg("%s: the number of workers changes %s", claim->name, difference(&one, &three));
        }
        verify_result_fini(&one);
        verify_result_fini(&three);
    }
}

static void test_names(void **state)
{
    kern_error err = {0};
    (void)state;
    for (size_t i = 0; i < verify_table_count(); i++) {
        const verify_claim *claim = verify_table_at(i);
        assert_ptr_equal(verify_table_find(claim->name, claim->needs), claim);
        assert_int_equal(strspn(claim->name, "abcdefghijklmnopqrstuvwxyz0123456789-"),
                         strlen(claim->name));
        assert_true(strlen(claim->name) < VERIFY_NAME);
    }
    assert_null(verify_table_at(verify_table_count()));
    assert_true(verify_table_selects("norm", &verify_norm_monotone));
    assert_true(verify_table_selects("norm-monotone", &verify_norm_monotone));
    assert_false(verify_table_selects("nor", &verify_norm_monotone));
    assert_false(verify_table_selects("", &verify_norm_monotone));
    assert_int_equal(verify_table_check("norm", &err), KERN_OK);
    assert_int_equal(verify_table_check("no-such", &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "norm-monotone"));
}

/* ---- claims that are wrong on purpose ----------------------------------------------------------
 */

/* The claim that the next wrong one is made of, and how: both sides times a factor, then swapped;
 * an entry of the record times a factor, whatever that does to the preconditions. */
typedef struct wrong_claim {
    const verify_claim *claim;
    const char *what;
    double left, right;
    bool swap;
    const char *entry;
    double factor;
} wrong_claim;

static wrong_claim wrong;

static kern_status wrong_draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                              verify_work *work, verify_record *record, kern_error *err)
{
    double *value = NULL;
    KERN_TRY(wrong.claim->draw(subject, rng, trial, work, record, err));
    if (wrong.entry != NULL) {
        KERN_TRY(verify_record_edit(record, wrong.entry, 1, 1, &value, err));
        *value *= wrong.factor;
    }
    return KERN_OK;
}

static kern_status wrong_check(const verify_record *record, verify_work *work,
                               verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(wrong.claim->check(record, work, outcome, err));
    const double left = wrong.left * outcome->left;
    const double right = wrong.right * outcome->right;
    outcome->left = wrong.swap ? right : left;
    outcome->right = wrong.swap ? left : right;
    outcome->skipped = outcome->skipped && wrong.entry == NULL;
    return KERN_OK;
}

/* Runs a claim that is wrong on purpose: as a theorem it must fall, with a witness that violates it
 * by far more than rounding, and the right one must not. */
static void assert_caught(const wrong_claim *made)
{
    const verify_options o = {.seed = 2, .trials = 1000, .workers = 2};
    wrong = *made;
    verify_claim claim = *made->claim;
    claim.draw = wrong_draw;
    claim.check = wrong_check;
    claim.sharpen = NULL;
    verify_result r = run_with(&claim, &o);
    if (r.verdict != VERIFY_FAILS || !r.witness || !verify_result_fails(&r, false) ||
        !(r.worst > 1e3 * r.tolerance)) {
        fail_msg("%s, %s: worst %g, tolerance %g, %zu violations", claim.name, made->what, r.worst,
                 r.tolerance, r.violations);
    }
    verify_result_fini(&r);
    r = run_with(made->claim, &o);
    assert_int_equal(r.verdict, VERIFY_HOLDS);
    verify_result_fini(&r);
}

static void test_catches_flipped_signs(void **state)
{
    static const verify_claim *const inequalities[] = {
        &verify_norm_monotone,          &verify_descent_condition,
        &verify_x_gradient_variant,     &verify_discrete_descent,
        &verify_discrete_descent_lemma, &verify_discrete_descent_concave,
        &verify_asymptotic_stability,   &verify_asymptotic_stability_sum,
        &verify_energy_bounded,         &verify_cem_unconditional_descent,
        &verify_cem_descent_once,       &verify_cem_mlp_step_bound,
        &verify_cem_energy_bounds,      &verify_preconditioner_definite};
    (void)state;
    for (size_t i = 0; i < sizeof inequalities / sizeof inequalities[0]; i++) {
        const wrong_claim made = {
            .claim = inequalities[i], .what = "sign flipped", .left = 1, .right = 1, .swap = true};
        assert_caught(&made);
    }
}

/* Where a bound is the best one, one that is half as much again is too much: the constant ½ of the
 * lemma, and the largest step that descends. */
static void test_catches_bounds_too_sharp(void **state)
{
    static const wrong_claim made[] = {
        {.claim = &verify_norm_monotone, .what = "constant times 1.5", .left = 1.5, .right = 1},
        {.claim = &verify_discrete_descent,
         .what = "step times 1.5",
         .left = 1,
         .right = 1,
         .entry = "c",
         .factor = 1.5},
        {.claim = &verify_discrete_descent_concave,
         .what = "decrement times 1.5",
         .left = 1,
         .right = 1.5}};
    (void)state;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        assert_caught(&made[i]);
    }
}

/* The tightness itself: equality at ε = 0 to rounding, so the bound leaves nothing. */
static void test_bound_is_tight(void **state)
{
    const verify_options o = {.seed = 2, .trials = 4000};
    (void)state;
    verify_result r = run_with(&verify_norm_monotone, &o);
    assert_int_equal(r.verdict, VERIFY_HOLDS);
    assert_true(fabs(r.worst) < 1e-12);
    assert_true(r.tolerance > 0 && r.tolerance < 1e-8);
    verify_result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_sharpens),
        cmocka_unit_test(test_not_a_number_violates),
        cmocka_unit_test(test_no_instance),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_catches_flipped_signs),
        cmocka_unit_test(test_catches_bounds_too_sharp),
        cmocka_unit_test(test_bound_is_tight),
    };
    /* LAPACK's own threads would round differently with one worker and with several. */
    kern_runtime_init();
    return cmocka_run_group_tests_name("verify_run", tests, NULL, NULL);
}
