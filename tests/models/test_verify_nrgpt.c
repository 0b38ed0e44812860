/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plain instance of NRGPT that claims are checked on: nonlinearities and their extremes, energy
 * and its rounding against extended precision, gradients against differences, bounds against
 * eigenvalues, and all of it against the graph engine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "models/model_forward.h"
#include "models/model_map.h"
#include "models/verify/verify_nrgpt_instance.h"
#include "tests/models/model_test_graph.h"
#include "tests/models/verify_nrgpt_ref.h"

static const verify_nrgpt_kinds any = {0};

typedef struct fixture {
    verify_record record;
    verify_work work;
    verify_nrgpt q;
    kern_rng *rng;
} fixture;

/* Instance `trial`; the rng goes on from there. */
static void init_fixture(fixture *f, const verify_nrgpt_kinds *kinds, size_t trial)
{
    *f = (fixture){.rng = kern_rng_create(5, "nrgpt", trial)};
    assert_non_null(f->rng);
    if (kinds != NULL) {
        TEST_OK(verify_nrgpt_draw(&f->record, f->rng, kinds, test_err));
    } else {
        TEST_OK(verify_nrgpt_draw_sharp(&f->record, f->rng, test_err));
    }
    TEST_OK(verify_nrgpt_read(&f->q, &f->record, &f->work, test_err));
}

static void fini_fixture(fixture *f)
{
    kern_rng_destroy(f->rng);
    verify_record_fini(&f->record);
    verify_work_fini(&f->work);
}

/* ---- Nonlinearities ------------------------------------------------------------------------ */

static void test_acts(void **state)
{
    (void)state;
    for (size_t k = 0; k < VERIFY_NRGPT_ACTS; k++) {
        const verify_nrgpt_act *act = &verify_nrgpt_acts[k];
        double slope = 0.0, bend = 0.0, low = 0.0, high = 0.0, offset = 0.0;
        for (int i = -120000; i <= 120000; i++) {
            const double z = 1e-4 * i;
            double f[3];
            act->at(z, f);
            slope = fmax(slope, fabs(f[1]));
            bend = fmax(bend, fabs(f[2]));
            low = fmax(low, -2.0 * (f[1] * f[1] + f[0] * f[2]));
            high = fmax(high, 2.0 * (f[1] * f[1] + f[0] * f[2]));
            offset = fmax(offset, fabs(f[0]) - fabs(z));
        }
        /* Rounded outwards in the sixth digit. */
        assert_true(slope <= act->slope && slope >= act->slope - 2e-5);
        assert_true(low <= act->square_low && low >= act->square_low - 2e-6);
        assert_true(high <= act->square_high && high >= act->square_high - 2e-6);
        assert_true(offset <= act->offset && offset >= act->offset - 2e-6);
        assert_true(isinf(act->bend) || (bend <= act->bend && bend >= act->bend - 2e-6));
    }
}

/* ---- Energy and gradient ------------------------------------------------------------------- */

static void test_energy(void **state)
{
    (void)state;
    double tightest = 0.0;
    for (size_t trial = 0; trial < 3000; trial++) {
        fixture f;
        verify_nrgpt_point p;
        long double g[REF_WIDTH];
        init_fixture(&f, &any, trial);
        TEST_OK(verify_nrgpt_point_init(&p, &f.q, &f.work, test_err));
        memcpy(p.x, f.q.x, f.q.width * sizeof *p.x);
        verify_nrgpt_visit(&f.q, &p);
        const long double sigma = ref_normalise(&f.record, f.q.x, g);
        const double error = (double)fabsl(ref_energy(&f.record, g) - (long double)p.energy);
        assert_true(error <= p.rounding);
        assert_true(fabs((double)sigma - p.sigma) <= 1e-13 * p.sigma);
        /* The bound must be worth something: below 1e-10 of an energy of its size. */
        assert_true(p.rounding <= 1e-9 * (1.0 + fabs(p.energy)));
        tightest = fmax(tightest, error / p.rounding);
        fini_fixture(&f);
    }
    assert_true(tightest > 1e-3);
}

/* ReLU's gradient within FF2W jumps, and differences across the jump are not its gradient. */
static void test_gradient(void **state)
{
    (void)state;
    const verify_nrgpt_kinds smooth = {.smooth = true};
    size_t apart = 0;
    for (size_t trial = 0; trial < 400; trial++) {
        fixture f;
        double gradient[32], published[32];
        double g[32], unit[32];
        long double at[REF_WIDTH];
        init_fixture(&f, &smooth, trial);
        (void)verify_nrgpt_normalise(&f.q, f.q.x, unit, g);
        (void)verify_nrgpt_evaluate(&f.q, g, true, gradient);
        (void)verify_nrgpt_evaluate(&f.q, g, false, published);
        double gap = 0.0;
        for (size_t i = 0; i < f.q.width; i++) {
            at[i] = (long double)g[i];
            gap = fmax(gap, fabs(gradient[i] - published[i]));
        }
        for (size_t i = 0; i < f.q.width; i++) {
            const double slope = (double)ref_slope(&f.record, at, i);
            /* Kinks of ReLU make (f²)″ jump: 1e-4 of it. */
            const double tolerance = f.q.act == &verify_nrgpt_acts[1] ? 2e-3 : 1e-8;
            assert_true(fabs(slope - gradient[i]) <= tolerance * (1.0 + fabs(slope)));
        }
        assert_true(gap == 0.0 || (f.q.inclusive && f.q.heads > 0));
        apart += gap > 0.0;
        fini_fixture(&f);
    }
    assert_true(apart > 100);
}

