/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CEM sub-layers against numbers worked out by independent code (sine vectors), against the tied
 * sub-layers of a Llama that one step must be, and against what is proved of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_positive.h"
#include "tests/models/model_test_sines.h"

/* ---- sine vectors --------------------------------------------------------------------------- */

/* The numbers have twelve decimals. */
#define GOLDEN 1e-11

enum { D = 4, J = 3 };

static model_config sine_config(void)
{
    model_config c = model_config_default(MODEL_CEM);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = 3;
    c.block_size = J;
    c.n_layer = 1;
    c.n_hidden = 5;
    c.cem.p_rank = 1;
    c.cem.precond = MODEL_PRECOND_DLR;
    return c;
}

static model *sine_model(const model_config *c)
{
    model *m = NULL;
    TEST_OK(model_create(&m, c, &kern_backend_cpu_f64, test_err));
    test_sines(m, "layers.0.attn.wq", 0, 1, 1);
    test_sines(m, "layers.0.attn.wk", 0, 1, 2);
    test_sines(m, "layers.0.mlp.wu", 0, 1, 5);
    test_sines(m, "layers.0.mlp.wg", 0, 1, 6);
    test_sines(m, "layers.0.norm1", 1, 0.5, 10);
    if (c->cem.diag != MODEL_DIAG_NONE) {
        test_sines(m, "layers.0.attn.diag", 0, 0.3, 4);
    }
    if (c->cem.precond == MODEL_PRECOND_DLR) {
        test_sines(m, "layers.0.attn.p_delta", 0, 1, 7);
        test_sines(m, "layers.0.attn.p_u", 0, 0.5, 8);
        test_sines(m, "layers.0.attn.p_v", 0, 0.5, 9);
    }
    return m;
}

static void sine_rows(double *h)
{
    for (size_t n = 0; n < (size_t)J * D; n++) {
        h[n] = sin(3 + (double)n);
    }
}

typedef struct golden_row {
    model_diag diag;
    model_rope rope;
    bool normed;
    double energy;
    double force[D];
} golden_row;

/* Energy and negative gradient at the third position, h itself being what the energy sees. */
static const golden_row interaction_rows[] = {
    {MODEL_DIAG_NONE,
     MODEL_ROPE_NONE,
     false,
     -8.145891735974,
     {-2.812620558754, -3.061695225664, -0.495861421829, 2.525865086453}},
    {MODEL_DIAG_SHARED,
     MODEL_ROPE_NONE,
     false,
     -8.003695079650,
     {-2.513989986495, -2.645151262346, -0.275998935393, 2.791433749872}},
    {MODEL_DIAG_NONE,
     MODEL_ROPE_EXACT,
     false,
     -8.644296591486,
     {-2.963709266970, -3.933720979904, -1.287087765198, 2.542888005122}},
    {MODEL_DIAG_SHARED,
     MODEL_ROPE_EXACT,
     false,
     -8.408800817223,
     {-2.676569243596, -3.562697948287, -1.256410692661, 2.751591116376}},
    {MODEL_DIAG_SHARED,
     MODEL_ROPE_EXACT,
     true,
     -10.779873269266,
     {-3.379486724146, -4.778550297973, -1.731091098480, 3.552405452969}},
};

static void check_energy(const model *m, const model_cem_energy *energy, bool normed, double value,
                         const double force[D])
{
    double h[J * D];
    test_part p;
    sine_rows(h);
    test_part_begin(&p, m, J);
    const kern_value u = normed ? model_layer_norm(&p.b, 0, energy->norm, p.input) : p.input;
    const model_cem_history history = energy->history(&p.b, 0, u);
    const model_cem_force f = energy->force(&p.b, 0, &history, u);
    const kern_value e = test_part_keep(&p, f.energy);
    const kern_value g = test_part_keep(&p, model_cem_force_value(&p.b, &f));
    test_part_run(&p, h);
    assert_true(fabs(test_part_value(&p, e)[2] - value) <= GOLDEN);
    assert_true(test_distance(test_part_value(&p, g) + 2 * D, force, D) <= GOLDEN);
    test_part_end(&p);
}

