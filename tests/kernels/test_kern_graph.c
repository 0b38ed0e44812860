/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Building graphs: the first failure sticks and speaks, parameters are shared, work is counted, and
 * packed weights hold both operands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_graph.h"
#include "kernels/kern_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 4, ROWS = 12, COLS = 6 };

static kern_graph *new_graph(void)
{
    kern_graph *graph = NULL;
    assert_int_equal(kern_graph_create(&graph, NULL), KERN_OK);
    return graph;
}

/* An application that must be refused, its input shapes (0 × 0: absent) and a piece of the
 * sentence. */
typedef struct refusal {
    kern_op_id op;
    kern_attr attr;
    kern_shape in[KERN_MAX_IN];
    const char *part;
    kern_status status; /* KERN_OK stands for KERN_INVALID_ARGUMENT */
} refusal;

#define ATTENTION(tokens_, heads_, shared)                                                         \
    {                                                                                              \
        .attention = {                                                                             \
            .tokens = tokens_,                                                                     \
            .heads = heads_,                                                                       \
            .shared_query = shared,                                                                \
            .beta = 1.0,                                                                           \
            .scale = 1.0                                                                           \
        }                                                                                          \
    }
#define HUGE_HEADS (((size_t)1 << 63) + 1)

static const refusal refusals[] = {
    {KERN_OP_EMBED, {.embed = {.slot = 9, .tokens = 2, .rows = 4}}, {{5, 3}}, "slot 9", KERN_OK},
    {KERN_OP_EMBED, {.embed = {.tokens = 3, .rows = 4}}, {{5, 3}}, "sequences of 3", KERN_OK},
    {KERN_OP_EMBED, {.embed = {.tokens = 3, .rows = 6}}, {{5, 3}, {2, 3}}, "position", KERN_OK},
    {KERN_OP_EMBED, {.embed = {.tokens = 3, .rows = 6}}, {{5, 3}, {3, 4}}, "position", KERN_OK},
    {KERN_OP_EMBED, {.embed = {.tokens = 1, .rows = 1}}, {{0, 0}}, "lacks its input 0", KERN_OK},
    {KERN_OP_EMBED, {.embed = {.tokens = 1, .rows = 1}}, {{3000000000, 1}}, "ids", KERN_OK},
    {KERN_OP_NORM, {.norm = {.epsilon = -1}}, {{4, 3}}, "epsilon is -1", KERN_OK},
    {KERN_OP_NORM, {.norm = {.epsilon = (double)NAN}}, {{4, 3}}, "epsilon", KERN_OK},
    {KERN_OP_NORM, {.norm = {.epsilon = 1}}, {{4, 3}, {1, 4}}, "gain is 1 × 4", KERN_OK},
    {KERN_OP_NORM, {.norm = {.epsilon = 1}}, {{4, 3}, {1, 3}, {2, 3}}, "bias", KERN_OK},
    {KERN_OP_LINEAR, {.linear = {.alpha = 1}}, {{4, 3}, {5, 4}}, "4 inputs", KERN_OK},
    {KERN_OP_LINEAR, {.linear = {true, 1}}, {{4, 3}, {5, 3}}, "5 inputs", KERN_OK},
    {KERN_OP_LINEAR, {.linear = {false, 1}}, {{4, 3}, {5, 3}, {1, 3}}, "bias of 1 × 3", KERN_OK},
    {KERN_OP_LINEAR, {.linear = {false, 1}}, {{4, 3}, {5, 3}, {0, 0}, {4, 3}}, "add", KERN_OK},
    {KERN_OP_LINEAR, {.linear = {false, 1}}, {{4, 3}}, "linear lacks its input 1", KERN_OK},
    {KERN_OP_ATTENTION, ATTENTION(5, 1, false), {{12, 6}, {12, 6}}, "12 rows", KERN_OK},
    {KERN_OP_ATTENTION, ATTENTION(4, 0, false), {{12, 6}, {12, 6}}, "12 rows", KERN_OK},
    {KERN_OP_ATTENTION, ATTENTION(4, 4, false), {{12, 6}, {12, 6}}, "4 heads", KERN_OK},
    {KERN_OP_ATTENTION, ATTENTION(4, 2, true), {{12, 6}, {12, 6}}, "pair", KERN_OK},
    {KERN_OP_ATTENTION, ATTENTION(4, HUGE_HEADS, true), {{12, 2}, {12, 2}}, "pair", KERN_OK},
    {KERN_OP_ATTENTION, ATTENTION(4, 2, false), {{12, 6}, {12, 6}, {12, 3}}, "mix", KERN_OK},
    {KERN_OP_HEAD_SCALE, {.head_scale = {4, false, 1}}, {{12, 4}, {12, 6}}, "6 columns", KERN_OK},
    {KERN_OP_HEAD_SCALE, {.head_scale = {2, false, 1}}, {{12, 3}, {12, 6}}, "12 × 3", KERN_OK},
    {KERN_OP_ACT, {.act = {(kern_fn)7}}, {{4, 3}}, "function 7", KERN_OK},
    {KERN_OP_ACT_PAIR, {.act = {KERN_FN_GELU}}, {{4, 3}, {4, 2}}, "second input", KERN_OK},
    {KERN_OP_ACT_GATE, {.act = {KERN_FN_GELU}}, {{4, 3}, {3, 3}}, "second input", KERN_OK},
    {KERN_OP_ROW_DOT, {.row = {1}}, {{4, 3}, {4, 2}}, "second input", KERN_OK},
    {KERN_OP_AFFINE_ADD, {.affine = {.scale = 1, .power = 3}}, {{4, 3}, {4, 3}}, "power", KERN_OK},
    {KERN_OP_AFFINE_ADD, {.affine = {.scale = 1, .power = 1}}, {{4, 3}, {4, 2}}, "4 × 3", KERN_OK},
    {KERN_OP_AFFINE_ADD,
     {.affine = {.scale = 1, .power = 1}},
     {{4, 3}, {4, 3}, {1, 2}},
     "1 × 1",
     KERN_OK},
    {KERN_OP_DROPOUT, {.dropout = {.p = 1}}, {{4, 3}}, "probability is 1", KERN_OK},
    {KERN_OP_CROSS_ENTROPY, {.cross_entropy = {2}}, {{4, 3}}, "slot 2", KERN_OK},
    {KERN_OP_ROW_SUMSQ, {.row = {1}}, {{SIZE_MAX, SIZE_MAX}}, "too large", KERN_OVERFLOW},
};

