/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_gmres.h"

#include "dyn/dyn_vector.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_size.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct dyn_gmres {
    size_t n;
    size_t restart;
    kern_arena arena;
    double *basis;    /* restart + 1 rows of n */
    double *residual; /* n: b − A x */
    double *trial;    /* n: x of the round */
    double *triangle; /* restart rows of restart + 1: row j is column j of R */
    double *cosine;   /* restart each: the rotations */
    double *sine;
    double *rhs; /* restart + 1: the rotated right side, then the coefficients */
};

/* One system. */
typedef struct gmres_run {
    dyn_gmres *g;
    dyn_gmres_product *product;
    void *context;
    const double *b;
    double tol;
    double *x;
    dyn_gmres_result result;
    size_t allowed; /* products that are left */
} gmres_run;

kern_status dyn_gmres_create(dyn_gmres **out, size_t n, size_t restart, kern_error *err)
{
    size_t basis;
    *out = NULL;
    if (n == 0 || restart == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a system of %zu equations with a restart after %zu products is not "
                          "accepted, both must be at least 1",
                          n, restart);
    }
    const size_t m = kern_size_min(restart, n);
    if (!kern_size_mul(m + 1, n, &basis) || basis > SIZE_MAX / 64) {
        return kern_raise(err, KERN_OVERFLOW, "%zu vectors of %zu numbers do not fit in memory",
                          m + 1, n);
    }
    dyn_gmres *g = calloc(1, sizeof *g);
    if (g == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a system of %zu equations", n);
    }
    const size_t number = sizeof(double);
    const kern_status status = kern_arena_init(
        &g->arena,
        kern_arena_cost(basis, number) + 2 * kern_arena_cost(n, number) +
            kern_arena_cost(m * (m + 1), number) + 3 * kern_arena_cost(m + 1, number),
        err);
    if (status != KERN_OK) {
        free(g);
        return status;
    }
    g->n = n;
    g->restart = m;
    g->basis = kern_arena_alloc(&g->arena, basis, number);
    g->residual = kern_arena_alloc(&g->arena, n, number);
    g->trial = kern_arena_alloc(&g->arena, n, number);
    g->triangle = kern_arena_alloc(&g->arena, m * (m + 1), number);
    g->cosine = kern_arena_alloc(&g->arena, m + 1, number);
    g->sine = kern_arena_alloc(&g->arena, m + 1, number);
    g->rhs = kern_arena_alloc(&g->arena, m + 1, number);
    *out = g;
    return KERN_OK;
}

void dyn_gmres_destroy(dyn_gmres *g)
{
    if (g != NULL) {
        kern_arena_fini(&g->arena);
        free(g);
    }
}

/* ---- Arnoldi and rotations ---------------------------------------------------------------- */

/* Takes the first `count` basis vectors out of w, twice, and adds what was taken to `column`.
 * Returns the length of what is left. */
static double orthogonalise(const dyn_gmres *g, double *w, size_t count, double *column)
{
    memset(column, 0, count * sizeof *column);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            const double *v = g->basis + i * g->n;
            const double part = dyn_vector_dot(v, w, g->n);
            column[i] += part;
            dyn_vector_add(w, -part, v, g->n);
        }
    }
    return dyn_vector_norm(w, g->n);
}

/* Applies the rotations so far to column j and adds the one that removes its last entry. */
static void rotate_column(dyn_gmres *g, size_t j)
{
    double *r = g->triangle + j * (g->restart + 1);
    for (size_t i = 0; i < j; i++) {
        const double upper = r[i];
        r[i] = g->cosine[i] * upper + g->sine[i] * r[i + 1];
        r[i + 1] = -g->sine[i] * upper + g->cosine[i] * r[i + 1];
    }
    const double length = hypot(r[j], r[j + 1]);
    g->cosine[j] = length > 0.0 ? r[j] / length : 1.0;
    g->sine[j] = length > 0.0 ? r[j + 1] / length : 0.0;
    r[j] = length;
    r[j + 1] = 0.0;
    g->rhs[j + 1] = -g->sine[j] * g->rhs[j];
    g->rhs[j] *= g->cosine[j];
}

