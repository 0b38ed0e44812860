/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans that compute activations again, of a recursion whose steps share a history: what is kept,
 * what runs again, and that the numbers are those of a plan that keeps all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_exec.h"
#include "kernels/kern_graph.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 16, REALS = SIDE * SIDE, WEIGHTS = 2 * REALS };

/* x ← x + (silu(W₂ n(x)) ⊙ g) W₂ with g = W₁ n(x⁽⁰⁾): the shape of a CEM sub-layer. */
typedef struct recursion {
    kern_graph *graph;
    kern_value input;
    kern_value output;
    size_t history[2]; /* nodes of the norm and of g */
} recursion;

static void assert_done(kern_status status, const kern_error *err)
{
    if (status != KERN_OK) {
        fail_msg("%s", err->text);
    }
}

static kern_value normalise(kern_graph *graph, kern_value x)
{
    const kern_attr attr = {.norm = {.kind = KERN_RMSNORM, .epsilon = 1e-5}};
    const kern_value in[] = {x, KERN_NO_VALUE, KERN_NO_VALUE};
    return kern_graph_apply(graph, KERN_OP_NORM, &attr, in, NULL);
}

static kern_value multiply(kern_graph *graph, kern_value x, kern_value w, bool plain, kern_value c)
{
    const kern_attr attr = {.linear = {.plain = plain, .alpha = 1.0}};
    const kern_value in[] = {x, w, KERN_NO_VALUE, c};
    return kern_graph_apply(graph, KERN_OP_LINEAR, &attr, in, NULL);
}

static recursion make_recursion(size_t steps)
{
    kern_error err = {0};
    recursion r = {0};
    const kern_shape square = {SIDE, SIDE};
    const kern_attr gate = {.act = {.fn = KERN_FN_SILU_INTEGRAL}};
    assert_done(kern_graph_create(&r.graph, &err), &err);
    r.input = kern_graph_input(r.graph, square);
    const kern_value w1 = kern_graph_param(r.graph, 0, square);
    const kern_value w2 = kern_graph_param(r.graph, REALS, square);
    kern_graph_begin_shared_segment(r.graph);
    const kern_value c = normalise(r.graph, r.input);
    const kern_value g = multiply(r.graph, c, w1, false, KERN_NO_VALUE);
    r.history[0] = kern_graph_value_info(r.graph, c)->node;
    r.history[1] = kern_graph_value_info(r.graph, g)->node;
    kern_value x = r.input;
    for (size_t t = 0; t < steps; t++) {
        kern_graph_begin_segment(r.graph);
        const kern_value u = t == 0 ? c : normalise(r.graph, x);
        const kern_value z = multiply(r.graph, u, w2, false, KERN_NO_VALUE);
        const kern_value pair[] = {z, g};
        const kern_value f = kern_graph_apply(r.graph, KERN_OP_ACT_GATE, &gate, pair, NULL);
        x = multiply(r.graph, f, w2, true, x);
    }
    kern_graph_end_segment(r.graph);
    kern_graph_keep(r.graph, x);
    r.output = x;
    assert_done(kern_graph_finish(r.graph, &err), &err);
    return r;
}

static kern_plan *make_plan(const recursion *r, bool recompute)
{
    kern_error err = {0};
    kern_plan *plan = NULL;
    const kern_plan_options options = {.mode = KERN_MODE_VJP,
                                       .recompute = recompute,
                                       .params = true,
                                       .wrt = &r->input,
                                       .n_wrt = 1,
                                       .seeds = &r->output,
                                       .n_seeds = 1};
    assert_done(kern_plan_create(&plan, r->graph, &options, &err), &err);
    return plan;
}

/* How often a node runs forward after the forward pass. */
static size_t runs_again(const kern_plan *plan, size_t node)
{
    size_t count;
    size_t again = 0;
    const kern_instruction *x = kern_plan_instructions(plan, &count);
    for (size_t k = kern_plan_forward_count(plan); k < count; k++) {
        again += x[k].node == node && x[k].phase == KERN_PHASE_FORWARD;
    }
    return again;
}

