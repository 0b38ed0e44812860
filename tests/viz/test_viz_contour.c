/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Contours: their topology, where their vertices are, and what simplification may move.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "viz/viz_contour.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 25, NY = 19 };

typedef double function(double x, double y);

typedef struct sample {
    function *f;
    size_t asked;
    viz_lattice lattice;
    double values[NX * NY];
} sample;

static double bowl(double x, double y)
{
    return x * x + 2.0 * y * y;
}

static double saddle(double x, double y)
{
    return x * y;
}

static double waves(double x, double y)
{
    return sin(3.0 * x + y) * cos(2.0 * y - 0.5 * x) + 0.1 * exp(x);
}

static double steep(double x, double y)
{
    return tanh(40.0 * (x - 0.31 * y));
}

static double plateau(double x, double y)
{
    return fmin(1.0, 2.0 - fmax(fabs(x), fabs(y)));
}

static void take(sample *s, function *f, double reach)
{
    *s = (sample){.f = f, .lattice = {NX, NY, -reach, reach, -reach, reach}};
    for (size_t k = 0; k < NX * NY; k++) {
        s->values[k] = f(-reach + 2.0 * reach * (double)(k % NX) / (NX - 1),
                         -reach + 2.0 * reach * (double)(k / NX) / (NY - 1));
    }
}

static void ask(void *context, size_t n, const double *x, const double *y, double *v)
{
    sample *s = context;
    s->asked += n;
    for (size_t i = 0; i < n; i++) {
        v[i] = s->f(x[i], y[i]);
    }
}

static viz_contours trace(sample *s, const double *levels, size_t n, bool refined)
{
    viz_contours c;
    kern_error err = {0};
    const viz_contour_options o = {
        .levels = levels, .n_levels = n, .values = refined ? ask : NULL, .context = s};
    if (viz_contours_init(&c, &s->lattice, s->values, &o, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return c;
}

static bool is_closed(const viz_contours *c, size_t line)
{
    const size_t a = c->first[line];
    const size_t b = c->first[line + 1] - 1;
    return b > a + 2 && c->x[a] == c->x[b] && c->y[a] == c->y[b];
}

/* Twice the signed area. */
static double area_of(const viz_contours *c, size_t line)
{
    double sum = 0.0;
    for (size_t i = c->first[line]; i + 1 < c->first[line + 1]; i++) {
        sum += c->x[i] * c->y[i + 1] - c->x[i + 1] * c->y[i];
    }
    return sum;
}

/* One closed line around a minimum, clockwise, of the ellipse's area. */
static void test_ellipse(void **state)
{
    sample s;
    const double level = 0.5;
    (void)state;
    take(&s, bowl, 1.0);
    viz_contours c = trace(&s, &level, 1, true);
    assert_int_equal(c.n_lines, 1);
    assert_true(is_closed(&c, 0));
    const double area = 0.5 * area_of(&c, 0);
    assert_true(area < 0.0);
    assert_true(fabs(-area - acos(-1.0) * 0.5 / sqrt(2.0)) < 0.01);
    viz_contours_fini(&c);
    for (size_t k = 0; k < NX * NY; k++) {
        s.values[k] = -s.values[k];
    }
    const double mirrored = -level;
    c = trace(&s, &mirrored, 1, false);
    assert_int_equal(c.n_lines, 1);
    assert_true(area_of(&c, 0) > 0.0); /* anticlockwise around a maximum */
    viz_contours_fini(&c);
}

/* Every vertex of every level is within 1e-6 of the range of its level, in few values. */
static void test_vertices_are_true(void **state)
{
    static function *const functions[] = {bowl, waves, steep, saddle};
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        sample s;
        double levels[VIZ_CONTOUR_LEVELS_MAX];
        double low = (double)INFINITY;
        double high = -(double)INFINITY;
        take(&s, functions[k], 1.3);
        for (size_t i = 0; i < NX * NY; i++) {
            low = fmin(low, s.values[i]);
            high = fmax(high, s.values[i]);
        }
        const size_t n = viz_contour_round_levels(low, high, 12, levels);
        assert_true(n >= 4 && n <= 12);
        viz_contours c = trace(&s, levels, n, true);
        assert_int_equal(c.n_rough, 0);
        assert_true(c.n_lines >= n);
        for (size_t line = 0; line < c.n_lines; line++) {
            for (size_t i = c.first[line]; i < c.first[line + 1]; i++) {
                const double off = s.f(c.x[i], c.y[i]) - c.level[line];
                if (!(fabs(off) <= 1e-6 * (high - low))) {
                    fail_msg("function %zu is %g off its level", k, off);
                }
            }
        }
        assert_true(s.asked < 12 * c.first[c.n_lines] + 100);
        viz_contours_fini(&c);
    }
}

/* Lines end at the border and nowhere else; each vertex is used once. */
static void test_open_lines_end_at_the_border(void **state)
{
    sample s;
    double levels[VIZ_CONTOUR_LEVELS_MAX];
    (void)state;
    take(&s, waves, 2.0);
    const size_t n = viz_contour_round_levels(-1.0, 1.5, 9, levels);
    viz_contours c = trace(&s, levels, n, true);
    for (size_t line = 0; line < c.n_lines; line++) {
        const size_t ends[2] = {c.first[line], c.first[line + 1] - 1};
        for (int k = 0; k < 2 && !is_closed(&c, line); k++) {
            const double x = c.x[ends[k]];
            const double y = c.y[ends[k]];
            assert_true(fabs(x) == 2.0 || fabs(y) == 2.0);
        }
    }
    viz_contours_fini(&c);
}

/* A saddle whose middle is above 0 while the mean of the corners is below. */
static double bent_saddle(double x, double y)
{
    return x * y + 0.002 * (1.0 - 75.0 * (x * x + y * y));
}

static void test_saddle_by_the_centre(void **state)
{
    sample s = {.f = bent_saddle, .lattice = {2, 2, -0.1, 0.1, -0.1, 0.1}};
    const double level = 0.0;
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        s.values[k] = bent_saddle(k % 2 == 0 ? -0.1 : 0.1, k / 2 == 0 ? -0.1 : 0.1);
    }
    double mean = 0.0;
    for (size_t k = 0; k < 4; k++) {
        mean += 0.25 * s.values[k];
    }
    assert_true(mean < 0.0 && bent_saddle(0.0, 0.0) > 0.0); /* they disagree */
    viz_contours by_mean = trace(&s, &level, 1, false);
    viz_contours by_centre = trace(&s, &level, 1, true);
    assert_int_equal(by_mean.n_lines, 2);
    assert_int_equal(by_centre.n_lines, 2);
    assert_int_equal(by_centre.n_saddles, 1);
    /* Lower left and upper right are above: joined, the first line runs from the bottom to the
     * right edge; apart, to the left one. */
    assert_true(by_centre.x[1] == 0.1);
    assert_true(by_mean.x[1] == -0.1);
    viz_contours_fini(&by_mean);
    viz_contours_fini(&by_centre);
}

