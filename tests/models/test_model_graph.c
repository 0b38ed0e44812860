/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every family as a graph: gradients against finite differences, tangents against cotangents, the
 * force against the energy, single against double precision, causality, and refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "tests/models/model_test_graph.h"

enum { B = 2, N = 5, ROWS = B * N, D = 6, V = 9 };

static model_config tiny(model_family family)
{
    model_config c = model_config_default(family);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = V;
    c.block_size = N + 2;
    c.n_layer = 3;
    c.ff_hid_factor = 2;
    return c;
}

/* The what-th of the combinations that matter: the first index runs through everything that changes
 * the structure of the force; what acts on the whole of it, or multiplies it, cycles along. */
enum {
    NRGPT_CASES = 72,
    NRGPT_ETAS = 24,
    GPT_CASES = 3,
    CASES = NRGPT_CASES + NRGPT_ETAS + GPT_CASES
};

static model_config case_config(size_t i)
{
    static const double betas[] = {1.0, 0.40824829046386307, 1.0};
    static const double alphas[] = {1.0, 1.0, 0.7};
    model_config c = tiny(i < NRGPT_CASES + NRGPT_ETAS ? MODEL_NRGPT : MODEL_GPT);
    if (c.family == MODEL_GPT) {
        const size_t k = i - NRGPT_CASES - NRGPT_ETAS;
        c.recurrent = k > 0;
        c.parallel = k > 1;
        return c;
    }
    c.ff = (model_ff)(i % 3);
    c.strict_mask = i / 3 % 2 == 0;
    c.update = (model_update)(i / 6 % 2);
    c.activation = (model_act)(i / 12 % 3);
    c.rank = i / 36 % 2 == 0 ? 0 : 3;
    c.eta = (model_eta)((i + i / 6) % 6);
    c.norm = (model_norm)((i + i / 3) % 2);
    c.gamma_trained = i % 5 < 2;
    c.n_head = 1 + i % 2;
    c.beta = betas[i / 2 % 3];
    c.alpha = alphas[i / 2 % 3];
    if (i >= NRGPT_CASES) {
        c.eta = (model_eta)((i - NRGPT_CASES) % 6);
        c.norm = (model_norm)((i - NRGPT_CASES) / 6 % 2);
        c.gamma_trained = (i - NRGPT_CASES) / 12 == 1;
        c.activation = MODEL_SOFTPLUS;
    }
    return c;
}

static void describe(char *text, size_t size, const model_config *c, size_t i)
{
    (void)snprintf(text, size, "case %zu: %s %s %s %s eta %s %s %s rank %zu heads %zu", i,
                   model_config_family_name(c), model_ff_word(c->ff),
                   c->strict_mask ? "strict" : "inclusive", model_update_word(c->update),
                   model_eta_word(c->eta), model_norm_word(c->norm), model_act_word(c->activation),
                   c->rank, c->n_head);
}

static model_graph_options loss_options(const model_config *c)
{
    return (model_graph_options){
        .batch = B, .tokens = N, .steps = c->n_layer, .start = MODEL_START_TOKENS, .loss = true};
}

static double mean_loss(test_machine *k)
{
    double sum = 0;
    test_machine_pack(k);
    kern_exec_forward(k->exec, &k->run);
    const double *nll = test_value(k, k->graph.nll);
    for (size_t i = 0; i < ROWS; i++) {
        sum += nll[i] / ROWS;
    }
    return sum;
}

/* ∂(mean loss)/∂(parameters) by the graph; the caller frees it. */
static double *loss_gradient(const model *m, const int32_t *ids, const int32_t *targets)
{
    const model_graph_options o = loss_options(&m->config);
    double *gradient = test_zeros(m->params.length, sizeof *gradient);
    test_machine k;
    test_machine_init(&k, m, &o, (test_plan){.mode = KERN_MODE_VJP, .params = true, .nll = true});
    k.run.bindings.index[MODEL_SLOT_TOKENS] = ids;
    k.run.bindings.index[MODEL_SLOT_TARGETS] = targets;
    k.run.param_gradients = gradient;
    kern_exec_forward(k.exec, &k.run);
    double *seed = test_derivative(&k, k.graph.nll);
    for (size_t i = 0; i < ROWS; i++) {
        seed[i] = 1.0 / ROWS;
    }
    kern_exec_backward(k.exec, &k.run);
    test_machine_fini(&k);
    return gradient;
}

