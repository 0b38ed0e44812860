/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recurrence plots and their lines: matrices counted by hand, closed forms for cycles and for
 * noise, a chaotic reference, and what must not matter (workers, mirror images, the order of
 * series).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_rqa.h"
#include "kernels/kern_rng.h"
#include "tests/dyn/dyn_test_maps.h"

#include <float.h>
#include <stdlib.h>

/* ---- Plots from matrices ---------------------------------------------------------------------
 */

typedef struct matrix {
    size_t rows, columns;
    const char *text; /* rows × columns of '1' and '.' */
} matrix;

static void read_matrix(const void *context, size_t i, size_t j, size_t di, size_t dj, size_t n,
                        unsigned char *cells)
{
    const matrix *m = context;
    for (size_t k = 0; k < n; k++) {
        assert_true(i + k * di < m->rows && j + k * dj < m->columns);
        cells[k] = m->text[(i + k * di) * m->columns + j + k * dj] == '1';
    }
}

static dyn_plot plot_of(const matrix *m, bool symmetric)
{
    return (dyn_plot){.rows = m->rows,
                      .columns = m->columns,
                      .symmetric = symmetric,
                      .read = read_matrix,
                      .context = m};
}

static dyn_rqa quantify(const dyn_plot *plot, const dyn_rqa_options *o)
{
    dyn_rqa out;
    MAPS_OK(dyn_rqa_init(&out, plot, o, maps_err));
    return out;
}

/* 13 of 48 cells. Diagonal lines, as length × number, those cut by the border in brackets: 1 × 2
 * (and 4), 2 × 1 (and 1), 3 × (1). Vertical lines: 1 × 6 (and 4), 3 × 1. Returns: 2, 2, 3. */
static const matrix by_hand = {6, 8,
                               "...1...."
                               ".....1.1"
                               ".1...11."
                               "..1..1.1"
                               "1......."
                               ".1..1..1"};

static void check_hand(dyn_rqa_border border, const double det[2], double l, size_t lmax,
                       double entr, const double lam[2])
{
    const dyn_plot plot = plot_of(&by_hand, false);
    dyn_rqa_options o = dyn_rqa_options_default();
    o.theiler = 0;
    o.border = border;
    o.trend_margin = 0;
    dyn_rqa q = quantify(&plot, &o);
    assert_true(q.cells == 48 && q.recurrences == 13);
    MAPS_CLOSE(q.rr, 13.0 / 48, 1e-15);
    MAPS_CLOSE(q.diagonal.share, det[0] / det[1], 1e-15);
    MAPS_CLOSE(q.diagonal.mean, l, 1e-15);
    assert_int_equal(q.diagonal.longest, lmax);
    MAPS_CLOSE(q.diagonal.entropy, entr, 1e-15);
    MAPS_CLOSE(q.div, 1.0 / (double)lmax, 1e-15);
    MAPS_CLOSE(q.vertical.share, lam[0] / lam[1], 1e-15);
    MAPS_CLOSE(q.vertical.mean, 3, 1e-15);
    assert_int_equal(q.vertical.longest, 3);
    MAPS_CLOSE(q.vertical.entropy, 0, 1e-15);
    MAPS_CLOSE(q.returns.mean, 7.0 / 3, 1e-15);
    MAPS_CLOSE(q.returns.entropy, log(3) - 2.0 / 3 * log(2), 1e-15);
    assert_true(q.returns.counts[2] == 2 && q.returns.counts[3] == 1 && q.returns.longest == 3);
    /* Rates 0, 3/11, 2/10, 2/8, 5/6, 0 at the distances 0 to 5, whose squares sum to 17.5. */
    MAPS_CLOSE(q.trend, (-1.5 * 3 / 11 - 0.5 * 0.2 + 0.5 * 0.25 + 1.5 * 5 / 6) / 17.5, 1e-15);
    dyn_rqa_fini(&q);
}

