/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/kernels/op_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* cmocka compares single precision only. */
static void expect_near(double found, double wanted, double tolerance)
{
    if (!(fabs(found - wanted) <= tolerance)) {
        fail_msg("found %.17g, wanted %.17g within %.3g", found, wanted, tolerance);
    }
}

static const kern_shape shapes[] = {{1, 2},  {3, 5},   {2, 16},  {7, 17},  {15, 33}, {31, 8},
                                    {64, 3}, {2, 128}, {5, 129}, {17, 65}, {3, 300}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void check_norm(kern_norm_kind kind, const char *name)
{
    for (size_t k = 0; k < SHAPES; k++) {
        for (unsigned present = 0; present < 4; present++) {
            op_case c = {.name = name,
                         .op = KERN_OP_NORM,
                         .attr = {.norm = {.kind = kind, .epsilon = k % 2 == 0 ? 1e-5 : 0.3}},
                         .in = {shapes[k]}};
            c.in[1] = (present & 1) != 0 ? (kern_shape){1, c.in[0].cols} : (kern_shape){0, 0};
            c.in[2] = (present & 2) != 0 ? (kern_shape){1, c.in[0].cols} : (kern_shape){0, 0};
            op_check(&c, 10 + k);
        }
    }
}

static void test_layernorm(void **state)
{
    (void)state;
    check_norm(KERN_LAYERNORM, "layernorm");
}

static void test_rmsnorm(void **state)
{
    (void)state;
    check_norm(KERN_RMSNORM, "rmsnorm");
}

static void test_norm_pull(void **state)
{
    (void)state;
    for (size_t k = 0; k < SHAPES; k++) {
        for (unsigned variant = 0; variant < 4; variant++) {
            const bool centred = (variant & 1) != 0;
            op_case c = {.name = centred ? "layernorm's pull-back" : "rmsnorm's pull-back",
                         .op = KERN_OP_NORM_PULL,
                         .attr = {.norm = {.kind = centred ? KERN_LAYERNORM : KERN_RMSNORM,
                                           .epsilon = k % 2 == 0 ? 0.05 : 0.3}},
                         .in = {shapes[k], {0, 0}, shapes[k]},
                         .params = 0x2};
            c.in[1] = (variant & 2) != 0 ? (kern_shape){1, shapes[k].cols} : (kern_shape){0, 0};
            op_check(&c, 40 + k);
        }
    }
    op_case bad = {.name = "norm_pull", .op = KERN_OP_NORM_PULL, .in = {{2, 3}, {0, 0}, {2, 4}}};
    op_check_refused(&bad, KERN_INVALID_ARGUMENT, "gradient is 2 × 4");
    bad.attr.norm.epsilon = (double)NAN;
    op_check_refused(&bad, KERN_INVALID_ARGUMENT, "epsilon");
}

/* A large common offset must not spoil the variance. */
static void test_norm_of_offset_rows(void **state)
{
    (void)state;
    enum { COLS = 37 };
    float x[COLS];
    float g[COLS];
    float sigma = 0;
    for (size_t j = 0; j < COLS; j++) {
        x[j] = 1e5F + (float)(j % 5);
    }
    const kern_attr attr = {.norm = {.kind = KERN_LAYERNORM, .epsilon = 0}};
    const kern_call call = {
        .attr = &attr, .in = {{x, 1, COLS}}, .out = {{g, 1, COLS}, {&sigma, 1, 1}}, .workers = 1};
    kern_backend_cpu_f32.kernels[KERN_OP_NORM]->forward(&call);
    double mean = 0;
    double variance = 0;
    for (size_t j = 0; j < COLS; j++) {
        mean += (double)(j % 5) / COLS;
    }
    for (size_t j = 0; j < COLS; j++) {
        variance += pow((double)(j % 5) - mean, 2) / COLS;
    }
    expect_near((double)sigma, sqrt(variance), 1e-6);
}

/* What is not a number must stay visible. */
static void test_norm_shows_nan(void **state)
{
    (void)state;
    double x[] = {1, 2, (double)NAN, 4};
    double g[4];
    double sigma = 0;
    const kern_attr attr = {.norm = {.kind = KERN_LAYERNORM, .epsilon = 1e-5}};
    const kern_call call = {
        .attr = &attr, .in = {{x, 1, 4}}, .out = {{g, 1, 4}, {&sigma, 1, 1}}, .workers = 1};
    kern_backend_cpu_f64.kernels[KERN_OP_NORM]->forward(&call);
    assert_true(isnan(sigma) && isnan(g[0]) && isnan(g[3]));
}

static void test_row_sums(void **state)
{
    (void)state;
    static const kern_op_id ops[] = {KERN_OP_ROW_DOT, KERN_OP_ROW_SUMSQ, KERN_OP_ROW_COMBINE};
    static const char *const names[] = {"row_dot", "row_sumsq", "row_combine"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < SHAPES; k++) {
            op_case c = {.name = names[i],
                         .op = ops[i],
                         .attr = {.row = {.scale = -0.5}},
                         .in = {shapes[k]}};
            c.in[1] = ops[i] == KERN_OP_ROW_DOT ? shapes[k] : (kern_shape){0, 0};
            op_check(&c, 30 + k);
        }
    }
}

