/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans of random graphs. Whether memory is shared rightly is found by following tags: every
 * instruction leaves the name of what it wrote in the memory it wrote to, and every operand must
 * still carry its own name when it is read. Nothing of the planner's lifetimes is used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "kernels/kern_exec.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 3, ROWS = 2 * TOKENS, COLS = 5, WEIGHTS = 6, MATRIX = 32, MAX_VALUES = 400 };
enum { PARAMS = WEIGHTS * MATRIX + 64 };

#define TEST_OK(call)                                                                              \
    do {                                                                                           \
        kern_error test_error_ = {0};                                                              \
        kern_error *test_err = &test_error_;                                                       \
        if ((call) != KERN_OK) {                                                                   \
            fail_msg("%s", test_error_.text);                                                      \
        }                                                                                          \
    } while (0)

/* ---- random graphs -------------------------------------------------------------------------- */

typedef struct sample {
    kern_graph *graph;
    kern_value inputs[3]; /* the last is read by a dead node only */
    kern_value seeds[2];  /* the last values, one number per row, and one in the middle */
    size_t dead;          /* node that nobody needs */
} sample;

typedef struct growth {
    kern_graph *graph;
    kern_rng *rng;
    kern_value pool[MAX_VALUES];
    size_t count;
} growth;

static kern_value weight(const growth *w, size_t rows)
{
    const size_t which = kern_rng_below(w->rng, WEIGHTS);
    return kern_graph_param(w->graph, which * MATRIX, (kern_shape){rows, COLS});
}

/* A recent value most of the time, and none of `others`. */
static kern_value pick(const growth *w, const kern_value *others, size_t n)
{
    for (;;) {
        const size_t reach = kern_rng_uniform(w->rng) < 0.7 && w->count > 4 ? 4 : w->count;
        const kern_value v = w->pool[w->count - 1 - kern_rng_below(w->rng, (uint32_t)reach)];
        bool used = false;
        for (size_t i = 0; i < n; i++) {
            used = used || others[i] == v;
        }
        if (!used) {
            return v;
        }
    }
}

static kern_value grow_linear(growth *w)
{
    const kern_attr attr = {.linear = {.plain = kern_rng_below(w->rng, 2) == 0, .alpha = 0.5}};
    kern_value in[4] = {pick(w, NULL, 0), weight(w, COLS), KERN_NO_VALUE, KERN_NO_VALUE};
    if (kern_rng_below(w->rng, 2) == 0) {
        in[3] = pick(w, in, 1);
    }
    return kern_graph_apply(w->graph, KERN_OP_LINEAR, &attr, in, NULL);
}

static kern_value grow_norm(growth *w)
{
    const kern_attr attr = {
        .norm = {.kind = (kern_norm_kind)kern_rng_below(w->rng, 2), .epsilon = 1e-3}};
    const kern_value in[3] = {pick(w, NULL, 0), weight(w, 1), KERN_NO_VALUE};
    kern_value out[KERN_MAX_OUT];
    (void)kern_graph_apply(w->graph, KERN_OP_NORM, &attr, in, out);
    if (kern_rng_below(w->rng, 4) == 0) {
        kern_graph_keep(w->graph, out[1]);
    }
    return out[0];
}

static kern_value grow_act(growth *w, kern_op_id op, size_t n_in, size_t result)
{
    const kern_attr attr = {.act = {.fn = (kern_fn)kern_rng_below(w->rng, KERN_FN_COUNT)}};
    kern_value in[2];
    kern_value out[KERN_MAX_OUT];
    for (size_t i = 0; i < n_in; i++) {
        in[i] = pick(w, in, i);
    }
    (void)kern_graph_apply(w->graph, op, &attr, in, out);
    return out[result];
}

static kern_value grow_attention(growth *w)
{
    const kern_attr attr = {.attention = {.tokens = TOKENS,
                                          .heads = 1,
                                          .strict = kern_rng_below(w->rng, 2) == 0,
                                          .beta = 0.5,
                                          .scale = 1.0}};
    kern_value in[3] = {pick(w, NULL, 0), KERN_NO_VALUE, KERN_NO_VALUE};
    in[1] = pick(w, in, 1);
    if (kern_rng_below(w->rng, 2) == 0) {
        in[2] = pick(w, in, 2);
    }
    return kern_graph_apply(w->graph, KERN_OP_ATTENTION, &attr, in, NULL);
}