static void test_matrix_by_hand(void **state)
{
    const double two_thirds = 2.0 / 3;
    const double mixed = -two_thirds * log(two_thirds) - log(1.0 / 3) / 3;
    (void)state;
    check_hand(DYN_RQA_KEEP, (double[]){7, 13}, 7.0 / 3, 3, mixed, (double[]){3, 13});
    check_hand(DYN_RQA_DROP, (double[]){2, 4}, 2, 2, 0, (double[]){3, 9});
    /* Vertical lines that are cut have length 1. */
    check_hand(DYN_RQA_LONGEST, (double[]){5, 7}, 2.5, 3, log(2), (double[]){3, 10});
}

/* A band of |i − j| < 2 hides 17 cells, 3 of them recurrent, and cuts the column of three. */
static void test_theiler_window(void **state)
{
    const dyn_plot plot = plot_of(&by_hand, false);
    dyn_rqa_options o = dyn_rqa_options_default();
    (void)state;
    o.theiler = 2;
    dyn_rqa q = quantify(&plot, &o);
    assert_true(q.cells == 31 && q.recurrences == 10);
    MAPS_CLOSE(q.diagonal.share, 0.5, 1e-15);
    MAPS_CLOSE(q.diagonal.mean, 2.5, 1e-15);
    MAPS_CLOSE(q.vertical.share, 0.3, 1e-15);
    MAPS_CLOSE(q.returns.mean, 2, 1e-15);
    dyn_rqa_fini(&q);
    o.border = DYN_RQA_DROP;
    q = quantify(&plot, &o);
    assert_true(q.vertical.share == 0 && q.vertical.longest == 0 && isnan(q.vertical.mean));
    assert_true(q.vertical.counts[1] == 4 && isnan(q.vertical.entropy));
    assert_true(q.diagonal.share == 0 && isnan(q.div));
    dyn_rqa_fini(&q);
    o.theiler = 100; /* hides everything */
    q = quantify(&plot, &o);
    assert_true(q.cells == 0 && isnan(q.rr) && isnan(q.diagonal.share) && isnan(q.trend));
    dyn_rqa_fini(&q);
}

static void assert_same_lines(const dyn_rqa_lines *a, const dyn_rqa_lines *b)
{
    assert_int_equal(a->n_counts, b->n_counts);
    assert_memory_equal(a->counts, b->counts, a->n_counts * sizeof *a->counts);
    assert_memory_equal(&a->mean, &b->mean, sizeof a->mean);
    assert_memory_equal(&a->entropy, &b->entropy, sizeof a->entropy);
    assert_true(a->n == b->n && a->longest == b->longest);
}

static void assert_same(const dyn_rqa *a, const dyn_rqa *b)
{
    assert_true(a->cells == b->cells && a->recurrences == b->recurrences);
    assert_memory_equal(&a->trend, &b->trend, sizeof a->trend);
    assert_same_lines(&a->diagonal, &b->diagonal);
    assert_same_lines(&a->vertical, &b->vertical);
    assert_same_lines(&a->returns, &b->returns);
}

/* Draws a matrix with runs, symmetric if asked for. */
static void draw_matrix(char *text, size_t rows, size_t columns, bool symmetric, uint64_t seed)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            const size_t low = symmetric && j < i ? j : i;
            const size_t high = symmetric && j < i ? i : j;
            const uint64_t bits = kern_rng_hash(seed, low * columns + high);
            text[i * columns + j] = bits % 3 == 0 ? '.' : '1';
        }
    }
}

/* A symmetric plot read by half gives what the whole matrix gives, for any number of workers. */
static void test_halves_and_workers(void **state)
{
    char text[31 * 31];
    const matrix m = {31, 31, text};
    (void)state;
    draw_matrix(text, 31, 31, true, 5);
    for (size_t theiler = 0; theiler < 40; theiler += 3) {
        dyn_rqa_options o = dyn_rqa_options_default();
        const dyn_plot half = plot_of(&m, true);
        const dyn_plot whole = plot_of(&m, false);
        o.theiler = theiler;
        o.border = theiler % 2 == 0 ? DYN_RQA_KEEP : DYN_RQA_DROP;
        dyn_rqa a = quantify(&half, &o);
        for (int workers = 1; workers < 100; workers = 3 * workers + 1) {
            o.workers = workers;
            dyn_rqa b = quantify(&whole, &o);
            assert_same(&a, &b);
            dyn_rqa_fini(&b);
            b = quantify(&half, &o);
            assert_same(&a, &b);
            dyn_rqa_fini(&b);
        }
        dyn_rqa_fini(&a);
    }
}

