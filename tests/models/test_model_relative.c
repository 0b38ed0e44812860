/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Relative equilibria of models: the flip of a gradient map at r c/σ = 2/(λ + κ), with λ and κ from
 * the energy and its force alone; charts of all families; descent of one token with its prefix
 * held; diagonal blocks against the reference vectors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dyn/dyn_cascade.h"
#include "dyn/dyn_chart.h"
#include "dyn/dyn_frozen.h"
#include "dyn/dyn_jacobian.h"
#include "dyn/dyn_multipliers.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "models/model_dynamics.h"
#include "models/model_forward.h"
#include "models/model_safetensors.h"
#include "models/model_weights.h"
#include "tests/models/model_test_graph.h"

enum { D = 8, N = 4, SIZE = N * D };

static const int32_t ids[N] = {3, 0, 6, 2};

static model_config make_config(void)
{
    model_config c = model_config_default(MODEL_NRGPT);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = 7;
    c.block_size = N;
    c.n_layer = 3;
    c.ff_hid_factor = 2;
    c.ff = MODEL_FF1;
    c.eta = MODEL_ETA_SCALAR;
    c.norm_eps = 0.0;
    return c;
}

/* A model with η = c·I, γ = 1 and no bias of the norm. */
static model *make_gradient_model(model_config c, double eta, double scale_ff, uint64_t seed)
{
    model *m = test_model(&c, 0.35, seed);
    for (size_t j = 0; j < D; j++) {
        model_value_set(m, model_params_find(&m->params, "blocks.ln.weight")->offset + j, 1.0);
    }
    model_value_set(m, model_params_find(&m->params, "blocks.eta")->offset, eta);
    model_value_set(m, model_params_find(&m->params, "blocks.scale_ff")->offset, scale_ff);
    return m;
}

static dyn_map *make_map(const model *m)
{
    dyn_map *map = NULL;
    TEST_OK(model_dynamics_create(&map, m, ids, N, test_err));
    return map;
}

/* The chart with scales as after the trained steps. */
static dyn_map *make_chart(dyn_map *map)
{
    dyn_map *chart = NULL;
    double x[SIZE];
    model_dynamics_trained_state(map, x);
    TEST_OK(dyn_chart_create(&chart, map, x, NULL, test_err));
    return chart;
}

/* ---- λ and κ without any Jacobian --------------------------------------------------------- */

/* Energies and forces as functions of the normalised state. */
static void init_energy(model_forward *f, const model *m)
{
    const model_graph_options o = {
        .batch = 1, .tokens = N, .start = MODEL_START_G, .energies = true, .keep_steps = true};
    TEST_OK(model_forward_init(f, m, &o, 1, test_err));
}

static const double *run_force(const model_forward *f, const double *g)
{
    memcpy(model_forward_value(f, 0, f->graph.input), g, SIZE * sizeof *g);
    model_forward_run(f, 0, NULL, NULL);
    return model_forward_value(f, 0, f->graph.steps[0].force);
}

static double run_energy(const model_forward *f, const model *m, const double *g, size_t token)
{
    (void)run_force(f, g);
    const double *attention = model_forward_value(f, 0, f->graph.steps[0].energy_attn);
    const double *forward = model_forward_value(f, 0, f->graph.steps[0].energy_ff);
    const model_param *s = model_params_find(&m->params, "blocks.scale_ff");
    return attention[token] + model_value_get(m, s->offset) * forward[token];
}

/* g of the directions z: the norm's bias is added. */
static void fill_g(const model *m, const double *z, double *g)
{
    const model_param *bias = model_params_find(&m->params, "blocks.ln.bias");
    for (size_t i = 0; i < SIZE; i++) {
        g[i] = z[i] + model_value_get(m, bias->offset + i % D);
    }
}

