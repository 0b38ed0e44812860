/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_border.h"

#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Solutions from which a null space is found. The first has the error of the random borders in
 * proportion to how far T is from singular; every other one multiplies it by that distance. */
enum { ROUNDS = 3 };

/* Numbers in [−1, 1) of a fixed sequence. */
static void draw(double *values, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = (double)(kern_rng_hash(seed, i) >> 11) * 0x1p-52 - 1.0;
    }
}

static kern_status make_orthonormal(dyn_border *border, double *rows)
{
    double r[DYN_BORDER_MAX * DYN_BORDER_MAX];
    return kern_lapack_orthonormalise(border->n, border->rank, rows, r, border->work, NULL);
}

static kern_status reset(dyn_border *border)
{
    draw(border->b, border->rank * border->n, 1);
    draw(border->c, border->rank * border->n, 2);
    KERN_TRY(make_orthonormal(border, border->b));
    return make_orthonormal(border, border->c);
}

kern_status dyn_border_init(dyn_border *border, size_t n, size_t rank, kern_error *err)
{
    size_t square;
    *border = (dyn_border){.n = n, .rank = rank};
    if (rank == 0 || rank > DYN_BORDER_MAX || rank > n) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "a matrix of %zu rows cannot have %zu borders, accepted is 1 to %d and at "
            "most the rows",
            n, rank, DYN_BORDER_MAX);
    }
    const size_t m = n + rank;
    if (m < n || !kern_size_mul(m, m, &square) || square > SIZE_MAX / sizeof(double)) {
        return kern_raise(err, KERN_OVERFLOW, "a matrix of %zu rows is too large", n);
    }
    border->b = calloc(4 * rank * n, sizeof *border->b);
    border->matrix = calloc(square, sizeof *border->matrix);
    border->rhs = calloc(m, sizeof *border->rhs);
    border->work = calloc(kern_lapack_orthonormalise_work(n, rank), sizeof *border->work);
    border->pivots = calloc(m, sizeof *border->pivots);
    if (border->b == NULL || border->matrix == NULL || border->rhs == NULL ||
        border->work == NULL || border->pivots == NULL) {
        dyn_border_fini(border);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a bordered matrix of %zu rows", m);
    }
    border->c = border->b + rank * n;
    border->v = border->c + rank * n;
    border->w = border->v + rank * n;
    return reset(border);
}

void dyn_border_fini(dyn_border *border)
{
    free(border->b);
    free(border->matrix);
    free(border->rhs);
    free(border->work);
    free(border->pivots);
    *border = (dyn_border){0};
}

static void fill_matrix(dyn_border *border, const double *t)
{
    const size_t n = border->n;
    const size_t m = n + border->rank;
    memset(border->matrix, 0, m * m * sizeof *border->matrix);
    for (size_t i = 0; i < n; i++) {
        double *row = border->matrix + i * m;
        memcpy(row, t + i * n, n * sizeof *row);
        for (size_t k = 0; k < border->rank; k++) {
            row[n + k] = border->b[k * n + i];
        }
    }
    for (size_t k = 0; k < border->rank; k++) {
        memcpy(border->matrix + (n + k) * m, border->c + k * n, n * sizeof *border->c);
    }
}

kern_status dyn_border_solve(dyn_border *border, const double *t)
{
    const size_t n = border->n;
    const size_t m = n + border->rank;
    fill_matrix(border, t);
    KERN_TRY(kern_lapack_lu(m, border->matrix, border->pivots, NULL, NULL));
    for (size_t k = 0; k < border->rank; k++) {
        memset(border->rhs, 0, m * sizeof *border->rhs);
        border->rhs[n + k] = 1.0;
        KERN_TRY(kern_lapack_lu_solve(m, border->matrix, border->pivots, border->rhs, NULL));
        memcpy(border->v + k * n, border->rhs, n * sizeof *border->v);
        for (size_t i = 0; i < border->rank; i++) {
            border->g[i][k] = border->rhs[n + i];
        }
        memset(border->rhs, 0, m * sizeof *border->rhs);
        border->rhs[n + k] = 1.0;
        KERN_TRY(
            kern_lapack_lu_solve_transposed(m, border->matrix, border->pivots, border->rhs, NULL));
        memcpy(border->w + k * n, border->rhs, n * sizeof *border->w);
    }
    return KERN_OK;
}

kern_status dyn_border_adopt(dyn_border *border)
{
    const size_t bytes = border->rank * border->n * sizeof(double);
    memcpy(border->c, border->v, bytes);
    memcpy(border->b, border->w, bytes);
    KERN_TRY(make_orthonormal(border, border->c));
    return make_orthonormal(border, border->b);
}

kern_status dyn_border_find(dyn_border *border, const double *t)
{
    KERN_TRY(reset(border));
    for (int round = 0; round < ROUNDS; round++) {
        KERN_TRY(dyn_border_solve(border, t));
        KERN_TRY(dyn_border_adopt(border));
    }
    return KERN_OK;
}
