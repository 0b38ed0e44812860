/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Second and third derivatives of maps and their iterates against closed forms.
 */
#include "tests/dyn/dyn_poly_maps.h"
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_multilinear.h"
#include "tests/dyn/dyn_fault_maps.h"

static dyn_multilinear *make(dyn_map *map, size_t period)
{
    dyn_multilinear *m = NULL;
    MAPS_OK(dyn_multilinear_create(&m, map, period, maps_err));
    return m;
}

/* ---- Closed forms ------------------------------------------------------------------------- */

/* Hénon: B(u, v) = (−2a u₀v₀, 0) anywhere, C = 0. */
static void test_henon(void **state)
{
    static const double x[] = {0.6, -0.2};
    static const double u[] = {0.7, -1.3};
    static const double v[] = {-0.4, 0.9};
    double out[2];
    (void)state;
    dyn_map *map = maps_make("henon", "a=1.4 b=0.3");
    dyn_multilinear *m = make(map, 1);
    dyn_multilinear_second(m, x, u, v, out);
    MAPS_CLOSE(out[0], -2.0 * 1.4 * u[0] * v[0], 1e-14);
    MAPS_CLOSE(out[1], 0.0, 1e-14);
    dyn_multilinear_third(m, x, u, v, u, out);
    MAPS_CLOSE(out[0], 0.0, 1e-13);
    MAPS_CLOSE(out[1], 0.0, 1e-13);
    dyn_multilinear_destroy(m);
    dyn_map_destroy(map);
}

/* The p-th iterate of the logistic map at r = 4 is sin²(2^p t) with x = sin² t. With D = d/dx =
 * (1/sin 2t) d/dt, derivatives follow from f(t) = ½ − ½ cos(2^{p+1} t); the p-th iterate varies
 * over distances of 4^{−p}, which a difference of the whole iterate would soon not resolve. The
 * phase 2^{p+1} t is right to 2^{p+1} ε. */
static void test_iterates_of_the_logistic_map(void **state)
{
    (void)state;
    for (size_t p = 1; p <= 16; p++) {
        dyn_map *map = maps_make("logistic", "r=4");
        dyn_multilinear *m = make(map, p);
        const double t = 0.4;
        const double x = sin(t) * sin(t);
        const double k = ldexp(2.0, (int)p);
        const double one = 1.0;
        const double f1 = 0.5 * k * sin(k * t);
        const double f2 = 0.5 * k * k * cos(k * t);
        const double f3 = -0.5 * k * k * k * sin(k * t);
        const double s = sin(2.0 * t);
        const double c = cos(2.0 * t);
        const double first = f1 / s;
        const double second = (f2 * s - 2.0 * c * f1) / (s * s * s);
        const double third = (f3 * s * s - 6.0 * s * c * f2 + (4.0 * s * s + 12.0 * c * c) * f1) /
                             (s * s * s * s * s);
        double out;
        double y;
        dyn_multilinear_first(m, &x, &one, &y, &out);
        MAPS_CLOSE(out, first, 1e-13 * k * k);
        MAPS_CLOSE(y, 0.5 - 0.5 * cos(k * t), 1e-14 * k);
        dyn_multilinear_second(m, &x, &one, &one, &out);
        MAPS_CLOSE(out / (k * k * k * k), second / (k * k * k * k), 1e-13 + 1e-15 * k);
        MAPS_CLOSE(out, second, 10.0 * dyn_multilinear_error(m) + 1e-15 * pow(k, 5.0));
        dyn_multilinear_third(m, &x, &one, &one, &one, &out);
        MAPS_CLOSE(out / pow(k, 6.0), third / pow(k, 6.0), 1e-11 + 1e-15 * k);
        MAPS_CLOSE(out, third, 10.0 * dyn_multilinear_error(m) + 1e-15 * pow(k, 7.0));
        dyn_multilinear_destroy(m);
        dyn_map_destroy(map);
    }
}

/* Complex numbers z' = 1 + u z e^{i t(|z|²)} with t = 0.4 − 6/(1 + |z|²): along a ray z = ρ e^{iφ},
 * the derivatives in ρ are those of u ρ e^{it(ρ²)} turned by φ. */
