/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sequences of Gaussian processes: that they have the law they are said to have, that each is a
 * function of seed, purpose and index alone, and what their tokens hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "synthetic/syn_gp.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 64 };

static const syn_gp_task *task_named(const char *name)
{
    const syn_gp_task *task = NULL;
    assert_int_equal(syn_gp_task_find(&task, name, NULL), KERN_OK);
    return task;
}

/* `n` sequences of a task, from `first` on; released with syn_gp_batch_fini. */
static syn_gp_batch draw(const syn_gp_task *task, uint64_t seed, const char *purpose,
                         uint64_t first, size_t n, int workers)
{
    syn_gp_batch batch = {0};
    syn_gp *gp = NULL;
    kern_error err = {0};
    assert_int_equal(syn_gp_create(&gp, task, workers, &err), KERN_OK);
    assert_int_equal(syn_gp_batch_init(&batch, n, task->points, &err), KERN_OK);
    if (syn_gp_draw(gp, seed, purpose, first, &batch, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    syn_gp_destroy(gp);
    return batch;
}

static void test_tasks(void **state)
{
    static const char *const names[] = {"gp-1", "gp-1n", "gp-2", "gp-3", "gp-3n"};
    const syn_gp_task *task = NULL;
    kern_error err = {0};
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(syn_gp_task_at(i)->name, names[i]);
        assert_ptr_equal(task_named(names[i]), syn_gp_task_at(i));
        assert_int_equal(syn_gp_task_check(syn_gp_task_at(i), &err), KERN_OK);
    }
    assert_null(syn_gp_task_at(5));
    assert_int_equal(syn_gp_task_find(&task, "gp-4", &err), KERN_INVALID_ARGUMENT);
    assert_string_equal(err.text,
                        "the task is \"gp-4\"; accepted are gp-1, gp-1n, gp-2, gp-3, gp-3n");
    assert_null(task);
}

static void refuse(const syn_gp_task *task, const char *part)
{
    syn_gp *gp = NULL;
    kern_error err = {0};
    assert_int_equal(syn_gp_create(&gp, task, 1, &err), KERN_INVALID_ARGUMENT);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
    assert_null(gp);
}

static void test_fields_out_of_domain(void **state)
{
    syn_gp_task task = *task_named("gp-1");
    (void)state;
    task.points = 0;
    refuse(&task, "a sequence has 0 points; 1 to 4096 are accepted");
    task = *task_named("gp-1");
    task.lengthscale.low = 0.0;
    refuse(&task, "the lengthscale is 0");
    task.lengthscale.low = (double)NAN;
    refuse(&task, "the lengthscale is nan");
    task = *task_named("gp-2");
    task.scale.high = 0.05;
    refuse(&task, "the scale is drawn from 0.1 to 0.05");
    task = *task_named("gp-1");
    task.x.high = (double)INFINITY;
    refuse(&task, "the input is drawn from -2 to inf");
    task = *task_named("gp-1");
    task.noise = -0.1;
    refuse(&task, "the noise is -0.1; accepted are finite numbers from 0");
    task = *task_named("gp-1");
    task.jitter = (double)NAN;
    refuse(&task, "the jitter is nan");
    task = *task_named("gp-3");
    task.spacing = 0.0;
    refuse(&task, "the spacing is 0");
    task = *task_named("gp-1");
    task.bandwidth = 0.0;
    refuse(&task, "the bandwidth is 0");
}

static bool same_rows(const syn_gp_batch *a, size_t from, const syn_gp_batch *b, size_t n)
{
    const size_t row = a->points * sizeof *a->x;
    return memcmp(a->x + from * a->points, b->x, n * row) == 0 &&
           memcmp(a->y + from * a->points, b->y, n * row) == 0 &&
           memcmp(a->innovation + from * a->points, b->innovation, n * row) == 0 &&
           memcmp(a->sd + from * a->points, b->sd, n * row) == 0 &&
           memcmp(a->lengthscale + from, b->lengthscale, n * sizeof *b->lengthscale) == 0 &&
           memcmp(a->scale + from, b->scale, n * sizeof *b->scale) == 0;
}

/* Bit for bit, whatever the batch, the order and the workers. */
static void test_sequence_depends_on_index_alone(void **state)
{
    const syn_gp_task *const task = task_named("gp-2");
    syn_gp_batch all = draw(task, 5, SYN_GP_TRAIN, 0, 70, 3);
    syn_gp_batch some = draw(task, 5, SYN_GP_TRAIN, 33, 9, 1);
    syn_gp_batch other_seed = draw(task, 6, SYN_GP_TRAIN, 0, 70, 1);
    syn_gp_batch other_purpose = draw(task, 5, SYN_GP_EVAL, 0, 70, 1);
    (void)state;
    assert_true(same_rows(&all, 33, &some, 9));
    assert_false(same_rows(&all, 32, &some, 9));
    for (size_t i = 0; i < 70 * POINTS; i++) {
        assert_true(all.x[i] != other_seed.x[i] && all.x[i] != other_purpose.x[i]);
        assert_true(all.y[i] != other_seed.y[i] && all.y[i] != other_purpose.y[i]);
    }
    /* A generator draws the same again. */
    syn_gp *gp = NULL;
    assert_int_equal(syn_gp_create(&gp, task, 2, NULL), KERN_OK);
    assert_int_equal(syn_gp_draw(gp, 9, SYN_GP_TRAIN, 7, &some, NULL), KERN_OK);
    assert_false(same_rows(&all, 33, &some, 9));
    assert_int_equal(syn_gp_draw(gp, 5, SYN_GP_TRAIN, 33, &some, NULL), KERN_OK);
    assert_true(same_rows(&all, 33, &some, 9));
    syn_gp_destroy(gp);
    syn_gp_batch_fini(&all);
    syn_gp_batch_fini(&some);
    syn_gp_batch_fini(&other_seed);
    syn_gp_batch_fini(&other_purpose);
}

static double moment(const double *values, size_t n, double centre, int order)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += pow(values[i] - centre, order);
    }
    return sum / (double)n;
}

