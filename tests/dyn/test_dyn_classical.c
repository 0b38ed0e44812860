/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The maps built in: tangents against differences, cotangents against tangents, determinants,
 * outputs that are inputs, clones, closed forms from the literature, parameters and refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_rng.h"
#include "tests/dyn/dyn_test_maps.h"

#include <math.h>
#include <stdlib.h>

enum { SIZE_MOST = 16 };

/* Every map, sized ones at awkward sizes; the ring of one site is its own neighbour twice. */
static const struct {
    const char *name, *assignments;
    size_t size;
} cases[] = {
    {"logistic", "r=3.7", 1},
    {"ricker", "r=2.9", 1},
    {"cubic", "mu=2.2", 1},
    {"tent", "mu=1.7", 1},
    {"circle", "omega=0.3 k=1.4", 1},
    {"double-well", "eta=1.3", 1},
    {"hopfield", "eta=0.7 beta=2.6", 1},
    {"henon", "a=1.1 b=-0.4", 2},
    {"lozi", "a=1.5 b=0.4", 2},
    {"henon2", "alpha=0.9 beta=0.6", 2},
    {"ikeda", "u=0.8", 2},
    {"standard", "k=1.3", 2},
    {"delayed-logistic", "r=2.2", 2},
    {"cat", "", 2},
    {"kopel", "rho=0.6 mu=3.1", 2},
    {"quadratic", "eta=0.3 lambda=1,-2,0.5", 3},
    {"coupled-logistic", "r=3.6 eps=0.35 n=7", 7},
    {"coupled-logistic", "n=1", 1},
    {"coupled-logistic", "n=2 eps=0.8", 2},
    {"layernorm-power", "eta=0.2 n=13 seed=5", 13},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static void draw(double *x, size_t n, double centre, double spread, uint64_t seed)
{
    kern_rng *rng = kern_rng_create(seed, "test", n);
    assert_non_null(rng);
    for (size_t i = 0; i < n; i++) {
        x[i] = centre + spread * kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void test_every_map_is_covered(void **state)
{
    (void)state;
    for (size_t i = 0; i < dyn_classical_count(); i++) {
        const dyn_param *params = NULL;
        size_t n = 0;
        bool found = false;
        const dyn_map_kind *kind = dyn_classical_kind(i, &params, &n);
        for (size_t k = 0; k < CASES; k++) {
            found = found || strcmp(cases[k].name, kind->name) == 0;
        }
        assert_true(found);
        assert_non_null(kind->formula);
        for (size_t k = 0; k < n; k++) {
            assert_non_null(params[k].help);
        }
    }
    assert_int_equal(dyn_classical_count(), 18);
}

/* Four-point differences err by h⁴ F⁽⁵⁾/30 and by 1.5 roundings over h; with h = 1e-3 and states of
 * order 1 both are below 1e-11 for derivatives of order 1000. Steps on circles are compared modulo
 * the period. */
static void check_tangent(dyn_map *map, const double *x, const double *v)
{
    static const double at[] = {1, -1, 2, -2};
    static const double weight[] = {8, -8, -1, 1};
    const double h = 1e-3;
    double here[SIZE_MOST];
    double y[SIZE_MOST];
    double jv[SIZE_MOST];
    double slope[SIZE_MOST] = {0};
    map->kind->step(map, x, here);
    for (size_t j = 0; j < 4; j++) {
        for (size_t k = 0; k < map->size; k++) {
            y[k] = x[k] + at[j] * h * v[k];
        }
        map->kind->step(map, y, y);
        for (size_t k = 0; k < map->size; k++) {
            const bool round = map->periods != NULL;
            const double gap = y[k] - here[k];
            slope[k] += weight[j] * (round ? remainder(gap, map->periods[k]) : gap) / (12 * h);
        }
    }
    map->kind->jvp(map, x, v, y, jv);
    assert_memory_equal(y, here, map->size * sizeof *y);
    const double size = 1 + sqrt(dot(jv, jv, map->size));
    for (size_t k = 0; k < map->size; k++) {
        if (!(fabs(jv[k] - slope[k]) <= 1e-8 * size)) {
            fail_msg("%s: tangent %g against difference %g", map->kind->name, jv[k], slope[k]);
        }
    }
}

static void check_cotangent(dyn_map *map, const double *x, const double *v, const double *w)
{
    double jv[SIZE_MOST];
    double jtw[SIZE_MOST];
    double size = 0;
    map->kind->jvp(map, x, v, NULL, jv);
    map->kind->vjp(map, x, w, jtw);
    for (size_t k = 0; k < map->size; k++) {
        size += fabs(jv[k] * w[k]) + fabs(jtw[k] * v[k]);
    }
    assert_true(fabs(dot(jv, w, map->size) - dot(jtw, v, map->size)) <= 1e-13 * (1 + size));
}

static void check_aliases(dyn_map *map, const double *x, const double *v, const double *w)
{
    const size_t bytes = map->size * sizeof *x;
    double y[SIZE_MOST], jv[SIZE_MOST], jtw[SIZE_MOST];
    double a[SIZE_MOST], b[SIZE_MOST];
    map->kind->jvp(map, x, v, y, jv);
    map->kind->vjp(map, x, w, jtw);
    memcpy(a, x, bytes);
    memcpy(b, v, bytes);
    map->kind->jvp(map, a, b, a, b);
    assert_memory_equal(a, y, bytes);
    assert_memory_equal(b, jv, bytes);
    memcpy(b, w, bytes);
    map->kind->vjp(map, x, b, b);
    assert_memory_equal(b, jtw, bytes);
    memcpy(a, x, bytes);
    map->kind->step(map, a, a);
    assert_memory_equal(a, y, bytes);
}

static void test_products_with_the_jacobian(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        dyn_map *map = maps_make(cases[i].name, cases[i].assignments);
        assert_int_equal(map->size, cases[i].size);
        assert_int_equal(map->block_count * map->block_width, map->size);
        for (uint64_t k = 0; k < 5; k++) {
            double x[SIZE_MOST], v[SIZE_MOST], w[SIZE_MOST];
            draw(x, map->size, 0.3, 0.4, 3 * k);
            draw(v, map->size, 0.0, 1.0, 3 * k + 1);
            draw(w, map->size, 0.0, 1.0, 3 * k + 2);
            check_tangent(map, x, v);
            check_cotangent(map, x, v, w);
            check_aliases(map, x, v, w);
        }
        dyn_map_destroy(map);
    }
}

/* |det| of the Jacobian by elimination with pivoting. */
static double determinant(dyn_map *map, const double *x)
{
    const size_t n = map->size;
    double a[SIZE_MOST][SIZE_MOST];
    double product = 1;
    for (size_t j = 0; j < n; j++) {
        double unit[SIZE_MOST] = {0};
        unit[j] = 1;
        map->kind->jvp(map, x, unit, NULL, a[j]);
    }
    for (size_t j = 0; j < n; j++) {
        size_t best = j;
        for (size_t i = j; i < n; i++) {
            best = fabs(a[i][j]) > fabs(a[best][j]) ? i : best;
        }
        for (size_t k = 0; k < n; k++) {
            const double held = a[j][k];
            a[j][k] = a[best][k];
            a[best][k] = held;
        }
        product *= fabs(a[j][j]);
        for (size_t i = j + 1; i < n; i++) {
            const double factor = a[i][j] / a[j][j];
            for (size_t k = j; k < n; k++) {
                a[i][k] -= factor * a[j][k];
            }
        }
    }
    return product;
}

static void test_determinants(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        dyn_map *map = maps_make(cases[i].name, cases[i].assignments);
        double x[SIZE_MOST];
        draw(x, map->size, 0.3, 0.4, 50 + i);
        if (map->kind->log_abs_det != NULL) {
            const double expected = log(determinant(map, x));
            MAPS_CLOSE(map->kind->log_abs_det(map, x), expected, 1e-11);
        }
        dyn_map_destroy(map);
    }
}

/* Gradient maps: x' − x = −η ∂E/∂x, by differences of the energy. */
static void test_energies(void **state)
{
    static const char *const names[] = {"double-well", "hopfield", "quadratic"};
    const double h = 1e-4;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        dyn_map *map = maps_make(names[i], "eta=0.2");
        double x[2] = {0.7, -1.3};
        double y[2];
        map->kind->step(map, x, y);
        for (size_t k = 0; k < map->size; k++) {
            const double kept = x[k];
            x[k] = kept + h;
            double slope = map->kind->energy(map, x);
            x[k] = kept - h;
            slope = (slope - map->kind->energy(map, x)) / (2 * h);
            x[k] = kept;
            MAPS_CLOSE(y[k] - x[k], -0.2 * slope, 1e-7);
        }
        dyn_map_destroy(map);
    }
    dyn_map *flat = maps_make("hopfield", "beta=0");
    const double x = 3;
    assert_true(flat->kind->energy(flat, &x) == 4.5);
    dyn_map_destroy(flat);
    dyn_map *well = maps_make("double-well", "");
    assert_true(well->kind->energy(well, &x) == 16);
    dyn_map_destroy(well);
}

