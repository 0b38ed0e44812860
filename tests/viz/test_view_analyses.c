/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Landmarks, orbit strip and basins of the explorer on a map whose fixed points, cycles and basins
 * are known in closed form.
 *
 * Two tokens of four numbers that do not see each other, without a norm: x' = x + s Δ(x),
 *   Δ₀ = c₁ x₀ + c₃ x₀³,  Δ₁ = −½ x₁,  (Δ₂, Δ₃) = (−p x₂ − q x₃, q x₂ − p x₃),
 * so the multipliers at 0 are 1 + s c₁, 1 − ½ s and 1 + s (−p ± i q).
 */
#include "dyn/dyn_plane.h"
#include "viz/view/view_basins.h"
#include "viz/view/view_orbit.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 4, TOKENS = 2, SIZE = WIDTH * TOKENS, TOKEN = 1 };

typedef struct law {
    double c1, c3, p, q;
    double waves; /* Δ₀ has −sin(2π w x₀)/(2π w) besides, which is at rest at every k/w */
} law;

static void step_token(const law *f, double s, const double *x, double *y)
{
    const double x2 = x[2];
    const double turn = 4.0 * acos(0.0) * f->waves;
    const double wave = f->waves > 0.0 ? -sin(turn * x[0]) / turn : 0.0;
    y[0] = x[0] + s * (f->c1 * x[0] + f->c3 * x[0] * x[0] * x[0] + wave);
    y[1] = x[1] - 0.5 * s * x[1];
    y[2] = x2 + s * (-f->p * x2 - f->q * x[3]);
    y[3] = x[3] + s * (f->q * x2 - f->p * x[3]);
}

static void step(dyn_map *map, const double *x, double *y)
{
    for (size_t i = 0; i < SIZE; i += WIDTH) {
        step_token(map->data, map->params[0], x + i, y + i);
    }
}

static void jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const law *f = map->data;
    double at[SIZE];
    memcpy(at, x, sizeof at);
    for (size_t i = 0; i < SIZE; i += WIDTH) {
        const double wave = f->waves > 0.0 ? -cos(4.0 * acos(0.0) * f->waves * at[i]) : 0.0;
        const law linear = {
            .c1 = f->c1 + 3.0 * f->c3 * at[i] * at[i] + wave, .c3 = 0.0, .p = f->p, .q = f->q};
        step_token(&linear, map->params[0], v + i, jv + i);
    }
    if (y != NULL) {
        step(map, at, y);
    }
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    KERN_TRY(dyn_map_create_like(out, map, err));
    (*out)->data = map->data;
    return KERN_OK;
}

static const dyn_map_kind kind = {.name = "known", .step = step, .jvp = jvp, .clone = clone};
static const dyn_param params[] = {{"step_scale", 1.0, "factor on the update"}};

/* A landscape on the plane (x₀, x₁) of the second token, as much of it as the analyses ask for. */
typedef struct ground {
    law f;
    view_subject subject;
    view_landscape l;
} ground;

static void lay(ground *g, law f, double x0)
{
    const size_t token = TOKEN;
    double centre[SIZE] = {0.7, 0.1, 0.2, 0.3, x0, 0.0, 0.1, 0.0};
    double axes[2][SIZE] = {{0}, {0}};
    const dyn_plane_frame frame = {.block_count = TOKENS,
                                   .block_width = WIDTH,
                                   .centre = centre,
                                   .movable = &token,
                                   .n_movable = 1};
    axes[0][WIDTH] = 1.0;
    axes[1][WIDTH + 1] = 1.0;
    *g = (ground){.f = f, .l = {.token = TOKEN}};
    g->l.subject = &g->subject;
    g->l.settings.rate = 1.0;
    assert_int_equal(dyn_map_create(&g->subject.map, &kind, SIZE, params, 1, NULL), KERN_OK);
    g->subject.map->block_count = TOKENS;
    g->subject.map->block_width = WIDTH;
    g->subject.map->data = &g->f;
    assert_int_equal(dyn_plane_create(&g->l.plane, &frame, NULL), KERN_OK);
    assert_int_equal(dyn_plane_set_axes(g->l.plane, axes[0], axes[1], false, NULL), KERN_OK);
}

