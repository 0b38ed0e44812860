/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_multilinear.h"

#include "kernels/kern_arena.h"
#include "kernels/kern_size.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEVELS = 14,    /* widths tried, each half of the one before */
    PARTS = 6,      /* real and imaginary parts of three directions */
    SCRATCH = 6,    /* point, tangent, sum, term, value, state */
    DIRECTIONS = 3, /* of the highest derivative */
    JET_ROWS = 11,  /* three directions, three pairs, one triple, errors of the last four */
    GAINS = 4       /* of one step to three pairs and one triple */
};

/* Widest displacement, relative to max(1, |x|). */
#define WIDEST 0.125

/* Relative noise of a product by the Jacobian: rounding, or the error of a difference quotient. */
#define NOISE_EXACT       DBL_EPSILON
#define NOISE_APPROXIMATE 1e-10

/* An estimated error of this many times the noise is not improved on, since the noise at least
 * doubles with every level. */
#define NOISY 4.0

/* Growth of the estimated error at which narrower widths are given up, and how good the best entry
 * must be for that; before that the widest widths may simply lie outside of where the table
 * converges. */
#define GIVE_UP 8.0
#define TRUSTED 1e-3

struct dyn_multilinear {
    dyn_map *map;
    size_t period;
    double error;
    double noise; /* of the quotient taken last */
    kern_arena arena;
    double *point;   /* where a product is taken */
    double *tangent; /* the product */
    double *sum;     /* of the products that make up a difference */
    double *term;    /* what a step adds to a derivative */
    double *value;   /* one term of a complex expansion */
    double *rows[2]; /* of the table: LEVELS vectors each */
    double *part[PARTS];
    double *state; /* of a jet */
    double *jet;   /* its rows */
    double *gains;
};

/* A difference quotient: B(a, c), or C(a, b, c) unless b is NULL, at x. */
typedef struct quotient {
    const double *x, *a, *b, *c;
} quotient;

/* ---- Workspace ---------------------------------------------------------------------------- */

kern_status dyn_multilinear_create(dyn_multilinear **out, dyn_map *map, size_t period,
                                   kern_error *err)
{
    const size_t vectors = SCRATCH + 2 * LEVELS + PARTS + JET_ROWS + GAINS;
    size_t table;
    *out = NULL;
    if (period == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "derivatives of iterate 0 are not defined, accepted is 1 or more");
    }
    if (!kern_size_mul(map->size, vectors * sizeof(double), &table)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu coordinates are too many for derivatives",
                          map->size);
    }
    dyn_multilinear *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the derivatives of a map");
    }
    const size_t n = map->size;
    const size_t row = LEVELS * n;
    const kern_status status =
        kern_arena_init(&m->arena,
                        (SCRATCH + PARTS) * kern_arena_cost(n, sizeof(double)) +
                            2 * kern_arena_cost(row, sizeof(double)) +
                            kern_arena_cost(JET_ROWS * n, sizeof(double)) +
                            kern_arena_cost(GAINS * n, sizeof(double)),
                        err);
    if (status != KERN_OK) {
        free(m);
        return status;
    }
    m->map = map;
    m->period = period;
    m->point = kern_arena_alloc(&m->arena, n, sizeof *m->point);
    m->tangent = kern_arena_alloc(&m->arena, n, sizeof *m->tangent);
    m->sum = kern_arena_alloc(&m->arena, n, sizeof *m->sum);
    m->term = kern_arena_alloc(&m->arena, n, sizeof *m->term);
    m->value = kern_arena_alloc(&m->arena, n, sizeof *m->value);
    m->rows[0] = kern_arena_alloc(&m->arena, row, sizeof *m->rows[0]);
    m->rows[1] = kern_arena_alloc(&m->arena, row, sizeof *m->rows[1]);
    m->state = kern_arena_alloc(&m->arena, n, sizeof *m->state);
    m->jet = kern_arena_alloc(&m->arena, JET_ROWS * n, sizeof *m->jet);
    m->gains = kern_arena_alloc(&m->arena, GAINS * n, sizeof *m->gains);
    for (size_t i = 0; i < PARTS; i++) {
        m->part[i] = kern_arena_alloc(&m->arena, n, sizeof *m->part[i]);
    }
    *out = m;
    return KERN_OK;
}

void dyn_multilinear_destroy(dyn_multilinear *m)
{
    if (m != NULL) {
        kern_arena_fini(&m->arena);
        free(m);
    }
}

double dyn_multilinear_error(const dyn_multilinear *m)
{
    return m->error;
}

