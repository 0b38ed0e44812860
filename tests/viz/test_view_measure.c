/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gradient and curvature on a plane against energies whose derivatives are known.
 */
#include "dyn/dyn_plane.h"
#include "viz/view/view_measure.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static const dyn_plane_metric orthonormal = {.gram = {1.0, 0.0, 1.0}};

typedef double energy_of(const void *context, double a, double b);

typedef struct formula {
    energy_of *energy;
    const void *context;
} formula;

static void evaluate(void *context, int worker, size_t n, const double *a, const double *b,
                     double *e)
{
    const formula *f = context;
    (void)worker;
    for (size_t i = 0; i < n; i++) {
        e[i] = f->energy(f->context, a[i], b[i]);
    }
}

static view_measure measure(energy_of *energy, const void *context, const dyn_plane_metric *metric,
                            double scale, double a, double b)
{
    formula f = {.energy = energy, .context = context};
    const dyn_slice_source source = {.context = &f, .workers = 1, .energies = evaluate};
    view_measure out;
    view_measure_source(&out, &source, 0, metric, scale, a, b);
    return out;
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g to %g", value, expected, tolerance);
    }
}

/* Curvatures as good as they say, and no worse than ε^(2/3) ≈ 4e-11 of an energy of order 1 with a
 * hundred of constants: what the step of the header leaves of an error h⁴ + ε/h². */
static void assert_curvatures(const view_measure *m, double low, double high)
{
    assert_true(m->uncertainty <= 4e-9);
    assert_near(m->curvature[0], low, 10.0 * m->uncertainty);
    assert_near(m->curvature[1], high, 10.0 * m->uncertainty);
}

/* 2 + a − 2b + ½ (3a² + 2·1·ab + 2b²) in the frame of its axes. */
static double quadratic(const void *context, double a, double b)
{
    (void)context;
    return 2.0 + a - 2.0 * b + 0.5 * (3.0 * a * a + 2.0 * a * b + 2.0 * b * b);
}

static void test_quadratic(void **state)
{
    const double half = sqrt(1.25);
    const view_measure m = measure(quadratic, NULL, &orthonormal, 1.0, 0.3, -0.2);
    const double sa = 1.0 + 0.9 - 0.2;
    const double sb = -2.0 + 0.3 - 0.4;
    (void)state;
    assert_near(m.energy, quadratic(NULL, 0.3, -0.2), 0.0);
    assert_near(m.slope[0], sa, 1e-11);
    assert_near(m.slope[1], sb, 1e-11);
    assert_near(m.gradient, hypot(sa, sb), 1e-11);
    assert_curvatures(&m, 2.5 - half, 2.5 + half);
    /* tan 2φ = 2·1/(3 − 2); gaps of 2·half between curvatures. */
    assert_near(m.direction[1], 0.5 * atan(2.0), 10.0 * m.uncertainty);
    assert_near(m.direction[0], 0.5 * atan(2.0) + 0.5 * PI, 10.0 * m.uncertainty);
}

static double wave(const void *context, double a, double b)
{
    (void)context;
    return cos(2.0 * a) * exp(b);
}

static void test_smooth(void **state)
{
    const double a = 0.4;
    const double b = 0.1;
    const double c = cos(2.0 * a) * exp(b);
    const double s = sin(2.0 * a) * exp(b);
    const double aa = -4.0 * c;
    const double ab = -2.0 * s;
    const double middle = 0.5 * (aa + c);
    const double half = hypot(0.5 * (aa - c), ab);
    (void)state;
    /* The scale may be wrong by an order of magnitude either way. */
    for (double scale = 0.1; scale < 20.0; scale *= 10.0) {
        const view_measure m = measure(wave, NULL, &orthonormal, scale, a, b);
        assert_near(m.slope[0], ab, 1e-8);
        assert_near(m.slope[1], c, 1e-8);
        assert_true(m.uncertainty <= 1e-6);
        assert_near(m.curvature[0], middle - half, 10.0 * m.uncertainty);
        assert_near(m.curvature[1], middle + half, 10.0 * m.uncertainty);
    }
}

/* Oblique axes u = (2, 0), v = (1, 3): the place (a, b) is (2a + b, 3b). */
static double oblique(const void *context, double a, double b)
{
    return quadratic(context, 2.0 * a + b, 3.0 * b);
}