static void test_ikeda(void **state)
{
    static const double radii[] = {0.3, 1.0, 2.5};
    (void)state;
    dyn_map *map = maps_make("ikeda", "u=0.9");
    dyn_multilinear *m = make(map, 1);
    for (size_t i = 0; i < 3; i++) {
        const double rho = radii[i];
        const double phi = 0.7;
        const double x[] = {rho * cos(phi), rho * sin(phi)};
        const double ray[] = {cos(phi), sin(phi)};
        const double g = 1.0 / (1.0 + rho * rho);
        /* t', t'', t''' in ρ. */
        const double t = 0.4 - 6.0 * g;
        const double t1 = 12.0 * rho * g * g;
        const double t2 = 12.0 * g * g - 48.0 * rho * rho * g * g * g;
        const double t3 = -144.0 * rho * g * g * g + 288.0 * rho * rho * rho * g * g * g * g;
        const double complex unit = 1.0 * (double complex)I;
        const double complex e = 0.9 * cexp(unit * (t + phi));
        const double complex second = e * (2.0 * unit * t1 + rho * (unit * t2 - t1 * t1));
        const double complex third = e * (3.0 * (unit * t2 - t1 * t1) +
                                          rho * (unit * t3 - 3.0 * t1 * t2 - unit * t1 * t1 * t1));
        double out[2];
        dyn_multilinear_second(m, x, ray, ray, out);
        MAPS_CLOSE(out[0], creal(second), 1e-11);
        MAPS_CLOSE(out[1], cimag(second), 1e-11);
        dyn_multilinear_third(m, x, ray, ray, ray, out);
        MAPS_CLOSE(out[0], creal(third), 1e-9);
        MAPS_CLOSE(out[1], cimag(third), 1e-9);
    }
    dyn_multilinear_destroy(m);
    dyn_map_destroy(map);
}

/* ---- Polynomials in skewed coordinates ---------------------------------------------------- */

/* y₀' = ½y₀ + 3y₀²y₁ − y₁y₂, y₁' = y₀³ + 2y₂², y₂' = y₀y₁y₂ + y₂⁵. */
static const poly_term cubic[] = {
    {0, 0.5, -1, {1}},       {0, 3.0, -1, {2, 1}},    {0, -1.0, -1, {0, 1, 1}}, {1, 1.0, -1, {3}},
    {1, 2.0, -1, {0, 0, 2}}, {2, 1.0, -1, {1, 1, 1}}, {2, 1.0, -1, {0, 0, 5}},  {0}};

/* B and C of the rule above at y in directions a, b, c. */
static void expect(const double *y, const double *a, const double *b, const double *c,
                   double *second, double *third)
{
    second[0] = 6.0 * (y[1] * a[0] * b[0] + y[0] * (a[0] * b[1] + a[1] * b[0])) -
                (a[1] * b[2] + a[2] * b[1]);
    second[1] = 6.0 * y[0] * a[0] * b[0] + 4.0 * a[2] * b[2];
    second[2] = y[0] * (a[1] * b[2] + a[2] * b[1]) + y[1] * (a[0] * b[2] + a[2] * b[0]) +
                y[2] * (a[0] * b[1] + a[1] * b[0]) + 20.0 * y[2] * y[2] * y[2] * a[2] * b[2];
    third[0] = 6.0 * (a[0] * b[0] * c[1] + a[0] * b[1] * c[0] + a[1] * b[0] * c[0]);
    third[1] = 6.0 * a[0] * b[0] * c[0];
    third[2] = a[0] * (b[1] * c[2] + b[2] * c[1]) + a[1] * (b[0] * c[2] + b[2] * c[0]) +
               a[2] * (b[0] * c[1] + b[1] * c[0]) + 60.0 * y[2] * y[2] * a[2] * b[2] * c[2];
}

