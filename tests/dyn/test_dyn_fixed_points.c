/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fixed points and cycles: closed forms, complete lists, and searches that find nothing.
 */
#include "tests/dyn/dyn_points_check.h"

#include "dyn/dyn_shooting.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_fault_maps.h"

#include <stdlib.h>

static const double two_pi = 6.283185307179586477;

/* ---- Closed forms ------------------------------------------------------------------------- */

/* 0 and 1 − 1/r with multipliers r and 2 − r. */
static void test_logistic_points(void **state)
{
    static const struct {
        const char *assignment;
        double r;
    } cases[] = {{"r=0.7", 0.7}, {"r=1.7", 1.7}, {"r=2.9", 2.9}, {"r=3.7", 3.7}};
    static const double low = -1.0;
    static const double high = 1.5;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = dyn_test_named("logistic", cases[i].assignment, NULL, NULL);
        const double r = cases[i].r;
        const double other = 1.0 - 1.0 / r;
        const dyn_fixed_points_options o = points_options(1, 30, &low, &high);
        dyn_fixed_points f = points_search(map, &o);
        const size_t zero = other < 0.0 ? 1 : 0;
        assert_int_equal(f.n_cycles, 2);
        MAPS_CLOSE(f.cycles[zero].states[0], 0.0, 1e-12);
        MAPS_CLOSE(f.cycles[1 - zero].states[0], other, 1e-12);
        MAPS_CLOSE(f.cycles[zero].multipliers.blocks[0].re[0], r, 1e-9);
        MAPS_CLOSE(f.cycles[1 - zero].multipliers.blocks[0].re[0], 2.0 - r, 1e-9);
        assert_true(f.cycles[zero].stable == (r < 1.0));
        assert_true(f.cycles[1 - zero].stable == (r > 1.0 && r < 3.0));
        dyn_fixed_points_fini(&f);
        dyn_map_destroy(map);
    }
}

/* The 2-cycle at r = 3.2, beside both fixed points unless it is asked for alone. The image and the
 * residual are those of the states that are returned. */
static void test_logistic_cycle(void **state)
{
    static const double low = 0.0;
    static const double high = 1.0;
    dyn_map *map = dyn_test_named("logistic", "r=3.2", NULL, NULL);
    const double root = sqrt(0.2 * 4.2);
    dyn_fixed_points_options o = points_options(2, 60, &low, &high);
    (void)state;
    dyn_fixed_points f = points_search(map, &o);
    assert_int_equal(f.n_cycles, 3);
    assert_true(f.cycles[0].period == 1 && f.cycles[1].period == 1 && f.cycles[2].period == 2);
    assert_int_equal(f.n_converged, f.n_requested);
    dyn_fixed_points_fini(&f);
    o.prime = true;
    f = points_search(map, &o);
    assert_int_equal(f.n_cycles, 1);
    const dyn_cycle *cycle = &f.cycles[0];
    double image;
    MAPS_CLOSE(cycle->states[0], (4.2 - root) / 6.4, 1e-12);
    MAPS_CLOSE(cycle->states[1], (4.2 + root) / 6.4, 1e-12);
    MAPS_CLOSE(cycle->multipliers.blocks[0].re[0], 0.16, 1e-9);
    assert_true(cycle->stable && cycle->residual < 1e-15);
    map->kind->step(map, cycle->states, &image);
    assert_true(image == cycle->image[0]);
    assert_true(f.failures[KERN_NOT_FOUND] > 0);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

static void test_planar_points(void **state)
{
    static const struct {
        const char *name;
        double x[2], y[2]; /* ascending */
        double multipliers[2][2];
    } cases[] = {
        {"henon",
         {-1.131354477089505, 0.631354477089505},
         {-0.339406343126851, 0.189406343126851},
         {{3.259822097891452, -0.092029562041088}, {-1.923738858153409, 0.155946322302793}}},
        {"lozi",
         {-1 / 1.2, 1 / 2.2},
         {-0.5 / 1.2, 0.5 / 2.2},
         {{1.955667219374820, -0.255667219374820}, {-1.955667219374820, 0.255667219374820}}},
    };
    static const double low[2] = {-3, -3};
    static const double high[2] = {3, 3};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = dyn_test_named(cases[i].name, NULL, NULL, NULL);
        const dyn_fixed_points_options o = points_options(1, 40, low, high);
        dyn_fixed_points f = points_search(map, &o);
        assert_int_equal(f.n_cycles, 2);
        for (size_t j = 0; j < 2; j++) {
            MAPS_CLOSE(f.cycles[j].states[0], cases[i].x[j], 1e-12);
            MAPS_CLOSE(f.cycles[j].states[1], cases[i].y[j], 1e-12);
            for (size_t m = 0; m < 2; m++) {
                MAPS_CLOSE(f.cycles[j].multipliers.blocks[0].re[m], cases[i].multipliers[j][m],
                           1e-12);
            }
            assert_false(f.cycles[j].stable);
            assert_int_equal(f.cycles[j].returns, KERN_OK);
        }
        dyn_fixed_points_fini(&f);
        dyn_map_destroy(map);
    }
}

