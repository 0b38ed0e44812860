/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The identities of the hourglass: the plain formulas against numbers worked out by independent
 * code, the claim on random instances and on models, and an identity made wrong on purpose.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/verify/verify_dense.h"
#include "models/verify/verify_hourglass_sub.h"
#include "models/verify/verify_run.h"
#include "models/verify/verify_table.h"
#include "tests/models/model_test_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers of independent code --------------------------------------------------------------
 */

/* The numbers have twelve decimals. */
#define GOLDEN 1e-11

enum { D = 6, H = 3 };

/* scale · sin or cos of start + a·row + b·column. */
static void put_waves(verify_record *r, const char *name, size_t rows, size_t cols,
                      const double wave[4], bool cosine)
{
    double *values = NULL;
    TEST_OK(verify_record_put(r, name, rows, cols, &values, test_err));
    for (size_t i = 0; i < rows * cols; i++) {
        const double angle = wave[1] + wave[2] * (double)(i / cols) + wave[3] * (double)(i % cols);
        values[i] = wave[0] * (cosine ? cos(angle) : sin(angle));
    }
}

/* Sub-MLP q − 1 of the sine vectors at x. */
static void put_sub(verify_record *r, double q, const double *x, const char *identity)
{
    double *gamma = NULL;
    TEST_OK(verify_record_put_word(r, "identity", identity, test_err));
    TEST_OK(verify_record_put_word(r, "norm", "before", test_err));
    TEST_OK(verify_record_put_number(r, "width", D, test_err));
    TEST_OK(verify_record_put_number(r, "hidden", H, test_err));
    TEST_OK(verify_record_put_number(r, "alpha", 1, test_err));
    TEST_OK(verify_record_put_number(r, "epsilon", 1e-5, test_err));
    TEST_OK(verify_record_put_number(r, "parts", 2, test_err));
    TEST_OK(verify_record_put(r, "gamma", 1, D, &gamma, test_err));
    for (size_t i = 0; i < D; i++) {
        gamma[i] = 1;
    }
    put_waves(r, "w_gate", H, D, (const double[]){0.5, 0.7 * q, 1.3, 0.9}, false);
    put_waves(r, "w_up", H, D, (const double[]){0.5, 0.4 * q, 0.8, 1.1}, true);
    put_waves(r, "w_down", D, H, (const double[]){0.5, 0.2 * q, 0.6, 1.7}, false);
    TEST_OK(verify_record_put_copy(r, "h", 1, D, x, test_err));
    TEST_OK(verify_record_put_copy(r, "v", 1, D, x, test_err));
}

static void test_golden_numbers(void **state)
{
    static const double first[D] = {-0.150649851625, -0.268026411026, -0.291773633887,
                                    -0.213595932052, -0.060803025957, 0.113230126418};
    static const double determinants[] = {-1.247793674275, -0.121813385550};
    double x[D];
    (void)state;
    for (size_t j = 0; j < D; j++) {
        x[j] = cos(0.5 * (double)j) + 0.1 * (double)j;
    }
    for (size_t k = 0; k < 2; k++) {
        verify_record r = {0};
        verify_work work = {0};
        verify_sub s;
        double f[D] = {0};
        double column[D];
        double dn[D];
        put_sub(&r, (double)k + 1, x, "jacobian");
        TEST_OK(verify_sub_read(&s, &r, &work, test_err));
        verify_sub_add_units(&s, 0, H, f);
        verify_sub_matrices(&s, column, dn);
        assert_true(fabs(verify_dense_log_abs_det(D, s.j) - determinants[k]) <= GOLDEN);
        assert_true(fabs(verify_dense_log_abs_det(H, s.m) - determinants[k]) <= GOLDEN);
        for (size_t j = 0; j < D; j++) {
            assert_true(k > 0 || fabs(f[j] - first[j]) <= GOLDEN);
            x[j] += f[j];
        }
        verify_work_fini(&work);
        verify_record_fini(&r);
    }
}

/* ---- the claim --------------------------------------------------------------------------------
 */

static verify_result run_claim(const verify_claim *claim, const verify_subject *subject,
                               size_t trials, int workers)
{
    const verify_options o = {.seed = 9, .trials = trials, .workers = workers};
    verify_result r = {0};
    TEST_OK(verify_run_claim(claim, subject, &o, &r, test_err));
    return r;
}

static void test_identities_hold(void **state)
{
    (void)state;
    verify_result a = run_claim(&verify_hourglass_identities, NULL, 7000, 1);
    verify_result b = run_claim(&verify_hourglass_identities, NULL, 7000, 3);
    assert_int_equal(a.verdict, VERIFY_HOLDS);
    assert_int_equal(a.violations, 0);
    assert_true(a.skipped < 70);
    assert_memory_equal(&a.outcome.left, &b.outcome.left, sizeof a.outcome.left);
    assert_int_equal(a.worst_trial, b.worst_trial);
    verify_result_fini(&a);
    verify_result_fini(&b);
}

/* One side off by two percent of its natural size. */
static kern_status wrong_check(const verify_record *record, verify_work *work,
                               verify_outcome *outcome, kern_error *err)
{
    KERN_TRY(verify_hourglass_identities.check(record, work, outcome, err));
    outcome->left += 0.02 * outcome->scale;
    return KERN_OK;
}

static void test_wrong_identity_is_caught(void **state)
{
    verify_claim wrong = verify_hourglass_identities;
    (void)state;
    wrong.check = wrong_check;
    verify_result r = run_claim(&wrong, NULL, 700, 2);
    assert_int_equal(r.verdict, VERIFY_FAILS);
    assert_true(r.violations > 500);
    verify_result_fini(&r);
}