static void test_axes_do_not_matter(void **state)
{
    const dyn_plane_metric metric = {.gram = {4.0, 2.0, 10.0}};
    const view_measure m = measure(oblique, NULL, &metric, 1.0, 0.25, -0.1);
    const view_measure n = measure(quadratic, NULL, &orthonormal, 1.0, 0.4, -0.3);
    (void)state;
    assert_near(m.gradient, n.gradient, 1e-9);
    for (int i = 0; i < 2; i++) {
        assert_near(m.curvature[i], n.curvature[i], 10.0 * (m.uncertainty + n.uncertainty));
        assert_near(m.direction[i], n.direction[i], 10.0 * (m.uncertainty + n.uncertainty));
        /* A direction (2x + y, 3y) is drawn as (x, y). */
        const double y = sin(m.direction[i]) / 3.0;
        const double angle = atan2(y, 0.5 * (cos(m.direction[i]) - y));
        assert_near(m.page[i], angle < 0.0 ? angle + PI : angle, 1e-12);
        assert_near(n.page[i], n.direction[i], 1e-12);
    }
}

/* ---- A sphere --------------------------------------------------------------------------------
 *
 * E(x) = ½ x·A x on the sphere of radius R about 0: on every curved chart with unit axes, ∂E/∂a =
 * c·A u and H = (u·A v) − (c·A c/R²)(u·v) at the centre c, since x″ = −c/R² along each. */
enum { DIMENSION = 4 };

static const double form[DIMENSION] = {1.0, -2.0, 0.5, 3.0}; /* A = diag */

static double on_sphere(const void *context, double a, double b)
{
    const dyn_plane *plane = context;
    double x[DIMENSION];
    double sum = 0.0;
    dyn_plane_point(plane, a, b, x);
    for (size_t i = 0; i < DIMENSION; i++) {
        sum += 0.5 * form[i] * x[i] * x[i];
    }
    return sum;
}

static double product(const double *v, const double *w)
{
    double sum = 0.0;
    for (size_t i = 0; i < DIMENSION; i++) {
        sum += form[i] * v[i] * w[i];
    }
    return sum;
}

static dyn_plane *make_plane(dyn_plane_chart chart)
{
    const double c[DIMENSION] = {1.0, -1.0, 2.0, 0.5};
    const double axes[2][DIMENSION] = {{0.3, 1.0, 0.2, -0.5}, {-1.0, 0.1, 0.4, 1.0}};
    const dyn_plane_frame frame = {.block_count = 1,
                                   .block_width = DIMENSION,
                                   .gauge = DYN_GAUGE_SCALE,
                                   .centre = c,
                                   .chart = chart,
                                   .norm = DYN_PLANE_EUCLIDEAN};
    dyn_plane *plane;
    assert_int_equal(dyn_plane_create(&plane, &frame, NULL), KERN_OK);
    assert_int_equal(dyn_plane_set_axes(plane, axes[0], axes[1], false, NULL), KERN_OK);
    return plane;
}

static view_measure measure_plane(const dyn_plane *plane, double a, double b)
{
    dyn_plane_metric metric;
    dyn_plane_measure(plane, a, b, &metric);
    return measure(on_sphere, plane, &metric, plane->radius[0], a, b);
}

static const dyn_plane_chart charts[] = {DYN_PLANE_SPHERE, DYN_PLANE_GNOMONIC,
                                         DYN_PLANE_ORTHOGRAPHIC};

static void test_sphere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        dyn_plane *plane = make_plane(charts[i]);
        const double *c = plane->centre;
        const double *u = plane->axes[0];
        const double *v = plane->axes[1];
        const double radial = product(c, c) / 6.25;
        const double aa = product(u, u) - radial;
        const double ab = product(u, v);
        const double bb = product(v, v) - radial;
        const double half = hypot(0.5 * (aa - bb), ab);
        const view_measure m = measure_plane(plane, 0.0, 0.0);
        /* With the step that suits second derivatives; the fifth is largest on a gnomonic chart. */
        assert_near(m.gradient, hypot(product(c, u), product(c, v)), 1e-7);
        assert_true(m.uncertainty <= 1e-7);
        assert_near(m.curvature[0], 0.5 * (aa + bb) - half, 10.0 * m.uncertainty);
        assert_near(m.curvature[1], 0.5 * (aa + bb) + half, 10.0 * m.uncertainty);
        dyn_plane_destroy(plane);
    }
}

/* What a place has, whatever the chart. */
typedef struct truth {
    double gradient, low, high;
} truth;

/* A state has one gradient and two curvatures, whatever the chart: those of the energy along the
 * sphere of c, u and v. For unit tangents t and n of it at x they are x·A t and the eigenvalues of
 * t·A n − (x·A x/R²) t·n. */