static kern_value grow_affine(growth *w)
{
    const kern_attr attr = {.affine = {.scale = 0.5, .power = 1}};
    kern_value in[4] = {pick(w, NULL, 0), KERN_NO_VALUE, KERN_NO_VALUE, KERN_NO_VALUE};
    in[1] = pick(w, in, 1);
    return kern_graph_apply(w->graph, KERN_OP_AFFINE_ADD, &attr, in, NULL);
}

static kern_value grow(growth *w)
{
    switch (kern_rng_below(w->rng, 9)) {
    case 0:
    case 1:
        return grow_norm(w);
    case 2:
        return grow_act(w, KERN_OP_ACT, 1, 0);
    case 3:
        return grow_act(w, KERN_OP_ACT_PAIR, 2, 1);
    case 4:
        return grow_act(w, KERN_OP_ACT_GATE, 2, 0);
    case 5:
        return grow_attention(w);
    case 6:
        return grow_affine(w);
    default:
        return grow_linear(w);
    }
}

static kern_value finish(kern_graph *graph, kern_value x)
{
    const kern_attr attr = {.row = {.scale = 0.1}};
    const kern_value sum = kern_graph_apply(graph, KERN_OP_ROW_SUMSQ, &attr, &x, NULL);
    kern_graph_keep(graph, sum);
    return sum;
}

/* `n` nodes in segments of random length, half of them shared; some values are kept. */
static sample make_sample(uint64_t seed, size_t n)
{
    sample s = {0};
    growth w = {.rng = kern_rng_create(seed, "graph", n)};
    const kern_shape shape = {ROWS, COLS};
    assert_non_null(w.rng);
    TEST_OK(kern_graph_create(&s.graph, test_err));
    w.graph = s.graph;
    for (size_t i = 0; i < 3; i++) {
        s.inputs[i] = kern_graph_input(s.graph, shape);
    }
    w.pool[w.count++] = s.inputs[0];
    w.pool[w.count++] = s.inputs[1];
    w.pool[w.count++] = grow_norm(&w);
    for (size_t i = 0; i < n; i++) {
        if (kern_rng_below(w.rng, 4) == 0) {
            (i % 2 == 0 ? kern_graph_begin_segment : kern_graph_begin_shared_segment)(s.graph);
        }
        w.pool[w.count++] = grow(&w);
        if (kern_rng_below(w.rng, 8) == 0) {
            kern_graph_keep(s.graph, w.pool[w.count - 1]);
        }
    }
    kern_graph_end_segment(s.graph);
    s.seeds[0] = finish(s.graph, w.pool[w.count - 1]);
    s.seeds[1] = w.pool[3 + n / 2];
    kern_graph_keep(s.graph, s.seeds[1]);
    const kern_attr act = {.act = {.fn = KERN_FN_RELU}};
    s.dead = kern_graph_node_count(s.graph);
    (void)kern_graph_apply(s.graph, KERN_OP_ACT, &act, &s.inputs[2], NULL);
    TEST_OK(kern_graph_finish(s.graph, test_err));
    kern_rng_destroy(w.rng);
    return s;
}

static kern_plan *make_plan(const sample *s, kern_mode mode, bool recompute)
{
    const kern_plan_options options = {.mode = mode,
                                       .recompute = recompute,
                                       .params = true,
                                       .wrt = s->inputs,
                                       .n_wrt = mode == KERN_MODE_FORWARD ? 0 : 3,
                                       .seeds = s->seeds,
                                       .n_seeds = mode == KERN_MODE_VJP ? 2 : 0};
    kern_plan *plan = NULL;
    TEST_OK(kern_plan_create(&plan, s->graph, &options, test_err));
    return plan;
}

/* ---- following tags ------------------------------------------------------------------------- */