static void assert_fixed(const char *name, const char *assignments, double x, double y)
{
    dyn_map *map = maps_make(name, assignments);
    const double at[2] = {x, y};
    double image[2];
    map->kind->step(map, at, image);
    for (size_t i = 0; i < map->size; i++) {
        if (!(fabs(image[i] - at[i]) <= 1e-12)) {
            fail_msg("%s: %.17g moves to %.17g", name, at[i], image[i]);
        }
    }
    dyn_map_destroy(map);
}

/* A multiplier m is a root of the characteristic polynomial: det(J − m) = 0. */
static void assert_multiplier(const char *name, const char *assignments, double x, double y,
                              double m, double tolerance)
{
    dyn_map *map = maps_make(name, assignments);
    const double at[2] = {x, y};
    const double e[2][2] = {{1, 0}, {0, 1}};
    double j[2][2] = {{0}};
    for (size_t i = 0; i < map->size; i++) {
        map->kind->jvp(map, at, e[i], NULL, j[i]);
    }
    const double gap =
        map->size == 1 ? j[0][0] - m : (j[0][0] - m) * (j[1][1] - m) - j[0][1] * j[1][0];
    if (!(fabs(gap) <= tolerance)) {
        fail_msg("%s: %g is no multiplier, by %g", name, m, gap);
    }
    dyn_map_destroy(map);
}

