/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A few multipliers from products alone: operators of known spectrum, copies and hidden ones, maps
 * with blocks, and what goes wrong.
 */
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_multipliers.h"
#include "dyn/dyn_spectrum.h"
#include "kernels/kern_blas.h"
#include "tests/dyn/dyn_fault_maps.h"

#include <stdio.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

/* Normal operators: values are as right as residuals, 2e-12 of the norm. */
#define NORMAL_TOL 1e-11

static dyn_spectrum compute(dyn_map *map, const double *states, const dyn_spectrum_options *o)
{
    dyn_spectrum out;
    kern_error err = {0};
    if (dyn_spectrum_init(&out, map, states, o, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return out;
}

static dyn_spectrum_options arnoldi(size_t k, dyn_spectrum_which which)
{
    dyn_spectrum_options o = dyn_spectrum_options_default();
    o.k = k;
    o.which = which;
    o.method = DYN_SPECTRUM_ARNOLDI;
    return o;
}

/* All that were asked for, all confirmed. */
static void assert_complete(const dyn_spectrum *s)
{
    assert_int_equal(s->status, KERN_OK);
    for (size_t i = 0; i < s->n_parts; i++) {
        const dyn_spectrum_part *part = &s->parts[i];
        assert_int_equal(part->status, KERN_OK);
        assert_true(part->n >= part->n_requested && part->n <= part->n_requested + 2);
        assert_int_equal(part->n_confirmed, part->n);
        for (size_t j = 0; j < part->n; j++) {
            assert_true(part->confirmed[j]);
        }
    }
}

/* ---- Linear maps -------------------------------------------------------------------------- */

/* Q D Qᵀ with D given by real numbers on the diagonal and rotations, b above and −b below for a
 * pair a ± ib, and Q = I − 2uuᵀ. */
static dyn_map *make_normal(size_t n, const double *re, const double *im)
{
    double *matrix = calloc(n * n, sizeof *matrix);
    double *u = calloc(n, sizeof *u);
    double length = 0.0;
    assert_non_null(matrix);
    assert_non_null(u);
    for (size_t i = 0; i < n; i++) {
        matrix[i * n + i] = re[i];
        if (im[i] > 0.0) {
            matrix[i * n + i + 1] = im[i];
            matrix[(i + 1) * n + i] = -im[i];
        }
    }
    dyn_test_fill(u, n, 11);
    for (size_t i = 0; i < n; i++) {
        length = hypot(length, u[i]);
    }
    for (size_t side = 0; side < 2; side++) {
        const size_t along = side == 0 ? n : 1;
        const size_t across = side == 0 ? 1 : n;
        for (size_t j = 0; j < n; j++) {
            double dot = 0.0;
            for (size_t i = 0; i < n; i++) {
                dot += u[i] / length * matrix[i * along + j * across];
            }
            for (size_t i = 0; i < n; i++) {
                matrix[i * along + j * across] -= 2.0 * dot * u[i] / length;
            }
        }
    }
    dyn_map *map = dyn_test_linear(n, matrix, 1);
    free(u);
    free(matrix);
    return map;
}

enum { WIDE = 400 };

/* 400 multipliers: −0.99, −0.97 and 0.98 … apart from a cloud of radius 0.9, and a pair of modulus
 * 0.985. */
static dyn_map *make_wide(void)
{
    static double re[WIDE];
    static double im[WIDE];
    static const double leading[8] = {-0.99, -0.97, 0.98, 0.96, 0.6895, 0.6895, 0.95, -0.94};
    dyn_test_fill(re, WIDE, 3);
    for (size_t i = 0; i < WIDE; i++) {
        re[i] = i < 8 ? leading[i] : 0.9 * re[i];
        im[i] = 0.0;
    }
    im[4] = sqrt(0.985 * 0.985 - 0.6895 * 0.6895);
    return make_normal(WIDE, re, im);
}

static void test_wide(void **state)
{
    static const struct {
        dyn_spectrum_which which;
        size_t k, n;
        double re[6];
    } cases[] = {{DYN_SPECTRUM_MODULUS, 4, 4, {-0.99, 0.6895, 0.6895, 0.98}},
                 {DYN_SPECTRUM_MODULUS, 2, 3, {-0.99, 0.6895, 0.6895}},
                 {DYN_SPECTRUM_NEAR_PLUS_ONE, 3, 3, {0.98, 0.96, 0.95}},
                 {DYN_SPECTRUM_NEAR_MINUS_ONE, 3, 3, {-0.99, -0.97, -0.94}},
                 {DYN_SPECTRUM_BOTH_ENDS, 3, 6, {0.98, 0.96, 0.95, -0.99, -0.97, -0.94}}};
    dyn_map *map = make_wide();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dyn_spectrum_options o = arnoldi(cases[i].k, cases[i].which);
        o.vectors = true;
        dyn_spectrum s = compute(map, map->start, &o);
        const dyn_spectrum_part *part = &s.parts[0];
        assert_complete(&s);
        assert_true(s.n_parts == 1 && part->method == DYN_SPECTRUM_ARNOLDI);
        assert_int_equal(part->n, cases[i].n);
        for (size_t j = 0; j < part->n; j++) {
            MAPS_CLOSE(part->re[j], cases[i].re[j], NORMAL_TOL);
            assert_true(part->residuals[j] <= 2e-12);
            assert_true((part->im[j] != 0.0) == (cases[i].re[j] == 0.6895));
        }
        assert_true(part->products > part->runs * 20 && part->n_late == 0);
        /* ‖J‖₂ is 0.99. */
        assert_true(part->scale > 0.9 && part->scale < 0.99 + 1e-12);
        dyn_spectrum_fini(&s);
    }
    dyn_map_destroy(map);
}

/* A start without the leading eigenvector: the first run is blind to it, the check is not. The
 * eigenvector of D's first coordinate is e_1 where Q is the identity. */
static void test_hidden(void **state)
{
    enum { N = 200 };
    static double matrix[N * N];
    static double start[N];
    dyn_spectrum_options o = arnoldi(3, DYN_SPECTRUM_MODULUS);
    (void)state;
    dyn_test_fill(start, N, 5);
    for (size_t i = 0; i < N; i++) {
        matrix[i * N + i] = 1.0 - 0.004 * (double)i;
    }
    start[0] = 0.0;
    dyn_map *map = dyn_test_linear(N, matrix, 1);
    o.start = start;
    dyn_spectrum s = compute(map, map->start, &o);
    assert_complete(&s);
    MAPS_CLOSE(s.parts[0].re[0], 1.0, NORMAL_TOL);
    MAPS_CLOSE(s.parts[0].re[1], 0.996, NORMAL_TOL);
    MAPS_CLOSE(s.parts[0].re[2], 0.992, NORMAL_TOL);
    assert_int_equal(s.parts[0].n_late, 1);
    assert_int_equal(s.parts[0].runs, 3);
    dyn_spectrum_fini(&s);
    /* Two runs find it and have none left to confirm it. */
    o.max_runs = 2;
    s = compute(map, map->start, &o);
    assert_int_equal(s.status, KERN_NOT_CONVERGED);
    assert_int_equal(s.parts[0].n, 3);
    assert_int_equal(s.parts[0].n_confirmed, 2);
    assert_true(!s.parts[0].confirmed[0] && s.parts[0].confirmed[1]);
    dyn_spectrum_fini(&s);
    dyn_map_destroy(map);
}

/* Four copies of a real eigenvalue, and of a complex pair. A Krylov space contains one of each; the
 * others come in by rounding, which a loose tolerance leaves no time for, and then by other starts.
 */
static void test_copies(void **state)
{
    enum { N = 150 };
    static double re[N];
    static double im[N];
    /* The error of a value of a normal operator is the square of its residual over the distance to
     * the next, here 0.03. */
    static const struct {
        double tol, merge, right;
    } cases[] = {{0.0, 1e-6, NORMAL_TOL}, {1e-6, 5e-3, 1e-9}};
    (void)state;
    for (size_t i = 0; i < N; i++) {
        re[i] = i < 4 ? -0.95 : (i < 12 ? 0.7 : 0.85 - 0.01 * (double)i);
        im[i] = i >= 4 && i < 12 && i % 2 == 0 ? 0.6 : 0.0;
    }
    dyn_map *map = make_normal(N, re, im);
    for (size_t i = 0; i < 2; i++) {
        dyn_spectrum_options o = arnoldi(12, DYN_SPECTRUM_MODULUS);
        o.space = 40;
        o.tol = cases[i].tol;
        o.merge = cases[i].merge;
        dyn_spectrum s = compute(map, map->start, &o);
        const dyn_spectrum_part *part = &s.parts[0];
        assert_complete(&s);
        assert_int_equal(part->n, 12);
        for (size_t j = 0; j < 4; j++) {
            MAPS_CLOSE(part->re[j], -0.95, cases[i].right);
            MAPS_CLOSE(part->re[4 + 2 * j], 0.7, cases[i].right);
            MAPS_CLOSE(part->im[4 + 2 * j], 0.6, cases[i].right);
            MAPS_CLOSE(part->im[5 + 2 * j], -0.6, cases[i].right);
        }
        assert_true(i == 0 || (part->n_late > 0 && part->runs > 2));
        dyn_spectrum_fini(&s);
    }
    /* More copies than are wanted: those wanted are there. */
    dyn_spectrum_options o = arnoldi(2, DYN_SPECTRUM_NEAR_MINUS_ONE);
    dyn_spectrum s = compute(map, map->start, &o);
    assert_complete(&s);
    assert_int_equal(s.parts[0].n, 2);
    MAPS_CLOSE(s.parts[0].re[1], -0.95, NORMAL_TOL);
    dyn_spectrum_fini(&s);
    dyn_map_destroy(map);
}

/* Operators with one value: every vector is an eigenvector, and Krylov spaces have one dimension.
 */
static void test_multiples_of_identity(void **state)
{
    enum { N = 60 };
    static double matrix[N * N];
    (void)state;
    for (size_t value = 0; value < 2; value++) {
        for (size_t i = 0; i < N; i++) {
            matrix[i * N + i] = (double)value;
        }
        dyn_map *map = dyn_test_linear(N, matrix, 1);
        dyn_spectrum_options o = arnoldi(5, DYN_SPECTRUM_MODULUS);
        dyn_spectrum s = compute(map, map->start, &o);
        assert_complete(&s);
        for (size_t j = 0; j < s.parts[0].n; j++) {
            MAPS_CLOSE(hypot(s.parts[0].re[j], s.parts[0].im[j]), (double)value, 1e-13);
        }
        dyn_spectrum_fini(&s);
        /* Both ends are one. */
        o.which = DYN_SPECTRUM_BOTH_ENDS;
        s = compute(map, map->start, &o);
        assert_int_equal(s.status, KERN_OK);
        assert_true(s.parts[0].n == 5 || s.parts[0].n == 6);
        dyn_spectrum_fini(&s);
        dyn_map_destroy(map);
    }
}

/* ---- Rings and norms ---------------------------------------------------------------------- */

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The synchronised state of a ring of n logistic maps has f'(x*)^p (1 − ε(1 − cos 2πj/n))^p along a
 * cycle of period p: all but one or two in pairs. */
static void check_ring(size_t n, double r, size_t period, const double *cycle, double slope)
{
    char assignment[32];
    char parameter[32];
    double *states = calloc(period * n, sizeof *states);
    double *expected = calloc(n, sizeof *expected);
    const double eps = 0.4;
    (void)snprintf(assignment, sizeof assignment, "n=%zu", n);
    (void)snprintf(parameter, sizeof parameter, "r=%.17g", r);
    dyn_map *map = dyn_test_named("coupled-logistic", parameter, "eps=0.4", assignment);
    assert_non_null(states);
    assert_non_null(expected);
    for (size_t i = 0; i < n; i++) {
        for (size_t t = 0; t < period; t++) {
            states[t * n + i] = cycle[t];
        }
        const double coupling = 1.0 - eps * (1.0 - cos(2.0 * PI * (double)i / (double)n));
        expected[i] = fabs(slope * pow(coupling, (double)period));
    }
    qsort(expected, n, sizeof *expected, descending);
    dyn_spectrum_options o = arnoldi(7, DYN_SPECTRUM_MODULUS);
    o.period = period;
    dyn_spectrum s = compute(map, states, &o);
    const dyn_spectrum_part *part = &s.parts[0];
    assert_complete(&s);
    assert_int_equal(part->n, 7);
    for (size_t j = 0; j < 7; j++) {
        MAPS_CLOSE(part->re[j], copysign(expected[j], slope), 1e-10);
        assert_true(part->im[j] == 0.0 && part->residuals[j] < 1e-11);
    }
    dyn_spectrum_fini(&s);
    free(expected);
    free(states);
    dyn_map_destroy(map);
}

static void test_rings(void **state)
{
    const double r = 3.2;
    const double point[1] = {1.0 - 1.0 / r};
    const double root = sqrt((r - 3.0) * (r + 1.0));
    const double pair[2] = {(r + 1.0 + root) / (2.0 * r), (r + 1.0 - root) / (2.0 * r)};
    (void)state;
    check_ring(64, r, 1, point, 2.0 - r);
    check_ring(128, r, 1, point, 2.0 - r);
    check_ring(256, r, 1, point, 2.0 - r);
    check_ring(64, r, 2, pair, 4.0 + 2.0 * r - r * r);
}

/* Values that lie in the dense spectrum, in its order. */
static void compare_to_dense(dyn_map *map, const double *x, const dyn_spectrum_options *o,
                             double tolerance)
{
    dyn_spectrum_options dense = *o;
    dense.method = DYN_SPECTRUM_DENSE;
    dyn_spectrum a = compute(map, x, o);
    dyn_spectrum b = compute(map, x, &dense);
    assert_complete(&a);
    assert_complete(&b);
    assert_int_equal(a.n_parts, b.n_parts);
    for (size_t i = 0; i < a.n_parts; i++) {
        assert_int_equal(a.parts[i].n, b.parts[i].n);
        assert_true(a.parts[i].method == DYN_SPECTRUM_ARNOLDI);
        assert_true(b.parts[i].method == DYN_SPECTRUM_DENSE);
        for (size_t j = 0; j < a.parts[i].n; j++) {
            MAPS_CLOSE(a.parts[i].re[j], b.parts[i].re[j], tolerance);
            MAPS_CLOSE(a.parts[i].im[j], b.parts[i].im[j], tolerance);
        }
    }
    dyn_spectrum_fini(&a);
    dyn_spectrum_fini(&b);
}

/* W times a projection: not normal, with a real spectrum. */
static void test_layernorm(void **state)
{
    dyn_map *map = dyn_test_named("layernorm-power", "eta=0.3", "seed=4", "n=80");
    (void)state;
    for (int which = 0; which < DYN_SPECTRUM_WHICH_COUNT; which++) {
        const dyn_spectrum_options o = arnoldi(5, (dyn_spectrum_which)which);
        compare_to_dense(map, map->start, &o, 1e-10);
    }
    dyn_map_destroy(map);
}

/* ---- Blocks ------------------------------------------------------------------------------- */

enum { BLOCKS = 3, BLOCK_WIDTH = 40, BLOCKS_SIZE = BLOCKS * BLOCK_WIDTH };

/* Blocks of random entries that shrink from one block to the next, with strong coupling below the
 * diagonal. */
static dyn_map *make_blocks(double coupling)
{
    static double matrix[BLOCKS_SIZE * BLOCKS_SIZE];
    dyn_test_fill(matrix, BLOCKS_SIZE * BLOCKS_SIZE, 8);
    for (size_t i = 0; i < BLOCKS_SIZE; i++) {
        for (size_t j = 0; j < BLOCKS_SIZE; j++) {
            const size_t row = i / BLOCK_WIDTH;
            const size_t column = j / BLOCK_WIDTH;
            const double size = row == column ? 0.25 / (double)(row + 1) : coupling;
            matrix[i * BLOCKS_SIZE + j] *= column > row ? 0.0 : size;
        }
    }
    return dyn_test_linear(BLOCKS_SIZE, matrix, BLOCKS);
}

static void test_blocks(void **state)
{
    dyn_map *map = make_blocks(1e4);
    (void)state;
    for (int which = 0; which < DYN_SPECTRUM_WHICH_COUNT; which++) {
        const dyn_spectrum_options o = arnoldi(4, (dyn_spectrum_which)which);
        compare_to_dense(map, map->start, &o, 1e-10);
    }
    /* One block alone has the bits that it has among all. */
    dyn_spectrum_options o = arnoldi(4, DYN_SPECTRUM_MODULUS);
    dyn_spectrum all = compute(map, map->start, &o);
    o.block = 2;
    dyn_spectrum one = compute(map, map->start, &o);
    assert_true(all.n_parts == BLOCKS && one.n_parts == 1 && one.parts[0].block == 2);
    assert_memory_equal(all.parts[2].re, one.parts[0].re, one.parts[0].n * sizeof(double));
    dyn_spectrum_fini(&one);
    dyn_spectrum_fini(&all);
    dyn_map_destroy(map);
}

/* The leading ones of all blocks together, found among the blocks' own; the whole has them too, to
 * the digits that its coupling leaves. */
static void test_union_and_whole(void **state)
{
    static const struct {
        dyn_spectrum_scope scope;
        double tolerance;
    } cases[] = {{DYN_SPECTRUM_UNION, 1e-10}, {DYN_SPECTRUM_WHOLE, 1e-9}};
    dyn_map *map = make_blocks(0.5);
    dyn_spectrum_options o = arnoldi(6, DYN_SPECTRUM_MODULUS);
    (void)state;
    dyn_spectrum blocks = compute(map, map->start, &o);
    for (size_t i = 0; i < 2; i++) {
        o.scope = cases[i].scope;
        dyn_spectrum s = compute(map, map->start, &o);
        assert_complete(&s);
        assert_true(s.n_parts == 1 && s.parts[0].size == BLOCKS_SIZE);
        for (size_t j = 0; j < s.parts[0].n; j++) {
            double nearest = (double)INFINITY;
            for (size_t b = 0; b < BLOCKS; b++) {
                const dyn_spectrum_part *part = &blocks.parts[b];
                for (size_t l = 0; l < part->n; l++) {
                    nearest = fmin(nearest, hypot(part->re[l] - s.parts[0].re[j],
                                                  part->im[l] - s.parts[0].im[j]));
                }
            }
            MAPS_CLOSE(nearest, 0.0, cases[i].tolerance);
        }
        MAPS_CLOSE(hypot(s.parts[0].re[0], s.parts[0].im[0]),
                   hypot(blocks.parts[0].re[0], blocks.parts[0].im[0]), cases[i].tolerance);
        dyn_spectrum_fini(&s);
    }
    dyn_spectrum_fini(&blocks);
    dyn_map_destroy(map);
}

/* ---- Choice of method, vectors ------------------------------------------------------------ */

static void test_auto(void **state)
{
    dyn_map *narrow = dyn_test_named("henon", NULL, NULL, NULL);
    dyn_spectrum_options o = dyn_spectrum_options_default();
    (void)state;
    o.k = 2;
    o.vectors = true;
    const double point[2] = {0.631354477089505, 0.189406343126851};
    dyn_spectrum s = compute(narrow, point, &o);
    assert_complete(&s);
    assert_true(s.parts[0].method == DYN_SPECTRUM_DENSE && s.parts[0].n == 2);
    MAPS_CLOSE(s.parts[0].re[0], -1.923738858153409, 1e-12);
    MAPS_CLOSE(s.parts[0].re[1], 0.155946322302793, 1e-12);
    /* (μ, b) up to length, since the second row of the Jacobian is (b, 0). */
    MAPS_CLOSE(s.parts[0].vectors[0] / s.parts[0].vectors[1], s.parts[0].re[0] / 0.3, 1e-11);
    dyn_spectrum_fini(&s);
    dyn_map_destroy(narrow);
    /* m = 2 (20 + 10 · 19) products, of which a column and its share of the decomposition are two.
     */
    assert_int_equal(dyn_spectrum_dense_width(1, DYN_SPECTRUM_MODULUS, 1), 210);
    assert_int_equal(dyn_spectrum_dense_width(1, DYN_SPECTRUM_BOTH_ENDS, 1), 420);
    assert_int_equal(dyn_spectrum_dense_width(1, DYN_SPECTRUM_MODULUS, 3), 630);
    assert_int_equal(dyn_spectrum_dense_width(1, DYN_SPECTRUM_MODULUS, 64), 1024);
    assert_int_equal(dyn_spectrum_dense_width(SIZE_MAX, DYN_SPECTRUM_MODULUS, 1), 1024);
    dyn_map *wide = make_wide();
    o.k = 1;
    s = compute(wide, wide->start, &o);
    assert_int_equal(s.parts[0].method, DYN_SPECTRUM_ARNOLDI);
    dyn_spectrum_fini(&s);
    o.which = DYN_SPECTRUM_BOTH_ENDS;
    s = compute(wide, wide->start, &o);
    assert_int_equal(s.parts[0].method, DYN_SPECTRUM_DENSE);
    dyn_spectrum_fini(&s);
    dyn_map_destroy(wide);
}

/* ---- Outcomes ----------------------------------------------------------------------------- */

static void test_not_finite(void **state)
{
    static double beyond[30] = {6.0};
    dyn_map *map = dyn_test_translation(30, DYN_TEST_FAULT_TANGENT);
    (void)state;
    for (int method = DYN_SPECTRUM_DENSE; method <= DYN_SPECTRUM_ARNOLDI; method++) {
        dyn_spectrum_options o = arnoldi(3, DYN_SPECTRUM_BOTH_ENDS);
        o.method = (dyn_spectrum_method)method;
        dyn_spectrum s = compute(map, beyond, &o);
        assert_int_equal(s.status, KERN_NAN);
        assert_true(s.parts[0].status == KERN_NAN && s.parts[0].n == 0);
        assert_int_equal(s.parts[0].n_confirmed, 0);
        dyn_spectrum_fini(&s);
    }
    dyn_map_destroy(map);
}

/* Too little work: fewer than were asked for, and what there is is right. A Krylov space that may
 * grow finds all with the same number of restarts. */
static void test_not_converged(void **state)
{
    enum { N = 300 };
    static double matrix[N * N];
    dyn_spectrum_options o = arnoldi(8, DYN_SPECTRUM_NEAR_PLUS_ONE);
    (void)state;
    for (size_t i = 0; i < N; i++) {
        matrix[i * N + i] = 1.0 - 0.003 * (double)i;
    }
    dyn_map *map = dyn_test_linear(N, matrix, 1);
    o.max_restarts = 2;
    o.space = 20;
    dyn_spectrum s = compute(map, map->start, &o);
    assert_int_equal(s.status, KERN_NOT_CONVERGED);
    assert_true(s.parts[0].n < 8 && s.parts[0].n_requested == 8);
    assert_true(s.parts[0].n_confirmed <= s.parts[0].n);
    for (size_t j = 0; j < s.parts[0].n; j++) {
        const double place = (1.0 - s.parts[0].re[j]) / 0.003;
        MAPS_CLOSE(place, round(place), 1e-8);
    }
    dyn_spectrum_fini(&s);
    o.space = 0;
    s = compute(map, map->start, &o);
    assert_complete(&s);
    for (size_t j = 0; j < 8; j++) {
        MAPS_CLOSE(s.parts[0].re[j], 1.0 - 0.003 * (double)j, NORMAL_TOL);
    }
    dyn_spectrum_fini(&s);
    dyn_map_destroy(map);
}

/* Triangular operators, 0.95, 0.941, … on the diagonal and random numbers of some size above it.
 * Small ones cost some digits. Large ones make vectors of residual 1e-14 for numbers beyond the
 * circle that are no multipliers; every run finds others, so none is confirmed. */
static void test_sensitive(void **state)
{
    enum { N = 100 };
    static double matrix[N * N];
    static const double sizes[2] = {0.15, 1.2};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        dyn_test_fill(matrix, N * N, 4);
        for (size_t row = 0; row < N; row++) {
            for (size_t column = 0; column <= row; column++) {
                matrix[row * N + column] = column < row ? 0.0 : 0.95 - 0.009 * (double)row;
            }
            for (size_t column = row + 1; column < N; column++) {
                matrix[row * N + column] *= sizes[i];
            }
        }
        dyn_map *map = dyn_test_linear(N, matrix, 1);
        const dyn_spectrum_options o = arnoldi(4, DYN_SPECTRUM_MODULUS);
        dyn_spectrum s = compute(map, map->start, &o);
        const dyn_spectrum_part *part = &s.parts[0];
        assert_int_equal(s.status, i == 0 ? KERN_OK : KERN_NOT_CONVERGED);
        assert_int_equal(part->n_confirmed, i == 0 ? 4 : 0);
        assert_true(part->n >= 4);
        for (size_t j = 0; j < part->n; j++) {
            assert_true(part->residuals[j] <= 2e-12 * part->scale);
            assert_true(i == 1 || fabs(part->re[j] - 0.95 + 0.009 * (double)j) < 1e-8);
        }
        assert_true(i == 0 || hypot(part->re[0], part->im[0]) > 1.0);
        dyn_spectrum_fini(&s);
        dyn_map_destroy(map);
    }
}