enum { IDS = 192 };

/* Ids in −1 … n−1, every fifth one negative. */
static void fill_ids(int32_t *ids, size_t n)
{
    for (size_t r = 0; r < IDS; r++) {
        ids[r] = r % 5 == 3 ? -1 : (int32_t)((r * 7 + 2) % n);
    }
}

static void test_embed(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 3, 16, 65, 130};
    int32_t ids[IDS];
    fill_ids(ids, 9);
    for (size_t k = 0; k < 5; k++) {
        for (size_t tokens = 1; tokens <= 8; tokens += 7) {
            op_case c = {.name = "embed",
                         .op = KERN_OP_EMBED,
                         .attr = {.embed = {.slot = 1, .tokens = tokens, .rows = 24}},
                         .in = {{9, widths[k]}},
                         .index = {NULL, ids}};
            op_check(&c, k);
            c.in[1] = (kern_shape){tokens + 2, widths[k]};
            op_check(&c, k);
        }
    }
}

static void test_cross_entropy(void **state)
{
    (void)state;
    int32_t ids[IDS];
    for (size_t k = 0; k < SHAPES; k++) {
        fill_ids(ids, shapes[k].cols);
        const op_case c = {.name = "cross_entropy",
                           .op = KERN_OP_CROSS_ENTROPY,
                           .attr = {.cross_entropy = {.slot = 0}},
                           .in = {shapes[k]},
                           .index = {ids}};
        op_check(&c, 50 + k);
    }
}

/* Rows far below zero and far above, where exp alone would vanish or overflow. */
static void test_cross_entropy_of_extreme_logits(void **state)
{
    (void)state;
    float logits[2][3] = {{-10000, -10001, -10002}, {1e30F, 0, -1e30F}};
    const int32_t ids[] = {0, 1};
    float nll[2];
    const kern_attr attr = {.cross_entropy = {.slot = 0}};
    const kern_bindings bindings = {.index = {ids}};
    const kern_call call = {.attr = &attr,
                            .bindings = &bindings,
                            .in = {{logits, 2, 3}},
                            .out = {{nll, 2, 1}},
                            .workers = 1};
    kern_backend_cpu_f32.kernels[KERN_OP_CROSS_ENTROPY]->forward(&call);
    expect_near((double)nll[0], log(1 + exp(-1) + exp(-2)), 1e-3);
    expect_near((double)nll[1] / 1e30, 1, 1e-6);
}

/* Ids that callers should have rejected give NaN, not a read outside. */
static void test_ids_beyond_the_table(void **state)
{
    (void)state;
    double table[] = {1, 2, 3, 4};
    double x[4] = {0};
    double nll[2] = {0};
    const int32_t ids[] = {2, 1};
    const kern_attr embed = {.embed = {.slot = 0, .tokens = 1, .rows = 2}};
    const kern_attr loss = {.cross_entropy = {.slot = 0}};
    const kern_bindings bindings = {.index = {ids}};
    kern_call call = {.attr = &embed,
                      .bindings = &bindings,
                      .in = {{table, 2, 2}},
                      .out = {{x, 2, 2}},
                      .workers = 1};
    kern_backend_cpu_f64.kernels[KERN_OP_EMBED]->forward(&call);
    assert_true(isnan(x[0]) && isnan(x[1]) && x[2] == 3 && x[3] == 4);
    call.attr = &loss;
    call.out[0] = (kern_view){nll, 2, 1};
    kern_backend_cpu_f64.kernels[KERN_OP_CROSS_ENTROPY]->forward(&call);
    assert_true(isnan(nll[0]) && isfinite(nll[1]));
}

