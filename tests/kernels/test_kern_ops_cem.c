/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations of causal energy minimisation put together by hand, against the golden values of
 * its specification (energies and gradients of one token, twelve digits, from an independent
 * program): D = 4, two heads of width 2, three tokens, hidden width 5, all numbers sin(a + n).
 */
#include "kernels/kern_blas.h"
#include "kernels/kern_op.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { J = 3, D = 4, H = 2, WIDTH = 2, HIDDEN = 5, TOKEN = 2, SCRATCH = 4096 };

/* Half a unit of the twelfth decimal, and the rounding of some hundred operations. */
#define TOLERANCE 6e-13

static void fill(double *x, size_t n, double offset, double factor, double shift)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = shift + factor * sin(offset + (double)i);
    }
}

static kern_view view(double *x, size_t rows, size_t cols)
{
    return (kern_view){x, rows, cols};
}

/* Runs an operation's forward; NULL views are absent. */
static void apply(kern_op_id op, kern_attr attr, const kern_view in[KERN_MAX_IN],
                  const kern_view out[KERN_MAX_OUT])
{
    static const kern_bindings bindings = {.dropout_key = 0};
    double scratch[SCRATCH] = {0};
    kern_call call = {.attr = &attr, .bindings = &bindings, .scratch = scratch, .workers = 1};
    memcpy(call.in, in, sizeof call.in);
    memcpy(call.out, out, sizeof call.out);
    kern_backend_cpu_f64.kernels[op]->forward(&call);
}

static void linear(kern_view x, kern_view w, bool plain, double alpha, kern_view addend,
                   kern_view out)
{
    const kern_view in[KERN_MAX_IN] = {x, w, {0}, addend};
    const kern_view outs[KERN_MAX_OUT] = {out};
    apply(KERN_OP_LINEAR, (kern_attr){.linear = {plain, alpha}}, in, outs);
}

static void rope(kern_view x, bool inverse)
{
    const kern_view in[KERN_MAX_IN] = {x};
    const kern_attr attr = {.rope = {.tokens = J, .heads = H, .base = 10000, .inverse = inverse}};
    apply(KERN_OP_ROPE, attr, in, in);
}

/* a + scale · f ⊙ gain, or with gain = softplus when `soft`. */
static void affine(kern_view a, kern_view f, kern_view gain, bool soft, kern_view out)
{
    const kern_view in[KERN_MAX_IN] = {a, f, {0}, gain};
    const kern_view outs[KERN_MAX_OUT] = {out};
    apply(KERN_OP_AFFINE_ADD, (kern_attr){.affine = {1, 1, soft}}, in, outs);
}

static void norm(kern_view x, kern_view gain, kern_view out)
{
    const kern_view in[KERN_MAX_IN] = {x, gain};
    const kern_view outs[KERN_MAX_OUT] = {out};
    apply(KERN_OP_NORM, (kern_attr){.norm = {KERN_RMSNORM, 1e-5}}, in, outs);
}

static void expect(const char *what, double found, double wanted)
{
    if (!(fabs(found - wanted) <= TOLERANCE * fmax(1, fabs(wanted)))) {
        fail_msg("%s is %.15g and not %.15g", what, found, wanted);
    }
}

static void expect_row(const char *what, const double *x, const double wanted[D])
{
    for (size_t i = 0; i < D; i++) {
        expect(what, x[TOKEN * D + i], wanted[i]);
    }
}

/* The weights, and the state: rows 0 and 1 are history, and the token's own row is its variable. */
typedef struct numbers {
    double wq[D * D];
    double wk[D * D];
    double history[J * D];
    double x[J * D];
    double diagonal[D];
    double gain[D];
} numbers;

static numbers make_numbers(void)
{
    numbers n;
    fill(n.wq, D * D, 1, 1, 0);
    fill(n.wk, D * D, 2, 1, 0);
    fill(n.history, J * D, 3, 1, 0);
    fill(n.x, J * D, 3, 1, 0);
    fill(n.diagonal, D, 4, 0.3, 0);
    fill(n.gain, D, 10, 0.5, 1);
    return n;
}