static truth truth_at(const dyn_plane *plane, const double *x)
{
    double t[2][DIMENSION];
    for (size_t k = 0; k < 2; k++) { /* the axes without their parts along x, and each other */
        double along = 0.0;
        double both = 0.0;
        double length = 0.0;
        for (size_t i = 0; i < DIMENSION; i++) {
            along += plane->axes[k][i] * x[i] / 6.25;
            both += k == 1 ? plane->axes[1][i] * t[0][i] : 0.0;
        }
        for (size_t i = 0; i < DIMENSION; i++) {
            t[k][i] = plane->axes[k][i] - along * x[i] - (k == 1 ? both * t[0][i] : 0.0);
            length += t[k][i] * t[k][i];
        }
        for (size_t i = 0; i < DIMENSION; i++) {
            t[k][i] /= sqrt(length);
        }
    }
    const double radial = product(x, x) / 6.25;
    const double aa = product(t[0], t[0]) - radial;
    const double bb = product(t[1], t[1]) - radial;
    const double half = hypot(0.5 * (aa - bb), product(t[0], t[1]));
    return (truth){hypot(product(x, t[0]), product(x, t[1])), 0.5 * (aa + bb) - half,
                   0.5 * (aa + bb) + half};
}

static void test_charts_do_not_matter(void **state)
{
    double x[DIMENSION];
    (void)state;
    dyn_plane *first = make_plane(DYN_PLANE_SPHERE);
    dyn_plane_point(first, 1.2, -0.9, x);
    const truth is = truth_at(first, x);
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        dyn_plane_shadow at;
        dyn_plane *plane = make_plane(charts[i]);
        dyn_plane_project(plane, x, &at);
        const view_measure m = measure_plane(plane, at.a, at.b);
        assert_near(m.energy, 0.5 * product(x, x), 1e-12);
        assert_near(m.gradient, is.gradient, 1e-8);
        assert_true(m.uncertainty <= 1e-6);
        assert_near(m.curvature[0], is.low, 10.0 * m.uncertainty);
        assert_near(m.curvature[1], is.high, 10.0 * m.uncertainty);
        dyn_plane_destroy(plane);
    }
    dyn_plane_destroy(first);
}

/* Near antipodes and far out on a gnomonic chart a small part of the page is many states: numbers
 * get worse there, and say so. */
static void test_stretched_places(void **state)
{
    double x[DIMENSION];
    (void)state;
    for (int digits = 1; digits <= 6; digits++) {
        const double near = pow(10.0, -digits);
        const double radius[] = {2.5 * (PI - near), 2.5 / near};
        for (size_t i = 0; i < 2; i++) {
            dyn_plane *plane = make_plane(charts[i]);
            dyn_plane_point(plane, 0.8 * radius[i], 0.6 * radius[i], x);
            const truth is = truth_at(plane, x);
            const view_measure m = measure_plane(plane, 0.8 * radius[i], 0.6 * radius[i]);
            const double off = fmax(fabs(m.curvature[0] - is.low), fabs(m.curvature[1] - is.high));
            assert_false(off > 10.0 * m.uncertainty); /* or none are told */
            dyn_plane_destroy(plane);
        }
    }
    dyn_plane *plane = make_plane(DYN_PLANE_ORTHOGRAPHIC);
    assert_true(isnan(measure_plane(plane, 2.5, 0.0).uncertainty)); /* on the rim */
    assert_true(isnan(measure(wave, NULL, &orthonormal, 1.0, 1e15, 0.0).uncertainty));
    dyn_plane_destroy(plane);
}

/* ---- Edges ------------------------------------------------------------------------------------
 */

static double root(const void *context, double a, double b)
{
    (void)context;
    return sqrt(a) + b * b;
}

/* Steps that leave the domain are left out, and outside it there is nothing. */
static void test_edges(void **state)
{
    const double a = 0.01;
    (void)state;
    const view_measure m = measure(root, NULL, &orthonormal, 1.0, a, 0.0);
    assert_near(m.slope[0], 0.5 / sqrt(a), 1e-4);
    assert_true(m.uncertainty <= 1.0);
    assert_near(m.curvature[0], -0.25 * pow(a, -1.5), 10.0 * m.uncertainty);
    assert_near(m.curvature[1], 2.0, 10.0 * m.uncertainty);
    const view_measure none = measure(root, NULL, &orthonormal, 1.0, -a, 0.0);
    assert_true(isnan(none.energy) && isnan(none.slope[0]) && isnan(none.gradient));
    assert_true(isnan(none.curvature[0]) && isnan(none.curvature[1]) && isnan(none.uncertainty));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quadratic),
        cmocka_unit_test(test_smooth),
        cmocka_unit_test(test_axes_do_not_matter),
        cmocka_unit_test(test_sphere),
        cmocka_unit_test(test_charts_do_not_matter),
        cmocka_unit_test(test_stretched_places),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