/* Moments within five standard errors: of z^k it is √((2k − 1)!! − (k − 1)!!²) / √n, for even k. */
static void test_law_of_what_is_drawn(void **state)
{
    enum { N = 2000 };
    syn_gp_batch b = draw(task_named("gp-2"), 3, SYN_GP_EVAL, 0, N, 2);
    const size_t n = N * POINTS;
    const double root = sqrt((double)n);
    (void)state;
    assert_true(fabs(moment(b.innovation, n, 0.0, 1)) < 5.0 / root);
    assert_true(fabs(moment(b.innovation, n, 0.0, 2) - 1.0) < 5.0 * sqrt(2.0) / root);
    assert_true(fabs(moment(b.innovation, n, 0.0, 3)) < 5.0 * sqrt(15.0) / root);
    assert_true(fabs(moment(b.innovation, n, 0.0, 4) - 3.0) < 5.0 * sqrt(96.0) / root);
    /* Uniform on [−2, 2]: variance 4/3, fourth moment 16/5. */
    assert_true(fabs(moment(b.x, n, 0.0, 1)) < 5.0 * sqrt(4.0 / 3.0) / root);
    assert_true(fabs(moment(b.x, n, 0.0, 2) - 4.0 / 3.0) <
                5.0 * sqrt(16.0 / 5.0 - 16.0 / 9.0) / root);
    for (size_t i = 0; i < n; i++) {
        assert_true(b.x[i] >= -2.0 && b.x[i] < 2.0);
    }
    for (size_t i = 0; i < N; i++) {
        assert_true(b.lengthscale[i] >= 0.1 && b.lengthscale[i] < 0.6);
        assert_true(b.scale[i] >= 0.1 && b.scale[i] < 1.0);
    }
    const double few = sqrt((double)N);
    assert_true(fabs(moment(b.lengthscale, N, 0.35, 1)) < 5.0 * 0.5 / sqrt(12.0) / few);
    assert_true(fabs(moment(b.scale, N, 0.55, 1)) < 5.0 * 0.9 / sqrt(12.0) / few);
    syn_gp_batch_fini(&b);
}

/* The mean of y_i y_j over sequences of the series, whose inputs are the same in all, against the
 * kernel. The variance of a product is K_ij² + K_ii K_jj; of 2080 entries none should be off by 5
 * standard errors (chance 0.1 %), and their mean square should be 1, within what their
 * correlation leaves. */
static void test_covariance(void **state)
{
    enum { N = 4000 };
    const syn_gp_task *const task = task_named("gp-3n");
    syn_gp_batch b = draw(task, 11, SYN_GP_EVAL, 0, N, 2);
    double total = 0.0;
    (void)state;
    for (size_t i = 0; i < POINTS; i++) {
        assert_true(fabs(b.x[i] - (double)i * 0.1) < 1e-14);
        for (size_t j = 0; j <= i; j++) {
            const double gap = 0.25 * (double)(i - j);
            const double diagonal = 1.0 + 0.01 + 1e-8;
            const double expected = i == j ? diagonal : exp(-0.5 * gap * gap);
            double mean = 0.0;
            for (size_t s = 0; s < N; s++) {
                mean += b.y[s * POINTS + i] * b.y[s * POINTS + j] / (double)N;
            }
            const double z =
                (mean - expected) / sqrt((expected * expected + diagonal * diagonal) / (double)N);
            assert_true(fabs(z) < 5.0);
            total += z * z;
        }
    }
    total /= POINTS * (POINTS + 1) / 2.0;
    assert_true(total > 0.5 && total < 1.6);
    syn_gp_batch_fini(&b);
}

/* Σ m_s / √(Σ m_s²) over sequences, where m_s is the mean of y_i y_j / s² − r_ij over disjoint
 * pairs of a sequence and r the correlation at `stretch` times the sequence's lengthscale. */
