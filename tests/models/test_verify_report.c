/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is verified of a run: its η in one matrix, whatever form it was trained in, its orbits, and
 * the report on it, also where γ vanishes or changes sign, where there are too few channels to
 * move, and where a state is constant.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_forward.h"
#include "models/verify/verify_report.h"
#include "models/verify/verify_table.h"
#include "tests/models/model_test_graph.h"
#include "tests/models/model_test_tiny.h"

enum { N = 4 };

static const int32_t ids[2 * N] = {3, 0, 6, 6, 1, 2, 5, 4};
static const size_t lengths[2] = {N, N};

static model_config make_config(size_t width)
{
    model_config c = model_config_default(MODEL_NRGPT);
    c.n_embed = width;
    c.vocab_size = 7;
    c.block_size = N;
    c.n_layer = 2;
    c.ff_hid_factor = 2;
    return c;
}

static verify_subject *make_subject(const model *m)
{
    verify_subject *subject = NULL;
    TEST_OK(verify_subject_create(&subject, m, "made", 2, lengths, ids, test_err));
    return subject;
}

static double *tensor(model *m, const char *name)
{
    const model_param *p = model_params_find(&m->params, name);
    assert_non_null(p);
    return (double *)m->values + p->offset;
}

/* The step of the graph engine is x + ηf with the subject's η, for every form; and the subject's
 * states are the engine's. */
static void test_eta_of_every_form(void **state)
{
    (void)state;
    for (int form = MODEL_ETA_FULL; form <= MODEL_ETA_PSD_SKEW; form++) {
        enum { D = 5 };
        model_config c = make_config(D);
        c.eta = (model_eta)form;
        model *m = tiny_model(&c, &kern_backend_cpu_f64);
        for (size_t i = 0; i < D; i++) {
            tensor(m, "blocks.ln.weight")[i] = 0.5 + 0.3 * (double)i;
        }
        verify_subject *subject = make_subject(m);
        const model_graph_options o = {.batch = 1, .tokens = N, .steps = 1, .keep_steps = true};
        model_forward f;
        TEST_OK(model_forward_init(&f, m, &o, 1, test_err));
        model_forward_run(&f, 0, ids, NULL);
        const double *x = model_forward_value(&f, 0, f.graph.states[0]);
        const double *next = model_forward_value(&f, 0, f.graph.states[1]);
        const double *force = model_forward_value(&f, 0, f.graph.steps[0].force);
        for (size_t a = 0; a < N; a++) {
            assert_memory_equal(verify_subject_state(subject, 0, 0, a), x + a * D,
                                D * sizeof(double));
            for (size_t i = 0; i < D; i++) {
                double move = x[a * D + i];
                for (size_t j = 0; j < D; j++) {
                    move += subject->eta[i * D + j] * force[a * D + j];
                }
                assert_true(fabs(move - next[a * D + i]) < 1e-12);
                assert_true(fabs(verify_subject_state(subject, 0, 1, a)[i] - next[a * D + i]) <
                            1e-12);
            }
        }
        model_forward_fini(&f);
        verify_subject_destroy(subject);
        model_destroy(m);
    }
}

static void test_subject_refuses(void **state)
{
    static const int32_t bad[N] = {0, 1, 7, 2};
    static const size_t none[1] = {0};
    model_config c = make_config(3);
    model *m = tiny_model(&c, &kern_backend_cpu_f64);
    verify_subject *subject = NULL;
    kern_error err = {0};
    (void)state;
    assert_int_equal(verify_subject_create(&subject, m, "x", 1, lengths, bad, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "token 2 of a prompt is 7"));
    assert_int_equal(verify_subject_create(&subject, m, "x", 1, none, ids, &err),
                     KERN_INVALID_ARGUMENT);
    assert_int_equal(verify_subject_create(&subject, m, "x", 0, lengths, ids, &err),
                     KERN_INVALID_ARGUMENT);
    assert_null(subject);
    model_destroy(m);
}

static verify_report *make_report(const verify_subject *subject, int workers)
{
    const verify_report_options o = {.seed = 4, .workers = workers};
    verify_report *report = NULL;
    TEST_OK(verify_report_create(&report, subject, &o, test_err));
    return report;
}

static void test_report(void **state)
{
    model_config c = make_config(6);
    model *m = tiny_model(&c, &kern_backend_cpu_f64);
    verify_subject *subject = make_subject(m);
    (void)state;
    verify_report *one = make_report(subject, 1);
    verify_report *two = make_report(subject, 2);
    assert_int_equal(one->certificate.verdict, DYN_DESCENT_VIOLATED);
    assert_true(one->certificate.confirmed && one->certificate.smallest < 0);
    assert_int_equal(one->pairs, 2 * N * 4);
    assert_int_equal(one->first_pairs, 2 * 4);
    assert_int_equal(one->late_pairs, 2 * N * 2);
    assert_true(one->rising <= one->pairs && one->first_rising <= one->first_pairs);
    assert_int_equal(one->n_reaches, VERIFY_REPORT_REACHES);
    assert_int_equal(one->n_channels, VERIFY_REPORT_CHANNELS);
    for (size_t i = 0; i + 1 < one->n_channels; i++) {
        assert_true(one->certificate.share[one->channels[i]] >=
                    one->certificate.share[one->channels[i + 1]]);
    }
    assert_memory_equal(one->reaches, two->reaches, sizeof one->reaches);
    assert_memory_equal(one->curve, two->curve, sizeof one->curve);
    verify_report_destroy(one);
    verify_report_destroy(two);
    verify_subject_destroy(subject);
    model_destroy(m);
}

