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
    SCRATCH = 4,    /* point, tangent, sum of an expansion, one term of it */
    DIRECTIONS = 3, /* of the highest derivative */
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
    double *term;    /* of a complex expansion */
    double *rows[2]; /* of the table: LEVELS vectors each */
    double *part[PARTS];
};

/* A difference quotient: B(a, c), or C(a, b, c) unless b is NULL, at x. */
typedef struct quotient {
    const double *x, *a, *b, *c;
} quotient;

/* ---- Workspace ---------------------------------------------------------------------------- */

kern_status dyn_multilinear_create(dyn_multilinear **out, dyn_map *map, size_t period,
                                   kern_error *err)
{
    const size_t vectors = SCRATCH + 2 * LEVELS + PARTS;
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
                            2 * kern_arena_cost(row, sizeof(double)),
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
    m->rows[0] = kern_arena_alloc(&m->arena, row, sizeof *m->rows[0]);
    m->rows[1] = kern_arena_alloc(&m->arena, row, sizeof *m->rows[1]);
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

/* ---- Differences -------------------------------------------------------------------------- */

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

/* sum += weight · J(x + s a + t b) c. Returns the largest entry of the product. */
static double add_product(dyn_multilinear *m, const quotient *q, double s, double t, double weight)
{
    const size_t n = m->map->size;
    for (size_t i = 0; i < n; i++) {
        m->point[i] = q->x[i] + s * q->a[i] + (q->b != NULL ? t * q->b[i] : 0.0);
    }
    dyn_multilinear_first(m, m->point, q->c, m->point, m->tangent);
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

void dyn_multilinear_second(dyn_multilinear *m, const double *x, const double *a, const double *b,
                            double *out)
{
    const quotient q = {.x = x, .a = a, .c = b};
    take_derivative(m, &q, out);
}

void dyn_multilinear_third(dyn_multilinear *m, const double *x, const double *a, const double *b,
                           const double *c, double *out)
{
    const quotient q = {.x = x, .a = a, .b = b, .c = c};
    take_derivative(m, &q, out);
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
        const quotient q = {
            .x = x, .a = d[0], .b = count == DIRECTIONS ? d[1] : NULL, .c = d[count - 1]};
        take_derivative(m, &q, m->term);
        error += m->error;
        for (size_t k = 0; k < m->map->size; k++) {
            const double term = m->term[k];
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