static void test_levels_on_nodes(void **state)
{
    sample s;
    const double level = 0.0;
    (void)state;
    take(&s, saddle, 1.2); /* zero along the middle column and row of nodes */
    viz_contours c = trace(&s, &level, 1, true);
    assert_true(c.n_lines == 2);
    for (size_t i = 0; i < c.first[c.n_lines]; i++) {
        assert_true(fabs(c.x[i] * c.y[i]) <= 1e-9);
        assert_true(i == 0 || i == c.first[1] || c.x[i] != c.x[i - 1] || c.y[i] != c.y[i - 1]);
    }
    viz_contours_fini(&c);
    /* One node at the level among lower ones is a point, which is no line. */
    memset(s.values, 0, sizeof s.values);
    s.values[5 * NX + 7] = 1.0;
    const double top = 1.0;
    c = trace(&s, &top, 1, false);
    assert_int_equal(c.n_lines, 0);
    viz_contours_fini(&c);
}

/* The plateau's own level bounds it once; constant data have no line at their value. */
static void test_plateau(void **state)
{
    sample s;
    const double level = 1.0;
    (void)state;
    take(&s, plateau, 2.0);
    viz_contours c = trace(&s, &level, 1, false);
    assert_int_equal(c.n_lines, 1);
    assert_true(is_closed(&c, 0));
    viz_contours_fini(&c);
    for (size_t k = 0; k < NX * NY; k++) {
        s.values[k] = 1.0;
    }
    c = trace(&s, &level, 1, false);
    assert_int_equal(c.n_lines, 0);
    viz_contours_fini(&c);
}

