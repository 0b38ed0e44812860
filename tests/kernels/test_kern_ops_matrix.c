/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/kernels/op_check.h"

#include "kernels/kern_blas.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct product {
    size_t rows;
    size_t inner;
    size_t outer;
} product;

static const product products[] = {{1, 1, 1},   {1, 7, 3},    {3, 16, 5},
                                   {7, 17, 33}, {16, 16, 16}, {31, 8, 65},
                                   {64, 33, 2}, {5, 129, 64}, {9, 260, 257}};
enum { PRODUCTS = sizeof products / sizeof products[0] };

static void test_linear(void **state)
{
    (void)state;
    for (size_t k = 0; k < PRODUCTS; k++) {
        const product s = products[k];
        for (unsigned present = 0; present < 8; present++) {
            op_case c = {.name = "linear",
                         .op = KERN_OP_LINEAR,
                         .attr = {.linear = {.plain = (present & 4) != 0,
                                             .alpha = k % 2 == 0 ? 1.0 : -0.75}},
                         .in = {{s.rows, s.inner}, {s.outer, s.inner}},
                         .params = 0x6,
                         .split_matters = true};
            if (c.attr.linear.plain) {
                c.in[1] = (kern_shape){s.inner, s.outer};
            }
            c.in[2] = (present & 1) != 0 ? (kern_shape){1, s.outer} : (kern_shape){0, 0};
            c.in[3] = (present & 2) != 0 ? (kern_shape){s.rows, s.outer} : (kern_shape){0, 0};
            op_check(&c, k);
        }
    }
}

typedef struct attention_size {
    size_t sequences;
    size_t tokens;
    size_t heads;
    size_t width;
    size_t value_width; /* 0: values are keys */
} attention_size;

static const attention_size sizes[] = {{1, 1, 1, 1, 0},  {2, 3, 1, 5, 0},  {1, 7, 2, 4, 3},
                                       {3, 8, 3, 3, 0},  {2, 17, 2, 5, 6}, {1, 33, 3, 8, 0},
                                       {4, 5, 1, 16, 7}, {1, 65, 2, 3, 2}, {2, 70, 2, 66, 0}};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* The variants are the bits of `variant`: strict, shared query, summed heads. */
static op_case attention_case(attention_size s, unsigned variant)
{
    const size_t rows = s.sequences * s.tokens;
    const bool shared = (variant & 2) != 0;
    op_case c = {.name = "attention",
                 .op = KERN_OP_ATTENTION,
                 .attr = {.attention = {.tokens = s.tokens,
                                        .heads = s.heads,
                                        .strict = (variant & 1) != 0,
                                        .shared_query = shared,
                                        .sum_heads = (variant & 4) != 0,
                                        .beta = 0.6,
                                        .scale = -0.8,
                                        .salt = 11}},
                 .in = {{rows, shared ? s.width : s.heads * s.width}, {rows, s.heads * s.width}},
                 .split_matters = true};
    c.in[2] = s.value_width == 0 ? (kern_shape){0, 0} : (kern_shape){rows, s.heads * s.value_width};
    return c;
}

static void test_attention(void **state)
{
    (void)state;
    for (size_t k = 0; k < SIZES; k++) {
        for (unsigned variant = 0; variant < 8; variant++) {
            const op_case c = attention_case(sizes[k], variant);
            op_check(&c, k);
        }
    }
}

static void test_attention_with_dropout(void **state)
{
    (void)state;
    for (size_t k = 1; k < SIZES; k++) {
        for (unsigned variant = 0; variant < 8; variant += 3) {
            op_case c = attention_case(sizes[k], variant);
            c.name = "attention with dropout";
            c.attr.attention.dropout = 0.25;
            c.dropout_key = 99;
            op_check(&c, k);
        }
    }
}

/* Attention's case with a diagonal part of width `width`, for all heads or for each. */
static op_case interaction_case(attention_size s, unsigned variant, size_t width, bool each)
{
    op_case c = attention_case(s, variant);
    c.name = each ? "interaction, a diagonal per head" : "interaction";
    c.op = KERN_OP_INTERACTION;
    c.in[3] = (kern_shape){c.in[0].rows, each ? s.heads * width : width};
    c.in[4] = (kern_shape){c.in[0].rows, width};
    return c;
}

/* Every second pair of size and variant has a diagonal for each head. */
static void test_interaction(void **state)
{
    (void)state;
    for (size_t k = 0; k < SIZES; k++) {
        for (unsigned variant = 0; variant < 8; variant++) {
            op_case c = interaction_case(sizes[k], variant, 3 + 8 * k, (k + variant) % 2 == 1);
            op_check(&c, k);
            if (k == variant || k + variant == 7) {
                c.attr.attention.dropout = 0.25;
                c.dropout_key = 98;
                op_check(&c, k);
            }
        }
    }
}

/* Rows as the sequences of `sizes`, a context as long as their tokens but one. */
static op_case context_case(attention_size s, unsigned variant)
{
    op_case c = attention_case(s, variant);
    c.name = "context";
    c.op = KERN_OP_CONTEXT;
    c.in[0].rows = c.in[1].rows = s.sequences;
    c.in[2] = s.tokens == 1 ? (kern_shape){0, 0} : (kern_shape){s.tokens - 1, c.in[1].cols};
    return c;
}