/* A plot on its side: as many cells and diagonal lines, since i − j only changes sign. */
static void test_transposed(void **state)
{
    char text[9 * 20];
    char turned[9 * 20];
    const matrix m = {9, 20, text};
    const matrix t = {20, 9, turned};
    const dyn_plot wide = plot_of(&m, false);
    const dyn_plot tall = plot_of(&t, false);
    (void)state;
    draw_matrix(text, 9, 20, false, 8);
    for (size_t k = 0; k < 9 * 20; k++) {
        turned[(k % 20) * 9 + k / 20] = text[k];
    }
    for (size_t theiler = 0; theiler < 22; theiler++) {
        dyn_rqa_options o = dyn_rqa_options_default();
        o.theiler = theiler;
        o.trend_margin = 2;
        dyn_rqa a = quantify(&wide, &o);
        dyn_rqa b = quantify(&tall, &o);
        assert_true(a.cells == b.cells && a.recurrences == b.recurrences);
        assert_memory_equal(&a.trend, &b.trend, sizeof a.trend);
        assert_same_lines(&a.diagonal, &b.diagonal);
        uint64_t in_columns = 0;
        for (size_t l = 0; l < a.vertical.n_counts; l++) {
            in_columns += l * a.vertical.counts[l];
        }
        assert_true(in_columns == a.recurrences);
        dyn_rqa_fini(&a);
        dyn_rqa_fini(&b);
    }
}

static void test_packed_rows(void **state)
{
    const dyn_plot plot = plot_of(&by_hand, false);
    const matrix narrow = {1, 10, "1.1......1"};
    const dyn_plot odd = plot_of(&narrow, false);
    unsigned char cells[10];
    unsigned char bits[2] = {0xff, 0xff};
    (void)state;
    dyn_plot_pack_row(&plot, 2, cells, bits);
    assert_true(bits[0] == 0x46 && bits[1] == 0xff);
    dyn_plot_pack_row(&odd, 0, cells, bits);
    assert_true(bits[0] == 0xa0 && bits[1] == 0x40);
}

/* ---- Plots of series -------------------------------------------------------------------------
 */

static dyn_rqa quantify_series(const dyn_recurrence *r, const dyn_rqa_options *o)
{
    dyn_plot plot;
    MAPS_OK(dyn_recurrence_plot(&plot, r, maps_err));
    return quantify(&plot, o);
}

/* 100 states of a cycle of 7: the diagonals at distance 7m are full and have 100 − 7m cells. */
static void test_cycle(void **state)
{
    double values[100];
    dyn_rqa_options o = dyn_rqa_options_default();
    (void)state;
    for (size_t k = 0; k < 100; k++) {
        values[k] = (double)(k % 7);
    }
    const dyn_recurrence r = {.rows = {.n = 100, .width = 1, .values = values}, .threshold = 0.5};
    dyn_rqa q = quantify_series(&r, &o);
    assert_true(q.recurrences == 2 * (93 + 2) * 14 / 2 && q.cells == 9900);
    assert_true(q.diagonal.share == 1 && q.diagonal.mean == 47.5 && q.diagonal.longest == 93);
    MAPS_CLOSE(q.diagonal.entropy, log(14), 1e-14);
    assert_true(q.vertical.share == 0 && q.returns.mean == 7 && q.returns.entropy == 0);
    dyn_rqa_fini(&q);
    /* Every line of a cycle is cut; one of them is left, and its mirror image. */
    o.border = DYN_RQA_LONGEST;
    q = quantify_series(&r, &o);
    assert_true(q.diagonal.n == 2 && q.diagonal.mean == 93 && q.diagonal.entropy == 0);
    dyn_rqa_fini(&q);
    o.border = DYN_RQA_DROP;
    q = quantify_series(&r, &o);
    assert_true(isnan(q.diagonal.share) && isnan(q.diagonal.mean) && q.recurrences == 1330);
    dyn_rqa_fini(&q);
}