static void test_refusals_stick_and_speak(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *r = &refusals[i];
        kern_graph *graph = new_graph();
        kern_value in[KERN_MAX_IN];
        kern_value out[KERN_MAX_OUT] = {0};
        kern_error err = {0};
        for (size_t k = 0; k < KERN_MAX_IN; k++) {
            in[k] = r->in[k].rows == 0 ? KERN_NO_VALUE : kern_graph_input(graph, r->in[k]);
        }
        assert_true(kern_graph_apply(graph, r->op, &r->attr, in, out) == KERN_NO_VALUE);
        assert_true(out[0] == KERN_NO_VALUE);
        /* What follows changes neither the graph nor the sentence. */
        const size_t values = kern_graph_value_count(graph);
        assert_true(kern_graph_input(graph, (kern_shape){2, 2}) == KERN_NO_VALUE);
        assert_true(kern_graph_param(graph, 0, (kern_shape){2, 2}) == KERN_NO_VALUE);
        kern_graph_keep(graph, 0);
        assert_int_equal(kern_graph_value_count(graph), values);
        assert_int_equal(kern_graph_node_count(graph), 0);
        const kern_status status = r->status == KERN_OK ? KERN_INVALID_ARGUMENT : r->status;
        assert_int_equal(kern_graph_finish(graph, &err), status);
        if (strstr(err.text, r->part) == NULL || err.status != status) {
            fail_msg("refusal %zu: \"%s\" is not in: %s", i, r->part, err.text);
        }
        kern_graph_destroy(graph);
    }
}

static void test_one_value_twice_is_refused(void **state)
{
    (void)state;
    const kern_attr attr = {.act = {KERN_FN_RELU}};
    kern_graph *graph = new_graph();
    kern_error err = {0};
    const kern_value x = kern_graph_input(graph, (kern_shape){ROWS, COLS});
    const kern_value in[] = {x, x};
    assert_true(kern_graph_apply(graph, KERN_OP_ACT_PAIR, &attr, in, NULL) == KERN_NO_VALUE);
    assert_int_equal(kern_graph_finish(graph, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "one value as inputs 0 and 1"));
    kern_graph_destroy(graph);
}