static void clear(ground *g)
{
    dyn_plane_destroy(g->l.plane);
    dyn_map_destroy(g->subject.map);
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g to %g", value, expected, tolerance);
    }
}

/* ---- Cancelling ------------------------------------------------------------------------------ */

/* Says that it is cancelled from the n-th question on; −1: never. */
typedef struct patience {
    atomic_int left;
} patience;

static bool is_cancelled(void *context)
{
    patience *p = context;
    return atomic_load(&p->left) >= 0 && atomic_fetch_sub(&p->left, 1) <= 0 &&
           (atomic_store(&p->left, 0), true);
}

/* ---- Landmarks ------------------------------------------------------------------------------- */

static void test_landmarks_of_a_fixed_point(void **state)
{
    ground g;
    view_landmarks m;
    const double p = 0.3;
    const double q = 0.4;
    (void)state;
    lay(&g, (law){.c1 = -0.9, .c3 = 0.1, .p = p, .q = q}, 0.2);
    g.l.settings.rate = 2.0;
    assert_int_equal(view_landmarks_find(&m, &g.l, NULL, NULL, NULL), KERN_OK);
    assert_true(m.found);
    assert_int_equal(m.token, TOKEN);
    /* Rates from multipliers that a dense solver knows to a few ε. */
    assert_near(m.flip, 2.0 / 0.9, 1e-12);
    assert_near(m.ns, 2.0 * p / (p * p + q * q), 1e-12);
    assert_near(m.lost, fmin(m.flip, m.ns), 0.0);
    assert_int_equal(m.n_complex, 2);
    /* 1 + 2α: |1 − 1.8|, 0, |0.4 + 0.8i|. */
    assert_near(m.spectral_radius, hypot(1.0 - 2.0 * p, 2.0 * q), 1e-12);
    assert_true(isnan(m.sigma) && isnan(m.eta));
    assert_non_null(strstr(m.why, "no norm"));
    clear(&g);
}

static void test_landmarks_are_not_invented(void **state)
{
    ground g;
    view_landmarks m;
    (void)state;
    /* A saddle, on which the centre is: lost from 0 on. */
    lay(&g, (law){.c1 = 0.5, .c3 = 0.1, .p = 0.3, .q = 0.4}, 0.0);
    assert_int_equal(view_landmarks_find(&m, &g.l, NULL, NULL, NULL), KERN_OK);
    assert_true(m.found);
    assert_near(m.lost, 0.0, 0.0);
    assert_true(m.spectral_radius > 1.0);
    clear(&g);
    /* Numbers that are none lead to none. */
    lay(&g, (law){.c1 = (double)NAN, .c3 = 0.1, .p = 0.3, .q = 0.4}, 0.1);
    assert_int_equal(view_landmarks_find(&m, &g.l, NULL, NULL, NULL), KERN_OK);
    assert_false(m.found);
    assert_true(isnan(m.flip) && isnan(m.lost) && isnan(m.spectral_radius));
    assert_non_null(strstr(m.why, "token 1"));
    clear(&g);
}

static void test_landmarks_are_cancelled(void **state)
{
    (void)state;
    /* Before the first step, and while settling; then with patience enough. */
    for (int after = 0; after < 300; after += 90) {
        ground g;
        view_landmarks m;
        patience p;
        atomic_init(&p.left, after < 200 ? after : INT_MAX);
        lay(&g, (law){.c1 = -0.9, .c3 = 0.1, .p = 0.3, .q = 0.4}, 0.2);
        assert_int_equal(view_landmarks_find(&m, &g.l, is_cancelled, &p, NULL),
                         after < 200 ? KERN_INTERRUPTED : KERN_OK);
        assert_true(m.found == (after >= 200));
        clear(&g);
    }
}

/* ---- Orbit strip ----------------------------------------------------------------------------- */

/* What emissions show, in order. */
typedef struct seen {
    view_orbit *last;
    size_t n;
} seen;

static void keep(void *context, view_orbit *partial)
{
    seen *s = context;
    assert_true(s->last == NULL || partial->done > s->last->done);
    assert_true(partial->done < partial->columns);
    view_orbit_destroy(s->last);
    s->last = partial;
    s->n++;
}

