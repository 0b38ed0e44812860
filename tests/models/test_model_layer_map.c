/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of layers as maps: their orbits are the model's own iterates, their energies the model's,
 * and their tangents what differences and transposes say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_layer_map.h"
#include "models/model_layer_trace.h"
#include "tests/models/model_test_graph.h"

enum { D = 8, N = 5, V = 9, SIZE = N * D };

static model_config config_of(unsigned i)
{
    model_config c = model_config_default(i % 5 == 4 ? MODEL_HOURGLASS : MODEL_CEM);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = V;
    c.block_size = N + 1;
    c.n_layer = 2;
    c.n_hidden = 6;
    c.rope = (model_rope)(i % 3);
    c.cem.diag = (model_diag)(i / 2 % 3);
    c.cem.mlp = (model_mlp)(i % 2);
    c.cem.precond = (model_precond)(i / 3 % 3);
    c.cem.p_rank = 2;
    c.cem.hist = (model_hist)(i / 7 % 2);
    c.cem.norm = (model_place)(i / 4 % 3);
    c.cem.t_attn = 3;
    c.cem.t_mlp = 3;
    c.cem.eta = 0.8;
    c.cem.confine = i % 4 == 2 ? 0.3 : 0;
    return c;
}

/* The model's own iterates and energies at the prompt. */
static void run_model(test_machine *k, const model *m, const int32_t *ids)
{
    const model_graph_options o = {.batch = 1,
                                   .tokens = N,
                                   .steps = m->config.n_layer,
                                   .start = MODEL_START_TOKENS,
                                   .energies = true,
                                   .keep_steps = true,
                                   .keep_inner = true};
    test_machine_init(k, m, &o, (test_plan){.mode = KERN_MODE_FORWARD});
    k->run.bindings.index[MODEL_SLOT_TOKENS] = ids;
    kern_exec_forward(k->exec, &k->run);
}

static double distance(const double *a, const double *b, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(a[i] - b[i]));
        assert_true(a[i] - b[i] <= (double)INFINITY); /* no NaN */
    }
    return largest;
}

static void check_descent(dyn_map *map, const test_machine *k, const model_inner *inner)
{
    double x[SIZE];
    double energies[N];
    memcpy(x, map->start, sizeof x);
    for (size_t t = 0; t < inner->count; t++) {
        double sum = 0;
        assert_true(distance(x, test_value(k, inner->x[t]), SIZE) <= 1e-12);
        map->kind->block_energies(map, x, energies);
        assert_true(distance(energies, test_value(k, inner->energy[t]), N) <= 1e-12);
        for (size_t i = 0; i < N; i++) {
            sum += energies[i];
        }
        assert_true(fabs(map->kind->energy(map, x) - sum) <= 1e-13 * (1 + fabs(sum)));
        map->kind->step(map, x, x);
    }
}

static void test_orbits_are_the_model_s(void **state)
{
    (void)state;
    int32_t *ids = test_ids(N, V, 5);
    for (unsigned i = 0; i < 15; i++) {
        const model_config c = config_of(i);
        model *m = test_model(&c, 0.4, 10 + i);
        test_machine k;
        run_model(&k, m, ids);
        for (size_t l = 0; l < 2; l++) {
            for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
                dyn_map *map = NULL;
                double y[SIZE];
                TEST_OK(
                    model_layer_map_create(&map, m, l, (model_layer_part)part, ids, N, test_err));
                assert_int_equal(map->block_count, N);
                assert_int_equal(model_layer_map_steps(m, (model_layer_part)part),
                                 c.family == MODEL_CEM ? 3 : 1);
                if (c.family == MODEL_CEM) {
                    check_descent(map, &k, &k.graph.inner[l * MODEL_LAYER_PARTS + part]);
                } else if (part == MODEL_LAYER_FFN) {
                    map->kind->step(map, map->start, y);
                    assert_true(distance(y, test_value(&k, k.graph.states[l + 1]), SIZE) <= 1e-12);
                    assert_null(map->kind->energy);
                }
                dyn_map_destroy(map);
            }
        }
        test_machine_fini(&k);
        model_destroy(m);
    }
    free(ids);
}

/* ⟨w, Jv⟩ = ⟨Jᵀw, v⟩, and J v against differences, at step_scale 1 and 0.3; blocks where tokens do
 * not see each other's moves. */
