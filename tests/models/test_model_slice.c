/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Energies on planes by the three-vector reduction against the graph's own energies at the same
 * states: all charts, every mask, norm and feed-forward energy, one token or all, planes of one
 * token, two and all; the parts of a CEM layer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_plane_kinds.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_parallel.h"
#include "models/model_dynamics.h"
#include "models/model_layer_map.h"
#include "models/model_slice.h"
#include "tests/models/model_test_graph.h"

enum { D = 10, N = 6, V = 9, SIZE = N * D, POINTS = 70 };

static model_config nrgpt_config(unsigned i)
{
    model_config c = model_config_default(MODEL_NRGPT);
    c.n_embed = D;
    c.n_head = 3;
    c.vocab_size = V;
    c.block_size = N;
    c.n_layer = 3;
    c.ff_hid_factor = 3;
    c.ff = i % 2 == 0 ? MODEL_FF1 : MODEL_FF2W;
    c.strict_mask = i / 2 % 2 == 0;
    c.norm = i / 4 % 2 == 0 ? MODEL_LAYERNORM : MODEL_RMSNORM;
    c.activation = (model_act)(i % 3);
    c.rank = i % 5 == 3 ? 4 : 0;
    c.gamma_trained = true;
    c.beta = i % 4 == 1 ? 0.7 : 1.0;
    c.alpha = i % 4 == 2 ? 1.3 : 1.0;
    c.norm_eps = i % 3 == 0 ? 0.3 : 1e-5;
    return c;
}

/* A plane of a random kind among the map's states: of one token, two, or all. */
static dyn_plane *plane_of(const dyn_map *map, unsigned i, size_t token, uint64_t seed)
{
    dyn_plane *plane = NULL;
    const size_t pair[2] = {token > 0 ? token - 1 : 0, token > 0 ? token : 1};
    const dyn_plane_frame frame = {.block_count = map->block_count,
                                   .block_width = map->block_width,
                                   .gauge = map->gauge,
                                   .centre = map->start,
                                   .movable = i % 3 == 0 ? &token : pair,
                                   .n_movable = i % 3 == 0 ? 1 : 2,
                                   .chart = (dyn_plane_chart)(i % DYN_PLANE_CHART_COUNT),
                                   .norm = (dyn_plane_norm)(i % 3)};
    dyn_plane_frame whole = frame;
    whole.movable = NULL;
    dyn_plane_recipe recipe = {.seed = seed, .tokens = {pair[0], pair[1]}};
    TEST_OK(dyn_plane_create(&plane, i % 3 == 2 ? &whole : &frame, test_err));
    TEST_OK(dyn_plane_kind_find(&recipe.kind, i % 3 == 1 ? "tokens" : "random", test_err));
    TEST_OK(dyn_plane_make(plane, &recipe, NULL, test_err));
    return plane;
}

/* How far points are taken from the centre: somewhat beyond the nearest rim, if there is one. */
static double reach_of(const dyn_plane *plane)
{
    double reach = 3.0;
    while (!dyn_plane_has(plane, 0.8 * reach, 0.0) || !dyn_plane_has(plane, 0.0, 0.8 * reach)) {
        reach *= 0.9;
    }
    return reach;
}

/* Largest difference from the map's own energy over points of the plane, and the largest energy.
 * Beyond a rim there is none. */
