/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The Bayes floor against a table computed by other code (shared/design/cem.md, B.3) and against
 * the textbook formula; the simple predictors against the same table; the scores.
 *
 * A number of the table carries its rounding and the Monte-Carlo error of the sequences it came
 * from; ours has the standard error that the score reports. Both are allowed for, at 4 of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "synthetic/syn_gp_floor.h"
#include "synthetic/syn_gp_score.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 64, SEQUENCES = 4096, COLUMNS = 9 };

/* Columns of the table. */
static const syn_gp_span columns[COLUMNS] = {
    {"0", 0, 0},    {"1", 1, 1},    {"4", 4, 4},     {"8", 8, 8},     {"16", 16, 16},
    {"32", 32, 32}, {"63", 63, 63}, {"1-63", 1, 63}, {"8-63", 8, 63},
};

/* Sequences of one task with squared errors. */
typedef struct fixture {
    syn_gp_task task;
    syn_gp_batch batch;
    double *squared;
    double *variance; /* in the block of squared */
} fixture;

static fixture fixture_make(const char *name, size_t sequences)
{
    const syn_gp_task *task = NULL;
    syn_gp *gp = NULL;
    fixture f = {0};
    assert_int_equal(syn_gp_task_find(&task, name, NULL), KERN_OK);
    f.task = *task;
    assert_int_equal(syn_gp_create(&gp, task, 2, NULL), KERN_OK);
    assert_int_equal(syn_gp_batch_init(&f.batch, sequences, task->points, NULL), KERN_OK);
    assert_int_equal(syn_gp_draw(gp, 7, SYN_GP_EVAL, 0, &f.batch, NULL), KERN_OK);
    syn_gp_destroy(gp);
    f.squared = calloc(2 * sequences * task->points, sizeof *f.squared);
    assert_non_null(f.squared);
    f.variance = f.squared + sequences * task->points;
    return f;
}

static void fixture_release(fixture *f)
{
    syn_gp_batch_fini(&f->batch);
    free(f->squared);
}

static syn_gp_score rms(const double *squared, size_t sequences, const syn_gp_span *span)
{
    syn_gp_score score = {0};
    assert_int_equal(syn_gp_score_rms(&score, squared, sequences, POINTS, span, NULL), KERN_OK);
    return score;
}

/* A row of the table, from `sequences` of them; negative entries stand for none. */
typedef struct table_row {
    size_t sequences;
    double value[COLUMNS];
    double rounding[COLUMNS];
} table_row;

static void check_row(const char *what, const double *squared, size_t sequences,
                      const table_row *row)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        if (row->value[i] < 0.0) {
            continue;
        }
        const syn_gp_score s = rms(squared, sequences, &columns[i]);
        const double theirs = (double)sequences / (double)row->sequences;
        const double limit = 4.0 * s.error * sqrt(1.0 + theirs) + row->rounding[i];
        if (!(fabs(s.value - row->value[i]) <= limit)) {
            fail_msg("%s at %s: %.5f is not %.5f within %.5f", what, columns[i].name, s.value,
                     row->value[i], limit);
        }
    }
}

#define THREE 5e-4 /* half a unit of the third decimal */
#define FOUR  5e-5

static const table_row gp1_bayes = {20000,
                                    {1.000, .912, .677, .433, .186, .0557, .0264, .2668, .1364},
                                    {THREE, THREE, THREE, THREE, THREE, FOUR, FOUR, FOUR, FOUR}};
static const table_row gp1n_bayes = {20000,
                                     {1.005, .918, .696, .481, .260, .145, .1144, .3041, .1987},
                                     {THREE, THREE, THREE, THREE, THREE, THREE, FOUR, FOUR, FOUR}};

static const table_row gp1_smoother = {1500,
                                       {-1, .937, .736, .578, .354, .214, .119, .347, .253},
                                       {0, THREE, THREE, THREE, THREE, THREE, THREE, THREE, THREE}};
static const table_row gp1n_smoother = {
    1500,
    {-1, .945, .753, .567, .368, .226, .166, .363, .275},
    {0, THREE, THREE, THREE, THREE, THREE, THREE, THREE, THREE}};