/* Derivative along `direction` from losses at ±h and ±2h; error of order h⁴. */
static double difference_quotient(model *m, const double *direction, double h, const int32_t *ids,
                                  const int32_t *targets)
{
    static const double at[] = {1, -1, 2, -2};
    static const double weight[] = {8, -8, -1, 1};
    const model_graph_options o = loss_options(&m->config);
    double *values = m->values;
    double *start = test_zeros(m->params.length, sizeof *start);
    double sum = 0;
    test_machine k;
    test_machine_init(&k, m, &o, (test_plan){.mode = KERN_MODE_FORWARD});
    k.run.bindings.index[MODEL_SLOT_TOKENS] = ids;
    k.run.bindings.index[MODEL_SLOT_TARGETS] = targets;
    memcpy(start, values, m->params.length * sizeof *start);
    for (size_t j = 0; j < 4; j++) {
        for (size_t i = 0; i < m->params.length; i++) {
            values[i] = start[i] + at[j] * h * direction[i];
        }
        sum += weight[j] * mean_loss(&k);
    }
    memcpy(values, start, m->params.length * sizeof *start);
    test_machine_fini(&k);
    free(start);
    return sum / (12 * h);
}

/* A random direction of length 1 that leaves the gaps between tensors alone. */
static double *unit_direction(const model *m, uint64_t seed)
{
    double *all = test_normals(m->params.length, 1.0, seed);
    double *v = test_zeros(m->params.length, sizeof *v);
    for (size_t i = 0; i < m->params.count; i++) {
        const model_param *p = &m->params.items[i];
        memcpy(v + p->offset, all + p->offset, model_param_size(p) * sizeof *v);
    }
    const double norm = sqrt(test_dot(v, v, m->params.length));
    for (size_t i = 0; i < m->params.length; i++) {
        v[i] /= norm;
    }
    free(all);
    return v;
}

/* Where a derivative has kinks, small steps keep clear of them at the price of rounding. */
static bool has_kinks(const model_config *c)
{
    return c->family == MODEL_GPT || c->activation == MODEL_RELU;
}

static void test_gradient_is_the_derivative(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        const model_config c = case_config(i);
        char name[200];
        describe(name, sizeof name, &c, i);
        model *m = test_model(&c, 0.35, 100 * i);
        int32_t *ids = test_ids(ROWS, V, i);
        int32_t *targets = test_ids(ROWS, V, i + 1000);
        targets[3] = -1;
        double *v = unit_direction(m, 7 + i);
        double *gradient = loss_gradient(m, ids, targets);
        const double analytic = test_dot(gradient, v, m->params.length);
        const double numeric = difference_quotient(m, v, has_kinks(&c) ? 1e-5 : 2e-4, ids, targets);
        const double bound = (has_kinks(&c) ? 1e-8 : 1e-9) *
                             (1 + sqrt(test_dot(gradient, gradient, m->params.length)));
        if (!(fabs(analytic - numeric) <= bound)) {
            fail_msg("%s: slope %.12g, differences %.12g", name, analytic, numeric);
        }
        free(gradient);
        free(v);
        free(ids);
        free(targets);
        model_destroy(m);
    }
}

/* ---- tangents against cotangents ------------------------------------------------------------ */

typedef struct adjoint {
    double *v;      /* parameter tangents */
    double *v_in;   /* tangents of the input, or NULL */
    double *w_nll;  /* cotangents of the losses, or NULL */
    double *w_last; /* cotangents of the last state */
    double forward; /* ⟨J v, w⟩ and the sum of its terms' sizes */
    double size;
    double backward;
} adjoint;

static void add_products(adjoint *a, double *sum, const double *x, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        *sum += x[i] * y[i];
        a->size += fabs(x[i] * y[i]);
    }
}

static void load_input(const test_machine *k, const double *x)
{
    if (k->graph.input != KERN_NO_VALUE) {
        memcpy(test_value(k, k->graph.input), x, ROWS * D * sizeof *x);
    }
}

static void push(adjoint *a, test_machine *k, const double *x)
{
    k->run.param_tangents = a->v;
    load_input(k, x);
    if (a->v_in != NULL) {
        memcpy(test_derivative(k, k->graph.input), a->v_in, ROWS * D * sizeof *x);
    }
    kern_exec_forward(k->exec, &k->run);
    kern_exec_tangents(k->exec, &k->run, 1);
    const kern_value last = k->graph.states[k->graph.n_steps];
    add_products(a, &a->forward, test_derivative(k, k->graph.nll), a->w_nll, ROWS);
    add_products(a, &a->forward, test_derivative(k, last), a->w_last, ROWS * D);
}

