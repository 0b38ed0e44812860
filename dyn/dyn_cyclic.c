/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_cyclic.h"

#include "kernels/kern_arena.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct dyn_cyclic {
    size_t size, period, border;
    size_t n;     /* period · size */
    size_t width; /* of a tableau: δ_k, δ_{k+1}, δ_0, e, right-hand side */
    kern_arena arena;
    double *blocks;  /* period × size × size */
    double *columns; /* n × border */
    double *rows;    /* border × (n + border) */
    /* Of every eliminated δ_k, k = 1 … p − 1: R δ_k + S δ_{k+1} + T δ_0 + E e = f, with R upper
     * triangular; size × width each. */
    double *kept;
    double *tableau; /* 2 size × width */
    double *reduced; /* border × (n + border + 1): the rows while δ_k are substituted */
    double *dense;   /* (size + border)² */
    double *last;    /* size + border */
    double *weights; /* size */
    int *pivots;
};

/* ---- Making ------------------------------------------------------------------------------- */

static kern_status allocate(dyn_cyclic *c, kern_error *err)
{
    const size_t s = c->size;
    const size_t m = c->border;
    const size_t dense = s + m;
    size_t blocks;
    size_t kept;
    if (!kern_size_mul(c->n, s, &blocks) || !kern_size_mul(c->n, c->width, &kept) ||
        kept > SIZE_MAX / 64) {
        return kern_raise(err, KERN_OVERFLOW, "a cycle of %zu states of %zu numbers is too large",
                          c->period, s);
    }
    const size_t counts[] = {
        blocks, c->n * m, m * (c->n + m), kept, 2 * s * c->width, m * (c->n + m + 1), dense * dense,
        dense,  s};
    double **const places[] = {&c->blocks,  &c->columns, &c->rows, &c->kept,   &c->tableau,
                               &c->reduced, &c->dense,   &c->last, &c->weights};
    size_t total = kern_arena_cost(dense, sizeof(int));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        total += kern_arena_cost(counts[i], sizeof(double));
    }
    KERN_TRY(kern_arena_init(&c->arena, total, err));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        *places[i] = kern_arena_calloc(&c->arena, counts[i], sizeof(double));
    }
    c->pivots = kern_arena_alloc(&c->arena, dense, sizeof(int));
    return KERN_OK;
}

kern_status dyn_cyclic_create(dyn_cyclic **out, size_t size, size_t period, size_t border,
                              kern_error *err)
{
    size_t n;
    *out = NULL;
    if (size == 0 || period == 0 || border == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a cycle of %zu states of %zu numbers with %zu more unknowns is not "
                          "accepted, each must be at least 1",
                          period, size, border);
    }
    if (!kern_size_mul(size, period, &n)) {
        return kern_raise(err, KERN_OVERFLOW, "a cycle of %zu states of %zu numbers is too large",
                          period, size);
    }
    dyn_cyclic *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a cycle of %zu states", period);
    }
    *c = (dyn_cyclic){
        .size = size, .period = period, .border = border, .n = n, .width = 3 * size + border + 1};
    const kern_status status = allocate(c, err);
    if (status != KERN_OK) {
        free(c);
        return status;
    }
    *out = c;
    return KERN_OK;
}

void dyn_cyclic_destroy(dyn_cyclic *c)
{
    if (c != NULL) {
        kern_arena_fini(&c->arena);
        free(c);
    }
}

double *dyn_cyclic_block(dyn_cyclic *c, size_t i)
{
    return c->blocks + i * c->size * c->size;
}

double *dyn_cyclic_columns(dyn_cyclic *c)
{
    return c->columns;
}

double *dyn_cyclic_rows(dyn_cyclic *c)
{
    return c->rows;
}

/* ---- Elimination -------------------------------------------------------------------------- */

/* Block row i into `rows` of the tableau (size × width): A_i before δ_at, −1 before δ_{i+1}, then
 * C_i and b_i. `at` and `next` are the first columns of these places. */
static void load_row(const dyn_cyclic *c, size_t i, const double *b, size_t at, size_t next,
                     double *rows)
{
    const size_t s = c->size;
    const double *block = c->blocks + i * s * s;
    memset(rows, 0, s * c->width * sizeof *rows);
    for (size_t r = 0; r < s; r++) {
        double *row = rows + r * c->width;
        memcpy(row + at, block + r * s, s * sizeof *row);
        row[next + r] -= 1.0;
        memcpy(row + 3 * s, c->columns + (i * s + r) * c->border, c->border * sizeof *row);
        row[c->width - 1] = b[i * s + r];
    }
}

/* Householder reflection that clears column j below row j of the tableau. */
static void reflect(const dyn_cyclic *c, size_t j)
{
    const size_t width = c->width;
    double *t = c->tableau;
    double sum = 0.0;
    for (size_t r = j; r < 2 * c->size; r++) {
        sum += t[r * width + j] * t[r * width + j];
    }
    const double head = t[j * width + j];
    const double length = head > 0.0 ? -sqrt(sum) : sqrt(sum);
    if (length == 0.0) {
        return; /* R has a zero here, which the substitution reports */
    }
    t[j * width + j] = head - length;
    const double half = length * (length - head); /* half the squared length of the reflector */
    for (size_t k = j + 1; k < width; k++) {
        double product = 0.0;
        for (size_t r = j; r < 2 * c->size; r++) {
            product += t[r * width + j] * t[r * width + k];
        }
        product /= half;
        for (size_t r = j; r < 2 * c->size; r++) {
            t[r * width + k] -= product * t[r * width + j];
        }
    }
    t[j * width + j] = length;
    for (size_t r = j + 1; r < 2 * c->size; r++) {
        t[r * width + j] = 0.0;
    }
}