/* Adds the combination of `count` basis vectors that minimises the residual to `x`. */
static void add_solution(dyn_gmres *g, size_t count, double *x)
{
    for (size_t j = count; j-- > 0;) {
        double sum = g->rhs[j];
        for (size_t i = j + 1; i < count; i++) {
            sum -= g->triangle[i * (g->restart + 1) + j] * g->rhs[i];
        }
        g->rhs[j] = sum / g->triangle[j * (g->restart + 1) + j];
    }
    for (size_t j = 0; j < count; j++) {
        dyn_vector_add(x, g->rhs[j], g->basis + j * g->n, g->n);
    }
}

/* Grows the space until the residual carried along is small, the round is full, the products are
 * used up (one is kept for the residual) or the space is exhausted; *exhausted says the last.
 * Returns the vectors that are of use. */
static size_t grow_space(gmres_run *run, double beta, bool *exhausted)
{
    dyn_gmres *g = run->g;
    *exhausted = false;
    for (size_t i = 0; i < g->n; i++) {
        g->basis[i] = g->residual[i] / beta;
    }
    g->rhs[0] = beta;
    for (size_t j = 0; j < g->restart; j++) {
        double *column = g->triangle + j * (g->restart + 1);
        double *w = g->basis + (j + 1) * g->n;
        if (run->allowed <= 1) {
            return j;
        }
        run->allowed--;
        run->result.products++;
        run->product(run->context, g->basis + j * g->n, w);
        const double length = dyn_vector_norm(w, g->n);
        if (!isfinite(length)) {
            run->result.status = KERN_NAN;
            return j;
        }
        column[j + 1] = orthogonalise(g, w, j + 1, column);
        /* What is left of w is rounding: the space maps into itself. */
        *exhausted = column[j + 1] <= DBL_EPSILON * length;
        if (*exhausted) {
            column[j + 1] = 0.0;
        }
        for (size_t i = 0; !*exhausted && i < g->n; i++) {
            w[i] /= column[j + 1];
        }
        rotate_column(g, j);
        if (*exhausted) {
            /* A zero on the diagonal: A is singular on the space, and this vector of no use. */
            return column[j] > DBL_EPSILON * length ? j + 1 : j;
        }
        if (fabs(g->rhs[j + 1]) <= run->tol) {
            return j + 1;
        }
    }
    return g->restart;
}

/* ---- Rounds ------------------------------------------------------------------------------- */

/* |b − A x|₂ of the round's x, and b − A x itself. */
static double measure_residual(gmres_run *run)
{
    dyn_gmres *g = run->g;
    run->allowed -= run->allowed > 0 ? 1U : 0U;
    run->result.products++;
    run->product(run->context, g->trial, g->residual);
    for (size_t i = 0; i < g->n; i++) {
        g->residual[i] = run->b[i] - g->residual[i];
    }
    return dyn_vector_norm(g->residual, g->n);
}

/* One round. True when another one may help. */
static bool run_round(gmres_run *run)
{
    dyn_gmres *g = run->g;
    const double before = run->result.residual;
    bool exhausted;
    run->result.rounds++;
    const size_t count = grow_space(run, before, &exhausted);
    memcpy(g->trial, run->x, g->n * sizeof *g->trial);
    add_solution(g, count, g->trial);
    const double after = measure_residual(run);
    if (!(after < before)) {
        if (run->result.status == KERN_OK) {
            run->result.status = exhausted ? KERN_SINGULAR : KERN_NOT_CONVERGED;
        }
        return false;
    }
    memcpy(run->x, g->trial, g->n * sizeof *run->x);
    run->result.residual = after;
    if (after <= run->tol || run->result.status != KERN_OK) {
        return false;
    }
    /* A decrease by less than a thousandth in a whole round is stagnation. */
    if (exhausted || run->allowed <= 1 || after > 0.999 * before) {
        run->result.status = exhausted ? KERN_SINGULAR : KERN_NOT_CONVERGED;
        return false;
    }
    return true;
}

dyn_gmres_result dyn_gmres_solve(dyn_gmres *g, dyn_gmres_product *product, void *context,
                                 const double *b, double tol, size_t max_products, double *x)
{
    gmres_run run = {.g = g,
                     .product = product,
                     .context = context,
                     .b = b,
                     .tol = tol,
                     .x = x,
                     .allowed = max_products};
    memset(x, 0, g->n * sizeof *x);
    memcpy(g->residual, b, g->n * sizeof *b);
    run.result.residual = dyn_vector_norm(b, g->n);
    if (!isfinite(run.result.residual)) {
        run.result.status = KERN_NAN;
    } else if (!(run.result.residual <= tol)) {
        while (run_round(&run)) {
        }
    }
    return run.result;
}
