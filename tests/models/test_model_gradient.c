/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gradients of energies of tokens, of their terms and of their sum: against differences of the
 * map's own energies over the switches of NRGPT and of the parts of a CEM layer, against the update
 * where that follows the gradient, and what curvatures are made of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_plane_kinds.h"
#include "dyn/dyn_slice.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_parallel.h"
#include "models/model_dynamics.h"
#include "models/model_gradient.h"
#include "models/model_layer_map.h"
#include "tests/models/model_test_graph.h"

enum { D = 10, N = 6, V = 9, SIZE = N * D };

/* Energy of a token, or of all. */
static double energy_of(dyn_map *map, size_t token, const double *x)
{
    double energies[N];
    if (token == SIZE_MAX) {
        return map->kind->energy(map, x);
    }
    map->kind->block_energies(map, x, energies);
    return energies[token];
}

/* Slope along coordinate k by differences over h and h/2, whose error is h⁴/480 of the fifth
 * derivative and 3/h roundings of the energy: below 1e-10 of either for h = 2⁻⁹. */
static double slope_at(dyn_map *map, size_t token, const double *x, size_t k)
{
    const double h = 0x1p-9;
    double at[SIZE], e[4];
    memcpy(at, x, sizeof at);
    for (int side = 0; side < 4; side++) {
        at[k] = x[k] + (side % 2 == 0 ? h : -h) * (side < 2 ? 1.0 : 0.5);
        e[side] = energy_of(map, token, at);
    }
    return (8.0 * (e[2] - e[3]) - (e[0] - e[1])) / (6.0 * h);
}

/* The gradient of the whole is what differences give and its terms add up to; outside the token's
 * block it is 0. */
static void check_gradient(dyn_map *map, model_gradient *d, size_t token, const double *x)
{
    const dyn_plane_energy energy = model_gradient_energy(d);
    double g[SIZE], term[SIZE];
    double sum[SIZE] = {0.0};
    double largest = 1.0 + fabs(energy_of(map, token, x));
    energy.gradient(energy.context, DYN_PLANE_ALL_TERMS, x, g);
    for (size_t t = 0; t < energy.n_terms; t++) {
        energy.gradient(energy.context, t, x, term);
        for (size_t k = 0; k < SIZE; k++) {
            sum[k] += term[k];
            largest = fmax(largest, fabs(term[k]));
        }
    }
    for (size_t k = 0; k < SIZE; k++) {
        const bool own = token == SIZE_MAX || k / D == token;
        assert_true(fabs(sum[k] - g[k]) <= 1e-13 * largest);
        assert_true(own || g[k] == 0.0);
        /* Fifth derivatives behind a norm reach a hundred times the first. */
        if (own && !(fabs(g[k] - slope_at(map, token, x, k)) <= 1e-8 * largest)) {
            fail_msg("coordinate %zu: %.15g, by differences %.15g", k, g[k],
                     slope_at(map, token, x, k));
        }
    }
}

/* ---- NRGPT ---------------------------------------------------------------------------------- */

static model_config nrgpt_config(unsigned i)
{
    model_config c = model_config_default(MODEL_NRGPT);
    c.n_embed = D;
    c.n_head = 3;
    c.vocab_size = V;
    c.block_size = N;
    c.n_layer = 3;
    c.ff_hid_factor = 3;
    c.ff = (model_ff)(i % 3);
    c.strict_mask = i / 2 % 2 == 0;
    c.norm = i / 4 % 2 == 0 ? MODEL_LAYERNORM : MODEL_RMSNORM;
    c.activation = i % 2 == 0 ? MODEL_GELU : MODEL_SOFTPLUS; /* smooth ones */
    c.rank = i % 5 == 3 ? 4 : 0;
    c.gamma_trained = true;
    c.beta = i % 4 == 1 ? 0.7 : 1.0;
    c.alpha = i % 4 == 2 ? 1.3 : 1.0;
    c.norm_eps = 0.3;
    return c;
}

static void test_nrgpt(void **state)
{
    (void)state;
    int32_t *ids = test_ids(N, V, 5);
    for (unsigned i = 0; i < 24; i++) {
        const model_config c = nrgpt_config(i);
        model *m = test_model(&c, 0.4, 10 + i);
        const size_t token = i % 4 == 3 ? SIZE_MAX : i % N;
        dyn_map *map = NULL;
        model_gradient *d = NULL;
        TEST_OK(model_dynamics_create(&map, m, ids, N, test_err));
        TEST_OK(model_gradient_create(&d, m, N, token, test_err));
        assert_int_equal(model_gradient_energy(d).n_terms, MODEL_GRADIENT_TERMS);
        check_gradient(map, d, token, map->start);
        model_gradient_destroy(d);
        dyn_map_destroy(map);
        model_destroy(m);
    }
    free(ids);
}