/* Energy of the token into *energy, and −∇ into `force`, at u with history c. */
static void interact(numbers *n, double *u, double *c, bool diagonal, bool turned, double *energy,
                     double *force)
{
    double q[J * D];
    double k[J * D];
    double e[J * D];
    double zero[J * D] = {0};
    double out[J * D];
    double lse[J * H];
    double m[J * D];
    double energies[J];
    const kern_view none = {0};
    const double tau = sqrt(WIDTH);
    linear(view(u, J, D), view(n->wq, D, D), false, 1, none, view(q, J, D));
    linear(view(c, J, D), view(n->wk, D, D), false, 1, none, view(k, J, D));
    if (turned) {
        rope(view(q, J, D), false);
        rope(view(k, J, D), false);
    }
    affine(none, view(u, J, D), view(n->diagonal, 1, D), false, view(e, J, D));
    const kern_view in[KERN_MAX_IN] = {view(q, J, D), view(k, J, D), none,
                                       view(diagonal ? e : zero, J, D), view(c, J, D)};
    const kern_view outs[KERN_MAX_OUT] = {view(out, J, D), view(lse, J, H), none, none,
                                          view(m, J, D)};
    const kern_attr attr = {.attention = {.tokens = J, .heads = H, .beta = 1 / tau, .scale = 1}};
    apply(diagonal ? KERN_OP_INTERACTION : KERN_OP_ATTENTION, attr,
          diagonal ? in : (const kern_view[KERN_MAX_IN]){in[0], in[1]},
          diagonal ? outs : (const kern_view[KERN_MAX_OUT]){outs[0], outs[1]});
    if (turned) {
        rope(view(out, J, D), true);
    }
    affine(none, diagonal ? view(m, J, D) : view(zero, J, D), view(n->diagonal, 1, D), false,
           view(e, J, D));
    linear(view(out, J, D), view(n->wq, D, D), true, 1, view(e, J, D), view(force, J, D));
    const kern_view sum_in[KERN_MAX_IN] = {view(lse, J, H)};
    const kern_view sum_out[KERN_MAX_OUT] = {view(energies, J, 1)};
    apply(KERN_OP_ROW_COMBINE, (kern_attr){.row = {-tau}}, sum_in, sum_out);
    *energy = energies[TOKEN];
}

static void test_interaction_energies(void **state)
{
    (void)state;
    static const struct {
        bool diagonal;
        bool turned;
        double energy;
        double force[D];
    } cases[] = {
        {false,
         false,
         -8.145891735974,
         {-2.812620558754, -3.061695225664, -0.495861421829, 2.525865086453}},
        {true,
         false,
         -8.003695079650,
         {-2.513989986495, -2.645151262346, -0.275998935393, 2.791433749872}},
        {false,
         true,
         -8.644296591486,
         {-2.963709266970, -3.933720979904, -1.287087765198, 2.542888005122}},
        {true,
         true,
         -8.408800817223,
         {-2.676569243596, -3.562697948287, -1.256410692661, 2.751591116376}},
    };
    numbers n = make_numbers();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double energy;
        double force[J * D];
        interact(&n, n.x, n.history, cases[k].diagonal, cases[k].turned, &energy, force);
        expect("the energy", energy, cases[k].energy);
        expect_row("the force", force, cases[k].force);
    }
}

/* The normalised layer: gradient with respect to u, with respect to x through the norm, and
 * preconditioned. */
static void test_normalised_step(void **state)
{
    (void)state;
    static const double wanted[D] = {-3.379486724146, -4.778550297973, -1.731091098480,
                                     3.552405452969};
    static const double pulled_wanted[D] = {0.758766988261, -0.960205948381, -3.260668888772,
                                            1.629021659279};
    static const double step_wanted[D] = {-4.192908408375, -5.054420978301, 0.247411533736,
                                          2.430803969556};
    numbers n = make_numbers();
    double delta[D];
    double left[D];
    double right[D];
    double u[J * D];
    double force[J * D];
    double pulled[J * D];
    double step[J * D];
    double low[J];
    double energy;
    const kern_view none = {0};
    fill(delta, D, 7, 1, 0);
    fill(left, D, 8, 0.5, 0);
    fill(right, D, 9, 0.5, 0);
    norm(view(n.x, J, D), view(n.gain, 1, D), view(u, J, D));
    interact(&n, u, u, true, true, &energy, force);
    expect("the energy", energy, -10.779873269266);
    expect_row("the force", force, wanted);

    const kern_view in[KERN_MAX_IN] = {view(n.x, J, D), view(n.gain, 1, D), view(force, J, D)};
    const kern_view out[KERN_MAX_OUT] = {view(pulled, J, D)};
    apply(KERN_OP_NORM_PULL, (kern_attr){.norm = {KERN_RMSNORM, 1e-5}}, in, out);
    expect_row("the force with respect to x", pulled, pulled_wanted);

    affine(none, view(force, J, D), view(delta, 1, D), true, view(step, J, D));
    linear(view(force, J, D), view(right, D, 1), true, 1, none, view(low, J, 1));
    linear(view(low, J, 1), view(left, D, 1), false, 1, view(step, J, D), view(step, J, D));
    linear(view(force, J, D), view(left, D, 1), true, 1, none, view(low, J, 1));
    linear(view(low, J, 1), view(right, D, 1), false, 1, view(step, J, D), view(step, J, D));
    expect_row("the step", step, step_wanted);
}