static void test_interaction_energy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof interaction_rows / sizeof *interaction_rows; i++) {
        const golden_row *row = &interaction_rows[i];
        model_config c = sine_config();
        c.cem.diag = row->diag;
        c.rope = row->rope;
        model *m = sine_model(&c);
        check_energy(m, &model_cem_interaction, row->normed, row->energy, row->force);
        model_destroy(m);
    }
}

static void test_elementwise_energy(void **state)
{
    static const struct {
        model_mlp form;
        double energy;
        double force[D];
    } rows[] = {{MODEL_MLP_A,
                 -5.697418062276,
                 {-5.267845572474, -2.633768973200, 2.421782673786, 5.250758499117}},
                {MODEL_MLP_B,
                 -6.295841021348,
                 {-5.137248111583, -2.430960040942, 2.510341480395, 5.143646621689}}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        model_config c = sine_config();
        c.cem.mlp = rows[i].form;
        model *m = sine_model(&c);
        check_energy(m, &model_cem_elementwise, false, rows[i].energy, rows[i].force);
        model_destroy(m);
    }
}

/* Takes `steps` steps of the attention sub-layer from the sine rows; `x` and `energies` receive the
 * third position's state at the end and its energies on the way. */
static void run_steps(const model *m, size_t steps, double *x, double *energies)
{
    double h[J * D];
    kern_value values[8];
    test_part p;
    sine_rows(h);
    test_part_begin(&p, m, J);
    model_cem_descent d = model_cem_begin(&p.b, 0, &model_cem_interaction, p.input);
    kern_value at = d.start;
    for (size_t t = 0; t <= steps; t++) {
        const kern_value next = model_cem_step(&d, at, t == 0, &values[t]);
        (void)test_part_keep(&p, values[t]);
        at = t < steps ? next : at;
    }
    (void)test_part_keep(&p, at);
    test_part_run(&p, h);
    memcpy(x, test_part_value(&p, at) + 2 * D, D * sizeof *x);
    for (size_t t = 0; energies != NULL && t <= steps; t++) {
        energies[t] = test_part_value(&p, values[t])[2];
    }
    test_part_end(&p);
}

/* x^(1) − x under η = 1: the preconditioned force, and the gradient through the norm. */
static void test_steps(void **state)
{
    static const double through_norm[D] = {0.758766988261, -0.960205948381, -3.260668888772,
                                           1.629021659279};
    static const double preconditioned[D] = {-4.192908408375, -5.054420978301, 0.247411533736,
                                             2.430803969556};
    static const double second[D] = {-9.179674586357, -11.213119981087, 0.331309972589,
                                     5.668203271572};
    static const double energies[] = {-10.779873269266, -10.909653783519, -10.870558077245};
    double h[J * D];
    double x[D];
    double found[3];
    (void)state;
    sine_rows(h);
    model_config c = sine_config();
    model *m = sine_model(&c);
    run_steps(m, 1, x, NULL);
    for (size_t i = 0; i < D; i++) {
        assert_true(fabs(x[i] - h[2 * D + i] - preconditioned[i]) <= GOLDEN);
    }
    run_steps(m, 2, x, found);
    assert_true(test_distance(x, second, D) <= GOLDEN);
    assert_true(test_distance(found, energies, 3) <= GOLDEN);
    assert_true(found[2] >
                found[1]); /* a positive definite P does not make a norm's step descend */
    model_destroy(m);
    c.cem.precond = MODEL_PRECOND_NONE;
    c.cem.norm = MODEL_PLACE_EXACT;
    m = sine_model(&c);
    run_steps(m, 1, x, NULL);
    for (size_t i = 0; i < D; i++) {
        assert_true(fabs(x[i] - h[2 * D + i] - through_norm[i]) <= GOLDEN);
    }
    model_destroy(m);
}

/* ---- preconditioners ------------------------------------------------------------------------ */