/* ---- CEM ------------------------------------------------------------------------------------ */

enum { CEM_CASES = 3 * 3 * 3 * 2 * 2 * 2 };

/* Every combination of what the energy is made of; P and η, which are not in it, go along. */
static model_config cem_config(unsigned i)
{
    model_config c = model_config_default(MODEL_CEM);
    c.n_embed = D;
    c.n_head = i % 2 == 0 ? 1 : 2;
    c.d_attn = c.n_head * 6;
    c.vocab_size = V;
    c.block_size = N;
    c.n_layer = 2;
    c.n_hidden = 7;
    c.norm_eps = 0.3;
    c.cem.norm = (model_place)(i % 3);
    c.rope = (model_rope)(i / 3 % 3);
    c.cem.diag = (model_diag)(i / 9 % 3);
    c.cem.mlp = (model_mlp)(i / 27 % 2);
    c.cem.hist = (model_hist)(i / 54 % 2);
    c.cem.confine = i / 108 == 1 ? 0.3 : 0.0;
    c.cem.precond = (model_precond)(i % 4 % 3);
    c.cem.p_rank = 2;
    c.cem.eta = 0.7;
    return c;
}

static void test_cem(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CEM_CASES; i++) {
        const model_config c = cem_config(i);
        model *m = test_model(&c, 0.4, 70 + i);
        double *h = test_normals(SIZE, 1.0, 3 + i);
        double *x = test_normals(SIZE, 1.0, 500 + i);
        for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
            const size_t token = i % 5 == 0 ? SIZE_MAX : (i + part) % N;
            dyn_map *map = NULL;
            model_gradient *d = NULL;
            TEST_OK(
                model_layer_map_create_at(&map, m, i % 2, (model_layer_part)part, h, N, test_err));
            TEST_OK(model_gradient_create_layer(&d, m, i % 2, (model_layer_part)part, h, N, token,
                                                test_err));
            assert_int_equal(model_gradient_energy(d).n_terms, c.cem.confine > 0.0 ? 2 : 1);
            check_gradient(map, d, token, x);
            model_gradient_destroy(d);
            dyn_map_destroy(map);
        }
        free(x);
        free(h);
        model_destroy(m);
    }
}

/* Under a fixed history, and without plain rotary positions, a step with P = I and η = 1 is the
 * negative gradient with respect to u, and with the norm's transpose (norm = exact) that with
 * respect to x. */
static void test_update_is_gradient(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CEM_CASES; i++) {
        const model_config c = cem_config(i);
        if (c.cem.hist != MODEL_HIST_FIXED || c.rope == MODEL_ROPE_PLAIN) {
            continue;
        }
        model *m = test_model(&c, 0.4, 70 + i);
        double *h = test_normals(SIZE, 1.0, 3 + i);
        double *x = test_normals(SIZE, 1.0, 500 + i);
        model view = *m;
        view.config.cem.precond = MODEL_PRECOND_NONE;
        view.config.cem.eta = 1.0;
        view.config.cem.norm = c.cem.norm == MODEL_PLACE_STEP ? MODEL_PLACE_EXACT : c.cem.norm;
        for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
            double y[SIZE], g[SIZE];
            double largest = 1.0;
            dyn_map *map = NULL;
            model_gradient *d = NULL;
            TEST_OK(
                model_layer_map_create_at(&map, &view, 0, (model_layer_part)part, h, N, test_err));
            TEST_OK(model_gradient_create_layer(&d, m, 0, (model_layer_part)part, h, N, SIZE_MAX,
                                                test_err));
            map->kind->step(map, x, y);
            model_gradient_at(d, DYN_PLANE_ALL_TERMS, x, g);
            for (size_t k = 0; k < SIZE; k++) {
                largest = fmax(largest, fmax(fabs(y[k]), fabs(g[k])));
            }
            for (size_t k = 0; k < SIZE; k++) { /* sums of some 20 terms */
                assert_true(fabs(y[k] - x[k] + g[k]) <= 1e-13 * largest);
            }
            model_gradient_destroy(d);
            dyn_map_destroy(map);
        }
        free(x);
        free(h);
        model_destroy(m);
    }
}

/* ---- Curvatures ----------------------------------------------------------------------------- */

/* Second derivative along an axis of the plane at its centre by differences over h and h/2: error
 * h⁴/1440 of the sixth derivative and 90/h² roundings, 1e-8 and 1e-10 for h = 2⁻⁶. */
