/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Normal-form coefficients against closed forms, with the normalisation |q| = 1, ⟨w, q⟩ = 1.
 */
#include "tests/dyn/dyn_poly_maps.h"
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_normal_form.h"

static const double pi = 3.14159265358979323846;

/* The normal form at x. */
static dyn_normal_form find_at(dyn_map *map, const double *x, size_t period, dyn_normal_kind kind)
{
    dyn_normal *normal = NULL;
    dyn_normal_form form;
    MAPS_OK(dyn_normal_create(&normal, map, period, maps_err));
    dyn_normal_find(normal, x, kind, (double)NAN, &form);
    dyn_normal_destroy(normal);
    return form;
}

static dyn_branch_form branch_at(dyn_map *map, const double *x, double *tangents)
{
    dyn_normal *normal = NULL;
    dyn_branch_form form;
    const double before = map->params[0];
    MAPS_OK(dyn_normal_create(&normal, map, 1, maps_err));
    dyn_normal_branch(normal, x, 0, &form, tangents);
    dyn_normal_destroy(normal);
    assert_true(map->params[0] == before);
    return form;
}

/* ---- Rows of the table of known values ---------------------------------------------------- */

/* b = f''²/4 + f'''/6: 9 for the logistic map at r = 3, 8 for descent on the double well. */
static void test_flips_on_a_line(void **state)
{
    (void)state;
    dyn_map *map = maps_make("logistic", "r=3");
    double x = 2.0 / 3.0;
    dyn_normal_form form = find_at(map, &x, 1, DYN_NORMAL_PD);
    assert_int_equal(form.status, KERN_OK);
    MAPS_CLOSE(form.coefficient, 9.0, 1e-10);
    MAPS_CLOSE(form.distance, 0.0, 1e-14);
    MAPS_CLOSE(form.pairing, 1.0, 1e-14);
    assert_int_equal(form.criticality, DYN_SUPERCRITICAL);
    assert_string_equal(dyn_criticality_word(form.criticality), "supercritical");
    dyn_map_destroy(map);
    map = maps_make("double-well", "eta=1");
    x = 1.0;
    form = find_at(map, &x, 1, DYN_NORMAL_PD);
    MAPS_CLOSE(form.coefficient, 8.0, 1e-10);
    dyn_map_destroy(map);
}

/* Delayed logistic at R = 2: θ = π/3, Re d = −1. */
static void test_delayed_logistic(void **state)
{
    static const double x[] = {0.5, 0.5};
    (void)state;
    dyn_map *map = maps_make("delayed-logistic", "r=2");
    const dyn_normal_form form = find_at(map, x, 1, DYN_NORMAL_NS);
    assert_int_equal(form.status, KERN_OK);
    MAPS_CLOSE(form.coefficient, -1.0, 1e-11);
    MAPS_CLOSE(form.angle, pi / 3.0, 1e-12);
    assert_int_equal(form.criticality, DYN_SUPERCRITICAL);
    dyn_map_destroy(map);
}

/* Hénon's fold at a = −(1−b)²/4, x = 2/(1−b): with q ∝ (1, b) and w ∝ (1, 1) the coefficient is
 * −a / ((1+b) √(1+b²)). */
static void test_fold_of_henon(void **state)
{
    (void)state;
    dyn_map *map = maps_make("henon", "a=-0.1225 b=0.3");
    const double x[] = {2.0 / 0.7, 0.6 / 0.7};
    const dyn_normal_form form = find_at(map, x, 1, DYN_NORMAL_LP);
    assert_int_equal(form.status, KERN_OK);
    MAPS_CLOSE(form.coefficient, 0.1225 / (1.3 * sqrt(1.09)), 1e-12);
    assert_int_equal(form.criticality, DYN_CRITICALITY_NONE);
    dyn_map_destroy(map);
}