/* Fixed points and multipliers in closed form, or as published by ChaosTools and pynamicalsys. */
static void test_fixed_points(void **state)
{
    (void)state;
    assert_fixed("logistic", "r=2.8", 1 - 1 / 2.8, 0);
    assert_multiplier("logistic", "r=2.8", 1 - 1 / 2.8, 0, 2 - 2.8, 1e-12);
    assert_fixed("ricker", "r=2.3", 1, 0);
    assert_multiplier("ricker", "r=2.3", 1, 0, 1 - 2.3, 1e-12);
    assert_fixed("cubic", "mu=2", 1, 0);
    assert_fixed("cubic", "mu=2", 0, 0);
    assert_multiplier("cubic", "mu=2", 0, 0, 2, 1e-12);
    assert_fixed("tent", "mu=1.5", 0.6, 0);
    assert_multiplier("double-well", "eta=1", 1, 0, -1, 1e-12);
    assert_fixed("henon", "", 0.631354477089505, 0.189406343126851);
    assert_fixed("henon", "", -1.131354477089505, -0.339406343126851);
    assert_multiplier("henon", "", 0.631354477089505, 0, -1.923738858153, 1e-11);
    assert_multiplier("henon", "", 0.631354477089505, 0, 0.155946322303, 1e-11);
    assert_multiplier("henon", "", -1.131354477089505, 0, 3.259822097891, 1e-11);
    assert_fixed("lozi", "", 1 / 2.2, 0.5 / 2.2);
    assert_fixed("lozi", "", -1 / 1.2, -0.5 / 1.2);
    assert_multiplier("lozi", "", 1 / 2.2, 0, -1.955667219375, 1e-11);
    assert_multiplier("lozi", "", -1 / 1.2, 0, 1.955667219375, 1e-11);
    assert_fixed("henon2", "alpha=1 beta=0.5", 0.5, 0.5);
    assert_fixed("standard", "k=1.5", 0, 0);
    assert_multiplier("standard", "k=0.971635", 0, 0, 2.584750456693, 1e-11);
    assert_multiplier("standard", "k=0.971635", 0, 0, 0.386884543307, 1e-11);
    assert_multiplier("standard", "k=1.5", 0, 0, 3.186140661634, 1e-11);
    assert_fixed("delayed-logistic", "r=2", 0.5, 0.5);
    assert_multiplier("cat", "", 0.3, 0.4, (3 + sqrt(5)) / 2, 1e-12);
    assert_fixed("kopel", "rho=0.7 mu=3.2", 1 - 1 / 3.2, 1 - 1 / 3.2);
    assert_multiplier("kopel", "rho=0.7 mu=3", 2.0 / 3, 2.0 / 3, 1, 1e-12);
}