/* Largest magnitude, keeping NaN. */
static double find_largest(const double *v, size_t n)
{
    double largest = 0.0;
    for (size_t i = 0; i < n && !isnan(largest); i++) {
        if (!(fabs(v[i]) <= largest)) {
            largest = fabs(v[i]);
        }
    }
    return largest;
}

/* Largest difference, keeping NaN. */
static double find_gap(const double *v, const double *w, size_t n)
{
    double largest = 0.0;
    for (size_t i = 0; i < n && !isnan(largest); i++) {
        const double gap = fabs(v[i] - w[i]);
        if (!(gap <= largest)) {
            largest = gap;
        }
    }
    return largest;
}

/* ---- One step ------------------------------------------------------------------------------ */

/* sum += weight · J(x + s a + t b) c. Returns the largest entry of the product. */
static double add_product(dyn_multilinear *m, const quotient *q, double s, double t, double weight)
{
    const size_t n = m->map->size;
    for (size_t i = 0; i < n; i++) {
        m->point[i] = q->x[i] + s * q->a[i] + (q->b != NULL ? t * q->b[i] : 0.0);
    }
    m->map->kind->jvp(m->map, m->point, q->c, NULL, m->tangent);
    for (size_t i = 0; i < n; i++) {
        m->sum[i] += weight * m->tangent[i];
    }
    return find_largest(m->tangent, n);
}

/* The quotient with displacements s·a and t·b into `out`, and its noise. */
static void take_quotient(dyn_multilinear *m, const quotient *q, double s, double t, double *out)
{
    const double divisor = q->b == NULL ? 2.0 * s : 4.0 * s * t;
    double products;
    memset(m->sum, 0, m->map->size * sizeof *m->sum);
    if (q->b == NULL) {
        products = add_product(m, q, s, 0.0, 1.0);
        products += add_product(m, q, -s, 0.0, -1.0);
    } else {
        products = add_product(m, q, s, t, 1.0);
        products += add_product(m, q, s, -t, -1.0);
        products += add_product(m, q, -s, t, -1.0);
        products += add_product(m, q, -s, -t, 1.0);
    }
    m->noise = (m->map->approximate_jvp ? NOISE_APPROXIMATE : NOISE_EXACT) * products / divisor;
    for (size_t i = 0; i < m->map->size; i++) {
        out[i] = m->sum[i] / divisor;
    }
}

/* Completes row `level` of a table whose first entry is there and whose row before is `above`: its
 * entry j removes errors of order h^{2j}. The entry with the smallest estimated error so far goes
 * to `out`. Returns the smallest estimate of this row. */
static double extrapolate_row(dyn_multilinear *m, size_t level, double *out)
{
    const size_t n = m->map->size;
    double *row = m->rows[level % 2];
    const double *above = m->rows[(level + 1) % 2];
    double factor = 1.0;
    double least = (double)INFINITY;
    for (size_t j = 1; j <= level; j++) {
        double *entry = row + j * n;
        const double *left = entry - n;
        const double *corner = above + (j - 1) * n;
        factor *= 4.0;
        for (size_t i = 0; i < n; i++) {
            entry[i] = left[i] + (left[i] - corner[i]) / (factor - 1.0);
        }
        /* Without the noise, entries that agree by chance would look exact. */
        const double estimate =
            fmax(find_gap(entry, left, n), find_gap(entry, corner, n)) + m->noise;
        least = fmin(least, estimate);
        if (estimate < m->error) {
            m->error = estimate;
            memcpy(out, entry, n * sizeof *out);
        }
    }
    return least;
}

/* True when narrower widths would not help any more; `least` is of the last row. */
static bool is_settled(const dyn_multilinear *m, double least, const double *out)
{
    const double size = find_largest(out, m->map->size);
    return m->error <= NOISY * m->noise ||
           (m->error <= TRUSTED * size && least > GIVE_UP * m->error);
}

/* The limit of the quotient, with displacements that begin at s and t. */
static void take_limit(dyn_multilinear *m, const quotient *q, double s, double t, double *out)
{
    const size_t n = m->map->size;
    size_t level = 0;
    m->error = (double)INFINITY;
    for (size_t k = 0; k < LEVELS; k++, s *= 0.5, t *= 0.5) {
        double *row = m->rows[level % 2];
        take_quotient(m, q, s, t, row);
        if (!isfinite(find_largest(row, n))) {
            /* Outside of the map's domain, where it overflows, or beyond: begin the table again. */
            level = 0;
            continue;
        }
        const double least = extrapolate_row(m, level, out);
        if (level > 0 && is_settled(m, least, out)) {
            break;
        }
        level++;
    }
    if (!isfinite(m->error)) {
        m->error = (double)NAN;
        for (size_t i = 0; i < n; i++) {
            out[i] = (double)NAN;
        }
    }
}