static void check_tangents(dyn_map *map, bool own, uint64_t seed)
{
    double *v = test_normals(SIZE, 1.0, seed);
    double *w = test_normals(SIZE, 1.0, seed + 1);
    double *x = test_normals(SIZE, 1.0, seed + 2);
    double jv[SIZE];
    double jtw[SIZE];
    double y[4][SIZE];
    const double h = 4e-4;
    map->kind->jvp(map, x, v, NULL, jv);
    map->kind->vjp(map, x, w, jtw);
    const double left = test_dot(w, jv, SIZE);
    assert_true(fabs(left - test_dot(jtw, v, SIZE)) <= 1e-12 * (1 + fabs(left)));
    for (int side = 0; side < 4; side++) {
        double at[SIZE];
        const double t = (side % 2 == 0 ? h : -h) * (side < 2 ? 1 : 0.5);
        for (size_t i = 0; i < SIZE; i++) {
            at[i] = x[i] + t * v[i];
        }
        map->kind->step(map, at, y[side]);
    }
    for (size_t i = 0; i < SIZE; i++) {
        const double slope = (8 * (y[2][i] - y[3][i]) - (y[0][i] - y[1][i])) / (6 * h);
        assert_true(fabs(slope - jv[i]) <= 2e-8 * (1 + fabs(jv[i])));
    }
    map->kind->jvp_blocks(map, x, 1, v, y[0], jtw);
    assert_true(!own || distance(jtw, jv, SIZE) <= 1e-13);
    free(v);
    free(w);
    free(x);
}

static void test_tangents(void **state)
{
    (void)state;
    int32_t *ids = test_ids(N, V, 5);
    for (unsigned i = 0; i < 15; i++) {
        const model_config c = config_of(i);
        model *m = test_model(&c, 0.3, 40 + i);
        for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
            const bool own = part == MODEL_LAYER_FFN ||
                             (c.family == MODEL_CEM && c.cem.hist == MODEL_HIST_FIXED);
            dyn_map *map = NULL;
            TEST_OK(model_layer_map_create(&map, m, 1, (model_layer_part)part, ids, N, test_err));
            check_tangents(map, own, 100 + i);
            TEST_OK(dyn_map_set_param(map, "step_scale", 0.3, test_err));
            check_tangents(map, own, 200 + i);
            dyn_map_destroy(map);
        }
        model_destroy(m);
    }
    free(ids);
}

/* Slope of the energy along v, by differences over two distances. */
static double energy_slope(dyn_map *map, const double *x, const double *v)
{
    const double h = 1e-3;
    double e[4];
    for (int side = 0; side < 4; side++) {
        double at[SIZE];
        for (size_t i = 0; i < SIZE; i++) {
            at[i] = x[i] + (side % 2 == 0 ? h : -h) * (side < 2 ? 1 : 0.5) * v[i];
        }
        e[side] = map->kind->energy(map, at);
    }
    return (8 * (e[2] - e[3]) - (e[0] - e[1])) / (6 * h);
}

/* Where nothing stands between the gradient and the step, F(x) − x = −η ∇ε(x). */
static void test_steps_follow_the_energy(void **state)
{
    (void)state;
    int32_t *ids = test_ids(N, V, 5);
    double *v = test_normals(SIZE, 1.0, 1);
    double *x = test_normals(SIZE, 1.0, 2);
    for (unsigned i = 0; i < 12; i++) {
        model_config c = config_of(i % 4);
        c.rope = i % 2 == 0 ? MODEL_ROPE_EXACT : MODEL_ROPE_NONE;
        c.cem.precond = MODEL_PRECOND_NONE;
        c.cem.hist = MODEL_HIST_FIXED;
        c.cem.norm = i / 2 % 2 == 0 ? MODEL_PLACE_EXACT : MODEL_PLACE_ONCE;
        c.cem.diag = (model_diag)(i % 3);
        c.cem.confine = i / 4 * 0.5;
        model *m = test_model(&c, 0.4, 80 + i);
        for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
            dyn_map *map = NULL;
            double y[SIZE];
            double along = 0;
            TEST_OK(model_layer_map_create(&map, m, 1, (model_layer_part)part, ids, N, test_err));
            map->kind->step(map, x, y);
            for (size_t k = 0; k < SIZE; k++) {
                along -= (y[k] - x[k]) * v[k] / c.cem.eta;
            }
            assert_true(fabs(energy_slope(map, x, v) - along) <= 1e-8 * (1 + fabs(along)));
            dyn_map_destroy(map);
        }
        model_destroy(m);
    }
    free(v);
    free(x);
    free(ids);
}