static void test_smallest_eigenvalue(void **state)
{
    double smallest;
    model_positive found;
    kern_error err = {0};
    (void)state;
    const model_config c = sine_config();
    model *m = sine_model(&c);
    TEST_OK(model_positive_smallest(m, "layers.0.attn", &smallest, test_err));
    assert_true(fabs(smallest - 0.543019174719) <= GOLDEN);
    assert_int_equal(model_positive_smallest(m, "layers.1.attn", &smallest, &err), KERN_NOT_FOUND);
    /* The one of the feed-forward part is all zeros but δ = 0. */
    TEST_OK(model_positive_smallest(m, "layers.0.mlp", &smallest, test_err));
    assert_true(fabs(smallest - log(2.0)) <= 1e-12);
    TEST_OK(model_positive_check(m, &found, test_err));
    assert_int_equal(found.checked, 2);
    assert_int_equal(found.indefinite, 0);
    TEST_OK(model_positive_require(m, test_err));
    /* r = 1: eigenvalues of the low-rank part are u·v ± |u||v|, here 0 and −8 beside zeros. */
    for (size_t i = 0; i < D; i++) {
        model_value_set(m, model_params_find(&m->params, "layers.0.mlp.p_u")->offset + i, 1);
        model_value_set(m, model_params_find(&m->params, "layers.0.mlp.p_v")->offset + i, -1);
    }
    TEST_OK(model_positive_check(m, &found, test_err));
    assert_int_equal(found.indefinite, 1);
    assert_string_equal(found.name, "layers.0.mlp");
    assert_true(fabs(found.smallest - (log(2.0) - 8)) <= 1e-11);
    assert_int_equal(model_positive_require(m, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "1 of 2 preconditioners are not positive definite; the "
                                     "smallest eigenvalue is -7.30685, that of layers.0.mlp"));
    model_destroy(m);
}

/* P is the identity at the start, whatever U is. */
static void test_preconditioner_starts_as_identity(void **state)
{
    (void)state;
    model_config c = sine_config();
    double with[D];
    double without[D];
    for (int i = 0; i < 2; i++) {
        c.cem.precond = i == 0 ? MODEL_PRECOND_DLR : MODEL_PRECOND_NONE;
        model *m = NULL;
        TEST_OK(model_create(&m, &c, &kern_backend_cpu_f64, test_err));
        TEST_OK(model_init_values(m, 5, test_err));
        test_sines(m, "layers.0.attn.wq", 0, 1, 1);
        test_sines(m, "layers.0.attn.wk", 0, 1, 2);
        run_steps(m, 3, i == 0 ? with : without, NULL);
        model_destroy(m);
    }
    assert_true(test_distance(with, without, D) <= 1e-13);
}

/* A step size that is learned starts where a fixed one stays. */
static void test_learned_step_size_starts_as_fixed(void **state)
{
    (void)state;
    model_config c = sine_config();
    double x[2][D];
    c.cem.eta = 0.3;
    for (int i = 0; i < 4; i++) {
        c.cem.precond = i < 2 ? MODEL_PRECOND_NONE : MODEL_PRECOND_GAMMA;
        c.cem.eta_trained = i % 2 == 1;
        model *m = sine_model(&c);
        TEST_OK(model_init_values(m, 5, test_err));
        test_sines(m, "layers.0.attn.wq", 0, 1, 1);
        test_sines(m, "layers.0.attn.wk", 0, 1, 2);
        test_sines(m, "layers.0.norm1", 1, 0.5, 10);
        run_steps(m, 3, x[i % 2], NULL);
        assert_true(i % 2 == 0 || test_distance(x[0], x[1], D) <= 1e-13);
        model_destroy(m);
    }
}

/* ---- one step is a tied Llama --------------------------------------------------------------- */

enum { WIDE = 12, TOKENS = 7, ROWS = 2 * TOKENS };

static model_config wide_config(model_family family)
{
    model_config c = model_config_default(family);
    c.n_embed = WIDE;
    c.n_head = 3;
    c.vocab_size = 9;
    c.block_size = TOKENS;
    c.n_layer = 1;
    c.n_hidden = 10;
    return c;
}