static void test_squared_error(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 1, 2, 7};
    for (size_t k = 0; k < SHAPES; k++) {
        for (size_t i = 0; i < 4; i++) {
            const kern_shape shape = {shapes[k].rows, widths[i]};
            op_case c = {.name = "squared_error",
                         .op = KERN_OP_SQUARED_ERROR,
                         .attr = {.row = {.scale = i == 1 ? 1.0 : 0.75}},
                         .in = {shape, shape, {shape.rows, 1}}};
            op_check(&c, 60 + k);
            c.in[2] = (kern_shape){0, 0};
            op_check(&c, 60 + k);
        }
    }
    op_case bad = {.name = "squared_error", .op = KERN_OP_SQUARED_ERROR, .in = {{2, 3}, {3, 2}}};
    op_check_refused(&bad, KERN_INVALID_ARGUMENT, "targets is 3 × 2");
    bad.in[1] = bad.in[0];
    bad.in[2] = (kern_shape){1, 2};
    op_check_refused(&bad, KERN_INVALID_ARGUMENT, "the vector of weights is 1 × 2");
    bad.in[0] = (kern_shape){0, 0};
    op_check_refused(&bad, KERN_INVALID_ARGUMENT, "predictions");
}

/* What a row of weight 0 holds stays there; what another holds does not. */
static void test_squared_error_leaves_rows_out(void **state)
{
    (void)state;
    double p[] = {1, (double)NAN, 3};
    double t[] = {(double)NAN, 2, 5};
    double w[] = {0, 0, 2};
    double e[3];
    double seed[] = {1, 1, 1};
    double dp[] = {9, 9, 9};
    double dw[] = {9, 9, 9};
    const kern_attr attr = {.row = {.scale = 1}};
    kern_call call = {.attr = &attr,
                      .in = {{p, 3, 1}, {t, 3, 1}, {w, 3, 1}},
                      .out = {{e, 3, 1}},
                      .d_in = {{dp, 3, 1}, {NULL, 3, 1}, {dw, 3, 1}},
                      .d_out = {{seed, 3, 1}},
                      .workers = 1};
    const kern_op_kernels *kernels = kern_backend_cpu_f64.kernels[KERN_OP_SQUARED_ERROR];
    kernels->forward(&call);
    kernels->vjp(&call);
    assert_true(e[0] == 0 && e[1] == 0 && e[2] == 8);
    assert_true(dp[0] == 0 && dp[1] == 0 && dp[2] == -8);
    assert_true(dw[0] == 0 && dw[1] == 0 && dw[2] == 4);
    call.accumulate[0] = true;
    kernels->vjp(&call);
    assert_true(dp[0] == 0 && dp[1] == 0 && dp[2] == -16);
    kernels->jvp(&call);
    assert_true(seed[0] == 0 && seed[1] == 0 && isfinite(seed[2]));
    w[1] = 1;
    kernels->forward(&call);
    assert_true(isnan(e[1]));
}

static void test_refusals(void **state)
{
    (void)state;
    op_case c = {.name = "norm", .op = KERN_OP_NORM, .in = {{2, 3}, {1, 4}}};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "gain");
    c.in[1] = (kern_shape){0, 0};
    c.in[2] = (kern_shape){2, 3};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "bias");
    c.attr.norm.epsilon = (double)NAN;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "epsilon");
    c = (op_case){.name = "row_dot", .op = KERN_OP_ROW_DOT, .in = {{2, 3}, {3, 2}}};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "3 × 2");
    c = (op_case){.name = "row_sumsq", .op = KERN_OP_ROW_SUMSQ};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "0 × 0");
    c.op = KERN_OP_ROW_COMBINE;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "row_combine");
    c = (op_case){.name = "embed", .op = KERN_OP_EMBED, .in = {{4, 3}, {1, 3}}};
    c.attr.embed = (kern_embed_attr){.slot = 0, .tokens = 2, .rows = 5};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "5 rows");
    c.attr.embed.rows = 4;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "position");
    c.attr.embed.slot = KERN_INDEX_SLOTS;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "slot");
    c.attr.embed.slot = 0;
    c.in[0].rows = (size_t)INT32_MAX + 1;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "2147483648");
    c = (op_case){.name = "cross_entropy", .op = KERN_OP_CROSS_ENTROPY, .in = {{4, 3}}};
    c.attr.cross_entropy.slot = 7;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "slot 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layernorm),
        cmocka_unit_test(test_rmsnorm),
        cmocka_unit_test(test_norm_pull),
        cmocka_unit_test(test_norm_of_offset_rows),
        cmocka_unit_test(test_norm_shows_nan),
        cmocka_unit_test(test_row_sums),
        cmocka_unit_test(test_embed),
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_cross_entropy_of_extreme_logits),
        cmocka_unit_test(test_ids_beyond_the_table),
        cmocka_unit_test(test_squared_error),
        cmocka_unit_test(test_squared_error_leaves_rows_out),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