typedef struct follower {
    const kern_graph *graph;
    const kern_plan *plan;
    size_t *tags; /* by real of the buffer: 2·value for the value, 2·value + 1 for its derivative */
    size_t size;
    bool summed[2 * MAX_VALUES]; /* by value: its cotangent holds something */
} follower;

static size_t count_of(const follower *f, kern_value v)
{
    const kern_shape s = kern_graph_value_info(f->graph, v)->shape;
    return s.rows * s.cols;
}

static void put(follower *f, size_t offset, kern_value v, size_t derivative)
{
    if (offset == KERN_NO_SLOT) {
        return;
    }
    assert_int_equal(offset % 16, 0);
    assert_true(offset + count_of(f, v) <= f->size);
    for (size_t i = 0; i < count_of(f, v); i++) {
        f->tags[offset + i] = 2 * v + derivative;
    }
}

static void see(const follower *f, size_t offset, kern_value v, size_t derivative)
{
    for (size_t i = 0; offset != KERN_NO_SLOT && i < count_of(f, v); i++) {
        assert_int_equal(f->tags[offset + i], 2 * v + derivative);
    }
}

/* Required operands that are not parameters must have memory. */
static void see_inputs(const follower *f, const kern_instruction *x, const kern_node *node)
{
    const kern_op *op = kern_op_get(node->op);
    for (size_t i = 0; i < op->n_in; i++) {
        const kern_value v = node->in[i];
        const bool read = x->phase == KERN_PHASE_FORWARD || (op->reads_in >> i & 1U) != 0;
        if (v == KERN_NO_VALUE || !read) {
            assert_true(x->in[i] == KERN_NO_SLOT);
            continue;
        }
        if (kern_graph_value_info(f->graph, v)->role != KERN_ROLE_PARAM) {
            assert_true(x->in[i] != KERN_NO_SLOT);
        }
        see(f, x->in[i], v, 0);
    }
}

static void see_outputs(const follower *f, const kern_instruction *x, const kern_node *node)
{
    const kern_op *op = kern_op_get(node->op);
    for (size_t j = 0; j < op->n_out; j++) {
        if ((op->reads_out >> j & 1U) != 0) {
            assert_true(x->out[j] != KERN_NO_SLOT);
            see(f, x->out[j], node->out[j], 0);
        }
    }
}

static void follow_forward(follower *f, const kern_instruction *x, const kern_node *node)
{
    see_inputs(f, x, node);
    for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
        put(f, x->out[j], node->out[j], 0);
    }
    for (size_t j = 0; j < kern_op_get(node->op)->n_out; j++) {
        see(f, x->out[j], node->out[j], 0);
    }
}

static void follow_vjp(follower *f, const kern_instruction *x, const kern_node *node)
{
    const kern_op *op = kern_op_get(node->op);
    see_inputs(f, x, node);
    see_outputs(f, x, node);
    for (size_t j = 0; j < op->n_out; j++) {
        see(f, x->d_out[j], node->out[j], 1);
    }
    for (size_t i = 0; i < op->n_in; i++) {
        if (x->d_in[i] != KERN_NO_SLOT) {
            assert_int_equal(x->accumulate[i], f->summed[node->in[i]]);
            f->summed[node->in[i]] = true;
        }
        if (x->accumulate[i] && !x->param_d_in[i]) {
            see(f, x->d_in[i], node->in[i], 1);
        }
        if (x->param_d_in[i]) {
            assert_true(x->accumulate[i] && x->d_in[i] == KERN_NO_SLOT);
        }
    }
    for (size_t i = 0; i < op->n_in; i++) {
        put(f, x->d_in[i], node->in[i], 1);
    }
    for (size_t i = 0; i < op->n_in; i++) {
        see(f, x->d_in[i], node->in[i], 1);
    }
}

static void follow_jvp(follower *f, const kern_instruction *x, const kern_node *node)
{
    const kern_op *op = kern_op_get(node->op);
    see_inputs(f, x, node);
    see_outputs(f, x, node);
    for (size_t i = 0; i < op->n_in; i++) {
        see(f, x->d_in[i], node->in[i], 1);
    }
    for (size_t j = 0; j < op->n_out; j++) {
        put(f, x->d_out[j], node->out[j], 1);
    }
}