/* A clone has the history, the start and the parameter of its map. */
static void test_clones(void **state)
{
    (void)state;
    int32_t *ids = test_ids(N, V, 5);
    const model_config c = config_of(0);
    model *m = test_model(&c, 0.4, 3);
    for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
        dyn_map *map = NULL;
        dyn_map *other = NULL;
        double y[2][SIZE];
        TEST_OK(model_layer_map_create(&map, m, 0, (model_layer_part)part, ids, N, test_err));
        map->kind->step(map, map->start, y[0]);
        TEST_OK(dyn_map_set_param(map, "step_scale", 0.7, test_err));
        map->kind->step(map, map->start, y[1]);
        for (size_t i = 0; i < SIZE; i++) { /* x + 0.7 (F(x) - x) */
            y[0][i] = map->start[i] + 0.7 * (y[0][i] - map->start[i]);
        }
        assert_true(distance(y[0], y[1], SIZE) <= 1e-14);
        TEST_OK(map->kind->clone(&other, map, test_err));
        dyn_map_iterate(map, map->start, 4, y[0]);
        dyn_map_destroy(map);
        dyn_map_iterate(other, other->start, 4, y[1]);
        assert_memory_equal(y[0], y[1], sizeof y[0]);
        dyn_map_destroy(other);
    }
    model_destroy(m);
    free(ids);
}

/* A norm in every step takes the scale away: the update at 3x is that at x. */
static void test_gauge(void **state)
{
    (void)state;
    int32_t *ids = test_ids(N, V, 5);
    for (unsigned i = 0; i < 15; i++) {
        model_config c = config_of(i);
        c.norm_eps = 0;
        c.hourglass.norm = (model_sandglass)(i % 4);
        c.hourglass.parallel = i % 2 == 0;
        model *m = test_model(&c, 0.3, 7);
        for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
            dyn_map *map = NULL;
            double *x = test_normals(SIZE, 1.0, i);
            double y[2][SIZE];
            TEST_OK(model_layer_map_create(&map, m, 0, (model_layer_part)part, ids, N, test_err));
            for (int side = 0; side < 2; side++) {
                map->kind->step(map, x, y[side]);
                for (size_t k = 0; k < SIZE; k++) {
                    y[side][k] -= x[k];
                    x[k] *= 3;
                }
            }
            const bool same = distance(y[0], y[1], SIZE) <= 1e-11;
            assert_int_equal(same, map->gauge == DYN_GAUGE_SCALE);
            free(x);
            dyn_map_destroy(map);
        }
        model_destroy(m);
    }
    free(ids);
}

/* Energies and states of a trace are those along the map of the part, whose input is the trained
 * model's, however many steps either takes. */
static void check_trace(const model *m, const int32_t *ids, const model_layer_trace *trace,
                        size_t layer, model_layer_part part)
{
    const size_t states = trace->states[part];
    const double *energy = model_layer_trace_energy(trace, layer, part);
    double x[SIZE], energies[N];
    dyn_map *map = NULL;
    TEST_OK(model_layer_map_create(&map, m, layer, part, ids, N, test_err));
    memcpy(x, map->start, sizeof x);
    for (size_t t = 0; t < states; t++) {
        map->kind->block_energies(map, x, energies);
        for (size_t token = 0; token < N; token++) {
            const size_t at = token * states + t;
            const double *row = trace->x[part] + (layer * N * states + at) * D;
            double size = 1;
            for (size_t k = 0; k < D; k++) {
                size = fmax(size, fabs(row[k]));
            }
            assert_true(fabs(energy[at] - energies[token]) <= 1e-11 * (1 + fabs(energy[at])));
            assert_true(distance(row, x + token * D, D) <= 1e-11 * size);
        }
        map->kind->step(map, x, x);
    }
    dyn_map_destroy(map);
}

static void test_trace_follows_the_maps(void **state)
{
    static const size_t steps[][MODEL_LAYER_PARTS] = {{7, 5}, {4, 9}, {1, 2}, {0, 0}};
    (void)state;
    int32_t *ids = test_ids(N, V, 5);
    for (unsigned i = 0; i < 16; i++) {
        model_config c = config_of(i + i / 4); /* those of CEM */
        c.attn = i / 4 == 3 ? MODEL_ATTN_LLAMA : MODEL_ATTN_CEM;
        model *m = test_model(&c, 0.3, 20 + i);
        model_layer_trace *trace = NULL;
        const size_t *asked = steps[i / 4];
        TEST_OK(model_layer_trace_create(&trace, m, ids, N, asked[MODEL_LAYER_ATTN],
                                         asked[MODEL_LAYER_FFN], test_err));
        for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
            const size_t own = model_layer_map_steps(m, (model_layer_part)part);
            const bool descent = part == MODEL_LAYER_FFN || c.attn == MODEL_ATTN_CEM;
            assert_int_equal(trace->states[part],
                             descent ? (asked[part] != 0 ? asked[part] : own) + 1 : 0);
            for (size_t l = 0; descent && l < 2; l++) {
                check_trace(m, ids, trace, l, (model_layer_part)part);
            }
        }
        model_layer_trace_destroy(trace);
        model_destroy(m);
    }
    free(ids);
}