/* Every identity at the sine vectors; with one number of the engine's changed the last one fails.
 */
static void test_engine_is_compared(void **state)
{
    static const char *const words[] = {"jacobian", "determinant", "frobenius", "conserved",
                                        "kernel",   "radial",      "parallel",  "engine"};
    (void)state;
    for (size_t i = 0; i < 9; i++) {
        verify_record r = {0};
        verify_work work = {0};
        verify_outcome o;
        verify_sub s;
        double x[D];
        double f[D] = {0};
        double column[D];
        double dn[D];
        for (size_t j = 0; j < D; j++) {
            x[j] = cos(0.5 * (double)j) + 0.1 * (double)j;
        }
        put_sub(&r, 1, x, words[i < 8 ? i : 7]);
        TEST_OK(verify_sub_read(&s, &r, &work, test_err));
        verify_sub_add_units(&s, 0, H, f);
        verify_sub_matrices(&s, column, dn);
        f[2] += i == 8 ? 1e-9 : 0;
        TEST_OK(verify_record_put_copy(&r, "engine_f", 1, D, f, test_err));
        TEST_OK(verify_record_put_number(&r, "engine_log_det", verify_dense_log_abs_det(H, s.m),
                                         test_err));
        TEST_OK(verify_run_check(&verify_hourglass_identities, &r, &work, &o, test_err));
        assert_false(o.skipped);
        assert_int_equal(verify_outcome_violates(&o), i == 8);
        verify_work_fini(&work);
        verify_record_fini(&r);
    }
}

/* ---- models -----------------------------------------------------------------------------------
 */

static model_config config_of(unsigned i)
{
    model_config c = model_config_default(MODEL_HOURGLASS);
    c.n_embed = 8;
    c.n_head = 2;
    c.vocab_size = 9;
    c.block_size = 7;
    c.n_layer = 2;
    c.n_hidden = 3;
    c.hourglass.k = 3;
    c.hourglass.norm = (model_sandglass)(i % 4);
    c.hourglass.gain = (model_gain)(i / 4 % 3);
    c.hourglass.alpha = i % 3 == 0 ? 1.0 : 0.7;
    return c;
}

static void test_runs(void **state)
{
    static const size_t tokens[] = {6, 7};
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        const model_config c = config_of(i);
        model *m = test_model(&c, 0.4, 10 + i);
        verify_subject *subject = NULL;
        int32_t *ids = test_ids(13, 9, 5);
        TEST_OK(verify_subject_create(&subject, m, "a run", 2, tokens, ids, test_err));
        verify_result r = run_claim(&verify_hourglass_identities_run, subject, 64, 2);
        assert_int_equal(r.verdict,
                         i % 4 == MODEL_SANDGLASS_D ? VERIFY_NOT_APPLICABLE : VERIFY_HOLDS);
        assert_true(r.verdict == VERIFY_HOLDS || r.reason != NULL);
        verify_result_fini(&r);
        verify_subject_destroy(subject);
        free(ids);
        model_destroy(m);
    }
}

/* ---- dense algebra ----------------------------------------------------------------------------
 */

/* Eigenvalues of the second-difference matrix are 2 − 2 cos(kπ/(n+1)). */
static void test_dense(void **state)
{
    enum { N = 7 };
    double a[N * N] = {0};
    double copy[N * N];
    double values[N];
    double vectors[N * N];
    double room[N * N + N];
    double log_det = 0;
    double least = 0;
    double most = 0;
    (void)state;
    for (size_t i = 0; i < N; i++) {
        a[i * N + i] = 2;
        a[i * N + (i + 1) % N] = i + 1 < N ? -1 : 0;
        a[(i + 1) % N * N + i] = i + 1 < N ? -1 : 0;
    }
    memcpy(copy, a, sizeof a);
    verify_dense_symmetric(N, copy, values, vectors);
    for (size_t k = 0; k < N; k++) {
        const double exact = 2 - 2 * cos((double)(k + 1) * acos(-1) / (N + 1));
        assert_true(fabs(values[k] - exact) <= 1e-14);
        log_det += log(exact);
        for (size_t i = 0; i < N; i++) {
            const double image = test_dot(a + i * N, vectors + k * N, N);
            assert_true(fabs(image - exact * vectors[k * N + i]) <= 1e-14);
        }
    }
    verify_dense_singular(N, N, a, &least, &most, room);
    assert_true(fabs(least - values[0]) <= 1e-13 && fabs(most - values[N - 1]) <= 1e-13);
    memcpy(copy, a, sizeof a);
    assert_true(verify_dense_is_positive(N, copy));
    memcpy(copy, a, sizeof a);
    assert_true(fabs(verify_dense_log_abs_det(N, copy) - log_det) <= 1e-13);
    a[0] = 0.8; /* the determinant is 8 − 1.2·7 < 0 */
    memcpy(copy, a, sizeof a);
    assert_false(verify_dense_is_positive(N, copy));
    a[3] = a[3 * N] = (double)NAN;
    verify_dense_symmetric(N, a, values, NULL);
    assert_true(isnan(values[0]) && isnan(values[N - 1]));
}

int main(void)
{
    kern_runtime_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_numbers),
        cmocka_unit_test(test_identities_hold),
        cmocka_unit_test(test_wrong_identity_is_caught),
        cmocka_unit_test(test_engine_is_compared),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_dense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
