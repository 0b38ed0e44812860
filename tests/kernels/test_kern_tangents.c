/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Passes of tangents through one plan: again with the same values, several side by side, and rows
 * on their own. Every answer is compared with that of a plan made for one tangent and run once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_exec.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 37, WIDTH = 8, HIDDEN = 12, SIZE = TOKENS * WIDTH, TANGENTS = 5, PARAMS = 2048 };

#define TEST_OK(call)                                                                              \
    do {                                                                                           \
        kern_error test_error_ = {0};                                                              \
        kern_error *test_err = &test_error_;                                                       \
        if ((call) != KERN_OK) {                                                                   \
            fail_msg("%s", test_error_.text);                                                      \
        }                                                                                          \
    } while (0)

/* A block with every operation that a recurrent model has, three times in a row. */
typedef struct block {
    kern_graph *graph;
    kern_value input;
    kern_value output;
    size_t next_param;
} block;

static kern_value weight(block *b, size_t rows, size_t cols)
{
    const kern_value v = kern_graph_param(b->graph, b->next_param, (kern_shape){rows, cols});
    b->next_param += (rows * cols + 15) / 16 * 16;
    return v;
}

static kern_value linear(block *b, kern_value x, kern_value w, bool plain, kern_value addend)
{
    const kern_attr attr = {.linear = {.plain = plain, .alpha = 0.5}};
    const kern_value in[4] = {x, w, KERN_NO_VALUE, addend};
    return kern_graph_apply(b->graph, KERN_OP_LINEAR, &attr, in, NULL);
}

/* What attends in a layer. */
typedef enum layer_kind { STRICT, SHARED_DIAGONAL, DIAGONAL_EACH } layer_kind;

static kern_value rope(block *b, kern_value x, bool inverse)
{
    const kern_attr attr = {
        .rope = {.tokens = TOKENS, .heads = 2, .base = 100, .inverse = inverse}};
    return kern_graph_apply(b->graph, KERN_OP_ROPE, &attr, &x, NULL);
}

/* γ ⊙ x, one for all heads, or for each, side by side or folded. */
static kern_value gained(block *b, kern_value x, kern_value gain, bool each, bool fold)
{
    const kern_attr heads = {.head_gain = {.heads = 2, .fold = fold}};
    const kern_attr one = {.affine = {.scale = 1, .power = 1}};
    const kern_value each_in[2] = {x, gain};
    const kern_value one_in[4] = {KERN_NO_VALUE, x, KERN_NO_VALUE, gain};
    return each ? kern_graph_apply(b->graph, KERN_OP_HEAD_GAIN, &heads, each_in, NULL)
                : kern_graph_apply(b->graph, KERN_OP_AFFINE_ADD, &one, one_in, NULL);
}

static kern_value attend(block *b, kern_value q, kern_value k, kern_value g, layer_kind kind,
                         kern_value *out)
{
    const kern_attr attr = {
        .attention = {
            .tokens = TOKENS, .heads = 2, .strict = kind == STRICT, .beta = 0.7, .scale = 1.3}};
    if (kind == STRICT) {
        const kern_value in[3] = {q, k, KERN_NO_VALUE};
        return kern_graph_apply(b->graph, KERN_OP_ATTENTION, &attr, in, out);
    }
    const bool each = kind == DIAGONAL_EACH;
    const kern_value v = linear(b, g, weight(b, WIDTH, WIDTH), false, KERN_NO_VALUE);
    const kern_value gain = weight(b, each ? 2 : 1, WIDTH);
    const kern_value in[5] = {rope(b, q, false), rope(b, k, false), v,
                              gained(b, g, gain, each, false), g};
    const kern_value mixed =
        rope(b, kern_graph_apply(b->graph, KERN_OP_INTERACTION, &attr, in, out), true);
    const kern_attr sum = {.affine = {.scale = 0.6, .power = 1}};
    const kern_value sum_in[4] = {mixed, gained(b, out[4], gain, each, true), KERN_NO_VALUE,
                                  KERN_NO_VALUE};
    return kern_graph_apply(b->graph, KERN_OP_AFFINE_ADD, &sum, sum_in, NULL);
}