/* The 2-cycle of the logistic map flips at r = 1 + √6: b = g''²/4 + g'''/6 for g = f∘f. */
static void test_flip_of_a_cycle(void **state)
{
    (void)state;
    dyn_map *map = maps_make("logistic", "");
    const double r = 1.0 + sqrt(6.0);
    const double root = sqrt((r - 3.0) * (r + 1.0));
    MAPS_OK(dyn_map_set_param(map, "r", r, maps_err));
    for (int sign = -1; sign <= 1; sign += 2) {
        const double x = (r + 1.0 + (double)sign * root) / (2.0 * r);
        const double y = r * x * (1.0 - x);
        const double slope[] = {r * (1.0 - 2.0 * x), r * (1.0 - 2.0 * y)};
        const double second = -2.0 * r * (slope[0] * slope[0] + slope[1]);
        const double third = 12.0 * r * r * slope[0];
        const dyn_normal_form form = find_at(map, &x, 2, DYN_NORMAL_PD);
        assert_int_equal(form.status, KERN_OK);
        MAPS_CLOSE(form.coefficient, second * second / 4.0 + third / 6.0, 1e-8);
    }
    dyn_map_destroy(map);
}

/* ---- Polynomials in skewed coordinates ---------------------------------------------------- */

/* y₀' = y₀ + 0.7y₀² beside contracting directions: a = 0.7 in y, divided by |S e₀|. */
static void test_fold_in_three_dimensions(void **state)
{
    static const poly_term terms[] = {{0, 1.0, -1, {1}},
                                      {0, 0.7, -1, {2}},
                                      {0, 3.0, -1, {1, 1}},
                                      {1, 0.5, -1, {0, 1}},
                                      {1, 2.0, -1, {2}},
                                      {2, -0.3, -1, {0, 0, 1}},
                                      {0}};
    static const double origin[3] = {0.0};
    (void)state;
    dyn_map *map = poly_make(3, terms, POLY_PLAIN);
    const dyn_normal_form form = find_at(map, origin, 1, DYN_NORMAL_LP);
    assert_int_equal(form.status, KERN_OK);
    MAPS_CLOSE(fabs(form.coefficient), 0.7 / poly_length(map, 0), 1e-12);
    dyn_map_destroy(map);
}

/* y₀' = −y₀ + d y₀y₁ + c y₀³, y₁' = ½y₁ + e y₀²: on the centre manifold y₁ = 2e y₀², so that
 * b = c + 2de in y, divided by |S e₀|². */
static void test_flip_in_four_dimensions(void **state)
{
    static const poly_term terms[] = {
        {0, -1.0, -1, {1}},      {0, 1.5, -1, {1, 1}},       {0, -0.4, -1, {3}},
        {1, 0.5, -1, {0, 1}},    {1, 0.8, -1, {2}},          {2, 0.2, -1, {0, 0, 1}},
        {2, 1.0, -1, {0, 1, 1}}, {3, 1.7, -1, {0, 0, 0, 1}}, {0}};
    static const double origin[4] = {0.0};
    (void)state;
    for (poly_offer offer = POLY_PLAIN; offer <= POLY_APPROXIMATE; offer++) {
        const double tolerance = offer == POLY_APPROXIMATE ? 1e-6 : 1e-10;
        dyn_map *map = poly_make(4, terms, offer);
        const double length = poly_length(map, 0);
        const dyn_normal_form form = find_at(map, origin, 1, DYN_NORMAL_PD);
        assert_int_equal(form.status, KERN_OK);
        MAPS_CLOSE(form.coefficient, (-0.4 + 2.0 * 1.5 * 0.8) / (length * length), tolerance);
        assert_int_equal(form.criticality, DYN_SUPERCRITICAL);
        dyn_map_destroy(map);
    }
}

/* z' = e^{iθ}z + (A + iB) z|z|² + f z y₂, y₂' = 0.3y₂ + e|z|²: on the centre manifold
 * y₂ = e|z|²/0.7, so that d = e^{−iθ}(A + iB + f e/0.7) in z; a unit q stands for
 * |z| = 2/|S(e₀ − i e₁)|. */