/* Δ₀ = −x₀ + x₀³ flips at s = 2, and beyond, up to 3, the 2-cycle is ±√(1 − 2/s): −x = x − s x + s
 * x³. Its multiplier is (1 + s(3x² − 1))² = (2s − 5)². */
static void test_orbit_flips(void **state)
{
    enum { COLUMNS = 21 };
    ground g;
    view_orbit *orbit;
    seen s = {0};
    const view_orbit_options o = {.from = 0.5,
                                  .to = 2.5,
                                  .columns = COLUMNS,
                                  .values = 10,
                                  .settle = 1000,
                                  .emit = keep,
                                  .context = &s};
    (void)state;
    lay(&g, (law){.c1 = -1.0, .c3 = 1.0, .p = 0.5, .q = 0.0}, 0.3);
    assert_int_equal(view_orbit_create(&orbit, &g.l, &o, NULL), KERN_OK);
    assert_int_equal(orbit->done, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++) {
        const double rate = 0.5 + 0.1 * (double)i;
        assert_near(orbit->rate[i], rate, 1e-14);
        if (fabs(rate - 2.0) < 0.05) {
            continue; /* arrives by a power law */
        }
        const double x = rate > 2.0 ? sqrt(1.0 - 2.0 / rate) : 0.0;
        /* Of the rest at 0, which the orbit has left: 1 − s and 1 − s/2. */
        assert_near(orbit->radius[i], fmax(fabs(1.0 - rate), fabs(1.0 - 0.5 * rate)), 1e-10);
        assert_int_equal(orbit->period[i], rate > 2.0 ? 2 : 1);
        for (size_t k = 0; k < 10; k++) {
            /* The plane's first axis is x₀, from the centre on. */
            assert_near(fabs(orbit->a[10 * i + k] + 0.3), x, 1e-8);
        }
        assert_true(orbit->exponent[i] < 0.0);
    }
    /* At s = 2.2 the slowest direction of the cycle is x₀: ½ ln (0.6)². */
    assert_near(orbit->exponent[17], log(0.6), 1e-3);
    assert_near(orbit->high, sqrt(1.0 - 2.0 / 2.5) - 0.3, 1e-8);
    assert_near(orbit->low, -sqrt(1.0 - 2.0 / 2.5) - 0.3, 1e-8);
    /* What came before is part of it. */
    assert_true(s.n >= 1);
    for (size_t i = 0; i < COLUMNS; i++) {
        assert_true(isnan(s.last->rate[i]) || s.last->rate[i] == orbit->rate[i]);
        assert_true(isnan(s.last->rate[i]) || s.last->a[10 * i] == orbit->a[10 * i]);
    }
    view_orbit_destroy(s.last);
    view_orbit_destroy(orbit);
    clear(&g);
}

/* Started on a rest that repels, columns leave it: the 2-cycle is found all the same. */
static void test_orbit_leaves_a_repelling_rest(void **state)
{
    ground g;
    view_orbit *orbit;
    const view_orbit_options o = {.from = 2.2, .to = 2.6, .columns = 5, .values = 4};
    (void)state;
    for (int follow = 0; follow < 2; follow++) {
        view_orbit_options own = o;
        own.follow = follow == 1;
        lay(&g, (law){.c1 = -1.0, .c3 = 1.0, .p = 0.5, .q = 0.0}, 0.0);
        assert_int_equal(view_orbit_create(&orbit, &g.l, &own, NULL), KERN_OK);
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(orbit->period[i], 2);
            assert_near(fabs(orbit->a[4 * i]), sqrt(1.0 - 2.0 / orbit->rate[i]), 1e-8);
        }
        view_orbit_destroy(orbit);
        clear(&g);
    }
}

/* x ← (1 − s) x along the first axis in so few steps that no column comes to rest from the
 * centre; one that goes on where the one before ended is nearer to it than one that does not. */