/* Missing values cut lines, and no vertex lies on an edge of a missing node. */
static void test_missing_values(void **state)
{
    sample s;
    const double level = 0.5;
    (void)state;
    take(&s, bowl, 1.0);
    for (size_t j = 0; j < NY; j++) {
        s.values[j * NX + NX / 2] = j % 2 == 0 ? (double)NAN : (double)INFINITY;
    }
    viz_contours c = trace(&s, &level, 1, true);
    const double step = 2.0 / (NX - 1);
    assert_int_equal(c.n_lines, 2);
    for (size_t i = 0; i < c.first[c.n_lines]; i++) {
        assert_true(fabs(c.x[i]) >= step - 1e-12);
    }
    assert_false(is_closed(&c, 0) || is_closed(&c, 1));
    viz_contours_fini(&c);
}

/* What is left out is within the tolerance of what stays; what stays is not moved. */
static void test_simplification(void **state)
{
    sample s;
    const double levels[2] = {0.3, 0.6};
    const double scale[2] = {100.0, 50.0};
    kern_error err = {0};
    (void)state;
    take(&s, bowl, 1.0);
    viz_contours whole = trace(&s, levels, 2, true);
    viz_contours thin = trace(&s, levels, 2, true);
    assert_int_equal(viz_contours_simplify(&thin, scale[0], scale[1], 1.5, &err), KERN_OK);
    assert_int_equal(thin.n_lines, whole.n_lines);
    assert_true(2 * thin.first[2] < whole.first[2]);
    for (size_t line = 0; line < 2; line++) {
        assert_true(is_closed(&thin, line));
        for (size_t i = whole.first[line]; i < whole.first[line + 1]; i++) {
            double nearest = (double)INFINITY;
            for (size_t k = thin.first[line]; k + 1 < thin.first[line + 1]; k++) {
                const double ux = (thin.x[k + 1] - thin.x[k]) * scale[0];
                const double uy = (thin.y[k + 1] - thin.y[k]) * scale[1];
                const double vx = (whole.x[i] - thin.x[k]) * scale[0];
                const double vy = (whole.y[i] - thin.y[k]) * scale[1];
                const double t = fmin(fmax((ux * vx + uy * vy) / (ux * ux + uy * uy), 0.0), 1.0);
                nearest = fmin(nearest, hypot(vx - t * ux, vy - t * uy));
            }
            assert_true(nearest <= 1.5 * (1.0 + 1e-12));
        }
    }
    assert_int_equal(viz_contours_simplify(&thin, scale[0], scale[1], 1e6, &err), KERN_OK);
    assert_true(is_closed(&thin, 0)); /* never less than a triangle */
    viz_contours_fini(&whole);
    viz_contours_fini(&thin);
}

static void test_levels(void **state)
{
    double levels[VIZ_CONTOUR_LEVELS_MAX];
    double sorted[7];
    const double values[7] = {5.0, (double)NAN, 1.0, 3.0, 2.0, 4.0, -(double)INFINITY};
    (void)state;
    assert_int_equal(viz_contour_round_levels(-0.42, 1.0, 10, levels), 7);
    assert_true(fabs(levels[0] + 0.4) < 1e-15 && fabs(levels[6] - 0.8) < 1e-15);
    assert_int_equal(viz_contour_round_levels(1.0, 1.0, 10, levels), 0);
    assert_int_equal(viz_contour_round_levels((double)NAN, 1.0, 10, levels), 0);
    assert_true(viz_contour_round_levels(1e15, 1e15 + 1.0, 10, levels) <= 10);
    assert_int_equal(viz_contour_quantile_levels(values, 7, 2, levels, sorted), 2);
    assert_true(levels[0] == 2.0 && levels[1] == 4.0);
    assert_int_equal(viz_contour_quantile_levels(values + 1, 1, 2, levels, sorted), 0);
}

static void test_refusals(void **state)
{
    sample s;
    viz_contours c;
    kern_error err = {0};
    const double level = (double)NAN;
    const viz_contour_options o = {.levels = &level, .n_levels = 1};
    (void)state;
    take(&s, bowl, 1.0);
    assert_int_equal(viz_contours_init(&c, &s.lattice, s.values, &o, &err), KERN_INVALID_ARGUMENT);
    viz_contours_fini(&c);
    s.lattice.nx = 1;
    assert_int_equal(viz_contours_init(&c, &s.lattice, s.values, &o, &err), KERN_INVALID_ARGUMENT);
    viz_contours_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ellipse),
        cmocka_unit_test(test_vertices_are_true),
        cmocka_unit_test(test_open_lines_end_at_the_border),
        cmocka_unit_test(test_saddle_by_the_centre),
        cmocka_unit_test(test_levels_on_nodes),
        cmocka_unit_test(test_plateau),
        cmocka_unit_test(test_missing_values),
        cmocka_unit_test(test_simplification),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