static const table_row gp1_nearest = {1500,
                                      {-1, 1.20, .887, .633, .387, .208, .110, .402, .276},
                                      {0, .005, THREE, THREE, THREE, THREE, THREE, THREE, THREE}};
static const table_row gp1n_nearest = {1500,
                                       {-1, 1.24, .917, .662, .411, .256, .181, .429, .308},
                                       {0, .005, THREE, THREE, THREE, THREE, THREE, THREE, THREE}};

/* Both forms of the floor: deviations, which the table has, and errors, which scatter about them.
 */
static void check_fixed_task(const char *name, const table_row *bayes, const table_row *smoother,
                             const table_row *nearest)
{
    fixture f = fixture_make(name, SEQUENCES);
    syn_gp_oracle(&f.batch, f.squared, f.variance);
    check_row(name, f.variance, SEQUENCES, bayes);
    check_row(name, f.squared, SEQUENCES, bayes);
    syn_gp_reference_squared(syn_gp_reference_at(2), &f.task, &f.batch, f.squared);
    check_row("smoother", f.squared, SEQUENCES, smoother);
    syn_gp_reference_squared(syn_gp_reference_at(1), &f.task, &f.batch, f.squared);
    check_row("nearest", f.squared, SEQUENCES, nearest);
    fixture_release(&f);
}

static void test_table_gp1(void **state)
{
    (void)state;
    check_fixed_task("gp-1", &gp1_bayes, &gp1_smoother, &gp1_nearest);
}

static void test_table_gp1n(void **state)
{
    (void)state;
    check_fixed_task("gp-1n", &gp1n_bayes, &gp1n_smoother, &gp1n_nearest);
}

/* The deviations of the series are the same for all sequences, so the table holds to its rounding.
 */
static void test_table_gp3(void **state)
{
    static const double quiet[] = {1.000, .248, .0744, .0694, .0681, .0680, .0680};
    static const double noisy[] = {1.005, .283, .2106, .2025, .2013, .2013, .2013};
    fixture f = fixture_make("gp-3", 20);
    fixture g = fixture_make("gp-3n", 20);
    (void)state;
    for (size_t i = 0; i < 7; i++) {
        const size_t n = columns[i].first;
        const double rounding = (n <= 1 ? THREE : FOUR) * (1.0 + 1e-9);
        for (size_t s = 0; s < 20; s++) {
            assert_true(fabs(f.batch.sd[s * POINTS + n] - quiet[i]) <= rounding);
            assert_true(fabs(g.batch.sd[s * POINTS + n] - noisy[i]) <= rounding);
        }
    }
    fixture_release(&f);
    fixture_release(&g);
}

static const table_row gp2_bayes = {600,
                                    {.64, .58, .50, .39, .23, .08, .034, .2145, .1524},
                                    {.005, .005, .005, .005, .005, .005, THREE, FOUR, FOUR}};
static const table_row gp2_oracle = {600,
                                     {.61, .57, .44, .35, .21, .11, .039, .2057, .1453},
                                     {.005, .005, .005, .005, .005, .005, THREE, FOUR, FOUR}};
static const table_row gp2_zero = {600,
                                   {.64, .61, .63, .62, .63, .61, .62, .624, .626},
                                   {.005, .005, .005, .005, .005, .005, .005, THREE, THREE}};
static const table_row gp2_nearest = {600,
                                      {-1, .81, .68, .53, .33, .19, .11, .312, .240},
                                      {0, .005, .005, .005, .005, .005, .005, THREE, THREE}};