enum { NOISE = 3000 };

/* Independent points on a circle of circumference 1: p = 2ε of all pairs recur, neighbours along
 * a diagonal and along a column independently of each other, so lengths are geometric. Four
 * standard deviations are allowed: of N²p/2 = 4.5e5 recurrences, 4e4 lines of 2 or more cells with
 * a deviation of 0.35 from their mean, and for shares 2.1 √4e4 / 4.5e5. Vertical lines come from
 * consecutive states that are close, of which there are Np = 300 only: a deviation of 6 %. */
static void test_noise(void **state)
{
    static double values[NOISE];
    static const double one[1] = {1.0};
    const double p = 0.1;
    kern_rng *rng = kern_rng_create(11, "test", 0);
    (void)state;
    for (size_t k = 0; k < NOISE; k++) {
        values[k] = kern_rng_uniform(rng) - (k % 2 == 0 ? 3.0 : 0.0);
    }
    kern_rng_destroy(rng);
    const dyn_recurrence r = {.rows = {.n = NOISE, .width = 1, .values = values, .periods = one},
                              .threshold = p / 2};
    dyn_rqa_options o = dyn_rqa_options_default();
    o.workers = 2;
    dyn_rqa q = quantify_series(&r, &o);
    MAPS_CLOSE(q.rr, p, 6e-3 * p);
    MAPS_CLOSE(q.diagonal.share, 1 - (1 - p) * (1 - p), 4e-3);
    MAPS_CLOSE(q.vertical.share, 1 - (1 - p) * (1 - p), 0.04);
    MAPS_CLOSE(q.diagonal.mean, 1 + 1 / (1 - p), 7e-3);
    MAPS_CLOSE(q.vertical.mean, 1 + 1 / (1 - p), 0.03);
    MAPS_CLOSE(q.diagonal.entropy, -log(1 - p) - p * log(p) / (1 - p), 0.02);
    /* Returns of two steps and more. Band and border cut four of 300 in a column, mostly long ones:
     * a bias of −4/300 of their 10 steps. */
    MAPS_CLOSE(q.returns.mean, 1 + 1 / p - 4.0 / 30, 0.1);
    MAPS_CLOSE(q.trend, 0, 1e-6);
    dyn_rqa_fini(&q);
}

enum { CHAOS = 4000, QUADRATURE = 100000 };

/* Recurrence rate of the invariant density 1/(π √(x(1 − x))) at a threshold: with x = sin²(πu/2)
 * and u uniform, the mean of F(x + ε) − F(x − ε), F = (2/π) asin √x. */
static double rate_of_logistic(double threshold)
{
    const double half_pi = 2 * atan(1);
    double sum = 0;
    for (size_t k = 0; k < QUADRATURE; k++) {
        const double s = sin(half_pi * ((double)k + 0.5) / QUADRATURE);
        const double high = fmin(1, s * s + threshold);
        const double low = fmax(0, s * s - threshold);
        sum += (asin(sqrt(high)) - asin(sqrt(low))) / half_pi;
    }
    return sum / QUADRATURE;
}

/* Chaos, r = 4. The rate follows from the invariant density. The number of diagonal lines of at
 * least l cells falls as e^{−K₂ l}, K₂ = ln 2 the correlation entropy of angle doubling. */