static double correlation_deviate(const syn_gp_batch *b, double stretch)
{
    double sum = 0.0;
    double squares = 0.0;
    for (size_t s = 0; s < b->sequences; s++) {
        double m = 0.0;
        for (size_t i = s * POINTS; i < (s + 1) * POINTS; i += 2) {
            const double gap = (b->x[i] - b->x[i + 1]) / (stretch * b->lengthscale[s]);
            m += b->y[i] * b->y[i + 1] / (b->scale[s] * b->scale[s]) - exp(-0.5 * gap * gap);
        }
        sum += m;
        squares += m * m;
    }
    return sum / sqrt(squares);
}

/* Random hyper-parameters act: given the inputs, E y_i y_j is the kernel at the sequence's own ℓ
 * and s, and at no other. */
static void test_hyper_parameters_act(void **state)
{
    syn_gp_batch b = draw(task_named("gp-2"), 13, SYN_GP_EVAL, 0, 4000, 2);
    (void)state;
    assert_true(fabs(correlation_deviate(&b, 1.0)) < 4.0);
    assert_true(correlation_deviate(&b, 0.8) > 5.0);
    assert_true(correlation_deviate(&b, 1.25) < -5.0);
    syn_gp_batch_fini(&b);
}

/* Without noise and jitter, sixty points within ten lengthscales have a covariance that is singular
 * to rounding; a jitter of 1e-8 is enough. */
static void test_singular_kernel(void **state)
{
    syn_gp_task task = *task_named("gp-1");
    syn_gp_batch b = {0};
    syn_gp *gp = NULL;
    kern_error err = {0};
    (void)state;
    task.noise = 0.0;
    b = draw(&task, 1, SYN_GP_EVAL, 0, 50, 1);
    task.jitter = 0.0;
    assert_int_equal(syn_gp_create(&gp, &task, 2, &err), KERN_OK);
    assert_int_equal(syn_gp_draw(gp, 1, SYN_GP_EVAL, 0, &b, &err), KERN_SINGULAR);
    assert_non_null(strstr(err.text, "64 points is not positive definite at lengthscale 0.4 and "
                                     "scale 1 with noise 0 and jitter 0"));
    syn_gp_destroy(gp);
    syn_gp_batch_fini(&b);
    assert_int_equal(syn_gp_batch_init(&b, SIZE_MAX / 64, 64, &err), KERN_OVERFLOW);
    assert_int_equal(syn_gp_batch_init(&b, 2, 63, &err), KERN_OK);
    task.jitter = 1e-8;
    assert_int_equal(syn_gp_create(&gp, &task, 1, &err), KERN_OK);
    assert_int_equal(syn_gp_draw(gp, 1, SYN_GP_EVAL, 0, &b, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "room for sequences of 63 points; 64 are drawn"));
    syn_gp_destroy(gp);
    syn_gp_batch_fini(&b);
}

static void check_phi(const float *phi, double x)
{
    for (size_t k = 1; k <= SYN_GP_HARMONICS; k++) {
        const double angle = 0.78539816339744830962 * (double)k * x;
        assert_true(fabs((double)phi[k - 1] - sin(angle)) < 1e-7);
        assert_true(fabs((double)phi[SYN_GP_HARMONICS + k - 1] - cos(angle)) < 1e-7);
    }
}

static void test_tokens(void **state)
{
    enum { N = 3, PHI = 2 * SYN_GP_HARMONICS };
    syn_gp_batch b = draw(task_named("gp-3"), 2, SYN_GP_TRAIN, 4, N, 1);
    float features[N * POINTS * SYN_GP_FEATURES];
    float targets[N * POINTS];
    (void)state;
    assert_int_equal(SYN_GP_FEATURES, 34);
    syn_gp_tokens_f32(&b, features, targets);
    for (size_t i = 0; i < N * POINTS; i++) {
        const float *const token = features + i * SYN_GP_FEATURES;
        const bool begins = i % POINTS == 0;
        check_phi(token, b.x[i]);
        for (size_t k = 0; begins && k < PHI; k++) {
            assert_true(token[PHI + k] == 0.0F);
        }
        if (!begins) {
            check_phi(token + PHI, b.x[i - 1]);
        }
        assert_true(token[2 * PHI] == (begins ? 0.0F : (float)b.y[i - 1]));
        assert_true(token[2 * PHI + 1] == (begins ? 1.0F : 0.0F));
        assert_true(targets[i] == (float)b.y[i]);
    }
    syn_gp_batch_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_fields_out_of_domain),
        cmocka_unit_test(test_sequence_depends_on_index_alone),
        cmocka_unit_test(test_law_of_what_is_drawn),
        cmocka_unit_test(test_covariance),
        cmocka_unit_test(test_hyper_parameters_act),
        cmocka_unit_test(test_singular_kernel),
        cmocka_unit_test(test_tokens),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