/* A start that is given, and only that: the sink of the Ikeda map from 3 digits of it. */
static void test_given_start(void **state)
{
    static const double given[4] = {2.97, 4.15, 2.98, 4.14};
    dyn_map *map = dyn_test_named("ikeda", "u=0.9", NULL, NULL);
    dyn_fixed_points_options o = points_options(1, 0, NULL, NULL);
    (void)state;
    o.given = given;
    o.n_given = 2;
    dyn_fixed_points f = points_search(map, &o);
    assert_int_equal(f.n_cycles, 1);
    assert_int_equal(f.n_converged, 2);
    MAPS_CLOSE(f.cycles[0].states[0], 2.97213162, 1e-8);
    MAPS_CLOSE(f.cycles[0].states[1], 4.14594642, 1e-8);
    MAPS_CLOSE(f.cycles[0].spectral_radius, 0.9, 1e-12);
    MAPS_CLOSE(f.cycles[0].multipliers.blocks[0].re[0], 0.851719, 1e-6);
    MAPS_CLOSE(f.cycles[0].multipliers.blocks[0].im[0], 0.290816, 1e-6);
    assert_true(f.cycles[0].stable);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

/* On the torus: 0 is listed once although it is also 2π, and the 2-cycle of the literature is
 * found, which is (θ, p) and its image. */
static void test_standard_map(void **state)
{
    const double low[2] = {0, 0};
    const double high[2] = {two_pi, two_pi};
    dyn_map *map = dyn_test_named("standard", "k=0.971635", NULL, NULL);
    dyn_fixed_points_options o = points_options(1, 60, low, high);
    bool found = false;
    (void)state;
    dyn_fixed_points f = points_search(map, &o);
    assert_int_equal(f.n_cycles, 2);
    MAPS_CLOSE(f.cycles[0].states[0], 0.0, 1e-12);
    MAPS_CLOSE(f.cycles[1].states[0], two_pi / 2.0, 1e-12);
    MAPS_CLOSE(f.cycles[0].multipliers.blocks[0].re[0], 2.584750456693, 1e-11);
    MAPS_CLOSE(f.cycles[0].multipliers.blocks[0].re[1], 0.386884543307, 1e-11);
    dyn_fixed_points_fini(&f);
    o.period = 2;
    o.prime = true;
    f = points_search(map, &o);
    for (size_t i = 0; i < f.n_cycles; i++) {
        for (size_t t = 0; t < 2; t++) {
            const double *x = f.cycles[i].states + 2 * t;
            found = found || fmax(fabs(x[0] - 1.3346302), fabs(x[1] - 2.6692604)) < 6e-8;
        }
        MAPS_CLOSE(
            f.cycles[i].multipliers.blocks[0].re[0] * f.cycles[i].multipliers.blocks[0].re[1] -
                f.cycles[i].multipliers.blocks[0].im[0] * f.cycles[i].multipliers.blocks[0].im[1],
            1.0, 1e-9);
    }
    assert_true(found);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

/* At the tangency r = 1 + √8 the 3-cycle is double: Newton is slow and the residual, quadratic in
 * the distance, fixes the points to about the root of the tolerance. */
static void test_tangency(void **state)
{
    static const double low = 0.05;
    static const double high = 0.98;
    dyn_map *map = dyn_test_named("logistic", "r=3.8284271247461900976", NULL, NULL);
    dyn_fixed_points_options o = points_options(3, 40, &low, &high);
    (void)state;
    o.prime = true;
    o.merge = 1e-3;
    dyn_fixed_points f = points_search(map, &o);
    assert_int_equal(f.n_cycles, 1);
    MAPS_CLOSE(f.cycles[0].states[0], 0.1599288184463, 1e-4);
    MAPS_CLOSE(f.cycles[0].states[1], 0.5143552770620, 1e-4);
    MAPS_CLOSE(f.cycles[0].states[2], 0.9563178419736, 1e-4);
    MAPS_CLOSE(f.cycles[0].multipliers.blocks[0].re[0], 1.0, 1e-2);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

/* ---- Complete lists ----------------------------------------------------------------------- */

/* Prime cycles of the Hénon map up to length 10 (Galias), besides the fixed point outside the
 * trapping region. The determinant is −b, so the product of the multipliers of a p-cycle is (−b)^p.
 */
static void test_henon_cycles(void **state)
{
    static const size_t counts[] = {1, 1, 0, 1, 0, 2, 4, 7, 6, 10};
    static const double low[2] = {-1.5, -0.5};
    static const double high[2] = {1.5, 0.5};
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    (void)state;
    for (size_t p = 1; p <= 10; p++) {
        dyn_fixed_points_options o = points_options(p, 400, low, high);
        size_t trapped = 0;
        o.prime = true;
        dyn_fixed_points f = points_search(map, &o);
        for (size_t i = 0; i < f.n_cycles; i++) {
            const dyn_multipliers_block *b = &f.cycles[i].multipliers.blocks[0];
            assert_int_equal(f.cycles[i].period, p);
            assert_true(f.cycles[i].residual < 1e-14);
            MAPS_CLOSE(b->re[0] * b->re[1] / pow(-0.3, (double)p), 1.0, 1e-6);
            trapped += f.cycles[i].states[0] > -1.3 && f.cycles[i].states[1] > -0.33 ? 1U : 0U;
        }
        assert_int_equal(trapped, counts[p - 1]);
        assert_int_equal(f.n_cycles, trapped + (p == 1 ? 1U : 0U));
        dyn_fixed_points_fini(&f);
    }
    dyn_map_destroy(map);
}

/* The cat map has |λ^p + λ^{−p} − 2| points with F^p(x) = x, all of them unstable: 5 for p = 2 and
 * 16 for p = 3, of which 1 is fixed. The linear system is that of a linear map on a torus. */
static void test_cat_cycles(void **state)
{
    static const double low[2] = {0, 0};
    static const double high[2] = {1, 1};
    dyn_map *map = dyn_test_named("cat", NULL, NULL, NULL);
    dyn_fixed_points_options o = points_options(2, 200, low, high);
    (void)state;
    dyn_fixed_points f = points_search(map, &o);
    assert_int_equal(f.n_cycles, 1 + 2);
    dyn_fixed_points_fini(&f);
    o.period = 3;
    f = points_search(map, &o);
    assert_int_equal(f.n_cycles, 1 + 5);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

static void test_repeats(void **state)
{
    static const double low[2] = {-1.5, -0.5};
    static const double high[2] = {1.5, 0.5};
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    dyn_fixed_points_options o = points_options(7, 100, low, high);
    (void)state;
    o.settle = 25;
    dyn_fixed_points a = points_search(map, &o);
    dyn_fixed_points b = points_search(map, &o);
    assert_int_equal(a.n_cycles, b.n_cycles);
    for (size_t i = 0; i < a.n_cycles; i++) {
        assert_memory_equal(a.cycles[i].states, b.cycles[i].states,
                            a.cycles[i].period * 2 * sizeof(double));
        assert_int_equal(a.cycles[i].hits, b.cycles[i].hits);
        assert_true(i == 0 || a.cycles[i].period >= a.cycles[i - 1].period);
    }
    o.seed = 2;
    dyn_fixed_points c = points_search(map, &o);
    assert_true(c.n_converged != a.n_converged || c.cycles[0].hits != a.cycles[0].hits);
    dyn_fixed_points_fini(&a);
    dyn_fixed_points_fini(&b);
    dyn_fixed_points_fini(&c);
    dyn_map_destroy(map);
}

/* (π, 0) is elliptic until K = 4: multipliers on the unit circle, then a pair of real ones. */
static void test_standard_centre(void **state)
{
    static const struct {
        const char *assignment;
        double k;
    } cases[] = {{"k=0.971635", 0.971635}, {"k=1.5", 1.5}, {"k=3.9", 3.9}, {"k=4.1", 4.1}};
    const double given[2] = {two_pi / 2.0 + 0.01, 0.01};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_map *map = dyn_test_named("standard", cases[i].assignment, NULL, NULL);
        dyn_fixed_points_options o = points_options(1, 0, NULL, NULL);
        o.given = given;
        o.n_given = 1;
        dyn_fixed_points f = points_search(map, &o);
        assert_int_equal(f.n_cycles, 1);
        const dyn_multipliers_block *b = &f.cycles[0].multipliers.blocks[0];
        MAPS_CLOSE(f.cycles[0].states[0], two_pi / 2.0, 1e-12);
        MAPS_CLOSE(b->re[0] + b->re[1], 2.0 - cases[i].k, 1e-12);
        assert_true((b->im[0] != 0.0) == (cases[i].k < 4.0));
        MAPS_CLOSE(f.cycles[0].spectral_radius < 1.0 + 1e-12 ? 1.0 : 0.0,
                   cases[i].k < 4.0 ? 1.0 : 0.0, 0.0);
        dyn_fixed_points_fini(&f);
        dyn_map_destroy(map);
    }
}

/* ---- A map without slope ------------------------------------------------------------------ */

static double find_sign(double z)
{
    return z < 0.0 ? -1.0 : 1.0;
}

static void sync_step(dyn_map *map, const double *x, double *y)
{
    const double first = find_sign(-x[1]);
    (void)map;
    y[1] = find_sign(-x[0]);
    y[0] = first;
}

static void sync_jvp(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    (void)v;
    if (y != NULL) {
        sync_step(map, x, y);
    }
    jv[0] = 0.0;
    jv[1] = 0.0;
}

/* Two binary units with W = [[0, −1], [−1, 0]], updated together: (1, 1) ↔ (−1, −1) is a cycle of
 * minimal period 2 and no fixed point, by every method. */
static void test_synchronous_cycle(void **state)
{
    static const dyn_map_kind kind = {.name = "hopfield-sync",
                                      .formula = "sign(W x)",
                                      .step = sync_step,
                                      .jvp = sync_jvp,
                                      .clone = dyn_map_create_like};
    static const double low[2] = {-2, -2};
    static const double high[2] = {2, 2};
    static const char *const methods[] = {"newton", "newton-krylov", "anderson"};
    dyn_map *map = NULL;
    (void)state;
    assert_int_equal(dyn_map_create(&map, &kind, 2, NULL, 0, NULL), KERN_OK);
    for (size_t m = 0; m < 3; m++) {
        dyn_fixed_points_options o = points_options(2, 50, low, high);
        o.method = dyn_method_find(methods[m]);
        o.prime = true;
        dyn_fixed_points f = points_search(map, &o);
        assert_int_equal(f.n_cycles, 1);
        const dyn_cycle *c = &f.cycles[0];
        assert_int_equal(c->period, 2);
        assert_true(c->states[0] == -1.0 && c->states[1] == -1.0);
        assert_true(c->states[2] == 1.0 && c->states[3] == 1.0);
        assert_true(c->image[0] == 1.0 && c->image[1] == 1.0 && c->residual == 0.0);
        assert_true(c->spectral_radius == 0.0 && c->returns == KERN_OK);
        dyn_fixed_points_fini(&f);
        o.period = 1;
        f = points_search(map, &o);
        assert_int_equal(f.n_cycles, 2);
        for (size_t i = 0; i < 2; i++) {
            MAPS_CLOSE(f.cycles[i].states[0] * f.cycles[i].states[1], -1.0, 0.0);
        }
        dyn_fixed_points_fini(&f);
    }
    dyn_map_destroy(map);
}

/* Doubles fall onto 0 after 55 steps of the tent map of slope 2, but the search does not follow
 * orbits: its cycles are found, repel by 2^p, and have 2^p − 2 points in all for p = 3 and 5. */
static void test_tent_cycles(void **state)
{
    static const size_t periods[] = {1, 3, 5};
    static const size_t counts[] = {2, 2, 6};
    static const double low = 0.01;
    static const double high = 0.99;
    dyn_map *map = dyn_test_named("tent", "mu=2", NULL, NULL);
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        dyn_fixed_points_options o = points_options(periods[i], 400, &low, &high);
        o.prime = true;
        dyn_fixed_points f = points_search(map, &o);
        assert_int_equal(f.n_cycles, counts[i]);
        for (size_t c = 0; c < f.n_cycles; c++) {
            MAPS_CLOSE(f.cycles[c].spectral_radius, pow(2.0, (double)periods[i]), 1e-12);
            assert_true(f.cycles[c].residual < 1e-15);
        }
        dyn_fixed_points_fini(&f);
    }
    dyn_map_destroy(map);
}

/* ---- Searches that find nothing ----------------------------------------------------------- */

static void assert_nothing(dyn_map *map, dyn_fixed_points_options o, kern_status why)
{
    dyn_fixed_points f = points_search(map, &o);
    assert_int_equal(f.n_cycles, 0);
    assert_int_equal(f.n_converged, 0);
    assert_int_equal(f.failures[why], f.n_requested);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

/* No 3-cycle, no fixed point of a translation (its system is singular), no image that is a number,
 * and too few iterations: outcomes, not errors. */
static void test_nothing(void **state)
{
    static const double low[2] = {-1.5, -0.5};
    static const double high[2] = {1.5, 0.5};
    static const double beyond[2] = {7.0, 7.0};
    dyn_fixed_points_options o = points_options(3, 50, low, high);
    dyn_fixed_points f;
    (void)state;
    o.prime = true;
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    f = points_search(map, &o);
    assert_true(f.n_cycles == 0 && f.n_converged == 0);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
    o.prime = false;
    assert_nothing(dyn_test_translation(2, DYN_TEST_FAULT_NONE), o, KERN_SINGULAR);
    o = points_options(1, 0, NULL, NULL);
    o.given = beyond;
    o.n_given = 1;
    assert_nothing(dyn_test_translation(2, DYN_TEST_FAULT_NAN), o, KERN_NAN);
    assert_nothing(dyn_test_translation(2, DYN_TEST_FAULT_INF), o, KERN_DIVERGED);
    assert_nothing(dyn_test_translation(2, DYN_TEST_FAULT_TANGENT), o, KERN_NAN);
    o.max_iterations = 1;
    assert_nothing(dyn_test_named("henon", NULL, NULL, NULL), o, KERN_NOT_CONVERGED);
}

/* A layer norm: x grows for ever, so there is no fixed point, although Newton's method runs to
 * states where the steps are below rounding. */
static void test_no_point_of_a_norm(void **state)
{
    static const double low[5] = {-2, -2, -2, -2, -2};
    static const double high[5] = {2, 2, 2, 2, 2};
    dyn_map *map = dyn_test_named("layernorm-power", "n=5", NULL, NULL);
    const dyn_fixed_points_options o = points_options(1, 25, low, high);
    (void)state;
    dyn_fixed_points f = points_search(map, &o);
    assert_true(f.n_cycles == 0 && f.n_converged == 0);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

/* A residual that is not a number is never small, and the best states reached stay. */
static void test_solver(void **state)
{
    dyn_map *map = dyn_test_named("logistic", "r=3.2", NULL, NULL);
    dyn_shooting *solver = NULL;
    dyn_chain_goal goal = {.tol = 1e300, .max_iterations = 10};
    double states[2] = {(double)NAN, 0.5};
    double gap[2];
    (void)state;
    assert_int_equal(dyn_shooting_create(&solver, map, 2, NULL), KERN_OK);
    dyn_chain_result r = dyn_shooting_solve(solver, states, 2, &goal);
    assert_int_equal(r.status, KERN_NAN);
    assert_true(isnan(r.residual));
    states[0] = 0.5;
    states[1] = 0.8;
    goal = (dyn_chain_goal){.tol = 1e-11, .max_iterations = 50};
    r = dyn_shooting_solve(solver, states, 2, &goal);
    assert_true(r.status == KERN_OK && r.iterations > 0 && r.residual < 1e-15);
    MAPS_CLOSE(dyn_chain_residual(map, states, 2, gap), r.residual, 0.0);
    goal.max_iterations = 0;
    r = dyn_shooting_solve(solver, states, 2, &goal);
    assert_true(r.status == KERN_OK && r.iterations == 0);
    dyn_shooting_destroy(solver);
    dyn_shooting_destroy(NULL);
    dyn_map_destroy(map);
}

static void assert_refused(dyn_map *map, dyn_fixed_points_options o, const char *sentence)
{
    dyn_fixed_points f;
    kern_error err = {0};
    assert_int_equal(dyn_fixed_points_init(&f, map, &o, &err), KERN_INVALID_ARGUMENT);
    if (strstr(err.text, sentence) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, sentence);
    }
    dyn_fixed_points_fini(&f);
}

/* Stops after the second start. */
static bool stop_early(void *context, size_t done, size_t total)
{
    *(size_t *)context = total;
    return done < 2;
}

static void test_refused(void **state)
{
    static const double low[2] = {0, 0};
    static const double high[2] = {1, 0};
    static const double higher[2] = {1, 1};
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    dyn_fixed_points f;
    kern_error err = {0};
    size_t total = 0;
    (void)state;
    assert_refused(map, points_options(1, 10, low, high),
                   "coordinate 1 of the box reaches from 0 to");
    assert_refused(map, points_options(1, 10, NULL, NULL), "10 starts need a box");
    assert_refused(map, points_options(1, 0, NULL, NULL), "at least one start");
    assert_refused(map, points_options(0, 10, low, higher), "a cycle of 0 states of 2 numbers");
    dyn_fixed_points_options o = points_options(301, 10, low, higher);
    o.method = dyn_method_find("newton");
    assert_refused(map, o, "the product at most 600");
    o = points_options(1, 10, low, higher);
    o.method = dyn_method_find("anderson");
    o.deflate = true;
    assert_refused(map, o, "method anderson cannot deflate");
    o = points_options(1, 10, low, higher);
    o.tol = (double)NAN;
    assert_refused(map, o, "the tolerance is nan");
    o.tol = 1e-10;
    o.progress = stop_early;
    o.context = &total;
    assert_int_equal(dyn_fixed_points_init(&f, map, &o, &err), KERN_INTERRUPTED);
    assert_int_equal(total, 10);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest exact[] = {
        cmocka_unit_test(test_logistic_points), cmocka_unit_test(test_logistic_cycle),
        cmocka_unit_test(test_planar_points),   cmocka_unit_test(test_given_start),
        cmocka_unit_test(test_standard_map),    cmocka_unit_test(test_standard_centre),
        cmocka_unit_test(test_tangency),
    };
    const struct CMUnitTest complete[] = {
        cmocka_unit_test(test_synchronous_cycle), cmocka_unit_test(test_tent_cycles),
        cmocka_unit_test(test_henon_cycles),      cmocka_unit_test(test_cat_cycles),
        cmocka_unit_test(test_repeats),
    };
    const struct CMUnitTest outcomes[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_no_point_of_a_norm),
        cmocka_unit_test(test_solver),
        cmocka_unit_test(test_refused),
    };
    kern_runtime_init();
    int failed = cmocka_run_group_tests(exact, NULL, NULL);
    failed += cmocka_run_group_tests(complete, NULL, NULL);
    failed += cmocka_run_group_tests(outcomes, NULL, NULL);
    return failed;
}