static double compare(const dyn_map *map, dyn_plane *plane, size_t token, const model_slice *slice,
                      bool single, double *largest)
{
    double a[POINTS], b[POINTS], e[POINTS], direct[POINTS];
    dyn_slice_map *whole = NULL;
    double worst = 0.0;
    size_t seen = 0;
    const double reach = reach_of(plane);
    for (size_t p = 0; p < POINTS; p++) {
        a[p] = reach * (2.0 * (double)(p * 37 % POINTS) / POINTS - 1.0);
        b[p] = reach * (2.0 * (double)(p * 11 % POINTS) / POINTS - 1.0);
    }
    TEST_OK(dyn_slice_map_create(&whole, map, plane, token, 1, test_err));
    const dyn_slice_source from = dyn_slice_map_source(whole);
    const dyn_slice_source to = model_slice_source((model_slice *)(uintptr_t)slice, single);
    from.energies(from.context, 0, POINTS, a, b, direct);
    to.energies(to.context, 0, POINTS, a, b, e);
    for (size_t p = 0; p < POINTS; p++) {
        assert_true(isfinite(direct[p]) == dyn_plane_has(plane, a[p], b[p]));
        if (!dyn_plane_has(plane, a[p], b[p])) {
            assert_true(isnan(direct[p]) && isnan(e[p]));
            continue;
        }
        seen++;
        worst = e[p] - direct[p] <= (double)INFINITY ? fmax(worst, fabs(e[p] - direct[p]))
                                                     : (double)INFINITY;
        *largest = fmax(*largest, fabs(direct[p]));
    }
    assert_true(seen >= POINTS / 4);
    assert_true((seen < POINTS) == (plane->chart == DYN_PLANE_ORTHOGRAPHIC));
    dyn_slice_map_destroy(whole);
    return worst;
}

static void check_slice(const dyn_map *map, dyn_plane *plane, size_t token, model_slice *slice)
{
    double largest = 1.0;
    const double worst = compare(map, plane, token, slice, false, &largest);
    if (!(worst <= 1e-12 * largest)) {
        fail_msg("off by %g where energies reach %g", worst, largest);
    }
    const double rough = compare(map, plane, token, slice, true, &largest);
    assert_true(rough <= 1e-4 * largest);
    assert_true(rough > 0.0 || largest == 1.0);
}

static void test_nrgpt(void **state)
{
    (void)state;
    int32_t *ids = test_ids(N, V, 5);
    for (unsigned i = 0; i < 48; i++) {
        const model_config c = nrgpt_config(i);
        model *m = test_model(&c, 0.4, 10 + i);
        dyn_map *map = NULL;
        TEST_OK(model_dynamics_create(&map, m, ids, N, test_err));
        for (unsigned k = 0; k < 6; k++) {
            const size_t token = (i + k) % N;
            const size_t asked = k == 5 ? MODEL_SLICE_SUM : k == 4 ? N - 1 : token;
            dyn_plane *plane = plane_of(map, i + k, token, 100 + i);
            model_slice *slice = NULL;
            TEST_OK(model_slice_create(&slice, m, plane, asked, 2, test_err));
            check_slice(map, plane, asked, slice);
            model_slice_destroy(slice);
            dyn_plane_destroy(plane);
        }
        dyn_map_destroy(map);
        model_destroy(m);
    }
    free(ids);
}

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
    c.rope = (model_rope)(i % 3);
    c.cem.diag = (model_diag)(i / 2 % 3);
    c.cem.mlp = (model_mlp)(i % 2);
    c.cem.norm = (model_place)(i / 3 % 3);
    c.cem.confine = i % 4 == 2 ? 0.3 : 0;
    return c;
}

static void test_cem(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 36; i++) {
        const model_config c = cem_config(i);
        model *m = test_model(&c, 0.4, 70 + i);
        double *h = test_normals(SIZE, 1.0, 3 + i);
        const model_layer_part part = i / 9 % 2 == 0 ? MODEL_LAYER_ATTN : MODEL_LAYER_FFN;
        dyn_map *map = NULL;
        TEST_OK(model_layer_map_create_at(&map, m, i % 2, part, h, N, test_err));
        for (unsigned k = 0; k < 4; k++) {
            const size_t token = (i + k) % N;
            const size_t asked = k == 3 ? MODEL_SLICE_SUM : token;
            dyn_plane *plane = plane_of(map, i + k, token, 100 + i);
            model_slice *slice = NULL;
            TEST_OK(model_slice_create_layer(&slice, m, i % 2, part, h, plane, asked, 1, test_err));
            check_slice(map, plane, asked, slice);
            model_slice_destroy(slice);
            dyn_plane_destroy(plane);
        }
        dyn_map_destroy(map);
        free(h);
        model_destroy(m);
    }
}