/* Ikeda's sink at u = 0.9 has multipliers 0.851719 ± 0.290816i: trace and determinant 0.81. */
static void test_ikeda_sink(void **state)
{
    (void)state;
    dyn_map *map = maps_make("ikeda", "");
    double x[2] = {2.97213162, 4.14594642};
    double first[2], second[2];
    const double e0[2] = {1, 0};
    const double e1[2] = {0, 1};
    dyn_map_iterate(map, x, 400, x);
    MAPS_CLOSE(x[0], 2.97213162, 1e-7);
    MAPS_CLOSE(x[1], 4.14594642, 1e-7);
    map->kind->jvp(map, x, e0, NULL, first);
    map->kind->jvp(map, x, e1, NULL, second);
    MAPS_CLOSE(first[0] + second[1], 2 * 0.851719, 2e-6);
    MAPS_CLOSE(first[0] * second[1] - first[1] * second[0], 0.81, 1e-12);
    dyn_map_destroy(map);
}

/* Two coupled maps stay synchronised on the diagonal, whose transverse multiplier is (1−2ε)f'. */
static void test_ring_symmetry(void **state)
{
    (void)state;
    dyn_map *map = maps_make("coupled-logistic", "n=2 r=4 eps=0.3");
    const double x[2] = {0.2, 0.2};
    const double odd[2] = {1, -1};
    double y[2], jv[2];
    map->kind->jvp(map, x, odd, y, jv);
    MAPS_CLOSE(y[0], 0.64, 1e-15);
    MAPS_CLOSE(y[1], 0.64, 1e-15);
    MAPS_CLOSE(jv[0], (1 - 2 * 0.3) * 4 * 0.6, 1e-14);
    MAPS_CLOSE(jv[1], -jv[0], 1e-15);
    dyn_map_destroy(map);
}