static void put_all(follower *f, bool seeds, const sample *s)
{
    for (size_t i = 0; seeds && i < 2; i++) {
        put(f, kern_plan_derivative_offset(f->plan, s->seeds[i]), s->seeds[i], 1);
        f->summed[s->seeds[i]] = true;
    }
    for (size_t i = 0; !seeds && i < 3; i++) {
        put(f, kern_plan_value_offset(f->plan, s->inputs[i]), s->inputs[i], 0);
        put(f, kern_plan_derivative_offset(f->plan, s->inputs[i]), s->inputs[i], 1);
    }
}

static void follow(const sample *s, const kern_plan *plan)
{
    size_t count;
    const kern_instruction *list = kern_plan_instructions(plan, &count);
    follower f = {.graph = s->graph, .plan = plan, .size = kern_plan_buffer_size(plan)};
    f.tags = malloc((f.size + 1) * sizeof *f.tags);
    assert_non_null(f.tags);
    memset(f.tags, 0xff, (f.size + 1) * sizeof *f.tags);
    put_all(&f, false, s);
    const size_t first = kern_plan_forward_count(plan);
    const bool twice = kern_plan_mode(plan) == KERN_MODE_JVP; /* tangents may run again */
    for (size_t k = 0; k < count + (twice ? count - first : 0); k++) {
        const kern_instruction *x = &list[k < count ? k : k - count + first];
        const kern_node *node = kern_graph_node(s->graph, x->node);
        assert_true(x->node != s->dead);
        if (k == first && !twice) {
            put_all(&f, true, s);
        }
        switch (x->phase) {
        case KERN_PHASE_FORWARD:
            follow_forward(&f, x, node);
            break;
        case KERN_PHASE_VJP:
            follow_vjp(&f, x, node);
            break;
        case KERN_PHASE_JVP:
            follow_jvp(&f, x, node);
            break;
        }
    }
    for (kern_value v = 0; v < kern_graph_value_count(s->graph); v++) {
        const kern_value_info *info = kern_graph_value_info(s->graph, v);
        if (info->kept) {
            assert_true(kern_plan_value_offset(plan, v) != KERN_NO_SLOT);
            see(&f, kern_plan_value_offset(plan, v), v, 0);
        }
        if (info->role == KERN_ROLE_INPUT ||
            (info->kept && kern_plan_mode(plan) == KERN_MODE_JVP)) {
            see(&f, kern_plan_derivative_offset(plan, v), v, 1);
        }
    }
    free(f.tags);
}

static void test_memory_is_never_shared_by_what_lives_together(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const sample s = make_sample(seed, 5 + (size_t)seed % 40);
        for (size_t k = 0; k < 4; k++) {
            kern_plan *plan = make_plan(&s, k == 3 ? KERN_MODE_VJP : (kern_mode)k, k == 3);
            follow(&s, plan);
            kern_plan_destroy(plan);
        }
        kern_graph_destroy(s.graph);
    }
}

/* ---- numbers -------------------------------------------------------------------------------- */

typedef struct numbers {
    double params[PARAMS];
    double gradients[PARAMS];
    double inputs[3][ROWS * COLS];
    double *kept; /* all kept values, one after the other */
    size_t n_kept;
    double cotangents[3][ROWS * COLS];
    double tangents[ROWS * (COLS + 1)]; /* of the seeds */
    double product;                     /* ⟨J v, w⟩ (JVP) or ⟨v, Jᵀ w⟩ (VJP) */
    double size;                        /* sum of the sizes of its terms */
} numbers;