/* The state after the one layer, from x. */
static void run_layer(const model *m, const double *x, double *y)
{
    const model_graph_options o = {
        .batch = 2, .tokens = TOKENS, .steps = 1, .start = MODEL_START_STATE};
    test_machine k;
    test_machine_init(&k, m, &o, (test_plan){.mode = KERN_MODE_FORWARD});
    memcpy(test_value(&k, k.graph.input), x, (size_t)ROWS * WIDE * sizeof *x);
    kern_exec_forward(k.exec, &k.run);
    memcpy(y, test_value(&k, k.graph.states[1]), (size_t)ROWS * WIDE * sizeof *y);
    test_machine_fini(&k);
}

static void check_tied(const model_config *c, const char *const ties[][2], size_t count)
{
    const model_config plain = wide_config(MODEL_LLAMA);
    model_config same = plain;
    same.rope = c->rope;
    model *cem = test_model(c, 0.5, 11);
    model *llama = test_model(&same, 0.5, 90);
    double *x = test_normals((size_t)ROWS * WIDE, 1.0, 4);
    double y[2][ROWS * WIDE];
    if (c->cem.diag == MODEL_DIAG_SHARED && c->attn == MODEL_ATTN_CEM) {
        test_sines(cem, "layers.0.attn.diag", 0, 0, 0);
    }
    for (size_t i = 0; i < count; i++) { /* tied are wo and w_down, as transposes */
        const bool transposed =
            (strstr(ties[i][0], "wo") != NULL && strstr(ties[i][1], "wq") != NULL) ||
            (strstr(ties[i][0], "down") != NULL && strstr(ties[i][1], "wu") != NULL);
        test_tie(llama, ties[i][0], cem, ties[i][1], transposed);
    }
    run_layer(cem, x, y[0]);
    run_layer(llama, x, y[1]);
    assert_true(test_distance(y[0], y[1], (size_t)ROWS * WIDE) <= 1e-12);
    assert_true(test_distance(y[0], x, (size_t)ROWS * WIDE) >= 0.1); /* something happened */
    free(x);
    model_destroy(cem);
    model_destroy(llama);
}

static void test_one_step_is_tied_attention(void **state)
{
    static const char *const ties[][2] = {
        {"layers.0.norm1", "layers.0.norm1"},           {"layers.0.attn.wq", "layers.0.attn.wq"},
        {"layers.0.attn.wk", "layers.0.attn.wk"},       {"layers.0.attn.wv", "layers.0.attn.wk"},
        {"layers.0.attn.wo", "layers.0.attn.wq"},       {"layers.0.norm2", "layers.0.norm2"},
        {"layers.0.mlp.w_gate", "layers.0.mlp.w_gate"}, {"layers.0.mlp.w_up", "layers.0.mlp.w_up"},
        {"layers.0.mlp.w_down", "layers.0.mlp.w_down"},
    };
    (void)state;
    for (unsigned i = 0; i < 16; i++) {
        model_config c = wide_config(MODEL_CEM);
        c.ffn = MODEL_FFN_LLAMA;
        c.rope = i % 2 == 0 ? MODEL_ROPE_PLAIN : MODEL_ROPE_NONE;
        c.cem.norm = i / 2 % 2 == 0 ? MODEL_PLACE_STEP : MODEL_PLACE_ONCE;
        c.cem.diag = i / 4 % 2 == 0 ? MODEL_DIAG_NONE : MODEL_DIAG_SHARED;
        c.cem.hist = i / 8 == 0 ? MODEL_HIST_FIXED : MODEL_HIST_SYNC;
        c.cem.confine = i % 3 == 0 ? 0.7 : 0; /* is zero where the descent starts */
        c.cem.t_attn = 1;
        check_tied(&c, ties, sizeof ties / sizeof *ties);
    }
}