static void check_polynomial(poly_offer offer, double tolerance2, double tolerance3)
{
    double y[4][3];
    double x[4][3];
    double expected[2][3];
    double image[2][3];
    double out[3];
    dyn_map *map = poly_make(3, cubic, offer);
    dyn_multilinear *m = make(map, 1);
    dyn_test_fill(y[0], 12, 3);
    for (size_t i = 0; i < 4; i++) {
        poly_to_state(map, y[i], x[i]);
    }
    expect(y[0], y[1], y[2], y[3], expected[0], expected[1]);
    poly_to_state(map, expected[0], image[0]);
    poly_to_state(map, expected[1], image[1]);
    dyn_multilinear_second(m, x[0], x[1], x[2], out);
    for (size_t i = 0; i < 3; i++) {
        MAPS_CLOSE(out[i], image[0][i], tolerance2);
    }
    assert_true(dyn_multilinear_error(m) <= tolerance2);
    dyn_multilinear_third(m, x[0], x[1], x[2], x[3], out);
    for (size_t i = 0; i < 3; i++) {
        MAPS_CLOSE(out[i], image[1][i], tolerance3);
    }
    assert_true(dyn_multilinear_error(m) <= tolerance3);
    /* The estimate knows of the noise of the products. */
    assert_true(offer != POLY_APPROXIMATE || dyn_multilinear_error(m) >= 1e-10);
    dyn_multilinear_destroy(m);
    dyn_map_destroy(map);
}

static void test_polynomial(void **state)
{
    (void)state;
    check_polynomial(POLY_PLAIN, 1e-13, 1e-11);
}

/* Iterates in three coordinates: B against differences of products by the Jacobian of F^p, and C,
 * in directions that differ, against differences of B, both extrapolated once: h⁴ and ε/h remain.
 */
static void test_iterates_of_a_polynomial(void **state)
{
    const double h = 1e-3;
    double y[4][3];
    double x[4][3];
    double at[3];
    double side[4][3];
    double out[3];
    (void)state;
    dyn_map *map = poly_make(3, cubic, POLY_PLAIN);
    dyn_test_fill(y[0], 12, 3);
    for (size_t i = 0; i < 4; i++) {
        poly_to_state(map, y[i], x[i]);
    }
    for (size_t p = 2; p <= 3; p++) {
        dyn_multilinear *m = make(map, p);
        for (size_t third = 0; third < 2; third++) {
            for (size_t k = 0; k < 4; k++) {
                const double step = (k % 2 == 0 ? h : -h) * (k < 2 ? 1.0 : 2.0);
                for (size_t i = 0; i < 3; i++) {
                    at[i] = x[0][i] + step * x[1][i];
                }
                if (third == 1) {
                    dyn_multilinear_second(m, at, x[2], x[3], side[k]);
                } else {
                    dyn_multilinear_first(m, at, x[2], NULL, side[k]);
                }
            }
            if (third == 1) {
                dyn_multilinear_third(m, x[0], x[1], x[2], x[3], out);
            } else {
                dyn_multilinear_second(m, x[0], x[1], x[2], out);
            }
            for (size_t i = 0; i < 3; i++) {
                const double near = (side[0][i] - side[1][i]) / (2.0 * h);
                const double far = (side[2][i] - side[3][i]) / (4.0 * h);
                const double expected = near + (near - far) / 3.0;
                MAPS_CLOSE(out[i], expected, 1e-7 * fmax(1.0, fabs(expected)));
            }
        }
        dyn_multilinear_destroy(m);
    }
    dyn_map_destroy(map);
}

/* Three directions that are one array are treated apart from three equal ones. */
static void test_equal_directions(void **state)
{
    double x[3];
    double a[3][3];
    double apart[3];
    double alike[3];
    (void)state;
    dyn_map *map = poly_make(3, cubic, POLY_PLAIN);
    dyn_multilinear *m = make(map, 3);
    dyn_test_fill(x, 3, 3);
    dyn_test_fill(a[0], 3, 4);
    for (size_t i = 0; i < 3; i++) {
        a[1][i] = a[2][i] = a[0][i];
    }
    dyn_multilinear_third(m, x, a[0], a[1], a[2], apart);
    dyn_multilinear_third(m, x, a[0], a[0], a[0], alike);
    for (size_t i = 0; i < 3; i++) {
        MAPS_CLOSE(alike[i], apart[i], 1e-10 * fmax(1.0, fabs(apart[i])));
    }
    dyn_multilinear_destroy(m);
    dyn_map_destroy(map);
}

/* Differences of differences: the noise of the products is what remains. */
static void test_an_approximate_product(void **state)
{
    (void)state;
    check_polynomial(POLY_APPROXIMATE, 1e-8, 1e-6);
}