static void test_circle_in_four_dimensions(void **state)
{
    static const double origin[4] = {0.0};
    static const double a = 0.6;
    static const double b = -0.9;
    static const double e = 0.35;
    static const double f = -2.0;
    (void)state;
    for (int i = 1; i <= 9; i++) {
        const double theta = 0.31 * (double)i;
        const double c = cos(theta);
        const double s = sin(theta);
        const poly_term terms[] = {{0, c, -1, {1}},
                                   {0, -s, -1, {0, 1}},
                                   {1, s, -1, {1}},
                                   {1, c, -1, {0, 1}},
                                   {0, a, -1, {3}},
                                   {0, a, -1, {1, 2}},
                                   {0, -b, -1, {2, 1}},
                                   {0, -b, -1, {0, 3}},
                                   {1, a, -1, {2, 1}},
                                   {1, a, -1, {0, 3}},
                                   {1, b, -1, {3}},
                                   {1, b, -1, {1, 2}},
                                   {2, e, -1, {2}},
                                   {2, e, -1, {0, 2}},
                                   {2, 0.3, -1, {0, 0, 1}},
                                   {0, f, -1, {1, 0, 1}},
                                   {3, 1.4, -1, {0, 0, 0, 1}},
                                   {1, f, -1, {0, 1, 1}},
                                   {0}};
        dyn_map *map = poly_make(4, terms, POLY_PLAIN);
        const double l0 = poly_length(map, 0);
        const double l1 = poly_length(map, 1);
        const double scale = 4.0 / (l0 * l0 + l1 * l1);
        const double real = a + f * e / 0.7;
        const dyn_normal_form form = find_at(map, origin, 1, DYN_NORMAL_NS);
        assert_int_equal(form.status, KERN_OK);
        MAPS_CLOSE(form.angle, theta, 1e-12);
        MAPS_CLOSE(form.coefficient, scale * (c * real + s * b), 1e-9);
        MAPS_CLOSE(form.imaginary, scale * (c * b - s * real), 1e-9);
        dyn_map_destroy(map);
    }
}

/* Of two pairs on the unit circle, the one with the angle asked for. */
static void test_choice_of_a_pair(void **state)
{
    static const double angles[] = {0.8, 1.9};
    static const double origin[4] = {0.0};
    (void)state;
    poly_term terms[9] = {{0}};
    for (size_t i = 0; i < 2; i++) {
        const double c = cos(angles[i]);
        const double s = sin(angles[i]);
        for (size_t j = 0; j < 4; j++) {
            const double value = j % 3 == 0 ? c : j == 1 ? -s : s;
            poly_term *term = &terms[4 * i + j];
            *term = (poly_term){.row = 2 * i + j / 2, .coefficient = value, .parameter = -1};
            term->power[2 * i + j % 2] = 1;
        }
    }
    dyn_map *map = poly_make(4, terms, POLY_PLAIN);
    dyn_normal *normal = NULL;
    MAPS_OK(dyn_normal_create(&normal, map, 1, maps_err));
    for (size_t i = 0; i < 2; i++) {
        dyn_normal_form form;
        dyn_normal_find(normal, origin, DYN_NORMAL_NS, angles[i] + 0.2, &form);
        assert_int_equal(form.status, KERN_OK);
        MAPS_CLOSE(form.angle, angles[i], 1e-12);
        MAPS_CLOSE(form.coefficient, 0.0, 1e-12);
        assert_int_equal(form.criticality, DYN_CRITICALITY_UNSURE);
    }
    dyn_normal_destroy(normal);
    dyn_map_destroy(map);
}

/* ---- Branch points ------------------------------------------------------------------------ */

/* x = 0 and x = 1 − 1/r of the logistic map cross at r = 1: slopes 0 and 1. */
static void test_transcritical(void **state)
{
    static const double origin = 0.0;
    double t[4];
    (void)state;
    dyn_map *map = maps_make("logistic", "r=1");
    const dyn_branch_form form = branch_at(map, &origin, t);
    assert_int_equal(form.status, KERN_OK);
    assert_false(form.pitchfork);
    MAPS_CLOSE(fabs(form.b20), 2.0, 1e-12);
    MAPS_CLOSE(form.b11, 1.0, 1e-11);
    MAPS_CLOSE(form.b02, 0.0, 1e-9);
    MAPS_CLOSE(form.transversal, 0.0, 1e-12);
    MAPS_CLOSE(t[0] / t[1], 0.0, 1e-9);
    MAPS_CLOSE(t[2] / t[3], 1.0, 1e-9);
    dyn_map_destroy(map);
}

