/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Planes: their axes, charts, projections and kinds; fields of energies on them.
 */
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_plane_kinds.h"
#include "dyn/dyn_slice.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"

#include <stdlib.h>

enum { BLOCKS = 3, WIDTH = 5, SIZE = BLOCKS * WIDTH, STATES = 7 };

static void fill(double *x, size_t n, uint64_t seed)
{
    kern_rng *rng = kern_rng_create(seed, "plane-test", 0);
    for (size_t i = 0; i < n; i++) {
        x[i] = kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
}

static dyn_plane *make(dyn_plane_frame frame, dyn_plane_recipe recipe, const char *kind,
                       dyn_plane_notes *notes)
{
    dyn_plane *plane = NULL;
    MAPS_OK(dyn_plane_kind_find(&recipe.kind, kind, maps_err));
    MAPS_OK(dyn_plane_create(&plane, &frame, maps_err));
    MAPS_OK(dyn_plane_make(plane, &recipe, notes, maps_err));
    return plane;
}

enum { FRAMES = DYN_PLANE_CHART_COUNT * DYN_PLANE_NORM_COUNT * 3 };

/* All charts, norms and gauges; i below their number is a flat chart, a sphere, … in turn. */
static dyn_plane_frame frame_of(const double *centre, unsigned i)
{
    return (dyn_plane_frame){.block_count = BLOCKS,
                             .block_width = WIDTH,
                             .gauge = (dyn_gauge)((i % 3 + i / 12) % 3),
                             .centre = centre,
                             .chart = (dyn_plane_chart)(i % DYN_PLANE_CHART_COUNT),
                             .norm = (dyn_plane_norm)(i / DYN_PLANE_CHART_COUNT % 3)};
}

static void test_axes_are_orthonormal(void **state)
{
    double centre[SIZE];
    (void)state;
    fill(centre, SIZE, 1);
    for (unsigned i = 0; i < FRAMES; i++) {
        dyn_plane *p = make(frame_of(centre, i), (dyn_plane_recipe){.seed = i}, "random", NULL);
        for (int x = 0; x < 2; x++) {
            for (int y = 0; y < 2; y++) {
                MAPS_CLOSE(dyn_plane_product(p, p->axes[x], p->axes[y]), x == y ? 1.0 : 0.0, 1e-14);
            }
        }
        dyn_plane_destroy(p);
    }
}

/* Points of the plane come back with their coordinates and no residual; on a sphere all blocks
 * keep their lengths. */
static void test_points_project_onto_themselves(void **state)
{
    double centre[SIZE];
    double x[SIZE];
    (void)state;
    fill(centre, SIZE, 1);
    for (unsigned i = 0; i < FRAMES; i++) {
        dyn_plane *p = make(frame_of(centre, i), (dyn_plane_recipe){.seed = i}, "random", NULL);
        dyn_plane_shadow s;
        dyn_plane_point(p, 0.3, -0.7, x);
        dyn_plane_project(p, x, &s);
        MAPS_CLOSE(s.a, 0.3, 1e-13);
        MAPS_CLOSE(s.b, -0.7, 1e-13);
        MAPS_CLOSE(s.residual, 0.0, 1e-13);
        MAPS_CLOSE(s.distance, sqrt(0.3 * 0.3 + 0.7 * 0.7), 1e-13);
        MAPS_CLOSE(s.held, 0.0, 0.0);
        for (size_t b = 0; b < BLOCKS && dyn_plane_chart_is_curved(p->chart); b++) {
            double square = 0.0;
            for (size_t k = 0; k < WIDTH; k++) {
                square += x[b * WIDTH + k] * x[b * WIDTH + k];
            }
            MAPS_CLOSE(sqrt(square), p->radius[b], 1e-13);
        }
        dyn_plane_destroy(p);
    }
}

/* The residual of any state is what Pythagoras leaves, and moving along an axis changes nothing. */
static void test_residual(void **state)
{
    double centre[SIZE];
    double x[SIZE];
    const size_t token = 1;
    (void)state;
    fill(centre, SIZE, 1);
    fill(x, SIZE, 2);
    dyn_plane_frame frame = frame_of(centre, 0);
    frame.movable = &token;
    frame.n_movable = 1;
    dyn_plane *p = make(frame, (dyn_plane_recipe){.seed = 3}, "random", NULL);
    dyn_plane_shadow s;
    dyn_plane_project(p, x, &s);
    MAPS_CLOSE(s.residual * s.residual, s.distance * s.distance - s.a * s.a - s.b * s.b, 1e-12);
    double held = 0.0;
    for (size_t i = 0; i < SIZE; i++) {
        held += i / WIDTH == token ? 0.0 : (x[i] - centre[i]) * (x[i] - centre[i]);
        assert_true(i / WIDTH == token || (p->axes[0][i] == 0.0 && p->axes[1][i] == 0.0));
    }
    MAPS_CLOSE(s.held, sqrt(held), 1e-13);
    dyn_plane_destroy(p);
}

/* Radians: a quarter turn along a unit axis of one block on its sphere is orthogonal to it. */
static void test_sphere_in_radians(void **state)
{
    double centre[SIZE];
    double x[SIZE];
    const size_t token = 2;
    (void)state;
    fill(centre, SIZE, 1);
    dyn_plane_frame frame = frame_of(centre, 33); /* sphere, relative lengths, scale and shift */
    frame.movable = &token;
    frame.n_movable = 1;
    assert_int_equal(frame.chart, DYN_PLANE_SPHERE);
    assert_int_equal(frame.gauge, DYN_GAUGE_SCALE_SHIFT);
    assert_int_equal(frame.norm, DYN_PLANE_RELATIVE);
    dyn_plane *p = make(frame, (dyn_plane_recipe){.seed = 3}, "random", NULL);
    dyn_plane_point(p, 0.0, acos(-1.0) / 2.0, x);
    double along = 0.0;
    double mean = 0.0;
    for (size_t i = token * WIDTH; i < (token + 1) * WIDTH; i++) {
        along += x[i] * p->centre[i];
        mean += x[i];
    }
    MAPS_CLOSE(along, 0.0, 1e-13);
    MAPS_CLOSE(mean, 0.0, 1e-13);
    dyn_plane_destroy(p);
}

/* ---- Kinds -------------------------------------------------------------------------------- */

/* Shares and span against LAPACK's singular values of the displacements. */
static void test_pca(void **state)
{
    double states[STATES * SIZE];
    double w[STATES * SIZE];
    double s[STATES];
    (void)state;
    fill(states, STATES * SIZE, 4);
    const double *centre = states + (STATES - 1) * SIZE;
    dyn_plane_notes notes;
    dyn_plane *p = make(frame_of(centre, 0),
                        (dyn_plane_recipe){.vectors = states, .n_vectors = STATES}, "pca", &notes);
    double total = 0.0;
    double seen[2] = {0.0, 0.0};
    for (size_t t = 0; t < STATES; t++) {
        dyn_plane_shadow shadow;
        dyn_plane_project(p, states + t * SIZE, &shadow);
        seen[0] += shadow.a * shadow.a;
        seen[1] += shadow.b * shadow.b;
        for (size_t i = 0; i < SIZE; i++) {
            w[t * SIZE + i] = states[t * SIZE + i] - centre[i];
        }
    }
    MAPS_OK(kern_lapack_singular_values(STATES, SIZE, w, s, maps_err));
    for (size_t t = 0; t < STATES; t++) {
        total += s[t] * s[t];
    }
    for (int i = 0; i < 2; i++) {
        MAPS_CLOSE(notes.explained[i], s[i] * s[i] / total, 1e-13);
        MAPS_CLOSE(seen[i], s[i] * s[i], 1e-11);
    }
    dyn_plane_destroy(p);
}

/* Three points lie on their plane, on every chart. The others are in the half of their spheres that
 * has a place on all. */
static void test_points(void **state)
{
    double states[3 * SIZE];
    (void)state;
    fill(states, 3 * SIZE, 4);
    for (size_t i = SIZE; i < 3 * SIZE; i++) {
        states[i] = states[i % SIZE] + 0.4 * states[i];
    }
    for (unsigned i = 0; i < DYN_PLANE_CHART_COUNT; i++) {
        dyn_plane *p =
            make(frame_of(states, i), (dyn_plane_recipe){.vectors = states + SIZE, .n_vectors = 2},
                 "points", NULL);
        for (size_t t = 0; t < 3; t++) {
            dyn_plane_shadow s;
            dyn_plane_project(p, states + t * SIZE, &s);
            MAPS_CLOSE(s.residual, 0.0, 1e-12);
            assert_true(t == 0 || s.distance > 0.1);
        }
        dyn_plane_destroy(p);
    }
}

static void test_relative_lengths(void **state)
{
    double centre[SIZE];
    (void)state;
    fill(centre, SIZE, 1);
    for (size_t i = 0; i < WIDTH; i++) {
        centre[i] *= 100.0;
    }
    dyn_plane *p = make(frame_of(centre, 0), (dyn_plane_recipe){.seed = 3}, "relative", NULL);
    double ratio[BLOCKS];
    for (size_t b = 0; b < BLOCKS; b++) {
        double u = 0.0;
        double c = 0.0;
        for (size_t i = b * WIDTH; i < (b + 1) * WIDTH; i++) {
            u += p->axes[0][i] * p->axes[0][i];
            c += centre[i] * centre[i];
        }
        ratio[b] = u / c;
    }
    MAPS_CLOSE(ratio[1] / ratio[0], 1.0, 1e-12);
    MAPS_CLOSE(ratio[2] / ratio[0], 1.0, 1e-12);
    dyn_plane_destroy(p);
}

/* E = ½ Σ λ_i x_i²: the Hessian's ends are the coordinates of the least and the largest λ. */
static void quadratic_gradient(void *context, size_t term, const double *x, double *g)
{
    (void)context;
    for (size_t i = 0; i < SIZE; i++) {
        const double lambda = (double)i - 4.0;
        g[i] = (term == DYN_PLANE_ALL_TERMS || (term == 0) == (i % 2 == 0)) ? lambda * x[i] : 0.0;
    }
}

static void test_hessian(void **state)
{
    double centre[SIZE];
    const dyn_plane_energy energy = {.n_terms = 2, .gradient = quadratic_gradient};
    dyn_plane_notes notes;
    (void)state;
    fill(centre, SIZE, 1);
    dyn_plane *p =
        make(frame_of(centre, 0), (dyn_plane_recipe){.energy = &energy}, "hessian", &notes);
    assert_int_equal(notes.status, KERN_OK);
    MAPS_CLOSE(notes.curvature[0], -4.0, 1e-8);
    MAPS_CLOSE(notes.curvature[1], 10.0, 1e-8);
    MAPS_CLOSE(fabs(p->axes[0][0]), 1.0, 1e-8);
    MAPS_CLOSE(fabs(p->axes[1][SIZE - 1]), 1.0, 1e-8);
    dyn_plane_destroy(p);
    p = make(frame_of(centre, 0), (dyn_plane_recipe){.energy = &energy}, "gradient", &notes);
    double g[SIZE];
    quadratic_gradient(NULL, DYN_PLANE_ALL_TERMS, centre, g);
    const double length = sqrt(dyn_plane_product(p, g, g));
    MAPS_CLOSE(dyn_plane_product(p, g, p->axes[0]) / length, -1.0, 1e-14);
    assert_true(notes.curvature[1] > 8.0 && notes.curvature[1] <= 10.0 + 1e-8);
    dyn_plane_destroy(p);
    p = make(frame_of(centre, 0), (dyn_plane_recipe){.energy = &energy}, "terms", &notes);
    quadratic_gradient(NULL, 0, centre, g);
    assert_true(dyn_plane_product(p, g, p->axes[0]) < 0.0);
    MAPS_CLOSE(p->angle, acos(-1.0) / 2.0, 1e-14);
    dyn_plane_destroy(p);
}

/* On curved charts, curvatures are second differences of E(x(a, 0)) at the centre. */
static void check_hessian(dyn_plane_chart chart)
{
    double centre[SIZE];
    double x[SIZE];
    double g[SIZE];
    const dyn_plane_energy energy = {.gradient = quadratic_gradient};
    dyn_plane_notes notes;
    fill(centre, SIZE, 1);
    dyn_plane_frame frame = frame_of(centre, 1);
    frame.chart = chart;
    dyn_plane *p = make(frame, (dyn_plane_recipe){.energy = &energy}, "hessian", &notes);
    for (int axis = 0; axis < 2; axis++) {
        double e[3] = {0.0, 0.0, 0.0};
        for (int k = 0; k < 3; k++) {
            const double s = 1e-3 * (k - 1);
            dyn_plane_point(p, axis == 0 ? s : 0.0, axis == 0 ? 0.0 : s, x);
            quadratic_gradient(NULL, DYN_PLANE_ALL_TERMS, x, g);
            for (size_t i = 0; i < SIZE; i++) {
                e[k] += 0.5 * x[i] * g[i];
            }
        }
        /* 1e-6·E⁗ and 1e6·rounding. */
        MAPS_CLOSE((e[0] - 2.0 * e[1] + e[2]) / 1e-6, notes.curvature[axis], 1e-4);
    }
    dyn_plane_destroy(p);
}

static void test_hessian_on_spheres(void **state)
{
    (void)state;
    check_hessian(DYN_PLANE_SPHERE);
    check_hessian(DYN_PLANE_GNOMONIC);
    check_hessian(DYN_PLANE_ORTHOGRAPHIC);
}

/* ---- Faults ------------------------------------------------------------------------------- */

static void test_parallel_axes(void **state)
{
    double centre[SIZE];
    double axes[2 * SIZE];
    kern_error err = {0};
    dyn_plane *p = NULL;
    (void)state;
    fill(centre, SIZE, 1);
    fill(axes, SIZE, 2);
    for (size_t i = 0; i < SIZE; i++) {
        axes[SIZE + i] = -3.0 * axes[i];
    }
    const dyn_plane_frame frame = frame_of(centre, 0);
    MAPS_OK(dyn_plane_create(&p, &frame, maps_err));
    assert_int_equal(dyn_plane_set_axes(p, axes, axes + SIZE, false, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "parallel");
    axes[SIZE] += 1e-6; /* at an angle that can be told */
    MAPS_OK(dyn_plane_set_axes(p, axes, axes + SIZE, false, maps_err));
    MAPS_CLOSE(dyn_plane_product(p, p->axes[0], p->axes[1]), 0.0, 1e-14);
    MAPS_CLOSE(p->angle, acos(-1.0), 1e-5);
    memset(axes, 0, sizeof axes);
    assert_int_equal(dyn_plane_set_axes(p, axes, axes + SIZE, false, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "axis 1 of the plane is zero");
    axes[0] = (double)NAN;
    assert_int_equal(dyn_plane_set_axes(p, axes, axes + SIZE, false, &err), KERN_NAN);
    dyn_plane_destroy(p);
}

/* Along the centre a sphere has no tangent: what projection leaves is rounding, whatever the axis's
 * length, and however long it is in a token that is held. A millionth across is an axis. */
static void test_radial_axes(void **state)
{
    static const size_t movable[] = {0, 1};
    double centre[SIZE];
    double axes[2 * SIZE];
    kern_error err = {0};
    (void)state;
    fill(centre, SIZE, 1);
    for (unsigned i = 0; i < FRAMES; i++) {
        dyn_plane_frame frame = frame_of(centre, i);
        dyn_plane *p = NULL;
        if (!dyn_plane_chart_is_curved(frame.chart)) {
            continue;
        }
        frame.movable = movable;
        frame.n_movable = 2;
        MAPS_OK(dyn_plane_create(&p, &frame, maps_err));
        fill(axes, 2 * SIZE, 2);
        for (size_t k = 0; k < 2 * WIDTH; k++) {
            axes[SIZE + k] = 1e-3 * p->centre[k] * (k < WIDTH ? 3.0 : -7.0);
        }
        assert_int_equal(dyn_plane_set_axes(p, axes, axes + SIZE, false, &err),
                         KERN_INVALID_ARGUMENT);
        maps_error(&err, KERN_INVALID_ARGUMENT, "axis 2 of the plane is only rounding");
        axes[SIZE] += 1e-6;
        axes[SIZE + 2 * WIDTH] = 1e15; /* held */
        MAPS_OK(dyn_plane_set_axes(p, axes, axes + SIZE, false, maps_err));
        dyn_plane_destroy(p);
    }
}

/* Axes at 60°, kept: coordinates are those of least squares. */
static void test_oblique(void **state)
{
    double centre[SIZE] = {0.0};
    double axes[2 * SIZE] = {0.0};
    double x[SIZE] = {0.0};
    (void)state;
    axes[0] = 2.0;
    axes[SIZE] = 0.5;
    axes[SIZE + 1] = sqrt(0.75);
    dyn_plane *p =
        make(frame_of(centre, 0),
             (dyn_plane_recipe){.vectors = axes, .n_vectors = 2, .oblique = true}, "custom", NULL);
    MAPS_CLOSE(p->angle, acos(0.5), 1e-14);
    x[0] = 3.0;
    x[1] = 1.0;
    x[2] = 4.0;
    dyn_plane_shadow s;
    dyn_plane_project(p, x, &s);
    MAPS_CLOSE(s.residual, 4.0, 1e-14);
    MAPS_CLOSE(s.b, 1.0 / sqrt(0.75), 1e-14);
    MAPS_CLOSE(2.0 * s.a + 0.5 * s.b, 3.0, 1e-14);
    dyn_plane_destroy(p);
}

static void test_bad_recipes(void **state)
{
    double centre[SIZE];
    kern_error err = {0};
    dyn_plane *p = NULL;
    dyn_plane_recipe r = {0};
    const size_t token = BLOCKS;
    (void)state;
    fill(centre, SIZE, 1);
    dyn_plane_frame frame = frame_of(centre, 0);
    assert_int_equal(dyn_plane_kind_find(&r.kind, "sideways", &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "accepted are random");
    MAPS_OK(dyn_plane_create(&p, &frame, maps_err));
    static const char *const lacking[] = {"pca", "points", "tokens", "gradient", "terms", "custom"};
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        MAPS_OK(dyn_plane_kind_find(&r.kind, lacking[i], maps_err));
        assert_int_equal(dyn_plane_make(p, &r, NULL, &err), KERN_INVALID_ARGUMENT);
    }
    double line[3 * SIZE];
    for (size_t i = 0; i < 3 * SIZE; i++) {
        line[i] = centre[i % SIZE] * (double)(1 + i / SIZE);
    }
    MAPS_OK(dyn_plane_kind_find(&r.kind, "pca", maps_err));
    r.vectors = line;
    r.n_vectors = 3;
    assert_int_equal(dyn_plane_make(p, &r, NULL, &err), KERN_SINGULAR);
    maps_error(&err, KERN_SINGULAR, "lie on a line");
    dyn_plane_destroy(p);
    frame.movable = &token;
    frame.n_movable = 1;
    assert_int_equal(dyn_plane_create(&p, &frame, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "token 3 is not within 0 to 2");
    frame = frame_of(centre, 33);
    for (size_t i = 0; i < WIDTH; i++) {
        centre[i] = 0.1;
    }
    assert_int_equal(dyn_plane_create(&p, &frame, &err), KERN_INVALID_ARGUMENT);
    maps_error(&err, KERN_INVALID_ARGUMENT, "constant at the centre");
}

/* ---- Fields ------------------------------------------------------------------------------- */

static bool stop_at_once(void *context, size_t done, size_t total)
{
    (void)context;
    (void)done;
    (void)total;
    return false;
}

static void test_field_of_a_map(void **state)
{
    dyn_map *map = maps_make("quadratic", "eta=0.1 lambda=1,4");
    double centre[2] = {1.0, 1.0};
    const double axes[4] = {1.0, 0.0, 0.0, 1.0};
    const dyn_slice_range range = {-2.0, 0.0, -2.0, 0.0};
    dyn_slice_map *s = NULL;
    dyn_slice_field f;
    kern_error err = {0};
    (void)state;
    dyn_plane *p = make((dyn_plane_frame){.block_count = 1, .block_width = 2, .centre = centre},
                        (dyn_plane_recipe){.vectors = axes, .n_vectors = 2}, "custom", NULL);
    MAPS_OK(dyn_slice_map_create(&s, map, p, SIZE_MAX, 2, maps_err));
    const dyn_slice_source source = dyn_slice_map_source(s);
    MAPS_OK(dyn_slice_field_init(&f, 5, 3, &range, maps_err));
    assert_true(isnan(f.values[0]));
    assert_int_equal(dyn_slice_compute(&f, &source, 1, stop_at_once, NULL, &err), KERN_INTERRUPTED);
    MAPS_OK(dyn_slice_compute(&f, &source, 2, NULL, NULL, maps_err));
    MAPS_CLOSE(f.low, 0.0, 1e-15); /* the middle sample is the origin */
    MAPS_CLOSE(f.low_at[0], -1.0, 1e-15);
    MAPS_CLOSE(f.low_at[1], -1.0, 1e-15);
    MAPS_CLOSE(f.values[1], 0.5 * (0.5 * 0.5 + 4.0), 1e-14);
    assert_int_equal(f.n_not_finite, 0);
    dyn_slice_field_fini(&f);
    dyn_slice_map_destroy(s);
    dyn_plane_destroy(p);
    dyn_map_destroy(map);
}

static void nan_left(void *context, int worker, size_t n, const double *a, const double *b,
                     double *e)
{
    (void)context;
    (void)worker;
    for (size_t i = 0; i < n; i++) {
        e[i] = a[i] < 0.0 ? (double)NAN : a[i] + 10.0 * b[i];
    }
}

static void test_not_finite_is_counted(void **state)
{
    const dyn_slice_source source = {.workers = 1, .energies = nan_left};
    const dyn_slice_range range = {-1.0, 1.0, 0.0, 1.0};
    dyn_slice_field f;
    kern_error err = {0};
    (void)state;
    MAPS_OK(dyn_slice_field_init(&f, 4, 2, &range, maps_err));
    MAPS_OK(dyn_slice_compute(&f, &source, 4, NULL, NULL, maps_err));
    assert_int_equal(f.n_not_finite, 4);
    MAPS_CLOSE(f.low, 1.0 / 3.0, 1e-15);
    MAPS_CLOSE(f.high, 11.0, 1e-15);
    dyn_slice_field_fini(&f);
    assert_int_equal(dyn_slice_field_init(&f, 0, 2, &range, &err), KERN_INVALID_ARGUMENT);
    const dyn_slice_range bad = {1.0, 1.0, 0.0, 1.0};
    assert_int_equal(dyn_slice_field_init(&f, 2, 2, &bad, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(dyn_slice_field_init(&f, SIZE_MAX / 2, 3, &range, &err), KERN_OVERFLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes_are_orthonormal),
        cmocka_unit_test(test_points_project_onto_themselves),
        cmocka_unit_test(test_residual),
        cmocka_unit_test(test_sphere_in_radians),
        cmocka_unit_test(test_pca),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_relative_lengths),
        cmocka_unit_test(test_hessian),
        cmocka_unit_test(test_hessian_on_spheres),
        cmocka_unit_test(test_parallel_axes),
        cmocka_unit_test(test_radial_axes),
        cmocka_unit_test(test_oblique),
        cmocka_unit_test(test_bad_recipes),
        cmocka_unit_test(test_field_of_a_map),
        cmocka_unit_test(test_not_finite_is_counted),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