static void test_a_value_of_another_graph_is_refused(void **state)
{
    (void)state;
    const kern_attr attr = {.act = {KERN_FN_RELU}};
    kern_graph *graph = new_graph();
    kern_error err = {0};
    (void)kern_graph_input(graph, (kern_shape){ROWS, COLS});
    const kern_value in = 5;
    kern_graph_keep(graph, 5);
    assert_true(kern_graph_apply(graph, KERN_OP_ACT, &attr, &in, NULL) == KERN_NO_VALUE);
    assert_int_equal(kern_graph_finish(graph, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "value 5 of a graph that has 1"));
    kern_graph_destroy(graph);
}

static void test_parameters_are_shared(void **state)
{
    (void)state;
    kern_graph *graph = new_graph();
    const kern_value a = kern_graph_param(graph, 32, (kern_shape){3, 2});
    assert_true(kern_graph_param(graph, 32, (kern_shape){3, 2}) == a);
    assert_true(kern_graph_param(graph, 32, (kern_shape){2, 3}) != a);
    assert_true(kern_graph_param(graph, 0, (kern_shape){3, 2}) != a);
    assert_true(kern_graph_input(graph, (kern_shape){3, 2}) != a);
    assert_int_equal(kern_graph_value_count(graph), 4);
    assert_int_equal(kern_graph_value_info(graph, a)->param_offset, 32);
    assert_true(kern_graph_value_info(graph, a)->role == KERN_ROLE_PARAM);
    kern_graph_destroy(graph);
    kern_graph_destroy(NULL);
}

/* A graph grows past its first allocation without losing what it holds. */
static void test_many_values(void **state)
{
    (void)state;
    const kern_attr attr = {.act = {KERN_FN_RELU}};
    kern_graph *graph = new_graph();
    kern_value x = kern_graph_input(graph, (kern_shape){ROWS, COLS});
    for (size_t i = 0; i < 300; i++) {
        if (i % 7 == 0) {
            kern_graph_begin_segment(graph);
        }
        const kern_value before = x;
        kern_value out[KERN_MAX_OUT];
        x = kern_graph_apply(graph, KERN_OP_ACT, &attr, &before, out);
        assert_true(out[0] == x && out[1] == x + 1);
        assert_true(kern_graph_node(graph, i)->in[0] == before);
        assert_int_equal(kern_graph_node(graph, i)->segment, i / 7 + 1);
        assert_int_equal(kern_graph_value_info(graph, x)->node, i);
    }
    kern_graph_end_segment(graph);
    assert_int_equal(kern_graph_node_count(graph), 300);
    assert_int_equal(kern_graph_finish(graph, NULL), KERN_OK);
    kern_graph_destroy(graph);
}

/* Work of one attention over B·N tokens with keys of width k and values of width v per head. */
static double attention_flops(bool strict, size_t heads, size_t v)
{
    const kern_attr attr = {
        .attention = {.tokens = TOKENS, .heads = heads, .strict = strict, .beta = 1, .scale = 1}};
    kern_graph *graph = new_graph();
    kern_value in[3];
    for (size_t i = 0; i < 3; i++) {
        const size_t cols = i == 2 ? v * heads : COLS;
        in[i] =
            v == 0 && i == 2 ? KERN_NO_VALUE : kern_graph_input(graph, (kern_shape){ROWS, cols});
    }
    assert_true(kern_graph_apply(graph, KERN_OP_ATTENTION, &attr, in, NULL) != KERN_NO_VALUE);
    const double flops = kern_graph_flops(graph);
    kern_graph_destroy(graph);
    return flops;
}

/* 3 sequences of 4 tokens have 18 pairs B < A and 30 pairs B ≤ A; each costs two per entry of key
 * and value. */