/* Energies −Σ g Φ(z) and −½ Σ silu(g) z², with their forces. */
static void test_elementwise_energies(void **state)
{
    (void)state;
    static const double force_a[D] = {-5.267845572474, -2.633768973200, 2.421782673786,
                                      5.250758499117};
    static const double force_b[D] = {-5.137248111583, -2.430960040942, 2.510341480395,
                                      5.143646621689};
    const kern_attr silu = {.act = {KERN_FN_SILU_INTEGRAL}};
    const kern_view none = {0};
    numbers n = make_numbers();
    double wu[HIDDEN * D];
    double wg[HIDDEN * D];
    double z[J * HIDDEN];
    double g[J * HIDDEN];
    double r[J * HIDDEN];
    double energies[J];
    double force[J * D];
    const kern_view hidden = view(r, J, HIDDEN);
    const kern_view out[KERN_MAX_OUT] = {hidden};
    const kern_view energy[KERN_MAX_OUT] = {view(energies, J, 1)};
    fill(wu, sizeof wu / sizeof *wu, 5, 1, 0);
    fill(wg, sizeof wg / sizeof *wg, 6, 1, 0);
    linear(view(n.x, J, D), view(wu, HIDDEN, D), false, 1, none, view(z, J, HIDDEN));
    linear(view(n.history, J, D), view(wg, HIDDEN, D), false, 1, none, view(g, J, HIDDEN));

    const kern_view terms[KERN_MAX_IN] = {view(z, J, HIDDEN)};
    apply(KERN_OP_ACT, silu, terms, out);
    const kern_view product[KERN_MAX_IN] = {hidden, view(g, J, HIDDEN)};
    apply(KERN_OP_ROW_DOT, (kern_attr){.row = {-1}}, product, energy);
    expect("the energy", energies[TOKEN], -5.697418062276);
    const kern_view gated[KERN_MAX_IN] = {view(z, J, HIDDEN), view(g, J, HIDDEN)};
    apply(KERN_OP_ACT_GATE, silu, gated, out);
    linear(hidden, view(wu, HIDDEN, D), true, 1, none, view(force, J, D));
    expect_row("the force", force, force_a);

    const kern_view other[KERN_MAX_IN] = {view(g, J, HIDDEN), view(z, J, HIDDEN)};
    apply(KERN_OP_ACT_GATE, silu, other, out);
    const kern_view half[KERN_MAX_IN] = {hidden, view(z, J, HIDDEN)};
    apply(KERN_OP_ROW_DOT, (kern_attr){.row = {-0.5}}, half, energy);
    expect("the other energy", energies[TOKEN], -6.295841021348);
    linear(hidden, view(wu, HIDDEN, D), true, 1, none, view(force, J, D));
    expect_row("the other force", force, force_b);
}

/* A query that is no number makes its own weights none, but none that the mask forbids. */
static void test_masked_weights_stay_zero(void **state)
{
    enum { TOKENS = 5, BAD = 2 };
    double keys[TOKENS];
    double queries[TOKENS];
    double weights[TOKENS * TOKENS];
    double own[TOKENS];
    (void)state;
    fill(keys, TOKENS, 1, 1, 0);
    fill(queries, TOKENS, 2, 1, 0);
    queries[BAD] = (double)NAN;
    const kern_attr attr = {
        .attention = {.tokens = TOKENS, .heads = 1, .strict = true, .beta = 1, .scale = 1}};
    const kern_view in[KERN_MAX_IN] = {view(queries, TOKENS, 1), view(keys, TOKENS, 1)};
    const kern_view outs[KERN_MAX_OUT] = {
        {0}, {0}, view(own, TOKENS, 1), view(weights, TOKENS, TOKENS)};
    apply(KERN_OP_ATTENTION, attr, in, outs);
    for (size_t i = 0; i < TOKENS; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_true(isnan(weights[i * TOKENS + j]) == (i == BAD));
        }
        for (size_t j = i; j < TOKENS; j++) {
            assert_true(weights[i * TOKENS + j] == 0);
        }
        assert_true(own[i] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interaction_energies),
        cmocka_unit_test(test_normalised_step),
        cmocka_unit_test(test_elementwise_energies),
        cmocka_unit_test(test_masked_weights_stay_zero),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