/* Not knowing ℓ and s costs something. */
static void test_table_gp2(void **state)
{
    enum { N = 600 };
    fixture f = fixture_make("gp-2", N);
    fixture g = fixture_make("gp-2", N);
    syn_gp_floor_options o = syn_gp_floor_options_default();
    syn_gp_score excess = {0};
    (void)state;
    o.lengthscales = 14;
    o.scales = 9;
    o.workers = 2;
    assert_int_equal(syn_gp_bayes(&f.task, &f.batch, &o, f.squared, f.variance, NULL), KERN_OK);
    syn_gp_oracle(&g.batch, g.squared, g.variance);
    check_row("gp-2", f.squared, N, &gp2_bayes);
    for (size_t i = 7; i < COLUMNS; i++) {
        assert_int_equal(
            syn_gp_score_excess(&excess, f.squared, g.squared, N, POINTS, &columns[i], NULL),
            KERN_OK);
        assert_true(excess.value > 4.0 * excess.error);
        const syn_gp_score one = rms(f.squared, N, &columns[i]);
        const syn_gp_score two = rms(f.variance, N, &columns[i]);
        assert_true(fabs(one.value - two.value) < 4.0 * hypot(one.error, two.error));
    }
    fixture_release(&f);
    fixture_release(&g);
}

static void test_table_gp2_others(void **state)
{
    fixture f = fixture_make("gp-2", SEQUENCES);
    (void)state;
    syn_gp_oracle(&f.batch, f.squared, f.variance);
    check_row("gp-2 oracle", f.variance, SEQUENCES, &gp2_oracle);
    syn_gp_reference_squared(syn_gp_reference_at(0), &f.task, &f.batch, f.squared);
    check_row("gp-2 zero", f.squared, SEQUENCES, &gp2_zero);
    syn_gp_reference_squared(syn_gp_reference_at(1), &f.task, &f.batch, f.squared);
    check_row("gp-2 nearest", f.squared, SEQUENCES, &gp2_nearest);
    fixture_release(&f);
}

/* With fixed hyper-parameters the floor, factored again from x and y, is the draw's own: rounding
 * of L⁻¹ y is ε times the condition number of L, at most √(64 / σ²) here. */
static void test_floor_of_fixed_task(void **state)
{
    enum { N = 40 };
    fixture f = fixture_make("gp-1", N);
    fixture g = fixture_make("gp-1", N);
    syn_gp_floor_options o = syn_gp_floor_options_default();
    (void)state;
    assert_int_equal(syn_gp_bayes(&f.task, &f.batch, &o, f.squared, f.variance, NULL), KERN_OK);
    syn_gp_oracle(&g.batch, g.squared, g.variance);
    for (size_t i = 0; i < N * POINTS; i++) {
        assert_true(fabs(sqrt(f.squared[i]) - sqrt(g.squared[i])) < 1e-11);
        assert_true(fabs(f.variance[i] - g.variance[i]) < 1e-11);
    }
    fixture_release(&f);
    fixture_release(&g);
}

/* Mean, variance and −ln p of the first `n` values under one node, by the textbook's formulas and a
 * general solver. */
typedef struct textbook {
    double mean;
    double variance;
    double cost;
} textbook;

static double covariance(const syn_gp_task *task, const double *x, size_t i, size_t j, double l,
                         double s)
{
    const double gap = (x[i] - x[j]) / l;
    const double same = i == j ? task->noise * task->noise + task->jitter : 0.0;
    return s * s * exp(-0.5 * gap * gap) + same;
}

static textbook predict(const syn_gp_task *task, const double *x, const double *y, size_t n,
                        double l, double s)
{
    double a[POINTS * POINTS];
    double alpha[POINTS];
    double beta[POINTS];
    int pivots[POINTS];
    double log_det = 0.0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            a[i * n + j] = covariance(task, x, i, j, l, s);
        }
        alpha[i] = y[i];
        beta[i] = covariance(task, x, i, n, l, s);
    }
    assert_int_equal(kern_lapack_lu(n, a, pivots, &log_det, NULL), KERN_OK);
    assert_int_equal(kern_lapack_lu_solve(n, a, pivots, alpha, NULL), KERN_OK);
    assert_int_equal(kern_lapack_lu_solve(n, a, pivots, beta, NULL), KERN_OK);
    textbook t = {0.0, covariance(task, x, n, n, l, s), 0.5 * log_det};
    for (size_t i = 0; i < n; i++) {
        const double k = covariance(task, x, i, n, l, s);
        t.mean += k * alpha[i];
        t.variance -= k * beta[i];
        t.cost += 0.5 * y[i] * alpha[i];
    }
    return t;
}

