/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/kernels/op_check.h"

#include "kernels/kern_dropout.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka compares single precision only. */
static void expect_near(double found, double wanted, double tolerance)
{
    if (!(fabs(found - wanted) <= tolerance)) {
        fail_msg("found %.17g, wanted %.17g within %.3g", found, wanted, tolerance);
    }
}

/* Below, at and above the widths of vectors, of blocks and of the share of a worker. */
static const kern_shape shapes[] = {{1, 1},  {1, 7},  {3, 5},   {2, 16},  {7, 17},  {15, 33},
                                    {31, 8}, {64, 3}, {1, 255}, {2, 128}, {5, 129}, {17, 65}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void check_activation(kern_op_id op, const char *name, bool two_inputs)
{
    for (kern_fn fn = KERN_FN_GELU; fn < KERN_FN_COUNT; fn++) {
        for (size_t k = 0; k < SHAPES; k += fn < KERN_FN_SILU ? 1 : 2) {
            op_case c = {.name = name, .op = op, .attr = {.act = {.fn = fn}}, .in = {shapes[k]}};
            c.in[1] = two_inputs ? shapes[k] : (kern_shape){0, 0};
            c.margin = fn == KERN_FN_RELU || fn == KERN_FN_RELU_INTEGRAL ? 0.05 : 0;
            op_check(&c, k);
        }
    }
}

static void test_act(void **state)
{
    (void)state;
    check_activation(KERN_OP_ACT, "act", false);
}

static void test_act_energy(void **state)
{
    (void)state;
    check_activation(KERN_OP_ACT_ENERGY, "act_energy", false);
}

static void test_act_pair(void **state)
{
    (void)state;
    check_activation(KERN_OP_ACT_PAIR, "act_pair", true);
}

static void test_act_gate(void **state)
{
    (void)state;
    check_activation(KERN_OP_ACT_GATE, "act_gate", true);
}

/* What is present, by bits: the scalar, the gain, its softplus, the first input; then a power of 2.
 * Each shape has a third of the combinations. */
static void test_affine_add(void **state)
{
    (void)state;
    for (size_t k = 0; k < SHAPES; k++) {
        for (unsigned present = (unsigned)(k % 3); present < 32; present += 3) {
            const bool softplus = (present & 4) != 0;
            op_case c = {.name = softplus ? "affine_add with a softplus" : "affine_add",
                         .op = KERN_OP_AFFINE_ADD,
                         .attr = {.affine = {.scale = -0.7,
                                             .power = (present & 16) != 0 ? 2 : 1,
                                             .softplus = softplus}},
                         .in = {[1] = shapes[k]}};
            c.in[0] = (present & 8) != 0 ? shapes[k] : (kern_shape){0, 0};
            c.in[2] = (present & 1) != 0 ? (kern_shape){1, 1} : (kern_shape){0, 0};
            c.in[3] = (present & 2) != 0 ? (kern_shape){1, shapes[k].cols} : (kern_shape){0, 0};
            if (softplus && (present & 2) == 0) {
                op_check_refused(&c, KERN_INVALID_ARGUMENT, "softplus");
            } else {
                op_check(&c, k);
            }
        }
    }
}

static void test_head_gain(void **state)
{
    (void)state;
    for (size_t k = 0; k < SHAPES; k++) {
        for (size_t heads = 1; heads <= 3; heads++) {
            op_case c = {.name = "head_gain",
                         .op = KERN_OP_HEAD_GAIN,
                         .attr = {.head_gain = {.heads = heads}},
                         .in = {shapes[k], {heads, shapes[k].cols}},
                         .params = 0x2};
            op_check(&c, k);
            c.name = "head_gain, folding";
            c.attr.head_gain.fold = true;
            c.in[0].cols = heads * shapes[k].cols;
            op_check(&c, k);
        }
    }
}

static void test_head_repeat(void **state)
{
    (void)state;
    for (size_t k = 0; k < SHAPES; k++) {
        for (size_t heads = 1; heads <= 3; heads++) {
            op_case c = {.name = "head_repeat",
                         .op = KERN_OP_HEAD_REPEAT,
                         .attr = {.head_repeat = {.heads = heads, .times = 1 + k % 3}},
                         .in = {{shapes[k].rows, heads * shapes[k].cols}}};
            op_check(&c, k);
        }
    }
    op_case c = {.name = "head_repeat", .op = KERN_OP_HEAD_REPEAT, .in = {{2, 6}}};
    c.attr.head_repeat.heads = 4;
    c.attr.head_repeat.times = 2;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "shared among 4 heads");
    c.attr.head_repeat.heads = 3;
    c.attr.head_repeat.times = 0;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "repeated 0 times");
}

static void test_affine_add_many_rows(void **state)
{
    (void)state;
    const op_case c = {.name = "affine_add, many rows",
                       .op = KERN_OP_AFFINE_ADD,
                       .attr = {.affine = {.scale = 1.5, .power = 2}},
                       .in = {{301, 19}, {301, 19}, {1, 1}, {1, 19}}};
    op_check(&c, 3);
}

static void test_head_scale(void **state)
{
    (void)state;
    static const size_t heads[] = {1, 2, 3};
    for (size_t k = 0; k < SHAPES; k++) {
        for (size_t h = 0; h < 3; h++) {
            op_case c = {.name = "head_scale",
                         .op = KERN_OP_HEAD_SCALE,
                         .attr = {.head_scale = {.heads = heads[h], .scale = -1.25}}};
            c.in[0] = (kern_shape){shapes[k].rows, heads[h]};
            c.in[1] = (kern_shape){shapes[k].rows, shapes[k].cols * heads[h]};
            op_check(&c, k);
            c.attr.head_scale.shared_query = true;
            c.in[1].cols = shapes[k].cols;
            op_check(&c, k);
        }
    }
}