/* LN forgets shift and scale: with step a·η from a·x + c the states stay a·x(t) + c. */
static void test_norm_map_symmetry(void **state)
{
    (void)state;
    dyn_map *one = maps_make("layernorm-power", "eta=0.1 n=12 seed=3");
    dyn_map *two = maps_make("layernorm-power", "eta=0.4 n=12 seed=3");
    double x[12], y[12], jv[12], ones[12];
    for (size_t i = 0; i < 12; i++) {
        x[i] = one->start[i];
        y[i] = 4 * x[i] + 0.75;
        ones[i] = 1;
    }
    /* The Jacobian has multiplier 1 for the shift, and for the scale. */
    one->kind->jvp(one, x, ones, NULL, jv);
    for (size_t i = 0; i < 12; i++) {
        MAPS_CLOSE(jv[i], 1, 1e-13);
    }
    const double energy = one->kind->energy(one, x);
    MAPS_CLOSE(two->kind->energy(two, y), energy, 1e-13 * (1 + fabs(energy)));
    dyn_map_iterate(one, x, 50, x);
    dyn_map_iterate(two, y, 50, y);
    for (size_t i = 0; i < 12; i++) {
        MAPS_CLOSE(y[i], 4 * x[i] + 0.75, 1e-11);
    }
    assert_true(one->kind->energy(one, x) < energy);
    dyn_map_destroy(one);
    dyn_map_destroy(two);
    dyn_map *other = maps_make("layernorm-power", "eta=0.1 n=12 seed=4");
    dyn_map_iterate(other, ones, 1, y);
    assert_true(isnan(y[0]));
    dyn_map_destroy(other);
}

static void test_circles(void **state)
{
    (void)state;
    dyn_map *map = maps_make("standard", "k=2.5");
    const double two_pi = 8 * atan(1);
    double x[2] = {6.2, 6.1};
    const double a[2] = {0.01, 3};
    const double b[2] = {two_pi - 0.01, 3 + two_pi};
    for (size_t i = 0; i < 200; i++) {
        map->kind->step(map, x, x);
        assert_true(x[0] >= 0 && x[0] < two_pi && x[1] >= 0 && x[1] < two_pi);
    }
    MAPS_CLOSE(dyn_map_distance(map, a, b), 0.02, 1e-14);
    dyn_map_destroy(map);
    dyn_map *cat = maps_make("cat", "");
    const double edge[2] = {-1e-20, 0};
    cat->kind->step(cat, edge, x);
    assert_true(x[0] >= 0 && x[0] < 1);
    dyn_map_destroy(cat);
    /* Without a coupling the circle map turns by Ω, and is not reduced. */
    dyn_map *turn = maps_make("circle", "omega=0.3 k=0");
    dyn_map_iterate(turn, turn->start, 1000, x);
    MAPS_CLOSE(x[0], 300, 1e-9);
    dyn_map_destroy(turn);
}

static void test_distances_keep_nan(void **state)
{
    (void)state;
    dyn_map *map = maps_make("quadratic", "lambda=1,2,3");
    const double zero[3] = {0, 0, 0};
    const double x[3] = {1, -5, 2};
    const double first[3] = {(double)NAN, 9, 9};
    const double last[3] = {9, 9, (double)NAN};
    assert_true(dyn_map_distance(map, zero, x) == 5);
    assert_true(isnan(dyn_map_distance(map, first, zero)));
    assert_true(isnan(dyn_map_distance(map, zero, last)));
    dyn_map_destroy(map);
}

static void test_clones_are_independent(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        dyn_map *map = maps_make(cases[i].name, cases[i].assignments);
        dyn_map *copy = NULL;
        double x[SIZE_MOST], y[SIZE_MOST];
        const size_t n_fixed = map->n_fixed;
        if (map->n_params > 0) {
            MAPS_OK(dyn_map_set_param(map, map->param_info[0].name, 0.45, maps_err));
        }
        MAPS_OK(map->kind->clone(&copy, map, maps_err));
        dyn_map_iterate(map, map->start, 3, x);
        if (map->n_params > 0) {
            MAPS_OK(dyn_map_set_param(map, map->param_info[0].name, 0.9, maps_err));
        }
        dyn_map_destroy(map);
        dyn_map_iterate(copy, copy->start, 3, y);
        assert_memory_equal(x, y, copy->size * sizeof *x);
        assert_int_equal(copy->n_fixed, n_fixed);
        dyn_map_destroy(copy);
    }
}