static kern_value add_layer(block *b, kern_value x, layer_kind kind)
{
    const kern_attr norm = {.norm = {.kind = KERN_LAYERNORM, .epsilon = 1e-3}};
    const kern_attr act = {.act = {.fn = KERN_FN_GELU}};
    const kern_attr affine = {.affine = {.scale = 0.4, .power = 1, .softplus = true}};
    const kern_attr sum = {.affine = {.scale = 0.4, .power = 1}};
    const kern_attr scale = {.head_scale = {.heads = 2, .scale = 0.3}};
    kern_value out[KERN_MAX_OUT];
    const kern_value gain = weight(b, 1, WIDTH);
    const kern_value norm_in[3] = {x, gain, KERN_NO_VALUE};
    const kern_value g = kern_graph_apply(b->graph, KERN_OP_NORM, &norm, norm_in, NULL);
    const kern_value q = linear(b, g, weight(b, WIDTH, WIDTH), false, KERN_NO_VALUE);
    const kern_value k = linear(b, g, weight(b, WIDTH, WIDTH), true, KERN_NO_VALUE);
    const kern_value mixed = attend(b, q, k, g, kind, out);
    const kern_value scale_in[2] = {out[2], q};
    const kern_value own = kern_graph_apply(b->graph, KERN_OP_HEAD_SCALE, &scale, scale_in, NULL);
    const kern_value w = weight(b, HIDDEN, WIDTH);
    const kern_value pair_in[2] = {
        linear(b, g, w, false, KERN_NO_VALUE),
        linear(b, mixed, weight(b, HIDDEN, WIDTH), false, KERN_NO_VALUE)};
    (void)kern_graph_apply(b->graph, KERN_OP_ACT_PAIR, &act, pair_in, out);
    const kern_value force = linear(b, out[1], w, true, mixed);
    const kern_value pull_in[3] = {x, gain, force};
    const kern_value pulled = kern_graph_apply(b->graph, KERN_OP_NORM_PULL, &norm, pull_in, NULL);
    const kern_value sum_in[4] = {x, pulled, KERN_NO_VALUE, weight(b, 1, WIDTH)};
    const kern_value moved = kern_graph_apply(b->graph, KERN_OP_AFFINE_ADD, &affine, sum_in, NULL);
    const kern_value last_in[4] = {moved, own, KERN_NO_VALUE, KERN_NO_VALUE};
    return kern_graph_apply(b->graph, KERN_OP_AFFINE_ADD, &sum, last_in, NULL);
}

static block make_block(void)
{
    block b = {0};
    const kern_shape shape = {TOKENS, WIDTH};
    TEST_OK(kern_graph_create(&b.graph, test_err));
    b.input = kern_graph_input(b.graph, shape);
    b.output = b.input;
    for (layer_kind kind = STRICT; kind <= DIAGONAL_EACH; kind++) {
        b.output = add_layer(&b, b.output, kind);
    }
    kern_graph_keep(b.graph, b.output);
    TEST_OK(kern_graph_finish(b.graph, test_err));
    assert_true(b.next_param <= PARAMS);
    return b;
}

/* A plan with its execution and numbers. */
typedef struct machine {
    const block *b;
    kern_plan *plan;
    kern_exec *exec;
    kern_run run;
} machine;

static machine make_machine(const block *b, size_t tangents, bool params, kern_run run)
{
    machine m = {.b = b, .run = run};
    const kern_plan_options o = {.mode = KERN_MODE_JVP,
                                 .params = params,
                                 .wrt = &b->input,
                                 .n_wrt = 1,
                                 .tangents = tangents};
    TEST_OK(kern_plan_create(&m.plan, b->graph, &o, test_err));
    assert_int_equal(kern_plan_tangents(m.plan), tangents);
    TEST_OK(kern_exec_create(&m.exec, m.plan, &kern_backend_cpu_f64, 1, test_err));
    return m;
}

static void destroy_machine(machine *m)
{
    kern_exec_destroy(m->exec);
    kern_plan_destroy(m->plan);
}

static void set_state(machine *m, const double *x)
{
    memcpy(kern_exec_value(m->exec, m->b->input), x, SIZE * sizeof *x);
    kern_exec_forward(m->exec, &m->run);
}

static void push(machine *m, const double *v, size_t count, double *jv)
{
    memcpy(kern_exec_derivative(m->exec, m->b->input), v, count * SIZE * sizeof *v);
    kern_exec_tangents(m->exec, &m->run, count);
    memcpy(jv, kern_exec_derivative(m->exec, m->b->output), count * SIZE * sizeof *jv);
}