static void test_context(void **state)
{
    (void)state;
    for (size_t k = 0; k < SIZES; k++) {
        for (unsigned variant = 0; variant < 8; variant++) {
            const op_case c = context_case(sizes[k], variant);
            op_check(&c, k);
        }
    }
}

static void test_rope(void **state)
{
    (void)state;
    static const struct {
        size_t sequences;
        size_t tokens;
        size_t heads;
        size_t width;
    } shapes[] = {{1, 1, 1, 2},   {3, 2, 2, 6},  {2, 17, 3, 4},
                  {1, 65, 1, 34}, {4, 8, 2, 16}, {1, 200, 1, 2}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        for (int inverse = 0; inverse < 2; inverse++) {
            const op_case c = {.name = "rope",
                               .op = KERN_OP_ROPE,
                               .attr = {.rope = {.tokens = shapes[k].tokens,
                                                 .heads = shapes[k].heads,
                                                 .base = k % 2 == 0 ? 10000 : 3,
                                                 .inverse = inverse == 1}},
                               .in = {{shapes[k].sequences * shapes[k].tokens,
                                       shapes[k].heads * shapes[k].width}}};
            op_check(&c, k);
        }
    }
}

/* Pairs (1, 0) become (cos φ, sin φ). In single precision these are rounded once; in double, the
 * angle itself is known to one part in 2^52 only, by the rounding of a frequency and a product. */
static void test_rope_of_long_sequences(void **state)
{
    (void)state;
    enum { N = 4096, PAIRS = 32, COLS = 2 * PAIRS };
    static float x[N][COLS];
    static double z[N][COLS];
    static double scratch[COLS * 512];
    const kern_attr attr = {.rope = {.tokens = N, .heads = 1, .base = 10000}};
    const kern_bindings bindings = {.dropout_key = 0};
    const kern_shape shape = {N, COLS};
    assert_true(kern_op_get(KERN_OP_ROPE)->scratch(&attr, &shape, &shape) <= COLS * 512);
    for (size_t r = 0; r < N; r++) {
        for (size_t i = 0; i < PAIRS; i++) {
            x[r][i] = 1;
            z[r][i] = 1;
        }
    }
    kern_call call = {.attr = &attr,
                      .bindings = &bindings,
                      .scratch = scratch,
                      .scratch_stride = 16,
                      .workers = 1};
    call.in[0] = (kern_view){x, N, COLS};
    call.out[0] = call.in[0];
    kern_backend_cpu_f32.kernels[KERN_OP_ROPE]->forward(&call);
    call.in[0].data = z;
    call.out[0] = call.in[0];
    kern_backend_cpu_f64.kernels[KERN_OP_ROPE]->forward(&call);
    for (size_t r = 0; r < N; r++) {
        for (size_t i = 0; i < PAIRS; i++) {
            const long double angle =
                (long double)r * powl(10000, -(long double)i / (long double)PAIRS);
            const double bound = 4.5e-16 * (1 + (double)angle);
            const double wanted[] = {(double)cosl(angle), (double)sinl(angle)};
            for (size_t k = 0; k < 2; k++) {
                assert_true(fabs(z[r][k * PAIRS + i] - wanted[k]) <= bound);
                assert_true(fabs((double)x[r][k * PAIRS + i] - wanted[k]) <= 3e-8 + bound);
            }
        }
    }
}

static void test_refusals(void **state)
{
    (void)state;
    op_case c = {.name = "linear", .op = KERN_OP_LINEAR, .in = {{2, 3}, {4, 5}}};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "rows of 3");
    c.in[1].cols = 3;
    c.in[2] = (kern_shape){1, 3};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "bias");
    c.in[2] = (kern_shape){1, 4};
    c.in[3] = (kern_shape){3, 4};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "3 × 4");
    c = attention_case(sizes[2], 0);
    c.attr.attention.tokens = 4;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "4 tokens");
    c = attention_case(sizes[2], 0);
    c.in[1].cols += 2;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "keys");
    c = attention_case(sizes[2], 0);
    c.in[2].cols += 1;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "values");
    c = interaction_case(sizes[2], 0, 6, false);
    c.in[3].cols = 13;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "7 × 13 with 7 × 6");
    c = interaction_case(sizes[2], 0, 6, false);
    c.in[1].cols += 2;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "keys");
    c = context_case(sizes[2], 0);
    c.in[2].cols += 1;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "9 numbers beside keys of 8");
    c = context_case(sizes[2], 0);
    c.in[0].rows += 1;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "context with 2 heads");
    c = (op_case){.name = "rope",
                  .op = KERN_OP_ROPE,
                  .attr = {.rope = {.tokens = 4, .heads = 2, .base = 10000}},
                  .in = {{8, 10}}};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "5 columns wide, where an even width");
    c.in[0].cols = 9;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "9 columns");
    c.in[0] = (kern_shape){6, 8};
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "6 rows");
    c.in[0].rows = 8;
    c.attr.rope.base = 0;
    op_check_refused(&c, KERN_INVALID_ARGUMENT, "base is 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_with_dropout),
        cmocka_unit_test(test_interaction),
        cmocka_unit_test(test_context),
        cmocka_unit_test(test_rope),
        cmocka_unit_test(test_rope_of_long_sequences),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