static void refuse(const char *name, const char *text, kern_status status, const char *part)
{
    const dyn_assignment assignment = {text};
    kern_error err = {0};
    dyn_map *map = NULL;
    assert_int_equal(dyn_classical_create(&map, name, &assignment, 1, &err), status);
    assert_null(map);
    maps_error(&err, status, part);
}

static void test_refusals_when_made(void **state)
{
    (void)state;
    refuse("lorenz", "r=1", KERN_NOT_FOUND, "accepted are logistic, ricker");
    refuse("lorenz", "r=1", KERN_NOT_FOUND, "layernorm-power");
    refuse("henon", "c=1", KERN_INVALID_ARGUMENT, "accepted: a, b");
    refuse("cat", "c=1", KERN_INVALID_ARGUMENT, "accepted: none");
    refuse("quadratic", "c=1", KERN_INVALID_ARGUMENT, "eta, lambda (a list)");
    refuse("henon", "a=1,2", KERN_INVALID_ARGUMENT, "given 2 values; accepted is one");
    refuse("henon", "a", KERN_INVALID_ARGUMENT, "accepted is name=value");
    refuse("henon", "=1", KERN_INVALID_ARGUMENT, "accepted is name=value");
    static const char *const numbers[] = {"a=",    "a=x",  "a=nan", "a=inf", "a=1e999",
                                          "a=0x1", "a= 1", "a=1,",  "a=1-2", "a=1=2"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        refuse("henon", numbers[i], KERN_INVALID_ARGUMENT, "parameter a: ");
    }
    refuse("coupled-logistic", "n=0", KERN_INVALID_ARGUMENT, "whole numbers from 1 to 65536");
    refuse("coupled-logistic", "n=2.5", KERN_INVALID_ARGUMENT, "n of map coupled-logistic is 2.5");
    refuse("layernorm-power", "n=1", KERN_INVALID_ARGUMENT, "whole numbers from 2");
    refuse("layernorm-power", "seed=-1", KERN_INVALID_ARGUMENT, "whole numbers from 0");
}

static void test_parameters_set_later(void **state)
{
    (void)state;
    kern_error err = {0};
    dyn_map *map = maps_make("coupled-logistic", "n=5");
    size_t index = 0;
    MAPS_OK(dyn_map_find_param(map, "eps", &index, maps_err));
    assert_int_equal(index, 1);
    MAPS_OK(dyn_map_set_param(map, "eps", 0.125, maps_err));
    assert_true(map->params[1] == 0.125);
    assert_int_equal(dyn_map_set_param(map, "n", 6, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "settled when the map was made; accepted: r, eps");
    assert_int_equal(dyn_map_set_param(map, "mu", 6, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "accepted: r, eps, n");
    assert_int_equal(dyn_map_set_param(map, "r", (double)NAN, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "finite");
    dyn_map_destroy(map);
    map = maps_make("quadratic", "lambda=4,5,6 eta=0.5 lambda=1,3");
    assert_int_equal(map->size, 2);
    MAPS_OK(dyn_map_set_param(map, "lambda2", 4, maps_err));
    const double x[2] = {3, 5};
    double y[2];
    dyn_map_iterate(map, x, 2, y);
    assert_true(y[0] == 0.75 && y[1] == 5);
    assert_int_equal(dyn_map_set_param(map, "lambda", 4, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "eta, lambda1, lambda2");
    dyn_map_destroy(map);
    dyn_map_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_map_is_covered),
        cmocka_unit_test(test_products_with_the_jacobian),
        cmocka_unit_test(test_determinants),
        cmocka_unit_test(test_energies),
        cmocka_unit_test(test_fixed_points),
        cmocka_unit_test(test_ikeda_sink),
        cmocka_unit_test(test_ring_symmetry),
        cmocka_unit_test(test_norm_map_symmetry),
        cmocka_unit_test(test_circles),
        cmocka_unit_test(test_distances_keep_nan),
        cmocka_unit_test(test_clones_are_independent),
        cmocka_unit_test(test_refusals_when_made),
        cmocka_unit_test(test_parameters_set_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