/* κ = x̂·∇E/D from two energies along x̂; h² E''' /6 and ε/h are both below 1e-9. */
static double find_kappa(const model_forward *f, const model *m, const double *z, size_t token)
{
    const double h = 1e-5;
    double g[SIZE], e[2];
    for (size_t k = 0; k < 2; k++) {
        fill_g(m, z, g);
        for (size_t i = token * D; i < (token + 1) * D; i++) {
            g[i] += (k == 0 ? h : -h) * z[i];
        }
        e[k] = run_energy(f, m, g, token);
    }
    return (e[0] - e[1]) / (2.0 * h) / D;
}

/* λ_max of P H P on the tangent space, H by differences of the force −∂E/∂g. */
static double find_lambda(const model_forward *f, const model *m, const double *z, size_t token)
{
    const double h = 1e-5;
    double g[SIZE], hessian[D * D], half[D * D], re[D], im[D];
    const double *own = z + token * D;
    for (size_t j = 0; j < D; j++) {
        for (size_t k = 0; k < 2; k++) {
            fill_g(m, z, g);
            g[token * D + j] += k == 0 ? h : -h;
            const double *force = run_force(f, g) + token * D;
            for (size_t i = 0; i < D; i++) {
                hessian[i * D + j] = (k == 0 ? 0.0 : hessian[i * D + j]) +
                                     (k == 0 ? -force[i] : force[i]) / (2.0 * h);
            }
        }
    }
    /* P from either side; along 1 and x̂ a large negative value takes the place of 0. */
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < D; i++) {
            for (size_t j = 0; j < D; j++) {
                double sum = 0.0;
                for (size_t k = 0; k < D; k++) {
                    const double p = (i == k) - 1.0 / D - own[i] * own[k] / D;
                    sum += p * (side == 0 ? hessian[k * D + j] : hessian[j * D + k]);
                }
                half[side == 0 ? i * D + j : j * D + i] = sum;
            }
        }
        memcpy(hessian, half, sizeof half);
    }
    for (size_t i = 0; i < D * D; i++) {
        hessian[i] -= 1e6 * (1.0 / D + own[i / D] * own[i % D] / D);
    }
    TEST_OK(kern_lapack_eigenvalues(D, hessian, re, im, test_err));
    double largest = -(double)INFINITY;
    for (size_t i = 0; i < D; i++) {
        largest = fmax(largest, re[i]);
    }
    return largest;
}

/* A feed-forward energy that pushes outwards is convex, so that tokens do flip. */
static void test_flip(void **state)
{
    (void)state;
    const double eta = 0.05;
    size_t flips = 0;
    for (size_t seed = 1; seed < 5; seed++) {
        model *m = make_gradient_model(make_config(), eta, -1.0, 90 * seed);
        dyn_map *map = make_map(m);
        dyn_map *chart = make_chart(map);
        model_forward energy;
        dyn_cascade c;
        dyn_multipliers all;
        dyn_cascade_options o = dyn_cascade_options_default();
        const dyn_multipliers_options mo = dyn_multipliers_options_default();
        double radial[N], tangential[N], work[D];
        init_energy(&energy, m);
        assert_true(model_dynamics_scalar_eta(m) == eta);
        o.settle = 2000;
        TEST_OK(dyn_cascade_init(&c, chart, NULL, &o, test_err));
        assert_int_equal(c.n_converged, N);
        dyn_chart_update(chart, c.state, radial, tangential, work);
        TEST_OK(dyn_multipliers_init(&all, chart, c.state, &mo, test_err));
        for (size_t a = 0; a < N; a++) {
            const dyn_chart_margins g = dyn_chart_find_margins(chart, &all.blocks[a], radial[a]);
            const double kappa = find_kappa(&energy, m, c.state, a);
            const double lambda = find_lambda(&energy, m, c.state, a);
            const double expected = 2.0 * g.sigma / (eta * (lambda + kappa));
            assert_true(fabs(-radial[a] / eta - kappa) <= 1e-7 * (1.0 + fabs(kappa)));
            assert_int_equal(g.n_complex, 0);
            assert_true(isinf(g.ns));
            if (expected > 0.0 && g.sigma + expected * radial[a] > 0.0) {
                assert_true(fabs(g.flip - expected) <= 1e-6 * expected);
                flips++;
            } else {
                assert_true(isinf(g.flip));
            }
        }
        dyn_multipliers_fini(&all);
        dyn_cascade_fini(&c);
        model_forward_fini(&energy);
        dyn_map_destroy(chart);
        dyn_map_destroy(map);
        model_destroy(m);
    }
    assert_true(flips >= 8);
}