static void pull(adjoint *a, test_machine *k, const double *x)
{
    const size_t length = k->m->params.length;
    double *gradient = test_zeros(length, sizeof *gradient);
    k->run.param_gradients = gradient;
    load_input(k, x);
    kern_exec_forward(k->exec, &k->run);
    const kern_value last = k->graph.states[k->graph.n_steps];
    memcpy(test_derivative(k, k->graph.nll), a->w_nll, ROWS * sizeof *x);
    memcpy(test_derivative(k, last), a->w_last, ROWS * D * sizeof *x);
    kern_exec_backward(k->exec, &k->run);
    add_products(a, &a->backward, gradient, a->v, length);
    if (a->v_in != NULL) {
        add_products(a, &a->backward, test_derivative(k, k->graph.input), a->v_in, ROWS * D);
    }
    free(gradient);
}

static void check_adjoint(size_t i, model_start start)
{
    const model_config c = case_config(i);
    model *m = test_model(&c, 0.35, 100 * i);
    model_graph_options o = loss_options(&c);
    int32_t *ids = test_ids(ROWS, V, i);
    double *x = test_normals(ROWS * D, 1.0, i);
    const bool from_state = start == MODEL_START_STATE;
    adjoint a = {.v = unit_direction(m, i),
                 .v_in = from_state ? test_normals(ROWS * D, 1.0, i + 1) : NULL,
                 .w_nll = test_normals(ROWS, 1.0, i + 2),
                 .w_last = test_normals(ROWS * D, 1.0, i + 3)};
    test_machine k;
    o.start = start;
    test_plan plan = {.mode = KERN_MODE_JVP, .params = true, .input = from_state};
    for (size_t pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            plan.mode = KERN_MODE_VJP;
            plan.recompute = i % 2 == 1;
            plan.nll = true;
            plan.state = true;
        }
        test_machine_init(&k, m, &o, plan);
        k.run.bindings.index[MODEL_SLOT_TOKENS] = ids;
        k.run.bindings.index[MODEL_SLOT_TARGETS] = ids;
        (pass == 0 ? push : pull)(&a, &k, x);
        test_machine_fini(&k);
    }
    if (!(fabs(a.forward - a.backward) <= 1e-12 * a.size) || !(a.size > 1e-3)) {
        char name[200];
        describe(name, sizeof name, &c, i);
        fail_msg("%s: %.15g forward, %.15g backward", name, a.forward, a.backward);
    }
    free(a.v);
    free(a.v_in);
    free(a.w_nll);
    free(a.w_last);
    free(ids);
    free(x);
    model_destroy(m);
}

static void test_tangents_and_cotangents_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        check_adjoint(i, MODEL_START_TOKENS);
        if (i % 4 == 0) {
            check_adjoint(i, MODEL_START_STATE);
        }
    }
}

/* ---- force and energy ----------------------------------------------------------------------- */

static double scale_ff(const model *m)
{
    return model_value_get(m, model_params_find(&m->params, "blocks.scale_ff")->offset);
}

/* E_A of each token at g; energies go to `energy`. */
static void energies_at(test_machine *k, const double *g, double *energy)
{
    load_input(k, g);
    kern_exec_forward(k->exec, &k->run);
    const double *attention = test_value(k, k->graph.steps[0].energy_attn);
    const double *ff = test_value(k, k->graph.steps[0].energy_ff);
    for (size_t r = 0; r < ROWS; r++) {
        energy[r] = attention[r] + scale_ff(k->m) * ff[r];
    }
}

/* Slopes of E_A along u_A when token A alone moves, for token A of every sequence. */
static void own_slopes(test_machine *k, const double *g, const double *u, double h, double *slope)
{
    static const double at[] = {1, -1, 2, -2};
    static const double weight[] = {8, -8, -1, 1};
    double *moved = test_zeros(ROWS * D, sizeof *moved);
    double energy[ROWS];
    for (size_t a = 0; a < N; a++) {
        for (size_t j = 0; j < 4; j++) {
            memcpy(moved, g, ROWS * D * sizeof *moved);
            for (size_t r = a; r < ROWS; r += N) {
                for (size_t i = 0; i < D; i++) {
                    moved[r * D + i] += at[j] * h * u[r * D + i];
                }
            }
            energies_at(k, moved, energy);
            for (size_t r = a; r < ROWS; r += N) {
                slope[r] += weight[j] * energy[r] / (12 * h);
            }
        }
    }
    free(moved);
}