static void test_orbit_goes_on(void **state)
{
    enum { COLUMNS = 12, VALUES = 2 };
    ground g;
    view_orbit *orbit[2];
    seen s = {0};
    view_orbit_options o = {
        .from = 0.05, .to = 0.16, .columns = COLUMNS, .values = VALUES, .settle = 10};
    (void)state;
    lay(&g, (law){.c1 = -1.0, .c3 = 0.0, .p = 0.5, .q = 0.0}, 0.9);
    assert_int_equal(view_orbit_create(&orbit[0], &g.l, &o, NULL), KERN_OK);
    o.follow = true;
    o.workers = 3;
    o.emit = keep;
    o.context = &s;
    assert_int_equal(view_orbit_create(&orbit[1], &g.l, &o, NULL), KERN_OK);
    assert_int_equal(s.n, 1); /* after eight columns */
    assert_int_equal(s.last->done, 8);
    assert_memory_equal(orbit[0]->a, orbit[1]->a, VALUES * sizeof(double));
    double left = 0.9; /* of the way to the rest, at the column's start */
    for (size_t i = 0; i < COLUMNS; i++) {
        const double shrunk = pow(1.0 - orbit[0]->rate[i], 9.0 + VALUES);
        left *= shrunk;
        /* A push is a thousandth of the length, at most a few times that. */
        assert_near(orbit[0]->a[VALUES * i + 1] + 0.9, 0.9 * shrunk, 5e-3);
        assert_near(orbit[1]->a[VALUES * i + 1] + 0.9, left, 1e-2);
    }
    assert_true(left < 1e-3);
    view_orbit_destroy(s.last);
    view_orbit_destroy(orbit[0]);
    view_orbit_destroy(orbit[1]);
    clear(&g);
}

/* A column that creeps, or one far off, does not stretch what the strip shows; a fan does. */
static void test_few_columns_do_not_stretch_the_range(void **state)
{
    (void)state;
    enum { N = 40, VALUES = 4 };
    double rate[N];
    double a[N * VALUES];
    size_t period[N];
    double exponent[N];
    const view_orbit o = {.columns = N,
                          .values = VALUES,
                          .rate = rate,
                          .a = a,
                          .period = period,
                          .exponent = exponent,
                          .span = 1.0,
                          .low = -1.0,
                          .high = 9.0};
    double low;
    double high;
    for (size_t i = 0; i < N; i++) {
        period[i] = 1;
        exponent[i] = -0.5;
        for (size_t k = 0; k < VALUES; k++) {
            a[i * VALUES + k] = k % 2 == 0 ? 0.5 : 0.6;
        }
    }
    a[2 * VALUES] = 9.0;
    view_orbit_range(&o, &low, &high);
    assert_near(low, 0.5, 1e-12);
    assert_near(high, 0.6, 1e-12);
    period[2] = 0; /* near rest by its last two values */
    a[2 * VALUES + 2] = a[2 * VALUES + 3] = 0.55;
    a[7 * VALUES] = 9.0;
    view_orbit_range(&o, &low, &high);
    assert_near(high, 0.6, 1e-12);
    for (size_t i = 0; i < N; i++) {
        a[i * VALUES] = 0.6 + (double)i;
    }
    view_orbit_range(&o, &low, &high);
    assert_near(high, 0.6 + N - 1, 1e-12);
}

static void test_orbit_does_not_depend_on_workers(void **state)
{
    ground g;
    view_orbit *orbit[2];
    view_orbit_options o = {.from = 1.0, .to = 3.4, .columns = 33, .values = 7};
    (void)state;
    lay(&g, (law){.c1 = -1.0, .c3 = 1.0, .p = 0.3, .q = 0.1}, 0.3);
    for (int k = 0; k < 2; k++) {
        o.workers = 1 + 2 * k;
        assert_int_equal(view_orbit_create(&orbit[k], &g.l, &o, NULL), KERN_OK);
    }
    assert_memory_equal(orbit[0]->a, orbit[1]->a, 33 * 7 * sizeof(double));
    assert_memory_equal(orbit[0]->period, orbit[1]->period, 33 * sizeof(size_t));
    assert_memory_equal(orbit[0]->exponent, orbit[1]->exponent, 33 * sizeof(double));
    view_orbit_destroy(orbit[0]);
    view_orbit_destroy(orbit[1]);
    clear(&g);
}