/* Widest displacement along `direction`; 0 for the null vector. */
static double find_width(const dyn_multilinear *m, const double *x, const double *direction)
{
    const double length = find_largest(direction, m->map->size);
    return length == 0.0 ? 0.0 : WIDEST * fmax(1.0, find_largest(x, m->map->size)) / length;
}

static void take_derivative(dyn_multilinear *m, const quotient *q, double *out)
{
    const double s = find_width(m, q->x, q->a);
    const double t = q->b != NULL ? find_width(m, q->x, q->b) : 1.0;
    if (s == 0.0 || t == 0.0) {
        m->error = 0.0;
        memset(out, 0, m->map->size * sizeof *out);
        return;
    }
    take_limit(m, q, s, t, out);
}

/* ---- Iterates ----------------------------------------------------------------------------- */

void dyn_multilinear_first(dyn_multilinear *m, const double *x, const double *v, double *y,
                           double *jv)
{
    const size_t n = m->map->size;
    double *at = y != NULL ? y : m->term;
    if (at != x) {
        memcpy(at, x, n * sizeof *at);
    }
    if (jv != v) {
        memcpy(jv, v, n * sizeof *jv);
    }
    for (size_t i = 0; i < m->period; i++) {
        m->map->kind->jvp(m->map, at, jv, at, jv);
    }
}

/* The jet of an iterate: images of the directions d_0, d_1, …, derivatives in pairs of them (pair i
 * is the one without d_i), in all three, and errors of these. Two directions need one pair only,
 * and so do three that are alike: those rows come first. */
enum { PAIR = 2, TRIPLE = 3, PAIR_ROWS = 4 };

static double *jet_direction(const dyn_multilinear *m, size_t i)
{
    static const size_t rows[DIRECTIONS] = {0, 1, 4};
    return m->jet + rows[i] * m->map->size;
}

static double *jet_derivative(const dyn_multilinear *m, size_t i)
{
    static const size_t rows[GAINS] = {5, 6, 2, 7};
    return m->jet + rows[i] * m->map->size;
}

static double *jet_error(const dyn_multilinear *m, size_t i)
{
    static const size_t rows[GAINS] = {8, 9, 3, 10};
    return m->jet + rows[i] * m->map->size;
}

/* Adds `times` the second derivative of one step in directions u and v to gain i; `carried` is the
 * relative error of v. Returns the error of what was added. */
static double add_second(dyn_multilinear *m, double times, const double *u, const double *v,
                         double carried, size_t i)
{
    const size_t n = m->map->size;
    const quotient q = {.x = m->state, .a = u, .c = v};
    take_derivative(m, &q, m->term);
    for (size_t k = 0; k < n; k++) {
        m->gains[i * n + k] += times * m->term[k];
    }
    return times * (m->error + carried * find_largest(m->term, n));
}

/* What a step adds to the derivative in all three directions, from pairs `first` on, each of them
 * `times`. Returns its error. */
static double add_third(dyn_multilinear *m, size_t first, double times)
{
    const size_t n = m->map->size;
    double *gain = m->gains + TRIPLE * n;
    const quotient q = {.x = m->state,
                        .a = jet_direction(m, 0),
                        .b = jet_direction(m, 1),
                        .c = jet_direction(m, 2)};
    take_derivative(m, &q, gain);
    double error = m->error;
    for (size_t i = first; i < DIRECTIONS; i++) {
        const double *pair = jet_derivative(m, i);
        const double size = find_largest(pair, n);
        const double carried = size == 0.0 ? 0.0 : find_largest(jet_error(m, i), n) / size;
        error += add_second(m, times, jet_direction(m, i), pair, carried, TRIPLE);
    }
    return error;
}

/* Derivative i after the step, of which `error` is that of the gain: errors are taken to add up. */
static void add_gain(dyn_multilinear *m, size_t i, double error)
{
    const size_t n = m->map->size;
    const double noise = m->map->approximate_jvp ? NOISE_APPROXIMATE : NOISE_EXACT;
    double *row = jet_derivative(m, i);
    double *errors = jet_error(m, i);
    for (size_t k = 0; k < n; k++) {
        row[k] += m->gains[i * n + k];
    }
    const double added = error + noise * find_largest(row, n);
    for (size_t k = 0; k < n; k++) {
        errors[k] += copysign(added, errors[k]);
    }
}