/* ---- Charts of all families --------------------------------------------------------------- */

static void check_chart(dyn_map *map)
{
    const double h = 1e-6;
    dyn_map *chart = make_chart(map);
    double *v = test_normals(3 * SIZE, 1.0, 3);
    double *w = test_normals(SIZE, 1.0, 4);
    double y[SIZE], up[SIZE], down[SIZE], jv[3 * SIZE], one[SIZE], jtw[SIZE], work[SIZE];
    double blocks[3 * SIZE], from_blocks[3 * SIZE];
    TEST_OK(dyn_map_set_param(chart, "rate", 0.6, test_err));
    dyn_map_jvp_many(chart, chart->start, 3, v, y, jv);
    for (size_t k = 0; k < 3; k++) {
        chart->kind->jvp(chart, chart->start, v + k * SIZE, NULL, one);
        for (size_t i = 0; i < SIZE; i++) {
            assert_true(fabs(one[i] - jv[k * SIZE + i]) <= 1e-12);
        }
    }
    for (size_t i = 0; i < SIZE; i++) {
        up[i] = chart->start[i] + h * v[i];
        down[i] = chart->start[i] - h * v[i];
    }
    chart->kind->step(chart, up, up);
    chart->kind->step(chart, down, down);
    for (size_t i = 0; i < SIZE; i++) {
        assert_true(fabs((up[i] - down[i]) / (2.0 * h) - jv[i]) <= 2e-7);
    }
    chart->kind->vjp(chart, chart->start, w, jtw);
    assert_true(fabs(test_dot(w, jv, SIZE) - test_dot(jtw, v, SIZE)) <= 1e-11);
    dyn_map_jvp_blocks(chart, chart->start, 3, v, NULL, blocks, work);
    for (size_t a = 0; a < N; a++) {
        dyn_map *frozen = NULL;
        TEST_OK(dyn_frozen_create(&frozen, chart, a, NULL, test_err));
        for (size_t k = 0; k < 3; k++) {
            frozen->kind->jvp(frozen, frozen->start, v + k * SIZE + a * D, NULL,
                              from_blocks + k * SIZE + a * D);
        }
        dyn_map_destroy(frozen);
    }
    for (size_t i = 0; i < 3 * SIZE; i++) {
        assert_true(fabs(blocks[i] - from_blocks[i]) <= 1e-12);
    }
    free(v);
    free(w);
    dyn_map_destroy(chart);
}

static void test_charts(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        model_config c = make_config();
        c.family = i < 2 ? MODEL_NRGPT : MODEL_GPT;
        c.recurrent = true;
        c.parallel = i == 3;
        c.norm_eps = 1e-5;
        c.norm = i == 1 ? MODEL_RMSNORM : MODEL_LAYERNORM;
        c.eta = MODEL_ETA_FULL;
        c.ff = MODEL_FF2W;
        model *m = test_model(&c, 0.3, 31 * i);
        dyn_map *map = make_map(m);
        assert_int_equal(map->gauge, i == 1 ? DYN_GAUGE_SCALE : DYN_GAUGE_SCALE_SHIFT);
        assert_true(isnan(model_dynamics_scalar_eta(m)));
        check_chart(map);
        dyn_map_destroy(map);
        model_destroy(m);
    }
}