/* y += α p J_h x for head h, J_h = H_hᵀ or K_hᵀ Q_h; `score` returns β xᵀ J_h x … of any two. */
static void apply_j(const model *m, size_t h, const double *x, double *y)
{
    const double *values = m->values;
    char name[96];
    memset(y, 0, D * sizeof *y);
    if (m->config.rank == 0) {
        (void)snprintf(name, sizeof name, "blocks.attn.heads.%zu.H.weight", h);
        const double *w = values + model_params_find(&m->params, name)->offset;
        for (size_t i = 0; i < D * D; i++) {
            y[i % D] += w[i] * x[i / D];
        }
        return;
    }
    (void)snprintf(name, sizeof name, "blocks.attn.heads.%zu.K.weight", h);
    const double *wk = values + model_params_find(&m->params, name)->offset;
    (void)snprintf(name, sizeof name, "blocks.attn.heads.%zu.Q.weight", h);
    const double *wq = values + model_params_find(&m->params, name)->offset;
    for (size_t r = 0; r < m->config.rank; r++) {
        const double q = test_dot(wq + r * D, x, D);
        for (size_t i = 0; i < D; i++) {
            y[i] += wk[r * D + i] * q;
        }
    }
}

/* The self term of row r under the inclusive mask, α Σ_h p_AA J_h g_A. */
static void self_term(const model *m, const double *g, size_t r, double *term)
{
    memset(term, 0, D * sizeof *term);
    for (size_t h = 0; h < m->config.n_head; h++) {
        double jg[D];
        double sum = 0;
        apply_j(m, h, g + r * D, jg);
        const double own = m->config.beta * test_dot(g + r * D, jg, D);
        for (size_t b = r / N * N; b <= r; b++) {
            sum += exp(m->config.beta * test_dot(g + b * D, jg, D) - own);
        }
        for (size_t i = 0; i < D; i++) {
            term[i] += m->config.alpha / sum * jg[i];
        }
    }
}

static void check_force(size_t index, model_update update)
{
    model_config c = case_config(index);
    c.update = update;
    model *m = test_model(&c, 0.35, 100 * index);
    const model_graph_options o = {.batch = B, .tokens = N, .start = MODEL_START_G};
    double *g = test_normals(ROWS * D, 1.0, index);
    double *u = test_normals(ROWS * D, 1.0, index + 1);
    double slope[ROWS] = {0};
    double energy[ROWS];
    test_machine k;
    test_machine_init(&k, m, &o, (test_plan){.mode = KERN_MODE_FORWARD});
    own_slopes(&k, g, u, has_kinks(&c) ? 1e-5 : 1e-3, slope);
    energies_at(&k, g, energy);
    const double *force = test_value(&k, k.graph.steps[0].force);
    for (size_t r = 0; r < ROWS; r++) {
        double left_out[D] = {0};
        if (update == MODEL_UPDATE_PUBLISHED && !c.strict_mask) {
            self_term(m, g, r, left_out);
        }
        const double found =
            test_dot(force + r * D, u + r * D, D) + test_dot(left_out, u + r * D, D);
        if (!(fabs(found + slope[r]) <= 1e-8 * (1 + fabs(energy[r])))) {
            char name[200];
            describe(name, sizeof name, &c, index);
            fail_msg("%s, row %zu: force %.12g, energy's slope %.12g", name, r, found, slope[r]);
        }
    }
    test_machine_fini(&k);
    free(g);
    free(u);
    model_destroy(m);
}

static void test_force_is_minus_the_energys_slope(void **state)
{
    (void)state;
    for (size_t i = 0; i < NRGPT_CASES; i++) {
        check_force(i, MODEL_UPDATE_EXACT);
        check_force(i, MODEL_UPDATE_PUBLISHED);
    }
}