/* The mixture over a 3 × 2 grid at every point of two sequences. */
static void test_marginal_by_the_textbook(void **state)
{
    fixture f = fixture_make("gp-2", 2);
    syn_gp_floor_options o = syn_gp_floor_options_default();
    (void)state;
    o.lengthscales = 3;
    o.scales = 2;
    assert_int_equal(syn_gp_bayes(&f.task, &f.batch, &o, f.squared, f.variance, NULL), KERN_OK);
    for (size_t at = 0; at < 2 * POINTS; at++) {
        const double *const x = f.batch.x + at / POINTS * POINTS;
        const double *const y = f.batch.y + at / POINTS * POINTS;
        const size_t n = at % POINTS;
        textbook t[6];
        double least = (double)INFINITY;
        double total = 0.0;
        double mean = 0.0;
        double second = 0.0;
        for (size_t g = 0; g < 6; g++) {
            const double l = 0.1 + 0.5 * ((double)(g / 2) + 0.5) / 3.0;
            const double s = 0.1 + 0.9 * ((double)(g % 2) + 0.5) / 2.0;
            t[g] = predict(&f.task, x, y, n, l, s);
            least = fmin(least, t[g].cost);
        }
        for (size_t g = 0; g < 6; g++) {
            const double w = exp(least - t[g].cost);
            total += w;
            mean += w * t[g].mean;
            second += w * (t[g].variance + t[g].mean * t[g].mean);
        }
        mean /= total;
        assert_true(fabs(sqrt(f.squared[at]) - fabs(y[n] - mean)) < 1e-9);
        assert_true(fabs(f.variance[at] - (second / total - mean * mean)) < 1e-9);
    }
    fixture_release(&f);
}

/* The same bits by one worker and three, and refusals. */
static void test_bayes_workers_and_refusals(void **state)
{
    enum { N = 7 };
    fixture f = fixture_make("gp-2", N);
    fixture g = fixture_make("gp-2", N);
    syn_gp_floor_options o = syn_gp_floor_options_default();
    kern_error err = {0};
    (void)state;
    o.lengthscales = 4;
    o.scales = 3;
    assert_int_equal(syn_gp_bayes(&f.task, &f.batch, &o, f.squared, f.variance, NULL), KERN_OK);
    o.workers = 3;
    assert_int_equal(syn_gp_bayes(&g.task, &g.batch, &o, g.squared, NULL, NULL), KERN_OK);
    assert_memory_equal(f.squared, g.squared, N * POINTS * sizeof *f.squared);
    o.scales = 0;
    assert_int_equal(syn_gp_bayes(&f.task, &f.batch, &o, f.squared, NULL, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "4 lengthscales and 0 scales"));
    o.scales = 1;
    f.task.noise = 0.0;
    f.task.jitter = 0.0;
    assert_int_equal(syn_gp_bayes(&f.task, &f.batch, &o, f.squared, NULL, &err), KERN_SINGULAR);
    assert_non_null(strstr(err.text, "lengthscale"));
    f.task.points = 32;
    assert_int_equal(syn_gp_bayes(&f.task, &f.batch, &o, f.squared, NULL, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "sequences of 64 points, the task has 32"));
    fixture_release(&f);
    fixture_release(&g);
}

/* The predictors on four points by hand. */
static void test_references(void **state)
{
    const double x[4] = {0.0, 1.0, 0.6, 0.5};
    const double y[4] = {2.0, -1.0, 4.0, 3.0};
    double p[4];
    syn_gp_task task = *syn_gp_task_at(0);
    (void)state;
    assert_string_equal(syn_gp_reference_at(0)->name, "zero");
    assert_string_equal(syn_gp_reference_at(1)->name, "nearest");
    assert_string_equal(syn_gp_reference_at(2)->name, "smoother");
    assert_null(syn_gp_reference_at(3));
    syn_gp_reference_at(1)->predict(&task, x, y, 4, p);
    assert_true(p[0] == 0.0 && p[1] == 2.0 && p[2] == -1.0 && p[3] == 4.0);
    syn_gp_reference_at(0)->predict(&task, x, y, 4, p);
    assert_true(p[0] == 0.0 && p[3] == 0.0);
    task.bandwidth = 0.5;
    syn_gp_reference_at(2)->predict(&task, x, y, 4, p);
    const double w = exp(-0.5);
    const double v = exp(-0.02);
    assert_true(p[0] == 0.0 && fabs(p[1] - 2.0 * exp(-2.0) / (0.001 + exp(-2.0))) < 1e-15);
    assert_true(fabs(p[3] - (2.0 * w - w + 4.0 * v) / (0.001 + 2.0 * w + v)) < 1e-14);
}