static void test_history_runs_again_once(void **state)
{
    (void)state;
    for (size_t steps = 1; steps < 6; steps++) {
        const recursion r = make_recursion(steps);
        kern_plan *thrifty = make_plan(&r, true);
        kern_plan *plain = make_plan(&r, false);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(runs_again(thrifty, r.history[i]), 1);
            assert_int_equal(runs_again(plain, r.history[i]), 0);
        }
        kern_plan_destroy(plain);
        kern_plan_destroy(thrifty);
        kern_graph_destroy(r.graph);
    }
}

/* The input, its cotangent, and the states after it: nothing of the history, nothing else of a
 * step. */
static void test_a_step_keeps_its_state(void **state)
{
    (void)state;
    for (size_t steps = 1; steps < 6; steps++) {
        const recursion r = make_recursion(steps);
        kern_plan *thrifty = make_plan(&r, true);
        kern_plan *plain = make_plan(&r, false);
        assert_int_equal(kern_plan_kept_size(thrifty), (2 + steps) * REALS);
        assert_true(kern_plan_kept_size(plain) >= (2 + steps + 4 * steps) * REALS);
        assert_true(kern_plan_kept_size(plain) <= kern_plan_buffer_size(plain));
        kern_plan_destroy(plain);
        kern_plan_destroy(thrifty);
        kern_graph_destroy(r.graph);
    }
}

/* Cotangents of the input and of the weights, one behind the other. */
static void derive(const recursion *r, const kern_plan *plan, double *out)
{
    kern_error err = {0};
    kern_exec *exec = NULL;
    double weights[WEIGHTS];
    memset(out, 0, (REALS + WEIGHTS) * sizeof *out);
    for (size_t i = 0; i < WEIGHTS; i++) {
        weights[i] = (double)(i * 7 % 23) / 40.0 - 0.25;
    }
    assert_done(kern_exec_create(&exec, plan, &kern_backend_cpu_f64, 1, &err), &err);
    const kern_run run = {.params = weights, .param_gradients = out + REALS};
    double *x = kern_exec_value(exec, r->input);
    for (size_t i = 0; i < REALS; i++) {
        x[i] = (double)(i * 5 % 17) / 8.0 - 1.0;
    }
    kern_exec_forward(exec, &run);
    double *seed = kern_exec_derivative(exec, r->output);
    for (size_t i = 0; i < REALS; i++) {
        seed[i] = (double)(i % 5) - 2.0;
    }
    kern_exec_backward(exec, &run);
    memcpy(out, kern_exec_derivative(exec, r->input), REALS * sizeof *out);
    kern_exec_destroy(exec);
}

static void test_numbers_are_those_of_a_plan_that_keeps_all(void **state)
{
    (void)state;
    double found[REALS + WEIGHTS];
    double expected[REALS + WEIGHTS];
    for (size_t steps = 1; steps < 5; steps++) {
        const recursion r = make_recursion(steps);
        kern_plan *thrifty = make_plan(&r, true);
        kern_plan *plain = make_plan(&r, false);
        derive(&r, thrifty, found);
        derive(&r, plain, expected);
        assert_memory_equal(found, expected, sizeof found);
        assert_true(found[3] != 0.0);
        kern_plan_destroy(plain);
        kern_plan_destroy(thrifty);
        kern_graph_destroy(r.graph);
    }
}

/* Operations of a node are those of its product; the graph's are the sum. */
static void test_operations_of_nodes(void **state)
{
    (void)state;
    const recursion r = make_recursion(2);
    double total = 0;
    for (size_t i = 0; i < kern_graph_node_count(r.graph); i++) {
        total += kern_graph_node_flops(r.graph, i);
    }
    assert_true(kern_graph_node_flops(r.graph, r.history[0]) == 0.0);
    assert_true(kern_graph_node_flops(r.graph, r.history[1]) == 2.0 * SIDE * REALS);
    assert_true(total == kern_graph_flops(r.graph));
    assert_true(total == 5 * 2.0 * SIDE * REALS);
    kern_graph_destroy(r.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_history_runs_again_once),
        cmocka_unit_test(test_a_step_keeps_its_state),
        cmocka_unit_test(test_numbers_are_those_of_a_plan_that_keeps_all),
        cmocka_unit_test(test_operations_of_nodes),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