/* η of a model, D × D, written out. */
static void eta_matrix(const model *m, double *eta)
{
    const double *values = m->values;
    const model_eta form = m->config.eta;
    const model_param *scalar = model_params_find(&m->params, "blocks.eta");
    const model_param *full = model_params_find(&m->params, "blocks.proj.weight");
    const model_param *root = model_params_find(&m->params, "blocks.eta_s.weight");
    const model_param *skew = model_params_find(&m->params, "blocks.eta_a.weight");
    const double *gamma = values + model_params_find(&m->params, "blocks.ln.weight")->offset;
    for (size_t i = 0; i < D; i++) {
        for (size_t j = 0; j < D; j++) {
            double *entry = &eta[i * D + j];
            *entry = full != NULL ? values[full->offset + i * D + j] : 0.0;
            if (scalar != NULL && i == j) {
                const double c = values[scalar->offset];
                *entry =
                    form == MODEL_ETA_SQUARE ? c * c : c * (form == MODEL_ETA_GAMMA ? gamma[i] : 1);
            }
            for (size_t k = 0; root != NULL && k < D; k++) {
                *entry += values[root->offset + i * D + k] * values[root->offset + j * D + k];
            }
            if (skew != NULL) {
                *entry += values[skew->offset + i * D + j] - values[skew->offset + j * D + i];
            }
        }
    }
}

static void test_a_step_is_eta_times_the_force(void **state)
{
    (void)state;
    for (size_t i = NRGPT_CASES; i < NRGPT_CASES + NRGPT_ETAS; i++) {
        const model_config c = case_config(i);
        model *m = test_model(&c, 0.35, 100 * i);
        double *x = test_normals(ROWS * D, 1.0, i);
        double eta[D * D];
        const model_graph_options o = {
            .batch = B, .tokens = N, .steps = 1, .start = MODEL_START_STATE, .keep_steps = true};
        test_machine k;
        test_machine_init(&k, m, &o, (test_plan){.mode = KERN_MODE_FORWARD});
        load_input(&k, x);
        kern_exec_forward(k.exec, &k.run);
        eta_matrix(m, eta);
        const double *force = test_value(&k, k.graph.steps[0].force);
        const double *next = test_value(&k, k.graph.states[1]);
        for (size_t r = 0; r < ROWS; r++) {
            const double size = 1 + sqrt(test_dot(force + r * D, force + r * D, D));
            for (size_t j = 0; j < D; j++) {
                const double expected = x[r * D + j] + test_dot(eta + j * D, force + r * D, D);
                assert_true(fabs(next[r * D + j] - expected) <=
                            1e-14 * size * (1 + fabs(expected)));
            }
        }
        test_machine_fini(&k);
        free(x);
        model_destroy(m);
    }
}

/* One block of a GPT from x, with the output of attention, of feed-forward or of neither silenced.
 */
static void block_of(model *m, const double *x, bool attention, bool ff, double *y)
{
    const model_graph_options o = {.batch = B, .tokens = N, .steps = 1, .start = MODEL_START_STATE};
    static const char *const outputs[] = {"blocks.sa.proj.weight", "blocks.sa.proj.bias",
                                          "blocks.ffwd.net.2.weight", "blocks.ffwd.net.2.bias"};
    model *part = NULL;
    test_machine k;
    TEST_OK(model_convert(&part, m, &kern_backend_cpu_f64, test_err));
    for (size_t i = 0; i < 4; i++) {
        const model_param *p = model_params_find(&part->params, outputs[i]);
        for (size_t j = 0; !(i < 2 ? attention : ff) && j < model_param_size(p); j++) {
            model_value_set(part, p->offset + j, 0.0);
        }
    }
    test_machine_init(&k, part, &o, (test_plan){.mode = KERN_MODE_FORWARD});
    load_input(&k, x);
    kern_exec_forward(k.exec, &k.run);
    memcpy(y, test_value(&k, k.graph.states[1]), ROWS * D * sizeof *y);
    test_machine_fini(&k);
    model_destroy(part);
}