static void test_one_step_is_tied_gated_layer(void **state)
{
    static const char *const forms[][9][2] = {{{"layers.0.norm1", "layers.0.norm1"},
                                               {"layers.0.attn.wq", "layers.0.attn.wq"},
                                               {"layers.0.attn.wk", "layers.0.attn.wk"},
                                               {"layers.0.attn.wv", "layers.0.attn.wv"},
                                               {"layers.0.attn.wo", "layers.0.attn.wo"},
                                               {"layers.0.norm2", "layers.0.norm2"},
                                               {"layers.0.mlp.w_gate", "layers.0.mlp.wu"},
                                               {"layers.0.mlp.w_up", "layers.0.mlp.wg"},
                                               {"layers.0.mlp.w_down", "layers.0.mlp.wu"}},
                                              {{"layers.0.norm1", "layers.0.norm1"},
                                               {"layers.0.attn.wq", "layers.0.attn.wq"},
                                               {"layers.0.attn.wk", "layers.0.attn.wk"},
                                               {"layers.0.attn.wv", "layers.0.attn.wv"},
                                               {"layers.0.attn.wo", "layers.0.attn.wo"},
                                               {"layers.0.norm2", "layers.0.norm2"},
                                               {"layers.0.mlp.w_gate", "layers.0.mlp.wg"},
                                               {"layers.0.mlp.w_up", "layers.0.mlp.wu"},
                                               {"layers.0.mlp.w_down", "layers.0.mlp.wu"}}};
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        model_config c = wide_config(MODEL_CEM);
        c.attn = MODEL_ATTN_LLAMA;
        c.cem.mlp = i % 2 == 0 ? MODEL_MLP_A : MODEL_MLP_B;
        c.cem.norm = i / 2 == 0 ? MODEL_PLACE_STEP : MODEL_PLACE_ONCE;
        c.cem.t_mlp = 1;
        check_tied(&c, forms[i % 2], 9);
    }
}

/* ---- gradients of every switch -------------------------------------------------------------- */

static model_config switches(unsigned i)
{
    model_config c = wide_config(MODEL_CEM);
    c.n_layer = 2;
    c.rope = (model_rope)(i % 3);
    c.cem.diag = (model_diag)(i / 3 % 3);
    c.cem.mlp = (model_mlp)(i % 2);
    c.cem.precond = (model_precond)(i / 2 % 3);
    c.cem.p_rank = 2;
    c.cem.hist = (model_hist)(i / 5 % 2);
    c.cem.norm = (model_place)(i / 4 % 3);
    c.cem.t_attn = 1 + i % 3;
    c.cem.t_mlp = 3 - i % 3;
    c.cem.eta = 0.6;
    c.cem.eta_trained = c.cem.precond != MODEL_PRECOND_DLR && i % 2 == 0;
    c.cem.confine = i % 4 == 1 ? 0.4 : 0;
    c.tied_head = i % 5 == 2;
    return c;
}

static double mean_loss(const test_machine *k)
{
    const double *nll = test_value(k, k->graph.nll);
    double sum = 0;
    for (size_t i = 0; i < ROWS; i++) {
        sum += nll[i];
    }
    return sum;
}

/* Loss at the parameters + t · line. */
static double loss_at(test_machine *k, const double *origin, const double *line, double t)
{
    double *x = k->m->values;
    for (size_t i = 0; i < k->m->params.length; i++) {
        x[i] = origin[i] + t * line[i];
    }
    test_machine_pack(k);
    kern_exec_forward(k->exec, &k->run);
    return mean_loss(k);
}

/* Its slope at t = 0 from differences over two distances, whose errors in h² cancel. */
static double slope_of(test_machine *k, const double *line)
{
    const double h = 2e-5;
    const size_t n = k->m->params.length;
    double *origin = test_zeros(n, sizeof *origin);
    memcpy(origin, k->m->values, n * sizeof *origin);
    const double wide = loss_at(k, origin, line, h) - loss_at(k, origin, line, -h);
    const double near = loss_at(k, origin, line, h / 2) - loss_at(k, origin, line, -h / 2);
    memcpy(k->m->values, origin, n * sizeof *origin);
    free(origin);
    return (8 * near - wide) / (6 * h);
}