static void test_logistic_chaos(void **state)
{
    static double values[CHAOS];
    dyn_map *map = maps_make("logistic", "r=4");
    double x = 0.37;
    (void)state;
    for (size_t k = 0; k < CHAOS; k++, dyn_map_iterate(map, &x, 1, &x)) {
        values[k] = x;
    }
    dyn_map_destroy(map);
    const dyn_recurrence r = {.rows = {.n = CHAOS, .width = 1, .values = values},
                              .threshold = 0.05};
    dyn_rqa_options o = dyn_rqa_options_default();
    dyn_rqa q = quantify_series(&r, &o);
    MAPS_CLOSE(q.rr, rate_of_logistic(0.05), 2e-3);
    double longer[2] = {0, 0};
    for (size_t l = 0; l < q.diagonal.n_counts; l++) {
        longer[0] += l >= 4 ? (double)q.diagonal.counts[l] : 0;
        longer[1] += l >= 10 ? (double)q.diagonal.counts[l] : 0;
    }
    MAPS_CLOSE(log(longer[0] / longer[1]) / 6, log(2), 0.03);
    dyn_rqa_fini(&q);
}

/* Rows 49 of the public faults: at one setting, cycle and chaos must be told apart. */
static void test_cycle_against_chaos(void **state)
{
    static const struct {
        const char *assignment;
        double most, least; /* of DET */
    } cases[] = {{"r=3.83", 1.0, 0.999}, {"r=4", 0.9, 0.3}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        double values[600];
        dyn_map *map = maps_make("logistic", cases[i].assignment);
        double x = 0.3;
        dyn_map_iterate(map, &x, 5000, &x);
        for (size_t k = 0; k < 600; k++, dyn_map_iterate(map, &x, 1, &x)) {
            values[k] = x;
        }
        dyn_map_destroy(map);
        const dyn_recurrence r = {.rows = {.n = 600, .width = 1, .values = values},
                                  .threshold = 0.01};
        dyn_rqa_options o = dyn_rqa_options_default();
        dyn_rqa q = quantify_series(&r, &o);
        assert_true(q.diagonal.share <= cases[i].most && q.diagonal.share >= cases[i].least);
        assert_true(i == 0 ? q.diagonal.longest > 590 : q.diagonal.longest < 60);
        dyn_rqa_fini(&q);
    }
}

/* ---- Distances and thresholds ----------------------------------------------------------------
 */