static double bend_at(const dyn_map *map, const dyn_plane *plane, size_t token, int axis)
{
    const double h = 0x1p-6;
    const double along[5] = {0.0, h, -h, 0.5 * h, -0.5 * h};
    const double zero[5] = {0.0};
    double e[5];
    dyn_slice_map *whole = NULL;
    TEST_OK(dyn_slice_map_create(&whole, map, plane, token, 1, test_err));
    const dyn_slice_source source = dyn_slice_map_source(whole);
    source.energies(source.context, 0, 5, axis == 0 ? along : zero, axis == 0 ? zero : along, e);
    dyn_slice_map_destroy(whole);
    const double wide = (e[1] - 2.0 * e[0] + e[2]) / (h * h);
    const double narrow = (e[3] - 2.0 * e[0] + e[4]) / (0.25 * h * h);
    return (4.0 * narrow - wide) / 3.0;
}

/* Eigenvalues of the Hessian converge and are the curvatures of the energy along their axes. */
static void check_hessian(const dyn_map *map, model_gradient *d, size_t token)
{
    const dyn_plane_energy energy = model_gradient_energy(d);
    const bool normed = map->gauge != DYN_GAUGE_NONE;
    const dyn_plane_frame frame = {.block_count = N,
                                   .block_width = D,
                                   .gauge = map->gauge,
                                   .centre = map->start,
                                   .movable = token == SIZE_MAX ? NULL : &token,
                                   .n_movable = 1,
                                   .chart = normed ? DYN_PLANE_SPHERE : DYN_PLANE_FLAT,
                                   .norm = normed ? DYN_PLANE_RELATIVE : DYN_PLANE_EUCLIDEAN};
    dyn_plane_recipe recipe = {.seed = 4, .energy = &energy};
    dyn_plane_notes notes;
    dyn_plane *plane = NULL;
    TEST_OK(dyn_plane_create(&plane, &frame, test_err));
    TEST_OK(dyn_plane_kind_find(&recipe.kind, "hessian", test_err));
    TEST_OK(dyn_plane_make(plane, &recipe, &notes, test_err));
    assert_int_equal(notes.status, KERN_OK);
    const double scale = fmax(fabs(notes.curvature[0]), fabs(notes.curvature[1]));
    for (int axis = 0; axis < 2; axis++) {
        assert_true(notes.residual[axis] <= 1e-6 * scale);
        assert_true(fabs(bend_at(map, plane, token, axis) - notes.curvature[axis]) <=
                    1e-6 * (1.0 + scale));
    }
    dyn_plane_destroy(plane);
}

static void test_curvatures_converge(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CEM_CASES; i += 5) {
        const model_config c = cem_config(i);
        model *m = test_model(&c, 0.4, 70 + i);
        double *h = test_normals(SIZE, 1.0, 3 + i);
        for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
            const size_t token = i % 2 == 0 ? SIZE_MAX : i % N;
            dyn_map *map = NULL;
            model_gradient *d = NULL;
            TEST_OK(model_layer_map_create_at(&map, m, 0, (model_layer_part)part, h, N, test_err));
            TEST_OK(model_gradient_create_layer(&d, m, 0, (model_layer_part)part, h, N, token,
                                                test_err));
            check_hessian(map, d, token);
            model_gradient_destroy(d);
            dyn_map_destroy(map);
        }
        free(h);
        model_destroy(m);
    }
}

/* ---- Refusals ------------------------------------------------------------------------------- */

static void expect(kern_status status, const model_gradient *d, const kern_error *err,
                   const char *part)
{
    assert_int_equal(status, KERN_INVALID_ARGUMENT);
    assert_null(d);
    if (strstr(err->text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err->text, part);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const model_config layers = cem_config(0);
    const model_config block = nrgpt_config(0);
    model_config half = layers;
    kern_error err = {0};
    model_gradient *d = NULL;
    half.ffn = MODEL_FFN_LLAMA;
    model *cem = test_model(&layers, 0.4, 1);
    model *nrgpt = test_model(&block, 0.4, 1);
    model *mixed = test_model(&half, 0.4, 1);
    double *h = test_normals(SIZE, 1.0, 3);
    expect(model_gradient_create(&d, nrgpt, N, N, &err), d, &err, "token 6 is not one of 6");
    expect(model_gradient_create(&d, cem, N, 0, &err), d, &err, "no energy of its tokens");
    expect(model_gradient_create_layer(&d, nrgpt, 0, MODEL_LAYER_ATTN, h, N, 0, &err), d, &err,
           "no layers");
    expect(model_gradient_create_layer(&d, cem, 2, MODEL_LAYER_ATTN, h, N, 0, &err), d, &err,
           "layer 2 is not within 0 to 1");
    expect(model_gradient_create_layer(&d, mixed, 0, MODEL_LAYER_FFN, h, N, 0, &err), d, &err,
           "part mlp of a cem layer has no energy");
    free(h);
    model_destroy(mixed);
    model_destroy(nrgpt);
    model_destroy(cem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nrgpt),
        cmocka_unit_test(test_cem),
        cmocka_unit_test(test_update_is_gradient),
        cmocka_unit_test(test_curvatures_converge),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