/* ---- Bounds -------------------------------------------------------------------------------- */

static void test_norm2(void **state)
{
    (void)state;
    verify_work work = {0};
    for (size_t trial = 0; trial < 60; trial++) {
        const size_t m = 1 + trial % 7;
        const size_t n = 1 + trial % 13;
        double *a = test_normals(m * n, pow(10.0, (double)(trial % 9) * 20.0 - 80.0), trial);
        double *s = test_zeros(m < n ? m : n, sizeof *s);
        double norm;
        TEST_OK(verify_nrgpt_norm2(a, m, n, &work, &norm, test_err));
        TEST_OK(kern_lapack_singular_values(m, n, a, s, test_err));
        assert_true(norm >= s[0]);
        assert_true(norm <= s[0] * pow((double)n, 1.0 / 2048.0) * (1.0 + 1e-9));
        free(a);
        free(s);
    }
    const double zeros[4] = {0.0};
    double norm;
    TEST_OK(verify_nrgpt_norm2(zeros, 2, 2, &work, &norm, test_err));
    assert_true(norm == 0.0);
    verify_work_fini(&work);
}

/* λ_max of ∇²E at g by differences of the gradient; the difference is off by h² and by rounding/h,
 * both below 1e-7. */
static double find_lambda(const verify_nrgpt *q, const double *g)
{
    const double h = 1e-5;
    const size_t d = q->width;
    double at[32], v[2][32], hessian[32 * 32], re[32], im[32];
    double largest = -(double)INFINITY;
    memcpy(at, g, d * sizeof *at);
    for (size_t j = 0; j < d; j++) {
        for (size_t k = 0; k < 2; k++) {
            at[j] = g[j] + (k == 0 ? h : -h);
            (void)verify_nrgpt_evaluate(q, at, true, v[k]);
        }
        at[j] = g[j];
        for (size_t i = 0; i < d; i++) {
            hessian[i * d + j] = (v[0][i] - v[1][i]) / (2.0 * h);
        }
    }
    for (size_t i = 0; i < d * d; i++) {
        if (i / d < i % d) {
            const size_t other = i % d * d + i / d;
            hessian[i] = hessian[other] = 0.5 * (hessian[i] + hessian[other]);
        }
    }
    TEST_OK(kern_lapack_eigenvalues(d, hessian, re, im, test_err));
    for (size_t i = 0; i < d; i++) {
        largest = fmax(largest, re[i]);
    }
    return largest;
}

static void test_curvature(void **state)
{
    (void)state;
    size_t positive = 0;
    double closest = 0.0;
    for (size_t trial = 0; trial < 2000; trial++) {
        static const verify_nrgpt_kinds kinds[] = {{.smooth = true}, {.concave = true}};
        fixture f;
        verify_nrgpt_sizes sizes;
        double unit[32], g[32];
        init_fixture(&f, trial % 3 == 2 ? NULL : &kinds[trial % 2], trial);
        (void)verify_nrgpt_normalise(&f.q, f.q.x, unit, g);
        TEST_OK(verify_nrgpt_measure(&f.q, &sizes, &f.work, test_err));
        const double m = verify_nrgpt_curvature(&f.q, &sizes, g, g);
        const double lambda = find_lambda(&f.q, g);
        assert_true(m >= 0.0);
        assert_true(lambda <= m + 1e-5 * (1.0 + fabs(lambda)));
        assert_true(verify_nrgpt_floor(&f.q, &sizes) <=
                    verify_nrgpt_evaluate(&f.q, g, true, NULL).energy);
        if (trial % 3 != 2 && trial % 2 == 1) {
            assert_true(m == 0.0);
        }
        positive += m > 0.0;
        closest = m > 0.0 ? fmax(closest, lambda / m) : closest;
        fini_fixture(&f);
    }
    assert_true(positive > 300);
    assert_true(closest > 0.99);
}

/* ---- Against the graph engine -------------------------------------------------------------- */

enum { D = 8, N = 4 };

static const int32_t ids[N] = {3, 0, 6, 2};

/* y = x − η v of the plain code. */
static void step_plain(const verify_subject *subject, const verify_nrgpt *q, bool exact, double *y)
{
    double unit[D], g[D], v[D];
    (void)verify_nrgpt_normalise(q, q->x, unit, g);
    (void)verify_nrgpt_evaluate(q, g, exact, v);
    for (size_t i = 0; i < D; i++) {
        y[i] = q->x[i] - test_dot(subject->eta + i * D, v, D);
    }
}

