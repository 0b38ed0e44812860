/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What surrounds the solvers: starts, kinetic energy and slow points, the check by two strides, and
 * searches by several workers and with deflation.
 */
#include "tests/dyn/dyn_points_check.h"

#include "dyn/dyn_chain.h"
#include "dyn/dyn_kinetic.h"
#include "dyn/dyn_starts.h"
#include "dyn/dyn_stride.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_fault_maps.h"

#include <stdlib.h>

static const double henon_low[2] = {-1.5, -0.5};
static const double henon_high[2] = {1.5, 0.5};

/* ---- Starts ------------------------------------------------------------------------------- */

enum { POINTS = 256 };

static void draw(dyn_map *map, const dyn_starts_options *o, size_t n, double *points)
{
    dyn_starts *s = NULL;
    assert_int_equal(dyn_starts_create(&s, map, o, NULL), KERN_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(dyn_starts_next(s, points + i * map->size, NULL), KERN_OK);
    }
    dyn_starts_destroy(s);
}

/* Given points come first; Sobol points fill the box more evenly than random ones, equal seeds give
 * equal bits, and another seed gives other points. In the plane each of 16 × 16 cells of a set of
 * 256 unshifted points holds one, and the shift moves at most a cell's width: no square of 2 × 2
 * cells is empty, while 256 random points leave some of the 225 such squares empty on average. */
static void test_sobol(void **state)
{
    enum { GRID = 8 };
    static double points[2 * (POINTS + 1)];
    static double others[2 * (POINTS + 1)];
    static const double given[2] = {7, 8};
    static const double low[2] = {-1, 0};
    static const double high[2] = {1, 4};
    size_t counts[GRID * GRID] = {0};
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    dyn_starts_options o = {.n_given = 1,
                            .given = given,
                            .n_drawn = POINTS,
                            .low = low,
                            .high = high,
                            .sobol = true,
                            .seed = 5};
    (void)state;
    draw(map, &o, POINTS + 1, points);
    assert_true(points[0] == 7 && points[1] == 8);
    for (size_t i = 1; i <= POINTS; i++) {
        const double u = (points[2 * i] + 1) / 2;
        const double v = points[2 * i + 1] / 4;
        assert_true(u >= 0 && u < 1 && v >= 0 && v < 1);
        counts[(size_t)(GRID * u) * GRID + (size_t)(GRID * v)]++;
    }
    for (size_t i = 0; i < (size_t)GRID * GRID; i++) {
        assert_true(counts[i] >= 1 && counts[i] <= 9);
    }
    draw(map, &o, POINTS + 1, others);
    assert_memory_equal(points, others, sizeof points);
    o.seed = 6;
    draw(map, &o, POINTS + 1, others);
    assert_true(points[2] != others[2] && points[3] != others[3]);
    dyn_map_destroy(map);
}

/* Beyond 40 coordinates Sobol points are the uniform ones. */
static void test_sobol_in_many_coordinates(void **state)
{
    static double low[41];
    static double high[41];
    double a[2 * 41];
    double b[2 * 41];
    dyn_map *map = dyn_test_named("coupled-logistic", "n=41", NULL, NULL);
    dyn_starts_options o = {.n_drawn = 2, .low = low, .high = high, .sobol = true, .seed = 5};
    (void)state;
    for (size_t i = 0; i < 41; i++) {
        high[i] = 1;
    }
    draw(map, &o, 2, a);
    o.sobol = false;
    draw(map, &o, 2, b);
    assert_memory_equal(a, b, sizeof a);
    dyn_map_destroy(map);
    map = dyn_test_named("coupled-logistic", "n=40", NULL, NULL);
    draw(map, &o, 2, b);
    o.sobol = true;
    draw(map, &o, 2, a);
    assert_true(a[0] != b[0]);
    dyn_map_destroy(map);
}

/* ---- Two strides -------------------------------------------------------------------------- */