/* Gradient of the loss, and its part along a random line against differences. */
static void check_slope(const model *m, bool recompute, double *gradient)
{
    const model_graph_options o = {.batch = 2,
                                   .tokens = TOKENS,
                                   .steps = m->config.n_layer,
                                   .start = MODEL_START_TOKENS,
                                   .loss = true};
    const test_plan plan = {
        .mode = KERN_MODE_VJP, .recompute = recompute, .params = true, .nll = true};
    int32_t *ids = test_ids(ROWS, 9, 1);
    int32_t *targets = test_ids(ROWS, 9, 2);
    double *line = test_normals(m->params.length, 1.0, 3);
    test_machine k;
    test_machine_init(&k, m, &o, plan);
    k.run.bindings.index[MODEL_SLOT_TOKENS] = ids;
    k.run.bindings.index[MODEL_SLOT_TARGETS] = targets;
    k.run.param_gradients = gradient;
    kern_exec_forward(k.exec, &k.run);
    for (size_t i = 0; i < ROWS; i++) {
        test_derivative(&k, k.graph.nll)[i] = 1;
    }
    kern_exec_backward(k.exec, &k.run);
    const double expected = test_dot(gradient, line, m->params.length);
    const double slope = slope_of(&k, line);
    /* Rounding: losses of some forty, 2⁻⁵³ of them over h; truncation: h⁴ of a fifth derivative. */
    assert_true(fabs(slope - expected) <= 2e-8 * (1 + fabs(expected)));
    test_machine_fini(&k);
    free(ids);
    free(targets);
    free(line);
}