/* In a parallel block attention and feed-forward add up; in a sequential one they do not. */
static void test_parallel_blocks_add_up(void **state)
{
    (void)state;
    for (size_t p = 0; p < 2; p++) {
        model_config c = tiny(MODEL_GPT);
        c.recurrent = true;
        c.parallel = p == 1;
        model *m = test_model(&c, 0.5, 3);
        double *x = test_normals(ROWS * D, 1.0, 4);
        double y[4][ROWS * D];
        double largest = 0;
        for (size_t i = 0; i < 4; i++) {
            block_of(m, x, i % 2 == 1, i / 2 == 1, y[i]);
        }
        assert_memory_equal(y[0], x, sizeof y[0]);
        for (size_t i = 0; i < ROWS * D; i++) {
            largest = fmax(largest, fabs(y[3][i] - y[1][i] - y[2][i] + x[i]));
        }
        assert_true(p == 1 ? largest < 1e-13 : largest > 1e-2);
        free(x);
        model_destroy(m);
    }
}

/* ---- precision, causality ------------------------------------------------------------------- */

/* Rounded products behave like exact ones of weights off by the length of a sum in half units of
 * the last place; lengths here are below 32, and norms and activations double it. */
static void check_precision(size_t index)
{
    const model_config c = case_config(index);
    const model_graph_options o = loss_options(&c);
    model *m = test_model(&c, 0.35, 100 * index);
    model *single = NULL;
    int32_t *ids = test_ids(ROWS, V, index);
    TEST_OK(model_convert(&single, m, &kern_backend_cpu_f32, test_err));
    double *gradient = loss_gradient(m, ids, ids);
    double reach = 1;
    for (size_t i = 0; i < m->params.length; i++) {
        reach += fabs(gradient[i] * ((const double *)m->values)[i]);
    }
    double loss[2] = {0, 0};
    for (size_t p = 0; p < 2; p++) {
        test_machine k;
        test_machine_init(&k, p == 0 ? m : single, &o, (test_plan){.mode = KERN_MODE_FORWARD});
        k.run.bindings.index[MODEL_SLOT_TOKENS] = ids;
        k.run.bindings.index[MODEL_SLOT_TARGETS] = ids;
        kern_exec_forward(k.exec, &k.run);
        const void *nll = kern_exec_value(k.exec, k.graph.nll);
        for (size_t i = 0; i < ROWS; i++) {
            loss[p] += p == 0 ? ((const double *)nll)[i] : (double)((const float *)nll)[i];
        }
        test_machine_fini(&k);
    }
    if (!(fabs(loss[0] - loss[1]) / ROWS <= 64 * 0x1p-24 * reach) || !(loss[0] > 0)) {
        char name[200];
        describe(name, sizeof name, &c, index);
        fail_msg("%s: loss %.9g in double, %.9g in single", name, loss[0] / ROWS, loss[1] / ROWS);
    }
    free(gradient);
    free(ids);
    model_destroy(single);
    model_destroy(m);
}

static void test_single_precision_is_close(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        check_precision(i);
    }
}

static void check_causality(size_t index)
{
    const model_config c = case_config(index);
    model *m = test_model(&c, 0.35, 100 * index);
    model_graph_options o = loss_options(&c);
    int32_t *ids = test_ids(ROWS, V, index);
    double first[4][ROWS * D];
    test_machine k;
    o.keep_steps = true;
    test_machine_init(&k, m, &o, (test_plan){.mode = KERN_MODE_FORWARD});
    k.run.bindings.index[MODEL_SLOT_TOKENS] = ids;
    k.run.bindings.index[MODEL_SLOT_TARGETS] = ids;
    kern_exec_forward(k.exec, &k.run);
    for (size_t t = 0; t <= c.n_layer; t++) {
        memcpy(first[t], test_value(&k, k.graph.states[t]), sizeof first[t]);
    }
    const size_t changed = 1 + index % (N - 1);
    ids[changed] = (ids[changed] + 1) % V;
    kern_exec_forward(k.exec, &k.run);
    for (size_t t = 0; t <= c.n_layer; t++) {
        const double *now = test_value(&k, k.graph.states[t]);
        assert_memory_equal(now, first[t], changed * D * sizeof *now);
        assert_memory_equal(now + N * D, first[t] + N * D, N * D * sizeof *now);
        assert_true(memcmp(now + changed * D, first[t] + changed * D, D * sizeof *now) != 0);
    }
    test_machine_fini(&k);
    free(ids);
    model_destroy(m);
}

static void test_later_tokens_do_not_reach_earlier_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        check_causality(i);
    }
}

/* ---- steps and refusals --------------------------------------------------------------------- */