static void assert_refused(dyn_map *map, const dyn_spectrum_options *o, const char *part)
{
    dyn_spectrum s;
    kern_error err = {0};
    assert_int_equal(dyn_spectrum_init(&s, map, map->start, o, &err), KERN_INVALID_ARGUMENT);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
    }
    dyn_spectrum_fini(&s);
}

/* Stops at the tenth product. */
static bool stop_early(void *context, size_t done, size_t total)
{
    size_t *calls = context;
    return done < total && ++*calls < 10;
}

static void test_refused(void **state)
{
    dyn_map *map = make_blocks(1.0);
    dyn_spectrum s;
    size_t calls = 0;
    (void)state;
    dyn_spectrum_options o = arnoldi(41, DYN_SPECTRUM_MODULUS);
    assert_refused(map, &o, "41 multipliers were asked for, accepted is 1 to 40");
    o.k = 39;
    assert_refused(map, &o, "39 of 40 multipliers were asked for");
    o.k = 0;
    assert_refused(map, &o, "accepted is 1 to 40");
    o = arnoldi(3, DYN_SPECTRUM_MODULUS);
    o.block = 3;
    assert_refused(map, &o, "block 3 is not one of the map's 3");
    o.block = DYN_MULTIPLIERS_ALL;
    o.scope = DYN_SPECTRUM_WHOLE;
    o.method = DYN_SPECTRUM_DENSE;
    assert_refused(map, &o, "scope whole accepts arnoldi");
    o = arnoldi(3, DYN_SPECTRUM_MODULUS);
    o.merge = 1e-13;
    assert_refused(map, &o, "merging distance 1e-13");
    o = arnoldi(3, DYN_SPECTRUM_MODULUS);
    o.space = 4;
    assert_refused(map, &o, "accepted is 5 to 40");
    o = arnoldi(3, DYN_SPECTRUM_MODULUS);
    o.period = 0;
    assert_refused(map, &o, "1 state or more");
    o = arnoldi(3, DYN_SPECTRUM_MODULUS);
    o.progress = stop_early;
    o.context = &calls;
    assert_int_equal(dyn_spectrum_init(&s, map, map->start, &o, NULL), KERN_INTERRUPTED);
    assert_int_equal(calls, 10);
    dyn_spectrum_fini(&s);
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest exact[] = {
        cmocka_unit_test(test_wide),   cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_copies), cmocka_unit_test(test_multiples_of_identity),
        cmocka_unit_test(test_rings),  cmocka_unit_test(test_layernorm),
    };
    const struct CMUnitTest structure[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_union_and_whole),
        cmocka_unit_test(test_auto),
    };
    const struct CMUnitTest outcomes[] = {
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_not_converged),
        cmocka_unit_test(test_sensitive),
        cmocka_unit_test(test_refused),
    };
    kern_runtime_init();
    int failed = cmocka_run_group_tests(exact, NULL, NULL);
    failed += cmocka_run_group_tests(structure, NULL, NULL);
    failed += cmocka_run_group_tests(outcomes, NULL, NULL);
    return failed;
}