static void test_gradients_of_switches(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 36; i++) {
        const model_config c = switches(i);
        model *m = test_model(&c, 0.3, 100 + i);
        double *kept = test_zeros(m->params.length, sizeof *kept);
        double *again = test_zeros(m->params.length, sizeof *again);
        check_slope(m, false, kept);
        check_slope(m, true, again);
        assert_memory_equal(kept, again, m->params.length * sizeof *kept);
        free(kept);
        free(again);
        model_destroy(m);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static size_t buffer_size(size_t t_attn, size_t t_mlp)
{
    model_config c = wide_config(MODEL_CEM);
    c.n_layer = 3;
    c.cem.t_attn = t_attn;
    c.cem.t_mlp = t_mlp;
    model *m = test_model(&c, 0.1, 1);
    const model_graph_options o = {.batch = 2,
                                   .tokens = TOKENS,
                                   .steps = c.n_layer,
                                   .start = MODEL_START_TOKENS,
                                   .loss = true};
    test_machine k;
    test_machine_init(
        &k, m, &o,
        (test_plan){.mode = KERN_MODE_VJP, .recompute = true, .params = true, .nll = true});
    const size_t size = kern_plan_buffer_size(k.plan);
    test_machine_fini(&k);
    model_destroy(m);
    return size;
}

/* With recomputation a further step keeps its state, D numbers per token and sub-layer, and no
 * more; slots are rounded up to a cache line. */
static void test_a_step_keeps_its_state_only(void **state)
{
    (void)state;
    const size_t line = 16;
    const size_t layers = 3;
    for (size_t t = 2; t < 6; t++) {
        const size_t attn = buffer_size(t + 1, 2) - buffer_size(t, 2);
        const size_t mlp = buffer_size(2, t + 1) - buffer_size(2, t);
        assert_in_range(attn, 0, layers * ((size_t)ROWS * WIDE + line));
        assert_in_range(mlp, 0, layers * ((size_t)ROWS * WIDE + line));
    }
}

/* ---- other step counts, and what is proved -------------------------------------------------- */

/* Iterates of layer 0's attention from x, with T as trained or given at inference. */
static void run_inner(const model *m, size_t t_attn, size_t t_mlp, const double *x, test_machine *k)
{
    const model_graph_options o = {.batch = 2,
                                   .tokens = TOKENS,
                                   .steps = m->config.n_layer,
                                   .start = MODEL_START_STATE,
                                   .energies = true,
                                   .keep_inner = true,
                                   .t_attn = t_attn,
                                   .t_mlp = t_mlp};
    test_machine_init(k, m, &o, (test_plan){.mode = KERN_MODE_FORWARD});
    memcpy(test_value(k, k->graph.input), x, (size_t)ROWS * WIDE * sizeof *x);
    kern_exec_forward(k->exec, &k->run);
}

static void test_steps_at_inference(void **state)
{
    (void)state;
    model_config c = wide_config(MODEL_CEM);
    c.n_layer = 2;
    model *two = test_model(&c, 0.4, 6);
    c.cem.t_attn = 5;
    c.cem.t_mlp = 1;
    model *five = test_model(&c, 0.4, 6);
    double *x = test_normals((size_t)ROWS * WIDE, 1.0, 4);
    test_machine k[2];
    run_inner(two, 5, 1, x, &k[0]);
    run_inner(five, 0, 0, x, &k[1]);
    assert_memory_equal(test_value(&k[0], k[0].graph.states[2]),
                        test_value(&k[1], k[1].graph.states[2]), ROWS * WIDE * sizeof *x);
    assert_int_equal(k[0].graph.inner[0].count, 6);
    assert_int_equal(k[0].graph.inner[1].count, 2);
    test_machine_fini(&k[0]);
    test_machine_fini(&k[1]);
    const model_graph_options o = {.batch = 1,
                                   .tokens = 1,
                                   .steps = 2,
                                   .start = MODEL_START_STATE,
                                   .t_attn = MODEL_INNER_MAX + 1};
    model_graph graph;
    kern_error err = {0};
    assert_int_equal(model_graph_init(&graph, two, &o, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "accepted are up to 1024"));
    model_destroy(two);
    model_destroy(five);
    free(x);
}

/* Steps of layer 0's attention whose energy rises by more than rounding, over both sequences. */
static size_t count_rises(const model_config *c, double eta, uint64_t seed)
{
    model_config changed = *c;
    changed.cem.eta = eta;
    model *m = test_model(&changed, 0.7, seed);
    double *x = test_normals((size_t)ROWS * WIDE, 1.0, seed);
    test_machine k;
    size_t rises = 0;
    run_inner(m, 6, 1, x, &k);
    const model_inner *inner = &k.graph.inner[MODEL_LAYER_ATTN];
    for (size_t t = 0; t + 1 < inner->count; t++) {
        const double *now = test_value(&k, inner->energy[t]);
        const double *then = test_value(&k, inner->energy[t + 1]);
        for (size_t i = 0; i < ROWS; i++) {
            rises += !(then[i] - now[i] <= 1e-11 * (1 + fabs(now[i])));
        }
    }
    test_machine_fini(&k);
    free(x);
    model_destroy(m);
    return rises;
}

/* P = c diag(γ) descends for every step size and every sign pattern of γ; P = I does not. Without a
 * norm in the way every step size descends too. */
static void test_descent(void **state)
{
    (void)state;
    model_config c = wide_config(MODEL_CEM);
    c.norm_eps = 0;
    size_t gamma = 0;
    size_t identity = 0;
    size_t once = 0;
    for (uint64_t i = 0; i < 24; i++) {
        const double eta = pow(10.0, (double)(i % 7) - 3);
        c.cem.diag = (model_diag)(i % 3);
        c.cem.norm = MODEL_PLACE_STEP;
        c.cem.precond = MODEL_PRECOND_GAMMA;
        gamma += count_rises(&c, eta, 40 + i);
        c.cem.precond = MODEL_PRECOND_NONE;
        identity += count_rises(&c, eta, 40 + i);
        c.cem.norm = MODEL_PLACE_ONCE;
        once += count_rises(&c, i % 7 < 4 ? eta : 1.0, 40 + i);
    }
    assert_int_equal(gamma, 0);
    assert_int_equal(once, 0);
    assert_true(identity > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interaction_energy),
        cmocka_unit_test(test_elementwise_energy),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_smallest_eigenvalue),
        cmocka_unit_test(test_preconditioner_starts_as_identity),
        cmocka_unit_test(test_learned_step_size_starts_as_fixed),
        cmocka_unit_test(test_one_step_is_tied_attention),
        cmocka_unit_test(test_one_step_is_tied_gated_layer),
        cmocka_unit_test(test_gradients_of_switches),
        cmocka_unit_test(test_a_step_keeps_its_state_only),
        cmocka_unit_test(test_steps_at_inference),
        cmocka_unit_test(test_descent),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