static void fill(double *x, size_t n, uint64_t seed)
{
    kern_rng *rng = kern_rng_create(seed, "numbers", n);
    assert_non_null(rng);
    for (size_t i = 0; i < n; i++) {
        x[i] = 0.5 * kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
}

/* NaN wherever nothing has been written yet, except in the derivatives of inputs. */
static void spoil(const sample *s, const kern_plan *plan, kern_exec *exec)
{
    double *base =
        (double *)kern_exec_value(exec, s->inputs[0]) - kern_plan_value_offset(plan, s->inputs[0]);
    double saved[3][ROWS * COLS];
    for (size_t i = 0; i < 3; i++) {
        const double *d = kern_exec_derivative(exec, s->inputs[i]);
        if (d != NULL) {
            memcpy(saved[i], d, sizeof saved[i]);
        }
    }
    for (size_t i = 0; i < kern_plan_buffer_size(plan); i++) {
        base[i] = (double)NAN;
    }
    for (size_t i = 0; i < 3; i++) {
        double *d = kern_exec_derivative(exec, s->inputs[i]);
        if (d != NULL) {
            memcpy(d, saved[i], sizeof saved[i]);
        }
    }
}

static void collect(const sample *s, const kern_exec *exec, numbers *n)
{
    n->kept = malloc(MAX_VALUES * ROWS * COLS * sizeof *n->kept);
    assert_non_null(n->kept);
    for (kern_value v = 0; v < kern_graph_value_count(s->graph); v++) {
        const kern_value_info *info = kern_graph_value_info(s->graph, v);
        if (info->kept) {
            const size_t count = info->shape.rows * info->shape.cols;
            memcpy(n->kept + n->n_kept, kern_exec_value(exec, v), count * sizeof *n->kept);
            n->n_kept += count;
        }
    }
}

static void load_inputs(const sample *s, kern_exec *exec, const numbers *n, bool tangents)
{
    for (size_t i = 0; i < 3; i++) {
        memcpy(kern_exec_value(exec, s->inputs[i]), n->inputs[i], sizeof n->inputs[i]);
        if (tangents) {
            memcpy(kern_exec_derivative(exec, s->inputs[i]), n->inputs[2 - i], sizeof n->inputs[i]);
        }
    }
}

/* Adds a scalar product. */
static void multiply(numbers *n, const double *a, const double *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        n->product += a[i] * b[i];
        n->size += fabs(a[i] * b[i]);
    }
}

/* Runs a plan of the sample, on packed or bare weights; release n->kept with free(). */
static void run_plan(const sample *s, const kern_plan *plan, bool nan_first, bool packed,
                     numbers *n)
{
    const kern_mode mode = kern_plan_mode(plan);
    kern_exec *exec = NULL;
    double tangents[PARAMS];
    double *copies =
        aligned_alloc(64, (kern_graph_pack_count(s->graph) * sizeof(double) + 127) / 64 * 64);
    assert_non_null(copies);
    *n = (numbers){0};
    fill(n->params, PARAMS, 1);
    fill(tangents, PARAMS, 2);
    for (size_t i = 0; i < 3; i++) {
        fill(n->inputs[i], ROWS * COLS, 3 + i);
    }
    TEST_OK(kern_exec_create(&exec, plan, &kern_backend_cpu_f64, 1, test_err));
    if (nan_first) {
        spoil(s, plan, exec);
    }
    kern_graph_pack(s->graph, &kern_backend_cpu_f64, copies, n->params, 1);
    const kern_run run = {.params = n->params,
                          .packed = packed ? copies : NULL,
                          .param_gradients = n->gradients,
                          .param_tangents = tangents};
    load_inputs(s, exec, n, mode == KERN_MODE_JVP);
    kern_exec_forward(exec, &run);
    if (mode == KERN_MODE_VJP) {
        for (size_t i = 0; i < 2; i++) {
            const kern_shape shape = kern_graph_value_info(s->graph, s->seeds[i])->shape;
            fill(kern_exec_derivative(exec, s->seeds[i]), shape.rows * shape.cols, 8 + i);
        }
        kern_exec_backward(exec, &run);
        for (size_t i = 0; i < 3; i++) {
            memcpy(n->cotangents[i], kern_exec_derivative(exec, s->inputs[i]),
                   sizeof n->cotangents[i]);
            multiply(n, n->cotangents[i], n->inputs[2 - i], ROWS * COLS);
        }
        multiply(n, n->gradients, tangents, PARAMS);
    }
    if (mode == KERN_MODE_JVP) {
        double seeds[ROWS * COLS];
        kern_exec_tangents(exec, &run, 1);
        memcpy(n->tangents, kern_exec_derivative(exec, s->seeds[0]), ROWS * sizeof *seeds);
        memcpy(n->tangents + ROWS, kern_exec_derivative(exec, s->seeds[1]), sizeof seeds);
        fill(seeds, ROWS, 8);
        multiply(n, n->tangents, seeds, ROWS);
        fill(seeds, ROWS * COLS, 9);
        multiply(n, n->tangents + ROWS, seeds, ROWS * COLS);
    }
    collect(s, exec, n);
    kern_exec_destroy(exec);
    free(copies);
}