static void test_distances(void **state)
{
    const double a[] = {0.1, 5.0, 0.9, 1.0, 7.4, -3.0};
    static const double periods[] = {1.0, 0.0};
    dyn_recurrence r = {.rows = {.n = 3, .width = 2, .values = a, .periods = periods}};
    (void)state;
    MAPS_CLOSE(dyn_recurrence_distance(&r, 0, 1), 4, 1e-15);
    MAPS_CLOSE(dyn_recurrence_distance(&r, 0, 2), 8, 1e-15);
    r.norm = DYN_NORM_EUCLID;
    MAPS_CLOSE(dyn_recurrence_distance(&r, 0, 1), sqrt(0.04 + 16), 1e-15);
    MAPS_CLOSE(dyn_recurrence_distance(&r, 2, 0), sqrt(0.09 + 64), 1e-14);
    r.columns = (dyn_recurrence_series){.n = 1, .width = 2, .values = a + 2, .periods = periods};
    MAPS_CLOSE(dyn_recurrence_distance(&r, 1, 0), 0, 0);
    assert_int_equal(dyn_norm_find("euclid"), DYN_NORM_EUCLID);
    assert_int_equal(dyn_norm_find("manhattan"), DYN_NORM_COUNT);
    assert_string_equal(dyn_norm_word(DYN_NORM_MAX), "max");
    assert_int_equal(dyn_rqa_border_find("longest"), DYN_RQA_LONGEST);
    assert_string_equal(dyn_rqa_border_word(DYN_RQA_DROP), "drop");
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { SOME = 40 };

static void check_threshold(dyn_recurrence *r, double rate, size_t theiler, int workers)
{
    double all[SOME * SOME];
    size_t n = 0;
    const size_t columns = r->columns.values != NULL ? r->columns.n : r->rows.n;
    for (size_t i = 0; i < r->rows.n; i++) {
        for (size_t j = 0; j < columns; j++) {
            if ((i > j ? i - j : j - i) >= theiler) {
                all[n++] = dyn_recurrence_distance(r, i, j);
            }
        }
    }
    qsort(all, n, sizeof *all, compare);
    const dyn_recurrence_fit fit = {.rate = rate, .theiler = theiler, .workers = workers};
    MAPS_OK(dyn_recurrence_fit_threshold(r, &fit, maps_err));
    const size_t rank = (size_t)ceil(rate * (double)n);
    /* States are themselves, where the window lets them: such distances are raised above rounding.
     */
    assert_true(r->at_rounding == (all[rank - 1] == 0.0));
    assert_true(r->at_rounding ? r->threshold < 1e-10 : r->threshold == all[rank - 1]);
}

/* A 2-cycle that rounding moves about: at any rate up to a half the same pairs recur, all those of
 * equal states, and every diagonal line runs to its end. */
static void test_rate_of_a_cycle(void **state)
{
    double values[SOME];
    const dyn_norm norms[] = {DYN_NORM_MAX, DYN_NORM_EUCLID};
    (void)state;
    for (size_t t = 0; t < SOME; t++) {
        const double wander = (double)(kern_rng_hash(5, t) % 64) * DBL_EPSILON;
        values[t] = (t % 2 == 0 ? 0.5 : 0.8) + wander;
    }
    for (size_t i = 0; i < 4; i++) {
        const dyn_recurrence_fit fit = {.rate = i % 2 == 0 ? 0.05 : 0.4, .theiler = 1};
        dyn_recurrence r = {.rows = {.n = SOME, .width = 1, .values = values},
                            .norm = norms[i / 2]};
        const dyn_rqa_options o = dyn_rqa_options_default();
        dyn_plot plot;
        MAPS_OK(dyn_recurrence_fit_threshold(&r, &fit, maps_err));
        assert_true(r.at_rounding && r.threshold > 1e-13 && r.threshold < 1e-11);
        MAPS_OK(dyn_recurrence_plot(&plot, &r, maps_err));
        dyn_rqa q = quantify(&plot, &o);
        MAPS_CLOSE(q.rr, (double)(SOME / 2 - 1) / (double)(SOME - 1), 1e-15);
        MAPS_CLOSE(q.diagonal.share, 1.0, 0.0);
        assert_int_equal(q.diagonal.longest, SOME - 2);
        dyn_rqa_fini(&q);
    }
}

/* The selected distance against sorting all of them; the rate is reached, and not by less. */
static void test_threshold_for_a_rate(void **state)
{
    double values[SOME * 3];
    double others[SOME * 3];
    (void)state;
    for (size_t k = 0; k < SOME * 3; k++) {
        values[k] = ldexp((double)kern_rng_hash(3, k), -64 + (int)(k % 5));
        others[k] = ldexp((double)kern_rng_hash(4, k), -64);
    }
    for (size_t theiler = 0; theiler < 20; theiler += 5) {
        for (double rate = 0.01; rate <= 1; rate += 0.11) {
            dyn_recurrence r = {.rows = {.n = SOME, .width = 3, .values = values}};
            check_threshold(&r, rate, theiler, 1);
            check_threshold(&r, rate, theiler, 3);
            r.norm = DYN_NORM_EUCLID;
            r.columns = (dyn_recurrence_series){.n = SOME / 2, .width = 3, .values = others};
            check_threshold(&r, rate, theiler, 2);
            check_threshold(&r, 1, theiler, 1);
        }
    }
}

/* ---- Embedding, refusals and stopping --------------------------------------------------------
 */

static void test_embedding(void **state)
{
    const double values[] = {0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15, 6, 16};
    static const double periods[] = {0.0, 20.0};
    const dyn_recurrence_series series = {.n = 7, .width = 2, .values = values, .periods = periods};
    dyn_recurrence_series out;
    double *block = NULL;
    (void)state;
    MAPS_OK(dyn_recurrence_embed(&out, &block, &series, 1, 3, 2, maps_err));
    assert_true(out.n == 3 && out.width == 3 && out.values == block);
    for (size_t t = 0; t < 3; t++) {
        for (size_t c = 0; c < 3; c++) {
            assert_true(out.values[3 * t + c] == 10.0 + (double)(t + 2 * c));
            assert_true(out.periods[c] == 20.0);
        }
    }
    free(block);
    MAPS_OK(dyn_recurrence_embed(&out, &block, &series, 0, 1, 9, maps_err));
    assert_true(out.n == 7 && out.width == 1 && out.values[6] == 6 && out.periods == NULL);
    free(block);
}

static bool stop_at_once(void *context, size_t done, size_t total)
{
    (void)total;
    *(size_t *)context = done;
    return false;
}

static void test_refusals(void **state)
{
    const double values[] = {0, 1, (double)NAN, 3};
    dyn_recurrence_fit fit = {.theiler = 1, .workers = 2};
    dyn_recurrence r = {.rows = {.n = 4, .width = 1, .values = values}, .threshold = -1};
    dyn_plot plot;
    dyn_rqa q;
    dyn_recurrence_series out;
    double *block = NULL;
    kern_error err = {0};
    (void)state;
    assert_int_not_equal(dyn_recurrence_plot(&plot, &r, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "threshold of a recurrence plot is -1");
    r.threshold = (double)NAN;
    assert_int_not_equal(dyn_recurrence_plot(&plot, &r, &err), KERN_OK);
    assert_int_not_equal(dyn_recurrence_fit_threshold(&r, &fit, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "rate is 0");
    fit.rate = 0.5;
    fit.theiler = 4;
    assert_int_not_equal(dyn_recurrence_fit_threshold(&r, &fit, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "leaves no pair");
    /* 6 of the 12 pairs have a distance that is a number. */
    fit.rate = 0.51;
    fit.theiler = 1;
    assert_int_not_equal(dyn_recurrence_fit_threshold(&r, &fit, &err), KERN_OK);
    maps_error(&err, KERN_NAN, "not finite");
    fit.rate = 0.5;
    MAPS_OK(dyn_recurrence_fit_threshold(&r, &fit, maps_err));
    assert_true(r.threshold == 3);
    MAPS_OK(dyn_recurrence_plot(&plot, &r, maps_err));
    dyn_rqa_options o = dyn_rqa_options_default();
    q = quantify(&plot, &o);
    assert_true(q.recurrences == 6);
    dyn_rqa_fini(&q);
    o.lmin = 0;
    assert_int_not_equal(dyn_rqa_init(&q, &plot, &o, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "shortest lines");
    size_t seen = 0;
    o.lmin = 2;
    o.progress = stop_at_once;
    o.context = &seen;
    assert_int_equal(dyn_rqa_init(&q, &plot, &o, &err), KERN_INTERRUPTED);
    assert_true(seen == 1 && q.diagonal.counts == NULL);
    fit.workers = 1; /* which then is the one that reports */
    fit.progress = stop_at_once;
    fit.context = &seen;
    assert_int_equal(dyn_recurrence_fit_threshold(&r, &fit, &err), KERN_INTERRUPTED);
    assert_int_not_equal(dyn_recurrence_embed(&out, &block, &r.rows, 0, 5, 1, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "give no vector");
    assert_int_not_equal(dyn_recurrence_embed(&out, &block, &r.rows, 1, 2, 1, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "no coordinate 1");
    r.columns = (dyn_recurrence_series){.n = 2, .width = 2, .values = values};
    assert_int_not_equal(dyn_recurrence_plot(&plot, &r, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "one space");
    r.rows.n = 0;
    assert_int_not_equal(dyn_recurrence_plot(&plot, &r, &err), KERN_OK);
    maps_error(&err, KERN_INVALID_ARGUMENT, "empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_by_hand),
        cmocka_unit_test(test_theiler_window),
        cmocka_unit_test(test_halves_and_workers),
        cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_packed_rows),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_logistic_chaos),
        cmocka_unit_test(test_cycle_against_chaos),
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_threshold_for_a_rate),
        cmocka_unit_test(test_embedding),
        cmocka_unit_test(test_rate_of_a_cycle),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