static void test_dropout(void **state)
{
    (void)state;
    for (size_t k = 0; k < SHAPES; k++) {
        for (uint64_t key = 0; key < 3; key++) {
            const op_case c = {.name = "dropout",
                               .op = KERN_OP_DROPOUT,
                               .attr = {.dropout = {.p = 0.3, .salt = 5}},
                               .in = {shapes[k]},
                               .dropout_key = key * 0x1234567890abcdefu};
            op_check(&c, k);
        }
    }
}

/* Share of kept elements, and of neighbours (right, below) that are kept together. */
static void test_dropout_mask_is_random(void **state)
{
    (void)state;
    enum { ROWS = 400, COLS = 401 };
    static double kept[ROWS][COLS];
    const double p = 0.25;
    double single = 0;
    double right = 0;
    double below = 0;
    for (size_t r = 0; r < ROWS; r++) {
        const kern_dropout_row row = kern_dropout_start(77, 3, r, p);
        expect_near(row.scale, 1 / (1 - p), 1e-15);
        for (size_t j = 0; j < COLS; j++) {
            kept[r][j] = kern_dropout_factor(&row, j) > 0 ? 1 : 0;
            single += kept[r][j];
            right += j > 0 ? kept[r][j] * kept[r][j - 1] : 0;
            below += r > 0 ? kept[r][j] * kept[r - 1][j] : 0;
        }
    }
    /* Five standard deviations of a binomial share of 160 thousand draws. */
    const double n = (double)ROWS * COLS;
    expect_near(single / n, 0.75, 5 * sqrt(0.75 * 0.25 / n));
    expect_near(right / (n - ROWS), 0.5625, 7 * sqrt(0.5625 * 0.4375 / n));
    expect_near(below / (n - COLS), 0.5625, 7 * sqrt(0.5625 * 0.4375 / n));
}

static void test_dropout_masks_differ(void **state)
{
    (void)state;
    const kern_dropout_row base = kern_dropout_start(1, 2, 3, 0.5);
    const kern_dropout_row others[] = {kern_dropout_start(2, 2, 3, 0.5),
                                       kern_dropout_start(1, 3, 3, 0.5),
                                       kern_dropout_start(1, 2, 4, 0.5)};
    for (size_t k = 0; k < 3; k++) {
        size_t same = 0;
        for (size_t j = 0; j < 1000; j++) {
            const bool a = kern_dropout_factor(&base, j) > 0;
            const bool b = kern_dropout_factor(&others[k], j) > 0;
            same += a == b;
        }
        assert_in_range(same, 420, 580);
    }
    const kern_dropout_row none = kern_dropout_start(1, 2, 3, 0.0);
    for (size_t j = 0; j < 1000; j++) {
        assert_true(kern_dropout_factor(&none, j) == 1.0);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    op_case c = {.name = "act", .op = KERN_OP_ACT, .in = {{2, 3}}};
    c.attr.act.fn = KERN_FN_COUNT;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "function 7");
    c = (op_case){.name = "act", .op = KERN_OP_ACT, .in = {{2, 0}}};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "2 × 0");
    c = (op_case){.name = "act_pair", .op = KERN_OP_ACT_PAIR, .in = {{2, 3}, {2, 4}}};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "2 × 4");
    c.op = KERN_OP_ACT_GATE;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "act_gate");
    c = (op_case){.name = "affine", .op = KERN_OP_AFFINE_ADD, .in = {{2, 3}, {2, 3}}};
    c.attr.affine.power = 3;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "power");
    c.attr.affine.power = 1;
    c.in[2] = (kern_shape){1, 2};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "scalar");
    c.in[2] = (kern_shape){1, 1};
    c.in[3] = (kern_shape){2, 3};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "gain");
    c = (op_case){.name = "dropout", .op = KERN_OP_DROPOUT, .in = {{2, 3}}};
    c.attr.dropout.p = 1;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "probability");
    c.attr.dropout.p = (double)NAN;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "probability");
    c = (op_case){.name = "head_scale", .op = KERN_OP_HEAD_SCALE, .in = {{2, 2}, {2, 3}}};
    c.attr.head_scale.heads = 2;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "heads");
    c.in[1].cols = 4;
    c.in[0].cols = 3;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "factors");
    c.attr.head_scale.shared_query = true;
    c.in[0].cols = 2;
    c.in[1].cols = SIZE_MAX / 2 + 1;
    op_check_refused(&c, KERN_OVERFLOW, "too many");
    c = (op_case){.name = "head_gain", .op = KERN_OP_HEAD_GAIN, .in = {{2, 6}, {2, 5}}};
    c.attr.head_gain.heads = 2;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "2 × 5, where 2 × 6");
    c.attr.head_gain.fold = true;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "2 × 5, where 2 × 3");
    c.in[0].cols = 5;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "5 columns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_act),
        cmocka_unit_test(test_act_energy),
        cmocka_unit_test(test_act_pair),
        cmocka_unit_test(test_act_gate),
        cmocka_unit_test(test_affine_add),
        cmocka_unit_test(test_affine_add_many_rows),
        cmocka_unit_test(test_head_gain),
        cmocka_unit_test(test_head_repeat),
        cmocka_unit_test(test_head_scale),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_dropout_mask_is_random),
        cmocka_unit_test(test_dropout_masks_differ),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