/* A field is the same bit for bit whatever the number of workers, and one energy is its cell. */
static void test_workers(void **state)
{
    (void)state;
    const model_config c = nrgpt_config(1);
    model *m = test_model(&c, 0.4, 1);
    int32_t *ids = test_ids(N, V, 5);
    dyn_map *map = NULL;
    dyn_slice_field fields[2];
    const dyn_slice_range range = {-2.0, 2.0, -1.0, 1.0};
    TEST_OK(model_dynamics_create(&map, m, ids, N, test_err));
    dyn_plane *plane = plane_of(map, 2, 4, 9);
    model_slice *slice = NULL;
    TEST_OK(model_slice_create(&slice, m, plane, 4, 3, test_err));
    for (int i = 0; i < 2; i++) {
        const dyn_slice_source source = model_slice_source(slice, false);
        TEST_OK(dyn_slice_field_init(&fields[i], 33, 17, &range, test_err));
        TEST_OK(dyn_slice_compute(&fields[i], &source, i == 0 ? 1 : 8, NULL, NULL, test_err));
    }
    assert_memory_equal(fields[0].values, fields[1].values, 33 * 17 * sizeof(double));
    assert_int_equal(fields[0].n_finite, 33 * 17);
    assert_true(fields[0].values[5 * 33 + 7] == model_slice_energy(slice,
                                                                   dyn_slice_field_a(fields, 7),
                                                                   dyn_slice_field_b(fields, 5)));
    dyn_slice_field_fini(&fields[0]);
    dyn_slice_field_fini(&fields[1]);
    model_slice_destroy(slice);
    dyn_plane_destroy(plane);
    dyn_map_destroy(map);
    free(ids);
    model_destroy(m);
}

/* Energies that are not numbers come out as such. */
static void test_not_finite(void **state)
{
    (void)state;
    const model_config c = nrgpt_config(0);
    model *m = test_model(&c, 0.4, 1);
    int32_t *ids = test_ids(N, V, 5);
    dyn_map *map = NULL;
    model_slice *slice = NULL;
    TEST_OK(model_dynamics_create(&map, m, ids, N, test_err));
    dyn_plane *plane = plane_of(map, 0, 3, 9);
    TEST_OK(model_slice_create(&slice, m, plane, 3, 1, test_err));
    assert_true(isnan(model_slice_energy(slice, (double)NAN, 0.0)));
    model_slice_destroy(slice);
    dyn_plane_destroy(plane);
    dyn_map_destroy(map);
    free(ids);
    model_destroy(m);
}

static void refuse(model_config c, bool cem, size_t token, const char *part)
{
    kern_error err = {0};
    dyn_map *map = NULL;
    model_slice *slice = NULL;
    model *m = test_model(&c, 0.4, 1);
    int32_t *ids = test_ids(N, V, 5);
    double *h = test_normals(SIZE, 1.0, 3);
    if (cem) {
        TEST_OK(model_layer_map_create_at(&map, m, 0, MODEL_LAYER_ATTN, h, N, test_err));
    } else {
        TEST_OK(model_dynamics_create(&map, m, ids, N, test_err));
    }
    dyn_plane *plane = plane_of(map, 0, 2, 9);
    const kern_status status =
        cem ? model_slice_create_layer(&slice, m, 0, MODEL_LAYER_ATTN, h, plane, token, 1, &err)
            : model_slice_create(&slice, m, plane, token, 1, &err);
    assert_int_equal(status, KERN_INVALID_ARGUMENT);
    assert_null(slice);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
    }
    dyn_plane_destroy(plane);
    dyn_map_destroy(map);
    free(h);
    free(ids);
    model_destroy(m);
}

static void test_refusals(void **state)
{
    (void)state;
    model_config ff2 = nrgpt_config(0);
    model_config sync = cem_config(0);
    ff2.ff = MODEL_FF2;
    sync.cem.hist = MODEL_HIST_SYNC;
    refuse(ff2, false, 2, "ff2 has no reduced form");
    refuse(nrgpt_config(0), false, N, "token 6 is not within 0 to 5");
    refuse(sync, true, 2, "synchronous history");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nrgpt),    cmocka_unit_test(test_cem),
        cmocka_unit_test(test_workers),  cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