static void assert_same(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(isfinite(a[i]));
    }
    assert_memory_equal(a, b, n * sizeof *a);
}

/* Plans of every mode, with and without recomputing, in fresh and in spoilt memory. */
static void check_numbers(uint64_t seed)
{
    const sample s = make_sample(seed, 5 + (size_t)seed % 30);
    numbers first = {0};
    numbers tangent = {0};
    for (size_t k = 0; k < 8; k++) {
        const kern_mode mode = k / 2 == 3 ? KERN_MODE_VJP : (kern_mode)(k / 2);
        kern_plan *plan = make_plan(&s, mode, k / 2 == 3);
        numbers n;
        run_plan(&s, plan, k % 2 == 1, true, &n);
        assert_int_equal(n.n_kept, k == 0 ? n.n_kept : first.n_kept);
        if (k == 0) {
            first = n;
        }
        assert_same(n.kept, first.kept, n.n_kept);
        if (k == 2) {
            memcpy(first.gradients, n.gradients, sizeof n.gradients);
            memcpy(first.cotangents, n.cotangents, sizeof n.cotangents);
            first.product = n.product;
            first.size = n.size;
        }
        if (mode == KERN_MODE_VJP) {
            assert_same(n.gradients, first.gradients, PARAMS);
            assert_same(n.cotangents[0], first.cotangents[0], 3 * ROWS * COLS);
            for (size_t i = 0; i < ROWS * COLS; i++) {
                assert_true(n.cotangents[2][i] == 0.0);
            }
        }
        if (k == 4) {
            tangent = n;
        }
        if (mode == KERN_MODE_JVP) {
            assert_same(n.tangents, tangent.tangents, ROWS * (COLS + 1));
            assert_true(fabs(n.product - first.product) <= 1e-12 * (n.size + first.size));
        }
        if (k != 0) {
            free(n.kept);
        }
        kern_plan_destroy(plan);
    }
    free(first.kept);
    kern_graph_destroy(s.graph);
}

static void test_numbers_do_not_depend_on_the_plan(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 160; seed++) {
        check_numbers(seed);
    }
}

/* ---- in place, recompute -------------------------------------------------------------------- */

/* norm, linear, activation, linear and residual per layer, one segment each. */
static sample make_chain(size_t layers)
{
    sample s = {0};
    TEST_OK(kern_graph_create(&s.graph, test_err));
    const kern_shape shape = {ROWS, COLS};
    const kern_value w = kern_graph_param(s.graph, 0, (kern_shape){COLS, COLS});
    const kern_attr norm = {.norm = {.epsilon = 1e-5}};
    const kern_attr linear = {.linear = {.alpha = 1.0}};
    const kern_attr act = {.act = {.fn = KERN_FN_GELU}};
    for (size_t i = 0; i < 3; i++) {
        s.inputs[i] = kern_graph_input(s.graph, shape);
    }
    kern_value x = s.inputs[0];
    for (size_t l = 0; l < layers; l++) {
        kern_graph_begin_segment(s.graph);
        const kern_value n[] = {x, KERN_NO_VALUE, KERN_NO_VALUE};
        const kern_value g = kern_graph_apply(s.graph, KERN_OP_NORM, &norm, n, NULL);
        const kern_value up[] = {g, w, KERN_NO_VALUE, KERN_NO_VALUE};
        const kern_value z = kern_graph_apply(s.graph, KERN_OP_LINEAR, &linear, up, NULL);
        const kern_value a = kern_graph_apply(s.graph, KERN_OP_ACT, &act, &z, NULL);
        const kern_value down[] = {a, w, KERN_NO_VALUE, x};
        x = kern_graph_apply(s.graph, KERN_OP_LINEAR, &linear, down, NULL);
    }
    kern_graph_end_segment(s.graph);
    s.seeds[0] = finish(s.graph, x);
    s.seeds[1] = s.seeds[0];
    s.dead = SIZE_MAX;
    TEST_OK(kern_graph_finish(s.graph, test_err));
    return s;
}