static dyn_stride_check check(dyn_map *map, const double *states, size_t period)
{
    double work[8];
    dyn_stride_check c;
    assert_true(dyn_stride_work(map) <= 8);
    assert_int_equal(dyn_stride_run(&c, map, states, period, 1e-11, work, NULL), KERN_OK);
    return c;
}

/* A 2-cycle claimed as a fixed point is back after 2 steps and gives itself away after 3, a 3-cycle
 * the other way round: one stride would have passed either. */
static void test_strides_tell_cycles_from_points(void **state)
{
    dyn_map *map = dyn_test_named("logistic", "r=3.2", NULL, NULL);
    const double two[2] = {(4.2 - sqrt(0.84)) / 6.4, (4.2 + sqrt(0.84)) / 6.4};
    double three[3] = {0.504666487, 0.957416598, 0.156149316};
    (void)state;
    dyn_stride_check c = check(map, two, 1);
    assert_int_equal(c.status, KERN_NOT_CONVERGED);
    assert_true(c.distance[0] < 1e-15 && c.distance[1] > 0.28 && c.allowed[1] < 1e-8);
    assert_int_equal(check(map, two, 2).status, KERN_OK);
    dyn_map_destroy(map);
    map = dyn_test_named("logistic", "r=3.83", NULL, NULL);
    dyn_map_iterate(map, three, 3000, three);
    c = check(map, three, 1);
    assert_int_equal(c.status, KERN_NOT_CONVERGED);
    assert_true(c.distance[1] < 1e-14 && c.distance[0] > 0.3);
    map->kind->step(map, three, three + 1);
    map->kind->step(map, three + 1, three + 2);
    assert_int_equal(check(map, three, 3).status, KERN_OK);
    dyn_map_destroy(map);
}

/* What rounding grows to is allowed: at a fixed point with μ = −2 of a map of slope r, between
 * |μ|^s and some 100 times that, times √s 1e-11. Where it grows beyond the size of the cycle,
 * nothing is decided. */
static void test_strides_allow_growth(void **state)
{
    const double steep = 1e6;
    const double zero = 0.0;
    const double point = 0.75;
    dyn_map *map = dyn_test_named("logistic", "r=4", NULL, NULL);
    (void)state;
    dyn_stride_check c = check(map, &point, 1);
    assert_int_equal(c.status, KERN_OK);
    assert_true(c.allowed[0] > 2e-11 && c.allowed[0] < 1e-8);
    assert_true(c.allowed[1] > 4e-11 && c.allowed[1] < 1e-8);
    dyn_map_destroy(map);
    map = dyn_test_linear(1, &steep, 1);
    c = check(map, &zero, 1);
    assert_int_equal(c.status, KERN_TIMEOUT);
    dyn_map_destroy(map);
    map = dyn_test_translation(2, DYN_TEST_FAULT_NAN);
    const double beyond[2] = {7, 7};
    assert_int_equal(check(map, beyond, 1).status, KERN_NOT_CONVERGED);
    dyn_map_destroy(map);
}

/* ---- Kinetic energy ----------------------------------------------------------------------- */

/* Beyond its fold the Hénon-type map has no fixed point but a minimum of q. With β = 1, y = −1 + t,
 * x = y − a and α = −1 − δ the gap is (a, a − δ − t²), so that q has its minimum δ²/4 at t = 0,
 * a = δ/2. Newton's method refuses it, and it is reported as what it is. */
