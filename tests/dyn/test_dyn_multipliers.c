/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Multipliers of fixed points and cycles: closed forms, identities, blocks, and what goes wrong.
 */
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_multipliers.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_fault_maps.h"

#include <stdlib.h>

static dyn_multipliers compute(dyn_map *map, const double *states, const dyn_multipliers_options *o)
{
    dyn_multipliers out;
    kern_error err = {0};
    if (dyn_multipliers_init(&out, map, states, o, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return out;
}

/* ---- Closed forms ------------------------------------------------------------------------- */

/* Published digits are 12, so the tolerance is 1e-12 times the size of the multiplier. */
static void test_planar_points(void **state)
{
    static const struct {
        const char *name, *assignment;
        double x, y;
        double re[2], im[2];
    } cases[] = {
        {"henon",
         NULL,
         0.631354477089505,
         0.189406343126851,
         {-1.923738858153409, 0.155946322302793},
         {0, 0}},
        {"henon",
         NULL,
         -1.131354477089505,
         -0.339406343126851,
         {3.259822097891452, -0.092029562041088},
         {0, 0}},
        {"lozi", NULL, 1 / 2.2, 0.5 / 2.2, {-1.955667219374820, 0.255667219374820}, {0, 0}},
        {"lozi", NULL, -1 / 1.2, -0.5 / 1.2, {1.955667219374820, -0.255667219374820}, {0, 0}},
        {"standard", "k=0.971635", 0, 0, {2.584750456693, 0.386884543307}, {0, 0}},
        {"standard", "k=1.5", 0, 0, {3.186140661634507, 0.313859338365493}, {0, 0}},
        {"delayed-logistic", "r=2", 0.5, 0.5, {0.5, 0.5}, {0.866025403784439, -0.866025403784439}},
        {"cat", NULL, 0, 0, {2.618033988749895, 0.381966011250105}, {0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = dyn_test_named(cases[i].name, cases[i].assignment, NULL, NULL);
        const double at[2] = {cases[i].x, cases[i].y};
        dyn_multipliers_options o = dyn_multipliers_options_default();
        o.vectors = true;
        dyn_multipliers m = compute(map, at, &o);
        const dyn_multipliers_block *b = &m.blocks[0];
        assert_true(m.status == KERN_OK && m.n_blocks == 1 && b->n == 2 && m.period == 1);
        for (size_t j = 0; j < 2; j++) {
            MAPS_CLOSE(b->re[j], cases[i].re[j], 4e-12);
            MAPS_CLOSE(b->im[j], cases[i].im[j], 4e-12);
            assert_true(b->residuals[j] < 1e-14);
        }
        MAPS_CLOSE(m.spectral_radius, hypot(cases[i].re[0], cases[i].im[0]), 4e-12);
        dyn_multipliers_fini(&m);
        dyn_map_destroy(map);
    }
}

/* The sink of the Ikeda map: 8 published digits of the point, 6 of the multipliers, and modulus 0.9
 * exactly at the fixed point, since the determinant is 0.81 everywhere. */
static void test_ikeda_sink(void **state)
{
    dyn_map *map = dyn_test_named("ikeda", "u=0.9", NULL, NULL);
    double x[2] = {2.97213162, 4.14594642};
    dyn_multipliers_options o = dyn_multipliers_options_default();
    (void)state;
    dyn_map_iterate(map, x, 400, x);
    MAPS_CLOSE(x[0], 2.97213162, 1e-8);
    MAPS_CLOSE(x[1], 4.14594642, 1e-8);
    dyn_multipliers m = compute(map, x, &o);
    MAPS_CLOSE(m.blocks[0].re[0], 0.851719, 1e-6);
    MAPS_CLOSE(m.blocks[0].im[0], 0.290816, 1e-6);
    MAPS_CLOSE(m.spectral_radius, 0.9, 1e-12);
    assert_true(m.stable);
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
}

/* Gradient descent on a quadratic has 1 − ηλ, and flips at η = 2/λ_max. */
static void test_quadratic(void **state)
{
    static const struct {
        const char *eta;
        double values[3]; /* by descending modulus */
        bool stable;
    } cases[] = {{"eta=0.399", {-0.995, 0.601, 0.8005}, true},
                 {"eta=0.401", {-1.005, 0.599, 0.7995}, false}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        dyn_map *map = dyn_test_named("quadratic", cases[i].eta, "lambda=5,1,0.5", NULL);
        dyn_multipliers_options o = dyn_multipliers_options_default();
        dyn_multipliers m = compute(map, map->start, &o);
        MAPS_CLOSE(m.blocks[0].re[0], cases[i].values[0], 1e-14);
        MAPS_CLOSE(m.blocks[0].re[1], cases[i].values[2], 1e-14);
        MAPS_CLOSE(m.blocks[0].re[2], cases[i].values[1], 1e-14);
        assert_true(m.stable == cases[i].stable);
        /* A normal matrix grows by its radius, so the first power decides while it shrinks. */
        MAPS_CLOSE(m.blocks[0].transient_growth, cases[i].stable ? 0.995 : pow(1.005, 20), 1e-12);
        assert_int_equal(m.blocks[0].transient_step, cases[i].stable ? 1 : 20);
        dyn_multipliers_fini(&m);
        dyn_map_destroy(map);
    }
}

/* (π, 0) of the standard map is elliptic until K = 4. */
static void test_standard_centre(void **state)
{
    static const double centre[2] = {3.14159265358979323846, 0};
    dyn_multipliers_options o = dyn_multipliers_options_default();
    (void)state;
    dyn_map *map = dyn_test_named("standard", "k=3.99", NULL, NULL);
    dyn_multipliers m = compute(map, centre, &o);
    MAPS_CLOSE(m.spectral_radius, 1.0, 1e-12);
    assert_true(m.blocks[0].im[0] > 0.05 && m.blocks[0].im[1] == -m.blocks[0].im[0]);
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
    map = dyn_test_named("standard", "k=4.01", NULL, NULL);
    m = compute(map, centre, &o);
    assert_true(m.blocks[0].re[0] < -1.05 && m.blocks[0].im[0] == 0.0);
    MAPS_CLOSE(m.blocks[0].re[0] * m.blocks[0].re[1], 1.0, 1e-12);
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
}

/* A cycle of the logistic map: 4 + 2r − r² for the pair at r = 3.2. */
static void test_two_cycle(void **state)
{
    dyn_map *map = dyn_test_named("logistic", "r=3.2", NULL, NULL);
    const double r = 3.2;
    const double root = sqrt((r - 3.0) * (r + 1.0));
    const double states[2] = {(r + 1.0 + root) / (2.0 * r), (r + 1.0 - root) / (2.0 * r)};
    dyn_multipliers_options o = dyn_multipliers_options_default();
    (void)state;
    o.period = 2;
    o.vectors = true;
    dyn_multipliers m = compute(map, states, &o);
    MAPS_CLOSE(m.blocks[0].re[0], 4.0 + 2.0 * r - r * r, 1e-13);
    assert_true(m.blocks[0].residuals[0] <= 1e-15 && fabs(m.blocks[0].vectors[0]) == 1.0);
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
}

/* ---- Order and vectors -------------------------------------------------------------------- */

/* A matrix of known spectrum: pairs stay together and descend, vectors follow their multipliers,
 * and ‖J v − μ v‖ is at rounding. */
static void test_order(void **state)
{
    enum { N = 9 };
    /* Rotations by different angles with equal moduli, and reals in between. */
    static const double pairs[3][2] = {{0.6, 0.8}, {0.8, 0.6}, {0.3, 0.4}};
    static const double reals[3] = {-1.0, 0.75, -0.25};
    static const double re[N] = {0.8, 0.8, 0.6, 0.6, -1.0, 0.75, 0.3, 0.3, -0.25};
    static const double im[N] = {0.6, -0.6, 0.8, -0.8, 0, 0, 0.4, -0.4, 0};
    double d[N * N] = {0};
    double matrix[N * N];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        d[2 * i * N + 2 * i] = d[(2 * i + 1) * N + 2 * i + 1] = pairs[i][0];
        d[2 * i * N + 2 * i + 1] = -pairs[i][1];
        d[(2 * i + 1) * N + 2 * i] = pairs[i][1];
        d[(6 + i) * N + 6 + i] = reals[i];
    }
    /* S D S⁻¹ with S adding half of row i + 1 to row i, one after another. */
    memcpy(matrix, d, sizeof d);
    for (size_t i = 0; i + 1 < N; i++) {
        for (size_t j = 0; j < N; j++) {
            matrix[i * N + j] += 0.5 * matrix[(i + 1) * N + j];
        }
        for (size_t j = 0; j < N; j++) {
            matrix[j * N + i + 1] -= 0.5 * matrix[j * N + i];
        }
    }
    dyn_map *map = dyn_test_linear(N, matrix, 1);
    dyn_multipliers_options o = dyn_multipliers_options_default();
    o.vectors = true;
    dyn_multipliers m = compute(map, map->start, &o);
    for (size_t i = 0; i < N; i++) {
        /* Equal moduli differ by rounding, so the first two pairs and −1 come in any order. */
        bool found = false;
        for (size_t j = 0; j < N; j++) {
            found = found || hypot(m.blocks[0].re[i] - re[j], m.blocks[0].im[i] - im[j]) < 1e-13;
        }
        assert_true(found);
        assert_true(m.blocks[0].residuals[i] < 1e-14);
        assert_true(!(m.blocks[0].im[i] > 0.0) || m.blocks[0].im[i + 1] == -m.blocks[0].im[i]);
    }
    for (size_t i = 5; i < N; i++) {
        MAPS_CLOSE(m.blocks[0].re[i], re[i], 1e-13);
    }
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
}

/* ---- Blocks ------------------------------------------------------------------------------- */

/* Strong coupling below the diagonal blocks, which a dense decomposition of the whole would feel,
 * does not touch the blocks' multipliers. A Jordan-like block of radius ½ grows before it decays:
 * the powers are known, [[μ^m, m c μ^{m−1}], [0, μ^m]]. */
static void test_blocks(void **state)
{
    enum { N = 6, BLOCKS = 3 };
    static const double diagonal[BLOCKS][4] = {
        {0.5, 10.0, 0.0, 0.5}, {0.3, -0.7, 0.7, 0.3}, {0.9, 0.0, 0.0, -0.2}};
    double matrix[N * N] = {0};
    double below[N * N];
    dyn_multipliers_options o = dyn_multipliers_options_default();
    (void)state;
    dyn_test_fill(below, N * N, 5);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            if (i / 2 == j / 2) {
                matrix[i * N + j] = diagonal[i / 2][i % 2 * 2 + j % 2];
            } else if (j < i) {
                matrix[i * N + j] = 1e4 * below[i * N + j];
            }
        }
    }
    dyn_map *map = dyn_test_linear(N, matrix, BLOCKS);
    dyn_multipliers m = compute(map, map->start, &o);
    assert_true(m.n_blocks == BLOCKS && m.stable);
    MAPS_CLOSE(m.spectral_radius, 0.9, 1e-14);
    MAPS_CLOSE(m.blocks[0].spectral_radius, 0.5, 1e-7);
    MAPS_CLOSE(m.blocks[1].re[0], 0.3, 1e-14);
    MAPS_CLOSE(m.blocks[1].im[0], 0.7, 1e-14);
    MAPS_CLOSE(m.blocks[1].im[1], -0.7, 1e-14);
    MAPS_CLOSE(m.blocks[2].re[0], 0.9, 1e-14);
    MAPS_CLOSE(m.blocks[2].re[1], -0.2, 1e-14);
    /* ‖[[a, b], [0, a]]‖₂ = b/2 + √(b²/4 + a²); m c μ^{m−1} is 10 at both m = 1 and m = 2. */
    MAPS_CLOSE(m.blocks[0].transient_growth, 5.0 + sqrt(25.0 + 0.25), 1e-12);
    assert_int_equal(m.blocks[0].transient_step, 1);
    MAPS_CLOSE(m.blocks[1].transient_growth, hypot(0.3, 0.7), 1e-14);
    dyn_multipliers_fini(&m);
    o.block = 1;
    o.vectors = true;
    m = compute(map, map->start, &o);
    assert_true(m.n_blocks == 1 && m.blocks[0].block == 1);
    MAPS_CLOSE(m.spectral_radius, hypot(0.3, 0.7), 1e-14);
    assert_true(m.blocks[0].residuals[0] < 1e-15);
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
}

/* Along a cycle the diagonal blocks multiply; the driver's 2-cycle at r = 4 is (5 ± √5)/8. */
static void test_blocks_of_a_cycle(void **state)
{
    dyn_map *map = dyn_test_driven(0.5, 0.4);
    const double low = (5.0 - sqrt(5.0)) / 8.0;
    const double high = (5.0 + sqrt(5.0)) / 8.0;
    const double states[4] = {low, 0.1, high, 0.2};
    dyn_multipliers_options o = dyn_multipliers_options_default();
    (void)state;
    o.period = 2;
    o.vectors = true;
    dyn_multipliers m = compute(map, states, &o);
    MAPS_CLOSE(m.blocks[0].re[0], -4.0, 1e-13);
    MAPS_CLOSE(m.blocks[1].re[0], (0.5 + 0.4 * low) * (0.5 + 0.4 * high), 1e-15);
    MAPS_CLOSE(m.blocks[1].residuals[0], 0.0, 1e-15);
    assert_true(!m.stable);
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
}

/* ---- Outcomes ----------------------------------------------------------------------------- */

/* A Jacobian that is not finite is an outcome of the block; powers that overflow are infinite. */
static void test_not_finite(void **state)
{
    static const double beyond[2] = {6.0, 0.0};
    static const double huge[1] = {1e200};
    dyn_multipliers_options o = dyn_multipliers_options_default();
    (void)state;
    o.vectors = true;
    dyn_map *map = dyn_test_translation(2, DYN_TEST_FAULT_TANGENT);
    dyn_multipliers m = compute(map, beyond, &o);
    assert_true(m.status == KERN_NAN && m.blocks[0].status == KERN_NAN && !m.stable);
    assert_true(isnan(m.spectral_radius) && isnan(m.blocks[0].re[0]) && isnan(m.blocks[0].im[1]));
    assert_true(isnan(m.blocks[0].transient_growth) && isnan(m.blocks[0].residuals[0]));
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
    map = dyn_test_linear(1, huge, 1);
    o.vectors = false;
    m = compute(map, map->start, &o);
    assert_true(m.status == KERN_OK && isinf(m.blocks[0].transient_growth));
    assert_int_equal(m.blocks[0].transient_step, 2);
    assert_null(m.blocks[0].vectors);
    dyn_multipliers_fini(&m);
    o.horizon = 0;
    m = compute(map, map->start, &o);
    assert_true(isnan(m.blocks[0].transient_growth) && m.blocks[0].transient_step == 0);
    assert_true(m.spectral_radius == 1e200);
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
}

/* Stops after the first block. */
static bool stop_early(void *context, size_t done, size_t total)
{
    *(size_t *)context = total;
    return done < 1;
}

static void test_refused(void **state)
{
    dyn_map *map = dyn_test_driven(0.5, 0.4);
    dyn_multipliers_options o = dyn_multipliers_options_default();
    dyn_multipliers m;
    kern_error err = {0};
    size_t total = 0;
    (void)state;
    o.period = 0;
    assert_int_equal(dyn_multipliers_init(&m, map, map->start, &o, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "0 states"));
    o.period = 1;
    o.block = 2;
    assert_int_equal(dyn_multipliers_init(&m, map, map->start, &o, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "block 2 is not one of the map's 2"));
    dyn_multipliers_fini(&m);
    o.block = DYN_MULTIPLIERS_ALL;
    o.progress = stop_early;
    o.context = &total;
    assert_int_equal(dyn_multipliers_init(&m, map, map->start, &o, &err), KERN_INTERRUPTED);
    assert_int_equal(total, 2);
    dyn_multipliers_fini(&m);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest exact[] = {
        cmocka_unit_test(test_planar_points), cmocka_unit_test(test_ikeda_sink),
        cmocka_unit_test(test_quadratic),     cmocka_unit_test(test_standard_centre),
        cmocka_unit_test(test_two_cycle),
    };
    const struct CMUnitTest structure[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_blocks_of_a_cycle),
    };
    const struct CMUnitTest outcomes[] = {
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_refused),
    };
    kern_runtime_init();
    int failed = cmocka_run_group_tests(exact, NULL, NULL);
    failed += cmocka_run_group_tests(structure, NULL, NULL);
    failed += cmocka_run_group_tests(outcomes, NULL, NULL);
    return failed;
}