static double *normals(size_t n, uint64_t seed)
{
    double *x = malloc(n * sizeof *x);
    kern_rng *rng = kern_rng_create(seed, "tangents", 0);
    assert_true(x != NULL && rng != NULL);
    for (size_t i = 0; i < n; i++) {
        x[i] = kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
    return x;
}

/* The same sums in another order: 1e-13 allows for some hundred roundings of terms of their size.
 */
static void expect_same(const double *a, const double *b, size_t n)
{
    double size = 0;
    for (size_t i = 0; i < n; i++) {
        size = fmax(size, fabs(b[i]));
    }
    assert_true(size > 0.1);
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= 1e-13 * size)) {
            fail_msg("number %zu is %.17g and not %.17g", i, a[i], b[i]);
        }
    }
}

/* Tangent t by a plan for one, in memory that nothing has run in. */
static void push_alone(const block *b, bool params, kern_run run, const double *x, const double *v,
                       double *jv)
{
    machine m = make_machine(b, 1, params, run);
    set_state(&m, x);
    push(&m, v, 1, jv);
    destroy_machine(&m);
}

/* All at once, some, and again, with and without moving parameters. */
static void test_side_by_side_and_again(void **state)
{
    (void)state;
    const block b = make_block();
    double *x = normals(SIZE, 1);
    double *v = normals(TANGENTS * SIZE, 2);
    double *params = normals(PARAMS, 3);
    double *moving = normals(PARAMS, 4);
    double *jv = malloc(TANGENTS * SIZE * sizeof *jv);
    double *alone = malloc(SIZE * sizeof *alone);
    assert_true(jv != NULL && alone != NULL);
    for (int moves = 0; moves < 2; moves++) {
        const kern_run run = {.params = params, .param_tangents = moves == 1 ? moving : NULL};
        machine m = make_machine(&b, TANGENTS, moves == 1, run);
        set_state(&m, x);
        for (size_t pass = 0; pass < 3; pass++) {
            const size_t count = pass == 1 ? 2 : TANGENTS;
            push(&m, v, count, jv);
            for (size_t t = 0; t < count; t++) {
                push_alone(&b, moves == 1, run, x, v + t * SIZE, alone);
                expect_same(jv + t * SIZE, alone, SIZE);
            }
        }
        destroy_machine(&m);
    }
    free(x);
    free(v);
    free(params);
    free(moving);
    free(jv);
    free(alone);
    kern_graph_destroy(b.graph);
}

/* Rows on their own give what each row's tangent alone does to that row. All masks are causal, so
 * the diagonal blocks of the layers are the products of theirs. */
static void test_own_rows(void **state)
{
    (void)state;
    const block b = make_block();
    double *x = normals(SIZE, 5);
    double *v = normals(SIZE, 6);
    double *params = normals(PARAMS, 7);
    double own[SIZE];
    double expected[SIZE];
    kern_run run = {.params = params};
    machine m = make_machine(&b, 1, false, run);
    set_state(&m, x);
    for (size_t row = 0; row < TOKENS; row++) {
        double single[SIZE] = {0};
        memcpy(single + row * WIDTH, v + row * WIDTH, WIDTH * sizeof *v);
        push(&m, single, 1, single);
        memcpy(expected + row * WIDTH, single + row * WIDTH, WIDTH * sizeof *v);
    }
    m.run.bindings.own_rows = true;
    push(&m, v, 1, own);
    expect_same(own, expected, SIZE);
    m.run.bindings.own_rows = false;
    push(&m, v, 1, own);
    double gap = 0;
    for (size_t i = 0; i < SIZE; i++) {
        gap = fmax(gap, fabs(own[i] - expected[i]));
    }
    assert_true(gap > 0.1); /* rows do act on each other */
    destroy_machine(&m);
    free(x);
    free(v);
    free(params);
    kern_graph_destroy(b.graph);
}

static void test_too_many(void **state)
{
    (void)state;
    const block b = make_block();
    const kern_plan_options o = {
        .mode = KERN_MODE_JVP, .wrt = &b.input, .n_wrt = 1, .tangents = SIZE_MAX / 8};
    kern_plan *plan = NULL;
    kern_error err = {0};
    assert_int_equal(kern_plan_create(&plan, b.graph, &o, &err), KERN_OVERFLOW);
    assert_null(plan);
    assert_non_null(strstr(err.text, "tangents"));
    kern_graph_destroy(b.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_side_by_side_and_again),
        cmocka_unit_test(test_own_rows),
        cmocka_unit_test(test_too_many),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