/* After this the upper half of the tableau holds what is left: P δ_p + Q δ_0 + E e = f, P before
 * the columns of δ_k. */
static void eliminate(dyn_cyclic *c, const double *b)
{
    const size_t s = c->size;
    const size_t half = s * c->width;
    double *upper = c->tableau;
    double *lower = c->tableau + half;
    load_row(c, 0, b, 2 * s, 0, upper);
    for (size_t k = 1; k < c->period; k++) {
        load_row(c, k, b, 0, s, lower);
        for (size_t j = 0; j < s; j++) {
            reflect(c, j);
        }
        memcpy(c->kept + k * half, upper, half * sizeof *upper);
        /* What is left relates δ_{k+1} to δ_0: it moves to the place of the next δ_k. */
        for (size_t r = 0; r < s; r++) {
            const double *from = lower + r * c->width;
            double *to = upper + r * c->width;
            memcpy(to, from + s, s * sizeof *to);
            memset(to + s, 0, s * sizeof *to);
            memcpy(to + 2 * s, from + 2 * s, (c->width - 2 * s) * sizeof *to);
        }
    }
}

/* weights = row R⁻¹, R upper triangular in the first columns of `kept`. */
static void divide_row(const dyn_cyclic *c, const double *kept, const double *row)
{
    for (size_t j = 0; j < c->size; j++) {
        double sum = row[j];
        for (size_t i = 0; i < j; i++) {
            sum -= c->weights[i] * kept[i * c->width + j];
        }
        c->weights[j] = sum / kept[j * c->width + j];
    }
}

/* Substitutes every δ_k, k ≥ 1, in the border's rows, which then speak of δ_0 and e alone. */
static void reduce_rows(dyn_cyclic *c, double closing, const double *b)
{
    const size_t s = c->size;
    const size_t m = c->border;
    const size_t length = c->n + m + 1;
    for (size_t j = 0; j < m; j++) {
        double *row = c->reduced + j * length;
        memcpy(row, c->rows + j * (c->n + m), (c->n + m) * sizeof *row);
        row[length - 1] = b[c->n + j];
        for (size_t k = 1; k < c->period; k++) {
            const double *kept = c->kept + k * s * c->width;
            const bool final = k + 1 == c->period;
            double *next = final ? row : row + (k + 1) * s;
            divide_row(c, kept, row + k * s);
            for (size_t i = 0; i < s; i++) {
                const double w = c->weights[i];
                const double *from = kept + i * c->width;
                for (size_t l = 0; l < s; l++) {
                    next[l] -= w * (final ? closing : 1.0) * from[s + l];
                    row[l] -= w * from[2 * s + l];
                }
                for (size_t l = 0; l <= m; l++) {
                    row[c->n + l] -= w * from[3 * s + l];
                }
            }
        }
    }
}

/* Solves for δ_0 and e. */
static kern_status solve_dense(dyn_cyclic *c, double closing)
{
    const size_t s = c->size;
    const size_t m = c->border;
    const size_t order = s + m;
    for (size_t r = 0; r < s; r++) {
        const double *from = c->tableau + r * c->width;
        double *to = c->dense + r * order;
        for (size_t l = 0; l < s; l++) {
            to[l] = closing * from[l] + from[2 * s + l];
        }
        memcpy(to + s, from + 3 * s, m * sizeof *to);
        c->last[r] = from[c->width - 1];
    }
    for (size_t j = 0; j < m; j++) {
        const double *row = c->reduced + j * (c->n + m + 1);
        double *to = c->dense + (s + j) * order;
        memcpy(to, row, s * sizeof *to);
        memcpy(to + s, row + c->n, m * sizeof *to);
        c->last[s + j] = row[c->n + m];
    }
    KERN_TRY(kern_lapack_lu(order, c->dense, c->pivots, NULL, NULL));
    return kern_lapack_lu_solve(order, c->dense, c->pivots, c->last, NULL);
}

/* δ_k from δ_{k+1}, δ_0 and e, in place of b. */
static void substitute_back(dyn_cyclic *c, double closing, double *b)
{
    const size_t s = c->size;
    const size_t m = c->border;
    memcpy(b, c->last, s * sizeof *b);
    memcpy(b + c->n, c->last + s, m * sizeof *b);
    for (size_t k = c->period - 1; k > 0; k--) {
        const double *kept = c->kept + k * s * c->width;
        const bool final = k + 1 == c->period;
        const double *next = final ? b : b + (k + 1) * s;
        const double factor = final ? closing : 1.0;
        double *out = b + k * s;
        for (size_t i = s; i-- > 0;) {
            const double *row = kept + i * c->width;
            double sum = row[c->width - 1];
            for (size_t l = 0; l < s; l++) {
                sum -= factor * row[s + l] * next[l] + row[2 * s + l] * b[l];
            }
            for (size_t l = 0; l < m; l++) {
                sum -= row[3 * s + l] * b[c->n + l];
            }
            for (size_t l = i + 1; l < s; l++) {
                sum -= row[l] * out[l];
            }
            out[i] = sum / row[i];
        }
    }
}

kern_status dyn_cyclic_solve(dyn_cyclic *c, double closing, double *b)
{
    eliminate(c, b);
    reduce_rows(c, closing, b);
    KERN_TRY(solve_dense(c, closing));
    substitute_back(c, closing, b);
    for (size_t i = 0; i < c->n + c->border; i++) {
        if (!isfinite(b[i])) {
            return KERN_SINGULAR;
        }
    }
    return KERN_OK;
}