static void test_results_take_the_place_of_what_they_consume(void **state)
{
    (void)state;
    const sample s = make_chain(2);
    kern_plan *plan = make_plan(&s, KERN_MODE_FORWARD, false);
    size_t count;
    const kern_instruction *x = kern_plan_instructions(plan, &count);
    assert_int_equal(count, 9);
    assert_true(x[2].in[0] == x[2].out[0]);   /* the activation */
    assert_true(x[3].in[3] != x[3].out[0]);   /* the input survives */
    assert_true(x[7].in[3] == x[7].out[0]);   /* the second residual does not */
    assert_true(x[4].in[0] != x[4].out[0]);   /* x is read again after its norm */
    assert_true(x[0].out[1] == KERN_NO_SLOT); /* nobody reads σ */
    kern_plan_destroy(plan);
    plan = make_plan(&s, KERN_MODE_VJP, false);
    x = kern_plan_instructions(plan, &count);
    assert_int_equal(count, 18);
    assert_int_equal(kern_plan_forward_count(plan), 9);
    for (size_t k = 9; k < count; k++) {
        if (kern_graph_node(s.graph, x[k].node)->op == KERN_OP_ACT) {
            assert_true(x[k].d_in[0] == x[k].d_out[0]);
        }
    }
    kern_plan_destroy(plan);
    kern_graph_destroy(s.graph);
}