/* A trace holds the model's own iterates and energies in their places, and counts what rises. */
static void test_trace(void **state)
{
    (void)state;
    int32_t *ids = test_ids(N, V, 5);
    for (unsigned i = 0; i < 4; i++) {
        model_config c = config_of(i);
        c.attn = i == 3 ? MODEL_ATTN_LLAMA : MODEL_ATTN_CEM;
        model *m = test_model(&c, 0.6, 20 + i);
        test_machine k;
        model_layer_trace *trace = NULL;
        size_t rises = 0;
        run_model(&k, m, ids);
        TEST_OK(model_layer_trace_create(&trace, m, ids, N, 0, 0, test_err));
        assert_int_equal(trace->states[MODEL_LAYER_ATTN], i == 3 ? 0 : 4);
        for (size_t l = 0; l < 2; l++) {
            for (unsigned part = 0; part < MODEL_LAYER_PARTS; part++) {
                const size_t states = trace->states[part];
                const model_inner *inner = &k.graph.inner[l * MODEL_LAYER_PARTS + part];
                const double *energy = model_layer_trace_energy(trace, l, (model_layer_part)part);
                for (size_t at = 0; at < N * states; at++) {
                    const size_t token = at / states;
                    const size_t t = at % states;
                    const double value = test_value(&k, inner->energy[t])[token];
                    assert_true(fabs(energy[at] - value) <= 1e-13 * (1 + fabs(value)));
                    assert_true(distance(trace->x[part] + ((l * N + token) * states + t) * D,
                                         test_value(&k, inner->x[t]) + token * D, D) <= 1e-13);
                    rises += t > 0 && energy[at] > energy[at - 1];
                }
            }
        }
        assert_int_equal(trace->n_rising, rises);
        assert_int_equal(trace->n_steps, 2 * N * 3 * (i == 3 ? 1 : 2));
        model_layer_trace_destroy(trace);
        test_machine_fini(&k);
        model_destroy(m);
    }
    free(ids);
}

static void test_refusals(void **state)
{
    (void)state;
    int32_t ids[] = {0, 1, 2, 3, 4, 5, 6};
    const model_config c = config_of(0);
    const model_config early = model_config_default(MODEL_NRGPT);
    model *m = test_model(&c, 0.4, 3);
    model *nrgpt = test_model(&early, 0.1, 3);
    dyn_map *map = NULL;
    kern_error err = {0};
    assert_int_equal(model_layer_map_create(&map, nrgpt, 0, MODEL_LAYER_ATTN, ids, 2, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "family nrgpt has no layers"));
    assert_int_equal(model_layer_map_create(&map, m, 2, MODEL_LAYER_ATTN, ids, 2, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "layer 2 is not within 0 to 1"));
    assert_int_equal(model_layer_map_create(&map, m, 0, MODEL_LAYER_ATTN, ids, 7, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "7 tokens is not within 1 to the model's block of 6"));
    ids[1] = V;
    assert_int_equal(model_layer_map_create(&map, m, 0, MODEL_LAYER_ATTN, ids, 2, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "token 1 has id 9, accepted are 0 to 8"));
    assert_null(map);
    model_layer_trace *trace = NULL;
    assert_int_equal(model_layer_trace_create(&trace, nrgpt, ids, 2, 0, 0, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "family nrgpt has no energy to trace"));
    ids[1] = 0;
    assert_int_equal(model_layer_trace_create(&trace, m, ids, 2, 0, 2000, &err),
                     KERN_INVALID_ARGUMENT);
    assert_null(trace);
    model_layer_part part = MODEL_LAYER_ATTN;
    assert_int_equal(model_layer_part_parse(&part, "mlp", &err), KERN_OK);
    assert_int_equal(part, MODEL_LAYER_FFN);
    assert_int_equal(model_layer_part_parse(&part, "norm", &err), KERN_INVALID_ARGUMENT);
    assert_string_equal(model_layer_part_word(MODEL_LAYER_ATTN), "attn");
    model_destroy(m);
    model_destroy(nrgpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orbits_are_the_model_s),
        cmocka_unit_test(test_tangents),
        cmocka_unit_test(test_steps_follow_the_energy),
        cmocka_unit_test(test_clones),
        cmocka_unit_test(test_gauge),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_trace_follows_the_maps),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