/* Complex directions are linear in each: with a = a₀ + i a₁, B(a, ā) = B(a₀,a₀) + B(a₁,a₁), and
 * C(a, a, ā) = C(a₀,a₀,a₀) + C(a₀,a₁,a₁) + i (C(a₀,a₀,a₁) + C(a₁,a₁,a₁)). */
static void test_complex_directions(void **state)
{
    double y[3][3];
    double real[6][3];
    double complex a[3];
    double complex conjugate[3];
    double complex out[3];
    (void)state;
    dyn_map *map = poly_make(3, cubic, POLY_PLAIN);
    dyn_multilinear *m = make(map, 1);
    dyn_test_fill(y[0], 9, 5);
    for (size_t i = 0; i < 3; i++) {
        a[i] = y[1][i] + y[2][i] * (double complex)I;
        conjugate[i] = conj(a[i]);
    }
    dyn_multilinear_second(m, y[0], y[1], y[1], real[0]);
    dyn_multilinear_second(m, y[0], y[2], y[2], real[1]);
    dyn_multilinear_second_complex(m, y[0], a, conjugate, out);
    for (size_t i = 0; i < 3; i++) {
        MAPS_CLOSE(creal(out[i]), real[0][i] + real[1][i], 1e-12);
        MAPS_CLOSE(cimag(out[i]), 0.0, 1e-12);
    }
    dyn_multilinear_third(m, y[0], y[1], y[1], y[1], real[2]);
    dyn_multilinear_third(m, y[0], y[1], y[2], y[2], real[3]);
    dyn_multilinear_third(m, y[0], y[1], y[1], y[2], real[4]);
    dyn_multilinear_third(m, y[0], y[2], y[2], y[2], real[5]);
    dyn_multilinear_third_complex(m, y[0], a, a, conjugate, out);
    for (size_t i = 0; i < 3; i++) {
        MAPS_CLOSE(creal(out[i]), real[2][i] + real[3][i], 1e-9);
        MAPS_CLOSE(cimag(out[i]), real[4][i] + real[5][i], 1e-9);
    }
    dyn_multilinear_destroy(m);
    dyn_map_destroy(map);
}

/* ---- Edges -------------------------------------------------------------------------------- */

static void test_edges(void **state)
{
    static const double zero[] = {0.0, 0.0};
    static const double unit[] = {1.0, 0.0};
    double out[2];
    kern_error err = {0};
    dyn_multilinear *m = NULL;
    (void)state;
    dyn_map *map = dyn_test_translation(2, DYN_TEST_FAULT_TANGENT);
    assert_int_equal(dyn_multilinear_create(&m, map, 0, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "iterate 0");
    assert_null(m);
    m = make(map, 1);
    dyn_multilinear_second(m, zero, zero, unit, out);
    assert_true(out[0] == 0.0 && out[1] == 0.0 && dyn_multilinear_error(m) == 0.0);
    dyn_multilinear_third(m, zero, unit, unit, unit, out);
    assert_true(fabs(out[0]) < 1e-12 && fabs(out[1]) < 1e-12);
    const double lost[] = {9.0, 0.0};
    dyn_multilinear_second(m, lost, unit, unit, out);
    assert_true(isnan(out[0]) && isnan(out[1]) && isnan(dyn_multilinear_error(m)));
    dyn_multilinear_destroy(m);
    dyn_map_destroy(map);
}

/* Products that are lost at wide displacements: the table begins again where they are not. */
static void test_the_edge_of_a_domain(void **state)
{
    static const double x[] = {4.95, 0.0};
    static const double u[] = {1.0, 1.0};
    double out[2];
    (void)state;
    dyn_map *map = dyn_test_translation(2, DYN_TEST_FAULT_TANGENT);
    dyn_multilinear *m = make(map, 1);
    dyn_multilinear_third(m, x, u, u, u, out);
    assert_true(fabs(out[0]) < 1e-9 && fabs(out[1]) < 1e-9);
    dyn_multilinear_destroy(m);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_henon),
        cmocka_unit_test(test_iterates_of_the_logistic_map),
        cmocka_unit_test(test_ikeda),
        cmocka_unit_test(test_polynomial),
        cmocka_unit_test(test_iterates_of_a_polynomial),
        cmocka_unit_test(test_equal_directions),
        cmocka_unit_test(test_an_approximate_product),
        cmocka_unit_test(test_complex_directions),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_the_edge_of_a_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