static void test_orbit_is_cancelled_and_checked(void **state)
{
    ground g;
    view_orbit *orbit;
    patience p;
    kern_error error = {0};
    view_orbit_options o = {.from = 0.5, .to = 1.5, .columns = 40};
    (void)state;
    lay(&g, (law){.c1 = -1.0, .c3 = 1.0, .p = 0.3, .q = 0.1}, 0.3);
    o.cancelled = is_cancelled;
    o.context = &p;
    for (int after = 0; after < 20000; after = 10 * after + 1) {
        atomic_init(&p.left, after);
        assert_int_equal(view_orbit_create(&orbit, &g.l, &o, NULL), KERN_INTERRUPTED);
        assert_null(orbit);
    }
    o.cancelled = NULL;
    o.columns = 0;
    assert_int_equal(view_orbit_create(&orbit, &g.l, &o, &error), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(error.text, "0 columns"));
    clear(&g);
}

/* ---- Basins ---------------------------------------------------------------------------------- */

static const viz_class *class_of(const view_basins *b, int32_t label, double *fraction)
{
    for (size_t i = 0; i < b->n_classes; i++) {
        if (b->classes[i].label == label) {
            *fraction = b->fraction[i];
            return &b->classes[i];
        }
    }
    return NULL;
}

/* Where the orbit of x ↦ 1.5 x − 0.5 x³ goes: to ±1, to ±∞, or nowhere from 0. Beyond √5 it grows
 * without end, and sixty steps are enough for a distance of 0.2 from 0 to become 1. */
static double follow_wells(double x)
{
    for (int i = 0; i < 60 && fabs(x) < 3.0; i++) {
        x = 1.5 * x - 0.5 * x * x * x;
    }
    return x;
}

/* Δ₀ = x₀ − x₀³ at s = ½: two wells, with a saddle on the line x₀ = 0 and walls that fold. */
static void test_basins_of_two_wells(void **state)
{
    enum { COLUMNS = 41, ROWS = 25 };
    ground g;
    view_basins *b;
    double shares[3] = {0};
    (void)state;
    lay(&g, (law){.c1 = 1.0, .c3 = -1.0, .p = 0.5, .q = 0.0}, 0.0);
    g.l.range = (dyn_slice_range){.a_low = -4.0, .a_high = 4.0, .b_low = -2.0, .b_high = 2.0};
    g.l.settings.rate = 0.5;
    assert_int_equal(view_basins_create(&b, &g.l, COLUMNS, 2, NULL, NULL, NULL), KERN_OK);
    assert_int_equal(b->lattice.nx, COLUMNS);
    assert_int_equal(b->lattice.ny, ROWS);
    assert_int_equal(b->n_attractors, 2);
    assert_int_equal(b->n_classes, 4);
    const int32_t right = b->labels[COLUMNS / 2 + 5];
    const int32_t left = b->labels[COLUMNS / 2 - 5];
    assert_true(right > 0 && left > 0 && right != left);
    for (size_t i = 0; i < COLUMNS * ROWS; i++) {
        const double x = -4.0 + 0.2 * (double)(i % COLUMNS);
        const double end = fabs(x) < 1e-9 ? 0.0 : follow_wells(x);
        const int32_t expected = end == 0.0         ? VIEW_BASINS_UNRESOLVED
                                 : fabs(end) >= 3.0 ? VIEW_BASINS_NOT_FINITE
                                 : end > 0.0        ? right
                                                    : left;
        assert_int_equal(b->labels[i], expected);
        assert_true(b->light[i] >= 0.0 && b->light[i] <= 1.0);
    }
    assert_non_null(class_of(b, right, &shares[0]));
    assert_non_null(class_of(b, left, &shares[1]));
    assert_near(shares[0], shares[1], 0.0);
    const viz_class *lost = class_of(b, VIEW_BASINS_NOT_FINITE, &shares[2]);
    assert_non_null(lost);
    assert_string_equal(lost->name, "not finite");
    assert_near(shares[2] * COLUMNS * ROWS, (double)b->n_not_finite, 1e-9);
    assert_int_equal(b->n_not_finite, 2 * 9 * ROWS);
    assert_int_equal(b->n_unresolved, ROWS);
    /* Near the attractor less time is needed than near the border, and steps count from 1 on. */
    const size_t middle = (ROWS / 2) * COLUMNS + COLUMNS / 2;
    assert_true(b->light[middle + 5] > b->light[middle + 1]);
    assert_true(b->least >= 1 && b->most > b->least);
    view_basins_destroy(b);
    clear(&g);
}