/* All layers' activations against one layer's and every layer's input. */
static void test_recomputing_saves_memory(void **state)
{
    (void)state;
    const sample s = make_chain(20);
    kern_plan *plain = make_plan(&s, KERN_MODE_VJP, false);
    kern_plan *thrifty = make_plan(&s, KERN_MODE_VJP, true);
    size_t before;
    size_t after;
    (void)kern_plan_instructions(plain, &before);
    (void)kern_plan_instructions(thrifty, &after);
    assert_true(kern_plan_buffer_size(thrifty) * 2 < kern_plan_buffer_size(plain));
    /* Every layer runs again but for its last product, which nothing reads back. */
    assert_int_equal(after, before + 20 * 3);
    numbers a;
    numbers b;
    run_plan(&s, plain, true, false, &a);
    run_plan(&s, thrifty, true, false, &b);
    assert_same(a.gradients, b.gradients, PARAMS);
    assert_same(a.cotangents[0], b.cotangents[0], ROWS * COLS);
    free(a.kept);
    free(b.kept);
    kern_plan_destroy(plain);
    kern_plan_destroy(thrifty);
    kern_graph_destroy(s.graph);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void refuse(const kern_graph *graph, kern_plan_options options, kern_status status,
                   const char *part)
{
    kern_plan *plan = (kern_plan *)&options;
    kern_error err = {0};
    assert_int_equal(kern_plan_create(&plan, graph, &options, &err), status);
    assert_null(plan);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const sample s = make_chain(1);
    kern_value v = s.inputs[0];
    kern_plan_options o = {.mode = KERN_MODE_VJP, .seeds = &v, .n_seeds = 1};
    refuse(s.graph, o, KERN_INVALID_ARGUMENT, "a seed must be a kept result");
    v = s.seeds[0] - 1; /* a result that is not kept */
    refuse(s.graph, o, KERN_INVALID_ARGUMENT, "a seed must be a kept result");
    v = KERN_NO_VALUE;
    refuse(s.graph, o, KERN_INVALID_ARGUMENT, "a seed must be a kept result");
    o = (kern_plan_options){.mode = KERN_MODE_JVP, .wrt = &v, .n_wrt = 1};
    refuse(s.graph, o, KERN_INVALID_ARGUMENT, "inputs of the graph");
    v = s.seeds[0];
    refuse(s.graph, o, KERN_INVALID_ARGUMENT, "inputs of the graph");
    kern_plan_destroy(NULL);
    kern_graph_destroy(s.graph);
}

static void test_a_failed_graph_is_not_planned(void **state)
{
    (void)state;
    kern_graph *graph = NULL;
    TEST_OK(kern_graph_create(&graph, test_err));
    (void)kern_graph_input(graph, (kern_shape){SIZE_MAX, 2});
    refuse(graph, (kern_plan_options){.mode = KERN_MODE_FORWARD}, KERN_OVERFLOW, "too large");
    kern_graph_destroy(graph);
}

/* Each of them may be addressed, but not all together. */
static void test_a_plan_larger_than_memory_is_refused(void **state)
{
    (void)state;
    kern_graph *graph = NULL;
    TEST_OK(kern_graph_create(&graph, test_err));
    for (size_t i = 0; i < 40; i++) {
        (void)kern_graph_input(graph, (kern_shape){(size_t)1 << 40, (size_t)1 << 19});
    }
    refuse(graph, (kern_plan_options){.mode = KERN_MODE_FORWARD}, KERN_OVERFLOW, "addressed");
    kern_graph_destroy(graph);
}

static void test_seeds_and_inputs_may_be_named_twice(void **state)
{
    (void)state;
    const sample s = make_chain(1);
    const kern_value inputs[] = {s.inputs[0], s.inputs[0]};
    const kern_plan_options options = {
        .mode = KERN_MODE_VJP, .wrt = inputs, .n_wrt = 2, .seeds = s.seeds, .n_seeds = 2};
    kern_plan *plan = NULL;
    TEST_OK(kern_plan_create(&plan, s.graph, &options, test_err));
    follow(&s, plan);
    kern_exec *exec = NULL;
    kern_error err = {0};
    assert_int_equal(kern_exec_create(&exec, plan, &kern_backend_cpu_f64, 0, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "0 workers"));
    assert_null(exec);
    kern_exec_destroy(exec);
    kern_plan_destroy(plan);
    kern_graph_destroy(s.graph);
}

/* A run with a profile counts every instruction once. */
static void test_profile_counts_calls(void **state)
{
    (void)state;
    const sample s = make_chain(3);
    kern_plan *plan = make_plan(&s, KERN_MODE_VJP, true);
    kern_exec *exec = NULL;
    kern_profile profile = {0};
    double params[PARAMS];
    double gradients[PARAMS] = {0};
    fill(params, PARAMS, 1);
    TEST_OK(kern_exec_create(&exec, plan, &kern_backend_cpu_f64, 2, test_err));
    memset(kern_exec_value(exec, s.inputs[0]), 0, ROWS * COLS * sizeof(double));
    memset(kern_exec_derivative(exec, s.seeds[0]), 0, ROWS * sizeof(double));
    const kern_run run = {.params = params, .param_gradients = gradients, .profile = &profile};
    kern_exec_forward(exec, &run);
    memset(kern_exec_derivative(exec, s.seeds[0]), 0, ROWS * sizeof(double));
    kern_exec_backward(exec, &run);
    assert_int_equal(profile.calls[KERN_OP_NORM][KERN_PHASE_FORWARD], 6);
    assert_int_equal(profile.calls[KERN_OP_LINEAR][KERN_PHASE_FORWARD], 9);
    assert_int_equal(profile.calls[KERN_OP_LINEAR][KERN_PHASE_VJP], 6);
    assert_int_equal(profile.calls[KERN_OP_LINEAR][KERN_PHASE_JVP], 0);
    assert_true(profile.seconds[KERN_OP_NORM][KERN_PHASE_VJP] >= 0.0);
    kern_exec_destroy(exec);
    kern_plan_destroy(plan);
    kern_graph_destroy(s.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_never_shared_by_what_lives_together),
        cmocka_unit_test(test_numbers_do_not_depend_on_the_plan),
        cmocka_unit_test(test_results_take_the_place_of_what_they_consume),
        cmocka_unit_test(test_recomputing_saves_memory),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_a_failed_graph_is_not_planned),
        cmocka_unit_test(test_a_plan_larger_than_memory_is_refused),
        cmocka_unit_test(test_seeds_and_inputs_may_be_named_twice),
        cmocka_unit_test(test_profile_counts_calls),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
