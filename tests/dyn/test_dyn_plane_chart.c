/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Charts of planes: states against their formulas, places of states, what has no place and what has
 * no state, and lengths along the charts.
 */
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_plane_chart.h"
#include "dyn/dyn_plane_kinds.h"
#include "dyn/dyn_slice.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_rng.h"

#include <stdlib.h>

enum { BLOCKS = 2, WIDTH = 6, SIZE = BLOCKS * WIDTH };

static const dyn_plane_chart curved[] = {DYN_PLANE_SPHERE, DYN_PLANE_GNOMONIC,
                                         DYN_PLANE_ORTHOGRAPHIC};
enum { CURVED = 3 };

static void fill(double *x, size_t n, uint64_t seed)
{
    kern_rng *rng = kern_rng_create(seed, "chart-test", 0);
    for (size_t i = 0; i < n; i++) {
        x[i] = kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
}

static double dot(const double *x, const double *y, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* Random axes: of block 1 alone in its own lengths, or of both in Euclidean ones. The centre's
 * blocks have means, which a shift of the norm takes away. */
static dyn_plane *make(dyn_plane_chart chart, bool both, dyn_gauge gauge)
{
    static const size_t token = 1;
    double centre[SIZE];
    dyn_plane *plane = NULL;
    dyn_plane_recipe recipe = {.seed = 5};
    fill(centre, SIZE, 1);
    for (size_t i = 0; i < SIZE; i++) {
        centre[i] = 2.0 * centre[i] + (i < WIDTH ? 0.3 : -0.8);
    }
    const dyn_plane_frame frame = {.block_count = BLOCKS,
                                   .block_width = WIDTH,
                                   .gauge = gauge,
                                   .centre = centre,
                                   .movable = both ? NULL : &token,
                                   .n_movable = 1,
                                   .chart = chart,
                                   .norm = both ? DYN_PLANE_EUCLIDEAN : DYN_PLANE_RELATIVE};
    MAPS_OK(dyn_plane_create(&plane, &frame, maps_err));
    MAPS_OK(dyn_plane_kind_find(&recipe.kind, "random", maps_err));
    MAPS_OK(dyn_plane_make(plane, &recipe, NULL, maps_err));
    return plane;
}

static void test_words(void **state)
{
    static const char *const words[] = {"flat", "sphere", "gnomonic", "orthographic"};
    (void)state;
    for (size_t i = 0; i < DYN_PLANE_CHART_COUNT; i++) {
        assert_string_equal(dyn_plane_chart_word((dyn_plane_chart)i), words[i]);
        assert_true(strlen(dyn_plane_chart_help((dyn_plane_chart)i)) > 0);
        assert_true(strlen(dyn_plane_chart_unit((dyn_plane_chart)i)) > 0);
        assert_true(dyn_plane_chart_is_curved((dyn_plane_chart)i) == (i > 0));
    }
    assert_null(dyn_plane_chart_word(DYN_PLANE_CHART_COUNT));
    assert_null(dyn_plane_chart_at((dyn_plane_chart)-1));
}

/* x = R (c + a u + b v)/√(1 + r²) and R (√(1 − r²) c + a u + b v) of unit vectors, written out. */
static void test_states(void **state)
{
    static const double places[][2] = {{0, 0}, {0.3, -0.2}, {-0.6, 0.79}, {0, 1}, {-4.0, 30.0}};
    (void)state;
    for (size_t k = 0; k < 2 * sizeof places / sizeof *places; k++) {
        const double a = places[k / 2][0];
        const double b = places[k / 2][1];
        const double r = hypot(a, b);
        const bool far = k % 2 == 0;
        dyn_plane *p =
            make(far ? DYN_PLANE_ORTHOGRAPHIC : DYN_PLANE_GNOMONIC, false, DYN_GAUGE_SCALE_SHIFT);
        double x[SIZE];
        const double radius = p->radius[1];
        dyn_plane_point(p, a, b, x);
        assert_true(dyn_plane_has(p, a, b) == (!far || r <= 1.0));
        for (size_t i = 0; i < SIZE; i++) {
            const double middle = p->centre[i] / radius;
            const double along = (a * p->axes[0][i] + b * p->axes[1][i]) / radius;
            const double expected =
                far ? sqrt(1.0 - r * r) * middle + along : (middle + along) / sqrt(1.0 + r * r);
            if (far && r > 1.0) {
                assert_true(isnan(x[i]));
            } else {
                MAPS_CLOSE(x[i], i < WIDTH ? p->centre[i] : radius * expected, 1e-14 * radius);
            }
        }
        dyn_plane_destroy(p);
    }
}

/* A place's state falls on the place, at the distance that the angle has on the chart. */
static void test_places(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CURVED * 2 * 3; i++) {
        const dyn_plane_chart chart = curved[i % CURVED];
        const bool both = i / CURVED % 2 == 1;
        dyn_plane *p = make(chart, both, (dyn_gauge)(i / (2 * CURVED)));
        for (unsigned k = 0; k < 40; k++) {
            const double r = (k + 1) / 41.0;
            const double a = r * cos(k);
            const double b = r * sin(k);
            double x[SIZE];
            dyn_plane_shadow s;
            dyn_plane_point(p, a, b, x);
            for (size_t j = 0; j < SIZE; j++) {
                x[j] *= 3.0; /* directions count */
            }
            dyn_plane_project(p, x, &s);
            MAPS_CLOSE(s.a, a, 1e-13);
            MAPS_CLOSE(s.b, b, 1e-13);
            MAPS_CLOSE(s.residual, 0.0, 1e-13);
            MAPS_CLOSE(s.distance, r, 1e-13);
            if (!both) {
                const double *c = p->centre + WIDTH;
                const double length = sqrt(dot(c, c, WIDTH) * dot(x + WIDTH, x + WIDTH, WIDTH));
                const double angle = acos(dot(c, x + WIDTH, WIDTH) / length);
                MAPS_CLOSE(dyn_plane_angle(p, a, b), angle, 1e-13);
                MAPS_CLOSE(chart == DYN_PLANE_SPHERE     ? angle
                           : chart == DYN_PLANE_GNOMONIC ? tan(angle)
                                                         : sin(angle),
                           r, 1e-13);
            }
        }
        dyn_plane_destroy(p);
    }
}

/* States of a great circle: cos t x + sin t y of two states at right angles. */
static void circle(const double *x, const double *y, double t, double *out)
{
    for (size_t i = 0; i < SIZE; i++) {
        out[i] = cos(t) * x[i] + sin(t) * y[i];
    }
}

/* Twice the area between three states of a great circle within the plane, and that of the
 * coordinates' box. */
static double area(dyn_plane *p, bool through_centre)
{
    double ends[2][SIZE];
    double x[SIZE];
    dyn_plane_shadow s[3];
    dyn_plane_point(p, through_centre ? 0.0 : 0.3, through_centre ? 0.0 : -0.2, ends[0]);
    dyn_plane_point(p, 0.2, 0.6, ends[1]);
    const double *x0 = ends[0] + WIDTH;
    const double along = dot(x0, ends[1] + WIDTH, WIDTH) / dot(x0, x0, WIDTH);
    for (size_t i = 0; i < SIZE; i++) {
        ends[1][i] -= along * ends[0][i];
    }
    const double length = sqrt(dot(x0, x0, WIDTH) / dot(ends[1] + WIDTH, ends[1] + WIDTH, WIDTH));
    for (size_t i = 0; i < SIZE; i++) {
        ends[1][i] *= length;
    }
    for (int k = 0; k < 3; k++) {
        circle(ends[0], ends[1], 0.4 * k, x);
        dyn_plane_project(p, x, &s[k]);
        MAPS_CLOSE(s[k].residual, 0.0, 1e-13);
    }
    return fabs((s[1].a - s[0].a) * (s[2].b - s[0].b) - (s[1].b - s[0].b) * (s[2].a - s[0].a));
}

/* Through the centre great circles are straight on every chart, elsewhere on the gnomonic alone. */
static void test_great_circles(void **state)
{
    (void)state;
    for (size_t i = 0; i < CURVED; i++) {
        dyn_plane *p = make(curved[i], false, DYN_GAUGE_SCALE_SHIFT);
        MAPS_CLOSE(area(p, true), 0.0, 1e-14);
        const double bent = area(p, false);
        if (curved[i] == DYN_PLANE_GNOMONIC) {
            MAPS_CLOSE(bent, 0.0, 1e-14);
        } else {
            assert_true(bent > 1e-3);
        }
        dyn_plane_destroy(p);
    }
}

/* ---- What has no place and what has no state ------------------------------------------------ */

/* A state at some angle from the centre, in a direction partly out of the plane. */
static void state_at(const dyn_plane *p, double angle, double *x)
{
    double w[SIZE];
    fill(w, SIZE, 9);
    dyn_plane_make_tangent(p, w);
    memcpy(x, p->centre, SIZE * sizeof *x);
    const double length = sqrt(dot(w, w, SIZE));
    for (size_t i = WIDTH; i < SIZE; i++) {
        x[i] = cos(angle) * p->centre[i] + sin(angle) * p->radius[1] * w[i] / length;
    }
}

static void test_far_half(void **state)
{
    static const double degrees[] = {10, 80, 89.9, 90.1, 120, 180};
    const double degree = acos(-1.0) / 180.0;
    (void)state;
    for (size_t k = 0; k < 6; k++) {
        double share[CURVED];
        for (size_t i = 0; i < CURVED; i++) {
            dyn_plane *p = make(curved[i], false, DYN_GAUGE_SCALE_SHIFT);
            double x[SIZE];
            double w[SIZE];
            dyn_plane_shadow s;
            state_at(p, degree * degrees[k], x);
            dyn_plane_project(p, x, &s);
            const bool has = curved[i] == DYN_PLANE_SPHERE || degrees[k] < 90.0;
            share[i] = s.residual / s.distance;
            assert_true(isnan(s.a) != has && isnan(s.b) != has);
            assert_true(isnan(s.distance) != has && isnan(s.residual) != has);
            MAPS_CLOSE(s.held, 0.0, 0.0);
            /* The geodesic leads there on every chart. */
            dyn_plane_lift(p, x, w);
            MAPS_CLOSE(sqrt(dyn_plane_product(p, w, w)), degree * degrees[k], 1e-8);
            dyn_plane_destroy(p);
        }
        /* The share that is off the plane does not depend on the chart. */
        assert_true(share[0] > 0.1 || degrees[k] == 180.0);
        if (degrees[k] < 90.0) {
            MAPS_CLOSE(share[1], share[0], 1e-12);
            MAPS_CLOSE(share[2], share[0], 1e-12);
        }
    }
}

/* The rim belongs to the orthographic chart, though rounding puts half of it on the other side. */
static void test_rim(void **state)
{
    (void)state;
    dyn_plane *p = make(DYN_PLANE_ORTHOGRAPHIC, false, DYN_GAUGE_SCALE);
    for (unsigned k = 0; k < 50; k++) {
        double x[SIZE];
        dyn_plane_shadow s;
        for (size_t i = 0; i < SIZE; i++) {
            x[i] = i < WIDTH ? p->centre[i] : cos(k) * p->axes[0][i] + sin(k) * p->axes[1][i];
        }
        dyn_plane_project(p, x, &s);
        MAPS_CLOSE(s.a, cos(k), 1e-13);
        MAPS_CLOSE(s.b, sin(k), 1e-13);
        assert_true(dyn_plane_has(p, 0.999999 * s.a, 0.999999 * s.b));
        assert_false(dyn_plane_has(p, 1.000001 * s.a, 1.000001 * s.b));
    }
    assert_false(dyn_plane_has(p, (double)NAN, 0.0));
    assert_true(isnan(dyn_plane_angle(p, 1.0, 1.0)));
    dyn_plane_destroy(p);
}

/* The nearest state of a plane is its gnomonic place: no other place's state is nearer. */
static void test_gnomonic_is_nearest(void **state)
{
    double x[SIZE];
    double y[SIZE];
    dyn_plane_shadow s;
    (void)state;
    dyn_plane *p = make(DYN_PLANE_GNOMONIC, false, DYN_GAUGE_SCALE_SHIFT);
    state_at(p, 1.1, x);
    dyn_plane_project(p, x, &s);
    dyn_plane_point(p, s.a, s.b, y);
    const double nearest = dot(x, y, SIZE);
    for (unsigned k = 0; k < 16; k++) {
        dyn_plane_point(p, s.a + 1e-3 * cos(k), s.b + 1e-3 * sin(k), y);
        assert_true(dot(x, y, SIZE) < nearest);
    }
    dyn_plane_destroy(p);
}

/* All curved charts have the axes of a trajectory's geodesics, also where it leaves the half. */
static void test_pca_axes(void **state)
{
    double states[4 * SIZE];
    double first[2 * SIZE];
    (void)state;
    for (size_t i = 0; i < CURVED; i++) {
        dyn_plane *p = make(curved[i], false, DYN_GAUGE_SCALE_SHIFT);
        dyn_plane_recipe r = {.vectors = states, .n_vectors = 4};
        fill(states, 4 * SIZE, 3);
        MAPS_OK(dyn_plane_kind_find(&r.kind, "pca", maps_err));
        MAPS_OK(dyn_plane_make(p, &r, NULL, maps_err));
        for (size_t k = 0; k < 2; k++) {
            if (i == 0) {
                memcpy(first + k * SIZE, p->axes[k], SIZE * sizeof *first);
            }
            assert_memory_equal(first + k * SIZE, p->axes[k], SIZE * sizeof *first);
        }
        dyn_plane_destroy(p);
    }
}

static void ones(void *context, int worker, size_t n, const double *a, const double *b, double *e)
{
    (void)worker;
    for (size_t i = 0; i < n; i++) {
        const bool has = dyn_plane_has(context, a[i], b[i]);
        e[i] = has && !(fabs(a[i]) < 0.01) ? 1.0 : (double)NAN;
    }
}

/* Samples without a state are counted apart from energies that are not finite. */
static void test_outside_is_counted(void **state)
{
    dyn_slice_field f;
    const dyn_slice_range range = {-2.0, 2.0, -1.0, 1.0};
    (void)state;
    dyn_plane *p = make(DYN_PLANE_ORTHOGRAPHIC, false, DYN_GAUGE_SCALE_SHIFT);
    const dyn_slice_source source = {.context = p, .workers = 1, .plane = p, .energies = ones};
    MAPS_OK(dyn_slice_field_init(&f, 9, 5, &range, maps_err));
    MAPS_OK(dyn_slice_compute(&f, &source, 1, NULL, NULL, maps_err));
    /* Of the lattice of step ½ the disc holds (0, b) for five b, of which the outermost are the
     * rim itself and may go either way, (±½, 0), (±½, ±½) and (±1, 0), likewise. */
    assert_int_equal(f.n_finite + f.n_not_finite + f.n_outside, 45);
    assert_true(f.n_not_finite >= 3 && f.n_not_finite <= 5);
    assert_true(f.n_finite >= 6 && f.n_finite <= 8);
    dyn_slice_field_fini(&f);
    dyn_plane_destroy(p);
}

/* ---- Lengths -------------------------------------------------------------------------------- */

/* ∂x/∂a and ∂x/∂b by central differences, and the Gram matrix that they give. */
static void differ(const dyn_plane *p, double a, double b, double gram[3])
{
    const double h = 1e-5;
    double ends[4][SIZE];
    dyn_plane_point(p, a + h, b, ends[0]);
    dyn_plane_point(p, a - h, b, ends[1]);
    dyn_plane_point(p, a, b + h, ends[2]);
    dyn_plane_point(p, a, b - h, ends[3]);
    for (size_t i = 0; i < SIZE; i++) {
        ends[0][i] = (ends[0][i] - ends[1][i]) / (2.0 * h);
        ends[2][i] = (ends[2][i] - ends[3][i]) / (2.0 * h);
    }
    gram[0] = dyn_plane_product(p, ends[0], ends[0]);
    gram[1] = dyn_plane_product(p, ends[0], ends[2]);
    gram[2] = dyn_plane_product(p, ends[2], ends[2]);
}

/* Γᵏ_ij = ½ Σ_l Gᵏˡ (∂_i G_jl + ∂_j G_il − ∂_l G_ij), with ∂_l G by differences of what the chart
 * says of G. `slope[l]` holds them. */
static double symbol(const double gram[3], double slope[2][3], int k, int i, int j)
{
    const double det = gram[0] * gram[2] - gram[1] * gram[1];
    double sum = 0.0;
    for (int l = 0; l < 2; l++) {
        const double inverse = (k != l ? -gram[1] : k == 0 ? gram[2] : gram[0]) / det;
        sum += 0.5 * inverse * (slope[i][j + l] + slope[j][i + l] - slope[l][i + j]);
    }
    return sum;
}

static void check_metric(const dyn_plane *p, double a, double b)
{
    const double h = 1e-5;
    dyn_plane_metric m;
    dyn_plane_metric ends[4];
    double gram[3];
    double slope[2][3];
    dyn_plane_measure(p, a, b, &m);
    dyn_plane_measure(p, a + h, b, &ends[0]);
    dyn_plane_measure(p, a - h, b, &ends[1]);
    dyn_plane_measure(p, a, b + h, &ends[2]);
    dyn_plane_measure(p, a, b - h, &ends[3]);
    differ(p, a, b, gram);
    for (int k = 0; k < 3; k++) {
        MAPS_CLOSE(m.gram[k], gram[k], 1e-8);
        slope[0][k] = (ends[0].gram[k] - ends[1].gram[k]) / (2.0 * h);
        slope[1][k] = (ends[2].gram[k] - ends[3].gram[k]) / (2.0 * h);
    }
    for (int k = 0; k < 2; k++) {
        MAPS_CLOSE(m.bend[k][0], symbol(m.gram, slope, k, 0, 0), 1e-8);
        MAPS_CLOSE(m.bend[k][1], symbol(m.gram, slope, k, 0, 1), 1e-8);
        MAPS_CLOSE(m.bend[k][2], symbol(m.gram, slope, k, 1, 1), 1e-8);
    }
}

static void test_metric(void **state)
{
    static const double places[][2] = {{0, 0}, {0.02, -0.01}, {0.5, -0.3}, {-0.4, 0.7}};
    dyn_plane_metric m;
    (void)state;
    for (unsigned i = 0; i < DYN_PLANE_CHART_COUNT * 2; i++) {
        dyn_plane *p = make((dyn_plane_chart)(i / 2), i % 2 == 1, DYN_GAUGE_SCALE_SHIFT);
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            check_metric(p, places[k][0], places[k][1]);
        }
        if (i / 2 != DYN_PLANE_ORTHOGRAPHIC) {
            check_metric(p, 1.3, 0.9); /* s on both sides of the series' end */
        }
        dyn_plane_measure(p, 0.0, 0.0, &m);
        for (int k = 0; k < 3; k++) {
            MAPS_CLOSE(m.gram[k], p->gram[k], 1e-15);
            MAPS_CLOSE(m.bend[0][k], 0.0, 0.0);
            MAPS_CLOSE(m.bend[1][k], 0.0, 0.0);
        }
        dyn_plane_destroy(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),    cmocka_unit_test(test_states),
        cmocka_unit_test(test_places),   cmocka_unit_test(test_great_circles),
        cmocka_unit_test(test_far_half), cmocka_unit_test(test_rim),
        cmocka_unit_test(test_pca_axes), cmocka_unit_test(test_gnomonic_is_nearest),
        cmocka_unit_test(test_metric),   cmocka_unit_test(test_outside_is_counted),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