static void test_slow_point(void **state)
{
    static const double low[2] = {-3, -3};
    static const double high[2] = {2, 2};
    const double delta = 0.02;
    dyn_map *map = dyn_test_named("henon2", "alpha=-1.02", "beta=1", NULL);
    dyn_fixed_points_options o = points_options(1, 20, low, high);
    (void)state;
    o.seeds = DYN_SEEDS_KINETIC;
    dyn_fixed_points f = points_search(map, &o);
    assert_true(f.n_cycles == 0 && f.n_converged == 0);
    assert_int_equal(f.slow.n, 1);
    const dyn_slow_point *p = &f.slow.items[0];
    MAPS_CLOSE(p->q, delta * delta / 4.0, 1e-10);
    MAPS_CLOSE(p->states[0], -1.0 - delta / 2.0, 1e-4);
    MAPS_CLOSE(p->states[1], -1.0, 1e-4);
    assert_true(p->slope <= DYN_KINETIC_FLAT && p->hits > 1 && p->hits <= 20);
    assert_true(p->refusal == KERN_NOT_CONVERGED || p->refusal == KERN_SINGULAR);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

/* Just before the tangency the 3-cycle is missing but its ghost is there; where there are
 * solutions, nothing is called slow that Newton's method can solve. */
static void test_ghost_of_a_cycle(void **state)
{
    static const double low = 0.05;
    static const double high = 0.98;
    dyn_map *map = dyn_test_named("logistic", "r=3.828", NULL, NULL);
    dyn_fixed_points_options o = points_options(3, 30, &low, &high);
    (void)state;
    o.seeds = DYN_SEEDS_KINETIC;
    o.prime = true;
    dyn_fixed_points f = points_search(map, &o);
    assert_int_equal(f.n_cycles, 0);
    bool ghost = false;
    for (size_t i = 0; i < f.slow.n; i++) {
        ghost = ghost || (fabs(f.slow.items[i].states[0] - 0.16) < 1e-3 &&
                          f.slow.items[i].q > 0.0 && f.slow.items[i].q < 1e-6);
    }
    assert_true(ghost);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
    /* A start without an image has no minimum either. */
    static const double beyond[2] = {7, 7};
    map = dyn_test_translation(2, DYN_TEST_FAULT_NAN);
    o = points_options(1, 0, NULL, NULL);
    o.given = beyond;
    o.n_given = 1;
    o.seeds = DYN_SEEDS_KINETIC;
    f = points_search(map, &o);
    assert_true(f.slow.n == 0 && f.failures[KERN_NAN] == 1);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
    map = dyn_test_named("logistic", "r=2.5", NULL, NULL);
    o = points_options(1, 30, &low, &high);
    o.seeds = DYN_SEEDS_KINETIC;
    f = points_search(map, &o);
    assert_true(f.n_cycles >= 1 && f.n_converged == 30 && f.slow.n == 0);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

/* Seeds that are the same points as the uniform ones, one at a time: some lead to a cycle only
 * after descent, and those that do so are more than those that are lost by it. */
static void test_kinetic_seeds_rescue_starts(void **state)
{
    enum { TRIES = 60 };
    static const double low[2] = {-5, -5};
    static const double high[2] = {5, 5};
    dyn_map *map = dyn_test_named("ikeda", "u=0.9", NULL, NULL);
    size_t rescued = 0;
    size_t lost = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= TRIES; seed++) {
        dyn_fixed_points_options o = points_options(3, 1, low, high);
        o.seed = seed;
        dyn_fixed_points plain = points_search(map, &o);
        o.seeds = DYN_SEEDS_KINETIC;
        dyn_fixed_points kinetic = points_search(map, &o);
        rescued += plain.n_converged == 0 && kinetic.n_converged == 1 ? 1U : 0U;
        lost += plain.n_converged == 1 && kinetic.n_converged == 0 ? 1U : 0U;
        dyn_fixed_points_fini(&plain);
        dyn_fixed_points_fini(&kinetic);
    }
    if (!(rescued > 5 && rescued > lost)) {
        fail_msg("%zu starts rescued and %zu lost", rescued, lost);
    }
    dyn_map_destroy(map);
}

/* |∇|g|| at a chain of three states in the plane, by differences. */
static double find_slope(dyn_map *map, const double *states)
{
    const double h = 1e-6;
    double gap[6];
    double x[6];
    double square = 0.0;
    for (size_t i = 0; i < 6; i++) {
        memcpy(x, states, sizeof x);
        x[i] += h;
        const double up = dyn_chain_gap(map, x, 3, gap);
        x[i] -= 2.0 * h;
        const double slope = (up - dyn_chain_gap(map, x, 3, gap)) / (2.0 * h);
        square += slope * slope;
    }
    return sqrt(square);
}

/* Descent by itself, on a map with a vjp and on one without: the slope at the start is that of
 * differences, q falls and is that of the states that are left, and a start without an image has no
 * q. */
static void test_descent(void **state)
{
    (void)state;
    for (int bare = 0; bare < 2; bare++) {
        dyn_map *map =
            bare != 0 ? dyn_test_driven(0.5, 0.4) : dyn_test_named("henon", NULL, NULL, NULL);
        double states[6] = {0.1, 0.2, -0.4, 0.3, 0.5, 0.1};
        double gap[6];
        dyn_kinetic *k = NULL;
        assert_true((map->kind->vjp == NULL) == (bare != 0));
        assert_int_equal(dyn_kinetic_create(&k, map, 3, NULL), KERN_OK);
        const double norm = dyn_chain_gap(map, states, 3, gap);
        dyn_kinetic_result r = dyn_kinetic_descend(k, states, 3, 0);
        assert_true(r.status == KERN_NOT_CONVERGED && r.iterations == 0);
        MAPS_CLOSE(r.q, 0.5 * norm * norm, 1e-15);
        MAPS_CLOSE(r.slope, find_slope(map, states), 1e-8);
        r = dyn_kinetic_descend(k, states, 3, 6);
        assert_true(r.q < 0.25 * norm * norm && r.iterations == 6);
        MAPS_CLOSE(r.q, 0.5 * pow(dyn_chain_gap(map, states, 3, gap), 2), 1e-15);
        MAPS_CLOSE(r.slope, find_slope(map, states), 1e-7);
        states[2] = (double)NAN;
        assert_int_equal(dyn_kinetic_descend(k, states, 3, 5).status, KERN_NAN);
        dyn_kinetic_destroy(k);
        dyn_map_destroy(map);
    }
    dyn_kinetic_destroy(NULL);
}

/* ---- Workers and deflation ---------------------------------------------------------------- */

static void assert_same(const dyn_fixed_points *a, const dyn_fixed_points *b, size_t size)
{
    assert_int_equal(a->n_converged, b->n_converged);
    assert_int_equal(a->n_cycles, b->n_cycles);
    assert_memory_equal(a->failures, b->failures, sizeof a->failures);
    for (size_t i = 0; i < a->n_cycles; i++) {
        assert_int_equal(a->cycles[i].hits, b->cycles[i].hits);
        assert_memory_equal(a->cycles[i].states, b->cycles[i].states,
                            a->cycles[i].period * size * sizeof(double));
        assert_true(a->cycles[i].residual == b->cycles[i].residual);
    }
    assert_int_equal(a->slow.n, b->slow.n);
    for (size_t i = 0; i < a->slow.n; i++) {
        assert_true(a->slow.items[i].q == b->slow.items[i].q);
    }
}

/* More starts than are merged at a time, all kinds of seeds, one worker against three. */
static void test_workers_do_not_matter(void **state)
{
    dyn_map *map = dyn_test_named("henon", NULL, NULL, NULL);
    (void)state;
    for (int seeds = 0; seeds < DYN_SEEDS_COUNT; seeds++) {
        dyn_fixed_points_options o = points_options(7, 600, henon_low, henon_high);
        o.seeds = (dyn_seeds)seeds;
        o.settle = 3;
        dyn_fixed_points one = points_search(map, &o);
        o.workers = 3;
        dyn_fixed_points three = points_search(map, &o);
        assert_same(&one, &three, 2);
        assert_int_equal(one.n_cycles, 6);
        dyn_fixed_points_fini(&one);
        dyn_fixed_points_fini(&three);
    }
    dyn_map_destroy(map);
}

/* Deflation finds from a few starts what a plain search from as many does not. Newton's paths among
 * the roots that are left are sensitive to rounding, hence to the BLAS of the processor: of the 16
 * points of coupled-logistic, some kernels miss one up to 8 starts and none from 10 on; there are
 * as many starts as points. */
static void test_deflated_searches(void **state)
{
    static const struct {
        const char *name, *first, *second;
        double low, high;
        size_t period, starts, cycles;
    } cases[] = {
        {"kopel", "mu=3.5", NULL, 0, 1, 1, 1, 4},
        {"double-well", "eta=0.5", NULL, -2, 2, 1, 1, 3},
        {"cubic", "mu=2", NULL, -2, 2, 1, 1, 3},
        {"cat", NULL, NULL, 0, 1, 3, 1, 6},
        {"coupled-logistic", "n=4", "eps=0.05", 0, 1, 1, 16, 16},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double low[4];
        double high[4];
        dyn_map *map = dyn_test_named(cases[i].name, cases[i].first, cases[i].second, NULL);
        for (size_t j = 0; j < map->size; j++) {
            low[j] = cases[i].low;
            high[j] = cases[i].high;
        }
        dyn_fixed_points_options o = points_options(cases[i].period, cases[i].starts, low, high);
        dyn_fixed_points plain = points_search(map, &o);
        o.deflate = true;
        dyn_fixed_points deflated = points_search(map, &o);
        if (deflated.n_cycles != cases[i].cycles) {
            fail_msg("%s: %zu cycles", cases[i].name, deflated.n_cycles);
        }
        assert_true(plain.n_cycles < deflated.n_cycles);
        for (size_t c = 0; c < deflated.n_cycles; c++) {
            assert_int_equal(deflated.cycles[c].hits, 1);
            assert_true(deflated.cycles[c].residual < 1e-13);
        }
        dyn_fixed_points_fini(&plain);
        dyn_fixed_points_fini(&deflated);
        dyn_map_destroy(map);
    }
}

/* With deflation a search finds at least what it finds without, a continuum of solutions does not
 * keep it for ever, and `prime` leaves out what is shorter. */
static void test_deflation_ends(void **state)
{
    const double identity[4] = {1, 0, 0, 1};
    dyn_map *map = dyn_test_linear(2, identity, 1);
    dyn_fixed_points_options o = points_options(1, 2, henon_low, henon_high);
    (void)state;
    o.deflate = true;
    dyn_fixed_points f = points_search(map, &o);
    assert_true(f.n_cycles >= 2 && f.n_cycles <= 2 * DYN_FIXED_POINTS_REUSES);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
    map = dyn_test_named("logistic", "r=3.9", NULL, NULL);
    static const double low = 0.0;
    static const double high = 1.0;
    o = points_options(4, 10, &low, &high);
    o.prime = true;
    dyn_fixed_points plain = points_search(map, &o);
    o.deflate = true;
    f = points_search(map, &o);
    assert_true(f.n_cycles >= plain.n_cycles && f.n_cycles > 0);
    for (size_t i = 0; i < f.n_cycles; i++) {
        assert_int_equal(f.cycles[i].period, 4);
    }
    dyn_fixed_points_fini(&plain);
    dyn_fixed_points_fini(&f);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sobol),
        cmocka_unit_test(test_sobol_in_many_coordinates),
        cmocka_unit_test(test_strides_tell_cycles_from_points),
        cmocka_unit_test(test_strides_allow_growth),
        cmocka_unit_test(test_slow_point),
        cmocka_unit_test(test_ghost_of_a_cycle),
        cmocka_unit_test(test_kinetic_seeds_rescue_starts),
        cmocka_unit_test(test_descent),
        cmocka_unit_test(test_workers_do_not_matter),
        cmocka_unit_test(test_deflated_searches),
        cmocka_unit_test(test_deflation_ends),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