/* One step of a jet of `count` directions: these by the Jacobian, derivatives by the chain rule. */
static void step_jet(dyn_multilinear *m, size_t count, bool alike)
{
    const size_t first = count == DIRECTIONS && !alike ? 0 : PAIR;
    double error[GAINS] = {0.0};
    memset(m->gains, 0, GAINS * m->map->size * sizeof *m->gains);
    for (size_t i = first; i < DIRECTIONS; i++) {
        const double *u = jet_direction(m, i == 0 ? 1 : 0);
        const double *v = jet_direction(m, i == 2 ? 1 : 2);
        error[i] = add_second(m, 1.0, u, v, 0.0, i);
    }
    if (count == DIRECTIONS) {
        error[TRIPLE] = add_third(m, first, alike ? 3.0 : 1.0);
    }
    dyn_map_jvp_many(m->map, m->state, count == DIRECTIONS ? JET_ROWS : PAIR_ROWS, m->jet, m->state,
                     m->jet);
    for (size_t i = first; i < GAINS; i++) {
        add_gain(m, i, error[i]);
    }
}

/* The derivative of the iterate in `count` directions, two or three, and m->error. */
static void take_iterate(dyn_multilinear *m, const double *x, const double *const *d, size_t count,
                         double *out)
{
    const size_t n = m->map->size;
    const size_t wanted = count == DIRECTIONS ? TRIPLE : PAIR;
    const bool alike = count == DIRECTIONS && d[0] == d[1] && d[1] == d[2];
    if (m->period == 1) {
        const quotient q = {
            .x = x, .a = d[0], .b = count == DIRECTIONS ? d[1] : NULL, .c = d[count - 1]};
        take_derivative(m, &q, out);
        return;
    }
    memset(m->jet, 0, JET_ROWS * n * sizeof *m->jet);
    memcpy(m->state, x, n * sizeof *m->state);
    for (size_t i = 0; i < count; i++) {
        memcpy(jet_direction(m, i), d[i], n * sizeof *m->jet);
    }
    for (size_t i = 0; i < m->period; i++) {
        step_jet(m, count, alike);
    }
    memcpy(out, jet_derivative(m, wanted), n * sizeof *out);
    m->error = find_largest(jet_error(m, wanted), n);
}

void dyn_multilinear_second(dyn_multilinear *m, const double *x, const double *a, const double *b,
                            double *out)
{
    const double *const d[] = {a, b};
    take_iterate(m, x, d, 2, out);
}

void dyn_multilinear_third(dyn_multilinear *m, const double *x, const double *a, const double *b,
                           const double *c, double *out)
{
    const double *const d[] = {a, b, c};
    take_iterate(m, x, d, DIRECTIONS, out);
}

/* ---- Complex directions ------------------------------------------------------------------- */

/* Parts 2i and 2i + 1 become the real and the imaginary part of direction i. */
static void split(dyn_multilinear *m, size_t i, const double complex *v)
{
    for (size_t k = 0; k < m->map->size; k++) {
        m->part[2 * i][k] = creal(v[k]);
        m->part[2 * i + 1][k] = cimag(v[k]);
    }
}

/* Sum over all choices of one part from each of `count` directions, with a factor i for every
 * imaginary part. */
static void expand(dyn_multilinear *m, const double *x, size_t count, double complex *out)
{
    static const double real_of[] = {1.0, 0.0, -1.0, 0.0};
    static const double imag_of[] = {0.0, 1.0, 0.0, -1.0};
    double error = 0.0;
    for (size_t k = 0; k < m->map->size; k++) {
        out[k] = 0.0;
    }
    for (size_t choice = 0; choice < ((size_t)1 << count); choice++) {
        const double *d[DIRECTIONS] = {NULL};
        size_t imaginary = 0;
        for (size_t i = 0; i < count; i++) {
            const size_t bit = choice >> i & 1U;
            d[i] = m->part[2 * i + bit];
            imaginary += bit;
        }
        take_iterate(m, x, d, count, m->value);
        error += m->error;
        for (size_t k = 0; k < m->map->size; k++) {
            const double term = m->value[k];
            out[k] += real_of[imaginary] * term + imag_of[imaginary] * term * (double complex)I;
        }
    }
    m->error = error;
}

void dyn_multilinear_second_complex(dyn_multilinear *m, const double *x, const double complex *a,
                                    const double complex *b, double complex *out)
{
    split(m, 0, a);
    split(m, 1, b);
    expand(m, x, 2, out);
}

void dyn_multilinear_third_complex(dyn_multilinear *m, const double *x, const double complex *a,
                                   const double complex *b, const double complex *c,
                                   double complex *out)
{
    split(m, 0, a);
    split(m, 1, b);
    split(m, 2, c);
    expand(m, x, DIRECTIONS, out);
}