/* y₀' = y₀ + y₀² − p²: branches y₀ = ±p. The rule is linear in p, so its square comes in part from
 * a coordinate that settles at y₂ = p/1.3. */
static void test_crossing_at_an_angle(void **state)
{
    static const poly_term squared[] = {
        {0, 1.0, -1, {1}},        {0, 1.0, -1, {2}},    {0, -0.845, -1, {0, 0, 2}},
        {0, -0.65, 0, {0, 0, 1}}, {1, 0.5, -1, {0, 1}}, {1, 1.0, -1, {2}},
        {2, -0.3, -1, {0, 0, 1}}, {2, 1.0, 0, {0}},     {0}};
    static const double origin[3] = {0.0};
    double t[8];
    (void)state;
    dyn_map *map = poly_make(3, squared, POLY_PLAIN);
    const double length = poly_length(map, 0);
    const dyn_branch_form form = branch_at(map, origin, t);
    assert_int_equal(form.status, KERN_OK);
    assert_false(form.pitchfork);
    MAPS_CLOSE(fabs(form.b20), 2.0 / length, 1e-11);
    MAPS_CLOSE(form.b11, 0.0, 1e-10);
    MAPS_CLOSE(fabs(form.b02), 2.0 * length, 1e-9);
    for (size_t i = 0; i < 2; i++) {
        double y[3];
        poly_from_state(map, t + 4 * i, y);
        MAPS_CLOSE(fabs(y[0] / t[4 * i + 3]), 1.0, 1e-9);
        MAPS_CLOSE(y[1] / t[4 * i + 3], 0.0, 1e-9);
        MAPS_CLOSE(y[2] / t[4 * i + 3], 1.0 / 1.3, 1e-9);
    }
    dyn_map_destroy(map);
}

/* y₀' = (1+p) y₀ + d y₀y₁ + c y₀³, y₁' = ½y₁ + e y₀² + p: y₁ = 2p on the trivial branch, so
 * b11 = 1 + 2d, and b30 = 6(c + 2de)/|S e₀|². */
static void test_pitchfork(void **state)
{
    static const double origin[2] = {0.0};
    static const double d = -0.7;
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        const double c = 0.5 * (double)sign;
        const double e = 0.4 * (double)sign;
        const poly_term terms[] = {
            {0, 1.0, -1, {1}},    {0, 1.0, 0, {1}}, {0, d, -1, {1, 1}}, {0, c, -1, {3}},
            {1, 0.5, -1, {0, 1}}, {1, e, -1, {2}},  {1, 1.0, 0, {0}},   {0}};
        double t[6];
        double y[2];
        dyn_map *map = poly_make(2, terms, POLY_PLAIN);
        const double length = poly_length(map, 0);
        const dyn_branch_form form = branch_at(map, origin, t);
        assert_int_equal(form.status, KERN_OK);
        assert_true(form.pitchfork);
        MAPS_CLOSE(form.b20, 0.0, 1e-12);
        MAPS_CLOSE(form.b11, 1.0 + 2.0 * d, 1e-10);
        MAPS_CLOSE(form.b30, 6.0 * (c + 2.0 * d * e) / (length * length), 1e-9);
        assert_int_equal(form.criticality,
                         c + 2.0 * d * e < 0.0 ? DYN_SUPERCRITICAL : DYN_SUBCRITICAL);
        poly_from_state(map, t, y);
        MAPS_CLOSE(y[1] / t[2], 2.0, 1e-8);
        MAPS_CLOSE(y[0], 0.0, 1e-8);
        poly_from_state(map, t + 3, y);
        MAPS_CLOSE(t[5], 0.0, 1e-8);
        MAPS_CLOSE(y[1], 0.0, 1e-8);
        dyn_map_destroy(map);
    }
}