/* State after `steps` applications from the tokens; the caller frees it. */
static double *state_after(const model *m, size_t steps, const int32_t *ids)
{
    const model_graph_options o = {
        .batch = B, .tokens = N, .steps = steps, .start = MODEL_START_TOKENS};
    double *x = test_zeros(ROWS * D, sizeof *x);
    test_machine k;
    test_machine_init(&k, m, &o, (test_plan){.mode = KERN_MODE_FORWARD});
    k.run.bindings.index[MODEL_SLOT_TOKENS] = ids;
    kern_exec_forward(k.exec, &k.run);
    memcpy(x, test_value(&k, k.graph.states[steps]), ROWS * D * sizeof *x);
    test_machine_fini(&k);
    return x;
}

/* Seven steps are two steps and then five from the state reached. */
static void test_any_number_of_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        model_config c = tiny(i == 0 ? MODEL_NRGPT : MODEL_GPT);
        c.recurrent = i > 0;
        c.parallel = i > 1;
        model *m = test_model(&c, 0.2, 9);
        int32_t *ids = test_ids(ROWS, V, 4);
        double *early = state_after(m, 2, ids);
        double *late = state_after(m, 7, ids);
        const model_graph_options o = {
            .batch = B, .tokens = N, .steps = 5, .start = MODEL_START_STATE};
        test_machine k;
        test_machine_init(&k, m, &o, (test_plan){.mode = KERN_MODE_FORWARD});
        load_input(&k, early);
        kern_exec_forward(k.exec, &k.run);
        assert_memory_equal(test_value(&k, k.graph.states[5]), late, ROWS * D * sizeof *late);
        test_machine_fini(&k);
        free(state_after(m, 0, ids));
        free(ids);
        free(early);
        free(late);
        model_destroy(m);
    }
}

static void refuse(const model *m, model_graph_options o, const char *part)
{
    model_graph g;
    kern_error err = {0};
    assert_int_equal(model_graph_init(&g, m, &o, &err), KERN_INVALID_ARGUMENT);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
    assert_null(g.graph);
    assert_null(g.steps);
}

static void test_refusals(void **state)
{
    (void)state;
    const model_config c = tiny(MODEL_GPT);
    const model_config e = tiny(MODEL_NRGPT);
    model *gpt = test_model(&c, 0.1, 1);
    model *nrgpt = test_model(&e, 0.1, 1);
    model_graph_options o = loss_options(&c);
    o.batch = 0;
    refuse(gpt, o, "empty");
    o.batch = 1;
    o.tokens = 0;
    refuse(nrgpt, o, "empty");
    o.tokens = N + 3;
    refuse(nrgpt, o, "longer than the model's block of 7");
    o.tokens = N;
    o.steps = 4;
    refuse(gpt, o, "3 distinct blocks cannot take 4 steps");
    o.start = MODEL_START_STATE;
    refuse(gpt, o, "3 distinct blocks cannot take 4 steps");
    o.start = MODEL_START_G;
    refuse(gpt, o, "no energy");
    o.start = MODEL_START_STATE;
    o.steps = SIZE_MAX;
    refuse(nrgpt, o, "too many");
    o.steps = 1;
    o.batch = SIZE_MAX / 2;
    refuse(nrgpt, o, "too many");
    model_destroy(gpt);
    model_destroy(nrgpt);
}

/* A graph that takes no step from g must not leave values that look like the first of the graph. */
static void test_start_from_g_takes_no_step(void **state)
{
    (void)state;
    const model_config c = tiny(MODEL_NRGPT);
    model *m = test_model(&c, 0.1, 1);
    const model_graph_options o = {.batch = 1, .tokens = 2, .steps = 3, .start = MODEL_START_G};
    model_graph g;
    TEST_OK(model_graph_init(&g, m, &o, test_err));
    assert_int_equal(g.n_steps, 0);
    assert_true(g.steps[0].state == KERN_NO_VALUE && g.steps[0].energy_ff != KERN_NO_VALUE);
    model_graph_fini(&g);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_is_the_derivative),
        cmocka_unit_test(test_tangents_and_cotangents_agree),
        cmocka_unit_test(test_force_is_minus_the_energys_slope),
        cmocka_unit_test(test_a_step_is_eta_times_the_force),
        cmocka_unit_test(test_parallel_blocks_add_up),
        cmocka_unit_test(test_single_precision_is_close),
        cmocka_unit_test(test_later_tokens_do_not_reach_earlier_ones),
        cmocka_unit_test(test_any_number_of_steps),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_start_from_g_takes_no_step),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