/* The shift and the scale that the gauge names are what the update does not see. */
static void test_gauge(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        model_config c = make_config();
        c.norm = i == 1 ? MODEL_RMSNORM : MODEL_LAYERNORM;
        model *m = make_gradient_model(c, 0.1, 1.0, 7);
        dyn_map *map = make_map(m);
        double x[SIZE], y[2][SIZE];
        for (size_t k = 0; k < SIZE; k++) {
            x[k] = 2.5 * map->start[k] + (i == 0 ? 0.7 : 0.0);
        }
        map->kind->step(map, map->start, y[0]);
        map->kind->step(map, x, y[1]);
        for (size_t k = 0; k < SIZE; k++) {
            const double gap = (y[1][k] - x[k]) - (y[0][k] - map->start[k]);
            assert_true(fabs(gap) <= 1e-12);
        }
        dyn_map_destroy(map);
        model_destroy(m);
    }
}

/* ---- Descent with the prefix held --------------------------------------------------------- */

/* Under the strict mask attention is concave in g_A, and so is FF1 with a convex σ²: the token's
 * energy falls for every step size. Energies are of order 10, so rounding is below 1e-12. */
static void test_descent(void **state)
{
    (void)state;
    static const double rates[] = {0.01, 0.3, 1.0, 7.0, 100.0, 1e4};
    for (size_t i = 0; i < 4; i++) {
        model_config c = make_config();
        c.activation = i % 2 == 0 ? MODEL_RELU : MODEL_SOFTPLUS;
        c.norm = i < 2 ? MODEL_LAYERNORM : MODEL_RMSNORM;
        c.strict_mask = true;
        model *m = make_gradient_model(c, 0.2, i == 3 ? 0.0 : 1.0, 17 * i);
        dyn_map *map = make_map(m);
        for (size_t a = 0; a < N; a++) {
            for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
                dyn_map *frozen = NULL;
                double x[D];
                TEST_OK(dyn_frozen_create(&frozen, map, a, NULL, test_err));
                TEST_OK(dyn_map_set_param(frozen, "step_scale", rates[r], test_err));
                memcpy(x, frozen->start, sizeof x);
                double before = frozen->kind->energy(frozen, x);
                for (size_t t = 0; t < 30; t++) {
                    frozen->kind->step(frozen, x, x);
                    const double after = frozen->kind->energy(frozen, x);
                    assert_true(after <= before + 1e-11);
                    before = after;
                }
                dyn_map_destroy(frozen);
            }
        }
        dyn_map_destroy(map);
        model_destroy(m);
    }
}

/* The energies of the tokens, and that of one token alone. */
static void test_energies(void **state)
{
    (void)state;
    model *m = make_gradient_model(make_config(), 0.2, 0.7, 3);
    dyn_map *map = make_map(m);
    double energies[N], sum = 0.0;
    map->kind->block_energies(map, map->start, energies);
    for (size_t a = 0; a < N; a++) {
        dyn_map *frozen = NULL;
        TEST_OK(dyn_frozen_create(&frozen, map, a, NULL, test_err));
        assert_true(frozen->kind->energy(frozen, frozen->start) == energies[a]);
        dyn_map_destroy(frozen);
        sum += energies[a];
    }
    assert_true(map->kind->energy(map, map->start) == sum);
    dyn_map_destroy(map);
    model_destroy(m);
}

/* ---- Reference vectors -------------------------------------------------------------------- */