/* The projected model is certified, and every other tensor is what it was. */
static void test_projection_certifies(void **state)
{
    model_config c = make_config(6);
    model *m = tiny_model(&c, &kern_backend_cpu_f64);
    model *projected = NULL;
    (void)state;
    tensor(m, "blocks.ln.weight")[2] = -0.7;
    TEST_OK(verify_report_project(&projected, m, 0.125, test_err));
    verify_subject *subject = make_subject(projected);
    verify_report *report = make_report(subject, 1);
    assert_int_equal(report->certificate.verdict, DYN_DESCENT_CERTIFIED);
    assert_true(fabs(report->certificate.c - 0.125) < 1e-15);
    assert_int_equal(report->gamma_negative, 1);
    assert_memory_equal(tensor(projected, "blocks.ffwd.net.0.weight"),
                        tensor(m, "blocks.ffwd.net.0.weight"), 12 * 6 * sizeof(double));
    verify_report_destroy(report);
    verify_subject_destroy(subject);
    model_destroy(projected);
    model_destroy(m);
}

/* ---- degenerate runs --------------------------------------------------------------------------
 */

/* A report and every claim about runs, none of which may crash or fail to end. */
static void assert_survives(const model *m, dyn_descent_verdict verdict, dyn_descent_ground ground)
{
    verify_subject *subject = make_subject(m);
    verify_report *report = make_report(subject, 2);
    assert_int_equal(report->certificate.verdict, verdict);
    assert_int_equal(report->certificate.ground, ground);
    verify_report_destroy(report);
    for (size_t i = 0; i < verify_table_count(); i++) {
        const verify_claim *claim = verify_table_at(i);
        const verify_options o = {.seed = 1, .trials = 2};
        verify_result result = {0};
        kern_error err = {0};
        if (claim->needs == VERIFY_RUN &&
            verify_run_claim(claim, subject, &o, &result, &err) != KERN_OK) {
            fail_msg("%s: %s", claim->name, err.text);
        }
        verify_result_fini(&result);
    }
    verify_subject_destroy(subject);
}

static void test_two_channels(void **state)
{
    model_config c = make_config(2);
    (void)state;
    c.norm_eps = 0;
    model *m = tiny_model(&c, &kern_backend_cpu_f64);
    assert_survives(m, DYN_DESCENT_CERTIFIED, DYN_DESCENT_BY_NO_MOVE);
    model_destroy(m);
    c = make_config(1);
    c.norm = MODEL_RMSNORM;
    c.norm_eps = 0;
    m = tiny_model(&c, &kern_backend_cpu_f64);
    assert_survives(m, DYN_DESCENT_CERTIFIED, DYN_DESCENT_BY_NO_MOVE);
    model_destroy(m);
}

static void test_gamma_with_zeros(void **state)
{
    model_config c = make_config(5);
    model *m = tiny_model(&c, &kern_backend_cpu_f64);
    (void)state;
    tensor(m, "blocks.ln.weight")[1] = 0;
    tensor(m, "blocks.ln.weight")[3] = -2;
    assert_survives(m, DYN_DESCENT_VIOLATED, DYN_DESCENT_BY_FAMILY);
    for (size_t i = 0; i < 5; i++) {
        tensor(m, "blocks.ln.weight")[i] = 0;
    }
    assert_survives(m, DYN_DESCENT_CERTIFIED, DYN_DESCENT_BY_NO_GAIN);
    model_destroy(m);
}

/* ε = 0 and states without variance: σ = 0, and everything after it is not a number. The constant η
 * is 1bᵀ, which no LayerNorm sees, and so certified. */
static void test_constant_states(void **state)
{
    model_config c = make_config(4);
    (void)state;
    c.norm_eps = 0;
    model *m = tiny_model(&c, &kern_backend_cpu_f64);
    for (size_t i = 0; i < m->params.length; i++) {
        ((double *)m->values)[i] = 0.25;
    }
    assert_survives(m, DYN_DESCENT_CERTIFIED, DYN_DESCENT_BY_FAMILY);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eta_of_every_form),
        cmocka_unit_test(test_subject_refuses),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_projection_certifies),
        cmocka_unit_test(test_two_channels),
        cmocka_unit_test(test_gamma_with_zeros),
        cmocka_unit_test(test_constant_states),
    };
    kern_runtime_init();
    return cmocka_run_group_tests_name("verify_report", tests, NULL, NULL);
}