static void check_run(const model_config *c, uint64_t seed)
{
    const size_t tokens = N;
    const model_graph_options options = {.batch = 1,
                                         .tokens = N,
                                         .steps = 1,
                                         .start = MODEL_START_STATE,
                                         .energies = true,
                                         .keep_steps = true};
    model *m = test_model(c, 0.4, seed);
    verify_subject *subject = NULL;
    model_forward forward;
    TEST_OK(verify_subject_create(&subject, m, "tiny", 1, &tokens, ids, test_err));
    TEST_OK(model_forward_init(&forward, m, &options, 1, test_err));
    const double s = model_value_get(m, model_params_find(&m->params, "blocks.scale_ff")->offset);
    for (size_t step = 0; step < 3; step++) {
        memcpy(model_forward_value(&forward, 0, forward.graph.input),
               verify_subject_state(subject, 0, step, 0), sizeof(double) * N * D);
        model_forward_run(&forward, 0, NULL, NULL);
        const model_step *at = &forward.graph.steps[0];
        const double *next = model_forward_value(&forward, 0, forward.graph.states[1]);
        const double *attention = model_forward_value(&forward, 0, at->energy_attn);
        const double *ff = model_forward_value(&forward, 0, at->energy_ff);
        for (size_t a = 0; a < N; a++) {
            verify_record record = {0};
            verify_work work = {0};
            verify_nrgpt q;
            double y[D], unit[D], g[D];
            TEST_OK(verify_nrgpt_put_run(&record, subject, 0, step, a, &work, test_err));
            TEST_OK(verify_nrgpt_read(&q, &record, &work, test_err));
            step_plain(subject, &q, c->update == MODEL_UPDATE_EXACT, y);
            (void)verify_nrgpt_normalise(&q, q.x, unit, g);
            const double energy = verify_nrgpt_evaluate(&q, g, true, NULL).energy;
            assert_true(fabs(energy - attention[a] - s * ff[a]) <= 1e-11 * (1.0 + fabs(energy)));
            for (size_t i = 0; i < D; i++) {
                assert_true(fabs(y[i] - next[a * D + i]) <= 1e-11 * (1.0 + fabs(y[i])));
            }
            verify_record_fini(&record);
            verify_work_fini(&work);
        }
    }
    model_forward_fini(&forward);
    verify_subject_destroy(subject);
    model_destroy(m);
}

static void test_engine(void **state)
{
    (void)state;
    for (size_t i = 0; i < 48; i++) {
        model_config c = model_config_default(MODEL_NRGPT);
        c.n_embed = D;
        c.n_head = 1 + i % 2;
        c.vocab_size = 7;
        c.block_size = N;
        c.n_layer = 2;
        c.ff_hid_factor = 2;
        c.strict_mask = i % 2 == 0;
        c.update = i / 2 % 2 == 0 ? MODEL_UPDATE_PUBLISHED : MODEL_UPDATE_EXACT;
        c.ff = i / 4 % 2 == 0 ? MODEL_FF1 : MODEL_FF2W;
        c.norm = i / 8 % 2 == 0 ? MODEL_LAYERNORM : MODEL_RMSNORM;
        c.activation = (model_act)(i % 3);
        c.rank = i % 5 == 0 ? 3 : 0;
        c.eta = (model_eta)(i % 6);
        c.norm_eps = i % 7 == 0 ? 0.0 : 0.1;
        c.beta = 0.7;
        c.alpha = 1.3;
        check_run(&c, 100 * i);
    }
}

/* Families and energies that are none of these say so; a record of another claim does, too. */
static void test_refusals(void **state)
{
    (void)state;
    const size_t tokens = N;
    for (size_t i = 0; i < 2; i++) {
        model_config c = model_config_default(i == 0 ? MODEL_GPT : MODEL_NRGPT);
        verify_subject *subject = NULL;
        c.n_embed = D;
        c.n_head = 1;
        c.vocab_size = 7;
        c.ff = MODEL_FF2;
        model *m = test_model(&c, 0.2, 3);
        TEST_OK(verify_subject_create(&subject, m, "tiny", 1, &tokens, ids, test_err));
        assert_non_null(verify_nrgpt_applies(subject));
        verify_subject_destroy(subject);
        model_destroy(m);
    }
    fixture f;
    kern_error err = {0};
    verify_record other = {0};
    init_fixture(&f, &any, 0);
    TEST_OK(verify_record_put_number(&other, "width", 0.0, test_err));
    assert_int_equal(verify_nrgpt_read(&f.q, &other, &f.work, &err), KERN_BAD_INPUT);
    assert_true(strlen(err.text) > 20);
    verify_record_fini(&other);
    fini_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acts),      cmocka_unit_test(test_energy),
        cmocka_unit_test(test_gradient),  cmocka_unit_test(test_norm2),
        cmocka_unit_test(test_curvature), cmocka_unit_test(test_engine),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