/* The bandwidth of each task is where the smoother is best over points 1 … 63: a quarter more or
 * less is worse. */
static void test_bandwidths(void **state)
{
    (void)state;
    for (size_t i = 0; syn_gp_task_at(i) != NULL; i++) {
        fixture f = fixture_make(syn_gp_task_at(i)->name, 400);
        double errors[3];
        for (size_t k = 0; k < 3; k++) {
            f.task.bandwidth = syn_gp_task_at(i)->bandwidth * (0.75 + 0.25 * (double)k);
            syn_gp_reference_squared(syn_gp_reference_at(2), &f.task, &f.batch, f.squared);
            errors[k] = rms(f.squared, 400, &columns[7]).value;
        }
        assert_true(errors[1] < errors[0] && errors[1] < errors[2]);
        fixture_release(&f);
    }
}

static void test_scores(void **state)
{
    const double squared[6] = {9.0, 1.0, 3.0, 9.0, 5.0, 11.0};
    const double above[6] = {9.0, 2.0, 2.0, 9.0, 4.0, 16.0};
    const syn_gp_span span = {"1-2", 1, 2};
    const syn_gp_span outside = {"1-3", 1, 3};
    syn_gp_score s = {0};
    kern_error err = {0};
    (void)state;
    assert_string_equal(syn_gp_span_at(0)->name, "1-63");
    assert_string_equal(syn_gp_span_at(5)->name, "63");
    assert_null(syn_gp_span_at(6));
    /* Means 2 and 8: pooled 5, standard error of the mean 3. */
    assert_int_equal(syn_gp_score_rms(&s, squared, 2, 3, &span, NULL), KERN_OK);
    assert_true(fabs(s.value - sqrt(5.0)) < 1e-15 && fabs(s.error - 1.5 / sqrt(5.0)) < 1e-15);
    assert_int_equal(syn_gp_score_rms(&s, squared, 1, 3, &span, NULL), KERN_OK);
    assert_true(fabs(s.value - sqrt(2.0)) < 1e-15 && isnan(s.error));
    /* Paired differences 0 and −2. */
    assert_int_equal(syn_gp_score_excess(&s, squared, above, 2, 3, &span, NULL), KERN_OK);
    assert_true(fabs(s.value + 1.0) < 1e-15 && fabs(s.error - 0.5) < 1e-15);
    assert_int_equal(syn_gp_score_excess(&s, above, squared, 2, 3, &span, NULL), KERN_OK);
    assert_true(fabs(s.value - 1.0) < 1e-15);
    assert_int_equal(syn_gp_score_excess(&s, squared, squared, 2, 3, &span, NULL), KERN_OK);
    assert_true(s.value == 0.0 && isnan(s.error));
    assert_int_equal(syn_gp_score_rms(&s, squared, 2, 3, &outside, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "points 1 to 3 of 2 sequences of 3 points"));
    assert_int_equal(syn_gp_score_rms(&s, squared, 0, 3, &span, &err), KERN_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_gp1),
        cmocka_unit_test(test_table_gp1n),
        cmocka_unit_test(test_table_gp3),
        cmocka_unit_test(test_table_gp2),
        cmocka_unit_test(test_table_gp2_others),
        cmocka_unit_test(test_floor_of_fixed_task),
        cmocka_unit_test(test_marginal_by_the_textbook),
        cmocka_unit_test(test_bayes_workers_and_refusals),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_bandwidths),
        cmocka_unit_test(test_scores),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