/* Orbits of a 2-cycle have one class whatever their phase. */
static void test_basins_of_a_cycle(void **state)
{
    ground g;
    view_basins *b;
    double share = 0.0;
    (void)state;
    lay(&g, (law){.c1 = -1.0, .c3 = 1.0, .p = 0.5, .q = 0.0}, 0.1);
    g.l.range = (dyn_slice_range){.a_low = -0.55, .a_high = 0.45, .b_low = -1.0, .b_high = 1.0};
    g.l.settings.rate = 2.3;
    assert_int_equal(view_basins_create(&b, &g.l, 16, 1, NULL, NULL, NULL), KERN_OK);
    assert_int_equal(b->n_attractors, 1);
    const viz_class *class = class_of(b, 1, &share);
    assert_non_null(class);
    assert_string_equal(class->name, "1: period 2");
    assert_near(share, 1.0, 0.0);
    assert_non_null(strstr(class->legend, "100.0"));
    view_basins_destroy(b);
    clear(&g);
}

/* Of seventeen attractors nine have an entry of their own, and one stands for the rest with all of
 * their share. */
static void test_the_legend_of_many_basins(void **state)
{
    ground g;
    view_basins *b;
    double rest = 0.0;
    char expected[64];
    (void)state;
    lay(&g, (law){.p = 0.5, .waves = 2.0}, 0.0);
    g.l.range = (dyn_slice_range){.a_low = -4.2, .a_high = 4.2, .b_low = -1.0, .b_high = 1.0};
    g.l.settings.rate = 0.5;
    assert_int_equal(view_basins_create(&b, &g.l, 85, 1, NULL, NULL, NULL), KERN_OK);
    assert_int_equal(b->n_attractors, 17);
    for (size_t i = 0; i < 17; i++) {
        if (i < VIEW_BASINS_NAMED) {
            (void)snprintf(expected, sizeof expected, "%zu: at rest, ", i + 1);
            assert_memory_equal(b->classes[i].legend, expected, strlen(expected));
        } else {
            rest += b->fraction[i];
        }
        assert_true((b->classes[i].legend != NULL) == (i <= VIEW_BASINS_NAMED));
        assert_true(i == 0 || b->fraction[i] <= b->fraction[i - 1]);
    }
    (void)snprintf(expected, sizeof expected, "10 to 17: together %.1f", 100.0 * rest);
    assert_memory_equal(b->classes[VIEW_BASINS_NAMED].legend, expected, strlen(expected));
    view_basins_destroy(b);
    clear(&g);
}

static void test_basins_are_cancelled_and_checked(void **state)
{
    ground g;
    view_basins *b;
    patience p;
    (void)state;
    lay(&g, (law){.c1 = 1.0, .c3 = -1.0, .p = 0.5, .q = 0.0}, 0.0);
    g.l.range = (dyn_slice_range){.a_low = -4.0, .a_high = 4.0, .b_low = -2.0, .b_high = 2.0};
    g.l.settings.rate = 0.5;
    for (int after = 0; after < 5000; after = 10 * after + 1) {
        atomic_init(&p.left, after);
        assert_int_equal(view_basins_create(&b, &g.l, 32, 1, is_cancelled, &p, NULL),
                         KERN_INTERRUPTED);
        assert_null(b);
    }
    assert_int_equal(view_basins_create(&b, &g.l, 0, 1, NULL, NULL, NULL), KERN_INVALID_ARGUMENT);
    clear(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_landmarks_of_a_fixed_point),
        cmocka_unit_test(test_landmarks_are_not_invented),
        cmocka_unit_test(test_landmarks_are_cancelled),
        cmocka_unit_test(test_orbit_flips),
        cmocka_unit_test(test_orbit_leaves_a_repelling_rest),
        cmocka_unit_test(test_orbit_goes_on),
        cmocka_unit_test(test_few_columns_do_not_stretch_the_range),
        cmocka_unit_test(test_orbit_does_not_depend_on_workers),
        cmocka_unit_test(test_orbit_is_cancelled_and_checked),
        cmocka_unit_test(test_basins_of_two_wells),
        cmocka_unit_test(test_basins_of_a_cycle),
        cmocka_unit_test(test_the_legend_of_many_basins),
        cmocka_unit_test(test_basins_are_cancelled_and_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