static double *read_all(const model_safetensors *file, const char *name, size_t *count)
{
    const model_safetensors_entry *entry = model_safetensors_find(file, name);
    assert_non_null(entry);
    double *values = test_zeros(entry->count, sizeof *values);
    TEST_OK(model_safetensors_read_f64(file, entry, values, entry->count, test_err));
    *count = entry->count;
    return values;
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Largest |a − b| relative to the largest |b|. */
static double find_error(const double *a, const double *b, size_t n)
{
    double gap = 0.0;
    double scale = 0.0;
    for (size_t i = 0; i < n; i++) {
        gap = fmax(gap, fabs(a[i] - b[i]));
        scale = fmax(scale, fabs(b[i]));
    }
    return gap / scale;
}

static void check_blocks(dyn_map *map, const double *x, const double *expected, size_t count)
{
    const size_t d = map->block_width;
    double *column = test_zeros(2 * d, sizeof *column);
    double *blocks = test_zeros(count, sizeof *blocks);
    for (size_t a = 0; a < map->block_count; a++) {
        dyn_map *frozen = NULL;
        TEST_OK(dyn_frozen_create(&frozen, map, a, x, test_err));
        for (size_t j = 0; j < d; j++) {
            memset(column + d, 0, d * sizeof *column);
            column[d + j] = 1.0;
            frozen->kind->jvp(frozen, frozen->start, column + d, NULL, column);
            for (size_t i = 0; i < d; i++) {
                blocks[(a * d + i) * d + j] = column[i];
            }
        }
        dyn_map_destroy(frozen);
    }
    assert_true(find_error(blocks, expected, count) <= 1e-10);
    free(column);
    free(blocks);
}

static void check_moduli(dyn_map *map, const double *x, const double *expected, size_t count)
{
    double *moduli = test_zeros(count, sizeof *moduli);
    dyn_multipliers m;
    const dyn_multipliers_options o = dyn_multipliers_options_default();
    TEST_OK(dyn_multipliers_init(&m, map, x, &o, test_err));
    for (size_t a = 0; a < m.n_blocks; a++) {
        for (size_t j = 0; j < m.blocks[a].n; j++) {
            moduli[a * m.blocks[a].n + j] = hypot(m.blocks[a].re[j], m.blocks[a].im[j]);
        }
    }
    qsort(moduli, count, sizeof *moduli, descending);
    assert_true(find_error(moduli, expected, count) <= 1e-10);
    dyn_multipliers_fini(&m);
    free(moduli);
}

static void check_reference(const char *path)
{
    model_safetensors *file = NULL;
    model_config config;
    model *m = NULL;
    dyn_map *map = NULL;
    size_t n_blocks, n_moduli, n_states, n_ids;
    TEST_OK(model_safetensors_create(&file, path, test_err));
    TEST_OK(model_weights_config(&config, file, path, test_err));
    TEST_OK(model_create(&m, &config, &kern_backend_cpu_f64, test_err));
    TEST_OK(model_weights_read(m, file, path, test_err));
    double *blocks = read_all(file, "jac_token_blocks", &n_blocks);
    double *moduli = read_all(file, "jac_eig_abs_sorted", &n_moduli);
    double *states = read_all(file, "state/1", &n_states);
    double *tokens = read_all(file, "idx", &n_ids);
    const size_t n = n_moduli / config.n_embed;
    int32_t *prompt = test_zeros(n, sizeof *prompt);
    for (size_t i = 0; i < n; i++) {
        prompt[i] = (int32_t)tokens[i];
    }
    TEST_OK(model_dynamics_create(&map, m, prompt, n, test_err));
    check_blocks(map, states, blocks, n_blocks);
    check_moduli(map, states, moduli, n_moduli);
    free(blocks);
    free(moduli);
    free(states);
    free(tokens);
    free(prompt);
    dyn_map_destroy(map);
    model_destroy(m);
    model_safetensors_destroy(file);
}

static void test_reference(void **state)
{
    static const char *const names[] = {"ff1-strict",    "ff2-strict",    "ff2w-strict",
                                        "ff1-inclusive", "ff2-inclusive", "ff2w-inclusive"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/../shared/reference/nrgpt-%s.safetensors",
                       BASIN_SOURCE_DIR, names[i]);
        FILE *probe = fopen(path, "rb");
        if (probe == NULL) {
            print_message("reference vectors are not at hand\n");
            skip();
        }
        (void)fclose(probe);
        check_reference(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flip),     cmocka_unit_test(test_charts),
        cmocka_unit_test(test_gauge),    cmocka_unit_test(test_descent),
        cmocka_unit_test(test_energies), cmocka_unit_test(test_reference),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