static void test_work_is_counted(void **state)
{
    (void)state;
    assert_true(attention_flops(true, 1, 0) == 2.0 * 18 * (6 + 6));
    assert_true(attention_flops(false, 1, 0) == 2.0 * 30 * (6 + 6));
    assert_true(attention_flops(true, 3, 5) == 2.0 * 18 * (6 + 15));
    assert_true(attention_flops(false, 2, 1) == 2.0 * 30 * (6 + 2));
    kern_graph *graph = new_graph();
    const kern_attr linear = {.linear = {.alpha = 1}};
    const kern_attr plain = {.linear = {.plain = true, .alpha = 1}};
    const kern_attr act = {.act = {KERN_FN_GELU}};
    const kern_value w = kern_graph_param(graph, 0, (kern_shape){9, COLS});
    const kern_value x = kern_graph_input(graph, (kern_shape){ROWS, COLS});
    const kern_value up[] = {x, w, KERN_NO_VALUE, KERN_NO_VALUE};
    const kern_value z = kern_graph_apply(graph, KERN_OP_LINEAR, &linear, up, NULL);
    const kern_value a = kern_graph_apply(graph, KERN_OP_ACT, &act, &z, NULL);
    const kern_value down[] = {a, w, KERN_NO_VALUE, x};
    (void)kern_graph_apply(graph, KERN_OP_LINEAR, &plain, down, NULL);
    assert_int_equal(kern_graph_finish(graph, NULL), KERN_OK);
    assert_true(kern_graph_flops(graph) == 2 * 2.0 * ROWS * 9 * COLS);
    kern_graph_destroy(graph);
}

/* The panels of operand M (k × n): entry (i, j) of M. */
static double panel_entry(const double *panels, size_t k, size_t n, size_t i, size_t j)
{
    const size_t first = j / KERN_PANEL * KERN_PANEL;
    const size_t width = n - first < KERN_PANEL ? n - first : KERN_PANEL;
    return panels[first * k + i * width + j - first];
}

/* Two products by one weight, one by another: both are packed once, as W and as Wᵀ. */
static void test_packing_holds_both_operands(void **state)
{
    enum { OUT = 70, IN = 5, SECOND = 512 };
    double *params = malloc((SECOND + IN * OUT) * sizeof *params);
    kern_graph *graph = new_graph();
    const kern_attr linear = {.linear = {.alpha = 1}};
    const kern_value x = kern_graph_input(graph, (kern_shape){3, IN});
    const kern_value weights[] = {kern_graph_param(graph, 0, (kern_shape){OUT, IN}),
                                  kern_graph_param(graph, SECOND, (kern_shape){IN, IN})};
    (void)state;
    assert_non_null(params);
    for (size_t i = 0; i < SECOND + IN * OUT; i++) {
        params[i] = (double)i;
    }
    for (size_t i = 0; i < 4; i++) {
        const kern_value in[] = {x, weights[i % 2], KERN_NO_VALUE, KERN_NO_VALUE};
        (void)kern_graph_apply(graph, KERN_OP_LINEAR, &linear, in, NULL);
    }
    assert_int_equal(kern_graph_finish(graph, NULL), KERN_OK);
    const size_t count = kern_graph_pack_count(graph);
    assert_int_equal(count, kern_pack_size(OUT, IN) + kern_pack_size(IN, IN));
    double *packed = aligned_alloc(64, (count * sizeof *packed + 63) / 64 * 64);
    assert_non_null(packed);
    kern_graph_pack(graph, &kern_backend_cpu_f64, packed, params, 2);
    for (size_t v = 0; v < 2; v++) {
        const kern_value_info *info = kern_graph_value_info(graph, weights[v]);
        const size_t rows = info->shape.rows;
        const double *first = packed + info->pack_offset;
        const double *second = first + kern_pack_operand_size(rows, IN);
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < IN; j++) {
                const double w = params[info->param_offset + i * IN + j];
                assert_true(panel_entry(first, rows, IN, i, j) == w);
                assert_true(panel_entry(second, IN, rows, j, i) == w);
            }
        }
    }
    kern_graph_destroy(graph);
    free(packed);
    free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals_stick_and_speak),
        cmocka_unit_test(test_one_value_twice_is_refused),
        cmocka_unit_test(test_a_value_of_another_graph_is_refused),
        cmocka_unit_test(test_parameters_are_shared),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_work_is_counted),
        cmocka_unit_test(test_packing_holds_both_operands),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