/* At a fold, F_μ is not in the range of I − A. */
static void test_a_fold_is_not_a_branch_point(void **state)
{
    static const poly_term terms[] = {
        {0, 1.0, -1, {1}}, {0, 1.0, 0, {0}}, {0, 1.0, -1, {2}}, {1, 0.5, -1, {0, 1}}, {0}};
    static const double origin[2] = {0.0};
    (void)state;
    dyn_map *map = poly_make(2, terms, POLY_PLAIN);
    const dyn_branch_form form = branch_at(map, origin, NULL);
    assert_true(fabs(form.transversal) > 0.1);
    dyn_map_destroy(map);
}

/* ---- Points that have no such form -------------------------------------------------------- */

static void test_degenerate_points(void **state)
{
    static const double corner[] = {-1.0, -1.0};
    static const double third[] = {0.5, 0.5};
    (void)state;
    /* Multipliers 1 and −1: I − A is singular at the flip. With α = 0, β = −1, any x = y is
     * fixed where 2x = x². */
    dyn_map *map = maps_make("henon2", "alpha=0 beta=-1");
    static const double origin[] = {0.0, 0.0};
    dyn_normal_form form = find_at(map, origin, 1, DYN_NORMAL_PD);
    assert_int_equal(form.status, KERN_SINGULAR);
    assert_true(isnan(form.coefficient));
    assert_int_equal(find_at(map, origin, 1, DYN_NORMAL_LP).status, KERN_OK);
    assert_int_equal(find_at(map, origin, 1, DYN_NORMAL_NS).status, KERN_NOT_FOUND);
    dyn_map_destroy(map);
    /* The same in skewed coordinates, where no pivot is exactly 0. */
    static const poly_term both[] = {{0, 1.0, -1, {1}},       {0, 1.0, -1, {0, 2}},
                                     {1, -1.0, -1, {0, 1}},   {1, 1.0, -1, {0, 3}},
                                     {2, 0.3, -1, {0, 0, 1}}, {0}};
    static const double zero[3] = {0.0};
    map = poly_make(3, both, POLY_PLAIN);
    assert_int_equal(find_at(map, zero, 1, DYN_NORMAL_PD).status, KERN_SINGULAR);
    dyn_map_destroy(map);
    /* A double multiplier 1 with one eigenvector. */
    map = maps_make("henon2", "alpha=-1 beta=1");
    form = find_at(map, corner, 1, DYN_NORMAL_LP);
    assert_int_equal(form.status, KERN_SINGULAR);
    MAPS_CLOSE(form.pairing, 0.0, 1e-7);
    dyn_map_destroy(map);
    /* Multipliers e^{±2πi/3}: e^{2iθ} is one of them. */
    map = maps_make("henon2", "alpha=1.25 beta=1");
    form = find_at(map, third, 1, DYN_NORMAL_NS);
    assert_int_equal(form.status, KERN_SINGULAR);
    dyn_map_destroy(map);
    /* A line has no complex multipliers, and a map that is lost has none at all. */
    map = maps_make("logistic", "r=3");
    assert_int_equal(find_at(map, third, 1, DYN_NORMAL_NS).status, KERN_NOT_FOUND);
    const double lost = (double)NAN;
    assert_int_equal(find_at(map, &lost, 1, DYN_NORMAL_PD).status, KERN_NAN);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flips_on_a_line),
        cmocka_unit_test(test_delayed_logistic),
        cmocka_unit_test(test_fold_of_henon),
        cmocka_unit_test(test_flip_of_a_cycle),
        cmocka_unit_test(test_fold_in_three_dimensions),
        cmocka_unit_test(test_flip_in_four_dimensions),
        cmocka_unit_test(test_circle_in_four_dimensions),
        cmocka_unit_test(test_choice_of_a_pair),
        cmocka_unit_test(test_transcritical),
        cmocka_unit_test(test_crossing_at_an_angle),
        cmocka_unit_test(test_pitchfork),
        cmocka_unit_test(test_a_fold_is_not_a_branch_point),
        cmocka_unit_test(test_degenerate_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
